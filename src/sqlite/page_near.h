/* page_near.h - drops leaves whose rows lie outside a time window, in tables in order of time. */
#ifndef NSX_PAGE_NEAR_H
#define NSX_PAGE_NEAR_H

#include "sqlite/page_tree.h"
#include "sqlite/page_want.h"

/* Samples evenly spaced leaves, about the square root of their number. Drops the leaves between two
 * neighbouring samples if all rows there are before `from`, or all are at `to` or later. The first
 * and last leaf are never dropped. Nothing is dropped if a sampled row is no integer or unreadable,
 * or if the sampled leaves are not nearly all in order.
 * w: one column, the time. is_run: every leaf between the first and last kept one is kept, because
 * rows need their neighbours. Errors: NSX_E_NOMEM.
 */
int nsx_leaves_near(const struct nsx_pagefile *f, const char *table,
		    const struct nsx_wants *w, int64_t from, int64_t to, bool is_run,
		    struct nsx_leaves *leaves, struct nsx_err *err) NSX_CHECKED;

#endif
