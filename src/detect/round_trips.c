/* round_trips.c - data that goes to the host between two kernels and comes back: an operator or an
 * optimizer that runs on the CPU, a halo exchanged through the host.
 *
 * The copies in both directions, the waits between them and the host's work meanwhile have one
 * cause, and each shows only a part of it.
 */
#include <inttypes.h>
#include <math.h>
#include "detect/detect.h"

enum {
	FEWEST = 3,	/* least number of round trips                       */
	LEAST_BYTES = 65536, /* least bytes out in one trip; fewer are a result to inspect */
	IN_A_ROW = 8,	/* most consecutive trips in one request or step     */
	FEW_BYTES = 4096, /* excess of one direction that may be single values beside the data */
};

enum step { OTHER, OUT, BACK, WORK, WAIT };

/* MAYBE_TRIP may be a reply and the next request. */
enum sort { NO_TRIP, MAYBE_TRIP, TRIP };

enum { COPIES, WAITS, GAPS /* GAPS: calls that end a gap */, NLISTS };

struct trips {
	struct nsx_detect *d;
	struct nsx_row_list rows[NLISTS]; /* rows of all trips, those of the current trip last */
	size_t kept[NLISTS];		  /* number of rows that belong to earlier trips */
	bool has_waited;
	/* number of consecutive trips. It begins anew if the thread waits for the GPU or copies
	 * outside of a trip, or if there is no work between two trips.
	 */
	unsigned nrow;
	int64_t out_bytes, back_bytes, host_ns; /* sums over the current trip */
	int64_t bytes, copies_ns, all_host_ns;
	int64_t last_ns; /* end of the thread's last call                    */
	size_t n, nmaybe;
	struct nsx_places *places;
};

static enum step step_of(const struct trips *x, size_t call)
{
	const struct nsx_trace *t = x->d->trace;
	uint32_t op = nsx_call_op(&t->calls, call);

	if (op == NSX_NONE)
		return t->calls.cls[call] == NSX_CALL_SYNC   ? WAIT :
		       t->calls.cls[call] == NSX_CALL_LAUNCH ? WORK : OTHER;
	if (t->ops.kind[op] == NSX_OP_MEMSET)
		return OTHER;
	if (t->ops.kind[op] != NSX_OP_MEMCPY)
		return WORK;
	switch (nsx_op_copy(t, op)->copy_kind) {
	case NSX_COPY_DTOH: return OUT;
	case NSX_COPY_HTOD: return BACK;
	default: return WORK;
	}
}

/* Whether the current trip has begun: data went out. */
static bool is_open(const struct trips *x)
{
	return x->rows[COPIES].n > x->kept[COPIES];
}

/* Classifies the current trip. Equal bytes in both directions may still be a reply and the next
 * request, if each trip stands between other work and the thread neither waits nor copies
 * elsewhere. Unequal bytes count as a reply and a request.
 */
static enum sort sort_of(const struct trips *x)
{
	return !x->back_bytes || x->out_bytes < LEAST_BYTES ||
	       imaxabs(x->out_bytes - x->back_bytes) >= FEW_BYTES ? NO_TRIP :
	       x->nrow < IN_A_ROW ? TRIP : MAYBE_TRIP;
}

/* Ends the current trip. Its rows are kept if it proves to be a round trip. */
static int end_trip(struct trips *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	enum sort sort = sort_of(x);
	bool is_trip = sort != NO_TRIP;
	size_t from = x->kept[COPIES];

	if (is_trip) {
		x->n++;
		x->nrow++;
		x->nmaybe += sort == MAYBE_TRIP;
		nsx_add_to(&x->bytes, nsx_add_sat(x->out_bytes, x->back_bytes));
		nsx_add_to(&x->all_host_ns, x->host_ns);
	}
	for (unsigned k = 0; k < NLISTS; k++)
		if (is_trip)
			x->kept[k] = x->rows[k].n;
		else
			x->rows[k].n = x->kept[k];
	if (!is_trip && x->has_waited)
		x->nrow = 0;
	x->has_waited = false;
	x->out_bytes = x->back_bytes = x->host_ns = 0;
	for (size_t i = from; i < x->kept[COPIES]; i++) {
		uint32_t op = x->rows[COPIES].v[i];

		nsx_add_to(&x->copies_ns, nsx_op_ns(&t->ops, op));
		if (nsx_places_add_op(x->places, 0, op, nsx_op_ns(&t->ops, op), err))
			return err->rc;
	}
	return 0;
}

static int round_trips_add_copy(struct trips *x, size_t call, enum step step, struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	uint32_t op = nsx_call_op(&t->calls, call);
	int64_t bytes = NSX_MAX(0, nsx_op_copy(t, op)->bytes);

	nsx_add_to(step == OUT ? &x->out_bytes : &x->back_bytes, bytes);
	x->has_waited |= step == OUT && nsx_call_blocks(x->d->facts, t, call);
	return nsx_list_row(x->d, &x->rows[COPIES], op, err);
}

static int round_trips_add_call(struct trips *x, size_t call, struct nsx_err *err)
{
	const struct nsx_calls *c = &x->d->trace->calls;
	enum step step = step_of(x, call);
	int rc = 0;

	/* The host cannot have used data that it did not wait for. */
	if (is_open(x) && (step == WORK || (step == OUT && x->back_bytes) ||
			   (step == BACK && !x->has_waited))) {
		rc = end_trip(x, err);
		if (step == OUT)
			x->nrow = 0;
	}
	if (!rc && is_open(x)) {
		nsx_add_to(&x->host_ns, nsx_call_start(c, call) - x->last_ns);
		rc = nsx_list_row(x->d, &x->rows[GAPS], call, err);
	} else if (step == WAIT || step == BACK) {
		x->nrow = 0;
	}
	if (!rc && is_open(x) && step == WAIT) {
		x->has_waited = true;
		rc = nsx_list_row(x->d, &x->rows[WAITS], call, err);
	}
	if (!rc && (step == OUT || (step == BACK && is_open(x))))
		rc = round_trips_add_copy(x, call, step, err);
	x->last_ns = nsx_call_end(c, call);
	return rc;
}

static int round_trips_walk_thread(struct trips *x, const struct nsx_thread *th,
				   struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	int rc = 0;

	x->nrow = IN_A_ROW;
	for (size_t i = th->calls_at; !rc && i < th->calls_at + th->ncalls; i++)
		if (!(t->calls.flags[i] & NSX_CALL_NESTED) &&
		    nsx_is_judged(x->d, nsx_call_start(&t->calls, i)))
			rc = round_trips_add_call(x, i, err);
	return rc ?: end_trip(x, err);
}

static struct nsx_plan round_trips_plan_of(struct trips *x)
{
	struct nsx_plan p = {NULL, 0};

	nsx_plan_rows(x->d, &p, &x->rows[COPIES], (struct nsx_change){
		.verb = NSX_DROP, .op = NSX_ON_COPIES});
	nsx_plan_rows(x->d, &p, &x->rows[WAITS], (struct nsx_change){.verb = NSX_NO_WAIT});
	nsx_plan_rows(x->d, &p, &x->rows[GAPS], (struct nsx_change){
		.verb = NSX_FASTER_HOST, .amount = INFINITY});
	return p;
}

static void round_trips_propose(struct trips *x)
{
	struct nsx_findings *l = x->d->found;
	bool computes = x->all_host_ns > x->copies_ns;
	bool may_be_reply = x->nmaybe * 2 > x->n && /* MPI ranks serve no requests */
			    !x->d->has_mpi;
	struct nsx_finding f = {.id = computes ? NSX_ID_host_round_trips : NSX_ID_round_trips,
		.subject = "round_trips", .device = NSX_NONE,
		.title = computes ? say_host_works_on_data_copied : say_data_copied_host_back,
		.confidence = NSX_CONF_MEDIUM,
		.evidence = {nsx_tell(l, say_host_takes_beside,
				     nsx_text_n(l->arena, x->n, "round trip", NULL),
				     nsx_tell_bytes(l, x->bytes), nsx_tell_ns(l, x->copies_ns),
				     nsx_tell_ns(l, x->all_host_ns),
				     may_be_reply ? say_or_replies_next_requests : ""),
			say_an_upper_bound_as_if_3},
		.is_bound = true, .surely = nsx_nothing,
		.recommendation = {nsx_on_several_gpus(x->d->trace, NSX_SEVERAL) ?
					   say_do_on_gpu_what_host :
					   say_keep_data_on_gpu_between,
			say_else_do_parts_with},
		.proof = {{.csv = "memcpy_summary",
			.column = "exposed_ms",
			.at = {{"direction", nsx_string(nsx_copy_direction(NSX_COPY_DTOH))}}}},
		.remedy = round_trips_plan_of(x)};

	nsx_places_tell(x->places, 0, &f);
	if (f.place)
		f.title = nsx_tell(l, "%s: %s", f.title, f.place);
	nsx_found(l, &f);
}

int nsx_detect_round_trips(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	struct trips x = {.d = d, .places = nsx_new_places(d)};

	for (uint32_t i = 0; i < t->nthreads; i++)
		if (t->thread[i].launches && round_trips_walk_thread(&x, &t->thread[i], err))
			return err->rc;
	if (x.n >= FEWEST)
		round_trips_propose(&x);
	return 0;
}
