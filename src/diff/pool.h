/* pool.h - the captures of one side as one: the same kernels and causes under
 * one number each, the units of all captures one after the other.
 */
#ifndef NSX_DIFF_POOL_H
#define NSX_DIFF_POOL_H

#include "diff/side.h"
#include "diff/stats.h"

struct nsx_pool {
	const struct nsx_side *const *sides;
	size_t nsides;
	const struct nsx_seen *const *seen; /* by side: the way it is seen   */
	struct nsx_kernel *kernels;	    /* by name, then shape           */
	uint32_t nkernels;
	const char **details; /* by text; [0] is ""                          */
	uint32_t ndetails;
	struct nsx_lane *lanes; /* those that every capture has; idle detail:
				   index of details                          */
	size_t nlanes;
	size_t *end; /* by lane and capture: where its units end; nsides each */
	bool one_job, splits_comm;
};

/* Owner: arena a. Errors: NSX_E_NOMEM. */
int nsx_pool_build(const struct nsx_side *const *sides, size_t nsides,
		   const struct nsx_seen *const *seen, struct nsx_arena *a,
		   struct nsx_pool *ret, struct nsx_err *err) NSX_CHECKED;

/* Lengths of the units of a lane; only_steady: of those alone.  lane
 * NSX_NONE: of each step of a job the longest of all lanes.
 * Owner: arena a.
 */
int nsx_pool_sample(const struct nsx_pool *p, uint32_t lane, bool only_steady,
		    struct nsx_arena *a, struct nsx_sample *ret,
		    struct nsx_err *err) NSX_CHECKED;
/* Any figure of the units of a lane. */
int nsx_pool_figures(const struct nsx_pool *p, uint32_t lane,
		     int64_t (*figure)(const struct nsx_lane *lane, size_t unit,
				       const void *ctx),
		     const void *ctx, struct nsx_arena *a,
		     struct nsx_sample *ret, struct nsx_err *err) NSX_CHECKED;

#endif
