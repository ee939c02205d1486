/* folder.c - the report folder: built beside its place, put there whole.
 *
 * A reader of the folder sees the old report or the new one: where both exist
 * the two folders change names in one step (RENAME_EXCHANGE).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "emit/emit.h"
#include "base/par.h"
#include "passes/pass.h"

int nsx_emit_close(FILE *f, const char *path, struct nsx_err *err)
{
	int bad = ferror(f), error = errno;

	if (fflush(f))
		bad = 1, error = errno;
	if (fclose(f) && !bad)
		bad = 1, error = errno;
	if (bad)
		return nsx_fail(err, NSX_E_IO, "cannot write '%s': %s", path,
				strerror(error ? error : EIO));
	return 0;
}

static int make_path(char *buf, size_t size, const char *dir, const char *name,
		     struct nsx_err *err)
{
	if (snprintf(buf, size, "%s/%s", dir, name) >= (int)size)
		return nsx_fail(err, NSX_E_IO, "cannot write '%s': the path is "
				"too long", dir);
	return 0;
}

/* A file of the report; layout and table: of CSV files only. */
struct file {
	char name[128];
	int (*write)(const struct file *f, FILE *out, struct nsx_err *err);
	const struct nsx_report *report;
	const struct nsx_layout *layout;
	const struct nsx_table *table; /* NULL: not computed, header only */
};

struct folder {
	const char *dir;
	struct file *files;
	size_t nfiles;
};

static int write_file(void *ctx, size_t i, struct nsx_err *err)
{
	const struct folder *folder = ctx;
	const struct file *file = &folder->files[i];
	char path[4096], buffer[65536];
	FILE *f;
	int rc;

	if (make_path(path, sizeof(path), folder->dir, file->name, err))
		return err->rc;
	f = fopen(path, "wxe");
	if (!f)
		return nsx_fail(err, NSX_E_IO, "cannot write '%s': %s", path,
				strerror(errno));
	setvbuf(f, buffer, _IOFBF, sizeof(buffer));
	errno = 0;
	rc = file->write(file, f, err);
	if (rc) {
		(void)fclose(f);
		return rc;
	}
	return nsx_emit_close(f, path, err);
}

static int write_md(const struct file *f, FILE *out, struct nsx_err *err)
{
	return nsx_emit_md(f->report, out, err);
}

static int write_json(const struct file *f, FILE *out, struct nsx_err *err)
{
	return nsx_emit_json(f->report, out, err);
}

static int write_csv(const struct file *f, FILE *out, struct nsx_err *err)
{
	return nsx_emit_csv(f->layout, f->table, out, err);
}

/* Every table of every pass has its file. */
static void list_tables(const struct nsx_section *s, struct folder *f)
{
	for (unsigned k = 0; k < s->pass->nlayouts; k++) {
		struct file *file = &f->files[f->nfiles];

		file->write = write_csv;
		file->layout = &s->pass->layouts[k];
		if (!file->layout->csv)
			continue;
		for (size_t t = 0; t < s->ntables; t++)
			if (s->tables[t]->layout == file->layout &&
			    s->status == NSX_S_ANSWERED)
				file->table = s->tables[t];
		snprintf(file->name, sizeof(file->name), "tables/%s.csv",
			 file->layout->csv);
		f->nfiles++;
	}
}

/* The file that takes longest comes first. */
static void list_files(const struct nsx_report *r, struct nsx_arena *a,
		       struct folder *f)
{
	size_t most = 2;

	for (size_t i = 0; i < r->nsections; i++)
		most += r->sections[i].pass->nlayouts;
	f->files = nsx_arena_get(a, (most + 1) * sizeof(*f->files));
	f->files[0] = (struct file){"report.json", write_json, r, NULL, NULL};
	f->files[1] = (struct file){"report.md", write_md, r, NULL, NULL};
	f->nfiles = 2;
	for (size_t i = 0; i < r->nsections; i++)
		list_tables(&r->sections[i], f);
}

static int fill(const struct nsx_report *r, const char *dir, unsigned threads,
		struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct folder f = {.dir = dir};
	char tables[4096];
	int rc = make_path(tables, sizeof(tables), dir, "tables", err);

	if (!rc && mkdir(tables, 0777))
		rc = nsx_fail(err, NSX_E_IO, "cannot make '%s': %s", tables,
			      strerror(errno));
	list_files(r, a, &f);
	if (!rc)
		rc = nsx_par(threads, f.nfiles, write_file, &f, err);
	nsx_arena_free(a);
	return rc;
}

/* What is ours in a folder -----------------------------------------------------*/

static bool is_ours(const char *name, bool in_tables)
{
	size_t n = strlen(name);

	if (in_tables)
		return n > 4 && !strcmp(name + n - 4, ".csv");
	return !strcmp(name, "report.md") || !strcmp(name, "report.json") ||
	       !strcmp(name, "tables");
}

/* Calls fn(fd of dir, name) for each entry, until one returns not 0.
 * Returns that, or -1 (errno). Needs no memory: see nsx_at_death.
 */
static int each_entry(int at, const char *path,
		      int (*fn)(int dir, const char *name, void *ctx),
		      void *ctx)
{
	int fd = openat(at, path,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_Alignas(struct dirent64) char buf[4096];
	ssize_t n = -1;
	int rc = 0, error;

	while (fd >= 0 && !rc && (n = getdents64(fd, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; !rc && i < n;) {
			const struct dirent64 *e = (void *)(buf + i);

			if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
				rc = fn(fd, e->d_name, ctx);
			i += e->d_reclen;
		}
	error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	return rc ? rc : n < 0 ? -1 : 0;
}

static int check_entry(int dir, const char *name, void *ctx)
{
	bool in_tables = ctx != NULL;

	if (!is_ours(name, in_tables))
		return 1;
	if (!strcmp(name, "tables"))
		return each_entry(dir, name, check_entry, &in_tables);
	return 0;
}

static int remove_entry(int dir, const char *name, void *ctx)
{
	if (!unlinkat(dir, name, 0))
		return 0;
	if (errno != EISDIR && errno != EPERM) /* EPERM: what POSIX says */
		return -1;
	if (each_entry(dir, name, remove_entry, ctx))
		return -1;
	return unlinkat(dir, name, AT_REMOVEDIR);
}

/* 0, or -1 (errno). */
static int remove_tree(const char *path)
{
	return remove_entry(AT_FDCWD, path, NULL);
}

/* Other threads may still be writing into it. */
static void clean(void *path)
{
	while (remove_tree(path) && errno == ENOTEMPTY)
		;
}

/* Whether a report may take the place of what is at dir. */
static int check_place(const char *dir, bool force, struct nsx_err *err)
{
	struct stat st;
	int rc;

	if (lstat(dir, &st))
		return errno == ENOENT ? 0 :
			nsx_fail(err, NSX_E_IO, "cannot write to '%s': %s", dir,
				 strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return nsx_fail(err, NSX_E_IO, "cannot write to '%s': it is "
				"there and is not a folder; give another "
				"--out", dir);
	rc = force ? 0 : each_entry(AT_FDCWD, dir, check_entry, NULL);
	if (rc < 0)
		return nsx_fail(err, NSX_E_IO, "cannot look into '%s': %s", dir,
				strerror(errno));
	if (rc)
		return nsx_fail(err, NSX_E_IO, "cannot write to '%s': the "
				"folder holds something other than a report; "
				"give another --out, or --force to replace it",
				dir);
	return 0;
}

/* What was at dir, perhaps nothing, goes to old. */
static int swap_on_old_file_system(const char *tmp, const char *dir,
				   const char *old)
{
	int error;

	if (rename(dir, old) && errno != ENOENT)
		return -1;
	if (!rename(tmp, dir))
		return 0;
	error = errno;
	if (rename(old, dir) && errno != ENOENT)
		error = errno;
	errno = error;
	return -1;
}

/* *ret_old: where the report before is now, "" if there was none. */
static int put_in_place(const char *tmp, const char *dir, char *ret_old,
			size_t size, struct nsx_err *err)
{
	int rc = renameat2(AT_FDCWD, tmp, AT_FDCWD, dir, RENAME_NOREPLACE);

	if (rc && errno == EEXIST) {
		snprintf(ret_old, size, "%s", tmp);
		rc = renameat2(AT_FDCWD, tmp, AT_FDCWD, dir, RENAME_EXCHANGE);
	}
	if (rc && (errno == EINVAL || errno == ENOSYS)) {
		snprintf(ret_old, size, "%s.old", tmp);
		rc = swap_on_old_file_system(tmp, dir, ret_old);
	}
	if (rc)
		return nsx_fail(err, NSX_E_IO,
				"cannot put the report at '%s': %s", dir,
				strerror(errno));
	return 0;
}

/* mkdtemp makes private folders; a report is as readable as any new folder. */
static void allow_as_umask(const char *dir)
{
	mode_t mask = umask(0);

	umask(mask);
	chmod(dir, 0777 & ~mask);
}

int nsx_emit_folder(const struct nsx_report *r, const char *dir, bool force,
		    unsigned threads, struct nsx_err *err)
{
	char tmp[4096], old[4096 + 8] = "";
	size_t n = strlen(dir);
	int rc = check_place(dir, force, err);

	if (rc)
		return rc;
	while (n > 1 && dir[n - 1] == '/')
		n--;
	if (snprintf(tmp, sizeof(tmp), "%.*s.tmp-XXXXXX", (int)n, dir) >=
	    (int)sizeof(tmp))
		return nsx_fail(err, NSX_E_IO, "cannot write to '%s': the path "
				"is too long", dir);
	if (!mkdtemp(tmp))
		return nsx_fail(err, NSX_E_IO, "cannot make a folder beside "
				"'%s': %s", dir, strerror(errno));
	allow_as_umask(tmp);
	nsx_at_death(clean, tmp);
	rc = fill(r, tmp, threads, err);
	nsx_at_death(NULL, NULL);
	if (!rc)
		rc = put_in_place(tmp, dir, old, sizeof(old), err);
	if (rc)
		remove_tree(tmp);
	else if (*old && remove_tree(old) && errno != ENOENT)
		rc = nsx_fail(err, NSX_E_IO, "the report is at '%s', but "
			      "cannot remove the one before, now at '%s': %s",
			      dir, old, strerror(errno));
	return rc;
}
