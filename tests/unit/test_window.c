/* test_window.c - with a window, rows far from it are not read. The loaded part must equal the same
 * part of the whole trace, and figures that describe the whole file must not change.
 *
 * usage: test_window FIXTURES
 */
#include "scan_compare.h"
#include <inttypes.h>
#include "facts/facts.h"
#include "trace/load.h"

enum { THIRDS = 3 };

static size_t margin_rows; /* least number of rows in the margin; 0: more than a fixture has */
static int64_t reach_ns;   /* --reach; 0: all rows that reach into the window are read */

/* Loads a fixture, or the trace at a path. */
static struct nsx_trace *load(const char *name, const char *window,
			      unsigned threads, struct nsx_schema *schema)
{
	struct nsx_progress progress = {.stage = NULL};
	const struct nsx_load_opts opts = {.threads = threads,
					   .window = window,
					   .progress = &progress,
					   .margin_rows = margin_rows,
					   .reach_ns = window ? reach_ns : 0,
					   .clock_rows = 4};
	struct nsx_trace *t;
	struct nsx_err err;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.sqlite", fixtures, name);
	assert_int_equal(nsx_schema_open(strchr(name, '/') ? name : path, schema, &err), 0);
	assert_int_equal(nsx_trace_load(schema, &opts, &t, &err), 0);
	return t;
}

static void unload(struct nsx_trace *t, struct nsx_schema *schema)
{
	nsx_trace_free(t);
	nsx_schema_close(schema);
}

/* Rows --------------------------------------------------------------------*/

struct row { /* without padding, because rows are compared as bytes */
	int64_t start_ns, end_ns, call_ns;
	uint32_t at, kind, flags, launches;
	char name[64];
};
struct rows {
	struct row *v;
	size_t n;
};

static int cmp_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct row));
}

static bool reaches(const struct nsx_window *w, int64_t start_ns, int64_t end_ns)
{
	return start_ns < w->end_ns && (end_ns > w->start_ns ||
					(start_ns == end_ns &&
					 start_ns >= w->start_ns));
}

static struct rows make_rows(size_t n)
{
	struct rows r = {calloc(n + 1, sizeof(*r.v)), 0};

	assert_non_null(r.v);
	return r;
}

static struct row *add_row(struct rows *r, const struct nsx_trace *t, nsx_str name)
{
	strncpy(r->v[r->n].name, nsx_text(t, name), sizeof(r->v->name) - 1);
	return &r->v[r->n++];
}

static int64_t start_of_call(const struct nsx_trace *t, uint32_t call)
{
	return call == NSX_NONE ? -1 : nsx_call_start(&t->calls, call);
}

/* Lists the operations of a trace cut to w, each with the start of its call. */
static struct rows cut_ops(const struct nsx_trace *t, const struct nsx_window *w)
{
	struct rows r = make_rows(t->ops.n);

	for (size_t i = 0; i < t->ops.n; i++) {
		int64_t start_ns = nsx_op_start(&t->ops, i);
		int64_t end_ns = nsx_op_end(&t->ops, i);
		struct row *x;

		if (!reaches(w, start_ns, end_ns))
			continue;
		x = add_row(&r, t, nsx_op_name(t, i));
		x->start_ns = NSX_MAX(start_ns, w->start_ns);
		x->end_ns = NSX_MIN(end_ns, w->end_ns);
		x->call_ns = start_of_call(t, nsx_op_call(&t->ops, i));
		x->at = nsx_op_stream(&t->ops, i);
		x->kind = t->ops.kind[i];
		x->flags = t->ops.flags[i];
		if (start_ns < w->start_ns)
			x->flags |= NSX_OP_CUT;
	}
	return r;
}

static struct rows cut_calls(const struct nsx_trace *t, const struct nsx_window *w)
{
	struct rows r = make_rows(t->calls.n);

	for (size_t i = 0; i < t->calls.n; i++) {
		struct row *x;

		if (!reaches(w, nsx_call_start(&t->calls, i), nsx_call_end(&t->calls, i)))
			continue;
		x = add_row(&r, t, nsx_call_name(&t->calls, i));
		x->start_ns = nsx_call_start(&t->calls, i);
		x->end_ns = nsx_call_end(&t->calls, i);
		x->at = nsx_call_thread(t, i);
		x->kind = t->calls.cls[i];
		x->flags = t->calls.flags[i];
		x->launches = t->thread[x->at].launches;
	}
	return r;
}

static struct rows cut_waits(const struct nsx_trace *t, const struct nsx_window *w)
{
	struct rows r = make_rows(t->syncs.n);

	for (size_t i = 0; i < t->syncs.n; i++) {
		struct row *x;

		if (!reaches(w, t->syncs.start_ns[i], t->syncs.end_ns[i]))
			continue;
		x = add_row(&r, t, 0);
		x->start_ns = t->syncs.start_ns[i];
		x->end_ns = t->syncs.end_ns[i];
		x->call_ns = start_of_call(t, t->syncs.call[i]);
		x->at = t->syncs.stream[i];
		x->kind = t->syncs.type[i];
	}
	return r;
}

/* Whether an operation of the window was launched while the range was open. */
static bool launched_work(const struct nsx_trace *t, const struct nsx_window *w, size_t range)
{
	for (size_t i = 0; i < t->ops.n; i++) {
		int64_t at_ns = start_of_call(t, nsx_op_call(&t->ops, i));

		if (at_ns >= 0 && reaches(w, nsx_op_start(&t->ops, i),
					  nsx_op_end(&t->ops, i)) &&
		    at_ns >= nsx_range_start(&t->nvtx, range) &&
		    at_ns < nsx_range_end(&t->nvtx, range))
			return true;
	}
	return false;
}

static struct rows cut_ranges(const struct nsx_trace *t, const struct nsx_window *w)
{
	struct rows r = make_rows(t->nvtx.n);

	for (size_t i = 0; i < t->nvtx.n; i++) {
		struct row *x;

		if (!reaches(w, nsx_range_start(&t->nvtx, i),
			     nsx_range_end(&t->nvtx, i)) &&
		    !launched_work(t, w, i))
			continue;
		x = add_row(&r, t, t->nvtx.name[i]);
		x->start_ns = nsx_range_start(&t->nvtx, i);
		x->end_ns = nsx_range_end(&t->nvtx, i);
		x->at = nsx_nvtx_thread(t, i);
		x->kind = t->nvtx.kind[i];
		x->flags = t->nvtx.flags[i];
	}
	return r;
}

static void assert_same_rows(struct rows a, struct rows b)
{
	qsort(a.v, a.n, sizeof(*a.v), cmp_bytes);
	qsort(b.v, b.n, sizeof(*b.v), cmp_bytes);
	assert_int_equal(a.n, b.n);
	assert_memory_equal(a.v, b.v, a.n * sizeof(*a.v));
	free(a.v);
	free(b.v);
}

/* Whole and part ------------------------------------------------------------*/

static void assert_same_places(const struct nsx_trace *a, const struct nsx_trace *b)
{
	assert_int_equal(a->nthreads, b->nthreads);
	for (uint32_t i = 0; i < a->nthreads; i++) {
		assert_true(a->thread[i].global_tid == b->thread[i].global_tid);
		assert_int_equal(a->thread[i].launches, b->thread[i].launches);
		assert_int_equal(a->thread[i].has_calls, b->thread[i].has_calls);
		assert_int_equal(a->thread[i].has_ranges, b->thread[i].has_ranges);
		assert_int_equal(a->thread[i].has_stack, b->thread[i].has_stack);
	}
	assert_int_equal(a->nstreams, b->nstreams);
	assert_memory_equal(a->stream, b->stream, a->nstreams * sizeof(*a->stream));
	assert_int_equal(a->ndevices, b->ndevices);
	assert_int_equal(a->ndomains, b->ndomains);
	assert_int_equal(a->nprocesses, b->nprocesses);
	assert_int_equal(a->nclocks, b->nclocks);
	for (uint32_t i = 0; i < a->nclocks; i++)
		assert_int_equal(a->clock[i].shift_ns, b->clock[i].shift_ns);
}

static void assert_same_defects(const struct nsx_defects *part, const struct nsx_defects *whole)
{
	assert_int_equal(part->negative, whole->negative);
	assert_int_equal(part->mistyped, whole->mistyped);
	assert_int_equal(part->out_of_range, whole->out_of_range);
	assert_int_equal(part->open_ranges, whole->open_ranges);
	assert_true(part->dangling <= whole->dangling);
	assert_true(part->duplicate_calls <= whole->duplicate_calls);
}

/* A window between two launches of a thread contains time between launches, so both are read. */
static void assert_same_neighbours(const struct nsx_trace *part, const struct nsx_trace *whole,
				   const struct nsx_window *w)
{
	for (uint32_t h = 0; h < whole->nthreads; h++) {
		int64_t before_ns[2] = {INT64_MIN, INT64_MIN};
		int64_t after_ns[2] = {INT64_MAX, INT64_MAX};

		for (int k = 0; k < 2; k++) {
			const struct nsx_trace *t = k ? whole : part;
			const struct nsx_thread *th = &t->thread[h];

			for (size_t i = 0; i < th->ncalls; i++) {
				size_t c = th->calls_at + i;
				int64_t at_ns = nsx_call_start(&t->calls, c);

				if (t->calls.cls[c] != NSX_CALL_LAUNCH)
					continue;
				if (at_ns < w->start_ns)
					before_ns[k] = NSX_MAX(before_ns[k], at_ns);
				else if (at_ns >= w->end_ns)
					after_ns[k] = NSX_MIN(after_ns[k], at_ns);
			}
		}
		assert_int_equal(before_ns[0], before_ns[1]);
		assert_int_equal(after_ns[0], after_ns[1]);
	}
}

static size_t count_matched(const struct nsx_trace *whole, const struct nsx_window *w)
{
	size_t n = 0;

	for (size_t i = 0; i < whole->ops.n; i++)
		n += whole->ops.kind[i] == NSX_OP_KERNEL &&
		     nsx_op_call(&whole->ops, i) != NSX_NONE &&
		     reaches(w, nsx_op_start(&whole->ops, i), nsx_op_end(&whole->ops, i));
	return n;
}

/* Compares a window with the same part of the whole; returns how many calls were not read. */
static size_t compare(const struct nsx_trace *whole, const char *name, const char *window)
{
	struct nsx_schema schema;
	struct nsx_trace *t = load(name, window, 2, &schema);
	const struct nsx_window *w = &t->user;
	size_t nleft_out = whole->calls.n - t->calls.n;

	assert_same_rows(cut_ops(t, w), cut_ops(whole, w));
	assert_same_rows(cut_calls(t, w), cut_calls(whole, w));
	assert_same_rows(cut_ranges(t, w), cut_ranges(whole, w));
	assert_same_rows(cut_waits(t, w), cut_waits(whole, w));
	assert_memory_equal(&t->full, &whole->full, sizeof(t->full));
	assert_int_equal(t->first_ns, whole->first_ns);
	assert_int_equal(t->last_ns, whole->last_ns);
	assert_int_equal(t->has_gpu_work, whole->has_gpu_work);
	assert_int_equal(t->matching.matched, count_matched(whole, w));
	assert_same_neighbours(t, whole, w);
	assert_true(!nleft_out || nsx_is_in_part(t));
	assert_same_defects(&t->defects, &whole->defects);
	assert_same_places(t, whole);
	unload(t, &schema);
	return nleft_out;
}

/* Windows on the clock of the file and from the first event. */
static size_t compare_windows(const char *name)
{
	struct nsx_schema schema;
	struct nsx_trace *t = load(name, NULL, 2, &schema);
	int64_t length_ns = t->last_ns - t->first_ns;
	char window[128];
	size_t n = 0;

	assert_false(nsx_is_in_part(t));
	for (int i = 0; i < 4 * THIRDS; i++) {
		int64_t from_ns = length_ns / THIRDS * i / 4;
		int64_t to_ns = from_ns + length_ns / THIRDS / 4 + 1;

		snprintf(window, sizeof(window), "%" PRId64 "ns..%" PRId64 "ns",
			 t->first_ns + from_ns, t->first_ns + to_ns);
		n += compare(t, name, window);
		snprintf(window, sizeof(window), "%.9f..%.9f",
			 (double)from_ns / 1e9, (double)to_ns / 1e9);
		n += compare(t, name, window);
	}
	unload(t, &schema);
	return n;
}

TEST(a_window_is_a_cut_of_the_whole)
{
	static const char *const names[] = {
		"synthetic", "two_rank_straggler", "graphs_node",
		"iterations_nvtx", "hostile_types", "ties", "run_phases",
		"iterations_pauses", "case03_two_pids", "sites",
		"zero_inverted_open"};

	margin_rows = 1;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		compare_windows(names[i]);
	/* These fixtures have so few calls that all of them are in the sample by which clocks are
	 * judged.
	 */
	assert_true(compare_windows("iterations_nvtx") > 0);
	assert_true(compare_windows("run_phases") > 0);
}

/* Idle time ------------------------------------------------------------------*/

static struct nsx_facts *find_facts(const struct nsx_trace *t)
{
	struct nsx_progress progress = {.stage = NULL};
	const struct nsx_facts_opts opts = {.threads = 1, .progress = &progress};
	struct nsx_facts *f;
	struct nsx_err err;

	assert_int_equal(nsx_facts_build(t, &opts, &f, &err), 0);
	return f;
}

/* Maps causes that a window cannot distinguish to one: near its ends it may not show the stream
 * for which another stream waits.
 */
static unsigned merged_cause(const struct nsx_idle_piece *p)
{
	return p->cause == NSX_CAUSE_STREAM_WAIT || p->cause == NSX_CAUSE_DISPATCH ?
		       NSX_CAUSE_DEPENDENCY : p->cause;
}

static void sum_causes(const struct nsx_idle *x, const struct nsx_window *w,
		       int64_t ns[NSX_NCAUSES])
{
	memset(ns, 0, NSX_NCAUSES * sizeof(*ns));
	for (size_t i = 0; i < x->n; i++) {
		struct nsx_idle_piece p = nsx_idle_at(x, i);
		int64_t in_ns = NSX_MIN(p.end_ns, w->end_ns) - NSX_MAX(p.start_ns, w->start_ns);

		ns[merged_cause(&p)] += NSX_MAX(0, in_ns);
	}
}

/* Compares idle time by cause, in the window and the whole. Returns the number of gaps at the ends
 * of the window whose cause is known.
 */
static size_t compare_idle(const struct nsx_trace *whole,
			   const struct nsx_facts *f, const char *name, const char *window)
{
	int64_t all[NSX_NCAUSES], in[NSX_NCAUSES];
	struct nsx_schema schema;
	struct nsx_trace *t = load(name, window, 2, &schema);
	struct nsx_facts *g = find_facts(t);
	size_t n = 0;

	for (uint32_t d = 0; d < whole->ndevices; d++) {
		struct nsx_gap gap;
		size_t at = 0;

		sum_causes(&f->idle[d], &t->user, all);
		sum_causes(&g->idle[d], &t->user, in);
		while (nsx_next_gap(&g->idle[d], &at, &gap))
			n += gap.is_edge && nsx_idle_at(gap.idle, gap.at).cause != NSX_CAUSE_EDGE;
		if (all[NSX_CAUSE_EDGE]) /* the window begins before the run's first work */
			continue;
		assert_memory_equal(all, in, sizeof(all));
	}
	nsx_facts_free(g);
	unload(t, &schema);
	return n;
}

/* The ends of a window are not the ends of the run: idle time there has the same cause as in the
 * whole trace.
 */
TEST(idle_time_of_a_window_is_that_of_the_whole)
{
	static const char *const names[] = {
		"synthetic", "two_rank_straggler", "iterations_nvtx", "run_phases",
		"iterations_pauses", "ties", "graphs_node", "server_waits"};
	size_t n = 0;

	margin_rows = 0;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct nsx_schema schema;
		struct nsx_trace *t = load(names[i], NULL, 2, &schema);
		struct nsx_facts *f = find_facts(t);
		int64_t part_ns = (t->full.end_ns - t->full.start_ns) / 37;

		for (int k = 0; k < 36; k++) {
			char window[128];

			snprintf(window, sizeof(window), "%" PRId64 "ns..%" PRId64
				 "ns", t->full.start_ns + part_ns * k,
				 t->full.start_ns + part_ns * (k + 1) + 1);
			n += compare_idle(t, f, names[i], window);
		}
		nsx_facts_free(f);
		unload(t, &schema);
	}
	assert_true(n > 100);
}

/* If the margins contain the whole file, every row is read. */
TEST(margins_hold_that_many_rows)
{
	margin_rows = 0;
	assert_int_equal(compare_windows("iterations_nvtx"), 0);
}

/* If a clock is wrong, rows of the window may lie anywhere, so every row is read. */
TEST(clocks_are_judged_by_all_of_the_file)
{
	margin_rows = 1;
	assert_int_equal(compare_windows("clock_skew"), 0);
}

/* A range that names the window is found anywhere in the trace. */
TEST(a_named_window)
{
	struct nsx_schema schema;
	struct nsx_trace *t = load("run_phases", NULL, 2, &schema);
	struct nsx_window w = {INT64_MAX, INT64_MIN};

	for (size_t i = 0; i < t->nvtx.n; i++)
		if (!strcmp(nsx_text(t, t->nvtx.name[i]), "measure")) {
			w.start_ns = NSX_MIN(w.start_ns, nsx_range_start(&t->nvtx, i));
			w.end_ns = NSX_MAX(w.end_ns, nsx_range_end(&t->nvtx, i));
		}
	unload(t, &schema);
	assert_true(0 < w.start_ns && w.start_ns < w.end_ns);
	margin_rows = 1;
	t = load("run_phases", "nvtx:measure", 1, &schema);
	assert_int_equal(t->user.start_ns, w.start_ns);
	assert_int_equal(t->user.end_ns, w.end_ns);
	unload(t, &schema);
}

/* Random traces ----------------------------------------------------------------*/

enum { ROWS = 40, UNIT_NS = 1 << 14, LENGTH_NS = 1000 * UNIT_NS };

static const char tables[] = "BEGIN;CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, "
	"contextId, streamId, correlationId, globalPid, demangledName);CREATE TABLE "
	"CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);CREATE TABLE "
	"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, streamId, globalPid);CREATE TABLE "
	"NVTX_EVENTS (start, end, eventType, text, globalTid);";

/* Ranges of different kinds on each thread; thread 2 has none late in the trace. Unless ranges may
 * cross, a long range begins only at multiples of its length.
 */
static void add_range(struct nsx_buf *sql, uint64_t *state, int at_ns,
		      bool may_cross, long long thread)
{
	static const int types[3][4] = {
		{59, 59, 59, 60}, {59, 59, 60, 34}, {60, 60, 60, 34}};
	int length_ns = UNIT_NS << rnd(state) % 8;
	bool is_open = may_cross && rnd(state) % 16 == 0;

	if (!may_cross)
		at_ns -= at_ns % length_ns;
	nsx_buf_printf(sql, "INSERT INTO NVTX_EVENTS VALUES (%d, %s%d, %d, "
		       "'r%d', %lld);", at_ns, is_open ? "NULL AND " : "",
		       at_ns + length_ns, types[thread & 3][rnd(state) % 4],
		       (int)(rnd(state) % 4), thread);
}

/* Adds the calls of a process, the work that they launch, its waits and its ranges. Each call
 * launches on a stream of its own, because work of one stream is in order. Other processes use the
 * same correlation ids.
 */
static void add_process(struct nsx_buf *sql, uint64_t *state, int process, bool may_cross)
{
	static const char *const calls[] = {"cudaLaunchKernel", "cuLaunchKernel",
					    "cudaMalloc"};
	static const int last_ns[] = {LENGTH_NS, LENGTH_NS, LENGTH_NS / 10};
	const long long pid = (1ll << 48) + (process << 24);

	for (int i = 0; i < ROWS; i++) {
		int thread = (int)(rnd(state) % 3);
		int at_ns = last_ns[thread] / ROWS * i + (int)(rnd(state) % (LENGTH_NS / 16));
		int length_ns = (int)(rnd(state) % 60) * UNIT_NS;
		int kernel_ns = at_ns + (int)(rnd(state) % 300) * UNIT_NS;
		int corr = i << NSX_CLOCK_RUN | 1;

		if (thread == 1 || rnd(state) % 2)
			add_range(sql, state, at_ns, may_cross, pid + thread);
		if (thread == 1)
			continue;
		nsx_buf_printf(sql, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%d, %d, %lld, "
			       "%d, '%s');", at_ns, at_ns + length_ns, pid + thread, corr,
			       calls[i % 3]);
		if (i % 3 < 2)
			nsx_buf_printf(sql, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%d, "
				       "%d, %d, 1, %d, %d, %lld, 'k%d');",
				       kernel_ns, kernel_ns + length_ns, process,
				       i, corr, pid, i % 5);
		if (i % 9 == 0)
			nsx_buf_printf(sql, "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION "
				       "VALUES (%d, %d, %d, %lld);", at_ns,
				       at_ns + length_ns, i, pid);
	}
}

static size_t compare_windows_of(struct nsx_buf *rows)
{
	const char *path = scratch("random.sqlite");
	struct nsx_buf sql = {0};
	size_t nleft_out;

	nsx_buf_printf(&sql, "%s%s COMMIT;", tables, rows->p);
	make_db(path, sql.p);
	nsx_buf_done(&sql);
	nsx_buf_done(rows);
	margin_rows = 1;
	nleft_out = compare_windows(path);
	unlink(path);
	return nleft_out;
}

/* The row of a kernel 100 launches later, in a block that has no other row for the window. */
TEST(a_launch_far_before_its_kernel)
{
	struct nsx_buf rows = {0};

	nsx_buf_printf(&rows, "CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (VALUES (0) UNION "
		       "ALL SELECT i + 1 FROM n WHERE i < 199) SELECT i, i << %d | 1 AS corr, i * "
		       "%d AS at FROM n;ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD wide;INSERT "
		       "INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT at, at + 9, 1, corr, "
		       "'cudaLaunchKernel', zeroblob(3000) FROM n;INSERT INTO "
		       "CUPTI_ACTIVITY_KIND_KERNEL SELECT at + 9 + iif(i = 20, 100 * %d, 0), at + "
		       "99 + iif(i = 20, 100 * %d, 0), 0, 1, i = 20, corr, 0, 'k' FROM "
		       "n;", NSX_CLOCK_RUN, UNIT_NS, UNIT_NS, UNIT_NS);
	assert_true(compare_windows_of(&rows) > 0);
}

/* The second range crosses the first, so it is not on the stack, but the third is. */
TEST(ranges_that_crossed_long_before)
{
	static const int start[] = {0, 10, 30, 990}, end[] = {20, 60, 1000, 999};
	struct nsx_buf rows = {0};

	for (unsigned i = 0; i < ARRAY_LEN(start); i++)
		nsx_buf_printf(&rows, "INSERT INTO NVTX_EVENTS VALUES (%d, %d, 59, 'r%u', "
			       "1);", start[i] * UNIT_NS, end[i] * UNIT_NS, i);
	compare_windows_of(&rows);
}

TEST(random_windows)
{
	size_t nleft_out = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct nsx_buf rows = {0};
		uint64_t from = seed;

		print_message("seed %" PRIu64 "\n", seed);
		add_process(&rows, &from, 1, seed % 2 == 0);
		add_process(&rows, &from, 2, seed % 2 == 0);
		nleft_out += compare_windows_of(&rows);
	}
	assert_true(nleft_out > 0);
}

/* A reach --------------------------------------------------------------------*/

static const char reached[] = "2000000000ns..2100000000ns";

/* Windows of a trace in which no event is longer than the reach, and none is stored farther from
 * its place.
 */
TEST(what_is_within_reach_is_read)
{
	struct nsx_schema schema;
	struct nsx_trace *t = load("window_reach", NULL, 2, &schema);

	margin_rows = 1;
	reach_ns = INT64_C(1600000000);
	assert_true(compare(t, "window_reach", reached) > 1000);
	assert_true(compare(t, "window_reach", "0ns..100000000ns") > 1000);
	reach_ns = INT64_C(2700000000);
	assert_true(compare(t, "window_reach", "3800000000ns..3900000000ns") > 1000);
	reach_ns = 0;
	unload(t, &schema);
}

/* A range, a wait and a kernel that began long before the window are missed with a reach. */
TEST(what_is_beyond_reach_is_not_looked_at)
{
	struct nsx_schema schema, near_schema;
	struct nsx_trace *all = load("window_reach", reached, 2, &schema), *near;
	const struct nsx_window *w = &all->user;
	struct rows a, b;

	reach_ns = 100000000;
	near = load("window_reach", reached, 2, &near_schema);
	reach_ns = 0;
	assert_true(nsx_is_in_part(near));
	assert_memory_equal(&near->full, &all->full, sizeof(near->full));
	assert_int_equal(near->read.start_ns, w->start_ns - 100000000);
	assert_int_equal(near->read.end_ns, w->end_ns + 100000000);
	for (int i = 0; i < 3; i++) {
		struct rows (*const cut[])(const struct nsx_trace *,
					   const struct nsx_window *) = {
			cut_ops, cut_calls, cut_ranges};

		a = cut[i](all, w);
		b = cut[i](near, w);
		assert_int_equal(a.n, 1 + b.n);
		free(a.v);
		free(b.v);
	}
	unload(near, &near_schema);
	unload(all, &schema);
}

/* The first and last page within reach hold rows beyond it, which do not count. */
TEST(only_open_ranges_within_reach_are_counted)
{
	char *path = scratch("open.sqlite"), sql[1024];
	struct nsx_schema schema, near_schema;
	struct nsx_trace *all, *near;
	size_t n = 0;

	snprintf(sql, sizeof(sql),
		 "ATTACH '%s/window_reach.sqlite' AS f;"
		 "CREATE TABLE StringIds AS SELECT * FROM f.StringIds;"
		 "CREATE TABLE NVTX_EVENTS AS SELECT * FROM f.NVTX_EVENTS ORDER BY start;"
		 "UPDATE NVTX_EVENTS SET end = NULL WHERE rowid %% 3 = 0", fixtures);
	make_db(path, sql);
	all = load(path, NULL, 2, &schema);
	reach_ns = 100000000;
	for (size_t i = 0; i < all->nvtx.n; i++)
		n += (all->nvtx.flags[i] & NSX_NVTX_OPEN) &&
		     nsx_range_start(&all->nvtx, i) >= INT64_C(1900000000) &&
		     nsx_range_start(&all->nvtx, i) < INT64_C(2200000000);
	assert_true(n > 50 && n < all->defects.open_ranges);
	for (unsigned threads = 1; threads < 4; threads++) {
		near = load(path, reached, threads, &near_schema);
		assert_int_equal(near->defects.open_ranges, n);
		unload(near, &near_schema);
	}
	reach_ns = 0;
	unload(all, &schema);
	unlink(path);
}
