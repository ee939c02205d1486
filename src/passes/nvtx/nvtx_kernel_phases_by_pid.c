/* nvtx_kernel_phases_by_pid.c - nvtx_kernel_phases for each process. */
#include "passes/nvtx/phase_table.h"
#include "passes/pass.h"

#define PHASE_COLUMNS(X)                                                       \
	X(PHASE, "phase", STR, "phase of the map; unmapped is the rest")       \
	X(PHASE_MS, "total_kernel_time_ms", F64, "sum of the phase's kernels") \
	X(PHASE_PCT, "pct_of_attributed_kernel_time", F64,                     \
	  "share of the process's kernels that were launched in a range")
NSX_COLUMN_ARRAY(phase_cols, PHASE_COLUMNS);
static const struct nsx_layout phase_layout = {NSX_COLS(phase_cols), .json_rows = NSX_ALL_ROWS};
#define COLUMNS(X)                                                            \
	X(PID, "pid", I64, "process")                                         \
	X(PHASES, "phases", TABLE, "kernel time by phase", .rows = &phase_layout)
NSX_LAYOUT_OF(layout, COLUMNS, .key = "*");

static void nvtx_kernel_phases_by_pid_add_process(const struct nsx_run *run, uint32_t process,
						  const int64_t *ns, struct nsx_section *out)
{
	struct nsx_table *phases = nsx_add_table(out, &phase_layout);
	struct nsx_cell *row;

	if (!nsx_nvtx_phase_rows(run->opts->phases, ns, phases))
		return;
	row = nsx_add_row(out->tables[0]);
	row[PID] = nsx_pid_cell(run->trace, process);
	row[PHASES] = nsx_rows(phases);
	nsx_md_subsubheading(out, nsx_say(out, "PID `%s`", nsx_pid_label(run->trace, process)));
	nsx_md_whole(out, phases, 0);
}

static int nvtx_kernel_phases_by_pid_run(const struct nsx_run *run, struct nsx_section *out,
					 struct nsx_err *err)
{
	const struct nsx_phase_map *m = run->opts->phases;
	int64_t *ns;

	if (!run->opts->nvtx_kernel_map ||
	    nsx_pass_missing(&nsx_pass_nvtx_kernel_time, run->trace->schema, run->scratch)) {
		out->status = NSX_S_NULL;
		return 0;
	}
	nsx_add_table(out, &layout);
	nsx_md_heading(out, "NVTX by process");
	nsx_md_subheading(out, "NVTX phases per PID (mapped, GPU kernel time)");
	if (nsx_nvtx_phase_kernels(run->trace, m, run->scratch, &ns, err))
		return err->rc;
	for (uint32_t i = 0; i < run->trace->nprocesses; i++)
		nvtx_kernel_phases_by_pid_add_process(run, i,
						      ns + i * (nsx_phase_count(m) + (size_t)1),
						      out);
	return 0;
}

NSX_DEFINE_PASS(nvtx_kernel_phases_by_pid, .json = "by_pid.nvtx_kernel_phases",
	.summary = "kernel time by phase in each process",
	.doc = "Like nvtx_kernel_phases, for each process with kernels launched in a range.",
	.by_phase = true, NSX_LAYOUT(layout), .may_be_null = true);
