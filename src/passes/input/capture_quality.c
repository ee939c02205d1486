/* capture_quality.c - what the trace cannot tell, in which process, and the command that gets it.
 *
 * Each check gives one or more rows. "missing": there is no such data; "warn": there is, but
 * conclusions are limited. Exports leave empty tables out, so a missing table means "no such
 * event"; the capture's settings, if known, tell whether it was not traced or did not happen.
 */
#include <stdarg.h>
#include "passes/input/capture_quality.h"

#define COLUMNS(X)                                                            \
	X(CHECK, "check", STR, "name of the check")                           \
	X(STATUS, "status", STR, "ok; warn: limited; missing: no data")       \
	X(SUBJECT, "subject", STR, "process or table")                        \
	X(DETAIL, "detail", STR, "what was found and what it limits")         \
	X(RECAPTURE, "recapture", STR, "command that records the missing data")
NSX_COLUMNS(cols, COLUMNS);
#define CLOCK_COLUMNS(X)                                                      \
	X(CLOCK_PID, "pid", I64, "process whose GPU times were wrong")        \
	X(CLOCK_DEVICE, "device_id", I64, "CUDA device ordinal")              \
	X(CLOCK_SHIFT, "shift_ns", I64, "correction added to the GPU times")  \
	X(CLOCK_WITHIN, "within_ns", I64, "remaining error of the GPU times")
NSX_COLUMNS(clock_cols, CLOCK_COLUMNS);
static const struct nsx_layout layouts[] = {
    {.key = "checks",
     .csv = "capture_quality",
     NSX_COLS(cols),
     .json_rows = NSX_ALL_ROWS},
    {.key = "clocks", NSX_COLS(clock_cols), .json_rows = NSX_ALL_ROWS},
};

void nsx_check(struct nsx_quality *q, const char *check, const char *status,
	       const char *subject, unsigned what, const char *fmt, ...)
{
	struct nsx_cell *row = nsx_add_row(q->table);
	const char *line = what ? nsx_recapture_line(q->out->arena, q->t->schema, what) : NULL;
	va_list ap;

	va_start(ap, fmt);
	q->subject = subject;
	q->detail = nsx_arena_vprintf(q->out->arena, fmt, ap);
	va_end(ap);
	if (what && !line)
		q->detail = nsx_say(q->out, "%s; recording it requires nsys %u.%u or later",
				    q->detail, nsx_recapture_since(what) / 100,
				    nsx_recapture_since(what) % 100);
	else if (!(what & ~NSX_REC_ALL))
		q->lacking |= what;
	nsx_grow_or_die(&q->what, &q->cap_what, q->table->nrows, sizeof(*q->what));
	q->what[q->table->nrows - 1] = what;
	row[CHECK] = nsx_string(check);
	row[STATUS] = nsx_string(status);
	row[SUBJECT] = nsx_string(subject);
	row[DETAIL] = nsx_string(q->detail);
	row[RECAPTURE] = nsx_string(line);
}

void nsx_raise(struct nsx_quality *q, enum nsx_finding_id id, bool of_subject,
	       const char *title, enum nsx_severity severity)
{
	unsigned what = q->what[q->table->nrows - 1];
	const char *line = nsx_recapture_line(q->out->arena, q->t->schema, what);

	*q->end = nsx_arena_get(q->out->arena, sizeof(**q->end));
	**q->end = (struct nsx_capture_check){
		.detail = q->detail, .title = title, .id = id,
		.severity = severity, .subject = of_subject ? q->subject : NULL,
		.advice = line ?
			nsx_say(q->out, "%s again: `%s`",
				what & NSX_REC_EXPORT ? "export" : "capture",
				line) :
			"capture again with a newer nsys"};
	q->end = &(*q->end)->next;
}

const char *nsx_process_label(struct nsx_quality *q, uint32_t p)
{
	const char *name = nsx_process_name(q->t, p);

	return nsx_say(q->out, "pid %s%s%s%s", nsx_pid_label(q->t, p),
		       name ? " (" : "", name ? name : "", name ? ")" : "");
}

/* Markdown ------------------------------------------------------------------*/

/* Whether all rows with this row's check are ok (there are about 30 rows). */
static bool is_check_ok(const struct nsx_table *t, size_t row)
{
	const char *check = nsx_row_at(t, row)[CHECK].u.s;

	return !NSX_ANY(r, t->nrows, !strcmp(nsx_row_at(t, r)[CHECK].u.s, check) &&
			strcmp(nsx_row_at(t, r)[STATUS].u.s, OK));
}

/* Says one capture command that records all that is missing. */
static void print_recapture(struct nsx_quality *q)
{
	struct nsx_arena *a = q->out->arena;
	unsigned what = q->lacking;
	const char *line, *sets = "", *then = "";
	const char *preset = q->t->schema->on_windows ? NULL :
			     nsx_recapture_preset(what, q->t->ndevices > 1);
	const char *export = nsx_recapture_line(a, q->t->schema, NSX_REC_EXPORT | NSX_REC_PAYLOAD);

	if (!export)
		export = nsx_recapture_line(a, q->t->schema, NSX_REC_EXPORT);
	if (!what)
		return;
	line = nsx_recapture_line(a, q->t->schema, what);
	if (what & NSX_REC_COUNTERS) {
		const char *nodes = /* without nodes, NVLink use cannot be related to kernels */
			nsx_recapture_line(a, q->t->schema, what | NSX_REC_GRAPHS);

		line = nodes ? nodes : line;
		what |= nodes ? NSX_REC_GRAPHS : 0;
		sets = nsx_say(q->out, " (`%s` lists the sets of counters, which may need root)",
			       nsx_recapture_line(a, q->t->schema, NSX_REC_SETS));
	}
	nsx_put(q->out, "recapture", nsx_string(line));
	nsx_put(q->out, "preset", nsx_string(preset));
	if (what & NSX_REC_EXPORTED)
		then = nsx_say(q->out, ", then `%s`", export);
	nsx_md_bullet(q->out, "**All that is missing, in one capture**: `%s`%s%s%s", line, sets,
		      then, preset ? nsx_say(q->out, "; or `nsys-explain capture --preset %s -- "
				       "COMMAND`", preset) : "");
	nsx_md_bullet(q->out, "NVIDIA's pages: [options of nsys](https://docs.nvidia.com/"
		      "nsight-systems/UserGuide/index.html)%s", !(what & NSX_REC_COUNTERS) ? "" :
		      ", [counters without root](https://developer.nvidia.com/ERR_NVGPUCTRPERM)");
}

static void capture_quality_print(struct nsx_quality *q)
{
	size_t nchecks = 0, nfine = 0;
	const char *last = "";
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf fine = {0}, missing = {0};

	for (size_t r = 0; r < q->table->nrows; r++) {
		const char *check = nsx_row_at(q->table, r)[CHECK].u.s;

		if (!strcmp(check, last))
			continue;
		last = check;
		nchecks++;
		if (!is_check_ok(q->table, r))
			continue;
		nfine++;
		nsx_buf_printf(&fine, "%s%s", fine.n ? ", " : "", check);
	}
	nsx_md_text(q->out, "%zu of %zu checks found something missing "
		    "or limited%s%s.", nchecks - nfine, nchecks,
		    fine.n ? "; fine: " : "", fine.n ? fine.p : "");
	print_recapture(q);
	for (size_t r = 0; r < q->table->nrows; r++) {
		const struct nsx_cell *row = nsx_row_at(q->table, r);
		bool shown = row[RECAPTURE].u.s && q->what[r] & ~NSX_REC_ALL;

		if (!strcmp(row[STATUS].u.s, OK))
			continue;
		if (!shown && !strcmp(row[STATUS].u.s, MISSING)) {
			nsx_buf_printf(&missing, "%s%s (%s)",
				       missing.n ? "; " : "", row[DETAIL].u.s, row[CHECK].u.s);
			continue;
		}
		nsx_md_bullet(q->out, "**[%s] %s** (%s): %s.%s%s%s",
			      row[STATUS].u.s, row[CHECK].u.s,
			      nsx_md_name(q->out, row[SUBJECT].u.s),
			      row[DETAIL].u.s, shown ? " `" : "", shown ? row[RECAPTURE].u.s : "",
			      shown ? "`" : "");
	}
	if (missing.n)
		nsx_md_bullet(q->out, "**Missing**: %s.", missing.p);
}

/* Adds the exact shifts of the clocks. */
static void capture_quality_list_clocks(const struct nsx_trace *t, struct nsx_section *out)
{
	struct nsx_table *table = nsx_add_table(out, &layouts[1]);

	for (uint32_t i = 0; i < t->nclocks; i++) {
		const struct nsx_clock *c = &t->clock[i];
		struct nsx_cell *row;

		if (!c->shift_ns)
			continue;
		row = nsx_add_row(table);
		row[CLOCK_PID] = nsx_pid_cell(t, c->process);
		row[CLOCK_DEVICE] = nsx_device_cell(t, c->device);
		row[CLOCK_SHIFT] = nsx_int(c->shift_ns);
		if (c->within_ns != INT64_MAX)
			row[CLOCK_WITHIN] = nsx_int(c->within_ns);
	}
}

static int capture_quality_run(const struct nsx_run *run, struct nsx_section *out,
			       struct nsx_err *err)
{
	struct nsx_quality q = {.run = run, .t = run->trace, .out = out,
				.end = &run->measured->capture};

	if (nsx_read_capture_facts(q.t, &q.facts, err))
		return err->rc;
	q.table = nsx_add_table(out, &layouts[0]);
	nsx_check_gpu(&q);
	nsx_check_file(&q);
	nsx_check_tables(&q);
	capture_quality_list_clocks(q.t, out);
	capture_quality_print(&q);
	free(q.what);
	return 0;
}

NSX_DEFINE_PASS(capture_quality, .title = "Capture quality",
    .summary = "what the trace lacks, and how to capture it",
    .doc = "Checks what was recorded of the GPU: work of successful launches, launch calls of "
	   "kernels, the contents of CUDA graphs, counters, memory usage, page faults, the "
	   "identity of GPUs. Checks what was recorded of the host: NVTX, NCCL, operating-system "
	   "calls, scheduling. Also checks messages of the profiler, export options, defects in "
	   "rows, and the length of the session. \"missing\" means that there is no such data, "
	   "\"warn\" that conclusions from it are limited. The profiler's messages are counted by "
	   "meaning and never quoted, because they contain paths.",
    .derived_from = "the tables of the file, the settings of capture and export, the profiler's "
		    "messages",
    .limitations = "exports leave empty tables out, so events that were not traced cannot always "
		   "be distinguished from events that did not "
		   "happen", NSX_LAYOUTS(layouts), .measures = true);
