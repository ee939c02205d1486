/* model.h - the recorded program as arrays, for the files of this folder.
 *
 * An event's time is that of the latest of its predecessors plus a weight:
 *
 *	call start	end of the thread's call before + time between them
 *	call end	start + own cost; end of each operation waited for +
 *			lambda; where the queue is full, the start of the
 *			operation that made room + lambda; of MPI that waits
 *			for other ranks, the last of their calls to begin +
 *			the transfer
 *	op start	its call + latency of the launch; end of the stream's
 *			op before + dispatch; each dependency + its weight;
 *			then the first hole of its lane
 *	op end		start + duration; of a collective, the last member's
 *			start + the transfer
 *
 * plus a residual: delay that none of these explains, which stays.  Weights are
 * such that playing the model unchanged gives back the recording.
 */
#ifndef NSX_REPLAY_MODEL_H
#define NSX_REPLAY_MODEL_H

#include "base/group.h"
#include "base/keyed.h"
#include "facts/meet.h"
#include "facts/replay/replay.h"
#include "facts/replay/spanlist.h"

#define NEVER INT64_MIN
#define OUTSIDE_NS 1000000 /* a wait for something outside CUDA              */

enum {
	OP_FIXED = 1,	 /* began before the window: as recorded, always      */
	OP_ACTIVE = 2,	 /* begins in the window: may be changed             */
	OP_MEASURED = 4, /* ends in the window                               */
	OP_STREAM = 8,	 /* in the order of a stream; else a migration       */
	OP_NODE = 16,	 /* of a graph launch: group is the node it follows, or
			    else the launch's first                       */
	OP_MEMBER = 32,	 /* of a collective                                  */
	OP_COMM = 64,	 /* a communication kernel                           */
};
struct model_op { /* in order of start */
	int64_t start_ns, length_ns, residual_ns, launch_ns;
	int32_t dispatch_ns;
	uint32_t call;	 /* NSX_NONE: not recorded                           */
	uint32_t dep;	 /* its first dependency; they end where the next's begin */
	uint32_t stream; /* of the model                                     */
	uint32_t group;	 /* see OP_NODE                                      */
	uint32_t team;	 /* of OP_MEMBER                                     */
	uint32_t lane;	 /* kernels, or copies of one direction, of a device
			    that run one at a time; NSX_NONE                 */
	uint32_t engine; /* what it queues on when moved aside               */
	uint32_t row;	 /* of trace.ops                                     */
	uint32_t before; /* the one before on its stream; NSX_NONE           */
	uint8_t flags, kind, copy_kind;
};
struct model_dep {
	uint32_t op;
	int32_t weight_ns;
	uint32_t call; /* of the program that asked for it; NSX_NONE         */
};

enum call_kind {
	CALL_API,	/* costs what it costs                               */
	CALL_LAUNCH,	/* queues operations                                 */
	CALL_BLOCK,	/* queues a copy or memset and waits for it          */
	CALL_SYNC,	/* waits by name or record                           */
	CALL_IMPLICIT,	/* waits for all, as frees do                        */
	CALL_POLL_END,	/* the last query of a polling loop                  */
	CALL_QUERY, CALL_RECORD,
	CALL_MPI,	/* has a part in a meeting of ranks                  */
};
enum {
	CALL_FIXED_START = 1, CALL_FIXED_END = 2, /* as recorded, always     */
	CALL_ACTIVE = 4,   /* what it leads to begins in the window          */
	CALL_OUTSIDE = 8,  /* the gap before it holds a wait that ended for a
			      reason which the trace does not show           */
	CALL_INFERRED = 16, /* what it waits for is inferred, not recorded   */
	CALL_WIDE = 32,	   /* waits for all of a context or process          */
	CALL_MANY = 64,	   /* queued more than one op                        */
	CALL_COMPUTES = 128, /* queued a kernel or a graph                   */
	CALL_LONG = 256,   /* of MPI: ended so long after the last had come
			      that the trace does not show why                */
	CALL_PAUSE = 512,  /* the gap before it holds waits outside CUDA      */
	CALL_AWAITS = 1024, /* the gap before it is a wait for an op: await   */
};
struct model_call { /* in order of start */
	int64_t start_ns, end_ns, own_ns, residual_ns;
	int32_t lambda_ns;
	uint32_t wait;	/* its first op waited for, of MPI the meeting; they
			   end where the next's begin                        */
	uint32_t room;	/* op whose start made room in the queue, of MPI the
			   meeting that it comes to; NSX_NONE                */
	uint32_t before; /* call that it follows; NSX_NONE                   */
	uint32_t op;	/* first op it queued; NSX_NONE                      */
	uint32_t api;	/* index of apis                                     */
	uint32_t row;	/* of trace.calls; of MPI the thread's next          */
	uint16_t flags;
	uint8_t kind;
};

struct model_pause { /* of a gap: its waits outside CUDA */
	int64_t ns;
	uint32_t call; /* that follows                                       */
};

struct model_await { /* the gap before a call is a wait for an op        */
	uint32_t call, op;
};

enum { /* what an API's name says */
	API_SYNC = 1, API_IMPLICIT = 2, API_QUERY = 4, API_COPY = 8,
	API_GRAPH = 16, API_WORK = 32, /* launches, copies and sets          */
	API_STREAM = 64, API_EVENT = 128, API_WIDE = 256, API_RECORD = 512,
	API_HOST_FUNC = 1024, /* queues a function of the host               */
};
struct model_api {
	const char *name; /* without its version */
	unsigned says;
	int64_t median_ns, least_ns; /* of calls that wait for nothing; -1   */
};

struct model_rank {
	uint32_t process, device; /* of the trace; NSX_NONE                  */
};
struct model_alikes { /* what ranks do alike */
	struct nsx_packed ns; /* of the op, of the gap, of the call's own    */
	struct nsx_packed at; /* the op, or the call                         */
	struct nsx_packed of; /* its engine, or its thread of the trace, << 1 |
				 it is the first of its kind                 */
	uint32_t n;
};

struct model_team { /* a collective: its members, and when the last came */
	uint32_t at, n;
	int64_t last_ns;
};

struct model_meet { /* ranks that come to a call of MPI */
	int64_t last_ns;  /* when the last of them came                      */
	int64_t fixed_ns; /* the last of those that no replay moves; NEVER   */
	uint32_t last;	  /* its call; NSX_NONE: it is not in the model      */
};

struct lane { /* busy stretches, in order; what lies far back is all busy */
	struct nsx_span *v;
	size_t n, cap;
	int64_t floor_ns;
};

struct nsx_model {
	const struct nsx_trace *t;
	const struct nsx_facts *f;
	struct nsx_arena *arena;
	struct nsx_closure closure;
	struct nsx_window judged;
	struct model_op *op; /* one more than there are, as an end           */
	uint32_t nops;
	struct model_dep *dep;
	struct model_call *call; /* one more than there are, as an end       */
	uint32_t ncalls;
	uint32_t *wait; /* ops and meetings waited for */
	struct model_pause *pause; /* of calls that have one, in their order */
	size_t npauses;
	struct model_await *await; /* likewise                               */
	size_t nawaits;
	struct model_api *api;
	uint32_t napis;
	struct model_team *team;
	uint32_t *member, nteams, nmembers;
	struct model_meet *meet;
	uint32_t nmeets;
	int64_t launch_ns; /* from a usual call's end to its kernel's start   */
	int64_t kernel_gap_ns; /* from a kernel to the next of its stream, usually */
	/* Where there are several ranks: work but for communication, that of
	 * one kind together (kernels of one name, copies of one direction,
	 * memsets, graphs); the gaps before calls, those between the same two
	 * APIs together; calls that wait for nothing, by API; within these the
	 * shorter first.
	 */
	struct model_alikes alike_ops, alike_gaps, alike_calls;
	/* By place in alike_ops: the number of the iteration of its rank, where all
	 * ranks have as many; nsteps: 0 where they have not.
	 */
	uint32_t *alike_step, nsteps;
	uint32_t *thread_device; /* by thread of the trace: of the first op it
				    launches; NSX_NONE                       */
	uint32_t nstreams, nlanes, nengines;
	struct model_rank *engine_rank; /* by engine                         */
	uint32_t *order, norder; /* op << 2 | STEP_OP, call << 2 | ...       */
	uint32_t *measured, nmeasured; /* ops that end in the window         */
	/* Processes that share nothing with others (sets.c); 1: all are one. */
	uint32_t nsets;
	uint8_t *measured_set; /* by measured: from 0                        */
	uint8_t *set_of;       /* by process of the trace: from 1; 0: none   */
	uint32_t main_set;     /* of the limiting GPU, from 1                */
	int64_t set_ns[NSX_MAX_SETS]; /* recorded, measured from from_ns     */
	/* Of sets that keep step (sets.c): one of them, the same of all; and how long
	 * each may wait for the others, in its own code between calls.
	 */
	uint8_t tie[NSX_MAX_SETS];
	int64_t slack_ns[NSX_MAX_SETS];
	struct span_list waits, preempted, profiled;
	struct span_list absent; /* off its CPU, and nothing tells why       */
	bool is_unexplained; /* of some of that not even that it waited      */
	int64_t *stream_end; /* by stream: where the work before the window
				ends; NEVER                                  */
	int64_t *engine_end;
	struct lane *lane;
	int64_t from_ns; /* recorded_ns is measured from here                */
	bool is_shared; /* several processes use a GPU                       */
	double uncalled; /* share of the window's ops without a call         */
};
enum { STEP_START, STEP_END, STEP_OP };

/* While it is built: what the steps share and replays do not need. ------------*/

struct link { /* a dependency, in the list of its op */
	uint32_t op, next;
	int64_t weight_ns;
	uint32_t call; /* see struct model_dep                               */
};
struct model_slice { /* of a thread's calls: rows [from, to) are at `at`  */
	uint32_t from, to, at;
};
struct build {
	struct nsx_model *m;
	struct nsx_arena *a, *step; /* step: of the step at hand alone       */
	int64_t from_ns, to_ns; /* ops that begin here are in the model      */
	struct nsx_groups api_groups;
	size_t cap_apis;
	struct model_slice *slice; /* by thread of the trace                 */
	uint32_t *outer;	/* by row of the slices: call of the model   */
	uint32_t *mpi;		/* by call, of CALL_MPI: of the facts        */
	uint32_t *thread;	/* by call: of the trace                     */
	uint32_t *next;		/* by call: the next of its thread; NSX_NONE */
	uint32_t *last_op;	/* by call: the op that ends last            */
	uint32_t *place;	/* by op: its place in stream_op             */
	uint32_t *stream_op, *stream_at; /* ops of each stream, in order     */
	int64_t *queued;	/* beside stream_op: when it was queued, at
				   least as late as those before it          */
	uint32_t *link_head;	/* by op: its dependencies                   */
	struct link *link;
	uint32_t nlinks;
	size_t cap_links;
	size_t nwaits, cap_waits;
	uint32_t *stream_row;	/* by stream of the model: of the trace      */
	uint32_t *stream_of;	/* by stream of the trace; NSX_NONE          */
	int64_t *typical_launch;
	int32_t *typical_dispatch, *typical_lambda;
};

static inline int64_t model_op_end(const struct model_op *o)
{
	return o->start_ns + o->length_ns;
}
/* The call that queued a function of the host right before the operation was queued;
 * NSX_NONE.  The function leaves no row: it is what the operation's residual is.
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
	return call != NSX_NONE && m->call[call].op == NSX_NONE ? call :
								  NSX_NONE;
}
/* Time of a thread between the call that a call follows, and the call. */
static inline int64_t model_gap(const struct nsx_model *m, uint32_t call)
{
	const struct model_call *c = &m->call[call];

	return c->before == NSX_NONE ?
		       0 : c->start_ns - m->call[c->before].end_ns;
}
/* Index of the pause of a call that has one.  O(log n). */
static inline size_t model_pause_of(const struct nsx_model *m, uint32_t call)
{
	return NSX_SEARCH((size_t)0, m->npauses, mid, m->pause[mid].call < call);
}
/* What of the gap before a call was waits outside CUDA. */
static inline int64_t model_pause_ns(const struct nsx_model *m, uint32_t call)
{
	return m->call[call].flags & CALL_PAUSE ?
		       m->pause[model_pause_of(m, call)].ns : 0;
}
/* What the gap before a call that has CALL_AWAITS waits for.  O(log n). */
static inline uint32_t model_awaited(const struct nsx_model *m, uint32_t call)
{
	return m->await[NSX_SEARCH((size_t)0, m->nawaits, mid,
				   m->await[mid].call < call)].op;
}
/* When a call is longer because its thread was off its CPU: a launch all along, a wait
 * after what it waited for.
 */
static inline struct nsx_span model_lost_in(const struct model_call *c)
{
	return (struct nsx_span){c->kind == CALL_LAUNCH ? c->start_ns :
					 c->end_ns - c->residual_ns, c->end_ns};
}
/* A call that no replay moves comes to a meeting. */
static inline void model_fix_meet(struct nsx_model *m, uint32_t meet,
				  int64_t start_ns)
{
	m->meet[meet].fixed_ns = NSX_MAX(m->meet[meet].fixed_ns, start_ns);
}
/* Index of the device of an op. */
static inline uint32_t model_device(const struct build *b, uint32_t op)
{
	return b->m->t->stream[b->stream_row[b->m->op[op].stream]].device;
}
/* The call that a row of the trace folded into; NSX_NONE. */
uint32_t model_call_of(const struct build *b, uint32_t row);
/* call: see struct model_dep. */
int add_link(struct build *b, uint32_t op, uint32_t on, uint32_t call,
	     struct nsx_err *err);

/* The first of a thread's calls that begins at an instant or later; the end of
 * its slice.  O(log n).
 */
uint32_t model_first_call(const struct nsx_trace *t,
			  const struct nsx_thread *h, int64_t at_ns);

/* What begins in [from, to), in operations: calls weigh less. */
size_t model_weigh(const struct nsx_trace *t, int64_t from_ns, int64_t to_ns);
int model_pick(struct build *b, size_t max_ops, struct nsx_err *err);
int model_load(struct build *b, struct nsx_err *err);
int model_link(struct build *b, struct nsx_err *err);
int model_teams(struct build *b, struct nsx_err *err);
int model_alike(struct build *b, struct nsx_err *err);
int model_host(struct build *b, struct nsx_err *err);
int model_await(struct build *b, struct nsx_err *err);
int model_learn(struct build *b, struct nsx_err *err);
int model_order(struct build *b, struct nsx_err *err);
/* Which processes share nothing: fills the sets. */
int model_sets(struct build *b, struct nsx_err *err);
int model_close(struct build *b, struct nsx_err *err);

#endif
