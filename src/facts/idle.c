/* idle.c - finds why a device was idle, gap by gap.
 *
 * The cause of a gap depends on the operation that ended it (queries/README.md 11). If the call of
 * that operation returned before the gap, the cause is on the device. If the call came late, the
 * time until the call is charged to what its thread did. Pieces are adjacent and sum up to the gap.
 *
 * At the edges of a user's window a gap may continue outside. The whole gap then decides the cause,
 * and the part inside the window is kept.
 *
 * A sweep goes over a device's operations with one cursor into the rows of each launching thread.
 * Gaps come in order of time, so cursors only advance.
 */
#include "facts/outside.h"
#include "facts/streamwait.h"
#include "trace/nvtx_walk.h"
#include "base/par.h"

enum {
	DISPATCH_NS = 20000, /* a shorter gap on the device is the time of dispatching work */
	LEFT_OUT = 10, /* a range covers nearly all of a piece if it leaves out 1/10 or less */
};

/* Activities of a thread. Those that come first take precedence: time in an API call
 * counts for that call, whatever runs inside it, and time in an MPI call is a wait for other ranks,
 * even if the thread is in an OS call inside it. The remaining time is spent in the program's own
 * code.
 */
enum level { CALLS, MPI, OS, CODE };

struct cursor { /* into one thread's rows */
	uint32_t device; /* 1 + the device whose sweep set it; stale in other sweeps */
	struct {
		size_t at, end;
	} rows[CODE]; /* by level */
	uint32_t nvtx;
	uint32_t open;	/* innermost user range among those that have begun; or NSX_NONE */
};

struct mpi_calls { /* outermost MPI calls of launching threads, sorted by thread */
	struct mpi_call {
		int64_t start_ns, end_ns;
		uint32_t thread;
		nsx_str name;
	} *v;
	size_t n, cap;
};

struct sweep { /* state of the pass over one device's operations */
	struct nsx_facts *f;
	const struct nsx_trace *t;
	const struct nsx_stream_waits *waits; /* NULL: no stream waited     */
	const struct mpi_calls *mpi;
	struct cursor *cursors; /* one for each thread */
	uint32_t device;
	int64_t *start_ns; /* the pieces found so far: columns of n entries  */
	uint32_t *ops, *about; /* ops: the operations that end their gaps    */
	struct nsx_idle_tag *tag;
	size_t n, cap;
	struct nsx_err *err;
	int rc; /* NSX_E_NOMEM if the columns could not grow */
	uint32_t op; /* operation that ends the gap; NSX_NONE: it is outside the window */
	/* The call that launched the operation before the gap; NSX_NONE: unknown. */
	uint32_t before;
	bool begins; /* the next piece begins a gap                         */
};

static const char pieces[] = "idle pieces";

/* Ensures room for one more piece; grows in proportion to the size. */
static bool grow_pieces(struct sweep *s)
{
	size_t c[] = {s->cap, s->cap, s->cap, s->cap}, n = s->n + 1;

	s->rc = nsx_grow(&s->start_ns, &c[0], n, sizeof(*s->start_ns), pieces,
			 s->err) ?:
		nsx_grow(&s->ops, &c[1], n, sizeof(*s->ops), pieces, s->err) ?:
		nsx_grow(&s->about, &c[2], n, sizeof(*s->about), pieces, s->err) ?:
		nsx_grow(&s->tag, &c[3], n, sizeof(*s->tag), pieces, s->err);
	if (!s->rc)
		s->cap = NSX_MIN(NSX_MIN(c[0], c[1]), NSX_MIN(c[2], c[3]));
	return !s->rc;
}

/* Adds the next piece of a gap, clipped to the window. about: see nsx_idle_at. */
static void add_idle_piece(struct sweep *s, int64_t start_ns, int64_t end_ns,
			   enum nsx_cause cause, uint32_t about)
{
	const struct nsx_window *w = &s->t->window;

	start_ns = NSX_MAX(start_ns, w->start_ns);
	end_ns = NSX_MIN(end_ns, w->end_ns);
	if (start_ns >= end_ns || s->rc || (s->n == s->cap && !grow_pieces(s)))
		return;
	s->start_ns[s->n] = start_ns;
	s->ops[s->n] = s->op;
	s->about[s->n] = about;
	s->tag[s->n++] = (struct nsx_idle_tag){.cause = 15 & (unsigned)cause,
					       .first = s->begins};
	s->begins = false;
}

/* Time of the launching thread ------------------------------------------------ */

static size_t find_thread_mpi_calls(const struct mpi_calls *x, uint32_t thread)
{
	return NSX_SEARCH((size_t)0, x->n, mid, x->v[mid].thread < thread);
}

static struct cursor *cursor_of_thread(struct sweep *s, uint32_t thread)
{
	const struct nsx_thread *th = &s->t->thread[thread];
	struct cursor *c = &s->cursors[thread];

	if (c->device != s->device + 1)
		*c = (struct cursor){
			.device = s->device + 1, .nvtx = th->nvtx_at, .open = NSX_NONE,
			.rows = {[CALLS] = {th->calls_at, th->calls_at + th->ncalls},
				 [MPI] = {find_thread_mpi_calls(s->mpi, thread),
					  find_thread_mpi_calls(s->mpi, thread + 1)},
				 [OS] = {th->osrt_at, th->osrt_at + th->nosrt}}};
	return c;
}

/* The innermost user range that is open at the middle of [start, end) and covers nearly all of it:
 * a piece may begin a little before the range to which its code belongs.
 */
static uint32_t find_range_over(struct sweep *s, uint32_t thread, int64_t start_ns, int64_t end_ns)
{
	const struct nsx_nvtx *x = &s->t->nvtx;
	const struct nsx_thread *th = &s->t->thread[thread];
	const struct nsx_nvtx_facts *f = &s->f->nvtx;
	struct cursor *c = cursor_of_thread(s, thread);
	int64_t half_ns = (end_ns - start_ns) / 2;
	uint32_t r;

	for (; c->nvtx < th->nvtx_at + th->nnvtx &&
	       x->kind[c->nvtx] == NSX_NVTX_STACK &&
	       nsx_range_start(x, c->nvtx) <= start_ns + half_ns;
	     c->nvtx++)
		if (!s->t->domain[nsx_range_domain(x, c->nvtx)].is_library)
			c->open = c->nvtx;
	while (c->open != NSX_NONE && !nsx_nvtx_is_open(x, c->open, start_ns + half_ns))
		c->open = nsx_range_around(f, c->open);
	for (r = c->open; r != NSX_NONE; r = nsx_range_around(f, r)) {
		int64_t from_ns = NSX_MAX(start_ns, nsx_range_start(x, r));
		int64_t to_ns = nsx_nvtx_is_open(x, r, end_ns - 1) ? end_ns : nsx_range_end(x, r);

		if ((end_ns - start_ns) - (to_ns - from_ns) <= (end_ns - start_ns) / LEFT_OUT)
			break;
	}
	return r;
}

static enum nsx_cause cause_of_call(const struct sweep *s, size_t call)
{
	switch (s->t->calls.cls[call]) {
	case NSX_CALL_SYNC:
		return NSX_CAUSE_SYNC;
	case NSX_CALL_IMPLICIT_SYNC:
		return s->t->calls.flags[call] & NSX_CALL_MALLOC ?
			       NSX_CAUSE_ALLOC : NSX_CAUSE_IMPLICIT_SYNC;
	case NSX_CALL_MODULE:
		return NSX_CAUSE_MODULE;
	default:
		return nsx_call_blocks(s->f, s->t, call) ?
			       NSX_CAUSE_BLOCKING_COPY : NSX_CAUSE_OTHER_API;
	}
}

struct row { /* a call of a thread */
	int64_t start_ns, end_ns;
	uint32_t about; /* see nsx_idle_at */
};

static struct row row_of_level(const struct sweep *s, enum level level, size_t i)
{
	const struct nsx_calls *c = &s->t->calls;
	const struct nsx_osrt *o = &s->t->osrt;
	const struct mpi_call *m = s->mpi->v;

	if (level == CALLS)
		return (struct row){nsx_call_start(c, i), nsx_call_end(c, i), (uint32_t)i};
	return level == MPI ? (struct row){m[i].start_ns, m[i].end_ns, m[i].name} :
			      (struct row){o->start_ns[i], o->end_ns[i], o->name[i]};
}

/* Charges time of a thread to its rows of a level, and the time between them to the next level.
 * Outermost rows are sorted by end. A piece of own code holds its range, until name_range_paths
 * puts the range's path there.
 */
static void charge_thread_time(struct sweep *s, uint32_t thread, enum level level,
			       int64_t start_ns, int64_t end_ns)
{
	struct cursor *c = cursor_of_thread(s, thread);
	int64_t at = start_ns;

	if (start_ns >= end_ns)
		return;
	if (level == CODE) {
		add_idle_piece(s, start_ns, end_ns, NSX_CAUSE_HOST_CODE,
			       find_range_over(s, thread, start_ns, end_ns));
		return;
	}
	while (c->rows[level].at < c->rows[level].end &&
	       row_of_level(s, level, c->rows[level].at).end_ns <= start_ns)
		c->rows[level].at++;
	for (size_t i = c->rows[level].at; i < c->rows[level].end && at < end_ns; i++) {
		struct row row = row_of_level(s, level, i);
		int64_t until = NSX_MIN(row.end_ns, end_ns);

		if (row.start_ns >= end_ns)
			break;
		charge_thread_time(s, thread, level + 1, at, row.start_ns);
		at = NSX_MAX(at, row.start_ns);
		add_idle_piece(s, at, until, level == CALLS ? cause_of_call(s, i) : NSX_CAUSE_OSRT,
			       row.about);
		at = NSX_MAX(at, until);
	}
	charge_thread_time(s, thread, level + 1, at, end_ns);
}

/* Gaps ----------------------------------------------------------------------*/

/* Charges a gap before an operation that was launched in time: its stream waited for other work,
 * or the work was held up.
 */
static void charge_queued_gap(struct sweep *s, int64_t start_ns, int64_t end_ns)
{
	uint32_t producer = s->waits && s->op != NSX_NONE ? nsx_stream_waited_for(
					       s->waits, s->t, s->op, start_ns, end_ns) : NSX_NONE;
	enum nsx_cause cause = producer != NSX_NONE ? NSX_CAUSE_STREAM_WAIT :
			       end_ns - start_ns < DISPATCH_NS ?
						      NSX_CAUSE_DISPATCH :
						      NSX_CAUSE_DEPENDENCY;

	add_idle_piece(s, start_ns, end_ns, cause, producer);
}

/* Charges a gap. call: launched the operation that ends the gap; NSX_NONE: not recorded. is_moved:
 * that operation is a migration of unified memory.
 */
static void charge_gap(struct sweep *s, int64_t start_ns, int64_t end_ns,
		       uint32_t call, bool is_moved)
{
	const struct nsx_window *w = &s->t->window;
	const struct nsx_calls *c = &s->t->calls;
	int64_t called, returned;

	if (call == NSX_NONE) {
		add_idle_piece(s, start_ns, end_ns, is_moved ?
			     NSX_CAUSE_MIGRATION : NSX_CAUSE_UNKNOWN, NSX_NONE);
		return;
	}
	/* Only a graph's first node waits for the launch call. */
	if (nsx_call_end(c, call) <= start_ns ||
	    (call == s->before && end_ns - start_ns < DISPATCH_NS)) {
		charge_queued_gap(s, start_ns, end_ns);
		return;
	}
	called = NSX_MAX(start_ns, NSX_MIN(nsx_call_start(c, call), end_ns));
	returned = NSX_MIN(nsx_call_end(c, call), end_ns);
	charge_thread_time(s, nsx_call_thread(s->t, call), CALLS,
			   NSX_MAX(start_ns, w->start_ns), NSX_MIN(called, w->end_ns));
	add_idle_piece(s, called, returned, NSX_CAUSE_LAUNCH_CALL, call);
	add_idle_piece(s, returned, end_ns, NSX_CAUSE_LAUNCH_TO_START, call);
}

/* Tells which of two operations that start together ends the gap: by kind, then by earlier call,
 * so that the result does not depend on the order of rows.
 */
static bool ends_gap_first(const struct nsx_trace *t, uint32_t a, uint32_t b)
{
	uint32_t ca = nsx_op_call(&t->ops, a), cb = nsx_op_call(&t->ops, b);

	if (t->ops.kind[a] != t->ops.kind[b])
		return t->ops.kind[a] < t->ops.kind[b];
	if (ca == cb || cb == NSX_NONE)
		return ca != cb;
	if (ca == NSX_NONE)
		return false;
	if (nsx_call_start(&t->calls, ca) != nsx_call_start(&t->calls, cb))
		return nsx_call_start(&t->calls, ca) < nsx_call_start(&t->calls, cb);
	return ca < cb;
}

/* The operation that ends a gap. first: the first of all operations that start at that time. */
static uint32_t find_gap_ending_op(const struct nsx_trace *t, uint32_t first, uint32_t end)
{
	uint32_t best = first;

	for (uint32_t i = first + 1;
	     i < end &&
	     nsx_op_start(&t->ops, i) == nsx_op_start(&t->ops, first);
	     i++)
		if (ends_gap_first(t, i, best))
			best = i;
	return best;
}

/* Charges the gap from at_ns to the start of op, the first of all operations that start then. */
static void charge_gap_before_op(struct sweep *s, int64_t at_ns, uint32_t op)
{
	const struct nsx_ops *o = &s->t->ops;

	charge_gap(s, at_ns, nsx_op_start(o, op), nsx_op_call(o, op),
		   o->kind[op] == NSX_OP_MEMCPY &&
		   nsx_copy_is_migration(nsx_op_copy(s->t, op)->copy_kind));
}

/* Charges the time after the last operation. It has no known cause, unless there is a user's
 * window: the first operation after that is known, and the device waits for it.
 */
static void charge_final_gap(struct sweep *s, int64_t at_ns, const struct nsx_beyond *x)
{
	s->op = NSX_NONE;
	s->begins = true;
	if (nsx_has_window(s->t) && x->next_ns < INT64_MAX)
		charge_gap(s, at_ns, x->next_ns, x->next_call, x->is_migration);
	else
		add_idle_piece(s, at_ns, s->t->window.end_ns, NSX_CAUSE_EDGE, NSX_NONE);
}

static void idle_sweep_device(struct sweep *s)
{
	const struct nsx_trace *t = s->t;
	const struct nsx_device *d = &t->device[s->device];
	const struct nsx_ops *o = &t->ops;
	int64_t at = nsx_has_window(t) ? NSX_MAX(d->beyond.dry_ns, -NSX_TIME_MAX) :
				   t->window.start_ns;
	uint32_t end = d->ops_at + d->nops, first = d->ops_at;
	bool edge = !nsx_has_window(t);

	s->before = NSX_NONE;
	for (uint32_t i = d->ops_at; i < end; i++) {
		if (nsx_op_start(o, i) != nsx_op_start(o, first))
			first = i;
		if (nsx_op_end(o, i) <= NSX_MAX(at, nsx_op_start(o, i)))
			continue; /* the operation is empty or covered by earlier ones */
		if (nsx_op_start(o, i) > NSX_MAX(at, t->window.start_ns)) {
			s->op = find_gap_ending_op(t, first, end);
			s->begins = true;
			if (edge)
				add_idle_piece(s, at, nsx_op_start(o, i), NSX_CAUSE_EDGE, NSX_NONE);
			else
				charge_gap_before_op(s, at, s->op);
		}
		edge = false;
		at = nsx_op_end(o, i);
		s->before = nsx_op_call(o, i);
	}
	charge_final_gap(s, at, &d->beyond);
}

/* Cost ------------------------------------------------------------------------*/

/* Adds a device's gaps to the costs of the barriers that caused them. One barrier may cause gaps on
 * several devices.
 */
static void charge_barriers(struct nsx_facts *f, const struct nsx_trace *t,
			    const struct nsx_idle *idle)
{
	struct nsx_gap gap;

	for (size_t at = 0; nsx_next_gap(idle, &at, &gap);) {
		uint32_t b = nsx_gap_barrier(f, t, &gap);

		if (b != NSX_NONE)
			__atomic_fetch_add(&f->barriers[b].cost_ns, gap.end_ns - gap.start_ns,
					   __ATOMIC_RELAXED);
	}
}

struct job {
	struct nsx_facts *f;
	const struct nsx_trace *t;
	struct nsx_stream_waits *waits;
	struct mpi_calls mpi;
	uint32_t ntasks;
	uint32_t **about; /* one for each device; packed once paths have names */
};

/* Sweeps a device and fills its facts. cursors: one for each thread. */
static int idle_fill_device(const struct job *job, uint32_t device, struct cursor *cursors,
			    struct nsx_err *err)
{
	struct nsx_facts *f = job->f;
	struct nsx_idle *x = &f->idle[device];
	struct nsx_arena *a = f->device_arena[device];
	struct sweep s = {.f = f, .t = job->t, .waits = job->waits, .mpi = &job->mpi,
			  .cursors = cursors, .device = device, .err = err};
	int rc;

	idle_sweep_device(&s);
	x->trace = job->t;
	x->n = s.n;
	job->about[device] = s.about;
	rc = s.rc ?: nsx_pack_i64(a, s.start_ns, x->n, pieces, &x->start, err) ?:
	     nsx_pack_index(a, s.ops, x->n, pieces, &x->op, err) ?:
	     nsx_new_arrays(a, x->n, pieces, err, x->tag);
	if (!rc && x->n)
		memcpy(x->tag, s.tag, x->n * sizeof(*x->tag));
	free(s.start_ns);
	free(s.ops);
	free(s.tag);
	if (rc)
		return rc;
	charge_barriers(f, job->t, x);
	return nsx_idle_sum(x, a, err) ?: nsx_stopped(err);
}

/* Handles the devices task, task + ntasks, ... with one set of cursors. */
static int sweep_device_share(void *ctx, size_t task, struct nsx_err *err)
{
	const struct job *job = ctx;
	NSX_AT_EXIT(nsx_free_at) struct cursor *cursors =
		nsx_alloc(job->t->nthreads, sizeof(*cursors));
	int rc = 0;

	for (uint32_t d = (uint32_t)task; !rc && d < job->t->ndevices; d += job->ntasks)
		rc = idle_fill_device(job, d, cursors, err);
	return rc;
}

/* NVTX paths ------------------------------------------------------------------*/

static void add_range_name(struct nsx_buf *b, const struct nsx_trace *t, uint32_t range)
{
	size_t at = b->n;

	nsx_buf_adds(b, nsx_text(t, t->nvtx.name[range]));
	if (b->n > at)
		b->n = at + strlen(nsx_without_counters(b->p + at));
}

/* Makes the path of a range, "outermost > ... > parent > name". It is enough to find the place, and
 * its length is limited.
 */
static int make_range_path(const struct nsx_facts *f, const struct nsx_trace *t,
			   const uint32_t *root, uint32_t r, nsx_str *ret, struct nsx_err *err)
{
	uint32_t parent = nsx_range_around(&f->nvtx, r);
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	if (parent != NSX_NONE && parent != root[r]) {
		add_range_name(&b, t, root[r]);
		nsx_buf_adds(&b, nsx_range_around(&f->nvtx, parent) == root[r] ? " > " : " > … > ");
	}
	if (parent != NSX_NONE) {
		add_range_name(&b, t, parent);
		nsx_buf_adds(&b, " > ");
	}
	add_range_name(&b, t, r);
	return nsx_strings_add(f->strings, b.p ? b.p : "", b.n, ret, err);
}

/* Replaces ranges charged with host code by their paths. root, paths: by range; a path is 0
 * until it is needed.
 */
static int name_range_paths(const struct job *job, uint32_t *root, nsx_str *paths,
			    struct nsx_err *err)
{
	const struct nsx_trace *t = job->t;
	struct nsx_facts *f = job->f;

	for (uint32_t r = 0; r < t->nvtx.n; r++) {
		uint32_t out = nsx_range_around(&f->nvtx, r);

		root[r] = out == NSX_NONE ? r : root[out];
	}
	for (uint32_t d = 0; d < t->ndevices; d++) {
		struct nsx_idle *x = &f->idle[d];

		for (size_t i = 0; i < x->n; i++) {
			uint32_t r = job->about[d][i];

			if (x->tag[i].cause != NSX_CAUSE_HOST_CODE || r == NSX_NONE)
				continue;
			if (!paths[r] && make_range_path(f, t, root, r, &paths[r], err))
				return err->rc;
			job->about[d][i] = paths[r];
		}
		if (nsx_pack_index(f->device_arena[d], job->about[d], x->n, pieces, &x->about, err))
			return err->rc;
	}
	return 0;
}

static int idle_list_mpi(const struct nsx_trace *t, struct mpi_calls *x, struct nsx_err *err)
{
	struct nsx_outside o;

	for (size_t at = t->osrt.n; nsx_outside_next(t, &at, &o);) {
		const struct mpi_call *last = x->n ? &x->v[x->n - 1] : NULL;

		if (last && last->thread == o.thread && o.end_ns <= last->end_ns)
			continue;
		if (nsx_push(x->v, x->n, x->cap, "MPI calls", err,
			     (struct mpi_call){o.start_ns, o.end_ns, o.thread, o.name}))
			return err->rc;
	}
	return 0;
}

int nsx_facts_idle(struct nsx_facts *f, const struct nsx_trace *t,
		   unsigned threads, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	uint32_t *root;
	nsx_str *paths;
	struct job job = {.f = f, .t = t, .ntasks = NSX_MIN(t->ndevices, 32u)};
	int rc;

	nsx_few(f->idle, f->arena, t->ndevices);
	nsx_few(job.about, a, t->ndevices);
	rc = nsx_new_arrays(a, t->nvtx.n, "ranges", err, root, paths) ?:
	     nsx_index_stream_waits(t, a, &job.waits, err) ?:
	     idle_list_mpi(t, &job.mpi, err) ?:
	     nsx_par(threads, job.ntasks, sweep_device_share, &job, err) ?:
	     name_range_paths(&job, root, paths, err);
	for (uint32_t d = 0; d < t->ndevices; d++)
		free(job.about[d]);
	free(job.mpi.v);
	return rc;
}
