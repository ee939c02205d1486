/* script.h - queries as scripts that run without this program.
 *
 * A script creates the TEMP views that its queries read, with the columns that they name,
 * and TEMP tables for the private queries that they use; then come the queries. The words
 * of the SQL text decide what is needed. A query must therefore name each column that it reads of a
 * view of fields.def; "*" selects none. A script may hold an unneeded column whose name also stands
 * for something else in the text.
 */
#pragma once

#include "schema/query.h"
#include "schema/schema.h"

struct nsx_scripts;

/* Makes the scripts of a schema. Owner: the caller, nsx_scripts_free; borrows s. */
struct nsx_scripts *nsx_scripts_new(const struct nsx_schema *s);
void nsx_scripts_free(struct nsx_scripts *x); /* NULL is fine */

/* Appends the script of n of nsx_queries to b. */
void nsx_scripts_add(const struct nsx_scripts *x, const struct nsx_query *const *queries, size_t n,
		     struct nsx_buf *b);
