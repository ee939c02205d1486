/* container.c - finds the parts of a report, or what is left of a damaged one. */
#include <errno.h>
#include <lz4.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include "base/open.h"
#include "nsysrep/container.h"
#include "nsysrep/layout.h"
#include "nsysrep/nsysrep.h"

#define FIRST_LINE "NVIDIA Tegra Profiler Report "
#define END_MARK   "U3w[END]"
#define RAW_MARK   "QDTEXT00"
#define MARK	   8 /* length of each mark */

bool nsx_has_report_name(const char *path)
{
	return nsx_ends_with(path, ".nsys-rep") || nsx_ends_with(path, ".qdrep") ||
	       nsx_ends_with(path, ".nsys-rep.zst") ||
	       nsx_ends_with(path, ".qdrep.zst");
}

#define ZSTD_MARK "\x28\xb5\x2f\xfd"

/* Unpacks zstd data, giving zstd so many bytes at a time. Returns what zstd returned last. */
static size_t unpack_in_steps(struct nsx_piece packed, size_t step, ZSTD_outBuffer *out)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = {packed.p, 0, 0};
	size_t before, rest;

	do {
		before = in.pos + out->pos;
		in.size = NSX_MIN(packed.n, in.pos + step);
		rest = ZSTD_decompressStream(stream, out, &in);
	} while (!ZSTD_isError(rest) && in.pos + out->pos > before && in.pos < packed.n);
	ZSTD_freeDStream(stream);
	return rest;
}

/* Unpacks zstd data as far as they are sound. Returns the size; *damage: why something is missing,
 * or NULL. Data that fill all the room may be longer.
 */
static size_t container_unpack(struct nsx_piece packed, uint8_t *to, size_t room,
			       const char **damage)
{
	ZSTD_outBuffer out = {to, room, 0};
	size_t rest = unpack_in_steps(packed, packed.n, &out);

	/* zstd hands out nothing of what it unpacks in the same call as damage. */
	if (ZSTD_isError(rest)) {
		out.pos = 0;
		rest = unpack_in_steps(packed, 1, &out);
	}
	*damage = ZSTD_isError(rest) ? ZSTD_getErrorName(rest) : rest ? "it is cut off" : NULL;
	return out.pos;
}

bool nsx_is_report(const char *path)
{
	enum { LENGTH = sizeof(FIRST_LINE) - 1, BLOCK = 132 * 1024 };
	uint8_t head[LENGTH];
	const char *damage;
	int fd = nsx_open(path);
	ssize_t n = fd < 0 ? -1 : pread(fd, head, LENGTH, 0);
	bool is_named = n > 0 && (nsx_ends_with(path, ".nsys-rep.zst") ||
				  nsx_ends_with(path, ".qdrep.zst"));

	if (n == LENGTH && !memcmp(head, ZSTD_MARK, strlen(ZSTD_MARK))) {
		NSX_AT_EXIT(nsx_free_at) uint8_t *b = nsx_alloc(BLOCK, 1);

		n = pread(fd, b, BLOCK, 0);
		n = (ssize_t)container_unpack((struct nsx_piece){b, (size_t)NSX_MAX(n, 0)}, head,
					      LENGTH, &damage);
	}
	if (fd >= 0)
		close(fd);
	return is_named || (n == LENGTH && !memcmp(head, FIRST_LINE, LENGTH));
}

/* Reads n bytes of the file, or fewer at its end. */
static size_t container_fetch(const struct nsx_container *c, uint64_t at, uint8_t *to, size_t n)
{
	size_t done = 0;

	if (c->fd < 0) {
		n = at < c->size ? (size_t)NSX_MIN(n, c->size - at) : 0;
		if (n)
			memcpy(to, c->image.p + at, n);
		return n;
	}
	while (done < n) {
		ssize_t got = pread(c->fd, to + done, n - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

/* Reads up to n bytes, which live as long as the container. */
static int container_load(struct nsx_container *c, uint64_t at, uint64_t n,
			  struct nsx_piece *ret, struct nsx_err *err)
{
	uint8_t *p;

	n = at < c->size ? NSX_MIN(n, c->size - at) : 0;
	if (!nsx_new_array(p, c->arena, (size_t)n, "bytes of a report", err))
		return err->rc;
	*ret = (struct nsx_piece){p, container_fetch(c, at, p, (size_t)n)};
	return 0;
}

/* Limit on how much zstd data may grow. */
#define MAX_GROWTH 64

static int unpack_zstd(struct nsx_container *c, const char *path, struct nsx_err *err)
{
	size_t most = (size_t)c->size * MAX_GROWTH + 4096, got, size;
	struct nsx_piece packed = {NULL, 0};
	unsigned long long n;
	uint8_t *to;

	if (container_load(c, 0, c->size, &packed, err))
		return err->rc;
	n = ZSTD_getFrameContentSize(packed.p, packed.n);
	/* The data may go on behind the first frame. zstd gives a huge n if the size is unknown. */
	for (size = n < most ? (size_t)n + 1 : most;; size = most) {
		if (!nsx_new_array(to, c->arena, size, "bytes of a report", err))
			return err->rc;
		got = container_unpack(packed, to, size, &c->damage);
		if (got < size || size == most)
			break;
		nsx_arena_drop(c->arena, to);
	}
	if (got == most)
		return nsx_fail(err, NSX_E_DATA, "cannot unpack '%s': it expands to more than %zu "
				"bytes; if it is sound, run zstd -d on it and give what that "
				"writes", path, size);
	if (!got)
		return nsx_fail(err, NSX_E_DATA, "cannot unpack '%s': %s; the file is damaged, or "
				"was not copied whole", path, c->damage ?: "it is empty");
	nsx_arena_drop(c->arena, packed.p);
	close(c->fd);
	c->fd = -1;
	c->image = (struct nsx_piece){to, got};
	c->size = got;
	return 0;
}

static int container_open_file(const char *path, struct nsx_container *c, struct nsx_err *err)
{
	uint8_t head[sizeof(FIRST_LINE) - 1];
	struct stat st;

	c->fd = nsx_open(path);
	if (c->fd < 0)
		return nsx_fail(err, NSX_E_IO, "cannot open '%s': %s", path, strerror(errno));
	if (fstat(c->fd, &st) || !S_ISREG(st.st_mode))
		return nsx_fail(err, NSX_E_IO, "cannot read '%s': not a regular file", path);
	c->size = (uint64_t)st.st_size;
	if (container_fetch(c, 0, head, 4) == 4 && !memcmp(head, ZSTD_MARK, 4) &&
	    unpack_zstd(c, path, err))
		return err->rc;
	if (container_fetch(c, 0, head, sizeof(head)) < sizeof(head) ||
	    memcmp(head, FIRST_LINE, sizeof(head)))
		return nsx_fail(err, NSX_E_SCHEMA, "cannot read '%s': this is not "
				"a report of nsys, whatever its name says; give "
				"the .nsys-rep, or an export", path);
	return 0;
}

enum { SEARCHED = 64 * 1024, NOWHERE = 0 };

/* Finds the last end mark. It need not be the end of the file, because some files end with a line
 * break.
 */
static uint64_t container_find_end(const struct nsx_container *c)
{
	uint64_t at = c->size > SEARCHED ? c->size - SEARCHED : 0;
	NSX_AT_EXIT(nsx_free_at) uint8_t *b = nsx_alloc(SEARCHED, 1);
	size_t i = container_fetch(c, at, b, SEARCHED);

	while (i >= MARK && memcmp(b + i - MARK, END_MARK, MARK))
		i--;
	return i >= MARK ? at + i - MARK : NOWHERE;
}

/* Finds the first mark of events, when the directory is lost. */
static uint64_t find_raw(const struct nsx_container *c)
{
	NSX_AT_EXIT(nsx_free_at) uint8_t *b = nsx_alloc(SEARCHED, 1);
	uint64_t found = NOWHERE;

	for (uint64_t at = 0; !found && at < c->size; at += SEARCHED - MARK) {
		size_t n = container_fetch(c, at, b, SEARCHED);
		const uint8_t *p = memmem(b, n, RAW_MARK, MARK);

		if (p)
			found = at + (uint64_t)(p - b);
	}
	return found;
}

struct place { /* in the file                                            */
	uint64_t at, n;
};

static int add_section(struct nsx_container *c, const struct nsx_msg *m,
		       struct place *raw, struct nsx_piece *offsets, struct nsx_err *err)
{
	const struct {
		const char *name;
		struct nsx_piece *to;
	} known[] = {{"Sampling Data Offsets", offsets},
		     {"UI Data", &c->ui},
		     {"Analysis Options Data", &c->options},
		     {"Time Conversion Data", &c->clocks}};
	struct place p = {nsx_msg_uint(m, 2), nsx_msg_uint(m, 3)};
	struct nsx_piece name = nsx_msg_bytes(m, 1);

	if (nsx_piece_is(name, "Raw Sampling Data") && p.at < c->size)
		*raw = (struct place){p.at, NSX_MIN(p.n, c->size - p.at)};
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (nsx_piece_is(name, known[i].name) && !known[i].to->n) {
			if (container_load(c, p.at, p.n, known[i].to, err))
				return err->rc;
			c->is_garbled |= known[i].to->n < p.n;
		}
	return 0;
}

/* Reads the directory of sections. *ret: end of the events, counted from the end of the raw
 * section's mark; 0: unknown.
 */
static int read_directory(struct nsx_container *c, struct place *raw,
			  uint64_t *ret, struct nsx_err *err)
{
	struct nsx_piece offsets = {NULL, 0}, dir = {NULL, 0};
	uint64_t end = container_find_end(c), at = 0;
	struct nsx_msg m;
	struct nsx_wire w;
	uint8_t b[8];

	*ret = 0;
	if (end < sizeof(b) || container_fetch(c, end - 8, b, 8) < 8)
		return 0;
	for (unsigned i = 0; i < sizeof(b); i++)
		at |= (uint64_t)b[i] << 8 * i;
	if (container_load(c, at, at < end - 8 ? end - 8 - at : 0, &dir, err))
		return err->rc;
	for (w = nsx_wire_of(dir); nsx_wire_message(&w, 0, &m, &c->is_garbled);)
		if (add_section(c, &m, raw, &offsets, err))
			return err->rc;
	if (nsx_msg_sound(&m, offsets, &c->is_garbled))
		*ret = nsx_msg_uint(&m, 2);
	nsx_msg_sound(&m, c->ui, &c->is_garbled);
	return 0;
}

/* Reads a varint at *at of the file. */
static bool take_varint(const struct nsx_container *c, uint64_t *at, uint64_t end, uint64_t *ret)
{
	uint8_t b[10];
	struct nsx_wire w = {.p = b};

	w.end = b + container_fetch(c, *at, b,
				    *at < end ? (size_t)NSX_MIN(sizeof(b), end - *at) : 0);
	if (!nsx_wire_varint(&w, ret))
		return false;
	*at += (uint64_t)(w.p - b);
	return true;
}

/* Reads a length and the message after it. 1: truncated. */
static int take_message(struct nsx_container *c, uint64_t *at, uint64_t end,
			struct nsx_piece *ret, struct nsx_err *err)
{
	uint64_t n;

	if (!take_varint(c, at, end, &n) || n > end - *at)
		return 1;
	if (container_load(c, *at, n, ret, err))
		return err->rc;
	*at += n;
	return ret->n < n;
}

/* Reads a block's head and moves *at to the end of the block. False: there is no block, or its
 * sizes are implausible.
 */
static bool read_block_head(const struct nsx_container *c, uint64_t *at, uint64_t end,
			    struct nsx_rep_block *ret)
{
	uint64_t packed, plain;

	if (!take_varint(c, at, end, &packed) ||
	    !take_varint(c, at, end, &plain) || packed > end - *at ||
	    packed > INT32_MAX || plain > packed * 255 + 64 ||
	    plain > INT32_MAX / 2)
		return false;
	*ret = (struct nsx_rep_block){*at, (uint32_t)packed, (uint32_t)plain};
	*at += packed;
	return true;
}

/* Makes room for n bytes; those that were there are lost. */
static int block_room(uint8_t **p, size_t *cap, size_t n, struct nsx_err *err)
{
	if (n <= *cap)
		return 0;
	free(*p);
	*p = nsx_try_alloc(n, 1, "bytes of a block", err);
	*cap = *p ? n : 0;
	return *p ? 0 : err->rc;
}

int nsx_block_read(const struct nsx_container *c, const struct nsx_rep_block *b,
		   struct nsx_block_buf *buf, struct nsx_piece *ret, struct nsx_err *err)
{
	const uint8_t *packed;
	struct nsx_wire w;
	int got;

	if (block_room(&buf->plain, &buf->plain_cap,
		       (size_t)NSX_MAX(b->plain, c->most_plain) + NSX_LAYOUT_SLACK, err))
		return err->rc;
	if (c->fd >= 0) {
		if (block_room(&buf->packed, &buf->packed_cap,
			       (size_t)NSX_MAX(b->packed, c->most_packed) + 1, err))
			return err->rc;
		if (container_fetch(c, b->at, buf->packed, b->packed) < b->packed)
			return nsx_fail(err, NSX_E_DATA, "a block is cut off");
	}
	packed = c->fd < 0 ? c->image.p + b->at : buf->packed;
	got = LZ4_decompress_safe((const char *)packed, (char *)buf->plain,
				  (int)b->packed, (int)b->plain);
	if (got < 0 || (uint32_t)got != b->plain)
		return nsx_fail(err, NSX_E_DATA, "a block does not unpack");
	w = nsx_wire_of((struct nsx_piece){buf->plain, b->plain});
	if (!nsx_wire_bytes(&w, ret))
		return nsx_fail(err, NSX_E_DATA, "a block's message is cut");
	return 0;
}

/* Unpacks a block and keeps it (strings, payload schemas). */
static bool keep_block(struct nsx_container *c, uint64_t *at, uint64_t end,
		       struct nsx_piece *ret, struct nsx_err *err)
{
	struct nsx_block_buf buf = {NULL, NULL, 0, 0};
	struct nsx_rep_block b;
	struct nsx_piece plain;
	uint8_t *copy = NULL;

	if (read_block_head(c, at, end, &b) &&
	    !nsx_block_read(c, &b, &buf, &plain, err) &&
	    nsx_new_array(copy, c->arena, plain.n, "strings of a report", err)) {
		memcpy(copy, plain.p, plain.n);
		*ret = (struct nsx_piece){copy, plain.n};
	}
	free(buf.plain);
	free(buf.packed);
	return copy;
}

static void read_messages_after_events(struct nsx_container *c, uint64_t at, uint64_t end,
				       const struct nsx_msg *header)
{
	struct nsx_err err;

	if (!keep_block(c, &at, end, &c->strings, &err)) {
		c->damage = "the names (functions, kernels, ranges, threads) cannot be read";
		return;
	}
	if ((nsx_msg_uint(header, 5) &&
	     take_message(c, &at, end, &c->threads, &err)) ||
	    (at < end && take_message(c, &at, end, &c->machine, &err)) ||
	    (nsx_msg_has(header, 17) && at < end &&
	     !keep_block(c, &at, end, &c->schemas, &err)))
		c->damage = "names of threads or facts of GPUs, contexts and "
			    "streams cannot be read";
}

static int list_blocks(struct nsx_container *c, uint64_t at, uint64_t end, struct nsx_err *err)
{
	struct nsx_rep_block b, *v = NULL;
	size_t cap = 0;
	int rc = 0;

	while (!rc && at < end && read_block_head(c, &at, end, &b)) {
		c->most_packed = NSX_MAX(c->most_packed, b.packed);
		c->most_plain = NSX_MAX(c->most_plain, b.plain);
		rc = nsx_push(v, c->nblocks, cap, "blocks of events", err, b);
	}
	c->nlost = !rc && at < end;
	if (!rc && nsx_new_array(c->blocks, c->arena, c->nblocks, "blocks of events", err) && v)
		memcpy(c->blocks, v, c->nblocks * sizeof(*v));
	free(v);
	return rc ?: c->blocks ? 0 : err->rc;
}

/* Finds the end of the events if nothing else tells it: after the block that completes their
 * number. Later data may look like blocks, too.
 */
static int find_end_of_events(struct nsx_container *c, uint64_t end, uint64_t *ret,
			      struct nsx_err *err)
{
	struct nsx_block_buf buf = {NULL, NULL, 0, 0};
	struct nsx_piece message = {NULL, 0};
	uint64_t n = 0, at = 0;
	size_t b = 0;
	int rc = 0;

	for (; !rc && b < c->nblocks && n < c->nevents; b++) {
		struct nsx_wire w;

		rc = nsx_block_read(c, &c->blocks[b], &buf, &message, err);
		for (w = nsx_wire_of(message); !rc && nsx_wire_next(&w);)
			n += w.field == 1;
		at = c->blocks[b].at + c->blocks[b].packed;
	}
	if (!rc && n && n == c->nevents && at < end) {
		c->is_cut = false;
		c->nblocks = b;
		c->nlost = 0;
		c->damage = "its end is cut off or damaged, so the version of nsys, the options of "
			    "the capture and other facts may be missing";
		*ret = at;
	}
	free(buf.plain);
	free(buf.packed);
	return rc == NSX_E_DATA ? 0 : rc;
}

/* Lists the blocks of the raw section. events: end of the events, counted from the end of its mark.
 */
static int read_raw(struct nsx_container *c, struct place raw, uint64_t events,
		    const char *path, struct nsx_err *err)
{
	uint64_t at = raw.at + MARK, end = raw.at + raw.n, stop = at + events;
	struct nsx_msg header;
	int rc = take_message(c, &at, end, &c->first, err) ?:
		 take_message(c, &at, end, &c->header, err);

	if (rc)
		return rc < 0 ? rc : nsx_fail(err, NSX_E_DATA, "cannot read '%s': it is cut off "
					      "before its first event; copy it again", path);
	if (!nsx_msg_read(&header, c->header))
		return nsx_fail(err, NSX_E_DATA, "cannot read '%s': its header is "
				"damaged; copy it again", path);
	c->nevents = nsx_msg_uint(&header, 1) + nsx_msg_uint(&header, 15);
	c->nstrings = nsx_msg_uint(&header, 3);
	c->is_cut = !events || events > raw.n || stop > end || stop < at;
	if (c->is_cut) {
		c->damage = "it is cut off or its directory is damaged, so all names, GPUs and "
			    "streams are missing";
		stop = end;
	}
	if (list_blocks(c, at, stop, err) ||
	    (c->is_cut && find_end_of_events(c, end, &stop, err)))
		return err->rc;
	if (!c->is_cut)
		read_messages_after_events(c, stop, end, &header);
	return 0;
}

static int open_container(const char *path, struct nsx_container *c, struct nsx_err *err)
{
	struct place raw = {0, 0};
	uint64_t events;
	uint8_t mark[MARK];

	if (container_open_file(path, c, err) || read_directory(c, &raw, &events, err))
		return err->rc;
	if (raw.n < MARK || container_fetch(c, raw.at, mark, MARK) < MARK ||
	    memcmp(mark, RAW_MARK, MARK)) {
		raw.at = find_raw(c);
		raw.n = c->size - raw.at;
		events = 0;
	}
	if (!raw.at)
		return nsx_fail(err, NSX_E_DATA, "cannot read '%s': it is cut off "
				"before its first event; copy it again", path);
	return read_raw(c, raw, events, path, err);
}

int nsx_container_open(const char *path, struct nsx_container *ret, struct nsx_err *err)
{
	int rc;

	*ret = (struct nsx_container){.arena = nsx_arena_new(), .fd = -1};
	rc = open_container(path, ret, err);
	if (rc)
		nsx_container_close(ret);
	return rc;
}

void nsx_container_close(struct nsx_container *c)
{
	if (c->fd >= 0)
		close(c->fd);
	nsx_arena_free(c->arena);
	*c = (struct nsx_container){.fd = -1};
}
