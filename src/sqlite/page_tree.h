/* page_tree.h - the leaf pages of a table's b-tree, in row order. */
#pragma once

#include "sqlite/page_file.h"

struct nsx_leaves {
	uint32_t *pages;
	size_t n, cap;
	/* damage.rc is 0 if the tree is sound; otherwise damage says why the list ends here. */
	struct nsx_err damage;
};

/* Walks down from page `root` and reads interior pages only. A damaged page ends the list
 * after the leaves before it. No page is listed twice. Owner: the caller, nsx_leaves_done.
 * Errors: NSX_E_NOMEM, NSX_E_STOP.
 */
int nsx_leaves_find(const struct nsx_pagefile *f, const char *table,
		    uint32_t root, struct nsx_leaves *ret, struct nsx_err *err) NSX_CHECKED;
void nsx_leaves_done(struct nsx_leaves *l);
