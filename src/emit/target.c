/* target.c - writes a file under a temporary name beside its place. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include "base/str.h"
#include "emit/ours.h"
#include "emit/target.h"

#define UNFINISHED ".unfinished-"

static int refuse_target(const struct nsx_target *t, struct nsx_err *err)
{
	return nsx_fail(err, NSX_E_IO, "cannot write '%s': %s", t->path, strerror(errno));
}

int nsx_target_check(const struct nsx_target *t, struct nsx_err *err)
{
	struct stat there;

	if (lstat(t->path, &there))
		return 0;
	if (stat(t->path, &there)) /* the path is a dangling link */
		return refuse_target(t, err);
	if (nsx_is_input(t->inputs, t->ninputs, &there))
		return nsx_fail(err, NSX_E_IO, "'%s' is the input itself; give "
				"another name for the result", t->path);
	if (S_ISREG(there.st_mode) && there.st_size && t->is_ours && !t->is_ours(t->path))
		return nsx_fail(err, NSX_E_IO, "cannot write '%s': what is "
				"there was not written by this program; %s",
				t->path, t->way_out ? t->way_out :
				"move it away or give another name");
	return 0;
}

static void remove_file(void *path)
{
	unlink(path);
}

/* Creates and locks the file. remove_leftover_file may have seen the file before it was locked,
 * and removed it; then it is created again. -1: errno.
 */
static int create_locked(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	struct stat st;

	if (fd < 0 || flock(fd, LOCK_EX) || fstat(fd, &st) || st.st_nlink)
		return fd;
	close(fd);
	errno = EEXIST;
	return -1;
}

/* Opens the temporary file beside its final path. The process id in its name may be that of a
 * killed run: in a container every run may be process 1.
 */
static int open_beside(struct nsx_target *t, struct nsx_err *err)
{
	struct nsx_buf b = {0};

	t->place = realpath(t->path, NULL); /* follows a symbolic link, so that the link stays */
	if (!t->place)
		t->place = nsx_strdup(t->path);
	for (unsigned i = 0; t->fd < 0; i++) {
		nsx_buf_clear(&b);
		nsx_buf_printf(&b, "%s" UNFINISHED "%ld-%u", t->place, (long)getpid(), i);
		t->fd = create_locked(b.p);
		if (t->fd < 0 && errno != EEXIST) {
			refuse_target(t, err);
			nsx_buf_done(&b);
			return err->rc;
		}
	}
	t->unfinished = b.p;
	nsx_at_death(remove_file, t->unfinished);
	t->lock = fcntl(t->fd, F_DUPFD_CLOEXEC, 0);
	return t->lock < 0 ? refuse_target(t, err) : 0;
}

/* Removes a killed run's file, which is not locked and has this file's prefix. */
static int remove_leftover_file(int dir, const char *name, void *ctx)
{
	const struct nsx_target *t = ctx;
	const char *base = nsx_base_name(t->place), *number;
	char begin[2][16];
	ssize_t n;
	int fd;

	if (strncmp(name, base, strlen(base)) != 0 ||
	    strncmp(name + strlen(base), UNFINISHED, strlen(UNFINISHED)) != 0)
		return 0;
	number = name + strlen(base) + strlen(UNFINISHED);
	if (!*number || number[strspn(number, "0123456789-")])
		return 0; /* the name is not of a temporary file */
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = pread(fd, begin[0], sizeof(begin[0]), 0);
	if (n >= 0 && pread(t->lock, begin[1], (size_t)n, 0) == n &&
	    !memcmp(begin[0], begin[1], (size_t)n) && !flock(fd, LOCK_EX | LOCK_NB))
		unlinkat(dir, name, 0);
	close(fd);
	return 0;
}

static void remove_leftover_files(struct nsx_target *t)
{
	size_t n = (size_t)(nsx_base_name(t->place) - t->place);
	NSX_AT_EXIT(nsx_free_at) char *dir = n ? strndup(t->place, n) : nsx_strdup(".");

	if (dir)
		nsx_each_entry(AT_FDCWD, dir, remove_leftover_file, t);
}

int nsx_target_open(struct nsx_target *t, struct nsx_err *err)
{
	struct stat there;

	t->fd = -1;
	t->place = t->unfinished = NULL;
	if (nsx_target_check(t, err))
		return err->rc;
	if (stat(t->path, &there) || S_ISREG(there.st_mode))
		return open_beside(t, err);
	t->fd = open(t->path, O_WRONLY | O_CLOEXEC);
	return t->fd < 0 ? refuse_target(t, err) : 0;
}

/* Moves the file to its place. A file that has appeared there meanwhile is checked like an older
 * one.
 */
static int put_in_place(struct nsx_target *t, struct nsx_err *err)
{
	if (!nsx_file_appear(t->unfinished, t->place))
		return 0;
	if (errno == EEXIST) {
		if (nsx_target_check(t, err))
			return err->rc;
		if (!rename(t->unfinished, t->place))
			return 0;
	}
	return refuse_target(t, err);
}

int nsx_target_commit(struct nsx_target *t, struct nsx_err *err)
{
	int rc = t->fd >= 0 && close(t->fd) ? refuse_target(t, err) : 0;

	t->fd = -1;
	if (t->unfinished)
		remove_leftover_files(t);
	if (!rc && t->unfinished)
		rc = put_in_place(t, err);
	if (rc || !t->unfinished)
		return rc;
	nsx_at_death(NULL, NULL);
	close(t->lock);
	free(t->unfinished);
	t->unfinished = NULL;
	return 0;
}

void nsx_target_done(struct nsx_target *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	if (t->unfinished) {
		unlink(t->unfinished);
		nsx_at_death(NULL, NULL);
		close(t->lock);
	}
	free(t->unfinished);
	free(t->place);
	t->unfinished = t->place = NULL;
}

int nsx_target_write(struct nsx_target *t, const void *bytes, size_t n, struct nsx_err *err)
{
	int rc = nsx_target_open(t, err);

	if (!rc && !nsx_write_all(t->fd, bytes, n))
		rc = refuse_target(t, err);
	rc = rc ?: nsx_target_commit(t, err);
	nsx_target_done(t);
	return rc;
}

int nsx_target_fill(struct nsx_target *t, const struct nsx_out_file *f, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf text = {0};

	return nsx_out_string(f, &text, err) ||
		 nsx_target_write(t, text.p, text.n, err) ? err->rc : 0;
}
