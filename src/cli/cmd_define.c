/* cmd_define.c - `--explain ID`: the meaning of an analysis, and SQL for its numbers.
 *
 * The whole output is an SQL script for the sqlite3 shell, with the text as comments.
 */
#include "cli/cmd_common.h"
#include "schema/script.h"

enum { WIDTH = 79 };

/* Prints text as reflowed comment lines. */
static void print_comment(const char *text)
{
	int at = 0;

	for (const char *p = text; *(p += strspn(p, " \n"));) {
		size_t n = strcspn(p, " \n");

		if (!at || at + 1 + (int)n > WIDTH)
			at = printf("%s--", at ? "\n" : "");
		at += printf(" %.*s", (int)n, p);
		p += n;
	}
	puts("");
}

static void print_titled_comment(const char *what, const char *text, struct nsx_arena *a)
{
	if (!text)
		return;
	puts("--");
	print_comment(nsx_arena_printf(a, "%s: %s.", what, text));
}

static void print_columns(const struct nsx_pass *pass)
{
	const struct nsx_layout *l;

	for (unsigned i = 0; (l = nsx_pass_layout(pass, i)); i++) {
		puts("--");
		if (l->csv)
			printf("-- tables/%s.csv", l->csv);
		if (l->key && l->json_rows != NSX_NOT_IN_JSON)
			printf("%s %s of report.json", l->csv ? "," : "--", l->key);
		puts(":");
		for (unsigned c = 0; c < l->ncols; c++)
			printf("--   %-24s %s\n", l->cols[c].key, l->cols[c].help);
	}
}

int nsx_print_definition(const struct nsx_pass *pass,
			 const struct nsx_schema *s, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	const char *missing = nsx_pass_missing(pass, s, a);
	const struct nsx_query *queries[8];
	struct nsx_scripts *scripts = nsx_scripts_new(s);
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	unsigned n = 0;

	print_comment(nsx_arena_printf(a, "%s: %s", pass->id, pass->summary));
	puts("--");
	print_comment(pass->doc);
	print_titled_comment("Derived from", pass->derived_from, a);
	print_titled_comment("Limitations", pass->limitations, a);
	print_titled_comment("Note", pass->caveat, a);
	print_columns(pass);
	puts("--");
	if (missing)
		print_comment(nsx_arena_printf(a, "Not computed for this trace: it has no %s.",
					       missing));
	while (n < ARRAY_LEN(queries) && (queries[n] = nsx_pass_query(pass, n)))
		n++;
	nsx_scripts_add(scripts, queries, n, &b);
	print_comment(n ? "The same figures from the trace alone: pipe this into "
		    "sqlite3 -readonly TRACE." :
		    "No query reproduces it.");
	if (n)
		printf("\n%s", b.p);
	nsx_scripts_free(scripts);
	return nsx_flush_stdout(err);
}
