/* ledger.h - records over many changes whether promises were kept. The file has a line for
 * each finding: "key TAB promised % TAB won % TAB kept or not kept".
 */
#pragma once

#include "diff/diff.h"

/* Appends in one write, so several runs may append at a time. Errors: NSX_E_USAGE (the file
 * is not a ledger), NSX_E_IO.
 */
int nsx_ledger_append(const char *path, const struct nsx_promise *v, size_t n,
		      struct nsx_err *err) NSX_CHECKED;

struct nsx_ledger_row { /* promises of one kind of finding */
	const char *kind; /* key of these findings, without the subject */
	size_t n, kept;
	double won; /* median of won / promised; NAN: nothing was promised */
};
/* Sums up several files, most promises first. Owner: arena a. Errors: NSX_E_USAGE naming
 * file and line, NSX_E_IO.
 */
int nsx_ledger_sum(const char *const *paths, size_t npaths, struct nsx_arena *a,
		   struct nsx_ledger_row **ret, size_t *ret_n, struct nsx_err *err) NSX_CHECKED;
