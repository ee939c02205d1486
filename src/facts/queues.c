/* queues.c - lists calls and the operations they started, by stream. */
#include "base/stat.h"
#include "facts/queues.h"

static bool queues_is_queued(const struct nsx_trace *t, uint32_t op)
{
	uint32_t call = nsx_op_call(&t->ops, op);

	return call != NSX_NONE && nsx_call_op(&t->calls, call) == op && nsx_op_counts(t, op);
}

static int64_t call_start_of_op(const struct nsx_trace *t, uint32_t op)
{
	return NSX_MIN(nsx_call_start(&t->calls, nsx_op_call(&t->ops, op)),
		       nsx_op_start(&t->ops, op));
}

static void sort_if_needed(int64_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (v[i] < v[i - 1]) {
			nsx_sort(v, n, sizeof(*v), nsx_cmp_i64);
			return;
		}
}

int nsx_queues_build(const struct nsx_trace *t, uint32_t device,
		     struct nsx_arena *a, struct nsx_queues *q, struct nsx_err *err)
{
	uint32_t first = t->device[device].ops_at;
	uint32_t end = first + t->device[device].nops;
	size_t n;

	if (!nsx_new_array(q->at, a, t->nstreams + (size_t)1, "streams", err))
		return err->rc;
	for (uint32_t i = first; i < end; i++)
		if (queues_is_queued(t, i))
			q->at[nsx_op_stream(&t->ops, i) + 1]++;
	for (uint32_t s = 0; s < t->nstreams; s++)
		q->at[s + 1] += q->at[s];
	n = q->at[t->nstreams];
	if (nsx_new_arrays(a, n, "launches", err, q->called_ns, q->op))
		return err->rc;
	/* Filling a slice moves at[stream] to the end of the slice, where the next one begins. */
	for (uint32_t i = first; i < end; i++) {
		size_t *at = &q->at[nsx_op_stream(&t->ops, i)];

		if (!queues_is_queued(t, i))
			continue;
		q->called_ns[*at] = call_start_of_op(t, i);
		q->op[(*at)++] = i;
	}
	memmove(q->at + 1, q->at, t->nstreams * sizeof(*q->at));
	q->at[0] = 0;
	for (uint32_t s = 0; s < t->nstreams; s++)
		sort_if_needed(q->called_ns + q->at[s], q->at[s + 1] - q->at[s]);
	return 0;
}

void nsx_queues_drop(struct nsx_queues *q, struct nsx_arena *a)
{
	nsx_arena_drop(a, q->at);
	nsx_arena_drop(a, q->called_ns);
	nsx_arena_drop(a, q->op);
}
