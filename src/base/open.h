/* open.h - opens files named by others. A server that is confined to folders reads nothing
 * outside them, even when names and links change meanwhile.
 */
#ifndef NSX_OPEN_H
#define NSX_OPEN_H

#include <stdio.h>
#include "base/err.h"

/* Opens path for reading without ever waiting. Returns a descriptor, or -1 and errno. */
int nsx_open(const char *path);
FILE *nsx_open_stream(const char *path); /* NULL: errno */

/* A file that the user names, whole; `what` it is ("the model").  Errors: NSX_E_USAGE, where
 * it cannot be read or has more than `most` bytes.  Owner: the caller, free().
 */
int nsx_read_named(const char *path, const char *what, size_t most, char **ret,
		   size_t *ret_n, struct nsx_err *err) NSX_CHECKED;

/* From now on nsx_open opens only what really lies in such a folder: a real path, of
 * which several can be given.  Not while other threads open files.
 */
int nsx_confine(const char *folder, struct nsx_err *err) NSX_CHECKED;
/* Whether a real path lies in one of these folders. */
bool nsx_is_confined(const char *real);

#endif
