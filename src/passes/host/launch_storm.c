/* launch_storm.c - how fast kernels come, how small they are, and whether the
 * GPU waits for their launches.
 */
#include <stdlib.h>
#include "base/group.h"
#include "passes/pass.h"
#include "base/stat.h"
#include "passes/host/launching.h"
#include "passes/host/storm.h"
#include "report/words.h"

enum { TINY_US = 5, TINY_ROWS = 20 };

#define TINY_COLUMNS(X)                                                       \
	X(TINY_KERNEL_NAME, "kernel_name", STR, "full name")                  \
	X(TINY_CALL_COUNT, "call_count", I64, "executions")                   \
	X(TINY_AVG_DURATION_US, "avg_duration_us", F64, "mean, at most 5")
NSX_COLUMNS(tiny_cols, TINY_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "tiny_kernels", NSX_COLS(tiny_cols), .json_rows = TINY_ROWS},
	{.key = "launchers", NSX_COLS(nsx_launcher_cols)},
};

/* Kernels ---------------------------------------------------------------------*/

struct kernels {
	int64_t *ns; /* durations of those counted */
	size_t n;
	int64_t first_ns, last_ns;
	struct nsx_cell figure[NSX_STORM_NCOLUMNS];
};
#define FIGURES(X) NSX_STORM_COLUMNS(X, "")
NSX_COLUMNS(figures, FIGURES);

static bool is_counted_kernel(const struct nsx_trace *t, size_t op)
{
	return t->ops.kind[op] == NSX_OP_KERNEL && nsx_op_counts(t, op);
}

static int read_kernels(const struct nsx_run *run, struct kernels *k,
			struct nsx_err *err)
{
	const struct nsx_ops *o = &run->trace->ops;

	k->first_ns = INT64_MAX;
	k->last_ns = INT64_MIN;
	if (!nsx_new_array(k->ns, run->scratch, o->n, "kernel durations", err))
		return err->rc;
	for (size_t i = 0; i < o->n; i++) {
		if (!is_counted_kernel(run->trace, i))
			continue;
		k->ns[k->n++] = nsx_op_ns(o, i);
		k->first_ns = NSX_MIN(k->first_ns, nsx_op_start(o, i));
		k->last_ns = NSX_MAX(k->last_ns, nsx_op_end(o, i));
	}
	return 0;
}

static void put_kernels(struct kernels *k, struct nsx_section *out)
{
	nsx_storm_cells(k->ns, k->n, k->last_ns - k->first_ns, k->figure);
	for (unsigned i = 0; i < NSX_STORM_NCOLUMNS; i++)
		nsx_put(out, figures[i].key, k->figure[i]);
	for (int i = 0; i < 2; i++) {
		const struct nsx_storm_threshold *x = &nsx_storm_thresholds[i];

		nsx_put(out, nsx_say(out, "storm_thresholds."
				     "launches_per_s_threshold_%d", i + 1),
			nsx_int((int64_t)x->launches_per_s));
		nsx_put(out, nsx_say(out, "storm_thresholds."
				     "p50_kernel_us_threshold_%d", i + 1),
			nsx_int((int64_t)x->p50_kernel_us));
	}
	nsx_put(out, "tiny_kernel_us", nsx_int(TINY_US));
}

struct named {
	nsx_str name;
	int64_t n, ns;
};

static int fill_tiny(const struct nsx_trace *t, struct nsx_groups *groups,
		     struct named **v, struct nsx_table *table,
		     struct nsx_err *err)
{
	size_t cap = 0;
	uint32_t g;

	for (size_t i = 0; i < t->ops.n; i++) {
		if (!is_counted_kernel(t, i))
			continue;
		if (nsx_group(groups, nsx_op_name(t, i), 0, &g, err) ||
		    nsx_grow(v, &cap, groups->n, sizeof(**v), "kernel names",
			     err))
			return err->rc;
		(*v)[g].name = nsx_op_name(t, i);
		(*v)[g].n++;
		nsx_add_to(&(*v)[g].ns, nsx_op_ns(&t->ops, i));
	}
	for (size_t k = 0; k < groups->n; k++) {
		const struct named *x = &(*v)[k];
		struct nsx_cell *row;

		if (x->ns > x->n * TINY_US * 1000)
			continue;
		row = nsx_add_row(table);
		row[TINY_KERNEL_NAME] = nsx_string(nsx_text(t, x->name));
		row[TINY_CALL_COUNT] = nsx_int(x->n);
		row[TINY_AVG_DURATION_US] =
			nsx_us((double)x->ns / (double)x->n);
	}
	nsx_table_sort(table, NSX_DESC(TINY_CALL_COUNT), TINY_KERNEL_NAME);
	return 0;
}

static void say_kernels(struct nsx_section *out, const struct nsx_cell *f,
			int64_t bound_ns)
{
	long long n = f[STORM_LAUNCHES].u.i;
	double per_s = f[STORM_RATE].type ? f[STORM_RATE].u.f : 0;

	nsx_headline(out, "Launch storm: %lld launches over %.3fs = %.1f "
		     "launches/s; median kernel %.2f us", n,
		     f[STORM_WINDOW].u.f, per_s, f[STORM_P50].u.f);
	nsx_md_bullet(out,
		"%s over %s, %s a second; duration median %s, p90 %s, p99 %s%s",
		nsx_text_n(out->arena, (size_t)n, "kernel", NULL),
		nsx_text_ns(out->arena, f[STORM_WINDOW].u.f * 1e9),
		nsx_text_count(out->arena, per_s),
		nsx_text_ns(out->arena, f[STORM_P50].u.f * 1e3),
		nsx_text_ns(out->arena, f[STORM_P90].u.f * 1e3),
		nsx_text_ns(out->arena, f[STORM_P99].u.f * 1e3),
		bound_ns < 0 ? "" :
		nsx_say(out, "; launch-bound: **%s** of device idle time in gaps "
			"below 1 ms ended when a late launch returned",
			nsx_text_ns(out->arena, (double)bound_ns)));
	if (f[STORM_FLAG].u.b)
		nsx_md_bullet(out, "A launch storm by rate and size");
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	struct nsx_table *tiny = nsx_add_table(out, &layouts[0]);
	struct nsx_table *launchers = nsx_add_table(out, &layouts[1]);
	struct nsx_groups groups = {0};
	struct kernels k = {0};
	struct named *names = NULL;
	int64_t bound_ns;
	int rc;

	if (read_kernels(run, &k, err))
		return err->rc;
	if (!k.n)
		return nsx_cannot(out, "no kernel began in the window");
	put_kernels(&k, out);
	rc = fill_tiny(run->trace, &groups, &names, tiny, err);
	nsx_groups_done(&groups);
	free(names);
	if (rc || nsx_put_launching(run, out, launchers, &bound_ns, err))
		return err->rc;
	run->measured->storm.is_storm = k.figure[STORM_FLAG].u.b;
	run->measured->storm.per_s = k.figure[STORM_RATE].u.f;
	run->measured->storm.median_ns = k.figure[STORM_P50].u.f * 1e3;
	run->measured->storm.bound_ns = bound_ns;
	say_kernels(out, k.figure, bound_ns);
	nsx_note(out, "the flag is computed as in nsys-llm-explain, over all "
		      "processes and devices; it does not say that anything "
		      "was lost: launch_bound_ms does");
	return 0;
}

NSX_DEFINE_PASS(launch_storm) {
	.id = "launch_storm",
	.title = "Waits and launches",
	.summary = "rate and size of kernels; time lost to late launches",
	.doc = "rate = kernels / (last kernel end - first kernel start). "
	       "is_launch_storm: rate >= 50000/s and median <= 10 us, or rate "
	       ">= 100000/s and median <= 20 us. pct_under_N: kernels shorter "
	       "than N us. tiny_kernels: names whose mean is at most 5 us. "
	       "launch_bound: over the gaps of each device below 1 ms, [a,b), "
	       "that are ended by an op with a call r that returned after a: "
	       "min(b, r.end) - a. launchers splits it by thread and device.",
	.derived_from = "kernel rows; for launch-bound time the API calls "
			"that launched what ends each gap",
	.limitations = "kernels inside a graph launch are counted one by one "
		       "though one call launched them",
	.needs = {NSX_NEED_VIEW(kernel)},
	NSX_LAYOUTS(layouts),
	.measures = true,
	.run = run,
};
