/* critical_path.c - splits the window of the GPU that sets the pace into rows that do not
 * overlap and sum up to it.
 *
 * Compute has priority over communication, and communication over copies: what runs side by
 * side counts for the first, behind which the others hide. Within a class, time belongs
 * to the operation that began first, so a later one gets only the time that it runs longer.
 * The rest is idle, charged to its causes.
 */
#include "passes/pass.h"
#include "facts/replay/replay.h"

#define COLUMNS(X)                                                                                 \
	X(KIND, "kind", STR, "kernel, nccl, memcpy, gpu_idle, barrier or launch")                  \
	X(NAME, "name", STR, "kernel, collective, direction, call or cause")                       \
	X(TOTAL, "total_ms", F64, "time on the path; rows add up to the window")                   \
	X(COUNT, "count", I64, "operations that began in the window; idle pieces")                 \
	X(DETAILS, "details", STR, "share of the window, and what it means")
NSX_COLUMNS(cols, COLUMNS);
#define WALK_COLUMNS(X)                                                                            \
	X(WALK_CLASS, "class", STR, "compute, comm, copy; launch_to_start, dispatch (from one "    \
				    "operation to the next); call (that does not wait), wake "     \
				    "(from the event that a call waited for), queue_full, host "   \
				    "(between calls), outside (waiting for something else), "      \
				    "unexplained")                                                 \
	X(WALK_TOTAL_MS, "total_ms", F64, "time on the path")                                      \
	X(WALK_PCT_OF_PATH, "pct_of_path", F64, "share of the path")
NSX_COLUMNS(walk_cols, WALK_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "suspects", .csv = "critical_path", NSX_COLS(cols),
	 .is_judged = true},
	{.key = "walk", NSX_COLS(walk_cols)},
};

/* Kinds of rows; the kind is the first half of a row's group key. */
enum tag { T_KERNEL, T_REPLAY, T_COMM, T_COMM_OTHER, T_COPY, T_MEMSET, T_REST,
	   T_CAUSE /* T_CAUSE + cause: idle time */ };

struct row {
	int64_t ns, count;
};
struct path {
	struct nsx_groups groups;
	struct row *rows;
	const struct nsx_run *run;
	struct nsx_section *out;
	struct nsx_window w;
	uint32_t device;
	int64_t added_ns;
};

static int add_path_time(struct path *p, uint64_t tag, uint64_t id, int64_t ns,
			 int64_t count, struct nsx_err *err)
{
	struct row *row = nsx_group_value(&p->groups, &p->rows, tag, id, "path rows", err);

	if (!row)
		return err->rc;
	nsx_add_to(&row->ns, ns);
	row->count += count;
	nsx_add_to(&p->added_ns, ns);
	return 0;
}

/* Work ------------------------------------------------------------------------*/

static uint64_t critical_path_key_of(const struct nsx_trace *t, uint32_t op, uint64_t *ret_id)
{
	const struct nsx_shape *shape;
	uint8_t comm;

	switch (t->ops.kind[op]) {
	case NSX_OP_GRAPH:
		*ret_id = t->replay[nsx_op_detail(&t->ops, op)].graph_id;
		return T_REPLAY;
	case NSX_OP_MEMSET:
		*ret_id = 0;
		return T_MEMSET;
	case NSX_OP_MEMCPY:
		*ret_id = nsx_op_copy(t, op)->copy_kind;
		return T_COPY;
	default:
		break;
	}
	if (t->ops.cls[op] != NSX_C_COMM) {
		*ret_id = nsx_op_name(t, op);
		return T_KERNEL;
	}
	shape = nsx_op_shape(t, op);
	comm = nsx_shape_launch(t, shape)->op;
	*ret_id = comm == NSX_COMM_OTHER ? shape->base_name : comm;
	return comm == NSX_COMM_OTHER ? T_COMM_OTHER : T_COMM;
}

struct level { /* state of one class, in order of priority */
	struct nsx_spans above; /* union of the classes with higher priority */
	size_t cursor;		/* index in `above`                          */
	int64_t end_ns;		/* end of the class's operations so far      */
};

/* The part of op not covered by earlier operations of its class or by the classes above it. */
static int64_t uncovered_ns(const struct nsx_trace *t, uint32_t op,
			    const struct nsx_window *w, struct level *l)
{
	int64_t start_ns = NSX_MAX(nsx_op_start(&t->ops, op), l->end_ns);
	int64_t end_ns = NSX_MIN(nsx_op_end(&t->ops, op), w->end_ns);

	if (start_ns >= end_ns)
		return 0;
	l->end_ns = end_ns;
	return end_ns - start_ns - nsx_spans_covered(&l->above, &l->cursor, start_ns, end_ns);
}

static int add_op_time(struct path *p, uint32_t op, struct level *l, struct nsx_err *err)
{
	const struct nsx_trace *t = p->run->trace;
	int64_t ns = uncovered_ns(t, op, &p->w, l);
	int64_t start_ns = nsx_op_start(&t->ops, op);
	bool begins = start_ns >= p->w.start_ns && start_ns < p->w.end_ns;
	uint64_t id, tag;

	if (!ns && !begins)
		return 0;
	tag = critical_path_key_of(t, op, &id);
	return add_path_time(p, tag, id, ns, begins && nsx_op_counts(t, op), err);
}

static int add_work_times(struct path *p, struct nsx_err *err)
{
	const struct nsx_trace *t = p->run->trace;
	const struct nsx_device *d = &t->device[p->device];
	const struct nsx_device_facts *f = &p->run->facts->device[p->device];
	struct level level[] = {
		[NSX_C_COMPUTE] = {.end_ns = p->w.start_ns},
		[NSX_C_COMM] = {.above = f->compute, .end_ns = p->w.start_ns},
		[NSX_C_COPY] = {.end_ns = p->w.start_ns},
	};

	if (nsx_kernel_spans(f, p->run->scratch, &level[NSX_C_COPY].above, err))
		return err->rc;
	for (uint32_t i = d->ops_at; i < d->ops_at + d->nops; i++)
		if (add_op_time(p, i, &level[t->ops.cls[i]], err))
			return err->rc;
	nsx_arena_drop(p->run->scratch, level[NSX_C_COPY].above.v);
	return 0;
}

/* Idle ------------------------------------------------------------------------*/

static int add_idle_times(struct path *p, struct nsx_err *err)
{
	const struct nsx_idle *idle = p->run->facts->idle ? &p->run->facts->idle[p->device] : NULL;
	int64_t length = p->w.end_ns - p->w.start_ns;

	for (size_t i = 0; idle && i < idle->n; i++) {
		struct nsx_idle_piece x = nsx_idle_at(idle, i);
		int64_t a = NSX_MAX(x.start_ns, p->w.start_ns);
		int64_t b = NSX_MIN(x.end_ns, p->w.end_ns);

		if (a < b && add_path_time(p, T_CAUSE + x.cause, x.detail, b - a, 1, err))
			return err->rc;
	}
	if (p->added_ns != length)
		return add_path_time(p, T_REST, 0, length - p->added_ns, 0, err);
	return 0;
}

/* Rows ------------------------------------------------------------------------*/

/* For each cause: kind and meaning of the row. */
static const char *const causes[NSX_NCAUSES][2] = {
	[NSX_CAUSE_SYNC] = {"barrier", "the host waits for the GPU and has no work queued after "
				       "it"},
	[NSX_CAUSE_BLOCKING_COPY] = {"barrier", "a copy blocks the host"},
	[NSX_CAUSE_IMPLICIT_SYNC] = {"barrier", "a call that synchronises implicitly"},
	[NSX_CAUSE_ALLOC] = {"gpu_idle", "the host allocates"},
	[NSX_CAUSE_MODULE] = {"gpu_idle", "the host loads or compiles code"},
	[NSX_CAUSE_OSRT] = {"gpu_idle", "the host waits for the system"},
	[NSX_CAUSE_OTHER_API] = {"gpu_idle", "another CUDA call"},
	[NSX_CAUSE_HOST_CODE] = {"gpu_idle", "the host computes"},
	[NSX_CAUSE_LAUNCH_CALL] = {"launch", "the launch call itself"},
	[NSX_CAUSE_LAUNCH_TO_START] = {"launch", "from the call's return to "
						 "the start"},
	[NSX_CAUSE_STREAM_WAIT] = {"gpu_idle", "a stream waits for another"},
	[NSX_CAUSE_DISPATCH] = {"gpu_idle", "between queued operations"},
	[NSX_CAUSE_DEPENDENCY] = {"gpu_idle", "queued and delayed on the device"},
	[NSX_CAUSE_MIGRATION] = {"gpu_idle", "before pages of unified memory migrate"},
	[NSX_CAUSE_UNKNOWN] = {"gpu_idle", "no API row shows what was late"},
	[NSX_CAUSE_EDGE] = {"gpu_idle", "before the first or after the last "
					"operation"},
};

struct suspect { /* data of a row before it is added */
	const char *name; /* NULL: a kernel, whose name is looked up only if shown */
	uint32_t row;
};

static const char *critical_path_kind_of(uint64_t tag)
{
	static const char *const kinds[] = {"kernel", "kernel", "nccl", "nccl",
					    "memcpy", "memcpy", "gpu_idle"};

	return tag >= T_CAUSE ? causes[tag - T_CAUSE][0] : kinds[tag];
}

static const char *name_idle_cause(struct path *p, unsigned cause, nsx_str detail)
{
	const char *own = detail ? nsx_fact_text(p->run->facts, detail) : NULL;

	return !own ? nsx_cause_names[cause] :
	       !strcmp(causes[cause][0], "barrier") ? own :
	       nsx_say(p->out, "%s: %s", nsx_cause_names[cause], own);
}

static const char *name_path_row(struct path *p, struct nsx_group_key key)
{
	switch (key.a) {
	case T_KERNEL:
		return NULL;
	case T_REPLAY:
		return nsx_say(p->out, "CUDA graph %llu", (unsigned long long)key.b);
	case T_COMM:
		return nsx_comm_op_name((enum nsx_comm_op)key.b);
	case T_COMM_OTHER:
		return nsx_text(p->run->trace, (nsx_str)key.b);
	case T_COPY:
		return nsx_copy_direction((unsigned)key.b);
	case T_MEMSET:
		return "memset";
	case T_REST:
		return "idle";
	default:
		return name_idle_cause(p, (unsigned)(key.a - T_CAUSE), (nsx_str)key.b);
	}
}

static const char *critical_path_meaning_of(uint64_t tag)
{
	static const char *const meanings[] = {
		[T_KERNEL] = "", [T_REPLAY] = "replayed as a whole",
		[T_COMM] = "no compute beside it", [T_COMM_OTHER] = "",
		[T_COPY] = "no kernel beside it",
		[T_MEMSET] = "no kernel beside it", [T_REST] = ""};

	return tag >= T_CAUSE ? causes[tag - T_CAUSE][1] : meanings[tag];
}

static nsx_str critical_path_kernel_of(const struct path *p, const struct suspect *s)
{
	return (nsx_str)nsx_group_key(&p->groups, s->row).b;
}

static const char *critical_path_name_of(const struct path *p, const struct suspect *s)
{
	return s->name ?: nsx_text(p->run->trace, critical_path_kernel_of(p, s));
}

static int critical_path_cmp_names(const struct path *p, const struct suspect *x,
				   const struct suspect *y)
{
	const uint32_t *rank = p->run->trace->rank;

	return x->name || y->name ?
	       strcmp(critical_path_name_of(p, x), critical_path_name_of(p, y)) :
	       NSX_CMP(rank[critical_path_kernel_of(p, x)], rank[critical_path_kernel_of(p, y)]);
}

static double total_ms(const struct path *p, const struct suspect *s)
{
	return (double)p->rows[s->row].ns / 1e6;
}

NSX_KEY_IN(suspect_sort_key, struct suspect, struct path, -nsx_real_key(total_ms(c, x)));

NSX_ORDER_IN(cmp_suspects, struct suspect, struct path, DOWN(total_ms(c, x)),
	     TEXT(critical_path_kind_of(nsx_group_key(&c->groups, x->row).a)),
	     BY(critical_path_cmp_names(c, x, y)), DOWN(c->rows[x->row].count));

static int fill_suspects(struct path *p, struct nsx_table *table, struct nsx_err *err)
{
	double length = (double)(p->w.end_ns - p->w.start_ns);
	struct suspect *v;
	size_t n = 0;

	if (!nsx_new_array(v, p->run->scratch, p->groups.n, "path rows", err))
		return err->rc;
	for (uint32_t i = 0; i < p->groups.n; i++)
		if (p->rows[i].ns)
			v[n++] = (struct suspect){
				name_path_row(p, nsx_group_key(&p->groups, i)), i};
	nsx_table_expect(table, n, p->run->opts->held_rows);
	nsx_sort_by_key_r(v, n, table->max_rows ?: n, sizeof(*v), suspect_sort_key, cmp_suspects,
			  p);
	for (size_t i = 0; i < n; i++) {
		const struct row *r = &p->rows[v[i].row];
		uint64_t tag = nsx_group_key(&p->groups, v[i].row).a;
		struct nsx_cell *cells = nsx_add_row(table);

		if (!nsx_table_holds(table))
			continue; /* rows beyond the limit have no sums */
		cells[KIND] = nsx_string(critical_path_kind_of(tag));
		cells[NAME] = v[i].name ? nsx_string(v[i].name) :
			nsx_name_cell(p->run->trace, table, critical_path_kernel_of(p, &v[i]));
		cells[TOTAL] = nsx_real(total_ms(p, &v[i]));
		cells[COUNT] = nsx_int(r->count);
		cells[DETAILS] = nsx_string(nsx_say(p->out, "%.2f %% of the window%s%s",
			100 * (double)r->ns / length,
			*critical_path_meaning_of(tag) ? ": " : "", critical_path_meaning_of(tag)));
	}
	return 0;
}

static void critical_path_say(struct path *p)
{
	const struct nsx_facts *f = p->run->facts;

	nsx_put(p->out, "device_id", nsx_device_cell(p->run->trace, p->device));
	nsx_put(p->out, "window_ns", nsx_int(p->w.end_ns - p->w.start_ns));
	nsx_put(p->out, "window_method", nsx_string(nsx_steady_methods[f->steady.method]));
	if (p->run->trace->ndevices > 1)
		nsx_note(p->out, "the trace has several GPUs; the one with the least idle time and "
			 "exposed communication is shown, the others are in the section "
			 "\"Where the time went\"");
}

/* The walk --------------------------------------------------------------------*/

static const char *const class_names[NSX_NPATHS] = {
	[NSX_PATH_COMPUTE] = "compute", [NSX_PATH_COMM] = "comm",
	[NSX_PATH_COPY] = "copy", [NSX_PATH_LAUNCH] = "launch_to_start",
	[NSX_PATH_DISPATCH] = "dispatch", [NSX_PATH_CALL] = "call",
	[NSX_PATH_WAKE] = "wake", [NSX_PATH_QUEUE] = "queue_full",
	[NSX_PATH_HOST] = "host", [NSX_PATH_OUTSIDE] = "outside",
	[NSX_PATH_UNEXPLAINED] = "unexplained",
};

/* Walks back from the last work of the judged window, along the edges of the replay's model
 * (facts/replay/replay.h): each step leads to the step for which it waited.
 */
static void path_walk(const struct nsx_run *run, struct nsx_section *out, struct nsx_table *table)
{
	const struct nsx_closure *c = nsx_model_closure(run->facts->model);
	int64_t ns[NSX_NPATHS], all_ns = 0;

	if (c->cls == NSX_CONF_NONE) {
		nsx_note(out, "the critical path was not walked: %s", c->reason);
		return;
	}
	nsx_model_path(run->facts->model, c->window, ns);
	for (unsigned k = 0; k < NSX_NPATHS; k++)
		nsx_add_to(&all_ns, ns[k]);
	for (unsigned k = 0; k < NSX_NPATHS; k++) {
		struct nsx_cell *row;

		if (!ns[k])
			continue;
		row = nsx_add_row(table);
		row[WALK_CLASS] = nsx_string(class_names[k]);
		row[WALK_TOTAL_MS] = nsx_ms(ns[k]);
		row[WALK_PCT_OF_PATH] = nsx_part_pct(ns[k], all_ns);
	}
	nsx_table_sort(table, NSX_DESC(WALK_TOTAL_MS), WALK_CLASS);
}

static int critical_path_run(const struct nsx_run *run, struct nsx_section *out,
			     struct nsx_err *err)
{
	struct nsx_table *table = nsx_add_table(out, &layouts[0]);
	struct nsx_table *walk = nsx_add_table(out, &layouts[1]);
	NSX_AT_EXIT(nsx_sums_done) struct path p = {.run = run, .out = out,
		.w = nsx_judged(run->facts), .device = run->facts->limiting};

	if (p.device == NSX_NONE)
		return nsx_cannot(out, "the trace has no GPU work");
	if (p.w.start_ns == p.w.end_ns)
		return nsx_cannot(out, "GPU work takes no time in this trace");
	if (add_work_times(&p, err) || add_idle_times(&p, err) || fill_suspects(&p, table, err))
		return err->rc;
	critical_path_say(&p);
	path_walk(run, out, walk);
	return 0;
}

NSX_DEFINE_PASS(critical_path,
	.title = "Critical path",
	.summary = "where the time of the GPU that sets the pace went, in rows that add up to the "
		   "window",
	.doc = "The steady window of the limiting GPU (the one with the least idle time and "
	       "exposed communication, which the others wait for), partitioned: compute kernels "
	       "and graph replays, then communication without compute beside it, then copies and "
	       "memsets with neither beside them, then idle pieces by cause. Within a class an "
	       "instant belongs to the operation that began first. kind launch: the launch call, "
	       "and the time from its return to the start; barrier: waits, blocking copies and "
	       "calls that synchronise implicitly; gpu_idle: all other causes. The rows add up "
	       "to the window to the nanosecond. walk: from the last work of the replayed window "
	       "(see what_if) back to what delayed it. That is the operation before it on its "
	       "stream, the producer of a stream wait, or the launching call. From a call the "
	       "walk goes along the host thread; a call that waits leads to the operation for "
	       "which it waited that ended last. There is no walk if the replay abstains.",
	.derived_from = "kernels, copies and idle pieces of the GPU that sets "
			"the pace, each instant counted once",
	.limitations = "a row shows where time is spent, not how much of it can be saved: that is "
		       "priced in Findings in full",
	.caveat = "unlike in nsys-llm-explain, whose rows are overlapping totals, rows are parts "
		   "of one GPU's time",
	.any_of = {NSX_GPU_WORK},
	.walks = true,
	NSX_LAYOUTS(layouts));
