/* alike.c - what ranks do alike, in an order in which they can be compared: a
 * rank that is made even takes the distribution of its peers'.
 */
#include <string.h>
#include "facts/replay/model.h"

/* Work of more than one process, or on more than one device. */
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

/* A thread belongs to the device that it launches to first. */
static int find_devices(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;

	if (!nsx_new_array(m->thread_device, m->arena, m->t->nthreads,
			   "threads", err))
		return err->rc;
	memset(m->thread_device, 0xff, (size_t)m->t->nthreads * 4);
	for (uint32_t i = 0; i < m->nops; i++) {
		uint32_t *device;

		if (m->op[i].call == NSX_NONE)
			continue;
		device = &m->thread_device[nsx_call_thread(
			m->t, m->call[m->op[i].call].row)];
		if (*device == NSX_NONE)
			*device = model_device(b, i);
	}
	return 0;
}

static int copy_order(struct nsx_arena *a, const struct nsx_keyed *v, uint32_t n,
		      uint32_t **ret, struct nsx_err *err)
{
	if (!nsx_new_array(*ret, a, n, "ranks", err))
		return err->rc;
	for (uint32_t k = 0; k < n; k++)
		(*ret)[k] = v[k].at;
	return 0;
}

static int order_ops(struct nsx_model *m, struct nsx_keyed *v, struct nsx_err *err)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->nops; i++) {
		const struct model_op *o = &m->op[i];

		if ((o->flags & (OP_ACTIVE | OP_COMM)) == OP_ACTIVE)
			v[n++] = (struct nsx_keyed){o->length_ns, i};
	}
	nsx_keyed_sort(v, v + n, n);
	for (uint32_t k = 0; k < n; k++)
		v[k].key = model_work_kind(m, v[k].at);
	nsx_keyed_sort(v, v + n, n);
	m->nalike_ops = n;
	return copy_order(m->arena, v, n, &m->alike_op, err);
}

static bool is_of_rank(const struct nsx_model *m, const struct model_call *c)
{
	return (c->flags & CALL_ACTIVE) &&
	       m->thread_device[nsx_call_thread(m->t, c->row)] != NSX_NONE;
}

static int order_gaps(struct nsx_model *m, struct nsx_keyed *v,
		      struct nsx_err *err)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->ncalls; i++)
		if (is_of_rank(m, &m->call[i]) && m->call[i].before != NSX_NONE)
			v[n++] = (struct nsx_keyed){model_gap(m, i), i};
	nsx_keyed_sort(v, v + n, n);
	for (uint32_t k = 0; k < n; k++)
		v[k].key = (int64_t)model_gap_kind(m, v[k].at);
	nsx_keyed_sort(v, v + n, n);
	m->nalike_gaps = n;
	return copy_order(m->arena, v, n, &m->alike_gap, err);
}

static int order_calls(struct nsx_model *m, struct nsx_keyed *v,
		       struct nsx_err *err)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->ncalls; i++) {
		const struct model_call *c = &m->call[i];

		if (is_of_rank(m, c) &&
		    (c->kind == CALL_LAUNCH || c->kind == CALL_API))
			v[n++] = (struct nsx_keyed){c->own_ns, i};
	}
	nsx_keyed_sort(v, v + n, n);
	for (uint32_t k = 0; k < n; k++)
		v[k].key = m->call[v[k].at].api;
	nsx_keyed_sort(v, v + n, n);
	m->nalike_calls = n;
	return copy_order(m->arena, v, n, &m->alike_call, err);
}

int model_alike(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	size_t most = NSX_MAX(m->nops, m->ncalls);
	struct nsx_keyed *v;

	if (!has_ranks(b))
		return 0;
	return nsx_new_arrays(b->step, 2 * most, "ranks", err, v) ?:
	       find_devices(b, err) ?:
	       order_ops(m, v, err) ?:
	       order_gaps(m, v, err) ?:
	       order_calls(m, v, err);
}
