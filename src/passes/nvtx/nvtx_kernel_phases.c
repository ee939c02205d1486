/* nvtx_kernel_phases.c - mapped kernel time by the user's phases. */
#include "passes/nvtx/phase_table.h"
#include "passes/pass.h"

#define COLUMNS(X)                                                             \
	X(PHASE, "phase", STR, "phase of the map; unmapped is the rest")       \
	X(PHASE_MS, "total_kernel_time_ms", F64, "sum of the phase's kernels") \
	X(PHASE_PCT, "pct_of_attributed_kernel_time", F64,                     \
	  "share of the time of kernels that were launched in a range")
NSX_COLUMN_ARRAY(cols, COLUMNS);
static const struct nsx_layout layout = {
	.key = "phases", NSX_COLS(cols), .json_rows = NSX_ALL_ROWS};

static int nvtx_kernel_phases_run(const struct nsx_run *run, struct nsx_section *out,
				  struct nsx_err *err)
{
	const struct nsx_phase_map *m = run->opts->phases;
	struct nsx_table *table;
	size_t nplaces;
	int64_t *ns, *sum;

	if (!run->opts->nvtx_kernel_map)
		return nsx_cannot(out, "disabled by --no-nvtx-kernel-map");
	table = nsx_add_table(out, &layout);
	nplaces = nsx_phase_count(m) + (size_t)1;
	sum = nsx_arena_get(run->scratch, nplaces * sizeof(*sum));
	if (nsx_nvtx_phase_kernels(run->trace, m, run->scratch, &ns, err))
		return err->rc;
	for (size_t i = 0; i < run->trace->nprocesses * nplaces; i++)
		nsx_add_to(&sum[i % nplaces], ns[i]);
	nsx_put(out, "attributed_kernel_time_ms", nsx_ms(nsx_nvtx_phase_rows(m, sum, table)));
	nsx_md_heading(out, "NVTX");
	nsx_md_subheading(out, "NVTX phases (mapped, GPU kernel time)");
	nsx_md_whole(out, table, 0);
	return 0;
}

NSX_DEFINE_PASS(nvtx_kernel_phases,
	.summary = "kernel time by the phases of --phase-map",
	.doc = "A kernel belongs to the phase of the innermost range, of any domain, that is open "
	       "when its host call begins; phases of ranges are those of nvtx_phases. The total is "
	       "the time of all kernels launched in a range, so it equals mapped_kernel_time_ms of "
	       "nvtx_kernel_time.",
	.by_phase = true,
	.needs = {NSX_KERNELS_BY_RANGE},
	NSX_LAYOUT(layout),
	.may_be_null = true);
