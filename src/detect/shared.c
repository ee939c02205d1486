/* shared.c - a GPU that is busy while this program leaves it idle: another
 * program uses it, and time won for the host need not be the GPU's to give.
 */
#include <string.h>
#include "detect/detect.h"
#include "facts/metrics/metrics.h"

#define BUSY_PCT 95.0
enum { FEWEST = 20 }; /* samples at least half of which is idle */

int nsx_detect_shared(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_metrics *m = d->facts->metrics;
	uint32_t dev = d->facts->limiting;
	struct nsx_findings *l = d->found;

	for (size_t i = 0; m && dev != NSX_NONE && i < m->n; i++) {
		const struct nsx_metric *x = &m->v[i];
		const struct nsx_metric_scope *idle = &x->scope[NSX_SCOPE_IDLE];

		if (x->device != dev || !x->name ||
		    !strcasestr(x->name, "GR Active") || idle->n < FEWEST ||
		    !(idle->p50 >= BUSY_PCT))
			continue;
		struct nsx_finding f = {
			.id = NSX_ID_gpu_shared, .device = dev,
			.confidence = NSX_CONF_HIGH,
			.title = nsx_tell(l, "GPU %lld is busy while this "
					  "program leaves it idle: something "
					  "else uses it", (long long)
					  d->trace->device[dev].device_id),
			.evidence = {
				nsx_tell(l, "%s reads %.1f %%, the median of "
					 "%zu samples in which no recorded "
					 "work runs for half of the time or "
					 "more", nsx_tell_name(l, x->name),
					 idle->p50, idle->n),
				"what less waiting would win is what an empty "
				"GPU would give: no price here is sure"},
			.recommendation = {
				"run alone on the GPU, or capture all programs "
				"that use it"},
			.proof = {{.csv = "gpu_metrics", .column = "p50",
				   .at = {{"metric_name",
					   nsx_string(nsx_tell(l, "%s",
							       x->name))},
					  {"scope", nsx_string("idle")}}}}};

		nsx_found(l, &f);
		break;
	}
	return 0;
}
