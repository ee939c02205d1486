/* gap.c - walking the gaps of a device, and the barrier behind each.
 *
 * The specification charges a gap to the last barrier of the launching thread
 * that ended near its start or in it, and does not say what to do where a wait
 * and a launcher gap both qualify.  Here, in this order:
 *
 *  1. The last wait that had begun when the device ran dry and was over when
 *     the launch began: had the host not waited, it would have run ahead and
 *     its own code would be hidden.  (Not one that still runs: an OS call that
 *     spans a thread's whole life delayed no launch.)
 *  2. A launcher gap.  As "the last barrier" it would take nearly every gap
 *     from the wait before it, for it ends where the next launch begins.
 *  3. The last wait inside the gap.  Before a launcher gap it would be charged
 *     with host code that was slow anyway: an allocation of 1 ms near the end
 *     of a gap of 700 ms is not what cost 700 ms.
 */
#include "nsx/facts.h"

enum { NEAR_NS = 5000 };

bool nsx_next_gap(const struct nsx_idle *idle, size_t *at, struct nsx_gap *ret)
{
	const struct nsx_idle_piece *p = idle->v + *at;
	size_t n = 1;

	if (*at >= idle->n)
		return false;
	while (*at + n < idle->n && !p[n].first)
		n++;
	*at += n;
	*ret = (struct nsx_gap){
		.start_ns = p[0].start_ns, .end_ns = p[n - 1].end_ns,
		.pieces = p, .npieces = n, .op = p[0].op,
		.is_edge = p[0].cause == NSX_CAUSE_EDGE};
	return true;
}

/* How many of n barriers, ordered by end, ended before an instant. */
static size_t count_ended(const struct nsx_facts *f, const uint32_t *list,
			  size_t n, int64_t before)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->barriers[list[mid]].end_ns < before)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t nsx_gap_barrier(const struct nsx_facts *f, const struct nsx_trace *t,
			 const struct nsx_gap *gap)
{
	uint32_t call = gap->op == NSX_NONE ? NSX_NONE : t->ops.call[gap->op];
	const struct nsx_thread_barriers *s;
	const uint32_t *waits, *gaps;
	int64_t after = gap->start_ns - NEAR_NS;
	size_t i, k, ngaps;

	if (call == NSX_NONE || t->calls.start_ns[call] < gap->start_ns)
		return NSX_NONE;
	s = &f->thread_barriers[nsx_call_thread(t, call)];
	waits = f->barrier_by_end + s->at;
	i = count_ended(f, waits, s->nwaits,
			NSX_MIN(t->calls.start_ns[call] + 1, gap->end_ns));
	for (k = i; k && f->barriers[waits[k - 1]].end_ns > after; k--)
		if (f->barriers[waits[k - 1]].start_ns <= gap->start_ns)
			return waits[k - 1];
	/* A copy may be launched inside a launcher gap, which then goes on. */
	gaps = waits + s->nwaits;
	ngaps = s->n - s->nwaits;
	k = count_ended(f, gaps, ngaps, gap->end_ns);
	if (k < ngaps && f->barriers[gaps[k]].start_ns <= gap->start_ns)
		return gaps[k];
	if (k && f->barriers[gaps[k - 1]].end_ns > after)
		return gaps[k - 1];
	return i && f->barriers[waits[i - 1]].end_ns > after ? waits[i - 1] :
							       NSX_NONE;
}
