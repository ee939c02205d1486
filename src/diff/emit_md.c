/* emit_md.c - a comparison as Markdown: the answer first, then where the change is. */
#include <inttypes.h>
#include <math.h>
#include "diff/emit.h"
#include "report/text.h"
#include "report/words.h"

enum {
	ROWS = 10,
	MOST_LANES = 32,
	COMMENT_BYTES = 59000, /* a GitHub comment holds 65 536 characters */
};

struct page {
	const struct nsx_diff *d;
	struct nsx_arena *a;
	struct nsx_buf b;
	bool for_comment;
	size_t rows, kernel_rows;
	/* lanes shown, in order; if there are too many, the lanes that change most */
	uint32_t *lanes;
	size_t nlanes;
};

/* Sections ----------------------------------------------------------------------*/

static void add_paths(struct page *p, unsigned side)
{
	const struct nsx_diff *d = p->d;

	for (size_t i = 0; i < d->nsides[side]; i++) {
		const struct nsx_side *s = d->sides[side][i];

		nsx_buf_adds(&p->b, i ? ", " : "");
		nsx_add_name(&p->b, *s->label ? s->label : s->path);
		if (*s->part)
			nsx_buf_printf(&p->b, " at %s", s->part);
	}
}

static void add_answer(struct page *p)
{
	const char *causes = nsx_diff_causes(p->d, p->a);
	const char *place = nsx_diff_place(p->d, p->a);
	const char *lines = nsx_totals_lines(p->d, p->a);
	const char *kinds = nsx_kinds_line(p->d, p->a);

	nsx_buf_printf(&p->b, "**%s**\n\n", nsx_diff_headline(p->d, p->a));
	if (*kinds)
		nsx_buf_printf(&p->b, "%s\n\n", kinds);
	if (*lines)
		nsx_buf_printf(&p->b, "```\n%s```\n\n", lines);
	nsx_buf_printf(&p->b, "%s%s%s%s", causes,
		       *causes ? "\n\n" : "", place, *place ? "\n\n" : "");
	for (const char *s = nsx_diff_promises(p->d, p->a); *s; s += strcspn(s, "\n") + 1)
		nsx_buf_printf(&p->b, "%.*s\n\n", (int)strcspn(s, "\n"), s);
}

/* Adds a text of the trace, or `instead` if it is empty. */
static void emit_md_add_text(struct nsx_buf *b, const char *text, const char *instead)
{
	const char *s = *text ? text : instead;

	nsx_md_escape(b, s, strlen(s));
}

/* Adds " · unit: range `step`, 19 before, 19 after". */
static void add_unit(struct page *p)
{
	const struct nsx_diff *d = p->d;
	const struct nsx_spread *side = d->lanes[0].change.side;

	nsx_buf_printf(&p->b, " · unit: %s", nsx_unit_word(d));
	if (*d->name) {
		nsx_buf_adds(&p->b, d->method == NSX_WAY_SEQUENCE ? " from " : " ");
		nsx_add_name(&p->b, d->name);
	}
	nsx_buf_printf(&p->b, ", %zu before, %zu after", side[0].n, side[1].n);
}

static void add_head(struct page *p)
{
	const struct nsx_diff *d = p->d;
	const char *before = d->sides[0][0]->gpu_names;
	const char *after = d->sides[1][0]->gpu_names;

	if (p->for_comment)
		nsx_buf_adds(&p->b, "<!-- nsys-explain diff -->\n");
	else
		nsx_buf_adds(&p->b, "# Before and after\n\n");
	if (p->for_comment)
		add_answer(p);
	add_paths(p, 0);
	nsx_buf_adds(&p->b, " → ");
	add_paths(p, 1);
	nsx_buf_adds(&p->b, *before || *after ? " · " : "");
	if (*before || *after)
		emit_md_add_text(&p->b, before, "GPU unknown");
	if (strcmp(before, after)) {
		nsx_buf_adds(&p->b, " → ");
		emit_md_add_text(&p->b, after, "GPU unknown");
	}
	if (!d->whole)
		add_unit(p);
	nsx_buf_adds(&p->b, "\n\n");
	if (!p->for_comment)
		add_answer(p);
}

static void add_step_row(struct page *p, const char *what, const struct nsx_step *c)
{
	struct nsx_buf *b = &p->b;

	nsx_buf_printf(b, "| %s | %s | %s | %.1f → %.1f %% | %s | %s | %s to %s | %.3g | %.2f | "
			  "%.1f %% | %s |\n", what, nsx_text_ns(p->a, c->side[0].median_ns),
		       nsx_text_ns(p->a, c->side[1].median_ns),
		       100 * c->side[0].cv, 100 * c->side[1].cv, nsx_text_change(p->a, c->shift_ns),
		       nsx_text_ratio(p->a, c->rel), nsx_text_change(p->a, c->ci_ns.lo),
		       nsx_text_change(p->a, c->ci_ns.hi), c->test.p,
		       c->test.a12, 100 * c->floor.at, nsx_verdict_names[c->verdict]);
}

/* Lists reasons for verdicts that are not obvious, each once, with all it is about. A reason for
 * the whole comparison is already at the top.
 */
static void add_whys(struct page *p)
{
	size_t n = p->nlanes + 1, before = p->b.n;
	const char **why = nsx_arena_get(p->a, n * sizeof(*why));

	why[0] = p->d->has_job ? p->d->job.why : NULL;
	for (size_t i = 1; i < n; i++)
		why[i] = p->d->lanes[p->lanes[i - 1]].change.why;
	for (size_t i = 0; !p->d->why && i < n; i++) {
		const char *reason = why[i];

		for (size_t k = i; reason && k < n; k++) {
			if (!why[k] || strcmp(why[k], reason) != 0)
				continue;
			nsx_buf_printf(&p->b, "%s%s", k > i ? ", " : "- ",
				       !k ? "job" : nsx_lane_name(p->d, p->lanes[k - 1], p->a));
			why[k] = NULL; /* each reason is told once */
		}
		if (reason)
			nsx_buf_printf(&p->b, ": %s\n", reason);
	}
	nsx_buf_adds(&p->b, p->b.n > before ? "\n" : "");
}

static void add_steps(struct page *p)
{
	const struct nsx_diff *d = p->d;

	if (d->whole)
		return;
	nsx_buf_adds(&p->b, p->for_comment ? "" : "## How surely a typical unit changes\n\n");
	nsx_buf_printf(&p->b, "| | median before | after | CV | shift | | %.4g %% | p | A12 | "
			      "noise | verdict |\n|---|---:|---:|"
			      "---:|---:|---:|---:|---:|---:|---:|---|\n", nsx_level_of(d));
	if (d->has_job)
		add_step_row(p, "job, slowest rank", &d->job);
	for (size_t i = 0; i < p->nlanes; i++)
		add_step_row(p, nsx_lane_name(d, p->lanes[i], p->a), &d->lanes[p->lanes[i]].change);
	if (p->nlanes < d->nlanes)
		nsx_buf_printf(&p->b, "| %zu more | | | | | | | | | | |\n", d->nlanes - p->nlanes);
	nsx_buf_adds(&p->b, "\nCV: standard deviation / mean; shift: the median of all differences "
			    "between a unit after and one before (Hodges-Lehmann), not the "
			    "difference of the medians; p: how likely such a difference is if both "
			    "sides are alike (rank test); A12: how often a unit after takes longer "
			    "than one before; noise: what a change must exceed.\n\n");
	add_whys(p);
}

/* Adds steps of an inference engine, which its ranges name. */
static void emit_md_add_kinds(struct page *p)
{
	const struct nsx_kind_rows rows = nsx_diff_kinds(p->d, p->a);

	if (!rows.n)
		return;
	nsx_buf_adds(&p->b, "| steps | size | before | p50 | after | p50 | change |\n"
			    "|---|---:|---:|---:|---:|---:|---:|\n");
	for (size_t i = 0; i < rows.n; i++) {
		const struct nsx_kind_row *r = &rows.v[i];
		double ratio = nsx_kind_change(r);
		const char *change = isnan(ratio) ? "" : nsx_text_ratio(p->a, ratio);

		nsx_buf_printf(&p->b, "| %s | %s |", nsx_step_kinds[r->kind], *r->size ? r->size : "all");
		for (unsigned s = 0; s < 2; s++)
			if (r->count[s])
				nsx_buf_printf(&p->b, " %" PRId64 " | %s |", r->count[s],
					       nsx_text_ns(p->a, 1e6 * r->p50_ms[s]));
			else
				nsx_buf_adds(&p->b, " 0 | |");
		nsx_buf_printf(&p->b, " %s%s|\n", change, *change ? " " : "");
	}
	nsx_buf_adds(&p->b, "\n");
}

static void add_delta(struct page *p, const struct nsx_delta *d)
{
	nsx_buf_printf(&p->b, " | %s", nsx_text_change(p->a, (double)d->delta_ns));
}

/* Least change of a row as a share of the greatest. Rows with smaller changes are only in tables/,
 * unless --top asks for them.
 */
#define LEAST 0.01
#define A_LAUNCH 0.5 /* rows with this many launches more or fewer per unit are shown, too */

static bool is_shown(const struct page *p, uint32_t lane, const struct nsx_delta *d)
{
	const struct nsx_budget *x = &p->d->lanes[lane].budget;
	int64_t most_ns = 0;

	for (unsigned k = 0; k < NSX_NSHARES; k++)
		most_ns = NSX_MAX(most_ns, llabs(x->part[k].delta_ns));
	return d->delta_ns &&
	       (p->d->opts->top ||
		(double)llabs(d->delta_ns) >= LEAST * (double)most_ns);
}

/* Adds a heading; comments have plain lines instead. */
static void add_heading(struct page *p, const char *text)
{
	nsx_buf_printf(&p->b, p->for_comment ? "%s:\n\n" : "## %s\n\n", text);
}

static void add_budgets(struct page *p)
{
	const struct nsx_diff *d = p->d;

	add_heading(p, "Where the change of the mean is");
	nsx_buf_printf(&p->b, "| | mean before | after | change | tail | compute | %scopies | idle "
			      "|\n"
			      "|---|---:|---:|---:|---:|---:|---:|%s---:|---:|\n",
		       d->splits_comm ? "transfer | waiting for a rank | " :
				    "communication | ", d->splits_comm ? "---:|" : "");
	for (size_t i = 0; i < p->nlanes; i++) {
		const struct nsx_budget *x = &d->lanes[p->lanes[i]].budget;
		const struct nsx_step *c = &d->lanes[p->lanes[i]].change;
		struct nsx_delta comm = {0, x->part[NSX_SHARE_TRANSFER].delta_ns +
						    x->part[NSX_SHARE_WAIT].delta_ns};

		nsx_buf_printf(&p->b, "| %s | %s | %s", nsx_lane_name(d, p->lanes[i], p->a),
			       nsx_text_ns(p->a, (double)x->total.before_ns),
			       nsx_text_ns(p->a, (double)(x->total.before_ns + x->total.delta_ns)));
		add_delta(p, &x->total);
		nsx_buf_printf(&p->b, " | %s", d->whole ? "" : nsx_text_change(
			p->a, (double)x->total.delta_ns - c->shift_ns));
		add_delta(p, &x->part[NSX_SHARE_COMPUTE]);
		add_delta(p, d->splits_comm ? &x->part[NSX_SHARE_TRANSFER] : &comm);
		if (d->splits_comm)
			add_delta(p, &x->part[NSX_SHARE_WAIT]);
		add_delta(p, &x->part[NSX_SHARE_COPY]);
		add_delta(p, &x->part[NSX_SHARE_IDLE]);
		nsx_buf_adds(&p->b, " |\n");
	}
	nsx_buf_printf(&p->b, "\n%shares of the time add up to the change.\n\n",
		       d->whole ? "S" : "Tail: the change of the mean minus that "
					"of a typical unit (the shift). The s");
}

static const char *of_lane(const struct page *p, uint32_t lane)
{
	return p->d->nlanes > 1 ?
		       nsx_arena_printf(p->a, " of %s", nsx_lane_name(p->d, lane, p->a)) : "";
}

static void add_clock(struct page *p, const struct nsx_budget *x)
{
	if (p->d->digested) {
		nsx_buf_adds(&p->b, "Digests do not tell the kernels of a step apart: a comparison "
				    "of the traces shows which of them changed, and compute time "
				    "by range.\n\n");
		if (p->d->has_job)
			nsx_buf_adds(&p->b, "Nor do they tell which part of a collective was "
					    "exposed, so that communication is not split into "
					    "transfer and waiting for a rank: a comparison of the "
					    "traces does that; `nsys-explain fleet`, on the "
					    "digests of one side, tells which rank the others wait "
					    "for.\n\n");
		return;
	}
	nsx_buf_printf(&p->b, "%s on both sides (%.0f %% of the compute time before)",
		       nsx_text_n(p->a, x->nequal, "kernel is equal",
				  "kernels are equal"), 100 * x->rho_share);
	if (x->no_rho) /* the section on checks gives the reason */
		nsx_buf_adds(&p->b, ".\n\n");
	else
		nsx_buf_printf(&p->b, "; they take %.4f times as long.\n\n", x->rho);
}

/* Whether changes by overlap are large enough for a column. */
static bool any_overlap(const struct nsx_kernel_row *const *v, size_t n)
{
	return NSX_ANY(i, n, llabs(v[i]->overlap_ns) >= llabs(v[i]->d.delta_ns) / 10 + 1);
}

/* Adds a row. overlaps: overlap has its own column; otherwise it is part of `own`. */
static void emit_md_add_kernel_row(struct page *p, const struct nsx_kernel_row *k, bool overlaps)
{
	const struct nsx_diff *d = p->d;
	struct nsx_buf *b = &p->b;
	const char *shape = nsx_row_changes(d, k->row, p->a);

	if (!*shape)
		shape = nsx_row_shape(d, k->row, p->a);
	nsx_buf_adds(b, "| ");
	nsx_add_labels(b, d, k->row, p->a);
	nsx_buf_printf(b, " | %s | %s | %s%s | %s | %s | %s%s%s | %.4g → %.4g | %s "
			  "|\n", nsx_match_names[d->rows.kind[k->row]],
		       nsx_text_ns(p->a, (double)k->d.before_ns), k->significant ? "" : "~ ",
		       nsx_text_change(p->a, (double)k->d.delta_ns),
		       nsx_text_change(p->a, (double)k->count_ns),
		       nsx_text_change(p->a, (double)k->clock_ns),
		       nsx_text_change(p->a, (double)(k->own_ns - (overlaps ?
							k->overlap_ns : 0))), overlaps ? " | " : "",
		       overlaps ? nsx_text_change(p->a, (double)k->overlap_ns) : "",
		       k->launches[0], k->launches[1], shape);
}

static bool differs_in_launches(const struct nsx_kernel_row *k)
{
	return fabs(k->launches[1] - k->launches[0]) >=
	       NSX_MAX(A_LAUNCH, NSX_NOISE * NSX_MAX(k->launches[0], k->launches[1]));
}

/* Lists the rows that are shown: those that change enough, and those of launches that came or went.
 */
static size_t list_kernel_rows(const struct page *p, uint32_t lane,
			       const struct nsx_kernel_row **ret)
{
	const struct nsx_budget *x = &p->d->lanes[lane].budget;
	size_t n = 0;

	for (const struct nsx_kernel_row *k = x->kernels; k < x->kernels + x->nkernels; k++)
		if (n < p->kernel_rows && (is_shown(p, lane, &k->d) ||
					   differs_in_launches(k)))
			ret[n++] = k;
	return n;
}

static void add_kernels(struct page *p, uint32_t lane)
{
	const struct nsx_budget *x = &p->d->lanes[lane].budget;
	size_t most = NSX_MIN(x->nkernels, p->kernel_rows);
	const struct nsx_kernel_row **v =
		nsx_arena_get(p->a, most * sizeof(const struct nsx_kernel_row *));
	size_t n = list_kernel_rows(p, lane, v);
	bool overlaps;

	if (!p->for_comment)
		nsx_buf_printf(&p->b, "## Kernels%s\n\n", of_lane(p, lane));
	add_clock(p, x);
	if (!n)
		return;
	overlaps = any_overlap(v, n);
	nsx_buf_printf(&p->b, "| kernel | match | before | change | count | "
			      "clock | own |%s launches | launch shape |\n"
			      "|---|---|---:|---:|---:|---:|---:|%s---:|---|\n",
		       overlaps ? " overlap |" : "", overlaps ? "---:|" : "");
	for (size_t i = 0; i < n; i++)
		emit_md_add_kernel_row(p, v[i], overlaps);
	nsx_buf_printf(&p->b, "\nMeans of a unit; ~: a change that may be "
			      "chance%s.\n\n", n < x->nkernels && !p->for_comment ?
				      "; all rows in `tables/diff_kernels.csv`" :
				      "");
}

/* Adds the rows of a split that change enough. */
static void add_split(struct page *p, uint32_t lane, enum nsx_split split)
{
	const struct nsx_split_rows *x = &p->d->lanes[lane].budget.split[split];
	bool is_idle = split == NSX_SPLIT_IDLE;
	size_t n = 0;

	while (n < NSX_MIN(x->n, p->rows) && is_shown(p, lane, &x->v[n].d))
		n++;
	if (!n || (!is_idle && n == 1 && !*x->v[0].detail))
		return;
	add_heading(p, nsx_arena_printf(p->a, is_idle ? "Idle time%s by cause" :
					"Compute time%s by NVTX range of the launch",
					of_lane(p, lane)));
	nsx_buf_printf(&p->b, "| %s | before | change |\n|---|%s---:|---:|\n",
		       is_idle ? "cause | of" : "range", is_idle ? "---|" : "");
	for (size_t i = 0; i < n; i++) {
		nsx_buf_adds(&p->b, "| ");
		if (is_idle)
			nsx_buf_printf(&p->b, "%s | ", nsx_cause_words[x->v[i].cause]);
		if (*x->v[i].detail)
			nsx_add_name(&p->b, x->v[i].detail);
		else
			nsx_buf_adds(&p->b, is_idle ? "" : "none");
		nsx_buf_printf(&p->b, " | %s", nsx_text_ns(p->a, (double)x->v[i].d.before_ns));
		add_delta(p, &x->v[i].d);
		nsx_buf_adds(&p->b, " |\n");
	}
	nsx_buf_adds(&p->b, n == x->n || p->for_comment ? "\n" :
			    "\nAll rows are in `tables/`.\n\n");
}

static void emit_md_add_findings(struct page *p)
{
	const struct nsx_diff *d = p->d;

	if (!d->nfindings)
		return;
	add_heading(p, "Findings");
	for (size_t i = 0; i < d->nfindings; i++) {
		const struct nsx_finding_row *f = &d->findings[i];
		const struct nsx_side_finding *of[] = {f->before, f->after};
		unsigned n = 0;

		nsx_buf_printf(&p->b, "- %s: %s",
			       f->change == NSX_GONE ? "no longer a finding" :
						       nsx_appearance_names[f->change],
			       (f->after ? f->after : f->before)->title);
		for (unsigned s = 0; s < 2; s++)
			if (of[s] && !isnan(of[s]->share))
				nsx_buf_printf(&p->b, "%s%s, %.1f %% of the time",
					       n++ ? " → " : " (",
					       nsx_severity_names[of[s]->severity],
					       100 * of[s]->share);
		nsx_buf_adds(&p->b, n ? ")\n" : "\n");
	}
	nsx_buf_adds(&p->b, "\n");
}

static void add_gates(struct page *p)
{
	const struct nsx_diff *d = p->d;

	if (!d->ngates)
		return;
	nsx_buf_adds(&p->b, p->for_comment ? "" : "## Gates\n\n");
	for (size_t i = 0; i < d->ngates; i++) {
		const char *line = nsx_gate_line(&d->gates[i], p->a);

		nsx_buf_adds(&p->b, "- ");
		nsx_md_escape(&p->b, line, strlen(line));
		nsx_buf_adds(&p->b, "\n");
	}
	nsx_buf_adds(&p->b, "\n");
}

static void add_failed(struct page *p, const struct nsx_check *c)
{
	bool differs = strcmp(c->before, c->after) != 0;

	nsx_buf_printf(&p->b, "- **%s** ", nsx_check_names[c->status]);
	nsx_buf_add_id(&p->b, c->id);
	nsx_buf_printf(&p->b, ": %s", c->text);
	if (differs || *c->before) {
		nsx_buf_adds(&p->b, " (");
		emit_md_add_text(&p->b, c->before, "");
	}
	if (differs) {
		nsx_buf_adds(&p->b, " → ");
		emit_md_add_text(&p->b, c->after, "");
	}
	nsx_buf_adds(&p->b, differs || *c->before ? ")\n" : "\n");
}

static void add_checks(struct page *p)
{
	const struct nsx_diff *d = p->d;
	static const char *const words[] = {"- alike: ", "- not recorded: "};
	struct nsx_buf list[2] = {{0}, {0}};

	nsx_buf_printf(&p->b, "%sCan they be compared?\n\n", p->for_comment ? "" : "## ");
	for (size_t i = 0; i < d->nchecks; i++) {
		const struct nsx_check *c = &d->checks[i];
		bool is_unknown = !*c->before && !*c->after;
		struct nsx_buf *b = &list[is_unknown];

		if (c->status != NSX_CHECK_PASS) {
			add_failed(p, c);
			continue;
		}
		nsx_buf_adds(b, b->n ? ", " : words[is_unknown]);
		nsx_buf_add_id(b, c->id);
		nsx_buf_adds(b, is_unknown ? "" : " ");
		emit_md_add_text(b, c->after, "");
	}
	for (unsigned i = 0; i < 2; i++) {
		if (list[i].n)
			nsx_buf_printf(&p->b, "%s\n", list[i].p);
		nsx_buf_done(&list[i]);
	}
	if (!nsx_enough_captures(d->nsides[0], d->nsides[1]))
		nsx_buf_adds(&p->b, "- fewer than 3 captures a side: how much runs of the same "
				    "code differ is not known from these\n");
	nsx_buf_adds(&p->b, "\n");
}

/* Cuts a text that is too long for a comment at the end of a line. */
static void fit_comment(struct nsx_buf *b)
{
	if (b->n <= COMMENT_BYTES)
		return;
	for (b->n = COMMENT_BYTES; b->n && b->p[b->n - 1] != '\n';)
		b->n--;
	b->p[b->n] = '\0';
	if (strstr(b->p, "<details>"))
		nsx_buf_adds(b, "\n</details>\n");
	nsx_buf_adds(b, "\nThe rest does not fit into a comment: without --md "
			"all of it is in diff.md.\n");
}

void nsx_diff_md(const struct nsx_diff *d, enum nsx_diff_md what, struct nsx_buf *ret)
{
	bool for_comment = what == NSX_DIFF_COMMENT;
	struct page p = {.d = d, .a = nsx_arena_new(),
			 .for_comment = for_comment,
			 .rows = d->opts->top ? d->opts->top : ROWS,
			 .kernel_rows = d->opts->top ? d->opts->top :
					for_comment  ? ROWS : 3 * ROWS};
	uint32_t lane = nsx_shown_lane(d);

	p.nlanes = nsx_diff_lanes(d, MOST_LANES, p.a, &p.lanes);
	add_head(&p);
	add_gates(&p);
	if (!for_comment)
		add_steps(&p);
	emit_md_add_kinds(&p);
	if (!d->whole || !d->totals.known) /* otherwise the sentence is at the top */
		add_budgets(&p);
	add_split(&p, lane, NSX_SPLIT_IDLE);
	if (!for_comment)
		add_split(&p, lane, NSX_SPLIT_RANGES);
	emit_md_add_findings(&p);
	if (for_comment)
		nsx_buf_adds(&p.b, "<details><summary>Kernels, intervals, "
				   "comparability</summary>\n\n");
	add_kernels(&p, lane);
	if (for_comment)
		add_steps(&p);
	add_checks(&p);
	if (for_comment) {
		nsx_buf_adds(&p.b, "</details>\n");
		fit_comment(&p.b);
	}
	*ret = p.b;
	nsx_arena_free(p.a);
}

int nsx_diff_write_md(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_diff_output *o = f->subject;
	struct nsx_buf b;

	nsx_diff_md(o->diff, o->md, &b);
	fwrite(b.p, 1, b.n, out);
	nsx_buf_done(&b);
	return nsx_stopped(err);
}
