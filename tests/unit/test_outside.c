/* test_outside.c - time in OS calls inside spans. */
#include "../testlib.h"
#include "facts/outside.h"

TEST(calls_that_lie_in_another)
{
	int64_t start_ns[] = {0, 10, 60}, end_ns[] = {100, 20, 70}, ns = 0;
	const struct nsx_trace t = {
		.osrt = {.n = 3, .start_ns = start_ns, .end_ns = end_ns}};
	const struct nsx_thread h = {.osrt_at = 0, .nosrt = 3};
	const struct nsx_span in[] = {{50, 80}, {95, 120}};
	const int64_t want_ns[] = {30 + 10, 5}; /* the second span ends before the second call */
	size_t at = 0;

	for (size_t k = 0; k < ARRAY_LEN(in); k++, ns = 0) {
		NSX_EACH_OS_CALL(&t, &h, &at, in[k], i)
			ns += nsx_os_call_ns(&t, i, in[k]);
		assert_int_equal(ns, want_ns[k]);
	}
}
