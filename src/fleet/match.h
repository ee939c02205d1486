/* match.h - shared by the files that match collectives. nsx_fleet_match takes a channel,
 * aligns the others with it (match_place.c), splits the resulting family into communicators
 * (match_split.c) and compares what their members do (desync.c).
 */
#pragma once

#include "fleet/fleet.h"

#define NSX_CLOCK_BOUND_NS INT64_C(250000000) /* greatest distance of clocks not yet compared */
#define NSX_TOGETHER_NS 200000.0 /* ends that spread more are not of one collective */
#define NSX_END_NOISE_NS 1000.0	 /* ends of one collective agree to this */

enum {
	NSX_SAMPLES = 128,	/* collectives compared for one shift */
	NSX_MOST_PLACES = 8192, /* shifts tried for one channel */
};

struct nsx_mchannel {
	uint32_t rank;
	struct nsx_dchannel *c;
	int64_t utc_ns;	      /* UTC at the clock's zero; -1: unknown */
	int64_t shift;	      /* within the family being made */
	double differs; /* share of sampled operations that differ */
	double spread;
	uint64_t group; /* equal for channels of one communicator */
	struct nsx_mchannel *other; /* the channel of the other side of messages between two; NULL */
	bool is_taken;
};
struct nsx_fit { /* how well one channel fits another at one shift */
	double differs; /* share of sampled operations that differ */
	size_t ncommon; /* 0: the shift is impossible */
	size_t ndiffers; /* differing operations among those counted */
	double spread; /* spread of the distance between ends; INFINITY: the shift is impossible */
	double far; /* distance from where the clocks put it; INFINITY: the shift is impossible */
};
struct nsx_matcher {
	struct nsx_fleet *f;
	struct nsx_mchannel *v; /* longest first */
	size_t n;
	struct nsx_mchannel **in; /* channels of the family being made */
	size_t nin;
	bool *has_clock; /* by host: its clock was compared with the others' */
	struct nsx_fit *fits; /* room for NSX_MOST_PLACES + 3 */
	struct nsx_arena *a, *scratch;
};

/* Aligns y with x: sets y's shift, differs and spread. Searches where the hosts' clocks, at
 * most bound_ns apart, put it. A clock may be off by more, so distant places win if ends
 * agree there. False: y is not of x's family, for example because its pace differs.
 */
bool nsx_lay(const struct nsx_mchannel *x, struct nsx_mchannel *y,
	     int64_t bound_ns, struct nsx_fit *fits);
/* Whether a fits x better than b. Criteria in order: x's communicator; operations; stream, because
 * programs that do the same number streams alike, and a collective that follows closely on x ends
 * as exactly with it as those of x's communicator; ends.
 */
bool nsx_fits_better(const struct nsx_mchannel *x, const struct nsx_mchannel *a,
		     const struct nsx_mchannel *b);
/* Spread of the distance between ends if x's i-th collective is y's (i - shift)-th, without
 * constant and drift.
 */
double nsx_spread_at(const struct nsx_mchannel *x, const struct nsx_mchannel *y, int64_t shift);

/* Slope, per index, of the line through the medians of the outer thirds; n: 3 to NSX_SAMPLES. */
double nsx_outer_slope(const double *v, size_t n);

/* Lists the clocks of the ranks, and finds what each shows at the zero of its traces. */
int nsx_fleet_list_clocks(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
/* Makes two-rank channels of MPI messages that name the other side. */
int nsx_join_messages(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
/* Makes two-rank channels of sends and receives that belong together by their ends on the
 * known clocks.
 */
int nsx_pair_up(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
/* Splits the family into communicators: by payload, else by the mesh shape that fits their ends. */
int nsx_match_split(struct nsx_matcher *m, struct nsx_err *err) NSX_CHECKED;

/* Records members that do something else than the others, or never come. */
int nsx_find_desyncs(struct nsx_fleet *f, struct nsx_fcomm *c, struct nsx_err *err) NSX_CHECKED;
