/* reply.h - an answer as an agent gets it: structure and text of the same
 * content, within a budget.
 *
 * A token is taken as three bytes of the structure: names and digits break into
 * many.  Rows are added in order, from all tables in turn, until the budget is
 * spent; what is left out is said, with the cursor that goes on from there.
 *
 * Text from a trace is data: characters that move the cursor, hide text or turn
 * its direction are spelled out, and in the text every cell that is more than one
 * word stands in a code span.
 */
#ifndef NSX_REPLY_H
#define NSX_REPLY_H

#include "agent/ask.h"
#include "base/jsonw.h"

enum { NSX_REPLY_TOKENS = 4000, NSX_REPLY_MIN_TOKENS = 500,
       NSX_REPLY_MAX_TOKENS = 16000, NSX_REPLY_MAX_BYTES = 45000,
       NSX_REPLY_CELL = 80, NSX_REPLY_FULL_CELL = 200,
       NSX_REPLY_PROSE = 400, NSX_REPLY_ROWS = 1000 };

/* Of what window an answer is: of all of the trace, of what is judged, or of what was
 * asked about.
 */
enum nsx_window_kind { NSX_WINDOW_FULL, NSX_WINDOW_STEADY, NSX_WINDOW_ASKED,
		       NSX_NWINDOW_KINDS };
extern const char *const nsx_window_kinds[NSX_NWINDOW_KINDS]; /* "full", ... */

struct nsx_reply {
	const char *question; /* as nsys_ask names it; NULL: of no trace     */
	const char *trace, *trace_id; /* as asked for; NULL: several, or none */
	int64_t budget;	      /* tokens                                      */
	bool is_full;	      /* all digits, longer names                    */
	const char *cursor;   /* of the reply before; NULL: none             */
};

/* Appends text to b: valid UTF-8, at most n characters, nothing unsafe. */
void nsx_reply_text(struct nsx_buf *b, const char *text, size_t n);

/* The structure (owner: the caller, nsx_jsonw_free), and the text appended to b.
 * Errors: NSX_E_USAGE, a cursor that is not of this answer.
 */
int nsx_reply_write(const struct nsx_answer *a, const struct nsx_reply *r,
		    struct nsx_jsonw **ret, struct nsx_buf *b,
		    struct nsx_err *err) NSX_CHECKED;

#endif
