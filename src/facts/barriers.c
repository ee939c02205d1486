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

struct job {
	struct nsx_facts *f;
	const struct nsx_trace *t;
	bool *uses; /* for each process and device: the process uses it      */
	int64_t **device_sum; /* for each device: prefix sums of its busy time */
	struct found {
		struct nsx_barrier *v;
		size_t n;
		uint32_t at; /* index of the first one among those of all processes */
	} *found; /* one for each process */
};

struct work { /* state of the task of one process */
	const struct job *job;
	const struct nsx_trace *t;
	struct nsx_spans busy; /* busy time of all GPUs of the process       */
	int64_t *busy_sum;     /* its prefix sums; NULL: it uses no GPU      */
	struct nsx_arena *arena;
	struct nsx_barrier *v;
	size_t n, cap;
	struct nsx_spans waits; /* pieces of the current thread's barriers so far */
	size_t cap_waits, npieces; /* npieces: of all barriers so far        */
};

/* A barrier to which no piece of its span was added yet. */
static struct nsx_barrier new_barrier(const struct work *w, uint32_t thread,
				      enum nsx_barrier_kind kind, nsx_str name,
				      struct nsx_span span)
{
	int64_t none = w->busy_sum ? 0 : -1;

	return (struct nsx_barrier){.start_ns = span.start_ns, .end_ns = span.end_ns,
		.gpu_busy_ns = none, .gpu_idle_ns = none,
		.thread = thread, .name = name, .kind = (uint8_t)kind};
}

static void barriers_add_piece(struct work *w, struct nsx_barrier *b, int64_t start_ns,
			       int64_t end_ns)
{
	int64_t from = NSX_MAX(start_ns, w->t->window.start_ns);
	int64_t to = NSX_MIN(end_ns, w->t->window.end_ns), busy_ns;

	w->npieces++;
	nsx_add_to(&b->wait_ns, nsx_in_window(w->t, start_ns, end_ns));
	if (from >= to || !w->busy_sum)
		return;
	busy_ns = nsx_spans_within(&w->busy, w->busy_sum, from, to);
	nsx_add_to(&b->gpu_busy_ns, busy_ns);
	nsx_add_to(&b->gpu_idle_ns, to - from - busy_ns);
}

/* Adds a piece that no launcher gap may count again. */
static int barriers_add_wait(struct work *w, struct nsx_barrier *b, int64_t start_ns,
			     int64_t end_ns, struct nsx_err *err)
{
	if (start_ns >= end_ns)
		return 0;
	barriers_add_piece(w, b, start_ns, end_ns);
	return nsx_push(w->waits.v, w->waits.n, w->cap_waits, "barrier spans", err,
			(struct nsx_span){start_ns, end_ns});
}

static int keep_barrier(struct work *w, const struct nsx_barrier *b, struct nsx_err *err)
{
	return nsx_push(w->v, w->n, w->cap, "barriers", err, *b);
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
		struct nsx_barrier b;

		if (kind < 0 || span.end_ns <= until)
			continue;
		until = span.end_ns;
		b = new_barrier(w, thread, (enum nsx_barrier_kind)kind, nsx_call_name(c, i), span);
		if (barriers_add_wait(w, &b, span.start_ns, span.end_ns, err) ||
		    keep_barrier(w, &b, err))
			return err->rc;
	}
	return 0;
}

/* OSRT calls ------------------------------------------------------------------*/

/* Adds the parts of a span that lie outside API calls. *cursor: the first call to check, which only
 * advances because outermost calls are ordered by end.
 */
static int barriers_add_pieces(struct work *w, const struct nsx_thread *th,
			       size_t *cursor, struct nsx_span span,
			       struct nsx_barrier *b, struct nsx_err *err)
{
	const struct nsx_calls *c = &w->t->calls;
	size_t end = th->calls_at + th->ncalls;
	int64_t at = span.start_ns;

	while (*cursor < end && nsx_call_end(c, *cursor) <= at)
		++*cursor;
	for (size_t i = *cursor;
	     i < end && at < span.end_ns && nsx_call_start(c, i) < span.end_ns;
	     i++) {
		if (barriers_add_wait(w, b, at, nsx_call_start(c, i), err))
			return err->rc;
		at = NSX_MAX(at, nsx_call_end(c, i));
	}
	return barriers_add_wait(w, b, at, span.end_ns, err);
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
		struct nsx_barrier b = new_barrier(w, thread, NSX_BARRIER_HOST_WAIT, o->name[i],
						   span);
		size_t before = w->npieces;

		if (own.start_ns > own.end_ns)
			continue;
		until = NSX_MAX(until, span.end_ns);
		if (barriers_add_pieces(w, th, &cursor, own, &b, err))
			return err->rc;
		if (w->npieces == before &&
		    (span.start_ns < span.end_ns ||
		     (cursor < end &&
		      nsx_call_start(c, cursor) <= own.start_ns)))
			continue;
		if (keep_barrier(w, &b, err))
			return err->rc;
	}
	return 0;
}

/* Launcher gaps -----------------------------------------------------------------*/

static int barriers_add_gap(struct work *w, uint32_t thread, struct nsx_span gap,
			    size_t *cursor, struct nsx_err *err)
{
	const struct nsx_spans *waits = &w->waits;
	struct nsx_barrier b = new_barrier(w, thread, NSX_BARRIER_LAUNCHER_GAP, 0, gap);
	size_t before = w->npieces;
	int64_t at = gap.start_ns;

	while (*cursor < waits->n && waits->v[*cursor].end_ns <= at)
		++*cursor;
	for (size_t i = *cursor; i < waits->n && waits->v[i].start_ns < gap.end_ns; i++) {
		if (waits->v[i].start_ns > at)
			barriers_add_piece(w, &b, at, waits->v[i].start_ns);
		at = NSX_MAX(at, waits->v[i].end_ns);
	}
	if (at < gap.end_ns)
		barriers_add_piece(w, &b, at, gap.end_ns);
	return w->npieces == before ? 0 : keep_barrier(w, &b, err);
}

/* Adds the launcher gaps of a thread. The threshold applies to the whole gap between two launches
 * (queries/README.md 10). After that, time that other barriers cover is subtracted.
 */
static int add_gaps(struct work *w, uint32_t thread, struct nsx_err *err)
{
	const struct nsx_thread *th = &w->t->thread[thread];
	const struct nsx_calls *c = &w->t->calls;
	int64_t until = INT64_MAX;
	size_t cursor = 0;

	nsx_spans_normalise(&w->waits);
	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
		if (c->cls[i] != NSX_CALL_LAUNCH)
			continue;
		if (until < nsx_call_start(c, i) &&
		    nsx_call_start(c, i) - until >= LAUNCHER_GAP_NS &&
		    barriers_add_gap(w, thread, (struct nsx_span){until, nsx_call_start(c, i)},
				     &cursor, err))
			return err->rc;
		until = until == INT64_MAX ? nsx_call_end(c, i)
					   : NSX_MAX(until, nsx_call_end(c, i));
	}
	return 0;
}

/* Order ---------------------------------------------------------------------*/

NSX_ORDER_IN(cmp_barrier_starts, struct nsx_barrier, struct nsx_trace, UP(x->start_ns),
	     UP(x->end_ns), UP(x->kind), BY(nsx_str_cmp(c->strings, x->name, y->name)));

NSX_ORDER_IN(cmp_barrier_ends, uint32_t, struct job,
	     UP(c->f->barriers[*x].kind == NSX_BARRIER_LAUNCHER_GAP),
	     UP(c->f->barriers[*x].end_ns), UP(c->f->barriers[*x].start_ns),
	     UP(c->f->barriers[*x].kind),
	     BY(nsx_str_cmp(c->t->strings, c->f->barriers[*x].name, c->f->barriers[*y].name)));

/* Adds all events of a thread, sorted by start, to w->v. */
static int barriers_add_thread(struct work *w, uint32_t thread, struct nsx_err *err)
{
	struct nsx_thread_barriers *slice = &w->job->f->thread_barriers[thread];
	size_t first = w->n;

	w->waits.n = 0;
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
static int barriers_find_busy(struct work *w, const bool *uses, struct nsx_err *err)
{
	const struct nsx_facts *f = w->job->f;
	unsigned n = 0;

	for (uint32_t d = 0; d < w->t->ndevices; d++) {
		const struct nsx_span *before = n > 1 ? w->busy.v : NULL;

		if (!uses[d])
			continue;
		if (!n++) {
			w->busy = f->busy[d];
			w->busy_sum = w->job->device_sum[d];
		} else if (nsx_spans_union(w->arena, &w->busy, &f->busy[d], &w->busy, err)) {
			return err->rc;
		}
		nsx_arena_drop(w->arena, before);
	}
	return n > 1 ? nsx_spans_prefix(w->arena, &w->busy, &w->busy_sum, err) : 0;
}

static int find_process_barriers(void *ctx, size_t process, struct nsx_err *err)
{
	struct job *job = ctx;
	const struct nsx_trace *t = job->t;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct work w = {.job = job, .t = t, .arena = a};
	uint32_t h = NSX_SEARCH(0, t->nthreads, mid, t->thread[mid].process < process);
	int rc = barriers_find_busy(&w, job->uses + process * t->ndevices, err);

	for (; !rc && h < t->nthreads && t->thread[h].process == process; h++)
		rc = barriers_add_thread(&w, h, err);
	job->found[process] = (struct found){.v = w.v, .n = w.n};
	free(w.waits.v);
	return rc;
}

/* Concatenates the lists of all processes. */
static int concatenate_barriers(struct job *job, struct nsx_err *err)
{
	struct nsx_facts *f = job->f;

	for (uint32_t p = 0; p < job->t->nprocesses; p++) {
		job->found[p].at = (uint32_t)f->nbarriers;
		f->nbarriers += job->found[p].n;
	}
	if (f->nbarriers >= NSX_NONE)
		return nsx_fail(err, NSX_E_NOMEM, "too many barriers");
	if (nsx_new_arrays(f->arena, f->nbarriers, "barriers", err, f->barriers, f->barrier_by_end))
		return err->rc;
	for (uint32_t p = 0; p < job->t->nprocesses; p++)
		if (job->found[p].n)
			memcpy(f->barriers + job->found[p].at, job->found[p].v,
			       job->found[p].n * sizeof(*f->barriers));
	for (uint32_t h = 0; h < job->t->nthreads; h++)
		f->thread_barriers[h].at += job->found[job->t->thread[h].process].at;
	return 0;
}

static int sort_barriers_by_end(void *ctx, size_t thread, struct nsx_err *err NSX_UNUSED)
{
	struct job *job = ctx;
	const struct nsx_thread_barriers *s = &job->f->thread_barriers[thread];
	uint32_t *by_end = job->f->barrier_by_end + s->at;

	for (uint32_t i = 0; i < s->n; i++)
		by_end[i] = s->at + i;
	nsx_sort_r(by_end, s->n, sizeof(*by_end), cmp_barrier_ends, job);
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

static void find_process_devices(struct job *job)
{
	const struct nsx_trace *t = job->t;

	for (uint32_t d = 0; d < t->ndevices; d++)
		for (size_t i = t->device[d].ops_at;
		     i < t->device[d].ops_at + t->device[d].nops; i++) {
			uint32_t p = nsx_op_process(t, i);

			if (p != NSX_NONE)
				job->uses[(size_t)p * t->ndevices + d] = true;
		}
}

int nsx_facts_barriers(struct nsx_facts *f, const struct nsx_trace *t,
		       unsigned threads, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct job job = {.f = f, .t = t};
	int rc;

	nsx_few(job.found, a, t->nprocesses);
	nsx_few(job.uses, a, (size_t)t->nprocesses * t->ndevices);
	nsx_few(f->thread_barriers, f->arena, t->nthreads);
	nsx_few(job.device_sum, a, t->ndevices);
	find_process_devices(&job);
	for (uint32_t d = 0; d < t->ndevices; d++)
		if (nsx_spans_prefix(a, &f->busy[d], &job.device_sum[d], err))
			return err->rc;
	rc = find_blocking_copies(f, t, err) ?: find_loading_launches(f, t, err) ?:
	     nsx_par(threads, t->nprocesses, find_process_barriers, &job, err) ?:
	     concatenate_barriers(&job, err) ?:
	     nsx_par(threads, t->nthreads, sort_barriers_by_end, &job, err);
	for (uint32_t p = 0; p < t->nprocesses; p++)
		free(job.found[p].v);
	return rc;
}
