/* comm_starts.c - the reason why communication does not start sooner, from the time of its start.
 * Communication that starts right after the collective before it, or after the kernel that makes
 * its input, can start sooner under no schedule.
 */
#include "detect/detect.h"

enum {
	NEAR_NS = 5000,	  /* longest time from a kernel's end to a start that waited for it */
	/* an operation that starts so long after its launch waited for another */
	QUEUED_NS = 20000,
	LOOK_BACK = 64,	  /* operations searched for the kernel before */
};
#define COVERED 0.5 /* communication overlaps from this share of its time beside compute */

struct chain { /* consecutive collectives of a stream without compute between them */
	int64_t end_ns, head_ns; /* exposed time of the first                */
	int64_t rest_ns;	 /* exposed time of the others               */
	bool is_needed, overlaps; /* of the first collective                 */
};

/* Whether a collective waited for its input: it starts right after a kernel of the device ended, or
 * was queued long before it started.
 */
static bool waits_for_input(const struct nsx_trace *t, const struct nsx_device *dev, size_t op)
{
	int64_t start_ns = nsx_op_start(&t->ops, op), end_ns;
	uint32_t call = nsx_op_call(&t->ops, op);

	if (call != NSX_NONE && start_ns - nsx_call_end(&t->calls, call) >= QUEUED_NS)
		return true;
	for (size_t i = op; i-- > dev->ops_at && op - i <= LOOK_BACK;) {
		end_ns = nsx_op_end(&t->ops, i);
		if (t->ops.cls[i] == NSX_C_COMPUTE && end_ns <= start_ns &&
		    start_ns - end_ns <= NEAR_NS)
			return true;
	}
	return false;
}

static void end_chain(struct chain *c, struct nsx_comm_starts *ret)
{
	int64_t *of_head = c->is_needed ? &ret->needed_ns : &ret->late_ns;

	nsx_add_to(of_head, c->head_ns);
	nsx_add_to(c->overlaps ? &ret->behind_ns : of_head, c->rest_ns);
	ret->nneeded += c->is_needed && !c->overlaps && c->head_ns;
	*c = (struct chain){.end_ns = c->end_ns};
}

static void comm_starts_add_kind(enum nsx_comm_op op, int64_t exposed_ns,
				 struct nsx_comm_starts *ret)
{
	if (op == NSX_COMM_SENDRECV || op == NSX_COMM_ALLTOALL)
		nsx_add_to(&ret->pairs_ns, exposed_ns);
	if (op == NSX_COMM_ALLGATHER)
		nsx_add_to(&ret->gathers_ns, exposed_ns);
}

int nsx_comm_starts(const struct nsx_detect *d, uint32_t device,
		    const uint8_t *computes, struct nsx_comm_starts *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_device *dev = &t->device[device];
	const struct nsx_spans *compute = &d->facts->device[device].compute;
	struct chain *of_stream;
	int64_t *prefix;

	*ret = (struct nsx_comm_starts){0};
	if (!nsx_new_array(of_stream, d->scratch, t->nstreams, "streams", err) ||
	    nsx_spans_prefix(d->scratch, compute, &prefix, err))
		return err->rc;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		int64_t start_ns = nsx_op_start(&t->ops, i);
		int64_t ns = nsx_op_ns(&t->ops, i), exposed_ns;
		struct chain *c = &of_stream[nsx_op_stream(&t->ops, i)];

		if (t->ops.cls[i] != NSX_C_COMM || !nsx_is_judged(d, start_ns) ||
		    computes[nsx_op_stream(&t->ops, i)])
			continue;
		exposed_ns = ns - nsx_spans_within(compute, prefix, start_ns, start_ns + ns);
		comm_starts_add_kind(nsx_op_launch(t, i)->op, exposed_ns, ret);
		if (c->end_ns && !nsx_spans_within(compute, prefix, c->end_ns, start_ns)) {
			nsx_add_to(&c->rest_ns, exposed_ns);
		} else {
			end_chain(c, ret);
			c->head_ns = exposed_ns;
			c->is_needed = waits_for_input(t, dev, i);
			c->overlaps = (double)(ns - exposed_ns) >= COVERED * (double)ns;
		}
		c->end_ns = NSX_MAX(c->end_ns, start_ns + ns);
	}
	for (uint32_t s = 0; s < t->nstreams; s++)
		end_chain(&of_stream[s], ret);
	nsx_arena_drop(d->scratch, of_stream);
	return 0;
}
