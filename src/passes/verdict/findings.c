/* findings.c - what to do next: the candidates of all sections, priced.
 *
 * A candidate is a set of spans; its headroom is what they cover of the steady
 * window times the share a remedy can give back.  The best is taken, its spans
 * are taken out of all others, and so on: since spans only shrink, a price
 * that is out of date is an upper bound, and only the best needs a new one.
 * Spans of all GPUs lie on one time axis here: two GPUs that lose the same
 * instants lose them once.
 */
#include <stdlib.h>
#include <string.h>
#include "passes/pass.h"

/* Below this share of the window a finding is noise, and goes to the minor. */
#define MIN_SHARE 0.005
#define MIN_REST 0.02 /* the same for what takes the rest */
enum { MAX_QUALITY = 3, MAX_LINES = 12 };

enum { ID, SEVERITY, TITLE, CATEGORY, EVIDENCE, RECOMMENDATION, HEADROOM,
       DISJOINT, CEILING, CONFIDENCE, WINDOW, ROWS };
static const struct nsx_col cols[] = {
	{"id", "what kind of finding", NSX_T_STR},
	{"severity", "high from 10 % of the window, medium from 3 %, of "
		     "disjoint headroom", NSX_T_STR},
	{"title", "what costs time, in short", NSX_T_STR},
	{"category", "field of the remedy", NSX_T_STR},
	{"evidence", "the numbers", NSX_T_LIST},
	{"recommendation", "what to change", NSX_T_LIST},
	{"headroom_ms", "recoverable time if this alone is mended", NSX_T_F64},
	{"headroom_disjoint_ms", "the part no finding above prices", NSX_T_F64},
	{"speedup_ceiling", "window / (window - headroom)", NSX_T_F64},
	{"confidence", "in cause and price", NSX_T_STR},
	{"window", "the window it is judged on", NSX_T_STR},
	{"evidence_rows", "where the tables show it", NSX_T_TABLE},
};
static const struct nsx_col csv_cols[] = {
	{"rank", "order of the report", NSX_T_I64},
	{"severity", "high from 10 % of the window, medium from 3 %",
	 NSX_T_STR},
	{"category", "field of the remedy", NSX_T_STR},
	{"title", "what costs time, in short", NSX_T_STR},
	{"headroom_ms", "recoverable time if this alone is mended", NSX_T_F64},
	{"headroom_disjoint_ms", "the part no finding above prices", NSX_T_F64},
	{"confidence", "in cause and price", NSX_T_STR},
};
static const struct nsx_col row_cols[] = {
	{"table", "file in tables/", NSX_T_STR},
	{"key", "which of its rows", NSX_T_STR},
	{"window_ns", "length of the window the table stands on", NSX_T_I64},
	{"values", "what stands there", NSX_T_STR},
	{"units", "of the values", NSX_T_STR},
};
static const struct nsx_layout layouts[] = {
	{.key = "*", NSX_COLS(cols), .json_rows = -1},
	{.csv = "findings", NSX_COLS(csv_cols)},
	{.key = "findings_minor", NSX_COLS(cols), .json_rows = -1},
};
static const struct nsx_layout row_layout = {NSX_COLS(row_cols)};

struct item {
	const struct nsx_candidate *c;
	size_t order;		 /* of appearance                            */
	struct nsx_spans left;	 /* in the window, as of `priced` findings   */
	size_t priced;		 /* how many findings were taken out of it   */
	double headroom_ns, disjoint_ns;
	const char *elsewhere;	 /* the same on other GPUs; NULL             */
	bool has_spans, taken, merged; /* has_spans: in the window           */
};

struct pricing {
	const struct nsx_run *run;
	struct nsx_section *out;
	struct nsx_window w;
	double length_ns;
	struct item *v;
	size_t n;
	struct nsx_spans priced; /* union of what was taken                  */
	size_t npriced;
};

static bool is_priced(const struct item *x)
{
	return x->c->device != NSX_NONE && x->has_spans &&
	       !x->c->is_capture_quality;
}

/* Collecting ------------------------------------------------------------------*/

static int clip(struct pricing *p, struct item *x, struct nsx_err *err)
{
	struct nsx_span whole = {p->w.start_ns, p->w.end_ns};
	struct nsx_spans window = {&whole, p->w.start_ns < p->w.end_ns};
	struct nsx_spans all = x->c->spans;
	struct nsx_span *copy = nsx_arena_try_array(
		p->run->scratch, all.n, sizeof(*copy), "finding spans", err);

	if (!copy)
		return err->rc;
	if (all.n)
		memcpy(copy, all.v, all.n * sizeof(*copy));
	all.v = copy;
	nsx_spans_normalise(&all);
	if (nsx_spans_intersect(p->run->scratch, &all, &window, &x->left, err))
		return err->rc;
	nsx_arena_drop(p->run->scratch, copy);
	x->has_spans = x->left.n > 0;
	x->headroom_ns = (double)nsx_spans_total(&x->left) * x->c->recoverable;
	x->disjoint_ns = x->headroom_ns;
	return 0;
}

static int collect(struct pricing *p, struct nsx_err *err)
{
	const struct nsx_report *r = p->run->report;
	size_t n = 0;

	for (size_t i = 0; i < r->nsections; i++)
		n += r->sections[i].ncandidates;
	p->v = nsx_arena_try_array(p->run->scratch, n, sizeof(*p->v),
				   "findings", err);
	if (!p->v)
		return err->rc;
	for (size_t i = 0; i < r->nsections; i++)
		for (size_t k = 0; k < r->sections[i].ncandidates; k++) {
			struct item *x = &p->v[p->n];

			x->c = &r->sections[i].candidates[k];
			x->order = p->n++;
			if (clip(p, x, err))
				return err->rc;
		}
	return 0;
}

/* The same on several GPUs -------------------------------------------------------*/

static int cmp_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* Candidates of one id and key side by side; the limiting GPU's first, then
 * the dearest.
 */
static int cmp_kin(const void *a, const void *b, void *ctx)
{
	const struct item *x = a, *y = b;
	uint32_t limiting = *(uint32_t *)ctx;
	int c = cmp_text(x->c->id, y->c->id);

	if (!c)
		c = cmp_text(x->c->key, y->c->key);
	if (!c && (x->c->device == limiting) != (y->c->device == limiting))
		c = x->c->device == limiting ? -1 : 1;
	if (!c && x->headroom_ns != y->headroom_ns)
		c = x->headroom_ns > y->headroom_ns ? -1 : 1;
	return c ? c : (x->order > y->order) - (x->order < y->order);
}

static bool are_kin(const struct item *x, const struct item *y)
{
	return is_priced(x) && is_priced(y) && x->c->device != y->c->device &&
	       !cmp_text(x->c->id, y->c->id) && !cmp_text(x->c->key, y->c->key);
}

static void merge_kin(struct pricing *p)
{
	const struct nsx_device *dev = p->run->trace->device;
	uint32_t limiting = p->run->facts->limiting;

	if (p->n)
		qsort_r(p->v, p->n, sizeof(*p->v), cmp_kin, &limiting);
	for (size_t i = 0, next; i < p->n; i = next) {
		struct nsx_buf b = {0};

		for (next = i + 1; next < p->n && are_kin(&p->v[i], &p->v[next]);
		     next++) {
			p->v[next].merged = true;
			if (next - i <= MAX_LINES)
				nsx_buf_printf(
					&b, "%s GPU %lld (%.3f ms)",
					b.n ? "," : "The same on",
					(long long)dev[p->v[next].c->device]
						.device_id,
					p->v[next].headroom_ns / 1e6);
		}
		if (next - i > MAX_LINES + 1)
			nsx_buf_printf(&b, " and %zu more",
				       next - i - MAX_LINES - 1);
		if (b.n)
			p->v[i].elsewhere = nsx_say(p->out, "%s", b.p);
		nsx_buf_done(&b);
	}
}

/* Pricing -----------------------------------------------------------------------*/

static int reprice(struct pricing *p, struct item *x, struct nsx_err *err)
{
	struct nsx_spans left;

	if (nsx_spans_minus(p->run->scratch, &x->left, &p->priced, &left, err))
		return err->rc;
	nsx_arena_drop(p->run->scratch, x->left.v);
	x->left = left;
	x->priced = p->npriced;
	x->disjoint_ns = (double)nsx_spans_total(&left) * x->c->recoverable;
	return 0;
}

static bool is_dearer(const struct item *x, const struct item *y)
{
	if (!y || x->disjoint_ns != y->disjoint_ns)
		return !y || x->disjoint_ns > y->disjoint_ns;
	return x->order < y->order;
}

/* The item with the greatest disjoint headroom; NULL: none is left. */
static int take_best(struct pricing *p, bool rest, struct item **ret,
		     struct nsx_err *err)
{
	for (;;) {
		struct item *best = NULL;

		for (size_t i = 0; i < p->n; i++)
			if (is_priced(&p->v[i]) && !p->v[i].taken &&
			    !p->v[i].merged && p->v[i].c->is_rest == rest &&
			    is_dearer(&p->v[i], best))
				best = &p->v[i];
		*ret = best;
		if (!best || best->priced == p->npriced)
			return 0;
		if (reprice(p, best, err))
			return err->rc;
	}
}

static int take_all(struct pricing *p, bool rest, struct nsx_err *err)
{
	struct item *x;

	while (!take_best(p, rest, &x, err)) {
		struct nsx_spans all;

		if (!x || x->disjoint_ns < p->length_ns *
					   (rest ? MIN_REST : MIN_SHARE))
			return 0;
		x->taken = true;
		if (nsx_spans_union(p->run->scratch, &p->priced, &x->left, &all,
				    err))
			return err->rc;
		nsx_arena_drop(p->run->scratch, p->priced.v);
		p->priced = all;
		p->npriced++;
	}
	return err->rc;
}

static const char *severity(const struct pricing *p, const struct item *x)
{
	if (x->c->severity)
		return x->c->severity;
	if (!is_priced(x))
		return "low";
	return x->disjoint_ns >= 0.1 * p->length_ns ? "high" :
	       x->disjoint_ns >= 0.03 * p->length_ns ? "medium" : "low";
}

/* Ranking ------------------------------------------------------------------------*/

static int rank_of(const char *s)
{
	return !strcmp(s, "high") ? 0 : !strcmp(s, "medium") ? 1 : 2;
}

/* Capture quality, then by severity, then by disjoint headroom; at the end what
 * costs next to nothing.
 */
static int cmp_rank(const void *a, const void *b, void *ctx)
{
	const struct item *x = a, *y = b;
	bool minor_x = is_priced(x) && !x->taken;
	bool minor_y = is_priced(y) && !y->taken;
	int c;

	if (minor_x != minor_y)
		return minor_x ? 1 : -1;
	if (x->c->is_capture_quality != y->c->is_capture_quality)
		return x->c->is_capture_quality ? -1 : 1;
	c = rank_of(severity(ctx, x)) - rank_of(severity(ctx, y));
	if (!c && x->disjoint_ns != y->disjoint_ns)
		c = x->disjoint_ns > y->disjoint_ns ? -1 : 1;
	return c ? c : (x->order > y->order) - (x->order < y->order);
}

/* Writing ------------------------------------------------------------------------*/

/* Candidates come from many hands: a plain first word gets its capital (names
 * rarely are one), a last full stop goes.
 */
static const char *tidy(struct pricing *p, const char *text)
{
	size_t n = strlen(text);
	size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz");
	char *copy = nsx_arena_strndup(p->out->arena, text,
				       n - (n && text[n - 1] == '.'));

	if (word && strchr(" ,;", text[word]))
		*copy = (char)(*copy - 'a' + 'A');
	return copy;
}

static const char *const *list_of(struct pricing *p, const char *const *lines,
				  size_t most, const char *one_more)
{
	const char **list = nsx_arena_get(p->out->arena,
					  (most + 2) * sizeof(*list));
	size_t n = 0;

	while (n < most && lines[n]) {
		list[n] = tidy(p, lines[n]);
		n++;
	}
	list[n] = one_more;
	return list;
}

static struct nsx_table *evidence_rows(struct pricing *p,
				       const struct nsx_candidate *c,
				       struct nsx_err *err)
{
	const struct nsx_window *w = &p->run->trace->window;
	struct nsx_table *t = nsx_add_table(p->out, &row_layout);
	struct nsx_cell *row;

	if (!c->table)
		return t;
	row = nsx_row(t, err);
	if (!row)
		return NULL;
	row[0] = nsx_string(strstr(c->table, ".csv") ? c->table :
			    nsx_say(p->out, "%s.csv", c->table));
	row[1] = nsx_string(c->key);
	row[2] = nsx_int(w->end_ns - w->start_ns);
	row[3] = nsx_string(c->values);
	row[4] = nsx_string(c->units);
	return t;
}

static int add_row(struct pricing *p, const struct item *x,
		   struct nsx_table *t, struct nsx_err *err)
{
	const struct nsx_candidate *c = x->c;
	const struct nsx_window *full = &p->run->trace->full;
	struct nsx_table *rows = evidence_rows(p, c, err);
	struct nsx_cell *row = rows ? nsx_row(t, err) : NULL;

	if (!row)
		return err->rc;
	row[ID] = nsx_string(c->id);
	row[SEVERITY] = nsx_string(severity(p, x));
	row[TITLE] = nsx_string(tidy(p, c->title));
	row[CATEGORY] = nsx_string(c->category);
	row[EVIDENCE] = nsx_list(list_of(p, c->evidence, ARRAY_LEN(c->evidence),
					 x->elsewhere));
	row[RECOMMENDATION] = nsx_list(list_of(
		p, c->recommendation, ARRAY_LEN(c->recommendation), NULL));
	row[CONFIDENCE] = nsx_string(c->confidence ? c->confidence : "medium");
	row[WINDOW] = nsx_string(p->w.start_ns == full->start_ns &&
				 p->w.end_ns == full->end_ns ? "full" :
							       "steady");
	row[ROWS] = nsx_rows(rows);
	if (is_priced(x)) {
		row[HEADROOM] = nsx_real(x->headroom_ns / 1e6);
		row[DISJOINT] = nsx_real(x->disjoint_ns / 1e6);
		row[CEILING] = nsx_real(p->length_ns /
					(p->length_ns - x->headroom_ns));
	}
	return 0;
}

static int add_csv_row(const struct nsx_table *from, struct nsx_table *t,
		       struct nsx_err *err)
{
	static const int source[] = {-1, SEVERITY, CATEGORY, TITLE, HEADROOM,
				     DISJOINT, CONFIDENCE};
	const struct nsx_cell *last = nsx_row_at(from, from->nrows - 1);
	struct nsx_cell *row = nsx_row(t, err);

	if (!row)
		return err->rc;
	row[0] = nsx_int((int64_t)from->nrows);
	for (size_t i = 1; i < ARRAY_LEN(source); i++)
		row[i] = last[source[i]];
	return 0;
}

static void add_lines(struct nsx_buf *b, const char *what,
		      const struct nsx_cell *list)
{
	const char *const *line = list->u.list;

	if (!*line)
		return;
	nsx_buf_printf(b, "\n  - **%s**:", what);
	for (; *line; line++)
		nsx_buf_printf(b, "\n    - %s", *line);
}

static void say_finding(struct nsx_section *out, const struct nsx_table *t)
{
	const struct nsx_cell *row = nsx_row_at(t, t->nrows - 1);
	struct nsx_buf b = {0};

	nsx_buf_printf(&b, "**[%s] %s**", row[SEVERITY].u.s, row[TITLE].u.s);
	add_lines(&b, "Evidence", &row[EVIDENCE]);
	if (row[HEADROOM].type) {
		nsx_buf_printf(&b, "\n    - Headroom %.3f ms",
			       row[HEADROOM].u.f);
		if (row[DISJOINT].u.f < row[HEADROOM].u.f)
			nsx_buf_printf(&b, ", of which no finding above prices "
				       "%.3f ms", row[DISJOINT].u.f);
		if (row[CEILING].type)
			nsx_buf_printf(&b, "; at best %.2fx as fast",
				       row[CEILING].u.f);
		nsx_buf_printf(&b, " (confidence %s)", row[CONFIDENCE].u.s);
	}
	add_lines(&b, "Recommendation", &row[RECOMMENDATION]);
	nsx_md_bullet(out, "%s", b.p);
	nsx_buf_done(&b);
}

static int write_all(struct pricing *p, struct nsx_err *err)
{
	struct nsx_table *t[ARRAY_LEN(layouts)];
	size_t nquality = 0;

	for (size_t i = 0; i < ARRAY_LEN(layouts); i++)
		t[i] = nsx_add_table(p->out, &layouts[i]);
	if (p->n)
		qsort_r(p->v, p->n, sizeof(*p->v), cmp_rank, p);
	for (size_t i = 0; i < p->n; i++) {
		const struct item *x = &p->v[i];
		bool minor = (is_priced(x) && !x->taken) ||
			     t[0]->nrows == NSX_MAX_FINDINGS ||
			     (x->c->is_capture_quality &&
			      nquality++ >= MAX_QUALITY);

		if (x->merged)
			continue;
		if (add_row(p, x, t[minor ? 2 : 0], err))
			return err->rc;
		if (minor)
			continue;
		if (add_csv_row(t[0], t[1], err))
			return err->rc;
		say_finding(p->out, t[0]);
	}
	return 0;
}

static void say_window(struct pricing *p)
{
	const struct nsx_facts *f = p->run->facts;
	const struct nsx_trace *t = p->run->trace;

	if (f->limiting == NSX_NONE) {
		nsx_md_bullet(p->out, "The trace has no GPU work: there is no "
			      "GPU time to price.");
		return;
	}
	nsx_md_bullet(p->out, "**Judged on** the steady window (%s, confidence "
		      "%s): %.3f of %.3f ms; GPU %lld has the least idle time "
		      "and waiting, so it sets the pace.", f->steady.method,
		      f->steady.confidence, p->length_ns / 1e6,
		      (double)(t->window.end_ns - t->window.start_ns) / 1e6,
		      (long long)t->device[f->limiting].device_id);
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	struct pricing p = {.run = run, .out = out,
			    .w = nsx_judged(run->facts)};

	p.length_ns = (double)(p.w.end_ns - p.w.start_ns);
	if (collect(&p, err))
		return err->rc;
	merge_kin(&p);
	if (take_all(&p, false, err) || take_all(&p, true, err))
		return err->rc;
	say_window(&p);
	if (write_all(&p, err))
		return err->rc;
	if (run->facts->limiting != NSX_NONE && !out->tables[0]->nrows)
		nsx_md_bullet(out, "Nothing that was checked costs %.1f%% of "
			      "it or more.", 100 * MIN_SHARE);
	return 0;
}

NSX_DEFINE_PASS(findings) {
	.id = "findings",
	.title = "What to do next",
	.summary = "what costs time, ranked by what can be won back",
	.doc = "Every analysis proposes candidates: spans of a device that "
	       "something costs, and the share of them a remedy can give "
	       "back. headroom = |spans in the steady window| x share. The "
	       "candidate with the greatest headroom is taken, its spans are "
	       "taken out of the others, and so on; headroom_disjoint is what "
	       "was left of each, so their sum never exceeds the window T. "
	       "severity: high from 10 % of T, medium from 3 %, of disjoint "
	       "headroom. speedup_ceiling = T / (T - headroom). The same on "
	       "several GPUs is one finding, priced on the GPU that sets the "
	       "pace. At most ten; what is worth less than 0.5 % of T is "
	       "among the minor ones, and capture quality, which has no "
	       "headroom, comes first.",
	.derived_from = "the candidates of all sections, priced on the steady "
			"window",
	.limitations = "a ceiling, not a forecast: work that takes the place "
		       "of the time won back is not foreseen",
	.layouts = layouts,
	.nlayouts = ARRAY_LEN(layouts),
	.late = true,
	.run = run,
};
