/* test_phase.c - phase maps: order, matching, and errors that name the place. */
#include "../testlib.h"
#include "passes/nvtx/phase.h"

static struct nsx_phase_map *parse(const char *text)
{
	struct nsx_phase_map *m = NULL;
	struct nsx_err err;

	if (nsx_phase_map_parse(text, strlen(text), "map.json", &m, &err))
		fail_msg("%s", err.msg);
	return m;
}

TEST(first_phase_in_file_order_wins)
{
	struct nsx_phase_map *m = parse("{\"z\": [\"fwd\", \"forward\"], \"a\": \"ward\", "
		"\"none\": [], \"all\": \"\"}");

	assert_int_equal(nsx_phase_count(m), 4);
	assert_string_equal(nsx_phase_name(m, 0), "z");
	assert_string_equal(nsx_phase_name(m, 2), "none");
	assert_int_equal(nsx_phase_of(m, "forward"), 0);
	assert_int_equal(nsx_phase_of(m, "backward"), 1);
	assert_int_equal(nsx_phase_of(m, "other"), 3);
	nsx_phase_map_free(m);
}

TEST(substring_ignores_case_regex_does_not)
{
	struct nsx_phase_map *m = parse("\xef\xbb\xbf{\"s\": \"Mm\", \"r\": \"re:^Step [0-9]+$\"}");

	assert_int_equal(nsx_phase_of(m, "aten::mm"), 0);
	assert_int_equal(nsx_phase_of(m, "Step 12"), 1);
	assert_int_equal(nsx_phase_of(m, "step 12"), 2);
	assert_int_equal(nsx_phase_of(m, "Step 12b"), 2);
	nsx_phase_map_free(m);
}

TEST(errors_name_the_place)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"", "line 1, column 0"},
		{"{\"a\":\n \"b\",}", "line 2, column 6"},
		{"[]", "not a JSON object"},
		{"\"a\"", "not a JSON object"},
		{"{\"a\": 1}", "'a' is neither"},
		{"{\"a\": [\"x\", null]}", "entry 2 of 'a'"},
		{"{\"a\": \"x\", \"a\": \"y\"}", "duplicate"},
		{"{\"a\": \"\\u0000\"}", "line 1"},
		{"{\"p\": [\"x\", \"re:[\"]}", "pattern 2 of phase 'p'"},
		{"{\"p\": \"re:\\\\d+\"}", "write [0-9]"},
		{"{\"p\": \"re:(?i)x\"}", "pattern 1 of phase 'p'"},
		{"{\"p\": \"re:a+++++++++++++++\"}", "repeats too much"},
		{"{\"p\": \"re:(([x+[:alpha:]]{9,99}){99})b\"}",
		 "repeats too much"},
		{"{\"p\": \"re:y++++*++++++x+++++*++++*++++++\"}",
		 "repeats too much"},
		{"{\"p\": \"re:(a{5000})\"}", "repeats too much"},
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct nsx_phase_map *m;
		struct nsx_err err;

		assert_int_equal(nsx_phase_map_parse(bad[i].text, strlen(bad[i].text),
						     "map.json", &m, &err), NSX_E_USAGE);
		if (!strstr(err.msg, bad[i].says) || !strstr(err.msg, "'map.json'"))
			fail_msg("%s -> %s", bad[i].text, err.msg);
	}
}

TEST(escaped_backslash_is_no_digit_class)
{
	struct nsx_phase_map *m = parse("{\"p\": \"re:a\\\\\\\\d\"}");

	assert_int_equal(nsx_phase_of(m, "a\\d"), 0);
	nsx_phase_map_free(m);
}

TEST(files_that_cannot_be_read)
{
	struct nsx_phase_map *m;
	struct nsx_err err;

	assert_int_equal(nsx_phase_map_read("/nonexistent/map.json", &m, &err), NSX_E_USAGE);
	assert_non_null(strstr(err.msg, "No such file"));
	assert_int_equal(nsx_phase_map_read("/", &m, &err), NSX_E_USAGE);
	assert_non_null(strstr(err.msg, "directory"));
	assert_int_equal(nsx_phase_map_read("/dev/zero", &m, &err), NSX_E_USAGE);
	assert_non_null(strstr(err.msg, "16 MiB"));
	assert_int_equal(nsx_phase_map_read("/dev/null", &m, &err), NSX_E_USAGE);
}
