/* pool.h - joins the captures of a comparison: equal kernels get one number in all of them, and the
 * units of all captures of a side stand one after another.
 */
#ifndef NSX_DIFF_POOL_H
#define NSX_DIFF_POOL_H

#include "diff/side.h"
#include "diff/stats.h"

struct nsx_kernels { /* all kernels of both sides, ordered by name, then shape */
	/* by number: the kernel of each side, as the first capture that has it describes it; NULL:
	 * the side lacks it
	 */
	const struct nsx_kernel *(*of)[2];
	uint32_t n;
	uint32_t **number; /* by capture, and by the kernel's index in it */
};
/* Numbers the kernels of all captures, of which the first nbefore are those before. Owner: arena a. */
struct nsx_kernels nsx_number_kernels(struct nsx_side *const *all, size_t nbefore, size_t n,
				      struct nsx_arena *a);
static inline const char *nsx_kernel_at(const struct nsx_kernels *k, size_t i)
{
	return (k->of[i][0] ?: k->of[i][1])->name;
}

struct nsx_pool {
	const struct nsx_side *const *sides;
	size_t nsides;
	const struct nsx_seen *const *seen; /* by side: the way chosen to find its units */
	/* lanes that every capture has; kernels are numbers of struct nsx_kernels. The idle causes
	 * and ranges remain with the captures.
	 */
	struct nsx_lane *lanes;
	size_t nlanes;
	size_t *end; /* by lane and capture: end of its units; nsides per lane */
	bool one_job, splits_comm;
};

/* number: numbers of the side's kernels, by capture. Owner: arena a. */
struct nsx_pool nsx_pool_build(const struct nsx_side *const *sides, size_t nsides,
			       const struct nsx_seen *const *seen, uint32_t *const *number,
			       struct nsx_arena *a);

/* Lengths of a lane's units; only_steady: of steady ones only. lane NSX_NONE: for each step
 * of a job, the longest lane's. Owner: arena a.
 */
struct nsx_sample nsx_pool_sample(const struct nsx_pool *p, uint32_t lane, bool only_steady,
				  struct nsx_arena *a);
/* Any figure of a lane's units. */
struct nsx_sample nsx_pool_figures(const struct nsx_pool *p, uint32_t lane,
				   int64_t (*figure)(const struct nsx_lane *lane, size_t unit,
						     const void *ctx),
				   const void *ctx, struct nsx_arena *a);

#endif
