/* summary.c - writes nsys_capture.json, the record of a capture. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>
#include "capture/capture.h"
#include "base/jsonw.h"

enum { TAIL_BYTES = 1024 };

static void write_words(struct nsx_jsonw *w, const char *key, const char *const *words)
{
	nsx_jsonw_array(w, key);
	for (; words && *words; words++)
		nsx_jsonw_str(w, NULL, *words);
	nsx_jsonw_end(w);
}

static void write_warnings(struct nsx_jsonw *w, const struct nsx_buf *lines)
{
	const char *s = lines->n ? lines->p : "";

	nsx_jsonw_array(w, "warnings");
	while (*s) {
		size_t n = strcspn(s, "\n");

		nsx_jsonw_strn(w, NULL, s, n);
		s += n + (s[n] == '\n');
	}
	nsx_jsonw_end(w);
}

static void write_size(struct nsx_jsonw *w, const char *key, const char *path, int64_t bytes)
{
	if (path)
		nsx_jsonw_real(w, key, (double)bytes / 1e6);
	else
		nsx_jsonw_null(w, key);
}

static void write_files(struct nsx_jsonw *w, const char *key, const struct nsx_product *p)
{
	nsx_jsonw_object(w, key);
	nsx_jsonw_str(w, "nsys_rep", p->rep);
	write_size(w, "nsys_rep_size_mb", p->rep, p->rep_bytes);
	nsx_jsonw_str(w, "sqlite", p->sqlite);
	write_size(w, "sqlite_size_mb", p->sqlite, p->sqlite_bytes);
	nsx_jsonw_end(w);
}

static void write_run(struct nsx_jsonw *w, const struct nsx_capture *c)
{
	static const char *const ends[] = {"command", "duration", "signal", "hung"};
	int code = nsx_capture_target_code(c);

	if (code >= 0)
		nsx_jsonw_int(w, "target_exit_code", code);
	else
		nsx_jsonw_null(w, "target_exit_code");
	nsx_jsonw_real(w, "target_duration_s", round(c->target_s * 1e3) / 1e3);
	write_files(w, "files", &c->products[0]);
	if (c->steady_ns >= 0)
		nsx_jsonw_int(w, "steady_state_start_ns", c->steady_ns);
	else
		nsx_jsonw_null(w, "steady_state_start_ns");
	write_warnings(w, &c->warnings);
	nsx_jsonw_str(w, "ended_by", ends[c->ended]);
	nsx_jsonw_int(w, "nsys_exit_code", c->end.code);
	nsx_jsonw_array(w, "more_files");
	for (size_t i = 1; i < c->nproducts; i++)
		write_files(w, NULL, &c->products[i]);
	nsx_jsonw_end(w);
}

static void write_failure(struct nsx_jsonw *w, const struct nsx_capture *c,
			  const struct nsx_err *failed)
{
	const struct nsx_buf *b = &c->end.err;
	size_t n = NSX_MIN(b->n, TAIL_BYTES);

	nsx_jsonw_str(w, "error", failed->msg);
	nsx_jsonw_strn(w, "stderr_tail", n ? b->p + b->n - n : "", n);
	write_files(w, "files", c->nproducts ? &c->products[0] : &(struct nsx_product){ 0 });
	write_warnings(w, &c->warnings);
}

static struct nsx_jsonw *new_document(const struct nsx_capture *c, const struct nsx_err *failed)
{
	struct nsx_jsonw *w = nsx_jsonw_new();

	nsx_jsonw_object(w, NULL);
	nsx_jsonw_int(w, "schema_version", 1);
	nsx_jsonw_bool(w, "ok", !failed);
	nsx_jsonw_str(w, "captured_at", c->captured_at);
	nsx_jsonw_str(w, "nsys_binary", c->nsys ? c->nsys->path : NULL);
	nsx_jsonw_str(w, "nsys_version", c->nsys ? c->nsys->version : NULL);
	nsx_jsonw_str(w, "gpu_id", c->opts->gpu_id);
	write_words(w, "target_cmd", c->command);
	if (failed)
		write_failure(w, c, failed);
	else
		write_run(w, c);
	write_words(w, "nsys_cmd", c->argv.argv);
	nsx_jsonw_end(w);
	return w;
}

int nsx_capture_write_record(const struct nsx_capture *c,
			     const struct nsx_err *failed, struct nsx_err *err)
{
	const char *path = nsx_arena_printf(c->arena, "%s/nsys_capture%s.json", c->dir, c->rank);
	const char *part = nsx_arena_printf(c->arena, "%s.part", path);
	FILE *f = fopen(part, "we");
	struct nsx_jsonw *w;
	int rc;

	if (!f)
		return nsx_fail(err, NSX_E_IO, "cannot write '%s': %s", path, strerror(errno));
	w = new_document(c, failed);
	rc = nsx_jsonw_finish(w, f, err);
	if (fclose(f) && !rc)
		rc = nsx_fail(err, NSX_E_IO, "%s", strerror(errno));
	if (rc)
		nsx_wrap(err, "'%s'", path);
	else
		rc = nsx_file_move(part, path, err);
	if (rc)
		unlink(part);
	return rc;
}
