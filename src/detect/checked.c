/* checked.c - figures that look bad but are not, listed under "checked and fine" so that nobody
 * investigates them again.
 */
#include "detect/detect.h"
#include "detect/words.h"

#define SMALL_GRIDS_PCT 10
#define BOUND_SHARE 0.05

int nsx_detect_grids(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	int64_t ns = d->measured->grids.ns;
	int64_t small_ns = d->measured->grids.small_ns;
	double pct = ns ? 100 * (double)small_ns / (double)ns : 100;

	if (pct < SMALL_GRIDS_PCT)
		nsx_fine(d->found, say_grids_with_fewer_blocks,
			nsx_gpu_label(d->trace, d->measured->grids.device),
			small_ns ? nsx_text_share(d->found->arena, pct, 100) : "none");
	return 0;
}

int nsx_detect_launching(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_measured *m = d->measured;
	const struct nsx_window *w = &d->trace->window;
	double share = (double)m->storm.bound_ns / (double)(w->end_ns - w->start_ns);

	if (m->storm.is_storm && share >= 0 && share < BOUND_SHARE)
		nsx_fine(d->found, say_kernels_second_each, m->storm.per_s,
			nsx_text_ns(d->found->arena, m->storm.median_ns), 100 * share);
	if (m->launches.held_ns > m->launches.ns / 2)
		nsx_fine(d->found, say_launch_calls_take_host,
			nsx_tell_ns(d->found, m->launches.ns),
			nsx_tell_ns(d->found, m->launches.held_ns),
			m->launches.is_inferred ? say_inferred_from_calls_far : "");
	return 0;
}

/* Reports that the longest idle GPU is idle for less time than it has no kernel: the difference is
 * copies.
 */
int nsx_detect_copies_only(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_window *w = &d->trace->window;
	double all = (double)(w->end_ns - w->start_ns);
	double most = -1, no_kernel = -1; /* negative without a GPU          */
	uint32_t device = 0;

	for (uint32_t i = 0; i < d->trace->ndevices; i++) {
		const struct nsx_device_facts *f = &d->facts->device[i];
		double pct = 100 * (double)nsx_idle_total(&d->facts->idle[i]) / all;

		if (pct <= most)
			continue;
		most = pct;
		device = i;
		no_kernel = 100 * (all - (double)nsx_kernel_busy(f)) / all;
	}
	if (no_kernel - most > 1)
		nsx_fine(d->found, say_gpu_runs_no_kernel_whole, nsx_gpu_label(d->trace, device),
			nsx_text_share(d->found->arena, no_kernel, 100),
			nsx_text_share(d->found->arena, most, 100));
	return 0;
}
