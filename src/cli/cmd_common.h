/* cmd_common.h - functions that several commands use: printing, failing. */
#pragma once

#include <stdio.h>
#include "cli/opt.h"
#include "passes/engine.h"
#include "passes/pass.h"

/* Prints one line on stderr, and with json an error object on stdout; nothing if the reader is
 * gone. Returns err's exit code.
 */
int nsx_cmd_fail(const struct nsx_err *err, bool json);
/* Flushes stdout. Errors: NSX_E_IO, or NSX_E_CLOSED if the reader is gone. */
int nsx_flush_stdout(struct nsx_err *err);
/* Flushes a command's output. Returns code, or the code of a failed write. */
int nsx_cmd_printed(int code);

/* The number of threads: `asked`, or one per processor if 0. */
unsigned nsx_threads(int64_t asked);

/* Prints a line of text that may contain names from the trace. Control characters are replaced,
 * because a terminal would obey them.
 */
void nsx_print_line(const char *s);
/* Prints on stderr, even if quiet, the reason for exit code 1. */
void nsx_say_failed_gate(const char *why);
/* Prints on stderr the reason for exit code 4 (nsx_report_damage). Returns 4; 0 if why is NULL. */
int nsx_cmd_partial(const char *why);

/* Default folder of baselines. */
#define NSX_STORE "nsys-explain-baselines"
/* The options that describe the traced engine: of explain, ask and mcp. */
#define NSX_OPTS_ENGINE(T)                                                    \
	NSX_OPT(T, 0, "kernel-classes", NULL, "FILE", STR, engine.classes_path, \
	    "JSON object that maps classes of kernels, such as attention or one of " \
	    "your own, to names of kernels: the layers of steps"),            \
	NSX_OPT(T, 0, "model", NULL, "FILE", STR, engine.model_path,          \
	    "JSON object with the parameters and dtype of the language model that " \
	    "runs, or its config.json: what share of the GPU's peak its steps reach"), \
	NSX_OPT_STEPS_FROM(T, engine.steps_path)

/* The option for steps alone, for commands that show no layers. */
#define NSX_OPT_STEPS_FROM(T, field)                                          \
	NSX_OPT(T, 0, "steps-from", NULL, "FILE", STR, field,                 \
	    "JSON object that maps kinds of steps (decode, prefill, mixed, idle, " \
	    "training, counted) to names of NVTX ranges. In a name, %d stands "  \
	    "for a number of decodes, %p of prompts, %r of requests, %t of "    \
	    "tokens, %n for any number, and * for any end")
#define NSX_OPT_STORE(T)                                                      \
	NSX_OPT(T, 0, "store", NULL, "DIR", STR, store,                       \
		"where baselines are (" NSX_STORE ")")

#define NSX_OPT_LEDGER(T)                                                     \
	NSX_OPT(T, 0, "ledger", NULL, "FILE", STR, ledger,                    \
		"append a line for each finding: key, promised and won in percent, "  \
		"kept; 'ledger' sums them up")

/* Prints the block of --print-schema: the tables in use, then all tables. */
void nsx_print_tables(const struct nsx_schema *s);
/* Prints what an analysis means, and the SQL that reproduces it on this file. */
int nsx_print_definition(const struct nsx_pass *pass,
			 const struct nsx_schema *s, struct nsx_err *err);
