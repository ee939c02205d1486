/* cmd_mcp.c - the MCP server for agents. */
#include <unistd.h>
#include "agent/mcp.h"
#include "agent/reply.h"
#include "cli/cmd_common.h"

struct args {
	struct nsx_opt_list roots;
	const char *print_config;
	enum { TEXT_MD, TEXT_JSON } text;
	int64_t budget, cache_mb, threads;
	struct nsx_engine engine;
};

#define OPT(...) NSX_OPT(struct args, __VA_ARGS__)
static const struct nsx_opt opts[] = {
	OPT(0, "root", NULL, "DIR", LIST, roots,
	    "a folder whose traces may be read; may be repeated; default the working folder"),
	OPT(0, "budget", NULL, "TOKENS", INT, budget,
	    "what an answer may take where the call does not say (4000)",
	    .least = NSX_REPLY_MIN_TOKENS, .most = NSX_REPLY_MAX_TOKENS),
	OPT(0, "cache-mb", NULL, "N", INT, cache_mb,
	    "memory for traces that are kept between calls (2048)", .most = 1 << 30),
	OPT(0, "text", NULL, "WORD", WORD, text,
	    "text of an answer: md, a table, or json, a copy of the structure, "
	    "for clients that read nothing else", .words = "md or json"),
	NSX_OPTS_ENGINE(struct args),
	NSX_OPT_THREADS(struct args),
	OPT(0, "print-config", NULL, "CLIENT", STR, print_config,
	    "print what the settings of claude, codex, cursor, vscode or gemini need, and exit",
	    .words = "claude, codex, cursor, vscode or gemini"),
};

/* Prints a client's settings. Paths are absolute, because clients start servers in folders of their
 * own.
 */
static int print_config(const struct args *a, struct nsx_err *err)
{
	char program[4096];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char **roots = nsx_alloc(a->roots.n + 1, sizeof(*roots));
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	int rc = 0;

	program[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; i < a->roots.n && !rc; i++) {
		roots[i] = realpath(a->roots.v[i], NULL);
		if (!roots[i])
			rc = nsx_fail(err, NSX_E_USAGE, "there is no folder '%s' "
				      "for --root", a->roots.v[i]);
	}
	if (!rc)
		rc = nsx_mcp_config(a->print_config, n > 0 ? program :
				    "nsys-explain", (const char *const *)roots,
				    a->roots.n, &b, err);
	if (!rc)
		fwrite(b.p, 1, b.n, stdout);
	for (size_t i = 0; i < a->roots.n; i++)
		free(roots[i]);
	free(roots);
	return rc;
}

static int cmd_mcp_run(void *args, int n, char **operands NSX_UNUSED, struct nsx_err *err)
{
	struct args *a = args;
	struct nsx_mcp_opts o = {.in = 0, .out = 1, .like = {NSX_OPTS_DEFAULT},
				 .roots = a->roots.v, .nroots = a->roots.n,
				 .budget = a->budget,
				 .cache_bytes = (size_t)a->cache_mb << 20,
				 .text_is_json = a->text == TEXT_JSON,
				 .threads = nsx_threads(a->threads)};
	int rc;

	if (n)
		return nsx_fail(err, NSX_E_USAGE, "mcp takes no operand: the "
				"agent names the traces");
	if (a->print_config)
		return print_config(a, err);
	rc = nsx_engine_read(&a->engine, &o.like, err) ?: nsx_mcp_serve(&o, err);
	nsx_engine_done(&a->engine);
	return rc;
}

const struct nsx_cmd nsx_cmd_mcp = {
	.name = "mcp",
	.usage = "[--root DIR]... [OPTIONS]",
	.summary = "answer an agent's questions (Model Context Protocol)",
	.doc = "Serves the questions of 'ask', and diff, fleet and SQL, on stdin and stdout, to a "
	       "client of the Model Context Protocol (2024-11-05 to 2026-07-28). Traces stay in "
	       "memory between calls, and are read anew when they change. Answers fit a budget of "
	       "tokens and say what was left out.\n\n"
	       "Only files under the roots are read, wherever links lead; nothing is written, and "
	       "there is no network. Names from a trace are quoted: they are data of the traced "
	       "program.",
	.examples = "nsys-explain mcp --print-config claude  # for .mcp.json\n"
		    "nsys-explain mcp --root /data/traces --budget 2000",
	.opts = opts,
	.nopts = ARRAY_LEN(opts),
	NSX_ARGS(struct args, .budget = NSX_REPLY_TOKENS, .cache_mb = 2048),
	.run = cmd_mcp_run,
};
