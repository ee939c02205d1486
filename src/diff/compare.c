/* compare.c - checks whether the captures can be compared, with the values that decide it. One
 * failure makes the comparison inconclusive, whatever the figures. The length of a capture does not
 * matter.
 */
#include <math.h>
#include "diff/diff.h"

const char *const nsx_check_names[] = {"pass", "warn", "fail"};
#define ALIKE 0.9      /* least share of common launches without a warning    */
#define MOSTLY 0.5     /* least share without a failure, if only kernels tell units */
#define CLOCKS 0.02
/* least difference between the sides in the share of lost launches that is a warning */
#define LOST 0.01
/* launches per unit may differ by this ratio before units count as different kinds */
#define PERIODS 1.25
#define EQUAL 0.02 /* difference, as a ratio, below which launches and threads are equal */
/* least share of the busy time in kernels and copies that do k times the work; the rest is work
 * that is done once per step
 */
#define MULTIPLIED 0.75

enum { MOST_DAMAGED = 4, MOST_CHECKS = 20 + MOST_DAMAGED };

static struct nsx_check *compare_add(struct nsx_diff *d, const char *id,
				     const char *before, const char *after)
{
	struct nsx_check *c = &d->checks[d->nchecks++];

	*c = (struct nsx_check){.id = id, .before = before, .after = after};
	return c;
}

static void mark(struct nsx_check *c, enum nsx_check_status status, const char *text)
{
	c->status = status;
	c->text = text;
}

static void warn_if(struct nsx_diff *d, bool differs, const char *id, const char *before,
		    const char *after, const char *text)
{
	struct nsx_check *c = compare_add(d, id, before, after);

	if (differs)
		mark(c, NSX_CHECK_WARN, text);
}

/* Fails if a part of a capture could not be read, because that part may be what changed. */
static void compare_damage(struct nsx_diff *d)
{
	for (unsigned s = 0; s < 2; s++)
		for (size_t i = 0; i < d->nsides[s]; i++) {
			const char *damage = d->sides[s][i]->damage;

			if (damage && d->nchecks < MOST_DAMAGED)
				mark(compare_add(d, "file", s ? "whole" : damage,
						 s ? damage : "whole"), NSX_CHECK_FAIL,
				     "a part of a capture could not be read");
		}
}

/* Fails if one run is given twice, because it would look like two runs that do not differ. */
static void compare_repeats(struct nsx_diff *d)
{
	for (unsigned s = 0; s < 2; s++)
		for (size_t i = 0; i < d->nsides[s]; i++)
			for (size_t k = 0; k < i; k++) {
				if (!nsx_side_is_same(d->sides[s][k], d->sides[s][i]))
					continue;
				mark(compare_add(d, "captures", s ? "distinct" : "repeated",
						 s ? "repeated" : "distinct"),
				     NSX_CHECK_FAIL, "a capture is given twice on one side: it is "
				     "one run");
				return;
			}
}

/* The text that all captures of a side share; otherwise all their texts. */
static const char *compare_text_of(struct nsx_diff *d, unsigned side, size_t offset)
{
	struct nsx_buf b = {0};

	for (size_t i = 0; i < d->nsides[side]; i++) {
		const char *s = *(const char *const *)((const char *)d->sides[side][i] + offset);

		if (!b.n)
			nsx_buf_adds(&b, s);
		else if (strcmp(b.p, s))
			nsx_buf_printf(&b, "; %s", s);
	}
	return nsx_buf_keep(&b, d->arena);
}

static void compare_text(struct nsx_diff *d, const char *id, size_t offset, const char *text)
{
	const char *before = compare_text_of(d, 0, offset), *after = compare_text_of(d, 1, offset);

	warn_if(d, strcmp(before, after) && *before && *after, id, before, after, text);
}

/* Sets the range of factors on time that the peaks of two GPU models allow. The ends are the factor
 * for time bound by the peak that grows most, and the factor 1 for time bound by no peak. Returns
 * false if a side has several models or if peaks are unknown.
 */
static bool compare_peaks(struct nsx_diff *d)
{
	struct nsx_interval x = {1, 1};

	for (unsigned k = 0; k < NSX_NPEAKS; k++) {
		double before = d->sides[0][0]->peaks[k], after = d->sides[1][0]->peaks[k];

		if (before <= 0 || after <= 0)
			return false;
		x.lo = NSX_MIN(x.lo, before / after);
		x.hi = NSX_MAX(x.hi, before / after);
	}
	d->by_peaks = x;
	return true;
}

/* Compares models of GPUs, not their number. */
static void compare_gpus(struct nsx_diff *d)
{
	const size_t names = offsetof(struct nsx_side, gpu_names);
	const size_t models = offsetof(struct nsx_side, gpu_models);
	struct nsx_check *c = compare_add(d, "gpu", compare_text_of(d, 0, names),
					  compare_text_of(d, 1, names));

	const char *before = compare_text_of(d, 0, models), *after = compare_text_of(d, 1, models);

	if (!*c->before || !*c->after || !strcmp(before, after))
		return;
	if (strpbrk(before, ",;") || strpbrk(after, ",;") || !compare_peaks(d))
		mark(c, NSX_CHECK_FAIL, "the sides ran on different GPUs");
	else
		mark(c, NSX_CHECK_WARN, nsx_arena_printf(d->arena,
			"the sides ran on different GPUs, whose peaks alone make the same work "
			"take %.2g to %.2g times as long", d->by_peaks.lo, d->by_peaks.hi));
}

static const char *say_count(struct nsx_diff *d, int64_t n)
{
	return nsx_arena_printf(d->arena, "%lld", (long long)n);
}

static void compare_count(struct nsx_diff *d, const char *id, int64_t before,
			  int64_t after, const char *text)
{
	warn_if(d, before != after, id, say_count(d, before), say_count(d, after), text);
}

/* The share in percent; "" for NAN. */
static const char *say_share(struct nsx_diff *d, double share)
{
	return isnan(share) ? "" : nsx_arena_printf(d->arena, "%.1f %%", 100 * share);
}

bool nsx_hides_work(const struct nsx_diff *d)
{
	return NSX_ANY(i, d->nsides[0], d->sides[0][i]->hides_kernels) !=
	       NSX_ANY(i, d->nsides[1], d->sides[1][i]->hides_kernels);
}

/* Finds the least share of a side's launches that left GPU work. NaN if some capture of the side
 * does not show the share.
 */
static void compare_find_answered(const struct nsx_diff *d, double share[2])
{
	for (unsigned s = 0; s < 2; s++) {
		share[s] = 1;
		for (size_t i = 0; i < d->nsides[s]; i++) {
			double x = d->sides[s][i]->answered;

			if (isnan(x) || x < share[s])
				share[s] = x;
		}
	}
	if (isnan(share[0] + share[1]))
		share[0] = share[1] = NAN;
}

/* Whether units have a name: that of a range, or of the kernel that begins them. */
static bool have_name(const struct nsx_diff *d)
{
	return d->method == NSX_WAY_NVTX || d->method == NSX_WAY_KERNEL;
}

/* answered: by side, the share of launches that left GPU work. */
static void compare_work(struct nsx_diff *d, const double answered[2])
{
	double like = nsx_likeness(&d->kernels, d->pool);
	double least = have_name(d) || nsx_find_multiple(d, 0).times != 1 ? NSX_UNLIKE : MOSTLY;
	bool fails = like < NSX_UNLIKE && d->method != NSX_WAY_NVTX;
	struct nsx_check *c = compare_add(d, "kernels_in_common", say_share(d, like),
					  say_share(d, like));

	if (like < ALIKE && nsx_hides_work(d))
		mark(c, fails ? NSX_CHECK_FAIL : NSX_CHECK_WARN, nsx_arena_printf(d->arena,
		     "the kernels of one side are inside of CUDA graphs that were recorded as a "
		     "whole: capture it with --cuda-graph-trace=node to compare them%s", fails ?
		     ", or mark the steps with NVTX ranges on both sides" : ""));
	else if (like < least && nsx_has_same_steps(d))
		mark(c, NSX_CHECK_WARN, "the two sides run different kernels for the same steps");
	else if (like < least && !d->totals.same_work &&
		 !(d->whole && nsx_repeats_more(d, 0, true)))
		mark(c, NSX_CHECK_FAIL, fabs(answered[1] - answered[0]) > LOST ?
		     "GPU work of one side was lost, so how long it took is not known" :
		     "the two sides run different kernels: another program, or another part of it");
	else if (like < ALIKE)
		mark(c, NSX_CHECK_WARN, "a part of the kernels runs on one side only");
}

NSX_ORDER(cmp_by_row, struct nsx_kernel_row, UP(row));

/* Adds up the rows of each name, whatever their shapes: a grid that doubled may be one that another
 * launch had. Kernels are numbered in the order of their names.
 */
static struct nsx_kernel_row *sum_names(const struct nsx_diff *d, const struct nsx_budget *b,
					struct nsx_arena *a, size_t *ret_n)
{
	struct nsx_kernel_row *v = nsx_arena_get(a, b->nkernels * sizeof(*v)), *sum = v;

	for (size_t i = 0; i < b->nkernels; i++) {
		uint32_t row = b->kernels[i].row, first = d->rows.first[0][row];

		v[i] = b->kernels[i];
		v[i].row = first == NSX_NONE ? d->rows.first[1][row] : first;
	}
	nsx_sort(v, b->nkernels, sizeof(*v), cmp_by_row);
	for (size_t i = 1; i < b->nkernels; i++) {
		if (strcmp(nsx_kernel_at(&d->kernels, sum->row),
			   nsx_kernel_at(&d->kernels, v[i].row)) != 0) {
			*++sum = v[i];
			continue;
		}
		sum->d.before_ns += v[i].d.before_ns;
		for (unsigned s = 0; s < 2; s++) {
			sum->threads[s] += v[i].threads[s];
			sum->launches[s] += v[i].launches[s];
		}
	}
	*ret_n = b->nkernels ? (size_t)(sum - v) + 1 : 0;
	return v;
}

struct nsx_multiple nsx_find_multiple(const struct nsx_diff *d, uint32_t lane)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	const struct nsx_budget *b = &d->lanes[lane].budget;
	struct nsx_multiple ret = {.times = 1};
	size_t n;
	const struct nsx_kernel_row *v = sum_names(d, b, a, &n), *most = NULL;
	double busy = (double)(b->part[NSX_SHARE_COMPUTE].before_ns +
			       b->part[NSX_SHARE_COPY].before_ns), alike = 0;

	/* the kernel with most time gives the factor, and the others must agree with it */
	for (const struct nsx_kernel_row *k = v; k < v + n; k++) {
		if (k->threads[0] > 0 && k->threads[1] > 0 &&
		    (!most || k->d.before_ns > most->d.before_ns))
			most = k;
	}
	if (!most || nsx_hides_work(d))
		return ret;
	ret.times = most->threads[1] / most->threads[0];
	ret.by_launches = fabs(most->launches[1] / most->launches[0] / ret.times - 1) < EQUAL;
	for (const struct nsx_kernel_row *k = v; k < v + n; k++)
		if (fabs(k->threads[1] - ret.times * k->threads[0]) < EQUAL * k->threads[1] &&
		    (fabs(k->launches[1] - k->launches[0]) < EQUAL * k->launches[1]) ==
			    !ret.by_launches)
			alike += (double)k->d.before_ns;
	if (d->totals.known && fabs(nsx_bytes_of(&d->totals.side[1]) -
				    ret.times * nsx_bytes_of(&d->totals.side[0])) <
		    EQUAL * nsx_bytes_of(&d->totals.side[1]))
		alike += (double)b->part[NSX_SHARE_COPY].before_ns;
	ret.share = busy > 0 ? alike / busy : 0;
	if (fabs(ret.times - 1) < EQUAL || ret.share < MULTIPLIED ||
	    (ret.by_launches && !nsx_wholes_tell(d) && nsx_launches_alike(d, lane)))
		ret.times = 1;
	return ret;
}

/* Whether a run launches about as many times less often as its launches have more threads. */
static bool launches_make_up(const struct nsx_totals_change *c, double times)
{
	double ratio = (double)c->side[0].launches / NSX_MAX((double)c->side[1].launches, 1);

	return c->same_threads && fabs(log(ratio / times)) < fabs(log(ratio));
}

/* Checks that units do the same work. A unit without a name may be one step on one side and two on
 * the other, if every second step differs. And all launches may have as many times the threads:
 * there are fewer of them then, as with another batch size, or it is other work if the copies
 * differ as well, or are none.
 */
static void compare_periods(struct nsx_diff *d)
{
	struct nsx_multiple most = {.times = 1};

	for (uint32_t l = 0; l < d->nlanes; l++) {
		struct nsx_multiple x = nsx_find_multiple(d, l);

		if (fabs(log(x.times)) > fabs(log(most.times)))
			most = x;
	}
	d->units_differ = most.by_launches || launches_make_up(&d->totals, most.times);
	if (d->digested || d->whole || most.times == 1 || (most.by_launches ?
	    have_name(d) || fabs(log(most.times)) < log(PERIODS) :
	    d->totals.same_work && !d->units_differ)) {
		d->units_differ = false;
		return;
	}
	mark(compare_add(d, "unit", "1", nsx_arena_printf(d->arena, "%.3g", most.times)),
	     d->units_differ && nsx_wholes_tell(d) ? NSX_CHECK_WARN : NSX_CHECK_FAIL,
	     most.by_launches ?
	     "a unit of one side does the work of more than one of the other; --unit can name one "
	     "that both have" :
	     nsx_arena_printf(d->arena, "the same launches have %.3g times the threads%s, such as "
			      "another batch size", most.times, d->units_differ ?
			      " and come less often: a unit does other work" : ": it is other work"));
}

/* Adds a check of a share, which is a warning if the sides differ. */
static void compare_shares(struct nsx_diff *d, bool differs, const char *id, const double share[2],
			   const char *text)
{
	warn_if(d, differs, id, say_share(d, share[0]), say_share(d, share[1]), text);
}

static double steady_share(const struct nsx_pool *p)
{
	size_t n = 0, all = 0;

	for (size_t l = 0; l < p->nlanes; l++)
		for (size_t u = 0; u < p->lanes[l].nunits; u++) {
			n += p->lanes[l].units[u].steady;
			all++;
		}
	return all ? (double)n / (double)all : 0;
}

/* Compares clocks on the lane whose clock changed most. */
static void compare_clocks(struct nsx_diff *d)
{
	const struct nsx_budget *b = &d->lanes[0].budget;

	for (size_t l = 1; l < d->nlanes; l++)
		if (fabs(d->lanes[l].budget.rho - 1) > fabs(b->rho - 1))
			b = &d->lanes[l].budget;
	if (b->no_rho)
		warn_if(d, true, "clocks", "", "", nsx_arena_printf(
			d->arena, "%s, so they do not show whether clocks differ", b->no_rho));
	else
		warn_if(d, fabs(b->rho - 1) > CLOCKS, "clocks", "1",
			nsx_arena_printf(d->arena, "%.4f", b->rho),
			"equal kernels do not take the same time: other clocks, or another GPU; "
			"lock the clocks");
}

/* Mean over the captures of the SM clock that counters showed while kernels ran. */
static double mhz_of(const struct nsx_diff *d, unsigned side)
{
	double sum = 0;

	for (size_t i = 0; i < d->nsides[side]; i++)
		sum += d->sides[side][i]->sm_mhz;
	return sum / (double)d->nsides[side];
}

static void compare_mhz(struct nsx_diff *d)
{
	double before = mhz_of(d, 0), after = mhz_of(d, 1);

	if (!isnan(before) && !isnan(after))
		warn_if(d, fabs(after / before - 1) > CLOCKS, "measured_clock",
			nsx_arena_printf(d->arena, "%.0f MHz", before),
			nsx_arena_printf(d->arena, "%.0f MHz", after),
			"the GPU ran at another clock; lock the clocks");
}

void nsx_compare_captures(struct nsx_diff *d)
{
	const struct nsx_side *b = d->sides[0][0], *a = d->sides[1][0];
	const double steady[] = {steady_share(&d->pool[0]), steady_share(&d->pool[1])};
	double answered[2];

	d->checks = nsx_arena_get(d->arena, MOST_CHECKS * sizeof(*d->checks));
	compare_damage(d);
	compare_repeats(d);
	compare_gpus(d);
	if (d->digested) {
		compare_text(d, "ranks", offsetof(struct nsx_side, ranks),
			     "these are not the same ranks");
	} else {
		compare_count(d, "gpus_used", b->ngpus, a->ngpus,
			      "different numbers of GPUs did something");
		compare_count(d, "processes", b->nranks, a->nranks,
			      "different numbers of processes used a GPU");
	}
	compare_text(d, "driver", offsetof(struct nsx_side, driver_version),
		     "another driver");
	compare_text(d, "cuda", offsetof(struct nsx_side, cuda_version),
		     "another version of CUDA");
	compare_text(d, "nsys", offsetof(struct nsx_side, product_version),
		     "another version of nsys recorded it");
	compare_text(d, "traced", offsetof(struct nsx_side, traced),
		     "different things were traced, at different cost");
	compare_text(d, "cuda_graphs", offsetof(struct nsx_side, graph_mode),
		     "graphs are used or traced differently");
	compare_find_answered(d, answered);
	compare_work(d, answered);
	if (!d->digested)
		compare_shares(d, fabs(answered[1] - answered[0]) > LOST, "launches_recorded",
			       answered, "launches of one side left no GPU work: what was lost, or "
			       "captured into a graph, looks like idle time");
	compare_periods(d);
	compare_shares(d, NSX_MIN(steady[0], steady[1]) < 0.5 && !d->whole, "steady_units", steady,
		       "less than half of the units are steady");
	compare_clocks(d);
	compare_mhz(d);
}
