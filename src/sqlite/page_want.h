/* page_want.h - the columns that a scan wants of each record. */
#ifndef NSX_PAGE_WANT_H
#define NSX_PAGE_WANT_H

#include "sqlite/db.h"

struct nsx_wanted {
	uint16_t column; /* its place in the record         */
	uint16_t slot;	 /* its place in the result row */
	bool is_real;	 /* integers become doubles          */
};

struct nsx_wants {
	struct nsx_wanted *v; /* by column */
	unsigned n;
	struct nsx_val *absent; /* by slot: values for records that are too short */
	uint16_t *rowid_slots;	/* columns that are the row id */
	unsigned nrowid;
};

/* Finds `columns` in t. False if SQLite must read the table, because t lacks a column or a default
 * is no plain literal. Owner: arena a.
 */
bool nsx_wants_plan(const struct nsx_table_info *t, const char *const *columns,
		    unsigned ncolumns, struct nsx_arena *a, struct nsx_wants *ret);

#endif
