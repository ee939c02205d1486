/* trials.c - trials of cuDNN, which runs its algorithms to pick the fastest.
 *
 * For a convolution of a new shape, cuDNN may run each of its algorithms between two events and
 * wait for the second to read the time. The program can avoid these waits neither by a later launch
 * nor by another event.
 *
 * A trial is an event record, a few kernels, an event record, and directly after that a wait for an
 * event. A search is three or more trials with no work between them, most of which run kernels that
 * none before them ran; the steps of a loop that times itself all run the same. The name of a
 * kernel shows that it is cuDNN's.
 */
#include <math.h>
#include "detect/detect.h"

enum {
	LEAST_TRIALS = 3,
	MOST_TRIALS = 64,  /* most trials of a search; there are no more algorithms */
	MOST_KERNELS = 32, /* most kernels of one algorithm                  */
};

enum { LOOKED_UP = 1, RECORDS = 2, WAITS_FOR_EVENT = 4, CUDNN = 8 };

struct trial { /* calls [first, end) of one thread */
	size_t first, end;
	uint64_t kernels; /* hash of the kernels' names                      */
};
struct search {
	struct nsx_detect *d;
	uint8_t *says; /* by name of a call or kernel: what it says; 0: not looked up yet */
	struct trial *v; /* trials of the current search                     */
	size_t n, cap, ndistinct;
	bool is_cudnn; /* whether one of its trials names cuDNN              */
	uint8_t *bits; /* bits of calls to mark; NULL: list the calls instead */
	struct nsx_row_list calls, kernels, gaps; /* gaps: calls that end a gap */
	size_t ntrials;
	int64_t ns, wait_ns; /* of the trials, including the time between them */
	struct nsx_places *places;
};

static unsigned says(struct search *s, nsx_str name)
{
	uint8_t *x = &s->says[name];
	const char *text = nsx_text(s->d->trace, name);

	if (!*x)
		*x = LOOKED_UP | (strcasestr(text, "cudnn") ? CUDNN : 0) |
		     (strstr(text, "EventRecord")      ? RECORDS :
		      strstr(text, "EventSynchronize") ? WAITS_FOR_EVENT : 0);
	return *x;
}

/* Adds a trial in the judged window. after: the previous trial of the search, or NULL. */
static int add_trial(struct search *s, const struct trial *x,
		     const struct trial *after, struct nsx_err *err)
{
	const struct nsx_trace *t = s->d->trace;
	size_t wait = x->end - 1;
	uint32_t range = NSX_NONE;
	int64_t from_ns = after ? nsx_call_end(&t->calls, after->end - 1) :
				  nsx_call_start(&t->calls, x->first);

	if (!nsx_is_judged(s->d, nsx_call_start(&t->calls, wait)))
		return 0;
	s->ntrials++;
	nsx_add_to(&s->ns, nsx_call_end(&t->calls, wait) - from_ns);
	nsx_add_to(&s->wait_ns, nsx_call_ns(&t->calls, wait));
	for (size_t i = x->first; i < x->end; i++) {
		uint32_t op = nsx_call_op(&t->calls, i);

		if (nsx_list_row(s->d, &s->calls, i, err) ||
		    ((after || i > x->first) &&
		     nsx_list_row(s->d, &s->gaps, i, err)) ||
		    (op != NSX_NONE && nsx_list_row(s->d, &s->kernels, op, err)))
			return err->rc;
		if (op != NSX_NONE)
			range = nsx_op_range(&s->d->facts->nvtx, op);
	}
	return nsx_places_add(s->places, 0, range, (uint32_t)wait, nsx_call_ns(&t->calls, wait),
			      err);
}

/* Ends the current search, and keeps it if its trials make a search. */
static int end_search(struct search *s, struct nsx_err *err)
{
	bool is_one = s->is_cudnn && s->n >= LEAST_TRIALS && s->ndistinct * 2 > s->n;

	s->d->has_trials |= is_one;
	for (size_t k = 0; is_one && k < s->n; k++) {
		const struct trial *x = &s->v[k];

		for (size_t i = x->first; s->bits && i < x->end; i++)
			nsx_mark(s->bits, i);
		if (!s->bits && add_trial(s, x, k ? x - 1 : NULL, err))
			return err->rc;
	}
	s->n = s->ndistinct = 0;
	s->is_cudnn = false;
	return 0;
}

/* Adds the trial from call `first` to the wait that ends it. */
static int end_trial(struct search *s, size_t first, size_t wait, struct nsx_err *err)
{
	const struct nsx_trace *t = s->d->trace;
	struct trial x = {first, wait + 1, 0};
	bool is_known = false;

	for (size_t i = first; i < wait; i++) {
		uint32_t op = nsx_call_op(&t->calls, i);

		if (op == NSX_NONE)
			continue;
		x.kernels = (x.kernels ^ nsx_op_name(t, op)) * UINT64_C(1099511628211);
		s->is_cudnn |= !!(says(s, nsx_op_name(t, op)) & CUDNN);
	}
	for (size_t k = 0; k < s->n; k++)
		is_known |= s->v[k].kernels == x.kernels;
	s->ndistinct += !is_known;
	if (nsx_push(s->v, s->n, s->cap, "trials", err, x))
		return err->rc;
	return s->n == MOST_TRIALS ? end_search(s, err) : 0;
}

static int trials_walk_thread(struct search *s, const struct nsx_thread *h, struct nsx_err *err)
{
	const struct nsx_trace *t = s->d->trace;
	size_t first = SIZE_MAX; /* event record that begins the current trial */
	bool is_recorded = false; /* whether the previous call recorded an event */
	size_t nkernels = 0;

	for (size_t i = h->calls_at; i < h->calls_at + h->ncalls; i++) {
		uint32_t op = nsx_call_op(&t->calls, i);
		unsigned role = says(s, nsx_call_name(&t->calls, i));
		bool computes = op != NSX_NONE && t->ops.kind[op] == NSX_OP_KERNEL;

		if (t->calls.flags[i] & NSX_CALL_NESTED)
			continue;
		nkernels += computes;
		if (role & WAITS_FOR_EVENT && is_recorded && nkernels && first != SIZE_MAX) {
			if (end_trial(s, first, i, err))
				return err->rc;
			first = SIZE_MAX;
		} else if (t->calls.cls[i] == NSX_CALL_SYNC || (op != NSX_NONE && !computes) ||
			   (computes && (first == SIZE_MAX || nkernels > MOST_KERNELS))) {
			if (end_search(s, err))
				return err->rc;
			first = SIZE_MAX;
		} else if (role & RECORDS && first == SIZE_MAX) {
			first = i;
			nkernels = 0;
		}
		is_recorded = role & RECORDS;
	}
	return end_search(s, err);
}

static int walk_threads(struct search *s, struct nsx_err *err)
{
	const struct nsx_trace *t = s->d->trace;
	int rc = 0;

	if (!nsx_new_array(s->says, s->d->scratch, nsx_strings_bound(t->strings), "names", err))
		return err->rc;
	for (uint32_t h = 0; !rc && h < t->nthreads; h++)
		rc = trials_walk_thread(s, &t->thread[h], err);
	free(s->v);
	return rc ?: nsx_stopped(err);
}

int nsx_mark_trials(struct nsx_detect *d, uint8_t *bits, struct nsx_err *err)
{
	struct search s = {.d = d, .bits = bits};

	return walk_threads(&s, err);
}

static void trials_propose(struct search *s)
{
	struct nsx_findings *l = s->d->found;
	const struct nsx_trace *t = s->d->trace;
	/* name of the call that ends each trial */
	nsx_str wait = nsx_call_name(&t->calls, s->calls.v[s->calls.n - 1]);
	struct nsx_finding f = {.id = NSX_ID_algorithm_trials,
		.title = say_cudnn_tries_out_algorithms, .confidence = NSX_CONF_HIGH,
		.device = NSX_NONE, .guess_ns = (double)s->ns, .most_ns = (double)s->ns,
		.evidence = {nsx_tell(l, say_each_between_two_events,
			nsx_text_n(l->arena, s->ntrials, "trial", NULL), nsx_tell_ns(l, s->ns),
			nsx_tell_ns(l, s->wait_ns))},
		.recommendation = {s->d->is_pytorch ? say_keep_shapes_inputs_fixed :
						      say_keep_shapes_inputs_fixed_2,
			say_if_no_new_shape_comes},
		.proof = {{.csv = "barriers",
			.column = "total_time_ms",
			.at = {{"barrier_kind", nsx_string("sync_api")},
				{"api_name", nsx_string(nsx_text(t, wait))}}}}};

	nsx_places_tell(s->places, 0, &f);
	nsx_plan_rows(s->d, &f.remedy, &s->kernels, (struct nsx_change){
		.verb = NSX_DROP, .op = NSX_ON_KERNELS});
	nsx_plan_rows(s->d, &f.remedy, &s->calls, (struct nsx_change){.verb = NSX_NO_COST});
	nsx_plan_rows(s->d, &f.remedy, &s->gaps, (struct nsx_change){
		.verb = NSX_FASTER_HOST, .amount = INFINITY});
	nsx_found(l, &f);
}

int nsx_detect_trials(struct nsx_detect *d, struct nsx_err *err)
{
	struct search s = {.d = d, .places = nsx_new_places(d)};

	if (d->has_trials && walk_threads(&s, err))
		return err->rc;
	if (s.ntrials)
		trials_propose(&s);
	return 0;
}
