/* critical_walk.c - what an iteration waited for, step by step backwards.
 *
 * From the operation that begins the next iteration the walk goes to what held
 * it up: the operation before it on its stream, the producer of a wait of its
 * stream, or its launching call if that ended after both; an operation that
 * starts 20 us or more after its call without such a reason is taken to wait
 * for what its device ran before.  On the host it goes from call to call of the
 * thread; a wait jumps to the operation waited for.  All of it is exact in time,
 * so what the walk cannot follow is known, and nothing is claimed where that is
 * a tenth or more.
 *
 * Waits over all of a context look at no more than MAX_STREAMS streams.
 */
#include <stdlib.h>
#include <string.h>
#include "passes/verdict/critical_path.h"
#include "base/group.h"
#include "base/stat.h"

enum { MAX_STREAMS = 64, MAX_ITERATIONS = 256, MAX_STEPS = 4 << 20,
       DISPATCH_NS = 20000 };

enum { COMPUTE, COMM, COPY, LAUNCH_CALL, LAUNCH_TO_START, SYNC, HOST, DEVICE,
       NCLASSES };
static const char *const class_names[NCLASSES] = {
	"compute", "comm", "copy", "launch_call", "launch_to_start", "sync",
	"host", "device_wait",
};

struct gate { /* a stream waits here for an operation of another */
	uint32_t stream, producer;
	int64_t at_ns; /* of the call */
};

struct walk {
	const struct nsx_trace *t;
	struct nsx_arena *a;
	uint32_t process, device;
	uint32_t *list;	     /* the process's ops, by stream                 */
	uint32_t *at;	     /* by stream: where its ops begin in the list   */
	uint32_t *pos;	     /* by op: its place in the list                 */
	uint32_t *streams;   /* of the process                               */
	uint32_t nstreams;
	uint32_t *sync;	     /* by call: its wait; NSX_NONE                  */
	struct nsx_groups records; /* by event sync id, of the process       */
	uint32_t *record;    /* by group: its last record                    */
	size_t cap_record;
	struct gate *gates;  /* in order of stream, time                     */
	size_t ngates, nsteps;
	int64_t begin_ns, end_ns; /* of the iteration at hand                */
	int64_t ns[NCLASSES]; /* of the iteration at hand                    */
};

/* Preparing -------------------------------------------------------------------*/

static int list_ops(struct walk *w, struct nsx_err *err)
{
	const struct nsx_trace *t = w->t;
	uint32_t *next;

	w->list = nsx_arena_try_array(w->a, t->ops.n, 4, "walk", err);
	w->pos = nsx_arena_try_array(w->a, t->ops.n, 4, "walk", err);
	w->at = nsx_arena_try_array(w->a, (size_t)t->nstreams + 2, 4, "walk",
				    err);
	w->streams = nsx_arena_try_array(w->a, t->nstreams, 4, "walk", err);
	if (!w->list || !w->pos || !w->at || !w->streams)
		return err->rc;
	for (size_t i = 0; i < t->ops.n; i++)
		w->at[t->ops.stream[i] + 2] += !(t->ops.flags[i] & NSX_OP_PEER);
	for (uint32_t s = 0; s < t->nstreams; s++) {
		if (w->at[s + 2] && t->stream[s].process == w->process)
			w->streams[w->nstreams++] = s;
		w->at[s + 2] += w->at[s + 1];
	}
	next = w->at + 1;
	for (uint32_t i = 0; i < t->ops.n; i++) {
		if (t->ops.flags[i] & NSX_OP_PEER)
			continue;
		w->pos[i] = next[t->ops.stream[i]];
		w->list[next[t->ops.stream[i]]++] = i;
	}
	return 0;
}

static int index_records(struct walk *w, struct nsx_err *err)
{
	const struct nsx_records *r = &w->t->records;
	uint32_t g;

	for (uint32_t i = 0; i < r->n; i++) {
		if (r->process[i] != w->process || r->event_sync_id[i] < 0 ||
		    r->call[i] == NSX_NONE || r->stream[i] == NSX_NONE)
			continue;
		if (nsx_group(&w->records, 0, (uint64_t)r->event_sync_id[i], &g,
			      err) ||
		    nsx_grow(&w->record, &w->cap_record, (size_t)g + 1, 4,
			     "records", err))
			return err->rc;
		w->record[g] = i;
	}
	return 0;
}

static int64_t launched_ns(const struct nsx_trace *t, uint32_t op)
{
	return t->ops.call[op] == NSX_NONE
		   ? INT64_MIN
		   : nsx_call_start(&t->calls, t->ops.call[op]);
}

/* The last op of a stream that was launched before an instant. Ops without a
 * call are from before the capture.
 */
static uint32_t last_launched(const struct walk *w, uint32_t stream,
			      int64_t before_ns)
{
	uint32_t lo = w->at[stream], hi = w->at[stream + 1];

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (launched_ns(w->t, w->list[mid]) < before_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > w->at[stream] ? w->list[lo - 1] : NSX_NONE;
}

/* What an event stood for when it was recorded; NSX_NONE: not known. */
static uint32_t recorded_op(struct walk *w, int64_t event_sync_id)
{
	const struct nsx_records *r = &w->t->records;
	uint32_t g = event_sync_id < 0 ?
			     NSX_NONE :
			     nsx_group_find(&w->records, 0,
					    (uint64_t)event_sync_id);
	uint32_t i;

	if (g == NSX_NONE)
		return NSX_NONE;
	i = w->record[g];
	return last_launched(w, r->stream[i],
			     nsx_call_start(&w->t->calls, r->call[i]));
}

static int cmp_gates(const void *a, const void *b)
{
	const struct gate *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return (x->producer > y->producer) - (x->producer < y->producer);
}

static int list_waits(struct walk *w, struct nsx_err *err)
{
	const struct nsx_syncs *s = &w->t->syncs;

	w->sync = nsx_arena_try_array(w->a, w->t->calls.n, 4, "waits", err);
	w->gates = nsx_arena_try_array(w->a, s->n, sizeof(*w->gates), "waits",
				       err);
	if (!w->sync || !w->gates)
		return err->rc;
	memset(w->sync, 0xff, w->t->calls.n * 4);
	for (uint32_t i = 0; i < s->n; i++) {
		struct gate g;

		if (s->process[i] != w->process || s->call[i] == NSX_NONE)
			continue;
		w->sync[s->call[i]] = i;
		if (s->type[i] != NSX_SYNC_STREAM_WAIT ||
		    s->stream[i] == NSX_NONE)
			continue;
		g = (struct gate){s->stream[i],
				  recorded_op(w, s->event_sync_id[i]),
				  nsx_call_start(&w->t->calls, s->call[i])};
		if (g.producer != NSX_NONE)
			w->gates[w->ngates++] = g;
	}
	if (w->ngates)
		qsort(w->gates, w->ngates, sizeof(*w->gates), cmp_gates);
	return 0;
}

/* Walking ------------------------------------------------------------------------*/

static void credit(struct walk *w, unsigned class, int64_t from, int64_t to)
{
	from = NSX_MAX(from, w->begin_ns);
	to = NSX_MIN(to, w->end_ns);
	if (from < to)
		w->ns[class] += to - from;
}

struct place { /* where the walk is: before an op, or before a call */
	bool on_host;
	uint32_t i;
	int64_t at_ns;
};

/* Of the streams' waits between the launch of the op before and of this one,
 * the producer that ended last.
 */
static uint32_t gate_before(const struct walk *w, uint32_t op, uint32_t before)
{
	const struct nsx_trace *t = w->t;
	int64_t to = launched_ns(t, op);
	int64_t from = before == NSX_NONE ? INT64_MIN : launched_ns(t, before);
	uint32_t stream = t->ops.stream[op], best = NSX_NONE;
	size_t lo = 0, hi = w->ngates;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct gate *g = &w->gates[mid];

		if (g->stream < stream ||
		    (g->stream == stream && g->at_ns < from))
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < w->ngates && w->gates[lo].stream == stream &&
	       w->gates[lo].at_ns < to; lo++) {
		uint32_t p = w->gates[lo].producer;

		if (p != op &&
		    nsx_op_end(&t->ops, p) <= nsx_op_start(&t->ops, op) &&
		    (best == NSX_NONE ||
		     nsx_op_end(&t->ops, p) > nsx_op_end(&t->ops, best)))
			best = p;
	}
	return best;
}

/* The last op of a stream that ended by an instant. */
static uint32_t last_ended(const struct walk *w, uint32_t stream,
			   int64_t by_ns)
{
	const struct nsx_ops *o = &w->t->ops;
	uint32_t lo = w->at[stream], hi = w->at[stream + 1];

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (nsx_op_start(o, w->list[mid]) < by_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo > w->at[stream] && nsx_op_end(o, w->list[lo - 1]) > by_ns)
		lo--;
	return lo > w->at[stream] ? w->list[lo - 1] : NSX_NONE;
}

/* The same over all streams of the process, or those of one device. */
static uint32_t last_of_all(const struct walk *w, uint32_t device,
			    int64_t by_ns)
{
	const struct nsx_trace *t = w->t;
	uint32_t best = NSX_NONE;

	for (uint32_t i = 0; w->nstreams <= MAX_STREAMS && i < w->nstreams;
	     i++) {
		uint32_t op;

		if (device != NSX_NONE &&
		    t->stream[w->streams[i]].device != device)
			continue;
		op = last_ended(w, w->streams[i], by_ns);
		if (op != NSX_NONE &&
		    (best == NSX_NONE ||
		     nsx_op_end(&t->ops, op) > nsx_op_end(&t->ops, best)))
			best = op;
	}
	return best;
}

/* Goes to the start of op, which ended no later than the walk is. */
static void enter_op(struct walk *w, uint32_t op, struct place *p)
{
	static const unsigned classes[] = {COMPUTE, COMM, COPY};
	const struct nsx_ops *o = &w->t->ops;

	credit(w, classes[o->cls[op]], nsx_op_start(o, op),
	       NSX_MIN(nsx_op_end(o, op), p->at_ns));
	*p = (struct place){false, op, NSX_MIN(nsx_op_start(o, op), p->at_ns)};
}

static uint32_t later(const struct nsx_trace *t, uint32_t x, uint32_t y)
{
	if (x == NSX_NONE || y == NSX_NONE)
		return x == NSX_NONE ? y : x;
	return nsx_op_end(&t->ops, y) > nsx_op_end(&t->ops, x) ? y : x;
}

/* What the device did last before op: on its stream, on a stream it waits for,
 * or, where it started long after its launch without a recorded reason, on any
 * stream of its device.
 */
static uint32_t op_before(const struct walk *w, uint32_t op)
{
	const struct nsx_trace *t = w->t;
	uint32_t stream = t->ops.stream[op], call = t->ops.call[op];
	uint32_t before = w->pos[op] > w->at[stream] ?
				  w->list[w->pos[op] - 1] : NSX_NONE;
	int64_t returned =
	    call == NSX_NONE ? INT64_MAX : nsx_call_end(&t->calls, call);

	before = later(t, before, gate_before(w, op, before));
	if (nsx_op_start(&t->ops, op) -
		    NSX_MIN(returned, nsx_op_start(&t->ops, op)) <=
		DISPATCH_NS ||
	    (before != NSX_NONE && nsx_op_end(&t->ops, before) >= returned))
		return before;
	return later(t, before,
		     last_of_all(w, t->stream[stream].device,
				 nsx_op_start(&t->ops, op)));
}

static bool step_from_op(struct walk *w, struct place *p)
{
	const struct nsx_trace *t = w->t;
	uint32_t op = p->i, call = t->ops.call[op];
	uint32_t before = op_before(w, op);
	int64_t ready_ns;

	ready_ns = before == NSX_NONE ? INT64_MIN : nsx_op_end(&t->ops, before);
	if (call != NSX_NONE && nsx_call_end(&t->calls, call) > ready_ns) {
		int64_t returned =
		    NSX_MIN(nsx_call_end(&t->calls, call), p->at_ns);

		credit(w, LAUNCH_TO_START, returned, p->at_ns);
		credit(w, LAUNCH_CALL, nsx_call_start(&t->calls, call),
		       returned);
		*p = (struct place){
		    true, call,
		    NSX_MIN(nsx_call_start(&t->calls, call), p->at_ns)};
		return true;
	}
	if (before == NSX_NONE)
		return false;
	credit(w, DEVICE, ready_ns, p->at_ns);
	enter_op(w, before, p);
	return true;
}

/* What a call waited for; NSX_NONE: nothing that is known. */
static uint32_t awaited_op(struct walk *w, uint32_t call)
{
	const struct nsx_trace *t = w->t;
	const struct nsx_syncs *s = &t->syncs;
	uint8_t cls = t->calls.cls[call];
	uint32_t sync = w->sync[call], best = NSX_NONE;
	int64_t end_ns = nsx_call_end(&t->calls, call);

	if (cls == NSX_CALL_COPY || cls == NSX_CALL_COPY_ASYNC) {
		best = t->calls.op[call];
		return best != NSX_NONE && nsx_op_end(&t->ops, best) <= end_ns
			   ? best
			   : NSX_NONE;
	}
	if (cls != NSX_CALL_SYNC && cls != NSX_CALL_IMPLICIT_SYNC)
		return NSX_NONE;
	if (sync != NSX_NONE && s->type[sync] == NSX_SYNC_EVENT)
		return recorded_op(w, s->event_sync_id[sync]);
	if (sync != NSX_NONE && s->type[sync] == NSX_SYNC_STREAM &&
	    s->stream[sync] != NSX_NONE)
		return last_ended(w, s->stream[sync], end_ns);
	return last_of_all(w, NSX_NONE, end_ns);
}

static bool step_from_call(struct walk *w, struct place *p)
{
	const struct nsx_trace *t = w->t;
	const struct nsx_thread *th = &t->thread[nsx_call_thread(t, p->i)];
	uint32_t c = p->i, op;
	int64_t returned;

	while (c > th->calls_at && (t->calls.flags[c - 1] & NSX_CALL_NESTED))
		c--;
	if (c == th->calls_at)
		return false;
	c--;
	returned = NSX_MIN(nsx_call_end(&t->calls, c), p->at_ns);
	credit(w, HOST, returned, p->at_ns);
	op = awaited_op(w, c);
	if (op != NSX_NONE &&
	    nsx_op_end(&t->ops, op) > nsx_call_start(&t->calls, c) &&
	    nsx_op_end(&t->ops, op) <= returned) {
		credit(w, SYNC, nsx_op_end(&t->ops, op), returned);
		p->at_ns = nsx_op_end(&t->ops, op);
		enter_op(w, op, p);
		return true;
	}
	credit(w,
	       t->calls.cls[c] == NSX_CALL_LAUNCH ? LAUNCH_CALL
	       : t->calls.cls[c] == NSX_CALL_SYNC ? SYNC
						  : HOST,
	       nsx_call_start(&t->calls, c), returned);
	*p = (struct place){true, c,
			    NSX_MIN(nsx_call_start(&t->calls, c), p->at_ns)};
	return true;
}

/* The op of the process that begins at an instant on the device. */
static uint32_t op_at(const struct walk *w, int64_t at_ns)
{
	const struct nsx_device *d = &w->t->device[w->device];
	uint32_t lo = d->ops_at, hi = d->ops_at + d->nops;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (nsx_op_start(&w->t->ops, mid) < at_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (;
	     lo < d->ops_at + d->nops && nsx_op_start(&w->t->ops, lo) == at_ns;
	     lo++)
		if (nsx_op_process(w->t, lo) == w->process &&
		    !(w->t->ops.flags[lo] & NSX_OP_PEER))
			return lo;
	return NSX_NONE;
}

/* Whether nine tenths of the iteration were explained. */
static bool walk_iteration(struct walk *w, const struct nsx_iteration *it)
{
	struct place p = {false, op_at(w, it->end_ns), it->end_ns};
	int64_t explained = 0;

	memset(w->ns, 0, sizeof(w->ns));
	w->begin_ns = it->start_ns;
	w->end_ns = it->end_ns;
	if (p.i == NSX_NONE)
		return false;
	while (p.at_ns > it->start_ns && w->nsteps++ < MAX_STEPS)
		if (!(p.on_host ? step_from_call(w, &p) : step_from_op(w, &p)))
			break;
	for (unsigned c = 0; c < NCLASSES; c++)
		explained += w->ns[c];
	return (double)explained >=
	       0.9 * (double)(it->end_ns - it->start_ns);
}

/* Results --------------------------------------------------------------------------*/

struct totals {
	int64_t ns[NCLASSES], all_ns;
	size_t walked, claimed;
};

static int fill(const struct totals *sum, struct nsx_table *table,
		struct nsx_err *err)
{
	int64_t rest = sum->all_ns;

	for (unsigned c = 0; c <= NCLASSES; c++) {
		int64_t ns = c < NCLASSES ? sum->ns[c] : rest;
		struct nsx_cell *row;

		rest -= c < NCLASSES ? ns : 0;
		if (!ns)
			continue;
		row = nsx_row(table, err);
		if (!row)
			return err->rc;
		row[WALK_CLASS] = nsx_string(c < NCLASSES ? class_names[c] :
						   "unexplained");
		row[WALK_TOTAL_MS] = nsx_ms(ns);
		row[WALK_PCT_OF_PATH] =
			nsx_pct((double)ns, (double)sum->all_ns);
	}
	nsx_table_sort(table, NSX_DESC(WALK_TOTAL_MS), WALK_CLASS);
	return 0;
}

/* The steady iterations of the limiting GPU, of the process that has most. */
static void pick(const struct nsx_facts *f, size_t *ret_from, size_t *ret_to)
{
	*ret_from = *ret_to = 0;
	for (size_t i = 0, next; i < f->niterations; i = next) {
		const struct nsx_iteration *v = f->iterations;

		for (next = i + 1; next < f->niterations &&
		     v[next].process == v[i].process &&
		     v[next].device == v[i].device; )
			next++;
		if (v[i].device == f->limiting && v[i].process != NSX_NONE &&
		    next - i > *ret_to - *ret_from) {
			*ret_from = i;
			*ret_to = next;
		}
	}
}

static int walk_all(struct walk *w, const struct nsx_iteration *v, size_t n,
		    struct totals *sum, struct nsx_err *err)
{
	if (list_ops(w, err) || index_records(w, err) || list_waits(w, err))
		return err->rc;
	for (size_t i = 0; i < n && sum->walked < MAX_ITERATIONS; i++) {
		if (!v[i].steady)
			continue;
		sum->walked++;
		if (!walk_iteration(w, &v[i]))
			continue;
		sum->claimed++;
		nsx_add_to(&sum->all_ns, v[i].end_ns - v[i].start_ns);
		for (unsigned c = 0; c < NCLASSES; c++)
			nsx_add_to(&sum->ns[c], w->ns[c]);
	}
	return 0;
}

int path_walk(const struct nsx_run *run, struct nsx_section *out,
	      struct nsx_table *table, struct nsx_err *err)
{
	struct walk w = {.t = run->trace, .a = run->scratch,
			 .device = run->facts->limiting};
	struct totals sum = {{0}, 0, 0, 0};
	size_t from, to;
	int rc;

	pick(run->facts, &from, &to);
	if (from == to) {
		nsx_note(out, "no iterations on this GPU, so none was walked "
			 "backwards");
		return 0;
	}
	w.process = run->facts->iterations[from].process;
	rc = walk_all(&w, run->facts->iterations + from, to - from, &sum, err);
	nsx_groups_done(&w.records);
	free(w.record);
	if (rc)
		return rc;
	nsx_put(out, "walked_iterations", nsx_int((int64_t)sum.walked));
	nsx_put(out, "explained_iterations", nsx_int((int64_t)sum.claimed));
	if (2 * sum.claimed >= sum.walked && sum.claimed)
		return fill(&sum, table, err);
	nsx_note(out, "walked backwards, %zu of %zu steady iterations are "
		 "explained by nine tenths or more: too few to claim a path "
		 "(operations without API rows, or waits that were not "
		 "recorded)", sum.claimed, sum.walked);
	return 0;
}
