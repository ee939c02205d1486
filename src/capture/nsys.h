/* nsys.h - which nsys there is, and what it understands.
 *
 * Option names and values differ between versions, so nothing is assumed from
 * a version number: the program's own help is asked.
 */
#ifndef NSX_CAPTURE_NSYS_H
#define NSX_CAPTURE_NSYS_H

#include "base/str.h"

struct nsx_nsys {
	const char *path;    /* as found                                    */
	const char *version; /* "2023.4.4.54-234433681190v0", "" unknown    */
	const char *help, *profile_help, *export_help; /* nsx_nsys_ask      */
};

/* Every nsys found: `given` alone if it is not NULL (a file, or the folder
 * that holds it), else that of NSYS_PATH, else those of PATH and of the usual
 * folders. Order: newest first, then as found. Owner: the arena.
 */
struct nsx_nsys *nsx_nsys_list(struct nsx_arena *a, const char *given,
			       size_t *ret_n);

/* Fills the help texts. Errors: NSX_E_IO when it does not run. */
int nsx_nsys_ask(struct nsx_nsys *n, struct nsx_arena *a, struct nsx_err *err);

/* Whether a help text lists the option, and (value not NULL) the value in that
 * option's paragraph. The name is without dashes.
 */
bool nsx_nsys_knows(const char *help, const char *option, const char *value);

/* Why GPU counters cannot be had, in nsys's words; NULL: they can, as far as
 * it tells. The option is --gpu-metrics-device or -devices. Owner: the arena.
 */
const char *nsx_nsys_no_counters(const struct nsx_nsys *n, const char *option,
				 struct nsx_arena *a);

/* The set of counters that this nsys has for the GPUs of this machine; NULL: they
 * are of several kinds, or not known, and nsys chooses. Owner: nobody.
 */
const char *nsx_nsys_metric_set(const struct nsx_nsys *n, struct nsx_arena *a);

/* The programs that compute on a GPU, as nsx_proc_gpu_users, by what the driver's
 * nvidia-smi says; 0 where there is none.
 */
unsigned nsx_nsys_gpu_users(struct nsx_arena *a, struct nsx_buf *names);

/* Compares dotted versions by their numbers, like strcmp. */
int nsx_version_cmp(const char *a, const char *b);

/* The command that imports raw data, argv with `raw` in it, or NULL: that of
 * this very version, as another one may not read it.  The report comes to
 * stand beside raw, under the same name. Owner: the arena.
 */
const char *const *nsx_nsys_importer(const struct nsx_nsys *n,
				     struct nsx_arena *a, const char *raw);

/* An argument list that grows; argv is NULL-terminated after the first. */
struct nsx_args {
	const char **argv;
	size_t n, cap;
};
void nsx_args_add(struct nsx_args *args, const char *arg);
void nsx_args_done(struct nsx_args *args); /* for NSX_AT_EXIT */

/* Appends the words of text, quoted as for a shell but with nothing expanded.
 * Errors: NSX_E_USAGE for a quote that is not closed.
 */
int nsx_args_split(struct nsx_args *args, const char *text, struct nsx_arena *a,
		   struct nsx_err *err) NSX_CHECKED;

/* Whether the option is among the words; letter 0: it has none. */
bool nsx_args_have(const struct nsx_args *args, const char *name, char letter);

/* What a capture asks for; turned into what this nsys has words for. */
struct nsx_want {
	const char *preset; /* checked; NULL: basic                        */
	const struct nsx_args *extra; /* the user's own options             */
	const char *gpu_id; /* as given, NULL: all                          */
	const char *output; /* path of the report without its suffix        */
	const char *const *command;
};

/* Errors: NSX_E_USAGE for an unknown preset or an extra option that is ours
 * alone.
 */
int nsx_want_check(const char *preset, const struct nsx_args *extra,
		   struct nsx_err *err) NSX_CHECKED;

/* Appends "nsys profile OPTIONS COMMAND" to args; what had to be left out is
 * said in warnings, a line each. An option of the user's replaces ours.
 * Strings belong to the arena or the caller.
 */
void nsx_nsys_options(const struct nsx_nsys *n, const struct nsx_want *want,
		      struct nsx_arena *a, struct nsx_args *args,
		      struct nsx_buf *warnings);

#endif
