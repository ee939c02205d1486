/* findings.c - what to do next: ranked findings as tables and in words. */
#include "passes/verdict/findings_table.h"

#define CSV_COLUMNS(X)                                                                             \
	X(CSV_RANK, "rank", I64, "order of the report")                                            \
	X(CSV_SEVERITY, "severity", STR, "high from 10 % of the window, medium from 3 %")          \
	X(CSV_CATEGORY, "category", STR, "field of the remedy")                                    \
	X(CSV_TITLE, "title", STR, "what costs time, in short, as plain text")                     \
	X(CSV_HEADROOM_MS, "headroom_ms", F64, "time saved if only this remedy is applied")        \
	X(CSV_HEADROOM_DISJOINT_MS, "headroom_disjoint_ms", F64,                                   \
	  "time saved in addition to the remedies applied before, in the order of largest "        \
	  "savings; above headroom_ms if remedies help each other")                                \
	X(CSV_CONFIDENCE, "confidence", STR, "confidence in cause and price")                      \
	X(CSV_KEY, "key", STR, "id, with its subject if there may be several")                     \
	X(CSV_PRICE, "price", STR, "replayed, measured or assumed")                                \
	X(CSV_HEADROOM_LOW_MS, "headroom_low_ms", F64, "lower end of headroom_ms")                 \
	X(CSV_HEADROOM_HIGH_MS, "headroom_high_ms", F64, "upper end of headroom_ms")               \
	X(CSV_PLACE, "place", STR, "place in the user's code")                                     \
	X(CSV_EVIDENCE, "evidence", STR, "evidence in numbers, as plain text")                     \
	X(CSV_RECOMMENDATION, "recommendation", STR, "remedy, as plain text")
NSX_LAYOUT_OF(layout, CSV_COLUMNS, .csv = "findings");

/* Joins lines of Markdown to sentences of plain text. */
static struct nsx_cell plain_cell(struct nsx_section *out, const char *const *line)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	for (size_t i = 0; line[i]; i++) {
		nsx_buf_adds(&b, i ? ". " : "");
		nsx_md_add_plain(&b, line[i]);
	}
	return nsx_string(b.n ? nsx_arena_strdup(out->arena, b.p) : NULL);
}

static void add_csv_row(struct nsx_section *out, const struct nsx_table *from,
			size_t i, struct nsx_table *t)
{
	static const int source[] = {-1, F_SEVERITY, F_CATEGORY, F_TITLE, F_HEADROOM,
				     F_DISJOINT, F_CONFIDENCE, F_KEY, F_PRICE, F_LOW,
				     F_HIGH, F_PLACE};
	const struct nsx_cell *finding = nsx_row_at(from, i);
	struct nsx_cell *row = nsx_add_row(t);

	row[CSV_RANK] = nsx_int((int64_t)i + 1);
	for (size_t k = 1; k < ARRAY_LEN(source); k++)
		row[k] = finding[source[k]];
	row[CSV_TITLE] = plain_cell(out, (const char *[]){finding[F_TITLE].u.s, NULL});
	row[CSV_EVIDENCE] = plain_cell(out, finding[F_EVIDENCE].u.list);
	row[CSV_RECOMMENDATION] = plain_cell(out, finding[F_RECOMMENDATION].u.list);
}

static bool is_advised_before(const struct nsx_table *t, size_t row, const char *advice)
{
	for (size_t r = 0; r < row; r++) {
		const char *const *line = nsx_row_at(t, r)[F_RECOMMENDATION].u.list;

		for (size_t i = 0; line[i]; i++)
			if (!strcmp(line[i], advice))
				return true;
	}
	return false;
}

/* Adds a finding's advice, unless a finding above gave the same. */
static void add_advice(struct nsx_buf *b, const struct nsx_table *t, size_t row)
{
	const char *const *line = nsx_row_at(t, row)[F_RECOMMENDATION].u.list;
	bool any = false;

	for (size_t i = 0; line[i]; i++) {
		if (is_advised_before(t, row, line[i]))
			continue;
		nsx_buf_printf(b, "%s%s", any ? ". " : " → ", line[i]);
		any = true;
	}
	if (!any && line[0])
		nsx_buf_adds(b, " → As above");
}

/* Whether the section Capture quality already shows the finding. */
static bool findings_is_of_capture(const struct nsx_report *report, const struct nsx_cell *row)
{
	const struct nsx_finding *f = report->found.v;

	while (f->key != row[F_KEY].u.s)
		f++;
	return nsx_finding_category(f) == NSX_CAT_CAPTURE && f->proof[0].csv &&
	       !strcmp(f->proof[0].csv, "capture_quality");
}

static void say_finding(struct nsx_section *out, const struct nsx_table *t, size_t i)
{
	const struct nsx_cell *row = nsx_row_at(t, i);
	const char *const *line = row[F_EVIDENCE].u.list;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_buf_printf(&b, "**[%s] %s**", row[F_SEVERITY].u.s, row[F_TITLE].u.s);
	if (row[F_HEADROOM].type) {
		const char *alone = nsx_say_ms(out, row[F_HEADROOM].u.f);
		const char *more = nsx_say_ms(out, row[F_DISJOINT].u.f);

		nsx_buf_printf(&b, ": %s", alone);
		if (row[F_DISJOINT].type && strcmp(more, alone))
			nsx_buf_printf(&b, row[F_DISJOINT].u.f > row[F_HEADROOM].u.f ?
					       ", or %s together with the others" :
					   row[F_DISJOINT].u.f > 0 ?
					       ", of which %s are left after the others" :
					       ", of which nothing is left after the others", more);
		nsx_buf_printf(&b, " (%s, confidence %s)", row[F_PRICE].u.s, row[F_CONFIDENCE].u.s);
	}
	for (size_t k = 0; line[k]; k++)
		nsx_buf_printf(&b, "%s%s", k ? ". " : "\n  - ", line[k]);
	add_advice(&b, t, i);
	nsx_md_bullet(out, "%s", b.p);
}

/* Says which window is judged, if the report does not show it elsewhere. */
static void say_judged_window(const struct nsx_run *run, const struct nsx_report *report,
			      struct nsx_section *out)
{
	const struct nsx_facts *f = run->facts;
	const struct nsx_trace *t = run->trace;
	struct nsx_window w = nsx_judged(f);

	if (f->limiting == NSX_NONE) {
		nsx_md_bullet(out, "The trace has no GPU work: there is no GPU time to price.");
		return;
	}
	if (nsx_is_whole(run->opts))
		return;
	nsx_md_bullet(out,
		"**Judged on** the steady window (%s, confidence %s): %s of "
		"%s%s.", nsx_steady_methods[f->steady.method],
		      nsx_confidence_names[f->steady.confidence],
		nsx_say_time(out, w.end_ns - w.start_ns),
		nsx_say_time(out, t->window.end_ns - t->window.start_ns),
		t->ndevices < 2
			? ""
			: nsx_say(out, "; GPU %s has the least idle time and "
				  "waiting%s",
		      nsx_gpu_label(t, f->limiting),
		      nsx_is_held_up(report) ? "" : ", so it sets the pace"));
}

static int findings_summarise(const struct nsx_run *run, const struct nsx_report *report,
			      struct nsx_section *out, struct nsx_err *err NSX_UNUSED)
{
	struct nsx_table *csv = nsx_add_table(out, &layout);
	const struct nsx_table *all = nsx_findings_table(report, out, false);

	say_judged_window(run, report, out);
	for (size_t i = 0; i < all->nrows; i++) {
		add_csv_row(out, all, i, csv);
		if (!nsx_is_whole(run->opts) || !findings_is_of_capture(report, nsx_row_at(all, i)))
			say_finding(out, all, i);
	}
	if (run->facts->limiting != NSX_NONE && !all->nrows)
		nsx_md_bullet(out, "None of the checked problems costs a noteworthy share of it.");
	return 0;
}

NSX_DEFINE_SUMMARY(findings, .title = "Findings in full",
	.summary = "problems that cost time, ranked by the time that remedies save",
	.doc = "Detectors name what could be changed: a wait, an allocation, a copy, a late rank, "
	       "a kernel. The recorded program is replayed without it; the time by which the "
	       "judged window gets shorter is the headroom (price: replayed). The remedies are "
	       "then applied one after the other, at each step the one that saves most; this "
	       "saving is headroom_disjoint. Its sum is the saving of all remedies together; it is "
	       "above headroom if remedies help each other. Remedies that save the same time are "
	       "one finding, named after the first cause in the chain, with the others as "
	       "alternatives. price measured: by a stated rule, where the replay cannot see it; "
	       "assumed: an estimate explained in the evidence. severity: high from 10 % of the "
	       "judged window, medium from 3 %, by headroom_disjoint. Assumed prices are low, and "
	       "so is everything in a start-up; a kernel with 60 % of the window is medium "
	       "although it has no price. headroom_low: the certain part of the saving, if waits "
	       "outside CUDA end no earlier than they did or the remedy succeeds only in part. "
	       "There are at most ten findings; those worth less than 0.5 % are among the minor "
	       "ones, and those about the capture come last.",
	.derived_from = "the trace and the facts, whatever sections are shown; priced by replay on "
			"the judged window",
	.limitations = "durations of kernels and copies stay as recorded; it is not known whether "
		       "the host needs a wait that was removed", NSX_LAYOUT(layout),
	.more = (const struct nsx_layout *const[]){&nsx_findings_layout, NULL},
	.is_top = true, .is_verdict = true);
