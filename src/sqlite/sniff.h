/* sniff.h - finds out what kind of file the input is before SQLite opens it. */
#pragma once

#include <sys/stat.h>
#include "base/err.h"

struct nsx_sniff {
	int fd; /* open for reading; owner: the caller */
	struct stat file;
	char warning[256]; /* "" if the file is fine */
};

/* Opens a file and finds out what it is. Errors: NSX_E_IO (missing, folder, no permission) or
 * NSX_E_SCHEMA (not a SQLite file; the message says what it looks like and what to do).
 */
int nsx_sniff_file(const char *path, struct nsx_sniff *ret, struct nsx_err *err);

/* Fails with NSX_E_SCHEMA if the file is empty or of a kind that is known not to be a report, and says
 * which; 0 otherwise, also if it is unreadable.
 */
int nsx_sniff_other(const char *path, struct nsx_err *err);

/* Whether the file path + suffix exists and is not empty. */
bool nsx_file_beside(const char *path, const char *suffix);
