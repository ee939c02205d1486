/* viewscan.h - reads tables that the trace does not keep in memory.
 *
 * Each scan has its own connection, so passes may run side by side. Nothing is cached:
 * every call reads the table.
 */
#pragma once

#include "sqlite/scan.h"
#include "schema/schema.h"

/* Opens the view's table through db with nsx_scan_open; limited to the schema's reach, if
 * it is set.
 */
int nsx_view_open(const struct nsx_schema *s, struct nsx_db *db, enum nsx_view v,
		  const char *const *columns, unsigned ncolumns, unsigned nparts,
		  struct nsx_scan **ret, struct nsx_err *err) NSX_CHECKED;

/* Calls fn for every row of the view's table, with the fields in the order asked (absent
 * columns read as NULL). At most nparts (1 .. NSX_MAX_THREADS) parts are read side by side;
 * part p calls fn with ctx + p * ctx_size. Parts cover the rows in order. No table: no
 * call. The readable rows of a damaged table are given, and the rest is noted
 * (nsx_schema_lose_rows). Errors: those of fn, NSX_E_IO, NSX_E_NOMEM.
 */
int nsx_view_scan(const struct nsx_schema *s, enum nsx_view v,
		  const enum nsx_field *fields, unsigned nfields,
		  unsigned nparts, nsx_row_fn fn, void *ctx, size_t ctx_size,
		  struct nsx_err *err) NSX_CHECKED;

/* Reads the tables that were not read yet, because reading shows damage. */
int nsx_schema_look_over(const struct nsx_schema *s, unsigned nparts,
			 struct nsx_err *err) NSX_CHECKED;

/* Calls nsx_view_scan with one part, and takes the short names of view and fields:
 *	nsx_view_each(schema, mpi_rank, on_rank, ctx, err, global_tid, rank)
 */
#define nsx_view_each(s, v, fn, ctx, err, ...)                                \
	nsx_view_scan(s, NSX_VIEW_##v,                                        \
		      (const enum nsx_field[]){NSX_FIELDS(v, __VA_ARGS__)},   \
		      ARRAY_LEN(((const enum nsx_field[]){                    \
			      NSX_FIELDS(v, __VA_ARGS__)})), 1, fn, ctx, 0, err)

/* Looks up string ids in any order: text[i] for ids[i]; NULL for undefined and negative
 * ids. Valid UTF-8 on arena a.
 */
int nsx_view_strings(const struct nsx_schema *s, const int64_t *ids, size_t n,
		     const char **text, struct nsx_arena *a, struct nsx_err *err) NSX_CHECKED;

/* A text cell as valid UTF-8 on arena a; "" for other types. */
const char *nsx_val_text(const struct nsx_val *v, struct nsx_arena *a);
