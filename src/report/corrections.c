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

/* Says how many rows of each table are far from the session, and how many ranges were left open. */
static const char *say_far(const struct nsx_trace *t, struct nsx_arena *a)
{
	static const struct {
		enum nsx_view view;
		const char *noun;
	} kinds[] = {
		{NSX_VIEW_runtime, "CUDA call"}, {NSX_VIEW_kernel, "record of GPU work"},
		{NSX_VIEW_nvtx, "NVTX range"}, {NSX_VIEW_mpi_coll, "library call"},
		{NSX_VIEW_osrt, "OS call"}, {NSX_VIEW_sync, "wait"},
		{NSX_VIEW_overhead, "overhead"}, {NSX_VIEW_sample, "CPU sample"},
	};
	const struct nsx_impossible *m = &t->impossible;
	const char *list = "", *first = "", *s = m->nfar == 1 ? "s" : "", *opened = "";

	for (unsigned i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t n = m->far[kinds[i].view];

		if (n)
			list = nsx_arena_printf(a, "%s%s%s", list, *list ? ", " : "",
						nsx_text_n(a, n, kinds[i].noun, n > 1 &&
							   kinds[i].view == NSX_VIEW_kernel ?
							   "records of GPU work" : NULL));
		if (kinds[i].view == m->far_view)
			first = kinds[i].noun;
	}
	if (m->nopened)
		opened = nsx_arena_printf(a, "the end of %s lies a day or more after all GPU work "
					  "or long after the session, which is impossible: taken "
					  "as never closed",
					  nsx_text_n(a, m->nopened, "NVTX range", NULL));
	if (!m->nfar)
		return opened;
	if (m->far_name)
		first = m->far_view == NSX_VIEW_runtime ?
				nsx_text_api(a, nsx_text(t, m->far_name)) : nsx_text(t, m->far_name);
	return nsx_arena_printf(a, "%s begin%s or end%s a day or more from all GPU work or long "
				"after the session, which is impossible: left out (the first: %s "
				"at %.6fs)%s%s", list, s, s, first, (double)m->far_ns / 1e9,
				*opened ? "; " : "", opened);
}

const char *nsx_say_impossible(const struct nsx_trace *t, struct nsx_arena *a)
{
	const struct nsx_impossible *m = &t->impossible;
	size_t nout = m->nearly + m->nlate;
	const char *out = "", *cut = "", *far = "";

	if (m->nfar || m->nopened)
		far = say_far(t, a);
	if (!nout && !m->ncut)
		return *far ? far : NULL;
	if (nout)
		out = nsx_arena_printf(a, "%s of GPU work begin%s before %s own call or out of the "
				       "order of %s stream, which is impossible: left out",
				       nsx_text_n(a, nout, "record", NULL), nout == 1 ? "s" : "",
				       nout == 1 ? "its" : "their", nout == 1 ? "its" : "their");
	if (m->ncut)
		cut = nsx_arena_printf(a, "%s of GPU work last%s %s beyond the start of the next "
				       "record on %s stream, which is impossible: cut there",
				       nsx_text_n(a, m->ncut, "record", NULL),
				       m->ncut == 1 ? "s" : "",
				       m->most_cut_ns > NSX_DAY_NS ? "more than a day" :
				       nsx_arena_printf(a, "up to %s", nsx_text_ns(a,
						(double)m->most_cut_ns)),
				       m->ncut == 1 ? "its" : "their");
	return nsx_arena_printf(a, "%s%s%s (%s)%s%s", out, nout && m->ncut ? "; " : "", cut,
				corrections_say_first(t, a), *far ? "; " : "", far);
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
