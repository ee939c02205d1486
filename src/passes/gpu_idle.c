/* gpu_idle.c - when each GPU had nothing to do, and why; the pieces are facts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "nsx/group.h"
#include "nsx/pass.h"
#include "passes/remedy.h"

enum { TOP_GAPS = 50 };

enum { DEVICE, WINDOW, BUSY, IDLE, IDLE_PCT, EDGE, K_BUSY, K_IDLE, K_PCT, GPU };
static const struct nsx_col device_cols[] = {
	{"device_id", "CUDA ordinal", NSX_T_I64},
	{"window_ms", "length of the window", NSX_T_F64},
	{"busy_ms", "union of kernels, copies, memsets and graph replays",
	 NSX_T_F64},
	{"idle_ms", "the rest of the window", NSX_T_F64},
	{"idle_pct_of_window", "its share", NSX_T_F64},
	{"edge_idle_ms", "of it before the first and after the last work",
	 NSX_T_F64},
	{"kernel_busy_ms", "union of kernels and graph replays", NSX_T_F64},
	{"kernel_idle_ms", "the rest of the window", NSX_T_F64},
	{"kernel_idle_pct_of_window", "its share", NSX_T_F64},
	{"gpu", "tells GPUs of one ordinal apart", NSX_T_STR},
};
enum { G_DEVICE, G_START, G_END, G_MS, G_CAUSE, G_DETAIL, G_OP, G_PID };
static const struct nsx_col gap_cols[] = {
	{"device_id", "CUDA ordinal", NSX_T_I64},
	{"gap_start_ns", "the device runs dry", NSX_T_I64},
	{"gap_end_ns", "the next work starts", NSX_T_I64},
	{"gap_ms", "its length", NSX_T_F64},
	{"cause", "the cause of its greatest part", NSX_T_STR},
	{"cause_detail", "call or range of that part", NSX_T_STR},
	{"next_op", "the work that ends it", NSX_T_STR},
	{"pid", "process of that work", NSX_T_I64},
};
enum { C_DEVICE, C_CAUSE, C_DETAIL, C_COUNT, C_MS, C_PCT };
static const struct nsx_col cause_cols[] = {
	{"device_id", "CUDA ordinal", NSX_T_I64},
	{"cause", "what the idle time waited for", NSX_T_STR},
	{"detail", "API or OS call, or path of NVTX ranges", NSX_T_STR},
	{"count", "pieces of gaps", NSX_T_I64},
	{"total_ms", "idle time", NSX_T_F64},
	{"pct_of_window", "share of the window", NSX_T_F64},
};
enum { H_DEVICE, H_LENGTH, H_COUNT, H_MS };
static const struct nsx_col length_cols[] = {
	{"device_id", "CUDA ordinal", NSX_T_I64},
	{"length", "of a gap; edges are left out", NSX_T_STR},
	{"count", "gaps", NSX_T_I64},
	{"total_ms", "their sum", NSX_T_F64},
};
static const struct nsx_layout layouts[] = {
	{.key = "devices", NSX_COLS(device_cols), .json_rows = -1},
	{.key = "gaps", .csv = "gpu_idle_gaps", NSX_COLS(gap_cols),
	 .json_rows = -1},
	{.key = "causes", .csv = "gpu_idle_by_cause", NSX_COLS(cause_cols),
	 .json_rows = 200},
	{.key = "histogram", NSX_COLS(length_cols), .json_rows = -1},
};

/* Devices ---------------------------------------------------------------------*/

static int add_device(const struct nsx_run *run, uint32_t d,
		      struct nsx_table *table, struct nsx_err *err)
{
	const struct nsx_device_facts *f = &run->facts->device[d];
	const struct nsx_idle *idle = &run->facts->idle[d];
	const struct nsx_window *w = &run->trace->window;
	int64_t window_ns = w->end_ns - w->start_ns, edge_ns = 0;
	int64_t busy_ns = nsx_spans_total(&f->busy);
	int64_t kernel_ns = nsx_spans_total(&f->compute) +
			    nsx_spans_minus_total(&f->comm, &f->compute);
	struct nsx_cell *row = nsx_row(table, err);

	if (!row)
		return err->rc;
	for (size_t i = 0; i < idle->n; i++)
		if (idle->v[i].cause == NSX_CAUSE_EDGE)
			edge_ns += idle->v[i].end_ns - idle->v[i].start_ns;
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
	return 0;
}

/* Gaps ------------------------------------------------------------------------*/

struct long_gap {
	struct nsx_gap gap;
	uint32_t device;
};
struct top {
	struct long_gap v[TOP_GAPS];
	size_t n;
};

static bool is_longer(const struct long_gap *a, const struct long_gap *b)
{
	int64_t na = a->gap.end_ns - a->gap.start_ns;
	int64_t nb = b->gap.end_ns - b->gap.start_ns;

	if (na != nb)
		return na > nb;
	if (a->gap.start_ns != b->gap.start_ns)
		return a->gap.start_ns < b->gap.start_ns;
	return a->device < b->device;
}

/* Insertion into the longest so far; most gaps are too short for it. */
static void keep_longest(struct top *top, const struct long_gap *g)
{
	size_t i;

	if (top->n == TOP_GAPS && !is_longer(g, &top->v[TOP_GAPS - 1]))
		return;
	if (top->n < TOP_GAPS)
		top->n++;
	for (i = top->n - 1; i > 0 && is_longer(g, &top->v[i - 1]); i--)
		top->v[i] = top->v[i - 1];
	top->v[i] = *g;
}

static const char *name_of_op(const struct nsx_trace *t, uint32_t op)
{
	static const char *const names[] = {
		[NSX_OP_MEMCPY] = "memcpy", [NSX_OP_MEMSET] = "memset",
		[NSX_OP_GRAPH] = "graph replay"};

	return t->ops.kind[op] == NSX_OP_KERNEL ?
		       nsx_text(t, nsx_op_name(t, op)) : names[t->ops.kind[op]];
}

/* The (cause, detail) with the most of a gap. */
static const struct nsx_idle_piece *main_piece(const struct nsx_gap *gap)
{
	const struct nsx_idle_piece *best = gap->pieces;

	for (size_t i = 1; i < gap->npieces; i++)
		if (gap->pieces[i].end_ns - gap->pieces[i].start_ns >
		    best->end_ns - best->start_ns)
			best = &gap->pieces[i];
	return best;
}

static struct nsx_cell text_or_null(const struct nsx_trace *t, nsx_str s)
{
	return s ? nsx_string(nsx_text(t, s)) : nsx_null();
}

static int add_gap(const struct nsx_trace *t, const struct long_gap *g,
		   struct nsx_table *table, struct nsx_err *err)
{
	const struct nsx_idle_piece *p = main_piece(&g->gap);
	struct nsx_cell *row = nsx_row(table, err);
	uint32_t process;

	if (!row)
		return err->rc;
	row[G_DEVICE] = nsx_int(t->device[g->device].device_id);
	row[G_START] = nsx_int(g->gap.start_ns);
	row[G_END] = nsx_int(g->gap.end_ns);
	row[G_MS] = nsx_ms(g->gap.end_ns - g->gap.start_ns);
	row[G_CAUSE] = nsx_string(nsx_cause_names[p->cause]);
	row[G_DETAIL] = text_or_null(t, p->detail);
	if (g->gap.op == NSX_NONE)
		return 0;
	row[G_OP] = nsx_string(name_of_op(t, g->gap.op));
	process = nsx_op_process(t, g->gap.op);
	if (process != NSX_NONE)
		row[G_PID] = nsx_int(t->process[process].pid);
	return 0;
}

static int add_lengths(const struct nsx_trace *t, uint32_t d,
		       const int64_t (*sum)[2], struct nsx_table *table,
		       struct nsx_err *err)
{
	static const char *const names[] = {"<10us", "10us-1ms", ">=1ms"};

	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		struct nsx_cell *row = nsx_row(table, err);

		if (!row)
			return err->rc;
		row[H_DEVICE] = nsx_int(t->device[d].device_id);
		row[H_LENGTH] = nsx_string(names[i]);
		row[H_COUNT] = nsx_int(sum[i][0]);
		row[H_MS] = nsx_ms(sum[i][1]);
	}
	return 0;
}

static int fill_gaps(const struct nsx_run *run, struct nsx_table *table,
		     struct nsx_table *lengths, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct top top = {.n = 0};
	size_t all = 0;

	for (uint32_t d = 0; d < t->ndevices; d++) {
		struct long_gap g = {.device = d};
		int64_t sum[3][2] = {{0}};

		for (size_t at = 0;
		     nsx_next_gap(&run->facts->idle[d], &at, &g.gap);) {
			int64_t ns = g.gap.end_ns - g.gap.start_ns;
			unsigned i = (ns >= 10000) + (ns >= 1000000);

			all++;
			keep_longest(&top, &g);
			if (g.gap.is_edge)
				continue;
			sum[i][0]++;
			sum[i][1] += ns;
		}
		if (add_lengths(t, d, (const int64_t (*)[2])sum, lengths, err))
			return err->rc;
	}
	for (size_t i = 0; i < top.n; i++)
		if (add_gap(t, &top.v[i], table, err))
			return err->rc;
	table->capped = all > top.n;
	return 0;
}

/* Causes ----------------------------------------------------------------------*/

struct total {
	int64_t n, ns;
};

static int fill_device_causes(const struct nsx_run *run, uint32_t d,
			      struct nsx_groups *groups, struct total **v,
			      struct nsx_table *table, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_idle *idle = &run->facts->idle[d];
	int64_t window_ns = t->window.end_ns - t->window.start_ns;
	size_t cap = 0;
	uint32_t g;

	for (size_t i = 0; i < idle->n; i++) {
		const struct nsx_idle_piece *p = &idle->v[i];

		if (nsx_group(groups, p->cause, p->detail, &g, err) ||
		    nsx_grow(v, &cap, groups->n, sizeof(**v), "idle causes",
			     err))
			return err->rc;
		(*v)[g].n++;
		(*v)[g].ns += p->end_ns - p->start_ns;
	}
	for (size_t i = 0; i < groups->n; i++) {
		struct nsx_cell *row = nsx_row(table, err);

		if (!row)
			return err->rc;
		row[C_DEVICE] = nsx_int(t->device[d].device_id);
		row[C_CAUSE] = nsx_string(nsx_cause_names[groups->keys[i].a]);
		row[C_DETAIL] = text_or_null(t, (nsx_str)groups->keys[i].b);
		row[C_COUNT] = nsx_int((*v)[i].n);
		row[C_MS] = nsx_ms((*v)[i].ns);
		row[C_PCT] = nsx_pct((double)(*v)[i].ns, (double)window_ns);
	}
	return 0;
}

static int fill_causes(const struct nsx_run *run, struct nsx_table *table,
		       struct nsx_err *err)
{
	int rc = 0;

	for (uint32_t d = 0; !rc && d < run->trace->ndevices; d++) {
		struct nsx_groups groups = {0};
		struct total *v = NULL;

		rc = fill_device_causes(run, d, &groups, &v, table, err);
		nsx_groups_done(&groups);
		free(v);
	}
	nsx_table_sort(table, "device_id, total_ms desc, count desc, cause, "
			      "detail");
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
	if (none - idle > 1)
		nsx_cleared(out, "GPU %.0f runs no kernel for %.1f%% of the "
			    "window, but it is idle for %.1f%% only: the rest "
			    "is copies", nsx_table_number(d, most, "device_id"),
			    none, idle);
	nsx_md_table(out, d, "device_id,window_ms,busy_ms,idle_ms,"
			     "idle_pct_of_window,edge_idle_ms,kernel_busy_ms,"
			     "kernel_idle_ms,kernel_idle_pct_of_window", 0);
}

static int add_findings(const struct nsx_run *run, struct nsx_section *out,
			struct nsx_err *err)
{
	static const enum nsx_remedy list[] = {
		NSX_R_MODULE, NSX_R_OS_WAIT, NSX_R_API, NSX_R_HOST_CODE};
	double share;

	for (unsigned i = 0; i < ARRAY_LEN(list); i++)
		if (nsx_add_remedy(run, out, list[i], &share, err))
			return err->rc;
	return 0;
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_table *tables[4];

	for (unsigned i = 0; i < ARRAY_LEN(tables); i++)
		tables[i] = nsx_add_table(out, &layouts[i]);
	if (!t->ndevices) {
		nsx_headline(out, "GPU idle estimate: not available (no GPU "
				  "work in the trace)");
		return nsx_cannot(out, "the trace has no GPU work");
	}
	for (uint32_t d = 0; d < t->ndevices; d++)
		if (add_device(run, d, tables[0], err))
			return err->rc;
	if (fill_gaps(run, tables[1], tables[3], err) ||
	    fill_causes(run, tables[2], err) || add_findings(run, out, err))
		return err->rc;
	nsx_put(out, "table", nsx_string(
		t->schema->table[NSX_VIEW_kernel] ?
			t->schema->table[NSX_VIEW_kernel]->name : NULL));
	say_devices(out, tables[0]);
	nsx_md_subheading(out, "Idle time by cause");
	nsx_md_table(out, tables[2], "device_id,cause,detail,count,total_ms,"
				     "pct_of_window", 20);
	nsx_md_subheading(out, "Longest gaps");
	nsx_md_table(out, tables[1], "device_id,gap_start_ns,gap_end_ns,gap_ms,"
				     "cause,cause_detail,next_op,pid", 10);
	nsx_note(out, "idle_ms is time without any GPU work, edges included; "
		      "nsys-llm-explain counts kernels only: that is "
		      "kernel_idle_ms");
	return 0;
}

NSX_DEFINE_PASS(gpu_idle) {
	.id = "gpu_idle",
	.title = "GPU idle estimate (from kernel timeline)",
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
	.layouts = layouts,
	.nlayouts = ARRAY_LEN(layouts),
	.run = run,
};
