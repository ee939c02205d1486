/* nccl.h - shared by nccl.c and its helpers: communication kernels as events, the ranks
 * that take part, and the events of each collective.
 */
#ifndef NCCL_H
#define NCCL_H

#include "passes/pass.h"

enum {
	NCCL_LEAST_LATE_NS = 5000, /* kernels launched together start within this time */
	NCCL_MAX_WINDOWS = 1000,
};

struct nccl_event { /* a communication kernel, clipped to the window */
	int64_t start_ns, end_ns;
	uint32_t op;	/* index of trace->ops                     */
	uint32_t group; /* the group of its operation name         */
	uint32_t process, device;
};

struct nccl_group { /* events with one operation name */
	const char *name;
	nsx_str raw; /* its first full name in text order */
	enum nsx_comm_op op;
	uint32_t kind; /* index of nccl_comm.kinds */
	size_t count, nranks, rank_at;
	int64_t total_ns, max_ns, overlap_ns, exposed_ns;
	uint32_t device; /* the device whose union ends at end_ns */
	int64_t end_ns;
};

/* A rank: a process on a device, in one group. */
struct nccl_rank {
	uint32_t process, device;
	size_t at, n; /* slice of the rank's events, ordered by start */
	size_t count; /* events that begin in the window           */
	int64_t total_ns, max_ns;
	const char *label; /* "pid:<n>", or "pid:<n> gpu:<d>" if the process uses several devices */
	bool is_matched; /* takes part in matched instances         */
	/* The following sums are over all matched instances. times_last counts those in which this
	 * rank was the last to arrive.
	 */
	size_t times_last;
	int64_t waited_ns; /* time that this rank waited for the last one */
	double induced_ns; /* sum of the median waits of the others, where this rank came last */
	int64_t judged_waited_ns; /* part of waited_ns in the judged window */
	/* times_last and induced_ns over the instances that decide the verdict */
	size_t kept_last;
	double kept_induced_ns;
};

struct nccl_comm { /* all communication kernels */
	const struct nsx_run *run;
	struct nsx_section *out;
	struct nccl_event *events; /* sorted by group, process, device, start */
	struct nccl_group *groups; /* owner: nccl_comm, free() */
	struct nccl_rank *ranks;   /* sorted by group, process, device */
	struct nsx_groups kinds;   /* group keys, in order of discovery */
	struct nsx_groups circle_keys;
	struct nccl_circle *circles; /* owner: nccl_comm, free() */
	size_t n, ngroups, nranks, ncircles;
	int64_t same_stream_ns; /* time on streams that also run compute kernels */
};
struct nccl_circle { /* a set of ranks that take part in the same collectives */
	uint32_t kind, n;
	const uint32_t *team; /* indices of facts->teams               */
};
/* Collects all events, groups and ranks. The caller sets c->run and c->out; the rest is allocated
 * on run->scratch.
 */
int nccl_collect(struct nccl_comm *c, struct nsx_err *err);
/* The index in c->kinds of the operation's kind. */
uint32_t nccl_kind(const struct nccl_comm *c, size_t op);
int nccl_find_circles(struct nccl_comm *c, struct nsx_err *err);

struct nccl_instance {
	int64_t last_ns;  /* time of the last arrival              */
	double late_ns; /* delay of the last arrival after the median of the others */
	uint32_t last;	  /* the last rank: index in nccl_match.rank */
	bool judged;	  /* in the judged window, and not the first instance there */
	bool kept;	  /* counts for the verdict: some rank is late */
};

struct nccl_match { /* instances of a group's operation in one circle (nccl.c) */
	const struct nsx_run *run;
	const struct nccl_event *events;
	struct nccl_rank *ranks; /* ranks of the group, with sums over these instances */
	uint32_t *rank; /* matched ranks, as indices of ranks */
	size_t nranks;
	struct nccl_instance *v;
	size_t *member; /* n rows of nranks: the rank's event in each instance */
	size_t n, njudged, nkept;
	/* Shorter delays than this may come from clocks or chance; INT64_MAX: the clocks are
	 * unknown.
	 */
	int64_t least_late_ns;
	int64_t transfer_ns; /* time after the last arrival, summed */
	int64_t min_ns;	     /* sum of the shortest kernel of each instance */
	/* Median distance between the first and the last kernel end of an instance. */
	double end_spread_ns;
	/* Sum of the waits that late arrivals caused outside the judged window. */
	double start_skew_ns;
	/* Index in ranks of the latest rank and of the rank that waits most; NSX_NONE: none. */
	uint32_t late, waiting;
	/* Probability that chance makes one rank last this often, among instances or, where that
	 * is likelier, among steps.
	 */
	double p_value;
	bool proved;
	const char *cause; /* cause of a proved lateness; NULL: unknown */
	double cause_share;
	enum nsx_late_by by;
	/* The late rank waits as long as the others in other collectives, so it is not slow
	 * itself.
	 */
	bool waits_too;
};

/* Matches the instances of a circle (queries/README.md 14) and finds late ranks. Owner:
 * run->scratch. Errors: NSX_E_NOMEM.
 */
int nccl_match(const struct nccl_comm *c, const struct nccl_group *g,
	       const struct nccl_circle *x, struct nccl_match *ret, struct nsx_err *err);

/* Finds the cause of the late rank's delay, if the delay is proved. */
void nccl_find_cause(struct nccl_match *m);

/* Return the rank that comes last most often, and the rank that waits longest; NULL: none. */
const struct nccl_rank *nccl_latest(const struct nccl_rank *v, size_t n);
const struct nccl_rank *nccl_waits_most(const struct nccl_rank *v, size_t n);
/* Adds a circle's sums to the ranks of its group. */
void nccl_add_lateness(struct nccl_rank *v, const struct nccl_group *g, const struct nccl_match *m);

/* Adds one table row for each rank of the group. */
void nccl_fill_ranks(struct nccl_comm *c, const struct nccl_group *g, struct nsx_table *table);
void nccl_fill_match(const struct nccl_group *g, const struct nccl_match *m,
		     struct nsx_table *table);
/* Adds a note about ranks without matched kernels. */
void nccl_say_unmatched(struct nccl_comm *c, const struct nccl_group *g);
/* Describes a match. Returns whether late ranks can be judged. is_one: the match is one of several
 * circles.
 */
bool nccl_say_match(struct nccl_comm *c, const struct nccl_group *g,
		    const struct nccl_match *m, bool is_one);

/* The cost of communication on one device. */
struct nccl_cost {
	int64_t comm_ns, exposed_ns, blocking_ns; /* over the whole trace   */
	int64_t judged_waited_ns; /* time waiting for later ranks, exposed or not */
	/* the rank on this device that waits most; NULL: none waits */
	const struct nccl_rank *waits_most;
	const char *waits_in; /* the operation in which waits_most waits     */
	struct nsx_spans exposed, blocking; /* owner: run->scratch */
	struct nsx_spans waits; /* waits for a straggler that is proved */
};
struct nccl_costs {
	const struct nsx_run *run;
	struct nsx_section *out;
	struct nccl_cost *v; /* one for each device */
	struct nsx_arrivals **end; /* end of the list of measured arrivals */
};
int nccl_fill_costs(struct nccl_costs *c, struct nsx_table *devices,
		    struct nsx_table *windows, struct nsx_err *err);
/* Records for detectors when ranks arrive and how devices wait. */
int nccl_tell_arrivals(struct nccl_costs *c, const struct nccl_group *g,
		       const struct nccl_match *m, struct nsx_err *err);
int nccl_tell_costs(struct nccl_costs *c, struct nsx_err *err);

/* Fills totals from NCCL's own ranges on the host, for traces without GPU work. */
int nccl_fill_host(const struct nsx_run *run, struct nsx_section *out,
		   struct nsx_table *ops, struct nsx_table *pids);

/* Fills message sizes, if NCCL's payloads were exported. */
int nccl_fill_messages(const struct nsx_run *run, struct nsx_section *out,
		       struct nsx_table *table, struct nsx_err *err);

#endif
