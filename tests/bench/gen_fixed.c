/* gen_fixed.c - the small tables: target, processes, threads, capture, export,
 * and the labels of the enumerations.
 */
#include "gen.h"

#include <stdio.h>

enum { NULL_STREAM = 7 };
#define VM (INT64_C(1) << 48)

struct label {
	int id;
	const char *name, *label;
};

static void enumeration(struct out *o, const char *table, const struct label *l, size_t n)
{
	out_sql(o, "CREATE TABLE %s (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT)",
		table);
	for (size_t i = 0; i < n; i++)
		out_sql(o, "INSERT INTO %s VALUES(%d, %Q, %Q)", table, l[i].id,
			l[i].name, l[i].label);
}

static void event_enumerations(struct out *o)
{
	static const struct label types[] = {
	    {33, "NvtxCategory", "NvtxCategory"},
	    {34, "NvtxMark", "NvtxMark"},
	    {39, "NvtxThread", "NvtxThread"},
	    {59, "NvtxPushPopRange", "NvtxPushPopRange"},
	    {60, "NvtxStartEndRange", "NvtxStartEndRange"},
	    {75, "NvtxDomainCreate", "NvtxDomainCreate"},
	    {76, "NvtxDomainDestroy", "NvtxDomainDestroy"}};
	static const struct label classes[] = {
	    {0, "TRACE_PROCESS_EVENT_CUDA_RUNTIME", "CUDA runtime"},
	    {1, "TRACE_PROCESS_EVENT_CUDA_DRIVER", "CUDA driver"},
	    {27, "TRACE_PROCESS_EVENT_OS_RUNTIME", "OSRT runtime"},
	    {103, "TRACE_PROCESS_EVENT_CUDA_OVERHEAD", "CUDA overhead"}};
	static const struct label sync[] = {
	    {0, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN", "Unknown"},
	    {1, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE",
	     "Event sync"},
	    {2, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT",
	     "Stream wait sync"},
	    {3, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE",
	     "Stream sync"},
	    {4, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE",
	     "Context sync"}};
	static const struct label overhead[] = {
	    {2, "OVERHEAD_DRIVER_COMPILER", "Driver JIT compiler (CUDA)"},
	    {3, "OVERHEAD_CUPTI_BUFFER_FLUSH", "Buffer flush (Profiler)"},
	    {6, "OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING",
	     "Runtime module loading (CUDA)"},
	    {7, "OVERHEAD_LAZY_FUNCTION_LOADING",
	     "Lazy function loading (CUDA)"},
	    {8, "OVERHEAD_COMMAND_BUFFER_FULL", "Command buffer full (CUDA)"}};

	enumeration(o, "ENUM_NSYS_EVENT_TYPE", types, COUNT(types));
	enumeration(o, "ENUM_NSYS_EVENT_CLASS", classes, COUNT(classes));
	enumeration(o, "ENUM_CUPTI_SYNC_TYPE", sync, COUNT(sync));
	enumeration(o, "ENUM_CUPTI_OVERHEAD_TYPE", overhead, COUNT(overhead));
}

static void memory_enumerations(struct out *o)
{
	static const struct label copies[] = {
	    {0, "CUDA_MEMCPY_KIND_UNKNOWN", "Unknown"},
	    {1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"},
	    {2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"},
	    {8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"},
	    {9, "CUDA_MEMCPY_KIND_HTOH", "Host-to-Host"},
	    {10, "CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer"}};
	static const struct label kinds[] = {
	    {0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"},
	    {1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"},
	    {2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"},
	    {3, "CUDA_MEMOPR_MEMORY_KIND_ARRAY", "Array"},
	    {4, "CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed"}};
	static const struct label opers[] = {
	    {0, "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION", "Allocation"},
	    {1, "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION", "Deallocation"}};
	static const struct label streams[] = {
	    {1, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT", "Default stream"},
	    {2, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING",
	     "Non-blocking stream"},
	    {3, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL", "Null stream"}};
	static const struct label launches[] = {
	    {0, "CUDA_KERNEL_LAUNCH_TYPE_UNKNOWN", "Unknown"},
	    {1, "CUDA_KERNEL_LAUNCH_TYPE_REGULAR", "Regular"}};

	enumeration(o, "ENUM_CUDA_MEMCPY_OPER", copies, COUNT(copies));
	enumeration(o, "ENUM_CUDA_MEM_KIND", kinds, COUNT(kinds));
	enumeration(o, "ENUM_CUDA_DEV_MEM_EVENT_OPER", opers, COUNT(opers));
	enumeration(o, "ENUM_CUPTI_STREAM_TYPE", streams, COUNT(streams));
	enumeration(o, "ENUM_CUDA_KERNEL_LAUNCH_TYPE", launches, COUNT(launches));
}

/* Writes a row of a table whose columns are all text. */
static void pair(struct out *o, enum table t, const char *name, const char *value)
{
	out_text(o, t, 0, name);
	out_text(o, t, 1, value);
	out_row(o, t, NULL, 0);
}

static void meta(struct out *o, const struct opts *opts)
{
	static const char *const capture[][2] = {
	    {"CAPTURE_EVENT_TYPE", "Cuda"},
	    {"CAPTURE_EVENT_TYPE", "NvtxEvents"},
	    {"CAPTURE_EVENT_TYPE", "OSRuntime"},
	    {"COLLECT_GPU_MEMORY_USAGE", "true"},
	    {"CUDA_GRAPH_TRACE_OPTIONS:MODE", "Graph"},
	    {"CUDA_SKIP_SOME_API_CALLS", "true"},
	    {"CUDA_TRACE_SCOPE", "ProcessTree"},
	    {"OS_RUNTIME_OPTIONS:DURATION_THRESHOLD_NS", "1000"},
	    {"START_TRIGGER", "Immediate"}};
	static const char *const export[][2] = {
	    {"EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"},
	    {"EXPORT_PRODUCT_VERSION", "2026.2.1.210"},
	    {"EXPORT_PRODUCT_DATE", "2026.2"},
	    {"EXPORT_SCHEMA_VERSION", "3.25.0"},
	    {"EXPORT_SCHEMA_VERSION_MAJOR", "3"},
	    {"EXPORT_SCHEMA_VERSION_MINOR", "25"},
	    {"EXPORT_SCHEMA_VERSION_MICRO", "0"},
	    {"EXPORT_PARAM_LAZY", "true"},
	    {"EXPORT_PARAM_INCLUDE_JSON", "false"},
	    {"EXPORT_PARAM_INCLUDE_BLOBS", "false"},
	    {"EXPORT_PARAM_TIME_NORMALIZE", "false"},
	    {"EXPORT_PARAM_TIME_SHIFT", "0"},
	    {"GENERATED_BY", "nsys-explain tests/bench/gen.c"}};
	char text[64];

	for (size_t i = 0; i < COUNT(capture); i++)
		pair(o, T_META_CAPTURE, capture[i][0], capture[i][1]);
	for (size_t i = 0; i < COUNT(export); i++)
		pair(o, T_META_EXPORT, export[i][0], export[i][1]);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)opts->seed);
	pair(o, T_META_EXPORT, "GENERATED_SEED", text);
}

static void uuid(int gpu, char text[40])
{
	struct rng r = {(uint64_t)gpu};
	uint64_t a = rng_next(&r), b = rng_next(&r);

	snprintf(text, 40, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(a >> 32),
		 (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xffff),
		 (unsigned)(b >> 48), (unsigned long long)(b & 0xffffffffffff));
}

static void gpus(struct out *o, const struct opts *opts)
{
	char id[40], text[64];

	for (int g = 0; g < opts->procs && g < MAX_GPUS; g++) {
		const int64_t v[] = {
		    VM,		g,	  KEEP,	       KEEP,
		    1,		52428800, 85017493504, 3352320000000,
		    1980000000, 132,	  g,	       KEEP,
		    0,		KEEP,	  g,	       NONE,
		    NONE,	161,	  0,	       65536,
		    0,		65536,	  49152,       232448,
		    233472,	65536,	  32,	       3,
		    64,		32,	  1024,	       1024,
		    1024,	64,	  2147483647,  65535,
		    65535,	9,	  0,	       9,
		    0};

		uuid(g, id);
		snprintf(text, sizeof(text), "0000:%02x:00.0", 16 + 9 * g);
		out_text(o, T_GPU, 2, "NVIDIA H100 80GB HBM3");
		out_text(o, T_GPU, 3, text);
		out_text(o, T_GPU, 11, id);
		out_text(o, T_GPU, 13, "GH100");
		out_row(o, T_GPU, v, COUNT(v));
		for (int i = 0; i < NMETRICS && opts->metrics_hz; i++) {
			const int64_t w[] = {metric_type_id(g), 17, KEEP,
					     i + 1};

			snprintf(text, sizeof(text), "GPU Metrics [GH100], GPU %d", g);
			out_text(o, T_GPU_METRICS, 2, text);
			out_text(o, T_GPU_METRICS, 4, metric_names[i]);
			out_row(o, T_GPU_METRICS, w, COUNT(w));
		}
	}
}

static void process(struct out *o, const struct opts *opts, int rank,
		    int streams, const int64_t *thread_names)
{
	int64_t pid = rank_pid(rank);
	const int64_t proc[] = {rank_global_pid(rank), pid};
	const int64_t context[] = {
	    NULL_STREAM, 0, 1, pid, rank_ordinal(opts, rank), 1, 0, 0, 132, 66,
	    NONE,	 0, 0, 0};
	char id[40];

	out_text(o, T_PROCESS, 2, "python3");
	out_row(o, T_PROCESS, proc, COUNT(proc));
	out_row(o, T_CUDA_CONTEXT, context, COUNT(context));
	for (int t = 0; t < TH_COUNT; t++) {
		const int64_t v[] = {thread_names[t], 20,
				     rank_global_pid(rank) | rank_tid(rank, (enum thread)t)};

		out_row(o, T_THREAD_NAME, v, COUNT(v));
	}
	for (int s = 0; s < streams; s++) {
		const int64_t v[] = {stream_id(s), 0, 1, pid, 1, 0, s ? 2 : 3};

		out_row(o, T_CUDA_STREAM, v, COUNT(v));
	}
	for (int g = 0; g < MAX_GPUS && g < opts->procs; g++) {
		const int64_t v[] = {g, opts->procs > MAX_GPUS ? 0 : g, pid,
				     KEEP, 132};

		if (opts->procs > MAX_GPUS && g != rank_gpu(rank))
			continue;
		uuid(g, id);
		out_text(o, T_CUDA_DEVICE, 3, id);
		out_row(o, T_CUDA_DEVICE, v, COUNT(v));
	}
}

void fixed_begin(struct out *o, const struct opts *opts, int streams)
{
	static const char *const threads[TH_COUNT] = {
	    [TH_MAIN] = "python3",
	    [TH_AUTOGRAD] = "pt_autograd_0",
	    [TH_WATCHDOG] = "pt_nccl_watchdg",
	    [TH_EVENTS] = "cuda-EvtHandlr",
	    [TH_LOADER] = "pt_data_pin"};
	static const char *const env[][2] = {{"CpuCores", "96"},
					     {"CpuArchitecture", "x86_64"},
					     {"NvDriverVersion", "580.95.05"},
					     {"CudaDriverVersion", "13000"}};
	const int64_t start[] = {1779782330176752435, KEEP, KEEP, 28254349605};
	int64_t ids[TH_COUNT];

	for (int t = 0; t < TH_COUNT; t++)
		ids[t] = out_string(o, threads[t]);
	event_enumerations(o);
	memory_enumerations(o);
	meta(o, opts);
	gpus(o, opts);
	for (int i = 0; i < opts->procs; i++)
		process(o, opts, i, streams, ids);
	for (size_t i = 0; i < COUNT(env); i++) {
		const int64_t v[] = {VM, KEEP, KEEP, (int64_t)i + 1};

		out_text(o, T_SYSTEM_ENV, 1, "Local (CLI)");
		out_text(o, T_SYSTEM_ENV, 2, env[i][0]);
		out_text(o, T_SYSTEM_ENV, 4, env[i][1]);
		out_row(o, T_SYSTEM_ENV, v, COUNT(v));
	}
	out_text(o, T_SESSION_START, 1, "2026-05-26T07:58:50");
	out_text(o, T_SESSION_START, 2, "2026-05-26T07:58:50");
	out_row(o, T_SESSION_START, start, COUNT(start));
}

void fixed_end(struct out *o, int64_t last_ns)
{
	const int64_t begin = 28254349605, duration = last_ns + 10000000;
	const int64_t v[] = {VM, duration, begin, begin + duration};

	out_row(o, T_ANALYSIS, v, COUNT(v));
}
