/* negative_results.c - what was checked and is not a problem, with its number. */
#include "passes/pass.h"

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	const struct nsx_report *r = run->report;
	const char **list;
	size_t n = 0;

	(void)err;
	for (size_t i = 0; i < r->nsections; i++)
		n += r->sections[i].ncleared;
	list = nsx_arena_get(out->arena, (n + 1) * sizeof(*list));
	n = 0;
	for (size_t i = 0; i < r->nsections; i++)
		for (size_t k = 0; k < r->sections[i].ncleared; k++)
			list[n++] = r->sections[i].cleared[k];
	nsx_put(out, "*", nsx_list(list));
	for (size_t i = 0; i < n; i++)
		nsx_md_bullet(out, "%s", list[i]);
	if (!n)
		nsx_md_bullet(out, "Nothing: no analysis could clear anything "
			      "on this trace.");
	return 0;
}

NSX_DEFINE_PASS(negative_results) {
	.id = "negative_results",
	.title = "Checked, not a problem",
	.summary = "what was checked and costs nothing, with its number",
	.doc = "Each analysis says here what it found to be harmless, and by "
	       "which number.",
	.late = true,
	.run = run,
};
