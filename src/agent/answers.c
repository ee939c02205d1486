/* answers.c - answers that come from no single report: a comparison, many ranks, and what to
 * record next.
 */
#include "agent/tools.h"
#include "diff/emit.h"
#include "fleet/report.h"
#include "schema/recapture.h"

/* Copies a table into the answer, because its texts are freed with its maker. */
static void copy_table(struct nsx_answer *a, const struct nsx_table *t)
{
	struct nsx_table *copy = nsx_add_table(a->out, t->layout);

	for (size_t r = 0; r < t->nrows; r++) {
		struct nsx_cell *row = nsx_add_row(copy);
		const struct nsx_cell *from = nsx_row_at(t, r);

		for (unsigned c = 0; c < t->layout->ncols; c++) {
			row[c] = from[c];
			if (from[c].type == NSX_T_STR)
				row[c].u.s = nsx_say(a->out, "%s", from[c].u.s);
			else if (!nsx_is_scalar(from[c].type))
				row[c] = nsx_null();
		}
	}
}

static struct nsx_report *find_loaded(void *ctx, const char *path)
{
	struct nsx_loaded *l = nsx_cache_at(ctx, path);

	return l ? l->report : NULL;
}

/* diff ----------------------------------------------------------------------------*/

#define STEP_COLUMNS(X)                                                                            \
	X(S_GPU, "gpu", STR, "GPU, or the whole job")                                              \
	X(S_BEFORE, "before_median_ms", F64, "length of a unit before")                            \
	X(S_AFTER, "after_median_ms", F64, "length of a unit after")                               \
	X(S_SHIFT, "shift_ms", F64, "median of all differences")                                   \
	X(S_LOW, "shift_low_ms", F64, "lower end of its interval")                                 \
	X(S_HIGH, "shift_high_ms", F64, "upper end of its interval")                               \
	X(S_REL, "shift_pct_of_before", F64, "shift as a share of the median before")              \
	X(S_P, "p", F64, "p of an exact rank test")                                                \
	X(S_VERDICT, "verdict", STR, "regression, improvement, neutral or inconclusive")           \
	X(S_WHY, "why", STR, "reason, if the verdict is not obvious")
NSX_COLUMNS(step_cols, STEP_COLUMNS);
const struct nsx_layout nsx_step_layout = {.key = "steps", NSX_COLS(step_cols)};

static void answers_add_step(struct nsx_answer *a, struct nsx_table *t,
			     const char *gpu, const struct nsx_step *s)
{
	struct nsx_cell *row = nsx_add_row(t);

	row[S_GPU] = nsx_string(gpu);
	row[S_BEFORE] = nsx_real(s->side[0].median_ns / 1e6);
	row[S_AFTER] = nsx_real(s->side[1].median_ns / 1e6);
	row[S_SHIFT] = nsx_real(s->shift_ns / 1e6);
	row[S_LOW] = nsx_real(s->ci_ns.lo / 1e6);
	row[S_HIGH] = nsx_real(s->ci_ns.hi / 1e6);
	row[S_REL] = nsx_real(100 * s->rel);
	row[S_P] = nsx_real(s->test.p);
	row[S_VERDICT] = nsx_string(nsx_verdict_names[s->verdict]);
	row[S_WHY] = nsx_string(s->why ? nsx_say(a->out, "%s", s->why) : NULL);
}

/* Says that there are no figures about unrelated inputs, because readers would believe them. */
static void say_inputs_unrelated(struct nsx_answer *a, const char *wanted)
{
	nsx_put(a->out, "is_unrelated", nsx_bool(true));
	nsx_note(a->out, "no figures are given, because this tool compares %s", wanted);
	a->confidence = NSX_CONF_LOW;
}

/* Why the sides are of different programs; NULL: they are not. */
static const char *why_unrelated(const struct nsx_diff *d)
{
	return NSX_FIRST(i, d->nchecks, !strcmp(d->checks[i].id, "kernels_in_common") &&
			 d->checks[i].status == NSX_CHECK_FAIL, d->checks[i].text, NULL);
}

static void describe_diff(struct nsx_answer *a, struct nsx_diff *d, const struct nsx_diff_tables *t)
{
	struct nsx_arena *arena = a->out->arena;
	const char *kinds = nsx_kinds_line(d, arena), *unrelated = why_unrelated(d);
	struct nsx_table *steps;

	if (d->verdict == NSX_V_INCONCLUSIVE)
		a->confidence = NSX_CONF_LOW;
	nsx_put(a->out, "verdict", nsx_string(nsx_verdict_names[d->verdict]));
	nsx_put(a->out, "unit", nsx_string(nsx_say(a->out, "%s%s%s", nsx_way_methods[d->method],
						   *d->name ? " " : "", d->name)));
	nsx_put(a->out, "is_same_capture", nsx_bool(d->same));
	nsx_md_bullet(a->out, "%s%s", unrelated ? "Inconclusive: " : "",
		      unrelated ?: nsx_diff_headline(d, arena));
	/* The side after the change comes first, because it can still be changed. */
	nsx_answer_next(a, NSX_Q_verdict, NULL, "what costs time after the change");
	nsx_answer_next(a, NSX_Q_verdict, NULL, "what cost time before it");
	if (unrelated) {
		say_inputs_unrelated(a, "captures of one program, before and after a change");
		return;
	}
	if (*kinds)
		nsx_md_bullet(a->out, "%s", kinds);
	steps = nsx_add_table(a->out, &nsx_step_layout);
	if (d->has_job)
		answers_add_step(a, steps, "job", &d->job);
	for (uint32_t l = 0; l < d->nlanes && !d->whole; l++)
		answers_add_step(a, steps, nsx_lane_name(d, l, arena), &d->lanes[l].change);
	for (unsigned i = 0; i < NSX_NDT; i++)
		if (i != NSX_DT_UNITS)
			copy_table(a, &t->t[i]);
}

int nsx_answer_diff(const struct nsx_captures *sides, const char *unit,
		    const struct nsx_cache *loaded, struct nsx_answer **ret, struct nsx_err *err)
{
	const struct nsx_at_hand at_hand = {find_loaded, (void *)loaded};
	struct nsx_diff_opts o = {.captures = {sides[0], sides[1]},
				  .alpha = 0.05, .seed = 1,
				  .side = {.last = -1, .device = -1, .pid = -1,
					   .rank = -1,
					   .threads = loaded->threads,
					   .at_hand = &at_hand}};
	struct nsx_diff_tables t = {0};
	struct nsx_answer *a;
	struct nsx_diff *d;
	int rc = nsx_side_unit_parse(unit, &o.side, err);

	if (!rc)
		rc = nsx_diff_run(&o, &d, err);
	if (rc)
		return rc;
	a = nsx_answer_new(NULL, 0);
	rc = nsx_diff_tabulate(d, NSX_MAX_CSV_ROWS, &t, err);
	if (!rc)
		describe_diff(a, d, &t);
	nsx_diff_tables_done(&t);
	nsx_diff_free(d);
	return nsx_answer_end(a, rc, ret, err);
}

/* fleet ---------------------------------------------------------------------------*/

enum { MOST_WHY = 600 }; /* characters of the reasons why inputs could not be read */

/* Adds the first page line by line. */
static void add_fleet_first_page(struct nsx_answer *a, const struct nsx_freport *r)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_freport_page(r, true, &b);
	for (char *line = b.p, *end; line && *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		if (*line && *line != '#')
			nsx_md_text(a->out, "%s", line);
	}
}

static int describe_fleet(struct nsx_answer *a, struct nsx_fleet *f,
			  const struct nsx_left_out *left_out, struct nsx_err *err)
{
	struct nsx_freport *r = NULL;
	int rc = nsx_fleet_analyse(f, err);

	if (!rc)
		rc = nsx_freport_new(f, left_out, &r, err);
	if (rc)
		return rc;
	nsx_put(a->out, "ranks", nsx_int(f->nranks));
	nsx_put(a->out, "inputs_left_out", nsx_int((int64_t)left_out->n));
	add_fleet_first_page(a, r);
	for (const char *all = left_out->why.n ? left_out->why.p : "", *line = all;
	     *line && line < all + MOST_WHY;
	     line += strcspn(line, "\n"), line += *line == '\n')
		nsx_md_text(a->out, "Left out: %.*s", (int)strcspn(line, "\n"), line);
	if (f->may_be_two && f->main == NSX_NONE) {
		say_inputs_unrelated(a, "ranks of one job, recorded at the same time");
		nsx_freport_free(r);
		return 0;
	}
	/* The findings are most important; each rank's cost to a step comes after them. */
	copy_table(a, &r->t[NSX_FT_FINDINGS]);
	copy_table(a, &r->t[NSX_FT_RANKS]);
	copy_table(a, &r->t[NSX_FT_FRONTIER]);
	copy_table(a, &r->t[NSX_FT_COLLECTIVES]);
	nsx_freport_free(r);
	return 0;
}

int nsx_answer_fleet(char *const *paths, size_t n,
		     bool (*is_allowed)(void *ctx, const char *path), void *ctx,
		     const struct nsx_cache *loaded, struct nsx_answer **ret, struct nsx_err *err)
{
	const struct nsx_at_hand at_hand = {find_loaded, (void *)loaded};
	const struct nsx_digest_opts o = {.rank = -1, .threads = 1,
					  .detail = NSX_DETAIL_COLLS,
					  .keep = NSX_KEEP_COLUMNS,
					  .at_hand = &at_hand};
	struct nsx_fleet_inputs in = {0};
	NSX_AT_EXIT(nsx_free_at) struct nsx_digest **v = NULL;
	struct nsx_fleet *f = NULL;
	struct nsx_answer *a;
	struct nsx_left_out left_out = {0};
	size_t nv = 0, noutside = 0;
	int rc = nsx_fleet_list(paths, (int)n, &in, err);

	for (size_t i = 0; i < in.n; i++)
		if (is_allowed(ctx, in.path[i]))
			in.path[i - noutside] = in.path[i];
		else if (++noutside == in.n)
			rc = nsx_fail(err, NSX_E_DENIED, "'%s' is outside the "
				      "folders that may be read", in.path[i]);
	in.n -= noutside;
	if (!rc)
		rc = nsx_fleet_read(&in, &o, loaded->threads, &v, &nv, &left_out, err);
	left_out.n += noutside;
	if (!rc && !nv)
		rc = nsx_fail(err, NSX_E_DATA, "none of %zu inputs could be read: "
			      "%.*s", in.n + noutside, (int)strcspn(left_out.why.p ?: "", "\n"),
			      left_out.why.p ?: "");
	if (!rc)
		rc = nsx_fleet_new(v, nv, &f, err);
	nsx_arena_free(in.arena);
	if (rc) {
		nsx_buf_done(&left_out.why);
		return rc;
	}
	a = nsx_answer_new(NULL, 0);
	rc = describe_fleet(a, f, &left_out, err);
	nsx_buf_done(&left_out.why);
	nsx_fleet_free(f);
	return nsx_answer_end(a, rc, ret, err);
}

/* capture -------------------------------------------------------------------------*/

#define PRESET_COLUMNS(X)                                                         \
	X(T_PRESET, "preset", STR, "name for nsys-explain capture --preset")      \
	X(T_HAS, "trace_has_it", BOOL, "whether the trace has rows of all of it") \
	X(T_SHOWS, "shows", STR, "what it would show", .is_prose = true)          \
	X(T_COMMAND, "command", STR, "command for this program")                  \
	X(T_NSYS, "nsys_command", STR,                                            \
	  "with nsys itself", .is_prose = true)
NSX_COLUMNS(preset_cols, PRESET_COLUMNS);
const struct nsx_layout nsx_presets_layout = {.key = "captures",
					    NSX_COLS(preset_cols)};

#define LACK_COLUMNS(X)                                                       \
	X(L_SECTION, "section", STR, "an analysis of the report")             \
	X(L_REASON, "reason", STR, "why this trace cannot answer")
NSX_COLUMNS(lack_cols, LACK_COLUMNS);
const struct nsx_layout nsx_lack_layout = {.key = "unanswered",
					   NSX_COLS(lack_cols)};

static void add_missing_recordings(struct nsx_answer *a)
{
	struct nsx_table *t = nsx_add_table(a->out, &nsx_lack_layout);

	for (size_t i = 0; i < a->r->nsections; i++) {
		const struct nsx_section *s = &a->r->sections[i];
		struct nsx_cell *row;

		if (s->status != NSX_S_CANNOT)
			continue;
		row = nsx_add_row(t);
		row[L_SECTION] = nsx_string(s->pass->id);
		row[L_REASON] = nsx_string(s->reason);
	}
}

static void add_preset(struct nsx_answer *a, struct nsx_table *t, const struct nsx_preset *x)
{
	const struct nsx_schema *s = a->r ? a->r->trace->schema : NULL;
	struct nsx_cell *row = nsx_add_row(t);
	bool has_all = true;

	for (unsigned i = 0; s && i < ARRAY_LEN(x->views) && (!i || x->views[i]); i++)
		has_all &= nsx_has_view(s, x->views[i]);
	row[T_PRESET] = nsx_string(x->name);
	if (s)
		row[T_HAS] = nsx_bool(has_all);
	row[T_SHOWS] = nsx_string(x->shows);
	row[T_COMMAND] = nsx_string(nsx_say(
		a->out, "nsys-explain capture --preset %s -- PROGRAM", x->name));
	row[T_NSYS] = nsx_string(nsx_recapture_line(a->out->arena, s, x->record));
}

int nsx_answer_capture(const char *preset, const struct nsx_report *r,
		       struct nsx_answer **ret, struct nsx_err *err)
{
	struct nsx_answer *a = nsx_answer_new(r, 0);
	struct nsx_table *t = nsx_add_table(a->out, &nsx_presets_layout);
	int rc = 0;

	if (r) {
		add_missing_recordings(a);
		nsx_answer_next(a, NSX_Q_verdict, NULL, "what costs most");
	}
	for (size_t i = 0; i < NSX_NPRESETS; i++)
		if (!preset || !strcmp(preset, nsx_presets[i].name))
			add_preset(a, t, &nsx_presets[i]);
	if (!t->nrows)
		rc = nsx_refuse_preset(preset, err);
	return nsx_answer_end(a, rc, ret, err);
}
