/* fetches.c - divides idle time in which the host fetches pages of unified memory into its own work
 * on the pages, which grows with their number, and page faults, which do not. A line of least
 * squares is laid through the gaps: their lengths over the bytes that were fetched right before.
 */
#include "base/stat.h"
#include "facts/fetches.h"

#define VARIED 1.1 /* least ratio of the mean square of sizes to the square of their mean */
/* a page fault takes several microseconds, so a shorter gap lies within one fetch */
enum { FAULT_NS = 1000 };

struct line { /* sums over points, for a line of least squares */
	double n, x, y, xx, xy;
};

static void add_point(struct line *s, double x, double y)
{
	s->n++;
	s->x += x;
	s->y += y;
	s->xx += x * x;
	s->xy += x * y;
}

/* The share of all y (gaps) that does not grow with x (bytes); negative if x hardly varies. */
static double constant_share(const struct line *s)
{
	double spread = s->n * s->xx - s->x * s->x;

	return s->n * s->xx <= VARIED * s->x * s->x ? -1 :
	       1 - NSX_MIN(1, NSX_MAX(0, (s->n * s->xy - s->x * s->y) / spread) * s->x / s->y);
}

struct nsx_fetches nsx_find_fetches(const struct nsx_facts *f, const struct nsx_trace *t,
				    uint32_t device, struct nsx_window w)
{
	const struct nsx_idle *idle = &f->idle[device];
	struct nsx_fetches ret = {0};
	struct line line = {0};
	uint32_t before = NSX_NONE;

	for (size_t i = nsx_idle_from(idle, w.start_ns); i < idle->n; i++) {
		struct nsx_idle_piece p = nsx_idle_at(idle, i);
		int64_t ns = NSX_MIN(p.end_ns, w.end_ns) - NSX_MAX(p.start_ns, w.start_ns);
		const struct nsx_copy *c;
		double bytes = 0;

		if (p.cause != NSX_CAUSE_MIGRATION || ns < FAULT_NS || p.op == NSX_NONE)
			continue;
		c = nsx_op_copy(t, p.op);
		if (!nsx_copy_is_fetched(c->copy_kind, c->cause))
			continue;
		ret.n++;
		nsx_add_to(&ret.ns, ns);
		for (uint32_t op = before; op < p.op; op++)
			if (t->ops.kind[op] == NSX_OP_MEMCPY)
				bytes += (double)NSX_MAX(0, nsx_op_copy(t, op)->bytes);
		before = p.op;
		if (bytes > 0)
			add_point(&line, bytes, (double)ns);
	}
	ret.fault_ns = (double)ret.ns * constant_share(&line);
	return ret;
}
