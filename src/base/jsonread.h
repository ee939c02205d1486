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

/* Gives each entry {path, size_bytes, crc32} of the document's "files" to fn. */
enum nsx_files { NSX_FILES_NONE, /* of another program, without; not JSON */
		 NSX_FILES_UNLISTED, /* of this program (tool.name), without */
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

/* A document as it was sent, and the values in it; all are borrowed from it. */
struct nsx_jsonr;
enum nsx_jsonr_type { NSX_J_ABSENT, NSX_J_NULL, NSX_J_BOOL, NSX_J_INT, NSX_J_REAL,
		     NSX_J_STR, NSX_J_ARRAY, NSX_J_OBJECT };

/* An integer beyond 64 bits is a real, and what holds a NUL is no text.
 * Errors: NULL and NSX_E_USAGE. Owner: the caller, nsx_jsonr_free.
 */
struct nsx_jsonr *nsx_jsonr_parse(const char *text, size_t n,
				struct nsx_err *err) NSX_CHECKED;
void nsx_jsonr_free(struct nsx_jsonr *j); /* NULL is fine */
/* A value that outlives its document.  Owner: the caller, nsx_jsonr_free. */
struct nsx_jsonr *nsx_jsonr_keep(const struct nsx_jsonr *value);
enum nsx_jsonr_type nsx_jsonr_type(const struct nsx_jsonr *j); /* of NULL: ABSENT */
/* Of an object; NULL: it is none, or has no such member. */
const struct nsx_jsonr *nsx_jsonr_get(const struct nsx_jsonr *j, const char *key);
/* Of an array or an object; 0 of all else. */
size_t nsx_jsonr_count(const struct nsx_jsonr *j);
const struct nsx_jsonr *nsx_jsonr_at(const struct nsx_jsonr *array, size_t i);
/* The first member of an object whose key is not wanted; NULL: all are. */
const char *nsx_jsonr_find_key(const struct nsx_jsonr *object,
			      bool (*is_wanted)(void *ctx, const char *key),
			      void *ctx);
const char *nsx_jsonr_str(const struct nsx_jsonr *j); /* NULL: not a text */
bool nsx_jsonr_int(const struct nsx_jsonr *j, int64_t *ret);
bool nsx_jsonr_equal(const struct nsx_jsonr *a, const struct nsx_jsonr *b);

#endif
