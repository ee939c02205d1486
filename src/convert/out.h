/* out.h - a file that appears when it is whole, written in large blocks.
 *
 * Writing never fails on the spot: the first failure is remembered in `error`
 * and told by nsx_out_commit; long loops look at it to end early.
 */
#ifndef NSX_CONVERT_OUT_H
#define NSX_CONVERT_OUT_H

#include <string.h>
#include "convert/deflate.h"
#include "emit/target.h"

enum { NSX_OUT_BLOCK = 1 << 18 };

struct nsx_out {
	char *buf; /* NSX_OUT_BLOCK bytes */
	size_t n;
	int64_t bytes; /* of the file, so far */
	int64_t max_bytes; /* more is the error EFBIG; 0: any */
	int error;     /* errno, 0: none */
	struct nsx_target to;
	struct nsx_deflate *gz; /* NULL: not compressed */
};

/* The path "-" is stdout; a name that ends in .gz is compressed, on so many
 * threads.  *ret must stay where it is.  Errors: those of nsx_target_open.
 */
int nsx_out_open(const struct nsx_target *to, unsigned threads,
		 struct nsx_out *ret, struct nsx_err *err) NSX_CHECKED;
/* Writes the rest and puts the file in its place. Errors: NSX_E_IO, NSX_E_CLOSED. */
int nsx_out_commit(struct nsx_out *o, struct nsx_err *err) NSX_CHECKED;
/* Lets go; without commit before, nothing stays. Zeroed is fine. */
void nsx_out_done(struct nsx_out *o);

void nsx_out_flush(struct nsx_out *o);
void nsx_out_add_large(struct nsx_out *o, const char *p, size_t n);

/* Room for n bytes, n <= NSX_OUT_BLOCK; what is written there is taken with
 * nsx_out_take, up to its end.
 */
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

/* A tar archive, of a plain file that is not compressed: a member is what is
 * written between begin, which returns its place, and end.
 */
size_t nsx_tar_begin(struct nsx_out *o);
void nsx_tar_end(struct nsx_out *o, size_t at, const char *name);
void nsx_tar_close(struct nsx_out *o);

/* Pieces of JSON. Each returns the end of what it wrote at p. */
char *nsx_json_int(char *p, int64_t i);
char *nsx_json_hex(char *p, uint64_t u);
/* Nanoseconds (not negative) as microseconds with three decimals. */
char *nsx_json_us(char *p, int64_t ns);
/* Appends text as the inside of a JSON string: repaired, cut, escaped. */
void nsx_json_escape(struct nsx_buf *b, const char *text, size_t n);
void nsx_out_text(struct nsx_out *o, const char *text, size_t n);

#endif
