/* tools.h - the tools that agents call: their arguments, their answers, and what
 * is said when a call cannot be answered.
 *
 * What a caller can mend is a result with is_error and {code, message, try}; only
 * a tool that does not exist is an error of the protocol.
 */
#ifndef NSX_TOOLS_H
#define NSX_TOOLS_H

#include "agent/loaded.h"
#include "agent/roots.h"
#include "base/jsonread.h"
#include "base/jsonw.h"

#define NSX_TOOL(id, name, title, text) NSX_TOOL_##id,
enum nsx_tool_id {
#include "agent/tools.def"
	NSX_NTOOLS
};
#undef NSX_TOOL
struct nsx_tool {
	const char *name, *title, *text;
};
extern const struct nsx_tool nsx_tools[NSX_NTOOLS];

struct nsx_toolbox { /* what the calls of a server share */
	struct nsx_roots roots;
	struct nsx_cache cache;
	struct nsx_progress progress;
	int64_t budget; /* tokens of an answer that names none               */
	bool text_is_json; /* the text is a copy of the structure            */
};

/* Why a call is refused. */
#define NSX_TOOL_CODES(X)                                                     \
	X(CANNOT_READ) X(BAD_SQL) X(NOT_SQLITE) X(DAMAGED) X(NO_MEMORY)        \
	X(BAD_ARGUMENT) X(SQL_NOT_SELECT) X(BAD_COLUMN) X(TOO_SLOW)            \
	X(OUTSIDE_ROOTS) X(NO_SUCH_TRACE) X(TRACE_CHANGED)
#define NSX_TOOL_CODE(code) NSX_##code,
enum nsx_tool_code { NSX_TOOL_CODES(NSX_TOOL_CODE) NSX_NTOOL_CODES };
#undef NSX_TOOL_CODE
extern const char *const nsx_tool_codes[NSX_NTOOL_CODES];

/* What a tool takes (JSON Schema 2020-12), as a value of an open object. */
void nsx_tool_input_schema(struct nsx_jsonw *w, const char *key,
			   enum nsx_tool_id tool);

/* Adds content, structuredContent and isError to the open object of w.
 * arguments NULL: none.  Errors: NSX_E_STOP alone.
 */
int nsx_tool_call(struct nsx_toolbox *t, enum nsx_tool_id tool,
		  const struct nsx_jsonr *arguments, struct nsx_jsonw *w,
		  struct nsx_err *err) NSX_CHECKED;

/* For tools.c, of the other files ----------------------------------------------*/

struct nsx_answer;
/* Answers of which no report is the source; paths are real. */
struct nsx_captures; /* of two sides (diff/diff.h) */
int nsx_answer_diff(const struct nsx_captures *sides, const char *unit,
		    const struct nsx_cache *loaded, struct nsx_answer **ret,
		    struct nsx_err *err) NSX_CHECKED;
/* is_allowed: of each file that a folder names; NSX_E_DENIED: of none. */
int nsx_answer_fleet(char *const *paths, size_t n,
		     bool (*is_allowed)(void *ctx, const char *path), void *ctx,
		     const struct nsx_cache *loaded, struct nsx_answer **ret,
		     struct nsx_err *err) NSX_CHECKED;
/* preset NULL: all; r NULL: of no trace. */
int nsx_answer_capture(const char *preset, const struct nsx_report *r,
		       struct nsx_answer **ret,
		       struct nsx_err *err) NSX_CHECKED;

#endif
