/* emit_json.c - diff.json, with figures in full precision. */
#include <math.h>
#include "base/jsonw.h"
#include "diff/emit.h"
#include "emit/emit.h"

static void add_interval_ms(struct nsx_jsonw *w, const char *key, const struct nsx_interval *ns)
{
	nsx_jsonw_array(w, key);
	nsx_jsonw_real(w, NULL, ns->lo / 1e6);
	nsx_jsonw_real(w, NULL, ns->hi / 1e6);
	nsx_jsonw_end(w);
}

/* Adds a figure, which is null if it is not known. */
static void add_known(struct nsx_jsonw *w, const char *key, double v)
{
	if (isnan(v))
		nsx_jsonw_null(w, key);
	else
		nsx_jsonw_real(w, key, v);
}

static void add_shift(struct nsx_jsonw *w, const struct nsx_diff *d, const struct nsx_step *c)
{
	bool captures = nsx_enough_captures(c->side[0].ncaptures, c->side[1].ncaptures);
	double mean_ns = c->side[1].mean_ns - c->side[0].mean_ns;

	if (d->whole) { /* lengths of captures prove nothing */
		nsx_jsonw_null(w, "shift");
		return;
	}
	nsx_jsonw_object(w, "shift");
	nsx_jsonw_real(w, "ms", c->shift_ns / 1e6);
	nsx_jsonw_real(w, "rel", c->rel);
	add_interval_ms(w, "ci", &c->ci_ns);
	nsx_jsonw_str(w, "ci_kind", captures ? "ci_between_captures" : "ci_within_capture");
	add_interval_ms(w, "blocks", &c->blocks_ns);
	nsx_jsonw_real(w, "level", 1 - d->opts->alpha);
	nsx_jsonw_real(w, "p", c->test.p);
	nsx_jsonw_bool(w, "p_exact", c->test.exact);
	nsx_jsonw_real(w, "u", c->test.u);
	nsx_jsonw_real(w, "a12", c->test.a12);
	nsx_jsonw_real(w, "floor", c->floor.at);
	nsx_jsonw_real(w, "floor_ms", c->floor_ns / 1e6);
	nsx_jsonw_str(w, "floor_is", c->floor.is);
	nsx_jsonw_real(w, "before_median_ms", c->side[0].median_ns / 1e6);
	nsx_jsonw_real(w, "after_median_ms", c->side[1].median_ns / 1e6);
	nsx_jsonw_real(w, "of_means_ms", mean_ns / 1e6);
	nsx_jsonw_real(w, "tail_ms", (mean_ns - c->shift_ns) / 1e6);
	add_known(w, "steady_only", c->has_steady ? c->steady_rel : NAN);
	if (c->settle > 0)
		nsx_jsonw_int(w, captures ? "captures_to_settle" :
					    "units_to_settle", (int64_t)c->settle);
	nsx_jsonw_end(w);
}

/* Adds gpu and rank of a lane; NSX_NONE stands for all lanes. */
static void emit_json_add_lane(struct nsx_jsonw *w, const struct nsx_diff *d, uint32_t lane)
{
	if (lane == NSX_NONE)
		nsx_jsonw_null(w, "gpu");
	else
		nsx_jsonw_int(w, "gpu", d->lanes[lane].device_id);
	if (lane == NSX_NONE || d->lanes[lane].rank < 0)
		nsx_jsonw_null(w, "rank");
	else
		nsx_jsonw_int(w, "rank", d->lanes[lane].rank);
}

static void emit_json_add_spread(struct nsx_jsonw *w, const struct nsx_diff *d,
				 unsigned side, uint32_t lane, const struct nsx_spread *s)
{
	nsx_jsonw_object(w, NULL);
	emit_json_add_lane(w, d, lane);
	nsx_jsonw_int(w, "captures", (int64_t)d->nsides[side]);
	nsx_jsonw_int(w, "units", (int64_t)s->n);
	nsx_jsonw_real(w, "median_ms", s->median_ns / 1e6);
	nsx_jsonw_real(w, "mean_ms", s->mean_ns / 1e6);
	nsx_jsonw_real(w, "p95_ms", s->p95_ns / 1e6);
	nsx_jsonw_real(w, "cv", s->cv);
	nsx_jsonw_real(w, "drift", s->drift);
	nsx_jsonw_real(w, "second_half", s->halves);
	nsx_jsonw_bool(w, "drifting", s->drifting);
	nsx_jsonw_end(w);
}

static void add_samples(struct nsx_jsonw *w, const struct nsx_diff *d, unsigned side)
{
	nsx_jsonw_array(w, side ? "after" : "before");
	if (d->has_job)
		emit_json_add_spread(w, d, side, NSX_NONE, &d->job.side[side]);
	for (uint32_t l = 0; l < d->nlanes; l++)
		emit_json_add_spread(w, d, side, l, &d->lanes[l].change.side[side]);
	nsx_jsonw_end(w);
}

static void add_captures(struct nsx_jsonw *w, const struct nsx_diff *d, unsigned side)
{
	nsx_jsonw_array(w, side ? "after" : "before");
	for (size_t i = 0; i < d->nsides[side]; i++) {
		const struct nsx_side *s = d->sides[side][i];

		nsx_jsonw_object(w, NULL);
		nsx_jsonw_str(w, "path", s->path);
		nsx_jsonw_str(w, "label", *s->label ? s->label : NULL);
		nsx_jsonw_str(w, "part", *s->part ? s->part : NULL);
		nsx_jsonw_int(w, "size_bytes", s->size_bytes);
		nsx_jsonw_str(w, "gpus", s->gpu_names);
		nsx_jsonw_str(w, "nsys", s->product_version);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
}

static void emit_json_add_lanes(struct nsx_jsonw *w, const struct nsx_diff *d)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();

	nsx_jsonw_array(w, "gpus");
	for (uint32_t l = 0; l < d->nlanes; l++) {
		const struct nsx_budget *b = &d->lanes[l].budget;

		nsx_jsonw_object(w, NULL);
		emit_json_add_lane(w, d, l);
		nsx_jsonw_str(w, "name", nsx_lane_name(d, l, a));
		add_shift(w, d, &d->lanes[l].change);
		nsx_jsonw_str(w, "verdict", nsx_verdict_names[d->lanes[l].change.verdict]);
		nsx_jsonw_str(w, "why", d->lanes[l].change.why);
		nsx_jsonw_real(w, "clock.ratio", b->rho);
		nsx_jsonw_bool(w, "clock.used", !b->no_rho);
		nsx_jsonw_int(w, "clock.equal_kernels", (int64_t)b->nequal);
		nsx_jsonw_real(w, "clock.share_of_compute", b->rho_share);
		nsx_jsonw_real(w, "launches.before", b->launches[0]);
		nsx_jsonw_real(w, "launches.after", b->launches[1]);
		nsx_jsonw_real(w, "collectives.before", b->collectives[0]);
		nsx_jsonw_real(w, "collectives.after", b->collectives[1]);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
}

/* Adds a side's whole time and its parts, which add up to it. */
static void add_whole(struct nsx_jsonw *w, const char *key, const struct nsx_totals *t)
{
	static const char *const keys[NSX_NTOTALS] = {"kernels_ms", "copies_ms",
						      "one_time_ms", "idle_ms"};

	nsx_jsonw_object(w, key);
	nsx_jsonw_real(w, "whole_ms", (double)t->span_ns / 1e6);
	for (unsigned k = 0; k < NSX_NTOTALS; k++)
		nsx_jsonw_real(w, keys[k], (double)t->ns[k] / 1e6);
	nsx_jsonw_real(w, "recorded_ms", (double)t->recorded_ns / 1e6);
	nsx_jsonw_int(w, "copied_bytes", (int64_t)nsx_bytes_of(t));
	nsx_jsonw_int(w, "launches", t->launches);
	nsx_jsonw_int(w, "threads", t->threads);
	nsx_jsonw_end(w);
}

static void add_totals(struct nsx_jsonw *w, const struct nsx_diff *d)
{
	const struct nsx_totals_change *c = &d->totals;

	if (!c->known) {
		nsx_jsonw_null(w, "totals");
		return;
	}
	nsx_jsonw_object(w, "totals");
	add_whole(w, "before", &c->side[0]);
	add_whole(w, "after", &c->side[1]);
	add_known(w, "host_speed", c->host_speed);
	nsx_jsonw_bool(w, "same_work", c->same_work);
	nsx_jsonw_bool(w, "decide", c->decides);
	nsx_jsonw_end(w);
}

static void add_promises(struct nsx_jsonw *w, const struct nsx_diff *d)
{
	struct nsx_promise p[NSX_MOST_PROMISES];
	size_t n = nsx_diff_promised(d, p);

	nsx_jsonw_array(w, "promises");
	for (size_t i = 0; i < n; i++) {
		nsx_jsonw_object(w, NULL);
		nsx_jsonw_str(w, "key", p[i].finding->key);
		nsx_jsonw_real(w, "promised", p[i].share);
		nsx_jsonw_real(w, "won", p[i].won);
		nsx_jsonw_bool(w, "is_joint", p[i].is_joint);
		nsx_jsonw_bool(w, "kept", p[i].kept);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
}

/* Adds the findings that differ. t: a table row for each of d->findings. */
static void emit_json_add_findings(struct nsx_jsonw *w, const struct nsx_diff *d,
				   const struct nsx_table *t)
{
	size_t at = 0;

	nsx_jsonw_object(w, "findings");
	for (unsigned k = 0; k < NSX_NAPPEARANCES; k++) {
		struct nsx_table part = *t;
		size_t from = at;

		while (at < d->nfindings && d->findings[at].change == k)
			at++;
		part.nrows = at - from;
		part.cells += from * t->layout->ncols;
		nsx_json_add_table(w, nsx_appearance_names[k], &part);
	}
	nsx_jsonw_end(w);
}

int nsx_diff_write_json(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_diff_output *o = f->subject;
	const struct nsx_diff *d = o->diff;
	const struct nsx_table *t = o->tables.t;
	struct nsx_jsonw *w = nsx_json_document(1, d->generated_at);
	uint32_t lane;

	add_shift(w, d, d->has_job ? &d->job : nsx_decisive_step(d, &lane));
	nsx_jsonw_str(w, "verdict", nsx_verdict_names[d->verdict]);
	nsx_jsonw_str(w, "why", d->why);
	nsx_jsonw_bool(w, "same_capture", d->same);
	nsx_jsonw_bool(w, "through_digests", d->digested);
	nsx_jsonw_str(w, "unit.method", nsx_way_methods[d->method]);
	nsx_jsonw_str(w, "unit.name", *d->name ? d->name : NULL);
	nsx_jsonw_bool(w, "unit.is_job_step", d->has_job);
	nsx_jsonw_object(w, "captures");
	add_captures(w, d, 0);
	add_captures(w, d, 1);
	nsx_jsonw_end(w);
	nsx_jsonw_object(w, "samples");
	add_samples(w, d, 0);
	add_samples(w, d, 1);
	nsx_jsonw_end(w);
	emit_json_add_lanes(w, d);
	add_totals(w, d);
	add_promises(w, d);
	emit_json_add_findings(w, d, &t[NSX_DT_FINDINGS]);
	for (unsigned i = 0; i < NSX_NDT; i++)
		if (t[i].layout->json_rows != NSX_NOT_IN_JSON && i != NSX_DT_FINDINGS)
			nsx_json_add_table(w, t[i].layout->key, &t[i]);
	nsx_jsonw_end(w);
	return nsx_jsonw_finish(w, out, err);
}
