/* memory_usage.c - GPU memory over time, from allocations and frees.
 *
 * Rows sorted by (process, address, time) tell which free ends which
 * allocation; each gives a step of what is live.  Steps sorted by (process,
 * device, kind, time) are swept once.  Within an instant frees of an address
 * that is allocated again come first, then allocations, then the other frees,
 * so that the peak does not depend on how rows of one instant are ordered.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "passes/gpu/memory_usage.h"
#include "schema/viewscan.h"

#define COLUMNS(X)                                                            \
	X(PID, "pid", I64, "process")                                         \
	X(DEVICE, "device_id", I64, "CUDA ordinal")                           \
	X(KIND, "kind", STR, "device, managed, host or unknown")              \
	X(ALLOCS, "alloc_count", I64, "allocations")                          \
	X(FREES, "free_count", I64, "frees")                                  \
	X(PEAK, "peak_bytes", I64,                                            \
	  "most that was live, with what the unmatched frees show to have "   \
	  "been there before")                                                \
	X(PEAK_TIME, "peak_time_ns", I64, "when, on the trace's clock")       \
	X(END_LIVE, "end_live_bytes", I64, "live at the end")                 \
	X(UNMATCHED, "unmatched_free_bytes", I64,                             \
	  "freed without an allocation in the trace: allocated before it")
NSX_COLUMNS(cols, COLUMNS);
#define DEVICE_COLUMNS(X)                                                     \
	X(GPU_DEVICE_ID, "device_id", I64, "CUDA ordinal")                    \
	X(GPU_PEAK_BYTES, "peak_bytes", I64,                                  \
	  "most device memory of all processes at one time")                  \
	X(GPU_PEAK_TIME_NS, "peak_time_ns", I64, "when")                      \
	X(GPU_MEMORY_BYTES, "memory_bytes", I64,                              \
	  "size of the GPU's memory")                                         \
	X(GPU_PCT_OF_MEMORY, "pct_of_memory", F64, "peak of size")
NSX_COLUMNS(device_cols, DEVICE_COLUMNS);
#define POOL_COLUMNS(X)                                                       \
	X(POOL_PID, "pid", I64, "process")                                    \
	X(POOL_DEVICE_ID, "device_id", I64, "CUDA ordinal")                   \
	X(POOL_ADDRESS, "pool", STR, "address of the pool")                   \
	X(POOL_EVENT_COUNT, "event_count", I64,                               \
	  "allocations and frees in it")                                      \
	X(POOL_PEAK_BYTES, "peak_bytes", I64, "greatest size of the pool")    \
	X(POOL_PEAK_USED_BYTES, "peak_used_bytes", I64,                       \
	  "greatest used part of it")
NSX_COLUMNS(pool_cols, POOL_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "rows", .csv = "memory_usage", NSX_COLS(cols)},
	{.key = "devices", NSX_COLS(device_cols)},
	{.key = "pools", NSX_COLS(pool_cols)},
};
const char *const mem_kind_names[NMEM_KINDS] = {
	[MEM_DEVICE] = "device", [MEM_MANAGED] = "managed",
	[MEM_HOST] = "host", [MEM_UNKNOWN] = "unknown",
};

/* Rows ---------------------------------------------------------------------*/

enum { START, GLOBAL_PID, DEVICE_ID, ADDRESS, BYTES, MEM_KIND, OPERATION, CORR,
       POOL, POOL_BYTES, POOL_USED };
static const enum nsx_field fields[] = {
	NSX_F_memory_event_start_ns, NSX_F_memory_event_global_pid,
	NSX_F_memory_event_device_id, NSX_F_memory_event_address,
	NSX_F_memory_event_bytes, NSX_F_memory_event_mem_kind,
	NSX_F_memory_event_operation, NSX_F_memory_event_corr,
	NSX_F_memory_event_pool_address, NSX_F_memory_event_pool_bytes,
	NSX_F_memory_event_pool_used_bytes,
};

static int64_t number(const struct nsx_val *v, int64_t absent)
{
	return v->type == NSX_V_I64 ? v->u.i : absent;
}

static enum mem_kind kind_of(int64_t kind)
{
	switch (kind) {
	case NSX_MEM_PAGEABLE:
	case NSX_MEM_PINNED:
		return MEM_HOST;
	case NSX_MEM_DEVICE:
	case NSX_MEM_ARRAY:
	case NSX_MEM_DEVICE_STATIC:
		return MEM_DEVICE;
	case NSX_MEM_MANAGED:
	case NSX_MEM_MANAGED_STATIC:
		return MEM_MANAGED;
	default:
		return MEM_UNKNOWN;
	}
}

static int add_pool(struct mem_usage *m, const struct mem_event *e,
		    const struct nsx_val *v, struct nsx_err *err)
{
	if (nsx_grow(&m->pools, &m->cap_pools, m->npools + 1,
		     sizeof(*m->pools), "memory pools", err))
		return err->rc;
	m->pools[m->npools++] = (struct mem_pool){
		e->process, (uint64_t)v[POOL].u.i, e->device_id,
		number(&v[POOL_BYTES], 0), number(&v[POOL_USED], 0)};
	return 0;
}

static int on_row(void *ctx, int64_t rid, const struct nsx_val *v,
		  struct nsx_err *err)
{
	struct mem_usage *m = ctx;
	int64_t op = number(&v[OPERATION], -1), corr = number(&v[CORR], 0);
	struct mem_event *e;

	(void)rid;
	if (v[START].type != NSX_V_I64 || v[START].u.i > NSX_TIME_MAX ||
	    v[START].u.i < -NSX_TIME_MAX || v[ADDRESS].type != NSX_V_I64 ||
	    v[BYTES].type != NSX_V_I64 || v[BYTES].u.i < 0 ||
	    v[BYTES].u.i > NSX_TIME_MAX || (op != NSX_MEM_ALLOCATE && op != NSX_MEM_FREE)) {
		m->defects++;
		return 0;
	}
	if (nsx_grow(&m->events, &m->cap_events, m->nevents + 1, sizeof(*e),
		     "memory events", err))
		return err->rc;
	e = &m->events[m->nevents++];
	*e = (struct mem_event){
		.at_ns = v[START].u.i,
		.process = (uint64_t)number(&v[GLOBAL_PID], 0) &
			   ~UINT64_C(0xffffff),
		.address = (uint64_t)v[ADDRESS].u.i,
		.device_id = number(&v[DEVICE_ID], 0),
		.bytes = v[BYTES].u.i,
		.corr = corr > 0 && corr < UINT32_MAX ? (uint32_t)corr : 0,
		.kind = (uint8_t)kind_of(number(&v[MEM_KIND], -1)),
		.is_free = op == NSX_MEM_FREE};
	return number(&v[POOL], 0) ? add_pool(m, e, v, err) : 0;
}

/* Matching -----------------------------------------------------------------*/

NSX_ORDER(cmp_events, struct mem_event, UP(process), UP(address), UP(at_ns),
	  DOWN(is_free), UP(bytes), UP(device_id), UP(kind), UP(corr));

static bool same_address(const struct mem_event *x, const struct mem_event *y)
{
	return x->process == y->process && x->address == y->address;
}

/* of: whose device and kind the step is of. */
static void add_step(struct mem_usage *m, const struct mem_event *of,
		     int64_t at_ns, int64_t delta, unsigned turn,
		     unsigned counts)
{
	m->steps[m->nsteps++] = (struct mem_step){
		.at_ns = at_ns, .delta = delta, .process = of->process,
		.device_id = of->device_id, .kind = of->kind,
		.turn = (uint8_t)turn, .counts = (uint8_t)counts};
}

/* What row i does, by the rows before and after it at its address: an
 * allocation before it is what lives there.
 */
static void match_row(struct mem_usage *m, size_t i)
{
	const struct mem_event *e = &m->events[i];
	const struct mem_event *before = i && same_address(e - 1, e) ?
						 e - 1 : NULL;
	const struct mem_event *after =
		i + 1 < m->nevents && same_address(e, e + 1) ? e + 1 : NULL;
	const struct mem_event *live = before && !before->is_free ?
					       before : NULL;
	/* A free before what else happens in its instant comes first. */
	unsigned turn = after && after->at_ns == e->at_ns ? 0 : 2;

	if (!e->is_free) {
		if (live) /* its free was not recorded */
			add_step(m, live, e->at_ns, -live->bytes, 0, 0);
		add_step(m, e, e->at_ns, e->bytes, 1, STEP_ALLOC);
		if (!after)
			m->kept[m->nkept++] = (uint32_t)i;
	} else if (live) {
		add_step(m, live, e->at_ns, -live->bytes, turn, STEP_FREE);
	} else {
		add_step(m, e, e->at_ns, -e->bytes, turn,
			 STEP_FREE | STEP_UNMATCHED);
	}
}

static int cmp_groups(const struct mem_step *x, const struct mem_step *y)
{
	return NSX_CMP(x->process, y->process) ?:
	       NSX_CMP(x->device_id, y->device_id) ?:
	       (int)x->kind - y->kind;
}

NSX_ORDER(cmp_steps, struct mem_step, BY(cmp_groups), UP(at_ns), UP(turn));

size_t mem_group_end(const struct mem_usage *m, size_t at)
{
	size_t end = at + 1;

	while (end < m->nsteps &&
	       !cmp_groups(&m->steps[at], &m->steps[end]))
		end++;
	return end;
}

static int match(struct mem_usage *m, struct nsx_err *err)
{
	struct nsx_arena *a = m->run->scratch;

	nsx_sort(m->events, m->nevents, sizeof(*m->events), cmp_events);
	for (size_t i = 1; i < m->nevents; i++)
		m->missed += !m->events[i].is_free &&
			     !m->events[i - 1].is_free &&
			     same_address(&m->events[i - 1], &m->events[i]);
	if (!nsx_new_array(m->steps, a, m->nevents + m->missed, "memory steps",
			   err) ||
	    !nsx_new_array(m->kept, a, m->nevents, "memory never freed", err))
		return err->rc;
	for (size_t i = 0; i < m->nevents; i++)
		match_row(m, i);
	nsx_sort(m->steps, m->nsteps, sizeof(*m->steps), cmp_steps);
	return 0;
}

/* Sweeps -------------------------------------------------------------------*/

struct level {
	int64_t live, peak, peak_ns, unmatched, allocs, frees;
	bool begun;
};

/* Adds a step; what lies before a window asked for only sets the level. */
static void sweep(const struct nsx_trace *t, struct level *l,
		  const struct mem_step *s)
{
	bool asked = t->user.start_ns != t->user.end_ns;
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
	l->allocs += s->counts & STEP_ALLOC ? 1 : 0;
	l->frees += s->counts & STEP_FREE ? 1 : 0;
}

/* Where nothing changes inside a window, what was live before it stays. */
static void settle(const struct nsx_trace *t, struct level *l, int64_t before)
{
	if (!l->begun) {
		l->peak = l->live;
		l->peak_ns = t->window.start_ns;
	}
	nsx_add_to(&l->live, before);
	nsx_add_to(&l->peak, before);
}

/* What the unmatched frees of a group show to have been there before. */
static int64_t baseline(const struct mem_usage *m, size_t at, size_t end)
{
	int64_t bytes = 0;

	for (size_t i = at; i < end; i++)
		if (m->steps[i].counts & STEP_UNMATCHED)
			nsx_add_to(&bytes, -m->steps[i].delta);
	return bytes;
}

static void fill_rows(const struct mem_usage *m)
{
	struct nsx_table *table = m->table[MEM_ROWS];
	size_t end;

	for (size_t i = 0; i < m->nsteps; i = end) {
		const struct mem_step *s = &m->steps[i];
		struct nsx_cell *row = nsx_add_row(table);
		struct level l = {0};
		int64_t before;

		end = mem_group_end(m, i);
		before = baseline(m, i, end);
		for (size_t k = i; k < end; k++)
			sweep(m->run->trace, &l, &m->steps[k]);
		settle(m->run->trace, &l, before);
		row[PID] = nsx_global_pid(s->process);
		row[DEVICE] = nsx_int(s->device_id);
		row[KIND] = nsx_string(mem_kind_names[s->kind]);
		row[ALLOCS] = nsx_int(l.allocs);
		row[FREES] = nsx_int(l.frees);
		row[PEAK] = nsx_int(l.peak);
		row[PEAK_TIME] = nsx_int(l.peak_ns);
		row[END_LIVE] = nsx_int(l.live);
		row[UNMATCHED] = nsx_int(before);
	}
	nsx_table_sort(table, NSX_DESC(PEAK), PID, DEVICE, KIND);
}

NSX_ORDER(cmp_by_device, struct mem_step, UP(device_id), UP(at_ns), UP(turn));

/* The GPU that the trace's ordinal means, when all its processes agree. */
static const struct nsx_gpu_info *gpu_of(const struct nsx_trace *t,
					 int64_t device_id)
{
	const struct nsx_gpu_info *gpu = NULL;

	for (uint32_t d = 0; d < t->ndevices; d++) {
		if (t->device[d].device_id != device_id)
			continue;
		if (gpu)
			return NULL;
		gpu = nsx_device_gpu(t, d);
	}
	return gpu;
}

/* The most that is live in each part of the window, by steps in order. */
static void draw(const struct mem_usage *m, const struct mem_step *s, size_t n,
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
	nsx_add_curve(m->out, &(struct nsx_curve){"memory", "B", s->device_id,
						  peak, at});
}

static void add_device(const struct mem_usage *m, const struct mem_step *s,
		       size_t n)
{
	const struct nsx_gpu_info *gpu = gpu_of(m->run->trace, s->device_id);
	struct nsx_cell *row = nsx_add_row(m->table[MEM_BY_DEVICE]);
	struct nsx_section *out = m->out;
	struct level l = {0};
	int64_t before = 0;

	for (size_t i = 0; i < n; i++) {
		sweep(m->run->trace, &l, &s[i]);
		if (s[i].counts & STEP_UNMATCHED)
			nsx_add_to(&before, -s[i].delta);
	}
	settle(m->run->trace, &l, before);
	draw(m, s, n, before, (double)l.peak);
	row[GPU_DEVICE_ID] = nsx_int(s->device_id);
	row[GPU_PEAK_BYTES] = nsx_int(l.peak);
	row[GPU_PEAK_TIME_NS] = nsx_int(l.peak_ns);
	if (!gpu || gpu->memory_bytes <= 0) {
		nsx_md_bullet(out, "GPU %" PRId64 ": at most %s allocated at "
				   "one time, by what the trace shows.",
			      s->device_id, nsx_say_bytes(out, l.peak));
		return;
	}
	row[GPU_MEMORY_BYTES] = nsx_int(gpu->memory_bytes);
	row[GPU_PCT_OF_MEMORY] = nsx_part_pct(l.peak, gpu->memory_bytes);
	nsx_md_bullet(out, "GPU %" PRId64 ": at most %s of %s allocated at one "
			   "time (%.1f%%), by what the trace shows.",
		      s->device_id, nsx_say_bytes(out, l.peak),
		      nsx_say_bytes(out, gpu->memory_bytes),
		      row[GPU_PCT_OF_MEMORY].u.f);
	if (row[GPU_PCT_OF_MEMORY].u.f >= 95)
		nsx_note(out, "GPU %" PRId64 " came within 5%% of its memory: "
			      "running out is near", s->device_id);
}

/* Device memory of all processes on one GPU together. */
static int fill_devices(const struct mem_usage *m, struct nsx_err *err)
{
	struct mem_step *v;
	size_t n = 0, next;

	if (!nsx_new_array(v, m->run->scratch, m->nsteps, "memory steps", err))
		return err->rc;
	for (size_t i = 0; i < m->nsteps; i++)
		if (m->steps[i].kind == MEM_DEVICE)
			v[n++] = m->steps[i];
	nsx_sort(v, n, sizeof(*v), cmp_by_device);
	for (size_t i = 0; i < n; i = next) {
		for (next = i; next < n && v[next].device_id == v[i].device_id;
		     next++)
			;
		add_device(m, v + i, next - i);
	}
	return 0;
}

NSX_ORDER(cmp_pools, struct mem_pool, UP(process), UP(device_id), UP(address));

static void fill_pools(struct mem_usage *m)
{
	struct nsx_table *table = m->table[MEM_POOLS];
	size_t next;

	nsx_sort(m->pools, m->npools, sizeof(*m->pools), cmp_pools);
	for (size_t i = 0; i < m->npools; i = next) {
		const struct mem_pool *x = &m->pools[i];
		struct nsx_cell *row = nsx_add_row(table);
		int64_t bytes = 0, used = 0;

		for (next = i; next < m->npools &&
			       !cmp_pools(x, &m->pools[next]); next++) {
			bytes = NSX_MAX(bytes, m->pools[next].bytes);
			used = NSX_MAX(used, m->pools[next].used_bytes);
		}
		row[POOL_PID] = nsx_global_pid(x->process);
		row[POOL_DEVICE_ID] = nsx_int(x->device_id);
		row[POOL_ADDRESS] =
			nsx_string(nsx_say(m->out, "0x%" PRIx64, x->address));
		row[POOL_EVENT_COUNT] = nsx_int((int64_t)(next - i));
		row[POOL_PEAK_BYTES] = nsx_int(bytes);
		row[POOL_PEAK_USED_BYTES] = nsx_int(used);
	}
	nsx_table_sort(table, NSX_DESC(POOL_PEAK_BYTES),
		       NSX_DESC(POOL_PEAK_USED_BYTES), POOL_PID,
		       POOL_DEVICE_ID, POOL_ADDRESS);
}

/* The section --------------------------------------------------------------*/

/* Allocations of a second between the first and the last row. */
static void put_rate(const struct mem_usage *m)
{
	const struct nsx_table *rows = m->table[MEM_ROWS];
	int64_t first = INT64_MAX, last = INT64_MIN, n = 0;

	for (size_t i = 0; i < m->nevents; i++)
		if (nsx_starts_inside(m->run->trace, m->events[i].at_ns)) {
			first = NSX_MIN(first, m->events[i].at_ns);
			last = NSX_MAX(last, m->events[i].at_ns);
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

	if (match(m, err))
		return err->rc;
	fill_rows(m);
	if (fill_devices(m, err))
		return err->rc;
	fill_pools(m);
	if (mem_never_freed(m, err) || mem_trend(m, err))
		return err->rc;
	put_rate(m);
	if (!t[MEM_BY_DEVICE]->nrows && t[MEM_ROWS]->nrows)
		nsx_md_bullet(out, "Process %" PRId64 ": at most %s (%s) "
				   "allocated at one time, by what the trace "
				   "shows.", nsx_row_at(t[MEM_ROWS], 0)[PID].u.i,
			      nsx_say_bytes(out, nsx_row_at(t[MEM_ROWS], 0)[PEAK].u.i),
			      nsx_row_at(t[MEM_ROWS], 0)[KIND].u.s);
	nsx_md_whole(out, t[MEM_ROWS], 0);
	if (t[MEM_POOLS]->nrows)
		nsx_md_whole(out, t[MEM_POOLS], 5);
	if (t[MEM_KEPT]->nrows) {
		nsx_md_text(out, "Allocated in the trace and not freed in it "
				 "(which by itself is no leak):");
		nsx_md_whole(out, t[MEM_KEPT], 8);
	}
	if (m->missed)
		nsx_note(out, "%zu allocations at an address that was still in "
			      "use: the free before them was not recorded, and "
			      "is taken to have come with them", m->missed);
	if (m->defects)
		nsx_note(out, "%zu rows hold no sound time, address, size or "
			      "operation; left out", m->defects);
	return 0;
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	const struct nsx_schema *s = run->trace->schema;
	struct mem_usage m = {.run = run, .out = out};
	int rc = 0;

	for (unsigned i = 0; i < MEM_NTABLES; i++)
		nsx_add_table(out, nsx_pass_layout(out->pass, i));
	m.table = out->tables;
	if (nsx_has_view(s, NSX_VIEW_memory_event)) {
		rc = nsx_view_scan(s, NSX_VIEW_memory_event, fields,
				   ARRAY_LEN(fields), 1, on_row, &m, 0, err);
		if (!rc)
			rc = fill_usage(&m, err);
	} else {
		nsx_cannot(out, "allocations were not traced "
				"(CUDA_GPU_MEMORY_USAGE_EVENTS)");
	}
	if (!rc)
		rc = mem_churn(&m, err) || mem_faults(&m, err) ? err->rc : 0;
	if (!rc && m.table[MEM_FAULTS]->nrows) {
		nsx_md_text(out, "Page faults of unified memory, by process and "
			    "side:");
		nsx_md_whole(out, m.table[MEM_FAULTS], 0);
	}
	free(m.events);
	free(m.pools);
	return rc;
}

NSX_DEFINE_PASS(memory_usage,
	.title = "Memory usage",
	.subject = "memory usage",
	.summary = "GPU memory over time: peak, what is left, growth, churn",
	.doc = "A free ends the allocation at its address in its process, "
	       "whatever size the free's row gives. A free without an "
	       "allocation ended one made before the capture: its bytes are "
	       "taken to have been live from the start (a lower bound) and "
	       "count in the peak. An allocation at an address still in use "
	       "shows that a free was not recorded. Kinds: device (device, "
	       "array, static), managed, host. Caching allocators and pools "
	       "hide use: their segments are what is seen.\n\n"
	       "A leak is suspected only where the least live memory of each "
	       "of 5 steady iterations or more grows in a third of them (a "
	       "host that is ahead allocates for several at once), falls in "
	       "one of 20 at most, and its Theil-Sen slope is at least 1 MiB "
	       "an iteration. Churn is "
	       "cudaMalloc and cudaFree inside steady iterations; its cost is "
	       "the GPU idle that follows from them.",
	.derived_from = "allocation and free rows; CUDA calls and NVTX ranges; "
			"unified-memory page faults",
	.limitations = "memory that was allocated before the capture and not "
		       "freed in it, and what the driver takes itself, are "
		       "not seen",
	.any_of = {NSX_NEED_VIEW(memory_event)},
	NSX_LAYOUTS(layouts),
	.more = (const struct nsx_layout *const[]){
		&mem_never_freed_layout, &mem_trend_layout, &mem_churn_layout,
		&mem_faults_layout, NULL},
	.measures = true);
