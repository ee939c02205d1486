/* pick.c - picks the part of the trace to replay.
 *
 * Small traces are replayed whole. Otherwise the part is the judged window with some time around
 * it, because earlier work reaches into the window, and latencies are learned from the time around
 * it. If the window itself is too large, some whole iterations are picked from its middle.
 */
#include "facts/replay/model.h"

/* CALLS_AN_OP calls count as one operation, because replaying a call is cheaper. */
enum { CALLS_AN_OP = 4, AROUND = 16 };

uint32_t model_first_call(const struct nsx_trace *t, const struct nsx_thread *h, int64_t at_ns)
{
	return NSX_SEARCH(h->calls_at, h->calls_at + h->ncalls, mid,
			  nsx_call_start(&t->calls, mid) < at_ns);
}

size_t model_weigh(const struct nsx_trace *t, int64_t from_ns, int64_t to_ns)
{
	size_t nops = 0, ncalls = 0;

	for (uint32_t d = 0; d < t->ndevices; d++)
		nops += nsx_first_op(t, &t->device[d], to_ns) -
			nsx_first_op(t, &t->device[d], from_ns);
	for (uint32_t h = 0; h < t->nthreads; h++)
		if (t->thread[h].ncalls)
			ncalls += model_first_call(t, &t->thread[h], to_ns) -
				  model_first_call(t, &t->thread[h], from_ns);
	return NSX_MAX(nops, ncalls / CALLS_AN_OP);
}

/* Widens a window towards `outer`, by the same share of the room on each side, as far as it holds
 * no more than `most` operations.
 */
static struct nsx_window widen_window(const struct nsx_trace *t, struct nsx_window inner,
				      struct nsx_window outer, size_t most)
{
	int64_t left = inner.start_ns - outer.start_ns;
	int64_t right = outer.end_ns - inner.end_ns;
	int share = NSX_SEARCH(1, 1 << 20, mid, /* share of the room, in units of 1 / (1 << 20) */
			       model_weigh(t, inner.start_ns - left / (1 << 20) * mid,
					   inner.end_ns + right / (1 << 20) * mid) <= most) - 1;

	return (struct nsx_window){inner.start_ns - left / (1 << 20) * share,
				   inner.end_ns + right / (1 << 20) * share};
}

static struct nsx_window choose_window_part(const struct nsx_trace *t, const struct nsx_facts *f,
				 struct nsx_window judged, size_t most)
{
	const struct nsx_loop *loop = nsx_pacing_loop(f);
	const struct nsx_iteration *v = loop ? loop->v : NULL;
	int64_t at = judged.start_ns + (judged.end_ns - judged.start_ns) / 2;
	size_t from = 0, to = loop ? loop->n : 0, lo, hi, n;

	while (from < to && v[from].start_ns < judged.start_ns)
		from++;
	while (from < to && v[to - 1].end_ns > judged.end_ns)
		to--;
	n = to - from;
	v = n ? v + from : v;
	lo = hi = n / 2;
	while (lo > 0 || hi < n) {
		size_t a = lo > 0 ? lo - 1 : lo, b = hi < n ? hi + 1 : hi;

		if (model_weigh(t, v[a].start_ns, v[b - 1].end_ns) > most)
			break;
		lo = a;
		hi = b;
	}
	if (lo == hi)
		return widen_window(t, (struct nsx_window){at, at}, judged, most);
	return (struct nsx_window){v[lo].start_ns, v[hi - 1].end_ns};
}

int model_pick(struct build *b, size_t max_ops, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	const struct nsx_trace *t = m->t;
	struct nsx_window *w = &m->closure.window, around;

	m->judged = *w = nsx_judged(m->f);
	b->from_ns = NEVER;
	b->to_ns = INT64_MAX;
	if (w->start_ns >= w->end_ns || !t->ops.n || !t->calls.n)
		m->closure.reason = t->ops.n && nsx_is_in_part(t) ?
				"no API call is near the window" :
			    t->ops.n ? "no API calls were recorded" :
					       "there is no GPU work";
	else if (model_weigh(t, NEVER, INT64_MAX) > max_ops) {
		size_t most = max_ops - max_ops / AROUND;

		if (model_weigh(t, w->start_ns, w->end_ns) > most) {
			*w = choose_window_part(t, m->f, m->judged, most);
			m->closure.is_part = true;
		}
		around = widen_window(t, *w, (struct nsx_window){t->first_ns, t->last_ns + 1},
				      max_ops);
		b->from_ns = around.start_ns;
		b->to_ns = around.end_ns;
	}
	return nsx_stopped(err);
}
