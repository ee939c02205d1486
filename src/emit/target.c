/* target.c - a file written beside its place under another name. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/str.h"
#include "emit/folder.h"
#include "emit/target.h"

static int refuse(const struct nsx_target *t, struct nsx_err *err)
{
	return nsx_fail(err, NSX_E_IO, "cannot write '%s': %s", t->path,
			strerror(errno));
}

int nsx_target_check(const struct nsx_target *t, struct nsx_err *err)
{
	struct stat there, in;

	if (lstat(t->path, &there))
		return 0;
	if (stat(t->path, &there)) /* a link to nothing */
		return refuse(t, err);
	for (size_t i = 0; i < t->ninputs; i++)
		if (!stat(t->inputs[i], &in) && in.st_dev == there.st_dev &&
		    in.st_ino == there.st_ino)
			return nsx_fail(err, NSX_E_IO, "'%s' is the input "
					"itself; give another name for the "
					"result", t->path);
	if (S_ISREG(there.st_mode) && there.st_size && t->is_ours &&
	    !t->is_ours(t->path))
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

static int open_beside(struct nsx_target *t, struct nsx_err *err)
{
	struct nsx_buf b = {0};

	t->place = realpath(t->path, NULL); /* a link stays one */
	if (!t->place)
		t->place = nsx_strdup(t->path);
	nsx_buf_printf(&b, "%s.unfinished-%ld", t->place, (long)getpid());
	t->fd = open(b.p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (t->fd < 0) {
		refuse(t, err);
		nsx_buf_done(&b);
		return err->rc;
	}
	t->unfinished = b.p;
	nsx_at_death(remove_file, t->unfinished);
	return 0;
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
	return t->fd < 0 ? refuse(t, err) : 0;
}

/* What has appeared there meanwhile is judged as if it had been there before. */
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
	return refuse(t, err);
}

int nsx_target_commit(struct nsx_target *t, struct nsx_err *err)
{
	int rc = t->fd >= 0 && close(t->fd) ? refuse(t, err) : 0;

	t->fd = -1;
	if (!rc && t->unfinished)
		rc = put_in_place(t, err);
	if (rc || !t->unfinished)
		return rc;
	nsx_at_death(NULL, NULL);
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
	}
	free(t->unfinished);
	free(t->place);
	t->unfinished = t->place = NULL;
}

int nsx_target_write(struct nsx_target *t, const void *bytes, size_t n,
		     struct nsx_err *err)
{
	const char *p = bytes;
	int rc = nsx_target_open(t, err);

	while (!rc && n) {
		ssize_t done = write(t->fd, p, n);

		if (done > 0)
			p += done, n -= (size_t)done;
		else if (errno != EINTR)
			rc = refuse(t, err);
	}
	if (!rc)
		rc = nsx_target_commit(t, err);
	nsx_target_done(t);
	return rc;
}
