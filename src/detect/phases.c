/* phases.c - phases of the run that are not judged but keep GPUs waiting for much of the whole
 * window: a second solve, the loading of a model, the copies at the end.
 */
#include "detect/detect.h"
#include "detect/verdict.h"
#include "detect/words.h"
#include "report/words.h"

/* share of the whole window from which the first row of a named phase is reported */
#define TOLD_SHARE 0.05
/* share of the window from which a phase has medium severity; also the least share of a run's
 * unnamed end
 */
#define LARGE_SHARE 0.1
#define PAUSE_SHARE 0.2	 /* least share of a pause, which is paid once */
/* share of the window from which a phase has high severity, because the run hangs there */
#define MOST_SHARE 0.5
#define MUCH 0.5 /* share of the lost time for which a GPU named as idle must have no work */

/* "GPU 1 has no work from 1.020s to 6.020s": the longest such time of a GPU in the phase, if it is
 * MUCH of the lost time; NULL: all GPUs work throughout.
 */
static const char *say_silent(const struct nsx_detect *d, const struct nsx_window *w,
			      double lost_ns)
{
	const struct nsx_trace *t = d->trace;
	struct nsx_window most = {0, 0};
	uint32_t silent = 0;

	for (uint32_t i = 0; i < t->ndevices; i++) {
		const struct nsx_device *dev = &t->device[i];
		int64_t busy_ns = w->start_ns;

		for (size_t k = 0; dev->nops && k <= dev->nops; k++) {
			size_t op = dev->ops_at + k;
			int64_t next_ns = k == dev->nops ? w->end_ns :
				NSX_MIN(nsx_op_start(&t->ops, op), w->end_ns);

			if (next_ns - busy_ns > most.end_ns - most.start_ns) {
				most = (struct nsx_window){busy_ns, next_ns};
				silent = i;
			}
			if (k < dev->nops)
				busy_ns = NSX_MAX(busy_ns, nsx_op_end(&t->ops, op));
		}
	}
	return (double)(most.end_ns - most.start_ns) < MUCH * lost_ns ?
		       NULL :
		       nsx_tell(d->found, say_gpu_has_no_work_from, nsx_gpu_label(t, silent),
			       nsx_text_instant(d->found->arena, most.start_ns, 4),
			       nsx_text_instant(d->found->arena, most.end_ns, 4));
}

static bool is_pause(const struct nsx_run_phase *x)
{
	return !x->range && x->kind == NSX_PHASE_PAUSE;
}

static void phases_propose(struct nsx_detect *d, const struct nsx_run_phase *x,
			   const struct nsx_ledger *l, double lost_ns, double whole_ns)
{
	int64_t phase_ns = x->window.end_ns - x->window.start_ns;
	double share = lost_ns / whole_ns;
	struct nsx_findings *found = d->found;
	const char *name = nsx_tell_name(found, x->name);
	static const unsigned names[NSX_NVERDICTS] = { /* what is then not called fine */
		[NSX_V_COPY] = 1u << NSX_CAT_MEMORY, [NSX_V_LAUNCH] = 1u << NSX_CAT_LAUNCH,
		[NSX_V_HOST] = 1u << NSX_CAT_HOST, [NSX_V_SYNC] = 1u << NSX_CAT_SYNC,
		[NSX_V_COMMUNICATION] = 1u << NSX_CAT_COMMUNICATION};
	struct nsx_judgement j;

	nsx_judge_ledger(l, &j);
	if (j.verdict == NSX_V_COMPUTE)
		return;
	struct nsx_finding f = {.id = NSX_ID_other_phase,
		.subject = x->name, .device = NSX_NONE, .confidence = NSX_CONF_MEDIUM,
		.alarm = NSX_ALARM_SET, .also = names[j.verdict],
		.most_ns = l->v[0].cls == NSX_L_IDLE ? lost_ns : 0, /* copies may be needed */
		/* Code is loaded once, however long the program runs. */
		.severity = l->v[0].cause == NSX_CAUSE_MODULE ? NSX_SEV_LOW :
			    share >= MOST_SHARE	 ? NSX_SEV_HIGH :
			    share >= LARGE_SHARE ? NSX_SEV_MEDIUM :
						   NSX_SEV_LOW,
		.title = is_pause(x) ?
				 nsx_tell(found, say_no_gpu_works_phase_which,
					 nsx_tell_ns(found, phase_ns), name,
					 nsx_account_words(d->facts, &l->v[0], found->arena)) :
				 nsx_tell(found, say_phase_which_not_judged, name,
					 nsx_verdict_words[j.verdict],
					 nsx_say_account(d->facts, l, &l->v[0], found->arena)),
		.evidence =
			{nsx_tell(found, "%s%s of %s",
				 is_pause(x) ? "" :
					       nsx_tell(found, say_go_there,
						       nsx_text_ns(found->arena, lost_ns),
						       nsx_tell_ns(found, phase_ns)),
				 nsx_text_share(found->arena, lost_ns, whole_ns),
				 nsx_has_window(d->trace) ? "the window" :
							    say_time_between_first_last),
				l->v[0].cls == NSX_L_COMM ? say_silent(d, &x->window, lost_ns) :
							    NULL},
		.recommendation = {nsx_tell(found, say_judge_by_itself_window, x->name)},
		.proof = {{.csv = "run_phases",
			.column = "wall_ms",
			.at = {{"name", nsx_string(x->name)}}}}};

	nsx_found(found, &f);
}

/* Whether the row is also the first in the judged window, which then has its findings. */
static bool phases_is_same(const struct nsx_account *x, const struct nsx_ledger *judged)
{
	const struct nsx_account *y = judged->v;

	return judged->n && x->cls == y->cls && x->cause == y->cause && x->place == y->place;
}

/* Proposes the time before the first GPU work or after the last if it is most of the recording and
 * it is known what the program does then, other than to start CUDA. It is paid once.
 */
static int propose_end(struct nsx_detect *d, const char *where, struct nsx_window w,
		       int64_t recorded_ns, struct nsx_err *err)
{
	struct nsx_findings *found = d->found;
	double ns = (double)(w.end_ns - w.start_ns);
	const char *doing;
	bool is_own;

	if (ns < MOST_SHARE * (double)recorded_ns)
		return 0;
	if (nsx_say_doing(d->trace, &w, found->arena, &doing, &is_own, err))
		return err->rc;
	if (!is_own)
		return 0;
	struct nsx_finding f = {.id = NSX_ID_other_phase,
		.subject = where, .device = NSX_NONE, .confidence = NSX_CONF_HIGH,
		.alarm = NSX_ALARM_NONE, .most_ns = ns,
		.title = nsx_tell(found, say_no_gpu_works_recording, nsx_text_ns(found->arena, ns),
			where, nsx_text_share(found->arena, ns, (double)recorded_ns), doing),
		.evidence = {nsx_tell(found, say_what_judged,
			nsx_tell_ns(found, d->w.end_ns - d->w.start_ns),
			nsx_tell_ns(found, recorded_ns))},
		.recommendation = {nsx_tell(
			found, say_look_at_what_host_does, nsx_text_window(found->arena, &w))}};

	nsx_found(found, &f);
	return 0;
}

static int propose_ends(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_facts *f = d->facts;
	struct nsx_window all = nsx_recorded(d->trace, d->measured);
	int64_t ns = all.end_ns - all.start_ns;

	if (!f->nrun_phases || nsx_has_window(d->trace))
		return 0;
	return propose_end(d, NSX_BEFORE_WORK, (struct nsx_window){
			all.start_ns, f->run_phases[0].window.start_ns}, ns, err) ?:
	       propose_end(d, NSX_AFTER_WORK, (struct nsx_window){
			f->run_phases[f->nrun_phases - 1].window.end_ns, all.end_ns}, ns, err);
}

int nsx_detect_phases(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_facts *f = d->facts;
	double whole_ns = (double)(d->trace->window.end_ns - d->trace->window.start_ns);

	for (size_t i = 0; d->measured->phases && i < f->nrun_phases; i++) {
		const struct nsx_run_phase *x = &f->run_phases[i];
		const struct nsx_ledger *l = &d->measured->phases[i];
		double least_ns = whole_ns * (x->range			? TOLD_SHARE :
					      x->kind == NSX_PHASE_TAIL ? LARGE_SHARE :
									  PAUSE_SHARE);

		/* start-up has its own line on the page */
		if (!l->n || l->v[0].cls == NSX_L_COMPUTE ||
		    phases_is_same(l->v, &d->measured->ledger) ||
		    (!x->range && x->kind != NSX_PHASE_TAIL && !is_pause(x)))
			continue;
		if ((double)l->v[0].ns / l->ngpus >= least_ns)
			phases_propose(d, x, l, (double)l->v[0].ns / l->ngpus, whole_ns);
	}
	return propose_ends(d, err);
}
