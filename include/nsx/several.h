/* nsx/several.h - what changed between captures, and which ranks of a job come late.
 *
 * Inputs are paths as the commands `diff` and `fleet` take them: reports, exports,
 * digests, and for ranks folders of these.  Tables have the columns of the commands'
 * tables/ and live as long as the handle, as does all text.
 */
#ifndef NSX_PUBLIC_SEVERAL_H
#define NSX_PUBLIC_SEVERAL_H

#include <nsx/report.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nsx_several;

/* Compares captures before and after a change: lists of paths, NULL-terminated.  unit:
 * "auto", "nvtx:REGEX", "kernel:REGEX", "launch" or "window"; NULL: auto.  threads: at
 * most these; 0: 1.  Free: nsx_several_free.
 * Errors: those of opening and loading; USAGE where nothing can be compared.
 */
NSX_API int nsx_several_diff(const char *const *before, const char *const *after,
			     const char *unit, unsigned threads,
			     struct nsx_several **ret, struct nsx_problem *problem);

/* Explains the ranks of one job: a list of paths, NULL-terminated.  What cannot be read
 * is left out and counted in the JSON.  Free: nsx_several_free.
 * Errors: DAMAGED where nothing can be read; MEMORY, STOPPED, USAGE.
 */
NSX_API int nsx_several_fleet(const char *const *inputs, unsigned threads,
			      struct nsx_several **ret, struct nsx_problem *problem);
NSX_API void nsx_several_free(struct nsx_several *s); /* NULL is fine */

/* As a text: the verdict (of ranks the first page), JSON or Markdown. Errors: USAGE,
 * another document; MEMORY.
 */
NSX_API int nsx_several_document(struct nsx_several *s, enum nsx_document which,
				 const char **ret, struct nsx_problem *problem);

/* Table i from 0; NULL: no more. */
NSX_API const struct nsx_rows *nsx_several_table(const struct nsx_several *s, size_t i);

#ifdef __cplusplus
}
#endif

#endif
