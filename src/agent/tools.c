/* tools.c - arguments of the tools, and a call from its arguments to its answer. */
#include "agent/reply.h"
#include "agent/tools.h"
#include "diff/diff.h"
#include "nsysrep/nsysrep.h"
#include "schema/recapture.h"

/* Arguments -----------------------------------------------------------------------*/

enum arg_id { A_TRACE, A_QUESTION, A_ARGUMENT, A_BEFORE, A_AFTER, A_UNIT,
	      A_TRACES, A_SQL, A_PRESET, A_WINDOW, A_BUDGET, A_CURSOR, A_DETAIL, A_EXPECT,
	      NARGS };
enum arg_kind { K_STR, K_LIST, K_INT, K_QUESTION, K_DETAIL, K_PRESET };
#define OF(tool) (1u << NSX_TOOL_##tool)
#define OF_TRACE (OF(explain) | OF(ask) | OF(sql))
#define OF_ALL ((1u << NSX_NTOOLS) - 1)

static const struct arg {
	const char *name;
	enum arg_kind kind;
	/* The tools that take the argument, and those that require it: bits of OF(). */
	unsigned tools, needed_by;
	const char *help;
} args[NARGS] = {
	[A_TRACE] = {"trace", K_STR, OF_TRACE | OF(capture), OF_TRACE,
		     "path of a .nsys-rep report or .sqlite export of Nsight "
		     "Systems, under a root"},
	[A_QUESTION] = {"question", K_QUESTION, OF(ask), OF(ask),
			"what to ask"},
	[A_ARGUMENT] = {"argument", K_STR, OF(ask), 0,
			"what the question is about: a finding's key or number; "
			"A..B or an instant as reports print it (60.331s), in "
			"seconds from the first event (1.5) or nanoseconds "
			"(5ns); a name, regular expression, id or change "
			"(no:cudaMalloc, kernel:/gemm/:2x, host:inf; several "
			"at once: no:cudaMalloc; host:2x)"},
	[A_BEFORE] = {"before", K_LIST, OF(diff), OF(diff),
		      "captures before the change, of the same code"},
	[A_AFTER] = {"after", K_LIST, OF(diff), OF(diff),
		     "captures after the change"},
	[A_UNIT] = {"unit", K_STR, OF(diff), 0,
		    "what is compared: auto, nvtx:REGEX, kernel:REGEX, launch "
		    "or window"},
	[A_TRACES] = {"traces", K_LIST, OF(fleet), OF(fleet),
		      "traces, digests (.nsxd), or folders of them"},
	[A_SQL] = {"sql", K_STR, OF(sql), OF(sql), "one SELECT"},
	[A_PRESET] = {"preset", K_PRESET, OF(capture), 0,
		      "preset to record; if left out: all presets"},
	[A_WINDOW] = {"window", K_STR, OF(explain) | OF(ask), 0,
		      "judge this part only: A..B as reports print it (60.1s..60.2s), "
		      "phase:NAME or nvtx:NAME; if left out: the whole trace"},
	[A_BUDGET] = {"budget", K_INT, OF_ALL, 0,
		      "most tokens of the answer (500 to 16000)"},
	[A_CURSOR] = {"cursor", K_STR, OF_ALL, 0,
		      "truncated.cursor of an answer: continues where it ended"},
	[A_DETAIL] = {"detail", K_DETAIL, OF_ALL, 0,
		      "full: all digits and longer names"},
	[A_EXPECT] = {"expect_trace_id", K_STR, OF_TRACE, 0,
		      "refuse if the trace does not have this id"},
};

/* Whether a question has a tool of its own, as the verdict and SQL have. */
static bool is_asked_elsewhere(const struct nsx_question *q)
{
	return q == &nsx_questions[NSX_Q_verdict] || q == &nsx_questions[NSX_Q_sql];
}

enum { BRIEF, FULL, NDETAILS };
static const char *const details[NDETAILS] = {[BRIEF] = "brief", [FULL] = "full"};

static void put_arg_schema(struct nsx_jsonw *w, const struct arg *a)
{
	nsx_jsonw_object(w, a->name);
	nsx_jsonw_str(w, "type", a->kind == K_LIST ? "array" :
				 a->kind == K_INT  ? "integer" : "string");
	nsx_jsonw_str(w, "description", a->help);
	if (a->kind == K_LIST) {
		nsx_jsonw_str(w, "items.type", "string");
		nsx_jsonw_int(w, "minItems", 1);
	} else if (a->kind == K_INT) {
		nsx_jsonw_int(w, "minimum", NSX_REPLY_MIN_TOKENS);
		nsx_jsonw_int(w, "maximum", NSX_REPLY_MAX_TOKENS);
	} else if (a->kind != K_STR) {
		nsx_jsonw_array(w, "enum");
		for (unsigned i = 0; a->kind == K_DETAIL && i < NDETAILS; i++)
			nsx_jsonw_str(w, NULL, details[i]);
		for (unsigned i = 0; a->kind == K_QUESTION && i < NSX_NQUESTIONS; i++)
			if (!is_asked_elsewhere(&nsx_questions[i]))
				nsx_jsonw_str(w, NULL, nsx_questions[i].name);
		for (unsigned i = 0; a->kind == K_PRESET && i < NSX_NPRESETS; i++)
			nsx_jsonw_str(w, NULL, nsx_presets[i].name);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
}

void nsx_tool_input_schema(struct nsx_jsonw *w, const char *key, enum nsx_tool_id tool)
{
	nsx_jsonw_object(w, key);
	nsx_jsonw_str(w, "$schema", "https://json-schema.org/draft/2020-12/schema");
	nsx_jsonw_str(w, "type", "object");
	nsx_jsonw_object(w, "properties");
	for (unsigned i = 0; i < NARGS; i++)
		if (args[i].tools >> tool & 1)
			put_arg_schema(w, &args[i]);
	nsx_jsonw_end(w);
	nsx_jsonw_array(w, "required");
	for (unsigned i = 0; i < NARGS; i++)
		if (args[i].needed_by >> tool & 1)
			nsx_jsonw_str(w, NULL, args[i].name);
	nsx_jsonw_end(w);
	nsx_jsonw_bool(w, "additionalProperties", false);
	nsx_jsonw_end(w);
}

/* Calls ---------------------------------------------------------------------------*/

struct list { /* list of strings; v belongs to the call's arena */
	const char **v;
	size_t n;
};
struct call {
	struct nsx_toolbox *box;
	enum nsx_tool_id tool;
	const struct nsx_jsonr *in;
	const char *str[NARGS];
	bool is_full; /* value of argument A_DETAIL */
	struct list list[NARGS];
	int64_t budget;
	struct nsx_arena *arena;
	struct nsx_loaded *trace;
	enum nsx_tool_code code; /* reason for a refusal; NSX_NTOOL_CODES: derived from the error */
};

static bool tools_is_known(void *ctx, const char *key)
{
	const struct call *c = ctx;

	return NSX_ANY(i, NARGS, args[i].tools >> c->tool & 1 && !strcmp(args[i].name, key));
}

static int read_list(struct call *c, unsigned i, const struct nsx_jsonr *v, struct nsx_err *err)
{
	struct list *l = &c->list[i];

	l->n = nsx_jsonr_count(v);
	l->v = nsx_arena_get(c->arena, (l->n + 1) * sizeof(*l->v));
	for (size_t k = 0; k < l->n; k++) {
		l->v[k] = nsx_jsonr_str(nsx_jsonr_at(v, k));
		if (!l->v[k])
			return nsx_fail(err, NSX_E_USAGE, "'%s' must be a list "
					"of paths", args[i].name);
	}
	return 0;
}

static int read_arg(struct call *c, unsigned i, const struct nsx_jsonr *v, struct nsx_err *err)
{
	const struct arg *a = &args[i];

	if (a->kind == K_INT)
		return nsx_jsonr_int(v, &c->budget) &&
				       c->budget >= NSX_REPLY_MIN_TOKENS &&
				       c->budget <= NSX_REPLY_MAX_TOKENS ?
			       0 :
			       nsx_fail(err, NSX_E_USAGE, "'%s' must be a whole number from %d to "
					"%d", a->name, NSX_REPLY_MIN_TOKENS, NSX_REPLY_MAX_TOKENS);
	if (a->kind == K_LIST && nsx_jsonr_type(v) == NSX_J_ARRAY && nsx_jsonr_count(v))
		return read_list(c, i, v, err);
	c->str[i] = nsx_jsonr_str(v);
	if (a->kind == K_LIST || !c->str[i])
		return nsx_fail(err, NSX_E_USAGE, "'%s' must be %s", a->name,
				a->kind == K_LIST ? "a list of paths, not empty" :
						    "a string without a NUL");
	if (a->kind == K_DETAIL)
		c->is_full = !strcmp(c->str[i], details[FULL]);
	if (a->kind == K_DETAIL && !c->is_full && strcmp(c->str[i], details[BRIEF]) != 0)
		return nsx_fail(err, NSX_E_USAGE, "'detail' must be brief or "
				"full, not '%.80s'", c->str[i]);
	return 0;
}

static int fail_unknown_arg(const struct call *c, const char *unknown, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	for (unsigned i = 0; i < NARGS; i++)
		if (args[i].tools >> c->tool & 1)
			nsx_buf_printf(&b, "%s%s", b.n ? ", " : "", args[i].name);
	return nsx_fail(err, NSX_E_USAGE, "'%s' takes no argument '%.80s'; it takes %s",
			nsx_tools[c->tool].name, unknown, b.p);
}

static int tools_read_args(struct call *c, struct nsx_err *err)
{
	const char *unknown;

	if (c->in && nsx_jsonr_type(c->in) != NSX_J_OBJECT)
		return nsx_fail(err, NSX_E_USAGE, "the arguments of '%s' must "
				"be an object", nsx_tools[c->tool].name);
	unknown = c->in ? nsx_jsonr_find_key(c->in, tools_is_known, c) : NULL;
	if (unknown)
		return fail_unknown_arg(c, unknown, err);
	for (unsigned i = 0; i < NARGS; i++) {
		const struct nsx_jsonr *v = nsx_jsonr_get(c->in, args[i].name);

		if (v && read_arg(c, i, v, err))
			return err->rc;
		if (!v && args[i].needed_by >> c->tool & 1)
			return nsx_fail(err, NSX_E_USAGE, "'%s' needs '%s': %s",
					nsx_tools[c->tool].name, args[i].name, args[i].help);
	}
	return 0;
}

/* Finds the real path of a named file. Owner: the call's arena. */
static int find_file(struct call *c, const char *path, const char **ret, struct nsx_err *err)
{
	char real[PATH_MAX];

	switch (nsx_roots_find(&c->box->roots, path, real)) {
	case NSX_PLACE_INSIDE:
		*ret = nsx_arena_strdup(c->arena, real);
		return 0;
	case NSX_PLACE_OUTSIDE:
		c->code = NSX_OUTSIDE_ROOTS;
		return nsx_fail(err, NSX_E_DENIED, "'%.200s' lies outside the folders that this "
				"server may read; start it with --root to add one", path);
	default:
		c->code = NSX_NO_SUCH_TRACE;
		return nsx_fail(err, NSX_E_IO, "there is no file '%.200s' under "
				"the folders that this server may read", path);
	}
}

static int tools_find_files(struct call *c, unsigned i, struct nsx_err *err)
{
	struct list *l = &c->list[i];

	for (size_t k = 0; k < l->n; k++)
		if (find_file(c, l->v[k], &l->v[k], err))
			return err->rc;
	return 0;
}

static bool is_allowed(void *ctx, const char *path)
{
	char real[PATH_MAX];

	return nsx_roots_find(ctx, path, real) == NSX_PLACE_INSIDE;
}

static int load_trace(struct call *c, struct nsx_err *err)
{
	const char *path = NULL;
	struct nsx_loaded *l;

	if (find_file(c, c->str[A_TRACE], &path, err) ||
	    nsx_cache_get(&c->box->cache, path, c->str[A_WINDOW], &c->box->progress, &l, err))
		return err->rc;
	c->trace = l;
	if (c->str[A_EXPECT] && strcmp(c->str[A_EXPECT], l->id) != 0) {
		c->code = NSX_TRACE_CHANGED;
		return nsx_fail(err, NSX_E_USAGE, "'%.200s' is now another trace, with the id %s; "
				"earlier results may not hold for it", c->str[A_TRACE], l->id);
	}
	return 0;
}

static const struct nsx_question *asked_question(const struct call *c)
{
	return c->tool == NSX_TOOL_explain ? &nsx_questions[NSX_Q_verdict] :
	       c->tool == NSX_TOOL_sql	   ? &nsx_questions[NSX_Q_sql] :
					     nsx_question_find(c->str[A_QUESTION]);
}

/* Compares two sides. The suggested next questions name the traces as the caller named them. */
static int compare_sides(struct call *c, struct nsx_answer **ret, struct nsx_err *err)
{
	const struct list *before = &c->list[A_BEFORE], *after = &c->list[A_AFTER];
	const char *named[] = {after->v[0], before->v[0]};
	int rc;

	if (tools_find_files(c, A_BEFORE, err) || tools_find_files(c, A_AFTER, err))
		return err->rc;
	rc = nsx_answer_diff((const struct nsx_captures[]){{before->v, before->n},
							   {after->v, after->n}},
			     c->str[A_UNIT], &c->box->cache, ret, err);
	for (unsigned i = 0; !rc && i < (*ret)->nnext; i++)
		(*ret)->next[i].trace = named[i];
	return rc;
}

/* Compares ranks. Questions about one rank need its trace, so they are about the traces that
 * were named.
 */
static int compare_ranks(struct call *c, struct nsx_answer **ret, struct nsx_err *err)
{
	const struct list *l = &c->list[A_TRACES];
	const char *named[NSX_MAX_NEXT];
	unsigned n = 0;
	int rc;

	for (size_t i = 0; i < l->n && n < ARRAY_LEN(named); i++) {
		if (nsx_ends_with(l->v[i], ".sqlite") || nsx_has_report_name(l->v[i]))
			named[n++] = l->v[i];
	}
	if (tools_find_files(c, A_TRACES, err))
		return err->rc;
	rc = nsx_answer_fleet((char *const *)l->v, l->n, is_allowed,
			      &c->box->roots, &c->box->cache, ret, err);
	if (rc == NSX_E_DENIED)
		c->code = NSX_OUTSIDE_ROOTS;
	for (unsigned i = 0; !rc && i < n; i++) {
		nsx_answer_next(*ret, NSX_Q_verdict, NULL, "what costs time on this rank");
		(*ret)->next[i].trace = named[i];
	}
	return rc;
}

static int refuse_question(const char *name, const struct nsx_question *q, struct nsx_err *err)
{
	const char *nearest = nsx_question_nearest(name);

	if (q)
		return nsx_fail(err, NSX_E_USAGE, "'%s' has a tool of its own: %s", q->name,
				nsx_tools[q == &nsx_questions[NSX_Q_sql] ? NSX_TOOL_sql :
									   NSX_TOOL_explain].name);
	return nearest ? nsx_fail(err, NSX_E_USAGE, "no question '%.80s'; did you mean '%s'?",
				  name, nearest) :
			 nsx_fail(err, NSX_E_USAGE, "no question '%.80s'; see the list of "
				  "'question'", name);
}

static int tools_answer(struct call *c, struct nsx_answer **ret, struct nsx_err *err)
{
	const struct nsx_question *q;

	switch (c->tool) {
	case NSX_TOOL_diff:
		return compare_sides(c, ret, err);
	case NSX_TOOL_fleet:
		return compare_ranks(c, ret, err);
	case NSX_TOOL_capture:
		if (c->str[A_TRACE] && load_trace(c, err))
			return err->rc;
		return nsx_answer_capture(c->str[A_PRESET], c->trace ? c->trace->report : NULL,
					  ret, err);
	default:
		q = asked_question(c);
		if (!q || (c->tool == NSX_TOOL_ask && is_asked_elsewhere(q)))
			return refuse_question(c->str[A_QUESTION], q, err);
		if (load_trace(c, err))
			return err->rc;
		return nsx_ask(&c->trace->subject, q,
			       c->tool == NSX_TOOL_sql ? c->str[A_SQL] :
							 c->str[A_ARGUMENT],
			       NSX_REPLY_ROWS, ret, err);
	}
}

/* Results ------------------------------------------------------------------------- */

static void put_content(const struct call *c, const struct nsx_jsonw *doc,
			const struct nsx_buf *text, struct nsx_jsonw *w)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf copy = {0};
	struct nsx_err ignored;

	if (c->box->text_is_json)
		(void)!nsx_jsonw_add_to(doc, &copy, &ignored);
	else
		nsx_buf_add(&copy, text->p, text->n);
	nsx_jsonw_array(w, "content");
	nsx_jsonw_object(w, NULL);
	nsx_jsonw_str(w, "type", "text");
	nsx_jsonw_strn(w, "text", copy.p, copy.n);
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
	nsx_jsonw_part(w, "structuredContent", doc);
}

static int write_reply(struct call *c, struct nsx_jsonw *w, struct nsx_err *err)
{
	struct nsx_reply r = {
		.trace = c->str[A_TRACE], .window = c->str[A_WINDOW], .budget = c->budget,
		.is_full = c->is_full, .cursor = c->str[A_CURSOR]};
	struct nsx_answer *a = NULL;
	struct nsx_jsonw *doc = NULL;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf text = {0};
	int rc = tools_answer(c, &a, err);

	if (!rc && (OF_TRACE >> c->tool & 1))
		r.question = asked_question(c)->name;
	r.trace_id = c->trace ? c->trace->id : NULL;
	if (!rc)
		rc = nsx_reply_write(a, &r, &doc, &text, err);
	if (!rc)
		put_content(c, doc, &text, w);
	nsx_jsonw_free(doc);
	nsx_answer_free(a);
	return rc;
}

#define CODE(code) #code,
const char *const nsx_tool_codes[NSX_NTOOL_CODES] = {NSX_TOOL_CODES(CODE)};
#undef CODE

static enum nsx_tool_code refusal_code(const struct nsx_err *err)
{
	static const enum nsx_tool_code codes[] = {
		[-NSX_E_IO] = NSX_CANNOT_READ, [-NSX_E_DB] = NSX_BAD_SQL,
		[-NSX_E_SCHEMA] = NSX_NOT_SQLITE, [-NSX_E_DATA] = NSX_DAMAGED,
		[-NSX_E_NOMEM] = NSX_NO_MEMORY,
		[-NSX_E_USAGE] = NSX_BAD_ARGUMENT,
		[-NSX_E_DENIED] = NSX_SQL_NOT_SELECT,
		[-NSX_E_NAME] = NSX_BAD_COLUMN, [-NSX_E_SLOW] = NSX_TOO_SLOW,
		[-NSX_E_CLOSED] = NSX_CANNOT_READ};

	return codes[-err->rc];
}

/* Suggests traces under the roots if the call named no file below them. */
static void put_suggested_traces(const struct call *c, struct nsx_jsonw *w)
{
	enum { MOST = 5 };
	bool named_none = c->code == NSX_OUTSIDE_ROOTS || c->code == NSX_NO_SUCH_TRACE;
	size_t n = 0;
	const char **v = named_none ? nsx_roots_traces(&c->box->roots, MOST, c->arena, &n) : NULL;

	nsx_jsonw_array(w, "error.try");
	for (size_t i = 0; i < n; i++)
		nsx_reply_put_text(w, NULL, v[i], NSX_REPLY_FULL_CELL / 2);
	nsx_jsonw_end(w);
}

static void tools_refuse(const struct call *c, const struct nsx_err *why, struct nsx_jsonw *w)
{
	enum { MESSAGE = 600 };
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf said = {0};
	struct nsx_jsonw *doc = nsx_jsonw_new();
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf message = {0}, text = {0};
	const char *code = nsx_tool_codes[c->code != NSX_NTOOL_CODES ? c->code : refusal_code(why)];

	nsx_reply_as_tools(&said, why->msg, c->trace ? c->trace->id : NULL);
	nsx_reply_text(&message, said.p, MESSAGE);
	nsx_buf_printf(&text, "%s: %s", code, message.p);
	nsx_jsonw_object(doc, NULL);
	nsx_jsonw_str(doc, "error.code", code);
	nsx_jsonw_strn(doc, "error.message", message.p, message.n);
	put_suggested_traces(c, doc);
	nsx_jsonw_end(doc);
	put_content(c, doc, &text, w);
	nsx_jsonw_bool(w, "isError", true);
	nsx_jsonw_free(doc);
}

int nsx_tool_call(struct nsx_toolbox *t, enum nsx_tool_id tool,
		  const struct nsx_jsonr *arguments, struct nsx_jsonw *w, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *arena = nsx_arena_new();
	struct call c = {.box = t, .tool = tool, .in = arguments, .budget = t->budget,
			 .arena = arena, .code = NSX_NTOOL_CODES};
	int rc = tools_read_args(&c, err) ?: write_reply(&c, w, err);

	if (!rc || rc == NSX_E_STOP)
		return rc;
	tools_refuse(&c, err, w);
	return 0;
}
