/* test_unions.c - the partition of a window, and the work in it, equal sums over all operations.
 * The device has more operations than a mark or a block holds.
 */
#include "../testlib.h"
#include "facts/facts.h"

enum { OPS = 8000 };

struct fixture {
	struct nsx_trace t;
	struct nsx_device device;
	struct nsx_facts f;
	int64_t start[OPS], end[OPS], until;
	uint8_t cls[OPS];
	uint64_t seed;
};

static int set_up(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	struct nsx_err err;
	int64_t at = 100;

	x->seed = 16;
	x->f.arena = nsx_arena_new();
	for (size_t i = 0; i < OPS; i++) {
		at += (int64_t)(rnd(&x->seed) % 8);
		x->start[i] = at;
		x->end[i] = at + (int64_t)(rnd(&x->seed) % (i % 500 ? 9 : 900));
		x->cls[i] = (uint8_t)(rnd(&x->seed) % 3);
		x->until = NSX_MAX(x->until, x->end[i]);
	}
	x->device.nops = OPS;
	x->t.device = &x->device;
	x->t.ndevices = 1;
	x->t.ops.n = OPS;
	x->t.ops.cls = x->cls;
	assert_int_equal(nsx_pack_i64(x->f.arena, x->start, OPS, "starts",
				      &x->t.ops.start, &err), 0);
	assert_int_equal(nsx_pack_lengths(x->f.arena, x->start, x->end, OPS,
					  "lengths", &x->t.ops.length, &err), 0);
	assert_int_equal(nsx_facts_unions(&x->f, &x->t, 1, &err), 0);
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;

	nsx_arena_free(x->f.device_arena[0]);
	nsx_arena_free(x->f.arena);
	free(x);
	return 0;
}

static struct nsx_window random_window(struct fixture *x)
{
	int64_t a = (int64_t)(rnd(&x->seed) % (uint64_t)(x->until + 200));
	int64_t b = a + (int64_t)(rnd(&x->seed) % (rnd(&x->seed) % 2 ?
			50 : (uint64_t)(x->until + 200)));

	return (struct nsx_window){a, b};
}

/* Computes the partition nanosecond by nanosecond. */
static void partition_slowly(const struct fixture *x, struct nsx_window w,
			     struct nsx_partition *ret)
{
	uint8_t *on = calloc((size_t)(w.end_ns - w.start_ns) + 1, 1);

	for (size_t i = 0; i < OPS; i++)
		for (int64_t t = NSX_MAX(x->start[i], w.start_ns);
		     t < NSX_MIN(x->end[i], w.end_ns); t++)
			on[t - w.start_ns] |= (uint8_t)(1 << x->cls[i]);
	for (int64_t t = 0; t < w.end_ns - w.start_ns; t++) {
		bool compute = on[t] >> NSX_C_COMPUTE & 1;
		bool comm = on[t] >> NSX_C_COMM & 1;
		bool copy = on[t] >> NSX_C_COPY & 1;

		ret->ns[compute ? comm ? NSX_P_COMPUTE_COMM :
				  copy ? NSX_P_COMPUTE_COPY :
					 NSX_P_COMPUTE_ONLY :
			comm ? NSX_P_COMM_EXPOSED :
			copy ? NSX_P_COPY_EXPOSED : NSX_P_IDLE]++;
	}
	free(on);
}

TEST(partition)
{
	struct fixture *x = *state;

	assert_true(x->f.device[0].nmarks > 8);
	for (unsigned round = 0; round < 300; round++) {
		struct nsx_window w = random_window(x);
		struct nsx_partition p, want = {{0}};

		partition_slowly(x, w, &want);
		nsx_partition(&x->f.device[0], w.start_ns, w.end_ns, &p);
		assert_memory_equal(&p, &want, sizeof(p));
	}
}

TEST(work_of_a_window)
{
	struct fixture *x = *state;

	for (unsigned round = 0; round < 300; round++) {
		struct nsx_window w = random_window(x);
		size_t at = 0, op;

		for (size_t i = 0; i < OPS; i++) {
			if (x->start[i] >= w.end_ns ||
			    (x->start[i] < w.start_ns &&
			     x->end[i] <= w.start_ns))
				continue;
			assert_true(nsx_next_op(&x->f, &x->t, 0, &w, &at, &op));
			assert_int_equal(op, i);
		}
		assert_false(nsx_next_op(&x->f, &x->t, 0, &w, &at, &op));
	}
}

SET_UP(set_up, tear_down);
