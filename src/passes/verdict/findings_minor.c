/* findings_minor.c - the findings beyond the first ten and below the noise. */
#include <string.h>
#include "passes/pass.h"

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	const struct nsx_table *all = nsx_section_table(
		nsx_report_section(run->report, "findings"), "findings_minor");
	struct nsx_layout *layout = nsx_arena_get(out->arena, sizeof(*layout));
	struct nsx_table *t;

	if (!all)
		return nsx_cannot(out, "the findings were not computed");
	*layout = *all->layout;
	layout->key = "*";
	t = nsx_add_table(out, layout);
	for (size_t i = 0; i < all->nrows; i++) {
		struct nsx_cell *row = nsx_row(t, err);

		if (!row)
			return err->rc;
		memcpy(row, nsx_row_at(all, i),
		       layout->ncols * sizeof(*row));
	}
	if (t->nrows) {
		nsx_md_heading(out, "What to do next");
		nsx_md_bullet(out, "%zu more, of little worth, %s in "
			      "`report.json` (`metrics.findings_minor`).",
			      t->nrows, t->nrows == 1 ? "is" : "are");
	}
	return 0;
}

NSX_DEFINE_PASS(findings_minor) {
	.id = "findings_minor",
	.summary = "findings beyond the first ten, or below 0.5 % of the window",
	.doc = "Findings that are worth less than 0.5 % of the steady window, "
	       "once those above them are taken out, and those beyond the "
	       "first ten.",
	.late = true,
	.run = run,
};
