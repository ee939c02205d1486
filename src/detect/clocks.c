/* clocks.c - the same kernels take longer towards the end, or for a while: the
 * GPU's clocks fall, by heat or by a limit of power.
 *
 * The judged window is cut into equal parts; of each part the time of kernels is
 * set against what the same launches take when they are fast.  The same launch need
 * not do the same work: a frontier, a list of particles or a cache of keys grows under
 * one grid.  That kernels of different work slow down alike is what clocks do; where they
 * seem to fall far, kernels that take as long as before say that it is the work; so it is
 * where one kernel is most of what is slower.
 */
#include "detect/stretch.h"
#include "facts/kernel_name.h"

enum { PARTS = NSX_PARTS, FEW = NSX_FEW_PARTS };
#define FAST 0.2     /* quantile of a launch's durations */
#define SLOWER 1.05  /* times as long, the last parts against the first */
#define STEADY 1.005 /* times as long, still as in the first part */
#define CLEARLY 0.25 /* of what the slowest part takes beyond the fastest: parts that are
			nearer to one of these are slow, or fast             */
#define TREND 0.6    /* Kendall's tau of the parts */
#define MOSTLY 0.5   /* of the kernels' time in a stretch, that is slower ... */
#define ALSO 0.25    /* ... and of that of all but one of them ... */
#define NEARLY_ALL 0.9 /* ... and in several: other work returns as well */
#define FAR 1.5	     /* times as long, by which no clock falls again and again, and from
			which clocks leave no kernel as it was, not even one that
			memory binds: ... */
#define AS_BEFORE 0.1 /* ... not by this share of what others take longer ... */
#define SOME 0.01    /* ... in kernels of so much of the time */
enum {
	LEAST_KERNELS = 3, /* of different names that are slower there           */
	LEAST_LAUNCHES = 8, /* of a shape, to tell which are fast                */
};

struct clocks {
	struct nsx_detect *d;
	const struct nsx_device *dev;
	double *fast;	      /* by shape; 0: too few of it              */
	double part[PARTS];   /* times as long as when fast              */
	uint32_t told;	      /* parts in which kernels run, a bit each  */
	struct pace {
		double spent_ns, fast_ns; /* all, and were it fast           */
	} *early, *slow; /* by shape: in parts that are fast, in slow ones   */
};
struct slowdown {
	struct nsx_stretch in;
	uint32_t early, slow; /* the parts that are compared, a bit each     */
	unsigned ntimes; /* that slow parts follow fast ones; in: the first  */
	nsx_str kernel; /* of those that are slower the one with most time   */
	double times;	/* as long as before that one takes                  */
	nsx_str steady; /* that takes as long as before; 0: none             */
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

		for (uint32_t k = 0; n >= LEAST_LAUNCHES && k < n; k++)
			ns[k] = nsx_op_ns(&t->ops, first + op[at[s] + k]);
		if (n >= LEAST_LAUNCHES)
			c->fast[s] = nsx_quantile(ns, n, FAST);
	}
	nsx_arena_drop(a, at);
	nsx_arena_drop(a, op);
	nsx_arena_drop(a, ns);
	return 0;
}

/* A kernel belongs to all parts in which it runs: it may be longer than these. */
static void share_out(const struct clocks *c, size_t op, double *spent, double *fast)
{
	const struct nsx_ops *o = &c->d->trace->ops;
	double all_ns = (double)NSX_MAX(nsx_op_ns(o, op), 1), from_ns, part_ns;

	from_ns = (double)(nsx_op_start(o, op) - c->d->w.start_ns);
	part_ns = (double)(c->d->w.end_ns - c->d->w.start_ns) / PARTS;
	for (unsigned k = nsx_part_at(c->d, nsx_op_start(o, op));
	     k < PARTS && k * part_ns < from_ns + all_ns; k++) {
		double ns = NSX_MIN(from_ns + all_ns, (k + 1) * part_ns) -
			    NSX_MAX(from_ns, k * part_ns);

		spent[k] += ns;
		fast[k] += c->fast[nsx_op_detail(o, op)] * ns / all_ns;
	}
}

/* A part without kernels, as in a checkpoint, tells nothing.  Whether most do tell. */
static bool find_parts(struct clocks *c)
{
	const struct nsx_trace *t = c->d->trace;
	double spent[PARTS] = {0}, fast[PARTS] = {0};

	for (size_t i = c->dev->ops_at; i < c->dev->ops_at + c->dev->nops;
	     i++)
		if (counts(c, i) && c->fast[nsx_op_detail(&t->ops, i)] > 0)
			share_out(c, i, spent, fast);
	for (unsigned k = 0; k < PARTS; k++) {
		if (!(fast[k] > 0))
			continue;
		c->part[k] = spent[k] / fast[k];
		c->told |= nsx_parts(k, k + 1);
	}
	return nsx_fill_parts(c->part, c->told);
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

static const char *say_how(const struct clocks *c, const struct slowdown *x, double times)
{
	return nsx_tell(c->d->found, "%.2f times as long %s", times,
			x->ntimes > 1	  ? "now and then" :
			x->in.to == PARTS ? "at the end as at the beginning" :
					    "for a while");
}

static const char *say_when(const struct clocks *c, const struct slowdown *x)
{
	const char *first = nsx_say_stretch(c->d, &x->in);

	return x->ntimes > 1 ?
		       nsx_tell(c->d->found, "%u times, first %s", x->ntimes, first) :
		       first;
}

static void propose(const struct clocks *c, const struct slowdown *x)
{
	struct nsx_findings *l = c->d->found;
	double part_ns = (double)(c->d->w.end_ns - c->d->w.start_ns) / PARTS;
	struct nsx_finding f = {
		.id = NSX_ID_falling_clocks, .device = c->d->facts->limiting,
		.title = nsx_tell(l, "the same kernels take %s: the GPU's clocks "
				  "fall", say_how(c, x, x->in.ratio)),
		.confidence = NSX_CONF_MEDIUM,
		.evidence = {
			nsx_tell(l, "%s; launches of one kernel with one grid are "
				 "compared, and kernels of different work slow "
				 "down alike", say_when(c, x)),
			"they would as well if all of them were given more to do",
			x->ntimes > 1 ? "priced as if those parts of the window took "
					"as long as the fast ones" : NULL},
		.recommendation = {
			"look at heat and power: nvidia-smi -q -d CLOCK,POWER,"
			"TEMPERATURE,PERFORMANCE tells why clocks are lowered",
			"for a comparison of runs lock the clocks (nvidia-smi "
			"--lock-gpu-clocks)"}};

	for (unsigned k = 0; k < PARTS; k++)
		if (c->told >> k & 1 &&
		    (x->ntimes > 1 ? !(x->early >> k & 1) :
				     k >= x->in.from && k < x->in.to))
			f.guess_ns += part_ns * (1 - x->in.first / c->part[k]);
	/* A replay knows what was before one stretch, not between several. */
	f.is_rule = x->ntimes > 1;
	if (!f.is_rule)
		f.remedy = nsx_plan_of(c->d, (struct nsx_change){
			.verb = NSX_HOLD_CLOCK, .op = NSX_ON_KERNELS,
			.when = nsx_stretch_window(c->d, &x->in)});
	nsx_found(l, &f);
}

static const char *say_doubt(const struct clocks *c, const struct slowdown *x)
{
	struct nsx_findings *l = c->d->found;

	return x->steady ?
		       nsx_tell(l, "%s takes as long as before",
				nsx_tell_name(l, nsx_kernel_label(
					&c->d->facts->kernels, x->steady))) :
		       "too few other kernels run to tell";
}

/* One kernel, or too few to tell clocks from work: without a price, for work that grows is
 * not won by any clock.
 */
static void propose_unclear(const struct clocks *c, const struct slowdown *x, bool alone)
{
	struct nsx_findings *l = c->d->found;
	struct nsx_finding f = {
		.id = NSX_ID_falling_clocks, .device = c->d->facts->limiting,
		.title = nsx_tell(l, alone ? "kernel %s takes %s, unlike others" :
					     "kernel %s takes %s: its work grows, or the "
					     "GPU's clocks fall",
				  nsx_tell_name(l, nsx_kernel_label(
					  &c->d->facts->kernels, x->kernel)),
				  say_how(c, x, x->times)),
		.confidence = NSX_CONF_LOW,
		.evidence = {
			nsx_tell(l, "%s; launches with one grid are compared, which "
				 "need not do the same work, and %s",
				 say_when(c, x), alone ? "most kernels take as long "
				 "as before: it is not the clocks" : say_doubt(c, x))},
		.recommendation = {
			alone ? "compare what it is given early and late; where that "
				"grows, as a text does under attention, nothing is wrong" :
				"compare what it is given early and late; sample the "
				"GPU's clocks, or run nvidia-smi -q -d CLOCK,POWER,"
				"TEMPERATURE,PERFORMANCE beside it"}};

	nsx_found(l, &f);
}

/* What kernels take in some parts, by shape. */
static void add_paces(const struct clocks *c, uint32_t parts, struct pace *v)
{
	const struct nsx_trace *t = c->d->trace;

	for (size_t i = c->dev->ops_at; i < c->dev->ops_at + c->dev->nops;
	     i++) {
		uint32_t shape = nsx_op_detail(&t->ops, i);

		if (!counts(c, i) || !(c->fast[shape] > 0) ||
		    !(parts >> nsx_part_at(c->d, nsx_op_start(&t->ops, i)) & 1))
			continue;
		v[shape].spent_ns += (double)nsx_op_ns(&t->ops, i);
		v[shape].fast_ns += c->fast[shape];
	}
}

/* As long as when fast. */
static double times(const struct pace *x)
{
	return x->fast_ns > 0 ? x->spent_ns / x->fast_ns : 1;
}

/* Whether a kernel takes that much longer than it did early, when its lengths vary, too. */
static bool is_slower(const struct pace *x, const struct pace *early, double least)
{
	return x->fast_ns > 0 && times(x) >= least * times(early);
}

/* Whether it does by half of what the parts do. */
static bool slows_down(const struct clocks *c, const struct slowdown *x, uint32_t shape)
{
	return is_slower(&c->slow[shape], &c->early[shape], 1 + (x->in.ratio - 1) / 2);
}

/* Names, up to as many as tell. */
struct names {
	size_t n;
	nsx_str v[LEAST_KERNELS];
};

static void add_name(struct names *x, nsx_str name)
{
	size_t i = 0;

	while (i < x->n && x->v[i] != name)
		i++;
	if (i == x->n && i < ARRAY_LEN(x->v))
		x->v[x->n++] = name;
}

/* What a kernel takes with all its grids. */
static struct pace pace_of(const struct clocks *c, const struct pace *v, nsx_str name)
{
	struct pace sum = {0};

	for (uint32_t s = 0; s < c->d->trace->nshapes; s++)
		if (c->d->trace->shape_name[s] == name) {
			sum.spent_ns += v[s].spent_ns;
			sum.fast_ns += v[s].fast_ns;
		}
	return sum;
}

/* Of kernels in the slow parts: time, and those that are slower, and that are not. */
struct tally {
	double all_ns, slow_ns, same_ns;
	struct names slower;
};

static struct tally count_slower(const struct clocks *c, struct slowdown *x)
{
	double most_ns = 0, steady_ns = 0;
	struct tally n = {0};

	for (uint32_t s = 0; s < c->d->trace->nshapes; s++) {
		nsx_str name = c->d->trace->shape_name[s];
		double ns = c->slow[s].spent_ns;

		if (!(ns > 0))
			continue;
		n.all_ns += ns;
		if (slows_down(c, x, s)) {
			n.slow_ns += ns;
			add_name(&n.slower, name);
			x->kernel = ns > most_ns ? name : x->kernel;
			most_ns = NSX_MAX(ns, most_ns);
		}
		if (is_slower(&c->slow[s], &c->early[s],
			      1 + AS_BEFORE * (x->in.ratio - 1)))
			continue;
		n.same_ns += ns;
		x->steady = ns > steady_ns ? name : x->steady;
		steady_ns = NSX_MAX(ns, steady_ns);
	}
	return n;
}

/* As many times as long as before the kernel takes that slows down most. */
static double most_times(const struct clocks *c, const struct slowdown *x, double all_ns)
{
	double most = NSX_MAX(x->in.ratio, x->times);

	for (uint32_t s = 0; s < c->d->trace->nshapes; s++)
		if (c->slow[s].spent_ns >= SOME * all_ns)
			most = NSX_MAX(most, times(&c->slow[s]) / times(&c->early[s]));
	return most;
}

/* With how many grids that count the kernel runs and is slower. */
static size_t count_grids(const struct clocks *c, const struct slowdown *x, double all_ns)
{
	const struct nsx_trace *t = c->d->trace;
	size_t n = 0;

	for (uint32_t s = 0; s < t->nshapes; s++)
		n += t->shape_name[s] == x->kernel &&
		     c->slow[s].spent_ns >= SOME * all_ns &&
		     slows_down(c, x, s);
	return n;
}

enum verdict { NOT_CLOCKS, ONE_KERNEL, UNCLEAR, CLOCKS };

/* Whether the kernel with most time takes most of what the stretch takes longer. */
static bool is_of_kernel(const struct slowdown *x, const struct pace *early,
			 const struct pace *slow, double all_ns)
{
	double more_ns = slow->spent_ns - times(early) * slow->fast_ns;

	return x->kernel && more_ns >= MOSTLY * all_ns * (1 - 1 / x->in.ratio);
}

/* What most kernels do from a part on, each for itself: what their data or other work
 * slows down is one or two of them, with whatever grids.  Where no other runs, it may be
 * either, but for some grids that slow down alike, and no further than a clock may fall.
 */
static enum verdict judge(struct clocks *c, struct slowdown *x)
{
	struct pace early, slow;
	struct tally n;

	add_paces(c, x->early, c->early);
	add_paces(c, x->slow, c->slow);
	n = count_slower(c, x);
	early = pace_of(c, c->early, x->kernel);
	slow = pace_of(c, c->slow, x->kernel);
	x->times = times(&slow) / times(&early);
	if (most_times(c, x, n.all_ns) < FAR || n.same_ns < SOME * n.all_ns)
		x->steady = 0;
	if (!(n.all_ns > 0)) /* one kernel that began before runs through */
		return NOT_CLOCKS;
	if (n.slow_ns < (x->ntimes > 1 ? NEARLY_ALL : MOSTLY) * n.all_ns)
		return is_of_kernel(x, &early, &slow, n.all_ns) ? ONE_KERNEL : NOT_CLOCKS;
	if (x->steady)
		return UNCLEAR;
	if (n.slower.n >= LEAST_KERNELS &&
	    n.slow_ns - slow.spent_ns >= ALSO * (n.all_ns - slow.spent_ns))
		return CLOCKS;
	if (n.slow_ns < (1 - SOME) * n.all_ns)
		return NOT_CLOCKS;
	return x->times < FAR && count_grids(c, x, n.all_ns) >= LEAST_KERNELS ?
		       CLOCKS : UNCLEAR;
}

/* The first few of these parts, which are more, or the last few. */
static uint32_t few_of(uint32_t parts, bool last)
{
	uint32_t few = 0;

	for (unsigned k = 0; __builtin_popcount(few) < FEW; k++)
		few |= parts & nsx_parts(last ? PARTS - 1 - k : k, last ? PARTS - k : k + 1);
	return few;
}

/* At the end, or for a while. */
static bool find_one(const struct clocks *c, struct slowdown *x)
{
	const double *part = c->part;
	struct nsx_stretch *in = &x->in;
	double first, last;

	x->early = few_of(c->told, false);
	x->slow = few_of(c->told, true);
	x->ntimes = 1;
	first = nsx_mean_of_parts(part, x->early);
	last = nsx_mean_of_parts(part, x->slow);
	if (last >= SLOWER * first && kendall(part) >= TREND) {
		*in = (struct nsx_stretch){PARTS, PARTS, first, last / first};
		while (in->from > 1 && part[in->from - 1] > STEADY * part[0])
			in->from--;
		return true;
	}
	if (!nsx_find_stretch(part, c->told, SLOWER, in))
		return false;
	x->slow = c->told & nsx_parts(in->from, in->to);
	return true;
}

enum pace_of_part { BETWEEN, FAST_PART, SLOW_PART };

/* How near to the fastest, or the slowest, a part is. */
static void rate(const double *part, enum pace_of_part *ret)
{
	double least = part[0], most = part[0], clearly;

	for (unsigned k = 1; k < PARTS; k++) {
		least = NSX_MIN(least, part[k]);
		most = NSX_MAX(most, part[k]);
	}
	clearly = CLEARLY * (most - least);
	for (unsigned k = 0; k < PARTS; k++)
		ret[k] = part[k] <= least + clearly ? FAST_PART :
			 part[k] >= most - clearly  ? SLOW_PART : BETWEEN;
}

/* Several times: parts are as fast as the fastest or as slow as the slowest, and few that
 * lie between them are where they change.
 */
static bool find_turns(const struct clocks *c, struct slowdown *x)
{
	const double *part = c->part;
	enum pace_of_part of[PARTS], last = SLOW_PART;
	unsigned n[] = {0, 0, 0}, k;
	double sum[] = {0, 0, 0};

	rate(part, of);
	*x = (struct slowdown){.ntimes = 0};
	for (unsigned i = 0; i < PARTS; i++) {
		if (!(c->told >> i & 1))
			continue;
		n[of[i]]++;
		sum[of[i]] += part[i];
		if (of[i] == SLOW_PART && last == FAST_PART && !x->ntimes++)
			x->in.from = i;
		last = of[i] ? of[i] : last;
		if (of[i])
			*(of[i] == SLOW_PART ? &x->slow : &x->early) |= nsx_parts(i, i + 1);
	}
	if (x->ntimes < 2 || n[FAST_PART] < FEW || n[SLOW_PART] < FEW ||
	    n[BETWEEN] > 2 * x->ntimes)
		return false;
	for (k = x->in.from; of[k] == SLOW_PART;)
		k++;
	x->in.to = k;
	x->in.first = sum[FAST_PART] / n[FAST_PART];
	x->in.ratio = sum[SLOW_PART] / n[SLOW_PART] / x->in.first;
	return x->in.ratio >= SLOWER && x->in.ratio <= FAR;
}

int nsx_detect_clocks(struct nsx_detect *d, struct nsx_err *err)
{
	struct clocks c = {.d = d};
	struct slowdown x = {0};
	enum verdict verdict;

	if (d->facts->limiting == NSX_NONE ||
	    nsx_processes_share_ns(d, d->facts->limiting))
		return 0; /* it may be the turns of another process           */
	c.dev = &d->trace->device[d->facts->limiting];
	if (find_fast(&c, err))
		return err->rc;
	if (!find_parts(&c))
		return 0;
	if (!find_one(&c, &x) && !find_turns(&c, &x))
		return 0;
	if (nsx_new_arrays(d->scratch, d->trace->nshapes, "kernels", err,
			   c.early, c.slow))
		return err->rc;
	verdict = judge(&c, &x);
	switch (verdict) {
	case CLOCKS:
		propose(&c, &x);
		break;
	case ONE_KERNEL:
	case UNCLEAR: /* now and then its work may be more, as in other steps */
		if (x.ntimes == 1)
			propose_unclear(&c, &x, verdict == ONE_KERNEL);
		break;
	case NOT_CLOCKS:
		break;
	}
	return 0;
}
