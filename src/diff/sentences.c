/* sentences.c - puts a comparison into words: verdict, causes, place of the change, gates. */
#include <math.h>
#include "diff/emit.h"
#include "report/text.h"
#include "report/words.h"

#define ANOTHER 0.5 /* a difference of this many collectives per unit is mentioned */
#define LONGER 0.05 /* least change of the collectives' time that is mentioned, as a ratio */
/* a shift and a difference of medians this far apart, relative to the median, look different to a
 * reader
 */
#define APART 0.01
#define UNEQUAL 0.03 /* difference relative to the shift from which two figures look inconsistent */
#define ODD 0.1	   /* share of the change that findings must leave open to be mentioned */

/* Pieces ------------------------------------------------------------------------*/

void nsx_add_name(struct nsx_buf *b, const char *name)
{
	enum { SHOWN = 100 };
	size_t n = strlen(name);
	size_t head = n > SHOWN + 10 ? nsx_cut_chars(name, SHOWN) : n;

	nsx_buf_adds(b, "`");
	nsx_md_add_code(b, name, head);
	nsx_buf_adds(b, head < n ? "…`" : "`");
}

const char *nsx_unit_word(const struct nsx_diff *d)
{
	static const char *const words[NSX_NWAYS] = {
		[NSX_WAY_NONE] = "step", [NSX_WAY_NVTX] = "range",
		[NSX_WAY_SEQUENCE] = "repetition",
		[NSX_WAY_GRAPH] = "graph replay", [NSX_WAY_COMM] = "step",
		[NSX_WAY_GAPS] = "step", [NSX_WAY_KERNEL] = "period",
		[NSX_WAY_LAUNCH] = "launch",
		[NSX_WAY_WINDOW] = "window"};

	return words[d->method];
}

double nsx_level_of(const struct nsx_diff *d)
{
	return 100 * (1 - d->opts->alpha);
}

/* Says "takes 11.1 ms instead of 9.18 ms". The shift is the median of all differences between units
 * after and before, and may differ from the difference of the two medians. In that case the median
 * after is not shown, because it would look like an error.
 */
static void add_change(struct nsx_buf *b, const struct nsx_diff *d,
		       const struct nsx_step *c, struct nsx_arena *a)
{
	double median_ns = c->side[0].median_ns;
	double apart_ns = fabs(c->side[1].median_ns - median_ns - c->shift_ns);
	const char *before = nsx_text_ns(a, median_ns);
	const char *after = nsx_text_ns(a, c->side[1].median_ns);
	bool is_odd = apart_ns > APART * median_ns && apart_ns > UNEQUAL * fabs(c->shift_ns);

	if (is_odd && !c->mean_opposes && !c->mean_alone)
		nsx_buf_adds(b, " typically");
	if (is_odd && fabs(c->rel) < NSX_SEEN)
		nsx_buf_printf(b, " takes as long as the %s before", before);
	else if (is_odd)
		nsx_buf_printf(b, " takes %s %s than the %s before",
			       nsx_text_ns(a, fabs(c->shift_ns)),
			       c->shift_ns < 0 ? "less" : "longer", before);
	else if (!strcmp(before, after))
		nsx_buf_printf(b, " takes %s on both sides", before);
	else
		nsx_buf_printf(b, " takes %s instead of %s, %s", after, before,
			       nsx_text_change(a, c->shift_ns));
	nsx_buf_printf(b, " (%s", nsx_text_ratio(a, c->rel));
	if (NSX_MIN(c->side[0].n, c->side[1].n) >= NSX_LEAST_UNITS)
		nsx_buf_printf(b, "; %.4g %% %s to %s", nsx_level_of(d),
			       nsx_text_change(a, c->ci_ns.lo), nsx_text_change(a, c->ci_ns.hi));
	nsx_buf_adds(b, ")");
}

/* Adds the change of the mean, which opposes that of the typical unit or exceeds it. */
static void add_mean(struct nsx_buf *b, const struct nsx_diff *d,
		     const struct nsx_step *c, struct nsx_arena *a)
{
	bool falls = c->mean_rel < 0, agrees = c->mean_rel * c->rel > 0;
	bool is_of_few = fabs(c->rel) < c->floor.at;

	nsx_buf_printf(b, ", %s the mean %s from %s to %s (%s",
		       agrees && !is_of_few ? "and" : "but", falls ? "falls" : "rises",
		       nsx_text_ns(a, c->side[0].mean_ns), nsx_text_ns(a, c->side[1].mean_ns),
		       nsx_text_ratio(a, c->mean_rel));
	if (c->mean_alone)
		nsx_buf_printf(b, "; %.4g %% %s to %s", nsx_level_of(d),
			       nsx_text_change(a, c->mean_ci_ns.lo),
			       nsx_text_change(a, c->mean_ci_ns.hi));
	nsx_buf_adds(b, ")");
	if (c->mean_alone && is_of_few)
		nsx_buf_printf(b, ": slow ones are %s",
			       falls ? "fewer, or shorter" : "more, or longer");
	else if (c->verdict == NSX_V_BOTH_WAYS)
		nsx_buf_printf(b, ": as a whole, the run became %s", falls ? "faster" : "slower");
	else if (c->verdict != NSX_V_INCONCLUSIVE && !c->mean_alone)
		nsx_buf_adds(b, ", perhaps by chance");
}

static const char *const verdict_words[] = {
	"No change", "Improvement", "Regression", "Mixed", "Inconclusive"};

/* Adds the verdict, up to the sentence about the step. is_of_lane: the verdict is that of the lane
 * whose step is described; if GPUs disagree, it is not.
 */
static void sentences_add_verdict(struct nsx_buf *b, const struct nsx_diff *d,
				  uint32_t lane, bool is_of_lane, struct nsx_arena *a)
{
	const char *name = lane != NSX_NONE && d->nlanes > 1 ? nsx_lane_name(d, lane, a) : "";

	nsx_buf_adds(b, verdict_words[d->verdict]);
	if (!is_of_lane)
		nsx_buf_printf(b, ": %s;%s%s", d->why, *name ? " on " : "", name);
	else
		nsx_buf_printf(b, "%s%s:", *name ? " on " : "", name);
}

/* Whether the whole run is proven to change, although its units do not. */
static bool changes_outside(const struct nsx_diff *d)
{
	const char *why;
	enum nsx_verdict verdict = d->totals.pairs_up ? nsx_totals_judge(d, &why) :
							NSX_V_INCONCLUSIVE;

	return verdict == NSX_V_REGRESSION || verdict == NSX_V_IMPROVEMENT;
}

const char *nsx_diff_headline(const struct nsx_diff *d, struct nsx_arena *a)
{
	struct nsx_buf b = {0};
	uint32_t lane;
	const struct nsx_step *c = nsx_decisive_step(d, &lane);
	bool is_of_lane = c->verdict == d->verdict;

	if (d->totals.decides || d->whole)
		nsx_buf_printf(&b, "%s:", verdict_words[d->verdict]);
	else
		sentences_add_verdict(&b, d, lane, is_of_lane, a);
	if (d->same) {
		nsx_buf_printf(&b, " %s", d->why);
		return nsx_buf_keep(&b, a);
	}
	if (d->totals.decides || (d->whole && d->totals.known)) {
		nsx_buf_printf(&b, " the run takes %s%s%s",
			       nsx_totals_sentence(d, a), d->why ? "; " : "", d->why ? d->why : "");
		return nsx_buf_keep(&b, a);
	}
	nsx_buf_printf(&b, " a %s%s", c->mean_opposes || c->mean_alone ? "typical " : "",
		       nsx_unit_word(d));
	if (d->method == NSX_WAY_NVTX) {
		nsx_buf_adds(&b, " ");
		nsx_add_name(&b, d->name);
	}
	add_change(&b, d, c, a);
	if (c->mean_opposes || c->mean_alone)
		add_mean(&b, d, c, a);
	if (d->why && is_of_lane && c->verdict != NSX_V_BOTH_WAYS)
		nsx_buf_printf(&b, "; %s", d->why);
	if (d->verdict == NSX_V_NEUTRAL && fabs(c->rel) < NSX_NOISE && changes_outside(d))
		nsx_buf_printf(&b, "; but the run takes %s", nsx_totals_sentence(d, a));
	return nsx_buf_keep(&b, a);
}

/* How much a lane changes by itself. Ranks of a job wait for each other, in collectives or while
 * the host waits for another GPU, so their totals all change alike.
 */
static int64_t own_change(const struct nsx_diff *d, uint32_t lane)
{
	const struct nsx_budget *x = &d->lanes[lane].budget;
	const struct nsx_split_rows *idle = &x->split[NSX_SPLIT_IDLE];
	int64_t waits_ns = x->part[NSX_SHARE_WAIT].delta_ns;

	if (d->digested) /* digests do not separate transfer and waiting */
		waits_ns = x->part[NSX_SHARE_TRANSFER].delta_ns;
	for (size_t i = 0; i < idle->n; i++)
		waits_ns += idle->v[i].cause == NSX_CAUSE_SYNC ? idle->v[i].d.delta_ns : 0;
	return llabs(x->total.delta_ns - waits_ns);
}

uint32_t nsx_shown_lane(const struct nsx_diff *d)
{
	uint32_t best = 0;

	if (nsx_decisive_step(d, &best) != &d->job)
		return best;
	best = 0;
	for (uint32_t l = 1; l < d->nlanes; l++)
		if (own_change(d, l) > own_change(d, best))
			best = l;
	return best;
}

void nsx_add_labels(struct nsx_buf *b, const struct nsx_diff *d, uint32_t row, struct nsx_arena *a)
{
	const char *before = nsx_row_label(d, 0, row, a);
	const char *after = nsx_row_label(d, 1, row, a);

	nsx_add_name(b, *before ? before : after);
	if (*before && *after && strcmp(before, after) != 0) {
		nsx_buf_adds(b, " → ");
		nsx_add_name(b, after);
	}
}

/* Causes -----------------------------------------------------------------------*/

static void add_cause(struct nsx_buf *b, const struct nsx_diff *d,
		      const struct nsx_cause_row *c, bool is_shared, struct nsx_arena *a)
{
	const struct nsx_finding_row *f = c->finding;
	const struct nsx_side_finding *x = f->after;

	nsx_buf_printf(b, "%s: %s (", f->before ? "Finding that grew" : "New finding", x->title);
	if (x->place && !strstr(x->title, x->place))
		nsx_buf_printf(b, "from %s; ", x->place);
	if (f->before)
		nsx_buf_printf(b, "%s → ", nsx_text_ns(a, c->before_ns));
	nsx_buf_printf(b, "%s a %s%s).", nsx_text_ns(a, c->after_ns), nsx_unit_word(d),
		       is_shared ? ", partly the same time" : "");
}

const char *nsx_diff_causes(const struct nsx_diff *d, struct nsx_arena *a)
{
	uint32_t lane = nsx_shown_lane(d);
	double left_ns = fabs((double)d->lanes[lane].budget.total.delta_ns);
	struct nsx_cause_row v[NSX_MOST_CAUSES];
	size_t n = nsx_find_causes(d, lane, v);
	struct nsx_buf b = {0};

	for (size_t i = 0; i < n; i++) {
		double ns = fabs(v[i].after_ns - v[i].before_ns);

		/* findings are priced one by one; together they may explain more than the whole
		 * change
		 */
		nsx_buf_adds(&b, i ? " " : "");
		add_cause(&b, d, &v[i], i && ns > (1 + ODD) * left_ns, a);
		left_ns -= ns;
	}
	return nsx_buf_keep(&b, a);
}

/* Where the mean changes --------------------------------------------------------*/

/* Words that introduce a part of a change; NULL: too small to mention. A part may exceed the whole
 * if other parts go the other way.
 */
static const char *intro_by_share(double part_ns, double of_ns)
{
	double share = of_ns != 0 ? part_ns / of_ns : 0;

	return share <= 0		     ? NULL :
	       share >= 0.5 && share <= 1.25 ? ", mainly " :
					       ", largest change: ";
}

/* Sum of the changes of several kernels. */
struct sum {
	int64_t ns, before_ns;
	/* kernels that take longer, or less: how many, and the largest of their changes */
	size_t n[2];
	int64_t most_ns[2];
};

static void add_to_sum(struct sum *s, const struct nsx_kernel_row *k, int64_t ns)
{
	s->ns += ns;
	s->before_ns += k->d.before_ns;
	s->n[ns < 0] += ns != 0;
	if (llabs(ns) > llabs(s->most_ns[ns < 0]))
		s->most_ns[ns < 0] = ns;
}

/* Changes of kernels: by count, of those that both sides launch, but not equally often; by what
 * runs beside them; or all changes of a kind. Kernels matched by another name or shape are of no
 * kind, as they are listed one by one instead.
 */
enum change { BY_COUNT, BY_OVERLAP, OF_KIND };

static struct sum sum_changes(const struct nsx_diff *d, const struct nsx_budget *x,
			      enum change what, enum nsx_kernel_category kind)
{
	struct sum s = {0};

	for (const struct nsx_kernel_row *k = x->kernels; k < x->kernels + x->nkernels; k++)
		if (what == BY_COUNT ? k->launches[0] > 0 && k->launches[1] > 0 :
		    what == OF_KIND  ? d->rows.kind[k->row] == NSX_M_EXACT &&
					       nsx_row_kernel(d, k->row)->category == kind : true)
			add_to_sum(&s, k, what == BY_COUNT ? k->count_ns :
					  what == OF_KIND  ? k->d.delta_ns : k->overlap_ns);
	return s;
}

static const char *const kind_words[NSX_NKERNEL_CATEGORIES] = {
	[NSX_K_GEMM] = "matrix products", [NSX_K_ATTENTION] = "attention kernels",
	[NSX_K_NORM] = "kernels that normalise",
	[NSX_K_ELEMENTWISE] = "elementwise kernels", [NSX_K_REDUCE] = "reductions",
	[NSX_K_SORT] = "sorts", [NSX_K_MOE] = "kernels of experts",
	[NSX_K_MEMORY] = "kernels that move data",
	[NSX_K_KV_CACHE] = "kernels of the KV cache",
	[NSX_K_SAMPLING] = "sampling kernels"};

/* least share of the change, above its share of the time, for which a kind is named alone */
#define KIND_ALONE 0.15

/* Names the kind of kernels that makes most of the change if no single kernel makes half of that.
 * False: there is none.
 */
static bool sentences_add_kinds(struct nsx_buf *b, const struct nsx_diff *d,
				const struct nsx_budget *x, double of_ns, struct nsx_arena *a)
{
	struct sum most = {0};
	const char *word = NULL;

	for (unsigned c = 0; c < NSX_NKERNEL_CATEGORIES; c++) {
		struct sum s = sum_changes(d, x, OF_KIND, (enum nsx_kernel_category)c);

		if (kind_words[c] && (double)s.ns * of_ns > 0 && llabs(s.ns) > llabs(most.ns)) {
			most = s;
			word = kind_words[c];
		}
	}
	if (!word || most.n[most.ns < 0] < 2 ||
	    2 * llabs(most.most_ns[most.ns < 0]) > llabs(most.ns) ||
	    fabs((double)most.ns) < 0.5 * fabs(of_ns))
		return false;
	/* if all kernels change alike, the kind only stands out by its share of the time */
	if (fabs((double)most.ns / of_ns) < KIND_ALONE + (double)most.before_ns /
		    NSX_MAX(1, (double)x->part[NSX_SHARE_COMPUTE].before_ns))
		return false;
	nsx_buf_printf(b, "%s%zu %s (%s)", intro_by_share((double)most.ns, of_ns),
		       most.n[most.ns < 0], word, nsx_text_change(a, (double)most.ns));
	return true;
}

/* Adds "`sum` (new, +150 us)". */
static void sentences_add_kernel(struct nsx_buf *b, const struct nsx_diff *d,
				 const struct nsx_kernel_row *k, struct nsx_arena *a)
{
	enum nsx_match kind = d->rows.kind[k->row];
	const char *changes = nsx_row_changes(d, k->row, a);

	nsx_add_labels(b, d, k->row, a);
	nsx_buf_printf(b, " (%s%s%s)", kind >= NSX_M_REMOVED ?
			       nsx_match_names[kind] : changes,
		       kind >= NSX_M_REMOVED || *changes ? ", " : "",
		       nsx_text_change(a, (double)k->d.delta_ns));
}

#define LARGE 0.02 /* least ratio of a unit: more than runs of the same code differ */

/* Names the kernels that grew and shrank most if their changes cancel in the compute time.
 * False: there are none.
 */
static bool add_cancelling(struct nsx_buf *b, const char *intro, const struct nsx_diff *d,
			   const struct nsx_budget *x, struct nsx_arena *a)
{
	const struct nsx_kernel_row *most[2] = {NULL, NULL};
	int64_t both;

	for (size_t i = 0; i < x->nkernels; i++) {
		const struct nsx_kernel_row *k = &x->kernels[i];
		const struct nsx_kernel_row **m = &most[k->d.delta_ns < 0];

		if (!*m && k->significant && fabs((double)k->d.delta_ns) >=
						     LARGE * (double)x->total.before_ns)
			*m = k;
	}
	if (!most[0] || !most[1])
		return false;
	both = NSX_MIN(most[0]->d.delta_ns, -most[1]->d.delta_ns);
	if (2 * llabs(x->part[NSX_SHARE_COMPUTE].delta_ns) > both ||
	    2 * llabs(most[0]->d.delta_ns + most[1]->d.delta_ns) > both)
		return false;
	nsx_buf_adds(b, intro);
	sentences_add_kernel(b, d, most[0], a);
	nsx_buf_adds(b, " and ");
	sentences_add_kernel(b, d, most[1], a);
	nsx_buf_adds(b, " nearly cancel out");
	return true;
}

static void add_kernel_part(struct nsx_buf *b, const struct nsx_diff *d,
			    const struct nsx_budget *x, struct nsx_arena *a)
{
	double of_ns = (double)x->part[NSX_SHARE_COMPUTE].delta_ns;
	int64_t overlap_ns = sum_changes(d, x, BY_OVERLAP, 0).ns;
	struct sum counted = sum_changes(d, x, BY_COUNT, 0);

	if (add_cancelling(b, ", where ", d, x, a))
		return;
	/* Many kernels may change for one reason that no single one shows. */
	if (of_ns != 0 && (double)overlap_ns / of_ns >= 0.5) {
		nsx_buf_printf(b, ", mainly kernels that run beside each other %s (%s)",
			       overlap_ns > 0 ? "less" : "more",
			       nsx_text_change(a, (double)overlap_ns));
		return;
	}
	if (of_ns != 0 && counted.n[counted.ns < 0] > 1 && (double)counted.ns / of_ns >= 0.5 &&
	    (double)counted.most_ns[counted.ns < 0] / of_ns < 0.5) {
		nsx_buf_printf(b, ", mainly %zu kernels that are launched %s often (%s)",
			       counted.n[counted.ns < 0], counted.ns > 0 ? "more" : "less",
			       nsx_text_change(a, (double)counted.ns));
		return;
	}
	/* A changed clock affects all kinds. */
	if (fabs(x->rho - 1) < 0.01 && sentences_add_kinds(b, d, x, of_ns, a))
		return;
	for (size_t i = 0; i < x->nkernels; i++) {
		const struct nsx_kernel_row *k = &x->kernels[i];
		const char *intro = intro_by_share((double)k->d.delta_ns, of_ns);

		if (!intro)
			continue;
		nsx_buf_adds(b, intro);
		sentences_add_kernel(b, d, k, a);
		return;
	}
}

/* Whether a cause is worded "the launch call `cudaLaunchKernel`", not "the host waits in ...". */
static bool names_call(enum nsx_cause cause)
{
	return cause == NSX_CAUSE_LAUNCH_CALL || cause == NSX_CAUSE_OTHER_API;
}

static void add_idle_part(struct nsx_buf *b, const struct nsx_split_rows *rows,
			  double of_ns, struct nsx_arena *a)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct nsx_split_row *r = &rows->v[i];
		const char *intro = intro_by_share((double)r->d.delta_ns, of_ns);

		if (!intro)
			continue;
		nsx_buf_printf(b, "%s%s", intro, nsx_cause_words[r->cause]);
		if (*r->detail) {
			nsx_buf_adds(b, names_call(r->cause) ? " " : " in ");
			nsx_add_name(b, r->detail);
		}
		nsx_buf_printf(b, " (%s)", nsx_text_change(a, (double)r->d.delta_ns));
		return;
	}
}

/* A mean count: "7.33", "2002". */
static const char *say_mean(struct nsx_arena *a, double n)
{
	return n < 1000 ? nsx_arena_printf(a, "%.3g", n) : nsx_text_count(a, n);
}

/* Adds " (24 collectives instead of 8)", or how much longer equally many of them take. */
static void add_collectives(struct nsx_buf *b, const struct nsx_budget *x, struct nsx_arena *a)
{
	const double *n = x->collectives, *ns = x->comm_ns;
	const char *count = say_mean(a, n[1]);
	bool is_one = !strcmp(count, "1");

	if (fabs(n[1] - n[0]) >= ANOTHER)
		nsx_buf_printf(b, " (%s collective%s instead of %s)", count, is_one ? "" : "s",
			       say_mean(a, n[0]));
	else if (ns[0] > 0 && fabs(ns[1] / ns[0] - 1) >= LONGER &&
		 llabs(x->part[NSX_SHARE_WAIT].delta_ns) <
			 llabs(x->part[NSX_SHARE_TRANSFER].delta_ns))
		nsx_buf_printf(b, " (%s collective%s %.3g times as long)", count,
			       is_one ? " takes" : "s take", ns[1] / ns[0]);
}

/* Adds "idle +1.88 ms, mainly host code in `iteration #` (+1.86 ms)". */
static void add_share(struct nsx_buf *b, const struct nsx_diff *d,
		      const struct nsx_budget *x, enum nsx_share share, struct nsx_arena *a)
{
	double ns = (double)x->part[share].delta_ns;

	nsx_buf_printf(b, "%s %s", nsx_share_word(d, share), nsx_text_change(a, ns));
	if (share == NSX_SHARE_TRANSFER)
		add_collectives(b, x, a);
	else if (share == NSX_SHARE_COMPUTE)
		add_kernel_part(b, d, x, a);
	else if (share == NSX_SHARE_IDLE)
		add_idle_part(b, &x->split[NSX_SPLIT_IDLE], ns, a);
}

/* Adds what equal kernels show of the clock, and how much it explains. */
static void add_rho(struct nsx_buf *b, const struct nsx_diff *d, const struct nsx_budget *x,
		    struct nsx_arena *a)
{
	double clock_ns = 0;

	for (size_t i = 0; i < x->nkernels; i++)
		clock_ns += (double)x->kernels[i].clock_ns;
	if (fabs(x->rho - 1) < 0.01)
		nsx_buf_adds(b, ". Equal kernels take as long as before: it is not the clock");
	else
		nsx_buf_printf(b, ". Equal kernels take %.3g times as long", x->rho);
	/* the headline says that another GPU does not explain a proven change */
	if (fabs(x->rho - 1) > 0.02 && (d->by_peaks.hi <= 0 || d->verdict == NSX_V_INCONCLUSIVE))
		nsx_buf_printf(b, ": a different clock or GPU explains %s",
			       nsx_text_change(a, clock_ns));
}

/* Says that a unit does k times as much (or one k-th): another batch size, more micro batches, or
 * another number of layers.
 */
static void add_multiple(struct nsx_buf *b, const struct nsx_diff *d,
			 uint32_t lane, struct nsx_arena *a)
{
	const struct nsx_budget *x = &d->lanes[lane].budget;
	struct nsx_multiple k = nsx_find_multiple(d, lane);
	const double total[2] = {
		(double)x->total.before_ns,
		(double)(x->total.before_ns + x->total.delta_ns)};

	if (k.times == 1 || d->totals.decides)
		return;
	if (k.by_launches)
		nsx_buf_printf(b, "; work that took %.0f %% of the busy time is launched "
			       "%.3g times as often: a step may do different work (another number of "
			       "micro batches or layers), and", 100 * k.share, k.times);
	nsx_buf_printf(b, "%s for the same amount a %s takes %s instead of %s", k.by_launches ? "" : ";",
		       nsx_unit_word(d), nsx_text_ns(a, total[1] / NSX_MAX(1, k.times)),
		       nsx_text_ns(a, total[0] * NSX_MIN(1, k.times)));
}

/* least part that is mentioned, relative to the largest share or, if the mean opposes the typical
 * unit, to the change of the mean
 */
#define WORTH_A_WORD 0.1

/* Adds "On average a range takes 1.88 ms less", or "Of this" if the headline says so already. */
static void add_mean_change(struct nsx_buf *b, const struct nsx_diff *d,
			    const struct nsx_diff_lane *l, struct nsx_arena *a)
{
	const struct nsx_budget *x = &l->budget;
	double ns = (double)x->total.delta_ns;
	const struct nsx_step *c = &l->change;
	bool is_of_few = fabs(c->rel) < c->noise && fabs(c->mean_rel) >= c->noise &&
			 !c->mean_recurs;
	uint32_t lane;

	if (fabs(ns) >= NSX_SEEN * (double)x->total.before_ns && !d->totals.decides &&
	    nsx_decisive_step(d, &lane) == c &&
	    !strcmp(nsx_text_change(a, ns), nsx_text_change(a, c->shift_ns))) {
		nsx_buf_adds(b, "Of this");
		return;
	}

	nsx_buf_printf(b, "On average%s a %s takes ", is_of_few ? ", because of one or two," : "",
		       nsx_unit_word(d));
	if (fabs(ns) < NSX_SEEN * (double)x->total.before_ns)
		nsx_buf_adds(b, "as long as before");
	else
		nsx_buf_printf(b, "%s %s", nsx_text_ns(a, fabs(ns)), ns < 0 ? "less" : "longer");
}

/* Whether nothing changes: no part, and no kernels that cancel each other. */
static bool is_unremarkable(const struct nsx_diff *d, const struct nsx_budget *x,
		       double most_ns, struct nsx_arena *a)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	bool cancels = add_cancelling(&b, "", d, x, a);

	return d->verdict == NSX_V_NEUTRAL && !cancels &&
	       most_ns < NSX_NOISE * (double)x->total.before_ns;
}

const char *nsx_diff_place(const struct nsx_diff *d, struct nsx_arena *a)
{
	uint32_t lane = nsx_shown_lane(d);
	const struct nsx_budget *x = &d->lanes[lane].budget;
	const struct nsx_step *c = &d->lanes[lane].change;
	double least = 0;
	struct nsx_buf b = {0};
	const char *sep = ": ";

	for (enum nsx_share k = 0; k < NSX_NSHARES; k++)
		least = NSX_MAX(least, fabs((double)x->part[k].delta_ns));
	if (d->same || (d->whole && d->digested) || (d->units_differ && d->totals.decides) ||
	    least <= 0 || is_unremarkable(d, x, least, a))
		return "";
	if (c->mean_opposes)
		least = NSX_MIN(least, fabs(c->shift_ns));
	if (d->whole)
		nsx_buf_adds(&b, "In all");
	else
		add_mean_change(&b, d, &d->lanes[lane], a);
	if (d->nlanes > 1)
		nsx_buf_printf(&b, " on %s", nsx_lane_name(d, lane, a));
	for (enum nsx_share k = 0; k < NSX_NSHARES; k++) {
		if (d->whole && d->totals.known && k == NSX_SHARE_COPY)
			continue; /* the lines about the whole run say more about copies */
		if (fabs((double)x->part[k].delta_ns) < WORTH_A_WORD * least) {
			if (k == NSX_SHARE_COMPUTE && add_cancelling(&b, ": in compute, ", d, x, a))
				sep = "; ";
			continue;
		}
		nsx_buf_adds(&b, sep);
		add_share(&b, d, x, k, a);
		sep = "; ";
	}
	if (d->whole && *sep == ':') { /* no share was named */
		nsx_buf_done(&b);
		return "";
	}
	if (!x->no_rho)
		add_rho(&b, d, x, a);
	add_multiple(&b, d, lane, a);
	nsx_buf_adds(&b, ".");
	return nsx_buf_keep(&b, a);
}

/* Gates -------------------------------------------------------------------------*/

/* "+4.76", "−4.54", "+134 573". */
static const char *say_number(struct nsx_arena *a, double x)
{
	return nsx_arena_printf(a, "%s%s", signbit(x) ? "−" : "+", say_mean(a, fabs(x)));
}

const char *nsx_gate_line(const struct nsx_gate_row *g, struct nsx_arena *a)
{
	const char *space = *g->unit ? " " : "";
	struct nsx_buf b = {0};

	nsx_buf_printf(&b, "gate %s: %s", g->expr, nsx_gate_names[g->result]);
	if (!isnan(g->change)) {
		nsx_buf_printf(&b, " (%s%s%s %s%s%s",
			       g->subject, *g->subject ? ", " : "", g->figure,
			       say_number(a, g->change), space, g->unit);
		if (!isnan(g->lo))
			nsx_buf_printf(&b, ", interval %s to %s",
				       say_number(a, g->lo), say_number(a, g->hi));
		if (!isnan(g->mean))
			nsx_buf_printf(&b, "; mean %s%s%s", say_number(a, g->mean), space, g->unit);
		nsx_buf_adds(&b, ")");
	}
	if (g->text)
		nsx_buf_printf(&b, "; %s", g->text);
	return nsx_buf_keep(&b, a);
}

void nsx_diff_notices(const struct nsx_diff *d, bool lenient, struct nsx_arena *a,
		      struct nsx_notices *ret)
{
	bool is_worse = d->verdict == NSX_V_REGRESSION || d->verdict == NSX_V_BOTH_WAYS;

	*ret = (struct nsx_notices){.suite = "diff", .path = d->sides[1][0]->path,
		.v = nsx_arena_get(a, (d->ngates + 1) * sizeof(*ret->v))};
	ret->v[ret->n++] = (struct nsx_notice){
		"verdict", "verdict", nsx_diff_headline(d, a), nsx_diff_place(d, a),
		is_worse ? NSX_SEV_HIGH : NSX_SEV_LOW, is_worse ? NSX_NOTED : NSX_PASSED};
	for (size_t i = 0; i < d->ngates; i++) {
		enum nsx_gate_result is = d->gates[i].result;

		ret->v[ret->n++] = (struct nsx_notice){
			"gate", d->gates[i].expr, nsx_gate_line(&d->gates[i], a), "",
			NSX_SEV_HIGH,
			is == NSX_GATE_PASS ? NSX_PASSED :
			is == NSX_GATE_UNDECIDED && lenient ? NSX_TOLERATED : NSX_FAILED};
	}
}

NSX_ORDER_IN(cmp_lanes, uint32_t, struct nsx_diff, DOWN(own_change(c, *x)), UP(*x));

size_t nsx_diff_lanes(const struct nsx_diff *d, size_t most, struct nsx_arena *a, uint32_t **ret)
{
	uint32_t *lanes = nsx_arena_get(a, d->nlanes * sizeof(*lanes));

	for (uint32_t l = 0; l < d->nlanes; l++)
		lanes[l] = l;
	if (most < d->nlanes)
		nsx_sort_r(lanes, d->nlanes, sizeof(*lanes), cmp_lanes, (void *)d);
	*ret = lanes;
	return NSX_MIN(d->nlanes, most);
}
