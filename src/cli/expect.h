/* expect.h - what the user expects of the judged time, and whether it came so. */
#ifndef NSX_CLI_EXPECT_H
#define NSX_CLI_EXPECT_H

#include "passes/pass.h"

/* Errors: NSX_E_USAGE, with what is wrong about the text. */
int nsx_expect_check(const char *text, struct nsx_err *err) NSX_CHECKED;
/* Whether the report meets it.  *ret_share: what its subject is of the judged time of all GPUs
 * that worked in it, 0..1; NAN, and not met, where nothing was judged.  The text was checked.
 */
bool nsx_expect_is_met(const struct nsx_report *r, const char *text, double *ret_share);

#endif
