/* partition.c - where each GPU's time went: six classes that sum up to the window. */
#include "passes/pass.h"

#define COLUMNS(X)                                                            \
	X(DEVICE, "device_id", I64, "CUDA ordinal")                           \
	X(CLASS, "class", STR, "class of what the device did")                \
	X(TOTAL_NS, "total_ns", I64, "time in this class")                    \
	X(TOTAL_MS, "total_ms", F64, "time in this class")                    \
	X(PCT, "pct_of_window", F64, "share of the window")
NSX_COLUMNS(cols, COLUMNS);
#define DEVICE_COLUMNS(X)                                                                          \
	X(DEVICE_ID, "device_id", I64, "CUDA ordinal")                                             \
	X(DEVICE_WINDOW_NS, "window_ns", I64, "length of the window")                              \
	X(DEVICE_COMPUTE_ONLY_NS, "compute_only_ns", I64, "kernels, nothing else")                 \
	X(DEVICE_COMPUTE_COPY_NS, "compute_copy_ns", I64, "kernels while copies run")              \
	X(DEVICE_COMPUTE_COMM_NS, "compute_comm_ns", I64, "kernels while communication runs")      \
	X(DEVICE_COMM_EXPOSED_NS, "comm_exposed_ns", I64, "communication without compute")         \
	X(DEVICE_COPY_EXPOSED_NS, "copy_exposed_ns", I64, "copies alone")                          \
	X(DEVICE_IDLE_NS, "idle_ns", I64, "no GPU work at all")                                    \
	X(DEVICE_GPU, "gpu", STR, "distinguishes GPUs with the same ordinal")
NSX_COLUMNS(device_cols, DEVICE_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.csv = "partition", NSX_COLS(cols)},
	{.key = "devices", NSX_COLS(device_cols), .json_rows = NSX_ALL_ROWS},
};

static void partition_add_device(const struct nsx_run *run, uint32_t d,
				 struct nsx_table *table, struct nsx_table *devices)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_window *w = &t->window;
	int64_t window_ns = w->end_ns - w->start_ns;
	struct nsx_cell *dev = nsx_add_row(devices);
	struct nsx_partition p;

	nsx_partition(&run->facts->device[d], w->start_ns, w->end_ns, &p);
	dev[DEVICE_ID] = nsx_device_cell(t, d);
	dev[DEVICE_WINDOW_NS] = nsx_int(window_ns);
	dev[DEVICE_GPU] = nsx_string(nsx_text(t, t->device[d].gpu));
	for (unsigned c = 0; c < NSX_NPARTS; c++) {
		struct nsx_cell *row = nsx_add_row(table);

		dev[DEVICE_COMPUTE_ONLY_NS + c] = nsx_int(p.ns[c]);
		row[DEVICE] = dev[DEVICE_ID];
		row[CLASS] = nsx_string(nsx_part_names[c]);
		row[TOTAL_NS] = nsx_int(p.ns[c]);
		row[TOTAL_MS] = nsx_ms(p.ns[c]);
		row[PCT] = nsx_part_pct(p.ns[c], window_ns);
	}
}

static int partition_run(const struct nsx_run *run, struct nsx_section *out,
			 struct nsx_err *err NSX_UNUSED)
{
	struct nsx_table *table = nsx_add_table(out, &layouts[0]);
	struct nsx_table *devices = nsx_add_table(out, &layouts[1]);

	if (!run->trace->ndevices)
		return nsx_cannot(out, "the trace has no GPU work");
	for (uint32_t d = 0; d < run->trace->ndevices; d++)
		partition_add_device(run, d, table, devices);
	nsx_md_text(out, "What each GPU did in the whole window, every moment counted once: `copy "
		    "exposed` and `comm exposed` are times in which nothing computes.");
	nsx_md_table(out, devices, 0, DEVICE_ID, DEVICE_COMPUTE_ONLY_NS,
		     DEVICE_COMPUTE_COPY_NS, DEVICE_COMPUTE_COMM_NS,
		     DEVICE_COMM_EXPOSED_NS, DEVICE_COPY_EXPOSED_NS,
		     DEVICE_IDLE_NS, DEVICE_WINDOW_NS);
	return 0;
}

NSX_DEFINE_PASS(partition,
	.title = "Where the time went",
	.summary = "six exact classes of each GPU's time",
	.doc = "With C the union of compute kernels and graph replays, N that of communication "
	       "kernels, X that of copies and memsets, and W the window: compute_only = C - (N u "
	       "X), compute_copy = (C n X) - N, compute_comm = C n N, comm_exposed = N - C, "
	       "copy_exposed = X - (C u N), idle = W - (C u N u X). They add up to W exactly.",
	.derived_from = "kernels, copies, memsets and graph replays of each device, as unions in "
			"the window",
	.limitations = "work of processes that were not profiled is not seen; "
		       "a graph traced as a whole counts as compute",
	.any_of = {NSX_GPU_WORK},
	NSX_LAYOUTS(layouts));
