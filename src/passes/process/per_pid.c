/* per_pid.c - the processes with the most kernel time, one by one: how densely
 * they launch, their kernels, waits and NVTX ranges.
 */
#include <stdlib.h>
#include "passes/process/pids.h"
#include "passes/host/storm.h"

enum { T_PID, T_NS, T_MS, T_LAUNCHES, T_PCT };
static const struct nsx_col top_cols[] = {
	{"pid", "process", NSX_T_I64},
	{"total_kernel_time_ns", "sum of kernel durations", NSX_T_I64},
	{"total_kernel_time_ms", "the same", NSX_T_F64},
	{"kernel_launches", "kernels that began in the window", NSX_T_I64},
	{"pct_of_total_kernel_time", "share of all kernels", NSX_T_F64},
};
#define STORM_COLUMN(k, t, h) {"launch_storm." #k, h, NSX_T_##t},
enum { PID, STORM, KERNELS = STORM + NSX_STORM_NCOLUMNS, SYNC, NVTX };
static const struct nsx_col pid_cols[] = {
	{"pid", "process", NSX_T_I64},
	NSX_STORM_COLUMNS(STORM_COLUMN)
	{"top_kernels.kernels", "its kernels with the most time", NSX_T_TABLE},
	{"sync.sync_calls", "its synchronising calls", NSX_T_TABLE},
	{"nvtx.ranges", "its NVTX ranges with the most time", NSX_T_TABLE},
};
static const struct nsx_layout layouts[] = {
	{.key = "top_pids", NSX_COLS(top_cols)},
	{.key = "pids", NSX_COLS(pid_cols)},
};

/* Parts of other sections' tables, a process's rows each. ----------------------*/

static const struct nsx_col kernel_cols[] = {
	{"kernel_name", "full name", NSX_T_STR},
	{"device_id", "CUDA ordinal", NSX_T_I64},
	{"total_time_ms", "sum of durations", NSX_T_F64},
	{"call_count", "executions", NSX_T_I64},
	{"avg_duration_us", "mean", NSX_T_F64},
	{"pct_of_pid_kernel_time", "share of the process's kernels",
	 NSX_T_F64},
};
static const struct nsx_col sync_cols[] = {
	{"api_name", "function", NSX_T_STR},
	{"call_count", "calls", NSX_T_I64},
	{"total_time_ms", "time in them", NSX_T_F64},
	{"avg_duration_us", "mean", NSX_T_F64},
};
static const struct nsx_col range_cols[] = {
	{"range_name", "name", NSX_T_STR},
	{"count", "ranges", NSX_T_I64},
	{"total_time_ms", "host time in them", NSX_T_F64},
	{"avg_duration_us", "total over count", NSX_T_F64},
	{"attributed_kernel_time_ms", "kernels launched inside", NSX_T_F64},
};
static const struct nsx_layout parts[] = {
	{NSX_COLS(kernel_cols)}, {NSX_COLS(sync_cols)}, {NSX_COLS(range_cols)},
};
enum { PART_KERNELS, PART_SYNC, PART_NVTX };
enum { R_COUNT = 1, R_MS, R_AVG };

/* The rows of `from` whose pid is this one, in its order, at most `most`. The
 * columns are those of the same key, "nvtx_" in front or not.
 */
static int copy_part(struct nsx_section *out, const struct nsx_table *from,
		     unsigned part, int64_t pid, size_t most,
		     struct nsx_table **ret, struct nsx_err *err)
{
	const struct nsx_layout *l = &parts[part];
	int col[8] = {0}, at_pid;

	*ret = nsx_add_table(out, l);
	if (!from)
		return 0;
	at_pid = nsx_table_col(from, "pid");
	for (unsigned c = 0; c < l->ncols; c++) {
		col[c] = nsx_table_col(from, l->cols[c].key);
		if (col[c] < 0)
			col[c] = nsx_table_col(from, nsx_say(out, "nvtx_%s",
							     l->cols[c].key));
	}
	for (size_t r = 0; r < from->nrows && (*ret)->nrows < most; r++) {
		const struct nsx_cell *cells = nsx_row_at(from, r);
		struct nsx_cell *row;

		if (at_pid < 0 || cells[at_pid].u.i != pid)
			continue;
		if (!(row = nsx_row(*ret, err)))
			return err->rc;
		for (unsigned c = 0; c < l->ncols; c++)
			if (col[c] >= 0)
				row[c] = cells[col[c]];
		if (part == PART_NVTX && row[R_COUNT].u.i)
			row[R_AVG] = nsx_real(1e3 * row[R_MS].u.f /
					      (double)row[R_COUNT].u.i);
	}
	return 0;
}

/* One process ------------------------------------------------------------------*/

static int storm_of(const struct nsx_trace *t, const struct nsx_pids *pids,
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

struct sources { /* other sections' tables */
	const struct nsx_table *kernels, *sync, *nvtx;
};

static int add_process(const struct nsx_run *run, const struct nsx_pids *pids,
		       uint32_t p, const struct sources *from,
		       struct nsx_section *out, struct nsx_table *top,
		       struct nsx_table *table, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_pid_totals *x = &pids->total[p];
	int64_t pid = t->process[p].pid;
	struct nsx_cell *row;
	struct nsx_table *part[3];

	if (copy_part(out, from->kernels, PART_KERNELS, pid,
		      NSX_KERNELS_PER_PID, &part[0], err) ||
	    copy_part(out, from->sync, PART_SYNC, pid, NSX_MAX_JSON_ROWS,
		      &part[1], err) ||
	    copy_part(out, from->nvtx, PART_NVTX, pid, NSX_MAX_JSON_ROWS,
		      &part[2], err))
		return err->rc;
	if (x->nkernels || x->kernel_ns) {
		if (!(row = nsx_row(top, err)))
			return err->rc;
		row[T_PID] = nsx_int(pid);
		row[T_NS] = nsx_int(x->kernel_ns);
		row[T_MS] = nsx_ms(x->kernel_ns);
		row[T_LAUNCHES] = nsx_int((int64_t)x->nkernels);
		row[T_PCT] = nsx_pct((double)x->kernel_ns,
				     (double)pids->kernel_ns);
	}
	if (!(row = nsx_row(table, err)))
		return err->rc;
	row[PID] = nsx_int(pid);
	for (unsigned i = 0; i < ARRAY_LEN(part); i++)
		row[KERNELS + i] = nsx_rows(part[i]);
	return nsx_has_view(t->schema, NSX_VIEW_kernel) ?
		       storm_of(t, pids, p, row + STORM, err) : 0;
}

/* Markdown ---------------------------------------------------------------------*/

static void print_kernels(struct nsx_section *out, const struct nsx_table *top,
			  const struct nsx_table *table)
{
	nsx_md_heading(out, "Per-process breakdown");
	nsx_md_subheading(out, "Top kernels per PID");
	for (size_t r = 0; r < top->nrows; r++) {
		const struct nsx_cell *row = nsx_row_at(table, r);

		nsx_md_subsubheading(out, nsx_say(out, "PID `%lld`",
						  (long long)row[PID].u.i));
		nsx_md_bullet(out, "PID kernel time: `%.3f ms`",
			      nsx_table_number(top, r, "total_kernel_time_ms"));
		nsx_md_table(out, row[KERNELS].u.table,
			     "kernel_name,device_id,total_time_ms,call_count,"
			     "avg_duration_us,pct_of_pid_kernel_time",
			     NSX_KERNELS_PER_PID);
	}
	if (!top->nrows)
		nsx_md_text(out, "(no process is known to have run kernels)");
}

static void print_sync(struct nsx_section *out, const struct nsx_trace *t,
		       const struct nsx_table *sync)
{
	nsx_md_heading(out, "Sync indicators per PID");
	nsx_md_bullet(out, "**Derived from**: synchronising CUDA API calls, "
			   "grouped by the process of their thread");
	nsx_md_bullet(out, "**Limitations**: waiting is not losing: whether "
			   "the GPU was idle meanwhile is in the section on "
			   "barriers");
	nsx_md_bullet(out, "**PID source**: `%s`",
		      t->pid_source_runtime ? t->pid_source_runtime : "none");
	if (!nsx_has_view(t->schema, NSX_VIEW_runtime))
		nsx_md_bullet(out, "**Not computed**: the trace has no API "
				   "calls");
	else if (sync)
		nsx_md_table(out, sync, "pid,api_name,total_time_ms,call_count,"
					"avg_duration_us", 0);
}

static void print(struct nsx_section *out, const struct nsx_trace *t,
		  const struct nsx_table *top, const struct nsx_table *table,
		  const struct sources *from)
{
	nsx_md_bullet(out, "**PID source**: `%s`",
		      t->pid_source_kernel ? t->pid_source_kernel : "none");
	nsx_md_table(out, table,
		     "pid,total_launches=launch_storm.total_launches,"
		     "window_s=launch_storm.window_s,"
		     "launches_per_s=launch_storm.launches_per_s,"
		     "p50_kernel_us=launch_storm.p50_kernel_us,"
		     "p90_kernel_us=launch_storm.p90_kernel_us,"
		     "p99_kernel_us=launch_storm.p99_kernel_us,"
		     "pct_under_5us=launch_storm.pct_under_5us,"
		     "pct_under_10us=launch_storm.pct_under_10us,"
		     "pct_under_20us=launch_storm.pct_under_20us,"
		     "launch_storm=launch_storm.is_launch_storm",
		     NSX_PIDS_SHOWN);
	print_kernels(out, top, table);
	print_sync(out, t, from->sync);
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_section *by_pid = nsx_report_section(run->report,
							      "by_pid");
	struct sources from = {
		nsx_section_table(by_pid, "kernels.kernels"),
		nsx_section_table(by_pid, "sync.sync_calls"),
		nsx_section_table(nsx_report_section(run->report,
						     "nvtx_by_pid"), "ranges"),
	};
	struct nsx_table *top, *table;
	struct nsx_pids pids;

	if (!by_pid || by_pid->status != NSX_S_ANSWERED) {
		print_sync(out, t, NULL);
		return nsx_cannot(out, "%s", by_pid && by_pid->reason ?
						     by_pid->reason :
						     "by_pid was left out");
	}
	if (nsx_pids_build(t, run->scratch, &pids, err))
		return err->rc;
	nsx_put(out, "pid_source", nsx_string(t->pid_source_kernel));
	top = nsx_add_table(out, &layouts[0]);
	table = nsx_add_table(out, &layouts[1]);
	for (uint32_t r = 0; r < t->nprocesses; r++) {
		uint32_t p = pids.order[r];

		if (pids.at[p] == pids.at[p + 1] && !pids.total[p].nsyncs)
			continue;
		if (!t->process[p].key && nsx_pids_unknown(t))
			continue;
		if (table->nrows == NSX_PIDS_SHOWN) {
			nsx_note(out, "the %d processes with the most kernel "
				      "time; tables/kernels_by_pid.csv and "
				      "sync_by_pid.csv have all",
				 NSX_PIDS_SHOWN);
			break;
		}
		if (add_process(run, &pids, p, &from, out, top, table, err))
			return err->rc;
	}
	print(out, t, top, table, &from);
	return 0;
}

NSX_DEFINE_PASS(per_pid) {
	.id = "per_pid",
	.title = "Launch storm per PID (best-effort)",
	.summary = "the processes with the most kernel time, one by one",
	.doc = "For the 10 processes with the most kernel time: the figures of "
	       "launch_storm over the process's own kernels, from its first "
	       "kernel start to its last kernel end; its kernels, "
	       "synchronising calls and NVTX ranges with the most time, as in "
	       "the sections by_pid and nvtx_by_pid.",
	.derived_from = "the kernels of each process, from its first kernel "
			"start to its last kernel end",
	.limitations = "a dense launch rate costs nothing while the queue "
		       "never runs empty: see the global section; kernels "
		       "inside CUDA graphs traced as a whole are not counted",
	.layouts = layouts,
	.nlayouts = ARRAY_LEN(layouts),
	.late = true,
	.run = run,
};
