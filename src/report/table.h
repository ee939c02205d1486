/* table.h - typed tables between analysis and output.
 *
 * Passes fill tables; emitters print them. A column's key is its name in JSON, CSV and
 * Markdown; the key's suffix is the unit (_ns, _us, _ms, _s, _pct, pct_..., _bytes). A cell
 * is null or has its column's type; but a process or a GPU that its number alone does not name
 * has a text, such as "0 (host 2)", in a column of numbers.
 */
#pragma once

#include <math.h>
#include "base/str.h"

enum nsx_type {
	NSX_T_NULL,
	NSX_T_I64,
	NSX_T_F64,
	NSX_T_STR,
	NSX_T_BOOL,
	NSX_T_LIST,  /* NULL-terminated array of strings: JSON only          */
	NSX_T_TABLE, /* rows of another table: JSON only                     */
	NSX_T_ID,    /* a string id in a packed row                          */
} __attribute__((packed));

/* Whether every format can show the value in a cell. */
static inline bool nsx_is_scalar(enum nsx_type type)
{
	return type != NSX_T_LIST && type != NSX_T_TABLE;
}

struct nsx_table;
struct nsx_layout;

/* Packed to nine bytes: if every kernel has its own name, cells take most of a report's
 * memory. Members are unaligned, so take no pointers to them.
 */
struct nsx_cell {
	enum nsx_type type;
	union {
		int64_t i;
		double f;
		const char *s; /* lives as long as the report                */
		bool b;
		nsx_str id;
		const char *const *list;
		const struct nsx_table *table;
	} u;
} __attribute__((packed));

struct nsx_col {
	const char *key; /* a dot makes a nested object in JSON: "a.b"; "*", as the only
			    column: rows are plain values */
	enum nsx_type type;
	const char *help; /* one sentence that says what is counted          */
	const char *title; /* in Markdown; NULL: the part of key after its last dot */
	bool is_prose; /* our own Markdown, in which names are quoted        */
	bool adds; /* the sum over rows is meaningful, and is shown for the cut rows */
	bool is_exact; /* each row shows it exactly and without a unit */
	bool is_judged; /* always about the judged window                    */
	const struct nsx_layout *rows; /* layout of a TABLE cell             */
};

/* Columns are named once, in the list of their table:
 *
 *   #define COLUMNS(X)                                              \
 *           X(NAME, "kernel_name", STR, "full name of the kernel") \
 *           X(CALLS, "call_count", I64, "executions", .title = "calls")
 *   NSX_COLUMNS(cols, COLUMNS);
 *
 * defines the ids NAME and CALLS, their indices in a row, and the array cols.
 * Rows, sort orders and Markdown tables use these ids.
 */
#define NSX_COLUMN_ID(id, ...) id,
#define NSX_COLUMN(id, name, kind, ...)                                       \
	[id] = {.key = name, .type = NSX_T_##kind, .help = __VA_ARGS__},
#define NSX_COLUMN_IDS(list) enum { list(NSX_COLUMN_ID) }
#define NSX_COLUMN_ARRAY(array, list)                                         \
	static const struct nsx_col array[] = {list(NSX_COLUMN)}
#define NSX_COLUMNS(array, list)                                              \
	NSX_COLUMN_IDS(list);                                                 \
	NSX_COLUMN_ARRAY(array, list)

struct nsx_layout { /* the form of a table; static, in the pass              */
	const char *key;  /* path inside the section's JSON: "kernels", "a.b" */
	const char *csv;  /* file name without ".csv"; NULL: no file         */
	const struct nsx_col *cols;
	unsigned ncols;
	bool is_judged; /* the rows are of the judged window, not of the chosen one */
	int json_rows; /* row limit; 0: NSX_MAX_JSON_ROWS                    */
};
enum { NSX_ALL_ROWS = -1, NSX_NOT_IN_JSON = -2 }; /* values of json_rows     */
#define NSX_COLS(a) .cols = a, .ncols = ARRAY_LEN(a)
/* NSX_COLUMNS with a layout of them, for a table on its own. */
#define NSX_LAYOUT_OF(layout, list, ...)                                      \
	NSX_COLUMNS(layout##_cols, list);                                     \
	static const struct nsx_layout layout = {NSX_COLS(layout##_cols), __VA_ARGS__}

/* The number of rows of a possibly huge table that can be read by index. */
enum { NSX_READ_ROWS = 1024, NSX_PACKED_COLUMNS = 64 };

struct nsx_table {
	const struct nsx_layout *layout;
	struct nsx_cell *cells; /* array of nrows x ncols cells, row by row  */
	size_t nrows, cap;
	struct nsx_packed_rows *packed; /* rows after those in cells, packed; NULL: none */
	size_t max_rows; /* later rows are only summed; 0: all are kept      */
	size_t nrest;	 /* rows beyond max_rows, which are only summed      */
	bool is_short; /* rows were lost as memory was out: nsx_add_row      */
	const struct nsx_strings *strings; /* for cells with string ids      */
	int json_rows; /* the user's limit; 0: the layout's                  */
	/* 1 + id of the column by which the rows with most are kept: the first one sorted in
	 * descending order; 0: there is none
	 */
	int price;
};

/* Makes an empty table. Owner: the caller, nsx_table_done. */
void nsx_table_begin(struct nsx_table *t, const struct nsx_layout *layout);
void nsx_table_done(struct nsx_table *t);
/* Adds a row of null cells; fill it by index: row[COL_COUNT] = nsx_int(n). Valid until the
 * next row. Never NULL: when memory is out the last row is returned again, and
 * nsx_table_whole reports it at the end.
 */
struct nsx_cell *nsx_add_row(struct nsx_table *t);
/* Checks that no row was lost. Errors: NSX_E_NOMEM. */
int nsx_table_whole(const struct nsx_table *t, struct nsx_err *err) NSX_CHECKED;

/* Announces at most n rows, which will be added in final order to an empty table. With
 * max_rows other than 0, cells holds only the first NSX_READ_ROWS. Later rows are packed,
 * and can only be read in sequence (nsx_read_rows). Rows beyond max_rows are not kept:
 * nsx_add_row returns the same row for each, and sums up the columns that add.
 */
void nsx_table_expect(struct nsx_table *t, size_t n, size_t max_rows);
/* The number of packed rows. */
size_t nsx_table_packed(const struct nsx_table *t);
/* Copies a text for a cell of the row added last. Owner: the table if it packs the row,
 * else the arena.
 */
const char *nsx_row_text(struct nsx_table *t, struct nsx_arena *a, const char *text);
/* A cell for the row added last, with a text of s. A table uses one s. A packed row stores the id,
 * so texts that are only written to files stay packed.
 */
struct nsx_cell nsx_row_string(struct nsx_table *t, const struct nsx_strings *s, nsx_str id);
/* Whether the row added last is kept. Rows that are not kept only add to the sums. */
static inline bool nsx_table_holds(const struct nsx_table *t)
{
	return !t->nrest;
}
/* The number of rows, kept or not. */
size_t nsx_table_total(const struct nsx_table *t);
/* Adds a row to sums, for the columns that add. */
void nsx_add_cells(const struct nsx_layout *l, const struct nsx_cell *row, struct nsx_cell *sums);
/* Adds all rows that are not kept to sums; returns their number. */
size_t nsx_add_rest(const struct nsx_table *t, struct nsx_cell *sums);

static inline const struct nsx_cell *nsx_row_at(const struct nsx_table *t, size_t row)
{
	return t->cells + row * t->layout->ncols;
}

/* Reads the kept rows in sequence; NULL at the end. A row is valid until NSX_LIVE_ROWS more rows
 * were read. Its texts live as long as the table, except texts given by id.
 */
enum { NSX_LIVE_ROWS = 8 };
struct nsx_row_reader {
	const struct nsx_table *t;
	size_t row; /* next row                                              */
	const struct nsx_chunk *chunk;
	const unsigned char *at;
	struct nsx_cell live[NSX_LIVE_ROWS][NSX_PACKED_COLUMNS];
};
static inline struct nsx_row_reader nsx_read_rows(const struct nsx_table *t)
{
	return (struct nsx_row_reader){.t = t};
}
const struct nsx_cell *nsx_next_row(struct nsx_row_reader *r);

/* The column's heading: its title, else the part of its key after the last dot. */
const char *nsx_col_title(const struct nsx_col *c);
/* Index of a column by key, for tables of other files; -1 if there is none. */
int nsx_table_col(const struct nsx_table *t, const char *key);
/* A cell as a number; 0 for null. The table must have the key. */
double nsx_table_number(const struct nsx_table *t, size_t row, const char *key);
const char *nsx_table_text(const struct nsx_table *t, size_t row,
			   const char *key); /* "" for a null cell */

/* Index of a column that must exist. Aborts if it does not. */
unsigned nsx_table_need(const struct nsx_table *t, const char *key);

/* The cell as a number; 0 if it is none. */
static inline double nsx_cell_number(const struct nsx_cell *c)
{
	return c->type == NSX_T_I64 ? (double)c->u.i : c->type == NSX_T_F64 ? c->u.f : 0;
}
/* A cell as text from which a number reads back the same. "" for null, lists and tables. */
const char *nsx_cell_text(struct nsx_arena *a, const struct nsx_cell *c);

/* Compares two cells as nsx_table_sort does: below 0, 0 or above 0; 2 and -2 with a null. */
int nsx_cmp_cells(const struct nsx_cell *a, const struct nsx_cell *b);

/* Column ids as an array and its length, for functions that take both. */
#define NSX_IDS(...)                                                          \
	(const int[]){__VA_ARGS__}, ARRAY_LEN(((const int[]){__VA_ARGS__}))

/* Stable sort, nulls last: nsx_table_sort(t, NSX_DESC(TOTAL_MS), NAME). Frees spare rows,
 * so it must be called after the last row was added.
 */
#define NSX_DESC(id) (~(int)(id))
#define nsx_table_sort(t, ...) nsx_table_sort_by(t, NSX_IDS(__VA_ARGS__))
void nsx_table_sort_by(struct nsx_table *t, const int *order, size_t n);

/* Inserts x into the sorted list v, which holds the first `most` items so far: *n of them. Most
 * items are expected to come too late for it.
 */
static inline void nsx_keep_first(void *v, size_t *n, size_t most, const void *x, size_t size,
				  int (*cmp)(const void *, const void *, void *), void *ctx)
{
	size_t from = 0, to = *n, middle;
	char *at = v;

	if (*n == most && cmp(x, at + (*n - 1) * size, ctx) >= 0)
		return;
	while (from < to) {
		middle = (from + to) / 2;
		if (cmp(x, at + middle * size, ctx) < 0)
			to = middle;
		else
			from = middle + 1;
	}
	*n += *n < most;
	at += from * size;
	memmove(at + size, at, (*n - 1 - from) * size);
	memcpy(at, x, size);
}

static inline struct nsx_cell nsx_int(int64_t i)
{
	return (struct nsx_cell){NSX_T_I64, {.i = i}};
}
static inline struct nsx_cell nsx_real(double f) /* NaN and infinity become null */
{
	return isfinite(f) ? (struct nsx_cell){NSX_T_F64, {.f = f}} :
			     (struct nsx_cell){NSX_T_NULL, {0}};
}
static inline struct nsx_cell nsx_string(const char *s) /* NULL becomes null */
{
	return (struct nsx_cell){s ? NSX_T_STR : NSX_T_NULL, {.s = s}};
}
static inline struct nsx_cell nsx_bool(bool b)
{
	return (struct nsx_cell){NSX_T_BOOL, {.b = b}};
}
static inline struct nsx_cell nsx_null(void)
{
	return (struct nsx_cell){NSX_T_NULL, {0}};
}
static inline struct nsx_cell nsx_list(const char *const *list)
{
	return (struct nsx_cell){NSX_T_LIST, {.list = list}};
}
static inline struct nsx_cell nsx_rows(const struct nsx_table *t)
{
	return (struct nsx_cell){NSX_T_TABLE, {.table = t}};
}
/* Converts nanoseconds to other units. */
static inline struct nsx_cell nsx_ms(int64_t ns)
{
	return nsx_real((double)ns / 1e6);
}
static inline struct nsx_cell nsx_us(double ns)
{
	return nsx_real(ns / 1e3);
}
/* 100 * part / whole; null when whole is 0. */
static inline struct nsx_cell nsx_pct(double part, double whole)
{
	return nsx_real(whole > 0 ? 100 * part / whole : NAN);
}
