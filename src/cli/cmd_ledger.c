/* cmd_ledger.c - how often promises were kept, by kind of finding. */
#include "cli/cmd_common.h"
#include "diff/ledger.h"

static int cmd_ledger_print(const char *const *paths, size_t n, struct nsx_arena *a,
			    struct nsx_err *err)
{
	struct nsx_ledger_row *v;
	size_t nrows;

	if (nsx_ledger_sum(paths, n, a, &v, &nrows, err))
		return err->rc;
	printf("%-28s %9s %6s %17s\n", "finding", "promises", "kept", "won ÷ promised");
	for (size_t i = 0; i < nrows; i++)
		nsx_print_line(nsx_arena_printf(a, "%-28s %9zu %4.0f %% %16.2f", v[i].kind,
			v[i].n, 100 * (double)v[i].kept / (double)v[i].n, v[i].won));
	return 0;
}

static int cmd_ledger_run(void *args NSX_UNUSED, int n, char **operands, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();

	if (!n)
		return nsx_fail(err, NSX_E_USAGE, "give the ledgers to sum up: nsys-explain "
				"ledger FILE...");
	return cmd_ledger_print((const char *const *)operands, (size_t)n, a, err);
}

const struct nsx_cmd nsx_cmd_ledger = {
	.name = "ledger",
	.usage = "FILE...",
	.summary = "show how often findings kept what they promised",
	.doc = "Sums up what verify --ledger and diff --ledger wrote, by kind of finding: "
	       "how many promises there were, how many were kept, and the median of what "
	       "was won, where 1 is all that was promised.",
	.examples = "nsys-explain verify before.sqlite after.sqlite --ledger won.tsv  # one "
		    "line for each finding\n"
		    "nsys-explain ledger won.tsv  # after some changes",
	.run = cmd_ledger_run,
};
