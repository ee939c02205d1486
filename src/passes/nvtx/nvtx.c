/* nvtx.c - NVTX ranges by name: host time, and GPU work launched in them.
 *
 * An operation counts once for each name open at its launch. These names are found by walking
 * outwards from the innermost range, skipping ranges nested in one of the same name. A walk stops
 * after MAX_PATH ranges; the ranges outside of these have no GPU figures.
 */
#include "trace/nvtx_walk.h"
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(NAME, "range_name", STR,                                                                 \
	  "name without the parts that differ between instances (op_id, seq, sizes, "              \
	  "input_op_ids)")                                                                         \
	X(COUNT, "count", I64, "ranges that began in the window", .adds = true)                    \
	X(TOTAL, "total_time_ms", F64,                                                             \
	  "host time in ranges of this name; for ranges inside one of the same name only the "     \
	  "outer one counts", .adds = true)                                                        \
	X(AVG, "avg_duration_us", F64, "mean length of a range, inner ones included")              \
	X(EXCLUSIVE, "exclusive_ms", F64, "host time outside ranges nested in it", .adds = true)   \
	X(GPU_IN, "gpu_inclusive_ms", F64,                                                         \
	  "sum of GPU operations launched inside, including nested ranges")                        \
	X(GPU_EX, "gpu_exclusive_ms", F64,                                                         \
	  "part of gpu_inclusive_ms for which the range is the innermost", .adds = true)           \
	X(GPU_BUSY, "gpu_busy_ms", F64,                                                            \
	  "time in which a device ran at least one of these operations, summed over devices")      \
	X(RAW, "raw_name_example", STR, "first of the recorded names in text order")
NSX_COLUMNS(cols, COLUMNS);
#define INSTANCE_COLUMNS(X)                                                                        \
	X(I_NAME, "range_name", STR, "name")                                                       \
	X(I_START, "start_ns", I64, "begins")                                                      \
	X(I_END, "end_ns", I64, "end; for a range never closed the end of the trace")              \
	X(I_DUR, "dur_ms", F64, "length inside the window")                                        \
	X(I_PID, "pid", I64, "process")                                                            \
	X(I_TID, "tid", I64, "thread")
NSX_COLUMNS(instance_cols, INSTANCE_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "ranges", .csv = "nvtx_ranges", NSX_COLS(cols)},
	{.key = "instances", NSX_COLS(instance_cols)},
};

enum { MAX_PATH = 256, MAX_INSTANCES = 30 };

struct group { /* host time of a group of ranges */
	struct nsx_nvtx_sum sum; /* first member: the sort key               */
	int64_t all_ns, own_ns;
};
struct gpu { /* sums of a row that is shown */
	int64_t in_ns, busy_ns, busy_end_ns;
	uint32_t op, device;	/* last operation that was counted; each counts once */
	/* figures are incomplete, because a walk ended after MAX_PATH ranges before it reached this
	 * name
	 */
	bool cut;
};

struct work {
	const struct nsx_trace *t;
	const struct nsx_nvtx_facts *f;
	struct nsx_nvtx_groups g;
	struct group *v; /* one for each group */
	uint32_t *order; /* groups in the order of rows                      */
	uint32_t nrows, nheld;
	uint32_t *row; /* one for each range, after sorting; NSX_NONE: no row */
	int64_t *ex_ns; /* for each row: GPU work that has a range of the row as innermost one */
	struct gpu *gpu; /* one for each kept row */
	bool *cut; /* for each range: a walk ended here after MAX_PATH ranges */
	bool any_cut;
};

/* Adds host time. Parents come before their children. */
static void nvtx_add_ranges(struct work *w)
{
	for (uint32_t i = 0; i < w->t->nvtx.n; i++) {
		uint32_t parent = nsx_range_parent(w->f, i);
		int64_t ns = nsx_range_inside(w->t, i);
		bool inside = nsx_starts_inside(w->t, nsx_range_start(&w->t->nvtx, i));
		struct group *g;

		if (w->g.of[i] == NSX_NONE)
			continue;
		g = &w->v[w->g.of[i]];
		g->sum.count += inside;
		nsx_add_to(&g->all_ns, ns);
		nsx_add_to(&g->own_ns, ns);
		if (!w->f->nested[i])
			nsx_add_to(&g->sum.ns, ns);
		if (parent != NSX_NONE)
			nsx_add_to(&w->v[w->g.of[parent]].own_ns, -ns);
		g->sum.attributes |= w->t->nvtx.kind[i] == NSX_NVTX_STACK && (inside || ns);
	}
}

/* GPU work ------------------------------------------------------------------*/

static void add_to_row(struct gpu *g, uint32_t device, int64_t start, int64_t end, bool is_peer)
{
	if (g->device != device + 1) {
		g->device = device + 1;
		g->busy_end_ns = INT64_MIN;
	}
	if (!is_peer)
		nsx_add_to(&g->in_ns, end - start);
	if (end > g->busy_end_ns) {
		nsx_add_to(&g->busy_ns, end - NSX_MAX(start, g->busy_end_ns));
		g->busy_end_ns = end;
	}
}

/* Adds one operation of a device to the names that were open at its launch. Operations ascend by
 * start.
 */
static void add_op_to_open_ranges(struct work *w, uint32_t op, uint32_t device)
{
	const struct nsx_ops *o = &w->t->ops;
	const struct nsx_nvtx_facts *f = w->f;
	bool is_peer = o->flags[op] & NSX_OP_PEER;
	uint32_t r = nsx_op_range(f, op);
	int64_t at;

	if (r == NSX_NONE)
		return;
	if (!is_peer && w->row[r] != NSX_NONE)
		nsx_add_to(&w->ex_ns[w->row[r]], nsx_op_ns(o, op));
	at = nsx_call_start(&w->t->calls, nsx_op_call(o, op));
	if (f->nested[r])
		r = nsx_range_around(f, r);
	for (unsigned n = 0; r != NSX_NONE; n++, r = nsx_range_around(f, r)) {
		struct gpu *g;

		if (n == MAX_PATH) {
			w->cut[r] = w->any_cut = true;
			break;
		}
		if (w->row[r] >= w->nheld)
			continue;
		g = &w->gpu[w->row[r]];
		if (g->op == op + 1 || !nsx_nvtx_is_open(&w->t->nvtx, r, at))
			continue;
		g->op = op + 1;
		add_to_row(g, device, nsx_op_start(o, op), nsx_op_end(o, op), is_peer);
	}
}

static void nvtx_add_ops(struct work *w)
{
	for (uint32_t d = 0; d < w->t->ndevices; d++) {
		uint32_t at = w->t->device[d].ops_at;

		for (uint32_t i = at; i < at + w->t->device[d].nops; i++)
			add_op_to_open_ranges(w, i, d);
	}
	for (uint32_t i = w->any_cut ? (uint32_t)w->t->nvtx.n : 0; i-- > 0;) {
		uint32_t out = nsx_range_around(w->f, i);

		if (!w->cut[i])
			continue;
		if (w->row[i] < w->nheld)
			w->gpu[w->row[i]].cut = true;
		if (out != NSX_NONE)
			w->cut[out] = true;
	}
}

/* Sorts rows by time, count, name, as far as the table keeps them. */
static int sort_range_rows(struct work *w, const struct nsx_run *run,
			   struct nsx_table *table, struct nsx_err *err)
{
	const struct nsx_nvtx_order by = {.t = w->t, .g = &w->g, .sums = w->v,
					  .size = sizeof(*w->v)};
	struct nsx_arena *a = run->scratch;
	uint32_t *row;

	if (nsx_new_arrays(a, w->g.n, "range names", err, w->order, row))
		return err->rc;
	for (uint32_t k = 0; k < w->g.n; k++) {
		const struct group *g = &w->v[k];

		row[k] = NSX_NONE;
		if (g->sum.count || g->all_ns) /* ranges outside the window get no row */
			w->order[w->nrows++] = k;
	}
	nsx_table_expect(table, w->nrows, run->opts->held_rows);
	w->nheld = (uint32_t)(table->max_rows ?: w->nrows);
	nsx_nvtx_sort(w->order, w->nrows, w->nheld, &by);
	for (uint32_t i = 0; i < w->nrows; i++)
		row[w->order[i]] = i;
	w->row = w->g.of;
	for (size_t i = 0; i < w->t->nvtx.n; i++)
		w->row[i] = w->g.of[i] == NSX_NONE ? NSX_NONE : row[w->g.of[i]];
	nsx_arena_drop(a, row);
	return 0;
}

static int sum_gpu_work(struct work *w, struct nsx_arena *a, struct nsx_err *err)
{
	if (nsx_new_arrays(a, w->nrows, "range names", err, w->ex_ns) ||
	    nsx_new_arrays(a, w->nheld, "range names", err, w->gpu) ||
	    nsx_new_arrays(a, w->t->nvtx.n, "range marks", err, w->cut))
		return err->rc;
	nvtx_add_ops(w);
	return 0;
}

/* Tables ------------------------------------------------------------------*/

static void nvtx_fill_range(const struct work *w, uint32_t i, struct nsx_cell *row)
{
	const struct group *g = &w->v[w->order[i]];
	nsx_str name = w->g.name[w->order[i]];
	bool has_gpu = w->gpu && (g->sum.attributes || w->ex_ns[i] ||
				  (i < w->nheld && w->gpu[i].in_ns));

	row[COUNT] = nsx_int(g->sum.count);
	row[TOTAL] = nsx_ms(g->sum.ns);
	row[EXCLUSIVE] = nsx_ms(g->own_ns);
	if (has_gpu)
		row[GPU_EX] = nsx_ms(w->ex_ns[i]);
	if (i >= w->nheld)
		return;
	row[NAME] = nsx_string(nsx_text(w->t, name));
	row[AVG] = nsx_mean_us(g->all_ns, g->sum.count);
	row[RAW] = nsx_string(nsx_raw_name(w->t, name));
	if (!has_gpu || w->gpu[i].cut)
		return;
	row[GPU_IN] = nsx_ms(w->gpu[i].in_ns);
	row[GPU_BUSY] = nsx_ms(w->gpu[i].busy_ns);
}

static int nvtx_fill_ranges(const struct nsx_run *run, struct work *w, bool gpu,
			    struct nsx_table *table, struct nsx_err *err)
{
	if (nsx_nvtx_group(w->t, false, run->scratch, &w->g, err) ||
	    !nsx_new_array(w->v, run->scratch, w->g.n, "range names", err))
		return err->rc;
	nvtx_add_ranges(w);
	if (sort_range_rows(w, run, table, err) || (gpu && sum_gpu_work(w, run->scratch, err)))
		return err->rc;
	for (uint32_t i = 0; i < w->nrows; i++)
		nvtx_fill_range(w, i, nsx_add_row(table));
	return 0;
}

/* Compares ranges, longest first. Equal ones are in order of start, thread, kind, domain, name. */
NSX_ORDER_IN(cmp_instances, uint32_t, struct nsx_trace, DOWN(nsx_range_inside(c, *x)),
	     UP(nsx_range_start(&c->nvtx, *x)), UP(*x));

static void fill_instances(const struct nsx_trace *t, struct nsx_table *table)
{
	uint32_t top[MAX_INSTANCES];
	size_t n = 0;

	for (uint32_t i = 0; i < t->nvtx.n; i++)
		if (t->nvtx.kind[i] != NSX_NVTX_MARK && nsx_range_inside(t, i))
			nsx_keep_first(top, &n, MAX_INSTANCES, &i, sizeof(i), cmp_instances,
				       (void *)t);
	for (size_t k = 0; k < n; k++) {
		const struct nsx_thread *th = &t->thread[nsx_nvtx_thread(t, top[k])];
		struct nsx_cell *row = nsx_add_row(table);

		row[I_NAME] = nsx_string(nsx_text(t, t->nvtx.name[top[k]]));
		row[I_START] = nsx_int(nsx_range_start(&t->nvtx, top[k]));
		row[I_END] = nsx_int(nsx_range_end(&t->nvtx, top[k]));
		row[I_DUR] = nsx_ms(nsx_range_inside(t, top[k]));
		row[I_PID] = nsx_pid_cell(t, th->process);
		row[I_TID] = nsx_int(th->tid);
	}
}

/* The reason why there are no GPU figures; NULL: there are figures. */
static const char *no_gpu_reason(const struct nsx_run *run)
{
	if (!run->opts->nvtx_kernel_map)
		return "--no-nvtx-kernel-map was given";
	if (!run->trace->ndevices)
		return "the trace has no GPU work";
	if ((!run->trace->calls.n && !nsx_is_in_part(run->trace)) ||
	    !nsx_has(run->trace->schema, NSX_F_runtime_corr))
		return "the trace has no API calls with correlation ids, which "
		       "tie GPU work to ranges";
	return NULL;
}

/* The range of thread `other` that was open while a thread launched most of its GPU work:
 * " while `backward` was open (39 ms)"; "": none for half of it.
 */
static const char *say_open_meanwhile(const struct work *w, uint32_t thread, uint32_t other,
				      int64_t all_ns, struct nsx_section *out)
{
	const struct nsx_trace *t = w->t;
	const struct nsx_thread *th = &t->thread[thread];
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	int64_t *by_call = nsx_arena_get(a, (th->ncalls + 1) * sizeof(*by_call));
	int64_t *by_row = nsx_arena_get(a, ((size_t)w->nrows + 1) * sizeof(*by_row));
	uint32_t *below = nsx_arena_get(a, (t->nvtx.n + 1) * sizeof(*below)), k = 0;
	struct nsx_nvtx_walk walk;

	for (size_t i = 0; i < t->ops.n; i++) {
		uint32_t call = nsx_op_call(&t->ops, i);

		if (call != NSX_NONE && call >= th->calls_at &&
		    call - th->calls_at < th->ncalls && nsx_op_counts(t, i))
			nsx_add_to(&by_call[call - th->calls_at], nsx_op_ns(&t->ops, i));
	}
	nsx_nvtx_walk_begin(&walk, t, other, true, false, below);
	for (uint32_t i = 0; i < th->ncalls; i++) {
		int64_t at_ns = nsx_call_start(&t->calls, th->calls_at + i);
		uint32_t range = nsx_nvtx_walk_to(&walk, at_ns);

		if (range != NSX_NONE && w->row[range] != NSX_NONE)
			nsx_add_to(&by_row[w->row[range]], by_call[i]);
	}
	for (uint32_t i = 1; i < w->nrows; i++)
		k = by_row[i] > by_row[k] ? i : k;
	return by_row[k] <= all_ns / 2 ? "" :
		nsx_say(out, " while %s was open (%s)",
			nsx_md_name(out, nsx_text(t, w->g.name[w->order[k]])),
			nsx_text_ns(out->arena, (double)by_row[k]));
}

/* Finds the thread of each process that is longest in ranges; NSX_NONE: none is. */
static uint32_t *find_threads_with_ranges(const struct work *w, struct nsx_arena *a)
{
	const struct nsx_trace *t = w->t;
	int64_t *ns;
	uint32_t *ret;

	nsx_few(ns, a, (size_t)t->nthreads + 1);
	nsx_few(ret, a, t->nprocesses);
	for (uint32_t i = 0; i < t->nvtx.n; i++)
		if (nsx_range_parent(w->f, i) == NSX_NONE)
			nsx_add_to(&ns[nsx_nvtx_thread(t, i)], nsx_range_ns(&t->nvtx, i));
	for (uint32_t p = 0; p < t->nprocesses; p++)
		ret[p] = NSX_NONE;
	for (uint32_t i = 0; i < t->nthreads; i++) {
		uint32_t p = t->thread[i].process;

		if (p != NSX_NONE && t->thread[i].nnvtx &&
		    (ret[p] == NSX_NONE || ns[i] > ns[ret[p]]))
			ret[p] = i;
	}
	return ret;
}

/* Describes GPU work that threads launched in no range of theirs while another thread of the process
 * has ranges: PyTorch's autograd threads launch the backward pass.
 */
static void describe_other_threads(const struct work *w, struct nsx_section *out)
{
	const struct nsx_trace *t = w->t;
	const uint32_t *main = find_threads_with_ranges(w, out->arena);
	int64_t *ns, all_ns = 0;
	uint32_t most = 0;

	nsx_few(ns, out->arena, (size_t)t->nthreads + 1);
	for (size_t i = 0; i < t->ops.n; i++) {
		uint32_t call = nsx_op_call(&t->ops, i), h, p;

		if (call == NSX_NONE || !nsx_op_counts(t, i) || nsx_op_range(w->f, i) != NSX_NONE)
			continue;
		h = nsx_call_thread(t, call);
		p = t->thread[h].process;
		if (p == NSX_NONE || main[p] == NSX_NONE || main[p] == h)
			continue;
		nsx_add_to(&ns[h], nsx_op_ns(&t->ops, i));
		nsx_add_to(&all_ns, nsx_op_ns(&t->ops, i));
		if (ns[h] > ns[most])
			most = h;
	}
	if (all_ns)
		nsx_md_text(out, "Other threads launched %s of GPU work in no range of theirs, "
				 "most of it by thread %s%s: `ask TRACE range NAME` shows what "
				 "they launched while a range was open.",
			    nsx_text_ns(out->arena, (double)all_ns), t->thread[most].name ?
			    nsx_md_name(out, nsx_text(t, t->thread[most].name)) :
			    nsx_say(out, "%lld", (long long)t->thread[most].tid),
			    say_open_meanwhile(w, most, main[t->thread[most].process], ns[most],
					       out));
}

static void add_notes(const struct work *w, const char *reason, struct nsx_section *out)
{
	const struct nsx_defects *d = &w->t->defects;
	size_t async = 0;

	if (!w->g.n && nsx_is_in_part(w->t))
		return;
	if (!w->g.n) {
		nsx_note(out, "%s has no ranges, only marks and declarations",
			 w->t->schema->table[NSX_VIEW_nvtx]->name);
		return;
	}
	for (size_t i = 0; i < w->t->nvtx.n; i++)
		async += w->t->nvtx.kind[i] == NSX_NVTX_ASYNC &&
			 !(w->t->nvtx.flags[i] & NSX_NVTX_CROSSING);
	if (reason)
		nsx_note(out, "no GPU figures: %s", reason);
	if (async)
		nsx_note(out, "start/end ranges (%zu) count under their names with their host "
			      "time, but they may overlap and end on another thread, so no GPU "
			      "work is attributed to them", async);
	if (d->crossing_ranges)
		nsx_note(out, "push/pop ranges that end after the range they began in (%zu) are "
			      "not on the stack: only their host time counts", d->crossing_ranges);
	if (d->open_ranges)
		nsx_note(out, "ranges that were never closed (%zu) are assumed to last to the end "
			      "of the trace", d->open_ranges);
	if (w->any_cut)
		nsx_note(out, "ranges nest more than %d deep; the outer ones have no "
			      "inclusive and busy GPU time", MAX_PATH);
}

static int nvtx_run(const struct nsx_run *run NSX_UNUSED, struct nsx_section *out,
		    struct nsx_err *err NSX_UNUSED)
{
	nsx_add_tables(out);
	return 0;
}

static int nvtx_finish(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	struct work w = {.t = run->trace, .f = &run->facts->nvtx};
	struct nsx_table *ranges = out->tables[0], *instances = out->tables[1];
	const char *reason = no_gpu_reason(run);

	if (nvtx_fill_ranges(run, &w, !reason, ranges, err))
		return err->rc;
	fill_instances(w.t, instances);
	nsx_put(out, "table", nsx_string(w.t->schema->table[NSX_VIEW_nvtx]->name));
	out->sql_differs = w.t->defects.crossing_ranges > 0;
	add_notes(&w, reason, out);
	if (ranges->nrows)
		nsx_md_text(out, "%s by name; times are host times%s.",
			nsx_text_n(out->arena, nsx_table_total(ranges), "range", NULL),
			reason ? "" : " unless a column says GPU");
	if (reason) {
		nsx_md_table(out, ranges, 3, NAME, COUNT, TOTAL, AVG, EXCLUSIVE);
		return 0;
	}
	nsx_md_table(out, ranges, 3, NAME, COUNT, TOTAL, AVG, EXCLUSIVE, GPU_IN, GPU_EX, GPU_BUSY);
	describe_other_threads(&w, out);
	return 0;
}

NSX_DEFINE_PASS(nvtx,
	.title = "NVTX",
	.subject = "NVTX",
	.summary = "NVTX ranges by name: host time and GPU work launched in them",
	.doc = "Push/pop ranges nest in a stack per thread and domain; start/end ranges stand "
	       "alone; marks are not ranges. Rows are by normalised name: total_time_ms sums "
	       "ranges that are not inside one of the same name on their stack; exclusive_ms "
	       "subtracts direct children. A GPU operation (kernel, copy, memset, graph replay) "
	       "belongs to the ranges open on the launching thread at the start of its host call: "
	       "ranges in the domains of the user, or, if none of these is open, in those of "
	       "libraries (NCCL, cuBLAS, cuDNN). gpu_exclusive_ms sums operations for which the "
	       "name is the innermost range, gpu_inclusive_ms all operations for which it is open, "
	       "each counted once; gpu_busy_ms is the length of their union on each device, summed "
	       "over devices.",
	.derived_from = "push/pop and start/end ranges, grouped by normalised name; GPU operations "
			"by the range open at the start of their host call",
	.limitations = "host time unless a column says GPU; work that another thread launches on "
		       "behalf of a range (autograd) is not included (`ask TRACE range NAME` shows "
		       "it); ranges seen while a graph was captured do not describe its replays; "
		       "exclusive_ms subtracts nested ranges of the same domain only",
	.caveat = "total_time_ms counts a range inside one of its own name once, and merges names "
		   "that differ only in op_id, seq, sizes or input_op_ids; nsys-llm-explain adds "
		   "up every range under its raw name",
	.needs = {NSX_NEED_VIEW(nvtx)},
	NSX_LAYOUTS(layouts),
	.finish = nvtx_finish);
