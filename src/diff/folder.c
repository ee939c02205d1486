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
	struct nsx_arena *a = nsx_arena_new();
	size_t most = d->nsides[0] + d->nsides[1], n = 0;
	const char **inputs = nsx_arena_get(a, most * sizeof(*inputs));
	int rc;

	for (unsigned s = 0; s < 2; s++)
		for (size_t i = 0; i < d->nsides[s]; i++)
			inputs[n++] = d->sides[s][i]->path;
	rc = nsx_emit_book(&book,
			   (struct nsx_folder){.dir = dir, .inputs = inputs,
					       .ninputs = n, .threads = threads},
			   err);
	nsx_arena_free(a);
	return rc;
}
