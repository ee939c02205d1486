/* out.c - writes blocks to a file that gets its name at the end. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include "convert/out.h"

static void out_write_block(struct nsx_out *o, const char *p, size_t n)
{
	o->bytes += (int64_t)n;
	if (!o->error && !nsx_write_all(o->to.fd, p, n))
		o->error = errno;
	if (!o->error && o->max_bytes && o->bytes > o->max_bytes)
		o->error = EFBIG;
}

/* Writes a compressed block, a gzip file of its own; readers treat concatenated files as one. The
 * first has a header comment that names this program.
 */
static void write_packed(void *ctx, const char *p, size_t n)
{
	static const char head[] = "\x1f\x8b\x08\x10\0\0\0\0\x04\xffnsys-explain";
	enum { PLAIN_HEAD = 10 };
	struct nsx_out *o = ctx;

	if (!p) {
		o->error = ENOMEM;
		return;
	}
	if (!o->bytes) {
		out_write_block(o, head, sizeof(head)); /* with the terminating NUL */
		p += PLAIN_HEAD, n -= PLAIN_HEAD;
	}
	out_write_block(o, p, n);
}

int nsx_out_open(const struct nsx_target *to, unsigned threads,
		 struct nsx_out *ret, struct nsx_err *err)
{
	int rc = 0;

	*ret = (struct nsx_out){.to = *to};
	if (strcmp(to->path, "-"))
		rc = nsx_target_open(&ret->to, err);
	else
		ret->to.fd = STDOUT_FILENO;

	if (!rc) {
		ret->buf = nsx_try_alloc(1, NSX_OUT_BLOCK, "an output block", err);
		rc = ret->buf ? 0 : err->rc;
	}
	if (!rc && nsx_ends_with(to->path, ".gz")) {
		ret->gz = nsx_deflate_open(NSX_DEFLATE_GZIP, threads, write_packed, ret, err);
		rc = ret->gz ? 0 : err->rc;
	}
	if (rc)
		nsx_out_done(ret);
	return rc;
}

void nsx_out_add_large(struct nsx_out *o, const char *p, size_t n)
{
	if (o->n)
		nsx_out_flush(o);
	if (o->gz)
		nsx_deflate_put(o->gz, p, n);
	else
		out_write_block(o, p, n);
}

void nsx_out_flush(struct nsx_out *o)
{
	size_t n = o->n;

	o->n = 0;
	if (n)
		nsx_out_add_large(o, o->buf, n);
}

static void close_fd(struct nsx_out *o)
{
	errno = 0;
	if (o->to.fd > STDOUT_FILENO && close(o->to.fd) && !o->error)
		o->error = errno ? errno : EIO;
	o->to.fd = -1;
}

int nsx_out_commit(struct nsx_out *o, struct nsx_err *err)
{
	nsx_out_flush(o);
	if (o->gz)
		nsx_deflate_drain(o->gz);
	close_fd(o);
	if (o->error)
		return nsx_fail_write(err, o->error, "cannot write '%s'",
				      strcmp(o->to.path, "-") ? o->to.path :
								"stdout");
	return nsx_target_commit(&o->to, err);
}

void nsx_out_done(struct nsx_out *o)
{
	nsx_deflate_free(o->gz);
	close_fd(o);
	nsx_target_done(&o->to);
	free(o->buf);
	*o = (struct nsx_out){.to.fd = -1};
}

/* Archives --------------------------------------------------------------------*/

enum { TAR_BLOCK = 512 };

static void out_pad(struct nsx_out *o, size_t n)
{
	memset(nsx_out_room(o, n), 0, n);
	o->n += n;
}

size_t nsx_tar_begin(struct nsx_out *o)
{
	size_t at = (size_t)o->bytes + o->n;

	out_pad(o, TAR_BLOCK); /* the header is written once the size is known */
	return at;
}

/* Fills the header of a member of the archive. Its fields are octal digits, and the check sum
 * counts its own field as blanks.
 */
static void out_fill_header(char h[TAR_BLOCK], const char *name, size_t size)
{
	unsigned sum = 0;

	memset(h, 0, TAR_BLOCK);
	snprintf(h, 100, "%s", name);
	memcpy(h + 100, "0000644\0000000000\0000000000", 24);
	snprintf(h + 124, 12, "%011llo", (unsigned long long)size);
	memcpy(h + 136, "00000000000", 12);
	memcpy(h + 148, "        0", 9);
	memcpy(h + 257, "ustar\00000", 8);
	for (unsigned i = 0; i < TAR_BLOCK; i++)
		sum += (unsigned char)h[i];
	snprintf(h + 148, 8, "%06o", sum);
}

void nsx_tar_end(struct nsx_out *o, size_t at, const char *name)
{
	size_t size = (size_t)o->bytes + o->n - at - TAR_BLOCK;
	char header[TAR_BLOCK];

	out_pad(o, (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
	nsx_out_flush(o);
	if (size >> 33)
		o->error = EFBIG; /* the size needs more than eleven octal digits */
	out_fill_header(header, name, size);
	if (!o->error && pwrite(o->to.fd, header, TAR_BLOCK, (off_t)at) != TAR_BLOCK)
		o->error = errno ? errno : EIO;
}

void nsx_tar_close(struct nsx_out *o)
{
	out_pad(o, 2 * TAR_BLOCK);
}

/* JSON ----------------------------------------------------------------------*/

static char *put_uint(char *p, uint64_t u)
{
	char digits[20], *end = digits + sizeof(digits);
	const char *d = nsx_digits_before(end, u);

	memcpy(p, d, (size_t)(end - d));
	return p + (end - d);
}

char *nsx_json_int(char *p, int64_t i)
{
	if (i >= 0)
		return put_uint(p, (uint64_t)i);
	*p = '-';
	return put_uint(p + 1, -(uint64_t)i);
}

char *nsx_json_hex(char *p, uint64_t u)
{
	int shift = 60;

	while (shift && !(u >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*p++ = "0123456789abcdef"[u >> shift & 15];
	return p;
}

char *nsx_json_us(char *p, int64_t ns)
{
	uint64_t us = (uint64_t)ns / 1000;
	unsigned rest = (unsigned)((uint64_t)ns - us * 1000);

	p = put_uint(p, us);
	p[0] = '.';
	p[1] = (char)('0' + rest / 100);
	p[2] = (char)('0' + rest / 10 % 10);
	p[3] = (char)('0' + rest % 10);
	return p + 4;
}

void nsx_json_escape(struct nsx_buf *b, const char *text, size_t n)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf valid = {0};

	nsx_buf_add_utf8(&valid, text, NSX_MIN(n, NSX_MAX_TEXT));
	nsx_buf_add_escaped(b, valid.n ? valid.p : "", valid.n);
}

void nsx_out_text(struct nsx_out *o, const char *text, size_t n)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	n = NSX_MIN(n, NSX_MAX_TEXT);
	if (nsx_unescaped(text, n) == n) {
		nsx_out_add(o, text, n);
		return;
	}
	nsx_json_escape(&b, text, n);
	nsx_out_add(o, b.p, b.n);
}
