/* findings_minor.c - findings after the first ten or below the noise. */
#include "passes/verdict/findings_table.h"

static int findings_minor_summarise(const struct nsx_run *run NSX_UNUSED,
				    const struct nsx_report *report, struct nsx_section *out,
				    struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_table *t = nsx_findings_table(report, out, true);

	if (t->nrows) {
		nsx_md_heading(out, "Findings in full");
		nsx_md_bullet(out, "%s in `report.json` (`metrics.findings_minor`).",
			      nsx_text_n(out->arena, t->nrows, "more finding, worth little, is",
					 "more findings, worth little, are"));
	}
	return 0;
}

NSX_DEFINE_SUMMARY(findings_minor,
	.summary = "findings beyond the first ten, or below 0.5 % of the window",
	.doc = "Findings that are worth less than 0.5 % of the steady window once the ones above "
	       "them are applied, and those beyond the first ten.",
	.more = (const struct nsx_layout *const[]){&nsx_findings_layout, NULL}, .is_verdict = true);
