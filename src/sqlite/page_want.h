/* page_want.h - what a scan wants of each record of a table. */
#ifndef NSX_PAGE_WANT_H
#define NSX_PAGE_WANT_H

#include "sqlite/db.h"

struct nsx_wanted {
	uint16_t column; /* its place in the record         */
	uint16_t slot;	 /* its place in the row handed over */
	bool is_real;	 /* integers read as doubles         */
};

struct nsx_wants {
	struct nsx_wanted *v; /* by column */
	unsigned n;
	struct nsx_val *absent; /* by slot: for records too short for it */
	uint16_t *rowid_slots;	/* columns that are the row id */
	unsigned nrowid;
};

/* Works out what `columns` mean in t. False where SQLite has to be asked: a
 * name not in t, or a default that is no plain literal. Owner: arena a.
 */
bool nsx_wants_plan(const struct nsx_table_info *t, const char *const *columns,
		    unsigned ncolumns, struct nsx_arena *a,
		    struct nsx_wants *ret);

#endif
