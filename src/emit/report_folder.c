/* report_folder.c - the files of a report (report.md, report.html, tables/, report.json)
 * and of similar results.
 */
#include "emit/emit.h"
#include "passes/pass.h"

struct table_file {
	const struct nsx_layout *layout;
	const struct nsx_table *table; /* NULL: not computed */
	const struct nsx_report *report;
};

static const char parquet[] = ".parquet";

/* Writes a table, as f->detail, the suffix of its file, says. Rows that findings cite are always
 * written.
 */
static int write_rows(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct table_file *x = f->subject;
	const struct nsx_findings *found = &x->report->found;
	struct nsx_bound bound = {.max_rows = x->report->all_rows ? 0 : NSX_MAX_CSV_ROWS};
	NSX_AT_EXIT(nsx_free_at) size_t *keep = NULL;
	size_t cap = 0;

	for (size_t i = 0; i < found->n; i++)
		NSX_EACH_PROOF(&found->v[i], k) {
			const struct nsx_evidence *e = &found->v[i].proof[k];

			if (e->table && e->table == x->table)
				nsx_push_or_die(keep, bound.nkeep, cap, e->row);
		}
	bound.keep = keep;
	return (f->detail == parquet ? nsx_emit_parquet : nsx_emit_csv)(x->layout, x->table, &bound,
									out, err);
}

static void list_table(struct nsx_folder *f, const struct table_file *x, const char *suffix)
{
	struct nsx_out_file *file = &f->files[f->nfiles++];

	*file = (struct nsx_out_file){.write = write_rows, .subject = x, .detail = suffix};
	snprintf(file->name, sizeof(file->name), "tables/%s%s", x->layout->csv, suffix);
}

/* Lists the files of every table of every pass; files of tables that were not computed have no
 * rows.
 */
static void list_tables(const struct nsx_report *r,
			const struct nsx_section *s, struct nsx_arena *a, struct nsx_folder *f)
{
	for (unsigned k = 0; k < s->pass->nlayouts; k++) {
		const struct nsx_layout *l = &s->pass->layouts[k];
		struct table_file *x;

		if (!l->csv)
			continue;
		x = nsx_arena_get(a, sizeof(*x));
		*x = (struct table_file){l, NULL, r};
		for (size_t t = 0; t < s->ntables; t++)
			if (s->tables[t]->layout == l && s->status == NSX_S_ANSWERED)
				x->table = s->tables[t];
		list_table(f, x, ".csv");
		if (r->format == NSX_TABLES_PARQUET)
			list_table(f, x, parquet);
	}
}

int nsx_emit_folder(const struct nsx_report *r, const char *dir, bool html,
		    unsigned threads, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct nsx_folder f = {.dir = dir, .inputs = &r->path, .ninputs = 1,
			       .threads = threads};
	size_t most = 3;

	for (size_t i = 0; i < r->nsections; i++)
		most += 2 * r->sections[i].pass->nlayouts;
	f.files = nsx_arena_get(a, most * sizeof(*f.files));
	f.files[f.nfiles++] = (struct nsx_out_file){
		"report.md", nsx_write_md, .subject = r};
	if (html)
		f.files[f.nfiles++] = (struct nsx_out_file){
			"report.html", nsx_write_html, .subject = r};
	for (size_t i = 0; i < r->nsections; i++)
		list_tables(r, &r->sections[i], a, &f);
	f.files[f.nfiles++] = (struct nsx_out_file){
		"report.json", nsx_write_json, .subject = r};
	return nsx_folder_write(&f, err);
}

int nsx_emit_book(const struct nsx_book *book, struct nsx_folder f, struct nsx_err *err)
{
	const struct nsx_bound bound = {.max_rows = book->all_rows ? 0 : NSX_MAX_CSV_ROWS};
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct nsx_out_file *v = nsx_arena_get(a, (book->ntables + 3) * sizeof(*v));

	f.files = v;
	v[f.nfiles++] = book->md;
	v[f.nfiles++] = book->html;
	for (size_t i = 0; i < book->ntables; i++)
		nsx_folder_add_table(&f, &book->tables[i], &bound);
	v[f.nfiles++] = book->json;
	return nsx_folder_write(&f, err);
}
