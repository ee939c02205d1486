/* open.h - opens input files. A server can be confined to folders: it then reads nothing outside
 * of them, even if names and links change while it opens a file.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include "base/err.h"

/* Opens path for reading; never waits, not even for a pipe. Returns a descriptor; -1: errno. */
int nsx_open(const char *path);
FILE *nsx_open_stream(const char *path); /* NULL: errno */
DIR *nsx_open_folder(const char *path);	 /* NULL: errno */
/* Reads the beginning of a file as a string of size - 1 bytes or fewer. Returns their number. */
size_t nsx_read_head(const char *path, char *head, size_t size);

/* Reads a whole file named by the user; `what` describes it ("the model"). Errors:
 * NSX_E_USAGE if it is unreadable or larger than `most` bytes. Owner: the caller, free().
 */
int nsx_read_named(const char *path, const char *what, size_t most, char **ret,
		   size_t *ret_n, struct nsx_err *err) NSX_CHECKED;

/* Confines nsx_open to this folder and those of earlier calls. The folder is a path without links.
 * No other thread may open files during the call.
 */
int nsx_confine(const char *folder, struct nsx_err *err) NSX_CHECKED;
/* Whether a real path lies in one of these folders. */
bool nsx_is_confined(const char *real);
