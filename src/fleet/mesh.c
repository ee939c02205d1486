/* mesh.c - reads the axes of a job from a file of names and sizes. */
#include <errno.h>
#include <stdio.h>
#include "base/str.h"
#include "fleet/mesh.h"

enum { MOST_RANKS = 1 << 28, MOST_NAME = 31 };

int64_t nsx_mesh_ranks(const struct nsx_mesh *m)
{
	return m->n ? m->axis[m->n - 1].stride * m->axis[m->n - 1].size : 1;
}

/* Adds the axis that a line names. line: without its comment. */
static bool add_axis(struct nsx_mesh *m, const char *line, struct nsx_arena *a)
{
	char name[MOST_NAME + 1], rest;
	long long size;
	int64_t stride = nsx_mesh_ranks(m);

	if (m->n == NSX_MOST_AXES ||
	    sscanf(line, " %31[A-Za-z0-9_-] %lld %c", name, &size, &rest) != 2 ||
	    size < 1 || size > MOST_RANKS / stride)
		return false;
	m->axis[m->n++] = (struct nsx_axis){nsx_arena_strdup(a, name), size,
					    stride};
	return true;
}

int nsx_mesh_read(const char *path, struct nsx_arena *a, struct nsx_mesh *ret, struct nsx_err *err)
{
	FILE *f = fopen(path, "re");
	unsigned number = 0;
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	*ret = (struct nsx_mesh){.n = 0};
	if (!f)
		return nsx_fail(err, NSX_E_IO, "cannot read the mesh '%s': %s",
				path, strerror(errno));
	while (!rc && getline(&line, &room, f) > 0) {
		number++;
		line[strcspn(line, "#\r\n")] = '\0';
		if (line[strspn(line, " \t")] && !add_axis(ret, line, a))
			rc = nsx_fail(err, NSX_E_USAGE, "cannot read the mesh '%s': line %u is no "
				      "axis; write its name and its size, the fastest axis first, "
				      "up to %d of them", path, number, NSX_MOST_AXES);
	}
	if (!rc && ferror(f))
		rc = nsx_fail(err, NSX_E_IO, "cannot read the mesh '%s': %s",
			      path, strerror(errno));
	(void)fclose(f);
	free(line);
	if (!rc && !ret->n)
		rc = nsx_fail(err, NSX_E_USAGE, "the mesh '%s' has no axes; "
			      "write one a line: its name and its size", path);
	return rc;
}

const char *nsx_mesh_place(const struct nsx_mesh *m, int64_t rank, struct nsx_arena *a)
{
	struct nsx_buf b = {0};

	for (unsigned i = 0; i < m->n; i++)
		nsx_buf_printf(&b, "%s%s %lld", i ? ", " : "", m->axis[i].name,
			       (long long)nsx_mesh_at(&m->axis[i], rank));
	return nsx_buf_keep(&b, a);
}

bool nsx_mesh_has(const struct nsx_mesh *m, int64_t stride, int64_t size)
{
	for (unsigned i = 0; i < m->n; i++) {
		int64_t whole = 1;

		for (unsigned k = i; m->axis[i].stride == stride && k < m->n; k++) {
			whole *= m->axis[k].size;
			if (whole == size)
				return true;
		}
	}
	return false;
}
