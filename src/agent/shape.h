/* shape.h - JSON Schemas (2020-12) of what the program writes, made from the columns of the
 * tables and from keys.def.
 *
 * The schemas refuse an unlisted key, a missing key in a section that is present, a value of
 * another type, and a word outside the fixed set of its key. null means not known and is
 * allowed for shares and what nullable.def lists. Replies to agents have no null; they leave
 * out what is not known.
 */
#pragma once

#include "agent/tools.h"

/* The name of the i-th schema: report, brief, ..., tool:NAME; NULL: no more. */
const char *nsx_shape_name(unsigned i, struct nsx_arena *a);
/* Makes a schema. Owner of *ret: the caller. Errors: NSX_E_USAGE for an unknown name. */
int nsx_shape_schema(const char *name, struct nsx_jsonw **ret, struct nsx_err *err) NSX_CHECKED;
/* Writes the schema of an answer into an open object. It is short enough for a list of tools: keys
 * as in keys.def, and any tables and values.
 */
void nsx_shape_put(struct nsx_jsonw *w, const char *key, const char *of);
