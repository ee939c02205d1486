/* match.h - what the files that match collectives share: nsx_fleet_match takes a
 * channel, lays the others on it (match_place.c), splits the family that this
 * gives into communicators (match_split.c), and compares what their members do
 * (desync.c).
 */
#ifndef NSX_FLEET_MATCH_H
#define NSX_FLEET_MATCH_H

#include "fleet/fleet.h"

#define NSX_CLOCK_BOUND_NS INT64_C(100000000) /* how far clocks may be apart   */
#define NSX_TOGETHER_NS 200000.0 /* spread beyond it: no common collective     */
#define NSX_END_NOISE_NS 1000.0	 /* ends of one collective that agree          */

enum {
	NSX_SAMPLES = 128,	/* collectives compared at one place           */
	NSX_MOST_PLACES = 8192, /* tried of one channel                        */
};

struct nsx_mchannel {
	uint32_t rank, channel;
	const struct nsx_dchannel *c;
	int64_t utc_ns;	      /* of the clock, as far as it is known; -1       */
	int64_t shift;	      /* in the family that is being made              */
	double differs; /* share of the samples' operations that do          */
	double spread;
	uint64_t group; /* channels of one communicator have one */
	bool is_taken;
};
struct nsx_fit { /* of one channel on another, at one place */
	double differs; /* share of operations that do not agree              */
	size_t ncommon; /* 0: no place                                        */
	size_t ndiffers; /* of those that are counted                         */
};
struct nsx_matcher {
	struct nsx_fleet *f;
	struct nsx_mchannel *v; /* longest first */
	size_t n;
	struct nsx_mchannel **in; /* of the family that is being made */
	size_t nin;
	bool *has_clock; /* by host: its clock was compared with the others' */
	struct nsx_fit *fits; /* room for NSX_MOST_PLACES + 3 */
	struct nsx_arena *a, *scratch;
};

/* Lays y on x, where the clocks of the hosts say, which are apart by no more than
 * bound_ns: sets y's shift, differs and spread.  A clock may be wrong by more than
 * is thought of: then ends that agree lie far from there.  False: y is no channel
 * of x's family, as where it goes at another pace.
 */
bool nsx_lay(const struct nsx_mchannel *x, struct nsx_mchannel *y,
	     int64_t bound_ns, struct nsx_fit *fits);
/* Whether a fits x better than b: of one communicator, else by operations, else
 * by the stream, which programs that do the same number alike, unless ends agree
 * exactly, else by ends.
 */
bool nsx_fits_better(const struct nsx_mchannel *x, const struct nsx_mchannel *a,
		     const struct nsx_mchannel *b);
/* How far ends are apart where x's i-th collective is y's (i - shift)-th, but for
 * a constant and a drift.
 */
double nsx_spread_at(const struct nsx_mchannel *x, const struct nsx_mchannel *y,
		     int64_t shift);

/* Makes channels of two ranks of messages of MPI that say who is on the other side. */
void nsx_join_messages(struct nsx_fleet *f);
/* Makes channels of two ranks of the sends and receives that belong together, as far as
 * ends on the clocks that are known tell.
 */
int nsx_pair_up(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
/* Splits the family into communicators: by payload, else by the shape of a mesh
 * that fits their ends.
 */
int nsx_match_split(struct nsx_matcher *m, struct nsx_err *err) NSX_CHECKED;

/* Notes who does not do what the other members do, and who never comes. */
int nsx_find_desyncs(struct nsx_fleet *f, struct nsx_fcomm *c,
		     struct nsx_err *err) NSX_CHECKED;

#endif
