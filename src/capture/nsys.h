/* nsys.h - finds nsys, and the options that it supports.
 *
 * Option names and values differ between versions of nsys. Its help text decides which are used,
 * not its version number.
 */
#pragma once

#include "base/str.h"

struct nsx_nsys {
	const char *path;    /* path of the nsys program as it was found    */
	const char *version; /* "2023.4.4.54-234433681190v0"; "": unknown   */
	const char *help, *profile_help, *export_help; /* set by nsx_nsys_ask */
};

/* Lists installations of nsys: `given` (a file or its folder) if it is not NULL, otherwise that of
 * NSYS_PATH if it is set, otherwise those in PATH and in the usual folders. Order: newest first,
 * then as found. Owner: the arena.
 */
struct nsx_nsys *nsx_nsys_list(struct nsx_arena *a, const char *given, size_t *ret_n);

/* Reads the help texts. Errors: NSX_E_IO if nsys does not run. */
int nsx_nsys_ask(struct nsx_nsys *n, struct nsx_arena *a, struct nsx_err *err);

/* Whether a help text lists the option (without dashes) and, unless value is NULL, the value in
 * that option's paragraph.
 */
bool nsx_nsys_knows(const char *help, const char *option, const char *value);

/* Why GPU counters are not available, as nsys prints it; NULL: nsys reports no obstacle. option is
 * "gpu-metrics-device" or "gpu-metrics-devices", whichever this nsys has. Owner: the arena.
 */
const char *nsx_nsys_no_counters(const struct nsx_nsys *n, const char *option, struct nsx_arena *a);

/* The name of this nsys's counter set for the machine's GPUs; NULL: they differ or are unknown, so
 * nsys should choose. Owner: nobody.
 */
const char *nsx_nsys_metric_set(const struct nsx_nsys *n, struct nsx_arena *a);

/* Like nsx_proc_gpu_users, but asks the driver's nvidia-smi, which also sees programs of other
 * users. 0 if nvidia-smi is missing.
 */
unsigned nsx_nsys_gpu_users(struct nsx_arena *a, struct nsx_buf *names);

/* Compares dotted versions numerically, like strcmp. */
int nsx_version_cmp(const char *a, const char *b);

/* The command (argv) that imports the raw data `raw`; NULL: there is none. It uses the importer of
 * the same version, because others may not read the data. The report appears beside raw with the
 * same name. Owner: the arena.
 */
const char *const *nsx_nsys_importer(const struct nsx_nsys *n,
				     struct nsx_arena *a, const char *raw);

/* A growing argument list; argv is NULL-terminated after the first add. */
struct nsx_args {
	const char **argv;
	size_t n, cap;
};
void nsx_args_add(struct nsx_args *args, const char *arg);
void nsx_args_done(struct nsx_args *args); /* for NSX_AT_EXIT */

/* Appends the words of text, split by a shell's quoting rules, without expansion. Errors:
 * NSX_E_USAGE for an unclosed quote.
 */
int nsx_args_split(struct nsx_args *args, const char *text, struct nsx_arena *a,
		   struct nsx_err *err) NSX_CHECKED;

/* Whether the option is among the words; letter 0: no short form. */
bool nsx_args_have(const struct nsx_args *args, const char *name, char letter);

/* A request for a capture, independent of the nsys version. */
struct nsx_want {
	const char *preset; /* checked name; NULL: basic                   */
	const struct nsx_args *extra; /* the user's own options             */
	const char *gpu_id; /* GPUs as the user named them; NULL: all       */
	const char *output; /* report path without suffix                   */
	const char *const *command;
};

/* Checks a request. Errors: NSX_E_USAGE for an unknown preset, or for an extra option that we set
 * ourselves.
 */
int nsx_want_check(const char *preset, const struct nsx_args *extra,
		   struct nsx_err *err) NSX_CHECKED;

/* Appends "nsys profile OPTIONS COMMAND" to args. Adds a line to warnings for each option that this
 * nsys does not support. User options replace ours. Strings belong to the arena or the caller.
 */
void nsx_nsys_options(const struct nsx_nsys *n, const struct nsx_want *want,
		      struct nsx_arena *a, struct nsx_args *args, struct nsx_buf *warnings);
