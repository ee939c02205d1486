/* test_layout.c - reading messages by layout gives the same as reading them field by field. */
#include "../testlib.h"
#include <string.h>
#include "nsysrep/layout.h"

enum { MOST = 120, KINDS = 3, FORMS = 40 };

struct draft {
	uint8_t b[MOST + NSX_LAYOUT_SLACK];
	size_t n;
};

static uint32_t random_below(uint32_t below)
{
	static uint32_t x = 1;

	x = x * 1664525 + 1013904223;
	return (x >> 8) % below;
}

/* Writes a varint of `length` bytes; the last bytes may be zero. */
static void put_varint(struct draft *d, uint64_t n, unsigned length)
{
	for (; --length; n >>= 7)
		d->b[d->n++] = (uint8_t)(n | 128);
	d->b[d->n++] = n & 127;
}

/* A message of this form. Only the values of its numbers are random. */
static void draft_message(struct draft *d, unsigned form)
{
	*d = (struct draft){.n = 0};
	for (unsigned f = 1; f < 4 + form % 5; f++) {
		unsigned field = (f * (3 + form) + form / 7) % 140;

		put_varint(d, field << 3, field < 16 ? 1 : 2 + form / 30);
		put_varint(d, (uint64_t)random_below(1 << 24) << 24 | random_below(1 << 24),
			   1 + (f + form) * 7 % (form < 20 ? 8 : 10));
	}
	if (form % 8 == 7) {
		put_varint(d, 15 << 3 | NSX_BYTES, 1);
		put_varint(d, form % 5, 1);
		d->n += form % 5;
	}
	if (form % 9 == 8)
		d->n--;
}

static void must_agree(const struct nsx_msg *x, const struct nsx_msg *y, uint64_t fields)
{
	for (unsigned f = 0; f < NSX_MSG_FIELDS; f++) {
		bool has = nsx_msg_has(y, f);

		if (f < 64 && !(fields >> f & 1) && !(has && y->v[f].bytes))
			continue;
		assert_int_equal(nsx_msg_has(x, f), has);
		if (has) {
			assert_int_equal(x->v[f].n, y->v[f].n);
			assert_ptr_equal(x->v[f].bytes, y->v[f].bytes);
		}
	}
}

/* Cells of the message's layout, if it has one, hold the numbers of its fields. */
static void must_have_cells(struct nsx_msg_layouts *layouts, uint32_t kind, struct nsx_piece b,
			    const struct nsx_msg *m, uint64_t fields)
{
	const struct nsx_msg_layout *l = nsx_layout_find(layouts, kind, b);

	for (unsigned f = 0; l && f < NSX_MSG_FIELDS; f++) {
		struct nsx_layout_cell c = nsx_layout_cell(l, f);

		if (!nsx_msg_has(m, f))
			assert_true(c.is_null && !c.own);
		else if (!m->v[f].bytes && (f >= 64 || fields >> f & 1))
			assert_true(!c.is_null && nsx_cell_number(c, b.p) == nsx_msg_int(m, f));
	}
}

TEST(layouts_change_nothing)
{
	static const uint64_t fields[KINDS] = {UINT64_MAX, 1 << 3 | 1 << 6, 0},
			      fixed[KINDS] = {0, 1 << 3, 0};
	static struct nsx_msg_layouts layouts;
	unsigned nlearnt = 0;

	for (unsigned i = 0; i < 200000; i++) {
		unsigned kind = random_below(KINDS); /* times 4: they share places */
		struct nsx_msg x, y;
		struct draft d;
		bool is_whole;

		draft_message(&d, random_below(FORMS));
		is_whole = nsx_layout_read(&layouts, 4 * kind, fields[kind], fixed[kind], &x,
					   (struct nsx_piece){d.b, d.n});
		assert_int_equal(is_whole, nsx_msg_read(&y, (struct nsx_piece){d.b, d.n}));
		if (is_whole)
			must_agree(&x, &y, fields[kind]);
		if (is_whole)
			must_have_cells(&layouts, 4 * kind, (struct nsx_piece){d.b, d.n}, &y,
					fields[kind]);
	}
	for (unsigned i = 0; i < NSX_LAYOUTS; i++)
		nlearnt += layouts.of[i].n != 0;
	assert_true(nlearnt > KINDS);
}

/* The second message has bytes like the keys of the first at the same places, but other bytes are
 * its keys.
 */
TEST(numbers_of_other_lengths)
{
	static const uint8_t first[7 + NSX_LAYOUT_SLACK] = "\x08\x01\x08\x02\x08\x83\x04",
			     other[7 + NSX_LAYOUT_SLACK] = "\x08\x81\x08\x10\x08\x10\x05";
	static struct nsx_msg_layouts layouts;
	struct nsx_msg m;

	for (unsigned i = 0; i < 2; i++)
		assert_true(nsx_layout_read(&layouts, 1, UINT64_MAX, 0, &m,
					    (struct nsx_piece){first, 7}));
	assert_int_equal(nsx_msg_uint(&m, 1), 515);
	assert_true(nsx_layout_read(&layouts, 1, UINT64_MAX, 0, &m,
				    (struct nsx_piece){other, 7}));
	assert_int_equal(nsx_msg_uint(&m, 1), 1025);
	assert_int_equal(nsx_msg_uint(&m, 2), 5);
}
