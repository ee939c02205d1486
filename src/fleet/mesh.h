/* mesh.h - how the ranks of a job lie on the axes of its parallelism, as the user
 * says.
 */
#ifndef NSX_FLEET_MESH_H
#define NSX_FLEET_MESH_H

#include "base/arena.h"
#include "base/err.h"

enum { NSX_MOST_AXES = 8 };
struct nsx_axis {
	const char *name;
	int64_t size, stride; /* ranks on it, and from one to the next       */
};
struct nsx_mesh { /* the axis on which neighbours lie first; n 0: not known  */
	struct nsx_axis axis[NSX_MOST_AXES];
	unsigned n;
};

/* Reads a file of lines "NAME SIZE", the fastest axis first; what follows a # is
 * a comment.  Owner of the names: the arena.  Errors: NSX_E_IO, NSX_E_USAGE.
 */
int nsx_mesh_read(const char *path, struct nsx_arena *a, struct nsx_mesh *ret,
		  struct nsx_err *err) NSX_CHECKED;

/* Ranks of the whole mesh; 1 where there is none. */
int64_t nsx_mesh_ranks(const struct nsx_mesh *m);

static inline int64_t nsx_mesh_at(const struct nsx_axis *x, int64_t rank)
{
	return rank / x->stride % x->size;
}

/* "tp 1, dp 3" of a rank. Owner: the arena. */
const char *nsx_mesh_place(const struct nsx_mesh *m, int64_t rank,
			   struct nsx_arena *a);

/* Whether the groups of ranks with this stride and size lie along one axis, or
 * several that follow each other, whole.
 */
bool nsx_mesh_has(const struct nsx_mesh *m, int64_t stride, int64_t size);

#endif
