/* test_recapture.c - command lines for nsys that record what a trace lacks, by version of nsys. */
#include "../testlib.h"
#include "schema/recapture.h"

static struct nsx_arena *arena;

static int set_up(void **state NSX_UNUSED)
{
	arena = nsx_arena_new();
	return 0;
}

static int tear_down(void **state NSX_UNUSED)
{
	nsx_arena_free(arena);
	return 0;
}
SET_UP(set_up, tear_down);

static void is_line(const char *product, unsigned what, const char *want)
{
	const struct nsx_schema made_by = {.product_version = product};
	const char *got = nsx_recapture_line(arena, &made_by, what);

	if (!want)
		assert_null(got);
	else
		assert_string_equal(got, want);
}

TEST(recapture_version)
{
	assert_int_equal(nsx_nsys_version("NVIDIA Nsight Systems 2023.4.4.54"), 202304);
	assert_int_equal(nsx_nsys_version("2026.2.1.210"), 202602);
	assert_int_equal(nsx_nsys_version("2025.10"), 202510);
	assert_int_equal(nsx_nsys_version(""), 0);
	assert_int_equal(nsx_nsys_version("3.25"), 0);
	assert_int_equal(nsx_nsys_version("99999999999.1"), 0);
}

TEST(recapture_spelling)
{
	const unsigned nvlink = NSX_REC_COUNTERS | NSX_REC_GRAPHS | NSX_REC_NCCL;

	is_line("2026.2", nvlink, "nsys profile --trace=cuda,nvtx,osrt,nccl --nccl-trace=all "
		"--gpu-metrics-devices=all --gpu-metrics-set=<supported-set> "
		"--gpu-metrics-frequency=10000 --cuda-graph-trace=node -o run COMMAND");
	is_line("2024.6", nvlink, "nsys profile --trace=cuda,nvtx,osrt --gpu-metrics-device=all "
		"--gpu-metrics-set=<supported-set> --gpu-metrics-frequency=10000 "
		"--cuda-graph-trace=node -o run COMMAND");
	is_line("", NSX_REC_SETS, "nsys profile --gpu-metrics-device=all --gpu-metrics-set=help  # "
		"nsys 2025 and later: --gpu-metrics-devices=all");
	is_line("2021.5", NSX_REC_SCHED, "nsys profile --trace=cuda,nvtx,osrt --sample=cpu -o run "
		"COMMAND");
	is_line("2021.5", NSX_REC_RANGE, "nsys profile --trace=cuda,nvtx,osrt "
		"--capture-range=cudaProfilerApi --stop-on-range-end=true -o run COMMAND");
	is_line("2023.4", NSX_REC_EXPORT, "nsys export --type sqlite --lazy=false -o run.sqlite "
		"run.nsys-rep");
	is_line("2020.3", NSX_REC_EXPORT, "nsys export --type sqlite -o run.sqlite run.nsys-rep");
}

/* For data that a version cannot record there is no command line. */
TEST(recapture_too_old)
{
	is_line("2020.3", NSX_REC_COUNTERS, NULL);
	is_line("2021.5", NSX_REC_GRAPHS, NULL);
	is_line("2023.4", NSX_REC_EXPORT | NSX_REC_PAYLOAD, NULL);
	is_line("2024.6", NSX_REC_TORCH, NULL);
	assert_int_equal(nsx_recapture_since(NSX_REC_TORCH), 202501);
	assert_int_equal(nsx_recapture_since(NSX_REC_COUNTERS | NSX_REC_GRAPHS), 202201);
	assert_int_equal(nsx_recapture_since(NSX_REC_EXPORT), 0);
	assert_int_equal(nsx_recapture_since(NSX_REC_SCHED), 0);
}

/* On Windows nsys refuses osrt and nccl: "Illegal --trace argument". */
TEST(recapture_windows)
{
	const struct nsx_schema made_by = {.product_version = "2026.2.1.210",
					   .on_windows = true};

	assert_string_equal(nsx_recapture_line(arena, &made_by, NSX_REC_NCCL),
			    "nsys profile --trace=cuda,nvtx -o run COMMAND");
	assert_string_equal(nsx_recapture_line(arena, &made_by, NSX_REC_SOFTWARE),
			    "nsys profile --trace=cuda-sw,nvtx -o run COMMAND");
}

TEST(recapture_preset)
{
	assert_string_equal(nsx_recapture_preset(NSX_REC_SCHED, true), "basic");
	assert_string_equal(nsx_recapture_preset(NSX_REC_GRAPHS, false), "basic");
	assert_string_equal(nsx_recapture_preset(NSX_REC_MEMORY | NSX_REC_COUNTERS, true),
			    "nvlink");
	assert_string_equal(nsx_recapture_preset(NSX_REC_MEMORY | NSX_REC_COUNTERS, false), "full");
	assert_string_equal(nsx_recapture_preset(NSX_REC_FAULTS | NSX_REC_COUNTERS, true), "full");
}
