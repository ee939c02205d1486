/* host_code.c - time of launching and copying threads between their calls: the program's own code,
 * and the launches themselves.
 *
 * A stretch of such time gets the name of the NVTX range around its middle that covers half of it.
 * Without a name it belongs to the cost of launching one by one. Long stretches are named, and
 * shorter ones after a wait that take longer than a launch does.
 */
#include <math.h>
#include "detect/detect.h"
#include "facts/outside.h"
#include "trace/nvtx_walk.h"

#define MOSTLY 0.75	  /* host time is a range's own if it has this share of the range */
enum {
	LONG_NS = 1000000, /* a stretch this long is named                   */
	LONG_PART = 10,	   /* a stretch of this part of an iteration is named, too */
	HELD_GRAPH_NS = 100000, /* the replay of a graph is held up if its call is this long */
	HELD_NS = 20000, /* any other call is held up from here; launches take a few microseconds */
	RESULT_NS = 40000, /* the way from a wait to the next launch never takes this long */
	ENOUGH = 100, /* launches between two waits: a graph of as many needs no wait removed */
};

struct rows { /* calls that end a stretch of host time */
	struct nsx_row_list calls;
	int64_t ns;
};

struct launcher {
	struct nsx_detect *d;
	struct nsx_groups names; /* (outside ranges, or the helper; kind of range) */
	struct code {
		struct rows rows;
		int64_t own_ns; /* in ranges without any CUDA call           */
		int64_t edge_ns; /* time that GPU work at the window's ends waits for */
		uint32_t range; /* first range with this name                */
		nsx_str name;	/* name of all ranges; 0 if they differ */
		/* a thread that only copies; NSX_NONE: the launching thread itself */
		uint32_t helper;
		uint32_t process; /* process of all stretches, or NSX_SEVERAL if they differ */
		nsx_str waited;	  /* the waiting call before all stretches; 0: none, or several */
		int64_t most_ns; /* length of the longest stretch            */
	} *code;
	struct rows gaps; /* short stretches                                 */
	bool loads;	  /* a launch loads code, which no graph saves       */
	struct nsx_row_list launches; /* launches that load no code, if one does */
	struct nsx_votes *whose; /* for each code (by its index), time by thread */
	struct nsx_votes *hot; /* samples, by index of a code or SHORT       */
	bool has_launcher; /* a thread launches kernels: one that only copies helps it */
	size_t nlaunches, nreplays, nkernels; /* nreplays: CUDA graphs; nkernels: single kernels */
	size_t nwaits; /* waits for the GPU between the launches           */
	int64_t launch_ns, long_ns;
	struct nsx_edge edge[2]; /* ends of the window that the user asked for */
	uint8_t *awaited; /* by name of an OS call: enum nsx_awaited; 0: not looked up yet */
	struct nsx_outside mpi; /* the MPI call before mpi_at; thread NSX_NONE: no call is left */
	size_t mpi_at; /* cursor of nsx_outside_next                         */
};

enum { SHORT = -2 };

static int host_code_add_row(struct launcher *x, struct rows *r, size_t call, int64_t ns,
			     struct nsx_err *err)
{
	nsx_add_to(&r->ns, ns);
	return nsx_list_row(x->d, &r->calls, call, err);
}

/* a stretch of host time that ends with a call */
struct stretch {
	size_t call;
	nsx_str waited; /* name of the preceding call if that waits, else 0  */
	int64_t from_ns, to_ns;
	int64_t ns; /* length of the stretch without waits for input         */
};

static int add_code(struct launcher *x, uint32_t range, uint32_t helper,
		    const struct stretch *s, uint32_t *ret, struct nsx_err *err)
{
	uint32_t thread = nsx_call_thread(x->d->trace, s->call);
	uint32_t process = x->d->trace->thread[thread].process;
	uint64_t whose = helper == NSX_NONE ? range == NSX_NONE : UINT64_C(2) + helper;
	nsx_str name = range == NSX_NONE ? 0 : x->d->trace->nvtx.name[range];
	size_t known = x->names.n;
	struct code *c = nsx_group_value(&x->names, &x->code, whose,
					 nsx_range_kind(x->d->trace, range), "host code", err);

	if (!c)
		return err->rc;
	if (x->names.n > known)
		*c = (struct code){.range = range, .helper = helper,
				   .name = name, .process = process,
				   .waited = s->waited};
	c->most_ns = NSX_MAX(c->most_ns, s->ns);
	if (c->name != name)
		c->name = 0;
	if (c->waited != s->waited)
		c->waited = 0;
	if (c->process != process)
		c->process = NSX_SEVERAL;
	*ret = (uint32_t)(c - x->code);
	return nsx_vote(x->whose, *ret, thread, s->ns, err) ?:
	       host_code_add_row(x, &c->rows, s->call, s->ns, err);
}

/* The name of a call that waits for the GPU; 0 for other calls. */
static nsx_str waited_in(const struct nsx_detect *d, size_t call)
{
	const struct nsx_trace *t = d->trace;

	return call != SIZE_MAX && (t->calls.cls[call] == NSX_CALL_SYNC ||
				    nsx_call_blocks(d->facts, t, call)) ?
		       nsx_call_name(&t->calls, call) : 0;
}

/* Whether a call queues work without waiting: launches, and asynchronous copies and memsets.
 * NSX_FASTER_LAUNCH makes these calls faster.
 */
static bool queues_work(const struct nsx_detect *d, size_t call)
{
	const struct nsx_calls *c = &d->trace->calls;

	return c->cls[call] == NSX_CALL_LAUNCH ||
	       (nsx_call_op(c, call) != NSX_NONE &&
		!nsx_call_blocks(d->facts, d->trace, call));
}

/* Whether a full queue held a call up. That costs nothing, because the GPU works throughout. */
static bool is_held_up(const struct nsx_detect *d, size_t call)
{
	const struct nsx_trace *t = d->trace;
	uint32_t op = nsx_call_op(&t->calls, call);
	int64_t least_ns = t->calls.flags[call] & NSX_CALL_GRAPH ? HELD_GRAPH_NS : HELD_NS;

	return op != NSX_NONE && nsx_call_ns(&t->calls, call) >= least_ns &&
	       !nsx_idle_within(&d->facts->idle[nsx_stream_of(t, op)->device],
				nsx_call_start(&t->calls, call), nsx_call_end(&t->calls, call));
}

static int count_launch(struct launcher *x, size_t call, struct nsx_err *err)
{
	const struct nsx_calls *c = &x->d->trace->calls;

	if (nsx_call_loads(x->d->facts, call))
		return 0;
	if (x->loads && nsx_list_row(x->d, &x->launches, call, err))
		return err->rc;
	if (nsx_is_librarys(x->d, call) || is_held_up(x->d, call))
		return 0;
	x->nlaunches++;
	x->nkernels += c->cls[call] == NSX_CALL_LAUNCH && !(c->flags[call] & NSX_CALL_GRAPH);
	nsx_add_to(&x->launch_ns, nsx_call_ns(c, call));
	x->nreplays += !!(c->flags[call] & NSX_CALL_GRAPH);
	return 0;
}

/* Whether a thread copies but launches nothing, so that a launching thread may wait for it. */
static bool only_copies(const struct nsx_trace *t, const struct nsx_thread *th)
{
	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++)
		if (nsx_call_op(&t->calls, i) != NSX_NONE)
			return !th->launches;
	return false;
}

/* Time of a stretch spent waiting for input, which is not the program's code. */
static int64_t input_ns(struct launcher *x, const struct nsx_thread *th,
			size_t *at, struct nsx_span in)
{
	const struct nsx_trace *t = x->d->trace;
	int64_t ns = 0;

	NSX_EACH_OS_CALL(t, th, at, in, i) {
		uint8_t *known = &x->awaited[t->osrt.name[i]];

		if (!*known)
			*known = (uint8_t)nsx_awaited_of(nsx_text(t, t->osrt.name[i]));
		if (host_is_message(*known))
			ns += nsx_os_call_ns(t, i, in);
	}
	return ns;
}

static void next_mpi(struct launcher *x)
{
	if (!nsx_outside_next(x->d->trace, &x->mpi_at, &x->mpi))
		x->mpi.thread = NSX_NONE;
}

/* Time in a stretch inside MPI calls, which wait for other ranks. Threads and their stretches must
 * come in order.
 */
static int64_t mpi_ns(struct launcher *x, uint32_t thread, struct nsx_span in)
{
	int64_t ns = 0;

	while (x->mpi.thread < thread)
		next_mpi(x);
	for (; x->mpi.thread == thread && x->mpi.start_ns < in.end_ns; next_mpi(x)) {
		int64_t end_ns = NSX_MIN(x->mpi.end_ns, in.end_ns);

		ns += NSX_MAX(0, end_ns - NSX_MAX(x->mpi.start_ns, in.start_ns));
		in.start_ns = NSX_MAX(in.start_ns, end_ns); /* nested calls count once */
		if (x->mpi.end_ns > in.end_ns)
			break;
	}
	return ns;
}

struct thread_walk {
	uint32_t thread, helper; /* helper: NSX_NONE if the thread launches  */
	struct nsx_nvtx_walk ranges;
	size_t sample, osrt;
	size_t before; /* the last outermost call; SIZE_MAX: none            */
};

/* The innermost range open at the middle of a stretch that covers half of it; NSX_NONE: none. */
static uint32_t host_code_range_at(struct launcher *x, struct thread_walk *w, int64_t from_ns,
				   int64_t to_ns)
{
	const struct nsx_nvtx *v = &x->d->trace->nvtx;
	uint32_t range = nsx_nvtx_walk_to(&w->ranges, from_ns + (to_ns - from_ns) / 2);

	while (range != NSX_NONE && NSX_MIN(to_ns, nsx_range_end(v, range)) -
					NSX_MAX(from_ns, nsx_range_start(v, range)) <
					(to_ns - from_ns) / 2)
		range = nsx_range_parent(&x->d->facts->nvtx, range);
	return range;
}

static int add_named_stretch(struct launcher *x, const struct thread_walk *w,
			const struct stretch *s, uint32_t range, uint32_t *code,
			struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	struct code *c;

	if (add_code(x, range, w->helper, s, code, err))
		return err->rc;
	c = &x->code[*code];
	nsx_add_to(&c->edge_ns, nsx_at_edges(x->edge, w->thread,
					     (struct nsx_span){s->from_ns, s->to_ns}));
	if (range != NSX_NONE && nsx_range_start(&t->nvtx, range) >= s->from_ns &&
	    nsx_range_end(&t->nvtx, range) <= s->to_ns)
		nsx_add_to(&c->own_ns, nsx_range_end(&t->nvtx, range) -
					       nsx_range_start(&t->nvtx, range));
	return 0;
}

static int add_stretch(struct launcher *x, struct thread_walk *w, struct stretch *s,
		       struct nsx_err *err)
{
	uint32_t code = (uint32_t)SHORT, range = NSX_NONE;
	struct nsx_span in = {s->from_ns, s->to_ns};
	int64_t in_mpi_ns = mpi_ns(x, w->thread, in);
	int64_t in_os_ns = input_ns(x, &x->d->trace->thread[w->thread], &w->osrt, in);

	/* the greater and not the sum, because MPI waits for messages in OS calls */
	s->ns = in.end_ns - in.start_ns - NSX_MAX(in_mpi_ns, in_os_ns);
	if (s->ns <= 0)
		return 0;
	if (s->ns >= (s->waited && w->helper == NSX_NONE ? NSX_MIN(x->long_ns, RESULT_NS) :
							   x->long_ns)) {
		range = host_code_range_at(x, w, s->from_ns, s->to_ns);
		if (add_named_stretch(x, w, s, range, &code, err))
			return err->rc;
	} else if (w->helper == NSX_NONE &&
		   host_code_add_row(x, &x->gaps, s->call, s->ns, err)) {
		return err->rc;
	}
	return nsx_vote_samples(x->d, x->hot, code, w->thread, &w->sample,
				(struct nsx_span){s->from_ns, s->to_ns}, err);
}

static int host_code_walk_thread(struct launcher *x, uint32_t thread, uint32_t *below,
				 struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	const struct nsx_thread *th = &t->thread[thread];
	const struct nsx_window *in = &x->d->w;
	/* If GPU work at an end of the user's window waits for this thread, its time before its
	 * first call counts, and that before its first call after the window.
	 */
	bool is_edge = x->edge[0].thread == thread || x->edge[1].thread == thread;
	struct thread_walk w = {.thread = thread,
				.helper = th->launches || !x->has_launcher ? NSX_NONE : thread,
				.before = SIZE_MAX};
	int64_t last_ns = is_edge ? in->start_ns : INT64_MAX; /* end of the preceding call */

	nsx_nvtx_walk_begin(&w.ranges, t, thread, true, false, below);
	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
		int64_t start_ns = nsx_call_start(&t->calls, i);
		struct stretch s = {.call = i,
				    .waited = waited_in(x->d, w.before),
				    .from_ns = NSX_MAX(last_ns, in->start_ns),
				    .to_ns = NSX_MIN(start_ns, in->end_ns)};

		if (start_ns >= in->end_ns && !is_edge)
			break;
		if (t->calls.flags[i] & NSX_CALL_NESTED)
			continue;
		last_ns = nsx_call_end(&t->calls, i);
		if (start_ns < in->start_ns) {
			w.before = i;
			continue;
		}
		x->nwaits += w.helper == NSX_NONE && s.waited;
		if (w.helper == NSX_NONE && queues_work(x->d, i) && start_ns < in->end_ns &&
		    count_launch(x, i, err))
			return err->rc;
		/* time between two calls of a library belongs to a finding of these calls */
		if (s.from_ns < s.to_ns && !(w.before != SIZE_MAX &&
		    nsx_is_librarys(x->d, w.before) && nsx_is_librarys(x->d, i)) &&
		    add_stretch(x, &w, &s, err))
			return err->rc;
		if (start_ns >= in->end_ns)
			break;
		w.before = i;
	}
	return 0;
}

/* The frame with most samples in words; NULL without samples. */
static const char *say_hot(struct nsx_detect *d, const struct nsx_winner *hot)
{
	return hot->frame == NSX_NONE ?
		       NULL :
		       nsx_tell(d->found, say_samples_then, (long long)hot->weight,
			       (long long)hot->all, d->trace->npython ? "" : "CPU ",
			       nsx_frame_words(d, hot->frame));
}

static void advise_code(const struct nsx_detect *d, bool is_seen, bool of_helper,
			struct nsx_finding *f)
{
	f->recommendation[0] = d->facts->run_kind == NSX_RUN_START_UP ?
				       say_start_up_which_paid_once :
			       of_helper ? say_prepare_more_than_one_step :
					   say_take_code_off_launching;
	if (!is_seen)
		f->recommendation[1] = say_see_what_capture_with_nvtx;
}

/* The thread that has twice as much of this code as the other launching threads have on average;
 * frame NSX_NONE if no thread has.
 */
static struct nsx_winner host_code_most_of(const struct launcher *x, const struct code *c)
{
	const struct nsx_trace *t = x->d->trace;
	struct nsx_winner most = nsx_votes_won(x->whose, (uint32_t)(c - x->code));
	int64_t others = 0;

	for (uint32_t i = 0; i < t->nthreads; i++)
		others += i != most.frame && t->thread[i].launches;
	if (!others || c->helper != NSX_NONE || most.weight / 2 * others < most.all - most.weight)
		most.frame = NSX_NONE;
	return most;
}

static const char *host_code_say_whose(struct launcher *x, const struct code *c,
				       const struct nsx_winner *most)
{
	return c->process != NSX_SEVERAL ?
		       nsx_say_alone(x->d, c->process) :
	       most->frame == NSX_NONE || most->weight < most->all / 2 ?
		       "" :
		       nsx_say_own_gpu(
			       x->d, x->d->trace->thread[most->frame].process, say_most_on_gpu, "");
}

/* The thread's name, or its id if it has none. */
static const char *host_code_thread(struct nsx_detect *d, uint32_t thread)
{
	const struct nsx_thread *th = &d->trace->thread[thread];

	return th->name ? nsx_text(d->trace, th->name) :
			  nsx_tell(d->found, "%lld", (long long)th->tid);
}

static void tell_thread(struct launcher *x, const struct code *c,
			const struct nsx_winner *most, struct nsx_finding *f)
{
	const struct nsx_trace *t = x->d->trace;
	struct nsx_findings *l = x->d->found;
	const char *ns = nsx_tell_ns(l, most->weight);

	if (most->frame == NSX_NONE)
		return;
	if (c->process == NSX_SEVERAL)
		nsx_add_evidence(f, nsx_tell(
			l, say_process_has, nsx_pid_label(t, t->thread[most->frame].process), ns));
	else if (t->nprocesses < 2)
		nsx_add_evidence(f, nsx_tell(l, say_thread_has,
					    nsx_tell_name(l, host_code_thread(x->d, most->frame)),
					    most->weight == most->all ? "all" : ns));
}

/* Whether the thread of the first stretch names its steps: it is in a step or between two. */
static bool names_steps(const struct nsx_detect *d, const struct code *c)
{
	const struct nsx_engine_steps *steps = &d->measured->steps;

	return c->rows.calls.n && NSX_ANY(i, steps->n, steps->v[i].thread ==
					  nsx_call_thread(d->trace, c->rows.calls.v[0]));
}

/* "host code between CUDA calls: step", or the preceding wait if no code is known. */
static const char *say_title(struct launcher *x, const struct code *c, const char *code,
			     const char *helper, const char *after)
{
	struct nsx_findings *l = x->d->found;
	struct nsx_winner most = host_code_most_of(x, c);
	const char *where = code ?: names_steps(x->d, c) ? "from one step to the next" :
			    x->d->trace->nvtx.n ? "outside NVTX ranges" : after;
	const char *place = nsx_tell(l, "%s%s%s", code ? ": " : where ? ", " : "", where ?: "",
				     host_code_say_whose(x, c, &most));

	return helper ? nsx_tell(l, say_waits_for_host_code, nsx_tell_name(l, helper), place) :
			nsx_tell(l, say_host_code_between_calls, place);
}

static const char *say_stretches(struct nsx_detect *d, const struct code *c,
				 bool of_helper, const char *after)
{
	struct nsx_findings *l = d->found;
	const char *who = of_helper ? "that thread" :
			  c->process == NSX_SEVERAL || d->trace->nprocesses < 2 ?
				      "the launching thread" :
				      nsx_tell(l, say_launching_thread_process,
					       nsx_pid_label(d->trace, c->process));

	if (c->rows.calls.n == 1)
		return nsx_tell(l, say_one_stretch_which_makes_no, nsx_tell_ns(l, c->rows.ns), who,
			after ? nsx_tell(l, ", right %s", after) : "");
	return nsx_tell(l, say_without_calls_longest,
		nsx_text_n(l->arena, c->rows.calls.n, "stretch", "stretches"),
		who, after ? nsx_tell(l, ", each right %s", after) : "", nsx_tell_ns(l, c->rows.ns),
		nsx_tell_ns(l, c->most_ns));
}

static void propose_code(struct launcher *x, const struct code *c)
{
	struct nsx_detect *d = x->d;
	const char *path = nsx_range_path(d, c->range);
	struct nsx_winner hot = nsx_votes_won(x->hot, (uint32_t)(c - x->code));
	struct nsx_winner most = host_code_most_of(x, c);
	/* a frame of the program's own code or of its libraries */
	const char *site = hot.frame == NSX_NONE ||
			   d->trace->frame[hot.frame].origin > NSX_ORIGIN_LIBRARY ?
				   NULL : nsx_frame_words(d, hot.frame);
	const char *code = d->trace->npython ? site ?: path : path ?: site;
	const char *helper = c->helper == NSX_NONE ? NULL : host_code_thread(d, c->helper);
	/* The launching thread waits for the helper's code, not only for its copies. */
	bool is_waited = helper && (double)c->rows.ns > d->length_ns / 2;
	const char *after = !c->waited ? NULL : nsx_tell(d->found, "after %s",
		nsx_text_api(d->found->arena, nsx_text(d->trace, c->waited)));
	bool is_placed = code || d->trace->nvtx.n || helper;
	bool is_own = (double)c->own_ns > MOSTLY * (double)c->rows.ns;
	struct nsx_finding f = {
		.id = is_waited ? NSX_ID_idle_by_os_wait : NSX_ID_idle_by_host_code,
		.subject = helper ? helper : path,
		.title = say_title(x, c, code, helper, is_placed ? NULL : after),
		.place = code,
		.confidence = NSX_CONF_HIGH, .device = NSX_NONE,
		.guess_ns = (double)NSX_MIN(c->rows.ns, x->d->idle_ns[NSX_CAUSE_HOST_CODE]),
		/* Without GPU work nothing is replayed, and all prices are equally certain. */
		.measured_ns = d->trace->ops.n ? (double)c->edge_ns : 0,
		.evidence = {say_stretches(d, c, helper, is_placed ? after : NULL)},
		.proof = {{.csv = "gpu_idle_by_cause", .column = "total_ms",
			   .is_only = path, .at = {{"cause", nsx_string("host_code")},
						   {path ? NULL : "detail", nsx_null()}}}},
		.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_FASTER_HOST, .amount = INFINITY,
			.range = is_own && c->name ? nsx_text(d->trace, c->name) : NULL,
			.rows = nsx_keep_rows(d, c->rows.calls.v,
					      c->rows.calls.n)})};

	nsx_add_evidence(&f, say_hot(d, &hot));
	tell_thread(x, c, &most, &f);
	advise_code(d, code || hot.frame != NSX_NONE, helper, &f);
	nsx_found(d->found, &f);
}

static const char *say_launches(const struct launcher *x)
{
	struct nsx_findings *l = x->d->found;
	size_t n = x->nlaunches;
	const char *each = nsx_text_ns(l->arena, (double)x->launch_ns / (double)n);

	return nsx_tell(l, "%s %s to queue%s",
		nsx_text_n(l->arena, n, say_launch_or_copy_takes, say_launches_copies_take),
		n == 1 ? each : nsx_tell(l, "%s each", each),
		!x->gaps.ns ? "" :
			      nsx_tell(l, say_go_by_between_calls, nsx_tell_ns(l, x->gaps.ns)));
}

static void advise_launches(const struct launcher *x, struct nsx_finding *f)
{
	const struct nsx_detect *d = x->d;
	struct nsx_findings *l = d->found;
	bool loops = nsx_repeats(d);

	f->recommendation[0] = x->nreplays && !x->nkernels ? say_put_more_into_each_cuda :
		x->nreplays ? say_put_more_into_each_cuda_2 :
			      nsx_tell(l, say_capture_in_a_graph,
				       loops ? "the loop" : "what repeats",
				       d->is_pytorch ? say_torch_cuda_graphs_or_torch : "",
				       x->nlaunches >= ENOUGH * x->nwaits ? "" :
				       loops ? say_first_remove_waits_loop :
					       say_first_remove_waits);
	if (x->nkernels || !x->nreplays)
		f->recommendation[1] = say_fuse_small_kernels_or_give_2;
}

static void propose_launches(struct launcher *x)
{
	struct nsx_detect *d = x->d;
	struct nsx_findings *l = d->found;
	struct nsx_winner hot = nsx_votes_won(x->hot, (uint32_t)SHORT);
	struct nsx_change *v = nsx_arena_get(l->arena, 2 * sizeof(*v));
	struct nsx_finding f = {.id = NSX_ID_launch_bound,
		.title = say_gpu_waits_launches_which, .confidence = NSX_CONF_HIGH,
		.device = NSX_NONE,
		.guess_ns = (double)x->d->idle_ns[NSX_CAUSE_LAUNCH_CALL],
		.evidence = {say_launches(x), say_hot(d, &hot)},
		.proof = {{.csv = "launches", .column = "total_time_ms"}},
		.remedy = {v, 2}};

	v[0] = (struct nsx_change){.verb = NSX_FASTER_LAUNCH, .amount = INFINITY};
	if (x->loads)
		v[0].rows = nsx_keep_rows(d, x->launches.v, x->launches.n);
	v[1] = (struct nsx_change){.verb = NSX_FASTER_HOST, .amount = INFINITY,
				   .rows = nsx_keep_rows(d, x->gaps.calls.v, x->gaps.calls.n)};
	advise_launches(x, &f);
	nsx_found(l, &f);
}

/* The length from which a stretch is named: a part of an iteration, within limits. */
static int64_t find_long_ns(const struct nsx_detect *d)
{
	const struct nsx_facts *f = d->facts;
	int64_t n = 0, part_ns;

	for (size_t i = 0; i < f->niterations; i++)
		n += f->iterations[i].device == f->limiting && f->iterations[i].steady;
	if (!n)
		return NSX_SHORT_HOST_NS;
	part_ns = (d->w.end_ns - d->w.start_ns) / n / LONG_PART;
	return NSX_MIN(NSX_MAX(part_ns, NSX_SHORT_HOST_NS), LONG_NS);
}

static int find_code(struct launcher *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	uint32_t *below;

	if (!nsx_new_array(below, x->d->scratch, t->nvtx.n, "ranges", err) ||
	    !nsx_new_array(x->awaited, x->d->scratch,
			   nsx_strings_bound(t->strings), "OS calls", err))
		return err->rc;
	nsx_find_edges(x->d, x->edge);
	x->long_ns = find_long_ns(x->d);
	for (uint32_t i = 0; i < t->nthreads; i++)
		x->has_launcher |= t->thread[i].launches;
	for (size_t i = 0; i < t->calls.n / 8 + 1; i++)
		x->loads |= x->d->facts->loads_code[i] != 0;
	x->mpi_at = t->osrt.n;
	next_mpi(x);
	for (uint32_t i = 0; i < t->nthreads; i++)
		if ((t->thread[i].launches || only_copies(t, &t->thread[i])) &&
		    host_code_walk_thread(x, i, below, err))
			return err->rc;
	/* If work of graphs is missing, the GPU may have worked meanwhile. */
	for (size_t g = 0; g < x->names.n &&
			   !(x->d->facts->graphs.coverage_pct < NSX_GRAPHS_COVERED_PCT); g++)
		if ((double)x->code[g].rows.ns >= NSX_LEAST_SHARE * x->d->length_ns)
			propose_code(x, &x->code[g]);
	if (x->nlaunches && t->ops.n && x->d->facts->run_kind != NSX_RUN_START_UP)
		propose_launches(x);
	return 0;
}

int nsx_detect_host_code(struct nsx_detect *d, struct nsx_err *err)
{
	struct launcher *x = nsx_arena_get(d->scratch, sizeof(*x));

	x->d = d;
	x->whose = nsx_new_votes(d);
	x->hot = nsx_new_votes(d);
	nsx_keep_groups(d, &x->names, &x->code);
	return find_code(x, err);
}
