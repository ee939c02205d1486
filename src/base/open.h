/* open.h - opens files named by others. A server that is confined to folders reads nothing
 * outside them, even when names and links change meanwhile.
 */
#ifndef NSX_OPEN_H
#define NSX_OPEN_H

#include <dirent.h>
#include <stdio.h>
#include "base/err.h"

/* Opens path for reading without ever waiting. Returns a descriptor, or -1 and errno. */
int nsx_open(const char *path);
FILE *nsx_open_stream(const char *path); /* NULL: errno */
DIR *nsx_open_folder(const char *path);	 /* NULL: errno */

/* Reads a whole file named by the user; `what` describes it ("the model"). Errors:
 * NSX_E_USAGE if it is unreadable or larger than `most` bytes. Owner: the caller, free().
 */
int nsx_read_named(const char *path, const char *what, size_t most, char **ret,
		   size_t *ret_n, struct nsx_err *err) NSX_CHECKED;

/* From now on nsx_open opens only files inside this folder, a real path, or others given
 * before. No other thread may open files meanwhile.
 */
int nsx_confine(const char *folder, struct nsx_err *err) NSX_CHECKED;
/* Whether a real path lies in one of these folders. */
bool nsx_is_confined(const char *real);

#endif
