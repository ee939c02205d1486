/* judge.h - what the files that judge a fleet share: nsx_fleet_judge measures what each
 * rank takes over the others, names who does so beyond chance (judge_who.c), prices
 * that (judge_cost.c), and says why (judge_why.c).
 */
#ifndef NSX_FLEET_JUDGE_H
#define NSX_FLEET_JUDGE_H

#include "fleet/fleet.h"

#define NSX_LEAST_P 0.01
#define NSX_LEAST_SHARE 0.01 /* of a step */

enum { NSX_LEAST_STEPS = 10 };

struct nsx_judge {
	struct nsx_fleet *f;
	double *excess; /* by step, rank; 0 where it was not there            */
	double *p;	/* by rank                                            */
	double *p_early; /* the same of as little as it took                  */
	struct nsx_arena *a;
};

/* scratch: room for all ranks and steps. */

/* Ranks that pass the test; all of a host, or of a place on an axis, that do are
 * one.
 */
int nsx_name_late(struct nsx_judge *j, double *scratch, struct nsx_err *err) NSX_CHECKED;
/* One more of them, without cause and price. */
struct nsx_late *nsx_add_late(struct nsx_judge *j, const uint32_t *ranks, uint32_t n);

/* Prices the late ones alone, and together in order; who adds next to nothing
 * to the ones before it is not held against anybody.
 */
int nsx_price_late(struct nsx_judge *j, double *scratch, struct nsx_err *err) NSX_CHECKED;
/* Slow links are late ranks of their own: their members. */
int nsx_price_links(struct nsx_judge *j, struct nsx_err *err) NSX_CHECKED;

/* Sets the cause, if one explains four fifths. */
void nsx_explain_late(const struct nsx_judge *j, struct nsx_late *l, double *scratch);

static inline bool nsx_late_has(const struct nsx_late *l, uint32_t rank)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->ranks[i] == rank)
			return true;
	return false;
}

#endif
