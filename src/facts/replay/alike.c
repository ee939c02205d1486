/* alike.c - lists the comparable work of ranks, sorted by length. even.c makes a rank even with
 * these lists: the rank takes the lengths of its peers.
 */
#include "facts/replay/model.h"

/* Tells whether several processes or several devices have work. */
static bool has_ranks(const struct build *b)
{
	const struct nsx_stream *all = b->m->t->stream;

	for (uint32_t k = 1; k < b->m->nstreams; k++) {
		const struct nsx_stream *x = &all[b->stream_row[k]];
		const struct nsx_stream *first = &all[b->stream_row[0]];

		if (x->process != first->process || x->device != first->device)
			return true;
	}
	return false;
}

/* Finds each thread's device, which is the first one to which it launches work. */
static int find_devices(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;

	if (!nsx_new_array(m->thread_device, m->arena, m->t->nthreads, "threads", err))
		return err->rc;
	memset(m->thread_device, 0xff, (size_t)m->t->nthreads * 4);
	for (uint32_t i = 0; i < m->nops; i++) {
		uint32_t *device;

		if (m->op[i].call == NSX_NONE)
			continue;
		device = &m->thread_device[nsx_call_thread(m->t, m->call[m->op[i].call].row)];
		if (*device == NSX_NONE)
			*device = model_device(b, i);
	}
	return 0;
}

static int64_t kind_of_work(const struct nsx_model *m, uint32_t op)
{
	const struct model_op *o = &m->op[op];

	return o->kind == NSX_OP_KERNEL ?
		       (int64_t)nsx_op_shape(m->t, o->row)->base_name :
		       -1 - (o->kind << 8 | o->copy_kind);
}

static int64_t kind_of_gap(const struct nsx_model *m, uint32_t call)
{
	const struct model_call *c = &m->call[call];

	return (int64_t)m->call[c->before].api * m->napis + c->api;
}

static int64_t alike_kind_of_call(const struct nsx_model *m, uint32_t call)
{
	return m->call[call].api;
}

static uint32_t engine_of(const struct nsx_model *m, uint32_t op)
{
	return m->op[op].engine;
}

static uint32_t alike_thread_of(const struct nsx_model *m, uint32_t call)
{
	return nsx_call_thread(m->t, m->call[call].row);
}

struct alike {
	int64_t ns;
	uint32_t at, of;
};

/* Packs n entries. v: indices into by_length, sorted by kind. room: scratch for n 8-byte values. */
static int pack_alike(struct build *b, const struct nsx_keyed *v, void *room,
		      uint32_t n, const struct alike *by_length,
		      struct model_alikes *ret, struct nsx_err *err)
{
	struct nsx_arena *a = b->m->arena;
	int64_t *ns = room;
	uint32_t *at = room;

	ret->n = n;
	for (uint32_t k = 0; k < n; k++)
		ns[k] = by_length[v[k].at].ns;
	if (nsx_pack_i64(a, ns, n, "ranks", &ret->ns, err))
		return err->rc;
	for (uint32_t k = 0; k < n; k++)
		at[k] = by_length[v[k].at].at;
	if (nsx_pack_u32(a, at, n, "ranks", &ret->at, err))
		return err->rc;
	for (uint32_t k = 0; k < n; k++)
		at[k] = by_length[v[k].at].of << 1 | (!k || v[k].key != v[k - 1].key);
	return nsx_pack_u32(a, at, n, "ranks", &ret->of, err);
}

/* Sorts n entries by kind, then length, and packs them. v: lengths and indices, with room for n + 1
 * more entries.
 */
static int list_alike(struct build *b, struct nsx_keyed *v, uint32_t n,
		      int64_t (*kind)(const struct nsx_model *m, uint32_t at),
		      uint32_t (*of)(const struct nsx_model *m, uint32_t at),
		      struct model_alikes *ret, struct nsx_err *err)
{
	struct alike *by_length;
	int rc;

	if (!nsx_new_array(by_length, b->step, n, "ranks", err))
		return err->rc;
	nsx_keyed_sort(v, v + n, n);
	for (uint32_t k = 0; k < n; k++) {
		by_length[k] = (struct alike){v[k].key, v[k].at,
					      of(b->m, v[k].at)};
		v[k] = (struct nsx_keyed){kind(b->m, v[k].at), k};
	}
	nsx_keyed_sort(v, v + n, n);
	/* A key has 12 bytes, so an even number of keys keeps the alignment of 8 bytes. */
	rc = pack_alike(b, v, v + n + n % 2, n, by_length, ret, err);
	nsx_arena_drop(b->step, by_length);
	return rc;
}

static int list_comparable_ops(struct build *b, struct nsx_keyed *v, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->nops; i++) {
		const struct model_op *o = &m->op[i];

		if ((o->flags & (OP_ACTIVE | OP_COMM)) == OP_ACTIVE)
			v[n++] = (struct nsx_keyed){o->length_ns, i};
	}
	return list_alike(b, v, n, kind_of_work, engine_of, &m->alike_ops, err);
}

static bool is_of_rank(const struct nsx_model *m, const struct model_call *c)
{
	return (c->flags & CALL_ACTIVE) &&
	       m->thread_device[nsx_call_thread(m->t, c->row)] != NSX_NONE;
}

static int list_comparable_gaps(struct build *b, struct nsx_keyed *v, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->ncalls; i++)
		if (is_of_rank(m, &m->call[i]) && m->call[i].before != NSX_NONE)
			v[n++] = (struct nsx_keyed){model_gap(m, i), i};
	return list_alike(b, v, n, kind_of_gap, alike_thread_of, &m->alike_gaps, err);
}

static int list_comparable_calls(struct build *b, struct nsx_keyed *v, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->ncalls; i++) {
		const struct model_call *c = &m->call[i];

		if (is_of_rank(m, c) && (c->kind == CALL_LAUNCH || c->kind == CALL_API))
			v[n++] = (struct nsx_keyed){c->own_ns, i};
	}
	return list_alike(b, v, n, alike_kind_of_call, alike_thread_of, &m->alike_calls, err);
}

int model_alike(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	size_t most = NSX_MAX(m->nops, m->ncalls);
	struct nsx_keyed *v;

	if (!has_ranks(b))
		return 0;
	return nsx_new_arrays(b->step, 2 * most + 1, "ranks", err, v) ?:
	       find_devices(b, err) ?:
	       list_comparable_ops(b, v, err) ?:
	       list_comparable_gaps(b, v, err) ?:
	       list_comparable_calls(b, v, err);
}
