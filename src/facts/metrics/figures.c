/* figures.c - means, quantiles and correlation of a counter. */
#include <math.h>
#include "facts/metrics/fold.h"

#define LEAST_CORRELATED 20

static double figures_divide(__int128 a, __int128 b)
{
	return b ? (double)((long double)a / (long double)b) : NAN;
}

struct bins { /* the bins of a counter, sorted by value */
	const struct fold_values *of;
	struct fold_wide *v;
	size_t n;
};

struct sums {
	size_t all, n[NSX_NSCOPES];
	__int128 sum, squares, w_ns[NSX_NSCOPES], weighted[NSX_NSCOPES];
	int64_t min, max, max_in[NSX_NSCOPES], max_inside[NSX_NSCOPES];
};

static void add_small_bin(struct sums *s, int64_t value, const struct fold_bin *b)
{
	s->sum += (__int128)value * b->all;
	s->squares += (__int128)value * value * b->all;
	for (unsigned i = 0; i < NSX_NSCOPES; i++) {
		s->weighted[i] += (__int128)value * b->w_ns[i];
		if (b->w_ns[i])
			s->max_in[i] = value;
		if (b->n[i])
			s->max_inside[i] = value;
	}
}

/* Sums the small bins, and adds the sums of the other values. */
static void figures_add_up(const struct bins *bins, struct sums *s)
{
	const struct fold_values *v = bins->of;

	*s = (struct sums){.sum = v->sum, .squares = v->squares,
			   .min = bins->n ? bins->v[0].lo : 0,
			   .max = bins->n ? bins->v[bins->n - 1].hi : 0};
	memcpy(s->weighted, v->weighted, sizeof(s->weighted));
	for (size_t k = 0; k < bins->n; k++) {
		const struct fold_wide *w = &bins->v[k];

		s->all += w->bin.all;
		for (unsigned i = 0; i < NSX_NSCOPES; i++) {
			s->n[i] += w->bin.n[i];
			s->w_ns[i] += w->bin.w_ns[i];
		}
		if (w->lo < FOLD_SMALL)
			add_small_bin(s, w->lo, &w->bin);
	}
	for (unsigned i = 0; i < NSX_NSCOPES; i++) {
		s->max_in[i] = NSX_MAX(s->max_in[i], v->max[i]);
		s->max_inside[i] = NSX_MAX(s->max_inside[i], v->hi[i]);
	}
}

/* The value at a rank among a scope's samples. The steps of large values are clamped to the bounds
 * of the samples, which they may exceed.
 */
static double value_at_rank(const struct bins *bins, unsigned scope, uint64_t rank)
{
	for (size_t k = 0; k < bins->n; k++) {
		const struct fold_wide *w = &bins->v[k];
		uint64_t n = w->bin.n[scope];
		bool is_step = w->lo < w->hi;
		int64_t lo = is_step ? NSX_MAX(w->lo, bins->of->lo[scope]) : w->lo;
		int64_t hi = is_step ? NSX_MIN(w->hi, bins->of->hi[scope]) : w->hi;

		if (rank < n)
			return (double)lo + (double)(hi - lo) *
						    (n > 1 ? (double)rank / (double)(n - 1) :
							     0.5);
		rank -= n;
	}
	return NAN;
}

/* The quantile q of a scope's n samples, by linear interpolation at rank (n - 1) q, like
 * nsx_quantile.
 */
static double scope_quantile(const struct bins *bins, unsigned scope, size_t n, double q)
{
	double at = (double)(n - 1) * q;
	double lo = value_at_rank(bins, scope, (uint64_t)at);

	if (at == floor(at))
		return lo;
	return lo + (value_at_rank(bins, scope, (uint64_t)at + 1) - lo) * (at - floor(at));
}

static void finish_scopes(struct nsx_metric *m, const struct bins *bins,
			  const struct sums *s, const int64_t *scope_ns)
{
	for (unsigned i = 0; i < NSX_NSCOPES; i++) {
		struct nsx_metric_scope *p = &m->scope[i];

		*p = (struct nsx_metric_scope){
			s->n[i], (int64_t)s->w_ns[i],
			figures_divide(s->weighted[i], s->w_ns[i]), NAN, NAN, NAN, NAN,
			0};
		if (scope_ns[i])
			p->coverage = NSX_MIN(1, figures_divide(s->w_ns[i], scope_ns[i]));
		if (s->w_ns[i])
			p->max = (double)s->max_in[i];
		if (!s->n[i])
			continue;
		p->p50 = scope_quantile(bins, i, s->n[i], 0.5);
		p->p95 = scope_quantile(bins, i, s->n[i], 0.95);
		p->max_inside = (double)s->max_inside[i];
	}
}

/* Computes Pearson's correlation of a counter's value with the share of its sample that
 * communication covers.
 */
static double correlate_with_comm(const struct sums *s, __int128 period_ns,
				  unsigned __int128 comm_squares)
{
	__int128 w = s->w_ns[NSX_SCOPE_COMM];
	long double n = (long double)s->all, v = (long double)s->sum;
	long double f = (long double)w, var_v, var_f, cov;

	if (s->all < LEAST_CORRELATED || s->min == s->max || !w ||
	    w >= period_ns * (__int128)s->all)
		return NAN;
	var_v = n * (long double)s->squares - v * v;
	var_f = n * (long double)comm_squares - f * f;
	cov = n * (long double)s->weighted[NSX_SCOPE_COMM] - v * f;
	if (var_v <= 0 || var_f <= 0)
		return NAN;
	return (double)(cov / sqrtl(var_v) / sqrtl(var_f));
}

int fold_finish(const struct fold_series *x, const int64_t *scope_ns,
		struct nsx_metric *m, struct nsx_err *err)
{
	struct bins bins = {.of = &x->values};
	struct sums s;
	__int128 outside_ns;

	if (fold_list_values(&x->values, &bins.v, &bins.n, err))
		return err->rc;
	figures_add_up(&bins, &s);
	m->n = s.all;
	m->exact = !x->values.many;
	finish_scopes(m, &bins, &s, scope_ns);
	outside_ns = (__int128)m->period_ns * (__int128)s.all - s.w_ns[NSX_SCOPE_COMM];
	m->mean_without_comm = figures_divide((__int128)m->period_ns * s.sum -
					      s.weighted[NSX_SCOPE_COMM], outside_ns);
	m->comm_correlation = correlate_with_comm(&s, m->period_ns, x->comm_squares);
	free(bins.v);
	return 0;
}

void fold_draw(const struct fold_curve *x, const struct nsx_window *w,
	       int64_t period_ns, float *ret)
{
	int64_t bin_ns = (w->end_ns - w->start_ns) / NSX_CURVE_BINS + 1;
	int64_t holds = period_ns / bin_ns + 1, since = holds;

	for (unsigned i = 0; i < NSX_CURVE_BINS; i++) {
		since = x->n[i] ? 0 : NSX_MIN(since + 1, holds + 1);
		ret[i] = x->n[i] ? (float)((double)x->sum[i] / x->n[i]) :
			 since <= holds && i ? ret[i - 1] : NAN;
	}
}
