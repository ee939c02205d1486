/* test_layout.c - rows by layout have the same values as messages read field by field. */
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

/* Makes a message of this form. Only the values of its numbers are random. */
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

/* The cells of the message's layout hold what is in its fields. */
static void must_agree(const struct nsx_event_layout *l, const struct nsx_layout_place *place,
		       const struct draft *d, const struct nsx_msg *m)
{
	struct nsx_event_layout row = *l;
	unsigned field[NSX_LAYOUT_CELLS];
	struct nsx_val v[NSX_LAYOUT_CELLS];

	row.ncells = 0;
	for (unsigned f = 0; f < NSX_MSG_FIELDS && row.ncells < NSX_LAYOUT_CELLS; f++) {
		assert_int_equal(place[f].kind != NSX_ABSENT, nsx_msg_has(m, f));
		field[row.ncells] = f;
		if (place[f].kind)
			row.cell[row.ncells++] = nsx_layout_cell(&place[f]);
	}
	nsx_layout_row(&row, d->b, NULL, v);
	for (unsigned i = 0; i < row.ncells; i++)
		if (m->v[field[i]].bytes) {
			assert_ptr_equal(v[i].u.p, m->v[field[i]].bytes);
			assert_int_equal(v[i].len, m->v[field[i]].n);
		} else {
			assert_int_equal(v[i].u.i, m->v[field[i]].n);
		}
}

TEST(layouts_change_nothing)
{
	static struct nsx_layout_place known[FORMS][NSX_MSG_FIELDS];
	static struct nsx_layouts layouts;
	unsigned nmatched = 0, nlearnt = 0;

	for (unsigned i = 0; i < 200000; i++) {
		unsigned kind = random_below(KINDS); /* 4 * kind: kinds share places of the cache */
		unsigned form = random_below(FORMS);
		const struct nsx_layout_shape shape = {NSX_IN_PART, 0, 0, 0};
		struct nsx_event_layout *l;
		struct nsx_msg m;
		struct draft d;

		draft_message(&d, form);
		struct nsx_piece b = {d.b, d.n};

		l = nsx_layout_find(&layouts, 4 * kind, b);
		if (!nsx_msg_read(&m, b)) {
			assert_null(l);
			assert_true(!d.n || !nsx_layout_learn(&layouts, 4 * kind, b, &shape));
			continue;
		}
		nmatched += l != NULL;
		if (!l) {
			l = nsx_layout_learn(&layouts, 4 * kind, b, &shape);
			if (!l)
				continue;
			nlearnt++;
			memcpy(known[form], layouts.place[NSX_IN_PART], sizeof(known[0]));
		}
		must_agree(l, known[form], &d, &m);
	}
	assert_true(nlearnt > KINDS && nmatched > 1000);
}

/* Writes a field with bytes; returns the place of the bytes. */
static void put_bytes(struct draft *d, unsigned field, const struct draft *bytes)
{
	put_varint(d, field << 3 | NSX_BYTES, 2);
	put_varint(d, bytes->n, 1);
	memcpy(d->b + d->n, bytes->b, bytes->n);
	d->n += bytes->n;
}

static void put_number(struct draft *d, unsigned field, uint64_t n, unsigned length)
{
	put_varint(d, field << 3, 1);
	put_varint(d, n, length);
}

/* An event {1 type, 107 {1 start, 7 kind, 102 {1 bytes}}}, as it is or with its body twice. */
static struct draft draft_event(uint64_t type, uint64_t kind, uint64_t n, bool is_twice)
{
	struct draft part = {.n = 0}, body = {.n = 0}, event = {.n = 0};

	put_number(&part, 1, n, 3);
	put_number(&body, 1, n + 1, 4);
	put_number(&body, 7, kind, 1);
	put_bytes(&body, 102, &part);
	put_number(&event, 1, type, 1);
	put_bytes(&event, 107, &body);
	if (is_twice)
		put_bytes(&event, 107, &body);
	return event;
}

TEST(nested_messages)
{
	const struct nsx_layout_shape shape = {NSX_IN_EVENT, 107, 102, 7};
	static struct nsx_layouts layouts;
	struct draft first = draft_event(80, 1, 5, false), same = draft_event(80, 1, 9999, false),
		     type = draft_event(81, 1, 5, false), kind = draft_event(80, 2, 5, false),
		     twice = draft_event(80, 1, 5, true);
	struct nsx_event_layout *l = nsx_layout_learn(&layouts, 0, (struct nsx_piece){first.b, first.n},
						&shape);
	struct nsx_val v[2];

	assert_non_null(l);
	l->cell[0] = nsx_layout_cell(&layouts.place[NSX_IN_BODY][1]);
	l->cell[1] = nsx_layout_cell(&layouts.place[NSX_IN_PART][1]);
	l->ncells = 2;
	assert_ptr_equal(nsx_layout_find(&layouts, 0, (struct nsx_piece){same.b, same.n}), l);
	nsx_layout_row(l, same.b, NULL, v);
	assert_int_equal(v[0].u.i, 10000);
	assert_int_equal(v[1].u.i, 9999);
	assert_null(nsx_layout_find(&layouts, 0, (struct nsx_piece){type.b, type.n}));
	assert_null(nsx_layout_find(&layouts, 0, (struct nsx_piece){kind.b, kind.n}));
	assert_null(nsx_layout_find(&layouts, 1, (struct nsx_piece){same.b, same.n}));
	assert_null(nsx_layout_learn(&layouts, 0, (struct nsx_piece){twice.b, twice.n}, &shape));
}

/* The second message has bytes like the keys of the first at the same places, but other bytes are
 * its keys.
 */
TEST(numbers_of_other_lengths)
{
	static const uint8_t first[7 + NSX_LAYOUT_SLACK] = "\x08\x01\x08\x02\x08\x83\x04",
			     other[7 + NSX_LAYOUT_SLACK] = "\x08\x81\x08\x10\x08\x10\x05";
	const struct nsx_layout_shape shape = {NSX_IN_PART, 0, 0, 0};
	static struct nsx_layouts layouts;

	assert_non_null(nsx_layout_learn(&layouts, 1, (struct nsx_piece){first, 7}, &shape));
	assert_non_null(nsx_layout_find(&layouts, 1, (struct nsx_piece){first, 7}));
	assert_null(nsx_layout_find(&layouts, 1, (struct nsx_piece){other, 7}));
}
