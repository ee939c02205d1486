/* open.c - opens files, and walks from a folder to a file without following links. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>
#include "base/open.h"
#include "base/str.h"

enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK };

static struct folder {
	char *path;
	int fd;
} *folders; /* empty: every file may be read */
static size_t nfolders, cap_folders;

int nsx_confine(const char *folder, struct nsx_err *err)
{
	struct folder f;

	for (size_t i = 0; i < nfolders; i++)
		if (!strcmp(folders[i].path, folder))
			return 0;
	f = (struct folder){nsx_strdup(folder),
			    open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)};
	nsx_push_or_die(folders, nfolders, cap_folders, f);
	return f.fd >= 0 ? 0 : nsx_fail(err, NSX_E_IO, "cannot use the folder '%s': %s",
					folder, strerror(errno));
}

/* The part of a real path after the folder's path; NULL if it lies outside the folder. */
static const char *path_within(const struct folder *f, const char *real)
{
	size_t n = strlen(f->path);

	if (strncmp(real, f->path, n) != 0 || (real[n] && real[n] != '/' && f->path[n - 1] != '/'))
		return NULL;
	return real + n + strspn(real + n, "/");
}

bool nsx_is_confined(const char *real)
{
	return NSX_ANY(i, nfolders, path_within(&folders[i], real));
}

/* Opens a resolved path below the folder `from`. Fails if a part of it has become a link since. */
static int open_below(int from, const char *path)
{
	int dir = fcntl(from, F_DUPFD_CLOEXEC, 0), fd;
	size_t n;

	while (dir >= 0 && path[n = strcspn(path, "/")]) {
		char name[NAME_MAX + 1];

		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		(void)close(dir);
		dir = fd;
		path += n + 1;
	}
	if (dir < 0)
		return -1;
	fd = openat(dir, *path ? path : ".", FLAGS | O_NOFOLLOW);
	(void)close(dir);
	return fd;
}

int nsx_open(const char *path)
{
	char real[PATH_MAX];

	if (!nfolders)
		return open(path, FLAGS);
	if (!realpath(path, real))
		return -1;
	for (size_t i = 0; i < nfolders; i++) {
		const char *rest = path_within(&folders[i], real);

		if (rest)
			return open_below(folders[i].fd, rest);
	}
	errno = EACCES;
	return -1;
}

FILE *nsx_open_stream(const char *path)
{
	int fd = nsx_open(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !f)
		(void)close(fd);
	return f;
}

DIR *nsx_open_folder(const char *path)
{
	int fd = nsx_open(path);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !d)
		(void)close(fd);
	return d;
}

size_t nsx_read_head(const char *path, char *head, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(head, 1, size - 1, f) : 0;

	head[n] = '\0';
	if (f)
		(void)fclose(f);
	return n;
}

/* The size is checked while reading, because the file may be a pipe. */
int nsx_read_named(const char *path, const char *what, size_t most, char **ret,
		   size_t *ret_n, struct nsx_err *err)
{
	enum { PIECE = 65536 };
	FILE *f = fopen(path, "re");
	size_t cap = 0, got = 1;
	int bad;

	*ret = NULL;
	*ret_n = 0;
	if (!f)
		return nsx_fail(err, NSX_E_USAGE, "cannot read %s '%s': %s", what, path,
				strerror(errno));
	while (got && *ret_n <= most && !nsx_grow(ret, &cap, *ret_n + PIECE, 1, what, err)) {
		got = fread(*ret + *ret_n, 1, PIECE, f);
		*ret_n += got;
	}
	bad = ferror(f) ? errno : 0;
	(void)fclose(f);
	if (!bad && *ret_n <= most)
		return got ? err->rc : 0;
	if (bad)
		return nsx_fail(err, NSX_E_USAGE, "cannot read %s '%s': %s", what, path,
				strerror(bad));
	return nsx_fail(err, NSX_E_USAGE, "cannot read %s '%s': it is larger than %zu MiB",
			what, path, most >> 20);
}
