/* phases.c - what is not judged: phases of the run, and the time before the first GPU work and
 * after the last. Those that keep GPUs waiting for much of the whole window (a second solve, the
 * loading of a model, the copies at the end) are findings. The first page lists the longest, so
 * that a reader who looks for a pause, a slow start or a slow end does not mistake the judged
 * window for the whole run.
 */
#include "detect/detect.h"
#include "detect/verdict.h"
#include "facts/doing.h"
#include "report/text.h"

/* share of the whole window from which the first row of a named phase is reported, and of the
 * recording from which a stretch without GPU work is listed
 */
#define TOLD_SHARE 0.05
/* share of the window from which a phase has medium severity; also the least share of a run's
 * unnamed end
 */
#define LARGE_SHARE 0.1
#define PAUSE_SHARE 0.2	 /* least share of a pause, which is paid once */
/* share of the window from which a phase has high severity, because the run hangs there */
#define MOST_SHARE 0.5
#define MUCH 0.5 /* share of the lost time for which a GPU named as idle must have no work */

enum { TOLD = 4 };

/* " (cudaMalloc 1.2 s)", " (in load)"; "" if it is not known. */
static const char *say_doing(const struct nsx_trace *t, const struct nsx_doing *x,
			     struct nsx_arena *a)
{
	const char *name = nsx_text(t, x->name);

	switch (x->what) {
	case NSX_DOES_CALL:
		return nsx_arena_printf(a, " (%s %s%s)", nsx_text_api(a, name),
					nsx_text_ns(a, (double)x->ns),
					nsx_text_profiled(a, x->profiled_ns, x->ns));
	case NSX_DOES_RANGE:
		return nsx_arena_printf(a, " (in %s)", nsx_text_name(a, nsx_text_range(a, name)));
	case NSX_DOES_SAMPLED:
		return nsx_arena_printf(a, say_sampled_in, nsx_text_name(a, name),
					nsx_text_share(a, x->share, 1));
	default:
		return "";
	}
}

/* The time before the first GPU work and after the last; none in a user's window. Returns the
 * length of the recording.
 */
static int64_t find_ends(const struct nsx_trace *t, const struct nsx_facts *f,
			 const struct nsx_measured *m, struct nsx_window ret[2])
{
	struct nsx_window all = nsx_recorded(t, m);

	ret[0] = ret[1] = (struct nsx_window){0, 0};
	if (f->nrun_phases && !nsx_has_window(t)) {
		ret[0] = (struct nsx_window){all.start_ns, f->run_phases[0].window.start_ns};
		ret[1] = (struct nsx_window){
			f->run_phases[f->nrun_phases - 1].window.end_ns, all.end_ns};
	}
	return all.end_ns - all.start_ns;
}

static const char *const ends[] = {NSX_BEFORE_WORK, NSX_AFTER_WORK};

/* Findings --------------------------------------------------------------------------- */

/* The longest time in w in which a GPU has no work; device NSX_NONE: of any GPU. */
static struct nsx_gap find_longest_gap(const struct nsx_trace *t, const struct nsx_facts *f,
				       const struct nsx_window *w, uint32_t device,
				       uint32_t *ret_device)
{
	struct nsx_gap most = {0}, gap;

	for (uint32_t i = 0; i < t->ndevices; i++)
		for (size_t at = nsx_idle_from(&f->idle[i], w->start_ns);
		     (device == NSX_NONE || device == i) &&
		     nsx_next_gap(&f->idle[i], &at, &gap) && gap.start_ns < w->end_ns;) {
			gap.start_ns = NSX_MAX(gap.start_ns, w->start_ns);
			gap.end_ns = NSX_MIN(gap.end_ns, w->end_ns);
			if (gap.end_ns - gap.start_ns > most.end_ns - most.start_ns) {
				most = gap;
				*ret_device = i;
			}
		}
	return most;
}

/* The process that has work on a device; NSX_NONE: several have. */
static uint32_t only_process_of(const struct nsx_trace *t, uint32_t device)
{
	uint32_t ret = NSX_NONE;

	for (uint32_t s = 0; s < t->nstreams; s++) {
		if (t->stream[s].device != device || t->stream[s].process == ret)
			continue;
		if (ret != NSX_NONE)
			return NSX_NONE;
		ret = t->stream[s].process;
	}
	return ret;
}

/* Says of the longest time in which a GPU has no work in the phase what its process does then, if
 * that is MUCH of the lost time: "GPU 1 has no work from 1.020s to 6.020s (read 5 s)".
 */
static int add_silent(const struct nsx_detect *d, const struct nsx_window *w, double lost_ns,
		      struct nsx_finding *f, struct nsx_err *err)
{
	uint32_t silent = 0;
	struct nsx_gap most = find_longest_gap(d->trace, d->facts, w, NSX_NONE, &silent);
	struct nsx_window gap = {most.start_ns, most.end_ns};
	struct nsx_doing doing = {.what = NSX_DOES_UNKNOWN};
	uint32_t process = only_process_of(d->trace, silent);

	if ((double)(gap.end_ns - gap.start_ns) < MUCH * lost_ns)
		return 0;
	if (process != NSX_NONE &&
	    nsx_find_doing(d->trace, d->facts, process, &gap, &doing, err))
		return err->rc;
	nsx_insert_evidence(f, 0, nsx_tell(d->found, say_gpu_has_no_work_from,
					   nsx_gpu_label(d->trace, silent),
					   nsx_text_instant(d->found->arena, gap.start_ns, 4),
					   nsx_text_instant(d->found->arena, gap.end_ns, 4),
					   say_doing(d->trace, &doing, d->found->arena)));
	return 0;
}

/* "; 200 ms of it in one piece: the host in read", if one pause takes much of a phase, and its cause
 * is not told anyway; else "".
 */
static const char *say_one_pause(const struct nsx_report *r, const struct nsx_window *w,
				 const struct nsx_account *told)
{
	const struct nsx_facts *f = r->facts;
	struct nsx_gap most = find_longest_gap(r->trace, f, w, f->limiting, &(uint32_t){0});
	struct nsx_account row = {.ns = 0};

	for (size_t i = 0; i < most.npieces; i++) {
		struct nsx_idle_piece x = nsx_idle_at(most.idle, most.at + i);
		int64_t ns = NSX_MIN(x.end_ns, w->end_ns) - NSX_MAX(x.start_ns, w->start_ns);

		if (ns > row.ns && x.cause != NSX_CAUSE_EDGE)
			row = (struct nsx_account){.cls = NSX_L_IDLE, .cause = x.cause,
						   .place = x.detail, .ns = ns};
	}
	return (double)row.ns < PAUSE_SHARE * (double)(w->end_ns - w->start_ns) ||
	       (told->cls == NSX_L_IDLE && told->cause == row.cause) ? "" :
		       nsx_arena_printf(r->arena, say_of_it_in_one_piece,
					nsx_text_ns(r->arena, (double)row.ns),
					nsx_account_words(f, &row, r->arena));
}

static bool is_pause(const struct nsx_run_phase *x)
{
	return !x->range && x->kind == NSX_PHASE_PAUSE;
}

/* Advice on the row with most time of a phase; NULL: a look at the phase must tell. Host code in a
 * pause is paid once, and there is no work beside which it could run.
 */
static const char *advise_on_row(const struct nsx_detect *d, const struct nsx_run_phase *phase,
				 const struct nsx_account *x)
{
	const char *place = nsx_account_place(d->facts, x, d->scratch) ?: "";

	if (x->cls != NSX_L_IDLE)
		return !strstr(place, "pageable") ? NULL :
		       d->is_pytorch ? say_copy_from_pinned_tensors : say_allocate_host_buffers;
	switch (x->cause) {
	case NSX_CAUSE_HOST_CODE:
		return is_pause(phase) ? NULL : say_take_code_off_launching;
	case NSX_CAUSE_MODULE:
		return say_warm_up_before_part;
	case NSX_CAUSE_OSRT:
		return !strncmp(place, "MPI_", 4) ? say_post_receives_early :
		       nsx_awaited_of(place) != NSX_AWAITS_UNKNOWN ? NULL :
			       nsx_tell(d->found, say_move_off_thread_launches,
					nsx_tell_name(d->found, place));
	default:
		return NULL;
	}
}

/* Whether two ledgers have the same first row. */
static bool phases_is_same(const struct nsx_ledger *a, const struct nsx_ledger *b)
{
	const struct nsx_account *x = a->v, *y = b->v;

	return a->n && b->n && x->cls == y->cls && x->cause == y->cause && x->place == y->place;
}

/* Time of the first row, on average of the GPUs. */
static double phases_lost_ns(const struct nsx_ledger *l)
{
	return (double)l->v[0].ns / l->ngpus;
}

static int phases_propose(struct nsx_detect *d, const struct nsx_run_phase *x,
			  const struct nsx_ledger *l, double whole_ns, struct nsx_err *err)
{
	int64_t phase_ns = x->window.end_ns - x->window.start_ns;
	double lost_ns = phases_lost_ns(l), share = lost_ns / whole_ns;
	struct nsx_findings *found = d->found;
	const char *name = nsx_tell_name(found, x->name), *advice = advise_on_row(d, x, &l->v[0]);
	const char *judge = nsx_tell(found, is_pause(x) ? say_look_at_what_host_does :
							  say_judge_by_itself_window,
				     nsx_tell(found, "'phase:%s'", x->name));
	static const unsigned names[NSX_NVERDICTS] = { /* areas not called fine, by verdict */
		[NSX_V_COPY] = 1u << NSX_CAT_MEMORY, [NSX_V_LAUNCH] = 1u << NSX_CAT_LAUNCH,
		[NSX_V_HOST] = 1u << NSX_CAT_HOST, [NSX_V_SYNC] = 1u << NSX_CAT_SYNC,
		[NSX_V_COMMUNICATION] = 1u << NSX_CAT_COMMUNICATION};
	struct nsx_judgement j;
	struct nsx_span *span;

	nsx_judge_ledger(l, &j);
	if (j.verdict == NSX_V_COMPUTE)
		return 0;
	span = nsx_arena_get(found->arena, sizeof(*span));
	*span = (struct nsx_span){x->window.start_ns, x->window.end_ns};
	struct nsx_finding f = {.id = NSX_ID_other_phase,
		.subject = x->name, .device = NSX_NONE, .confidence = NSX_CONF_MEDIUM,
		.alarm = NSX_ALARM_SET, .also = names[j.verdict],
		.spans = {.v = span, .n = 1},
		.most_ns = l->v[0].cls == NSX_L_COPY ? 0 : lost_ns, /* copies may be needed */
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
					       nsx_tell(found, say_that_share_is,
						       nsx_text_ns(found->arena, lost_ns)),
				 nsx_text_share(found->arena, lost_ns, whole_ns),
				 nsx_has_window(d->trace) ? "the window" :
							    say_time_between_first_last)},
		.recommendation = {advice ?: judge, advice ? judge : NULL},
		.proof = {{.csv = "run_phases",
			.column = "wall_ms",
			.at = {{"name", nsx_string(x->name)}}}}};

	if (l->v[0].cls == NSX_L_COMM && add_silent(d, &x->window, lost_ns, &f, err))
		return err->rc;
	nsx_found(found, &f);
	return 0;
}

/* Proposes the time before the first GPU work or after the last if it is most of the recording and
 * it is known what the program does then, other than to start CUDA. It is paid once.
 */
static int propose_end(struct nsx_detect *d, const char *where, struct nsx_window w,
		       int64_t recorded_ns, struct nsx_err *err)
{
	struct nsx_findings *found = d->found;
	double ns = (double)(w.end_ns - w.start_ns);
	struct nsx_doing doing;

	if (ns <= 0 || ns < MOST_SHARE * (double)recorded_ns)
		return 0;
	if (nsx_find_doing(d->trace, d->facts, NSX_NONE, &w, &doing, err))
		return err->rc;
	if (!doing.what || (doing.is_one_call && where != ends[1]))
		return 0;
	const char *api = doing.what == NSX_DOES_CALL ?
		nsx_text_api(found->arena, nsx_text(d->trace, doing.name)) : "";
	bool pins = nsx_api_pins(api);
	const char *look = nsx_tell(
		found, say_look_at_what_host_does, nsx_text_window(found->arena, &w));
	struct nsx_span *span = nsx_arena_get(found->arena, sizeof(*span));

	*span = (struct nsx_span){w.start_ns, w.end_ns};
	struct nsx_finding f = {.id = NSX_ID_other_phase, .spans = {.v = span, .n = 1},
		.subject = where, .device = NSX_NONE, .confidence = NSX_CONF_HIGH,
		.alarm = NSX_ALARM_NONE, .most_ns = ns,
		.title = nsx_tell(found, say_no_gpu_works_recording, nsx_text_ns(found->arena, ns),
			where, nsx_text_share(found->arena, ns, (double)recorded_ns),
			say_doing(d->trace, &doing, found->arena)),
		.evidence = {nsx_tell(found, say_what_judged,
			nsx_tell_ns(found, d->w.end_ns - d->w.start_ns),
			nsx_tell_ns(found, recorded_ns))},
		.recommendation = {pins ? nsx_tell(found, say_pin_less, api) : look,
				   pins ? look : NULL}};

	nsx_found(found, &f);
	return 0;
}

int nsx_detect_phases(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_facts *f = d->facts;
	double whole_ns = (double)(d->trace->window.end_ns - d->trace->window.start_ns);
	struct nsx_window end[2];
	int64_t recorded_ns;

	for (size_t i = 0; d->measured->phases && i < f->nrun_phases; i++) {
		const struct nsx_run_phase *x = &f->run_phases[i];
		const struct nsx_ledger *l = &d->measured->phases[i];
		double least_ns = whole_ns * (x->range			? TOLD_SHARE :
					      x->kind == NSX_PHASE_TAIL ? LARGE_SHARE :
									  PAUSE_SHARE);

		/* start-up has its own line on the page */
		if (!l->n || l->v[0].cls == NSX_L_COMPUTE ||
		    (!is_pause(x) && (phases_is_same(l, &d->measured->ledger) ||
				      (!x->range && x->kind != NSX_PHASE_TAIL))))
			continue;
		if (phases_lost_ns(l) >= least_ns && phases_propose(d, x, l, whole_ns, err))
			return err->rc;
	}
	recorded_ns = find_ends(d->trace, f, d->measured, end);
	return propose_end(d, ends[0], end[0], recorded_ns, err) ?:
	       propose_end(d, ends[1], end[1], recorded_ns, err);
}

/* The first page --------------------------------------------------------------------- */

struct part { /* a phase, or the time at one end of the run */
	const struct nsx_ledger *ledger; /* ledger of a phase; NULL: an end of the run */
	const char *name; /* a name in the trace or, without a ledger, a fixed text */
	struct nsx_window window;
};

/* The verdict on a phase in words; NULL if no GPU worked in it. Launches whose work must have run
 * but is not in the trace come first.
 */
static const char *say_verdict(const struct nsx_report *r, const struct part *x)
{
	struct nsx_lost lost = nsx_lost_launches(r->trace, &x->window);
	const struct nsx_ledger *l = x->ledger;
	struct nsx_judgement j;

	if (nsx_is_idle_unknown(&lost))
		return nsx_arena_printf(r->arena, say_work_was_lost,
					nsx_text_n(r->arena, lost.lost, "launch", "launches"));
	if (!l->total_ns || l->ns[NSX_L_IDLE] == l->total_ns)
		return NULL;
	nsx_judge_ledger(l, &j);
	return nsx_arena_printf(r->arena, " (%s%s %s%s)", nsx_verdict_words[j.verdict],
				j.is_of_most_time || j.verdict == NSX_V_MIXED ? ":" : ", most time:",
				nsx_say_account(r->facts, l, &l->v[0], r->arena),
				say_one_pause(r, &x->window, &l->v[0]));
}

/* Says what the program does while no GPU works: a range or a function says most. A call may be
 * another thread's; in a phase the ledger knows what the launching thread did.
 */
static const char *say_host(const struct nsx_report *r, const struct part *x,
			    const struct nsx_doing *host)
{
	const struct nsx_ledger *l = x->ledger;

	if (!l || !l->total_ns || host->what == NSX_DOES_RANGE || host->what == NSX_DOES_SAMPLED)
		return say_doing(r->trace, host, r->arena);
	return nsx_arena_printf(r->arena, " (%s)",
				nsx_say_account(r->facts, l, &l->v[0], r->arena));
}

static int64_t part_ns(const struct part *x)
{
	return x->window.end_ns - x->window.start_ns;
}

static int cmp_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return NSX_CMP(part_ns(y), part_ns(x)) ?: NSX_CMP(x->window.start_ns, y->window.start_ns);
}

int nsx_list_unjudged(const struct nsx_report *r, const struct nsx_measured *m,
		      const char ***ret, struct nsx_err *err)
{
	static const struct nsx_ledger none = {.n = 0};
	const struct nsx_facts *f = r->facts;
	double least_ns = TOLD_SHARE * (double)(r->trace->last_ns - r->trace->first_ns);
	struct part *v = nsx_arena_get(r->arena, (f->nrun_phases + 2) * sizeof(*v));
	struct nsx_window end[2];
	bool has_phases = false;
	size_t n = 0;

	for (size_t i = 0; i < f->nrun_phases; i++) {
		v[n] = (struct part){m->phases ? &m->phases[i] : &none, f->run_phases[i].name,
				     f->run_phases[i].window};
		n += !f->run_phases[i].judged && (double)part_ns(&v[n]) >= least_ns;
	}
	has_phases = n;
	find_ends(r->trace, f, m, end);
	for (unsigned i = 0; i < ARRAY_LEN(ends); i++) {
		v[n] = (struct part){NULL, ends[i], end[i]};
		n += part_ns(&v[n]) > 0 && (double)part_ns(&v[n]) >= least_ns &&
		     !NSX_ANY(k, r->found.n, r->found.v[k].id == NSX_ID_other_phase &&
					     !strcmp(r->found.v[k].subject, ends[i]));
	}
	nsx_sort(v, n, sizeof(*v), cmp_parts);
	n = NSX_MIN(n, TOLD);
	*ret = n ? nsx_arena_get(r->arena, (n + 2) * sizeof(**ret)) : NULL;
	for (size_t k = 0; k < n; k++) {
		const char *doing = v[k].ledger ? say_verdict(r, &v[k]) : NULL;
		struct nsx_doing host;

		if (!doing && nsx_find_doing(r->trace, f, NSX_NONE, &v[k].window, &host, err))
			return err->rc;
		(*ret)[k] = nsx_arena_printf(r->arena, "%s %s%s%s",
			v[k].ledger ? nsx_text_name(r->arena, v[k].name) : v[k].name,
			nsx_text_ns(r->arena, (double)part_ns(&v[k])),
			doing ?: say_host(r, &v[k], &host),
			k + 1 < n || !has_phases ? "" : say_window_phase_name_judges);
	}
	return 0;
}
