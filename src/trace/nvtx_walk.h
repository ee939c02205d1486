/* nvtx_walk.h - which push/pop range is open on a thread, and ranges by name. */
#pragma once

#include "trace/trace.h"

/* Whether a range was never closed and thus stays open. */
static inline bool nsx_nvtx_is_open(const struct nsx_nvtx *x, uint32_t range, int64_t at)
{
	return nsx_range_end(x, range) > at || (x->flags[range] & NSX_NVTX_OPEN);
}

/* Finds the innermost open range of a thread at non-decreasing times. Linear in ranges and times
 * together, at any depth.
 */
struct nsx_nvtx_walk {
	const struct nsx_trace *t;
	/* For each range: the range below it on the stack. The array is borrowed; walks of
	 * different threads may share it.
	 */
	uint32_t *below;
	uint32_t next, end; /* [next, end): ranges that have not begun       */
	uint32_t top;	    /* innermost open range; NSX_NONE: none          */
	bool user, library; /* whether the user's and the libraries' domains count */
};
void nsx_nvtx_walk_begin(struct nsx_nvtx_walk *w, const struct nsx_trace *t,
			 uint32_t thread, bool user, bool library, uint32_t *below);
/* Moves the walk to a time and returns the innermost range open then; NSX_NONE: none. */
uint32_t nsx_nvtx_walk_to(struct nsx_nvtx_walk *w, int64_t at);

/* Ranges grouped by name, or by (process, name), in order of first range. */
struct nsx_nvtx_groups {
	uint32_t *of; /* for each range: its group; NSX_NONE: marks */
	nsx_str *name;	   /* one for each group */
	uint32_t *process; /* one for each group; NULL: not grouped by process */
	uint32_t n;
};
int nsx_nvtx_group(const struct nsx_trace *t, bool by_process,
		   struct nsx_arena *a, struct nsx_nvtx_groups *ret, struct nsx_err *err);
struct nsx_nvtx_sum { /* totals of one group */
	int64_t ns;
	uint32_t count;
	bool attributes; /* some push/pop range of the group lies in the window */
};
/* The values by which nsx_nvtx_cmp orders groups. */
struct nsx_nvtx_order {
	const struct nsx_trace *t;
	const struct nsx_nvtx_groups *g;
	/* One for each group, each `size` bytes that begin with a struct nsx_nvtx_sum. */
	const void *sums;
	size_t size;
};
/* Compares two groups: more time comes first, then more ranges, then the name. */
int nsx_nvtx_cmp(const struct nsx_nvtx_order *order, uint32_t k, uint32_t l);
/* Moves the first nfirst groups in the order of nsx_nvtx_cmp to the front of v and sorts them; the
 * others stay unordered. v: n group indices.
 */
void nsx_nvtx_sort(uint32_t *v, size_t n, size_t nfirst, const struct nsx_nvtx_order *order);
