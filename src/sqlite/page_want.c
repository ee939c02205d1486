/* page_want.c - column affinities and defaults, as far as they affect reading.
 *
 * A cell is read as it is stored, with three exceptions: an INTEGER PRIMARY KEY is the row
 * id; an integer in a column of REAL affinity is a double that SQLite stored shorter; and a
 * column added after the record was written reads as its default.
 */
#include <errno.h>
#include <strings.h>
#include "sqlite/page_record.h"

enum affinity { AFF_NONE, AFF_TEXT, AFF_NUMERIC, AFF_INTEGER, AFF_REAL };

/* Applies the rules of SQLite's documentation, "Determination Of Column Affinity", in their order.
 */
static enum affinity affinity_of(const char *type)
{
	if (strcasestr(type, "INT"))
		return AFF_INTEGER;
	if (strcasestr(type, "CHAR") || strcasestr(type, "CLOB") || strcasestr(type, "TEXT"))
		return AFF_TEXT;
	if (!*type || strcasestr(type, "BLOB"))
		return AFF_NONE;
	if (strcasestr(type, "REAL") || strcasestr(type, "FLOA") || strcasestr(type, "DOUB"))
		return AFF_REAL;
	return AFF_NUMERIC;
}

static bool integer_default(const char *text, enum affinity aff, struct nsx_val *ret)
{
	char *end;
	long long x;

	if (!text[strspn(text, "-")] || text[strspn(text, "-0123456789")] || aff == AFF_TEXT)
		return false;
	errno = 0;
	x = strtoll(text, &end, 10);
	if (errno || *end)
		return false;
	if (aff == AFF_REAL)
		*ret = (struct nsx_val){.type = NSX_V_F64, .u.f = (double)x};
	else
		*ret = (struct nsx_val){.type = NSX_V_I64, .u.i = x};
	return true;
}

/* Parses a literal in single quotes, such as 'it''s'. */
static bool text_default(const char *text, enum affinity aff,
			 struct nsx_arena *a, struct nsx_val *ret)
{
	size_t n = strlen(text), len = 0;
	char *p;

	if (n < 2 || text[0] != '\'' || text[n - 1] != '\'' || (aff != AFF_TEXT && aff != AFF_NONE))
		return false;
	p = nsx_arena_get(a, n);
	for (size_t i = 1; i < n - 1; i++) {
		if (text[i] == '\'' && (i + 1 == n - 1 || text[++i] != '\''))
			return false;
		p[len++] = text[i];
	}
	*ret = (struct nsx_val){NSX_V_TEXT, (uint32_t)len, {.p = p}};
	return true;
}

static bool plan_default(const char *text, enum affinity aff,
			 struct nsx_arena *a, struct nsx_val *ret)
{
	if (!text || !strcasecmp(text, "NULL")) {
		*ret = (struct nsx_val){.type = NSX_V_NULL};
		return true;
	}
	return integer_default(text, aff, ret) || text_default(text, aff, a, ret);
}

NSX_ORDER(cmp_wanted, struct nsx_wanted, UP(column), UP(slot));

bool nsx_wants_plan(const struct nsx_table_info *t, const char *const *columns,
		    unsigned ncolumns, struct nsx_arena *a, struct nsx_wants *ret)
{
	*ret = (struct nsx_wants){0};
	ret->v = nsx_arena_get(a, (ncolumns + 1) * sizeof(*ret->v));
	ret->absent = nsx_arena_get(a, (ncolumns + 1) * sizeof(*ret->absent));
	ret->rowid_slots = nsx_arena_get(a, (ncolumns + 1) * sizeof(*ret->rowid_slots));
	if (ncolumns > NSX_MAX_COLUMNS)
		return false;
	for (unsigned i = 0; i < ncolumns; i++) {
		int c = columns[i] ? nsx_column_find(t, columns[i]) : 0;
		struct nsx_wanted *w = &ret->v[ret->n];
		enum affinity aff;

		if (!columns[i])
			continue;
		if (c < 0)
			return false;
		if (t->columns[c].is_rowid) {
			ret->rowid_slots[ret->nrowid++] = (uint16_t)i;
			continue;
		}
		aff = affinity_of(t->columns[c].type);
		w->column = (uint16_t)c;
		w->slot = (uint16_t)i;
		w->is_real = aff == AFF_REAL;
		if (!plan_default(t->columns[c].default_text, aff, a, &ret->absent[i]))
			return false;
		ret->n++;
	}
	nsx_sort(ret->v, ret->n, sizeof(*ret->v), cmp_wanted);
	return true;
}
