/* reply.h - an answer as an agent gets it: the same content as a structure and as text, within
 * a budget.
 *
 * A token is counted as three bytes of the structure, as names and digits break into many. Rows
 * are added in order, from all tables in turn, until the budget is spent. The reply says what
 * is left out, and gives the cursor to continue from there.
 *
 * Text from a trace is data. Characters that move the cursor, hide text or turn its direction
 * are spelled out. In the text, every cell of more than one word stands in a code span.
 */
#pragma once

#include "agent/ask.h"
#include "base/jsonw.h"

enum { NSX_REPLY_TOKENS = 4000, NSX_REPLY_MIN_TOKENS = 500,
       NSX_REPLY_MAX_TOKENS = 16000, NSX_REPLY_MAX_BYTES = 45000,
       NSX_REPLY_CELL = 80, NSX_REPLY_FULL_CELL = 200,
       NSX_REPLY_PROSE = 400, NSX_REPLY_ROWS = 1000 };

/* The window of an answer: the whole trace, the judged part, or the one asked about. */
enum nsx_window_kind { NSX_WINDOW_FULL, NSX_WINDOW_STEADY, NSX_WINDOW_ASKED,
		       NSX_NWINDOW_KINDS };
extern const char *const nsx_window_kinds[NSX_NWINDOW_KINDS]; /* "full", ... */

struct nsx_reply {
	/* The name of the question in nsys_ask; NULL: the answer is about no trace. */
	const char *question;
	/* The trace as the caller named it; NULL: several traces, or none. */
	const char *trace, *trace_id;
	const char *window;   /* the part that was asked for; NULL: all      */
	int64_t budget;	      /* limit of the reply, in tokens               */
	bool is_full;	      /* figures have all digits, and names are longer */
	const char *cursor;   /* cursor of the previous reply; NULL: none    */
};

/* Appends a text to b: valid UTF-8, cut to n characters, without unsafe characters. */
void nsx_reply_text(struct nsx_buf *b, const char *text, size_t n);
/* Adds a text, made safe in the same way, to a document. */
void nsx_reply_put_text(struct nsx_jsonw *w, const char *key, const char *text, size_t n);

/* Appends the program's own text with the commands, options and files that it names replaced by
 * tools, arguments and resources; trace_id NULL: files stay.
 */
void nsx_reply_as_tools(struct nsx_buf *b, const char *text, const char *trace_id);

/* Makes the structured content of a reply (owner: the caller, nsx_jsonw_free) and appends its text
 * to b. Errors: NSX_E_USAGE, a cursor of another answer.
 */
int nsx_reply_write(const struct nsx_answer *a, const struct nsx_reply *r,
		    struct nsx_jsonw **ret, struct nsx_buf *b, struct nsx_err *err) NSX_CHECKED;
