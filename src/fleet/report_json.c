/* report_json.c - report.json of a fleet: the keys of a trace's report and metrics.fleet. */
#include <math.h>
#include "base/jsonw.h"
#include "emit/emit.h"
#include "fleet/report.h"

static const char *const not_named[] = {
	[NSX_NOT_PROVEN] = "not_proven", [NSX_NOT_WAITED_FOR] = "not_waited_for",
	[NSX_PAIRS_UNKNOWN] = "pairs_unknown",
	[NSX_ORDER_UNKNOWN] = "order_unknown", [NSX_STAGES_OVERLAP] = "stages_overlap",
	[NSX_FEW_STEPS] = "few_steps"};
static const char *const desync_names[] = {
	[NSX_DESYNC_OTHER] = "other_operation", [NSX_DESYNC_LEFT_OUT] = "left_out",
	[NSX_DESYNC_EXTRA] = "extra", [NSX_DESYNC_NOT_ENTERED] = "not_entered"};

static void add_strings(struct nsx_jsonw *w, const char *key, const char *const *v)
{
	nsx_jsonw_array(w, key);
	for (; *v; v++)
		nsx_jsonw_str(w, NULL, *v);
	nsx_jsonw_end(w);
}

static void report_json_add_lines(struct nsx_jsonw *w, const char *key, const char *lines)
{
	nsx_jsonw_array(w, key);
	for (const char *end; lines && *lines; lines = end + (*end == '\n')) {
		end = strchrnul(lines, '\n');
		nsx_jsonw_strn(w, NULL, lines, (size_t)(end - lines));
	}
	nsx_jsonw_end(w);
}

static void report_json_add_ranks(struct nsx_jsonw *w, const struct nsx_fleet *f,
				  const uint32_t *v, size_t n)
{
	nsx_jsonw_array(w, "ranks");
	for (size_t i = 0; i < n; i++)
		nsx_jsonw_int(w, NULL, f->rank[v[i]].number);
	nsx_jsonw_end(w);
}

static void add_number(struct nsx_jsonw *w, const char *key, bool is_known, double x)
{
	if (is_known)
		nsx_jsonw_real(w, key, x);
	else
		nsx_jsonw_null(w, key);
}

static double pct_of_step(const struct nsx_fleet *f, double ns)
{
	return f->step_ns > 0 ? 100 * ns / f->step_ns : 0;
}

static void add_finding(struct nsx_jsonw *w, const struct nsx_fleet *f,
			const struct nsx_ffinding *x)
{
	double left = f->step_ns - x->headroom_ns;

	nsx_jsonw_object(w, NULL);
	nsx_jsonw_str(w, "id", nsx_ffinding_defs[x->id].name);
	nsx_jsonw_str(w, "key", x->key);
	nsx_jsonw_str(w, "severity", nsx_severity_names[x->severity]);
	nsx_jsonw_str(w, "title", x->title);
	nsx_jsonw_str(w, "category", nsx_category_names[nsx_ffinding_defs[x->id].category]);
	add_strings(w, "evidence", x->evidence);
	add_strings(w, "recommendation", x->recommendation);
	report_json_add_ranks(w, f, x->ranks, x->n);
	add_number(w, "headroom_ms", x->price, x->headroom_ns / 1e6 * (double)f->nsteps);
	add_number(w, "headroom_disjoint_ms", !isnan(x->added_ns),
		   x->added_ns / 1e6 * (double)f->nsteps);
	add_number(w, "recoverable_ms_per_step", x->price, x->headroom_ns / 1e6);
	add_number(w, "recoverable_pct_of_step", x->price, pct_of_step(f, x->headroom_ns));
	add_number(w, "speedup_ceiling", x->price && left > 0, left > 0 ? f->step_ns / left : 0);
	nsx_jsonw_str(w, "confidence", nsx_confidence_names[x->confidence]);
	nsx_jsonw_str(w, "window", "steady");
	nsx_jsonw_str(w, "price", nsx_price_names[x->price]);
	nsx_jsonw_end(w);
}

static void add_late(struct nsx_jsonw *w, const struct nsx_fleet *f, const struct nsx_late *l)
{
	nsx_jsonw_object(w, NULL);
	report_json_add_ranks(w, f, l->ranks, l->n);
	if (l->host != NSX_NONE)
		nsx_jsonw_int(w, "host", l->host);
	if (l->axis != NSX_NONE)
		nsx_jsonw_str(w, "axis", f->mesh.axis[l->axis].name);
	nsx_jsonw_str(w, "kind", l->kind == NSX_LATE_STEADY ? "steady" : "transient");
	nsx_jsonw_real(w, "p", l->p);
	nsx_jsonw_int(w, "late_in", l->nsteps);
	nsx_jsonw_real(w, "excess_ms", l->excess_ns / 1e6);
	nsx_jsonw_real(w, "recoverable_ms", l->recoverable_ns / 1e6);
	nsx_jsonw_real(w, "recoverable_pct_of_step", pct_of_step(f, l->recoverable_ns));
	add_number(w, "speedup_ceiling", l->recoverable_ns < f->step_ns,
		   f->step_ns / (f->step_ns - l->recoverable_ns));
	nsx_jsonw_real(w, "direct_wait_ms", l->direct_ns / 1e6);
	nsx_jsonw_real(w, "passed_on_wait_ms", l->passed_on_ns / 1e6);
	nsx_jsonw_str(w, "cause", nsx_late_causes[l->cause]);
	if (l->cause == NSX_WHY_IDLE && l->idle_cause < NSX_NCAUSES)
		nsx_jsonw_str(w, "idle_cause", nsx_cause_names[l->idle_cause]);
	nsx_jsonw_str(w, "detail", l->detail);
	nsx_jsonw_real(w, "explained_pct", 100 * l->explained);
	add_number(w, "kernel_ratio", l->ratio > 0, l->ratio);
	nsx_jsonw_end(w);
}

static void report_json_add_suspect(struct nsx_jsonw *w, const struct nsx_fleet *f)
{
	const struct nsx_suspect *x = &f->suspect;

	nsx_jsonw_object(w, NULL);
	nsx_jsonw_int(w, "rank", f->rank[x->rank].number);
	nsx_jsonw_str(w, "why", not_named[x->why]);
	nsx_jsonw_real(w, "p", x->p);
	nsx_jsonw_int(w, "late_in", x->nsteps);
	nsx_jsonw_real(w, "excess_ms", x->excess_ns / 1e6);
	nsx_jsonw_end(w);
}

static void report_json_add_desync(struct nsx_jsonw *w, const struct nsx_fleet *f,
				   const struct nsx_desync *d)
{
	nsx_jsonw_object(w, NULL);
	nsx_jsonw_int(w, "rank", f->rank[d->rank].number);
	nsx_jsonw_str(w, "kind", desync_names[d->kind]);
	nsx_jsonw_int(w, "communicator", d->comm);
	nsx_jsonw_int(w, "collective", (int64_t)d->k);
	nsx_jsonw_str(w, "expected", d->expected);
	nsx_jsonw_str(w, "got", d->got);
	nsx_jsonw_bool(w, "is_even", d->is_even);
	nsx_jsonw_end(w);
}

static void add_hosts(struct nsx_jsonw *w, const struct nsx_fleet *f)
{
	nsx_jsonw_array(w, "hosts");
	for (uint32_t h = 0; h < f->nhosts; h++) {
		nsx_jsonw_object(w, NULL);
		nsx_jsonw_int(w, "host", h);
		nsx_jsonw_array(w, "ranks");
		for (uint32_t r = 0; r < f->nranks; r++)
			if (f->rank[r].host == h)
				nsx_jsonw_int(w, NULL, f->rank[r].number);
		nsx_jsonw_end(w);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
}

static void add_fleet(struct nsx_jsonw *w, const struct nsx_freport *r)
{
	const struct nsx_fleet *f = r->f;

	nsx_jsonw_object(w, "fleet");
	nsx_jsonw_bool(w, "present", true);
	nsx_jsonw_int(w, "ranks_seen", f->nranks);
	nsx_jsonw_str(w, "axes", nsx_axes_text(f, r->arena));
	add_number(w, "ranks_expected", f->expected >= 0, (double)f->expected);
	nsx_jsonw_int(w, "inputs_left_out", (int64_t)r->left_out->n);
	report_json_add_lines(w, "left_out", r->left_out->why.p);
	nsx_jsonw_int(w, "steps", (int64_t)f->nsteps);
	nsx_jsonw_str(w, "steps_from", f->steps_are_colls ?
		      "period of the collectives" : "iterations");
	add_number(w, "step_ms", f->nsteps, f->step_ns / 1e6);
	add_number(w, "all_recoverable_ms", f->nsteps, f->all_recoverable_ns / 1e6);
	add_number(w, "jitter_ms", f->nsteps, f->jitter_ns / 1e6);
	nsx_jsonw_bool(w, "is_rotating", f->is_rotating);
	add_hosts(w, f);
	nsx_jsonw_array(w, "stragglers");
	for (size_t i = 0; i < f->nlate; i++)
		add_late(w, f, &f->late[i]);
	nsx_jsonw_end(w);
	nsx_jsonw_array(w, "not_named");
	if (f->suspect.nsteps)
		report_json_add_suspect(w, f);
	nsx_jsonw_end(w);
	nsx_jsonw_array(w, "desync");
	for (size_t i = 0; i < f->ndesyncs; i++)
		report_json_add_desync(w, f, &f->desync[i]);
	nsx_jsonw_end(w);
	for (unsigned i = 0; i < NSX_NFTABLES; i++)
		if (r->t[i].layout->key)
			nsx_json_add_table(w, r->t[i].layout->key, &r->t[i]);
	nsx_jsonw_end(w);
}

int nsx_freport_write_json(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_freport *r = f->subject;
	struct nsx_jsonw *w = nsx_json_document(1, r->generated_at);

	nsx_jsonw_null(w, "trace.path");
	nsx_jsonw_array(w, "warnings");
	for (size_t i = 0; i < r->f->nwarnings; i++)
		nsx_jsonw_str(w, NULL, r->f->warnings[i]);
	nsx_jsonw_end(w);
	nsx_jsonw_array(w, "findings");
	for (size_t i = 0; i < r->n; i++)
		add_finding(w, r->f, &r->v[i]);
	nsx_jsonw_end(w);
	nsx_jsonw_object(w, "metrics");
	add_fleet(w, r);
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
	return nsx_jsonw_finish(w, out, err);
}
