/* test_table.c - tables: columns have descriptions, rows are in order, and a wrong column id fails
 * in every build.
 */
#include "../testlib.h"
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "passes/pass.h"

#define COLUMNS(X)                                                            \
	X(NAME, "name", STR, "a name")                                        \
	X(COUNT, "count", I64, "a number")
NSX_COLUMNS(cols, COLUMNS);
static const struct nsx_layout layout = {.key = "t", NSX_COLS(cols)};

TEST(every_column_is_described_once)
{
	for (unsigned p = 0; p < nsx_npasses; p++)
		for (unsigned l = 0; l < nsx_passes[p]->nlayouts; l++) {
			const struct nsx_layout *x = &nsx_passes[p]->layouts[l];

			assert_true(x->ncols > 0);
			for (unsigned c = 0; c < x->ncols; c++) {
				assert_non_null(x->cols[c].key);
				assert_non_null(x->cols[c].help);
				assert_true(x->cols[c].type != NSX_T_NULL);
				for (unsigned d = 0; d < c; d++)
					assert_string_not_equal(x->cols[d].key, x->cols[c].key);
			}
		}
}

static void fill(struct nsx_table *t)
{
	static const struct {
		const char *name;
		int64_t count; /* -1: null */
	} rows[] = {{"b", 1}, {"none", -1}, {"c", 2}, {"a", 1}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct nsx_cell *row = nsx_add_row(t);

		row[NAME] = nsx_string(rows[i].name);
		if (rows[i].count >= 0)
			row[COUNT] = nsx_int(rows[i].count);
	}
}

static void assert_order(const struct nsx_table *t, const char *names)
{
	struct nsx_buf b = {0};

	for (size_t i = 0; i < t->nrows; i++)
		nsx_buf_printf(&b, "%s ", nsx_row_at(t, i)[NAME].u.s);
	assert_string_equal(b.p, names);
	nsx_buf_done(&b);
}

TEST(orders_hold_and_nulls_come_last)
{
	struct nsx_table t = {.layout = &layout};

	fill(&t);
	nsx_table_sort(&t, NSX_DESC(COUNT), NAME);
	assert_order(&t, "c a b none ");
	nsx_table_sort(&t, COUNT, NSX_DESC(NAME));
	assert_order(&t, "b a c none ");
	nsx_table_done(&t);
}

/* Rows that are packed --------------------------------------------------------------*/

#define EVERY_TYPE(X)                                                         \
	X(INT, "int", I64, "a number", .adds = true)                          \
	X(REAL, "real", F64, "a number")                                      \
	X(TEXT, "text", STR, "a text that stays")                             \
	X(OWN, "own", STR, "a text of the row's own")                         \
	X(BOOL, "bool", BOOL, "yes or no")
NSX_COLUMNS(every_cols, EVERY_TYPE);
static const struct nsx_layout every = {.key = "e", NSX_COLS(every_cols)};

static double any_real(uint64_t *seed)
{
	static const double odd[] = {0, -0.0, 5e-324, -1e300, 0.1, 1e9, 1.0 / 3};
	uint64_t r = rnd(seed);

	return r % 3 ? (double)(int64_t)(rnd(seed) >> r / 3 % 64) / 1e6 :
		       odd[r / 3 % ARRAY_LEN(odd)];
}

/* Fills rows at random. Half of the cells are null; most of the others have a value that no other
 * row has.
 */
static void fill_any(struct nsx_cell *row, char own[80], uint64_t *seed)
{
	static const char *const texts[] = {"", "a", "a longer text"};
	uint64_t r = rnd(seed), x = rnd(seed);

	snprintf(own, 80, "%.*s", (int)(x % 80), "0123456789012345678901234567"
		 "8901234567890123456789012345678901234567890123456789");
	if (r & 1)
		row[INT] = nsx_int((int64_t)(x << (r >> 8) % 64) >> (r >> 16) % 64);
	if (r & 2)
		row[REAL] = nsx_real(any_real(seed));
	if (r & 4)
		row[TEXT] = nsx_string(texts[x % ARRAY_LEN(texts)]);
	if (r & 8)
		row[OWN] = nsx_string(own);
	if (r & 16)
		row[BOOL] = nsx_bool(x & 1);
}

static void assert_same_row(const struct nsx_cell *row, const struct nsx_cell *want)
{
	for (unsigned c = 0; c < every.ncols; c++) {
		assert_int_equal(row[c].type, want[c].type);
		if (row[c].type == NSX_T_STR)
			assert_string_equal(row[c].u.s, want[c].u.s);
		else /* reals are compared by their bits */
			assert_int_equal(row[c].u.i, want[c].u.i);
	}
}

/* Reads rows from 0 on. The row that was read `late` reads before must still be valid. */
static void assert_rows(const struct nsx_table *t, size_t late)
{
	struct nsx_row_reader reader = nsx_read_rows(t);
	uint64_t seed = 7;
	size_t n = t->nrows + nsx_table_packed(t);
	const struct nsx_cell *row[NSX_LIVE_ROWS];
	char own[80];

	for (size_t i = 0; i < n + late; i++) {
		struct nsx_cell want[ARRAY_LEN(every_cols)] = {{0}};

		if (i < n)
			row[i % NSX_LIVE_ROWS] = nsx_next_row(&reader);
		if (i < late)
			continue;
		fill_any(want, own, &seed);
		assert_same_row(row[(i - late) % NSX_LIVE_ROWS], want);
	}
	assert_null(nsx_next_row(&reader));
	assert_null(nsx_next_row(&reader));
}

TEST(packed_rows_are_read_as_they_were_filled)
{
	enum { HELD = 20000, ALL = 20007 };
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_table t = {.layout = &every};
	uint64_t seed = 7;
	char own[80];

	nsx_table_expect(&t, ALL, HELD);
	for (size_t i = 0; i < ALL; i++) {
		struct nsx_cell *row = nsx_add_row(&t);

		fill_any(row, own, &seed);
		if (row[OWN].type)
			row[OWN] = nsx_string(nsx_row_text(&t, a, own));
	}
	assert_int_equal(t.nrows, NSX_READ_ROWS);
	assert_int_equal(nsx_table_packed(&t), HELD - NSX_READ_ROWS);
	assert_int_equal(nsx_table_total(&t), ALL);
	assert_rows(&t, 0);
	assert_rows(&t, NSX_LIVE_ROWS - 1);
	nsx_table_done(&t);
	nsx_arena_free(a);
}

static void sort_by_wrong_id(struct nsx_table *t)
{
	nsx_table_sort(t, NSX_DESC(2));
}

static void show_wrong_id(struct nsx_table *t)
{
	struct nsx_section s = {.arena = nsx_arena_new()};

	nsx_md_table(&s, t, 0, NAME, 2);
}

static void read_wrong_key(struct nsx_table *t)
{
	nsx_table_number(t, 0, "total");
}

static void assert_aborts(void (*fn)(struct nsx_table *t))
{
	struct nsx_table t = {.layout = &layout};
	int status;
	pid_t pid;

	fill(&t);
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		signal(SIGABRT, SIG_DFL);
		fn(&t);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	nsx_table_done(&t);
}

TEST(a_wrong_column_aborts)
{
	assert_aborts(sort_by_wrong_id);
	assert_aborts(show_wrong_id);
	assert_aborts(read_wrong_key);
}
