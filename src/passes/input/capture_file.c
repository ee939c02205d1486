/* capture_file.c - checks the profiler's messages, the export, and the rows themselves. */
#include <inttypes.h>
#include "passes/input/capture_quality.h"
#include "facts/profiler.h"
#include "sqlite/source.h"

static const struct {
	enum nsx_message kind;
	unsigned line;
	const char *what, *title; /* title of the finding made from the message; NULL: none */
	enum nsx_severity severity;
} messages[] = {
	{NSX_MSG_LOST, NSX_REC_SHORT, "events were dropped or may be missing",
	 "The profiler may have lost CUDA events", NSX_SEV_MEDIUM},
	{NSX_MSG_DROPPED, NSX_REC_SHORT, "records were dropped or lost",
	 "The profiler reports dropped or lost records", NSX_SEV_LOW},
	{NSX_MSG_PARTIAL, NSX_REC_BASIC,
	 "CUDA events may not all have been collected (let the program end by itself, or "
	 "synchronise and call cudaProfilerStop)",
	 "The profiler may not have collected all CUDA events", NSX_SEV_LOW},
	{NSX_MSG_OTHERS, NSX_REC_BASIC,
	 "events other than CUDA calls and GPU work may not all have been collected", NULL, 0},
	{NSX_MSG_LIMIT, NSX_REC_SHORT,
	 "the recording of a process ended at a size limit",
	 "The recording of a process ended at a size limit", NSX_SEV_MEDIUM},
	{NSX_MSG_ORDER, NSX_REC_GRAPHS,
	 "events came in the wrong order (an old driver)", NULL, 0},
	{NSX_MSG_DRIVER, NSX_REC_BASIC,
	 "the driver is newer than this nsys, so CUDA was traced in the way of an older driver "
	 "(use a newer nsys)", NULL, 0},
	{NSX_MSG_METRICS, NSX_REC_SLOWER,
	 "samples of GPU counters are missing", NULL, 0},
	{NSX_MSG_ERROR, 0,
	 "unknown errors (their text may contain paths, so it is not "
	 "shown)", "The profiler reports an unknown error", NSX_SEV_LOW},
	{NSX_MSG_WARNING, 0,
	 "unknown warnings (their text may contain paths, so it is not shown)", "", NSX_SEV_LOW},
};

/* The sentence on messages of a kind. CUPTI counts its own losses, of CUDA calls and of GPU work.
 */
static const char *say_message(struct nsx_quality *q, enum nsx_message kind, const char *title)
{
	struct nsx_arena *a = q->out->arena;

	if (kind == NSX_MSG_WARNING)
		return nsx_say(q->out, "%s%s unknown", q->facts.messages[NSX_MSG_ERROR] ?
			"The profiler reports an unknown error; " : "", nsx_text_n(
			a, q->facts.messages[kind], "warning of the profiler is",
			"warnings of the profiler are"));
	if (kind == NSX_MSG_LOST && q->facts.lost)
		return nsx_say(q->out, "The profiler lost %s", nsx_text_n(
			a, (size_t)q->facts.lost, "CUDA event", NULL));
	return title;
}

static void check_messages(struct nsx_quality *q)
{
	const struct nsx_capture_facts *f = &q->facts;
	size_t told = 0;

	for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
		enum nsx_message kind = messages[i].kind;
		size_t n = f->messages[kind];

		told += n;
		if (!n)
			continue;
		nsx_check(q, "diagnostics", WARN, "DIAGNOSTIC_EVENT", messages[i].line,
			  "%zu message%s of the profiler: %s%s", n,
			  n == 1 ? "" : "s", messages[i].what,
			  kind == NSX_MSG_LOST && f->lost ?
			  nsx_say(q->out, " (%" PRId64 " events)", f->lost) : "");
		/* without GPU work, the check gpu_activity reports this reason */
		if (messages[i].title && (kind != NSX_MSG_PARTIAL || q->t->has_gpu_work) &&
		    (kind != NSX_MSG_ERROR || !f->messages[NSX_MSG_WARNING]))
			nsx_raise(q, kind == NSX_MSG_ERROR || kind == NSX_MSG_WARNING ?
					     NSX_ID_profiler_messages : NSX_ID_lost_events, false,
				  say_message(q, kind, messages[i].title), messages[i].severity);
	}
	if (!f->has_messages) {
		nsx_check(q, "diagnostics", OK, "DIAGNOSTIC_EVENT", 0,
			  "the file has no messages of the profiler (nsys keeps them from 2024.2 "
			  "on)");
	} else if (!told) {
		nsx_check(q, "diagnostics", OK, "DIAGNOSTIC_EVENT", 0,
			  "no message of the profiler mentions lost events");
	}
}

static void check_export(struct nsx_quality *q)
{
	const struct nsx_capture_facts *f = &q->facts;
	const unsigned line = NSX_REC_EXPORT;

	if (!nsx_seen(q, NSX_VIEW_export_meta)) {
		nsx_check(q, "export_options", OK, "export", 0,
			  "the file does not contain its export options (nsys keeps them from "
			  "2021.5 on)");
		return;
	}
	if (f->part_of_time)
		nsx_check(q, "export_options", WARN, "export", line,
			  "only a part of the capture's time was exported, without events that "
			  "cross its edges");
	if (f->part_of_tables)
		nsx_check(q, "export_options", WARN, "export", line,
			  "only some tables were exported, so missing events may have been "
			  "recorded");
	if (nsx_seen(q, NSX_VIEW_payload_schema) && f->without_json && f->without_blobs)
		nsx_check(q, "export_options", WARN, "NVTX_PAYLOAD_SCHEMAS",
			  NSX_REC_EXPORT | NSX_REC_PAYLOAD,
			  "ranges were exported without payloads: sizes, peers and communicators "
			  "of NCCL calls are not known");
	if (f->shifted)
		nsx_check(q, "export_options", WARN, "export", line,
			  "instants were shifted or count from 1970, so they do not match those of "
			  "another export");
	if (!f->part_of_time && !f->part_of_tables && !f->shifted)
		nsx_check(q, "export_options", OK, "export", 0,
			  "whole time, all tables, instants as captured");
}

static void check_defects(struct nsx_quality *q)
{
	const struct nsx_defects *d = &q->t->defects;
	const struct {
		const char *subject;
		size_t n;
		const char *what;
	} list[] = {
	    {"spans", d->negative, "end before they start and are left out"},
	    {"cells", d->mistyped,
	     "are NULL or text instead of a number; their rows are left out"},
	    {"instants", d->out_of_range,
	     "are beyond any clock; their rows "
	     "are left out"},
	    {"names", d->dangling,
	     "refer to a missing string and are shown as id:<n>"},
	    {"backtrace rows", d->duplicate_calls,
	     "repeat an API call to carry its backtrace and are left out"},
	    {"ranges", d->open_ranges,
	     "were never closed and are assumed to be open to the end"},
	    {"push/pop ranges", d->crossing_ranges,
	     "end after the range they began in and are treated as start/end ranges"},
	};
	bool any = false;

	for (size_t i = 0; i < ARRAY_LEN(list); i++) {
		/* rows with backtraces repeat calls by design */
		bool normal = list[i].n == d->duplicate_calls &&
			      !strcmp(list[i].subject, "backtrace rows");

		if (!list[i].n)
			continue;
		any = true;
		nsx_check(q, "defects", normal ? OK : WARN, list[i].subject,
			  0, "%zu %s", list[i].n, list[i].what);
	}
	if (!any)
		nsx_check(q, "defects", OK, "rows", 0, "no defect in any row%s",
			  nsx_is_in_part(q->t) ? " that was read" : "");
}

static void check_damage(struct nsx_quality *q)
{
	const struct nsx_schema *s = q->t->schema;

	for (unsigned v = 0; v < NSX_NVIEWS; v++) {
		const char *name = nsx_view_defs[v].name;

		if (!s->refused[v])
			continue;
		nsx_check(q, "file", MISSING, name, NSX_REC_EXPORT, "it %s", s->refused[v]);
		if (v != NSX_VIEW_kernel) /* which gpu_activity tells */
			nsx_raise(q, NSX_ID_file, true, nsx_say(q->out, "the table of '%s' %s",
				name, s->refused[v]), NSX_SEV_MEDIUM);
	}
	if (!q->t->damaged)
		return;
	nsx_check(q, "file", WARN, "database",
		  nsx_db_source(s->db) ? NSX_REC_BASIC : NSX_REC_EXPORT,
		  "the file is damaged or cut off, so figures cover only what could be read (the "
		  "report's warnings name the tables)");
	nsx_raise(q, NSX_ID_file, false, "The file is damaged", NSX_SEV_HIGH);
}

/* The first device that several processes use and that only its ordinal identifies; NSX_NONE: none.
 */
static uint32_t find_shared_ordinal(const struct nsx_trace *t)
{
	for (uint32_t a = 0; a < t->nstreams; a++)
		for (uint32_t b = a + 1; b < t->nstreams; b++)
			if (t->stream[a].device == t->stream[b].device &&
			    t->stream[a].process != t->stream[b].process &&
			    !*nsx_text(t, t->device[t->stream[a].device].gpu))
				return t->stream[a].device;
	return NSX_NONE;
}

static void warn_identity(struct nsx_quality *q)
{
	uint32_t shared = find_shared_ordinal(q->t);

	nsx_check(q, "gpu_identity", WARN, "TARGET_INFO_CUDA_DEVICE", 0,
		  "several processes used GPUs and identify them by CUDA ordinal only, so device 0 "
		  "of two processes is taken to be one GPU (exports from nsys 2025.1 on identify "
		  "the GPU)");
	if (shared != NSX_NONE)
		nsx_raise(q, NSX_ID_gpu_identity, false,
			  nsx_say(q->out, "GPU %s of several processes is taken to be one GPU; if "
				  "each has its own CUDA_VISIBLE_DEVICES, there may be "
				  "several",
				  nsx_gpu_label(q->t, shared)), NSX_SEV_LOW);
}

/* Warns that device 0 of two processes may be one GPU or two. */
static void check_identity(struct nsx_quality *q)
{
	const struct nsx_trace *t = q->t;
	uint32_t unknown = 0, processes = 0, last = NSX_NONE;

	for (uint32_t d = 0; d < t->ndevices; d++)
		unknown += !*nsx_text(t, t->device[d].gpu);
	for (uint32_t s = 0; s < t->nstreams; s++) {
		processes += last != NSX_NONE && t->stream[s].process != last;
		last = t->stream[s].process;
	}
	if (!t->ndevices)
		return;
	if (unknown && processes)
		warn_identity(q);
	else if (unknown)
		nsx_check(q, "gpu_identity", OK, "TARGET_INFO_CUDA_DEVICE", 0,
			  "GPUs are identified by CUDA ordinal only, which is enough for one "
			  "process");
	else
		nsx_check(q, "gpu_identity", OK, "TARGET_INFO_CUDA_DEVICE",
			  0, "GPUs are identified by uuid or index");
}

static void check_session(struct nsx_quality *q)
{
	const struct nsx_window *w = &q->t->full;
	const struct nsx_window read = nsx_read_window(q->t);
	double ms = (double)(w->end_ns - w->start_ns) / 1e6;
	const struct nsx_profiler *p = q->run->facts->profiler;
	double pct = p ? p->most_lost_pct : NAN;

	if (w->start_ns == w->end_ns)
		nsx_check(q, "session", WARN, "window", 0,
			  "the trace holds no GPU work, API call, NVTX range "
			  "or operating-system call");
	else if (ms < 100)
		nsx_check(q, "session", WARN, "window", NSX_REC_LATER,
			  "%s long: too short to distinguish a steady state from a "
			  "start", nsx_say_ms(q->out, ms));
	else
		nsx_check(q, "session", OK, "window", 0, "%s long", nsx_say_ms(q->out, ms));
	if (nsx_is_beyond_session(q->t, q->t->last_ns))
		nsx_check(q, "session", WARN, "times", 0, "a record ends %s after the end of the "
			  "session, which is impossible; what lies beyond is not counted as "
			  "recorded",
			  nsx_say_time(q->out, q->t->last_ns - q->t->session_end_ns));
	if (q->t->schema->reach->is_on)
		nsx_check(q, "session", WARN, "rows", 0,
			  "from tables sorted by time, only rows that begin in %s are read "
			  "(--reach): events that begin earlier and reach into the window may be "
			  "missed",
			  nsx_text_window(q->out->arena, &read));
	else if (nsx_is_in_part(q->t))
		nsx_check(q, "session", OK, "rows", 0,
			  "the requested window, what led to it and margins around it (%s) are "
			  "read in full; of other rows only their times, threads and streams",
			  nsx_text_window(q->out->arena, &read));
	if (pct >= 5)
		nsx_check(q, "profiler_overhead", WARN, "PROFILER_OVERHEAD", NSX_REC_LIGHT,
			  "the profiler took up to %.1f %% of a thread's time inside the "
			  "window", pct);
	else if (pct >= 0)
		nsx_check(q, "profiler_overhead", OK, "PROFILER_OVERHEAD", 0,
			  "the profiler took at most %.1f %% of a thread's time inside the window",
			  pct);
}

void nsx_check_file(struct nsx_quality *q)
{
	check_damage(q);
	check_messages(q);
	check_identity(q);
	check_export(q);
	check_defects(q);
	check_session(q);
}
