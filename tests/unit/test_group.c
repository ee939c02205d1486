/* test_group.c - distinct keys get indices in the order in which they are first seen. */
#include "../testlib.h"
#include "base/group.h"

TEST(equal_keys_share_an_index)
{
	struct nsx_groups g = {0};
	struct nsx_err err;
	uint32_t i, j;

	assert_int_equal(nsx_group(&g, 1, 2, &i, &err), 0);
	assert_int_equal(i, 0);
	assert_int_equal(nsx_group(&g, 2, 1, &j, &err), 0);
	assert_int_equal(j, 1);
	assert_int_equal(nsx_group(&g, 1, 2, &j, &err), 0);
	assert_int_equal(j, 0);
	assert_int_equal(nsx_group_find(&g, 2, 1), 1);
	assert_int_equal(nsx_group_find(&g, 1, 1), NSX_NONE);
	assert_int_equal(g.n, 2);
	nsx_groups_done(&g);
	assert_int_equal(g.n, 0);
	assert_int_equal(nsx_group_find(&g, 1, 2), NSX_NONE);
}

/* Many keys, each twice, including the extreme ones. */
TEST(indices_survive_growth)
{
	struct nsx_groups g = {0};
	struct nsx_err err;
	uint32_t i;

	for (int round = 0; round < 2; round++)
		for (uint32_t k = 0; k < 5000; k++) {
			uint64_t a = k % 2 ? UINT64_MAX - k : k;

			assert_int_equal(nsx_group(&g, a, k / 7, &i, &err), 0);
			assert_int_equal(i, k);
			assert_int_equal(nsx_group_key(&g, i).a, a);
			assert_int_equal(nsx_group_key(&g, i).b, k / 7);
		}
	assert_int_equal(g.n, 5000);
	nsx_groups_done(&g);
}
