/* ours.h - whose files are whose in a folder we write to.
 *
 * Ours is what the last run listed in its record (the file of the folder that
 * lists the others: report.json) and what is unchanged since; all else is the
 * user's.  A record without a list is one of version 0.1.0: then the names that
 * this version writes are ours.  The inputs of this run are the user's, whatever
 * a list says.  A run that was killed leaves its folder NSX_STAGE, whose record
 * counts too.
 */
#ifndef NSX_EMIT_OURS_H
#define NSX_EMIT_OURS_H

#include <sys/stat.h>
#include "emit/folder.h"

/* A folder in which a run prepares its files, or the one it has replaced. */
#define NSX_STAGE ".nsys-explain-"

struct nsx_ours;

/* Nothing is ours yet. Owner: the caller. */
struct nsx_ours *nsx_ours_new(const struct nsx_folder *f); /* or dies */
void nsx_ours_free(struct nsx_ours *o); /* NULL is fine */
/* Reads the records of f->dir and of what killed runs left there. */
void nsx_ours_read(struct nsx_ours *o);

/* What is in the folder at dir. */
struct nsx_survey {
	size_t ours, others; /* files; of others also links, folders, ...    */
	char collision[512]; /* the user's, where a file of f goes; or ""    */
};
/* Errors: IO. */
int nsx_ours_survey(const struct nsx_ours *o, const char *dir,
		    struct nsx_survey *ret, struct nsx_err *err) NSX_CHECKED;

/* Removes what is ours in the folder at dir and not among the files of f.
 * Errors: IO, naming the first that would not go.
 */
int nsx_ours_drop_stale(const struct nsx_ours *o, const char *dir,
			struct nsx_err *err) NSX_CHECKED;

/* Removes what killed runs left in the folder at dir, but nothing of the user's
 * and nothing of a run that still works.  What they replaced stands in the
 * records that were read before this run: known; NULL: in their own.
 */
void nsx_ours_tidy(const struct nsx_folder *f, const char *dir,
		   const struct nsx_ours *known);

/* Whether a file is one of these, by whatever name. */
bool nsx_is_input(const char *const *inputs, size_t n, const struct stat *st);

/* What ends a record, so that it is known if somebody edits it: the sum of the n
 * bytes before it. Returns its length.
 */
enum { NSX_SEAL_SIZE = 40 };
size_t nsx_seal(const char *text, size_t n, char *ret, size_t size);

/* Size and sum (gzip's CRC-32) of an open file, from where it is on. -1: errno. */
int nsx_sum(int fd, int64_t *ret_size, uint32_t *ret_crc32);

/* Calls fn(fd of the folder, name, ctx) for each entry, until one returns not 0.
 * Returns that, or -1 (errno). Needs no memory: see nsx_at_death.
 */
int nsx_each_entry(int at, const char *path,
		   int (*fn)(int dir, const char *name, void *ctx), void *ctx);
/* Removes an entry and all in it that is still there. 0, or -1 (errno). Needs no
 * memory.
 */
int nsx_remove_entry(int dir, const char *name, void *unused);

#endif
