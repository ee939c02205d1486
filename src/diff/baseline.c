/* baseline.c - writes and reads baselines. */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include "base/clock.h"
#include "base/jsonread.h"
#include "base/jsonw.h"
#include "base/open.h"
#include "base/stat.h"
#include "diff/baseline.h"
#include "emit/emit.h"
#include "fleet/digest.h"

#define RECORD "baseline.json"
enum { MOST_BYTES = 4 << 20, MOST_NAME = 64 };

static int check_name(const char *name, struct nsx_err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	size_t n = strlen(name);

	if (n && n <= MOST_NAME && strspn(name, letters) == n && *name != '.' && *name != '-')
		return 0;
	return nsx_fail(err, NSX_E_USAGE, "'%s' is no name for a baseline: letters, "
			"digits, '.', '_' and '-', %d at most", name, MOST_NAME);
}

static const char *folder_of(const char *store, const char *name, struct nsx_arena *a)
{
	return nsx_arena_printf(a, "%s/%s", store, name);
}

/* Reading -------------------------------------------------------------------------*/

static const char *baseline_text_of(const struct nsx_jsonr *j, const char *key, struct nsx_arena *a)
{
	const char *s = nsx_jsonr_str(nsx_jsonr_get(j, key));

	return nsx_arena_strdup(a, s ? s : "");
}

static bool read_runs(const struct nsx_jsonr *list, struct nsx_arena *a, struct nsx_baseline *ret)
{
	size_t n = nsx_jsonr_count(list);
	bool good = n && n <= NSX_MOST_RUNS;

	ret->runs = nsx_arena_get(a, (NSX_MIN(n, NSX_MOST_RUNS) + 1) * sizeof(*ret->runs));
	for (; good && ret->nruns < n; ret->nruns++) {
		const struct nsx_jsonr *x = nsx_jsonr_at(list, ret->nruns);
		struct nsx_baseline_run *run = &ret->runs[ret->nruns];

		run->file = baseline_text_of(x, "file", a);
		run->unit = baseline_text_of(x, "unit", a);
		good = nsx_jsonr_int(nsx_jsonr_get(x, "steps"), &run->steps) &&
		       nsx_jsonr_int(nsx_jsonr_get(x, "median_ns"), &run->median_ns) &&
		       *run->file && !strchr(run->file, '/');
	}
	return good;
}

static bool read_state(const struct nsx_jsonr *j, struct nsx_arena *a, struct nsx_baseline *ret)
{
	*ret = (struct nsx_baseline){.set_at = baseline_text_of(j, "set_at", a),
				     .why = baseline_text_of(j, "why", a)};
	return read_runs(nsx_jsonr_get(j, "runs"), a, ret);
}

static bool read_record(const struct nsx_jsonr *j, struct nsx_arena *a, struct nsx_baseline *ret)
{
	const struct nsx_jsonr *past = nsx_jsonr_get(j, "past");
	size_t n = NSX_MIN(nsx_jsonr_count(past), NSX_MOST_PAST);
	bool good = read_state(nsx_jsonr_get(j, "baseline"), a, ret);

	ret->past = nsx_arena_get(a, (n + 1) * sizeof(*ret->past));
	for (; good && ret->npast < n; ret->npast++)
		good = read_state(nsx_jsonr_at(past, ret->npast), a, &ret->past[ret->npast]);
	return good;
}

int nsx_baseline_load(const char *store, const char *name, struct nsx_arena *a,
		      struct nsx_baseline *ret, struct nsx_err *err)
{
	const char *path = nsx_arena_printf(a, "%s/%s/" RECORD, store, name);
	NSX_AT_EXIT(nsx_free_at) char *text = NULL;
	struct nsx_jsonr *j;
	struct nsx_err why;
	struct stat st;
	size_t n;

	if (check_name(name, err))
		return err->rc;
	if (stat(path, &st) && errno == ENOENT)
		return nsx_fail(err, NSX_E_USAGE, "there is no baseline '%s' in '%s': nsys-explain "
				"baseline set %s TRACE... makes it", name, store, name);
	if (nsx_read_named(path, "the baseline", MOST_BYTES, &text, &n, err))
		return err->rc;
	j = nsx_jsonr_parse(text, n, &why);
	if (!j || !read_record(j, a, ret)) {
		nsx_jsonr_free(j);
		return nsx_fail(err, NSX_E_DATA, "cannot read '%s': it is not as baseline "
				"set writes it; set the baseline anew", path);
	}
	nsx_jsonr_free(j);
	return 0;
}

int nsx_baseline_list(const char *store, struct nsx_arena *a, const char *const **ret,
		      size_t *ret_n, struct nsx_err *err)
{
	const char **names;
	struct dirent **v;
	int n = scandir(store, &v, NULL, alphasort);

	*ret_n = 0;
	if (n < 0 && errno == ENOENT)
		return 0;
	if (n < 0)
		return nsx_fail(err, NSX_E_IO, "cannot read '%s': %s", store, strerror(errno));
	names = nsx_arena_get(a, ((size_t)n + 1) * sizeof(*names));
	for (int i = 0; i < n; i++) {
		const char *name = v[i]->d_name;
		struct nsx_err ignored;
		struct stat st;

		if (!check_name(name, &ignored) &&
		    !stat(nsx_arena_printf(a, "%s/%s/" RECORD, store, name), &st))
			names[(*ret_n)++] = nsx_arena_strdup(a, name);
		free(v[i]);
	}
	free(v);
	*ret = names;
	return 0;
}

/* Writing -------------------------------------------------------------------------*/

struct run { /* one trace or digest, in memory */
	struct nsx_digest **v;
	size_t n;
};

static int write_digest(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct run *run = f->subject;
	struct nsx_digest_writer *w = NULL;
	const void *image;
	size_t n;
	int rc = nsx_digest_writer_new(&w, err);

	for (size_t i = 0; !rc && i < run->n; i++)
		rc = nsx_digest_add(w, run->v[i], err);
	if (!rc)
		rc = nsx_digest_image(w, &image, &n, err);
	if (!rc)
		fwrite(image, 1, n, out);
	nsx_digest_writer_free(w);
	return rc;
}

static void add_state(struct nsx_jsonw *w, const char *key, const struct nsx_baseline *b)
{
	nsx_jsonw_object(w, key);
	nsx_jsonw_str(w, "set_at", b->set_at);
	nsx_jsonw_str(w, "why", b->why);
	nsx_jsonw_array(w, "runs");
	for (size_t i = 0; i < b->nruns; i++) {
		nsx_jsonw_object(w, NULL);
		nsx_jsonw_str(w, "file", b->runs[i].file);
		nsx_jsonw_str(w, "unit", b->runs[i].unit);
		nsx_jsonw_int(w, "steps", b->runs[i].steps);
		nsx_jsonw_int(w, "median_ns", b->runs[i].median_ns);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
}

static int write_record(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_baseline *b = f->subject;
	struct nsx_jsonw *w = nsx_json_document(1, NULL);

	add_state(w, "baseline", b);
	nsx_jsonw_array(w, "past");
	for (size_t i = 0; i < b->npast; i++)
		add_state(w, NULL, &b->past[i]);
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
	return nsx_jsonw_finish(w, out, err);
}

/* Reads a run. The bytes of a digest are kept, to be written unchanged. */
static int read_run(const char *path, unsigned threads, struct run *ret, struct nsx_err *err)
{
	const struct nsx_digest_opts o = {.detail = NSX_DETAIL_COLLS, .rank = -1,
					  .threads = threads};

	return nsx_digest_is(path) ?
		       nsx_digest_load(path, NSX_KEEP_BYTES, &ret->v, &ret->n, err) :
		       nsx_digest_read_trace(path, &o, &ret->v, &ret->n, err);
}

static int baseline_sum_up(const struct run *run, const char *path, struct nsx_arena *a,
			   struct nsx_baseline_run *ret, struct nsx_err *err)
{
	size_t n = 0, k = 0;
	int64_t *walls;

	for (size_t i = 0; i < run->n; i++)
		n += run->v[i]->nsteps;
	ret->unit = "";
	for (k = 0; !n && run->v[0]->nwhole && k < NSX_NTOTALS; k++)
		nsx_add_to(&ret->median_ns, run->v[0]->whole->ns[k]);
	if (ret->median_ns)
		return 0;
	if (!n)
		return nsx_fail(err, NSX_E_USAGE, "cannot use '%s' as a baseline: nothing "
				"repeats in it, and its GPU work was not recorded", path);
	walls = nsx_arena_get(a, n * sizeof(*walls));
	for (size_t i = 0; i < run->n; i++)
		for (size_t s = 0; s < run->v[i]->nsteps; s++)
			walls[k++] = run->v[i]->steps[s].wall_ns;
	ret->unit = nsx_arena_strdup(a, run->v[0]->unit);
	ret->steps = (int64_t)n;
	ret->median_ns = nsx_to_i64(nsx_quantile(walls, n, 0.5));
	return 0;
}

/* Puts the former baseline at the front of the past. */
static void add_past(const struct nsx_baseline *old, struct nsx_arena *a, struct nsx_baseline *b)
{
	b->npast = NSX_MIN(old->npast + 1, NSX_MOST_PAST);
	b->past = nsx_arena_get(a, b->npast * sizeof(*b->past));
	b->past[0] = *old;
	for (size_t i = 1; i < b->npast; i++)
		b->past[i] = old->past[i - 1];
}

/* Checks the name for set or accept. *old: the existing baseline; its runs are NULL if there is
 * none.
 */
static int check_use(const struct nsx_baseline_opts *o, struct nsx_arena *a,
		     struct nsx_baseline *old, struct nsx_err *err)
{
	struct stat st;

	if (check_name(o->name, err))
		return err->rc;
	if (o->accepts)
		return nsx_baseline_load(o->store, o->name, a, old, err);
	if (!stat(nsx_arena_printf(a, "%s/" RECORD, folder_of(o->store, o->name, a)), &st))
		return nsx_fail(err, NSX_E_USAGE, "there is a baseline '%s' already: "
				"nsys-explain baseline accept %s TRACE... puts other runs "
				"in its place", o->name, o->name);
	return 0;
}

static int write_folder(const struct nsx_baseline_opts *o, const char *const *paths,
			const struct run *runs, const struct nsx_baseline *b,
			struct nsx_arena *a, struct nsx_err *err)
{
	struct nsx_out_file *files = nsx_arena_get(a, (b->nruns + 1) * sizeof(*files));

	for (size_t i = 0; i < b->nruns; i++) {
		files[i] = (struct nsx_out_file){.write = write_digest,
						 .subject = &runs[i]};
		snprintf(files[i].name, sizeof(files[i].name), "%s", b->runs[i].file);
	}
	files[b->nruns] = (struct nsx_out_file){.name = RECORD, .write = write_record,
						.subject = b};
	return nsx_folder_write(&(struct nsx_folder){
		.dir = folder_of(o->store, o->name, a), .files = files,
		.nfiles = b->nruns + 1, .inputs = paths, .ninputs = b->nruns,
		.threads = o->threads}, err);
}

/* Why a run is of a part of its trace; NULL: it is not. */
static const char *baseline_damage_of(const struct run *run, const char *path, struct nsx_arena *a)
{
	for (size_t i = 0; i < run->n; i++)
		if (run->v[i]->is_partial)
			return run->v[i]->damage ? nsx_arena_strdup(a, run->v[i]->damage) :
				nsx_arena_printf(a, "'%s': its trace had lost rows when it was "
						 "digested", path);
	return NULL;
}

int nsx_baseline_set(const struct nsx_baseline_opts *o, const char *const *paths, size_t n,
		     struct nsx_arena *a, const char **ret_damage, struct nsx_err *err)
{
	char now[NSX_UTC_SIZE];
	struct nsx_baseline old = {0}, b = {.set_at = now, .why = o->why ? o->why : ""};
	struct run *runs = nsx_arena_get(a, (n + 1) * sizeof(*runs));
	int rc = check_use(o, a, &old, err);

	*ret_damage = NULL;
	nsx_utc_now(now);
	b.runs = nsx_arena_get(a, (n + 1) * sizeof(*b.runs));
	for (; !rc && b.nruns < n; b.nruns++) {
		struct nsx_baseline_run *run = &b.runs[b.nruns];

		run->file = nsx_arena_printf(a, "run%zu.nsxd", b.nruns + 1);
		rc = read_run(paths[b.nruns], o->threads, &runs[b.nruns], err) ||
		     baseline_sum_up(&runs[b.nruns], paths[b.nruns], a, run, err) ? err->rc : 0;
		*ret_damage = *ret_damage ?: baseline_damage_of(&runs[b.nruns], paths[b.nruns], a);
	}
	if (o->accepts && !rc)
		add_past(&old, a, &b);
	if (!rc)
		rc = write_folder(o, paths, runs, &b, a, err);
	for (size_t i = 0; i < n; i++)
		nsx_digests_free(runs[i].v, runs[i].n);
	return rc;
}
