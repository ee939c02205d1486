/* cmd_ask.c - answers questions that follow the first page. */
#include "agent/ask.h"
#include "cli/cmd_common.h"
#include "cli/piped.h"
#include "emit/emit.h"

const struct nsx_cmd nsx_cmd_ask;

struct args {
	bool json, md, csv;
	const char *window;
	int64_t limit, threads; /* limit 0: the question's own default */
	double reach_s;
	struct nsx_engine engine;
};

#define OPT(...) NSX_OPT(struct args, __VA_ARGS__)
static const struct nsx_opt opts[] = {
	OPT(0, "json", NULL, NULL, FLAG, json, "the answer as JSON", .is_json = true),
	OPT(0, "md", NULL, NULL, FLAG, md, "the answer as Markdown"),
	OPT(0, "csv", NULL, NULL, FLAG, csv, "first table of the answer, as CSV"),
	OPT(0, "limit", "top", "N", INT, limit, "rows of each table (default 20; with --csv all)",
	    .least = 1, .most = 100000),
	OPT(0, "window", NULL, "A..B", STR, window,
	    "ask about this part only, as explain takes it"),
	OPT(0, "reach", NULL, "S", REAL, reach_s,
	    "with --window: of a huge trace, do not read rows that begin more than S seconds from "
	    "the window", .most = 1e9),
	NSX_OPTS_ENGINE(struct args),
	NSX_OPT_THREADS(struct args),
};

/* Columns of the table of next questions. */
#define NEXT_COLUMNS(X)                                                       \
	X(NEXT_QUESTION, "question", STR, "question of this command")         \
	X(NEXT_ARGUMENT, "argument", STR, "what it needs")                    \
	X(NEXT_WHY, "why", STR, "what it would tell")
NSX_COLUMNS(next_cols, NEXT_COLUMNS);
static const struct nsx_layout next_layout = {.key = "next",
					      NSX_COLS(next_cols)};

static int cmd_ask_add_frame(struct nsx_answer *a, struct nsx_err *err)
{
	struct nsx_table *t = nsx_add_table(a->out, &next_layout);

	nsx_put(a->out, "answer_window.start_ns", nsx_int(a->window.start_ns));
	nsx_put(a->out, "answer_window.end_ns", nsx_int(a->window.end_ns));
	nsx_put(a->out, "confidence", nsx_string(nsx_confidence_names[a->confidence]));
	for (unsigned i = 0; i < a->nnext; i++) {
		struct nsx_cell *row = nsx_add_row(t);

		row[NEXT_QUESTION] = nsx_string(nsx_questions[a->next[i].question].name);
		row[NEXT_ARGUMENT] = nsx_string(a->next[i].argument);
		row[NEXT_WHY] = nsx_string(a->next[i].why);
	}
	return nsx_table_whole(t, err);
}

static void cmd_ask_print_text(const struct nsx_answer *a, const struct args *args,
			       const char *path)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	if (args->md)
		nsx_emit_md_section(a->out, &b);
	else
		nsx_emit_plain_section(a->out, &b);
	if (!b.n)
		nsx_buf_adds(&b, "Nothing was found.\n");
	if (nsx_answer_when(a))
		nsx_buf_printf(&b, "\n%s, confidence %s\n", nsx_answer_when(a),
			       nsx_confidence_names[a->confidence]);
	for (unsigned i = 0; i < a->nnext; i++) {
		nsx_buf_adds(&b, "next: nsys-explain ask");
		nsx_buf_add_word(&b, nsx_is_piped(path) ? "-" : path);
		nsx_buf_add_word(&b, nsx_questions[a->next[i].question].name);
		if (a->next[i].argument)
			nsx_buf_add_word(&b, a->next[i].argument);
		if (args->window) {
			nsx_buf_adds(&b, " --window");
			nsx_buf_add_word(&b, args->window);
		}
		if (args->reach_s > 0)
			nsx_buf_printf(&b, " --reach %g", args->reach_s);
		nsx_engine_say(&args->engine, &b);
		nsx_buf_printf(&b, "  # %s\n", a->next[i].why);
	}
	fwrite(b.p, 1, b.n, stdout);
}

/* The section's first table or, if it has none, the first table of the report that it shows; NULL:
 * none.
 */
static const struct nsx_table *first_table(const struct nsx_section *s)
{
	return NSX_FIRST(i, !s->ntables ? s->nblocks : 0, s->blocks[i].kind == NSX_B_TABLE,
			 s->blocks[i].table, s->ntables ? s->tables[0] : NULL);
}

static int print_csv(const struct nsx_table *table, int64_t limit, struct nsx_err *err)
{
	struct nsx_table t = *table;

	if (limit && (size_t)limit < t.nrows) { /* drops the row for the rest, too */
		t.nrows = (size_t)limit;
		t.packed = NULL;
		t.nrest = 0;
	}
	return nsx_emit_csv(t.layout, &t, NULL, stdout, err);
}

static int cmd_ask_print(struct nsx_answer *a, const struct args *args,
			 const char *path, struct nsx_err *err)
{
	const struct nsx_table *first = first_table(a->out);
	int rc = 0;

	if (args->csv && first)
		rc = print_csv(first, args->limit, err);
	else if (args->csv)
		rc = nsx_fail(err, NSX_E_USAGE, "the answer has no table: leave --csv out");
	else if (args->json)
		rc = cmd_ask_add_frame(a, err) ? err->rc :
					 nsx_emit_json_section(a->out, stdout, err);
	else
		cmd_ask_print_text(a, args, path);
	return rc;
}

static int cmd_ask_answer(struct args *args, char **operands, struct nsx_err *err)
{
	const struct nsx_question *q = nsx_question_find(operands[1]);
	struct nsx_opts o = {NSX_OPTS_DEFAULT, .path = operands[0],
				   .window = args->window,
				   .reach_s = args->reach_s,
				   .purpose = q->purpose,
				   .threads = nsx_threads(args->threads)};
	struct nsx_subject s = {0};
	struct nsx_report *r = NULL;
	struct nsx_answer *a = NULL;
	int rc = nsx_engine_read(&args->engine, &o, err) ?: nsx_report_open(&o, &r, err);

	s = (struct nsx_subject){.r = r};
	rc = rc ?: nsx_ask(&s, q, operands[2], args->limit ? (size_t)args->limit : NSX_ASK_ROWS,
			   &a, err) ?:
	     cmd_ask_print(a, args, operands[0], err) ?: nsx_cmd_partial(nsx_report_damage(r));
	nsx_answer_free(a);
	nsx_sql_free(s.sql);
	nsx_report_free(r);
	nsx_engine_done(&args->engine);
	return rc;
}

static struct nsx_operand question_operand(unsigned i)
{
	const struct nsx_question *q = &nsx_questions[i];

	return (struct nsx_operand){q->name, q->argument, q->is_optional, q->help};
}

static int cmd_ask_run(void *args, int n, char **operands, struct nsx_err *err)
{
	struct args *a = args;
	const char *word = n < 2 ? "" : operands[1], *meant;
	int code;

	if (a->json + a->md + a->csv > 1)
		return nsx_fail(err, NSX_E_USAGE, "--json, --md and --csv exclude each other");
	if (n > 3)
		return nsx_fail(err, NSX_E_USAGE, "give one trace, one question and its argument: "
				"put quotes around '%s %s'", operands[2], operands[3]);
	if (nsx_question_find(word))
		return cmd_ask_answer(a, operands, err);
	meant = n < 2 ? NULL : nsx_question_nearest(word);
	if (meant)
		return nsx_fail(err, NSX_E_USAGE, "no question '%s'; did you mean "
				"'%s'? 'nsys-explain help ask' lists them", word, meant);
	(void)nsx_fail(err, NSX_E_USAGE, n < 2 ?
		       "give a trace and a question: nsys-explain ask TRACE "
		       "QUESTION; the questions are" :
		       "no question '%s'; the questions are", word);
	code = nsx_cmd_fail(err, a->json);
	nsx_opt_operands(&nsx_cmd_ask, stderr);
	return code;
}

const struct nsx_cmd nsx_cmd_ask = {
	.name = "ask",
	.usage = "TRACE QUESTION [ARGUMENT] [OPTIONS]",
	.summary = "ask a trace: what ran then, why that gap, who launched it",
	.doc = "Answers one question. Each answer says which window it is about, how far it can "
	       "be trusted, and what to ask next.\n\n"
	       "An instant is written as reports print it (60.331s), as seconds from the first "
	       "event (1.5), or as nanoseconds of the trace (5ns).",
	.examples = "nsys-explain ask run.sqlite findings\n"
		    "nsys-explain ask run.sqlite at 60.331s\n"
		    "nsys-explain ask run.sqlite window 60.33s..60.34s --json\n"
		    "nsys-explain ask run.sqlite kernel flash --limit 5\n",
	.opts = opts,
	.nopts = ARRAY_LEN(opts),
	.operands_title = "questions",
	.operand = question_operand,
	.noperands = NSX_NQUESTIONS,
	NSX_ARGS(struct args),
	.run = cmd_ask_run,
};
