/* replay.c - the model and its prices. */
#include "facts/replay/replay.h"

const char *const nsx_closure_names[] = {"high", "medium", "low", "abstain"};

struct nsx_model {
	struct nsx_closure closure;
	struct nsx_arena *arena;
};

int nsx_model_build(const struct nsx_trace *t, const struct nsx_facts *f,
		    size_t max_ops, struct nsx_model **ret, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_model *m = nsx_arena_get(a, sizeof(*m));

	(void)t;
	(void)max_ops;
	m->arena = a;
	m->closure.cls = NSX_ABSTAINS;
	m->closure.reason = "the replay is not built yet";
	m->closure.window = nsx_judged(f);
	*ret = m;
	return nsx_stopped(err);
}

void nsx_model_free(struct nsx_model *m)
{
	if (m)
		nsx_arena_free(m->arena);
}

const struct nsx_closure *nsx_model_closure(const struct nsx_model *m)
{
	return &m->closure;
}

int nsx_replay_price(const struct nsx_model *m, const struct nsx_change *v,
		     size_t n, struct nsx_gain *ret, struct nsx_err *err)
{
	(void)v;
	(void)n;
	*ret = (struct nsx_gain){.confidence = m->closure.cls,
				 .held = "durations as recorded"};
	return nsx_stopped(err);
}

int nsx_replay_prices(const struct nsx_model *m, const struct nsx_plan *plans,
		      size_t n, unsigned threads, struct nsx_gain *ret,
		      struct nsx_err *err)
{
	(void)threads;
	for (size_t i = 0; i < n; i++)
		if (nsx_replay_price(m, plans[i].v, plans[i].n, &ret[i], err))
			return err->rc;
	return 0;
}

int nsx_replay_waterfall(const struct nsx_model *m,
			 const struct nsx_plan *plans, size_t n,
			 unsigned threads, struct nsx_fall *ret, size_t *ret_n,
			 struct nsx_err *err)
{
	(void)m;
	(void)plans;
	(void)n;
	(void)threads;
	(void)ret;
	*ret_n = 0;
	return nsx_stopped(err);
}
