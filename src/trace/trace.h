/* trace.h - the columns that all analyses read.
 *
 * The trace owns all columns; they are const once loaded. Times are int64 nanoseconds of the
 * trace's own clock; spans are half-open [start, end) with end >= start. A table that is absent
 * from the file has n = 0; nsx_has_view tells "absent" from "empty".
 *
 * `window` is the user's window or, without one, the full one. GPU operations are already cut to
 * it. Those that began before it carry NSX_OP_CUT: their time counts, but they are not counted as
 * operations. Host rows are not cut, because nesting (which range encloses which call) does not
 * end at the window's edge; nsx_in_window takes their time, and nsx_starts_inside counts them.
 */
#pragma once

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
	nsx_str name; /* 0: unknown */
	nsx_str label; /* the pid, with the host if a process of another host has the same */
};
struct nsx_thread { /* ordered by (process key, tid) */
	uint64_t global_tid;
	int64_t tid;
	uint32_t process;
	nsx_str name;		   /* 0: unknown                             */
	uint32_t calls_at, ncalls; /* its slice of calls                     */
	uint32_t nvtx_at, nnvtx;   /* its slice of nvtx (stack ranges first) */
	uint32_t osrt_at, nosrt;   /* its slice of osrt, if it launches      */
	/* The flags are of the whole trace, including rows that were not read. */
	bool has_calls, launches; /* launches: some call launches GPU work   */
	bool has_ranges, has_stack; /* has_ranges: has any range; has_stack: has push/pop ranges */
};
struct nsx_device { /* ordered by (device_id, gpu key) */
	int64_t device_id;    /* CUDA ordinal as exported                    */
	nsx_str gpu;	      /* uuid, else "gpu<id>", else "": distinguishes GPUs with the same
				 ordinal                                     */
	int64_t gpu_id;	      /* id of its row in TARGET_INFO_GPU; -1: unknown */
	/* The multiprocessors that the process can use, which a MIG slice has fewer of than its
	 * GPU; -1: unknown.
	 */
	int64_t sm_count;
	bool is_slice;	      /* a MIG slice, to which the GPU's counters do not belong */
	const struct nsx_gpu_info *info; /* NULL: unknown                     */
	nsx_str label;	      /* ordinal, "0"; if GPUs share an ordinal, gpu_id, or "0 (pid 111)" */
	nsx_str ordinal_label; /* label if it says the ordinal, else "0 (GPU 4)" */
	uint32_t ops_at, nops; /* its slice of ops                           */
	struct nsx_beyond {
		int64_t dry_ns;	 /* end of its last work before the user's window; INT64_MIN:
				    none was read                            */
		/* The start of its first work after the window or, if it has none, the end of the
		 * rows read; INT64_MAX: neither.
		 */
		int64_t next_ns;
		uint32_t next_call; /* the call that launched the first work; NSX_NONE: unknown */
		bool is_migration;  /* the first work after the window is a migration */
	} beyond; /* the device's work outside the user's window             */
};
enum nsx_stream_type { /* ENUM_CUPTI_STREAM_TYPE                      */
	NSX_STREAM_UNKNOWN,
	NSX_STREAM_BLOCKING, /* synchronises with the null stream            */
	NSX_STREAM_NON_BLOCKING, NSX_STREAM_NULL,
};
struct nsx_stream { /* (process, context, stream), ordered by device, then key */
	uint32_t process, device;
	int64_t context_id, stream_id;
	bool is_green; /* belongs to a green context, which owns some of the multiprocessors */
	uint32_t sm_count; /* multiprocessors of the green context; 0: unknown, or not green */
	uint8_t type;
};
static inline bool nsx_same_context(const struct nsx_stream *a, const struct nsx_stream *b)
{
	return a->process == b->process && a->device == b->device && a->context_id == b->context_id;
}
/* How a process's GPU times on one device relate to the host's clock. */
struct nsx_clock { /* ordered by (device, process) */
	uint32_t process, device; /* process: NSX_NONE: unknown              */
	bool is_off; /* the recorded GPU times contradict cause and effect   */
	/* The shift that was added to GPU times; 0 if is_off, because no single shift is right. */
	int64_t shift_ns;
	/* The bounds of the shift. At least_ns no operation begins before its call; at most_ns no
	 * operation ends after a call that waited for it. INT64_MIN, INT64_MAX: unknown.
	 */
	int64_t least_ns, most_ns;
	int64_t within_ns; /* remaining error of the times; INT64_MAX: unknown */
};
struct nsx_gpu_info { /* a row of TARGET_INFO_GPU; -1: unknown */
	int64_t id, cuda_device, memory_bytes, bandwidth_bytes_per_s, sm_count;
	int64_t compute_major, compute_minor, max_warps_per_sm,
		max_blocks_per_sm, max_shared_per_block,
		max_shared_per_block_optin, max_shared_per_sm,
		max_registers_per_sm, max_registers_per_block, threads_per_warp,
		numa_node, clock_hz, vm; /* vm: machine number in global ids */
	nsx_str name, uuid, bus;
};
struct nsx_nic { /* a network card                                           */
	int64_t id;	  /* -1: unknown                                     */
	nsx_str name;
	const char *link; /* "Ethernet"; NULL: unknown                       */
};

/* GPU work --------------------------------------------------------------
 * Kernels, copies, memsets and whole-graph replays in one array, ordered by (device, start, end,
 * kind, row id). A peer copy has an entry on each of its two devices; the second is flagged
 * NSX_OP_PEER and is not counted as an operation.
 */
enum nsx_op_kind { NSX_OP_KERNEL, NSX_OP_MEMCPY, NSX_OP_MEMSET, NSX_OP_GRAPH };
enum nsx_op_class { /* what kind of work the operation is */
	NSX_C_COMPUTE, /* kernels that do not communicate, graph replays     */
	NSX_C_COMM,    /* communication kernels (NCCL and tagged classes)    */
	NSX_C_COPY,    /* copies and memsets                                 */
};
enum {
	NSX_OP_PEER = 1, /* second entry of a peer copy: counts in unions only */
	NSX_OP_CUT = 2,	 /* began before the user's window                   */
	NSX_OP_NODE = 4, /* node of a graph traced node by node              */
};
struct nsx_ops {
	size_t n;
	struct nsx_packed start, length; /* read by nsx_op_start, nsx_op_ns  */
	struct nsx_packed call; /* outermost host call: nsx_op_call          */
	struct nsx_packed stream; /* nsx_op_stream                           */
	/* The index of a shape (kernels), a copy (copies and memsets) or a replay (graph replays).
	 */
	struct nsx_packed detail;
	const uint8_t *kind, *cls, *flags;
};
struct nsx_launch { /* the part of a shape without names and grid x; shapes share it */
	uint32_t grid_yz[2], block[3];
	uint32_t registers;	   /* per thread; NSX_NONE: unknown          */
	uint32_t static_shared_bytes, dynamic_shared_bytes; /* NSX_NONE: unknown */
	uint32_t graph_id;	   /* NSX_NONE unless a graph node           */
	bool known;		   /* grid and block are recorded            */
	uint8_t op;		   /* enum nsx_comm_op of a communication kernel */
};
struct nsx_shape { /* distinct launch configurations, interned */
	nsx_str base_name;	   /* short name, else derived               */
	uint32_t grid_x;
	uint32_t launch;	   /* index: nsx_shape_launch               */
};
struct nsx_copy { /* a copy or memset; equal ones may share an entry          */
	int64_t bytes;
	uint8_t copy_kind, src_kind, dst_kind, cause; /* a memset uses dst_kind only */
	uint32_t src_id, dst_id; /* CUDA ordinals; NSX_NONE: unknown         */
	uint32_t src_device, dst_device; /* device index; NSX_NONE: unknown, or a GPU that ran
					    nothing and thus is no device here */
};
struct nsx_replay { /* distinct (graph, exec), interned */
	uint32_t graph_id, graph_exec_id;
};

/* Host side -------------------------------------------------------------*/

enum nsx_call_class { /* queries/README.md 4; the first match wins */
	NSX_CALL_OTHER,
	NSX_CALL_LAUNCH,	/* kernel, cooperative and graph launches    */
	NSX_CALL_SYNC,		/* Stream/Device/Ctx/Event/ThreadSynchronize */
	NSX_CALL_COPY,		/* a copy that blocks according to its name  */
	NSX_CALL_COPY_ASYNC,	/* Memcpy...Async: counts as blocking only if that is proved */
	NSX_CALL_IMPLICIT_SYNC, /* Free, FreeHost, HostAlloc, Malloc         */
	NSX_CALL_MODULE,	/* module and library loading, JIT           */
	NSX_CALL_NONE,		/* StreamWaitEvent, *Query, EventRecord      */
};
enum {
	NSX_CALL_FAILED = 2, /* returnValue other than 0 (and NotReady)      */
	NSX_CALL_NESTED = 4, /* made inside another call of its thread       */
	NSX_CALL_GRAPH = 8,  /* launches a graph                             */
	NSX_CALL_MALLOC = 16, /* an allocation, which waits for the GPU only if it takes long */
};
/* The calls that returned one error code, which is neither success nor "not ready". */
struct nsx_failure {
	int64_t code, first_ns; /* first_ns: start of the first such call    */
	size_t n;
};
enum { NSX_MAX_FAILURES = 64 }; /* only the smallest codes are kept; CUDA has some hundreds */

/* Ordered by (thread, start, end descending, row id). */
struct nsx_calls {
	size_t n;
	struct nsx_packed start, length; /* read by nsx_call_start, nsx_call_ns */
	struct nsx_packed name;	/* with its version suffix: nsx_call_name    */
	struct nsx_packed corr; /* 0: none                                   */
	struct nsx_packed op;	/* first GPU operation it launched: nsx_call_op */
	const uint8_t *cls, *flags;
};
/* Ordered by (thread, stack ranges before async ones, start, end descending, domain, name). */
enum {
	NSX_NVTX_OPEN = 1,     /* never closed                               */
	NSX_NVTX_CROSSING = 2, /* push/pop range that ends after its enclosing range: treated as
				  async                                      */
};
struct nsx_nvtx {
	size_t n;
	struct nsx_packed start, length;  /* read by nsx_range_start          */
	const nsx_str *name;		  /* normalised                      */
	struct nsx_packed domain;	  /* domain index: nsx_range_domain */
	const uint8_t *kind, *flags;
};
/* Start, length and end of a row. Open ranges end with the trace. */
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
/* The call that launched an operation; NSX_NONE: not recorded. */
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
static inline uint32_t nsx_call_op(const struct nsx_calls *c, size_t i) /* NSX_NONE: none */
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
struct nsx_domain { /* ordered by (process, domain id) */
	uint32_t process;
	int64_t domain_id;
	nsx_str name;	 /* 0: unknown                                       */
	/* A library's domain (NCCL, cuBLAS, cuDNN ...): its ranges are labels and not the user's.
	 */
	bool is_library;
	bool is_nccl;
};
/* Outermost OSRT calls of threads that launch work or, in a trace without GPU work, of all threads.
 * Ordered by (global tid, start, ...).
 */
struct nsx_osrt {
	size_t n;
	const int64_t *start_ns, *end_ns;
	const uint64_t *global_tid;
	const nsx_str *name;
	const uint32_t *thread; /* NSX_NONE: the thread has no other rows    */
	const uint32_t *stack; /* NSX_NONE: not recorded                     */
};
/* Totals of all outermost OSRT calls. */
struct nsx_osrt_sum { /* ordered by (global tid, name text); one row per site */
	uint64_t global_tid;
	nsx_str name;
	uint32_t site; /* frame index; NSX_NONE: not recorded                */
	int64_t count, total_ns, max_ns;
};
/* Call stacks ------------------------------------------------------
 * Two frames of a recorded stack are kept (queries/README.md 26): the innermost one, and the site,
 * which is the innermost frame of the program's own code, else of a library.
 */
enum nsx_origin { /* whose code a frame is; a site is program or library code  */
	NSX_ORIGIN_PROGRAM, NSX_ORIGIN_LIBRARY, NSX_ORIGIN_SYSTEM, NSX_ORIGIN_CUDA,
	NSX_ORIGIN_PROFILER, NSX_NORIGINS
};
extern const char *const nsx_origin_names[NSX_NORIGINS]; /* "program", ...      */
struct nsx_frame { /* distinct, unordered                                    */
	nsx_str function; /* 0: the module has no symbols                    */
	nsx_str module;	  /* file name without folder; 0: unknown            */
	enum nsx_origin origin;
};
struct nsx_stack { /* frame indices; distinct, unordered                     */
	uint32_t leaf, site; /* site: NSX_NONE: no such frame                */
};
/* CPU samples of threads, ordered by (global tid, start). */
struct nsx_samples {
	size_t n;
	struct nsx_packed start;
	const uint32_t *stack; /* NSX_NONE: not recorded                     */
};
struct nsx_sampled { /* a thread's slice of the samples, ordered by global tid */
	uint64_t global_tid;
	nsx_str name;
	size_t at, n;
};
/* A sample of a thread's Python stack, taken by nsys. */
struct nsx_python_stack {
	uint64_t global_tid;
	int64_t at_ns;
	uint32_t site; /* frame "collate_fn (data.py:88)", in the program's code if any; the line
			  is the function's most frequent one                */
	nsx_str text; /* "collate_fn (data.py:90) < train (train.py:12)"     */
};
struct nsx_backtraces { /* calls that have a backtrace, ascending            */
	size_t n;
	const uint32_t *call, *stack;
};
/* Library calls (nsx_library_of), ordered by (thread, start, end descending, library, name). A
 * call recorded in several rows is kept once.
 */
struct nsx_library_calls {
	size_t n;
	struct nsx_packed start, length;
	struct nsx_packed comm; /* MPI: communicator of a collective, request of another call;
				   0: none, or several                       */
	struct nsx_packed bytes; /* sent by an MPI collective; -1: unknown   */
	const uint32_t *thread;
	const nsx_str *name;
	const int32_t *peer; /* MPI: rank of the root, or of the other side of a message; -1:
				unknown or any                               */
	const int32_t *second_peer; /* the other peer of an MPI_Sendrecv with two peers; -1: none */
	const int32_t *tag;  /* tags of MPI messages; -1: none               */
	const uint8_t *library; /* enum nsx_library                          */
	const uint8_t *is_coll; /* is an MPI collective                      */
};
/* CUDA's own overheads (queries/README.md 8), ordered by (thread, start). */
struct nsx_overheads {
	size_t n;
	int64_t *start_ns, *end_ns;
	uint32_t *thread;
	uint8_t *type; /* NSX_OVERHEAD_JIT ...                       */
};
/* Waits in file order. Their type follows from which ids are set, never from syncType. */
enum nsx_sync_type {
	NSX_SYNC_CONTEXT, NSX_SYNC_EVENT, NSX_SYNC_STREAM,
	NSX_SYNC_STREAM_WAIT, /* waits on the GPU: blocks no host thread */
};
struct nsx_syncs {
	size_t n;
	int64_t *start_ns, *end_ns;
	uint32_t *process;
	uint32_t *call;	  /* call index; NSX_NONE: none */
	uint32_t *stream; /* stream index; NSX_NONE: none */
	int64_t *event_sync_id; /* -1: no such id                            */
	uint32_t *context, *event; /* ids as exported; NSX_NONE: none */
	uint8_t *type;
};
/* cudaEventRecord rows, in file order. */
struct nsx_records {
	size_t n;
	uint32_t *process, *call, *stream;
	int64_t *event_sync_id; /* -1: no such id                            */
	uint32_t *event; /* id as exported; NSX_NONE: none */
};

struct nsx_defects { /* rows dropped or values ignored, by reason */
	size_t negative;    /* rows whose end is before their start          */
	size_t mistyped;    /* NULL or text where a number is needed         */
	size_t out_of_range; /* times beyond +-2^61                          */
	size_t far; /* rows with times that are possible on no day of the session    */
	int64_t far_ns; /* time of the first such row                         */
	size_t dangling;    /* string ids without a string                   */
	size_t duplicate_calls; /* rows of eventClass 67, which repeat a call */
	size_t open_ranges; /* NVTX ranges never closed                      */
	size_t crossing_ranges; /* push/pop ranges that cross, and are treated as async */
};
#define NSX_DAY_NS INT64_C(86400000000000)
struct nsx_impossible { /* records with impossible times (impossible.c) */
	/* nearly, nlate: number of records dropped because they lie before their call, or later
	 * than the order of their stream allows.
	 */
	size_t nearly, nlate;
	size_t nfar, far[NSX_NVIEWS]; /* rows that are far from the session (far.c), also by view */
	size_t ncut;  /* number of shortened records                         */
	size_t nkept; /* impossible records left as they are, because there are too many to list */
	int64_t most_cut_ns; /* greatest time by which a record was shortened */
	/* The first impossible record: its name, and its times as recorded. */
	nsx_str name; /* name of its kernel; 0: not a kernel                 */
	int64_t start_ns, call_ns; /* call_ns: start of its call; INT64_MIN: unknown */
	size_t nopened; /* ranges with an end so far away that they count as never closed */
	/* The first of the far rows. */
	enum nsx_view far_view;
	nsx_str far_name; /* 0: unknown */
	int64_t far_ns;
};
struct nsx_matching { /* number of kernels by whether their call was found */
	/* before_capture: kernels that were launched before the capture began. */
	size_t matched, before_capture, no_call;
};

struct nsx_window {
	int64_t start_ns, end_ns; /* start == end: no window */
};

/* A window is divided into this many equal parts; a curve has one value in each. */
enum { NSX_CURVE_BINS = 512 };
/* The part in which at_ns lies; NSX_CURVE_BINS: after the window. at_ns must not be before the
 * window.
 */
static inline unsigned nsx_bin(const struct nsx_window *w, int64_t at_ns)
{
	return at_ns >= w->end_ns ? (unsigned)NSX_CURVE_BINS :
		(unsigned)((__int128)(at_ns - w->start_ns) * NSX_CURVE_BINS /
			   (w->end_ns - w->start_ns));
}

/* Reads "1.5..2", seconds after first_ns; "1.5s..2s", as reports print times; or "5ns..9ns", on
 * the trace's clock. "-1.5s" is before 0.
 * Errors: NSX_E_USAGE.
 */
int nsx_window_parse(const char *text, int64_t first_ns,
		     struct nsx_window *ret, struct nsx_err *err) NSX_CHECKED;
/* Parses one time in the notation of windows. False: the text is not a time. */
bool nsx_instant_parse(const char *text, int64_t first_ns, int64_t *ret);

struct nsx_raw_name { /* a name that was normalised                          */
	nsx_str id;
	const char *text; /* the smallest (bytewise) raw name that became id */
};

struct nsx_trace {
	const struct nsx_schema *schema;
	const struct nsx_strings *strings; /* complete: no text is added any more */
	const struct nsx_step_patterns *steps_from; /* the user's step names; NULL: none */
	struct nsx_process *process;
	struct nsx_thread *thread;
	struct nsx_device *device;
	struct nsx_stream *stream;
	struct nsx_clock *clock;
	bool has_clock_off; /* some GPU times contradict cause and effect    */
	bool has_gpu_work; /* in the whole trace, even if the user's window has none */
	struct nsx_gpu_info *gpu;
	struct nsx_nic *nic;
	struct nsx_domain *domain;
	struct nsx_shape *shape;
	struct nsx_launch *launch;
	nsx_str *shape_name; /* full names of shapes ("id:<n>" when dangling), kept apart because
				they are read for every operation            */
	struct nsx_copy *copy;
	struct nsx_replay *replay;
	uint32_t nprocesses, nthreads, ndevices, nstreams, nclocks, ngpus, nnics,
		ndomains, nshapes, nmigrations, nreplays;
	struct nsx_ops ops;
	struct nsx_calls calls;
	struct nsx_failures {
		struct nsx_failure v[NSX_MAX_FAILURES];
		unsigned n;
	} failures; /* for each error code: failed calls */
	struct nsx_nvtx nvtx;
	struct nsx_osrt osrt;
	struct nsx_frame *frame;
	struct nsx_stack *stack;
	struct nsx_sampled *sampled;
	uint32_t nsampled;
	struct nsx_samples samples;
	const struct nsx_python_stack *python; /* ordered by (global tid, time) */
	size_t npython;
	struct nsx_backtraces backtraces;
	struct nsx_library_calls library;
	struct nsx_overheads overheads;
	struct nsx_syncs syncs;
	struct nsx_records records;
	struct nsx_defects defects;
	struct nsx_impossible impossible;
	struct nsx_matching matching;
	struct nsx_window full; /* hull of GPU work or, without any, of the session's events */
	/* Host events that begin before it are not of the session: 0; INT64_MIN if GPU work lies
	 * before 0, because the GPU is recorded only inside the session.
	 */
	int64_t session_start_ns;
	int64_t session_end_ns; /* by the file, counted from 0; 0: unknown   */
	struct nsx_window user; /* the window as requested; start == end: none */
	struct nsx_window window; /* the window in use: user or, without one, full */
	struct nsx_window read; /* rows that overlap it were read; INT64_MIN to INT64_MAX if
				   (nearly) all were                         */
	int64_t first_ns, last_ns; /* hull of everything loaded              */
	const char **warnings;	/* warnings about refused views, too many GPUs, ... */
	size_t nwarnings;
	bool damaged; /* damage was seen while loading; nsx_report_damage reports all damage */
	const char *pid_source_kernel, *pid_source_runtime, *pid_source_nvtx;
	struct nsx_osrt_sum *osrt_sum;
	size_t nosrt_sums;
	struct nsx_raw_name *raw_name; /* ordered by id: see nsx_raw_name    */
	size_t nraw_names;
	nsx_str *range_label; /* indexed by nsx_str: see nsx_range_label     */
	size_t nrange_labels;
	uint32_t *rank; /* indexed by nsx_str: position of kernel and range names in text order,
			   from 1                                            */
	uint32_t *calls_thread, *nvtx_thread; /* read by nsx_call_thread, nsx_nvtx_thread */
	struct nsx_arena *arena;
};

struct nsx_step_patterns; /* facts/steps/steps.h */
struct nsx_load_opts {
	unsigned threads;
	const char *window; /* as typed; NULL: none                          */
	const struct nsx_step_patterns *steps_from; /* the user's step names; NULL: none */
	struct nsx_progress *progress;
	/* The number of events that are read on each side of the window, but never less time than
	 * the length of the window; 0: 2^18.
	 */
	size_t margin_rows;
	int64_t reach_ns; /* rows farther from the window may be skipped in ordered tables; 0: skip
			     none                                           */
	size_t clock_rows; /* approximate number of GPU operations outside the window that are read
			      to judge clocks; 0: 2^17                        */
};

/* Loads all that the analyses share; each table is scanned once. With a window, rows far from it
 * are looked at but not kept (queries/README.md 1): they only contribute to first_ns, last_ns,
 * full, threads, streams and defects of time. Kept nevertheless are the calls that launched the
 * window's operations, and the ranges around those calls. A table damaged in the middle keeps the
 * rows before the damage (nsx_schema_loss).
 * Owner: the caller, nsx_trace_free; borrows schema.
 * Errors: NSX_E_NOMEM, NSX_E_STOP, NSX_E_USAGE (bad window), NSX_E_DATA when no table could be
 * read.
 */
int nsx_trace_load(const struct nsx_schema *schema,
		   const struct nsx_load_opts *opts, struct nsx_trace **ret, struct nsx_err *err);
/* Whether the loader would correct no GPU times, faster than loading and with less memory. In doubt
 * the answer is false. Errors: those of loading.
 */
int nsx_trace_are_times_good(const struct nsx_schema *schema, unsigned threads, bool *ret,
			     struct nsx_err *err) NSX_CHECKED;
void nsx_trace_free(struct nsx_trace *t);
/* Fails for a time or window outside everything recorded. Errors: NSX_E_USAGE. */
int nsx_fail_beyond(const struct nsx_trace *t, const char *when, struct nsx_err *err);

static inline const char *nsx_text(const struct nsx_trace *t, nsx_str id)
{
	return nsx_str_text(t->strings, id);
}

/* Appends an NVTX range name without the parts that vary from instance to instance
 * (queries/README.md 5). False: it has no such part, and nothing is appended.
 */
bool nsx_normalise(const char *text, size_t n, struct nsx_buf *b);
/* The label of a range name in tables by name. Names that differ only in parameters, or in a number
 * that few of them share, have one label (queries/README.md 5).
 */
static inline nsx_str nsx_range_label(const struct nsx_trace *t, nsx_str name)
{
	return name < t->nrange_labels ? t->range_label[name] : name;
}
/* The smallest (bytewise) raw name that was normalised to id; id's own text if none was. */
const char *nsx_raw_name(const struct nsx_trace *t, nsx_str id);

/* Whether the user asked for a window, so that its ends are not those of the run. */
static inline bool nsx_has_window(const struct nsx_trace *t)
{
	return t->user.start_ns != t->user.end_ns;
}

/* Whether an instant lies so far beyond the session's end that nothing can have been recorded then. A
 * profiler that is slow to stop records a little longer.
 */
static inline bool nsx_is_beyond_session(const struct nsx_trace *t, int64_t at_ns)
{
	return t->session_end_ns > 0 && at_ns / 2 > t->session_end_ns;
}
/* The window in which calls and ranges are counted: the user's window or, without one, everything
 * recorded, including calls before and after all GPU work.
 */
static inline struct nsx_window nsx_host_window(const struct nsx_trace *t)
{
	return nsx_has_window(t) ? t->user : (struct nsx_window){t->first_ns, t->last_ns};
}
static inline void nsx_widen(struct nsx_window *hull, int64_t start_ns, int64_t end_ns)
{
	hull->start_ns = NSX_MIN(hull->start_ns, start_ns);
	hull->end_ns = NSX_MAX(hull->end_ns, end_ns);
}
/* How many nanoseconds of a host event [start, end) lie within the user's window; all of them
 * without one.
 */
static inline int64_t nsx_in_window(const struct nsx_trace *t, int64_t start, int64_t end)
{
	if (!nsx_has_window(t))
		return end - start;
	int64_t a = NSX_MAX(start, t->window.start_ns);
	int64_t b = NSX_MIN(end, t->window.end_ns);

	return b > a ? b - a : 0;
}
/* Whether only a part of the rows was read, near the window. */
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
/* Whether an event starts in the user's window and thus is counted. Without a window all events are
 * counted.
 */
static inline bool nsx_starts_inside(const struct nsx_trace *t, int64_t start)
{
	return !nsx_has_window(t) || (start >= t->window.start_ns && start < t->window.end_ns);
}
const char *nsx_copy_direction(unsigned copy_kind); /* "HtoD", ... "Unknown" */

/* How far GPU times of the process on the device may be off those of other processes; INT64_MAX:
 * unknown. It is 0 if no clock of the trace was found to be off.
 */
int64_t nsx_clock_doubt_ns(const struct nsx_trace *t, uint32_t process, uint32_t device);

/* The GPU behind a device; NULL: unknown. */
const struct nsx_gpu_info *nsx_device_gpu(const struct nsx_trace *t, uint32_t device);
static inline const struct nsx_stream *nsx_stream_of(const struct nsx_trace *t, size_t op)
{
	return &t->stream[nsx_op_stream(&t->ops, op)];
}
static inline uint32_t nsx_op_process(const struct nsx_trace *t, size_t op)
{
	return nsx_stream_of(t, op)->process;
}
static inline const struct nsx_copy *nsx_op_copy(const struct nsx_trace *t, size_t op)
{
	return &t->copy[nsx_op_detail(&t->ops, op)];
}
static inline const struct nsx_shape *nsx_op_shape(const struct nsx_trace *t, size_t op)
{
	return &t->shape[nsx_op_detail(&t->ops, op)];
}
static inline const struct nsx_launch *
nsx_shape_launch(const struct nsx_trace *t, const struct nsx_shape *s)
{
	return &t->launch[s->launch];
}
static inline const struct nsx_launch *nsx_op_launch(const struct nsx_trace *t, size_t op)
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
/* The full name of a kernel; 0 for other operations. */
static inline nsx_str nsx_op_name(const struct nsx_trace *t, size_t op)
{
	return t->ops.kind[op] == NSX_OP_KERNEL ? t->shape_name[nsx_op_detail(&t->ops, op)] : 0;
}

/* The ordinal, with a text that tells apart devices that share it. */
static inline const char *nsx_ordinal_label(const struct nsx_trace *t, uint32_t device)
{
	return nsx_text(t, t->device[device].ordinal_label);
}

static inline bool nsx_is_ordinal_shared(const struct nsx_trace *t, uint32_t device)
{
	return device != NSX_NONE && strchr(nsx_ordinal_label(t, device), '(');
}

/* The text to print after the word GPU. */
static inline const char *nsx_gpu_label(const struct nsx_trace *t, uint32_t device)
{
	return nsx_text(t, t->device[device].label);
}

/* The text to print after the word process or pid. */
static inline const char *nsx_pid_label(const struct nsx_trace *t, uint32_t process)
{
	return nsx_text(t, t->process[process].label);
}

static inline const char *nsx_call_text(const struct nsx_trace *t, size_t call)
{
	return nsx_text(t, nsx_call_name(&t->calls, call));
}

/* Returns does(name of the call), which is evaluated once per name. memo: indexed by name, zeroed
 * by the caller.
 */
static inline bool nsx_call_does(const struct nsx_trace *t, size_t call,
				 bool (*does)(const char *name), uint8_t *memo)
{
	enum { YES = 1, NO };
	nsx_str name = nsx_call_name(&t->calls, call);

	if (!memo[name])
		memo[name] = does(nsx_text(t, name)) ? YES : NO;
	return memo[name] == YES;
}

/* The thread of a host row. Rows of a block nearly always share one thread, so only the thread of
 * each block's first row is stored, and that of the last row. If two neighbouring entries differ,
 * the slices of the threads between them are searched.
 */
enum { NSX_THREAD_BLOCK = 256 };
static inline uint32_t nsx_thread_of(const struct nsx_trace *t,
				     const uint32_t *of_block, bool is_call, size_t row)
{
	uint32_t lo = of_block[row / NSX_THREAD_BLOCK];
	uint32_t hi = of_block[row / NSX_THREAD_BLOCK + 1];

	while (lo < hi) {
		uint32_t mid = hi - (hi - lo) / 2;

		if ((is_call ? t->thread[mid].calls_at : t->thread[mid].nvtx_at) <= row)
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
/* Find a process by its key, a thread by its global id; NSX_NONE: no rows. O(log n). */
uint32_t nsx_process_find(const struct nsx_trace *t, uint64_t key);
/* The device that a process (its key) means by an ordinal: one that it has work on, else the only
 * one with this ordinal; NSX_NONE: neither.
 */
uint32_t nsx_device_find(const struct nsx_trace *t, uint64_t process, int64_t device_id);
/* The machine, VM or container of a process, from its key; 0: unknown. */
static inline int64_t nsx_vm_of(uint64_t process_key)
{
	return (int64_t)(process_key >> 48);
}
static inline bool nsx_has_several_hosts(const struct nsx_trace *t)
{
	uint32_t i = 0, n = t->nprocesses;

	while (i < n && !nsx_vm_of(t->process[i].key))
		i++;
	return i < n && nsx_vm_of(t->process[i].key) != nsx_vm_of(t->process[n - 1].key);
}
uint32_t nsx_thread_find(const struct nsx_trace *t, uint64_t global_tid);
/* nsx_python_of: the Python samples of a thread in a span; O(log n). nsx_python_most: the first of
 * these samples at the site that more than half of them have; NULL: there is no such site. Linear
 * in the samples of the span.
 */
struct nsx_python_slice {
	const struct nsx_python_stack *v;
	size_t n;
};
struct nsx_python_slice nsx_python_of(const struct nsx_trace *t, uint64_t global_tid,
				      struct nsx_span in);
const struct nsx_python_stack *nsx_python_most(const struct nsx_trace *t, uint32_t thread,
					       struct nsx_span in);
/* The stack of a call's backtrace; NSX_NONE: none. O(log n). */
uint32_t nsx_call_stack(const struct nsx_trace *t, uint32_t call);
/* The site of a stack; NSX_NONE: no stack, or no site. */
static inline uint32_t nsx_site(const struct nsx_trace *t, uint32_t stack)
{
	return stack == NSX_NONE ? NSX_NONE : t->stack[stack].site;
}
/* The site of a sample or, without one, its innermost frame; NSX_NONE: neither was recorded. */
static inline uint32_t nsx_sample_frame(const struct nsx_trace *t, size_t sample)
{
	uint32_t stack = t->samples.stack[sample], frame = nsx_site(t, stack);

	return frame == NSX_NONE && stack != NSX_NONE ? t->stack[stack].leaf : frame;
}
static inline uint32_t nsx_call_site(const struct nsx_trace *t, uint32_t call)
{
	return t->backtraces.n ? nsx_site(t, nsx_call_stack(t, call)) : NSX_NONE;
}
extern const char nsx_unnamed[]; /* shown for an object without a name */
/* An API name without "_v1234", "_ptsz", "_ptds", for matching: name itself if it has none of them
 * or is no API's because it does not fit into buf, else a copy in buf.
 */
const char *nsx_api_base(const char *name, char *buf, size_t size);
/* Whether the call queues a host function in a stream. */
static inline bool nsx_api_is_host_func(const char *api)
{
	return strstr(api, "LaunchHostFunc") || strstr(api, "StreamAddCallback");
}
/* Whether the call asks if the GPU is done. */
static inline bool nsx_api_is_query(const char *api)
{
	return strstr(api, "EventQuery") || strstr(api, "StreamQuery");
}
enum nsx_call_class nsx_classify_call(const char *api, uint8_t *ret_flags);
/* Whether a call allocates, maps or frees memory. base: its name without version. */
bool nsx_api_allocates(const char *base);
/* Whether a call pins host memory, which takes time for each page. base: its name without version. */
bool nsx_api_pins(const char *base);
/* Whether an operating system call waits for a fixed time. */
bool nsx_osrt_sleeps(const char *name);

/* A process's program name, without its folder, which often contains a user name; NULL: unknown. */
const char *nsx_process_name(const struct nsx_trace *t, uint32_t process);
/* Whether the trace has PyTorch's kernels or the ranges that PyTorch pushes. */
bool nsx_sees_pytorch(const struct nsx_trace *t);

/* The parameters "(float*)" of "void ns::gemm<int>(float*)", or its end if there are none.
 * *ret_own: "gemm<int>(float*)". Both point into full.
 */
const char *nsx_parameters_of(const char *full, const char **ret_own);
/* The base name of a kernel, "gemm" of "void ns::gemm<int>(float*)". Points into full. */
const char *nsx_base_of(const char *full, size_t *ret_len);

/* Operations of communication kernels, recognised by the words of their base name and of the
 * namespaces before it (queries/README.md 13). NSX_COMM_NONE: not a communication kernel.
 */
enum nsx_comm_op {
	NSX_COMM_NONE, NSX_COMM_ALLREDUCE, NSX_COMM_ALLGATHER,
	NSX_COMM_REDUCESCATTER, NSX_COMM_BROADCAST, NSX_COMM_REDUCE,
	NSX_COMM_SENDRECV, NSX_COMM_ALLTOALL, NSX_COMM_GATHER,
	NSX_COMM_SCATTER, NSX_COMM_OTHER, /* OTHER: the base name serves as the operation's name */
};
enum nsx_comm_op nsx_classify_comm(const char *base, const char *full);
const char *nsx_comm_op_name(enum nsx_comm_op op); /* "allreduce", ... */
