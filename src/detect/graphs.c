/* graphs.c - CUDA graphs whose work, or whose inside, is missing from the trace. */
#include <inttypes.h>
#include "detect/detect.h"

static void graphs_propose(struct nsx_detect *d, enum nsx_finding_id id,
			   const char *title, const char *evidence, const char *remedy)
{
	const struct nsx_finding f = {
		.id = id, .title = title,
		.evidence = {evidence},
		.recommendation = {
			"capture a short stretch again with graphs traced node "
			"by node (the line is under Capture quality): that "
			"slows each launch (runs 30 to 60 % longer have been "
			"reported), so take times from the capture without it",
			remedy},
		.device = NSX_NONE, .confidence = NSX_CONF_HIGH,
		.alarm = NSX_ALARM_SET,
		.proof = {{.csv = "cuda_graphs", .column = "coverage_pct"}},
	};

	nsx_found(d->found, &f);
}

int nsx_detect_graphs(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_graph_facts *g = &d->facts->graphs;

	if (g->coverage_pct < NSX_GRAPHS_COVERED_PCT)
		graphs_propose(d, NSX_ID_graph_coverage,
			       "CUDA graph work is missing from the trace",
			       nsx_tell(d->found, "%" PRId64 " of %" PRId64 " graph launches left "
					"no replay: busy time is a lower bound, idle time an upper "
					"bound", g->launches - g->covered, g->launches),
			       "export with nsys 2024.6 or later, which keeps whole replays");
	if (g->hidden_pct >= NSX_GRAPHS_HIDDEN_PCT)
		graphs_propose(d, NSX_ID_graph_inside,
			       "The inside of CUDA graphs is not in the trace",
			       nsx_tell(d->found, "%.1f %% of the GPUs' busy time is replays "
					"recorded as a whole", g->hidden_pct), NULL);
	return 0;
}
