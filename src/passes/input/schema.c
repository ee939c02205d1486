/* schema.c - the tables and columns in the file, and the questions they can answer: the
 * top-level object `schema` of the report.
 */
#include "passes/input/describe.h"
#include "passes/pass.h"

/* Limit of listed tables; a real export has 250. */
enum { MAX_TABLES = 2000 };

/* Escapes the dots of a name from the file, for use in a JSON key. */
static const char *escape_key(struct nsx_section *s, const char *name)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf escaped = {0}, b = {0};

	for (; *name; name++)
		nsx_buf_printf(&escaped, strchr(".\\", *name) ? "\\%c" : "%c", *name);
	nsx_buf_add_utf8(&b, escaped.p ? escaped.p : "", escaped.n);
	return nsx_say(s, "%s", b.p ? b.p : "");
}

static struct nsx_cell table_name(const struct nsx_schema *s, enum nsx_view v)
{
	return nsx_string(s->table[v] ? s->table[v]->name : NULL);
}

static struct nsx_cell schema_pid_source(const struct nsx_schema *s,
					 enum nsx_field global, enum nsx_field plain)
{
	return nsx_string(nsx_has(s, global) ? s->column[global] : s->column[plain]);
}

static void put_tables_in_use(const struct nsx_schema *s, struct nsx_section *out)
{
	static const struct {
		const char *key;
		enum nsx_view view;
	} uses[] = {
		{"string_table", NSX_VIEW_string},
		{"kernel_table", NSX_VIEW_kernel},
		{"runtime_table", NSX_VIEW_runtime},
		{"nvtx_table", NSX_VIEW_nvtx},
		{"sync_table", NSX_VIEW_sync},
		{"gpu_metrics_table", NSX_VIEW_gpu_metric},
		{"target_info_gpu_metrics_table", NSX_VIEW_gpu_metric_info},
		{"cuda_graph_table", NSX_VIEW_graph},
	};

	for (size_t i = 0; i < ARRAY_LEN(uses); i++)
		nsx_put(out, uses[i].key, table_name(s, uses[i].view));
	nsx_put(out, "kernel_pid_source",
		schema_pid_source(s, NSX_F_kernel_global_pid, NSX_F_kernel_pid));
	nsx_put(out, "runtime_pid_source",
		schema_pid_source(s, NSX_F_runtime_global_tid, NSX_F_runtime_pid));
	nsx_put(out, "nvtx_pid_source",
		schema_pid_source(s, NSX_F_nvtx_global_tid, NSX_F_nvtx_pid));
}

/* Adds what the file can answer about raw columns. column NULL: about the table. */
static void put_capabilities(const struct nsx_schema *s, struct nsx_section *out)
{
	static const struct {
		const char *object;
		enum nsx_view view;
		const char *column;
	} asks[] = {
		{"kernel_table", NSX_VIEW_kernel, NULL},
		{"kernel_table", NSX_VIEW_kernel, "deviceId"},
		{"kernel_table", NSX_VIEW_kernel, "globalPid"},
		{"kernel_table", NSX_VIEW_kernel, "pid"},
		{"kernel_table", NSX_VIEW_kernel, "processId"},
		{"kernel_table", NSX_VIEW_kernel, "correlationId"},
		{"runtime_table", NSX_VIEW_runtime, NULL},
		{"runtime_table", NSX_VIEW_runtime, "nameId"},
		{"runtime_table", NSX_VIEW_runtime, "name"},
		{"runtime_table", NSX_VIEW_runtime, "globalTid"},
		{"runtime_table", NSX_VIEW_runtime, "pid"},
		{"runtime_table", NSX_VIEW_runtime, "processId"},
		{"runtime_table", NSX_VIEW_runtime, "correlationId"},
		{"nvtx_table", NSX_VIEW_nvtx, NULL},
		{"nvtx_table", NSX_VIEW_nvtx, "end"},
		{"nvtx_table", NSX_VIEW_nvtx, "text"},
		{"nvtx_table", NSX_VIEW_nvtx, "textId"},
		{"nvtx_table", NSX_VIEW_nvtx, "globalTid"},
		{"gpu_metrics_table", NSX_VIEW_gpu_metric, NULL},
	};

	nsx_put(out, "capabilities.has_string_table", nsx_bool(s->table[NSX_VIEW_string]));
	for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
		const struct nsx_table_info *t = s->table[asks[i].view];
		bool has = t && (!asks[i].column || nsx_column_find(t, asks[i].column) >= 0);

		nsx_put(out, nsx_say(out, "capabilities.%s.%s%s", asks[i].object,
				     asks[i].column ? "has_" : "present",
				     asks[i].column ?: ""), nsx_bool(has));
	}
	nsx_put(out, "capabilities.gpu_metrics_table.table", table_name(s, NSX_VIEW_gpu_metric));
	nsx_put(out, "capabilities.gpu_metrics_table.target_info_table",
		table_name(s, NSX_VIEW_gpu_metric_info));
}

static void put_table(const struct nsx_table_info *t, struct nsx_section *out)
{
	const char *key = nsx_say(out, "tables.%s", escape_key(out, t->name));
	const char **names = nsx_arena_get(out->arena, (t->ncolumns + 1) * sizeof(*names));

	for (unsigned i = 0; i < t->ncolumns; i++)
		names[i] = t->columns[i].name;
	nsx_put(out, nsx_say(out, "%s.columns", key), nsx_list(names));
	for (unsigned i = 0; i < t->ncolumns; i++)
		nsx_put(out, nsx_say(out, "%s.types.%s", key, escape_key(out, names[i])),
			nsx_string(t->columns[i].type));
}

NSX_POINTER_ORDER(cmp_tables, struct nsx_table_info, TEXT(name));

const struct nsx_table_info **nsx_sorted_tables(const struct nsx_schema *s, struct nsx_arena *a,
						size_t *ret_n)
{
	const struct nsx_table_info *all = nsx_db_tables(s->db, ret_n);
	const struct nsx_table_info **v = nsx_arena_get(a, (*ret_n + 1) * sizeof(*v));

	for (size_t i = 0; i < *ret_n; i++)
		v[i] = &all[i];
	nsx_sort(v, *ret_n, sizeof(*v), cmp_tables);
	return v;
}

void nsx_describe_schema(const struct nsx_schema *s, struct nsx_section *out)
{
	const struct nsx_table_info **tables;
	size_t n;

	nsx_put(out, "sqlite_version", nsx_string(nsx_db_sqlite_version()));
	nsx_put(out, "path", nsx_string(nsx_db_path(s->db)));
	put_tables_in_use(s, out);
	put_capabilities(s, out);
	tables = nsx_sorted_tables(s, out->arena, &n);
	for (size_t i = 0; i < n && i < MAX_TABLES; i++)
		put_table(tables[i], out);
	if (n > MAX_TABLES)
		nsx_put(out, "tables_left_out", nsx_int((int64_t)n - MAX_TABLES));
}

/* The unit of time -----------------------------------------------------------*/

/* Finds the unit of time. Exports have nanoseconds but do not say so: times must match the recorded
 * session length or, without that, GPU work must span at least a millisecond.
 */
static void check_time_unit(const struct nsx_trace *t, struct nsx_section *out)
{
	int64_t window_ns = t->full.end_ns - t->full.start_ns, session_ns = t->session_end_ns;
	const char *guess = "unknown", *basis = "no_events";

	if (window_ns && session_ns > 0 && t->full.start_ns >= 0 &&
	    t->full.end_ns <= session_ns + session_ns / 100) {
		guess = "ns";
		basis = "events_within_session_duration";
	} else if (window_ns >= 1000000) {
		guess = "ns_likely";
		basis = "window_ns_ge_1ms";
	} else if (window_ns) {
		basis = "window_ns_below_1ms";
	}
	nsx_put(out, "timestamp_unit_assumed", nsx_string("ns"));
	nsx_put(out, "timestamp_unit_guess", nsx_string(guess));
	nsx_put(out, "timestamp_unit_guess_basis", nsx_string(basis));
	if (!strcmp(guess, "unknown"))
		nsx_note(out, "instants are read as nanoseconds, but nothing in the trace confirms "
			      "this unit");
}

static int schema_run(const struct nsx_run *run, struct nsx_section *out,
		      struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_trace *t = run->trace;

	nsx_describe_schema(t->schema, out);
	check_time_unit(t, out);
	return 0;
}

NSX_DEFINE_PASS(schema, .is_top = true,
	.summary = "tables and columns of the file",
	.doc = "The file's catalogue: every table with its columns and declared types, which of "
	       "them the analyses read, and which column identifies a process. The unit of time is "
	       "checked against the recorded length of the session.");
