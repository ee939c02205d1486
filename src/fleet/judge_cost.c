/* judge_cost.c - what a step would save without its late ranks, and who waits for them. */
#include <math.h>
#include "base/stat.h"
#include "fleet/judge.h"

#define LEAST_ADDED 0.005 /* least share of a step that an entry adds to the more expensive ones */
#define EQUALLY_LATE 0.9 /* least ratio of the excess of ranks that are late by the same time */

enum { MOST_LATE = 8, MOST_HOPS = 8 };

static struct nsx_passed new_passed(const struct nsx_judge *j)
{
	const struct nsx_fleet *f = j->f;
	struct nsx_passed s = {
		nsx_arena_get(j->a, f->ncomms * sizeof(*s.wait_ns)),
		nsx_arena_get(j->a, f->ncomms * sizeof(*s.held_ns))};

	for (uint32_t c = 0; c < f->ncomms; c++) {
		s.wait_ns[c] = nsx_arena_get(j->a, f->comm[c].n * sizeof(double));
		s.held_ns[c] = nsx_arena_get(j->a, f->comm[c].n * sizeof(double));
	}
	return s;
}

/* The member for which the others of a communicator wait most. */
static uint32_t holder_in(const struct nsx_fleet *f, const struct nsx_passed *s, uint32_t comm)
{
	uint32_t most = 0;

	for (uint32_t m = 1; m < f->comm[comm].n; m++)
		if (s->held_ns[comm][m] > s->held_ns[comm][most])
			most = m;
	return f->comm[comm].m[most].rank;
}

/* The communicator, other than `but`, in which a rank waits most; NSX_NONE: none. */
static uint32_t judge_cost_waits_in(const struct nsx_fleet *f, const struct nsx_passed *s,
				    uint32_t rank, uint32_t but)
{
	uint32_t most = NSX_NONE;
	double most_ns = 0;

	for (uint32_t c = 0; c < f->ncomms; c++)
		for (uint32_t m = 0; c != but && m < f->comm[c].n; m++)
			if (f->comm[c].m[m].rank == rank && s->wait_ns[c][m] > most_ns) {
				most_ns = s->wait_ns[c][m];
				most = c;
			}
	return most;
}

/* Sums the waiting for the late rank itself and for ranks that wait for it, and finds the path from
 * it to most of the latter waiting.
 */
static void follow(const struct nsx_judge *j, const struct nsx_passed *s, struct nsx_late *l)
{
	const struct nsx_fleet *f = j->f;
	struct nsx_hop way[MOST_HOPS];
	uint32_t comm = NSX_NONE, rank = NSX_NONE;
	unsigned n = 0;
	double most_ns = 0;

	for (uint32_t c = 0; c < f->ncomms; c++)
		for (uint32_t m = 0; m < f->comm[c].n; m++) {
			double ns = s->held_ns[c][m] / (double)f->nsteps;
			uint32_t r = f->comm[c].m[m].rank;

			if (nsx_late_has(l, r)) {
				l->direct_ns += ns;
				continue;
			}
			l->passed_on_ns += ns;
			if (ns > most_ns) {
				most_ns = ns;
				comm = c;
				rank = r;
			}
		}
	while (comm != NSX_NONE && n < MOST_HOPS) {
		way[n++] = (struct nsx_hop){comm, rank};
		if (nsx_late_has(l, rank))
			break;
		comm = judge_cost_waits_in(f, s, rank, comm);
		rank = comm == NSX_NONE ? NSX_NONE : holder_in(f, s, comm);
	}
	if (!n || !nsx_late_has(l, way[n - 1].rank))
		return;
	l->hop = nsx_arena_get(f->arena, n * sizeof(*way));
	for (l->nhops = 0; l->nhops < n; l->nhops++)
		l->hop[l->nhops] = way[n - 1 - l->nhops];
}

/* Mean excess per step of the slowest of these ranks over the median of the others. It bounds the
 * price: the replay sums up how much longer a rank works before each collective, and not how much
 * shorter before others. Without the bound a simulated exchange of halos is priced 4 % too high.
 */
static double most_over_others(const struct nsx_judge *j, const struct nsx_late *l, double *scratch)
{
	const struct nsx_fleet *f = j->f;
	bool *is_out = nsx_arena_get(j->a, f->nranks * sizeof(*is_out));
	double sum = 0;

	for (uint32_t r = 0; r < f->nranks; r++)
		is_out[r] = !nsx_is_compared(l, r);
	for (size_t s = 0; s < f->nsteps; s++) {
		size_t k = nsx_own_of(f, s, is_out, scratch);
		double most = 0;

		for (uint32_t i = 0; i < l->n; i++)
			most = NSX_MAX(f->own_ns[s * f->nranks + l->ranks[i]], most); /* not NAN */
		sum += k ? NSX_MAX(0, most - nsx_median_of(scratch, k)) : 0;
	}
	return sum / NSX_MAX(1, (double)nsx_fleet_steps_of(f, l->ranks, l->n));
}

/* The time that a step saves if `more` ranks are mended as well as those of `all`. */
static int replay_with(const struct nsx_judge *j, const uint32_t *all, uint32_t n,
		       const uint32_t *more, uint32_t nmore, const struct nsx_passed *passed,
		       double *ret_ns, struct nsx_err *err)
{
	uint32_t *v = nsx_arena_get(j->a, (n + nmore) * sizeof(*v));

	memcpy(v, all, n * sizeof(*v));
	memcpy(v + n, more, nmore * sizeof(*v));
	nsx_sort(v, n + nmore, sizeof(*v), nsx_cmp_u32);
	return nsx_fleet_replay(j->f, &(struct nsx_mended){v, n + nmore, NULL}, passed, ret_ns, err);
}

/* Prices several ranks as one entry. If they are equally late, each alone costs nothing, because
 * the others are still late. Their price is what they cost together beyond the entries already
 * priced.
 */
static int price_group(struct nsx_judge *j, uint32_t *v, uint32_t n,
		       const uint32_t *all, uint32_t nall, double *scratch, struct nsx_err *err)
{
	struct nsx_fleet *f = j->f;
	struct nsx_passed passed = new_passed(j);
	struct nsx_late *l;
	double together;

	if (replay_with(j, all, nall, v, n, &passed, &together, err))
		return err->rc;
	together = NSX_MIN(together, f->all_recoverable_ns +
			   most_over_others(j, &(struct nsx_late){.ranks = v, .n = n}, scratch));
	if (together - f->all_recoverable_ns < NSX_LEAST_SHARE * f->step_ns)
		return 0;
	l = nsx_add_late(j, v, n);
	nsx_sort(l->ranks, n, sizeof(*l->ranks), nsx_cmp_u32);
	l->added_ns = l->recoverable_ns = together - f->all_recoverable_ns;
	f->all_recoverable_ns = together;
	follow(j, &passed, l);
	return 0;
}

/* Moves entries that are as late as the ones that alone cost too little, by excess_ns, to the
 * latter: while those are late, too, their own price is not what they cost.
 */
static int move_equals(struct nsx_judge *j, double excess_ns, uint32_t *all, uint32_t *n,
		       uint32_t *rest, uint32_t *nrest, struct nsx_err *err)
{
	struct nsx_fleet *f = j->f;
	size_t kept = 0, nlate = f->nlate;

	*n = 0;
	for (const struct nsx_late *l = f->late; l < f->late + nlate; l++) {
		bool is_equal = l->n == 1 && l->excess_ns * EQUALLY_LATE <= excess_ns &&
				excess_ns * EQUALLY_LATE <= l->excess_ns;

		memcpy(is_equal ? rest + *nrest : all + *n, l->ranks, l->n * sizeof(*all));
		*(is_equal ? nrest : n) += l->n;
		if (!is_equal)
			f->late[kept++] = *l;
	}
	f->nlate = kept;
	if (!kept)
		f->all_recoverable_ns = 0;
	return kept && kept < nlate ? replay_with(j, all, *n, rest, 0, NULL,
						  &f->all_recoverable_ns, err) : 0;
}

int nsx_price_late(struct nsx_judge *j, double *scratch, struct nsx_err *err)
{
	struct nsx_fleet *f = j->f;
	/* a rank may be in an entry of its own and in that of its group */
	uint32_t *all = nsx_arena_get(j->a, 2 * f->nranks * sizeof(uint32_t)), n = 0;
	uint32_t *rest = nsx_arena_get(j->a, 2 * f->nranks * sizeof(uint32_t)), nrest = 0;
	size_t kept = 0, nlate = f->nlate;
	double rest_ns = 0;

	for (size_t i = MOST_LATE; i < nlate; i++)
		for (uint32_t k = 0; k < f->late[i].n; k++)
			rest[nrest++] = f->late[i].ranks[k];
	for (size_t i = 0; i < NSX_MIN(nlate, MOST_LATE); i++) {
		struct nsx_passed passed = new_passed(j);
		struct nsx_late l = f->late[i];
		bool is_kept;
		double together;

		if (replay_with(j, all, 0, l.ranks, l.n, &passed, &l.recoverable_ns, err))
			return err->rc;
		follow(j, &passed, &l);
		/* One rank: a step saves no more than the rank's excess work. Most ranks: they are
		 * late because they wait, all at the same time, so the step saves all of their
		 * excess, whatever the replay says.
		 */
		if (l.n == 1 || l.are_most)
			l.recoverable_ns = NSX_MIN(l.are_most ? INFINITY : l.recoverable_ns,
				most_over_others(j, &l, scratch));
		together = l.recoverable_ns;
		if (n && replay_with(j, all, n, l.ranks, l.n, NULL, &together, err))
			return err->rc;
		is_kept = together - f->all_recoverable_ns >=
			  (kept ? LEAST_ADDED : NSX_LEAST_SHARE) * f->step_ns;
		memcpy(is_kept ? all + n : rest + nrest, l.ranks, l.n * sizeof(*all));
		*(is_kept ? &n : &nrest) += l.n;
		if (!is_kept) {
			rest_ns = l.excess_ns;
			f->suspect.saves_ns = NSX_MAX(f->suspect.saves_ns,
						      together - f->all_recoverable_ns);
			continue;
		}
		l.added_ns = together - f->all_recoverable_ns;
		f->all_recoverable_ns = together;
		f->late[kept++] = l;
	}
	f->nlate = kept;
	if (rest_ns > 0 && move_equals(j, rest_ns, all, &n, rest, &nrest, err))
		return err->rc;
	return nrest + kept > 1 && nrest ? price_group(j, rest, nrest, all, n, scratch, err) : 0;
}
