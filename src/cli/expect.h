/* expect.h - checks the user's expectations of the judged time. */
#pragma once

#include "emit/notices.h"
#include "passes/pass.h"

/* Checks the syntax of an expectation. Errors: NSX_E_USAGE, naming the mistake. */
int nsx_expect_check(const char *text, struct nsx_err *err) NSX_CHECKED;
/* The gate of an expectation that passed nsx_expect_check. Its text is the share of its subject in
 * the judged time of all GPUs that worked then. It fails if nothing was judged, or if no kernel of
 * the trace matches: a pattern that matches nothing is more likely misspelt than met. Owner: arena
 * a.
 */
struct nsx_notice nsx_expect_notice(const struct nsx_report *r, const char *text,
				    struct nsx_arena *a);
