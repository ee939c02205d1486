/* nvtx_coverage_warn_threshold.c - the coverage below which the report warns, from the
 * options; a bare number in JSON.
 */
#include "passes/pass.h"

static int nvtx_coverage_warn_threshold_run(const struct nsx_run *run, struct nsx_section *out,
					    struct nsx_err *err NSX_UNUSED)
{
	nsx_put(out, "*", nsx_real(run->opts->nvtx_coverage_warn));
	return 0;
}

NSX_DEFINE_PASS(nvtx_coverage_warn_threshold, .no_title = "an option repeated",
	.no_query = "an option repeated", .no_cannot = "an option repeated",
	.summary = "the share below which NVTX coverage is warned of",
	.doc = "What --nvtx-coverage-warn-threshold asked for, 0.7 unless given.");
