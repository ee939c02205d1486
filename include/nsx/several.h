/* nsx/several.h - compares captures, and finds late ranks of a job.
 *
 * Inputs are paths as for the commands `diff` and `fleet`: reports, exports, digests, and
 * for ranks also folders of these. Tables have the columns of the commands' tables/. Tables
 * and text live as long as the handle.
 */
#ifndef NSX_PUBLIC_SEVERAL_H
#define NSX_PUBLIC_SEVERAL_H

#include <nsx/report.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nsx_several;

/* Compares captures before and after a change, each a NULL-terminated list of paths. unit:
 * "auto", "nvtx:REGEX", "kernel:REGEX", "launch" or "window"; NULL: auto. threads: most
 * threads to use; 0: 1. Free: nsx_several_free. Errors: those of opening and loading; USAGE
 * if nothing can be compared.
 */
NSX_API int nsx_several_diff(const char *const *before, const char *const *after,
			     const char *unit, unsigned threads,
			     struct nsx_several **ret, struct nsx_problem *problem);

/* Explains the ranks of one job, a NULL-terminated list of paths. Unreadable inputs are
 * left out and counted in the JSON. Free: nsx_several_free. Errors: DAMAGED if nothing can
 * be read; MEMORY, STOPPED, USAGE.
 */
NSX_API int nsx_several_fleet(const char *const *inputs, unsigned threads,
			      struct nsx_several **ret, struct nsx_problem *problem);
NSX_API void nsx_several_free(struct nsx_several *s); /* NULL is fine */

/* The result as text: the verdict (for ranks the first page), JSON or Markdown. Errors:
 * USAGE for other documents; MEMORY.
 */
NSX_API int nsx_several_document(struct nsx_several *s, enum nsx_document which,
				 const char **ret, struct nsx_problem *problem);

/* Table i, from 0; NULL at the end. */
NSX_API const struct nsx_rows *nsx_several_table(const struct nsx_several *s, size_t i);

#ifdef __cplusplus
}
#endif

#endif
