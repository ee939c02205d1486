/* roots.h - which files an agent may name: regular ones under certain folders,
 * wherever links lead.
 */
#ifndef NSX_ROOTS_H
#define NSX_ROOTS_H

#include <limits.h>
#include "base/arena.h"

struct nsx_roots {
	char (*v)[PATH_MAX]; /* real                                         */
	size_t n;
};
/* n 0: the working folder.  From then on nothing else can be read (base/open.h).
 * Errors: NSX_E_IO, NSX_E_USAGE (no folder).
 */
int nsx_roots_init(struct nsx_roots *r, const char *const *dirs, size_t n,
		   struct nsx_err *err) NSX_CHECKED;
void nsx_roots_done(struct nsx_roots *r);

enum nsx_where { NSX_PLACE_INSIDE, NSX_PLACE_OUTSIDE, NSX_PLACE_NONE };
/* The real path; one that is relative is looked for under each root in turn. */
enum nsx_where nsx_roots_find(const struct nsx_roots *r, const char *path,
			      char ret[PATH_MAX]);
/* Up to `most` traces under the roots, as they can be named. Owner: arena a. */
const char **nsx_roots_traces(const struct nsx_roots *r, size_t most,
			      struct nsx_arena *a, size_t *ret_n);

#endif
