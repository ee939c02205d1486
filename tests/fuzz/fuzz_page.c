/* fuzz_page.c - any bytes as the pages of a table.
 *
 * The first byte chooses page size and reserved tail; the rest are the pages,
 * the second of which is the root.  The file header is made good, so that the
 * bytes meet the tree and the records, not the header check.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "page_record.h"
#include "page_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define NWANTED 7
static volatile uint64_t sink;

static int on_row(void *ctx, int64_t rid, const struct nsx_val *v,
		  struct nsx_err *err)
{
	size_t *rows = ctx;

	(void)err;
	sink += (uint64_t)rid;
	for (unsigned i = 0; i < NWANTED + 2; i++)
		if (v[i].type == NSX_V_TEXT || v[i].type == NSX_V_BLOB)
			for (uint32_t k = 0; k < v[i].len; k += 97)
				sink += (uint8_t)v[i].u.p[k];
		else if (v[i].type == NSX_V_I64)
			sink += (uint64_t)v[i].u.i;
	return ++*rows > 100000;
}

static struct nsx_wants wants(void)
{
	static struct nsx_want w[NWANTED] = {
	    {0, 0, false}, {1, 1, true}, {2, 2, false},	 {2, 3, false},
	    {5, 4, false}, {6, 5, true}, {40, 6, false},
	};
	static struct nsx_val absent[NWANTED + 2] = {
	    [1] = {NSX_V_F64, 0, {0}},
	    [2] = {NSX_V_TEXT, 3, {.p = "abc"}},
	    [5] = {NSX_V_I64, 0, {7}},
	};
	static uint16_t rowid[] = {7};

	return (struct nsx_wants){w, NWANTED, absent, rowid, 1, NWANTED + 2};
}

static void read_tree(const struct nsx_pagefile *f)
{
	struct nsx_wants w = wants();
	struct nsx_leaves leaves;
	struct nsx_decoder *d;
	struct nsx_err err;
	size_t rows = 0;
	uint8_t *page = malloc(f->page_size + NSX_PAGE_SLACK);

	if (!page || nsx_leaves_find(f, "t", 2, &leaves, &err))
		abort();
	d = nsx_decoder_new(f, &w, "t", &err);
	for (size_t i = 0; i < leaves.n; i++)
		if (nsx_page_get(f, "t", leaves.pages[i], page, &err) ||
		    nsx_decode_leaf(d, page, leaves.pages[i], i == 0, on_row,
				    &rows, &err))
			break;
	nsx_decoder_free(d);
	nsx_leaves_done(&leaves);
	free(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const uint8_t head[100] = {
	    [18] = 1,  [19] = 1, [21] = 64, [22] = 32,
	    [23] = 32, [47] = 4, [59] = 1,
	};
	uint8_t h[100];
	unsigned size;
	char path[64];
	int fd;

	if (n < 2)
		return 0;
	size = 512U << (p[0] & 3);
	memcpy(h, head, sizeof(h));
	memcpy(h, "SQLite format 3", 16);
	h[16] = (uint8_t)(size >> 8);
	h[20] = p[0] >> 3;
	fd = memfd_create("fuzz", 0);
	if (fd < 0 || pwrite(fd, h, sizeof(h), 0) != sizeof(h) ||
	    pwrite(fd, p + 1, n - 1, size) != (ssize_t)n - 1)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct nsx_pagefile *f =
	    nsx_pagefile_open(path, (int64_t)(size + n - 1));

	if (f)
		read_tree(f);
	nsx_pagefile_close(f);
	close(fd);
	return 0;
}
