/* census.h - sums that questions need, counted once: GPU work, idle time, calls and ranges by
 * kind and name.
 *
 * Equal things form one group. A window counts what has a part in it, and the time of that
 * part. GPU work and idle time of a device are also counted by blocks of consecutive rows, so
 * that a window costs only the blocks in it and the rows at its ends.
 */
#ifndef NSX_CENSUS_H
#define NSX_CENSUS_H

#include "base/group.h"
#include "base/stat.h"
#include "facts/facts.h"

struct nsx_count {
	int64_t n, ns;
};
/* Adds a count and a time. Times are saturated, because lengths in a damaged file may add up to
 * more than int64_t holds.
 */
static inline void nsx_count_add(struct nsx_count *sum, int64_t n, int64_t ns)
{
	sum->n += n;
	nsx_add_to(&sum->ns, ns);
}
/* Operations of one stream, kind and shape that one call name of one thread launched. */
struct nsx_work {
	struct nsx_count count;
	uint32_t launcher;
	uint32_t op; /* the longest operation; of equal ones the first       */
};
struct nsx_path { /* ranges of one name that lie inside the same ranges */
	struct nsx_count count;
	/* The length and start of the longest range; of equal ones the first counts. */
	int64_t longest_ns, longest_at;
};
struct nsx_blocks {
	size_t *at; /* for each block: its first row; one more entry at the end */
	struct nsx_block_row {
		uint32_t group, n;
		int64_t ns;
	} *row;
	size_t nrows, cap;
};
struct nsx_census { /* groups, and counts by group */
	struct nsx_groups launchers; /* thread + 1, name of the call; (0, 0): not recorded */
	struct nsx_groups works;
	struct nsx_work *work;	/* all operations, except second entries of peer copies */
	struct nsx_groups causes; /* cause and detail of idle time           */
	struct nsx_groups calls; /* outermost calls by {thread and whether the call waits, name} */
	struct nsx_count *call;
	struct nsx_groups paths; /* {1 + path of the range around (0: none), name} */
	struct nsx_path *path;
	struct nsx_groups places; /* {path; kind and shape of the operation} */
	struct nsx_launched {
		struct nsx_count count;
		uint32_t op; /* one operation of the group                   */
	} *place;
	struct nsx_census_device {
		struct nsx_blocks ops, idle;
		struct nsx_block_gaps { /* gaps that begin in a block        */
			/* longest: the first piece of the longest gap; of equal gaps the first
			 * counts.
			 */
			uint32_t n, longest;
		} *gaps;
	} *device;
	uint32_t ndevices;
};
enum { NSX_IDLE_BLOCK = 512 }; /* number of pieces of idle time in a block   */

/* Builds a census. Owner of *ret: the caller, nsx_census_free. Errors: NSX_E_NOMEM, NSX_E_STOP. */
int nsx_census_new(const struct nsx_trace *t, const struct nsx_facts *f,
		   struct nsx_census **ret, struct nsx_err *err) NSX_CHECKED;
void nsx_census_free(struct nsx_census *c); /* NULL is fine */

/* Add the parts of work or idle time inside a window to sums, by group. */
void nsx_census_work(const struct nsx_census *c, const struct nsx_trace *t,
		     const struct nsx_facts *f, const struct nsx_window *w,
		     struct nsx_count *by_work);
void nsx_census_idle(const struct nsx_census *c, const struct nsx_facts *f,
		     const struct nsx_window *w, struct nsx_count *by_cause);

#endif
