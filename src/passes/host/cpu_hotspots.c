/* cpu_hotspots.c - what threads ran while the CPU was sampled, by innermost function and by
 * its call site in the program.
 */
#include "passes/pass.h"

#define COLUMNS(X)                                                                                \
	X(PID, "pid", I64, "process")                                                             \
	X(TID, "tid", I64, "thread")                                                              \
	X(FUNCTION, "function", STR, "innermost function; null: its module has no symbols")       \
	X(MODULE, "module", STR, "file of the function, without its folder")                      \
	X(ORIGIN, "origin", STR, "owner of the code: program, library, system, cuda, profiler")   \
	X(SITE, "called_from", STR, "innermost function of the program itself, otherwise of a "   \
				    "library")                                                    \
	X(SITE_MODULE, "called_from_module", STR,                                                 \
	  "file of that function", .title = "called from module")                                 \
	X(SAMPLES, "samples", I64, "samples of this function at this site", .adds = true)         \
	X(PCT, "pct_of_samples", F64, "share of all samples", .adds = true)                       \
	X(IDLE, "gpu_idle_samples", I64,                                                          \
	  "samples while the process had no work on a GPU, between its first and last GPU work; " \
	  "null: it has none", .adds = true)                                                      \
	X(ON_LAUNCH, "on_launch_thread", BOOL, "whether the thread launches GPU work")
NSX_COLUMNS(cols, COLUMNS);
#define THREAD_COLUMNS(X)                                                     \
	X(T_PID, "pid", I64, "process")                                       \
	X(T_TID, "tid", I64, "thread")                                        \
	X(T_NAME, "thread_name", STR, "name of the thread")                   \
	X(T_SAMPLES, "samples", I64, "samples of this thread", .adds = true)  \
	X(T_PCT, "pct_of_samples", F64, "share of all samples", .adds = true) \
	X(T_IDLE, "gpu_idle_samples", I64,                                    \
	  "samples while the process had no work on a GPU", .adds = true)
NSX_COLUMNS(thread_cols, THREAD_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "rows", .csv = "cpu_hotspots", NSX_COLS(cols)},
	{.key = "threads", NSX_COLS(thread_cols)},
};

/* When a process has no GPU work ------------------------------------------------- */

struct work { /* state for the process of the current threads */
	uint32_t process;
	struct nsx_spans busy;
	int64_t first_ns, last_ns;
};

static int read_process_gpu_work(const struct nsx_run *run, uint32_t process,
				 struct work *w, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	size_t n = 0;

	*w = (struct work){.process = process, .first_ns = INT64_MAX,
			   .last_ns = INT64_MIN};
	if (process == NSX_NONE)
		return 0;
	for (size_t i = 0; i < t->ops.n; i++)
		n += nsx_op_process(t, i) == process;
	if (!nsx_new_array(w->busy.v, run->scratch, n, "GPU work", err))
		return err->rc;
	for (size_t i = 0; i < t->ops.n; i++) {
		struct nsx_span s = {nsx_op_start(&t->ops, i), nsx_op_end(&t->ops, i)};

		if (nsx_op_process(t, i) != process)
			continue;
		w->busy.v[w->busy.n++] = s;
		w->first_ns = NSX_MIN(w->first_ns, s.start_ns);
		w->last_ns = NSX_MAX(w->last_ns, s.end_ns);
	}
	nsx_spans_normalise(&w->busy);
	return 0;
}

static bool is_gpu_idle_at(const struct work *w, int64_t at_ns)
{
	size_t i;

	if (at_ns < w->first_ns || at_ns >= w->last_ns)
		return false;
	i = nsx_spans_find(&w->busy, at_ns);
	return i == w->busy.n || w->busy.v[i].start_ns > at_ns;
}

/* Counting -----------------------------------------------------------------------*/

struct count {
	int64_t samples, idle;
};
struct tally {
	struct nsx_groups keys; /* (sampled thread, stack)                    */
	struct count *v;
	struct count *thread; /* samples by sampled thread                    */
	int64_t samples, by_origin[NSX_NORIGINS];
	bool has_work;
};

static int count_thread_samples(const struct nsx_run *run, uint32_t thread,
				const struct work *w, struct tally *y, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_sampled *s = &t->sampled[thread];

	for (size_t i = s->at; i < s->at + s->n; i++) {
		int64_t at_ns = nsx_unpack(&t->samples.start, i);
		uint32_t stack = t->samples.stack[i];
		bool idle = is_gpu_idle_at(w, at_ns);
		struct count *x;

		if (!nsx_starts_inside(t, at_ns))
			continue;
		x = nsx_group_value(&y->keys, &y->v, thread, stack, "hot functions", err);
		if (!x)
			return err->rc;
		x->samples++;
		x->idle += idle;
		y->thread[thread].samples++;
		y->thread[thread].idle += idle;
		y->samples++;
		if (stack != NSX_NONE)
			y->by_origin[t->frame[t->stack[stack].leaf].origin]++;
	}
	return 0;
}

static int cpu_hotspots_count_all(const struct nsx_run *run, struct tally *y, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct work w = {.process = NSX_NONE, .first_ns = INT64_MAX,
			 .last_ns = INT64_MIN};

	nsx_few(y->thread, run->scratch, t->nsampled);
	for (uint32_t i = 0; i < t->nsampled; i++) {
		uint32_t process = nsx_process_find(t, nsx_process_key(t->sampled[i].global_tid));

		if (process != w.process && read_process_gpu_work(run, process, &w, err))
			return err->rc;
		y->has_work |= w.busy.n > 0;
		if (count_thread_samples(run, i, &w, y, err))
			return err->rc;
	}
	return 0;
}

/* Tables ---------------------------------------------------------------------------*/

static void put_frame_cells(const struct nsx_trace *t, uint32_t frame,
			    struct nsx_cell *function, struct nsx_cell *module)
{
	*function = nsx_text_cell(t, t->frame[frame].function);
	*module = nsx_text_cell(t, t->frame[frame].module);
}

static void cpu_hotspots_fill_rows(const struct nsx_trace *t, const struct tally *y,
				   struct nsx_table *table)
{
	for (size_t g = 0; g < y->keys.n; g++) {
		const struct nsx_sampled *s = &t->sampled[nsx_group_key(&y->keys, g).a];
		uint32_t stack = (uint32_t)nsx_group_key(&y->keys, g).b;
		struct nsx_cell *row = nsx_add_row(table);

		row[PID] = nsx_global_pid(t, s->global_tid);
		row[TID] = nsx_global_tid(s->global_tid);
		if (stack != NSX_NONE) {
			const struct nsx_stack *k = &t->stack[stack];

			put_frame_cells(t, k->leaf, &row[FUNCTION], &row[MODULE]);
			row[ORIGIN] = nsx_string(nsx_origin_names[t->frame[k->leaf].origin]);
			if (k->site != NSX_NONE)
				put_frame_cells(t, k->site, &row[SITE], &row[SITE_MODULE]);
		}
		row[SAMPLES] = nsx_int(y->v[g].samples);
		row[PCT] = nsx_part_pct(y->v[g].samples, y->samples);
		row[IDLE] = nsx_int(y->v[g].idle);
		row[ON_LAUNCH] = nsx_launches_cell(t, s->global_tid);
	}
	nsx_table_sort(table, NSX_DESC(SAMPLES), PID, TID, FUNCTION, MODULE,
		       SITE, SITE_MODULE, ORIGIN);
}

static void cpu_hotspots_fill_threads(const struct nsx_trace *t, const struct tally *y,
				      struct nsx_table *table)
{
	for (uint32_t i = 0; i < t->nsampled; i++) {
		const struct nsx_sampled *s = &t->sampled[i];
		struct nsx_cell *row;

		if (!y->thread[i].samples)
			continue;
		row = nsx_add_row(table);
		row[T_PID] = nsx_global_pid(t, s->global_tid);
		row[T_TID] = nsx_global_tid(s->global_tid);
		row[T_NAME] = nsx_text_cell(t, s->name);
		row[T_SAMPLES] = nsx_int(y->thread[i].samples);
		row[T_PCT] = nsx_part_pct(y->thread[i].samples, y->samples);
		row[T_IDLE] = nsx_int(y->thread[i].idle);
	}
	nsx_table_sort(table, NSX_DESC(T_SAMPLES), T_PID, T_TID);
}

static const char *say_sample_call_sites(const struct tally *y, struct nsx_section *out)
{
	static const char *const words[NSX_NORIGINS] = {
		"in the program's own code", "in libraries",
		"in the operating system", "in CUDA", "in the profiler"};
	const char *text = "";

	for (unsigned i = 0; i < NSX_NORIGINS; i++)
		if (y->by_origin[i])
			text = nsx_say(out, "%s, %s %s", text,
				       nsx_text_share(out->arena,
						      (double)y->by_origin[i],
						      (double)y->samples),
				       words[i]);
	return text;
}

/* Whether some row has no site name. Such rows differ only in the module. */
static bool has_unnamed_site(const struct nsx_table *rows)
{
	return NSX_ANY(i, NSX_MIN(rows->nrows, (size_t)NSX_MAX_MD_ROWS),
		       nsx_row_at(rows, i)[SITE].type == NSX_T_NULL &&
		       nsx_row_at(rows, i)[SITE_MODULE].type != NSX_T_NULL);
}

static void cpu_hotspots_show(const struct nsx_table *rows, bool has_work, struct nsx_section *out)
{
	int column[8] = {TID, FUNCTION, MODULE, SITE};
	size_t n = 4;

	if (has_unnamed_site(rows))
		column[n++] = SITE_MODULE;
	column[n++] = SAMPLES;
	column[n++] = PCT;
	if (has_work)
		column[n++] = IDLE;
	nsx_md_table_of(out, rows, has_work ? 3 : 0, column, n);
}

static void cpu_hotspots_summarise(const struct tally *y, const struct nsx_table *rows,
				   const struct nsx_table *threads, bool is_scheduled,
				   struct nsx_section *out)
{
	nsx_put(out, "samples", nsx_int(y->samples));
	for (unsigned i = 0; i < NSX_NORIGINS; i++)
		nsx_put(out, nsx_say(out, "pct_%s", nsx_origin_names[i]),
			nsx_part_pct(y->by_origin[i], y->samples));
	nsx_md_bullet(out, "%s of threads that ran on a CPU%s.",
		      nsx_text_n(out->arena, (size_t)y->samples, "sample",
				 NULL), say_sample_call_sites(y, out));
	cpu_hotspots_show(rows, y->has_work, out);
	if (threads->nrows > 1 && !is_scheduled)
		nsx_md_table(out, threads, 3, T_PID, T_TID, T_NAME, T_SAMPLES, T_PCT);
}

static int cpu_hotspots_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_table *rows = nsx_add_table(out, &layouts[0]);
	struct nsx_table *threads = nsx_add_table(out, &layouts[1]);
	NSX_AT_EXIT(nsx_sums_done) struct tally y = {.v = NULL};

	if (cpu_hotspots_count_all(run, &y, err))
		return err->rc;
	cpu_hotspots_fill_rows(t, &y, rows);
	cpu_hotspots_fill_threads(t, &y, threads);
	cpu_hotspots_summarise(&y, rows, threads, nsx_has_view(t->schema, NSX_VIEW_sched), out);
	return 0;
}

NSX_DEFINE_PASS(cpu_hotspots,
	.title = "CPU",
	.summary = "sampled functions of the CPU and where they were called",
	.doc = "Samples of running threads by thread, innermost function and site. The site is the "
	       "innermost function of the stack in the program's own code, otherwise in a library; "
	       "code of the system, of CUDA and of the profiler is skipped. A sample counts as GPU "
	       "idle if its process has nothing on a GPU at that time, between its first and its "
	       "last GPU work. A waiting thread is not sampled, so shares are of time on a CPU, "
	       "not of wall-clock time.",
	.derived_from = "CPU samples and their stacks",
	.limitations = "a few samples prove little; inlined functions appear as the functions that "
		       "contain them, and interpreted code (Python) as its interpreter",
	.needs = {NSX_NEED_VIEW(sample)},
	NSX_LAYOUTS(layouts));
