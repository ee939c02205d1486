/* sentences.c - a comparison in words: the verdict, where the change is, gates. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "diff/emit.h"
#include "diff/words.h"
#include "report/text.h"
#include "report/words.h"

#define APART 0.01 /* of the median: a reader sees it                         */
#define ODD 0.1	   /* of the shift                                            */

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
		[NSX_WAY_SEQUENCE] = "block of kernels",
		[NSX_WAY_GRAPH] = "graph replay", [NSX_WAY_COMM] = "step",
		[NSX_WAY_GAPS] = "step", [NSX_WAY_KERNEL] = "period",
		[NSX_WAY_LAUNCH] = "launch",
		[NSX_WAY_WINDOW] = "second of the window"};

	return words[d->method];
}

double nsx_level_of(const struct nsx_diff *d)
{
	return 100 * (1 - d->opts->alpha);
}

/* The shift is the median of the differences between all units after and all
 * before, and need not be the difference of the medians, which stands before it.
 */
static const char *say_change(const struct nsx_diff *d, struct nsx_arena *a,
			      const struct nsx_step *c)
{
	double median_ns = c->side[0].median_ns;
	double apart_ns = fabs(c->side[1].median_ns - median_ns - c->shift_ns);
	bool is_odd = apart_ns > APART * median_ns &&
		      apart_ns > ODD * fabs(c->shift_ns);

	return nsx_arena_printf(a, "%s %s (%s; %.4g %% %s to %s)",
				is_odd ? " (medians), typically" : ",",
				nsx_text_change(a, c->shift_ns),
				nsx_text_ratio(a, c->rel), nsx_level_of(d),
				nsx_text_change(a, c->ci_ns.lo),
				nsx_text_change(a, c->ci_ns.hi));
}

/* The step the verdict is about. */
static const struct nsx_step *step_of(const struct nsx_diff *d, uint32_t *lane)
{
	*lane = NSX_NONE;
	if (d->has_job && d->job.verdict == d->verdict)
		return &d->job;
	for (uint32_t l = 0; l < d->nlanes; l++)
		if (d->lanes[l].change.verdict == d->verdict) {
			*lane = l;
			return &d->lanes[l].change;
		}
	*lane = d->has_job ? NSX_NONE : 0;
	return d->has_job ? &d->job : &d->lanes[0].change;
}

static const char *const words[] = {"No change", "Improvement", "Regression",
				    "Inconclusive"};

const char *nsx_diff_headline(const struct nsx_diff *d, struct nsx_arena *a)
{
	struct nsx_buf b = {0};
	uint32_t lane;
	const struct nsx_step *c = step_of(d, &lane);

	nsx_buf_adds(&b, words[d->verdict]);
	if (lane != NSX_NONE && d->nlanes > 1)
		nsx_buf_printf(&b, " on %s", nsx_lane_name(d, lane, a));
	if (d->same || d->whole) {
		nsx_buf_printf(&b, ": %s", d->why);
	} else {
		nsx_buf_printf(&b, ": a %s takes %s instead of %s%s",
			       nsx_unit_word(d),
			       nsx_text_ns(a, c->side[1].median_ns),
			       nsx_text_ns(a, c->side[0].median_ns),
			       say_change(d, a, c));
		if (d->why)
			nsx_buf_printf(&b, "; %s", d->why);
	}
	return nsx_buf_keep(&b, a);
}

/* By how much a lane itself changes: ranks of a job wait for each other, so that
 * all of them change alike.
 */
static int64_t own_change(const struct nsx_diff *d, uint32_t lane)
{
	const struct nsx_budget *x = &d->lanes[lane].budget;
	int64_t waits_ns = x->part[NSX_SHARE_WAIT].delta_ns;

	if (d->digested) /* does not tell waiting from transfer */
		waits_ns = x->part[NSX_SHARE_TRANSFER].delta_ns;
	return llabs(x->total.delta_ns - waits_ns);
}

uint32_t nsx_shown_lane(const struct nsx_diff *d)
{
	uint32_t best = 0;

	if (step_of(d, &best) != &d->job)
		return best;
	best = 0;
	for (uint32_t l = 1; l < d->nlanes; l++)
		if (own_change(d, l) > own_change(d, best))
			best = l;
	return best;
}

void nsx_add_labels(struct nsx_buf *b, const struct nsx_diff *d, uint32_t row,
		    struct nsx_arena *a)
{
	const char *before = nsx_row_label(d, 0, row, a);
	const char *after = nsx_row_label(d, 1, row, a);

	nsx_add_name(b, *before ? before : after);
	if (*before && *after && strcmp(before, after) != 0) {
		nsx_buf_adds(b, " → ");
		nsx_add_name(b, after);
	}
}

/* The row of a share that changes most, if it is told apart. */
static void add_largest(struct nsx_buf *b, const struct nsx_diff *d,
			const struct nsx_budget *x, enum nsx_share share,
			struct nsx_arena *a)
{
	const struct nsx_split_rows *rows =
		&x->split[share == NSX_SHARE_COPY ? NSX_SPLIT_COPIES :
						    NSX_SPLIT_IDLE];
	const struct nsx_split_row *r = rows->v;
	bool is_idle = share == NSX_SHARE_IDLE;

	if (share == NSX_SHARE_COMPUTE && x->nkernels) {
		const struct nsx_kernel_row *k = x->kernels;
		enum nsx_match kind = d->rows.kind[k->row];

		nsx_buf_adds(b, "; the largest change in compute: ");
		nsx_add_labels(b, d, k->row, a);
		if (kind == NSX_M_REMOVED || kind == NSX_M_NEW)
			nsx_buf_printf(b, " (%s)", nsx_match_names[kind]);
		nsx_buf_printf(b, ", %s",
			       nsx_text_change(a, (double)k->d.delta_ns));
	} else if ((is_idle || share == NSX_SHARE_COPY) && rows->n) {
		nsx_buf_printf(b, "; the largest change in %s: %s%s",
			       nsx_share_word(d, share),
			       is_idle ? nsx_cause_words[r->cause] : "",
			       is_idle && *r->detail ? " in " : "");
		if (*r->detail)
			nsx_add_name(b, r->detail);
		nsx_buf_printf(b, ", %s",
			       nsx_text_change(a, (double)r->d.delta_ns));
	}
}

/* What equal kernels say of the clock, and what it explains. */
static void add_rho(struct nsx_buf *b, const struct nsx_budget *x, bool is_one,
		    struct nsx_arena *a)
{
	double clock_ns = 0;

	for (size_t i = 0; i < x->nkernels; i++)
		clock_ns += (double)x->kernels[i].clock_ns;
	nsx_buf_printf(b, ". %s kernels take %.4f times as long",
		       is_one ? "Its equal" : "Equal", x->rho);
	if (fabs(x->rho - 1) < 0.01)
		nsx_buf_adds(b, ": it is not the clock");
	else if (fabs(x->rho - 1) > 0.02)
		nsx_buf_printf(b, ": a clock or GPU that differs explains %s",
			       nsx_text_change(a, clock_ns));
}

#define WORTH_A_WORD 0.1 /* of the largest share */

const char *nsx_diff_place(const struct nsx_diff *d, struct nsx_arena *a)
{
	uint32_t lane = nsx_shown_lane(d);
	const struct nsx_budget *x = &d->lanes[lane].budget;
	enum nsx_share most = NSX_SHARE_COMPUTE;
	struct nsx_buf b = {0};
	const char *sep = ": ";

	for (enum nsx_share k = 1; k < NSX_NSHARES; k++)
		if (llabs(x->part[k].delta_ns) > llabs(x->part[most].delta_ns))
			most = k;
	if (d->same || !x->part[most].delta_ns)
		return "";
	nsx_buf_printf(&b, "%s%s%s", d->whole ? "In a second" : "The mean",
		       d->nlanes > 1 ? " of " : "",
		       d->nlanes > 1 ? nsx_lane_name(d, lane, a) : "");
	if (!d->whole)
		nsx_buf_printf(&b, " changes by %s", nsx_text_change(
				       a, (double)x->total.delta_ns));
	for (enum nsx_share k = 0; k < NSX_NSHARES; k++) {
		double ns = (double)x->part[k].delta_ns;

		if (fabs(ns) < WORTH_A_WORD *
				       fabs((double)x->part[most].delta_ns))
			continue;
		nsx_buf_printf(&b, "%s%s %s", sep, nsx_share_word(d, k),
			       nsx_text_change(a, ns));
		sep = ", ";
	}
	add_largest(&b, d, x, most, a);
	if (!x->no_rho)
		add_rho(&b, x, d->nlanes > 1, a);
	if (x->reshaped >= NSX_RESHAPED)
		nsx_buf_printf(&b, "; %s", nsx_other_shapes);
	nsx_buf_adds(&b, ".");
	return nsx_buf_keep(&b, a);
}

const char *nsx_gate_line(const struct nsx_gate_row *g, struct nsx_arena *a)
{
	struct nsx_buf b = {0};

	nsx_buf_printf(&b, "gate %s: %s", g->expr, nsx_gate_names[g->result]);
	if (!isnan(g->change)) {
		nsx_buf_printf(&b, " (%s%s%+.3g%s%s, interval %+.3g to %+.3g)",
			       g->subject, *g->subject ? " " : "", g->change,
			       *g->unit ? " " : "", g->unit, g->lo, g->hi);
	}
	if (g->text)
		nsx_buf_printf(&b, "; %s", g->text);
	return nsx_buf_keep(&b, a);
}

/* Moves the lane that changes most of those from `from` on to that place. */
static void bring_forward(const struct nsx_diff *d, uint32_t *lanes,
			  size_t from)
{
	size_t best = from;
	uint32_t lane;

	for (size_t l = from + 1; l < d->nlanes; l++)
		if (own_change(d, lanes[l]) > own_change(d, lanes[best]))
			best = l;
	lane = lanes[best];
	lanes[best] = lanes[from];
	lanes[from] = lane;
}

size_t nsx_diff_lanes(const struct nsx_diff *d, size_t most,
		      struct nsx_arena *a, uint32_t **ret)
{
	uint32_t *lanes = nsx_arena_get(a, d->nlanes * sizeof(*lanes));

	for (uint32_t l = 0; l < d->nlanes; l++)
		lanes[l] = l;
	for (size_t i = 0; i < most && most < d->nlanes; i++)
		bring_forward(d, lanes, i);
	*ret = lanes;
	return NSX_MIN(d->nlanes, most);
}
