/* corrections.c - describes records left out or cut, and clocks that were shifted. */
#include "base/figures.h"
#include "report/corrections.h"
#include "report/words.h"

static const char *corrections_say_first(const struct nsx_trace *t, struct nsx_arena *a)
{
	const struct nsx_impossible *m = &t->impossible;
	int64_t by_ns = m->call_ns == INT64_MIN ? 0 : m->start_ns - m->call_ns;

	return nsx_arena_printf(a, "the first: %s at %.6fs%s%s%s",
				m->name ? nsx_text(t, m->name) : "a copy or memset",
				(double)m->start_ns / 1e9, by_ns ? ", " : "",
				by_ns ? nsx_text_ns(a, (double)llabs(by_ns)) : "",
				!by_ns ? "" : by_ns < 0 ? " before its call" : " after its call");
}

const char *nsx_say_impossible(const struct nsx_trace *t, struct nsx_arena *a)
{
	const struct nsx_impossible *m = &t->impossible;
	size_t nout = m->nearly + m->nlate;
	const char *out = "", *cut = "", *far = "";

	if (m->nfar)
		far = nsx_arena_printf(a, "%s begin%s or end%s a day or more from all GPU work or "
				       "long after the session, which is impossible: left out (the "
				       "first: %s at %.6fs)",
				       nsx_text_n(a, m->nfar, "CUDA call", NULL),
				       m->nfar == 1 ? "s" : "", m->nfar == 1 ? "s" : "",
				       m->far_name ? nsx_text_api(a, nsx_text(t, m->far_name)) :
						     "one without a name",
				       (double)m->far_ns / 1e9);
	if (!nout && !m->ncut)
		return m->nfar ? far : NULL;
	if (nout)
		out = nsx_arena_printf(a, "%s of GPU work begin%s before %s own call or out of the "
				       "order of %s stream, which is impossible: left out",
				       nsx_text_n(a, nout, "record", NULL), nout == 1 ? "s" : "",
				       nout == 1 ? "its" : "their", nout == 1 ? "its" : "their");
	if (m->ncut)
		cut = nsx_arena_printf(a, "%s of GPU work last%s up to %s beyond the start of the "
				       "next record on %s stream, which is impossible: cut there",
				       nsx_text_n(a, m->ncut, "record", NULL),
				       m->ncut == 1 ? "s" : "",
				       nsx_text_ns(a, (double)m->most_cut_ns),
				       m->ncut == 1 ? "its" : "their");
	return nsx_arena_printf(a, "%s%s%s (%s)%s%s", out, nout && m->ncut ? "; " : "", cut,
				corrections_say_first(t, a), m->nfar ? "; " : "", far);
}

const char *nsx_say_shift(const struct nsx_clock *c, struct nsx_arena *a)
{
	return nsx_arena_printf(a, "GPU times were recorded %s too %s: work began before its call "
				"or ended after the call that waited for it. All of them are "
				"corrected; the remaining error is %s",
				nsx_text_ns(a, (double)llabs(c->shift_ns)),
				c->shift_ns > 0 ? "early" : "late",
				c->within_ns == INT64_MAX ? "not known" :
				nsx_text_ns(a, (double)c->within_ns));
}
