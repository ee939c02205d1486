/* bases.h - the fixtures that fuzz_rows edits and about which questions are asked. Each has data
 * for analyses for which the others have none. Stored inputs refer to them by index, so new ones
 * must be appended.
 */
#ifndef NSX_FUZZ_BASES_H
#define NSX_FUZZ_BASES_H

static const char *const bases[] = {
	"synthetic",	     "case04_nvtx_on_one_pid",
	"case09_synthetic_nvlink", "backpressure",
	"copy_bound",	     "graphs_node",
	"graphs_opaque",     "graphs_trace",
	"gpu_metrics",	     "iterations_nvtx",
	"iterations_sequence", "memory_usage",
	"module_load_stall", "nccl_payload",
	"nccl_three_ranks",  "two_rank_straggler",
	"nvtx_domains",	     "occupancy",
	"osrt",		     "overlap_partition",
	"profiler_cost",     "sched_states",
	"stream_wait",	     "um_faults",
	"capture_gaps",	     "launch_bound",
	"variant_names",     "hostile_types",
	"p2p_copy",	     "era_v2020",
	"eventclass67",	     "zero_inverted_open",
	"secrets",
};

#endif
