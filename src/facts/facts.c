/* facts.c - builds the facts, and names the values of their enums. */
#include "base/par.h"
#include "facts/meet.h"
#include "facts/teams.h"
#include "facts/metrics/metrics.h"
#include "facts/profiler.h"
#include "facts/replay/replay.h"

const char *const nsx_confidence_names[] = {
	[NSX_CONF_LOW] = "low", [NSX_CONF_MEDIUM] = "medium", [NSX_CONF_HIGH] = "high",
};

const char *const nsx_part_names[NSX_NPARTS] = {
	[NSX_P_COMPUTE_ONLY] = "compute_only", [NSX_P_COMPUTE_COPY] = "compute_copy",
	[NSX_P_COMPUTE_COMM] = "compute_comm", [NSX_P_COMM_EXPOSED] = "comm_exposed",
	[NSX_P_COPY_EXPOSED] = "copy_exposed", [NSX_P_IDLE] = "idle",
};

const char *const nsx_cause_names[NSX_NCAUSES] = {
	[NSX_CAUSE_SYNC] = "sync", [NSX_CAUSE_BLOCKING_COPY] = "blocking_copy",
	[NSX_CAUSE_IMPLICIT_SYNC] = "implicit_sync", [NSX_CAUSE_ALLOC] = "alloc",
	[NSX_CAUSE_MODULE] = "module_load", [NSX_CAUSE_OSRT] = "os_wait",
	[NSX_CAUSE_OTHER_API] = "other_api", [NSX_CAUSE_HOST_CODE] = "host_code",
	[NSX_CAUSE_LAUNCH_CALL] = "launch_call",
	[NSX_CAUSE_LAUNCH_TO_START] = "launch_to_start",
	[NSX_CAUSE_STREAM_WAIT] = "stream_wait", [NSX_CAUSE_DISPATCH] = "dispatch",
	[NSX_CAUSE_DEPENDENCY] = "dependency", [NSX_CAUSE_MIGRATION] = "page_migration",
	[NSX_CAUSE_UNKNOWN] = "unknown_unmatched", [NSX_CAUSE_EDGE] = "edge",
};

const char *const nsx_barrier_names[NSX_NBARRIERS] = {
	[NSX_BARRIER_SYNC_API] = "sync_api",
	[NSX_BARRIER_BLOCKING_MEMCPY] = "blocking_memcpy",
	[NSX_BARRIER_IMPLICIT_SYNC] = "implicit_sync",
	[NSX_BARRIER_HOST_WAIT] = "host_wait",
	[NSX_BARRIER_LAUNCHER_GAP] = "cpu_launcher_gap",
};

const char *const nsx_graph_modes[] = {
	[NSX_GRAPH_NONE] = "none", [NSX_GRAPH_OPAQUE] = "opaque",
	[NSX_GRAPH_WHOLE] = "graph", [NSX_GRAPH_NODES] = "node",
	[NSX_GRAPH_MIXED] = "mixed",
};

/* Independent parts ------------------------------------------------------------- */
struct build {
	struct nsx_facts *f;
	const struct nsx_trace *t;
	const struct nsx_facts_opts *o;
	struct nsx_arena **arenas; /* one for each part, for its results */
};

/* Builds the facts that depend on each other, in order. */
static int build_dependent_facts(struct nsx_facts *f, const struct nsx_trace *t,
				 const struct nsx_facts_opts *o, struct nsx_arena *a NSX_UNUSED,
				 struct nsx_err *err)
{
	unsigned threads = o->threads;

	return nsx_facts_nvtx(f, t, threads, err) ?:
	       nsx_facts_barriers(f, t, threads, err) ?:
	       nsx_facts_idle(f, t, threads, err) ?:
	       nsx_facts_graphs(f, t, err);
}

static int build_kernels(struct nsx_facts *f, const struct nsx_trace *t,
			 const struct nsx_facts_opts *o, struct nsx_arena *a, struct nsx_err *err)
{
	return nsx_kernel_names_build(t, o->threads, a, &f->kernels, err);
}

/* The independent parts, longest first. The names of a million kernels take longest. */
static int (*const parts[])(struct nsx_facts *f, const struct nsx_trace *t,
			    const struct nsx_facts_opts *o, struct nsx_arena *a,
			    struct nsx_err *err) = {
	build_kernels, nsx_facts_iterations, nsx_facts_metrics, build_dependent_facts,
	nsx_facts_meets, nsx_facts_teams, nsx_facts_profiler,
};

static int build_part(void *ctx, size_t i, struct nsx_err *err)
{
	const struct build *b = ctx;

	return parts[i](b->f, b->t, b->o, b->arenas[i], err);
}

static int build_all(struct nsx_facts *f, const struct nsx_trace *t,
		     const struct nsx_facts_opts *o, struct nsx_err *err)
{
	struct nsx_arena *arenas[ARRAY_LEN(parts)];
	struct build b = {f, t, o, arenas};
	int rc;

	for (unsigned i = 0; i < ARRAY_LEN(parts); i++)
		arenas[i] = nsx_arena_new();
	rc = nsx_facts_unions(f, t, o->threads, err) ?:
	     nsx_par(o->threads, ARRAY_LEN(parts), build_part, &b, err);
	for (unsigned i = 0; i < ARRAY_LEN(parts); i++)
		nsx_arena_adopt(f->arena, arenas[i]);
	return rc;
}

int nsx_facts_build(const struct nsx_trace *t, const struct nsx_facts_opts *o,
		    struct nsx_facts **ret, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_facts *f = nsx_arena_get(a, sizeof(*f));

	f->arena = a;
	f->strings = nsx_strings_over(t->strings);
	nsx_progress_stage(o->progress, "facts", 0);
	if (build_all(f, t, o, err)) {
		nsx_facts_free(f);
		return err->rc;
	}
	for (uint32_t d = 0; d < f->ndevices; d++)
		nsx_spans_drop(f->device_arena[d], &f->busy[d]);
	f->busy = NULL;
	nsx_give_back();
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
