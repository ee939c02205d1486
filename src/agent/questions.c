/* questions.c - the list of questions, and how one is answered. */
#include "agent/ask.h"
#include "report/corrections.h"

const struct nsx_question nsx_questions[NSX_NQUESTIONS] = {
#define NSX_QUESTION(id, text, arg, optional, asks, what)                     \
	{text, arg, optional, NSX_FOR_##asks, what, nsx_ask_##id},
#include "agent/questions.def"
#undef NSX_QUESTION
};

const struct nsx_question *nsx_question_find(const char *name)
{
	return NSX_FIRST(i, NSX_NQUESTIONS, !strcmp(nsx_questions[i].name, name),
			 &nsx_questions[i], NULL);
}

const char *nsx_question_nearest(const char *name)
{
	return NSX_NEAREST(name, i, NSX_NQUESTIONS, nsx_questions[i].name);
}

/* Lowers the confidence of an answer to that of its data. */
static void limit_confidence(struct nsx_answer *a)
{
	const struct nsx_steady *steady = &a->r->facts->steady;
	const char *damage = nsx_report_damage(a->r);

	if (damage) {
		nsx_note(a->out, "the trace is damaged; this answer covers the readable part: %s",
				 damage);
		a->confidence = NSX_CONF_LOW;
	}
	if (a->out->status == NSX_S_CANNOT)
		a->confidence = NSX_CONF_LOW;
	else if (a->window.start_ns == steady->window.start_ns &&
		 a->window.end_ns == steady->window.end_ns && steady->confidence != NSX_CONF_NONE)
		a->confidence = NSX_MIN(a->confidence, steady->confidence);
}

/* Says which GPU work an answer about GPU work lacks. Answers about findings say it themselves, and
 * rows of the trace are as recorded.
 */
static void note_left_out(struct nsx_answer *a, const struct nsx_question *q)
{
	const char *left_out = nsx_say_impossible(a->r->trace, a->out->arena);

	if (left_out && q->ask != nsx_ask_verdict && q->ask != nsx_ask_findings &&
	    q->ask != nsx_ask_finding && q->ask != nsx_ask_section && q->ask != nsx_ask_sql)
		nsx_note(a->out, "%s", left_out);
}

int nsx_ask(struct nsx_subject *s, const struct nsx_question *q,
	    const char *argument, size_t limit, struct nsx_answer **ret, struct nsx_err *err)
{
	struct nsx_answer *a;
	bool suggests;
	int rc;

	if (q->argument && !q->is_optional && !argument)
		return nsx_fail(err, NSX_E_USAGE, "the question '%s' needs %s: %s",
				q->name, q->argument, q->help);
	if (!q->argument && argument)
		return nsx_fail(err, NSX_E_USAGE, "the question '%s' takes no "
				"'%s'", q->name, argument);
	a = nsx_answer_new(s->r, limit);
	a->subject = s;
	a->argument = argument;
	rc = q->ask(a, err);
	if (rc == NSX_E_USAGE && nsx_report_damage(a->r))
		rc = nsx_wrap(err, "in the readable part of a damaged trace");
	limit_confidence(a);
	note_left_out(a, q);
	suggests = a->nnext;
	if (!suggests && q->ask != nsx_ask_verdict)
		nsx_answer_next(a, NSX_Q_verdict, NULL, "what costs most");
	if (!suggests && q->ask != nsx_ask_gaps && a->r->trace->ndevices)
		nsx_answer_next(a, NSX_Q_gaps, NULL, "the longest idle times");
	return nsx_answer_end(a, rc, ret, err);
}
