/* mcp_prompts.c - frequent questions as first messages, and settings for clients. */
#include "agent/mcp.h"
#include "agent/reply.h"

enum { MAX_ARGUMENTS = 2 };

static const struct prompt {
	const char *name, *title, *text;
	struct {
		const char *name, *help;
	} arg[MAX_ARGUMENTS];
	const char *ask; /* text of the message, with %s for each argument   */
} prompts[] = {
	{"why-slow", "Why is this run slow?",
	 "Find what costs most time in a trace, with evidence",
	 {{"trace", "path of the report or export"}},
	 "Explain where the time of the trace `%s` goes. Call nsys_explain, then follow `next` "
	 "until the most costly finding is proven or refuted. Give its cause, its cost and the "
	 "window of this cost, the evidence, and the change to make; say what the trace cannot "
	 "tell."},
	{"what-changed", "What changed between two captures?",
	 "Compare captures before and after a change",
	 {{"before", "path of the capture before"},
	  {"after", "path of the capture after"}},
	 "Compare `%s` (before) with `%s` (after) by nsys_diff. Say whether the change is proven, "
	 "how large it is with its interval, and where it is; look into the traces with nsys_ask "
	 "if the budget does not show why."},
	{"who-is-late", "Which rank is late?",
	 "Find the rank that the others of a job wait for",
	 {{"traces", "folder of the ranks' traces or digests"}},
	 "Find which ranks of the job in `%s` come late, by nsys_fleet. Say what this costs per "
	 "step, why they are late, and how certain this is; look into the late rank's own trace "
	 "with nsys_explain if it is there."},
};

void nsx_mcp_list_prompts(struct nsx_jsonw *w)
{
	nsx_jsonw_array(w, "prompts");
	for (size_t i = 0; i < ARRAY_LEN(prompts); i++) {
		const struct prompt *p = &prompts[i];

		nsx_jsonw_object(w, NULL);
		nsx_jsonw_str(w, "name", p->name);
		nsx_jsonw_str(w, "title", p->title);
		nsx_jsonw_str(w, "description", p->text);
		nsx_jsonw_array(w, "arguments");
		for (unsigned k = 0; k < MAX_ARGUMENTS && p->arg[k].name; k++) {
			nsx_jsonw_object(w, NULL);
			nsx_jsonw_str(w, "name", p->arg[k].name);
			nsx_jsonw_str(w, "description", p->arg[k].help);
			nsx_jsonw_bool(w, "required", true);
			nsx_jsonw_end(w);
		}
		nsx_jsonw_end(w);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
}

/* Appends the message with its arguments filled in. */
static int fill_in_prompt(const struct prompt *p, const struct nsx_jsonr *arguments,
			  struct nsx_buf *b, struct nsx_err *err)
{
	const char *s = p->ask, *mark;

	for (unsigned k = 0; (mark = strstr(s, "%s")); k++) {
		const char *v = nsx_jsonr_str(nsx_jsonr_get(arguments, p->arg[k].name));

		if (!v)
			return nsx_fail(err, NSX_E_USAGE, "the prompt %s needs the argument "
					"%s", p->name, p->arg[k].name);
		nsx_buf_add(b, s, (size_t)(mark - s));
		nsx_reply_text(b, v, NSX_REPLY_FULL_CELL);
		s = mark + 2;
	}
	nsx_buf_adds(b, s);
	return 0;
}

int nsx_mcp_get_prompt(const char *name, const struct nsx_jsonr *arguments,
		       struct nsx_jsonw *w, struct nsx_err *err)
{
	const struct prompt *p = prompts;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	while (p < prompts + ARRAY_LEN(prompts) && strcmp(p->name, name) != 0)
		p++;
	if (p == prompts + ARRAY_LEN(prompts))
		return nsx_fail(err, NSX_E_USAGE, "there is no prompt with this name");
	if (fill_in_prompt(p, arguments, &b, err))
		return err->rc;
	nsx_jsonw_str(w, "description", p->text);
	nsx_jsonw_array(w, "messages");
	nsx_jsonw_object(w, NULL);
	nsx_jsonw_str(w, "role", "user");
	nsx_jsonw_str(w, "content.type", "text");
	nsx_jsonw_str(w, "content.text", b.p);
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
	return 0;
}

/* Settings of clients ---------------------------------------------------------------*/

static const struct {
	const char *client, *before, *args, *root, *after;
} clients[] = {
	{"claude", "{\"mcpServers\": {\"nsys-explain\": {\"type\": \"stdio\", "
	 "\"command\": ", ", \"args\": [\"mcp\"", ".", "]}}}"},
	{"codex", "[mcp_servers.nsys-explain]\ncommand = ",
	 "\nargs = [\"mcp\"", ".", "]"},
	{"cursor", "{\"mcpServers\": {\"nsys-explain\": {\"command\": ",
	 ", \"args\": [\"mcp\"", "${workspaceFolder}", "]}}}"},
	{"vscode", "{\"servers\": {\"nsys-explain\": {\"type\": \"stdio\", \"command\": ",
	 ", \"args\": [\"mcp\"", "${workspaceFolder}", "]}}}"},
	{"gemini", "{\"mcpServers\": {\"nsys-explain\": {\"command\": ",
	 ", \"args\": [\"mcp\"", ".", "]}}}"},
};

/* Adds a string for JSON or TOML: a JSON string is also a TOML string. */
static int add_string(struct nsx_buf *b, const char *before, const char *text, struct nsx_err *err)
{
	struct nsx_jsonw *w = nsx_jsonw_new();
	int rc;

	nsx_jsonw_str(w, NULL, text);
	nsx_buf_printf(b, "%s", before);
	rc = nsx_jsonw_add_to(w, b, err);
	nsx_jsonw_free(w);
	return rc;
}

int nsx_mcp_config(const char *client, const char *program,
		   const char *const *roots, size_t nroots, struct nsx_buf *b, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf names = {0};
	const char *nearest = NSX_NEAREST(client, i, ARRAY_LEN(clients), clients[i].client);
	int rc = 1;

	for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
		nsx_buf_printf(&names, "%s%s", i ? ", " : "", clients[i].client);
		if (strcmp(client, clients[i].client) != 0)
			continue;
		rc = add_string(b, clients[i].before, program, err);
		nsx_buf_printf(b, "%s", clients[i].args);
		for (size_t k = 0; !rc && k < NSX_MAX(nroots, 1); k++)
			rc = add_string(b, ", \"--root\", ", nroots ?
					roots[k] : clients[i].root, err);
		nsx_buf_printf(b, "%s\n", clients[i].after);
	}
	if (rc > 0)
		rc = nsx_fail(err, NSX_E_USAGE, "no client '%s'; %sthe clients are: %s",
			      client, nsx_meant(nearest).text, names.p);
	return rc;
}
