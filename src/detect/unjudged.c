/* unjudged.c - what of the recording is not judged: a reader who looks for a pause, a slow
 * start or a slow end must not take the judged window for the whole.
 */
#include <stdlib.h>
#include <string.h>
#include "base/group.h"
#include "base/stat.h"
#include "detect/verdict.h"
#include "report/text.h"
#include "report/words.h"

#define CALLS_SHARE 0.25 /* of a stretch: from which calls, and pages, are named        */
#define RANGE_SHARE 0.5	 /* the same of a range                                         */
#define IDLE_SHARE 0.5	 /* of a stretch: from which it is the host's                   */
#define MUCH 0.25	 /* of the recording: from which what is not judged is told     */
#define TOLD_SHARE 0.01	 /* of the recording: from which a stretch is named             */
enum { TOLD = 4, RECUR = 2 };

struct part { /* phases of one name, or the time at an end of the run */
	const char *name; /* of the trace, and with is_ours of ours          */
	bool is_ours;
	int64_t ns;
	struct nsx_window longest; /* of them                                */
};
struct parts {
	struct part *v;
	size_t n;
	int64_t all_ns, left_ns; /* left: not judged */
	bool has_phases;
};

static int64_t overlap(const struct nsx_window *w, int64_t start_ns, int64_t end_ns)
{
	return NSX_MIN(end_ns, w->end_ns) - NSX_MAX(start_ns, w->start_ns);
}

struct spent { /* in calls of CUDA or of the operating system */
	struct nsx_groups keys; /* thread, name                              */
	int64_t *sums, most;
	nsx_str name; /* with the most                                       */
};

static int add_call(struct spent *s, uint32_t thread, nsx_str name, int64_t ns,
		    struct nsx_err *err)
{
	int64_t *sum;

	if (ns <= 0)
		return 0;
	sum = nsx_group_value(&s->keys, &s->sums, thread, name,
			      "calls outside of GPU work", err);
	if (!sum)
		return err->rc;
	nsx_add_to(sum, ns);
	if (*sum > s->most) {
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
		    add_call(s, thread, nsx_call_name(c, i),
			     overlap(w, nsx_call_start(c, i), nsx_call_end(c, i)),
			     err))
			return err->rc;
	return 0;
}

/* What the operating system does inside of CUDA's calls is theirs. */
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
		if (add_call(s, thread, t->osrt.name[i],
			     overlap(w, start_ns, t->osrt.end_ns[i]), err))
			return err->rc;
	}
	return 0;
}

/* The call that one thread spends most of a stretch in; NULL: none takes much of it. */
static int say_calls(const struct nsx_report *r, const struct nsx_window *w,
		     const char **ret, struct nsx_err *err)
{
	struct spent s = {.name = 0};
	int rc = 0;

	for (uint32_t h = 0; h < r->trace->nthreads && !rc; h++)
		rc = add_cuda(&s, r->trace, h, w, err) ?:
		     add_os(&s, r->trace, h, w, err);
	*ret = (double)s.most < CALLS_SHARE * (double)(w->end_ns - w->start_ns) ?
		NULL :
		nsx_arena_printf(r->arena, " (%s %s)",
				 nsx_text_api(r->arena, nsx_text(r->trace, s.name)),
				 nsx_text_ns(r->arena, (double)s.most));
	nsx_groups_done(&s.keys);
	free(s.sums);
	return rc;
}

/* The innermost range that covers most of a stretch: the shortest; NULL: none does. */
static const char *say_range(const struct nsx_report *r, const struct nsx_window *w)
{
	const struct nsx_nvtx *x = &r->trace->nvtx;
	double least_ns = RANGE_SHARE * (double)(w->end_ns - w->start_ns);
	size_t best = x->n;

	for (size_t i = 0; i < x->n; i++)
		if ((double)overlap(w, nsx_range_start(x, i), nsx_range_end(x, i)) >=
			    least_ns &&
		    (best == x->n || nsx_range_ns(x, i) <= nsx_range_ns(x, best)))
			best = i;
	return best == x->n ? NULL :
	       nsx_arena_printf(r->arena, " (in %s)",
				nsx_text_name(r->arena, nsx_text_range(
					r->arena, nsx_text(r->trace, x->name[best]))));
}

/* How long pages of unified memory move while kernels run; NULL: it is not much. */
static const char *say_pages(const struct nsx_report *r,
			     const struct nsx_window *w)
{
	struct nsx_span whole = {w->start_ns, w->end_ns};
	const struct nsx_spans in = {.v = &whole, .n = 1};
	int64_t ns = 0;

	for (size_t i = 0; i < r->found.n; i++)
		if (r->found.v[i].id == NSX_ID_unified_memory)
			ns = nsx_spans_overlap(&r->found.v[i].spans, &in);
	return (double)ns < CALLS_SHARE * (double)(w->end_ns - w->start_ns) ? NULL :
		nsx_arena_printf(r->arena, " (for %s, pages of unified memory move "
				 "under its kernels)",
				 nsx_text_ns(r->arena, (double)ns));
}

/* Launches whose work must have run and is not in the trace; NULL: it idles. */
static const char *say_lost(const struct nsx_report *r, const struct nsx_window *w)
{
	struct nsx_lost lost = nsx_lost_launches(r->trace, w);

	return nsx_is_idle_unknown(&lost) ?
		nsx_arena_printf(r->arena, " (the work of %s in it was lost)",
				 nsx_text_n(r->arena, lost.lost, "launch", "launches")) :
		NULL;
}

/* What takes much of it: without GPU work, what the host does. */
static int say_doing(const struct nsx_report *r, const struct nsx_window *w,
		     const char **ret, struct nsx_err *err)
{
	const struct nsx_facts *f = r->facts;
	const struct nsx_window *in = &r->trace->window;
	struct nsx_window cut = {NSX_MAX(w->start_ns, in->start_ns),
				 NSX_MIN(w->end_ns, in->end_ns)};
	struct nsx_partition part = {.ns = {[NSX_P_IDLE] = w->end_ns - w->start_ns}};

	if (cut.start_ns < cut.end_ns && f->limiting != NSX_NONE)
		nsx_partition(&f->device[f->limiting], cut.start_ns, cut.end_ns,
			      &part);
	if ((double)part.ns[NSX_P_IDLE] <
	    IDLE_SHARE * (double)(w->end_ns - w->start_ns)) {
		*ret = say_pages(r, w) ?: "";
		return 0;
	}
	if (say_calls(r, w, ret, err))
		return err->rc;
	*ret = *ret ?: say_range(r, w) ?: "";
	return 0;
}

int nsx_say_pause(const struct nsx_report *r, const char **ret, struct nsx_err *err)
{
	const struct nsx_facts *f = r->facts;
	struct nsx_window judged = nsx_judged(f), longest = {0, 0};
	const char *doing;

	*ret = NULL;
	for (size_t i = 0; i < f->nrun_phases; i++) {
		const struct nsx_window *w = &f->run_phases[i].window;

		if (f->run_phases[i].kind == NSX_PHASE_PAUSE &&
		    w->end_ns - w->start_ns > longest.end_ns - longest.start_ns)
			longest = *w;
	}
	if (longest.end_ns - longest.start_ns <
		    NSX_MAX(1, judged.end_ns - judged.start_ns) ||
	    say_lost(r, &longest))
		return 0;
	if (say_doing(r, &longest, &doing, err))
		return err->rc;
	*ret = nsx_arena_printf(r->arena, "but for %s no GPU works%s, which "
				"`--window phase:pause` judges",
				nsx_text_ns(r->arena, (double)(longest.end_ns -
							       longest.start_ns)),
				doing);
	return 0;
}

static void add_outside(const struct nsx_report *r, const char *name,
			int64_t start_ns, int64_t end_ns, struct parts *p)
{
	if (start_ns >= end_ns)
		return;
	p->all_ns += end_ns - start_ns;
	p->left_ns += end_ns - start_ns;
	if ((double)(end_ns - start_ns) >=
	    TOLD_SHARE * (double)(r->trace->last_ns - r->trace->first_ns))
		p->v[p->n++] = (struct part){name, true, end_ns - start_ns,
					     {start_ns, end_ns}};
}

static void add_phase(const struct nsx_trace *t, const struct nsx_run_phase *x,
		      struct parts *p)
{
	const char *name = nsx_run_phase_name(t, x);
	int64_t ns = x->window.end_ns - x->window.start_ns;
	size_t k = 0;

	p->all_ns += ns;
	if (x->judged)
		return;
	p->left_ns += ns;
	while (k < p->n && strcmp(p->v[k].name, name))
		k++; /* few: each has 1 % of the window or its work */
	if (k == p->n)
		p->v[p->n++] = (struct part){.name = name};
	p->v[k].ns += ns;
	if (ns > p->v[k].longest.end_ns - p->v[k].longest.start_ns)
		p->v[k].longest = x->window;
}

static int cmp_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return NSX_CMP(y->ns, x->ns) ?: strcmp(x->name, y->name);
}

static const char *say_all(struct nsx_arena *a, const struct parts *p)
{
	return nsx_arena_printf(a, " (of %s in all%s)",
				nsx_text_ns(a, (double)p->all_ns),
				p->has_phases ? "; `--window phase:NAME` judges one" :
						"");
}

const char *nsx_say_slow_unjudged(const struct nsx_report *r)
{
	const struct nsx_facts *f = r->facts;
	const struct nsx_iteration *first = NULL, *longest = NULL;
	double usual = 0, slow = 0;
	size_t nusual = 0, nslow = 0, nlate = 0; /* late: after what is judged */

	for (size_t i = 0; i < f->niterations; i++) {
		const struct nsx_iteration *x = &f->iterations[i];
		double ns = (double)(x->end_ns - x->start_ns);

		if (x->device != f->limiting || (first && x->process != first->process))
			continue;
		if (!first) {
			first = x; /* it may load code */
		} else if (!x->slow) {
			nusual++;
			usual += ns;
		} else if (x->start_ns < f->steady.window.start_ns ||
			   x->end_ns > f->steady.window.end_ns) {
			nslow++;
			nlate += x->start_ns >= f->steady.window.start_ns;
			slow += ns;
			if (!longest || ns > (double)(longest->end_ns - longest->start_ns))
				longest = x;
		}
	}
	if (nsx_find_finding(&r->found, NSX_ID_slow_iterations) || nslow < RECUR || !nlate || !nusual ||
	    slow - (double)nslow * usual / (double)nusual < TOLD_SHARE * (slow + usual))
		return NULL;
	return nsx_arena_printf(
		r->arena, "%s of %s instead of %s (`--window %s`)",
		nsx_text_n(r->arena, nslow, "iteration", "iterations"),
		nsx_text_ns(r->arena, slow / (double)nslow),
		nsx_text_ns(r->arena, usual / (double)nusual),
		nsx_text_window(r->arena, &(struct nsx_window){longest->start_ns,
							       longest->end_ns}));
}

int nsx_list_unjudged(const struct nsx_report *r, const char ***ret,
		      struct nsx_err *err)
{
	const struct nsx_trace *t = r->trace;
	const struct nsx_facts *f = r->facts;
	const char **list, *slow = nsx_say_slow_unjudged(r);
	struct parts p = {.v = nsx_arena_get(r->arena, (f->nrun_phases + 2) *
							     sizeof(*p.v))};
	size_t n;

	*ret = NULL;
	for (size_t i = 0; i < f->nrun_phases; i++)
		add_phase(t, &f->run_phases[i], &p);
	p.has_phases = p.n > 0;
	if (f->nrun_phases && !nsx_has_window(t)) {
		add_outside(r, "before the first GPU operation", t->first_ns,
			    f->run_phases[0].window.start_ns, &p);
		add_outside(r, "after the last GPU operation",
			    f->run_phases[f->nrun_phases - 1].window.end_ns,
			    t->last_ns, &p);
	}
	n = (double)p.left_ns < MUCH * (double)p.all_ns ? 0 : NSX_MIN(p.n, TOLD);
	if (!n && !slow)
		return 0;
	nsx_sort(p.v, p.n, sizeof(*p.v), cmp_parts);
	list = nsx_arena_get(r->arena, (n + 2) * sizeof(*list));
	for (size_t k = 0; k < n; k++) {
		const char *doing;

		doing = p.v[k].is_ours ? NULL : say_lost(r, &p.v[k].longest);
		if (!doing && say_doing(r, &p.v[k].longest, &doing, err))
			return err->rc;
		list[k] = nsx_arena_printf(
			r->arena, "%s %s%s%s", p.v[k].is_ours ? p.v[k].name :
				nsx_text_name(r->arena, p.v[k].name),
			nsx_text_ns(r->arena, (double)p.v[k].ns), doing,
			k + 1 < n || slow ? "" : say_all(r->arena, &p));
	}
	if (slow)
		list[n] = nsx_arena_printf(r->arena, "%s%s%s", n ? "among them " : "",
					   slow, n ? say_all(r->arena, &p) : "");
	*ret = list;
	return 0;
}
