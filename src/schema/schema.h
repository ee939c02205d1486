/* schema.h - what an export holds, in our words.
 *
 * fields.def is the dictionary; a probe finds which of its tables (views) and columns (fields) a
 * file has. Nothing else in the program uses the exporter's table or column names.
 */
#pragma once

#include <pthread.h>
#include "schema/cells.h"
#include "sqlite/db.h"

enum nsx_view {
#define NSX_VIEW(v, tables, help) NSX_VIEW_##v,
#define NSX_FIELD(v, f, columns, help)
#include "schema/fields.def"
#undef NSX_VIEW
#undef NSX_FIELD
	NSX_NVIEWS
};

enum nsx_field {
#define NSX_VIEW(v, tables, help)
#define NSX_FIELD(v, f, columns, help) NSX_F_##v##_##f,
#include "schema/fields.def"
#undef NSX_VIEW
#undef NSX_FIELD
	NSX_NFIELDS
};

/* The ids of a view's fields: NSX_FIELDS(kernel, start_ns, end_ns). */
#define NSX_FIELDS_1(v, f) NSX_F_##v##_##f
#define NSX_FIELDS_2(v, f, ...) NSX_F_##v##_##f, NSX_FIELDS_1(v, __VA_ARGS__)
#define NSX_FIELDS_3(v, f, ...) NSX_F_##v##_##f, NSX_FIELDS_2(v, __VA_ARGS__)
#define NSX_FIELDS_4(v, f, ...) NSX_F_##v##_##f, NSX_FIELDS_3(v, __VA_ARGS__)
#define NSX_FIELDS_5(v, f, ...) NSX_F_##v##_##f, NSX_FIELDS_4(v, __VA_ARGS__)
#define NSX_FIELDS_6(v, f, ...) NSX_F_##v##_##f, NSX_FIELDS_5(v, __VA_ARGS__)
#define NSX_FIELDS_7(v, f, ...) NSX_F_##v##_##f, NSX_FIELDS_6(v, __VA_ARGS__)
#define NSX_FIELDS_8(v, f, ...) NSX_F_##v##_##f, NSX_FIELDS_7(v, __VA_ARGS__)
#define NSX_FIELDS_9(v, f, ...) NSX_F_##v##_##f, NSX_FIELDS_8(v, __VA_ARGS__)
#define NSX_FIELDS_10(v, f, ...) NSX_F_##v##_##f, NSX_FIELDS_9(v, __VA_ARGS__)
#define NSX_FIELDS_11(v, f, ...) NSX_F_##v##_##f, NSX_FIELDS_10(v, __VA_ARGS__)
#define NSX_FIELDS_12(v, f, ...) NSX_F_##v##_##f, NSX_FIELDS_11(v, __VA_ARGS__)
#define NSX_FIELDS_N(a, b, c, d, e, f, g, h, i, j, k, l, n, ...) NSX_FIELDS_##n
#define NSX_FIELDS(v, ...)                                                    \
	NSX_FIELDS_N(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)   \
	(v, __VA_ARGS__)

/* Tables and columns as fields.def defines them. */
struct nsx_view_def {
	const char *name, *tables, *help;
	enum nsx_field first; /* its fields are consecutive */
};
struct nsx_field_def {
	enum nsx_view view;
	const char *name, *columns;
};
extern const struct nsx_view_def nsx_view_defs[NSX_NVIEWS];
extern const struct nsx_field_def nsx_field_defs[NSX_NFIELDS];

/* Libraries whose calls are in tables of their own. nsx_library_of: the library of each view. */
enum nsx_library {
	NSX_LIBRARY_NONE, NSX_LIBRARY_CUBLAS, NSX_LIBRARY_CUDNN,
	NSX_LIBRARY_MPI, NSX_LIBRARY_OPENACC, NSX_LIBRARY_OPENMP,
	NSX_LIBRARY_UCX, NSX_NLIBRARIES
};
extern const char *const nsx_library_names[NSX_NLIBRARIES]; /* "cuBLAS", ... */
extern const uint8_t nsx_library_of[NSX_NVIEWS];

/* The loader's corrections of GPU work, which the views of SQL scripts repeat. A shift is added to
 * the times of a process on a device. A row change drops or cuts a row with impossible times, which
 * is identified by its cells in the file.
 */
struct nsx_shift {
	uint64_t process_key;
	int64_t device_id, ns;
};
#define NSX_LEFT_OUT INT64_MIN /* the row is dropped */
struct nsx_row_change {
	enum nsx_view view;
	uint32_t corr; /* correlation id; 0: none                            */
	int64_t start_ns, end_ns, new_end_ns; /* new_end_ns may be NSX_LEFT_OUT */
};
/* A limit of times: from_ns to to_ns, if it is on. */
struct nsx_reach {
	bool is_on;
	int64_t from_ns, to_ns;
};
struct nsx_shifts {
	struct nsx_shift *v;
	size_t n;
	struct nsx_row_change *row; /* sorted by nsx_sort_changes            */
	size_t nrows;
	struct nsx_reach possible; /* rows of the host beyond it are left out */
	bool has_far; /* some were; set by any thread                         */
};
void nsx_sort_changes(struct nsx_row_change *v, size_t n);
/* The change of the row that `key` identifies; NULL: none. */
const struct nsx_row_change *nsx_find_change(const struct nsx_row_change *v, size_t n,
					     const struct nsx_row_change *key);

struct nsx_losses { /* what could not be read: see nsx_schema_lose */
	pthread_mutex_t lock;
	struct nsx_loss {
		char *text;
		const struct nsx_table_info *rows_of; /* the table that lost rows; NULL: other */
	} *v; /* sorted by text */
	size_t n, cap;
	bool is_of[NSX_NVIEWS]; /* whether the view's table lost rows */
	bool was_read[NSX_NVIEWS]; /* whether the view's table was read, so that damage is known */
};

/* Labels that exporters use for kinds of copies ("Host-to-Device" for NSX_COPY_HTOD) and of memory
 * ("Pinned" for NSX_MEM_PINNED).
 */
extern const char *const nsx_copy_labels[NSX_NCOPY_KINDS];
extern const char *const nsx_mem_labels[NSX_NMEM_KINDS];

/* The meaning of the numbers of kinds, by the labels in the file. A kind without a known label keeps
 * its number.
 */
struct nsx_own_kinds {
	bool any; /* the file numbers kinds in its own way */
	uint8_t of[256];
};

struct nsx_schema {
	struct nsx_db *db;
	const struct nsx_table_info *table[NSX_NVIEWS]; /* NULL: absent      */
	const char *column[NSX_NFIELDS]; /* column name in the file; NULL: absent */
	int64_t rows[NSX_NVIEWS]; /* set by the loader; -1: not counted; 0: empty or absent, because
				     lazy exports leave empty tables out     */
	const char *refused[NSX_NVIEWS]; /* "was not read: it is a view where a table should be";
					    NULL: nothing is left out        */
	const char *product_version, *schema_version; /* "" if not recorded  */
	const char *installed; /* folder of the nsys that captured; "": not recorded */
	/* The limit of scans: those of tables that are in order of time may skip rows beyond it. It
	 * is set by the loader, and only if the user said how far around the window rows matter.
	 */
	struct nsx_reach *reach;
	struct nsx_losses *losses; /* unreadable tables and rows               */
	bool on_windows; /* recorded on Windows                              */
	struct nsx_own_kinds copy_kinds; /* NSX_COPY_... by ENUM_CUDA_MEMCPY_OPER */
	struct nsx_own_kinds mem_kinds;	 /* NSX_MEM_... by ENUM_CUDA_MEM_KIND */
	struct nsx_shifts *shifts; /* empty until the trace is loaded        */
	struct nsx_arena *arena;
};

/* Opens a trace file: nsx_db_open or, for a report, nsx_report_read; then nsx_schema_probe. Owner:
 * the caller, nsx_schema_close.
 */
int nsx_schema_open(const char *path, struct nsx_schema *ret, struct nsx_err *err) NSX_CHECKED;
void nsx_schema_close(struct nsx_schema *s);

/* Notes that something could not be read, so that every answer says it is incomplete.
 * Thread-safe.
 */
void nsx_schema_lose(const struct nsx_schema *s, const char *what);
/* Notes that rows of a view's table could not be read; err is the reason. */
void nsx_schema_lose_rows(const struct nsx_schema *s, enum nsx_view v, const struct nsx_err *err);
bool nsx_has_lost_rows(const struct nsx_schema *s, enum nsx_view v);
/* The i-th loss: the warning of nsx_db_warning first, then sorted by text; NULL at the end. Its
 * address does not change.
 */
const char *nsx_schema_loss(const struct nsx_schema *s, size_t i);

/* Whether a cell is a time that a host's row can have. */
static inline bool nsx_is_possible(struct nsx_shifts *s, const struct nsx_val *v)
{
	const struct nsx_reach *p = &s->possible;
	bool is_far = nsx_is_instant(v) && p->is_on && (v->u.i < p->from_ns || v->u.i > p->to_ns);

	if (is_far)
		__atomic_store_n(&s->has_far, true, __ATOMIC_RELAXED);
	return nsx_is_instant(v) && !is_far;
}
static inline bool nsx_is_span(struct nsx_shifts *s, const struct nsx_val *start,
			       const struct nsx_val *end)
{
	return nsx_is_possible(s, start) && nsx_is_possible(s, end) && end->u.i >= start->u.i;
}

/* Finds the views and fields of fields.def in db. Errors: NSX_E_SCHEMA when the database is not
 * an nsys export, saying what it is. Owner: the caller, nsx_schema_done; borrows db.
 */
int nsx_schema_probe(struct nsx_db *db, struct nsx_schema *ret, struct nsx_err *err);
void nsx_schema_done(struct nsx_schema *s);

unsigned nsx_view_nfields(enum nsx_view v);
/* The number of rows of a table. Negative: the error that prevents counting (enum nsx_rc). */
int64_t nsx_count_rows(struct nsx_db *db, const char *table);
/* Whether a table has rows: 0 if it is empty; negative if it has rows, is damaged, or is of a
 * report, whose tables are listed only with rows.
 */
int64_t nsx_probe_rows(struct nsx_db *db, const char *table);
/* A size for arrays indexed by row id, which few ids exceed: the greatest id if ids are dense,
 * which needs no scan, else the number of rows. Negative: an enum nsx_rc.
 */
int64_t nsx_bound_ids(struct nsx_db *db, const char *table);

static inline bool nsx_has_view(const struct nsx_schema *s, enum nsx_view v)
{
	return s->rows[v] != 0;
}
static inline bool nsx_has(const struct nsx_schema *s, enum nsx_field f)
{
	return s->column[f] != NULL;
}

/* Appends the statement that creates the TEMP view v with all columns, or with those marked
 * in fields (by enum nsx_field).
 */
void nsx_schema_view_sql(const struct nsx_schema *s, enum nsx_view v,
			 const bool *fields, struct nsx_buf *b);

/* A field's name for messages about what is missing: "CUPTI_ACTIVITY_KIND_KERNEL.globalPid". */
const char *nsx_field_exporter_name(enum nsx_field f, struct nsx_arena *a);
