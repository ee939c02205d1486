/* by_pid.c - kernels and waits of each process, and one row for each process.
 *
 * A process is its global id (host, VM and pid), so equal pids on different hosts keep
 * separate rows.
 */
#include "passes/process/pids.h"

#define KERNEL_COLUMNS(X)                                                                          \
	X(K_PID, "pid", I64, "process")                                                            \
	X(K_PID_MS, "pid_total_kernel_time_ms", F64, "all kernels of the process")                 \
	X(K_PID_PCT, "pid_pct_of_total_kernel_time", F64, "share of the kernels of all processes") \
	X(K_NAME, "kernel_name", STR, "full name of the kernel")                                   \
	X(K_DEVICE, "device_id", I64, "CUDA ordinal in that process")                              \
	X(K_COUNT, "call_count", I64, "executions that began in the window", .adds = true)         \
	X(K_MS, "total_time_ms", F64, "sum of durations", .adds = true)                            \
	X(K_AVG, "avg_duration_us", F64, "total over count")                                       \
	X(K_PCT_PID, "pct_of_pid_kernel_time", F64, "share of the process's kernels")              \
	X(K_PCT, "pct_of_total_kernel_time", F64, "share of all kernels", .adds = true)
NSX_COLUMNS(kernel_cols, KERNEL_COLUMNS);
#define PID_COLUMNS(X)                                                                             \
	X(PID, "pid", I64, "process")                                                              \
	X(PID_TOTAL_KERNEL_TIME_NS, "total_kernel_time_ns", I64, "sum of kernel durations")        \
	X(PID_TOTAL_KERNEL_TIME_MS, "total_kernel_time_ms", F64, "the same sum in ms")             \
	X(PID_KERNEL_COUNT, "kernel_count", I64, "kernels that began in the window")               \
	X(PID_PCT_OF_TOTAL_KERNEL_TIME, "pct_of_total_kernel_time", F64, "share of all kernels")
NSX_COLUMNS(pid_cols, PID_COLUMNS);
#define SYNC_PID_COLUMNS(X)                                                   \
	X(SYNC_PID_PID, "pid", I64, "process")                                \
	X(SYNC_PID_SYNC_TOTAL_TIME_MS, "sync_total_time_ms", F64, "time in synchronising calls")
NSX_COLUMNS(sync_pid_cols, SYNC_PID_COLUMNS);
enum { KERNELS_CSV, SYNC_CSV, KERNEL_PIDS, KERNELS_TOP, SYNC_PIDS };
static const struct nsx_layout layouts[] = {
	{.key = "kernels_by_pid", .csv = "kernels_by_pid",
	 NSX_COLS(kernel_cols), .json_rows = NSX_NOT_IN_JSON},
	{.key = "sync.sync_calls", .csv = "sync_by_pid",
	 NSX_COLS(nsx_pid_sync_cols)},
	{.key = "kernels.pids", NSX_COLS(pid_cols)},
	{.key = "kernels.kernels", NSX_COLS(kernel_cols), .json_rows = NSX_ALL_ROWS},
	{.key = "sync.pids", NSX_COLS(sync_pid_cols)},
};

/* Groups by name -------------------------------------------------------------*/

struct group {
	uint32_t device;
	nsx_str name;
	uint32_t n;
	int64_t total_ns;
};
struct groups {
	struct group *v;
	uint32_t *order;
	size_t n, cap, cap_order, first; /* first: index of the first group on the current device */
	uint32_t *by_name;		 /* for each nsx_str: index + 1 of the name's group */
	const struct nsx_trace *t;
};

static struct group *find_pid_kernel(struct groups *g, uint32_t device, nsx_str name,
				     struct nsx_err *err)
{
	uint32_t *slot = &g->by_name[name];

	if (!*slot) {
		if (nsx_push(g->v, g->n, g->cap, "names by pid", err,
			     (struct group){.device = device, .name = name}))
			return NULL;
		*slot = (uint32_t)g->n;
	}
	return &g->v[*slot - 1];
}

/* Ends the groups of a device and process, so that the next one starts with no names. */
static void end_process_groups(struct groups *g)
{
	for (size_t i = g->first; i < g->n; i++)
		g->by_name[g->v[i].name] = 0;
	g->first = g->n;
}

NSX_KEY_IN(pid_kernel_sort_key, uint32_t, struct groups, -c->v[*x].total_ns);

NSX_ORDER_IN(by_pid_cmp_groups, uint32_t, struct groups, DOWN(c->v[*x].total_ns),
	     DOWN(c->v[*x].n), UP(c->t->rank[c->v[*x].name]), UP(c->v[*x].device));

/* Sorts one process's groups: the `most` with most time first. */
static int sort_groups(struct groups *g, size_t most, struct nsx_err *err)
{
	end_process_groups(g);
	if (nsx_grow(&g->order, &g->cap_order, g->n, sizeof(*g->order), "names by pid", err))
		return err->rc;
	for (uint32_t i = 0; i < g->n; i++)
		g->order[i] = i;
	nsx_sort_by_key_r(g->order, g->n, most, sizeof(*g->order), pid_kernel_sort_key,
			  by_pid_cmp_groups, g);
	return 0;
}

/* Kernels ----------------------------------------------------------------------*/

static int by_pid_group_kernels(const struct nsx_pids *pids, uint32_t p,
				struct groups *g, size_t most, struct nsx_err *err)
{
	const struct nsx_trace *t = g->t;
	uint32_t device = NSX_NONE;

	g->n = g->first = 0;
	for (size_t k = pids->at[p]; k < pids->at[p + 1]; k++) {
		uint32_t i = pids->kernel[k];
		uint32_t d = nsx_stream_of(t, i)->device;
		struct group *x;

		if (d != device)
			end_process_groups(g);
		device = d;
		if (!(x = find_pid_kernel(g, d, nsx_op_name(t, i), err)))
			return err->rc;
		x->n += nsx_op_counts(t, i);
		nsx_add_to(&x->total_ns, nsx_op_ns(&t->ops, i));
	}
	return sort_groups(g, most, err);
}

static void by_pid_fill_kernel(const struct nsx_trace *t, const struct nsx_pids *pids,
			       uint32_t p, const struct group *x, struct nsx_table *table)
{
	double own = (double)pids->total[p].kernel_ns;
	double all = (double)pids->kernel_ns, total = (double)x->total_ns;
	struct nsx_cell *row = nsx_add_row(table);

	row[K_COUNT] = nsx_int((int64_t)x->n);
	row[K_MS] = nsx_ms(x->total_ns);
	row[K_PCT] = nsx_pct(total, all);
	if (!nsx_table_holds(table))
		return;
	row[K_PID] = nsx_pid_cell(t, p);
	row[K_PID_MS] = nsx_ms(pids->total[p].kernel_ns);
	row[K_PID_PCT] = nsx_pct(own, all);
	row[K_NAME] = nsx_name_cell(t, table, x->name);
	row[K_DEVICE] = nsx_device_cell(t, x->device);
	if (x->n)
		row[K_AVG] = nsx_us(total / (double)x->n);
	row[K_PCT_PID] = nsx_pct(total, own);
}

/* The number of rows of the next process that are kept or shown. */
static size_t count_shown_rows(const struct nsx_table *all)
{
	size_t held = all->max_rows ?: SIZE_MAX;

	return NSX_MAX(held - NSX_MIN(held, nsx_table_total(all)), (size_t)NSX_KERNELS_PER_PID);
}

static int by_pid_add_kernels(const struct nsx_pids *pids, struct groups *g,
			      struct nsx_table *all, struct nsx_table *top,
			      struct nsx_table *sums, size_t held_rows, struct nsx_err *err)
{
	const struct nsx_trace *t = g->t;

	nsx_table_expect(all, pids->at[t->nprocesses], held_rows);
	for (uint32_t r = 0; r < t->nprocesses; r++) {
		uint32_t p = pids->order[r];
		const struct nsx_pid_totals *x = &pids->total[p];
		struct nsx_cell *row;

		if (pids->at[p] == pids->at[p + 1])
			continue;
		if (by_pid_group_kernels(pids, p, g, count_shown_rows(all), err))
			return err->rc;
		row = nsx_add_row(sums);
		row[PID] = nsx_pid_cell(t, p);
		row[PID_TOTAL_KERNEL_TIME_NS] = nsx_int(x->kernel_ns);
		row[PID_TOTAL_KERNEL_TIME_MS] = nsx_ms(x->kernel_ns);
		row[PID_KERNEL_COUNT] = nsx_int((int64_t)x->nkernels);
		row[PID_PCT_OF_TOTAL_KERNEL_TIME] = nsx_part_pct(x->kernel_ns, pids->kernel_ns);
		for (size_t k = 0; k < g->n; k++) {
			const struct group *own = &g->v[g->order[k]];

			NSX_FETCH_AHEAD(g->v, g->order, k, g->n);
			by_pid_fill_kernel(t, pids, p, own, all);
			if (sums->nrows <= NSX_PIDS_SHOWN && k < NSX_KERNELS_PER_PID)
				by_pid_fill_kernel(t, pids, p, own, top);
		}
	}
	return 0;
}

/* Adds how kernel rows got their process. */
static void put_process_sources(const struct nsx_trace *t, const struct nsx_pids *pids,
				struct nsx_section *out)
{
	int64_t rows = 0, zero = 0, big = 0;

	for (uint32_t p = 0; p < t->nprocesses; p++) {
		int64_t n = (int64_t)(pids->at[p + 1] - pids->at[p]);

		rows += n;
		zero += t->process[p].pid ? 0 : n;
		big += t->process[p].pid >= 10000000 ? n : 0;
	}
	nsx_put(out, "kernels.pid_quality.rows_with_pid", nsx_int(rows));
	nsx_put(out, "kernels.pid_quality.pid0_rows", nsx_int(zero));
	nsx_put(out, "kernels.pid_quality.pid0_fraction",
		rows ? nsx_real((double)zero / (double)rows) : nsx_null());
	nsx_put(out, "kernels.pid_quality.pid_ge_10m_rows", nsx_int(big));
	nsx_put(out, "kernels.pid_quality.pid_ge_10m_fraction",
		rows ? nsx_real((double)big / (double)rows) : nsx_null());
}

static int kernels_part(const struct nsx_pids *pids, struct groups *g,
			struct nsx_table **tables, size_t held_rows,
			struct nsx_section *out, struct nsx_err *err)
{
	const struct nsx_trace *t = g->t;
	const char *why = nsx_has_view(t->schema, NSX_VIEW_kernel) ?
				  nsx_pids_unknown(t) :
				  "the trace has no kernels";

	nsx_put(out, "kernels.present", nsx_bool(!why));
	if (why) {
		nsx_put(out, "kernels.reason", nsx_string(why));
		return 0;
	}
	nsx_put(out, "kernels.pid_source", nsx_string(t->pid_source_kernel));
	if (!t->pid_source_kernel)
		nsx_note(out, "kernel rows do not name their process; all are assumed to belong to "
			      "the only one that made API calls");
	put_process_sources(t, pids, out);
	return by_pid_add_kernels(pids, g, tables[KERNELS_CSV], tables[KERNELS_TOP],
				  tables[KERNEL_PIDS], held_rows, err);
}

/* Synchronising calls ----------------------------------------------------------*/

struct syncs {
	struct nsx_groups keys; /* process, name */
	struct sync {
		int64_t n, ns;
	} *v;
	const struct nsx_trace *t;
	const struct nsx_pid_totals *total;
};

/* Orders groups by the time of their process, then by their own. */
NSX_ORDER_IN(cmp_sync, uint32_t, struct syncs,
	     DOWN(c->total[nsx_group_key(&c->keys, *x).a].sync_ns),
	     UP(nsx_group_key(&c->keys, *x).a), DOWN(c->v[*x].ns), DOWN(c->v[*x].n),
	     TEXT(nsx_text(c->t, (nsx_str)nsx_group_key(&c->keys, *x).b)));

static void group_syncs(struct syncs *s)
{
	const struct nsx_trace *t = s->t;

	for (size_t i = 0; i < t->calls.n; i++) {
		struct sync *x;

		if (t->calls.cls[i] != NSX_CALL_SYNC)
			continue;
		x = nsx_group_few(&s->keys, &s->v, t->thread[nsx_call_thread(t, i)].process,
				  nsx_call_name(&t->calls, i));
		x->n += nsx_starts_inside(t, nsx_call_start(&t->calls, i));
		nsx_add_to(&x->ns, nsx_call_inside(t, i));
	}
}

static void fill_syncs_by_pid(struct syncs *s, struct nsx_table **tables, struct nsx_arena *a)
{
	const struct nsx_trace *t = s->t;
	uint32_t *order, last = NSX_NONE;

	group_syncs(s);
	nsx_few(order, a, s->keys.n);
	nsx_sort_indices(order, s->keys.n, cmp_sync, s);
	for (size_t i = 0; i < s->keys.n; i++) {
		struct nsx_group_key key = nsx_group_key(&s->keys, order[i]);
		const struct sync *x = &s->v[order[i]];
		uint32_t p = (uint32_t)key.a;
		struct nsx_cell *row;

		if (!x->n && !x->ns)
			continue; /* all its calls are outside the user's window */
		if (p != last) {
			row = nsx_add_row(tables[SYNC_PIDS]);
			row[SYNC_PID_PID] = nsx_pid_cell(t, p);
			row[SYNC_PID_SYNC_TOTAL_TIME_MS] = nsx_ms(s->total[p].sync_ns);
		}
		last = p;
		row = nsx_add_row(tables[SYNC_CSV]);
		row[S_PID] = nsx_pid_cell(t, p);
		row[S_NAME] = nsx_string(nsx_text(t, (nsx_str)key.b));
		row[S_COUNT] = nsx_int(x->n);
		row[S_MS] = nsx_ms(x->ns);
		row[S_AVG] = nsx_mean_us(x->ns, x->n);
	}
}

static void sync_part(const struct nsx_run *run, const struct nsx_pids *pids,
		      struct nsx_table **tables, struct nsx_section *out)
{
	NSX_AT_EXIT(nsx_sums_done) struct syncs s = {.t = run->trace, .total = pids->total};
	bool present = nsx_has_view(s.t->schema, NSX_VIEW_runtime);

	nsx_put(out, "sync.present", nsx_bool(present));
	if (!present) {
		nsx_put(out, "sync.reason", nsx_string("the trace has no API calls"));
		return;
	}
	nsx_put(out, "sync.pid_source", nsx_string(s.t->pid_source_runtime));
	fill_syncs_by_pid(&s, tables, run->scratch);
}

/* Adds figures from the NVTX sections by process. */
static void add_nvtx_figures(const struct nsx_report *report, struct nsx_section *out)
{
	static const char *const tables[] = {"ranges", "kernel_time_by_pid.pids",
					     "kernel_time_by_pid.ranges"};
	const struct nsx_section *s = nsx_report_section(report, "nvtx_by_pid");
	const struct nsx_table *phases = nsx_section_table(
		nsx_report_section(report, "nvtx_kernel_phases_by_pid"), "*");
	bool present = s && s->status == NSX_S_ANSWERED;

	nsx_put(out, "nvtx.present", nsx_bool(present));
	if (!present)
		nsx_put(out, "nvtx.reason",
			nsx_string(s && s->reason ? s->reason :
						    "the trace has no NVTX"));
	nsx_put(out, "nvtx.pid_source", nsx_string(report->trace->pid_source_nvtx));
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		nsx_put(out, nsx_say(out, "nvtx.%s", tables[i]),
			nsx_rows(nsx_section_table(s, tables[i])));
	nsx_put(out, "nvtx_kernel_phases", phases ? nsx_rows(phases) : nsx_null());
}

static int by_pid_summarise(const struct nsx_run *run, const struct nsx_report *report,
			    struct nsx_section *out, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_table **tables, *processes;
	struct groups g = {.t = t};
	struct nsx_pids pids;
	int rc;

	if (!nsx_has_view(t->schema, NSX_VIEW_kernel) &&
	    !nsx_has_view(t->schema, NSX_VIEW_runtime) && !t->ops.n)
		return nsx_cannot(out, "the trace has no GPU work and no API calls");
	if (nsx_pids_build(t, run->scratch, &pids, err))
		return err->rc;
	if (!nsx_new_array(g.by_name, run->scratch, nsx_strings_bound(t->strings), "names", err))
		return err->rc;
	nsx_add_tables(out);
	processes = nsx_add_table(out, &nsx_process_layout);
	tables = out->tables;
	rc = kernels_part(&pids, &g, tables, run->opts->held_rows, out, err);
	sync_part(run, &pids, tables, out);
	free(g.v);
	free(g.order);
	nsx_arena_drop(run->scratch, pids.kernel);
	if (rc || nsx_fill_processes(run, report, &pids, processes, out, err))
		return err->rc;
	add_nvtx_figures(report, out);
	if (processes->nrows > 1)
		nsx_md_text(out, "%zu processes used the GPUs or called CUDA.", processes->nrows);
	if (processes->nrows > 1)
		nsx_md_table(out, processes, 0, P_PID, P_KERNEL_MS, P_KERNELS, P_NCCL,
		     P_BARRIER, P_TOP_NCCL, P_TOP_BARRIER);
	return 0;
}

NSX_DEFINE_SUMMARY(by_pid,
	.title = "Processes",
	.summary = "kernels, waits and NVTX of each process",
	.doc = "Kernels by (process, name, device), synchronising calls by (process, function), "
	       "and one row for each process. Sums over concurrent kernels may exceed the "
	       "wall-clock time; gpu_busy_ms is the union of all GPU work of the process, "
	       "co_run_ms the part of it in which another process ran on the same device. A "
	       "process is identified by its serialised id, so equal pids on different machines "
	       "are distinct. JSON has the top 10 kernels of the top 10 processes by time; the CSV "
	       "has all.",
	.derived_from = "kernels by the process they name, API calls by the process of their "
			"thread, communication and barriers from their own sections",
	.limitations = "only as good as the process column of the export; "
		       "work of processes that were not profiled is not seen",
	.any_of = {NSX_GPU_WORK, NSX_NEED_VIEW(runtime)},
	NSX_LAYOUTS(layouts),
	.more = (const struct nsx_layout *const[]){&nsx_process_layout, NULL});
