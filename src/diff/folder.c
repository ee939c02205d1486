/* folder.c - writes the files of a comparison: diff.md, diff.html, tables/, diff.json. */
#include "diff/emit.h"
#include "emit/emit.h"

int nsx_diff_emit_folder(const struct nsx_diff_output *o, const char *dir,
			 unsigned threads, struct nsx_err *err)
{
	const struct nsx_diff *d = o->diff;
	const struct nsx_book book = {
		.md = {"diff.md", nsx_diff_write_md, .subject = o},
		.html = {"diff.html", nsx_diff_write_html, .subject = o},
		.json = {"diff.json", nsx_diff_write_json, .subject = o},
		.tables = o->tables.t, .ntables = NSX_NDT,
		.all_rows = o->all_rows};
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	const char **inputs = nsx_arena_get(a, d->nall * sizeof(*inputs));

	for (size_t i = 0; i < d->nall; i++)
		inputs[i] = d->all[i]->path;
	return nsx_emit_book(&book, (struct nsx_folder){.dir = dir, .inputs = inputs,
							.ninputs = d->nall, .threads = threads},
			     err);
}
