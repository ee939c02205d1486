/* packed.h - the rows of a long table that nobody reads but who writes them: each as
 * what differs from the row before it, in the bytes that needs.
 */
#ifndef NSX_PACKED_H
#define NSX_PACKED_H

#include "report/table.h"

/* For so many rows of ncols columns at most.  NULL: no memory.  Owner: the caller,
 * nsx_packed_free.
 */
struct nsx_packed_rows *nsx_packed_new(size_t max_rows, unsigned ncols);
void nsx_packed_free(struct nsx_packed_rows *p); /* NULL is fine */

size_t nsx_packed_count(const struct nsx_packed_rows *p);
bool nsx_packed_is_full(const struct nsx_packed_rows *p);
/* The null cells of the next row, valid until the next.  is_short: set where there is
 * no memory for the row before it, which is lost.
 */
struct nsx_cell *nsx_packed_add(struct nsx_packed_rows *p, bool *is_short);
/* A copy of a text for the row that was added last.  NULL: there is no room. */
const char *nsx_packed_text(struct nsx_packed_rows *p, const char *text);

#endif
