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
};

static bool waits_for_thread(const char *name)
{
	return strstr(name, "cond_") || strstr(name, "sem_") ||
	       strstr(name, "futex") || strstr(name, "_join");
}

/* For what another program sends, or one on another machine. */
static bool waits_for_input(const char *name)
{
	static const char *const calls[] = {"poll", "select", "accept", "recv"};

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (strstr(name, calls[i]))
			return true;
	return false;
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

static void advise_os(struct nsx_detect *d, struct nsx_finding *f,
		      const char *name)
{
	const char *shown = nsx_tell_name(d->found, name);
	const char *loader = d->is_pytorch ? " (DataLoader: num_workers, "
					     "prefetch_factor)" : "";

	f->recommendation[0] = nsx_osrt_sleeps(name) ?
		nsx_tell(d->found, "wait for the event that %s is there for, "
			 "not for a fixed time", shown) :
		waits_for_input(name) ?
		nsx_tell(d->found, "if it waits for requests that had not come "
			 "there is nothing to win: capture under load; else see "
			 "who sends what it waits for, and why so late%s",
			 loader) :
		waits_for_thread(name) ?
		nsx_tell(d->found, "see which thread %s waits for, and have its "
			 "results ready before they are needed%s", shown,
			 loader) :
		nsx_tell(d->found, "move %s off the thread that launches: hand "
			 "the work to another through a queue", shown);
	f->proof[0] = (struct nsx_evidence){
		.csv = "os_runtime", .column = "total_time_ms",
		.at = {{"api_name", nsx_string(name)},
		       {"on_launch_thread", nsx_bool(true)}}};
}

static void propose_outside(struct nsx_detect *d, const struct outside *x,
			    struct nsx_winner site, int64_t idle_ns)
{
	struct nsx_findings *l = d->found;
	const char *name = nsx_text(d->trace, x->name);
	bool is_input = !x->is_mpi && waits_for_input(name);
	struct nsx_finding f = {
		.id = NSX_ID_idle_by_os_wait, .subject = name,
		.title = nsx_tell(l, "the launching thread waits %s: %s%s",
				  x->is_mpi ? "for other ranks" :
				  is_input ? "for input" :
				  "in the operating system",
				  nsx_tell_name(l, name),
				  nsx_say_alone(d, x->process)),
		.is_unseen = is_input,
		.confidence = NSX_CONF_HIGH, .device = NSX_NONE,
		.guess_ns = (double)NSX_MIN(x->ns, idle_ns),
		.evidence = {x->count == 1 ?
			nsx_tell(l, "1 wait of %s",
				 nsx_tell_ns(l, x->ns)) :
			nsx_tell(l, "%s of %s in all, the longest %s",
				 nsx_text_n(l->arena, x->count, "wait", NULL),
				 nsx_tell_ns(l, x->ns),
				 nsx_tell_ns(l, x->max_ns))},
		.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_NO_OS_WAIT, .name = name,
			.least_ns = WAIT_NS})};

	if (is_input)
		nsx_add_evidence(&f, "whether that could come sooner is not in "
				     "the trace");
	if (site.frame != NSX_NONE) {
		f.place = nsx_frame_words(d, site.frame);
		nsx_add_evidence(&f, nsx_tell(
			l, "%s of it is called from %s",
			site.weight == site.all ? "all" :
			nsx_tell_ns(l, site.weight), f.place));
	}
	if (x->is_mpi)
		advise_mpi(&f, name);
	else
		advise_os(d, &f, name);
	nsx_found(l, &f);
}

static int find_outside(struct nsx_detect *d, struct nsx_err *err)
{
	double least_ns = LEAST_SHARE * (double)(d->w.end_ns - d->w.start_ns);
	const struct nsx_thread *thread = d->trace->thread;
	int64_t idle_ns[NSX_NCAUSES];
	struct nsx_groups names = {0};
	struct nsx_votes sites = {0};
	struct outside *v = NULL;
	struct nsx_outside o;
	int rc = 0;

	nsx_idle_by_cause(d, idle_ns);
	for (size_t at = 0; !rc && nsx_outside_next(d->trace, &at, &o);) {
		int64_t ns = o.end_ns - o.start_ns;
		struct outside *x;

		if (ns < WAIT_NS || o.start_ns >= d->w.end_ns ||
		    o.end_ns <= d->w.start_ns)
			continue;
		x = nsx_group_value(&names, &v, o.is_mpi, o.name, "OS calls",
				    err);
		if (!x || nsx_vote(&sites, (uint32_t)(x - v),
				   nsx_site(d->trace, o.stack), ns, err)) {
			rc = err->rc;
			break;
		}
		x->is_mpi = o.is_mpi;
		x->name = o.name;
		x->process = !x->count || x->process == thread[o.thread].process ?
				     thread[o.thread].process : (uint32_t)SEVERAL;
		nsx_add_to(&x->ns, ns);
		x->max_ns = NSX_MAX(x->max_ns, ns);
		x->count++;
	}
	for (uint32_t i = 0; !rc && i < names.n; i++)
		if ((double)v[i].ns >= least_ns)
			propose_outside(d, &v[i], nsx_votes_won(&sites, i),
					idle_ns[v[i].is_mpi ?
						NSX_CAUSE_HOST_CODE :
						NSX_CAUSE_OSRT]);
	nsx_votes_done(&sites);
	nsx_groups_done(&names);
	free(v);
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

struct launcher {
	struct nsx_detect *d;
	struct nsx_groups names; /* (outside, or whose; kind of range)       */
	struct code {
		struct rows rows;
		int64_t own_ns; /* in ranges that make no CUDA call          */
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

static int walk_thread(struct launcher *x, uint32_t thread, uint32_t *below,
		       struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	const struct nsx_thread *th = &t->thread[thread];
	uint32_t helper = th->launches ? NSX_NONE : thread;
	int64_t last_ns = INT64_MAX; /* end of the call before; at first none */
	struct nsx_nvtx_walk walk;
	size_t sample = 0;

	nsx_nvtx_walk_begin(&walk, t, thread, true, false, below);
	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
		uint32_t code = (uint32_t)SHORT;
		int64_t start_ns = nsx_call_start(&t->calls, i);
		int64_t gap_ns = last_ns == INT64_MAX ? 0 :
							 start_ns - last_ns;

		if (start_ns >= x->d->w.end_ns)
			break;
		if (t->calls.flags[i] & NSX_CALL_NESTED)
			continue;
		if (start_ns < x->d->w.start_ns) {
			last_ns = nsx_call_end(&t->calls, i);
			continue;
		}
		if (helper == NSX_NONE && queues_work(x->d, i)) {
			x->nlaunches++;
			nsx_add_to(&x->launch_ns, nsx_call_ns(&t->calls, i));
			x->replays |= t->calls.flags[i] & NSX_CALL_GRAPH;
		}
		if (gap_ns >= x->long_ns) {
			uint32_t range = nsx_range_of_gap(
				x->d, nsx_nvtx_walk_to(&walk, last_ns +
							      gap_ns / 2),
				last_ns, start_ns);

			if (add_code(x, range, helper, i, gap_ns, &code, err))
				return err->rc;
			if (range != NSX_NONE &&
			    nsx_range_start(&t->nvtx, range) >= last_ns &&
			    nsx_range_end(&t->nvtx, range) <= start_ns)
				nsx_add_to(&x->code[code].own_ns,
					   nsx_range_end(&t->nvtx, range) -
						nsx_range_start(&t->nvtx, range));
		} else if (gap_ns > 0 && helper == NSX_NONE &&
			   add_row(&x->gaps, i, gap_ns, err)) {
			return err->rc;
		}
		if (gap_ns > 0 &&
		    nsx_vote_samples(x->d, &x->hot, code, thread, &sample,
				     (struct nsx_span){last_ns, start_ns}, err))
			return err->rc;
		last_ns = nsx_call_end(&t->calls, i);
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

static void propose_code(struct launcher *x, const struct code *c)
{
	struct nsx_detect *d = x->d;
	struct nsx_findings *l = d->found;
	const char *path = nsx_range_path(d, c->range);
	struct nsx_winner hot = nsx_votes_won(&x->hot,
					      (uint32_t)(c - x->code));
	const char *where = hot.frame == NSX_NONE ||
			    d->trace->frame[hot.frame].origin >
				    NSX_ORIGIN_LIBRARY ?
			    NULL : nsx_frame_words(d, hot.frame);
	const char *code = path ? path : where;
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

	if (!nsx_new_array(below, x->d->scratch, t->nvtx.n, "ranges", err))
		return err->rc;
	nsx_idle_by_cause(x->d, x->idle_ns);
	x->long_ns = find_long_ns(x->d);
	for (uint32_t i = 0; i < t->nthreads; i++)
		if ((t->thread[i].launches || only_copies(t, &t->thread[i])) &&
		    walk_thread(x, i, below, err))
			return err->rc;
	for (size_t g = 0; g < x->names.n; g++)
		if ((double)x->code[g].rows.ns >= least_ns)
			propose_code(x, &x->code[g]);
	if (x->nlaunches && x->d->facts->run_kind != NSX_RUN_START_UP)
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
