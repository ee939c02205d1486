/* cadence.c - finds iterations by regular events on the GPU: replays of one graph, collectives of
 * one kind, or pauses between bursts of work. Pauses are a guess, so their confidence is low.
 */
#include "facts/iterations/iterations.h"
#include "base/stat.h"

enum { MIN_GAP_NS = 1000000 };

/* Replays and collectives -------------------------------------------------------*/

struct event {
	int64_t start_ns, end_ns;
	uint32_t op, key; /* key: replay, graph of nodes, or name            */
};
#define OF_NODES 0x80000000u
#define GRAPH_ID 0x3fffffffu

NSX_ORDER(cmp_event, struct event, UP(key), UP(start_ns));

/* By what an operation's events are grouped; NSX_NONE: it is no event of this way. */
static uint32_t cadence_key_of(const struct nsx_trace *t, uint32_t op, enum nsx_way_method method)
{
	if (method == NSX_WAY_COMM)
		return t->ops.cls[op] == NSX_C_COMM ? nsx_op_shape(t, op)->base_name : NSX_NONE;
	if (t->ops.kind[op] == NSX_OP_GRAPH)
		return nsx_op_detail(&t->ops, op);
	return t->ops.kind[op] == NSX_OP_KERNEL && t->ops.flags[op] & NSX_OP_NODE &&
			       nsx_op_call(&t->ops, op) != NSX_NONE ?
		       OF_NODES | (GRAPH_ID & nsx_shape_launch(t, nsx_op_shape(t, op))->graph_id) :
		       NSX_NONE;
}

/* Keeps the first of the nodes of each launch. Returns how many events are left. */
static size_t keep_first_nodes(const struct nsx_trace *t, struct event *v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!kept || v[i].key != v[kept - 1].key || !(v[i].key & OF_NODES) ||
		    nsx_op_call(&t->ops, v[i].op) != nsx_op_call(&t->ops, v[kept - 1].op))
			v[kept++] = v[i];
		else
			v[kept - 1].end_ns = NSX_MAX(v[kept - 1].end_ns, v[i].end_ns);
	return kept;
}

/* Lists the process's events of one kind on the device of its main stream. Returns their number. */
static size_t list_recurring_events(const struct nsx_finder *fd, uint32_t process,
				    enum nsx_way_method method, struct event *v)
{
	const struct nsx_trace *t = fd->t;
	uint32_t main_stream = fd->main_stream[process];
	size_t n = 0;

	for (size_t k = fd->ops_at[process]; k < fd->ops_at[process + 1]; k++) {
		uint32_t op = fd->ops[k], key = cadence_key_of(t, op, method);

		if (key != NSX_NONE && nsx_stream_of(t, op)->device == t->stream[main_stream].device)
			v[n++] = (struct event){nsx_op_start(&t->ops, op), nsx_op_end(&t->ops, op),
						op, key};
	}
	return n;
}

static int cadence_find_events(struct nsx_finder *fd, uint32_t process,
			       enum nsx_way_method method, struct nsx_err *err)
{
	size_t most = fd->ops_at[process + 1] - fd->ops_at[process], n;
	NSX_AT_EXIT(nsx_free_at) struct event *v = nsx_try_alloc(most, sizeof(*v), "GPU work", err);
	NSX_AT_EXIT(nsx_free_at) int64_t *start = nsx_try_alloc(most, 8, "GPU work", err);
	int rc = v && start ? 0 : err->rc;

	n = rc ? 0 : list_recurring_events(fd, process, method, v);
	nsx_sort(v, n, sizeof(*v), cmp_event);
	if (method == NSX_WAY_GRAPH)
		n = keep_first_nodes(fd->t, v, n);
	NSX_EACH_RUN(i, next, n, v[next].key == v[i].key) {
		struct nsx_way w = {.method = method, .process = process};

		/* Rare events mark no loop; this also leaves at most 64 kinds. */
		if (rc || next - i < NSX_MAX((size_t)4, n / 64))
			continue;
		for (size_t k = i; k < next; k++)
			start[k - i] = v[k].start_ns;
		if (method == NSX_WAY_GRAPH)
			rc = nsx_add_way_from_starts(fd, &w, start, next - i,
						 v[next - 1].end_ns, 0.8, 0.5, err);
		else if (next - i >= 8) {
			w.name = nsx_op_shape(fd->t, v[i].op)->base_name;
			rc = nsx_add_way_from_starts(fd, &w, start, next - i,
						 v[next - 1].end_ns, 0.7, 0.15, err);
		}
	}
	return rc;
}

/* Pauses ------------------------------------------------------------------------*/

/* Whether bursts do similar work: none does less than a tenth of the largest. */
static bool are_bursts_alike(const struct nsx_spans *busy, const int64_t *start_ns,
			     size_t n, int64_t end_ns)
{
	int64_t least = INT64_MAX, most = 0;
	size_t cursor = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t ns = nsx_spans_covered(busy, &cursor, start_ns[i],
			i + 1 < n ? start_ns[i + 1] : end_ns);

		least = NSX_MIN(least, ns);
		most = NSX_MAX(most, ns);
	}
	return least >= most / 10;
}

static int64_t pause_before_burst(const struct nsx_spans *busy, size_t i)
{
	return nsx_span_start(busy, i) - nsx_span_at(busy, i - 1).end_ns;
}

static int find_bursts(struct nsx_finder *fd, uint32_t process, uint32_t device,
		       struct nsx_err *err)
{
	const struct nsx_spans *busy = &fd->f->busy[device];
	struct nsx_way w = {.method = NSX_WAY_GAPS, .process = process};
	NSX_AT_EXIT(nsx_free_at) int64_t *v = nsx_try_alloc(busy->n, 8, "gaps", err);
	int64_t limit, end_ns;
	size_t n = 0;

	if (!v)
		return err->rc;
	for (size_t i = 1; i < busy->n; i++)
		v[n++] = pause_before_burst(busy, i);
	limit = n ? nsx_to_i64(5 * nsx_quantile(v, n, 0.5)) : 0;
	limit = NSX_MAX(limit, MIN_GAP_NS);
	n = 0;
	for (size_t i = 0; i < busy->n; i++)
		if (!i || pause_before_burst(busy, i) >= limit)
			v[n++] = nsx_span_start(busy, i);
	if (n < 4)
		return 0;
	end_ns = nsx_span_at(busy, busy->n - 1).end_ns;
	return are_bursts_alike(busy, v, n, end_ns) ?
		       nsx_add_way_from_starts(fd, &w, v, n, end_ns, 0.6, 0.3, err) : 0;
}

int nsx_find_cadence(struct nsx_finder *fd, uint32_t process, struct nsx_err *err)
{
	uint32_t main_stream = fd->main_stream[process], device;
	int rc;

	if (main_stream == NSX_NONE)
		return 0;
	device = fd->t->stream[main_stream].device;
	rc = cadence_find_events(fd, process, NSX_WAY_GRAPH, err) ?:
	     cadence_find_events(fd, process, NSX_WAY_COMM, err);
	/* Pauses belong to the device, so only its main process is considered. */
	if (!rc && 2 * (fd->ops_at[process + 1] - fd->ops_at[process]) > fd->t->device[device].nops)
		rc = find_bursts(fd, process, device, err);
	return rc;
}
