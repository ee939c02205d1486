/* streams.c - streams that take turns, for one of two reasons. The legacy default stream waits for
 * all work queued before on the blocking streams of its context, and they wait for it. Or the
 * streams wait for each other's events.
 */
#include "detect/detect.h"
#include "detect/words.h"

#define BESIDE 0.1 /* streams that overlap for more than this share of their work take no turns */
/* share of work in kernels that run on several streams, from which these are pieces of one task */
#define SAME 0.75

struct work { /* work of a stream in the judged window                       */
	size_t n, ncompute, ncomm;
	/* the first stream of the context, which holds the following sums for the whole context: */
	uint32_t context;
	/* beside_ns: part of the kernels' time beside kernels of another stream */
	int64_t ns, beside_ns;
	size_t nturns; /* streams that may take turns by events; 0: they do not */
	int64_t same_ns; /* if they do, time of kernels that run on several streams */
	struct nsx_latest last;
};

struct streams {
	struct nsx_detect *d;
	struct work *work; /* by stream                                      */
	bool any; /* whether any context has nturns                          */
};

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
		.remedy = nsx_plan_of(
			d, (struct nsx_change){
				   .verb = NSX_CUT, .by = NSX_BY_STREAM, .stream = stream})};

	nsx_found(l, &f);
}

/* Adds an operation's time beside other streams. Operations must come device by device, each in
 * order of start.
 */
static void streams_add_beside(struct work *context, uint32_t stream, int64_t start_ns,
			       int64_t end_ns)
{
	struct nsx_latest *last = &context->last;
	int64_t other_ns = last->end_ns[last->group[0] == stream];

	nsx_add_to(&context->ns, end_ns - start_ns);
	nsx_add_to(&context->beside_ns, NSX_MAX(NSX_MIN(end_ns, other_ns), start_ns) - start_ns);
	nsx_latest_add(last, stream, end_ns);
}

static void streams_add_work(struct streams *s)
{
	const struct nsx_trace *t = s->d->trace;

	s->work = nsx_arena_get(s->d->scratch, (t->nstreams + 1) * sizeof(*s->work));
	NSX_EACH_RUN(i, next, t->nstreams, nsx_same_context(&t->stream[i], &t->stream[next])) {
		s->work[i].last = (struct nsx_latest)NSX_LATEST;
		for (size_t k = i; k < next; k++)
			s->work[k].context = (uint32_t)i;
	}
	for (size_t i = 0; i < t->ops.n; i++) {
		uint32_t stream = nsx_op_stream(&t->ops, i);
		struct work *x = &s->work[stream];

		if (!nsx_is_judged(s->d, nsx_op_start(&t->ops, i)))
			continue;
		x->n++;
		x->ncomm += t->ops.cls[i] == NSX_C_COMM;
		if (t->ops.cls[i] != NSX_C_COMPUTE)
			continue;
		x->ncompute++;
		streams_add_beside(&s->work[x->context], stream, nsx_op_start(&t->ops, i),
				   nsx_op_end(&t->ops, i));
	}
}

/* Lists the judged calls that make streams of a context wait for events. */
static int streams_list_waits(const struct streams *s, uint32_t from, uint32_t to,
			      struct nsx_row_list *ret, struct nsx_err *err)
{
	const struct nsx_syncs *v = &s->d->trace->syncs;

	for (size_t i = 0; i < v->n; i++)
		if (v->type[i] == NSX_SYNC_STREAM_WAIT && v->call[i] != NSX_NONE &&
		    v->stream[i] >= from && v->stream[i] < to &&
		    nsx_is_judged(s->d, nsx_call_start(&s->d->trace->calls, v->call[i])) &&
		    nsx_list_row(s->d, ret, v->call[i], err))
			return err->rc;
	return 0;
}

/* Sums, for each context, the time of kernels whose names run on several of its streams. A stream
 * with kernels of its own may be another step of the same work and need the result that it waits
 * for.
 */
static int add_same(struct streams *s, struct nsx_err *err)
{
	const struct nsx_trace *t = s->d->trace;
	struct nsx_groups names = {0}; /* (context, name)                    */
	struct nsx_users *v = NULL, *u; /* streams that run the kernel       */
	int rc = 0;

	for (size_t i = 0; !rc && i < 2 * t->ops.n; i++) {
		size_t op = i % t->ops.n;
		uint32_t stream = nsx_op_stream(&t->ops, op);
		struct work *x = &s->work[s->work[stream].context];

		if (!x->nturns || t->ops.kind[op] != NSX_OP_KERNEL ||
		    !nsx_is_judged(s->d, nsx_op_start(&t->ops, op)))
			continue;
		u = nsx_group_value(&names, &v, s->work[stream].context,
				    nsx_op_name(t, op), "kernels", err);
		if (!u)
			rc = err->rc;
		else if (i < t->ops.n)
			nsx_use(u, stream);
		else if (u->several)
			nsx_add_to(&x->same_ns, nsx_op_ns(&t->ops, op));
	}
	nsx_groups_done(&names);
	free(v);
	return rc;
}

static int propose_turns(const struct streams *s, uint32_t from, uint32_t to, struct nsx_err *err)
{
	const struct work *x = &s->work[from];
	struct nsx_detect *d = s->d;
	struct nsx_findings *l = d->found;
	struct nsx_finding f = {.id = NSX_ID_false_dependency,
		.subject = "events", .device = d->trace->stream[from].device,
		.confidence = NSX_CONF_MEDIUM, .title = say_streams_wait_each_other_2,
		.is_bound = true,
		.recommendation = {say_leave_out_waits}};
	bool same = (double)x->same_ns >= SAME * (double)x->ns;
	struct nsx_row_list waits = {0};
	int rc = streams_list_waits(s, from, to, &waits, err);

	if (rc || !waits.n)
		return rc;
	nsx_plan_rows(d, &f.remedy, &waits, (struct nsx_change){.verb = NSX_UNTIE});
	f.evidence[0] = nsx_tell(l, say_streams_whose_kernels_take,
		nsx_text_n(l->arena, waits.n, "wait", NULL), x->nturns, nsx_tell_ns(l, x->ns),
		!x->beside_ns ? say_never_run_side_by_side :
				nsx_tell(l, say_run_side_by_side, nsx_tell_ns(l, x->beside_ns)));
	f.evidence[1] = same ? say_an_upper_bound_whether : say_an_upper_bound_each_stream;
	f.alarm = same ? NSX_ALARM_BY_PRICE : NSX_ALARM_NONE;
	nsx_found(l, &f);
	return 0;
}

/* Judges the streams of one context. Streams take turns by events if all of them compute and wait
 * only for each other. Copies and communication have findings of their own.
 */
static void judge_context(struct streams *s, uint32_t from, uint32_t to)
{
	const struct nsx_stream *stream = s->d->trace->stream;
	struct work *x = &s->work[from];
	size_t nothers = 0, nstreams = 0;
	uint32_t null = NSX_NONE;
	bool all_compute = true;

	for (uint32_t i = from; i < to; i++) {
		const struct work *w = &s->work[i];

		if (w->n && stream[i].type == NSX_STREAM_NULL)
			null = i;
		nothers += w->n && stream[i].type == NSX_STREAM_BLOCKING;
		nstreams += w->n > 0;
		all_compute &= !w->n || (w->ncompute && !w->ncomm);
	}
	if (null != NSX_NONE && nothers)
		propose_apart(s->d, null, s->work[null].n, nothers);
	if (nstreams > 1 && all_compute &&
	    (double)x->beside_ns <= BESIDE * (double)x->ns)
		x->nturns = nstreams;
	s->any |= x->nturns > 0;
}

int nsx_detect_streams(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	struct streams s = {.d = d};

	streams_add_work(&s);
	NSX_EACH_RUN(i, next, t->nstreams, nsx_same_context(&t->stream[i], &t->stream[next]))
		judge_context(&s, (uint32_t)i, (uint32_t)next);
	if (s.any && add_same(&s, err))
		return err->rc;
	NSX_EACH_RUN(i, next, t->nstreams, nsx_same_context(&t->stream[i], &t->stream[next]))
		if (s.work[i].nturns && propose_turns(&s, (uint32_t)i, (uint32_t)next, err))
			return err->rc;
	return 0;
}
