/* copies.h - copies by direction and memory kinds, measured by copies_sweep.c. */
#pragma once

#include "passes/pass.h"

enum { NSIZES = 5 };

/* Copies below this size are bound by fixed costs, not bandwidth. */
#define SMALL_BYTES (64 << 10)
/* Copies from this size on show the bandwidth of the link. */
#define LARGE_BYTES (1 << 20)

struct copy_sum {
	int64_t count, bytes, ns;
};
static inline void copy_add(struct copy_sum *s, struct copy_sum by)
{
	s->count += by.count;
	nsx_add_to(&s->bytes, by.bytes);
	nsx_add_to(&s->ns, by.ns);
}

struct copy_group { /* copies with the same device, kind, source and destination */
	uint32_t device;
	uint8_t kind, src, dst;
	int64_t count, bytes, total_ns, busy_ns, exposed_ns, small;
	int64_t unsized; /* number of copies whose size is not recorded */
	/* Sums over the copies that the window does not cut. A window may cut the time of the
	 * others but not their bytes.
	 */
	int64_t whole_bytes, whole_ns;
	double p50_gbps; /* median rate; NAN: no copy is as large as LARGE_BYTES */
	int64_t busy_end_ns, whole_end_ns;
	struct copy_sum size[NSIZES];
};
struct copy_peer { /* a peer copy */
	uint32_t src, dst; /* devices; NSX_NONE: unknown, or not in the trace */
	uint32_t src_id, dst_id; /* ordinals; NSX_NONE: unknown */
	int64_t bytes, ns;
};
struct copy_groups { /* in order of device */
	struct copy_group *v;
	size_t n;
	struct copy_sum (*causes)[3][NSX_NMIGRATE_CAUSES]; /* migrations by device */
	struct copy_peer *peers;
	size_t npeers, cap_peers;
	struct nsx_spans *kernels; /* for each device: kernels and graph replays */
	const char *direction[256], *copy_label[256], *mem_label[256];
};

static inline double copy_gbps(const struct copy_group *g)
{
	return g->whole_ns && !g->unsized ? (double)g->whole_bytes / (double)g->whole_ns : NAN;
}

/* Measures all copies; the caller adds labels and frees the result with copies_done. */
int copies_measure(const struct nsx_run *run, struct copy_groups *g, struct nsx_err *err);
void copies_done(struct copy_groups *g);
/* Adds the table of copies that have the same size and direction, and notes about them. */
extern const struct nsx_layout copies_alike_layout;
int copies_alike(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err);
