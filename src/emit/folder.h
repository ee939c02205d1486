/* folder.h - writes a folder of files completely, or leaves it as it was.
 *
 * A list of (name, writer) becomes the files of a folder. Files of the user are never
 * written, moved or removed; ours.h decides which are ours. A new folder appears complete.
 * A folder that holds only our files is replaced in one step. In any other folder the files
 * are put in place one by one, the record last. A failure undoes all changes, and the next
 * run removes what a killed run left.
 */
#pragma once

#include <stdio.h>
#include "base/err.h"
#include "base/str.h"

struct nsx_out_file {
	char name[128]; /* path in the folder; may include one subfolder */
	int (*write)(const struct nsx_out_file *f, FILE *out, struct nsx_err *err);
	const void *subject, *detail; /* data for the writer of the file */
	int64_t size_bytes; /* set when it was written */
	uint32_t crc32;	    /* checksum of the whole file, as in gzip */
};

/* Appends what the writer writes. */
int nsx_out_string(const struct nsx_out_file *f, struct nsx_buf *ret,
		   struct nsx_err *err) NSX_CHECKED;

struct nsx_folder {
	const char *dir;
	/* The last file is the record, a JSON object. It is written after the others and
	 * lists them under "files". The file that takes longest should come first.
	 */
	struct nsx_out_file *files;
	size_t nfiles;
	const char *const *inputs; /* the files this run reads */
	size_t ninputs;
	unsigned threads;
};

/* Writes the files; creates the folder and its parents if needed. Errors: IO, also if a
 * name belongs to a file of the user; then nothing has changed.
 */
int nsx_folder_write(const struct nsx_folder *f, struct nsx_err *err) NSX_CHECKED;

/* Renames a to b; -1 with EEXIST if b exists. */
int nsx_file_appear(const char *a, const char *b);

/* Creates a folder and its parents. *ret_had: the length of the path that existed before.
 * Errors: IO.
 */
int nsx_make_dirs(const char *path, size_t *ret_had, struct nsx_err *err) NSX_CHECKED;
/* Removes the folders that nsx_make_dirs created, if they are empty. */
void nsx_unmake_dirs(const char *path, size_t had);
