/* negative_results.c - checks that found no problem, with their figures. */
#include "passes/pass.h"

static int negative_results_summarise(const struct nsx_run *run NSX_UNUSED,
				      const struct nsx_report *report, struct nsx_section *out,
				      struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_findings *l = &report->found;
	const char **list = nsx_arena_get(out->arena, (l->nfine + 1) * sizeof(*list));
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	if (l->nfine)
		memcpy(list, l->fine, l->nfine * sizeof(*list));
	nsx_put(out, "*", nsx_list(list));
	for (size_t i = 0; i < l->nfine; i++)
		nsx_buf_printf(&b, "%s%s", i ? " · " : "", list[i]);
	if (l->nfine)
		nsx_md_bullet(out, "%s", b.p);
	return 0;
}

NSX_DEFINE_SUMMARY(negative_results, .title = "Checked and fine",
	.summary = "checks that found nothing costly, with their numbers",
	.doc = "Each analysis lists here what it found to be harmless, with the number that shows "
	       "it.");
