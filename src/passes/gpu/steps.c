/* steps.c - steps of an inference engine or a training loop: how long each kind takes, and
 * how much of that a GPU worked.
 */
#include <inttypes.h>
#include <string.h>
#include "facts/steps/limit.h"
#include "facts/steps/steps.h"
#include "passes/nvtx/phase.h"
#include "passes/pass.h"

#define GROUP_COLUMNS(X)                                                      \
	X(ENGINE, "engine", STR, "whose names the ranges have")               \
	X(KIND, "kind", STR, "decode, prefill, mixed, idle or training")      \
	X(SIZE, "size", STR,                                                  \
	  "requests that decode, or tokens of prompts; null: all sizes")      \
	X(COUNT, "count", I64, "steps on a device")                           \
	X(REQUESTS, "request_count", I64, "requests in them; null: not told") \
	X(TOKENS, "token_count", I64, "tokens in them; null: not told")       \
	X(P50, "p50_ms", F64, "median of their GPU time")                     \
	X(P95, "p95_ms", F64, "95th percentile of it")                        \
	X(TOTAL, "total_ns", I64, "their GPU time")                           \
	X(COMPUTE, "compute_ns", I64, "of it: a kernel computes")             \
	X(HIDDEN, "comm_hidden_ns", I64,                                      \
	  "of that: beside communication")                                    \
	X(COMM, "comm_exposed_ns", I64, "of it: only communication runs")     \
	X(COPY, "copy_exposed_ns", I64, "of it: only copies run")             \
	X(IDLE, "idle_inside_ns", I64,                                        \
	  "of it: nothing runs, before the step's last work ends")            \
	X(BETWEEN, "idle_between_ns", I64,                                    \
	  "of it: nothing runs, after that")                                  \
	X(BUSY, "busy_pct", F64, "share of it in which something runs")       \
	X(HOST, "host_p50_ms", F64, "median length of their ranges")          \
	X(GAP, "host_gap_p50_ms", F64,                                        \
	  "median time of the thread from a range to that of the next step")  \
	X(LAUNCHES, "launch_count", I64, "calls that launch")                 \
	X(MISSED, "graph_missed_count", I64,                                  \
	  "steps that replay no graph, of a kind that does; null: none does") \
	X(MFU, "mfu_pct", F64,                                                \
	  "share of the GPU's peak that the model's operations are; null: no --model, " \
	  "or it does not fit")                                               \
	X(BANDWIDTH, "bandwidth_pct", F64,                                    \
	  "share of memory's peak that reading weights and KV cache once is; the same") \
	X(STALL, "stall_ns", I64,                                             \
	  "GPU time of prefills for which requests that decode wait")
NSX_COLUMNS(group_cols, GROUP_COLUMNS);
#define COLUMNS(X)                                                            \
	X(R_PROCESS, "process", I64, "pid of the process")                    \
	X(R_DEVICE, "device_id", I64, "CUDA ordinal")                         \
	X(R_NAME, "range_name", STR, "name of the range")                     \
	X(R_KIND, "kind", STR, "decode, prefill, mixed, idle or training")    \
	X(R_REQUESTS, "request_count", I64, "requests; null: not told")       \
	X(R_TOKENS, "token_count", I64, "tokens; null: not told")             \
	X(R_START, "start_ns", I64, "the range begins")                       \
	X(R_END, "end_ns", I64, "the range ends")                             \
	X(R_GPU_START, "gpu_start_ns", I64, "its first GPU work begins")      \
	X(R_WORK_END, "work_end_ns", I64, "its last GPU work ends")           \
	X(R_GPU_END, "gpu_end_ns", I64,                                       \
	  "first GPU work of the next step begins; of the last: work_end_ns") \
	X(R_COMPUTE, "compute_ns", I64, "from gpu_start_ns to gpu_end_ns: a " \
	  "kernel computes")                                                  \
	X(R_COMM, "comm_exposed_ns", I64, "only communication runs")          \
	X(R_COPY, "copy_exposed_ns", I64, "only copies run")                  \
	X(R_IDLE, "idle_inside_ns", I64,                                      \
	  "nothing runs, before work_end_ns")                                 \
	X(R_BETWEEN, "idle_between_ns", I64, "nothing runs, after it")        \
	X(R_GAP, "host_gap_ns", I64,                                          \
	  "end_ns to the next step of the thread; null: the last")            \
	X(R_LAUNCHES, "launch_count", I64, "calls that launch")               \
	X(R_REPLAYS, "replay_count", I64, "graph launches among them")        \
	X(R_STALLS, "stalls", BOOL,                                           \
	  "a prefill for which requests that decode wait")
NSX_COLUMNS(cols, COLUMNS);
#define LAYER_COLUMNS(X)                                                      \
	X(L_ENGINE, "engine", STR, "whose names the ranges have")             \
	X(L_KIND, "kind", STR, "of the steps")                                \
	X(L_LAYER, "layer", STR, "what their kernels are for by their names, " \
	  "CUDA graphs: inside those traced as a whole; or what else "   \
	  "the time is")                                                      \
	X(L_NS, "total_ns", I64, "of their GPU time")                         \
	X(L_PCT, "pct_of_steps", F64, "share of it")
NSX_COLUMNS(layer_cols, LAYER_COLUMNS);
#define UNSURE_COLUMNS(X)                                                     \
	X(U_NAME, "kernel_name", STR, "kernel whose name says nothing")       \
	X(U_NS, "total_ns", I64, "computing time in steps")                   \
	X(U_PCT, "pct_of_compute", F64, "share of that of all steps")
NSX_COLUMNS(unsure_cols, UNSURE_COLUMNS);
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
enum { KINDS, SIZES, LAYERS, UNSURE, ROWS };

/* A step with its device's work during it. */
struct timed {
	const struct nsx_engine_step *step;
	int size; /* size class n holds 2^n to 2^(n+1) - 1; -1: none         */
	int64_t ns, compute_ns, hidden_ns, comm_ns, copy_ns, inside_ns, between_ns;
};
struct work {
	const struct nsx_run *run;
	struct nsx_section *out;
	struct nsx_table **table;
	const struct nsx_engine_steps *steps;
	struct timed *v; /* sorted by kind, engine, size                     */
	int64_t *scratch, total_ns; /* total: GPU time of all steps          */
	uint32_t *group; /* by step: its row of KINDS                        */
	size_t *sizes_at; /* by row of KINDS: its first row of SIZES         */
	const char **page;
	size_t n, npage;
	bool refused; /* refused a share above the GPU's peak            */
};

static int cmp_timed(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	return NSX_CMP(x->step->name.kind, y->step->name.kind) ?:
	       strcmp(x->step->name.engine, y->step->name.engine) ?:
	       NSX_CMP(x->size, y->size);
}

static int size_class(int64_t size)
{
	return size < 1 ? -1 : 63 - __builtin_clzll((uint64_t)size);
}

static struct timed time_step(const struct nsx_facts *f, const struct nsx_engine_step *s)
{
	const struct nsx_device_facts *d = &f->device[s->device];
	int64_t end = NSX_MIN(s->work_end_ns, s->gpu_end_ns);
	struct nsx_partition all, inside;

	nsx_partition(d, s->gpu_start_ns, s->gpu_end_ns, &all);
	nsx_partition(d, s->gpu_start_ns, end, &inside);
	return (struct timed){
		.step = s, .size = size_class(nsx_step_size(&s->name)),
		.ns = s->gpu_end_ns - s->gpu_start_ns,
		.compute_ns = nsx_computing_ns(all.ns),
		.hidden_ns = all.ns[NSX_P_COMPUTE_COMM],
		.comm_ns = all.ns[NSX_P_COMM_EXPOSED],
		.copy_ns = all.ns[NSX_P_COPY_EXPOSED],
		.inside_ns = inside.ns[NSX_P_IDLE],
		.between_ns = all.ns[NSX_P_IDLE] - inside.ns[NSX_P_IDLE]};
}

static struct nsx_cell told(int64_t n)
{
	return n < 0 ? nsx_null() : nsx_int(n);
}

static void add_row(struct work *w, const struct timed *x)
{
	const struct nsx_trace *t = w->run->trace;
	const struct nsx_engine_step *s = x->step;
	struct nsx_cell *row = nsx_add_row(w->table[ROWS]);

	row[R_PROCESS] = nsx_pid_cell(t, s->process);
	row[R_DEVICE] = nsx_device_cell(t, s->device);
	row[R_NAME] = nsx_name_cell(t, w->table[ROWS], s->text);
	row[R_KIND] = nsx_string(nsx_step_kinds[s->name.kind]);
	row[R_REQUESTS] = told(s->name.requests);
	row[R_TOKENS] = told(s->name.tokens);
	row[R_START] = nsx_int(s->start_ns);
	row[R_END] = nsx_int(s->end_ns);
	row[R_GPU_START] = nsx_int(s->gpu_start_ns);
	row[R_WORK_END] = nsx_int(s->work_end_ns);
	row[R_GPU_END] = nsx_int(s->gpu_end_ns);
	row[R_COMPUTE] = nsx_int(x->compute_ns);
	row[R_COMM] = nsx_int(x->comm_ns);
	row[R_COPY] = nsx_int(x->copy_ns);
	row[R_IDLE] = nsx_int(x->inside_ns);
	row[R_BETWEEN] = nsx_int(x->between_ns);
	row[R_GAP] = told(s->host_gap_ns);
	row[R_LAUNCHES] = nsx_int(s->launches);
	row[R_REPLAYS] = nsx_int(s->replays);
	row[R_STALLS] = nsx_bool(s->stalls);
}

struct sums {
	int64_t requests, tokens, total, compute, hidden, comm, copy, inside, between,
		launches, replays, missed, stall;
};

static struct sums add_up(const struct timed *v, size_t n)
{
	struct sums a = {.requests = -1, .tokens = -1};

	for (size_t i = 0; i < n; i++) {
		const struct nsx_engine_step *s = v[i].step;

		if (s->name.requests >= 0)
			a.requests = NSX_MAX(a.requests, 0) + s->name.requests;
		if (s->name.tokens >= 0)
			a.tokens = NSX_MAX(a.tokens, 0) + s->name.tokens;
		a.total += v[i].ns;
		a.compute += v[i].compute_ns;
		a.hidden += v[i].hidden_ns;
		a.comm += v[i].comm_ns;
		a.copy += v[i].copy_ns;
		a.inside += v[i].inside_ns;
		a.between += v[i].between_ns;
		a.launches += s->launches;
		a.replays += s->replays;
		a.missed += !s->replays;
		a.stall += s->stalls ? v[i].ns : 0;
	}
	return a;
}

/* Medians of GPU time, range lengths, and times between ranges. */
static void put_medians(struct work *w, const struct timed *v, size_t n,
			struct nsx_cell *row)
{
	static const double qs[] = {0.5, 0.95};
	int64_t *ns = w->scratch;
	size_t ngaps = 0;
	double q[2];

	for (size_t i = 0; i < n; i++)
		ns[i] = v[i].ns;
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

static const char *say_size(struct work *w, int size)
{
	int64_t from = size < 0 ? 0 : (int64_t)1 << size;

	if (size < 1)
		return size < 0 ? NULL : "1";
	return nsx_say(w->out, "%" PRId64 "-%" PRId64, from, 2 * from - 1);
}

/* A share above 100 % is refused: the model or data type must be another one. */
static struct nsx_cell limit_cell(struct work *w, const char *what, const char *kind,
				  double part, double whole)
{
	if (!(part > 0) || !(whole > 0))
		return nsx_null();
	if (part <= whole)
		return nsx_pct(part, whole);
	if (!w->refused)
		nsx_warn(w->out, "%s of %s steps would be %.0f %% of the GPU's peak, which is "
			 "not shown: --model has another model than ran, another type, or "
			 "fewer GPUs than share a step", what, kind, 100 * part / whole);
	w->refused = true;
	return nsx_null();
}

static void put_limits(struct work *w, const struct nsx_engine_step *first,
		       const struct sums *a, size_t n, struct nsx_cell *row)
{
	const struct nsx_llm *m = w->run->opts->model;
	const struct nsx_gpu_info *gpu = nsx_device_gpu(w->run->trace, first->device);
	bool trains = first->name.kind == NSX_STEP_TRAINING;
	int64_t tokens = trains ? (int64_t)n * (m ? m->tokens : 0) : a->tokens;
	double s = (double)a->total / 1e9;
	const char *kind = nsx_step_kinds[first->name.kind];

	if (!m || !gpu || tokens <= 0)
		return;
	row[MFU] = limit_cell(w, "operations", kind,
			      nsx_llm_operations(m, tokens, trains) / s,
			      nsx_llm_peak(m, gpu));
	if (!trains)
		row[BANDWIDTH] = limit_cell(
			w, "bytes", kind,
			nsx_llm_bytes(m, (int64_t)n, first->name.kind == NSX_STEP_DECODE ?
						     tokens : 0) / s,
			(double)gpu->bandwidth_bytes_per_s);
}

static void add_group(struct work *w, struct nsx_table *table,
		      const struct timed *v, size_t n, bool by_size,
		      bool has_graphs)
{
	struct nsx_cell *row = nsx_add_row(table);
	struct sums a = add_up(v, n);

	row[ENGINE] = nsx_string(v->step->name.engine);
	row[KIND] = nsx_string(nsx_step_kinds[v->step->name.kind]);
	row[SIZE] = nsx_string(by_size ? say_size(w, v->size) : NULL);
	row[COUNT] = nsx_int((int64_t)n);
	row[REQUESTS] = told(a.requests);
	row[TOKENS] = told(a.tokens);
	row[TOTAL] = nsx_int(a.total);
	row[COMPUTE] = nsx_int(a.compute);
	row[HIDDEN] = nsx_int(a.hidden);
	row[COMM] = nsx_int(a.comm);
	row[COPY] = nsx_int(a.copy);
	row[IDLE] = nsx_int(a.inside);
	row[BETWEEN] = nsx_int(a.between);
	row[BUSY] = nsx_part_pct(a.compute + a.comm + a.copy, a.total);
	row[LAUNCHES] = nsx_int(a.launches);
	row[MISSED] = has_graphs ? nsx_int(a.missed) : nsx_null();
	row[STALL] = nsx_int(a.stall);
	put_limits(w, v->step, &a, n, row);
	put_medians(w, v, n, row);
}

static const char *say_tokens(struct work *w, const struct nsx_cell *row)
{
	double s = (double)row[TOTAL].u.i / 1e9;

	return row[TOKENS].type == NSX_T_NULL || !(s > 0) ? "" :
		nsx_say(w->out, "; %.0f tokens a second",
			(double)row[TOKENS].u.i / s);
}

/* "10 % missed the graph, of sizes 4-7 (1 of 10)"; the sizes' rows begin at `from`. */
static const char *say_graphs(struct work *w, const struct nsx_cell *row, size_t from)
{
	enum { MOST = 3 };
	const struct nsx_table *sizes = w->table[SIZES];
	const char *of = "";
	unsigned n = 0;

	for (size_t i = from; i < sizes->nrows; i++) {
		const struct nsx_cell *x = nsx_row_at(sizes, i);

		if (x[MISSED].u.i && x[SIZE].type == NSX_T_STR && n++ < MOST)
			of = nsx_say(w->out, "%s%s %s (%" PRId64 " of %" PRId64 ")", of,
				     *of ? "," : ", of sizes", x[SIZE].u.s,
				     x[MISSED].u.i, x[COUNT].u.i);
	}
	return nsx_say(w->out, "%.0f %% missed the graph%s%s",
		       100 * (double)row[MISSED].u.i / (double)row[COUNT].u.i, of,
		       n > MOST ? " and more" : "");
}

/* Describes steps that missed the graph or delayed others; NULL: none. */
static const char *say_lost(struct work *w, const struct nsx_cell *row, size_t from)
{
	if (row[STALL].u.i)
		return nsx_say(w->out, "decoding waits for prefills for %s, %s of all steps",
			       nsx_say_time(w->out, row[STALL].u.i),
			       nsx_text_share(w->out->arena, (double)row[STALL].u.i,
					      (double)w->total_ns));
	return row[MISSED].type != NSX_T_NULL && row[MISSED].u.i ?
		       say_graphs(w, row, from) : NULL;
}

static const char *say_limits(struct work *w, const struct nsx_cell *row)
{
	const char *text = "";

	if (row[MFU].type != NSX_T_NULL)
		text = nsx_say(w->out, "; %s MFU", nsx_text_share(w->out->arena,
							     row[MFU].u.f, 100));
	if (row[BANDWIDTH].type != NSX_T_NULL)
		text = nsx_say(w->out, "%s; %s of memory bandwidth", text,
			       nsx_text_share(w->out->arena, row[BANDWIDTH].u.f, 100));
	return text;
}

static const char *say_kind(struct work *w, const struct nsx_cell *row)
{
	double between = (double)row[BETWEEN].u.i / 1e6 /
			 (double)row[COUNT].u.i;

	return nsx_say(w->out, "%s, p50 %s, p95 %s, %.0f %% GPU busy; %s idle between "
		       "steps%s%s",
		       nsx_text_n(w->out->arena, (size_t)row[COUNT].u.i,
				  nsx_say(w->out, "%s step", row[KIND].u.s), NULL),
		       nsx_say_ms(w->out, row[P50].u.f),
		       nsx_say_ms(w->out, row[P95].u.f), row[BUSY].u.f,
		       nsx_say_ms(w->out, between), say_tokens(w, row),
		       say_limits(w, row));
}

static bool is_alike(const struct timed *a, const struct timed *b)
{
	return a->step->name.kind == b->step->name.kind &&
	       !strcmp(a->step->name.engine, b->step->name.engine);
}

/* Steps are sorted by kind, engine and size; each kind and engine is a group. */
static void add_groups(struct work *w)
{
	const struct timed *v = w->v;

	NSX_EACH_RUN(i, next, w->n, is_alike(&v[i], &v[next])) {
		bool has_graphs = add_up(v + i, next - i).replays > 0;
		size_t from = w->table[SIZES]->nrows;

		for (size_t k = i; k < next; k++)
			w->group[v[k].step - w->steps->v] = (uint32_t)w->table[KINDS]->nrows;
		add_group(w, w->table[KINDS], v + i, next - i, false, has_graphs);
		NSX_EACH_RUN(k, end, next - i, v[i + end].size == v[i + k].size)
			add_group(w, w->table[SIZES], v + i + k, end - k, true,
				  has_graphs);
		w->sizes_at[w->table[KINDS]->nrows - 1] = from;
	}
}

/* Layers ---------------------------------------------------------------------*/

static const char *layer_name(const struct work *w, size_t c)
{
	return c < NSX_STEP_REPLAYS ? nsx_kernel_category_names[c] :
	       c == NSX_STEP_REPLAYS ? "CUDA graphs" :
			nsx_phase_name(w->run->opts->kernel_classes,
				       (unsigned)(c - NSX_STEP_CLASSES));
}

/* Sets the class of each kernel: the user's, which joins our class of the same name, else
 * ours.
 */
static int class_kernels(struct work *w, uint32_t *of_name, struct nsx_err *err)
{
	const struct nsx_phase_map *m = w->run->opts->kernel_classes;
	const struct nsx_kernel_names *k = &w->run->facts->kernels;
	nsx_str *full;

	for (size_t i = 0; i < k->n; i++)
		of_name[i] = k->v[i].words->category;
	if (!m)
		return 0;
	if (nsx_kernel_full_names(k, w->run->scratch, &full, err))
		return err->rc;
	for (size_t i = 0; i < k->n; i++) {
		unsigned c = nsx_phase_of(m, nsx_text(w->run->trace, full[i]));
		uint32_t own = 0;

		if (c == nsx_phase_count(m))
			continue;
		while (own < NSX_NKERNEL_CATEGORIES &&
		       strcmp(nsx_kernel_category_names[own], nsx_phase_name(m, c)) != 0)
			own++;
		of_name[i] = own < NSX_NKERNEL_CATEGORIES ? own : NSX_STEP_CLASSES + c;
	}
	return 0;
}

struct layer {
	const char *name;
	int64_t ns;
};
static int cmp_layers(const void *a, const void *b)
{
	const struct layer *x = a, *y = b;

	return NSX_CMP(y->ns, x->ns) ?: strcmp(x->name, y->name);
}

/* "of decode steps 55 % gemm, 18 % idle between steps, ...", for one kind. */
static const char *say_layers(struct work *w, const struct layer *v, size_t n,
			      const struct nsx_cell *kind)
{
	enum { MOST = 6 };
	const char *text = nsx_say(w->out, "of %s steps", kind[KIND].u.s);

	for (size_t i = 0; i < n && i < MOST && v[i].ns; i++)
		text = nsx_say(w->out, "%s%s %s %s", text, i ? "," : "",
			       nsx_text_share(w->out->arena, (double)v[i].ns,
					      (double)kind[TOTAL].u.i), v[i].name);
	return text;
}

/* Adds a bullet to the section, and two or three lines to the first page. */
static void tell_kind(struct work *w, const struct nsx_cell *kind, size_t sizes_at,
		      const char *layers)
{
	const char *what = say_kind(w, kind), *lost = say_lost(w, kind, sizes_at);

	nsx_md_bullet(w->out, "%s: %s%s%s; %s.", kind[ENGINE].u.s, what, lost ? "; " : "",
		      lost ?: "", layers);
	w->page[w->npage++] = what;
	if (lost)
		w->page[w->npage++] = lost;
	w->page[w->npage++] = layers;
}

/* Adds rows that sum up to the GPU time of the kind. */
static void add_layers(struct work *w, size_t group, const int64_t *ns, size_t n,
		       struct layer *v)
{
	const struct nsx_cell *kind = nsx_row_at(w->table[KINDS], group);
	size_t k = 0;

	for (size_t c = 0; c < n; c++)
		v[k++] = (struct layer){layer_name(w, c), ns[c]};
	v[k++] = (struct layer){"exposed communication", kind[COMM].u.i};
	v[k++] = (struct layer){"exposed copies", kind[COPY].u.i};
	v[k++] = (struct layer){"idle inside steps", kind[IDLE].u.i};
	v[k++] = (struct layer){"idle between steps", kind[BETWEEN].u.i};
	nsx_sort(v, k, sizeof(*v), cmp_layers);
	for (size_t i = 0; i < k && v[i].ns; i++) {
		struct nsx_cell *row = nsx_add_row(w->table[LAYERS]);

		row[L_ENGINE] = kind[ENGINE];
		row[L_KIND] = kind[KIND];
		row[L_LAYER] = nsx_string(v[i].name);
		row[L_NS] = nsx_int(v[i].ns);
		row[L_PCT] = nsx_part_pct(v[i].ns, kind[TOTAL].u.i);
	}
	tell_kind(w, kind, w->sizes_at[group], say_layers(w, v, k, kind));
}

/* Lists unknown kernels by their time in steps. */
static int add_unsure(struct work *w, const uint32_t *of_name, const int64_t *name_ns,
		      struct nsx_err *err)
{
	const struct nsx_kernel_names *k = &w->run->facts->kernels;
	struct layer *v;
	nsx_str *full;
	size_t n = 0;
	int64_t all_ns = 0, ns = 0;

	if (!nsx_new_array(v, w->run->scratch, k->n, "kernels", err) ||
	    nsx_kernel_full_names(k, w->run->scratch, &full, err))
		return err->rc;
	for (size_t i = 0; i < w->n; i++)
		all_ns += w->v[i].compute_ns;
	for (size_t i = 0; i < k->n; i++)
		if (of_name[i] == NSX_K_OTHER && name_ns[i]) {
			v[n++] = (struct layer){nsx_text(w->run->trace, full[i]), name_ns[i]};
			ns += name_ns[i];
		}
	nsx_sort(v, n, sizeof(*v), cmp_layers);
	nsx_table_expect(w->table[UNSURE], n, w->run->opts->held_rows);
	for (size_t i = 0; i < n; i++) {
		struct nsx_cell *row = nsx_add_row(w->table[UNSURE]);

		row[U_NAME] = nsx_string(v[i].name);
		row[U_NS] = nsx_int(v[i].ns);
		row[U_PCT] = nsx_part_pct(v[i].ns, all_ns);
	}
	if (n)
		nsx_md_bullet(w->out, "Not sure: %s of the computing time is in %s, first "
			      "of all %s; `--kernel-classes` tells what they are for.",
			      nsx_text_share(w->out->arena, (double)ns, (double)all_ns),
			      nsx_text_n(w->out->arena, n, "kernel whose name says nothing",
					 "kernels whose names say nothing"),
			      nsx_md_name(w->out, v[0].name));
	return 0;
}

static int fill_layers(struct work *w, struct nsx_err *err)
{
	const struct nsx_opts *o = w->run->opts;
	struct nsx_arena *a = w->run->scratch;
	struct nsx_step_classes classes = {
		.group = w->group, .ngroups = w->table[KINDS]->nrows,
		.n = NSX_STEP_CLASSES +
		     (o->kernel_classes ? nsx_phase_count(o->kernel_classes) : 0)};
	struct nsx_step_layers layers;
	struct layer *v;
	uint32_t *of_name;

	if (!nsx_new_array(of_name, a, w->run->facts->kernels.n + 1, "kernels", err) ||
	    !nsx_new_array(v, a, classes.n + NSX_NPARTS, "layers", err) ||
	    class_kernels(w, of_name, err))
		return err->rc;
	classes.of_name = of_name;
	if (nsx_steps_layers(w->run->facts, w->run->trace, w->steps, &classes, a, &layers,
			     err))
		return err->rc;
	w->out->page = w->page = nsx_arena_get(
		w->out->arena, (3 * classes.ngroups + 1) * sizeof(*w->page));
	for (size_t g = 0; g < classes.ngroups; g++)
		add_layers(w, g, layers.ns + g * classes.n, classes.n, v);
	return add_unsure(w, of_name, layers.name_ns, err);
}

static int fill_tables(struct work *w, struct nsx_err *err)
{
	const struct nsx_engine_steps *steps = w->steps;
	struct nsx_arena *a = w->run->scratch;

	if (nsx_new_arrays(a, steps->n, "steps", err, w->v, w->scratch, w->group,
			   w->sizes_at))
		return err->rc;
	nsx_table_expect(w->table[ROWS], steps->n, w->run->opts->held_rows);
	for (size_t i = 0; i < steps->n; i++) {
		w->v[i] = time_step(w->run->facts, &steps->v[i]);
		w->total_ns += w->v[i].ns;
		add_row(w, &w->v[i]);
	}
	w->n = steps->n;
	nsx_sort(w->v, w->n, sizeof(*w->v), cmp_timed);
	add_groups(w);
	if (fill_layers(w, err))
		return err->rc;
	if (w->table[SIZES]->nrows > w->table[KINDS]->nrows)
		nsx_md_table(w->out, w->table[SIZES], 0, KIND, SIZE, COUNT, P50, P95,
			     BUSY, IDLE, BETWEEN, MISSED);
	return 0;
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	struct nsx_engine_steps steps;
	struct work w = {.run = run, .out = out, .table = nsx_add_tables(out),
			 .steps = &steps};
	int rc;

	if (nsx_steps_build(run->trace, &steps, err))
		return err->rc;
	if (!steps.n)
		out->status = NSX_S_NULL;
	rc = steps.n ? fill_tables(&w, err) : 0;
	nsx_steps_done(&steps);
	return rc;
}

NSX_DEFINE_PASS(steps,
	.title = "Steps",
	.no_cannot = "null where no range has the name of a step",
	.summary = "steps of an inference engine or a training loop, by kind and size",
	.doc = "Steps are NVTX ranges named as vLLM, SGLang, TensorRT-LLM, PyTorch "
	       "and training loops name theirs; one inside another of its thread "
	       "is part of that. GPU work belongs to the step of the thread that "
	       "launched it, else to that of its process which began last. The GPU "
	       "time of a step goes from its first work to that of the next one "
	       "on that device, and is computing, exposed communication, exposed "
	       "copies, idle inside or idle between steps, to the nanosecond. "
	       "Sizes are classes of powers of two. A prefill stalls where steps "
	       "before and after it decode, the latter for more requests than it "
	       "brought.",
	.derived_from = "NVTX ranges by name, and the GPU work they launched",
	.limitations = "a pause without requests counts as idle between steps; with "
		       "several threads that step in one process, one step's time "
		       "holds work of another's",
	.any_of = {NSX_GPU_WORK},
	NSX_LAYOUTS(layouts),
	.may_be_null = true);
