/* ranges.c - finds phases by the program's own NVTX ranges, on the thread that launches most work.
 *
 * The search begins with the outermost ranges. If one of them contains nearly all work, the ranges
 * inside it are examined, until there is a level with several distinct ranges. Recurring ranges,
 * numbered or not, are iterations and no phases.
 */
#include <ctype.h>
#include "base/stat.h"
#include "facts/iterations/iterations.h"

enum {
	MAX_LEVELS = 5,
	MAX_RANGES = 1024, /* with more ranges, a level has no phases        */
	MAX_PHASES = 16,
	MIN_OPS = 32, /* least operations of a phase; fewer are a single library call */
	RETURNS = 3, /* this many ranges of one name are iterations */
};
#define LEAST_SHARE 0.01  /* a phase has at least this share of the work  */
#define MOST_SHARE 0.9	  /* a range with more of the work is split into its inner ranges */
#define ENOUGH_SHARE 0.5  /* all phases together have at least this share of the work */
#define COPIES_SHARE 0.95 /* a phase only loads data if copies are this share of its work */

struct level {
	const struct nsx_trace *t;
	struct phase { /* a range that may be a phase; sorted by start, disjoint */
		uint32_t range;
		/* Its name is that of RETURNS ranges or more, so it is an iteration. */
		bool returns;
		size_t nops;
		int64_t work_ns, copy_ns;
		struct nsx_window gpu; /* span of the work launched inside */
	} v[MAX_RANGES];
	size_t n;
};

/* The thread that launched most GPU work; or NSX_NONE. */
static uint32_t find_main_thread(const struct nsx_finder *fd)
{
	const struct nsx_trace *t = fd->t;
	NSX_AT_EXIT(nsx_free_at) int64_t *ns = nsx_alloc(t->nthreads, sizeof(*ns));
	uint32_t best = NSX_NONE;

	for (uint32_t i = 0; i < t->ops.n; i++) {
		uint32_t call = nsx_op_call(&t->ops, i);

		if (call != NSX_NONE)
			nsx_add_to(&ns[nsx_call_thread(t, call)], nsx_work_ns(fd, i));
	}
	for (uint32_t h = 0; h < t->nthreads; h++)
		if (ns[h] && t->thread[h].nnvtx && (best == NSX_NONE || ns[h] > ns[best]))
			best = h;
	return best;
}

/* Lists the thread's outermost user ranges inside range `outside`; NSX_NONE: all outermost ones.
 * False: there are too many.
 */
static bool list_inner_ranges(struct level *l, uint32_t thread, uint32_t outside)
{
	const struct nsx_trace *t = l->t;
	const struct nsx_thread *th = &t->thread[thread];
	const struct nsx_nvtx *x = &t->nvtx;
	int64_t from_ns = INT64_MIN, to_ns = INT64_MAX;

	if (outside != NSX_NONE) {
		from_ns = nsx_range_start(x, outside);
		to_ns = nsx_range_end(x, outside);
	}
	l->n = 0;
	for (uint32_t i = th->nvtx_at; i < th->nvtx_at + th->nnvtx; i++) {
		if (x->kind[i] != NSX_NVTX_STACK || i == outside ||
		    t->domain[nsx_range_domain(x, i)].is_library ||
		    nsx_range_start(x, i) < from_ns ||
		    nsx_range_end(x, i) > to_ns)
			continue;
		if (l->n == MAX_RANGES)
			return false;
		from_ns = nsx_range_end(x, i);
		l->v[l->n++] = (struct phase){
			.range = i, .gpu = {INT64_MAX, INT64_MIN}};
	}
	return l->n > 0;
}

/* Compares names without their digits. */
static int cmp_masked(const char *a, const char *b)
{
	for (;; a++, b++) {
		while (isdigit((unsigned char)*a))
			a++;
		while (isdigit((unsigned char)*b))
			b++;
		if (*a != *b || !*a)
			return (unsigned char)*a - (unsigned char)*b;
	}
}

NSX_ORDER_IN(ranges_cmp_names, uint32_t, struct level,
	     BY(cmp_masked(nsx_text(c->t, c->t->nvtx.name[c->v[*x].range]),
			   nsx_text(c->t, c->t->nvtx.name[c->v[*y].range]))));

static void mark_recurring_ranges(struct level *l)
{
	uint32_t order[MAX_RANGES];

	nsx_sort_indices(order, l->n, ranges_cmp_names, l);
	NSX_EACH_RUN(i, next, l->n, !ranges_cmp_names(&order[i], &order[next], l)) {
		for (size_t k = i; next - i >= RETURNS && k < next; k++)
			l->v[order[k]].returns = true;
	}
}

/* The range of this level in which a call that begins at at_ns lies; NULL: none. */
static struct phase *ranges_range_at(struct level *l, int64_t at_ns)
{
	const struct nsx_nvtx *x = &l->t->nvtx;
	size_t lo = NSX_SEARCH(0, l->n, mid, nsx_range_start(x, l->v[mid].range) <= at_ns);

	return lo && at_ns < nsx_range_end(x, l->v[lo - 1].range) ? &l->v[lo - 1] : NULL;
}

static void sum_level_work(const struct nsx_finder *fd, struct level *l, uint32_t process)
{
	const struct nsx_trace *t = l->t;

	for (size_t k = fd->ops_at[process]; k < fd->ops_at[process + 1]; k++) {
		uint32_t op = fd->ops[k], call = nsx_op_call(&t->ops, op);
		struct phase *p = call == NSX_NONE ? NULL :
			ranges_range_at(l, nsx_call_start(&t->calls, call));

		if (!p)
			continue;
		p->nops++;
		nsx_add_to(&p->work_ns, nsx_work_ns(fd, op));
		if (t->ops.cls[op] == NSX_C_COPY)
			nsx_add_to(&p->copy_ns, nsx_work_ns(fd, op));
		p->gpu.start_ns = NSX_MIN(p->gpu.start_ns, nsx_op_start(&t->ops, op));
		p->gpu.end_ns = NSX_MAX(p->gpu.end_ns, nsx_op_end(&t->ops, op));
	}
}

/* Keeps the level's phases. Returns the range with nearly all work, or NSX_NONE. */
static uint32_t keep_phases(struct level *l, int64_t all_ns)
{
	uint32_t whole = NSX_NONE;
	int64_t sum_ns = 0;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct phase *p = &l->v[i];
		double share = (double)p->work_ns / (double)all_ns;

		if (share >= MOST_SHARE && !p->returns)
			whole = p->range;
		if (p->returns || share < LEAST_SHARE || p->nops < MIN_OPS)
			continue;
		sum_ns += p->work_ns;
		l->v[n++] = *p;
	}
	l->n = n <= MAX_PHASES && (double)sum_ns >= ENOUGH_SHARE * (double)all_ns ? n : 0;
	return whole;
}

/* Makes segments from a level's phases. A phase ends at the latest where the next one starts, even
 * if its work runs on.
 */
static struct nsx_segment *make_segments(const struct level *l, struct nsx_arena *a,
					 size_t *ret_n)
{
	struct nsx_segment *v;
	size_t n = 0;

	nsx_few(v, a, l->n);
	for (size_t i = 0; i < l->n; i++) {
		const struct phase *p = &l->v[i];
		const char *name = nsx_text(l->t, l->t->nvtx.name[p->range]);
		struct nsx_window w = p->gpu;

		if (i + 1 < l->n)
			w.end_ns = NSX_MIN(w.end_ns, l->v[i + 1].gpu.start_ns);
		if (n)
			w.start_ns = NSX_MAX(w.start_ns, v[n - 1].window.end_ns);
		if (w.start_ns < w.end_ns)
			v[n++] = (struct nsx_segment){
				.window = w,
				.range = l->t->nvtx.name[p->range],
				.warms_up = strcasestr(name, "warm") != NULL,
				.computes = (double)p->copy_ns < COPIES_SHARE * (double)p->work_ns};
	}
	*ret_n = n;
	return v;
}

struct nsx_segment *nsx_range_segments(const struct nsx_finder *fd, size_t *ret_n)
{
	const struct nsx_trace *t = fd->t;
	uint32_t thread = find_main_thread(fd), process, outside = NSX_NONE;
	struct level *l;

	*ret_n = 0;
	if (thread == NSX_NONE)
		return NULL;
	process = t->thread[thread].process;
	nsx_few(l, fd->a, 1);
	l->t = t;
	for (unsigned i = 0; i < MAX_LEVELS; i++) {
		if (!list_inner_ranges(l, thread, outside))
			return NULL;
		mark_recurring_ranges(l);
		sum_level_work(fd, l, process);
		outside = keep_phases(l, fd->gpu_ns[process]);
		if (outside == NSX_NONE)
			break;
		l->n = 0;
	}
	return l->n > 1 ? make_segments(l, fd->a, ret_n) : NULL;
}
