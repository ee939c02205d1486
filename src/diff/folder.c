/* folder.c - the files of a comparison: diff.md, diff.html, tables/,
 * diff.json. */
#include "diff/emit.h"
#include "emit/emit.h"

static int write_md(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	return nsx_diff_emit_md(f->subject, NSX_DIFF_PAGE, out, err);
}

static int write_html(const struct nsx_out_file *f, FILE *out,
		      struct nsx_err *err)
{
	return nsx_diff_emit_html(f->subject, out, err);
}

static int write_json(const struct nsx_out_file *f, FILE *out,
		      struct nsx_err *err)
{
	const struct nsx_diff_output *o = f->subject;

	return nsx_diff_emit_json(o->diff, &o->tables, f->detail, out, err);
}

/* Every capture of both sides: none of them may be written over. */
static void list_inputs(const struct nsx_diff *d, const char **ret)
{
	for (unsigned s = 0; s < 2; s++)
		for (size_t i = 0; i < d->nsides[s]; i++)
			*ret++ = d->sides[s][i]->path;
}

int nsx_diff_emit_folder(const struct nsx_diff_output *o, const char *dir,
			 unsigned threads, struct nsx_err *err)
{
	const struct nsx_diff *d = o->diff;
	struct nsx_arena *a = nsx_arena_new();
	size_t ninputs = d->nsides[0] + d->nsides[1];
	const char **inputs = nsx_arena_get(a, ninputs * sizeof(*inputs));
	struct nsx_out_file files[NSX_NDT + 3] = {
		{"diff.md", write_md, .subject = d},
		{"diff.html", write_html, .subject = d}};
	const struct nsx_bound bound = {
		.max_rows = o->all_rows ? 0 : NSX_MAX_CSV_ROWS};
	struct nsx_folder f = {.dir = dir, .files = files, .nfiles = 2,
			       .inputs = inputs, .ninputs = ninputs,
			       .threads = threads};
	int rc;

	list_inputs(d, inputs);
	for (unsigned i = 0; i < NSX_NDT; i++)
		nsx_folder_add_table(&f, &o->tables.t[i], &bound);
	files[f.nfiles++] = (struct nsx_out_file){
		"diff.json", write_json, .subject = o, .detail = &f};
	rc = nsx_folder_write(&f, err);
	nsx_arena_free(a);
	return rc;
}
