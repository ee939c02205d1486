/* clocks.c - the same kernels take longer towards the end: the GPU's clocks
 * fall, by heat or by a limit of power.
 *
 * The judged window is cut into equal parts; of each part the time of kernels is
 * set against what the same launches take when they are fast.
 */
#include <stdlib.h>
#include <string.h>
#include "base/stat.h"
#include "detect/detect.h"
#include "report/words.h"

enum { PARTS = 24, FEW = 4 };
#define FAST 0.2     /* quantile of a launch's durations */
#define SLOWER 1.05  /* times as long, the last parts against the first */
#define STEADY 1.005 /* times as long, still as in the first part */
#define TREND 0.6    /* Kendall's tau of the parts */

struct clocks {
	struct nsx_detect *d;
	const struct nsx_device *dev;
	double *fast;	      /* by shape; 0: too few of it              */
	double part[PARTS];   /* times as long as when fast              */
};

static bool counts(const struct clocks *c, size_t op)
{
	const struct nsx_trace *t = c->d->trace;
	int64_t at_ns = nsx_op_start(&t->ops, op);

	return t->ops.kind[op] == NSX_OP_KERNEL &&
	       t->ops.cls[op] == NSX_C_COMPUTE &&
	       at_ns >= c->d->w.start_ns && at_ns < c->d->w.end_ns;
}

static int find_fast(struct clocks *c, struct nsx_err *err)
{
	const struct nsx_trace *t = c->d->trace;
	struct nsx_arena *a = c->d->scratch;
	size_t end = c->dev->ops_at + c->dev->nops;
	size_t *at = nsx_arena_try_array(a, (size_t)t->nshapes + 2,
					 sizeof(*at), "kernels", err);
	int64_t *ns = nsx_arena_try_array(a, c->dev->nops, sizeof(*ns),
					  "kernels", err);

	nsx_new_array(c->fast, a, t->nshapes, "kernels", err);
	if (!at || !ns || !c->fast)
		return err->rc;
	for (size_t i = c->dev->ops_at; i < end; i++)
		if (counts(c, i))
			at[nsx_op_detail(&t->ops, i) + 2]++;
	for (size_t s = 2; s < (size_t)t->nshapes + 2; s++)
		at[s] += at[s - 1];
	for (size_t i = c->dev->ops_at; i < end; i++)
		if (counts(c, i))
			ns[at[nsx_op_detail(&t->ops, i) + 1]++] =
				nsx_op_ns(&t->ops, i);
	for (uint32_t s = 0; s < t->nshapes; s++)
		if (at[s + 1] - at[s] >= PARTS)
			c->fast[s] = nsx_quantile(ns + at[s],
						  at[s + 1] - at[s], FAST);
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

static void propose(struct clocks *c, double first, double last)
{
	struct nsx_findings *l = c->d->found;
	int64_t length_ns = c->d->w.end_ns - c->d->w.start_ns;
	unsigned from = PARTS;
	int64_t from_ns;

	while (from > 1 && c->part[from - 1] > STEADY * c->part[0])
		from--;
	from_ns = c->d->w.start_ns + length_ns / PARTS * from;
	struct nsx_finding f = {
		.id = NSX_ID_falling_clocks, .device = c->d->facts->limiting,
		.title = nsx_tell(l, "the same kernels take %.2f times as long "
				  "at the end as at the beginning: the GPU's "
				  "clocks fall", last / first),
		.confidence = NSX_CONF_MEDIUM,
		.evidence = {
			nsx_tell(l,
			"from %s on; launches of one kernel with one grid are "
			"compared, which do the same work",
			nsx_text_instant(l->arena, from_ns, 3))},
		.recommendation = {
			"look at heat and power: nvidia-smi -q -d CLOCK,POWER,"
			"TEMPERATURE,PERFORMANCE tells why clocks are lowered",
			"for a comparison of runs lock the clocks (nvidia-smi "
			"--lock-gpu-clocks)"},
		.remedy = nsx_plan_of(c->d, (struct nsx_change){
			.verb = NSX_HOLD_CLOCK, .op = NSX_ON_KERNELS,
			.when = {from_ns, c->d->w.end_ns}})};

	for (unsigned k = from; k < PARTS; k++)
		f.guess_ns += (double)length_ns / PARTS *
			      (1 - first / c->part[k]);
	nsx_found(l, &f);
}

int nsx_detect_clocks(struct nsx_detect *d, struct nsx_err *err)
{
	struct clocks c = {.d = d};
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
	if (last >= SLOWER * first && kendall(c.part) >= TREND)
		propose(&c, first, last);
	return 0;
}
