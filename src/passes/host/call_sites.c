/* call_sites.c - where in the program CUDA calls and OS calls were made and GPU work was
 * launched: by backtrace, and by the open NVTX ranges.
 */
#include <stdio.h>
#include "passes/pass.h"
#include "trace/nvtx_walk.h"

#define COLUMNS(X)                                                                               \
	X(PID, "pid", I64, "process")                                                            \
	X(TID, "tid", I64, "thread that called")                                                 \
	X(KIND, "kind", STR, "cuda or os: a call; kernel, copy or memset: GPU work that a call " \
			     "started")                                                          \
	X(API, "api_name", STR, "name of the call or kernel, or direction of the copy")          \
	X(SITE, "called_from", STR,                                                              \
	  "innermost function of the program itself, otherwise of a library; null: its module "  \
	  "has no symbols, or there is no backtrace")                                            \
	X(MODULE, "module", STR, "file of that function, without its folder")                    \
	X(COUNT, "count", I64, "number of calls, or of operations they started", .adds = true)   \
	X(TOTAL, "total_time_ms", F64,                                                           \
	  "sum of the durations; for kernels, copies and memsets on the GPU", .adds = true)      \
	X(AVG, "avg_us", F64, "total over count")                                                \
	X(MAX, "max_us", F64, "longest")                                                         \
	X(COST, "cost_ms", F64, "GPU idle time that follows from waits in these calls",          \
	  .title = "idle after", .adds = true)                                                   \
	X(RANGE, "range_name", STR, "innermost NVTX range open at the start of the call, "       \
				    "normalised")
NSX_LAYOUT_OF(layout, COLUMNS, .key = "rows", .csv = "call_sites");

enum kind { CUDA, OS, KERNEL, COPY, MEMSET };
static const char *const kinds[] = {"cuda", "os", "kernel", "copy", "memset"};
enum { PAGEABLE = 256 }; /* flag added to the kind of a copy                 */

/* Time and number of calls. With a million kernel names, most names have one launch. */
struct sum {
	int64_t total_ns;
	uint32_t count;
	/* index + 1 in longest_ns; 0: there is one call, so the longest is the total */
	uint32_t longest;
};
struct sites {
	const struct nsx_trace *t;
	const struct nsx_facts *f;
	struct nsx_groups callers; /* (global tid, kind)                     */
	struct nsx_groups places;  /* (site and range, caller)               */
	struct nsx_groups keys;	   /* (name, place); there may be a million  */
	struct nsx_near near[3];   /* caches for callers, places and keys    */
	uint8_t *does;		   /* for each raw name: see nsx_call_does */
	struct sum *v;
	int64_t *longest_ns;
	size_t nlongest, cap_longest;
	int64_t *cost_ns; /* costs of the first groups; only calls have costs */
	size_t ncosts, cap_costs;
};

static int64_t site_cost_ns(const struct sites *x, size_t group)
{
	return group < x->ncosts ? x->cost_ns[group] : 0;
}

static int call_sites_add_cost(struct sites *x, const struct sum *of, int64_t ns,
			       struct nsx_err *err)
{
	size_t group = (size_t)(of - x->v);

	if (!ns)
		return 0;
	if (nsx_grow(&x->cost_ns, &x->cap_costs, group + 1, sizeof(*x->cost_ns), "call sites", err))
		return err->rc;
	while (x->ncosts <= group)
		x->cost_ns[x->ncosts++] = 0;
	x->cost_ns[group] += ns;
	return 0;
}

/* The idle time after the wait of a thread that began at start_ns. */
static int64_t idle_after_wait_ns(const struct sites *x, uint32_t thread, unsigned kind,
				  int64_t start_ns)
{
	const struct nsx_barrier *b = x->f->barriers;
	size_t lo = x->f->thread_barriers[thread].at;
	size_t end = lo + x->f->thread_barriers[thread].n, hi = end;
	int64_t ns = 0;

	NSX_BISECT(lo, hi, mid, b[mid].start_ns < start_ns);
	for (; lo < end && b[lo].start_ns == start_ns; lo++)
		if (b[lo].kind != NSX_BARRIER_LAUNCHER_GAP &&
		    (b[lo].kind == NSX_BARRIER_HOST_WAIT) == (kind == OS))
			ns += b[lo].cost_ns;
	return ns;
}

/* Finds or adds the sum of a name at a place; NULL: no memory. */
static struct sum *find_site_sum(struct sites *x, enum kind kind, uint64_t global_tid,
				 uint32_t name, uint32_t site, nsx_str range,
				 struct nsx_err *err)
{
	struct sum *sum = NULL;
	uint32_t caller, place;

	if (!nsx_group_near(&x->callers, &x->near[0], global_tid, kind, &caller,
			    err) &&
	    !nsx_group_near(&x->places, &x->near[1],
			    (uint64_t)site << 32 | range, caller, &place, err))
		sum = nsx_near_value(&x->keys, &x->near[2], &x->v, name, place, "call sites", err);
	return sum;
}

static int64_t longest_call_ns(const struct sites *x, const struct sum *s)
{
	return s->longest ? x->longest_ns[s->longest - 1] : s->total_ns;
}

static int add_to_site(struct sites *x, struct sum *s, int64_t count, int64_t total_ns,
		       int64_t longest_ns, struct nsx_err *err)
{
	longest_ns = NSX_MAX(longest_ns, longest_call_ns(x, s));
	nsx_add_to(&s->total_ns, total_ns);
	s->count += (uint32_t)count;
	if (s->longest)
		x->longest_ns[s->longest - 1] = longest_ns;
	else if (longest_ns != s->total_ns) {
		if (nsx_push(x->longest_ns, x->nlongest, x->cap_longest,
			     "call sites", err, longest_ns))
			return err->rc;
		s->longest = (uint32_t)x->nlongest;
	}
	return 0;
}

/* CUDA calls ----------------------------------------------------------------------*/

/* Whether a call launches kernels, copies or memsets. These have rows of their own, so the call
 * gets none.
 */
static bool launches_gpu_work(const struct nsx_trace *t, size_t call)
{
	uint32_t op = nsx_call_op(&t->calls, call);

	return op != NSX_NONE && t->ops.kind[op] != NSX_OP_GRAPH;
}

static int call_sites_add_call(struct sites *x, uint32_t thread, size_t call,
			       uint32_t site, uint32_t range, struct nsx_err *err)
{
	const struct nsx_trace *t = x->t;
	int64_t start_ns = nsx_call_start(&t->calls, call);
	int64_t ns = nsx_call_inside(t, call);
	bool counts = nsx_starts_inside(t, start_ns);
	struct sum *s;

	if ((site == NSX_NONE && range == NSX_NONE) || (!ns && !counts))
		return 0;
	s = find_site_sum(x, CUDA, t->thread[thread].global_tid, nsx_call_name(&t->calls, call),
			  site, range == NSX_NONE ? 0 : t->nvtx.name[range], err);
	if (!s || add_to_site(x, s, counts, ns, ns, err))
		return err->rc;
	return call_sites_add_cost(x, s, idle_after_wait_ns(x, thread, CUDA, start_ns), err);
}

static int call_sites_add_thread(struct sites *x, uint32_t thread, uint32_t *below,
				 struct nsx_err *err)
{
	const struct nsx_trace *t = x->t;
	const struct nsx_thread *th = &t->thread[thread];
	struct nsx_nvtx_walk user, library;

	nsx_nvtx_walk_begin(&user, t, thread, true, false, below);
	nsx_nvtx_walk_begin(&library, t, thread, false, true, below);
	for (uint32_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
		uint32_t site = nsx_call_site(t, i);
		bool told = nsx_call_does(t, i, nsx_api_allocates, x->does) ||
			    t->calls.cls[i] == NSX_CALL_SYNC; /* the call allocates or waits */
		uint32_t range = NSX_NONE;
		int64_t at_ns;

		if (site == NSX_NONE && (!told || (t->calls.flags[i] & NSX_CALL_NESTED)))
			continue;
		if (told || launches_gpu_work(t, i)) {
			at_ns = nsx_call_start(&t->calls, i);
			range = nsx_nvtx_walk_to(&user, at_ns);
			if (range == NSX_NONE)
				range = nsx_nvtx_walk_to(&library, at_ns);
		}
		if (call_sites_add_call(x, thread, i, site, range, err))
			return err->rc;
	}
	return 0;
}

static int call_sites_add_calls(struct sites *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->t;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	uint32_t *below = nsx_arena_try_array(a, t->nvtx.n, 4, "ranges", err);
	int rc;

	nsx_new_array(x->does, a, nsx_strings_bound(t->strings), "API names", err);
	rc = below && x->does ? 0 : err->rc;
	for (uint32_t i = 0; !rc && i < t->nthreads; i++)
		if (t->thread[i].nnvtx || t->backtraces.n)
			rc = call_sites_add_thread(x, i, below, err);
	return rc;
}

/* GPU work ------------------------------------------------------------------------- */

static uint32_t work_name_id(const struct nsx_trace *t, size_t op, enum kind kind)
{
	const struct nsx_copy *c = nsx_op_copy(t, op);

	return kind == KERNEL ? nsx_op_name(t, op) :
	       kind == MEMSET ? 0 :
	       c->copy_kind | (nsx_copy_is_pageable(c->copy_kind,
						    c->src_kind, c->dst_kind) ? PAGEABLE : 0);
}

static int call_sites_add_work(struct sites *x, struct nsx_err *err)
{
	static const enum kind of[] = {[NSX_OP_KERNEL] = KERNEL,
				       [NSX_OP_MEMCPY] = COPY,
				       [NSX_OP_MEMSET] = MEMSET};
	const struct nsx_trace *t = x->t;

	for (size_t i = 0; i < t->ops.n; i++) {
		uint32_t call = nsx_op_call(&t->ops, i), site;
		uint32_t range = nsx_op_range(&x->f->nvtx, i);
		struct sum *s;

		if (call == NSX_NONE || t->ops.kind[i] == NSX_OP_GRAPH ||
		    (t->ops.flags[i] & NSX_OP_PEER))
			continue;
		site = nsx_call_site(t, call);
		if (site == NSX_NONE && range == NSX_NONE)
			continue;
		s = find_site_sum(x, of[t->ops.kind[i]],
				  t->thread[nsx_call_thread(t, call)].global_tid,
				  work_name_id(t, i, of[t->ops.kind[i]]), site,
				  range == NSX_NONE ? 0 : t->nvtx.name[range], err);
		if (!s || add_to_site(x, s, nsx_op_counts(t, i), nsx_op_ns(&t->ops, i),
				      nsx_op_ns(&t->ops, i), err))
			return err->rc;
	}
	return 0;
}

/* OS calls ----------------------------------------------------------------------------*/

/* Adds OS calls. Sums cover all threads; the cost of a wait is known only for threads that
 * launch.
 */
static int call_sites_add_os_calls(struct sites *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->t;
	struct sum *s;

	for (size_t i = 0; i < t->nosrt_sums; i++) {
		const struct nsx_osrt_sum *o = &t->osrt_sum[i];

		if (o->site == NSX_NONE || (!o->count && !o->total_ns))
			continue;
		s = find_site_sum(x, OS, o->global_tid, o->name, o->site, 0, err);
		if (!s || add_to_site(x, s, o->count, o->total_ns, o->max_ns, err))
			return err->rc;
	}
	for (size_t i = 0; i < t->osrt.n; i++) {
		uint32_t thread = t->osrt.thread[i];
		uint32_t site = nsx_site(t, t->osrt.stack[i]);

		if (site == NSX_NONE || thread == NSX_NONE)
			continue;
		s = find_site_sum(x, OS, t->thread[thread].global_tid,
				  t->osrt.name[i], site, 0, err);
		if (!s || call_sites_add_cost(x, s, idle_after_wait_ns(x, thread, OS,
								       t->osrt.start_ns[i]), err))
			return err->rc;
	}
	return 0;
}

/* The table -----------------------------------------------------------------------------*/

struct site { /* a row of the table */
	const struct sum *sum;
	int64_t cost_ns;
	uint64_t global_tid;
	enum kind kind;
	uint32_t name;
	nsx_str function, module, range; /* 0: unknown */
};

static struct site site_at(const struct sites *x, uint32_t g)
{
	struct nsx_group_key key = nsx_group_key(&x->keys, g);
	struct nsx_group_key place = nsx_group_key(&x->places, key.b);
	struct nsx_group_key caller = nsx_group_key(&x->callers, place.b);
	uint32_t frame = (uint32_t)(place.a >> 32);
	struct site s = {.sum = &x->v[g], .cost_ns = site_cost_ns(x, g),
			 .global_tid = caller.a,
			 .kind = (enum kind)caller.b,
			 .name = (uint32_t)key.a,
			 .range = (nsx_str)place.a};

	if (frame != NSX_NONE) {
		s.function = x->t->frame[frame].function;
		s.module = x->t->frame[frame].module;
	}
	return s;
}

enum { COPY_SIZE = 64 };

/* The fixed name of a site; NULL: its name is a text of the trace. of_copy: buffer for a composed
 * name.
 */
static const char *fixed_site_name(const struct site *s, char of_copy[COPY_SIZE])
{
	if (s->kind != COPY)
		return s->kind == MEMSET ? "memset" : NULL;
	snprintf(of_copy, COPY_SIZE, "%s%s", nsx_copy_direction(s->name % PAGEABLE),
		 s->name >= PAGEABLE ? " pageable" : "");
	return of_copy;
}

static const char *site_name_text(const struct sites *x, const struct site *s,
				  char of_copy[COPY_SIZE])
{
	return fixed_site_name(s, of_copy) ?: nsx_text(x->t, s->name);
}

static int call_sites_cmp_names(const struct sites *all, const struct site *x, const struct site *y)
{
	const uint32_t *rank = all->t->rank;
	char a[COPY_SIZE], b[COPY_SIZE];

	if (x->kind != y->kind)
		return strcmp(kinds[x->kind], kinds[y->kind]);
	if (x->kind == KERNEL)
		return NSX_CMP(rank[x->name], rank[y->name]);
	return strcmp(site_name_text(all, x, a), site_name_text(all, y, b));
}

/* Compares texts of the trace; unknown texts come last. */
static int cmp_trace_texts(const struct sites *x, nsx_str a, nsx_str b)
{
	return a && b ? nsx_str_cmp(x->t->strings, a, b) : !a - !b;
}

static int cmp_site_places(const struct sites *all, uint32_t g, uint32_t h)
{
	struct site x = site_at(all, g), y = site_at(all, h);

	return NSX_CMP(x.global_tid & 0xffffffffffff,
		       y.global_tid & 0xffffffffffff) ?:
	       call_sites_cmp_names(all, &x, &y) ?:
	       cmp_trace_texts(all, x.function, y.function) ?:
	       cmp_trace_texts(all, x.module, y.module) ?:
	       !x.range - !y.range ?:
	       NSX_CMP(all->t->rank[x.range], all->t->rank[y.range]);
}

static double ms_of_ns(int64_t ns)
{
	return (double)ns / 1e6;
}

/* A sort key from the upper halves of cost and time. Sites with a cost come before sites without.
 * cmp_sites compares the rest.
 */
static int64_t site_sort_key(const void *site, void *sites)
{
	const struct sites *x = sites;
	uint32_t g = *(const uint32_t *)site;
	int64_t cost_ns = site_cost_ns(x, g);

	return cost_ns > 0 ? -(nsx_real_key(ms_of_ns(cost_ns)) / 2) - INT64_MAX / 2 :
			     -(nsx_real_key(ms_of_ns(x->v[g].total_ns)) / 2);
}

NSX_ORDER_IN(cmp_sites, uint32_t, struct sites, DOWN(ms_of_ns(site_cost_ns(c, *x))),
	     DOWN(ms_of_ns(c->v[*x].total_ns)), DOWN(c->v[*x].count),
	     BY(cmp_site_places(c, *x, *y)));

static void call_sites_fill_sums(const struct sites *all, const struct sum *x,
				 int64_t cost_ns, struct nsx_cell *row)
{
	row[COUNT] = nsx_int(x->count);
	row[TOTAL] = nsx_ms(x->total_ns);
	if (x->count)
		row[AVG] = nsx_us((double)x->total_ns / (double)x->count);
	row[MAX] = nsx_us((double)longest_call_ns(all, x));
	row[COST] = nsx_ms(cost_ns);
}

/* Fills the columns of the place in the row added last. */
static void fill_site_columns(const struct sites *x, uint32_t group,
			      struct nsx_section *out, struct nsx_table *table,
			      struct nsx_cell *row)
{
	struct site s = site_at(x, group);
	char of_copy[COPY_SIZE];
	const char *own = fixed_site_name(&s, of_copy);

	row[PID] = nsx_global_pid(x->t, s.global_tid);
	row[TID] = nsx_global_tid(s.global_tid);
	row[KIND] = nsx_string(kinds[s.kind]);
	row[API] = !own ? nsx_name_cell(x->t, table, s.name) :
		nsx_string(own == of_copy ?
				   nsx_row_text(table, out->arena, own) : own);
	row[SITE] = nsx_text_cell(x->t, s.function);
	row[MODULE] = nsx_text_cell(x->t, s.module);
	row[RANGE] = nsx_text_cell(x->t, s.range);
}

/* Fills rows, sorted by cost, time, count, thread, name and place. *first: the first row with a
 * site, or NSX_NONE.
 */
static int fill_sites(const struct sites *x, const struct nsx_run *run,
		      struct nsx_section *out, struct nsx_table *table,
		      uint32_t *first, struct nsx_err *err)
{
	uint32_t *order;
	size_t n = 0;

	if (!nsx_new_array(order, run->scratch, x->keys.n, "call sites", err))
		return err->rc;
	for (uint32_t g = 0; g < x->keys.n; g++) {
		struct site s = site_at(x, g);

		if (!s.sum->count && !s.sum->total_ns)
			continue; /* all its calls are outside the window */
		order[n++] = g;
		if ((s.function || s.module) &&
		    (*first == NSX_NONE || cmp_sites(&g, first, (void *)x) < 0))
			*first = g;
	}
	nsx_table_expect(table, n, run->opts->held_rows);
	nsx_sort_by_key_r(order, n, table->max_rows ?: n, sizeof(*order),
			  site_sort_key, cmp_sites, (void *)x);
	for (size_t i = 0; i < n; i++) {
		NSX_FETCH_AHEAD(x->v, order, i, n);
		NSX_FETCH_AHEAD(x->keys.small, order, i, n);
		struct nsx_cell *row = nsx_add_row(table);

		call_sites_fill_sums(x, &x->v[order[i]], site_cost_ns(x, order[i]), row);
		if (nsx_table_holds(table))
			fill_site_columns(x, order[i], out, table, row);
	}
	return 0;
}

static bool has_backtraces(const struct nsx_schema *s)
{
	return nsx_has_view(s, NSX_VIEW_cuda_frame) || nsx_has_view(s, NSX_VIEW_osrt_frame);
}

/* Shows the site with most idle time after it, or the longest if there is no idle time.
 * Rows without a site are only in the file; kernels by range have their own sections.
 */
static void call_sites_show(const struct sites *x, const struct nsx_table *table,
			    uint32_t first, struct nsx_section *out)
{
	const struct nsx_trace *t = x->t;
	char of_copy[COPY_SIZE], call[128];
	struct site s;
	bool costs;
	/* without sites, the columns of ranges distinguish calls */
	const int columns[] = {TID, KIND, API, SITE, t->nvtx.n ? RANGE : MODULE,
			       COUNT, TOTAL, MAX, COST};

	if (first == NSX_NONE && has_backtraces(t->schema))
		nsx_note(out, "the backtraces contain no code of the program: its modules are "
			      "unknown, or only the profiler and the system made the calls");
	if (first == NSX_NONE)
		return;
	s = site_at(x, first);
	costs = s.cost_ns > 0;
	nsx_md_text(out, "Of the calls with a backtrace, %s from %s %s %s.",
		    nsx_md_name(out, nsx_api_base(site_name_text(x, &s, of_copy), call,
						  sizeof(call))),
		    s.function ? nsx_md_name(out, nsx_text(t, s.function)) :
				 "a module without symbols",
		    costs ? "is followed by most GPU idle time," :
			    "takes longest,",
		    nsx_say_ms(out, ms_of_ns(costs ? s.cost_ns : s.sum->total_ns)));
	nsx_md_table_of(out, table, 3, columns, ARRAY_LEN(columns) -
			!(nsx_row_at(table, 0)[COST].u.f > 0));
}

static int call_sites_run(const struct nsx_run *run, struct nsx_section *out,
			  struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_schema *s = run->trace->schema;

	nsx_add_tables(out);
	if (!has_backtraces(s) && !nsx_has_view(s, NSX_VIEW_nvtx))
		return nsx_cannot(out, "the trace has neither backtraces of calls "
				       "(CUDA_CALLCHAINS, OSRT_CALLCHAINS) nor NVTX ranges; "
				       "capture them with --cudabacktrace=all, --trace=nvtx");
	return 0;
}

static int call_sites_finish(const struct nsx_run *run, struct nsx_section *out,
			     struct nsx_err *err)
{
	struct nsx_table *table = out->tables[0];
	struct sites x = {.t = run->trace, .f = run->facts};
	uint32_t first = NSX_NONE;
	int rc;

	/* Calls are added first, because only calls have costs. */
	rc = call_sites_add_calls(&x, err) || call_sites_add_os_calls(&x, err) ||
	     call_sites_add_work(&x, err) ?
		     err->rc : 0;
	nsx_groups_close(&x.keys);
	rc = rc ?: fill_sites(&x, run, out, table, &first, err);
	if (!rc)
		call_sites_show(&x, table, first, out);
	nsx_groups_done(&x.callers);
	nsx_groups_done(&x.places);
	nsx_groups_done(&x.keys);
	free(x.v);
	free(x.longest_ns);
	free(x.cost_ns);
	out->sql_differs = x.t->defects.crossing_ranges > 0;
	return rc;
}

NSX_DEFINE_PASS(call_sites,
	.title = "CPU",
	.summary = "where the program made CUDA and OS calls and started GPU work",
	.doc = "Kernels, copies (by direction and memory) and memsets by the thread and the place "
	       "that started them: the site of the call's backtrace and the innermost NVTX range "
	       "open where the call began. CUDA calls that wait or allocate are listed in the same "
	       "way; other CUDA calls and outermost OS calls only if they have a backtrace. Calls "
	       "with neither a site nor a range are left out. The site is the innermost function "
	       "of the backtrace in the program's own code, otherwise in a library; code of the "
	       "system, of CUDA and of the profiler is skipped. The cost is the GPU's idle time "
	       "that follows from waits made there (`barriers`).",
	.derived_from = "backtraces of CUDA calls and of OS calls, NVTX ranges",
	.limitations = "only calls with a captured backtrace have sites: by default OS calls of at "
		       "least 80 us, and no CUDA calls",
	.any_of = {NSX_NEED_VIEW(cuda_frame), NSX_NEED_VIEW(osrt_frame),
		   NSX_NEED_VIEW(nvtx)},
	NSX_LAYOUT(layout),
	.finish = call_sites_finish);
