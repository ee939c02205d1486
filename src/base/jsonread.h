/* jsonread.h - reading the JSON that users hand us, and our own lists of files;
 * in jsonw.c, as only one file uses the JSON library.
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

/* Gives each entry {path, size_bytes, crc32} of "files" to fn, if the document is
 * of this program (tool.name).
 */
enum nsx_files { NSX_FILES_NONE, /* it is not, or not JSON at all */
		 NSX_FILES_UNLISTED, /* it is, and has no such list */
		 NSX_FILES_LISTED };
typedef void (*nsx_json_file_fn)(void *ctx, const char *path,
				 int64_t size_bytes, int64_t crc32);
enum nsx_files nsx_json_files(const char *json, size_t n, nsx_json_file_fn fn,
			      void *ctx);

/* Gives each number of the lists of named objects in the file's root to fn, in
 * file order: {"metrics": [{"name": "step", "rel": 0.02}]} is
 * fn(ctx, "metrics", "step", "rel", 0.02).
 * Errors: NSX_E_USAGE naming the file and what is wrong with it, or that of fn.
 */
typedef int (*nsx_json_number_fn)(void *ctx, const char *list,
				  const char *name, const char *key,
				  double number, struct nsx_err *err);
int nsx_json_each_number(const char *path, nsx_json_number_fn fn, void *ctx,
			 struct nsx_err *err);

#endif
