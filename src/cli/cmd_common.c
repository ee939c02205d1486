/* cmd_common.c - functions that several commands use. */
#include <errno.h>
#include <unistd.h>
#include "cli/cmd_common.h"
#include "emit/emit.h"

int nsx_cmd_fail(const struct nsx_err *err, bool json)
{
	struct nsx_err ignored;

	/* The reader is gone, as with `| head`, so there is no error to report. */
	if (err->rc == NSX_E_CLOSED)
		return 3;
	fprintf(stderr, "nsys-explain: %s\n", err->msg);
	if (json)
		(void)!nsx_emit_json_error(err, stdout, &ignored);
	return err->rc == NSX_E_USAGE || err->rc == NSX_E_DENIED || err->rc == NSX_E_NAME ? 2 : 3;
}

int nsx_flush_stdout(struct nsx_err *err)
{
	if (fflush(stdout) || ferror(stdout))
		return nsx_fail_write(err, errno, "cannot write to stdout");
	return 0;
}

int nsx_cmd_printed(int code)
{
	struct nsx_err err;

	return nsx_flush_stdout(&err) ? nsx_cmd_fail(&err, false) : code;
}

int nsx_cmd_run(const struct nsx_cmd *cmd, int argc, char **argv)
{
	NSX_AT_EXIT(nsx_free_at) char *args = nsx_alloc(1, cmd->args_size + 1);
	struct nsx_err err;
	int n, rc;

	if (cmd->defaults)
		memcpy(args, cmd->defaults, cmd->args_size);
	rc = nsx_opt_parse(cmd, argc, argv, args, &n, &err);
	if (!rc) {
		argv[n + 1] = NULL;
		rc = cmd->run(args, n, argv + 1, &err);
	}
	return rc >= 0 ? nsx_cmd_printed(rc) :
		nsx_cmd_fail(&err, NSX_ANY(i, cmd->nopts, cmd->opts[i].is_json &&
					   args[cmd->opts[i].offset]));
}

unsigned nsx_threads(int64_t asked)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return (unsigned)(asked ? asked : NSX_MAX(1, NSX_MIN(cpus, NSX_MAX_THREADS)));
}

static void cmd_common_put_line(FILE *out, const char *s)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf line = {0};

	nsx_buf_adds(&line, s);
	nsx_make_safe(line.p);
	fprintf(out, "%s\n", line.p);
}

void nsx_print_line(const char *s)
{
	cmd_common_put_line(stdout, s);
}

void nsx_say_failed_gate(const char *why)
{
	fputs("nsys-explain: ", stderr);
	cmd_common_put_line(stderr, why);
}

int nsx_cmd_partial(const char *why)
{
	if (!why)
		return 0;
	fputs("nsys-explain: this is of a part: ", stderr);
	cmd_common_put_line(stderr, why);
	return 4;
}
