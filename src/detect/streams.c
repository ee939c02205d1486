/* streams.c - the legacy default stream: what is queued on it waits for all that was
 * queued before on the blocking streams of its context, and these for it.
 */
#include "detect/detect.h"

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

int nsx_detect_streams(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	size_t *n; /* by stream: operations in the judged window             */

	if (!nsx_new_array(n, d->scratch, t->nstreams, "streams", err))
		return err->rc;
	for (size_t i = 0; i < t->ops.n; i++)
		n[nsx_op_stream(&t->ops, i)] +=
			nsx_is_judged(d, nsx_op_start(&t->ops, i));
	for (uint32_t i = 0, next; i < t->nstreams; i = next) {
		uint32_t null = NSX_NONE;
		size_t nothers = 0;

		for (next = i; next < t->nstreams &&
		     nsx_same_context(&t->stream[i], &t->stream[next]); next++) {
			if (n[next] && t->stream[next].type == NSX_STREAM_NULL)
				null = next;
			nothers += n[next] && t->stream[next].type ==
						      NSX_STREAM_BLOCKING;
		}
		if (null != NSX_NONE && nothers)
			propose_apart(d, null, n[null], nothers);
	}
	return 0;
}
