/* convert.h - writes a trace for viewers: Chrome trace events or Perfetto packets.
 *
 * Each table is read twice and never held in memory. The first reading, the survey, finds what
 * writing must know beforehand: the shift of times, which strings are used, which (process,
 * correlation id) have both a call and GPU work, and whether the rows of each track are in time
 * order. A table that is out of order is written through a sort by SQLite. Meanwhile the trace is
 * loaded, explained if findings are wanted, and freed, so that GPU work has the times of the
 * report; if any of them had to be corrected, GPU work is surveyed again.
 *
 * Viewers drop slices of a track that overlap without nesting (those of a stream may not even
 * nest). A slice that does not fit goes to a further lane, which is a track of its own.
 */
#pragma once

#include "convert/order.h"
#include "convert/out.h"
#include "trace/trace.h"
#include "base/group.h"
#include "base/keymap.h"
#include "base/par.h"
#include "schema/cells.h"

enum nsx_activity { /* in output order: calls before GPU work */
	NSX_A_NVTX, NSX_A_API, NSX_A_LIBRARY, NSX_A_OSRT, NSX_A_SCHED,
	NSX_A_KERNEL, NSX_A_MEMCPY, NSX_A_MEMSET, NSX_A_GRAPH, NSX_A_NVTX_GPU, NSX_A_METRIC,
	NSX_A_MEMORY,
	NSX_A_FINDING, /* from the report: findings, iterations, phases       */
	NSX_A_QUEUE,   /* work that is launched but has not begun; from the loaded trace */
	NSX_NACTIVITIES
};
extern const char *const nsx_activity_names[NSX_NACTIVITIES];

/* How a trace stands among several in one output. All zero: it is the only one. */
struct nsx_trace_place {
	uint32_t ntraces;
	uint32_t trace;	    /* number of the trace, from 0, below NSX_MAX_TRACES */
	uint32_t machine;   /* number of the machine, from 1; 0: all traces are of one */
	bool names_no_gpus; /* another trace of the same machine already names its GPUs */
	int64_t offset_ns;  /* added to its clock to get that of the output */
};
enum { NSX_MAX_TRACES = 127 };

/* Kinds of events in the order in which they are left out of a file that would be too large. */
enum nsx_shed {
	NSX_SHED_OSRT,	/* OS runtime calls, scheduling and queue depths */
	NSX_SHED_CALLS, /* CUDA calls that launched no GPU work             */
	NSX_SHED_MARKS, /* NVTX marks                                       */
	NSX_NSHEDS
};

struct nsx_convert_opts {
	unsigned activities;	 /* bit set of enum nsx_activity            */
	unsigned shed;		 /* content that is left out, as bits of enum nsx_shed */
	struct nsx_trace_place place;
	const char *path;	 /* path of the trace, shown in the report  */
	const char *nvtx_prefix; /* only ranges with this prefix; NULL: all ranges */
	const char *window;	 /* as typed; NULL: none                    */
	unsigned threads;
	bool is_chosen;		 /* the user chose what is converted        */
	bool no_metadata;	 /* omit names of processes and threads     */
	bool pftrace;		 /* Perfetto packets instead of JSON        */
	bool gpu_tracks;	 /* write GPU work as plain slices, for readers that do not know
				    typed GPU work                          */
	bool no_compress;	 /* do not compress packets                 */
};

/* Counts of a conversion, and their keys in JSON; in the order in which JSON has them. */
#define NSX_CONVERT_COUNTS(X)                                                    \
	X(slices, "slices")                                                      \
	X(asyncs, "async_ranges")                                                \
	X(marks, "marks")                                                        \
	X(samples, "counter_values") /* counter rows */                          \
	X(flow_ends, "arrows")                                                   \
	X(in_lanes, "slices_in_further_lanes") /* outside the first lane */      \
	X(left_out, "rows_left_out") /* rows without a valid span */
#define NSX_CONVERT_COUNT(name, key) int64_t name;
struct nsx_convert_counts {
	NSX_CONVERT_COUNTS(NSX_CONVERT_COUNT)
	int64_t shift_ns; /* added to every time */
};
#undef NSX_CONVERT_COUNT

/* Adds n to sum, except shift_ns, which is replaced. */
void nsx_convert_add_counts(struct nsx_convert_counts *sum, const struct nsx_convert_counts *n);

/* The start of the trace's session in UTC, in ns; INT64_MIN: unknown. Errors: NSX_E_NOMEM. */
int nsx_session_start(const struct nsx_schema *s, int64_t *ret, struct nsx_err *err) NSX_CHECKED;

/* Converts to out; the caller then calls nsx_out_commit. Warnings go to *warnings, and corrections
 * of GPU times to *notes, a line each. Errors: those of reading, NSX_E_USAGE (window), NSX_E_STOP;
 * write errors are reported by nsx_out_commit.
 */
int nsx_convert(const struct nsx_schema *schema,
		const struct nsx_convert_opts *opts, struct nsx_out *out,
		struct nsx_convert_counts *ret, struct nsx_buf *warnings,
		struct nsx_buf *notes, struct nsx_err *err) NSX_CHECKED;

/* Strings (names.c) ----------------------------------------------------------*/

/* The StringIds that events use, escaped for JSON strings. */
struct nsx_names {
	struct nsx_arena *arena;
	const char *prefix; /* texts that begin with the prefix are marked; NULL: none */
	size_t bound;	    /* ids below this are dense: their index is the id */
	uint8_t *flags;	    /* two bits by id, then by sparse id: used, matches the prefix */
	const char **text;  /* same index as flags: length as uint32_t, then the bytes */
	struct nsx_groups sparse; /* {id, 0} of the sparse ids; only read once names are loaded */
	size_t cap_flags, cap_text;
	bool is_plain; /* text is plain UTF-8, not escaped for JSON          */
};
/* Appends text for the writer: repaired, cut and, for JSON, escaped. */
void nsx_names_text(const struct nsx_names *x, struct nsx_buf *b, const char *text, size_t n);
/* Opens the names of a trace. prefix: if not NULL, nsx_names_matches may be called from now on. */
int nsx_names_open(struct nsx_names *x, const struct nsx_schema *s,
		   const char *prefix, struct nsx_err *err) NSX_CHECKED;
void nsx_names_done(struct nsx_names *x);
/* Marks in x the names that are marked in y, which is of the same trace. */
int nsx_names_merge(struct nsx_names *x, const struct nsx_names *y,
		    struct nsx_err *err) NSX_CHECKED;
/* Marks the name of a cell, if it is an id, as needed. */
int nsx_names_use(struct nsx_names *x, const struct nsx_val *v, struct nsx_err *err) NSX_CHECKED;
int nsx_names_load(struct nsx_names *x, const struct nsx_schema *s,
		   struct nsx_err *err) NSX_CHECKED;
/* Viewers show processes and threads. So each group of tracks is written as a process, and each
 * lane as a thread.
 */
const char *nsx_names_get(struct nsx_names *x, int64_t id, size_t *ret_n, size_t *ret_at);
bool nsx_names_matches(struct nsx_names *x, const struct nsx_val *v);

/* Calls and the work they launched (flows.c) ------------------------------------ */

enum nsx_flow_side { NSX_FLOW_CALL, NSX_FLOW_GPU };
struct nsx_flow_page;
struct nsx_flows {
	struct nsx_groups keys; /* {process, upper bits of the correlation id} */
	struct nsx_flow_page *pages; /* one for each key */
	struct nsx_near near;
	bool is_borrowed; /* everything except `near` belongs to another nsx_flows */
};
void nsx_flows_done(struct nsx_flows *f);
int nsx_flows_note(struct nsx_flows *f, uint32_t process, uint32_t corr,
		   enum nsx_flow_side side, struct nsx_err *err) NSX_CHECKED;
/* Adds the calls and work that `other` has noted. Process i of `other` is process[i] of f. */
int nsx_flows_merge(struct nsx_flows *f, const struct nsx_flows *other,
		    const uint32_t *process, struct nsx_err *err) NSX_CHECKED;
/* Makes `to` share the content of f, dropping its own. `to` may be read while another thread
 * starts arrows in f.
 */
void nsx_flows_lend(const struct nsx_flows *f, struct nsx_flows *to);
/* The process of the first correlation id. *ret_bits: bits of the largest id. */
uint32_t nsx_flows_span(const struct nsx_flows *f, unsigned *ret_bits);
/* Keeps only entries that have both a call and GPU work. */
void nsx_flows_settle(struct nsx_flows *f);
/* Tells whether an arrow starts at this call, and notes that it does: true only for the first call
 * of an entry.
 */
bool nsx_flows_start(struct nsx_flows *f, uint32_t process, uint32_t corr);
/* Whether the arrow of an entry has started. */
bool nsx_flows_started(struct nsx_flows *f, uint32_t process, uint32_t corr);
/* Whether both the call and its GPU work exist; valid after nsx_flows_settle. */
bool nsx_flows_has(struct nsx_flows *f, uint32_t process, uint32_t corr);

/* Tracks (tracks.c) ------------------------------------------------------------*/

/* Viewers show processes and threads. So each group of tracks becomes a process, and each lane a
 * thread.
 */
enum nsx_group_kind { NSX_G_CPU, NSX_G_GPU, NSX_G_METRIC, NSX_G_REPORT };
struct nsx_group { /* a group of tracks */
	uint32_t pid;
};
struct nsx_pf_stream; /* pf.h */
struct nsx_track_lane {
	uint32_t tid;
	uint32_t nends, cap_ends;
	int64_t *ends;	/* ends of its open slices, outermost first          */
	uint8_t nhead;
	char head[55];	/* text "pid":1,"tid":2,"ts":                        */
	struct nsx_pf_stream *stream; /* used for packets only; NULL: none yet */
};
/* A track's slices that fit into none of these lanes become asynchronous events, which may
 * overlap. More lanes would make the search quadratic, and would be unreadable.
 */
enum { NSX_MAX_TRACK_LANES = 64 };
struct nsx_track {
	uint32_t group, process;
	bool nests;
	struct nsx_track_lane *lanes;
	size_t nlanes, cap_lanes;
	/* Start and end of the last slice, for the survey. */
	int64_t last_start_ns, last_end_ns;
	int64_t cpu, on_ns; /* scheduling: CPU on which the thread runs, or -1, and since when */
};
struct nsx_tracks {
	struct nsx_keymap group_keys;	/* {kind, process key, device}       */
	struct nsx_keymap track_keys;	/* {activity, process key, device,
					   context, stream or tid}           */
	struct nsx_keycache *cache[2];	/* one cache per keymap              */
	struct nsx_groups process_keys; /* {process key, 0}                  */
	struct nsx_groups tids, pids;	/* {real id in use, 0}               */
	struct nsx_group *groups;
	struct nsx_track *tracks;
	size_t cap_groups, cap_tracks;
	uint32_t next_pid, next_tid;
};
int nsx_tracks_open(struct nsx_tracks *t, struct nsx_err *err) NSX_CHECKED;
void nsx_tracks_done(struct nsx_tracks *t);
int nsx_tracks_process(struct nsx_tracks *t, uint64_t key, uint32_t *ret,
		       struct nsx_err *err) NSX_CHECKED;
int nsx_tracks_group(struct nsx_tracks *t, enum nsx_group_kind kind,
		     uint64_t key, int64_t device, uint32_t *ret, struct nsx_err *err) NSX_CHECKED;
/* Finds or adds the track of a thread, of a stream, or of the report (the stream is its number). */
int nsx_tracks_thread(struct nsx_tracks *t, enum nsx_activity a, const struct nsx_val *global_tid,
		      const struct nsx_val *pid, const struct nsx_val *tid,
		      uint32_t *ret, struct nsx_err *err) NSX_CHECKED;
int nsx_tracks_stream(struct nsx_tracks *t, enum nsx_activity a,
		      uint64_t process, int64_t device, int64_t context,
		      int64_t stream, uint32_t *ret, struct nsx_err *err) NSX_CHECKED;
/* Finds the lane for [start, end); NULL without an error: there are too many lanes. Must be called
 * in order of start.
 */
struct nsx_track_lane *nsx_tracks_fit(struct nsx_tracks *t, uint32_t track,
				      int64_t start_ns, int64_t end_ns,
				      struct nsx_err *err) NSX_CHECKED;

/* Events (events.c) ------------------------------------------------------------*/

struct nsx_pf; /* pftrace.c */
struct nsx_rings;

/* The parts that are converted in parallel, each on its own thread. Typed GPU work has several
 * parts, because packets have a sequence per part. Otherwise there is one part.
 */
enum nsx_part { NSX_PART_HOST, NSX_PART_GPU, NSX_PART_REST, NSX_CONVERT_PARTS };

struct nsx_conv { /* state of one part */
	enum nsx_part part;
	unsigned activities; /* activities of this part, as bits             */
	struct nsx_rings **rings; /* destination of packets                  */
	uint32_t main_process; /* index of the first process with CUDA calls */
	unsigned corr_bits;    /* number of bits that hold every correlation id */
	const struct nsx_schema *schema;
	const struct nsx_writer *writer;
	struct nsx_pf *pf;
	const struct nsx_convert_opts *opts;
	struct nsx_out *out;
	struct nsx_convert_counts *counts;
	struct nsx_buf *warnings, *notes;
	struct nsx_shifts shifts; /* corrections of GPU work; empty until they are known */
	bool has_listed; /* the corrections were added to notes */
	bool writing; /* true: second reading, which writes; false: survey */
	struct nsx_window window; /* start == end: no window                 */
	int64_t utc_epoch_ns; /* when the session began; INT64_MIN: unknown or not wanted */
	int64_t first_ns, last_ns; /* span of the converted events; first > last: none */
	enum nsx_activity activity; /* the activity being read               */
	unsigned damaged; /* activities whose damage was reported, as bits */
	/* late: activities with tracks out of time order, as bits; far: those of them whose rows
	 * are too late for the ring of order.h.
	 */
	unsigned late, far;
	struct nsx_lateness lateness; /* lateness in the current activity    */
	uint64_t next_async;
	uint32_t ncounters; /* number of counters that got a number          */
	bool has_events;
	bool has_args, async; /* the current event has arguments; it is asynchronous */
	struct nsx_track_lane *lane;
	struct nsx_names *names; /* shared once loaded                       */
	struct nsx_flows flows;
	struct nsx_tracks tracks;
	struct nsx_trace *trace; /* loaded for projections only; otherwise NULL */
	struct nsx_findings_view *findings; /* findings.c; NULL: not requested */
	struct nsx_queues_view *queues; /* counters.c; NULL: not requested   */
};

enum nsx_slice_kind { NSX_SLICE, NSX_ASYNC, NSX_MARK };
struct nsx_slice {
	int64_t start_ns, end_ns;
	uint32_t track, corr; /* corr: correlation id; 0: no arrow           */
	uint8_t kind;	      /* enum nsx_slice_kind                         */
	bool open;	      /* the range was never closed                  */
	struct nsx_val name;  /* a StringIds id or text                      */
};

static inline struct nsx_val nsx_text_val(const char *s)
{
	return (struct nsx_val){.type = NSX_V_TEXT, .len = (uint32_t)strlen(s),
				.u.p = s};
}
/* Reads a span. Returns whether the row is converted. Counts rows without a valid span. */
bool nsx_conv_span(struct nsx_conv *c, const struct nsx_val *start,
		   const struct nsx_val *end, struct nsx_slice *ret);
bool nsx_conv_in_window(const struct nsx_conv *c, int64_t start_ns, int64_t end_ns);
/* Begins a slice. Returns 1 if it was begun: arguments may follow through c->writer, then
 * nsx_slice_end. Returns 0 if there is nothing to write (survey), negative on failure.
 */
int nsx_slice_begin(struct nsx_conv *c, const struct nsx_slice *s, struct nsx_err *err) NSX_CHECKED;
void nsx_slice_end(struct nsx_conv *c, const struct nsx_slice *s);
/* Writes a slice without arguments. */
int nsx_slice_put(struct nsx_conv *c, const struct nsx_slice *s, struct nsx_err *err) NSX_CHECKED;
/* Extends the time span of the converted events. */
void nsx_conv_hull(struct nsx_conv *c, int64_t start_ns, int64_t end_ns);

/* Writers ------------------------------------------------------------------------*/

struct nsx_counter_sample { /* values of counters that hold from at_ns on */
	int64_t at_ns;
	uint32_t group;	  /* group that owns the counters: NSX_G_METRIC or NSX_G_GPU */
	const char *name; /* name of the sample, for formats that write it as one event */
};
struct nsx_track_counter {
	uint32_t number; /* unique number of the counter                     */
	const char *name;
	/* The unit; NULL: the name says it. A counter with a unit is alone in its event. */
	const char *unit;
};
struct nsx_writer { /* An output format. c->lane and c->async are set while a slice is written. */
	bool is_typed; /* writes GPU work with all its details, and allows overlap on a stream */
	int (*open)(struct nsx_conv *c, struct nsx_err *err);
	void (*begin)(struct nsx_conv *c, const struct nsx_slice *s);
	void (*arg_int)(struct nsx_conv *c, const char *key, int64_t value);
	void (*arg_name)(struct nsx_conv *c, const char *key, const struct nsx_val *v);
	void (*arg_dims)(struct nsx_conv *c, const char *key, const struct nsx_val *v);
	/* Writes details of typed GPU work before its other arguments: the name (NULL if it is the
	 * slice's), and three constants: registers, static and dynamic shared memory.
	 */
	void (*kernel)(struct nsx_conv *c, const struct nsx_slice *s, const struct nsx_val *name,
		       const struct nsx_val *constant);
	void (*end)(struct nsx_conv *c, const struct nsx_slice *s);
	/* Opens a sample, gives it values, and closes it. Samples of a counter come in time
	 * order.
	 */
	void (*sample)(struct nsx_conv *c, const struct nsx_counter_sample *s);
	void (*counter)(struct nsx_conv *c, const struct nsx_track_counter *counter,
			const struct nsx_val *v, bool is_first);
	void (*sample_end)(struct nsx_conv *c);
	/* Write names, in the viewer's display order; `what` may be NULL. */
	void (*name_group)(struct nsx_conv *c, uint32_t group, const char *name, size_t order);
	void (*name_lane)(struct nsx_conv *c, uint32_t track, size_t lane,
			  const char *owner, const char *what, size_t order);
	void (*close)(struct nsx_conv *c);
	void (*done)(struct nsx_conv *c); /* frees all, also after a failure; or NULL */
};
extern const struct nsx_writer nsx_writer_json, nsx_writer_pftrace,
	nsx_writer_pftracks;
/* Runs produce(ctx, part) for each part and writes the packets that parts put into *ret_rings.
 * Errors: those of the parts, NSX_E_NOMEM.
 */
int nsx_pf_run(const struct nsx_convert_opts *opts, struct nsx_out *out,
	       size_t nparts, nsx_task_fn produce, void *ctx,
	       struct nsx_rings **ret_rings, struct nsx_err *err) NSX_CHECKED;

/* Activities ---------------------------------------------------------------------*/

struct nsx_activity_def {
	enum nsx_view view;
	const enum nsx_field *fields;
	unsigned nfields;
	unsigned nsurveyed; /* number of leading fields that the survey reads */
	int ends; /* order of slices that start together: > 0 by end, < 0 longest first, 0 any */
	nsx_row_fn row; /* ctx: struct nsx_conv; columns: start, end, ...    */
	/* Called after the last row; NULL: nothing is left to do. */
	int (*finish)(struct nsx_conv *c, struct nsx_err *err);
};
extern const struct nsx_activity_def nsx_def_nvtx, nsx_def_api,
	nsx_def_library, nsx_def_osrt,
	nsx_def_sched, nsx_def_kernel, nsx_def_memcpy, nsx_def_memset,
	nsx_def_graph;
/* Appends the SELECT of d's columns from a view's table, preceded by the row id. */
void nsx_conv_select(const struct nsx_schema *s, enum nsx_view view,
		     const char *rid, const struct nsx_activity_def *d, struct nsx_buf *b);
/* Reads rows in time order through SQLite's sort, which keeps to its cache size and spills to a
 * file. The first selected column must be the row id. Frees sql.
 */
int nsx_conv_sorted(struct nsx_conv *c, struct nsx_buf *sql, unsigned ncolumns,
		    nsx_row_fn row, void *ctx, struct nsx_err *err) NSX_CHECKED;
int nsx_convert_metrics(struct nsx_conv *c, struct nsx_err *err) NSX_CHECKED;
int nsx_convert_memory(struct nsx_conv *c, struct nsx_err *err) NSX_CHECKED;
int nsx_convert_queues(struct nsx_conv *c, struct nsx_err *err) NSX_CHECKED;
/* Copies what nsx_convert_queues needs from a fully loaded trace. */
int nsx_convert_keep_queues(struct nsx_conv *c, const struct nsx_trace *t,
			    struct nsx_err *err) NSX_CHECKED;
void nsx_queues_view_free(struct nsx_queues_view *v); /* NULL is allowed */
int nsx_convert_nvtx_gpu(struct nsx_conv *c, struct nsx_err *err) NSX_CHECKED;
/* Loads the trace and lists its corrections. Owner of *ret: the caller, nsx_trace_free. */
int nsx_convert_load(struct nsx_conv *c, const char *window, struct nsx_trace **ret,
		     struct nsx_err *err) NSX_CHECKED;
/* Loads the trace, if necessary, for the corrections, which the loader puts into the schema, and
 * for the window.
 */
int nsx_convert_load_corrections(struct nsx_conv *c, struct nsx_err *err) NSX_CHECKED;
/* Adds a line to c->notes for each correction of GPU times by the loader. Only the first call has
 * an effect.
 */
void nsx_convert_list_corrections(struct nsx_conv *c, const struct nsx_trace *t);
int nsx_convert_findings(struct nsx_conv *c, struct nsx_err *err) NSX_CHECKED;
/* The name of the n-th track of the findings. */
const char *nsx_findings_track(const struct nsx_conv *c, uint64_t n);
void nsx_findings_view_free(struct nsx_findings_view *v); /* NULL is allowed */

/* Writes the names of groups and lanes as events (meta.c). */
int nsx_convert_names(struct nsx_conv *c, struct nsx_err *err) NSX_CHECKED;
/* Marks the strings that nsx_convert_names will need. */
int nsx_convert_use_names(struct nsx_conv *c, struct nsx_err *err) NSX_CHECKED;
