/* prop_replay.c - properties that the replay of every trace must have.
 *
 * usage: prop_replay FOLDER|TRACE...
 *
 * - A replay without changes gives every recorded start, within 10 us.
 * - No price is negative.
 * - The price of removing a wait or a call is at most the time spent in such calls.
 * - No remedy of the host wins more than an infinitely fast host.
 * - Removing more never makes the replay slower by more than a thousandth. (The order of work on
 *   the GPU may cost so much.)
 * - Two threads find the same prices as one.
 * - Changes with which several plans begin can be applied once for all of them.
 */
#include <string.h>
#include "facts/replay/pass.h"
#include "each_trace.h"

static struct nsx_gain price(const struct nsx_model *m, const struct nsx_change *v, size_t n)
{
	struct nsx_gain g = {0};
	struct nsx_err err;

	check(!nsx_replay_price(m, v, n, &g, &err), "has no price", 0, 0);
	check(g.gain_ns >= 0 && g.low_ns >= 0 && g.low_ns <= g.high_ns,
	      "low, high", (double)g.low_ns, (double)g.high_ns);
	return g;
}

/* The gain in the replayed part, not scaled to the whole judged window. */
static double won_of(const struct nsx_model *m, struct nsx_gain g)
{
	return g.share * (double)m->closure.recorded_ns;
}

static void check_unchanged(const struct nsx_model *m)
{
	struct player *p;
	struct nsx_err err;
	int64_t ns = 0;

	if (player_new(m, &p, &err) || play(p, 0, NULL, &ns, &err)) {
		check(false, err.msg, 0, 0);
		return;
	}
	check(llabs(ns - m->closure.recorded_ns) <= 10000, "unchanged, length",
	      (double)ns, (double)m->closure.recorded_ns);
	for (uint32_t k = 0; k < m->norder; k++) {
		uint32_t i = m->order[k] >> 2;

		if ((m->order[k] & 3) == STEP_OP)
			check(llabs(p->op_start[i] - m->op[i].start_ns) <=
				      10000, "unchanged, start", (double)p->op_start[i],
			      (double)m->op[i].start_ns);
	}
	player_free(p);
}

/* The time in the calls of an API that a change can touch. */
static int64_t time_in(const struct nsx_model *m, uint32_t api)
{
	int64_t ns = 0;

	for (uint32_t i = 0; i < m->ncalls; i++)
		if (m->call[i].api == api && (m->call[i].flags & CALL_ACTIVE))
			ns += m->call[i].end_ns - m->call[i].start_ns;
	return ns;
}

static void check_apis(const struct nsx_model *m, double host_ns)
{
	double slack = (double)m->closure.recorded_ns / 1000 + 20000;

	for (uint32_t k = 0; k < m->napis; k++) {
		struct nsx_change wait = {.verb = NSX_NO_WAIT,
					  .name = m->api[k].name};
		struct nsx_change cost = {.verb = NSX_NO_COST,
					  .name = m->api[k].name};
		double ns = (double)time_in(m, k);
		double won = won_of(m, price(m, &wait, 1));

		check(won <= ns + slack, m->api[k].name, won, ns);
		check(won <= host_ns + slack, "a wait and the host", won, host_ns);
		if (m->api[k].says & (API_WORK | API_SYNC | API_IMPLICIT))
			continue;
		won = won_of(m, price(m, &cost, 1));
		check(won <= ns + slack, m->api[k].name, won, ns);
	}
}

static void check_model(const struct nsx_model *m)
{
	static const struct nsx_change v[] = {
		{.verb = NSX_NO_WAIT},
		{.verb = NSX_FASTER_HOST, .amount = INFINITY},
		{.verb = NSX_FASTER, .amount = 2},
		{.verb = NSX_DROP, .op = NSX_ON_COPIES},
		{.verb = NSX_HIDE_COMM},
	};
	static const struct nsx_change host = {.verb = NSX_INSTANT_HOST};
	struct nsx_plan plans[ARRAY_LEN(v)];
	struct nsx_gain one[ARRAY_LEN(v)], two[ARRAY_LEN(v)];
	double slack = (double)m->closure.recorded_ns / 1000 + 20000;
	double won, most = won_of(m, price(m, &host, 1));
	struct nsx_err err;

	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		plans[i] = (struct nsx_plan){&v[i], 1};
	check(!nsx_replay_prices(m, plans, ARRAY_LEN(v), 1, one, &err) &&
		      !nsx_replay_prices(m, plans, ARRAY_LEN(v), 2, two, &err),
	      "prices", 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		check(one[i].gain_ns == two[i].gain_ns &&
			      one[i].low_ns == two[i].low_ns &&
			      one[i].confidence == two[i].confidence,
		      "one thread and two", (double)one[i].gain_ns, (double)two[i].gain_ns);
		won = i < 2 ? won_of(m, one[i]) : 0;
		check(won <= most + slack, "a remedy and the host", won, most);
	}
	won = won_of(m, price(m, v, 2));
	check(won + slack >= NSX_MAX(won_of(m, one[0]), won_of(m, one[1])),
	      "more removed is slower", won, (double)one[0].gain_ns);
	check_apis(m, most);
}

/* Checks plans that begin with the same changes. The effect of some changes depends on the rest of
 * the plan.
 */
static void check_shared(const struct nsx_model *m)
{
	enum { SHARED = 3, PLANS = 6 };
	const struct model_rank *r = m->engine_rank, *last = r + m->nengines - 1;
	const struct nsx_change begin[SHARED] = {
		{.verb = NSX_NO_WAIT},
		{.verb = NSX_EVEN_RANK, .process = r->process, .device = r->device},
		{.verb = NSX_FASTER, .op = NSX_ON_KERNELS, .amount = 2}};
	const struct nsx_change rest[PLANS] = {
		{.verb = NSX_DROP, .op = NSX_ON_COPIES},
		{.verb = NSX_EVEN_RANK, .process = last->process,
		 .device = last->device},
		{.verb = NSX_SHARE_WORK},
		{.verb = NSX_FASTER_HOST, .amount = 2},
		{.verb = NSX_NO_WAIT},
		{.verb = NSX_OVERLAP, .op = NSX_ON_COPIES}};
	struct nsx_change v[PLANS][SHARED + 1];
	struct nsx_plan plans[PLANS];
	struct nsx_gain once[PLANS], each[PLANS];
	struct nsx_err err;

	for (size_t i = 0; i < PLANS; i++) {
		memcpy(v[i], begin, sizeof(begin));
		v[i][SHARED] = rest[i];
		plans[i] = (struct nsx_plan){v[i], SHARED + 1};
	}
	check(!nsx_replay_gains(m, plans, NULL, PLANS, SHARED, 2, once, &err) &&
		      !nsx_replay_gains(m, plans, NULL, PLANS, 0, 1, each, &err), "gains", 0, 0);
	for (size_t i = 0; i < PLANS; i++)
		check(once[i].gain_ns == each[i].gain_ns &&
			      once[i].touched == each[i].touched,
		      "what is shared, once and each time",
		      (double)once[i].gain_ns, (double)each[i].gain_ns);
}

static void check_sizes(const struct nsx_trace *t, const struct nsx_facts *f)
{
	static const size_t sizes[] = {0, 1000, 20};

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct nsx_model *m;
		struct nsx_err err;

		if (nsx_model_build(t, f, sizes[i], &m, &err)) {
			check(false, err.msg, 0, 0);
			return;
		}
		check(!sizes[i] || m->nops <= sizes[i], "too many operations",
		      (double)m->nops, (double)sizes[i]);
		if (m->norder)
			check_unchanged(m);
		if (m->closure.cls != NSX_CONF_NONE) {
			check_model(m);
			check_shared(m);
		}
		nsx_model_free(m);
	}
}

static void check_trace(const char *path)
{
	struct nsx_progress progress = {.stage = NULL};
	struct nsx_load_opts load = {.threads = 2, .progress = &progress};
	struct nsx_facts_opts facts = {.threads = 2, .progress = &progress};
	struct nsx_schema schema;
	struct nsx_trace *t = NULL;
	struct nsx_facts *f = NULL;
	struct nsx_err err;

	snprintf(subject, sizeof(subject), "%s", path);
	traces++;
	if (nsx_schema_open(path, &schema, &err)) {
		check(false, err.msg, 0, 0);
		return;
	}
	if (nsx_trace_load(&schema, &load, &t, &err) || nsx_facts_build(t, &facts, &f, &err))
		check(false, err.msg, 0, 0);
	else
		check_sizes(t, f);
	nsx_facts_free(f);
	nsx_trace_free(t);
	nsx_schema_close(&schema);
}
