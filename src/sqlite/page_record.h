/* page_record.h - decodes the wanted columns of the rows of one leaf page. */
#pragma once

#include "sqlite/scan.h"
#include "sqlite/page_file.h"

struct nsx_wanted {
	uint16_t column; /* column's place in the record    */
	uint16_t slot;	 /* column's place in the result row */
	bool is_real;	 /* integers become doubles          */
};

struct nsx_wants {
	struct nsx_wanted *v; /* one for each column */
	unsigned n;
	struct nsx_val *absent; /* for each slot: values for records that are too short */
	uint16_t *rowid_slots;	/* columns that are the row id */
	unsigned nrowid;
};

/* Finds `columns` in t. Returns false if SQLite must read the table, because t lacks a column or a
 * default is no plain literal. Owner: arena a.
 */
bool nsx_wants_plan(const struct nsx_table_info *t, const char *const *columns,
		    unsigned ncolumns, struct nsx_arena *a, struct nsx_wants *ret);

struct nsx_decoder;

/* Makes a decoder for one thread. f, w and table are borrowed. Owner: nsx_decoder_free. Errors:
 * NULL with NSX_E_NOMEM.
 */
struct nsx_decoder *nsx_decoder_new(const struct nsx_pagefile *f, const struct nsx_wants *w,
				    const char *table, struct nsx_err *err);
/* From now on rows outside [from, to) are skipped as struct nsx_choice says. */
void nsx_decoder_cut(struct nsx_decoder *d, int64_t from, int64_t to);
void nsx_decoder_free(struct nsx_decoder *d); /* NULL is fine */

/* Calls fn for each row of a leaf page. `page` has NSX_PAGE_SLACK readable bytes after it. Only a
 * table's root may be empty. Errors: NSX_E_DATA where the page stops making sense; fn's own code.
 */
int nsx_decode_leaf(struct nsx_decoder *d, const uint8_t *page, uint32_t number,
		    bool is_root, nsx_row_fn fn, void *ctx, struct nsx_err *err);
