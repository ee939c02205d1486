/* test_names.c - classes of calls and kernels, base names, interning. */
#include "../testlib.h"
#include "trace/trace.h"
#include "trace/load.h"

TEST(call_classes)
{
	static const struct {
		const char *api;
		enum nsx_call_class cls;
	} want[] = {
		{"cudaLaunchKernel_v7000", NSX_CALL_LAUNCH},
		{"cuLaunchKernelEx", NSX_CALL_LAUNCH},
		{"cudaLaunchCooperativeKernel_v9000", NSX_CALL_LAUNCH},
		{"cudaGraphLaunch_v10000", NSX_CALL_LAUNCH},
		{"cudaLaunchHostFunc_v10000", NSX_CALL_OTHER},
		{"cudaStreamSynchronize_v3020_ptsz", NSX_CALL_SYNC},
		{"cuCtxSynchronize", NSX_CALL_SYNC},
		{"cudaStreamWaitEvent_v3020", NSX_CALL_NONE},
		{"cudaEventQuery", NSX_CALL_NONE},
		{"cudaMemcpy_v3020", NSX_CALL_COPY},
		{"cuMemcpyHtoD_v2", NSX_CALL_COPY},
		{"cuMemcpyHtoDAsync_v2_ptsz", NSX_CALL_COPY_ASYNC},
		{"cudaMemcpyAsync_v3020", NSX_CALL_COPY_ASYNC},
		{"cudaFree_v3020", NSX_CALL_IMPLICIT_SYNC},
		{"cudaFreeAsync_v11020", NSX_CALL_OTHER},
		{"cuModuleLoadData", NSX_CALL_MODULE},
		{"cuMemAlloc_v2", NSX_CALL_IMPLICIT_SYNC},
		{"ncclAllReduce", NSX_CALL_OTHER},
		{"", NSX_CALL_OTHER},
	};

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		uint8_t flags = 0;

		assert_int_equal(nsx_classify_call(want[i].api, &flags), want[i].cls);
		assert_int_equal(!!(flags & NSX_CALL_GRAPH),
				 strstr(want[i].api, "GraphLaunch") != NULL);
	}
}

TEST(communication_kernels)
{
	static const struct {
		const char *base;
		enum nsx_comm_op op;
	} want[] = {
		{"ncclDevKernel_AllReduce_Sum_f32_RING_LL", NSX_COMM_ALLREDUCE},
		{"ncclKernel_AllGather_RING_LL_Sum_int8_t", NSX_COMM_ALLGATHER},
		{"ncclAllReduceRingKernel", NSX_COMM_ALLREDUCE},
		{"ncclBroadcastRingKernel", NSX_COMM_BROADCAST},
		{"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL",
		 NSX_COMM_REDUCESCATTER},
		{"ncclDevKernel_Reduce_Sum_f32", NSX_COMM_REDUCE},
		{"ncclDevKernel_SendRecv", NSX_COMM_SENDRECV},
		{"ncclSymkDevKernel_AllGather_ST", NSX_COMM_ALLGATHER},
		{"rcclDevKernel_AllReduce", NSX_COMM_ALLREDUCE},
		{"ncclSomethingNew", NSX_COMM_OTHER},
		{"cross_device_reduce_1stage", NSX_COMM_OTHER},
		{"my_nccl_like_gemm", NSX_COMM_NONE},
		{"allreduce_grads", NSX_COMM_OTHER},
		{"kuserbuffers_pushsend", NSX_COMM_OTHER},
		{"oneShotAllReduceKernel", NSX_COMM_OTHER},
		{"lowPrecisionTwoShotAllReduceKernel", NSX_COMM_OTHER},
		{"twoshotAllreduceKernel", NSX_COMM_OTHER},
		{"mscclAlltoAllKernel", NSX_COMM_OTHER},
		{"moe_all2all", NSX_COMM_OTHER},
		{"moeA2ADispatchKernel", NSX_COMM_OTHER},
		{"fusedMoeCommKernel", NSX_COMM_OTHER},
		{"all_to_all_internode_dispatch", NSX_COMM_OTHER},
		{"lamport_all_gather", NSX_COMM_OTHER},
		{"reduceScatterKernel", NSX_COMM_OTHER},
		{"userbuffers_fp16_sum_inplace_gpu_rw", NSX_COMM_OTHER},
		{"shmem_put_ring", NSX_COMM_OTHER},
		{"rocshmem_getmem_kernel", NSX_COMM_OTHER},
		{"broadcast32_on_stream_kernel", NSX_COMM_OTHER},
		{"fcollectRing", NSX_COMM_OTHER},
		{"haloPutSignal", NSX_COMM_OTHER},
		{"wait_until_on_stream_and_reset", NSX_COMM_OTHER},
		{"ucp_perf_cuda_put_multi_bw_kernel", NSX_COMM_OTHER},
		{"index_put_kernel", NSX_COMM_NONE},
		{"gemm_shmem_kernel", NSX_COMM_NONE},
		{"shmem_reduce_kernel", NSX_COMM_NONE},
		{"barrier_option_price", NSX_COMM_NONE},
		{"small_gather_kernel", NSX_COMM_NONE},
		{"blockAllReduceSum", NSX_COMM_NONE},
		{"gemm_allreduce", NSX_COMM_NONE},
		{"hgemmAllReduce", NSX_COMM_NONE},
		{"moe_combine", NSX_COMM_NONE},
		{"dispatch_gemm", NSX_COMM_NONE},
		{"", NSX_COMM_NONE},
	};

	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_int_equal(nsx_classify_comm(want[i].base, want[i].base), want[i].op);
	assert_int_equal(nsx_classify_comm("dispatch", "void deep_ep::dispatch<8>(int)"),
			 NSX_COMM_OTHER);
	assert_int_equal(nsx_classify_comm("executionKernel",
					   "void mscclpp::executionKernel<int>(int)"),
			 NSX_COMM_OTHER);
	assert_int_equal(nsx_classify_comm("combine", "void deepep::ht::combine<8>(int)"),
			 NSX_COMM_OTHER);
	assert_int_equal(nsx_classify_comm("copy", "void copy<deep_ep::Layout>(int)"),
			 NSX_COMM_NONE);
}

TEST(base_names)
{
	static const char *const want[][2] = {
		{"void at::native::reduce_kernel<512, 1>(float*)",
		 "reduce_kernel"},
		{"gemm", "gemm"},
		{"foo(int)", "foo"},
		{"void (anonymous namespace)::k<int>(T)", "k"},
		{"void ns::k<(int)4, g<(bool)1>>(int, T2)", "k"},
		{"ns::V<int> ns::operator<<(int, A<B>)", "operator<<"},
		{"void ns::operator<< <int>(A<int> &, int)", "operator<<"},
		{"bool operator<(A const &, A const &)", "operator<"},
		{"A::operator->() const", "operator->"},
		{"operator<<", "operator<<"},
		{"ns::my_operator<int>(int)", "my_operator"},
		{"decltype(auto) ns::apply<ns::less<>>(int)", "apply"},
		{"", ""},
	};
	size_t n;

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		const char *p = nsx_base_of(want[i][0], &n);

		assert_int_equal(n, strlen(want[i][1]));
		assert_memory_equal(p, want[i][1], n);
	}
}

TEST(equal_strings_have_equal_ids)
{
	struct nsx_strings *s = nsx_strings_new();
	struct nsx_err err;
	nsx_str a, b, c;
	static char big[NSX_MAX_TEXT + 10];

	assert_int_equal(nsx_strings_add(s, "one", 3, &a, &err), 0);
	assert_int_equal(nsx_strings_add(s, "two", 3, &b, &err), 0);
	assert_int_equal(nsx_strings_add(s, "one", 3, &c, &err), 0);
	assert_int_equal(a, c);
	assert_true(a && b && a != b);
	assert_string_equal(nsx_str_text(s, b), "two");
	assert_string_equal(nsx_str_text(s, 0), "");
	assert_int_equal(nsx_strings_add(s, "a\xff\0b", 4, &a, &err), 0);
	assert_string_equal(nsx_str_text(s, a), "a\xef\xbf\xbd\xef\xbf\xbd" "b");
	memset(big, 'x', sizeof(big));
	assert_int_equal(nsx_strings_add(s, big, sizeof(big), &a, &err), 0);
	assert_int_equal(strlen(nsx_str_text(s, a)), NSX_MAX_TEXT);
	nsx_strings_free(s);
}

/* Text is checked eight bytes at a time, so a bad byte is tried at each place. */
TEST(repair_at_every_place)
{
	static const struct {
		const char *in, *out;
		size_t len;
	} parts[] = {
		{"\0", "\xef\xbf\xbd", 1},
		{"\xff", "\xef\xbf\xbd", 1},
		{"\xc3", "\xef\xbf\xbd", 1},
		{"\x01\x7f", "\x01\x7f", 2},
		{"\xc3\xa9", "\xc3\xa9", 2},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 3},
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", 4},
	};
	enum { REST = 20 };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		for (int at = 0; at <= REST; at++) {
			struct nsx_buf in = {0}, want = {0}, got = {0};

			nsx_buf_printf(&in, "%.*s", at, "abcdefghijklmnopqrst");
			nsx_buf_add(&in, parts[i].in, parts[i].len);
			nsx_buf_printf(&in, "%.*s", REST - at, "ABCDEFGHIJKLMNOPQRST");
			nsx_buf_printf(&want, "%.*s%s%.*s", at,
				       "abcdefghijklmnopqrst", parts[i].out,
				       REST - at, "ABCDEFGHIJKLMNOPQRST");
			assert_int_equal(nsx_buf_add_utf8(&got, in.p, in.n),
					 strcmp(parts[i].in, parts[i].out) != 0);
			assert_string_equal(got.p, want.p);
			nsx_buf_done(&in);
			nsx_buf_done(&want);
			nsx_buf_done(&got);
		}
}

TEST(texts_in_order)
{
	static const char *const names[] = {
		"", "step", "step 1", "step 10", "step 10 of backward",
		"step 10 of forward", "step 100000 of forward", "step 2",
		"step \xc3\xa9", "\xc3\xa9"};
	enum { N = ARRAY_LEN(names) };
	struct nsx_strings *strings = nsx_strings_new();
	uint32_t rank[2 * 16 * (N + 1)] = {0};
	nsx_str name[N], other;
	struct nsx_err err;

	for (uint32_t i = 0; i < N; i++) {
		const char *text = names[i * 3 % N];

		assert_int_equal(nsx_strings_add(strings, text, strlen(text),
						 &name[i * 3 % N], &err), 0);
		rank[name[i * 3 % N]] = 7;
	}
	assert_int_equal(nsx_strings_add(strings, "step 11", 7, &other, &err), 0);
	assert_true(nsx_strings_bound(strings) <= ARRAY_LEN(rank));
	assert_int_equal(nsx_strings_rank(strings, rank, 2, &err), 0);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(rank[name[i]], i + 1);
	assert_int_equal(rank[other], 0);
	nsx_strings_free(strings);
}
