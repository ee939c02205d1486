/* idle_gaps.c - the longest gaps of all devices, and all gaps by length. */
#include "base/stat.h"
#include "passes/gpu/idle_gaps.h"

enum { TOP_GAPS = 50 };

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
static struct nsx_idle_piece main_piece(const struct nsx_gap *gap)
{
	struct nsx_idle_piece best = nsx_idle_at(gap->idle, gap->at);

	for (size_t i = 1; i < gap->npieces; i++) {
		struct nsx_idle_piece p = nsx_idle_at(gap->idle, gap->at + i);

		if (p.end_ns - p.start_ns > best.end_ns - best.start_ns)
			best = p;
	}
	return best;
}

static struct nsx_cell text_or_null(const struct nsx_facts *f, nsx_str s)
{
	return s ? nsx_string(nsx_fact_text(f, s)) : nsx_null();
}

static void add_gap(const struct nsx_run *run, const struct long_gap *g,
		    struct nsx_table *table)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_idle_piece p = main_piece(&g->gap);
	struct nsx_cell *row = nsx_add_row(table);
	uint32_t process;

	row[GAP_DEVICE] = nsx_int(t->device[g->device].device_id);
	row[GAP_START] = nsx_int(g->gap.start_ns);
	row[GAP_END] = nsx_int(g->gap.end_ns);
	row[GAP_MS] = nsx_ms(g->gap.end_ns - g->gap.start_ns);
	row[GAP_CAUSE] = nsx_string(nsx_cause_names[p.cause]);
	row[GAP_DETAIL] = text_or_null(run->facts, p.detail);
	if (g->gap.op == NSX_NONE)
		return;
	row[GAP_OP] = nsx_string(name_of_op(t, g->gap.op));
	process = nsx_op_process(t, g->gap.op);
	if (process != NSX_NONE)
		row[GAP_PID] = nsx_int(t->process[process].pid);
}

static void add_lengths(const struct nsx_trace *t, uint32_t d,
			const int64_t (*sum)[2], struct nsx_table *table)
{
	static const char *const names[] = {"<10us", "10us-1ms", ">=1ms"};

	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		struct nsx_cell *row = nsx_add_row(table);

		row[GAPS_DEVICE] = nsx_int(t->device[d].device_id);
		row[GAPS_LENGTH] = nsx_string(names[i]);
		row[GAPS_COUNT] = nsx_int(sum[i][0]);
		row[GAPS_MS] = nsx_ms(sum[i][1]);
	}
}

void nsx_fill_gaps(const struct nsx_run *run, struct nsx_table *table,
		   struct nsx_table *lengths)
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
			nsx_add_to(&sum[i][1], ns);
		}
		add_lengths(t, d, (const int64_t (*)[2])sum, lengths);
	}
	for (size_t i = 0; i < top.n; i++)
		add_gap(run, &top.v[i], table);
	table->capped = all > top.n;
}
