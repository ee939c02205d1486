#include <stdatomic.h>
#include <stdio.h>
#include "../testlib.h"
#include "base/par.h"

enum { OUTER = 40, INNER = 30, DEPTH = 3 };

struct tree { /* each task starts further tasks, down to the leaves */
	unsigned threads, depth;
	atomic_size_t *leaves;
};

static int grow(void *ctx, size_t i, struct nsx_err *err)
{
	const struct tree *t = ctx;
	struct tree below = {t->threads, t->depth - 1, t->leaves};

	if (!t->depth) {
		atomic_fetch_add(&t->leaves[i], 1);
		return 0;
	}
	return nsx_par(t->threads, t->depth == 1 ? INNER : 4, grow, &below, err);
}

TEST(jobs_in_jobs_run_each_task_once)
{
	struct nsx_err err;

	for (unsigned threads = 1; threads <= 8; threads++) {
		atomic_size_t leaves[INNER] = {0};
		struct tree t = {threads, DEPTH, leaves};

		assert_int_equal(nsx_par(threads, OUTER, grow, &t, &err), 0);
		for (int i = 0; i < INNER; i++)
			assert_int_equal(leaves[i], OUTER * 4 * 4);
	}
}

struct meeting { /* a point at which two tasks wait for each other */
	atomic_int here;
};

static int meet(void *ctx, size_t i NSX_UNUSED, struct nsx_err *err NSX_UNUSED)
{
	struct meeting *m = ctx;

	atomic_fetch_add(&m->here, 1);
	while (atomic_load(&m->here) < 2)
		;
	return 0;
}

static int idle_or_share(void *ctx, size_t i, struct nsx_err *err)
{
	return i ? 0 : nsx_par(2, 2, meet, ctx, err);
}

/* Ends only if a thread that finds no more tasks of the outer job takes one of the inner job. */
TEST(who_is_idle_helps_inside_a_task)
{
	struct meeting m = {0};
	struct nsx_err err;

	assert_int_equal(nsx_par(2, 2, idle_or_share, &m, &err), 0);
	assert_int_equal(m.here, 2);
}

static int fail_some(void *ctx, size_t i, struct nsx_err *err)
{
	size_t first = *(const size_t *)ctx;

	if (i < first)
		return snprintf(err->msg, sizeof(err->msg), "left behind") < 0;
	return nsx_fail(err, NSX_E_DATA, "%zu", i);
}

/* The caller gets the error of the first task that fails, and not the text that a successful
 * task left in its err.
 */
TEST(the_lowest_failure_is_told)
{
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct nsx_err err = {.msg = "untouched"};
		size_t first = 1000, five = 5;

		assert_int_equal(nsx_par(threads, 20, fail_some, &first, &err), 0);
		assert_string_equal(err.msg, "untouched");
		assert_int_equal(nsx_par(threads, 20, fail_some, &five, &err), NSX_E_DATA);
		assert_string_equal(err.msg, "5");
	}
}
