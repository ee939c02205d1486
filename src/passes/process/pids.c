/* pids.c - kernels and waits by process. */
#include "passes/process/pids.h"

/* Why kernels are not known by process. If kernels name no process, they belong to the only
 * process, or to key 0.
 */
const char *nsx_pids_unknown(const struct nsx_trace *t)
{
	return t->pid_source_kernel ||
	       NSX_ANY(s, t->nstreams, t->stream[s].process != NSX_NONE &&
		       t->process[t->stream[s].process].key) ?
		       NULL : "kernel rows do not name their process";
}

NSX_ORDER_IN(pids_cmp_processes, uint32_t, struct nsx_pid_totals, DOWN(c[*x].kernel_ns),
	     DOWN(c[*x].sync_ns), UP(c[*x].pid), UP(*x));

static void pids_add_totals(const struct nsx_trace *t, struct nsx_pids *ret)
{
	for (uint32_t p = 0; p < t->nprocesses; p++)
		ret->total[p].pid = t->process[p].pid;
	for (size_t i = 0; i < t->ops.n; i++) {
		uint32_t p = nsx_op_process(t, i);
		int64_t ns = nsx_op_ns(&t->ops, i);

		if (t->ops.kind[i] != NSX_OP_KERNEL || p == NSX_NONE)
			continue;
		ret->total[p].nkernels += nsx_op_counts(t, i);
		nsx_add_to(&ret->total[p].kernel_ns, ns);
		nsx_add_to(&ret->kernel_ns, ns);
	}
	for (size_t i = 0; i < t->calls.n; i++) {
		uint32_t p = t->thread[nsx_call_thread(t, i)].process;
		struct nsx_pid_totals *x = &ret->total[p];

		x->ncalls++;
		if (t->calls.cls[i] != NSX_CALL_SYNC)
			continue;
		x->nsyncs += nsx_starts_inside(t, nsx_call_start(&t->calls, i));
		nsx_add_to(&x->sync_ns, nsx_call_inside(t, i));
	}
}

int nsx_pids_build(const struct nsx_trace *t, struct nsx_arena *a,
		   struct nsx_pids *ret, struct nsx_err *err)
{
	size_t n = t->nprocesses;

	ret->kernel_ns = 0;
	nsx_few(ret->total, a, n);
	nsx_few(ret->order, a, n);
	nsx_few(ret->at, a, n + 2);
	pids_add_totals(t, ret);
	nsx_sort_indices(ret->order, n, pids_cmp_processes, ret->total);
	if (!nsx_new_array(ret->kernel, a, t->ops.n, "kernels by process", err))
		return err->rc;
	NSX_DEAL(ret->at, ret->kernel, n, t->ops.n, i,
		 t->ops.kind[i] == NSX_OP_KERNEL ? nsx_op_process(t, i) : NSX_NONE);
	return 0;
}
