/* pool.h - joins the captures of a side: equal kernels and causes get one number, and units
 * of all captures stand one after another.
 */
#ifndef NSX_DIFF_POOL_H
#define NSX_DIFF_POOL_H

#include "diff/side.h"
#include "diff/stats.h"

struct nsx_pool {
	const struct nsx_side *const *sides;
	size_t nsides;
	const struct nsx_seen *const *seen; /* by side: the way chosen to find its units */
	struct nsx_kernel *kernels;	    /* ordered by name, then shape */
	uint32_t nkernels;
	const char **details; /* ordered by text; [0] is "" */
	uint32_t ndetails;
	/* lanes that every capture has; idle details are indices in `details` */
	struct nsx_lane *lanes;
	size_t nlanes;
	size_t *end; /* by lane and capture: end of its units; nsides per lane */
	bool one_job, splits_comm;
};

/* Owner: arena a. */
struct nsx_pool nsx_pool_build(const struct nsx_side *const *sides, size_t nsides,
			       const struct nsx_seen *const *seen, struct nsx_arena *a);

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
