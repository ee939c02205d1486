/* memory_leaks.c - memory that was never freed, and its growth. */
#include <math.h>
#include "base/stat.h"
#include "passes/gpu/memory_usage.h"
#include "trace/nvtx_walk.h"

#define TREND_COLUMNS(X)                                                                 \
	X(TREND_PID, "pid", I64, "process")                                              \
	X(TREND_DEVICE_ID, "device_id", I64, "CUDA ordinal")                             \
	X(TREND_ITERATIONS, "iterations", I64, "steady iterations")                      \
	X(TREND_FIRST_LIVE_BYTES, "first_live_bytes", I64,                               \
	  "least live device memory in the first iteration")                             \
	X(TREND_LAST_LIVE_BYTES, "last_live_bytes", I64,                                 \
	  "least live device memory in the last iteration")                              \
	X(TREND_SLOPE_BYTES, "slope_bytes", F64, "Theil-Sen slope, bytes per iteration") \
	X(TREND_GROWS_PCT, "grows_pct", F64,                                             \
	  "share of iterations that ended with more live memory than the one before")    \
	X(TREND_IS_SUSPECTED, "is_suspected", BOOL,                                      \
	  "whether it grows steadily by at least 1 MiB per iteration")
NSX_COLUMNS(trend_cols, TREND_COLUMNS);
const struct nsx_layout mem_never_freed_layout = {.key = "never_freed",
						  NSX_COLS(mem_kept_cols)};
const struct nsx_layout mem_trend_layout = {.key = "trend",
					    NSX_COLS(trend_cols)};

/* Never freed --------------------------------------------------------------*/

enum { PATH_DEPTH = 8 };

struct kept {
	const struct nsx_mem_event *e;
	uint32_t process, call; /* indices, or NSX_NONE */
	nsx_str path;		/* NVTX path in `paths`; 0: the call is unknown */
};
struct leaks {
	const struct nsx_run *run;
	struct kept *v;
	size_t n;
	struct nsx_strings *paths;
};

NSX_ORDER(cmp_by_corr, struct kept, UP(process), UP(e->corr));

/* Finds the call of each allocation: the outermost one with its correlation id. */
static void find_allocation_calls(struct leaks *l)
{
	const struct nsx_trace *t = l->run->trace;

	for (uint32_t i = 0; l->n && i < t->calls.n; i++) {
		uint32_t process = t->thread[nsx_call_thread(t, i)].process;
		uint32_t corr = (uint32_t)nsx_unpack(&t->calls.corr, i);

		if (!corr || process == NSX_NONE)
			continue;
		for (size_t k = NSX_SEARCH((size_t)0, l->n, mid, l->v[mid].process < process ||
					   (l->v[mid].process == process &&
					    l->v[mid].e->corr < corr));
		     k < l->n && l->v[k].process == process && l->v[k].e->corr == corr; k++) {
			uint32_t *call = &l->v[k].call;

			if (*call == NSX_NONE ||
			    nsx_call_start(&t->calls, i) < nsx_call_start(&t->calls, *call))
				*call = i;
		}
	}
}

static int memory_leaks_add_path(struct leaks *l, uint32_t range, nsx_str *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = l->run->trace;
	uint32_t ranges[PATH_DEPTH];
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	unsigned n = 0;

	for (; range != NSX_NONE && n < PATH_DEPTH;
	     range = nsx_range_around(&l->run->facts->nvtx, range))
		ranges[n++] = range;
	if (!n)
		nsx_buf_adds(&b, "(no range)");
	if (range != NSX_NONE)
		nsx_buf_adds(&b, "... > ");
	while (n--)
		nsx_buf_printf(&b, "%s%s", nsx_text(t, t->nvtx.name[ranges[n]]), n ? " > " : "");
	return nsx_strings_add(l->paths, b.p, b.n, ret, err);
}

NSX_ORDER(cmp_by_call, struct kept, UP(call));

/* Finds the open NVTX ranges at each call. Calls are sorted by (thread, start), so one walk for
 * each thread is enough.
 */
static int find_nvtx_paths(struct leaks *l, struct nsx_err *err)
{
	const struct nsx_trace *t = l->run->trace;
	uint32_t *below;
	struct nsx_nvtx_walk walk;
	uint32_t thread = NSX_NONE;

	if (!nsx_new_array(below, l->run->scratch, t->nvtx.n, "ranges", err))
		return err->rc;
	nsx_sort(l->v, l->n, sizeof(*l->v), cmp_by_call);
	for (size_t i = 0; i < l->n && l->v[i].call != NSX_NONE; i++) {
		uint32_t call = l->v[i].call;

		if (nsx_call_thread(t, call) != thread) {
			thread = nsx_call_thread(t, call);
			nsx_nvtx_walk_begin(&walk, t, thread, true, false, below);
		}
		if (memory_leaks_add_path(l, nsx_nvtx_walk_to(&walk,
							      nsx_call_start(&t->calls, call)),
					  &l->v[i].path, err))
			return err->rc;
	}
	return 0;
}

NSX_ORDER_IN(cmp_kept, struct kept, struct leaks, UP(x->e->process), UP(x->e->device_id),
	     UP(x->e->kind), BY(nsx_str_cmp(c->paths, x->path, y->path)), UP(x->e->bytes));

static void add_never_freed_rows(struct leaks *l, struct nsx_table *table, struct nsx_section *out)
{
	nsx_sort_r(l->v, l->n, sizeof(*l->v), cmp_kept, l);
	NSX_EACH_RUN(i, next, l->n, !cmp_kept(&l->v[i], &l->v[next], l)) {
		const struct nsx_mem_event *e = l->v[i].e;
		struct nsx_cell *row = nsx_add_row(table);
		int64_t total = 0;

		for (size_t k = i; k < next; k++)
			nsx_add_to(&total, e->bytes);
		row[KEPT_PID] = nsx_global_pid(l->run->trace, e->process);
		row[KEPT_DEVICE_ID] = nsx_ordinal_cell(l->run->trace, e->process, e->device_id);
		row[KEPT_KIND] = nsx_string(nsx_mem_class_names[e->kind]);
		if (l->v[i].path)
			row[KEPT_NVTX_PATH] = nsx_string(nsx_say(
				out, "%s", nsx_str_text(l->paths,
							l->v[i].path)));
		row[KEPT_BYTES] = nsx_int(e->bytes);
		row[KEPT_COUNT] = nsx_int((int64_t)(next - i));
		row[KEPT_TOTAL_BYTES] = nsx_int(total);
	}
	nsx_table_sort(table, NSX_DESC(KEPT_TOTAL_BYTES), NSX_DESC(KEPT_BYTES),
		       KEPT_PID, KEPT_DEVICE_ID, KEPT_KIND, KEPT_NVTX_PATH);
}

int mem_never_freed(const struct mem_usage *m, struct nsx_err *err)
{
	const struct nsx_trace *t = m->run->trace;
	struct leaks l = {.run = m->run};
	int rc;

	if (!nsx_new_array(l.v, m->run->scratch, m->of.nkept, "memory never freed", err))
		return err->rc;
	for (size_t i = 0; i < m->of.nkept; i++) {
		const struct nsx_mem_event *e = &m->of.events[m->of.kept[i]];

		if (nsx_starts_inside(t, e->at_ns))
			l.v[l.n++] = (struct kept){
				e, nsx_process_find(t, e->process), NSX_NONE, 0};
	}
	nsx_sort(l.v, l.n, sizeof(*l.v), cmp_by_corr);
	l.paths = nsx_strings_new();
	find_allocation_calls(&l);
	rc = find_nvtx_paths(&l, err);
	if (!rc)
		add_never_freed_rows(&l, m->table[MEM_KEPT], m->out);
	nsx_strings_free(l.paths);
	return rc;
}

/* Growth -------------------------------------------------------------------*/

enum { MIN_ITERATIONS = 5, MOST_ROWS = 1000 };
#define MIN_SLOPE (1 << 20)

struct series {
	int64_t *live; /* least live memory in each steady iteration */
	size_t n;
};

/* Finds the least live memory in each steady iteration of a loop, from the allocations and frees in
 * [at, end). The least leaves out what is freed within the iteration.
 */
static struct series sample_live_memory(const struct mem_usage *m, size_t at, size_t end,
					const struct nsx_loop *loop)
{
	int64_t live = nsx_mem_before(&m->of.steps[at], end - at);
	struct series ret = {.n = 0};

	nsx_few(ret.live, m->run->scratch, loop->n);
	for (const struct nsx_iteration *it = loop->v; it < loop->v + loop->n; it++) {
		int64_t *least = &ret.live[ret.n];

		if (!it->steady)
			continue;
		for (; at < end && m->of.steps[at].at_ns < it->start_ns; at++)
			nsx_add_to(&live, m->of.steps[at].delta);
		*least = live;
		for (; at < end && m->of.steps[at].at_ns < it->end_ns; at++) {
			nsx_add_to(&live, m->of.steps[at].delta);
			*least = NSX_MIN(*least, live);
		}
		ret.n++;
	}
	return ret;
}

/* Fits a line to the live memory of one process and device: allocations and frees [at, end). */
static int fit_memory_trend(const struct mem_usage *m, size_t at, size_t end,
			    const struct nsx_loop *loop, struct nsx_err *err)
{
	const struct nsx_mem_step *s = &m->of.steps[at];
	struct series live = sample_live_memory(m, at, end, loop);
	struct nsx_cell *row;
	size_t more = 0, less = 0;
	double slope_bytes;

	if (live.n < MIN_ITERATIONS)
		return 0;
	slope_bytes = nsx_slope(live.live, live.n, err);
	if (isnan(slope_bytes))
		return err->rc;
	for (size_t i = 1; i < live.n; i++) {
		more += live.live[i] > live.live[i - 1];
		less += live.live[i] < live.live[i - 1];
	}
	row = nsx_add_row(m->table[MEM_TREND]);
	row[TREND_PID] = nsx_global_pid(m->run->trace, s->process);
	row[TREND_DEVICE_ID] = nsx_ordinal_cell(m->run->trace, s->process, s->device_id);
	row[TREND_ITERATIONS] = nsx_int((int64_t)live.n);
	row[TREND_FIRST_LIVE_BYTES] = nsx_int(live.live[0]);
	row[TREND_LAST_LIVE_BYTES] = nsx_int(live.live[live.n - 1]);
	row[TREND_SLOPE_BYTES] = nsx_real(slope_bytes);
	row[TREND_GROWS_PCT] = nsx_real(100 * (double)more / (double)(live.n - 1));
	/* A host that runs ahead allocates for several iterations at once, so some
	 * iterations may not grow.
	 */
	row[TREND_IS_SUSPECTED] = nsx_bool(3 * more >= live.n - 1 && 20 * less <= live.n - 1 &&
					   slope_bytes >= MIN_SLOPE);
	return 0;
}

int mem_trend(const struct mem_usage *m, struct nsx_err *err)
{
	const struct nsx_trace *t = m->run->trace;
	const struct nsx_facts *f = m->run->facts;
	size_t at = 0;

	/* Iterations and the groups of allocations both ascend by process and device. But one has
	 * the device's index and the other its ordinal, so all groups of the process are searched.
	 */
	for (const struct nsx_loop *l = f->loops; l < f->loops + f->nloops; l++) {
		uint32_t p = l->v->process, d = l->v->device;
		uint64_t key = p == NSX_NONE ? 0 : t->process[p].key;

		while (at < m->of.nsteps && m->of.steps[at].process < key)
			at++;
		for (size_t i = at, end; p != NSX_NONE && i < m->of.nsteps &&
					 m->of.steps[i].process == key; i = end) {
			end = nsx_mem_group_end(&m->of, i);
			if (m->of.steps[i].kind == NSX_MC_DEVICE &&
			    m->of.steps[i].device_id == t->device[d].device_id &&
			    fit_memory_trend(m, i, end, l, err))
				return err->rc;
		}
	}
	return 0;
}
