/* loaded.c - keeps traces in memory, by the file from which they were read. */
#include <errno.h>
#include <malloc.h>
#include <unistd.h>
#include "agent/loaded.h"
#include "base/open.h"

enum { ENDS = 1 << 20, PIECE = 4096, PIECES = 256 };

static int hash_piece(int fd, const char *path, off_t at, size_t n,
		      uint64_t *hash, struct nsx_err *err)
{
	unsigned char bytes[PIECE];

	while (n) {
		ssize_t got = pread(fd, bytes, NSX_MIN(n, sizeof(bytes)), at);

		if (got < 0)
			return nsx_fail(err, NSX_E_IO, "cannot read '%s': %s",
					path, strerror(errno));
		if (!got)
			break;
		*hash = nsx_hash_u64(*hash ^ nsx_hash(bytes, (size_t)got));
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

/* Computes an id from the file's size, both its ends, and pages spread over it; the first page
 * holds SQLite's change counter.
 */
static int compute_trace_id(const char *path, char ret[NSX_TRACE_ID], struct nsx_err *err)
{
	int fd = nsx_open(path), rc;
	struct stat st;
	uint64_t hash;

	if (fd < 0 || fstat(fd, &st)) {
		rc = nsx_fail(err, NSX_E_IO, "cannot read '%s': %s", path, strerror(errno));
		if (fd >= 0)
			(void)close(fd);
		return rc;
	}
	hash = (uint64_t)st.st_size;
	rc = hash_piece(fd, path, 0, ENDS, &hash, err);
	for (int i = 1; i < PIECES && !rc && st.st_size > 2 * ENDS; i++)
		rc = hash_piece(fd, path, st.st_size / PIECES * i, PIECE, &hash, err);
	if (!rc && st.st_size > ENDS)
		rc = hash_piece(fd, path, st.st_size - ENDS, ENDS, &hash, err);
	(void)close(fd);
	snprintf(ret, NSX_TRACE_ID, "%016llx", (unsigned long long)hash);
	return rc;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void free_loaded(struct nsx_loaded *l)
{
	nsx_sql_free(l->subject.sql);
	nsx_report_free(l->report);
	free(l->path);
	free(l->window);
	free(l);
}

static void drop_report(struct nsx_cache *c, size_t i)
{
	free_loaded(c->v[i]);
	memmove(&c->v[i], &c->v[i + 1], (--c->n - i) * sizeof(*c->v));
}

/* The bytes of the heap in use. The size of a trace is the difference before and after loading. */
static size_t heap_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static int load_report(const struct nsx_cache *c, const char *path, const char *window,
		       struct nsx_progress *progress, struct nsx_loaded **ret, struct nsx_err *err)
{
	struct nsx_loaded *l = nsx_alloc(1, sizeof(*l));
	struct nsx_opts o = c->like;
	size_t before = heap_bytes();
	int rc;

	l->path = nsx_strdup(path);
	l->window = window ? nsx_strdup(window) : NULL;
	rc = stat(path, &l->file) ?
		     nsx_fail(err, NSX_E_IO, "cannot read '%s': %s", path,
			      strerror(errno)) :
		     compute_trace_id(path, l->id, err);
	o.path = l->path;
	o.window = l->window;
	o.purpose = NSX_FOR_QUESTIONS;
	o.threads = c->threads;
	o.progress = progress;
	if (!rc)
		rc = nsx_report_open(&o, &l->report, err);
	l->subject.r = l->report;
	l->subject.is_agents = true;
	nsx_progress_stage(progress, NULL, 0);
	if (rc) {
		free_loaded(l);
		return rc;
	}
	l->bytes = heap_bytes() > before ? heap_bytes() - before : 0;
	*ret = l;
	return 0;
}

/* Drops the traces that were not used for longest until the rest fits. `keep` is not dropped. */
static void drop_least_used(struct nsx_cache *c, const struct nsx_loaded *keep)
{
	size_t sum = 0;

	for (size_t i = 0; i < c->n; i++)
		sum += c->v[i]->bytes;
	while (sum > c->most_bytes && c->n > 1) {
		size_t oldest = c->v[0] == keep;

		for (size_t i = 0; i < c->n; i++)
			if (c->v[i] != keep && c->v[i]->asked < c->v[oldest]->asked)
				oldest = i;
		sum -= c->v[oldest]->bytes;
		drop_report(c, oldest);
	}
}

static bool is_unchanged(const struct nsx_loaded *l)
{
	struct stat now;

	return !stat(l->path, &now) && is_same_file(&l->file, &now);
}

static struct nsx_loaded *find_loaded_part(const struct nsx_cache *c, const char *path,
					   const char *window)
{
	return NSX_FIRST(i, c->n, !strcmp(c->v[i]->path, path) && is_unchanged(c->v[i]) &&
			 !strcmp(c->v[i]->window ?: "", window ?: ""), c->v[i], NULL);
}

struct nsx_loaded *nsx_cache_at(const struct nsx_cache *c, const char *path)
{
	return find_loaded_part(c, path, NULL);
}

int nsx_cache_get(struct nsx_cache *c, const char *path, const char *window,
		  struct nsx_progress *progress, struct nsx_loaded **ret, struct nsx_err *err)
{
	struct nsx_loaded *l = find_loaded_part(c, path, window);

	for (size_t i = 0; i < c->n && !l; i++)
		if (!strcmp(c->v[i]->path, path) && !is_unchanged(c->v[i]))
			drop_report(c, i--);
	if (!l) {
		if (load_report(c, path, window, progress, &l, err))
			return err->rc;
		nsx_push_or_die(c->v, c->n, c->cap, l);
	}
	l->asked = ++c->count;
	drop_least_used(c, l);
	*ret = l;
	return 0;
}

struct nsx_loaded *nsx_cache_find(const struct nsx_cache *c, const char *id)
{
	return NSX_FIRST(i, c->n, !c->v[i]->window && !strcmp(c->v[i]->id, id), c->v[i], NULL);
}

void nsx_cache_done(struct nsx_cache *c)
{
	while (c->n)
		drop_report(c, c->n - 1);
	free(c->v);
}
