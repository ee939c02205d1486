/* promised.c - compares the gain that findings promised with the gain after they disappeared. */
#include <math.h>
#include "diff/emit.h"

#define KEPT_LEAST 0.8 /* the least gain, relative to the promise, that counts as kept */
#define KEPT_MOST 1.25

/* Share of the whole time that was won; for units, of their mean. */
static double won_of(const struct nsx_diff *d)
{
	uint32_t lane;

	return d->totals.decides ? -nsx_change_of(d) : -nsx_decisive_step(d, &lane)->mean_rel;
}

/* Whether fixing the finding would now win less than half as much time as before. */
static bool is_gone(const struct nsx_finding_row *f, double won)
{
	return f->before && f->before->share > 0 && !f->before->is_minor &&
	       (!f->after || f->after->share * (1 - won) < f->before->share / 2);
}

/* The judged window as a share of the whole time, if won_of is a share of the whole; else 1. */
static double judged_part(const struct nsx_diff *d)
{
	const struct nsx_totals *t = &d->totals.side[0];

	return d->totals.decides && t->judged_ns > 0 && t->span_ns > t->judged_ns ?
		       (double)t->judged_ns / (double)t->span_ns : 1;
}

bool nsx_knows_gain(const struct nsx_diff *d)
{
	uint32_t lane;
	const struct nsx_step *c = nsx_decisive_step(d, &lane);

	/* slow units that are gone may be all that a finding promised */
	return d->verdict != NSX_V_INCONCLUSIVE || (!d->overruled && !d->totals.decides &&
		fabs(c->side[1].mean_ns - c->side[0].mean_ns) > c->mean_floor.at);
}

size_t nsx_diff_promised(const struct nsx_diff *d, struct nsx_promise ret[NSX_MOST_PROMISES])
{
	double won = won_of(d), part = judged_part(d), all = 0;
	size_t n = 0;

	if (!nsx_knows_gain(d))
		return 0;
	for (size_t i = 0; i < d->nfindings; i++)
		all += is_gone(&d->findings[i], won) ? d->findings[i].before->share : 0;
	for (size_t i = 0; i < d->nfindings && n < NSX_MOST_PROMISES; i++) {
		const struct nsx_side_finding *f = d->findings[i].before;
		struct nsx_promise *p = &ret[n];

		if (!is_gone(&d->findings[i], won))
			continue;
		*p = (struct nsx_promise){.finding = f, .share = part * f->share, .won = won};
		p->kept = (won >= KEPT_LEAST * p->share &&
			   won <= KEPT_MOST * (part * NSX_MIN(all, 1) + 1 - part)) ||
			  (won > 0 && won >= part * f->low && won <= part * f->high + 1 - part);
		p->is_joint = all > f->share;
		p->own = NSX_MIN(won, NSX_MAX(p->share, won - (part * all - p->share)));
		n++;
	}
	return n;
}

const char *nsx_promise_line(const struct nsx_promise *p, struct nsx_arena *a)
{
	const struct nsx_side_finding *f = p->finding;
	const char *least = f->low >= NSX_SEEN && f->low < KEPT_LEAST * f->share ?
		nsx_arena_printf(a, "at least %s", nsx_text_ratio(a, -f->low)) : "";
	const char *of = p->share < f->share ?
		nsx_arena_printf(a, "%s of the judged part", nsx_text_ratio(a, -f->share)) : "";

	return nsx_arena_printf(a, "%s: %s: promised %s%s%s%s%s%s%s, won %s%s",
				p->kept ? "Promise kept" : p->won < p->share ? "Promise not kept" :
				"More won than promised", f->title,
				nsx_text_ratio(a, -NSX_MIN(p->share, f->share)), *of ? " of the run" : "",
				*of || *least ? " (" : "", of, *of && *least ? ", " : "", least,
				*of || *least ? ")" : "", nsx_text_ratio(a, -p->won),
				p->is_joint ? " with all findings that are gone" : "");
}

const char *nsx_diff_promises(const struct nsx_diff *d, struct nsx_arena *a)
{
	struct nsx_promise v[NSX_MOST_PROMISES];
	size_t n = won_of(d) >= NSX_NOISE ? nsx_diff_promised(d, v) : 0;
	struct nsx_buf b = {0};

	for (size_t i = 0; i < n; i++)
		nsx_buf_printf(&b, "%s\n", nsx_promise_line(&v[i], a));
	return nsx_buf_keep(&b, a);
}
