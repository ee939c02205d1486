/* graphs.c - CUDA graphs: launch calls, and whether their work was recorded. */
#include <math.h>
#include "base/stat.h"
#include "facts/facts.h"

/* Marks in `seen`, by call, the calls with a recorded replay or recorded nodes. */
static void mark_recorded_launches(const struct nsx_trace *t, uint8_t *seen,
				   struct nsx_graph_facts *g)
{
	bool has_replays = false, has_nodes = false;

	for (size_t i = 0; i < t->ops.n; i++) {
		bool is_replay = t->ops.kind[i] == NSX_OP_GRAPH;
		uint32_t call = nsx_op_call(&t->ops, i);

		if ((t->ops.flags[i] & NSX_OP_PEER) ||
		    !(is_replay || t->ops.flags[i] & NSX_OP_NODE))
			continue;
		has_replays |= is_replay;
		has_nodes |= !is_replay;
		if (call == NSX_NONE)
			g->orphans++;
		else
			seen[call] = 1;
	}
	g->mode = !has_replays ? has_nodes ? NSX_GRAPH_NODES : NSX_GRAPH_NONE :
		  has_nodes    ? NSX_GRAPH_MIXED : NSX_GRAPH_WHOLE;
}

static bool graphs_is_launch(const struct nsx_trace *t, size_t call)
{
	uint8_t f = t->calls.flags[call];

	return (f & NSX_CALL_GRAPH) &&
	       !(f & (NSX_CALL_FAILED | NSX_CALL_NESTED)) &&
	       nsx_starts_inside(t, nsx_call_start(&t->calls, call));
}

static double hidden_graph_pct(const struct nsx_facts *f, const struct nsx_trace *t)
{
	int64_t hidden = 0, busy = 0;

	for (uint32_t d = 0; d < t->ndevices; d++) {
		const struct nsx_device *dev = &t->device[d];
		int64_t end = INT64_MIN;

		nsx_add_to(&busy, t->window.end_ns - t->window.start_ns -
					  nsx_idle_total(&f->idle[d]));
		for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
			if (t->ops.kind[i] != NSX_OP_GRAPH || nsx_op_end(&t->ops, i) <= end)
				continue;
			nsx_add_to(&hidden, nsx_op_end(&t->ops, i) -
						NSX_MAX(end, nsx_op_start(&t->ops, i)));
			end = nsx_op_end(&t->ops, i);
		}
	}
	return busy ? 100 * (double)hidden / (double)busy : 0;
}

int nsx_facts_graphs(struct nsx_facts *f, const struct nsx_trace *t, struct nsx_err *err)
{
	struct nsx_graph_facts *g = &f->graphs;
	uint8_t *seen;

	nsx_few(g->missing, f->arena, t->nprocesses);
	if (nsx_new_arrays(f->arena, t->calls.n, "graph launches", err, seen))
		return err->rc;
	mark_recorded_launches(t, seen, g);
	for (size_t i = 0; i < t->calls.n; i++) {
		if (!graphs_is_launch(t, i))
			continue;
		g->launches++;
		g->covered += seen[i];
		nsx_add_to(&g->host_ns, nsx_in_window(t, nsx_call_start(&t->calls, i),
						      nsx_call_end(&t->calls, i)));
		g->missing[t->thread[nsx_call_thread(t, i)].process] += !seen[i];
	}
	g->coverage_pct = g->launches && !nsx_has_window(t) ?
				  100 * (double)g->covered / (double)g->launches : NAN;
	if (g->mode == NSX_GRAPH_NONE && g->launches)
		g->mode = NSX_GRAPH_OPAQUE;
	if (g->mode == NSX_GRAPH_WHOLE)
		g->hidden_pct = hidden_graph_pct(f, t);
	nsx_arena_drop(f->arena, seen);
	return nsx_stopped(err);
}
