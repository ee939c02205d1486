/* exported.c - exports reports: with this program, or with the nsys that the user names for
 * content that this program does not read. nsys exports into a folder of its own.
 */
#include <errno.h>
#include <unistd.h>
#include "capture/capture.h"
#include "cli/exported.h"
#include "emit/target.h"
#include "nsysrep/nsysrep.h"
#include "sqlite/sniff.h"
#include "sqlite/source.h"

/* An export may have a report's name. */
static bool is_database(const char *path)
{
	struct nsx_sniff sniff;
	struct nsx_err err;

	if (nsx_sniff_file(path, &sniff, &err))
		return false;
	(void)close(sniff.fd);
	return true;
}

bool nsx_is_capture(const char *path)
{
	return nsx_is_report(path) || (nsx_has_report_name(path) && !is_database(path));
}

/* The length of a trace's name without its suffix. */
static size_t stem_length(const char *path)
{
	size_t n = strlen(path), stem;

	if (!nsx_is_capture(path) && !nsx_ends_with(path, ".sqlite"))
		return n;
	if (nsx_ends_with(path, ".zst"))
		n -= strlen(".zst");
	for (stem = n - 1; stem && path[stem] != '.'; stem--)
		;
	return stem && path[stem - 1] != '/' ? stem : n;
}

const char *nsx_default_out(const char *path, const char *suffix, struct nsx_arena *a)
{
	const char *base = nsx_base_name(path);

	return nsx_arena_printf(a, "%.*s%s", (int)stem_length(base), base, suffix);
}

static int make_dir(const char *beside, struct nsx_exported *ret, struct nsx_err *err)
{
	const char *slash = beside ? strrchr(beside, '/') : NULL;
	const char *tmp = getenv("TMPDIR");
	struct nsx_buf b = {0};

	if (slash)
		nsx_buf_add(&b, beside, (size_t)(slash - beside));
	else if (beside && strcmp(beside, "-"))
		nsx_buf_adds(&b, ".");
	else
		nsx_buf_adds(&b, tmp && *tmp ? tmp : "/tmp");
	nsx_buf_adds(&b, "/.nsys-explain-export-XXXXXX");
	if (mkdtemp(b.p)) {
		ret->dir = b.p;
		return 0;
	}
	(void)nsx_fail(err, NSX_E_IO, "cannot make a folder for the export, "
		       "'%s': %s", b.p, strerror(errno));
	nsx_buf_done(&b);
	return err->rc;
}

int nsx_export(const char *input, const char *to, struct nsx_err *err)
{
	struct nsx_target target = {.path = to, .inputs = &input, .ninputs = 1};
	struct nsx_db *db = NULL;
	const void *image;
	size_t n;
	int rc = nsx_target_check(&target, err) ?: nsx_report_read(input, &db, err) ?:
		 nsx_db_fill(db, err) ?: nsx_db_image(db, &image, &n, err) ?:
		 nsx_target_write(&target, image, n, err);

	if (!rc && nsx_db_note(db))
		fprintf(stderr, "nsys-explain: warning: the export may lack something: %s\n",
			nsx_db_note(db));
	if (!rc && nsx_db_warning(db)) {
		nsx_fail(err, NSX_E_DATA, "wrote what can be read of '%s', but "
			 "%s", input, nsx_db_warning(db));
		rc = 1;
	}
	nsx_db_close(db);
	return rc;
}

int nsx_exported_open(const char *input, const struct nsx_export_opts *o,
		      struct nsx_exported *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *arena = nsx_arena_new();
	struct nsx_buf b = {0};
	int rc;

	*ret = (struct nsx_exported){.path = NULL};
	if (!nsx_is_capture(input)) {
		if (o->keep)
			return nsx_fail(err, NSX_E_USAGE, "--keep-export keeps the export of a "
					".nsys-rep, and '%s' is none: leave it out", input);
		ret->path = nsx_strdup(input);
		return 0;
	}
	if (o->keep && !o->replace && !access(o->keep, F_OK))
		return nsx_fail(err, NSX_E_IO, "cannot write '%s': it is there already", o->keep);
	if (nsx_is_report(input) && !o->nsys) {
		ret->path = nsx_strdup(input);
		return o->keep ? NSX_MIN(nsx_export(input, o->keep, err), 0) : 0;
	}
	if (access(input, R_OK))
		return nsx_fail(err, NSX_E_IO, "cannot read '%s': %s", input, strerror(errno));
	if (nsx_sniff_other(input, err))
		return err->rc;
	if (make_dir(o->keep ? o->keep : o->beside, ret, err))
		return err->rc;
	nsx_buf_printf(&b, "%s/export.sqlite", ret->dir);
	ret->path = b.p;
	rc = nsx_export_report(input, o->nsys, ret->path, arena, err);
	if (rc || !o->keep)
		return rc;
	rc = nsx_file_move(ret->path, o->keep, err);
	free(ret->path);
	ret->path = nsx_strdup(o->keep);
	return rc;
}

void nsx_exported_done(struct nsx_exported *e)
{
	if (e->dir)
		(void)nsx_file_remove_tree(e->dir);
	free(e->dir);
	free(e->path);
	*e = (struct nsx_exported){.path = NULL};
}
