/* no_gpu.c - traces without GPU work: where the host's time goes. */
#include <inttypes.h>
#include "detect/detect.h"
#include "facts/blame.h"

#define MUCH 0.1      /* share of the recording, or of the user's window, that is reported */
#define BUSY_SHARE 0.25 /* a thread is named from this share of the time on a CPU */
enum { FEW_NEXT = 2 };

struct spent { /* time of a process in one function of MPI */
	int64_t ns, count;
	nsx_str name;
	uint32_t process;
	bool is_coll; /* ranks wait in it for the last one                   */
};
struct sums {
	struct nsx_groups keys;
	struct spent *v;
	struct nsx_window mpi; /* from the first call of MPI to the end of the last */
};

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
		uint32_t process = t->thread[c->thread[i]].process;
		struct spent *x;

		if (c->library[i] != NSX_LIBRARY_MPI ||
		    (ns <= 0 && !nsx_starts_inside(t, start_ns)))
			continue;
		x = nsx_group_value(&s->keys, &s->v, process, c->name[i], "MPI calls", err);
		if (!x)
			return err->rc;
		x->process = process;
		x->name = c->name[i];
		x->is_coll = c->is_coll[i];
		x->count++;
		nsx_add_to(&x->ns, ns);
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
	       strcmp(nsx_text(ctx, x->name), nsx_text(ctx, y->name)) ?: NSX_CMP(x->process, y->process);
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

static void tell_mpi(struct nsx_detect *d, const struct sums *s)
{
	const struct nsx_trace *t = d->trace;
	struct nsx_findings *l = d->found;
	const struct spent *v = s->v;
	double length_ns = (double)(s->mpi.end_ns - s->mpi.start_ns), spun;
	uint32_t spinning, process = v->process;
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
				nsx_pid_label(t, v[i].process),
				nsx_tell_name(l, nsx_text(t, v[i].name)), nsx_tell_ns(l, v[i].ns),
				v[i].is_coll ? say_where_waits_who_comes_last : "");
	nsx_found(l, &f);
}

static int propose_mpi(struct nsx_detect *d, struct nsx_err *err)
{
	struct sums *s = nsx_arena_get(d->scratch, sizeof(*s));

	nsx_keep_groups(d, &s->keys, &s->v);
	if (sum_mpi(d, s, err))
		return err->rc;
	nsx_sort_r(s->v, s->keys.n, sizeof(*s->v), cmp_spent, (void *)d->trace);
	if (s->keys.n && s->v->ns > 0)
		tell_mpi(d, s);
	return 0;
}

/* Adds the function in which most CPU samples in the ranges of a name lie. */
static int add_sampled_in_range(struct nsx_detect *d, nsx_str range, struct nsx_finding *f,
				struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	struct nsx_votes *votes = nsx_new_votes(d);
	struct nsx_winner hot;
	struct nsx_window told = nsx_host_window(t);
	size_t cursor = 0;

	for (uint32_t i = 0; i < t->nvtx.n; i++) {
		uint32_t thread = nsx_nvtx_thread(t, i);
		struct nsx_span in = {NSX_MAX(nsx_range_start(&t->nvtx, i), told.start_ns),
				      NSX_MIN(nsx_range_end(&t->nvtx, i), told.end_ns)};

		cursor = i == t->thread[thread].nvtx_at ? 0 : cursor;
		if (t->nvtx.kind[i] == NSX_NVTX_STACK &&
		    nsx_range_label(t, t->nvtx.name[i]) == range &&
		    nsx_vote_samples(d, votes, 0, thread, &cursor, in, err))
			return err->rc;
	}
	hot = nsx_votes_won(votes, 0);
	if (hot.frame != NSX_NONE)
		nsx_add_evidence(f, nsx_tell(d->found, say_samples_in_ranges,
					     (long long)hot.weight, (long long)hot.all,
					     nsx_frame_words(d, hot.frame)));
	return 0;
}

/* Adds the frame that calls an OS function for longest. */
static void add_caller(struct nsx_detect *d, nsx_str call, struct nsx_finding *f)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_osrt_sum *most = NULL;

	for (size_t i = 0; i < t->nosrt_sums; i++)
		if (t->osrt_sum[i].name == call && t->osrt_sum[i].site != NSX_NONE &&
		    (!most || t->osrt_sum[i].total_ns > most->total_ns))
			most = &t->osrt_sum[i];
	if (most)
		nsx_add_evidence(f, nsx_tell(d->found, say_most_is_called_from,
					     nsx_frame_words(d, most->site)));
}

/* Whether one of several threads has most of it while others wait. */
static bool is_uneven(const struct nsx_blamed *x)
{
	return x->nthreads > 1 && 2 * x->most_ns > x->ns && x->wait_ns > x->ns;
}

static const char *advise_on(const struct nsx_detect *d, const struct nsx_blamed *x)
{
	const struct nsx_trace *t = d->trace;
	bool is_waited_for = 2 * x->wait_ns > x->ns;
	const char *name = nsx_text(t, x->call ? x->call : x->wait);

	if (x->is_cuda)
		return say_see_whether_start_cuda;
	if (is_uneven(x))
		return nsx_tell(d->found, say_give_thread_less,
				(long long)nsx_tid_of(x->global_tid));
	if (!x->call)
		return is_waited_for && (strstr(name, "mutex") || strstr(name, "rwlock") ||
					 strstr(name, "spin")) ? say_hold_lock_for_less :
		       is_waited_for ? say_others_wait_for_it :
		       t->samples.n ? say_look_at_functions_runs : say_look_inside_range_first;
	switch (nsx_purpose_of(name, NULL)) {
	case NSX_OS_SLEEP:
		return nsx_tell(d->found, say_wait_event_there_not_fixed,
				nsx_tell_name(d->found, name));
	case NSX_OS_FILES:
		return say_do_it_on_another_thread;
	case NSX_OS_STREAMS:
		return strstr(name, "read") ? say_see_what_it_reads : say_do_it_on_another_thread;
	case NSX_OS_EVENTS:
	case NSX_OS_NETWORK:
		return say_see_what_it_waits_for;
	default:
		return strstr(name, "system") || strstr(name, "popen") || strstr(name, "fork") ?
			       say_start_fewer_processes :
		       nsx_has_view(t->schema, NSX_VIEW_osrt_frame) ?
			       say_find_out_what_waits_where :
			       say_find_out_what_waits_with;
	}
}

/* "usleep in `load`", "`train`"; without `quoted` as data: "usleep in load" */
static const char *blamed_name(const struct nsx_detect *d, const struct nsx_blamed *x, bool quoted)
{
	struct nsx_findings *l = d->found;
	const char *range = nsx_text(d->trace, x->range);
	const char *call = nsx_text_api(l->arena, nsx_text(d->trace, x->call));

	if (quoted) {
		range = nsx_tell_name(l, range);
		call = nsx_tell_name(l, call);
	}
	return !x->call ? range : x->range ? nsx_tell(l, "%s in %s", call, range) : call;
}

/* *is_explained: whether a finding has said how time is shared. */
static int tell_blamed(struct nsx_detect *d, const struct nsx_blamed *x, struct nsx_finding *f,
		       bool *is_explained, struct nsx_err *err)
{
	struct nsx_findings *l = d->found;
	const char *part = nsx_tell_ns(l, x->ns), *whole = nsx_tell_ns(l, x->thread_ns);

	f->evidence[0] = nsx_tell(l, "%s in %s%s%s%s", whole,
		nsx_text_n(l->arena, x->count, x->call ? "call" : "range", NULL),
		x->nthreads > 1 ? nsx_tell(l, " on %u threads", x->nthreads) : "",
		nsx_text_profiled(l->arena, x->profiled_ns, x->thread_ns),
		x->call ? "" : say_not_counting_ranges_inside);
	if (is_uneven(x))
		nsx_add_evidence(f, nsx_tell(l, say_most_of_it_on_thread,
			(long long)nsx_tid_of(x->global_tid),
			nsx_text_share(l->arena, x->most_ns, x->ns)));
	if (x->wait)
		nsx_add_evidence(f, nsx_tell(l, say_others_wait_meanwhile,
			nsx_tell_ns(l, x->wait_ns), nsx_tell_name(l, nsx_text(d->trace, x->wait))));
	if (x->call && !x->is_cuda)
		add_caller(d, x->call, f);
	else if (!x->call && add_sampled_in_range(d, x->range, f, err))
		return err->rc;
	if (!strcmp(part, whole))
		return 0;
	nsx_add_evidence(f, nsx_tell(l, "%s of the program's time%s", part,
				     *is_explained ? "" : say_where_several_work));
	*is_explained = true;
	return 0;
}

static int propose_blamed(struct nsx_detect *d, const struct nsx_blamed *x, double length_ns,
			  bool *is_explained, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	struct nsx_findings *l = d->found;
	const char *what = nsx_tell(l, x->call ? "calls of %s" : "the NVTX range %s",
				    blamed_name(d, x, true));
	struct nsx_finding f = {
		.id = !x->call ? NSX_ID_host_ranges :
		      x->is_cuda ? NSX_ID_host_calls : NSX_ID_host_os_calls,
		.subject = blamed_name(d, x, false), .device = NSX_NONE, .host = x->call ? x->call : x->range,
		.confidence = NSX_CONF_HIGH, .most_ns = x->ns,
		.title = nsx_tell(l, "%s take%s %s of the %s", what, x->call ? "" : "s",
				  nsx_text_share(l->arena, x->ns, length_ns),
				  nsx_has_window(t) ? "window" : "recording"),
		.recommendation = {advise_on(d, x)}};

	if (tell_blamed(d, x, &f, is_explained, err))
		return err->rc;
	if (!x->call)
		f.proof[0] = (struct nsx_evidence){
			.csv = "nvtx_ranges", .column = "exclusive_ms",
			.at = {{"range_name", nsx_string(nsx_text(t, x->range))}}};
	else if (!x->is_cuda)
		f.proof[0] = (struct nsx_evidence){
			.csv = "os_runtime", .column = "total_time_ms",
			.at = {{"tid", nsx_int((int64_t)nsx_tid_of(x->global_tid))},
			       {"api_name", nsx_string(nsx_text(t, x->call))}}};
	nsx_found(l, &f);
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
static int propose_busiest(struct nsx_detect *d, struct nsx_err *err)
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
			m->busiest.others_ms > m->busiest.on_ms ? "the busiest" : "one",
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

int nsx_detect_without_gpu(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	struct nsx_window told = nsx_host_window(t);
	double length_ns = nsx_has_window(t) ? (double)(told.end_ns - told.start_ns) :
					       (double)nsx_recorded_ns(t, d->measured);
	struct nsx_blamed v[NSX_MOST_BLAMED];
	bool is_explained = false, is_told = false; /* is_told: what the busiest thread does */
	size_t n;

	if (nsx_find_blame(t, d->facts, v, &n, err))
		return err->rc;
	for (size_t i = 0; i < n; i++) {
		uint8_t flags = 0;

		/* A wait for GPU work tells nothing where that work was not recorded. */
		if ((!v[i].range && !v[i].call) || v[i].ns < MUCH * length_ns ||
		    (v[i].is_cuda && nsx_classify_call(nsx_text(t, v[i].call), &flags) ==
					     NSX_CALL_SYNC))
			continue;
		if (propose_blamed(d, &v[i], length_ns, &is_explained, err))
			return err->rc;
		is_told |= !v[i].call &&
			   (int64_t)nsx_tid_of(v[i].global_tid) == d->measured->busiest.tid;
	}
	return propose_mpi(d, err) ?: is_told ? 0 : propose_busiest(d, err);
}
