/* host.c - time of the threads that launch or copy, outside CUDA: waits in the
 * operating system and for other ranks, a CPU that was taken away, the profiler, the
 * program's own code, and the launches themselves.
 *
 * Between two calls of a thread there is host time.  A long stretch of it has a
 * name, the NVTX range around its middle that covers half of it; many short ones
 * between launches are the cost of launching one by one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "detect/detect.h"
#include "facts/outside.h"
#include "facts/replay/replay.h"
#include "trace/nvtx_walk.h"

#define LEAST_SHARE 0.003 /* of the window, to be looked at */
#define MOSTLY 0.75	  /* of host time, to be a range's own */
#define PACED 0.5	  /* of the window, that input sets the pace of */
enum {
	LONG_NS = 1000000, /* host time between two calls that has a name    */
	LONG_PART = 10,	   /* of iterations, if it is less: so does that     */
	SHORT_NS = 100000, /* what is shorter never does                     */
	SEVERAL = -2,	   /* processes                                      */
	WAIT_NS = 50000,   /* a call of the OS or of MPI this long waits     */
};

struct rows { /* calls that end a stretch of host time */
	struct nsx_row_list calls;
	int64_t ns;
};

/* Waits outside CUDA ------------------------------------------------------*/

struct outside { /* calls of one name */
	int64_t ns, max_ns;
	size_t count;
	bool is_mpi;
	nsx_str name;
	uint32_t process; /* of all of them; SEVERAL                         */
	struct nsx_place place; /* with most of their time                   */
};

/* What a call of the operating system waits for, as far as its name tells. */
enum awaited {
	UNKNOWN_WAIT = 1,
	A_TIME,
	A_REQUEST, /* from outside of the program                            */
	INPUT,	   /* from outside, or from a process of its own             */
	A_LOCK,
	A_THREAD,
};

static enum awaited waits_for(const char *name)
{
	static const struct {
		const char *word;
		enum awaited what;
	} words[] = {
		{"epoll", A_REQUEST}, {"accept", A_REQUEST}, {"poll", INPUT},
		{"select", INPUT}, {"recv", INPUT}, {"cond_", A_THREAD},
		{"mutex", A_LOCK}, {"rwlock", A_LOCK}, {"spin_", A_LOCK},
		{"flock", A_LOCK}, {"lockf", A_LOCK}, {"sem_", A_THREAD},
		{"futex", A_THREAD}, {"_join", A_THREAD},
		{"barrier_wait", A_THREAD}};

	if (nsx_osrt_sleeps(name))
		return A_TIME;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strstr(name, words[i].word))
			return words[i].what;
	return UNKNOWN_WAIT;
}

static void advise_mpi(struct nsx_finding *f, const char *name)
{
	f->recommendation[0] =
		"post receives early, compute what needs no neighbour first, "
		"and wait where the data is needed";
	f->recommendation[1] =
		"exchange from GPU memory (CUDA-aware MPI, NCCL), so that the "
		"host need not wait for the GPU before it sends";
	f->proof[0] = (struct nsx_evidence){
		.csv = "library_calls", .column = "total_time_ms",
		.at = {{"library", nsx_string("MPI")},
		       {"function", nsx_string(name)}}};
}

static const char *advise_wait(struct nsx_detect *d, enum awaited what,
			       const char *name)
{
	const char *loader = d->is_pytorch ? " (DataLoader: num_workers, "
					     "prefetch_factor)" : "";

	switch (what) {
	case A_TIME:
		return nsx_tell(d->found, "wait for the event that %s is there "
				"for, not for a fixed time", name);
	case A_REQUEST:
	case INPUT:
		return nsx_tell(d->found, "if it waits for requests that had "
				"not come there is nothing to win: capture under "
				"load; else see who sends what it waits for, and "
				"why so late%s", what == INPUT ? loader : "");
	case A_LOCK:
		return "see which thread holds the lock meanwhile: hold it for "
		       "less time, or give what the launching thread needs a "
		       "lock of its own";
	case A_THREAD:
		return nsx_tell(d->found, "see which thread %s waits for, and "
				"have its results ready before they are needed%s",
				name, loader);
	case UNKNOWN_WAIT:
		break;
	}
	return nsx_tell(d->found, "move %s off the thread that launches: hand "
			"the work to another through a queue", name);
}

static void advise_os(struct nsx_detect *d, struct nsx_finding *f,
		      enum awaited what, const char *name)
{
	f->recommendation[0] = advise_wait(d, what,
					   nsx_tell_name(d->found, name));
	f->proof[0] = (struct nsx_evidence){
		.csv = "os_runtime", .column = "total_time_ms",
		.at = {{"api_name", nsx_string(name)},
		       {"on_launch_thread", nsx_bool(true)}}};
}

static const char *title_of(const struct outside *x, enum awaited what)
{
	return x->is_mpi ? "waits for other ranks" :
	       what == A_REQUEST || what == INPUT ? "waits for input" :
	       what == A_LOCK ? "waits for a lock" :
				  "waits in the operating system";
}

/* Whether a wait ends when somebody outside of the program likes: not where other ranks
 * wait for this one, and hardly where a loader's processes may be what it is for.
 */
static bool is_outside(const struct nsx_detect *d, enum awaited what)
{
	uint32_t dev = d->facts->limiting;
	bool is_rank = dev != NSX_NONE && d->facts->device[dev].comm.n;

	return !is_rank && (what == A_REQUEST || (what == INPUT && !d->is_pytorch));
}

/* What may come from outside whenever it likes has no price; that it is awaited most
 * of the time is what sets the pace.
 */
static void take_price(struct nsx_detect *d, struct nsx_finding *f,
		       const struct outside *x, enum awaited what,
		       int64_t idle_ns)
{
	int64_t length_ns = d->w.end_ns - d->w.start_ns;
	int64_t ns = NSX_MIN(x->ns, idle_ns);

	if (!is_outside(d, what)) {
		f->guess_ns = (double)ns;
		f->remedy = nsx_plan_of(d,
			(struct nsx_change){.verb = NSX_NO_OS_WAIT,
					    .name = f->subject,
					    .least_ns = WAIT_NS});
		f->is_unseen = what == INPUT || what == A_REQUEST;
		return;
	}
	if ((double)ns < PACED * (double)length_ns)
		return;
	f->id = NSX_ID_paced;
	f->host = x->name;
	f->subject = NULL;
	f->confidence = NSX_CONF_MEDIUM;
}

static void propose_outside(struct nsx_detect *d, const struct outside *x,
			    const struct nsx_places *places, uint32_t thing,
			    int64_t idle_ns)
{
	struct nsx_findings *l = d->found;
	const char *name = nsx_text(d->trace, x->name);
	enum awaited what = x->is_mpi ? UNKNOWN_WAIT : waits_for(name);
	struct nsx_finding f = {
		.id = NSX_ID_idle_by_os_wait, .subject = name,
		.title = nsx_tell(l, "the launching thread %s: %s%s",
				  title_of(x, what), nsx_tell_name(l, name),
				  nsx_say_alone(d, x->process)),
		.confidence = NSX_CONF_HIGH, .device = NSX_NONE,
		.evidence = {x->count == 1 ?
			nsx_tell(l, "1 wait of %s",
				 nsx_tell_ns(l, x->ns)) :
			nsx_tell(l, "%s of %s in all, the longest %s",
				 nsx_text_n(l->arena, x->count, "wait", NULL),
				 nsx_tell_ns(l, x->ns),
				 nsx_tell_ns(l, x->max_ns))}};

	take_price(d, &f, x, what, idle_ns);
	if (what == A_REQUEST || what == INPUT)
		nsx_add_evidence(&f, "whether that could come sooner is not in "
				     "the trace");
	nsx_places_tell(d, places, thing, &x->place, &f);
	if (x->is_mpi)
		advise_mpi(&f, name);
	else
		advise_os(d, &f, what, name);
	nsx_found(l, &f);
}

/* Calls of one name, and where they are called from. Of each table they come thread by
 * thread, in order of start.
 */
struct waits {
	struct nsx_groups names;
	struct outside *v;
	struct nsx_places places;
	struct nsx_nvtx_walk walk;
	uint32_t *below, thread;
	int64_t last_ns;
};

/* The range a call is made in; MPI's may be ranges themselves. */
static uint32_t range_at(struct waits *s, const struct nsx_detect *d,
			 const struct nsx_outside *o)
{
	const struct nsx_trace *t = d->trace;
	uint32_t range;

	if (o->thread != s->thread || o->start_ns < s->last_ns)
		nsx_nvtx_walk_begin(&s->walk, t, o->thread, true, false,
				    s->below);
	s->thread = o->thread;
	s->last_ns = o->start_ns;
	range = nsx_nvtx_walk_to(&s->walk, o->start_ns);
	return o->is_mpi && range != NSX_NONE && t->nvtx.name[range] == o->name ?
		       nsx_range_parent(&d->facts->nvtx, range) : range;
}

static int add_wait(struct waits *s, const struct nsx_detect *d,
		    const struct nsx_outside *o, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	uint32_t process = t->thread[o->thread].process;
	int64_t ns = o->end_ns - o->start_ns;
	size_t known = s->names.n;
	struct outside *x = nsx_group_value(&s->names, &s->v, o->is_mpi, o->name,
					    "OS calls", err);
	uint32_t thing;

	if (!x)
		return err->rc;
	if (s->names.n > known)
		*x = (struct outside){.is_mpi = o->is_mpi, .name = o->name,
				      .process = process,
				      .place = {0, NSX_NONE}};
	thing = (uint32_t)(x - s->v);
	if (nsx_vote(&s->places.sites, thing, nsx_site(t, o->stack), ns, err) ||
	    nsx_places_add(&s->places, t, thing, range_at(s, d, o), NSX_NONE, ns,
			   &x->place, err))
		return err->rc;
	if (x->process != process)
		x->process = (uint32_t)SEVERAL;
	nsx_add_to(&x->ns, ns);
	x->max_ns = NSX_MAX(x->max_ns, ns);
	x->count++;
	return 0;
}

static int find_outside(struct nsx_detect *d, struct nsx_err *err)
{
	double least_ns = LEAST_SHARE * (double)(d->w.end_ns - d->w.start_ns);
	struct waits s = {.thread = NSX_NONE};
	int64_t idle_ns[NSX_NCAUSES];
	struct nsx_outside o;
	int rc = 0;

	if (!nsx_new_array(s.below, d->scratch, d->trace->nvtx.n, "ranges", err))
		return err->rc;
	nsx_idle_by_cause(d, idle_ns);
	for (size_t at = 0; !rc && nsx_outside_next(d->trace, &at, &o);)
		if (o.end_ns - o.start_ns >= WAIT_NS &&
		    o.start_ns < d->w.end_ns && o.end_ns > d->w.start_ns)
			rc = add_wait(&s, d, &o, err);
	for (uint32_t i = 0; !rc && i < s.names.n; i++)
		if ((double)s.v[i].ns >= least_ns)
			propose_outside(d, &s.v[i], &s.places, i,
					idle_ns[s.v[i].is_mpi ?
						NSX_CAUSE_HOST_CODE :
						NSX_CAUSE_OSRT]);
	nsx_places_done(&s.places);
	nsx_groups_done(&s.names);
	free(s.v);
	return rc;
}

/* The scheduler and the profiler -----------------------------------------------*/

static void find_preemption(struct nsx_detect *d)
{
	struct nsx_preempted lost = nsx_model_preempted(d->facts->model);
	struct nsx_findings *l = d->found;
	struct nsx_finding f = {
		.id = NSX_ID_preempted_host,
		.title = "the launching thread is off its CPU though it could "
			 "run",
		.confidence = NSX_CONF_HIGH, .device = NSX_NONE,
		.evidence = {nsx_tell(
			l, "it lost its CPU %s outside of waits, for %s in "
			"all%s",
			nsx_text_n(l->arena, lost.n, "time", NULL),
			nsx_tell_ns(l, lost.ns),
			nsx_model_closure(d->facts->model)->is_part ?
				", in the part of the window that was replayed" :
				"")},
		.recommendation = {
			"give it a core of its own: pin it (taskset, "
			"numactl), and leave cores free of workers "
			"(fewer data loader processes, OMP_NUM_THREADS)"},
		.proof = {{.csv = "cpu_threads", .column = "on_cpu_ms"}},
		.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_NO_PREEMPTION})};

	if (lost.n)
		nsx_found(l, &f);
}

static void find_profiler(struct nsx_detect *d)
{
	struct nsx_finding f = {
		.id = NSX_ID_profiler_overhead,
		.title = "the profiler itself holds the launching thread up",
		.confidence = NSX_CONF_HIGH, .device = NSX_NONE,
		.evidence = {"its own records lie between the calls of that "
			     "thread; without the profiler this time is not "
			     "lost",
			     "they are PROFILER_OVERHEAD, and buffers flushed "
			     "in CUPTI_ACTIVITY_KIND_OVERHEAD"},
		.recommendation = {
			"trace less: leave out CPU sampling (--sample=none), "
			"context switches (--cpuctxsw=none), backtraces and "
			"OS runtime calls, or capture a shorter stretch"},
		.proof = {{.csv = "capture_quality", .column = "detail",
			   .at = {{"check",
				   nsx_string("profiler_overhead")}}}},
		.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_NO_PROFILER})};

	if (nsx_has_view(d->trace->schema, NSX_VIEW_profiler_overhead) ||
	    d->trace->overheads.n)
		nsx_found(d->found, &f);
}

/* Time between calls ------------------------------------------------------------*/

/* Idle time at an end of the window that the user asked for. */
struct edge {
	struct nsx_gap gap;
	uint32_t thread; /* it waits for; NSX_NONE: not known                */
	size_t at;	 /* first piece that is not passed                   */
};

struct launcher {
	struct nsx_detect *d;
	struct nsx_groups names; /* (outside, or whose; kind of range)       */
	struct code {
		struct rows rows;
		int64_t own_ns; /* in ranges that make no CUDA call          */
		int64_t edge_ns; /* that GPU work waits for at the window's ends */
		uint32_t range; /* the first                                 */
		nsx_str name;	/* of all of them; 0: they have several      */
		uint32_t helper; /* thread that only copies; NSX_NONE        */
		uint32_t process; /* of all of them; SEVERAL                 */
	} *code;
	struct rows gaps; /* the short ones                                  */
	struct nsx_votes hot; /* samples of all, by index of code or SHORT   */
	size_t nlaunches;
	int64_t launch_ns, long_ns;
	bool replays; /* CUDA graphs                                         */
	int64_t idle_ns[NSX_NCAUSES]; /* of the limiting GPU, by cause       */
	struct edge edge[2]; /* of it: the first and the last                */
	uint8_t *awaited; /* by name of an OS call; 0: not looked at yet     */
};

enum { SHORT = -2 };

static int add_row(struct rows *r, size_t call, int64_t ns,
		   struct nsx_err *err)
{
	nsx_add_to(&r->ns, ns);
	return nsx_list_row(&r->calls, call, err);
}

static int add_code(struct launcher *x, uint32_t range, uint32_t helper,
		    size_t call, int64_t ns, uint32_t *ret,
		    struct nsx_err *err)
{
	uint32_t process =
		x->d->trace->thread[nsx_call_thread(x->d->trace, call)].process;
	uint64_t whose = helper == NSX_NONE ? range == NSX_NONE :
					      UINT64_C(2) + helper;
	nsx_str name = range == NSX_NONE ? 0 : x->d->trace->nvtx.name[range];
	size_t known = x->names.n;
	struct code *c = nsx_group_value(&x->names, &x->code, whose,
					 nsx_range_kind(x->d->trace, range),
					 "host code", err);

	if (!c)
		return err->rc;
	if (x->names.n > known)
		*c = (struct code){.range = range, .helper = helper,
				   .name = name, .process = process};
	if (c->name != name)
		c->name = 0;
	if (c->process != process)
		c->process = (uint32_t)SEVERAL;
	*ret = (uint32_t)(c - x->code);
	return add_row(&c->rows, call, ns, err);
}

/* What NSX_FASTER_LAUNCH makes faster. */
static bool queues_work(const struct nsx_detect *d, size_t call)
{
	const struct nsx_calls *c = &d->trace->calls;

	return c->cls[call] == NSX_CALL_LAUNCH ||
	       (nsx_call_op(c, call) != NSX_NONE &&
		!nsx_call_blocks(d->facts, d->trace, call));
}

/* Whether a thread that launches nothing copies: a launching one may wait for it. */
static bool only_copies(const struct nsx_trace *t, const struct nsx_thread *th)
{
	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++)
		if (nsx_call_op(&t->calls, i) != NSX_NONE)
			return !th->launches;
	return false;
}

static void find_edges(struct launcher *x)
{
	const struct nsx_trace *t = x->d->trace;
	uint32_t dev = x->d->facts->limiting;
	size_t n = 0;

	for (unsigned i = 0; i < ARRAY_LEN(x->edge); i++)
		x->edge[i].thread = NSX_NONE;
	if (dev == NSX_NONE || t->user.start_ns == t->user.end_ns)
		return;
	for (unsigned i = 0; i < ARRAY_LEN(x->edge); i++) {
		const struct nsx_idle *idle = &x->d->facts->idle[dev];
		struct edge *e = &x->edge[i];
		uint32_t call;

		if (i)
			n = nsx_idle_from(idle, t->window.end_ns - 1);
		e->at = n;
		if (!nsx_next_gap(idle, &n, &e->gap) || !e->gap.is_edge)
			continue;
		call = e->gap.op == NSX_NONE ? t->device[dev].beyond.next_call :
					       nsx_op_call(&t->ops, e->gap.op);
		if (call != NSX_NONE)
			e->thread = nsx_call_thread(t, call);
		if (e->gap.op == NSX_NONE)
			break; /* it may be the only one                     */
	}
}

/* Of a stretch of a thread, what the GPU idles for at the window's ends. Stretches come
 * in order.
 */
static int64_t idle_at_edges(struct launcher *x, uint32_t thread, int64_t from_ns,
			     int64_t to_ns)
{
	int64_t ns = 0;

	for (unsigned i = 0; i < ARRAY_LEN(x->edge); i++) {
		struct edge *e = &x->edge[i];

		for (; e->thread == thread && e->at < e->gap.at + e->gap.npieces;
		     e->at++) {
			struct nsx_idle_piece p = nsx_idle_at(e->gap.idle, e->at);

			if (p.cause == NSX_CAUSE_HOST_CODE)
				ns += NSX_MAX(0, NSX_MIN(p.end_ns, to_ns) -
						 NSX_MAX(p.start_ns, from_ns));
			if (p.end_ns > to_ns)
				break;
		}
	}
	return ns;
}

/* How long it waits for input in a stretch, which is no code of the program's. */
static int64_t input_ns(struct launcher *x, const struct nsx_thread *th,
			size_t *at, int64_t from_ns, int64_t to_ns)
{
	const struct nsx_osrt *o = &x->d->trace->osrt;
	size_t end = th->osrt_at + th->nosrt;
	int64_t ns = 0;

	while (*at < end && o->end_ns[*at] <= from_ns)
		++*at;
	for (size_t i = *at; i < end && o->start_ns[i] < to_ns; i++) {
		uint8_t *known = &x->awaited[o->name[i]];

		if (!*known)
			*known = (uint8_t)waits_for(
				nsx_text(x->d->trace, o->name[i]));
		if (*known == A_REQUEST || *known == INPUT)
			ns += NSX_MIN(o->end_ns[i], to_ns) -
			      NSX_MAX(o->start_ns[i], from_ns);
	}
	return ns;
}

struct thread_walk {
	uint32_t thread, helper; /* helper: NSX_NONE: it launches            */
	struct nsx_nvtx_walk ranges;
	size_t sample, osrt;
};

/* A stretch of host time, which a call ends. */
static int add_stretch(struct launcher *x, struct thread_walk *w, size_t call,
		       int64_t from_ns, int64_t to_ns, struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	int64_t ns = to_ns - from_ns -
		     input_ns(x, &t->thread[w->thread], &w->osrt, from_ns, to_ns);
	uint32_t code = (uint32_t)SHORT;

	if (ns >= x->long_ns) {
		uint32_t range = nsx_range_of_gap(
			x->d, nsx_nvtx_walk_to(&w->ranges, from_ns +
					       (to_ns - from_ns) / 2),
			from_ns, to_ns);
		struct code *c;

		if (add_code(x, range, w->helper, call, ns, &code, err))
			return err->rc;
		c = &x->code[code];
		nsx_add_to(&c->edge_ns,
			   idle_at_edges(x, w->thread, from_ns, to_ns));
		if (range != NSX_NONE &&
		    nsx_range_start(&t->nvtx, range) >= from_ns &&
		    nsx_range_end(&t->nvtx, range) <= to_ns)
			nsx_add_to(&c->own_ns,
				   nsx_range_end(&t->nvtx, range) -
					nsx_range_start(&t->nvtx, range));
	} else if (ns > 0 && w->helper == NSX_NONE &&
		   add_row(&x->gaps, call, ns, err)) {
		return err->rc;
	}
	return nsx_vote_samples(x->d, &x->hot, code, w->thread, &w->sample,
				(struct nsx_span){from_ns, to_ns}, err);
}

/* Whether GPU work at an end of the window asked for waits for the thread: then its time
 * before its first call counts, and that before its first after the window.
 */
static bool is_at_edge(const struct launcher *x, uint32_t thread)
{
	return x->edge[0].thread == thread || x->edge[1].thread == thread;
}

static int walk_thread(struct launcher *x, uint32_t thread, uint32_t *below,
		       struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	const struct nsx_thread *th = &t->thread[thread];
	const struct nsx_window *in = &x->d->w;
	bool is_edge = is_at_edge(x, thread);
	struct thread_walk w = {.thread = thread, .osrt = th->osrt_at,
				.helper = th->launches ? NSX_NONE : thread};
	int64_t last_ns = is_edge ? in->start_ns : INT64_MAX; /* end of the call
							before; at first none */

	nsx_nvtx_walk_begin(&w.ranges, t, thread, true, false, below);
	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
		int64_t start_ns = nsx_call_start(&t->calls, i);
		int64_t from_ns = NSX_MAX(last_ns, in->start_ns);
		int64_t to_ns = NSX_MIN(start_ns, in->end_ns);

		if (start_ns >= in->end_ns && !is_edge)
			break;
		if (t->calls.flags[i] & NSX_CALL_NESTED)
			continue;
		last_ns = nsx_call_end(&t->calls, i);
		if (start_ns < in->start_ns)
			continue;
		if (w.helper == NSX_NONE && queues_work(x->d, i) &&
		    start_ns < in->end_ns) {
			x->nlaunches++;
			nsx_add_to(&x->launch_ns, nsx_call_ns(&t->calls, i));
			x->replays |= t->calls.flags[i] & NSX_CALL_GRAPH;
		}
		if (from_ns < to_ns &&
		    add_stretch(x, &w, i, from_ns, to_ns, err))
			return err->rc;
		if (start_ns >= in->end_ns)
			break;
	}
	return 0;
}

/* NULL: no sample says what ran. */
static const char *say_hot(struct nsx_detect *d, const struct nsx_winner *hot)
{
	return hot->frame == NSX_NONE ? NULL :
		nsx_tell(d->found, "%lld of the %lld CPU samples then are "
			 "in %s", (long long)hot->weight, (long long)hot->all,
			 nsx_frame_words(d, hot->frame));
}

static void advise_code(const struct nsx_detect *d, bool is_seen, bool of_helper,
			struct nsx_finding *f)
{
	f->recommendation[0] =
		d->facts->run_kind == NSX_RUN_START_UP ?
		"this is start-up, which is paid once: keep what is compiled or "
		"read (a cache on disk), or leave it out of what is measured" :
		of_helper ?
		"prepare more than one step ahead, on several such threads, or "
		"make it faster" :
		"take this code off the launching thread, or prepare the next "
		"step while the GPU works on this one";
	if (!is_seen)
		f->recommendation[1] = "to see what it is: capture with NVTX "
				       "ranges, or sample the CPU";
}

/* A frame of the program's own code or of a library of its; NULL: it is none. */
static const char *own_site(struct nsx_detect *d, uint32_t frame)
{
	return frame == NSX_NONE ||
	       d->trace->frame[frame].origin > NSX_ORIGIN_LIBRARY ?
		       NULL : nsx_frame_words(d, frame);
}

static void propose_code(struct launcher *x, const struct code *c)
{
	struct nsx_detect *d = x->d;
	struct nsx_findings *l = d->found;
	const char *path = nsx_range_path(d, c->range);
	struct nsx_winner hot = nsx_votes_won(&x->hot,
					      (uint32_t)(c - x->code));
	const char *code = path ?: own_site(d, hot.frame);
	const struct nsx_thread *th = c->helper == NSX_NONE ?
					NULL : &d->trace->thread[c->helper];
	const char *helper = !th ? NULL : th->name ?
		nsx_text(d->trace, th->name) :
		nsx_tell(l, "%lld", (long long)th->tid);
	const char *who = helper ? "that thread" :
		c->process == (uint32_t)SEVERAL || d->trace->nprocesses < 2 ?
		"the launching thread" :
		nsx_tell(l, "the launching thread of process %lld",
			 (long long)d->trace->process[c->process].pid);
	/* Beside its copies, it is what makes the launching thread wait. */
	bool is_waited = helper && c->rows.ns > (d->w.end_ns - d->w.start_ns) / 2;
	bool is_own = (double)c->own_ns > MOSTLY * (double)c->rows.ns;
	struct nsx_finding f = {
		.id = is_waited ? NSX_ID_idle_by_os_wait :
				  NSX_ID_idle_by_host_code,
		.subject = helper ? helper : path,
		.title = nsx_tell(
			l, helper ? "the launching thread waits for host code of "
				    "thread %s%s%s%s" :
				    "%shost code between CUDA calls%s%s%s",
			helper ? nsx_tell_name(l, helper) : "",
			code ? ": " : d->trace->nvtx.n ? ", " : "",
			code ? code : d->trace->nvtx.n ?
				"outside NVTX ranges" : "",
			nsx_say_alone(d, c->process)),
		.place = code,
		.is_own = is_own,
		.confidence = NSX_CONF_HIGH, .device = NSX_NONE,
		.guess_ns = (double)NSX_MIN(
			c->rows.ns, x->idle_ns[NSX_CAUSE_HOST_CODE]),
		/* Without GPU work nothing is replayed, and all is as sure. */
		.measured_ns = d->trace->ops.n ? (double)c->edge_ns : 0,
		.evidence = {nsx_tell(l,
			"%s of %s or more in which %s makes no CUDA call, %s "
			"in all",
			nsx_text_n(l->arena, c->rows.calls.n, "stretch",
				   "stretches"), nsx_tell_ns(l, x->long_ns),
			who, nsx_tell_ns(l, c->rows.ns))},
		.proof = {{.csv = "gpu_idle_by_cause", .column = "total_ms",
			   .at = {{"cause", nsx_string("host_code")}}}},
		.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_FASTER_HOST, .amount = INFINITY,
			.range = is_own && c->name ?
					 nsx_text(d->trace, c->name) : NULL,
			.rows = nsx_keep_rows(d, c->rows.calls.v,
					      c->rows.calls.n)})};

	f.evidence[1] = say_hot(d, &hot);
	advise_code(d, code || hot.frame != NSX_NONE, helper, &f);
	nsx_found(l, &f);
}

static void propose_launches(struct launcher *x)
{
	struct nsx_detect *d = x->d;
	struct nsx_findings *l = d->found;
	struct nsx_winner hot = nsx_votes_won(&x->hot, (uint32_t)SHORT);
	struct nsx_change *v = nsx_arena_get(l->arena, 2 * sizeof(*v));
	double us = (double)x->launch_ns / 1e3 / (double)x->nlaunches;
	unsigned n = 0;
	struct nsx_finding f = {
		.id = NSX_ID_launch_bound,
		.title = "the GPU waits for launches, which come one by one",
		.confidence = NSX_CONF_HIGH, .device = NSX_NONE,
		.guess_ns = (double)x->idle_ns[NSX_CAUSE_LAUNCH_CALL],
		.evidence = {
			nsx_tell(l, "%s %s to queue, and %s go by between the "
				 "calls",
				 nsx_text_n(l->arena, x->nlaunches,
					    "launch or copy takes",
					    "launches and copies take"),
				 nsx_tell(l, x->nlaunches == 1 ? "%s" : "%s each",
					  nsx_text_ns(l->arena, us * 1e3)),
				 nsx_tell_ns(l, x->gaps.ns)), say_hot(d, &hot)},
		.proof = {{.csv = "launches", .column = "total_time_ms"}},
		.remedy = {v, 2}};

	v[0] = (struct nsx_change){.verb = NSX_FASTER_LAUNCH,
				   .amount = INFINITY};
	v[1] = (struct nsx_change){.verb = NSX_FASTER_HOST, .amount = INFINITY,
				   .rows = nsx_keep_rows(d, x->gaps.calls.v,
							 x->gaps.calls.n)};
	if (x->replays)
		f.recommendation[n++] =
			"put more into each CUDA graph: it replays graphs "
			"already, and launches beside them";
	else
		f.recommendation[n++] = d->is_pytorch ?
			"capture the loop in a CUDA graph "
			"(torch.cuda.graphs, or torch.compile with "
			"mode=\"reduce-overhead\"); waits in the loop must go "
			"first" :
			"capture the loop in a CUDA graph; waits in the loop "
			"must go first";
	f.recommendation[n] = "fuse small kernels, or give each launch more "
			      "work (larger batches)";
	nsx_found(l, &f);
}

/* How long host time between two calls must be to have a name, which depends on the
 * length of an iteration.
 */
static int64_t find_long_ns(const struct nsx_detect *d)
{
	const struct nsx_facts *f = d->facts;
	int64_t n = 0, part_ns;

	for (size_t i = 0; i < f->niterations; i++)
		n += f->iterations[i].device == f->limiting &&
		     f->iterations[i].steady;
	if (!n)
		return LONG_NS;
	part_ns = (d->w.end_ns - d->w.start_ns) / n / LONG_PART;
	return NSX_MIN(NSX_MAX(part_ns, SHORT_NS), LONG_NS);
}

static int find_code(struct launcher *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	double least_ns = LEAST_SHARE *
			  (double)(x->d->w.end_ns - x->d->w.start_ns);
	uint32_t *below;

	if (!nsx_new_array(below, x->d->scratch, t->nvtx.n, "ranges", err) ||
	    !nsx_new_array(x->awaited, x->d->scratch,
			   nsx_strings_bound(t->strings), "OS calls", err))
		return err->rc;
	nsx_idle_by_cause(x->d, x->idle_ns);
	find_edges(x);
	x->long_ns = find_long_ns(x->d);
	for (uint32_t i = 0; i < t->nthreads; i++)
		if ((t->thread[i].launches || only_copies(t, &t->thread[i])) &&
		    walk_thread(x, i, below, err))
			return err->rc;
	for (size_t g = 0; g < x->names.n; g++)
		if ((double)x->code[g].rows.ns >= least_ns)
			propose_code(x, &x->code[g]);
	if (x->nlaunches && t->ops.n &&
	    x->d->facts->run_kind != NSX_RUN_START_UP)
		propose_launches(x);
	return 0;
}

int nsx_detect_host(struct nsx_detect *d, struct nsx_err *err)
{
	struct launcher x = {.d = d};
	int rc = find_outside(d, err);

	if (!rc) {
		find_preemption(d);
		find_profiler(d);
		rc = find_code(&x, err);
	}
	for (size_t g = 0; g < x.names.n; g++)
		free(x.code[g].rows.calls.v);
	nsx_groups_done(&x.names);
	nsx_votes_done(&x.hot);
	free(x.code);
	free(x.gaps.calls.v);
	return rc;
}
