/* test_registry.c - each analysis has a heading, a query and golden cases, or gives the reason. */
#include "../testlib.h"
#include <glob.h>
#include <stdio.h>
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

/* Notes whether a golden case of the analysis shows an answer, and whether one shows none (null,
 * or not present).
 */
static void note_answer(const struct nsx_pass *p, const char *text, bool *answered, bool *cannot)
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

TEST(analysis_is_whole_or_says_why)
{
	int bad = 0;

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

				note_answer(p, text, &answered, &cannot);
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

/* The number of files whose name has no id of an analysis. Names that begin with "_" are left out.
 */
static int count_strays(const char *pattern, const char *suffix)
{
	int bad = 0;
	glob_t g;

	assert_int_equal(glob(pattern, 0, NULL, &g), 0);
	for (size_t k = 0; k < g.gl_pathc; k++) {
		const char *name = strrchr(g.gl_pathv[k], '/') + 1;
		const char *part = strstr(name, "__");
		size_t n = part ? (size_t)(part - name) : strlen(name) - strlen(suffix);
		char id[128];

		snprintf(id, sizeof(id), "%.*s", (int)n, name);
		if (*id == '_' || nsx_pass_find(id))
			continue;
		if (!strcmp(suffix, ".c")) {
			char *text = read_all(g.gl_pathv[k]);
			bool is_pass = strstr(text, "\nNSX_DEFINE_PASS(");

			free(text);
			if (!is_pass)
				continue;
		}
		print_error("%s: no analysis '%s' in registry.def\n", g.gl_pathv[k], id);
		bad++;
	}
	globfree(&g);
	return bad;
}

TEST(what_is_not_listed_is_no_analysis)
{
	assert_int_equal(count_strays("src/passes/*/*.c", ".c"), 0);
	assert_int_equal(count_strays("queries/*/*.sql", ".sql"), 0);
}
