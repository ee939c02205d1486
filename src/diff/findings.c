/* findings.c - pairs findings of both sides by key, and finds those that may cause the change.
 *
 * Captures of different lengths are compared by shares of the judged window. A difference below one
 * percentage point is no change.
 */
#include <math.h>
#include "diff/diff.h"

const char *const nsx_appearance_names[] = {"appeared", "gone", "changed"};

#define A_POINT 0.01

static const struct nsx_side_finding *
find(const struct nsx_side *s, const struct nsx_side_finding *like)
{
	for (size_t i = 0; i < s->nfindings; i++)
		if (!strcmp(s->findings[i].key, like->key))
			return &s->findings[i];
	return NULL;
}

static bool is_changed(const struct nsx_side_finding *x, const struct nsx_side_finding *y)
{
	return x->severity != y->severity || isnan(x->share) != isnan(y->share) ||
	       fabs(x->share - y->share) >= A_POINT;
}

static void findings_add(struct nsx_diff *d, enum nsx_appearance change,
			 const struct nsx_side_finding *before,
			 const struct nsx_side_finding *after)
{
	d->findings[d->nfindings++] = (struct nsx_finding_row){change, before, after};
}

void nsx_compare_findings(struct nsx_diff *d)
{
	const struct nsx_side *b = d->sides[0][0], *a = d->sides[1][0];
	size_t most = b->nfindings + a->nfindings + 1;

	d->findings = nsx_arena_get(d->arena, most * sizeof(*d->findings));
	for (size_t i = 0; i < a->nfindings; i++)
		if (!find(b, &a->findings[i]))
			findings_add(d, NSX_APPEARED, NULL, &a->findings[i]);
	for (size_t i = 0; i < b->nfindings; i++)
		if (!find(a, &b->findings[i]))
			findings_add(d, NSX_GONE, &b->findings[i], NULL);
	for (size_t i = 0; i < a->nfindings; i++) {
		const struct nsx_side_finding *x = find(b, &a->findings[i]);

		if (x && is_changed(x, &a->findings[i]))
			findings_add(d, NSX_CHANGED_FINDING, x, &a->findings[i]);
	}
}

/* Causes ------------------------------------------------------------------------*/

/* Least part of the change of the mean that a cause explains. Each finding is priced alone, so two
 * may count the same time.
 */
#define EXPLAINS 0.25

/* Cost of a finding in ns per unit; 0 if a side lacks the finding, NAN if it has no price. */
static double cost_of(const struct nsx_side_finding *f, int64_t mean_ns)
{
	return f ? f->share * (double)mean_ns : 0;
}

static double in_direction_ns(const struct nsx_budget *x, enum nsx_share share)
{
	double ns = (double)x->part[share].delta_ns;

	return NSX_MAX(x->total.delta_ns > 0 ? ns : -ns, 0);
}

/* The most of the change that a finding can explain, by the shares of time it affects: compute for
 * a kernel; for a late host, the shares in which the GPU or another rank waits. For other findings
 * the limit is unknown.
 */
static double findings_most_of(const struct nsx_diff *d, const struct nsx_budget *x,
			       enum nsx_category category)
{
	switch (category) {
	case NSX_CAT_COMPUTE:
		return in_direction_ns(x, NSX_SHARE_COMPUTE);
	case NSX_CAT_HOST:
	case NSX_CAT_IDLE:
	case NSX_CAT_LAUNCH:
	case NSX_CAT_STARTUP:
	case NSX_CAT_SYNC:
		return in_direction_ns(x, NSX_SHARE_IDLE) + in_direction_ns(x, NSX_SHARE_COPY) +
		       (d->splits_comm ? in_direction_ns(x, NSX_SHARE_WAIT) : 0);
	case NSX_CAT_CAPTURE:
		return 0;
	default:
		return INFINITY;
	}
}

/* Prices a finding on both sides. It explains nothing if it is too minor for the first page. */
static struct nsx_cause_row explain(const struct nsx_diff *d, const struct nsx_budget *x,
				    const struct nsx_finding_row *f)
{
	int64_t mean_ns = x->total.before_ns;
	double before_ns = cost_of(f->before, mean_ns);
	double after_ns = cost_of(f->after, mean_ns + x->total.delta_ns);

	return (struct nsx_cause_row){
		f, before_ns, after_ns,
		isnan(after_ns - before_ns) || !f->after || f->after->is_minor ? 0 :
		NSX_MIN(after_ns - before_ns, findings_most_of(d, x, f->after->category))};
}

size_t nsx_find_causes(const struct nsx_diff *d, uint32_t lane,
		       struct nsx_cause_row ret[NSX_MOST_CAUSES])
{
	const struct nsx_budget *x = &d->lanes[lane].budget;
	double change_ns = (double)x->total.delta_ns;
	size_t n = 0;

	if (d->whole || (d->units_differ && d->totals.decides) || nsx_find_failure(d) ||
	    change_ns < NSX_NOISE * (double)x->total.before_ns)
		return 0;
	for (size_t i = 0; i < d->nfindings; i++) {
		struct nsx_cause_row c = explain(d, x, &d->findings[i]);
		size_t at = n;

		if (c.explains_ns < EXPLAINS * change_ns || c.explains_ns <= 0)
			continue;
		while (at && ret[at - 1].explains_ns < c.explains_ns)
			at--;
		if (at == NSX_MOST_CAUSES)
			continue;
		n = NSX_MIN(n + 1, NSX_MOST_CAUSES);
		memmove(&ret[at + 1], &ret[at], (n - at - 1) * sizeof(*ret));
		ret[at] = c;
	}
	return n;
}
