/* graphs.c - CUDA graphs whose work, or whose inside, is missing from the trace. */
#include <inttypes.h>
#include "detect/detect.h"
#include "detect/words.h"

static void graphs_propose(struct nsx_detect *d, enum nsx_finding_id id,
			   const char *title, const char *evidence, const char *remedy)
{
	const struct nsx_finding f = {
		.id = id, .title = title,
		.evidence = {evidence},
		.recommendation = {say_capture_short_stretch, remedy}, .device = NSX_NONE,
		.confidence = NSX_CONF_HIGH,
		.alarm = NSX_ALARM_SET,
		.proof = {{.csv = "cuda_graphs", .column = "coverage_pct"}},
	};

	nsx_found(d->found, &f);
}

int nsx_detect_graphs(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_graph_facts *g = &d->facts->graphs;

	if (g->coverage_pct < NSX_GRAPHS_COVERED_PCT)
		graphs_propose(d, NSX_ID_graph_coverage, say_cuda_graph_work_missing,
			nsx_tell(d->found,
				"%" PRId64 " of %" PRId64 " graph launches left "
				"no replay: busy time is a lower bound, idle time an upper "
				"bound",
				g->launches - g->covered, g->launches),
			say_export_with_nsys_2024_6);
	if (g->hidden_pct >= NSX_GRAPHS_HIDDEN_PCT)
		graphs_propose(d, NSX_ID_graph_inside, say_inside_cuda_graphs_not,
			nsx_tell(d->found, say_gpus_busy_time_replays, g->hidden_pct), NULL);
	return 0;
}
