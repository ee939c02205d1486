/* open.h - where files that may be anybody's are opened, so that a server reads none
 * but those of its folders, whatever names and links become meanwhile.
 */
#ifndef NSX_OPEN_H
#define NSX_OPEN_H

#include <stdio.h>
#include "base/err.h"

/* A descriptor of path for reading, -1 for a failure (errno). Never waits. */
int nsx_open(const char *path);
FILE *nsx_open_stream(const char *path); /* NULL: errno */

/* From now on nsx_open opens only what really lies in such a folder: a real path, of
 * which several can be given.  Not while other threads open files.
 */
int nsx_confine(const char *folder, struct nsx_err *err) NSX_CHECKED;
/* Whether a real path lies in one. */
bool nsx_is_confined(const char *real);

#endif
