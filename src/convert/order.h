/* order.h - brings the rows of a table into start order, as far as tracks need it. */
#pragma once

#include "sqlite/scan.h"

/* Rows may come at most this many places late; otherwise the whole table is sorted. Real tables
 * are in order, nearly so, or made of long runs.
 */
enum { NSX_ORDER_WINDOW = 64, NSX_ORDER_COLUMNS = 20 };

/* Observes the starts of a table's rows. Initialise with zeros. */
struct nsx_lateness {
	int64_t greatest[NSX_ORDER_WINDOW]; /* greatest start up to each row, as a ring */
	uint64_t n;
	bool is_far; /* some row comes later than NSX_ORDER_WINDOW allows */
};
void nsx_lateness_note(struct nsx_lateness *l, const struct nsx_val *start);

/* Passes rows to fn by start, then end (ends < 0: longest first, 0: as they come), provided none
 * is later than the window. The first two columns are start and end. Rows without a start are
 * passed at once.
 */
struct nsx_order {
	nsx_row_fn fn;
	void *ctx;
	unsigned ncolumns;
	int ends;
	unsigned n;
	uint8_t sorted[NSX_ORDER_WINDOW]; /* slot numbers, as a ring that begins at `first` */
	uint8_t first;
	struct nsx_order_slot *slots;
};
int nsx_order_open(struct nsx_order *o, struct nsx_err *err) NSX_CHECKED;
int nsx_order_row(void *order, int64_t rid, const struct nsx_val *v, struct nsx_err *err);
int nsx_order_flush(struct nsx_order *o, struct nsx_err *err) NSX_CHECKED;
void nsx_order_done(struct nsx_order *o);
