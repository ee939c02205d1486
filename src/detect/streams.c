/* streams.c - the legacy default stream, which waits for all work queued before on the blocking streams
 * of its context, while they wait for it.
 */
#include "detect/detect.h"
#include "detect/words.h"

/* Proposes to detach the default stream. The trace does not show whether the other streams need its
 * work.
 */
static void propose_apart(struct nsx_detect *d, uint32_t stream, size_t n, size_t nothers)
{
	struct nsx_findings *l = d->found;
	const struct nsx_stream *s = &d->trace->stream[stream];
	struct nsx_finding f = {.id = NSX_ID_false_dependency,
		.subject = "default_stream", .device = s->device, .confidence = NSX_CONF_MEDIUM,
		.title = say_default_stream_makes_other,
		.evidence = {nsx_tell(l, say_on_stream_which_takes,
				     nsx_text_n(l->arena, n, "operation", NULL),
				     (long long)s->stream_id,
				     nsx_text_n(l->arena, nothers, "blocking stream", NULL)),
			say_an_upper_bound_as_if_4},
		.is_bound = true,
		.recommendation = {say_create_streams_with},
		.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_CUT, .by = NSX_BY_STREAM, .stream = stream})};

	nsx_found(l, &f);
}

int nsx_detect_streams(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_trace *t = d->trace;
	size_t *n = nsx_arena_get(d->scratch, (t->nstreams + 1) * sizeof(*n));

	for (size_t i = 0; i < t->ops.n; i++)
		n[nsx_op_stream(&t->ops, i)] += nsx_is_judged(d, nsx_op_start(&t->ops, i));
	NSX_EACH_RUN(i, next, t->nstreams, nsx_same_context(&t->stream[i], &t->stream[next])) {
		size_t nothers = 0, null = SIZE_MAX;

		for (size_t k = i; k < next; k++) {
			if (n[k] && t->stream[k].type == NSX_STREAM_NULL)
				null = k;
			nothers += n[k] && t->stream[k].type == NSX_STREAM_BLOCKING;
		}
		if (null != SIZE_MAX && nothers)
			propose_apart(d, (uint32_t)null, n[null], nothers);
	}
	return 0;
}
