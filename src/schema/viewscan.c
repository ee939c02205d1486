/* viewscan.c - reads a table that is not kept in memory. */
#include "base/par.h"
#include "base/stat.h"
#include "schema/viewscan.h"

/* The column with the start of a row, for tables that may be large. */
static const enum nsx_field instants[NSX_NVIEWS] = {
	[NSX_VIEW_kernel] = NSX_F_kernel_start_ns,
	[NSX_VIEW_memcpy] = NSX_F_memcpy_start_ns,
	[NSX_VIEW_memset] = NSX_F_memset_start_ns,
	[NSX_VIEW_graph] = NSX_F_graph_start_ns,
	[NSX_VIEW_runtime] = NSX_F_runtime_start_ns,
	[NSX_VIEW_sync] = NSX_F_sync_start_ns,
	[NSX_VIEW_nvtx] = NSX_F_nvtx_start_ns,
	[NSX_VIEW_osrt] = NSX_F_osrt_start_ns,
	[NSX_VIEW_sample] = NSX_F_sample_start_ns,
	[NSX_VIEW_sched] = NSX_F_sched_start_ns,
	[NSX_VIEW_gpu_metric] = NSX_F_gpu_metric_timestamp_ns,
};

int nsx_view_open(const struct nsx_schema *s, struct nsx_db *db, enum nsx_view v,
		  const char *const *columns, unsigned ncolumns, unsigned nparts,
		  struct nsx_scan **ret, struct nsx_err *err)
{
	const char *instant = instants[v] ? s->column[instants[v]] : NULL;
	int rc = nsx_scan_open(db, s->table[v], columns, ncolumns, nparts, ret, err);

	pthread_mutex_lock(&s->losses->lock);
	s->losses->was_read[v] = true;
	pthread_mutex_unlock(&s->losses->lock);
	if (rc || !instant || !s->reach->is_on)
		return rc;
	/* A scheduling interval lies between two rows of its thread, so the neighbours of rows are
	 * needed.
	 */
	rc = nsx_scan_near(*ret, s->table[v], instant, s->reach->from_ns,
			   s->reach->to_ns, v == NSX_VIEW_sched, err);
	if (rc) {
		nsx_scan_close(*ret);
		*ret = NULL;
	}
	return rc;
}

struct job {
	const struct nsx_schema *s;
	enum nsx_view v;
	struct nsx_scan *scan;
	nsx_row_fn fn;
	char *ctx;
	size_t ctx_size;
};

/* Notes damage and returns 0, because damage ends only one part of the scan. Other codes are
 * returned.
 */
static int note_damage(const struct job *job, int rc, const struct nsx_err *err)
{
	if (!nsx_is_damage(rc))
		return rc;
	nsx_schema_lose_rows(job->s, job->v, err);
	return 0;
}

static int viewscan_run_part(void *ctx, size_t i, struct nsx_err *err)
{
	struct job *job = ctx;
	char *part = job->ctx_size ? job->ctx + i * job->ctx_size : job->ctx; /* NULL has no offset */

	return note_damage(job, nsx_scan_run(job->scan, (unsigned)i, NULL, job->fn, part, err), err);
}

int nsx_view_scan(const struct nsx_schema *s, enum nsx_view v,
		  const enum nsx_field *fields, unsigned nfields,
		  unsigned nparts, nsx_row_fn fn, void *ctx, size_t ctx_size, struct nsx_err *err)
{
	const char *columns[NSX_MAX_COLUMNS];
	struct job job = {s, v, NULL, fn, ctx, ctx_size};
	struct nsx_db *db;
	int rc;

	if (!nsx_has_view(s, v))
		return 0;
	for (unsigned i = 0; i < nfields; i++)
		columns[i] = s->column[fields[i]];
	db = nsx_db_clone(s->db);
	rc = nsx_view_open(s, db, v, columns, nfields, nparts, &job.scan, err);
	rc = rc ? note_damage(&job, rc, err) :
		  nsx_par(nparts, nsx_scan_parts(job.scan), viewscan_run_part, &job, err);
	nsx_scan_close(job.scan);
	nsx_db_close(db);
	return rc;
}

static int drop_row(void *ctx NSX_UNUSED, int64_t rid NSX_UNUSED,
		    const struct nsx_val *v NSX_UNUSED, struct nsx_err *err)
{
	return nsx_stopped(err);
}

int nsx_schema_look_over(const struct nsx_schema *s, unsigned nparts, struct nsx_err *err)
{
	int rc = 0;

	for (unsigned v = 0; !rc && v < NSX_NVIEWS; v++) {
		enum nsx_field fields[NSX_MAX_COLUMNS];
		unsigned n = nsx_view_nfields(v);

		for (unsigned k = 0; k < n; k++)
			fields[k] = nsx_view_defs[v].first + k;
		if (!s->losses->was_read[v])
			rc = nsx_view_scan(s, v, fields, n, nparts, drop_row, NULL, 0, err);
	}
	return rc;
}

const char *nsx_val_text(const struct nsx_val *v, struct nsx_arena *a)
{
	struct nsx_buf b = {0};
	const char *p = "";

	if (v->type == NSX_V_TEXT && v->len) {
		nsx_buf_add_utf8(&b, v->u.p, NSX_MIN(v->len, NSX_MAX_TEXT));
		p = nsx_arena_strndup(a, b.p, b.n);
	}
	nsx_buf_done(&b);
	return p;
}

enum { ALL_FOUND = 1 }; /* stops a scan without an error */

struct wanted {
	const int64_t *ids;
	size_t n, nfound;
	const char **text;
	struct nsx_arena *a;
};

static int on_string(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
		     struct nsx_err *err)
{
	struct wanted *w = ctx;
	size_t lo = 0, hi = w->n;

	if (v[0].type != NSX_V_I64)
		return 0;
	NSX_BISECT(lo, hi, mid, w->ids[mid] < v[0].u.i);
	if (lo == w->n || w->ids[lo] != v[0].u.i || w->text[lo])
		return 0;
	w->text[lo] = nsx_val_text(&v[1], w->a);
	err->rc = ++w->nfound == w->n ? ALL_FOUND : 0;
	return err->rc;
}

int nsx_view_strings(const struct nsx_schema *s, const int64_t *ids, size_t n,
		     const char **text, struct nsx_arena *a, struct nsx_err *err)
{
	int64_t *sorted = nsx_try_alloc(n, sizeof(*sorted), "names", err);
	const char **found = nsx_try_alloc(n, sizeof(*found), "names", err);
	struct wanted w = {.ids = sorted, .text = found, .a = a};
	int rc = sorted && found ? 0 : err->rc;

	if (!rc && n) {
		memcpy(sorted, ids, n * sizeof(*ids));
		nsx_sort(sorted, n, sizeof(*sorted), nsx_cmp_i64);
		for (size_t i = 0; i < n; i++)
			if (sorted[i] >= 0 && (!w.n || sorted[i] != sorted[w.n - 1]))
				sorted[w.n++] = sorted[i];
	}
	if (w.n)
		rc = nsx_view_each(s, string, on_string, &w, err, id, value);
	rc = rc == ALL_FOUND ? 0 : rc;
	for (size_t i = 0; !rc && i < n; i++) {
		const int64_t *at = !w.n ? NULL : bsearch(&ids[i], sorted, w.n,
				sizeof(*ids), nsx_cmp_i64);

		text[i] = at ? found[at - sorted] : NULL;
	}
	free(sorted);
	free(found);
	return rc;
}
