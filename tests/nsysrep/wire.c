/* wire.c - growing buffers, and protobuf messages that are written into them. */
#include "wire.h"

#include <stdlib.h>
#include <string.h>

void put_raw(struct buf *b, const void *p, size_t n)
{
	if (b->cap - b->n < n) {
		b->cap = 2 * b->cap + n + 64;
		b->p = realloc(b->p, b->cap);
		if (!b->p)
			abort();
	}
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

void put_varint(struct buf *b, uint64_t v)
{
	unsigned char s[10];
	size_t n = 0;

	for (; v > 127; v >>= 7)
		s[n++] = (unsigned char)(v | 128);
	s[n++] = (unsigned char)v;
	put_raw(b, s, n);
}

void put_int(struct buf *b, uint32_t field, int64_t v)
{
	put_varint(b, (uint64_t)field << 3);
	put_varint(b, (uint64_t)v);
}

void put_bytes(struct buf *b, uint32_t field, const void *p, size_t n)
{
	put_varint(b, (uint64_t)field << 3 | 2);
	put_varint(b, n);
	put_raw(b, p, n);
}

void put_text(struct buf *b, uint32_t field, const char *s)
{
	put_bytes(b, field, s, strlen(s));
}

void put_buf(struct buf *b, uint32_t field, const struct buf *message)
{
	put_bytes(b, field, message->p, message->n);
}

void put_fixed(struct buf *b, uint32_t field, const void *p, size_t n)
{
	put_varint(b, (uint64_t)field << 3 | (n == 8 ? 1 : 5));
	put_raw(b, p, n);
}

static void close_to(struct message *m, int depth)
{
	while (m->depth > depth) {
		struct buf *inner = &m->level[m->depth--];

		put_buf(&m->level[m->depth], m->path[m->depth], inner);
		inner->n = 0;
	}
}

struct buf *message_at(struct message *m, const uint32_t *path, int n)
{
	int same = 0;

	while (same < m->depth && same < n - 1 && m->path[same] == path[same])
		same++;
	close_to(m, same);
	for (; m->depth < n - 1; m->depth++)
		m->path[m->depth] = path[m->depth];
	return &m->level[m->depth];
}

struct buf *message_end(struct message *m)
{
	close_to(m, 0);
	return &m->level[0];
}
