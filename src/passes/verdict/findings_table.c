/* findings_table.c - findings as rows. */
#include "passes/verdict/findings_table.h"

#define ROW_COLUMNS(X)                                                                             \
	X(ROW_TABLE, "table", STR, "file in tables/")                                              \
	X(ROW_KEY, "key", STR, "rows of the table: column=cell, ...")                              \
	X(ROW_COLUMN, "column", STR, "column of the table")                                        \
	X(ROW_WINDOW_NS, "window_ns", I64, "length of the window that the value covers")           \
	X(ROW_VALUES, "values", STR, "what stands there")                                          \
	X(ROW_UNITS, "units", STR, "units of the values")
NSX_COLUMNS(row_cols, ROW_COLUMNS);
const struct nsx_layout nsx_findings_layout = {.key = "*", NSX_COLS(nsx_finding_cols),
					       .json_rows = NSX_ALL_ROWS};
const struct nsx_layout nsx_evidence_layout = {NSX_COLS(row_cols)};

struct work {
	const struct nsx_trace *trace;
	struct nsx_section *out;
	struct nsx_window w;
};

static const char *const *findings_table_list_of(struct work *k, const char *const *lines,
						 size_t most)
{
	const char **list = nsx_arena_get(k->out->arena, (most + 1) * sizeof(*list));

	for (size_t n = 0; n < most && lines[n]; n++)
		list[n] = lines[n];
	return list;
}

/* Describes a row by its cells: "device_id=0, cause=sync". */
static const char *findings_table_say_row(struct work *k, const struct nsx_evidence *e)
{
	const char *text = "";

	for (size_t i = 0; i < ARRAY_LEN(e->at) && e->at[i].column; i++)
		text = nsx_say(k->out, "%s%s%s=%s", text, i ? ", " : "", e->at[i].column,
			       nsx_cell_text(k->out->arena, &e->at[i].is));
	return text;
}

static struct nsx_table *evidence_rows(struct work *k, const struct nsx_finding *f)
{
	struct nsx_table *t = nsx_add_table(k->out, &nsx_evidence_layout);

	NSX_EACH_PROOF(f, i) {
		const struct nsx_evidence *e = &f->proof[i];
		const struct nsx_window *w;
		struct nsx_cell *row;

		if (!e->table)
			continue;
		w = e->table->layout->is_judged ||
				    e->table->layout->cols[e->col].is_judged ?
			    &k->w : &k->trace->window;
		row = nsx_add_row(t);
		row[ROW_TABLE] = nsx_string(nsx_say(k->out, "%s.csv", e->csv));
		row[ROW_KEY] = nsx_string(findings_table_say_row(k, e));
		row[ROW_COLUMN] = nsx_string(e->column);
		row[ROW_WINDOW_NS] = nsx_int(w->end_ns - w->start_ns);
		row[ROW_VALUES] = nsx_string(nsx_cell_text(k->out->arena, &e->cells[e->col]));
		row[ROW_UNITS] = nsx_string(nsx_evidence_units(e));
	}
	return t;
}

static void findings_table_add_row(struct work *k, const struct nsx_finding *f, struct nsx_table *t)
{
	const struct nsx_window *full = &k->trace->full;
	double length_ns = (double)(k->w.end_ns - k->w.start_ns);
	struct nsx_table *rows = evidence_rows(k, f);
	struct nsx_cell *row = nsx_add_row(t);

	row[F_ID] = nsx_string(nsx_finding_name(f));
	row[F_SEVERITY] = nsx_string(nsx_severity_names[f->severity]);
	row[F_TITLE] = nsx_string(f->title);
	row[F_CATEGORY] = nsx_string(nsx_category_names[nsx_finding_category(f)]);
	row[F_EVIDENCE] = nsx_list(findings_table_list_of(k, f->evidence, ARRAY_LEN(f->evidence)));
	row[F_RECOMMENDATION] = nsx_list(findings_table_list_of(k, f->recommendation,
					       ARRAY_LEN(f->recommendation)));
	row[F_CONFIDENCE] = nsx_string(nsx_confidence_names[f->confidence]);
	row[F_WINDOW] = nsx_string(k->w.start_ns == full->start_ns &&
				 k->w.end_ns == full->end_ns ? "full" :
							       "steady");
	row[F_ROWS] = nsx_rows(rows);
	row[F_KEY] = nsx_string(f->key);
	row[F_PRICE] = nsx_string(nsx_price_names[f->price]);
	row[F_PLACE] = nsx_string(f->place);
	if (f->price == NSX_PRICE_NONE)
		return;
	row[F_HEADROOM] = nsx_real(f->headroom_ns / 1e6);
	row[F_LOW] = nsx_real(f->low_ns / 1e6);
	row[F_HIGH] = nsx_real(f->high_ns / 1e6);
	if (f->price == NSX_PRICE_REPLAYED)
		row[F_CEILING] = nsx_real(length_ns / (length_ns - f->headroom_ns));
	if (f->has_disjoint)
		row[F_DISJOINT] = nsx_real(f->disjoint_ns / 1e6);
}

struct nsx_table *nsx_findings_table(const struct nsx_report *report,
				     struct nsx_section *out, bool minor)
{
	const struct nsx_findings *l = &report->found;
	struct work k = {report->trace, out, nsx_judged(report->facts)};
	struct nsx_table *t = nsx_add_table(out, &nsx_findings_layout);

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].is_minor == minor)
			findings_table_add_row(&k, &l->v[i], t);
	return t;
}
