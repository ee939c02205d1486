/* script.h - queries as scripts that run without this program.
 *
 * A script creates the TEMP views that its queries read, as they are for this
 * file and with the columns that are named, and TEMP tables of the private
 * queries that they build on; then come the queries.  What is
 * read is found by the words of the texts.  So a text names each column that it
 * reads of a view of fields.def ("*" would give it none), and a column may be
 * there without need where something else in the text has its name.
 */
#ifndef NSX_SCRIPT_H
#define NSX_SCRIPT_H

#include "schema/query.h"
#include "schema/schema.h"

struct nsx_scripts;

/* Owner: the caller, nsx_scripts_free; borrows s. */
struct nsx_scripts *nsx_scripts_new(const struct nsx_schema *s);
void nsx_scripts_free(struct nsx_scripts *x); /* NULL is fine */

/* Appends to b the script of n members of nsx_queries. */
void nsx_scripts_add(const struct nsx_scripts *x,
		     const struct nsx_query *const *queries, size_t n,
		     struct nsx_buf *b);

#endif
