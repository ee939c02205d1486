/* table.h - typed tables between thinking and printing.
 *
 * A pass fills tables; emitters print them.  A column's key is its name in
 * JSON, CSV and Markdown; the unit is the key's end (_ns, _us, _ms, _s, _pct,
 * pct_..., _bytes).  A cell is null or of its column's type.
 */
#ifndef NSX_TABLE_H
#define NSX_TABLE_H

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
	NSX_T_ID,    /* a text by its id, in a row that is packed            */
} __attribute__((packed));

/* Whether it is told in a few words, in every format. */
static inline bool nsx_is_scalar(enum nsx_type type)
{
	return type != NSX_T_LIST && type != NSX_T_TABLE;
}

struct nsx_table;
struct nsx_layout;

/* Packed, nine bytes: where every kernel has a name of its own most of a
 * report's memory is cells.  No pointer to a member, please: it is not aligned.
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
	const char *key; /* a dot makes a nested object in JSON: "a.b"; "*",
			    the only column: rows are its values, not objects */
	enum nsx_type type;
	const char *help; /* one sentence: what is counted, of what          */
	const char *title; /* in Markdown; NULL: the key, after its last dot */
	bool is_prose; /* Markdown of ours, in which names are quoted        */
	bool adds; /* the sum over rows means something: the row that stands
		      for the rest of a cut table has it                     */
	bool is_exact; /* shown as it is, without a unit, each row by itself */
	bool is_judged; /* of the judged window, whatever the table is of    */
	const struct nsx_layout *rows; /* of a TABLE                         */
};

/* A column is named once, in the list of its table:
 *
 *   #define COLUMNS(X)                                              \
 *           X(NAME, "kernel_name", STR, "full name of the kernel") \
 *           X(CALLS, "call_count", I64, "executions", .title = "calls")
 *   NSX_COLUMNS(cols, COLUMNS);
 *
 * makes the ids NAME and CALLS, their places in a row, and the array cols.
 * Rows, orders and Markdown tables name columns by their ids.
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

struct nsx_layout { /* what a table looks like; static, in the pass          */
	const char *key;  /* path inside the section's JSON: "kernels", "a.b" */
	const char *csv;  /* file name without ".csv"; NULL: no file         */
	const struct nsx_col *cols;
	unsigned ncols;
	bool is_judged; /* of the judged window, not of the window in force  */
	int json_rows; /* at most; 0: NSX_MAX_JSON_ROWS                      */
};
enum { NSX_ALL_ROWS = -1, NSX_NOT_IN_JSON = -2 }; /* of json_rows            */
#define NSX_COLS(a) .cols = a, .ncols = ARRAY_LEN(a)

/* Rows of a table that may have millions which can be read by their number. */
enum { NSX_READ_ROWS = 1024, NSX_PACKED_COLUMNS = 64 };

struct nsx_table {
	const struct nsx_layout *layout;
	struct nsx_cell *cells; /* nrows x ncols, row by row                 */
	size_t nrows, cap;
	struct nsx_packed_rows *packed; /* those behind these; NULL: none are */
	size_t max_rows; /* 0: all are held; else nsx_table_expect           */
	size_t nrest;	 /* rows beyond all these, which were only added up  */
	bool is_short; /* rows were lost for want of memory: nsx_add_row     */
	const struct nsx_strings *strings; /* of cells that are ids          */
	int json_rows; /* as the user asked; 0: as the layout says           */
	int price; /* id of the column that says which rows are the dearest:
		      1 + the first that was sorted in descending order; 0:
		      the order itself says it                               */
};

/* An empty table. Owner: the caller, nsx_table_done. */
void nsx_table_begin(struct nsx_table *t, const struct nsx_layout *layout);
void nsx_table_done(struct nsx_table *t);
/* A new row of null cells; fill it by index: row[COL_COUNT] = nsx_int(n).
 * Valid until the next row; never NULL: where memory runs out the last row is
 * given again, and whoever asked for the table asks nsx_table_whole at the end.
 */
struct nsx_cell *nsx_add_row(struct nsx_table *t);
/* Errors: NSX_E_NOMEM where rows were lost. */
int nsx_table_whole(const struct nsx_table *t, struct nsx_err *err) NSX_CHECKED;

/* n rows at most are to come, in the order of the table, which is empty.  If
 * max_rows is not 0, only the first NSX_READ_ROWS are in cells.  Those behind them
 * are packed when they were filled, and read one after another: nsx_read_rows.  Those
 * beyond max_rows are not held: nsx_add_row gives the same row for each and adds up,
 * in the columns that add, what the one before it held.
 */
void nsx_table_expect(struct nsx_table *t, size_t n, size_t max_rows);
/* Rows that are packed. */
size_t nsx_table_packed(const struct nsx_table *t);
/* A copy of a text for a cell of the row that nsx_add_row gave last.  Owner: the
 * table where it packs the row, else the arena.
 */
const char *nsx_row_text(struct nsx_table *t, struct nsx_arena *a,
			 const char *text);
/* A cell of that row for a text of s, which is one for the whole table.  Where the row
 * is packed it is the id: a text that is only written need not become plain.
 */
struct nsx_cell nsx_row_string(struct nsx_table *t, const struct nsx_strings *s,
			       nsx_str id);
/* Whether the row that nsx_add_row gave last is held: of others only the columns that
 * add are read.
 */
static inline bool nsx_table_holds(const struct nsx_table *t)
{
	return !t->nrest;
}
/* Rows there are, held or not. */
size_t nsx_table_total(const struct nsx_table *t);
/* Adds a row to sums in the columns that add. */
void nsx_add_cells(const struct nsx_layout *l, const struct nsx_cell *row,
		   struct nsx_cell *sums);
/* The same of all rows that are not held; returns how many they are. */
size_t nsx_add_rest(const struct nsx_table *t, struct nsx_cell *sums);

static inline const struct nsx_cell *nsx_row_at(const struct nsx_table *t,
						size_t row)
{
	return t->cells + row * t->layout->ncols;
}

/* All rows that are held, from the first on.  A row is valid until NSX_LIVE_ROWS more
 * were read, its texts as long as the table, but for those whose ids it has; NULL:
 * there are no more.
 */
enum { NSX_LIVE_ROWS = 8 };
struct nsx_row_reader {
	const struct nsx_table *t;
	size_t row; /* the next                                              */
	const struct nsx_chunk *chunk;
	const unsigned char *at;
	struct nsx_cell live[NSX_LIVE_ROWS][NSX_PACKED_COLUMNS];
};
static inline struct nsx_row_reader nsx_read_rows(const struct nsx_table *t)
{
	return (struct nsx_row_reader){.t = t};
}
const struct nsx_cell *nsx_next_row(struct nsx_row_reader *r);

/* Its heading: the title, else the key after its last dot. */
const char *nsx_col_title(const struct nsx_col *c);
/* Index of a column by key; -1 if there is none. For tables of another file. */
int nsx_table_col(const struct nsx_table *t, const char *key);
/* A cell's number (integers and reals); 0 for null. The key must be one of the
 * table's.
 */
double nsx_table_number(const struct nsx_table *t, size_t row,
			const char *key);
const char *nsx_table_text(const struct nsx_table *t, size_t row,
			   const char *key); /* "" for null */

/* The same, where there must be one: aborts. */
unsigned nsx_table_need(const struct nsx_table *t, const char *key);

/* Its number; 0 for what is none. */
static inline double nsx_cell_number(const struct nsx_cell *c)
{
	return c->type == NSX_T_I64 ? (double)c->u.i :
	       c->type == NSX_T_F64 ? c->u.f : 0;
}
/* A cell as text: numbers read back the same. "" for null, lists and tables. */
const char *nsx_cell_text(struct nsx_arena *a, const struct nsx_cell *c);

/* Column ids as an array and its length, for functions that take both. */
#define NSX_IDS(...)                                                          \
	(const int[]){__VA_ARGS__}, ARRAY_LEN(((const int[]){__VA_ARGS__}))

/* Stable sort: nsx_table_sort(t, NSX_DESC(TOTAL_MS), NAME). Nulls last. Room for
 * more rows is given back: a table that is in order has all of them.
 */
#define NSX_DESC(id) (~(int)(id))
#define nsx_table_sort(t, ...) nsx_table_sort_by(t, NSX_IDS(__VA_ARGS__))
void nsx_table_sort_by(struct nsx_table *t, const int *order, size_t n);

static inline struct nsx_cell nsx_int(int64_t i)
{
	return (struct nsx_cell){NSX_T_I64, {.i = i}};
}
static inline struct nsx_cell nsx_real(double f) /* NaN, infinity: null */
{
	return isfinite(f) ? (struct nsx_cell){NSX_T_F64, {.f = f}} :
			     (struct nsx_cell){NSX_T_NULL, {0}};
}
static inline struct nsx_cell nsx_string(const char *s) /* NULL: null */
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
/* Nanoseconds in other units. */
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

#endif
