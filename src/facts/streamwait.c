/* streamwait.c - finds the operation for which a stream waited.
 *
 * A wait names the record of an event, and the record names a stream. The operation that was
 * launched last on that stream before the record is the producer. A device that is idle while its
 * stream waits can only wait for another device, so nothing is indexed unless a process uses two
 * devices. Waits between processes (IPC events) have no record in the trace.
 */
#include "base/group.h"
#include "facts/streamwait.h"

static int64_t streamwait_call_of(const struct nsx_trace *t, uint32_t call)
{
	return call == NSX_NONE ? INT64_MIN : nsx_call_start(&t->calls, call);
}

/* Compares waits, which are rows of syncs, by stream and then by the start of their call. */
NSX_ORDER_IN(cmp_waits_by_stream, uint32_t, struct nsx_trace, UP(c->syncs.stream[*x]),
	     UP(streamwait_call_of(c, c->syncs.call[*x])));

static int streamwait_cmp_event(const struct nsx_trace *t, uint32_t record,
				uint32_t process, int64_t event)
{
	const struct nsx_records *r = &t->records;

	return NSX_CMP(r->process[record], process) ?: NSX_CMP(r->event_sync_id[record], event);
}

NSX_ORDER_IN(cmp_records_by_event, uint32_t, struct nsx_trace, UP(c->records.process[*x]),
	     UP(c->records.event_sync_id[*x]), UP(streamwait_call_of(c, c->records.call[*x])));

/* Whether a stream's wait names an event whose record can be looked up. */
static bool has_event_record(const struct nsx_trace *t, size_t wait)
{
	return t->syncs.type[wait] == NSX_SYNC_STREAM_WAIT &&
	       t->syncs.stream[wait] != NSX_NONE &&
	       t->syncs.call[wait] != NSX_NONE &&
	       t->syncs.event_sync_id[wait] >= 0;
}

static int index_waits_of_streams(struct nsx_stream_waits *w, const struct nsx_trace *t,
				  struct nsx_arena *a, struct nsx_err *err)
{
	nsx_few(w->wait_at, a, (size_t)t->nstreams + 2);
	if (nsx_new_arrays(a, t->syncs.n, "stream waits", err, w->wait) ||
	    nsx_new_arrays(a, t->records.n, "event records", err, w->record))
		return err->rc;
	NSX_DEAL(w->wait_at, w->wait, t->nstreams, t->syncs.n, i,
		 has_event_record(t, i) ? t->syncs.stream[i] : NSX_NONE);
	nsx_sort_r(w->wait, w->wait_at[t->nstreams], sizeof(*w->wait), cmp_waits_by_stream,
		   (void *)t);
	for (uint32_t i = 0; i < t->records.n; i++)
		if (t->records.stream[i] != NSX_NONE && t->records.call[i] != NSX_NONE)
			w->record[w->nrecords++] = i;
	nsx_sort_r(w->record, w->nrecords, sizeof(*w->record), cmp_records_by_event, (void *)t);
	return 0;
}

static int index_ops_of_streams(struct nsx_stream_waits *w, const struct nsx_trace *t,
				struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_ops *o = &t->ops;

	nsx_few(w->op_at, a, (size_t)t->nstreams + 2);
	if (nsx_new_arrays(a, o->n, "streams' work", err, w->op, w->called))
		return err->rc;
	NSX_DEAL(w->op_at, w->op, t->nstreams, o->n, i,
		 o->flags[i] & NSX_OP_PEER ? NSX_NONE : nsx_op_stream(o, i));
	for (uint32_t s = 0; s < t->nstreams; s++)
		for (uint32_t k = w->op_at[s]; k < w->op_at[s + 1]; k++) {
			w->called[k] = streamwait_call_of(t, nsx_op_call(o, w->op[k]));
			if (k > w->op_at[s])
				w->called[k] = NSX_MAX(w->called[k], w->called[k - 1]);
		}
	return 0;
}

/* Whether a process uses two devices. */
static bool uses_two_devices(const struct nsx_trace *t, struct nsx_arena *a)
{
	struct nsx_users *device; /* by process */
	bool any = false;

	nsx_few(device, a, t->nprocesses);
	for (uint32_t s = 0; s < t->nstreams; s++) {
		const struct nsx_stream *x = &t->stream[s];

		if (x->process == NSX_NONE)
			continue;
		nsx_use(&device[x->process], x->device);
		any |= device[x->process].several;
	}
	return any;
}

int nsx_index_stream_waits(const struct nsx_trace *t, struct nsx_arena *a,
			   struct nsx_stream_waits **ret, struct nsx_err *err)
{
	struct nsx_stream_waits *w;

	*ret = NULL;
	if (!t->records.n || !t->syncs.n || !uses_two_devices(t, a))
		return 0;
	nsx_few(w, a, 1);
	if (index_waits_of_streams(w, t, a, err) || index_ops_of_streams(w, t, a, err))
		return err->rc;
	*ret = w;
	return 0;
}

/* The producer of a wait: the operation launched last on the event's stream before the record. */
static uint32_t producer_of(const struct nsx_stream_waits *w,
			    const struct nsx_trace *t, uint32_t wait)
{
	uint32_t process = t->syncs.process[wait], stream, k;
	int64_t event = t->syncs.event_sync_id[wait], recorded_ns;
	size_t r = NSX_SEARCH(0, w->nrecords, i,
			      streamwait_cmp_event(t, w->record[i], process, event) < 0);

	if (r == w->nrecords || streamwait_cmp_event(t, w->record[r], process, event))
		return NSX_NONE;
	stream = t->records.stream[w->record[r]];
	recorded_ns = streamwait_call_of(t, t->records.call[w->record[r]]);
	k = NSX_SEARCH(w->op_at[stream], w->op_at[stream + 1], i, w->called[i] < recorded_ns);
	return k > w->op_at[stream] ? w->op[k - 1] : NSX_NONE;
}

uint32_t nsx_stream_waited_for(const struct nsx_stream_waits *w,
			       const struct nsx_trace *t, uint32_t op,
			       int64_t start_ns, int64_t end_ns)
{
	uint32_t stream = nsx_op_stream(&t->ops, op), first = w->op_at[stream];
	uint32_t end = w->wait_at[stream + 1];
	uint32_t k = NSX_SEARCH(first, w->op_at[stream + 1], i, w->op[i] < op);
	int64_t since = k > first ? w->called[k - 1] : INT64_MIN;
	int64_t until = streamwait_call_of(t, nsx_op_call(&t->ops, op));

	if (t->ops.flags[op] & NSX_OP_PEER)
		return NSX_NONE; /* that stream is on the other device */
	for (k = NSX_SEARCH(w->wait_at[stream], end, i,
			    streamwait_call_of(t, t->syncs.call[w->wait[i]]) <= since);
	     k < end && streamwait_call_of(t, t->syncs.call[w->wait[k]]) < until; k++) {
		uint32_t producer = producer_of(w, t, w->wait[k]);

		if (producer != NSX_NONE &&
		    nsx_op_end(&t->ops, producer) > start_ns &&
		    nsx_op_end(&t->ops, producer) <= end_ns)
			return producer;
	}
	return NSX_NONE;
}
