/* ask.h - questions about a trace, each with one answer: the same for people, for
 * scripts and for agents.
 *
 * A question is a line of questions.def and a function that fills a section: its
 * figures, tables and notes.  Beside them an answer says of which window it is,
 * how far it can be trusted, and what to ask next.
 */
#ifndef NSX_ASK_H
#define NSX_ASK_H

#include "agent/census.h"
#include "report/opts.h"
#include "report/report.h"

enum { NSX_MAX_NEXT = 3, NSX_ASK_ROWS = 20 };

#define NSX_QUESTION(id, ...) NSX_Q_##id,
enum nsx_question_id {
#include "agent/questions.def"
	NSX_NQUESTIONS
};
#undef NSX_QUESTION

struct nsx_next { /* a question that would lead on */
	enum nsx_question_id question;
	const char *argument; /* NULL: none                                  */
	const char *why;
	const char *trace; /* NULL: the one that was asked                   */
};

struct nsx_sql; /* a connection for SQL of others (ask_sql.c)           */
void nsx_sql_free(struct nsx_sql *s); /* NULL is fine */

struct nsx_subject { /* what is asked */
	const struct nsx_report *r;
	struct nsx_sql *sql; /* NULL until SQL is asked for; the caller's     */
	struct nsx_census *census; /* NULL until sums are; the caller's      */
	bool is_agents; /* who asks has tools, no shell                      */
};
struct nsx_answer {
	const struct nsx_report *r; /* NULL: of several traces, or of none   */
	struct nsx_subject *subject; /* NULL: as r                           */
	const char *argument;	  /* as asked; NULL: none                    */
	size_t limit;		  /* rows of a table                         */
	struct nsx_section *out;  /* what was found                          */
	struct nsx_window window; /* of what was told; start == end: none    */
	enum nsx_confidence confidence;
	struct nsx_next next[NSX_MAX_NEXT];
	unsigned nnext;
};

struct nsx_question {
	const char *name;
	const char *argument; /* as help shows it; NULL: takes none          */
	bool is_optional;     /* the argument                                */
	enum nsx_purpose purpose; /* of the least report that answers it     */
	const char *help;     /* one line                                    */
	int (*ask)(struct nsx_answer *a, struct nsx_err *err);
};
extern const struct nsx_question nsx_questions[NSX_NQUESTIONS];
const struct nsx_question *nsx_question_find(const char *name); /* NULL: none */

/* Answers one question about a finished report.  Owner of *ret: the caller,
 * nsx_answer_free; it borrows s and the strings.  Errors: NSX_E_USAGE, with what
 * to ask instead, where the argument names nothing of the trace.
 */
int nsx_ask(struct nsx_subject *s, const struct nsx_question *q,
	    const char *argument, size_t limit, struct nsx_answer **ret,
	    struct nsx_err *err) NSX_CHECKED;
/* One without findings or figures yet; r may be NULL. Owner: as of nsx_ask. */
struct nsx_answer *nsx_answer_new(const struct nsx_report *r, size_t limit);
/* *ret is the answer, if rc says that nothing failed and its tables are whole;
 * else it is freed.
 */
int nsx_answer_end(struct nsx_answer *a, int rc, struct nsx_answer **ret,
		   struct nsx_err *err) NSX_CHECKED;
void nsx_answer_free(struct nsx_answer *a); /* NULL is fine */

/* For who answers --------------------------------------------------------------*/

#define NSX_QUESTION(id, ...)                                                 \
	int nsx_ask_##id(struct nsx_answer *a, struct nsx_err *err);
#include "agent/questions.def"
#undef NSX_QUESTION

/* One more question to ask; what is beyond NSX_MAX_NEXT is left out. */
void nsx_answer_next(struct nsx_answer *a, enum nsx_question_id question,
		     const char *argument, const char *why);
/* An instant or a window of the argument. Errors: NSX_E_USAGE. */
int nsx_answer_instant(const struct nsx_answer *a, int64_t *ret,
		    struct nsx_err *err) NSX_CHECKED;
int nsx_answer_window(const struct nsx_answer *a, struct nsx_window *ret,
		   struct nsx_err *err) NSX_CHECKED;
/* Text of an instant, as Nsight Systems shows it and --window takes it. */
const char *nsx_answer_at(struct nsx_answer *a, int64_t ns);
/* The same to the nanosecond, for another question. */
const char *nsx_answer_exactly(struct nsx_answer *a, int64_t ns);
/* What an operation is called: a kernel's label, "copy HtoD", ... */
const char *nsx_answer_op(struct nsx_answer *a, size_t op);
/* Of when it is: "of A..B", "at A". NULL: of no time. */
const char *nsx_answer_when(const struct nsx_answer *a);

/* Tables of answers.  Sums stand under several keys. */
extern const struct nsx_layout nsx_verdict_layout, nsx_asked_findings_layout,
	nsx_instances_layout, nsx_changes_layout, nsx_sections_layout,
	nsx_at_layout, nsx_gap_layout, nsx_kernel_shape_layout, nsx_sums_layout,
	nsx_shares_layout, /* what its last column may be, too               */
	nsx_step_layout, nsx_presets_layout, nsx_lack_layout;

/* A table of the answer, in Markdown too: all its columns, limit rows. */
void nsx_answer_show(struct nsx_answer *a, const struct nsx_table *t);

/* The subject's census. Errors: NULL, NSX_E_NOMEM. */
const struct nsx_census *nsx_answer_census(struct nsx_answer *a,
					   struct nsx_err *err) NSX_CHECKED;

/* Sums by name, dearest first: a table's rows (tally.c).  A failure is kept and
 * told at the end.
 */
struct nsx_tally;
struct nsx_tally *nsx_tally_new(struct nsx_answer *a);
/* a, b: what tells one row from another; text is borrowed. */
void nsx_tally_add(struct nsx_tally *t, uint64_t a, uint64_t b,
		   const char *kind, const char *text,
		   const struct nsx_count *count);
/* The same for what one operation stands for: one row a kernel, or a direction of
 * copies, in each of `of`.
 */
void nsx_tally_op(struct nsx_tally *t, uint64_t of, size_t op,
		  const char *kind, const struct nsx_count *count);
/* As a table `key` of the answer: kind, name, count, total, mean, share of
 * whole_ns, which is that of the window, of kernels or of a range.  Lets the tally go.
 */
enum nsx_sum_share { NSX_OF_WINDOW, NSX_OF_THEM };
int nsx_tally_end(struct nsx_tally *t, const char *key, int64_t whole_ns,
		  enum nsx_sum_share share, struct nsx_err *err) NSX_CHECKED;
void nsx_tally_free(struct nsx_tally *t);

#endif
