/* convert.h - a trace for viewers: Chrome trace events or Perfetto's own packets.
 *
 * Each table is read twice, and never held (for the findings the trace is
 * loaded, explained and given back before anything is written).  The survey
 * finds what the writing has to know beforehand: the shift of time, which
 * strings are used, which (process, correlation id) have both a call and GPU
 * work, and whether each track's rows are in order of time.  A table of which
 * they are not is written through a sort of SQLite's.
 *
 * Slices of one track may only nest (those of a stream not even that), or
 * viewers drop them: what does not fit goes to a further lane, a track of its
 * own.
 */
#ifndef NSX_CONVERT_H
#define NSX_CONVERT_H

#include "convert/order.h"
#include "convert/out.h"
#include "trace/trace.h"
#include "base/keymap.h"
#include "base/par.h"
#include "schema/cells.h"

enum nsx_activity { /* in the order of the output: calls before GPU work */
	NSX_A_NVTX, NSX_A_API, NSX_A_LIBRARY, NSX_A_OSRT, NSX_A_SCHED,
	NSX_A_KERNEL, NSX_A_MEMCPY, NSX_A_MEMSET, NSX_A_GRAPH, NSX_A_NVTX_GPU, NSX_A_METRIC,
	NSX_A_MEMORY,
	NSX_A_FINDING, /* what the report says: findings, iterations, phases  */
	NSX_A_QUEUE,   /* launched and not begun: of the loaded trace        */
	NSX_NACTIVITIES
};
extern const char *const nsx_activity_names[NSX_NACTIVITIES];

/* A trace among several in one output. Zeroed: the only one. */
struct nsx_place {
	uint32_t ntraces;
	uint32_t trace;	    /* from 0 on, below NSX_MAX_PLACES              */
	uint32_t machine;   /* from 1 on; 0: there is one                   */
	bool names_no_gpus; /* another trace of the machine does            */
	int64_t offset_ns;  /* from its clock to that of the output         */
};
enum { NSX_MAX_PLACES = 127 };

/* What goes first where a file must not become too large, in this order. */
enum nsx_shed {
	NSX_SHED_OSRT,	/* OS runtime calls and scheduling, depths of queues */
	NSX_SHED_CALLS, /* CUDA calls that caused no GPU work               */
	NSX_SHED_MARKS, /* NVTX marks                                       */
	NSX_NSHEDS
};

struct nsx_convert_opts {
	unsigned activities;	 /* bits 1 << enum nsx_activity             */
	unsigned shed;		 /* bits 1 << enum nsx_shed: is left out    */
	struct nsx_place place;
	const char *path;	 /* of the trace, for the report            */
	const char *nvtx_prefix; /* NULL: all ranges                        */
	const char *window;	 /* as typed, NULL: none                    */
	unsigned threads;
	bool no_metadata;	 /* no names of processes and threads       */
	bool pftrace;		 /* Perfetto's packets, not JSON            */
	bool gpu_tracks;	 /* GPU work as slices of tracks, for readers
				    that know no typed GPU work             */
	bool no_compress;	 /* packets stay plain                      */
};

struct nsx_convert_counts {
	int64_t slices, asyncs, marks, samples; /* samples: rows of counters */
	int64_t flow_starts, flow_ends;
	int64_t in_lanes;   /* slices not in the first lane                 */
	int64_t left_out;   /* rows without a valid span                    */
	int64_t unsupported; /* NVTX rows that are no range or mark          */
	int64_t shift_ns;   /* added to every time                          */
};

/* Adds up, but for shift_ns, which is the last one's. */
void nsx_convert_add_counts(struct nsx_convert_counts *sum,
			    const struct nsx_convert_counts *n);

/* When the session of a trace began; INT64_MIN: not known.  Errors: NSX_E_NOMEM. */
int nsx_session_start(struct nsx_db *db, int64_t *ret,
		      struct nsx_err *err) NSX_CHECKED;

/* Converts to out, all but nsx_out_commit. Warnings, a line each, go to
 * *warnings.  Errors: those of reading, NSX_E_USAGE (window), NSX_E_STOP;
 * failures of writing are left to nsx_out_commit.
 */
int nsx_convert(const struct nsx_schema *schema,
		const struct nsx_convert_opts *opts, struct nsx_out *out,
		struct nsx_convert_counts *ret, struct nsx_buf *warnings,
		struct nsx_err *err) NSX_CHECKED;

/* Strings (names.c) ----------------------------------------------------------*/

/* StringIds that are used, as the insides of JSON strings. */
struct nsx_names {
	struct nsx_arena *arena;
	const char *prefix; /* see nsx_names_open                            */
	size_t bound;	    /* ids below it are dense                        */
	uint8_t *flags;	    /* by id, then by sparse id: used, matches       */
	const char **text;  /* the same: length as uint32_t, then the bytes  */
	struct nsx_keymap sparse; /* {id} of the others                      */
	struct nsx_keycache *cache;
	pthread_mutex_t lock; /* of sparse and cache, once all use them      */
	size_t cap_flags, cap_text;
	bool is_plain; /* text is UTF-8, not the inside of a JSON string     */
};
/* Appends text as the writer wants it: repaired and cut, and escaped for JSON. */
void nsx_names_text(const struct nsx_names *x, struct nsx_buf *b,
		    const char *text, size_t n);
/* prefix not NULL: nsx_names_matches can be asked from now on. */
int nsx_names_open(struct nsx_names *x, const struct nsx_schema *s,
		   const char *prefix, struct nsx_err *err) NSX_CHECKED;
void nsx_names_done(struct nsx_names *x);
/* What y will be asked for, x will be asked for: of the same trace. */
int nsx_names_merge(struct nsx_names *x, const struct nsx_names *y,
		    struct nsx_err *err) NSX_CHECKED;
/* Says that a name cell, if it is an id, will be asked for. */
int nsx_names_use(struct nsx_names *x, const struct nsx_val *v,
		  struct nsx_err *err) NSX_CHECKED;
int nsx_names_load(struct nsx_names *x, const struct nsx_schema *s,
		   struct nsx_err *err) NSX_CHECKED;
/* Both may be asked by several threads, once all is loaded.
 * NULL: no string has that id. *ret_at: a number of its own, from 0 on.
 */
const char *nsx_names_get(struct nsx_names *x, int64_t id, size_t *ret_n,
			  size_t *ret_at);
bool nsx_names_matches(struct nsx_names *x, const struct nsx_val *v);

/* Calls and what they caused (flows.c) ---------------------------------------*/

enum nsx_flow_side { NSX_FLOW_CALL, NSX_FLOW_GPU };
struct nsx_flow_page;
struct nsx_flows {
	struct nsx_flow_page *pages;
	size_t n, cap, nslots;
	uint32_t *slots; /* page + 1, 0 free */
	uint32_t recent[256]; /* pages met lately, by a few bits of their keys */
	bool is_borrowed;     /* all but what was met lately                  */
};
void nsx_flows_done(struct nsx_flows *f);
int nsx_flows_note(struct nsx_flows *f, uint32_t process, uint32_t corr,
		   enum nsx_flow_side side, struct nsx_err *err) NSX_CHECKED;
/* Notes what other has, where process i is process[i] here. */
int nsx_flows_merge(struct nsx_flows *f, const struct nsx_flows *other,
		    const uint32_t *process, struct nsx_err *err) NSX_CHECKED;
/* Drops what to has; it looks into f from now on, also while another thread
 * starts arrows there.
 */
void nsx_flows_lend(const struct nsx_flows *f, struct nsx_flows *to);
/* The process of the first correlation id, and the bits that the largest takes. */
uint32_t nsx_flows_span(const struct nsx_flows *f, unsigned *ret_bits);
/* From here on only what has both sides is there. */
void nsx_flows_settle(struct nsx_flows *f);
/* Whether an arrow starts here: the first time it is asked, if at all. */
bool nsx_flows_start(struct nsx_flows *f, uint32_t process, uint32_t corr);
/* Whether one has started. */
bool nsx_flows_started(struct nsx_flows *f, uint32_t process, uint32_t corr);
/* Whether both sides are there; after nsx_flows_settle. */
bool nsx_flows_has(struct nsx_flows *f, uint32_t process, uint32_t corr);

/* Tracks (tracks.c) ------------------------------------------------------------*/

/* Viewers know processes and threads; each group of tracks is made one of their
 * processes, each lane one of their threads.
 */
enum nsx_group_kind { NSX_G_CPU, NSX_G_GPU, NSX_G_METRIC, NSX_G_REPORT };
struct nsx_group { /* of tracks */
	uint32_t pid;
};
struct nsx_pf_stream; /* pf.h */
struct nsx_track_lane {
	uint32_t tid;
	uint32_t nends, cap_ends;
	int64_t *ends;	/* of the slices open in it, outermost first         */
	uint8_t nhead;
	char head[55];	/* "pid":1,"tid":2,"ts":                             */
	struct nsx_pf_stream *stream; /* of packets: NULL, or whose they are */
};
/* Slices that fit nowhere in these become asynchronous, which may overlap: a
 * search through more lanes would be quadratic, and nobody reads them.
 */
enum { NSX_MAX_LANES = 64 };
struct nsx_track {
	uint32_t group, process;
	bool nests;
	struct nsx_track_lane *lanes;
	size_t nlanes, cap_lanes;
	int64_t last_start_ns, last_end_ns; /* of the survey */
	int64_t cpu, on_ns; /* sched: -1, or the CPU it is on, since when    */
};
struct nsx_tracks {
	struct nsx_keymap group_keys;	/* {kind, process key, device}       */
	struct nsx_keymap track_keys;	/* {activity, process key, device,
					   context, stream or tid}           */
	struct nsx_keymap process_keys; /* {process key}                     */
	struct nsx_keymap tids, pids;	/* real ones that are taken          */
	struct nsx_keycache *cache[5];	/* of each                           */
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
		     uint64_t key, int64_t device, uint32_t *ret,
		     struct nsx_err *err) NSX_CHECKED;
/* The track of a thread, or of a stream. */
int nsx_tracks_thread(struct nsx_tracks *t, enum nsx_activity a,
		      const struct nsx_val *global_tid,
		      const struct nsx_val *pid, const struct nsx_val *tid,
		      uint32_t *ret, struct nsx_err *err) NSX_CHECKED;
int nsx_tracks_stream(struct nsx_tracks *t, enum nsx_activity a,
		      uint64_t process, int64_t device, int64_t context,
		      int64_t stream, uint32_t *ret,
		      struct nsx_err *err) NSX_CHECKED;
/* The n-th track of what the report says. */
int nsx_tracks_report(struct nsx_tracks *t, uint64_t n, uint32_t *ret,
		      struct nsx_err *err) NSX_CHECKED;
/* The lane that [start, end) goes to; NULL and no error: there are too many
 * already.  Calls come in order of start.
 */
struct nsx_track_lane *nsx_tracks_fit(struct nsx_tracks *t, uint32_t track,
				      int64_t start_ns, int64_t end_ns,
				      struct nsx_err *err) NSX_CHECKED;

/* Events (events.c) ------------------------------------------------------------*/

struct nsx_pf; /* pftrace.c */
struct nsx_rings;

/* What is converted side by side, each on a thread of its own: packets with typed
 * GPU work are a sequence for each of these.  Else all is one part.
 */
enum nsx_part { NSX_PART_HOST, NSX_PART_GPU, NSX_PART_REST, NSX_CONVERT_PARTS };

struct nsx_conv { /* of a part */
	enum nsx_part part;
	unsigned activities; /* of it, as bits                               */
	struct nsx_rings **rings; /* packets go there                        */
	uint32_t main_process; /* the first one with calls of CUDA           */
	unsigned corr_bits;    /* which no correlation id goes beyond        */
	const struct nsx_schema *schema;
	const struct nsx_writer *writer;
	struct nsx_pf *pf;
	const struct nsx_convert_opts *opts;
	struct nsx_out *out;
	struct nsx_convert_counts *counts;
	struct nsx_buf *warnings;
	bool writing; /* else: survey */
	struct nsx_window window; /* start == end: none                      */
	int64_t utc_epoch_ns; /* when the session began; INT64_MIN: not known
				 or not wanted                               */
	int64_t first_ns, last_ns; /* of what is converted; first > last:
				      nothing                                */
	enum nsx_activity activity; /* being read                            */
	unsigned damaged; /* activities, as bits, whose loss was said */
	unsigned late, far; /* activities, as bits: some track's rows are not
			       in order of time; nor nearly                  */
	struct nsx_lateness lateness; /* of the activity                     */
	uint64_t next_async;
	uint32_t ncounters; /* that have a number                            */
	bool has_events;
	bool has_args, async; /* of the event being written */
	struct nsx_track_lane *lane;
	struct nsx_names *names; /* shared, when they are loaded             */
	struct nsx_flows flows;
	struct nsx_tracks tracks;
	struct nsx_trace *trace; /* for projections only, else NULL */
	struct nsx_findings_view *findings; /* findings.c; NULL: not wanted  */
	struct nsx_queues_view *queues; /* counters.c; the same              */
};

enum nsx_slice_kind { NSX_SLICE, NSX_ASYNC, NSX_MARK };
struct nsx_slice {
	int64_t start_ns, end_ns;
	uint32_t track, corr; /* corr 0: no arrow                            */
	uint8_t kind;	      /* enum nsx_slice_kind                         */
	bool open;	      /* never closed                                */
	struct nsx_val name;  /* an id of StringIds, or text                 */
};

static inline struct nsx_val nsx_text_val(const char *s)
{
	return (struct nsx_val){.type = NSX_V_TEXT, .len = (uint32_t)strlen(s),
				.u.p = s};
}
/* Reads a span and tells whether it is converted; else counts it, if it is a
 * defect.
 */
bool nsx_conv_span(struct nsx_conv *c, const struct nsx_val *start,
		   const struct nsx_val *end, struct nsx_slice *ret);
bool nsx_conv_in_window(const struct nsx_conv *c, int64_t start_ns,
			int64_t end_ns);
/* 1: begun, arguments may follow, then nsx_slice_end; 0: nothing to write (in
 * the survey); negative: a failure.
 */
int nsx_slice_begin(struct nsx_conv *c, const struct nsx_slice *s,
		    struct nsx_err *err) NSX_CHECKED;
void nsx_slice_end(struct nsx_conv *c, const struct nsx_slice *s);
void nsx_arg_int(struct nsx_conv *c, const char *key, int64_t value);
void nsx_arg_name(struct nsx_conv *c, const char *key, const struct nsx_val *v);
/* Three cells as "1x2x3"; nothing where they are not there. */
void nsx_arg_dims(struct nsx_conv *c, const char *key, const struct nsx_val *v);
/* Notes the hull of what is converted. */
void nsx_conv_hull(struct nsx_conv *c, int64_t start_ns, int64_t end_ns);

/* Writers ------------------------------------------------------------------------*/

struct nsx_counter_sample { /* values of counters at an instant, which hold from it on */
	int64_t at_ns;
	uint32_t group;	  /* whose they are: NSX_G_METRIC, NSX_G_GPU         */
	const char *name; /* of all of them, where a format has one event    */
};
struct nsx_counter {
	uint32_t number; /* of its own                                       */
	const char *name;
	const char *unit; /* NULL: the name tells; else the name alone is of
			     one event                                       */
};
struct nsx_writer { /* a format; c->lane and c->async are set for a slice */
	bool is_typed; /* GPU work carries all that the trace tells of it, and
			  may overlap on its stream                          */
	int (*open)(struct nsx_conv *c, struct nsx_err *err);
	void (*begin)(struct nsx_conv *c, const struct nsx_slice *s);
	void (*arg_int)(struct nsx_conv *c, const char *key, int64_t value);
	void (*arg_name)(struct nsx_conv *c, const char *key,
			 const struct nsx_val *v);
	void (*arg_dims)(struct nsx_conv *c, const char *key,
			 const struct nsx_val *v);
	/* Of typed GPU work, before its other arguments: the name, NULL if it
	 * is the slice's, and three constants: registers, static and dynamic
	 * shared memory.
	 */
	void (*kernel)(struct nsx_conv *c, const struct nsx_slice *s,
		       const struct nsx_val *name,
		       const struct nsx_val *constant);
	void (*end)(struct nsx_conv *c, const struct nsx_slice *s);
	/* Counters: a sample is opened, has values, is closed.  Those of a
	 * counter come in order of time.
	 */
	void (*sample)(struct nsx_conv *c, const struct nsx_counter_sample *s);
	void (*counter)(struct nsx_conv *c, const struct nsx_counter *counter,
			const struct nsx_val *v, bool is_first);
	void (*sample_end)(struct nsx_conv *c);
	/* Names, in the order in which viewers should show them; what may be
	 * NULL.
	 */
	void (*name_group)(struct nsx_conv *c, uint32_t group, const char *name,
			   size_t order);
	void (*name_lane)(struct nsx_conv *c, uint32_t track, size_t lane,
			  const char *owner, const char *what, size_t order);
	void (*close)(struct nsx_conv *c);
	void (*done)(struct nsx_conv *c); /* lets go, also after a failure */
};
extern const struct nsx_writer nsx_writer_json, nsx_writer_pftrace,
	nsx_writer_pftracks;
/* Runs produce(ctx, part) for the parts of packets and writes what they put into
 * *ret_rings.  Errors: theirs, NSX_E_NOMEM.
 */
int nsx_pf_run(const struct nsx_convert_opts *opts, struct nsx_out *out,
	       size_t nparts, nsx_task_fn produce, void *ctx,
	       struct nsx_rings **ret_rings, struct nsx_err *err) NSX_CHECKED;

/* Activities ---------------------------------------------------------------------*/

struct nsx_activity_def {
	enum nsx_view view;
	const enum nsx_field *fields;
	unsigned nfields;
	unsigned nsurveyed; /* the first so many are read by the survey      */
	int ends; /* order of slices that start together: > 0 by end, < 0 the
		     longest first, 0 no matter                              */
	nsx_row_fn row; /* ctx: struct nsx_conv; columns: start, end, ...    */
	int (*finish)(struct nsx_conv *c, struct nsx_err *err); /* or NULL   */
};
extern const struct nsx_activity_def nsx_def_nvtx, nsx_def_api,
	nsx_def_library, nsx_def_osrt,
	nsx_def_sched, nsx_def_kernel, nsx_def_memcpy, nsx_def_memset,
	nsx_def_graph;
/* What selects d's columns from a view's table, led by a row's id. */
void nsx_conv_select(const struct nsx_schema *s, enum nsx_view view,
		     const char *rid, const struct nsx_activity_def *d,
		     struct nsx_buf *b);
/* Rows in order of time, through SQLite's sort: it keeps to the size of its cache
 * and puts the rest into a file.  What is selected first is the row's id; sql is
 * done with.
 */
int nsx_conv_sorted(struct nsx_conv *c, struct nsx_buf *sql, unsigned ncolumns,
		    nsx_row_fn row, void *ctx, struct nsx_err *err) NSX_CHECKED;
int nsx_convert_metrics(struct nsx_conv *c, struct nsx_err *err) NSX_CHECKED;
int nsx_convert_memory(struct nsx_conv *c, struct nsx_err *err) NSX_CHECKED;
int nsx_convert_queues(struct nsx_conv *c, struct nsx_err *err) NSX_CHECKED;
/* Takes what that needs of a trace that is loaded whole. */
int nsx_convert_keep_queues(struct nsx_conv *c, const struct nsx_trace *t,
			    struct nsx_err *err) NSX_CHECKED;
void nsx_queues_view_free(struct nsx_queues_view *v); /* NULL is fine */
int nsx_convert_nvtx_gpu(struct nsx_conv *c, struct nsx_err *err) NSX_CHECKED;
int nsx_convert_findings(struct nsx_conv *c, struct nsx_err *err) NSX_CHECKED;
/* The name of its n-th track. */
const char *nsx_findings_track(const struct nsx_conv *c, uint64_t n);
void nsx_findings_view_free(struct nsx_findings_view *v); /* NULL is fine */

/* Names of groups and lanes, as events (meta.c). */
int nsx_convert_names(struct nsx_conv *c, struct nsx_err *err) NSX_CHECKED;
/* What a survey must mark for it. */
int nsx_convert_use_names(struct nsx_conv *c, struct nsx_err *err) NSX_CHECKED;

#endif
