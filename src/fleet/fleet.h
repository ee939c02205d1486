/* fleet.h - many ranks at once: whose collectives are whose, who comes late and
 * what it costs, without trusting a clock.
 *
 * A collective that synchronises ends at one instant on all its ranks, so who
 * waited how long follows from lengths alone: wait = own length - least length,
 * and who took least came last.  The ends also tie the ranks' timelines
 * together: a step runs from one common end to another, and what a rank did in
 * it without waiting is its own time.
 *
 * Everything is computed from digests in order of rank; nothing depends on how
 * they came.  Built in the order of the functions below, then const.
 */
#ifndef NSX_FLEET_FLEET_H
#define NSX_FLEET_FLEET_H

#include "fleet/digest.h"
#include "fleet/mesh.h"

/* Ranks ----------------------------------------------------------------------------*/

struct nsx_frank { /* in order of number */
	struct nsx_digest *d;
	int64_t number;	 /* in the job                                       */
	uint32_t host;	 /* index                                            */
	uint32_t clock;	 /* index                                            */
	double zero_ns;	 /* UTC, as its clock has it, at its trace's zero, after
			    the fleet's utc_ns                               */
	/* Over matched collectives: */
	int64_t waited_ns, came_last, ncolls;
	double induced_ns; /* by coming last: before the median arrival      */
	double own_ns, excess_ns; /* mean of a step; over the other ranks' median */
	int64_t nsteps;		  /* of the fleet's steps, that it took part in  */
};
struct nsx_fhost { /* in order of hash */
	uint64_t hash; /* 0: not known, and then a host of one trace only    */
	uint32_t nranks;
};

/* Collectives ----------------------------------------------------------------------*/

/* From the k-th collective of the family on, a member's is its (k - shift)-th.
 * A rank that once did something else has more pieces.
 */
struct nsx_fpiece {
	size_t from;
	int64_t shift;
};
struct nsx_fmember {
	uint32_t rank, channel;
	struct nsx_fpiece piece[8];
	unsigned npieces;
};
struct nsx_fcomm { /* a communicator */
	uint32_t family;
	struct nsx_fmember *m;
	uint32_t n;
	size_t first, end; /* collectives [first, end) that two members have */
	bool is_sure; /* who belongs to it is known, not inferred            */
	bool is_of_one; /* session: its ranks have one clock, and begin and
			   end together                                      */
};
/* Communicators that run the same sequence of operations, k for k. */
struct nsx_family {
	bool is_mpi;
	uint32_t at, n; /* its slice of comms                                */
	uint32_t nranks;
	uint32_t most;	/* members of the largest of them                    */
	size_t length; /* collectives, from k = 0                            */
};

/* Which of a member's own collectives is the family's k-th; SIZE_MAX: none. */
size_t nsx_member_at(const struct nsx_fmember *m, const struct nsx_dchannel *c,
		     size_t k);
/* The same where the times of a channel's collectives are known. */
static inline size_t nsx_timed_at(const struct nsx_fmember *m,
				  const struct nsx_dchannel *c, size_t k)
{
	return c->has_times ? nsx_member_at(m, c, k) : SIZE_MAX;
}

enum nsx_desync_kind { NSX_DESYNC_OTHER, NSX_DESYNC_LEFT_OUT, NSX_DESYNC_EXTRA,
		       NSX_DESYNC_NOT_ENTERED };
struct nsx_desync { /* a rank that does not do what the others do */
	enum nsx_desync_kind kind;
	uint32_t comm, rank; /* indices                                      */
	size_t k;
	const char *expected, *got;
	bool is_even; /* as many do one as the other: either may be wrong    */
};

/* Steps ------------------------------------------------------------------------------*/

struct nsx_fstep {
	size_t first, end; /* collectives of the main family                 */
	int64_t wall_ns;   /* from common end to common end: median of ranks */
};

/* Verdicts ---------------------------------------------------------------------------*/

enum nsx_late_kind { NSX_LATE_STEADY, NSX_LATE_TRANSIENT };
enum nsx_late_cause {
	NSX_WHY_UNKNOWN, /* nothing explains four fifths of it               */
	NSX_WHY_SLOWER,	 /* as many kernels, all of them slower: GPU, clock  */
	NSX_WHY_KERNELS, /* as many kernels, some of them longer             */
	NSX_WHY_MORE,	 /* more kernels                                     */
	NSX_WHY_COPY,	 /* copies                                           */
	NSX_WHY_IDLE,	 /* idle: detail says in what                        */
	NSX_WHY_LINK,	 /* its transfers take longer                        */
};
struct nsx_hop { /* the members of a communicator wait for one of them */
	uint32_t comm, rank; /* indices                                      */
};
struct nsx_late { /* ranks that hold the others up */
	uint32_t *ranks, n; /* indices, ascending                            */
	uint32_t host;	    /* index where they are all of a host; NSX_NONE  */
	uint32_t axis;	    /* of the mesh, where they are all at one place
			       on it; NSX_NONE                               */
	enum nsx_late_kind kind;
	double p;
	bool are_most; /* the others are but a few, and early                */
	int64_t nsteps; /* in which they were late                           */
	int64_t nthere; /* in which one of them was recorded                 */
	double excess_ns;      /* own time a step over the others' median    */
	double recoverable_ns; /* of a step, when that is gone               */
	enum nsx_late_cause cause;
	double explained; /* share of the excess that the cause explains     */
	double ratio;	  /* kernels against the others'; 0: not told        */
	double alike;	 /* share of their time that has it                 */
	double more;	  /* kernels a step over the others'                 */
	double more_bytes; /* copied of a step, over the others              */
	double gbps[2];	 /* of its copies, of the others'; of NSX_WHY_COPY   */
	unsigned idle_cause; /* of NSX_WHY_IDLE; NSX_NCAUSES: several        */
	const char *detail;  /* call or range; NULL                          */
	const struct nsx_dfinding *told; /* of its own report, where that tells
					    as much and the others' do not; NULL */
	/* What the others wait for it, all together, of a step: where it came
	 * last, and where somebody did who had waited for it.
	 */
	double direct_ns, passed_on_ns;
	struct nsx_hop *hop; /* how most of that is passed on, from the late
				rank on                                      */
	unsigned nhops;
};
enum nsx_not_named { NSX_NOT_PROVEN, NSX_NOT_WAITED_FOR, NSX_PAIRS_UNKNOWN,
		     NSX_ORDER_UNKNOWN, /* clocks contradict each other */
		     NSX_FEW_STEPS };
struct nsx_suspect { /* who took most over the others, and is not named       */
	enum nsx_not_named why;
	uint32_t rank;	 /* index                                            */
	int64_t nsteps;	 /* in which it was late; 0: nobody                  */
	double excess_ns, p;
};
struct nsx_fslow_link { /* a communicator whose transfers take longer */
	uint32_t comm;
	double excess_ns, typical_ns; /* of a collective                     */
};
struct nsx_fclock {
	uint32_t host; /* index; NSX_NONE: the clock of one rank             */
	uint32_t rank; /* the first on it, index                             */
	uint32_t component; /* clocks of different ones were never compared  */
	double lo_ns, hi_ns, offset_ns, drift_ppm, residual_ns;
	size_t n; /* collectives compared                                    */
};

struct nsx_fleet {
	struct nsx_frank *rank;
	uint32_t nranks;
	int64_t expected; /* ranks of the job; -1: not known                 */
	bool may_be_two;  /* jobs                                            */
	int64_t numbered; /* the highest number that traces have, and one    */
	struct nsx_mesh mesh;
	struct nsx_fhost *host;
	uint32_t nhosts;
	struct nsx_family *family;
	uint32_t nfamilies;
	struct nsx_fcomm *comm;
	uint32_t ncomms;
	uint32_t main; /* family the steps are counted in; NSX_NONE          */
	struct nsx_fstep *step;
	size_t nsteps;
	bool by_totals; /* the main family has no times of collectives, or is of
			   sends and receives between ranks that are not known */
	bool has_messages; /* which ranks wait for, of whom is not known: what
			      can be won is a bound                          */
	bool has_one_sides; /* ... of NCCL: sends and receives of a rank that
			       fit those of no other                         */
	bool steps_are_colls; /* no iterations known: the period of the
				 operations                                  */
	double step_ns;	 /* mean                                             */
	double *own_ns;	 /* by step, rank: own time; NAN: not there          */
	int64_t *bound_ns; /* by rank, step and one more: nsx_bounds_of      */
	struct nsx_dstep **part; /* by step, rank: its iteration; NULL       */
	struct nsx_desync *desync;
	size_t ndesyncs, cap_desyncs;
	struct nsx_late *late; /* dearest first                              */
	size_t nlate;
	double all_recoverable_ns; /* of a step, of all late ones together   */
	bool is_rotating;
	struct nsx_suspect suspect;
	double jitter_ns;	/* of a step: by whoever came last, without
				   the late ones above                       */
	int64_t nevents;	/* steps in which one rank stood out         */
	double uneven_ns; /* of a step: own time of the slowest rank, over that
			     of the median one                               */
	struct nsx_fslow_link *link;
	size_t nlinks;
	struct nsx_fclock *clock;
	uint32_t nclocks;
	int64_t utc_ns; /* so that zero_ns are small                         */
	double middle_ns; /* where offsets hold; a drift adds to them        */
	const char **warnings;
	size_t nwarnings, cap_warnings;
	struct nsx_arena *arena;
};

/* Takes the digests over (they are freed with the fleet), in any order and with
 * any of them twice.  *ret is the caller's, nsx_fleet_free.
 */
int nsx_fleet_new(struct nsx_digest **v, size_t n, struct nsx_fleet **ret,
		  struct nsx_err *err) NSX_CHECKED;
/* Before what follows. Errors: NSX_E_USAGE (not the job's number of ranks). */
int nsx_fleet_set_mesh(struct nsx_fleet *f, const struct nsx_mesh *m,
		       struct nsx_err *err) NSX_CHECKED;
int nsx_fleet_match(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
int nsx_fleet_clocks(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
/* Sends and receives, which clocks tell apart; then the clocks that only these know. */
int nsx_fleet_match_pairs(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
int nsx_fleet_steps(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
int nsx_fleet_links(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
int nsx_fleet_judge(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
/* All of it. */
int nsx_fleet_analyse(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
void nsx_fleet_free(struct nsx_fleet *f); /* NULL is fine */

/* By communicator and member: how much less it would wait, and how much less the
 * others would for it where it came last, of all steps.
 */
struct nsx_passed {
	double **wait_ns, **held_ns;
};

/* Ranks whose own time, and a link whose transfers, are taken to be the others'
 * median.
 */
struct nsx_mended {
	const uint32_t *ranks;
	size_t n;
	const struct nsx_fslow_link *link; /* NULL: none                     */
};
/* In how many steps one of these ranks was recorded. */
size_t nsx_fleet_steps_of(const struct nsx_fleet *f, const uint32_t *ranks,
			  size_t n);
/* What a step in which they were recorded would save by that on average, in ns.  Adds
 * to passed, unless that is NULL.
 */
int nsx_fleet_replay(const struct nsx_fleet *f, const struct nsx_mended *mended,
		     const struct nsx_passed *passed, double *ret_ns,
		     struct nsx_err *err) NSX_CHECKED;

void nsx_fleet_warn(struct nsx_fleet *f, const char *fmt, ...) NSX_PRINTF(2, 3);

/* Sorts v; the mean of the middle two. 0 for none. */
double nsx_median_of(double *v, size_t n);
/* Median distance from the median.  v is overwritten. */
double nsx_spread_of(double *v, size_t n, double *ret_median);
#define NSX_SIGMA 1.4826 /* standard deviations of normal noise in such a one */

/* An instant of a rank's trace on the first clock, as well as it is known: good
 * to order what belongs together, not to measure.
 */
static inline double nsx_common_ns(const struct nsx_fleet *f, uint32_t rank,
				   int64_t t)
{
	const struct nsx_fclock *c = &f->clock[f->rank[rank].clock];
	double at = f->rank[rank].zero_ns + (double)t;

	return at - c->offset_ns - c->drift_ppm * 1e-6 * (at - f->middle_ns);
}

/* Where a rank's step begins, and, behind it, where it ends, on its own clock: at common
 * ends; by_totals: where iterations begin.  INT64_MIN: not there.
 */
static inline int64_t *nsx_bounds_of(const struct nsx_fleet *f, uint32_t rank,
				     size_t step)
{
	return &f->bound_ns[rank * (f->nsteps + 1) + step];
}

/* Ranks of the job, the last one that is here at least. */
static inline int64_t nsx_fleet_world(const struct nsx_fleet *f)
{
	return NSX_MAX(f->nranks ? f->rank[f->nranks - 1].number + 1 : 0, f->expected);
}

/* Whether no two ranks have a collective or a kernel in common. */
bool nsx_fleet_is_unrelated(const struct nsx_fleet *f);

/* How many ranks of the job are not here, as far as anything tells. */
static inline int64_t nsx_fleet_absent(const struct nsx_fleet *f)
{
	return NSX_MAX(0, NSX_MAX(f->expected, f->numbered) -
				  (int64_t)f->nranks);
}
/* Whether collectives of a communicator may have waited for one of those. */
static inline bool nsx_may_lack(const struct nsx_fleet *f,
				const struct nsx_fcomm *c)
{
	const struct nsx_family *fam = &f->family[c->family];

	return nsx_fleet_absent(f) && (fam->n == 1 || c->n < fam->most);
}

static inline const struct nsx_dchannel *
nsx_channel_of(const struct nsx_fleet *f, const struct nsx_fmember *m)
{
	return &f->rank[m->rank].d->channels[m->channel];
}

/* Lengths of collectives k, k + 1, ... of a communicator, n of them, at most
 * NSX_LENGTHS: ret[i * members + m], -1 where the member or its times are not
 * there.  Of ranks of one session each is what the shortest took and what it came
 * before the last one: starts on one clock say more than ends do.  In memory a
 * rank's collectives are neighbours, those of a collective are not: so several at
 * a time.
 */
enum { NSX_LENGTHS = 16 };
void nsx_lengths_of(const struct nsx_fleet *f, const struct nsx_fcomm *c,
		    size_t k, size_t n, int64_t *ret);

/* Whether it is of sends and receives, and who waits for whom is not sure. */
static inline bool nsx_is_of_unknown_pairs(const struct nsx_fleet *f,
					   const struct nsx_fcomm *c)
{
	return nsx_is_of_pairs(nsx_channel_of(f, c->m)) &&
	       !(c->is_sure && c->n == 2);
}

/* What a communicator does at k, by the first member there; NULL: none is. */
const struct nsx_dop *nsx_op_at(const struct nsx_fleet *f,
				const struct nsx_fcomm *c, size_t k);
/* Whether all its members are held until the last one has come. Of a broadcast
 * and the like only the root is waited for, or only it waits, and who that is no
 * trace says; of a send and a receive the longer one has waited, where it is sure
 * that they belong together.
 */
static inline bool nsx_holds_all(const struct nsx_fleet *f,
				 const struct nsx_fcomm *c, size_t k)
{
	const struct nsx_dop *op = nsx_op_at(f, c, k);

	return op && c->n <= op->holds && (c->is_sure || op->holds > 2);
}

#endif
