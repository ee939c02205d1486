/* call_sites.c - where in the program CUDA calls and OS calls were made, for those
 * that have a backtrace.
 */
#include <stdlib.h>
#include "base/group.h"
#include "base/stat.h"
#include "passes/pass.h"
#include "report/words.h"

#define COLUMNS(X)                                                            \
	X(PID, "pid", I64, "process")                                         \
	X(TID, "tid", I64, "thread")                                          \
	X(KIND, "kind", STR, "cuda or os")                                    \
	X(API, "api_name", STR, "the call")                                   \
	X(SITE, "called_from", STR,                                           \
	  "innermost function of the program itself, else of a library; "    \
	  "null: its module has no symbols")                                  \
	X(MODULE, "module", STR, "file that is in, without its folder")       \
	X(COUNT, "count", I64, "calls", .adds = true)                         \
	X(TOTAL, "total_time_ms", F64, "sum of their durations",              \
	  .adds = true)                                                       \
	X(AVG, "avg_us", F64, "total over count")                             \
	X(MAX, "max_us", F64, "longest")                                      \
	X(COST, "cost_ms", F64,                                               \
	  "GPU idle time that follows from the waits among them",             \
	  .adds = true)
NSX_COLUMNS(cols, COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "rows", .csv = "call_sites", NSX_COLS(cols)},
};

struct sum {
	int64_t count, total_ns, max_ns, cost_ns;
};
struct sites {
	const struct nsx_trace *t;
	const struct nsx_facts *f;
	struct nsx_groups calls; /* (global tid, name), CUDA's and the system's */
	struct nsx_groups keys;	 /* (call, site)                             */
	struct sum *v;
	size_t cap;
};
enum { CUDA, OS };

/* What the wait of a thread that began then costs. */
static int64_t cost_of(const struct sites *x, uint32_t thread, unsigned kind,
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

static struct sum *sum_of(struct sites *x, unsigned kind, uint64_t global_tid,
			  nsx_str name, uint32_t site, struct nsx_err *err)
{
	uint32_t call, g;

	if (nsx_group(&x->calls, global_tid, (uint64_t)kind << 32 | name,
		      &call, err) ||
	    nsx_group(&x->keys, call, site, &g, err) ||
	    nsx_grow(&x->v, &x->cap, x->keys.n, sizeof(*x->v), "call sites",
		     err))
		return NULL;
	return &x->v[g];
}

static int add_calls(struct sites *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->t;
	const struct nsx_backtraces *b = &t->backtraces;

	for (size_t i = 0; i < b->n; i++) {
		uint32_t thread = nsx_call_thread(t, b->call[i]);
		uint32_t site = nsx_site(t, b->stack[i]);
		int64_t start_ns = nsx_call_start(&t->calls, b->call[i]), ns;
		struct sum *s;

		ns = nsx_in_window(t, start_ns,
				   nsx_call_end(&t->calls, b->call[i]));
		if (site == NSX_NONE ||
		    (!ns && !nsx_starts_inside(t, start_ns)))
			continue;
		s = sum_of(x, CUDA, t->thread[thread].global_tid,
			   nsx_call_name(&t->calls, b->call[i]), site, err);
		if (!s)
			return err->rc;
		s->count += nsx_starts_inside(t, start_ns);
		nsx_add_to(&s->total_ns, ns);
		s->max_ns = NSX_MAX(s->max_ns, ns);
		s->cost_ns += cost_of(x, thread, CUDA, start_ns);
	}
	return 0;
}

/* Sums are of all threads; what a wait costs is known of those that launch. */
static int add_os_calls(struct sites *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->t;
	struct sum *s;

	for (size_t i = 0; i < t->nosrt_sums; i++) {
		const struct nsx_osrt_sum *o = &t->osrt_sum[i];

		if (o->site == NSX_NONE || (!o->count && !o->total_ns))
			continue;
		s = sum_of(x, OS, o->global_tid, o->name, o->site, err);
		if (!s)
			return err->rc;
		s->count += o->count;
		nsx_add_to(&s->total_ns, o->total_ns);
		s->max_ns = NSX_MAX(s->max_ns, o->max_ns);
	}
	for (size_t i = 0; i < t->osrt.n; i++) {
		uint32_t thread = t->osrt.thread[i];
		uint32_t site = nsx_site(t, t->osrt.stack[i]);

		if (site == NSX_NONE)
			continue;
		s = sum_of(x, OS, t->thread[thread].global_tid,
			   t->osrt.name[i], site, err);
		if (!s)
			return err->rc;
		s->cost_ns += cost_of(x, thread, OS, t->osrt.start_ns[i]);
	}
	return 0;
}

static void fill_sites(const struct sites *x, struct nsx_table *table)
{
	for (size_t g = 0; g < x->keys.n; g++) {
		const struct nsx_group_key *call =
			&x->calls.keys[x->keys.keys[g].a];
		const struct nsx_frame *f = &x->t->frame[x->keys.keys[g].b];
		const struct sum *s = &x->v[g];
		struct nsx_cell *row;

		if (!s->count && !s->total_ns)
			continue; /* all of it outside the window */
		row = nsx_add_row(table);
		row[PID] = nsx_int((int64_t)(call->a >> 24 & 0xffffff));
		row[TID] = nsx_int((int64_t)(call->a & 0xffffff));
		row[KIND] = nsx_string(call->b >> 32 == OS ? "os" : "cuda");
		row[API] = nsx_string(nsx_text(x->t, (nsx_str)call->b));
		if (f->function)
			row[SITE] = nsx_string(nsx_text(x->t, f->function));
		if (f->module)
			row[MODULE] = nsx_string(nsx_text(x->t, f->module));
		row[COUNT] = nsx_int(s->count);
		row[TOTAL] = nsx_ms(s->total_ns);
		if (s->count)
			row[AVG] = nsx_us((double)s->total_ns /
					  (double)s->count);
		row[MAX] = nsx_us((double)s->max_ns);
		row[COST] = nsx_ms(s->cost_ns);
	}
	nsx_table_sort(table, NSX_DESC(COST), NSX_DESC(TOTAL), NSX_DESC(COUNT),
		       PID, TID, KIND, API, SITE, MODULE);
}

/* The first row is the dearest, by cost where there is one. */
static void show(const struct nsx_table *table, struct nsx_section *out)
{
	const struct nsx_cell *first;
	char call[128];
	bool costs;

	if (!table->nrows) {
		nsx_note(out, "the backtraces name no code of the program: its "
			      "modules are unknown, or only the profiler and "
			      "the system made the calls");
		return;
	}
	first = nsx_row_at(table, 0);
	costs = first[COST].u.f > 0;
	nsx_md_text(out, "Of the calls that have a backtrace, %s from %s %s %s.",
		    nsx_api_base(first[API].u.s, call, sizeof(call)),
		    first[SITE].type ? nsx_md_name(out, first[SITE].u.s) :
				       "a module without symbols",
		    costs ? "cost the GPU most, an idle time of" :
			    "take the longest,",
		    nsx_text_ns(out->arena,
				1e6 * first[costs ? COST : TOTAL].u.f));
	nsx_md_table(out, table, 0, TID, API, SITE, MODULE, COUNT, TOTAL, MAX,
		     COST);
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	struct nsx_table *table = nsx_add_table(out, &layouts[0]);
	struct sites x = {.t = run->trace, .f = run->facts};
	int rc;

	if (!nsx_has_view(x.t->schema, NSX_VIEW_cuda_frame) &&
	    !nsx_has_view(x.t->schema, NSX_VIEW_osrt_frame))
		return nsx_cannot(out, "the trace has no backtraces of calls "
				       "(CUDA_CALLCHAINS, OSRT_CALLCHAINS); "
				       "capture them with --cudabacktrace=all");
	rc = add_calls(&x, err);
	if (!rc)
		rc = add_os_calls(&x, err);
	if (!rc)
		fill_sites(&x, table);
	nsx_groups_done(&x.calls);
	nsx_groups_done(&x.keys);
	free(x.v);
	if (!rc)
		show(table, out);
	return rc;
}

NSX_DEFINE_PASS(call_sites) {
	.id = "call_sites",
	.title = "CPU",
	.summary = "where in the program CUDA and OS calls were made",
	.doc = "CUDA calls and outermost OS calls that have a backtrace, by "
	       "thread, call and site. The site is the innermost function of "
	       "the backtrace in the program's own code; where it has none, in "
	       "a library; code of the system, of CUDA and of the profiler is "
	       "passed over, and a call without a site is not shown. The cost "
	       "is the GPU's idle time that follows from waits made there "
	       "(`barriers`).",
	.derived_from = "backtraces of CUDA calls and of OS calls",
	.limitations = "only calls that the capture took backtraces of: by "
		       "default OS calls of 80 us or more, and no CUDA calls",
	.any_of = {NSX_NEED_VIEW(cuda_frame), NSX_NEED_VIEW(osrt_frame)},
	NSX_LAYOUTS(layouts),
	.run = run,
};
