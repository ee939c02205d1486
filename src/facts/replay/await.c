/* await.c - finds waits for the GPU that are made without a CUDA call.
 *
 * A thread may wait for its GPU through a helper thread, a callback or a polling loop. Its calls
 * then show a gap, as if it ran code of its own. A gap holds a wait for the last work that the
 * thread queued if the GPU was busy until that work ended, and if the thread's traced wait (an OS
 * call, or time off the CPU) ends right after it. If no wait was traced, the gap itself must end
 * then. One such gap may be a coincidence, so they must fill most of the thread's traced waits, or
 * most of its time between calls.
 */
#include "base/stat.h"
#include "facts/replay/model.h"

#define WAKES 0.1 /* a wait ends at most this share of its length after the work ended */
#define IDLES 0.1 /* the GPU is idle for at most this share of the wait */
#define MOST 0.75 /* a thread waits in this way if waits fill this share of the time */
enum {
	LEAST_NS = 50000, /* shorter gaps are ordinary code between calls */
	OFTEN = 3, /* a thread waits in this way if it has at least this many waits */
};

struct awaiting { /* what is known of one thread's gaps */
	uint32_t op; /* the operation that ends last among those that the thread queued */
	struct awaits {
		uint32_t n; /* gaps that look like waits                     */
		int64_t awaits_ns, all_ns;
	} gaps, traced; /* time of all gaps; of gaps without a traced wait; of traced waits */
};

/* The end of the traced wait in which an operation ends, or the gap's end if no wait was traced. */
static int64_t find_wait_end(const struct build *b, uint32_t thread, struct nsx_span gap,
			     int64_t op_end_ns)
{
	const struct span_list *w = &b->m->waits;
	size_t at = span_list_find(w, thread, gap.start_ns);
	struct nsx_span x = {0};

	while (span_list_next(w, thread, gap, &at, &x))
		if (x.end_ns >= op_end_ns)
			return x.start_ns <= op_end_ns ? x.end_ns : gap.end_ns;
	return gap.end_ns;
}

static bool looks_like_wait(const struct build *b, uint32_t call, uint32_t op)
{
	const struct nsx_model *m = b->m;
	const struct model_call *c = &m->call[call];
	struct nsx_span gap = {c->start_ns - model_gap(m, call), c->start_ns};
	int64_t end_ns = op == NSX_NONE ? NEVER : model_op_end(&m->op[op]);
	int64_t wait_end_ns, wait_ns;
	uint32_t device;

	if (op == NSX_NONE || b->thread[c->before] != b->thread[call] || end_ns > c->start_ns)
		return false;
	wait_end_ns = find_wait_end(b, b->thread[call], gap, end_ns);
	wait_ns = wait_end_ns - gap.start_ns;
	if ((double)(wait_end_ns - end_ns) > WAKES * (double)wait_ns)
		return false;
	device = nsx_stream_of(m->t, m->op[op].row)->device;
	return (double)nsx_idle_within(&m->f->idle[device], gap.start_ns, end_ns) <=
	       IDLES * (double)wait_ns;
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
		int64_t gap_ns = model_gap(m, i), wait_ns = model_pause_ns(m, i);
		bool is_traced = wait_ns >= LEAST_NS;
		uint32_t op = b->last_op[i];

		if (gap_ns >= LEAST_NS)
			nsx_add_to(&x->gaps.all_ns, gap_ns);
		if (is_traced)
			nsx_add_to(&x->traced.all_ns, wait_ns);
		if (gap_ns >= LEAST_NS && looks_like_wait(b, i, x->op)) {
			struct awaits *of_kind = is_traced ? &x->traced : &x->gaps;

			nsx_add_to(&of_kind->awaits_ns, is_traced ? wait_ns : gap_ns);
			of_kind->n++;
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
		const struct awaiting *of_thread = &of[b->thread[x.call]];
		const struct awaits *y = model_pause_ns(m, x.call) >= LEAST_NS ?
						 &of_thread->traced : &of_thread->gaps;

		if (y->n < OFTEN || (double)y->awaits_ns < MOST * (double)y->all_ns)
			continue;
		m->call[x.call].flags = (uint16_t)((m->call[x.call].flags & ~CALL_OUTSIDE) | CALL_AWAITS);
		m->await[m->nawaits++] = x;
	}
	nsx_arena_drop(b->a, b->last_op);
	return nsx_stopped(err);
}
