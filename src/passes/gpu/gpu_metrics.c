/* gpu_metrics.c - sampled GPU counters by scope, and the questions they answer: is the GPU
 * computing or full, are tensor cores used, does it issue, what limits it.
 */
#include <math.h>
#include "facts/metrics/values.h"
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(DEVICE, "device_id", I64, "CUDA ordinal, or the number of the GPU if unknown")           \
	X(METRIC, "metric_id", I64, "id of the counter in its source")                             \
	X(NAME, "metric_name", STR, "name of the counter")                                         \
	X(SCOPE, "scope", STR, "window, or when the GPU computes, communicates, copies or idles")  \
	X(SAMPLES, "samples", I64,                                                                 \
	  "samples with at least half of their period in the scope (window: any part)")            \
	X(MEAN, "mean", F64, "mean, weighted by the time of each sample in the scope")             \
	X(P50, "p50", F64, "median of the samples")                                                \
	X(P95, "p95", F64, "95th percentile of the samples")                                       \
	X(MAX, "max", F64, "maximum of samples with any time in the scope")                        \
	X(PERIOD, "sample_period_us", F64, "period that a sample stands for")                      \
	X(COVERAGE, "coverage_pct", F64, "sampled share of the scope's time")
NSX_COLUMNS(cols, COLUMNS);
#define ANSWER_COLUMNS(X)                                                                          \
	X(ANSWER_DEVICE_ID, "device_id", I64, "CUDA ordinal, or the number of the GPU if unknown") \
	X(ANSWER_QUESTION, "question", STR, "what is asked")                                       \
	X(ANSWER, "answer", STR, "the answer in words")                                            \
	X(ANSWER_METRIC_NAME, "metric_name", STR, "the counter that answers")                      \
	X(ANSWER_SCOPE, "scope", STR, "scope of that counter")                                     \
	X(ANSWER_MEAN, "mean", F64, "mean of the counter in that scope")
NSX_COLUMNS(answer_cols, ANSWER_COLUMNS);
#define RATE_COLUMNS(X)                                                                            \
	X(RATE_DEVICE_ID, "device_id", I64, "CUDA ordinal, or the number of the GPU if unknown")   \
	X(RATE_METRIC_NAME, "metric_name", STR, "the counter, percent of the peak")                \
	X(RATE_SCOPE, "scope", STR, "window, or while kernels compute")                            \
	X(RATE_MEAN_GBPS, "mean_gbps", F64, "mean times the peak, 10^9 bytes a second")            \
	X(RATE_P95_GBPS, "p95_gbps", F64, "95th percentile times the peak")                        \
	X(RATE_PEAK_GBPS, "peak_gbps", F64, "memory bandwidth of the GPU")
NSX_COLUMNS(rate_cols, RATE_COLUMNS);
#define COUNTER_COLUMNS(X)                                                        \
	X(COUNTER_DEVICE_ID, "device_id", I64,                                    \
	  "CUDA ordinal, or the number of the GPU if unknown")                    \
	X(COUNTER_METRIC_ID, "metric_id", I64, "id of the counter in its source") \
	X(COUNTER_METRIC_NAME, "metric_name", STR, "name of the counter")         \
	X(COUNTER_SAMPLES, "samples", I64, "samples that touch the window")       \
	X(COUNTER_MAX, "max", F64, "maximum of these samples")                    \
	X(COUNTER_WINDOW, "window", F64, "mean over the window")                  \
	X(COUNTER_COMPUTE, "compute", F64, "mean while kernels compute")          \
	X(COUNTER_COMM, "comm", F64, "mean during communication")                 \
	X(COUNTER_COPY, "copy", F64, "mean during copies")                        \
	X(COUNTER_IDLE, "idle", F64, "mean without GPU work")
NSX_COLUMNS(counter_cols, COUNTER_COLUMNS);
enum { L_ROWS, L_COUNTERS, L_ANSWERS, L_RATES };
static const struct nsx_layout layouts[] = {
	[L_ROWS] = {.key = "rows", .csv = "gpu_metrics", NSX_COLS(cols),
		    .json_rows = 500},
	[L_COUNTERS] = {.key = "counters", NSX_COLS(counter_cols),
			.json_rows = 500},
	[L_ANSWERS] = {.key = "answers", NSX_COLS(answer_cols),
		       .json_rows = NSX_ALL_ROWS},
	[L_RATES] = {.key = "gbps", NSX_COLS(rate_cols)},
};

#define WHOLE 0.95  /* answers state which share of the window was sampled if it is below this */
#define SPARSE 0.5 /* below this share, a mean does not represent the window */

struct gpu {
	struct nsx_counters known;
	const char *name[NSX_NCOUNTERS]; /* owned by the section             */
	const struct nsx_metric *any;
};

/* Tables -----------------------------------------------------------------------*/

static void fill_metric(const struct nsx_trace *t, const struct nsx_metric *m, const char *name,
			struct nsx_table *rows)
{
	for (unsigned i = 0; i < NSX_NSCOPES; i++) {
		const struct nsx_metric_scope *s = &m->scope[i];
		struct nsx_cell *row;

		if (!s->weight_ns)
			continue;
		row = nsx_add_row(rows);
		row[DEVICE] = nsx_sampled_cell(t, m->device, m->device_id);
		row[METRIC] = nsx_int(m->metric_id);
		row[NAME] = nsx_string(name);
		row[SCOPE] = nsx_string(nsx_scope_names[i]);
		row[SAMPLES] = nsx_int((int64_t)s->n);
		row[MEAN] = nsx_real(s->mean);
		row[P50] = nsx_real(s->p50);
		row[P95] = nsx_real(s->p95);
		row[MAX] = nsx_real(s->max);
		row[PERIOD] = nsx_us((double)m->period_ns);
		row[COVERAGE] = nsx_real(100 * s->coverage);
	}
}

static void fill_counter(const struct nsx_trace *t, const struct nsx_metric *m, const char *name,
			 struct nsx_table *counters)
{
	struct nsx_cell *row = nsx_add_row(counters);

	row[COUNTER_DEVICE_ID] = nsx_sampled_cell(t, m->device, m->device_id);
	row[COUNTER_METRIC_ID] = nsx_int(m->metric_id);
	row[COUNTER_METRIC_NAME] = nsx_string(name);
	row[COUNTER_SAMPLES] = nsx_int((int64_t)m->scope[NSX_SCOPE_WINDOW].n);
	row[COUNTER_MAX] = nsx_real(m->scope[NSX_SCOPE_WINDOW].max);
	for (unsigned i = 0; i < NSX_NSCOPES; i++)
		row[COUNTER_WINDOW + i] = nsx_real(m->scope[i].mean);
}

static void fill_rates(const struct nsx_run *run, const struct gpu *g, struct nsx_table *rates)
{
	const struct nsx_gpu_info *info = NULL;

	for (uint32_t i = 0; i < run->trace->ngpus; i++)
		if (run->trace->gpu[i].id == g->any->gpu)
			info = &run->trace->gpu[i];
	if (!info || info->bandwidth_bytes_per_s <= 0)
		return;
	for (unsigned k = NSX_DRAM_READ; k <= NSX_DRAM_WRITE; k++)
		for (unsigned i = 0; g->known.of[k] && i < NSX_NSCOPES; i++) {
			const struct nsx_metric_scope *s = &g->known.of[k]->scope[i];
			double peak = (double)info->bandwidth_bytes_per_s / 1e9;
			struct nsx_cell *row;

			if (!s->weight_ns)
				continue;
			row = nsx_add_row(rates);
			row[RATE_DEVICE_ID] = nsx_sampled_cell(run->trace, g->any->device,
							       g->any->device_id);
			row[RATE_METRIC_NAME] = nsx_string(g->name[k]);
			row[RATE_SCOPE] = nsx_string(nsx_scope_names[i]);
			row[RATE_MEAN_GBPS] = nsx_real(s->mean / 100 * peak);
			row[RATE_P95_GBPS] = nsx_real(s->p95 / 100 * peak);
			row[RATE_PEAK_GBPS] = nsx_real(peak);
		}
}

/* Answers ------------------------------------------------------------------------*/

struct answers {
	struct nsx_section *out;
	struct nsx_table *table;
	const struct nsx_trace *trace;
	const struct nsx_facts *facts;
	int64_t window_ns;
	const struct gpu *gpu;
	/* The GPU's work while a counter is read: computing, if it was sampled then. */
	enum nsx_scope busy;
	const char *when;
	bool others; /* the trace has several GPUs */
	bool told; /* this is the GPU that sets the pace, which Markdown describes */
};

static double counter_typical(const struct answers *a, enum nsx_counter k, enum nsx_scope scope)
{
	return nsx_counter_typical(&a->gpu->known, k, scope);
}

static void add_counter_answer(struct answers *a, const char *question, enum nsx_counter k,
			       enum nsx_scope scope, const char *text)
{
	struct nsx_cell *row = nsx_add_row(a->table);

	row[ANSWER_DEVICE_ID] = nsx_sampled_cell(a->trace, a->gpu->any->device,
						 a->gpu->any->device_id);
	row[ANSWER_QUESTION] = nsx_string(question);
	row[ANSWER] = nsx_string(text);
	row[ANSWER_METRIC_NAME] = nsx_string(a->gpu->name[k]);
	row[ANSWER_SCOPE] = nsx_string(nsx_scope_names[scope]);
	row[ANSWER_MEAN] = nsx_real(a->gpu->known.of[k]->scope[scope].mean);
	if (a->told)
		nsx_md_bullet(a->out, "%s %s", question, text);
}

/* Copies use neither the compute engine nor the SMs, so a GPU that only copies is not idle. */
static void answer_if_computing(struct answers *a)
{
	enum nsx_counter k = a->gpu->known.of[NSX_GR_ACTIVE] ? NSX_GR_ACTIVE : NSX_SM_ACTIVE;
	double x = counter_typical(a, k, NSX_SCOPE_WINDOW), sampled;
	uint32_t d = a->gpu->any->device;
	const char *text;

	if (isnan(x))
		return;
	sampled = a->gpu->known.of[k]->scope[NSX_SCOPE_WINDOW].coverage;
	text = nsx_say(a->out, "%s: %s averages %.1f %% over %s",
		       sampled < SPARSE ? "not known" :
		       x >= 95 ? "yes" : x >= 50 ? "mostly" : x >= 5 ? "partly" : "hardly",
		       k == NSX_GR_ACTIVE ? "GR Active" : "SMs Active", x,
		       sampled < WHOLE ? nsx_say(a->out, "the sampled %s of the window",
						 nsx_text_share(a->out->arena, sampled, 1)) :
					 "the window");
	if (d != NSX_NONE)
		text = nsx_say(a->out, "%s; according to the trace %.1f %% of %s no GPU "
				       "work, not even copies.", text,
			       100 * (double)nsx_idle_total(&a->facts->idle[d]) /
				       (double)a->window_ns,
			       sampled < WHOLE ? "the window has" : "it has");
	add_counter_answer(a, "Does it compute?", k, NSX_SCOPE_WINDOW, text);
}

static void answer_if_full(struct answers *a)
{
	double sm = counter_typical(a, NSX_SM_ACTIVE, a->busy);
	double warps = counter_typical(a, NSX_WARPS_IN_FLIGHT, a->busy);
	const char *text;

	if (isnan(sm))
		return;
	text = nsx_say(a->out, "%s: %.1f %% of the SMs are active %s",
		       sm >= 90 ? "yes" : sm >= 60 ? "mostly" : "no", sm, a->when);
	text = isnan(warps) ? nsx_say(a->out, "%s.", text) :
	       nsx_say(a->out, "%s, with %.1f %% of the warp slots in use.", text, warps);
	add_counter_answer(a, "Is it full?", NSX_SM_ACTIVE, a->busy, text);
}

/* A question about one counter. Each word answers it from its percentage on. */
static const struct question {
	const char *text, *before, *after; /* the mean stands between before and after */
	enum nsx_counter counter;
	double from[2];
	const char *word[4]; /* answers in descending order of percentage; the last is for 0 % */
} questions[] = {
	{"Do the tensor cores run?", "active ", "", NSX_TENSOR_ACTIVE,
	 {40, 5}, {"yes", "in part", "hardly", "no"}},
	{"Is the issue rate high?", "", " of the issue slots are used",
	 NSX_SM_ISSUE, {60, 30}, {"yes", "middling", "no", "no"}},
};

static void answer_counter_question(struct answers *a, const struct question *q)
{
	double x = counter_typical(a, q->counter, a->busy);

	if (isnan(x))
		return;
	add_counter_answer(a, q->text, q->counter, a->busy,
			   nsx_say(a->out, "%s: %s%.1f %%%s %s.",
				   q->word[x >= q->from[0] ? 0 : x >= q->from[1] ? 1 :
					   x > 0 ? 2 : 3],
				   q->before, x, q->after, a->when));
}

static void answer_what_limits(struct answers *a)
{
	static const char *const words[] = {
		[NSX_BOUND_MEMORY] = "memory",
		[NSX_BOUND_COMPUTE] = "compute: memory has room, the execution pipes do not",
		[NSX_BOUND_LATENCY] = ("latency or occupancy: the SMs hold work but issue little, "
				       "and memory has room"),
		[NSX_BOUND_UNFILLED] = "neither: the SMs are not full",
		[NSX_BOUND_NEITHER] = "neither memory nor issue is near its limit",
	};
	double sm = counter_typical(a, NSX_SM_ACTIVE, a->busy);
	double issue = counter_typical(a, NSX_SM_ISSUE, a->busy);
	enum nsx_bound bound = nsx_bound_by(&a->gpu->known, a->busy);

	if (bound == NSX_BOUND_UNKNOWN)
		return;
	add_counter_answer(a, "Memory-bound or latency-bound?", NSX_DRAM_READ, a->busy,
			   nsx_say(a->out, "%s (DRAM %.1f %% of its peak%s%s %s).",
				   words[bound], nsx_dram_typical(&a->gpu->known, a->busy),
				   isnan(issue) ? "" : nsx_say(a->out, ", issue %.1f %%", issue),
				   isnan(sm) ? "" : nsx_say(a->out, ", SMs active %.1f %%",
							    sm), a->when));
}

static void answer_pcie_use(struct answers *a)
{
	for (unsigned k = NSX_PCIE_RX; k <= NSX_PCIE_TX; k++) {
		const struct nsx_metric *m = a->gpu->known.of[k];
		const struct nsx_metric_scope *s = m ? &m->scope[NSX_SCOPE_COPY] : NULL;

		if (!s || !s->n)
			continue;
		add_counter_answer(a, k == NSX_PCIE_RX ? "Do copies fill PCIe towards the GPU?" :
				  "Do copies fill PCIe from the GPU?", k, NSX_SCOPE_COPY,
				   nsx_say(a->out, "%s: %.1f %% of the peak during copies, 95th "
					   "percentile %.0f %%.",
					   s->p95 >= 80 ? "yes" : "no", s->mean, s->p95));
	}
}

static void answer_for_gpu(struct answers *a)
{
	const struct nsx_metric *any = a->gpu->any;
	bool computes = any->scope[NSX_SCOPE_COMPUTE].weight_ns > 0;

	a->busy = computes ? NSX_SCOPE_COMPUTE : NSX_SCOPE_WINDOW;
	a->when = computes ? "while kernels compute" : "over the window";
	if (a->told)
		nsx_md_bullet(a->out, "**GPU %s**%s:",
			      nsx_sampled_label(a->out, a->trace, any->device, any->device_id),
			      a->others ?
			      " (the other answers are in `report.json`, "
			      "`metrics.gpu_metrics.answers`)" : "");
	answer_if_computing(a);
	answer_if_full(a);
	for (size_t i = 0; i < ARRAY_LEN(questions); i++)
		answer_counter_question(a, &questions[i]);
	answer_what_limits(a);
	answer_pcie_use(a);
}

static void draw_counters(const struct gpu *g, struct nsx_section *out)
{
	for (unsigned k = 0; k < NSX_NCOUNTERS; k++) {
		const struct nsx_metric *m = g->known.of[k];

		if (m && m->curve)
			nsx_add_curve(out, &(struct nsx_curve){
				nsx_counter_name(k), "%", m->device, m->device_id, 100,
				m->curve});
	}
}

/* The run -----------------------------------------------------------------------*/

static void gpu_metrics_say_lost(const struct nsx_metrics *m, struct nsx_section *out)
{
	enum { SHOWN = 8 };
	const char *list = "";

	if (!m->bad)
		return;
	for (size_t i = 0; i < m->nlost && i < SHOWN; i++) {
		const struct nsx_metric_loss *x = &m->lost[i];
		const char *name = x->name ? x->name :
			nsx_say(out, "counter %lld", (long long)x->metric_id);

		list = nsx_say(out, "%s%s %lld of %s%s", list, i ? "," : ":",
			       (long long)x->n, nsx_md_name(out, name), x->gpu < 0 ? "" :
			       nsx_say(out, " of GPU %lld", (long long)x->gpu));
	}
	nsx_note(out, "left out: %lld of %lld samples, without a usable time, counter or "
		 "value (a counter that wraps reads below zero "
		 "or above 100 %%)%s%s", (long long)m->bad, (long long)m->samples, list,
		 m->nlost > SHOWN ? ", ..." : "");
}

static void say_sampling_quality(const struct nsx_metrics *m, struct nsx_section *out)
{
	if (m->by_number)
		nsx_note(out, "device_id is the number of the GPU here, because the CUDA ordinals "
			 "of the trace do not distinguish these GPUs");
	if (m->gaps)
		nsx_note(out, "samples are missing in %zu places, %s in total: this is missing "
			"data, not zero", m->gaps, nsx_say_time(out, m->missing_ns));
	if (NSX_ANY(i, m->n, !m->v[i].exact))
		nsx_note(out, "a counter with more than %d values beyond 127 is "
			 "counted in steps of 1.6 %%: its quantiles are that "
			 "exact, its mean and maximum are exact", FOLD_KNOWN);
	gpu_metrics_say_lost(m, out);
	if (m->without_period)
		nsx_note(out, "%s sampled only once, so the period of this sample is not known",
			 nsx_text_n(out->arena, m->without_period, "counter was", "counters were"));
}

/* A counter of the GPU that sets the pace if it was sampled, otherwise of the first sampled one. */
static const struct nsx_metric *gpu_to_show(const struct nsx_run *run)
{
	const struct nsx_metrics *m = run->facts->metrics;

	return NSX_FIRST(i, m->n,
			 m->v[i].device != NSX_NONE && m->v[i].device == run->facts->limiting,
			 &m->v[i], m->v);
}

static void fill_metrics(const struct nsx_run *run, struct nsx_section *out,
			 struct nsx_table **tables)
{
	const struct nsx_metrics *m = run->facts->metrics;
	const struct nsx_window *w = &run->trace->window;
	struct answers a = {.out = out, .table = tables[L_ANSWERS], .trace = run->trace,
			    .facts = run->facts,
			    .window_ns = w->end_ns - w->start_ns};
	const struct nsx_metric *shown = gpu_to_show(run);
	bool has_slice = NSX_ANY(d, run->trace->ndevices, run->trace->device[d].is_slice);

	NSX_EACH_RUN(i, next, m->n, nsx_is_same_gpu(&m->v[next], &m->v[i])) {
		struct gpu g = {{{NULL}}, {NULL}, NULL};

		for (size_t k = i; k < next; k++) {
			const struct nsx_metric *x = &m->v[k];
			const char *name = x->name ? nsx_say(out, "%s", x->name) : NULL;

			g.any = x;
			nsx_counters_add(&g.known, x);
			for (unsigned c = 0; c < NSX_NCOUNTERS; c++)
				if (g.known.of[c] == x)
					g.name[c] = name;
			fill_metric(run->trace, x, name, tables[L_ROWS]);
			fill_counter(run->trace, x, name, tables[L_COUNTERS]);
		}
		draw_counters(&g, out);
		a.gpu = &g;
		a.told = nsx_is_same_gpu(g.any, shown);
		a.others = next - i < m->n;
		if (g.any->gpu < 0)
			continue;
		fill_rates(run, &g, tables[L_RATES]);
		if (has_slice && g.any->device == NSX_NONE)
			nsx_md_bullet(out, "The counters of GPU %lld are those of the whole GPU: "
				      "they do not tell how busy one of its MIG slices is",
				      (long long)g.any->gpu);
		else
			answer_for_gpu(&a);
	}
}

/* The part of the window that was sampled, if it is not all of it on each GPU. */
static void say_sampled_parts(const struct nsx_trace *t, const struct nsx_metrics *m,
			      struct nsx_section *out)
{
	const char *list = "";
	size_t n = 0;

	NSX_EACH_RUN(i, next, m->n, nsx_is_same_gpu(&m->v[next], &m->v[i])) {
		double sampled = 1;

		for (size_t k = i; k < next; k++)
			sampled = NSX_MIN(sampled, m->v[k].scope[NSX_SCOPE_WINDOW].coverage);
		if (sampled < WHOLE)
			list = nsx_say(out, "%s%s %s on GPU %s", list, n++ ? "," : "",
				       nsx_text_share(out->arena, sampled, 1),
				       nsx_sampled_label(out, t, m->v[i].device,
							 m->v[i].device_id));
	}
	if (n)
		nsx_md_text(out, "Samples cover only a part of the window, and means are those of "
				 "this part:%s.", list);
}

static int gpu_metrics_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	const struct nsx_metrics *m = run->facts->metrics;
	struct nsx_table **tables = nsx_add_tables(out);

	if (m->damage)
		return nsx_fail(err, NSX_E_DATA, "table GPU_METRICS is damaged: %s", m->damage);
	if (m->too_many)
		return nsx_cannot(out, "GPU_METRICS names more counters than any GPU has");
	if (!m->n)
		return nsx_cannot(out, "none of the %lld rows of GPU_METRICS is a usable sample "
				  "inside the window", (long long)m->samples);
	fill_metrics(run, out, tables);
	say_sampling_quality(m, out);
	say_sampled_parts(run->trace, m, out);
	if (tables[L_COUNTERS]->nrows)
		nsx_md_text(out, "Means of the counters as nsys names them (clocks in Hz, most "
			    "others in percent), over the window and by what the GPU was "
			    "doing:");
	nsx_md_table(out, tables[L_COUNTERS], 10, COUNTER_DEVICE_ID,
		     COUNTER_METRIC_NAME, COUNTER_SAMPLES, COUNTER_WINDOW,
		     COUNTER_COMPUTE, COUNTER_COMM, COUNTER_COPY, COUNTER_IDLE, COUNTER_MAX);
	if (tables[L_RATES]->nrows)
		nsx_md_whole(out, tables[L_RATES], 5);
	return 0;
}

NSX_DEFINE_PASS(gpu_metrics,
	.title = "GPU metrics",
	.subject = "GPU metrics",
	.summary = "sampled counters: SMs, tensor cores, memory, PCIe",
	.doc = "A sample at t stands for [t, t + period). The period is the median step between "
	       "samples of its source, or a period or frequency of two digits within 0.3 % of "
	       "it. Means are weighted by the time of this interval in the scope: the window, or "
	       "the union of compute kernels, communication kernels, copies, or no work at all "
	       "on that GPU. The maximum is over all samples in the mean; quantiles are over "
	       "those with at least half of their interval in the scope. A gap is missing data, "
	       "not zero. Active SMs show that work is resident; issue and tensor activity show "
	       "that it proceeds. Answers on computing take the median of ten samples or more, "
	       "which short kernels do not make smaller. Memory-bound: DRAM, read and write "
	       "together, from 80 % of its peak. Compute-bound: from 60 % of the issue slots or "
	       "tensor cycles. Latency-bound: at least 60 % of the SMs are active, less than 30 "
	       "% of the slots issue and memory has room.",
	.derived_from = "GPU_METRICS samples, with the unions of each GPU's work",
	.limitations = "counters are sampled over the whole device, so a sample does not describe "
		       "a kernel that is shorter than its period",
	.caveat = "counters cover the whole GPU, including other processes; percentages are stored "
		   "as whole numbers, so a mean of small ones is too low; clocks are in Hz despite "
		   "their names",
	.needs = {NSX_NEED_VIEW(gpu_metric)},
	NSX_LAYOUTS(layouts));
