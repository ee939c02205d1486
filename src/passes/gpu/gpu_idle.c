/* gpu_idle.c - when and why each GPU was idle, from the causes that facts/idle.c found. */
#include "passes/gpu/gaps.h"
#include "passes/pass.h"

#define DEVICE_COLUMNS(X)                                                                          \
	X(DEVICE, "device_id", I64, "CUDA ordinal")                                                \
	X(WINDOW, "window_ms", F64, "length of the window")                                        \
	X(BUSY, "busy_ms", F64, "union of kernels, copies, memsets and graph replays")             \
	X(IDLE, "idle_ms", F64, "window_ms less busy_ms")                                          \
	X(IDLE_PCT, "idle_pct_of_window", F64, "idle_ms as a share of the window")                 \
	X(EDGE, "edge_idle_ms", F64, "part of idle_ms before the first and after the last work")   \
	X(K_BUSY, "kernel_busy_ms", F64, "union of kernels and graph replays")                     \
	X(K_IDLE, "kernel_idle_ms", F64, "window_ms less kernel_busy_ms")                          \
	X(K_PCT, "kernel_idle_pct_of_window", F64, "kernel_idle_ms as a share of the window")      \
	X(GPU, "gpu", STR, "distinguishes GPUs with the same ordinal")
NSX_COLUMNS(device_cols, DEVICE_COLUMNS);
#define CAUSE_COLUMNS(X)                                                      \
	X(C_DEVICE, "device_id", I64, "CUDA ordinal")                         \
	X(C_CAUSE, "cause", STR, "reason for the idle time")                  \
	X(C_DETAIL, "detail", STR, "API or OS call, or path of NVTX ranges")  \
	X(C_COUNT, "count", I64, "pieces of gaps")                            \
	X(C_MS, "total_ms", F64, "idle time")                                 \
	X(C_PCT, "pct_of_window", F64, "share of the window")
NSX_COLUMNS(cause_cols, CAUSE_COLUMNS);
#define GAP_COLUMNS(X)                                                                   \
	X(GAP_DEVICE, "device_id", I64, "CUDA ordinal")                                  \
	X(GAP_START, "gap_start_ns", I64, "instant at which the device runs dry")        \
	X(GAP_END, "gap_end_ns", I64, "instant at which the next work starts")           \
	X(GAP_MS, "gap_ms", F64, "length of the gap")                                    \
	X(GAP_CAUSE, "cause", STR, "cause of the greatest part of the gap")              \
	X(GAP_DETAIL, "cause_detail", STR, "call or range that this part is charged to") \
	X(GAP_OP, "next_op", STR, "the work that ends the gap")                          \
	X(GAP_PID, "pid", I64, "process of that work")
NSX_COLUMNS(gap_cols, GAP_COLUMNS);
#define GAP_LENGTH_COLUMNS(X)                                                    \
	X(GAPS_DEVICE, "device_id", I64, "CUDA ordinal")                         \
	X(GAPS_LENGTH, "length", STR, "gaps of this length; edges are left out") \
	X(GAPS_COUNT, "count", I64, "gaps")                                      \
	X(GAPS_MS, "total_ms", F64, "sum of these gaps")
NSX_COLUMNS(gap_length_cols, GAP_LENGTH_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "devices", NSX_COLS(device_cols), .json_rows = NSX_ALL_ROWS},
	{.key = "gaps", .csv = "gpu_idle_gaps", NSX_COLS(gap_cols),
	 .json_rows = NSX_ALL_ROWS},
	{.key = "causes", .csv = "gpu_idle_by_cause", NSX_COLS(cause_cols),
	 .json_rows = 200},
	{.key = "histogram", NSX_COLS(gap_length_cols), .json_rows = NSX_ALL_ROWS},
};

/* This layout has the causes without details, for Markdown. */
static const struct nsx_layout by_cause_layout = {NSX_COLS(cause_cols)};

/* Devices ---------------------------------------------------------------------*/

static void gpu_idle_add_device(const struct nsx_run *run, uint32_t d, int64_t edge_ns,
				struct nsx_table *table)
{
	const struct nsx_device_facts *f = &run->facts->device[d];
	const struct nsx_window *w = &run->trace->window;
	int64_t window_ns = w->end_ns - w->start_ns;
	int64_t busy_ns = window_ns - nsx_idle_total(&run->facts->idle[d]);
	int64_t kernel_ns = nsx_kernel_busy(f);
	struct nsx_cell *row = nsx_add_row(table);

	row[DEVICE] = nsx_device_cell(run->trace, d);
	row[WINDOW] = nsx_ms(window_ns);
	row[BUSY] = nsx_ms(busy_ns);
	row[IDLE] = nsx_ms(window_ns - busy_ns);
	row[IDLE_PCT] = nsx_part_pct(window_ns - busy_ns, window_ns);
	row[EDGE] = nsx_ms(edge_ns);
	row[K_BUSY] = nsx_ms(kernel_ns);
	row[K_IDLE] = nsx_ms(window_ns - kernel_ns);
	row[K_PCT] = nsx_part_pct(window_ns - kernel_ns, window_ns);
	row[GPU] = nsx_string(nsx_text(run->trace, run->trace->device[d].gpu));
}

/* Gaps ------------------------------------------------------------------------*/

enum { TOP_GAPS = 50 };

NSX_ORDER_IN(cmp_long_gaps, struct nsx_long_gap, void, DOWN(x->gap.end_ns - x->gap.start_ns),
	     UP(x->gap.start_ns), UP(x->device));

void nsx_sort_gaps(struct nsx_long_gap *v, size_t n)
{
	nsx_sort_r(v, n, sizeof(*v), cmp_long_gaps, NULL);
}

static const char *name_of_op(const struct nsx_trace *t, uint32_t op)
{
	static const char *const names[] = {
		[NSX_OP_MEMCPY] = "memcpy", [NSX_OP_MEMSET] = "memset",
		[NSX_OP_GRAPH] = "graph replay"};

	return t->ops.kind[op] == NSX_OP_KERNEL ?
		       nsx_text(t, nsx_op_name(t, op)) : names[t->ops.kind[op]];
}

struct nsx_idle_piece nsx_longest_piece(const struct nsx_gap *gap)
{
	struct nsx_idle_piece best = nsx_idle_at(gap->idle, gap->at);

	for (size_t i = 1; i < gap->npieces; i++) {
		struct nsx_idle_piece p = nsx_idle_at(gap->idle, gap->at + i);

		if (p.end_ns - p.start_ns > best.end_ns - best.start_ns)
			best = p;
	}
	return best;
}

static void gpu_idle_add_gap(const struct nsx_run *run, const struct nsx_long_gap *g,
			     struct nsx_table *table)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_idle_piece p = nsx_longest_piece(&g->gap);
	struct nsx_cell *row = nsx_add_row(table);

	row[GAP_DEVICE] = nsx_device_cell(t, g->device);
	row[GAP_START] = nsx_int(g->gap.start_ns);
	row[GAP_END] = nsx_int(g->gap.end_ns);
	row[GAP_MS] = nsx_ms(g->gap.end_ns - g->gap.start_ns);
	row[GAP_CAUSE] = nsx_string(nsx_cause_names[p.cause]);
	row[GAP_DETAIL] = nsx_fact_cell(run->facts, p.detail);
	if (g->gap.op == NSX_NONE)
		return;
	row[GAP_OP] = nsx_string(name_of_op(t, g->gap.op));
	row[GAP_PID] = nsx_pid_cell(t, nsx_op_process(t, g->gap.op));
}

static void add_gap_lengths(const struct nsx_trace *t, uint32_t d,
			    const int64_t (*sum)[2], struct nsx_table *table)
{
	static const char *const names[] = {"<10us", "10us-1ms", ">=1ms"};

	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		struct nsx_cell *row = nsx_add_row(table);

		row[GAPS_DEVICE] = nsx_device_cell(t, d);
		row[GAPS_LENGTH] = nsx_string(names[i]);
		row[GAPS_COUNT] = nsx_int(sum[i][0]);
		row[GAPS_MS] = nsx_ms(sum[i][1]);
	}
}

/* Fills the tables of devices, of the longest gaps, and of gaps by length. */
static void fill_gaps(const struct nsx_run *run, struct nsx_table *devices,
		      struct nsx_table *table, struct nsx_table *lengths)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_long_gap top[TOP_GAPS];
	size_t n = 0;

	for (uint32_t d = 0; d < t->ndevices; d++) {
		struct nsx_long_gap g = {.device = d};
		int64_t sum[3][2] = {{0}}, edge_ns = 0;

		for (size_t at = 0; nsx_next_gap(&run->facts->idle[d], &at, &g.gap);) {
			int64_t ns = g.gap.end_ns - g.gap.start_ns;
			unsigned i = (ns >= 10000) + (ns >= 1000000);

			nsx_keep_first(top, &n, TOP_GAPS, &g, sizeof(g), cmp_long_gaps, NULL);
			nsx_add_to(g.gap.is_edge ? &edge_ns : &sum[i][1], ns);
			sum[i][0] += !g.gap.is_edge;
		}
		gpu_idle_add_device(run, d, edge_ns, devices);
		add_gap_lengths(t, d, (const int64_t (*)[2])sum, lengths);
	}
	for (size_t i = 0; i < n; i++)
		gpu_idle_add_gap(run, &top[i], table);
}

/* Causes ----------------------------------------------------------------------*/

struct total {
	int64_t n, ns;
};

struct totals {
	struct nsx_groups causes; /* cause, detail */
	struct total *v;
};

/* Sums the idle pieces of one device by (cause, detail). */
static void group_causes(const struct nsx_run *run, uint32_t d, struct totals *ret)
{
	const struct nsx_idle *idle = &run->facts->idle[d];

	for (size_t i = 0; i < idle->n; i++) {
		struct nsx_idle_piece p = nsx_idle_at(idle, i);
		struct total *x = nsx_group_few(&ret->causes, &ret->v, p.cause, p.detail);

		x->n++;
		nsx_add_to(&x->ns, p.end_ns - p.start_ns);
	}
}

static void gpu_idle_add_cause(const struct nsx_run *run, uint32_t d, uint64_t cause,
			       nsx_str detail, const struct total *x, struct nsx_table *table)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_cell *row = nsx_add_row(table);

	row[C_DEVICE] = nsx_device_cell(t, d);
	row[C_CAUSE] = nsx_string(nsx_cause_names[cause]);
	row[C_DETAIL] = nsx_fact_cell(run->facts, detail);
	row[C_COUNT] = nsx_int(x->n);
	row[C_MS] = nsx_ms(x->ns);
	row[C_PCT] = nsx_part_pct(x->ns, t->window.end_ns - t->window.start_ns);
}

/* Adds a device's causes to two tables: with details, and without details for Markdown. */
static void gpu_idle_add_causes(const struct nsx_run *run, uint32_t d,
				const struct totals *all, struct nsx_table *table,
				struct nsx_table *by_cause)
{
	struct total sum[NSX_NCAUSES] = {{0}};

	for (size_t i = 0; i < all->causes.n; i++) {
		const struct nsx_group_key key = nsx_group_key(&all->causes, i);

		gpu_idle_add_cause(run, d, key.a, (nsx_str)key.b, &all->v[i], table);
		sum[key.a].n += all->v[i].n;
		nsx_add_to(&sum[key.a].ns, all->v[i].ns);
	}
	for (unsigned c = 0; c < NSX_NCAUSES; c++)
		if (sum[c].n)
			gpu_idle_add_cause(run, d, c, 0, &sum[c], by_cause);
}

static void gpu_idle_fill_causes(const struct nsx_run *run, struct nsx_table *table,
				 struct nsx_table *by_cause)
{
	for (uint32_t d = 0; d < run->trace->ndevices; d++) {
		NSX_AT_EXIT(nsx_sums_done) struct totals all = {.v = NULL};

		group_causes(run, d, &all);
		gpu_idle_add_causes(run, d, &all, table, by_cause);
	}
	nsx_table_sort(table, NSX_DESC(C_MS), NSX_DESC(C_COUNT), C_DEVICE, C_CAUSE, C_DETAIL);
	nsx_table_sort(by_cause, C_DEVICE, NSX_DESC(C_MS), C_CAUSE);
}

/* Words ---------------------------------------------------------------------*/

/* The device that is idle longest, which is also its row. */
static uint32_t idlest_device(const struct nsx_table *devices)
{
	uint32_t most = 0;

	for (uint32_t i = 1; i < devices->nrows; i++)
		if (nsx_row_at(devices, i)[IDLE].u.f > nsx_row_at(devices, most)[IDLE].u.f)
			most = i;
	return most;
}

static void say_idlest_device(const struct nsx_trace *t, struct nsx_section *out,
			      const struct nsx_table *devices)
{
	uint32_t d = idlest_device(devices);
	const struct nsx_cell *most = nsx_row_at(devices, d);
	double idle = most[IDLE_PCT].u.f, none = most[K_PCT].u.f;

	nsx_headline(out, "GPU idle estimate: GPU %s: %.1f%% idle (%.1f ms / "
		     "%.1f ms window)%s", nsx_gpu_label(t, d), idle,
		     most[IDLE].u.f, most[WINDOW].u.f, none - idle > 1 ?
		     nsx_say(out, "; no kernel running %.1f%%", none) : "");
}

/* The label of a GPU that is idle throughout a gap. */
static const char *idle_gpu_label(const struct nsx_run *run, const struct nsx_window *gap)
{
	uint32_t d = 0;

	while (d + 1 < run->trace->ndevices &&
	       nsx_idle_within(&run->facts->idle[d], gap->start_ns, gap->end_ns) <
		       gap->end_ns - gap->start_ns)
		d++;
	return nsx_gpu_label(run->trace, d);
}

/* Adds a bullet such as "GPU 0 is idle for 12 ms, 3 % of the window". */
static void gpu_idle_say_idle(const struct nsx_run *run, struct nsx_section *out,
			      const struct nsx_table *devices, const struct nsx_table *gaps)
{
	uint32_t d = idlest_device(devices);
	const struct nsx_cell *most = nsx_row_at(devices, d);
	const struct nsx_cell *gap = gaps->nrows ? nsx_row_at(gaps, 0) : NULL;
	const char *longest = "";

	if (gap) {
		struct nsx_window w = {gap[GAP_START].u.i, gap[GAP_END].u.i};

		longest = nsx_say(out, " The longest gap: %s on GPU %s, `--window %s`.",
				  nsx_say_time(out, w.end_ns - w.start_ns),
				  idle_gpu_label(run, &w), nsx_text_window(out->arena, &w));
	}
	nsx_md_text(out, "GPU %s is idle for %s, %s of the whole window%s.%s",
		    nsx_gpu_label(run->trace, d), nsx_say_ms(out, most[IDLE].u.f),
		    nsx_text_share(out->arena, most[IDLE_PCT].u.f, 100),
		    devices->nrows > 1 ? "; no other GPU is idle for longer" : "", longest);
}

enum { MOST_SHOWN = 3 }; /* greatest number of causes in Markdown */
#define TELLING_PCT 1.0	 /* Markdown leaves out causes below this share of the window, in % */

static int gpu_idle_run(const struct nsx_run *run, struct nsx_section *out,
			struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_table **tables, *by_cause;

	nsx_add_tables(out);
	by_cause = nsx_add_table(out, &by_cause_layout);
	tables = out->tables;
	if (!t->ndevices) {
		nsx_headline(out, "GPU idle estimate: not available (no GPU work in the trace)");
		return nsx_cannot(out, "the trace has no GPU work");
	}
	fill_gaps(run, tables[0], tables[1], tables[3]);
	gpu_idle_fill_causes(run, tables[2], by_cause);
	if (t->schema->table[NSX_VIEW_kernel])
		nsx_put(out, "table", nsx_string(t->schema->table[NSX_VIEW_kernel]->name));
	say_idlest_device(t, out, tables[0]);
	gpu_idle_say_idle(run, out, tables[0], tables[1]);
	nsx_md_whole(out, tables[2], NSX_MAX(1, nsx_first_rows(tables[2], MOST_SHOWN, C_PCT,
							       TELLING_PCT)));
	return 0;
}

NSX_DEFINE_PASS(gpu_idle,
	.title = "Idle by cause",
	.summary = "idle time of each GPU, gap by gap, with its causes",
	.doc = "busy = union of kernels, copies, memsets and graph replays of any process in the "
	       "window; idle = the rest; edge_idle = idle time before the first and after the last "
	       "work. kernel_busy excludes copies and memsets. A gap [a,b) is charged through the "
	       "call r that launched the work ending it. Without r: page_migration if a page "
	       "moves, otherwise unknown_unmatched. If r returned before a: stream_wait, dispatch "
	       "(below 20 us) or dependency. Otherwise [a, r.start) is charged to what r's thread "
	       "did, piece by piece: sync, blocking_copy, implicit_sync, alloc, module_load, "
	       "other_api, os_wait, or host_code under the innermost NVTX range around the piece; "
	       "[r.start, r.end) is launch_call and the rest launch_to_start. Before the run's "
	       "first work and after its last, idle time is edge. With a requested window, a gap "
	       "at its ends is charged through the work that ends it outside the window. Causes "
	       "add up to the idle time exactly.",
	.derived_from = "all GPU work of each device, and the calls, OS calls "
			"and NVTX ranges of the threads that launched it",
	.limitations = "work of processes that were not profiled is not seen; a cause is what the "
		       "launching thread did, not why it did it",
	.caveat = "idle_ms is time without any GPU work, including edges; nsys-llm-explain counts "
		   "kernels only: that is kernel_idle_ms",
	.any_of = {NSX_GPU_WORK},
	NSX_LAYOUTS(layouts));
