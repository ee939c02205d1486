/* jsonread.h - reads JSON of users and our own lists of files. It is implemented in
 * jsonw.c, the only file that uses the JSON library.
 */
#pragma once

#include "base/err.h"

/* Calls fn(ctx, key, text, at) for each string of an object whose values are strings or lists of
 * strings, in file order; `at` is the place in the list. A key with an empty list is given once,
 * with text NULL. Errors: NSX_E_USAGE naming `path` and the place, or that of fn.
 */
typedef int (*nsx_json_string_fn)(void *ctx, const char *key, const char *text,
				  size_t at, struct nsx_err *err);
int nsx_json_each_string(const char *json, size_t n, const char *path,
			 nsx_json_string_fn fn, void *ctx, struct nsx_err *err);

/* Calls fn for each entry {path, size_bytes, crc32} of the document's "files". Returns whether the
 * document has such a list.
 */
enum nsx_files { NSX_FILES_NONE, /* not JSON, or another program's document without
				    "files" */
		 NSX_FILES_UNLISTED, /* a document of this program (tool.name) without
					"files" */
		 NSX_FILES_LISTED };
typedef void (*nsx_json_file_fn)(void *ctx, const char *path, int64_t size_bytes, int64_t crc32);
enum nsx_files nsx_json_files(const char *json, size_t n, nsx_json_file_fn fn, void *ctx);

/* Calls fn for each number in the lists of named objects at the file's root, in file order:
 * {"metrics": [{"name": "step", "rel": 0.02}]} gives fn(ctx, "metrics", "step", "rel",
 * 0.02). Errors: NSX_E_USAGE naming the file and its defect, or that of fn.
 */
typedef int (*nsx_json_number_fn)(void *ctx, const char *list, const char *name, const char *key,
				  double number, struct nsx_err *err);
int nsx_json_each_number(const char *path, nsx_json_number_fn fn, void *ctx, struct nsx_err *err);

/* A parsed document. Its values are borrowed from it. */
struct nsx_jsonr;
enum nsx_jsonr_type { NSX_J_ABSENT, NSX_J_NULL, NSX_J_BOOL, NSX_J_INT, NSX_J_REAL,
		     NSX_J_STR, NSX_J_ARRAY, NSX_J_OBJECT };

/* Parses a document of any JSON type. Integers beyond 64 bits become reals; a string that contains
 * a NUL is no text for nsx_jsonr_str. Errors: NULL and NSX_E_USAGE. Owner: the caller,
 * nsx_jsonr_free.
 */
struct nsx_jsonr *nsx_jsonr_parse(const char *text, size_t n, struct nsx_err *err) NSX_CHECKED;
void nsx_jsonr_free(struct nsx_jsonr *j); /* j may be NULL */
/* Keeps a value alive after its document. Owner: the caller, nsx_jsonr_free. */
struct nsx_jsonr *nsx_jsonr_keep(const struct nsx_jsonr *value);
enum nsx_jsonr_type nsx_jsonr_type(const struct nsx_jsonr *j); /* NSX_J_ABSENT if j is NULL */
/* A member of an object; NULL if there is none or j is no object. */
const struct nsx_jsonr *nsx_jsonr_get(const struct nsx_jsonr *j, const char *key);
/* The length of an array or object; 0 for other values. */
size_t nsx_jsonr_count(const struct nsx_jsonr *j);
const struct nsx_jsonr *nsx_jsonr_at(const struct nsx_jsonr *array, size_t i);
/* The first key of an object that is_wanted refuses; NULL if there is none. */
const char *nsx_jsonr_find_key(const struct nsx_jsonr *object,
			      bool (*is_wanted)(void *ctx, const char *key), void *ctx);
const char *nsx_jsonr_str(const struct nsx_jsonr *j); /* NULL: j is no text */
bool nsx_jsonr_int(const struct nsx_jsonr *j, int64_t *ret);
bool nsx_jsonr_equal(const struct nsx_jsonr *a, const struct nsx_jsonr *b);
