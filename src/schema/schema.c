/* schema.c - matches the dictionary with the catalogue, refuses files that are no nsys
 * export, and writes the TEMP views of queries.
 */
#include <ctype.h>
#include <stdio.h>
#include "schema/cells.h"
#include "nsysrep/nsysrep.h"
#include "schema/viewscan.h"
#include "sqlite/source.h"

const struct nsx_field_def nsx_field_defs[NSX_NFIELDS] = {
#define NSX_VIEW(v, t, h)
#define NSX_FIELD(v, f, c, h) {NSX_VIEW_##v, #f, c},
#include "schema/fields.def"
#undef NSX_VIEW
#undef NSX_FIELD
};

/* Fields of a view are consecutive in fields.def; NSX_BEFORE_v is the number of fields
 * before view v.
 */
enum {
	BEFORE_ALL = -1,
#define NSX_VIEW(v, t, h) BEFORE_##v, BEFORE_BACK_##v = BEFORE_##v - 1,
#define NSX_FIELD(v, f, c, h) AT_##v##_##f,
#include "schema/fields.def"
#undef NSX_VIEW
#undef NSX_FIELD
	AFTER_ALL
};

const struct nsx_view_def nsx_view_defs[NSX_NVIEWS] = {
#define NSX_VIEW(v, t, h) {#v, t, h, (enum nsx_field)BEFORE_##v},
#define NSX_FIELD(v, f, c, h)
#include "schema/fields.def"
#undef NSX_VIEW
#undef NSX_FIELD
};

const char *const nsx_library_names[NSX_NLIBRARIES] = {
	[NSX_LIBRARY_NONE] = NULL, [NSX_LIBRARY_CUBLAS] = "cuBLAS",
	[NSX_LIBRARY_CUDNN] = "cuDNN", [NSX_LIBRARY_MPI] = "MPI",
	[NSX_LIBRARY_OPENACC] = "OpenACC", [NSX_LIBRARY_OPENMP] = "OpenMP",
	[NSX_LIBRARY_UCX] = "UCX",
};

const uint8_t nsx_library_of[NSX_NVIEWS] = {
	[NSX_VIEW_mpi_coll] = NSX_LIBRARY_MPI,
	[NSX_VIEW_mpi_p2p] = NSX_LIBRARY_MPI,
	[NSX_VIEW_mpi_wait] = NSX_LIBRARY_MPI,
#define NSX_LIBRARY(v, library, table, name, help)                            \
	[NSX_VIEW_##v] = NSX_LIBRARY_##library,
#include "schema/libraries.def"
#undef NSX_LIBRARY
};

unsigned nsx_view_nfields(enum nsx_view v)
{
	unsigned next = v + 1 < NSX_NVIEWS ? nsx_view_defs[v + 1].first : NSX_NFIELDS;

	return next - nsx_view_defs[v].first;
}

/* Calls fn with each '|'-separated candidate until it returns non-NULL. */
static const void *try_candidates(const char *candidates,
				  const void *(*fn)(const void *, const char *), const void *ctx)
{
	char name[128];
	const void *found = NULL;

	while (!found && *candidates) {
		size_t n = strcspn(candidates, "|");

		snprintf(name, sizeof(name), "%.*s", (int)n, candidates);
		found = fn(ctx, name);
		candidates += n + (candidates[n] == '|');
	}
	return found;
}

static const void *find_table(const void *db, const char *name)
{
	return nsx_db_table(db, name);
}

/* Returns N if a table is named NAME_VN, otherwise 0. */
static unsigned long schema_version_of(const char *table, const char *name)
{
	size_t n = strlen(name);
	const char *digits = table + n + strlen("_V");
	char *end;
	unsigned long version;

	if (strncasecmp(table, name, n) || strncasecmp(table + n, "_V", strlen("_V")) ||
	    !nsx_is_digit(*digits))
		return 0;
	version = strtoul(digits, &end, 10);
	return *end ? 0 : version;
}

/* Finds the newest version of a table: NVTX_EVENTS_V3 rather than _V2 for NVTX_EVENTS. */
static const void *schema_find_version(const void *db, const char *name)
{
	const struct nsx_table_info *found = NULL;
	unsigned long newest = 1;
	size_t n;
	const struct nsx_table_info *t = nsx_db_tables(db, &n);

	for (size_t i = 0; i < n; i++) {
		unsigned long version = schema_version_of(t[i].name, name);

		if (version > newest) {
			newest = version;
			found = &t[i];
		}
	}
	return found;
}

static const void *find_column(const void *table, const char *name)
{
	const struct nsx_table_info *t = table;
	int i = nsx_column_find(t, name);

	return i < 0 ? NULL : t->columns[i].name;
}

const char *const nsx_copy_labels[NSX_NCOPY_KINDS] = {
	"Unknown", "Host-to-Device", "Device-to-Host", "Host-to-Array", "Array-to-Host",
	"Array-to-Array", "Array-to-Device", "Device-to-Array", "Device-to-Device", "Host-to-Host",
	"Peer-to-Peer", "Unified Host-to-Device", "Unified Device-to-Host",
	"Unified Device-to-Device",
};
const char *const nsx_mem_labels[NSX_NMEM_KINDS] = {
	"Pageable", "Pinned", "Device", "Array", "Managed", "Device Static",
	"Managed Static", "Unknown",
};

static int64_t query_count(struct nsx_db *db, const char *head, const char *table, const char *tail)
{
	NSX_AT_EXIT(nsx_stmt_done) struct nsx_stmt *st = NULL;
	struct nsx_err err;
	struct nsx_val v;
	int rc = nsx_db_prepare_on(db, head, table, tail, &st, &err) ?: nsx_step(st, &err);

	if (rc <= 0)
		return rc;
	nsx_read_val(st, 0, &v);
	return nsx_i64_or(&v, -1);
}

/* The number of rows in a source's table; negative: there is no source, and SQLite must count. */
static int64_t count_source_rows(struct nsx_db *db, const char *table)
{
	const struct nsx_source *s = nsx_db_source(db);
	const struct nsx_table_info *t = s ? nsx_db_table(db, table) : NULL;

	return t ? nsx_source_rows(s, (size_t)(t - s->tables)) : -1;
}

int64_t nsx_count_rows(struct nsx_db *db, const char *table)
{
	int64_t n = count_source_rows(db, table);

	return n < 0 ? query_count(db, "SELECT count(*) FROM main.", table, "") : n;
}

/* Ids are dense if the file has at least this many bytes for each id up to the greatest. Otherwise
 * they are sparse, and an array by id would be mostly empty.
 */
enum { DENSE_BYTES = 64 };

int64_t nsx_bound_ids(struct nsx_db *db, const char *table)
{
	int64_t n = nsx_db_source(db) ? 0 :
		    query_count(db, "SELECT max(rowid) FROM main.", table, "");

	return n > 0 && n <= nsx_db_size(db) / DENSE_BYTES ? n : nsx_count_rows(db, table);
}

int64_t nsx_probe_rows(struct nsx_db *db, const char *table)
{
	return nsx_db_source(db) ? -1 : query_count(db, "SELECT -1 FROM main.", table, " LIMIT 1");
}

/* The reason why a table is missing from a source that has records for it. */
static const void *find_unread_reason(const void *schema, const char *table)
{
	const struct nsx_schema *s = schema;
	const struct nsx_source *source = nsx_db_source(s->db);
	uint64_t n = source ? source->unread(source->ctx, table) : 0;

	return !n ? NULL : nsx_arena_printf(
		s->arena, "was not read: the report has %llu of its records, in a form that this "
		"program does not know", (unsigned long long)n);
}

/* The table of a view; if that has no rows, its newest version. If both have rows, the newest
 * version is not read.
 */
static const struct nsx_table_info *find_view(struct nsx_schema *s, unsigned v)
{
	const char *tables = nsx_view_defs[v].tables;
	const struct nsx_table_info *t = try_candidates(tables, find_table, s->db);
	const struct nsx_table_info *later = try_candidates(tables, schema_find_version, s->db);

	if (later && (!nsx_is_readable(later) || !nsx_probe_rows(s->db, later->name)))
		later = NULL;
	if (!t || (later && nsx_is_readable(t) && !nsx_probe_rows(s->db, t->name)))
		return later;
	if (later)
		s->refused[v] = nsx_arena_printf(s->arena, "was read in part: the table %s "
						 "has rows, too, which were not read", later->name);
	return t;
}

/* The column of time that a table with rows lacks; NULL: none. */
static const char *lacking_time(const struct nsx_schema *s, unsigned v)
{
	for (unsigned i = 0; i < nsx_view_nfields(v) && s->rows[v]; i++) {
		unsigned f = nsx_view_defs[v].first + i;

		if (!s->column[f] && (!strcmp(nsx_field_defs[f].name, "start_ns") ||
				      !strcmp(nsx_field_defs[f].name, "end_ns")))
			return nsx_field_defs[f].columns;
	}
	return NULL;
}

static void resolve_views(struct nsx_schema *s)
{
	for (unsigned v = 0; v < NSX_NVIEWS; v++) {
		const struct nsx_table_info *t = find_view(s, v);

		if (t && !nsx_is_readable(t)) {
			s->refused[v] = nsx_arena_printf(
				s->arena, "was not read: it is a %s where a table should be",
				nsx_table_kinds[t->kind]);
			t = NULL;
		} else if (!t) {
			s->refused[v] = try_candidates(nsx_view_defs[v].tables,
						       find_unread_reason, s);
		}
		s->table[v] = t;
		s->rows[v] = t ? nsx_probe_rows(s->db, t->name) : 0;
		for (unsigned i = 0; t && i < nsx_view_nfields(v); i++) {
			unsigned f = nsx_view_defs[v].first + i;

			s->column[f] = try_candidates(nsx_field_defs[f].columns, find_column, t);
		}
		if (t && lacking_time(s, v)) {
			s->refused[v] = nsx_arena_printf(
				s->arena, "was not read: the table %s has no column '%s'", t->name,
				lacking_time(s, v));
			s->table[v] = NULL;
			s->rows[v] = 0;
			memset(&s->column[nsx_view_defs[v].first], 0,
			       nsx_view_nfields(v) * sizeof(*s->column));
		}
	}
}

/* Tells of tables of calls without a column of names: their calls cannot be told apart. */
static void miss_names(struct nsx_schema *s)
{
	static const enum nsx_field names[] = {NSX_F_runtime_name, NSX_F_osrt_name};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		enum nsx_view v = nsx_field_defs[names[i]].view;

		if (s->rows[v] && !s->column[names[i]] && !s->refused[v])
			s->refused[v] = nsx_arena_printf(
				s->arena, "was read in part: the table %s has no column '%.*s', so "
				"its calls have no names", s->table[v]->name,
				(int)strcspn(nsx_field_defs[names[i]].columns, "|"),
				nsx_field_defs[names[i]].columns);
	}
}

static bool has_table(struct nsx_db *db, const char *name)
{
	return nsx_db_table(db, name) != NULL;
}

static bool has_prefix(struct nsx_db *db, const char *prefix)
{
	size_t n;
	const struct nsx_table_info *t = nsx_db_tables(db, &n);

	for (size_t i = 0; i < n; i++)
		if (!strncasecmp(t[i].name, prefix, strlen(prefix)))
			return true;
	return false;
}

static int refuse_foreign(struct nsx_schema *s, struct nsx_err *err)
{
	const char *path = nsx_db_path(s->db);
	const char *what = NULL;
	size_t n;

	nsx_db_tables(s->db, &n);
	if (has_table(s->db, "StringTable") && !has_table(s->db, "StringIds"))
		what = "an nvprof database, which Nsight Systems replaced; "
		       "capture again with nsys profile";
	else if (has_table(s->db, "HIP") && has_table(s->db, "OPS"))
		what = "a HIP profiler database, not one of Nsight Systems";
	else if (has_prefix(s->db, "rocpd_"))
		what = "a database of ROCm's rocprof, not one of Nsight Systems";
	else if (has_table(s->db, "read_only_kernels"))
		what = "a DLProf database, not one of Nsight Systems";
	else if (has_table(s->db, "rank") && has_table(s->db, "family"))
		what = "a digest of a trace, not the trace; nsys-explain fleet and "
		       "nsys-explain diff read it";
	else if (!n)
		what = "an empty database; give the .nsys-rep that nsys wrote";
	if (what)
		return nsx_fail(err, NSX_E_SCHEMA, "cannot use '%s': this is %s", path, what);
	return nsx_fail(err, NSX_E_SCHEMA, "cannot use '%s': a SQLite database, but not an Nsight "
			"Systems export (none of its tables is there); give the .nsys-rep that "
			"nsys wrote", path);
}

/* Whether the file is an nsys export: it has StringIds and one of the tables in `signs`. A reduced
 * export without strings has an event table with start and end, and not nvprof's key column.
 */
static bool is_export(const struct nsx_schema *s)
{
	static const enum nsx_view signs[] = {
		NSX_VIEW_session, NSX_VIEW_export_meta, NSX_VIEW_analysis,
		NSX_VIEW_runtime, NSX_VIEW_kernel, NSX_VIEW_nvtx, NSX_VIEW_osrt,
		NSX_VIEW_gpu, NSX_VIEW_thread_name, NSX_VIEW_sched,
	};
	static const enum nsx_view events[] = {NSX_VIEW_kernel, NSX_VIEW_memcpy,
					       NSX_VIEW_runtime, NSX_VIEW_nvtx};

	if (has_table(s->db, "StringTable") && !has_table(s->db, "StringIds"))
		return false;
	for (unsigned i = 0; i < ARRAY_LEN(signs); i++)
		if (s->table[NSX_VIEW_string] && (s->table[signs[i]] || s->refused[signs[i]]))
			return true;
	for (unsigned i = 0; i < ARRAY_LEN(events); i++) {
		const struct nsx_table_info *t = s->table[events[i]];

		if (t && nsx_column_find(t, "start") >= 0 &&
		    nsx_column_find(t, "end") >= 0 &&
		    nsx_column_find(t, "_id_") < 0)
			return true;
	}
	return false;
}

/* Fields of the GPU work views that give a row's owner and time. */
static const struct gpu_fields {
	enum nsx_field start_ns, end_ns, corr, device_id, global_pid, pid;
} gpu_fields[] = {
#define GPU_FIELDS(v) \
	{NSX_F_##v##_start_ns, NSX_F_##v##_end_ns, NSX_F_##v##_corr, \
	 NSX_F_##v##_device_id, \
	 NSX_F_##v##_global_pid, NSX_F_##v##_pid}
	GPU_FIELDS(kernel), GPU_FIELDS(memcpy), GPU_FIELDS(memset),
	GPU_FIELDS(graph),
#undef GPU_FIELDS
};

NSX_ORDER(cmp_changes, struct nsx_row_change, UP(view), UP(corr), UP(start_ns), UP(end_ns));

void nsx_sort_changes(struct nsx_row_change *v, size_t n)
{
	nsx_sort(v, n, sizeof(*v), cmp_changes);
}

const struct nsx_row_change *nsx_find_change(const struct nsx_row_change *v, size_t n,
					     const struct nsx_row_change *key)
{
	size_t at = NSX_SEARCH((size_t)0, n, mid, cmp_changes(&v[mid], key) < 0);

	return at < n && !cmp_changes(&v[at], key) ? &v[at] : NULL;
}

/* Adds the condition that a row belongs to the process and device of x. */
static void add_owner_condition(const struct nsx_schema *s, const struct gpu_fields *g,
				const struct nsx_shift *x, struct nsx_buf *b)
{
	if (s->column[g->device_id]) {
		nsx_sql_name(b, s->column[g->device_id]);
		nsx_buf_printf(b, " = %lld AND ", (long long)x->device_id);
	}
	if (s->column[g->global_pid]) {
		nsx_sql_name(b, s->column[g->global_pid]);
		nsx_buf_printf(b, " & ~0xFFFFFF = %lld", (long long)x->process_key);
	} else if (s->column[g->pid]) {
		nsx_sql_name(b, s->column[g->pid]);
		nsx_buf_printf(b, " << 24 = %lld", (long long)x->process_key);
	} else {
		nsx_buf_adds(b, "1"); /* there is only one process */
	}
}

static void schema_add_cells(const struct nsx_schema *s, const struct gpu_fields *g,
			     struct nsx_buf *b)
{
	nsx_buf_adds(b, "(");
	nsx_sql_name(b, s->column[g->start_ns]);
	nsx_buf_adds(b, ", ");
	nsx_sql_name(b, s->column[g->end_ns]);
	nsx_buf_adds(b, ", COALESCE(");
	if (s->column[g->corr])
		nsx_sql_name(b, s->column[g->corr]);
	else
		nsx_buf_adds(b, "NULL");
	nsx_buf_adds(b, ", 0))");
}

/* Adds the condition that a row is one of the view's changed rows, either those cut or those left
 * out. Returns false, and adds nothing, if there are no such rows.
 */
static bool add_changed_condition(const struct nsx_schema *s, enum nsx_view v, bool cut,
				  const struct gpu_fields *g, struct nsx_buf *b)
{
	bool any = false;

	for (size_t i = 0; i < s->shifts->nrows; i++) {
		const struct nsx_row_change *c = &s->shifts->row[i];

		if (c->view != v || cut == (c->new_end_ns == NSX_LEFT_OUT))
			continue;
		if (!any)
			schema_add_cells(s, g, b);
		nsx_buf_printf(b, "%s(%lld, %lld, %u)", any ? ", " : " IN (VALUES ",
			       (long long)c->start_ns, (long long)c->end_ns, c->corr);
		any = true;
	}
	if (any)
		nsx_buf_adds(b, ")");
	return any;
}

/* Adds the end of a row, which is cut where the next row of its stream begins. */
static void schema_add_end(const struct nsx_schema *s, const struct gpu_fields *g,
			   struct nsx_buf *b)
{
	enum nsx_view v = nsx_field_defs[g->end_ns].view;
	size_t at = b->n;

	nsx_buf_adds(b, "CASE WHEN ");
	if (!add_changed_condition(s, v, true, g, b)) {
		b->n = at;
		nsx_sql_name(b, s->column[g->end_ns]);
		return;
	}
	nsx_buf_adds(b, "\n    THEN CASE");
	for (size_t i = 0; i < s->shifts->nrows; i++) {
		const struct nsx_row_change *c = &s->shifts->row[i];

		if (c->view != v || c->new_end_ns == NSX_LEFT_OUT)
			continue;
		nsx_buf_adds(b, " WHEN ");
		schema_add_cells(s, g, b);
		nsx_buf_printf(b, " = (%lld, %lld, %u) THEN %lld",
			       (long long)c->start_ns, (long long)c->end_ns,
			       c->corr, (long long)c->new_end_ns);
	}
	nsx_buf_adds(b, " END ELSE ");
	nsx_sql_name(b, s->column[g->end_ns]);
	nsx_buf_adds(b, " END");
}

static const struct gpu_fields *gpu_fields_of(enum nsx_view v)
{
	for (size_t i = 0; i < ARRAY_LEN(gpu_fields); i++)
		if (nsx_field_defs[gpu_fields[i].start_ns].view == v)
			return &gpu_fields[i];
	return NULL;
}

/* The file's own numbers of the kinds in a column; NULL: the usual ones, or the column has none. */
static const struct nsx_own_kinds *own_kinds_of(const struct nsx_schema *s, enum nsx_field f)
{
	const struct nsx_own_kinds *k = NULL;

	switch (f) {
	case NSX_F_memcpy_copy_kind:
	case NSX_F_enum_memcpy_id:
		k = &s->copy_kinds;
		break;
	case NSX_F_memcpy_src_kind:
	case NSX_F_memcpy_dst_kind:
	case NSX_F_memset_mem_kind:
	case NSX_F_memory_event_mem_kind:
	case NSX_F_enum_mem_kind_id:
		k = &s->mem_kinds;
		break;
	default:
		break;
	}
	return k && k->any ? k : NULL;
}

/* Translates kinds that the file numbers in its own way. */
static void schema_add_kind(const struct nsx_schema *s, const struct nsx_own_kinds *k,
			    enum nsx_field f, struct nsx_buf *b)
{
	nsx_buf_adds(b, "CASE ");
	nsx_sql_name(b, s->column[f]);
	for (unsigned i = 0; i < ARRAY_LEN(k->of); i++)
		if (k->of[i] != i)
			nsx_buf_printf(b, " WHEN %u THEN %u", i, k->of[i]);
	nsx_buf_adds(b, " ELSE ");
	nsx_sql_name(b, s->column[f]);
	nsx_buf_adds(b, " END");
}

/* Adds the column of f; times of GPU work are moved to the host's clock. */
static void add_column(const struct nsx_schema *s, enum nsx_field f, struct nsx_buf *b)
{
	const struct gpu_fields *g = gpu_fields_of(nsx_field_defs[f].view);
	bool is_end = g && f == g->end_ns;
	struct nsx_buf own = {0};

	if (own_kinds_of(s, f)) {
		schema_add_kind(s, own_kinds_of(s, f), f, b);
		return;
	}
	if (f == NSX_F_nvtx_end_ns && s->shifts->has_far) {
		nsx_buf_adds(b, "CASE WHEN ");
		nsx_sql_name(b, s->column[f]);
		nsx_buf_printf(b, " <= %lld THEN ", (long long)s->shifts->possible.to_ns);
		nsx_sql_name(b, s->column[f]);
		nsx_buf_adds(b, " END");
		return;
	}
	if (!g || !(is_end || f == g->start_ns)) {
		nsx_sql_name(b, s->column[f]);
		return;
	}
	if (is_end)
		schema_add_end(s, g, &own);
	else
		nsx_sql_name(&own, s->column[f]);
	if (s->shifts->n) {
		nsx_buf_adds(b, "CASE WHEN typeof(");
		nsx_sql_name(b, s->column[f]);
		nsx_buf_printf(b, ") <> 'integer' THEN %s", own.p);
	}
	for (size_t i = 0; i < s->shifts->n; i++) {
		nsx_buf_adds(b, "\n    WHEN ");
		add_owner_condition(s, g, &s->shifts->v[i], b);
		nsx_buf_printf(b, " THEN %s + %lld", own.p, (long long)s->shifts->v[i].ns);
	}
	nsx_buf_printf(b, s->shifts->n ? "\n    ELSE %s END" : "%s", own.p);
	nsx_buf_done(&own);
}

/* Adds the condition that a host's row has times that are possible. */
static void add_possible_condition(const struct nsx_schema *s, const struct nsx_view_def *def,
				   struct nsx_buf *b)
{
	static const char *const times[] = {"start_ns", "end_ns", "timestamp_ns"};
	const struct nsx_reach *p = &s->shifts->possible;
	const char *and = "\nWHERE ";

	for (unsigned f = def->first; f < def->first + 2; f++)
		for (unsigned i = 0; i < ARRAY_LEN(times); i++) {
			if (!s->column[f] || f == NSX_F_nvtx_end_ns ||
			    strcmp(nsx_field_defs[f].name, times[i]) != 0)
				continue;
			nsx_buf_adds(b, and);
			nsx_sql_name(b, s->column[f]);
			nsx_buf_printf(b, " NOT BETWEEN %lld AND %lld IS NOT TRUE",
				       (long long)p->from_ns, (long long)p->to_ns);
			and = "\n  AND ";
		}
}

void nsx_schema_view_sql(const struct nsx_schema *s, enum nsx_view v,
			 const bool *fields, struct nsx_buf *b)
{
	const struct nsx_view_def *def = &nsx_view_defs[v];
	const struct nsx_table_info *t = s->table[v];
	const char *rid = !t ? "NULL" :
			  t->kind != NSX_TK_NO_ROWID ? "rowid" :
						       "row_number() OVER ()";

	nsx_buf_printf(b, "CREATE TEMP VIEW %s AS SELECT\n  %s AS rid", def->name, rid);
	for (unsigned i = 0; i < nsx_view_nfields(v); i++) {
		unsigned f = def->first + i;

		if (fields && !fields[f])
			continue;
		nsx_buf_adds(b, "\n, ");
		if (s->column[f])
			add_column(s, f, b);
		else
			nsx_buf_adds(b, "NULL");
		nsx_buf_printf(b, " AS %s", nsx_field_defs[f].name);
	}
	if (t) {
		nsx_buf_adds(b, "\nFROM main.");
		nsx_sql_name(b, t->name);
	} else {
		nsx_buf_adds(b, "\nWHERE 0");
	}
	if (t && s->shifts->nrows && gpu_fields_of(v)) {
		size_t at = b->n;

		nsx_buf_adds(b, "\nWHERE ");
		if (add_changed_condition(s, v, false, gpu_fields_of(v), b))
			nsx_buf_adds(b, " IS NOT TRUE");
		else
			b->p[b->n = at] = '\0';
	}
	if (t && s->shifts->has_far && !gpu_fields_of(v))
		add_possible_condition(s, def, b);
}

struct known_kinds {
	struct nsx_own_kinds *own;
	const char *const *label;
	unsigned n;
};

/* Shortens a kind's label or name, which are spelt in several ways: "Host-to-Device", "HtoD", "H2D"
 * and "CUDA_MEMCPY_KIND_HTOD" are "htod".
 */
static void shorten_kind(const char *s, size_t n, char *ret, size_t size)
{
	static const char *const words[][2] = {{"unified", "u"}, {"uvm", "u"}, {"host", "h"},
		{"device", "d"}, {"array", "a"}, {"peer", "p"}, {"2", "to"}};
	const char *end = s + n, *p = s;
	size_t to = 0;

	while (p + 5 <= end && strncasecmp(p, "KIND_", 5))
		p++;
	if (p + 5 <= end)
		s = p + 5;
	while (s < end && to + 2 < size) {
		unsigned w = 0;

		while (w < ARRAY_LEN(words) && (strlen(words[w][0]) > (size_t)(end - s) ||
						strncasecmp(s, words[w][0], strlen(words[w][0]))))
			w++;
		if (w < ARRAY_LEN(words)) {
			to += (size_t)snprintf(ret + to, size - to, "%s", words[w][1]);
			s += strlen(words[w][0]);
		} else if (isalnum((unsigned char)*s++)) {
			ret[to++] = (char)tolower((unsigned char)s[-1]);
		}
	}
	ret[to] = '\0';
}

/* The kind that a label or name means; x->n: none that is known. */
static unsigned kind_meant_by(const struct known_kinds *x, const struct nsx_val *v)
{
	char text[32], label[32];
	unsigned k = 0;

	if (v->type != NSX_V_TEXT)
		return x->n;
	shorten_kind(v->u.p, v->len, text, sizeof(text));
	for (; k < x->n; k++) {
		shorten_kind(x->label[k], strlen(x->label[k]), label, sizeof(label));
		if (!strcmp(text, label))
			break;
	}
	return k;
}

static int note_kind(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
		     struct nsx_err *err NSX_UNUSED)
{
	struct known_kinds *x = ctx;
	unsigned k = kind_meant_by(x, &v[1]);

	if (k == x->n)
		k = kind_meant_by(x, &v[2]);
	if (v[0].type == NSX_V_I64 && (uint64_t)v[0].u.i <= UINT8_MAX && k < x->n) {
		x->own->of[v[0].u.i] = (uint8_t)k;
		x->own->any |= v[0].u.i != k;
	}
	return 0;
}

static int read_kinds(struct nsx_schema *s, struct nsx_err *err)
{
	struct known_kinds copy = {&s->copy_kinds, nsx_copy_labels, NSX_NCOPY_KINDS};
	struct known_kinds mem = {&s->mem_kinds, nsx_mem_labels, NSX_NMEM_KINDS};

	for (unsigned i = 0; i < ARRAY_LEN(s->copy_kinds.of); i++)
		s->copy_kinds.of[i] = s->mem_kinds.of[i] = (uint8_t)i;
	return nsx_view_each(s, enum_memcpy, note_kind, &copy, err, id, label, name) ?:
	       nsx_view_each(s, enum_mem_kind, note_kind, &mem, err, id, label, name);
}

/* Keeps a setting that is needed early; the first one of its name. */
static int note_setting(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			struct nsx_err *err NSX_UNUSED)
{
	struct nsx_schema *s = ctx;
	const char **to = nsx_is_text(&v[0], "EXPORT_PRODUCT_VERSION") ? &s->product_version :
			  nsx_is_text(&v[0], "EXPORT_SCHEMA_VERSION") ? &s->schema_version :
			  nsx_is_text(&v[0], "TargetInstallDir") ? &s->installed : NULL;
	struct nsx_val value = v[1];

	value.len = NSX_MIN(value.len, 256);
	if (to && !**to)
		*to = nsx_val_text(&value, s->arena);
	s->on_windows |= nsx_is_text(&v[0], "DEVICE_TYPE") && nsx_is_text(&value, "Windows");
	return 0;
}

/* Losses ----------------------------------------------------------------------*/

static void add_loss(struct nsx_losses *l, const char *text, const struct nsx_table_info *rows_of)
{
	size_t at = 0;

	while (at < l->n && strverscmp(l->v[at].text, text) < 0)
		at++;
	if (at < l->n && !strcmp(l->v[at].text, text))
		return;
	nsx_push_or_die(l->v, l->n, l->cap, ((struct nsx_loss){0}));
	memmove(&l->v[at + 1], &l->v[at], (l->n - 1 - at) * sizeof(*l->v));
	l->v[at] = (struct nsx_loss){nsx_strdup(text), rows_of};
}

void nsx_schema_lose(const struct nsx_schema *s, const char *what)
{
	pthread_mutex_lock(&s->losses->lock);
	add_loss(s->losses, what, NULL);
	pthread_mutex_unlock(&s->losses->lock);
}

void nsx_schema_lose_rows(const struct nsx_schema *s, enum nsx_view v, const struct nsx_err *err)
{
	struct nsx_buf b = {0};

	nsx_buf_printf(&b, "table %s is damaged: part of its rows could not be read (%s)",
		       s->table[v]->name, err->msg);
	pthread_mutex_lock(&s->losses->lock);
	add_loss(s->losses, b.p, s->table[v]);
	s->losses->is_of[v] = true;
	pthread_mutex_unlock(&s->losses->lock);
	nsx_buf_done(&b);
}

bool nsx_has_lost_rows(const struct nsx_schema *s, enum nsx_view v)
{
	return s->losses->is_of[v];
}

/* Lost rows of one table count as one loss, represented by its first text, because the number of
 * threads determines which others are noted.
 */
const char *nsx_schema_loss(const struct nsx_schema *s, size_t i)
{
	const char *of_file = nsx_db_warning(s->db), *ret = NULL;
	const struct nsx_table_info *rows_of = NULL;
	struct nsx_losses *l = s->losses;

	if (of_file && !i--)
		return of_file;
	pthread_mutex_lock(&l->lock);
	for (size_t at = 0; at < l->n && !ret; at++) {
		if ((!l->v[at].rows_of || l->v[at].rows_of != rows_of) && !i--)
			ret = l->v[at].text;
		rows_of = l->v[at].rows_of;
	}
	pthread_mutex_unlock(&l->lock);
	return ret;
}

int nsx_schema_probe(struct nsx_db *db, struct nsx_schema *ret, struct nsx_err *err)
{
	int rc;

	*ret = (struct nsx_schema){.db = db, .arena = nsx_arena_new(), .product_version = "",
				   .schema_version = "", .installed = ""};
	ret->shifts = nsx_arena_get(ret->arena, sizeof(*ret->shifts));
	ret->reach = nsx_arena_get(ret->arena, sizeof(*ret->reach));
	ret->losses = nsx_arena_get(ret->arena, sizeof(*ret->losses));
	(void)pthread_mutex_init(&ret->losses->lock, NULL);
	resolve_views(ret);
	miss_names(ret);
	rc = !is_export(ret) ? refuse_foreign(ret, err) :
	     read_kinds(ret, err) ?:
	     nsx_view_each(ret, export_meta, note_setting, ret, err, name, value) ?:
	     nsx_view_each(ret, capture_meta, note_setting, ret, err, name, value) ?:
	     nsx_view_each(ret, system_env, note_setting, ret, err, name, value);
	if (rc)
		nsx_schema_done(ret);
	return rc;
}

void nsx_schema_done(struct nsx_schema *s)
{
	struct nsx_losses *l = s->losses;

	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].text);
	free(l->v);
	(void)pthread_mutex_destroy(&l->lock);
	nsx_arena_free(s->arena);
	s->arena = NULL;
}

int nsx_schema_open(const char *path, struct nsx_schema *ret, struct nsx_err *err)
{
	struct nsx_db *db;
	int rc = nsx_is_report(path) ? nsx_report_read(path, &db, err) :
				       nsx_db_open(path, &db, err);

	if (rc)
		return rc;
	rc = nsx_schema_probe(db, ret, err);
	if (rc)
		nsx_db_close(db);
	return rc;
}

void nsx_schema_close(struct nsx_schema *s)
{
	struct nsx_db *db = s->db;

	nsx_schema_done(s);
	nsx_db_close(db);
}

const char *nsx_field_exporter_name(enum nsx_field f, struct nsx_arena *a)
{
	const struct nsx_field_def *d = &nsx_field_defs[f];
	const struct nsx_view_def *v = &nsx_view_defs[d->view];

	return nsx_arena_printf(a, "%.*s.%.*s", (int)strcspn(v->tables, "|"),
				v->tables, (int)strcspn(d->columns, "|"), d->columns);
}
