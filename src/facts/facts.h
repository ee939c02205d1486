/* facts.h - shared results, computed once before the analyses run.
 *
 * Facts are const once built. Each fact is a file src/facts/NAME.c with one function
 * nsx_facts_NAME that fills its part.
 */
#pragma once

#include "base/span.h"
#include "facts/kernel_name.h"
#include "trace/trace.h"

/* How reliable a result is. NONE: not reliable at all, or there is no result. */
enum nsx_confidence {
	NSX_CONF_NONE = -1, NSX_CONF_LOW, NSX_CONF_MEDIUM, NSX_CONF_HIGH
};
extern const char *const nsx_confidence_names[]; /* "low", ...             */

/* Work of a device in the window in use: unions clipped to it, and six disjoint classes
 * that sum up to the window (queries/README.md 12).
 */
enum nsx_part_class {
	NSX_P_COMPUTE_ONLY, NSX_P_COMPUTE_COPY, NSX_P_COMPUTE_COMM,
	NSX_P_COMM_EXPOSED, NSX_P_COPY_EXPOSED, NSX_P_IDLE, NSX_NPARTS
};
extern const char *const nsx_part_names[NSX_NPARTS]; /* "compute_only", ... */
static inline int64_t nsx_computing_ns(const int64_t part_ns[NSX_NPARTS])
{
	return part_ns[NSX_P_COMPUTE_ONLY] + part_ns[NSX_P_COMPUTE_COPY] +
	       part_ns[NSX_P_COMPUTE_COMM];
}
struct nsx_partition {
	int64_t ns[NSX_NPARTS];
};
struct nsx_device_facts {
	struct nsx_spans compute; /* graph replays, and kernels except communication */
	struct nsx_spans comm;	  /* communication kernels                   */
	struct nsx_spans copy;	  /* copies and memsets                      */
	struct nsx_part_mark {	  /* the sums of the partition from the window's start to a time */
		int64_t at_ns;
		struct nsx_partition before;
	} *marks;
	size_t nmarks;
	int64_t *latest_ns; /* latest end of each NSX_OPS_BLOCK operations   */
};
enum { NSX_OPS_BLOCK = 1024 };

/* Iterations and the steady window (queries/README.md 16, 17). ----------------*/
struct nsx_iteration {
	uint32_t process, device; /* process: NSX_NONE if unknown          */
	int64_t start_ns, end_ns;
	bool steady, slow;
};
struct nsx_loop { /* the iterations of a process on a device; n > 0 */
	const struct nsx_iteration *v;
	size_t n;
};
/* The methods that recognise iterations, in order of trust: of two with equal scores the first
 * wins.
 */
enum nsx_way_method {
	NSX_WAY_NONE, NSX_WAY_NVTX, NSX_WAY_SEQUENCE, NSX_WAY_GRAPH,
	NSX_WAY_COMM, NSX_WAY_GAPS,
	/* The following methods are used only when traces are compared. */
	NSX_WAY_KERNEL, NSX_WAY_LAUNCH, NSX_WAY_WINDOW, NSX_NWAYS
};
extern const char *const nsx_way_methods[NSX_NWAYS]; /* "", "nvtx", ...      */
/* A way to recognise iterations: a method, applied to one range or kernel. */
struct nsx_cadence {
	enum nsx_way_method method;
	nsx_str name;	    /* range or kernel at the start; 0: none         */
	uint32_t process;   /* NSX_NONE: unknown                             */
	size_t n;
	double coverage, cv, score;
	bool chosen;
};
enum nsx_steady_method { /* how the steady window was found                  */
	NSX_STEADY_NONE, NSX_STEADY_ITERATIONS, NSX_STEADY_ACTIVITY,
	NSX_STEADY_PHASE, NSX_STEADY_TRIMMED,
	NSX_STEADY_USER, /* chosen by the user                               */
	NSX_NSTEADY
};
extern const char *const nsx_steady_methods[NSX_NSTEADY]; /* "", "iterations" */
struct nsx_steady {
	struct nsx_window window; /* start == end: not found                 */
	enum nsx_steady_method method;
	enum nsx_confidence confidence;
	const char **excluded;	  /* omitted parts, with reasons             */
	size_t nexcluded;
};

/* The phases of the run: NVTX ranges if they mark phases, else start-up, warm-up, the steady part,
 * single long pauses, and the rest. Phases are disjoint, in order of time, and together cover the
 * window in use. One is judged: the steady window.
 */
enum nsx_phase_kind {
	NSX_PHASE_INIT,	   /* copies, before the first kernel                */
	NSX_PHASE_WARM_UP, /* before the judged phase                        */
	NSX_PHASE_SETTLING, /* a warm-up with more GPU work than the judged phase */
	NSX_PHASE_STEADY,
	NSX_PHASE_PAUSE,   /* no GPU work, and not recurring                 */
	NSX_PHASE_TAIL,	   /* after the judged phase                         */
	NSX_PHASE_WHOLE,   /* all of a run without a loop                    */
	NSX_PHASE_WINDOW,  /* chosen by the user                             */
	NSX_NPHASE_KINDS
};
extern const char *const nsx_phase_names[NSX_NPHASE_KINDS]; /* "init", ... */
struct nsx_run_phase {
	enum nsx_phase_kind kind;
	nsx_str range; /* its NVTX range; 0: none                            */
	const char *name; /* the range's name, else the kind's. Of phases with the same name, the
			     second longest is "NAME #2", and so on          */
	struct nsx_window window;
	bool judged;
};
/* Whether the run contains a loop. */
enum nsx_run_kind {
	NSX_RUN_STEADY,
	NSX_RUN_ONCE,	  /* hardly any kernel runs more than three times    */
	NSX_RUN_START_UP, /* GPUs hardly work and nothing repeats            */
	NSX_RUN_NO_GPU,
};
extern const char *const nsx_run_kind_names[]; /* "steady", "once", ...    */

/* Idle time of a device, charged to causes; pieces of a gap add up to it. -----*/
enum nsx_cause {
	NSX_CAUSE_SYNC, NSX_CAUSE_BLOCKING_COPY, NSX_CAUSE_IMPLICIT_SYNC,
	NSX_CAUSE_ALLOC, NSX_CAUSE_MODULE,
	NSX_CAUSE_OSRT, /* an operating system or MPI call                   */
	NSX_CAUSE_OTHER_API,
	NSX_CAUSE_HOST_CODE, /* no API call: detail names the NVTX path      */
	NSX_CAUSE_LAUNCH_CALL, NSX_CAUSE_LAUNCH_TO_START,
	NSX_CAUSE_STREAM_WAIT, NSX_CAUSE_DISPATCH, NSX_CAUSE_DEPENDENCY,
	NSX_CAUSE_MIGRATION, /* no call: unified memory migrates             */
	NSX_CAUSE_UNKNOWN, /* the operation that ends the gap has no API row */
	NSX_CAUSE_EDGE,	   /* before the run's first or after its last operation */
	NSX_NCAUSES
};
extern const char *const nsx_cause_names[NSX_NCAUSES];
struct nsx_idle_piece {
	int64_t start_ns, end_ns;
	uint32_t op;	/* ends the gap; NSX_NONE at the end edge            */
	nsx_str detail; /* name of an API, OS or MPI call, of a range, or of the operation for which
			   a stream waited; 0: none                          */
	uint8_t cause;
	bool first;	/* first piece of its gap                            */
};
struct nsx_idle { /* idle pieces of a device in order of time, packed */
	const struct nsx_trace *trace;
	size_t n;
	struct nsx_packed start; /* nsx_idle_start; a piece ends where the next piece of its gap
				    begins, or with the gap                  */
	struct nsx_packed op;	 /* operation that ends the gap; or NSX_NONE */
	/* For each cause: a call, a text, or the awaited operation; or NSX_NONE. */
	struct nsx_packed about;
	struct nsx_idle_tag {
		uint8_t cause : 4, first : 1;
	} *tag;
	int64_t *before_ns; /* idle time before each 64th piece              */
};
/* A CPU-GPU barrier and what it costs (queries/README.md 10). */
enum nsx_barrier_kind {
	NSX_BARRIER_SYNC_API, NSX_BARRIER_BLOCKING_MEMCPY,
	NSX_BARRIER_IMPLICIT_SYNC, NSX_BARRIER_HOST_WAIT,
	NSX_BARRIER_LAUNCHER_GAP, NSX_NBARRIERS
};
extern const char *const nsx_barrier_names[NSX_NBARRIERS];
struct nsx_barrier { /* sorted by thread, start */
	int64_t start_ns, end_ns; /* not clipped to the window               */
	int64_t wait_ns; /* its time inside a user's window; for host waits and launcher gaps only
			    the time that no barrier of another kind covers */
	int64_t gpu_busy_ns, gpu_idle_ns; /* parts of wait_ns inside the window in use while the
					     process's GPUs are busy or idle; -1: it has no GPU */
	int64_t cost_ns; /* idle time charged to it; no time is charged to two barriers */
	uint32_t thread;
	nsx_str name; /* raw API or OSRT name; 0: cpu_launcher_gap           */
	uint8_t kind;
};
struct nsx_thread_barriers { /* a thread's slice of barriers */
	uint32_t at, nwaits, n; /* nwaits: without launcher gaps             */
};

/* CUDA graphs: how much of their launches was recorded. ------------------------ */
enum nsx_graph_mode {
	NSX_GRAPH_NONE,	  /* neither launches nor replays                    */
	NSX_GRAPH_OPAQUE, /* only launch calls                               */
	NSX_GRAPH_WHOLE,  /* whole replays                                   */
	NSX_GRAPH_NODES,  /* nodes of replays                                */
	NSX_GRAPH_MIXED,
};
enum {
	NSX_GRAPHS_COVERED_PCT = 95, /* below this coverage of launches, GPU work is missing */
	/* Above this share of hidden time, a recording node by node is worthwhile. */
	NSX_GRAPHS_HIDDEN_PCT = 20,
};
extern const char *const nsx_graph_modes[]; /* "none", ...               */
struct nsx_graph_facts {
	enum nsx_graph_mode mode;
	int64_t launches; /* successful graph launches that began in the window */
	int64_t covered;  /* launches with a recorded replay or recorded nodes */
	double coverage_pct; /* NAN: no launch, or a user's window, because replays may lie outside
				it */
	int64_t host_ns;  /* time of the launch calls                        */
	int64_t *missing; /* for each process: launches not covered */
	size_t orphans;	  /* replays and nodes without a launch call         */
	double hidden_pct; /* share of GPU busy time in whole replays without known nodes */
};

/* Launches whose GPU work must have run but was not recorded. ---------- */
struct nsx_lost {
	/* launches: all but those of graphs; lost: those without recorded work */
	size_t launches, lost;
};
/* Counts calls that begin in a window. */
struct nsx_lost nsx_lost_launches(const struct nsx_trace *t, const struct nsx_window *w);
/* Whether the share of lost launches is so large that idle time may be lost work. */
bool nsx_is_idle_unknown(const struct nsx_lost *lost);

/* NVTX. An operation's range is the innermost range that was open when its launch call began: a
 * range of the user's domains, else of a library's. ---------------------------------------
 */
struct nsx_nvtx_facts {
	struct nsx_packed op_range; /* nsx_op_range                          */
	struct nsx_packed parent, around; /* nsx_range_parent, nsx_range_around, as the difference
					     of indices; 0: none             */
	/* For each range: it lies inside a range with its own name on its thread and domain, and
	 * thus adds no time.
	 */
	uint8_t *nested;
};
/* The range index of an operation (kernel, copy, memset or replay), or NSX_NONE. */
static inline uint32_t nsx_op_range(const struct nsx_nvtx_facts *f, size_t op)
{
	return nsx_unpack_index(&f->op_range, op);
}
static inline uint32_t nsx_range_before(const struct nsx_packed *by, uint32_t range)
{
	uint32_t by_n = (uint32_t)nsx_unpack(by, range);

	return by_n ? range - by_n : NSX_NONE;
}
/* The enclosing range on the same thread and domain, or NSX_NONE. */
static inline uint32_t nsx_range_parent(const struct nsx_nvtx_facts *f, uint32_t range)
{
	return nsx_range_before(&f->parent, range);
}
/* The nearest range that is open at this range's start and not nested; or NSX_NONE. It is of any
 * user domain or, for a library's range, of any library's domain.
 */
static inline uint32_t nsx_range_around(const struct nsx_nvtx_facts *f, uint32_t range)
{
	return nsx_range_before(&f->around, range);
}

/* Length of the number at s[i] if the number counts ranges (the 12 of "step 12"), else 0. */
size_t nsx_counter_at(const char *s, size_t i);
/* Writes "#" for each counter of a range's name, in place: "step #". Returns it. */
char *nsx_without_counters(char *s);

/* Time and number of kernels by what is known about the launch. */
struct nsx_coverage {
	int64_t kernel_ns, nkernels; /* all kernels                          */
	int64_t mapped_ns, nmapped;  /* kernels launched in a range          */
	int64_t no_call_ns;	     /* kernels without a call in the trace  */
	int64_t no_range_ns;	     /* kernels launched outside every range */
};

struct nsx_metrics;
struct nsx_model;
struct nsx_profiler;
struct nsx_facts {
	struct nsx_kernel_names kernels;
	struct nsx_strings *strings; /* the trace's strings, and names made here */
	struct nsx_device_facts *device; /* one for each device */
	/* For each device: any GPU work. Freed once other facts are built: it is the inverse of
	 * idle.
	 */
	struct nsx_spans *busy;
	struct nsx_nvtx_facts nvtx;
	struct nsx_coverage *coverage; /* one for each process; the total at nprocesses */
	struct nsx_graph_facts graphs;
	struct nsx_lost lost; /* in the judged window                        */
	struct nsx_iteration *iterations; /* sorted by process, device, start */
	size_t niterations;
	struct nsx_loop *loops; /* the iterations of each process and device, in the same order */
	size_t nloops;
	enum nsx_way_method iteration_method;
	enum nsx_confidence iteration_confidence;
	struct nsx_cadence *cadences; /* best first                         */
	size_t ncadences;
	struct nsx_steady steady;
	struct nsx_run_phase *run_phases;
	size_t nrun_phases;
	enum nsx_run_kind run_kind;
	uint32_t limiting; /* the GPU that sets the pace: the device with least idle time and
			      exposed communication in the steady window; NSX_NONE without devices
			       */
	struct nsx_idle *idle; /* one for each device */
	struct nsx_barrier *barriers;
	size_t nbarriers;
	struct nsx_thread_barriers *thread_barriers; /* one for each thread */
	uint32_t *barrier_by_end; /* indices of barriers: each thread's waits, then its launcher
				     gaps, both sorted by end */
	uint8_t *copy_blocks; /* a bit for each call: it is an async copy that blocked */
	uint8_t *loads_code;  /* a bit for each call: nsx_call_loads         */
	struct nsx_meets *meets; /* meet.h                                   */
	struct nsx_teams *teams; /* teams.h                                  */
	struct nsx_metrics *metrics; /* metrics.h; NULL: none, or not requested */
	struct nsx_profiler *profiler; /* profiler.h; NULL: none, or not requested */
	struct nsx_model *model; /* replay/replay.h; NULL: not requested     */
	struct nsx_arena *arena;
	struct nsx_arena **device_arena; /* one for each device, for parallel work */
	uint32_t ndevices;
};

struct nsx_facts_opts {
	unsigned threads;
	struct nsx_progress *progress;
	bool samples; /* read metrics and profiler rows                      */
	bool draws;   /* keep curves of metrics                              */
};
int nsx_facts_build(const struct nsx_trace *t, const struct nsx_facts_opts *o,
		    struct nsx_facts **ret, struct nsx_err *err) NSX_CHECKED;
void nsx_facts_free(struct nsx_facts *f);

/* These facts depend on each other and run in order; each may read the earlier ones. */
int nsx_facts_unions(struct nsx_facts *f, const struct nsx_trace *t,
		     unsigned threads, struct nsx_err *err);
int nsx_facts_nvtx(struct nsx_facts *f, const struct nsx_trace *t,
		   unsigned threads, struct nsx_err *err);
int nsx_facts_barriers(struct nsx_facts *f, const struct nsx_trace *t,
		       unsigned threads, struct nsx_err *err);
int nsx_facts_idle(struct nsx_facts *f, const struct nsx_trace *t,
		   unsigned threads, struct nsx_err *err);
int nsx_facts_graphs(struct nsx_facts *f, const struct nsx_trace *t, struct nsx_err *err);
/* All other facts are built in parallel with the above and need at most the unions. Owner: a. */
int nsx_facts_iterations(struct nsx_facts *f, const struct nsx_trace *t,
			 const struct nsx_facts_opts *o, struct nsx_arena *a, struct nsx_err *err);

/* The text of a name, which may be one made by the facts. Details of idle pieces and names of
 * iterations need this instead of nsx_text.
 */
static inline const char *nsx_fact_text(const struct nsx_facts *f, nsx_str s)
{
	return nsx_str_text(f->strings, s);
}

/* The time a device spent in kernels or graph replays. */
static inline int64_t nsx_kernel_busy(const struct nsx_device_facts *d)
{
	return nsx_spans_total(&d->compute) + nsx_spans_minus_total(&d->comm, &d->compute);
}

/* Whether the file records in which range a kernel was launched. */
static inline bool nsx_maps_kernels(const struct nsx_schema *s)
{
	return nsx_has_view(s, NSX_VIEW_nvtx) &&
	       nsx_has_view(s, NSX_VIEW_kernel) &&
	       nsx_has_view(s, NSX_VIEW_runtime) &&
	       nsx_has(s, NSX_F_kernel_corr) && nsx_has(s, NSX_F_runtime_corr);
}

/* The window on which findings are priced: the steady window, or the user's; start == end without
 * GPU work.
 */
static inline struct nsx_window nsx_judged(const struct nsx_facts *f)
{
	return f->steady.window;
}

/* The loop of the GPU that sets the pace; of several processes, of the one with most iterations;
 * NULL: none.
 */
const struct nsx_loop *nsx_pacing_loop(const struct nsx_facts *f);

/* Parses a window as nsx_window_parse does, or a name from a report: "phase:NAME" is a run phase;
 * "iteration:N" is an iteration of the GPU that sets the pace; "step:KIND" is a typical engine step
 * on that GPU. Errors: NSX_E_USAGE.
 */
int nsx_named_window(const struct nsx_facts *f, const struct nsx_trace *t,
		     const char *text, struct nsx_window *ret,
		     struct nsx_err *err) NSX_CHECKED;
/* Like nsx_trace_load, with a window that may be a name. Phases and iterations are known only for
 * the whole trace, so that is loaded first for a name.
 */
int nsx_load_named(const struct nsx_schema *schema,
		   const struct nsx_load_opts *opts, struct nsx_trace **ret, struct nsx_err *err);

/* A device's first operation that starts at at_ns or later; the end of its slice if none. O(log n).
 */
uint32_t nsx_first_op(const struct nsx_trace *t, const struct nsx_device *d, int64_t at_ns);
/* The number of a device's operations that start in [from_ns, to_ns). O(log n). */
size_t nsx_ops_started(const struct nsx_trace *t, uint32_t device, int64_t from_ns, int64_t to_ns);
/* Iterates over a device's operations that run or begin in w; *at begins at 0. Skips earlier
 * operations block by block.
 */
bool nsx_next_op(const struct nsx_facts *f, const struct nsx_trace *t,
		 uint32_t device, const struct nsx_window *w, size_t *at, size_t *ret_op);

/* Fills before_ns, which nsx_idle_total and nsx_idle_within need. */
int nsx_idle_sum(struct nsx_idle *idle, struct nsx_arena *a, struct nsx_err *err) NSX_CHECKED;

/* Iterates over a device's gaps; *at begins at 0. */
struct nsx_gap {
	int64_t start_ns, end_ns;
	const struct nsx_idle *idle;
	size_t at, npieces; /* slice of its pieces, which sum up to the gap  */
	uint32_t op; /* operation that ends it; NSX_NONE at the window's end */
	bool is_edge; /* it lies at an edge of the window in use             */
};
bool nsx_next_gap(const struct nsx_idle *idle, size_t *at, struct nsx_gap *ret);
/* The index of the first piece of the first gap that ends after at_ns, as a start for nsx_next_gap.
 */
size_t nsx_idle_from(const struct nsx_idle *idle, int64_t at_ns);
static inline int64_t nsx_idle_start(const struct nsx_idle *idle, size_t i)
{
	return nsx_unpack(&idle->start, i);
}
struct nsx_idle_piece nsx_idle_at(const struct nsx_idle *idle, size_t i);

/* Idle time of the device in total, or in [start, end). O(log n). */
int64_t nsx_idle_total(const struct nsx_idle *idle);
int64_t nsx_idle_within(const struct nsx_idle *idle, int64_t start_ns, int64_t end_ns);
/* The device's gaps as packed spans, clipped to w. Errors: NSX_E_NOMEM. */
int nsx_idle_spans(const struct nsx_idle *idle, const struct nsx_window *w,
		   struct nsx_arena *a, struct nsx_spans *ret, struct nsx_err *err) NSX_CHECKED;

/* The barrier charged with a gap (queries/README.md 10); NSX_NONE: none. */
uint32_t nsx_gap_barrier(const struct nsx_facts *f, const struct nsx_trace *t,
			 const struct nsx_gap *gap);

/* Whether a call is a copy that blocked the host. */
static inline bool nsx_call_blocks(const struct nsx_facts *f,
				   const struct nsx_trace *t, size_t call)
{
	return t->calls.cls[call] == NSX_CALL_COPY || (f->copy_blocks[call / 8] >> call % 8 & 1);
}

/* Whether a launch loads or compiles code: it takes 1 ms or more and is its thread's first launch
 * of the kernel, or 50 ms or more.
 */
static inline bool nsx_call_loads(const struct nsx_facts *f, size_t call)
{
	return f->loads_code[call / 8] >> call % 8 & 1;
}

/* The spans in which the device's kernels run, communicating or not. Shares a list of d if
 * only one kind exists, else makes a new list on the arena.
 */
int nsx_kernel_spans(const struct nsx_device_facts *d, struct nsx_arena *a,
		     struct nsx_spans *ret, struct nsx_err *err) NSX_CHECKED;

/* A device's time by class inside [start, end), which must lie inside the window in use.
 * Exact: sums up to end - start. O(log n).
 */
void nsx_partition(const struct nsx_device_facts *d, int64_t start_ns,
		   int64_t end_ns, struct nsx_partition *ret);
