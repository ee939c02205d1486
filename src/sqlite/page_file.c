/* page_file.c - checks the file header; reads pages with pread. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "sqlite/page_file.h"
#include "sqlite/sniff.h"

#define HEADER	  100
#define LOCK_BYTE UINT32_C(0x40000000)

/* Offsets in the header, and the values required there. */
enum {
	AT_PAGE_SIZE = 16,
	AT_READ_VERSION = 19,
	AT_RESERVED = 20,
	AT_FRACTIONS = 21, /* the three payload fractions, which must be 64, 32 and 32 */
	AT_FORMAT = 44,
	AT_ENCODING = 56,
	UTF8 = 1,
	WAL = 2,
	MAX_FORMAT = 4,
	MIN_USABLE = 480,
};

/* The number of pages. As in SQLite, the header's number is valid if its change counter matches;
 * otherwise the file size decides. The result is never more than the pages in the file.
 */
static uint32_t count_pages(const uint8_t *h, int64_t size, uint32_t page_size)
{
	int64_t n = NSX_MIN(size / page_size, (int64_t)UINT32_MAX - 1);
	uint32_t claim = nsx_claimed_pages(h);

	return (uint32_t)(claim ? NSX_MIN(n, claim) : n);
}

static bool accept_header(struct nsx_pagefile *f, const uint8_t *h, const char *path, int64_t size)
{
	unsigned n = nsx_be16(h + AT_PAGE_SIZE);

	f->page_size = n == 1 ? 65536 : n;
	if (f->page_size < 512 || f->page_size & (f->page_size - 1))
		return false;
	f->usable = f->page_size - h[AT_RESERVED];
	f->npages = count_pages(h, size, f->page_size);
	f->lock_page = LOCK_BYTE / f->page_size + 1;
	if (h[AT_READ_VERSION] == WAL && nsx_file_beside(path, "-wal"))
		return false;
	return !memcmp(h, "SQLite format 3", 16) && f->usable >= MIN_USABLE &&
	       h[AT_READ_VERSION] >= 1 && h[AT_READ_VERSION] <= WAL &&
	       !memcmp(h + AT_FRACTIONS, "\x40\x20\x20", 3) &&
	       nsx_be32(h + AT_FORMAT) <= MAX_FORMAT &&
	       nsx_be32(h + AT_ENCODING) == UTF8 &&
	       !nsx_file_beside(path, "-journal");
}

struct nsx_pagefile *nsx_pagefile_open(int fd, const char *path, int64_t size)
{
	struct nsx_pagefile *f = calloc(1, sizeof(*f));
	uint8_t h[HEADER];
	struct stat st;

	if (!f)
		return NULL;
	f->fd = fd;
	if (!fstat(fd, &st) && st.st_size == size &&
	    pread(fd, h, HEADER, 0) == HEADER && accept_header(f, h, path, size))
		return f;
	nsx_pagefile_close(f);
	return NULL;
}

void nsx_pagefile_close(struct nsx_pagefile *f)
{
	free(f);
}

static off_t offset_of_page(const struct nsx_pagefile *f, uint32_t page)
{
	return (off_t)(page - 1) * f->page_size;
}

int64_t nsx_pagefile_read(const struct nsx_pagefile *f, uint32_t page,
			  uint32_t at, void *buf, size_t n)
{
	off_t from = offset_of_page(f, page) + at;
	size_t done = 0;

	while (done < n) {
		ssize_t got = pread(f->fd, (char *)buf + done, n - done, from + (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (!got)
			break;
		done += (size_t)got;
	}
	return (int64_t)done;
}

bool nsx_pagefile_read_cached(const struct nsx_pagefile *f, uint32_t page, void *buf, size_t n)
{
	struct iovec to = {buf, n};

	return preadv2(f->fd, &to, 1, offset_of_page(f, page), RWF_NOWAIT) == (ssize_t)n;
}

void nsx_pagefile_ask(const struct nsx_pagefile *f, uint32_t page, uint32_t n)
{
	posix_fadvise(f->fd, offset_of_page(f, page), (off_t)n * f->page_size, POSIX_FADV_WILLNEED);
}

const char *nsx_page_impossible(const struct nsx_pagefile *f, uint32_t page)
{
	if (page < 2)
		return "this page cannot belong to a table";
	if (page == f->lock_page)
		return "this page is reserved for locks";
	if (page > f->npages)
		return "it lies beyond the end of the file";
	return NULL;
}

int nsx_page_damaged(struct nsx_err *err, const char *table, uint32_t page, const char *why)
{
	return nsx_fail(err, NSX_E_DATA, "cannot read table '%s': page %lu is damaged: %s",
			table, (unsigned long)page, why);
}

int nsx_page_get(const struct nsx_pagefile *f, const char *table, uint32_t page,
		 uint8_t *buf, struct nsx_err *err)
{
	const char *why = nsx_page_impossible(f, page);
	int64_t n;

	if (why)
		return nsx_page_damaged(err, table, page, why);
	n = nsx_pagefile_read(f, page, 0, buf, f->page_size);
	if (n < 0)
		return nsx_fail(err, NSX_E_IO, "cannot read table '%s': page %lu: %s", table,
				(unsigned long)page, strerror(errno));
	if (n < f->page_size)
		return nsx_page_damaged(err, table, page, "the file was cut while it was read");
	return 0;
}
