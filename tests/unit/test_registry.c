/* Each analysis has what an analysis has, or says why not. */
#include <glob.h>
#include <stdio.h>
#include "../testlib.h"
#include "passes/pass.h"

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1, 1 << 20);

	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0 || feof(f));
	fclose(f);
	return text;
}

/* Whether a case shows an answer, or none: null, or not present. */
static void look(const struct nsx_pass *p, const char *text, bool *answered,
		 bool *cannot)
{
	const char *id = p->json ? strrchr(p->json, '.') + 1 : p->id;
	char null[128], key[128];

	snprintf(key, sizeof(key), "\"%s\": ", id);
	snprintf(null, sizeof(null), "\"%s\": null", id);
	if (strstr(text, "\"present\": false") || strstr(text, null) ||
	    strstr(text, "- **Not computed**"))
		*cannot = true;
	else if (strstr(text, key) || strstr(text, "\n## "))
		*answered = true;
	if (strstr(text, "\"present\": true"))
		*answered = true;
}

static void test_analysis_is_whole_or_says_why(void **state)
{
	int bad = 0;

	(void)state;
	for (unsigned i = 0; i < nsx_npasses; i++) {
		const struct nsx_pass *p = nsx_passes[i];
		bool answered = false, cannot = false;
		char pattern[128];
		glob_t g;

		snprintf(pattern, sizeof(pattern), "tests/golden/%s/*.out",
			 p->id);
		if (!glob(pattern, 0, NULL, &g))
			for (size_t k = 0; k < g.gl_pathc; k++) {
				char *text = read_all(g.gl_pathv[k]);

				look(p, text, &answered, &cannot);
				free(text);
			}
		globfree(&g);
		if (p->doc && p->summary && !p->title == !!p->no_title &&
		    !nsx_pass_query(p, 0) == !!p->no_query && answered &&
		    (cannot || p->no_cannot))
			continue;
		print_error("%s: title %d or %d, query %d or %d, answered %d, "
			    "cannot %d or %d\n", p->id, !!p->title,
			    !!p->no_title, !!nsx_pass_query(p, 0),
			    !!p->no_query, answered, cannot, !!p->no_cannot);
		bad++;
	}
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_analysis_is_whole_or_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
