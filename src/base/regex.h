/* regex.h - regular expressions of users. */
#ifndef NSX_REGEX_H
#define NSX_REGEX_H

#include <regex.h>
#include "base/err.h"

/* Compiles a POSIX extended regular expression; flags: REG_NOSUB, REG_ICASE.
 * Owner of *ret: the caller, regfree().  Errors: NSX_E_USAGE, whose message
 * says why it is none or why it is refused (the caller prefixes whose it is):
 * one with a "\d", which POSIX reads as the letter, one with a back-reference,
 * and one whose repeats take all the memory and time there is.  NSX_E_NOMEM.
 */
int nsx_regex_compile(regex_t *ret, const char *pattern, int flags,
		      struct nsx_err *err);

#endif
