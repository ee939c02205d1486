/* folder.h - a folder of files that is there whole or as it was before.
 *
 * A list of (name, writer) becomes the files of a folder.  Nothing of the
 * user's is written, moved or removed; ours.h says whose files are whose.  A
 * new folder appears whole.  One that holds only ours is replaced whole: its
 * reader sees the old files or the new ones.  Into any other the files go one
 * by one, the record last; what fails on the way is taken back, and what a
 * killed run leaves the next one tidies.
 */
#ifndef NSX_EMIT_FOLDER_H
#define NSX_EMIT_FOLDER_H

#include <stdio.h>
#include "base/err.h"

struct nsx_out_file {
	char name[128]; /* in the folder; may have one folder in front */
	int (*write)(const struct nsx_out_file *f, FILE *out,
		     struct nsx_err *err);
	const void *subject, *detail; /* the writer's */
	int64_t size_bytes; /* once it is written */
	uint32_t crc32;	    /* gzip's, of all of it */
};

/* What the writer writes, in memory. Owner: the caller, free(), also after a
 * failure.
 */
int nsx_out_string(const struct nsx_out_file *f, char **ret, size_t *ret_n,
		   struct nsx_err *err) NSX_CHECKED;

struct nsx_folder {
	const char *dir;
	/* The last is the record, a JSON object: when the others are there it is
	 * written, and has them under "files".  The one that takes longest had
	 * best come first.
	 */
	struct nsx_out_file *files;
	size_t nfiles;
	const char *const *inputs; /* what this run reads */
	size_t ninputs;
	unsigned threads;
};

/* Writes the files; makes the folder and its parents where they are not there.
 * Errors: IO, also for a name that is the user's; then nothing has changed.
 */
int nsx_folder_write(const struct nsx_folder *f, struct nsx_err *err)
	NSX_CHECKED;

/* Renames a to b, which is not there: -1 with EEXIST if it is. */
int nsx_file_appear(const char *a, const char *b);

/* Makes a folder and its parents. *ret_had: how much of the path was there
 * before.  Errors: IO.
 */
int nsx_make_dirs(const char *path, size_t *ret_had,
		  struct nsx_err *err) NSX_CHECKED;
/* Takes away what it made, as far as that is empty. */
void nsx_unmake_dirs(const char *path, size_t had);

#endif
