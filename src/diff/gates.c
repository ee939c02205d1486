/* gates.c - limits for a pipeline: METRIC:[<]LIMIT.
 *
 *	step, step.p95, step.mean	length of a unit: typical, 95th percentile, mean
 *	compute, comm, copy, idle	mean per unit
 *	kernel:/REGEX/			mean per unit of matching kernels
 *	launches			kernels and replays per unit
 *	mem_peak			peak of allocated GPU memory
 *
 * A limit is +N% of the value before, or +N with ns, us, ms, s, B, KB, MB, GB or no unit (a
 * count). A gate fails if the change is proven to be larger: its interval lies above the
 * limit, and the change exceeds noise, which is what runs of the same code are known to
 * differ by, at least NSX_NOISE. With "<" a gate passes only if the change is proven to be
 * smaller. What is not proven is undecided.
 */
#include <math.h>
#include "base/regex.h"
#include "base/stat.h"
#include "diff/emit.h"

const char *const nsx_gate_names[] = {"pass", "undecided", "fail"};

const struct nsx_gated_as nsx_gated_figures[NSX_NGATED] = {
	[NSX_METRIC_STEP] = {"step", "typical step", NSX_TIMED, 0},
	[NSX_METRIC_P95] = {"step.p95", "95th percentile", NSX_TIMED, 0},
	[NSX_METRIC_MEAN] = {"step.mean", "mean step", NSX_TIMED, 0},
	[NSX_METRIC_COMPUTE] = {"compute", "mean compute time", NSX_TIMED, 1 << NSX_SHARE_COMPUTE},
	[NSX_METRIC_COMM] = {"comm", "mean communication time", NSX_TIMED,
			     1 << NSX_SHARE_TRANSFER | 1 << NSX_SHARE_WAIT},
	[NSX_METRIC_COPY] = {"copy", "mean copy time", NSX_TIMED, 1 << NSX_SHARE_COPY},
	[NSX_METRIC_IDLE] = {"idle", "mean idle time", NSX_TIMED, 1 << NSX_SHARE_IDLE},
	[NSX_METRIC_LAUNCHES] = {"launches", "mean count", NSX_COUNTED, 0},
	[NSX_METRIC_KERNEL] = {"kernel", "mean kernel time", NSX_TIMED, 0},
	[NSX_METRIC_MEM_PEAK] = {"mem_peak", "peak", NSX_IN_BYTES, 0},
};

static const char *const shown_units[] = {[NSX_COUNTED] = "", [NSX_TIMED] = "ms",
					  [NSX_IN_BYTES] = "bytes"};

static const struct {
	const char *name;
	enum nsx_measure measure;
	double factor;
} units[] = {
	{"ns", NSX_TIMED, 1}, {"us", NSX_TIMED, 1e3}, {"ms", NSX_TIMED, 1e6},
	{"s", NSX_TIMED, 1e9}, {"B", NSX_IN_BYTES, 1}, {"KB", NSX_IN_BYTES, 1e3},
	{"MB", NSX_IN_BYTES, 1e6}, {"GB", NSX_IN_BYTES, 1e9},
};

struct gate {
	enum nsx_gated metric;
	struct nsx_regex *re; /* pattern of kernel names, for NSX_METRIC_KERNEL; else NULL */
	bool proven;	 /* "<": the change must be proven to stay below the limit */
	bool relative;
	double limit; /* a ratio, ns, bytes or a count */
};

/* Reading ----------------------------------------------------------------------- */

static int fail(const char *expr, const char *what, struct nsx_err *err)
{
	return nsx_fail(err, NSX_E_USAGE, "cannot use the gate '%s': %s", expr, what);
}

static int read_limit(const char *expr, const char *s, struct gate *ret, struct nsx_err *err)
{
	static const char *const needed[] = {
		[NSX_COUNTED] = "a count takes no unit but %",
		[NSX_TIMED] = "the limit needs a unit: %, ns, us, ms or s",
		[NSX_IN_BYTES] = "the limit needs a unit: %, B, KB, MB or GB"};
	enum nsx_measure measure = nsx_gated_figures[ret->metric].measure;
	char *end;

	ret->proven = *s == '<';
	s += ret->proven;
	if (*s != '+' && *s != '-')
		return fail(expr, "a limit begins with + or -, as in step:+3%", err);
	ret->limit = strtod(s, &end);
	if (end == s || !isfinite(ret->limit))
		return fail(expr, "the limit is no number", err);
	if (!strcmp(end, "%")) {
		ret->relative = true;
		ret->limit /= 100;
		return 0;
	}
	if (!*end && (measure == NSX_COUNTED || ret->limit == 0))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (units[i].measure == measure && !strcmp(end, units[i].name)) {
			ret->limit *= units[i].factor;
			return 0;
		}
	return fail(expr, needed[measure], err);
}

static int read_regex(const char *expr, const char **s, struct gate *ret, struct nsx_err *err)
{
	const char *end = **s == '/' ? strstr(*s + 1, "/:") : NULL;
	char pattern[512];

	if (!end)
		return fail(expr, "kernels are named as in kernel:/REGEX/:+10%", err);
	if (snprintf(pattern, sizeof(pattern), "%.*s", (int)(end - *s - 1), *s + 1) >=
	    (int)sizeof(pattern))
		return fail(expr, "the pattern is too long", err);
	if (nsx_regex_new(pattern, &ret->re, err))
		return nsx_wrap(err, "cannot use the pattern of the gate '%s'", expr);
	*s = end + 2;
	return 0;
}

static int read_gate(const char *expr, struct gate *ret, struct nsx_err *err)
{
	size_t n = strcspn(expr, ":");
	const char *s = expr + n + 1;

	*ret = (struct gate){.metric = NSX_METRIC_STEP};
	if (!expr[n])
		return fail(expr, "it needs a metric, a colon and a limit, as in step:+3%", err);
	for (enum nsx_gated m = 0; m < NSX_NGATED; m++) {
		if (strlen(nsx_gated_figures[m].name) != n ||
		    strncmp(nsx_gated_figures[m].name, expr, n) != 0)
			continue;
		ret->metric = m;
		if (m == NSX_METRIC_KERNEL && read_regex(expr, &s, ret, err))
			return err->rc;
		return read_limit(expr, s, ret, err);
	}
	return fail(expr, "there is no such metric; there are step, step.p95, step.mean, compute, "
			  "comm, copy, idle, kernel:/REGEX/, launches and mem_peak", err);
}

int nsx_gate_check(const char *expr, struct nsx_err *err)
{
	struct gate g;
	int rc = read_gate(expr, &g, err);

	nsx_regex_free(g.re);
	return rc;
}

/* Measuring ---------------------------------------------------------------------*/

struct measured {
	double before, change;
	struct nsx_floor floor; /* a smaller change proves nothing */
	struct nsx_interval ci;
	size_t n; /* units on the side with fewer units; SIZE_MAX: a single figure */
};

static int64_t part_of(const struct nsx_unit *u, enum nsx_gated m)
{
	int64_t ns = 0;

	for (unsigned k = 0; k < NSX_NSHARES; k++)
		ns += nsx_gated_figures[m].shares >> k & 1 ? u->ns[k] : 0;
	return m == NSX_METRIC_LAUNCHES	    ? u->launches :
	       nsx_gated_figures[m].shares ? ns : u->wall_ns;
}

/* Sums the credit of matching kernels by unit. */
static void match_kernels(const struct nsx_kernels *k, const struct nsx_lane *l,
			  struct nsx_regex *re, struct nsx_arena *a, int64_t *ns)
{
	bool *matches = nsx_arena_get(a, k->n);

	for (uint32_t i = 0; i < k->n; i++)
		matches[i] = nsx_regex_matches(re, nsx_kernel_at(k, i));
	for (size_t i = 0; i < l->nuses; i++)
		if (matches[l->uses[i].kernel])
			ns[l->uses[i].unit] += l->uses[i].ns;
}

/* A pattern that matches nothing is more likely misspelt than fulfilled. */
static bool matches_any(const struct nsx_diff *d, struct nsx_regex *re)
{
	bool any = false;

	for (uint32_t k = 0; k < d->kernels.n && !any; k++)
		any = nsx_regex_matches(re, nsx_kernel_at(&d->kernels, k));
	return any;
}

static struct nsx_sample sample_of(const struct nsx_diff *d, unsigned side, uint32_t lane,
				   const struct gate *g, struct nsx_arena *a)
{
	const struct nsx_pool *p = &d->pool[side];
	const struct nsx_lane *l = &p->lanes[lane];
	int64_t *v = nsx_arena_get(a, l->nunits * sizeof(*v));

	if (g->metric == NSX_METRIC_KERNEL)
		match_kernels(&d->kernels, l, g->re, a, v);
	else
		for (size_t u = 0; u < l->nunits; u++)
			v[u] = part_of(&l->units[u], g->metric);
	return (struct nsx_sample){v, l->nunits, p->end + lane * p->nsides, p->nsides};
}

/* Calibrated noise of a gate's metric; 0 if not calibrated. */
static double noise_of(const struct nsx_diff *d, const struct gate *g, double before)
{
	const struct nsx_noises *n = &d->opts->noise;
	double sum = 0;

	if (g->metric != NSX_METRIC_KERNEL)
		return NSX_MAX(n->of[g->metric].abs, n->of[g->metric].rel * before);
	for (size_t i = 0; i < n->nkernels; i++)
		if (nsx_regex_matches(g->re, n->kernels[i].name))
			sum += n->kernels[i].abs_ns;
	return NSX_MAX(sum, n->kernels_rel * before);
}

static void find_floor(const struct nsx_diff *d, const struct nsx_step *c,
		       const struct gate *g, const struct nsx_sample s[2], struct measured *m)
{
	bool p95 = g->metric == NSX_METRIC_P95;

	if (g->metric != NSX_METRIC_LAUNCHES)
		nsx_raise_floor(&m->floor, NSX_NOISE * m->before, nsx_unmeasured);
	nsx_raise_floor(&m->floor, noise_of(d, g, m->before), nsx_calibrated);
	/* a drift lengthens a step's tail as much as its median */
	if (p95 && c->floor.at > c->noise)
		nsx_raise_floor(&m->floor, c->floor.at * m->before, c->floor.is);
	nsx_raise_within(s, !p95, &m->floor);
}

static struct measured measure_figure(const struct nsx_diff *d, uint32_t lane,
				      const struct gate *g, struct nsx_arena *a)
{
	bool p95 = g->metric == NSX_METRIC_P95;
	struct nsx_sample s[2];
	struct measured ret = {.floor = {0, "it is none"}};
	double of[2];

	for (unsigned i = 0; i < 2; i++) {
		int64_t *v;

		s[i] = sample_of(d, i, lane, g, a);
		v = nsx_arena_get(a, s[i].n * sizeof(*v));
		memcpy(v, s[i].v, s[i].n * sizeof(*v));
		of[i] = p95 ? nsx_quantile(v, s[i].n, 0.95) : nsx_mean(v, s[i].n);
	}
	ret.n = NSX_MIN(s[0].n, s[1].n);
	ret.before = of[0];
	ret.change = of[1] - of[0];
	find_floor(d, &d->lanes[lane].change, g, s, &ret);
	ret.ci = nsx_bootstrap(s, p95 ? NSX_FIGURE_P95 : NSX_FIGURE_MEAN, d->opts->alpha,
			       d->opts->seed);
	return ret;
}

static struct measured measure_step(const struct nsx_step *c)
{
	return (struct measured){
		c->side[0].median_ns, c->shift_ns,
		{NSX_MAX(c->floor.at * c->side[0].median_ns, c->floor_ns),
		 c->floor.is},
		{NSX_MIN(c->ci_ns.lo, c->blocks_ns.lo),
		 NSX_MAX(c->ci_ns.hi, c->blocks_ns.hi)},
		NSX_MIN(c->side[0].n, c->side[1].n)};
}

static struct measured gates_measure_mean(const struct nsx_step *c)
{
	return (struct measured){
		c->side[0].mean_ns, c->side[1].mean_ns - c->side[0].mean_ns,
		c->mean_floor, c->mean_ci_ns,
		NSX_MIN(c->side[0].n, c->side[1].n)};
}

/* Takes the highest peak of memory among the captures of each side. */
static bool measure_memory(const struct nsx_diff *d, struct measured *ret)
{
	int64_t peak[2] = {-1, -1};

	for (unsigned s = 0; s < 2; s++)
		for (size_t i = 0; i < d->nsides[s]; i++)
			peak[s] = NSX_MAX(peak[s], d->sides[s][i]->peak_bytes);
	*ret = (struct measured){(double)peak[0], (double)(peak[1] - peak[0]),
				 {0, "it is none"},
				 {(double)(peak[1] - peak[0]),
				  (double)(peak[1] - peak[0])}, SIZE_MAX};
	return peak[0] >= 0 && peak[1] >= 0;
}

/* Deciding ----------------------------------------------------------------------*/

static void undecided(struct nsx_gate_row *r, const char *text)
{
	r->result = NSX_GATE_UNDECIDED;
	r->text = text;
}

/* The reason why the sides' times prove nothing about the code: another GPU, lost work, units of
 * other work; NULL if they do. A run that is given twice has units that can be compared.
 */
static const char *say_unlike(const struct nsx_diff *d)
{
	for (size_t i = 0; i < d->nchecks && d->verdict == NSX_V_INCONCLUSIVE; i++)
		if (!strcmp(d->checks[i].id, "gpu") ? d->checks[i].status != NSX_CHECK_PASS :
		    d->checks[i].status == NSX_CHECK_FAIL && strcmp(d->checks[i].id, "captures"))
			return d->checks[i].text;
	return NULL;
}

/* Whether the gate judges whole runs. A gate on launches does if no unit of equal work repeats. */
static bool is_on_totals(const struct nsx_diff *d, enum nsx_gated metric)
{
	return d->totals.decides && (metric == NSX_METRIC_STEP ||
				     (metric == NSX_METRIC_LAUNCHES &&
				      (d->whole || d->units_differ ||
				       d->method == NSX_WAY_LAUNCH)));
}

/* Decides by the whole run, with its verdict in place of an interval. Launches are counted, so they
 * only need the same work on both sides.
 */
static void decide_by_totals(const struct nsx_diff *d, const struct gate *g, struct nsx_gate_row *r)
{
	const struct nsx_totals *t = d->totals.side;
	bool counts = g->metric == NSX_METRIC_LAUNCHES, exceeds;
	double before = (double)(counts ? t[0].launches : t[0].span_ns);
	double change = counts ? (double)(t[1].launches - t[0].launches) :
				 nsx_totals_change(&d->totals);

	r->figure = counts ? "launches of the whole run" : "whole run";
	r->change = g->relative ? 100 * change / NSX_MAX(before, 1) :
		    counts	? change : change * 1e-6;
	exceeds = r->change > r->limit;
	if (counts ? !d->totals.same_work : d->verdict == NSX_V_INCONCLUSIVE ||
					    (d->verdict == NSX_V_BOTH_WAYS && exceeds))
		undecided(r, d->why);
	else if (!counts && d->verdict == NSX_V_NEUTRAL && exceeds && r->limit >= 0)
		undecided(r, "not larger than noise: runs of the same code may differ as much");
	else
		r->result = exceeds ? NSX_GATE_FAIL : NSX_GATE_PASS;
	if (g->proven && r->result == NSX_GATE_UNDECIDED)
		r->result = NSX_GATE_FAIL;
}

/* Decides a gate. A limit below 0 asks for an improvement; then the part of it that is missing must
 * exceed the noise. Otherwise the change itself must.
 */
static void decide(const struct nsx_diff *d, const struct gate *g, const struct nsx_step *c,
		   const struct measured *m, struct nsx_gate_row *r)
{
	double of = g->relative && m->before > 0 ? m->before : 1;
	double shown = g->relative			? 100 :
		       nsx_gated_figures[g->metric].measure == NSX_TIMED ? 1e-6 : 1;

	if (g->relative && m->before <= 0 && m->change > 0) {
		undecided(r, "there was none of it before");
		return;
	}
	r->change = m->change / of * shown;
	r->lo = m->ci.lo / of * shown;
	r->hi = m->ci.hi / of * shown;
	if (g->metric == NSX_METRIC_STEP)
		r->mean = (g->relative ? c->mean_rel : c->side[1].mean_ns - c->side[0].mean_ns) *
			  shown;
	if (d->same) {
		r->change = r->lo = r->hi = 0;
		r->result = r->limit < 0 ? NSX_GATE_FAIL : NSX_GATE_PASS;
	} else if (d->whole && m->n < SIZE_MAX) {
		undecided(r, "no unit of work repeats on both sides");
	} else if (nsx_gated_figures[g->metric].measure == NSX_TIMED && say_unlike(d)) {
		undecided(r, say_unlike(d));
	} else if (d->units_differ && m->n < SIZE_MAX) {
		undecided(r, "units of the sides differ in their work");
	} else if (m->n < NSX_LEAST_UNITS) {
		undecided(r, "fewer than 4 units on a side");
	} else if (r->lo > r->limit && m->change - NSX_MIN(g->limit * of, 0) > m->floor.at) {
		r->result = NSX_GATE_FAIL;
	} else if (r->hi < r->limit || (r->hi <= r->limit && r->lo == r->hi)) {
		r->result = NSX_GATE_PASS;
	} else {
		undecided(r, r->lo > r->limit ?
				     nsx_arena_printf(d->arena, "not larger than "
						      "noise: %s", m->floor.is) :
				     "the limit lies in the interval: more units "
				     "or captures would decide");
		if (g->proven)
			r->result = NSX_GATE_FAIL;
		else if (r->lo > r->limit && m->floor.is == nsx_calibrated)
			r->result = NSX_GATE_PASS; /* the noise was measured, not assumed */
	}
	if (r->result != NSX_GATE_UNDECIDED && !r->text && !isnan(r->mean) &&
	    (r->mean > r->limit) != (r->result == NSX_GATE_FAIL))
		r->text = "the mean lies on the other side of the limit; "
			  "step.mean is the gate on it";
}

/* The worse of two equal results is the one with the higher upper end. */
static bool is_worse(const struct nsx_gate_row *x, const struct nsx_gate_row *y)
{
	if (x->result != y->result)
		return x->result > y->result;
	return x->hi > y->hi;
}

static struct nsx_gate_row begin_row(const struct gate *g, const char *expr)
{
	enum nsx_measure measure = nsx_gated_figures[g->metric].measure;

	return (struct nsx_gate_row){
		.expr = expr, .subject = "", .figure = nsx_gated_figures[g->metric].figure,
		.change = NAN, .lo = NAN, .hi = NAN, .mean = NAN,
		.unit = g->relative ? "%" : shown_units[measure],
		.limit = g->relative	 ? 100 * g->limit :
			 measure == NSX_TIMED ? g->limit / 1e6 : g->limit};
}

static struct nsx_gate_row evaluate_lane(struct nsx_diff *d, uint32_t lane, const struct gate *g,
					 const char *expr)
{
	const struct nsx_step *c = lane == NSX_NONE ? &d->job : &d->lanes[lane].change;
	struct nsx_gate_row ret = begin_row(g, expr);
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct measured m = g->metric == NSX_METRIC_STEP	   ? measure_step(c) :
			    g->metric == NSX_METRIC_MEAN ? gates_measure_mean(c) :
						     measure_figure(d, lane, g, a);

	decide(d, g, c, &m, &ret);
	if (lane != NSX_NONE && d->nlanes > 1)
		ret.subject = nsx_lane_name(d, lane, d->arena);
	return ret;
}

static int evaluate(struct nsx_diff *d, const char *expr, const struct gate *g,
		    struct nsx_gate_row *ret, struct nsx_err *err)
{
	struct measured m;

	*ret = begin_row(g, expr);
	if (g->metric == NSX_METRIC_MEM_PEAK) {
		if (measure_memory(d, &m))
			decide(d, g, NULL, &m, ret);
		else
			undecided(ret, "memory usage is not known on both sides");
		return 0;
	}
	if (g->metric == NSX_METRIC_KERNEL && d->digested) {
		undecided(ret, nsx_no_kernels);
		return 0;
	}
	if (g->metric == NSX_METRIC_KERNEL && !matches_any(d, g->re))
		return fail(expr, "no kernel of either side matches", err);
	if (is_on_totals(d, g->metric)) {
		decide_by_totals(d, g, ret);
		return 0;
	}
	if (g->metric == NSX_METRIC_STEP && d->has_job) {
		*ret = evaluate_lane(d, NSX_NONE, g, expr);
		return 0;
	}
	for (uint32_t l = 0; l < d->nlanes; l++) {
		struct nsx_gate_row row = evaluate_lane(d, l, g, expr);

		if (!l || is_worse(&row, ret))
			*ret = row;
	}
	return 0;
}

int nsx_gates_evaluate(struct nsx_diff *d, struct nsx_err *err)
{
	const struct nsx_diff_opts *o = d->opts;

	int rc = 0;

	d->gates = nsx_arena_get(d->arena, (o->ngates + 1) * sizeof(*d->gates));
	for (; !rc && d->ngates < o->ngates; d->ngates++) {
		const char *expr = o->gates[d->ngates];
		struct gate g;

		rc = read_gate(expr, &g, err) ?:
		     evaluate(d, expr, &g, &d->gates[d->ngates], err);
		nsx_regex_free(g.re);
	}
	return rc;
}
