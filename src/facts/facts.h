/* facts.h - what several analyses need and one computes, before they run.
 *
 * Built once, then const.  A fact is a file
 * src/facts/NAME.c with one function nsx_facts_NAME that fills its part.
 */
#ifndef NSX_FACTS_H
#define NSX_FACTS_H

#include "base/span.h"
#include "facts/kernel_name.h"
#include "trace/trace.h"

/* How far something can be trusted; NONE: not at all, or there is nothing.     */
enum nsx_confidence {
	NSX_CONF_NONE = -1, NSX_CONF_LOW, NSX_CONF_MEDIUM, NSX_CONF_HIGH
};
extern const char *const nsx_confidence_names[]; /* "low", ...             */

/* What a device did in the window in force: unions, each clipped to it; and six
 * disjoint classes that add up to the window (queries/README.md 12).
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
	struct nsx_spans compute; /* kernels that do not communicate, replays */
	struct nsx_spans comm;	  /* communication kernels                   */
	struct nsx_spans copy;	  /* copies and memsets                      */
	struct nsx_part_mark {	  /* the partition up to some instants       */
		int64_t at_ns;
		struct nsx_partition before;
	} *marks;
	size_t nmarks;
	int64_t *latest_ns; /* by NSX_OPS_BLOCK operations: their last end   */
};
enum { NSX_OPS_BLOCK = 1024 };

/* Iterations and the steady window (queries/README.md 16, 17). ----------------*/
struct nsx_iteration {
	uint32_t process, device; /* process: NSX_NONE when not known      */
	int64_t start_ns, end_ns;
	bool steady, slow;
};
/* How work that repeats is told apart.  Those of iterations come in order of trust:
 * of two ways that score alike the first wins.
 */
enum nsx_way_method {
	NSX_WAY_NONE, NSX_WAY_NVTX, NSX_WAY_SEQUENCE, NSX_WAY_GRAPH,
	NSX_WAY_COMM, NSX_WAY_GAPS,
	/* As a comparison is asked to. */
	NSX_WAY_KERNEL, NSX_WAY_LAUNCH, NSX_WAY_WINDOW, NSX_NWAYS
};
extern const char *const nsx_way_methods[NSX_NWAYS]; /* "", "nvtx", ...      */
/* A way to see iterations that was tried: best first. */
struct nsx_cadence {
	enum nsx_way_method method;
	nsx_str name;	    /* range or kernel that marks a start; 0 none    */
	uint32_t process;   /* NSX_NONE when not known                       */
	size_t n;
	double coverage, cv, score;
	bool chosen;
};
enum nsx_steady_method { /* how the steady window was found                  */
	NSX_STEADY_NONE, NSX_STEADY_ITERATIONS, NSX_STEADY_ACTIVITY,
	NSX_STEADY_PHASE, NSX_STEADY_TRIMMED,
	NSX_STEADY_USER, /* who gave a window                                */
	NSX_NSTEADY
};
extern const char *const nsx_steady_methods[NSX_NSTEADY]; /* "", "iterations" */
struct nsx_steady {
	struct nsx_window window; /* start == end: none was found            */
	enum nsx_steady_method method;
	enum nsx_confidence confidence;
	const char **excluded;	  /* what was left out and why               */
	size_t nexcluded;
};

/* What the run did one after another: what ranges say, else start-up, warm-up,
 * the steady part, single long pauses, the rest.  In order of time, disjoint;
 * together they are the window in force.  One is judged: the steady window.
 */
enum nsx_phase_kind {
	NSX_PHASE_INIT,	   /* copies, before the first kernel                */
	NSX_PHASE_WARM_UP, /* before what is judged                          */
	NSX_PHASE_SETTLING, /* the same, with more GPU work than that        */
	NSX_PHASE_STEADY,
	NSX_PHASE_PAUSE,   /* no GPU work; one that recurs is no phase       */
	NSX_PHASE_TAIL,	   /* after what is judged                           */
	NSX_PHASE_WHOLE,   /* all of a run that is no loop                   */
	NSX_PHASE_WINDOW,  /* as the user asked for                          */
	NSX_NPHASE_KINDS
};
extern const char *const nsx_phase_names[NSX_NPHASE_KINDS]; /* "init", ... */
struct nsx_run_phase {
	enum nsx_phase_kind kind;
	nsx_str range; /* NVTX range that it is; 0: none                     */
	const char *name; /* of the range, else of the kind; of several that share
			     one, the second longest is "NAME #2", and so on  */
	struct nsx_window window;
	bool judged;
};
/* Whether there is a loop to speak of. */
enum nsx_run_kind {
	NSX_RUN_STEADY,
	NSX_RUN_ONCE,	  /* hardly a kernel runs a fourth time              */
	NSX_RUN_START_UP, /* GPUs hardly work, and nothing repeats           */
	NSX_RUN_NO_GPU,
};
extern const char *const nsx_run_kind_names[]; /* "steady", "once", ...    */

/* Idle time of a device, charged to causes; pieces of a gap add up to it. -----*/
enum nsx_cause {
	NSX_CAUSE_SYNC, NSX_CAUSE_BLOCKING_COPY, NSX_CAUSE_IMPLICIT_SYNC,
	NSX_CAUSE_ALLOC, NSX_CAUSE_MODULE,
	NSX_CAUSE_OSRT, /* a call of the operating system, or of MPI         */
	NSX_CAUSE_OTHER_API,
	NSX_CAUSE_HOST_CODE, /* no API call: detail names the NVTX path      */
	NSX_CAUSE_LAUNCH_CALL, NSX_CAUSE_LAUNCH_TO_START,
	NSX_CAUSE_STREAM_WAIT, NSX_CAUSE_DISPATCH, NSX_CAUSE_DEPENDENCY,
	NSX_CAUSE_MIGRATION, /* no call: pages of unified memory move        */
	NSX_CAUSE_UNKNOWN, /* no API row for the op that ends the gap        */
	NSX_CAUSE_EDGE,	   /* before the run's first or after its last op    */
	NSX_NCAUSES
};
extern const char *const nsx_cause_names[NSX_NCAUSES];
struct nsx_idle_piece {
	int64_t start_ns, end_ns;
	uint32_t op;	/* that ends the gap; NSX_NONE at the end edge       */
	nsx_str detail; /* API, OSRT, MPI or range name; the op a stream waited
			   for; 0 none                                       */
	uint8_t cause;
	bool first;	/* of its gap                                        */
};
struct nsx_idle { /* one device: pieces in order of time, packed */
	const struct nsx_trace *trace;
	size_t n;
	struct nsx_packed start; /* nsx_idle_start; ends follow: of the next
				    piece, or of the gap                     */
	struct nsx_packed op;	 /* that ends the gap; NSX_NONE              */
	struct nsx_packed about; /* by cause a call, a text, or the op waited
				    for; NSX_NONE                            */
	struct nsx_idle_tag {
		uint8_t cause : 4, first : 1;
	} *tag;
	int64_t *before_ns; /* idle before each 64th piece                   */
};
/* A CPU-GPU barrier and what it costs (queries/README.md 10). */
enum nsx_barrier_kind {
	NSX_BARRIER_SYNC_API, NSX_BARRIER_BLOCKING_MEMCPY,
	NSX_BARRIER_IMPLICIT_SYNC, NSX_BARRIER_HOST_WAIT,
	NSX_BARRIER_LAUNCHER_GAP, NSX_NBARRIERS
};
extern const char *const nsx_barrier_names[NSX_NBARRIERS];
struct nsx_barrier { /* in order of thread, start */
	int64_t start_ns, end_ns; /* whole, not cut to the window            */
	int64_t wait_ns; /* its own time, of the window if one was asked for:
			    host waits and launcher gaps leave out what other
			    classes cover                                    */
	int64_t gpu_busy_ns, gpu_idle_ns; /* of wait_ns inside the window in
			    force, on the process's GPUs; -1: it has none    */
	int64_t cost_ns; /* idle that follows from it; disjoint              */
	uint32_t thread;
	nsx_str name; /* raw API or OSRT name; 0: cpu_launcher_gap           */
	uint8_t kind;
};
struct nsx_thread_barriers { /* a thread's slice of barriers */
	uint32_t at, nwaits, n; /* nwaits: all but launcher gaps             */
};

/* CUDA graphs: what of their launches was recorded. ----------------------------*/
enum nsx_graph_mode {
	NSX_GRAPH_NONE,	  /* no launch and no replay                         */
	NSX_GRAPH_OPAQUE, /* launch calls and nothing of their work          */
	NSX_GRAPH_WHOLE,  /* replays as a whole                              */
	NSX_GRAPH_NODES,  /* the nodes of replays                            */
	NSX_GRAPH_MIXED,
};
enum {
	NSX_GRAPHS_COVERED_PCT = 95, /* less: work is missing                */
	NSX_GRAPHS_HIDDEN_PCT = 20,  /* more: the inside is worth seeing     */
};
extern const char *const nsx_graph_modes[]; /* "none", ...               */
struct nsx_graph_facts {
	enum nsx_graph_mode mode;
	int64_t launches; /* calls that succeeded and began in the window    */
	int64_t covered;  /* those that left a replay or nodes behind        */
	double coverage_pct; /* NAN: no launch, or with a user's window, where
				a replay may lie outside                     */
	int64_t host_ns;  /* in all of them                                  */
	int64_t *missing; /* by process: launches that are not covered       */
	size_t orphans;	  /* replays and nodes without a launch call         */
	double hidden_pct; /* of the GPUs' busy time: replays as a whole,
			     where no node is known                          */
};

/* Launches, and those whose GPU work must have run and is not in the trace. ------*/
struct nsx_lost {
	size_t launches, lost; /* launches: but for those of graphs          */
};
/* Of the calls that begin in a window. */
struct nsx_lost nsx_lost_launches(const struct nsx_trace *t,
				  const struct nsx_window *w);
/* Whether they are so many that idle time may be work that was lost. */
bool nsx_is_idle_unknown(const struct nsx_lost *lost);

/* NVTX: the innermost range open where each op's host call began: of the user's
 * domains, else of a library's. ------------------------------------------------*/
struct nsx_nvtx_facts {
	struct nsx_packed op_range; /* nsx_op_range                          */
	struct nsx_packed parent, around; /* how far before it; 0: none      */
	uint8_t *nested;    /* by nvtx range: it lies in one of its own name
			       on its thread and domain: its time is part of
			       that one's                                    */
};
/* By op, kernels, copies, memsets and replays alike: index of nvtx, NSX_NONE. */
static inline uint32_t nsx_op_range(const struct nsx_nvtx_facts *f, size_t op)
{
	return nsx_unpack_index(&f->op_range, op);
}
static inline uint32_t nsx_range_before(const struct nsx_packed *by,
					uint32_t range)
{
	uint32_t by_n = (uint32_t)nsx_unpack(by, range);

	return by_n ? range - by_n : NSX_NONE;
}
/* The range around one on its thread and domain, NSX_NONE. */
static inline uint32_t nsx_range_parent(const struct nsx_nvtx_facts *f,
					uint32_t range)
{
	return nsx_range_before(&f->parent, range);
}
/* The nearest range open where one began that is not nested, of all user domains
 * (all library domains for one of a library); NSX_NONE.
 */
static inline uint32_t nsx_range_around(const struct nsx_nvtx_facts *f,
					uint32_t range)
{
	return nsx_range_before(&f->around, range);
}

/* Kernel time by what is known of its launch. */
struct nsx_coverage {
	int64_t kernel_ns, nkernels; /* all                                  */
	int64_t mapped_ns, nmapped;  /* launched in a range                  */
	int64_t no_call_ns;	     /* without a call in the trace          */
	int64_t no_range_ns;	     /* launched outside every range         */
};

struct nsx_metrics;
struct nsx_model;
struct nsx_profiler;
struct nsx_facts {
	struct nsx_kernel_names kernels;
	struct nsx_strings *strings; /* over the trace's: names made here    */
	struct nsx_device_facts *device; /* by device                        */
	struct nsx_spans *busy; /* by device: any GPU work.  For other facts
				   only, then given back: it is what is not
				   idle                                      */
	struct nsx_nvtx_facts nvtx;
	struct nsx_coverage *coverage; /* by process; of all at nprocesses   */
	struct nsx_graph_facts graphs;
	struct nsx_lost lost; /* in the judged window                        */
	struct nsx_iteration *iterations; /* by process, device, start       */
	size_t niterations;
	enum nsx_way_method iteration_method;
	enum nsx_confidence iteration_confidence;
	struct nsx_cadence *cadences;
	size_t ncadences;
	struct nsx_steady steady;
	struct nsx_run_phase *run_phases;
	size_t nrun_phases;
	enum nsx_run_kind run_kind;
	uint32_t limiting; /* device with the least idle and exposed
			      communication in the steady window: the latest
			      rank; NSX_NONE without devices                 */
	struct nsx_idle *idle; /* by device                                  */
	struct nsx_barrier *barriers;
	size_t nbarriers;
	struct nsx_thread_barriers *thread_barriers; /* by thread            */
	uint32_t *barrier_by_end; /* of each slice first the waits, then the
				     launcher gaps, both in order of end     */
	uint8_t *copy_blocks; /* by call, a bit: an async copy that blocked  */
	struct nsx_meets *meets; /* meet.h                                   */
	struct nsx_teams *teams; /* teams.h                                  */
	struct nsx_metrics *metrics; /* metrics.h; NULL: none, or not asked for */
	struct nsx_profiler *profiler; /* profiler.h; NULL: none, or not
					  asked for                          */
	struct nsx_model *model; /* replay/replay.h; NULL: not asked for     */
	struct nsx_arena *arena;
	struct nsx_arena **device_arena; /* by device, for work on threads   */
	uint32_t ndevices;
};

struct nsx_facts_opts {
	unsigned threads;
	struct nsx_progress *progress;
	bool samples; /* metrics and profiler are read, too                  */
	bool draws;   /* metrics have curves                                 */
};
int nsx_facts_build(const struct nsx_trace *t, const struct nsx_facts_opts *o,
		    struct nsx_facts **ret, struct nsx_err *err) NSX_CHECKED;
void nsx_facts_free(struct nsx_facts *f);

/* The parts that follow from each other, in order; each may read what the ones
 * before it filled.
 */
int nsx_facts_unions(struct nsx_facts *f, const struct nsx_trace *t,
		     unsigned threads, struct nsx_err *err);
int nsx_facts_nvtx(struct nsx_facts *f, const struct nsx_trace *t,
		   unsigned threads, struct nsx_err *err);
int nsx_facts_barriers(struct nsx_facts *f, const struct nsx_trace *t,
		       unsigned threads, struct nsx_err *err);
int nsx_facts_idle(struct nsx_facts *f, const struct nsx_trace *t,
		   unsigned threads, struct nsx_err *err);
int nsx_facts_graphs(struct nsx_facts *f, const struct nsx_trace *t,
		     struct nsx_err *err);
/* What else facts hold is built beside these: it needs the unions at most.  Owner: a. */
int nsx_facts_iterations(struct nsx_facts *f, const struct nsx_trace *t,
			 unsigned threads, struct nsx_arena *a,
			 struct nsx_err *err);

/* Text of a name made here or of the trace: details of idle pieces, marks of
 * iterations.
 */
static inline const char *nsx_fact_text(const struct nsx_facts *f, nsx_str s)
{
	return nsx_str_text(f->strings, s);
}

/* Time in which a device ran kernels or graph replays. */
static inline int64_t nsx_kernel_busy(const struct nsx_device_facts *d)
{
	return nsx_spans_total(&d->compute) +
	       nsx_spans_minus_total(&d->comm, &d->compute);
}

/* Whether the file can tell in what range a kernel was launched. */
static inline bool nsx_maps_kernels(const struct nsx_schema *s)
{
	return nsx_has_view(s, NSX_VIEW_nvtx) &&
	       nsx_has_view(s, NSX_VIEW_kernel) &&
	       nsx_has_view(s, NSX_VIEW_runtime) &&
	       nsx_has(s, NSX_F_kernel_corr) && nsx_has(s, NSX_F_runtime_corr);
}

/* The window findings are priced on: the steady one, which with a user's window
 * is that one; start == end without GPU work.
 */
static inline struct nsx_window nsx_judged(const struct nsx_facts *f)
{
	return f->steady.window;
}

/* A window as nsx_window_parse reads it, or by a name that reports print:
 * "phase:NAME", by the name of a run phase, "iteration:N" of the GPU
 * that sets the pace, or "step:KIND", a typical step of an engine there.  Errors: NSX_E_USAGE.
 */
int nsx_named_window(const struct nsx_facts *f, const struct nsx_trace *t,
		     const char *text, struct nsx_window *ret,
		     struct nsx_err *err) NSX_CHECKED;
/* nsx_trace_load for any window that the user may name: what phases and
 * iterations there are is known only of the whole trace, so that is loaded
 * first where one is named.
 */
int nsx_load_named(const struct nsx_schema *schema,
		   const struct nsx_load_opts *opts, struct nsx_trace **ret,
		   struct nsx_err *err);

/* The first op of a device that starts at an instant or later; the end of its
 * slice.  O(log n).
 */
uint32_t nsx_first_op(const struct nsx_trace *t, const struct nsx_device *d,
		      int64_t at_ns);
/* GPU work of a device that starts in [from_ns, to_ns). O(log n). */
size_t nsx_ops_started(const struct nsx_trace *t, uint32_t device,
		       int64_t from_ns, int64_t to_ns);
/* The GPU work of a device that runs or begins in [start, end), one after the
 * other: *at begins at 0.  What lies before is passed over in blocks.
 */
bool nsx_next_op(const struct nsx_facts *f, const struct nsx_trace *t,
		 uint32_t device, const struct nsx_window *w, size_t *at,
		 size_t *ret_op);

/* Fills before_ns, for nsx_idle_total and nsx_idle_within. */
int nsx_idle_sum(struct nsx_idle *idle, struct nsx_arena *a,
		 struct nsx_err *err) NSX_CHECKED;

/* The gaps of a device, one after the other: *at begins at 0. */
struct nsx_gap {
	int64_t start_ns, end_ns;
	const struct nsx_idle *idle;
	size_t at, npieces; /* its pieces, which add up to it                */
	uint32_t op; /* that ends it; NSX_NONE at the end edge               */
	bool is_edge; /* at an end of the window in force                    */
};
bool nsx_next_gap(const struct nsx_idle *idle, size_t *at,
		  struct nsx_gap *ret);
/* Where the first gap that ends after an instant begins among the pieces: to
 * begin with in nsx_next_gap.
 */
size_t nsx_idle_from(const struct nsx_idle *idle, int64_t at_ns);
static inline int64_t nsx_idle_start(const struct nsx_idle *idle, size_t i)
{
	return nsx_unpack(&idle->start, i);
}
struct nsx_idle_piece nsx_idle_at(const struct nsx_idle *idle, size_t i);

/* Idle time of the device, all of it or in [start, end). O(log n). */
int64_t nsx_idle_total(const struct nsx_idle *idle);
int64_t nsx_idle_within(const struct nsx_idle *idle, int64_t start_ns,
			int64_t end_ns);
/* Its gaps as spans, packed, cut to w.  Errors: NSX_E_NOMEM. */
int nsx_idle_spans(const struct nsx_idle *idle, const struct nsx_window *w,
		   struct nsx_arena *a, struct nsx_spans *ret,
		   struct nsx_err *err) NSX_CHECKED;

/* The barrier a gap is charged to (queries/README.md 10); NSX_NONE: none. */
uint32_t nsx_gap_barrier(const struct nsx_facts *f, const struct nsx_trace *t,
			 const struct nsx_gap *gap);

/* Whether a call is a copy that kept the host waiting. */
static inline bool nsx_call_blocks(const struct nsx_facts *f,
				   const struct nsx_trace *t, size_t call)
{
	return t->calls.cls[call] == NSX_CALL_COPY ||
	       (f->copy_blocks[call / 8] >> call % 8 & 1);
}

/* When kernels of the device run, of one sort or the other: a list of d itself where
 * it has but one, else new, on the arena.
 */
int nsx_kernel_spans(const struct nsx_device_facts *d, struct nsx_arena *a,
		     struct nsx_spans *ret, struct nsx_err *err) NSX_CHECKED;

/* Time of each class on a device inside [start, end), which must lie inside
 * the window in force: exact, sums to end - start. O(log n).
 */
void nsx_partition(const struct nsx_device_facts *d, int64_t start_ns,
		   int64_t end_ns, struct nsx_partition *ret);

#endif
