/* shape.h - JSON Schemas (2020-12) of what the program writes, from the column
 * lists of the tables and from keys.def.
 *
 * A key that is not listed, one too few in a section that is present, a value of
 * another type and a word that is none of its key's are refused.  null, not known, is
 * allowed for what nullable.def lists and for shares; in replies to agents, which
 * leave out what is not known, nowhere.
 */
#ifndef NSX_SHAPE_H
#define NSX_SHAPE_H

#include "agent/tools.h"

/* Names of all there are: report, brief, ..., tool:NAME; NULL: no more. */
const char *nsx_shape_name(unsigned i, struct nsx_arena *a);
/* Errors: NSX_E_USAGE, no such name. Owner of *ret: the caller. */
int nsx_shape_schema(const char *name, struct nsx_jsonw **ret,
		     struct nsx_err *err) NSX_CHECKED;
/* An answer as keys.def has it, with any tables and values, as a value of an open
 * object: what a list of tools has room for.
 */
void nsx_shape_put(struct nsx_jsonw *w, const char *key, const char *of);

#endif
