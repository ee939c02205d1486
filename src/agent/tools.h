/* tools.h - the tools that agents call: their arguments, their answers, and refusals.
 *
 * If the caller can mend the call, the result has isError and {code, message, try}. Only an
 * unknown tool is an error of the protocol.
 */
#pragma once

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

struct nsx_toolbox { /* shared by all calls of a server */
	struct nsx_roots roots;
	struct nsx_cache cache;
	struct nsx_progress progress;
	int64_t budget; /* limit of an answer in tokens, unless the call gives one */
	bool text_is_json; /* the text of an answer is a copy of its JSON structure */
};

/* Reasons to refuse a call. */
#define NSX_TOOL_CODES(X)                                                     \
	X(CANNOT_READ) X(BAD_SQL) X(NOT_SQLITE) X(DAMAGED) X(NO_MEMORY)        \
	X(BAD_ARGUMENT) X(SQL_NOT_SELECT) X(BAD_COLUMN) X(TOO_SLOW)            \
	X(OUTSIDE_ROOTS) X(NO_SUCH_TRACE) X(TRACE_CHANGED)
#define NSX_TOOL_CODE(code) NSX_##code,
enum nsx_tool_code { NSX_TOOL_CODES(NSX_TOOL_CODE) NSX_NTOOL_CODES };
#undef NSX_TOOL_CODE
extern const char *const nsx_tool_codes[NSX_NTOOL_CODES];

/* Puts the JSON Schema (2020-12) of a tool's arguments into an open object. */
void nsx_tool_input_schema(struct nsx_jsonw *w, const char *key, enum nsx_tool_id tool);

/* Answers a call: adds content, structuredContent and isError to the open object of w. arguments
 * NULL: none. Errors: only NSX_E_STOP.
 */
int nsx_tool_call(struct nsx_toolbox *t, enum nsx_tool_id tool,
		  const struct nsx_jsonr *arguments, struct nsx_jsonw *w,
		  struct nsx_err *err) NSX_CHECKED;

/* For tools.c, in other files -------------------------------------------------------- */

struct nsx_answer;
/* Make answers from several captures, or from none. Paths are real. */
struct nsx_captures; /* captures of one side (diff/diff.h) */
int nsx_answer_diff(const struct nsx_captures *sides, const char *unit,
		    const struct nsx_cache *loaded, struct nsx_answer **ret,
		    struct nsx_err *err) NSX_CHECKED;
/* Compares ranks. is_allowed: called for each file in a folder. Errors: NSX_E_DENIED if no file is
 * allowed.
 */
int nsx_answer_fleet(char *const *paths, size_t n,
		     bool (*is_allowed)(void *ctx, const char *path), void *ctx,
		     const struct nsx_cache *loaded, struct nsx_answer **ret,
		     struct nsx_err *err) NSX_CHECKED;
/* Says what to record next. preset NULL: all presets; r NULL: without a trace. */
int nsx_answer_capture(const char *preset, const struct nsx_report *r, struct nsx_answer **ret,
		       struct nsx_err *err) NSX_CHECKED;
