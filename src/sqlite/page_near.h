/* page_near.h - drops leaves whose rows lie outside a time window, in tables in order of time. */
#ifndef NSX_PAGE_NEAR_H
#define NSX_PAGE_NEAR_H

#include "sqlite/page_tree.h"
#include "sqlite/page_want.h"

/* Reads some evenly spaced leaves, about the square root of all, and drops the leaves between two
 * of them whose rows are all before `from`, or all at `to` or later. Never drops the first or last
 * leaf; drops nothing where a row read is no integer or unreadable, or where the leaves are not
 * nearly all in order. w: wants one column. is_run: keeps every leaf between the first and last
 * kept, for rows that need their neighbours. Errors: NSX_E_NOMEM.
 */
int nsx_leaves_near(const struct nsx_pagefile *f, const char *table,
		    const struct nsx_wants *w, int64_t from, int64_t to, bool is_run,
		    struct nsx_leaves *leaves, struct nsx_err *err) NSX_CHECKED;

#endif
