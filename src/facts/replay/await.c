/* await.c - finds waits for the GPU that are made without a CUDA call.
 *
 * A thread may wait for its GPU through a helper thread, a callback or a polling loop. Its calls
 * then show a gap, as if it ran code of its own. A gap is a wait for the last work that the thread
 * queued if it ends right after that work, and the GPU was busy throughout. One such gap may be a
 * coincidence, so such gaps must fill most of the thread's time between calls.
 */
#include "base/stat.h"
#include "facts/replay/model.h"

#define WAKES 0.1 /* a wait ends at most this share of the gap after the work ended */
#define IDLES 0.1 /* the GPU is idle for at most this share of the gap */
#define MOST 0.75 /* a thread waits like this if waits fill this share of its gaps */
enum {
	LEAST_NS = 50000, /* shorter gaps are ordinary code between calls */
	OFTEN = 3, /* a thread waits like this if it has so many waits or more */
};

struct awaiting { /* statistics of one thread */
	uint32_t op; /* of the operations that it queued, the one that ends last */
	uint32_t n;  /* number of gaps that look like waits                  */
	int64_t awaits_ns, gaps_ns;
};

static bool is_await(const struct build *b, uint32_t call, uint32_t op)
{
	const struct nsx_model *m = b->m;
	const struct model_call *c = &m->call[call];
	int64_t gap_ns = model_gap(m, call), from_ns = c->start_ns - gap_ns;
	int64_t end_ns = op == NSX_NONE ? NEVER : model_op_end(&m->op[op]);
	uint32_t device;

	if (op == NSX_NONE || b->thread[c->before] != b->thread[call] ||
	    end_ns > c->start_ns || (double)(c->start_ns - end_ns) > WAKES * (double)gap_ns)
		return false;
	device = nsx_stream_of(m->t, m->op[op].row)->device;
	return (double)nsx_idle_within(&m->f->idle[device], from_ns, end_ns) <=
	       IDLES * (double)gap_ns;
}

static bool is_sure(const struct awaiting *x)
{
	return x->n >= OFTEN && (double)x->awaits_ns >= MOST * (double)x->gaps_ns;
}

int model_await(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	struct awaiting *of;
	size_t cap = 0, n = 0;

	if (nsx_new_arrays(b->step, m->t->nthreads, "threads", err, of))
		return err->rc;
	for (uint32_t h = 0; h < m->t->nthreads; h++)
		of[h].op = NSX_NONE;
	for (uint32_t i = 0; i < m->ncalls; i++) {
		struct awaiting *x = &of[b->thread[i]];
		int64_t gap_ns = model_gap(m, i);
		uint32_t op = b->last_op[i];

		if (gap_ns >= LEAST_NS)
			nsx_add_to(&x->gaps_ns, gap_ns);
		if (gap_ns >= LEAST_NS && is_await(b, i, x->op)) {
			nsx_add_to(&x->awaits_ns, gap_ns);
			x->n++;
			if (nsx_push(m->await, n, cap, "waits", err,
				     (struct model_await){i, x->op}))
				return err->rc;
		}
		if (op != NSX_NONE && (x->op == NSX_NONE || model_op_end(&m->op[op]) >=
								     model_op_end(&m->op[x->op])))
			x->op = op;
	}
	for (size_t k = 0; k < n; k++) {
		struct model_await x = m->await[k];

		if (!is_sure(&of[b->thread[x.call]]))
			continue;
		m->call[x.call].flags = (uint16_t)((m->call[x.call].flags & ~CALL_OUTSIDE) | CALL_AWAITS);
		m->await[m->nawaits++] = x;
	}
	nsx_arena_drop(b->a, b->last_op);
	return nsx_stopped(err);
}
