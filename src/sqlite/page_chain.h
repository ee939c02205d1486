/* page_chain.h - the part of a record that did not fit on its leaf page. */
#ifndef NSX_PAGE_CHAIN_H
#define NSX_PAGE_CHAIN_H

#include "sqlite/page_file.h"

struct nsx_chain {
	const struct nsx_pagefile *f;
	const char *table;
	uint8_t *page;	     /* one page; lent by the user of the chain       */
	uint32_t *left;	     /* number of pages that may still be read, which ends loops; shared by
				all chains                                    */
	uint32_t next;	     /* page after the one in the buffer              */
	uint64_t begin, end; /* bytes of the record in the buffer */
};

/* Begins the chain at page `first`, which holds the record from byte `at` on. */
void nsx_chain_start(struct nsx_chain *c, uint32_t first, uint64_t at);

/* Copies n bytes from byte `from` of the record; `from` must not lie before the end of the
 * last copy. Errors: NSX_E_DATA, NSX_E_IO.
 */
int nsx_chain_copy(struct nsx_chain *c, uint64_t from, void *dst, size_t n, struct nsx_err *err);

#endif
