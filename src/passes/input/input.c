/* input.c - the input: file, exporter, and the GPUs, network cards and processes in it. The
 * top-level object `input` of the report.
 *
 * Exports hold the program's command line, environment, user and host. None of that is read.
 */
#include "passes/process/pids.h"

#define GPU_COLUMNS(X)                                                                             \
	X(GPU_ID, "id", I64, "physical index")                                                     \
	X(GPU_NAME, "name", STR, "model")                                                          \
	X(GPU_UUID, "uuid", STR, "uuid of the GPU")                                                \
	X(GPU_CUDA_DEVICE, "cuda_device", I64, "CUDA ordinal as the profiler saw it")              \
	X(GPU_COMPUTE_CAPABILITY, "compute_capability", STR, "major.minor")                        \
	X(GPU_SM_COUNT, "sm_count", I64, "multiprocessors")                                        \
	X(GPU_MEMORY_BYTES, "memory_bytes", I64, "size of its memory")                             \
	X(GPU_BANDWIDTH_BYTES_PER_S, "bandwidth_bytes_per_s", I64, "peak rate of its memory")      \
	X(GPU_PCI_ADDRESS, "pci_address", STR, "place on the PCI bus")                             \
	X(GPU_NUMA_NODE, "numa_node", I64, "the NUMA node next to it")
NSX_COLUMNS(gpu_cols, GPU_COLUMNS);
#define NIC_COLUMNS(X)                                                        \
	X(NIC_ID, "id", I64, "number of the card")                            \
	X(NIC_NAME, "name", STR, "name of its interface")                     \
	X(NIC_LINK, "link", STR, "Ethernet or InfiniBand")
NSX_COLUMNS(nic_cols, NIC_COLUMNS);
#define PROCESS_COLUMNS(X)                                                    \
	X(PROCESS_PID, "pid", I64, "process")                                 \
	X(PROCESS_NAME, "name", STR, "program, without its folder")
NSX_COLUMNS(process_cols, PROCESS_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "gpus", NSX_COLS(gpu_cols), .json_rows = NSX_ALL_ROWS},
	{.key = "network_cards", NSX_COLS(nic_cols), .json_rows = NSX_ALL_ROWS},
	{.key = "processes", NSX_COLS(process_cols), .json_rows = NSX_ALL_ROWS},
};

static struct nsx_cell known_count_cell(int64_t n) /* negative: unknown */
{
	return n < 0 ? nsx_null() : nsx_int(n);
}

static void add_gpus(const struct nsx_trace *t, struct nsx_section *out)
{
	struct nsx_table *table = nsx_add_table(out, &layouts[0]);

	for (uint32_t i = 0; i < t->ngpus; i++) {
		const struct nsx_gpu_info *g = &t->gpu[i];
		struct nsx_cell *row = nsx_add_row(table);

		row[GPU_ID] = known_count_cell(g->id);
		row[GPU_NAME] = nsx_text_cell(t, g->name);
		row[GPU_UUID] = nsx_text_cell(t, g->uuid);
		row[GPU_CUDA_DEVICE] = known_count_cell(g->cuda_device);
		if (g->compute_major >= 0 && g->compute_minor >= 0)
			row[GPU_COMPUTE_CAPABILITY] = nsx_string(nsx_say(
				out, "%lld.%lld", (long long)g->compute_major,
				(long long)g->compute_minor));
		row[GPU_SM_COUNT] = known_count_cell(g->sm_count);
		row[GPU_MEMORY_BYTES] = known_count_cell(g->memory_bytes);
		row[GPU_BANDWIDTH_BYTES_PER_S] = known_count_cell(g->bandwidth_bytes_per_s);
		row[GPU_PCI_ADDRESS] = nsx_text_cell(t, g->bus);
		row[GPU_NUMA_NODE] = known_count_cell(g->numa_node);
	}
	nsx_table_sort(table, GPU_ID, GPU_UUID);
}

static void add_nics(const struct nsx_trace *t, struct nsx_section *out)
{
	struct nsx_table *table = nsx_add_table(out, &layouts[1]);

	for (const struct nsx_nic *x = t->nic; x < t->nic + t->nnics; x++) {
		struct nsx_cell *row = nsx_add_row(table);

		row[NIC_ID] = known_count_cell(x->id);
		row[NIC_NAME] = nsx_text_cell(t, x->name);
		row[NIC_LINK] = nsx_string(x->link);
	}
	nsx_table_sort(table, NIC_ID, NIC_NAME);
}

static void input_add_processes(const struct nsx_trace *t, struct nsx_section *out)
{
	struct nsx_table *table = nsx_add_table(out, &layouts[2]);

	for (uint32_t i = 0; i < t->nprocesses; i++) {
		struct nsx_cell *row;

		/* key 0 is either a process or the mark of an unknown process */
		if (!t->process[i].key && !t->pid_source_kernel)
			continue;
		row = nsx_add_row(table);
		row[PROCESS_PID] = nsx_pid_cell(t, i);
		row[PROCESS_NAME] = nsx_string(nsx_process_name(t, i));
	}
	nsx_table_sort(table, PROCESS_PID, PROCESS_NAME);
}

static int input_run(const struct nsx_run *run, struct nsx_section *out,
		     struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_schema *s = t->schema;
	bool any;

	nsx_put(out, "size_bytes", nsx_int(nsx_db_size(s->db)));
	nsx_put(out, "product_version", nsx_string(*s->product_version ?
							   s->product_version :
							   NULL));
	nsx_put(out, "schema_version", nsx_string(*s->schema_version ? s->schema_version : NULL));
	add_gpus(t, out);
	add_nics(t, out);
	input_add_processes(t, out);
	any = t->ops.n || t->calls.n || t->nvtx.n || t->nosrt_sums || nsx_is_in_part(t);
	nsx_put(out, "first_ns", any ? nsx_int(t->first_ns) : nsx_null());
	nsx_put(out, "last_ns", any ? nsx_int(t->last_ns) : nsx_null());
	return 0;
}

NSX_DEFINE_PASS(input, .is_top = true,
	.summary = "the file, its exporter, GPUs, network cards and processes",
	.doc = "Size and versions of the file, the GPUs and network cards of the machine, the "
	       "processes that have events, the first and last instant of any event. Command "
	       "lines, environment, user and host names in the file are never read.",
	NSX_LAYOUTS(layouts));
