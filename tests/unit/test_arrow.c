/* test_arrow.c - a table read back through Arrow's C interface, as a consumer reads it. */
#include "../testlib.h"
#include <nsx/report.h>
#include "api/arrow.h"
#include "report/table.h"

#define COLUMNS(X)                                                            \
	X(COUNT, "count", I64, "a number")                                    \
	X(NAMES, "names", LIST, "only in JSON")                               \
	X(SHARE, "share", F64, "a real")                                      \
	X(NAME, "name", STR, "a text")                                        \
	X(IS_ODD, "is_odd", BOOL, "a bit")
NSX_COLUMNS(cols, COLUMNS);
static const struct nsx_layout layout = {.key = "t", .csv = "t", NSX_COLS(cols)};

enum { N = (1 << 17) + 3 }; /* two batches */

/* Row i: every third cell is null, beginning with a different column for each row. */
static bool is_null(size_t row, unsigned c)
{
	return (row + c) % 3 == 0;
}

static void fill(struct nsx_table *t)
{
	static const char *const names[] = {"", "a", "long name"};

	for (size_t i = 0; i < N; i++) {
		struct nsx_cell *row = nsx_add_row(t);

		if (!is_null(i, COUNT))
			row[COUNT] = nsx_int((int64_t)i - 5);
		if (!is_null(i, SHARE))
			row[SHARE] = nsx_real((double)i / 8);
		if (!is_null(i, NAME))
			row[NAME] = nsx_string(names[i % ARRAY_LEN(names)]);
		if (!is_null(i, IS_ODD))
			row[IS_ODD] = nsx_bool(i % 2);
	}
}

static bool bit(const void *bits, size_t i)
{
	return ((const unsigned char *)bits)[i / 8] >> i % 8 & 1;
}

/* Compares a column with the cells of the table from row `from` on. */
static void check_column(const struct ArrowArray *a, const struct nsx_table *t, unsigned c, size_t from)
{
	int64_t nulls = 0;

	for (size_t i = 0; i < (size_t)a->length; i++) {
		const struct nsx_cell cell = nsx_row_at(t, from + i)[c];
		const int32_t *at = a->buffers[1];

		assert_int_equal(bit(a->buffers[0], i), cell.type != NSX_T_NULL);
		nulls += cell.type == NSX_T_NULL;
		if (cell.type == NSX_T_I64)
			assert_int_equal(((const int64_t *)a->buffers[1])[i], cell.u.i);
		if (cell.type == NSX_T_F64)
			assert_true(((const double *)a->buffers[1])[i] == cell.u.f);
		if (cell.type == NSX_T_BOOL)
			assert_int_equal(bit(a->buffers[1], i), cell.u.b);
		if (cell.type != NSX_T_STR)
			continue;
		assert_int_equal(at[i + 1] - at[i], strlen(cell.u.s));
		assert_memory_equal((const char *)a->buffers[2] + at[i], cell.u.s, strlen(cell.u.s));
	}
	assert_int_equal(nulls, a->null_count);
}

TEST(columns_come_back)
{
	static const unsigned of[] = {COUNT, SHARE, NAME, IS_ODD};
	static const char *const formats[] = {"l", "g", "u", "b"};
	struct nsx_table t = {.layout = &layout};
	struct ArrowArrayStream s;
	struct ArrowSchema schema;
	struct ArrowArray rows, kept;
	size_t from = 0, nbatches = 0;

	fill(&t);
	nsx_rows_arrow((const struct nsx_rows *)&t, &s);
	assert_int_equal(s.get_schema(&s, &schema), 0);
	assert_int_equal(schema.n_children, ARRAY_LEN(of));
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		assert_string_equal(schema.children[i]->name, cols[of[i]].key);
		assert_string_equal(schema.children[i]->format, formats[i]);
	}
	schema.release(&schema);
	while (!s.get_next(&s, &rows) && rows.release) {
		/* One column outlives its parent. */
		kept = *rows.children[2];
		rows.children[2]->release = NULL;
		for (size_t i = 0; i < ARRAY_LEN(of); i++)
			if (i != 2)
				check_column(rows.children[i], &t, of[i], from);
		rows.release(&rows);
		check_column(&kept, &t, NAME, from);
		from += (size_t)kept.length;
		kept.release(&kept);
		nbatches++;
	}
	assert_int_equal(from, N);
	assert_int_equal(nbatches, 2);
	s.release(&s);
	nsx_rows_arrow((const struct nsx_rows *)&t, &s);
	s.release(&s); /* a stream that nobody read */
	nsx_table_done(&t);
}
