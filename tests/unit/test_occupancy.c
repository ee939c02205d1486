/* test_occupancy.c - the occupancy of ten launch shapes on a multiprocessor of an H100, and of
 * shapes on multiprocessors with other limits, equals figures worked out by hand with NVIDIA's
 * rules. The fixture occupancy.sql has the same shapes.
 */
#include "../testlib.h"
#include "facts/occupancy.h"

static const struct nsx_sm h100 = {
	.warps = 64, .blocks = 32, .registers = 65536,
	.registers_per_block = 65536, .shared_bytes = 233472,
	.threads_per_warp = 32, .major = 9,
};

TEST(ten_shapes_of_the_fixture)
{
	static const struct {
		struct nsx_block_shape b;
		int64_t warps, blocks, registers, shared, resident_warps;
		unsigned limits;
	} cases[] = {
		{{256, 32, 0}, 8, 32, 8, 228, 64,
		 NSX_LIMIT_WARPS | NSX_LIMIT_REGISTERS},
		{{1024, 32, 0}, 2, 32, 2, 228, 64,
		 NSX_LIMIT_WARPS | NSX_LIMIT_REGISTERS},
		{{32, 32, 0}, 64, 32, 64, 228, 32, NSX_LIMIT_BLOCKS},
		{{256, 64, 0}, 8, 32, 4, 228, 32, NSX_LIMIT_REGISTERS},
		{{256, 128, 0}, 8, 32, 2, 228, 16, NSX_LIMIT_REGISTERS},
		{{128, 255, 0}, 16, 32, 2, 228, 8, NSX_LIMIT_REGISTERS},
		{{256, 32, 49152}, 8, 32, 8, 4, 32, NSX_LIMIT_SHARED},
		{{64, 32, 102400}, 32, 32, 32, 2, 4, NSX_LIMIT_SHARED},
		{{96, 40, 8192}, 21, 32, 16, 25, 48, NSX_LIMIT_REGISTERS},
		{{512, 128, 65536}, 4, 32, 1, 3, 16, NSX_LIMIT_REGISTERS},
	};

	for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
		struct nsx_occupancy o;

		assert_true(nsx_occupancy(&h100, &cases[i].b, &o));
		assert_int_equal(o.by_warps, cases[i].warps);
		assert_int_equal(o.by_blocks, cases[i].blocks);
		assert_int_equal(o.by_registers, cases[i].registers);
		assert_int_equal(o.by_shared, cases[i].shared);
		assert_int_equal(o.warps, cases[i].resident_warps);
		assert_int_equal(o.limits, cases[i].limits);
		assert_true(o.ratio == (double)cases[i].resident_warps / 64);
	}
}

TEST(registers_of_a_warp_lie_in_one_part)
{
	/* A warp of 32 threads takes 1280 registers. 51 warps would fit 65536 registers, but 12
	 * fit each of four parts.
	 */
	const struct nsx_block_shape b = {32, 40, 0};
	struct nsx_sm sm = h100;
	struct nsx_occupancy o;

	sm.blocks = 64;
	assert_true(nsx_occupancy(&sm, &b, &o));
	assert_int_equal(o.blocks, 48);
	sm.major = 6; /* GP100 has two parts of 32768 registers, which hold 25 warps each */
	assert_true(nsx_occupancy(&sm, &b, &o));
	assert_int_equal(o.blocks, 50);
}

TEST(numbers_of_no_gpu_give_no_occupancy)
{
	struct nsx_block_shape b = {32, 40, 0};
	struct nsx_sm sm = h100;
	struct nsx_occupancy o;

	sm.threads_per_warp = INT64_MAX;
	assert_false(nsx_occupancy(&sm, &b, &o));
	b.threads = INT64_MAX;
	assert_false(nsx_occupancy(&h100, &b, &o));
	b = (struct nsx_block_shape){32, UINT32_MAX, 0};
	assert_false(nsx_occupancy(&h100, &b, &o));
}

TEST(shared_memory_before_compute_capability_8)
{
	/* Compute capability 7.5 reserves nothing and has units of 256 bytes: 24832 / 256 = 97
	 * units.
	 */
	const struct nsx_block_shape b = {64, 16, 24800};
	struct nsx_sm t4 = {
		.warps = 32, .blocks = 16, .registers = 65536,
		.registers_per_block = 65536, .shared_bytes = 65536,
		.threads_per_warp = 32, .major = 7, .minor = 5};
	struct nsx_occupancy o;

	assert_true(nsx_occupancy(&t4, &b, &o));
	assert_int_equal(o.by_shared, 2);
	t4.shared_bytes = 3 * 24832 - 1;
	assert_true(nsx_occupancy(&t4, &b, &o));
	assert_int_equal(o.by_shared, 2);
	t4.shared_bytes = 3 * 24832;
	assert_true(nsx_occupancy(&t4, &b, &o));
	assert_int_equal(o.by_shared, 3);
}

TEST(a_block_beyond_the_register_file_does_not_launch)
{
	/* 1024 threads with 72 registers are 32 warps of 2304, which need 73728. */
	const struct nsx_block_shape b = {1024, 72, 0};
	struct nsx_occupancy o;

	assert_true(nsx_occupancy(&h100, &b, &o));
	assert_int_equal(o.blocks, 0);
	assert_int_equal(o.limits, NSX_LIMIT_REGISTERS);
}

TEST(what_is_not_known_gives_no_number)
{
	const struct nsx_block_shape b = {256, 32, 0};
	struct nsx_sm sm = h100;
	struct nsx_occupancy o;

	sm.shared_bytes = -1;
	assert_false(nsx_occupancy(&sm, &b, &o));
	sm = h100;
	sm.threads_per_warp = -1;
	assert_true(nsx_occupancy(&sm, &b, &o));
	assert_int_equal(o.warps, 64);
}
