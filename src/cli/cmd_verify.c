/* cmd_verify.c - tells whether the gains that the first report promised were achieved. */
#include <stdio.h>
#include "cli/cmd_common.h"
#include "diff/emit.h"
#include "diff/ledger.h"

struct args {
	int64_t finding, threads;
	const char *ledger;
};

#define OPT(...) NSX_OPT(struct args, __VA_ARGS__)
static const struct nsx_opt opts[] = {
	OPT(0, "finding", NULL, "N", INT, finding,
	    "only this finding, by its number in the report of BEFORE", .most = INFINITY),
	NSX_OPT_LEDGER(struct args),
	NSX_OPT_THREADS(struct args),
};

/* Prints the result. Returns whether there were promises and all were kept. */
static int cmd_verify_print(const struct nsx_diff *d, const struct args *a, struct nsx_err *err)
{
	struct nsx_promise all[NSX_MOST_PROMISES];
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *arena = nsx_arena_new();
	const struct nsx_side *before = d->sides[0][0];
	size_t n = nsx_diff_promised(d, all), kept = 0, m = 0;
	int rc = (size_t)a->finding <= before->nfindings ? 0 : nsx_fail(
		err, NSX_E_USAGE, "the report before has %zu findings, so none is number %lld",
		before->nfindings, (long long)a->finding);

	for (size_t i = 0; !rc && i < n; i++)
		if (!a->finding || all[i].finding == &before->findings[a->finding - 1])
			all[m++] = all[i];
	if (!rc)
		nsx_print_line(nsx_diff_headline(d, arena));
	for (size_t i = 0; i < m; i++) {
		nsx_print_line(nsx_promise_line(&all[i], arena));
		kept += all[i].kept;
	}
	if (!rc && !m)
		nsx_print_line(!nsx_knows_gain(d) ? "so what was won is not known" : a->finding ?
			       "this finding promised nothing, or is still there" :
			       "no finding of the first report is gone or halved");
	if (!rc && a->ledger)
		rc = nsx_ledger_append(a->ledger, all, m, err);
	return rc ? rc : !(m && kept == m);
}

static int cmd_verify_run(void *args, int n, char **operands, struct nsx_err *err)
{
	const struct args *a = args;
	struct nsx_diff_opts o = {.alpha = 0.05, .seed = 1, .side = {
		.last = -1, .device = -1, .rank = -1, .pid = -1,
		.threads = nsx_threads(a->threads)}};
	struct nsx_diff *d;
	int rc;

	if (n != 2)
		return nsx_fail(err, NSX_E_USAGE, "give two captures (%d given): "
				"nsys-explain verify BEFORE AFTER", n);
	for (unsigned s = 0; s < 2; s++)
		o.captures[s] = (struct nsx_captures){(const char *const *)operands + s, 1};
	if (nsx_diff_run(&o, &d, err))
		return err->rc;
	rc = cmd_verify_print(d, a, err);
	nsx_diff_free(d);
	return rc;
}

const struct nsx_cmd nsx_cmd_verify = {
	.name = "verify",
	.usage = "BEFORE AFTER [--finding N] [--ledger FILE]",
	.summary = "check whether the gains that the first report promised were won",
	.doc = "Looks at each finding of BEFORE that is gone in AFTER, or costs less than half "
	       "there, and says what it promised and what was won. If several are gone, the gain "
	       "of all of them together counts for each. A promise is kept if 0.8 to 1.25 times "
	       "as much was won, or an amount within its range.\n\n"
	       "Exit codes: 0 all promises were kept; 1 one was not kept, no finding is gone, or "
	       "the sides cannot be compared.",
	.opts = opts, .nopts = ARRAY_LEN(opts),
	.examples = "nsys-explain verify before.sqlite after.sqlite\n"
		    "nsys-explain verify before.sqlite after.sqlite --finding 1",
	NSX_ARGS(struct args),
	.run = cmd_verify_run,
};
