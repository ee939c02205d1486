/* profiler_cost.c - what the profiler itself cost the program.
 *
 * From the profiler's own rows, and from those of CUDA's overheads that tools
 * cause (buffer flush, instrumentation, resources).  The rows are few.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "passes/pass.h"
#include "base/stat.h"
#include "schema/viewscan.h"
#include "report/words.h"

#define COLUMNS(X)                                                            \
	X(SOURCE, "source", STR,                                              \
	  "nsys: the profiler; cupti: CUDA on behalf of tools")               \
	X(NAME, "name", STR, "what it did")                                   \
	X(COUNT, "count", I64, "times")                                       \
	X(TOTAL, "total_ms", F64, "sum of durations, on all threads")         \
	X(LONGEST, "longest_ms", F64, "longest")                              \
	X(IN_WINDOW, "in_window_ms", F64,                                     \
	  "part of total_ms inside the window of GPU work")
NSX_COLUMNS(cols, COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "rows", NSX_COLS(cols)},
};

struct piece {
	uint64_t thread;
	int64_t start_ns, end_ns;
	int64_t id; /* string id of its name; negative: minus CUPTI's type   */
	const char *name;
};
struct pieces {
	struct piece *v;
	size_t n, cap, defects;
	struct nsx_arena *a;
};

static int add_piece(struct pieces *p, const struct piece *x,
		     struct nsx_err *err)
{
	if (nsx_grow(&p->v, &p->cap, p->n + 1, sizeof(*p->v),
		     "profiler overheads", err))
		return err->rc;
	p->v[p->n++] = *x;
	return 0;
}

static bool is_instant(const struct nsx_val *v)
{
	return v->type == NSX_V_I64 && v->u.i <= NSX_TIME_MAX &&
	       v->u.i >= -NSX_TIME_MAX;
}

static int on_row(void *ctx, int64_t rid, const struct nsx_val *v,
		  struct nsx_err *err)
{
	struct pieces *p = ctx;
	struct piece x = {0};

	(void)rid;
	if (!is_instant(&v[0]) || !is_instant(&v[1]) || v[1].u.i < v[0].u.i) {
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
	return add_piece(p, &x, err);
}

/* The types of overhead that tools cause. */
static const char *const tool_types[] = {
	[NSX_OVERHEAD_FLUSH] = "CUPTI buffer flush",
	[NSX_OVERHEAD_INSTRUMENTATION] = "CUPTI instrumentation",
	[NSX_OVERHEAD_RESOURCE] = "CUPTI resources",
};

static int add_cupti(const struct nsx_trace *t, struct pieces *p,
		     struct nsx_err *err)
{
	for (size_t i = 0; i < t->overheads.n; i++) {
		uint8_t type = t->overheads.type[i];
		struct piece x = {
			.thread = t->thread[t->overheads.thread[i]].global_tid,
			.start_ns = t->overheads.start_ns[i],
			.end_ns = t->overheads.end_ns[i],
			.id = -(int64_t)type};

		if (type >= ARRAY_LEN(tool_types) || !tool_types[type])
			continue;
		x.name = tool_types[type];
		if (add_piece(p, &x, err))
			return err->rc;
	}
	return 0;
}

static int cmp_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int resolve(const struct nsx_run *run, struct pieces *p,
		   struct nsx_err *err)
{
	int64_t *ids = nsx_arena_try_array(run->scratch, p->n, sizeof(*ids),
					   "names", err);
	const char **texts = nsx_arena_try_array(run->scratch, p->n,
						 sizeof(*texts), "names", err);
	size_t n = 0, unique = 0;

	if (!ids || !texts)
		return err->rc;
	for (size_t i = 0; i < p->n; i++)
		if (!p->v[i].name)
			ids[n++] = p->v[i].id;
	qsort(ids, n, sizeof(*ids), cmp_i64);
	for (size_t i = 0; i < n; i++)
		if (!unique || ids[unique - 1] != ids[i])
			ids[unique++] = ids[i];
	if (nsx_view_strings(run->trace->schema, ids, unique, texts, p->a, err))
		return err->rc;
	for (size_t i = 0; i < p->n; i++) {
		struct piece *x = &p->v[i];
		const int64_t *at = x->name ? NULL :
			bsearch(&x->id, ids, unique, sizeof(*ids), cmp_i64);

		if (at)
			x->name = texts[at - ids] ? texts[at - ids] :
				nsx_arena_printf(p->a, "id:%" PRId64, x->id);
	}
	return 0;
}

static int cmp_by_name(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	int c = (x->id < 0) - (y->id < 0);

	return c ? c : strcmp(x->name, y->name);
}

static int64_t inside(const struct nsx_trace *t, int64_t start, int64_t end)
{
	int64_t a = NSX_MAX(start, t->window.start_ns);
	int64_t b = NSX_MIN(end, t->window.end_ns);

	return NSX_MAX(b - a, 0);
}

static int fill(const struct nsx_trace *t, struct pieces *p,
		struct nsx_table *table, struct nsx_err *err)
{
	size_t next;

	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), cmp_by_name);
	for (size_t i = 0; i < p->n; i = next) {
		int64_t n = 0, total = 0, longest = 0, window = 0;
		struct nsx_cell *row;

		for (next = i; next < p->n &&
			       !cmp_by_name(&p->v[i], &p->v[next]); next++) {
			const struct piece *x = &p->v[next];
			int64_t ns = nsx_in_window(t, x->start_ns, x->end_ns);

			n += nsx_starts_inside(t, x->start_ns);
			nsx_add_to(&total, ns);
			longest = NSX_MAX(longest, ns);
			nsx_add_to(&window, inside(t, x->start_ns, x->end_ns));
		}
		if (!n && !total)
			continue;
		row = nsx_row(table, err);
		if (!row)
			return err->rc;
		row[SOURCE] = nsx_string(p->v[i].id < 0 ? "cupti" : "nsys");
		row[NAME] = nsx_string(p->v[i].name);
		row[COUNT] = nsx_int(n);
		row[TOTAL] = nsx_ms(total);
		row[LONGEST] = nsx_ms(longest);
		row[IN_WINDOW] = nsx_ms(window);
	}
	nsx_table_sort(table, NSX_DESC(IN_WINDOW), NSX_DESC(TOTAL), SOURCE,
		       NAME);
	return 0;
}

static int cmp_by_thread(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* The greatest time that one thread lost inside the window. */
static int64_t most_lost(const struct nsx_trace *t, struct pieces *p)
{
	int64_t most = 0, lost = 0, end = INT64_MIN;

	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), cmp_by_thread);
	for (size_t i = 0; i < p->n; i++) {
		const struct piece *x = &p->v[i];

		if (!i || x->thread != p->v[i - 1].thread)
			lost = 0, end = INT64_MIN;
		if (x->end_ns > end) {
			lost += inside(t, NSX_MAX(x->start_ns, end),
				       x->end_ns);
			end = x->end_ns;
		}
		most = NSX_MAX(most, lost);
	}
	return most;
}

static void judge(const struct nsx_trace *t, int64_t lost_ns,
		  struct nsx_section *out)
{
	int64_t window_ns = t->window.end_ns - t->window.start_ns;
	double pct = window_ns ? 100 * (double)lost_ns / (double)window_ns : 0;
	const char *text = nsx_say(
		out,
			"the profiler took at most %s of one thread inside the "
			"window (%.1f%%)",
			nsx_text_ns(out->arena, (double)lost_ns), pct);
	nsx_put(out, "most_lost_ms", nsx_ms(lost_ns));
	nsx_put(out, "most_lost_pct", nsx_real(pct));
	if (pct < 5)
		nsx_fine(&out->found, "Profiler overhead: %s.", text);
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	static const enum nsx_field fields[] = {
		NSX_F_profiler_overhead_start_ns,
		NSX_F_profiler_overhead_end_ns,
		NSX_F_profiler_overhead_global_tid,
		NSX_F_profiler_overhead_name};
	const struct nsx_trace *t = run->trace;
	struct nsx_table *table = nsx_add_table(out, &layouts[0]);
	struct pieces p = {.a = out->arena};
	int rc;

	if (!nsx_has_view(t->schema, NSX_VIEW_profiler_overhead) &&
	    !nsx_has_view(t->schema, NSX_VIEW_overhead))
		return nsx_cannot(out, "the trace has no rows of "
				       "PROFILER_OVERHEAD or "
				       "CUPTI_ACTIVITY_KIND_OVERHEAD");
	rc = nsx_view_scan(t->schema, NSX_VIEW_profiler_overhead, fields,
			   ARRAY_LEN(fields), 1, on_row, &p, 0, err);
	if (!rc)
		rc = resolve(run, &p, err);
	if (!rc)
		rc = add_cupti(t, &p, err);
	if (!rc)
		rc = fill(t, &p, table, err);
	if (!rc) {
		judge(t, most_lost(t, &p), out);
		if (p.defects)
			nsx_note(out, "%zu rows of overhead have no sound "
				      "start and end; left out", p.defects);
	}
	free(p.v);
	return rc;
}

NSX_DEFINE_PASS(profiler_cost) {
	.id = "profiler_cost",
	.title = "CPU",
	.summary = "time the profiler itself took",
	.doc = "Rows of the profiler's own overhead, and CUDA's overheads of "
	       "the types that tools cause (buffer flush, instrumentation, "
	       "resources), by what was done. most_lost_ms is the union of "
	       "both on the thread that lost most inside the window of GPU "
	       "work. Module loading, lazy loading and a full command buffer "
	       "are the program's own costs and not in it.",
	.derived_from = "profiler overhead rows; CUDA overheads of types 3 to "
			"5",
	.limitations = "slower calls and launches under tracing leave no rows "
		       "of their own",
	.any_of = {NSX_NEED_VIEW(profiler_overhead), NSX_NEED_VIEW(overhead)},
	.layouts = layouts,
	.nlayouts = ARRAY_LEN(layouts),
	.run = run,
};
