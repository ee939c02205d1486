/* cpu_threads.c - CPU time by thread, with names and time in CUDA calls. */
#include "passes/host/cpu_sched.h"
#include "schema/cells.h"
#include "schema/viewscan.h"

#define COLUMNS(X)                                                                                 \
	X(PID, "pid", I64, "process")                                                              \
	X(TID, "tid", I64, "thread")                                                               \
	X(THREAD, "thread_name", STR, "name of the thread")                                        \
	X(PROCESS, "process_name", STR, "name of the thread's process")                            \
	X(ON_CPU, "on_cpu_ms", F64, "time on a CPU", .adds = true)                                 \
	X(UTILISATION, "utilization_pct", F64, "share of the time in which scheduling was "        \
					       "traced")                                           \
	X(SWITCHES, "context_switches", I64, "times the thread left a CPU", .adds = true)          \
	X(MIGRATIONS, "migrations", I64, "times the thread returned on another "                   \
					 "CPU", .adds = true)                                      \
	X(API, "cuda_api_ms", F64, "time inside CUDA calls", .adds = true)
NSX_COLUMNS(cols, COLUMNS);
#define WAIT_COLUMNS(X)                                                                            \
	X(WAIT_PID, "pid", I64, "process")                                                         \
	X(WAIT_TID, "tid", I64, "thread")                                                          \
	X(WAIT_THREAD_NAME, "thread_name", STR, "name of the thread")                              \
	X(WAIT_PREEMPTIONS, "preemptions", I64, "times the thread left a CPU although it could "   \
						"run")                                             \
	X(WAIT_RUNNABLE_MS, "runnable_ms", F64, "time in which the thread could run but had no CPU")
NSX_COLUMNS(wait_cols, WAIT_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "rows", .csv = "cpu_threads", NSX_COLS(cols)},
	{.key = "waiting", NSX_COLS(wait_cols)},
};

/* Names --------------------------------------------------------------------*/

struct names { /* names of threads and processes, by thread of `all` */
	const struct cpu_threads *all;
	int64_t *id;	      /* string id of its name; -1: none */
	const char **text;
	const char **process; /* name of the process, at the first thread of each process */
	struct nsx_arena *a;
};

/* Names a thread. If it has several rows, the last one wins. */
static int on_thread_name(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			  struct nsx_err *err NSX_UNUSED)
{
	struct names *names = ctx;
	uint64_t thread = (uint64_t)v[0].u.i;
	size_t i;

	if (v[0].type != NSX_V_I64)
		return 0;
	i = cpu_lower_bound(names->all, thread);
	if (i == names->all->n || names->all->v[i].thread != thread)
		return 0;
	names->id[i] = nsx_i64_or(&v[1], -1);
	names->text[i] = v[1].type == NSX_V_TEXT ? nsx_val_text(&v[1], names->a) : NULL;
	return 0;
}

static int on_process_name(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			   struct nsx_err *err NSX_UNUSED)
{
	struct names *names = ctx;
	uint64_t key;
	size_t i;

	if (v[0].type == NSX_V_I64)
		key = nsx_process_key((uint64_t)v[0].u.i);
	else if (v[1].type == NSX_V_I64)
		key = (uint64_t)v[1].u.i << 24;
	else
		return 0;
	i = cpu_lower_bound(names->all, key);
	if (i < names->all->n && nsx_process_key(names->all->v[i].thread) == key)
		names->process[i] = nsx_val_text(&v[2], names->a);
	return 0;
}

static int find_names(const struct nsx_run *run, const struct cpu_threads *all,
		      struct names *names, struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_schema *s = run->trace->schema;
	const char **texts;

	*names = (struct names){.all = all, .a = a};
	nsx_few(names->id, run->scratch, all->n);
	nsx_few(names->text, run->scratch, all->n);
	nsx_few(names->process, run->scratch, all->n);
	for (size_t i = 0; i < all->n; i++)
		names->id[i] = -1;
	if (nsx_view_each(s, thread_name, on_thread_name, names, err,
			  global_tid, name) ||
	    nsx_view_each(s, process, on_process_name, names, err, global_pid, pid, name))
		return err->rc;
	for (size_t i = 1; i < all->n; i++)
		if (all->v[i].thread >> 24 == all->v[i - 1].thread >> 24)
			names->process[i] = names->process[i - 1];
	nsx_few(texts, run->scratch, all->n);
	if (nsx_view_strings(s, names->id, all->n, texts, a, err))
		return err->rc;
	for (size_t i = 0; i < all->n; i++) {
		if (names->id[i] >= 0)
			names->text[i] = texts[i];
		if (names->text[i])
			names->text[i] = nsx_thread_label(names->text[i]);
		if (names->process[i])
			names->process[i] = nsx_title_label(names->process[i]);
	}
	return 0;
}

/* Tables -------------------------------------------------------------------*/

/* The time of a thread in CUDA calls; called with ascending threads. */
static int64_t thread_api_ns(const struct nsx_trace *t, uint64_t thread, uint32_t *cursor)
{
	int64_t ns = 0, end = INT64_MIN;

	while (*cursor < t->nthreads && t->thread[*cursor].global_tid < thread)
		++*cursor;
	if (*cursor == t->nthreads || t->thread[*cursor].global_tid != thread)
		return 0;
	for (size_t i = t->thread[*cursor].calls_at;
	     i < t->thread[*cursor].calls_at + t->thread[*cursor].ncalls; i++) {
		int64_t a = NSX_MAX(nsx_call_start(&t->calls, i), end);

		if (nsx_call_end(&t->calls, i) <= a)
			continue;
		end = nsx_call_end(&t->calls, i);
		nsx_add_to(&ns, nsx_in_window(t, a, end));
	}
	return ns;
}

static int note_duration(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			 struct nsx_err *err NSX_UNUSED)
{
	int64_t *most = ctx;

	*most = NSX_MAX(*most, nsx_i64_or(v, INT64_MIN));
	return 0;
}

/* Finds the time in which scheduling was traced: from its first row to the end of the session,
 * because a sleeping thread has no row until it wakes or ends.
 */
static int find_scheduling_window(const struct nsx_trace *t, const struct cpu_threads *all,
				  struct nsx_window *ret, struct nsx_err *err)
{
	*ret = (struct nsx_window){INT64_MAX, INT64_MIN};
	if (nsx_view_each(t->schema, analysis, note_duration, &ret->end_ns, err, duration_ns))
		return err->rc;
	for (size_t i = 0; i < all->n; i++) {
		ret->start_ns = NSX_MIN(ret->start_ns, all->v[i].first.at_ns);
		ret->end_ns = NSX_MAX(ret->end_ns, all->v[i].last.at_ns);
	}
	if (ret->start_ns >= ret->end_ns)
		*ret = (struct nsx_window){0, 0};
	return 0;
}

static void cpu_threads_fill_rows(const struct nsx_run *run, const struct cpu_threads *all,
				  const struct names *names, int64_t of_ns, struct nsx_table *table)
{
	const struct nsx_trace *t = run->trace;
	uint32_t cursor = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct cpu_stretch *s = &all->v[i];
		struct nsx_cell *row = nsx_add_row(table);

		row[PID] = nsx_global_pid(t, s->thread);
		row[TID] = nsx_global_tid(s->thread);
		row[THREAD] = nsx_string(names->text[i]);
		row[PROCESS] = nsx_string(names->process[i]);
		row[ON_CPU] = nsx_ms(s->sums.on_ns);
		row[UTILISATION] = nsx_part_pct(s->sums.on_ns, of_ns);
		row[SWITCHES] = nsx_int(s->sums.switches);
		row[MIGRATIONS] = nsx_int(s->sums.migrations);
		if (nsx_has_view(t->schema, NSX_VIEW_runtime))
			row[API] = nsx_ms(thread_api_ns(t, s->thread, &cursor));
	}
	nsx_table_sort(table, NSX_DESC(ON_CPU), NSX_DESC(SWITCHES), PID, TID);
}

static void fill_waiting(const struct nsx_trace *t, const struct cpu_threads *all,
			 const struct names *names, struct nsx_table *table)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct cpu_stretch *s = &all->v[i];
		struct nsx_cell *row;

		if (!s->sums.preemptions)
			continue;
		row = nsx_add_row(table);
		row[WAIT_PID] = nsx_global_pid(t, s->thread);
		row[WAIT_TID] = nsx_global_tid(s->thread);
		row[WAIT_THREAD_NAME] = nsx_string(names->text[i]);
		row[WAIT_PREEMPTIONS] = nsx_int(s->sums.preemptions);
		row[WAIT_RUNNABLE_MS] = nsx_ms(s->sums.runnable_ns);
	}
	nsx_table_sort(table, NSX_DESC(WAIT_RUNNABLE_MS),
		       NSX_DESC(WAIT_PREEMPTIONS), WAIT_PID, WAIT_TID);
}

static void measure_busiest(const struct nsx_table *rows, int64_t of_ns, struct nsx_measured *m)
{
	const struct nsx_cell *top = nsx_row_at(rows, 0);

	for (size_t i = 1; i < rows->nrows; i++)
		m->busiest.others_ms += nsx_row_at(rows, i)[ON_CPU].u.f;
	m->busiest.name = top[THREAD].u.s ? top[THREAD].u.s : "without a name";
	m->busiest.tid = top[TID].u.i;
	m->busiest.on_ms = top[ON_CPU].u.f;
	m->busiest.of_ms = (double)of_ns / 1e6;
}

enum { MOST_SHOWN = 3 }; /* greatest number of rows in Markdown             */
#define SLIGHT 0.05	 /* threads that ran less than this share of the busiest are not shown */

static void cpu_threads_summarise(const struct nsx_trace *t,
				  const struct cpu_threads *all, int64_t of_ns,
				  const struct nsx_table *rows,
				  const struct nsx_table *waiting, struct nsx_section *out)
{
	if (rows->nrows)
		nsx_md_text(out, "%s ran; the busiest was on a CPU for %s of the "
			    "%s for which scheduling was recorded.",
			    nsx_text_n(out->arena, rows->nrows, "thread", NULL),
			    nsx_say_ms(out, nsx_row_at(rows, 0)[ON_CPU].u.f),
			    nsx_say_time(out, of_ns));
	if (rows->nrows)
		nsx_md_whole(out, rows, nsx_first_rows(rows, MOST_SHOWN, ON_CPU, SLIGHT *
						       nsx_row_at(rows, 0)[ON_CPU].u.f));
	if (waiting->nrows)
		nsx_md_whole(out, waiting, 0);
	if (!all->knows_states)
		nsx_note(out, "the trace does not say why threads left a CPU: runnable but waiting "
			      "cannot be distinguished from blocked");
	if (all->defects)
		nsx_note(out, "%zu scheduling rows without a time, thread or "
			      "direction are left out", all->defects);
	if (!nsx_has_view(t->schema, NSX_VIEW_runtime))
		nsx_note(out, "no CUDA calls in the trace: cuda_api_ms is unknown");
}

static int cpu_threads_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	struct nsx_table *rows = nsx_add_table(out, &layouts[0]);
	struct nsx_table *waiting = nsx_add_table(out, &layouts[1]);
	NSX_AT_EXIT(cpu_threads_done) struct cpu_threads all = {0};
	struct names names;
	int64_t of_ns;

	if (!nsx_has_view(run->trace->schema, NSX_VIEW_sched))
		return nsx_cannot(out, "the trace has no scheduling rows (SCHED_EVENTS); capture "
				       "them with --cpuctxsw=process-tree");
	if (cpu_threads_read(run, &all, err) || find_names(run, &all, &names, out->arena, err) ||
	    find_scheduling_window(run->trace, &all, &run->measured->scheduled, err))
		return err->rc;
	of_ns = nsx_in_window(run->trace, run->measured->scheduled.start_ns,
			      run->measured->scheduled.end_ns);
	cpu_threads_fill_rows(run, &all, &names, of_ns, rows);
	fill_waiting(run->trace, &all, &names, waiting);
	cpu_threads_summarise(run->trace, &all, of_ns, rows, waiting, out);
	cpu_launching_fill(run, &all, names.text, out);
	if (rows->nrows)
		measure_busiest(rows, of_ns, run->measured);
	return 0;
}

NSX_DEFINE_PASS(cpu_threads,
	.title = "CPU",
	.subject = "CPU scheduling",
	.summary = "time on a CPU, switches and migrations by thread",
	.doc = "A thread is on a CPU from a switch in to its next row. A thread that is still on "
	       "a CPU at the end adds nothing after its last row. A thread whose first row is a "
	       "switch out adds nothing before it, because its start on the CPU is not known. "
	       "Utilisation is relative to the time from the first scheduling row to the end of "
	       "the session. Context switches are switches out; a migration is a switch in on "
	       "another CPU than before. Runnable but waiting is the time from a switch out in a "
	       "runnable state to the next switch in, if the trace has states. cuda_api_ms is "
	       "time inside outermost CUDA calls. For threads that launched GPU work: the CPUs "
	       "in their rows in the window, and the location of the GPU.",
	.derived_from = "scheduling rows by thread, in order of time; CUDA calls",
	.limitations = "only threads of the traced process tree; other processes on the CPU are "
		       "not seen; exports do not contain the NUMA node of a CPU",
	.any_of = {NSX_NEED_VIEW(sched)},
	NSX_LAYOUTS(layouts),
	.more = (const struct nsx_layout *const[]){&cpu_launching_layout, NULL},
	.measures = true);
