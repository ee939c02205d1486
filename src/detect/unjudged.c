/* unjudged.c - the parts of the recording that are not judged, lest a reader who looks for a pause,
 * a slow start or a slow end takes the judged window for the whole.
 */
#include <stdlib.h>
#include <string.h>
#include "base/group.h"
#include "base/stat.h"
#include "detect/verdict.h"
#include "detect/words.h"
#include "report/text.h"
#include "report/words.h"

#define CALLS_SHARE 0.25 /* a call is named from this share of a stretch     */
#define RANGE_SHARE 0.5	 /* a range is named from this share of a stretch    */
#define TOLD_SHARE 0.05	 /* a stretch is reported from this share of the recording */
enum { TOLD = 4 };

struct part { /* a phase, or the time at one end of the run */
	const struct nsx_ledger *ledger; /* of a phase; otherwise NULL       */
	const char *name; /* a name in the trace or, if is_ours, a fixed text */
	bool is_ours;
	struct nsx_window window;
};
struct parts {
	struct part *v;
	size_t n;
	bool has_phases;
};

static int64_t unjudged_overlap(const struct nsx_window *w, int64_t start_ns, int64_t end_ns)
{
	return NSX_MIN(end_ns, w->end_ns) - NSX_MAX(start_ns, w->start_ns);
}

struct spent { /* time in CUDA calls or OS calls */
	struct nsx_groups keys; /* (thread, name)                            */
	struct spent_sum {
		int64_t ns, longest_ns;
		bool is_cuda;
	} *sums, most; /* the name with most time                            */
	nsx_str name;
};

static int unjudged_add_call(struct spent *s, uint32_t thread, nsx_str name, bool is_cuda,
			     int64_t ns, struct nsx_err *err)
{
	struct spent_sum *sum;

	if (ns <= 0)
		return 0;
	sum = nsx_group_value(&s->keys, &s->sums, thread, name, "calls outside of GPU work", err);
	if (!sum)
		return err->rc;
	sum->is_cuda = is_cuda;
	nsx_add_to(&sum->ns, ns);
	sum->longest_ns = NSX_MAX(sum->longest_ns, ns);
	if (sum->ns > s->most.ns) {
		s->most = *sum;
		s->name = name;
	}
	return 0;
}

static int add_cuda(struct spent *s, const struct nsx_trace *t, uint32_t thread,
		    const struct nsx_window *w, struct nsx_err *err)
{
	const struct nsx_calls *c = &t->calls;

	for (size_t i = t->thread[thread].calls_at, n = i + t->thread[thread].ncalls;
	     i < n && nsx_call_start(c, i) < w->end_ns; i++)
		if (!(c->flags[i] & NSX_CALL_NESTED) &&
		    unjudged_add_call(s, thread, nsx_call_name(c, i), true,
				      unjudged_overlap(w, nsx_call_start(c, i), nsx_call_end(c, i)),
				      err))
			return err->rc;
	return 0;
}

/* Adds OS calls, except those inside CUDA calls, which are counted already. */
static int add_os(struct spent *s, const struct nsx_trace *t, uint32_t thread,
		  const struct nsx_window *w, struct nsx_err *err)
{
	const struct nsx_thread *th = &t->thread[thread];
	size_t call = th->calls_at, end = call + th->ncalls;

	for (size_t i = th->osrt_at; i < (size_t)th->osrt_at + th->nosrt; i++) {
		int64_t start_ns = t->osrt.start_ns[i];

		if (start_ns >= w->end_ns)
			break;
		while (call < end && nsx_call_end(&t->calls, call) <= start_ns)
			call++;
		if (call < end && nsx_call_start(&t->calls, call) <= start_ns)
			continue;
		if (unjudged_add_call(s, thread, t->osrt.name[i], false,
				      unjudged_overlap(w, start_ns, t->osrt.end_ns[i]), err))
			return err->rc;
	}
	return 0;
}

/* The call in which one thread spends most of a stretch; NULL: no call takes much of it. */
static int unjudged_say_calls(const struct nsx_trace *t, const struct nsx_window *w,
			      struct nsx_arena *a, const char **ret, bool *ret_own,
			      struct nsx_err *err)
{
	struct spent s = {.name = 0};
	int rc = 0;

	for (uint32_t h = 0; h < t->nthreads && !rc; h++)
		rc = add_cuda(&s, t, h, w, err) ?: add_os(&s, t, h, w, err);
	*ret_own = s.most.is_cuda && 2 * s.most.longest_ns < s.most.ns;
	*ret = (double)s.most.ns < CALLS_SHARE * (double)(w->end_ns - w->start_ns) ?
		NULL :
		nsx_arena_printf(a, " (%s %s)", nsx_text_api(a, nsx_text(t, s.name)),
				 nsx_text_ns(a, (double)s.most.ns));
	nsx_groups_done(&s.keys);
	free(s.sums);
	return rc;
}

/* The shortest range that covers most of a stretch; NULL: none does. */
static const char *say_range(const struct nsx_trace *t, const struct nsx_window *w,
			     struct nsx_arena *a)
{
	const struct nsx_nvtx *x = &t->nvtx;
	double least_ns = RANGE_SHARE * (double)(w->end_ns - w->start_ns);
	size_t best = x->n;

	for (size_t i = 0; i < x->n; i++)
		if ((double)unjudged_overlap(w, nsx_range_start(x, i), nsx_range_end(x, i)) >=
			    least_ns &&
		    (best == x->n || nsx_range_ns(x, i) <= nsx_range_ns(x, best)))
			best = i;
	return best == x->n ? NULL :
	       nsx_arena_printf(a, " (in %s)", nsx_text_name(a, nsx_text_range(
				a, nsx_text(t, x->name[best]))));
}

/* Launches whose work must have run but is not in the trace; NULL: there are none, and the GPU
 * idles.
 */
static const char *say_lost(const struct nsx_report *r, const struct nsx_window *w)
{
	struct nsx_lost lost = nsx_lost_launches(r->trace, w);

	return nsx_is_idle_unknown(&lost) ?
		       nsx_arena_printf(r->arena, say_work_was_lost,
			       nsx_text_n(r->arena, lost.lost, "launch", "launches")) :
		       NULL;
}

int nsx_say_doing(const struct nsx_trace *t, const struct nsx_window *w, struct nsx_arena *a,
		  const char **ret, bool *ret_own, struct nsx_err *err)
{
	if (unjudged_say_calls(t, w, a, ret, ret_own, err))
		return err->rc;
	if (!*ret) {
		*ret = say_range(t, w, a);
		*ret_own = *ret;
	}
	*ret = *ret ?: "";
	return 0;
}

/* The verdict on a phase in words; NULL if no GPU worked in it. */
static const char *say_verdict(const struct nsx_report *r, const struct part *x)
{
	const struct nsx_ledger *l = x->ledger;
	const char *lost = say_lost(r, &x->window);
	struct nsx_judgement j;

	if (lost || !l->total_ns || l->ns[NSX_L_IDLE] == l->total_ns)
		return lost;
	nsx_judge_ledger(l, &j);
	return nsx_arena_printf(r->arena, " (%s: %s)", nsx_verdict_words[j.verdict],
				nsx_say_account(r->facts, l, &l->v[0], r->arena));
}

static bool is_long(const struct nsx_report *r, int64_t ns)
{
	return (double)ns >= TOLD_SHARE * (double)(r->trace->last_ns - r->trace->first_ns);
}

static void add_outside(const struct nsx_report *r, const char *name,
			int64_t start_ns, int64_t end_ns, struct parts *p)
{
	for (size_t i = 0; i < r->found.n; i++)
		if (r->found.v[i].id == NSX_ID_other_phase && !strcmp(r->found.v[i].subject, name))
			return; /* the end of the run already has a finding   */
	if (start_ns < end_ns && is_long(r, end_ns - start_ns))
		p->v[p->n++] = (struct part){NULL, name, true, {start_ns, end_ns}};
}

static void add_phase(const struct nsx_report *r, const struct nsx_run_phase *x,
		      const struct nsx_ledger *ledger, struct parts *p)
{
	int64_t ns = x->window.end_ns - x->window.start_ns;

	if (!x->judged && is_long(r, ns)) {
		p->has_phases = true;
		p->v[p->n++] = (struct part){ledger, x->name, false, x->window};
	}
}

static int cmp_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return NSX_CMP(y->window.end_ns - y->window.start_ns,
		       x->window.end_ns - x->window.start_ns) ?:
	       NSX_CMP(x->window.start_ns, y->window.start_ns);
}

int nsx_list_unjudged(const struct nsx_report *r, const struct nsx_measured *m,
		      const char ***ret, struct nsx_err *err)
{
	const struct nsx_trace *t = r->trace;
	const struct nsx_facts *f = r->facts;
	const char **list;
	static const struct nsx_ledger none = {.n = 0};
	struct parts p = {.v = nsx_arena_get(r->arena, (f->nrun_phases + 2) *
							     sizeof(*p.v))};
	const char *how;
	size_t n;

	*ret = NULL;
	for (size_t i = 0; i < f->nrun_phases; i++)
		add_phase(r, &f->run_phases[i], m->phases ? &m->phases[i] : &none, &p);
	if (f->nrun_phases && !nsx_has_window(t)) {
		struct nsx_window all = nsx_recorded(t, m);

		add_outside(r, NSX_BEFORE_WORK, all.start_ns, f->run_phases[0].window.start_ns, &p);
		add_outside(r, NSX_AFTER_WORK,
			    f->run_phases[f->nrun_phases - 1].window.end_ns, all.end_ns, &p);
	}
	n = NSX_MIN(p.n, TOLD);
	if (!n)
		return 0;
	nsx_sort(p.v, p.n, sizeof(*p.v), cmp_parts);
	how = p.has_phases ? say_window_phase_name_judges : "";
	list = nsx_arena_get(r->arena, (n + 2) * sizeof(*list));
	for (size_t k = 0; k < n; k++) {
		const struct part *x = &p.v[k];
		bool is_own;
		const char *doing = x->is_ours ? NULL : say_verdict(r, x);

		if (!doing && nsx_say_doing(t, &x->window, r->arena, &doing, &is_own, err))
			return err->rc;
		list[k] = nsx_arena_printf(r->arena, "%s %s%s%s",
			x->is_ours ? x->name : nsx_text_name(r->arena, x->name),
			nsx_text_ns(r->arena, (double)(x->window.end_ns - x->window.start_ns)),
			doing, k + 1 < n ? "" : how);
	}
	*ret = list;
	return 0;
}
