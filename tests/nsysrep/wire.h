/* wire.h - growing buffers, and protobuf messages that are written into them.
 *
 * Running out of memory ends the program. */
#ifndef TESTS_NSYSREP_WIRE_H
#define TESTS_NSYSREP_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	unsigned char *p;
	size_t n, cap;
};

void put_raw(struct buf *b, const void *p, size_t n);
void put_varint(struct buf *b, uint64_t v);
void put_int(struct buf *b, uint32_t field, int64_t v);
void put_bytes(struct buf *b, uint32_t field, const void *p, size_t n);
void put_text(struct buf *b, uint32_t field, const char *s);
void put_buf(struct buf *b, uint32_t field, const struct buf *message);
/* n bytes of p, little-endian: 4 or 8. */
void put_fixed(struct buf *b, uint32_t field, const void *p, size_t n);

enum { PATH_MAX_DEPTH = 6 };

/* A message that is being written, and those open within it. level[0] is the
 * outermost; zeroed at first. */
struct message {
	struct buf level[PATH_MAX_DEPTH];
	uint32_t path[PATH_MAX_DEPTH];
	int depth;
};

/* The message that field path[n - 1] belongs to; others are closed. */
struct buf *message_at(struct message *m, const uint32_t *path, int n);
/* Closes all messages and returns the whole message. After n is set to 0, message_at() begins a new
 * one.
 */
struct buf *message_end(struct message *m);

#endif
