/* departures.c - irregularities: iterations that take longer than the others, and kernels that from
 * some time on take longer than the same launches before.
 *
 * Slow iterations are explained by the ledger's row that grows most beyond its share in usual
 * iterations. If that row is host time, pauses between calls that exceed every pause of a usual
 * iteration are replayed at their usual length. For other rows the price is the excess itself,
 * because the trace does not show whether the work is necessary.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "detect/host.h"
#include "detect/verdict.h"
#include "detect/words.h"
#include "facts/replay/replay.h"

/* excess of slow iterations from which they are reported, as a share of the window */
#define LEAST_SLOW 0.01
#define LITTLE 0.25	/* share of that excess from which pauses are its reason */
enum {
	BOOKED = 64, /* most iterations of a kind, slow or usual, in a ledger */
	LEAST_PAUSE_NS = 100000, /* a shorter pause is no exception          */
	/* with fewer slow iterations there is no regular pattern; if more than 1/3 are slow, there
	 * are two kinds
	 */
	RECURS = 3,
};

struct slow {
	struct nsx_detect *d;
	const struct nsx_iteration *v; /* iterations of the limiting GPU     */
	bool meets; /* the GPU communicates, so pauses of other ranks delay it too */
	/* noutside: slow iterations outside the judged window */
	size_t n, njudged, nslow, noutside;
	const struct nsx_iteration *first; /* the first slow iteration that is judged */
	size_t ntimes; /* how often a slow iteration follows a usual one     */
	size_t last_slow, last_judged;
	size_t every;  /* period of slow iterations, counted in iterations; 0: irregular */
	double median_ns;
	int64_t excess_ns;
	struct nsx_account row; /* the row that departs most; ns: its excess */
	double class_ns; /* excess of the row's class                        */
	struct nsx_row_list pauses; /* calls that end a pause                */
	int64_t paused_ns;
	/* longest pause of a usual iteration: median over iterations, least over threads */
	int64_t usual_ns;
};

static int64_t wall_ns(const struct nsx_iteration *v)
{
	return v->end_ns - v->start_ns;
}

static bool is_judged(const struct slow *s, size_t i)
{
	return s->v[i].start_ns >= s->d->w.start_ns && s->v[i].end_ns <= s->d->w.end_ns;
}

/* Finds the iterations of the limiting GPU and their median. */
static int find_median(struct slow *s, struct nsx_err *err)
{
	const struct nsx_facts *f = s->d->facts;
	int64_t *ns;

	if (!nsx_new_array(ns, s->d->scratch, f->niterations, "iteration lengths", err))
		return err->rc;
	for (size_t i = 0; i < f->niterations; i++) {
		if (f->iterations[i].device != f->limiting)
			continue;
		if (!s->v)
			s->v = &f->iterations[i];
		if (f->iterations[i].process == s->v->process)
			s->n++;
	}
	for (size_t i = 0; i < s->n; i++)
		if (is_judged(s, i)) {
			ns[s->njudged++] = wall_ns(&s->v[i]);
			s->last_judged = i;
		}
	s->median_ns = s->njudged ? nsx_quantile(ns, s->njudged, 0.5) : 0;
	return 0;
}

static void count_slow(struct slow *s)
{
	for (size_t i = 1; i < s->n; i++) {
		if (!s->v[i].slow)
			continue;
		if (!is_judged(s, i)) {
			s->noutside++;
			continue;
		}
		if (!s->nslow)
			s->first = &s->v[i];
		else
			s->every = s->nslow == 1 || s->every == i - s->last_slow ?
					   i - s->last_slow : 0;
		s->last_slow = i;
		s->nslow++;
		s->ntimes += !s->v[i - 1].slow;
		nsx_add_to(&s->excess_ns, wall_ns(&s->v[i]) - nsx_to_i64(s->median_ns));
	}
}

/* The row ----------------------------------------------------------------------------*/

/* Builds a ledger of some of the judged iterations, either the slow or the usual ones. */
static int build_ledger(struct slow *s, bool slow, struct nsx_ledger *ret, size_t *ret_n,
		struct nsx_err *err)
{
	struct nsx_window w[BOOKED];
	size_t n = 0;

	for (size_t i = 1; i < s->n && n < BOOKED; i++)
		if (is_judged(s, i) && s->v[i].slow == slow)
			w[n++] = (struct nsx_window){s->v[i].start_ns, s->v[i].end_ns};
	*ret_n = NSX_MAX(n, 1);
	return nsx_ledger_build(s->d->facts, s->d->trace,
				&(struct nsx_booked){w, n, s->d->facts->limiting},
				s->d->scratch, ret, err);
}

static int find_row(struct slow *s, struct nsx_err *err)
{
	struct nsx_ledger slow, usual;
	size_t nslow, nusual;

	if (build_ledger(s, true, &slow, &nslow, err) ||
	    build_ledger(s, false, &usual, &nusual, err))
		return err->rc;
	s->row = nsx_ledger_beyond(&slow, &usual, (double)nslow / (double)nusual, &s->class_ns);
	s->class_ns *= (double)s->nslow / (double)nslow;
	s->row.ns = s->row.ns * (int64_t)s->nslow / (int64_t)nslow;
	return 0;
}

/* "host code in `step`", or the class if many rows share the excess. */
static const char *say_row(const struct slow *s)
{
	return 2.0 * (double)s->row.ns < s->class_ns ?
		       nsx_ledger_names[s->row.cls] :
		       nsx_account_words(s->d->facts, &s->row, s->d->found->arena);
}

/* Whether slow iterations wait for requests, which reach a server whenever they come. */
static bool waits_for_input(const struct slow *s)
{
	const char *wait = s->row.cls == NSX_L_IDLE && s->row.cause == NSX_CAUSE_OSRT ?
		nsx_account_place(s->d->facts, &s->row, s->d->scratch) : NULL;

	return wait && host_is_outside(s->d, host_waits_for(wait));
}

/* Pauses -----------------------------------------------------------------------------*/

struct walk { /* state while the pauses of a thread are walked */
	const struct nsx_calls *c;
	size_t at, end; /* range of calls                                    */
	int64_t last_ns;
	size_t call; /* the call that ends the pause                         */
};

static struct walk begin_walk(const struct slow *s, uint32_t thread)
{
	const struct nsx_thread *th = &s->d->trace->thread[thread];

	return (struct walk){&s->d->trace->calls, th->calls_at,
			     th->calls_at + th->ncalls, INT64_MAX, 0};
}

static bool next_pause(struct walk *w, struct nsx_span *ret)
{
	while (w->at < w->end) {
		int64_t last_ns = w->last_ns;

		w->call = w->at++;
		if (w->c->flags[w->call] & NSX_CALL_NESTED)
			continue;
		w->last_ns = nsx_call_end(w->c, w->call);
		*ret = (struct nsx_span){last_ns, nsx_call_start(w->c, w->call)};
		if (ret->start_ns < ret->end_ns)
			return true;
	}
	return false;
}

/* The median over usual iterations of the longest pause that begins in each of them. */
static int usual_pause(const struct slow *s, uint32_t thread, int64_t *ret, struct nsx_err *err)
{
	struct walk w = begin_walk(s, thread);
	struct nsx_span x;
	size_t k = 0, n = 0;
	int64_t *longest;

	if (!nsx_new_array(longest, s->d->scratch, s->n, "pauses", err))
		return err->rc;
	while (next_pause(&w, &x)) {
		while (k < s->n && s->v[k].end_ns <= x.start_ns)
			k++;
		if (k < s->n && x.start_ns >= s->v[k].start_ns)
			longest[k] = NSX_MAX(longest[k], x.end_ns - x.start_ns);
	}
	for (size_t i = 0; i < s->n; i++)
		if (is_judged(s, i) && !s->v[i].slow)
			longest[n++] = longest[i];
	*ret = n ? nsx_to_i64(nsx_quantile(longest, n, 0.5)) : 0;
	nsx_arena_drop(s->d->scratch, longest);
	return 0;
}

/* Whether a pause delays a slow iteration. The host runs ahead: the GPU still has work when a pause
 * begins, so the pause ends in that iteration or before it. *at: a cursor.
 */
static bool holds_up(const struct slow *s, size_t *at, const struct nsx_span *pause)
{
	while (*at < s->n && s->v[*at].end_ns <= pause->start_ns)
		++*at;
	for (size_t i = NSX_MAX(*at, (size_t)1);
	     i < s->n && (double)s->v[i].start_ns - s->median_ns < (double)pause->end_ns; i++)
		if (s->v[i].slow && is_judged(s, i))
			return true;
	return false;
}

static int find_pauses(struct slow *s, uint32_t thread, struct nsx_err *err)
{
	struct walk w = begin_walk(s, thread);
	struct nsx_span x;
	int64_t usual_ns = 0;
	size_t at = 0;

	if (usual_pause(s, thread, &usual_ns, err))
		return err->rc;
	while (next_pause(&w, &x)) {
		int64_t ns = x.end_ns - x.start_ns;

		if (ns < LEAST_PAUSE_NS || ns / 2 < usual_ns || !holds_up(s, &at, &x))
			continue;
		if (nsx_list_row(s->d, &s->pauses, w.call, err))
			return err->rc;
		nsx_add_to(&s->paused_ns, ns);
		s->usual_ns = s->pauses.n > 1 ? NSX_MIN(s->usual_ns, usual_ns) : usual_ns;
	}
	return 0;
}

/* Finds pauses of threads that launch, including those of other ranks if the ranks communicate. */
static int find_all_pauses(struct slow *s, struct nsx_err *err)
{
	const struct nsx_trace *t = s->d->trace;

	if (s->row.cls != NSX_L_IDLE && !(s->row.cls == NSX_L_COMM && s->meets))
		return 0;
	for (uint32_t i = 0; i < t->nthreads; i++)
		if (t->thread[i].launches &&
		    (s->v->process == NSX_NONE || s->meets || t->thread[i].process == s->v->process) &&
		    find_pauses(s, i, err))
			return err->rc;
	if ((double)s->paused_ns < LITTLE * (double)s->excess_ns)
		s->pauses.n = 0;
	return 0;
}

/* The finding ------------------------------------------------------------------------*/

/* Whether slow iterations are spread evenly over most of the window. */
static bool departures_is_even(const struct slow *s)
{
	return s->nslow >= RECURS && s->every > 1 && 4 * s->nslow * s->every >= 3 * s->njudged;
}

/* Whether all iterations from one on to the end are slow: no exception, but a lasting change. */
static bool lasts_to_end(const struct slow *s)
{
	return s->ntimes == 1 && s->last_slow == s->last_judged && s->nslow >= RECURS;
}

/* "one block in 20 is slow: host code in `save`" */
static const char *say_slow(const struct slow *s)
{
	struct nsx_findings *l = s->d->found;
	const char *what = say_row(s);

	return lasts_to_end(s) ?
		       nsx_tell(l, say_iterations_slow_from_on,
			       nsx_text_instant(l->arena, s->first->start_ns, 3), what) :
	       departures_is_even(s) ?
		       nsx_tell(l, say_one_slow, nsx_iteration_word(s->d->facts), s->every, what) :
		       nsx_tell(l, "%s: %s", nsx_text_n(l->arena, s->nslow, "slow iteration", NULL),
			       what);
}

static const char *departures_advise(struct slow *s)
{
	struct nsx_findings *l = s->d->found;
	const char *in = s->nslow == 1 ? "in it" : "in them";
	struct nsx_window first = {s->first->start_ns, s->first->end_ns};

	if (s->row.cls == NSX_L_IDLE || s->pauses.n)
		return nsx_tell(l, say_see_what_host_does, in);
	return s->row.cls == NSX_L_COMM ? say_look_at_when_ranks_arrive :
					  nsx_tell(l, say_compare_first_window_with,
						  nsx_text_window(l->arena, &first));
}

static void add_excess_evidence(struct slow *s, struct nsx_finding *f)
{
	struct nsx_findings *l = s->d->found;

	nsx_add_evidence(
		f, nsx_tell(l, say_median_iteration_takes, nsx_text_ns(l->arena, s->median_ns),
			   s->nslow == 1 ? "this one takes" : "these take",
			   nsx_tell_ns(l, s->excess_ns),
			   s->row.ns >= s->excess_ns ? "all" : nsx_tell_ns(l, s->row.ns),
			   nsx_account_words(s->d->facts, &s->row, l->arena)));
	if (s->pauses.n)
		nsx_add_evidence(f, nsx_tell(l, say_launching_threads_pause,
					    s->pauses.n == 1 ? "once" :
							       nsx_text_n(l->arena, s->pauses.n,
								       "time", "times"),
					    nsx_tell_ns(l, s->paused_ns)));
	if (s->ntimes == 1 && !lasts_to_end(s))
		nsx_add_evidence(f, s->noutside ? nsx_tell(l, say_happens_once_judged_window,
							  nsx_text_n(l->arena, s->noutside,
								  say_iteration_slow_too,
								  say_iterations_slow_too)) :
						  say_happens_once_whether_comes);
}

static void propose_slow(struct slow *s)
{
	struct nsx_findings *l = s->d->found;
	struct nsx_finding f = {
		.id = NSX_ID_slow_iterations, .device = s->d->facts->limiting,
		.confidence = NSX_CONF_MEDIUM, .guess_ns = (double)s->excess_ns,
		.title = say_slow(s), .recommendation = {departures_advise(s)},
		.proof = {{.csv = "iterations", .column = "wall_ms",
			   .at = {{"slow", nsx_bool(true)}}}}};

	add_excess_evidence(s, &f);
	nsx_plan_rows(s->d, &f.remedy, &s->pauses, (struct nsx_change){
		.verb = NSX_FASTER_HOST, .amount = INFINITY, .least_ns = s->usual_ns});
	nsx_plan_rows(s->d, &f.remedy, &s->pauses, (struct nsx_change){
		.verb = NSX_NO_OS_WAIT, .name = ".", .is_pattern = true});
	f.is_rule = f.remedy.n; /* the cause is known                        */
	/* the replayed part of the window may have more than its share of slow iterations */
	if (nsx_model_closure(s->d->facts->model)->is_part)
		f.most_ns = (double)s->excess_ns;
	if (s->ntimes == 1 && !lasts_to_end(s)) {
		f.severity = NSX_SEV_LOW;
		f.alarm = NSX_ALARM_SET;
	}
	nsx_found(l, &f);
}

/* Whether no iteration is slow. If so, reports that under "checked and fine". */
static bool are_fine(struct slow *s)
{
	struct nsx_findings *l = s->d->found;
	const char *median = nsx_text_ns(l->arena, s->median_ns);

	if (!s->nslow)
		nsx_fine(l, say_iterations_even_judged, median);
	else if (s->ntimes >= RECURS && s->nslow * RECURS > s->njudged)
		nsx_fine(l, say_iterations_above_1_25, s->nslow, s->njudged, median);
	else
		return (double)s->excess_ns <
		       LEAST_SLOW * (double)(s->d->w.end_ns - s->d->w.start_ns);
	return true;
}

static int find_slow(struct nsx_detect *d, struct nsx_err *err)
{
	struct slow s = {.d = d, .meets = d->facts->device[d->facts->limiting].comm.n > 0};
	int rc;

	if (find_median(&s, err))
		return err->rc;
	count_slow(&s);
	if (!s.n || are_fine(&s))
		return 0;
	rc = find_row(&s, err) ?: find_all_pauses(&s, err);
	/* copies have their own findings */
	if (!rc && s.row.cls != NSX_L_COPY && !waits_for_input(&s))
		propose_slow(&s);
	return rc;
}

/* Kernels ----------------------------------------------------------------------------*/

/* Kernels that slow down. The judged window is cut into equal parts, and launches of one kernel
 * with one grid are compared between the first and the last few parts. A single kernel may become
 * slower because its work grows under the same grid: a frontier, a list of particles, a cache of
 * keys. Lower clocks slow down nearly all kernels alike.
 */
enum { PARTS = 24, FEW = 4, LEAST_KERNELS = 3, LEAST_LAUNCHES = 2 /* at each end */ };
#define SLOWER 1.05	/* least ratio of the last parts to the first        */
#define ALIKE 0.5	/* share of the common slow-down that a kernel must reach */
#define NEARLY_ALL 0.8	/* share of the kernel time in kernels that must reach it */
#define ALL 0.99	/* that share of kernel time if the ratio is FAR     */
#define FAR 1.5		/* from this ratio on, all kernels are slower, even those bound by memory */

struct drift {
	struct nsx_detect *d;
	const struct nsx_device *dev;
	struct pace { /* launches of one shape                               */
		size_t n, nearly, nlate;
		double ns, early_ns, late_ns;
	} *v;
	double part[PARTS]; /* time relative to the shape's mean; 0: no kernels in that part */
	/* last of the first few parts, and first of the last few parts, that have kernels */
	unsigned first, last;
	unsigned from;	    /* from this part on every part is slower        */
};

static bool is_comparable(const struct drift *x, size_t op)
{
	const struct nsx_ops *o = &x->d->trace->ops;

	return o->kind[op] == NSX_OP_KERNEL && o->cls[op] == NSX_C_COMPUTE &&
	       nsx_is_judged(x->d, nsx_op_start(o, op));
}

static unsigned part_of_op(const struct drift *x, size_t op)
{
	const struct nsx_window *w = &x->d->w;
	int64_t at_ns = nsx_op_start(&x->d->trace->ops, op) - w->start_ns;

	return (unsigned)((double)at_ns / (double)(w->end_ns - w->start_ns) * PARTS);
}

/* Fills part, first and last. Returns false if too few parts have kernels. */
static bool departures_find_parts(struct drift *x)
{
	const struct nsx_ops *o = &x->d->trace->ops;
	double spent[PARTS] = {0}, usual[PARTS] = {0};
	unsigned told = 0;

	for (size_t i = x->dev->ops_at; i < x->dev->ops_at + x->dev->nops; i++)
		if (is_comparable(x, i)) {
			struct pace *v = &x->v[nsx_op_detail(o, i)];

			v->n++;
			v->ns += (double)nsx_op_ns(o, i);
		}
	for (size_t i = x->dev->ops_at; i < x->dev->ops_at + x->dev->nops; i++)
		if (is_comparable(x, i)) {
			const struct pace *v = &x->v[nsx_op_detail(o, i)];

			spent[part_of_op(x, i)] += (double)nsx_op_ns(o, i);
			usual[part_of_op(x, i)] += v->ns / (double)v->n;
		}
	for (unsigned k = 0, n = 0; k < PARTS; k++) {
		x->part[k] = usual[k] > 0 ? spent[k] / usual[k] : 0;
		told += usual[k] > 0;
		if (usual[k] > 0 && n++ < FEW)
			x->first = k;
	}
	for (unsigned k = PARTS, n = 0; k-- > 0;)
		if (usual[k] > 0 && n++ < FEW)
			x->last = k;
	return 2 * told > PARTS && x->first < x->last;
}

/* Returns the ratio of the last parts to the first, or 0 unless all parts from some part on are
 * slower.
 */
static double find_from(struct drift *x)
{
	double early_ns = 0, late_ns = 0, low = 0, high = INFINITY, sum = 0;
	const struct nsx_ops *o = &x->d->trace->ops;

	for (size_t i = x->dev->ops_at; i < x->dev->ops_at + x->dev->nops; i++) {
		struct pace *v = &x->v[nsx_op_detail(o, i)];
		double ns = (double)nsx_op_ns(o, i);

		if (!is_comparable(x, i))
			continue;
		if (part_of_op(x, i) <= x->first) {
			v->nearly++;
			v->early_ns += ns;
		} else if (part_of_op(x, i) >= x->last) {
			v->nlate++;
			v->late_ns += ns;
		}
	}
	for (uint32_t s = 0; s < x->d->trace->nshapes; s++) {
		const struct pace *v = &x->v[s];

		if (v->nearly < LEAST_LAUNCHES || v->nlate < LEAST_LAUNCHES)
			continue;
		early_ns += v->early_ns / (double)v->nearly * (double)v->nlate;
		late_ns += v->late_ns;
	}
	for (unsigned k = 0; k < PARTS; k++) {
		low = k <= x->first ? NSX_MAX(low, x->part[k]) : low;
		sum += k <= x->first ? x->part[k] : 0;
		high = k >= x->last && x->part[k] > 0 ? NSX_MIN(high, x->part[k]) : high;
	}
	x->from = x->last;
	while (x->from > 1 && !(x->part[x->from - 1] > 0 && x->part[x->from - 1] * FEW <= sum))
		x->from--;
	return low < high && late_ns >= SLOWER * early_ns && early_ns > 0 ? late_ns / early_ns : 0;
}

/* Whether nearly all kernels are slower by at least half of the common slow-down. */
static bool are_alike(const struct drift *x, double times)
{
	const struct nsx_trace *t = x->d->trace;
	nsx_str name[LEAST_KERNELS];
	double all_ns = 0, slower_ns = 0;
	size_t n = 0, k;

	for (uint32_t s = 0; s < t->nshapes; s++) {
		const struct pace *v = &x->v[s];

		all_ns += v->late_ns;
		if (v->nearly < LEAST_LAUNCHES || v->nlate < LEAST_LAUNCHES ||
		    v->late_ns / (double)v->nlate <
			    (1 + ALIKE * (times - 1)) * v->early_ns / (double)v->nearly)
			continue;
		slower_ns += v->late_ns;
		for (k = 0; k < n && name[k] != t->shape_name[s];)
			k++;
		if (k == n && n < LEAST_KERNELS)
			name[n++] = t->shape_name[s];
	}
	return n == LEAST_KERNELS && slower_ns >= (times < FAR ? NEARLY_ALL : ALL) * all_ns;
}

static void propose_clocks(struct drift *x, double times)
{
	struct nsx_findings *l = x->d->found;
	const struct nsx_window *w = &x->d->w;
	struct nsx_window when = {
		w->start_ns + (w->end_ns - w->start_ns) / PARTS * x->from, w->end_ns};
	struct nsx_finding f = {.id = NSX_ID_falling_clocks,
		.device = x->d->facts->limiting,
		.title = nsx_tell(l, say_same_kernels_take_times_as, times),
		.confidence = NSX_CONF_MEDIUM,
		.evidence = {nsx_tell(l, say_from_on_launches_one,
				     nsx_text_instant(l->arena, when.start_ns, 3)),
			say_more_work_all_would_look},
		.recommendation = {say_look_at_heat_power_nvidia, say_comparison_runs_lock},
		.remedy = nsx_plan_of(
			x->d, (struct nsx_change){
				      .verb = NSX_HOLD_CLOCK, .op = NSX_ON_KERNELS, .when = when})};

	nsx_found(l, &f);
}

static int departures_find_drift(struct nsx_detect *d, struct nsx_err *err)
{
	struct drift x = {.d = d, .dev = &d->trace->device[d->facts->limiting]};
	double times;

	if (!nsx_new_array(x.v, d->scratch, d->trace->nshapes, "kernels", err))
		return err->rc;
	/* On a shared GPU another process's kernels slow these down too. */
	if (nsx_is_shared(d->trace, d->facts->limiting) || !departures_find_parts(&x))
		return 0;
	times = find_from(&x);
	if (times > 0 && are_alike(&x, times))
		propose_clocks(&x, times);
	return 0;
}

int nsx_detect_departures(struct nsx_detect *d, struct nsx_err *err)
{
	if (d->facts->limiting == NSX_NONE)
		return 0;
	return find_slow(d, err) ?: departures_find_drift(d, err);
}
