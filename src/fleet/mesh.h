/* mesh.h - the axes of a job's parallelism, and each rank's place on them, as the user gives them.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

enum { NSX_MOST_AXES = 8 };
struct nsx_axis {
	const char *name;
	int64_t size, stride; /* ranks along the axis; distance between neighbours */
};
struct nsx_mesh { /* fastest axis first; n 0: not known */
	struct nsx_axis axis[NSX_MOST_AXES];
	unsigned n;
	bool is_found; /* found from what ranks send to each other, not given by the user */
};

/* Reads a file of lines "NAME SIZE", fastest axis first; # begins a comment. Owner of the
 * names: the arena. Errors: NSX_E_IO, NSX_E_USAGE.
 */
int nsx_mesh_read(const char *path, struct nsx_arena *a, struct nsx_mesh *ret,
		  struct nsx_err *err) NSX_CHECKED;

/* Number of ranks in the mesh; 1 without a mesh. */
int64_t nsx_mesh_ranks(const struct nsx_mesh *m);

static inline int64_t nsx_mesh_at(const struct nsx_axis *x, int64_t rank)
{
	return rank / x->stride % x->size;
}

/* A rank's place, such as "tp 1, dp 3". Owner: the arena. */
const char *nsx_mesh_place(const struct nsx_mesh *m, int64_t rank, struct nsx_arena *a);

/* Whether groups of ranks with this stride and size lie along one whole axis, or along
 * several consecutive ones.
 */
bool nsx_mesh_has(const struct nsx_mesh *m, int64_t stride, int64_t size);
