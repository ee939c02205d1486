/* pid_attribution.c - which processes the rows name, and whether that is plausible. */
#include <inttypes.h>
#include "passes/pass.h"

enum { SAMPLE = 20 };
/* pids from here on are implausible, because Linux has at most 2^22 */
#define IMPLAUSIBLE_PID 10000000
#define MOSTLY 0.8

#define PID_COLUMNS(X)                                                        \
	X(PID_EACH, "*", I64, "process id")
NSX_COLUMNS(pid_cols, PID_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "kernel_pids_sample", NSX_COLS(pid_cols), .json_rows = SAMPLE},
	{.key = "runtime_pids_sample", NSX_COLS(pid_cols), .json_rows = SAMPLE},
	{.key = "nvtx_pids_sample", NSX_COLS(pid_cols), .json_rows = SAMPLE},
};
enum { KERNEL, RUNTIME, NVTX, NSOURCES };

struct pids {
	bool *seen[NSOURCES]; /* one for each process */
	/* numbers of kernel rows: all, with pid 0, with an implausible pid */
	size_t nkernels, zero, implausible;
};

static void find_pids(const struct nsx_trace *t, struct nsx_arena *a, struct pids *ret)
{
	for (unsigned s = 0; s < NSOURCES; s++)
		nsx_few(ret->seen[s], a, t->nprocesses);
	for (size_t i = 0; i < t->ops.n && t->pid_source_kernel; i++) {
		uint32_t p = nsx_op_process(t, i);

		if (t->ops.kind[i] != NSX_OP_KERNEL || p == NSX_NONE)
			continue;
		ret->seen[KERNEL][p] = true;
		ret->nkernels++;
		ret->zero += !t->process[p].pid;
		ret->implausible += t->process[p].pid >= IMPLAUSIBLE_PID;
	}
	for (uint32_t h = 0; h < t->nthreads; h++) {
		const struct nsx_thread *th = &t->thread[h];

		if (th->has_calls && t->pid_source_runtime)
			ret->seen[RUNTIME][th->process] = true;
		if (th->has_ranges && t->pid_source_nvtx)
			ret->seen[NVTX][th->process] = true;
	}
}

/* Puts the processes of a source, by pid, and returns their number. */
static int64_t put_pids(const struct nsx_trace *t, const bool *seen, struct nsx_table *table,
			const char *count_key, struct nsx_section *out)
{
	for (uint32_t p = 0; p < t->nprocesses; p++)
		if (seen[p])
			nsx_add_row(table)[PID_EACH] = nsx_pid_cell(t, p);
	nsx_table_sort(table, PID_EACH);
	nsx_put(out, count_key, nsx_int((int64_t)table->nrows));
	return (int64_t)table->nrows;
}

static void warn(struct nsx_section *out, const char *why)
{
	nsx_warn(out, "PID attribution may be unavailable/ambiguous: %s. "
		      "Figures by process may mix processes.", why);
}

static void pid_attribution_judge(const struct nsx_trace *t, const struct pids *x,
				  const int64_t *n, struct nsx_section *out)
{
	double zero = x->nkernels ? (double)x->zero / (double)x->nkernels : 0;

	if (x->nkernels && x->zero == x->nkernels)
		warn(out, nsx_say(out, "all %zu kernels name process 0 (%s)",
				  x->nkernels, t->pid_source_kernel));
	else if (zero >= MOSTLY)
		warn(out, nsx_say(out, "%.1f %% of the kernels name process 0 (%s)", 100 * zero,
				  t->pid_source_kernel));
	if (x->implausible)
		warn(out, nsx_say(out, "%zu of %zu kernels name processes of %d or more, which "
				       "Linux never assigns", x->implausible, x->nkernels,
				  IMPLAUSIBLE_PID));
	if (n[KERNEL] == 1 && n[RUNTIME] > 1)
		warn(out, nsx_say(out, "all kernels name one process, while "
				       "%" PRId64 " processes made API calls", n[RUNTIME]));
	if (!t->pid_source_kernel && nsx_has_view(t->schema, NSX_VIEW_kernel) && n[RUNTIME] > 1)
		warn(out, nsx_say(out, "kernel rows do not name their process, and "
				       "%" PRId64 " processes made API calls", n[RUNTIME]));
}

static int pid_attribution_run(const struct nsx_run *run, struct nsx_section *out,
			       struct nsx_err *err NSX_UNUSED)
{
	static const char *const counts[NSOURCES] = {
		"kernel_pid_count", "runtime_pid_count", "nvtx_pid_count"};
	const struct nsx_trace *t = run->trace;
	struct pids x = {0};
	int64_t n[NSOURCES];

	find_pids(t, run->scratch, &x);
	nsx_put(out, "kernel_pid_source", nsx_string(t->pid_source_kernel));
	nsx_put(out, "runtime_pid_source", nsx_string(t->pid_source_runtime));
	nsx_put(out, "nvtx_pid_source", nsx_string(t->pid_source_nvtx));
	for (unsigned s = 0; s < NSOURCES; s++)
		n[s] = put_pids(t, x.seen[s], nsx_add_table(out, &layouts[s]), counts[s], out);
	pid_attribution_judge(t, &x, n, out);
	return 0;
}

NSX_DEFINE_PASS(pid_attribution,
	.summary = "which processes the rows name, and how plausible this is",
	.doc = "The columns by which kernels, API calls and NVTX ranges name their process, and "
	       "how many distinct processes each names. Serialised ids hold the process in bits "
	       "24 to 47. There are three warnings: at least 80 % of the kernels name process 0; "
	       "a process id is 10 000 000 or more; all kernels name one process although "
	       "several made API calls.", NSX_LAYOUTS(layouts));
