/* profiler.c - reads and names the rows of the profiler's overhead, and sums up the time that each
 * thread lost.
 */
#include <inttypes.h>
#include "base/stat.h"
#include "facts/profiler.h"
#include "schema/cells.h"
#include "schema/viewscan.h"

struct rows {
	struct nsx_profiler_row *v; /* malloc'd */
	size_t n, cap, defects;
	struct nsx_arena *a;
	const struct nsx_trace *t;
};

static int64_t ns_in_window(const struct nsx_trace *t, int64_t start, int64_t end)
{
	int64_t a = NSX_MAX(start, t->window.start_ns);
	int64_t b = NSX_MIN(end, t->window.end_ns);

	return NSX_MAX(b - a, 0);
}

static int profiler_add_row(struct rows *p, struct nsx_profiler_row *x, struct nsx_err *err)
{
	x->in_window_ns = ns_in_window(p->t, x->start_ns, x->end_ns);
	return nsx_push(p->v, p->n, p->cap, "profiler overheads", err, *x);
}

static int profiler_on_row(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			   struct nsx_err *err)
{
	struct rows *p = ctx;
	struct nsx_profiler_row x = {0};

	if (!nsx_is_span(p->t->schema->shifts, &v[0], &v[1])) {
		p->defects++;
		return 0;
	}
	x.start_ns = v[0].u.i;
	x.end_ns = v[1].u.i;
	if (v[2].type == NSX_V_I64)
		x.thread = (uint64_t)v[2].u.i;
	if (v[3].type == NSX_V_I64 && v[3].u.i >= 0)
		x.id = v[3].u.i;
	else if (v[3].type == NSX_V_TEXT)
		x.name = nsx_val_text(&v[3], p->a);
	return profiler_add_row(p, &x, err);
}

/* CUDA's overhead types that tools cause. */
static const char *const tool_types[] = {
	[NSX_OVERHEAD_FLUSH] = "CUPTI buffer flush",
	[NSX_OVERHEAD_INSTRUMENTATION] = "CUPTI instrumentation",
	[NSX_OVERHEAD_RESOURCE] = "CUPTI resources",
};

static int add_cupti_overheads(const struct nsx_trace *t, struct rows *p, struct nsx_err *err)
{
	for (size_t i = 0; i < t->overheads.n; i++) {
		uint8_t type = t->overheads.type[i];
		struct nsx_profiler_row x = {
			.thread = t->thread[t->overheads.thread[i]].global_tid,
			.start_ns = t->overheads.start_ns[i],
			.end_ns = t->overheads.end_ns[i],
			.id = -(int64_t)type};

		if (type >= ARRAY_LEN(tool_types) || !tool_types[type])
			continue;
		x.name = tool_types[type];
		if (profiler_add_row(p, &x, err))
			return err->rc;
	}
	return 0;
}

static int profiler_resolve(const struct nsx_schema *s, struct rows *p, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *scratch = nsx_arena_new();
	int64_t *ids;
	const char **texts;

	if (nsx_new_arrays(scratch, p->n, "names", err, ids, texts))
		return err->rc;
	for (size_t i = 0; i < p->n; i++)
		ids[i] = p->v[i].name ? -1 : p->v[i].id;
	if (nsx_view_strings(s, ids, p->n, texts, p->a, err))
		return err->rc;
	for (size_t i = 0; i < p->n; i++)
		if (!p->v[i].name)
			p->v[i].name = texts[i] ? texts[i] :
				nsx_arena_printf(p->a, "id:%" PRId64, ids[i]);
	return 0;
}

NSX_ORDER(cmp_by_name, struct nsx_profiler_row, UP(id < 0), TEXT(name));
NSX_ORDER(cmp_by_thread, struct nsx_profiler_row, UP(thread), UP(start_ns));

/* The most time inside the window that one thread lost. */
static int64_t most_lost_by_thread(const struct nsx_trace *t, struct rows *p)
{
	int64_t most = 0, lost = 0, end = INT64_MIN;

	nsx_sort(p->v, p->n, sizeof(*p->v), cmp_by_thread);
	for (size_t i = 0; i < p->n; i++) {
		const struct nsx_profiler_row *x = &p->v[i];

		if (!i || x->thread != p->v[i - 1].thread)
			lost = 0, end = INT64_MIN;
		if (x->end_ns > end) {
			lost += ns_in_window(t, NSX_MAX(x->start_ns, end), x->end_ns);
			end = x->end_ns;
		}
		most = NSX_MAX(most, lost);
	}
	return most;
}

/* Merges the rows, sorted by thread, to the spans of each thread of the trace. */
static int merge_by_thread(const struct nsx_trace *t, const struct rows *p,
			   struct nsx_spans **ret, struct nsx_err *err)
{
	nsx_few(*ret, p->a, t->nthreads);
	for (uint32_t i = 0; i < t->nthreads; i++) {
		struct nsx_spans *s = &(*ret)[i];
		uint64_t thread = t->thread[i].global_tid;
		size_t from = NSX_SEARCH((size_t)0, p->n, k, p->v[k].thread < thread);

		while (from + s->n < p->n && p->v[from + s->n].thread == thread)
			s->n++;
		if (!nsx_new_array(s->v, p->a, s->n, "profiler overheads", err))
			return err->rc;
		for (size_t k = 0; k < s->n; k++)
			s->v[k] = (struct nsx_span){p->v[from + k].start_ns,
						    p->v[from + k].end_ns};
		nsx_spans_normalise(s);
	}
	return 0;
}

int64_t nsx_profiled_ns(const struct nsx_facts *f, uint32_t thread, struct nsx_span in)
{
	const struct nsx_spans *s = f->profiler ? &f->profiler->of_thread[thread] : NULL;
	size_t at = s ? nsx_spans_find(s, in.start_ns) : 0;

	return s ? nsx_spans_covered(s, &at, in.start_ns, in.end_ns) : 0;
}

bool nsx_same_profiler_row(const struct nsx_profiler_row *x, const struct nsx_profiler_row *y)
{
	return !cmp_by_name(x, y);
}

int nsx_facts_profiler(struct nsx_facts *f, const struct nsx_trace *t,
		       const struct nsx_facts_opts *o, struct nsx_arena *a, struct nsx_err *err)
{
	struct rows p = {.a = a, .t = t};
	int64_t window_ns = t->window.end_ns - t->window.start_ns;
	struct nsx_profiler *x;
	int rc;

	if (!o->samples || (!nsx_has_view(t->schema, NSX_VIEW_profiler_overhead) &&
			    !nsx_has_view(t->schema, NSX_VIEW_overhead)))
		return 0;
	f->profiler = x = nsx_arena_get(a, sizeof(*x));
	rc = nsx_view_each(t->schema, profiler_overhead, profiler_on_row, &p, err,
			   start_ns, end_ns, global_tid, name) ?:
	     profiler_resolve(t->schema, &p, err) ?: add_cupti_overheads(t, &p, err);
	if (!rc)
		x->most_lost_ns = most_lost_by_thread(t, &p);
	rc = rc ?: merge_by_thread(t, &p, &x->of_thread, err) ?:
	     nsx_new_arrays(a, p.n, "profiler overheads", err, x->v);
	if (!rc && p.n)
		memcpy(x->v, p.v, p.n * sizeof(*p.v));
	if (!rc) /* else some rows may have no name yet */
		nsx_sort(x->v, p.n, sizeof(*x->v), cmp_by_name);
	if (window_ns)
		x->most_lost_pct = 100 * (double)x->most_lost_ns / (double)window_ns;
	x->n = p.n;
	x->defects = p.defects;
	free(p.v);
	return rc;
}
