/* nccl.c - communication kernels: totals by operation, process and rank, what
 * of them compute hides, and who comes late.
 *
 * Ops of a device come in order of start, so the union of an operation on it
 * needs only a running end; events are then sorted by (operation, process,
 * device), which makes each participant a slice.
 */
#include <stdlib.h>
#include <string.h>
#include "nsx/stat.h"
#include "nccl.h"

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

enum { RANK_OP, LABEL, RANK_TOTAL, RANK_MAX, SKEW, LAST, WAITED, INDUCED };
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
	{"kept_instances", "that count for the verdict", NSX_T_I64},
	{"kept_induced_ms", "by the late rank in those", NSX_T_F64},
	{"start_skew_ms", "induced in the ones left out", NSX_T_F64},
	{"p_value", "chance of coming last as often", NSX_T_F64},
	{"persistent", "a straggler is proved", NSX_T_BOOL},
	{"cause", "where one explains four fifths of the lateness",
	 NSX_T_STR},
};
enum { L_OPS, L_RANKS, L_PIDS, L_WINDOWS, L_DEVICES, L_MATCHES };
static const struct nsx_layout layouts[] = {
	[L_OPS] = {.key = "ops", .csv = "nccl_ops", NSX_COLS(op_cols)},
	[L_RANKS] = {.key = "rank_rows", .csv = "nccl_rank_skew",
		     NSX_COLS(rank_cols)},
	[L_PIDS] = {.key = "pids", .csv = "nccl_by_pid", NSX_COLS(pid_cols)},
	[L_WINDOWS] = {.key = "windows", NSX_COLS(window_cols),
		       .json_rows = NCCL_MAX_WINDOWS},
	[L_DEVICES] = {.key = "devices", NSX_COLS(device_cols)},
	[L_MATCHES] = {.key = "collectives", NSX_COLS(match_cols)},
};

struct group {
	const char *name;
	nsx_str raw; /* the least full name */
	enum nsx_comm_op op;
	size_t count, nranks, rank_at;
	int64_t total_ns, max_ns, overlap_ns, exposed_ns;
	uint32_t device; /* whose union stands at end_ns */
	int64_t end_ns;
};

struct comm {
	const struct nsx_run *run;
	struct nsx_section *out;
	struct nsx_table *tables[ARRAY_LEN(layouts)];
	struct nccl_event *events;
	struct group *groups;
	struct nccl_rank *ranks;
	size_t n, ngroups, cap_groups, nranks;
	int64_t same_stream_ns;
};

/* Events -----------------------------------------------------------------*/

static int find_group(struct comm *c, uint32_t *slots, size_t op,
		      uint32_t *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = c->run->trace;
	const struct nsx_shape *shape = nsx_op_shape(t, op);
	bool other = shape->op == NSX_COMM_OTHER;
	/* The known operations first, then base names. */
	uint32_t *slot = &slots[other ? NSX_COMM_OTHER + shape->base_name :
					shape->op];
	struct group *g;

	if (!*slot) {
		if (nsx_grow(&c->groups, &c->cap_groups, c->ngroups + 1,
			     sizeof(*c->groups), "communication kinds", err))
			return err->rc;
		c->groups[c->ngroups] = (struct group){
			.name = other ? nsx_text(t, shape->base_name) :
					nsx_comm_op_name(shape->op),
			.raw = t->ops.name[op], .op = shape->op,
			.device = NSX_NONE};
		*slot = (uint32_t)++c->ngroups;
	}
	*ret = *slot - 1;
	g = &c->groups[*ret];
	if (t->ops.name[op] != g->raw &&
	    nsx_str_cmp(t->strings, t->ops.name[op], g->raw) < 0)
		g->raw = t->ops.name[op];
	return 0;
}

static void add_event(struct comm *c, const struct nccl_event *e,
		      const struct nsx_spans *compute, const int64_t *prefix)
{
	struct group *g = &c->groups[e->group];
	int64_t from_ns = e->start_ns;

	c->events[c->n++] = *e;
	g->count += nsx_op_counts(c->run->trace, e->op);
	g->total_ns += e->end_ns - e->start_ns;
	g->max_ns = NSX_MAX(g->max_ns, e->end_ns - e->start_ns);
	g->overlap_ns += nsx_spans_within(compute, prefix, e->start_ns,
					  e->end_ns);
	if (g->device == e->device)
		from_ns = NSX_MAX(from_ns, g->end_ns);
	if (from_ns < e->end_ns)
		g->exposed_ns += e->end_ns - from_ns -
				 nsx_spans_within(compute, prefix, from_ns,
						  e->end_ns);
	g->end_ns = g->device == e->device ? NSX_MAX(g->end_ns, e->end_ns) :
					     e->end_ns;
	g->device = e->device;
}

static int collect_device(struct comm *c, uint32_t device, uint32_t *slots,
			  const uint8_t *computes, struct nsx_err *err)
{
	const struct nsx_trace *t = c->run->trace;
	const struct nsx_device *d = &t->device[device];
	const struct nsx_spans *compute = &c->run->facts->device[device].compute;
	int64_t *prefix;

	if (nsx_spans_prefix(c->run->scratch, compute, &prefix, err))
		return err->rc;
	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++) {
		struct nccl_event e = {t->ops.start_ns[i], t->ops.end_ns[i],
				       (uint32_t)i, 0, 0, device};

		if (t->ops.cls[i] != NSX_C_COMM)
			continue;
		e.process = nsx_op_process(t, i);
		if (find_group(c, slots, i, &e.group, err))
			return err->rc;
		add_event(c, &e, compute, prefix);
		if (computes[t->ops.stream[i]])
			c->same_stream_ns += e.end_ns - e.start_ns;
	}
	nsx_arena_drop(c->run->scratch, prefix);
	return 0;
}

static int cmp_event(const void *a, const void *b)
{
	const struct nccl_event *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

static int collect(struct comm *c, struct nsx_err *err)
{
	const struct nsx_trace *t = c->run->trace;
	struct nsx_arena *a = c->run->scratch;
	size_t n = 0;
	uint32_t *slots = nsx_arena_try_array(
		a, NSX_COMM_OTHER + nsx_strings_bound(t->strings),
		sizeof(*slots), "kernel names", err);
	uint8_t *computes = nsx_arena_try_array(a, t->nstreams, 1, "streams",
						err);

	if (!slots || !computes)
		return err->rc;
	for (size_t i = 0; i < t->ops.n; i++) {
		n += t->ops.cls[i] == NSX_C_COMM;
		if (t->ops.cls[i] == NSX_C_COMPUTE &&
		    t->ops.kind[i] == NSX_OP_KERNEL)
			computes[t->ops.stream[i]] = 1;
	}
	c->events = nsx_arena_try_array(a, n, sizeof(*c->events),
					"communication kernels", err);
	if (!c->events)
		return err->rc;
	for (uint32_t d = 0; d < t->ndevices; d++)
		if (c->run->facts->device[d].comm.n &&
		    collect_device(c, d, slots, computes, err))
			return err->rc;
	if (c->n)
		qsort(c->events, c->n, sizeof(*c->events), cmp_event);
	return 0;
}

/* Ranks ------------------------------------------------------------------*/

static void name_ranks(struct comm *c, const struct group *g)
{
	const struct nsx_trace *t = c->run->trace;
	struct nccl_rank *r = c->ranks + g->rank_at;

	for (size_t i = 0; i < g->nranks; i++) {
		bool several =
			(i && r[i - 1].process == r[i].process) ||
			(i + 1 < g->nranks && r[i + 1].process == r[i].process);
		long long pid = t->process[r[i].process].pid;

		r[i].label = several ?
			nsx_say(c->out, "pid:%lld gpu:%lld", pid,
				(long long)t->device[r[i].device].device_id) :
			nsx_say(c->out, "pid:%lld", pid);
	}
}

static int make_ranks(struct comm *c, struct nsx_err *err)
{
	struct nccl_rank *r = NULL;
	uint32_t group = NSX_NONE;

	c->ranks = nsx_arena_try_array(c->run->scratch, c->n, sizeof(*c->ranks),
				       "ranks", err);
	if (!c->ranks)
		return err->rc;
	for (size_t i = 0; i < c->n; i++) {
		const struct nccl_event *e = &c->events[i];
		int64_t ns = e->end_ns - e->start_ns;

		if (e->group != group)
			c->groups[e->group].rank_at = c->nranks;
		if (e->group != group || e->process != r->process ||
		    e->device != r->device) {
			r = &c->ranks[c->nranks++];
			*r = (struct nccl_rank){.process = e->process,
						.device = e->device, .at = i};
			c->groups[e->group].nranks++;
		}
		group = e->group;
		r->n++;
		r->count += nsx_op_counts(c->run->trace, e->op);
		r->total_ns += ns;
		r->max_ns = NSX_MAX(r->max_ns, ns);
	}
	for (size_t g = 0; g < c->ngroups; g++)
		name_ranks(c, &c->groups[g]);
	return 0;
}

static int fill_ranks(struct comm *c, const struct group *g,
		      const struct nccl_match *m, struct nsx_err *err)
{
	const struct nccl_rank *r = c->ranks + g->rank_at;
	int64_t *totals = nsx_arena_try_array(c->run->scratch, g->nranks,
					      sizeof(*totals), "ranks", err);
	double median;

	if (!totals)
		return err->rc;
	for (size_t i = 0; i < g->nranks; i++)
		totals[i] = r[i].total_ns;
	median = nsx_quantile(totals, g->nranks, 0.5);
	for (size_t i = 0; i < g->nranks; i++) {
		struct nsx_cell *row = nsx_row(c->tables[L_RANKS], err);

		if (!row)
			return err->rc;
		row[RANK_OP] = nsx_string(g->name);
		row[LABEL] = nsx_string(r[i].label);
		row[RANK_TOTAL] = nsx_ms(r[i].total_ns);
		row[RANK_MAX] = nsx_ms(r[i].max_ns);
		row[SKEW] = nsx_pct((double)r[i].total_ns - median, median);
		if (!m->n)
			continue;
		row[LAST] = nsx_int((int64_t)r[i].times_last);
		row[WAITED] = nsx_ms(r[i].waited_ns);
		row[INDUCED] = nsx_real(r[i].induced_ns / 1e6);
	}
	return 0;
}

static int fill_match(struct comm *c, const struct group *g,
		      const struct nccl_match *m, struct nsx_err *err)
{
	const struct nccl_rank *r = c->ranks + g->rank_at;
	struct nsx_cell *row = nsx_row(c->tables[L_MATCHES], err);
	unsigned i = 0;

	if (!row)
		return err->rc;
	row[i++] = nsx_string(g->name);
	row[i++] = nsx_int((int64_t)m->nranks);
	row[i++] = nsx_int((int64_t)m->n);
	if (m->late != NSX_NONE) {
		row[i] = nsx_string(r[m->late].label);
		row[i + 1] = nsx_int((int64_t)r[m->late].times_last);
		row[i + 2] = nsx_real(r[m->late].induced_ns / 1e6);
		row[i + 9] = nsx_real(r[m->late].kept_induced_ns / 1e6);
	}
	i += 3;
	if (m->waiting != NSX_NONE) {
		row[i] = nsx_string(r[m->waiting].label);
		row[i + 1] = nsx_ms(r[m->waiting].waited_ns);
	}
	i += 2;
	row[i++] = nsx_ms(m->transfer_ns);
	row[i++] = nsx_ms(m->min_ns);
	row[i++] = nsx_us(m->end_spread_ns);
	row[i++] = nsx_int((int64_t)m->nkept);
	i++;
	row[i++] = nsx_real(m->start_skew_ns / 1e6);
	row[i++] = nsx_real(m->p_value);
	row[i++] = nsx_bool(m->proved);
	row[i] = nsx_string(m->cause);
	return 0;
}

/* Operations -------------------------------------------------------------*/

static int cmp_device(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* "0,1": the ordinals on which a group ran. */
static int list_devices(struct comm *c, const struct group *g,
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

static int fill_op(struct comm *c, const struct group *g,
		   const struct nccl_match *m, struct nsx_err *err)
{
	const struct nccl_rank *r = c->ranks + g->rank_at, *late = NULL;
	struct nsx_cell *row = nsx_row(c->tables[L_OPS], err);
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

static int fill_pids(struct comm *c, struct nsx_err *err)
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
		const struct group *x = &c->groups[g];
		int64_t sum_ns = 0;

		for (size_t i = 0; i < x->nranks; i++) {
			const struct nccl_rank *r = &c->ranks[x->rank_at + i];
			struct by_pid *p = &v[r->process];

			if (!i || r[-1].process != r->process)
				sum_ns = 0;
			sum_ns += r->total_ns;
			p->total_ns += r->total_ns;
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
		row = nsx_row(c->tables[L_PIDS], err);
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

static void say_match(struct comm *c, const struct group *g,
		      const struct nccl_match *m)
{
	const struct nccl_rank *r = c->ranks + g->rank_at, *late;
	const char *name = nsx_md_name(c->out, g->name);

	if (g->nranks == 1) {
		nsx_note(c->out, "%s has one participant: nobody can be late, "
			 "the column straggler names the only rank", name);
		return;
	}
	if (!m->n) {
		nsx_note(c->out, "%s: no instance could be matched among its "
			 "%zu participants, so who comes late is not known",
			 name, g->nranks);
		return;
	}
	if (m->nranks < g->nranks)
		nsx_note(c->out, "%s: %zu of %zu participants have too few "
			 "kernels to take part and are left out of the matching",
			 name, g->nranks - m->nranks, g->nranks);
	if (m->late == NSX_NONE) {
		nsx_md_bullet(c->out, "%s: %zu matched instances of %zu ranks, "
			      "all arrive together.", name, m->n, m->nranks);
		return;
	}
	late = &r[m->late];
	nsx_md_bullet(c->out, "%s: %zu matched instances of %zu ranks; %s (GPU "
		      "%lld) comes last in %zu and induces %.3f ms of waiting; "
		      "%s waits most, %.3f ms. Transfer after the last arrival: "
		      "%.3f ms.", name, m->n, m->nranks, late->label,
		      (long long)c->run->trace->device[late->device].device_id,
		      late->times_last, late->induced_ns / 1e6,
		      r[m->waiting].label,
		      (double)r[m->waiting].waited_ns / 1e6,
		      (double)m->transfer_ns / 1e6);
	if (m->proved)
		nsx_md_bullet(c->out, "**%s is a persistent straggler in %s** "
			      "(last in %zu of %zu instances, p = %.2g): %s.",
			      late->label, name, late->kept_last, m->nkept,
			      m->p_value, m->cause ? m->cause :
			      "no single cause explains it");
	else if (m->nkept < NCCL_LEAST_INSTANCES)
		nsx_note(c->out, "%s: %zu instances without start skew are too "
			 "few to tell a straggler from chance", name,
			 m->nkept);
	else
		nsx_cleared(c->out, "No persistent straggler in %s: %s comes last "
			    "in %zu of %zu instances (p = %.2g) and induces %.3f "
			    "ms of waiting.", name, late->label,
			    late->kept_last, m->nkept, m->p_value,
			    late->kept_induced_ns / 1e6);
}

static int cmp_group(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int fill_groups(struct comm *c, struct nccl_costs *costs,
		       struct nsx_err *err)
{
	if (c->ngroups)
		qsort(c->groups, c->ngroups, sizeof(*c->groups), cmp_group);
	for (size_t i = 0; i < c->ngroups; i++) {
		const struct group *g = &c->groups[i];
		struct nccl_rank *r = c->ranks + g->rank_at;
		struct nccl_match m;

		if (nccl_match(c->run, c->events, r, g->nranks,
			       g->op == NSX_COMM_SENDRECV, &m, err))
			return err->rc;
		for (size_t k = 0; k < g->nranks; k++)
			costs->v[r[k].device].waited_ns += r[k].waited_ns;
		if (m.proved)
			nccl_find_cause(c->run, c->events, r, &m);
		if (fill_op(c, g, &m, err) || fill_ranks(c, g, &m, err) ||
		    (m.n && fill_match(c, g, &m, err)))
			return err->rc;
		if (i < MAX_TOLD)
			say_match(c, g, &m);
		if (m.proved && nccl_add_straggler(costs, g->name, c->events, r,
						   &m, err))
			return err->rc;
	}
	return 0;
}

static int fill(struct comm *c, struct nsx_err *err)
{
	struct nccl_costs costs = {.run = c->run, .out = c->out};

	if (collect(c, err) || make_ranks(c, err))
		return err->rc;
	if (!c->n) {
		nsx_note(c->out, "no communication kernel ran%s",
			 c->run->trace->nreplays ? "; what graphs that were "
			 "traced as a whole hold is not known" : "");
		return 0;
	}
	if (nccl_fill_costs(&costs, c->tables[L_DEVICES], c->tables[L_WINDOWS],
			    err) ||
	    fill_groups(c, &costs, err) || fill_pids(c, err) ||
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
	struct comm c = {.run = run, .out = out};
	int rc;

	for (unsigned i = 0; i < ARRAY_LEN(layouts); i++)
		c.tables[i] = nsx_add_table(out, &layouts[i]);
	rc = run->trace->ops.n ? fill(&c, err) :
				 nccl_fill_host(run, out, c.tables[L_OPS],
						c.tables[L_PIDS], err);
	free(c.groups);
	if (rc)
		return rc;
	nsx_table_sort(c.tables[L_OPS], "total_time_ms desc, "
		       "max_duration_ms desc, op_name");
	nsx_table_sort(c.tables[L_RANKS], "op_name, total_time_ms desc, "
		       "rank_label");
	nsx_table_sort(c.tables[L_PIDS], "total_nccl_time_ms desc, pid");
	say_top(out, c.tables[L_OPS]);
	nsx_md_table(out, c.tables[L_OPS],
		     "op_name,source,total_time_ms,max_duration_ms,count,"
		     "compute_overlap_ms,compute_overlap_pct,straggler", 0);
	return 0;
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
	       "least 1 % of the window; the first instance and those with a "
	       "wait of half the window count as start skew, not for the "
	       "verdict. The cause is named only where one explains 80 % of "
	       "the lateness. Peer copies are copies here. What a stream "
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
