/* regex.h - regular expressions of users. */
#pragma once

#include <regex.h>
#include "base/err.h"

/* Compiles a POSIX extended regular expression; flags: REG_ICASE. Refuses "\d", which POSIX
 * reads as the letter d, back-references, and repeats that exhaust memory or time. Owner of
 * *ret: the caller, regfree(). Errors: NSX_E_USAGE with the reason, which the caller prefixes
 * with the pattern's origin; NSX_E_NOMEM.
 */
int nsx_regex_compile(regex_t *ret, const char *pattern, int flags, struct nsx_err *err);

/* A pattern that is matched with many texts, in bounded memory. Owner: the caller, nsx_regex_free.
 * Errors: as above.
 */
struct nsx_regex;
int nsx_regex_new(const char *pattern, struct nsx_regex **ret, struct nsx_err *err) NSX_CHECKED;
/* Whether the pattern matches anywhere in the text. Ends the program if memory runs out.
 * Thread-safe.
 */
bool nsx_regex_matches(struct nsx_regex *r, const char *text);
void nsx_regex_free(struct nsx_regex *r); /* r may be NULL */
