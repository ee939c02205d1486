/* input.c - reads inputs as digests, several at a time. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include "base/open.h"
#include "base/par.h"
#include "base/stat.h"
#include "fleet/input.h"
#include "nsysrep/nsysrep.h"

static int input_add(struct nsx_fleet_inputs *in, const char *path, struct nsx_err *err)
{
	const char **v = nsx_one_more(in->arena, in->path, in->n, sizeof(*v), "inputs", err);

	if (!v)
		return err->rc;
	in->path = v;
	v[in->n++] = nsx_arena_strdup(in->arena, path);
	return 0;
}

/* Whether the name has a known suffix with something before it. */
static bool is_input(const char *name, bool reports)
{
	return reports ? nsx_has_report_name(name + 1) :
	       nsx_ends_with(name + 1, ".sqlite") ||
	       nsx_ends_with(name + 1, ".nsxd") ||
	       nsx_ends_with(name + 1, ".nsxd.zst");
}

static int input_add_files(struct nsx_fleet_inputs *in, const char *path, bool reports,
			   struct nsx_err *err)
{
	DIR *d = nsx_open_folder(path);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return nsx_fail(err, NSX_E_IO, "cannot look into '%s': %s", path, strerror(errno));
	while (!rc && (e = readdir(d))) {
		NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

		if (!is_input(e->d_name, reports))
			continue;
		nsx_buf_printf(&b, "%s/%s", path, e->d_name);
		rc = input_add(in, b.p, err);
	}
	closedir(d);
	return rc;
}

/* Adds a folder's exports and digests. Reports are added only if it has neither, because exports
 * and digests are made from reports.
 */
static int add_folder(struct nsx_fleet_inputs *in, const char *path, struct nsx_err *err)
{
	size_t before = in->n;
	int rc = input_add_files(in, path, false, err);

	if (!rc && in->n == before)
		rc = input_add_files(in, path, true, err);
	if (!rc && in->n == before)
		rc = nsx_fail(err, NSX_E_USAGE, "the folder '%s' holds no inputs: names in "
			      ".sqlite, .nsxd, .nsxd.zst or .nsys-rep", path);
	return rc;
}

static int add_any(struct nsx_fleet_inputs *in, const char *path, struct nsx_err *err)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode) ?
		       add_folder(in, path, err) : input_add(in, path, err);
}

static int input_add_lines(struct nsx_fleet_inputs *in, const char *path, struct nsx_err *err)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t cap = 0;
	int rc = 0;

	if (!f)
		return nsx_fail(err, NSX_E_IO, "cannot read the list '%s': %s",
				path, strerror(errno));
	while (!rc && getline(&line, &cap, f) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (*line)
			rc = add_any(in, line, err);
	}
	free(line);
	(void)fclose(f);
	return rc;
}

int nsx_fleet_list(char *const *operands, int n, struct nsx_fleet_inputs *ret, struct nsx_err *err)
{
	struct nsx_fleet_inputs in = {.arena = nsx_arena_new()};
	size_t kept = 0;
	int rc = 0;

	for (int i = 0; i < n && !rc; i++)
		rc = operands[i][0] == '@' ? input_add_lines(&in, operands[i] + 1, err) :
					     add_any(&in, operands[i], err);
	if (!rc && !in.n)
		rc = nsx_fail(err, NSX_E_USAGE, "give traces, digests, folders "
			      "of them or @LIST: nsys-explain fleet INPUT...");
	nsx_sort(in.path, in.n, sizeof(*in.path), nsx_cmp_text);
	for (size_t i = 0; i < in.n; i++)
		if (!kept || strcmp(in.path[i], in.path[kept - 1]) != 0)
			in.path[kept++] = in.path[i];
	in.n = kept;
	if (rc)
		nsx_arena_free(in.arena);
	else
		*ret = in;
	return rc;
}

/* Reading ----------------------------------------------------------------------------*/

struct result {
	struct nsx_digest **v;
	size_t n;
	struct nsx_err err; /* rc 0: the input was read */
};
struct reading {
	const struct nsx_fleet_inputs *in;
	const struct nsx_digest_opts *o;
	struct result *results;
};

static int read_one(void *ctx, size_t i, struct nsx_err *err)
{
	struct reading *r = ctx;
	const char *path = r->in->path[i];
	struct result *x = &r->results[i];
	int rc = nsx_digest_is(path) ?
			 nsx_digest_load(path, r->o->keep, &x->v, &x->n, &x->err) :
			 nsx_digest_read_trace(path, r->o, &x->v, &x->n, &x->err);

	x->err.rc = rc;
	if (rc != NSX_E_NOMEM && rc != NSX_E_STOP && rc != NSX_E_USAGE)
		return nsx_stopped(err);
	*err = x->err;
	return rc;
}

/* Adds a line with the input's name, which a low-level error may lack. */
static void tell_left_out(const char *path, const struct nsx_err *why, struct nsx_left_out *ret)
{
	ret->n++;
	if (strstr(why->msg, path))
		nsx_buf_printf(&ret->why, "%s\n", why->msg);
	else
		nsx_buf_printf(&ret->why, "cannot read '%s': %s\n", path, why->msg);
}

static int input_join(const struct reading *r, size_t n, struct nsx_digest ***ret,
		      size_t *ret_n, struct nsx_left_out *left_out, struct nsx_err *err)
{
	size_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += r->results[i].n;
	*ret = nsx_try_alloc(all, sizeof(**ret), "ranks", err);
	if (!*ret)
		return err->rc;
	for (size_t i = 0; i < n; i++) {
		struct result *x = &r->results[i];

		if (x->err.rc)
			tell_left_out(r->in->path[i], &x->err, left_out);
		for (size_t k = 0; k < x->n; k++)
			x->v[k]->input = nsx_arena_strdup(
				x->v[k]->arena, nsx_base_name(r->in->path[i]));
		if (x->n)
			memcpy(*ret + *ret_n, x->v, x->n * sizeof(*x->v));
		*ret_n += x->n;
		x->n = 0;
	}
	return 0;
}

int nsx_fleet_read(const struct nsx_fleet_inputs *in,
		   const struct nsx_digest_opts *o, unsigned jobs,
		   struct nsx_digest ***ret, size_t *ret_n,
		   struct nsx_left_out *left_out, struct nsx_err *err)
{
	size_t n = in->n;
	struct reading r = {in, o, NULL};
	int rc;

	*ret_n = 0;
	r.results = nsx_try_alloc(n, sizeof(*r.results), "inputs", err);
	if (!r.results)
		return err->rc;
	rc = nsx_par(jobs, n, read_one, &r, err);
	if (!rc)
		rc = input_join(&r, n, ret, ret_n, left_out, err);
	for (size_t i = 0; i < n; i++)
		nsx_digests_free(r.results[i].v, r.results[i].n);
	free(r.results);
	return rc;
}
