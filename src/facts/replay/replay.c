/* replay.c - builds the model, and prices plans. */
#include <math.h>
#include <stdatomic.h>
#include "base/par.h"
#include "base/stat.h"
#include "facts/replay/compile.h"

enum {
	LEAST_OPS = 1 << 14, USUAL_OPS = 1 << 17, MOST_OPS = 1 << 27,
	PART = 8, /* 1 / PART of the trace's operations is replayed, within these limits */
};
#define NEARLY 0.8 /* the main set is chosen if it gains this share of the largest gain */
#define WORTH 0.003	 /* a gain below this share of the window is not reported */
#define MOST_TIME_NS (INT64_C(1) << 52) /* greatest sum of the times of all events */

const char *const nsx_closure_names[] = {
	[NSX_CONF_NONE + 1] = "abstain", [NSX_CONF_LOW + 1] = "low",
	[NSX_CONF_MEDIUM + 1] = "medium", [NSX_CONF_HIGH + 1] = "high",
};

/* Building --------------------------------------------------------------------*/

/* Whether sums of changed times could overflow. */
static bool is_too_long(const struct nsx_model *m)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < m->nops; i++)
		nsx_add_to(&sum, m->op[i].length_ns);
	for (uint32_t i = 0; i < m->ncalls; i++)
		nsx_add_to(&sum, m->call[i].end_ns - m->call[i].start_ns + model_gap(m, i));
	if (m->nops && m->ncalls) {
		const struct model_op *first = &m->op[0];

		nsx_add_to(&sum, first[m->nops - 1].start_ns - first->start_ns);
		nsx_add_to(&sum, llabs(first->start_ns - m->call[0].start_ns));
	}
	return sum > MOST_TIME_NS;
}

/* Finds devices with work of several processes. */
static int replay_find_shared(struct build *b, struct nsx_err *err)
{
	const struct nsx_trace *t = b->m->t;
	uint32_t *process;

	if (!nsx_new_array(process, b->step, t->ndevices, "devices", err))
		return err->rc;
	for (uint32_t k = 0; k < b->m->nstreams; k++) {
		const struct nsx_stream *s = &t->stream[b->stream_row[k]];

		b->m->is_shared |= process[s->device] && process[s->device] != s->process + 1;
		process[s->device] = s->process + 1;
	}
	return 0;
}

static int load_model(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;

	if (model_load(b, err))
		return err->rc;
	m->closure.nops = m->nops;
	m->closure.ncalls = m->ncalls;
	if (!m->nops || !m->ncalls)
		m->closure.reason = "the part that is replayed has no GPU work, or no API calls";
	else if (nsx_is_idle_unknown(&m->f->lost))
		m->closure.reason = "the GPU work of many launches is not in the trace";
	else if (is_too_long(m))
		m->closure.reason = "its events lie too far apart in time";
	return 0;
}

/* Builds the model step by step, until a step finds a reason to abstain. */
static int replay_build(struct build *b, size_t max_ops, struct nsx_err *err)
{
	static int (*const steps[])(struct build *b, struct nsx_err *err) = {
		load_model, replay_find_shared, model_link, model_teams, model_host, model_await,
		model_learn, model_order, model_sets, model_alike, model_close};
	int rc;

	b->m->closure.cls = NSX_CONF_NONE;
	rc = model_pick(b, max_ops, err);
	for (size_t i = 0; !rc && !b->m->closure.reason && i < ARRAY_LEN(steps); i++) {
		b->step = nsx_arena_new();
		rc = steps[i](b, err);
		nsx_arena_free(b->step);
	}
	return rc;
}

/* The default of max_ops. About forty replays should take a fraction of the time that reading the
 * trace took. A short window is replayed whole, because a part of it would misrepresent rare
 * events.
 */
static size_t usual_ops(const struct nsx_trace *t, const struct nsx_facts *f)
{
	struct nsx_window w = nsx_judged(f);
	size_t n = t->ops.n / PART, whole = model_weigh(t, w.start_ns, w.end_ns);

	if (whole < 2 * LEAST_OPS)
		n = NSX_MAX(n, (size_t)2 * LEAST_OPS);
	return NSX_MIN(NSX_MAX(n, (size_t)LEAST_OPS), (size_t)USUAL_OPS);
}

int nsx_model_build(const struct nsx_trace *t, const struct nsx_facts *f,
		    size_t max_ops, struct nsx_model **ret, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_model *m = nsx_arena_get(a, sizeof(*m));
	struct build b = {.m = m, .a = nsx_arena_new()};
	int rc;

	m->t = t;
	m->arena = a;
	m->f = f;
	rc = replay_build(&b, max_ops ? NSX_MIN(max_ops, (size_t)MOST_OPS) : usual_ops(t, f), err);
	nsx_groups_done(&b.api_groups);
	free(b.link);
	nsx_arena_free(b.a);
	nsx_give_back();
	if (rc) {
		nsx_model_free(m);
		return rc;
	}
	*ret = m;
	return 0;
}

void nsx_model_free(struct nsx_model *m)
{
	if (!m)
		return;
	for (uint32_t k = 0; m->lane && k < m->nlanes; k++)
		free(m->lane[k].v);
	free(m->api);
	free(m->wait);
	free(m->pause);
	free(m->await);
	free(m->engine_rank);
	span_list_done(&m->waits);
	span_list_done(&m->preempted);
	span_list_done(&m->absent);
	span_list_done(&m->profiled);
	nsx_arena_free(m->arena);
}

const struct nsx_closure *nsx_model_closure(const struct nsx_model *m)
{
	return &m->closure;
}

/* Meaning of the figures ----------------------------------------------------------- */

static const char held_by_copies[] = "durations on the GPU, of the copies as well";
static const char held_by_kernels[] =
	"durations of all other work on the GPU, and the host's own time";
static const char held_usually[] = "durations on the GPU, and the host's other work";

static const struct {
	bool is_bound;	  /* the gain is an upper bound                      */
	const char *held; /* what is kept as recorded; NULL: held_usually    */
} meaning[NSX_NVERBS] = {
	[NSX_NO_WAIT] = {true, "what the host does next, which must not need the result; "
			 "durations on the GPU"},
	[NSX_UNTIE] = {true, "what the waiting streams do next, which must not need "
		       "what they waited for; durations on the GPU"},
	[NSX_INSTANT_HOST] = {true, NULL},
	[NSX_FASTER] = {false, held_by_kernels}, [NSX_HOLD_CLOCK] = {false, held_by_kernels},
	[NSX_ASYNC_COPY] = {false, held_by_copies}, [NSX_OVERLAP] = {true, held_by_copies},
	[NSX_FUSE] = {true, NULL}, [NSX_NO_PEER_WAIT] = {true, NULL},
	[NSX_HIDE_COMM] = {true, "compute, which is not slowed down by the communication beside "
			   "it"},
};

/* Lowers the confidence by one for each reason to doubt this price. */
static enum nsx_confidence lower_confidence(const struct player *p,
					    const struct nsx_change *v, size_t n,
					    const struct nsx_gain *g, double free_share)
{
	const struct nsx_model *m = p->m;
	int left = m->closure.cls;
	bool inferred = false, of_host = false;

	for (uint32_t i = 0; i < m->ncalls && !inferred; i++)
		inferred = (p->edit.call[i] & (EDIT_CALL_GONE | EDIT_CALL_ASYNC)) &&
			   (m->call[i].flags & CALL_INFERRED);
	for (size_t i = 0; i < n; i++)
		of_host |= nsx_changes_calls(v[i].verb);
	left -= 2 * g->low_ns < g->high_ns;
	left -= fabs(free_share - g->share) > g->share / 3;
	left -= inferred;
	left -= of_host && m->uncalled > 0.2;
	left -= m->is_shared;
	return NSX_MAX(left, NSX_CONF_LOW);
}

/* Pricing -------------------------------------------------------------------------*/

/* The gain of a set, in ns, limited to what the sets that keep in step with it can follow. */
static int64_t set_gain_ns(const struct player *p, uint32_t set)
{
	const struct nsx_model *m = p->m;
	int64_t won = m->set_ns[set - 1] - p->set_ns[set - 1];

	for (uint32_t k = 0; k < m->nsets; k++)
		if (k != set - 1 && m->tie[k] == m->tie[set - 1])
			won = NSX_MIN(won, m->set_ns[k] - p->set_ns[k] + m->slack_ns[k]);
	return won;
}

/* The gain as a share of the recorded length; 0 if the new length ns is not shorter. If sets are
 * distinguished, it is the gain of *set. If *set is 0, it is that of the set that gains most, or of
 * the main set if that gains nearly as much; *set then becomes this set.
 */
static double gain_share(const struct player *p, int64_t ns, uint32_t *set)
{
	const struct nsx_model *m = p->m;
	int64_t won = m->closure.recorded_ns - ns;
	uint32_t best = 0;

	for (uint32_t k = 0; m->nsets > 1 && k < m->nsets; k++) {
		int64_t own = set_gain_ns(p, k + 1);

		if (*set ? *set == k + 1 : !best || own > won) {
			won = own;
			best = k + 1;
		}
	}
	if (best && !*set) {
		int64_t own = set_gain_ns(p, m->main_set);

		if ((double)own >= NEARLY * (double)won) {
			won = own;
			best = m->main_set;
		}
	}
	*set = best;
	return NSX_MAX(0, (double)won / (double)m->closure.recorded_ns);
}

uint32_t nsx_main_set(const struct nsx_model *m)
{
	return m && m->nsets > 1 ? m->main_set : 0;
}

bool nsx_set_is_tied(const struct nsx_model *m, uint32_t set)
{
	return set && NSX_ANY(k, m->nsets, k != set - 1 && m->tie[k] == m->tie[set - 1]);
}

uint32_t nsx_set_alone(const struct nsx_model *m, uint32_t set)
{
	if (!m || m->nsets < 2 || !set || nsx_set_is_tied(m, set))
		return NSX_NONE;
	for (uint32_t p = 0; p < m->t->nprocesses; p++)
		if (m->set_of[p] == set)
			return p;
	return NSX_NONE;
}

static int64_t scale_to_judged(const struct nsx_model *m, double share)
{
	return (int64_t)(share *
				 (double)(m->closure.is_part ?
						  m->judged.end_ns -
							  m->judged.start_ns :
						  m->closure.recorded_ns) + 0.5);
}

/* Whether one of the changes [from, to) of a plan evens a rank. */
static bool evens_a_rank(const struct nsx_plan *plan, size_t from, size_t to)
{
	while (from < to && plan->v[from].verb != NSX_EVEN_RANK)
		from++;
	return from < to;
}

struct prices {
	const struct nsx_model *m;
	const struct nsx_plan *plans;
	const uint32_t *sets; /* one for each plan; NULL: the set that gains most */
	size_t n, nshared;  /* number of plans, and of changes common to all */
	struct edit shared; /* common changes; they touch shared_touched events */
	size_t shared_touched;
	atomic_size_t next; /* next plan to price                            */
	bool only_gains;
	struct nsx_gain *gain;
};

/* Computes the gain of a plan. The edit with the shared changes cannot be used if some of them, and
 * some later changes, make ranks even.
 */
static int price_gain(const struct prices *x, struct player *p, size_t i, struct nsx_err *err)
{
	const struct nsx_plan *plan = &x->plans[i];
	struct nsx_gain *ret = &x->gain[i];
	size_t nshared = x->nshared;
	int64_t ns;

	*ret = (struct nsx_gain){
		.held = (plan->n ? meaning[plan->v[0].verb].held : NULL) ?: held_usually,
		.set = x->sets ? x->sets[i] : 0};
	if (evens_a_rank(plan, 0, nshared) && evens_a_rank(plan, nshared, plan->n))
		nshared = 0;
	if (!nshared)
		edit_reset(&p->edit);
	else if (edit_copy(&p->edit, &x->shared, err))
		return err->rc;
	ret->touched = nshared ? x->shared_touched : 0;
	if (compile_changes(&p->edit, *plan, nshared, &ret->touched, err))
		return err->rc;
	if (!ret->touched)
		return 0;
	if (play(p, 0, NULL, &ns, err))
		return err->rc;
	ret->share = gain_share(p, ns, &ret->set);
	ret->gain_ns = scale_to_judged(p->m, ret->share);
	return 0;
}

/* Computes how uncertain the gain just found is, by replaying in other ways. */
static int price_uncertainty(struct player *p, const struct nsx_change *v, size_t n,
			     struct nsx_gain *ret, struct nsx_err *err)
{
	const struct nsx_model *m = p->m;
	double free_share = ret->share;
	bool crowded = p->was_crowded;
	int64_t ns;

	ret->is_bound = ret->set && ret->set != m->main_set && nsx_set_is_tied(m, ret->set);
	for (size_t i = 0; i < n; i++)
		ret->is_bound |= meaning[v[i].verb].is_bound || isinf(v[i].amount);
	ret->high_ns = ret->low_ns = ret->gain_ns;
	if (ret->gain_ns && p->was_early) {
		if (play(p, PLAY_FIXED, NULL, &ns, err))
			return err->rc;
		ret->low_ns = NSX_MIN(ret->high_ns, scale_to_judged(m, gain_share(p, ns,
										  &ret->set)));
	}
	if (ret->gain_ns && crowded) {
		if (play(p, PLAY_FREE, NULL, &ns, err))
			return err->rc;
		free_share = gain_share(p, ns, &ret->set);
	}
	ret->is_small = ret->share < NSX_MAX(WORTH, 2 * m->closure.drift);
	ret->confidence = lower_confidence(p, v, n, ret, free_share);
	return 0;
}

/* Prices plans until none is left. Players are expensive, so each thread uses one for all its
 * plans.
 */
static int price_plans(void *ctx, size_t thread NSX_UNUSED, struct nsx_err *err)
{
	struct prices *x = ctx;
	struct player *p = NULL;
	int rc = player_new(x->m, &p, err);
	size_t i;

	while (!rc && (i = atomic_fetch_add(&x->next, 1)) < x->n)
		rc = price_gain(x, p, i, err) ?:
		     x->only_gains ? 0 : price_uncertainty(p, x->plans[i].v, x->plans[i].n,
							   &x->gain[i], err);
	player_free(p);
	return rc;
}

static int price_all(struct prices *x, unsigned threads, struct nsx_err *err)
{
	struct nsx_arena *a;
	int rc = 0;

	if (x->m->closure.cls == NSX_CONF_NONE) {
		for (size_t i = 0; i < x->n; i++)
			x->gain[i] = (struct nsx_gain){
				.confidence = NSX_CONF_NONE,
				.held = x->m->closure.reason};
		return 0;
	}
	if (x->n <= threads)
		x->nshared = 0; /* each thread compiles the shared changes itself */
	a = nsx_arena_new();
	if (x->nshared)
		rc = edit_new(&x->shared, x->m, a, err) ?:
		     compile_changes(&x->shared, (struct nsx_plan){x->plans[0].v, x->nshared}, 0,
				     &x->shared_touched, err);
	rc = rc ?: nsx_par(threads, NSX_MIN(NSX_MAX(1, threads), x->n), price_plans, x, err);
	nsx_arena_free(a);
	return rc;
}

int nsx_replay_prices(const struct nsx_model *m, const struct nsx_plan *plans, size_t n,
		      unsigned threads, struct nsx_gain *ret, struct nsx_err *err)
{
	struct prices x = {.m = m, .plans = plans, .n = n, .gain = ret};

	return price_all(&x, threads, err);
}

int nsx_replay_gains(const struct nsx_model *m, const struct nsx_plan *plans,
		     const uint32_t *sets, size_t n, size_t nshared, unsigned threads,
		     struct nsx_gain *ret, struct nsx_err *err)
{
	struct prices x = {.m = m, .plans = plans, .sets = sets, .n = n,
			   .nshared = nshared, .gain = ret, .only_gains = true};

	return price_all(&x, threads, err);
}

int nsx_replay_price(const struct nsx_model *m, const struct nsx_change *v,
		     size_t n, struct nsx_gain *ret, struct nsx_err *err)
{
	struct nsx_plan plan = {v, n};

	return nsx_replay_prices(m, &plan, 1, 1, ret, err);
}
