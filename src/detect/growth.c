/* growth.c - memory that grows with every iteration. */
#include <inttypes.h>
#include "detect/detect.h"

static void suspect(struct nsx_findings *l, const struct nsx_growth *x)
{
	struct nsx_finding f = {
		.id = NSX_ID_memory_leak,
		.title = nsx_tell(l, "Device memory of process %" PRId64
				  " grows with every iteration", x->pid),
		.recommendation = {
			"look at what the listed ranges allocate and keep: "
			"lists that grow, results that are never dropped"},
		.device = NSX_NONE, .confidence = NSX_CONF_MEDIUM,
		.severity = NSX_SEV_MEDIUM, .alarm = NSX_ALARM_SET,
		.subject = nsx_tell(l, "pid:%" PRId64, x->pid),
		.proof = {{.csv = "memory_usage", .column = "end_live_bytes",
			   .at = {{"pid", nsx_int(x->pid)},
				  {"kind", nsx_string("device")}}}},
	};

	f.evidence[0] = nsx_tell(
		l, "the least live memory of %zu steady iterations: %s to %s, "
		   "%s an iteration (Theil-Sen), more in %.0f %% of them",
		x->n, nsx_tell_bytes(l, x->first_bytes),
		nsx_tell_bytes(l, x->last_bytes),
		nsx_tell_bytes(l, nsx_to_i64(x->slope_bytes)), x->grows_pct);
	for (unsigned i = 0; i < x->nkept; i++)
		f.evidence[i + 1] = nsx_tell(
			l, "never freed: %" PRId64 " times %s under %s",
			x->kept[i].count, nsx_tell_bytes(l, x->kept[i].bytes),
			nsx_tell_name(l, x->kept[i].nvtx_path ?: ""));
	nsx_found(l, &f);
}

int nsx_detect_growth(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	struct nsx_findings *l = d->found;

	for (const struct nsx_growth *x = d->measured->growth; x; x = x->next) {
		if (x->is_suspected)
			suspect(l, x);
		else
			nsx_fine(l, "The device memory of process %" PRId64
				    " does not grow: at least %s in the first "
				    "of its %zu steady iterations, %s in the "
				    "last", x->pid,
				 nsx_tell_bytes(l, x->first_bytes), x->n,
				 nsx_tell_bytes(l, x->last_bytes));
	}
	return 0;
}
