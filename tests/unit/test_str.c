/* Interned strings: a table over another one. */
#include "../testlib.h"
#include <stdio.h>
#include "base/str.h"

static nsx_str add(struct nsx_strings *s, const char *text)
{
	struct nsx_err err;
	nsx_str id = 0;

	assert_int_equal(nsx_strings_add(s, text, strlen(text), &id, &err), 0);
	return id;
}

TEST(table_over_another_keeps_its_ids)
{
	struct nsx_strings *under = nsx_strings_new(), *over;
	size_t bound;
	nsx_str ids[100];
	char text[16];

	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		ids[i] = add(under, text);
	}
	bound = nsx_strings_bound(under);
	over = nsx_strings_over(under);
	for (int i = 0; i < 200; i++) {
		nsx_str id;

		snprintf(text, sizeof(text), "name %d", i);
		id = add(over, text);
		if (i < 100)
			assert_int_equal(id, ids[i]);
		else
			assert_true(id >= bound);
		assert_int_equal(add(over, text), id);
		assert_true(id < nsx_strings_bound(over));
		assert_string_equal(nsx_str_text(over, id), text);
	}
	assert_int_equal(nsx_strings_bound(under), bound);
	assert_true(nsx_str_cmp(over, ids[3], add(over, "name 150")) > 0);
	nsx_strings_free(over);
	nsx_strings_free(under);
}
