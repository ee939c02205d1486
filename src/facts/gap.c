/* gap.c - iterates over a device's gaps and their pieces, and finds the barrier that caused each
 * gap.
 *
 * A gap is charged to one barrier of the launching thread (queries/README.md 10). If several
 * barriers qualify, the first of these is charged:
 *
 *  1. The last wait that had begun when the device ran dry and had ended when the launch began.
 *     Without that wait the host would have run ahead, and its own code would have been hidden. A
 *     wait that has not ended does not count: an OS call that spans a thread's whole life delayed
 *     no launch.
 *  2. A launcher gap. It comes after these waits because it ends where the next launch begins, so
 *     it would take nearly every gap from them.
 *  3. The last wait inside the gap. It comes after launcher gaps because it would be charged with
 *     host code that was slow anyway: an allocation of 1 ms near the end of a gap of 700 ms did not
 *     cost 700 ms.
 */
#include "facts/facts.h"

enum { NEAR_NS = 5000 }; /* a barrier that ended up to this long before the gap still qualifies */

static uint32_t ending_op(const struct nsx_idle *x, size_t i)
{
	return nsx_unpack_index(&x->op, i);
}

/* Returns where a piece ends: at the next piece of its gap, or at the operation that ends the gap.
 */
static int64_t piece_end_ns(const struct nsx_idle *x, size_t i, uint32_t op)
{
	if (i + 1 < x->n && !x->tag[i + 1].first)
		return nsx_idle_start(x, i + 1);
	return op == NSX_NONE ? x->trace->window.end_ns : nsx_op_start(&x->trace->ops, op);
}

struct nsx_idle_piece nsx_idle_at(const struct nsx_idle *x, size_t i)
{
	const struct nsx_trace *t = x->trace;
	uint32_t op = ending_op(x, i), about = nsx_unpack_index(&x->about, i);
	struct nsx_idle_piece p = {
		nsx_idle_start(x, i), piece_end_ns(x, i, op), op, 0,
		x->tag[i].cause, x->tag[i].first};

	switch (p.cause) {
	case NSX_CAUSE_OSRT:
	case NSX_CAUSE_HOST_CODE:
		p.detail = about == NSX_NONE ? 0 : about;
		break;
	case NSX_CAUSE_STREAM_WAIT:
		p.detail = nsx_op_name(t, about);
		break;
	case NSX_CAUSE_DISPATCH:
	case NSX_CAUSE_DEPENDENCY:
	case NSX_CAUSE_MIGRATION:
	case NSX_CAUSE_UNKNOWN:
	case NSX_CAUSE_EDGE:
		break;
	default:
		p.detail = nsx_call_name(&t->calls, about);
	}
	return p;
}

bool nsx_next_gap(const struct nsx_idle *x, size_t *at, struct nsx_gap *ret)
{
	size_t first = *at, n = 1;
	uint32_t op;

	if (first >= x->n)
		return false;
	op = ending_op(x, first);
	while (first + n < x->n && !x->tag[first + n].first)
		n++;
	*at += n;
	*ret = (struct nsx_gap){
		.start_ns = nsx_idle_start(x, first),
		.end_ns = piece_end_ns(x, *at - 1, op),
		.idle = x, .at = first, .npieces = n, .op = op,
		.is_edge = op == NSX_NONE || nsx_idle_start(x, first) == x->trace->window.start_ns};
	return true;
}

enum { SUM_STEP = 64 };

int nsx_idle_sum(struct nsx_idle *x, struct nsx_arena *a, struct nsx_err *err)
{
	int64_t ns = 0;

	if (!nsx_new_array(x->before_ns, a, x->n / SUM_STEP + 1, "idle sums", err))
		return err->rc;
	for (size_t i = 0; i < x->n; i++) {
		if (i % SUM_STEP == 0)
			x->before_ns[i / SUM_STEP] = ns;
		ns += piece_end_ns(x, i, ending_op(x, i)) - nsx_idle_start(x, i);
	}
	if (x->n % SUM_STEP == 0)
		x->before_ns[x->n / SUM_STEP] = ns;
	return 0;
}

/* The first piece that begins at at_ns or later. */
static size_t first_piece_from(const struct nsx_idle *x, int64_t at_ns)
{
	return NSX_SEARCH(0, x->n, mid, nsx_idle_start(x, mid) < at_ns);
}

size_t nsx_idle_from(const struct nsx_idle *x, int64_t at_ns)
{
	size_t i = first_piece_from(x, at_ns);

	if (i && piece_end_ns(x, i - 1, ending_op(x, i - 1)) > at_ns)
		i--;
	while (i && i < x->n && !x->tag[i].first)
		i--;
	return i;
}

/* Idle time before at_ns. */
static int64_t idle_before(const struct nsx_idle *x, int64_t at_ns)
{
	size_t lo = first_piece_from(x, at_ns);
	int64_t ns = x->before_ns[lo / SUM_STEP];

	for (size_t i = lo / SUM_STEP * SUM_STEP; i < lo; i++)
		ns += piece_end_ns(x, i, ending_op(x, i)) - nsx_idle_start(x, i);
	/* The last piece may reach beyond at_ns. */
	return lo ? ns - NSX_MAX(0, piece_end_ns(x, lo - 1, ending_op(x, lo - 1)) - at_ns) : ns;
}

int64_t nsx_idle_total(const struct nsx_idle *x)
{
	return nsx_idle_within(x, -NSX_TIME_MAX, NSX_TIME_MAX);
}

int64_t nsx_idle_within(const struct nsx_idle *x, int64_t start_ns, int64_t end_ns)
{
	return idle_before(x, end_ns) - idle_before(x, start_ns);
}

/* Finds the next gap, among pieces [*at, to), that overlaps w; clipped to w. */
static bool next_gap_in_window(const struct nsx_idle *x, const struct nsx_window *w,
			       size_t to, size_t *at, struct nsx_span *ret)
{
	struct nsx_gap gap;

	while (*at < to && nsx_next_gap(x, at, &gap)) {
		ret->start_ns = NSX_MAX(gap.start_ns, w->start_ns);
		ret->end_ns = NSX_MIN(gap.end_ns, w->end_ns);
		if (ret->start_ns < ret->end_ns)
			return true;
	}
	return false;
}

int nsx_idle_spans(const struct nsx_idle *x, const struct nsx_window *w,
		   struct nsx_arena *a, struct nsx_spans *ret, struct nsx_err *err)
{
	static const char what[] = "idle spans";
	const size_t from = nsx_idle_from(x, w->start_ns);
	const size_t to = first_piece_from(x, w->end_ns);
	struct nsx_span span;
	size_t n = 0;
	int64_t *v;

	for (size_t i = from; i < to; i++)
		n += x->tag[i].first;
	*ret = (struct nsx_spans){0};
	if (!nsx_new_array(v, a, n, what, err))
		return err->rc;
	for (size_t at = from; next_gap_in_window(x, w, to, &at, &span); ret->n++)
		v[ret->n] = span.start_ns;
	if (nsx_pack_i64(a, v, ret->n, what, &ret->start, err))
		return err->rc;
	for (size_t at = from, i = 0; next_gap_in_window(x, w, to, &at, &span); i++)
		v[i] = span.end_ns - span.start_ns;
	if (nsx_pack_i64(a, v, ret->n, what, &ret->length, err))
		return err->rc;
	nsx_arena_drop(a, v);
	return 0;
}

/* The number of barriers in a list, sorted by end, that ended before a time. */
static size_t count_barriers_ended(const struct nsx_facts *f, const uint32_t *list, size_t n,
				   int64_t before)
{
	return NSX_SEARCH(0, n, mid, f->barriers[list[mid]].end_ns < before);
}

uint32_t nsx_gap_barrier(const struct nsx_facts *f, const struct nsx_trace *t,
			 const struct nsx_gap *gap)
{
	uint32_t call = gap->op == NSX_NONE ? NSX_NONE : nsx_op_call(&t->ops, gap->op);
	const struct nsx_thread_barriers *s;
	const uint32_t *waits, *gaps;
	int64_t after = gap->start_ns - NEAR_NS;
	size_t i, k, ngaps;

	if (call == NSX_NONE || nsx_call_start(&t->calls, call) < gap->start_ns)
		return NSX_NONE;
	s = &f->thread_barriers[nsx_call_thread(t, call)];
	waits = f->barrier_by_end + s->at;
	i = count_barriers_ended(f, waits, s->nwaits,
	    NSX_MIN(nsx_call_start(&t->calls, call) + 1, gap->end_ns));
	for (k = i; k && f->barriers[waits[k - 1]].end_ns > after; k--)
		if (f->barriers[waits[k - 1]].start_ns <= gap->start_ns)
			return waits[k - 1];
	/* A launcher gap counts even if it ends after the device's gap, as it does when a copy was
	 * launched in it.
	 */
	gaps = waits + s->nwaits;
	ngaps = s->n - s->nwaits;
	k = count_barriers_ended(f, gaps, ngaps, gap->end_ns);
	if (k < ngaps && f->barriers[gaps[k]].start_ns <= gap->start_ns)
		return gaps[k];
	if (k && f->barriers[gaps[k - 1]].end_ns > after)
		return gaps[k - 1];
	return i && f->barriers[waits[i - 1]].end_ns > after ? waits[i - 1] : NSX_NONE;
}
