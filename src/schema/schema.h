/* schema.h - what an export holds, in our words.
 *
 * fields.def is the dictionary; a probe finds which of its tables (views) and
 * columns (fields) this file has.  Nothing else in the program spells an
 * exporter's table or column name.
 */
#ifndef NSX_SCHEMA_H
#define NSX_SCHEMA_H

#include <pthread.h>
#include "schema/codes.h"
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

/* Fields of a view, by their names: NSX_FIELDS(kernel, start_ns, end_ns). */
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

/* The dictionary itself. */
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

/* Libraries whose calls have tables of their own, and whose a view's rows are. */
enum nsx_library {
	NSX_LIBRARY_NONE, NSX_LIBRARY_CUBLAS, NSX_LIBRARY_CUDNN,
	NSX_LIBRARY_MPI, NSX_LIBRARY_OPENACC, NSX_LIBRARY_OPENMP,
	NSX_LIBRARY_UCX, NSX_NLIBRARIES
};
extern const char *const nsx_library_names[NSX_NLIBRARIES]; /* "cuBLAS", ... */
extern const uint8_t nsx_library_of[NSX_NVIEWS];

/* What the loader, and so the views of a query's script, take GPU work for: what is
 * added to the times of a process on a device, and rows that cannot be as they are
 * stamped, by their cells in the file.
 */
struct nsx_shift {
	uint64_t process_key;
	int64_t device_id, ns;
};
#define NSX_LEFT_OUT INT64_MIN
struct nsx_row_change {
	enum nsx_view view;
	uint32_t corr; /* 0: none                                            */
	int64_t start_ns, end_ns, new_end_ns; /* the last: or NSX_LEFT_OUT   */
};
struct nsx_shifts {
	struct nsx_shift *v;
	size_t n;
	struct nsx_row_change *row; /* in order of view                      */
	size_t nrows;
};

/* What scans of tables that grow in time may leave out: rows far from [from, to),
 * where the user said how far from a window what matters begins.
 */
struct nsx_reach {
	bool is_on;
	int64_t from_ns, to_ns;
};

struct nsx_losses { /* nsx_schema_lose */
	pthread_mutex_t lock;
	char **v; /* in order of text */
	size_t n, cap;
	bool is_of[NSX_NVIEWS];
};

/* "Host-to-Device" for NSX_COPY_HTOD, as exporters label the kinds. */
extern const char *const nsx_copy_labels[NSX_NCOPY_KINDS];

struct nsx_schema {
	struct nsx_db *db;
	const struct nsx_table_info *table[NSX_NVIEWS]; /* NULL: absent      */
	const char *column[NSX_NFIELDS]; /* the file's name; NULL: absent    */
	int64_t rows[NSX_NVIEWS]; /* 0: absent or empty (the same thing: lazy
				     exports leave empty tables out); -1: has
				     rows, not counted; set by the loader    */
	const char *refused[NSX_NVIEWS]; /* why a table is not read: "it is a
					    view where a table should be"    */
	const char *product_version, *schema_version; /* "" if not recorded  */
	struct nsx_reach *reach; /* set by the loader                          */
	struct nsx_losses *losses; /* what could not be read                   */
	bool on_windows; /* it was recorded there                            */
	bool has_own_kinds; /* copy_kind translates                          */
	uint8_t copy_kind[256]; /* of the file's copyKind: NSX_COPY_..., by the
				   labels of its ENUM_CUDA_MEMCPY_OPER       */
	struct nsx_shifts *shifts; /* empty until a trace is loaded          */
	struct nsx_arena *arena;
};

/* Opens a trace's file: nsx_db_open, then nsx_schema_probe. Owner: the caller,
 * nsx_schema_close.
 */
int nsx_schema_open(const char *path, struct nsx_schema *ret,
		    struct nsx_err *err) NSX_CHECKED;
void nsx_schema_close(struct nsx_schema *s);

/* What could not be read is noted here, whoever meets it: every answer is then of a
 * part, and says so.  Of any thread.
 */
void nsx_schema_lose(const struct nsx_schema *s, const char *what);
/* Of a view's table, for err. */
void nsx_schema_lose_rows(const struct nsx_schema *s, enum nsx_view v,
			  const struct nsx_err *err);
bool nsx_has_lost_rows(const struct nsx_schema *s, enum nsx_view v);
/* The i-th: of the file itself first (nsx_db_warning), then in order of text; NULL:
 * there are not so many.  It stays where it is.
 */
const char *nsx_schema_loss(const struct nsx_schema *s, size_t i);

/* Probes db and creates the TEMP views of fields.def. Errors: NSX_E_SCHEMA when
 * the database is not an nsys export, saying what it is. Owner: the caller,
 * nsx_schema_done; borrows db.
 */
int nsx_schema_probe(struct nsx_db *db, struct nsx_schema *ret,
		     struct nsx_err *err);
void nsx_schema_done(struct nsx_schema *s);

unsigned nsx_view_nfields(enum nsx_view v);
/* Negative: why they cannot be counted, an enum nsx_rc. */
int64_t nsx_count_rows(struct nsx_db *db, const char *table);
/* For an array by id, of which few are greater: where row ids count up the greatest, which
 * costs no scan, else the number of rows.  Negative: as above.
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

/* Appends the statement that creates the TEMP view v: with all its columns, or
 * with those marked in fields (by enum nsx_field).
 */
void nsx_schema_view_sql(const struct nsx_schema *s, enum nsx_view v,
			 const bool *fields, struct nsx_buf *b);

/* "CUPTI_ACTIVITY_KIND_KERNEL.globalPid": for "what is missing" messages. */
const char *nsx_field_exporter_name(enum nsx_field f, struct nsx_arena *a);

#endif
