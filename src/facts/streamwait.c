/* streamwait.c - from a stream's wait to the work it waited for.
 *
 * A wait names the record of an event, the record a stream, and what was
 * launched last on that stream before the record is the producer.  A device
 * that idles while its stream waits can only wait for another device, so
 * without a process that uses two there is nothing to index.  Waits between
 * processes (IPC events) leave no record here.
 */
#include <stdlib.h>
#include "facts/streamwait.h"

static int64_t call_of(const struct nsx_trace *t, uint32_t call)
{
	return call == NSX_NONE ? INT64_MIN : nsx_call_start(&t->calls, call);
}

static int by_stream(const void *a, const void *b, void *ctx)
{
	const struct nsx_trace *t = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (t->syncs.stream[x] != t->syncs.stream[y])
		return t->syncs.stream[x] < t->syncs.stream[y] ? -1 : 1;
	return NSX_CMP(call_of(t, t->syncs.call[x]),
		       call_of(t, t->syncs.call[y]));
}

static int cmp_event(const struct nsx_trace *t, uint32_t record,
		     uint32_t process, int64_t event)
{
	const struct nsx_records *r = &t->records;

	return NSX_CMP(r->process[record], process) ?:
	       NSX_CMP(r->event_sync_id[record], event);
}

static int by_event(const void *a, const void *b, void *ctx)
{
	const struct nsx_trace *t = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int c = cmp_event(t, x, t->records.process[y],
			  t->records.event_sync_id[y]);

	return c ? c : NSX_CMP(call_of(t, t->records.call[x]),
			       call_of(t, t->records.call[y]));
}

/* Whether a stream's wait can be followed to work of its process. */
static bool is_followed(const struct nsx_trace *t, size_t wait)
{
	return t->syncs.type[wait] == NSX_SYNC_STREAM_WAIT &&
	       t->syncs.stream[wait] != NSX_NONE &&
	       t->syncs.call[wait] != NSX_NONE &&
	       t->syncs.event_sync_id[wait] >= 0;
}

static int index_waits(struct nsx_stream_waits *w, const struct nsx_trace *t,
		       struct nsx_arena *a, struct nsx_err *err)
{
	uint32_t n = 0;

	if (!nsx_new_array(w->wait, a, t->syncs.n, "stream waits", err) ||
	    !nsx_new_array(w->wait_at, a, t->nstreams + (size_t)1, "streams",
			   err) ||
	    !nsx_new_array(w->record, a, t->records.n, "event records", err))
		return err->rc;
	for (uint32_t i = 0; i < t->syncs.n; i++)
		if (is_followed(t, i)) {
			w->wait[n++] = i;
			w->wait_at[t->syncs.stream[i] + 1]++;
		}
	for (uint32_t s = 0; s < t->nstreams; s++)
		w->wait_at[s + 1] += w->wait_at[s];
	nsx_sort_r(w->wait, n, sizeof(*w->wait), by_stream, (void *)t);
	for (uint32_t i = 0; i < t->records.n; i++)
		if (t->records.stream[i] != NSX_NONE &&
		    t->records.call[i] != NSX_NONE)
			w->record[w->nrecords++] = i;
	nsx_sort_r(w->record, w->nrecords, sizeof(*w->record), by_event,
		   (void *)t);
	return 0;
}

static int index_ops(struct nsx_stream_waits *w, const struct nsx_trace *t,
		     struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_ops *o = &t->ops;
	uint32_t *next = nsx_arena_try_array(a, t->nstreams, 4, "streams", err);

	nsx_new_array(w->op_at, a, t->nstreams + (size_t)1, "streams", err);
	nsx_new_array(w->op, a, o->n, "streams' work", err);
	nsx_new_array(w->called, a, o->n, "streams' work", err);
	if (!next || !w->op_at || !w->op || !w->called)
		return err->rc;
	for (size_t i = 0; i < o->n; i++)
		w->op_at[nsx_op_stream(o, i) + 1] +=
			!(o->flags[i] & NSX_OP_PEER);
	for (uint32_t s = 0; s < t->nstreams; s++)
		next[s] = w->op_at[s + 1] += w->op_at[s];
	for (uint32_t i = (uint32_t)o->n; i-- > 0;)
		if (!(o->flags[i] & NSX_OP_PEER))
			w->op[--next[nsx_op_stream(o, i)]] = i;
	for (uint32_t s = 0; s < t->nstreams; s++)
		for (uint32_t k = w->op_at[s]; k < w->op_at[s + 1]; k++) {
			w->called[k] = call_of(t, o->call[w->op[k]]);
			if (k > w->op_at[s])
				w->called[k] = NSX_MAX(w->called[k],
						       w->called[k - 1]);
		}
	return 0;
}

/* Whether a process uses two devices. */
static int may_cross(const struct nsx_trace *t, struct nsx_arena *a, bool *ret,
		     struct nsx_err *err)
{
	uint32_t *device = nsx_arena_try_array(a, t->nprocesses, 4, "processes",
					       err);

	*ret = false;
	if (!device)
		return err->rc;
	for (uint32_t s = 0; s < t->nstreams; s++) {
		const struct nsx_stream *x = &t->stream[s];

		if (x->process == NSX_NONE)
			continue;
		*ret |= device[x->process] && device[x->process] != x->device + 1;
		device[x->process] = x->device + 1;
	}
	return 0;
}

int nsx_index_stream_waits(const struct nsx_trace *t, struct nsx_arena *a,
			   struct nsx_stream_waits **ret, struct nsx_err *err)
{
	struct nsx_stream_waits *w;
	bool crosses;

	*ret = NULL;
	if (!t->records.n || !t->syncs.n)
		return 0;
	if (may_cross(t, a, &crosses, err))
		return err->rc;
	if (!crosses)
		return 0;
	w = nsx_arena_get(a, sizeof(*w));
	if (index_waits(w, t, a, err) || index_ops(w, t, a, err))
		return err->rc;
	*ret = w;
	return 0;
}

/* Searching: each list is in the order that its question asks about. */
struct probe {
	const struct nsx_stream_waits *w;
	const struct nsx_trace *t;
	int64_t x;
	uint32_t process;
};

static bool is_op_before(const struct probe *p, size_t k)
{
	return p->w->op[k] < p->x;
}

static bool is_called_before(const struct probe *p, size_t k)
{
	return p->w->called[k] < p->x;
}

static bool is_wait_upto(const struct probe *p, size_t k)
{
	return call_of(p->t, p->t->syncs.call[p->w->wait[k]]) <= p->x;
}

static bool is_event_before(const struct probe *p, size_t k)
{
	return cmp_event(p->t, p->w->record[k], p->process, p->x) < 0;
}

/* The first of [lo, hi) for which it does not hold; hi: for all it does. */
static size_t first_not(bool (*holds)(const struct probe *p, size_t k),
			const struct probe *p, size_t lo, size_t hi)
{
	NSX_BISECT(lo, hi, mid, holds(p, mid));
	return lo;
}

/* What was launched last, before the event was recorded, on its stream. */
static uint32_t producer_of(const struct nsx_stream_waits *w,
			    const struct nsx_trace *t, uint32_t wait)
{
	struct probe p = {w, t, t->syncs.event_sync_id[wait],
			  t->syncs.process[wait]};
	size_t r = first_not(is_event_before, &p, 0, w->nrecords), k;
	uint32_t record, stream;

	if (r == w->nrecords || cmp_event(t, w->record[r], p.process, p.x))
		return NSX_NONE;
	record = w->record[r];
	stream = t->records.stream[record];
	p.x = call_of(t, t->records.call[record]);
	k = first_not(is_called_before, &p, w->op_at[stream],
		      w->op_at[stream + 1]);
	return k > w->op_at[stream] ? w->op[k - 1] : NSX_NONE;
}

uint32_t nsx_stream_waited_for(const struct nsx_stream_waits *w,
			       const struct nsx_trace *t, uint32_t op,
			       int64_t start_ns, int64_t end_ns)
{
	uint32_t stream = nsx_op_stream(&t->ops, op);
	struct probe p = {w, t, op, 0};
	int64_t until = call_of(t, t->ops.call[op]);
	size_t k = first_not(is_op_before, &p, w->op_at[stream],
			     w->op_at[stream + 1]);

	if (t->ops.flags[op] & NSX_OP_PEER)
		return NSX_NONE; /* its stream is the other device's */
	p.x = k > w->op_at[stream] ? w->called[k - 1] : INT64_MIN;
	for (k = first_not(is_wait_upto, &p, w->wait_at[stream],
			   w->wait_at[stream + 1]);
	     k < w->wait_at[stream + 1] &&
	     call_of(t, t->syncs.call[w->wait[k]]) < until; k++) {
		uint32_t producer = producer_of(w, t, w->wait[k]);

		if (producer != NSX_NONE &&
		    nsx_op_end(&t->ops, producer) > start_ns &&
		    nsx_op_end(&t->ops, producer) <= end_ns)
			return producer;
	}
	return NSX_NONE;
}
