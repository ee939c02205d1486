/* held.c - launches that another thread of the process holds up: they last until a call of
 * its that allocates, frees, registers, loads or asks is over, as if both needed a lock that
 * the driver has once.
 */
#include <stdlib.h>
#include "detect/detect.h"

#define LEAST_SHARE 0.003 /* of the window, that they take */
enum {
	HELD_NS = 50000,  /* a launch takes a few microseconds               */
	LATE_NS = 50000,  /* a wait for a lock ends no later after the lock  */
	LATE_PART = 10,	  /* ... nor, that chance does not look so, than such
			     a part of the call                              */
	LEAST_CALLS = 3,
	MOST_NAMES = 2, /* told in a title                                   */
};

struct holder {
	uint32_t process, thread, call;
	int64_t end_ns;
};
NSX_ORDER(cmp_holders, struct holder, UP(process), UP(end_ns), UP(call));

struct held {
	struct nsx_detect *d;
	struct holder *holder;
	size_t nholders, cap_holders;
	struct nsx_row_list calls; /* that are held up                       */
	int64_t ns, late_ns; /* late_ns: of the latest, after what held it   */
	struct nsx_groups apis; /* (name, 0) of what holds them up           */
	struct api {
		nsx_str name;
		int64_t ns; /* of the calls that it holds up                 */
	} *api;
	struct nsx_votes threads; /* that hold them up                       */
	bool allocates; /* ... in calls for memory only                      */
};
NSX_ORDER(cmp_apis, struct api, DOWN(ns), UP(name));

/* What the driver does by itself: it queues nothing, and waits for no work. */
static bool may_hold(const struct nsx_trace *t, size_t call)
{
	uint8_t cls = t->calls.cls[call];

	return (cls == NSX_CALL_OTHER || cls == NSX_CALL_IMPLICIT_SYNC ||
		cls == NSX_CALL_MODULE) &&
	       nsx_call_op(&t->calls, call) == NSX_NONE &&
	       !(t->calls.flags[call] & NSX_CALL_NESTED) &&
	       nsx_call_ns(&t->calls, call) >= HELD_NS / 2;
}

static int list_holders(struct held *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;

	for (uint32_t i = 0; i < t->nthreads; i++) {
		const struct nsx_thread *th = &t->thread[i];

		for (size_t k = th->calls_at; k < th->calls_at + th->ncalls; k++) {
			struct holder h = {th->process, i, (uint32_t)k,
					   nsx_call_end(&t->calls, k)};

			if (may_hold(t, k) &&
			    nsx_push(x->holder, x->nholders, x->cap_holders, "calls",
				     err, h))
				return err->rc;
		}
	}
	nsx_sort(x->holder, x->nholders, sizeof(*x->holder), cmp_holders);
	return 0;
}

/* The first holder of the process that ends at an instant or later. */
static size_t holder_from(const struct held *x, uint32_t process, int64_t end_ns)
{
	const struct holder *v = x->holder;

	return NSX_SEARCH((size_t)0, x->nholders, mid,
			  v[mid].process < process || (v[mid].process == process &&
						       v[mid].end_ns < end_ns));
}

/* The call that this one ends with: it had begun before, and is over at most late_ns
 * before it; NULL: none.  Of several the first to begin: the others waited for it, too.
 */
static const struct holder *holder_of(const struct held *x, size_t call, int64_t late_ns)
{
	const struct nsx_trace *t = x->d->trace;
	uint32_t thread = nsx_call_thread(t, call);
	uint32_t process = t->thread[thread].process;
	int64_t end_ns = nsx_call_end(&t->calls, call);
	int64_t first_ns = nsx_call_start(&t->calls, call);
	const struct holder *ret = NULL;

	for (size_t i = holder_from(x, process, end_ns - late_ns);
	     i < x->nholders && x->holder[i].process == process &&
	     x->holder[i].end_ns <= end_ns; i++) {
		int64_t start_ns = nsx_call_start(&t->calls, x->holder[i].call);

		if (x->holder[i].thread == thread || start_ns >= first_ns)
			continue;
		first_ns = start_ns;
		ret = &x->holder[i];
	}
	return ret;
}

static int add_call(struct held *x, size_t call, struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	int64_t ns = nsx_call_ns(&t->calls, call);
	const struct holder *h = holder_of(x, call, NSX_MIN(ns / LATE_PART,
							    (int64_t)LATE_NS));
	nsx_str name = h ? nsx_call_name(&t->calls, h->call) : 0;
	char buf[256];
	struct api *api;

	if (!h)
		return 0;
	api = nsx_group_value(&x->apis, &x->api, name, 0, "calls", err);
	if (!api || nsx_vote(&x->threads, 0, h->thread, ns, err))
		return err->rc;
	api->name = name;
	nsx_add_to(&api->ns, ns);
	nsx_add_to(&x->ns, ns);
	x->late_ns = NSX_MAX(x->late_ns, nsx_call_end(&t->calls, call) - h->end_ns);
	x->allocates &= nsx_api_allocates(nsx_api_base(nsx_text(t, name), buf,
						       sizeof(buf)));
	return nsx_list_row(&x->calls, call, err);
}

static int collect(struct held *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;

	for (uint32_t i = 0; i < t->nthreads; i++) {
		const struct nsx_thread *th = &t->thread[i];

		for (size_t k = th->calls_at; k < th->calls_at + th->ncalls; k++)
			if (nsx_call_ns(&t->calls, k) >= HELD_NS &&
			    nsx_queues_work(x->d, k) &&
			    !(t->calls.flags[k] & NSX_CALL_NESTED) &&
			    nsx_is_judged(x->d, nsx_call_start(&t->calls, k)) &&
			    add_call(x, k, err))
				return err->rc;
	}
	return 0;
}

/* "cudaHostAlloc and cudaFreeHost", by what they hold up. */
static const char *say_apis(struct held *x)
{
	struct nsx_findings *l = x->d->found;
	const char *ret = NULL;
	size_t n = x->apis.n;

	nsx_sort(x->api, n, sizeof(*x->api), cmp_apis);
	for (size_t i = 0; i < NSX_MIN(n, (size_t)MOST_NAMES); i++) {
		const char *name = nsx_text_api(l->arena,
						nsx_text(x->d->trace, x->api[i].name));

		ret = ret ? nsx_tell(l, "%s%s%s", ret, n > MOST_NAMES ? ", " : " and ",
				     name) : name;
	}
	return n > MOST_NAMES ? nsx_tell(l, "%s and others", ret) : ret;
}

static void propose(struct held *x)
{
	struct nsx_findings *l = x->d->found;
	uint32_t thread = nsx_votes_won(&x->threads, 0).frame;
	const char *apis = say_apis(x);
	struct nsx_finding f = {
		.id = x->allocates ? NSX_ID_idle_by_allocation :
				     NSX_ID_idle_by_slow_call,
		.subject = nsx_tell(l, "launches behind %s", apis),
		.title = nsx_tell(l, "launches are held up by %s on another thread, %s",
				  apis, nsx_tell_name(l, nsx_thread_text(x->d, thread))),
		.confidence = NSX_CONF_HIGH, .device = NSX_NONE,
		.guess_ns = (double)x->ns, .most_ns = (double)x->ns,
		.evidence = {
			nsx_tell(l, "%s of %s or more, %s in all; each ends at most %s "
				 "after such a call that had begun before it",
				 nsx_text_n(l->arena, x->calls.n, "launch or copy",
					    "launches and copies"),
				 nsx_text_ns(l->arena, HELD_NS), nsx_tell_ns(l, x->ns),
				 nsx_tell_ns(l, x->late_ns)),
			"the driver seems to hold a lock in it that launches need"},
		.recommendation = {
			x->allocates ?
			"keep a pool of such memory, filled before the loop, and take "
			"none from the driver while others launch" :
			nsx_tell(l, "call %s less often, or not while others launch%s",
				 apis, strstr(apis, "MemGetInfo") ?
					       ": NVML tells how much memory is free "
					       "without it" : "")},
		.proof = {{.csv = "launches", .column = "total_time_ms"}},
		.remedy = nsx_plan_of(x->d, (struct nsx_change){
			.verb = NSX_NO_COST,
			.rows = nsx_keep_rows(x->d, x->calls.v, x->calls.n)})};

	nsx_found(l, &f);
}

int nsx_detect_held(struct nsx_detect *d, struct nsx_err *err)
{
	struct held x = {.d = d, .allocates = true};
	int rc = list_holders(&x, err) || (x.nholders && collect(&x, err)) ? err->rc : 0;

	if (!rc && x.calls.n >= LEAST_CALLS &&
	    (double)x.ns >= LEAST_SHARE * (double)(d->w.end_ns - d->w.start_ns))
		propose(&x);
	free(x.holder);
	free(x.calls.v);
	free(x.api);
	nsx_groups_done(&x.apis);
	nsx_votes_done(&x.threads);
	return rc;
}
