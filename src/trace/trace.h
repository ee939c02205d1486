/* trace.h - the shared columns every analysis reads.
 *
 * Columns, not rows; everything is const once loaded and owned by the trace.
 * Times are int64 nanoseconds of the trace's own clock, spans half-open
 * [start, end), end >= start.  A group that is absent from the file has n = 0;
 * ask nsx_has_view (absent) before calling nothing "zero".
 *
 * `window` is the window in force: the user's, else the full one.  GPU ops are
 * already cut to it; NSX_OP_CUT marks those that began before it: their time
 * counts, they do not.  Host rows are whole, for what they mean (which range
 * encloses which call) does not end at a window's edge: take their time with
 * nsx_in_window and count them with nsx_starts_inside.
 */
#ifndef NSX_TRACE_H
#define NSX_TRACE_H

#include "base/pack.h"
#include "base/progress.h"
#include "base/span.h"
#include "schema/codes.h"
#include "schema/schema.h"

/* Identity --------------------------------------------------------------*/

struct nsx_process { /* ordered by key */
	uint64_t key; /* globalTid with the low 24 bits cleared; for files
			 with plain pids: pid << 24 */
	int64_t pid;
	nsx_str name; /* 0 unknown */
};
struct nsx_thread { /* ordered by (process key, tid) */
	uint64_t global_tid;
	int64_t tid;
	uint32_t process;
	nsx_str name;		   /* 0 unknown                              */
	uint32_t calls_at, ncalls; /* its slice of calls                     */
	uint32_t nvtx_at, nnvtx;   /* its slice of nvtx (stack ranges first) */
	uint32_t osrt_at, nosrt;   /* its slice of osrt                      */
	/* Anywhere in the trace, read or not: */
	bool has_calls, launches; /* launches: made a launch-class call       */
	bool has_ranges, has_stack; /* has_stack: push/pop ranges            */
};
struct nsx_device { /* ordered by (device_id, gpu key) */
	int64_t device_id;    /* CUDA ordinal as exported                    */
	nsx_str gpu;	      /* uuid, else "gpu<id>", else "" : tells two GPUs
				 of one ordinal apart                        */
	int64_t gpu_id;	      /* TARGET_INFO_GPU.id, -1 unknown              */
	int64_t sm_count;     /* as the process sees it, -1 unknown: of a slice
				 (MIG) fewer than the GPU has                */
	const struct nsx_gpu_info *info; /* see nsx_device_gpu               */
	nsx_str label;	      /* what people call it: "0", and where several have
				 one ordinal gpu_id, or "0 (pid 111)"        */
	uint32_t ops_at, nops; /* its slice of ops                           */
	struct nsx_beyond {
		int64_t dry_ns;	 /* end of its work before the user's window;
				    INT64_MIN: none was read there           */
		int64_t next_ns; /* start of its first work after it, or the
				    end of what was read; INT64_MAX: none is
				    there                                    */
		uint32_t next_call; /* that launched that; NSX_NONE: not
				       recorded                              */
		bool is_migration;  /* that is one                           */
	} beyond; /* of operations, which are cut to the user's window       */
};
enum nsx_stream_type { /* ENUM_CUPTI_STREAM_TYPE                      */
	NSX_STREAM_UNKNOWN,
	NSX_STREAM_BLOCKING, /* takes turns with the null stream             */
	NSX_STREAM_NON_BLOCKING, NSX_STREAM_NULL,
};
struct nsx_stream { /* (process, context, stream), in order of device, then key */
	uint32_t process, device;
	int64_t context_id, stream_id;
	bool is_green; /* of a context that has a part of the multiprocessors */
	uint8_t type;
};
static inline bool nsx_same_context(const struct nsx_stream *a,
				    const struct nsx_stream *b)
{
	return a->process == b->process && a->device == b->device &&
	       a->context_id == b->context_id;
}
/* The GPU times of a process on a device, against the host's clock. */
struct nsx_clock { /* ordered by (device, process) */
	uint32_t process, device; /* process: NSX_NONE when not known        */
	bool is_off; /* recorded GPU times contradict cause and effect       */
	int64_t shift_ns; /* what was therefore added to them; 0 where is_off:
			     no one number mends them                        */
	int64_t least_ns, most_ns; /* what is to be added at least, that none
			     begins before its call, and at most, that none
			     ends after what waited for it; INT64_MIN and
			     INT64_MAX: not known                            */
	int64_t within_ns; /* what they may still be off by; INT64_MAX: not
			     known                                           */
};
struct nsx_gpu_info { /* a row of TARGET_INFO_GPU; -1 where not known */
	int64_t id, cuda_device, memory_bytes, bandwidth_bytes_per_s, sm_count;
	int64_t compute_major, compute_minor, max_warps_per_sm,
		max_blocks_per_sm, max_shared_per_block,
		max_shared_per_block_optin, max_shared_per_sm,
		max_registers_per_sm, max_registers_per_block, threads_per_warp,
		numa_node, clock_hz, vm; /* vm: the machine's number in global ids */
	nsx_str name, uuid, bus;
};

/* GPU work --------------------------------------------------------------
 * Kernels, copies, memsets and whole-graph replays in one array, ordered by
 * (device, start, end, kind, row id).  A peer copy is there twice, once on
 * each device; the second is flagged NSX_OP_PEER and is no event of its own.
 */
enum nsx_op_kind { NSX_OP_KERNEL, NSX_OP_MEMCPY, NSX_OP_MEMSET, NSX_OP_GRAPH };
enum nsx_op_class { /* what the device does meanwhile */
	NSX_C_COMPUTE, /* kernels that do not communicate, graph replays     */
	NSX_C_COMM,    /* communication kernels (NCCL and tagged classes)    */
	NSX_C_COPY,    /* copies and memsets                                 */
};
enum {
	NSX_OP_PEER = 1, /* second entry of a peer copy: counts in unions only */
	NSX_OP_CUT = 2,	 /* began before the user's window                   */
	NSX_OP_NODE = 4, /* node of a graph that was traced by node          */
};
struct nsx_ops {
	size_t n;
	struct nsx_packed start, length; /* of time: nsx_op_start, ...       */
	struct nsx_packed call; /* host call (outermost): nsx_op_call        */
	struct nsx_packed stream; /* nsx_op_stream                           */
	struct nsx_packed detail; /* nsx_op_detail: index of shape (kernels),
				     copy (copies and memsets) or replay
				     (graph replays)                         */
	const uint8_t *kind, *cls, *flags;
};
struct nsx_launch { /* what shapes share, however many names and grids     */
	uint32_t grid_yz[2], block[3];
	uint32_t registers;	   /* of a thread; NSX_NONE: not told        */
	uint32_t static_shared_bytes, dynamic_shared_bytes; /* likewise      */
	uint32_t graph_id;	   /* NSX_NONE unless a graph node           */
	bool known;		   /* grid and block are there               */
	uint8_t op;		   /* enum nsx_comm_op of a comm kernel      */
};
struct nsx_shape { /* distinct launch configurations, interned */
	nsx_str base_name;	   /* short name, else derived               */
	uint32_t grid_x;
	uint32_t launch;	   /* index: nsx_shape_launch               */
};
struct nsx_copy { /* of copies or memsets: those alike share some             */
	int64_t bytes;
	uint8_t copy_kind, src_kind, dst_kind, cause; /* memset: dst_kind    */
	uint32_t src_id, dst_id; /* CUDA ordinals, NSX_NONE: also of a GPU that ran
				    nothing here, which is no device         */
	uint32_t src_device, dst_device; /* index of device, NSX_NONE        */
};
struct nsx_replay { /* distinct (graph, exec), interned */
	uint32_t graph_id, graph_exec_id;
};

/* Host side -------------------------------------------------------------*/

enum nsx_call_class { /* queries/README.md 4; first match */
	NSX_CALL_OTHER,
	NSX_CALL_LAUNCH,	/* kernel, cooperative and graph launches    */
	NSX_CALL_SYNC,		/* Stream/Device/Ctx/Event/ThreadSynchronize */
	NSX_CALL_COPY,		/* a copy that blocks by name                */
	NSX_CALL_COPY_ASYNC,	/* ...Async: blocks only if proved           */
	NSX_CALL_IMPLICIT_SYNC, /* Free, FreeHost, HostAlloc, Malloc         */
	NSX_CALL_MODULE,	/* module and library loading, JIT           */
	NSX_CALL_NONE,		/* StreamWaitEvent, *Query, EventRecord      */
};
enum {
	NSX_CALL_FAILED = 2, /* returnValue other than 0 (and NotReady)      */
	NSX_CALL_NESTED = 4, /* inside another call of its thread            */
	NSX_CALL_GRAPH = 8,  /* a graph launch                               */
	NSX_CALL_MALLOC = 16, /* an allocation: an implicit sync only if long */
};
/* Calls that returned one code, other than success and "not ready". */
struct nsx_failure {
	int64_t code, first_ns; /* first_ns: where the first of them began   */
	size_t n;
};
enum { NSX_MAX_FAILURES = 64 }; /* CUDA has some hundred codes; the least are kept */

/* Ordered by (thread, start, end descending, row id). */
struct nsx_calls {
	size_t n;
	struct nsx_packed start, length; /* of time: nsx_call_start, ...     */
	struct nsx_packed name;	/* raw, with its suffix: nsx_call_name       */
	struct nsx_packed corr; /* 0: none                                   */
	struct nsx_packed op;	/* first GPU op it caused: nsx_call_op       */
	const uint8_t *cls, *flags;
};
/* Ordered by (thread, async after stack, start, end descending, domain, name). */
enum {
	NSX_NVTX_OPEN = 1,     /* never closed                               */
	NSX_NVTX_CROSSING = 2, /* push/pop, but ends after the range it began
				  in: demoted to async                       */
};
struct nsx_nvtx {
	size_t n;
	struct nsx_packed start, length;  /* of time: nsx_range_start, ...    */
	const nsx_str *name;		  /* normalised                      */
	struct nsx_packed domain;	  /* index of domains: nsx_range_domain */
	const uint8_t *kind, *flags;
};
/* When a row began, how long it took, when it ended. Open ranges end with the
 * trace.
 */
static inline int64_t nsx_op_start(const struct nsx_ops *o, size_t i)
{
	return nsx_unpack(&o->start, i);
}
static inline int64_t nsx_op_ns(const struct nsx_ops *o, size_t i)
{
	return nsx_unpack(&o->length, i);
}
static inline int64_t nsx_op_end(const struct nsx_ops *o, size_t i)
{
	return nsx_op_start(o, i) + nsx_op_ns(o, i);
}
/* NSX_NONE: none that was recorded. */
static inline uint32_t nsx_op_call(const struct nsx_ops *o, size_t i)
{
	return nsx_unpack_index(&o->call, i);
}
static inline uint32_t nsx_op_stream(const struct nsx_ops *o, size_t i)
{
	return (uint32_t)nsx_unpack(&o->stream, i);
}
static inline uint32_t nsx_op_detail(const struct nsx_ops *o, size_t i)
{
	return (uint32_t)nsx_unpack(&o->detail, i);
}
static inline int64_t nsx_call_start(const struct nsx_calls *c, size_t i)
{
	return nsx_unpack(&c->start, i);
}
static inline int64_t nsx_call_ns(const struct nsx_calls *c, size_t i)
{
	return nsx_unpack(&c->length, i);
}
static inline int64_t nsx_call_end(const struct nsx_calls *c, size_t i)
{
	return nsx_call_start(c, i) + nsx_call_ns(c, i);
}
static inline uint32_t nsx_call_op(const struct nsx_calls *c, size_t i) /* NSX_NONE */
{
	return nsx_unpack_index(&c->op, i);
}
static inline nsx_str nsx_call_name(const struct nsx_calls *c, size_t i)
{
	return (nsx_str)nsx_unpack(&c->name, i);
}
static inline int64_t nsx_range_start(const struct nsx_nvtx *x, size_t i)
{
	return nsx_unpack(&x->start, i);
}
static inline int64_t nsx_range_ns(const struct nsx_nvtx *x, size_t i)
{
	return nsx_unpack(&x->length, i);
}
static inline int64_t nsx_range_end(const struct nsx_nvtx *x, size_t i)
{
	return nsx_range_start(x, i) + nsx_range_ns(x, i);
}
static inline uint32_t nsx_range_domain(const struct nsx_nvtx *x, size_t i)
{
	return (uint32_t)nsx_unpack(&x->domain, i);
}
struct nsx_domain { /* (process, domain id) */
	uint32_t process;
	int64_t domain_id;
	nsx_str name;	 /* 0 unknown                                        */
	bool is_library; /* NCCL, cuBLAS, cuDNN ...: labels, not user ranges */
	bool is_nccl;
};
/* Outermost OSRT calls of threads that launch, (thread, start, ...). */
struct nsx_osrt {
	size_t n;
	const int64_t *start_ns, *end_ns;
	const nsx_str *name;
	const uint32_t *thread;
	const uint32_t *stack; /* NSX_NONE: not recorded                     */
};
/* All outermost OSRT calls, summed while they stream by. */
struct nsx_osrt_sum { /* ordered by (global tid, name text); one a site */
	uint64_t global_tid;
	nsx_str name;
	uint32_t site; /* frame, NSX_NONE: not recorded                      */
	int64_t count, total_ns, max_ns;
};
/* Where in the code ------------------------------------------------------
 * Of a recorded stack two frames are kept (queries/README.md 26): the innermost,
 * and the site: the innermost one of the program's own code, else of a library.
 */
enum nsx_origin { /* whose code a frame is; a site is of the first two         */
	NSX_ORIGIN_PROGRAM, NSX_ORIGIN_LIBRARY, NSX_ORIGIN_SYSTEM, NSX_ORIGIN_CUDA,
	NSX_ORIGIN_PROFILER, NSX_NORIGINS
};
extern const char *const nsx_origin_names[NSX_NORIGINS]; /* "program", ...      */
struct nsx_frame { /* distinct, in no order                                  */
	nsx_str function; /* 0: no symbol                                    */
	nsx_str module;	  /* file without its folder; 0: not told            */
	enum nsx_origin origin;
};
struct nsx_stack { /* distinct, in no order: indices of frames               */
	uint32_t leaf, site; /* site: NSX_NONE where there is none           */
};
/* Samples of threads that ran on a CPU, ordered by (global tid, start). */
struct nsx_samples {
	size_t n;
	struct nsx_packed start;
	const uint32_t *stack; /* NSX_NONE: not recorded                     */
};
struct nsx_sampled { /* a thread's slice of them, ordered by global tid      */
	uint64_t global_tid;
	nsx_str name;
	size_t at, n;
};
/* What Python ran, as nsys samples it. */
struct nsx_python_stack {
	uint64_t global_tid;
	int64_t at_ns;
	uint32_t site; /* frame "collate_fn (data.py:88)", of the program where it has
			  one; the line is the function's most frequent      */
	nsx_str text; /* "collate_fn (data.py:90) < train (train.py:12)"     */
};
struct nsx_backtraces { /* calls that have one, ascending                    */
	size_t n;
	const uint32_t *call, *stack;
};
/* Calls of libraries (nsx_library_of), ordered by (thread, start, end descending,
 * library, name); one of several rows of a call.
 */
struct nsx_library_calls {
	size_t n;
	struct nsx_packed start, length;
	struct nsx_packed comm, bytes; /* of MPI collectives: the handle, 0
					  none; what is sent, -1 not told    */
	const uint32_t *thread;
	const nsx_str *name;
	const int32_t *peer; /* of MPI: rank of the root, or of the other side of
				a message; -1: not told, any, or several      */
	const int32_t *tag;  /* of messages; -1                              */
	const uint8_t *library; /* enum nsx_library                          */
	const uint8_t *is_coll; /* an MPI collective                         */
};
/* CUDA's own overheads (queries/README.md 8), (thread, start). */
struct nsx_overheads {
	size_t n;
	const int64_t *start_ns, *end_ns;
	const uint32_t *thread;
	const uint8_t *type; /* NSX_OVERHEAD_JIT ...                */
};
/* Waits, typed by the sentinels, never by syncType; in file order. */
enum nsx_sync_type {
	NSX_SYNC_CONTEXT, NSX_SYNC_EVENT, NSX_SYNC_STREAM,
	NSX_SYNC_STREAM_WAIT, /* on the GPU: blocks no host thread */
};
struct nsx_syncs {
	size_t n;
	const int64_t *start_ns, *end_ns;
	const uint32_t *process;
	const uint32_t *call;	/* index of calls, NSX_NONE                  */
	const uint32_t *stream; /* index, NSX_NONE                           */
	const int64_t *event_sync_id; /* -1 none                             */
	const uint32_t *context, *event; /* ids as exported, NSX_NONE        */
	const uint8_t *type;
};
/* Records of CUDA events, in file order. */
struct nsx_records {
	size_t n;
	const uint32_t *process, *call, *stream;
	const int64_t *event_sync_id; /* -1 none                             */
	const uint32_t *event; /* id as exported, NSX_NONE                   */
};

struct nsx_defects { /* rows left out, or values not taken, by reason */
	size_t negative;    /* end before start                              */
	size_t mistyped;    /* NULL or text where a number is needed         */
	size_t out_of_range; /* instants beyond +-2^61                       */
	size_t dangling;    /* string ids without a string                   */
	size_t duplicate_calls; /* eventClass 67                             */
	size_t open_ranges; /* NVTX ranges never closed                      */
	size_t crossing_ranges; /* push/pop ranges that cross: demoted       */
};
struct nsx_impossible { /* records of GPU work (impossible.c) */
	size_t nearly, nlate, ncut; /* left out: before their calls, out of their
				       stream's order; cut                   */
	size_t nkept; /* too many to be told one by one: nothing was done    */
	int64_t most_cut_ns;
	/* Of the first: */
	nsx_str name; /* 0: no kernel                                        */
	int64_t start_ns, call_ns; /* call_ns: INT64_MIN, not known          */
};
struct nsx_matching { /* kernels and their calls */
	size_t matched, before_capture, no_call;
};

struct nsx_window {
	int64_t start_ns, end_ns; /* start == end: there is none */
};

/* Equal parts of a window, in each of which a curve has one value.          */
enum { NSX_CURVE_BINS = 512 };
/* The part that an instant is in, which the window does not begin after;
 * NSX_CURVE_BINS: it is beyond the window.
 */
static inline unsigned nsx_bin(const struct nsx_window *w, int64_t at_ns)
{
	return at_ns >= w->end_ns ? (unsigned)NSX_CURVE_BINS :
		(unsigned)((__int128)(at_ns - w->start_ns) * NSX_CURVE_BINS /
			   (w->end_ns - w->start_ns));
}

/* "1.5..2" in seconds after first_ns; "1.5s..2s", as reports print instants, and
 * "5ns..9ns" on the trace's clock, where "-1.5s" is below 0.
 * Errors: NSX_E_USAGE.
 */
int nsx_window_parse(const char *text, int64_t first_ns,
		     struct nsx_window *ret, struct nsx_err *err) NSX_CHECKED;
/* One instant, as a window has two; false: it is none. */
bool nsx_instant_parse(const char *text, int64_t first_ns, int64_t *ret);

struct nsx_raw_name { /* of a name that was normalised                       */
	nsx_str id;
	const char *text; /* the least by bytes of those that became id      */
};

struct nsx_trace {
	const struct nsx_schema *schema;
	const struct nsx_strings *strings; /* no more are added             */
	struct nsx_process *process;
	struct nsx_thread *thread;
	struct nsx_device *device;
	struct nsx_stream *stream;
	struct nsx_clock *clock;
	bool has_clock_off; /* some GPU times contradict cause and effect    */
	bool has_gpu_work; /* somewhere: the user's window may hold none of it */
	struct nsx_gpu_info *gpu;
	struct nsx_domain *domain;
	struct nsx_shape *shape;
	struct nsx_launch *launch;
	nsx_str *shape_name; /* their full names ("id:<n>" when dangling), side
				by side: read for every op                   */
	struct nsx_copy *copy;
	struct nsx_replay *replay;
	uint32_t nprocesses, nthreads, ndevices, nstreams, nclocks, ngpus,
		ndomains, nshapes, nmigrations, nreplays;
	struct nsx_ops ops;
	struct nsx_calls calls;
	struct nsx_failures {
		struct nsx_failure v[NSX_MAX_FAILURES];
		unsigned n;
	} failures; /* of calls, by code                                    */
	struct nsx_nvtx nvtx;
	struct nsx_osrt osrt;
	struct nsx_frame *frame;
	struct nsx_stack *stack;
	struct nsx_sampled *sampled;
	uint32_t nsampled;
	struct nsx_samples samples;
	const struct nsx_python_stack *python; /* by (global tid, time)      */
	size_t npython;
	struct nsx_backtraces backtraces;
	struct nsx_library_calls library;
	struct nsx_overheads overheads;
	struct nsx_syncs syncs;
	struct nsx_records records;
	struct nsx_defects defects;
	struct nsx_impossible impossible;
	struct nsx_matching matching;
	struct nsx_window full; /* hull of GPU work, else of the events
				   that start at 0 or later                 */
	struct nsx_window user; /* as asked; start == end: none              */
	struct nsx_window window; /* in force: user, else full               */
	struct nsx_window read; /* rows were read that reach into it; without a
				   window, or where that is about all of the
				   trace, from INT64_MIN to INT64_MAX        */
	int64_t first_ns, last_ns; /* hull of everything loaded              */
	const char **warnings;	/* refused views, too many GPUs, ...         */
	size_t nwarnings;
	bool damaged; /* when it was loaded; all of it: nsx_report_damage    */
	const char *pid_source_kernel, *pid_source_runtime, *pid_source_nvtx;
	struct nsx_osrt_sum *osrt_sum;
	size_t nosrt_sums;
	struct nsx_raw_name *raw_name; /* in order of id: see nsx_raw_name   */
	size_t nraw_names;
	nsx_str *range_label; /* by nsx_str, see nsx_range_label             */
	size_t nrange_labels;
	uint32_t *rank; /* by nsx_str: place of the names of kernels and ranges
			   in the order of their texts, from 1 on            */
	uint32_t *calls_thread, *nvtx_thread; /* see nsx_call_thread         */
	struct nsx_arena *arena;
};

struct nsx_step_patterns; /* facts/steps/steps.h */
struct nsx_load_opts {
	unsigned threads;
	const char *window; /* as typed, NULL: none                          */
	const struct nsx_step_patterns *steps_from; /* for window step:KIND  */
	struct nsx_progress *progress;
	size_t margin_rows; /* with a window so many events before it are read,
			       and after it, or what lasts as long as it, where
			       that is more; 0: 2^18                          */
	int64_t reach_ns; /* with a window: what begins farther from it may be
			     left out where rows are in order; 0: nothing   */
	size_t clock_rows; /* GPU operations, about, that are read elsewhere, to
			      judge clocks; 0: 2^17                           */
};

/* Reads everything the analyses share; each table is scanned once.  With a window
 * rows far from it are looked at and not read (queries/README.md 1): of these only
 * first_ns, last_ns, full, threads, streams and defects of time are told, besides
 * rows that the window's need: the calls that launched what runs in it, and ranges
 * around these.  A table damaged in the middle keeps the rows before the damage
 * (nsx_schema_loss).
 * Owner: the caller, nsx_trace_free; borrows schema.
 * Errors: NSX_E_NOMEM, NSX_E_STOP, NSX_E_USAGE (bad window), NSX_E_DATA when
 * no table at all could be read.
 */
int nsx_trace_load(const struct nsx_schema *schema,
		   const struct nsx_load_opts *opts, struct nsx_trace **ret,
		   struct nsx_err *err);
void nsx_trace_free(struct nsx_trace *t);
/* Fails for an instant or a window that lies beyond all that was recorded.
 * Errors: NSX_E_USAGE.
 */
int nsx_fail_beyond(const struct nsx_trace *t, const char *when,
		    struct nsx_err *err);

static inline const char *nsx_text(const struct nsx_trace *t, nsx_str id)
{
	return nsx_str_text(t->strings, id);
}

/* Appends text without what differs from one instance of an NVTX range to the next
 * (queries/README.md 5); false: there is nothing of it, and nothing is appended.
 */
bool nsx_normalise(const char *text, size_t n, struct nsx_buf *b);
/* What ranges of that name are told as in tables by name: those whose names differ in
 * parameters, or in a number that few of them share, are one (queries/README.md 5).
 */
static inline nsx_str nsx_range_label(const struct nsx_trace *t, nsx_str name)
{
	return name < t->nrange_labels ? t->range_label[name] : name;
}
/* One raw name that was normalised to id (the least by bytes), else id's own
 * text. */
const char *nsx_raw_name(const struct nsx_trace *t, nsx_str id);

/* Whether the user asked for a window, so that its ends are not the run's. */
static inline bool nsx_has_window(const struct nsx_trace *t)
{
	return t->user.start_ns != t->user.end_ns;
}
/* What calls and ranges are counted in: also those before and after all GPU work, if
 * no window was asked for.
 */
static inline struct nsx_window nsx_host_window(const struct nsx_trace *t)
{
	return nsx_has_window(t) ?
		       t->user : (struct nsx_window){t->first_ns, t->last_ns};
}
static inline void nsx_widen(struct nsx_window *hull, int64_t start_ns,
			     int64_t end_ns)
{
	hull->start_ns = NSX_MIN(hull->start_ns, start_ns);
	hull->end_ns = NSX_MAX(hull->end_ns, end_ns);
}
/* Nanoseconds of a host event [start, end) that count: all of it, unless the
 * user asked for a window.
 */
static inline int64_t nsx_in_window(const struct nsx_trace *t, int64_t start,
				    int64_t end)
{
	if (!nsx_has_window(t))
		return end - start;
	int64_t a = NSX_MAX(start, t->window.start_ns);
	int64_t b = NSX_MIN(end, t->window.end_ns);

	return b > a ? b - a : 0;
}
/* Whether rows far from the window were not read. */
static inline bool nsx_is_in_part(const struct nsx_trace *t)
{
	return t->read.start_ns > INT64_MIN || t->read.end_ns < INT64_MAX;
}
/* The part of the trace whose rows were read. */
static inline struct nsx_window nsx_read_window(const struct nsx_trace *t)
{
	return (struct nsx_window){NSX_MAX(t->read.start_ns, t->first_ns),
				   NSX_MIN(t->read.end_ns, t->last_ns)};
}
/* Whether an event is counted. Without a window asked for, all are. */
static inline bool nsx_starts_inside(const struct nsx_trace *t, int64_t start)
{
	return !nsx_has_window(t) ||
	       (start >= t->window.start_ns && start < t->window.end_ns);
}
const char *nsx_copy_direction(unsigned copy_kind); /* "HtoD", ... "Unknown" */

/* How far GPU times of the process on the device may be from those of another;
 * INT64_MAX: not known; 0 where no clock of the trace was found to be off.
 */
int64_t nsx_clock_doubt_ns(const struct nsx_trace *t, uint32_t process,
			   uint32_t device);

/* What is known of the GPU behind a device; NULL: nothing. */
const struct nsx_gpu_info *nsx_device_gpu(const struct nsx_trace *t,
					  uint32_t device);
static inline const struct nsx_stream *nsx_stream_of(const struct nsx_trace *t,
						     size_t op)
{
	return &t->stream[nsx_op_stream(&t->ops, op)];
}
static inline uint32_t nsx_op_process(const struct nsx_trace *t, size_t op)
{
	return nsx_stream_of(t, op)->process;
}
static inline const struct nsx_copy *nsx_op_copy(const struct nsx_trace *t,
						 size_t op)
{
	return &t->copy[nsx_op_detail(&t->ops, op)];
}
static inline const struct nsx_shape *nsx_op_shape(const struct nsx_trace *t,
						   size_t op)
{
	return &t->shape[nsx_op_detail(&t->ops, op)];
}
static inline const struct nsx_launch *
nsx_shape_launch(const struct nsx_trace *t, const struct nsx_shape *s)
{
	return &t->launch[s->launch];
}
static inline const struct nsx_launch *nsx_op_launch(const struct nsx_trace *t,
						     size_t op)
{
	return nsx_shape_launch(t, nsx_op_shape(t, op));
}
static inline void nsx_shape_grid(const struct nsx_trace *t,
				  const struct nsx_shape *s, uint32_t ret[3])
{
	const struct nsx_launch *l = nsx_shape_launch(t, s);

	ret[0] = s->grid_x;
	ret[1] = l->grid_yz[0];
	ret[2] = l->grid_yz[1];
}
/* Full name of a kernel; 0 for what is none. */
static inline nsx_str nsx_op_name(const struct nsx_trace *t, size_t op)
{
	return t->ops.kind[op] == NSX_OP_KERNEL ?
		       t->shape_name[nsx_op_detail(&t->ops, op)] : 0;
}

/* What people call a GPU, behind the word GPU. */
static inline const char *nsx_gpu_label(const struct nsx_trace *t, uint32_t device)
{
	return nsx_text(t, t->device[device].label);
}

static inline const char *nsx_call_text(const struct nsx_trace *t, size_t call)
{
	return nsx_text(t, nsx_call_name(&t->calls, call));
}

/* What does(name) says of a call: asked once a name.  memo: by name, zeroed at first. */
static inline bool nsx_call_does(const struct nsx_trace *t, size_t call,
				 bool (*does)(const char *name), uint8_t *memo)
{
	enum { YES = 1, NO };
	nsx_str name = nsx_call_name(&t->calls, call);

	if (!memo[name])
		memo[name] = does(nsx_text(t, name)) ? YES : NO;
	return memo[name] == YES;
}

/* The thread of a host row follows from the threads' slices.  Rows of a block
 * nearly always share one: the first thread of every block is kept, and of the
 * end, and what lies between two of them is searched.
 */
enum { NSX_THREAD_BLOCK = 256 };
static inline uint32_t nsx_thread_of(const struct nsx_trace *t,
				     const uint32_t *of_block, bool is_call,
				     size_t row)
{
	uint32_t lo = of_block[row / NSX_THREAD_BLOCK];
	uint32_t hi = of_block[row / NSX_THREAD_BLOCK + 1];

	while (lo < hi) {
		uint32_t mid = hi - (hi - lo) / 2;

		if ((is_call ? t->thread[mid].calls_at :
			       t->thread[mid].nvtx_at) <= row)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}
static inline uint32_t nsx_call_thread(const struct nsx_trace *t, size_t call)
{
	return nsx_thread_of(t, t->calls_thread, true, call);
}
static inline uint32_t nsx_nvtx_thread(const struct nsx_trace *t, size_t range)
{
	return nsx_thread_of(t, t->nvtx_thread, false, range);
}
static inline bool nsx_op_counts(const struct nsx_trace *t, size_t op)
{
	return !(t->ops.flags[op] & (NSX_OP_PEER | NSX_OP_CUT));
}
/* Index of a process by its key, of a thread by its global id; NSX_NONE when
 * the trace has no rows of it. O(log n).
 */
uint32_t nsx_process_find(const struct nsx_trace *t, uint64_t key);
/* The machine (or VM, container) of a process, by its key; 0: not told. */
static inline int64_t nsx_vm_of(uint64_t process_key)
{
	return (int64_t)(process_key >> 48);
}
uint32_t nsx_thread_find(const struct nsx_trace *t, uint64_t global_tid);
/* Those of a thread in a span, and the first at the site that has more than half of them;
 * NULL: none has.  O(log n), and linear in those in the span.
 */
struct nsx_python_slice {
	const struct nsx_python_stack *v;
	size_t n;
};
struct nsx_python_slice nsx_python_of(const struct nsx_trace *t, uint64_t global_tid,
				      struct nsx_span in);
const struct nsx_python_stack *nsx_python_most(const struct nsx_trace *t, uint32_t thread,
					       struct nsx_span in);
/* Stack of a call's backtrace, NSX_NONE without one. O(log n). */
uint32_t nsx_call_stack(const struct nsx_trace *t, uint32_t call);
/* The site of a stack, NSX_NONE where it has none, or there is no stack. */
static inline uint32_t nsx_site(const struct nsx_trace *t, uint32_t stack)
{
	return stack == NSX_NONE ? NSX_NONE : t->stack[stack].site;
}
static inline uint32_t nsx_call_site(const struct nsx_trace *t, uint32_t call)
{
	return t->backtraces.n ? nsx_site(t, nsx_call_stack(t, call)) :
				 NSX_NONE;
}
extern const char nsx_unnamed[]; /* of what has no name in the trace       */
/* API name without "_v1234", "_ptsz", "_ptds": for matching. Writes into buf. */
const char *nsx_api_base(const char *name, char *buf, size_t size);
/* Whether it queues a function of the host in a stream. */
static inline bool nsx_api_is_host_func(const char *api)
{
	return strstr(api, "LaunchHostFunc") || strstr(api, "StreamAddCallback");
}
/* Whether it asks if the GPU is done. */
static inline bool nsx_api_is_query(const char *api)
{
	return strstr(api, "EventQuery") || strstr(api, "StreamQuery");
}
enum nsx_call_class nsx_classify_call(const char *api, uint8_t *ret_flags);
/* Whether a call takes, maps or gives back memory, by its name without version. */
bool nsx_api_allocates(const char *base);
/* Whether a call of the operating system waits for a fixed time. */
bool nsx_osrt_sleeps(const char *name);

/* A process's program, without its folder, which often carries a user's name;
 * NULL: not known.
 */
const char *nsx_process_name(const struct nsx_trace *t, uint32_t process);
/* Whether PyTorch's kernels, or the ranges that it pushes, are there. */
bool nsx_sees_pytorch(const struct nsx_trace *t);

/* "(float*)" of "void ns::gemm<int>(float*)", its end if there is none; *ret_own:
 * "gemm<int>(float*)".  Borrowed parts of full.
 */
const char *nsx_parameters_of(const char *full, const char **ret_own);
/* "gemm", likewise. */
const char *nsx_base_of(const char *full, size_t *ret_len);

/* Communication kernels by the words of their base name and the namespaces before it
 * (queries/README.md 13): NSX_COMM_NONE if not.
 */
enum nsx_comm_op {
	NSX_COMM_NONE, NSX_COMM_ALLREDUCE, NSX_COMM_ALLGATHER,
	NSX_COMM_REDUCESCATTER, NSX_COMM_BROADCAST, NSX_COMM_REDUCE,
	NSX_COMM_SENDRECV, NSX_COMM_ALLTOALL, NSX_COMM_GATHER,
	NSX_COMM_SCATTER, NSX_COMM_OTHER, /* op_name is then the base name   */
};
enum nsx_comm_op nsx_classify_comm(const char *base, const char *full);
const char *nsx_comm_op_name(enum nsx_comm_op op); /* "allreduce", ... */

#endif
