/* pf_names.c - interning in packets, separately for each sequence. */
#include <errno.h>
#include <stdio.h>
#include "convert/pf.h"

enum {
	INTERNED_NAME = 2, INTERNED_ANNOTATION = 3, INTERNED_SPEC = 24,
	INTERNED_KERNEL = 1000, INTERNED_ARG = 1001,
	SPEC_CATEGORY = 4, KERNEL_DEMANGLED = 3, KERNEL_ARG = 5,
};
enum { CATEGORY_COMPUTE = 2 };
/* Entries beyond this limit are forgotten and written again, which few traces need. */
enum { MAX_TOLD = 1 << 16 };
enum { MAX_KERNELS = 1 << 14 }; /* limit for kernels with constants; only hostile traces reach it */

size_t nsx_pf_intern(struct nsx_pf *pf, unsigned field, uint64_t iid, const char *name, size_t n)
{
	size_t at = nsx_pb_begin(&pf->interned, field);

	nsx_pb_uint(&pf->interned, NSX_PF_IID, iid);
	if (name)
		nsx_pb_bytes(&pf->interned, NSX_PF_IID_NAME, name, n);
	return at;
}

uint64_t nsx_pf_text_iid(struct nsx_conv *c, const char *text, size_t n)
{
	struct nsx_err err;
	nsx_str id;

	if (nsx_strings_add(c->pf->texts, text, n, &id, &err)) {
		c->out->error = ENOMEM;
		return 0;
	}
	return UINT64_C(1) << 32 | id;
}

uint64_t nsx_pf_name_of(struct nsx_conv *c, const struct nsx_val *v,
			const char **ret, size_t *ret_n)
{
	char unknown[32];
	uint64_t iid;
	size_t at;

	if (v->type == NSX_V_I64 && (*ret = nsx_names_get(c->names, v->u.i, ret_n, &at)))
		return at + 1;
	if (v->type == NSX_V_TEXT)
		*ret = v->u.p, *ret_n = NSX_MIN(v->len, 4096u);
	else if (v->type == NSX_V_I64)
		*ret = unknown, *ret_n = (size_t)snprintf(
			unknown, sizeof(unknown), "id:%lld", (long long)v->u.i);
	else
		*ret = "(unnamed)", *ret_n = 9;
	iid = nsx_pf_text_iid(c, *ret, *ret_n);
	*ret = nsx_str_text(c->pf->texts, (nsx_str)iid); /* the repaired form of the text */
	*ret_n = strlen(*ret);
	return iid;
}

bool nsx_pf_is_untold(struct nsx_conv *c, enum nsx_pf_told what, uint64_t iid)
{
	struct nsx_pf *pf = c->pf;
	size_t before;
	struct nsx_err err;
	uint32_t at;

	if (pf->told.n == MAX_TOLD) {
		nsx_groups_done(&pf->told);
		pf->near = (struct nsx_near){0};
	}
	before = pf->told.n;
	if (nsx_group_near(&pf->told, &pf->near, iid, (uint64_t)pf->to->number << 2 | what, &at,
			   &err))
		c->out->error = ENOMEM;
	return pf->told.n > before;
}

/* Whether a text occurred before, unless another text has taken its slot since. */
static bool has_text_occurred(struct nsx_pf *pf, const struct nsx_val *v)
{
	uint64_t hash = nsx_hash(v->u.p, v->len);
	uint32_t *place = &pf->met_once[hash % ARRAY_LEN(pf->met_once)];
	uint32_t mark = (uint32_t)(hash >> 32) | 1;
	bool ret = *place == mark;

	*place = mark;
	return ret;
}

void nsx_pf_put_name(struct nsx_conv *c, const struct nsx_val *v, unsigned iid, unsigned name)
{
	struct nsx_pf *pf = c->pf;
	const char *text;
	uint64_t number;
	size_t n;

	/* Unique texts get no number: there may be many, and they would fill our tables and the
	 * reader's.
	 */
	if (v->type == NSX_V_TEXT && !has_text_occurred(pf, v)) {
		n = nsx_pb_begin(&pf->to->packets, name);
		nsx_buf_add_utf8(&pf->to->packets, v->u.p, NSX_MIN(v->len, 4096u));
		nsx_pb_end(&pf->to->packets, n);
		return;
	}
	number = nsx_pf_name_of(c, v, &text, &n);
	if (nsx_pf_is_untold(c, NSX_PF_TOLD_NAME, number))
		nsx_pb_end(&pf->interned, nsx_pf_intern(pf, INTERNED_NAME, number, text, n));
	nsx_pb_uint(&pf->to->packets, iid, number);
}

static void put_constant_arg(struct nsx_pf *pf, struct nsx_buf *b, unsigned field,
			     const char *key, int64_t value)
{
	uint64_t iid = nsx_pf_intern_key(pf, true, key);
	size_t at = nsx_pb_begin(b, field);

	nsx_pb_uint(b, NSX_PF_IID, iid);
	nsx_pb_uint(b, NSX_PF_ARG_INT, (uint64_t)value);
	nsx_pb_end(b, at);
}

void nsx_pf_put_constants(struct nsx_conv *c, struct nsx_buf *b, unsigned field,
			  uint32_t track, const struct nsx_val *v)
{
	static const char *const name[NSX_PF_CONSTANTS] = {
		"registers_per_thread", "shared_mem_static",
		"shared_mem_dynamic"};
	const struct nsx_key *key = &c->tracks.track_keys.keys[track];

	put_constant_arg(c->pf, b, field, "device", (int64_t)key->w[2]);
	put_constant_arg(c->pf, b, field, "stream", (int64_t)key->w[4]);
	for (unsigned i = 0; i < NSX_PF_CONSTANTS; i++)
		if (v[i].type == NSX_V_I64)
			put_constant_arg(c->pf, b, field, name[i], v[i].u.i);
}

/* Finds or adds a key in a map and returns its index; *ret_new: it was added. */
static uint32_t number_of_key(struct nsx_conv *c, struct nsx_keymap *m,
			      struct nsx_keycache *cache, const struct nsx_key *key, bool *ret_new)
{
	size_t before = m->n;
	struct nsx_err err;
	uint32_t at = 0;

	if (nsx_keymap_add(m, cache, key, &at, &err))
		c->out->error = ENOMEM;
	*ret_new = m->n > before;
	return at;
}

uint64_t nsx_pf_intern_kernel(struct nsx_conv *c, const struct nsx_slice *s,
			      const struct nsx_val *other,
			      const struct nsx_val *constant, bool *ret_told)
{
	const struct nsx_val *v = other ? other : &s->name;
	struct nsx_key key = {{0, 0, 0, 0, other != NULL, s->track}};
	struct nsx_pf *pf = c->pf;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf args = {0};
	const char *name;
	uint64_t iid;
	bool is_new;
	size_t n, at;

	*ret_told = v->type == NSX_V_I64 && pf->kernels.n < MAX_KERNELS;
	if (v->type != NSX_V_I64 || (!*ret_told && !other))
		return 0;
	key.w[0] = nsx_pf_name_of(c, v, &name, &n);
	for (unsigned i = 0; *ret_told && i < NSX_PF_CONSTANTS; i++)
		if (constant[i].type == NSX_V_I64) {
			key.w[i + 1] = (uint64_t)constant[i].u.i;
			key.w[4] |= UINT64_C(2) << i;
		}
	iid = 1 + number_of_key(c, &pf->kernels, pf->cache[0], &key, &is_new);
	if (!is_new)
		return iid;
	if (*ret_told) /* interns the names of the constants */
		nsx_pf_put_constants(c, &args, KERNEL_ARG, s->track, constant);
	at = nsx_pf_intern(pf, INTERNED_KERNEL, iid, NULL, 0);
	if (other)
		nsx_pb_bytes(&pf->interned, KERNEL_DEMANGLED, name, n);
	if (args.n)
		nsx_buf_add(&pf->interned, args.p, args.n);
	nsx_pb_end(&pf->interned, at);
	return iid;
}

uint64_t nsx_pf_intern_spec(struct nsx_conv *c, const struct nsx_key *key,
			    const char *name, bool is_compute)
{
	bool is_new;
	uint64_t iid = 1 + number_of_key(c, &c->pf->specs_met, c->pf->cache[1], key, &is_new);
	size_t at;

	if (!nsx_pf_is_untold(c, NSX_PF_TOLD_SPEC, iid))
		return iid;
	at = nsx_pf_intern(c->pf, INTERNED_SPEC, iid, name, strlen(name));
	if (is_compute)
		nsx_pb_uint(&c->pf->interned, SPEC_CATEGORY, CATEGORY_COMPUTE);
	nsx_pb_end(&c->pf->interned, at);
	return iid;
}

uint64_t nsx_pf_intern_key(struct nsx_pf *pf, bool is_gpu, const char *key)
{
	const char **keys = pf->keys[is_gpu];
	unsigned *sent = &pf->to->keys[is_gpu], i = 0;

	while (i < NSX_PF_MAX_KEYS && keys[i] != key)
		i++;
	/* Keys are compared by text, because equal string constants may have several addresses. */
	if (i == NSX_PF_MAX_KEYS)
		for (i = 0; i < NSX_PF_MAX_KEYS - 1 && keys[i] && strcmp(keys[i], key);)
			i++;
	keys[i] = keys[i] ? keys[i] : key;
	if (!(*sent >> i & 1))
		nsx_pb_end(&pf->interned,
			   nsx_pf_intern(pf, is_gpu ? INTERNED_ARG : INTERNED_ANNOTATION,
					 i + 1, keys[i], strlen(keys[i])));
	*sent |= 1U << i;
	return i + 1;
}
