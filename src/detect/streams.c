/* streams.c - streams that take turns: by the legacy default stream, for what is queued on it
 * waits for all that was queued before on the blocking streams of its context, and these for
 * it; or by each other's events.
 */
#include <stdlib.h>
#include "detect/detect.h"

#define BESIDE 0.1 /* of their work: streams that do more at once take no turns */

struct work { /* of a stream, in the judged window                           */
	size_t n, ncompute, ncomm;
};

/* Whether they need what it does is not in the trace. */
static void propose_apart(struct nsx_detect *d, uint32_t stream, size_t n,
			  size_t nothers)
{
	struct nsx_findings *l = d->found;
	const struct nsx_stream *s = &d->trace->stream[stream];
	struct nsx_finding f = {
		.id = NSX_ID_false_dependency, .subject = "default_stream",
		.device = s->device, .confidence = NSX_CONF_MEDIUM,
		.title = "the default stream makes the other streams wait",
		.evidence = {
			nsx_tell(l, "%s on stream %lld, which takes turns with "
				 "%s",
				 nsx_text_n(l->arena, n, "operation", NULL),
				 (long long)s->stream_id,
				 nsx_text_n(l->arena, nothers, "blocking stream",
					    NULL)),
			"an upper bound: as if nothing on them needed what it "
			"does"},
		.is_bound = true,
		.recommendation = {
			"create the streams with cudaStreamNonBlocking, or "
			"compile with --default-stream per-thread, and wait "
			"for an event where a result is needed"},
		.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_CUT, .by = NSX_BY_STREAM,
			.stream = stream})};

	nsx_found(l, &f);
}

/* Time that kernels of the streams [from, to), which are of one device, run, and in which
 * they do so beside those of another of these.
 */
static void sum_beside(const struct nsx_detect *d, uint32_t from, uint32_t to,
		       int64_t *ret_ns, int64_t *ret_beside_ns)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_device *dev = &t->device[t->stream[from].device];
	struct nsx_latest last = NSX_LATEST;

	*ret_ns = *ret_beside_ns = 0;
	for (uint32_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		int64_t start_ns = nsx_op_start(&t->ops, i), end_ns = nsx_op_end(&t->ops, i);
		int64_t other_ns;
		uint32_t stream = nsx_op_stream(&t->ops, i);

		if (stream < from || stream >= to || t->ops.cls[i] != NSX_C_COMPUTE ||
		    !nsx_is_judged(d, start_ns))
			continue;
		nsx_add_to(ret_ns, end_ns - start_ns);
		other_ns = last.end_ns[last.group[0] == stream];
		nsx_add_to(ret_beside_ns,
			   NSX_MAX(NSX_MIN(end_ns, other_ns), start_ns) - start_ns);
		nsx_latest_add(&last, stream, end_ns);
	}
}

/* The calls by which streams [from, to) wait for events. */
static int list_waits(const struct nsx_detect *d, uint32_t from, uint32_t to,
		      struct nsx_row_list *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;

	for (size_t i = 0; i < t->syncs.n; i++)
		if (t->syncs.type[i] == NSX_SYNC_STREAM_WAIT &&
		    t->syncs.stream[i] != NSX_NONE && t->syncs.call[i] != NSX_NONE &&
		    t->syncs.stream[i] >= from && t->syncs.stream[i] < to &&
		    nsx_is_judged(d, nsx_call_start(&t->calls, t->syncs.call[i])) &&
		    nsx_list_row(ret, t->syncs.call[i], err))
			return err->rc;
	return 0;
}

/* Streams that all compute, and wait for nothing but each other: copies and communication have
 * findings of their own.
 */
static int find_waits(struct nsx_detect *d, uint32_t from, uint32_t to, size_t nstreams,
		      struct nsx_err *err)
{
	struct nsx_findings *l = d->found;
	struct nsx_change *v = nsx_arena_get(l->arena, sizeof(*v));
	struct nsx_finding f = {
		.id = NSX_ID_false_dependency, .subject = "events",
		.device = d->trace->stream[from].device, .confidence = NSX_CONF_MEDIUM,
		.title = "streams wait for each other's events, and take turns",
		.is_bound = true,
		.recommendation = {
			"leave out the waits (cudaStreamWaitEvent) that no result needs, or "
			"wait for an earlier event"},
		.remedy = {v, 0}};
	struct nsx_row_list waits = {0};
	int64_t ns, beside_ns;
	size_t n;
	int rc;

	sum_beside(d, from, to, &ns, &beside_ns);
	if ((double)beside_ns > BESIDE * (double)ns)
		return 0;
	rc = list_waits(d, from, to, &waits, err);
	n = waits.n;
	nsx_add_change(d, v, &f.remedy.n, &waits, (struct nsx_change){.verb = NSX_UNTIE});
	free(waits.v);
	if (rc || !n)
		return rc;
	f.evidence[0] = nsx_tell(l, "%s of %zu streams, whose kernels take %s and %s",
				 nsx_text_n(l->arena, n, "wait", NULL), nstreams,
				 nsx_tell_ns(l, ns), !beside_ns ? "never run side by side" :
				 nsx_tell(l, "run side by side for %s of it",
					  nsx_tell_ns(l, beside_ns)));
	f.evidence[1] = "an upper bound: whether a stream needs the result that it waits for is "
			"not in the trace";
	nsx_found(l, &f);
	return 0;
}

/* Streams of one context. */
static int find_turns(struct nsx_detect *d, uint32_t from, uint32_t to, const struct work *w,
		      struct nsx_err *err)
{
	const struct nsx_stream *s = d->trace->stream;
	size_t nothers = 0, nstreams = 0;
	uint32_t null = NSX_NONE;
	bool all_compute = true;

	for (uint32_t i = from; i < to; i++) {
		if (w[i].n && s[i].type == NSX_STREAM_NULL)
			null = i;
		nothers += w[i].n && s[i].type == NSX_STREAM_BLOCKING;
		nstreams += w[i].n > 0;
		all_compute &= !w[i].n || (w[i].ncompute && !w[i].ncomm);
	}
	if (null != NSX_NONE && nothers)
		propose_apart(d, null, w[null].n, nothers);
	return nstreams < 2 || !all_compute ? 0 : find_waits(d, from, to, nstreams, err);
}

int nsx_detect_streams(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	struct work *w; /* by stream                                         */

	if (!nsx_new_array(w, d->scratch, t->nstreams, "streams", err))
		return err->rc;
	for (size_t i = 0; i < t->ops.n; i++) {
		struct work *x = &w[nsx_op_stream(&t->ops, i)];

		if (!nsx_is_judged(d, nsx_op_start(&t->ops, i)))
			continue;
		x->n++;
		x->ncompute += t->ops.cls[i] == NSX_C_COMPUTE;
		x->ncomm += t->ops.cls[i] == NSX_C_COMM;
	}
	NSX_EACH_RUN(i, next, t->nstreams,
		     nsx_same_context(&t->stream[i], &t->stream[next]))
		if (find_turns(d, (uint32_t)i, (uint32_t)next, w, err))
			return err->rc;
	return 0;
}
