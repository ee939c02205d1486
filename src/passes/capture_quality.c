/* capture_quality.c - what the trace cannot tell, in which process, and the
 * command that gets it.
 *
 * Each check gives one or more rows.  "missing": the data is not there; "warn":
 * it is there, but conclusions from it are limited.  An export leaves empty
 * tables out, so "not there" means "no such event": whether it was not traced
 * or did not happen is told where the capture's settings say so.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include "capture_facts.h"
#include "pids.h"

enum { CHECK, STATUS, SUBJECT, DETAIL, RECAPTURE };
static const struct nsx_col cols[] = {
	{"check", "what was looked at", NSX_T_STR},
	{"status", "ok, warn: limited, missing: not there", NSX_T_STR},
	{"subject", "process or table", NSX_T_STR},
	{"detail", "what was found and what it limits", NSX_T_STR},
	{"recapture", "command that gets it", NSX_T_STR},
};
static const struct nsx_layout layouts[] = {
	{.key = "checks", .csv = "capture_quality", NSX_COLS(cols),
	 .json_rows = -1},
};

#define OK "ok"
#define WARN "warn"
#define MISSING "missing"
#define PROFILE "nsys profile --trace=cuda,nvtx,osrt"
#define APP " -o trace APP"
#define EXPORT "nsys export --type sqlite --lazy=false"
#define REPORT " -o trace.sqlite trace.nsys-rep"

enum { SHOWN_PROCESSES = 5 };

struct quality {
	const struct nsx_run *run;
	const struct nsx_trace *t;
	struct nsx_capture_facts facts;
	struct nsx_section *out;
	struct nsx_table *table;
	struct nsx_err *err;
	bool failed; /* out of memory; err is filled */
};

static const char *add(struct quality *q, const char *check, const char *status,
		       const char *subject, const char *recapture,
		       const char *fmt, ...) NSX_PRINTF(6, 7);

/* Returns the detail. */
static const char *add(struct quality *q, const char *check, const char *status,
		       const char *subject, const char *recapture,
		       const char *fmt, ...)
{
	struct nsx_cell *row = nsx_row(q->table, q->err);
	const char *detail;
	va_list ap;

	va_start(ap, fmt);
	detail = nsx_arena_vprintf(q->out->arena, fmt, ap);
	va_end(ap);
	if (!row) {
		q->failed = true;
		return detail;
	}
	row[CHECK] = nsx_string(check);
	row[STATUS] = nsx_string(status);
	row[SUBJECT] = nsx_string(subject);
	row[DETAIL] = nsx_string(detail);
	row[RECAPTURE] = nsx_string(recapture);
	return detail;
}

/* A limit that changes what the report can conclude is a finding. */
static void raise_finding(struct quality *q, const char *id, const char *title,
			  const char *severity, const char *evidence,
			  const char *advice)
{
	struct nsx_candidate c = {
		.id = id, .title = title, .category = "capture",
		.evidence = {evidence}, .recommendation = {advice},
		.device = NSX_NONE, .confidence = "high", .severity = severity,
		.table = "capture_quality", .key = id,
		.is_capture_quality = true,
	};

	nsx_add_candidate(q->out, &c);
}

static const char *command(struct quality *q, const char *line)
{
	return nsx_say(q->out, "Capture again: `%s`.", line);
}

static bool has(const struct quality *q, enum nsx_view v)
{
	return nsx_has_view(q->t->schema, v);
}

static const char *process_label(struct quality *q, uint32_t p)
{
	const char *name = nsx_process_name(q->t, p);

	return nsx_say(q->out, "pid %" PRId64 "%s%s%s", q->t->process[p].pid,
		       name ? " (" : "", name ? name : "", name ? ")" : "");
}

/* GPU work -------------------------------------------------------------------*/

struct activity { /* of a process */
	size_t launches, answered; /* launch calls; with GPU work of theirs  */
	size_t ops;
};

static int count_activity(const struct quality *q, struct activity **ret)
{
	const struct nsx_trace *t = q->t;
	struct activity *v = nsx_arena_try_array(q->run->scratch,
						 t->nprocesses, sizeof(*v),
						 "processes", q->err);

	if (!v)
		return q->err->rc;
	for (size_t i = 0; i < t->calls.n; i++) {
		struct activity *x =
			&v[t->thread[t->calls.thread[i]].process];

		if (t->calls.cls[i] != NSX_CALL_LAUNCH ||
		    t->calls.flags[i] & (NSX_CALL_FAILED | NSX_CALL_NESTED |
					 NSX_CALL_GRAPH))
			continue;
		x->launches++;
		x->answered += t->calls.op[i] != NSX_NONE;
	}
	for (size_t i = 0; i < t->ops.n; i++) {
		uint32_t p = nsx_op_process(t, i);

		if (p != NSX_NONE)
			v[p].ops++;
	}
	*ret = v;
	return 0;
}

static void no_activity(struct quality *q, uint32_t p, const struct activity *x)
{
	static const char line[] = "nsys profile --trace=cuda-sw,nvtx,osrt" APP;
	const char *detail = add(
		q, "gpu_activity", MISSING, process_label(q, p), line,
		"%zu kernel launches succeeded, but no kernel, copy or memset "
		"was recorded: the GPU's work is not known, which is not the "
		"same as an idle GPU. Usual causes: a driver newer than the "
		"profiler, another CUPTI client in the program, a killed "
		"process, WSL", x->launches);

	raise_finding(q, "gpu_activity", "GPU activity was not recorded",
		      "high", detail, command(q, line));
}

static void check_activity(struct quality *q)
{
	const struct nsx_trace *t = q->t;
	size_t silent = 0, active = 0;
	struct activity *v;

	if (count_activity(q, &v)) {
		q->failed = true;
		return;
	}
	for (uint32_t p = 0; p < t->nprocesses; p++) {
		const struct activity *x = &v[p];

		active += x->ops > 0;
		if (!x->launches || x->ops || nsx_pids_unknown(t))
			continue;
		if (silent++ < SHOWN_PROCESSES)
			no_activity(q, p, x);
	}
	if (silent > SHOWN_PROCESSES)
		add(q, "gpu_activity", MISSING, "other processes", NULL,
		    "the same holds for %zu more", silent - SHOWN_PROCESSES);
	if (silent)
		return;
	if (!t->ops.n && !t->calls.n && !q->facts.traced_cuda)
		add(q, "gpu_activity", MISSING, "GPU work", PROFILE APP,
		    "no CUDA call and no GPU work was recorded%s",
		    q->facts.has_settings ? ": CUDA was not traced" : "");
	else if (!t->ops.n)
		add(q, "gpu_activity", OK, "GPU work", NULL,
		    "none was recorded, and no recorded call launched any");
	else
		add(q, "gpu_activity", OK, "GPU work", NULL,
		    "recorded for %zu process%s", active,
		    active == 1 ? "" : "es");
}

/* Launches whose GPU row is lost. Launches into a graph under construction have
 * none, and a user's window cuts them off.
 */
static void check_lost_launches(struct quality *q)
{
	const struct nsx_trace *t = q->t;
	size_t launches = 0, answered = 0, nkernels = 0;
	struct activity *v;

	if (t->user.start_ns != t->user.end_ns || !t->ops.n ||
	    !nsx_has(t->schema, NSX_F_kernel_corr) ||
	    !nsx_has(t->schema, NSX_F_runtime_corr) || count_activity(q, &v))
		return;
	for (uint32_t p = 0; p < t->nprocesses; p++)
		if (v[p].ops) {
			launches += v[p].launches;
			answered += v[p].answered;
		}
	for (size_t i = 0; i < t->ops.n; i++)
		nkernels += t->ops.kind[i] == NSX_OP_KERNEL;
	if (!launches || !nkernels)
		return;
	if ((double)answered < 0.95 * (double)launches)
		add(q, "launches_recorded", WARN, "kernel launches", PROFILE APP,
		    "%zu of %zu launch calls left no GPU row: work was lost, "
		    "still queued at the end (synchronise and call "
		    "cudaProfilerStop before the program ends), or captured "
		    "into a graph",
		    launches - answered, launches);
	else
		add(q, "launches_recorded", OK, "kernel launches", NULL,
		    "%zu of %zu launch calls have their GPU row", answered,
		    launches);
}

/* "; of pid 111: 905, pid 112: 905": kernels without a call, where several
 * processes ran kernels.
 */
static const char *by_process(struct quality *q)
{
	const struct nsx_trace *t = q->t;
	size_t *none = nsx_arena_try_array(q->run->scratch, t->nprocesses,
					   sizeof(*none), "processes", q->err);
	uint32_t shown = 0;
	struct nsx_buf b = {0};
	const char *text;

	for (size_t i = 0; none && i < t->ops.n; i++) {
		uint32_t p = nsx_op_process(t, i);

		if (p != NSX_NONE && t->ops.kind[i] == NSX_OP_KERNEL)
			none[p] += t->ops.call[i] == NSX_NONE;
	}
	for (uint32_t p = 0; none && t->nprocesses > 1 && p < t->nprocesses; p++)
		if (none[p] && shown++ < SHOWN_PROCESSES)
			nsx_buf_printf(&b, "%s%s: %zu", b.n ? ", " : "; of ",
				       process_label(q, p), none[p]);
	if (shown > SHOWN_PROCESSES)
		nsx_buf_printf(&b, " and %u more", shown - SHOWN_PROCESSES);
	text = nsx_say(q->out, "%s", b.n ? b.p : "");
	nsx_buf_done(&b);
	return text;
}

static void check_calls(struct quality *q)
{
	static const char early[] = PROFILE
		" --capture-range=cudaProfilerApi --capture-range-end=stop" APP;
	static const char all[] = PROFILE " --cuda-trace-all-apis=true" APP;
	const struct nsx_matching *m = &q->t->matching;
	size_t none = m->before_capture + m->no_call, n = m->matched + none;
	const char *line = m->before_capture >= m->no_call ? early : all;
	const char *detail;
	double pct;

	if (!n)
		return;
	pct = 100 * (double)none / (double)n;
	if (!has(q, NSX_VIEW_runtime)) {
		add(q, "kernel_calls", MISSING, "API calls", PROFILE APP,
		    "no API call was recorded: what launched the %zu kernels, "
		    "and what the CPU did, is not known", n);
		return;
	}
	if (pct < 1) {
		detail = add(q, "kernel_calls", OK, "kernels", NULL,
			     "%zu of %zu kernels have their launch call",
			     m->matched, n);
		nsx_cleared(q->out, "Capture: %s.", detail);
		return;
	}
	detail = add(q, "kernel_calls", WARN, "kernels", line,
		     "%zu of %zu kernels (%.1f%%) have no launch call: %zu "
		     "were queued before the capture began (synchronise the "
		     "device before it begins), %zu for another reason (calls "
		     "that were not traced, launches from the device)%s. They "
		     "count as GPU time, but belong to no NVTX range, and gaps "
		     "before them have no cause", none, n, pct,
		     m->before_capture, m->no_call, by_process(q));
	if (pct >= 20)
		raise_finding(q, "kernel_calls", "Many kernels have no launch "
			      "call in the trace", "low", detail,
			      command(q, line));
}

static const char *text_value(const struct quality *q, const char *section,
			      const char *key)
{
	const struct nsx_cell *c = nsx_section_value(
		nsx_report_section(q->run->report, section), key);

	return c && c->type == NSX_T_STR ? c->u.s : "";
}

static double number_value(const struct quality *q, const char *section,
			   const char *key)
{
	const struct nsx_cell *c = nsx_section_value(
		nsx_report_section(q->run->report, section), key);

	return c && c->type == NSX_T_F64 ? c->u.f : NAN;
}

static void check_graphs(struct quality *q)
{
	static const char node[] = PROFILE " --cuda-graph-trace=node" APP;
	const struct nsx_section *s = nsx_report_section(q->run->report,
							 "cuda_graphs");
	const char *mode = text_value(q, "cuda_graphs", "mode");

	if (!s || s->status == NSX_S_SKIPPED)
		return;
	if (!strcmp(mode, "opaque"))
		add(q, "cuda_graphs", MISSING, "CUDA graphs", node,
		    "graphs were launched, but nothing of what they ran was "
		    "recorded: busy time is a lower bound");
	else if (!strcmp(mode, "graph"))
		add(q, "cuda_graphs", WARN, "CUDA graphs", node,
		    "replays were recorded as a whole: no kernel, communication "
		    "or range inside them is known (node mode shows them, and "
		    "slows launches)");
	else if (*mode && strcmp(mode, "none"))
		add(q, "cuda_graphs", OK, "CUDA graphs", NULL,
		    "recorded node by node, which slows launches");
	else if (q->t->calls.n)
		add(q, "cuda_graphs", OK, "CUDA graphs", NULL,
		    "no graph was launched");
}

/* Other tables ----------------------------------------------------------------*/

static void check_counters(struct quality *q)
{
	if (has(q, NSX_VIEW_gpu_metric))
		add(q, "gpu_metrics", OK, "GPU_METRICS", NULL,
		    "counters were sampled");
	else
		add(q, "gpu_metrics", MISSING, "GPU_METRICS",
		    PROFILE " --gpu-metrics-devices=all "
		    "--gpu-metrics-set=<supported-set> "
		    "--gpu-metrics-frequency=10000" APP,
		    "no GPU counter was sampled: tensor, memory, PCIe and "
		    "NVLink rates are not known (--gpu-metrics-set=help lists "
		    "the sets; up to nsys 2024 it is --gpu-metrics-device)");
	if (has(q, NSX_VIEW_memory_event))
		add(q, "memory_usage", OK, "CUDA_GPU_MEMORY_USAGE_EVENTS", NULL,
		    "allocations were recorded");
	else
		add(q, "memory_usage", MISSING, "CUDA_GPU_MEMORY_USAGE_EVENTS",
		    PROFILE " --cuda-memory-usage=true" APP,
		    "no allocation was recorded%s: peak and leaks are not "
		    "known", q->facts.memory_usage_off ?
			     " (it was not asked for)" : "");
}

static void check_migrations(struct quality *q)
{
	const struct nsx_trace *t = q->t;
	size_t n = 0;

	for (uint32_t i = 0; i < t->ncopies; i++)
		n += t->copy[i].copy_kind >= 11 && t->copy[i].copy_kind <= 13;
	if (n && !has(q, NSX_VIEW_um_cpu_fault) && !has(q, NSX_VIEW_um_gpu_fault))
		add(q, "page_faults", MISSING, "unified memory",
		    PROFILE " --cuda-um-cpu-page-faults=true "
		    "--cuda-um-gpu-page-faults=true" APP,
		    "the page faults behind %zu migrations were not recorded",
		    n);
}

/* Processes whose kernels lie mostly outside ranges, where others' do not. */
static void check_nvtx_by_process(struct quality *q, double least)
{
	const struct nsx_table *t = nsx_section_table(
		nsx_report_section(q->run->report, "nvtx_by_pid"),
		"kernel_time_by_pid.pids");
	bool any = false;
	size_t low = 0;

	for (size_t r = 0; t && r < t->nrows; r++)
		any |= nsx_table_number(t, r, "pid_attribution_coverage_pct") >=
		       least;
	for (size_t r = 0; any && r < t->nrows; r++) {
		double pct = nsx_table_number(t, r,
					      "pid_attribution_coverage_pct");

		if (pct >= least || low++ >= SHOWN_PROCESSES)
			continue;
		add(q, "nvtx", WARN,
		    nsx_say(q->out, "pid %.0f", nsx_table_number(t, r, "pid")),
		    PROFILE " --pytorch=autograd-nvtx" APP,
		    "%.1f%% of the process's kernel time was launched inside "
		    "NVTX ranges", pct);
	}
	if (low > SHOWN_PROCESSES)
		add(q, "nvtx", WARN, "other processes", NULL,
		    "the same holds for %zu more", low - SHOWN_PROCESSES);
}

static void check_nvtx(struct quality *q)
{
	const struct nsx_capture_facts *f = &q->facts;
	double pct = number_value(q, "nvtx_kernel_time", "coverage_pct");
	double least = 100 * q->run->opts->nvtx_coverage_warn;
	bool no_calls = number_value(q, "nvtx_kernel_time",
				     "unmapped.no_api_row_ms") >
			number_value(q, "nvtx_kernel_time",
				     "unmapped.no_range_ms");

	if (!q->t->nvtx.n && f->traced_nvtx)
		add(q, "nvtx", MISSING, "NVTX_EVENTS",
		    PROFILE " --pytorch=autograd-nvtx" APP,
		    "NVTX was traced, but the program has no range: GPU time "
		    "cannot be told by its phases (add ranges; for PyTorch "
		    "this option does)");
	else if (!q->t->nvtx.n)
		add(q, "nvtx", MISSING, "NVTX_EVENTS", PROFILE APP,
		    "no NVTX range was recorded%s: GPU time cannot be told by "
		    "phases of the program",
		    f->has_settings ? " (NVTX was not traced)" : "");
	else if (pct < least)
		add(q, "nvtx", WARN, "NVTX_EVENTS",
		    no_calls ? NULL : PROFILE " --pytorch=autograd-nvtx" APP,
		    "%.1f%% of the kernel time was launched inside NVTX "
		    "ranges, less than %.0f%%: figures by range do not stand "
		    "for the whole (%s)", pct, least,
		    no_calls ? "mostly because launch calls are missing" :
			       "most of the rest was launched outside any");
	else if (pct >= least)
		add(q, "nvtx", OK, "NVTX_EVENTS", NULL,
		    "%.1f%% of the kernel time was launched inside NVTX "
		    "ranges", pct);
	else
		add(q, "nvtx", OK, "NVTX_EVENTS", NULL, "%zu ranges and marks",
		    q->t->nvtx.n);
	if (q->t->nvtx.n)
		check_nvtx_by_process(q, least);
}

static void check_host(struct quality *q)
{
	const struct nsx_capture_facts *f = &q->facts;

	if (has(q, NSX_VIEW_osrt))
		add(q, "os_runtime", OK, "OSRT_API", NULL,
		    "operating-system calls were recorded");
	else
		add(q, "os_runtime", MISSING, "OSRT_API", PROFILE APP,
		    "no operating-system call was recorded%s: waits of the CPU "
		    "outside CUDA are not known",
		    f->has_settings && !f->traced_osrt ?
			    " (they were not traced)" : "");
	if (has(q, NSX_VIEW_sched) && !f->messages[NSX_MSG_SCHED])
		add(q, "scheduling", OK, "SCHED_EVENTS", NULL,
		    "when threads ran was recorded");
	else
		add(q, "scheduling", has(q, NSX_VIEW_sched) ? WARN : MISSING,
		    "SCHED_EVENTS",
		    PROFILE " --sample=none --cpuctxsw=process-tree" APP,
		    "when threads ran was not%s recorded%s",
		    has(q, NSX_VIEW_sched) ? " completely" : "",
		    f->messages[NSX_MSG_PERF] ?
			    "; the profiler was refused: it needs "
			    "/proc/sys/kernel/perf_event_paranoid at 2 or "
			    "less" : "");
	if (!has(q, NSX_VIEW_overhead) && has(q, NSX_VIEW_runtime) &&
	    has(q, NSX_VIEW_kernel))
		add(q, "launch_queue", MISSING, "CUPTI_ACTIVITY_KIND_OVERHEAD",
		    NULL, "whether launches waited for a full queue is not "
			  "recorded (nsys 2025.5 and later do): slow launch "
			  "calls may be a CPU that is ahead");
}

static void check_nccl(struct quality *q)
{
	const struct nsx_trace *t = q->t;
	bool kernels = false, ranges = false;

	for (uint32_t i = 0; !kernels && i < t->nshapes; i++)
		kernels = t->shape[i].op != NSX_COMM_NONE;
	for (uint32_t i = 0; !ranges && i < t->ndomains; i++)
		ranges = t->domain[i].is_nccl;
	if (!kernels)
		return;
	if (!ranges)
		add(q, "nccl", MISSING, "NCCL",
		    "nsys profile --trace=cuda,nvtx,osrt,nccl" APP,
		    "communication kernels ran, but NCCL's own ranges were "
		    "not recorded: sizes, peers and communicators are not "
		    "known (--trace=nccl needs nsys 2025.6; before, NVTX "
		    "tracing records them)");
	else
		add(q, "nccl", OK, "NCCL", NULL, "its ranges were recorded");
}

/* The file --------------------------------------------------------------------*/

static void check_messages(struct quality *q)
{
	static const struct {
		enum nsx_message kind;
		const char *what, *line;
	} list[] = {
		{NSX_MSG_LOST, "events were dropped or may be missing",
		 PROFILE " --duration=30 --kill=none" APP},
		{NSX_MSG_PARTIAL, "CUDA events may not all have been collected "
				  "(let the program end by itself, or "
				  "synchronise and call cudaProfilerStop)",
		 PROFILE APP},
		{NSX_MSG_LIMIT, "the recording of a process ended at a size "
				"limit", PROFILE " --duration=30 --kill=none" APP},
		{NSX_MSG_ORDER, "events came in a wrong order (an old driver)",
		 PROFILE " --cuda-graph-trace=node" APP},
		{NSX_MSG_DRIVER, "the driver is newer than this nsys: CUDA was "
				 "traced the way of an older one (use a newer "
				 "nsys)", PROFILE APP},
		{NSX_MSG_METRICS, "samples of GPU counters are missing",
		 PROFILE " --gpu-metrics-devices=all "
			 "--gpu-metrics-frequency=1000" APP},
		{NSX_MSG_ERROR, "errors that are not known here (their text may "
				"hold paths, so it is not shown)", NULL},
	};
	const struct nsx_capture_facts *f = &q->facts;
	size_t told = 0;

	for (size_t i = 0; i < ARRAY_LEN(list); i++) {
		size_t n = f->messages[list[i].kind];
		const char *detail;

		told += n;
		if (!n)
			continue;
		detail = add(q, "diagnostics", WARN, "DIAGNOSTIC_EVENT",
			     list[i].line, "the profiler says in %zu message%s:"
			     " %s%s", n, n == 1 ? "" : "s", list[i].what,
			     list[i].kind == NSX_MSG_LOST && f->lost ?
				     nsx_say(q->out, " (%" PRId64 " events)",
					     f->lost) : "");
		if (list[i].kind == NSX_MSG_LOST ||
		    list[i].kind == NSX_MSG_LIMIT)
			raise_finding(q, "lost_events", "The profiler lost "
				      "events", "medium", detail,
				      command(q, list[i].line));
	}
	if (!f->has_messages)
		add(q, "diagnostics", OK, "DIAGNOSTIC_EVENT", NULL,
		    "the file has no messages of the profiler (kept from nsys "
		    "2024.2 on)");
	else if (!told)
		nsx_cleared(q->out, "Capture: %s.",
			    add(q, "diagnostics", OK, "DIAGNOSTIC_EVENT", NULL,
				"no message of the profiler speaks of lost "
				"events"));
}

static void check_export(struct quality *q)
{
	const struct nsx_capture_facts *f = &q->facts;
	const char *line = EXPORT REPORT;

	if (!has(q, NSX_VIEW_export_meta)) {
		add(q, "export_options", OK, "export", NULL,
		    "the file does not tell its options (kept from nsys 2021.5 "
		    "on)");
		return;
	}
	if (f->part_of_time)
		add(q, "export_options", WARN, "export", line,
		    "only a part of the capture's time was exported: events "
		    "across its edges are left out");
	if (f->part_of_tables)
		add(q, "export_options", WARN, "export", line,
		    "only some tables were exported: what is absent may have "
		    "been recorded");
	if (has(q, NSX_VIEW_payload_schema) && f->without_json &&
	    f->without_blobs)
		add(q, "export_options", WARN, "NVTX_PAYLOAD_SCHEMAS",
		    EXPORT " --include-json=true --include-blobs=true" REPORT,
		    "ranges were exported without their payload: sizes, peers "
		    "and communicators of NCCL calls among them are not known");
	if (f->shifted)
		add(q, "export_options", WARN, "export", line,
		    "instants were shifted or are given since 1970: they do "
		    "not fit those of another export");
	if (!f->part_of_time && !f->part_of_tables && !f->shifted)
		add(q, "export_options", OK, "export", NULL,
		    "whole time, all tables, instants as captured");
}

static void check_defects(struct quality *q)
{
	const struct nsx_defects *d = &q->t->defects;
	const struct {
		const char *subject;
		size_t n;
		const char *what;
	} list[] = {
		{"spans", d->negative, "end before they start; left out"},
		{"cells", d->mistyped, "are NULL or text where a number is "
				       "needed; their rows are left out"},
		{"instants", d->out_of_range, "are beyond any clock; their rows "
					      "are left out"},
		{"names", d->dangling, "refer to a string that is not there; "
				       "shown as id:<n>"},
		{"backtrace rows", d->duplicate_calls, "repeat an API call to "
						       "carry its backtrace; "
						       "left out"},
		{"ranges", d->open_ranges, "were never closed; taken as open "
					   "to the end"},
		{"push/pop ranges", d->crossing_ranges,
		 "end after the range they began in; treated as start/end "
		 "ranges"},
	};
	bool any = false;

	for (size_t i = 0; i < ARRAY_LEN(list); i++) {
		/* Backtraces repeat calls by design. */
		bool normal = list[i].n == d->duplicate_calls &&
			      !strcmp(list[i].subject, "backtrace rows");

		if (!list[i].n)
			continue;
		any = true;
		add(q, "defects", normal ? OK : WARN, list[i].subject, NULL,
		    "%zu %s", list[i].n, list[i].what);
	}
	if (!any)
		add(q, "defects", OK, "rows", NULL, "no defect in any row");
}

static void check_file(struct quality *q)
{
	static const char line[] = EXPORT REPORT;
	const struct nsx_schema *s = q->t->schema;
	const char *detail;

	for (unsigned v = 0; v < NSX_NVIEWS; v++)
		if (s->refused[v])
			add(q, "file", MISSING, nsx_view_defs[v].name, line,
			    "a %s stands where the table should be: it was not "
			    "read", s->refused[v]);
	if (!q->t->damaged)
		return;
	detail = add(q, "file", WARN, "database", line,
		     "the file is damaged or cut off: figures count what could "
		     "be read (the report's warnings say which tables)");
	raise_finding(q, "file", "The file is damaged", "high", detail,
		      nsx_say(q->out, "Export again: `%s`.", line));
}

/* Two processes' device 0 may be two GPUs, or one. */
static void check_identity(struct quality *q)
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
		add(q, "gpu_identity", WARN, "TARGET_INFO_CUDA_DEVICE", NULL,
		    "several processes used GPUs, which are told by their CUDA "
		    "ordinal only: device 0 of two processes is taken to be "
		    "one GPU (exports from nsys 2025.1 on tell)");
	else if (unknown)
		add(q, "gpu_identity", OK, "TARGET_INFO_CUDA_DEVICE", NULL,
		    "GPUs are told by their CUDA ordinal only, which is enough "
		    "for one process");
	else
		add(q, "gpu_identity", OK, "TARGET_INFO_CUDA_DEVICE", NULL,
		    "GPUs are told by uuid or index");
}

static void check_session(struct quality *q)
{
	const struct nsx_window *w = &q->t->full;
	double ms = (double)(w->end_ns - w->start_ns) / 1e6;
	double pct = number_value(q, "profiler_cost", "most_lost_pct");

	if (w->start_ns == w->end_ns)
		add(q, "session", WARN, "window", NULL,
		    "the trace holds no GPU work, API call, NVTX range or "
		    "operating-system call");
	else if (ms < 100)
		add(q, "session", WARN, "window",
		    PROFILE " --delay=10 --duration=20 --kill=none" APP,
		    "%.3f ms long: too short to tell a steady state from a "
		    "start", ms);
	else
		add(q, "session", OK, "window", NULL, "%.3f ms long", ms);
	if (pct >= 5)
		add(q, "profiler_overhead", WARN, "PROFILER_OVERHEAD",
		    "nsys profile --trace=cuda,nvtx --sample=none "
		    "--cpuctxsw=none" APP,
		    "the profiler took up to %.1f%% of a thread's time inside "
		    "the window", pct);
	else if (pct >= 0)
		add(q, "profiler_overhead", OK, "PROFILER_OVERHEAD", NULL,
		    "the profiler took at most %.1f%% of a thread's time "
		    "inside the window", pct);
}

/* Markdown ---------------------------------------------------------------------*/

/* Whether all rows of a row's check are ok (there are some 30 rows). */
static bool is_fine(const struct nsx_table *t, size_t row)
{
	const char *check = nsx_table_text(t, row, "check");
	bool fine = true;

	for (size_t r = 0; r < t->nrows; r++)
		if (!strcmp(nsx_table_text(t, r, "check"), check))
			fine &= !strcmp(nsx_table_text(t, r, "status"), OK);
	return fine;
}

static void print(struct quality *q)
{
	const char *last = "";
	struct nsx_buf fine = {0};

	for (size_t r = 0; r < q->table->nrows; r++) {
		const struct nsx_cell *row = nsx_row_at(q->table, r);

		if (is_fine(q->table, r) && strcmp(row[CHECK].u.s, last))
			nsx_buf_printf(&fine, "%s%s", fine.n ? ", " : "",
				       row[CHECK].u.s);
		last = row[CHECK].u.s;
		if (!strcmp(row[STATUS].u.s, OK))
			continue;
		nsx_md_bullet(q->out, "**[%s] %s** (%s): %s.%s%s%s",
			      row[STATUS].u.s, row[CHECK].u.s,
			      nsx_md_name(q->out, row[SUBJECT].u.s),
			      row[DETAIL].u.s,
			      row[RECAPTURE].u.s ? " `" : "",
			      row[RECAPTURE].u.s ? row[RECAPTURE].u.s : "",
			      row[RECAPTURE].u.s ? "`" : "");
	}
	if (fine.n)
		nsx_md_bullet(q->out, "Checked and fine: %s.", fine.p);
	nsx_buf_done(&fine);
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	struct quality q = {.run = run, .t = run->trace, .out = out,
			    .err = err};

	if (nsx_read_capture_facts(q.t, &q.facts, err))
		return err->rc;
	q.table = nsx_add_table(out, &layouts[0]);
	check_file(&q);
	check_activity(&q);
	check_lost_launches(&q);
	check_calls(&q);
	check_graphs(&q);
	check_messages(&q);
	check_nvtx(&q);
	check_nccl(&q);
	check_counters(&q);
	check_migrations(&q);
	check_host(&q);
	check_identity(&q);
	check_export(&q);
	check_defects(&q);
	check_session(&q);
	if (q.failed)
		return err->rc;
	print(&q);
	return 0;
}

NSX_DEFINE_PASS(capture_quality) {
	.id = "capture_quality",
	.title = "Capture quality",
	.summary = "what the trace cannot tell, and how to capture it",
	.doc = "Checks of what was recorded: GPU work behind successful "
	       "launches, launch calls behind kernels, the inside of CUDA "
	       "graphs, messages of the profiler, NVTX, NCCL, counters, "
	       "memory usage, page faults, operating-system calls, "
	       "scheduling, the identity of GPUs, export options, defects in "
	       "rows, the length of the session. \"missing\" means that the "
	       "data is not there, \"warn\" that conclusions from it are "
	       "limited. The profiler's messages are counted by what they "
	       "mean and never quoted, for they hold paths.",
	.derived_from = "the tables that are there, the capture's and the "
			"export's settings, the profiler's messages",
	.limitations = "an export leaves empty tables out: that something was "
		       "not traced cannot always be told from that it did not "
		       "happen",
	.layouts = layouts,
	.nlayouts = ARRAY_LEN(layouts),
	.late = true,
	.run = run,
};
