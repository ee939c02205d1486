/* gpu_idle.c - when each GPU had nothing to do, and why; the pieces are facts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/group.h"
#include "base/stat.h"
#include "passes/gpu/idle_gaps.h"
#include "report/words.h"

#define DEVICE_COLUMNS(X)                                                     \
	X(DEVICE, "device_id", I64, "CUDA ordinal")                           \
	X(WINDOW, "window_ms", F64, "length of the window")                   \
	X(BUSY, "busy_ms", F64,                                               \
	  "union of kernels, copies, memsets and graph replays")              \
	X(IDLE, "idle_ms", F64, "the rest of the window")                     \
	X(IDLE_PCT, "idle_pct_of_window", F64, "its share")                   \
	X(EDGE, "edge_idle_ms", F64,                                          \
	  "of it before the first and after the last work")                   \
	X(K_BUSY, "kernel_busy_ms", F64,                                      \
	  "union of kernels and graph replays")                               \
	X(K_IDLE, "kernel_idle_ms", F64, "the rest of the window")            \
	X(K_PCT, "kernel_idle_pct_of_window", F64, "its share")               \
	X(GPU, "gpu", STR, "tells GPUs of one ordinal apart")
NSX_COLUMNS(device_cols, DEVICE_COLUMNS);
#define CAUSE_COLUMNS(X)                                                      \
	X(C_DEVICE, "device_id", I64, "CUDA ordinal")                         \
	X(C_CAUSE, "cause", STR, "what the idle time waited for")             \
	X(C_DETAIL, "detail", STR, "API or OS call, or path of NVTX ranges")  \
	X(C_COUNT, "count", I64, "pieces of gaps")                            \
	X(C_MS, "total_ms", F64, "idle time")                                 \
	X(C_PCT, "pct_of_window", F64, "share of the window")
NSX_COLUMNS(cause_cols, CAUSE_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "devices", NSX_COLS(device_cols), .json_rows = -1},
	{.key = "gaps", .csv = "gpu_idle_gaps", NSX_COLS(nsx_gap_cols),
	 .json_rows = -1},
	{.key = "causes", .csv = "gpu_idle_by_cause", NSX_COLS(cause_cols),
	 .json_rows = 200},
	{.key = "histogram", NSX_COLS(nsx_gap_length_cols), .json_rows = -1},
};

/* For people: causes without their details. */
static const struct nsx_layout by_cause_layout = {NSX_COLS(cause_cols)};

/* Devices ---------------------------------------------------------------------*/

static void add_device(const struct nsx_run *run, uint32_t d,
		       struct nsx_table *table)
{
	const struct nsx_device_facts *f = &run->facts->device[d];
	const struct nsx_idle *idle = &run->facts->idle[d];
	const struct nsx_window *w = &run->trace->window;
	int64_t window_ns = w->end_ns - w->start_ns, edge_ns = 0;
	int64_t busy_ns = window_ns - nsx_idle_total(idle);
	int64_t kernel_ns = nsx_kernel_busy(f);
	struct nsx_cell *row = nsx_add_row(table);
	struct nsx_gap gap;

	for (size_t at = 0; nsx_next_gap(idle, &at, &gap);)
		nsx_add_to(&edge_ns, gap.is_edge ? gap.end_ns - gap.start_ns : 0);
	row[DEVICE] = nsx_int(run->trace->device[d].device_id);
	row[WINDOW] = nsx_ms(window_ns);
	row[BUSY] = nsx_ms(busy_ns);
	row[IDLE] = nsx_ms(window_ns - busy_ns);
	row[IDLE_PCT] = nsx_pct((double)(window_ns - busy_ns),
				(double)window_ns);
	row[EDGE] = nsx_ms(edge_ns);
	row[K_BUSY] = nsx_ms(kernel_ns);
	row[K_IDLE] = nsx_ms(window_ns - kernel_ns);
	row[K_PCT] = nsx_pct((double)(window_ns - kernel_ns),
			     (double)window_ns);
	row[GPU] = nsx_string(nsx_text(run->trace, run->trace->device[d].gpu));
}

/* Causes ----------------------------------------------------------------------*/

static struct nsx_cell text_or_null(const struct nsx_facts *f, nsx_str s)
{
	return s ? nsx_string(nsx_fact_text(f, s)) : nsx_null();
}

struct total {
	int64_t n, ns;
};

/* Sums by (cause, detail) of one device. */
static int group_causes(const struct nsx_run *run, uint32_t d,
			struct nsx_groups *groups, struct total **v,
			struct nsx_err *err)
{
	const struct nsx_idle *idle = &run->facts->idle[d];
	size_t cap = 0;
	uint32_t g;

	for (size_t i = 0; i < idle->n; i++) {
		struct nsx_idle_piece p = nsx_idle_at(idle, i);

		if (nsx_group(groups, p.cause, p.detail, &g, err) ||
		    nsx_grow(v, &cap, groups->n, sizeof(**v), "idle causes",
			     err))
			return err->rc;
		(*v)[g].n++;
		nsx_add_to(&(*v)[g].ns, p.end_ns - p.start_ns);
	}
	return 0;
}

static void add_cause(const struct nsx_trace *t, uint32_t d, uint64_t cause,
		      const struct total *x, struct nsx_table *table,
		      struct nsx_cell **ret)
{
	int64_t window_ns = t->window.end_ns - t->window.start_ns;
	struct nsx_cell *row = nsx_add_row(table);

	row[C_DEVICE] = nsx_int(t->device[d].device_id);
	row[C_CAUSE] = nsx_string(nsx_cause_names[cause]);
	row[C_COUNT] = nsx_int(x->n);
	row[C_MS] = nsx_ms(x->ns);
	row[C_PCT] = nsx_pct((double)x->ns, (double)window_ns);
	*ret = row;
}

static void fill_device_causes(const struct nsx_run *run, uint32_t d,
			       const struct nsx_groups *groups,
			       const struct total *v, struct nsx_table *table)
{
	struct nsx_cell *row;

	for (size_t i = 0; i < groups->n; i++) {
		add_cause(run->trace, d, groups->keys[i].a, &v[i], table, &row);
		row[C_DETAIL] = text_or_null(run->facts,
					     (nsx_str)groups->keys[i].b);
	}
}

static void sum_causes(const struct nsx_run *run, uint32_t d,
		       const struct nsx_groups *groups, const struct total *v,
		       struct nsx_table *table)
{
	struct total sum[NSX_NCAUSES] = {{0}};
	struct nsx_cell *row;

	for (size_t i = 0; i < groups->n; i++) {
		sum[groups->keys[i].a].n += v[i].n;
		nsx_add_to(&sum[groups->keys[i].a].ns, v[i].ns);
	}
	for (unsigned c = 0; c < NSX_NCAUSES; c++)
		if (sum[c].n)
			add_cause(run->trace, d, c, &sum[c], table, &row);
}

static int fill_causes(const struct nsx_run *run, struct nsx_table *table,
		       struct nsx_table *by_cause, struct nsx_err *err)
{
	int rc = 0;

	for (uint32_t d = 0; !rc && d < run->trace->ndevices; d++) {
		struct nsx_groups groups = {0};
		struct total *v = NULL;

		rc = group_causes(run, d, &groups, &v, err);
		if (!rc)
			fill_device_causes(run, d, &groups, v, table);
		if (!rc)
			sum_causes(run, d, &groups, v, by_cause);
		nsx_groups_done(&groups);
		free(v);
	}
	nsx_table_sort(table, NSX_DESC(C_MS), NSX_DESC(C_COUNT), C_DEVICE,
		       C_CAUSE, C_DETAIL);
	nsx_table_sort(by_cause, C_DEVICE, NSX_DESC(C_MS), C_CAUSE);
	return rc;
}

/* Words ---------------------------------------------------------------------*/

static void say_devices(struct nsx_section *out, const struct nsx_table *d)
{
	size_t most = 0;
	double idle, none;
	char tail[64] = "";

	for (size_t i = 1; i < d->nrows; i++)
		if (nsx_table_number(d, i, "idle_pct_of_window") >
		    nsx_table_number(d, most, "idle_pct_of_window"))
			most = i;
	idle = nsx_table_number(d, most, "idle_pct_of_window");
	none = nsx_table_number(d, most, "kernel_idle_pct_of_window");
	if (none - idle > 1)
		snprintf(tail, sizeof(tail), "; no kernel running %.1f%%",
			 none);
	nsx_headline(out, "GPU idle estimate: GPU %.0f: %.1f%% idle (%.1f ms / "
		     "%.1f ms window)%s",
		     nsx_table_number(d, most, "device_id"), idle,
		     nsx_table_number(d, most, "idle_ms"),
		     nsx_table_number(d, most, "window_ms"), tail);
}

/* "GPU 0 is idle for 12 ms, 3 % of the window": of the idlest. */
static void say_idle(struct nsx_section *out, const struct nsx_table *devices,
		     const struct nsx_table *gaps)
{
	const struct nsx_cell *gap = gaps->nrows ? nsx_row_at(gaps, 0) : NULL;
	const char *longest = "";
	size_t most = 0;

	for (size_t r = 1; r < devices->nrows; r++)
		if (nsx_table_number(devices, r, "idle_ms") >
		    nsx_table_number(devices, most, "idle_ms"))
			most = r;
	if (gap) {
		struct nsx_window w = {gap[GAP_START].u.i, gap[GAP_END].u.i};

		longest = nsx_say(out, " The longest gap: %s on GPU %lld, "
				  "`--window %s`.",
				  nsx_text_ns(out->arena,
					      (double)(w.end_ns - w.start_ns)),
				  (long long)gap[GAP_DEVICE].u.i,
				  nsx_text_window(out->arena, &w));
	}
	nsx_md_text(
		out, "GPU %.0f is idle for %s, %s of the whole window%s.%s",
		nsx_table_number(devices, most, "device_id"),
		nsx_text_ns(out->arena,
			    1e6 * nsx_table_number(devices, most, "idle_ms")),
		nsx_text_share(out->arena,
			nsx_table_number(devices, most, "idle_pct_of_window"),
			100),
		devices->nrows > 1 ? "; no other GPU for longer" : "",
		longest);
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_table *tables[4], *by_cause;

	for (unsigned i = 0; i < ARRAY_LEN(tables); i++)
		tables[i] = nsx_add_table(out, &layouts[i]);
	by_cause = nsx_add_table(out, &by_cause_layout);
	if (!t->ndevices) {
		nsx_headline(out, "GPU idle estimate: not available (no GPU "
				  "work in the trace)");
		return nsx_cannot(out, "the trace has no GPU work");
	}
	for (uint32_t d = 0; d < t->ndevices; d++)
		add_device(run, d, tables[0]);
	nsx_fill_gaps(run, tables[1], tables[3]);
	if (fill_causes(run, tables[2], by_cause, err))
		return err->rc;
	nsx_put(out, "table", nsx_string(
		t->schema->table[NSX_VIEW_kernel] ?
			t->schema->table[NSX_VIEW_kernel]->name : NULL));
	say_devices(out, tables[0]);
	say_idle(out, tables[0], tables[1]);
	nsx_md_table(out, tables[2], 3, C_DEVICE, C_CAUSE, C_DETAIL, C_COUNT,
		     C_MS, C_PCT);
	nsx_note(out, "idle_ms is time without any GPU work, edges included; "
		      "nsys-llm-explain counts kernels only: that is "
		      "kernel_idle_ms");
	return 0;
}

NSX_DEFINE_PASS(gpu_idle) {
	.id = "gpu_idle",
	.title = "Idle by cause",
	.summary = "idle time of each GPU, gap by gap, with its causes",
	.doc = "busy = union of kernels, copies, memsets and graph replays of "
	       "any process in the window; idle = the rest; edge_idle = before "
	       "the first and after the last work. kernel_busy leaves copies "
	       "and memsets out. A gap [a,b) is charged by the call r of the "
	       "work that ends it. No r: unknown_unmatched. r returned before "
	       "a: stream_wait, dispatch (below 20 us) or dependency. Else "
	       "[a, r.start) is charged to what r's thread did, piece by "
	       "piece: sync, blocking_copy, implicit_sync, alloc, "
	       "module_load, other_api, os_wait, or host_code under the "
	       "innermost NVTX range around the piece; [r.start, r.end) is "
	       "launch_call and the rest launch_to_start. Causes add up to "
	       "the idle time exactly.",
	.derived_from = "all GPU work of each device, and the calls, OS calls "
			"and NVTX ranges of the threads that launched it",
	.limitations = "work of processes that were not profiled is not seen; "
		       "a cause is what the launching thread did, not why",
	.any_of = {NSX_GPU_WORK},
	NSX_LAYOUTS(layouts),
	.run = run,
};
