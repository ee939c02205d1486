/* capture_tables.c - checks for counters, memory, ranges and host events. */
#include "passes/input/capture_quality.h"
#include "passes/input/describe.h"

static void check_counters(struct nsx_quality *q)
{
	if (nsx_seen(q, NSX_VIEW_gpu_metric))
		nsx_check(q, "gpu_metrics", OK, "GPU_METRICS", 0, "counters were sampled");
	else
		nsx_check(q, "gpu_metrics", MISSING, "GPU_METRICS", NSX_REC_COUNTERS,
			  "NVLink counters not found: no GPU counter was sampled; tensor, memory, "
			  "PCIe and NVLink rates are not known");
	if (nsx_seen(q, NSX_VIEW_memory_event))
		nsx_check(q, "memory_usage", OK, "CUDA_GPU_MEMORY_USAGE_EVENTS",
			  0, "allocations were recorded");
	else if (!q->t->schema->refused[NSX_VIEW_memory_event])
		nsx_check(q, "memory_usage", MISSING,
			  "CUDA_GPU_MEMORY_USAGE_EVENTS", NSX_REC_MEMORY,
			  "no allocation was recorded%s: peak and leaks are not known",
			  q->facts.memory_usage_off ?
				  " (it was not asked for)" : "");
}

static void check_migrations(struct nsx_quality *q)
{
	const struct nsx_trace *t = q->t;

	if (t->nmigrations && !nsx_seen(q, NSX_VIEW_um_cpu_fault) &&
	    !nsx_seen(q, NSX_VIEW_um_gpu_fault) &&
	    !t->schema->refused[NSX_VIEW_um_cpu_fault] &&
	    !t->schema->refused[NSX_VIEW_um_gpu_fault])
		nsx_check(q, "page_faults", MISSING, "unified memory", NSX_REC_FAULTS,
			  "the page faults behind %s were not recorded",
			  nsx_text_n(q->out->arena, t->nmigrations, "migration", NULL));
}

static double coverage_pct(const struct nsx_coverage *c)
{
	return c->kernel_ns ? 100 * (double)c->mapped_ns / (double)c->kernel_ns : NAN;
}

NSX_ORDER_IN(cmp_coverage, uint32_t, struct nsx_coverage, DOWN(c[*x].kernel_ns),
	     DOWN(c[*x].nkernels), UP(*x));

/* The recording that adds PyTorch's own ranges; 0 without PyTorch. */
static unsigned pytorch_range_recording(const struct nsx_quality *q)
{
	return nsx_sees_pytorch(q->t) ? NSX_REC_TORCH : 0;
}

static void check_nvtx_by_process(struct nsx_quality *q, double least)
{
	const struct nsx_coverage *c = q->run->facts->coverage;
	uint32_t *order;
	size_t n = 0, low = 0;
	bool any = false;

	nsx_few(order, q->run->scratch, q->t->nprocesses);
	for (uint32_t p = 0; p < q->t->nprocesses; p++) {
		if (!c[p].kernel_ns)
			continue;
		any |= coverage_pct(&c[p]) >= least;
		order[n++] = p;
	}
	if (!any)
		return;
	nsx_sort_r(order, n, sizeof(*order), cmp_coverage, q->run->facts->coverage);
	for (size_t i = 0; i < n; i++) {
		double pct = coverage_pct(&c[order[i]]);

		if (pct >= least || low++ >= SHOWN_PROCESSES)
			continue;
		nsx_check(q, "nvtx", WARN, nsx_say(q->out, "pid %s",
				  nsx_pid_label(q->t, order[i])), pytorch_range_recording(q),
			  "%.1f %% of the process's kernel time was launched "
			  "inside NVTX ranges", pct);
	}
	nsx_check_others(q, "nvtx", WARN, low);
}

static void check_nvtx(struct nsx_quality *q)
{
	const struct nsx_capture_facts *f = &q->facts;
	const struct nsx_coverage *all = &q->run->facts->coverage[q->t->nprocesses];
	bool is_known = q->run->opts->nvtx_kernel_map && nsx_maps_kernels(q->t->schema);
	double pct = is_known ? coverage_pct(all) : NAN;
	double least = 100 * q->run->opts->nvtx_coverage_warn;
	bool no_calls = is_known && all->no_call_ns > all->no_range_ns;
	bool any = q->t->nvtx.n || NSX_ANY(i, q->t->nthreads, q->t->thread[i].has_ranges);

	if (!any && f->traced_nvtx && nsx_has_view(q->t->schema, NSX_VIEW_nvtx))
		nsx_check(q, "nvtx", MISSING, "NVTX_EVENTS", pytorch_range_recording(q),
			  "NVTX was traced, but the program has no ranges, so GPU time cannot be "
			  "divided into its phases (add ranges%s)",
			  pytorch_range_recording(q) ?
				  "; nsys's --pytorch adds those of PyTorch" : "");
	else if (!any)
		nsx_check(q, "nvtx", MISSING, "NVTX_EVENTS", NSX_REC_BASIC,
			  "no NVTX range was recorded%s, so GPU time cannot be divided into phases "
			  "of the "
			  "program", f->traced_nvtx ? " (the program has none, or this is not an "
						      "export of all tables)" :
			  f->has_settings ? " (NVTX was not traced)" : "");
	else if (pct < least)
		nsx_check(q, "nvtx", WARN, "NVTX_EVENTS", no_calls ? 0 : pytorch_range_recording(q),
			  "%.1f %% of the kernel time was launched inside NVTX ranges, less than "
			  "%.0f %%: figures by range do not represent the whole "
			  "(%s)", pct, least, no_calls ?
				  "mostly because launch calls are missing" :
				  "most of the rest was launched outside of ranges");
	else if (pct >= least)
		nsx_check(q, "nvtx", OK, "NVTX_EVENTS", 0,
			  "%.1f %% of the kernel time was launched inside NVTX ranges", pct);
	else
		nsx_check(q, "nvtx", OK, "NVTX_EVENTS", 0, "%zu ranges and marks", q->t->nvtx.n);
	if (any && is_known)
		check_nvtx_by_process(q, least);
}

static void check_host(struct nsx_quality *q)
{
	const struct nsx_capture_facts *f = &q->facts;

	if (nsx_seen(q, NSX_VIEW_osrt))
		nsx_check(q, "os_runtime", OK, "OSRT_API", 0,
			  "operating-system calls were recorded");
	else
		nsx_check(q, "os_runtime", MISSING, "OSRT_API",
			  q->t->schema->on_windows ? 0 : NSX_REC_BASIC,
			  "no operating-system call was recorded%s: waits of "
			  "the CPU outside CUDA are not known",
			  q->t->schema->on_windows ?
				  " (nsys traces none on Windows)" :
			  f->has_settings && !f->traced_osrt ?
				  " (they were not traced)" : "");
	if (nsx_seen(q, NSX_VIEW_sched) && !f->messages[NSX_MSG_SCHED])
		nsx_check(q, "scheduling", OK, "SCHED_EVENTS", 0, "scheduling of threads was "
								  "recorded");
	else
		nsx_check(q, "scheduling", nsx_seen(q, NSX_VIEW_sched) ? WARN : MISSING,
			  "SCHED_EVENTS", NSX_REC_SCHED, "scheduling of threads was not%s "
							 "recorded%s",
			  nsx_seen(q, NSX_VIEW_sched) ? " completely" : "",
			  !f->messages[NSX_MSG_PERF]	 ? "" :
			  q->t->schema->on_windows	 ?
			      "; the profiler lacked permission: run nsys as administrator" :
			      "; the profiler lacked permission: it needs "
			      "/proc/sys/kernel/perf_event_paranoid at 2 or less");
	if (!nsx_seen(q, NSX_VIEW_overhead) && nsx_seen(q, NSX_VIEW_runtime) &&
	    nsx_seen(q, NSX_VIEW_kernel))
		nsx_check(q, "launch_queue", MISSING, "CUPTI_ACTIVITY_KIND_OVERHEAD", 0,
			  "overhead of a full launch queue was not recorded (nsys 2025.5 and later "
			  "record it), so slow launch calls may mean that the CPU is ahead");
}

static void check_nccl(struct nsx_quality *q)
{
	const struct nsx_trace *t = q->t;

	if (!NSX_ANY(i, t->nshapes, nsx_shape_launch(t, &t->shape[i])->op != NSX_COMM_NONE))
		return;
	if (!NSX_ANY(i, t->ndomains, t->domain[i].is_nccl))
		nsx_check(q, "nccl", MISSING, "NCCL", NSX_REC_NCCL,
			  "communication kernels ran, but NCCL's own ranges were not recorded: "
			  "sizes, peers and communicators are not known (nsys 2025.6 and later "
			  "can trace them separately; earlier versions record them with NVTX)");
	else
		nsx_check(q, "nccl", OK, "NCCL", 0, "NCCL's ranges were recorded");
}

/* Names the tables with events that no analysis knows. */
static void check_unread(struct nsx_quality *q)
{
	const struct nsx_schema *s = q->t->schema;
	size_t n, nunread = 0;
	const struct nsx_table_info **tables = nsx_sorted_tables(s, q->out->arena, &n);

	for (size_t i = 0; i < n; i++) {
		const struct nsx_table_info *t = tables[i];

		if (!nsx_is_readable(t) ||
		    (nsx_column_find(t, "start") < 0 && nsx_column_find(t, "timestamp") < 0) ||
		    NSX_ANY(v, NSX_NVIEWS, s->table[v] == t) || !nsx_probe_rows(s->db, t->name))
			continue;
		if (nunread++ < SHOWN_PROCESSES)
			nsx_check(q, "unread_tables", WARN, t->name, 0,
				  "its events are not part of any analysis");
	}
	nsx_check_others(q, "unread_tables", WARN, nunread);
}

void nsx_check_tables(struct nsx_quality *q)
{
	check_nvtx(q);
	check_nccl(q);
	check_counters(q);
	check_migrations(q);
	check_host(q);
	check_unread(q);
}
