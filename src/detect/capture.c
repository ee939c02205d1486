/* capture.c - findings from checks of the capture that limit the report's conclusions. */
#include "detect/detect.h"

int nsx_detect_capture(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	for (const struct nsx_capture_check *x = d->measured->capture; x; x = x->next) {
		const struct nsx_finding f = {
			.id = x->id, .subject = x->subject, .title = x->title,
			.evidence = {x->detail},
			.recommendation = {x->advice}, .device = NSX_NONE,
			.confidence = NSX_CONF_HIGH, .severity = x->severity,
			.alarm = NSX_ALARM_SET,
			.proof = {{.csv = "capture_quality",
				   .column = "detail",
				   .at = {{"detail", nsx_string(x->detail)}}}},
		};

		nsx_found(d->found, &f);
	}
	return 0;
}
