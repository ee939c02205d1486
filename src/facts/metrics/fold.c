/* fold.c - aggregates samples of GPU counters row by row.
 *
 * All counters of a sample are in adjacent rows. The sample's part in each scope, which they share,
 * is computed once, and the counter of a row is guessed from the row before. This takes 13 to 25 ns
 * per row, compared with 150 ns for reading a row through SQLite.
 *
 * The period of samples is known only from all timestamps. The first rows of a type wait until a
 * few hundred timestamps give an estimate. If the whole table contradicts the estimate of a part,
 * that part is read again.
 */
#include <math.h>
#include "base/stat.h"
#include "facts/metrics/fold.h"

enum {
	WAITING_ROWS = 8192, /* this many rows wait until the period is estimated */
	POLL_ROWS = 1 << 16, /* rows between checks for an interrupt */
	FAR = 32, /* a cursor that must move over more spans uses bisection */
};

/* Scopes -------------------------------------------------------------------*/

/* Total length of the spans before x. */
static int64_t span_ns_before(const struct fold_reach *r, struct fold_cursor *c, int64_t x)
{
	const struct nsx_spans *s = r->spans;
	size_t first = c->at;

	for (; c->at < s->n && c->at < first + FAR; c->at++) {
		struct nsx_span y = nsx_span_at(s, c->at);

		if (y.end_ns > x)
			break;
		c->before_ns += y.end_ns - y.start_ns;
	}
	if (c->at == first + FAR || (c->at && nsx_span_at(s, c->at - 1).end_ns > x)) {
		c->at = nsx_spans_find(s, x);
		c->before_ns = nsx_spans_first(s, r->prefix, c->at);
	}
	return c->at < s->n ? c->before_ns +
		       NSX_MAX(0, x - nsx_span_at(s, c->at).start_ns) :
			      c->before_ns;
}

/* Computes s->share, which splits the sample at at_ns between the scopes. */
static void split_sample_by_scope(const struct fold *f, struct fold_source *s, int64_t at_ns)
{
	const struct nsx_trace *t = f->ctx->trace;
	int64_t end_ns = at_ns + s->period_ns, in_ns[4] = {0};
	int64_t lo = NSX_MAX(at_ns, t->window.start_ns);
	int64_t hi = NSX_MIN(end_ns, t->window.end_ns);
	int64_t window_ns = NSX_MAX(0, hi - lo);
	struct fold_bin *b = &s->share;

	for (unsigned i = 0; s->reach && window_ns && i < 4; i++) {
		struct fold_cursor *c = &s->cursor[i];
		int64_t from = span_ns_before(&s->reach[i], c, at_ns);
		struct fold_cursor to = *c;

		in_ns[i] = span_ns_before(&s->reach[i], &to, end_ns) - from;
	}
	s->at_ns = at_ns;
	s->at = window_ns ? nsx_bin(&t->window, lo) : 0;
	s->counts = window_ns || !nsx_has_window(t);
	b->w_ns[NSX_SCOPE_WINDOW] = (uint64_t)window_ns;
	b->n[NSX_SCOPE_WINDOW] = window_ns > 0;
	for (unsigned i = 1; i < NSX_NSCOPES; i++) {
		b->w_ns[i] = (uint64_t)in_ns[i - 1];
		b->n[i] = b->w_ns[i] && 2 * b->w_ns[i] >= (uint64_t)s->period_ns;
	}
	b->all = 1;
}

static int metrics_fold_add_value(struct fold *f, struct fold_source *s, uint32_t series,
				  int64_t at_ns, int64_t value, struct nsx_err *err)
{
	struct fold_series *x = f->series[series];
	uint64_t comm_ns;

	if (at_ns != s->at_ns)
		split_sample_by_scope(f, s, at_ns);
	if (!s->counts)
		return 0;
	comm_ns = s->share.w_ns[NSX_SCOPE_COMM];
	x->comm_squares += (unsigned __int128)comm_ns * comm_ns;
	if (x->curve && s->share.n[NSX_SCOPE_WINDOW]) {
		x->curve->sum[s->at] += (uint64_t)value;
		x->curve->n[s->at]++;
	}
	return fold_add_value(&x->values, value, &s->share, err);
}

/* Sources and series ----------------------------------------------------------*/

static int find_source(struct fold *f, int64_t type, uint32_t *ret, struct nsx_err *err)
{
	for (uint32_t i = 0; i < f->nsources; i++)
		if (f->sources[i].type == type) {
			*ret = i;
			return 0;
		}
	*ret = (uint32_t)f->nsources;
	return nsx_push(f->sources, f->nsources, f->cap_sources,
			"sources of GPU metrics", err, (struct fold_source){
		.type = type, .at_ns = INT64_MIN,
		.reach = f->ctx->reach_of(f->ctx->arg, type)});
}

static int add_series(struct fold *f, int64_t type, int64_t metric,
		      uint32_t *ret, struct nsx_err *err)
{
	struct fold_series *x = nsx_try_alloc(1, sizeof(*x), "a GPU metric", err);

	if (!x)
		return err->rc;
	x->type = type;
	x->metric = metric;
	x->most = f->ctx->most_of(f->ctx->arg, type, metric);
	if (nsx_push(f->series, f->nseries, f->cap_series, "GPU metrics", err, x)) {
		free(x);
		return err->rc;
	}
	if (f->ctx->with_curves &&
	    !(x->curve = nsx_try_alloc(1, sizeof(*x->curve), "a GPU metric", err)))
		return err->rc;
	return find_source(f, type, &x->source, err) ?:
	       nsx_group(&f->keys, (uint64_t)type, (uint64_t)metric, ret, err);
}

/* Finds or adds a series. *ret: its index; NSX_NONE: there are too many. */
static int find_series(struct fold *f, int64_t type, int64_t metric,
		       uint32_t *ret, struct nsx_err *err)
{
	*ret = nsx_group_find(&f->keys, (uint64_t)type, (uint64_t)metric);
	if (*ret != NSX_NONE)
		return 0;
	if (f->nseries < FOLD_MAX_SERIES)
		return add_series(f, type, metric, ret, err);
	f->too_many = true;
	return 0;
}

/* Like find_series, but faster: first tries the series that came last time after the series of the
 * previous row.
 */
static int next_series(struct fold *f, int64_t type, int64_t metric,
		       uint32_t *ret, struct nsx_err *err)
{
	if (f->last < f->nseries) {
		uint32_t guess = f->series[f->last]->next;

		if (f->series[guess]->metric == metric && f->series[guess]->type == type) {
			*ret = f->last = guess;
			return 0;
		}
	}
	if (find_series(f, type, metric, ret, err))
		return err->rc;
	if (*ret == NSX_NONE)
		return 0;
	if (f->last < f->nseries)
		f->series[f->last]->next = *ret;
	f->last = *ret;
	return 0;
}

/* Periods ------------------------------------------------------------------*/

/* Rounds x to a whole number, and to two significant digits. */
static double round_to_two_digits(double x)
{
	double ten = 1;

	while (x / ten >= 100)
		ten *= 10;
	return round(x / ten) * ten;
}

/* Removes jitter from a period: returns the nearest round period, or the nearest period of a round
 * frequency. If that differs by more than 0.3 %, or lies outside the limits between which half of
 * the distances between samples lie, the period is returned as it is. Rounding makes an estimate
 * from some samples equal to that from all.
 */
static int64_t round_off_jitter(int64_t ns, double least, double most)
{
	double x = (double)ns, by_period = round_to_two_digits(x);
	double by_frequency = 1e15 / round_to_two_digits(1e15 / x); /* rounded in microhertz */
	double best = fabs(by_period - x) <= fabs(by_frequency - x) ? by_period : by_frequency;

	return fabs(best - x) <= 0.003 * x && best >= least && best <= most ?
		       (int64_t)round(best) : ns;
}

static void drop_waiting_rows(struct fold_source *s)
{
	free(s->rows);
	s->rows = NULL;
	s->nrows = s->cap_rows = 0;
}

static int fold_flush(struct fold *f, struct fold_source *s, struct nsx_err *err)
{
	int rc = 0;

	s->at_ns = INT64_MIN;
	for (size_t i = 0; !rc && i < s->nrows; i++)
		rc = metrics_fold_add_value(f, s, s->rows[i].series, s->rows[i].at_ns,
					    s->rows[i].value, err);
	drop_waiting_rows(s);
	return rc;
}

static bool fold_is_sorted(const int64_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (v[i] < v[i - 1])
			return false;
	return true;
}

int64_t fold_period(int64_t *ticks, size_t *n, struct nsx_err *err)
{
	size_t kept = 0;
	NSX_AT_EXIT(nsx_free_at) int64_t *steps = NULL;
	double q[3];

	if (!fold_is_sorted(ticks, *n))
		nsx_sort(ticks, *n, sizeof(*ticks), nsx_cmp_i64);
	for (size_t i = 0; i < *n; i++)
		if (!kept || ticks[i] != ticks[kept - 1])
			ticks[kept++] = ticks[i];
	*n = kept;
	if (kept < 2)
		return 0;
	steps = nsx_try_alloc(kept - 1, sizeof(*steps), "sampling periods", err);
	if (!steps)
		return err->rc;
	for (size_t i = 0; i + 1 < kept; i++)
		steps[i] = ticks[i + 1] - ticks[i];
	nsx_quantiles(steps, kept - 1, (const double[]){0.25, 0.5, 0.75}, 3, q);
	return round_off_jitter((int64_t)round(q[1]), q[0], q[2]);
}

/* Estimates the period once enough rows wait, and folds them. Unsorted rows give no estimate and
 * are folded in the second pass.
 */
static int begin_folding(struct fold *f, struct fold_source *s, struct nsx_err *err)
{
	if (fold_is_sorted(s->ticks, s->nticks))
		s->period_ns = fold_period(s->ticks, &s->nticks, err);
	if (s->period_ns < 0)
		return err->rc;
	if (s->period_ns)
		return fold_flush(f, s, err);
	s->failed = true;
	drop_waiting_rows(s);
	return 0;
}

static int keep_waiting_row(struct fold *f, struct fold_source *s, uint32_t series,
			    int64_t at_ns, int64_t value, struct nsx_err *err)
{
	return nsx_push(s->rows, s->nrows, s->cap_rows, "samples", err,
			(struct fold_row){at_ns, value, series}) ?:
	       (s->nrows == WAITING_ROWS ? begin_folding(f, s, err) : 0);
}

/* Rows -----------------------------------------------------------------------*/

/* The value of a cell; -1: not a value of a counter. */
static int64_t fold_value(const struct nsx_val *v)
{
	if (v->type == NSX_V_F64 && v->u.f >= 0 && v->u.f <= (double)FOLD_MAX_VALUE)
		return (int64_t)(v->u.f + 0.5);
	return v->type == NSX_V_I64 ? v->u.i : -1;
}

static int fold_add_row(struct fold *f, int64_t at_ns, int64_t type, int64_t metric,
			int64_t value, struct nsx_err *err)
{
	struct fold_source *s;
	uint32_t series;

	if (next_series(f, type, metric, &series, err))
		return err->rc;
	if (value < 0 || value > (series == NSX_NONE ? FOLD_MAX_VALUE : f->series[series]->most)) {
		f->bad += !f->only_failed;
		if (series != NSX_NONE)
			f->series[series]->lost += !f->only_failed;
		return 0;
	}
	if (series == NSX_NONE)
		return 0;
	s = &f->sources[f->series[series]->source];
	if (f->only_failed)
		return s->failed ? metrics_fold_add_value(f, s, series, at_ns, value, err) : 0;
	if ((!s->nticks || s->ticks[s->nticks - 1] != at_ns) &&
	    nsx_push(s->ticks, s->nticks, s->cap_ticks, "instants of samples", err, at_ns))
		return err->rc;
	if (s->failed)
		return 0;
	if (!s->period_ns)
		return keep_waiting_row(f, s, series, at_ns, value, err);
	return metrics_fold_add_value(f, s, series, at_ns, value, err);
}

int fold_on_row(void *fold, int64_t rid NSX_UNUSED, const struct nsx_val *v, struct nsx_err *err)
{
	struct fold *f = fold;
	const struct nsx_window *read = &f->ctx->trace->read;

	if (v[0].type == NSX_V_I64 && (v[0].u.i < read->start_ns || v[0].u.i >= read->end_ns))
		return 0;
	f->rows += !f->only_failed;
	if (++f->seen % POLL_ROWS == 0) {
		nsx_progress_add(f->ctx->progress, POLL_ROWS);
		if (nsx_stopped(err))
			return err->rc;
	}
	if (!nsx_is_possible(f->ctx->trace->schema->shifts, &v[0]) || v[1].type != NSX_V_I64 ||
	    v[2].type != NSX_V_I64) {
		f->bad += !f->only_failed;
		return 0;
	}
	return fold_add_row(f, v[0].u.i, v[1].u.i, v[2].u.i, fold_value(&v[3]), err);
}

/* Parts -----------------------------------------------------------------------*/

static void clear_series(struct fold_series *x)
{
	struct fold_series keep = {.type = x->type, .metric = x->metric,
				   .source = x->source, .next = x->next, .most = x->most,
				   .lost = x->lost, .curve = x->curve};

	if (x->curve)
		*x->curve = (struct fold_curve){0};
	fold_values_done(&x->values);
	*x = keep;
}

int fold_settle(struct fold *f, struct fold_source *s, int64_t period_ns, struct nsx_err *err)
{
	int64_t used_ns = s->failed ? -1 : s->period_ns;

	s->period_ns = period_ns;
	if (period_ns && (!used_ns || used_ns == period_ns))
		return used_ns ? 0 : fold_flush(f, s, err);
	for (size_t i = 0; i < f->nseries; i++)
		if (f->series[i]->source == s - f->sources)
			clear_series(f->series[i]);
	s->failed = period_ns != 0;
	s->at_ns = INT64_MIN;
	drop_waiting_rows(s);
	return 0;
}

int fold_merge(struct fold *f, struct fold *from, struct nsx_err *err)
{
	uint32_t series;

	f->bad += from->bad;
	f->too_many |= from->too_many;
	for (size_t i = 0; i < from->nseries; i++) {
		struct fold_series *x = from->series[i];

		if (find_series(f, x->type, x->metric, &series, err))
			return err->rc;
		if (series == NSX_NONE)
			continue;
		f->series[series]->comm_squares += x->comm_squares;
		f->series[series]->lost += x->lost;
		for (unsigned k = 0; x->curve && k < NSX_CURVE_BINS; k++) {
			f->series[series]->curve->sum[k] += x->curve->sum[k];
			f->series[series]->curve->n[k] += x->curve->n[k];
		}
		if (fold_merge_values(&f->series[series]->values, &x->values, err))
			return err->rc;
	}
	return 0;
}

void fold_done(struct fold *f)
{
	for (size_t i = 0; i < f->nseries; i++) {
		clear_series(f->series[i]);
		free(f->series[i]->curve);
		free(f->series[i]);
	}
	for (size_t i = 0; i < f->nsources; i++) {
		drop_waiting_rows(&f->sources[i]);
		free(f->sources[i].ticks);
	}
	free(f->series);
	free(f->sources);
	nsx_groups_done(&f->keys);
}
