/* critical_walk.c - what the last work of the judged window waited for, step by
 * step backwards along the edges of the replay's model (facts/replay/replay.h).
 */
#include "passes/verdict/critical_path.h"
#include "base/stat.h"
#include "facts/replay/replay.h"

static const char *const class_names[NSX_NPATHS] = {
	[NSX_PATH_COMPUTE] = "compute", [NSX_PATH_COMM] = "comm",
	[NSX_PATH_COPY] = "copy", [NSX_PATH_LAUNCH] = "launch_to_start",
	[NSX_PATH_DISPATCH] = "dispatch", [NSX_PATH_CALL] = "call",
	[NSX_PATH_WAKE] = "wake", [NSX_PATH_QUEUE] = "queue_full",
	[NSX_PATH_HOST] = "host", [NSX_PATH_OUTSIDE] = "outside",
	[NSX_PATH_UNEXPLAINED] = "unexplained",
};

void path_walk(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_table *table)
{
	const struct nsx_closure *c = nsx_model_closure(run->facts->model);
	int64_t ns[NSX_NPATHS], all_ns = 0;

	if (c->cls == NSX_ABSTAINS) {
		nsx_note(out, "nothing was walked backwards: %s", c->reason);
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
		row[WALK_PCT_OF_PATH] = nsx_pct((double)ns[k], (double)all_ns);
	}
	nsx_table_sort(table, NSX_DESC(WALK_TOTAL_MS), WALK_CLASS);
}
