/* pid_processes.c - one row for each process: what it ran, and on which devices. */
#include "passes/process/pids.h"

const struct nsx_layout nsx_process_layout = {.key = "processes",
					      NSX_COLS(nsx_process_cols)};

static int pid_processes_measure(const struct nsx_trace *t, struct nsx_arena *a,
				 struct nsx_group_time **ret, struct nsx_err *err)
{
	uint32_t *process;
	int64_t *end_ns;

	if (!nsx_new_array(process, a, t->ops.n, "processes of GPU work", err))
		return err->rc;
	nsx_few(*ret, a, t->nprocesses);
	nsx_few(end_ns, a, t->nprocesses);
	for (size_t i = 0; i < t->ops.n; i++)
		process[i] = nsx_op_process(t, i);
	for (uint32_t d = 0; d < t->ndevices; d++) {
		const struct nsx_device *dev = &t->device[d];

		nsx_group_times(&t->ops.start, &t->ops.length, process,
				dev->ops_at, dev->nops, *ret, end_ns);
	}
	return 0;
}

/* Lists the ordinals of each process's devices. Streams are sorted by device, so those of a
 * process are, too.
 */
static const char ***name_process_devices(const struct nsx_trace *t, struct nsx_section *out,
					  struct nsx_arena *a)
{
	uint32_t *last; /* for each process: 1 + its last device */
	const char ***ret;
	size_t *n;

	nsx_few(last, a, t->nprocesses);
	nsx_few(ret, a, t->nprocesses);
	nsx_few(n, a, t->nprocesses);
	for (uint32_t s = 0; s < t->nstreams; s++) {
		uint32_t p = t->stream[s].process, d = t->stream[s].device;

		if (p == NSX_NONE || last[p] == d + 1)
			continue;
		last[p] = d + 1;
		if (!ret[p])
			nsx_few(ret[p], out->arena, t->ndevices + 1);
		ret[p][n[p]++] = nsx_ordinal_label(t, d);
	}
	return ret;
}

/* Looks up rows by process in another section's table. */
struct lookup {
	const struct nsx_table *table;
	uint32_t *row; /* sorted by process */
	unsigned pid;  /* index of the pid column */
};

static const struct nsx_cell *pid_at(const struct lookup *l, uint32_t row)
{
	return &nsx_row_at(l->table, row)[l->pid];
}

NSX_ORDER_IN(pid_processes_cmp_rows, uint32_t, struct lookup,
	     BY(nsx_cmp_cells(pid_at(c, *x), pid_at(c, *y))));

static struct lookup open_lookup(const struct nsx_report *report, const char *section,
				 struct nsx_arena *a)
{
	struct lookup l = {nsx_section_table(nsx_report_section(report, section), "pids"), NULL, 0};

	if (!l.table)
		return l;
	l.pid = nsx_table_need(l.table, "pid");
	nsx_few(l.row, a, l.table->nrows);
	nsx_sort_indices(l.row, l.table->nrows, pid_processes_cmp_rows, &l);
	return l;
}

/* A cell of the process's row; null if there is none. */
static struct nsx_cell look_up(const struct lookup *l, struct nsx_cell pid, const char *column)
{
	size_t lo = 0, hi = l->table ? l->table->nrows : 0;
	int c = l->table ? nsx_table_col(l->table, column) : -1;

	NSX_BISECT(lo, hi, mid, nsx_cmp_cells(pid_at(l, l->row[mid]), &pid) < 0);
	return c >= 0 && lo < l->table->nrows && !nsx_cmp_cells(pid_at(l, l->row[lo]), &pid) ?
		       nsx_row_at(l->table, l->row[lo])[c] : nsx_null();
}

int nsx_fill_processes(const struct nsx_run *run, const struct nsx_report *report,
		       const struct nsx_pids *pids,
		       struct nsx_table *table, struct nsx_section *out, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct lookup nccl = open_lookup(report, "nccl", run->scratch);
	struct lookup barriers = open_lookup(report, "barriers", run->scratch);
	struct nsx_group_time *times = NULL;
	const char ***devices = name_process_devices(t, out, run->scratch);
	bool known = nsx_has_view(t->schema, NSX_VIEW_kernel) && !nsx_pids_unknown(t);

	if (pid_processes_measure(t, run->scratch, &times, err))
		return err->rc;
	for (uint32_t r = 0; r < t->nprocesses; r++) {
		uint32_t p = pids->order[r];
		struct nsx_cell pid = nsx_pid_cell(t, p);
		const struct nsx_pid_totals *x = &pids->total[p];
		const struct nsx_group_time *time = &times[p];
		struct nsx_cell *row;

		if (!devices[p] && !pids->total[p].ncalls)
			continue;
		row = nsx_add_row(table);
		if (t->process[p].key || t->pid_source_kernel)
			row[P_PID] = pid;
		row[P_NAME] = nsx_string(nsx_process_name(t, p));
		/* Kernel figures are unknown for a process with API calls if kernel rows
		 * are missing or name no process.
		 */
		if (known || x->nkernels || x->kernel_ns) {
			row[P_KERNEL_MS] = nsx_ms(x->kernel_ns);
			row[P_KERNELS] = nsx_int((int64_t)x->nkernels);
		}
		if (known || devices[p]) {
			row[P_BUSY] = nsx_ms(time->busy_ns);
			row[P_CO_RUN] = nsx_ms(time->busy_ns - time->exclusive_ns);
		}
		row[P_DEVICES] = nsx_list(devices[p]);
		row[P_NCCL] = look_up(&nccl, pid, "total_nccl_time_ms");
		row[P_BARRIER] = look_up(&barriers, pid, "total_barrier_time_ms");
		row[P_TOP_NCCL] = look_up(&nccl, pid, "top_nccl_op");
		row[P_TOP_BARRIER] = look_up(&barriers, pid, "top_barrier");
	}
	return 0;
}
