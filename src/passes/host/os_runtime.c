/* os_runtime.c - OS runtime calls by thread and function, summed by the loader. */
#include "facts/outside.h"
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(PID, "pid", I64, "process")                                                              \
	X(TID, "tid", I64, "thread")                                                               \
	X(API, "api_name", STR, "function of the OS runtime")                                      \
	X(COUNT, "count", I64, "outermost calls", .adds = true)                                    \
	X(TOTAL, "total_time_ms", F64, "sum of their durations", .adds = true)                     \
	X(AVG, "avg_us", F64, "total over count")                                                  \
	X(MAX, "max_us", F64, "longest")                                                           \
	X(ON_LAUNCH, "on_launch_thread", BOOL, "whether the thread launches GPU work")
NSX_COLUMNS(cols, COLUMNS);
#define KIND_COLUMNS(X)                                                                            \
	X(K_KIND, "kind", STR, "purpose of the calls, by their names")                             \
	X(K_COUNT, "count", I64, "outermost calls")                                                \
	X(K_TOTAL, "total_time_ms", F64, "sum of their durations")                                 \
	X(K_LAUNCH, "launch_thread_ms", F64, "part of the time on threads that launch GPU work")   \
	X(K_MAX, "max_us", F64, "longest")
NSX_COLUMNS(kind_cols, KIND_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "rows", .csv = "os_runtime", NSX_COLS(cols)},
	{.key = "kinds", NSX_COLS(kind_cols)},
};

enum { MOST_SHOWN = 3 }; /* greatest number of rows in Markdown             */
#define SLIGHT 0.01	 /* rows below this share of the first row are not shown */

struct spent {
	int64_t count, total_ns, launch_ns, max_ns;
};

static void fill_kinds(const struct spent *v, struct nsx_table *table)
{
	for (unsigned k = 0; k < NSX_N_OS_PURPOSES; k++) {
		struct nsx_cell *row;

		if (!v[k].total_ns && !v[k].count)
			continue;
		row = nsx_add_row(table);
		row[K_KIND] = nsx_string(nsx_os_purpose_names[k]);
		row[K_COUNT] = nsx_int(v[k].count);
		row[K_TOTAL] = nsx_ms(v[k].total_ns);
		row[K_LAUNCH] = nsx_ms(v[k].launch_ns);
		row[K_MAX] = nsx_us((double)v[k].max_ns);
	}
	nsx_table_sort(table, NSX_DESC(K_TOTAL), K_KIND);
}

/* Joins the calls of one function from all its sites. Returns the index after the last of them. */
static size_t sum_sites_of_function(const struct nsx_trace *t, size_t i, struct nsx_osrt_sum *ret)
{
	const struct nsx_osrt_sum *s = &t->osrt_sum[i];

	*ret = *s;
	for (i++, s++; i < t->nosrt_sums && s->global_tid == ret->global_tid &&
		       s->name == ret->name; i++, s++) {
		ret->count += s->count;
		nsx_add_to(&ret->total_ns, s->total_ns);
		ret->max_ns = NSX_MAX(ret->max_ns, s->max_ns);
	}
	return i;
}

static void say_os_time(struct nsx_section *out, int64_t launch_ns, const struct nsx_table *by_kind)
{
	const char *text = "";

	for (size_t i = 0; i < by_kind->nrows; i++) {
		const struct nsx_cell *x = nsx_row_at(by_kind, i);

		text = nsx_say(out, "%s%s%s %s", text, i ? ", " :
			       " By purpose, all threads together: ",
			       x[K_KIND].u.s, nsx_say_ms(out, x[K_TOTAL].u.f));
	}
	nsx_md_bullet(out, "%s%s%s", launch_ns ?
		nsx_say(out, "Threads that launch GPU work spend %s in OS runtime calls; Waits and "
			"launches shows how much of it the GPU waits for.",
			nsx_say_time(out, launch_ns)) :
		"No thread that launches GPU work spends time in OS runtime "
		"calls.", text, *text ? "." : "");
}

static int os_runtime_run(const struct nsx_run *run, struct nsx_section *out,
			  struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_table *table = nsx_add_table(out, &layouts[0]);
	struct nsx_table *by_kind = nsx_add_table(out, &layouts[1]);
	struct spent spent[NSX_N_OS_PURPOSES] = {{0}}, *x;
	int64_t launch_ns = 0;

	for (size_t i = 0; i < t->nosrt_sums;) {
		struct nsx_osrt_sum sum, *s = &sum;
		int64_t on_launch_ns;
		struct nsx_cell *row;

		i = sum_sites_of_function(t, i, s);
		if (!s->count && !s->total_ns)
			continue; /* all its calls are outside the window */
		row = nsx_add_row(table);
		row[PID] = nsx_global_pid(t, s->global_tid);
		row[TID] = nsx_global_tid(s->global_tid);
		row[API] = nsx_string(nsx_text(t, s->name));
		row[COUNT] = nsx_int(s->count);
		row[TOTAL] = nsx_ms(s->total_ns);
		row[AVG] = nsx_mean_us(s->total_ns, s->count);
		row[MAX] = nsx_us((double)s->max_ns);
		row[ON_LAUNCH] = nsx_launches_cell(t, s->global_tid);
		on_launch_ns = row[ON_LAUNCH].u.b ? s->total_ns : 0;
		nsx_add_to(&launch_ns, on_launch_ns);
		x = &spent[nsx_purpose_of(nsx_text(t, s->name), NULL)];
		x->count += s->count;
		nsx_add_to(&x->total_ns, s->total_ns);
		nsx_add_to(&x->launch_ns, on_launch_ns);
		x->max_ns = NSX_MAX(x->max_ns, s->max_ns);
	}
	nsx_table_sort(table, NSX_DESC(ON_LAUNCH), NSX_DESC(TOTAL), NSX_DESC(COUNT), PID, TID, API);
	fill_kinds(spent, by_kind);
	nsx_put(out, "launch_thread_ms", nsx_ms(launch_ns));
	say_os_time(out, launch_ns, by_kind);
	if (table->nrows)
		nsx_md_whole(out, table, nsx_first_rows(table, MOST_SHOWN, TOTAL, SLIGHT *
							nsx_row_at(table, 0)[TOTAL].u.f));
	return 0;
}

NSX_DEFINE_PASS(os_runtime,
	.title = "CPU",
	.subject = "OS runtime calls",
	.summary = "OS runtime calls by thread and function",
	.doc = "Outermost OS runtime calls (nesting level 0) by thread and function: count, sum, "
	       "mean and longest. A waiting call is not a loss in itself: threads that launch no "
	       "GPU work mostly wait. Rows without a nesting level are the profiler's own notices, "
	       "not calls. The second table groups calls by purpose, as their names show it: files "
	       "and network if the name is clear; read, write and close work on both.",
	.derived_from = "OS runtime calls, outermost only, by thread",
	.limitations = "calls shorter than the capture's threshold (1 us by "
		       "default) were not recorded",
	.needs = {NSX_NEED_VIEW(osrt)},
	NSX_LAYOUTS(layouts));
