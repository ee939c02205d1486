/* ask_report.c - questions about the report itself: findings, sections, changes. */
#include "agent/ask.h"
#include "emit/emit.h"
#include "facts/replay/replay.h"
#include "facts/replay/spec.h"
#include "passes/pass.h"
#include "report/timeline.h"
#include "schema/script.h"

/* findings ------------------------------------------------------------------------*/

#define COLUMNS(X)                                                            \
	X(NUMBER, "n", I64, "number to ask 'finding' for")                    \
	X(TITLE, "title", STR, "short title", .is_prose = true)               \
	X(SEVERITY, "severity", STR, "high, medium or low")                   \
	X(GAIN, "headroom_ms", F64, "time that its remedy would save")        \
	X(PRICE, "price", STR, "replayed, measured or assumed")               \
	X(KEY, "key", STR, "key to ask 'finding' for, the same in other traces")
NSX_COLUMNS(cols, COLUMNS);
const struct nsx_layout nsx_asked_findings_layout = {.key = "findings",
						     NSX_COLS(cols)};

static void suggest_findings(struct nsx_answer *a)
{
	const struct nsx_findings *l = &a->r->found;

	for (size_t i = 0; i < l->n && i < 2; i++)
		nsx_answer_next(a, NSX_Q_finding, nsx_say(a->out, "%zu", i + 1),
				i ? "the next one" : "its evidence and its windows");
	if (a->r->page->steps)
		nsx_answer_next(a, NSX_Q_steps, NULL, "what a step consists of, and waits for");
}

int nsx_ask_findings(struct nsx_answer *a, struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_findings *l = &a->r->found;
	struct nsx_table *t = nsx_add_table(a->out, &nsx_asked_findings_layout);

	for (size_t i = 0; i < l->n; i++) {
		const struct nsx_finding *f = &l->v[i];
		struct nsx_cell *row = nsx_add_row(t);

		row[NUMBER] = nsx_int((int64_t)i + 1);
		row[KEY] = nsx_string(f->key);
		row[SEVERITY] = nsx_string(nsx_severity_names[f->severity]);
		if (f->price != NSX_PRICE_NONE)
			row[GAIN] = nsx_real(f->headroom_ns / 1e6);
		row[PRICE] = nsx_string(nsx_price_names[f->price]);
		row[TITLE] = nsx_string(f->title);
	}
	nsx_answer_show(a, t);
	for (size_t i = 0; i < l->nfine; i++)
		nsx_note(a->out, "checked and fine: %s", l->fine[i]);
	suggest_findings(a);
	return 0;
}

/* verdict -------------------------------------------------------------------------*/

#define VERDICT_COLUMNS(X)                                                                         \
	X(V_NUMBER, "n", I64, "number to ask 'finding' for")                                       \
	X(V_TITLE, "title", STR, "short title", .is_prose = true)                                  \
	X(V_SEVERITY, "severity", STR, "high, medium or low")                                      \
	X(V_GAIN, "headroom_ms", F64, "time in the judged window that its remedy would save")      \
	X(V_LOW, "headroom_low_ms", F64,                                                           \
	  "gain if waits outside CUDA end no earlier; null: nearly the same")                      \
	X(V_PRICE, "price", STR, "replayed, measured or assumed")                                  \
	X(V_CONFIDENCE, "confidence", STR, "confidence in cause and price")                        \
	X(V_EVIDENCE, "evidence", STR, "first piece of evidence", .is_prose = true)                \
	X(V_REMEDY, "remedy", STR, "first remedy to try", .is_prose = true)
NSX_COLUMNS(verdict_cols, VERDICT_COLUMNS);
const struct nsx_layout nsx_verdict_layout = {.key = "findings",
					      NSX_COLS(verdict_cols)};

static void add_priced_findings(struct nsx_answer *a)
{
	const struct nsx_findings *l = &a->r->found;
	struct nsx_table *t = nsx_add_table(a->out, &nsx_verdict_layout);
	bool any_doubt = false;

	for (size_t i = 0; i < l->n && i < NSX_MAX_FINDINGS; i++) {
		const struct nsx_finding *f = &l->v[i];
		struct nsx_cell *row = nsx_add_row(t);

		row[V_NUMBER] = nsx_int((int64_t)i + 1);
		row[V_TITLE] = nsx_string(f->title);
		row[V_SEVERITY] = nsx_string(nsx_severity_names[f->severity]);
		if (f->price != NSX_PRICE_NONE)
			row[V_GAIN] = nsx_real(f->headroom_ns / 1e6);
		if (f->price != NSX_PRICE_NONE && f->low_ns < f->headroom_ns) {
			row[V_LOW] = nsx_real(f->low_ns / 1e6);
			any_doubt = true;
		}
		row[V_PRICE] = nsx_string(nsx_price_names[f->price]);
		row[V_CONFIDENCE] = nsx_string(nsx_confidence_names[f->confidence]);
		row[V_EVIDENCE] = nsx_string(f->evidence[0]);
		row[V_REMEDY] = nsx_string(f->recommendation[0]);
	}
	if (any_doubt)
		nsx_md_table(a->out, t, a->limit, V_NUMBER, V_SEVERITY, V_GAIN,
			     V_LOW, V_PRICE, V_TITLE);
	else
		nsx_md_table(a->out, t, a->limit, V_NUMBER, V_SEVERITY, V_GAIN, V_PRICE, V_TITLE);
}

static void put_first_page_figures(struct nsx_answer *a, const struct nsx_first_page *p)
{
	nsx_put(a->out, "verdict", nsx_string(nsx_verdict_words[p->verdict]));
	if (p->verdict == NSX_V_MIXED) {
		nsx_put(a->out, "first", nsx_string(nsx_verdict_words[p->first]));
		nsx_put(a->out, "second", nsx_string(nsx_verdict_words[p->second]));
	}
	nsx_put(a->out, "because", nsx_string(p->because));
	nsx_put(a->out, "gpus", nsx_string(p->gpus));
	nsx_put(a->out, "repeats", nsx_string(p->unit));
	nsx_put(a->out, "recorded_ms", nsx_ms(p->recorded_ns));
	nsx_put(a->out, "judged_ms", nsx_ms(p->judged.end_ns - p->judged.start_ns));
	for (unsigned i = 0; p->ngpus && i < NSX_NUSES; i++)
		nsx_put(a->out, nsx_say(a->out, "pct_of_judged.%s", nsx_use_words[i]),
			nsx_real(100 * p->share[i]));
	if (p->then_ns >= 0 && p->nfindings)
		nsx_put(a->out, "judged_ms_with_all_remedies", nsx_real(p->then_ns / 1e6));
	nsx_put(a->out, "cannot_tell", nsx_list(p->missing));
}

int nsx_ask_verdict(struct nsx_answer *a, struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_first_page *p = a->r->page;
	struct nsx_buf b = {0};

	if (p) {
		put_first_page_figures(a, p);
		nsx_emit_verdict(p, a->out->arena, &b);
		nsx_md_bullet(a->out, "%s", nsx_buf_keep(&b, a->out->arena));
	}
	for (size_t i = 0; p && p->trust[i]; i++)
		nsx_note(a->out, "trust: %s", p->trust[i]);
	for (size_t i = 0; i < a->r->nwarnings; i++)
		nsx_note(a->out, "%s", a->r->warnings[i]);
	for (size_t i = 0; i < a->r->found.nfine; i++)
		nsx_note(a->out, "checked and fine: %s", a->r->found.fine[i]);
	suggest_findings(a);
	add_priced_findings(a);
	return 0;
}

/* finding -------------------------------------------------------------------------*/

#define INSTANCE_COLUMNS(X)                                                   \
	X(INSTANCE_WINDOW, "window", STR, "window to ask 'window' for")       \
	X(INSTANCE_NS, "duration_ns", I64, "length")
NSX_COLUMNS(instance_cols, INSTANCE_COLUMNS);
const struct nsx_layout nsx_instances_layout = {.key = "instances",
						NSX_COLS(instance_cols)};

static int cmp_spans(const void *a, const void *b)
{
	const struct nsx_span *x = a, *y = b;

	return NSX_CMP(y->end_ns - y->start_ns, x->end_ns - x->start_ns) ?:
	       NSX_CMP(x->start_ns, y->start_ns);
}

/* The calls of a finding's kernel or family of kernels, or else what its remedy would change. */
static int places_of_finding(struct nsx_answer *a, const struct nsx_finding *f,
		       struct nsx_spans *ret, struct nsx_err *err)
{
	struct nsx_change kernel = {.op = NSX_ON_KERNELS, .name = f->subject};
	struct nsx_finding of = *f;

	if (f->id == NSX_ID_top_kernel) {
		of.remedy = (struct nsx_plan){&kernel, 1};
		if (!strcmp(f->proof[0].csv, "kernel_families"))
			kernel.family = f->subject;
	}
	return nsx_finding_places(a->r, &of, &a->r->page->judged, a->out->arena, ret, err);
}

static int describe_spans(struct nsx_answer *a, const struct nsx_finding *f, struct nsx_err *err)
{
	struct nsx_arena *arena = a->out->arena;
	struct nsx_spans all = f->spans;
	bool costs = all.n;
	struct nsx_span *v;
	struct nsx_table *t;

	if (!costs && places_of_finding(a, f, &all, err))
		return err->rc;
	if (!all.n)
		return 0;
	v = nsx_arena_get(arena, all.n * sizeof(*v));
	for (size_t i = 0; i < all.n; i++)
		v[i] = nsx_span_at(&all, i);
	nsx_sort(v, all.n, sizeof(*v), cmp_spans);
	if (costs)
		nsx_put(a->out, "spans", nsx_int((int64_t)all.n));
	nsx_md_bullet(a->out, "%s %s%s%s:", costs ? "it costs time in" : "it concerns",
		      all.n == NSX_MAX_PLACES && !costs ? "at least " : "",
		      nsx_text_n(arena, all.n, "place", NULL),
		      all.n > 1 ? ", the longest first" : "");
	t = nsx_add_table(a->out, &nsx_instances_layout);
	for (size_t i = 0; i < NSX_MIN(all.n, a->limit); i++) {
		struct nsx_window w = {v[i].start_ns, v[i].end_ns};
		struct nsx_cell *row = nsx_add_row(t);

		row[INSTANCE_WINDOW] = nsx_string(nsx_text_window(arena, &w));
		row[INSTANCE_NS] = nsx_int(w.end_ns - w.start_ns);
	}
	nsx_answer_show(a, t);
	nsx_answer_next(a, NSX_Q_window, nsx_table_text(t, 0, "window"),
			"what ran in the longest of these places");
	if (costs)
		nsx_answer_next(a, NSX_Q_why, nsx_answer_exactly(a, v->start_ns),
				"what the GPU waited for there");
	return 0;
}

/* Adds the SQL that proves a finding. Scripts are long, so people get the command that prints the
 * script.
 */
static void describe_proof_sql(struct nsx_answer *a, const struct nsx_finding *f)
{
	const struct nsx_section *s = f->proof[0].table ?
		nsx_section_of(a->r, f->proof[0].table) : NULL;
	const struct nsx_pass *pass = s && !s->sql_differs ? s->pass : NULL;
	struct nsx_scripts *scripts = nsx_scripts_new(a->r->trace->schema);
	const struct nsx_query *q;
	const char **list;
	unsigned n = 0;

	while (pass && nsx_pass_query(pass, n))
		n++;
	list = nsx_arena_get(a->out->arena, (n + 1) * sizeof(*list));
	for (unsigned i = 0; i < n; i++) {
		struct nsx_buf b = {0};

		q = nsx_pass_query(pass, i);
		nsx_scripts_add(scripts, &q, 1, &b);
		list[i] = nsx_buf_keep(&b, a->out->arena);
	}
	nsx_scripts_free(scripts);
	if (n) {
		NSX_AT_EXIT(nsx_buf_done) struct nsx_buf path = {0};

		nsx_buf_add_word(&path, nsx_base_name(a->r->path));
		nsx_put(a->out, "sql", nsx_list(list));
		if (!a->subject->is_agents)
			nsx_md_bullet(a->out, "its SQL: `nsys-explain%s --explain "
				      "%s`", path.p, pass->id);
	}
	if (pass)
		nsx_answer_next(a, NSX_Q_section, pass->id, "all its figures");
}

static int describe_finding(struct nsx_answer *a, const struct nsx_finding *f, struct nsx_err *err)
{
	nsx_put(a->out, "key", nsx_string(f->key));
	nsx_put(a->out, "title", nsx_string(f->title));
	nsx_put(a->out, "severity", nsx_string(nsx_severity_names[f->severity]));
	nsx_md_text(a->out, "**%s**", f->title);
	if (f->price != NSX_PRICE_NONE) {
		nsx_put(a->out, "headroom_ms", nsx_real(f->headroom_ns / 1e6));
		nsx_put(a->out, "headroom_low_ms", nsx_real(f->low_ns / 1e6));
		nsx_put(a->out, "headroom_high_ms", nsx_real(f->high_ns / 1e6));
		nsx_put(a->out, "price", nsx_string(nsx_price_names[f->price]));
		nsx_md_bullet(a->out, "would win %s%s of the judged window (%s)",
			      f->is_bound ? "at most " : "",
			      nsx_text_ns(a->out->arena, f->headroom_ns),
			      nsx_price_names[f->price]);
	}
	if (f->place) {
		nsx_put(a->out, "place", nsx_string(f->place));
		if (!NSX_ANY(i, ARRAY_LEN(f->evidence),
			     f->evidence[i] && nsx_ends_with(f->evidence[i], f->place)))
			nsx_md_bullet(a->out, "from %s", f->place);
	}
	nsx_put(a->out, "evidence", nsx_list(f->evidence));
	nsx_put(a->out, "recommendation", nsx_list(f->recommendation));
	for (size_t i = 0; i < ARRAY_LEN(f->evidence) && f->evidence[i]; i++)
		nsx_md_bullet(a->out, "%s", f->evidence[i]);
	for (size_t i = 0; i < ARRAY_LEN(f->recommendation) && f->recommendation[i]; i++)
		nsx_md_bullet(a->out, "→ %s", f->recommendation[i]);
	NSX_EACH_PROOF(f, i)
		if (f->proof[i].table)
			nsx_md_bullet(a->out, "see row %zu, column %s of "
				      "`tables/%s.csv`", f->proof[i].row + 1,
				      f->proof[i].column, f->proof[i].csv);
	if (describe_spans(a, f, err))
		return err->rc;
	describe_proof_sql(a, f);
	return 0;
}

/* Finds a finding by number, key, or the prefix of exactly one key. Returns l->n if none or several
 * match.
 */
static size_t find_finding(const struct nsx_findings *l, const char *argument)
{
	char *end;
	unsigned long n = strtoul(argument, &end, 10);
	size_t found = l->n, nfound = 0;

	if (*argument && !*end && n - 1 < l->n)
		return n - 1;
	for (size_t i = 0; i < l->n; i++) {
		if (!strcmp(l->v[i].key, argument))
			return i;
		if (*argument && !strncmp(l->v[i].key, argument, strlen(argument))) {
			found = i;
			nfound++;
		}
	}
	return nfound == 1 ? found : l->n;
}

int nsx_ask_finding(struct nsx_answer *a, struct nsx_err *err)
{
	const struct nsx_findings *l = &a->r->found;
	size_t i = find_finding(l, a->argument);

	if (i < l->n) {
		a->confidence = l->v[i].confidence;
		return describe_finding(a, &l->v[i], err);
	}
	if (!l->n)
		return nsx_fail(err, NSX_E_USAGE, "no finding '%s': nothing was found",
				a->argument);
	return nsx_fail(err, NSX_E_USAGE, "no finding '%s'; their numbers are 1 to %zu: the "
			"question 'findings' lists them", a->argument, l->n);
}

/* section -------------------------------------------------------------------------*/

/* Adds a table that is in report.json but not in report.md. */
static void add_json_only_table(struct nsx_answer *a, const struct nsx_section *s,
				const struct nsx_table *t)
{
	if (!t->nrows || !t->layout->key || *t->layout->key == '*' ||
	    t->layout->json_rows == NSX_NOT_IN_JSON ||
	    NSX_ANY(i, s->nblocks, s->blocks[i].table == t))
		return;
	nsx_put(a->out, nsx_say(a->out, "tables.%s", t->layout->key), nsx_rows(t));
	nsx_answer_show(a, t);
}

#define SECTION_COLUMNS(X)                                                  \
	X(SECTION, "section", STR, "id to ask 'section' for")               \
	X(TELLS, "tells", STR, "subject of the section", .is_prose = true)
NSX_COLUMNS(section_cols, SECTION_COLUMNS);
const struct nsx_layout nsx_sections_layout = {.key = "sections",
					       NSX_COLS(section_cols)};

/* Lists all sections that have an answer for this trace. */
static int list_sections(struct nsx_answer *a)
{
	struct nsx_table *t = nsx_add_table(a->out, &nsx_sections_layout);

	for (size_t i = 0; i < a->r->nsections; i++) {
		const struct nsx_section *s = &a->r->sections[i];
		struct nsx_cell *row;

		if (s->status != NSX_S_ANSWERED)
			continue;
		row = nsx_add_row(t);
		row[SECTION] = nsx_string(s->pass->id);
		row[TELLS] = nsx_string(s->pass->summary);
	}
	a->limit = NSX_MAX(a->limit, t->nrows);
	nsx_answer_show(a, t);
	return 0;
}

/* Answers with a section. Its blocks and figures are borrowed from the report. */
int nsx_ask_section(struct nsx_answer *a, struct nsx_err *err)
{
	const struct nsx_section *s = a->argument ? nsx_report_section(a->r, a->argument) : NULL;

	if (!a->argument)
		return list_sections(a);
	if (!s)
		return nsx_fail(err, NSX_E_USAGE, "no section '%s'; %sthe question 'section' alone "
				"lists them", a->argument,
				nsx_meant(nsx_pass_nearest(a->argument)).text);
	if (s->status != NSX_S_ANSWERED)
		return nsx_cannot(a->out, "%s", s->reason ? s->reason : "it has no results");
	a->window = a->r->trace->window;
	for (size_t i = 0; i < s->nvalues; i++)
		nsx_put(a->out, s->values[i].key, s->values[i].cell);
	for (size_t i = 0; i < s->nnotes; i++)
		nsx_note(a->out, "%s", s->notes[i]);
	for (size_t i = 0; i < s->nblocks; i++) {
		const struct nsx_block *b = &s->blocks[i];

		if (b->kind == NSX_B_TABLE) {
			nsx_put(a->out, nsx_say(a->out, "tables.%s",
						b->table->layout->key ?
							b->table->layout->key :
							"rows"), nsx_rows(b->table));
			nsx_md_table_of(a->out, b->table, a->limit, b->columns, b->ncolumns);
		} else if (b->kind == NSX_B_BULLET) {
			nsx_md_bullet(a->out, "%s", b->text);
		} else {
			nsx_md_text(a->out, "%s", b->text);
		}
	}
	for (size_t i = 0; i < s->ntables; i++)
		add_json_only_table(a, s, s->tables[i]);
	return 0;
}

/* steps ---------------------------------------------------------------------------*/

/* Adds the rows of one kind from a table of the section; kind NULL: all rows. */
static void add_rows_of_kind(struct nsx_answer *a, const struct nsx_section *s,
			     const char *key, const char *kind)
{
	const struct nsx_table *t = nsx_section_table(s, key);
	struct nsx_layout *l = nsx_arena_get(a->out->arena, sizeof(*l));
	struct nsx_table *copy;

	*l = *t->layout;
	l->key = l->csv = NULL;
	copy = nsx_add_table(a->out, l);
	for (size_t i = 0; i < t->nrows; i++)
		if (!kind || !strcmp(nsx_table_text(t, i, "kind"), kind))
			memcpy(nsx_add_row(copy), nsx_row_at(t, i),
			       l->ncols * sizeof(struct nsx_cell));
	nsx_put(a->out, nsx_say(a->out, "tables.%s", key), nsx_rows(copy));
}

/* Lists the names of the kinds: "decode, prefill". Kinds of several engines follow each other. */
static const char *list_kinds(struct nsx_answer *a, const struct nsx_table *kinds)
{
	const char *text = "";

	NSX_EACH_RUN(i, next, kinds->nrows, !strcmp(nsx_table_text(kinds, next, "kind"),
						    nsx_table_text(kinds, i, "kind")))
		text = nsx_say(a->out, "%s%s%s", text, i ? ", " : "",
			       nsx_table_text(kinds, i, "kind"));
	return text;
}

/* Shows the section's bullets, the first of which list the kinds, and the tables behind them. */
int nsx_ask_steps(struct nsx_answer *a, struct nsx_err *err)
{
	static const char *const tables[] = {"kinds", "sizes", "layers"};
	const struct nsx_section *s = nsx_report_section(a->r, "steps");
	const struct nsx_table *kinds;
	const char *first = NULL;

	if (s->status != NSX_S_ANSWERED && a->r->facts->niterations)
		nsx_answer_next(a, NSX_Q_iteration, "1", "a repetition that has no such name");
	if (s->status != NSX_S_ANSWERED)
		return nsx_cannot(a->out, "%s", s->reason ? s->reason :
				  "no range has the name of a step of vLLM, SGLang, "
				  "TensorRT-LLM, PyTorch or a training loop");
	kinds = nsx_section_table(s, "kinds");
	a->window = a->r->trace->window;
	for (size_t i = 0; i < kinds->nrows; i++) {
		const char *kind = nsx_table_text(kinds, i, "kind");

		if (a->argument && strcmp(kind, a->argument) != 0)
			continue;
		first = first ?: kind;
		nsx_md_bullet(a->out, "%s", s->blocks[i].text);
	}
	if (!first)
		return nsx_fail(err, NSX_E_USAGE, "no step '%s'; there are %s",
				a->argument, list_kinds(a, kinds));
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		add_rows_of_kind(a, s, tables[i], a->argument);
	if (!nsx_has_window(a->r->trace))
		nsx_answer_next(a, NSX_Q_window, nsx_say(a->out, "step:%s", first),
				"what ran in a typical step");
	nsx_answer_next(a, NSX_Q_section, "steps", "all figures of the steps");
	return 0;
}

/* what-if -------------------------------------------------------------------------*/

enum { MOST_CHANGES = 16 };

#define CHANGE_COLUMNS(X)                                                     \
	X(CHANGE, "change", STR, "the requested change")                      \
	X(CHANGE_GAIN, "gain_alone_ms", F64, "gain of this change alone")     \
	X(CHANGE_EVENTS, "events", I64, "events of the trace that it changes")
NSX_COLUMNS(change_cols, CHANGE_COLUMNS);
const struct nsx_layout nsx_changes_layout = {.key = "changes",
					      NSX_COLS(change_cols)};

struct changes { /* changes applied together                                 */
	struct nsx_change v[MOST_CHANGES];
	const char *text[MOST_CHANGES];
	size_t n;
};

/* Parses changes that apply together, such as "no:cudaFree; host:2x". */
static int read_changes(struct nsx_answer *a, struct changes *x, struct nsx_err *err)
{
	struct nsx_arena *arena = a->out->arena;
	const char *s = a->argument, *wrong;
	struct nsx_spec spec;

	do {
		s += strspn(s, "; ");
		x->text[x->n] = nsx_arena_strndup(arena, s, strcspn(s, ";"));
		if (nsx_spec_parse(x->text[x->n], arena, &spec, err))
			return err->rc;
		wrong = nsx_spec_resolve(&spec, a->r->trace, a->r->facts, arena);
		if (wrong)
			return nsx_fail(err, NSX_E_USAGE, "cannot price '%s': %s",
					x->text[x->n], wrong);
		x->v[x->n++] = spec.change;
		s += strcspn(s, ";");
	} while (s[strspn(s, "; ")] && x->n < MOST_CHANGES);
	return *s ? nsx_fail(err, NSX_E_USAGE, "a what-if has at most %d changes",
			     MOST_CHANGES) : 0;
}

/* Shows the gain of each change alone, if there are several. */
static int describe_each_gain(struct nsx_answer *a, const struct changes *x, struct nsx_err *err)
{
	struct nsx_gain g[MOST_CHANGES];
	struct nsx_plan plan[MOST_CHANGES];
	struct nsx_table *t;

	if (x->n < 2)
		return 0;
	for (size_t i = 0; i < x->n; i++)
		plan[i] = (struct nsx_plan){&x->v[i], 1};
	if (nsx_replay_prices(a->r->facts->model, plan, x->n, 1, g, err))
		return err->rc;
	t = nsx_add_table(a->out, &nsx_changes_layout);
	for (size_t i = 0; i < x->n; i++) {
		struct nsx_cell *row = nsx_add_row(t);

		row[CHANGE] = nsx_string(x->text[i]);
		row[CHANGE_GAIN] = nsx_ms(g[i].gain_ns);
		row[CHANGE_EVENTS] = nsx_int((int64_t)g[i].touched);
	}
	nsx_answer_show(a, t);
	return 0;
}

static void describe_gain(struct nsx_answer *a, const struct nsx_gain *g)
{
	struct nsx_arena *arena = a->out->arena;
	struct nsx_window w = nsx_judged(a->r->facts);
	double window_ns = (double)(w.end_ns - w.start_ns);

	a->confidence = g->confidence;
	nsx_put(a->out, "gain_ms", nsx_ms(g->gain_ns));
	nsx_put(a->out, "gain_low_ms", nsx_ms(g->low_ns));
	nsx_put(a->out, "gain_high_ms", nsx_ms(g->high_ns));
	nsx_put(a->out, "gain_pct_of_window", nsx_pct((double)g->gain_ns, window_ns));
	nsx_put(a->out, "is_bound", nsx_bool(g->is_bound));
	nsx_md_bullet(a->out, "would win %s%s of the judged window (%s)%s",
		      g->is_bound ? "at most " : "", nsx_text_ns(arena, (double)g->gain_ns),
		      nsx_text_share(arena, (double)g->gain_ns, window_ns),
		      g->is_small ? ": less than this trace can resolve" : "");
	if (g->low_ns < g->gain_ns)
		nsx_md_bullet(a->out, "%s, if the host's waits outside CUDA end no earlier",
			      nsx_text_ns(arena, (double)g->low_ns));
	if (g->held)
		nsx_md_bullet(a->out, "kept as recorded: %s", g->held);
	nsx_md_bullet(a->out, "it changes %s of the trace",
		      nsx_text_n(arena, g->touched, "event", NULL));
}

int nsx_ask_what_if(struct nsx_answer *a, struct nsx_err *err)
{
	const struct nsx_facts *f = a->r->facts;
	const struct nsx_closure *c = nsx_model_closure(f->model);
	struct changes x = {.n = 0};
	struct nsx_gain g;

	if (read_changes(a, &x, err))
		return err->rc;
	if (c->cls == NSX_CONF_NONE)
		return nsx_cannot(a->out, "this trace cannot be replayed: %s", c->reason);
	if (nsx_replay_price(f->model, x.v, x.n, &g, err))
		return err->rc;
	if (!g.touched)
		return nsx_cannot(a->out, "nothing in the judged window matches '%s'", a->argument);
	describe_gain(a, &g);
	return describe_each_gain(a, &x, err);
}
