/* ours.c - lists the files that this program wrote, and compares folders with them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "base/jsonread.h"
#include "base/str.h"
#include "emit/ours.h"

/* Limit of a record's size in bytes. Our own records are far smaller. */
enum { MAX_RECORD = 256 << 20 };

struct listed {
	char *path;
	int64_t size_bytes, sum;
};
struct nsx_ours {
	const struct nsx_folder *folder;
	struct listed *v;
	size_t n, cap;
	/* Version 0.1.0 wrote the record: files with the names of this version are ours. */
	bool by_name;
};

/* Files in folders --------------------------------------------------------------*/

int nsx_each_entry(int at, const char *path,
		   int (*fn)(int dir, const char *name, void *ctx), void *ctx)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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

bool nsx_is_input(const char *const *inputs, size_t n, const struct stat *st)
{
	struct stat in;

	return NSX_ANY(i, n,
		       !stat(inputs[i], &in) && in.st_dev == st->st_dev && in.st_ino == st->st_ino);
}

/* Opens a plain file that is not an input of this run; -1: another kind of file, or unreadable. */
static int open_plain(const struct nsx_ours *o, int dir, const char *name, int64_t *ret_size)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
			nsx_is_input(o->folder->inputs, o->folder->ninputs, &st))) {
		close(fd);
		return -1;
	}
	*ret_size = fd < 0 ? 0 : (int64_t)st.st_size;
	return fd;
}

int nsx_checksum(int fd, int64_t *ret_size, uint32_t *ret_crc32)
{
	unsigned char buf[16384];
	ssize_t n;

	*ret_size = 0;
	*ret_crc32 = 0;
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		*ret_crc32 = libdeflate_crc32(*ret_crc32, buf, (size_t)n);
		*ret_size += n;
	}
	return n < 0 ? -1 : 0;
}

/* Lists --------------------------------------------------------------------------*/

static const struct nsx_out_file *record_of_folder(const struct nsx_folder *f)
{
	return &f->files[f->nfiles - 1];
}

static bool is_written(const struct nsx_folder *f, const char *path)
{
	return NSX_ANY(i, f->nfiles, !strcmp(f->files[i].name, path));
}

/* Whether an entry lies inside the folder; others are rejected, because a list may be forged. */
static bool ours_is_inside(const char *path)
{
	const char *slash = strchr(path, '/');

	return *path && *path != '/' && strcmp(path, "..") != 0 &&
	       strncmp(path, "../", 3) != 0 &&
	       (!slash || (slash[1] && strcmp(slash, "/..") != 0 && !strchr(slash + 1, '/')));
}

static void ours_add_listed(void *ctx, const char *path, int64_t size_bytes, int64_t sum)
{
	struct nsx_ours *o = ctx;

	if (!ours_is_inside(path))
		return;
	nsx_push_or_die(o->v, o->n, o->cap, (struct listed){nsx_strdup(path), size_bytes, sum});
}

/* The seal ends a record: the sum of the bytes before it. */
#define SEAL ",\n  \"crc32\": "

size_t nsx_seal(const char *text, size_t n, char *ret, size_t size)
{
	uint32_t sum = libdeflate_crc32(0, text, n);

	return (size_t)snprintf(ret, size, SEAL "%" PRIu32 "\n}\n", sum);
}

static bool is_sealed(const char *text, size_t n)
{
	char seal[NSX_SEAL_SIZE];

	for (size_t k = sizeof(SEAL); k < sizeof(seal) && k < n; k++)
		if (!strncmp(text + n - k, SEAL, strlen(SEAL)))
			return nsx_seal(text, n - k, seal, sizeof(seal)) == k &&
			       !strncmp(text + n - k, seal, k);
	return false;
}

/* The start of a record's list, which is its last member before the seal; NULL: none. JSON strings
 * hold no line feed, so the search cannot hit one.
 */
static char *find_record_list(char *text)
{
	char *at = NULL;

	for (char *p = text; (p = strstr(p, "\n  \"files\": [")); p++)
		at = p;
	return at;
}

/* Parses only the list of a sealed record, ignoring the rest. */
static void add_record(struct nsx_ours *o, char *text, size_t n, bool *ret_by_name)
{
	bool sealed = is_sealed(text, n);
	uint32_t sum = libdeflate_crc32(0, text, n);
	char *list = sealed ? find_record_list(text) : NULL;
	size_t before = o->n;

	if (list)
		*list = '{';
	else
		list = text;
	switch (nsx_json_files(list, n - (size_t)(list - text), ours_add_listed, o)) {
	case NSX_FILES_UNLISTED:
		if (ret_by_name)
			*ret_by_name = true;
		break;
	case NSX_FILES_LISTED:
		if (sealed)
			ours_add_listed(o, record_of_folder(o->folder)->name, (int64_t)n, sum);
		else
			while (o->n > before) /* the record was edited */
				free(o->v[--o->n].path);
		break;
	default:
		break;
	}
}

static void ours_read_record(struct nsx_ours *o, int fd, size_t size, bool *ret_by_name)
{
	NSX_AT_EXIT(nsx_free_at) char *text = size < MAX_RECORD ? malloc(size + 1) : NULL;
	size_t n = 0;
	ssize_t got = 1;

	while (text && n < size && got > 0) {
		got = read(fd, text + n, size - n);
		n += got > 0 ? (size_t)got : 0;
	}
	if (text && n == size) {
		text[n] = '\0';
		add_record(o, text, n, ret_by_name);
	}
}

struct nsx_ours *nsx_ours_new(const struct nsx_folder *f)
{
	struct nsx_ours *o = nsx_alloc(1, sizeof(*o));

	o->folder = f;
	return o;
}

void nsx_ours_free(struct nsx_ours *o)
{
	for (size_t i = 0; o && i < o->n; i++)
		free(o->v[i].path);
	if (o)
		free(o->v);
	free(o);
}

/* Adds the files listed in the record of the folder at dir. Returns whether there is a
 * record. ret_by_name: accepts a record of 0.1.0, and says so.
 */
static bool read_records(struct nsx_ours *o, const char *dir, bool *ret_by_name)
{
	int at = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int64_t size = 0;
	int fd = at < 0 ? -1 : open_plain(o, at, record_of_folder(o->folder)->name, &size);

	if (fd >= 0) {
		ours_read_record(o, fd, (size_t)size, ret_by_name);
		close(fd);
	}
	if (at >= 0)
		close(at);
	return fd >= 0;
}

static bool ours_is_ours(const struct nsx_ours *o, int dir, const char *name, const char *path)
{
	int64_t size, read_size;
	int fd = open_plain(o, dir, name, &size);
	bool ours = fd >= 0 && o->by_name && is_written(o->folder, path);
	uint32_t sum;

	for (size_t i = 0; fd >= 0 && !ours && i < o->n; i++)
		ours = o->v[i].size_bytes == size &&
		       !strcmp(o->v[i].path, path) && !lseek(fd, 0, SEEK_SET) &&
		       !nsx_checksum(fd, &read_size, &sum) && read_size == size &&
		       sum == o->v[i].sum;
	if (fd >= 0)
		close(fd);
	return ours;
}

/* Whether path is a subfolder of files that we write or wrote, such as "tables". */
static bool is_our_folder(const struct nsx_ours *o, const char *path)
{
	const struct nsx_out_file *f = o->folder->files;
	size_t n = strlen(path);

	return NSX_ANY(i, o->folder->nfiles, !strncmp(f[i].name, path, n) && f[i].name[n] == '/') ||
	       NSX_ANY(i, o->n, !strncmp(o->v[i].path, path, n) && o->v[i].path[n] == '/');
}

/* Surveys ------------------------------------------------------------------------*/

struct walk {
	const struct nsx_ours *ours;
	char path[512]; /* path of the entry, relative to the folder */
	size_t n;	/* length of the subfolder's name with its slash */
	struct nsx_survey *survey;
};

static int each_in_ours(struct walk *w, int dir, const char *name,
			int (*fn)(int dir, const char *name, void *ctx))
{
	size_t n = w->n;
	int rc;

	w->n = strlen(w->path);
	w->path[w->n++] = '/';
	rc = nsx_each_entry(dir, name, fn, w);
	w->n = n;
	return rc;
}

static bool is_folder(int dir, const char *name)
{
	struct stat st;

	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode);
}

/* Sets the path of an entry. False: the path is too long for one of our files. */
static bool set_path(struct walk *w, const char *name)
{
	int room = (int)(sizeof(w->path) - w->n) - 2;

	return snprintf(w->path + w->n, sizeof(w->path) - w->n, "%s", name) < room;
}

/* Whether to report w->path as the user's file that is in the way. Only one is reported: the
 * folder's record (report.json or the like) if it is among them, otherwise the first by name.
 */
static bool is_file_to_report(const struct walk *w)
{
	const char *record = record_of_folder(w->ours->folder)->name;
	const char *named = w->survey->collision;

	return !*named || !strcmp(w->path, record) ||
	       (strcmp(named, record) != 0 && strcmp(w->path, named) < 0);
}

static int survey_entry(int dir, const char *name, void *ctx)
{
	struct walk *w = ctx;
	struct nsx_survey *s = w->survey;
	bool may_be_ours = set_path(w, name);
	bool our_folder = may_be_ours && !w->n && is_our_folder(w->ours, name);

	if (our_folder && is_folder(dir, name))
		return each_in_ours(w, dir, name, survey_entry);
	if (may_be_ours && ours_is_ours(w->ours, dir, name, w->path)) {
		s->ours++;
		return 0;
	}
	s->others++;
	if (may_be_ours && is_file_to_report(w) &&
	    (our_folder || is_written(w->ours->folder, w->path)))
		snprintf(s->collision, sizeof(s->collision), "%s", w->path);
	return 0;
}

int nsx_ours_survey(const struct nsx_ours *o, const char *dir,
		    struct nsx_survey *ret, struct nsx_err *err)
{
	struct walk w = {.ours = o, .survey = ret};

	*ret = (struct nsx_survey){0};
	if (!nsx_each_entry(AT_FDCWD, dir, survey_entry, &w))
		return 0;
	return nsx_fail(err, NSX_E_IO, "cannot look into '%s': %s", dir, strerror(errno));
}

static int remove_stale_entry(int dir, const char *name, void *ctx)
{
	struct walk *w = ctx;

	if (!set_path(w, name))
		return 0;
	if (!w->n && is_our_folder(w->ours, name) && is_folder(dir, name)) {
		int rc = each_in_ours(w, dir, name, remove_stale_entry);

		unlinkat(dir, name, AT_REMOVEDIR); /* only if it is empty now */
		return rc;
	}
	if (is_written(w->ours->folder, w->path) || !ours_is_ours(w->ours, dir, name, w->path))
		return 0;
	return unlinkat(dir, name, 0) && errno != ENOENT ? -1 : 0;
}

int nsx_ours_drop_stale(const struct nsx_ours *o, const char *dir, struct nsx_err *err)
{
	struct walk w = {.ours = o};

	if (!nsx_each_entry(AT_FDCWD, dir, remove_stale_entry, &w))
		return 0;
	return nsx_fail(err, NSX_E_IO, "cannot remove '%s/%s' of the report "
			"before: %s", dir, w.path, strerror(errno));
}

/* Leftovers of killed runs ----------------------------------------------------------- */

int nsx_remove_entry(int dir, const char *name, void *ctx NSX_UNUSED)
{
	int rc = unlinkat(dir, name, 0);

	if (rc && (errno == EISDIR || errno == EPERM)) /* POSIX gives EPERM for a folder */
		rc = unlinkat(dir, name, AT_REMOVEDIR);
	if (rc && (errno == ENOTEMPTY || errno == EEXIST))
		rc = nsx_each_entry(dir, name, nsx_remove_entry, NULL) ?:
		     unlinkat(dir, name, AT_REMOVEDIR);
	return rc && errno != ENOENT ? -1 : 0;
}

struct leftovers {
	const struct nsx_folder *folder;
	const char *dir;
	struct nsx_ours *read_into; /* records are read into it; NULL: leftovers are removed */
	const struct nsx_ours *known;
};

static bool does_folder_hold_only_ours(const struct nsx_ours *o, const char *path)
{
	struct nsx_survey s;
	struct nsx_err err;

	return o && !nsx_ours_survey(o, path, &s, &err) && !s.others;
}

/* An unfinished leftover has no record, so files are judged by their names. */
static void remove_leftover(const struct leftovers *l, const char *path)
{
	struct nsx_ours *own = nsx_ours_new(l->folder);

	if (!read_records(own, path, &own->by_name))
		own->by_name = true;
	if (does_folder_hold_only_ours(own, path) || does_folder_hold_only_ours(l->known, path))
		(void)!nsx_remove_entry(AT_FDCWD, path, NULL);
	nsx_ours_free(own);
}

/* Reads the records of a folder that a killed run left, or removes the folder. A running process
 * holds a lock on its folder, which is skipped.
 */
static int visit_leftover(int dir, const char *name, void *ctx)
{
	const struct leftovers *l = ctx;
	char path[4096];
	int fd;

	if (strncmp(name, NSX_STAGE, strlen(NSX_STAGE)) != 0 ||
	    snprintf(path, sizeof(path), "%s/%s", l->dir, name) >= (int)sizeof(path))
		return 0;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (!flock(fd, LOCK_EX | LOCK_NB)) {
		if (l->read_into)
			read_records(l->read_into, path, NULL);
		else
			remove_leftover(l, path);
	}
	close(fd);
	return 0;
}

void nsx_ours_read(struct nsx_ours *o)
{
	struct leftovers l = {o->folder, o->folder->dir, o, NULL};

	read_records(o, o->folder->dir, &o->by_name);
	nsx_each_entry(AT_FDCWD, l.dir, visit_leftover, &l);
}

void nsx_ours_tidy(const struct nsx_folder *f, const char *dir, const struct nsx_ours *known)
{
	struct leftovers l = {f, dir, NULL, known};

	nsx_each_entry(AT_FDCWD, dir, visit_leftover, &l);
}
