/* report_md.c - the first page of a fleet's report and the sections after it. */
#include <math.h>
#include <string.h>
#include "base/stat.h"
#include "emit/md_table.h"
#include "facts/steps/steps.h"
#include "fleet/report.h"
#include "report/text.h"
#include "report/words.h"

#define LEAST_UNEVEN 0.03 /* least uneven work that is mentioned, relative to a step */

enum { PAGE_FINDINGS = 5, MOST_ROWS = 15, MOST_KINDS = 64 };

/* First page -------------------------------------------------------------------------*/

static const char *gpu_models(const struct nsx_fleet *f)
{
	const char *model = f->nranks ? f->rank[0].d->gpu_model : "";

	for (uint32_t i = 1; i < f->nranks; i++)
		if (strcmp(f->rank[i].d->gpu_model, model) != 0)
			return "several models of GPUs";
	return model;
}

/* Whether hosts are known. Traces that do not name their host may share one. */
static bool knows_hosts(const struct nsx_fleet *f)
{
	for (uint32_t h = 0; f->nhosts > 1 && h < f->nhosts; h++)
		if (!f->host[h].hash)
			return false;
	return true;
}

static void add_header(const struct nsx_freport *r, struct nsx_buf *b)
{
	const struct nsx_fleet *f = r->f;
	const char *axes = nsx_axes_text(f, r->arena), *models = gpu_models(f);

	if (nsx_fleet_absent(f))
		nsx_buf_printf(b, "%u of %s%lld ranks", f->nranks,
			       f->expected < f->numbered ? "at least " : "",
			       (long long)NSX_MAX(f->expected, f->numbered));
	else
		nsx_buf_adds(b, nsx_say_of(r, f->nranks, "%u rank[s|]", f->nranks));
	nsx_buf_adds(b, nsx_say_of(r, f->nhosts, " · %s%u host[s|]",
				   knows_hosts(f) ? "" : "at most ", f->nhosts));
	if (*axes)
		nsx_buf_printf(b, " · %s", axes);
	if (*models) {
		nsx_buf_adds(b, " · ");
		nsx_md_escape(b, models, strlen(models));
	}
	if (f->nsteps)
		nsx_buf_printf(b, " · judged on %zu steps of %s%s", f->nsteps,
			       nsx_say_time(r, f->step_ns), f->steps_are_colls ?
			       " (periods of the collectives)" : "");
	nsx_buf_adds(b, "\n\n");
}

/* Says why the rank with the greatest excess is not named as late. */
static void report_md_add_suspect(const struct nsx_freport *r, struct nsx_buf *b)
{
	static const char *const why[] = {
		[NSX_NOT_WAITED_FOR] = ", but the others wait for it for less than 1 % of a "
				       "step.\n",
		[NSX_PAIRS_UNKNOWN] = "; whether they wait for it is not known, because no payload "
				      "says who sends to whom. The .nsys-rep files tell, or exports "
				      "with --include-json=true (nsys 2025 or later).\n",
		[NSX_ORDER_UNKNOWN] = "; whether they wait for it is not known, because clocks "
				      "contradict each other.\n",
		[NSX_STAGES_OVERLAP] = "; whether they wait for it is not known, because the other "
				       "stages of its pipeline have work meanwhile.\n",
		[NSX_FEW_STEPS] = ", but a rank is named only from ten steps on. A longer capture "
				  "would tell.\n"};
	const struct nsx_suspect *x = &r->f->suspect;
	bool is_told = x->why == NSX_NOT_PROVEN || x->why == NSX_NOT_WAITED_FOR;

	nsx_buf_printf(b, "%s: rank %lld takes %s a step (%.1f %%) more than the others, in %lld of "
		       "%zu steps", !is_told ? "**Not known** who holds the others up" :
		       x->why == NSX_NOT_PROVEN ? "**No persistent straggler** is proven" :
						  "**No persistent straggler**",
		       (long long)r->f->rank[x->rank].number, nsx_say_time(r, x->excess_ns),
		       100 * x->excess_ns / r->f->step_ns, (long long)x->nsteps, r->f->nsteps);
	if (x->why == NSX_NOT_PROVEN)
		nsx_buf_printf(b, ", but among %u ranks chance does that with p = %.3f, not below "
			       "0.01. A longer capture would tell.\n", r->f->nranks, x->p);
	else
		nsx_buf_adds(b, why[x->why]);
}

/* Says which of several engines is slow. */
static void add_engines_verdict(const struct nsx_freport *r, struct nsx_buf *b)
{
	const struct nsx_fleet *f = r->f;
	uint32_t nslow = 0, ncompared = 0;
	const struct nsx_fengine *most = f->engine;

	for (size_t i = 0; i < f->nengines; i++) {
		const struct nsx_fengine *e = &f->engine[i];

		nslow += e->is_slow;
		ncompared += e->ratio > 0;
		most = e->ratio > most->ratio ? e : most;
	}
	if (!ncompared) {
		nsx_buf_printf(b, "**No verdict**: these are %u engines that share no collective, and "
				  "no two of them have steps of one kind and size.\n", f->nengines);
		return;
	}
	if (nslow)
		nsx_buf_adds(b, nsx_say_of(r, nslow, "**%u of %u engines [are|is] slower than the "
					   "others**", nslow, f->nengines));
	else
		nsx_buf_printf(b, "**None of %u engines is slower than the others**", f->nengines);
	nsx_buf_adds(b, nsx_say_of(
		r, most->n, ": that of rank[s|] %s takes %.1f %% longer for a step%s. They share no "
		"collective, so nobody waits for it, and steps of one kind and size are compared.\n",
		nsx_rank_list(f, most->ranks, most->n, r->arena), 100 * (most->ratio - 1),
		nslow ? "" : ", by chance"));
}

/* Whether no two ranks have a collective or a kernel name in common. */
static bool is_unrelated(const struct nsx_freport *r)
{
	const struct nsx_table *kernels = &r->t[NSX_FT_KERNELS];

	return r->f->nranks > 1 && !NSX_ANY(i, r->f->ncomms, r->f->comm[i].n > 1) &&
	       !NSX_ANY(i, kernels->nrows, nsx_row_at(kernels, i)[Y_N].u.i > 1);
}

static void report_md_add_verdict(const struct nsx_freport *r, struct nsx_buf *b)
{
	const struct nsx_fleet *f = r->f;
	const struct nsx_ffinding *x = r->n ? &r->v[0] : NULL;
	bool lacks = nsx_fleet_absent(f);

	if (f->nengines) {
		add_engines_verdict(r, b);
	} else if (!f->nsteps) {
		nsx_buf_adds(b, f->by_totals ?
		       "**No verdict**: digests made with --detail steps hold no times of "
		       "collectives, and no iterations of two ranks were found to be the same, so "
		       "nobody can be compared.\n" :
		       f->main != NSX_NONE ?
		       "**No verdict**: the ranks' collectives are matched, but no steps that they "
		       "share were found, so nobody can be compared.\n" :
		       is_unrelated(r) ?
		       "**These captures are no job**: no two of them have a collective or a "
		       "kernel in common. Give the traces of one job.\n" :
		       "**No verdict**: no collectives of two ranks were found to be the same, so "
		       "nobody can be compared.\n");
	} else if (x && x->id == NSX_FF_DESYNC) {
		nsx_buf_adds(b, "**Ranks are out of sequence**: they do not call the same "
		       "collectives.\n");
	} else if (x && x->n) {
		nsx_buf_printf(b, "**%s** holds the others up", x->n == 1 ? "One rank" :
			       x->id == NSX_FF_SLOW_HOST ? "One host" : "A group of ranks");
		if (x->price)
			nsx_buf_printf(b, ": %s%s of each step of %s can be won",
				       f->has_messages ? "at most " : "",
				       nsx_say_time(r, x->headroom_ns), nsx_say_time(r, f->step_ns));
		nsx_buf_adds(b, ".\n");
	} else if (f->suspect.nsteps) {
		report_md_add_suspect(r, b);
	} else {
		nsx_buf_printf(b, "**No persistent straggler**%s: the slowest rank of a step takes %s "
				  "(%.1f %%) longer than the second slowest%s.\n",
			       lacks ? " among the ranks that are here" : "",
			       nsx_say_time(r, f->jitter_ns), 100 * f->jitter_ns / f->step_ns,
			       f->is_rotating ? ", and it is another one each time" :
			       lacks ? "" : ", which may be chance");
	}
}

/* Says how much uneven work costs if every rank is late sometimes and none is named. */
static void add_uneven(const struct nsx_freport *r, struct nsx_buf *b)
{
	const struct nsx_fleet *f = r->f;
	bool may_be = f->nsteps && !f->nlate && !f->is_rotating && !f->ndesyncs &&
		      !f->by_totals && !f->has_messages;

	/* the suspect above already tells who is late without delaying others */
	if (!may_be || f->uneven_ns < LEAST_UNEVEN * f->step_ns ||
	    (f->suspect.nsteps && f->suspect.why != NSX_NOT_PROVEN))
		return;
	nsx_buf_printf(b, "\nThe slowest rank of a step takes %s (%.1f %%) more than the median "
			  "one, and it is not always the same rank: about so much can be won by "
			  "giving all the same work in each step (batch and sequence lengths, "
			  "experts).\n", nsx_text_ns(r->arena, f->uneven_ns),
		       100 * f->uneven_ns / f->step_ns);
}

static void add_short(const struct nsx_freport *r, size_t i, struct nsx_buf *b)
{
	const struct nsx_ffinding *x = &r->v[i];

	nsx_buf_printf(b, "%zu. **[%s]", i + 1, nsx_severity_names[x->severity]);
	if (x->price)
		nsx_buf_printf(b, " −%s a step (%.1f %%) ", nsx_say_time(r, x->headroom_ns),
			       100 * x->headroom_ns / r->f->step_ns);
	nsx_buf_printf(b, " %s**\n", x->title);
	for (size_t k = 0; k < 2 && x->evidence[k]; k++)
		nsx_buf_printf(b, "%s%s", k ? ". " : "   ", x->evidence[k]);
	if (x->evidence[0])
		nsx_buf_adds(b, "\n");
	if (x->recommendation[0])
		nsx_buf_printf(b, "   → %s\n", x->recommendation[0]);
}

/* Adds the first finding of the ranks' own reports, and names the trace to open next: the
 * late rank's, else that of the rank where the finding costs most.
 */
static void add_common(const struct nsx_freport *r, struct nsx_buf *b)
{
	const struct nsx_cell *row = r->t[NSX_FT_SHARED].cells;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf how = {0};
	bool several = r->f->nranks > 1;

	if (!r->t[NSX_FT_SHARED].nrows)
		return;
	if (row[H_WORST].type && several)
		nsx_buf_printf(&how, "from rank %lld's report; ", (long long)row[H_WORST].u.i);
	if (several)
		nsx_buf_printf(&how, "on %lld of %u ranks", (long long)row[H_N].u.i, r->f->nranks);
	if (row[H_MEDIAN].type)
		nsx_buf_printf(&how, "%s%s of %s", several ? ", " : "",
			       nsx_text_share(r->arena, row[H_MEDIAN].u.f, 100),
			       several ? "the median rank's time" : "its time");
	nsx_buf_printf(b, "\nWithin the ranks: %s%s%s%s. Ask next: nsys-explain with the trace of "
			  "rank %lld.\n", row[H_TITLE].u.s, how.n ? " (" : "", how.p ?: "",
		       how.n ? ")" : "", (long long)(r->n && r->v[0].n ?
			       r->f->rank[r->v[0].ranks[0]].number : row[H_WORST].u.i));
}

static void add_trust(const struct nsx_freport *r, struct nsx_buf *b)
{
	const struct nsx_fleet *f = r->f;
	const char *before = "\nTrust: ";

	if (r->left_out->n) {
		nsx_buf_adds(b, nsx_say_of(r, r->left_out->n, "%s%zu input[s|] could not be read%s",
					   before, r->left_out->n,
					   r->left_out->why.n ? ", named below" : ""));
		before = "; ";
	}
	for (size_t i = 0; i < f->nwarnings && i < 4; i++, before = "; ")
		nsx_buf_printf(b, "%s%s", before, f->warnings[i]);
	if (f->nwarnings > 4)
		nsx_buf_printf(b, "; %zu more below", f->nwarnings - 4);
	if (f->nwarnings || r->left_out->n)
		nsx_buf_adds(b, ".\n");
}

static void add_page(const struct nsx_freport *r, struct nsx_buf *b)
{
	nsx_buf_adds(b, nsx_say_of(r, r->f->nranks, "Where the time went: %u rank[s|]\n\n",
				   r->f->nranks));
	add_header(r, b);
	report_md_add_verdict(r, b);
	add_uneven(r, b);
	for (size_t i = 0; i < r->n && i < PAGE_FINDINGS; i++) {
		nsx_buf_adds(b, i ? "" : "\n");
		add_short(r, i, b);
	}
	if (r->n > PAGE_FINDINGS)
		nsx_buf_printf(b, "\n%zu more below.\n", r->n - PAGE_FINDINGS);
	add_common(r, b);
	add_trust(r, b);
}

void nsx_freport_page(const struct nsx_freport *r, bool is_md, struct nsx_buf *b)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf md = {0};

	add_page(r, &md);
	if (is_md)
		nsx_buf_printf(b, "# %s", md.p);
	else
		nsx_md_add_plain(b, md.p);
}

/* Sections -----------------------------------------------------------------------------*/

static void add_list(struct nsx_buf *b, const char *head, const char *const *v)
{
	if (v[0])
		nsx_buf_printf(b, "  - **%s**:\n", head);
	for (; *v; v++)
		nsx_buf_printf(b, "    - %s\n", *v);
}

static void report_md_add_findings(const struct nsx_freport *r, struct nsx_buf *b)
{
	if (!r->n)
		return;
	nsx_buf_adds(b, "\n## What to do next\n\n");
	for (size_t i = 0; i < r->n; i++) {
		nsx_buf_printf(b, "- **[%s] %s**\n", nsx_severity_names[r->v[i].severity],
			       r->v[i].title);
		add_list(b, "Evidence", r->v[i].evidence);
		add_list(b, "Recommendation", r->v[i].recommendation);
	}
}

/* Adds words and n columns of a table's first rows; nothing if it has no rows. */
static void add_table(struct nsx_buf *b, const struct nsx_table *t, const char *words,
		      const int *columns, size_t n)
{
	const struct nsx_block block = {.table = t, .columns = columns, .ncolumns = n,
					.max_rows = MOST_ROWS};

	nsx_buf_adds(b, t->nrows ? words : "");
	nsx_md_add_table(b, &block, NULL);
}

/* Adds outliers; each row's figures have the units of its column in the table of ranks. */
static void report_md_add_outliers(const struct nsx_freport *r, struct nsx_buf *b)
{
	const struct nsx_table *t = &r->t[NSX_FT_OUTLIERS];
	const struct nsx_table *ranks = &r->t[NSX_FT_RANKS];

	if (!t->nrows)
		return;
	nsx_buf_adds(b, "\nRanks, and hosts with all their ranks, that differ from the others (by "
	       "five median deviations and 3 %) in a column of tables/ranks.csv:\n\n"
	       "| ranks | host | metric | value | median | median deviations |\n"
	       "|---|---:|---|---:|---:|---:|\n");
	for (size_t i = 0; i < NSX_MIN(t->nrows, MOST_ROWS); i++) {
		const struct nsx_cell *row = nsx_row_at(t, i);
		const struct nsx_col *col = &ranks->layout->cols[
			nsx_table_need(ranks, row[O_METRIC].u.s)];

		nsx_buf_printf(b, "| %s | %lld | ", row[O_RANKS].u.s, (long long)row[O_HOST].u.i);
		nsx_md_add_title(b, col);
		nsx_buf_adds(b, " | ");
		nsx_md_add_cell(b, r->arena, col, &row[O_VALUE], NULL);
		nsx_buf_adds(b, " | ");
		nsx_md_add_cell(b, r->arena, col, &row[O_MEDIAN], NULL);
		nsx_buf_printf(b, " | %.*f |\n", fabs(row[O_Z].u.f) < 100 ? 1 : 0,
			       row[O_Z].u.f);
	}
}

static void add_budget(const struct nsx_freport *r, struct nsx_buf *b)
{
	const struct nsx_table *t = &r->t[NSX_FT_FRONTIER];
	static const struct {
		unsigned column;
		const char *what;
	} parts[] = {
		{F_WORK, "work and other communication that the median rank "
			 "needs too"},
		{F_COMPUTE, "waiting for a rank that computes longer"},
		{F_COPY, "waiting for a rank that copies longer"},
		{F_IDLE, "waiting for a rank whose GPU is idle longer"},
		{F_OTHER, "waiting for a rank, cause not known"},
		{F_TRANSFER, "moving data when all are there"},
	};
	double total = 0;

	if (!t->nrows)
		return;
	for (size_t i = 0; i < t->nrows; i++)
		total += (double)nsx_row_at(t, i)[F_TOTAL].u.i;
	nsx_buf_printf(b, "\n## Where the step went\n\n%s of %zu steps, stage by stage up to its "
			  "last rank; tables/frontier.csv has every stage and rank. Waiting and "
			  "moving count where no kernel runs beside them. If ranks came at the same "
			  "time, more data would move beside kernels, so more than the waiting "
			  "can be won.\n\n| part | "
			  "a step | share |\n"
			  "|---|---:|---:|\n", nsx_text_ns(r->arena, total), r->f->nsteps);
	for (size_t p = 0; p < ARRAY_LEN(parts); p++) {
		double sum = 0;

		for (size_t i = 0; i < t->nrows; i++)
			sum += (double)nsx_row_at(t, i)[parts[p].column].u.i;
		nsx_buf_printf(b, "| %s | %s | %s |\n",
			       parts[p].column == F_TRANSFER &&
			       nsx_fleet_absent(r->f) ?
				       "moving data, or waiting for a rank that is "
				       "absent" : parts[p].what,
			       nsx_text_ns(r->arena, sum / (double)r->f->nsteps),
			       nsx_text_share(r->arena, sum, total));
	}
	if ((double)r->elsewhere_ns >= 0.01 * total)
		nsx_buf_printf(b, "\nOf the first part, %s a step (%s) is exposed communication "
				  "outside the collectives that end a stage.\n",
			       nsx_text_ns(r->arena, (double)r->elsewhere_ns /
						     (double)r->f->nsteps),
			       nsx_text_share(r->arena, (double)r->elsewhere_ns, total));
}

struct kind { /* steps of an engine, of one kind and size, on one rank */
	const struct nsx_dkind *k;
	int64_t rank; /* number of the rank */
};

NSX_ORDER(cmp_kind, struct kind, UP(k->kind), UP(k->size), UP(rank));

static void add_kind(const struct nsx_freport *r, const struct kind *v, size_t n,
		     int64_t *ns, struct nsx_buf *b)
{
	const struct kind *slowest = v;
	int64_t count = 0, size = v->k->size;

	for (size_t i = 0; i < n; i++) {
		ns[i] = v[i].k->p50_ns;
		nsx_add_to(&count, v[i].k->count);
		slowest = v[i].k->p50_ns > slowest->k->p50_ns ? &v[i] : slowest;
	}
	nsx_buf_printf(b, "| %s | %s | %zu | %lld | %s | %s | %lld |\n", nsx_step_kinds[v->k->kind],
		       size < 0 ? "all" : size < 2 ? "1" :
		       nsx_say(r, "%lld-%lld", (long long)size, 2 * (long long)size - 1),
		       n, (long long)count, nsx_say_time(r, nsx_quantile(ns, n, 0.5)),
		       nsx_say_time(r, slowest->k->p50_ns), (long long)slowest->rank);
}

static void add_kinds(const struct nsx_freport *r, struct nsx_buf *b)
{
	size_t n = 0, rows = 0;
	struct kind *v;
	int64_t *ns;

	for (uint32_t i = 0; i < r->f->nranks; i++)
		n += r->f->rank[i].d->nkinds;
	if (!n)
		return;
	v = nsx_arena_get(r->arena, n * sizeof(*v));
	ns = nsx_arena_get(r->arena, n * sizeof(*ns));
	n = 0;
	for (size_t i = 0; i < r->f->nranks; i++) {
		const struct nsx_frank *x = &r->f->rank[i];

		for (size_t k = 0; k < x->d->nkinds; k++)
			v[n++] = (struct kind){&x->d->kinds[k], x->number};
	}
	nsx_sort(v, n, sizeof(*v), cmp_kind);
	nsx_buf_adds(b, "\n## Steps by kind\n\nSteps of an engine, which ranges name, by what "
			"they did and how many requests or tokens: the median of each "
			"rank's GPU time of a step.\n\n"
			"| steps | size | ranks | count | median rank | slowest | its rank |\n"
			"|---|---:|---:|---:|---:|---:|---:|\n");
	NSX_EACH_RUN(i, next, n, v[i].k->kind == v[next].k->kind && v[i].k->size == v[next].k->size)
		if (rows++ < MOST_KINDS)
			add_kind(r, v + i, next - i, ns, b);
}

/* Adds the table of ranks, the latest ranks first. */
static void report_md_add_ranks(const struct nsx_freport *r, struct nsx_buf *b)
{
	struct nsx_table t = r->t[NSX_FT_RANKS];
	size_t row = t.layout->ncols * sizeof(*t.cells), n = t.nrows;
	const uint32_t *latest = nsx_latest_ranks(r->f, r->arena);

	t.cells = nsx_arena_get(r->arena, n * row);
	for (size_t i = 0; i < n; i++)
		memcpy((char *)t.cells + i * row, nsx_row_at(&r->t[NSX_FT_RANKS], latest[i]), row);
	add_table(b, &t, "\n## Ranks\n\nA rank's own time is what is left of its steps without the "
		  "exposed part of collectives; its excess is that over the median of the other "
		  "ranks. Its wait counts all collectives, also those beside kernels.\n",
		  NSX_IDS(R_RANK, R_HOST, R_OWN, R_EXCESS, R_EXCESS_PCT, R_LAST, R_COLLS, R_WAITED));
}

static void add_left_out(const struct nsx_freport *r, struct nsx_buf *b)
{
	const char *line = r->left_out->why.p;

	if (r->left_out->why.n)
		nsx_buf_adds(b, "\n## Inputs left out\n\n");
	for (size_t n; line && *line; line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		nsx_buf_adds(b, "- ");
		nsx_md_escape(b, line, n);
		nsx_buf_adds(b, "\n");
	}
}

static void add_sections(const struct nsx_freport *r, struct nsx_buf *b)
{
	static const int colls[] = {C_AXIS, C_COMM, C_OP, C_RANKS, C_COUNT,
		C_TRANSFER, C_BEST, C_WAIT, C_SHARE, C_CLASS, C_LAST, C_TIMES};
	bool has_axes = *nsx_axes_text(r->f, r->arena);

	report_md_add_findings(r, b);
	add_budget(r, b);
	if (r->f->nengines)
		add_table(b, &r->t[NSX_FT_ENGINES], "\n## Engines\n\nEach engine's steps, and how long "
			  "the others take for steps of the same kinds and sizes; slowest first.\n",
			  NSX_IDS(E_RANKS, E_HOST, E_STEPS, E_COMPARED, E_TOOK, E_EXPECTED,
				  E_OVER, E_KERNEL_MS, E_CAUSE));
	else
		report_md_add_ranks(r, b);
	report_md_add_outliers(r, b);
	add_kinds(r, b);
	add_table(b, &r->t[NSX_FT_SHARED], "\n## What the ranks have in common\n\n"
		  "Findings of the ranks' own reports, in the words of the rank where each costs "
		  "most, with the share of a rank's time that can be won. Those that cost all ranks "
		  "together most come first. nsys-explain tells more about a single trace.\n",
		  NSX_IDS(H_TITLE, H_SEVERITY, H_N, H_MEDIAN, H_MOST, H_WORST, H_MEAN));
	add_table(b, &r->t[NSX_FT_COLLECTIVES], "\n## Communication\n\nTransfer is the shortest time "
		  "that a rank spends in a collective; the rest of the others' time is waiting. No "
		  "clock is needed for that. The first collective of a communicator is not counted "
		  "where ranks were recorded apart: it waits for the start of the job. The class "
		  "is inconclusive where a fifth of the mean time is below the error (30 µs or "
		  "more), and where not all ranks wait for all.\n",
		  colls + !has_axes, ARRAY_LEN(colls) - !has_axes);
	add_table(b, &r->t[NSX_FT_IMBALANCE], "\n## Time in collectives\n\nThe ranks that spend the "
		  "least and the most time in each, over their whole traces; what lies outside the "
		  "judged steps (start-up, the end) does not slow them. Where all wait for all "
		  "they wait for the rank with the least; in a broadcast or scatter the others wait "
		  "for the root only, in a reduce or gather the root for the others.\n",
		  NSX_IDS(M_OP, M_RANKS, M_LEAST, M_LEAST_RANK, M_MOST, M_MOST_RANK, M_CALLS,
			  M_STEPS, M_DIFFERENCE));
	if (r->t[NSX_FT_CLOCK].nrows > 1)
		add_table(b, &r->t[NSX_FT_CLOCK], "\n## Clocks\n\nHow far each clock is ahead of the "
			  "first: the proven bounds (no rank leaves a collective before the last "
			  "rank has come), and the offset at which the ends agree best. No other "
			  "figure of this report depends on it.\n",
			  NSX_IDS(K_HOST, K_RANKS, K_LO, K_HI, K_OFFSET, K_DRIFT, K_RESIDUAL, K_N));
	if (r->f->nwarnings) {
		nsx_buf_adds(b, "\n## Warnings\n\n");
		for (size_t i = 0; i < r->f->nwarnings; i++)
			nsx_buf_printf(b, "- %s\n", r->f->warnings[i]);
	}
	add_left_out(r, b);
}

void nsx_freport_text(const struct nsx_freport *r, struct nsx_buf *b)
{
	nsx_freport_page(r, true, b);
	add_sections(r, b);
	nsx_buf_printf(b, "\n---\nGenerated at (UTC): %s by nsys-explain "
			  NSX_VERSION "\n", r->generated_at);
}

int nsx_freport_write_md(const struct nsx_out_file *f, FILE *out, struct nsx_err *err NSX_UNUSED)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_freport_text(f->subject, &b);
	(void)fwrite(b.p, 1, b.n, out);
	return 0;
}
