/* test_jsonw.c - the output of the JSON writer, byte by byte. */
#include "../testlib.h"
#include <math.h>
#include "base/jsonw.h"

/* Frees w and returns its text; NULL: err has the error. Owner: the caller. */
static char *text_of(struct nsx_jsonw *w, struct nsx_err *err)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	int rc = nsx_jsonw_write(w, f, err);

	fclose(f);
	nsx_jsonw_free(w);
	if (!rc)
		return text;
	free(text);
	return NULL;
}

TEST(every_kind_of_value)
{
	struct nsx_jsonw *w = nsx_jsonw_new();
	struct nsx_err err;
	char *text;

	nsx_jsonw_object(w, NULL);
	nsx_jsonw_str(w, "s", "a\"b\n");
	nsx_jsonw_str(w, "none", NULL);
	nsx_jsonw_int(w, "i", INT64_MIN);
	nsx_jsonw_real(w, "r", 0.1);
	nsx_jsonw_bool(w, "b", true);
	nsx_jsonw_array(w, "a");
	nsx_jsonw_strn(w, NULL, "xyz", 1);
	nsx_jsonw_object(w, NULL);
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
	text = text_of(w, &err);
	assert_string_equal(text, "{\n  \"s\": \"a\\\"b\\n\",\n"
				  "  \"none\": null,\n"
				  "  \"i\": -9223372036854775808,\n"
				  "  \"r\": 0.1,\n  \"b\": true,\n"
				  "  \"a\": [\n    \"x\",\n    {}\n  ]\n}\n");
	free(text);
}

TEST(a_key_is_a_path)
{
	struct nsx_jsonw *w = nsx_jsonw_new();
	struct nsx_err err;
	char *text;

	nsx_jsonw_object(w, NULL);
	nsx_jsonw_int(w, "a.b.c", 1);
	nsx_jsonw_int(w, "x\\.y", 2);
	nsx_jsonw_object(w, "a.b");
	nsx_jsonw_int(w, "d", 3);
	nsx_jsonw_int(w, "c", 4);
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
	text = text_of(w, &err);
	assert_string_equal(text, "{\n  \"a\": {\n    \"b\": {\n"
				  "      \"c\": 4,\n      \"d\": 3\n"
				  "    }\n  },\n  \"x.y\": 2\n}\n");
	free(text);
}

TEST(text_is_repaired_and_escaped)
{
	struct nsx_jsonw *w = nsx_jsonw_new();
	struct nsx_err err;
	char *text;

	nsx_jsonw_array(w, NULL);
	nsx_jsonw_str(w, NULL, "\xc3\xa4\xff");
	nsx_jsonw_strn(w, NULL, "a\0b", 3);
	nsx_jsonw_str(w, NULL, "");
	nsx_jsonw_end(w);
	text = text_of(w, &err);
	assert_string_equal(text, "[\n  \"\\u00E4\\uFFFD\",\n"
				  "  \"a\\uFFFDb\",\n  \"\"\n]\n");
	free(text);
}

TEST(a_number_that_is_none_fails)
{
	struct nsx_jsonw *w = nsx_jsonw_new();
	struct nsx_err err;

	nsx_jsonw_object(w, NULL);
	nsx_jsonw_real(w, "share", NAN);
	nsx_jsonw_real(w, "later", INFINITY);
	nsx_jsonw_end(w);
	assert_null(text_of(w, &err));
	assert_int_equal(err.rc, NSX_E_DATA);
	assert_string_equal(err.msg, "cannot write 'share' as JSON: not a finite number");
}

TEST(a_full_disk_is_said)
{
	struct nsx_jsonw *w = nsx_jsonw_new();
	struct nsx_err err = { 0 };
	FILE *full = fopen("/dev/full", "w");

	if (!full)
		skip();
	nsx_jsonw_array(w, NULL);
	nsx_jsonw_end(w);
	assert_int_equal(nsx_jsonw_write(w, full, &err), NSX_E_IO);
	assert_string_equal(err.msg, "cannot write JSON: No space left on device");
	fclose(full);
	nsx_jsonw_free(w);
}
