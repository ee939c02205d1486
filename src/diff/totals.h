/* totals.h - two sides as wholes. */
#ifndef NSX_DIFF_TOTALS_H
#define NSX_DIFF_TOTALS_H

#include "diff/stats.h"
#include "fleet/totals.h"

extern const char *const nsx_total_names[NSX_NTOTALS]; /* "kernels", ... */

/* Two sides as wholes; with several captures per side, their means. */
struct nsx_totals_change {
	bool known;
	struct nsx_totals side[2];
	double host_speed; /* duration of equal calls, after / before; NAN: not known */
	bool same_bytes, same_threads; /* bytes, or threads, are within 2 % of each other */
	/* whichever of threads and bytes is decisive is the same, so a shorter run did not just do
	 * less work
	 */
	bool same_work;
	bool in_step; /* both sides launch the same kernels in the same order */
	bool pairs_up; /* in_step, or one run a side with equal launches, threads and bytes */
	double in_step_rel; /* change of the launches' time, paired one by one */
	struct nsx_interval in_step_ci; /* interval of in_step_rel */
	bool decides; /* the comparison's verdict is about the whole runs */
};

#endif
