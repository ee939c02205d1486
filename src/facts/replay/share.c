/* share.c - evens the work between collectives: from one collective of all ranks to the next, the
 * kernels of each rank take the ranks' mean time.
 *
 * A kernel lies between two collectives if it was launched between them, because a kernel may run
 * beside a collective that was launched before it.
 */
#include "base/stat.h"
#include "facts/replay/compile.h"

struct stretch { /* the kernels of a rank from one collective of all ranks to the next */
	int64_t work_ns;
	uint32_t nkernels;
	uint32_t next; /* the next collective; NSX_NONE: end of the window    */
	double share;  /* new length / recorded length                        */
};

/* v holds the stretch after each member of the model's collectives; then, by engine, the stretch
 * before the first collective.
 */
struct sharing {
	const struct nsx_model *m;
	struct stretch *v;
	/* For each operation: its stretch; for a member of a collective, the stretch after it; or
	 * NSX_NONE.
	 */
	uint32_t *of;
	uint32_t *rank, nranks; /* list of the engines that take part in collectives */
};

/* Whether a collective includes all ranks and begins in the window on each of them. */
static bool includes_all_ranks(const struct sharing *s, uint32_t team)
{
	const struct model_team *x = &s->m->team[team];

	for (uint32_t k = x->at; k < x->at + x->n; k++)
		if (!(s->m->op[s->m->member[k]].flags & OP_ACTIVE))
			return false;
	return x->n == s->nranks;
}

static int find_collectives(struct sharing *s, struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_model *m = s->m;
	uint8_t *seen;

	if (nsx_new_arrays(a, (size_t)m->nmembers + m->nengines, "collectives",
			   err, s->v) ||
	    nsx_new_arrays(a, m->nops, "collectives", err, s->of) ||
	    nsx_new_arrays(a, m->nengines, "ranks", err, seen, s->rank))
		return err->rc;
	memset(s->of, 0xff, (size_t)m->nops * 4);
	for (uint32_t k = 0; k < m->nmembers; k++) {
		uint32_t rank = m->op[m->member[k]].engine;

		if (!seen[rank])
			s->rank[s->nranks++] = rank;
		seen[rank] = true;
	}
	for (uint32_t k = 0; k < m->nmembers + m->nengines; k++)
		s->v[k] = (struct stretch){.next = NSX_NONE, .share = 1};
	for (uint32_t g = 0; g < m->nteams; g++)
		for (uint32_t k = 0; includes_all_ranks(s, g) && k < m->team[g].n; k++)
			s->of[m->member[m->team[g].at + k]] = m->team[g].at + k;
	return 0;
}

/* Lists the window's kernels in order of launch; NULL: no memory. */
static struct nsx_keyed *launch_order(const struct nsx_model *m, struct nsx_arena *a,
				      size_t *ret_n, struct nsx_err *err)
{
	struct nsx_keyed *v;
	size_t n = 0;

	if (!nsx_new_array(v, a, 2 * (size_t)m->nops, "kernels", err))
		return NULL;
	for (uint32_t i = 0; i < m->nops; i++) {
		const struct model_op *o = &m->op[i];

		if ((o->flags & OP_ACTIVE) && o->kind == NSX_OP_KERNEL)
			v[n++] = (struct nsx_keyed){
				o->call == NSX_NONE ? o->start_ns : m->call[o->call].start_ns, i};
	}
	nsx_keyed_sort(v, v + n, n);
	*ret_n = n;
	return v;
}

static int share_add_work(struct sharing *s, struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_model *m = s->m;
	size_t n;
	uint32_t *at; /* for each engine: its current stretch */
	struct nsx_keyed *v = launch_order(m, a, &n, err);

	if (!v || nsx_new_arrays(a, m->nengines, "ranks", err, at))
		return err->rc;
	for (uint32_t k = 0; k < m->nengines; k++)
		at[k] = m->nmembers + k;
	for (size_t k = 0; k < n; k++) {
		uint32_t i = v[k].at;
		const struct model_op *o = &m->op[i];
		struct stretch *x = &s->v[at[o->engine]];

		if (s->of[i] != NSX_NONE) {
			x->next = o->team;
			at[o->engine] = s->of[i];
		} else if (!(o->flags & OP_COMM)) {
			s->of[i] = at[o->engine];
			nsx_add_to(&x->work_ns, o->length_ns);
			x->nkernels++;
		}
	}
	return 0;
}

/* Evens the stretches v[at[k]] of all ranks k, if all lead to the same collective and contain work.
 * At the ends of the window they must also have equally many kernels, because they may otherwise be
 * different parts of the program.
 */
static void share_even_out(const struct sharing *s, const uint32_t *at, bool is_end)
{
	const struct stretch *first = &s->v[at[0]];
	double sum_ns = 0;

	for (uint32_t k = 0; k < s->nranks; k++) {
		const struct stretch *x = &s->v[at[k]];

		if (!x->work_ns || x->next != first->next ||
		    ((is_end || x->next == NSX_NONE) &&
		     x->nkernels != first->nkernels))
			return;
		sum_ns += (double)x->work_ns;
	}
	for (uint32_t k = 0; k < s->nranks; k++)
		s->v[at[k]].share = sum_ns / s->nranks / (double)s->v[at[k]].work_ns;
}

static int find_shares(const struct sharing *s, struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_model *m = s->m;
	uint32_t *at;

	if (nsx_new_arrays(a, s->nranks, "ranks", err, at))
		return err->rc;
	for (uint32_t k = 0; k < s->nranks; k++)
		at[k] = m->nmembers + s->rank[k];
	if (s->nranks)
		share_even_out(s, at, true);
	for (uint32_t g = 0; g < m->nteams; g++) {
		if (m->team[g].n != s->nranks)
			continue;
		for (uint32_t k = 0; k < s->nranks; k++)
			at[k] = m->team[g].at + k;
		share_even_out(s, at, false);
	}
	return 0;
}

int compile_shared_work(struct select *by, struct nsx_err *err)
{
	struct sharing s = {.m = by->m};
	int64_t *ns = by->e->ns[TIME_LENGTHS];

	if (find_collectives(&s, by->a, err) || share_add_work(&s, by->a, err) ||
	    find_shares(&s, by->a, err))
		return err->rc;
	for (uint32_t i = 0; i < s.m->nops; i++) {
		double share = s.of[i] == NSX_NONE ? 1 : s.v[s.of[i]].share;

		if (share == 1 || (s.m->op[i].flags & OP_COMM))
			continue;
		ns[i] = (int64_t)((double)ns[i] * share);
		++*by->touched;
	}
	return 0;
}
