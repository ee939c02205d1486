/* sync.c - calls that wait for the GPU, by name as the API spells it. */
#include <stdlib.h>
#include "base/group.h"
#include "passes/pass.h"
#include "base/stat.h"

#define COLUMNS(X)                                                            \
	X(API, "api_name", STR, "the call, with its version suffix")          \
	X(CALLS, "call_count", I64, "calls that began in the window")         \
	X(TOTAL_MS, "total_time_ms", F64, "time inside the call")             \
	X(AVG, "avg_duration_us", F64, "total over count")
NSX_COLUMNS(cols, COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "sync_calls", NSX_COLS(cols), .json_rows = -1},
};

struct total {
	nsx_str name;
	int64_t n, ns;
};
struct totals {
	struct nsx_groups groups;
	struct total *v;
	size_t cap;
};

static int add_call(const struct nsx_trace *t, struct totals *x, size_t i,
		    struct nsx_err *err)
{
	uint32_t g;

	if (nsx_group(&x->groups, nsx_call_name(&t->calls, i), 0, &g, err) ||
	    nsx_grow(&x->v, &x->cap, x->groups.n, sizeof(*x->v), "sync calls",
		     err))
		return err->rc;
	x->v[g].name = nsx_call_name(&t->calls, i);
	x->v[g].n += nsx_starts_inside(t, nsx_call_start(&t->calls, i));
	nsx_add_to(&x->v[g].ns, nsx_in_window(t, nsx_call_start(&t->calls, i),
				    nsx_call_end(&t->calls, i)));
	return 0;
}

static void fill_syncs(const struct nsx_trace *t, const struct totals *x,
		       struct nsx_table *table)
{
	for (size_t g = 0; g < x->groups.n; g++) {
		struct nsx_cell *row;

		if (!x->v[g].n && !x->v[g].ns)
			continue; /* all outside the window */
		row = nsx_add_row(table);
		row[API] = nsx_string(nsx_text(t, x->v[g].name));
		row[CALLS] = nsx_int(x->v[g].n);
		row[TOTAL_MS] = nsx_ms(x->v[g].ns);
		if (x->v[g].n)
			row[AVG] = nsx_us((double)x->v[g].ns /
					  (double)x->v[g].n);
	}
	nsx_table_sort(table, NSX_DESC(TOTAL_MS), NSX_DESC(CALLS), API);
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_table *table = nsx_add_table(out, &layouts[0]);
	struct totals x = {.cap = 0};
	size_t nested = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < t->calls.n; i++) {
		if (t->calls.cls[i] != NSX_CALL_SYNC)
			continue;
		nested += !!(t->calls.flags[i] & NSX_CALL_NESTED);
		rc = add_call(t, &x, i, err);
	}
	if (!rc)
		fill_syncs(t, &x, table);
	nsx_groups_done(&x.groups);
	free(x.v);
	if (rc)
		return rc;
	nsx_put(out, "table", nsx_string(
		t->schema->table[NSX_VIEW_runtime]->name));
	if (nested)
		nsx_note(out, "%zu of these calls lie inside another call: "
			 "rows of different names overlap; the barriers count "
			 "such time once", nested);
	nsx_note(out, "unlike nsys-llm-explain, calls that do not block the "
		      "host (stream wait on an event, queries) are not listed");
	return 0;
}

NSX_DEFINE_PASS(sync) {
	.id = "sync",
	.title = "Waits and launches",
	.summary = "calls that wait for the GPU, by API name",
	.doc = "Runtime and driver calls named Stream-, Device-, Ctx-, Event- "
	       "or ThreadSynchronize (suffixes like _v3020 and _ptsz aside), "
	       "summed by raw name. The time is that of the call on the host; "
	       "it says nothing about what the wait costs: that is in the "
	       "barriers. Rows of the synchronization table are the same "
	       "waits once more and are not added.",
	.derived_from = "runtime and driver API rows, by name",
	.limitations = "waiting is not losing: a wait while the GPU works "
		       "costs nothing (see the barriers)",
	.needs = {NSX_NEED_VIEW(runtime)},
	NSX_LAYOUTS(layouts),
	.run = run,
};
