/* shape.c - a document as a list of paths, and the list as a JSON Schema. */
#include <stdlib.h>
#include <string.h>
#include "agent/shape.h"
#include "diff/tables.h"
#include "fleet/report.h"
#include "passes/pass.h"

struct key {
	const char *path;
	enum nsx_type type;
	const char *help;
	const char *rows; /* of a TABLE: lines of keys.def; NULL: a layout   */
	const struct nsx_layout *layout; /* both NULL: not told              */
};
static const struct listed {
	const char *of;
	struct key key;
} listed[] = {
#define NSX_KEY(of, name, kind, ...)                                          \
	{of, {.path = name, .type = NSX_T_##kind, .help = __VA_ARGS__}},
#include "agent/keys.def"
#undef NSX_KEY
};

struct shape {
	struct key *v;
	size_t n, cap;
	struct nsx_arena *arena;
};

/* Lists of paths ------------------------------------------------------------------*/

static void add(struct shape *s, const char *path, const struct key *k)
{
	nsx_grow_or_die(&s->v, &s->cap, s->n + 1, sizeof(*s->v));
	s->v[s->n] = *k;
	s->v[s->n++].path = path;
}

/* base.a?.b? for a.b; "*" is the base itself. */
static const char *optional(struct shape *s, const char *base, const char *path)
{
	struct nsx_buf b = {0};
	const char *ret;

	nsx_buf_adds(&b, base);
	for (size_t n; *path && strcmp(path, "*") != 0; path += n) {
		path += *path == '.';
		n = strcspn(path, ".");
		nsx_buf_printf(&b, "%s%.*s%s", b.n ? "." : "", (int)n, path,
			       *path == '*' ? "" : "?");
	}
	ret = nsx_arena_strdup(s->arena, b.p ? b.p : "");
	nsx_buf_done(&b);
	return ret;
}

static void add_listed(struct shape *s, const char *of, const char *base)
{
	for (size_t i = 0; i < ARRAY_LEN(listed); i++) {
		const struct key *k = &listed[i].key;

		if (strcmp(listed[i].of, of) != 0)
			continue;
		if (*k->path)
			add(s, nsx_arena_printf(s->arena, "%s%s", base,
						k->path), k);
		else
			add_listed(s, k->rows, base);
	}
}

static void add_layout(struct shape *s, const char *path,
		       const struct nsx_layout *l)
{
	add(s, path, &(struct key){.type = NSX_T_TABLE, .layout = l});
}

static void add_columns(struct shape *s, const struct nsx_layout *l)
{
	for (unsigned i = 0; i < l->ncols; i++) {
		const struct nsx_col *c = &l->cols[i];

		add(s, c->key, &(struct key){.type = c->type, .help = c->help,
					     .layout = c->rows});
	}
}

/* A section: an object, or by itself a value or a table. */
static void add_pass(struct shape *s, const struct nsx_pass *p, const char *in,
		     bool is_whole)
{
	const char *base = optional(s, in, p->json ? p->json : p->id);
	const struct nsx_layout *l;
	bool is_bare = false;

	for (size_t i = 0; i < ARRAY_LEN(listed); i++)
		if (!strcmp(listed[i].of, p->id)) {
			add(s, optional(s, base, listed[i].key.path),
			    &listed[i].key);
			is_bare |= *listed[i].key.path == '*';
		}
	for (unsigned i = 0; (l = nsx_pass_layout(p, i)); i++)
		if (l->key && l->json_rows != -2) {
			add_layout(s, optional(s, base, l->key), l);
			is_bare |= *l->key == '*';
		}
	if (is_whole && !is_bare)
		add_listed(s, "section",
			   nsx_arena_printf(s->arena, "%s.", base));
	if (is_whole && p->may_be_null)
		add(s, base, &(struct key){.type = NSX_T_NULL});
}

static void add_report(struct shape *s)
{
	static const char *const top[] = {"input", "schema", "windows",
					  "findings"};

	add_listed(s, "report", "");
	for (unsigned i = 0; i < 2 * nsx_npasses; i++) {
		const struct nsx_pass *p = nsx_passes[i % nsx_npasses];
		bool is_top = false;

		for (size_t k = 0; k < ARRAY_LEN(top); k++)
			is_top |= !strcmp(top[k], p->id);
		/* Those inside others come after those they are in. */
		if ((p->json != NULL) == (i >= nsx_npasses))
			add_pass(s, p, is_top ? "" : "metrics", !is_top);
	}
}

static void add_diff(struct shape *s)
{
	add_listed(s, "diff", "");
	for (unsigned i = 0; i < NSX_NDT; i++) {
		const struct nsx_layout *l = &nsx_diff_layouts[i];

		for (unsigned k = 0; i == NSX_DT_FINDINGS && k < NSX_NAPPEARANCES;
		     k++)
			add_layout(s, nsx_arena_printf(
				s->arena, "%s.%s", l->key,
				nsx_appearance_names[k]), l);
		if (i != NSX_DT_FINDINGS && l->json_rows != -2)
			add_layout(s, l->key, l);
	}
}

static void add_fleet(struct shape *s)
{
	add_listed(s, "fleet", "");
	for (unsigned i = 0; i < NSX_NFTABLES; i++)
		if (nsx_fleet_layouts[i].key)
			add_layout(s, nsx_arena_printf(s->arena,
				"metrics.fleet.%s", nsx_fleet_layouts[i].key),
				&nsx_fleet_layouts[i]);
}

/* Schemas -------------------------------------------------------------------------*/

static void put_object(struct nsx_jsonw *w, const struct shape *s,
		       const char *in, bool or_null);

static void put_type(struct nsx_jsonw *w, const char *type, bool or_null)
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

static void put_leaf(struct nsx_jsonw *w, const struct key *k, bool or_null);

static void put_row(struct nsx_jsonw *w, const char *rows,
		    const struct nsx_layout *l)
{
	struct shape s = {.arena = nsx_arena_new()};

	if (rows)
		add_listed(&s, rows, "");
	else
		add_columns(&s, l);
	nsx_jsonw_object(w, "items");
	if (*s.v[0].path == '*')
		put_leaf(w, &s.v[0], false);
	else
		put_object(w, &s, "", false);
	nsx_jsonw_end(w);
	free(s.v);
	nsx_arena_free(s.arena);
}

static void put_leaf(struct nsx_jsonw *w, const struct key *k, bool or_null)
{
	static const char *const types[] = {
		[NSX_T_I64] = "integer", [NSX_T_F64] = "number",
		[NSX_T_STR] = "string", [NSX_T_BOOL] = "boolean",
		[NSX_T_LIST] = "array", [NSX_T_TABLE] = "array"};

	if (k->type != NSX_T_NULL)
		put_type(w, types[k->type], or_null || k->type < NSX_T_LIST);
	if (k->help)
		nsx_jsonw_str(w, "description", k->help);
	if (k->type == NSX_T_LIST)
		nsx_jsonw_str(w, "items.type", "string");
	else if (k->rows || k->layout)
		put_row(w, k->rows, k->layout);
}

/* The part of a path after `in`, and its length without "?"; NULL: none. */
static const char *part_of(const char *path, const char *in, size_t *n)
{
	size_t k = strlen(in);

	if (strncmp(path, in, k) != 0)
		return NULL;
	*n = strcspn(path + k, "?.");
	return path + k;
}

static bool is_first(const struct shape *s, const char *in, size_t i)
{
	size_t n, m;
	const char *part = part_of(s->v[i].path, in, &n), *other;

	for (size_t k = 0; part && k < i; k++) {
		other = part_of(s->v[k].path, in, &m);
		if (other && n == m && !memcmp(part, other, n))
			return false;
	}
	return part;
}

/* What stands at v[i].path up to the end of a part of it, which is n long. */
static void put_part(struct nsx_jsonw *w, const struct shape *s, size_t i,
		     const char *part, size_t n)
{
	size_t end = (size_t)(part - s->v[i].path) + n;
	const struct key *leaf = NULL;
	bool or_null = false;
	const char *in = NULL;

	for (size_t k = i; k < s->n; k++) {
		const char *path = s->v[k].path;

		if (strncmp(path, s->v[i].path, end) != 0)
			continue;
		path += end + (path[end] == '?');
		or_null |= !*path && s->v[k].type == NSX_T_NULL;
		if (*path == '.' && !in)
			in = nsx_arena_printf(s->arena, "%.*s",
				(int)(path + 1 - s->v[k].path), s->v[k].path);
		else if (!*path && (!leaf || leaf->type == NSX_T_NULL))
			leaf = &s->v[k];
	}
	if (in) {
		put_object(w, s, in, or_null);
	} else if (leaf) {
		put_leaf(w, leaf, or_null);
	}
}

/* The object of all paths that begin with in. */
static void put_object(struct nsx_jsonw *w, const struct shape *s,
		       const char *in, bool or_null)
{
	bool is_open = false;
	size_t n = 0;

	put_type(w, "object", or_null);
	nsx_jsonw_object(w, "properties");
	for (size_t i = 0; i < s->n; i++) {
		const char *part = part_of(s->v[i].path, in, &n);

		if (!is_first(s, in, i) || *part == '*')
			continue;
		nsx_jsonw_object(w, nsx_arena_printf(s->arena, "%.*s", (int)n,
						     part));
		put_part(w, s, i, part, n);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
	nsx_jsonw_array(w, "required");
	for (size_t i = 0; i < s->n; i++) {
		const char *part = part_of(s->v[i].path, in, &n);

		if (is_first(s, in, i) && *part != '*' && part[n] != '?')
			nsx_jsonw_strn(w, NULL, part, n);
	}
	nsx_jsonw_end(w);
	for (size_t i = 0; i < s->n; i++) {
		const char *part = part_of(s->v[i].path, in, &n);

		if (!is_first(s, in, i) || *part != '*')
			continue;
		is_open = true;
		nsx_jsonw_object(w, "additionalProperties");
		put_part(w, s, i, part, n);
		nsx_jsonw_end(w);
	}
	if (!is_open)
		nsx_jsonw_bool(w, "additionalProperties", false);
}

void nsx_shape_put(struct nsx_jsonw *w, const char *key, const char *of)
{
	struct shape s = {.arena = nsx_arena_new()};

	add_listed(&s, of, "");
	nsx_jsonw_object(w, key);
	put_object(w, &s, "", false);
	nsx_jsonw_end(w);
	free(s.v);
	nsx_arena_free(s.arena);
}

/* Documents -----------------------------------------------------------------------*/

static void add_brief(struct shape *s)
{
	add_listed(s, "brief", "");
}

static const struct {
	const char *name, *title;
	void (*add)(struct shape *s); /* NULL: the rows of the findings      */
} documents[] = {
	{"report", "A report (report.json)", add_report},
	{"brief", "The first page of a report (--brief)", add_brief},
	{"diff", "A comparison (diff.json)", add_diff},
	{"fleet", "A report of many ranks (report.json)", add_fleet},
	{"findings", "The findings of a report", NULL},
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
	struct shape s = {.arena = nsx_arena_new()};

	nsx_jsonw_str(w, "title", documents[i].title);
	if (documents[i].add) {
		documents[i].add(&s);
		put_object(w, &s, "", false);
	} else {
		put_type(w, "array", false);
		put_row(w, NULL, nsx_pass_layout(
			nsx_pass_find("findings_minor"), 0));
	}
	free(s.v);
	nsx_arena_free(s.arena);
}

/* A call: what a tool takes, and what it gives. */
static void put_tool(struct nsx_jsonw *w, enum nsx_tool_id tool)
{
	nsx_jsonw_str(w, "title", nsx_tools[tool].title);
	nsx_jsonw_str(w, "description", nsx_tools[tool].text);
	put_type(w, "object", false);
	nsx_tool_input_schema(w, "properties.arguments", tool);
	nsx_tool_output_schema(w, "properties.structuredContent", tool);
	nsx_jsonw_bool(w, "additionalProperties", false);
}

int nsx_shape_schema(const char *name, struct nsx_jsonw **ret,
		     struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	const char *known = "";
	unsigned i = 0;

	while (known && strcmp(known, name) != 0)
		known = nsx_shape_name(i++, a);
	nsx_arena_free(a);
	if (!known)
		return nsx_fail(err, NSX_E_USAGE, "no schema '%s'; "
				"'nsys-explain schema-json' lists them", name);
	*ret = nsx_jsonw_new();
	nsx_jsonw_object(*ret, NULL);
	nsx_jsonw_str(*ret, "$schema",
		      "https://json-schema.org/draft/2020-12/schema");
	a = nsx_arena_new();
	nsx_jsonw_str(*ret, "$id",
		      nsx_arena_printf(a, "urn:nsys-explain:%s:1", name));
	nsx_arena_free(a);
	if (--i < ARRAY_LEN(documents))
		put_document(*ret, i);
	else
		put_tool(*ret, i - (unsigned)ARRAY_LEN(documents));
	nsx_jsonw_end(*ret);
	return 0;
}
