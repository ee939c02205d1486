/* pass.c - a pass's needs, tables and queries. */
#include "passes/pass.h"

/* The first table name that fields.def has for a view. */
static const char *pass_table_of(enum nsx_view v, struct nsx_arena *a)
{
	const char *tables = nsx_view_defs[v].tables;

	return nsx_arena_strndup(a, tables, strcspn(tables, "|"));
}

const char *nsx_pass_missing(const struct nsx_pass *pass,
			     const struct nsx_schema *s, struct nsx_arena *a)
{
	const char *text = NULL, *lack;

	for (unsigned i = 0; i < NSX_MAX_NEEDS && pass->needs[i]; i++) {
		int need = pass->needs[i];
		enum nsx_field f = (enum nsx_field)(-need - 1);
		enum nsx_view v = need < 0 ? nsx_field_defs[f].view : (enum nsx_view)(need - 1);

		/* if the table is missing, its columns are not named */
		if (need < 0 ? nsx_has(s, f) || !nsx_has_view(s, v) : nsx_has_view(s, v))
			continue;
		lack = need < 0 ? nsx_field_exporter_name(f, a) :
			nsx_arena_printf(a, "rows of %s", pass_table_of(v, a));
		text = text ? nsx_arena_printf(a, "%s, %s", text, lack) : lack;
	}
	return text;
}

const char *nsx_pass_lacks(const struct nsx_pass *pass,
			   const struct nsx_schema *s, struct nsx_arena *a)
{
	const char *missing = pass->by_phase ? "--phase-map FILE" : nsx_pass_missing(pass, s, a);
	bool any = !pass->any_of[0];

	if (missing)
		return missing;
	for (unsigned i = 0; i < NSX_MAX_NEEDS && pass->any_of[i]; i++) {
		enum nsx_view v = (enum nsx_view)(pass->any_of[i] - 1);

		any |= nsx_has_view(s, v);
		missing = missing ? nsx_arena_printf(a, "%s or %s", missing,
						     pass_table_of(v, a)) :
			nsx_arena_printf(a, "rows of %s", pass_table_of(v, a));
	}
	if (any)
		return pass->lacks ? pass->lacks(s, a) : NULL;
	return missing;
}

const struct nsx_layout *nsx_pass_layout(const struct nsx_pass *pass, unsigned i)
{
	const struct nsx_layout *const *more = pass->more;

	if (i < pass->nlayouts)
		return &pass->layouts[i];
	for (i -= pass->nlayouts; i && more && *more; i--)
		more++;
	return more ? *more : NULL;
}

const struct nsx_query *nsx_pass_query(const struct nsx_pass *pass, unsigned i)
{
	size_t n = strlen(pass->id);

	for (unsigned k = 0; k < nsx_nqueries; k++) {
		const char *name = nsx_queries[k].name;

		if (!strncmp(name, pass->id, n) &&
		    (!name[n] || !strncmp(name + n, "__", 2)) && !i--)
			return &nsx_queries[k];
	}
	return NULL;
}

void nsx_sums_done(void *sums)
{
	NSX_AT_EXIT(nsx_free_at) void *values = NULL;

	nsx_groups_done(sums);
	memcpy(&values, (char *)sums + sizeof(struct nsx_groups), sizeof(values));
}
