/* scan.c - chooses the backend of a scan: a source if there is one, else pages if they can
 * be read, else SQLite.
 */
#include "sqlite/scan_backends.h"

struct nsx_scan {
	struct nsx_sourcescan *source; /* exactly one is set                   */
	struct nsx_pagescan *page;
	struct nsx_sqlscan *sql;
};

int nsx_scan_open(struct nsx_db *db, const struct nsx_table_info *t,
		  const char *const *columns, unsigned ncolumns,
		  unsigned nparts, struct nsx_scan **ret, struct nsx_err *err)
{
	struct nsx_scan *s = nsx_try_alloc(1, sizeof(*s), "a scan", err);
	int rc;

	if (!s)
		return err->rc;
	rc = nsx_sourcescan_open(db, t, columns, ncolumns, nparts, &s->source, err);
	if (!rc && !s->source)
		rc = nsx_pagescan_open(db, t, columns, ncolumns, nparts, &s->page, err);
	if (!rc && !s->source && !s->page)
		rc = nsx_sqlscan_open(db, t, columns, ncolumns, nparts, &s->sql, err);
	if (rc) {
		free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void nsx_scan_close(struct nsx_scan *s)
{
	if (!s)
		return;
	nsx_sourcescan_close(s->source);
	nsx_pagescan_close(s->page);
	nsx_sqlscan_close(s->sql);
	free(s);
}

int nsx_scan_near(struct nsx_scan *s, const struct nsx_table_info *t,
		  const char *column, int64_t from, int64_t to, bool is_run, struct nsx_err *err)
{
	if (s->source)
		nsx_sourcescan_near(s->source, from, to, is_run);
	return s->page ? nsx_pagescan_near(s->page, t, column, from, to, is_run, err) : 0;
}

unsigned nsx_scan_parts(const struct nsx_scan *s)
{
	return s->source ? nsx_sourcescan_parts(s->source) :
	       s->page ? nsx_pagescan_parts(s->page) : nsx_sqlscan_parts(s->sql);
}

size_t nsx_scan_rows(const struct nsx_scan *s, unsigned part)
{
	return s->source ? nsx_sourcescan_rows(s->source, part) :
	       s->page ? nsx_pagescan_rows(s->page, part) :
			 nsx_sqlscan_rows(s->sql, part);
}

const char *nsx_scan_backend(const struct nsx_scan *s)
{
	return s->source ? "source" : s->page ? "page" : "sqlite";
}

size_t nsx_scan_first_block(const struct nsx_scan *s, unsigned part)
{
	return s->source ? nsx_sourcescan_first_block(s->source, part) :
	       s->page ? nsx_pagescan_first_block(s->page, part) : part;
}

int nsx_scan_run(struct nsx_scan *s, unsigned part, struct nsx_choice *choice,
		 nsx_row_fn fn, void *ctx, struct nsx_err *err)
{
	if (s->source)
		return nsx_scan_run_joined(&(struct nsx_scan_share){s, choice, fn, ctx}, 1, part,
					   err);
	if (s->page)
		return nsx_pagescan_run(s->page, part, choice, fn, ctx, err);
	if (choice) {
		choice->at = part;
		if (choice->wants && !choice->wants(ctx, part))
			return 0;
	}
	return nsx_sqlscan_run(s->sql, part, fn, ctx, err);
}

bool nsx_scan_can_join(const struct nsx_scan *s)
{
	return s->source;
}

struct nsx_sourcescan *nsx_sourcescan_of(const struct nsx_scan *s)
{
	return s->source;
}
