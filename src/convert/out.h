/* out.h - a file that appears only when it is complete, written in large blocks.
 *
 * Write functions never fail. The first error is kept in `error` and reported by nsx_out_commit;
 * long loops should check it to end early.
 */
#pragma once

#include "convert/deflate.h"
#include "emit/target.h"

enum { NSX_OUT_BLOCK = 1 << 18 };

struct nsx_out {
	char *buf; /* buffer of NSX_OUT_BLOCK bytes */
	size_t n;
	int64_t bytes; /* written to the file so far */
	int64_t max_bytes; /* exceeding it is the error EFBIG; 0: no limit */
	int error;     /* errno; 0: none */
	struct nsx_target to;
	struct nsx_deflate *gz; /* NULL: uncompressed */
};

/* Opens an output. Path "-" is stdout; a name that ends in .gz is compressed on `threads` threads.
 * *ret must not move. Errors: those of nsx_target_open.
 */
int nsx_out_open(const struct nsx_target *to, unsigned threads,
		 struct nsx_out *ret, struct nsx_err *err) NSX_CHECKED;
/* Writes the rest and moves the file into place. Errors: NSX_E_IO, NSX_E_CLOSED. */
int nsx_out_commit(struct nsx_out *o, struct nsx_err *err) NSX_CHECKED;
/* Frees everything; removes a file that was not committed. A zeroed *o is allowed. */
void nsx_out_done(struct nsx_out *o);

void nsx_out_flush(struct nsx_out *o);
void nsx_out_add_large(struct nsx_out *o, const char *p, size_t n);

/* Room for n bytes, n <= NSX_OUT_BLOCK. nsx_out_take accepts what was written there. */
static inline char *nsx_out_room(struct nsx_out *o, size_t n)
{
	if (o->n + n > NSX_OUT_BLOCK)
		nsx_out_flush(o);
	return o->buf + o->n;
}
static inline void nsx_out_take(struct nsx_out *o, const char *end)
{
	o->n = (size_t)(end - o->buf);
}
static inline void nsx_out_add(struct nsx_out *o, const char *p, size_t n)
{
	if (n > NSX_OUT_BLOCK) {
		nsx_out_add_large(o, p, n);
		return;
	}
	memcpy(nsx_out_room(o, n), p, n);
	o->n += n;
}
static inline void nsx_out_adds(struct nsx_out *o, const char *s)
{
	nsx_out_add(o, s, strlen(s));
}

/* Writes a tar archive into an uncompressed file. The bytes written between begin, which returns
 * the member's position, and end are one member.
 */
size_t nsx_tar_begin(struct nsx_out *o);
void nsx_tar_end(struct nsx_out *o, size_t at, const char *name);
void nsx_tar_close(struct nsx_out *o);

/* Write pieces of JSON at p. Each returns the end of its text. */
char *nsx_json_int(char *p, int64_t i);
char *nsx_json_hex(char *p, uint64_t u);
/* Writes non-negative nanoseconds as microseconds with three decimals. */
char *nsx_json_us(char *p, int64_t ns);
/* Appends text for use inside a JSON string: repaired, cut, escaped. */
void nsx_json_escape(struct nsx_buf *b, const char *text, size_t n);
void nsx_out_text(struct nsx_out *o, const char *text, size_t n);
