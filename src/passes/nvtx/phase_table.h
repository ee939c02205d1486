/* phase_table.h - time of ranges and kernels by the user's phases. */
#pragma once

#include "passes/nvtx/phase.h"
#include "report/table.h"
#include "trace/nvtx_walk.h"

/* The phase of each range: that of its name or, if none matches, that of the nearest enclosing
 * range of any domain. For start/end ranges only the name counts. Phases are indices;
 * nsx_phase_count(m) means "unmapped".
 */
struct nsx_nvtx_phases {
	const struct nsx_phase_map *map;
	uint32_t *of; /* one for each range */
	/* For each range: the range below it on the stack; for walks over all domains. */
	uint32_t *below;
};
int nsx_nvtx_phase_ranges(const struct nsx_trace *t,
			  const struct nsx_phase_map *m, struct nsx_arena *a,
			  struct nsx_nvtx_phases *ret, struct nsx_err *err);
/* Kernel time by the phase of the innermost range (of any domain) at the launch:
 * *ret[process * (phases + 1) + phase]. Owner: a.
 */
int nsx_nvtx_phase_kernels(const struct nsx_trace *t,
			   const struct nsx_phase_map *m, struct nsx_arena *a,
			   int64_t **ret, struct nsx_err *err);
/* Adds rows with these three columns, whose keys the section defines, sorted by total with
 * "unmapped" last; returns the total. ns has one element more than there are phases.
 */
enum { PHASE, PHASE_MS, PHASE_PCT };
int64_t nsx_nvtx_phase_rows(const struct nsx_phase_map *m, const int64_t *ns,
			    struct nsx_table *table);
