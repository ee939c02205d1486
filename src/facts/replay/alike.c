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

/* By device, where its iterations begin in the list of all; *ret_n: how many each has, 0
 * where they differ, or where processes share one.
 */
static int find_steps(struct build *b, uint32_t **ret_first, uint32_t *ret_n,
		      struct nsx_err *err)
{
	const struct nsx_facts *f = b->m->f;
	const struct nsx_iteration *v = f->iterations;

	*ret_n = 0;
	if (!nsx_new_array(*ret_first, b->step, f->ndevices, "GPUs", err))
		return err->rc;
	memset(*ret_first, 0xff, f->ndevices * sizeof(**ret_first));
	NSX_EACH_RUN(i, next, f->niterations,
		     v[next].process == v[i].process &&
			     v[next].device == v[i].device) {
		if ((*ret_n && next - i != *ret_n) ||
		    (*ret_first)[v[i].device] != NSX_NONE) {
			*ret_n = 0;
			break;
		}
		*ret_n = (uint32_t)(next - i);
		(*ret_first)[v[i].device] = (uint32_t)i;
	}
	return 0;
}

static int number_steps(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	const struct nsx_iteration *v = m->f->iterations;
	uint32_t *first;

	if (find_steps(b, &first, &m->nsteps, err) ||
	    !nsx_new_array(m->alike_step, m->arena,
			   m->nsteps ? m->nalike_ops : 0, "iterations", err))
		return err->rc;
	for (uint32_t k = 0; m->nsteps && k < m->nalike_ops; k++) {
		uint32_t i = m->alike_op[k], from = first[model_device(b, i)];
		int64_t start_ns = m->op[i].start_ns;
		uint32_t next;

		m->alike_step[k] = NSX_NONE;
		if (from == NSX_NONE)
			continue;
		next = NSX_SEARCH(from, from + m->nsteps, mid,
				  v[mid].start_ns <= start_ns);
		if (next > from && start_ns < v[next - 1].end_ns)
			m->alike_step[k] = next - 1 - from;
	}
	return 0;
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
	       number_steps(b, err) ?:
	       order_gaps(m, v, err) ?:
	       order_calls(m, v, err);
}
