/* shape.h - JSON Schemas (2020-12) of what the program writes, from the column
 * lists of the tables and from keys.def.
 *
 * A key that is not listed and a value of another type are refused; null is
 * allowed for any number, string or truth value: not known.
 */
#ifndef NSX_SHAPE_H
#define NSX_SHAPE_H

#include "agent/tools.h"

/* Names of all there are: report, brief, ..., tool:NAME; NULL: no more. */
const char *nsx_shape_name(unsigned i, struct nsx_arena *a);
/* Errors: NSX_E_USAGE, no such name. Owner of *ret: the caller. */
int nsx_shape_schema(const char *name, struct nsx_jsonw **ret,
		     struct nsx_err *err) NSX_CHECKED;
/* The keys of that name in keys.def, as a value of an open object. */
void nsx_shape_put(struct nsx_jsonw *w, const char *key, const char *of);

#endif
