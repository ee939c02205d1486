/* memory_usage.c - GPU memory over time, from allocations and frees (facts/memory.h), in one sweep
 * for each process, device and kind of memory.
 */
#include <inttypes.h>
#include "passes/gpu/memory_usage.h"

#define COLUMNS(X)                                                                                 \
	X(PID, "pid", I64, "process")                                                              \
	X(DEVICE, "device_id", I64, "CUDA ordinal")                                                \
	X(KIND, "kind", STR, "device, managed, host or unknown")                                   \
	X(ALLOCS, "alloc_count", I64, "allocations")                                               \
	X(FREES, "free_count", I64, "frees")                                                       \
	X(PEAK, "peak_bytes", I64,                                                                 \
	  "peak of live memory, including memory freed without an allocation in the trace")        \
	X(PEAK_TIME, "peak_time_ns", I64, "time of the peak, on the trace's clock")                \
	X(END_LIVE, "end_live_bytes", I64, "live at the end")                                      \
	X(UNMATCHED, "unmatched_free_bytes", I64,                                                  \
	  "freed without an allocation in the trace: allocated before the capture")
NSX_COLUMNS(cols, COLUMNS);
#define DEVICE_COLUMNS(X)                                                                          \
	X(GPU_DEVICE_ID, "device_id", I64, "CUDA ordinal")                                         \
	X(GPU_PEAK_BYTES, "peak_bytes", I64, "peak of device memory over all processes")           \
	X(GPU_PEAK_TIME_NS, "peak_time_ns", I64, "when")                                           \
	X(GPU_MEMORY_BYTES, "memory_bytes", I64, "size of the GPU's memory")                       \
	X(GPU_PCT_OF_MEMORY, "pct_of_memory", F64, "peak of size")
NSX_COLUMNS(device_cols, DEVICE_COLUMNS);
#define POOL_COLUMNS(X)                                                                            \
	X(POOL_PID, "pid", I64, "process")                                                         \
	X(POOL_DEVICE_ID, "device_id", I64, "CUDA ordinal")                                        \
	X(POOL_ADDRESS, "pool", STR, "address of the pool")                                        \
	X(POOL_EVENT_COUNT, "event_count", I64, "allocations and frees in it")                     \
	X(POOL_PEAK_BYTES, "peak_bytes", I64, "greatest size of the pool")                         \
	X(POOL_PEAK_USED_BYTES, "peak_used_bytes", I64, "greatest used part of it")
NSX_COLUMNS(pool_cols, POOL_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "rows", .csv = "memory_usage", NSX_COLS(cols)},
	{.key = "devices", NSX_COLS(device_cols)},
	{.key = "pools", NSX_COLS(pool_cols)},
};
/* Sweeps -------------------------------------------------------------------*/

struct level {
	int64_t live, peak, peak_ns, allocs, frees;
	bool begun;
};

/* Adds an allocation or free to the level. Before a user's window it changes only the level, not
 * the peak.
 */
static void apply_memory_step(const struct nsx_trace *t, struct level *l,
			      const struct nsx_mem_step *s)
{
	bool asked = nsx_has_window(t);
	int64_t before = l->live;

	if (asked && s->at_ns >= t->window.end_ns)
		return;
	nsx_add_to(&l->live, s->delta);
	if (asked && s->at_ns < t->window.start_ns)
		return;
	if (!l->begun) {
		l->peak = asked ? before : 0;
		l->peak_ns = asked ? t->window.start_ns : s->at_ns;
		l->begun = true;
	}
	if (l->live > l->peak) {
		l->peak = l->live;
		l->peak_ns = s->at_ns;
	}
	l->allocs += s->counts & NSX_STEP_ALLOC ? 1 : 0;
	l->frees += s->counts & NSX_STEP_FREE ? 1 : 0;
}

/* Applies n allocations and frees. If none lies in the window, the level at its start is the peak.
 */
static struct level find_memory_level(const struct nsx_trace *t, const struct nsx_mem_step *s,
				      size_t n, int64_t before)
{
	struct level l = {0};

	for (size_t i = 0; i < n; i++)
		apply_memory_step(t, &l, &s[i]);
	if (!l.begun) {
		l.peak = l.live;
		l.peak_ns = t->window.start_ns;
	}
	nsx_add_to(&l.live, before);
	nsx_add_to(&l.peak, before);
	return l;
}

static void memory_usage_fill_rows(const struct mem_usage *m)
{
	struct nsx_table *table = m->table[MEM_ROWS];
	size_t end;

	for (size_t i = 0; i < m->of.nsteps; i = end) {
		const struct nsx_mem_step *s = &m->of.steps[i];
		struct nsx_cell *row = nsx_add_row(table);
		struct level l;
		int64_t before;

		end = nsx_mem_group_end(&m->of, i);
		before = nsx_mem_before(s, end - i);
		l = find_memory_level(m->run->trace, s, end - i, before);
		row[PID] = nsx_global_pid(m->run->trace, s->process);
		row[DEVICE] = nsx_ordinal_cell(m->run->trace, s->process, s->device_id);
		row[KIND] = nsx_string(nsx_mem_class_names[s->kind]);
		row[ALLOCS] = nsx_int(l.allocs);
		row[FREES] = nsx_int(l.frees);
		row[PEAK] = nsx_int(l.peak);
		row[PEAK_TIME] = nsx_int(l.peak_ns);
		row[END_LIVE] = nsx_int(l.live);
		row[UNMATCHED] = nsx_int(before);
	}
	nsx_table_sort(table, NSX_DESC(PEAK), PID, DEVICE, KIND);
}

NSX_ORDER(cmp_devices_of_steps, struct nsx_mem_step, UP(device_id), UP(device));
NSX_ORDER(cmp_by_device, struct nsx_mem_step, BY(cmp_devices_of_steps), UP(at_ns), UP(turn));

/* Draws the most memory that is live in each part of the window, from allocations and frees in
 * order.
 */
static void draw_live_memory(const struct mem_usage *m, const struct nsx_mem_step *s, size_t n,
			     int64_t live, double peak)
{
	const struct nsx_window *w = &m->run->trace->window;
	float at[NSX_CURVE_BINS];
	size_t i = 0;

	if (!m->run->opts->draws || w->start_ns >= w->end_ns)
		return;
	for (; i < n && s[i].at_ns < w->start_ns; i++)
		nsx_add_to(&live, s[i].delta);
	for (unsigned k = 0; k < NSX_CURVE_BINS; k++) {
		int64_t most = live;

		for (; i < n && nsx_bin(w, s[i].at_ns) <= k; i++) {
			nsx_add_to(&live, s[i].delta);
			most = NSX_MAX(most, live);
		}
		at[k] = (float)most;
	}
	nsx_add_curve(m->out, &(struct nsx_curve){"memory", "B", s->device, s->device_id,
						  peak, at});
}

static void memory_usage_add_device(const struct mem_usage *m, const struct nsx_mem_step *s,
				    size_t n)
{
	const struct nsx_trace *t = m->run->trace;
	bool is_known = s->device != NSX_NONE;
	const struct nsx_gpu_info *gpu = is_known ? nsx_device_gpu(t, s->device) : NULL;
	struct nsx_cell *row = nsx_add_row(m->table[MEM_BY_DEVICE]);
	struct nsx_section *out = m->out;
	const char *label = is_known ? nsx_gpu_label(t, s->device) :
			    nsx_say(out, "%" PRId64, s->device_id);
	int64_t before = nsx_mem_before(s, n);
	struct level l = find_memory_level(t, s, n, before);

	draw_live_memory(m, s, n, before, (double)l.peak);
	row[GPU_DEVICE_ID] = is_known ? nsx_device_cell(t, s->device) : nsx_int(s->device_id);
	row[GPU_PEAK_BYTES] = nsx_int(l.peak);
	row[GPU_PEAK_TIME_NS] = nsx_int(l.peak_ns);
	if (!gpu || gpu->memory_bytes <= 0) {
		nsx_md_bullet(out, "GPU %s: at most %s allocated at one time, according to the "
				   "trace.", label, nsx_say_bytes(out, l.peak));
		return;
	}
	row[GPU_MEMORY_BYTES] = nsx_int(gpu->memory_bytes);
	row[GPU_PCT_OF_MEMORY] = nsx_part_pct(l.peak, gpu->memory_bytes);
	nsx_md_bullet(out, "GPU %s: at most %s of %s allocated at one time (%s), according to "
			   "the trace%s.", label, nsx_say_bytes(out, l.peak),
		      nsx_say_bytes(out, gpu->memory_bytes),
		      nsx_text_share(out->arena, row[GPU_PCT_OF_MEMORY].u.f,
				     100),
		      NSX_ANY(i, m->of.nsteps, m->of.steps[i].kind == NSX_MC_MANAGED) ?
			      "; managed memory is not included" : "");
	if (row[GPU_PCT_OF_MEMORY].u.f >= 95)
		nsx_note(out, "GPU %s used more than 95 %% of its memory: it may soon run out",
			 label);
}

/* Sums device memory of all processes on each GPU. */
static int memory_usage_fill_devices(const struct mem_usage *m, struct nsx_err *err)
{
	struct nsx_mem_step *v;
	size_t n = 0;

	if (!nsx_new_array(v, m->run->scratch, m->of.nsteps, "memory steps", err))
		return err->rc;
	for (size_t i = 0, end; i < m->of.nsteps; i = end) {
		const struct nsx_mem_step *s = &m->of.steps[i];
		uint32_t device = nsx_device_find(m->run->trace, s->process, s->device_id);

		end = nsx_mem_group_end(&m->of, i);
		for (size_t k = i; s->kind == NSX_MC_DEVICE && k < end; k++) {
			v[n] = m->of.steps[k];
			v[n++].device = device;
		}
	}
	nsx_sort(v, n, sizeof(*v), cmp_by_device);
	NSX_EACH_RUN(i, next, n, !cmp_devices_of_steps(&v[i], &v[next]))
		memory_usage_add_device(m, v + i, next - i);
	return 0;
}

NSX_ORDER(cmp_pools, struct nsx_mem_pool, UP(process), UP(device_id), UP(address));

static void fill_pools(struct mem_usage *m)
{
	struct nsx_table *table = m->table[MEM_POOLS];

	nsx_sort(m->of.pools, m->of.npools, sizeof(*m->of.pools), cmp_pools);
	NSX_EACH_RUN(i, next, m->of.npools, !cmp_pools(&m->of.pools[i], &m->of.pools[next])) {
		const struct nsx_mem_pool *x = &m->of.pools[i];
		struct nsx_cell *row = nsx_add_row(table);
		int64_t bytes = 0, used = 0;

		for (size_t k = i; k < next; k++) {
			bytes = NSX_MAX(bytes, m->of.pools[k].bytes);
			used = NSX_MAX(used, m->of.pools[k].used_bytes);
		}
		row[POOL_PID] = nsx_global_pid(m->run->trace, x->process);
		row[POOL_DEVICE_ID] = nsx_ordinal_cell(m->run->trace, x->process,
						       x->device_id);
		row[POOL_ADDRESS] = nsx_string(nsx_say(m->out, "0x%" PRIx64, x->address));
		row[POOL_EVENT_COUNT] = nsx_int((int64_t)(next - i));
		row[POOL_PEAK_BYTES] = nsx_int(bytes);
		row[POOL_PEAK_USED_BYTES] = nsx_int(used);
	}
	nsx_table_sort(table, NSX_DESC(POOL_PEAK_BYTES), NSX_DESC(POOL_PEAK_USED_BYTES), POOL_PID,
		       POOL_DEVICE_ID, POOL_ADDRESS);
}

/* The section --------------------------------------------------------------*/

/* Adds allocations per second between the first and the last row. */
static void put_allocation_rate(const struct mem_usage *m)
{
	const struct nsx_table *rows = m->table[MEM_ROWS];
	int64_t first = INT64_MAX, last = INT64_MIN, n = 0;

	for (size_t i = 0; i < m->of.nevents; i++)
		if (nsx_starts_inside(m->run->trace, m->of.events[i].at_ns)) {
			first = NSX_MIN(first, m->of.events[i].at_ns);
			last = NSX_MAX(last, m->of.events[i].at_ns);
		}
	for (size_t i = 0; i < rows->nrows; i++)
		n += nsx_row_at(rows, i)[ALLOCS].u.i;
	nsx_put(m->out, "allocations_per_s",
		first < last ? nsx_real((double)n * 1e9 /
					(double)(last - first)) : nsx_null());
}

static int fill_usage(struct mem_usage *m, struct nsx_err *err)
{
	struct nsx_section *out = m->out;
	struct nsx_table **t = m->table;

	memory_usage_fill_rows(m);
	if (memory_usage_fill_devices(m, err))
		return err->rc;
	fill_pools(m);
	if (mem_never_freed(m, err) || mem_trend(m, err))
		return err->rc;
	put_allocation_rate(m);
	if (!t[MEM_BY_DEVICE]->nrows && t[MEM_ROWS]->nrows)
		nsx_md_bullet(out, "Process %" PRId64 ": at most %s (%s) allocated at one time, "
				   "according to the trace.", nsx_row_at(t[MEM_ROWS], 0)[PID].u.i,
			      nsx_say_bytes(out, nsx_row_at(t[MEM_ROWS], 0)[PEAK].u.i),
			      nsx_row_at(t[MEM_ROWS], 0)[KIND].u.s);
	nsx_md_whole(out, t[MEM_ROWS], 0);
	if (t[MEM_POOLS]->nrows)
		nsx_md_whole(out, t[MEM_POOLS], 5);
	if (t[MEM_KEPT]->nrows) {
		nsx_md_text(out, "Memory that was allocated in the trace but not freed "
				 "in it (this alone is not a leak):");
		nsx_md_whole(out, t[MEM_KEPT], 3);
	}
	if (m->of.missed)
		nsx_note(out, "%zu allocations at an address that was still in use: the free "
			      "before each was not recorded and is assumed to have happened "
			      "then", m->of.missed);
	if (m->of.defects)
		nsx_note(out, "%zu rows without a valid time, address, size or "
			      "operation are left out", m->of.defects);
	return 0;
}

static int memory_usage_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	const struct nsx_schema *s = run->trace->schema;
	struct mem_usage m = {.run = run, .out = out};
	int rc = 0;

	for (unsigned i = 0; i < MEM_NTABLES; i++)
		nsx_add_table(out, nsx_pass_layout(out->pass, i));
	m.table = out->tables;
	if (nsx_has_view(s, NSX_VIEW_memory_event)) {
		rc = nsx_memory_read(s, &m.of, err) ?: fill_usage(&m, err);
	} else {
		nsx_cannot(out, "%s%s (CUDA_GPU_MEMORY_USAGE_EVENTS)",
			   s->refused[NSX_VIEW_memory_event] ? "the table of allocations " :
							       "allocations were not traced",
			   s->refused[NSX_VIEW_memory_event] ?: "");
	}
	if (!rc)
		rc = mem_churn(&m, err) || mem_faults(&m, err) ? err->rc : 0;
	if (!rc && m.table[MEM_FAULTS]->nrows) {
		nsx_md_text(out, "Page faults of unified memory, by process and side:");
		nsx_md_whole(out, m.table[MEM_FAULTS], 0);
	}
	nsx_memory_done(&m.of);
	return rc;
}

NSX_DEFINE_PASS(memory_usage,
	.title = "Memory usage",
	.subject = "peak memory",
	.summary = "GPU memory over time: peak, memory not freed, growth, churn",
	.doc = "A free ends the allocation at its address in its process, whatever size the free's "
	       "row gives. A free without an allocation belongs to one made before the capture: "
	       "its bytes are assumed to have been live from the start (a lower bound) and count "
	       "in the peak. An allocation at an address still in use shows that a free was not "
	       "recorded. Kinds: device (device, array, static), managed, host. Caching allocators "
	       "and pools hide the actual use: only their segments are seen.\n\n"
	       "A leak is suspected only if all of this holds: there are at least 5 steady "
	       "iterations; the least live memory of an iteration grows in a third of them (a host "
	       "that is ahead allocates for several at once) and falls in at most one of 20; its "
	       "Theil-Sen slope is at least 1 MiB per iteration. Churn is cudaMalloc and cudaFree "
	       "inside steady iterations; its cost is the GPU idle time that follows from these "
	       "calls.",
	.derived_from = "allocation and free rows; CUDA calls and NVTX ranges; "
			"unified-memory page faults",
	.limitations = "memory allocated before the capture and not freed in it, and the driver's "
		       "own memory, are not seen",
	.any_of = {NSX_NEED_VIEW(memory_event)},
	NSX_LAYOUTS(layouts),
	.more = (const struct nsx_layout *const[]){
		&mem_never_freed_layout, &mem_trend_layout, &mem_churn_layout,
		&mem_faults_layout, NULL},
	.measures = true);
