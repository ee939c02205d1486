/* host.c - time of launching and copying threads outside CUDA: waits in the operating system and
 * for other ranks, a CPU that was taken away, the profiler's own work; and a program that waits at
 * a fixed period for something outside, such as a camera: with a faster host it would only wait
 * longer.
 */
#include "detect/detect.h"
#include "facts/outside.h"
#include "facts/replay/replay.h"
#include "trace/nvtx_walk.h"

#define PACED 0.2 /* waits for input set the pace from this share of the window */
enum {
	FEWEST_BEATS = 16, /* least number of periods that show a pace */
	WAIT_NS = 10000,     /* a shorter OS call only does its work */
	MPI_WAIT_NS = 50000, /* a shorter MPI call only does its work        */
};

/* Waits outside CUDA ------------------------------------------------------*/

struct outside { /* calls of one name */
	int64_t ns, max_ns;
	size_t count;
	bool is_mpi;
	enum nsx_awaited what;
	nsx_str name;
	uint32_t process; /* process of all calls, or NSX_SEVERAL if they differ */
};

static void host_advise(struct nsx_detect *d, struct nsx_finding *f, const struct outside *x)
{
	const char *raw = nsx_text(d->trace, x->name), *name = nsx_tell_name(d->found, raw);

	if (x->is_mpi) {
		f->recommendation[0] = say_post_receives_early;
		f->recommendation[1] = say_exchange_from_gpu_memory;
		f->proof[0] = (struct nsx_evidence){
			.csv = "library_calls", .column = "total_time_ms",
			.at = {{"library", nsx_string("MPI")}, {"function", nsx_string(raw)}}};
		return;
	}
	f->recommendation[0] =
		x->what == NSX_AWAITS_TIME ? nsx_tell(d->found, say_wait_event_there_not_fixed, name) :
		x->what == NSX_AWAITS_INPUT && d->is_pytorch ? say_have_input_ready_sooner :
		host_is_message(x->what) ? say_if_waits_requests_had_not :
		x->what == NSX_AWAITS_DRIVER ? say_if_cuda_starts_there :
		x->what == NSX_AWAITS_THREAD ? nsx_tell(d->found, say_see_which_thread_waits, name,
					       d->is_pytorch ? say_dataloader_num_workers : "") :
				      nsx_tell(d->found, say_move_off_thread_launches, name);
	f->proof[0] = (struct nsx_evidence){
		.csv = "os_runtime", .column = "total_time_ms",
		.at = {{"api_name", nsx_string(raw)}, {"on_launch_thread", nsx_bool(true)}}};
}

bool host_is_outside(const struct nsx_detect *d, enum nsx_awaited what)
{
	uint32_t dev = d->facts->limiting;
	bool is_rank = dev != NSX_NONE && d->facts->device[dev].comm.n;

	return !is_rank && host_is_message(what) && (what != NSX_AWAITS_INPUT || !d->is_pytorch);
}

/* Prices waits, unless something outside the program may end them at any time. If such waits are
 * most of much idle time, they set the pace.
 */
static void take_price(struct nsx_detect *d, struct nsx_finding *f, const struct outside *x)
{
	int64_t ns = NSX_MIN(x->ns, d->idle_ns[NSX_CAUSE_OSRT]), all_ns = 0;

	for (unsigned i = 0; i < NSX_NCAUSES; i++)
		nsx_add_to(&all_ns, d->idle_ns[i]);
	if (host_is_outside(d, x->what)) {
		if (2 * ns > all_ns && (double)ns >= PACED * d->length_ns) {
			f->id = NSX_ID_paced;
			f->host = x->name;
			f->subject = NULL;
			f->confidence = NSX_CONF_MEDIUM;
		}
		return;
	}
	f->guess_ns = (double)ns;
	f->remedy = nsx_plan_of(d, (struct nsx_change){
		.verb = NSX_NO_OS_WAIT, .name = f->subject,
		.least_ns = x->is_mpi ? MPI_WAIT_NS : WAIT_NS});
	f->is_bound = host_is_message(x->what);
	if (f->is_bound)
		f->alarm = NSX_ALARM_MEDIUM;
}

static void propose_outside(struct nsx_detect *d, const struct outside *x,
			    const struct nsx_places *places, uint32_t thing)
{
	struct nsx_findings *l = d->found;
	const char *name = nsx_text(d->trace, x->name);
	const char *waits = x->is_mpi ? say_waits_other_ranks :
			    host_is_message(x->what) ? "waits for input" :
			    x->what == NSX_AWAITS_DRIVER ? "is in a driver" :
			    say_waits_operating_system;
	struct nsx_finding f = {.id = NSX_ID_idle_by_os_wait,
		.subject = name,
		.title = nsx_tell(l, "the launching thread %s: %s%s", waits,
			nsx_tell_name(l, name), nsx_say_alone(d, x->process)),
		.confidence = NSX_CONF_HIGH, .device = NSX_NONE,
		.evidence = {x->count == 1 ?
				     nsx_tell(l, "1 wait of %s", nsx_tell_ns(l, x->ns)) :
				     nsx_tell(l, say_all_longest,
					     nsx_text_n(l->arena, x->count, "wait", NULL),
					     nsx_tell_ns(l, x->ns), nsx_tell_ns(l, x->max_ns))}};

	take_price(d, &f, x);
	if (host_is_message(x->what))
		nsx_add_evidence(&f, say_whether_could_come_sooner);
	host_advise(d, &f, x);
	nsx_places_tell(places, thing, &f);
	nsx_found(l, &f);
}

/* Calls by name, and where they are made. Calls of each table come thread by thread, in order
 * of start.
 */
struct waits {
	struct nsx_groups names;
	struct outside *v;
	struct nsx_places *places;
	struct nsx_nvtx_walk walk;
	uint32_t *below, thread;
	int64_t last_ns;
	size_t call; /* first CUDA call of the thread that ends after last_ns */
};

static void host_go_to(struct waits *s, const struct nsx_trace *t, const struct nsx_outside *o)
{
	const struct nsx_thread *th = &t->thread[o->thread];

	if (o->thread != s->thread || o->start_ns < s->last_ns) {
		nsx_nvtx_walk_begin(&s->walk, t, o->thread, true, false, s->below);
		s->call = th->calls_at;
	}
	s->thread = o->thread;
	s->last_ns = o->start_ns;
	while (s->call < th->calls_at + th->ncalls &&
	       nsx_call_end(&t->calls, s->call) <= o->start_ns)
		s->call++;
}

/* Whether an OS call is part of a CUDA call, to which its time belongs. */
static bool is_in_call(const struct waits *s, const struct nsx_trace *t,
		       const struct nsx_outside *o)
{
	const struct nsx_thread *th = &t->thread[o->thread];

	return !o->is_mpi && s->call < th->calls_at + th->ncalls &&
	       nsx_call_start(&t->calls, s->call) <= o->start_ns &&
	       nsx_call_end(&t->calls, s->call) >= o->end_ns;
}

/* The range around a call. An MPI call may itself be a range. */
static uint32_t host_range_at(struct waits *s, const struct nsx_detect *d,
			      const struct nsx_outside *o)
{
	const struct nsx_trace *t = d->trace;
	uint32_t range = nsx_nvtx_walk_to(&s->walk, o->start_ns);

	return o->is_mpi && range != NSX_NONE && t->nvtx.name[range] == o->name ?
		       nsx_range_parent(&d->facts->nvtx, range) : range;
}

static int add_wait(struct waits *s, const struct nsx_detect *d,
		    const struct nsx_outside *o, struct nsx_err *err)
{
	uint32_t process = d->trace->thread[o->thread].process, thing;
	int64_t ns = o->end_ns - o->start_ns;
	struct outside *x = nsx_group_value(&s->names, &s->v, o->is_mpi, o->name, "OS calls", err);

	if (!x)
		return err->rc;
	thing = (uint32_t)(x - s->v);
	x->is_mpi = o->is_mpi;
	x->name = o->name;
	x->what = o->is_mpi ? NSX_AWAITS_UNKNOWN : nsx_awaited_of(nsx_text(d->trace, o->name));
	x->process = !x->count++ || x->process == process ? process : NSX_SEVERAL;
	nsx_add_to(&x->ns, ns);
	x->max_ns = NSX_MAX(x->max_ns, ns);
	return nsx_places_add_stack(s->places, thing, o->thread,
				    (struct nsx_span){o->start_ns, o->end_ns}, o->stack, err) ?:
	       nsx_places_add(s->places, thing, host_range_at(s, d, o), NSX_NONE, ns, err);
}

static int find_outside(struct nsx_detect *d, struct nsx_err *err)
{
	struct waits *s = nsx_arena_get(d->scratch, sizeof(*s));
	struct nsx_outside o;
	size_t at = 0;
	int rc = 0;

	s->thread = NSX_NONE;
	s->places = nsx_new_places(d);
	nsx_keep_groups(d, &s->names, &s->v);
	if (!nsx_new_array(s->below, d->scratch, d->trace->nvtx.n, "ranges", err))
		return err->rc;
	while (!rc && nsx_outside_next(d->trace, &at, &o)) {
		if (o.end_ns - o.start_ns < (o.is_mpi ? MPI_WAIT_NS : WAIT_NS) ||
		    o.start_ns >= d->w.end_ns || o.end_ns <= d->w.start_ns)
			continue;
		host_go_to(s, d->trace, &o);
		if (!is_in_call(s, d->trace, &o))
			rc = add_wait(s, d, &o, err);
	}
	for (uint32_t i = 0; !rc && i < s->names.n; i++)
		if ((double)s->v[i].ns >= NSX_LEAST_SHARE * d->length_ns)
			propose_outside(d, &s->v[i], s->places, i);
	return rc;
}

/* The scheduler and the profiler -----------------------------------------------*/

/* spans in which launching threads were off their CPU */
struct lost {
	const struct nsx_trace *t;
	struct lost_span {
		struct nsx_span span;
		uint32_t thread;
	} *v;
	size_t n, cap;
	int64_t *ns; /* by thread                                            */
	uint32_t thread; /* the thread with most of that time; NSX_NONE: none */
	size_t count, nothers; /* count: spans of that thread; nothers: other such threads */
};

static int add_lost(void *ctx, uint32_t thread, struct nsx_span span, struct nsx_err *err)
{
	struct lost *x = ctx;

	if (!x->t->thread[thread].launches)
		return 0;
	nsx_add_to(&x->ns[thread], span.end_ns - span.start_ns);
	return nsx_push(x->v, x->n, x->cap, "scheduling", err, (struct lost_span){span, thread});
}

/* Finds the time that launching threads lost. Owner of ret->v: the caller, free(). */
static int find_lost(struct nsx_detect *d,
		     int (*each)(const struct nsx_model *, nsx_lost_fn, void *, struct nsx_err *),
		     struct lost *x, struct nsx_err *err)
{
	x->t = d->trace;
	x->thread = NSX_NONE;
	x->ns = nsx_arena_get(d->scratch, (x->t->nthreads + 1) * sizeof(*x->ns));
	if (each(d->facts->model, add_lost, x, err))
		return err->rc;
	for (uint32_t i = 0; i < x->t->nthreads; i++) {
		if (x->ns[i] <= 0)
			continue;
		x->nothers += x->thread != NSX_NONE;
		if (x->thread == NSX_NONE || x->ns[i] > x->ns[x->thread])
			x->thread = i;
	}
	for (size_t i = 0; i < x->n; i++)
		x->count += x->v[i].thread == x->thread;
	return 0;
}

/* Says which part of the time is meant: that of the replayed part of the window, or of one of
 * several threads.
 */
static const char *host_say_whose(struct nsx_detect *d, const struct lost *x)
{
	struct nsx_findings *l = d->found;

	return nsx_tell(l, "%s%s",
		nsx_model_closure(d->facts->model)->is_part ? say_part_window_was_replayed : "",
		!x->nothers ?
			"" :
			nsx_tell(l, " (thread %lld; %s for less)",
				(long long)x->t->thread[x->thread].tid,
				nsx_text_n(l->arena, x->nothers, "other launching thread", NULL)));
}

/* Adds the range in which most of the time lies. */
static int tell_lost_place(struct nsx_detect *d, const struct lost *x,
			   struct nsx_finding *f, struct nsx_err *err)
{
	struct nsx_places *places = nsx_new_places(d);
	struct nsx_nvtx_walk walk;
	uint32_t *below;

	if (!nsx_new_array(below, d->scratch, x->t->nvtx.n, "ranges", err))
		return err->rc;
	nsx_nvtx_walk_begin(&walk, x->t, x->thread, true, false, below);
	for (size_t i = 0; i < x->n; i++) {
		const struct nsx_span *s = &x->v[i].span;

		if (x->v[i].thread == x->thread &&
		    nsx_places_add(places, 0, nsx_nvtx_walk_to(&walk, s->start_ns), NSX_NONE,
				   s->end_ns - s->start_ns, err))
			return err->rc;
	}
	nsx_places_tell(places, 0, f);
	return 0;
}

/* Proposes a finding on a thread that was off its CPU though it could run or, if neither the
 * scheduler's reasons nor OS calls were recorded, for an unknown reason: it may have waited or,
 * unless its state contradicts, been kept from its CPU.
 */
static int propose_lost(struct nsx_detect *d, const struct lost *x, bool is_known,
			struct nsx_err *err)
{
	struct nsx_findings *l = d->found;
	const char *count = nsx_text_n(l->arena, x->count, "time", NULL);
	const char *ns = nsx_tell_ns(l, x->ns[x->thread]), *whose = host_say_whose(d, x);
	struct nsx_finding f = {.id = NSX_ID_preempted_host,
		.subject = is_known ? NULL : "unknown",
		.title = is_known ? say_launching_thread_off_cpu :
				    nsx_tell(l, say_launching_thread_off_cpu_2, ns),
		.confidence = is_known ? NSX_CONF_HIGH : NSX_CONF_MEDIUM, .device = NSX_NONE,
		.is_bound = !is_known, .alarm = is_known ? NSX_ALARM_BY_PRICE : NSX_ALARM_SET,
		.evidence = {is_known ?
			nsx_tell(l, say_lost_cpu_outside_waits_all, count, ns, whose) :
			nsx_tell(l, say_outside_waits_gpu_waited, count, whose,
				 nsx_model_is_blocked(d->facts->model) ?
					 "" : say_or_something_else_had_cpu)},
		.recommendation = {is_known ? say_give_core_own_pin_taskset :
					      say_see_why_capture_calls},
		.proof = {{.csv = "cpu_threads", .column = "on_cpu_ms",
			.at = {{"tid", nsx_int(x->t->thread[x->thread].tid)}}}},
		.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = is_known ? NSX_NO_PREEMPTION : NSX_NO_ABSENCE}),
		.spans.v = nsx_arena_get(l->arena, x->count * sizeof(*f.spans.v))};

	for (size_t i = 0; i < x->n; i++)
		if (x->v[i].thread == x->thread)
			nsx_spans_push(&f.spans, x->v[i].span.start_ns, x->v[i].span.end_ns);
	if (nsx_spans_pack(l->arena, &f.spans, err))
		return err->rc;
	if (!is_known && tell_lost_place(d, x, &f, err))
		return err->rc;
	nsx_found(l, &f);
	return 0;
}

static int find_off_cpu(struct nsx_detect *d, bool is_known, struct nsx_err *err)
{
	struct lost x = {0};
	int rc = find_lost(d, is_known ? nsx_model_each_preempted : nsx_model_each_absent, &x, err);

	if (!rc && x.thread != NSX_NONE &&
	    (is_known || (double)x.ns[x.thread] >= NSX_LEAST_SHARE * d->length_ns))
		rc = propose_lost(d, &x, is_known, err);
	free(x.v);
	return rc;
}

int nsx_detect_host(struct nsx_detect *d, struct nsx_err *err)
{
	struct nsx_finding f = {.id = NSX_ID_profiler_overhead,
		.title = say_profiler_itself_holds, .confidence = NSX_CONF_HIGH, .device = NSX_NONE,
		.evidence = {say_own_records_lie_between, say_they_profiler_overhead},
		.recommendation = {say_trace_less_leave_out_cpu},
		.proof = {{.csv = "capture_quality", .column = "detail",
			.at = {{"check", nsx_string("profiler_overhead")}}}},
		.remedy = nsx_plan_of(d, (struct nsx_change){.verb = NSX_NO_PROFILER})};

	if (find_outside(d, err) || find_off_cpu(d, true, err) || find_off_cpu(d, false, err))
		return err->rc;
	if (nsx_has_view(d->trace->schema, NSX_VIEW_profiler_overhead) || d->trace->overheads.n)
		nsx_found(d->found, &f);
	return 0;
}

/* A fixed period --------------------------------------------------------------------- */

#define SPREAD 0.05 /* greatest median distance from the median period, relative to it */
#define MUCH 0.1    /* least share of the window that the host's code must seem to cost */
/* A program is paced if a faster host wins hardly anything while waits end when they did: less than
 * this share of what it wins without these waits.
 */
#define SURE 0.1
#define EVEN 1.1    /* nine of ten periods take at most this many times the median */
/* A clock makes up for a late start in the next period, so several periods together are as even as
 * one. Periods of work and a fixed sleep add up their deviations: four are twice as uneven as one.
 */
enum { TOGETHER = 4 };
#define DRIFTS 1.5

/* *ret: the median length of the limiting GPU's judged iterations; 0: too few iterations, or of
 * different lengths, or no clock starts them. *ret_rest_ns: judged time that is not in periods of
 * that length, such as now and then a pause.
 */
static int find_period(struct nsx_detect *d, double *ret, double *ret_rest_ns,
		       struct nsx_err *err)
{
	const struct nsx_facts *f = d->facts;
	double median, apart, apart_together;
	int64_t *ns, *together_ns, starts_ns[TOGETHER] = {0};
	size_t n = 0;

	*ret = 0;
	if (nsx_new_arrays(d->scratch, f->niterations, "iterations", err, ns, together_ns))
		return err->rc;
	for (size_t i = 0; i < f->niterations; i++) {
		const struct nsx_iteration *x = &f->iterations[i];

		if (x->device != f->limiting || x->start_ns < d->w.start_ns ||
		    x->end_ns > d->w.end_ns)
			continue;
		ns[n] = x->end_ns - x->start_ns;
		together_ns[n] = x->start_ns - starts_ns[n % TOGETHER];
		starts_ns[n++ % TOGETHER] = x->start_ns;
	}
	if (n < FEWEST_BEATS || nsx_quantile(ns, n, 0.9) > EVEN * nsx_quantile(ns, n, 0.5))
		return 0;
	apart = nsx_median_distance(ns, n, &median);
	apart_together = nsx_median_distance(together_ns + TOGETHER, n - TOGETHER,
					     &(double){0});
	if (apart <= SPREAD * median && apart_together <= DRIFTS * apart)
		*ret = median;
	*ret_rest_ns = d->length_ns - (double)n * median;
	return 0;
}

/* Whether launching threads wait, outside CUDA, mostly for other threads of the program, for ranks
 * or for input from the program itself, such as a loader's batches. Then the cause is the work of
 * these, which keeps a period too.
 */
static bool waits_inside(const struct nsx_detect *d)
{
	struct nsx_outside o;
	int64_t all_ns = 0, ns = 0;

	for (size_t at = 0; nsx_outside_next(d->trace, &at, &o);) {
		enum nsx_awaited what = nsx_awaited_of(nsx_text(d->trace, o.name));

		if (!nsx_is_judged(d, o.start_ns))
			continue;
		nsx_add_to(&all_ns, o.end_ns - o.start_ns);
		if (o.is_mpi || what == NSX_AWAITS_THREAD ||
		    (what == NSX_AWAITS_INPUT && !host_is_outside(d, what)))
			nsx_add_to(&ns, o.end_ns - o.start_ns);
	}
	return ns && ns >= all_ns / 2;
}

static bool computes_throughout(const struct nsx_detect *d)
{
	struct nsx_partition part;

	nsx_partition(&d->facts->device[d->facts->limiting], d->w.start_ns, d->w.end_ns, &part);
	return (double)nsx_computing_ns(part.ns) > (1 - MUCH) * d->length_ns;
}

enum { HOST, BOTH, NPLANS }; /* plans: the host's code takes no time; nor do waits outside CUDA */

/* Judges whether the program is paced: if the host's code took no time, but its waits outside CUDA
 * ended when they did, next to nothing would be won of what is won without these waits, too. The
 * waits are in each period: they are not only in the rest.
 */
static int pace_judge(const struct nsx_detect *d, double rest_ns, struct nsx_gain g[NPLANS],
		      bool *ret, struct nsx_err *err)
{
	const struct nsx_change v[] = {{.verb = NSX_INSTANT_HOST},
				       {.verb = NSX_NO_OS_WAIT, .name = ".",
					.is_pattern = true}};
	const struct nsx_plan plans[NPLANS] = {
		[HOST] = {v, 1}, [BOTH] = {v, 2}};

	*ret = false;
	if (nsx_replay_prices(d->facts->model, plans, NPLANS, 1, g, err))
		return err->rc;
	*ret = g[HOST].confidence != NSX_CONF_NONE &&
	       (double)g[BOTH].gain_ns - rest_ns >= MUCH * d->length_ns &&
	       (double)g[HOST].low_ns < SURE * (double)g[BOTH].gain_ns;
	return 0;
}

int nsx_detect_pace(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_facts *f = d->facts;
	bool sees_calls = nsx_has_view(d->trace->schema, NSX_VIEW_osrt), is_it;
	struct nsx_findings *l = d->found;
	struct nsx_gain g[NPLANS];
	double period_ns, rest_ns = 0;

	/* Communicating ranks keep a common period: the others may be waiting for this one. */
	if (f->limiting == NSX_NONE || f->device[f->limiting].comm.n ||
	    !(sees_calls || nsx_has_view(d->trace->schema, NSX_VIEW_sched)))
		return 0;
	if (find_period(d, &period_ns, &rest_ns, err))
		return err->rc;
	if (!(period_ns > 0) || computes_throughout(d) || waits_inside(d))
		return 0;
	if (pace_judge(d, rest_ns, g, &is_it, err))
		return err->rc;
	if (is_it)
		nsx_found(l, &(struct nsx_finding){.id = NSX_ID_paced,
			.device = f->limiting, .confidence = NSX_CONF_MEDIUM,
			.title = nsx_tell(l, say_program_paced_from_outside,
				nsx_text_ns(l->arena, period_ns)),
			.evidence = {nsx_tell(l, say_threads_wait_outside_cuda,
					     nsx_tell_ns(l, g[HOST].low_ns)),
				sees_calls ? NULL : say_whether_another_thread},
			.recommendation = {say_look_at_what_waits_camera},
			.proof = {{.csv = "iterations", .column = "wall_ms",
				.at = {{"steady", nsx_bool(true)}}}}});
	return 0;
}
