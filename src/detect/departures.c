/* departures.c - irregularities: iterations that take longer than the others, and kernels that from
 * some time on take longer than the same launches before.
 *
 * Slow iterations are explained by the ledger's row that grows most beyond its share in usual
 * iterations. If that row is host time, pauses between calls that exceed every pause of a usual
 * iteration are replayed at their usual length. Operations that usual iterations do not have may
 * be necessary, so they have no price. For other rows the price is the excess itself.
 */
#include <math.h>
#include "detect/detect.h"
#include "detect/verdict.h"
#include "facts/paces.h"
#include "facts/replay/replay.h"

/* excess of slow iterations from which they are reported, as a share of the window */
#define LEAST_SLOW 0.01
#define SLOWER 1.05	/* a GPU is slow if its work takes this many times as long as on others */
#define LITTLE 0.25	/* least share of slow iterations' excess of which pauses are the reason */
enum {
	BOOKED = 64, /* most iterations of a kind, slow or usual, in a ledger */
	LEAST_PAUSE_NS = 100000, /* a shorter pause is not counted as unusual */
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
	double class_ns; /* excess of the row's class, or of its cause       */
	bool does_more;	 /* the row departs by operations that usual iterations do not have */
	bool prefills;	 /* prefills of an engine are slow, and its usual iterations decode */
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
	const struct nsx_loop *x = nsx_pacing_loop(s->d->facts);
	int64_t *ns;

	s->v = x ? x->v : NULL;
	s->n = x ? x->n : 0;
	if (!nsx_new_array(ns, s->d->scratch, s->n, "iteration lengths", err))
		return err->rc;
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

/* Whether an iteration stands beside one of the other kind. */
static bool is_at_change(const struct slow *s, size_t i)
{
	return (i && is_judged(s, i - 1) && s->v[i - 1].slow != s->v[i].slow) ||
	       (i + 1 < s->n && is_judged(s, i + 1) && s->v[i + 1].slow != s->v[i].slow);
}

/* Builds a ledger of some of the judged iterations, either slow ones or usual ones beside them: the
 * work of iterations may also grow or shrink along the loop.
 */
static int build_ledger(struct slow *s, bool slow, struct nsx_ledger *ret, size_t *ret_n,
		struct nsx_err *err)
{
	struct nsx_window w[BOOKED];
	size_t n = 0;

	for (size_t i = 1; i < s->n && n < BOOKED; i++)
		if (is_judged(s, i) && s->v[i].slow == slow && is_at_change(s, i))
			w[n++] = (struct nsx_window){s->v[i].start_ns, s->v[i].end_ns};
	*ret_n = NSX_MAX(n, 1);
	return nsx_ledger_build(s->d->facts, s->d->trace,
				&(struct nsx_booked){w, n, s->d->facts->limiting},
				s->d->scratch, ret, err);
}

static int find_row(struct slow *s, struct nsx_err *err)
{
	struct nsx_ledger slow, usual;
	struct nsx_ledger_excess most;
	size_t nslow, nusual;

	if (build_ledger(s, true, &slow, &nslow, err) ||
	    build_ledger(s, false, &usual, &nusual, err))
		return err->rc;
	most = nsx_ledger_beyond(&slow, &usual, (double)nslow / (double)nusual);
	s->row = most.row;
	s->class_ns = most.class_ns * (double)s->nslow / (double)nslow;
	s->row.ns = s->row.ns * (int64_t)s->nslow / (int64_t)nslow;
	s->does_more = (most.row.cls == NSX_L_COMPUTE || most.row.cls == NSX_L_COPY) &&
		       2 * most.more_ns >= (double)most.row.ns;
	return 0;
}

/* Finds out whether nearly all slow iterations and hardly any usual one begin a step that prefills.
 * The prefills are necessary, and shorter ones would delay the requests that decode by less.
 */
static void find_prefills(struct slow *s)
{
	const struct nsx_engine_steps *steps = &s->d->measured->steps;
	size_t n[2] = {0}, all[2] = {0}, i = 0;

	for (size_t k = 0; k < steps->n; k++) {
		const struct nsx_engine_step *step = &steps->v[k];

		if (step->device != s->d->facts->limiting)
			continue;
		while (i < s->n && s->v[i].end_ns <= step->gpu_start_ns)
			i++;
		if (i == s->n || step->gpu_start_ns < s->v[i].start_ns || !is_judged(s, i))
			continue;
		all[s->v[i].slow]++;
		n[s->v[i].slow] += step->name.kind == NSX_STEP_PREFILL ||
				   step->name.kind == NSX_STEP_MIXED;
	}
	s->prefills = (double)n[true] > (1 - LITTLE) * (double)all[true] &&
		      (double)n[false] < LITTLE * (double)all[false];
}

/* "host code in `step`", or the class or cause if many rows share the excess. */
static const char *say_row(const struct slow *s)
{
	struct nsx_account row = s->row;

	if (s->prefills)
		return "prefills";
	if (2.0 * (double)row.ns < s->class_ns) {
		if (row.cls != NSX_L_IDLE)
			return nsx_ledger_names[row.cls];
		row.place = 0;
	}
	return nsx_account_words(s->d->facts, &row, s->d->found->arena);
}

/* Whether slow iterations wait for requests, which reach a server whenever they come. */
static bool waits_for_input(const struct slow *s)
{
	const char *wait = s->row.cls == NSX_L_IDLE && s->row.cause == NSX_CAUSE_OSRT ?
		nsx_account_place(s->d->facts, &s->row, s->d->scratch) : NULL;

	return wait && host_is_outside(s->d, nsx_awaited_of(wait));
}

/* Pauses -----------------------------------------------------------------------------*/

/* Time of a thread from its last outermost call to this one; 0: there is none. */
static int64_t departures_pause(const struct nsx_calls *c, const struct nsx_thread *th, size_t call)
{
	size_t i = call;

	while (i > th->calls_at && c->flags[i - 1] & NSX_CALL_NESTED)
		i--;
	return c->flags[call] & NSX_CALL_NESTED || i == th->calls_at ? 0 :
	       nsx_call_start(c, call) - nsx_call_end(c, i - 1);
}

/* Whether a pause delays a slow iteration. The host runs ahead: the GPU still has work when a pause
 * begins, so the pause ends in that iteration or before it. at: the iteration in which it begins.
 */
static bool holds_up(const struct slow *s, size_t at, int64_t end_ns)
{
	for (size_t i = NSX_MAX(at, (size_t)1);
	     i < s->n && (double)s->v[i].start_ns - s->median_ns < (double)end_ns; i++)
		if (s->v[i].slow && is_judged(s, i))
			return true;
	return false;
}

/* Finds the pauses of a thread that hold up slow iterations and exceed the median, over usual
 * iterations, of the longest pause that begins in each of them.
 */
static int find_pauses(struct slow *s, const struct nsx_thread *th, struct nsx_err *err)
{
	const struct nsx_calls *c = &s->d->trace->calls;
	struct nsx_row_list long_ones = {0};
	int64_t *longest, usual_ns;
	size_t k = 0, n = 0;

	if (!nsx_new_array(longest, s->d->scratch, s->n, "pauses", err))
		return err->rc;
	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
		int64_t ns = departures_pause(c, th, i), end_ns = nsx_call_start(c, i);

		while (ns > 0 && k < s->n && s->v[k].end_ns <= end_ns - ns)
			k++;
		if (ns > 0 && k < s->n && end_ns - ns >= s->v[k].start_ns)
			longest[k] = NSX_MAX(longest[k], ns);
		if (ns >= LEAST_PAUSE_NS && holds_up(s, k, end_ns) &&
		    nsx_list_row(s->d, &long_ones, i, err))
			return err->rc;
	}
	for (size_t i = 0; i < s->n; i++)
		if (is_judged(s, i) && !s->v[i].slow)
			longest[n++] = longest[i];
	usual_ns = n ? nsx_to_i64(nsx_quantile(longest, n, 0.5)) : 0;
	for (size_t i = 0; i < long_ones.n; i++) {
		int64_t ns = departures_pause(c, th, long_ones.v[i]);

		if (ns / 2 < usual_ns)
			continue;
		if (nsx_list_row(s->d, &s->pauses, long_ones.v[i], err))
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
		    (s->v->process == NSX_NONE || s->meets ||
		     t->thread[i].process == s->v->process) &&
		    find_pauses(s, &t->thread[i], err))
			return err->rc;
	if ((double)s->paused_ns < LITTLE * (double)s->excess_ns)
		s->pauses.n = 0;
	return 0;
}

/* The finding ------------------------------------------------------------------------*/

/* Whether all iterations from one on to the end are slow: no exception, but a lasting change. */
static bool lasts_to_end(const struct slow *s)
{
	return s->ntimes == 1 && s->last_slow == s->last_judged && s->nslow >= RECURS;
}

/* Says "one block in 20 is slow, above all because of host code in `save`". */
static const char *say_slow(const struct slow *s)
{
	struct nsx_findings *l = s->d->found;
	const char *what = say_row(s), *one = s->does_more ? say_does_more_work : say_is_slow;
	const char *many = s->does_more ? say_do_more_work : say_are_slow;
	/* Slow iterations are spread evenly over most of the window. */
	bool are_even = s->nslow >= RECURS && s->every > 1 &&
			4 * s->nslow * s->every >= 3 * s->njudged;

	return lasts_to_end(s) ?
		       nsx_tell(l, say_iterations_from_on,
			       nsx_text_instant(l->arena, s->first->start_ns, 3), many, what) :
	       are_even ?
		       nsx_tell(l, say_one_in, nsx_iteration_word(s->d->facts), s->every, one, what) :
		       nsx_tell(l, "%s %s %s", nsx_text_n(l->arena, s->nslow, "iteration", "iterations"),
				s->nslow == 1 ? one : many, what);
}

static const char *departures_advise(struct slow *s)
{
	struct nsx_findings *l = s->d->found;
	const char *in = s->nslow == 1 ? "in it" : "in them";
	struct nsx_window first = {s->first->start_ns, s->first->end_ns};

	if (s->prefills)
		return say_prefill_in_chunks;
	if (s->row.cls == NSX_L_IDLE || s->pauses.n)
		return nsx_tell(l, say_see_what_host_does, in);
	return s->row.cls == NSX_L_COMM ? say_look_at_when_ranks_arrive :
					  nsx_tell(l, s->does_more ? say_do_less_often :
								     say_compare_first_window_with,
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
		.confidence = NSX_CONF_MEDIUM, .guess_ns = s->does_more || s->prefills ? 0 : (double)s->excess_ns,
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
	if (s->ntimes == 1 && !lasts_to_end(s))
		f.alarm = NSX_ALARM_MEDIUM;
	nsx_found(l, &f);
}

/* Whether the slow iterations stand together at the beginning of a loop whose work shrinks. */
static bool is_work_shrinking(const struct slow *s)
{
	size_t from = s->nslow ? (size_t)(s->first - s->v) : 0;

	return s->nslow >= RECURS && !is_judged(s, from - 1) &&
	       s->last_slow - from < 2 * s->nslow && s->last_slow < s->last_judged;
}

/* Whether slow iterations need no finding: there are none, or so many that the loop has two kinds
 * of iterations (both are reported under "checked and fine"), or they cost little.
 */
static bool are_fine(struct slow *s)
{
	struct nsx_findings *l = s->d->found;
	const char *median = nsx_text_ns(l->arena, s->median_ns);

	if (!s->nslow)
		nsx_fine(l, say_iterations_even_judged, median);
	else if (is_work_shrinking(s))
		nsx_fine(l, say_iterations_above_1_25, s->nslow, s->njudged, median,
			 "the work shrinks from one to the next");
	else if (s->ntimes >= RECURS && s->nslow * RECURS > s->njudged)
		nsx_fine(l, say_iterations_above_1_25, s->nslow, s->njudged, median,
			 "they are of two kinds");
	else
		return (double)s->excess_ns <
		       LEAST_SLOW * s->d->length_ns;
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
	find_prefills(&s);
	rc = find_row(&s, err) ?: find_all_pauses(&s, err);
	if (!rc && !waits_for_input(&s))
		propose_slow(&s);
	return rc;
}

/* Launches ---------------------------------------------------------------------------*/

static int find_drift(struct nsx_detect *d, struct nsx_err *err)
{
	struct nsx_findings *l = d->found;
	struct nsx_window when = d->w;
	struct nsx_drift x;
	const char *from;

	/* On a shared GPU another process's kernels slow these down too. */
	if (nsx_is_shared(d->trace, d->facts->limiting))
		return 0;
	if (nsx_find_drift(d->trace, d->w, d->facts->limiting, d->scratch, &x, err))
		return err->rc;
	if (!(x.times > 0))
		return 0;
	when.start_ns = x.from_ns;
	from = nsx_text_instant(l->arena, x.from_ns, 3);
	nsx_found(l, &(struct nsx_finding){.id = NSX_ID_falling_clocks,
		.device = d->facts->limiting, .is_assumed = x.is_few,
		.weight = x.all_ns / d->length_ns,
		.confidence = x.is_few ? NSX_CONF_LOW : NSX_CONF_MEDIUM,
		.title = x.is_few ? nsx_tell(l, say_equal_launches_slow_down, from, x.times) :
				    nsx_tell(l, say_same_kernels_take_times_as, x.times),
		.evidence = {x.is_few ?
			nsx_tell(l, say_launches_of_slow_down, nsx_tell_name(l, nsx_kernel_label(
				&d->facts->kernels, x.shape_name))) :
			nsx_tell(l, say_from_on_launches_one, from),
			x.is_few ? say_clocks_or_work : say_more_work_all_would_look},
		.recommendation = {x.is_few ? say_see_what_changes_then :
				   say_look_at_heat_power_nvidia, say_comparison_runs_lock},
		.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_HOLD_CLOCK, .op = NSX_ON_KERNELS, .when = when})});
	return 0;
}

/* Whether a proved late rank explains what GPUs do more than others. */
static bool has_straggler(const struct nsx_detect *d)
{
	for (const struct nsx_arrivals *x = d->measured->arrivals; x; x = x->next)
		if (x->is_proved)
			return true;
	return false;
}

/* Proposes the GPU that loses most because it takes longer than others for the same launches. */
static int find_slow_gpu(struct nsx_detect *d, struct nsx_err *err)
{
	struct nsx_rival most = {.most = NSX_NONE}, r;
	struct nsx_findings *l = d->found;
	uint32_t slow = 0;
	struct nsx_paces p;
	const char *gpu;
	bool alike;

	if (d->trace->ndevices < 2)
		return 0;
	if (nsx_find_paces(d->trace, d->w, NSX_NONE, d->scratch, &p, err))
		return err->rc;
	for (uint32_t i = 0; i < d->trace->ndevices; i++) {
		if (nsx_compare_paces(d->trace, &p, i, d->scratch, &r, err))
			return err->rc;
		if (r.own_ns < SLOWER * r.their_ns || nsx_is_shared(d->trace, i) ||
		    r.own_ns - r.their_ns <= most.own_ns - most.their_ns)
			continue;
		most = r;
		slow = i;
	}
	if (most.own_ns - most.their_ns < LEAST_SLOW * d->length_ns || has_straggler(d))
		return 0;
	gpu = nsx_gpu_label(d->trace, slow);
	alike = most.nslower >= RECURS;
	nsx_found(l, &(struct nsx_finding){.id = NSX_ID_slow_gpu,
		.device = slow, .confidence = NSX_CONF_LOW, .is_assumed = true,
		.guess_ns = most.own_ns - most.their_ns, .weight = most.own_ns / d->length_ns,
		.title = nsx_tell(l, say_equal_launches_on_gpu, most.own_ns / most.their_ns, gpu),
		.evidence = {nsx_tell(l, say_kinds_of_launch_first, most.nslower < 2 ? "" :
				nsx_tell(l, "%zu kinds of launch, first ", most.nslower),
				nsx_tell_name(l, nsx_kernel_label(&d->facts->kernels,
					d->trace->shape_name[most.most])),
				nsx_text_ns(l->arena, most.own_ns), gpu,
				nsx_text_ns(l->arena, most.their_ns)),
			say_whether_more_to_do_there},
		/* a slow GPU is slow in all kernels */
		.recommendation = {alike ? say_advice_on_slow : say_advice_on_work,
				   alike ? say_advice_on_work : say_advice_on_slow},
		.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_FASTER, .op = NSX_ON_KERNELS, .by = NSX_BY_DEVICE,
			.device = slow, .amount = most.own_ns / most.their_ns,
			.name = most.nslower > 1 ? NULL :
				nsx_text(d->trace, d->trace->shape_name[most.most])})});
	return 0;
}

int nsx_detect_departures(struct nsx_detect *d, struct nsx_err *err)
{
	if (d->facts->limiting == NSX_NONE)
		return 0;
	return find_slow(d, err) ?: find_drift(d, err) ?: find_slow_gpu(d, err);
}
