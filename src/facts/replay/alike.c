/* alike.c - lists the comparable work of ranks, sorted by length. even.c makes a rank even with
 * these lists: the rank takes the lengths of its peers.
 */
#include "facts/replay/model.h"

/* Whether several processes or several devices have work. */
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

/* Whether an operation, a call or the gap before it can be compared between ranks. */
static bool is_comparable(const struct nsx_model *m, unsigned time, uint32_t i)
{
	const struct model_call *c = &m->call[i];

	if (time == TIME_LENGTHS)
		return (m->op[i].flags & (OP_ACTIVE | OP_COMM)) == OP_ACTIVE;
	if (!(c->flags & CALL_ACTIVE) ||
	    m->thread_device[nsx_call_thread(m->t, c->row)] == NSX_NONE)
		return false;
	return time == TIME_GAPS ? c->before != NSX_NONE :
				   c->kind == CALL_LAUNCH || c->kind == CALL_API;
}

/* Returns what work must have in common to be compared. */
static int64_t kind_of_work(const struct nsx_model *m, unsigned time, uint32_t i)
{
	const struct model_op *o = &m->op[i];
	const struct model_call *c = &m->call[i];

	if (time == TIME_LENGTHS)
		return o->kind == NSX_OP_KERNEL ?
			       (int64_t)nsx_op_shape(m->t, o->row)->base_name :
			       -1 - (o->kind << 8 | o->copy_kind);
	return time == TIME_GAPS ? (int64_t)m->call[c->before].api * m->napis + c->api : c->api;
}

/* Lists comparable work by kind, then length. v: room for twice as many entries as there are. */
static int list_alike(struct nsx_model *m, unsigned time, struct nsx_keyed *v, struct nsx_err *err)
{
	struct model_alikes *x = &m->alike[time];
	uint32_t all = time == TIME_LENGTHS ? m->nops : m->ncalls, n = 0;

	for (uint32_t i = 0; i < all; i++)
		if (is_comparable(m, time, i))
			v[n++] = (struct nsx_keyed){model_time(m, time, i), i};
	nsx_keyed_sort(v, v + n, n);
	for (uint32_t k = 0; k < n; k++)
		v[k].key = kind_of_work(m, time, v[k].at);
	nsx_keyed_sort(v, v + n, n);
	if (!nsx_new_array(x->v, m->arena, n, "ranks", err))
		return err->rc;
	for (uint32_t k = 0; k < n; k++)
		x->v[k] = v[k].at << 1 | (!k || v[k].key != v[k - 1].key);
	x->n = n;
	return 0;
}

int model_alike(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	struct nsx_keyed *v;
	int rc;

	if (!has_ranks(b))
		return 0;
	rc = nsx_new_arrays(b->step, 2 * (size_t)NSX_MAX(m->nops, m->ncalls), "ranks", err, v) ?:
	     find_devices(b, err);
	for (unsigned time = 0; !rc && time < NTIMES; time++)
		rc = list_alike(m, time, v, err);
	return rc;
}
