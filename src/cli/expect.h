/* expect.h - checks the user's expectations of the judged time. */
#ifndef NSX_CLI_EXPECT_H
#define NSX_CLI_EXPECT_H

#include "passes/pass.h"

/* Checks the syntax of an expectation. Errors: NSX_E_USAGE, naming the mistake. */
int nsx_expect_check(const char *text, struct nsx_err *err) NSX_CHECKED;
/* Whether the report meets an expectation that passed nsx_expect_check. *ret_share: share of its
 * subject in the judged time of all GPUs that worked then, 0..1; NAN (not met) if nothing was
 * judged.
 */
bool nsx_expect_is_met(const struct nsx_report *r, const char *text, double *ret_share);

#endif
