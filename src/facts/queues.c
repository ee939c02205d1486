/* queues.c - lists calls and the operations they started, by stream. */
#include "base/stat.h"
#include "facts/queues.h"

static bool queues_is_queued(const struct nsx_trace *t, uint32_t op)
{
	uint32_t call = nsx_op_call(&t->ops, op);

	return call != NSX_NONE && nsx_call_op(&t->calls, call) == op && nsx_op_counts(t, op);
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
	uint32_t first = t->device[device].ops_at, end = first + t->device[device].nops;
	size_t n = 0;

	for (uint32_t i = first; i < end; i++)
		n += queues_is_queued(t, i);
	if (nsx_new_arrays(a, t->nstreams + (size_t)2, "streams", err, q->at) ||
	    nsx_new_arrays(a, n, "launches", err, q->called_ns, q->op))
		return err->rc;
	NSX_DEAL(q->at, q->op, t->nstreams, end - first, i,
		 queues_is_queued(t, first + i) ? nsx_op_stream(&t->ops, first + i) : NSX_NONE);
	for (size_t k = 0; k < n; k++) {
		q->op[k] += first;
		q->called_ns[k] = NSX_MIN(nsx_call_start(&t->calls, nsx_op_call(&t->ops, q->op[k])),
					  nsx_op_start(&t->ops, q->op[k]));
	}
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
