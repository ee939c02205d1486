/* text.h - text from the trace as Markdown: no name can break a page, a table or a line.
 * Input must be valid UTF-8 (base/str.h).
 */
#pragma once

#include "base/str.h"

/* Escapes every character that has a meaning in Markdown or HTML running text. */
void nsx_md_escape(struct nsx_buf *b, const char *s, size_t len);
/* Adds a text for the inside of a code span. */
void nsx_md_add_code(struct nsx_buf *b, const char *s, size_t len);
/* Strips marks and escapes from our own Markdown. */
void nsx_md_add_plain(struct nsx_buf *b, const char *markdown);
/* The parts of PyProf's range name for a call, "{'mod': 'torch', 'op': 'add', 'args': ...}".
 * Returns false for other names.
 */
struct nsx_pyprof_call {
	const char *mod, *op, *args;
	int mod_size, op_size; /* in bytes                                   */
};
bool nsx_pyprof_call(const char *name, struct nsx_pyprof_call *ret);
/* A readable name for a range: PyProf's dictionaries of calls and files become
 * "Tensor.cuda((6, 3) float32)" and "net.py:34 > 97".
 */
const char *nsx_text_range(struct nsx_arena *a, const char *name);
/* Adds a name for a table cell, in a code span where needed. A long name loses a function's
 * arguments or a path's middle, or is cut in its own middle.
 */
void nsx_md_add_name(struct nsx_buf *b, const char *name);
/* The text that nsx_md_add_name adds, as a string. */
const char *nsx_text_name(struct nsx_arena *a, const char *name);
/* Like nsx_text_name, without a length limit. */
const char *nsx_text_whole_name(struct nsx_arena *a, const char *name);
