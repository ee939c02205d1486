/* run.c - the registry; makes a report: facts, passes side by side, summaries. */
#include <stdio.h>
#include "base/clock.h"
#include "base/par.h"
#include "detect/detect.h"
#include "detect/verdict.h"
#include "facts/replay/replay.h"
#include "passes/pass.h"
#include "schema/viewscan.h"

const struct nsx_pass *const nsx_passes[] = {
#define NSX_PASS(id) &nsx_pass_##id,
#include "passes/registry.def"
#undef NSX_PASS
};
const unsigned nsx_npasses = ARRAY_LEN(nsx_passes);

enum { /* index of each pass */
#define NSX_PASS(id) AT_##id,
#include "passes/registry.def"
#undef NSX_PASS
};

const struct nsx_pass *nsx_pass_find(const char *id)
{
	return NSX_FIRST(i, nsx_npasses, !strcmp(nsx_passes[i]->id, id), nsx_passes[i], NULL);
}

const char *nsx_pass_nearest(const char *id)
{
	const char *nearest = NULL;
	size_t best = SIZE_MAX;

	for (unsigned i = 0; i < nsx_npasses; i++) {
		const char *name = nsx_passes[i]->id;

		if (nsx_is_nearer(id, strlen(id), name, &best))
			nearest = name;
		/* A word of the name may be all that was asked for: "idel" is "gpu_idle". */
		for (const char *word = name; *word; word += strspn(word, "_")) {
			char part[64];
			size_t n = strcspn(word, "_");

			snprintf(part, sizeof(part), "%.*s", (int)n, word);
			if (*word == *id && nsx_is_nearer(id, strlen(id), part, &best))
				nearest = name;
			word += n;
		}
	}
	return nearest;
}

struct run {
	const struct nsx_trace *trace;
	struct nsx_facts *facts;
	const struct nsx_opts *opts;
	struct nsx_measured *measured;
	struct nsx_report *report;
};

/* Whether id is in a comma-separated list. */
static bool run_listed(const char *list, const char *id)
{
	size_t n = strlen(id);

	for (; *list; list += *list == ',') {
		size_t m = strcspn(list, ",");

		if (m == n && !strncmp(list, id, n))
			return true;
		list += m;
	}
	return false;
}

static bool is_section_chosen(const struct nsx_opts *o, const char *id)
{
	if (o->only && !run_listed(o->only, id))
		return false;
	return !o->skip || !run_listed(o->skip, id);
}

static bool run_is_wanted(const struct nsx_opts *o, const struct nsx_pass *pass)
{
	return o->purpose != NSX_FOR_FINDINGS || pass->measures || is_section_chosen(o, pass->id);
}

static struct nsx_run begin_pass(const struct run *run, const struct nsx_section *out)
{
	return (struct nsx_run){run->trace, run->facts, run->opts,
				out->pass->measures ? run->measured : NULL,
				nsx_arena_new()};
}

/* Ends a pass. A failure ends its section, not the report. */
static int end_pass(struct nsx_run *r, struct nsx_section *out, int rc, struct nsx_err *err)
{
	nsx_arena_free(r->scratch);
	rc = rc ?: nsx_section_whole(out, err);
	if (rc && rc != NSX_E_STOP) {
		out->status = NSX_S_FAILED;
		out->reason = nsx_say(out, "%s", err->msg);
		rc = 0;
	}
	return rc ? rc : nsx_stopped(err);
}

static int run_pass(const struct run *run, struct nsx_section *out, struct nsx_err *err)
{
	struct nsx_run r = begin_pass(run, out);
	const char *missing = nsx_pass_missing(out->pass, run->trace->schema, out->arena);
	int rc = 0;

	if (out->pass->by_phase && !run->opts->phases)
		out->status = NSX_S_NULL;
	else if (missing)
		rc = nsx_cannot(out, "the trace has no %s", missing);
	else if (out->pass->run)
		rc = out->pass->run(&r, out, err);
	else
		rc = out->pass->summarise(&r, run->report, out, err);
	return end_pass(&r, out, rc, err);
}

static int finish_pass(const struct run *run, struct nsx_section *out, struct nsx_err *err)
{
	struct nsx_run r;

	if (!out->pass->finish || out->status != NSX_S_ANSWERED ||
	    !run_is_wanted(run->opts, out->pass))
		return 0;
	r = begin_pass(run, out);
	return end_pass(&r, out, out->pass->finish(&r, out, err), err);
}

/* Runs the analyses that walk the replay's model, or the others. */
static int run_analysis(const struct run *run, size_t i, bool walks, struct nsx_err *err)
{
	struct nsx_section *out = &run->report->sections[i];

	if (out->pass->walks != walks)
		return 0;
	nsx_progress_add(run->opts->progress, 1);
	return out->pass->run && run_is_wanted(run->opts, out->pass) ? run_pass(run, out, err) : 0;
}

/* Runs a task. Building the model is the longest task. It starts late, after the tasks that need
 * most memory, but early enough that others run beside it. No task reads facts->model.
 */
static int run_analysis_task(void *ctx, size_t task, struct nsx_err *err)
{
	const struct run *run = ctx;
	const size_t model_at = nsx_npasses / 3;
	int rc;

	if (task != model_at)
		return run_analysis(run, task - (task > model_at), false, err);
	rc = nsx_model_build(run->trace, run->facts, run->opts->replay_ops,
			     &run->facts->model, err);
	for (unsigned i = 0; !rc && i < nsx_npasses; i++)
		rc = run_analysis(run, i, true, err);
	return rc;
}

/* Warns in an analysis that reads a table with lost rows. */
static void note_losses(struct nsx_section *out, const struct nsx_schema *s)
{
	const struct nsx_pass *pass = out->pass;

	for (unsigned i = 0; i < 2 * NSX_MAX_NEEDS; i++) {
		int need = i < NSX_MAX_NEEDS ? pass->needs[i] : pass->any_of[i - NSX_MAX_NEEDS];
		enum nsx_view v;

		if (!need || out->status != NSX_S_ANSWERED)
			continue;
		v = need < 0 ? nsx_field_defs[-need - 1].view : (enum nsx_view)(need - 1);
		if (nsx_has_lost_rows(s, v))
			nsx_note(out, "part of %s could not be read: figures cover "
				 "the rest", s->table[v]->name);
	}
}

static void collect_warnings(struct nsx_report *r)
{
	const struct nsx_trace *t = r->trace;
	size_t nlost = 0;
	const struct nsx_schema *schema = t->schema;
	size_t most = t->nwarnings + 1;

	while (nsx_schema_loss(schema, nlost))
		nlost++;
	most += nlost;
	for (size_t i = 0; i < r->nsections; i++)
		most += r->sections[i].nwarnings + 1;
	r->warnings = nsx_arena_get(r->arena, most * sizeof(char *));
	if (r->has_changed)
		r->warnings[r->nwarnings++] = NSX_CHANGED;
	for (size_t i = 0; i < nlost; i++)
		r->warnings[r->nwarnings++] = nsx_schema_loss(schema, i);
	for (size_t i = 0; i < t->nwarnings; i++)
		r->warnings[r->nwarnings++] = t->warnings[i];
	for (size_t i = 0; i < r->nsections; i++) {
		struct nsx_section *s = &r->sections[i];

		note_losses(s, schema);
		for (size_t k = 0; k < s->nwarnings; k++)
			r->warnings[r->nwarnings++] = s->warnings[k];
		if (s->status == NSX_S_FAILED)
			r->warnings[r->nwarnings++] = nsx_arena_printf(
				r->arena, "section %s failed: %s", s->pass->id, s->reason);
	}
}

static struct nsx_report *new_report(const struct nsx_trace *trace, const struct nsx_opts *opts)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_report *r = nsx_arena_get(a, sizeof(*r));
	char text[NSX_UTC_SIZE];

	r->arena = a;
	r->trace = trace;
	r->path = nsx_arena_strdup(a, opts->shown ?: opts->path);
	if (!opts->is_gone)
		r->ask = nsx_arena_strdup(a, opts->ask_as ?: opts->path);
	if (opts->window)
		r->window = nsx_arena_strdup(a, opts->window);
	r->reach_s = opts->reach_s;
	r->is_classic = opts->is_classic;
	r->all_rows = opts->all_rows;
	r->format = opts->format;
	r->html_bytes = opts->html_bytes;
	r->html_events = opts->html_events;
	r->nsections = nsx_npasses;
	r->sections = nsx_arena_get(a, nsx_npasses * sizeof(*r->sections));
	for (unsigned i = 0; i < nsx_npasses; i++) {
		r->sections[i].pass = nsx_passes[i];
		r->sections[i].arena = nsx_arena_new();
	}
	nsx_utc_now(text);
	r->generated_at = nsx_arena_strdup(a, text);
	return r;
}

/* Keeps all rows of a table of which only the most expensive were kept. Findings seldom cite
 * another row; if one does, its analysis runs again.
 */
static int rerun_keeping_all_rows(const struct run *run, const struct nsx_table *cut,
				  struct nsx_err *err)
{
	struct nsx_section *s = &run->report->sections[
		nsx_section_of(run->report, cut) - run->report->sections];
	const struct nsx_pass *pass = s->pass;
	struct nsx_opts opts = *run->opts;
	struct run again = *run;

	opts.held_rows = 0;
	again.opts = &opts;
	nsx_section_done(s);
	*s = (struct nsx_section){.pass = pass, .arena = nsx_arena_new()};
	return run_pass(&again, s, err) ?: finish_pass(&again, s, err);
}

/* Looks up the cells that findings cite. This is done before the model is freed, because an
 * analysis may walk it again, and once more when all analyses are finished.
 */
static int find_evidence_cells(const struct run *run, struct nsx_err *err)
{
	const struct nsx_table *cut;

	while ((cut = nsx_prove_findings(run->report)))
		if (rerun_keeping_all_rows(run, cut, err))
			return err->rc;
	return 0;
}

/* Makes the ranked list from the sections' measurements. */
static int rank_all_findings(const struct run *run, struct nsx_err *err)
{
	struct nsx_report *r = run->report;
	struct nsx_detect d = {.trace = run->trace, .facts = run->facts,
			       .opts = run->opts, .measured = run->measured,
			       .found = &r->found};
	int rc;

	r->found.arena = r->arena;
	rc = nsx_detect(&d, err) ?:
	     nsx_rank_findings(run->trace, run->facts, run->opts->threads, &r->found, err);
	if (rc)
		return rc;
	nsx_price_steps(run->facts, &run->measured->steps, &r->found);
	return find_evidence_cells(run, err);
}

/* Hides a section but keeps its tables, because findings cite them. A failed section stays visible,
 * because its measurements are missing.
 */
static void hide_section(struct nsx_section *s)
{
	s->status = NSX_S_SKIPPED;
	s->reason = "left out by --pass or --skip";
	s->headline = NULL;
	s->page = NULL;
	s->nvalues = s->nnotes = s->nblocks = s->nwarnings = 0;
}

/* Stages of the summaries, in order. Findings come after figures, because they are shown with the
 * rows that prove them.
 */
enum stage { REPLAYS, FIGURES, VERDICTS };

static int run_summaries(const struct run *run, enum stage stage, struct nsx_err *err)
{
	int rc = 0;

	for (unsigned i = 0; !rc && i < nsx_npasses; i++) {
		const struct nsx_pass *pass = nsx_passes[i];

		if (pass->summarise && run_is_wanted(run->opts, pass) &&
		    (pass->replays ? REPLAYS : pass->is_verdict ? VERDICTS : FIGURES) == stage)
			rc = run_pass(run, &run->report->sections[i], err);
	}
	return rc;
}

/* Runs the summaries that replay, then frees the model. */
static int run_replaying_summaries(const struct run *run, struct nsx_err *err)
{
	struct nsx_facts *f = run->facts;
	const struct nsx_closure *c = nsx_model_closure(f->model);
	int rc = run_summaries(run, REPLAYS, err);

	run->report->unpriced = c->cls == NSX_CONF_NONE ? c->reason : NULL;
	if (run->opts->purpose != NSX_FOR_QUESTIONS) {
		nsx_model_free(f->model);
		f->model = NULL;
		nsx_give_back(); /* the remaining analyses need the memory    */
	}
	return rc;
}

/* The second part of each analysis is a task, and all summaries together are one. The longest tasks
 * start first: call_sites (many names or ranges), kernel_shape (many shapes), and the summaries.
 */
enum { NFIRST = 2, NCONCLUDED = NFIRST + 1 + ARRAY_LEN(nsx_passes) };

static int conclude_task(void *ctx, size_t task, struct nsx_err *err)
{
	static const size_t first[NFIRST] = {AT_call_sites, AT_kernel_shape};
	const struct run *run = ctx;
	size_t i = task < NFIRST ? first[task] : task - NFIRST - 1;

	if (task == NFIRST)
		return run_summaries(run, FIGURES, err);
	if (task > NFIRST && (i == first[0] || i == first[1]))
		return 0;
	return finish_pass(run, &run->report->sections[i], err);
}

/* Computes all sections, even if few are shown, because findings cite tables of all sections. */
static int compute_all_sections(const struct run *run, struct nsx_err *err)
{
	struct nsx_report *r = run->report;
	const struct nsx_opts *o = run->opts;
	int rc;

	nsx_progress_stage(o->progress, "analyses", nsx_npasses);
	rc = nsx_par(o->threads, nsx_npasses + 1, run_analysis_task, (void *)run, err) ?:
	     rank_all_findings(run, err) ?:
	     run_replaying_summaries(run, err) ?:
	     nsx_par(o->threads, NCONCLUDED, conclude_task, (void *)run, err) ?:
	     find_evidence_cells(run, err) ?:
	     run_summaries(run, VERDICTS, err);
	for (unsigned i = 0; i < nsx_npasses; i++)
		if (!is_section_chosen(run->opts, nsx_passes[i]->id) &&
		    r->sections[i].status != NSX_S_FAILED)
			hide_section(&r->sections[i]);
	return rc;
}

static int analyse_trace(const struct run *run, struct nsx_err *err)
{
	const struct nsx_opts *o = run->opts;
	struct nsx_report *r = run->report;
	bool has_sections = o->purpose != NSX_FOR_WHAT_IFS && o->purpose != NSX_FOR_EVENTS;
	int rc = has_sections ? compute_all_sections(run, err) :
		 o->purpose == NSX_FOR_WHAT_IFS ?
				nsx_model_build(run->trace, run->facts, o->replay_ops,
						&run->facts->model, err) : 0;

	if (rc || nsx_schema_look_over(run->trace->schema, o->threads, err))
		return err->rc;
	/* what changes later was read already */
	r->has_changed = nsx_db_has_changed(run->trace->schema->db);
	if (!has_sections)
		return 0;
	collect_warnings(r);
	if (!nsx_is_whole(o))
		return 0;
	if (nsx_first_page_build(r, run->measured, err))
		return err->rc;
	r->page->steps = r->sections[AT_steps].page;
	return 0;
}

static int make_trace_report(const struct nsx_trace *trace, const struct nsx_opts *opts,
			     struct nsx_report **ret, struct nsx_err *err)
{
	struct nsx_facts *facts;
	struct nsx_report *r;
	struct nsx_measured measured = {0};
	const struct nsx_facts_opts wanted = {
		.threads = opts->threads, .progress = opts->progress,
		/* findings need these facts, whichever sections are shown */
		.samples = opts->purpose != NSX_FOR_WHAT_IFS && opts->purpose != NSX_FOR_EVENTS,
		.draws = opts->draws};
	int rc = nsx_facts_build(trace, &wanted, &facts, err);

	if (rc)
		return rc;
	r = new_report(trace, opts);
	r->facts = facts;
	rc = analyse_trace(&(struct run){trace, facts, opts, &measured, r}, err);
	nsx_steps_done(&measured.steps);
	if (rc)
		nsx_report_free(r);
	else
		*ret = r;
	return rc;
}

int nsx_report_make(const struct nsx_schema *schema,
		    const struct nsx_opts *opts, struct nsx_report **ret, struct nsx_err *err)
{
	const struct nsx_load_opts load = {.threads = opts->threads,
					   .window = opts->window,
					   .reach_ns = (int64_t)(opts->reach_s * 1e9),
					   .steps_from = opts->steps_from,
					   .progress = opts->progress};
	struct nsx_trace *trace;
	int rc;

	if (opts->reach_s > 0 && (!opts->window || strchr(opts->window, ':')))
		return nsx_fail(err, NSX_E_USAGE, "--reach extends a window, so it needs one "
				"given by times (--window A..B)");
	rc = nsx_load_named(schema, &load, &trace, err);
	if (rc)
		return rc;
	rc = make_trace_report(trace, opts, ret, err);
	if (rc)
		nsx_trace_free(trace);
	else
		(*ret)->own_trace = trace;
	return rc;
}

int nsx_report_open(const struct nsx_opts *opts, struct nsx_report **ret, struct nsx_err *err)
{
	struct nsx_schema *schema = malloc(sizeof(*schema));
	int rc;

	if (!schema)
		nsx_die_of_memory(sizeof(*schema));
	nsx_progress_stage(opts->progress, "open", 0);
	rc = nsx_schema_open(opts->path, schema, err);
	if (rc) {
		free(schema);
		return rc;
	}
	rc = nsx_report_make(schema, opts, ret, err);
	if (!rc) {
		(*ret)->own_schema = schema;
		return 0;
	}
	if (nsx_is_damage(rc) && nsx_db_has_changed(schema->db))
		rc = nsx_fail(err, NSX_E_DATA, "cannot read '%s': " NSX_CHANGED, opts->path);
	nsx_schema_close(schema);
	free(schema);
	return rc;
}

void nsx_report_free(struct nsx_report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nsections; i++)
		nsx_section_done(&r->sections[i]);
	nsx_findings_done(&r->found);
	nsx_facts_free(r->facts);
	nsx_trace_free(r->own_trace);
	if (r->own_schema)
		nsx_schema_close(r->own_schema);
	free(r->own_schema);
	nsx_arena_free(r->arena);
}
