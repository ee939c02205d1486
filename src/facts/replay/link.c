/* link.c - finds the work for which each call waits, and work that waits for other streams.
 *
 * Calls are visited by start, each after the work queued before it. A wait is for everything that
 * was queued on its stream, or on its whole context, before the wait began, no matter when that
 * work ran. The device in a wait's row is unreliable in real exports; process, context and stream
 * are reliable.
 */
#include "base/stat.h"
#include "facts/replay/model.h"

#define TOLERANCE_NS 2000	    /* usual error between clocks of host and device */
#define LONG_NS 100000
#define SKEW_NS INT64_C(30000) /* greatest error between the clocks of host and device */
#define POLL_NS 50000		    /* a shorter series of queries is no polling loop */
enum {
	MOST_BRANCHES = 8, /* parallel branches of a graph that are examined  */
	RECENT = 32,	 /* streams that a wait for everything examines, latest first */
	MANY_STREAMS = 16,     /* streams of one context, besides the null stream */
	MANY_LINKS = 64,       /* links of one operation */
	MIN_QUERIES = 4,
};

struct recent { /* streams of a process, most recently used first */
	uint32_t v[RECENT];
	unsigned n;
};
struct event { /* stream and time of the last record of a CUDA event */
	uint32_t stream;
	int64_t at_ns;
};
struct sweep {
	struct build *b;
	struct nsx_keyed *queue; /* operations in order of queueing              */
	uint32_t nqueue, done;
	uint32_t *last;	     /* for each stream: last queued operation; or NSX_NONE */
	uint32_t *owner;     /* for each process of the trace: its number here; or NSX_NONE */
	uint32_t *owner_of;  /* for each stream: the number of its process */
	uint32_t nowners;
	struct recent *recent;
	uint32_t *sync_at, *sync, *record_at, *record; /* for each call: its wait and record rows */
	struct nsx_groups events;
	struct event *event;
	uint32_t *query; /* for each call: first of consecutive queries */
};

/* The stream's last operation queued before a time; or NSX_NONE. O(log n). */
static uint32_t link_queued_before(const struct build *b, uint32_t stream, int64_t at_ns)
{
	uint32_t lo = NSX_SEARCH(b->stream_at[stream], b->stream_at[stream + 1],
				 mid, b->queued[mid] < at_ns);

	return lo > b->stream_at[stream] ? b->stream_op[lo - 1] : NSX_NONE;
}

/* Moves a link of op to operation `on` if that is later on the same stream: streams are ordered, so
 * only the later link matters. Used for operations with many links.
 */
static void link_later(struct build *b, uint32_t op, uint32_t on)
{
	for (uint32_t k = b->link_head[op]; k != NSX_NONE; k = b->link[k].next) {
		struct link *x = &b->link[k];

		if (!(b->m->op[on].flags & b->m->op[x->op].flags & OP_STREAM) ||
		    b->m->op[x->op].stream != b->m->op[on].stream)
			continue;
		if (b->place[x->op] < b->place[on])
			x->op = on;
		return;
	}
}

int add_link(struct build *b, uint32_t op, uint32_t on, uint32_t call, struct nsx_err *err)
{
	unsigned n = 0;

	for (uint32_t k = b->link_head[op]; k != NSX_NONE; k = b->link[k].next) {
		if (b->link[k].op == on) {
			if (call == NSX_NONE)
				b->link[k].call = NSX_NONE;
			return 0;
		}
		if (++n == MANY_LINKS) {
			link_later(b, op, on);
			return 0;
		}
	}
	if (nsx_push(b->link, b->nlinks, b->cap_links, "dependencies", err,
		     (struct link){on, b->link_head[op], 0, call}))
		return err->rc;
	b->link_head[op] = b->nlinks - 1;
	return 0;
}

/* Preparing -------------------------------------------------------------------*/

/* Sorts rows of waits or records by call. */
static int sort_rows_by_call(struct build *b, const uint32_t *call, size_t n,
			     uint32_t **ret_at, uint32_t **ret_rows, struct nsx_err *err)
{
	if (nsx_new_arrays(b->step, (size_t)b->m->ncalls + 2, "waits", err,
			   *ret_at) ||
	    nsx_new_arrays(b->step, n, "waits", err, *ret_rows))
		return err->rc;
	NSX_DEAL(*ret_at, *ret_rows, b->m->ncalls, n, i, model_call_of(b, call[i]));
	return 0;
}

static int number_processes(struct sweep *s, struct nsx_err *err)
{
	struct build *b = s->b;
	const struct nsx_trace *t = b->m->t;

	if (nsx_new_arrays(b->step, (size_t)t->nprocesses + 1, "processes", err,
			   s->owner) ||
	    nsx_new_arrays(b->step, b->m->nstreams, "streams", err, s->owner_of, s->last))
		return err->rc;
	memset(s->owner, 0xff, ((size_t)t->nprocesses + 1) * 4);
	memset(s->last, 0xff, (size_t)b->m->nstreams * 4);
	for (uint32_t k = 0; k < b->m->nstreams; k++) {
		uint32_t p = NSX_MIN(t->stream[b->stream_row[k]].process, t->nprocesses);

		if (s->owner[p] == NSX_NONE)
			s->owner[p] = s->nowners++;
		s->owner_of[k] = s->owner[p];
	}
	return nsx_new_arrays(b->step, s->nowners, "processes", err, s->recent);
}

/* Lists the operations of streams in the order in which calls queued them. */
static int list_queue(struct sweep *s, struct nsx_err *err)
{
	struct build *b = s->b;

	if (!nsx_new_array(s->queue, b->step, 2 * (size_t)b->m->nops, "operations to replay", err))
		return err->rc;
	for (uint32_t i = 0; i < b->m->nops; i++)
		if (b->m->op[i].flags & OP_STREAM)
			s->queue[s->nqueue++] = (struct nsx_keyed){b->queued[b->place[i]], i};
	nsx_keyed_sort(s->queue, s->queue + s->nqueue, s->nqueue);
	return 0;
}

/* Sweeping --------------------------------------------------------------------*/

static void queue_ops_until(struct sweep *s, int64_t at_ns)
{
	while (s->done < s->nqueue && s->queue[s->done].key < at_ns) {
		uint32_t op = s->queue[s->done++].at;
		uint32_t stream = s->b->m->op[op].stream;
		struct recent *r = &s->recent[s->owner_of[stream]];
		unsigned k = 0;

		s->last[stream] = op;
		while (k < r->n && r->v[k] != stream)
			k++;
		if (k == r->n && r->n < RECENT)
			r->n++;
		for (k = NSX_MIN(k, RECENT - 1); k; k--)
			r->v[k] = r->v[k - 1];
		r->v[0] = stream;
	}
}

/* The index of a row's event; NSX_NONE: its record is missing. */
static uint32_t find_event(const struct sweep *s, uint32_t process, int64_t sync_id, uint32_t id)
{
	uint32_t e = NSX_NONE;

	if (sync_id > 0)
		e = nsx_group_find(&s->events, process, (uint64_t)sync_id);
	if (e == NSX_NONE && id != NSX_NONE)
		e = nsx_group_find(&s->events, process | UINT64_C(1) << 32, id);
	return e;
}

static int store_event(struct sweep *s, uint64_t a, uint64_t id,
		       struct event event, struct nsx_err *err)
{
	struct event *e = nsx_group_value(&s->events, &s->event, a, id, "events", err);

	if (!e)
		return err->rc;
	*e = event;
	return 0;
}

static int record_events(struct sweep *s, uint32_t call, struct nsx_err *err)
{
	const struct nsx_records *r = &s->b->m->t->records;

	for (uint32_t k = s->record_at[call]; k < s->record_at[call + 1]; k++) {
		uint32_t row = s->record[k], process = r->process[row];
		struct event e = {NSX_NONE, s->b->m->call[call].start_ns};

		if (r->stream[row] != NSX_NONE)
			e.stream = s->b->stream_of[r->stream[row]];
		if (r->event_sync_id[row] > 0 &&
		    store_event(s, process, (uint64_t)r->event_sync_id[row], e, err))
			return err->rc;
		if (r->event[row] != NSX_NONE &&
		    store_event(s, process | UINT64_C(1) << 32, r->event[row], e, err))
			return err->rc;
	}
	return 0;
}

static int link_add_wait(struct build *b, uint32_t op, struct nsx_err *err)
{
	return op == NSX_NONE ? 0 : nsx_push(b->m->wait, b->nwaits, b->cap_waits, "waits", err, op);
}

static const struct recent *link_recent_of(const struct sweep *s, uint32_t call)
{
	static const struct recent none;
	const struct nsx_trace *t = s->b->m->t;
	uint32_t process = t->thread[s->b->thread[call]].process;
	uint32_t owner = s->owner[NSX_MIN(process, t->nprocesses)];

	return owner == NSX_NONE ? &none : &s->recent[owner];
}

static int await_context(struct sweep *s, uint32_t call, uint32_t context, struct nsx_err *err)
{
	const struct recent *r = link_recent_of(s, call);
	const struct build *b = s->b;

	for (unsigned k = 0; k < r->n; k++) {
		const struct nsx_stream *st = &b->m->t->stream[b->stream_row[r->v[k]]];

		if ((context == NSX_NONE || st->context_id == context) &&
		    link_add_wait(s->b, s->last[r->v[k]], err))
			return err->rc;
	}
	return 0;
}

/* Adds the dependencies that the rows of a wait name. Sets *ret_known if there are such rows. */
static int await_by_rows(struct sweep *s, uint32_t call, bool *ret_known, struct nsx_err *err)
{
	struct build *b = s->b;
	const struct nsx_syncs *y = &b->m->t->syncs;
	int rc = 0;

	*ret_known = false;
	for (uint32_t k = s->sync_at[call]; !rc && k < s->sync_at[call + 1]; k++) {
		uint32_t row = s->sync[k], stream, e;

		if (y->type[row] == NSX_SYNC_STREAM_WAIT)
			continue;
		*ret_known = true;
		if (y->type[row] == NSX_SYNC_CONTEXT) {
			b->m->call[call].flags |= CALL_WIDE;
			rc = await_context(s, call, y->context[row], err);
		} else if (y->type[row] == NSX_SYNC_STREAM) {
			stream = y->stream[row] == NSX_NONE ?
					 NSX_NONE :
					 b->stream_of[y->stream[row]];
			if (stream != NSX_NONE)
				rc = link_add_wait(b, s->last[stream], err);
		} else {
			e = find_event(s, y->process[row], y->event_sync_id[row], y->event[row]);
			if (e == NSX_NONE)
				*ret_known = false;
			else if (s->event[e].stream != NSX_NONE)
				rc = link_add_wait(b, link_queued_before(b, s->event[e].stream,
							 s->event[e].at_ns), err);
		}
	}
	return rc;
}

/* Adds the dependencies of a wait without rows: all work that had ended when the call returned; for
 * a stream or event, only the work that ended last.
 */
static int await_by_guess(struct sweep *s, uint32_t call, struct nsx_err *err)
{
	struct build *b = s->b;
	struct model_call *c = &b->m->call[call];
	unsigned says = b->m->api[c->api].says;
	const struct recent *r = link_recent_of(s, call);
	uint32_t best = NSX_NONE;
	int64_t best_ns = NEVER;

	c->flags |= CALL_INFERRED;
	for (unsigned k = 0; k < r->n; k++) {
		uint32_t op = s->last[r->v[k]];
		int64_t end_ns = model_op_end(&b->m->op[op]);

		if (end_ns > c->end_ns + TOLERANCE_NS)
			continue;
		if (!(says & (API_STREAM | API_EVENT))) {
			if (link_add_wait(b, op, err))
				return err->rc;
		} else if (end_ns > best_ns) {
			best = op;
			best_ns = end_ns;
		}
	}
	if ((says & API_EVENT) && !(says & API_STREAM) && best != NSX_NONE &&
	    c->end_ns - best_ns > LONG_NS)
		best = NSX_NONE;
	return link_add_wait(b, best, err);
}

/* Removes from a call's list the work that ended more than slack_ns after the call. */
static void drop_work_ended_later(struct build *b, uint32_t call, int64_t slack_ns)
{
	const struct nsx_model *m = b->m;
	size_t n = m->call[call].wait;

	for (size_t k = n; k < b->nwaits; k++)
		if (model_op_end(&m->op[m->wait[k]]) <= m->call[call].end_ns + slack_ns)
			m->wait[n++] = m->wait[k];
	b->nwaits = n;
}

static int await_named_work(struct sweep *s, uint32_t call, struct nsx_err *err)
{
	struct model_call *c = &s->b->m->call[call];
	bool known;

	c->kind = CALL_SYNC;
	if (s->b->m->api[c->api].says & API_WIDE)
		c->flags |= CALL_WIDE;
	if (await_by_rows(s, call, &known, err) || (!known && await_by_guess(s, call, err)))
		return err->rc;
	drop_work_ended_later(s->b, call, NSX_MAX(SKEW_NS, (c->end_ns - c->start_ns) / 50));
	return 0;
}

/* Makes a free wait for all queued work of its process, if all of it had ended by the call's end;
 * otherwise for nothing.
 */
static int await_whole_process(struct sweep *s, uint32_t call, struct nsx_err *err)
{
	struct build *b = s->b;
	struct model_call *c = &b->m->call[call];
	size_t before = b->nwaits, all;

	if (await_context(s, call, NSX_NONE, err))
		return err->rc;
	all = b->nwaits;
	drop_work_ended_later(b, call, 5000);
	if (b->nwaits < all) {
		b->nwaits = before;
		return 0;
	}
	c->kind = CALL_IMPLICIT;
	c->flags |= CALL_WIDE;
	return 0;
}

/* Whether a copy or memset lies inside its call and blocks it: by the call's name, by pageable
 * memory, or by taking most of the call.
 */
static bool is_blocking(const struct build *b, uint32_t call)
{
	const struct nsx_model *m = b->m;
	const struct model_call *c = &m->call[call];
	const struct model_op *o = &m->op[b->last_op[call]];
	int64_t end = model_op_end(o);
	int64_t common = NSX_MIN(c->end_ns, end) - NSX_MAX(c->start_ns, o->start_ns);
	const struct nsx_copy *copy = nsx_op_copy(m->t, o->row);

	if ((c->flags & CALL_COMPUTES) ||
	    ((c->flags & CALL_MANY) && (m->api[c->api].says & API_GRAPH)) ||
	    c->start_ns > o->start_ns + TOLERANCE_NS)
		return false;
	if (end > c->end_ns + TOLERANCE_NS && !(2 * common >= o->length_ns && common > 10000))
		return false;
	return (m->api[c->api].says & API_COPY) ||
	       (o->kind == NSX_OP_MEMCPY && (o->copy_kind - 1u) < 2 &&
		(!copy->src_kind || !copy->dst_kind)) ||
	       (o->length_ns > LONG_NS &&
		2 * common > c->end_ns - c->start_ns);
}

static bool is_query(const struct sweep *s, uint32_t call)
{
	const struct model_call *c = &s->b->m->call[call];

	return (s->b->m->api[c->api].says & API_QUERY) && c->op == NSX_NONE &&
	       s->sync_at[call] == s->sync_at[call + 1];
}

/* Whether the thread slept most of the time since its previous call. */
static bool follows_sleep(const struct sweep *s, uint32_t call)
{
	const struct nsx_trace *t = s->b->m->t;
	const struct model_call *c = &s->b->m->call[call];
	const struct nsx_thread *h = &t->thread[s->b->thread[call]];
	int64_t from_ns = s->b->m->call[c->before].end_ns, ns = 0;
	uint32_t end = h->osrt_at + h->nosrt;
	uint32_t i = NSX_SEARCH(h->osrt_at, end, mid, t->osrt.start_ns[mid] < from_ns);

	for (; i < end && t->osrt.end_ns[i] <= c->start_ns; i++)
		if (nsx_osrt_sleeps(nsx_text(t, t->osrt.name[i])))
			nsx_add_to(&ns, t->osrt.end_ns[i] - t->osrt.start_ns[i]);
	return 2 * ns > c->start_ns - from_ns;
}

/* Finds the operation for which consecutive queries waited: the last query ends shortly after that
 * operation, or after a sleep in which the operation ended.
 */
static int end_polling(struct sweep *s, uint32_t call, struct nsx_err *err)
{
	struct build *b = s->b;
	struct model_call *c = &b->m->call[call];
	const struct model_call *first = &b->m->call[s->query[call]];
	const struct recent *r = link_recent_of(s, call);
	uint32_t best = NSX_NONE, before = c->before;
	int64_t best_ns = NEVER, step;
	unsigned n = 1;

	if (b->next[call] != NSX_NONE && is_query(s, b->next[call]))
		return 0;
	for (uint32_t k = call; k != s->query[call] && n < MIN_QUERIES; k = b->m->call[k].before)
		n++;
	if (n < 2 || (n < MIN_QUERIES && !follows_sleep(s, call)) ||
	    c->end_ns - first->start_ns <= POLL_NS)
		return 0;
	for (unsigned k = 0; k < r->n; k++) {
		int64_t end = model_op_end(&b->m->op[s->last[r->v[k]]]);

		if (end <= c->end_ns && end >= first->start_ns && end > best_ns) {
			best = s->last[r->v[k]];
			best_ns = end;
		}
	}
	step = c->end_ns - b->m->call[before].start_ns;
	if (best == NSX_NONE || c->end_ns - best_ns >= NSX_MAX(3 * step, 20000))
		return 0;
	c->kind = CALL_POLL_END;
	for (uint32_t k = before; k != s->query[call]; k = b->m->call[k].before)
		if (b->m->op[best].start_ns <= b->m->call[k].start_ns) {
			b->m->call[k].kind = CALL_POLLED;
			b->m->call[k].room = best;
		}
	return link_add_wait(b, best, err);
}

/* Links stream waits of a call: the stream's next operation depends on the last work that was
 * queued when the event was recorded.
 */
static int link_stream_waits(struct sweep *s, uint32_t call, struct nsx_err *err)
{
	struct build *b = s->b;
	const struct nsx_syncs *y = &b->m->t->syncs;
	int64_t at_ns = b->m->call[call].start_ns;

	for (uint32_t k = s->sync_at[call]; k < s->sync_at[call + 1]; k++) {
		uint32_t row = s->sync[k], stream, e, on, last, next;
		struct event event;

		if (y->type[row] != NSX_SYNC_STREAM_WAIT || y->stream[row] == NSX_NONE)
			continue;
		stream = b->stream_of[y->stream[row]];
		e = find_event(s, y->process[row], y->event_sync_id[row], y->event[row]);
		if (stream == NSX_NONE || e == NSX_NONE)
			continue;
		event = s->event[e];
		on = event.stream == NSX_NONE ?
			     NSX_NONE :
			     link_queued_before(b, event.stream, event.at_ns);
		if (on == NSX_NONE || event.stream == stream)
			continue;
		last = link_queued_before(b, stream, at_ns);
		next = last == NSX_NONE ? b->stream_at[stream] : b->place[last] + 1;
		if (next == b->stream_at[stream + 1])
			continue;
		if (add_link(b, b->stream_op[next], on, call, err))
			return err->rc;
	}
	return 0;
}

static int add_mpi_dependencies(struct sweep *s, uint32_t call, struct nsx_err *err)
{
	struct build *b = s->b;
	struct model_call *c = &b->m->call[call];
	unsigned says = b->m->api[c->api].says;
	bool waits = says & API_SYNC;

	if (c->kind == CALL_MPI)
		return link_add_wait(b, b->m->f->meets->call[b->mpi[call]].waits, err);
	for (uint32_t k = s->sync_at[call]; k < s->sync_at[call + 1]; k++)
		waits |= b->m->t->syncs.type[s->sync[k]] != NSX_SYNC_STREAM_WAIT;
	if (c->op != NSX_NONE) {
		c->kind = is_blocking(b, call) ? CALL_BLOCK : CALL_LAUNCH;
		if (c->kind == CALL_BLOCK && link_add_wait(b, b->last_op[call], err))
			return err->rc;
	} else if (waits) {
		if (await_named_work(s, call, err))
			return err->rc;
	} else if (says & API_IMPLICIT) {
		if (await_whole_process(s, call, err))
			return err->rc;
	} else if (is_query(s, call)) {
		c->kind = CALL_QUERY;
		s->query[call] = c->before != NSX_NONE &&
						 s->query[c->before] !=
							 NSX_NONE ?
					 s->query[c->before] : call;
		if (end_polling(s, call, err))
			return err->rc;
	} else if (says & API_RECORD) {
		c->kind = CALL_RECORD;
	}
	return record_events(s, call, err);
}

/* Visits all calls by start, and fills their lists of awaited work. */
static int sweep_calls(struct sweep *s, struct nsx_err *err)
{
	struct build *b = s->b;

	for (uint32_t i = 0; i < b->m->ncalls; i++) {
		queue_ops_until(s, b->m->call[i].start_ns);
		b->m->call[i].wait = (uint32_t)b->nwaits;
		if (add_mpi_dependencies(s, i, err) || link_stream_waits(s, i, err))
			return err->rc;
	}
	b->m->call[b->m->ncalls].wait = (uint32_t)b->nwaits;
	return 0;
}

/* The legacy default stream ------------------------------------------------------*/

struct turns { /* the null streams and the blocking streams of one context */
	struct build *b;
	uint32_t null[MANY_STREAMS], blocking[MANY_STREAMS];
	unsigned nnull, nblocking;
	size_t ntests, nbad;
	bool adds;
};

/* Makes work on a stream depend on all work that was queued earlier on the other streams. Until
 * t->adds is set, only counts how often the recording contradicts that.
 */
static int serialise_with_streams(struct turns *t, uint32_t stream, const uint32_t *others,
				  unsigned n, struct nsx_err *err)
{
	const struct build *b = t->b;

	for (uint32_t k = b->stream_at[stream]; k < b->stream_at[stream + 1]; k++)
		for (unsigned i = 0; i < n; i++) {
			uint32_t op = b->stream_op[k];
			uint32_t on = link_queued_before(b, others[i], b->queued[k]);
			bool bad;

			if (on == NSX_NONE)
				continue;
			/* Calls of two threads may be processed in another order than recorded. */
			bad = b->m->op[op].start_ns < model_op_end(&b->m->op[on]) - TOLERANCE_NS;
			t->ntests++;
			t->nbad += bad;
			if (t->adds && !bad && add_link(t->b, op, on, NSX_NONE, err))
				return err->rc;
		}
	return 0;
}

static int serialise_null_streams(struct turns *t, struct nsx_err *err)
{
	for (unsigned i = 0; i < t->nnull; i++)
		if (serialise_with_streams(t, t->null[i], t->blocking, t->nblocking, err))
			return err->rc;
	for (unsigned i = 0; i < t->nblocking; i++)
		if (serialise_with_streams(t, t->blocking[i], t->null, t->nnull, err))
			return err->rc;
	return 0;
}

/* Makes the null stream of each context take turns with its blocking streams, unless the recording
 * contradicts that. Streams of a context are adjacent.
 */
static int link_null_streams(struct build *b, struct nsx_err *err)
{
	const struct nsx_trace *t = b->m->t;

	for (uint32_t i = 0, next; i < t->nstreams; i = next) {
		struct turns x = {.b = b};
		bool fits = true;

		for (next = i; next < t->nstreams &&
		     nsx_same_context(&t->stream[i], &t->stream[next]); next++) {
			uint8_t type = t->stream[next].type;
			uint32_t s = b->stream_of[next];

			if (s == NSX_NONE)
				continue;
			fits &= x.nnull < MANY_STREAMS && x.nblocking < MANY_STREAMS;
			if (fits && type == NSX_STREAM_NULL)
				x.null[x.nnull++] = s;
			else if (fits && type == NSX_STREAM_BLOCKING)
				x.blocking[x.nblocking++] = s;
		}
		if (!fits || !x.nnull || !x.nblocking)
			continue;
		if (serialise_null_streams(&x, err))
			return err->rc;
		if (x.nbad * 50 > x.ntests)
			continue;
		x.adds = true;
		if (serialise_null_streams(&x, err))
			return err->rc;
	}
	return 0;
}

/* The node of the same launch that ended last before node i began, among the latest MOST_BRANCHES;
 * the launch's first node if there is none.
 */
static uint32_t node_before(const struct nsx_model *m, const uint32_t *before, uint32_t i)
{
	uint32_t first = m->call[m->op[i].call].op, best = NSX_NONE;
	unsigned left = MOST_BRANCHES;

	for (uint32_t k = before[i]; k != NSX_NONE && left--; k = before[k]) {
		int64_t end = model_op_end(&m->op[k]);

		if (end <= m->op[i].start_ns &&
		    (best == NSX_NONE || end > model_op_end(&m->op[best])))
			best = k;
	}
	return best == NSX_NONE ? first : best;
}

/* Groups the nodes of each graph launch, so that they keep their recorded order. */
static int group_nodes(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	uint32_t *last, *before;

	if (nsx_new_arrays(b->step, m->ncalls, "graphs", err, last) ||
	    nsx_new_arrays(b->step, m->nops, "graphs", err, before))
		return err->rc;
	memset(last, 0xff, (size_t)m->ncalls * 4);
	for (uint32_t i = 0; i < m->nops; i++) {
		struct model_op *o = &m->op[i];
		const struct model_call *c;

		if (o->call == NSX_NONE)
			continue;
		c = &m->call[o->call];
		before[i] = last[o->call];
		last[o->call] = i;
		if (!(c->flags & CALL_MANY) || !(m->api[c->api].says & API_GRAPH) || c->op == i)
			continue;
		o->flags |= OP_NODE;
		o->group = node_before(m, before, i);
	}
	return 0;
}

int model_link(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	const struct nsx_trace *t = m->t;
	struct sweep s = {.b = b};
	int rc;

	if (nsx_new_arrays(b->a, m->nops, "dependencies", err, b->link_head) ||
	    nsx_new_arrays(b->step, m->ncalls, "queries", err, s.query))
		return err->rc;
	memset(b->link_head, 0xff, (size_t)m->nops * 4);
	memset(s.query, 0xff, (size_t)m->ncalls * 4);
	rc = group_nodes(b, err) ?:
	     sort_rows_by_call(b, t->syncs.call, t->syncs.n, &s.sync_at, &s.sync, err) ?:
	     sort_rows_by_call(b, t->records.call, t->records.n, &s.record_at, &s.record,
			       err) ?:
	     number_processes(&s, err) ?:
	     list_queue(&s, err) ?:
	     sweep_calls(&s, err) ?:
	     link_null_streams(b, err);
	nsx_groups_done(&s.events);
	free(s.event);
	/* only finding links needed these arrays */
	nsx_arena_drop(b->a, b->outer);
	nsx_arena_drop(b->a, b->next);
	nsx_arena_drop(b->a, b->queued);
	return rc;
}
