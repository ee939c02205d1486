/* jsonw.h - JSON documents, written value by value.
 *
 * Begin an object or an array, add members, end it; everything is inside one root. Inside
 * an object every value has a key, inside an array none (NULL). A key is a path: "a.b" is b
 * in the object a, which is created on demand; "\\." is a dot in a name. Setting a key
 * again replaces its value; beginning an object again continues it.
 *
 * The first failure sticks and is reported by nsx_jsonw_write, so that callers need not
 * test each step.
 *
 * Strings are repaired to valid UTF-8, non-ASCII is escaped, integers are exact, reals have
 * 15 significant digits and must be finite (the caller writes null for an unknown number).
 */
#pragma once

#include <stdio.h>
#include "base/err.h"

struct nsx_jsonw;

struct nsx_jsonw *nsx_jsonw_new(void);
void nsx_jsonw_free(struct nsx_jsonw *w); /* w may be NULL */

void nsx_jsonw_object(struct nsx_jsonw *w, const char *key);
void nsx_jsonw_array(struct nsx_jsonw *w, const char *key);
void nsx_jsonw_end(struct nsx_jsonw *w); /* ends the innermost open object or array */

void nsx_jsonw_str(struct nsx_jsonw *w, const char *key,
		   const char *s); /* NULL becomes null */
void nsx_jsonw_strn(struct nsx_jsonw *w, const char *key, const char *s, size_t n);
void nsx_jsonw_int(struct nsx_jsonw *w, const char *key, int64_t v);
void nsx_jsonw_real(struct nsx_jsonw *w, const char *key, double v);
void nsx_jsonw_bool(struct nsx_jsonw *w, const char *key, bool v);
void nsx_jsonw_null(struct nsx_jsonw *w, const char *key);
/* Adds a copy of a value that was read (jsonread.h); NULL becomes null. */
struct nsx_jsonr;
void nsx_jsonw_value(struct nsx_jsonw *w, const char *key, const struct nsx_jsonr *v);
/* Adds a copy of another, finished document as a value. */
void nsx_jsonw_part(struct nsx_jsonw *w, const char *key, const struct nsx_jsonw *part);

/* Writes the finished document, indented by two, and a newline. Errors: the
 * first failure of any step, naming its key; NSX_E_IO, NSX_E_CLOSED of nsx_fail_write.
 */
int nsx_jsonw_write(const struct nsx_jsonw *w, FILE *out, struct nsx_err *err) NSX_CHECKED;
/* Writes the document and frees w. */
int nsx_jsonw_finish(struct nsx_jsonw *w, FILE *out, struct nsx_err *err) NSX_CHECKED;
/* Appends the document to b on one line, without a newline. */
struct nsx_buf;
int nsx_jsonw_add_to(const struct nsx_jsonw *w, struct nsx_buf *b, struct nsx_err *err) NSX_CHECKED;
