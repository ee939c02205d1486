/* ask.h - questions about a trace, each with one answer that is the same for people, scripts
 * and agents.
 *
 * A question is a line of questions.def and a function that fills a section with figures,
 * tables and notes. An answer also says which window it is about, how far it can be trusted,
 * and what to ask next.
 */
#pragma once

#include "base/stat.h"
#include "facts/facts.h"
#include "report/opts.h"
#include "report/report.h"

enum { NSX_MAX_NEXT = 3, NSX_ASK_ROWS = 20 };

#define NSX_QUESTION(id, ...) NSX_Q_##id,
enum nsx_question_id {
#include "agent/questions.def"
	NSX_NQUESTIONS
};
#undef NSX_QUESTION

struct nsx_next { /* a question to ask next */
	enum nsx_question_id question;
	const char *argument; /* argument of the question; NULL: none        */
	const char *why;
	const char *trace; /* trace to ask about; NULL: the trace of this answer */
};

struct nsx_sql; /* a connection for a user's SQL (ask_sql.c)                 */
void nsx_sql_free(struct nsx_sql *s); /* NULL is fine */

struct nsx_subject { /* the report that questions are about, and data that several answers share */
	const struct nsx_report *r;
	struct nsx_sql *sql; /* NULL until SQL is asked; the caller frees it */
	bool is_agents; /* the asker is an agent, which has tools but no shell */
};
struct nsx_answer {
	const struct nsx_report *r; /* NULL: several traces, or none         */
	struct nsx_subject *subject; /* NULL if r is NULL                    */
	const char *argument;	  /* argument as typed; NULL: none           */
	size_t limit;		  /* most rows of a table                    */
	struct nsx_section *out;  /* section that holds figures, tables and notes */
	struct nsx_window window; /* the time that the answer is about; start == end: none */
	enum nsx_confidence confidence;
	struct nsx_next next[NSX_MAX_NEXT];
	unsigned nnext;
};

struct nsx_question {
	const char *name;
	const char *argument; /* the argument as help shows it; NULL: the question takes none */
	bool is_optional;     /* the argument may be left out                */
	enum nsx_purpose purpose; /* the smallest report that answers it     */
	const char *help;     /* what help says about it, in one line        */
	int (*ask)(struct nsx_answer *a, struct nsx_err *err);
};
extern const struct nsx_question nsx_questions[NSX_NQUESTIONS];
const struct nsx_question *nsx_question_find(const char *name); /* NULL: none */
const char *nsx_question_nearest(const char *name); /* the most similar name; NULL: none */

/* Answers one question about a finished report. Owner of *ret: the caller, nsx_answer_free; it
 * borrows s and the strings. Errors: NSX_E_USAGE if the argument names nothing in the trace; the
 * message suggests another argument.
 */
int nsx_ask(struct nsx_subject *s, const struct nsx_question *q,
	    const char *argument, size_t limit, struct nsx_answer **ret,
	    struct nsx_err *err) NSX_CHECKED;
/* Makes an answer without content; r may be NULL. Owner: as of nsx_ask. */
struct nsx_answer *nsx_answer_new(const struct nsx_report *r, size_t limit);
/* Finishes an answer: sets *ret if rc is 0 and the answer's tables are complete, otherwise frees
 * the answer. Returns rc or the error.
 */
int nsx_answer_end(struct nsx_answer *a, int rc, struct nsx_answer **ret,
		   struct nsx_err *err) NSX_CHECKED;
void nsx_answer_free(struct nsx_answer *a); /* NULL is fine */

/* For functions that answer -------------------------------------------------------- */

#define NSX_QUESTION(id, ...)                                                 \
	int nsx_ask_##id(struct nsx_answer *a, struct nsx_err *err);
#include "agent/questions.def"
#undef NSX_QUESTION

/* Adds a question to ask next; more than NSX_MAX_NEXT are dropped. */
void nsx_answer_next(struct nsx_answer *a, enum nsx_question_id question,
		     const char *argument, const char *why);
/* Read the argument as an instant or a window. Errors: NSX_E_USAGE. */
int nsx_answer_instant(const struct nsx_answer *a, int64_t *ret, struct nsx_err *err) NSX_CHECKED;
int nsx_answer_window(const struct nsx_answer *a, struct nsx_window *ret,
		   struct nsx_err *err) NSX_CHECKED;
/* An instant as text, as Nsight Systems shows it and --window takes it. */
const char *nsx_answer_at(struct nsx_answer *a, int64_t ns);
/* An instant as text to the nanosecond, for use in another question. */
const char *nsx_answer_exactly(struct nsx_answer *a, int64_t ns);
/* The name of an operation: a kernel's label, "copy HtoD", ... Owner: the answer. */
const char *nsx_answer_op(struct nsx_answer *a, size_t op);
/* The time that an answer is about: "window A..B", "at A"; NULL: none. */
const char *nsx_answer_when(const struct nsx_answer *a);

/* Layouts of tables in answers. The layout of sums is used under several keys. */
extern const struct nsx_layout nsx_verdict_layout, nsx_asked_findings_layout,
	nsx_instances_layout, nsx_changes_layout, nsx_sections_layout,
	nsx_at_layout, nsx_gap_layout, nsx_kernel_shape_layout, nsx_sums_layout,
	nsx_shares_layout, /* layouts that differ in the last column         */
	nsx_step_layout, nsx_presets_layout, nsx_lack_layout;

/* Shows a table in the answer's Markdown: all columns, `limit` rows. */
void nsx_answer_show(struct nsx_answer *a, const struct nsx_table *t);

struct nsx_count {
	int64_t n, ns;
};
/* Adds a count and a time. Times are saturated, because lengths in a damaged file may add up to
 * more than int64_t holds.
 */
static inline void nsx_count_add(struct nsx_count *sum, int64_t n, int64_t ns)
{
	sum->n += n;
	nsx_add_to(&sum->ns, ns);
}
/* Sums by name, which become a table with the greatest first (tally.c). */
struct nsx_tally;
struct nsx_tally *nsx_tally_new(struct nsx_answer *a);
struct nsx_tally_row {
	const char *kind, *name; /* borrowed */
	struct nsx_count count;
};
/* Adds a count and a time to the row with the key (a, b). Returns the row if it is new, so that
 * the caller names it, otherwise NULL.
 */
struct nsx_tally_row *nsx_tally_add(struct nsx_tally *t, uint64_t a, uint64_t b, int64_t n,
				    int64_t ns);
/* Adds the time of an operation. The tally has one row for each kernel and each direction of
 * copies, separately for each value of `of`, such as a device.
 */
void nsx_tally_op(struct nsx_tally *t, uint64_t of, size_t op, const char *kind, int64_t ns);
/* Makes the table `key` of the answer: kind, name, count, total, mean and share of whole_ns.
 * whole_ns is the length of the window, or the time of all kernels or of a range. Frees the tally.
 */
enum nsx_sum_share { NSX_OF_WINDOW, NSX_OF_THEM };
void nsx_tally_end(struct nsx_tally *t, const char *key, int64_t whole_ns,
		   enum nsx_sum_share share);
void nsx_tally_free(struct nsx_tally *t);
