/* cmd_explain.c - the default command: a trace in, a report out. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <spawn.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "cli/cmd_common.h"
#include "cli/expect.h"
#include "cli/exported.h"
#include "cli/notices.h"
#include "emit/emit.h"
#include "emit/target.h"
#include "facts/replay/spec.h"
#include "cli/piped.h"
#include "passes/nvtx/phase.h"

struct args {
	struct nsx_opts o;
	const char *out, *phase_map, *iteration, *explain, *nsys, *keep_export, *html, *metrics;
	enum { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER } progress;
	enum { FAIL_ON_HIGH, FAIL_ON_MEDIUM, FAIL_ON_NOTHING } fail_on;
	struct nsx_opt_list what_if, expect;
	struct nsx_engine engine;
	int64_t kernel_limit, threads;
	bool no_percentiles, print_schema, no_nvtx_map, json, brief, md,
		classic, no_html, open, force, quiet;
	int verbose;
	struct nsx_notice_opts notices;
};

#define OPT(...) NSX_OPT(struct args, __VA_ARGS__)
static const struct nsx_opt opts[] = {
	OPT('o', "out", NULL, "DIR", STR, out,
	    "where the report goes; default <trace name>-report, in the working folder"),
	OPT(0, "phase-map", "phases-json", "FILE", STR, phase_map,
	    "JSON object that maps phases to names of NVTX ranges"),
	NSX_OPTS_ENGINE(struct args),
	OPT(0, "kernel-limit", "top-kernels", "N", INT, kernel_limit,
	    "rows of the kernel table in JSON (30) and Markdown (5); CSV has all", .most = 1000000),
	OPT(0, "all-rows", NULL, NULL, FLAG, o.all_rows,
	    "all rows in tables/; without it, rows beyond 100 000 are summed up in one"),
	OPT(0, "format", NULL, "FORMAT", WORD, o.format,
	    "csv, or parquet: tables/ has each table as CSV and as Parquet",
	    .words = "csv or parquet"),
	OPT(0, "no-kernel-percentiles", NULL, NULL, FLAG, no_percentiles,
	    "accepted for compatibility; percentiles cost next to nothing"),
	OPT(0, "print-schema", NULL, NULL, FLAG, print_schema, "print the detected tables first"),
	OPT(0, "no-nvtx-kernel-map", NULL, NULL, FLAG, no_nvtx_map,
	    "do not attribute kernels to NVTX ranges"),
	OPT(0, "nvtx-coverage-warn-threshold", NULL, "X", REAL, o.nvtx_coverage_warn,
	    "warn when less than this share of kernel time lies in NVTX ranges (0.7)", .most = 1),
	OPT(0, "window", NULL, "A..B", STR, o.window,
	    "only this part: seconds from the first event; 1.5s..2s or 5ns..9ns on the trace's "
	    "clock, as reports print it; nvtx:NAME, from the first range of that name to the last; "
	    "phase:NAME, a phase by its name in a report; step:KIND, a typical step of an engine"),
	OPT(0, "reach", NULL, "S", REAL, o.reach_s,
	    "with --window: of a huge trace, do not read rows that begin more than S seconds from "
	    "the window; see below", .most = 1e9),
	OPT(0, "iteration", NULL, "N", STR, iteration,
	    "only iteration N of tables/iterations.csv, of the GPU that sets the pace"),
	OPT(0, "pass", NULL, "ID[,ID]", STR, o.only,
	    "only these analyses; nsys-explain passes lists them"),
	OPT(0, "skip", NULL, "ID[,ID]", STR, o.skip, "all but these analyses"),
	OPT(0, "what-if", NULL, "SPEC", LIST, what_if,
	    "price a change by replay, such as no:cudaMalloc, kernel:/gemm/:2x, "
	    "host:inf or comm:hidden; several are priced alone and together"),
	OPT(0, "replay-ops", NULL, "N", INT, o.replay_ops,
	    "replay at most N operations (default: an eighth of the trace, 16384 to 131072; all of "
	    "a window that has up to 32768)", .most = INFINITY),
	OPT(0, "json", NULL, NULL, FLAG, json, "report.json on stdout, no files",
	    .is_json = true),
	OPT(0, "brief", NULL, NULL, FLAG, brief,
	    "the first page as JSON of at most 5 KB on stdout, no files", .is_json = true),
	OPT(0, "md", NULL, NULL, FLAG, md, "report.md on stdout, no files"),
	OPT(0, "html", NULL, "FILE", STR, html, "report.html alone, as FILE; - is stdout"),
	OPT(0, "html-max", NULL, "SIZE", SIZE, o.html_bytes,
	    "size of report.html at most, such as 500k or 20M (8M); if not "
	    "all events fit, those of the times that matter are shown"),
	OPT(0, "html-events", NULL, "WHICH", WORD, o.html_events,
	    "auto, none or all of the events in report.html's timeline",
	    .words = "auto, none or all"),
	OPT(0, "metrics", NULL, "FILE", STR, metrics,
	    "also write verdict, shares and prices as OpenMetrics text, for a scrape "
	    "or a dashboard"),
	OPT(0, "classic", NULL, NULL, FLAG, classic,
	    "adds what readers of nsys-llm-explain look for: five sections of report.md under "
	    "their published names, and a line of figures for each on stdout; a program called by "
	    "that name does so, too"),
	OPT(0, "no-html", NULL, NULL, FLAG, no_html, "leave report.html out"),
	OPT(0, "open", NULL, NULL, FLAG, open,
	    "show report.html in the browser when it is written"),
	OPT(0, "explain", NULL, "ID", STR, explain,
	    "print an analysis's definition and the SQL that gives its numbers"),
	NSX_OPT_THREADS(struct args),
	OPT(0, "nsys", NULL, "FILE", STR, nsys,
	    "first export a .nsys-rep with this nsys, for content that this program cannot "
	    "read (warnings name it)"),
	OPT(0, "keep-export", NULL, "FILE", STR, keep_export,
	    "write the export of a .nsys-rep, too"),
	OPT(0, "progress", NULL, "WHEN", WORD, progress,
	    "auto, always or never; auto is when stderr is a terminal",
	    .words = "auto, always or never"),
	OPT(0, "expect", NULL, "SHARE", LIST, expect,
	    "exit 1, with the figure, unless a share of the judged time is as expected, "
	    "such as 'kernel:/flash/ > 40 %' or 'idle < 10 %'"),
	OPT(0, "fail-on", NULL, "LEVEL", WORD, fail_on,
	    "exit 1 when a finding is high, or at least medium", .words = "high or medium"),
	NSX_OPT_NOTICES(struct args),
	OPT(0, "force", NULL, NULL, FLAG, force,
	    "accepted for compatibility; nothing of yours is ever replaced"),
	OPT('v', "verbose", NULL, NULL, COUNT, verbose, "print stages and their times to stderr"),
	OPT('q', "quiet", NULL, NULL, FLAG, quiet, "print no summary"),
};

/* Progress ---------------------------------------------------------------*/

static struct nsx_progress progress;

static void say_stage(const char *stage, double seconds)
{
	fprintf(stderr, "stage %s: %.3f s\n", stage, seconds);
}

struct ticker {
	pthread_t thread;
	bool running;
	atomic_bool stop;
};

static void cmd_explain_draw(double since)
{
	const char *stage = atomic_load(&progress.stage);
	double done = (double)atomic_load(&progress.done);
	double total = (double)atomic_load(&progress.total);
	double left = done > 0 ? (nsx_now_s() - since) * (total - done) / done : 0;

	fprintf(stderr, "\r\x1b[K%s", stage ? stage : "opening");
	if (total > 0)
		fprintf(stderr, " %.0f%% of %.0f", 100 * done / total, total);
	if (total > 0 && left >= 1)
		fprintf(stderr, ", %.0f s left", left);
	(void)fflush(stderr);
}

/* Thread that shows progress: nothing in the first second, then one line that is redrawn. */
static void *redraw_progress(void *arg)
{
	struct ticker *t = arg;
	double began = nsx_now_s(), stage_began = began;
	const char *stage = NULL;
	bool drawn = false;

	while (!atomic_load(&t->stop)) {
		struct timespec nap = {0, 50000000};

		nanosleep(&nap, NULL);
		if (atomic_load(&progress.stage) != stage) {
			stage = atomic_load(&progress.stage);
			stage_began = nsx_now_s();
		}
		if (nsx_now_s() - began < 1)
			continue;
		cmd_explain_draw(stage_began);
		drawn = true;
	}
	if (drawn)
		fputs("\r\x1b[K", stderr);
	return NULL;
}

static void start_ticker(struct ticker *t, const struct args *a)
{
	bool on = a->progress == PROGRESS_ALWAYS ||
		  (a->progress == PROGRESS_AUTO && isatty(2) && !a->verbose && !a->quiet);

	atomic_store(&t->stop, false);
	t->running = on && !pthread_create(&t->thread, NULL, redraw_progress, t);
}

/* Arguments -----------------------------------------------------------------*/

static int check_id(const char *id, struct nsx_err *err)
{
	const char *nearest;

	if (!id || nsx_pass_find(id))
		return 0;
	nearest = nsx_pass_nearest(id);
	if (nearest)
		return nsx_fail(err, NSX_E_USAGE, "no analysis '%s'; did you mean '%s'?",
				id, nearest);
	return nsx_fail(err, NSX_E_USAGE, "no analysis '%s'; run "
			"'nsys-explain passes' for the list", id);
}

/* Checks a comma-separated list of section ids. Errors: an unknown id, or an empty list. */
static int cmd_explain_check_ids(const char *list, struct nsx_err *err)
{
	int rc;

	if (!list)
		return 0;
	do {
		char id[64];
		size_t n = strcspn(list, ",");

		snprintf(id, sizeof(id), "%.*s", (int)n, list);
		rc = check_id(id, err);
		list += n + (list[n] == ',');
	} while (!rc && *list);
	return rc;
}

/* Whether one report goes to stdout, without files. */
static bool on_stdout(const struct args *a)
{
	return a->json || a->brief || a->md || (a->html && !strcmp(a->html, "-"));
}

/* Checks what-ifs and expectations early, so that a typing mistake is reported before loading. */
static int cmd_explain_check_what_ifs(const struct args *a, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *scratch = nsx_arena_new();
	struct nsx_spec s;
	int rc = 0;

	for (size_t i = 0; !rc && i < a->what_if.n; i++)
		rc = nsx_spec_parse(a->what_if.v[i], scratch, &s, err);
	for (size_t i = 0; !rc && i < a->expect.n; i++)
		rc = nsx_expect_check(a->expect.v[i], err);
	return rc;
}

static int check_page(const struct args *a, struct nsx_err *err)
{
	if (a->html && (a->out || a->no_html))
		return nsx_fail(err, NSX_E_USAGE, "--html writes one file: leave "
				"--out and --no-html out");
	if (a->open && (on_stdout(a) || a->html || a->no_html))
		return nsx_fail(err, NSX_E_USAGE, "--open shows report.html: leave --no-html, "
				"--json, --brief, --md and --html out");
	return 0;
}

static int check_args(const struct args *a, int noperands, struct nsx_err *err)
{
	if (noperands != 1)
		return noperands ?
			nsx_fail(err, NSX_E_USAGE, "give one trace, not %d; did you mean 'diff' or "
				 "'fleet'?", noperands) :
			nsx_fail(err, NSX_E_USAGE, "give the trace to explain: nsys-explain "
				 "TRACE%s%s", a->explain ? " --explain " : " --out DIR",
				 a->explain ? a->explain : "");
	if (a->json + a->brief + a->md + (a->html != NULL) > 1)
		return nsx_fail(err, NSX_E_USAGE, "--json, --brief, --md and "
				"--html exclude each other");
	if (a->brief && (a->o.only || a->o.skip))
		return nsx_fail(err, NSX_E_USAGE, "--brief is the page of a "
				"whole report: leave --pass and --skip out");
	if (a->metrics && (a->o.only || a->o.skip))
		return nsx_fail(err, NSX_E_USAGE, "--metrics are of a whole "
				"report: leave --pass and --skip out");
	if (nsx_notices_check(&a->notices, on_stdout(a), err))
		return err->rc;
	if (a->iteration && a->o.window)
		return nsx_fail(err, NSX_E_USAGE, "--iteration and --window exclude each other");
	if (cmd_explain_check_what_ifs(a, err))
		return err->rc;
	if (a->expect.n && (a->o.only || a->o.skip))
		return nsx_fail(err, NSX_E_USAGE, "--expect is of a whole report: leave --pass "
				"and --skip out");
	if (a->explain && (a->o.window || a->iteration))
		return nsx_fail(err, NSX_E_USAGE, "--explain gives the SQL for a whole trace: "
				"leave --window and --iteration out");
	if (check_page(a, err))
		return err->rc;
	if (a->out && (on_stdout(a) || a->explain))
		return nsx_fail(err, NSX_E_USAGE, "--json, --brief, --md and --explain print to "
				"stdout and write no files: omit --out");
	if (a->print_schema && on_stdout(a))
		return nsx_fail(err, NSX_E_USAGE, "--print-schema prints before the summary of a "
				"run: leave --json, --brief, --md and --html out");
	if (cmd_explain_check_ids(a->o.only, err) || cmd_explain_check_ids(a->o.skip, err) ||
	    check_id(a->explain, err))
		return err->rc;
	return 0;
}

/* Output ----------------------------------------------------------------------*/

static int write_stdout(const struct nsx_report *r, const struct args *a, struct nsx_err *err)
{
	const struct nsx_out_file one = {
		.write = a->json  ? nsx_write_json :
			 a->brief ? nsx_write_brief :
			 a->html  ? nsx_write_html : nsx_write_md,
		.subject = a->brief ? (const void *)r->page : r};

	return one.write(&one, stdout, err) || nsx_flush_stdout(err) ? err->rc : 0;
}

/* Writes one file: the page, or the metrics. */
static int write_file(const struct nsx_report *r, const char *path, bool is_page,
		      struct nsx_err *err)
{
	struct nsx_target to = {.path = path, .inputs = &r->path, .ninputs = 1,
				.is_ours = is_page ? nsx_html_is : nsx_metrics_is};
	const struct nsx_out_file file = {.write = is_page ? nsx_write_html : nsx_write_metrics,
					  .subject = r};

	return nsx_target_fill(&to, &file, err);
}

static bool is_classic(const struct args *a)
{
	return a->classic || !strcmp(program_invocation_short_name, "nsys-llm-explain");
}

static bool is_terminal(void)
{
	const char *no = getenv("NO_COLOR");

	return isatty(1) && !(no && *no);
}

/* Prints the first page, whose last line names the report. With -v, and under the name
 * nsys-llm-explain, adds a line about each common suspect.
 */
static void cmd_explain_print_summary(const struct nsx_report *r, const char *dir, bool with_lines)
{
	static const char *const order[] = {"top_kernels",  "barriers",
					    "nccl",	    "launch_storm",
					    "gpu_idle",	    "nvlink_during_nccl"};

	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	if (r->page) {
		nsx_emit_page(r->page, is_terminal() ? NSX_PAGE_BOLD : NSX_PAGE_PLAIN, &b);
		fwrite(b.p, 1, b.n, stdout);
	}
	printf("Wrote report to: %s/report.md\n", dir);
	for (size_t i = 0; i < ARRAY_LEN(order) && with_lines; i++) {
		const struct nsx_section *s = nsx_report_section(r, order[i]);

		if (s && s->headline)
			nsx_print_line(s->headline);
	}
}

/* Opens the page in the desktop's browser. */
static int open_page(const char *dir, struct nsx_err *err)
{
	char path[4096 + 16], *argv[] = {"xdg-open", path, NULL};
	pid_t pid;
	int rc;

	snprintf(path, sizeof(path), "%s/report.html", dir);
	rc = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
	return rc ? nsx_fail(err, NSX_E_IO, "cannot show '%s': no xdg-open (%s); "
			     "open the file in a browser", path, strerror(rc)) :
		    0;
}

/* The lowest severity with which --fail-on fails. */
static enum nsx_severity fail_on_severity(const struct args *a)
{
	return a->fail_on == FAIL_ON_HIGH ? NSX_SEV_HIGH : NSX_SEV_MEDIUM;
}

/* Gives the reason for exit code 1, on stderr and as Markdown below the report. */
static void say_gate_failed(const struct args *a, const char *why)
{
	nsx_say_failed_gate(why);
	if (a->md) {
		printf("\nFailed: ");
		nsx_print_line(why);
	}
}

/* Whether some finding is as severe as --fail-on says. Prints these findings. */
static bool has_failed_gate(const struct nsx_report *r, const struct args *a)
{
	enum nsx_severity least = fail_on_severity(a);
	bool has_failed = false;

	for (size_t i = 0; i < r->found.n && a->fail_on != FAIL_ON_NOTHING; i++) {
		const struct nsx_finding *f = &r->found.v[i];
		NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

		if (f->severity < least)
			continue;
		has_failed = true;
		nsx_buf_printf(&b, "--fail-on %s: %s: %s", nsx_severity_names[least],
			       nsx_severity_names[f->severity], f->title);
		say_gate_failed(a, b.p);
	}
	return has_failed;
}

/* Prints the result of each expectation. Failed ones are printed as failed gates. */
static bool has_failed_expectation(const struct nsx_notices *expected, const struct args *a)
{
	bool has_failed = false;

	for (size_t i = 0; i < expected->n; i++) {
		const struct nsx_notice *x = &expected->v[i];
		NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

		nsx_buf_printf(&b, "--expect %s: %s", x->key, x->text);
		if (x->outcome == NSX_FAILED)
			say_gate_failed(a, b.p);
		else if (!a->quiet && !on_stdout(a))
			nsx_print_line(b.p);
		has_failed |= x->outcome == NSX_FAILED;
	}
	return has_failed;
}

static int cmd_explain_exit_code(const struct nsx_report *r, const struct nsx_notices *expected,
				 const struct args *a)
{
	bool has_failed = has_failed_expectation(expected, a);

	if (has_failed_gate(r, a) || has_failed)
		return 1;
	return nsx_cmd_partial(nsx_report_damage(r));
}

static struct nsx_notices expectations(const struct nsx_report *r, const struct args *a)
{
	struct nsx_notices ret = {
		.v = nsx_arena_get(r->arena, (a->expect.n + 1) * sizeof(*ret.v))};

	for (; ret.n < a->expect.n; ret.n++)
		ret.v[ret.n] = nsx_expect_notice(r, a->expect.v[ret.n], r->arena);
	return ret;
}

static int cmd_explain_tell_pipeline(const struct nsx_report *r,
				     const struct nsx_notices *expected, const struct args *a,
				     struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *arena = nsx_arena_new();
	enum nsx_severity least = fail_on_severity(a);
	struct nsx_notices l;

	nsx_notices_of_report(r, a->fail_on == FAIL_ON_NOTHING ? NULL : &least, expected, arena,
			      &l);
	return nsx_notices_deliver(&a->notices, &l, err);
}

/* Writes the report to where the user wants it: stdout, a page, or a folder. */
static int write_report(const struct nsx_report *r, const struct nsx_notices *expected,
			const struct args *a, struct nsx_err *err)
{
	const char *dir = a->out ?: nsx_default_out(r->path, "-report", r->arena);
	int rc;

	nsx_progress_stage(&progress, "writing", 0);
	rc = on_stdout(a) ? write_stdout(r, a, err) :
	     a->html	  ? write_file(r, a->html, true, err) :
			    nsx_emit_folder(r, dir, !a->no_html, (unsigned)a->threads, err);
	if (!rc && a->metrics)
		rc = write_file(r, a->metrics, false, err);
	nsx_progress_stage(&progress, NULL, 0);
	if (!rc && !a->quiet && !on_stdout(a) && !a->html)
		cmd_explain_print_summary(r, dir, a->verbose || is_classic(a));
	if (!rc && nsx_wants_notices(&a->notices))
		rc = cmd_explain_tell_pipeline(r, expected, a, err);
	rc = rc ?: nsx_flush_stdout(err);
	return rc || !a->open ? rc : open_page(dir, err);
}

/* Makes and writes a report. shown: name of the trace in the report. */
static int cmd_explain_explain(const struct args *a, const char *path, const char *shown,
			       struct nsx_err *err)
{
	struct nsx_opts o = a->o;
	struct nsx_engine engine = a->engine;
	struct nsx_phase_map *phases = NULL;
	struct nsx_report *r = NULL;
	struct nsx_notices expected = {.n = 0};
	char iteration[64];
	int rc = a->phase_map ? nsx_phase_map_read(a->phase_map, &phases, err) : 0;

	o.path = path;
	o.shown = shown;
	o.ask_as = nsx_is_piped(path) ? "-" : NULL;
	o.is_gone = strcmp(path, shown) && !a->keep_export;
	o.kernel_limit = (size_t)(a->kernel_limit ? a->kernel_limit : 30);
	o.kernel_rows = (size_t)(a->kernel_limit ? a->kernel_limit : 5);
	o.nvtx_kernel_map = !a->no_nvtx_map;
	o.is_classic = is_classic(a);
	o.held_rows = o.all_rows ? 0 : NSX_MAX_CSV_ROWS;
	o.draws = a->html || !(a->no_html || on_stdout(a));
	o.what_ifs = a->what_if.v;
	o.nwhat_ifs = a->what_if.n;
	o.threads = (unsigned)a->threads;
	o.progress = &progress;
	rc = rc ?: nsx_engine_read(&engine, &o, err);
	o.phases = phases;
	if (a->iteration) {
		snprintf(iteration, sizeof(iteration), "iteration:%s", a->iteration);
		o.window = iteration;
	}
	rc = rc ?: nsx_report_open(&o, &r, err);
	if (!rc && a->print_schema)
		nsx_print_tables(r->trace->schema);
	if (!rc)
		expected = expectations(r, a);
	rc = rc ?: write_report(r, &expected, a, err);
	nsx_progress_stage(&progress, NULL, 0);
	rc = rc ?: cmd_explain_exit_code(r, &expected, a);
	nsx_report_free(r);
	nsx_phase_map_free(phases);
	nsx_engine_done(&engine);
	return rc;
}

/* Prints a definition. Loads the trace as well, because the views of a script must shift GPU times
 * as the loader does.
 */
static int define_analysis(const struct args *a, const char *path, struct nsx_err *err)
{
	struct nsx_load_opts load = {.threads = (unsigned)a->threads,
				     .progress = &progress};
	struct nsx_trace *t = NULL;
	struct nsx_schema schema;
	int rc = nsx_schema_open(path, &schema, err);

	if (rc)
		return rc;
	if (a->print_schema)
		nsx_print_tables(&schema);
	rc = nsx_trace_load(&schema, &load, &t, err);
	nsx_trace_free(t);
	rc = rc ?: nsx_print_definition(nsx_pass_find(a->explain), &schema, err);
	nsx_schema_close(&schema);
	return rc;
}

static int cmd_explain_run(void *args, int n, char **operands, struct nsx_err *err)
{
	struct args *a = args;
	struct ticker ticker = {.running = false};
	struct nsx_exported trace;
	int rc;

	if (check_args(a, n, err))
		return err->rc;
	a->threads = nsx_threads(a->threads);
	if (a->verbose)
		progress.stage_done = say_stage;
	start_ticker(&ticker, a);
	rc = nsx_exported_open(operands[0], &(struct nsx_export_opts){
				       .nsys = a->nsys, .keep = a->keep_export}, &trace, err);
	if (!rc)
		rc = a->explain ? define_analysis(a, trace.path, err) :
				  cmd_explain_explain(a, trace.path, operands[0], err);
	nsx_exported_done(&trace);
	atomic_store(&ticker.stop, true);
	if (ticker.running)
		pthread_join(ticker.thread, NULL);
	return rc;
}

const struct nsx_cmd nsx_cmd_explain = {
	.name = "explain",
	.usage = "TRACE.sqlite|REPORT.nsys-rep [--out DIR] [OPTIONS]",
	.summary = "explain a trace: report.md, report.json and tables",
	.doc = "Reads an Nsight Systems SQLite export, never changes it, and writes a report "
	       "folder that says where the time went, what it costs and what to change, with "
	       "evidence for each number.\n\n"
	       "A report of nsys (.nsys-rep, .qdrep) is read as it is, without nsys; --keep-export "
	       "writes its export beside the report.\n\n"
	       "With --window, only part of a large trace is read: the window, what launched its "
	       "work, and a margin on both sides (at least as long as the window, and about 260 "
	       "000 events), which iterations and what-ifs need. Figures of the window are the "
	       "same as if all had been read; the report says what was read. To make sure of this, "
	       "the program looks at every row, which takes time in a file of many gigabytes. "
	       "--reach S passes over rows that begin more than S seconds from the window, judged "
	       "by the times of a few rows of each table. It reads all of a table whose rows are "
	       "not in order. A range, a wait or work that began earlier and reaches into the "
	       "window may then be missed, and clocks are judged by what was read.\n\n"
	       "Exit codes: 0 a report was written; 1 --expect or --fail-on found something; 2 "
	       "misuse; 3 the input cannot be read or the output cannot be written; 4 written, but "
	       "a table was damaged or a section failed, which a warning names.",
	.examples = "nsys-explain run.sqlite  # writes run-report/\n"
		    "nsys-explain run.sqlite --out report --window 2..5  # three seconds\n"
		    "nsys-explain run.sqlite --window phase:steady  # a phase\n"
		    "nsys-explain run.sqlite --json | jq .findings  # for scripts\n"
		    "nsys-explain run.sqlite --brief  # the first page, for scripts and agents\n"
		    "nsys-explain run.sqlite --fail-on high -q --annotations github  # a gate in "
		    "CI\n"
		    "nsys-explain run.sqlite --explain gpu_idle  # what a number means",
	.opts = opts,
	.nopts = ARRAY_LEN(opts),
	NSX_ARGS(struct args, .o.nvtx_coverage_warn = 0.7, .fail_on = FAIL_ON_NOTHING),
	.run = cmd_explain_run,
};
