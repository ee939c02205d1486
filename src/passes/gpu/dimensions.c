/* dimensions.c - the trace in four short tables, each with a verdict, as the beginning of
 * the report.
 *
 * It is a summary: its figures come from other sections, for the GPU that sets the pace.
 * Shares of time are those of its partition in the steady window.
 */
#include "facts/metrics/metrics.h"
#include "passes/pass.h"

#define COLUMNS(X)                                                            \
	X(MEASURE, "measure", STR, "what is measured")                        \
	X(VALUE, "value", F64, "the figure; null: not known")                 \
	X(UNIT, "unit", STR, "unit of the value")                             \
	X(FROM, "from", STR, "section with the details")
NSX_COLUMNS(cols, COLUMNS);
#define SHOWN_COLUMNS(X)                                                      \
	X(SHOWN_DIMENSION, "dimension", STR, "one of the four questions")     \
	X(SHOWN_MEASURE, "measure", STR, "what is measured")                  \
	X(SHOWN_VALUE, "value", F64, "how much")                              \
	X(SHOWN_UNIT, "unit", STR, "unit of the value")
NSX_COLUMNS(shown_cols, SHOWN_COLUMNS);
static const struct nsx_layout shown_layout = {NSX_COLS(shown_cols)};
#define ANSWER_COLUMNS(X)                                                          \
	X(QUESTION, "question", STR, "CUDA ordinal of the GPU that sets the pace") \
	X(ANSWER, "answer", STR, "the answer in words")
NSX_LAYOUT_OF(answers_layout, ANSWER_COLUMNS, .key = "answers", .json_rows = NSX_ALL_ROWS);
enum { CPU, MEMORY, LINK, COMPUTE, NDIMENSIONS };
static const struct nsx_layout layouts[NDIMENSIONS] = {
	{.key = "cpu_overhead", NSX_COLS(cols), .json_rows = NSX_ALL_ROWS},
	{.key = "memory_overhead", NSX_COLS(cols), .json_rows = NSX_ALL_ROWS},
	{.key = "interconnect", NSX_COLS(cols), .json_rows = NSX_ALL_ROWS},
	{.key = "gpu_compute", NSX_COLS(cols), .json_rows = NSX_ALL_ROWS},
};
static const char *const titles[NDIMENSIONS] = {
	"CPU overhead", "Memory overhead", "Interconnect", "GPU compute",
};

struct dimensions {
	const struct nsx_run *run;
	const struct nsx_report *report;
	struct nsx_section *out;
	struct nsx_table *table; /* the table being filled                   */
	uint32_t device;	 /* the GPU that sets the pace               */
	const char *label; /* name of the GPU `device`                        */
	const char *window; /* "steady window" or "window"                   */
	double compute, exposed_copy, exposed_comm, idle; /* % of the window */
};

/* Other sections -----------------------------------------------------------*/

static const struct nsx_table *find_report_table(const struct dimensions *d,
						 const char *pass, const char *key)
{
	const struct nsx_section *s = nsx_report_section(d->report, pass);

	return s && (s->status == NSX_S_ANSWERED || !strcmp(key, "churn")) ?
		       nsx_section_table(s, key) : NULL;
}

static double number_of_cell(const struct nsx_cell *c)
{
	return !c ? NAN : c->type == NSX_T_I64 ? (double)c->u.i :
	       c->type == NSX_T_F64 ? c->u.f : NAN;
}

static double section_figure(const struct dimensions *d, const char *pass, const char *key)
{
	const struct nsx_section *s = nsx_report_section(d->report, pass);

	return s && s->status == NSX_S_ANSWERED ?
		       number_of_cell(nsx_section_value(s, key)) : NAN;
}

static double cell_figure(const struct nsx_table *t, size_t row, const char *key)
{
	int col = nsx_table_col(t, key);

	return col < 0 ? NAN : number_of_cell(&nsx_row_at(t, row)[col]);
}

/* Whether a row is of this device; false if its device is unknown. */
static bool is_row_of_device(const struct dimensions *d, const struct nsx_table *t, size_t row)
{
	int col = nsx_table_col(t, "device_id");
	const struct nsx_cell *c = col < 0 ? NULL : &nsx_row_at(t, row)[col];

	return c && (c->type == NSX_T_STR ?
			     !strcmp(c->u.s, nsx_ordinal_label(d->run->trace, d->device)) :
			     number_of_cell(c) ==
				     (double)d->run->trace->device[d->device].device_id);
}

/* Sums a column over the rows whose `where` column has this text (NULL: over all rows, or this
 * device's rows). The result is NAN if the section was not computed.
 */
static double sum_device_rows(const struct dimensions *d, const char *pass,
			      const char *key, const char *column, const char *where,
			      const char *text)
{
	const struct nsx_table *t = find_report_table(d, pass, key);
	int id = t ? nsx_table_col(t, "device_id") : -1;
	double sum = 0;

	if (!t)
		return NAN;
	for (size_t i = 0; i < t->nrows; i++) {
		if (id >= 0 && nsx_row_at(t, i)[id].type && !is_row_of_device(d, t, i))
			continue;
		if (text && strcmp(nsx_table_text(t, i, where), text))
			continue;
		if (!isnan(cell_figure(t, i, column)))
			sum += cell_figure(t, i, column);
	}
	return sum;
}

/* A column's figure in this device's row of a section; NAN if there is none. */
static double device_figure(const struct dimensions *d, const char *pass, const char *column)
{
	const struct nsx_table *t = find_report_table(d, pass, "devices");

	for (size_t i = 0; t && i < t->nrows; i++)
		if (is_row_of_device(d, t, i))
			return cell_figure(t, i, column);
	return NAN;
}

static void add_measure(struct dimensions *d, const char *measure, double value,
			const char *unit, const char *from)
{
	struct nsx_cell *row = nsx_add_row(d->table);

	row[MEASURE] = nsx_string(measure);
	row[VALUE] = nsx_real(value);
	row[UNIT] = nsx_string(unit);
	row[FROM] = nsx_string(from);
}

/* The tables and their verdicts --------------------------------------------*/

/* Words for the cause of idle time. */
static const char *const idle_words[NSX_NCAUSES] = {
	[NSX_CAUSE_SYNC] = "after synchronising calls",
	[NSX_CAUSE_BLOCKING_COPY] = "after copies that block the host",
	[NSX_CAUSE_IMPLICIT_SYNC] = "after calls that synchronise implicitly",
	[NSX_CAUSE_ALLOC] = "after allocations",
	[NSX_CAUSE_MODULE] = "while modules load",
	[NSX_CAUSE_OSRT] = "while the host waits in the system or in MPI",
	[NSX_CAUSE_OTHER_API] = "during other CUDA calls",
	[NSX_CAUSE_HOST_CODE] = "while the host runs code other than CUDA calls",
	[NSX_CAUSE_LAUNCH_CALL] = "inside launch calls",
	[NSX_CAUSE_LAUNCH_TO_START] = "between launch and start",
	[NSX_CAUSE_STREAM_WAIT] = "while streams wait for each other",
	[NSX_CAUSE_DISPATCH] = "short gaps between queued operations",
	[NSX_CAUSE_DEPENDENCY] = "between queued operations",
	[NSX_CAUSE_MIGRATION] = "before pages of unified memory move",
	[NSX_CAUSE_UNKNOWN] = "before work whose launch was not recorded",
	[NSX_CAUSE_EDGE] = "before the first or after the last operation",
};

/* Says the cause of most of this device's idle time; NULL: it is never idle. */
static const char *main_idle_cause(const struct dimensions *d)
{
	const struct nsx_table *t = find_report_table(d, "gpu_idle", "causes");
	const char *cause = NULL;
	double most = 0;

	for (unsigned c = 0; t && c < NSX_NCAUSES; c++) {
		double ms = sum_device_rows(d, "gpu_idle", "causes", "total_ms",
					    "cause", nsx_cause_names[c]);

		if (ms > most) {
			most = ms;
			cause = idle_words[c];
		}
	}
	return cause;
}

static const char *add_cpu_dimension(struct dimensions *d)
{
	const char *cause = main_idle_cause(d);

	add_measure(d, "GPU idle", d->idle,
		    nsx_say(d->out, "%% of the %s", d->window), "gpu_idle");
	add_measure(d, "idle because launches came late",
		    section_figure(d, "launch_storm", "launch_bound_ms"), "ms on all GPUs",
		    "launch_storm");
	add_measure(d, "idle after CPU-GPU barriers",
		    sum_device_rows(d, "barriers", "barriers", "cost_ms", NULL, NULL),
		    "ms on all GPUs", "barriers");
	add_measure(d, "launches", section_figure(d, "launch_storm", "launches_per_s"),
		    "a second", "launch_storm");
	add_measure(d, "median launch call to kernel start",
		    section_figure(d, "launch_latency", "summary.p50_us"), "us",
		    "launch_latency");
	add_measure(d, "OS calls on launching threads",
		    section_figure(d, "os_runtime",
				      "launch_thread_ms"), "ms", "os_runtime");
	if (d->idle < 5)
		return nsx_say(d->out, "the CPU keeps up: GPU %s is idle for %.1f %% of the "
			       "%s.", d->label, d->idle, d->window);
	return nsx_say(d->out, "GPU %s is idle for %.1f %% of the "
		       "%s%s%s.", d->label, d->idle, d->window,
		       cause ? ", mostly " : "", cause ? cause : "");
}

static const char *add_memory_dimension(struct dimensions *d)
{
	double peak = device_figure(d, "memory_usage", "pct_of_memory");

	add_measure(d, "copies while no kernel runs", d->exposed_copy,
		    nsx_say(d->out, "%% of the %s", d->window), "copies");
	add_measure(d, "exposed pageable copies",
		    device_figure(d, "copies", "pageable_exposed_ms"), "ms", "copies");
	add_measure(d, "copies below 64 KiB",
		    sum_device_rows(d, "copies", "rows", "small_count", NULL, NULL), "copies",
		    "copies");
	add_measure(d, "unified-memory migrations",
		    sum_device_rows(d, "copies", "migrations", "count", NULL, NULL),
		    "migrations", "copies");
	add_measure(d, "idle after cudaMalloc and cudaFree in the loop",
		    sum_device_rows(d, "memory_usage", "churn", "cost_ms", NULL, NULL),
		    "ms on all GPUs", "memory_usage");
	add_measure(d, "peak of GPU memory", peak, "% of its size", "memory_usage");
	if (d->exposed_copy >= 5)
		return nsx_say(d->out, "copies hold up GPU %s: %.1f %% of the %s is copying and "
			       "nothing else.", d->label, d->exposed_copy, d->window);
	return nsx_say(d->out, "copies cost GPU %s little: %.1f %% of the %s is copying and "
		       "nothing else.", d->label, d->exposed_copy, d->window);
}

/* The copy rate between host and GPU, in the direction that moves most bytes. */
static double link_rate(const struct dimensions *d, const char **ret)
{
	const struct nsx_table *t = find_report_table(d, "copies", "rows");
	double most = 0, rate = NAN;

	*ret = "rate of CPU-GPU copies";
	for (size_t i = 0; t && i < t->nrows; i++) {
		const char *dir = nsx_table_text(t, i, "direction");

		if (!is_row_of_device(d, t, i) ||
		    (strcmp(dir, "HtoD") && strcmp(dir, "DtoH")) ||
		    cell_figure(t, i, "bytes") <= most)
			continue;
		most = cell_figure(t, i, "bytes");
		rate = cell_figure(t, i, "gbps");
		*ret = !strcmp(dir, "HtoD") ? "rate host to device" : "rate device to host";
	}
	return rate;
}

static const char *add_link_dimension(struct dimensions *d)
{
	const struct nsx_device_facts *f = &d->run->facts->device[d->device];
	int64_t comm = nsx_spans_total(&f->comm);
	int64_t compute = nsx_spans_total(&f->compute);
	const struct nsx_table *messages = find_report_table(d, "nccl", "messages");
	const char *direction;
	double rate = link_rate(d, &direction);
	double ratio = compute ? (double)comm / (double)compute : NAN;
	double gb = (device_figure(d, "copies", "host_to_device_bytes") +
		     device_figure(d, "copies", "device_to_host_bytes")) / 1e9;
	double moved = sum_device_rows(d, "copies", "migrations", "bytes", NULL, NULL) / 1e9;

	add_measure(d, "communication while nothing computes", d->exposed_comm,
		    nsx_say(d->out, "%% of the %s", d->window), "nccl");
	add_measure(d, "transfers between CPU and GPU",
		    device_figure(d, "copies", "transfers_per_s"), "a second", "copies");
	add_measure(d, "moved between CPU and GPU", gb, "GB", "copies");
	add_measure(d, direction, rate, "GB/s", "copies");
	add_measure(d, "peer copies",
		    sum_device_rows(d, "copies", "rows", "bytes", "direction", "PtoP") / 1e9,
		    "GB", "copies");
	add_measure(d, "communication kernels", (double)comm / 1e6, "ms", "nccl");
	add_measure(d, "communication to computation", ratio, "ratio", "nccl");
	add_measure(d, "median message of the main collective",
		    messages && messages->nrows ?
		    cell_figure(messages, 0, "p50_bytes") / 1e6 : NAN, "MB", "nccl");
	if (comm)
		return nsx_say(d->out, "communication %s GPU %s: %.1f %% of the %s is "
			       "communication while nothing computes%s.",
			       d->exposed_comm >= 5 ? "holds up" :
						      "costs little on",
			       d->label, d->exposed_comm, d->window,
			       isnan(ratio) ? "" :
			       nsx_say(d->out, "; it takes %.2f times as long as compute", ratio));
	if (gb > 0)
		return nsx_say(d->out, "no communication between GPUs; %.2f GB "
			       "cross the CPU-GPU link%s.", gb,
			       isnan(rate) ? "" :
			       nsx_say(d->out, " at %.2f GB/s", rate));
	if (moved > 0)
		return nsx_say(d->out, "no communication between GPUs; %.2f GB "
			       "of unified memory migrate.", moved);
	return isnan(gb) ? "no communication kernel." :
			   "no communication kernel and no copy between CPU and GPU.";
}

/* The mean of a counter while kernels compute or, if it was not sampled there, over the window;
 * NAN: neither.
 */
static double counter_while_busy(const struct dimensions *d, enum nsx_counter which)
{
	struct nsx_counters c = nsx_counters_of(d->run->facts->metrics, d->device);
	double mean = nsx_counter_typical(&c, which, NSX_SCOPE_COMPUTE);

	return isnan(mean) ? nsx_counter_typical(&c, which, NSX_SCOPE_WINDOW) : mean;
}

static bool graphs_hide_kernels(const struct dimensions *d)
{
	return d->run->facts->graphs.mode == NSX_GRAPH_WHOLE;
}

static void dimensions_add_shape(struct dimensions *d)
{
	add_measure(d, "mean theoretical occupancy",
		    device_figure(d, "kernel_shape", "occupancy_pct"), "% of warps",
		    "kernel_shape");
	add_measure(d, "grids too small for the GPU",
		    device_figure(d, "kernel_shape", "small_grid_pct"),
		    "% of kernel time", "kernel_shape");
}

static const char *add_gpu_dimension(struct dimensions *d)
{
	const struct nsx_table *categories = find_report_table(d, "kernel_shape", "categories");
	const struct nsx_table *kernels = find_report_table(d, "top_kernels", "kernels");
	double hidden = section_figure(d, "cuda_graphs", "replay_ms");
	double tensor = counter_while_busy(d, NSX_TENSOR_ACTIVE);
	bool is_opaque = graphs_hide_kernels(d);

	add_measure(d, "compute", d->compute,
		    nsx_say(d->out, "%% of the %s", d->window), "partition");
	add_measure(d, "median kernel",
		    section_figure(d, "launch_storm", "median_kernel_us"),
		    "us", "launch_storm");
	if (!is_opaque)
		dimensions_add_shape(d);
	if (!isnan(tensor))
		add_measure(d, "tensor cores active while computing", tensor, "%",
			    "gpu_metrics");
	if (!isnan(counter_while_busy(d, NSX_SM_ACTIVE)))
		add_measure(d, "multiprocessors active while computing",
			    counter_while_busy(d, NSX_SM_ACTIVE), "%", "gpu_metrics");
	if (is_opaque)
		return nsx_say(d->out, "GPU %s computes for %.1f %% of the %s; CUDA graphs without "
			       "recorded contents take %s of the trace.",
			       d->label, d->compute, d->window, nsx_say_ms(d->out, hidden));
	if (!categories || !categories->nrows || !kernels || !kernels->nrows)
		return nsx_say(d->out, "GPU %s computes for %.1f %% of "
			       "the %s.", d->label, d->compute, d->window);
	return nsx_say(d->out, "GPU %s computes for %.1f %% of the %s; most kernel time is %s "
		       "(%.1f %%), the top kernel takes %.1f %%.", d->label, d->compute, d->window,
		       nsx_table_text(categories, 0, "category"),
		       cell_figure(categories, 0, "pct_total_kernel_time"),
		       cell_figure(kernels, 0, "pct_total_kernel_time"));
}

/* Says which class takes most of the window. */
static const char *say_leading_class(const struct dimensions *d)
{
	const struct {
		const char *what;
		double pct;
	} list[] = {
		{"GPU compute", d->compute},
		{"GPU idle time", d->idle},
		{"copies", d->exposed_copy},
		{"communication", d->exposed_comm},
	};
	unsigned best = 0;

	for (unsigned i = 1; i < ARRAY_LEN(list); i++)
		if (list[i].pct > list[best].pct)
			best = i;
	return nsx_say(d->out, "%s, %.1f %% of the %s", list[best].what, list[best].pct, d->window);
}

/* Questions --------------------------------------------------------------------*/

static void add_dimension(struct dimensions *d, const char *question, const char *text)
{
	struct nsx_cell *row = nsx_add_row(d->table);

	row[QUESTION] = nsx_string(question);
	row[ANSWER] = nsx_string(text);
}

static const char *dimensions_say_pct(const struct dimensions *d, double pct)
{
	return nsx_text_share(d->out->arena, pct, 100);
}

/* A figure of the section kernel_shape; NAN if CUDA graphs hide most kernels. */
static double kernel_shape_figure(const struct dimensions *d, const char *column)
{
	return graphs_hide_kernels(d) ? NAN : device_figure(d, "kernel_shape", column);
}

static const char *say_if_gpu_is_full(const struct dimensions *d)
{
	double sm = counter_while_busy(d, NSX_SM_ACTIVE);
	double occupancy = kernel_shape_figure(d, "occupancy_pct");

	if (!isnan(sm))
		return nsx_say(d->out, "%s: %s of its multiprocessors are active while it computes",
			       sm >= 90 ? "yes" : sm >= 60 ? "mostly" : "no",
			       dimensions_say_pct(d, sm));
	return nsx_say(d->out, "not known, because %s%s",
		       d->run->trace->device[d->device].is_slice ?
			       "a MIG slice has no counters of its own" : "no counter was sampled",
		       isnan(occupancy) ? "" :
		       nsx_say(d->out, "; with enough blocks, its kernels could fill %s of the "
			       "warps", dimensions_say_pct(d, occupancy)));
}

static const char *say_if_grids_fill_gpu(const struct dimensions *d, double small)
{
	if (isnan(small))
		return graphs_hide_kernels(d) ?
			       "not known: CUDA graphs hide the kernels" :
			       "not known: the trace lacks the launch "
			       "dimensions or the size of the GPU";
	return nsx_say(d->out, "%s: %s of compute kernels' time is in grids with fewer blocks than "
		       "multiprocessors", small < 5 ? "yes" : small < 30 ? "mostly" : "no",
		       small > 0 ? dimensions_say_pct(d, small) : "none");
}

/* Says whether more streams would help: they do only if kernels leave room on the GPU. */
static const char *say_if_streams_help(const struct dimensions *d, double small)
{
	const struct nsx_trace *t = d->run->trace;
	const struct nsx_device *dev = &t->device[d->device];
	uint8_t *seen = nsx_arena_get(d->run->scratch, (size_t)t->nstreams + 1);
	int64_t sum_ns = 0, union_ns = nsx_spans_total(&d->run->facts->device[d->device].compute);
	double beside;
	size_t n = 0;

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		if (t->ops.cls[i] != NSX_C_COMPUTE)
			continue;
		n += !seen[nsx_op_stream(&t->ops, i)];
		seen[nsx_op_stream(&t->ops, i)] = 1;
		nsx_add_to(&sum_ns, nsx_op_ns(&t->ops, i));
	}
	if (!n)
		return "no kernel ran";
	beside = 100 * (1 - (double)union_ns / (double)NSX_MAX(sum_ns, 1));
	return nsx_say(d->out, "%s: its kernels are on %s and %s%s",
		       isnan(small) ? "not known" :
		       small < 5 || beside >= 5 ? "yes" :
		       n > 1 ? "yes, but they are not used" : "no",
		       nsx_text_n(d->out->arena, n, "stream", NULL),
		       beside > 0 ? nsx_say(d->out, "overlap for %s of their time",
					    dimensions_say_pct(d, beside)) :
				    "never overlap",
		       small < 5 ? "; few of them leave room for another kernel" : "");
}

static const char *say_what_bounds_kernels(const struct dimensions *d)
{
	struct nsx_counters c = nsx_counters_of(d->run->facts->metrics, d->device);

	switch (nsx_bound_by(&c, NSX_SCOPE_COMPUTE)) {
	case NSX_BOUND_MEMORY:
		return "memory";
	case NSX_BOUND_COMPUTE:
		return "arithmetic";
	case NSX_BOUND_LATENCY:
		return "latency";
	default:
		return NULL;
	}
}

static void answer_questions(struct dimensions *d)
{
	double small = kernel_shape_figure(d, "small_grid_pct");
	const char *bound = say_what_bounds_kernels(d);
	const char *text = d->run->trace->ndevices < 2 ? "" :
		nsx_say(d->out, nsx_is_held_up(d->report) ? "GPU %s: " :
			"GPU %s sets the pace. ", d->label);

	d->table = nsx_add_table(d->out, &answers_layout);
	add_dimension(d, "Is it idle?",
		      nsx_say(d->out, "%s: for %s of the %s",
				  d->idle < 5 ? "no" : d->idle < 50 ? "partly" : "mostly",
				  dimensions_say_pct(d, d->idle), d->window));
	add_dimension(d, "Is it full?", say_if_gpu_is_full(d));
	add_dimension(d, "Is the grid big enough?", say_if_grids_fill_gpu(d, small));
	add_dimension(d, "Are there enough streams?", say_if_streams_help(d, small));
	if (bound)
		add_dimension(d, "What bounds its kernels?", bound);
	for (size_t i = 0; i < d->table->nrows; i++) {
		const struct nsx_cell *row = nsx_row_at(d->table, i);

		text = nsx_say(d->out, "%s%s**%s** %s.", text, i ? " " : "",
			       row[QUESTION].u.s, row[ANSWER].u.s);
	}
	nsx_md_bullet(d->out, "%s", text);
}

/* The section --------------------------------------------------------------*/

static void measure_classes(struct dimensions *d)
{
	const struct nsx_facts *f = d->run->facts;
	const struct nsx_window *w = &f->steady.window;
	struct nsx_partition p;
	double percent;

	d->window = "steady window";
	if (w->start_ns >= w->end_ns) {
		w = &d->run->trace->window;
		d->window = "window";
	}
	d->device = f->limiting == NSX_NONE ? 0 : f->limiting;
	d->label = nsx_gpu_label(d->run->trace, d->device);
	nsx_partition(&f->device[d->device], w->start_ns, w->end_ns, &p);
	percent = 100 / (double)NSX_MAX(w->end_ns - w->start_ns, 1);
	d->exposed_copy = (double)p.ns[NSX_P_COPY_EXPOSED] * percent;
	d->exposed_comm = (double)p.ns[NSX_P_COMM_EXPOSED] * percent;
	d->idle = (double)p.ns[NSX_P_IDLE] * percent;
	d->compute = ((double)p.ns[NSX_P_COMPUTE_ONLY] + (double)p.ns[NSX_P_COMPUTE_COPY] +
		      (double)p.ns[NSX_P_COMPUTE_COMM]) * percent;
}

static void dimensions_show(struct dimensions *d)
{
	struct nsx_table *shown = nsx_add_table(d->out, &shown_layout);

	for (size_t i = 0; i < NDIMENSIONS; i++)
		for (size_t r = 0; r < d->out->tables[i]->nrows; r++) {
			const struct nsx_cell *from = nsx_row_at(d->out->tables[i], r);
			struct nsx_cell *row;

			if (from[1].type == NSX_T_NULL || (r && fabs(from[1].u.f) < 0.005))
				continue;
			row = nsx_add_row(shown);
			row[SHOWN_DIMENSION] = nsx_string(titles[i]);
			memcpy(row + 1, from, 3 * sizeof(*row));
		}
}

static int dimensions_summarise(const struct nsx_run *run, const struct nsx_report *report,
				struct nsx_section *out, struct nsx_err *err NSX_UNUSED)
{
	static const char *(*const fill[NDIMENSIONS])(struct dimensions *) = {
		add_cpu_dimension, add_memory_dimension, add_link_dimension, add_gpu_dimension};
	struct dimensions d = {.run = run, .report = report, .out = out};

	nsx_add_tables(out);
	if (!run->trace->ndevices)
		return nsx_cannot(out, "the trace has no GPU work");
	measure_classes(&d);
	for (unsigned i = 0; i < NDIMENSIONS; i++) {
		d.table = out->tables[i];
		nsx_put(out, nsx_say(out, "verdicts.%s", layouts[i].key),
			nsx_string(fill[i](&d)));
	}
	nsx_put(out, "device_id", nsx_device_cell(run->trace, d.device));
	nsx_put(out, "window", nsx_string(d.window));
	nsx_put(out, "most", nsx_string(say_leading_class(&d)));
	answer_questions(&d);
	dimensions_show(&d);
	return 0;
}

NSX_DEFINE_SUMMARY(dimensions,
	.title = "Where the time went",
	.summary = "verdicts on CPU overhead, memory overhead, interconnect and GPU compute",
	.doc = "Figures of the GPU that sets the pace. Shares of time are its exact partition "
	       "(compute, copies alone, communication alone, idle) in the steady window, or in the "
	       "whole window if there is no steady one; the other figures come from the sections "
	       "named in `from` and cover the whole window. Idle: below 5 % is no, below 50 % "
	       "partly. Full: from 90 % of active multiprocessors, mostly from 60 %. Grids are big "
	       "enough if less than 5 % of the kernel time is in grids that are too small, mostly "
	       "below 30 %. There are too few streams if grids are too small and kernels overlap "
	       "for less than 5 % of their time.",
	.derived_from = "the other sections, for the GPU that sets the pace",
	.limitations = "figures marked 'all GPUs' are sums; other sections show the other GPUs",
	.any_of = {NSX_GPU_WORK},
	NSX_LAYOUTS(layouts),
	.more = (const struct nsx_layout *const[]){&answers_layout, NULL});
