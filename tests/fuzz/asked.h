/* asked.h - asks questions about traces that stay in memory, for several targets. */
#ifndef NSX_FUZZ_ASKED_H
#define NSX_FUZZ_ASKED_H

#include "agent/ask.h"
#include "bases.h"
#include "fuzz.h"

static inline struct nsx_subject *fuzz_subject(unsigned i)
{
	static struct nsx_subject v[ARRAY_LEN(bases)];
	static char path[ARRAY_LEN(bases)][FUZZ_SEED_PATH];
	struct nsx_report *r;
	struct nsx_err err;

	if (v[i].r)
		return &v[i];
	fuzz_seed_path(bases[i], path[i]);
	CHECK(!nsx_report_open(&(struct nsx_opts){NSX_OPTS_DEFAULT, .path = path[i],
						  .purpose = NSX_FOR_QUESTIONS,
						  .threads = 1}, &r, &err));
	v[i].r = r;
	return &v[i];
}

/* Asks a question. It must end with an answer that is JSON without secrets, or with a message of
 * one line.
 */
static inline void fuzz_ask(uint8_t base, enum nsx_question_id question, const uint8_t *p, size_t n)
{
	struct nsx_subject *s = fuzz_subject(base % ARRAY_LEN(bases));
	const struct nsx_question *q = &nsx_questions[question];
	char *argument = strndup((const char *)p, n), *text;
	bool said_it = fuzz_has_secret(p, n);
	struct nsx_answer *a = NULL;
	struct nsx_err err = {0};
	FILE *out;

	if (nsx_ask(s, q, *argument || !q->is_optional ? argument : NULL, NSX_ASK_ROWS, &a, &err)) {
		CHECK(err.msg[0] && !strpbrk(err.msg, "\n\r"));
		CHECK(said_it || !fuzz_has_secret(err.msg, strlen(err.msg)));
	} else {
		out = open_memstream(&text, &n);
		CHECK(out && !nsx_emit_json_section(a->out, out, &err) && !fclose(out));
		fuzz_check_json(text, n);
		CHECK(said_it || !fuzz_has_secret(text, n));
		free(text);
	}
	nsx_answer_free(a);
	free(argument);
}

#endif
