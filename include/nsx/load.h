/* nsx/load.h - an export is read and analysed. */
#ifndef NSX_PUBLIC_LOAD_H
#define NSX_PUBLIC_LOAD_H

#include <stddef.h>
#include <nsx/open.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nsx_result;

/* All of it zero is the default. */
struct nsx_load_options {
	size_t size; /* of this struct, as the caller knows it: sizeof; 0 will
			do for the members of this version */
	unsigned threads;   /* at most these; 0: 1 */
	const char *window; /* only a part: "2..5" in seconds from the first
			       event, "5ns..9ns" on the trace's clock; NULL: all.
			       Of a large trace rows far from it are not read:
			       its figures are the same                     */
	const char *only;   /* ids of analyses, with commas; NULL: all */
	const char *const *what_if; /* changes to price, as --what-if takes
			       them, NULL-terminated; NULL: none. Their table is
			       `asked` of the section `what_if`             */
};

/* Reads each table once and runs the analyses. options may be NULL. The export
 * stays open as long as the result.  Free: nsx_result_free.
 * Errors: IO, DATABASE, DAMAGED, MEMORY, STOPPED, USAGE.  A table that is
 * damaged in its middle keeps its first rows; that is told by a warning
 * (nsx_result_warning), not by an error.
 */
NSX_API int nsx_load(struct nsx_export *e,
		     const struct nsx_load_options *options,
		     struct nsx_result **ret, struct nsx_problem *problem);
NSX_API void nsx_result_free(struct nsx_result *r); /* NULL is fine */

/* Asks all that runs in this process to end with STOPPED. Safe in a signal
 * handler.
 */
NSX_API void nsx_stop(void);
/* Takes that back: what begins from now on runs. */
NSX_API void nsx_resume(void);

#ifdef __cplusplus
}
#endif

#endif
