/* order.c - corrects the position of rows that come a little late. */
#include "convert/order.h"

struct nsx_order_slot {
	int64_t start, end, rid;
	struct nsx_val v[NSX_ORDER_COLUMNS];
	struct nsx_buf text; /* storage of the texts in v */
};

void nsx_lateness_note(struct nsx_lateness *l, const struct nsx_val *start)
{
	size_t at = l->n % NSX_ORDER_WINDOW;
	int64_t greatest;

	if (start->type != NSX_V_I64)
		return;
	greatest = l->n ? l->greatest[(l->n - 1) % NSX_ORDER_WINDOW] : INT64_MIN;
	/* Rows up to this start have already been passed on, so this row is too late. */
	if (l->n >= NSX_ORDER_WINDOW && l->greatest[at] >= start->u.i)
		l->is_far = true;
	l->greatest[at] = NSX_MAX(greatest, start->u.i);
	l->n++;
}

int nsx_order_open(struct nsx_order *o, struct nsx_err *err)
{
	o->slots = nsx_try_alloc(NSX_ORDER_WINDOW, sizeof(*o->slots),
				 "rows to be put in order", err);
	return o->slots ? 0 : err->rc;
}

void nsx_order_done(struct nsx_order *o)
{
	for (unsigned i = 0; o->slots && i < NSX_ORDER_WINDOW; i++)
		nsx_buf_done(&o->slots[i].text);
	free(o->slots);
}

static bool has_bytes(const struct nsx_val *v)
{
	return v->type == NSX_V_TEXT || v->type == NSX_V_BLOB;
}

/* Copies a row into the slot, including text. */
static void copy_row_into_slot(struct nsx_order_slot *s, int64_t rid, const struct nsx_val *v,
			       unsigned n)
{
	size_t at = 0;

	s->rid = rid;
	s->text.n = 0;
	memcpy(s->v, v, n * sizeof(*v));
	for (unsigned i = 0; i < n; i++)
		if (has_bytes(&v[i]))
			nsx_buf_add(&s->text, v[i].u.p, v[i].len);
	for (unsigned i = 0; s->text.n && i < n; i++)
		if (has_bytes(&v[i])) {
			s->v[i].u.p = s->text.p + at;
			at += v[i].len;
		}
}

/* Whether row a precedes row b. Equal rows keep the order of the table. */
static bool order_is_before(const struct nsx_order *o, const struct nsx_order_slot *a,
			    const struct nsx_order_slot *b)
{
	if (a->start != b->start || !o->ends)
		return a->start < b->start;
	return o->ends < 0 ? a->end > b->end : a->end < b->end;
}

/* The slot of the n-th held row, in order. */
static uint8_t *held_row(struct nsx_order *o, unsigned n)
{
	return &o->sorted[(o->first + n) % NSX_ORDER_WINDOW];
}

/* Passes on the first row and frees its slot. */
static int pass_on_first_row(struct nsx_order *o, uint8_t *ret_slot, struct nsx_err *err)
{
	const struct nsx_order_slot *s;

	*ret_slot = *held_row(o, 0);
	s = &o->slots[*ret_slot];
	o->first++;
	o->n--;
	return o->fn(o->ctx, s->rid, s->v, err);
}

int nsx_order_row(void *order, int64_t rid, const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_order *o = order;
	uint8_t slot = (uint8_t)o->n;
	struct nsx_order_slot *s;
	unsigned at;

	if (v[0].type != NSX_V_I64)
		return o->fn(o->ctx, rid, v, err);
	if (o->n == NSX_ORDER_WINDOW && pass_on_first_row(o, &slot, err))
		return err->rc;
	s = &o->slots[slot];
	copy_row_into_slot(s, rid, v, o->ncolumns);
	s->start = v[0].u.i;
	s->end = v[1].type == NSX_V_I64 ? v[1].u.i : INT64_MAX;
	for (at = o->n; at && order_is_before(o, s, &o->slots[*held_row(o, at - 1)]); at--)
		*held_row(o, at) = *held_row(o, at - 1);
	*held_row(o, at) = slot;
	o->n++;
	return 0;
}

int nsx_order_flush(struct nsx_order *o, struct nsx_err *err)
{
	uint8_t slot;

	while (o->n)
		if (pass_on_first_row(o, &slot, err))
			return err->rc;
	return 0;
}
