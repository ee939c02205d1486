/* nccl.h - shared by nccl.c and its helpers: communication kernels as events,
 * their participants, and which of them make up one collective.
 */
#ifndef NCCL_H
#define NCCL_H

#include "passes/pass.h"

enum {
	NCCL_LEAST_LATE_NS = 5000, /* kernels launched together start this
				       far apart */
	NCCL_MAX_WINDOWS = 1000,
};

struct nccl_event { /* a communication kernel, cut to the window */
	int64_t start_ns, end_ns;
	uint32_t op;	/* index of trace->ops                     */
	uint32_t group; /* events of one op_name                   */
	uint32_t process, device;
};

struct nccl_group { /* events of one op_name */
	const char *name;
	nsx_str raw; /* the least full name */
	enum nsx_comm_op op;
	uint32_t kind; /* of nccl_comm.kinds */
	size_t count, nranks, rank_at;
	int64_t total_ns, max_ns, overlap_ns, exposed_ns;
	uint32_t device; /* whose union stands at end_ns */
	int64_t end_ns;
};

/* A participant: a process on a device, in one group. */
struct nccl_rank {
	uint32_t process, device;
	size_t at, n; /* its slice of events, in order of start    */
	size_t count; /* of those, begun in the window             */
	int64_t total_ns, max_ns;
	const char *label; /* "pid:<n>", with several devices
			      "pid:<n> gpu:<d>"                    */
	bool is_matched; /* takes part in the matching              */
	/* Over all matched instances: */
	size_t times_last;
	int64_t waited_ns; /* until the last one arrived           */
	double induced_ns; /* by coming last: the median wait      */
	int64_t judged_waited_ns; /* of waited_ns, in the judged window */
	/* Over those that count for the verdict: */
	size_t kept_last;
	double kept_induced_ns;
};

struct nccl_comm { /* all communication kernels */
	const struct nsx_run *run;
	struct nsx_section *out;
	struct nccl_event *events; /* by group, process, device, start */
	struct nccl_group *groups; /* free() */
	struct nccl_rank *ranks;   /* by group, process, device        */
	struct nsx_groups kinds;   /* of the groups before they are sorted */
	struct nsx_groups circle_keys;
	struct nccl_circle *circles; /* free() */
	size_t n, ngroups, nranks, ncircles;
	int64_t same_stream_ns; /* on streams that compute as well     */
};
struct nccl_circle { /* ranks that do an operation together */
	uint32_t kind, n;
	const uint32_t *team; /* of facts->teams                       */
};
/* c->run and c->out are set; the rest goes to run->scratch. */
int nccl_collect(struct nccl_comm *c, struct nsx_err *err);
/* The index of the kind of an operation. */
uint32_t nccl_kind(const struct nccl_comm *c, size_t op);
int nccl_find_circles(struct nccl_comm *c, struct nsx_err *err);

struct nccl_instance {
	int64_t last_ns;  /* the last arrival                      */
	double late_ns; /* after the median arrival of the others  */
	uint32_t last;	  /* index of nccl_match.rank              */
	bool judged;	  /* in the judged window, not the first   */
	bool kept;	  /* counts for the verdict: somebody is late */
};

struct nccl_match { /* of one circle of a group */
	const struct nsx_run *run;
	const struct nccl_event *events;
	struct nccl_rank *ranks; /* of the group, as far as these instances go */
	uint32_t *rank; /* the participants matched: indices of ranks */
	size_t nranks;
	struct nccl_instance *v;
	size_t *member; /* n x nranks: indices of events           */
	size_t n, njudged, nkept;
	int64_t least_late_ns; /* to be evidence: more than clocks and chance
				  explain; INT64_MAX: clocks are not known */
	int64_t transfer_ns; /* after the last arrival              */
	int64_t min_ns;	     /* the shortest kernel of each         */
	double end_spread_ns; /* median                             */
	double start_skew_ns; /* induced in what was not judged     */
	uint32_t late, waiting; /* indices of ranks; NSX_NONE       */
	double p_value; /* of being last as often by chance, in steps where
			   that is what refutes it                  */
	bool proved;
	const char *cause; /* of proved lateness; NULL: none        */
	double cause_share;
	enum nsx_late_by by;
	bool waits_too; /* as long as the others, in other communication */
};

/* The instances of a circle (queries/README.md 14) and the lateness of its ranks.
 * Owner: run->scratch.  Errors: NSX_E_NOMEM.
 */
int nccl_match(const struct nccl_comm *c, const struct nccl_group *g,
	       const struct nccl_circle *x, struct nccl_match *ret,
	       struct nsx_err *err);

/* Why the late rank of a proved straggler is late. */
void nccl_find_cause(struct nccl_match *m);

/* Who comes last, and who waits, most; NULL: nobody. */
const struct nccl_rank *nccl_latest(const struct nccl_rank *v, size_t n);
const struct nccl_rank *nccl_waits_most(const struct nccl_rank *v, size_t n);
/* Adds to ranks of a group what they have of a circle. */
void nccl_add_lateness(struct nccl_rank *v, const struct nccl_group *g,
		       const struct nccl_match *m);

/* Ranks and matched instances, in tables and in words. */
int nccl_fill_ranks(struct nccl_comm *c, const struct nccl_group *g,
		    struct nsx_table *table, struct nsx_err *err);
void nccl_fill_match(const struct nccl_group *g, const struct nccl_match *m,
		     struct nsx_table *table);
/* Participants of whose kernels none is matched. */
void nccl_say_unmatched(struct nccl_comm *c, const struct nccl_group *g);
/* Returns whether it can be judged who comes late.  is_one: of several circles. */
bool nccl_say_match(struct nccl_comm *c, const struct nccl_group *g,
		    const struct nccl_match *m, bool is_one);

/* What communication costs each device. */
struct nccl_cost {
	int64_t comm_ns, exposed_ns, blocking_ns; /* of the whole trace     */
	int64_t judged_waited_ns; /* for ranks that came later, exposed or not */
	const struct nccl_rank *waits_most; /* there; NULL: none does        */
	const char *waits_in; /* the operation                               */
	struct nsx_spans exposed, blocking; /* on run->scratch */
	struct nsx_spans waits; /* for a proved straggler      */
};
struct nccl_costs {
	const struct nsx_run *run;
	struct nsx_section *out;
	struct nccl_cost *v; /* by device */
	struct nsx_arrivals **end; /* of the list of those measured */
};
int nccl_fill_costs(struct nccl_costs *c, struct nsx_table *devices,
		    struct nsx_table *windows, struct nsx_err *err);
/* For the detectors: how ranks arrive, what devices wait. */
int nccl_tell_arrivals(struct nccl_costs *c, const struct nccl_group *g,
		       const struct nccl_match *m, struct nsx_err *err);
int nccl_tell_costs(struct nccl_costs *c, struct nsx_err *err);

/* For traces without GPU work: NCCL's own ranges on the host. */
int nccl_fill_host(const struct nsx_run *run, struct nsx_section *out,
		   struct nsx_table *ops, struct nsx_table *pids,
		   struct nsx_err *err);

/* Message sizes, where NCCL's payloads were exported. */
int nccl_fill_messages(const struct nsx_run *run, struct nsx_section *out,
		       struct nsx_table *table, struct nsx_err *err);

#endif
