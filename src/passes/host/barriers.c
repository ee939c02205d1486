/* barriers.c - where the host waited and what it cost, from the waits that facts/barriers.c found.
 */
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(KIND, "barrier_kind", STR, "class of the wait")                                          \
	X(API, "api_name", STR, "the call, or cpu_launcher_gap")                                   \
	X(COUNT, "count", I64, "events that began in the window")                                  \
	X(TOTAL_MS, "total_time_ms", F64, "time the host spent in them")                           \
	X(AVG, "avg_duration_us", F64, "total over count")                                         \
	X(MAX, "max_duration_us", F64, "longest")                                                  \
	X(BUSY, "gpu_busy_ms", F64, "part of this time in which a GPU of the process worked")      \
	X(IDLE, "gpu_idle_ms", F64, "part of this time, in the window, in which no GPU of the "    \
				    "process worked")                                              \
	X(COST, "cost_ms", F64, "device idle time that follows from these "                        \
				"events", .title = "idle after")                                   \
	X(PID, "pid", I64, "process; not in the table of all processes")
NSX_COLUMNS(cols, COLUMNS);
#define PROCESS_COLUMNS(X)                                                                         \
	X(P_PID, "pid", I64, "process")                                                            \
	X(P_TOTAL, "total_barrier_time_ms", F64, "time its threads spent in barriers")             \
	X(P_COUNT, "barrier_event_count", I64, "events")                                           \
	X(P_TOP, "top_barrier", STR, "barrier with the highest cost, or of equal cost with the "   \
				     "longest time")                                               \
	X(P_KIND, "top_barrier_kind", STR, "class of that wait")
NSX_COLUMNS(process_cols, PROCESS_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "barriers", .csv = "barriers", .cols = cols, .ncols = PID},
	{.key = "barriers_by_pid", NSX_COLS(cols)},
	{.key = "pids", NSX_COLS(process_cols)},
};

struct total {
	uint32_t process; /* NSX_NONE: all processes */
	nsx_str name;
	uint8_t kind;
	bool known; /* whether the GPU's work was recorded */
	int64_t n, ns, max_ns, busy_ns, idle_ns, cost_ns;
};
struct totals {
	struct nsx_groups groups;
	struct total *v;
};

static void add_barrier_to_totals(struct totals *x, const struct nsx_trace *t, uint32_t process,
				  const struct nsx_barrier *b)
{
	bool starts = nsx_starts_inside(t, b->start_ns);
	struct total *s;

	if (!starts && !b->wait_ns && !b->cost_ns)
		return; /* the barrier lies outside the window */
	s = nsx_group_few(&x->groups, &x->v, (uint64_t)process << 8 | b->kind, b->name);
	s->process = process;
	s->name = b->name;
	s->kind = b->kind;
	s->n += starts;
	nsx_add_to(&s->ns, b->wait_ns);
	s->max_ns = NSX_MAX(s->max_ns, b->wait_ns);
	nsx_add_to(&s->cost_ns, b->cost_ns);
	if (b->gpu_busy_ns < 0)
		return;
	s->known = true;
	nsx_add_to(&s->busy_ns, b->gpu_busy_ns);
	nsx_add_to(&s->idle_ns, b->gpu_idle_ns);
}

static const char *barriers_name_of(const struct nsx_trace *t, const struct total *s)
{
	return s->kind == NSX_BARRIER_LAUNCHER_GAP ? "cpu_launcher_gap" : nsx_text(t, s->name);
}

/* Fills rows by kind of barrier, for all processes together or for each process. */
static void fill_barriers(const struct nsx_trace *t, const struct totals *x,
			  struct nsx_table *table)
{
	for (size_t g = 0; g < x->groups.n; g++) {
		const struct total *s = &x->v[g];
		struct nsx_cell *row = nsx_add_row(table);

		row[KIND] = nsx_string(nsx_barrier_names[s->kind]);
		row[API] = nsx_string(barriers_name_of(t, s));
		row[COUNT] = nsx_int(s->n);
		row[TOTAL_MS] = nsx_ms(s->ns);
		row[AVG] = nsx_mean_us(s->ns, s->n);
		row[MAX] = nsx_us((double)s->max_ns);
		if (s->known) {
			row[BUSY] = nsx_ms(s->busy_ns);
			row[IDLE] = nsx_ms(s->idle_ns);
		}
		row[COST] = nsx_ms(s->cost_ns);
		if (s->process != NSX_NONE)
			row[PID] = nsx_pid_cell(t, s->process);
	}
}

/* Adds rows by process. Barriers are sorted by thread, so groups of a process are adjacent. */
static void fill_processes(const struct nsx_trace *t, const struct totals *x,
			   struct nsx_table *table)
{
	NSX_EACH_RUN(g, next, x->groups.n, x->v[next].process == x->v[g].process) {
		const struct total *top = &x->v[g];
		int64_t ns = 0, n = 0;
		struct nsx_cell *row;

		for (size_t k = g; k < next; k++) {
			const struct total *s = &x->v[k];

			nsx_add_to(&ns, s->ns);
			n += s->n;
			if (s->cost_ns > top->cost_ns ||
			    (s->cost_ns == top->cost_ns && s->ns > top->ns))
				top = s;
		}
		if (!n && !ns)
			continue;
		row = nsx_add_row(table);
		row[P_PID] = nsx_pid_cell(t, x->v[g].process);
		row[P_TOTAL] = nsx_ms(ns);
		row[P_COUNT] = nsx_int(n);
		row[P_TOP] = nsx_string(barriers_name_of(t, top));
		row[P_KIND] = nsx_string(nsx_barrier_names[top->kind]);
	}
	nsx_table_sort(table, NSX_DESC(P_TOTAL), P_PID, P_TOP);
}

static void barriers_fill_tables(const struct nsx_run *run, struct nsx_section *out)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_table *all = nsx_add_table(out, &layouts[0]);
	struct nsx_table *by_pid = nsx_add_table(out, &layouts[1]);
	struct nsx_table *pids = nsx_add_table(out, &layouts[2]);
	NSX_AT_EXIT(nsx_sums_done) struct totals whole = {.v = NULL};
	NSX_AT_EXIT(nsx_sums_done) struct totals each = {.v = NULL};

	for (size_t i = 0; i < run->facts->nbarriers; i++) {
		const struct nsx_barrier *b = &run->facts->barriers[i];

		add_barrier_to_totals(&whole, t, NSX_NONE, b);
		add_barrier_to_totals(&each, t, t->thread[b->thread].process, b);
	}
	fill_barriers(t, &whole, all);
	fill_barriers(t, &each, by_pid);
	fill_processes(t, &each, pids);
	nsx_table_sort(all, NSX_DESC(COST), NSX_DESC(TOTAL_MS), NSX_DESC(COUNT), API, KIND);
	nsx_table_sort(by_pid, PID, NSX_DESC(COST), NSX_DESC(TOTAL_MS), NSX_DESC(COUNT), API, KIND);
}

enum { MOST_SHOWN = 3 }; /* greatest number of rows in Markdown */

/* Says how long all waits take, and how long GPUs are idle after them. Removing the waits may win
 * less, because the host may do much else before the next launch.
 */
static void say_wait_totals(struct nsx_section *out, const struct nsx_table *all)
{
	const char *pause = nsx_barrier_names[NSX_BARRIER_LAUNCHER_GAP];
	double cost_ms = 0, waits_ms = 0, pauses_ms = 0;

	for (size_t r = 0; r < all->nrows; r++) {
		const struct nsx_cell *row = nsx_row_at(all, r);

		*(strcmp(row[KIND].u.s, pause) ? &waits_ms : &pauses_ms) += row[TOTAL_MS].u.f;
		cost_ms += row[COST].u.f;
	}
	nsx_md_text(out, "%s take %s of the host's time in total%s; %s.",
		    waits_ms > 0 ? "Waits" : "Pauses between launches",
		    nsx_say_ms(out, waits_ms > 0 ? waits_ms : pauses_ms),
		    waits_ms > 0 && pauses_ms > 0 ?
		    nsx_say(out, ", pauses between launches %s", nsx_say_ms(out, pauses_ms)) : "",
		    cost_ms > 0 ?
		    nsx_say(out, "%s of GPU idle time follow them (see Idle by cause)",
			    nsx_say_ms(out, cost_ms)) :
		    "no GPU idle time follows them");
}

static int barriers_run(const struct nsx_run *run, struct nsx_section *out,
			struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_table *all;
	size_t shown = 0;

	barriers_fill_tables(run, out);
	all = out->tables[0];
	nsx_put(out, "launcher_gap_threshold_us", nsx_int(50));
	if (all->nrows)
		say_wait_totals(out, all);
	while (shown < MOST_SHOWN && shown < all->nrows && nsx_row_at(all, shown)[COST].u.f > 0)
		shown++;
	if (shown)
		nsx_md_table(out, all, shown, KIND, API, TOTAL_MS, COUNT, AVG, MAX, COST);
	if (!nsx_has_view(run->trace->schema, NSX_VIEW_osrt))
		nsx_note(out, "no OS runtime calls in the trace: host_wait is not known");
	if (all->nrows)
		nsx_headline(out, "Top barrier: %s [%s] (%.1f ms, %lld events)",
			     all->cells[API].u.s, all->cells[KIND].u.s, all->cells[TOTAL_MS].u.f,
			     (long long)all->cells[COUNT].u.i);
	return 0;
}

NSX_DEFINE_PASS(barriers,
	.title = "Waits and launches",
	.summary = "where the host waits for the GPU, and what the waits cost",
	.doc = "Events of each host thread. sync_api: Stream-, Device-, Ctx-, Event-, "
	       "ThreadSynchronize. blocking_memcpy: copies without Async in their name, and Async "
	       "ones whose copy overlaps the call and touches pageable memory or lies at least "
	       "half inside the call. implicit_sync: free, pinned allocation, module load, and "
	       "device allocation of 100 us or more. host_wait: outermost OS runtime calls of "
	       "threads that launch, without the time in API calls. cpu_launcher_gap: time between "
	       "two launches of a thread, if at least 50 us, without all of the above. A call "
	       "inside another barrier counts once. gpu_busy: the part in which any GPU used by "
	       "the process works. cost: each gap of a device that is ended by an op whose launch "
	       "began in the gap is charged once: to the last wait of the launching thread that "
	       "began before the gap, ended at most 5 us before it and was over when the launch "
	       "began; otherwise to the cpu_launcher_gap around its start or in it; otherwise to "
	       "the last wait in it.",
	.derived_from = "runtime and driver calls, OS runtime calls of "
			"launching threads, gaps of the devices",
	.limitations = "the cost is charged to the wait before a late launch, which may be only "
		       "one of its causes",
	.caveat = "rows are ranked by the idle time that follows, not by how long the host waited; "
		   "unlike in nsys-llm-explain, async copies from pageable memory count as "
		   "blocking, stream waits for events do not, and launcher gaps are those of one "
		   "thread",
	.needs = {NSX_NEED_VIEW(runtime)},
	NSX_LAYOUTS(layouts));
