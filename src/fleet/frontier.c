/* frontier.c - an exact account of the steps: which rank was last at which collective.
 *
 * The collectives of the largest communicator of the main family cut a step into stages. A stage
 * takes the same time on every rank. Its first part, until the last rank arrives, is charged to
 * that rank; its second part moves the data. As far as kernels of the other ranks hide these parts
 * (on the median rank), they are work and cost nothing. Otherwise a late rank would be charged the
 * same delay again at each collective of the step. Of the time charged to a rank, only the wait of
 * the others' median is excess; the rest is work. The excess is attributed to what the rank did
 * more of in that step than the median rank. All parts add up to the steps exactly.
 */
#include <math.h>
#include "base/group.h"
#include "base/stat.h"
#include "fleet/report.h"

struct frontier {
	const struct nsx_fleet *f;
	struct nsx_groups groups; /* rows of the table, keyed by stage and rank */
	struct nsx_table *t;
	double usual[NSX_NCLASSES]; /* time of the median rank in the step */
	double *scratch;
	int64_t *order; /* exposed lengths of a collective on the other ranks */
	/* by rank, for one step: exposed communication outside these collectives */
	int64_t *elsewhere;
	int64_t elsewhere_ns;
};

/* Divides an excess among the classes in which the rank did more; the last class takes the
 * remainder.
 */
static void share_out(const struct frontier *x, size_t s, uint32_t rank,
		      int64_t excess_ns, struct nsx_cell *row)
{
	const struct nsx_dstep *part = x->f->part[s * x->f->nranks + rank];
	double over[NSX_NCLASSES] = {0}, sum = 0;
	int64_t left = excess_ns;

	for (unsigned c = 0; c < NSX_NCLASSES && part; c++) {
		over[c] = NSX_MAX(0, nsx_class_ns(part, c) - x->usual[c]);
		sum += over[c];
	}
	if (sum <= 0) {
		row[F_OTHER].u.i += excess_ns;
		return;
	}
	for (unsigned c = 0; c < NSX_NCLASSES; c++) {
		int64_t ns = c == NSX_IDLE ? left : (int64_t)((double)excess_ns * over[c] / sum);

		row[F_COMPUTE + c].u.i += ns;
		left -= ns;
	}
}

/* The row of a stage that ends with this rank; NULL without memory. */
static struct nsx_cell *row_of(struct frontier *x, size_t stage, uint32_t rank, struct nsx_err *err)
{
	uint32_t n = (uint32_t)x->groups.n, at;
	struct nsx_cell *row;

	if (nsx_group(&x->groups, stage, rank, &at, err))
		return NULL;
	row = at < n ? &x->t->cells[at * x->t->layout->ncols] : nsx_add_row(x->t);
	for (unsigned c = 0; at == n && c < x->t->layout->ncols; c++)
		row[c] = nsx_int(c == F_STAGE ? (int64_t)stage :
				 c == F_RANK  ? x->f->rank[rank].number : 0);
	return row;
}

static int frontier_add_collective(struct frontier *x, const struct nsx_walk *w, size_t s,
				   struct nsx_err *err)
{
	int64_t least = w->last == NSX_NONE ? 0 : w->ns[w->last], passed = -1;
	int64_t transfer, exposed, late;
	const struct nsx_fmember *member = w->c->m, *last = &member[w->last];
	const int64_t *exposed_ns = w->exposed + (w->ns - w->lengths);
	struct nsx_coll now, before;
	struct nsx_cell *row;
	size_t n = 0;

	for (uint32_t m = 0; m < w->c->n && passed < 0; m++)
		if (w->ns[m] >= 0 && nsx_coll_at(&member[m], w->k, &now) && w->k &&
		    nsx_coll_at(&member[m], w->k - 1, &before))
			passed = nsx_end_of(&now) - nsx_end_of(&before);
	if (passed < 0)
		return 0;
	row = row_of(x, w->k - x->f->step[s].first, last->rank, err);
	if (!row)
		return err->rc;
	for (uint32_t m = 0; m < w->c->n; m++) {
		if (w->ns[m] < 0)
			continue;
		x->order[n] = exposed_ns[m];
		x->elsewhere[member[m].rank] -= exposed_ns[m];
		n += &member[m] != last;
	}
	exposed = n ? (int64_t)nsx_quantile(x->order, n, 0.5) : least;
	transfer = NSX_MIN(NSX_MIN(least, exposed), passed);
	late = nsx_holds_all(w->c, w->k) ?
		       NSX_MAX(0, NSX_MIN(exposed - least, passed - transfer)) : 0;
	row[F_TIMES].u.i++;
	row[F_TOTAL].u.i += passed;
	row[F_TRANSFER].u.i += transfer;
	row[F_WORK].u.i += passed - transfer - late;
	share_out(x, s, last->rank, late, row);
	return 0;
}

/* Finds the usual times of a step, and each member's exposed communication, from which the exposed
 * time of its collectives is subtracted later.
 */
static void begin_stages(struct frontier *x, const struct nsx_fcomm *c, size_t s)
{
	struct nsx_dstep *const *part = &x->f->part[s * x->f->nranks];

	for (unsigned k = 0; k < NSX_NCLASSES; k++) {
		size_t n = 0;

		for (uint32_t r = 0; r < x->f->nranks; r++)
			if (part[r])
				x->scratch[n++] = nsx_class_ns(part[r], k);
		x->usual[k] = nsx_median_of(x->scratch, n);
	}
	for (uint32_t m = 0; m < c->n; m++) {
		const struct nsx_dstep *mine = part[c->m[m].rank];

		x->elsewhere[c->m[m].rank] = mine ? mine->part_ns[NSX_P_COMM_EXPOSED] +
						    mine->mpi_ns : 0;
	}
}

static void end_stages(struct frontier *x, const struct nsx_fcomm *c, size_t s)
{
	size_t n = 0;

	for (uint32_t m = 0; m < c->n; m++)
		if (x->f->part[s * x->f->nranks + c->m[m].rank])
			x->order[n++] = NSX_MAX(0, x->elsewhere[c->m[m].rank]);
	x->elsewhere_ns += n ? (int64_t)nsx_quantile(x->order, n, 0.5) : 0;
}

/* The largest communicator of the main family; NULL: without common ends a step has no stages. */
static const struct nsx_fcomm *cutter_of(const struct nsx_fleet *f)
{
	const struct nsx_fcomm *c = NULL;

	for (uint32_t i = 0; f->nsteps && f->main != NSX_NONE && !f->by_totals &&
			     i < f->family[f->main].n; i++) {
		const struct nsx_fcomm *y = &f->comm[f->family[f->main].at + i];

		c = c && c->n >= y->n ? c : y;
	}
	return c;
}

int nsx_fleet_frontier(const struct nsx_fleet *f, struct nsx_table *t, int64_t *ret_elsewhere_ns,
		       struct nsx_err *err)
{
	struct frontier x = {.f = f, .t = t};
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	const struct nsx_fcomm *c = cutter_of(f);
	struct nsx_walk w;
	int rc = 0;

	x.scratch = nsx_arena_get(a, f->nranks * sizeof(*x.scratch));
	x.order = nsx_arena_get(a, (f->nranks + 1) * sizeof(*x.order));
	x.elsewhere = nsx_arena_get(a, f->nranks * sizeof(*x.elsewhere));
	if (c) {
		w = nsx_walk_over(f, c, f->step[0].first, f->step[f->nsteps - 1].end, a);
		w.exposed = nsx_arena_get(a, NSX_WALK_AT_ONCE * c->n * sizeof(*w.exposed));
	}
	for (size_t s = 0; c && s < f->nsteps && !rc; s++) {
		begin_stages(&x, c, s);
		while (!rc && w.k + 1 != f->step[s].end && nsx_walk_on(&w))
			rc = frontier_add_collective(&x, &w, s, err);
		end_stages(&x, c, s);
	}
	nsx_table_sort(t, F_STAGE, F_RANK);
	*ret_elsewhere_ns = x.elsewhere_ns;
	nsx_groups_done(&x.groups);
	return rc;
}
