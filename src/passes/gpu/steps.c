/* steps.c - steps of an inference engine or a training loop: how long each kind takes, and for how
 * much of that a GPU works.
 */
#include <inttypes.h>
#include "facts/steps/limit.h"
#include "passes/gpu/steps.h"

NSX_COLUMN_ARRAY(group_cols, GROUP_COLUMNS);
NSX_COLUMN_ARRAY(layer_cols, LAYER_COLUMNS);
NSX_COLUMN_ARRAY(unsure_cols, UNSURE_COLUMNS);
#define COLUMNS(X)                                                                                 \
	X(R_PROCESS, "process", I64, "pid of the process")                                         \
	X(R_DEVICE, "device_id", I64, "CUDA ordinal")                                              \
	X(R_NAME, "range_name", STR, "name of the range")                                          \
	X(R_KIND, "kind", STR, "decode, prefill, mixed, idle or training")                         \
	X(R_REQUESTS, "request_count", I64, "requests; null: not known")                           \
	X(R_TOKENS, "token_count", I64, "tokens; null: not known")                                 \
	X(R_START, "start_ns", I64, "the range begins")                                            \
	X(R_END, "end_ns", I64, "the range ends")                                                  \
	X(R_GPU_START, "gpu_start_ns", I64, "start of the step's GPU time")                        \
	X(R_WORK_END, "work_end_ns", I64, "end of the step's last GPU work")                       \
	X(R_GPU_END, "gpu_end_ns", I64,                                                            \
	  "start of the next step's GPU time; for the last step: work_end_ns")               \
	X(R_COMPUTE, "compute_ns", I64, "from gpu_start_ns to gpu_end_ns: a kernel computes")      \
	X(R_COMM, "comm_exposed_ns", I64, "only communication runs")                               \
	X(R_COPY, "copy_exposed_ns", I64, "only copies run")                                       \
	X(R_IDLE, "idle_inside_ns", I64, "nothing runs before work_end_ns")                        \
	X(R_BETWEEN, "idle_between_ns", I64, "nothing runs after work_end_ns")                     \
	X(R_SCHEDULER, "scheduler_ns", I64, "the part of idle_between_ns during host_gap_ns")      \
	X(R_GAP, "host_gap_ns", I64, "from end_ns to the next step of the thread; null: the last " \
				     "step")                                                       \
	X(R_LAUNCHES, "launch_count", I64, "calls that launch")                                    \
	X(R_REPLAYS, "replay_count", I64, "graph launches among these calls")                      \
	X(R_STALLS, "stalls", BOOL, "whether requests that decode wait for this prefill")
NSX_COLUMNS(cols, COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "kinds", .csv = "steps", NSX_COLS(group_cols),
	 .json_rows = NSX_ALL_ROWS},
	{.key = "sizes", .csv = "steps_by_size", NSX_COLS(group_cols),
	 .json_rows = NSX_ALL_ROWS},
	{.key = "layers", .csv = "steps_layers", NSX_COLS(layer_cols),
	 .json_rows = NSX_ALL_ROWS},
	{.key = "unsure", .csv = "steps_unsure", NSX_COLS(unsure_cols)},
	{.key = "rows", .csv = "steps_each", NSX_COLS(cols)},
};

NSX_ORDER(cmp_measured_steps, struct steps_timed, UP(step->name.kind), TEXT(step->name.engine),
	  UP(size));

static struct steps_timed time_step(const struct nsx_facts *f, const struct nsx_engine_step *s)
{
	const struct nsx_device_facts *d = &f->device[s->device];
	int64_t end = NSX_MIN(s->work_end_ns, s->gpu_end_ns), size = nsx_step_size(&s->name);
	struct nsx_window scheduler = {NSX_MAX(end, s->end_ns),
				       NSX_MIN(s->gpu_end_ns, s->end_ns + s->host_gap_ns)};
	struct nsx_partition all, inside, outside = {{0}};

	nsx_partition(d, s->gpu_start_ns, s->gpu_end_ns, &all);
	nsx_partition(d, s->gpu_start_ns, end, &inside);
	if (scheduler.start_ns < scheduler.end_ns)
		nsx_partition(d, scheduler.start_ns, scheduler.end_ns, &outside);
	return (struct steps_timed){
		.step = s, .size = size < 1 ? -1 : 63 - __builtin_clzll((uint64_t)size),
		.ns = {s->gpu_end_ns - s->gpu_start_ns, nsx_computing_ns(all.ns),
		       all.ns[NSX_P_COMPUTE_COMM], all.ns[NSX_P_COMM_EXPOSED],
		       all.ns[NSX_P_COPY_EXPOSED], inside.ns[NSX_P_IDLE],
		       all.ns[NSX_P_IDLE] - inside.ns[NSX_P_IDLE], outside.ns[NSX_P_IDLE]}};
}

static struct nsx_cell count_or_null(int64_t n)
{
	return n < 0 ? nsx_null() : nsx_int(n);
}

static void steps_add_row(struct steps_work *w, const struct steps_timed *x)
{
	const struct nsx_trace *t = w->run->trace;
	const struct nsx_engine_step *s = x->step;
	struct nsx_cell *row = nsx_add_row(w->table[ROWS]);

	row[R_PROCESS] = nsx_pid_cell(t, s->process);
	row[R_DEVICE] = nsx_device_cell(t, s->device);
	row[R_NAME] = nsx_name_cell(t, w->table[ROWS], s->text);
	row[R_KIND] = nsx_string(nsx_step_kinds[s->name.kind]);
	row[R_REQUESTS] = count_or_null(s->name.requests);
	row[R_TOKENS] = count_or_null(s->name.tokens);
	row[R_START] = nsx_int(s->start_ns);
	row[R_END] = nsx_int(s->end_ns);
	row[R_GPU_START] = nsx_int(s->gpu_start_ns);
	row[R_WORK_END] = nsx_int(s->work_end_ns);
	row[R_GPU_END] = nsx_int(s->gpu_end_ns);
	row[R_COMPUTE] = nsx_int(STEPS_NS(x, COMPUTE));
	for (unsigned c = COMM; c <= SCHEDULER; c++)
		row[R_COMM + c - COMM] = nsx_int(STEPS_NS(x, c));
	row[R_GAP] = count_or_null(s->host_gap_ns);
	row[R_LAUNCHES] = nsx_int(s->launches);
	row[R_REPLAYS] = nsx_int(s->replays);
	row[R_STALLS] = nsx_bool(s->stalls);
}

struct sums {
	int64_t requests, tokens, launches, replays, missed, stall;
	int64_t ns[SCHEDULER - TOTAL + 1]; /* sums of the columns of steps_timed */
};

static struct sums sum_step_times(const struct steps_timed *v, size_t n)
{
	struct sums a = {0};

	for (size_t i = 0; i < n; i++) {
		const struct nsx_engine_step *s = v[i].step;

		/* A sum over some of the steps would be set against the time of all. */
		a.requests = NSX_MIN(a.requests, s->name.requests) < 0 ? -1 :
			     a.requests + s->name.requests;
		a.tokens = NSX_MIN(a.tokens, s->name.tokens) < 0 ? -1 :
			   a.tokens + s->name.tokens;
		for (unsigned c = 0; c < ARRAY_LEN(a.ns); c++)
			a.ns[c] += v[i].ns[c];
		a.launches += s->launches;
		a.replays += s->replays;
		a.missed += !s->replays;
		a.stall += s->stalls ? STEPS_NS(&v[i], TOTAL) : 0;
	}
	return a;
}

/* Makes the cell of the median GPU time of the steps that do, or do not, replay a graph. */
static struct nsx_cell median_by_graph(struct steps_work *w, const struct steps_timed *v, size_t n,
				       bool replays)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (!v[i].step->replays != replays)
			w->scratch[k++] = STEPS_NS(&v[i], TOTAL);
	return k ? nsx_real(nsx_quantile(w->scratch, k, 0.5) / 1e6) : nsx_null();
}

/* Fills the sizes of steps that ran without a CUDA graph although others of their kind replay one,
 * and their time beside that of the others.
 */
static void put_graph_misses(struct steps_work *w, const struct steps_timed *v, size_t n,
			     struct nsx_cell *row)
{
	int64_t least = INT64_MAX, most = -1, of = 0;

	row[MISSED_P50] = median_by_graph(w, v, n, false);
	row[REPLAYED_P50] = median_by_graph(w, v, n, true);
	for (size_t i = 0; i < n; i++)
		if (!v[i].step->replays && v[i].size >= 0) {
			least = NSX_MIN(least, nsx_step_size(&v[i].step->name));
			most = NSX_MAX(most, nsx_step_size(&v[i].step->name));
		}
	if (most < least)
		return;
	for (size_t i = 0; i < n; i++)
		of += nsx_step_size(&v[i].step->name) >= least &&
		      nsx_step_size(&v[i].step->name) <= most;
	row[MISSED_LEAST] = nsx_int(least);
	row[MISSED_MOST] = nsx_int(most);
	row[MISSED_OF] = nsx_int(of);
}

/* Medians of GPU time, range lengths, and times between ranges. */
static void put_step_medians(struct steps_work *w, const struct steps_timed *v, size_t n,
			     struct nsx_cell *row)
{
	static const double qs[] = {0.5, 0.95};
	int64_t *ns = w->scratch;
	size_t ngaps = 0;
	double q[2];

	if (row[MISSED].type != NSX_T_NULL)
		put_graph_misses(w, v, n, row);
	for (size_t i = 0; i < n; i++)
		ns[i] = STEPS_NS(&v[i], TOTAL);
	nsx_quantiles(ns, n, qs, 2, q);
	row[P50] = nsx_real(q[0] / 1e6);
	row[P95] = nsx_real(q[1] / 1e6);
	for (size_t i = 0; i < n; i++)
		ns[i] = v[i].step->end_ns - v[i].step->start_ns;
	row[HOST] = nsx_real(nsx_quantile(ns, n, 0.5) / 1e6);
	for (size_t i = 0; i < n; i++)
		if (v[i].step->host_gap_ns >= 0)
			ns[ngaps++] = v[i].step->host_gap_ns;
	if (ngaps)
		row[GAP] = nsx_real(nsx_quantile(ns, ngaps, 0.5) / 1e6);
}

static int64_t count_gpus(struct steps_work *w, const struct steps_timed *v, size_t n)
{
	int64_t gpus = 0;

	memset(w->has_steps, 0, w->run->trace->ndevices * sizeof(*w->has_steps));
	for (size_t i = 0; i < n; i++) {
		gpus += !w->has_steps[v[i].step->device];
		w->has_steps[v[i].step->device] = true;
	}
	return gpus;
}

static const char *steps_say_size(struct steps_work *w, int size)
{
	int64_t from = size < 0 ? 0 : (int64_t)1 << size;

	if (size < 1)
		return size < 0 ? NULL : "1";
	return nsx_say(w->out, "%" PRId64 "-%" PRId64, from, 2 * from - 1);
}

/* Makes the cell of a share of the GPU's peak. A share above 100 % is refused, because the model
 * or the data type must be wrong.
 */
static struct nsx_cell peak_share_cell(struct steps_work *w, const char *what, const char *kind,
				       double part, double whole, bool *refused)
{
	if (!(part > 0) || !(whole > 0))
		return nsx_null();
	if (part <= whole)
		return nsx_pct(part, whole);
	if (!w->refused)
		nsx_warn(w->out, "%s of %s steps would be %.0f %% of the GPU's peak, which is "
			 "not shown: --model describes another model or data type than the one "
			 "that ran, or fewer GPUs than those that share a step",
			 what, kind, 100 * part / whole);
	*refused = w->refused = true;
	return nsx_null();
}

/* Fills the shares of the GPU's peak. If one is refused, so is the other: the model is wrong. */
static void put_peak_shares(struct steps_work *w, const struct nsx_engine_step *first,
			    const struct sums *a, size_t n, struct nsx_cell *row)
{
	const struct nsx_llm *m = w->run->opts->model;
	const struct nsx_gpu_info *gpu = nsx_device_gpu(w->run->trace, first->device);
	bool trains = first->name.kind == NSX_STEP_TRAINING, refused = false;
	int64_t tokens = trains ? (int64_t)n * (m ? m->tokens : 0) : a->tokens;
	double s = (double)STEPS_NS(a, TOTAL) / 1e9;
	const char *kind = nsx_step_kinds[first->name.kind];

	if (!m || !gpu || tokens <= 0)
		return;
	row[MFU] = peak_share_cell(w, "operations", kind, nsx_llm_operations(m, tokens, trains) / s,
				   nsx_llm_peak(m, gpu), &refused);
	if (!trains)
		row[BANDWIDTH] = peak_share_cell(w, "bytes", kind,
			nsx_llm_bytes(m, (int64_t)n, first->name.kind == NSX_STEP_DECODE ?
						     tokens : 0) / s,
			(double)gpu->bandwidth_bytes_per_s, &refused);
	if (refused)
		row[MFU] = row[BANDWIDTH] = nsx_null();
}

static void steps_add_group(struct steps_work *w, struct nsx_table *table,
			    const struct steps_timed *v, size_t n, bool by_size, bool has_graphs)
{
	struct nsx_cell *row = nsx_add_row(table);
	struct sums a = sum_step_times(v, n);

	row[ENGINE] = nsx_string(v->step->name.engine);
	row[KIND] = nsx_string(nsx_step_kinds[v->step->name.kind]);
	row[SIZE] = nsx_string(by_size ? steps_say_size(w, v->size) : NULL);
	row[COUNT] = nsx_int((int64_t)n);
	row[GPUS] = nsx_int(count_gpus(w, v, n));
	row[REQUESTS] = count_or_null(a.requests);
	row[TOKENS] = count_or_null(a.tokens);
	for (unsigned c = TOTAL; c <= SCHEDULER; c++)
		row[c] = nsx_int(STEPS_NS(&a, c));
	row[BUSY] = nsx_part_pct(STEPS_NS(&a, COMPUTE) + STEPS_NS(&a, COMM) + STEPS_NS(&a, COPY),
				 STEPS_NS(&a, TOTAL));
	row[LAUNCHES] = nsx_int(a.launches);
	row[MISSED] = has_graphs ? nsx_int(a.missed) : nsx_null();
	row[STALL] = nsx_int(a.stall);
	put_peak_shares(w, v->step, &a, n, row);
	put_step_medians(w, v, n, row);
}

/* Fills groups of steps with the same kind and engine. Steps are sorted by kind, engine and
 * size.
 */
static void steps_add_groups(struct steps_work *w)
{
	const struct steps_timed *v = w->v;

	NSX_EACH_RUN(i, next, w->n, v[next].step->name.kind == v[i].step->name.kind &&
		     !strcmp(v[next].step->name.engine, v[i].step->name.engine)) {
		bool has_graphs = sum_step_times(v + i, next - i).replays > 0;
		size_t from = w->table[SIZES]->nrows;

		for (size_t k = i; k < next; k++)
			w->group[v[k].step - w->steps->v] = (uint32_t)w->table[KINDS]->nrows;
		steps_add_group(w, w->table[KINDS], v + i, next - i, false, has_graphs);
		NSX_EACH_RUN(k, end, next - i, v[i + end].size == v[i + k].size)
			steps_add_group(w, w->table[SIZES], v + i + k, end - k, true, has_graphs);
		w->sizes_at[w->table[KINDS]->nrows - 1] = from;
	}
}

static int steps_fill_tables(struct steps_work *w, struct nsx_err *err)
{
	const struct nsx_engine_steps *steps = w->steps;
	struct nsx_arena *a = w->run->scratch;

	if (nsx_new_arrays(a, steps->n, "steps", err, w->v, w->scratch, w->group, w->sizes_at))
		return err->rc;
	nsx_few(w->has_steps, a, w->run->trace->ndevices);
	nsx_table_expect(w->table[ROWS], steps->n, w->run->opts->held_rows);
	for (size_t i = 0; i < steps->n; i++) {
		w->v[i] = time_step(w->run->facts, &steps->v[i]);
		w->total_ns += STEPS_NS(&w->v[i], TOTAL);
		steps_add_row(w, &w->v[i]);
	}
	w->n = steps->n;
	nsx_sort(w->v, w->n, sizeof(*w->v), cmp_measured_steps);
	steps_add_groups(w);
	if (steps_add_layers(w, err))
		return err->rc;
	if (w->table[SIZES]->nrows > w->table[KINDS]->nrows)
		nsx_md_table(w->out, w->table[SIZES], 0, KIND, SIZE, COUNT, P50, P95,
			     BUSY, IDLE, BETWEEN, MISSED);
	return 0;
}

static int steps_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	struct steps_work w = {.run = run, .out = out, .table = nsx_add_tables(out),
			       .steps = &run->measured->steps};

	if (nsx_steps_build(run->trace, &run->measured->steps, err))
		return err->rc;
	if (w.steps->n)
		return steps_fill_tables(&w, err);
	out->status = NSX_S_NULL;
	return 0;
}

NSX_DEFINE_PASS(steps,
	.title = "Steps",
	.summary = "steps of an inference engine or a training loop, by kind and size",
	.doc = "Steps are NVTX ranges named as vLLM, SGLang, TensorRT-LLM, PyTorch and training "
	       "loops name them (those of a loop in processes without an engine); a range inside "
	       "another one of its thread is part of that step. GPU work belongs to the step of "
	       "the thread that launched it, otherwise to the step of its process that began "
	       "last. The GPU time of a step goes from its first work to that of the next one on "
	       "that device. Copies beside kernels of earlier steps do not start it. It is "
	       "divided to the nanosecond into computing, exposed communication, exposed copies, "
	       "idle time inside, and idle time between steps. Size classes are powers of two. A "
	       "prefill stalls decoding if the steps before and after it decode, the latter for "
	       "more requests than the prefill brought.",
	.derived_from = "NVTX ranges by name, and the GPU work they launched",
	.limitations = "a pause without requests counts as idle between steps; if several threads "
		       "run steps in one process, the time of a step contains work of others",
	.any_of = {NSX_GPU_WORK},
	NSX_LAYOUTS(layouts),
	.may_be_null = true, .measures = true);
