/* jsonw.c - writes and reads JSON; the only file that uses jansson.
 *
 * A whole document is built and printed at the end, so a failure never leaves half a
 * document. Containers are attached to their parent at once; the stack only borrows them.
 * Keys are our own words, hence need no repair.
 */
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include "base/jsonread.h"
#include "base/jsonw.h"
#include "base/str.h"

enum { MAX_DEPTH = 32 };

struct nsx_jsonw {
	json_t *root, *open[MAX_DEPTH];
	unsigned depth;
	struct nsx_err err; /* the first failure of a step */
};

struct nsx_jsonw *nsx_jsonw_new(void)
{
	return nsx_alloc(1, sizeof(struct nsx_jsonw));
}

void nsx_jsonw_free(struct nsx_jsonw *w)
{
	if (!w)
		return;
	json_decref(w->root);
	free(w);
}

/* Ends the program if a container could not be allocated: it needs only a few bytes. */
static json_t *or_end_program(json_t *v)
{
	if (!v)
		nsx_die_of_memory(sizeof(*v));
	return v;
}

/* Ends the program if a container could not be attached, because jansson frees it then. */
static void die_on_failure(int rc)
{
	if (rc)
		nsx_die_of_memory(sizeof(json_t));
}

/* Copies the first part of a path; returns the rest after its dot, or NULL. */
static const char *take_part(const char *path, struct nsx_buf *part)
{
	for (; *path && *path != '.'; path++) {
		path += *path == '\\' && path[1];
		nsx_buf_add(part, path, 1);
	}
	return *path ? path + 1 : NULL;
}

/* The container that holds the end of path, whose last part goes into *name. */
static json_t *jsonw_descend(const struct nsx_jsonw *w, const char *path, struct nsx_buf *name)
{
	json_t *at = w->depth ? w->open[w->depth - 1] : NULL, *next;

	assert(at || (!w->root && !path));
	assert(!at || json_is_object(at) == (path != NULL));
	nsx_buf_adds(name, "");
	while (path && (path = take_part(path, name))) {
		next = json_object_get(at, name->p);
		if (!json_is_object(next)) {
			next = or_end_program(json_object());
			die_on_failure(json_object_set_new_nocheck(at, name->p, next));
		}
		at = next;
		nsx_buf_clear(name);
	}
	return at;
}

/* Attaches v and takes ownership. Returns non-zero and keeps the error if memory runs out. */
static int jsonw_add(struct nsx_jsonw *w, const char *key, json_t *v)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf name = { 0 };
	json_t *into = jsonw_descend(w, key, &name);
	int rc;

	if (!into) {
		w->root = v;
		rc = v ? 0 : -1;
	} else if (key) {
		rc = json_object_set_new_nocheck(into, name.p, v);
	} else {
		rc = json_array_append_new(into, v);
	}
	if (rc && !w->err.rc)
		nsx_fail(&w->err, NSX_E_NOMEM, "cannot hold '%s' of a JSON document: out of memory",
			 key ? key : "a value");
	return rc;
}

static void jsonw_open_container(struct nsx_jsonw *w, json_t *v)
{
	assert(w->depth < MAX_DEPTH);
	w->open[w->depth++] = v;
}

void nsx_jsonw_object(struct nsx_jsonw *w, const char *key)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf name = { 0 };
	json_t *into = jsonw_descend(w, key, &name);
	json_t *v = key ? json_object_get(into, name.p) : NULL;

	if (!json_is_object(v)) {
		v = or_end_program(json_object());
		die_on_failure(jsonw_add(w, key, v));
	}
	jsonw_open_container(w, v);
}

void nsx_jsonw_array(struct nsx_jsonw *w, const char *key)
{
	json_t *v = or_end_program(json_array());

	die_on_failure(jsonw_add(w, key, v));
	jsonw_open_container(w, v);
}

void nsx_jsonw_end(struct nsx_jsonw *w)
{
	assert(w->depth);
	w->depth--;
}

void nsx_jsonw_strn(struct nsx_jsonw *w, const char *key, const char *s, size_t n)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf fixed = { 0 };

	nsx_buf_add_utf8(&fixed, s, n);
	jsonw_add(w, key, json_stringn_nocheck(fixed.n ? fixed.p : "", fixed.n));
}

void nsx_jsonw_str(struct nsx_jsonw *w, const char *key, const char *s)
{
	if (s)
		nsx_jsonw_strn(w, key, s, strlen(s));
	else
		nsx_jsonw_null(w, key);
}

void nsx_jsonw_int(struct nsx_jsonw *w, const char *key, int64_t v)
{
	jsonw_add(w, key, json_integer(v));
}

void nsx_jsonw_real(struct nsx_jsonw *w, const char *key, double v)
{
	if (!isfinite(v) && !w->err.rc)
		nsx_fail(&w->err, NSX_E_DATA, "cannot write '%s' as JSON: not a finite number",
			 key ? key : "a value");
	jsonw_add(w, key, isfinite(v) ? json_real(v) : json_null());
}

void nsx_jsonw_bool(struct nsx_jsonw *w, const char *key, bool v)
{
	jsonw_add(w, key, json_boolean(v));
}

void nsx_jsonw_null(struct nsx_jsonw *w, const char *key)
{
	jsonw_add(w, key, json_null());
}

void nsx_jsonw_value(struct nsx_jsonw *w, const char *key, const struct nsx_jsonr *v)
{
	if (v)
		jsonw_add(w, key, json_deep_copy((const json_t *)v));
	else
		nsx_jsonw_null(w, key);
}

void nsx_jsonw_part(struct nsx_jsonw *w, const char *key, const struct nsx_jsonw *part)
{
	assert(!part->depth);
	if (part->err.rc && !w->err.rc)
		w->err = part->err;
	jsonw_add(w, key, json_incref(part->root));
}

/* Reports the first failure, if any. */
static int jsonw_check(const struct nsx_jsonw *w, struct nsx_err *err)
{
	assert(!w->depth);
	if (w->err.rc)
		*err = w->err;
	return w->err.rc;
}

static int add_bytes(const char *p, size_t n, void *b)
{
	nsx_buf_add(b, p, n);
	return 0;
}

/* Prints into a buffer: a stdio call for each token is slower. */
int nsx_jsonw_write(const struct nsx_jsonw *w, FILE *out, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = { 0 };

	if (jsonw_check(w, err))
		return err->rc;
	if (json_dump_callback(w->root, add_bytes, &b, JSON_INDENT(2) | JSON_ENSURE_ASCII |
							       JSON_REAL_PRECISION(15)) ||
	    fwrite(b.p, 1, b.n, out) != b.n || fputc('\n', out) == EOF || fflush(out))
		return nsx_fail_write(err, errno, "cannot write JSON");
	return 0;
}

int nsx_jsonw_finish(struct nsx_jsonw *w, FILE *out, struct nsx_err *err)
{
	int rc = nsx_jsonw_write(w, out, err);

	nsx_jsonw_free(w);
	return rc;
}

int nsx_jsonw_add_to(const struct nsx_jsonw *w, struct nsx_buf *b, struct nsx_err *err)
{
	if (jsonw_check(w, err))
		return err->rc;
	if (json_dump_callback(w->root, add_bytes, b, JSON_COMPACT | JSON_ENSURE_ASCII |
							      JSON_ENCODE_ANY |
							      JSON_REAL_PRECISION(15)))
		return nsx_fail(err, NSX_E_NOMEM, "cannot print JSON: out of memory");
	return 0;
}

/* Reading ---------------------------------------------------------------------*/

static int jsonw_read_strings(const char *key, json_t *list, const char *path,
			      nsx_json_string_fn fn, void *ctx, struct nsx_err *err)
{
	size_t i;
	json_t *v;
	int rc = json_array_size(list) ? 0 : fn(ctx, key, NULL, 0, err);

	json_array_foreach(list, i, v) {
		if (!rc && !json_is_string(v))
			return nsx_fail(err, NSX_E_USAGE, "cannot use '%s': entry %zu of '%s' is "
					"not a string", path, i + 1, key);
		rc = rc ?: fn(ctx, key, json_string_value(v), i, err);
	}
	return rc;
}

static int read_object(json_t *root, const char *path, nsx_json_string_fn fn,
		       void *ctx, struct nsx_err *err)
{
	const char *key;
	json_t *v;
	int rc = 0;

	if (!json_is_object(root))
		return nsx_fail(err, NSX_E_USAGE, "cannot use '%s': it is not "
				"a JSON object {name: [text, ...], ...}", path);
	json_object_foreach(root, key, v) {
		if (!rc && json_is_string(v))
			rc = fn(ctx, key, json_string_value(v), 0, err);
		else if (!rc && json_is_array(v))
			rc = jsonw_read_strings(key, v, path, fn, ctx, err);
		else if (!rc)
			rc = nsx_fail(err, NSX_E_USAGE, "cannot use '%s': '%s' is neither a string "
				      "nor a list of strings", path, key);
	}
	return rc;
}

int nsx_json_each_string(const char *json, size_t n, const char *path,
			 nsx_json_string_fn fn, void *ctx, struct nsx_err *err)
{
	json_error_t e;
	json_t *root = json_loadb(json, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
	int rc;

	if (!root)
		return nsx_fail(err, NSX_E_USAGE, "cannot read '%s' as JSON: line %d, column %d: "
				"%s", path, e.line, e.column, e.text);
	rc = read_object(root, path, fn, ctx, err);
	json_decref(root);
	return rc;
}

static bool is_of_this_program(const json_t *root)
{
	const char *name = json_string_value(
		json_object_get(json_object_get(root, "tool"), "name"));

	return name && !strcmp(name, "nsys-explain");
}

enum nsx_files nsx_json_files(const char *json, size_t n, nsx_json_file_fn fn, void *ctx)
{
	json_t *root = json_loadb(json, n, 0, NULL), *v;
	json_t *list = json_object_get(root, "files");
	enum nsx_files what = json_is_array(list)      ? NSX_FILES_LISTED :
			      is_of_this_program(root) ? NSX_FILES_UNLISTED :
							 NSX_FILES_NONE;
	size_t i;

	if (what == NSX_FILES_LISTED)
		json_array_foreach(list, i, v) {
			const json_t *size = json_object_get(v, "size_bytes");
			const json_t *sum = json_object_get(v, "crc32");
			const char *path = json_string_value(json_object_get(v, "path"));

			if (path && json_is_integer(size) && json_is_integer(sum))
				fn(ctx, path, json_integer_value(size), json_integer_value(sum));
		}
	json_decref(root);
	return what;
}

static int call_for_numbers(const json_t *object, const char *list,
			    nsx_json_number_fn fn, void *ctx, struct nsx_err *err)
{
	const char *name = json_string_value(json_object_get(object, "name"));
	const char *key;
	json_t *value;
	int rc = 0;

	json_object_foreach((json_t *)object, key, value) {
		if (!rc && name && json_is_number(value))
			rc = fn(ctx, list, name, key, json_number_value(value), err);
	}
	return rc;
}

int nsx_json_each_number(const char *path, nsx_json_number_fn fn, void *ctx, struct nsx_err *err)
{
	json_error_t e;
	json_t *root = json_load_file(path, 0, &e), *list, *object;
	const char *key;
	size_t i;
	int rc = 0;

	if (!root)
		return nsx_fail(err, NSX_E_USAGE, "cannot read '%s' as JSON: %s", path, e.text);
	json_object_foreach(root, key, list) {
		json_array_foreach(list, i, object) {
			rc = rc ?: call_for_numbers(object, key, fn, ctx, err);
		}
	}
	json_decref(root);
	return rc;
}

/* struct nsx_jsonr is a json_t under our own name. */

static const json_t *json_of(const struct nsx_jsonr *j)
{
	return (const json_t *)j;
}

/* Turns integers that were read as reals back into integers if that is exact. Only
 * members of objects are converted, as all parameters that take integers are members.
 */
static void restore_integers(json_t *j)
{
	const double most = 9007199254740992.0; /* 2^53 */
	size_t n = json_array_size(j); /* the length; 0 if it is no array */

	for (void *at = json_object_iter(j); at; at = json_object_iter_next(j, at)) {
		json_t *v = json_object_iter_value(at);

		if (json_is_real(v) && fabs(json_real_value(v)) < most &&
		    floor(json_real_value(v)) == json_real_value(v))
			json_object_iter_set_new(j, at, json_integer(
					(json_int_t)json_real_value(v)));
		else
			restore_integers(v);
	}
	for (size_t i = 0; i < n; i++)
		restore_integers(json_array_get(j, i));
}

struct nsx_jsonr *nsx_jsonr_parse(const char *text, size_t n, struct nsx_err *err)
{
	json_error_t e;
	json_t *root = json_loadb(text, n, JSON_DECODE_ANY, &e);

	/* Integers beyond 64 bits and strings with NUL are valid JSON, and a request with
	 * them deserves an answer.
	 */
	if (!root) {
		root = json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL |
						   JSON_DECODE_INT_AS_REAL, NULL);
		restore_integers(root);
	}
	if (!root)
		(void)nsx_fail(err, NSX_E_USAGE, "not JSON: column %d: %s", e.column, e.text);
	return (struct nsx_jsonr *)root;
}

void nsx_jsonr_free(struct nsx_jsonr *j)
{
	json_decref((json_t *)j);
}

struct nsx_jsonr *nsx_jsonr_keep(const struct nsx_jsonr *v)
{
	return (struct nsx_jsonr *)json_incref((json_t *)v);
}

enum nsx_jsonr_type nsx_jsonr_type(const struct nsx_jsonr *j)
{
	static const enum nsx_jsonr_type types[] = {
		[JSON_OBJECT] = NSX_J_OBJECT, [JSON_ARRAY] = NSX_J_ARRAY,
		[JSON_STRING] = NSX_J_STR,    [JSON_INTEGER] = NSX_J_INT,
		[JSON_REAL] = NSX_J_REAL,     [JSON_TRUE] = NSX_J_BOOL,
		[JSON_FALSE] = NSX_J_BOOL,    [JSON_NULL] = NSX_J_NULL};

	return j ? types[json_typeof(json_of(j))] : NSX_J_ABSENT;
}

const struct nsx_jsonr *nsx_jsonr_get(const struct nsx_jsonr *j, const char *key)
{
	return (struct nsx_jsonr *)json_object_get(json_of(j), key);
}

size_t nsx_jsonr_count(const struct nsx_jsonr *j)
{
	return json_array_size(json_of(j)) + json_object_size(json_of(j));
}

const struct nsx_jsonr *nsx_jsonr_at(const struct nsx_jsonr *array, size_t i)
{
	return (struct nsx_jsonr *)json_array_get(json_of(array), i);
}

const char *nsx_jsonr_find_key(const struct nsx_jsonr *object,
			      bool (*is_wanted)(void *ctx, const char *key), void *ctx)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)object, key, v)
		if (!is_wanted(ctx, key))
			return key;
	return NULL;
}

const char *nsx_jsonr_str(const struct nsx_jsonr *j)
{
	const char *s = json_string_value(json_of(j));

	return s && strlen(s) == json_string_length(json_of(j)) ? s : NULL;
}

bool nsx_jsonr_int(const struct nsx_jsonr *j, int64_t *ret)
{
	if (!json_is_integer(json_of(j)))
		return false;
	*ret = json_integer_value(json_of(j));
	return true;
}

bool nsx_jsonr_equal(const struct nsx_jsonr *a, const struct nsx_jsonr *b)
{
	return json_equal(json_of(a), json_of(b));
}
