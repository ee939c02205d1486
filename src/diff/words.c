/* words.c - texts and figures for rows. */
#include <math.h>
#include "diff/diff.h"
#include "report/words.h"

#define MANY 9.0 /* least ratio of a change that reads better as "11.3 times" than as +1032 % */

void nsx_buf_add_id(struct nsx_buf *b, const char *id)
{
	for (; *id; id++)
		nsx_buf_add(b, *id == '_' ? " " : id, 1);
}

static const char *sign_of(double x)
{
	return x < 0 ? "−" : "+";
}

const char *nsx_text_change(struct nsx_arena *a, double ns)
{
	return fabs(ns) < 0.5 ? "0" :
	       nsx_arena_printf(a, "%s%s", sign_of(ns), nsx_text_ns(a, fabs(ns)));
}

const char *nsx_text_ratio(struct nsx_arena *a, double ratio)
{
	double size = fabs(100 * ratio);

	if (ratio >= MANY)
		return nsx_arena_printf(a, ratio < 99 ? "%.1f times" : "%.0f times", 1 + ratio);
	return nsx_arena_printf(a, "%s%.*f %%", fabs(ratio) < NSX_SEEN ? "±" : sign_of(ratio),
				size >= 99.95 ? 0 : 1, size);
}

const char nsx_no_kernels[] = "digests do not tell the kernels of a step apart";

const char *nsx_lane_name(const struct nsx_diff *d, uint32_t lane, struct nsx_arena *a)
{
	const struct nsx_diff_lane *l = &d->lanes[lane];
	long long after = d->pool[1].lanes[lane].device_id;
	const char *gpu = nsx_arena_printf(a, "GPU %lld", (long long)l->device_id);
	bool several = l->nth > 0;

	if (l->rank >= 0)
		return nsx_arena_printf(a, "rank %lld", (long long)l->rank);
	for (uint32_t i = lane + 1; i < d->nlanes && !several; i++)
		several = d->lanes[i].device_id == l->device_id;
	return several ? nsx_arena_printf(a, "%s, process %u", gpu, l->nth + 1) :
	       after != l->device_id ? nsx_arena_printf(a, "%s (%lld after)", gpu, after) :
				       gpu;
}
