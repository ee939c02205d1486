/* budget.c - the parts of the change of the mean unit.
 *
 * Means are used because they add up: the mean of a row is its sum over a side's units, divided by
 * their number. Changes are fractions over the product of both numbers. The total is rounded first,
 * then the rows so that they add up to it.
 */
#include <math.h>
#include "base/stat.h"
#include "diff/diff.h"

/* Sums of a row over the units of each side, and the mean and change that come from them. */
struct sums {
	nsx_wide ns[2];
	struct nsx_delta d;
};
/* Numbers of units on each side; dividing sums by them gives means. */
struct scale {
	nsx_wide div[2];
};

static struct scale scale_of(const struct nsx_diff *d, uint32_t lane)
{
	struct scale s;

	for (unsigned i = 0; i < 2; i++)
		s.div[i] = (nsx_wide)d->pool[i].lanes[lane].nunits;
	return s;
}

/* Rounds n rows to means and changes that add up to the row above. A row has `size` bytes and
 * begins with its sums.
 */
static void round_rows(const struct scale *s, void *rows, size_t size, size_t n,
		       const struct nsx_delta *above, struct nsx_arena *a)
{
	nsx_wide *v = nsx_arena_get(a, n * sizeof(*v));
	int64_t *ns = nsx_arena_get(a, n * sizeof(*ns));

	for (size_t i = 0; i < n; i++)
		v[i] = ((const struct sums *)((char *)rows + i * size))->ns[0];
	nsx_apportion(v, n, s->div[0], above->before_ns, ns);
	for (size_t i = 0; i < n; i++) {
		struct sums *x = (void *)((char *)rows + i * size);

		x->d.before_ns = ns[i];
		v[i] = x->ns[1] * s->div[0] - x->ns[0] * s->div[1];
	}
	nsx_apportion(v, n, s->div[0] * s->div[1], above->delta_ns, ns);
	for (size_t i = 0; i < n; i++)
		((struct sums *)((char *)rows + i * size))->d.delta_ns = ns[i];
}

static struct nsx_delta round_total(const struct scale *s, const struct sums *x)
{
	return (struct nsx_delta){
		nsx_round(x->ns[0], s->div[0]),
		nsx_round(x->ns[1] * s->div[0] - x->ns[0] * s->div[1], s->div[0] * s->div[1])};
}

static void sum_parts(const struct nsx_diff *d, uint32_t lane, const struct scale *s,
		      struct nsx_arena *a, struct nsx_budget *ret)
{
	struct sums total = {{0, 0}, {0}}, part[NSX_NSHARES] = {{{0, 0}, {0}}};

	for (unsigned i = 0; i < 2; i++) {
		const struct nsx_lane *l = &d->pool[i].lanes[lane];

		for (size_t u = 0; u < l->nunits; u++) {
			total.ns[i] += l->units[u].wall_ns;
			for (unsigned k = 0; k < NSX_NSHARES; k++)
				part[k].ns[i] += l->units[u].ns[k];
			ret->launches[i] += (double)l->units[u].launches / (double)l->nunits;
			ret->collectives[i] += (double)l->units[u].collectives / (double)l->nunits;
			ret->comm_ns[i] += (double)l->units[u].comm_ns / (double)l->nunits;
		}
	}
	ret->total = round_total(s, &total);
	round_rows(s, part, sizeof(*part), NSX_NSHARES, &ret->total, a);
	for (unsigned k = 0; k < NSX_NSHARES; k++)
		ret->part[k] = part[k].d;
}

/* Splits of shares ----------------------------------------------------------------*/

struct part {
	struct sums sums;
	struct nsx_split_row row;
};

NSX_ORDER(cmp_parts, struct part, UP(row.cause), TEXT(row.detail));

NSX_ORDER_IN(cmp_split_rows, struct nsx_split_row, void, DOWN(llabs(x->d.delta_ns)), UP(x->cause),
	     TEXT(x->detail));

/* Lists a row for each use that units of either side make of a part, then merges equal rows. */
static size_t budget_list_parts(const struct nsx_diff *d, uint32_t lane, enum nsx_split split,
				struct nsx_arena *a, struct part **ret)
{
	NSX_AT_EXIT(nsx_free_at) struct part *v = NULL;
	size_t n = 0, cap = 0, kept = 0;

	for (unsigned i = 0; i < 2; i++)
		for (size_t c = 0; c < d->nsides[i]; c++) {
			const struct nsx_split_uses *l =
				&d->pool[i].seen[c]->lanes[lane].split[split];

			nsx_grow_or_die(&v, &cap, n + l->n, sizeof(*v));
			for (size_t k = 0; k < l->n; k++) {
				v[n] = (struct part){.row = {
					.cause = l->v[k].cause,
					.detail = d->sides[i][c]->details[l->v[k].detail]}};
				v[n++].sums.ns[i] = l->v[k].ns;
			}
		}
	nsx_sort(v, n, sizeof(*v), cmp_parts);
	*ret = nsx_arena_get(a, n * sizeof(**ret));
	NSX_EACH_RUN(k, next, n, !cmp_parts(&v[k], &v[next])) {
		(*ret)[kept] = v[k];
		for (size_t i = k + 1; i < next; i++)
			for (unsigned s = 0; s < 2; s++)
				(*ret)[kept].sums.ns[s] += v[i].sums.ns[s];
		kept++;
	}
	return kept;
}

static const enum nsx_share share_of[NSX_NSPLITS] = {
	[NSX_SPLIT_IDLE] = NSX_SHARE_IDLE,
	[NSX_SPLIT_RANGES] = NSX_SHARE_COMPUTE,
};

static void sum_split(struct nsx_diff *d, uint32_t lane, enum nsx_split split,
		      const struct scale *s, struct nsx_arena *a, struct nsx_budget *b)
{
	struct nsx_split_rows *ret = &b->split[split];
	struct part *v;
	size_t n = budget_list_parts(d, lane, split, a, &v);

	round_rows(s, v, sizeof(*v), n, &b->part[share_of[split]], a);
	ret->v = nsx_arena_get(d->arena, n * sizeof(*ret->v));
	for (; ret->n < n; ret->n++) {
		ret->v[ret->n] = v[ret->n].row;
		ret->v[ret->n].d = v[ret->n].sums.d;
	}
	nsx_sort_r(ret->v, n, sizeof(*ret->v), cmp_split_rows, NULL);
}

/* Kernels -----------------------------------------------------------------------*/

/* uses of a lane, grouped by row */
struct by_row {
	const struct nsx_kernel_use *of;
	uint32_t *use; /* indices */
	size_t *at; /* by row: start of its uses; one entry more than rows */
};

static struct by_row group_by_row(const struct nsx_diff *d, unsigned side, uint32_t lane,
				  struct nsx_arena *a)
{
	const struct nsx_lane *l = &d->pool[side].lanes[lane];
	struct by_row b = {l->uses, nsx_arena_get(a, l->nuses * sizeof(*b.use)),
			   nsx_arena_get(a, (d->rows.nrows + 2) * sizeof(*b.at))};

	NSX_DEAL(b.at, b.use, d->rows.nrows, l->nuses, i, d->rows.row[l->uses[i].kernel]);
	return b;
}

struct kernel_sums { /* sums of a row that the lane uses */
	struct sums credit, own; /* own: whole durations, not shared with concurrent kernels */
	uint32_t row;
	double launches[2], threads[2];
};

/* Threads of one launch; 0: not known. */
static double threads_of(const struct nsx_kernel *k)
{
	double n = k->known;

	for (unsigned i = 0; i < 3; i++)
		n *= (double)k->grid[i] * k->block[i];
	return n;
}

static size_t sum_rows(const struct nsx_diff *d, const struct by_row uses[2],
		       struct nsx_arena *a, struct kernel_sums **ret)
{
	size_t n = 0;

	for (uint32_t r = 0; r < d->rows.nrows; r++)
		n += uses[0].at[r + 1] + uses[1].at[r + 1] > uses[0].at[r] + uses[1].at[r];
	*ret = nsx_arena_get(a, n * sizeof(**ret));
	n = 0;
	for (uint32_t r = 0; r < d->rows.nrows; r++) {
		bool is_used = false;

		for (unsigned i = 0; i < 2; i++)
			for (size_t k = uses[i].at[r]; k < uses[i].at[r + 1]; k++) {
				const struct nsx_kernel_use *u = &uses[i].of[uses[i].use[k]];
				struct kernel_sums *x = &(*ret)[n];

				is_used = true;
				x->row = r;
				x->credit.ns[i] += u->ns;
				x->own.ns[i] += u->own_ns;
				x->launches[i] += u->launches;
				x->threads[i] += u->launches *
						 threads_of(d->kernels.of[u->kernel][i]);
			}
		n += is_used;
	}
	return n;
}

struct ratio {
	double ratio, weight;
	const char *name; /* kernel's name with template arguments: with others it is other code */
};

NSX_ORDER(cmp_ratios, struct ratio, UP(ratio));
NSX_ORDER(cmp_names, struct ratio, TEXT(name), UP(ratio));

/* Median over the units of the duration of one launch of the row; 0 if no launch began. */
static double typical_ns(const struct by_row *b, uint32_t row, int64_t *scratch)
{
	size_t n = 0;

	for (size_t k = b->at[row]; k < b->at[row + 1]; k++) {
		const struct nsx_kernel_use *u = &b->of[b->use[k]];

		if (u->launches)
			scratch[n++] = u->own_ns / u->launches;
	}
	return n ? nsx_quantile(scratch, n, 0.5) : 0;
}

/* The clock ratio, judged from equal kernels: the median of their duration ratios, weighted by time
 * before. Two checks guard it. If few kernels take most of the time, the ratio may be theirs alone,
 * so the median over all kernel names must agree. Each name counts once, because launches of other
 * sizes run the same code. And if a tenth of the time is as fast as before or changes the other
 * way, the code of the rest has changed.
 */
enum { MIN_EQUAL = 10, MIN_NAMES = 5 };
#define MIN_EQUAL_SHARE 0.5
#define ALIKE 0.01
#define UNLIKE_SHARE 0.1

/* Keeps the median ratio of each kernel name. Leaves r ordered by ratio. */
static size_t keep_names(struct ratio *r, size_t n)
{
	size_t kept = 0;

	nsx_sort(r, n, sizeof(*r), cmp_names);
	NSX_EACH_RUN(i, next, n, !strcmp(r[i].name, r[next].name))
		r[kept++] = r[(i + next) / 2];
	nsx_sort(r, kept, sizeof(*r), cmp_ratios);
	return kept;
}

/* Sets the clock ratio. r: kernel ratios in ascending order; overwritten. */
static void judge_clock(struct ratio *r, double weight, struct nsx_budget *ret)
{
	size_t n = ret->nequal, names;
	double sum = 0, rho = 1, unlike = 0;

	for (size_t i = 0; i < n && sum < weight / 2; i++) {
		sum += r[i].weight;
		rho = r[i].ratio;
	}
	for (size_t i = 0; i < n; i++)
		if (fabs(r[i].ratio - rho) > NSX_MAX(ALIKE, fabs(rho - 1) / 2))
			unlike += r[i].weight;
	names = keep_names(r, n);
	if (n < MIN_EQUAL)
		ret->no_rho = "fewer than 10 kernels are equal on both sides";
	else if (names < MIN_NAMES)
		ret->no_rho = "fewer than 5 kernels of different names are equal on both sides";
	else if (ret->rho_share < MIN_EQUAL_SHARE)
		ret->no_rho = "kernels that are equal on both sides took less "
			      "than half of the compute time";
	else if (fabs(r[names / 2].ratio - rho) > ALIKE ||
		 (fabs(rho - 1) > ALIKE && unlike > UNLIKE_SHARE * weight))
		ret->no_rho = "equal kernels do not change alike";
	else
		ret->rho = rho;
}

static void measure_clock(const struct nsx_diff *d, const struct kernel_sums *v, size_t n,
			  const struct by_row *uses, struct nsx_arena *a, struct nsx_budget *ret)
{
	size_t most = NSX_MAX(uses[0].at[d->rows.nrows], uses[1].at[d->rows.nrows]);
	double all = 0, equal = 0;
	int64_t *scratch = nsx_arena_get(a, most * sizeof(*scratch));
	struct ratio *r = nsx_arena_get(a, n * sizeof(*r));

	for (size_t i = 0; i < n; i++) {
		double before = typical_ns(&uses[0], v[i].row, scratch);
		double after = typical_ns(&uses[1], v[i].row, scratch);

		all += (double)v[i].credit.ns[0];
		if (d->rows.kind[v[i].row] != NSX_M_EXACT || before <= 0 || after <= 0)
			continue;
		r[ret->nequal++] = (struct ratio){
			after / before, (double)v[i].credit.ns[0],
			nsx_row_kernel(d, v[i].row)->name};
		equal += (double)v[i].credit.ns[0];
	}
	ret->rho_share = all > 0 ? equal / all : 0;
	nsx_sort(r, ret->nequal, sizeof(*r), cmp_ratios);
	judge_clock(r, equal, ret);
}

/* Splits a row's change into three parts: (n2 - n1) e1 by count, n2 e1 (rho - 1) by clock, and the
 * rest as its own. n: launches per unit, e: credit per launch. Overlap is the part of the rest that
 * comes from more or fewer kernels running beside it while its own duration stays equal.
 */
static void split_row(const struct scale *s, const struct kernel_sums *x,
		      double rho, enum nsx_match kind, struct nsx_kernel_row *r)
{
	double n;

	for (unsigned i = 0; i < 2; i++) {
		r->launches[i] = x->launches[i] / (double)s->div[i];
		r->threads[i] = x->threads[i] / (double)s->div[i];
		r->each_ns[i] = x->launches[i] > 0 ? (double)x->credit.ns[i] / x->launches[i] : 0;
	}
	/* variants are different kernels, so their counts are not compared */
	n = r->launches[kind != NSX_M_VARIANT];
	if (x->launches[0] > 0 && x->launches[1] > 0) {
		r->count_ns = llround((n - r->launches[0]) * r->each_ns[0]);
		r->clock_ns = llround(n * r->each_ns[0] * (rho - 1));
	} else {
		r->count_ns = r->d.delta_ns;
	}
	r->own_ns = r->d.delta_ns - r->count_ns - r->clock_ns;
	if (x->own.ns[0] > 0 && x->own.ns[1] > 0 && x->credit.ns[1] > 0)
		r->overlap_ns = llround((double)(r->d.before_ns + r->d.delta_ns) *
			(1 - (double)x->own.ns[1] / (double)x->credit.ns[1] *
				     ((double)x->credit.ns[0] / (double)x->own.ns[0])));
}

NSX_ORDER_IN(cmp_kernel_rows, struct nsx_kernel_row, void, DOWN(llabs(x->d.delta_ns)), UP(x->row));

static void fill_rows(struct nsx_diff *d, const struct scale *s, struct kernel_sums *v,
		      size_t n, struct nsx_arena *a, struct nsx_budget *ret)
{
	round_rows(s, v, sizeof(*v), n, &ret->part[NSX_SHARE_COMPUTE], a);
	ret->kernels = nsx_arena_get(d->arena, n * sizeof(*ret->kernels));
	for (; ret->nkernels < n; ret->nkernels++) {
		const struct kernel_sums *x = &v[ret->nkernels];
		struct nsx_kernel_row *r = &ret->kernels[ret->nkernels];

		*r = (struct nsx_kernel_row){.row = x->row, .d = x->credit.d, .p = NAN};
		split_row(s, x, ret->rho, d->rows.kind[x->row], r);
	}
	nsx_sort_r(ret->kernels, n, sizeof(*ret->kernels), cmp_kernel_rows, NULL);
}

/* Which rows changed ------------------------------------------------------------*/

enum { MOST_TESTED = 500, MIN_SAMPLE = 2 };

/* Credit of the row in each unit, ascending; units without it are zeros. */
static void sample_row(const struct by_row *b, uint32_t row, int64_t *v, size_t nunits)
{
	uint32_t unit = NSX_NONE;
	size_t n = 0;

	for (size_t k = b->at[row]; k < b->at[row + 1]; k++) {
		const struct nsx_kernel_use *u = &b->of[b->use[k]];

		if (u->unit != unit)
			v[n++] = 0;
		unit = u->unit;
		v[n - 1] += u->ns;
	}
	memmove(v + nunits - n, v, n * sizeof(*v));
	memset(v, 0, (nunits - n) * sizeof(*v));
	nsx_sort(v + nunits - n, n, sizeof(*v), nsx_cmp_i64);
}

NSX_POINTER_ORDER(cmp_p, struct nsx_kernel_row, UP(p), UP(row));

/* Holm 1979: multiplies the least p by the number of tests, the next by one less, and so on. */
static void correct_by_holm(const struct nsx_diff *d, struct nsx_budget *b, size_t n,
			    struct nsx_arena *a)
{
	struct nsx_kernel_row **order = nsx_arena_get(a, n * sizeof(struct nsx_kernel_row *));
	double most = 0;

	for (size_t i = 0; i < n; i++)
		order[i] = &b->kernels[i];
	nsx_sort(order, n, sizeof(*order), cmp_p);
	for (size_t i = 0; i < n; i++) {
		struct nsx_kernel_row *r = order[i];
		double noise_ns = nsx_noise_of_kernel(
			&d->opts->noise, nsx_row_kernel(d, r->row)->name, (double)r->d.before_ns);

		most = NSX_MAX(most, NSX_MIN(1, r->p * (double)(n - i)));
		r->p = most;
		r->significant = most <= d->opts->alpha && fabs((double)r->d.delta_ns) > noise_ns;
	}
}

static void test_rows(const struct nsx_diff *d, uint32_t lane, const struct by_row *uses,
		      struct nsx_arena *a, struct nsx_budget *b)
{
	size_t n = NSX_MIN(b->nkernels, (size_t)MOST_TESTED);
	const size_t units[] = {d->pool[0].lanes[lane].nunits,
				d->pool[1].lanes[lane].nunits};
	int64_t *v[] = {nsx_arena_get(a, units[0] * sizeof(int64_t)),
			nsx_arena_get(a, units[1] * sizeof(int64_t))};

	if (NSX_MIN(units[0], units[1]) < MIN_SAMPLE)
		return;
	for (size_t i = 0; i < n; i++) {
		for (unsigned k = 0; k < 2; k++)
			sample_row(&uses[k], b->kernels[i].row, v[k], units[k]);
		b->kernels[i].p = nsx_rank_test(v[1], units[1], v[0], units[0]).p;
	}
	correct_by_holm(d, b, n, a);
}

struct nsx_budget nsx_budget_build(struct nsx_diff *d, uint32_t lane)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct scale s = scale_of(d, lane);
	struct nsx_budget ret = {.rho = 1};
	const struct by_row uses[] = {group_by_row(d, 0, lane, a), group_by_row(d, 1, lane, a)};
	struct kernel_sums *v;
	size_t n = sum_rows(d, uses, a, &v);

	sum_parts(d, lane, &s, a, &ret);
	for (enum nsx_split k = 0; k < NSX_NSPLITS; k++)
		sum_split(d, lane, k, &s, a, &ret);
	measure_clock(d, v, n, uses, a, &ret);
	if (d->digested)
		ret.no_rho = nsx_no_kernels;
	fill_rows(d, &s, v, n, a, &ret);
	test_rows(d, lane, uses, a, &ret);
	return ret;
}
