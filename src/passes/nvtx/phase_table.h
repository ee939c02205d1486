/* phase_table.h - time of ranges and kernels by the phases of the user's map. */
#ifndef NSX_PHASE_TABLE_H
#define NSX_PHASE_TABLE_H

#include "passes/nvtx/phase.h"
#include "report/table.h"
#include "trace/nvtx_walk.h"

/* Phases of the user's map. A range is of the phase its name belongs to, else
 * of that of the nearest range around it, of any domain; of start/end ranges
 * only the name counts. Phases are indices; nsx_phase_count(m) is "unmapped".
 */
struct nsx_nvtx_phases {
	const struct nsx_phase_map *map;
	uint32_t *of; /* by nvtx                                             */
	uint32_t *below; /* for a walk over all domains                      */
};
int nsx_nvtx_phase_ranges(const struct nsx_trace *t,
			  const struct nsx_phase_map *m, struct nsx_arena *a,
			  struct nsx_nvtx_phases *ret, struct nsx_err *err);
/* Time of the kernels launched in a range, by the phase of the innermost one
 * (of any domain): *ret[process * (phases + 1) + phase]. Owner: a.
 */
int nsx_nvtx_phase_kernels(const struct nsx_trace *t,
			   const struct nsx_phase_map *m, struct nsx_arena *a,
			   int64_t **ret, struct nsx_err *err);
/* Rows of a table with these three columns, whose keys are the section's own:
 * by total, "unmapped" last. ns has one more place than there are phases.
 */
enum { PHASE, PHASE_MS, PHASE_PCT };
void nsx_nvtx_phase_rows(const struct nsx_phase_map *m, const int64_t *ns,
			 struct nsx_table *table, int64_t *ret_total_ns);

#endif
