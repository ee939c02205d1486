/* loaded.h - traces kept in memory between questions.
 *
 * A trace is identified by its file: device, inode, size and time of change. If the file
 * changes, it is read anew. When all take more memory than allowed, those not asked for longest
 * are dropped; the one asked for stays.
 */
#pragma once

#include <sys/stat.h>
#include "agent/ask.h"
#include "passes/pass.h"

enum { NSX_TRACE_ID = 17 }; /* characters of an id, with its NUL             */

struct nsx_loaded {
	char *path; /* real path                                             */
	char *window; /* the part that was read, as typed; NULL: all         */
	char id[NSX_TRACE_ID]; /* hash of the content                        */
	struct nsx_report *report;
	struct nsx_subject subject; /* the report, and data that several answers share */
	struct stat file;
	size_t bytes;
	uint64_t asked; /* count of requests at its last use                 */
};
struct nsx_cache {
	struct nsx_loaded **v;
	size_t n, cap, most_bytes;
	uint64_t count;
	unsigned threads;
	struct nsx_opts like; /* options with which each trace is read       */
};

/* Returns the trace at a path, or a part of it, and loads it if necessary. window: as typed; NULL:
 * all. *ret is borrowed until the next call. Errors: those of nsx_report_open.
 */
int nsx_cache_get(struct nsx_cache *c, const char *path, const char *window,
		  struct nsx_progress *progress, struct nsx_loaded **ret,
		  struct nsx_err *err) NSX_CHECKED;
/* The whole loaded trace at a real path; NULL: not loaded, or its file has changed. */
struct nsx_loaded *nsx_cache_at(const struct nsx_cache *c, const char *path);
/* The whole loaded trace with an id; NULL: not loaded. */
struct nsx_loaded *nsx_cache_find(const struct nsx_cache *c, const char *id);
void nsx_cache_done(struct nsx_cache *c);
