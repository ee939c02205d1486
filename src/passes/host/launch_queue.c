/* launch_queue.c - the depth of each stream's queue over time.
 *
 * One more from the start of a call until the first work it caused starts.  A
 * stream whose queue is empty while its device idles is starved; one whose
 * queue is never empty is fed, however slow its launches look.
 */
#include <stdlib.h>
#include <string.h>
#include "base/stat.h"
#include "passes/host/launch_queue.h"


struct queues {
	size_t *at; /* by stream, and one more: slice of the two lists       */
	int64_t *called; /* sorted in its slice                              */
	uint32_t *op;	 /* that began, in order of start in its slice       */
	int64_t *time_at; /* by depth, of one stream                         */
	size_t cap;
};

static bool is_queued(const struct nsx_trace *t, uint32_t op)
{
	uint32_t call = t->ops.call[op];

	return call != NSX_NONE && t->calls.op[call] == op &&
	       nsx_op_counts(t, op);
}

/* Clock error aside nothing starts before it is asked for. */
static int64_t call_time(const struct nsx_trace *t, uint32_t op)
{
	return NSX_MIN(nsx_call_start(&t->calls, t->ops.call[op]),
		       nsx_op_start(&t->ops, op));
}

static void sort_if_needed(int64_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (v[i] < v[i - 1]) {
			nsx_sort(v, n, sizeof(*v), nsx_cmp_i64);
			return;
		}
}

static int collect(const struct nsx_run *run, struct queues *q,
		   struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	size_t n;

	if (!nsx_new_array(q->at, run->scratch, t->nstreams + (size_t)1,
			   "streams", err))
		return err->rc;
	for (uint32_t i = 0; i < t->ops.n; i++)
		if (is_queued(t, i))
			q->at[nsx_op_stream(&t->ops, i) + 1]++;
	for (uint32_t s = 0; s < t->nstreams; s++)
		q->at[s + 1] += q->at[s];
	n = q->at[t->nstreams];
	if (!nsx_new_array(q->called, run->scratch, n, "launches", err) ||
	    !nsx_new_array(q->op, run->scratch, n, "launches", err))
		return err->rc;
	/* Filling moves each start to its end: the next one's start. */
	for (uint32_t i = 0; i < t->ops.n; i++) {
		size_t *at = &q->at[nsx_op_stream(&t->ops, i)];

		if (!is_queued(t, i))
			continue;
		q->called[*at] = call_time(t, i);
		q->op[(*at)++] = i;
	}
	memmove(q->at + 1, q->at, t->nstreams * sizeof(*q->at));
	q->at[0] = 0;
	return 0;
}

/* Depth over time of one stream: fills time_at[0..*ret_most], and finds how
 * much of the time without depth the device idled.
 */
static int sweep(struct queues *q, const struct nsx_trace *t, size_t first,
		 size_t n, const struct nsx_idle *idle, size_t *ret_most,
		 int64_t *ret_starved_ns, struct nsx_err *err)
{
	const int64_t *called = q->called + first;
	const uint32_t *op = q->op + first;
	size_t depth = 0, most = 0, i = 0, j = 0;
	int64_t at = called[0], starved_ns = 0;

	if (nsx_grow(&q->time_at, &q->cap, 1, 8, "queue depths", err))
		return err->rc;
	q->time_at[0] = 0;
	while (j < n) {
		int64_t next = nsx_op_start(&t->ops, op[j]);

		if (i < n)
			next = NSX_MIN(called[i], next);

		q->time_at[depth] += next - at;
		if (!depth && next > at)
			starved_ns += nsx_idle_within(idle, at, next);
		at = next;
		for (; i < n && called[i] == at; i++) {
			if (++depth <= most)
				continue;
			if (nsx_grow(&q->time_at, &q->cap, depth + 1, 8,
				     "queue depths", err))
				return err->rc;
			q->time_at[most = depth] = 0;
		}
		for (; j < n && nsx_op_start(&t->ops, op[j]) == at; j++)
			depth--;
	}
	*ret_most = most;
	*ret_starved_ns = starved_ns;
	return 0;
}

static int add_stream(const struct nsx_run *run, struct queues *q,
		      uint32_t stream, struct nsx_table *table,
		      struct nsx_err *err)
{
	const struct nsx_stream *s = &run->trace->stream[stream];
	size_t first = q->at[stream], n = q->at[stream + 1] - first, most = 0;
	size_t median = 0;
	int64_t all = nsx_op_start(&run->trace->ops, q->op[first + n - 1]) -
		      q->called[first];
	int64_t sum, starved = 0;
	struct nsx_cell *row = nsx_add_row(table);

	if (sweep(q, run->trace, first, n, &run->facts->idle[s->device], &most,
		  &starved, err))
		return err->rc;
	for (sum = q->time_at[0]; median < most && sum <= all / 2;)
		sum += q->time_at[++median];
	if (s->process != NSX_NONE)
		row[QUEUE_PID] = nsx_int(run->trace->process[s->process].pid);
	row[QUEUE_DEVICE] = nsx_int(run->trace->device[s->device].device_id);
	row[QUEUE_CONTEXT] = nsx_int(s->context_id);
	row[QUEUE_STREAM] = nsx_int(s->stream_id);
	row[QUEUE_LAUNCHES] = nsx_int((int64_t)n);
	row[QUEUE_MEDIAN] = nsx_int((int64_t)median);
	row[QUEUE_MOST] = nsx_int((int64_t)most);
	row[QUEUE_EMPTY] = nsx_pct((double)q->time_at[0], (double)all);
	row[QUEUE_STARVED] = nsx_ms(starved);
	return 0;
}

int nsx_fill_launch_queue(const struct nsx_run *run, struct nsx_table *table,
			  struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct queues q = {0};
	int rc = collect(run, &q, err);

	/* Ops of a stream are all on one device, in order of start. */
	for (uint32_t s = 0; !rc && s < t->nstreams; s++) {
		size_t n = q.at[s + 1] - q.at[s];

		if (!n)
			continue;
		sort_if_needed(q.called + q.at[s], n);
		rc = add_stream(run, &q, s, table, err);
	}
	free(q.time_at);
	if (rc)
		return rc;
	nsx_table_sort(table, NSX_DESC(QUEUE_LAUNCHES), QUEUE_PID,
		       QUEUE_DEVICE, QUEUE_CONTEXT, QUEUE_STREAM);
	return 0;
}
