/* test_csv.c - reals in CSV: the shortest decimal that reads back the same. */
#include "../testlib.h"
#include <stdio.h>
#include "emit/emit.h"

#define COLUMNS(X) X(NUMBER, "x", F64, "a number")
NSX_COLUMNS(cols, COLUMNS);
static const struct nsx_layout layout = {.key = "t", .csv = "t", NSX_COLS(cols)};

/* The shortest text that reads back as the same number, as csv.c's header promises. */
static void shortest(double x, char *text, size_t size)
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, size, "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			break;
	}
	if (!strpbrk(text, ".eE"))
		strcat(text, ".0");
}

static double random_number(uint64_t *seed)
{
	static const double odd[] = {0, -0.0, 1e-4, 9.99999e-5, 1e9, 999999999.999999,
				     1e-6, 0.1, -0.000123, 1e300, 5e-324};
	uint64_t bits = rnd(seed), r = rnd(seed);
	double x;

	switch (r % 4) {
	case 0: /* nanoseconds as milliseconds */
		return (double)(int64_t)(bits >> (r >> 8) % 64) / 1e6;
	case 1: /* nanoseconds as microseconds */
		return -(double)(int64_t)(bits >> (r >> 8) % 64) / 1e3;
	case 2:
		return odd[bits % ARRAY_LEN(odd)];
	default:
		memcpy(&x, &bits, sizeof(x));
		return x;
	}
}

TEST(reals_are_shortest)
{
	enum { N = 20000 };
	struct nsx_table t = {.layout = &layout};
	struct nsx_err err;
	uint64_t seed = 3;
	char *text, *line;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	for (int i = 0; i < N; i++)
		nsx_add_row(&t)[0] = nsx_real(random_number(&seed));
	assert_int_equal(nsx_emit_csv(&layout, &t, NULL, f, &err), 0);
	fclose(f);
	line = text + strcspn(text, "\n") + 1;
	for (size_t i = 0; i < N; i++) {
		char want[64] = "";

		if (t.cells[i].type == NSX_T_F64)
			shortest(t.cells[i].u.f, want, sizeof(want));
		n = strcspn(line, "\r\n");
		assert_int_equal(n, strlen(want));
		assert_memory_equal(line, want, n);
		line += strcspn(line, "\n") + 1;
	}
	free(text);
	nsx_table_done(&t);
}

#define PRICED(X)                                                             \
	X(NAME, "name", STR, "a name")                                        \
	X(COUNT, "count", I64, "how often", .adds = true)                     \
	X(COST, "cost_ms", F64, "what it costs", .adds = true)                \
	X(MEAN, "mean_ms", F64, "what one costs")
NSX_COLUMNS(priced_cols, PRICED);
static const struct nsx_layout priced = {.key = "t", .csv = "t",
					 NSX_COLS(priced_cols)};

static void assert_csv(const struct nsx_table *t, size_t max_rows, size_t keep, const char *want)
{
	struct nsx_bound bound = {max_rows, keep < t->nrows, &keep};
	struct nsx_err err;
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_int_equal(nsx_emit_csv(&priced, t, &bound, f, &err), 0);
	fclose(f);
	assert_string_equal(text, want);
	free(text);
}

/* Adds five rows, of which d and b have the greatest costs. */
static void add_rows(struct nsx_table *t, const char *names)
{
	static const double cost[] = {1, 8, 2, 16, 4};

	for (; *names; names++) {
		int i = *names - 'a';
		struct nsx_cell *row = nsx_add_row(t);

		row[NAME] = nsx_string((const char *[]){"a", "b", "c", "d",
							"e"}[i]);
		row[COUNT] = nsx_int(i + 1);
		row[COST] = nsx_real(cost[i]);
		row[MEAN] = nsx_real(cost[i] / (i + 1));
	}
}

TEST(rows_that_are_not_held_are_added_up)
{
	for (size_t bound = 0; bound < 3; bound += 2) {
		struct nsx_table t = {.layout = &priced};

		nsx_table_expect(&t, 5, 2);
		add_rows(&t, "dbeca");
		assert_int_equal(t.nrows, 2);
		assert_int_equal(nsx_table_total(&t), 5);
		assert_csv(&t, bound, SIZE_MAX, "name,count,cost_ms,mean_ms\r\nd,4,16.0,4.0\r\n"
			   "b,2,8.0,4.0\r\n(3 more rows),9,7.0,\r\n");
		nsx_table_done(&t);
	}
}

TEST(long_tables_keep_the_most_expensive)
{
	struct nsx_table t = {.layout = &priced};

	add_rows(&t, "abcde");
	nsx_table_sort(&t, NAME, NSX_DESC(COST));
	assert_csv(&t, 2, SIZE_MAX, "name,count,cost_ms,mean_ms\r\n"
		   "b,2,8.0,4.0\r\nd,4,16.0,4.0\r\n(3 more rows),9,7.0,\r\n");
	assert_csv(&t, 2, 0, /* a finding names the first row */
		   "name,count,cost_ms,mean_ms\r\na,1,1.0,1.0\r\n"
		   "b,2,8.0,4.0\r\nd,4,16.0,4.0\r\n(2 more rows),8,6.0,\r\n");
	assert_csv(&t, 5, 0, "name,count,cost_ms,mean_ms\r\na,1,1.0,1.0\r\n"
		   "b,2,8.0,4.0\r\nc,3,2.0,0.6666666666666666\r\n"
		   "d,4,16.0,4.0\r\ne,5,4.0,0.8\r\n");
	nsx_table_done(&t);
}
