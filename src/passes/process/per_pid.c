/* per_pid.c - details of the processes with most kernel time: launch density, kernels,
 * waits and NVTX ranges.
 */
#include "passes/process/pids.h"
#include "passes/host/storm.h"

#define TOP_COLUMNS(X)                                                                             \
	X(T_PID, "pid", I64, "process")                                                            \
	X(T_NS, "total_kernel_time_ns", I64, "sum of kernel durations")                            \
	X(T_MS, "total_kernel_time_ms", F64, "the same sum in ms")                                 \
	X(T_LAUNCHES, "kernel_launches", I64, "kernels that began in the window")                  \
	X(T_PCT, "pct_of_total_kernel_time", F64, "share of all kernels")
NSX_COLUMNS(top_cols, TOP_COLUMNS);

/* Rows of one process from other sections' tables --------------------------------- */

#define KERNEL_COLUMNS(X)                                                     \
	X(KERNEL_NAME, "kernel_name", STR, "full name")                       \
	X(KERNEL_DEVICE_ID, "device_id", I64, "CUDA ordinal")                 \
	X(KERNEL_TOTAL_TIME_MS, "total_time_ms", F64, "sum of durations")     \
	X(KERNEL_CALL_COUNT, "call_count", I64, "executions")                 \
	X(KERNEL_AVG_DURATION_US, "avg_duration_us", F64, "mean")             \
	X(KERNEL_PCT_OF_PID_KERNEL_TIME, "pct_of_pid_kernel_time", F64,       \
	  "share of the process's kernels")
NSX_COLUMNS(kernel_cols, KERNEL_COLUMNS);
#define SYNC_COLUMNS(X)                                                       \
	X(SYNC_API_NAME, "api_name", STR, "function")                         \
	X(SYNC_CALL_COUNT, "call_count", I64, "calls")                        \
	X(SYNC_TOTAL_TIME_MS, "total_time_ms", F64, "time in them")           \
	X(SYNC_AVG_DURATION_US, "avg_duration_us", F64, "mean")
NSX_COLUMNS(sync_cols, SYNC_COLUMNS);
#define RANGE_COLUMNS(X)                                                      \
	X(RANGE_NAME, "range_name", STR, "name")                              \
	X(RANGE_COUNT, "count", I64, "ranges")                                \
	X(RANGE_TOTAL_TIME_MS, "total_time_ms", F64, "host time in them")     \
	X(RANGE_AVG_DURATION_US, "avg_duration_us", F64, "total over count")  \
	X(RANGE_ATTRIBUTED_KERNEL_TIME_MS, "attributed_kernel_time_ms", F64,  \
	  "kernels launched inside")
NSX_COLUMNS(range_cols, RANGE_COLUMNS);
static const struct nsx_layout parts[] = {
	{NSX_COLS(kernel_cols)}, {NSX_COLS(sync_cols)}, {NSX_COLS(range_cols)},
};
enum { PART_KERNELS, PART_SYNC, PART_NVTX };

#define PID_COLUMNS(X)                                                                             \
	X(PID, "pid", I64, "process")                                                              \
	NSX_STORM_COLUMNS(X, "launch_storm.")                                                      \
	X(KERNELS, "top_kernels.kernels", TABLE,                                                   \
	  "its kernels with the most time", .rows = &parts[PART_KERNELS])                          \
	X(SYNC, "sync.sync_calls", TABLE, "its synchronising calls", .rows = &parts[PART_SYNC])    \
	X(NVTX, "nvtx.ranges", TABLE,                                                              \
	  "its NVTX ranges with the most time", .rows = &parts[PART_NVTX])
NSX_COLUMNS(pid_cols, PID_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "top_pids", NSX_COLS(top_cols)},
	{.key = "pids", NSX_COLS(pid_cols)},
};

/* Copies at most `most` rows of this process, in order. Columns match by key, with or without
 * the prefix "nvtx_".
 */
static void copy_process_rows(struct nsx_section *out, const struct nsx_table *from,
			      unsigned part, struct nsx_cell pid, size_t most,
			      struct nsx_table *ret)
{
	const struct nsx_layout *l = &parts[part];
	int col[8] = {0}, at_pid;

	if (!from)
		return;
	at_pid = nsx_table_col(from, "pid");
	for (unsigned c = 0; c < l->ncols; c++) {
		col[c] = nsx_table_col(from, l->cols[c].key);
		if (col[c] < 0)
			col[c] = nsx_table_col(from, nsx_say(out, "nvtx_%s", l->cols[c].key));
	}
	for (size_t r = 0; r < from->nrows && ret->nrows < most; r++) {
		const struct nsx_cell *cells = nsx_row_at(from, r);
		struct nsx_cell *row;

		if (at_pid < 0 || nsx_cmp_cells(&cells[at_pid], &pid))
			continue;
		row = nsx_add_row(ret);
		for (unsigned c = 0; c < l->ncols; c++)
			if (col[c] >= 0)
				row[c] = cells[col[c]];
		if (part == PART_NVTX && row[RANGE_COUNT].u.i)
			row[RANGE_AVG_DURATION_US] = nsx_real(1e3 * row[RANGE_TOTAL_TIME_MS].u.f /
							      (double)row[RANGE_COUNT].u.i);
	}
}

/* One process ------------------------------------------------------------------*/

static int measure_launch_density(const struct nsx_trace *t, const struct nsx_pids *pids,
				  uint32_t p, struct nsx_cell *ret, struct nsx_err *err)
{
	size_t most = pids->at[p + 1] - pids->at[p], n = 0;
	int64_t *v = nsx_try_alloc(most, sizeof(*v), "kernel durations", err);
	int64_t first = INT64_MAX, last = INT64_MIN;

	if (!v)
		return err->rc;
	for (size_t k = pids->at[p]; k < pids->at[p + 1]; k++) {
		uint32_t i = pids->kernel[k];

		first = NSX_MIN(first, nsx_op_start(&t->ops, i));
		last = NSX_MAX(last, nsx_op_end(&t->ops, i));
		if (nsx_op_counts(t, i))
			v[n++] = nsx_op_ns(&t->ops, i);
	}
	nsx_storm_cells(v, n, most ? last - first : 0, ret);
	free(v);
	return 0;
}

struct work {
	const struct nsx_trace *t;
	struct nsx_pids pids;
	/* Tables of other sections that are shown by process: */
	const struct nsx_table *kernels, *sync;
	/* nvtx[0]: rows that the table keeps; nvtx[1]: the first rows that it does not keep */
	const struct nsx_table *nvtx[2];
	/* Tables of this section: */
	struct nsx_section *out;
	struct nsx_table *top, *table;
};

static int per_pid_add_process(const struct work *w, uint32_t p, struct nsx_err *err)
{
	const struct nsx_trace *t = w->t;
	struct nsx_section *out = w->out;
	const struct nsx_pid_totals *x = &w->pids.total[p];
	struct nsx_cell pid = nsx_pid_cell(t, p);
	struct nsx_cell *row;
	struct nsx_table *part[ARRAY_LEN(parts)];

	for (unsigned i = 0; i < ARRAY_LEN(parts); i++)
		part[i] = nsx_add_table(out, &parts[i]);
	copy_process_rows(out, w->kernels, PART_KERNELS, pid, NSX_KERNELS_PER_PID,
			  part[PART_KERNELS]);
	copy_process_rows(out, w->sync, PART_SYNC, pid, NSX_MAX_JSON_ROWS, part[PART_SYNC]);
	for (unsigned i = 0; i < ARRAY_LEN(w->nvtx); i++)
		copy_process_rows(out, w->nvtx[i], PART_NVTX, pid, NSX_MAX_JSON_ROWS,
				  part[PART_NVTX]);
	if (x->nkernels || x->kernel_ns) {
		row = nsx_add_row(w->top);
		row[T_PID] = pid;
		row[T_NS] = nsx_int(x->kernel_ns);
		row[T_MS] = nsx_ms(x->kernel_ns);
		row[T_LAUNCHES] = nsx_int((int64_t)x->nkernels);
		row[T_PCT] = nsx_part_pct(x->kernel_ns, w->pids.kernel_ns);
	}
	row = nsx_add_row(w->table);
	row[PID] = pid;
	for (unsigned i = 0; i < ARRAY_LEN(part); i++)
		row[KERNELS + i] = nsx_rows(part[i]);
	return nsx_has_view(t->schema, NSX_VIEW_kernel) ?
		       measure_launch_density(t, &w->pids, p, row + STORM_LAUNCHES, err) : 0;
}

static int per_pid_summarise(const struct nsx_run *run, const struct nsx_report *report,
			     struct nsx_section *out, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_section *by_pid = nsx_report_section(report, "by_pid");
	const struct nsx_section *nvtx = nsx_report_section(report, "nvtx_by_pid");
	struct work w = {
		.t = t,
		.kernels = nsx_section_table(by_pid, "kernels.kernels"),
		.sync = nsx_section_table(by_pid, "sync.sync_calls"),
		.nvtx = {nsx_section_table(nvtx, "ranges"),
			 nsx_section_table(nvtx, "first_ranges")},
		.out = out,
	};
	const struct nsx_pids *pids = &w.pids;

	if (!by_pid || by_pid->status != NSX_S_ANSWERED)
		return nsx_cannot(out, "%s", by_pid && by_pid->reason ?
						     by_pid->reason :
						     "by_pid was not computed");
	if (nsx_pids_build(t, run->scratch, &w.pids, err))
		return err->rc;
	nsx_put(out, "pid_source", nsx_string(t->pid_source_kernel));
	w.top = nsx_add_table(out, &layouts[0]);
	w.table = nsx_add_table(out, &layouts[1]);
	for (uint32_t r = 0; r < t->nprocesses; r++) {
		uint32_t p = pids->order[r];

		if (pids->at[p] == pids->at[p + 1] && !pids->total[p].nsyncs)
			continue;
		if (!t->process[p].key && nsx_pids_unknown(t))
			continue;
		if (w.table->nrows == NSX_PIDS_SHOWN) {
			nsx_note(out, "the %d processes with the most kernel time; "
				      "tables/kernels_by_pid.csv and sync_by_pid.csv have all",
				 NSX_PIDS_SHOWN);
			break;
		}
		if (per_pid_add_process(&w, p, err))
			return err->rc;
	}
	return 0;
}

NSX_DEFINE_SUMMARY(per_pid,
	.title = "Processes",
	.summary = "the processes with the most kernel time, one by one",
	.doc = "For the 10 processes with the most kernel time: the figures of launch_storm over "
	       "the process's own kernels, from its first kernel start to its last kernel end; its "
	       "kernels, synchronising calls and NVTX ranges with the most time, as in the "
	       "sections by_pid and nvtx_by_pid.",
	.derived_from = "the kernels of each process, from its first kernel "
			"start to its last kernel end",
	.limitations = "many launches a second cost nothing as long as the queue never runs empty "
		       "(see the section on launches); kernels inside CUDA graphs traced as a "
		       "whole are not counted",
	.any_of = {NSX_GPU_WORK, NSX_NEED_VIEW(runtime)},
	NSX_LAYOUTS(layouts));
