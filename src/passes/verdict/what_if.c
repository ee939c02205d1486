/* what_if.c - how long the recorded program would take after changes: the findings one
 * after the other, upper bounds, and the user's questions.
 */
#include <math.h>
#include "facts/replay/replay.h"
#include "facts/replay/spec.h"
#include "passes/pass.h"

#define FALL_COLUMNS(X)                                                           \
	X(FALL_STEP, "step", I64, "place in the waterfall, from 1")               \
	X(FALL_KEY, "finding", STR, "key of the finding with this remedy")        \
	X(FALL_TITLE, "title", STR, "the finding", .is_prose = true)              \
	X(FALL_ADDS_MS, "gain_ms", F64,                                           \
	  "time saved in addition to the remedies before it", .title = "wins_ms") \
	X(FALL_ADDS_PCT, "gain_pct", F64,                                         \
	  "gain_ms as a share of the judged window", .title = "pct_of_window")    \
	X(FALL_LEFT_MS, "left_ms", F64, "length of the judged window after this remedy")
NSX_COLUMNS(fall_cols, FALL_COLUMNS);

#define GAIN_COLUMNS(X)                                                                            \
	X(GAIN_OF, "change", STR, "what is different", .title = "if")                              \
	X(GAIN_MS, "gain_ms", F64,                                                                 \
	  "time by which the judged window would be shorter; null: not priced")                    \
	X(GAIN_PCT, "gain_pct", F64, "gain_ms as a share of the judged "                           \
				     "window", .title = "pct_of_window")                           \
	X(GAIN_LOW_MS, "low_ms", F64, "gain if waits outside CUDA end no earlier than they did",   \
	  .title = "if waits end no earlier")                                                      \
	X(GAIN_HIGH_MS, "high_ms", F64, "gain if waits outside CUDA last as long whenever they "   \
					"begin")                                                   \
	X(GAIN_CONFIDENCE, "confidence", STR, "high, medium, low or abstain")                      \
	X(GAIN_BOUND, "is_bound", BOOL, "an upper bound: actual changes will save less")           \
	X(GAIN_TOUCHED, "touched", I64, "calls, gaps and operations that the change affects")      \
	X(GAIN_HELD, "held", STR, "what was kept as recorded")                                           \
	X(GAIN_NOTE, "note", STR, "why there is no price; null: there is one")
NSX_COLUMNS(gain_cols, GAIN_COLUMNS);

static const struct nsx_layout layouts[] = {
	{.key = "waterfall", .csv = "what_if", NSX_COLS(fall_cols),
	 .is_judged = true},
	{.key = "bounds", .csv = "what_if_bounds", NSX_COLS(gain_cols),
	 .is_judged = true},
	{.key = "asked", .csv = "what_if_asked", NSX_COLS(gain_cols),
	 .is_judged = true},
};

enum { TELLING_PCT = 1 }; /* bounds below this share of the window, in %, are not listed */

/* Bounds and questions -------------------------------------------------------------*/

static const struct {
	const char *name;
	struct nsx_change change;
} bounds[] = {
	{"the host is infinitely fast", {.verb = NSX_INSTANT_HOST}},
	{"no host time between calls",
	 {.verb = NSX_FASTER_HOST, .amount = INFINITY}},
	{"no call waits", {.verb = NSX_NO_WAIT}},
	{"all communication is hidden", {.verb = NSX_HIDE_COMM}},
	{"all copies are hidden", {.verb = NSX_DROP, .op = NSX_ON_COPIES}},
};

static void add_gain(const struct nsx_run *run, struct nsx_table *t,
		     const char *name, const struct nsx_gain *g, const char *note)
{
	struct nsx_window w = nsx_judged(run->facts);
	struct nsx_cell *row = nsx_add_row(t);

	row[GAIN_OF] = nsx_string(name);
	row[GAIN_NOTE] = nsx_string(note);
	if (note)
		return;
	row[GAIN_CONFIDENCE] = nsx_string(nsx_closure_names[g->confidence + 1]);
	row[GAIN_MS] = nsx_ms(g->gain_ns);
	row[GAIN_PCT] = nsx_pct((double)g->gain_ns, (double)(w.end_ns - w.start_ns));
	row[GAIN_LOW_MS] = nsx_ms(g->low_ns);
	row[GAIN_HIGH_MS] = nsx_ms(g->high_ns);
	row[GAIN_BOUND] = nsx_bool(g->is_bound);
	row[GAIN_TOUCHED] = nsx_int((int64_t)g->touched);
	row[GAIN_HELD] = nsx_string(g->held);
}

/* Adds upper bounds. Bounds that would win nothing in this trace are left out. */
static int put_upper_bounds(const struct nsx_run *run, struct nsx_table *t, struct nsx_err *err)
{
	struct nsx_plan plans[ARRAY_LEN(bounds)];
	struct nsx_gain gains[ARRAY_LEN(bounds)];

	for (size_t i = 0; i < ARRAY_LEN(bounds); i++)
		plans[i] = (struct nsx_plan){&bounds[i].change, 1};
	if (nsx_replay_prices(run->facts->model, plans, ARRAY_LEN(bounds),
			      run->opts->threads, gains, err))
		return err->rc;
	for (size_t i = 0; i < ARRAY_LEN(bounds); i++)
		if (gains[i].touched)
			add_gain(run, t, bounds[i].name, &gains[i], NULL);
	nsx_table_sort(t, NSX_DESC(GAIN_MS), GAIN_OF);
	return 0;
}

/* Prices each change alone, then all that can be priced together. */
static int price_asked_changes(const struct nsx_run *run, struct nsx_section *out,
			       struct nsx_table *t, struct nsx_err *err)
{
	const struct nsx_opts *o = run->opts;
	size_t n = 0;
	struct nsx_change *all = nsx_arena_get(run->scratch, (o->nwhat_ifs + 1) * sizeof(*all));

	for (size_t i = 0; i < o->nwhat_ifs; i++) {
		struct nsx_spec s;
		struct nsx_gain g;
		const char *note;

		if (nsx_spec_parse(o->what_ifs[i], out->arena, &s, err))
			return err->rc;
		note = nsx_spec_resolve(&s, run->trace, run->facts, out->arena);
		if (!note && nsx_replay_price(run->facts->model, &s.change, 1, &g, err))
			return err->rc;
		if (!note && g.confidence == NSX_CONF_NONE)
			note = g.held;
		else if (!note && !g.touched)
			note = "nothing in the judged window matches it";
		add_gain(run, t, o->what_ifs[i], &g, note);
		if (!note)
			all[n++] = s.change;
	}
	if (n > 1) {
		struct nsx_gain g;

		if (nsx_replay_price(run->facts->model, all, n, &g, err))
			return err->rc;
		add_gain(run, t, "all together", &g, NULL);
	}
	return 0;
}

static void say_asked_changes(struct nsx_section *out, const struct nsx_table *t)
{
	nsx_md_text(out, "Asked for:");
	nsx_md_table(out, t, t->nrows, GAIN_OF, GAIN_MS, GAIN_PCT, GAIN_LOW_MS, GAIN_CONFIDENCE);
	for (size_t i = 0; i < t->nrows; i++) {
		const struct nsx_cell *row = nsx_row_at(t, i);
		NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

		if (row[GAIN_NOTE].type == NSX_T_NULL)
			continue;
		nsx_md_escape(&b, row[GAIN_OF].u.s, strlen(row[GAIN_OF].u.s));
		nsx_buf_adds(&b, ": ");
		nsx_md_escape(&b, row[GAIN_NOTE].u.s, strlen(row[GAIN_NOTE].u.s));
		nsx_md_bullet(out, "%s", b.p);
	}
}

/* Adds a line for each change to the first page, then one for all together. */
static void show_asked_on_first_page(struct nsx_section *out, const struct nsx_table *t,
				     size_t nasked)
{
	struct nsx_arena *a = out->arena;
	const char **l = nsx_arena_get(a, (t->nrows + 1) * sizeof(*l));

	for (size_t i = 0; i < t->nrows; i++) {
		const struct nsx_cell *row = nsx_row_at(t, i);

		if (row[GAIN_NOTE].type != NSX_T_NULL)
			l[i] = nsx_arena_printf(a, "`%s`: %s", row[GAIN_OF].u.s,
						row[GAIN_NOTE].u.s);
		else
			l[i] = nsx_arena_printf(a, "%s would win %s, %s of the judged window",
				i < nasked ? nsx_arena_printf(a, "`%s`", row[GAIN_OF].u.s) :
					     row[GAIN_OF].u.s,
				nsx_text_ns(a, row[GAIN_MS].u.f * 1e6),
				nsx_text_share(a, row[GAIN_PCT].u.f, 100));
	}
	out->asked = l;
}

/* The waterfall --------------------------------------------------------------------*/

NSX_POINTER_ORDER(cmp_applied, struct nsx_finding, UP(applied));

/* Adds the remedies in the order in which they were applied, because their gains depend on it. */
static void fill_waterfall(const struct nsx_findings *l, struct nsx_arena *a,
			   struct nsx_table *t, double window_ns)
{
	const struct nsx_finding **v = nsx_arena_get(a, (l->n + 1) * sizeof(*v));
	struct nsx_won won = {{0}};
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct nsx_finding *f = &l->v[i];

		/* if the program is paced from outside, all findings are minor, because its period
		 * would not change
		 */
		if (f->price == NSX_PRICE_REPLAYED && f->has_disjoint &&
		    f->disjoint_ns > 0 && !f->is_minor)
			v[n++] = f;
	}
	nsx_sort(v, n, sizeof(*v), cmp_applied);
	for (size_t i = 0; i < n; i++) {
		const struct nsx_finding *f = v[i];
		struct nsx_cell *row = nsx_add_row(t);

		row[FALL_STEP] = nsx_int((int64_t)t->nrows);
		row[FALL_KEY] = nsx_string(f->key);
		row[FALL_TITLE] = nsx_string(f->title);
		row[FALL_ADDS_MS] = nsx_real(f->disjoint_ns / 1e6);
		row[FALL_ADDS_PCT] = nsx_pct(f->disjoint_ns, window_ns);
		row[FALL_LEFT_MS] = nsx_real((window_ns - nsx_win(
			&won, f->set, f->disjoint_ns)) / 1e6);
	}
}

/* The section ----------------------------------------------------------------------*/

static void put_closure(struct nsx_section *out, const struct nsx_closure *c)
{
	nsx_put(out, "window.start_ns", nsx_int(c->window.start_ns));
	nsx_put(out, "window.end_ns", nsx_int(c->window.end_ns));
	nsx_put(out, "window.recorded_ms", nsx_ms(c->recorded_ns));
	nsx_put(out, "window.is_part", nsx_bool(c->is_part));
	nsx_put(out, "window.operations", nsx_int((int64_t)c->nops));
	nsx_put(out, "window.calls", nsx_int((int64_t)c->ncalls));
	nsx_put(out, "closure_pct", nsx_real(100 * c->drift));
	nsx_put(out, "unexplained_pct", nsx_real(100 * c->unexplained));
	nsx_put(out, "class", nsx_string(nsx_closure_names[c->cls + 1]));
	nsx_put(out, "reason", nsx_string(c->reason));
	if (c->cls == NSX_CONF_NONE)
		nsx_md_text(out, "Nothing is priced by replay: %s.", c->reason);
	else
		nsx_md_text(out, "A replay with typical latencies differs by %.2f %% from the "
			    "recorded window, and %.2f %% of its waiting has no known cause: "
			    "the replay has **%s** confidence. The confidence of each price is in "
			    "its finding.", 100 * c->drift,
			    100 * c->unexplained, nsx_closure_names[c->cls + 1]);
	if (c->is_part && c->cls != NSX_CONF_NONE)
		nsx_md_text(out, "%zu operations of the judged window were replayed; their gain "
			    "is scaled to the whole window.", c->nops);
}

static int what_if_summarise(const struct nsx_run *run, const struct nsx_report *report,
			     struct nsx_section *out, struct nsx_err *err)
{
	const struct nsx_closure *c = nsx_model_closure(run->facts->model);
	struct nsx_window w = nsx_judged(run->facts);
	struct nsx_table *fall = nsx_add_table(out, &layouts[0]);
	struct nsx_table *bound = nsx_add_table(out, &layouts[1]);
	struct nsx_table *asked = nsx_add_table(out, &layouts[2]);
	double window_ns = (double)(w.end_ns - w.start_ns);
	size_t telling;

	if (c->recorded_ns <= 0 && !run->opts->nwhat_ifs)
		return nsx_cannot(out, "%s", c->reason);
	put_closure(out, c);
	fill_waterfall(&report->found, run->scratch, fall, window_ns);
	if (fall->nrows > 1) { /* a single row would repeat the first page's sum */
		nsx_md_text(out, "Remedies applied one after the other, at each step the one that "
			    "saves most; now the window takes %s:",
			    nsx_text_ns(out->arena, window_ns));
		nsx_md_table(out, fall, 0, FALL_TITLE, FALL_ADDS_MS, FALL_ADDS_PCT, FALL_LEFT_MS);
	}
	if (c->cls != NSX_CONF_NONE && put_upper_bounds(run, bound, err))
		return err->rc;
	if (price_asked_changes(run, out, asked, err))
		return err->rc;
	telling = nsx_first_rows(bound, NSX_MAX_MD_ROWS, GAIN_PCT, TELLING_PCT);
	if (telling) {
		if (fall->nrows > 1)
			nsx_md_text(out, "Upper bounds, with everything else as recorded:");
		nsx_md_table(out, bound, telling, GAIN_OF, GAIN_MS, GAIN_PCT, GAIN_LOW_MS,
			     GAIN_CONFIDENCE);
		if (nsx_row_at(bound, 0)[GAIN_LOW_MS].u.f < nsx_row_at(bound, 0)[GAIN_MS].u.f / 2)
			nsx_md_text(out, "`if waits end no earlier` is the gain if the events "
				    "outside CUDA that the program waits for come no sooner.");
	} else if (bound->nrows) {
		nsx_md_text(out, "An infinitely fast host, no waits, hidden copies or faster links: none "
			    "of these alone would save %d %% of the window.", TELLING_PCT);
	}
	if (asked->nrows) {
		say_asked_changes(out, asked);
		show_asked_on_first_page(out, asked, run->opts->nwhat_ifs);
	}
	return 0;
}

NSX_DEFINE_SUMMARY(what_if,
	.title = "What if",
	.replays = true,
	.summary = "how long the run would take with a change, by replay",
	.doc = "The recorded program is replayed from a model of its dependencies: calls of a "
	       "thread follow each other; an operation starts after its call, after the previous "
	       "one on its stream, and after the events its stream waits for; a wait ends after "
	       "the work queued before it; a launch waits for room in its queue; a collective "
	       "waits for its last member. Weights of these edges are learned from the trace, and "
	       "unexplained time stays where it was observed: replayed unchanged, every start is "
	       "the recorded one. A gain is the recorded length of the judged window, from the "
	       "last end of GPU work before it to the last in it, less the replayed one. low: "
	       "waits outside CUDA of 1 ms or more end no earlier than they did; high: they last "
	       "as long whenever they begin. closure_pct: how far typical latencies in place of "
	       "the recorded ones move the end. unexplained_pct: the share of the causal chain "
	       "that ends the window without a known cause. class: high if these are at most 1 and "
	       "2 %, medium up to 3 and 10, low up to 5 and 25; beyond that nothing is priced. "
	       "waterfall: findings in the order they were applied, at each step the one that "
	       "saves most, with the gain of the remedy in addition to those before it. bounds: "
	       "upper limits for whole kinds of remedies. asked: the changes of --what-if, alone "
	       "and together.",
	.derived_from = "API calls, GPU work, waits, event records, operating-system calls and "
			"scheduling of the threads that make calls",
	.limitations = "durations on the GPU stay as recorded, although they depend on what runs "
		       "beside them; waits between threads outside CUDA are not followed",
	.needs = {NSX_NEED_VIEW(runtime)},
	.any_of = {NSX_GPU_WORK},
	NSX_LAYOUTS(layouts));
