/* regex.h - regular expressions of users. */
#ifndef NSX_REGEX_H
#define NSX_REGEX_H

#include <regex.h>
#include "base/err.h"

/* Compiles a POSIX extended regular expression; flags: REG_NOSUB, REG_ICASE. Refuses "\d",
 * which POSIX reads as the letter d, back-references, and repeats that exhaust memory and
 * time. Owner of *ret: the caller, regfree(). Errors: NSX_E_USAGE with the reason, which
 * the caller prefixes with the pattern's origin; NSX_E_NOMEM.
 */
int nsx_regex_compile(regex_t *ret, const char *pattern, int flags,
		      struct nsx_err *err);

#endif
