/* text.h - text from the trace as Markdown: nothing in a name can break a page,
 * a table or a line.  What is given must be valid UTF-8 (base/str.h).
 */
#ifndef NSX_TEXT_H
#define NSX_TEXT_H

#include "base/str.h"

/* The character at s, which must not be at the end, and its length. */
uint32_t nsx_code_point(const char *s, size_t *n);
/* Characters that move the cursor, hide text or turn its direction. */
bool nsx_is_unsafe(uint32_t c);

/* Running text: every character that Markdown or HTML could read is escaped. */
void nsx_md_escape(struct nsx_buf *b, const char *s, size_t len);
/* The inside of a code span. */
void nsx_md_add_code(struct nsx_buf *b, const char *s, size_t len);
/* Markdown of ours as plain text: no marks, no escapes. */
void nsx_md_add_plain(struct nsx_buf *b, const char *markdown);
/* Where the names stand in PyProf's range of a call, "{'mod': 'torch', 'op': 'add',
 * 'args': ...}", and what follows them; false: it is none.
 */
struct nsx_pyprof_call {
	const char *mod, *op, *args;
	int mod_size, op_size; /* in bytes                                   */
};
bool nsx_pyprof_call(const char *name, struct nsx_pyprof_call *ret);
/* A range's name as a person reads it: PyProf's dictionaries of calls and files
 * as "Tensor.cuda((6, 3) float32)" and "net.py:34 > 97".
 */
const char *nsx_text_range(struct nsx_arena *a, const char *name);
/* A name as a cell shows it, in a code span where needed: one that is too long
 * without a function's arguments or a path's middle, else cut in its own.
 */
void nsx_md_add_name(struct nsx_buf *b, const char *name);
/* The same as a string. */
const char *nsx_text_name(struct nsx_arena *a, const char *name);
/* All of it, however long. */
const char *nsx_text_whole_name(struct nsx_arena *a, const char *name);

#endif
