/* input.c - what was given: the file, who exported it, GPUs and processes that
 * took part. The top-level object `input` of the report.
 *
 * An export holds the profiled program's command line, environment, user and
 * host. None of that is read here.
 */
#include "passes/process/pids.h"

static const struct nsx_col gpu_cols[] = {
	{"id", "physical index", NSX_T_I64},
	{"name", "model", NSX_T_STR},
	{"uuid", "its uuid", NSX_T_STR},
	{"cuda_device", "CUDA ordinal as the profiler saw it", NSX_T_I64},
	{"compute_capability", "major.minor", NSX_T_STR},
	{"sm_count", "multiprocessors", NSX_T_I64},
	{"memory_bytes", "size of its memory", NSX_T_I64},
	{"bandwidth_bytes_per_s", "peak rate of its memory", NSX_T_I64},
};
static const struct nsx_col process_cols[] = {
	{"pid", "process", NSX_T_I64},
	{"name", "program, without its folder", NSX_T_STR},
};
static const struct nsx_layout layouts[] = {
	{.key = "gpus", NSX_COLS(gpu_cols), .json_rows = -1},
	{.key = "processes", NSX_COLS(process_cols), .json_rows = -1},
};

static struct nsx_cell known(int64_t n) /* -1: not known */
{
	return n < 0 ? nsx_null() : nsx_int(n);
}

static struct nsx_cell text(const struct nsx_trace *t, nsx_str s)
{
	return nsx_string(s ? nsx_text(t, s) : NULL);
}

static int add_gpus(const struct nsx_trace *t, struct nsx_section *out,
		    struct nsx_err *err)
{
	struct nsx_table *table = nsx_add_table(out, &layouts[0]);

	for (uint32_t i = 0; i < t->ngpus; i++) {
		const struct nsx_gpu_info *g = &t->gpu[i];
		struct nsx_cell *row = nsx_row(table, err);

		if (!row)
			return err->rc;
		row[0] = known(g->id);
		row[1] = text(t, g->name);
		row[2] = text(t, g->uuid);
		row[3] = known(g->cuda_device);
		if (g->compute_major >= 0 && g->compute_minor >= 0)
			row[4] = nsx_string(nsx_say(
				out, "%lld.%lld", (long long)g->compute_major,
				(long long)g->compute_minor));
		row[5] = known(g->sm_count);
		row[6] = known(g->memory_bytes);
		row[7] = known(g->bandwidth_bytes_per_s);
	}
	nsx_table_sort(table, "id, uuid");
	return 0;
}

static int add_processes(const struct nsx_trace *t, struct nsx_section *out,
			 struct nsx_err *err)
{
	struct nsx_table *table = nsx_add_table(out, &layouts[1]);

	for (uint32_t i = 0; i < t->nprocesses; i++) {
		struct nsx_cell *row;

		/* Key 0 also stands for "not told". */
		if (!t->process[i].key && !t->pid_source_kernel)
			continue;
		row = nsx_row(table, err);
		if (!row)
			return err->rc;
		row[0] = nsx_int(t->process[i].pid);
		row[1] = nsx_string(nsx_process_name(t, i));
	}
	nsx_table_sort(table, "pid, name");
	return 0;
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_schema *s = t->schema;
	bool any;

	nsx_put(out, "size_bytes", nsx_int(nsx_db_size(s->db)));
	nsx_put(out, "product_version", nsx_string(*s->product_version ?
							   s->product_version :
							   NULL));
	nsx_put(out, "schema_version", nsx_string(*s->schema_version ?
							  s->schema_version :
							  NULL));
	if (add_gpus(t, out, err) || add_processes(t, out, err))
		return err->rc;
	any = t->ops.n || t->calls.n || t->nvtx.n || t->nosrt_sums;
	nsx_put(out, "first_ns", any ? nsx_int(t->first_ns) : nsx_null());
	nsx_put(out, "last_ns", any ? nsx_int(t->last_ns) : nsx_null());
	return 0;
}

NSX_DEFINE_PASS(input) {
	.id = "input",
	.summary = "the file, its exporter, GPUs and processes",
	.doc = "Size and versions of the file, the GPUs of the machine, the "
	       "processes that have events, the first and last instant of any "
	       "event. Command lines, environment, user and host names in the "
	       "file are never read.",
	.layouts = layouts,
	.nlayouts = ARRAY_LEN(layouts),
	.run = run,
};
