/* export.c - turns nsys's report into the files to keep.
 *
 * A report that this program cannot fully read is exported at once, because only the nsys that
 * wrote it is sure to read it. The database gets its final name when it is complete.
 */
#include <unistd.h>
#include "capture/capture.h"
#include "nsysrep/nsysrep.h"

/* Options of the export that are used if this nsys knows them. JSON and blobs contain NVTX
 * payloads. Without "lazy" the export has empty tables, which show that nothing of a kind happened.
 */
static const struct {
	const char *name, *value;
} options[] = { { "include-json", "true" },
		{ "include-blobs", "true" },
		{ "lazy", "false" },
		{ "force-overwrite", "true" } };

static const char *final_name(const struct nsx_capture *c,
			      const struct nsx_product *p, const char *suffix)
{
	return nsx_arena_printf(c->arena, "%s/trace%s%s%s", c->dir, c->rank, p->number, suffix);
}

static const char *suffix_of(const char *path)
{
	return strrchr(path, '.');
}

/* Exports a report with this nsys. Owner of *ret_end: the caller, nsx_proc_end_done, even after an
 * error.
 */
static int export_with(const struct nsx_nsys *n, const char *rep, const char *to,
		      struct nsx_arena *a, struct nsx_proc_end *ret_end, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_args_done) struct nsx_args args = { 0 };
	struct nsx_proc proc = { .limit_s = 600 +
					    (double)nsx_file_size(rep) / 1e6 };

	nsx_args_add(&args, n->path);
	nsx_args_add(&args, "export");
	nsx_args_add(&args, "--type=sqlite");
	for (unsigned i = 0; i < ARRAY_LEN(options); i++)
		if (nsx_nsys_knows(n->export_help, options[i].name, NULL))
			nsx_args_add(&args, nsx_arena_printf(a, "--%s=%s", options[i].name,
							     options[i].value));
	nsx_args_add(&args, nsx_arena_printf(a, "--output=%s", to));
	nsx_args_add(&args, rep);
	proc.argv = args.argv;
	if (nsx_proc_run(&proc, ret_end, err))
		return err->rc;
	if (!ret_end->code && nsx_file_size(to) > 0)
		return 0;
	return nsx_fail(err, NSX_E_IO, "nsys export ended with code %d%s: %s", ret_end->code,
			ret_end->timed_out ? " (it took too long)" : "",
			nsx_proc_words(ret_end, a));
}

int nsx_export_report(const char *rep, const char *nsys_path, const char *to,
		      struct nsx_arena *arena, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_proc_end_done) struct nsx_proc_end end = {0};
	struct nsx_nsys *nsys;
	size_t n;
	int rc;

	nsys = nsx_nsys_list(arena, nsys_path, &n);
	if (!n)
		return nsx_fail(err, NSX_E_IO, "'%s' must be exported, but no "
				"nsys was found; on a machine that has it run: "
				"nsys export --type sqlite '%s'", rep, rep);
	nsx_proc_guard();
	rc = nsx_nsys_ask(nsys, arena, err) ?: export_with(nsys, rep, to, arena, &end, err);
	nsx_proc_sweep(0.5, NULL);
	nsx_proc_unguard();
	return rc;
}

static int run_export(struct nsx_capture *c, const struct nsx_product *p,
		      const char *to, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_proc_end_done) struct nsx_proc_end end;
	int rc = export_with(c->nsys, p->rep, to, c->arena, &end, err);

	if (rc)
		nsx_buf_add(&c->end.err, end.err.n ? end.err.p : "", end.err.n);
	return rc;
}

/* Moves the report to the result folder, compressed or deleted if the user asked for it. A failure
 * is only a warning if the report was exported.
 */
static int settle_report(struct nsx_capture *c, struct nsx_product *p, struct nsx_err *ret)
{
	const char *suffix = suffix_of(p->rep);
	const char *to = final_name(c, p, suffix), *small;
	struct nsx_err err;

	if (c->opts->delete_rep) {
		unlink(p->rep);
		p->rep = NULL;
		return 0;
	}
	if (c->opts->compress_rep) {
		small = nsx_arena_printf(c->arena, "%s.zst", p->rep);
		to = final_name(c, p, nsx_arena_printf(c->arena, "%s.zst", suffix));
		if (!nsx_file_compress(p->rep, small, &err) && !nsx_file_move(small, to, &err)) {
			p->rep = to;
			p->rep_bytes = nsx_file_size(to);
			return 0;
		}
		nsx_capture_warn(c, "%s; the report stays as it is", err.msg);
		to = final_name(c, p, suffix);
	}
	if (!nsx_file_move(p->rep, to, &err))
		p->rep = to;
	else if (p->sqlite)
		nsx_capture_warn(c, "%s", err.msg);
	else
		*ret = err;
	return p->sqlite || p->rep == to ? 0 : ret->rc;
}

/* Whether this program reads the report completely, without nsys. */
static bool is_read_whole(const struct nsx_product *p)
{
	struct nsx_db *db;
	struct nsx_err err;
	bool is_whole;

	if (!nsx_is_report(p->rep) || nsx_report_read(p->rep, &db, &err))
		return false;
	is_whole = !nsx_db_note(db) && !nsx_db_warning(db);
	nsx_db_close(db);
	return is_whole;
}

static int export_one(struct nsx_capture *c, struct nsx_product *p, struct nsx_err *err)
{
	const char *made = nsx_arena_printf(c->arena, "%s/trace.sqlite", c->work);
	const char *kept = final_name(c, p, suffix_of(p->rep));
	struct nsx_err moving = {0};

	if (!c->opts->export && !c->opts->delete_rep && is_read_whole(p))
		return settle_report(c, p, err);
	if (!run_export(c, p, made, err)) {
		p->sqlite = final_name(c, p, ".sqlite");
		p->sqlite_bytes = nsx_file_size(made);
		if (nsx_file_move(made, p->sqlite, err))
			return err->rc;
		return settle_report(c, p, err);
	}
	if (nsx_file_move(p->rep, kept, &moving))
		return err->rc;
	p->rep = kept;
	return nsx_fail(err, err->rc, "%s; the report is kept: nsys export -t sqlite '%s' with a "
			"newer nsys may do it", nsx_arena_strdup(c->arena, err->msg), kept);
}

int nsx_capture_export(struct nsx_capture *c, struct nsx_err *err)
{
	struct nsx_err one;
	int rc = 0;

	for (size_t i = 0; i < c->nproducts; i++)
		if (export_one(c, &c->products[i], &one) && !rc) {
			*err = one;
			rc = one.rc;
		}
	return rc;
}
