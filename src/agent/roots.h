/* roots.h - the files that an agent may name: regular files under certain folders, after links
 * are resolved.
 */
#pragma once

#include <limits.h>
#include "base/arena.h"

struct nsx_roots {
	char (*v)[PATH_MAX]; /* real paths of the folders                    */
	size_t n;
};
/* Sets the folders; n 0: the working folder. From then on the process can read nothing else
 * (base/open.h). Errors: NSX_E_IO, NSX_E_USAGE (not a folder).
 */
int nsx_roots_init(struct nsx_roots *r, const char *const *dirs, size_t n,
		   struct nsx_err *err) NSX_CHECKED;
void nsx_roots_done(struct nsx_roots *r);

enum nsx_where { NSX_PLACE_INSIDE, NSX_PLACE_OUTSIDE, NSX_PLACE_NONE };
/* Finds the real path of a file. A relative path is tried under each root in turn. */
enum nsx_where nsx_roots_find(const struct nsx_roots *r, const char *path, char ret[PATH_MAX]);
/* Lists at most `most` traces under the roots, with paths that an agent can use. Owner: arena a. */
const char **nsx_roots_traces(const struct nsx_roots *r, size_t most,
			      struct nsx_arena *a, size_t *ret_n);
