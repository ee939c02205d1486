/* cmd_passes.c - lists the analyses and what they need. */
#include "cli/cmd_common.h"

static int cmd_passes_run(void *args NSX_UNUSED, int n, char **operands NSX_UNUSED,
			  struct nsx_err *err)
{
	static const struct nsx_schema nothing;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();

	if (n)
		return nsx_fail(err, NSX_E_USAGE, "'nsys-explain passes' takes no argument");
	for (unsigned i = 0; i < nsx_npasses; i++) {
		const struct nsx_pass *p = nsx_passes[i];
		const char *needs = nsx_pass_lacks(p, &nothing, a);

		printf("%s\n    %s\n", p->id, p->summary);
		if (p->title)
			printf("    title: %s\n", p->title);
		if (needs)
			printf("    needs: %s\n", needs);
	}
	return 0;
}

const struct nsx_cmd nsx_cmd_passes = {
	.name = "passes",
	.usage = "",
	.summary = "list the analyses: id, title, what they need",
	.doc = "Lists the analyses in the order of the report. The ids are those of --pass, --skip "
	       "and --explain, and the keys of report.json. An analysis whose needs a trace does "
	       "not meet says so in the report; 'nsys-explain schema TRACE' tells beforehand.",
	.examples = "nsys-explain passes",
	.run = cmd_passes_run,
};
