/* target.h - writes one file, named by the user, completely or not at all.
 *
 * An existing file is replaced only if it is ours or empty. Any other file is the user's,
 * and so is every input of this run. Special files (a pipe, /dev/null) are written
 * directly. What a killed run left beside it is removed by the next run that finishes.
 */
#pragma once

#include "emit/folder.h"

struct nsx_target {
	const char *path;
	const char *const *inputs; /* the files this run reads               */
	size_t ninputs;
	/* Judges a file by its content; NULL: it was already checked, or any file may be replaced.
	 */
	bool (*is_ours)(const char *path);
	/* The advice if the existing file is not ours; NULL: "move it away or give another name".
	 */
	const char *way_out;
	int fd;		  /* open for writing                                */
	char *place;	  /* final path; NULL: fd is already there           */
	char *unfinished; /* temporary path; NULL: none                      */
	/* A copy of fd that holds a lock until the end, so that other runs do not treat the file
	 * as a leftover.
	 */
	int lock;
};

/* Checks whether the target may be written; best called before any work. Errors: IO. */
int nsx_target_check(const struct nsx_target *t, struct nsx_err *err) NSX_CHECKED;
/* Checks again, and opens fd. Errors: IO. */
int nsx_target_open(struct nsx_target *t, struct nsx_err *err) NSX_CHECKED;
/* Closes fd, unless it is -1, and moves the file to its final path. Errors: IO. */
int nsx_target_commit(struct nsx_target *t, struct nsx_err *err) NSX_CHECKED;
/* Frees t and removes a file that was not committed. t may be zeroed, with fd -1. */
void nsx_target_done(struct nsx_target *t);

/* Opens, writes and commits n bytes, or the output of f's writer. Errors: IO; those of the
 * writer.
 */
int nsx_target_write(struct nsx_target *t, const void *bytes, size_t n,
		     struct nsx_err *err) NSX_CHECKED;
int nsx_target_fill(struct nsx_target *t, const struct nsx_out_file *f,
		    struct nsx_err *err) NSX_CHECKED;
