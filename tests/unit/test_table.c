/* Tables: columns are described, orders hold, and a wrong id passes in no build. */
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
					assert_string_not_equal(
						x->cols[d].key, x->cols[c].key);
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
	free(t.cells);
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
	free(t.cells);
}

TEST(a_wrong_column_aborts)
{
	assert_aborts(sort_by_wrong_id);
	assert_aborts(show_wrong_id);
	assert_aborts(read_wrong_key);
}
