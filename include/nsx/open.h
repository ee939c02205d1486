/* nsx/open.h - opens a file as an export. */
#ifndef NSX_PUBLIC_OPEN_H
#define NSX_PUBLIC_OPEN_H

#include <nsx/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nsx_export;

/* Opens a report (`.nsys-rep`, `.qdrep`) or its SQLite export, read-only: the file is never changed
 * and no files are created beside it. Free: nsx_export_close. Errors: IO, DATABASE, NO_EXPORT,
 * DAMAGED, MEMORY, STOPPED.
 */
NSX_API int nsx_export_open(const char *path, struct nsx_export **ret, struct nsx_problem *problem);

/* Closes it. Free all results loaded from it first. NULL is fine. */
NSX_API void nsx_export_close(struct nsx_export *e);

#ifdef __cplusplus
}
#endif

#endif
