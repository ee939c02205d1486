/* jsonread.h - reading the one shape of JSON that users hand us; in json.c, as
 * only one file uses the JSON library.
 */
#ifndef NSX_JSONREAD_H
#define NSX_JSONREAD_H

#include "base/err.h"

/* Gives each string of an object whose values are strings or lists of strings
 * to fn, in file order: fn(ctx, key, text, at), `at` being its place in the
 * list.  A key whose list is empty is given once, with text NULL.
 * Errors: NSX_E_USAGE naming `path` and the place, or that of fn.
 */
typedef int (*nsx_json_string_fn)(void *ctx, const char *key, const char *text,
				  size_t at, struct nsx_err *err);
int nsx_json_each_string(const char *json, size_t n, const char *path,
			 nsx_json_string_fn fn, void *ctx,
			 struct nsx_err *err);

#endif
