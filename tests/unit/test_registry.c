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

/* Why an analysis has no heading, no query, or an answer for every trace. */
static const struct reason {
	const char *id, *no_title, *no_query, *no_cannot;
} reasons[] = {
	{"input", .no_title = "the head of the report shows it",
	 .no_query = "facts of the file, not of its rows", .no_cannot = "every trace is a file"},
	{"schema", .no_title = "the schema command shows it",
	 .no_query = "it is the catalogue itself", .no_cannot = "every trace has a catalogue"},
	{"windows", .no_title = "the head of the report shows it",
	 .no_query = "the steady window is chosen by scores",
	 .no_cannot = "a trace without events has an empty window"},
	{"capture_quality", .no_query = "its checks query many tables",
	 .no_cannot = "missing data is its subject"},
	{"critical_path", .no_query = "a walk back through the events that delayed each operation"},
	{"what_if", .no_query = "it replays the recorded program"},
	{"pid_attribution", .no_title = "shown with the processes",
	 .no_query = "it shows which column names the process",
	 .no_cannot = "no named process is an answer, too"},
	{"judged_time",
	 .no_query = "unions of unions; its sums are tested against partition and idle time"},
	{"partition", .no_query = "unions of unions; its sum is tested against the window"},
	{"dimensions", .no_query = "figures of other sections"},
	{"kernel_families", .no_query = "names are analysed by a parser"},
	{"per_pid", .no_query = "figures of by_pid and launch_storm, by process"},
	{"launches", .no_title = "shown under the launch storm"},
	{"launch_latency", .no_title = "shown under the launch storm"},
	{"nvtx_start_end", .no_title = "shown under the NVTX ranges",
	 .no_cannot = "null if there are no start/end ranges"},
	{"nvtx_phases", .no_title = "shown under the NVTX ranges",
	 .no_query = "patterns are regular expressions of the user's file"},
	{"nvtx_kernel_time", .no_title = "shown under the NVTX ranges"},
	{"nvtx_kernel_phases", .no_title = "shown under the NVTX ranges",
	 .no_query = "patterns are regular expressions of the user's file"},
	{"nvtx_coverage_warn_threshold", .no_title = "an option repeated",
	 .no_query = "an option repeated", .no_cannot = "an option repeated"},
	{"nvtx_kernel_phases_by_pid", .no_title = "shown under NVTX per process",
	 .no_query = "patterns are regular expressions of the user's file",
	 .no_cannot = "null without a phase map"},
	{"run_phases", .no_query = "phases are distinguished by scores"},
	{"iterations", .no_query = "ways of detection are scored against each other"},
	{"steps", .no_cannot = "null if no range has the name of a step"},
	{"findings", .no_query = "a judgement over all sections",
	 .no_cannot = "a trace without findings has none to show"},
	{"findings_minor", .no_title = "shown under the findings",
	 .no_query = "a judgement over all sections",
	 .no_cannot = "a trace without findings has none to show"},
	{"negative_results", .no_query = "a judgement over all sections",
	 .no_cannot = "a trace without findings has none to show"},
};

static struct reason reason_of(const struct nsx_pass *p)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (!strcmp(reasons[i].id, p->id))
			return reasons[i];
	return (struct reason){.id = p->id};
}

TEST(analysis_is_whole_or_says_why)
{
	int bad = 0;

	for (unsigned i = 0; i < nsx_npasses; i++) {
		const struct nsx_pass *p = nsx_passes[i];
		const struct reason why = reason_of(p);
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
		if (p->doc && p->summary && !p->title == !!why.no_title &&
		    !nsx_pass_query(p, 0) == !!why.no_query && answered &&
		    (cannot || why.no_cannot))
			continue;
		print_error("%s: title %d or %d, query %d or %d, answered %d, "
			    "cannot %d or %d\n", p->id, !!p->title,
			    !!why.no_title, !!nsx_pass_query(p, 0),
			    !!why.no_query, answered, cannot, !!why.no_cannot);
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
