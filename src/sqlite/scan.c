/* scan.c - chooses the backend of a scan: a source if there is one, else pages if they can
 * be read, else SQLite.
 */
#include "sqlite/scan_backends.h"

int nsx_scan_open(struct nsx_db *db, const struct nsx_table_info *t,
		  const char *const *columns, unsigned ncolumns,
		  unsigned nparts, struct nsx_scan **ret, struct nsx_err *err)
{
	static const struct nsx_scan_backend *const all[] = {
		&nsx_source_backend, &nsx_page_backend, &nsx_sqlite_backend};
	struct nsx_scan *s = NULL;

	for (unsigned i = 0; !s; i++) {
		if (all[i]->open(db, t, columns, ncolumns, nparts, &s, err))
			return err->rc;
		if (s)
			s->backend = all[i];
	}
	*ret = s;
	return 0;
}

void nsx_scan_close(struct nsx_scan *s)
{
	if (s)
		s->backend->close(s);
}

int nsx_scan_near(struct nsx_scan *s, const struct nsx_table_info *t,
		  const char *column, int64_t from, int64_t to, bool is_run, struct nsx_err *err)
{
	return s->backend->near ? s->backend->near(s, t, column, from, to, is_run, err) : 0;
}

unsigned nsx_scan_parts(const struct nsx_scan *s)
{
	return s->nparts;
}

size_t nsx_scan_rows(struct nsx_scan *s, unsigned part)
{
	return s->backend->rows(s, part);
}

const char *nsx_scan_backend(const struct nsx_scan *s)
{
	return s->backend->name;
}

size_t nsx_scan_first_block(const struct nsx_scan *s, unsigned part)
{
	return s->backend->first_block ? s->backend->first_block(s, part) : part;
}

int nsx_scan_run(struct nsx_scan *s, unsigned part, struct nsx_choice *choice,
		 nsx_row_fn fn, void *ctx, struct nsx_err *err)
{
	return s->backend->run(s, part, choice, fn, ctx, err);
}
