/* packed.h - compressed rows of a long table that is only written to files: each row is
 * stored as its differences from the row before it.
 */
#pragma once

#include "report/table.h"

/* Holds at most max_rows rows of ncols columns. NULL: no memory. Owner: the caller,
 * nsx_packed_free.
 */
struct nsx_packed_rows *nsx_packed_new(size_t max_rows, unsigned ncols);
void nsx_packed_free(struct nsx_packed_rows *p); /* NULL is fine */

size_t nsx_packed_count(const struct nsx_packed_rows *p);
bool nsx_packed_is_full(const struct nsx_packed_rows *p);
/* The next row, filled with null cells and valid until the next call. Sets *is_short if there was
 * no memory and the row before it is lost.
 */
struct nsx_cell *nsx_packed_add(struct nsx_packed_rows *p, bool *is_short);
/* Copies a text for the row added last. NULL: no room. */
const char *nsx_packed_text(struct nsx_packed_rows *p, const char *text);
