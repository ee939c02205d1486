/* digest_kinds.c - steps of an inference engine on one rank, by kind and size. */
#include "base/stat.h"
#include "facts/steps/steps.h"
#include "fleet/digest_make.h"

static int64_t least_of(const struct nsx_engine_step *s)
{
	int64_t size = nsx_step_size(&s->name);

	return size < 1 ? -1 : (int64_t)1 << (63 - __builtin_clzll((uint64_t)size));
}

static int digest_kinds_cmp_kind(const void *a, const void *b)
{
	const struct nsx_engine_step *x = a, *y = b;

	return NSX_CMP(x->name.kind, y->name.kind) ?: NSX_CMP(least_of(x), least_of(y));
}

static struct nsx_dkind digest_kinds_sum_up(const struct nsx_engine_step *v, size_t n, int64_t *ns)
{
	struct nsx_dkind k = {v->name.kind, least_of(v), (int64_t)n, 0, 0, 0};

	for (size_t i = 0; i < n; i++) {
		ns[i] = v[i].gpu_end_ns - v[i].gpu_start_ns;
		nsx_add_to(&k.total_ns, ns[i]);
		nsx_add_to(&k.sizes, NSX_MAX(0, nsx_step_size(&v[i].name)));
	}
	k.p50_ns = nsx_to_i64(nsx_quantile(ns, n, 0.5));
	return k;
}

/* Moves the rank's own steps to the front. Returns how many. */
static size_t keep_own(struct nsx_engine_steps *s, const struct nsx_member *x)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].process == x->process && s->v[i].device == x->device)
			s->v[n++] = s->v[i];
	return n;
}

int nsx_maker_kinds(struct nsx_maker *m, const struct nsx_member *x,
		    struct nsx_digest *d, struct nsx_err *err)
{
	struct nsx_engine_steps s;
	int64_t *ns;
	size_t n;

	if (nsx_steps_build(m->t, &s, err))
		return err->rc;
	n = keep_own(&s, x);
	nsx_sort(s.v, n, sizeof(*s.v), digest_kinds_cmp_kind);
	if (!nsx_new_array(ns, m->a, n, "steps", err) ||
	    !nsx_new_array(d->kinds, d->arena, NSX_MIN(n, 64 * NSX_NSTEP_KINDS),
			   "kinds of steps", err)) {
		nsx_steps_done(&s);
		return err->rc;
	}
	NSX_EACH_RUN(i, next, n, !digest_kinds_cmp_kind(&s.v[i], &s.v[next]))
		d->kinds[d->nkinds++] = digest_kinds_sum_up(s.v + i, next - i, ns);
	nsx_steps_done(&s);
	return 0;
}
