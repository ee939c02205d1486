/* engine.c - says what a finding costs each step of an inference engine, and in tokens a second.
 */
#include "detect/detect.h"

enum { FEWEST = 2 }; /* steps; the mean of fewer says nothing                 */

/* steps on the limiting GPU in the judged window; a step at an edge counts for its part inside */
struct judged_steps {
	double n, ns;
	double tokens; /* decoded: one by each request; negative: not known  */
};

static struct judged_steps engine_count_steps(const struct nsx_engine_steps *steps,
					      uint32_t device, struct nsx_window w)
{
	struct judged_steps a = {0};

	for (size_t i = 0; i < steps->n; i++) {
		const struct nsx_engine_step *s = &steps->v[i];
		bool decodes = s->name.kind == NSX_STEP_DECODE || s->name.kind == NSX_STEP_MIXED;
		double ns = (double)(NSX_MIN(s->gpu_end_ns, w.end_ns) -
				     NSX_MAX(s->gpu_start_ns, w.start_ns));
		double part = ns / (double)(s->gpu_end_ns - s->gpu_start_ns);

		if (s->device != device || ns <= 0 || s->name.kind == NSX_STEP_TRAINING)
			continue;
		a.n += part;
		a.ns += ns;
		if (decodes)
			a.tokens = s->name.decodes < 0 || a.tokens < 0 ? -1 :
				   a.tokens + part * (double)s->name.decodes;
	}
	return a;
}

/* "A step takes 1 ms → 820 µs on the mean; 5000 → 6100 tokens decoded a second" */
static const char *say_in_steps(struct nsx_findings *l, const struct judged_steps *a,
				const struct nsx_finding *f, double window_ns)
{
	const char *step = nsx_tell(l, "A step takes %s → %s on the mean",
				    nsx_text_ns(l->arena, a->ns / a->n),
				    nsx_text_ns(l->arena, a->ns / a->n - f->step_ns));

	return a->tokens <= 0 ? step :
		nsx_tell(l, "%s; %.0f → %.0f tokens decoded a second", step,
			 a->tokens / window_ns * 1e9,
			 a->tokens / (window_ns - f->headroom_ns) * 1e9);
}

void nsx_price_steps(const struct nsx_facts *f, const struct nsx_engine_steps *steps,
		     struct nsx_findings *l)
{
	struct nsx_window w = nsx_judged(f);
	struct judged_steps a = engine_count_steps(steps, f->limiting, w);

	if (a.n < FEWEST)
		return;
	for (size_t i = 0; i < l->n; i++) {
		struct nsx_finding *x = &l->v[i];

		if (x->price < NSX_PRICE_MEASURED || x->headroom_ns <= 0 || x->headroom_ns >= a.ns)
			continue;
		x->step_ns = x->headroom_ns / a.n;
		nsx_insert_evidence(x, 1, say_in_steps(l, &a, x,
						       (double)(w.end_ns - w.start_ns)));
	}
}
