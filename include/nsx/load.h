/* nsx/load.h - reads and analyses an export. */
#ifndef NSX_PUBLIC_LOAD_H
#define NSX_PUBLIC_LOAD_H

#include <stddef.h>
#include <nsx/open.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nsx_result;

/* All zero gives the defaults. */
struct nsx_load_options {
	size_t size; /* sizeof this struct when the caller was compiled; 0: that of this
			version */
	unsigned threads;   /* most threads to use; 0: 1 */
	const char *window; /* analyse only a part: "2..5" in seconds from the first
			       event, "5ns..9ns" on the trace's clock; NULL: all. Rows of
			       a large trace far from it are skipped, which changes no
			       figure                                       */
	const char *only;   /* comma-separated ids of analyses; NULL: all */
	const char *const *what_if; /* changes to price, in the syntax of --what-if,
				       NULL-terminated; NULL: none. The result is table
				       `asked` of section `what_if`         */
	/* Files that describe the traced engine, as for the options --model, --steps-from and
	 * --kernel-classes; NULL: none.
	 */
	const char *model, *steps_from, *kernel_classes;
};

/* Reads each table once and runs the analyses. options may be NULL. The export must stay
 * open as long as the result exists. Free: nsx_result_free. Errors: IO, DATABASE, DAMAGED,
 * MEMORY, STOPPED, USAGE. A table damaged in its middle keeps its first rows; that is a
 * warning (nsx_result_warning), no error.
 */
NSX_API int nsx_load(struct nsx_export *e, const struct nsx_load_options *options,
		     struct nsx_result **ret, struct nsx_problem *problem);
NSX_API void nsx_result_free(struct nsx_result *r); /* NULL is fine */

/* Asks everything running in this process to end with STOPPED. Safe in signal handlers. */
NSX_API void nsx_stop(void);
/* Cancels nsx_stop for everything that begins from now on. */
NSX_API void nsx_resume(void);

#ifdef __cplusplus
}
#endif

#endif
