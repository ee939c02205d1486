/* container.c - finds the parts of a report, or what is left of them. */
#include <errno.h>
#include <lz4.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include "base/open.h"
#include "nsysrep/container.h"
#include "nsysrep/nsysrep.h"

#define FIRST_LINE "NVIDIA Tegra Profiler Report "
#define END_MARK   "U3w[END]"
#define RAW_MARK   "QDTEXT00"
#define MARK	   8 /* bytes of both */

bool nsx_is_report(const char *path)
{
	char head[sizeof(FIRST_LINE) - 1];
	int fd = nsx_open(path);
	ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);

	if (fd >= 0)
		close(fd);
	return (n == (ssize_t)sizeof(head) &&
		!memcmp(head, FIRST_LINE, sizeof(head))) ||
	       (n > 0 && (nsx_ends_with(path, ".nsys-rep.zst") ||
			  nsx_ends_with(path, ".qdrep.zst")));
}

/* What is compressed with zstd may become at most so many times larger. */
#define MAX_GROWTH 64

static int unpack_zstd(struct nsx_container *c, const char *path,
		       struct nsx_err *err)
{
	unsigned long long n = ZSTD_getFrameContentSize(c->file.p, c->file.n);
	size_t most = c->file.n * MAX_GROWTH + 4096, got, size;
	uint8_t *to;

	size = n < most ? (size_t)n : most; /* unknown: greater than any    */
	if (!nsx_new_array(to, c->arena, size, "bytes of a report", err))
		return err->rc;
	got = ZSTD_decompress(to, size, c->file.p, c->file.n);
	if (ZSTD_isError(got))
		return nsx_fail(err, NSX_E_DATA, "cannot unpack '%s': %s; run "
				"zstd -d on it and give what that writes", path,
				ZSTD_getErrorName(got));
	nsx_arena_drop(c->arena, c->file.p);
	c->file = (struct nsx_piece){to, got};
	return 0;
}

static int read_all(int fd, const char *path, struct nsx_container *c,
		    struct nsx_err *err)
{
	struct stat st;
	uint8_t *p;
	size_t n = 0;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return nsx_fail(err, NSX_E_IO, "cannot read '%s': not a regular "
				"file", path);
	if (!nsx_new_array(p, c->arena, (size_t)st.st_size, "bytes of a report",
			   err))
		return err->rc;
	while (n < (size_t)st.st_size) {
		ssize_t got = read(fd, p + n, (size_t)st.st_size - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return nsx_fail(err, NSX_E_IO, "cannot read '%s': %s",
					path, strerror(errno));
		if (!got)
			break;
		n += (size_t)got;
	}
	c->file = (struct nsx_piece){p, n};
	return 0;
}

static int read_file(const char *path, struct nsx_container *c,
		     struct nsx_err *err)
{
	int fd = nsx_open(path), rc;

	if (fd < 0)
		return nsx_fail(err, NSX_E_IO, "cannot open '%s': %s", path,
				strerror(errno));
	rc = read_all(fd, path, c, err);
	close(fd);
	if (!rc && c->file.n > 4 && !memcmp(c->file.p, "\x28\xb5\x2f\xfd", 4))
		rc = unpack_zstd(c, path, err);
	if (!rc && (c->file.n < sizeof(FIRST_LINE) ||
		    memcmp(c->file.p, FIRST_LINE, sizeof(FIRST_LINE) - 1)))
		rc = nsx_fail(err, NSX_E_SCHEMA, "cannot read '%s': this is not "
			      "a report of nsys, whatever its name says; give "
			      "the .nsys-rep, or an export", path);
	return rc;
}

/* The part of b from `at` on, at most n bytes. */
static struct nsx_piece part(struct nsx_piece b, uint64_t at, uint64_t n)
{
	if (at > b.n)
		return (struct nsx_piece){b.p, 0};
	return (struct nsx_piece){b.p + at, (size_t)NSX_MIN(n, b.n - at)};
}

/* The last mark counts: some files have a line end behind it. */
static const uint8_t *find_end(struct nsx_piece b)
{
	for (size_t i = b.n; i >= 2 * MARK; i--)
		if (b.p[i - 1] == ']' && !memcmp(b.p + i - MARK, END_MARK, MARK))
			return b.p + i - MARK;
	return NULL;
}

static void add_section(struct nsx_container *c, const struct nsx_msg *m,
			struct nsx_piece *raw, struct nsx_piece *offsets)
{
	const struct {
		const char *name;
		struct nsx_piece *to;
	} known[] = {{"Raw Sampling Data", raw},
		     {"Sampling Data Offsets", offsets},
		     {"UI Data", &c->ui},
		     {"Analysis Options Data", &c->options},
		     {"Time Conversion Data", &c->clocks}};
	struct nsx_piece name = nsx_msg_bytes(m, 1);

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (name.n == strlen(known[i].name) &&
		    !memcmp(name.p, known[i].name, name.n))
			*known[i].to = part(c->file, nsx_msg_uint(m, 2),
					    nsx_msg_uint(m, 3));
}

/* Where the events end, counted from behind the mark of the raw section; 0: not told. */
static uint64_t read_directory(struct nsx_container *c, struct nsx_piece *raw)
{
	const uint8_t *end = find_end(c->file);
	struct nsx_piece offsets = {NULL, 0}, dir;
	struct nsx_msg m;
	struct nsx_wire w;
	uint64_t at = 0;

	if (!end)
		return 0;
	memcpy(&at, end - 8, 8); /* little-endian, as the machines we run on */
	dir = part(c->file, at, (uint64_t)(end - 8 - c->file.p));
	if (dir.p < end - 8)
		dir.n = (size_t)(end - 8 - dir.p);
	for (w = nsx_wire_of(dir); nsx_wire_next(&w);)
		if (w.bytes.p && nsx_msg_read(&m, w.bytes))
			add_section(c, &m, raw, &offsets);
	if (!offsets.n || !nsx_msg_read(&m, offsets))
		return 0;
	return nsx_msg_uint(&m, 2);
}

/* Messages whose own length stands before them a second time, inside the block. */
int nsx_block_next(struct nsx_wire *at, struct nsx_block_buf *buf,
		   struct nsx_piece *ret, struct nsx_err *err)
{
	uint64_t packed, plain;
	struct nsx_wire w;
	int got;

	if (at->p >= at->end)
		return 0;
	if (!nsx_wire_varint(at, &packed) || !nsx_wire_varint(at, &plain) ||
	    packed > (uint64_t)(at->end - at->p)) {
		at->is_bad = true;
		return nsx_fail(err, NSX_E_DATA, "a block is cut off");
	}
	if (packed > INT32_MAX || plain > packed * 255 + 64 ||
	    plain > INT32_MAX / 2) {
		at->is_bad = true;
		return nsx_fail(err, NSX_E_DATA, "a block's length cannot be");
	}
	if (nsx_grow(&buf->p, &buf->cap, (size_t)plain + 1, 1,
		     "bytes of a block", err))
		return err->rc;
	got = LZ4_decompress_safe((const char *)at->p, (char *)buf->p,
				  (int)packed, (int)plain);
	at->p += packed;
	if (got < 0 || (uint64_t)got != plain)
		return nsx_fail(err, NSX_E_DATA, "a block does not unpack");
	w = nsx_wire_of((struct nsx_piece){buf->p, (size_t)plain});
	if (!nsx_wire_bytes(&w, ret))
		return nsx_fail(err, NSX_E_DATA, "a block's message is cut");
	return 1;
}

/* A block that stays: the strings, the payload schemas. */
static bool keep_block(struct nsx_container *c, struct nsx_wire *w,
		       struct nsx_piece *ret, struct nsx_err *err)
{
	struct nsx_block_buf buf = {NULL, 0};
	struct nsx_piece b;
	uint8_t *copy = NULL;

	if (nsx_block_next(w, &buf, &b, err) == 1 &&
	    nsx_new_array(copy, c->arena, b.n, "strings of a report", err)) {
		memcpy(copy, b.p, b.n);
		*ret = (struct nsx_piece){copy, b.n};
	}
	free(buf.p);
	return copy;
}

static void read_tail(struct nsx_container *c, struct nsx_wire *w,
		      const struct nsx_msg *header)
{
	struct nsx_err err;

	if (!keep_block(c, w, &c->strings, &err)) {
		c->damage = "the names (functions, kernels, ranges, threads) "
			    "cannot be read";
		return;
	}
	if ((nsx_msg_uint(header, 5) && !nsx_wire_bytes(w, &c->threads)) ||
	    (w->p < w->end && !nsx_wire_bytes(w, &c->machine)) ||
	    (nsx_msg_has(header, 17) && w->p < w->end &&
	     !keep_block(c, w, &c->schemas, &err)))
		c->damage = "names of threads or facts of GPUs, contexts and "
			    "streams cannot be read";
}

static int read_raw(struct nsx_container *c, struct nsx_piece raw, uint64_t end,
		    const char *path, struct nsx_err *err)
{
	struct nsx_wire w = nsx_wire_of(part(raw, MARK, UINT64_MAX));
	const uint8_t *stop = raw.p + NSX_MIN(end + MARK, raw.n);
	struct nsx_msg header;

	if (!nsx_wire_bytes(&w, &c->first) || !nsx_wire_bytes(&w, &c->header))
		return nsx_fail(err, NSX_E_DATA, "cannot read '%s': it is cut off "
				"before its first event; copy it again", path);
	if (!nsx_msg_read(&header, c->header))
		return nsx_fail(err, NSX_E_DATA, "cannot read '%s': its header is "
				"damaged; copy it again", path);
	c->nevents = nsx_msg_uint(&header, 1) + nsx_msg_uint(&header, 15);
	c->is_cut = !end || end + MARK > raw.n || stop < w.p;
	if (c->is_cut) {
		c->damage = "it is cut off or its directory is damaged, so all "
			    "names, GPUs and streams are missing, and perhaps "
			    "events";
		stop = w.end;
	}
	c->blocks = (struct nsx_piece){w.p, (size_t)(stop - w.p)};
	w.p = stop;
	if (!c->is_cut)
		read_tail(c, &w, &header);
	return 0;
}

static int open_container(const char *path, struct nsx_container *c,
			  struct nsx_err *err)
{
	struct nsx_piece raw = {NULL, 0};
	uint64_t end;

	if (read_file(path, c, err))
		return err->rc;
	end = read_directory(c, &raw);
	if (raw.n < MARK || memcmp(raw.p, RAW_MARK, MARK)) {
		const uint8_t *at = memmem(c->file.p, c->file.n, RAW_MARK, MARK);

		if (!at)
			return nsx_fail(err, NSX_E_DATA, "cannot read '%s': it is "
					"cut off before its first event; copy "
					"it again", path);
		end = 0;
		raw = (struct nsx_piece){at, c->file.n - (size_t)(at - c->file.p)};
	}
	return read_raw(c, raw, end, path, err);
}

int nsx_container_open(const char *path, struct nsx_container *ret,
		       struct nsx_err *err)
{
	int rc;

	*ret = (struct nsx_container){.arena = nsx_arena_new()};
	rc = open_container(path, ret, err);
	if (rc)
		nsx_container_close(ret);
	return rc;
}

void nsx_container_close(struct nsx_container *c)
{
	nsx_arena_free(c->arena);
	*c = (struct nsx_container){.arena = NULL};
}
