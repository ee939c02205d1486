/* load.h - what the files that fill a trace share.
 *
 * Loading is in four steps: strings and the small tables; the scans, part by
 * part on all threads, into preallocated columns with provisional ids; order
 * (ids are renumbered so that no result depends on which thread came first,
 * then rows are sorted); and what is derived (calls of ops, classes, nesting).
 */
#ifndef NSX_TRACE_LOAD_H
#define NSX_TRACE_LOAD_H

#include <pthread.h>
#include "base/group.h"
#include "base/keymap.h"
#include "base/par.h"
#include "schema/cells.h"
#include "sqlite/scan.h"
#include "trace/trace.h"

/* A set of columns of the same length ----------------------------------------*/

struct nsx_colset {
	const char *what; /* for messages */
	struct {
		void **at; /* where its pointer is kept; NULL: no more       */
		size_t size;
	} cols[12];
	size_t n;
};
#define NSX_COL(p) {(void **)&(p), sizeof(*(p))}
int nsx_colset_alloc(struct nsx_colset *c, struct nsx_arena *a, size_t n,
		     struct nsx_err *err) NSX_CHECKED;
/* Makes room for `more` rows at the end; n grows. */
int nsx_colset_grow(struct nsx_colset *c, struct nsx_arena *a, size_t more,
		    struct nsx_err *err) NSX_CHECKED;
/* Moves rows [from, from + n) to `to`. */
void nsx_colset_move(struct nsx_colset *c, size_t to, size_t from, size_t n);
/* Sorts by cmp (stable).  Rows are dealt into their groups (indices below ngroups;
 * NULL: all in one), which stand in the order of cmp; in each, ascending runs are
 * found and merged: linear where a table is in order of time, which most are, though
 * threads or devices take turns in it.
 */
typedef int (*nsx_row_cmp)(const void *ctx, uint32_t a, uint32_t b);
typedef uint32_t (*nsx_row_group)(const void *ctx, uint32_t row);
int nsx_colset_sort(struct nsx_colset *c, nsx_row_group group, size_t ngroups,
		    nsx_row_cmp cmp, const void *ctx,
		    struct nsx_err *err) NSX_CHECKED;

/* The loader --------------------------------------------------------------*/

struct nsx_sparse_id {
	int64_t id;
	nsx_str str;
};

struct nsx_ordinal { /* TARGET_INFO_CUDA_DEVICE: (pid, ordinal) -> GPU */
	int64_t pid, device_id, gpu_id, sm_count;
	nsx_str uuid;
};

struct nsx_created { /* an NVTX domain's creation row */
	uint64_t process_key;
	int64_t domain_id;
	nsx_str name;
};

/* The calls of one process that carry a correlation id, ordered by it and by start.  (An array by
 * id is larger: real programs use eight to twelve ids for each call recorded.)
 */
struct nsx_call_index {
	uint32_t *calls; /* one of those around each other: the outermost    */
	size_t n, at;	/* at: where nsx_host_call found the last            */
	uint32_t calls_at; /* where its calls begin                          */
	uint32_t least; /* id of all calls, read or not; 0: none             */
};

/* The recorded stacks of one table, ordered by id. */
struct nsx_stacks {
	size_t n;
	int64_t *id;
	uint32_t *stack; /* of the trace's                                   */
};
struct nsx_backtrace { /* of the call that has this correlation id           */
	uint64_t process_key;
	int64_t id; /* of the stack in the file                              */
	uint32_t corr, call, stack; /* the last two follow when all is read  */
};

/* What of the file is read where the user asked for a window (survey.c). */
struct nsx_portion {
	bool is_on;
	struct nsx_window user, gpu, host; /* as asked; hulls of all rows    */
	struct nsx_window read; /* rows that reach into it are read, and ... */
	uint32_t clock_share; /* ... of calls and what they launched one in so
				 many: NSX_CLOCK_RUN ids in a row            */
	uint32_t *corr; /* ... the calls of the window's operations, wherever
			   they are; ascending                               */
	int64_t *at_ns; /* ... what is open where those of them begin that
			   begin outside, and where such ranges do; ascending */
	size_t ncorr, nat, cap_at;
	int64_t first_call_ns; /* least start of a call                      */
	size_t nopen; /* ranges never closed                                 */
};
/* Events by the bin that they begin in: of 2^shift ns, numbered from 0 ns on, the
 * first and the last that there are.  n is a ring.
 */
struct nsx_bins {
	unsigned shift;
	int64_t first, last;
	uint32_t n[1 << 12];
};
struct nsx_surveyed { /* what a part of a table tells of all its rows        */
	struct nsx_window hull, ranges; /* ranges: with the window's name    */
	int64_t first_ns;
	size_t nevents, nopen, cap_least;
	uint32_t *least_corr; /* by id in callers_map; 0: none               */
	struct nsx_bins bins;
};
enum { NSX_CLOCK_RUN = 12 /* bits */ };

struct nsx_loader {
	struct nsx_trace *t;
	struct nsx_strings *strings; /* the trace's, while they are added    */
	const struct nsx_schema *schema;
	unsigned threads;
	struct nsx_progress *progress;

	struct nsx_keymap threads_map; /* {global tid}                       */
	struct nsx_keymap streams_map; /* {process key, device ordinal,
					   context, stream, 1: the ordinal is
					   not known}                        */
	struct nsx_keymap domains_map; /* {process key, domain id}           */
	struct nsx_keymap shapes_map;  /* but for names and grid x: gpu.c    */
	struct nsx_groups shapes;      /* {name, base's name}, {grid x, of
					  shapes_map}; guarded by lock       */
	struct nsx_keymap replays_map; /* {graph, exec}                      */
	struct nsx_keymap osrt_map;    /* {global tid, name}                 */

	nsx_str *by_id; /* StringIds: dense ids ...                          */
	size_t nby_id;
	struct nsx_sparse_id *sparse; /* ... and the others, sorted          */
	size_t nsparse, cap_sparse;

	struct nsx_call_index *index; /* by process                          */
	struct nsx_arena *index_arena;

	struct nsx_ordinal *ordinals;
	size_t nordinals, cap_ordinals;

	const struct nsx_load_opts *opts;
	struct nsx_portion portion;
	struct nsx_keymap callers_map; /* of all rows: {global tid, API name},
					  and {global tid, kind, 1} of ranges */
	uint32_t *least_corr; /* by id in callers_map; 0: none                */
	nsx_str window_range; /* the range whose extent is the window, 0      */
	struct nsx_window window_hull; /* of the ranges of that name          */

	pthread_mutex_t lock; /* guards what follows, up to the columns      */
	struct nsx_stream_types { /* TARGET_INFO_CUDA_STREAM, while it is read */
		struct nsx_groups streams;
		uint8_t *type;
	} stream_types;
	struct nsx_created *created;
	size_t ncreated, cap_created;
	char **raw;	      /* least raw text of a normalised name         */
	size_t nraw;
	const char **warnings;
	size_t nwarnings, cap_warnings;

	struct nsx_ops_rw { /* the columns behind the const ones of the trace */
		int64_t *start_ns, *end_ns;
		uint32_t *call, *stream, *detail;
		uint8_t *kind, *cls, *flags;
	} ops; /* call holds the correlation id until it is resolved         */
	struct nsx_next { /* by device: its first work after the user's window;
			     corr 0: none, or without an id                  */
		uint32_t process, corr;
	} *next; /* NULL: no window                                          */
	struct nsx_copy *copies; /* of memcpy and memset rows, in load order */
	struct nsx_calls_rw {
		int64_t *start_ns, *end_ns;
		nsx_str *name;
		uint32_t *thread, *corr, *op; /* op: once calls are matched */
		uint8_t *cls, *flags;
	} calls;
	struct nsx_nvtx_rw {
		int64_t *start_ns, *end_ns;
		nsx_str *name;
		uint32_t *thread, *domain;
		uint8_t *kind, *flags;
	} nvtx;
	struct nsx_overheads_rw {
		int64_t *start_ns, *end_ns;
		uint32_t *thread;
		uint8_t *type;
	} overheads;
	struct nsx_library_rw {
		int64_t *start_ns, *end_ns, *comm, *bytes;
		uint32_t *thread;
		nsx_str *name;
		int32_t *peer, *tag;
		uint8_t *library, *is_coll;
	} library;
	struct nsx_syncs_rw {
		int64_t *start_ns, *end_ns, *event_sync_id;
		uint32_t *process, *call, *stream, *context, *event;
		uint8_t *type;
	} syncs; /* process and stream: thread-map ids until ordered         */
	struct nsx_records_rw {
		int64_t *event_sync_id;
		uint32_t *process, *call, *stream, *event;
	} records;
	struct nsx_keymap frames_map; /* {function, module, origin}            */
	struct nsx_groups stacks;     /* (innermost frame, site)             */
	struct nsx_stacks sample_stacks, cuda_stacks, osrt_stacks;
	struct nsx_samples_rw {
		int64_t *start_ns;
		uint64_t *global_tid;
		uint32_t *stack;
	} samples;
	struct nsx_python_stack *python; /* guarded by lock; sites are names  */
	size_t npython, cap_python;
	struct nsx_backtrace *backtraces; /* guarded by lock                 */
	size_t nbacktraces, cap_backtraces, nfrom_zero;
	int64_t most_backtrace; /* greatest id; both of all rows             */
	struct nsx_colset op_set, copy_set, call_set, nvtx_set, overhead_set,
		sync_set, record_set, library_set;
};

/* A warning for the report. Thread-safe. */
void nsx_load_warn(struct nsx_loader *l, const char *fmt, ...) NSX_PRINTF(2, 3);

/* Scanning ---------------------------------------------------------------*/

/* One part of one table: writes rows [at, at + room) of its columns. */
struct nsx_part {
	struct nsx_loader *l;
	struct nsx_tableload *table;
	unsigned index; /* in the scan */
	size_t at, room, n; /* n rows kept so far: the next goes to at + n */
	struct nsx_defects defects;
	struct nsx_keycache *cache[3];
	struct nsx_late_keys *shapes;
	void *own; /* this part's element of the table's own */
	struct nsx_choice choice;
};
/* When a row is: [MIN, MAX] where its cells do not tell, [MAX, MIN] where it is
 * none of the trace's; an open range ends at MAX.
 */
struct nsx_extent {
	int64_t start_ns, end_ns;
	bool is_event; /* it is kept, and sound */
};
struct nsx_zone { /* a block of a table */
	int64_t least_ns, most_ns; /* of the extents of its rows             */
	uint32_t least_corr, most_corr, rows;
};
enum nsx_hull { NSX_HULL_NONE, NSX_HULL_GPU, NSX_HULL_HOST };
struct nsx_tableload {
	enum nsx_view view;
	const enum nsx_field *fields;
	unsigned nfields;
	struct nsx_colset *set, *beside; /* beside: a second set, same rows   */
	void *own; /* NSX_MAX_THREADS elements of own_size, one a part; for
		      tables that are folded rather than kept              */
	size_t own_size;
	/* One row: keeps it (returns 0 after p->n++) or counts a defect. */
	int (*row)(struct nsx_part *p, const struct nsx_val *v,
		   struct nsx_err *err);
	/* Of tables that are read in part for a window; NULL: always whole. */
	struct nsx_extent (*extent)(const struct nsx_val *v);
	unsigned corr; /* the field with the correlation id; 0: none         */
	enum nsx_hull hull; /* its rows belong to                            */
	uint32_t told; /* bits of the fields that the survey looks at        */
	/* What is to be known of a row even if it is not read; or NULL. */
	int (*note)(struct nsx_part *p, const struct nsx_val *v,
		    const struct nsx_extent *x, struct nsx_err *err);
	bool is_survey;
	struct nsx_zone *zones; /* by block, from the survey; or NULL        */
	size_t nzones;
	/* filled while loading: */
	struct nsx_scan *scan;
	struct nsx_part *parts;
	unsigned nparts;
};

#define NSX_TABLE(v, columns, fn, ...)                                        \
	{.view = NSX_VIEW_##v, .fields = columns,                             \
	 .nfields = ARRAY_LEN(columns), .row = fn, __VA_ARGS__}

#define NSX_BIT(i) (UINT32_C(1) << (i))

/* Where the rows of a file are in time, and what little is to be known of all of
 * them, so that of those far from the window most need not be read: settles the
 * portion, and fills the zones of the tables that may be read in part.  No order of
 * rows is taken for granted.  Errors: also NSX_E_USAGE, of the window.
 */
int nsx_survey(struct nsx_loader *l, struct nsx_tableload *list, size_t n,
	       const char *window, struct nsx_err *err);
void nsx_survey_done(struct nsx_tableload *list, size_t n);
/* Whether a block, or a row, is of the portion that is read. */
bool nsx_wants_block(void *part, size_t block);
bool nsx_wants_row(const struct nsx_part *p, const struct nsx_val *v);
/* Thread (interned in threads_map) and name of a call. */
int nsx_read_caller(struct nsx_part *p, const struct nsx_val *v,
		    uint32_t *thread, nsx_str *name, struct nsx_err *err);
/* Once the operations are read: the calls that launched those of the window, and what
 * comes next. Once calls are: when those outside were made; and, where a thread that
 * launches has made none on a side of the window, when it launched last before and first
 * after it (*ret: calls are to be read again, with these). Once ranges are: what was open
 * where those begin that begin outside, and may cross them (*ret: ranges are to be read
 * again).
 */
int nsx_want_calls(struct nsx_loader *l, struct nsx_err *err);
int nsx_want_neighbours(struct nsx_loader *l, const struct nsx_tableload *calls,
			bool *ret, struct nsx_err *err);
int nsx_want_crossing(struct nsx_loader *l, const struct nsx_tableload *ranges,
		      bool *ret, struct nsx_err *err);
/* Once clocks are judged: drops the calls and waits that were read for that alone,
 * and says what threads do anywhere.
 */
int nsx_drop_sample(struct nsx_loader *l, struct nsx_err *err);
/* The extent of a row that begins with its start and its end. */
struct nsx_extent nsx_extent_of(const struct nsx_val *v);

/* Reads the tables of the list, all parts of all tables side by side. Tables
 * of one column set follow each other in the list. A damaged table keeps what
 * was read, with a warning. stage: for progress.
 */
int nsx_load_tables(struct nsx_loader *l, struct nsx_tableload *list,
		    size_t n, const char *stage, struct nsx_err *err);

/* A small table: hands every row of the columns (16 at most) to fn. Damage is
 * a warning.
 */
void nsx_load_rows(struct nsx_loader *l, enum nsx_view view,
		   const char *columns, unsigned n,
		   void (*fn)(struct nsx_loader *l, const struct nsx_val *v));

/* Cells -------------------------------------------------------------------*/

/* Interned text, 0 for a cell that is empty or no text. */
nsx_str nsx_read_text(struct nsx_loader *l, const struct nsx_val *v);
/* An instant or a span. False: the row is a defect, counted. */
bool nsx_read_instant(struct nsx_part *p, const struct nsx_val *v,
		      int64_t *ret);
bool nsx_read_span(struct nsx_part *p, const struct nsx_val *start,
		   const struct nsx_val *end, int64_t *ret_start,
		   int64_t *ret_end);
static const struct nsx_val nsx_no_cell = {.type = NSX_V_NULL};
/* Thread of a row, as a global id; and interned in threads_map. */
uint64_t nsx_read_thread_key(const struct nsx_val *global_tid,
			     const struct nsx_val *pid,
			     const struct nsx_val *tid);
int nsx_read_thread(struct nsx_part *p, const struct nsx_val *global_tid,
		    const struct nsx_val *pid, const struct nsx_val *tid,
		    uint32_t *ret, struct nsx_err *err) NSX_CHECKED;

/* A context as a part of a stream's key.  Streams of a green context, which has a part of the
 * multiprocessors, are none of the context that it was made from.
 */
#define NSX_GREEN (UINT64_C(1) << 62)
static inline uint64_t nsx_read_context(const struct nsx_val *context,
					const struct nsx_val *green)
{
	return nsx_i64_or(green, 0) > 0 ? (uint64_t)green->u.i | NSX_GREEN :
					  (uint64_t)nsx_i64_or(context, 0);
}

/* Names (names.c) ----------------------------------------------------*/

int nsx_load_strings(struct nsx_loader *l, struct nsx_err *err);
int nsx_merge_range_names(struct nsx_loader *l, struct nsx_err *err);
int nsx_rank_names(struct nsx_trace *t, unsigned threads, struct nsx_err *err);
/* A name cell: id or text; 0 when NULL, or dangling (counted). */
int nsx_find_name(struct nsx_part *p, const struct nsx_val *v, nsx_str *ret,
		  struct nsx_err *err) NSX_CHECKED;
/* The same; "id:<n>" when dangling. */
int nsx_read_name(struct nsx_part *p, const struct nsx_val *v, nsx_str *ret,
		  struct nsx_err *err) NSX_CHECKED;
/* The same of a thread, as nsx_thread_label() has it. */
int nsx_read_thread_name(struct nsx_part *p, const struct nsx_val *v,
			 nsx_str *ret, struct nsx_err *err) NSX_CHECKED;

/* The tables ----------------------------------------------------------------*/

/* Set up the column sets and describe the tables that fill them. */
enum {
	NSX_NGPU_TABLES = 4, NSX_NHOST_TABLES = 5,
	NSX_NLIBRARY_TABLES = 2 /* of MPI: collectives, messages */
#define NSX_LIBRARY(v, library, table, name, help) + 1
#include "schema/libraries.def"
#undef NSX_LIBRARY
};
void nsx_bind_gpu(struct nsx_loader *l, struct nsx_tableload *list);
void nsx_bind_host(struct nsx_loader *l, struct nsx_tableload *list);
void nsx_bind_libraries(struct nsx_loader *l, struct nsx_tableload *list);
/* Orders their rows and drops those that repeat a call. */
int nsx_order_libraries(struct nsx_loader *l, struct nsx_err *err);
int nsx_load_osrt(struct nsx_loader *l, struct nsx_err *err);

/* Stacks (sites.c): all of them first; then samples and the calls that have a
 * backtrace, which are tied to calls once these are indexed.
 */
int nsx_load_stacks(struct nsx_loader *l, struct nsx_err *err);
int nsx_load_samples(struct nsx_loader *l, struct nsx_err *err);
void nsx_count_backtrace(struct nsx_loader *l, const struct nsx_val *id);
int nsx_keep_backtrace(struct nsx_part *p, uint64_t process_key,
		       const struct nsx_val *corr, const struct nsx_val *id,
		       struct nsx_err *err);
int nsx_tie_backtraces(struct nsx_loader *l, struct nsx_err *err);
/* Takes the JSON of an NVTX mark, which may be no stack.  Thread-safe. */
int nsx_keep_python(struct nsx_loader *l, const struct nsx_val *json,
		    uint64_t global_tid, int64_t at_ns, struct nsx_err *err);
int nsx_publish_python(struct nsx_loader *l, struct nsx_err *err);
int nsx_publish_stacks(struct nsx_loader *l, struct nsx_err *err);
/* Stack of that id in its table, NSX_NONE: there is none. O(log n). */
uint32_t nsx_find_stack(const struct nsx_stacks *s, int64_t id);

/* Order (ids.c) and derivation (derive.c) ---------*/
int nsx_order_ids(struct nsx_loader *l, struct nsx_err *err);
/* Devices and streams (devices.c): GPUs; streams, which need processes;
 * a second op for the other device of a copy between two.
 */
void nsx_load_gpus(struct nsx_loader *l);
int nsx_order_streams(struct nsx_loader *l, struct nsx_err *err);
/* Which GPUs there are, after launch configurations are known: processes that show to
 * have GPUs of their own are told apart (apart.c), and each has a name.
 */
int nsx_settle_devices(struct nsx_loader *l, struct nsx_err *err);
int nsx_tell_gpus_apart(struct nsx_loader *l, struct nsx_err *err);
int nsx_place_devices(struct nsx_loader *l, struct nsx_err *err);
int nsx_add_peers(struct nsx_loader *l, struct nsx_err *err);
/* Rows in order, slices of threads, and calls as nsx_index_calls has them. */
int nsx_order_rows(struct nsx_loader *l, struct nsx_err *err);
int nsx_sort_ops(struct nsx_loader *l, struct nsx_err *err);
/* Classes of calls, their slices of threads, and the index that nsx_host_call reads. */
int nsx_index_calls(struct nsx_loader *l, struct nsx_err *err);
/* The hull of all, and the full window. */
void nsx_take_hull(struct nsx_trace *t, const struct nsx_window *gpu,
		   const struct nsx_window *host);
/* A window as typed; range: from the first start to the last end of the ranges that
 * it names, if it names some (nsx_window_range).  Errors: NSX_E_USAGE.
 */
int nsx_find_window(struct nsx_loader *l, const char *text,
		   const struct nsx_window *range, struct nsx_window *ret,
		   struct nsx_err *err);
int nsx_window_range(struct nsx_loader *l, const char *text, nsx_str *ret,
		     struct nsx_err *err);
/* The outermost call of the process with this correlation id (least start, then greatest
 * end, then first); where an id was used again the last that began by at_ns, else the
 * first. NSX_NONE if there is none.  One thread at a time: the index remembers where it
 * was, as the next is mostly near.
 */
uint32_t nsx_host_call(const struct nsx_loader *l, uint32_t process,
		       uint32_t corr, int64_t at_ns);
/* Clocks are judged by all operations of some calls, drawn by their ids, so that
 * rows need not be in order to tell which: about 2^20.
 */
static inline bool nsx_tells_clock(const struct nsx_loader *l, uint32_t corr)
{
	size_t share = (l->op_set.n >> 20) + 1;

	return corr && corr * UINT32_C(0x9e3779b9) <= UINT32_MAX / share;
}
/* Moves GPU times to the host's clock where they are proved not to be on it:
 * fills the trace's clocks and the schema's shifts (clock.c).
 */
int nsx_align_clocks(struct nsx_loader *l, struct nsx_err *err);
enum { NSX_PRESUMED_WRONG = 1 };
/* Leaves out, or cuts, records of GPU work that cannot be as they are stamped, and tells
 * the views of queries which (impossible.c).
 * Errors: NSX_PRESUMED_WRONG where only a part was read, and some are in it.
 */
int nsx_drop_impossible(struct nsx_loader *l, struct nsx_err *err);
/* Whether an operation has part in a window. */
static inline bool nsx_reaches(const struct nsx_window *w, int64_t start_ns,
			       int64_t end_ns)
{
	return start_ns < w->end_ns &&
	       (end_ns > w->start_ns || start_ns >= w->start_ns);
}
/* The hull, open ranges, the user's window; rows in order again.
 * Errors: NSX_E_USAGE; NSX_PRESUMED_WRONG where a part was read, but by a clock that
 * is off, or ranges cross: the trace is to be loaded again with all rows.
 */
int nsx_cut_window(struct nsx_loader *l, const char *window,
		   struct nsx_err *err);
int nsx_derive(struct nsx_loader *l, struct nsx_err *err);
/* Names NVTX domains from their creation rows, and tells libraries' apart. */
int nsx_name_domains(struct nsx_loader *l, struct nsx_err *err);

#endif
