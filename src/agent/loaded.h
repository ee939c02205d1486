/* loaded.h - traces kept in memory between questions.
 *
 * A trace is identified by its file: device, inode, size and time of change. If the file
 * changes, it is read anew. When all take more memory than allowed, those not asked for longest
 * are dropped; the one asked for stays.
 */
#ifndef NSX_LOADED_H
#define NSX_LOADED_H

#include <sys/stat.h>
#include "agent/ask.h"
#include "passes/pass.h"

enum { NSX_TRACE_ID = 17 }; /* characters of an id, and NUL                  */

struct nsx_loaded {
	char *path; /* real path                                             */
	char id[NSX_TRACE_ID]; /* hash of the content                        */
	struct nsx_report *report;
	struct nsx_subject subject; /* parts of the report                   */
	struct stat file;
	size_t bytes;
	uint64_t asked; /* when it was last asked for, as a count            */
};
struct nsx_cache {
	struct nsx_loaded **v;
	size_t n, cap, most_bytes;
	uint64_t count;
	unsigned threads;
	struct nsx_opts like; /* options that each is read with              */
};

/* Returns the trace, loaded if it is not. *ret is borrowed until the next call. Errors: those
 * of nsx_report_open.
 */
int nsx_cache_get(struct nsx_cache *c, const char *path,
		  struct nsx_progress *progress, struct nsx_loaded **ret,
		  struct nsx_err *err) NSX_CHECKED;
/* The loaded trace at a real path; NULL: not loaded, or its file has changed. */
struct nsx_loaded *nsx_cache_at(const struct nsx_cache *c, const char *path);
/* The loaded trace with an id; NULL: not loaded. */
struct nsx_loaded *nsx_cache_find(const struct nsx_cache *c, const char *id);
void nsx_cache_done(struct nsx_cache *c);

#endif
