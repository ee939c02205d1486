/* model.h - the recorded program as arrays, for the files of this folder.
 *
 * The time of an event is the latest time of a predecessor plus a weight:
 *
 *	call start	end of the thread's call before + time between them
 *	call end	its start + own cost; end of each awaited operation +
 *			lambda; if the queue is full, start of the operation
 *			that made room + lambda; if MPI waits for other ranks,
 *			start of their last call + the transfer
 *	op start	its call + latency of the launch; end of the stream's
 *			previous op + dispatch; each dependency + its weight;
 *			then the first free time of its lane
 *	op end		its start + duration; in a collective, start of the
 *			last member + the transfer
 *
 * plus a residual: unexplained delay, which no change removes. Weights are chosen so that
 * replaying the unchanged model reproduces the recording.
 */
#pragma once

#include "base/group.h"
#include "base/keyed.h"
#include "facts/meet.h"
#include "facts/replay/replay.h"
#include "facts/replay/spanlist.h"

#define NEVER INT64_MIN
#define OUTSIDE_NS 1000000 /* shortest wait for something outside CUDA       */

enum {
	OP_FIXED = 1,	 /* began before the window: never moves              */
	OP_ACTIVE = 2,	 /* begins in the window: changes apply              */
	OP_MEASURED = 4, /* ends in the window                               */
	OP_STREAM = 8,	 /* ordered by its stream; else a migration          */
	OP_NODE = 16,	 /* node of a graph launch: `group` is the node before it, or the
			    launch's first node                           */
	OP_MEMBER = 32,	 /* takes part in a collective                       */
	OP_COMM = 64,	 /* a communication kernel                           */
};
struct model_op { /* sorted by start */
	int64_t start_ns, length_ns, residual_ns, launch_ns;
	int32_t dispatch_ns;
	uint32_t call;	 /* NSX_NONE: not recorded                           */
	uint32_t dep;	 /* its first dependency; its list ends where that of the next operation
			    begins                                           */
	uint32_t stream; /* index in the model                               */
	uint32_t group;	 /* see OP_NODE                                      */
	uint32_t team;	 /* with OP_MEMBER: its collective                   */
	uint32_t lane;	 /* the lane that it occupies: kernels, or copies of one direction, that run
			    one at a time on a device; or NSX_NONE           */
	uint32_t engine; /* where it queues with EDIT_OP_SIDE                   */
	uint32_t row;	 /* index in trace.ops                               */
	uint32_t before; /* previous on its stream; or NSX_NONE              */
	uint8_t flags, kind, copy_kind;
};
struct model_dep { /* a dependency on another operation */
	uint32_t op;
	int32_t weight_ns;
	uint32_t call; /* the call that requested it; or NSX_NONE            */
};

enum call_kind {
	CALL_API,	/* waits for nothing and queues nothing              */
	CALL_LAUNCH,	/* queues operations                                 */
	CALL_BLOCK,	/* queues a copy or memset and waits for it          */
	CALL_SYNC,	/* waits, according to its name or a wait row        */
	CALL_IMPLICIT,	/* waits for everything, like a free                 */
	CALL_POLL_END,	/* the last query of a polling loop                  */
	CALL_POLLED,	/* a query within the loop, which ends with an operation */
	CALL_QUERY, CALL_RECORD,
	CALL_MPI,	/* takes part in a meeting of ranks                  */
};
enum {
	CALL_FIXED_START = 1, CALL_FIXED_END = 2, /* its start never moves; nor does its end */
	CALL_ACTIVE = 4,   /* its effects begin in the window: changes apply */
	/* The gap before it holds a wait that ended for a reason outside the recording. */
	CALL_OUTSIDE = 8,
	CALL_INFERRED = 16, /* what it waits for is inferred                 */
	CALL_WIDE = 32,	   /* waits for a whole context or process           */
	CALL_MANY = 64,	   /* queued more than one op                        */
	CALL_COMPUTES = 128, /* queued a kernel or a graph                   */
	CALL_LONG = 256,   /* MPI: ended long after the last arrival, for an unrecorded
			      reason                                          */
	CALL_PAUSE = 512,  /* the gap before it holds waits outside CUDA      */
	CALL_AWAITS = 1024, /* the gap before it is a wait for an operation: see model_await */
};
struct model_call { /* sorted by start */
	int64_t start_ns, end_ns, own_ns, residual_ns;
	int32_t lambda_ns;
	uint32_t wait;	/* start of the list of operations (MPI: meetings) for which it waits; the
			   list ends where that of the next call starts      */
	uint32_t room;	/* operation whose start made room in the queue (MPI: the meeting that
			   waits for this call; within a polling loop: the operation that ends
			   it); or NSX_NONE                                  */
	uint32_t before; /* the call before it; or NSX_NONE                  */
	uint32_t op;	/* first operation queued; or NSX_NONE               */
	uint32_t api;	/* index in nsx_model.api                            */
	uint32_t row;	/* index in trace.calls; MPI: that of the thread's next call */
	uint16_t flags;
	uint8_t kind;
};

struct model_pause { /* waits outside CUDA within a gap */
	int64_t ns;    /* their total time                                   */
	uint32_t call; /* the call after the gap                             */
};

struct model_await { /* a gap that is a wait for an operation            */
	uint32_t call, op;
};

enum { /* properties of an API by its name */
	API_SYNC = 1, API_IMPLICIT = 2, API_QUERY = 4, API_COPY = 8,
	API_GRAPH = 16, API_WORK = 32, /* launches, copies and sets          */
	API_STREAM = 64, API_EVENT = 128, API_WIDE = 256, API_RECORD = 512,
	API_HOST_FUNC = 1024, /* queues a host function                      */
};
struct model_api {
	const char *name; /* without its version */
	unsigned says;	  /* properties of the name, as API_* bits */
	int64_t median_ns, least_ns; /* length of its calls that wait for nothing; or -1 */
};

struct model_rank {
	uint32_t process, device; /* indices of the trace; or NSX_NONE       */
};
/* Times of the model: lengths of operations, own times of calls, and times before calls. */
enum { TIME_LENGTHS, TIME_COSTS, TIME_GAPS, NTIMES };
struct model_alikes { /* work of ranks that can be compared, kind by kind */
	uint32_t *v; /* index of the operation or call << 1, plus 1 for the first of a kind */
	uint32_t n;
};

struct model_team { /* a collective of the replayed part */
	uint32_t at, n;	 /* slice of nsx_model.member                        */
	int64_t last_ns; /* start of its last member                         */
};

struct model_meet { /* a call of MPI in which ranks wait for each other */
	int64_t last_ns;  /* start of its last call */
	int64_t fixed_ns; /* start of its last call among those that no replay moves; or NEVER */
	uint32_t last;	  /* its last call; NSX_NONE: not in the model       */
};

struct lane { /* the times in which a lane is busy, in order */
	struct nsx_span *v;
	size_t n, cap;
	int64_t floor_ns; /* everything before counts as busy */
};

struct nsx_model {
	const struct nsx_trace *t;
	const struct nsx_facts *f;
	struct nsx_arena *arena;
	struct nsx_closure closure;
	struct nsx_window judged;
	struct model_op *op; /* with a sentinel at the end                   */
	uint32_t nops;
	struct model_dep *dep;
	struct model_call *call; /* with a sentinel at the end               */
	uint32_t ncalls;
	uint32_t *wait; /* the calls' lists of awaited operations and meetings */
	struct model_pause *pause; /* sorted by call */
	size_t npauses;
	struct model_await *await; /* sorted by call                         */
	size_t nawaits;
	struct model_api *api;
	uint32_t napis;
	struct model_team *team;
	uint32_t *member, nteams, nmembers;
	struct model_meet *meet;
	uint32_t nmeets;
	int64_t launch_ns; /* usual time from a launch call's end to its kernel's start */
	int64_t kernel_gap_ns; /* usual time from a kernel's end to the next kernel on its stream */
	/* These are filled if there are several ranks. TIME_LENGTHS: work except communication,
	 * grouped by kind (kernels of one name, copies of one direction, memsets, graphs).
	 * TIME_GAPS: gaps between calls, grouped by the two APIs. TIME_COSTS: calls that wait for
	 * nothing, grouped by API. Each group is sorted by length.
	 */
	struct model_alikes alike[NTIMES];
	/* For each thread of the trace: device of the first operation it launches; or NSX_NONE. */
	uint32_t *thread_device;
	uint32_t nstreams, nlanes, nengines;
	struct model_rank *engine_rank; /* one for each engine */
	uint32_t *order, norder; /* events in replay order: op << 2 | STEP_OP, call << 2 |
				    STEP_START or STEP_END */
	uint32_t *measured, nmeasured; /* ops that end in the window         */
	/* The number of sets of processes that share nothing with others (sets.c); 1: sets are not
	 * distinguished.
	 */
	uint32_t nsets;
	uint8_t *measured_set; /* for each index in measured: set, from 0 */
	uint8_t *set_of;       /* for each process of the trace: from 1; 0: none */
	uint32_t main_set;     /* the set of the limiting GPU, from 1        */
	int64_t set_ns[NSX_MAX_SETS]; /* recorded length, from from_ns       */
	/* By set (sets.c): tie is the common representative of sets that keep in step with each
	 * other; slack_ns is how long the set may wait for others in its own code between calls.
	 */
	uint8_t tie[NSX_MAX_SETS];
	int64_t slack_ns[NSX_MAX_SETS];
	struct span_list waits, preempted, profiled;
	struct span_list absent; /* times of threads off the CPU for an unknown reason */
	bool is_unexplained; /* for some of these times it is not even certain that the thread
				waited */
	int64_t *stream_end; /* for each stream: end of the work before the window; or NEVER */
	int64_t *engine_end; /* for each engine: end of its work before the window; or NEVER */
	struct lane *lane;
	int64_t from_ns; /* start of closure.recorded_ns                     */
	bool is_shared; /* several processes use a GPU                       */
	double uncalled; /* share of the window's operations without a call  */
};
enum { STEP_START, STEP_END, STEP_OP };

/* The rest is used while the model is built, not for replays. --------------------------------- */

struct link { /* a dependency in its operation's list */
	uint32_t op, next;
	int64_t weight_ns;
	uint32_t call; /* the call that requested it; or NSX_NONE            */
};
struct model_slice { /* a thread's calls: rows [from, to) of the trace, stored at `at` */
	uint32_t from, to, at;
};
struct build {
	struct nsx_model *m;
	struct nsx_arena *a, *step; /* step: freed after each step           */
	int64_t from_ns, to_ns; /* the model holds the operations that begin in this time */
	struct nsx_groups api_groups;
	size_t cap_apis;
	struct model_slice *slice; /* one for each thread of the trace */
	uint32_t *outer;	/* for each index in the slices: the model's call */
	uint32_t *mpi;		/* by call (CALL_MPI): index in nsx_meets.call */
	uint32_t *thread;	/* for each call: thread of the trace */
	uint32_t *next;		/* for each call: the thread's next call; or NSX_NONE */
	uint32_t *last_op;	/* for each call: its operation that ends last */
	uint32_t *place;	/* for each operation: its index in stream_op */
	uint32_t *stream_op, *stream_at; /* operations of each stream, in order */
	int64_t *queued;	/* parallel to stream_op: time of queueing, made
				   ascending                                 */
	uint32_t *link_head;	/* for each operation: its dependencies */
	struct link *link;
	uint32_t nlinks;
	size_t cap_links;
	size_t nwaits, cap_waits;
	uint32_t *stream_row;	/* for each stream of the model: stream of the trace */
	uint32_t *stream_of;	/* for each stream of the trace: stream of the model; or NSX_NONE */
	int64_t *typical_launch;
	int32_t *typical_dispatch, *typical_lambda;
};

static inline int64_t model_op_end(const struct model_op *o)
{
	return o->start_ns + o->length_ns;
}
/* The call that queued a host function directly before an operation with a residual; or NSX_NONE.
 * The function has no row, so its time is that residual.
 */
static inline uint32_t model_host_func(const struct nsx_model *m, uint32_t op)
{
	uint32_t call = m->op[op].call;

	if (!m->op[op].residual_ns || call == NSX_NONE || m->call[call].op != op)
		return NSX_NONE;
	do
		call = m->call[call].before;
	while (call != NSX_NONE && m->call[call].op == NSX_NONE &&
	       !(m->api[m->call[call].api].says & API_HOST_FUNC));
	return call != NSX_NONE && m->call[call].op == NSX_NONE ? call : NSX_NONE;
}
/* The time between a call and the call before it. */
static inline int64_t model_gap(const struct nsx_model *m, uint32_t call)
{
	const struct model_call *c = &m->call[call];

	return c->before == NSX_NONE ? 0 : c->start_ns - m->call[c->before].end_ns;
}
/* A recorded time of an operation or call. */
static inline int64_t model_time(const struct nsx_model *m, unsigned kind, uint32_t i)
{
	return kind == TIME_LENGTHS ? m->op[i].length_ns :
	       kind == TIME_COSTS   ? m->call[i].own_ns : model_gap(m, i);
}
/* The index of a call's pause, which must exist. O(log n). */
static inline size_t model_pause_of(const struct nsx_model *m, uint32_t call)
{
	return NSX_SEARCH((size_t)0, m->npauses, mid, m->pause[mid].call < call);
}
/* The time of waits outside CUDA in the gap before a call. */
static inline int64_t model_pause_ns(const struct nsx_model *m, uint32_t call)
{
	return m->call[call].flags & CALL_PAUSE ? m->pause[model_pause_of(m, call)].ns : 0;
}
/* The operation that the gap before a call with CALL_AWAITS waits for. O(log n). */
static inline uint32_t model_awaited(const struct nsx_model *m, uint32_t call)
{
	return m->await[NSX_SEARCH((size_t)0, m->nawaits, mid, m->await[mid].call < call)].op;
}
/* The part of a call that gets longer if its thread is off the CPU: all of a launch; of a wait,
 * only the time after the awaited work ended.
 */
static inline struct nsx_span model_lost_in(const struct model_call *c)
{
	return (struct nsx_span){c->kind == CALL_LAUNCH ? c->start_ns :
					 c->end_ns - c->residual_ns, c->end_ns};
}
/* Notes that a call that no replay moves takes part in a meeting. */
static inline void model_fix_meet(struct nsx_model *m, uint32_t meet, int64_t start_ns)
{
	m->meet[meet].fixed_ns = NSX_MAX(m->meet[meet].fixed_ns, start_ns);
}
/* The device index of an operation. */
static inline uint32_t model_device(const struct build *b, uint32_t op)
{
	return b->m->t->stream[b->stream_row[b->m->op[op].stream]].device;
}
/* The model's call that contains a row of the trace; or NSX_NONE. */
uint32_t model_call_of(const struct build *b, uint32_t row);
/* Adds operation `on` to the dependencies of op. call: see struct model_dep. */
int add_link(struct build *b, uint32_t op, uint32_t on, uint32_t call, struct nsx_err *err);

/* The thread's first call that begins at at_ns or later; the end of its slice if none. O(log n). */
uint32_t model_first_call(const struct nsx_trace *t, const struct nsx_thread *h, int64_t at_ns);

/* The amount of work that begins in [from_ns, to_ns), as a number of operations; a call counts as a
 * part of one.
 */
size_t model_weigh(const struct nsx_trace *t, int64_t from_ns, int64_t to_ns);
/* The following steps build the model, in this order. */
int model_pick(struct build *b, size_t max_ops, struct nsx_err *err);
int model_load(struct build *b, struct nsx_err *err);
int model_link(struct build *b, struct nsx_err *err);
int model_teams(struct build *b, struct nsx_err *err);
int model_alike(struct build *b, struct nsx_err *err);
int model_host(struct build *b, struct nsx_err *err);
int model_await(struct build *b, struct nsx_err *err);
int model_learn(struct build *b, struct nsx_err *err);
int model_order(struct build *b, struct nsx_err *err);
/* Finds the sets of processes that share nothing. */
int model_sets(struct build *b, struct nsx_err *err);
int model_close(struct build *b, struct nsx_err *err);
