/* cuda_graphs.c - graph launches, and how much of each was recorded.
 *
 * Every recorded replay becomes an entry: a GRAPH_TRACE row, or the time from the first to the
 * last node of one launch call. Entries sorted by (process, device, graph, exec, call) are summed
 * into rows. Launch calls without an entry left no record of their work.
 */
#include <inttypes.h>
#include <math.h>
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(PID, "pid", I64, "process")                                                              \
	X(DEVICE, "device_id", I64, "CUDA ordinal; null: no replay was recorded")                  \
	X(GRAPH, "graph_id", I64, "the graph")                                                     \
	X(EXEC, "graph_exec_id", I64, "executable instance of the graph; null in node mode")       \
	X(MODE, "mode", STR,                                                                       \
	  "graph: whole replays; node: their nodes; opaque: nothing was recorded")                 \
	X(LAUNCHES, "launches", I64, "launch calls", .adds = true)                                 \
	X(REPLAYS, "replays", I64, "replays that were recorded", .adds = true)                     \
	X(COVERAGE, "coverage_pct", F64, "share of launches whose replay was recorded")            \
	X(TOTAL, "total_ms", F64, "sum of replays; in node mode a replay lasts from the start of " \
				  "its first node to the end of its last node", .adds = true)      \
	X(AVG, "avg_us", F64, "total over replays")
NSX_LAYOUT_OF(layout, COLUMNS, .key = "rows", .csv = "cuda_graphs");

struct node { /* an operation inside a graph */
	uint32_t device, call, graph;
	int64_t start_ns, end_ns;
};
struct entry { /* a replay on one device */
	uint32_t process, device, graph, exec, call;
	bool is_node;
	int64_t ns;
};
struct graphs {
	const struct nsx_trace *t;
	struct node *nodes;
	size_t nnodes;
	struct entry *entries;
	size_t nentries;
	int64_t replay_ns;
};

/* Entries ------------------------------------------------------------------*/

static void collect_replays(struct graphs *g)
{
	const struct nsx_trace *t = g->t;

	for (uint32_t d = 0; d < t->ndevices; d++) {
		const struct nsx_device *dev = &t->device[d];

		for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
			uint32_t call = nsx_op_call(&t->ops, i);

			if (t->ops.flags[i] & NSX_OP_PEER)
				continue;
			if (t->ops.kind[i] == NSX_OP_GRAPH)
				g->entries[g->nentries++] = (struct entry){
				    nsx_op_process(t, i),
				    d,
				    t->replay[nsx_op_detail(&t->ops, i)].graph_id,
				    t->replay[nsx_op_detail(&t->ops, i)].graph_exec_id,
				    call,
				    false,
				    nsx_op_ns(&t->ops, i)};
			else if (t->ops.flags[i] & NSX_OP_NODE)
				g->nodes[g->nnodes++] = (struct node){
				    d, call,
				    t->ops.kind[i] == NSX_OP_KERNEL
					? nsx_op_launch(t, i)->graph_id
					: NSX_NONE,
				    nsx_op_start(&t->ops, i),
				    nsx_op_end(&t->ops, i)};
		}
	}
}

NSX_ORDER(cmp_nodes, struct node, UP(device), UP(call));

/* Joins the nodes of one launch on one device into one replay. Copies and memsets have no graph id;
 * they get the id of the launch's kernels.
 */
static void join_nodes_to_replays(struct graphs *g)
{
	const struct nsx_trace *t = g->t;

	nsx_sort(g->nodes, g->nnodes, sizeof(*g->nodes), cmp_nodes);
	NSX_EACH_RUN(i, next, g->nnodes, !cmp_nodes(&g->nodes[i], &g->nodes[next])) {
		struct node *x = &g->nodes[i];

		for (size_t k = i + 1; k < next; k++) {
			const struct node *y = &g->nodes[k];

			x->start_ns = NSX_MIN(x->start_ns, y->start_ns);
			x->end_ns = NSX_MAX(x->end_ns, y->end_ns);
			x->graph = NSX_MIN(x->graph, y->graph);
		}
		if (x->call != NSX_NONE)
			g->entries[g->nentries++] = (struct entry){
				t->thread[nsx_call_thread(t, x->call)].process,
				x->device, x->graph, NSX_NONE, x->call, true,
				x->end_ns - x->start_ns};
	}
}

NSX_ORDER(cmp_group, struct entry, UP(process), UP(device), UP(graph), UP(exec), UP(is_node));
NSX_ORDER(cmp_entries, struct entry, BY(cmp_group), UP(call));

/* Rows ---------------------------------------------------------------------*/

static void fill_recorded_replays(struct graphs *g, struct nsx_table *table)
{
	nsx_sort(g->entries, g->nentries, sizeof(*g->entries), cmp_entries);
	NSX_EACH_RUN(i, next, g->nentries, !cmp_group(&g->entries[i], &g->entries[next])) {
		const struct entry *x = &g->entries[i];
		struct nsx_cell *row = nsx_add_row(table);
		int64_t launches = 0, ns = 0;

		for (size_t k = i; k < next; k++) {
			const struct entry *y = &g->entries[k];

			nsx_add_to(&ns, y->ns);
			launches += y->call != NSX_NONE && (k == i || y->call != y[-1].call);
		}
		row[PID] = x->process == NSX_NONE ? nsx_int(0) : nsx_pid_cell(g->t, x->process);
		row[DEVICE] = nsx_device_cell(g->t, x->device);
		row[GRAPH] = nsx_known_cell(x->graph);
		row[EXEC] = nsx_known_cell(x->exec);
		row[MODE] = nsx_string(x->is_node ? "node" : "graph");
		row[LAUNCHES] = nsx_int(launches);
		row[REPLAYS] = nsx_int((int64_t)(next - i));
		row[COVERAGE] = nsx_part_pct(launches, launches);
		row[TOTAL] = nsx_ms(ns);
		row[AVG] = nsx_us((double)ns / (double)(next - i));
		nsx_add_to(&g->replay_ns, ns);
	}
}

/* Counts a process's launches without recorded work. With a user's window, some of these launches
 * may have a replay outside the window.
 */
static void fill_unrecorded_launches(const struct nsx_run *run, struct nsx_table *table)
{
	const struct nsx_trace *t = run->trace;
	const int64_t *missing = run->facts->graphs.missing;

	for (uint32_t p = 0; p < t->nprocesses; p++) {
		struct nsx_cell *row;

		if (!missing[p])
			continue;
		row = nsx_add_row(table);
		row[PID] = nsx_pid_cell(t, p);
		row[MODE] = nsx_string("opaque");
		row[LAUNCHES] = nsx_int(missing[p]);
		row[REPLAYS] = nsx_int(0);
		row[COVERAGE] = nsx_real(0);
	}
}

/* Interpretation ------------------------------------------------------------- */

static void cuda_graphs_say(const struct nsx_run *run, const struct graphs *replays,
			    const struct nsx_table *table, struct nsx_section *out)
{
	const struct nsx_graph_facts *g = &run->facts->graphs;
	const char *mode = nsx_graph_modes[g->mode];

	nsx_put(out, "mode", nsx_string(mode));
	nsx_put(out, "launches", nsx_int(g->launches));
	nsx_put(out, "replays", nsx_int((int64_t)replays->nentries));
	nsx_put(out, "coverage_pct", nsx_real(g->coverage_pct));
	nsx_put(out, "host_launch_ms", nsx_ms(g->host_ns));
	nsx_put(out, "replay_ms", nsx_ms(replays->replay_ns));
	if (g->launches || replays->nentries)
		nsx_md_bullet(out, "Mode **%s**: %s (%s on the host), %s (%s on the GPU).", mode,
			nsx_text_n(out->arena, (size_t)g->launches, "launch",
				   "launches"), nsx_say_time(out, g->host_ns),
			nsx_text_n(out->arena, replays->nentries, "replay",
				   NULL), nsx_say_time(out, replays->replay_ns));
	if (g->coverage_pct < NSX_GRAPHS_COVERED_PCT)
		nsx_warn(out, "CUDA graphs: %" PRId64 " of %" PRId64 " graph launches left no "
			      "replay: busy time is a lower bound, idle time an upper bound",
			 g->launches - g->covered, g->launches);
	if (g->hidden_pct >= NSX_GRAPHS_HIDDEN_PCT)
		nsx_md_bullet(out, "%.1f %% of the GPUs' busy time is inside replays recorded as a "
				   "whole: it counts as compute, and the kernels, "
				   "communication and ranges inside are not known.", g->hidden_pct);
	if (table->nrows)
		nsx_md_whole(out, table, 0);
	if (isnan(g->coverage_pct) && g->launches)
		nsx_note(out, "with a window the replay of a launch may lie outside it, so there "
			      "is no coverage");
	if (g->orphans)
		nsx_note(out, "%zu graph rows have no launch call (queued before the capture); "
			      "nodes among them are in no row of the table", g->orphans);
}

static int cuda_graphs_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_table *table = nsx_add_table(out, &layout);
	struct graphs g = {.t = t};
	size_t n = 0;

	if (!t->ops.n && !t->calls.n)
		return nsx_cannot(out, "the trace has neither GPU work nor CUDA calls");
	for (size_t i = 0; i < t->ops.n; i++)
		n += t->ops.kind[i] == NSX_OP_GRAPH || (t->ops.flags[i] & NSX_OP_NODE);
	if (!nsx_new_array(g.nodes, run->scratch, n, "graph nodes", err) ||
	    !nsx_new_array(g.entries, run->scratch, n, "graph replays", err))
		return err->rc;
	collect_replays(&g);
	join_nodes_to_replays(&g);
	fill_recorded_replays(&g, table);
	if (!nsx_has_window(t))
		fill_unrecorded_launches(run, table);
	nsx_table_sort(table, NSX_DESC(TOTAL), NSX_DESC(LAUNCHES), PID, DEVICE, GRAPH, EXEC, MODE);
	cuda_graphs_say(run, &g, table, out);
	return 0;
}

NSX_DEFINE_PASS(cuda_graphs,
	.title = "CUDA graphs",
	.subject = "CUDA graphs",
	.summary = "graph launches, their replays, and how much of these was recorded",
	.doc = "mode: graph if whole replays were recorded and no nodes, node if nodes were "
	       "recorded, mixed for both, opaque if there are launch calls but nothing of their "
	       "work, none without launches. A launch call is counted and its host time charged "
	       "once, however many nodes it starts; failed calls are not launches. Coverage is the "
	       "share of launches of which anything was recorded. Launches without recorded work "
	       "have rows of their own, without a device. A replay recorded as a whole counts as "
	       "compute in every other section; nodes belong to the range and the call that "
	       "launched them.",
	.derived_from = "whole-graph rows, operations with a graph node, and the launch calls",
	.limitations = "a replay recorded as a whole does not show what ran inside; its stream is "
		       "that of the launch",
	.any_of = {NSX_GPU_WORK, NSX_NEED_VIEW(runtime)},
	NSX_LAYOUT(layout));
