/* work.cu - small programs, each with and without one fault
 *
 *   work list                      cases and variants
 *   work time CASE                 ms of three runs with and without the fault, in turn
 *   work trace CASE VARIANT FILE   one run, with or without, as cutrace.h records it
 *
 * A run is a number of steps, and waits for the GPU at its end. */
#include "cutrace.h"

#include <cuda_runtime.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void check(cudaError_t e, const char *call)
{
	if (e == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(e));
	exit(1);
}
#define CHECK(call) check(call, #call)

static double now_ms()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

/* Kernels: a chain of dependent multiply-adds, and a buffer that it reads or writes. */
template <bool WRITES> static __device__ void chain(float *out, long turns, float *buf, size_t n)
{
	size_t g = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	size_t stride = (size_t)gridDim.x * blockDim.x;
	float a = 1.0f + threadIdx.x * 1e-6f;

	if (buf && !WRITES)
		for (size_t i = g; i < n; i += stride)
			a += buf[i];
#pragma unroll 1
	for (long i = 0; i < turns; i++) {
		a = fmaf(a, 0.999f, 0.001f);
		a = fmaf(a, 1.001f, -0.001f);
		a = fmaf(a, 0.999f, 0.001f);
		a = fmaf(a, 1.001f, -0.001f);
	}
	if (buf && WRITES)
		for (size_t i = g; i < n; i += stride)
			buf[i] = a;
	out[g] = a;
}
#define KERNEL(name, writes)                                                                       \
	extern "C" __global__ void __launch_bounds__(256)                                          \
	name(float *out, long turns, float *buf, size_t n) { chain<writes>(out, turns, buf, n); }
KERNEL(fma_main, false)
KERNEL(fma_small, false)
KERNEL(fma_tail, false)
KERNEL(consume_input, false)
KERNEL(produce_output, true)
KERNEL(chain_a, false)
KERNEL(chain_b, false)
KERNEL(tiny_glue, false)
KERNEL(few_blocks, false)
KERNEL(many_blocks, false)
typedef void kernel(float *, long, float *, size_t);

/* FULL blocks fill an H200, FEW leave most of it idle. */
enum { FULL = 264, FEW = 8, THREADS = 256 };
static const double EMPTY_US = 1.5; /* a kernel without turns */
static double turn_ns_full, turn_ns_few;
static float *result;

static void launch(kernel *k, int blocks, long turns, cudaStream_t s = 0, float *buf = NULL,
		   size_t n = 0)
{
	void *args[] = {&result, &turns, &buf, &n};

	CHECK(cudaLaunchKernel((const void *)k, dim3(blocks), dim3(THREADS), args, 0, s));
}

static long turns_of(double us, int blocks)
{
	double turns = (us - EMPTY_US) * 1e3 / (blocks >= 100 ? turn_ns_full : turn_ns_few);

	return turns > 0 ? (long)turns : 0;
}

static void run(kernel *k, double us, int blocks = FULL, cudaStream_t s = 0, float *buf = NULL,
		size_t n = 0)
{
	launch(k, blocks, turns_of(us, blocks), s, buf, n);
}

static float ms_of(int blocks, long turns, cudaEvent_t a, cudaEvent_t b)
{
	float best = 1e30f, ms;

	for (int i = 0; i < 3; i++) {
		CHECK(cudaEventRecord(a));
		launch(fma_main, blocks, turns);
		CHECK(cudaEventRecord(b));
		CHECK(cudaEventSynchronize(b));
		CHECK(cudaEventElapsedTime(&ms, a, b));
		best = ms < best ? ms : best;
	}
	return best;
}

/* Loads the kernels, lets the clocks rise, and measures how long a turn takes. */
static void calibrate()
{
	kernel *all[] = {fma_main, fma_small, fma_tail,	 consume_input, produce_output,
			 chain_a,  chain_b,   tiny_glue, few_blocks,	many_blocks};
	const long few = 20000, many = 120000;
	cudaEvent_t a, b;

	CHECK(cudaMalloc(&result, sizeof(float) * FULL * THREADS));
	for (kernel *k : all)
		launch(k, FULL, 10);
	CHECK(cudaDeviceSynchronize());
	for (double end = now_ms() + 250; now_ms() < end;) {
		launch(fma_main, FULL, 100000);
		CHECK(cudaDeviceSynchronize());
	}
	CHECK(cudaEventCreate(&a));
	CHECK(cudaEventCreate(&b));
	turn_ns_full = (ms_of(FULL, many, a, b) - ms_of(FULL, few, a, b)) * 1e6 / (many - few);
	turn_ns_few = (ms_of(FEW, many, a, b) - ms_of(FEW, few, a, b)) * 1e6 / (many - few);
	CHECK(cudaEventDestroy(a));
	CHECK(cudaEventDestroy(b));
}

static void compute_on_host(double ms)
{
	static char a[1 << 16], b[1 << 16];

	for (double end = now_ms() + ms; now_ms() < end;) {
		memcpy(a, b, sizeof(a));
		b[a[5] & 1023]++;
		__asm__ volatile("" ::: "memory");
	}
}

/* Memory, streams and events that the steps of a case use; its setup makes them. */
static const size_t MB = 1 << 20;
static float *device[2];
static char *pinned[2], *pageable;
static size_t bytes;
static cudaStream_t s1, s2;
static cutrace_flag stream_flag;
static cudaEvent_t ready[2], used[2];
static cudaGraphExec_t graph;

static void make_device(int n, size_t size)
{
	bytes = size;
	for (int i = 0; i < n; i++) {
		CHECK(cudaMalloc(&device[i], size));
		CHECK(cudaMemset(device[i], 0, size));
	}
}

static void make_pinned(int n)
{
	for (int i = 0; i < n; i++) {
		CHECK(cudaHostAlloc((void **)&pinned[i], bytes, cudaHostAllocDefault));
		memset(pinned[i], 0, bytes);
	}
}

static void make_pageable()
{
	pageable = (char *)malloc(bytes);
	if (!pageable)
		abort();
	memset(pageable, 0, bytes);
}

static void make_stream(cudaStream_t *s, cutrace_flag flag = CUTRACE_NONBLOCKING)
{
	stream_flag = flag;
	CHECK(cudaStreamCreateWithFlags(
	    s, flag == CUTRACE_BLOCKING ? cudaStreamDefault : cudaStreamNonBlocking));
}

static void make_streams_and_events()
{
	make_stream(&s1);
	make_stream(&s2);
	for (int i = 0; i < 2; i++) {
		CHECK(cudaEventCreateWithFlags(&ready[i], cudaEventDisableTiming));
		CHECK(cudaEventCreateWithFlags(&used[i], cudaEventDisableTiming));
	}
}

static void copy_in(void *to, const void *from, size_t size, cudaStream_t s)
{
	CHECK(cudaMemcpyAsync(to, from, size, cudaMemcpyHostToDevice, s));
}

/* The cases. The comment of each says what a step does with the fault, and what without it. */

/* Fault: 400 short kernels are launched one by one. Without: as a CUDA graph. */
static void launch_small(cudaStream_t s)
{
	for (int k = 0; k < 400; k++)
		run(fma_small, 2, 32, s);
}
static void launches_setup()
{
	cudaGraph_t g;

	make_stream(&s1);
	CHECK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeThreadLocal));
	launch_small(s1);
	CHECK(cudaStreamEndCapture(s1, &g));
	CHECK(cudaGraphInstantiate(&graph, g, 0));
	CHECK(cudaGraphUpload(graph, s1));
	CHECK(cudaStreamSynchronize(s1));
}
static void launches(bool fault, int, int)
{
	if (fault)
		launch_small(s1);
	else
		CHECK(cudaGraphLaunch(graph, s1));
	run(fma_tail, 1000, FULL, s1);
}

/* Fault: a value of 4 bytes is read back after every third kernel. Without: none is. */
static void item_setup() { make_device(1, sizeof(int)); }
static void item(bool fault, int, int)
{
	int value;

	for (int k = 0; k < 60; k++) {
		run(fma_main, 40);
		if (fault && k % 3 == 2)
			CHECK(cudaMemcpy(&value, device[0], sizeof(value), cudaMemcpyDeviceToHost));
	}
}

/* Fault: an input is copied from pageable memory. Without: from pinned memory. */
static void pageable_setup()
{
	make_device(1, 32 * MB);
	make_pinned(1);
	make_pageable();
}
static void pageable_step(bool fault, int, int)
{
	copy_in(device[0], fault ? pageable : pinned[0], bytes, 0);
	run(consume_input, 3000, FULL, 0, device[0], bytes / 4);
}

/* Fault: an input is copied right before the kernel that uses it. Without: a step ahead, on another
 * stream.
 */
static void exposed_copy_setup()
{
	make_device(2, 64 * MB);
	make_pinned(2);
	make_streams_and_events();
}
static void copy_ahead(int i)
{
	copy_in(device[i], pinned[i], bytes, s2);
	CHECK(cudaEventRecord(ready[i], s2));
}
static void exposed_copy(bool fault, int i, int n)
{
	int now = i & 1, next = now ^ 1;

	if (fault) {
		copy_in(device[0], pinned[now], bytes, s1);
		run(consume_input, 3000, FULL, s1, device[0], bytes / 4);
		return;
	}
	if (i == 0)
		copy_ahead(0);
	CHECK(cudaStreamWaitEvent(s1, ready[now]));
	run(consume_input, 3000, FULL, s1, device[now], bytes / 4);
	CHECK(cudaEventRecord(used[now], s1));
	if (i + 1 == n)
		return;
	if (i > 0)
		CHECK(cudaStreamWaitEvent(s2, used[next]));
	copy_ahead(next);
}

/* Fault: memory is allocated for each kernel. Without: once. */
static void allocs_setup() { make_device(1, 256 * MB); }
static void allocs(bool fault, int, int)
{
	for (int k = 0; k < 4; k++) {
		float *p = device[0];

		if (fault)
			CHECK(cudaMalloc(&p, bytes));
		run(produce_output, 500, FULL, 0, p, MB / 4);
		if (fault)
			CHECK(cudaFree(p));
	}
}

/* Fault: the host works on the next input while the GPU waits. Without: it has the input. */
static void inputs(bool fault, int, int)
{
	if (fault)
		compute_on_host(3);
	for (int k = 0; k < 4; k++)
		run(fma_main, 1000);
	CHECK(cudaDeviceSynchronize());
}

/* Fault: the host sleeps, hidden by the work that is queued. Without: it does not sleep. */
static void inputs_hidden(bool fault, int, int)
{
	if (fault)
		usleep(2000);
	for (int k = 0; k < 4; k++)
		run(fma_main, 1000);
}

/* Fault: the host sleeps longer than the GPU works, and waits for nothing. Without: it does not
 * sleep.
 */
static void inputs_async(bool fault, int, int)
{
	if (fault)
		usleep(2000);
	for (int k = 0; k < 4; k++)
		run(fma_main, 250);
}

/* Fault: the host waits for the GPU after each kernel. Without: it does not. */
static void syncs(bool fault, int, int)
{
	for (int k = 0; k < 60; k++) {
		run(fma_main, 50);
		if (fault)
			CHECK(cudaDeviceSynchronize());
	}
}

/* Fault: two chains of small kernels run on one stream. Without: on two. */
static void order(cudaStream_t first, cudaStream_t then, cudaEvent_t e)
{
	CHECK(cudaEventRecord(e, first));
	CHECK(cudaStreamWaitEvent(then, e));
}
static void serial(bool fault, int, int)
{
	if (!fault)
		order(s1, s2, ready[0]);
	for (int k = 0; k < 30; k++) {
		run(chain_a, 60, FEW, s1);
		if (!fault)
			run(chain_b, 60, FEW, s2);
	}
	for (int k = 0; fault && k < 30; k++)
		run(chain_b, 60, FEW, s1);
	if (!fault)
		order(s2, s1, ready[1]);
}

/* Fault: a result is copied back to pageable memory. Without: to pinned memory, on another stream.
 */
static void d2h_setup()
{
	make_device(2, 64 * MB);
	make_pinned(2);
	make_pageable();
	make_streams_and_events();
}
static void copy_back(void *to, int i, cudaStream_t s)
{
	CHECK(cudaMemcpyAsync(to, device[i], bytes, cudaMemcpyDeviceToHost, s));
}
static void d2h(bool fault, int i, int)
{
	int now = fault ? 0 : i & 1;

	for (int k = 0; k < 3; k++)
		run(fma_main, 1000, FULL, s1);
	if (!fault && i >= 2)
		CHECK(cudaStreamWaitEvent(s1, used[now]));
	run(produce_output, 1000, FULL, s1, device[now], bytes / 4);
	if (fault) {
		copy_back(pageable, 0, s1);
		CHECK(cudaStreamSynchronize(s1));
		return;
	}
	order(s1, s2, ready[now]);
	copy_back(pinned[now], now, s2);
	CHECK(cudaEventRecord(used[now], s2));
}

/* Fault: a kernel on the default stream runs between those of two blocking streams. Without: none
 * does.
 */
static void default_stream_setup()
{
	make_stream(&s1, CUTRACE_BLOCKING);
	make_stream(&s2, CUTRACE_BLOCKING);
}
static void default_stream(bool fault, int, int)
{
	for (int k = 0; k < 10; k++) {
		run(chain_a, 200, FEW, s1);
		if (fault)
			run(tiny_glue, 0, 1);
		run(chain_b, 200, FEW, s2);
		if (fault)
			run(tiny_glue, 0, 1);
	}
}

/* Fault: a memory pool gives its memory back at each wait. Without: it keeps the memory. */
static void one_stream() { make_stream(&s1); }
static void mempool_begin(bool fault)
{
	uint64_t threshold = fault ? 0 : UINT64_MAX;
	cudaMemPool_t pool;

	CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
	CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemPoolTrimTo(pool, 0));
}
static void mempool(bool, int, int)
{
	for (int k = 0; k < 4; k++) {
		float *p;

		CHECK(cudaMallocAsync((void **)&p, 256 * MB, s1));
		run(produce_output, 500, FULL, s1, p, MB / 4);
		CHECK(cudaFreeAsync(p, s1));
	}
	CHECK(cudaStreamSynchronize(s1));
}

/* Fault: 200 inputs of 4 KB are copied one by one. Without: as one. */
static void small_copies_setup()
{
	make_device(1, 200 * 4096);
	make_pinned(1);
}
static void small_copies(bool fault, int, int)
{
	if (!fault)
		copy_in(device[0], pinned[0], bytes, 0);
	for (int k = 0; k < 200; k++) {
		float *part = device[0] + k * 1024;

		if (fault)
			copy_in(part, pinned[0] + k * 4096, 4096, 0);
		run(fma_small, 5, 32, 0, part, 1024);
	}
}

/* Fault: the host works for 6 ms in every fifth step. Without: in none. */
static void slow_iterations(bool fault, int i, int)
{
	for (int k = 0; k < 4; k++)
		run(fma_main, 500);
	if (fault && i % 5 == 4) {
		CHECK(cudaDeviceSynchronize());
		compute_on_host(6);
	}
	CHECK(cudaStreamSynchronize(0));
}

/* No fault in either variant: a copy runs beside kernels that fill the GPU. */
static void healthy_setup()
{
	make_device(1, MB);
	make_pinned(1);
	make_streams_and_events();
}
static void healthy(bool, int, int)
{
	copy_in(device[0], pinned[0], bytes, s2);
	CHECK(cudaEventRecord(ready[0], s2));
	for (int k = 0; k < 8; k++)
		run(fma_main, 500, FULL, s1);
	CHECK(cudaStreamWaitEvent(s1, ready[0]));
	run(fma_tail, 200, FULL, s1);
}

/* Fault: a kernel has 4 blocks. Without: it does the same work in as many as the GPU holds. */
static void small_grid(bool fault, int, int)
{
	long turns = turns_of(3000, FEW);

	if (fault)
		launch(few_blocks, 4, turns);
	else
		launch(many_blocks, FULL, turns * 4 / FULL);
	run(fma_main, 1000);
}

static void nothing() {}
static void nothing_begins(bool) {}

struct test_case {
	const char *name;
	int steps, variants;
	void (*setup)();
	void (*step)(bool fault, int i, int n);
	void (*begin)(bool fault);
};
static const test_case cases[] = {
    {"launches", 20, 2, launches_setup, launches, nothing_begins},
    {"item", 20, 2, item_setup, item, nothing_begins},
    {"pageable", 20, 2, pageable_setup, pageable_step, nothing_begins},
    {"exposed_copy", 20, 2, exposed_copy_setup, exposed_copy, nothing_begins},
    {"allocs", 20, 2, allocs_setup, allocs, nothing_begins},
    {"inputs", 20, 2, nothing, inputs, nothing_begins},
    {"inputs_hidden", 20, 2, nothing, inputs_hidden, nothing_begins},
    {"inputs_async", 20, 2, nothing, inputs_async, nothing_begins},
    {"syncs", 20, 2, nothing, syncs, nothing_begins},
    {"serial", 20, 2, make_streams_and_events, serial, nothing_begins},
    {"d2h", 20, 2, d2h_setup, d2h, nothing_begins},
    {"default_stream", 20, 2, default_stream_setup, default_stream, nothing_begins},
    {"mempool", 20, 2, one_stream, mempool, mempool_begin},
    {"small_copies", 20, 2, small_copies_setup, small_copies, nothing_begins},
    {"slow_iterations", 40, 2, nothing, slow_iterations, nothing_begins},
    {"healthy", 20, 1, healthy_setup, healthy, nothing_begins},
    {"small_grid", 20, 2, nothing, small_grid, nothing_begins},
};
static const char *const variant_names[] = {"with", "without"};

static double run_steps(const test_case &c, bool fault, int n, bool traced)
{
	double start = now_ms();

	for (int i = 0; i < n; i++) {
		if (traced)
			cutrace_begin_step();
		c.step(fault, i, n);
		if (traced)
			cutrace_end_step();
	}
	CHECK(cudaDeviceSynchronize());
	return now_ms() - start;
}

static void time_case(const test_case &c)
{
	double ms[2][3];

	c.setup();
	for (int i = 0; i < 3; i++)
		for (int v = 0; v < c.variants; v++) {
			c.begin(v == 0);
			run_steps(c, v == 0, 5, false);
			ms[v][i] = run_steps(c, v == 0, c.steps, false);
		}
	for (int v = 0; v < c.variants; v++)
		printf("%s\t%s\tuntraced\t%.3f\t%.3f\t%.3f\n", c.name, variant_names[v], ms[v][0],
		       ms[v][1], ms[v][2]);
}

static long attribute(cudaDeviceAttr a)
{
	int value = 0;

	CHECK(cudaDeviceGetAttribute(&value, a, 0));
	return value;
}

/* Writes the M lines, which describe the case and the GPU. */
static void print_meta(FILE *f, const test_case &c, const char *variant)
{
	cudaDeviceProp p;

	CHECK(cudaGetDeviceProperties(&p, 0));
	fprintf(f, "M\tcase\t%s\nM\tvariant\t%s\nM\tsteps\t%d\n", c.name, variant, c.steps);
	fprintf(f, "M\tgpu_name\t%s\nM\tsm\t%d\nM\tl2\t%d\nM\tmem\t%zu\nM\tbw\t%ld\nM\tclock_hz\t%ld\n",
		p.name, p.multiProcessorCount, p.l2CacheSize, p.totalGlobalMem,
		2 * attribute(cudaDevAttrMemoryClockRate) * 1000 *
		    (attribute(cudaDevAttrGlobalMemoryBusWidth) / 8),
		1000 * attribute(cudaDevAttrClockRate));
}

static void trace_case(const test_case &c, const char *variant, const char *path)
{
	bool fault = !strcmp(variant, "with");
	FILE *f = fopen(path, "w");
	double ms;

	if (!f) {
		perror(path);
		exit(1);
	}
	cutrace_start();
	c.setup();
	c.begin(fault);
	run_steps(c, fault, 3, false);
	usleep(1000);
	cutrace_discard();
	ms = run_steps(c, fault, c.steps, true);
	print_meta(f, c, variant);
	if (s1)
		cutrace_print_stream(f, s1, stream_flag);
	if (s2)
		cutrace_print_stream(f, s2, stream_flag);
	cutrace_print(f);
	if (fclose(f)) {
		perror(path);
		exit(1);
	}
	printf("%s\t%s\ttraced\t%.3f\n", c.name, variant, ms);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "list")) {
		for (const test_case &c : cases)
			for (int v = 0; v < c.variants; v++)
				printf("%s %s\n", c.name, variant_names[v]);
		return 0;
	}
	for (const test_case &c : cases) {
		if (argc < 3 || strcmp(argv[2], c.name))
			continue;
		calibrate();
		if (argc == 3 && !strcmp(argv[1], "time"))
			time_case(c);
		else if (argc == 5 && !strcmp(argv[1], "trace"))
			trace_case(c, argv[3], argv[4]);
		else
			break;
		return 0;
	}
	fprintf(stderr, "usage: work list | time CASE | trace CASE with|without FILE\n");
	return 2;
}
