/* script.c - finds the views that a query reads by its words, and writes its script. */
#include "schema/script.h"

struct reads {
	bool view[NSX_NVIEWS], field[NSX_NFIELDS];
	bool *query;	 /* private tables that are read, by index in nsx_queries */
	unsigned *order; /* indices of these tables; each comes after the tables it reads */
	unsigned norder;
};

static bool script_is_in_word(char c)
{
	return nsx_is_letter(c) || nsx_is_digit(c) || c == '_';
}

/* Moves *at to the next word of SQL outside comments and strings. Returns its length; 0 at the end.
 */
static size_t script_next_word(const char **at)
{
	const char *p = *at;
	size_t n = 0;

	while (*p && !script_is_in_word(*p))
		if (!strncmp(p, "--", 2))
			p += strcspn(p, "\n");
		else if (*p == '\'')
			p += strcspn(p + 1, "'") + 2;
		else
			p++;
	while (script_is_in_word(p[n]))
		n++;
	*at = p;
	return n;
}

static bool script_is_word(const char *name, const char *word, size_t n)
{
	return *name == *word && !strncmp(name, word, n) && !name[n];
}

/* Rejects most words that are no name of a view or field. By first letter: bit n is set if such a
 * name has n letters, modulo 64.
 */
struct names {
	uint64_t lengths[256];
};

struct nsx_scripts {
	const struct nsx_schema *schema;
	struct nsx_arena *arena;
	struct names names;
	struct reads *named; /* for each query that was asked for: what its text names */
};

static void add_name(struct names *x, const char *name)
{
	x->lengths[(unsigned char)*name] |= UINT64_C(1) << strlen(name) % 64;
}

static struct names list_names(void)
{
	struct names x = {{0}};

	for (unsigned v = 0; v < NSX_NVIEWS; v++)
		add_name(&x, nsx_view_defs[v].name);
	for (unsigned f = 0; f < NSX_NFIELDS; f++)
		add_name(&x, nsx_field_defs[f].name);
	for (unsigned i = 0; i < nsx_nqueries; i++)
		add_name(&x, nsx_queries[i].name);
	return x;
}

static bool may_be_name(const struct names *x, const char *word, size_t n)
{
	return x->lengths[(unsigned char)*word] >> n % 64 & 1;
}

static void note_field_names(enum nsx_view v, const char *word, size_t n, struct reads *r)
{
	unsigned first = nsx_view_defs[v].first;

	for (unsigned f = first; f < first + nsx_view_nfields(v); f++)
		r->field[f] |= script_is_word(nsx_field_defs[f].name, word, n);
}

struct script_word {
	const char *p;
	size_t n;
};

/* Notes the views and fields that a text names. Fields are looked for last, because a view may be
 * named after its fields.
 */
static void note_names(const char *text, const struct names *names, struct reads *r)
{
	struct script_word *v = NULL;
	size_t nwords = 0, cap = 0, n;

	for (const char *p = text; (n = script_next_word(&p)); p += n) {
		if (!may_be_name(names, p, n))
			continue;
		nsx_push_or_die(v, nwords, cap, (struct script_word){p, n});
		for (unsigned k = 0; k < NSX_NVIEWS; k++)
			r->view[k] |= script_is_word(nsx_view_defs[k].name, p, n);
		for (unsigned i = 0; *p == '_' && i < nsx_nqueries; i++)
			r->query[i] |= script_is_word(nsx_queries[i].name, p, n);
	}
	for (unsigned k = 0; k < NSX_NVIEWS; k++)
		for (size_t i = 0; r->view[k] && i < nwords; i++)
			note_field_names(k, v[i].p, v[i].n, r);
	free(v);
}

/* Adds what the query reads, directly or through private tables. */
static void add_query_reads(const struct nsx_scripts *x, size_t query, struct reads *all)
{
	struct reads *r = &x->named[query];

	if (!r->query) {
		r->query = nsx_arena_get(x->arena, nsx_nqueries);
		note_names(nsx_queries[query].text, &x->names, r);
	}
	for (unsigned v = 0; v < NSX_NVIEWS; v++)
		all->view[v] |= r->view[v];
	for (unsigned f = 0; f < NSX_NFIELDS; f++)
		all->field[f] |= r->field[f];
	for (unsigned i = 0; i < nsx_nqueries; i++)
		if (r->query[i] && !all->query[i]) {
			all->query[i] = true;
			add_query_reads(x, i, all);
			all->order[all->norder++] = i;
		}
}

struct nsx_scripts *nsx_scripts_new(const struct nsx_schema *s)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_scripts *x = nsx_arena_get(a, sizeof(*x));

	x->schema = s;
	x->arena = a;
	x->names = list_names();
	x->named = nsx_arena_get(a, nsx_nqueries * sizeof(*x->named));
	return x;
}

void nsx_scripts_free(struct nsx_scripts *x)
{
	if (x)
		nsx_arena_free(x->arena);
}

void nsx_scripts_add(const struct nsx_scripts *x, const struct nsx_query *const *queries, size_t n,
		     struct nsx_buf *b)
{
	struct nsx_arena *a = nsx_arena_new();
	struct reads all = {
		.query = nsx_arena_get(a, nsx_nqueries),
		.order = nsx_arena_get(a, nsx_nqueries * sizeof(*all.order)),
	};

	for (size_t i = 0; i < n; i++)
		add_query_reads(x, (size_t)(queries[i] - nsx_queries), &all);
	for (unsigned v = 0; v < NSX_NVIEWS; v++)
		if (all.view[v]) {
			nsx_schema_view_sql(x->schema, v, all.field, b);
			nsx_buf_adds(b, ";\n");
		}
	/* Private queries become tables, because a view would be computed at each use. */
	for (unsigned i = 0; i < all.norder; i++) {
		const struct nsx_query *q = &nsx_queries[all.order[i]];

		nsx_buf_printf(b, "CREATE TEMP TABLE %s AS\n", q->name);
		nsx_buf_adds(b, q->text);
		nsx_buf_adds(b, ";\n");
	}
	for (size_t i = 0; i < n; i++) {
		nsx_buf_adds(b, i ? "\n" : "");
		nsx_buf_adds(b, queries[i]->text);
		nsx_buf_adds(b, ";\n");
	}
	nsx_arena_free(a);
}
