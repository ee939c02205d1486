/* classic.c - the sections of nsys-llm-explain under their published names, for programs
 * that read these.
 */
#include "emit/classic.h"

static const struct {
	const char *heading, *section, *table;
	const char *columns[12]; /* NULL-terminated                          */
} sections[] = {
	{"Global critical path suspects", "critical_path", "suspects",
	 {"kind", "name", "total_ms", "count", "details"}},
	{"Top NCCL ops", "nccl", "ops",
	 {"op_name", "source", "total_time_ms", "max_duration_ms", "count", "compute_overlap_ms",
	  "compute_overlap_pct", "straggler"}},
	{"NVLink during NCCL", "nvlink_during_nccl", "rows",
	 {"metric_names", "samples", "samples_during_nccl", "avg_metric_during_nccl",
	  "avg_metric_outside_nccl", "max_metric_during_nccl", "nccl_activity_correlation"}},
	{"Top CPU↔GPU barriers", "barriers", "barriers",
	 {"barrier_kind", "api_name", "total_time_ms", "count", "avg_duration_us",
	  "max_duration_us", "cost_ms"}},
	{"Per-process breakdown", "by_pid", "processes",
	 {"pid", "kernel_time_ms", "kernel_count", "nccl_time_ms", "barrier_time_ms",
	  "top_nccl_op", "top_barrier"}},
};

static void classic_add_cell(struct nsx_buf *b, struct nsx_arena *a, const struct nsx_cell *c)
{
	const char *text = nsx_cell_text(a, c);

	nsx_buf_adds(b, " ");
	if (c->type == NSX_T_STR)
		nsx_md_escape(b, text, strlen(text));
	else
		nsx_buf_adds(b, text);
	nsx_buf_adds(b, " |");
}

/* Adds all kept rows under the columns' own names. */
static void add_rows(struct nsx_buf *b, const struct nsx_table *t, const char *const *columns)
{
	struct nsx_row_reader rows = nsx_read_rows(t);
	unsigned at[ARRAY_LEN(sections[0].columns)], n = 0;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	const struct nsx_cell *row;

	nsx_buf_adds(b, "|");
	for (; columns[n]; n++) {
		at[n] = nsx_table_need(t, columns[n]);
		nsx_buf_printf(b, " %s |", columns[n]);
	}
	nsx_buf_adds(b, "\n|");
	for (unsigned i = 0; i < n; i++)
		nsx_buf_adds(b, t->layout->cols[at[i]].type == NSX_T_STR ? "---|" : "---:|");
	while ((row = nsx_next_row(&rows))) {
		nsx_buf_adds(b, "\n|");
		for (unsigned i = 0; i < n; i++)
			classic_add_cell(b, a, &row[at[i]]);
	}
	nsx_buf_adds(b, "\n");
}

void nsx_md_add_classic(struct nsx_buf *b, const struct nsx_report *r)
{
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		const struct nsx_section *s = nsx_report_section(r, sections[i].section);
		const struct nsx_table *t = s ? nsx_section_table(s, sections[i].table) : NULL;

		if (!s)
			continue;
		nsx_buf_printf(b, "\n## %s\n\n", sections[i].heading);
		if (t && t->nrows)
			add_rows(b, t, sections[i].columns);
		else
			nsx_buf_printf(b, "- %s\n", s->headline ?: s->reason ?: "nothing of it is "
				       "in the trace");
	}
}
