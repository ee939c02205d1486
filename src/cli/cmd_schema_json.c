/* cmd_schema_json.c - JSON schemas of our output, for validation. */
#include <stdio.h>
#include "agent/shape.h"
#include "cli/cmd_common.h"

static int print_schema(const char *name, struct nsx_err *err)
{
	struct nsx_jsonw *w = NULL;
	int rc = nsx_shape_schema(name, &w, err) ?: nsx_jsonw_write(w, stdout, err);

	nsx_jsonw_free(w);
	return rc;
}

static int cmd_schema_json_run(void *args NSX_UNUSED, int n, char **operands, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	const char *name;

	if (n > 1)
		return nsx_fail(err, NSX_E_USAGE, "schema-json takes one name, not %d", n);
	if (n)
		return print_schema(operands[0], err);
	for (unsigned i = 0; (name = nsx_shape_name(i, a)); i++)
		puts(name);
	return 0;
}

const struct nsx_cmd nsx_cmd_schema_json = {
	.name = "schema-json",
	.usage = "[report|brief|diff|fleet|findings|tool:NAME]",
	.summary = "print JSON Schemas of what this program writes",
	.doc = "Prints the JSON Schema (2020-12) of report.json, of the first page, of diff.json, "
	       "of the report.json of a fleet, of the findings in a report, or of a call of a tool "
	       "of 'mcp': its arguments and its structuredContent. Without a name it lists the "
	       "names. 'make install' puts them under share/nsys-explain/schema.\n\n"
	       "Later versions with the same schema_version only add keys.",
	.examples = "nsys-explain schema-json report > report.schema.json\n"
		    "nsys-explain schema-json tool:nsys_ask",
	.run = cmd_schema_json_run,
};
