/* md_table.c - a table of a section as Markdown: three significant digits with the unit
 * that fits, kernels by label. Rows that differ only in GPU, rank or thread are joined.
 */
#include <inttypes.h>
#include <math.h>
#include "base/stat.h"
#include "emit/md_table.h"
#include "report/words.h"

#define ALIKE 0.05 /* figures of rows that are joined may differ by this share of the greater */
enum { MAX_LOOKED_AT = 200, MAX_NAMED = 8 };

/* Labels ------------------------------------------------------------------*/

/* Replaces a kernel's full name by its label. */
static const char *kernel_label_for(const struct nsx_report *report, const char *name)
{
	const struct nsx_kernel_names *k;
	nsx_str id;

	if (!report)
		return name;
	k = &report->facts->kernels;
	id = nsx_strings_find(report->trace->strings, name);
	/* A kernel may have no name. */
	return (id || !*name) && nsx_kernel_name(k, id) ? nsx_kernel_label(k, id) : name;
}

/* Meaning of a column, by its key --------------------------------------------- */

enum holds { PLAIN, EXACT, ID, INSTANT, NS, US, MS, S, BYTES, PERCENT, CAUSE,
	     BARRIER };

static enum holds column_content(const struct nsx_col *col)
{
	static const struct {
		const char *end;
		enum holds holds;
	} ends[] = {
		{"start_ns", INSTANT}, {"end_ns", INSTANT},
		{"peak_time_ns", INSTANT}, {"per_s", PLAIN}, {"_ns", NS},
		{"_us", US}, {"_ms", MS}, {"_ms_per_step", MS}, {"_s", S},
		{"bytes", BYTES},
		{"_id", ID}, {"pid", ID}, {"tid", ID}, {"process", ID},
		{"gpu", ID}, {"thread", ID}, {"device", ID},
		{"cause", CAUSE}, {"barrier_kind", BARRIER}};
	const char *dot = strrchr(col->key, '.');
	const char *key = dot ? dot + 1 : col->key;

	if (col->is_exact)
		return EXACT;
	if (strstr(key, "pct"))
		return PERCENT;
	return NSX_FIRST(i, ARRAY_LEN(ends), nsx_ends_with(key, ends[i].end), ends[i].holds, PLAIN);
}

/* Whether a word is a unit. Units are left out of headings, because cells show them. */
static bool is_unit(enum holds h, const char *word, size_t n)
{
	static const char *const units[] = {"ns", "us", "ms", "s", "bytes"};

	return h >= INSTANT && h <= BYTES &&
	       NSX_ANY(i, ARRAY_LEN(units), strlen(units[i]) == n && !strncmp(units[i], word, n));
}

static void md_table_add_word(struct nsx_buf *b, const char *word, size_t n)
{
	if (n == 3 && !strncmp(word, "pct", n))
		nsx_buf_adds(b, "%");
	else if (n == 4 && !strncmp(word, "gbps", n))
		nsx_buf_adds(b, "GB/s");
	else
		nsx_buf_add(b, word, n);
}

/* Adds a column's title: "total time" for "total_time_ms", "% of window" for "pct_of_window". */
void nsx_md_add_title(struct nsx_buf *b, const struct nsx_col *col)
{
	const char *title = nsx_col_title(col);
	enum holds h = column_content(col);

	if (h == EXACT) {
		nsx_md_escape(b, title, strlen(title));
		return;
	}
	for (size_t i = 0, n; title[i]; i += n + (title[i + n] == '_')) {
		n = strcspn(title + i, "_");
		if (i && is_unit(h, title + i, n))
			continue;
		nsx_buf_adds(b, i ? " " : "");
		md_table_add_word(b, title + i, n);
	}
}

/* Cells ---------------------------------------------------------------------*/

static const char *md_table_say_number(struct nsx_arena *a, const struct nsx_col *col,
				       const struct nsx_cell *c)
{
	static const double in_ns[] = {[NS] = 1, [US] = 1e3, [MS] = 1e6, [S] = 1e9};
	enum holds h = column_content(col);
	double x = nsx_cell_number(c);

	if (x == 0 && h >= NS && h <= BYTES)
		return "0";
	if (h >= NS && h <= S)
		return nsx_text_ns(a, x * in_ns[h]);
	switch (h) {
	case EXACT:
		return c->type == NSX_T_I64 ?
			       nsx_arena_printf(a, "%" PRId64, c->u.i) :
			       nsx_arena_printf(a, "%.15g", x);
	case INSTANT:
		return nsx_text_instant(a, nsx_to_i64(x), 6);
	case BYTES:
		return nsx_text_bytes(a, x);
	case PERCENT:
		return nsx_text_share(a, x, 100);
	case ID:
		return nsx_arena_printf(a, "%" PRId64, c->u.i);
	default:
		return c->type == NSX_T_I64 || fabs(x) >= 1000 ?
			nsx_text_count(a, x) :
			nsx_arena_printf(a, "%.3g", x);
	}
}

/* Translates a name; returns it unchanged if it has no words. */
static const char *words_for_name(const char *name, const char *const *names,
				  const char *const *words, unsigned n)
{
	return NSX_FIRST(i, n, !strcmp(name, names[i]), words[i], name);
}

static void md_table_add_text(struct nsx_buf *b, struct nsx_arena *a,
			      const struct nsx_col *col, const char *s,
			      const struct nsx_report *report)
{
	enum holds h = column_content(col);
	char buf[256];

	/* The time between two calls belongs to no API. */
	if (!strcmp(s, nsx_barrier_names[NSX_BARRIER_LAUNCHER_GAP])) {
		nsx_buf_adds(b, strcmp(col->key, "api_name") ?
					nsx_barrier_words[NSX_BARRIER_LAUNCHER_GAP] : "–");
		return;
	}
	if (col->is_prose || col->type == NSX_T_I64) { /* I64: "0 (host 2)" */
		nsx_buf_adds(b, s);
		return;
	}
	nsx_md_add_name(b, !strncmp(s, "cu", 2) ? nsx_api_base(s, buf, sizeof(buf)) :
			   h == CAUSE ? words_for_name(s, nsx_cause_names, nsx_cause_words,
						       NSX_NCAUSES) :
			   h == BARRIER ? words_for_name(s, nsx_barrier_names, nsx_barrier_words,
							 NSX_NBARRIERS) :
				   nsx_text_range(a, kernel_label_for(report, s)));
}

void nsx_md_add_cell(struct nsx_buf *b, struct nsx_arena *a,
		     const struct nsx_col *col, const struct nsx_cell *c,
		     const struct nsx_report *report)
{
	switch (c->type) {
	case NSX_T_I64:
	case NSX_T_F64:
		nsx_buf_adds(b, md_table_say_number(a, col, c));
		break;
	case NSX_T_BOOL:
		nsx_buf_adds(b, c->u.b ? "yes" : "no");
		break;
	case NSX_T_STR:
		md_table_add_text(b, a, col, c->u.s, report);
		break;
	default:
		nsx_buf_adds(b, "–");
	}
}

/* Joined rows ----------------------------------------------------------------- */

struct row {
	size_t first, n; /* n rows that are joined into one; first: index of the first of them */
	size_t member[MAX_NAMED];
};

static bool md_table_same_cell(const struct nsx_col *col, const struct nsx_cell *x,
			       const struct nsx_cell *y)
{
	if (column_content(col) == ID)
		return true;
	if (x->type != y->type || (x->type != NSX_T_I64 && x->type != NSX_T_F64))
		return !nsx_cmp_cells(x, y);
	return column_content(col) != INSTANT &&
	       fabs(nsx_cell_number(x) - nsx_cell_number(y)) <=
		       ALIKE * NSX_MAX(fabs(nsx_cell_number(x)), fabs(nsx_cell_number(y)));
}

static bool md_table_are_alike(const struct nsx_block *block, size_t x, size_t y)
{
	const struct nsx_col *cols = block->table->layout->cols;
	bool any_id = false;

	for (size_t i = 0; i < block->ncolumns; i++) {
		int c = block->columns[i];

		if (!md_table_same_cell(&cols[c], &nsx_row_at(block->table, x)[c],
					&nsx_row_at(block->table, y)[c]))
			return false;
		any_id |= column_content(&cols[c]) == ID;
	}
	return any_id;
}

/* Compares by GPU, rank or thread numbers, from left to right. */
static int cmp_ids(const struct nsx_block *block, size_t x, size_t y)
{
	const struct nsx_col *cols = block->table->layout->cols;
	int order = 0;

	for (size_t i = 0; i < block->ncolumns && !order; i++) {
		int c = block->columns[i];

		if (column_content(&cols[c]) == ID && cols[c].type == NSX_T_I64)
			order = nsx_cmp_cells(&nsx_row_at(block->table, x)[c],
					      &nsx_row_at(block->table, y)[c]);
	}
	return order;
}

static void sort_members(const struct nsx_block *block, struct row *row)
{
	for (size_t k = 1; k < NSX_MIN(row->n, MAX_NAMED); k++) {
		size_t own = row->member[k], m = k;

		for (; m && cmp_ids(block, own, row->member[m - 1]) < 0; m--)
			row->member[m] = row->member[m - 1];
		row->member[m] = own;
	}
}

/* Joins equal rows among the first rows. Returns the number of joined rows. */
static size_t md_table_join_rows(const struct nsx_block *block, struct row *ret,
				 size_t most, size_t *ret_covered)
{
	size_t n = 0, looked = NSX_MIN(block->table->nrows, MAX_LOOKED_AT);

	*ret_covered = 0;
	for (size_t r = 0; r < looked; r++) {
		size_t k = 0;

		while (k < n && !md_table_are_alike(block, ret[k].first, r))
			k++;
		if (k == n) {
			if (n == most)
				continue;
			ret[n++] = (struct row){.first = r};
		}
		if (ret[k].n < MAX_NAMED)
			ret[k].member[ret[k].n] = r;
		ret[k].n++;
		++*ret_covered;
	}
	for (size_t k = 0; k < n; k++)
		sort_members(block, &ret[k]);
	return n;
}

/* Adds the distinct ids of joined rows. Returns whether there are several. */
static bool add_ids(struct nsx_buf *b, struct nsx_arena *a,
		    const struct nsx_table *t, const struct row *row, int c,
		    const struct nsx_report *report)
{
	const struct nsx_col *col = &t->layout->cols[c];
	size_t n = NSX_MIN(row->n, MAX_NAMED), nids = 0;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf last = {0};

	for (size_t i = 0; i < n; i++) {
		struct nsx_buf one = {0};

		nsx_md_add_cell(&one, a, col, &nsx_row_at(t, row->member[i])[c], report);
		if (one.p && (!last.p || strcmp(one.p, last.p))) {
			nsx_buf_adds(b, nids++ ? ", " : "");
			nsx_buf_adds(b, one.p);
		}
		nsx_buf_done(&last);
		last = one;
	}
	if (row->n > n)
		nsx_buf_printf(b, " and %zu more", row->n - n);
	return nids > 1;
}

/* The mean of a figure over joined rows. */
static struct nsx_cell md_table_mean_of(const struct nsx_table *t, const struct row *row, int c)
{
	struct nsx_cell cell = nsx_row_at(t, row->first)[c];
	size_t n = NSX_MIN(row->n, MAX_NAMED);
	double sum = 0;

	if (n < 2 || (cell.type != NSX_T_F64 && cell.type != NSX_T_I64))
		return cell;
	for (size_t i = 0; i < n; i++)
		sum += nsx_cell_number(&nsx_row_at(t, row->member[i])[c]);
	if (cell.type == NSX_T_I64)
		return nsx_int((int64_t)llround(sum / (double)n));
	return nsx_real(sum / (double)n);
}

void nsx_md_add_table(struct nsx_buf *b, const struct nsx_block *block,
		      const struct nsx_report *report)
{
	const struct nsx_table *t = block->table;
	const struct nsx_col *cols = t->layout->cols;
	size_t most = NSX_MIN(block->max_rows, MAX_LOOKED_AT), n, covered;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct row *rows = nsx_arena_get(a, (most + 1) * sizeof(*rows));

	n = md_table_join_rows(block, rows, most, &covered);
	/* Writing the row takes no more space than saying that one row is missing. */
	if (n && covered + 1 == nsx_table_total(t))
		n = md_table_join_rows(block, rows, most + 1, &covered);
	nsx_buf_adds(b, n ? "\n|" : "");
	for (size_t i = 0; n && i < block->ncolumns; i++) {
		nsx_buf_adds(b, " ");
		nsx_md_add_title(b, &cols[block->columns[i]]);
		nsx_buf_adds(b, " |");
	}
	nsx_buf_adds(b, n ? "\n|" : "");
	for (size_t i = 0; n && i < block->ncolumns; i++)
		nsx_buf_adds(b, cols[block->columns[i]].type == NSX_T_STR ? "---|" : "---:|");
	nsx_buf_adds(b, n ? "\n" : "");
	for (size_t r = 0; r < n; r++) {
		unsigned told = 0; /* joined rows get the word "each" once */

		nsx_buf_adds(b, "|");
		for (size_t i = 0; i < block->ncolumns; i++) {
			int c = block->columns[i];
			struct nsx_cell cell = md_table_mean_of(t, &rows[r], c);

			nsx_buf_adds(b, " ");
			if (column_content(&cols[c]) != ID)
				nsx_md_add_cell(b, a, &cols[c], &cell, report);
			else if (add_ids(b, a, t, &rows[r], c, report) && !told++)
				nsx_buf_adds(b, " (each)");
			nsx_buf_adds(b, " |");
		}
		nsx_buf_adds(b, "\n");
	}
	if (n && covered < t->nrows && t->layout->csv)
		nsx_buf_printf(b, "| *%zu more in `tables/%s.csv`* |\n",
			       nsx_table_total(t) - covered, t->layout->csv);
}
