/* barriers.c - finds where each host thread waited, and what its GPUs did meanwhile.
 *
 * Barriers are of three sorts: blocking API calls, of which nested ones count once; outermost OSRT
 * calls of launching threads, without the time inside API calls; and the time between two launches
 * that neither of these covers. A wait alone costs nothing: the cost of a barrier comes from the
 * gaps it causes (idle.c).
 *
 * Each process is a task, because its GPUs share one union of busy time. Gaps between launches are
 * found thread by thread, so that one thread's gap does not hide another's.
 */
#include "facts/facts.h"
#include "base/par.h"
#include "base/stat.h"

enum { LAUNCHER_GAP_NS = 50000, LONG_ALLOC_NS = 100000 };

struct busy { /* busy time of all GPUs of a process */
	struct nsx_spans spans;
	int64_t *sum; /* NULL: it uses no GPU */
};

struct job {
	struct nsx_facts *f;
	const struct nsx_trace *t;
	uint32_t *first_thread; /* for each process: its first thread; nprocesses + 1 entries */
	uint32_t *uses_at;	/* for each process: its slice of uses; nprocesses + 1 entries */
	uint32_t *uses;		/* devices that the processes use            */
	int64_t **device_sum;	/* for each device: prefix sums of its busy spans */
	struct found {
		struct nsx_barrier *v;
		uint32_t *by_end;
		size_t n;
	} *found; /* one for each process */
};

struct work { /* state of the task of one process */
	const struct job *job;
	const struct nsx_trace *t;
	struct busy busy;
	struct nsx_arena *arena;
	struct nsx_barrier *v;
	size_t n, cap;
	struct nsx_spans api, os; /* barriers of the current thread so far   */
	size_t cap_api, cap_os;
};

/* The time of one barrier, summed over its pieces. */
struct sum {
	int64_t whole_ns, wait_ns, busy_ns, inside_ns;
};

static void barriers_add_piece(const struct work *w, struct sum *s, int64_t start_ns,
			       int64_t end_ns)
{
	const struct nsx_window *in = &w->t->window;
	int64_t a = NSX_MAX(start_ns, in->start_ns);
	int64_t b = NSX_MIN(end_ns, in->end_ns);

	nsx_add_to(&s->whole_ns, end_ns - start_ns);
	nsx_add_to(&s->wait_ns, nsx_in_window(w->t, start_ns, end_ns));
	if (a >= b || !w->busy.sum)
		return;
	nsx_add_to(&s->inside_ns, b - a);
	nsx_add_to(&s->busy_ns, nsx_spans_within(&w->busy.spans, w->busy.sum, a, b));
}

static int barriers_add_event(struct work *w, uint32_t thread,
			      enum nsx_barrier_kind kind, nsx_str name,
			      struct nsx_span span, const struct sum *s, struct nsx_err *err)
{
	bool known = w->busy.sum;

	return nsx_push(w->v, w->n, w->cap, "barriers", err,
			(struct nsx_barrier){
		.start_ns = span.start_ns, .end_ns = span.end_ns,
		.wait_ns = s->wait_ns,
		.gpu_busy_ns = known ? s->busy_ns : -1,
		.gpu_idle_ns = known ? s->inside_ns - s->busy_ns : -1,
		.thread = thread, .name = name, .kind = (uint8_t)kind});
}

static int append_barrier_span(struct nsx_spans *list, size_t *cap, int64_t start_ns,
			       int64_t end_ns, struct nsx_err *err)
{
	if (nsx_grow(&list->v, cap, list->n + 1, sizeof(*list->v), "barrier spans", err))
		return err->rc;
	nsx_spans_push(list, start_ns, end_ns);
	return 0;
}

/* API calls -----------------------------------------------------------------*/

/* The kind of barrier that a call is, or -1. Calls that unload or link modules are no barriers,
 * because they do not wait for the GPU. Allocations of managed memory only map it and are no
 * barriers either.
 */
static int barriers_kind_of_call(const struct work *w, size_t call)
{
	const struct nsx_calls *c = &w->t->calls;
	const char *name = nsx_call_text(w->t, call);

	switch (c->cls[call]) {
	case NSX_CALL_SYNC:
		return NSX_BARRIER_SYNC_API;
	case NSX_CALL_COPY:
	case NSX_CALL_COPY_ASYNC:
		return nsx_call_blocks(w->job->f, w->t, call) ? NSX_BARRIER_BLOCKING_MEMCPY : -1;
	case NSX_CALL_IMPLICIT_SYNC:
		if ((c->flags[call] & NSX_CALL_MALLOC) &&
		    (nsx_call_ns(c, call) < LONG_ALLOC_NS ||
		     strstr(name, "Managed")))
			return -1;
		return NSX_BARRIER_IMPLICIT_SYNC;
	case NSX_CALL_MODULE:
		return strstr(name, "Load") ? NSX_BARRIER_IMPLICIT_SYNC : -1;
	default:
		return -1;
	}
}

static int barriers_add_calls(struct work *w, uint32_t thread, struct nsx_err *err)
{
	const struct nsx_thread *th = &w->t->thread[thread];
	const struct nsx_calls *c = &w->t->calls;
	int64_t until = INT64_MIN;

	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
		struct nsx_span span = {nsx_call_start(c, i), nsx_call_end(c, i)};
		int kind = barriers_kind_of_call(w, i);
		struct sum s = {0};

		if (kind < 0 || span.end_ns <= until)
			continue;
		until = span.end_ns;
		barriers_add_piece(w, &s, span.start_ns, span.end_ns);
		if (barriers_add_event(w, thread, (enum nsx_barrier_kind)kind,
				       nsx_call_name(c, i), span, &s, err) ||
		    append_barrier_span(&w->api, &w->cap_api, span.start_ns, span.end_ns, err))
			return err->rc;
	}
	return 0;
}

/* OSRT calls ------------------------------------------------------------------*/

/* Adds a piece of an OSRT call that lies outside API calls. */
static int barriers_add_outside(struct work *w, struct sum *s, int64_t start_ns,
				int64_t end_ns, struct nsx_err *err)
{
	if (start_ns >= end_ns)
		return 0;
	barriers_add_piece(w, s, start_ns, end_ns);
	return append_barrier_span(&w->os, &w->cap_os, start_ns, end_ns, err);
}

/* Adds the parts of a span that lie outside API calls. *cursor: the first call to check, which only
 * advances because outermost calls are ordered by end.
 */
static int barriers_add_pieces(struct work *w, const struct nsx_thread *th,
			       size_t *cursor, struct nsx_span span, struct sum *s,
			       struct nsx_err *err)
{
	const struct nsx_calls *c = &w->t->calls;
	size_t end = th->calls_at + th->ncalls;
	int64_t at = span.start_ns;

	while (*cursor < end && nsx_call_end(c, *cursor) <= at)
		++*cursor;
	for (size_t i = *cursor;
	     i < end && at < span.end_ns && nsx_call_start(c, i) < span.end_ns;
	     i++) {
		if (barriers_add_outside(w, s, at, nsx_call_start(c, i), err))
			return err->rc;
		at = NSX_MAX(at, nsx_call_end(c, i));
	}
	return barriers_add_outside(w, s, at, span.end_ns, err);
}

/* Adds the OS calls of a thread. If rows overlap, the shared time counts for the earlier one, and
 * recorded nesting levels are ignored. A row that lies entirely inside API calls is no barrier.
 */
static int barriers_add_os_calls(struct work *w, uint32_t thread, struct nsx_err *err)
{
	const struct nsx_thread *th = &w->t->thread[thread];
	const struct nsx_osrt *o = &w->t->osrt;
	const struct nsx_calls *c = &w->t->calls;
	size_t cursor = th->calls_at, end = th->calls_at + th->ncalls;
	int64_t until = INT64_MIN;

	for (size_t i = th->osrt_at; i < th->osrt_at + th->nosrt; i++) {
		struct nsx_span span = {o->start_ns[i], o->end_ns[i]};
		struct nsx_span own = {NSX_MAX(span.start_ns, until), span.end_ns};
		struct sum s = {0};

		if (own.start_ns > own.end_ns)
			continue;
		until = NSX_MAX(until, span.end_ns);
		if (barriers_add_pieces(w, th, &cursor, own, &s, err))
			return err->rc;
		if (!s.whole_ns &&
		    (span.start_ns < span.end_ns ||
		     (cursor < end &&
		      nsx_call_start(c, cursor) <= own.start_ns)))
			continue;
		if (barriers_add_event(w, thread, NSX_BARRIER_HOST_WAIT, o->name[i], span, &s, err))
			return err->rc;
	}
	return 0;
}

/* Launcher gaps -----------------------------------------------------------------*/

static int barriers_add_gap(struct work *w, uint32_t thread, struct nsx_span gap,
			    const struct nsx_spans *waits, size_t *cursor, struct nsx_err *err)
{
	struct sum s = {0};
	int64_t at = gap.start_ns;

	while (*cursor < waits->n && waits->v[*cursor].end_ns <= at)
		++*cursor;
	for (size_t i = *cursor; i < waits->n && waits->v[i].start_ns < gap.end_ns; i++) {
		if (waits->v[i].start_ns > at)
			barriers_add_piece(w, &s, at, waits->v[i].start_ns);
		at = NSX_MAX(at, waits->v[i].end_ns);
	}
	if (at < gap.end_ns)
		barriers_add_piece(w, &s, at, gap.end_ns);
	if (!s.whole_ns)
		return 0;
	return barriers_add_event(w, thread, NSX_BARRIER_LAUNCHER_GAP, 0, gap, &s, err);
}

/* Adds the launcher gaps of a thread. The threshold applies to the whole gap between two launches
 * (queries/README.md 10). After that, time that other barriers cover is subtracted.
 */
static int add_gaps(struct work *w, uint32_t thread, struct nsx_err *err)
{
	const struct nsx_thread *th = &w->t->thread[thread];
	const struct nsx_calls *c = &w->t->calls;
	struct nsx_spans waits;
	int64_t until = INT64_MAX;
	size_t cursor = 0;

	if (nsx_spans_union(w->arena, &w->api, &w->os, &waits, err))
		return err->rc;
	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
		if (c->cls[i] != NSX_CALL_LAUNCH)
			continue;
		if (until < nsx_call_start(c, i) &&
		    nsx_call_start(c, i) - until >= LAUNCHER_GAP_NS &&
		    barriers_add_gap(w, thread, (struct nsx_span){until, nsx_call_start(c, i)},
				     &waits, &cursor, err))
			return err->rc;
		until = until == INT64_MAX ? nsx_call_end(c, i)
					   : NSX_MAX(until, nsx_call_end(c, i));
	}
	nsx_arena_drop(w->arena, waits.v);
	return 0;
}

/* Order ---------------------------------------------------------------------*/

NSX_ORDER_IN(cmp_barrier_starts, struct nsx_barrier, struct nsx_trace, UP(x->start_ns),
	     UP(x->end_ns), UP(x->kind), BY(nsx_str_cmp(c->strings, x->name, y->name)));

NSX_ORDER_IN(cmp_barrier_ends, uint32_t, struct work,
	     UP(c->v[*x].kind == NSX_BARRIER_LAUNCHER_GAP), UP(c->v[*x].end_ns),
	     UP(c->v[*x].start_ns), UP(c->v[*x].kind),
	     BY(nsx_str_cmp(c->t->strings, c->v[*x].name, c->v[*y].name)));

/* Adds all events of a thread, sorted by start, to w->v. */
static int barriers_add_thread(struct work *w, uint32_t thread, struct nsx_err *err)
{
	struct nsx_thread_barriers *slice = &w->job->f->thread_barriers[thread];
	size_t first = w->n;

	w->api.n = w->os.n = 0;
	if (barriers_add_calls(w, thread, err) || barriers_add_os_calls(w, thread, err))
		return err->rc;
	slice->at = (uint32_t)first;
	slice->nwaits = (uint32_t)(w->n - first);
	if (w->t->thread[thread].launches && add_gaps(w, thread, err))
		return err->rc;
	slice->n = (uint32_t)(w->n - first);
	if (slice->n) /* v may be NULL if n is 0 */
		nsx_sort_r(w->v + first, slice->n, sizeof(*w->v), cmp_barrier_starts, (void *)w->t);
	return nsx_stopped(err);
}

/* Processes -----------------------------------------------------------------*/

/* Finds the busy time of all GPUs of a process. The list of a single GPU is shared, not copied. */
static int barriers_find_busy(struct work *w, uint32_t process, struct nsx_err *err)
{
	const struct job *job = w->job;
	uint32_t at = job->uses_at[process];
	uint32_t n = job->uses_at[process + 1] - at;
	struct nsx_spans all;

	if (!n)
		return 0;
	w->busy.spans = job->f->busy[job->uses[at]];
	w->busy.sum = job->device_sum[job->uses[at]];
	if (n == 1)
		return 0;
	for (uint32_t i = 1; i < n; i++) {
		if (nsx_spans_union(w->arena, &w->busy.spans, &job->f->busy[job->uses[at + i]],
				    &all, err))
			return err->rc;
		if (i > 1)
			nsx_arena_drop(w->arena, w->busy.spans.v);
		w->busy.spans = all;
	}
	return nsx_spans_prefix(w->arena, &w->busy.spans, &w->busy.sum, err);
}

static int sort_barriers_by_end(struct work *w, uint32_t process, struct found *ret,
				struct nsx_err *err)
{
	const struct job *job = w->job;

	ret->by_end = nsx_try_alloc(w->n, sizeof(*ret->by_end), "barriers", err);
	if (!ret->by_end)
		return err->rc;
	for (size_t i = 0; i < w->n; i++)
		ret->by_end[i] = (uint32_t)i;
	for (uint32_t h = job->first_thread[process]; h < job->first_thread[process + 1]; h++) {
		const struct nsx_thread_barriers *s = &job->f->thread_barriers[h];

		nsx_sort_r(ret->by_end + s->at, s->n, sizeof(*ret->by_end), cmp_barrier_ends, w);
	}
	return 0;
}

static int find_process_barriers(void *ctx, size_t process, struct nsx_err *err)
{
	struct job *job = ctx;
	struct found *found = &job->found[process];
	struct work w = {.job = job, .t = job->t};
	uint32_t p = (uint32_t)process;
	int rc;

	w.arena = nsx_arena_new();
	rc = barriers_find_busy(&w, p, err);
	for (uint32_t h = job->first_thread[p]; !rc && h < job->first_thread[p + 1]; h++)
		rc = barriers_add_thread(&w, h, err);
	if (!rc)
		rc = sort_barriers_by_end(&w, p, found, err);
	found->v = w.v;
	found->n = w.n;
	free(w.api.v);
	free(w.os.v);
	nsx_arena_free(w.arena);
	return rc;
}

/* Concatenates the lists of all processes. */
static int concatenate_barriers(struct job *job, struct nsx_err *err)
{
	struct nsx_facts *f = job->f;
	size_t n = 0;

	for (uint32_t p = 0; p < job->t->nprocesses; p++)
		n += job->found[p].n;
	if (n >= NSX_NONE)
		return nsx_fail(err, NSX_E_NOMEM, "too many barriers");
	if (nsx_new_arrays(f->arena, n, "barriers", err, f->barriers, f->barrier_by_end))
		return err->rc;
	for (uint32_t p = 0; p < job->t->nprocesses; p++) {
		const struct found *x = &job->found[p];
		uint32_t at = (uint32_t)f->nbarriers;

		for (size_t i = 0; i < x->n; i++) {
			f->barriers[at + i] = x->v[i];
			f->barrier_by_end[at + i] = at + x->by_end[i];
		}
		for (uint32_t h = job->first_thread[p]; h < job->first_thread[p + 1]; h++)
			f->thread_barriers[h].at += at;
		f->nbarriers += x->n;
	}
	return 0;
}

/* Preparation ----------------------------------------------------------------- */

/* Marks the async copies that block the host: those of pageable memory, because the host stages it,
 * and those with half of their run time inside their call (queries/README.md 10).
 */
static int find_blocking_copies(struct nsx_facts *f, const struct nsx_trace *t, struct nsx_err *err)
{
	const struct nsx_ops *o = &t->ops;
	const struct nsx_calls *c = &t->calls;

	if (!nsx_new_array(f->copy_blocks, f->arena, c->n / 8 + 1, "blocking copies", err))
		return err->rc;
	for (size_t i = 0; i < o->n; i++) {
		uint32_t call = nsx_op_call(o, i);
		const struct nsx_copy *copy;
		int64_t both;

		if (o->kind[i] != NSX_OP_MEMCPY || call == NSX_NONE ||
		    c->cls[call] != NSX_CALL_COPY_ASYNC)
			continue;
		copy = nsx_op_copy(t, i);
		both = NSX_MIN(nsx_call_end(c, call), nsx_op_end(o, i)) -
		       NSX_MAX(nsx_call_start(c, call), nsx_op_start(o, i));
		if (both > 0 && (copy->src_kind == NSX_MEM_PAGEABLE ||
				 copy->dst_kind == NSX_MEM_PAGEABLE ||
				 both >= nsx_op_ns(o, i) - both))
			f->copy_blocks[call / 8] |= (uint8_t)(1u << call % 8);
	}
	return 0;
}

static int find_loading_launches(struct nsx_facts *f, const struct nsx_trace *t,
				 struct nsx_err *err)
{
	enum { LOAD_NS = 50000000, FIRST_NS = 1000000 };
	const struct nsx_calls *c = &t->calls;
	uint32_t *launcher; /* for each kernel name: 1 + the last thread so far that launched it */

	if (!nsx_new_array(f->loads_code, f->arena, c->n / 8 + 1, "calls", err))
		return err->rc;
	launcher = nsx_try_alloc(nsx_strings_bound(t->strings), sizeof(*launcher), "kernel names",
				 err);
	if (!launcher)
		return err->rc;
	for (size_t i = 0; i < c->n; i++) {
		int64_t ns = nsx_call_end(c, i) - nsx_call_start(c, i);
		uint32_t op = nsx_call_op(c, i), by = nsx_call_thread(t, i) + 1;
		bool is_first = op != NSX_NONE && t->ops.kind[op] == NSX_OP_KERNEL &&
				launcher[nsx_op_name(t, op)] != by;

		if (is_first)
			launcher[nsx_op_name(t, op)] = by;
		if (c->cls[i] == NSX_CALL_LAUNCH && ns >= (is_first ? FIRST_NS : LOAD_NS))
			f->loads_code[i / 8] |= (uint8_t)(1u << i % 8);
	}
	free(launcher);
	return 0;
}

/* Visits each device that a process uses, once. Without `put` it is counted; with `put` it is
 * written to the process's slice. seen is scratch, by process.
 */
static void list_process_devices(struct job *job, uint32_t *seen, bool put)
{
	const struct nsx_trace *t = job->t;

	memset(seen, 0xff, t->nprocesses * sizeof(*seen));
	for (uint32_t d = 0; d < t->ndevices; d++)
		for (size_t i = t->device[d].ops_at;
		     i < t->device[d].ops_at + t->device[d].nops; i++) {
			uint32_t p = nsx_op_process(t, i);

			if (p == NSX_NONE || seen[p] == d)
				continue;
			seen[p] = d;
			if (put)
				job->uses[job->uses_at[p + 1]++] = d;
			else
				job->uses_at[p + 2]++;
		}
}

static int find_process_devices(struct job *job, struct nsx_arena *a, struct nsx_err *err)
{
	uint32_t n = job->t->nprocesses;
	uint32_t *seen;

	if (nsx_new_arrays(a, n, "processes", err, seen) ||
	    nsx_new_arrays(a, (size_t)n + 2, "processes", err, job->uses_at))
		return err->rc;
	list_process_devices(job, seen, false);
	for (uint32_t p = 0; p < n; p++)
		job->uses_at[p + 2] += job->uses_at[p + 1];
	if (nsx_new_arrays(a, job->uses_at[n + 1], "devices", err, job->uses))
		return err->rc;
	/* Moves each start to the end of its slice, where the next slice starts. */
	list_process_devices(job, seen, true);
	return 0;
}

static int find_first_threads(struct job *job, struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_trace *t = job->t;
	uint32_t h = 0;

	if (nsx_new_arrays(a, t->nprocesses + (size_t)1, "processes", err,
			   job->first_thread) ||
	    nsx_new_arrays(a, t->nprocesses, "processes", err, job->found))
		return err->rc;
	for (uint32_t p = 0; p < t->nprocesses; p++) {
		job->first_thread[p] = h;
		while (h < t->nthreads && t->thread[h].process == p)
			h++;
	}
	job->first_thread[t->nprocesses] = h;
	return 0;
}

static int sum_device_busy(void *ctx, size_t d, struct nsx_err *err)
{
	struct job *job = ctx;

	return nsx_spans_prefix(job->f->device_arena[d], &job->f->busy[d], &job->device_sum[d],
				err);
}

static int prepare_job(struct job *job, unsigned threads, struct nsx_arena *a,
		       struct nsx_err *err)
{
	const struct nsx_trace *t = job->t;
	struct nsx_facts *f = job->f;

	if (nsx_new_arrays(a, t->ndevices, "devices", err, job->device_sum) ||
	    nsx_new_arrays(f->arena, t->nthreads, "threads", err,
			   f->thread_barriers) ||
	    find_blocking_copies(f, t, err) || find_loading_launches(f, t, err) ||
	    find_first_threads(job, a, err) ||
	    find_process_devices(job, a, err))
		return err->rc;
	return nsx_par(threads, t->ndevices, sum_device_busy, job, err);
}

int nsx_facts_barriers(struct nsx_facts *f, const struct nsx_trace *t,
		       unsigned threads, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct job job = {.f = f, .t = t};
	int rc = prepare_job(&job, threads, a, err) ?:
		 nsx_par(threads, t->nprocesses, find_process_barriers, &job, err) ?:
		 concatenate_barriers(&job, err);

	for (uint32_t p = 0; job.found && p < t->nprocesses; p++) {
		free(job.found[p].v);
		free(job.found[p].by_end);
	}
	for (uint32_t d = 0; job.device_sum && d < t->ndevices; d++)
		nsx_arena_drop(f->device_arena[d], job.device_sum[d]);
	return rc;
}
