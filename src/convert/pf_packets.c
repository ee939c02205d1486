/* pf_packets.c - packets, blocks of them, and what is interned in them.
 *
 * All packets of a part are of one sequence, so that names are interned once.
 */
#include <errno.h>
#include <stdio.h>
#include "convert/pf.h"
#include "convert/rings.h"

enum {
	PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	INTERNED_NAME = 2, INTERNED_ANNOTATION = 3, INTERNED_SPEC = 24,
	INTERNED_KERNEL = 1000, INTERNED_ARG = 1001,
	SPEC_CATEGORY = 4, KERNEL_DEMANGLED = 3, KERNEL_ARG = 5,
};
enum { STATE_CLEARED = 1 };
enum { CATEGORY_COMPUTE = 2 };
enum { BLOCK = 1 << 20 }; /* packets that are compressed together */
enum { SENT_NAME = 1 };
enum { MAX_KERNELS = 1 << 14 }; /* with constants: few but in hostile traces */

/* Packets ---------------------------------------------------------------------*/

/* No packet says that it needs what came before: readers would drop it where some
 * was lost, and a file loses none.
 */
static void put_head(const struct nsx_conv *c)
{
	struct nsx_pf *pf = c->pf;
	struct nsx_buf b = {0};

	nsx_pb_uint(&b, PACKET_SEQUENCE,
		    c->opts->place.trace * NSX_CONVERT_PARTS + c->part + 1);
	if (c->opts->place.machine)
		nsx_pb_uint(&b, NSX_PF_MACHINE, c->opts->place.machine);
	pf->nhead = NSX_MIN(b.n, sizeof(pf->head));
	memcpy(pf->head, b.p, pf->nhead);
	nsx_buf_done(&b);
}

void nsx_pf_open_packet(struct nsx_conv *c, int64_t at_ns)
{
	struct nsx_pf *pf = c->pf;
	char *p;

	if (!pf->is_begun)
		put_head(c);
	pf->packet = nsx_pb_begin(&pf->packets, NSX_PF_PACKET);
	p = nsx_buf_room(&pf->packets, NSX_PB_MAX_UINT + sizeof(pf->head));
	p = nsx_pb_put_uint(p, PACKET_TIMESTAMP,
			    (uint64_t)(at_ns + c->counts->shift_ns));
	memcpy(p, pf->head, sizeof(pf->head));
	nsx_pb_take(&pf->packets, p + pf->nhead);
	if (!pf->is_begun)
		nsx_pb_uint(&pf->packets, PACKET_FLAGS, STATE_CLEARED);
	pf->is_begun = true;
}

void nsx_pf_flush(struct nsx_conv *c)
{
	struct nsx_buf *b = &c->pf->packets;

	if (b->n && !nsx_rings_put(*c->rings, c->part, b))
		c->out->error = ECANCELED;
	nsx_buf_clear(b);
}

void nsx_pf_close_packet(struct nsx_conv *c)
{
	struct nsx_pf *pf = c->pf;

	if (pf->interned.n)
		nsx_pb_bytes(&pf->packets, PACKET_INTERNED, pf->interned.p,
			     pf->interned.n);
	nsx_buf_clear(&pf->interned);
	nsx_pb_end(&pf->packets, pf->packet);
	if (pf->packets.n >= BLOCK)
		nsx_pf_flush(c);
}

/* Interning -------------------------------------------------------------------*/

/* {iid, name} into the open packet; what may follow, until nsx_pb_end. */
size_t nsx_pf_intern(struct nsx_pf *pf, unsigned field, uint64_t iid,
		     const char *name, size_t n)
{
	size_t at = nsx_pb_begin(&pf->interned, field);

	nsx_pb_uint(&pf->interned, NSX_PF_IID, iid);
	if (name)
		nsx_pb_bytes(&pf->interned, NSX_PF_IID_NAME, name, n);
	return at;
}

/* Our own text, or one that stands in a cell: a number of its own, and whether
 * it was met before.
 */
uint64_t nsx_pf_text_iid(struct nsx_conv *c, const char *text, size_t n,
			 bool *ret_new)
{
	struct nsx_pf *pf = c->pf;
	struct nsx_err err;
	nsx_str id;

	if (nsx_strings_add(pf->texts, text, n, &id, &err) ||
	    nsx_grow(&pf->met, &pf->cap_met, id + (size_t)1, 1, "names", &err)) {
		c->out->error = ENOMEM;
		return *ret_new = false;
	}
	*ret_new = !pf->met[id];
	pf->met[id] = 1;
	return UINT64_C(1) << 32 | id;
}

/* Text of a name cell, and a number of its own; *ret_sent: what was sent. */
uint64_t nsx_pf_name_of(struct nsx_conv *c, const struct nsx_val *v,
			const char **ret, size_t *ret_n, uint8_t **ret_sent)
{
	struct nsx_err err;
	char unknown[32];
	uint64_t iid;
	bool is_new;
	size_t at;

	*ret_sent = NULL;
	if (v->type == NSX_V_I64 &&
	    (*ret = nsx_names_get(c->names, v->u.i, ret_n, &at))) {
		if (nsx_grow(&c->pf->sent, &c->pf->cap_sent, at + 1, 1, "names",
			     &err)) {
			c->out->error = ENOMEM;
			return 0;
		}
		*ret_sent = &c->pf->sent[at];
		return at + 1;
	}
	if (v->type == NSX_V_TEXT)
		*ret = v->u.p, *ret_n = NSX_MIN(v->len, 4096u);
	else if (v->type == NSX_V_I64)
		*ret = unknown, *ret_n = (size_t)snprintf(
			unknown, sizeof(unknown), "id:%lld", (long long)v->u.i);
	else
		*ret = "(unnamed)", *ret_n = 9;
	iid = nsx_pf_text_iid(c, *ret, *ret_n, &is_new);
	*ret = nsx_str_text(c->pf->texts, (nsx_str)iid); /* repaired */
	*ret_n = strlen(*ret);
	if (is_new)
		nsx_pb_end(&c->pf->interned,
			   nsx_pf_intern(c->pf, INTERNED_NAME, iid, *ret, *ret_n));
	return iid;
}

/* Whether a text was met, or another of the same place since. */
static bool was_met(struct nsx_pf *pf, const struct nsx_val *v)
{
	uint64_t hash = nsx_hash(v->u.p, v->len);
	uint32_t *place = &pf->met_once[hash % ARRAY_LEN(pf->met_once)];
	uint32_t mark = (uint32_t)(hash >> 32) | 1;
	bool ret = *place == mark;

	*place = mark;
	return ret;
}

void nsx_pf_put_name(struct nsx_conv *c, const struct nsx_val *v, unsigned iid,
		     unsigned name)
{
	struct nsx_pf *pf = c->pf;
	const char *text;
	uint8_t *sent;
	uint64_t number;
	size_t n;

	/* Texts are often of their own: numbering them fills our tables and the
	 * reader's.
	 */
	if (v->type == NSX_V_TEXT && !was_met(pf, v)) {
		n = nsx_pb_begin(&pf->packets, name);
		nsx_buf_add_utf8(&pf->packets, v->u.p, NSX_MIN(v->len, 4096u));
		nsx_pb_end(&pf->packets, n);
		return;
	}
	number = nsx_pf_name_of(c, v, &text, &n, &sent);
	if (sent && !(*sent & SENT_NAME)) {
		*sent |= SENT_NAME;
		nsx_pb_end(&pf->interned, nsx_pf_intern(pf, INTERNED_NAME,
							number, text, n));
	}
	nsx_pb_uint(&pf->packets, iid, number);
}

static const char *const constants[NSX_PF_CONSTANTS] = {
	"registers_per_thread", "shared_mem_static", "shared_mem_dynamic"};

static void put_constants(struct nsx_pf *pf, struct nsx_buf *b, unsigned field,
			  const struct nsx_val *v)
{
	for (unsigned i = 0; i < NSX_PF_CONSTANTS; i++) {
		size_t at;

		if (v[i].type != NSX_V_I64)
			continue;
		at = nsx_pb_begin(b, field);
		nsx_pb_uint(b, NSX_PF_IID,
			    nsx_pf_intern_key(pf, true, constants[i]));
		nsx_pb_uint(b, NSX_PF_ARG_INT, (uint64_t)v[i].u.i);
		nsx_pb_end(b, at);
	}
}

/* A kernel of that name and constants: its number; 0: the launch says them. */
static uint64_t intern_kernel(struct nsx_conv *c, const struct nsx_val *v,
			      const struct nsx_val *constant)
{
	struct nsx_pf *pf = c->pf;
	struct nsx_buf args = {0};
	const char *name;
	struct nsx_key key;
	uint8_t *sent;
	uint64_t iid;
	bool is_new;
	size_t n, at;

	key = (struct nsx_key){{nsx_pf_name_of(c, v, &name, &n, &sent)}};
	if (!sent)
		return 0;
	for (unsigned i = 0; constant && i < NSX_PF_CONSTANTS; i++)
		if (constant[i].type == NSX_V_I64) {
			key.w[i + 1] = (uint64_t)constant[i].u.i;
			key.w[4] |= UINT64_C(1) << i;
		}
	iid = 1 + nsx_pf_number(c, &pf->kernels, pf->cache[3], &key, &is_new);
	if (!is_new)
		return iid;
	if (constant) /* interns their names */
		put_constants(pf, &args, KERNEL_ARG, constant);
	at = nsx_pf_intern(pf, INTERNED_KERNEL, iid, NULL, 0);
	nsx_pb_bytes(&pf->interned, KERNEL_DEMANGLED, name, n);
	if (args.n)
		nsx_buf_add(&pf->interned, args.p, args.n);
	nsx_pb_end(&pf->interned, at);
	nsx_buf_done(&args);
	return iid;
}

void nsx_pf_kernel(struct nsx_conv *c, const struct nsx_val *name,
		   const struct nsx_val *constant)
{
	struct nsx_pf *pf = c->pf;
	bool is_held = name && pf->kernels.n < MAX_KERNELS;

	if (name)
		pf->kernel_iid = intern_kernel(c, name,
					       is_held ? constant : NULL);
	if (!is_held || !pf->kernel_iid)
		put_constants(pf, &pf->packets, NSX_PF_LAUNCH_ARG, constant);
}

/* A stage or queue of GPU work. */
uint64_t nsx_pf_intern_spec(struct nsx_conv *c, const struct nsx_key *key,
			    const char *name, bool is_compute)
{
	bool is_new;
	uint64_t iid = 1 + nsx_pf_number(c, &c->pf->specs_met, c->pf->cache[1],
					 key, &is_new);
	size_t at;

	if (!is_new)
		return iid;
	at = nsx_pf_intern(c->pf, INTERNED_SPEC, iid, name, strlen(name));
	if (is_compute)
		nsx_pb_uint(&c->pf->interned, SPEC_CATEGORY, CATEGORY_COMPUTE);
	nsx_pb_end(&c->pf->interned, at);
	return iid;
}

uint64_t nsx_pf_intern_key(struct nsx_pf *pf, bool is_gpu, const char *key)
{
	unsigned i = 0;

	while (i < NSX_PF_MAX_KEYS && pf->keys[is_gpu][i] != key)
		i++;
	if (i < NSX_PF_MAX_KEYS)
		return i + 1;
	/* The same word may stand at several places of the program. */
	for (i = 0; i < NSX_PF_MAX_KEYS - 1 && pf->keys[is_gpu][i] &&
		    strcmp(pf->keys[is_gpu][i], key);)
		i++;
	if (!pf->keys[is_gpu][i]) {
		pf->keys[is_gpu][i] = key;
		nsx_pb_end(&pf->interned,
			   nsx_pf_intern(pf, is_gpu ? INTERNED_ARG : INTERNED_ANNOTATION,
				  i + 1, key, strlen(key)));
	}
	return i + 1;
}

/* Index of a key in a map; *ret_new: it is there for the first time. */
uint32_t nsx_pf_number(struct nsx_conv *c, struct nsx_keymap *m,
		       struct nsx_keycache *cache, const struct nsx_key *key,
		       bool *ret_new)
{
	size_t before = m->n;
	struct nsx_err err;
	uint32_t at = 0;

	if (nsx_keymap_add(m, cache, key, &at, &err))
		c->out->error = ENOMEM;
	*ret_new = m->n > before;
	return at;
}
