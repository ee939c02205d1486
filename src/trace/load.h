/* load.h - shared by the files that fill a trace.
 *
 * Loading has four steps. First, strings and small tables. Second, the scans: the parts of all
 * tables are read on all threads into preallocated columns with provisional ids. Third, order: ids
 * are renumbered so that no result depends on thread timing, and rows are sorted. Last, what is
 * derived (calls of operations, classes, nesting).
 */
#pragma once

#include <pthread.h>
#include "base/group.h"
#include "base/keymap.h"
#include "base/par.h"
#include "schema/cells.h"
#include "sqlite/scan.h"
#include "trace/trace.h"

/* A set of columns of equal length ---------------------------------------------- */

struct nsx_colset {
	const char *what; /* name of the column set, for messages */
	struct {
		void **at; /* points to the column's pointer; NULL: end of the list */
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
/* Stable sort by cmp. Rows are first listed group by group; group returns an index below ngroups,
 * in the order of cmp; NULL: one group. Ascending runs of rows are then merged. That is linear if
 * the rows of each group are in time order, as in most tables.
 */
typedef int (*nsx_row_cmp)(const void *ctx, uint32_t a, uint32_t b);
typedef uint32_t (*nsx_row_group)(const void *ctx, uint32_t row);
int nsx_colset_sort(struct nsx_colset *c, nsx_row_group group, size_t ngroups,
		    nsx_row_cmp cmp, const void *ctx, struct nsx_err *err) NSX_CHECKED;
/* Like NSX_ORDER, for rows whose columns are a member `rows` of the loader. A key is a column; NAME
 * takes a column of strings, OF a function of the row. NSX_THREAD_ORDER compares the column
 * `thread` before the keys, and NSX_SORT_BY_THREAD sorts rows in such an order.
 */
#define NSX_ROW_UP(m) NSX_CMP(r_->m[a_], r_->m[b_])
#define NSX_ROW_DOWN(m) NSX_CMP(r_->m[b_], r_->m[a_])
#define NSX_ROW_NAME(m) nsx_str_cmp(l_->strings, r_->m[a_], r_->m[b_])
#define NSX_ROW_OF(f) NSX_CMP(f(l_, a_), f(l_, b_))
#define NSX_ROW_BY(f) f(l_, a_, b_)
#define NSX_ROW_ORDER(name, rows, ...)                                        \
	static int name(const void *ctx_, uint32_t a_, uint32_t b_)           \
	{                                                                     \
		const struct nsx_loader *l_ = ctx_;                           \
		const __typeof__(l_->rows) *r_ = &l_->rows;                   \
                                                                              \
		return NSX_KEYS(NSX_ROW_, __VA_ARGS__);                       \
	}                                                                     \
	_Static_assert(sizeof(nsx_row_cmp), "an order of rows")
#define NSX_THREAD_ORDER(name, rows, ...)                                     \
	static uint32_t name##_thread(const void *loader, uint32_t i)         \
	{                                                                     \
		return ((const struct nsx_loader *)loader)->rows.thread[i];   \
	}                                                                     \
	NSX_ROW_ORDER(name, rows, UP(thread), __VA_ARGS__)
#define NSX_SORT_BY_THREAD(l, set, name, err)                                 \
	nsx_colset_sort(set, name##_thread, (l)->t->nthreads, name, l, err)

/* The loader --------------------------------------------------------------*/

struct nsx_sparse_id {
	int64_t id;
	nsx_str str;
};

struct nsx_ordinal { /* TARGET_INFO_CUDA_DEVICE: (pid, ordinal) -> GPU */
	int64_t pid, device_id, gpu_id, sm_count;
	nsx_str uuid;
};

struct nsx_created { /* the row that created an NVTX domain */
	uint64_t process_key;
	int64_t domain_id;
	nsx_str name;
};

/* The calls of one process that carry a correlation id, ordered by (id, start). An array indexed
 * by id would be larger: real programs use eight to twelve ids per recorded call.
 */
struct nsx_call_index {
	uint32_t *calls; /* calls with an id; of nested calls with one id, only the outermost */
	size_t n, at;	/* at: where nsx_host_call found the last call       */
	uint32_t calls_at; /* first call of the process                      */
	uint32_t least; /* smallest id of all calls, read or not; 0: none    */
};

/* The recorded stacks of one table, ordered by id. */
struct nsx_stacks {
	size_t n;
	int64_t *id;
	uint32_t *stack; /* indices of trace stacks                          */
};
struct nsx_backtrace { /* stack of the call with this correlation id         */
	uint64_t process_key;
	int64_t id; /* the stack's id in the file                            */
	uint32_t corr, call, stack; /* call and stack are set once all rows are read */
};

/* The part of the file that is read for the user's window (survey.c). */
struct nsx_portion {
	bool is_on;
	/* user: the window as requested; gpu, host: hulls of all GPU work and host events; early:
	 * hull of host events before 0
	 */
	struct nsx_window user, gpu, host, early;
	struct nsx_window read; /* rows that overlap it are read */
	/* One in clock_share calls is also read, with its operations, in runs of 2^NSX_CLOCK_RUN
	 * ids.
	 */
	uint32_t clock_share;
	/* Ids of calls that are also read, wherever they are: those of the window's operations;
	 * ascending.
	 */
	uint32_t *corr;
	/* Rows that overlap one of these times are also read: starts of such calls, and of ranges
	 * outside `read`; ascending.
	 */
	int64_t *at_ns;
	size_t ncorr, nat, cap_at;
	int64_t first_call_ns; /* earliest start of a call                   */
	size_t nopen; /* number of ranges that were never closed             */
};
/* Number of events that begin in each bin of 2^shift ns. Bin 0 begins at 0 ns. Bins first to last
 * are in use; bin i is n[i modulo its size].
 */
struct nsx_bins {
	unsigned shift;
	int64_t first, last;
	uint32_t n[1 << 12];
};
struct nsx_surveyed { /* what the survey found in the rows of one part of a table */
	/* hull: of all rows; early: of host events before 0; ranges: of ranges with the name of
	 * the window.
	 */
	struct nsx_window hull, early, ranges;
	int64_t first_ns;
	size_t nevents, nopen, cap_least;
	/* The smallest correlation id of each caller, by its id in callers_map; 0: none. */
	uint32_t *least_corr;
	struct nsx_bins bins;
};

enum { NSX_CLOCK_RUN = 12 /* a run has 2^12 correlation ids */ };

struct nsx_loader {
	struct nsx_trace *t;
	struct nsx_strings *strings; /* strings of the trace, while they are being added */
	const struct nsx_schema *schema;
	unsigned threads;
	struct nsx_progress *progress;

	struct nsx_keymap threads_map; /* {global tid}                       */
	struct nsx_keymap streams_map; /* {process key, device ordinal, context, stream, 1 if the
					  ordinal is unknown}                */
	struct nsx_keymap domains_map; /* {process key, domain id}           */
	struct nsx_keymap shapes_map;  /* shapes without names and grid x: gpu.c */
	struct nsx_groups shapes;      /* {name, base name}, {grid x, id in shapes_map}; guarded
					  by lock                            */
	struct nsx_keymap replays_map; /* {graph, exec}                      */
	struct nsx_keymap osrt_map;    /* {global tid, name}                 */

	nsx_str *by_id; /* one for each StringIds id, for dense ids */
	size_t nby_id;
	uint64_t *named_by; /* for each process: the thread whose name it took; 0: none */
	struct nsx_sparse_id *sparse; /* StringIds whose ids are not dense, sorted */
	size_t nsparse, cap_sparse;

	struct nsx_call_index *index; /* one for each process */
	struct nsx_arena *index_arena;

	struct nsx_ordinal *ordinals;
	size_t nordinals, cap_ordinals;

	const struct nsx_load_opts *opts;
	struct nsx_portion portion;
	struct nsx_keymap callers_map; /* from all rows: {global tid, API name}, and {global tid,
					  kind, 1} for ranges */
	/* The smallest correlation id of each caller, by its id in callers_map; 0: none. */
	uint32_t *least_corr;
	nsx_str window_range; /* the range whose extent is the window; 0: none */
	struct nsx_window window_hull; /* span of all ranges named window_range */

	pthread_mutex_t lock; /* guards the members that follow, up to the columns */
	struct nsx_stream_types { /* TARGET_INFO_CUDA_STREAM, while it is being read */
		struct nsx_groups streams, contexts;
		uint8_t *type;
		uint32_t *sm_count; /* one for each context, from TARGET_INFO_CUDA_CONTEXT_INFO */
	} stream_types;
	struct nsx_created *created;
	size_t ncreated, cap_created;
	char **raw;	      /* smallest raw text of each normalised name   */
	size_t nraw;
	const char **warnings;
	size_t nwarnings, cap_warnings;

	/* Columns as read, which are packed when the trace gets them. Overheads, waits and event
	 * records are read into columns of the trace itself; until rows are ordered, the processes
	 * and streams of waits and records are ids of the keymaps, and their calls are correlation
	 * ids.
	 */
	struct nsx_ops_rw {
		int64_t *start_ns, *end_ns;
		uint32_t *call, *stream, *detail;
		uint8_t *kind, *cls, *flags;
	} ops; /* call is the correlation id until it is resolved            */
	/* For each device: its first operation after the user's window; corr 0: none, or without
	 * id.
	 */
	struct nsx_next_work {
		uint32_t process, corr;
	} *next; /* NULL: the user gave no window                            */
	struct nsx_copy *copies; /* copies of memcpy and memset rows, in load order */
	struct nsx_calls_rw {
		int64_t *start_ns, *end_ns;
		nsx_str *name;
		uint32_t *thread, *corr, *op; /* op: set when calls are matched */
		uint8_t *cls, *flags;
	} calls;
	struct nsx_nvtx_rw {
		int64_t *start_ns, *end_ns;
		nsx_str *name;
		uint32_t *thread, *domain;
		uint8_t *kind, *flags;
	} nvtx;
	int64_t most_ranks; /* ranks of the largest MPI communicator */
	int64_t *subset; /* MPI communicators in which ranks have other numbers, ascending */
	size_t nsubsets, cap_subsets;
	struct nsx_library_rw {
		int64_t *start_ns, *end_ns, *comm, *bytes;
		uint32_t *thread;
		nsx_str *name;
		int32_t *peer, *second_peer, *tag;
		uint8_t *library, *is_coll;
	} library;
	struct nsx_keymap frames_map; /* {function, module, origin}            */
	struct nsx_groups stacks;     /* (innermost frame, site)             */
	struct nsx_stacks sample_stacks, cuda_stacks, osrt_stacks;
	struct nsx_samples_rw {
		int64_t *start_ns;
		uint64_t *global_tid;
		uint32_t *stack;
	} samples;
	/* Guarded by lock. site holds a name until all stacks are read. */
	struct nsx_python_stack *python;
	size_t npython, cap_python;
	struct nsx_groups python_texts; /* {hash of the JSON, its length}    */
	struct nsx_python_stack *python_known; /* by text: its site and text */
	struct nsx_backtrace *backtraces; /* guarded by lock                 */
	size_t nbacktraces, cap_backtraces, nfrom_zero;
	int64_t most_backtrace; /* greatest stack id that a call refers to. It and nfrom_zero, the
				   number of references to id 0, cover all rows */
	struct nsx_colset op_set, copy_set, call_set, nvtx_set, overhead_set,
		sync_set, record_set, library_set;
};

/* Adds a warning to the report. Thread-safe. */
void nsx_load_warn(struct nsx_loader *l, const char *fmt, ...) NSX_PRINTF(2, 3);

/* Scanning ---------------------------------------------------------------*/

/* One part of one table, which writes rows [at, at + room) of its columns. */
struct nsx_part {
	struct nsx_loader *l;
	struct nsx_tableload *table;
	unsigned index; /* index of the part in the scan */
	size_t at, room, n; /* n: rows kept so far; the next goes to at + n */
	struct nsx_defects defects;
	struct nsx_keycache *cache[3];
	struct nsx_late_keys *shapes;
	void *own; /* this part's element of table->own */
	struct nsx_choice choice;
};
/* The time that a row spans: [MIN, MAX] if its cells are no times, [MAX, MIN] if the row is not
 * part of the trace. An open range ends at MAX.
 */
struct nsx_extent {
	int64_t start_ns, end_ns;
	bool is_event; /* the row is valid and kept */
};
struct nsx_zone { /* a block of a table */
	int64_t least_ns, most_ns; /* hull of its rows' extents              */
	uint32_t least_corr, most_corr, rows;
};
enum nsx_hull { NSX_HULL_NONE, NSX_HULL_GPU, NSX_HULL_HOST };
struct nsx_tableload {
	enum nsx_view view;
	const enum nsx_field *fields;
	unsigned nfields;
	struct nsx_colset *set, *beside; /* beside: second set with the same rows */
	void *own; /* an element of own_size for each thread of the loader, one per part, for
		      tables that are summed up instead of kept            */
	size_t own_size;
	/* Keeps one row (p->n++, returns 0) or counts a defect. */
	int (*row)(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err);
	/* the member `again` of nsx_scan_share */
	bool (*again)(void *part, int64_t first, int64_t id);
	/* The time of a row. Set for tables that may be read in part; NULL: always read whole. */
	struct nsx_extent (*extent)(const struct nsx_val *v);
	unsigned corr; /* field of the correlation id; 0: none               */
	enum nsx_hull hull; /* the hull its rows extend                      */
	uint32_t survey_fields; /* bit i: the survey reads fields[i] */
	/* Called by the survey for every row, to note facts that are needed even from rows that
	 * are not read. May be NULL.
	 */
	int (*note)(struct nsx_part *p, const struct nsx_val *v,
		    const struct nsx_extent *x, struct nsx_err *err);
	bool is_survey;
	struct nsx_zone *zones; /* one for each block, filled by the survey; or NULL */
	size_t nzones;
	/* The following is filled while loading. */
	struct nsx_scan *scan;
	struct nsx_part *parts;
	unsigned nparts;
};

#define NSX_TABLE(v, columns, fn, ...)                                        \
	{.view = NSX_VIEW_##v, .fields = columns,                             \
	 .nfields = ARRAY_LEN(columns), .row = fn, __VA_ARGS__}

#define NSX_BIT(i) (UINT32_C(1) << (i))

/* Finds where the rows of a file lie in time, so that most rows far from the window need not be
 * read. Sets the portion, and fills the zones of tables that may be read in part. Rows may be in
 * any order.
 * Errors: also NSX_E_USAGE, for the window.
 */
int nsx_survey(struct nsx_loader *l, struct nsx_tableload *list, size_t n,
	       const char *window, struct nsx_err *err);
void nsx_survey_done(struct nsx_tableload *list, size_t n);
/* Whether a block or a row belongs to the portion that is read: it overlaps the portion in time, or
 * one of its correlation ids is wanted or in the clock sample.
 */
bool nsx_wants_block(void *part, size_t block);
bool nsx_wants_row(const struct nsx_part *p, const struct nsx_val *v);
/* Reads the thread (interned in threads_map) and the name of a call. */
int nsx_read_caller(struct nsx_part *p, const struct nsx_val *v,
		    uint32_t *thread, nsx_str *name, struct nsx_err *err);
/* Three steps extend the portion that is read.
 *
 * nsx_want_calls, after operations are read, adds the calls that launched the window's operations
 * and the first work after it.
 *
 * nsx_want_neighbours, after calls are read, adds the start times of calls outside. If a launching
 * thread has no call on one side of the window, its last launch before the window and its first
 * launch after it are added, too. *ret: calls must be read again.
 *
 * nsx_want_crossing, after ranges are read, adds the start times of ranges outside, because ranges
 * open then may cross them. *ret: ranges must be read again.
 */
int nsx_want_calls(struct nsx_loader *l, struct nsx_err *err);
int nsx_want_neighbours(struct nsx_loader *l, const struct nsx_tableload *calls,
			bool *ret, struct nsx_err *err);
int nsx_want_crossing(struct nsx_loader *l, const struct nsx_tableload *ranges,
		      bool *ret, struct nsx_err *err);
/* Drops the calls and waits that were read only to judge clocks. Before that, notes for each thread
 * whether it has calls, launches and ranges in the whole trace.
 */
int nsx_drop_sample(struct nsx_loader *l, struct nsx_err *err);
/* The extent of a row whose first two cells are start and end. */
struct nsx_extent nsx_extent_of(const struct nsx_val *v);

/* Reads the listed tables, with all their parts in parallel. Tables that share a column set must be
 * adjacent in the list. Of a damaged table, rows up to the damage are kept, with a warning. stage:
 * name of this step in progress messages.
 */
int nsx_load_tables(struct nsx_loader *l, struct nsx_tableload *list,
		    size_t n, const char *stage, struct nsx_err *err);

/* Passes every row of a small table to fn. Damage only gives a warning. */
void nsx_load_rows(struct nsx_loader *l, enum nsx_view view, const enum nsx_field *fields,
		   unsigned n, void (*fn)(struct nsx_loader *l, const struct nsx_val *v));
/* NSX_LOAD_EACH(l, thread_name, name_thread, global_tid, name) */
#define NSX_LOAD_EACH(l, v, fn, ...)                                          \
	nsx_load_rows(l, NSX_VIEW_##v, (const enum nsx_field[]){NSX_FIELDS(v, __VA_ARGS__)}, \
		      ARRAY_LEN(((const enum nsx_field[]){NSX_FIELDS(v, __VA_ARGS__)})), fn)

/* Cells -------------------------------------------------------------------*/

/* Interns a text. 0: the cell is empty or no text. */
nsx_str nsx_read_text(struct nsx_loader *l, const struct nsx_val *v);
/* Read a time or a span. False: the row is defective, and is counted. */
bool nsx_read_instant(struct nsx_part *p, const struct nsx_val *v, int64_t *ret);
bool nsx_read_span(struct nsx_part *p, const struct nsx_val *start,
		   const struct nsx_val *end, int64_t *ret_start, int64_t *ret_end);
static const struct nsx_val nsx_no_cell = {.type = NSX_V_NULL};
/* The thread of a row as a global id; interns it in threads_map. */
uint64_t nsx_read_thread_key(const struct nsx_val *global_tid, const struct nsx_val *pid,
			     const struct nsx_val *tid);
int nsx_read_thread(struct nsx_part *p, const struct nsx_val *global_tid,
		    const struct nsx_val *pid, const struct nsx_val *tid,
		    uint32_t *ret, struct nsx_err *err) NSX_CHECKED;

/* Flag in the context of a stream's key: a green context, which owns some of the multiprocessors.
 * Its streams do not belong to the context from which it was made.
 */
#define NSX_GREEN (UINT64_C(1) << 62)
static inline uint64_t nsx_read_context(const struct nsx_val *context, const struct nsx_val *green)
{
	return nsx_i64_or(green, 0) > 0 ? (uint64_t)green->u.i | NSX_GREEN :
					  (uint64_t)nsx_i64_or(context, 0);
}

/* Names (names.c) ----------------------------------------------------*/

int nsx_load_strings(struct nsx_loader *l, struct nsx_err *err);
/* Gives ranges of one name in several domains names with their domain, as nsys stats does: "LIB:A".
 * Those of the default domain and of libraries keep theirs.
 */
int nsx_tell_domains_apart(struct nsx_loader *l, struct nsx_err *err);
int nsx_merge_range_names(struct nsx_loader *l, struct nsx_err *err);
int nsx_rank_names(struct nsx_trace *t, unsigned threads, struct nsx_err *err);
/* Interns the text of a name cell (id or text); 0 if NULL or if the id is not in StringIds, which
 * is counted.
 */
int nsx_find_name(struct nsx_part *p, const struct nsx_val *v, nsx_str *ret,
		  struct nsx_err *err) NSX_CHECKED;
/* Like nsx_find_name, but an id that is not in StringIds becomes the name "id:<n>". */
int nsx_read_name(struct nsx_part *p, const struct nsx_val *v, nsx_str *ret,
		  struct nsx_err *err) NSX_CHECKED;
/* Interns a thread's name as nsx_thread_label() shows it; 0: none. */
nsx_str nsx_read_thread_name(struct nsx_loader *l, const struct nsx_val *v);

/* The tables ----------------------------------------------------------------*/

/* These set up the column sets and describe the tables that fill them. */
enum {
	NSX_NGPU_TABLES = 4, NSX_NHOST_TABLES = 5,
	NSX_NLIBRARY_TABLES = 3 /* MPI collectives, messages and waits */
#define NSX_LIBRARY(v, library, table, name, help) + 1
#include "schema/libraries.def"
#undef NSX_LIBRARY
};
void nsx_bind_gpu(struct nsx_loader *l, struct nsx_tableload *list);
void nsx_bind_host(struct nsx_loader *l, struct nsx_tableload *list);
void nsx_bind_libraries(struct nsx_loader *l, struct nsx_tableload *list);
/* Orders the rows and drops repeated rows of one call. */
int nsx_order_libraries(struct nsx_loader *l, struct nsx_err *err);
int nsx_load_osrt(struct nsx_loader *l, struct nsx_err *err);

/* Stacks (sites.c): first all stacks, then samples and backtraces. Backtraces are tied to calls
 * once calls are indexed.
 */
int nsx_load_stacks(struct nsx_loader *l, struct nsx_err *err);
int nsx_load_samples(struct nsx_loader *l, struct nsx_err *err);
void nsx_count_backtrace(struct nsx_loader *l, const struct nsx_val *id);
int nsx_keep_backtrace(struct nsx_part *p, uint64_t process_key,
		       const struct nsx_val *corr, const struct nsx_val *id, struct nsx_err *err);
int nsx_tie_backtraces(struct nsx_loader *l, struct nsx_err *err);
/* Takes over the JSON of an NVTX mark, which may or may not be a stack. Thread-safe. */
int nsx_keep_python(struct nsx_loader *l, const struct nsx_val *json,
		    uint64_t global_tid, int64_t at_ns, struct nsx_err *err);
int nsx_publish_python(struct nsx_loader *l, struct nsx_err *err);
int nsx_publish_stacks(struct nsx_loader *l, struct nsx_err *err);
/* The stack with an id in its table; NSX_NONE: none. O(log n). */
uint32_t nsx_find_stack(const struct nsx_stacks *s, int64_t id);

/* Order (ids.c) and derivation (derive.c) ---------*/
int nsx_order_ids(struct nsx_loader *l, struct nsx_err *err);
/* Devices and streams (devices.c): GPUs; streams, which need processes; and a second entry for the
 * other device of a peer copy.
 */
void nsx_load_gpus(struct nsx_loader *l);
int nsx_order_streams(struct nsx_loader *l, struct nsx_err *err);
/* Gives each GPU its properties and a label. */
void nsx_settle_devices(struct nsx_loader *l);
int nsx_add_peers(struct nsx_loader *l, struct nsx_err *err);
/* Orders rows, sets the slices of threads, and indexes calls (nsx_index_calls). */
int nsx_order_rows(struct nsx_loader *l, struct nsx_err *err);
int nsx_sort_ops(struct nsx_loader *l, struct nsx_err *err);
/* Sets classes and thread slices of calls, and the index that nsx_host_call reads. */
int nsx_index_calls(struct nsx_loader *l, struct nsx_err *err);
/* Sets the full window, session_start_ns, has_gpu_work, first_ns and last_ns from the hulls of GPU
 * work, of host events, and of host events before 0.
 */
void nsx_set_hull(struct nsx_trace *t, const struct nsx_window *gpu,
		  const struct nsx_window *host, const struct nsx_window *early);
/* Parses a window. range: the extent of the ranges that the text names, if any (nsx_window_range).
 * Errors: NSX_E_USAGE.
 */
int nsx_find_window(struct nsx_loader *l, const char *text,
		   const struct nsx_window *range, struct nsx_window *ret, struct nsx_err *err);
int nsx_window_range(struct nsx_loader *l, const char *text, nsx_str *ret, struct nsx_err *err);
/* The outermost call of the process with this correlation id: the one that starts first, among
 * equals the longest. If the id was reused, it is the last call that began by at_ns, otherwise the
 * first. NSX_NONE: none. *at: where the previous search ended; the next call is mostly near.
 */
uint32_t nsx_find_call(const struct nsx_loader *l, uint32_t process,
		       uint32_t corr, int64_t at_ns, size_t *at);
/* Like nsx_find_call. Not thread-safe, because the index remembers the position. */
static inline uint32_t nsx_host_call(const struct nsx_loader *l, uint32_t process,
				     uint32_t corr, int64_t at_ns)
{
	return nsx_find_call(l, process, corr, at_ns, &l->index[process].at);
}
/* Whether the calls with this correlation id are used to judge clocks. About 2^20 calls are. They
 * are chosen by id, so that the choice does not depend on the order of rows.
 */
static inline bool nsx_is_clock_sample(const struct nsx_loader *l, uint32_t corr)
{
	size_t share = (l->op_set.n >> 20) + 1;

	return corr && corr * UINT32_C(0x9e3779b9) <= UINT32_MAX / share;
}
/* Moves GPU times to the host's clock where they are proved to be off: fills the trace's clocks
 * and the schema's shifts (clock.c).
 */
int nsx_align_clocks(struct nsx_loader *l, struct nsx_err *err);
/* Finds which times are possible for rows of the host, and drops those with other times: they begin
 * or end a day from all GPU work, or far behind the session's end (far.c). Nothing refers to rows
 * yet. Rows that are read later are judged by nsx_read_instant.
 * Errors: NSX_PRESUMED_WRONG if only a part was read and may contain such rows.
 */
int nsx_drop_far_rows(struct nsx_loader *l, struct nsx_err *err);
void nsx_count_far(struct nsx_trace *t, enum nsx_view v, size_t n, nsx_str name, int64_t at_ns);
enum { NSX_PRESUMED_WRONG = 1 };
/* Drops or shortens GPU records with impossible times, and lists them in the schema's shifts for
 * the views of queries (impossible.c).
 * Errors: NSX_PRESUMED_WRONG if only a part was read and contains such records.
 */
int nsx_drop_impossible(struct nsx_loader *l, struct nsx_err *err);
/* Whether an operation overlaps a window. */
static inline bool nsx_reaches(const struct nsx_window *w, int64_t start_ns, int64_t end_ns)
{
	return start_ns < w->end_ns && (end_ns > w->start_ns || start_ns >= w->start_ns);
}
/* Sets the hull, the ends of open ranges and the user's window; restores the order of rows.
 * Errors: NSX_E_USAGE; NSX_PRESUMED_WRONG if only a part was read but a clock is off or ranges
 * cross: the trace must be loaded again with all rows.
 */
int nsx_cut_window(struct nsx_loader *l, const char *window, struct nsx_err *err);
int nsx_derive(struct nsx_loader *l, struct nsx_err *err);
/* Names NVTX domains from their creation rows, and marks those of libraries. */
void nsx_name_domains(struct nsx_loader *l);
