/* cmd_common.h - what commands share: printing, failing. */
#ifndef NSX_CMD_COMMON_H
#define NSX_CMD_COMMON_H

#include <stdio.h>
#include "passes/pass.h"

/* One line on stderr, with json also an error object on stdout; nothing where nobody
 * reads on.  Returns the exit code that belongs to err.
 */
int nsx_cmd_fail(const struct nsx_err *err, bool json);
/* Errors: NSX_E_IO, NSX_E_CLOSED when stdout could not be written. */
int nsx_flush_stdout(struct nsx_err *err);
/* Ends a command that has printed: its exit code, or that of a failed write. */
int nsx_cmd_printed(int code);

/* How many threads to use: as asked for, or one for each processor. */
unsigned nsx_threads(int64_t asked);

/* Text that may hold names from the trace, without their control characters
 * (a terminal would obey them), and a newline.
 */
void nsx_print_line(const char *s);
/* The same on stderr, whatever else is quiet: why the exit code is 1. */
void nsx_say_failed_gate(const char *why);
/* Why it is 4, there, too (nsx_report_damage), and the code; NULL: 0. */
int nsx_cmd_partial(const char *why);

/* Where baselines are kept. */
#define NSX_STORE "nsys-explain-baselines"
#define NSX_OPT_STORE(T)                                                      \
	NSX_OPT(T, 0, "store", NULL, "DIR", STR, store,                       \
		"where baselines are (" NSX_STORE ")")

#define NSX_OPT_LEDGER(T)                                                     \
	NSX_OPT(T, 0, "ledger", NULL, "FILE", STR, ledger,                    \
		"append a line a finding: key, promised and won in percent, "  \
		"kept; 'ledger' sums them up")

/* The block of --print-schema: the tables in use, then all of them. */
void nsx_print_tables(const struct nsx_schema *s);
/* What an analysis means, and the SQL that reproduces it on this file. */
int nsx_print_definition(const struct nsx_pass *pass,
			 const struct nsx_schema *s, struct nsx_err *err);

#endif
