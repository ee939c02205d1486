/* cmd_diff.c - what changed between captures, and gates for CI pipelines. */
#include <errno.h>
#include <unistd.h>
#include "cli/cmd_common.h"
#include "cli/notices.h"
#include "diff/baseline.h"
#include "diff/emit.h"
#include "diff/ledger.h"
#include "emit/emit.h"
#include "emit/target.h"

struct args {
	struct nsx_diff_opts o;
	const char *out, *unit, *steps, *noise, *against, *store, *ledger, *steps_from;
	struct nsx_opt_list before, after, gates;
	int64_t threads;
	bool json, md, html, lenient, calibrate, quiet, all_rows;
	struct nsx_notice_opts notices;
};

#define OPT(...) NSX_OPT(struct args, __VA_ARGS__)
static const struct nsx_opt opts[] = {
	OPT('o', "out", NULL, "DIR", STR, out, "where the comparison goes; default diff-report"),
	OPT(0, "before", NULL, "FILE", LIST, before,
	    "one more capture of the side before; instead of BEFORE"),
	OPT(0, "after", NULL, "FILE", LIST, after,
	    "one more capture of the side after; instead of AFTER"),
	OPT(0, "against", NULL, "NAME", STR, against,
	    "the side before is this baseline; all operands are captures of the side after"),
	NSX_OPT_STORE(struct args),
	OPT(0, "unit", NULL, "UNIT", STR, unit,
	    "what is measured: auto, nvtx:REGEX, kernel:REGEX, launch or window"),
	OPT(0, "steps", NULL, "A..B", STR, steps,
	    "only units A to B of each capture, both included, counted from 0"),
	NSX_OPT_STEPS_FROM(struct args, steps_from),
	OPT(0, "gpu", NULL, "N", INT, o.side.device, "only this GPU"),
	OPT(0, "rank", NULL, "R", INT, o.side.rank, "only this rank of a job"),
	OPT(0, "gate", NULL, "EXPR", LIST, gates,
	    "exit 1 when a limit is broken, as in step:+3%; may be repeated"),
	OPT(0, "lenient", NULL, NULL, FLAG, lenient, "a gate that cannot be decided passes"),
	OPT(0, "noise", NULL, "P%|FILE", STR, noise,
	    "what runs of the same code differ by: a percentage, or a file of --calibrate"),
	OPT(0, "calibrate", NULL, NULL, FLAG, calibrate,
	    "measure by how much runs of the same code differ: all operands "
	    "are such runs; -o names the file"),
	OPT(0, "top", NULL, "N", INT, o.top,
	    "rows of each table for people (10; kernels on the page 30; none below 1 % of the "
	    "largest change)", .most = INFINITY),
	OPT(0, "alpha", NULL, "X", REAL, o.alpha, "how often chance may look like a change (0.05)"),
	OPT(0, "seed", NULL, "N", INT, o.seed, "seed of the bootstrap's draws (1)"),
	OPT(0, "json", NULL, NULL, FLAG, json, "diff.json on stdout, no files",
	    .is_json = true),
	OPT(0, "md", NULL, NULL, FLAG, md, "a comment for a pull request on stdout, no files"),
	OPT(0, "html", NULL, NULL, FLAG, html, "diff.html on stdout, no files"),
	OPT(0, "all-rows", NULL, NULL, FLAG, all_rows,
	    "all rows in tables/; without it, rows beyond 100 000 are summed up in one"),
	NSX_OPT_LEDGER(struct args),
	NSX_OPT_NOTICES(struct args),
	NSX_OPT_THREADS(struct args),
	OPT('q', "quiet", NULL, NULL, FLAG, quiet, "print no summary"),
};

/* Arguments ---------------------------------------------------------------------*/

struct specs {
	const char *v[128];
	size_t n;
};

/* Adds captures from a comma-separated list. If a file has the name of the whole list, it is that
 * file.
 */
static int add_specs(struct specs *s, const char *list, struct nsx_arena *a, struct nsx_err *err)
{
	bool whole = !access(list, F_OK);

	while (*list) {
		size_t n = whole ? strlen(list) : strcspn(list, ",");

		if (s->n == ARRAY_LEN(s->v))
			return nsx_fail(err, NSX_E_USAGE, "more than %zu "
					"captures on a side", ARRAY_LEN(s->v));
		if (n)
			s->v[s->n++] = nsx_arena_strndup(a, list, n);
		list += n + (list[n] == ',');
	}
	return 0;
}

static int add_operands(struct specs *s, int n, char **argv, struct nsx_arena *a,
			struct nsx_err *err)
{
	for (int i = 0; i < n; i++)
		if (add_specs(s, argv[i], a, err))
			return err->rc;
	return 0;
}

/* Collects the sides of --against: the baseline is the side before, and all operands are the side
 * after.
 */
static int collect_against(const struct args *a, int noperands, char **operands,
			   struct nsx_arena *arena, struct specs side[2], struct nsx_err *err)
{
	struct nsx_baseline b;

	if (a->before.n || !(noperands + (int)a->after.n))
		return nsx_fail(err, NSX_E_USAGE, "--against names the side before: give "
				"the captures after, and no --before");
	if (nsx_baseline_load(a->store, a->against, arena, &b, err))
		return err->rc;
	for (; side[0].n < b.nruns; side[0].n++)
		side[0].v[side[0].n] = nsx_arena_printf(arena, "%s %zu=%s/%s/%s", a->against,
			side[0].n + 1, a->store, a->against, b.runs[side[0].n].file);
	if (add_operands(&side[1], noperands, operands, arena, err))
		return err->rc;
	return add_operands(&side[1], (int)a->after.n, (char **)a->after.v, arena, err);
}

static int cmd_diff_collect(const struct args *a, int noperands, char **operands,
			    struct nsx_arena *arena, struct specs side[2], struct nsx_err *err)
{
	const struct nsx_opt_list *lists[] = {&a->before, &a->after};

	if (a->against)
		return collect_against(a, noperands, operands, arena, side, err);
	if (noperands && (a->before.n || a->after.n))
		return nsx_fail(err, NSX_E_USAGE, "give the two sides as BEFORE AFTER, or with "
				"--before and --after, not both");
	if (a->before.n && !a->after.n)
		return nsx_fail(err, NSX_E_USAGE, "the side after is missing: --after FILE");
	if (a->after.n && !a->before.n)
		return nsx_fail(err, NSX_E_USAGE, "the side before is missing: --before FILE");
	if (noperands != 2 && !a->before.n)
		return nsx_fail(err, NSX_E_USAGE, "give two captures to compare (%d given): "
				"nsys-explain diff BEFORE.sqlite AFTER.sqlite", noperands);
	for (unsigned s = 0; s < 2; s++) {
		if (noperands && add_specs(&side[s], operands[s], arena, err))
			return err->rc;
		for (size_t i = 0; i < lists[s]->n; i++)
			if (add_specs(&side[s], lists[s]->v[i], arena, err))
				return err->rc;
		if (!side[s].n)
			return nsx_fail(err, NSX_E_USAGE, "the side %s names no "
					"capture", s ? "after" : "before");
	}
	return 0;
}

static int read_steps(const char *steps, struct nsx_side_opts *ret, struct nsx_err *err)
{
	char *end = NULL;

	if (!steps)
		return 0;
	errno = 0;
	ret->first = strtoll(steps, &end, 10);
	if (end != steps && !strncmp(end, "..", 2)) {
		const char *second = end + 2;

		ret->last = strtoll(second, &end, 10);
		if (end != second && !*end && !errno && ret->first >= 0 && ret->last >= ret->first)
			return 0;
	}
	return nsx_fail(err, NSX_E_USAGE, "--steps must be A..B, as in 2..8, not '%s'", steps);
}

static int cmd_diff_read_args(const struct args *a, struct nsx_diff_opts *o, struct nsx_err *err)
{
	if (a->json + a->md + a->html > 1)
		return nsx_fail(err, NSX_E_USAGE, "--json, --md and --html exclude each other");
	if (a->out && a->json + a->md + a->html && !a->calibrate)
		return nsx_fail(err, NSX_E_USAGE, "--json, --md and --html print "
				"to stdout and write no files: omit --out");
	if (!(o->alpha > 0 && o->alpha < 0.5))
		return nsx_fail(err, NSX_E_USAGE, "--alpha is %g, not between 0 and 0.5", o->alpha);
	if (nsx_notices_check(&a->notices, a->json + a->md + a->html, err))
		return err->rc;
	o->gates = a->gates.v;
	o->ngates = a->gates.n;
	o->side.threads = nsx_threads(a->threads);
	if (a->noise && nsx_noise_read(a->noise, &o->noise, err))
		return err->rc;
	if (nsx_side_unit_parse(a->unit, &o->side, err))
		return err->rc;
	return read_steps(a->steps, &o->side, err);
}

/* Output ------------------------------------------------------------------------*/

static void print_lines(char *lines)
{
	char *rest = lines;

	for (char *line; (line = strtok_r(rest, "\n", &rest));)
		nsx_print_line(line);
}

static void cmd_diff_print_summary(const struct nsx_diff *d, const char *dir)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	const char *causes = nsx_diff_causes(d, a);
	const char *place = nsx_diff_place(d, a);
	const char *kinds = nsx_kinds_line(d, a);

	nsx_print_line(nsx_diff_headline(d, a));
	if (*kinds)
		nsx_print_line(kinds);
	print_lines(nsx_arena_strdup(a, nsx_totals_lines(d, a)));
	if (*causes)
		nsx_print_line(causes);
	if (*place)
		nsx_print_line(place);
	print_lines(nsx_arena_strdup(a, nsx_diff_promises(d, a)));
	for (size_t i = 0; i < d->ngates; i++)
		nsx_print_line(nsx_gate_line(&d->gates[i], a));
	printf("Wrote report to: %s/diff.md\n", dir);
}

static int cmd_diff_exit_code(const struct nsx_diff *d, bool lenient)
{
	enum nsx_gate_result least = lenient ? NSX_GATE_FAIL : NSX_GATE_UNDECIDED;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	const char *damage = NULL;
	bool has_failed = false;

	for (size_t i = 0; i < d->ngates; i++) {
		if (d->gates[i].result < least)
			continue;
		has_failed = true;
		nsx_say_failed_gate(nsx_gate_line(&d->gates[i], a));
	}
	for (size_t i = 0; i < d->nall && !damage; i++)
		if (d->all[i]->damage)
			damage = nsx_arena_printf(a, "'%s': %s", d->all[i]->path,
						  d->all[i]->damage);
	return has_failed ? 1 : nsx_cmd_partial(damage);
}

static int cmd_diff_tell_pipeline(const struct args *a, const struct nsx_diff *d,
				  struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *arena = nsx_arena_new();
	struct nsx_notices l;

	nsx_diff_notices(d, a->lenient, arena, &l);
	return nsx_notices_deliver(&a->notices, &l, err);
}

static int cmd_diff_compare(const struct args *a, const struct nsx_diff_opts *o,
			    struct nsx_err *err)
{
	const char *dir = a->out ? a->out : "diff-report";
	struct nsx_diff_output out = {.all_rows = a->all_rows,
				       .md = a->md ? NSX_DIFF_COMMENT : NSX_DIFF_PAGE};
	const struct nsx_out_file one = {
		.write = a->json ? nsx_diff_write_json :
			 a->md	 ? nsx_diff_write_md :
			 a->html ? nsx_diff_write_html : NULL,
		.subject = &out};
	struct nsx_diff *d;
	int rc = nsx_diff_run(o, &d, err);

	if (rc)
		return rc;
	out.diff = d;
	rc = nsx_diff_tabulate(d, a->all_rows ? 0 : NSX_MAX_CSV_ROWS, &out.tables, err);
	if (!rc)
		rc = one.write ? one.write(&one, stdout, err) :
				 nsx_diff_emit_folder(&out, dir, o->side.threads, err);
	if (!rc && !one.write && !a->quiet)
		cmd_diff_print_summary(d, dir);
	if (!rc && a->ledger) {
		struct nsx_promise v[NSX_MOST_PROMISES];

		rc = nsx_ledger_append(a->ledger, v, nsx_diff_promised(d, v), err);
	}
	if (!rc && nsx_wants_notices(&a->notices))
		rc = cmd_diff_tell_pipeline(a, d, err);
	rc = rc ?: nsx_flush_stdout(err) ?: cmd_diff_exit_code(d, a->lenient);
	nsx_diff_tables_done(&out.tables);
	nsx_diff_free(d);
	return rc;
}

/* Treats all operands as runs of the same code. */
static int compare_same_code(const struct args *a, struct nsx_diff_opts *o, int n,
			     char **operands, struct nsx_err *err)
{
	const struct nsx_noise *step;
	struct nsx_noises noise;
	struct nsx_target to = {.path = a->out, .is_ours = nsx_noise_is};
	const struct nsx_out_file file = {.write = nsx_noise_write,
					  .subject = &noise, .detail = o};
	int rc;

	o->captures[0] = (struct nsx_captures){
		(const char *const *)operands, (size_t)n};
	if (n < 3)
		return nsx_fail(err, NSX_E_USAGE, "--calibrate needs at least 3 runs of the same "
				"code (%d given): nsys-explain diff --calibrate RUN1 RUN2 RUN3 -o "
				"noise.json", n);
	if (!a->out)
		return nsx_fail(err, NSX_E_USAGE, "--calibrate needs -o FILE for what it measures");
	if (nsx_target_check(&to, err))
		return err->rc;
	rc = nsx_diff_calibrate(o, &noise, err) || nsx_target_fill(&to, &file, err) ? err->rc : 0;
	step = &noise.of[NSX_METRIC_STEP];
	if (!rc && !a->quiet)
		printf("%d runs of the same code differ by up to %.2f %% (%.3f ms)\nWrote noise "
		       "to: %s\n", n, 100 * step->rel, step->abs / 1e6, a->out);
	nsx_noises_done(&noise);
	return rc;
}

static int cmd_diff_run(void *args, int n, char **operands, struct nsx_err *err)
{
	struct args *a = args;
	struct specs side[2] = {{{NULL}, 0}, {{NULL}, 0}};
	struct nsx_diff_opts *o = &a->o;
	struct nsx_step_patterns *steps_from = NULL;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *arena = nsx_arena_new();
	int rc = cmd_diff_read_args(a, o, err);

	if (!rc && a->steps_from)
		rc = nsx_step_patterns_read(a->steps_from, &steps_from, err);
	o->side.steps_from = steps_from;
	if (!rc && !a->calibrate)
		rc = cmd_diff_collect(a, n, operands, arena, side, err);
	for (unsigned s = 0; s < 2; s++)
		o->captures[s] = (struct nsx_captures){side[s].v, side[s].n};
	if (!rc)
		rc = a->calibrate ? compare_same_code(a, o, n, operands, err) :
				    cmd_diff_compare(a, o, err);
	nsx_step_patterns_free(steps_from);
	nsx_noises_done(&o->noise);
	return rc;
}

const struct nsx_cmd nsx_cmd_diff = {
	.name = "diff",
	.usage = "BEFORE AFTER [-o DIR] [--gate EXPR]... [OPTIONS]",
	.summary = "show what changed between two captures, by how much, and why",
	.doc = "Compares repeated units of work (iterations, NVTX ranges, repeated blocks of "
	       "kernels, graph replays), so captures may differ in length. If no unit repeats on "
	       "both sides, or the units do not decide, it compares whole runs of the same work. A "
	       "side is a trace, or several captures of the same code, joined by commas or given "
	       "with --before and --after. Each is written as [LABEL=]FILE[@A..B], where A..B are "
	       "units, or a window as for explain. The first and the last unit of a capture are "
	       "left out.\n\n"
	       "A side may be a digest (nsys-explain digest). A trace on the other side is then "
	       "digested, too, so that both are measured alike. Ranks are paired by their number; "
	       "--rank selects one, also in traces. A digest tells where the time of a step went "
	       "and why the GPU was idle, but not which kernels changed.\n\n"
	       "The shift is the median of all differences between units after and before "
	       "(Hodges-Lehmann), with its interval, an exact rank test and the effect size A12. "
	       "It is called a regression or an improvement if it is larger than the noise, its "
	       "intervals exclude 0, the test is significant, and A12 is above 0.71 or below 0.29. "
	       "It is neutral if the whole interval and the change of the mean lie inside the "
	       "noise. It is mixed if a typical unit is proven to change one way, but another GPU "
	       "changes the other way. It is also mixed if the mean changes the other way by more "
	       "than one or two slow units. If nothing is proven of a typical unit, the mean "
	       "decides: more than one or two slow units must come or go, the interval must "
	       "exclude 0, and units assigned to the sides at random must seldom differ as much. "
	       "Anything else is inconclusive; the report says why, and what would settle it.\n\n"
	       "The noise is the largest of these: 2 %, or the value of --noise; the difference "
	       "between the halves of a capture that drifts; the difference between two captures "
	       "of one side. With fewer than three captures on a side it is larger for units in "
	       "which the GPU is idle for more than half of the time: 10 %, or twice what the "
	       "host's calls differ by. If copies make it more than half, it is twice what the "
	       "calls differ by, up to 10 %. One or two captures on a side cannot show how much "
	       "runs of the same code differ; three or more can.\n\n"
	       "Whole runs last from the first GPU operation to the last, without one-time gaps. "
	       "With three or more on each side, a t test compares them. With fewer, the noise of "
	       "the kernels is 5 % of their time, 15 % if there are fewer than 30 kernels, and 40 "
	       "% if pages migrate then. That of the copies is 6 % of their time, or twice what "
	       "the host's calls differ by, up to 10 %. That of the host's and idle time is 10 %, "
	       "or twice what its calls differ by.\n\n"
	       "The budget explains the change of the mean, to the nanosecond: compute by kernel "
	       "(more launches, other clocks, its own time), communication (transfer, waiting for "
	       "a rank), copies, and idle time by cause. Findings whose cost changes in the same "
	       "direction come before it: they name causes, whereas idle time is often a "
	       "symptom.\n\n"
	       "The gate METRIC:LIMIT fails if the change is proven to be larger than the limit "
	       "and than the noise. A part of the time must also change by more than captures of "
	       "one side, or halves of a capture, differ. METRIC:<LIMIT fails unless the change is "
	       "proven to be smaller. Metrics: step, step.mean, step.p95, compute, comm, copy, "
	       "idle, kernel:/REGEX/, launches, mem_peak. step is the typical unit, by the shift; "
	       "its line also shows the mean. step.mean is the mean, which rare slow units move. A "
	       "limit is +N% or +N with ns, us, ms, s, B, KB, MB, GB, or nothing for a count. A "
	       "gate that cannot be decided fails; with --lenient it passes with a notice. A "
	       "pattern that no kernel matches is an error.\n\n"
	       "Exit codes: 0 compared, whatever the verdict; 1 a gate failed; 2 misuse; 3 a "
	       "capture cannot be read or the output cannot be written; 4 compared, but a table "
	       "was damaged.",
	.examples = "nsys-explain diff before.sqlite after.sqlite  # writes diff-report/\n"
		    "nsys-explain diff a1.sqlite,a2.sqlite,a3.sqlite "
		    "b1.sqlite,b2.sqlite,b3.sqlite  # three captures on each side\n"
		    "nsys-explain diff main.sqlite pr.sqlite --gate step:+3% --md > comment.md  "
		    "# in CI\n"
		    "nsys-explain diff run.sqlite@0..7 run.sqlite@8..15  # two halves of one "
		    "capture\n"
		    "nsys-explain diff --calibrate run1.sqlite run2.sqlite run3.sqlite -o "
		    "noise.json  # then --noise noise.json",
	.opts = opts,
	.nopts = ARRAY_LEN(opts),
	NSX_ARGS(struct args, .store = NSX_STORE,
		 .o = {.alpha = 0.05, .seed = 1,
		       .side = {.last = -1, .device = -1, .pid = -1, .rank = -1}}),
	.run = cmd_diff_run,
};
