/* library_calls.c - library calls by process and function, and how unevenly processes spend
 * time in them.
 */
#include "facts/meet.h"
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(PID, "pid", I64, "process")                                                              \
	X(LIBRARY, "library", STR, "cuBLAS, cuDNN, MPI, OpenACC, OpenMP or UCX")                   \
	X(FUNCTION, "function", STR, "the function called")                                        \
	X(COUNT, "count", I64, "calls", .adds = true)                                              \
	X(TOTAL, "total_time_ms", F64, "sum of their durations", .adds = true)                     \
	X(P50, "p50_us", F64, "median")                                                            \
	X(P95, "p95_us", F64, "95th percentile")                                                   \
	X(MAX, "max_us", F64, "longest")
NSX_COLUMNS(cols, COLUMNS);
#define SPREAD_COLUMNS(X)                                                               \
	X(S_LIBRARY, "library", STR, "the library")                                     \
	X(S_FUNCTION, "function", STR, "the function")                                  \
	X(S_PROCESSES, "processes", I64, "processes that call the function")            \
	X(S_LEAST, "least_ms", F64, "least time that a process spends in the function") \
	X(S_LEAST_PID, "least_pid", I64, "process with the least time")                 \
	X(S_MOST, "most_ms", F64, "most time that a process spends in the function")    \
	X(S_MOST_PID, "most_pid", I64, "process with most time")                        \
	X(S_DIFFERENCE, "difference_ms", F64, "most less least")
NSX_COLUMNS(spread_cols, SPREAD_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "rows", .csv = "library_calls", NSX_COLS(cols)},
	{.key = "imbalance", NSX_COLS(spread_cols)},
};

struct sum { /* a function in a process */
	uint8_t library;
	nsx_str name;
	uint32_t process;
	int64_t total_ns;
	size_t n, at; /* number of calls; at: index of their first duration  */
};
struct sums {
	struct nsx_groups keys; /* library and name, process */
	struct sum *v;
	const struct nsx_trace *t;
	int64_t *ns;
};

static int64_t call_window_ns(const struct nsx_trace *t, size_t i, bool *counts)
{
	int64_t start_ns = nsx_unpack(&t->library.start, i);

	*counts = nsx_starts_inside(t, start_ns);
	return nsx_in_window(t, start_ns, start_ns + nsx_unpack(&t->library.length, i));
}

/* Sums calls by function. The sums come first, so that the durations of each sum can be
 * adjacent.
 */
static void library_calls_sum_up(struct sums *s, uint32_t *of_call)
{
	const struct nsx_library_calls *x = &s->t->library;

	for (size_t i = 0; i < x->n; i++) {
		bool counts;
		int64_t ns = call_window_ns(s->t, i, &counts);
		uint32_t process = s->t->thread[x->thread[i]].process;
		struct sum *sum;

		of_call[i] = NSX_NONE;
		if (!ns && !counts)
			continue;
		sum = nsx_group_few(&s->keys, &s->v, (uint64_t)x->library[i] << 32 | x->name[i],
				    process);
		of_call[i] = (uint32_t)(sum - s->v);
		sum->library = x->library[i];
		sum->name = x->name[i];
		sum->process = process;
		sum->n += counts;
		nsx_add_to(&sum->total_ns, ns);
	}
}

static void library_calls_list_durations(struct sums *s, const uint32_t *of_call)
{
	size_t at = 0;

	for (size_t g = 0; g < s->keys.n; g++) {
		s->v[g].at = at;
		at += s->v[g].n;
		s->v[g].n = 0;
	}
	for (size_t i = 0; i < s->t->library.n; i++) {
		struct sum *x = of_call[i] == NSX_NONE ? NULL : &s->v[of_call[i]];
		bool counts;
		int64_t ns = call_window_ns(s->t, i, &counts);

		if (x && counts)
			s->ns[x->at + x->n++] = ns;
	}
}

/* Orders sums by function, then by the time of the process, least first. */
NSX_ORDER(cmp_sums, struct sum, UP(library), UP(name), UP(total_ns), UP(process));

static void fill_function_row(const struct sums *s, const struct sum *x, struct nsx_table *table)
{
	static const double qs[] = {0.5, 0.95, 1};
	struct nsx_cell *row = nsx_add_row(table);
	double q[3];

	row[PID] = nsx_pid_cell(s->t, x->process);
	row[LIBRARY] = nsx_string(nsx_library_names[x->library]);
	row[FUNCTION] = nsx_string(nsx_text(s->t, x->name));
	row[COUNT] = nsx_int((int64_t)x->n);
	row[TOTAL] = nsx_ms(x->total_ns);
	if (!x->n)
		return;
	nsx_quantiles(s->ns + x->at, x->n, qs, 3, q);
	row[P50] = nsx_us(q[0]);
	row[P95] = nsx_us(q[1]);
	row[MAX] = nsx_us(q[2]);
}

static void fill_process_spread(const struct sums *s, const struct sum *least, size_t n,
				struct nsx_table *table)
{
	const struct sum *most = least + n - 1;
	struct nsx_cell *row = nsx_add_row(table);

	row[S_LIBRARY] = nsx_string(nsx_library_names[least->library]);
	row[S_FUNCTION] = nsx_string(nsx_text(s->t, least->name));
	row[S_PROCESSES] = nsx_int((int64_t)n);
	row[S_LEAST] = nsx_ms(least->total_ns);
	row[S_LEAST_PID] = nsx_pid_cell(s->t, least->process);
	row[S_MOST] = nsx_ms(most->total_ns);
	row[S_MOST_PID] = nsx_pid_cell(s->t, most->process);
	row[S_DIFFERENCE] = nsx_ms(most->total_ns - least->total_ns);
}

static void library_calls_fill_calls(struct sums *s, struct nsx_table *rows,
				     struct nsx_table *spread)
{
	nsx_sort(s->v, s->keys.n, sizeof(*s->v), cmp_sums);
	NSX_EACH_RUN(i, next, s->keys.n,
		     s->v[next].name == s->v[i].name &&
		     s->v[next].library == s->v[i].library) {
		const struct sum *x = &s->v[i];

		for (size_t k = i; k < next; k++)
			fill_function_row(s, &s->v[k], rows);
		if (next - i > 1)
			fill_process_spread(s, x, next - i, spread);
	}
	nsx_table_sort(rows, NSX_DESC(TOTAL), NSX_DESC(COUNT), PID, LIBRARY, FUNCTION);
	nsx_table_sort(spread, NSX_DESC(S_DIFFERENCE), NSX_DESC(S_MOST), S_LIBRARY, S_FUNCTION);
}

static void library_calls_say(struct nsx_section *out, const struct nsx_table *rows,
			      const struct nsx_table *spread)
{
	const struct nsx_cell *x = nsx_row_at(rows, 0);

	nsx_md_bullet(out, "The library function that takes the most time is %s in process "
		      "%s: %s in %s.", nsx_md_name(out, x[FUNCTION].u.s),
		      nsx_cell_text(out->arena, &x[PID]),
		      nsx_say_ms(out, x[TOTAL].u.f),
		      nsx_text_n(out->arena, (size_t)x[COUNT].u.i, "call", NULL));
	nsx_md_whole(out, rows, 0);
	if (!spread->nrows)
		return;
	x = nsx_row_at(spread, 0);
	nsx_md_bullet(out, "Processes differ most in %s: %s in process %s, %s in process %s. If "
		      "they wait for each other, the process with the least time comes last.%s",
		      nsx_md_name(out, x[S_FUNCTION].u.s),
		      nsx_say_ms(out, x[S_LEAST].u.f), nsx_cell_text(out->arena, &x[S_LEAST_PID]),
		      nsx_say_ms(out, x[S_MOST].u.f), nsx_cell_text(out->arena, &x[S_MOST_PID]),
		      strcmp(x[S_LIBRARY].u.s, nsx_library_names[NSX_LIBRARY_MPI]) ? "" :
		      " `nsys-explain fleet` with this trace matches their calls and tells who "
		      "waits for whom, by rank and by pair.");
	nsx_md_table(out, spread, 0, S_FUNCTION, S_PROCESSES, S_LEAST,
		     S_LEAST_PID, S_MOST, S_MOST_PID, S_DIFFERENCE);
}

static const char *lacks_library_calls(const struct nsx_schema *s, struct nsx_arena *a NSX_UNUSED)
{
	return NSX_FIRST(v, NSX_NVIEWS, nsx_library_of[v] && nsx_has_view(s, v), NULL,
			 "calls of MPI, cuBLAS, cuDNN, OpenACC, OpenMP or UCX");
}

static int library_calls_run(const struct nsx_run *run, struct nsx_section *out,
			     struct nsx_err *err)
{
	struct nsx_table *rows = nsx_add_table(out, &layouts[0]);
	struct nsx_table *spread = nsx_add_table(out, &layouts[1]);
	NSX_AT_EXIT(nsx_sums_done) struct sums s = {.t = run->trace};
	size_t n = s.t->library.n;
	uint32_t *of_call = nsx_arena_try_array(run->scratch, n, 4, "library calls", err);

	if (lacks_library_calls(s.t->schema, run->scratch))
		return nsx_cannot(out, "the trace has no %s", lacks_library_calls(s.t->schema,
										  run->scratch));
	if (!of_call || !nsx_new_array(s.ns, run->scratch, n, "library calls", err))
		return err->rc;
	library_calls_sum_up(&s, of_call);
	library_calls_list_durations(&s, of_call);
	library_calls_fill_calls(&s, rows, spread);
	if (run->facts->meets->unknown)
		nsx_note(out, "MPI collectives of different processes could not be matched, so the "
			 "process that comes late is not known: "
			 "%s", run->facts->meets->unknown);
	if (rows->nrows)
		library_calls_say(out, rows, spread);
	return 0;
}

NSX_DEFINE_PASS(library_calls, .title = "CPU",
	.summary = "calls of cuBLAS, cuDNN, MPI, OpenACC, OpenMP and UCX",
	.doc = "Calls of libraries that have tables in the export, by process, library and "
	       "function. A call with several rows (MPI_Sendrecv has one for each peer) counts "
	       "once. Calls nest: the time of an inner call is also in that of the outer one. The "
	       "second table has the functions that several processes call, with the least and the "
	       "most time that one process spends in "
	       "them.", .derived_from = "the libraries' own tables, by process",
	.limitations = "GPU work of a library is listed under kernels, its NVTX ranges under "
		       "NVTX", .lacks = lacks_library_calls, NSX_LAYOUTS(layouts));
