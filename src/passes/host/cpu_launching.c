/* cpu_launching.c - the CPUs on which launching threads ran, compared with the place of their
 * GPU.
 */
#include "passes/host/cpu_sched.h"

#define COLUMNS(X)                                                              \
	X(PID, "pid", I64, "process")                                           \
	X(TID, "tid", I64, "thread")                                            \
	X(NAME, "thread_name", STR, "name of the thread")                       \
	X(DEVICE, "device_id", I64, "CUDA ordinal of the device for this work") \
	X(GPU, "gpu", STR, "distinguishes GPUs with the same ordinal")          \
	X(PCI, "pci_address", STR, "place of that GPU on the PCI bus")          \
	X(NUMA, "numa_node", I64, "NUMA node nearest to the GPU")               \
	X(OPS, "gpu_ops", I64, "GPU work that the thread launched")             \
	X(NCPUS, "cpus", I64, "CPUs that the thread ran on")                    \
	X(CPUS, "cpu_list", STR, "numbers of these CPUs")
NSX_COLUMNS(cols, COLUMNS);
const struct nsx_layout cpu_launching_layout = {.key = "launching",
						NSX_COLS(cols)};

enum { MAX_RUNS = 32 }; /* greatest number of runs in a list of numbers */

static int cmp_pairs(const void *a, const void *b)
{
	const struct nsx_group_key *x = a, *y = b;

	return NSX_CMP(x->a, y->a) ?: NSX_CMP((int32_t)x->b, (int32_t)y->b);
}

/* Formats numbers as "0-3, 8". */
static const char *format_number_runs(const struct nsx_group_key *v, size_t n,
				      struct nsx_arena *a)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	unsigned nruns = 0;

	NSX_EACH_RUN(i, next, n, v[next].b == v[next - 1].b + 1) {
		if (nruns++ == MAX_RUNS) {
			nsx_buf_adds(&b, ", ...");
			break;
		}
		nsx_buf_printf(&b, "%s%d", i ? ", " : "", (int32_t)v[i].b);
		if (next > i + 1)
			nsx_buf_printf(&b, "-%d", (int32_t)v[next - 1].b);
	}
	return nsx_arena_strndup(a, b.p ? b.p : "", b.n);
}

/* GPU work by {thread, device}. */
struct launched {
	struct nsx_groups groups;
	int64_t *ops;
};

static void cpu_launching_count_ops(const struct nsx_trace *t, struct launched *l)
{
	for (uint32_t d = 0; d < t->ndevices; d++)
		for (uint32_t op = t->device[d].ops_at;
		     op < t->device[d].ops_at + t->device[d].nops; op++) {
			uint32_t call = nsx_op_call(&t->ops, op);
			int64_t *n;

			if (call == NSX_NONE || !nsx_op_counts(t, op))
				continue;
			n = nsx_group_few(&l->groups, &l->ops, nsx_call_thread(t, call), d);
			++*n;
		}
}

static void cpu_launching_put_gpu(const struct nsx_trace *t, uint32_t device, struct nsx_cell *row)
{
	const struct nsx_gpu_info *gpu = nsx_device_gpu(t, device);

	row[DEVICE] = nsx_device_cell(t, device);
	row[GPU] = nsx_string(nsx_text(t, t->device[device].gpu));
	row[PCI] = nsx_text_cell(t, gpu ? gpu->bus : 0);
	if (gpu && gpu->numa_node >= 0)
		row[NUMA] = nsx_int(gpu->numa_node);
}

/* Adds the CPUs that the scheduling rows of the thread name. Adds nothing if there are no such
 * rows. cpus: sorted.
 */
static void put_scheduled_cpus(const struct nsx_group_key *cpus, size_t n, uint64_t thread,
			       struct nsx_arena *a, struct nsx_cell *row)
{
	size_t from = NSX_SEARCH(0, n, mid, cpus[mid].a < thread), to;

	for (to = from; to < n && cpus[to].a == thread;)
		to++;
	if (to == from)
		return;
	row[NCPUS] = nsx_int((int64_t)(to - from));
	row[CPUS] = nsx_string(format_number_runs(cpus + from, to - from, a));
}

static void fill_launching_rows(const struct nsx_trace *t, const struct cpu_threads *all,
				const struct nsx_group_key *cpus, const char *const *names,
				const struct launched *l, struct nsx_arena *a,
				struct nsx_table *table)
{
	for (size_t g = 0; g < l->groups.n; g++) {
		const struct nsx_thread *th = &t->thread[nsx_group_key(&l->groups, g).a];
		size_t at = cpu_lower_bound(all, th->global_tid);
		struct nsx_cell *row = nsx_add_row(table);

		row[PID] = nsx_pid_cell(t, th->process);
		row[TID] = nsx_int(th->tid);
		if (at < all->n && all->v[at].thread == th->global_tid)
			row[NAME] = nsx_string(names[at]);
		cpu_launching_put_gpu(t, (uint32_t)nsx_group_key(&l->groups, g).b, row);
		row[OPS] = nsx_int(l->ops[g]);
		put_scheduled_cpus(cpus, all->cpus.n, th->global_tid, a, row);
	}
	nsx_table_sort(table, NSX_DESC(OPS), PID, TID, DEVICE, GPU);
}

static void cpu_launching_show(const struct nsx_table *table, struct nsx_section *out)
{
	if (!NSX_ANY(i, table->nrows, nsx_row_at(table, i)[NUMA].type == NSX_T_I64))
		return;
	nsx_md_text(out, "The CPUs of the threads that launched GPU work, and the NUMA node of the "
			 "GPU. To see which node a CPU belongs to, run `nvidia-smi topo -m` on "
			 "that machine.");
	nsx_md_table(out, table, 3, PID, TID, NAME, DEVICE, PCI, NUMA, OPS, CPUS);
}

void cpu_launching_fill(const struct nsx_run *run, const struct cpu_threads *all,
			const char *const *names, struct nsx_section *out)
{
	struct nsx_table *table = nsx_add_table(out, &cpu_launching_layout);
	NSX_AT_EXIT(nsx_sums_done) struct launched l = {.ops = NULL};
	struct nsx_group_key *cpus;

	cpu_launching_count_ops(run->trace, &l);
	nsx_few(cpus, run->scratch, all->cpus.n);
	for (size_t i = 0; i < all->cpus.n; i++)
		cpus[i] = nsx_group_key(&all->cpus, i);
	nsx_sort(cpus, all->cpus.n, sizeof(*cpus), cmp_pairs);
	fill_launching_rows(run->trace, all, cpus, names, &l, out->arena, table);
	cpu_launching_show(table, out);
}
