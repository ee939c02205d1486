/* checked.c - what the capture lacks, figures that look bad but are not (listed under "checked and
 * fine", so that nobody investigates them again), and what findings cost the steps of an engine.
 */
#include <inttypes.h>
#include "detect/detect.h"
#include "facts/steps/limit.h"

#define SMALL_GRIDS_PCT 10
#define BOUND_SHARE 0.05

int nsx_detect_grids(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	int64_t ns = d->measured->grids.ns;
	int64_t small_ns = d->measured->grids.small_ns;
	double pct = ns ? 100 * (double)small_ns / (double)ns : 100;

	if (pct < SMALL_GRIDS_PCT)
		nsx_fine(d->found, say_grids_with_fewer_blocks,
			nsx_gpu_label(d->trace, d->measured->grids.device),
			small_ns ? nsx_text_share(d->found->arena, pct, 100) : "none");
	return 0;
}

int nsx_detect_launching(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_measured *m = d->measured;
	const struct nsx_window *w = &d->trace->window;
	double share = (double)m->storm.bound_ns / (double)(w->end_ns - w->start_ns);

	if (m->storm.is_storm && share >= 0 && share < BOUND_SHARE)
		nsx_fine(d->found, say_kernels_second_each, m->storm.per_s,
			nsx_text_ns(d->found->arena, m->storm.median_ns), 100 * share);
	if (m->launches.held_ns > m->launches.ns / 2)
		nsx_fine(d->found, say_launch_calls_take_host,
			nsx_tell_ns(d->found, m->launches.ns),
			nsx_tell_ns(d->found, m->launches.held_ns),
			m->launches.is_inferred ? say_inferred_from_calls_far : "");
	return 0;
}

/* Reports that the longest idle GPU is idle for less than half of the time in which it has no
 * kernel: the difference is copies.
 */
int nsx_detect_copies_only(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_window *w = &d->trace->window;
	double all = (double)(w->end_ns - w->start_ns);
	double most = -1, no_kernel = -1; /* negative without a GPU          */
	uint32_t device = 0;

	for (uint32_t i = 0; i < d->trace->ndevices; i++) {
		const struct nsx_device_facts *f = &d->facts->device[i];
		double pct = 100 * (double)nsx_idle_total(&d->facts->idle[i]) / all;

		if (pct <= most)
			continue;
		most = pct;
		device = i;
		no_kernel = 100 * (all - (double)nsx_kernel_busy(f)) / all;
	}
	if (no_kernel - most > NSX_MAX(1, most))
		nsx_fine(d->found, say_gpu_runs_no_kernel_whole, nsx_gpu_label(d->trace, device),
			nsx_text_share(d->found->arena, no_kernel, 100),
			nsx_text_share(d->found->arena, most, 100));
	return 0;
}

int nsx_detect_capture(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	for (const struct nsx_capture_check *x = d->measured->capture; x; x = x->next) {
		const struct nsx_finding f = {
			.id = x->id, .subject = x->subject, .title = x->title,
			.evidence = {x->detail},
			.recommendation = {x->advice}, .device = NSX_NONE,
			.confidence = NSX_CONF_HIGH, .severity = x->severity,
			.alarm = NSX_ALARM_SET,
			.proof = {{.csv = "capture_quality",
				   .column = "detail",
				   .at = {{"detail", nsx_string(x->detail)}}}},
		};

		nsx_found(d->found, &f);
	}
	return 0;
}

static void graphs_propose(struct nsx_detect *d, enum nsx_finding_id id,
			   const char *title, const char *evidence, const char *remedy)
{
	const struct nsx_finding f = {
		.id = id, .title = title,
		.evidence = {evidence},
		.recommendation = {say_capture_short_stretch, remedy}, .device = NSX_NONE,
		.confidence = NSX_CONF_HIGH,
		.alarm = NSX_ALARM_SET,
		.proof = {{.csv = "cuda_graphs", .column = "coverage_pct"}},
	};

	nsx_found(d->found, &f);
}

int nsx_detect_graphs(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_graph_facts *g = &d->facts->graphs;

	if (g->coverage_pct < NSX_GRAPHS_COVERED_PCT)
		graphs_propose(d, NSX_ID_graph_coverage, say_cuda_graph_work_missing,
			nsx_tell(d->found,
				"%" PRId64 " of %" PRId64 " graph launches left "
				"no replay: busy time is a lower bound, idle time an upper "
				"bound",
				g->launches - g->covered, g->launches),
			say_export_with_nsys_2024_6);
	if (g->hidden_pct >= NSX_GRAPHS_HIDDEN_PCT)
		graphs_propose(d, NSX_ID_graph_inside, say_inside_cuda_graphs_not,
			nsx_tell(d->found, say_gpus_busy_time_replays, g->hidden_pct), NULL);
	return 0;
}

/* Engines ---------------------------------------------------------------------------- */

/* Steps of engines on the limiting GPU in the judged window. A step at an edge of the window counts
 * for its part inside.
 */
struct engine_work {
	double n, ns;
	double tokens; /* decoded: one by each request of a step; negative: not known */
};

static struct engine_work add_engine_work(const struct nsx_facts *f,
					  const struct nsx_engine_steps *steps)
{
	struct nsx_window w = nsx_judged(f);
	struct engine_work a = {0};

	for (size_t i = 0; i < steps->n; i++) {
		const struct nsx_engine_step *s = &steps->v[i];
		double ns = (double)(NSX_MIN(s->gpu_end_ns, w.end_ns) -
				     NSX_MAX(s->gpu_start_ns, w.start_ns));
		double part = ns / (double)(s->gpu_end_ns - s->gpu_start_ns);

		if (s->device != f->limiting || ns <= 0 || s->name.kind == NSX_STEP_TRAINING)
			continue;
		a.n += part;
		a.ns += ns;
		if (s->name.kind == NSX_STEP_DECODE || s->name.kind == NSX_STEP_MIXED)
			a.tokens = s->name.decodes < 0 || a.tokens < 0 ? -1 :
				   a.tokens + part * (double)s->name.decodes;
	}
	return a;
}

void nsx_limit_by_model(struct nsx_detect *d)
{
	struct nsx_findings *l = d->found;
	struct nsx_partition part;
	double least_ns, room_ns;

	if (!d->opts->model || d->facts->limiting == NSX_NONE)
		return;
	nsx_partition(&d->facts->device[d->facts->limiting], d->w.start_ns, d->w.end_ns, &part);
	least_ns = nsx_llm_least_of_steps(d->opts->model, d->trace, &d->measured->steps,
					  d->facts->limiting, d->w);
	room_ns = (double)nsx_computing_ns(part.ns) - least_ns;
	for (size_t i = 0; least_ns > 0 && room_ns > 0 && i < l->n; i++) {
		struct nsx_finding *x = &l->v[i];

		if (nsx_finding_defs[x->id].category != NSX_CAT_COMPUTE)
			continue;
		if (x->remedy.n)
			x->most_ns = x->most_ns > 0 ? NSX_MIN(x->most_ns, room_ns) : room_ns;
		nsx_insert_evidence(x, x->is_assumed && x->evidence[1] ? 2 : 1,
				    nsx_tell(l, say_by_model_kernels_need,
					     nsx_text_ns(l->arena, least_ns),
					     nsx_tell_ns(l, nsx_computing_ns(part.ns))));
	}
}

/* "A step takes 1 ms → 820 µs on average; 5000 → 6100 tokens decoded a second" */
static const char *say_in_steps(struct nsx_findings *l, const struct engine_work *work,
				const struct nsx_finding *f, double window_ns)
{
	const char *step = nsx_tell(l, say_step_takes,
				    nsx_text_ns(l->arena, work->ns / work->n),
				    nsx_text_ns(l->arena, work->ns / work->n - f->step_ns));

	return work->tokens <= 0 ? step :
		nsx_tell(l, say_tokens_a_second, step,
			 work->tokens / window_ns * 1e9,
			 work->tokens / (window_ns - f->headroom_ns) * 1e9);
}

void nsx_price_steps(const struct nsx_facts *f, const struct nsx_engine_steps *steps,
		     struct nsx_findings *l)
{
	struct nsx_window w = nsx_judged(f);
	struct engine_work work = add_engine_work(f, steps);

	if (work.n < 1)
		return;
	for (size_t i = 0; i < l->n; i++) {
		struct nsx_finding *x = &l->v[i];

		if (x->price < NSX_PRICE_MEASURED || x->headroom_ns <= 0 ||
		    x->headroom_ns >= work.ns)
			continue;
		x->step_ns = x->headroom_ns / work.n;
		nsx_insert_evidence(x, 1, say_in_steps(l, &work, x,
						       (double)(w.end_ns - w.start_ns)));
	}
}
