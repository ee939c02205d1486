/* place.c - chooses a capture's folder and file names, and checks for space.
 *
 * --out may contain the patterns of nsys's own --output (%h, %p, %q{VAR}), so that many ranks can
 * share one command line. If a launcher numbers its ranks, file names contain the rank's number, so
 * that ranks can share a folder.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/open.h"
#include "capture/capture.h"
#include "emit/folder.h"

/* Variables with a rank's number. The innermost launcher comes first, because under srun all ranks
 * of one torchrun have the same SLURM_PROCID.
 */
static const char *const rank_names[] = {
	"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID",
};

static const char *rank_suffix(struct nsx_arena *a)
{
	for (unsigned i = 0; i < ARRAY_LEN(rank_names); i++) {
		const char *s = getenv(rank_names[i]);

		if (s && *s && !s[strspn(s, "0123456789")])
			return nsx_arena_printf(a, ".rank%s", s);
	}
	return "";
}

/* Expands "%q{VAR}" at *s and advances past it. */
static int expand_variable(struct nsx_buf *b, const char **s,
			   struct nsx_arena *a, struct nsx_err *err)
{
	const char *end = strchr(*s, '}'), *name, *value;

	if ((*s)[2] != '{' || !end)
		return nsx_fail(err, NSX_E_USAGE,
			"cannot read '%s' in --out: it is %%q{VARIABLE}", *s);
	name = nsx_arena_strndup(a, *s + 3, (size_t)(end - *s - 3));
	value = getenv(name);
	if (!value)
		return nsx_fail(err, NSX_E_USAGE, "cannot expand '%%q{%s}' in --out: it is not set",
			name);
	nsx_buf_adds(b, value);
	*s = end + 1;
	return 0;
}

static int expand_pattern(struct nsx_buf *b, const char *s, struct nsx_arena *a,
			  struct nsx_err *err)
{
	char host[256] = "";

	while (*s) {
		if (s[0] == '%' && s[1] == 'q') {
			if (expand_variable(b, &s, a, err))
				return err->rc;
			continue;
		}
		if (s[0] != '%' || !strchr("hp%", s[1]) || !s[1]) {
			nsx_buf_add(b, s++, 1);
			continue;
		}
		gethostname(host, sizeof(host) - 1);
		if (s[1] == 'h')
			nsx_buf_adds(b, host);
		else if (s[1] == 'p')
			nsx_buf_printf(b, "%d", (int)getpid());
		else
			nsx_buf_adds(b, "%");
		s += 2;
	}
	return 0;
}

static void note_time(struct nsx_capture *c)
{
	char text[32];
	struct tm tm;

	c->began = time(NULL);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&c->began, &tm));
	c->captured_at = nsx_arena_strdup(c->arena, text);
}

/* capture-PROGRAM-20260131-235959, with -2 appended if that exists. */
static const char *default_dir(const struct nsx_capture *c)
{
	const char *what = c->opts->session ? c->opts->session : c->command[0];
	const char *dir, *first;
	char text[32];
	struct tm tm;

	strftime(text, sizeof(text), "%Y%m%d-%H%M%S", localtime_r(&c->began, &tm));
	dir = first = nsx_arena_printf(c->arena, "capture-%s-%s", nsx_base_name(what), text);
	for (int i = 2; !access(dir, F_OK) && i < 1000; i++)
		dir = nsx_arena_printf(c->arena, "%s-%d", first, i);
	return dir;
}

/* Whether this rank's capture may write a file of this name. */
static bool is_result_name(const struct nsx_capture *c, const char *name)
{
	size_t n = strlen(c->rank);

	if (!strncmp(name, "nsys_capture", 12))
		return !strncmp(name + 12, c->rank, n) && !strcmp(name + 12 + n, ".json");
	return !strncmp(name, "trace", 5) && !strncmp(name + 5, c->rank, n) &&
	       name[5 + n] == '.' && strncmp(name + 5 + n, ".rank", 5) != 0;
}

/* Whether the file is the record of a failed capture, which may be replaced. */
static bool is_of_failure(const struct nsx_capture *c, const char *name)
{
	static const char begins[] = "{\n  \"schema_version\": 1,\n  \"ok\": false,\n"
				     "  \"captured_at\": ";
	char head[sizeof(begins)];

	return nsx_read_head(nsx_arena_printf(c->arena, "%s/%s", c->dir, name), head,
			     sizeof(head)) && !strcmp(head, begins);
}

/* Fails if the folder has a result already. A recording is never replaced, because it cannot be
 * repeated.
 */
static int check_names(const struct nsx_capture *c, struct nsx_err *err)
{
	DIR *d = opendir(c->dir);
	const struct dirent *e;
	int rc = 0;

	while (d && !rc && (e = readdir(d)))
		if (is_result_name(c, e->d_name) && !is_of_failure(c, e->d_name))
			rc = nsx_fail(err, NSX_E_IO, "cannot capture into '%s': '%s' is there "
				      "already; give another --out, or move it away",
				      c->dir, e->d_name);
	if (d)
		closedir(d);
	return rc;
}

/* Creates the work folder, which marks the result folder as in use: of two concurrent captures into
 * it, one fails here, before it records.
 */
static int make_work_folder(struct nsx_capture *c, struct nsx_err *err)
{
	const char *work = nsx_arena_printf(c->arena, "%s/.capture-work%s", c->dir, c->rank);

	if (!mkdir(work, 0700)) {
		c->work = work;
		return 0;
	}
	if (errno == EEXIST)
		return nsx_fail(err, NSX_E_IO, "cannot capture into '%s': another "
				"capture is under way there; give another --out, "
				"or if it was killed remove '%s'", c->dir, work);
	return nsx_fail(err, NSX_E_IO, "cannot write in '%s': %s", c->dir, strerror(errno));
}

static int place_check_room(const char *path, struct nsx_err *err)
{
	const char *asked = getenv("NSX_CAPTURE_MIN_FREE_MB"); /* for tests */
	int64_t want = asked ? atoll(asked) : NSX_MIN_ROOM_MB;
	int64_t have = nsx_file_room_mb(path);

	if (have < 0 || have >= want)
		return 0;
	return nsx_fail(err, NSX_E_IO, "the disk of '%s' is full: %jd MB are free, a capture needs "
			"%jd; make room or choose another place with --out (and NSYS_TMPDIR)",
			path, (intmax_t)have, (intmax_t)want);
}

int nsx_capture_place(struct nsx_capture *c, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = { 0 };

	note_time(c);
	if (c->opts->out) {
		if (expand_pattern(&b, c->opts->out, c->arena, err))
			return err->rc;
		c->dir = nsx_arena_strdup(c->arena, b.n ? b.p : ".");
	} else {
		c->dir = default_dir(c);
	}
	c->rank = rank_suffix(c->arena);
	if (nsx_make_dirs(c->dir, &c->had, err)) {
		c->dir = NULL;
		return err->rc;
	}
	if (make_work_folder(c, err) || check_names(c, err))
		return err->rc;
	return place_check_room(c->dir, err) ?: place_check_room(nsx_capture_tmp(), err);
}
