/* clocks.c - the same kernels take longer towards the end, or for a while: the
 * GPU's clocks fall, by heat or by a limit of power.
 *
 * The judged window is cut into equal parts; of each part the time of kernels is
 * set against what the same launches take when they are fast.
 */
#include "detect/detect.h"

enum { PARTS = 24, FEW = 4 };
#define FAST 0.2     /* quantile of a launch's durations */
#define SLOWER 1.05  /* times as long, the last parts against the first */
#define STEADY 1.005 /* times as long, still as in the first part */
#define EVEN 1.02    /* times as long, outside a stretch that is slower: or ... */
#define SLIGHTLY 0.25 /* ... by so much of what the slowest part takes more */
#define TREND 0.6    /* Kendall's tau of the parts */
#define MOSTLY 0.5   /* of the kernels' time in a stretch, that is slower */
enum { LEAST_KERNELS = 3 }; /* of different work that are slower there */

struct clocks {
	struct nsx_detect *d;
	const struct nsx_device *dev;
	double *fast;	      /* by shape; 0: too few of it              */
	double part[PARTS];   /* times as long as when fast              */
	double *spent, *expected; /* by shape, in a stretch: all, at its fast */
};

static bool counts(const struct clocks *c, size_t op)
{
	const struct nsx_trace *t = c->d->trace;
	int64_t at_ns = nsx_op_start(&t->ops, op);

	return t->ops.kind[op] == NSX_OP_KERNEL &&
	       t->ops.cls[op] == NSX_C_COMPUTE &&
	       nsx_is_judged(c->d, at_ns);
}

static int find_fast(struct clocks *c, struct nsx_err *err)
{
	const struct nsx_trace *t = c->d->trace;
	struct nsx_arena *a = c->d->scratch;
	uint32_t first = c->dev->ops_at, *at, *op, most = 0;
	int64_t *ns;

	if (nsx_new_arrays(a, (size_t)t->nshapes + 2, "kernels", err, at) ||
	    nsx_new_arrays(a, c->dev->nops, "kernels", err, op) ||
	    nsx_new_arrays(a, t->nshapes, "kernels", err, c->fast))
		return err->rc;
	NSX_DEAL(at, op, t->nshapes, c->dev->nops, i, counts(c, first + i) ?
		 nsx_op_detail(&t->ops, first + i) : NSX_NONE);
	for (uint32_t s = 0; s < t->nshapes; s++)
		most = NSX_MAX(most, at[s + 1] - at[s]);
	if (!nsx_new_array(ns, a, most, "kernels", err))
		return err->rc;
	for (uint32_t s = 0; s < t->nshapes; s++) {
		uint32_t n = at[s + 1] - at[s];

		for (uint32_t k = 0; n >= PARTS && k < n; k++)
			ns[k] = nsx_op_ns(&t->ops, first + op[at[s] + k]);
		if (n >= PARTS)
			c->fast[s] = nsx_quantile(ns, n, FAST);
	}
	nsx_arena_drop(a, at);
	nsx_arena_drop(a, op);
	nsx_arena_drop(a, ns);
	return 0;
}

/* Whether every part has kernels to tell. */
static bool find_parts(struct clocks *c)
{
	const struct nsx_trace *t = c->d->trace;
	double length = (double)(c->d->w.end_ns - c->d->w.start_ns);
	double spent[PARTS] = {0}, fast[PARTS] = {0};

	for (size_t i = c->dev->ops_at; i < c->dev->ops_at + c->dev->nops;
	     i++) {
		double at;
		unsigned k;

		if (!counts(c, i) || !(c->fast[nsx_op_detail(&t->ops, i)] > 0))
			continue;
		at = (double)(nsx_op_start(&t->ops, i) - c->d->w.start_ns);
		k = (unsigned)(at / length * PARTS);
		k = NSX_MIN(k, PARTS - 1);
		spent[k] += (double)nsx_op_ns(&t->ops, i);
		fast[k] += c->fast[nsx_op_detail(&t->ops, i)];
	}
	for (unsigned k = 0; k < PARTS; k++) {
		if (!(fast[k] > 0))
			return false;
		c->part[k] = spent[k] / fast[k];
	}
	return true;
}

static double mean(const double *v, unsigned n)
{
	double sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += v[i];
	return sum / n;
}

/* 1: each part is slower than all before it. */
static double kendall(const double *v)
{
	int sum = 0;

	for (unsigned i = 0; i < PARTS; i++)
		for (unsigned k = i + 1; k < PARTS; k++)
			sum += (v[k] > v[i]) - (v[k] < v[i]);
	return 2.0 * sum / (PARTS * (PARTS - 1));
}

/* In the parts [from, to) the kernels take `ratio` times as long as in the first. */
static void propose(struct clocks *c, unsigned from, unsigned to, double first,
		    double ratio)
{
	struct nsx_findings *l = c->d->found;
	int64_t part_ns = (c->d->w.end_ns - c->d->w.start_ns) / PARTS;
	struct nsx_window when = {
		c->d->w.start_ns + part_ns * from,
		to == PARTS ? c->d->w.end_ns : c->d->w.start_ns + part_ns * to};
	const char *since = nsx_text_instant(l->arena, when.start_ns, 3);
	const char *until = to == PARTS ? NULL :
			    nsx_text_instant(l->arena, when.end_ns, 3);
	struct nsx_finding f = {
		.id = NSX_ID_falling_clocks, .device = c->d->facts->limiting,
		.title = nsx_tell(l, "the same kernels take %.2f times as long "
				  "%s: the GPU's clocks fall", ratio,
				  until ? "for a while" :
					  "at the end as at the beginning"),
		.confidence = NSX_CONF_MEDIUM,
		.evidence = {
			nsx_tell(l, "from %s %s%s; launches of one kernel with "
				 "one grid are compared, which do the same work",
				 since, until ? "to " : "on",
				 until ? until : "")},
		.recommendation = {
			"look at heat and power: nvidia-smi -q -d CLOCK,POWER,"
			"TEMPERATURE,PERFORMANCE tells why clocks are lowered",
			"for a comparison of runs lock the clocks (nvidia-smi "
			"--lock-gpu-clocks)"},
		.remedy = nsx_plan_of(c->d, (struct nsx_change){
			.verb = NSX_HOLD_CLOCK, .op = NSX_ON_KERNELS,
			.when = when})};

	for (unsigned k = from; k < to; k++)
		f.guess_ns += (double)part_ns * (1 - first / c->part[k]);
	nsx_found(l, &f);
}

/* The parts [*from, *to) are slower than all others, which are even; there must be
 * some before, to compare with.
 */
static bool find_stretch(const struct clocks *c, double base, unsigned *from,
			 unsigned *to)
{
	double most = base, even;
	unsigned i = 0;

	for (unsigned k = 0; k < PARTS; k++)
		most = NSX_MAX(most, c->part[k]);
	even = NSX_MAX(EVEN * base, base + SLIGHTLY * (most - base));
	while (i < PARTS && c->part[i] < even)
		i++;
	*from = i;
	while (i < PARTS && c->part[i] >= even)
		i++;
	*to = i;
	while (i < PARTS && c->part[i] < even)
		i++;
	return i == PARTS && *from >= FEW && *to - *from >= FEW &&
	       mean(c->part + *from, *to - *from) >= SLOWER * base;
}

/* Whether most kernels in a stretch take that long, each for itself: what their data
 * or other work slows down is one or two of them.
 */
static bool slows_most(const struct clocks *c, unsigned from, unsigned to,
		       double ratio)
{
	const struct nsx_trace *t = c->d->trace;
	double *spent = c->spent, *fast = c->expected;
	int64_t part_ns = (c->d->w.end_ns - c->d->w.start_ns) / PARTS;
	double slow_ns = 0, all_ns = 0;
	size_t n = 0, nkernels = 0;

	for (size_t i = c->dev->ops_at; i < c->dev->ops_at + c->dev->nops;
	     i++) {
		uint32_t shape = nsx_op_detail(&t->ops, i);
		int64_t at_ns = nsx_op_start(&t->ops, i) - c->d->w.start_ns;

		if (!counts(c, i) || !(c->fast[shape] > 0) ||
		    at_ns < part_ns * from || at_ns >= part_ns * to)
			continue;
		spent[shape] += (double)nsx_op_ns(&t->ops, i);
		fast[shape] += c->fast[shape];
	}
	for (uint32_t s = 0; s < t->nshapes; s++) {
		all_ns += spent[s];
		nkernels += c->fast[s] > 0;
		if (fast[s] > 0 && spent[s] / fast[s] >= 1 + (ratio - 1) / 2) {
			slow_ns += spent[s];
			n++;
		}
	}
	return n >= NSX_MIN(nkernels, (size_t)LEAST_KERNELS) &&
	       slow_ns >= MOSTLY * all_ns;
}

int nsx_detect_clocks(struct nsx_detect *d, struct nsx_err *err)
{
	struct clocks c = {.d = d};
	unsigned from = PARTS, to = PARTS, slow_from;
	double first, last;

	if (d->facts->limiting == NSX_NONE)
		return 0;
	c.dev = &d->trace->device[d->facts->limiting];
	if (find_fast(&c, err))
		return err->rc;
	if (!find_parts(&c))
		return 0;
	first = mean(c.part, FEW);
	last = mean(c.part + PARTS - FEW, FEW);
	if (last >= SLOWER * first && kendall(c.part) >= TREND) {
		while (from > 1 && c.part[from - 1] > STEADY * c.part[0])
			from--;
		slow_from = PARTS - FEW;
	} else if (!find_stretch(&c, first, &from, &to)) {
		return 0;
	} else {
		last = mean(c.part + from, to - from);
		slow_from = from;
	}
	if (nsx_new_arrays(d->scratch, d->trace->nshapes, "kernels", err,
			   c.spent, c.expected))
		return err->rc;
	if (slows_most(&c, slow_from, to, last / first))
		propose(&c, from, to, first, last / first);
	return 0;
}
