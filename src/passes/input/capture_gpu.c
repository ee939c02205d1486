/* capture_gpu.c - checks whether GPU work was recorded, and its launch calls. */
#include "passes/input/capture_quality.h"
#include "report/corrections.h"
#include "report/failures.h"

struct activity {		   /* calls of one process */
	size_t launches, answered; /* launch calls, and launch calls with recorded GPU work */
	size_t ops, run;	   /* ops: recorded GPU work; run: kernels and graphs among it */
};

static struct activity *count_activity(const struct nsx_quality *q)
{
	const struct nsx_trace *t = q->t;
	struct activity *v;

	nsx_few(v, q->run->scratch, t->nprocesses);
	for (size_t i = 0; i < t->calls.n; i++) {
		struct activity *x = &v[t->thread[nsx_call_thread(t, i)].process];

		if (t->calls.cls[i] != NSX_CALL_LAUNCH ||
		    t->calls.flags[i] & (NSX_CALL_FAILED | NSX_CALL_NESTED | NSX_CALL_GRAPH))
			continue;
		x->launches++;
		x->answered += nsx_call_op(&t->calls, i) != NSX_NONE;
	}
	for (size_t i = 0; i < t->ops.n; i++) {
		uint32_t p = nsx_op_process(t, i);

		if (p == NSX_NONE)
			continue;
		v[p].ops++;
		v[p].run += t->ops.kind[i] == NSX_OP_KERNEL || t->ops.kind[i] == NSX_OP_GRAPH;
	}
	return v;
}

static void report_no_activity(struct nsx_quality *q, uint32_t p, const struct activity *x)
{
	const char *subject = nsx_process_label(q, p);
	const char *unread = q->t->schema->refused[NSX_VIEW_kernel];

	if (unread) { /* there is a table of kernels: the export is at fault */
		nsx_check(q, "gpu_activity", MISSING, subject, NSX_REC_EXPORT,
			  "the GPU's work is not known: the table of kernels %s", unread);
		nsx_raise(q, NSX_ID_gpu_activity, true,
			  nsx_say(q->out, "the table of kernels %s", unread), NSX_SEV_HIGH);
		return;
	}
	nsx_check(q, "gpu_activity", MISSING, subject, NSX_REC_SOFTWARE,
		  "%zu kernel launches succeeded, but no kernel was recorded, so the GPU's work "
		  "is not known (this does not mean that the GPU was idle). Usual "
		  "causes: a driver newer than the profiler, another CUPTI client in the program, "
		  "a killed process, WSL", x->launches);
	nsx_raise(q, NSX_ID_gpu_activity, true,
		  nsx_say(q->out, "GPU work was lost: %s of %s left no trace",
			  nsx_text_n(q->out->arena, x->launches, "launch",
				     "launches"), subject), NSX_SEV_HIGH);
}

/* Whether the program uses the GPU. Calls that only query CUDA do not count. */
static bool uses_gpu(const struct nsx_trace *t)
{
	for (size_t i = 0; i < t->calls.n; i++)
		switch (t->calls.cls[i]) {
		case NSX_CALL_LAUNCH:
		case NSX_CALL_SYNC:
		case NSX_CALL_COPY:
		case NSX_CALL_COPY_ASYNC:
		case NSX_CALL_IMPLICIT_SYNC:
			return true;
		default:
			if (t->calls.flags[i] & NSX_CALL_MALLOC)
				return true;
		}
	return false;
}

static void report_possible_loss(struct nsx_quality *q)
{
	nsx_check(q, "gpu_activity", MISSING, "GPU work", NSX_REC_BASIC,
		  "the program used the GPU, but neither a launch nor any GPU work was recorded; "
		  "the trace does not show whether there was none or it was lost");
	nsx_raise(q, NSX_ID_gpu_activity, false,
		  "no launch and no GPU work was recorded of a program that calls CUDA",
		  NSX_SEV_MEDIUM);
}

/* Warns that there are no CUDA calls although the profiler says that some may be missing. */
static void report_doubtful_recording(struct nsx_quality *q)
{
	nsx_check(q, "gpu_activity", MISSING, "GPU work", NSX_REC_BASIC,
		  "none was recorded, and messages of the profiler say that CUDA may not have been "
		  "recorded completely, so the trace does not show whether the program used the "
		  "GPU");
	nsx_raise(q, NSX_ID_gpu_activity, false,
		  "GPU work may be lost, according to the profiler's messages", NSX_SEV_LOW);
}

static void check_activity(struct nsx_quality *q)
{
	const struct nsx_trace *t = q->t;
	size_t silent = 0, active = 0;
	struct activity *v;

	/* With a window, a call may lie inside and its work outside, so nothing is counted. */
	if (nsx_has_window(t))
		return;
	v = count_activity(q);
	for (uint32_t p = 0; p < t->nprocesses; p++) {
		const struct activity *x = &v[p];

		active += x->ops > 0;
		if (!x->launches || x->run || (t->ops.n && nsx_pids_unknown(t)))
			continue;
		if (silent++ < SHOWN_PROCESSES)
			report_no_activity(q, p, x);
	}
	nsx_check_others(q, "gpu_activity", MISSING, silent);
	if (silent)
		return;
	if (!t->ops.n && !uses_gpu(t) && (q->facts.messages[NSX_MSG_PARTIAL] ||
					  q->facts.messages[NSX_MSG_DRIVER]))
		report_doubtful_recording(q);
	else if (!t->ops.n && !t->calls.n && !q->facts.traced_cuda)
		nsx_check(q, "gpu_activity", MISSING, "GPU work", NSX_REC_BASIC,
			  "no CUDA call and no GPU work was recorded%s",
			  q->facts.has_settings ? ": CUDA was not traced" : "");
	else if (!t->ops.n && uses_gpu(t))
		report_possible_loss(q);
	else if (!t->ops.n)
		nsx_check(q, "gpu_activity", OK, "GPU work", 0,
			  "none was recorded, and no recorded call launched any");
	else
		nsx_check(q, "gpu_activity", OK, "GPU work", 0,
			  "recorded for %zu process%s", active, active == 1 ? "" : "es");
}

/* Reports launches without recorded work that must have run, because later launches of their thread
 * did.
 */
static void report_lost_launches(struct nsx_quality *q, const struct nsx_lost *lost)
{
	if (nsx_is_idle_unknown(lost))
		nsx_raise(q, NSX_ID_launches_recorded, false,
			  nsx_say(q->out, "%s of the kernel launches have no GPU record although "
				  "their work ran: GPUs look idle where it is missing",
				  nsx_text_share(q->out->arena, (double)lost->lost,
						 (double)lost->launches)), NSX_SEV_MEDIUM);
}

/* Checks for lost launches with a user's window, where the work of a launch may lie outside. */
static void check_lost_inside(struct nsx_quality *q)
{
	struct nsx_lost lost = nsx_lost_launches(q->t, &q->t->window);

	if (!nsx_is_idle_unknown(&lost))
		return;
	nsx_check(q, "launches_recorded", WARN, "kernel launches", NSX_REC_BASIC,
		  "%zu of %zu launch calls in the window have no GPU record although "
		  "their work ran", lost.lost, lost.launches);
	report_lost_launches(q, &lost);
}

/* Checks launches without GPU work. Launches that are captured into a graph have none. */
static void check_lost_launches(struct nsx_quality *q)
{
	const struct nsx_trace *t = q->t;
	size_t launches = 0, answered = 0, nkernels = 0;
	struct nsx_lost lost;
	struct activity *v;

	if (!t->ops.n || !nsx_has(t->schema, NSX_F_kernel_corr) ||
	    !nsx_has(t->schema, NSX_F_runtime_corr))
		return;
	v = count_activity(q);
	for (uint32_t p = 0; p < t->nprocesses; p++)
		if (v[p].ops) {
			launches += v[p].launches;
			answered += v[p].answered;
		}
	for (size_t i = 0; i < t->ops.n; i++)
		nkernels += t->ops.kind[i] == NSX_OP_KERNEL;
	if (!launches || !nkernels)
		return;
	if ((double)answered < 0.95 * (double)launches) {
		nsx_check(q, "launches_recorded", WARN, "kernel launches", NSX_REC_BASIC,
			  "%zu of %zu launch calls have no GPU record: work was lost, was still "
			  "queued at the end (synchronise and call cudaProfilerStop before the "
			  "program ends), or was captured into a graph",
			  launches - answered, launches);
		lost = nsx_lost_launches(t, &t->window);
		report_lost_launches(q, &lost);
	} else {
		nsx_check(q, "launches_recorded", OK, "kernel launches", 0,
			  "%zu of %zu launch calls have a GPU record", answered, launches);
	}
}

/* Lists kernels without a call by process, if several ran kernels: "; of pid 111: 905, pid
 * 112: 905".
 */
static const char *say_count_by_process(struct nsx_quality *q)
{
	const struct nsx_trace *t = q->t;
	size_t *none;
	uint32_t shown = 0;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_few(none, q->run->scratch, t->nprocesses);
	for (size_t i = 0; i < t->ops.n; i++) {
		uint32_t p = nsx_op_process(t, i);

		if (p != NSX_NONE && t->ops.kind[i] == NSX_OP_KERNEL)
			none[p] += nsx_op_call(&t->ops, i) == NSX_NONE;
	}
	for (uint32_t p = 0; t->nprocesses > 1 && p < t->nprocesses; p++)
		if (none[p] && shown++ < SHOWN_PROCESSES)
			nsx_buf_printf(&b, "%s%s: %zu", b.n ? ", " : "; of ",
				       nsx_process_label(q, p), none[p]);
	if (shown > SHOWN_PROCESSES)
		nsx_buf_printf(&b, " and %u more", shown - SHOWN_PROCESSES);
	return nsx_say(q->out, "%s", b.n ? b.p : "");
}

static void check_calls(struct nsx_quality *q)
{
	const struct nsx_matching *m = &q->t->matching;
	size_t none = m->before_capture + m->no_call, n = m->matched + none;
	unsigned line = m->before_capture >= m->no_call ? NSX_REC_RANGE : NSX_REC_ALL_APIS;
	double pct;

	if (!n)
		return;
	pct = 100 * (double)none / (double)n;
	if (!nsx_seen(q, NSX_VIEW_runtime)) {
		nsx_check(q, "kernel_calls", MISSING, "API calls", NSX_REC_BASIC,
			  "no API call was recorded, so the launches of %s and the CPU's activity "
			  "are not known", nsx_text_n(q->out->arena, n, "kernel", NULL));
		return;
	}
	if (pct < 1) {
		nsx_check(q, "kernel_calls", OK, "kernels", 0,
			  "%zu of %s ha%s a recorded launch call", m->matched,
			  nsx_text_n(q->out->arena, n, "kernel", NULL), n == 1 ? "s" : "ve");
		return;
	}
	nsx_check(q, "kernel_calls", WARN, "kernels", line,
		  "%zu of %zu kernels (%.1f %%) have no launch call: %zu were queued before the "
		  "capture began (synchronise the device before it begins), %zu for another reason "
		  "(calls that were not traced, launches from the device)%s. They count as GPU "
		  "time, but belong to no NVTX range, and gaps before them have no known "
		  "cause", none, n, pct, m->before_capture, m->no_call, say_count_by_process(q));
	if (pct >= 20)
		nsx_raise(q, NSX_ID_kernel_calls, false,
			  nsx_say(q->out, m->before_capture >= m->no_call ?
				  "%s of the kernels were queued before the capture began" :
				  "%s of the kernels have no launch call in the trace",
				  nsx_text_share(q->out->arena, (double)none,
						 (double)n)), NSX_SEV_LOW);
}

static void check_graphs(struct nsx_quality *q)
{
	enum nsx_graph_mode mode = q->run->facts->graphs.mode;

	if (mode == NSX_GRAPH_OPAQUE)
		nsx_check(q, "cuda_graphs", MISSING, "CUDA graphs", NSX_REC_GRAPHS,
			  "graphs were launched, but none of their work was recorded: busy time is "
			  "a lower bound");
	else if (mode == NSX_GRAPH_WHOLE)
		nsx_check(q, "cuda_graphs", WARN, "CUDA graphs", NSX_REC_GRAPHS,
			  "replays were recorded as a whole: kernels, communication and ranges "
			  "inside them are not known (node mode shows them, but slows launches)");
	else if (mode != NSX_GRAPH_NONE)
		nsx_check(q, "cuda_graphs", OK, "CUDA graphs", 0,
			  "recorded node by node, which slows launches");
	else if (q->t->calls.n && !nsx_is_in_part(q->t))
		nsx_check(q, "cuda_graphs", OK, "CUDA graphs", 0, "no graph was launched");
}

/* Warns of a clock that was shifted, or that cannot be corrected. */
static void warn_clock(struct nsx_quality *q, const struct nsx_clock *c)
{
	const char *subject = nsx_say(q->out, "%s on GPU %s", nsx_process_label(q, c->process),
	    nsx_gpu_label(q->t, c->device));

	if (c->shift_ns) {
		nsx_check(q, "gpu_clocks", WARN, subject, 0, "%s", nsx_say_shift(c, q->out->arena));
		return;
	}
	nsx_check(q, "gpu_clocks", WARN, subject, NSX_REC_BASIC,
		  "GPU times contradict the calls: work begins before its call or ends after the "
		  "call that waited for it, and no single correction removes this. Comparisons "
		  "with the host or with other processes are wrong");
	nsx_raise(q, NSX_ID_gpu_clocks, true,
		  "GPU times do not agree with the host's", NSX_SEV_MEDIUM);
}

/* Checks clocks. With a single process there is nothing to compare. */
static void check_clocks(struct nsx_quality *q)
{
	const struct nsx_trace *t = q->t;
	int64_t most_ns = 0;
	size_t off = 0;

	for (uint32_t i = 0; i < t->nclocks; i++) {
		const struct nsx_clock *c = &t->clock[i];

		if (c->is_off && off++ < SHOWN_PROCESSES)
			warn_clock(q, c);
		most_ns = NSX_MAX(most_ns, c->within_ns);
	}
	nsx_check_others(q, "gpu_clocks", WARN, off);
	if (!off && t->nclocks > 1 && most_ns < INT64_MAX)
		nsx_check(q, "gpu_clocks", OK, "GPU times", 0,
			  "no work begins before its call or ends after the call that waited for "
			  "it: clocks agree to %s", nsx_say_time(q->out, most_ns));
}

static void check_impossible(struct nsx_quality *q)
{
	const struct nsx_impossible *m = &q->t->impossible;
	size_t nout = m->nearly + m->nlate + m->nfar, ncut = m->ncut + m->nopened;

	if (m->nkept)
		nsx_check(q, "impossible_records", WARN, "GPU work", 0, "%zu records contradict "
			  "their calls or their streams' order, too many to leave them out, so "
			  "that times of GPU work are doubtful", m->nkept);
	if (!nout && !ncut)
		return;
	nsx_check(q, "impossible_records", WARN, "GPU work", 0, "%s",
		  nsx_say_impossible(q->t, q->out->arena));
	nsx_raise(q, NSX_ID_impossible_records, false,
		  nsx_say(q->out, "%s%s ha%s impossible times: %s",
			  nsx_text_n(q->out->arena, nout + ncut, "record", NULL),
			  m->nfar || m->nopened ? "" : " of GPU work",
			  nout + ncut == 1 ? "s" : "ve",
			  !ncut ? "left out" : nout ? "left out or cut" :
			  m->nopened ? "cut at the end of the trace" :
			  "cut where the next record of the stream begins"), NSX_SEV_LOW);
}

/* Checks whether labels and numbers of kinds disagree. */
static void check_kinds(struct nsx_quality *q, const char *check, const uint8_t *kind,
			const char *const *label, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (kind[i] != i)
			nsx_check(q, check, WARN, "copies", 0,
				  "kind %u is %s in the file's own table, but usually %s: "
				  "the file's table is used", i, label[kind[i]], label[i]);
}

/* Reports failed calls. A program that continues after a failure may expect it, for example when it
 * tries an allocation.
 */
static void check_failures(struct nsx_quality *q)
{
	const struct nsx_failures *f = &q->t->failures;

	for (unsigned i = 0; i < f->n; i++)
		nsx_check(q, "failed_calls", WARN, "CUDA calls", 0, "%s",
			  nsx_say_failure(q->t, &f->v[i], q->out->arena));
	if (!f->n && q->t->calls.n && nsx_has(q->t->schema, NSX_F_runtime_return_value))
		nsx_check(q, "failed_calls", OK, "CUDA calls", 0, "none failed");
}

void nsx_check_gpu(struct nsx_quality *q)
{
	check_failures(q);
	check_activity(q);
	if (nsx_has_window(q->t))
		check_lost_inside(q);
	else
		check_lost_launches(q);
	check_calls(q);
	check_clocks(q);
	check_impossible(q);
	check_kinds(q, "copy_kinds", q->t->schema->copy_kinds.of, nsx_copy_labels, NSX_NCOPY_KINDS);
	check_kinds(q, "memory_kinds", q->t->schema->mem_kinds.of, nsx_mem_labels, NSX_NMEM_KINDS);
	check_graphs(q);
}
