/* options.c - the options of the capture, which the report identifies by number. Options that are
 * off, 0 or empty are not in the report; an export has them.
 */
#include <stdio.h>
#include "nsysrep/facts.h"

enum kind { WORDS, NUMBER, YES };

struct option {
	const char *name;
	unsigned field;
	enum kind kind;
};

static void options_put(struct nsx_rep_rows *rows, const char *prefix, const char *name,
			struct nsx_val value)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_buf_printf(&b, "%s%s", prefix, name);
	nsx_rows_put(rows, NSX_REP_CAPTURE_META, (struct nsx_val[]){nsx_val_str(b.p), value});
}

static void put_options(struct nsx_rep_rows *rows, const char *prefix,
			const struct nsx_msg *m, const struct option *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char digits[24];
		struct nsx_val value = nsx_val_bytes(nsx_msg_bytes(m, v[i].field));

		if (v[i].kind == WORDS && !nsx_msg_has(m, v[i].field))
			continue;
		if (v[i].kind == YES) {
			value = nsx_val_str(nsx_msg_uint(m, v[i].field) ? "true" : "false");
		} else if (v[i].kind == NUMBER) {
			snprintf(digits, sizeof(digits), "%llu",
				 (unsigned long long)nsx_msg_uint(m, v[i].field));
			value = nsx_val_str(digits);
		}
		options_put(rows, prefix, v[i].name, value);
	}
}

/* Adds an option with the value words[n]; adds nothing if there is no such word. */
static void put_word(struct nsx_rep_rows *rows, const char *prefix, const char *name,
		     uint64_t n, const char *const *words, size_t nwords)
{
	if (n < nwords && words[n])
		options_put(rows, prefix, name, nsx_val_str(words[n]));
}
#define WORD(rows, prefix, name, n, words)                                    \
	put_word(rows, prefix, name, n, words, ARRAY_LEN(words))

static const char *const graph_modes[] = {"Graph", "Node"};
#define GRAPH_MODE "CUDA_GRAPH_TRACE_OPTIONS:MODE"

static void add_events(struct nsx_rep_rows *rows, struct nsx_piece message)
{
	static const struct {
		uint64_t n;
		const char *name;
	} known[] = {{1, "CpuCycles"}, {12, "NvtxEvents"}, {123, "Cuda"},
		     {124, "Graphics"}, {127, "OSRuntime"}, {128, "CuDNN"},
		     {129, "CuBLAS"}, {162, "OpenACC"}, {163, "Vulkan"},
		     {169, "OpenMP"}, {170, "NvEnc"}, {171, "NvDec"}, {172, "NvJpeg"}};
	struct nsx_wire w = nsx_wire_of(message);

	while (nsx_wire_next(&w)) {
		char digits[24];
		const char *name = digits;

		if (w.field != 1 || w.bytes.p)
			continue;
		snprintf(digits, sizeof(digits), "%llu", (unsigned long long)w.n);
		for (size_t i = 0; i < ARRAY_LEN(known); i++)
			if (known[i].n == w.n)
				name = known[i].name;
		options_put(rows, "", "CAPTURE_EVENT_TYPE", nsx_val_str(name));
	}
	rows->is_garbled |= w.is_bad;
}

/* Reads the options in a nested message; false: they are not part of this capture. */
static bool read_group(struct nsx_rep_rows *rows, const struct nsx_msg *m, unsigned field,
		       struct nsx_msg *ret)
{
	return nsx_msg_has(m, field) &&
	       nsx_msg_sound(ret, nsx_msg_bytes(m, field), &rows->is_garbled);
}

enum { PROCESS_COMMAND = 10, PROCESS_ARGUMENT = 11, PROCESS_GRAPHS = 49,
       PROCESS_VARIABLE = 30 };

/* Adds a row for each argument or environment variable of a process. */
static void add_words(struct nsx_rep_rows *rows, const char *prefix,
		      struct nsx_piece process, unsigned field)
{
	struct nsx_wire w = nsx_wire_of(process);
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	struct nsx_msg m;
	unsigned n = 0;

	while (nsx_wire_next(&w)) {
		char name[40] = "ENVIRONMENT_VARIABLE";

		if (w.field != field || !w.bytes.p)
			continue;
		nsx_buf_clear(&b);
		if (field == PROCESS_ARGUMENT) {
			snprintf(name, sizeof(name), "ARGUMENT_%u", n++);
			nsx_buf_add(&b, (const char *)w.bytes.p, w.bytes.n);
		} else if (nsx_msg_sound(&m, w.bytes, &rows->is_garbled)) {
			struct nsx_piece key = nsx_msg_bytes(&m, 1);
			struct nsx_piece value = nsx_msg_bytes(&m, 2);

			nsx_buf_add(&b, (const char *)key.p, key.n);
			nsx_buf_adds(&b, "=\"");
			nsx_buf_add(&b, (const char *)value.p, value.n);
			nsx_buf_adds(&b, "\"");
		}
		options_put(rows, prefix, name, nsx_val_str(b.p ? b.p : ""));
	}
}

static void add_process(struct nsx_rep_rows *rows, unsigned n, struct nsx_piece bytes)
{
	static const struct option command[] = {{"COMMAND", 10, WORDS}},
	options[] = {{"WORKING_DIR", 12, WORDS}, {"COLLECT_NVTX_TRACE", 20, YES},
		     {"COLLECT_CUDA_TRACE", 21, YES},
		     {"CUDA_FLUSH_PERIODICALLY", 40, YES},
		     {"CUDA_SKIP_SOME_API_CALLS", 42, YES},
		     {"COLLECT_GPU_MEMORY_USAGE", 43, YES},
		     {"CUDA_FLUSH_ON_CUDA_PROFILER_STOP", 90, YES},
		     {"CUDA_FLUSH_PERIOD", 41, NUMBER}};
	struct nsx_msg m, graphs;
	char prefix[32];

	snprintf(prefix, sizeof(prefix), "PROCESS_%u:", n);
	if (!nsx_msg_sound(&m, bytes, &rows->is_garbled))
		return;
	put_options(rows, prefix, &m, command, ARRAY_LEN(command));
	add_words(rows, prefix, bytes, PROCESS_ARGUMENT);
	put_options(rows, prefix, &m, options, ARRAY_LEN(options));
	if (read_group(rows, &m, PROCESS_GRAPHS, &graphs))
		WORD(rows, prefix, GRAPH_MODE, nsx_msg_uint(&graphs, 1), graph_modes);
	add_words(rows, prefix, bytes, PROCESS_VARIABLE);
}

enum { EVENT_TYPES = 2, START_TRIGGER = 4, DEVICE_TYPE = 8, OS_RUNTIME = 12,
       PROCESS = 26, LINUX_PERF = 69, CUDA = 92, CUDA_GRAPHS = 9 };

static void add_repeated(struct nsx_rep_rows *rows, struct nsx_piece options)
{
	struct nsx_wire w = nsx_wire_of(options);
	unsigned nprocesses = 0;

	while (nsx_wire_next(&w))
		if (w.field == EVENT_TYPES && w.bytes.p)
			add_events(rows, w.bytes);
		else if (w.field == PROCESS && w.bytes.p)
			add_process(rows, nprocesses++, w.bytes);
}

/* Adds options that are in nested messages. */
static void add_groups(struct nsx_rep_rows *rows, const struct nsx_msg *m)
{
	static const struct option runtime[] = {
		{"DURATION_THRESHOLD_NS", 1, NUMBER}, {"COLLECT_BACKTRACES", 2, YES},
		{"BACKTRACES_THRESHOLD_NS", 3, NUMBER}},
	perf[] = {{"COLLECT_CPU_CTXSW_TRACE", 1, YES},
		  {"SAMPLING_PERIOD", 2, NUMBER},
		  {"COLLECT_IP_BACKTRACE_SAMPLES", 3, YES},
		  {"SAMPLES_PER_BACKTRACE", 4, NUMBER}},
	cuda[] = {{"CUDA_FLUSH_PERIODICALLY", 1, YES}, {"CUDA_FLUSH_PERIOD", 2, NUMBER},
		  {"CUDA_SKIP_SOME_API_CALLS", 3, YES},
		  {"COLLECT_GPU_MEMORY_USAGE", 4, YES}};
	struct nsx_msg in, graphs;

	if (read_group(rows, m, OS_RUNTIME, &in))
		put_options(rows, "OS_RUNTIME_OPTIONS:", &in, runtime, ARRAY_LEN(runtime));
	if (read_group(rows, m, LINUX_PERF, &in))
		put_options(rows, "LINUX_PERF_OPTIONS:", &in, perf, ARRAY_LEN(perf));
	if (!read_group(rows, m, CUDA, &in))
		return;
	/* Since 2025.6 these options are here; before, each process had its own. */
	put_options(rows, "", &in, cuda, ARRAY_LEN(cuda));
	if (read_group(rows, &in, CUDA_GRAPHS, &graphs) && nsx_msg_has(&graphs, 1))
		WORD(rows, "", GRAPH_MODE, nsx_msg_uint(&graphs, 1), graph_modes);
}

void nsx_rep_options(const struct nsx_container *c, struct nsx_rep_rows *rows)
{
	static const struct option plain[] = {
		{"DEVICE_ID", 1, WORDS}, {"RATE_HZ", 3, NUMBER},
		{"DEVICE_DISPLAY_NAME", 9, WORDS},
		{"PROFILING_SESSION_UUID", 77, WORDS}, {"SHOW_BACKTRACE", 30, YES},
		{"RUN_DURATION_MS", 32, NUMBER}, {"USE_DWARF", 39, YES},
		{"USE_LBRS", 54, YES}, {"INCLUDE_CHILDREN", 55, YES},
		{"USE_LINUX_PERF", 56, YES}};
	static const char *const starts[] = {NULL, "Manual", "Immediate", "Delayed"};
	static const char *const systems[] = {[3] = "Unix", [6] = "Windows"};
	struct nsx_msg m;

	if (!nsx_msg_sound(&m, c->options, &rows->is_garbled))
		return;
	put_options(rows, "", &m, plain, ARRAY_LEN(plain));
	WORD(rows, "", "START_TRIGGER", nsx_msg_uint(&m, START_TRIGGER), starts);
	WORD(rows, "", "DEVICE_TYPE", nsx_msg_uint(&m, DEVICE_TYPE), systems);
	add_repeated(rows, c->options);
	add_groups(rows, &m);
}
