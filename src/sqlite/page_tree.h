/* page_tree.h - the leaf pages of a table's b-tree, in row order. */
#ifndef NSX_PAGE_TREE_H
#define NSX_PAGE_TREE_H

#include "sqlite/page_file.h"

struct nsx_leaves {
	uint32_t *pages;
	size_t n, cap;
	/* rc is 0 where the tree is sound; else why it ends after these. */
	struct nsx_err damage;
};

/* Walks down from page `root`; reads interior pages only.  A damaged one cuts
 * the list after the leaves left of it.  No page is listed twice.
 * Owner: the caller, nsx_leaves_done.  Errors: NSX_E_NOMEM, NSX_E_STOP.
 */
int nsx_leaves_find(const struct nsx_pagefile *f, const char *table,
		    uint32_t root, struct nsx_leaves *ret,
		    struct nsx_err *err) NSX_CHECKED;
void nsx_leaves_done(struct nsx_leaves *l);

#endif
