/* names.c - the strings that events use, prepared for writing. */
#include "convert/convert.h"
#include "schema/viewscan.h"

enum { USED = 1, MATCHES = 2 };

/* Names are cut to this length in bytes; no viewer shows more. */
#define NSX_MAX_PLAIN 4096

/* Finds or adds the index of an id in flags and text. */
static int name_index_of(struct nsx_names *x, int64_t id, size_t *ret, struct nsx_err *err)
{
	uint32_t at;

	if (id >= 0 && (uint64_t)id < x->bound)
		return *ret = (size_t)id, 0;
	if (nsx_group(&x->sparse, (uint64_t)id, 0, &at, err) ||
	    nsx_grow(&x->flags, &x->cap_flags, x->bound + at + 1, 1,
		     "string ids", err) ||
	    nsx_grow(&x->text, &x->cap_text, x->bound + at + 1,
		     sizeof(*x->text), "string ids", err))
		return err->rc;
	*ret = x->bound + at;
	return 0;
}

static int note_match(void *ctx, int64_t rid NSX_UNUSED,
		      const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_names *x = ctx;
	size_t n = strlen(x->prefix), at;

	if (v[0].type != NSX_V_I64 || v[1].type != NSX_V_TEXT ||
	    v[1].len < n || memcmp(v[1].u.p, x->prefix, n))
		return nsx_stopped(err);
	if (name_index_of(x, v[0].u.i, &at, err))
		return err->rc;
	x->flags[at] |= MATCHES;
	return 0;
}

int nsx_names_open(struct nsx_names *x, const struct nsx_schema *s,
		   const char *prefix, struct nsx_err *err)
{
	const struct nsx_table_info *t = s->table[NSX_VIEW_string];
	int64_t n = t ? nsx_count_rows(s->db, t->name) : 0;

	x->arena = nsx_arena_new();
	x->prefix = prefix;
	if (n == NSX_E_NOMEM)
		return nsx_fail(err, NSX_E_NOMEM, "out of memory: cannot count "
				"the strings of the trace");
	x->bound = n > 0 ? (size_t)n + 1024 : 0;
	if (nsx_grow(&x->flags, &x->cap_flags, x->bound + 1, 1, "string ids",
		     err) ||
	    nsx_grow(&x->text, &x->cap_text, x->bound + 1, sizeof(*x->text), "string ids", err))
		return err->rc;
	return prefix ? nsx_view_each(s, string, note_match, x, err, id, value) : 0;
}

void nsx_names_done(struct nsx_names *x)
{
	if (!x->arena)
		return;
	nsx_groups_done(&x->sparse);
	free(x->flags);
	free(x->text);
	nsx_arena_free(x->arena);
}

int nsx_names_use(struct nsx_names *x, const struct nsx_val *v, struct nsx_err *err)
{
	size_t at = 0;

	if (v->type != NSX_V_I64)
		return 0;
	if (name_index_of(x, v->u.i, &at, err))
		return err->rc;
	x->flags[at] |= USED;
	return 0;
}

int nsx_names_merge(struct nsx_names *x, const struct nsx_names *y, struct nsx_err *err)
{
	for (size_t i = 0; i < x->bound; i++)
		x->flags[i] |= y->flags[i];
	for (size_t i = 0; i < y->sparse.n; i++) {
		struct nsx_val id = {.type = NSX_V_I64,
				     .u.i = (int64_t)nsx_group_key(&y->sparse, i).a};

		if (nsx_names_use(x, &id, err))
			return err->rc;
	}
	return 0;
}

void nsx_names_text(const struct nsx_names *x, struct nsx_buf *b, const char *text, size_t n)
{
	if (x->is_plain)
		nsx_buf_add_utf8(b, text, NSX_MIN(n, NSX_MAX_PLAIN));
	else
		nsx_json_escape(b, text, n);
}

static int names_read_string(void *ctx, int64_t rid NSX_UNUSED,
			     const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_names *x = ctx;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	uint32_t n;
	size_t at;
	char *to;

	if (v[0].type != NSX_V_I64 || (v[1].type != NSX_V_TEXT && v[1].type != NSX_V_BLOB))
		return 0;
	if (name_index_of(x, v[0].u.i, &at, err))
		return err->rc;
	if (!(x->flags[at] & USED))
		return nsx_stopped(err);
	nsx_names_text(x, &b, v[1].u.p, v[1].len);
	n = (uint32_t)b.n;
	to = nsx_arena_get(x->arena, sizeof(n) + n);
	memcpy(to, &n, sizeof(n));
	if (n)
		memcpy(to + sizeof(n), b.p, n);
	x->text[at] = to;
	return 0;
}

int nsx_names_load(struct nsx_names *x, const struct nsx_schema *s, struct nsx_err *err)
{
	return nsx_view_each(s, string, names_read_string, x, err, id, value);
}

/* Looks an id up without adding it. False: there is no such id below cap. */
static bool find_id(const struct nsx_names *x, int64_t id, size_t cap, size_t *ret)
{
	uint32_t at;

	*ret = (size_t)id;
	if (id >= 0 && (uint64_t)id < x->bound)
		return true;
	at = nsx_group_find(&x->sparse, (uint64_t)id, 0);
	*ret = x->bound + at;
	return at != NSX_NONE && *ret < cap;
}

const char *nsx_names_get(struct nsx_names *x, int64_t id, size_t *ret_n, size_t *ret_at)
{
	uint32_t n;

	if (!find_id(x, id, x->cap_text, ret_at) || !x->text[*ret_at])
		return NULL;
	memcpy(&n, x->text[*ret_at], sizeof(n));
	*ret_n = n;
	return x->text[*ret_at] + sizeof(n);
}

bool nsx_names_matches(struct nsx_names *x, const struct nsx_val *v)
{
	size_t n = strlen(x->prefix), at;

	if (v->type == NSX_V_TEXT)
		return v->len >= n && !memcmp(v->u.p, x->prefix, n);
	return v->type == NSX_V_I64 && find_id(x, v->u.i, x->cap_flags, &at) &&
	       (x->flags[at] & MATCHES);
}
