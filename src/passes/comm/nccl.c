/* nccl.c - communication kernels: totals by operation, process and rank, what
 * of them compute hides, and who comes late.
 */
#include <stdlib.h>
#include <string.h>
#include "base/stat.h"
#include "passes/comm/nccl.h"

#define MAX_TOLD 5 /* operations with a line of their own in Markdown */

static const struct nsx_col op_cols[] = {
	{"op_name", "collective, else the kernel's base name", NSX_T_STR},
	{"raw_name_example", "the least of the full names", NSX_T_STR},
	{"source", "kernel, or nvtx where the trace has no GPU work",
	 NSX_T_STR},
	{"count", "executions that began in the window", NSX_T_I64},
	{"total_time_ms", "sum of durations", NSX_T_F64},
	{"max_duration_ms", "longest", NSX_T_F64},
	{"avg_duration_us", "total over count", NSX_T_F64},
	{"compute_overlap_ms", "part of the sum during which the device "
			       "computes as well", NSX_T_F64},
	{"compute_overlap_pct", "share of the sum", NSX_T_F64},
	{"straggler", "the rank that comes late; the only rank where there is "
		      "one", NSX_T_STR},
	{"straggler_total_ms", "sum of that rank's durations", NSX_T_F64},
	{"straggler_max_ms", "its longest", NSX_T_F64},
	{"exposed_ms", "union on each device without compute, added up",
	 NSX_T_F64},
	{"device_ids", "CUDA ordinals", NSX_T_STR},
	{"waiting_rank", "the rank that waits most", NSX_T_STR},
};

static const struct nsx_col rank_cols[] = {
	{"op_name", "collective", NSX_T_STR},
	{"rank_label", "participant", NSX_T_STR},
	{"total_time_ms", "sum of its durations, waiting included", NSX_T_F64},
	{"max_duration_ms", "longest", NSX_T_F64},
	{"skew_vs_median_pct", "total against the median of the ranks; the one "
			       "that waits has the larger", NSX_T_F64},
	{"times_last", "matched instances in which it comes last", NSX_T_I64},
	{"waited_ms", "from its own start to the last one's", NSX_T_F64},
	{"induced_ms", "what the median of the others waits for it",
	 NSX_T_F64},
};
static const struct nsx_col pid_cols[] = {
	{"pid", "process", NSX_T_I64},
	{"total_nccl_time_ms", "sum of durations", NSX_T_F64},
	{"nccl_event_count", "executions", NSX_T_I64},
	{"max_duration_ms", "longest", NSX_T_F64},
	{"top_nccl_op", "with the largest total", NSX_T_STR},
};
static const struct nsx_col window_cols[] = {
	{"start_ns", "begins", NSX_T_I64},
	{"end_ns", "ends", NSX_T_I64},
};
static const struct nsx_col device_cols[] = {
	{"device_id", "CUDA ordinal", NSX_T_I64},
	{"comm_ms", "union of communication", NSX_T_F64},
	{"overlap_pct", "share of it that compute hides", NSX_T_F64},
	{"exposed_ms", "without compute", NSX_T_F64},
	{"blocking_ms", "exposed, with compute that starts as soon as it ends",
	 NSX_T_F64},
	{"gpu", "tells GPUs of one ordinal apart", NSX_T_STR},
};
static const struct nsx_col match_cols[] = {
	{"op_name", "collective", NSX_T_STR},
	{"ranks", "participants matched", NSX_T_I64},
	{"instances", "matched", NSX_T_I64},
	{"late_rank", "induced most waiting", NSX_T_STR},
	{"times_last", "instances in which it came last", NSX_T_I64},
	{"induced_ms", "by it, over all instances", NSX_T_F64},
	{"waiting_rank", "waited most", NSX_T_STR},
	{"waited_ms", "by that one, over all instances", NSX_T_F64},
	{"transfer_ms", "from the last arrival to the last end", NSX_T_F64},
	{"shortest_ms", "sum of the shortest kernel of each", NSX_T_F64},
	{"end_spread_us", "median of last end less first end", NSX_T_F64},
	{"kept_instances", "that are evidence for the verdict", NSX_T_I64},
	{"kept_induced_ms", "by the late rank in those", NSX_T_F64},
	{"start_skew_ms", "induced outside the judged window and in the "
			  "first", NSX_T_F64},
	{"p_value", "chance of coming last as often", NSX_T_F64},
	{"persistent", "a straggler is proved", NSX_T_BOOL},
	{"cause", "where one explains four fifths of the lateness",
	 NSX_T_STR},
};
static const struct nsx_col message_cols[] = {
	{"op_name", "collective, send or recv", NSX_T_STR},
	{"calls", "with a payload, begun in the window", NSX_T_I64},
	{"bytes", "of all messages", NSX_T_I64},
	{"p50_bytes", "median message", NSX_T_F64},
	{"max_bytes", "greatest message", NSX_T_I64},
	{"communicators", "distinct ones", NSX_T_I64},
};
enum { L_OPS, L_RANKS, L_PIDS, L_WINDOWS, L_DEVICES, L_MATCHES,
       L_MESSAGES };
static const struct nsx_layout layouts[] = {
	[L_OPS] = {.key = "ops", .csv = "nccl_ops", NSX_COLS(op_cols)},
	[L_RANKS] = {.key = "rank_rows", .csv = "nccl_rank_skew",
		     NSX_COLS(rank_cols)},
	[L_PIDS] = {.key = "pids", .csv = "nccl_by_pid", NSX_COLS(pid_cols)},
	[L_WINDOWS] = {.key = "windows", NSX_COLS(window_cols),
		       .json_rows = NCCL_MAX_WINDOWS},
	[L_DEVICES] = {.key = "devices", NSX_COLS(device_cols)},
	[L_MATCHES] = {.key = "collectives", NSX_COLS(match_cols)},
	[L_MESSAGES] = {.key = "messages", NSX_COLS(message_cols)},
};

/* Operations -------------------------------------------------------------*/

static int cmp_device(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* "0,1": the ordinals on which a group ran. */
static int list_devices(struct nccl_comm *c, const struct nccl_group *g,
			const char **ret, struct nsx_err *err)
{
	uint32_t *v = nsx_arena_try_array(c->run->scratch, g->nranks,
					  sizeof(*v), "ranks", err);
	struct nsx_buf b = {0};

	if (!v)
		return err->rc;
	for (size_t i = 0; i < g->nranks; i++)
		v[i] = c->ranks[g->rank_at + i].device;
	qsort(v, g->nranks, sizeof(*v), cmp_device);
	for (size_t i = 0; i < g->nranks; i++)
		if (!i || v[i] != v[i - 1])
			nsx_buf_printf(&b, "%s%lld", i ? "," : "", (long long)
				       c->run->trace->device[v[i]].device_id);
	*ret = nsx_say(c->out, "%s", b.p);
	nsx_buf_done(&b);
	return 0;
}

static int fill_op(struct nccl_comm *c, const struct nccl_group *g,
		   const struct nccl_match *m, struct nsx_table *table,
		   struct nsx_err *err)
{
	const struct nccl_rank *r = c->ranks + g->rank_at, *late = NULL;
	struct nsx_cell *row = nsx_row(table, err);
	const char *devices = NULL;

	if (!row || list_devices(c, g, &devices, err))
		return err->rc;
	if (g->nranks == 1)
		late = r;
	else if (m->late != NSX_NONE)
		late = &r[m->late];
	row[NCCL_OP] = nsx_string(g->name);
	row[NCCL_RAW] = nsx_string(nsx_text(c->run->trace, g->raw));
	row[NCCL_SOURCE] = nsx_string("kernel");
	row[NCCL_COUNT] = nsx_int((int64_t)g->count);
	row[NCCL_TOTAL] = nsx_ms(g->total_ns);
	row[NCCL_MAX] = nsx_ms(g->max_ns);
	if (g->count)
		row[NCCL_AVG] = nsx_us((double)g->total_ns / (double)g->count);
	row[NCCL_OVERLAP] = nsx_ms(g->overlap_ns);
	row[NCCL_OVERLAP_PCT] = nsx_pct((double)g->overlap_ns,
				   (double)g->total_ns);
	if (late) {
		row[NCCL_STRAGGLER] = nsx_string(late->label);
		row[NCCL_STRAGGLER_TOTAL] = nsx_ms(late->total_ns);
		row[NCCL_STRAGGLER_MAX] = nsx_ms(late->max_ns);
	}
	row[NCCL_EXPOSED] = nsx_ms(g->exposed_ns);
	row[NCCL_DEVICES] = nsx_string(devices);
	if (m->waiting != NSX_NONE)
		row[NCCL_WAITING] = nsx_string(r[m->waiting].label);
	return 0;
}

static int fill_pids(struct nccl_comm *c, struct nsx_table *table,
		     struct nsx_err *err)
{
	const struct nsx_trace *t = c->run->trace;
	struct by_pid {
		int64_t total_ns, max_ns, top_ns;
		size_t count;
		const char *top;
	} *v = nsx_arena_try_array(c->run->scratch, t->nprocesses, sizeof(*v),
				   "processes", err);

	if (!v)
		return err->rc;
	for (size_t g = 0; g < c->ngroups; g++) {
		const struct nccl_group *x = &c->groups[g];
		int64_t sum_ns = 0;

		for (size_t i = 0; i < x->nranks; i++) {
			const struct nccl_rank *r = &c->ranks[x->rank_at + i];
			struct by_pid *p = &v[r->process];

			if (!i || r[-1].process != r->process)
				sum_ns = 0;
			nsx_add_to(&sum_ns, r->total_ns);
			nsx_add_to(&p->total_ns, r->total_ns);
			p->count += r->count;
			p->max_ns = NSX_MAX(p->max_ns, r->max_ns);
			if (!p->top || sum_ns > p->top_ns ||
			    (sum_ns == p->top_ns &&
			     strcmp(x->name, p->top) < 0)) {
				p->top = x->name;
				p->top_ns = sum_ns;
			}
		}
	}
	for (uint32_t i = 0; i < t->nprocesses; i++) {
		struct nsx_cell *row;

		if (!v[i].top)
			continue;
		row = nsx_row(table, err);
		if (!row)
			return err->rc;
		row[NCCL_PID] = nsx_int(t->process[i].pid);
		row[NCCL_PID_TOTAL] = nsx_ms(v[i].total_ns);
		row[NCCL_PID_COUNT] = nsx_int((int64_t)v[i].count);
		row[NCCL_PID_MAX] = nsx_ms(v[i].max_ns);
		row[NCCL_PID_TOP] = nsx_string(v[i].top);
	}
	return 0;
}

/* The run ----------------------------------------------------------------*/

static int cmp_group(const void *a, const void *b)
{
	const struct nccl_group *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int fill_groups(struct nccl_comm *c, struct nccl_costs *costs,
		       struct nsx_table **tables, struct nsx_err *err)
{
	if (c->ngroups)
		qsort(c->groups, c->ngroups, sizeof(*c->groups), cmp_group);
	for (size_t i = 0; i < c->ngroups; i++) {
		const struct nccl_group *g = &c->groups[i];
		struct nccl_rank *r = c->ranks + g->rank_at;
		struct nccl_match m;

		if (nccl_match(c->run, c->events, r, g->nranks,
			       g->op == NSX_COMM_SENDRECV, &m, err))
			return err->rc;
		for (size_t k = 0; k < g->nranks; k++)
			nsx_add_to(&costs->v[r[k].device].waited_ns,
				   r[k].waited_ns);
		if (m.proved)
			nccl_find_cause(c->run, c->events, r, &m);
		if (fill_op(c, g, &m, tables[L_OPS], err) ||
		    nccl_fill_ranks(c, g, &m, tables[L_RANKS], err) ||
		    (m.n &&
		     nccl_fill_match(c, g, &m, tables[L_MATCHES], err)))
			return err->rc;
		if (i < MAX_TOLD)
			nccl_say_match(c, g, &m);
		if (m.proved && nccl_add_straggler(costs, g->name, c->events, r,
						   &m, err))
			return err->rc;
	}
	return 0;
}

static int fill(struct nccl_comm *c, struct nsx_table **tables,
		struct nsx_err *err)
{
	struct nccl_costs costs = {.run = c->run, .out = c->out};

	if (nccl_collect(c, err))
		return err->rc;
	if (!c->n) {
		nsx_note(c->out, "no communication kernel ran%s",
			 c->run->trace->nreplays ? "; what graphs that were "
			 "traced as a whole hold is not known" : "");
		return 0;
	}
	if (nccl_fill_costs(&costs, tables[L_DEVICES], tables[L_WINDOWS],
			    err) ||
	    fill_groups(c, &costs, tables, err) ||
	    fill_pids(c, tables[L_PIDS], err) ||
	    nccl_add_exposed(&costs, c->same_stream_ns, err))
		return err->rc;
	nsx_put(c->out, "same_stream_comm_ms", nsx_ms(c->same_stream_ns));
	nsx_note(c->out, "the column straggler names the rank that comes last; "
		 "the largest NCCL time belongs to the one that waits");
	return 0;
}

static int64_t count_events(const struct nsx_table *ops)
{
	int64_t n = 0;

	for (size_t i = 0; i < ops->nrows; i++)
		n += nsx_row_at(ops, i)[NCCL_COUNT].u.i;
	return n;
}

static void say_top(struct nsx_section *out, const struct nsx_table *ops)
{
	const struct nsx_cell *top = ops->nrows ? nsx_row_at(ops, 0) : NULL;

	nsx_put(out, "source", top ? top[NCCL_SOURCE] : nsx_null());
	nsx_put(out, "event_count", nsx_int(count_events(ops)));
	if (!top)
		return;
	nsx_headline(out, "Top NCCL op: %s (%.1f ms total, %.1f ms max%s)",
		     top[NCCL_OP].u.s, top[NCCL_TOTAL].u.f, top[NCCL_MAX].u.f,
		     top[NCCL_OVERLAP_PCT].type == NSX_T_NULL ? "" :
		     nsx_say(out, ", overlap %.1f%%", top[NCCL_OVERLAP_PCT].u.f));
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	struct nccl_comm c = {.run = run, .out = out};
	struct nsx_table *tables[ARRAY_LEN(layouts)];
	int rc;

	for (unsigned i = 0; i < ARRAY_LEN(layouts); i++)
		tables[i] = nsx_add_table(out, &layouts[i]);
	rc = run->trace->ops.n ? fill(&c, tables, err) :
				 nccl_fill_host(run, out, tables[L_OPS],
						tables[L_PIDS], err);
	free(c.groups);
	if (rc || out->status != NSX_S_ANSWERED)
		return rc;
	nsx_table_sort(tables[L_OPS], "total_time_ms desc, "
		       "max_duration_ms desc, op_name");
	nsx_table_sort(tables[L_RANKS], "op_name, total_time_ms desc, "
		       "rank_label");
	nsx_table_sort(tables[L_PIDS], "total_nccl_time_ms desc, pid");
	say_top(out, tables[L_OPS]);
	nsx_md_table(out, tables[L_OPS],
		     "op_name,source,total_time_ms,max_duration_ms,count,"
		     "compute_overlap_ms,compute_overlap_pct,straggler", 0);
	return nccl_fill_messages(run, out, tables[L_MESSAGES], err);
}

NSX_DEFINE_PASS(nccl) {
	.id = "nccl",
	.title = "Top NCCL ops",
	.summary = "communication: totals, overlap with compute, late ranks",
	.doc = "Communication kernels (NCCL, RCCL, NVSHMEM, custom all-reduce, "
	       "expert-parallel) by operation. Overlap is the part of the "
	       "summed time during which a kernel that does not communicate, "
	       "or a graph replay, runs on the same device; exposed time is "
	       "the union without compute; it blocks where compute starts "
	       "within 20 us of the end of a communication kernel.\n\n"
	       "Lateness: kernels of one operation on all participants "
	       "(process, device) are one instance when they all overlap and "
	       "end within max(100 us, a fifth of the shortest) of each other; "
	       "sends and receives of two participants need only overlap. The "
	       "last to start is late; the others wait from their start to "
	       "its start; it induces the median wait of the others. A "
	       "persistent straggler is proved by at least 10 instances, a "
	       "one-sided binomial p below 0.01 and induced waiting of at "
	       "least 1 % of the judged window. Evidence are the instances "
	       "inside that window, but for the first, in which the last "
	       "rank comes 20 us or more after the median of the others. "
	       "The cause: from the end of the first to the end of the last "
	       "all ranks take as long, so what the others wait more than "
	       "the late one is what it computes, copies or idles more than "
	       "they do; named is what explains 80 % of it. Message sizes "
	       "are what NCCL's NVTX ranges say of each call, where payloads "
	       "were exported. Peer copies are copies here. What a stream "
	       "waits for by event is not followed.",
	.derived_from = "communication kernels, by name; NCCL's NVTX ranges only "
			"where the trace has no GPU work",
	.limitations = "durations include waiting for late ranks; kernels "
		       "inside CUDA graphs traced as a whole are not seen; "
		       "instances are matched by time, not by communicator",
	.layouts = layouts,
	.nlayouts = ARRAY_LEN(layouts),
	.run = run,
};
