/* ours.h - decides which files are ours in a folder that we write to.
 *
 * Our files are those that the last run listed in its record (report.json or the like, which lists
 * the others) and that are unchanged since. All others are the user's. A record without a list is
 * from version 0.1.0: then the names that this version writes are ours. The inputs of this run are
 * the user's in any case. A killed run leaves its folder NSX_STAGE, whose record counts, too.
 */
#pragma once

#include <sys/stat.h>
#include "emit/folder.h"

/* Prefix of the folder in which a run prepares its files, or of the one it has replaced. */
#define NSX_STAGE ".nsys-explain-"

struct nsx_ours;

/* Begins with an empty list of our files. Owner: the caller. */
struct nsx_ours *nsx_ours_new(const struct nsx_folder *f); /* ends the program if memory runs out */
void nsx_ours_free(struct nsx_ours *o); /* NULL is fine */
/* Reads the records of f->dir and of killed runs in it. */
void nsx_ours_read(struct nsx_ours *o);

/* The contents of a folder. */
struct nsx_survey {
	/* The number of our files, and of other files, which include links and folders. */
	size_t ours, others;
	char collision[512]; /* a user's file that has the name of a file of f; or "" */
};
/* Surveys the folder at dir. Errors: IO. */
int nsx_ours_survey(const struct nsx_ours *o, const char *dir,
		    struct nsx_survey *ret, struct nsx_err *err) NSX_CHECKED;

/* Removes our files in the folder at dir that are not among the files of f. Errors: IO,
 * naming the first that could not be removed.
 */
int nsx_ours_drop_stale(const struct nsx_ours *o, const char *dir, struct nsx_err *err) NSX_CHECKED;

/* Removes what killed runs left in the folder at dir, except files of the user and of
 * running processes. known: our files by the records read before this run; NULL: by the
 * leftovers' own records.
 */
void nsx_ours_tidy(const struct nsx_folder *f, const char *dir, const struct nsx_ours *known);

/* Whether a file is one of these inputs, under any name. */
bool nsx_is_input(const char *const *inputs, size_t n, const struct stat *st);

/* Writes the seal that ends a record, the sum of the n bytes before it; it shows whether
 * somebody has edited the record. Returns its length.
 */
enum { NSX_SEAL_SIZE = 40 };
size_t nsx_seal(const char *text, size_t n, char *ret, size_t size);

/* Computes size and CRC-32 (as gzip) of the rest of an open file. Returns -1 on failure, with
 * errno.
 */
int nsx_checksum(int fd, int64_t *ret_size, uint32_t *ret_crc32);

/* Calls fn(fd of the folder, name, ctx) for each entry until it returns non-zero. Returns
 * that, or -1 (errno). Does not allocate: see nsx_at_death.
 */
int nsx_each_entry(int at, const char *path,
		   int (*fn)(int dir, const char *name, void *ctx), void *ctx);
/* Removes an entry and its contents. Returns 0, or -1 (errno). Does not allocate. */
int nsx_remove_entry(int dir, const char *name, void *unused);
