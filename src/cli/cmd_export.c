/* cmd_export.c - writes a report's tables to a SQLite file, as nsys export does. */
#include "cli/cmd_common.h"
#include "cli/exported.h"
#include "nsysrep/nsysrep.h"

struct args {
	const char *out;
	bool quiet;
};

#define OPT(...) NSX_OPT(struct args, __VA_ARGS__)
static const struct nsx_opt opts[] = {
	OPT('o', "out", NULL, "F.sqlite", STR, out,
	    "the export (default: the report's name with .sqlite, in the working folder)"),
	OPT('q', "quiet", NULL, NULL, FLAG, quiet, "print no summary"),
};

static int export_report(const struct args *a, const char *report, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *arena = nsx_arena_new();
	const char *out = a->out ?: nsx_default_out(report, ".sqlite", arena);
	int rc = nsx_export(report, out, err);

	if (!rc && !a->quiet)
		printf("Wrote export to: %s\n", out);
	return rc;
}

static int cmd_export_run(void *args, int n, char **operands, struct nsx_err *err)
{
	int rc;

	if (n != 1 || !nsx_is_capture(operands[0]))
		return nsx_fail(err, NSX_E_USAGE, "give one report: nsys-explain "
				"export RUN.nsys-rep -o RUN.sqlite");
	rc = export_report(args, operands[0], err);
	if (rc > 0)
		(void)nsx_cmd_fail(err, false);
	return rc > 0 ? 4 : rc;
}

const struct nsx_cmd nsx_cmd_export = {
	.name = "export",
	.usage = "RUN.nsys-rep [-o RUN.sqlite]",
	.summary = "write a report's tables to SQLite, without nsys",
	.doc = "Writes what a report of nsys (.nsys-rep, .qdrep) holds as the SQLite tables that "
	       "nsys export makes, for other tools; this program itself reads reports as they are. "
	       "Tables without rows are left out, as nsys export --lazy=true does.\n\n"
	       "If the report is damaged, all that can be read is written, and the exit code is 4.",
	.examples = "nsys-explain export run.nsys-rep -o run.sqlite  # for other tools",
	.opts = opts,
	.nopts = ARRAY_LEN(opts),
	NSX_ARGS(struct args),
	.run = cmd_export_run,
};
