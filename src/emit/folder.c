/* folder.c - prepares files in a folder of their own, then puts them in place.
 *
 * That folder, the stage, has a name that begins with NSX_STAGE. It is beside the target if the
 * whole folder is created or replaced (in one step by RENAME_EXCHANGE), otherwise inside it. Every
 * rename can be undone. If a run is killed between two renames, both records remain, from which
 * the next run knows all files.
 */
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/jsonw.h"
#include "base/par.h"
#include "emit/emit.h"
#include "emit/ours.h"

/* Folders ------------------------------------------------------------------------*/

void nsx_unmake_dirs(const char *path, size_t had)
{
	NSX_AT_EXIT(nsx_free_at) char *s = nsx_strdup(path);
	size_t n = strlen(s);

	while (n > had && !rmdir(s)) {
		while (n > had && s[n - 1] == '/')
			n--;
		while (n > had && s[n - 1] != '/')
			n--;
		s[n] = '\0';
	}
}

int nsx_make_dirs(const char *path, size_t *ret_had, struct nsx_err *err)
{
	char *s = nsx_strdup(path), *slash = s;
	struct stat st;
	int why = 0;

	*ret_had = 0;
	do {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		why = mkdir(s, 0777) ? errno : 0;
		if (why)
			*ret_had = strlen(s);
		if (slash)
			*slash = '/';
	} while (slash && slash[1]);
	free(s);
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return 0;
	nsx_unmake_dirs(path, *ret_had);
	return nsx_fail(err, NSX_E_IO, "cannot make the folder '%s': %s", path,
			strerror(why == EEXIST ? ENOTDIR : why));
}

/* Writing ------------------------------------------------------------------------*/

struct stage {
	const struct nsx_folder *folder;
	char path[4096];
	int fd; /* file descriptor that keeps the folder locked */
	struct nsx_buf record; /* is written last, with its list and seal    */
};

/* Fails with the file's final path, because the stage is gone when the message is read. */
static int refuse_file(const struct stage *s, const char *name, int error, struct nsx_err *err)
{
	return nsx_fail(err, NSX_E_IO, "cannot write '%s/%s': %s",
			s->folder->dir, name, strerror(error ? error : EIO));
}

/* Flushes, checks and closes. */
static int folder_close_file(FILE *f, const struct stage *s, const char *name, struct nsx_err *err)
{
	int bad = ferror(f), error = errno;

	if (fflush(f))
		bad = 1, error = errno;
	if (fclose(f) && !bad)
		bad = 1, error = errno;
	return bad ? refuse_file(s, name, error, err) : 0;
}

static int make_path(char *buf, size_t size, const char *dir, const char *name, struct nsx_err *err)
{
	if (snprintf(buf, size, "%s/%s", dir, name) >= (int)size)
		return nsx_fail(err, NSX_E_IO, "cannot write '%s': the path is too long", dir);
	return 0;
}

static ssize_t write_to_buffer(void *buf, const char *p, size_t n)
{
	nsx_buf_add(buf, p, n);
	return (ssize_t)n;
}

/* A stream of the C library in memory copies all of it again and again as it grows. */
int nsx_out_string(const struct nsx_out_file *f, struct nsx_buf *ret, struct nsx_err *err)
{
	FILE *out = fopencookie(ret, "w", (cookie_io_functions_t){.write = write_to_buffer});
	int rc = out ? f->write(f, out, err) : NSX_E_NOMEM;

	if (!out || (fclose(out) && !rc))
		return nsx_fail(err, NSX_E_NOMEM, "not enough memory to write");
	return rc;
}

/* Computes size and CRC of a file while it is written. */
struct summed {
	struct nsx_out_file *file;
	int fd;
};

static ssize_t write_with_checksum(void *cookie, const char *p, size_t n)
{
	struct summed *s = cookie;

	if (!nsx_write_all(s->fd, p, n))
		return 0;
	s->file->size_bytes += (int64_t)n;
	s->file->crc32 = libdeflate_crc32(s->file->crc32, p, n);
	return (ssize_t)n;
}

static int close_with_checksum(void *cookie)
{
	return close(((struct summed *)cookie)->fd);
}

static FILE *create_with_checksum(const struct stage *s, const char *path, struct summed *x,
				  struct nsx_err *err)
{
	const cookie_io_functions_t how = {.write = write_with_checksum,
					   .close = close_with_checksum};
	FILE *f;

	x->file->size_bytes = 0;
	x->file->crc32 = 0;
	x->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	f = x->fd < 0 ? NULL : fopencookie(x, "w", how);
	if (!f) {
		refuse_file(s, x->file->name, errno, err);
		if (x->fd >= 0)
			close(x->fd);
	}
	return f;
}

static int folder_write_file(void *ctx, size_t i, struct nsx_err *err)
{
	struct stage *stage = ctx;
	struct nsx_out_file *file = &stage->folder->files[i];
	struct summed x = {file, -1};
	char path[4096], buffer[32768];
	FILE *f;

	if (i + 1 == stage->folder->nfiles)
		return nsx_out_string(file, &stage->record, err);
	if (make_path(path, sizeof(path), stage->path, file->name, err) ||
	    !(f = create_with_checksum(stage, path, &x, err)))
		return err->rc;
	setvbuf(f, buffer, _IOFBF, sizeof(buffer));
	errno = 0;
	if (!file->write(file, f, err))
		return folder_close_file(f, stage, file->name, err);
	(void)fclose(f);
	return err->rc;
}

static int write_list(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_folder *folder = f->subject;
	struct nsx_jsonw *w = nsx_jsonw_new();

	nsx_jsonw_object(w, NULL);
	nsx_jsonw_array(w, "files");
	for (size_t i = 0; i + 1 < folder->nfiles; i++) {
		nsx_jsonw_object(w, NULL);
		nsx_jsonw_str(w, "path", folder->files[i].name);
		nsx_jsonw_int(w, "size_bytes", folder->files[i].size_bytes);
		nsx_jsonw_int(w, "crc32", folder->files[i].crc32);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
	return nsx_jsonw_finish(w, out, err);
}

/* Replaces the record's last brace by the list and the seal. */
static int folder_write_record(struct stage *stage, struct nsx_err *err)
{
	const struct nsx_folder *folder = stage->folder;
	const char *name = folder->files[folder->nfiles - 1].name;
	const struct nsx_out_file list = {.write = write_list,
					  .subject = folder};
	struct nsx_buf *b = &stage->record;
	size_t end = b->n -= strlen("\n}\n");
	char path[4096], seal[NSX_SEAL_SIZE] = "";
	FILE *f;

	if (nsx_out_string(&list, b, err) || make_path(path, sizeof(path), stage->path, name, err))
		return err->rc;
	b->p[end] = ',';
	b->n -= strlen("\n}\n");
	f = fopen(path, "wxe");
	if (!f)
		return refuse_file(stage, name, errno, err);
	fwrite(b->p, 1, b->n, f);
	fwrite(seal, 1, nsx_seal(b->p, b->n, seal, sizeof(seal)), f);
	return folder_close_file(f, stage, name, err);
}

/* Writes the path of the subfolder that a name contains; "" if there is none. */
static void subfolder_path(char *buf, size_t size, const char *dir, const char *name)
{
	const char *slash = strchr(name, '/');

	*buf = '\0';
	if (slash)
		snprintf(buf, size, "%s/%.*s", dir, (int)(slash - name), name);
}

static int make_subfolder(const char *dir, const char *name, bool *ret_made, struct nsx_err *err)
{
	char path[4096];

	subfolder_path(path, sizeof(path), dir, name);
	*ret_made = false;
	if (!*path || !access(path, F_OK))
		return 0;
	*ret_made = !mkdir(path, 0777);
	if (*ret_made || errno == EEXIST)
		return 0;
	return nsx_fail(err, NSX_E_IO, "cannot make '%s': %s", path, strerror(errno));
}

/* Creates the stage in the folder `in`. Its lock shows that a run is active; before it is locked
 * another run may take it for a leftover.
 */
static int make_stage(const char *in, struct stage *s, struct nsx_err *err)
{
	mode_t mask = umask(0);
	struct stat st;

	umask(mask);
	do {
		if (make_path(s->path, sizeof(s->path), in, NSX_STAGE "XXXXXX", err))
			return err->rc;
		if (!mkdtemp(s->path))
			return nsx_fail(err, NSX_E_IO, "cannot write in '%s': %s; give another "
					"--out", in, strerror(errno));
		s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (s->fd < 0 && errno == ENOENT)
			continue; /* another run has just removed it */
		if (s->fd < 0) {
			nsx_fail(err, NSX_E_IO, "cannot open '%s': %s", s->path, strerror(errno));
			rmdir(s->path);
			return err->rc;
		}
		flock(s->fd, LOCK_EX); /* a file system without locks is no reason to stop */
	} while (s->fd < 0 || ((fstat(s->fd, &st) || !st.st_nlink) && !close(s->fd)));
	/* mkdtemp makes private folders; ours gets the usual permissions. */
	fchmod(s->fd, 0777 & ~mask);
	return 0;
}

/* Removes the stage, even while other threads write into it. Its lock is closed first: removing
 * the folder takes a file descriptor, and the lock's may be the last one.
 */
static void remove_stage(void *stage)
{
	struct stage *s = stage;

	close(s->fd);
	while (nsx_remove_entry(AT_FDCWD, s->path, NULL) && errno == ENOTEMPTY)
		;
}

static int fill_stage(struct stage *s, struct nsx_err *err)
{
	const struct nsx_folder *f = s->folder;
	bool made;
	int rc = 0;

	nsx_at_death(remove_stage, s);
	for (size_t i = 0; !rc && i < f->nfiles; i++)
		rc = make_subfolder(s->path, f->files[i].name, &made, err);
	rc = rc ?: nsx_par(f->threads, f->nfiles, folder_write_file, s, err) ?:
	     folder_write_record(s, err);
	nsx_buf_done(&s->record);
	nsx_at_death(NULL, NULL);
	return rc;
}

/* Renaming ----------------------------------------------------------------------- */

/* Exchanges a and b, which both exist; takes several steps on file systems without
 * RENAME_EXCHANGE.
 */
static int exchange_folders(const char *a, const char *b)
{
	char aside[4096 + 8];
	int error;

	if (!renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	snprintf(aside, sizeof(aside), "%s.old", a);
	if (rename(b, aside))
		return -1;
	if (!rename(a, b))
		return rename(aside, a);
	error = errno;
	if (rename(aside, b))
		error = errno;
	errno = error;
	return -1;
}

int nsx_file_appear(const char *a, const char *b)
{
	if (!renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (!faccessat(AT_FDCWD, b, F_OK, AT_SYMLINK_NOFOLLOW)) {
		errno = EEXIST;
		return -1;
	}
	return rename(a, b);
}

struct placed { /* what was renamed for a file, to be undone */
	bool done, replaced, made_folder;
};

static int rename_into_place(const struct stage *s, const char *name,
			     struct placed *p, struct nsx_err *err)
{
	char from[4096], to[4096];

	if (make_path(from, sizeof(from), s->path, name, err) ||
	    make_path(to, sizeof(to), s->folder->dir, name, err) ||
	    make_subfolder(s->folder->dir, name, &p->made_folder, err))
		return err->rc;
	p->replaced = !faccessat(AT_FDCWD, to, F_OK, AT_SYMLINK_NOFOLLOW);
	p->done = !(p->replaced ? exchange_folders(from, to) : nsx_file_appear(from, to));
	if (p->done)
		return 0;
	return nsx_fail(err, NSX_E_IO, "cannot put '%s' into '%s': %s", name,
			s->folder->dir, strerror(errno));
}

static void undo_placement(const struct stage *s, const char *name, const struct placed *p)
{
	char from[4096], to[4096];
	struct nsx_err ignored;

	if (p->done && !make_path(from, sizeof(from), s->path, name, &ignored) &&
	    !make_path(to, sizeof(to), s->folder->dir, name, &ignored))
		(void)!(p->replaced ? exchange_folders(from, to) : nsx_file_appear(to, from));
	subfolder_path(to, sizeof(to), s->folder->dir, name);
	if (p->made_folder)
		rmdir(to);
}

/* Checks that every file in the stage after the exchange was listed before, so that none of the
 * user's is lost.
 */
static int check_replaced(const struct stage *s, const struct nsx_ours *o, struct nsx_err *err)
{
	struct nsx_survey found;

	if (nsx_ours_survey(o, s->path, &found, err))
		return err->rc;
	if (!found.others)
		return 0;
	return nsx_fail(err, NSX_E_IO, "cannot write to '%s': '%s' there was changed meanwhile; "
			"nothing was written", s->folder->dir, found.collision);
}

static int rename_all_into_place(const struct stage *s, const struct nsx_ours *o,
				 struct nsx_err *err)
{
	const struct nsx_folder *f = s->folder;
	NSX_AT_EXIT(nsx_free_at) struct placed *p = nsx_alloc(f->nfiles, sizeof(*p));
	int rc = 0;

	for (size_t i = 0; !rc && i < f->nfiles; i++)
		rc = rename_into_place(s, f->files[i].name, &p[i], err);
	rc = rc ?: check_replaced(s, o, err);
	for (size_t i = f->nfiles; rc && i--;)
		undo_placement(s, f->files[i].name, &p[i]);
	return rc;
}

/* The target ---------------------------------------------------------------------*/

/* "a/b" -> "a", "b" -> ".", "/b" -> "/" */
static void parent_of(const char *dir, char *buf, size_t size)
{
	const char *slash = strrchr(dir, '/');

	snprintf(buf, size, "%.*s", slash ? (int)NSX_MAX(1, slash - dir) : 1, slash ? dir : ".");
}

/* Whether the folder can be replaced: it is not a mount point, not in use as a working directory,
 * and has a name of its own.
 */
static bool can_swap(const char *dir, const char *parent)
{
	const char *name = nsx_base_name(dir);
	struct stat st, above, here;

	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       !stat(dir, &st) && !stat(parent, &above) && !stat(".", &here) &&
	       st.st_dev == above.st_dev && !access(parent, W_OK) &&
	       (st.st_dev != here.st_dev || st.st_ino != here.st_ino);
}

/* Puts a filled stage where f->dir is to be or, if o is given, in place of f->dir, which holds only
 * our files. *ret_again: another process has just created a folder there, or it cannot be replaced
 * as a whole.
 */
static int place_stage(const struct stage *s, const struct nsx_ours *o, bool *ret_again,
		       struct nsx_err *err)
{
	const char *dir = s->folder->dir;
	struct nsx_survey old = {0};
	int rc;

	if (o ? exchange_folders(s->path, dir) : nsx_file_appear(s->path, dir)) {
		*ret_again = errno == (o ? EBUSY : EEXIST);
		return nsx_fail(err, NSX_E_IO, "cannot put the report at '%s': %s", dir,
				strerror(errno));
	}
	rc = o ? nsx_ours_survey(o, s->path, &old, err) : 0;
	if (!rc && old.others) {
		*ret_again = true;
		rc = NSX_E_IO;
	}
	if (rc)
		(void)!exchange_folders(s->path, dir);
	return rc;
}

/* Writes the whole folder at once; o and *ret_again as for place_stage. */
static int write_whole_folder(const struct nsx_folder *f, const char *parent,
			      const struct nsx_ours *o, bool *ret_again, struct nsx_err *err)
{
	struct stage s = {.folder = f};
	size_t had;
	int rc = o ? 0 : nsx_make_dirs(parent, &had, err);

	if (rc)
		return rc;
	rc = make_stage(parent, &s, err);
	if (!rc) {
		rc = fill_stage(&s, err) ?: place_stage(&s, o, ret_again, err);
		if (rc) {
			remove_stage(&s);
		} else {
			if (o && nsx_remove_entry(AT_FDCWD, s.path, NULL))
				rc = nsx_fail(err, NSX_E_IO, "the report is at '%s', but cannot "
					      "remove the one before, now at '%s': %s", f->dir,
					      s.path, strerror(errno));
			close(s.fd);
		}
	}
	if (rc && !o)
		nsx_unmake_dirs(parent, had);
	return rc;
}

/* Puts files in place one by one, as the folder holds others' files or cannot be replaced. */
static int merge_into_folder(const struct nsx_folder *f, const struct nsx_ours *o,
			     struct nsx_err *err)
{
	struct stage s = {.folder = f};
	int rc = make_stage(f->dir, &s, err);

	if (rc)
		return rc;
	rc = fill_stage(&s, err) ?: rename_all_into_place(&s, o, err);
	remove_stage(&s);
	return rc ? rc : nsx_ours_drop_stale(o, f->dir, err);
}

/* Opens and locks the folder, so that two runs write one after the other. */
static int lock_folder(const char *dir, int *ret_fd, struct nsx_err *err)
{
	struct stat st, now;

	for (;;) {
		*ret_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (*ret_fd < 0)
			return nsx_fail(err, NSX_E_IO, "cannot write to '%s': "
					"%s", dir, strerror(errno));
		while (flock(*ret_fd, LOCK_EX) && errno == EINTR)
			if (nsx_stopped(err)) {
				close(*ret_fd);
				return err->rc;
			}
		if (!fstat(*ret_fd, &st) && !lstat(dir, &now) &&
		    st.st_dev == now.st_dev && st.st_ino == now.st_ino)
			return 0;
		close(*ret_fd);
	}
}

static int check_folder(const struct nsx_folder *f, const struct nsx_ours *o,
			struct nsx_survey *ret, struct nsx_err *err)
{
	int rc = nsx_ours_survey(o, f->dir, ret, err);

	if (rc)
		return rc;
	if (*ret->collision)
		return nsx_fail(err, NSX_E_IO, "cannot write '%s/%s': what is there is not of the "
				"last report, or was changed since; move it away or give another "
				"--out", f->dir, ret->collision);
	if (access(f->dir, W_OK))
		return nsx_fail(err, NSX_E_IO, "cannot write to '%s': %s", f->dir, strerror(errno));
	return 0;
}

static int write_over(const struct nsx_folder *f, const char *parent,
		      bool *again, struct nsx_err *err)
{
	bool is_retry = *again;
	struct nsx_survey s;
	struct nsx_ours *o;
	int fd, rc = lock_folder(f->dir, &fd, err);

	*again = false;
	if (rc)
		return rc;
	o = nsx_ours_new(f);
	nsx_ours_read(o);
	rc = check_folder(f, o, &s, err);
	if (!rc)
		rc = s.ours && !s.others && !is_retry && can_swap(f->dir, parent) ?
			     write_whole_folder(f, parent, o, again, err) :
			     merge_into_folder(f, o, err);
	if (!rc)
		nsx_ours_tidy(f, f->dir, o);
	nsx_ours_free(o);
	close(fd);
	return rc;
}

static int folder_write_folder(const struct nsx_folder *f, struct nsx_err *err)
{
	char parent[4096];
	bool again = false;
	struct stat st;
	int rc;

	parent_of(f->dir, parent, sizeof(parent));
	do {
		if (!lstat(f->dir, &st))
			rc = S_ISDIR(st.st_mode) ?
				     write_over(f, parent, &again, err) :
				     nsx_fail(err, NSX_E_IO, "cannot write to '%s': it is there "
					      "and is not a folder; give another --out", f->dir);
		else if (errno == ENOENT)
			rc = write_whole_folder(f, parent, NULL, &again, err);
		else
			rc = nsx_fail(err, NSX_E_IO, "cannot write to '%s': %s",
				      f->dir, strerror(errno));
	} while (rc && again);
	if (!rc)
		nsx_ours_tidy(f, parent, NULL);
	return rc;
}

int nsx_folder_write(const struct nsx_folder *f, struct nsx_err *err)
{
	struct nsx_folder g = *f;
	size_t n = strlen(f->dir);
	char *dir = nsx_strdup(f->dir), *there;
	struct stat st;
	int rc;

	while (n > 1 && dir[n - 1] == '/')
		dir[--n] = '\0';
	if (!lstat(dir, &st) && S_ISLNK(st.st_mode) &&
	    (there = realpath(dir, NULL))) { /* keeps a symbolic link */
		free(dir);
		dir = there;
	}
	g.dir = dir;
	rc = folder_write_folder(&g, err);
	free(dir);
	return rc;
}
