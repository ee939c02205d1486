/* page_near.h - the leaves that rows of some time are in, where rows are in order. */
#ifndef NSX_PAGE_NEAR_H
#define NSX_PAGE_NEAR_H

#include "sqlite/page_tree.h"
#include "sqlite/page_want.h"

/* Looks at some leaves, evenly spaced, and drops those between two whose rows are all
 * before `from`, or all at `to` or after; never the first or the last.  Drops none
 * where a row looked at is no integer or cannot be read, or where not nearly all begin
 * later than the one before.  w: of one column.
 * is_run: nor any between those it keeps, but the first and the last, for rows that tell
 * something only if none between them is missing.
 * Reads about as many leaves as the square root of all.  Errors: NSX_E_NOMEM.
 */
int nsx_leaves_near(const struct nsx_pagefile *f, const char *table,
		    const struct nsx_wants *w, int64_t from, int64_t to, bool is_run,
		    struct nsx_leaves *leaves, struct nsx_err *err) NSX_CHECKED;

#endif
