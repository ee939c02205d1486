/* roots.c - real paths, and whether they lie under a root. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/roots.h"
#include "base/open.h"
#include "nsysrep/nsysrep.h"

enum { MAX_DEPTH = 3, MAX_LOOKED_AT = 10000 };

int nsx_roots_init(struct nsx_roots *r, const char *const *dirs, size_t n, struct nsx_err *err)
{
	static const char *const here[] = {"."};
	struct stat st;

	if (!n) {
		dirs = here;
		n = 1;
	}
	*r = (struct nsx_roots){.v = nsx_alloc(n, sizeof(*r->v)), .n = n};
	for (size_t i = 0; i < n; i++) {
		if (!realpath(dirs[i], r->v[i]) || stat(r->v[i], &st))
			return nsx_fail(err, NSX_E_IO, "cannot use the root "
					"'%s': %s", dirs[i], strerror(errno));
		if (!S_ISDIR(st.st_mode))
			return nsx_fail(err, NSX_E_USAGE, "cannot use the root "
					"'%s': not a folder", dirs[i]);
		if (nsx_confine(r->v[i], err))
			return err->rc;
	}
	return 0;
}

void nsx_roots_done(struct nsx_roots *r)
{
	free(r->v);
}

enum nsx_where nsx_roots_find(const struct nsx_roots *r, const char *path, char ret[PATH_MAX])
{
	enum nsx_where place = NSX_PLACE_NONE;
	char joined[2 * PATH_MAX];

	for (size_t i = 0; i < r->n && place == NSX_PLACE_NONE; i++) {
		if (*path == '/')
			snprintf(joined, sizeof(joined), "%s", path);
		else
			snprintf(joined, sizeof(joined), "%s/%s", r->v[i], path);
		if (*path && strlen(path) < PATH_MAX && realpath(joined, ret))
			place = nsx_is_confined(ret) ? NSX_PLACE_INSIDE : NSX_PLACE_OUTSIDE;
	}
	return place;
}

/* Traces under the roots -------------------------------------------------------- */

struct search {
	const char **v;
	size_t n, most, looked_at;
	size_t root_length;
	struct nsx_arena *a;
};

static int cmp_entries(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void search_folder(struct search *s, const char *dir, unsigned depth)
{
	struct dirent **list;
	int fd = nsx_open(dir), n = fd < 0 ? -1 : scandirat(fd, ".", &list, NULL, cmp_entries);

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		const char *path = nsx_arena_printf(s->a, "%s/%s", dir, name);
		struct stat st;

		if (*name != '.' && s->n < s->most && s->looked_at++ < MAX_LOOKED_AT &&
		    !fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW)) {
			if (S_ISREG(st.st_mode) &&
			    (nsx_ends_with(name, ".sqlite") || nsx_has_report_name(name)))
				s->v[s->n++] = path + s->root_length + 1;
			else if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH)
				search_folder(s, path, depth + 1);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	if (fd >= 0)
		(void)close(fd);
}

const char **nsx_roots_traces(const struct nsx_roots *r, size_t most,
			      struct nsx_arena *a, size_t *ret_n)
{
	struct search s = {.v = nsx_arena_get(a, most * sizeof(*s.v)),
			   .most = most, .a = a};

	for (size_t i = 0; i < r->n; i++) {
		s.root_length = strcmp(r->v[i], "/") ? strlen(r->v[i]) : 0;
		search_folder(&s, r->v[i], 0);
	}
	*ret_n = s.n;
	return s.v;
}
