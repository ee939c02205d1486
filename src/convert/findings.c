/* findings.c - shows the report on the timeline: run phases, iterations, and a track per finding
 * with a slice wherever it costs time. A finding without times has no track.
 */
#include "convert/convert.h"
#include "emit/emit.h"
#include "passes/pass.h"

struct told { /* a slice of a track, with its name */
	int64_t start_ns, end_ns;
	const char *name;
};
struct told_track {
	const char *name;
	struct told *v;
	size_t n;
	const struct nsx_finding *finding; /* source of key, severity and price; or NULL */
};
struct nsx_findings_view {
	struct nsx_arena *arena;
	struct told_track *tracks;
	size_t n, cap;
};

void nsx_findings_view_free(struct nsx_findings_view *v)
{
	if (!v)
		return;
	nsx_arena_free(v->arena);
	free(v->tracks);
	free(v);
}

const char *nsx_findings_track(const struct nsx_conv *c, uint64_t n)
{
	return c->findings->tracks[n].name;
}

/* Collecting -----------------------------------------------------------------*/

static struct told_track *findings_add_track(struct nsx_findings_view *v,
					     const char *name, size_t n, struct nsx_err *err)
{
	struct told_track *t;
	struct told *room = nsx_arena_try_array(v->arena, n, sizeof(*room),
						"slices of findings", err);

	if (!room || nsx_grow(&v->tracks, &v->cap, v->n + 1, sizeof(*v->tracks),
			      "tracks of findings", err))
		return NULL;
	t = &v->tracks[v->n++];
	t->name = name;
	t->v = room;
	return t;
}

static int collect_phases(struct nsx_findings_view *v, const struct nsx_report *r,
			  struct nsx_err *err)
{
	const struct nsx_facts *f = r->facts;
	struct told_track *t;

	if (!f->nrun_phases)
		return 0;
	t = findings_add_track(v, "run phases", f->nrun_phases, err);
	for (size_t i = 0; t && i < f->nrun_phases; i++) {
		const struct nsx_run_phase *p = &f->run_phases[i];

		t->v[t->n++] = (struct told){
			p->window.start_ns, p->window.end_ns,
			nsx_arena_strdup(v->arena, p->name)};
	}
	return t ? 0 : err->rc;
}

/* Collects the iterations of one process and device as a track. */
static int collect_iterations(struct nsx_findings_view *v, const struct nsx_trace *tr,
			      const struct nsx_loop *loop, struct nsx_err *err)
{
	const struct nsx_iteration *x = loop->v;
	size_t n = loop->n;
	struct told_track *t;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf name = {0};

	nsx_buf_adds(&name, "iterations");
	if (x->device != NSX_NONE)
		nsx_buf_printf(&name, " on GPU %s", nsx_gpu_label(tr, x->device));
	if (x->process != NSX_NONE)
		nsx_buf_printf(&name, " of process %s", nsx_pid_label(tr, x->process));
	t = findings_add_track(v, nsx_arena_strdup(v->arena, name.p), n, err);
	for (size_t k = 0; t && k < n; k++)
		t->v[t->n++] = (struct told){
			x[k].start_ns, x[k].end_ns,
			nsx_arena_printf(v->arena, "iteration %zu%s%s", k,
					 x[k].steady ? "" : ", not steady",
					 x[k].slow ? ", slow" : "")};
	return t ? 0 : err->rc;
}

/* Copies the parts of a finding that are written, because the report is freed. */
static const struct nsx_finding *copy_finding(struct nsx_arena *a, const struct nsx_finding *f)
{
	struct nsx_finding *kept = nsx_arena_get(a, sizeof(*kept));

	kept->key = nsx_arena_strdup(a, f->key);
	kept->severity = f->severity;
	kept->price = f->price;
	kept->headroom_ns = f->headroom_ns;
	return kept;
}

static int collect_finding(struct nsx_findings_view *v,
			   const struct nsx_finding *f, struct nsx_err *err)
{
	struct nsx_buf plain = {0};
	const char *title;
	struct told_track *t;

	nsx_md_add_plain(&plain, f->title);
	title = nsx_buf_keep(&plain, v->arena);
	t = findings_add_track(v, title, f->spans.n, err);
	if (!t)
		return err->rc;
	t->finding = copy_finding(v->arena, f);
	for (size_t i = 0; i < f->spans.n; i++) {
		struct nsx_span x = nsx_span_at(&f->spans, i);

		t->v[t->n++] = (struct told){x.start_ns, x.end_ns, title};
	}
	return 0;
}

static int findings_collect(struct nsx_findings_view *v, const struct nsx_report *r,
			    struct nsx_err *err)
{
	if (collect_phases(v, r, err))
		return err->rc;
	for (size_t i = 0; i < r->facts->nloops; i++)
		if (collect_iterations(v, r->trace, &r->facts->loops[i], err))
			return err->rc;
	for (size_t i = 0; i < r->found.n; i++)
		if (!r->found.v[i].is_minor && r->found.v[i].spans.n &&
		    collect_finding(v, &r->found.v[i], err))
			return err->rc;
	return 0;
}

/* Warns of data that could not be read or computed, because findings may be missing. */
static void warn_of_losses(struct nsx_conv *c, const struct nsx_report *r)
{
	for (size_t i = 0; i < r->nsections; i++)
		if (r->sections[i].status == NSX_S_FAILED)
			nsx_buf_printf(c->warnings, "findings: section %s failed: "
				       "%s\n", r->sections[i].pass->id, r->sections[i].reason);
}

/* Loads and explains the trace, and keeps the parts that the timeline shows. */
static int explain_trace(struct nsx_conv *c, struct nsx_err *err)
{
	const struct nsx_opts o = {NSX_OPTS_DEFAULT, .path = c->opts->path,
				   .window = c->opts->window,
				   .only = "", .purpose = NSX_FOR_FINDINGS,
				   .threads = c->opts->threads};
	struct nsx_findings_view *v = nsx_try_alloc(1, sizeof(*v), "findings", err);
	struct nsx_report *r;
	int rc;

	if (!v)
		return err->rc;
	c->findings = v;
	v->arena = nsx_arena_new();
	rc = nsx_report_make(c->schema, &o, &r, err);
	if (rc)
		return rc;
	warn_of_losses(c, r);
	nsx_convert_list_corrections(c, r->trace);
	rc = findings_collect(v, r, err);
	if (!rc && c->activities >> NSX_A_QUEUE & 1 && !c->opts->window)
		rc = nsx_convert_keep_queues(c, r->trace, err);
	nsx_report_free(r);
	return rc;
}

/* Writing ----------------------------------------------------------------------*/

static void put_args(struct nsx_conv *c, const struct nsx_finding *f)
{
	struct nsx_val key = nsx_text_val(f->key);
	struct nsx_val severity = nsx_text_val(nsx_severity_names[f->severity]);

	c->writer->arg_name(c, "finding", &key);
	c->writer->arg_name(c, "severity", &severity);
	if (f->price != NSX_PRICE_NONE) {
		struct nsx_val price = nsx_text_val(nsx_price_names[f->price]);

		c->writer->arg_int(c, "headroom_ns", (int64_t)f->headroom_ns);
		c->writer->arg_name(c, "price", &price);
	}
}

static int put_track(struct nsx_conv *c, size_t n, struct nsx_err *err)
{
	const struct told_track *t = &c->findings->tracks[n];
	struct nsx_slice s = {.corr = 0};

	if (t->n && nsx_tracks_stream(&c->tracks, NSX_A_FINDING, 0, 0, 0, (int64_t)n,
				      &s.track, err))
		return err->rc;
	for (size_t i = 0; i < t->n; i++) {
		int rc;

		s.start_ns = t->v[i].start_ns;
		s.end_ns = t->v[i].end_ns;
		s.name = nsx_text_val(t->v[i].name);
		if (!nsx_conv_in_window(c, s.start_ns, s.end_ns))
			continue;
		rc = nsx_slice_begin(c, &s, err);
		if (rc < 0)
			return rc;
		if (rc && t->finding)
			put_args(c, t->finding);
		if (rc)
			nsx_slice_end(c, &s);
	}
	return 0;
}

int nsx_convert_findings(struct nsx_conv *c, struct nsx_err *err)
{
	/* The survey explains the trace; writing uses the result again. */
	if (!c->findings && explain_trace(c, err))
		return err->rc;
	for (size_t i = 0; i < c->findings->n; i++)
		if (put_track(c, i, err))
			return err->rc;
	return 0;
}
