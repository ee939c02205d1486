/* test_window.c - with a window kernels outside of it are read and not kept: what
 * is left is what a cut of the whole trace leaves.
 *
 * usage: test_window FIXTURES
 */
#include "../testlib.h"
#include <inttypes.h>
#include <stdio.h>
#include "trace/trace.h"

enum { THIRDS = 3 };

static size_t clock_rows; /* fewer than there are: clocks are judged by some */

static struct nsx_trace *load(const char *name, const char *window,
			      struct nsx_schema *schema)
{
	struct nsx_progress progress = {.stage = NULL};
	const struct nsx_load_opts opts = {.threads = 2, .window = window,
					   .progress = &progress,
					   .clock_rows = clock_rows};
	struct nsx_trace *t;
	struct nsx_err err;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.sqlite", fixtures, name);
	assert_int_equal(nsx_schema_open(path, schema, &err), 0);
	assert_int_equal(nsx_trace_load(schema, &opts, &t, &err), 0);
	return t;
}

struct row { /* no padding: compared as bytes */
	int64_t start_ns, end_ns;
	uint32_t stream, call, kind, flags;
	char name[64];
};

static int cmp_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct row));
}

/* Operations of the trace as a cut to w leaves them, in an order of their own.
 * Owner: the caller, free().
 */
static struct row *cut(const struct nsx_trace *t, const struct nsx_window *w,
		       size_t *ret_n)
{
	struct row *v = calloc(t->ops.n + 1, sizeof(*v));
	size_t n = 0;

	assert_non_null(v);
	for (size_t i = 0; i < t->ops.n; i++) {
		int64_t start_ns = nsx_op_start(&t->ops, i);
		int64_t end_ns = nsx_op_end(&t->ops, i);
		struct row *x = &v[n];

		if (start_ns >= w->end_ns || end_ns < w->start_ns ||
		    (end_ns == w->start_ns && start_ns < end_ns))
			continue;
		*x = (struct row){NSX_MAX(start_ns, w->start_ns),
				  NSX_MIN(end_ns, w->end_ns),
				  nsx_op_stream(&t->ops, i), t->ops.call[i],
				  t->ops.kind[i], t->ops.flags[i], ""};
		if (start_ns < w->start_ns)
			x->flags |= NSX_OP_CUT;
		if (nsx_op_name(t, i))
			strncpy(x->name, nsx_text(t, nsx_op_name(t, i)),
				sizeof(x->name) - 1);
		n++;
	}
	qsort(v, n, sizeof(*v), cmp_bytes);
	*ret_n = n;
	return v;
}

static void assert_same_clocks(const struct nsx_trace *a,
			       const struct nsx_trace *b)
{
	assert_int_equal(a->nclocks, b->nclocks);
	for (uint32_t i = 0; i < a->nclocks; i++) {
		assert_int_equal(a->clock[i].shift_ns, b->clock[i].shift_ns);
		assert_int_equal(a->clock[i].least_ns, b->clock[i].least_ns);
		assert_int_equal(a->clock[i].most_ns, b->clock[i].most_ns);
	}
}

/* Returns how many kernels were not kept. */
static size_t compare(const struct nsx_trace *whole, const char *name,
		      const char *window)
{
	struct nsx_schema schema;
	struct nsx_trace *t = load(name, window, &schema);
	size_t n, nwanted, nleft_out = t->nleft_out;
	struct row *wanted = cut(whole, &t->user, &nwanted);
	struct row *got = cut(t, &t->user, &n);

	assert_int_equal(n, t->ops.n);
	assert_int_equal(n, nwanted);
	assert_memory_equal(got, wanted, n * sizeof(*got));
	assert_memory_equal(&t->full, &whole->full, sizeof(t->full));
	assert_int_equal(t->first_ns, whole->first_ns);
	assert_int_equal(t->last_ns, whole->last_ns);
	assert_int_equal(t->has_gpu_work, whole->has_gpu_work);
	assert_int_equal(t->nshapes, whole->nshapes);
	assert_memory_equal(&t->defects, &whole->defects, sizeof(t->defects));
	assert_same_clocks(t, whole);
	free(wanted);
	free(got);
	nsx_trace_free(t);
	nsx_schema_close(&schema);
	return nleft_out;
}

/* Windows on the clock of the file and from the first event, and beyond the end. */
static size_t compare_windows(const char *name)
{
	struct nsx_schema schema;
	struct nsx_trace *t = load(name, NULL, &schema);
	int64_t length_ns = t->last_ns - t->first_ns;
	char window[128];
	size_t n = 0;

	assert_int_equal(t->nleft_out, 0);
	for (int i = 0; i <= THIRDS; i++) {
		int64_t from_ns = length_ns / THIRDS * i;
		int64_t to_ns = from_ns + length_ns / THIRDS + 1;

		snprintf(window, sizeof(window), "%" PRId64 "ns..%" PRId64 "ns",
			 t->first_ns + from_ns, t->first_ns + to_ns);
		n += compare(t, name, window);
		snprintf(window, sizeof(window), "%.9f..%.9f",
			 (double)from_ns / 1e9, (double)to_ns / 1e9);
		n += compare(t, name, window);
	}
	nsx_trace_free(t);
	nsx_schema_close(&schema);
	return n;
}

TEST(a_window_is_a_cut_of_the_whole)
{
	static const char *const names[] = {
		"synthetic", "two_rank_straggler", "graphs_node",
		"iterations_nvtx", "hostile_types", "ties"};

	clock_rows = 4;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_true(compare_windows(names[i]) > 0);
}

/* Times are moved, or the host has no row that tells the first event: all kernels
 * are kept.
 */
TEST(what_was_presumed_is_checked)
{
	static const char *const names[] = {"clock_skew", "case01_kernels_only"};

	clock_rows = 16;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(compare_windows(names[i]), 0);
}
