/* page_file.h - a SQLite file as numbered pages, read with pread.
 *
 * The file is not mapped: mapped pages would count as resident memory, and a file cut while it is
 * read would raise SIGBUS. Nothing read is trusted: a caller gets a page only if the file holds all
 * of it, and the caller checks its content.
 */
#pragma once

#include "base/err.h"

/* Page buffers have this many spare bytes: readers load up to 8 bytes at any offset, and a
 * varint may start on a page's last byte.
 */
#define NSX_PAGE_SLACK 64

struct nsx_pagefile {
	int fd;
	uint32_t page_size;
	uint32_t usable;    /* page_size less the reserved tail */
	uint32_t npages;    /* whole pages in the file          */
	uint32_t lock_page; /* page without data                */
};

/* Prepares to read the open file fd by page. NULL if SQLite must read it, because its size differs
 * from `size`, a log or journal lies beside path, its text is not UTF-8, or its header is unusual.
 * fd is borrowed. Owner: the caller, nsx_pagefile_close.
 */
struct nsx_pagefile *nsx_pagefile_open(int fd, const char *path, int64_t size);
void nsx_pagefile_close(struct nsx_pagefile *f); /* NULL is fine */

/* Reads n bytes from offset `at` of a page, possibly into the following pages. Returns the
 * number of bytes read, -1 for a failure (errno).
 */
int64_t nsx_pagefile_read(const struct nsx_pagefile *f, uint32_t page,
			  uint32_t at, void *buf, size_t n);

/* Reads only from the kernel's page cache; true if all n bytes were there. */
bool nsx_pagefile_read_cached(const struct nsx_pagefile *f, uint32_t page, void *buf, size_t n);

/* Asks the kernel to read n pages soon. */
void nsx_pagefile_ask(const struct nsx_pagefile *f, uint32_t page, uint32_t n);

/* The reason why a page cannot be part of a table; NULL if it can. */
const char *nsx_page_impossible(const struct nsx_pagefile *f, uint32_t page);

/* Fails with "cannot read table 'T': page N is damaged: WHY". */
int nsx_page_damaged(struct nsx_err *err, const char *table, uint32_t page, const char *why);

/* Reads a whole page. Errors: NSX_E_DATA, or NSX_E_IO if the disk fails. */
int nsx_page_get(const struct nsx_pagefile *f, const char *table, uint32_t page,
		 uint8_t *buf, struct nsx_err *err);

/* Values of the first byte of a b-tree page. */
enum { NSX_PAGE_INTERIOR = 5, NSX_PAGE_LEAF = 13 };

static inline unsigned nsx_be16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static inline uint32_t nsx_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The number of pages that a file's header claims; 0 if the claim is not valid, because the
 * header's change counter differs from that of the claim.
 */
static inline uint32_t nsx_claimed_pages(const uint8_t *head)
{
	return memcmp(head + 24, head + 92, 4) ? 0 : nsx_be32(head + 28);
}

/* The number of cells that a page claims to have; at most 65535. */
static inline unsigned nsx_page_cells(const uint8_t *page)
{
	return nsx_be16(page + 3);
}
