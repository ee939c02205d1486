/* fuzz_emit.c - writes a table whose cells are the input's bytes, and reads each format back.
 *
 * jansson must read the text from the JSON and libcsv from the CSV (as valid UTF-8, and without the
 * leading apostrophe in CSV). The Markdown table must keep its shape: every row has as many cells
 * as the header, and there is no control character.
 */
#include <csv.h>
#include "fuzz.h"

#define COLUMNS(X)                                                            \
	X(NAME, "name", STR, "any text")                                      \
	X(VALUE, "value", F64, "any number")                                  \
	X(COUNT, "count", I64, "any integer")
NSX_COLUMNS(cols, COLUMNS);
static const struct nsx_layout layout = {.key = "rows", .csv = "rows",
					 NSX_COLS(cols), .json_rows = -1};
static const struct nsx_pass pass = {.id = "fuzz", .title = "Fuzz",
				     .layouts = &layout, .nlayouts = 1};

static void check_json(const struct nsx_report *r, const struct nsx_table *t)
{
	struct nsx_err err;
	struct nsx_buf text = {0};
	const struct nsx_out_file f = {.write = nsx_write_json, .subject = r};
	json_t *root, *rows;

	CHECK(!nsx_out_string(&f, &text, &err));
	for (size_t i = 0; i < text.n; i++)
		CHECK((unsigned char)text.p[i] < 0x80);
	root = json_loadb(text.p, text.n, JSON_ALLOW_NUL, NULL);
	CHECK(root);
	rows = json_object_get(json_object_get(json_object_get(root, "metrics"), "fuzz"), "rows");
	CHECK(json_array_size(rows) == t->nrows);
	for (size_t i = 0; i < t->nrows; i++)
		CHECK(!strcmp(json_string_value(json_object_get(json_array_get(rows, i), "name")),
			      nsx_table_text(t, i, "name")));
	json_decref(root);
	nsx_buf_done(&text);
}

struct reader {
	const struct nsx_table *t;
	size_t row, col;
};

static void on_field(void *s, size_t n, void *ctx)
{
	struct reader *rd = ctx;
	const char *want;

	if (rd->row && rd->col == 0) {
		want = nsx_table_text(rd->t, rd->row - 1, "name");
		if (n && *(char *)s == '\'')
			s = (char *)s + 1, n--;
		CHECK(n == strlen(want) && !memcmp(s, want, n));
	}
	rd->col++;
}

static void on_record(int c, void *ctx)
{
	struct reader *rd = ctx;

	(void)c;
	CHECK(rd->col == ARRAY_LEN(cols));
	rd->row++;
	rd->col = 0;
}

static void check_csv(const struct nsx_table *t)
{
	struct reader rd = {t, 0, 0};
	struct csv_parser p;
	struct nsx_err err;
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	CHECK(!nsx_emit_csv(&layout, t, NULL, f, &err));
	fclose(f);
	csv_init(&p, CSV_STRICT | CSV_APPEND_NULL);
	csv_set_space_func(&p, NULL);
	CHECK(csv_parse(&p, text, n, on_field, on_record, &rd) == n);
	csv_fini(&p, on_field, on_record, &rd);
	csv_free(&p);
	CHECK(rd.row == t->nrows + 1);
	free(text);
}

static size_t count_cells(const char *line, size_t n)
{
	size_t cells = 0;

	for (size_t i = 1; i < n; i++)
		cells += line[i] == '|' && line[i - 1] != '\\';
	return cells;
}

static void check_md(const struct nsx_report *r)
{
	struct nsx_err err;
	struct nsx_buf text = {0};
	const struct nsx_out_file f = {.write = nsx_write_md, .subject = r};

	CHECK(!nsx_out_string(&f, &text, &err));
	for (const char *p = text.p; *p; p += strcspn(p, "\n") + 1) {
		size_t len = strcspn(p, "\n");

		for (size_t i = 0; i < len; i++)
			CHECK((unsigned char)p[i] >= 0x20 && p[i] != 0x7f);
		if (*p == '|')
			CHECK(count_cells(p, len) == ARRAY_LEN(cols));
		if (!p[len])
			break;
	}
	nsx_buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nsx_strings *strings = nsx_strings_new();
	struct nsx_section s = {.pass = &pass, .arena = nsx_arena_new()};
	struct nsx_schema schema = {.db = NULL};
	struct nsx_strings *none = nsx_strings_new();
	uint32_t rank[1] = {0};
	struct nsx_trace trace = {.schema = &schema, .strings = none,
				  .rank = rank};
	struct nsx_kernel_ranks of_none = {.has = 0};
	struct nsx_facts facts = {
		.kernels = {.trace = &trace, .ranks = &of_none}};
	struct nsx_report r = {.facts = &facts, .trace = &trace, .sections = &s,
			       .nsections = 1, .path = "t",
			       .generated_at = "now"};
	struct nsx_table *t = nsx_add_table(&s, &layout);
	struct nsx_err err;

	/* The lines of the input are names; their bytes are also used as a number. */
	while (size && t->nrows < 60) {
		const uint8_t *end = memchr(data, 0x1e, size);
		size_t n = end ? (size_t)(end - data) : size;
		struct nsx_cell *row = nsx_add_row(t);
		uint64_t bits = 0;
		double x;
		nsx_str id;

		CHECK(!nsx_strings_add(strings, (const char *)data, n, &id, &err));
		memcpy(&bits, data, NSX_MIN(n, 8));
		memcpy(&x, &bits, sizeof(x));
		row[NAME] = nsx_string(nsx_str_text(strings, id));
		row[VALUE] = nsx_real(x);
		row[COUNT] = nsx_int((int64_t)bits);
		data += n + (end != NULL);
		size -= n + (end != NULL);
	}
	nsx_md_table(&s, t, 100, NAME, VALUE, COUNT);
	check_json(&r, t);
	check_csv(t);
	check_md(&r);
	nsx_section_done(&s);
	nsx_strings_free(strings);
	nsx_strings_free(none);
	return 0;
}
