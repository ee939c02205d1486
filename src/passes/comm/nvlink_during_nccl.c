/* nvlink_during_nccl.c - NVLink counters while communication kernels run, for each counter
 * of each GPU.
 */
#include "facts/metrics/metrics.h"
#include "passes/pass.h"
#include "schema/recapture.h"
#include "schema/viewscan.h"

#define SATURATED 80   /* a link is saturated from this 95th percentile on, in % of its peak */
#define LOW 20	       /* a link is hardly used up to this mean, in % of its peak */
#define LEAST_SHARE 0.05 /* least share of the window in exposed communication for a judgement */

#define COLUMNS(X)                                                                                 \
	X(SOURCE, "metric_source_id", I64, "source of the counter")                                \
	X(NAME, "metric_names", STR, "the counter")                                                \
	X(SAMPLES, "samples", I64, "samples in the whole trace")                                   \
	X(DURING_N, "samples_during_nccl", I64, "samples with at least half of their period "      \
						"under communication")                             \
	X(DURING, "avg_metric_during_nccl", F64,                                                   \
	  "mean, weighted by the share of each sample under communication")                        \
	X(OUTSIDE, "avg_metric_outside_nccl", F64, "mean, weighted by the rest of each sample")    \
	X(MAX, "max_metric_during_nccl", F64, "greatest of samples_during_nccl")                   \
	X(CORRELATION, "nccl_activity_correlation", F64,                                           \
	  "Pearson correlation of value and share under communication; null below 20 samples")     \
	X(DEVICE, "device_id", I64, "CUDA ordinal, or the number of the GPU if unknown")           \
	X(PERIOD, "sample_period_us", F64, "period that a sample stands for")                      \
	X(COVERAGE, "coverage_pct", F64, "sampled share of the window")
NSX_LAYOUT_OF(layout, COLUMNS, .key = "rows", .csv = "nvlink_during_nccl");

static bool is_nvlink(const char *name)
{
	return name && (strcasestr(name, "nvlink") ||
			strcasestr(name, "nvlrx") || strcasestr(name, "nvltx"));
}

struct names {
	struct nsx_arena *a;
	bool found;
};

static int note_counter_name(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			     struct nsx_err *err NSX_UNUSED)
{
	struct names *names = ctx;

	names->found |= is_nvlink(nsx_val_text(v, names->a));
	return 0;
}

static const char *lacks_nvlink(const struct nsx_schema *s, struct nsx_arena *a)
{
	struct names names = {a, false};
	struct nsx_err err;

	if (nsx_view_each(s, gpu_metric_info, note_counter_name, &names, &err, metric_name))
		return NULL;
	return names.found ? NULL : "NVLink counters";
}

static int nvlink_during_nccl_say_missing(const struct nsx_run *run, struct nsx_section *out)
{
	static const unsigned steps[] = {
		NSX_REC_SETS,
		NSX_REC_COUNTERS | NSX_REC_NCCL | NSX_REC_GRAPHS | NSX_REC_SCHED,
		NSX_REC_EXPORT | NSX_REC_PAYLOAD, NSX_REC_EXPORT};
	const char **lines = nsx_arena_get(out->arena, sizeof(*lines) * (ARRAY_LEN(steps) + 1));
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(steps) && n < 3; i++) {
		lines[n] = nsx_recapture_line(out->arena, run->trace->schema, steps[i]);
		n += lines[n] != NULL;
	}
	nsx_put(out, "missing_counters", nsx_bool(true));
	nsx_put(out, "capture_instructions", nsx_list(lines));
	nsx_headline(out, "NVLink during NCCL: NVLink counters not found");
	if (run->facts->metrics && n == 3) {
		nsx_md_heading(out, "Capture quality");
		nsx_md_bullet(out, "NVLink counters not found among those that were sampled. To "
			      "capture them: `%s`; `%s`; `%s`", lines[0], lines[1], lines[2]);
	}
	return nsx_cannot(out, "NVLink counters not found: %s",
			  run->facts->metrics ?
				  "the GPU metrics that were sampled have none" :
				  "the trace has no rows of GPU_METRICS");
}

static void fill_links(const struct nsx_run *run, struct nsx_section *out, struct nsx_table *table)
{
	const struct nsx_metrics *m = run->facts->metrics;

	for (size_t i = 0; i < m->n; i++) {
		const struct nsx_metric *x = &m->v[i];
		const struct nsx_metric_scope *comm = &x->scope[NSX_SCOPE_COMM];
		struct nsx_cell *row;

		if (!is_nvlink(x->name))
			continue;
		row = nsx_add_row(table);
		row[SOURCE] = nsx_int(x->source_id);
		row[NAME] = nsx_string(nsx_say(out, "%s", x->name));
		row[SAMPLES] = nsx_int((int64_t)x->n);
		if (x->device != NSX_NONE) {
			row[DURING_N] = nsx_int((int64_t)comm->n);
			row[DURING] = nsx_real(comm->mean);
			row[OUTSIDE] = nsx_real(x->mean_without_comm);
			row[MAX] = nsx_real(comm->max_inside);
			row[CORRELATION] = nsx_real(x->comm_correlation);
		}
		row[DEVICE] = nsx_sampled_cell(run->trace, x->device, x->device_id);
		row[PERIOD] = nsx_us((double)x->period_ns);
		row[COVERAGE] = nsx_real(100 * x->scope[NSX_SCOPE_WINDOW].coverage);
	}
}

/* Computes the median length of a device's communication kernels; 0 if there are none. */
static int median_comm(const struct nsx_run *run, uint32_t device, double *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_device *d = &t->device[device];
	int64_t *v;
	size_t n = 0;

	if (!nsx_new_array(v, run->scratch, d->nops, "durations", err))
		return err->rc;
	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++)
		if (t->ops.cls[i] == NSX_C_COMM)
			v[n++] = nsx_op_ns(&t->ops, i);
	*ret = n ? nsx_quantile(v, n, 0.5) : 0;
	nsx_arena_drop(run->scratch, v);
	return 0;
}

/* Judges the link by the busiest counter of a device. */
static void judge_link_use(const struct nsx_run *run, struct nsx_section *out,
			   const struct nsx_metric *x)
{
	const struct nsx_device_facts *f = &run->facts->device[x->device];
	const struct nsx_metric_scope *comm = &x->scope[NSX_SCOPE_COMM];
	const struct nsx_window *w = &run->trace->window;
	const char *name = nsx_md_name(out, x->name);
	const char *gpu = nsx_sampled_label(out, run->trace, x->device, x->device_id);
	double exposed = (double)nsx_spans_minus_total(&f->comm, &f->compute) /
			 (double)(w->end_ns - w->start_ns);

	if (comm->p95 >= SATURATED)
		nsx_md_bullet(out, "GPU %s is link-bound while it communicates: %s reaches %.0f "
			      "%% of its peak (95th percentile).", gpu, name, comm->p95);
	else if (comm->mean < LOW && exposed >= LEAST_SHARE)
		nsx_md_bullet(out, "GPU %s: %s averages %.1f %% while %.1f %% of the window is "
			      "exposed communication: it waits for late ranks or for latency, not "
			      "for the link.", gpu, name, comm->mean, 100 * exposed);
	else
		nsx_md_bullet(out, "NVLink of GPU %s is not the limit: %s averages %.1f %% "
			      "during communication, 95th percentile %.0f %%.", gpu, name,
			      comm->mean, comm->p95);
}

/* The counter in [i, end) with the highest value during communication; NULL: none. */
static const struct nsx_metric *busiest_link_counter(const struct nsx_metrics *m, size_t i,
						     size_t end)
{
	const struct nsx_metric *top = NULL;

	for (; i < end; i++) {
		const struct nsx_metric *x = &m->v[i];

		if (x->device != NSX_NONE && is_nvlink(x->name) &&
		    x->scope[NSX_SCOPE_COMM].n &&
		    x->scope[NSX_SCOPE_WINDOW].max <= 100 &&
		    (!top || x->scope[NSX_SCOPE_COMM].mean > top->scope[NSX_SCOPE_COMM].mean))
			top = x;
	}
	return top;
}

static int judge_gpus(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	const struct nsx_metrics *m = run->facts->metrics;

	NSX_EACH_RUN(i, next, m->n, nsx_is_same_gpu(&m->v[next], &m->v[i])) {
		double median_ns = 0;
		const struct nsx_metric *top = busiest_link_counter(m, i, next);

		if (!top)
			continue;
		if (median_comm(run, top->device, &median_ns, err))
			return err->rc;
		if (median_ns < 2 * (double)top->period_ns)
			nsx_note(out, "GPU %s: half of the collectives are shorter than two "
				 "samples of %s; means include what is around them",
				 nsx_sampled_label(out, run->trace, top->device, top->device_id),
				 nsx_say_time(out, top->period_ns));
		judge_link_use(run, out, top);
	}
	return 0;
}

static void nvlink_during_nccl_say_top(struct nsx_section *out, const struct nsx_table *rows)
{
	const struct nsx_cell *top = NULL;

	for (size_t i = 0; i < rows->nrows; i++) {
		const struct nsx_cell *row = nsx_row_at(rows, i);

		if (row[DURING].type != NSX_T_NULL && (!top || row[DURING].u.f > top[DURING].u.f))
			top = row;
	}
	if (!top) {
		nsx_headline(out, "NVLink during NCCL: %zu counters, but no "
			     "communication kernel was sampled", rows->nrows);
		return;
	}
	nsx_headline(out, "NVLink during NCCL: %s averages %.2f during, %s "
		     "outside%s", top[NAME].u.s, top[DURING].u.f,
		     top[OUTSIDE].type == NSX_T_NULL ? "never sampled" :
		     nsx_say(out, "%.2f", top[OUTSIDE].u.f),
		     top[CORRELATION].type == NSX_T_NULL ? "" :
		     nsx_say(out, " (correlation %.3f)", top[CORRELATION].u.f));
}

static int nvlink_during_nccl_run(const struct nsx_run *run, struct nsx_section *out,
				  struct nsx_err *err)
{
	const struct nsx_metrics *m = run->facts->metrics;
	struct nsx_table *rows = nsx_add_table(out, &layout);

	if (m && m->damage)
		return nsx_fail(err, NSX_E_DATA, "table GPU_METRICS is damaged: %s", m->damage);
	if (m)
		fill_links(run, out, rows);
	if (!rows->nrows)
		return nvlink_during_nccl_say_missing(run, out);
	if (judge_gpus(run, out, err))
		return err->rc;
	nsx_table_sort(rows, DEVICE, NAME, SOURCE);
	nsx_put(out, "missing_counters", nsx_bool(false));
	nsx_put(out, "capture_instructions", nsx_list(NULL));
	nsx_md_text(out, "%s of NVLink, during communication and outside of it.",
		    nsx_text_n(out->arena, rows->nrows, "counter", NULL));
	nsx_md_table(out, rows, 0, DEVICE, NAME, SAMPLES, DURING_N, DURING,
		     OUTSIDE, MAX, CORRELATION, COVERAGE);
	nvlink_during_nccl_say_top(out, rows);
	return 0;
}

NSX_DEFINE_PASS(nvlink_during_nccl,
	.title = "NVLink",
	.subject = "NVLink",
	.summary = "NVLink counters while communication kernels run",
	.doc = "A sample at t stands for [t, t + period). The period is the median step between "
	       "samples, or a period or frequency of two digits within 0.3 % of it. With f the "
	       "share of this interval under communication kernels of the same GPU: during is "
	       "the mean weighted by f, and outside the mean weighted by 1 - f. The maximum is "
	       "over samples with f >= 0.5. The correlation is Pearson's of value and f, from 20 "
	       "samples on. A gap is missing data, not zero. A GPU is called link-bound from 80 "
	       "% of the peak at the 95th percentile.",
	.derived_from = "sampled NVLink counters of each GPU and its communication kernels",
	.limitations = "device-wide counters; the peak of the link is not in the trace; "
		       "collectives shorter than a sample are blurred",
	.caveat = "counters cover the whole GPU, including other processes; inactive links can "
		  "read as fully used; receive and transmit, and requests and responses, are never "
		  "added up",
	.any_of = {NSX_NEED_VIEW(gpu_metric)},
	.lacks = lacks_nvlink,
	NSX_LAYOUT(layout),
	.measures = true);
