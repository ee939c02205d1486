/* loaded.h - traces that stay in memory between questions.
 *
 * A trace is its file: device, inode, size and time of change.  One that changed
 * is read anew.  The oldest go when all take more memory than allowed; the one
 * asked for always stays.
 */
#ifndef NSX_LOADED_H
#define NSX_LOADED_H

#include <sys/stat.h>
#include "agent/ask.h"
#include "passes/pass.h"

enum { NSX_TRACE_ID = 17 }; /* characters of an id and NUL                   */

struct nsx_loaded {
	char *path; /* real                                                  */
	char id[NSX_TRACE_ID]; /* a hash of the content                      */
	struct nsx_report *report;
	struct nsx_subject subject; /* of the report                         */
	struct stat file;
	size_t bytes;
	uint64_t asked; /* when, as a count                                  */
};
struct nsx_cache {
	struct nsx_loaded **v;
	size_t n, cap, most_bytes;
	uint64_t count;
	unsigned threads;
	struct nsx_opts like; /* what each is read with                      */
};

/* Borrowed until the next call. Errors: those of nsx_report_open. */
int nsx_cache_get(struct nsx_cache *c, const char *path,
		  struct nsx_progress *progress, struct nsx_loaded **ret,
		  struct nsx_err *err) NSX_CHECKED;
/* The one of a real path, if it is loaded and has not changed; NULL: it is not.
 */
struct nsx_loaded *nsx_cache_at(const struct nsx_cache *c, const char *path);
/* One that is loaded, by its id; NULL: it is not. */
struct nsx_loaded *nsx_cache_find(const struct nsx_cache *c, const char *id);
void nsx_cache_done(struct nsx_cache *c);

#endif
