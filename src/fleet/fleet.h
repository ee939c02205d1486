/* fleet.h - many ranks at once: which collectives belong together, who comes late, and what
 * that costs, without trusting a clock.
 *
 * A collective that synchronises ends at one instant on all its ranks. So lengths alone
 * show who waited how long: wait = own length - least length. The rank with the least
 * length came last. Common ends also tie the ranks' timelines together: a step runs from
 * one common end to another, and a rank's own time is its time in the step without waiting.
 *
 * Everything is computed from digests in order of rank, whatever the order of the inputs. A
 * fleet is built by the functions below in their order, and const from then on.
 */
#pragma once

#include "fleet/digest.h"
#include "fleet/mesh.h"

/* Ranks ----------------------------------------------------------------------------*/

struct nsx_frank { /* a rank; in order of number */
	struct nsx_digest *d;
	int64_t number;	 /* rank number in the job */
	uint32_t host;	 /* index */
	uint32_t clock;	 /* index */
	double zero_ns;	 /* UTC at the trace's zero by its clock, minus the fleet's utc_ns */
	/* own time, and own time above the other ranks' median: means per step */
	double own_ns, excess_ns;
	int64_t nsteps;		  /* the fleet's steps in which it took part */
};
struct nsx_fhost { /* a host; in order of hash */
	uint64_t hash; /* 0: not known; such a host holds one trace */
	uint32_t nranks;
};

/* Collectives ----------------------------------------------------------------------*/

/* From the family's k-th collective on, the member's own index is k - shift. A rank that
 * once did something else has several pieces.
 */
struct nsx_fpiece {
	size_t from;
	int64_t shift;
};
struct nsx_fmember {
	uint32_t rank;
	struct nsx_dchannel *c;
	struct nsx_fpiece piece[8];
	unsigned npieces;
};
/* partners of a rank that sends: the rank before, the rank after, or none */
enum { NSX_MOST_PARTNERS = 3 };
struct nsx_fcomm { /* a communicator */
	uint32_t family;
	struct nsx_fmember *m;
	uint32_t n;
	size_t first, end; /* collectives [first, end) that at least two members have */
	bool is_sure; /* members are known, not inferred */
	/* members are ranks of one session, so they share a clock and begin and end together */
	bool is_of_one;
};
/* Communicators that run the same sequence of operations. */
struct nsx_family {
	bool is_mpi;
	uint32_t at, n; /* its slice of fleet.comm */
	uint32_t nranks;
	uint32_t most;	/* members of its largest communicator */
	uint32_t nclocks; /* groups of hosts that its communicators connect */
	size_t length; /* number of collectives, from k = 0 */
};

/* Index of the family's k-th collective in the member's channel; SIZE_MAX: none. */
size_t nsx_member_at(const struct nsx_fmember *m, size_t k);
/* Like nsx_member_at, but SIZE_MAX also if the channel has no times. */
static inline size_t nsx_timed_at(const struct nsx_fmember *m, size_t k)
{
	return m->c->has_times ? nsx_member_at(m, k) : SIZE_MAX;
}
/* The family's k-th collective as a member recorded it. */
struct nsx_coll {
	int64_t start_ns, ns, exposed_ns; /* exposed_ns: see nsx_coll_exposed_ns */
};
static inline int64_t nsx_end_of(const struct nsx_coll *x)
{
	return x->start_ns + x->ns;
}
/* False: the member has not recorded it, or no times. */
bool nsx_coll_at(const struct nsx_fmember *m, size_t k, struct nsx_coll *ret);

enum nsx_desync_kind { NSX_DESYNC_OTHER, NSX_DESYNC_LEFT_OUT, NSX_DESYNC_EXTRA,
		       NSX_DESYNC_NOT_ENTERED };
struct nsx_desync { /* a rank that calls other collectives than the other members */
	enum nsx_desync_kind kind;
	uint32_t comm, rank; /* indices */
	size_t k;
	const char *expected, *got;
	bool is_even; /* equally many members do one thing and the other: either may be wrong */
};

/* Steps ------------------------------------------------------------------------------*/

struct nsx_fstep {
	size_t first, end; /* collectives of the main family */
	int64_t wall_ns;   /* between common ends: median of the ranks */
};

/* Verdicts ---------------------------------------------------------------------------*/

enum nsx_late_kind { NSX_LATE_STEADY, NSX_LATE_TRANSIENT };
enum nsx_late_cause {
	NSX_WHY_UNKNOWN, /* no cause explains four fifths of the excess */
	NSX_WHY_SLOWER,	 /* equally many kernels, all of them slower: GPU or clock */
	NSX_WHY_KERNELS, /* equally many kernels, some of them longer */
	NSX_WHY_MORE,	 /* it runs more kernels */
	NSX_WHY_COPY,	 /* it copies more, or more slowly */
	NSX_WHY_IDLE,	 /* idle time; detail says in what */
	NSX_WHY_LINK,	 /* its transfers are slow */
};
struct nsx_hop { /* members of a communicator wait for one member */
	uint32_t comm, rank; /* indices */
};
struct nsx_late { /* ranks that hold up the others */
	uint32_t *ranks, n; /* indices, ascending */
	/* indices of the late ranks with which the ones here are compared, as they are later still;
	 * NULL: they are compared with all ranks
	 */
	const uint32_t *among;
	uint32_t namong;
	uint32_t host;	    /* index, if they are all ranks of a host; NSX_NONE: none */
	uint32_t axis;	    /* axis of the mesh, if they are all ranks at one place of it; NSX_NONE: none */
	enum nsx_late_kind kind;
	double p;
	bool are_most; /* the late ranks are most ranks: the others are few, and early */
	int64_t nsteps; /* steps in which they were late */
	int64_t nthere; /* steps in which at least one of them was recorded */
	double excess_ns;      /* own time per step above the others' median */
	double recoverable_ns; /* per step, if the excess were gone */
	double added_ns; /* the same beyond what mending the entries priced before it wins; NAN: not
			    known */
	uint32_t *comms, ncomms; /* slow links: indices of their communicators */
	enum nsx_late_cause cause;
	double explained; /* share of the excess that the cause explains */
	double ratio;	  /* kernel time or, for a link, transfer time relative to the
			     others'; 0: not known */
	double alike;	 /* share of kernel time in kernels that differ by `ratio` */
	double more;	  /* kernels per step beyond the others' */
	double more_bytes; /* bytes copied per step beyond the others' */
	double gbps[2];	 /* copy speed of the late ranks, of the others; set for NSX_WHY_COPY */
	/* cause of the idle time, set for NSX_WHY_IDLE; NSX_NCAUSES: several */
	unsigned idle_cause;
	const char *detail;  /* call or range; NULL: none */
	/* a finding of the rank's own report that explains as much and that the others lack;
	 * NULL
	 */
	const struct nsx_dfinding *told;
	/* Waiting of all other ranks, per step: direct, where this rank came last; passed on, where
	 * another rank came last that had waited for this one.
	 */
	double direct_ns, passed_on_ns;
	/* path, beginning at the late rank, on which most waiting is passed on */
	struct nsx_hop *hop;
	unsigned nhops;
};
enum nsx_not_named { NSX_NOT_PROVEN, NSX_NOT_WAITED_FOR, NSX_PAIRS_UNKNOWN,
		     NSX_ORDER_UNKNOWN, /* clocks contradict each other */
		     NSX_STAGES_OVERLAP, /* stages of a pipeline have other work meanwhile */
		     NSX_FEW_STEPS };
struct nsx_suspect { /* the rank with the greatest excess among those not named as late */
	enum nsx_not_named why;
	uint32_t rank;	 /* index */
	int64_t nsteps;	 /* steps in which it was late; 0: no suspect */
	double excess_ns, p;
	/* the most that a step would save by one of the entries that were too cheap to be named */
	double saves_ns;
};
struct nsx_fclock {
	uint32_t host; /* index of the host whose ranks share it; NSX_NONE: of one rank only */
	uint32_t rank; /* index of its first rank */
	uint32_t component; /* clocks of different components were never compared */
	double lo_ns, hi_ns, offset_ns, drift_ppm, residual_ns;
	size_t n; /* collectives compared */
};

struct nsx_fengine { /* an inference engine that shares no collective with the others */
	uint32_t *ranks, n; /* indices, ascending */
	int64_t nsteps, ncompared; /* ncompared: steps of which other engines have similar ones */
	double took_ns, expected_ns; /* time of the compared steps, here and on the other engines */
	double all_took_ns, all_expected_ns; /* times of all steps, compared or not */
	double ratio; /* took_ns / expected_ns; 0: nothing to compare */
	double spread; /* standard deviation of the other engines' ratios */
	bool is_slow; /* its ratio exceeds theirs by far more than the spread */
	enum nsx_late_cause cause;
	unsigned idle_cause; /* set for NSX_WHY_IDLE; NSX_NCAUSES: several */
	double kernel_ratio; /* kernel time for the same steps relative to the others'; 0: unknown */
};

struct nsx_fleet {
	struct nsx_frank *rank;
	uint32_t nranks;
	int64_t expected; /* ranks of the job; -1: not known */
	bool may_be_two;  /* the traces may come from two jobs */
	int64_t numbered; /* highest rank number in the traces, plus one */
	struct nsx_mesh mesh;
	struct nsx_fhost *host;
	uint32_t nhosts;
	struct nsx_family *family;
	uint32_t nfamilies;
	struct nsx_fcomm *comm;
	uint32_t ncomms;
	uint32_t main; /* family by which steps are counted; NSX_NONE: none */
	struct nsx_fstep *step;
	size_t nsteps;
	uint32_t *stage; /* by rank: its place in its pipeline; 0 for all if there is only one */
	bool has_stages; /* there are several pipelines */
	bool by_totals; /* the main family has no times of collectives, or consists of sends
			   and receives between unknown ranks */
	bool has_messages; /* ranks wait for messages of unknown senders, so recoverable time
			      is only a bound */
	bool steps_are_colls; /* no iterations known: steps are the period of the operations */
	double step_ns;	 /* mean length of a step */
	double *own_ns;	 /* by step and rank: own time; NAN: not recorded */
	int64_t *bound_ns; /* by rank: starts of its steps, and the last end; see nsx_bounds_of */
	struct nsx_dstep **part; /* by step and rank: the rank's iteration; NULL: none */
	struct nsx_desync *desync;
	size_t ndesyncs, cap_desyncs;
	struct nsx_late *late; /* most expensive first */
	size_t nlate;
	double all_recoverable_ns; /* per step, if no rank came late */
	bool is_rotating;
	struct nsx_suspect suspect;
	double jitter_ns;	/* delay per step by whoever came last, without the late ranks */
	int64_t nevents;	/* steps in which one rank stood out */
	double uneven_ns; /* per step: own time of the slowest rank above that of the median
			     rank */
	struct nsx_fengine *engine;
	uint32_t nengines; /* 0: the ranks are one job */
	struct nsx_fclock *clock;
	uint32_t nclocks;
	int64_t utc_ns; /* subtracted to keep zero_ns small */
	double middle_ns; /* instant at which offsets hold; drift counts from it */
	bool clocks_contradict; /* collectives may be matched wrongly */
	const char **warnings;
	size_t nwarnings, cap_warnings;
	struct nsx_arena *arena;
};

/* Takes over the digests, which are freed with the fleet. Any order and duplicates are
 * fine. Owner of *ret: the caller, nsx_fleet_free.
 */
int nsx_fleet_new(struct nsx_digest **v, size_t n, struct nsx_fleet **ret,
		  struct nsx_err *err) NSX_CHECKED;
/* Sets the mesh; call it before the functions below. Errors: NSX_E_USAGE (the mesh has
 * another number of ranks than the job).
 */
int nsx_fleet_set_mesh(struct nsx_fleet *f, const struct nsx_mesh *m,
		       struct nsx_err *err) NSX_CHECKED;
int nsx_fleet_match(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
int nsx_fleet_clocks(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
/* Matches sends and receives, which needs the clocks. Then compares clocks that only these
 * connect.
 */
int nsx_fleet_match_pairs(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
bool nsx_has_engine(const struct nsx_digest *d); /* whether it has steps of an inference engine */
/* Finds out whether the ranks are several inference engines, and compares those. Their steps are
 * then not compared as steps of one job.
 */
int nsx_fleet_engines(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
int nsx_fleet_steps(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
int nsx_fleet_judge(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
/* Calls all functions above. */
int nsx_fleet_analyse(struct nsx_fleet *f, struct nsx_err *err) NSX_CHECKED;
void nsx_fleet_free(struct nsx_fleet *f); /* NULL is fine */

/* waiting avoided in all steps, by communicator and member: the member's own waiting, and that of
 * the others when the member came last
 */
struct nsx_passed {
	double **wait_ns, **held_ns;
};

/* the change that a replay assumes: ranks whose own time, and links whose transfers, become the
 * others' median
 */
struct nsx_mended {
	const uint32_t *ranks;
	size_t n;
	const double *link_ns; /* by communicator: by which each transfer becomes shorter; NULL: none */
};
/* Number of steps in which at least one of these ranks was recorded. */
size_t nsx_fleet_steps_of(const struct nsx_fleet *f, const uint32_t *ranks, size_t n);
/* The time in ns that a step would save, as a mean over the steps in which these ranks were
 * recorded. Adds to passed unless it is NULL.
 */
int nsx_fleet_replay(const struct nsx_fleet *f, const struct nsx_mended *mended,
		     const struct nsx_passed *passed, double *ret_ns,
		     struct nsx_err *err) NSX_CHECKED;

void nsx_fleet_warn(struct nsx_fleet *f, const char *fmt, ...) NSX_PRINTF(2, 3);

/* Collects the own times of ranks recorded in a step, except those that are `without` (NULL: none).
 * Returns how many.
 */
size_t nsx_own_of(const struct nsx_fleet *f, size_t step, const bool *without, double *ret);

/* Sorts v and returns its median; 0 if empty. */
double nsx_median_of(double *v, size_t n);
/* Median distance from the median. Overwrites v. */
double nsx_spread_of(double *v, size_t n, double *ret_median);
#define NSX_SIGMA 1.4826 /* turns a median distance into the standard deviation of normal noise */

/* Time of an iteration in which the rank does something of its own. */
enum { NSX_COMPUTE, NSX_COPY, NSX_IDLE, NSX_NCLASSES };
static inline double nsx_class_ns(const struct nsx_dstep *s, unsigned class)
{
	return (double)(class == NSX_COMPUTE ? nsx_computing_ns(s->part_ns) :
			class == NSX_COPY    ? s->part_ns[NSX_P_COPY_EXPOSED] :
					       s->part_ns[NSX_P_IDLE] - s->mpi_ns);
}

/* Converts an instant of a rank's trace to the first clock, as exactly as that is known: enough to
 * order related events, but not to measure.
 */
static inline double nsx_common_ns(const struct nsx_fleet *f, uint32_t rank, int64_t t)
{
	const struct nsx_fclock *c = &f->clock[f->rank[rank].clock];
	double at = f->rank[rank].zero_ns + (double)t;

	return at - c->offset_ns - c->drift_ppm * 1e-6 * (at - f->middle_ns);
}

/* Whether some clocks were never compared. */
static inline bool nsx_has_unknown_clocks(const struct nsx_fleet *f)
{
	for (uint32_t i = 0; i < f->nclocks; i++)
		if (f->clock[i].component)
			return true;
	return false;
}

/* Boundaries of a rank's steps on its own clock: [0] is the start of the step, [1] its end.
 * They are common ends or, by_totals, starts of iterations. INT64_MIN: not recorded.
 */
static inline int64_t *nsx_bounds_of(const struct nsx_fleet *f, uint32_t rank, size_t step)
{
	return &f->bound_ns[rank * (f->nsteps + 1) + step];
}

/* Number of ranks of the job; at least the highest rank number + 1. */
static inline int64_t nsx_fleet_world(const struct nsx_fleet *f)
{
	return NSX_MAX(f->nranks ? f->rank[f->nranks - 1].number + 1 : 0, f->expected);
}

/* Number of the job's ranks that are missing, as far as the traces show. */
static inline int64_t nsx_fleet_absent(const struct nsx_fleet *f)
{
	return NSX_MAX(0, NSX_MAX(f->expected, f->numbered) - (int64_t)f->nranks);
}
/* Whether a communicator's collectives may have waited for a missing rank. */
static inline bool nsx_may_lack(const struct nsx_fleet *f, const struct nsx_fcomm *c)
{
	const struct nsx_family *fam = &f->family[c->family];

	return nsx_fleet_absent(f) && (fam->n == 1 || c->n < fam->most);
}

/* Walks over collectives of a communicator:
 *
 *	struct nsx_walk w = nsx_walk_over(f, c, first, end, arena);
 *
 *	while (nsx_walk_on(&w)) ... w.k, w.ns, w.last
 *
 * For ranks of one session a length is the shortest one plus how much earlier the rank began than
 * the last one, as starts on one clock are more exact than ends.
 */
struct nsx_walk {
	const struct nsx_fleet *f;
	const struct nsx_fcomm *c;
	size_t k, end;
	int64_t *ns;	/* lengths by member; -1: the member or its times are missing */
	uint32_t n;	/* number of lengths */
	uint32_t last;	/* member with the least length; NSX_NONE: none */
	size_t nread;	/* collectives whose lengths were read already */
	int64_t *lengths;
	/* The caller's array for exposed lengths, parallel to `lengths`: those of collective k
	 * begin at exposed + (ns - lengths). They are valid where ns is. NULL: they are not read.
	 */
	int64_t *exposed;
};
enum { NSX_WALK_AT_ONCE = 16 }; /* collectives read at a time: a rank's are neighbours in memory */
struct nsx_walk nsx_walk_over(const struct nsx_fleet *f, const struct nsx_fcomm *c, size_t first,
			      size_t end, struct nsx_arena *a);
bool nsx_walk_on(struct nsx_walk *w); /* false: no collective is left */

/* The ranks of a communicator's members. Owner: the arena. */
uint32_t *nsx_members_of(const struct nsx_fcomm *c, struct nsx_arena *a);
/* Whether a communicator holds MPI messages between two ranks. */
static inline bool nsx_is_of_mpi_pairs(const struct nsx_fcomm *c)
{
	return c->n == 2 && c->m->c->is_mpi && nsx_is_of_pairs(c->m->c);
}

/* Whether NCCL passes data between its two ranks, as from one stage of a pipeline to the next. */
static inline bool nsx_is_of_stages(const struct nsx_fcomm *c)
{
	return c->n == 2 && c->is_sure && !c->m->c->is_mpi && nsx_is_of_pairs(c->m->c);
}

/* Whether a communicator holds sends and receives of which it is uncertain who waits for whom. */
static inline bool nsx_is_of_unknown_pairs(const struct nsx_fcomm *c)
{
	return nsx_is_of_pairs(c->m->c) && !(c->is_sure && c->n == 2);
}

/* Whether each member waits for a few of the others, and it is unknown for which: neighbours of a
 * ring or grid.
 */
static inline bool nsx_is_of_neighbours(const struct nsx_fcomm *c)
{
	uint32_t holds = c->m->c->n ? c->m->c->ops->holds : 0;

	return c->is_sure ? holds > 1 && holds < c->n : holds == NSX_HOLDS_NEIGHBOURS;
}

/* Number of hosts that the members are on. */
uint32_t nsx_count_hosts(const struct nsx_fleet *f, const struct nsx_fcomm *c);
/* The operation at k, from the first member that has it; NULL: none has. */
const struct nsx_dop *nsx_op_at(const struct nsx_fcomm *c, size_t k);
/* Whether all members are held until the last one arrives. In a broadcast and the like only the
 * root waits or is waited for, and no trace names the root. Of a send and a receive the longer one
 * has waited, if the two certainly belong together.
 */
static inline bool nsx_holds_all(const struct nsx_fcomm *c, size_t k)
{
	const struct nsx_dop *op = nsx_op_at(c, k);

	return op && c->n <= op->holds && (c->is_sure || op->holds > NSX_HOLDS_NEIGHBOURS);
}
