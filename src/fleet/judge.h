/* judge.h - shared by the files that judge a fleet. nsx_fleet_judge measures each rank's
 * excess over the others, names ranks whose excess is beyond chance (judge_who.c), prices
 * it (judge_cost.c) and finds its cause (judge_why.c).
 */
#pragma once

#include "fleet/fleet.h"

#define NSX_LEAST_P 0.01
#define NSX_LEAST_SHARE 0.01 /* least price of an entry, as a share of a step */

enum { NSX_LEAST_STEPS = 10 };

struct nsx_judge {
	struct nsx_fleet *f;
	double *excess; /* by step and rank; 0 if not recorded */
	double *p;	/* by rank: probability that chance makes the excess this large */
	double *p_early; /* by rank: probability that chance makes the excess this small */
	struct nsx_arena *a;
};

/* scratch, in all functions below: room for all ranks and steps. */

/* Names ranks that pass the test. If all ranks of a host or of a place on an axis pass,
 * they become one entry.
 */
int nsx_name_late(struct nsx_judge *j, double *scratch, struct nsx_err *err) NSX_CHECKED;
/* Adds an entry without cause and price. */
struct nsx_late *nsx_add_late(struct nsx_judge *j, const uint32_t *ranks, uint32_t n);

/* Prices late entries alone, and together in order. Drops those that add next to nothing to
 * the ones before them.
 */
int nsx_price_late(struct nsx_judge *j, double *scratch, struct nsx_err *err) NSX_CHECKED;
/* Adds each slow link as a late entry of its members. */
int nsx_price_links(struct nsx_judge *j, struct nsx_err *err) NSX_CHECKED;

/* Whether it is unknown for more than a tenth of the sends and receives who waits for whom. The
 * first ones of a capture may have been launched before it.
 */
bool nsx_has_unknown_pairs(const struct nsx_fleet *f);

/* A value of the late ranks and of the others; NAN: a rank has none. */
struct nsx_against {
	double sum;    /* sum of the late ranks' values */
	double usual;  /* median of the other ranks' values */
	uint32_t n;    /* number of late ranks with a value */
	size_t nothers;
};
struct nsx_against nsx_compare(const struct nsx_judge *j, const struct nsx_late *l,
			       double (*value)(const void *ctx, const struct nsx_digest *d, uint32_t r),
			       const void *ctx, double *scratch);

/* Sets the cause, if one explains four fifths of the excess. */
void nsx_explain_late(const struct nsx_judge *j, struct nsx_late *l, double *scratch);

static inline bool nsx_late_has(const struct nsx_late *l, uint32_t rank)
{
	return NSX_ANY(i, l->n, l->ranks[i] == rank);
}

/* Whether the late ranks are compared with this one. */
static inline bool nsx_is_compared(const struct nsx_late *l, uint32_t rank)
{
	return !nsx_late_has(l, rank) && (!l->among || NSX_ANY(i, l->namong, l->among[i] == rank));
}
