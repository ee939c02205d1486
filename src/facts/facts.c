/* facts.c - builds the parts in order; names of their vocabularies. */
#include "facts/meet.h"
#include "facts/replay/replay.h"

const char *const nsx_confidence_names[] = {"low", "medium", "high"};

const char *const nsx_part_names[NSX_NPARTS] = {
	"compute_only", "compute_copy", "compute_comm",
	"comm_exposed", "copy_exposed", "idle",
};

const char *const nsx_cause_names[NSX_NCAUSES] = {
	"sync", "blocking_copy", "implicit_sync", "alloc", "module_load",
	"os_wait", "other_api", "host_code", "launch_call", "launch_to_start",
	"stream_wait", "dispatch", "dependency", "page_migration",
	"unknown_unmatched", "edge",
};

const char *const nsx_barrier_names[NSX_NBARRIERS] = {
	"sync_api", "blocking_memcpy", "implicit_sync", "host_wait",
	"cpu_launcher_gap",
};

const char *const nsx_graph_modes[] = {
	"none", "opaque", "graph", "node", "mixed",
};

int nsx_facts_build(const struct nsx_trace *t, unsigned threads,
		    struct nsx_progress *progress, struct nsx_facts **ret,
		    struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_facts *f = nsx_arena_get(a, sizeof(*f));
	int rc;

	f->arena = a;
	f->strings = nsx_strings_over(t->strings);
	f->meets = nsx_arena_get(a, sizeof(*f->meets));
	nsx_progress_stage(progress, "facts", 0);
	rc = nsx_facts_unions(f, t, threads, err) ?:
	     nsx_facts_nvtx(f, t, threads, err) ?:
	     nsx_facts_iterations(f, t, threads, err) ?:
	     nsx_facts_barriers(f, t, threads, err) ?:
	     nsx_facts_idle(f, t, threads, err) ?:
	     nsx_facts_graphs(f, t, err) ?:
	     nsx_kernel_names_build(t, a, &f->kernels, err) ?:
	     nsx_meets_build(t, a, f->meets, err);
	if (rc) {
		nsx_facts_free(f);
		return rc;
	}
	for (uint32_t d = 0; d < f->ndevices; d++)
		nsx_arena_drop(f->device_arena[d], f->busy[d].v);
	f->busy = NULL;
	*ret = f;
	return 0;
}

void nsx_facts_free(struct nsx_facts *f)
{
	if (!f)
		return;
	nsx_model_free(f->model);
	nsx_kernel_names_done(&f->kernels);
	for (uint32_t i = 0; i < f->ndevices; i++)
		nsx_arena_free(f->device_arena[i]);
	nsx_strings_free(f->strings);
	nsx_arena_free(f->arena);
}
