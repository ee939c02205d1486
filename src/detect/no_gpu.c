/* no_gpu.c - traces without GPU work: where the host's time goes. */
#include <inttypes.h>
#include "detect/detect.h"
#include "facts/profiler.h"

#define MUCH 0.1      /* share of the recording, or of the user's window, that is reported */
#define BUSY_SHARE 0.25 /* a thread is named from this share of the time on a CPU */
enum { FEW_NEXT = 2 };

struct spent { /* time by name; for OS calls and MPI also by process */
	int64_t ns, count;
	int64_t profiled_ns; /* CUDA: the part of ns that is the profiler's own */
	nsx_str name;	/* name as recorded */
	uint64_t who; /* OS: global id of a process's main thread; MPI: process; else 0 */
	bool is_coll; /* MPI: ranks wait in it for the last one              */
};
struct sums {
	struct nsx_groups keys;
	struct spent *v;
	struct nsx_window mpi; /* from the first call of MPI to the end of the last */
};

static int no_gpu_add(struct sums *s, uint64_t who, nsx_str name, int64_t count,
		      int64_t ns, struct nsx_err *err)
{
	struct spent *x = nsx_group_value(&s->keys, &s->v, who, name, "host time", err);

	if (!x)
		return err->rc;
	x->who = who;
	x->name = name;
	x->count += NSX_MAX(count, ns > 0 ? 1 : 0);
	nsx_add_to(&x->ns, ns);
	return 0;
}

/* Sums ranges by name, each without the ranges inside it on the same thread, of any domain. */
static int sum_ranges(const struct nsx_detect *d, struct sums *s, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;

	for (uint32_t i = 0; i < t->nvtx.n; i++) {
		uint32_t around = nsx_range_around(&d->facts->nvtx, i);
		int64_t start_ns = nsx_range_start(&t->nvtx, i);
		int64_t end_ns = nsx_range_end(&t->nvtx, i);

		if (t->nvtx.kind[i] != NSX_NVTX_STACK)
			continue;
		if (no_gpu_add(s, 0, t->nvtx.name[i], nsx_starts_inside(t, start_ns),
			       nsx_in_window(t, start_ns, end_ns), err) ||
		    (around != NSX_NONE &&
		     no_gpu_add(s, 0, t->nvtx.name[around], 0, -nsx_in_window(
				t, start_ns, NSX_MIN(end_ns, nsx_range_end(
					&t->nvtx, around))), err)))
			return err->rc;
	}
	return 0;
}

static int no_gpu_sum_calls(const struct nsx_detect *d, struct sums *s, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_calls *c = &t->calls;

	for (size_t i = 0; i < c->n; i++) {
		int64_t start_ns = nsx_call_start(c, i);

		if (c->flags[i] & NSX_CALL_NESTED || c->cls[i] == NSX_CALL_SYNC)
			continue;
		if (no_gpu_add(s, 0, nsx_call_name(c, i), nsx_starts_inside(t, start_ns),
			       nsx_in_window(t, start_ns, nsx_call_end(c, i)), err))
			return err->rc;
		nsx_add_to(&s->v[s->keys.last].profiled_ns, nsx_profiled_ns(d->facts,
			nsx_call_thread(t, i), (struct nsx_span){start_ns, nsx_call_end(c, i)}));
	}
	return 0;
}

/* Sums OS calls of main threads, by thread. Other threads mostly wait for these, and a process
 * waits for the processes that it starts.
 */
static int sum_os_calls(const struct nsx_detect *d, struct sums *s, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;

	for (size_t i = 0; i < t->nosrt_sums; i++) {
		const struct nsx_osrt_sum *x = &t->osrt_sum[i];

		if (nsx_tid_of(x->global_tid) == nsx_pid_of(x->global_tid) &&
		    no_gpu_add(s, x->global_tid, x->name, x->count, x->total_ns, err))
			return err->rc;
	}
	return 0;
}

/* Sums calls of MPI by process and function. */
static int sum_mpi(const struct nsx_detect *d, struct sums *s, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_library_calls *c = &t->library;

	s->mpi = (struct nsx_window){INT64_MAX, INT64_MIN};
	for (size_t i = 0; i < c->n; i++) {
		int64_t start_ns = nsx_unpack(&c->start, i);
		int64_t end_ns = start_ns + nsx_unpack(&c->length, i);
		int64_t ns = nsx_in_window(t, start_ns, end_ns);
		bool is_in = nsx_starts_inside(t, start_ns);

		if (c->library[i] != NSX_LIBRARY_MPI || (ns <= 0 && !is_in))
			continue;
		if (no_gpu_add(s, t->thread[c->thread[i]].process, c->name[i], 1, ns, err))
			return err->rc;
		s->v[s->keys.last].is_coll = c->is_coll[i];
		nsx_widen(&s->mpi, start_ns, end_ns);
	}
	if (nsx_has_window(t))
		s->mpi = t->user;
	return 0;
}

/* Orders by time, with collectives last: ranks wait in them for the last rank, whose own work is
 * the cause.
 */
static int cmp_spent(const void *a, const void *b, void *ctx)
{
	const struct spent *x = a, *y = b;

	return x->is_coll - y->is_coll ?: NSX_CMP(y->ns, x->ns) ?:
	       strcmp(nsx_text(ctx, x->name), nsx_text(ctx, y->name)) ?: NSX_CMP(x->who, y->who);
}

/* " on the main thread", with the process if there are several. */
static const char *say_thread(const struct nsx_detect *d, const struct sums *s)
{
	const struct spent *top = &s->v[0];

	for (size_t i = 1; i < s->keys.n; i++)
		if (s->v[i].who != top->who)
			return nsx_tell(d->found, " on the main thread of process %"
					PRIu64, nsx_pid_of(top->who));
	return say_on_main_thread;
}

static const struct source {
	int (*sum)(const struct nsx_detect *d, struct sums *s, struct nsx_err *err);
	enum nsx_finding_id id;
	const char *what, *unit, *own, *advice, *sampled, *csv, *column, *key;
} sources[] = {
	/* sampled: the advice if OS calls have backtraces */
	{sum_ranges, NSX_ID_host_ranges, "the NVTX range ", "range", say_not_counting_ranges_inside,
		say_look_inside_range_first, NULL, "nvtx_ranges", "exclusive_ms", "range_name"},
	{no_gpu_sum_calls, NSX_ID_host_calls, "calls of ", "call", "", say_see_whether_start_cuda,
		NULL, NULL, NULL, NULL},
	{sum_os_calls, NSX_ID_host_os_calls, "the operating system's ", "call", NULL,
		say_find_out_what_waits_with, say_find_out_what_waits_where, "os_runtime",
		"total_time_ms", "api_name"},
};

static void no_gpu_propose(const struct nsx_detect *d, const struct source *x, const struct sums *s)
{
	const struct nsx_trace *t = d->trace;
	struct nsx_findings *l = d->found;
	struct nsx_window told = nsx_host_window(t);
	double length = nsx_has_window(t) ? (double)(told.end_ns - told.start_ns) :
					    (double)nsx_recorded_ns(t, d->measured);
	const struct spent *top = &s->v[0];
	const char *raw = nsx_text(t, top->name);
	const char *name = nsx_tell_name(l, nsx_text_api(l->arena, raw));
	struct nsx_finding f = {
		.id = x->id, .device = NSX_NONE, .host = top->name,
		.confidence = NSX_CONF_HIGH, .most_ns = (double)top->ns,
		.title = nsx_tell(l, "%s%s take%s %s of the %s", x->what,
				  name, x->id == NSX_ID_host_calls ? "" : "s",
				  nsx_text_share(l->arena, (double)top->ns, length),
				  nsx_has_window(t) ?
					  "window" : "recording"),
		.evidence = {nsx_tell(l, "%s in %s%s%s",
				      nsx_tell_ns(l, top->ns),
				      nsx_text_n(l->arena, (size_t)top->count, x->unit, NULL),
				      nsx_text_profiled(l->arena, top->profiled_ns, top->ns),
				      x->own ?: say_thread(d, s))},
		.recommendation = {x->sampled &&
				   nsx_has_view(t->schema, NSX_VIEW_osrt_frame) ?
					   x->sampled : x->advice}};

	for (size_t i = 1; i < s->keys.n && i <= FEW_NEXT; i++)
		if ((double)s->v[i].ns >= MUCH * length && s->v[i].who == top->who)
			f.evidence[i] = nsx_tell(l, "the next is %s with %s",
				nsx_tell_name(l, nsx_text_api(l->arena, nsx_text(t, s->v[i].name))),
				nsx_tell_ns(l, s->v[i].ns));
	if (x->csv)
		f.proof[0] = (struct nsx_evidence){
			.csv = x->csv, .column = x->column,
			.at = {{x->key, nsx_string(raw)}}};
	if (top->who)
		f.proof[0].at[1] = (struct nsx_at){
			"tid", nsx_int((int64_t)nsx_tid_of(top->who))};
	nsx_found(l, &f);
}

/* The least time that the busiest thread is on a CPU during MPI calls, because the two times
 * together exceed the available time. Waits that spin look like work.
 */
static double spun_ms(const struct nsx_detect *d, uint32_t *ret_process)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_library_calls *c = &t->library;
	int64_t ns = 0, until_ns = INT64_MIN;

	*ret_process = NSX_NONE;
	if (d->measured->busiest.of_ms <= 0)
		return 0; /* scheduling was not recorded */
	for (size_t i = 0; i < c->n; i++) {
		int64_t start_ns = nsx_unpack(&c->start, i);
		int64_t end_ns = start_ns + nsx_unpack(&c->length, i);

		if (c->library[i] != NSX_LIBRARY_MPI ||
		    t->thread[c->thread[i]].tid != d->measured->busiest.tid)
			continue;
		start_ns = NSX_MAX(start_ns, until_ns);
		if (start_ns < end_ns)
			nsx_add_to(&ns, nsx_in_window(t, start_ns, end_ns));
		until_ns = NSX_MAX(until_ns, end_ns);
		*ret_process = t->thread[c->thread[i]].process;
	}
	return NSX_MAX(0, d->measured->busiest.on_ms + (double)ns / 1e6 -
				  d->measured->busiest.of_ms);
}

static void propose_mpi(struct nsx_detect *d, const struct sums *s)
{
	const struct nsx_trace *t = d->trace;
	struct nsx_findings *l = d->found;
	const struct spent *v = s->v;
	double length_ns = (double)(s->mpi.end_ns - s->mpi.start_ns), spun;
	uint32_t spinning, process = (uint32_t)v->who;
	unsigned nsaid = 1;
	struct nsx_finding f = {.id = NSX_ID_host_mpi,
		.device = NSX_NONE, .confidence = NSX_CONF_HIGH, .most_ns = (double)v->ns,
		.title = nsx_tell(l, "process %s is in %s for %s of the time",
			nsx_pid_label(t, process), nsx_tell_name(l, nsx_text(t, v->name)),
			nsx_text_share(l->arena, (double)v->ns, length_ns)),
		.evidence = {nsx_tell(l,
			nsx_has_window(t) ? say_window : say_from_first_call_mpi_end,
			nsx_tell_ns(l, v->ns), nsx_text_n(l->arena, (size_t)v->count, "call", NULL),
			nsx_text_ns(l->arena, length_ns))},
		.recommendation = {say_see_what_other_side_does},
		.proof = {{.csv = "library_calls", .column = "total_time_ms",
			.at = {{"pid", nsx_pid_cell(t, process)},
				{"function", nsx_string(nsx_text(t, v->name))}}}}};

	if ((double)v->ns < MUCH * length_ns)
		return;
	spun = spun_ms(d, &spinning);
	if (spun >= MUCH * d->measured->busiest.of_ms && spinning == process)
		f.evidence[nsaid++] =
			nsx_tell(l, say_time_mpi_on_cpu_or, nsx_text_ns(l->arena, spun * 1e6));
	for (size_t i = 1; i < s->keys.n && nsaid <= FEW_NEXT; i++)
		if ((double)v[i].ns >= MUCH * length_ns)
			f.evidence[nsaid++] = nsx_tell(l, "process %s is in %s for %s%s",
				nsx_pid_label(t, (uint32_t)v[i].who),
				nsx_tell_name(l, nsx_text(t, v[i].name)), nsx_tell_ns(l, v[i].ns),
				v[i].is_coll ? say_where_waits_who_comes_last : "");
	nsx_found(l, &f);
}

int nsx_detect_without_gpu(struct nsx_detect *d, struct nsx_err *err)
{
	struct nsx_window told = nsx_host_window(d->trace);
	double least = MUCH * (double)(told.end_ns - told.start_ns);

	for (size_t i = 0; i <= ARRAY_LEN(sources); i++) {
		bool is_mpi = i == ARRAY_LEN(sources);
		struct sums *s = nsx_arena_get(d->scratch, sizeof(*s));

		nsx_keep_groups(d, &s->keys, &s->v);
		if ((is_mpi ? sum_mpi : sources[i].sum)(d, s, err))
			return err->rc;
		nsx_sort_r(s->v, s->keys.n, sizeof(*s->v), cmp_spent, (void *)d->trace);
		if (!s->keys.n || s->v->ns <= 0)
			continue;
		if (is_mpi)
			propose_mpi(d, s);
		else if ((double)s->v->ns >= least)
			no_gpu_propose(d, &sources[i], s);
	}
	return 0;
}

/* Adds the function in which most samples of a thread lie, if samples were recorded. */
static int add_hottest(struct nsx_detect *d, int64_t tid, struct nsx_finding *f,
		       struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	struct nsx_votes *votes = nsx_new_votes(d);
	struct nsx_winner hot;
	bool is_python;
	int rc = 0;

	for (uint32_t i = 0; i < t->nsampled; i++) {
		const struct nsx_sampled *s = &t->sampled[i];

		for (size_t k = 0; !rc && k < s->n && nsx_tid_of(s->global_tid) == tid; k++)
			if (nsx_starts_inside(t, nsx_unpack(&t->samples.start, s->at + k))) {
				uint32_t frame = nsx_sample_frame(t, s->at + k);

				rc = nsx_vote(votes, 0, frame != NSX_NONE &&
					t->frame[frame].function ? frame : NSX_NONE, 1, err);
			}
	}
	for (size_t i = 0; !rc && i < t->npython; i++)
		if (nsx_tid_of(t->python[i].global_tid) == tid &&
		    nsx_starts_inside(t, t->python[i].at_ns))
			rc = nsx_vote(votes, 1, t->python[i].site, 1, err);
	hot = nsx_votes_won(votes, 1);
	is_python = hot.frame != NSX_NONE;
	if (!is_python)
		hot = nsx_votes_won(votes, 0);
	if (!rc && hot.frame != NSX_NONE)
		nsx_add_evidence(
			f, nsx_tell(d->found, say_samples_more_than_any, (long long)hot.weight,
				   (long long)hot.all, is_python ? "Python" : "CPU",
				   nsx_frame_words(d, hot.frame)));
	return rc;
}

/* Proposes the thread with most CPU samples, for a trace without scheduling. */
static int propose_sampled(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_sampled *top = NULL;
	size_t most = 0, all = 0;

	for (uint32_t i = 0; i < t->nsampled; i++) {
		const struct nsx_sampled *s = &t->sampled[i];
		size_t n = 0;

		for (size_t k = 0; k < s->n; k++)
			n += nsx_starts_inside(t, nsx_unpack(&t->samples.start, s->at + k));
		all += n;
		if (n > most) {
			most = n;
			top = s;
		}
	}
	if (!top)
		return 0;
	struct nsx_finding f = {.id = NSX_ID_host_threads,
		.device = NSX_NONE, .confidence = NSX_CONF_MEDIUM,
		.title = nsx_tell(d->found, say_thread_has_samples,
			(long long)nsx_tid_of(top->global_tid),
			top->name ? nsx_tell(d->found, " (%s)", nsx_tell_name(d->found,
				nsx_thread_label(nsx_text(t, top->name)))) : "",
			nsx_text_share(d->found->arena, (double)most, (double)all)),
		.recommendation = {say_look_at_functions_runs}};

	if (add_hottest(d, nsx_tid_of(top->global_tid), &f, err))
		return err->rc;
	nsx_found(d->found, &f);
	return 0;
}

/* Proposes the thread that is on a CPU most, unless it mostly spins in MPI. */
int nsx_detect_busiest(struct nsx_detect *d, struct nsx_err *err)
{
	struct nsx_findings *l = d->found;
	const struct nsx_measured *m = d->measured;
	uint32_t spinning;
	const char *others = m->busiest.others_ms > 0 ?
				     nsx_tell(l, say_all_other_threads_together,
					     nsx_text_ns(l->arena, m->busiest.others_ms * 1e6)) :
				     say_no_other_thread_was_on;

	if (m->busiest.of_ms <= 0)
		return propose_sampled(d, err);
	if (!m->busiest.name ||
	    m->busiest.on_ms < BUSY_SHARE * m->busiest.of_ms ||
	    spun_ms(d, &spinning) * 2 > m->busiest.on_ms)
		return 0;
	struct nsx_finding f = {.id = NSX_ID_host_threads,
		.device = NSX_NONE, .confidence = NSX_CONF_HIGH, .most_ns = m->busiest.on_ms * 1e6,
		.title = nsx_tell(l, say_one_thread_on_cpu_time,
			100 * m->busiest.on_ms / m->busiest.of_ms,
			nsx_tell_name(l, m->busiest.name)),
		.evidence = {nsx_tell(l, "%s of %s; %s",
			nsx_text_ns(l->arena, m->busiest.on_ms * 1e6),
			nsx_text_ns(l->arena, m->busiest.of_ms * 1e6), others)},
		.recommendation = {d->trace->samples.n ? say_look_at_functions_runs :
							 say_see_which_functions_runs},
		.proof = {{.csv = "cpu_threads",
			.column = "on_cpu_ms",
			.at = {{"tid", nsx_int(m->busiest.tid)}}}}};

	if (add_hottest(d, m->busiest.tid, &f, err))
		return err->rc;
	if (d->trace->ngpus && !d->trace->calls.n)
		nsx_add_evidence(&f, nsx_tell(l, say_machine_did_nothing_was,
					     nsx_text_n(l->arena, d->trace->ngpus, "GPU", NULL)));
	nsx_found(l, &f);
	return 0;
}
