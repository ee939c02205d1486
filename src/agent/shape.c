/* shape.c - a document as a list of paths, and that list as a JSON Schema. */
#include <stdio.h>
#include "agent/reply.h"
#include "agent/shape.h"
#include "diff/emit.h"
#include "facts/replay/replay.h"
#include "fleet/report.h"

struct key {
	const char *of; /* name of the rows in keys.def, or a table's key    */
	const char *path;
	enum nsx_type type;
	const char *help;
	const char *rows; /* TABLE: name of its rows in keys.def; NULL: see layout */
	const struct nsx_layout *layout; /* layout of the rows; both NULL: rows are not described */
};
static const struct listed {
	const char *of;
	struct key key;
} listed[] = {
#define NSX_KEY(in, name, kind, ...)                                          \
	{in, {.of = in, .path = name, .type = NSX_T_##kind,                   \
	      .help = __VA_ARGS__}},
#include "agent/keys.def"
#undef NSX_KEY
};

struct shape {
	struct key *v;
	size_t n, cap;
	bool is_reply; /* the document is a reply to an agent, which leaves out unknown values */
	bool is_several; /* the document is about several traces, each of which may lack a figure */
	struct nsx_arena *arena;
};

/* Words -----------------------------------------------------------------------*/

#define NSX_FINDING(id, category) #id,
#define NSX_CAUSE(id, name, category)
static const char *const finding_ids[] = {
#include "report/finding.def"
};
#undef NSX_FINDING
#undef NSX_CAUSE
#define NSX_QUESTION(id, text, ...) text,
static const char *const questions[] = {
#include "agent/questions.def"
};
#undef NSX_QUESTION
#define NSX_TOOL(id, name, title, text) name,
static const char *const tools[] = {
#include "agent/tools.def"
};
#undef NSX_TOOL

/* Sets of words for keys whose texts come from a fixed set. */
static const struct closed {
	const char *of; /* object that has the key; NULL: all objects        */
	const char *key;
	const char *const *words;
	unsigned n;
} closed[] = {
	{NULL, "severity", nsx_severity_names, NSX_SEV_HIGH + 1},
	{NULL, "confidence", nsx_confidence_names, NSX_CONF_HIGH + 1},
	{NULL, "price", nsx_price_names, NSX_PRICE_REPLAYED + 1},
	{NULL, "barrier_kind", nsx_barrier_names, NSX_NBARRIERS},
	{NULL, "top_barrier_kind", nsx_barrier_names, NSX_NBARRIERS},
	{"*", "id", finding_ids, ARRAY_LEN(finding_ids)},
	{"*", "category", nsx_category_names, NSX_CAT_CAPTURE + 1},
	{"run_phases", "run", nsx_run_kind_names, NSX_RUN_NO_GPU + 1},
	{"cuda_graphs", "mode", nsx_graph_modes, NSX_GRAPH_MIXED + 1},
	{"what_if", "class", nsx_closure_names, NSX_CONF_HIGH + 2},
	{"iterations", "method", nsx_way_methods + NSX_WAY_NVTX, NSX_WAY_GAPS},
	{"windows", "method", nsx_steady_methods + 1, NSX_NSTEADY - 1},
	{"brief", "word", nsx_verdict_words, NSX_NVERDICTS},
	{"diff", "verdict", nsx_verdict_names, NSX_V_INCONCLUSIVE + 1},
	{"diff gpu", "verdict", nsx_verdict_names, NSX_V_INCONCLUSIVE + 1},
	{"nsys_explain", "verdict", nsx_verdict_words, NSX_NVERDICTS},
	{"nsys_explain", "first", nsx_verdict_words, NSX_NVERDICTS},
	{"nsys_explain", "second", nsx_verdict_words, NSX_NVERDICTS},
	{"nsys_diff", "verdict", nsx_verdict_names, NSX_V_INCONCLUSIVE + 1},
	{"answer", "kind", nsx_window_kinds, NSX_NWINDOW_KINDS},
	{"answer", "question", questions, ARRAY_LEN(questions)},
	{"answer", "code", nsx_tool_codes, NSX_NTOOL_CODES},
	{"call", "tool", tools, ARRAY_LEN(tools)},
};

/* Keys whose value may be null, because a trace may lack it. */
static const char nullable[] =
#define NSX_NULLABLE(why, names) " " names " "
#include "agent/nullable.def"
#undef NSX_NULLABLE
	;

/* The last part of a path, without its mark ("?" or "&"). */
static const char *last_part(const struct key *k, size_t *n)
{
	const char *dot = strrchr(k->path, '.');
	const char *name = dot ? dot + 1 : k->path;

	*n = strcspn(name, "?&");
	return name;
}

static bool has_last_part(const struct key *k, const char *name)
{
	size_t n;
	const char *text = last_part(k, &n);

	return n == strlen(name) && !memcmp(text, name, n);
}

static const struct closed *word_set_of(const struct key *k)
{
	return NSX_FIRST(i, k->type == NSX_T_STR ? ARRAY_LEN(closed) : 0,
			 has_last_part(k, closed[i].key) &&
			 (!closed[i].of || (k->of && !strcmp(k->of, closed[i].of))),
			 &closed[i], NULL);
}

/* Whether a key is a share, rate or mean, which is null if its divisor is 0. Times always exist. */
static bool can_divisor_be_zero(const struct key *k)
{
	size_t n;
	const char *name = last_part(k, &n);

	return k->type == NSX_T_F64 &&
	       (n < 3 || (memcmp(name + n - 3, "_ms", 3) != 0 &&
			  memcmp(name + n - 3, "_us", 3) != 0));
}

static bool may_be_null(const struct shape *s, const struct key *k)
{
	char word[64], scoped[128];
	size_t n;
	const char *name = last_part(k, &n);

	snprintf(word, sizeof(word), " %.*s ", (int)n, name);
	snprintf(scoped, sizeof(scoped), " %s.%.*s ", k->of ? k->of : "", (int)n, name);
	return !s->is_reply && nsx_is_scalar(k->type) &&
	       (can_divisor_be_zero(k) || (s->is_several && k->type == NSX_T_F64) ||
		strstr(nullable, word) || strstr(nullable, scoped));
}

/* Lists of paths ------------------------------------------------------------------*/

static void shape_done(struct shape *s)
{
	free(s->v);
	nsx_arena_free(s->arena);
}

static void append_key(struct shape *s, const char *path, const struct key *k)
{
	nsx_push_or_die(s->v, s->n, s->cap, *k);
	s->v[s->n - 1].path = path;
}

/* Appends a path to base and marks its parts: base.a&.b& for a.b. "*" is the base itself. */
static const char *append_marked_path(struct shape *s, const char *base, const char *path,
				      char mark)
{
	struct nsx_buf b = {0};

	nsx_buf_adds(&b, base);
	for (size_t n; *path && strcmp(path, "*") != 0; path += n) {
		path += *path == '.';
		n = strcspn(path, ".");
		nsx_buf_printf(&b, "%s%.*s", b.n ? "." : "", (int)n, path);
		if (*path != '*' && path[n - 1] != '?')
			nsx_buf_add(&b, &mark, 1);
	}
	return nsx_buf_keep(&b, s->arena);
}

static void shape_add_listed(struct shape *s, const char *of, const char *base)
{
	for (size_t i = 0; i < ARRAY_LEN(listed); i++) {
		const struct key *k = &listed[i].key;

		if (strcmp(listed[i].of, of) != 0)
			continue;
		if (*k->path)
			append_key(s, nsx_arena_printf(s->arena, "%s%s", base, k->path), k);
		else
			shape_add_listed(s, k->rows, base);
	}
}

static void add_layout(struct shape *s, const char *path, const struct nsx_layout *l)
{
	append_key(s, path, &(struct key){.type = NSX_T_TABLE, .layout = l});
}

static void add_columns(struct shape *s, const struct nsx_layout *l)
{
	for (unsigned i = 0; i < l->ncols; i++) {
		const struct nsx_col *c = &l->cols[i];

		append_key(s, s->is_reply && *c->key != '*' ?
			       append_marked_path(s, "", c->key, '?') : c->key,
			  &(struct key){.of = l->key, .type = c->type,
					     .help = c->help,
					     .layout = c->rows});
	}
}

/* Adds a section: an object, a value or a table. Its keys are required if the section says that it
 * is present, or never says so.
 */
static void add_pass(struct shape *s, const struct nsx_pass *p, const char *in, bool is_whole)
{
	const char *name = p->json ? p->json : p->id, *inner = strchr(name, '.');
	size_t n = inner ? (size_t)(inner - name) : strlen(name);
	const char *base = nsx_arena_printf(s->arena, "%s%s%.*s?", in,
					    *in ? "." : "", (int)n, name);
	const struct nsx_layout *l;
	bool is_bare = false;

	if (inner)
		base = append_marked_path(s, base, inner + 1, '&');
	for (size_t i = 0; i < ARRAY_LEN(listed); i++)
		if (!strcmp(listed[i].of, p->id)) {
			append_key(s, append_marked_path(s, base, listed[i].key.path, '&'),
				   &listed[i].key);
			is_bare |= *listed[i].key.path == '*';
		}
	for (unsigned i = 0; (l = nsx_pass_layout(p, i)); i++)
		if (l->key && l->json_rows != NSX_NOT_IN_JSON) {
			add_layout(s, append_marked_path(s, base, l->key, '&'), l);
			is_bare |= *l->key == '*';
		}
	if (is_whole && !is_bare)
		shape_add_listed(s, "section", nsx_arena_printf(s->arena, "%s.", base));
	if (is_whole && p->may_be_null)
		append_key(s, base, &(struct key){.type = NSX_T_NULL});
}

static void add_report(struct shape *s)
{
	for (unsigned i = 0; i < 2 * nsx_npasses; i++) {
		const struct nsx_pass *p = nsx_passes[i % nsx_npasses];

		/* A section inside another one comes after it. */
		if ((p->json != NULL) == (i >= nsx_npasses))
			add_pass(s, p, p->is_top ? "" : "metrics", !p->is_top);
	}
}

static void add_diff(struct shape *s)
{
	s->is_several = true;
	for (unsigned i = 0; i < NSX_NDT; i++) {
		const struct nsx_layout *l = &nsx_diff_layouts[i];

		for (unsigned k = 0; i == NSX_DT_FINDINGS && k < NSX_NAPPEARANCES; k++)
			add_layout(s, nsx_arena_printf(s->arena, "%s.%s", l->key,
				nsx_appearance_names[k]), l);
		if (i != NSX_DT_FINDINGS && l->json_rows != NSX_NOT_IN_JSON)
			add_layout(s, l->key, l);
	}
}

static void shape_add_fleet(struct shape *s)
{
	s->is_several = true;
	for (unsigned i = 0; i < NSX_NFTABLES; i++)
		if (nsx_fleet_layouts[i].key)
			add_layout(s, nsx_arena_printf(s->arena,
				"metrics.fleet.%s", nsx_fleet_layouts[i].key),
				&nsx_fleet_layouts[i]);
}

/* Schemas -------------------------------------------------------------------------*/

struct node { /* a part of paths */
	const char *name;
	char mark; /* '?' or '&'; '.': none                                  */
	const struct key *leaf; /* the key that has this path; NULL: only keys below it are known */
	bool or_null;
	struct node *children, *next;
};

static void put_object(struct nsx_jsonw *w, const struct shape *s, const struct node *in,
		       bool or_null);
static const struct node *build_path_tree(const struct shape *s);

static void put_schema_type(struct nsx_jsonw *w, const char *type, bool or_null)
{
	if (!or_null) {
		nsx_jsonw_str(w, "type", type);
		return;
	}
	nsx_jsonw_array(w, "type");
	nsx_jsonw_str(w, NULL, type);
	nsx_jsonw_str(w, NULL, "null");
	nsx_jsonw_end(w);
}

static void put_leaf_schema(struct nsx_jsonw *w, const struct shape *s, const struct key *k,
			    bool or_null);

/* Writes the schema of a row. of: shape of the document that has the key. */
static void shape_put_row(struct nsx_jsonw *w, const struct shape *of, const struct key *k)
{
	NSX_AT_EXIT(shape_done) struct shape s = {.is_reply = of->is_reply,
						  .is_several = of->is_several,
						  .arena = nsx_arena_new()};

	if (k->rows)
		shape_add_listed(&s, k->rows, "");
	else
		add_columns(&s, k->layout);
	/* Several tables of a reply may share a key. */
	for (size_t i = 0; of->is_reply && i < of->n; i++)
		if (&of->v[i] != k && of->v[i].layout && !strcmp(of->v[i].path, k->path))
			add_columns(&s, of->v[i].layout);
	nsx_jsonw_object(w, "items");
	if (*s.v[0].path == '*')
		put_leaf_schema(w, &s, &s.v[0], false);
	else
		put_object(w, &s, build_path_tree(&s), false);
	nsx_jsonw_end(w);
}

static void put_word_set(struct nsx_jsonw *w, const struct closed *c, bool or_null)
{
	nsx_jsonw_array(w, "enum");
	for (unsigned i = 0; i < c->n; i++)
		if (c->words[i])
			nsx_jsonw_str(w, NULL, c->words[i]);
	if (or_null)
		nsx_jsonw_null(w, NULL);
	nsx_jsonw_end(w);
}

/* Whether a key holds a process or a device: a number, or a text (nsx_pid_cell and
 * nsx_device_cell).
 */
static bool names_owner(const struct key *k)
{
	size_t n;
	const char *name = last_part(k, &n);

	if (*name == '*')
		return k->of && strstr(k->of, "_pids_");
	return k->type == NSX_T_I64 && ((n >= 3 && !memcmp(name + n - 3, "pid", 3)) ||
					has_last_part(k, "process") ||
					has_last_part(k, "device_id"));
}

static void put_leaf_schema(struct nsx_jsonw *w, const struct shape *s, const struct key *k,
			    bool or_null)
{
	static const char *const types[] = {
		[NSX_T_I64] = "integer", [NSX_T_F64] = "number",
		[NSX_T_STR] = "string", [NSX_T_BOOL] = "boolean",
		[NSX_T_LIST] = "array", [NSX_T_TABLE] = "array"};
	const struct closed *c = word_set_of(k);

	or_null |= may_be_null(s, k);
	if (names_owner(k)) {
		nsx_jsonw_array(w, "anyOf");
		nsx_jsonw_object(w, NULL);
		put_schema_type(w, "integer", or_null);
		nsx_jsonw_end(w);
		nsx_jsonw_object(w, NULL);
		put_schema_type(w, "string", or_null);
		nsx_jsonw_end(w);
		nsx_jsonw_end(w);
	} else if (k->type != NSX_T_NULL) {
		put_schema_type(w, types[k->type], or_null);
	}
	if (c)
		put_word_set(w, c, or_null);
	if (k->help)
		nsx_jsonw_str(w, "description", k->help);
	if (k->type == NSX_T_LIST)
		nsx_jsonw_str(w, "items.type", "string");
	else if (k->rows || k->layout)
		shape_put_row(w, s, k);
}

/* Finds the child of that name, or adds one after the others. */
static struct node *child_named(struct nsx_arena *a, struct node *in, const char *part, size_t n)
{
	struct node **at = &in->children;

	while (*at && (strncmp((*at)->name, part, n) != 0 || (*at)->name[n]))
		at = &(*at)->next;
	if (!*at) {
		*at = nsx_arena_get(a, sizeof(**at));
		(*at)->name = nsx_arena_printf(a, "%.*s", (int)n, part);
		(*at)->mark = part[n] == '?' || part[n] == '&' ? part[n] : '.';
	}
	return *at;
}

/* Makes a tree of the list of paths. */
static const struct node *build_path_tree(const struct shape *s)
{
	struct node *root = nsx_arena_get(s->arena, sizeof(*root));

	for (size_t i = 0; i < s->n; i++) {
		struct node *at = root;

		for (const char *part = s->v[i].path; *part; part += strspn(part, "?&.")) {
			size_t n = strcspn(part, "?&.");

			at = child_named(s->arena, at, part, n);
			part += n;
		}
		at->or_null |= s->v[i].type == NSX_T_NULL;
		if (!at->leaf || at->leaf->type == NSX_T_NULL)
			at->leaf = &s->v[i];
	}
	return root;
}

static void put_node_schema(struct nsx_jsonw *w, const struct shape *s, const struct node *n)
{
	if (n->children && n->leaf && n->leaf->type != NSX_T_NULL) {
		nsx_jsonw_array(w, "anyOf");
		nsx_jsonw_object(w, NULL);
		put_leaf_schema(w, s, n->leaf, n->or_null);
		nsx_jsonw_end(w);
		nsx_jsonw_object(w, NULL);
		put_object(w, s, n, n->or_null);
		nsx_jsonw_end(w);
		nsx_jsonw_end(w);
	} else if (n->children) {
		put_object(w, s, n, n->or_null);
	} else if (n->leaf) {
		put_leaf_schema(w, s, n->leaf, n->or_null);
	}
}

/* Lists the required children, which have a given mark. */
static void put_required(struct nsx_jsonw *w, const struct node *in, char mark)
{
	nsx_jsonw_array(w, "required");
	for (const struct node *n = in->children; n; n = n->next)
		if (n->mark == mark && *n->name != '*')
			nsx_jsonw_str(w, NULL, n->name);
	nsx_jsonw_end(w);
}

/* Requires all parts of a section that is present. */
static void put_if_present(struct nsx_jsonw *w, const struct node *in)
{
	bool has_parts = false, has_present = false;

	for (const struct node *n = in->children; n; n = n->next) {
		has_parts |= n->mark == '&';
		has_present |= !strcmp(n->name, "present");
	}
	if (!has_parts || !has_present)
		return;
	nsx_jsonw_bool(w, "if.properties.present.const", true);
	nsx_jsonw_array(w, "if.required");
	nsx_jsonw_str(w, NULL, "present");
	nsx_jsonw_end(w);
	nsx_jsonw_object(w, "then");
	/* The validator ajv demands that required keys are defined. */
	nsx_jsonw_object(w, "properties");
	for (const struct node *n = in->children; n; n = n->next)
		if (n->mark == '&')
			nsx_jsonw_bool(w, n->name, true);
	nsx_jsonw_end(w);
	put_required(w, in, '&');
	nsx_jsonw_end(w);
}

static void put_object(struct nsx_jsonw *w, const struct shape *s, const struct node *in,
		       bool or_null)
{
	put_schema_type(w, "object", or_null);
	nsx_jsonw_object(w, "properties");
	for (const struct node *n = in->children; n; n = n->next) {
		if (*n->name == '*')
			continue;
		nsx_jsonw_object(w, n->name);
		put_node_schema(w, s, n);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
	put_required(w, in, '.');
	put_if_present(w, in);
	for (const struct node *n = in->children; n; n = n->next) {
		if (*n->name != '*')
			continue;
		nsx_jsonw_object(w, "additionalProperties");
		put_node_schema(w, s, n);
		nsx_jsonw_end(w);
	}
}

void nsx_shape_put(struct nsx_jsonw *w, const char *key, const char *of)
{
	NSX_AT_EXIT(shape_done) struct shape s = {.is_reply = true, .arena = nsx_arena_new()};

	shape_add_listed(&s, of, "");
	shape_add_listed(&s, "open answer", "");
	nsx_jsonw_object(w, key);
	put_object(w, &s, build_path_tree(&s), false);
	nsx_jsonw_end(w);
}

/* Documents -----------------------------------------------------------------------*/

static const struct {
	const char *name, *title;
	/* Adds the keys besides those of this name in keys.def; NULL: none. */
	void (*add)(struct shape *s);
	bool is_list; /* the rows of findings */
} documents[] = {
	{"report", "A report (report.json)", add_report, false},
	{"brief", "The first page of a report (--brief)", NULL, false},
	{"diff", "A comparison (diff.json)", add_diff, false},
	{"fleet", "A report of many ranks (report.json)", shape_add_fleet, false},
	{"findings", "The findings of a report", NULL, true},
};

const char *nsx_shape_name(unsigned i, struct nsx_arena *a)
{
	unsigned n = ARRAY_LEN(documents);

	return i < n ? documents[i].name :
	       i < n + NSX_NTOOLS ?
		       nsx_arena_printf(a, "tool:%s", nsx_tools[i - n].name) :
		       NULL;
}

static void put_document(struct nsx_jsonw *w, unsigned i)
{
	NSX_AT_EXIT(shape_done) struct shape s = {.arena = nsx_arena_new()};

	nsx_jsonw_str(w, "title", documents[i].title);
	if (!documents[i].is_list) {
		shape_add_listed(&s, documents[i].name, "");
		if (documents[i].add)
			documents[i].add(&s);
		put_object(w, &s, build_path_tree(&s), false);
	} else {
		put_schema_type(w, "array", false);
		shape_put_row(w, &s, &(struct key){.layout = nsx_pass_layout(
			      nsx_pass_find("findings_minor"), 0)});
	}
}

static void add_reply_table(struct shape *s, const char *in, const char *key,
			    const struct nsx_layout *l)
{
	bool has_key = key && strcmp(key, "*") != 0;

	add_layout(s, append_marked_path(s, append_marked_path(s, "tables?", in, '?'), has_key ?
					 key : "rows", '?'), l);
}

/* Adds a section to the answers of `ask section`. in: the section that holds it, if both are asked
 * for together.
 */
static void shape_add_section(struct shape *s, const struct nsx_pass *p, const char *in)
{
	const struct nsx_layout *l;

	for (size_t k = 0; k < ARRAY_LEN(listed); k++) {
		const char *path = listed[k].key.path;

		if (!strcmp(listed[k].of, p->id) && (strchr(path, '*') || listed[k].key.type) &&
		    nsx_is_scalar(listed[k].key.type))
			append_key(s, append_marked_path(s,
					append_marked_path(s, "values?", in, '?'),
					strcmp(path, "*") ? path : "value", '?'), &listed[k].key);
	}
	for (unsigned k = 0; (l = nsx_pass_layout(p, k)); k++)
		if (l->json_rows != NSX_NOT_IN_JSON)
			add_reply_table(s, in, l->key, l);
}

/* Adds figures and tables of all sections, asked for alone or with the section that holds them. */
static void shape_add_sections(struct shape *s)
{
	for (unsigned i = 0; i < nsx_npasses; i++) {
		const struct nsx_pass *p = nsx_passes[i];
		const char *dot = p->json ? strchr(p->json, '.') : NULL;

		shape_add_section(s, p, "");
		for (; dot; dot = strchr(dot + 1, '.'))
			shape_add_section(s, p, dot + 1);
	}
}

/* Adds tables and values of a tool's answers. Only the rows of a SELECT may have arbitrary
 * columns.
 */
static void add_reply(struct shape *s, enum nsx_tool_id tool)
{
	static const struct {
		enum nsx_tool_id tool;
		const char *key; /* NULL: the layout's key                   */
		const struct nsx_layout *layout;
	} tables[] = {
		{NSX_TOOL_explain, NULL, &nsx_verdict_layout},
		{NSX_TOOL_ask, NULL, &nsx_asked_findings_layout},
		{NSX_TOOL_ask, NULL, &nsx_instances_layout},
		{NSX_TOOL_ask, NULL, &nsx_changes_layout},
		{NSX_TOOL_ask, NULL, &nsx_sections_layout},
		{NSX_TOOL_ask, NULL, &nsx_at_layout},
		{NSX_TOOL_ask, NULL, &nsx_gap_layout},
		{NSX_TOOL_ask, NULL, &nsx_kernel_shape_layout},
		{NSX_TOOL_ask, "operations", &nsx_sums_layout},
		{NSX_TOOL_ask, "idle", &nsx_sums_layout},
		{NSX_TOOL_ask, "operations", &nsx_shares_layout},
		{NSX_TOOL_ask, "launchers", &nsx_sums_layout},
		{NSX_TOOL_ask, "launchers", &nsx_shares_layout},
		{NSX_TOOL_ask, "calls", &nsx_sums_layout},
		{NSX_TOOL_ask, "ranges", &nsx_sums_layout},
		{NSX_TOOL_ask, "os_calls", &nsx_sums_layout},
		{NSX_TOOL_diff, NULL, &nsx_step_layout},
		{NSX_TOOL_capture, NULL, &nsx_presets_layout},
		{NSX_TOOL_capture, NULL, &nsx_lack_layout},
	};

	shape_add_listed(s, "answer", "");
	shape_add_listed(s, nsx_tools[tool].name, "values?.");
	for (unsigned i = 0; i < ARRAY_LEN(tables); i++)
		if (tables[i].tool == tool)
			add_reply_table(s, "", tables[i].key ? tables[i].key :
						       tables[i].layout->key, tables[i].layout);
	for (unsigned i = 0; tool == NSX_TOOL_diff && i < NSX_NDT; i++)
		add_reply_table(s, "", nsx_diff_layouts[i].key, &nsx_diff_layouts[i]);
	for (unsigned i = 0; tool == NSX_TOOL_fleet && i < NSX_NFTABLES; i++)
		add_reply_table(s, "", nsx_fleet_layouts[i].key, &nsx_fleet_layouts[i]);
	if (tool == NSX_TOOL_ask)
		shape_add_sections(s);
	if (tool == NSX_TOOL_sql)
		shape_add_listed(s, "answer of SQL", "");
}

/* Writes the schema of a call: its arguments and its result. */
static void shape_put_tool(struct nsx_jsonw *w, enum nsx_tool_id tool)
{
	NSX_AT_EXIT(shape_done) struct shape s = {.is_reply = true, .arena = nsx_arena_new()};

	nsx_jsonw_str(w, "title", nsx_tools[tool].title);
	nsx_jsonw_str(w, "description", nsx_tools[tool].text);
	put_schema_type(w, "object", false);
	nsx_tool_input_schema(w, "properties.arguments", tool);
	add_reply(&s, tool);
	nsx_jsonw_object(w, "properties.structuredContent");
	put_object(w, &s, build_path_tree(&s), false);
	nsx_jsonw_end(w);
}

int nsx_shape_schema(const char *name, struct nsx_jsonw **ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	const char *known, *nearest = NULL;
	size_t best = SIZE_MAX;
	unsigned i;

	for (i = 0; (known = nsx_shape_name(i, a)) && strcmp(known, name) != 0; i++)
		if (nsx_is_nearer(name, strlen(name), known, &best))
			nearest = known;
	if (!known)
		return nsx_fail(err, NSX_E_USAGE, "no schema '%s'; %s'nsys-explain schema-json' "
				"lists them", name, nsx_meant(nearest).text);
	*ret = nsx_jsonw_new();
	nsx_jsonw_object(*ret, NULL);
	nsx_jsonw_str(*ret, "$schema", "https://json-schema.org/draft/2020-12/schema");
	nsx_jsonw_str(*ret, "$id", nsx_arena_printf(a, "urn:nsys-explain:%s:1", name));
	if (i < ARRAY_LEN(documents))
		put_document(*ret, i);
	else
		shape_put_tool(*ret, i - (unsigned)ARRAY_LEN(documents));
	nsx_jsonw_end(*ret);
	return 0;
}
