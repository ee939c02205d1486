/* sync.c - calls that wait for the GPU, by API name. */
#include "passes/pass.h"

#define COLUMNS(X)                                                            \
	X(API, "api_name", STR, "the call, with its version suffix")          \
	X(CALLS, "call_count", I64, "calls that began in the window")         \
	X(TOTAL_MS, "total_time_ms", F64, "time inside the call")             \
	X(AVG, "avg_duration_us", F64, "total over count")
NSX_LAYOUT_OF(layout, COLUMNS, .key = "sync_calls", .json_rows = NSX_ALL_ROWS);

struct totals {
	struct nsx_groups names;
	struct total {
		int64_t n, ns;
	} *v;
};

static void fill_syncs(const struct nsx_trace *t, const struct totals *all,
		       struct nsx_table *table)
{
	for (size_t g = 0; g < all->names.n; g++) {
		const struct total *x = &all->v[g];
		struct nsx_cell *row;

		if (!x->n && !x->ns)
			continue; /* all its calls are outside the window */
		row = nsx_add_row(table);
		row[API] = nsx_string(nsx_text(t, (nsx_str)nsx_group_key(&all->names, g).a));
		row[CALLS] = nsx_int(x->n);
		row[TOTAL_MS] = nsx_ms(x->ns);
		row[AVG] = nsx_mean_us(x->ns, x->n);
	}
	nsx_table_sort(table, NSX_DESC(TOTAL_MS), NSX_DESC(CALLS), API);
}

static int sync_run(const struct nsx_run *run, struct nsx_section *out,
		    struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_table *table = nsx_add_table(out, &layout);
	NSX_AT_EXIT(nsx_sums_done) struct totals all = {.v = NULL};
	size_t nested = 0;

	for (size_t i = 0; i < t->calls.n; i++) {
		struct total *x;

		if (t->calls.cls[i] != NSX_CALL_SYNC)
			continue;
		x = nsx_group_few(&all.names, &all.v, nsx_call_name(&t->calls, i), 0);
		nested += !!(t->calls.flags[i] & NSX_CALL_NESTED);
		x->n += nsx_starts_inside(t, nsx_call_start(&t->calls, i));
		nsx_add_to(&x->ns, nsx_call_inside(t, i));
	}
	fill_syncs(t, &all, table);
	nsx_put(out, "table", nsx_string(t->schema->table[NSX_VIEW_runtime]->name));
	if (nested)
		nsx_note(out, "%zu of these calls lie inside another call, so rows of different "
			 "names overlap; the barriers count such time once", nested);
	return 0;
}

NSX_DEFINE_PASS(sync,
	.title = "Waits and launches",
	.summary = "calls that wait for the GPU, by API name",
	.doc = "Runtime and driver calls named Stream-, Device-, Ctx-, Event- or ThreadSynchronize "
	       "(ignoring suffixes like _v3020 and _ptsz), summed by raw name. The time is that of "
	       "the call on the host and does not show what the wait costs: that is in the "
	       "barriers. Rows of the synchronization table describe the same waits and are not "
	       "added.",
	.derived_from = "runtime and driver API rows, by name",
	.limitations = "a wait is not a loss: while the GPU works it costs nothing (see the "
		       "barriers)",
	.caveat = "unlike nsys-llm-explain, calls that do not block the host "
		   "(stream wait on an event, queries) are not listed",
	.needs = {NSX_NEED_VIEW(runtime)},
	NSX_LAYOUT(layout));
