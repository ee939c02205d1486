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

NSX_DEFINE_PASS(nvtx_coverage_warn_threshold,
	.summary = "the share below which NVTX coverage raises a warning",
	.doc = "The value of --nvtx-coverage-warn-threshold, by default 0.7.");
