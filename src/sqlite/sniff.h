/* sniff.h - finds out what kind of file it is before SQLite opens it. */
#ifndef NSX_SNIFF_H
#define NSX_SNIFF_H

#include <sys/stat.h>
#include "base/err.h"

struct nsx_sniff {
	int fd; /* open for reading; owner: the caller */
	struct stat file;
	char warning[256]; /* "" if the file is fine */
};

/* Errors: NSX_E_IO (missing, folder, no permission) or NSX_E_SCHEMA (not a
 * SQLite file; the message says what it looks like and what to do).
 */
int nsx_sniff_file(const char *path, struct nsx_sniff *ret,
		   struct nsx_err *err);

/* NSX_E_SCHEMA where the file begins as another format that is known, whatever its name
 * says; 0 too where it cannot be read.
 */
int nsx_sniff_other(const char *path, struct nsx_err *err);

/* Whether a file with the name path + suffix is there and not empty. */
bool nsx_file_beside(const char *path, const char *suffix);

#endif
