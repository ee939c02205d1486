/* iterations.c - the repetition of the program, and how slow iterations differ: where the time of
 * each went, compared with the median one.
 */
#include <inttypes.h>
#include <math.h>
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(PROCESS, "process", I64, "pid of the process")                                           \
	X(DEVICE, "device_id", I64, "CUDA ordinal")                                                \
	X(INDEX, "index", I64, "number on this process and device, from 0")                        \
	X(START, "start_ns", I64, "first GPU work launched in it begins")                          \
	X(END, "end_ns", I64, "start of the next iteration; for the last one, the end of its "     \
			      "work")                                                              \
	X(WALL, "wall_ms", F64, "from start to next start", .adds = true)                          \
	X(STEADY, "steady", BOOL, "whether it lies in the steady window")                          \
	X(SLOW, "slow", BOOL, "longer than 1.25 x the median and by more than 3 MAD")
NSX_COLUMNS(cols, COLUMNS);
#define GROUP_COLUMNS(X)                                                      \
	X(G_PROCESS, "process", I64, "pid of the process")                    \
	X(G_DEVICE, "device_id", I64, "CUDA ordinal")                         \
	X(G_N, "count", I64, "iterations that end with the start of another") \
	X(G_MEDIAN, "median_ms", F64, "median of their lengths")              \
	X(G_P90, "p90_ms", F64, "90th percentile")                            \
	X(G_CV, "cv", F64, "standard deviation over mean")                    \
	X(G_SLOW, "slow_count", I64, "slow ones")
NSX_COLUMNS(group_cols, GROUP_COLUMNS);
#define SLOW_COLUMNS(X)                                                                            \
	X(SLOW_PROCESS, "process", I64, "pid of the process")                                      \
	X(SLOW_DEVICE_ID, "device_id", I64, "CUDA ordinal")                                        \
	X(SLOW_INDEX, "index", I64, "which iteration")                                             \
	X(SLOW_WALL_MS, "wall_ms", F64, "length of the iteration")                                 \
	X(SLOW_EXCESS_MS, "excess_ms", F64, "above the median")                                    \
	X(SLOW_COMPUTE_ONLY_MS, "compute_only_ms", F64, "difference from the median iteration")    \
	X(SLOW_COMPUTE_COPY_MS, "compute_copy_ms", F64, "difference from the median iteration")    \
	X(SLOW_COMPUTE_COMM_MS, "compute_comm_ms", F64, "difference from the median iteration")    \
	X(SLOW_COMM_EXPOSED_MS, "comm_exposed_ms", F64, "difference from the median iteration")    \
	X(SLOW_COPY_EXPOSED_MS, "copy_exposed_ms", F64, "difference from the median iteration")    \
	X(SLOW_IDLE_MS, "idle_ms", F64, "difference from the median iteration")
NSX_COLUMNS(slow_cols, SLOW_COLUMNS);
#define CANDIDATE_COLUMNS(X)                                                                       \
	X(C_METHOD, "method", STR, "nvtx, sequence, graph_replay, collective or gaps")             \
	X(C_NAME, "name", STR, "the range or kernel that begins an iteration")                     \
	X(C_PROCESS, "process", I64, "pid of the process")                                         \
	X(C_COUNT, "count", I64, "times it was seen")                                              \
	X(C_COVERAGE, "coverage_pct", F64, "share of the process's GPU time it explains")          \
	X(C_CV, "cv", F64, "CV of start to start, without the longest tenth")                      \
	X(C_SCORE, "score", F64, "coverage x min(1, count/8) / (1 + cv) x evenness x trust")       \
	X(C_CHOSEN, "chosen", BOOL, "whether the report uses these iterations")
NSX_COLUMNS(candidate_cols, CANDIDATE_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "rows", .csv = "iterations", NSX_COLS(cols)},
	{.key = "groups", NSX_COLS(group_cols)},
	{.key = "slow", NSX_COLS(slow_cols)},
	{.key = "candidates", NSX_COLS(candidate_cols)},
};

struct work {
	const struct nsx_run *run;
	struct nsx_section *out;
	struct nsx_table **table;
	/* Figures of the GPU that sets the pace or, if no GPU works, of the first. */
	double median_ms, cv, drift;
	bool from_limiting;
};

static int64_t iterations_wall_ns(const struct nsx_iteration *v)
{
	return v->end_ns - v->start_ns;
}

static void iterations_add_row(struct work *w, const struct nsx_iteration *v, size_t index)
{
	const struct nsx_trace *t = w->run->trace;
	struct nsx_cell *row = nsx_add_row(w->table[0]);

	row[PROCESS] = nsx_pid_cell(t, v->process);
	row[DEVICE] = nsx_device_cell(t, v->device);
	row[INDEX] = nsx_int((int64_t)index);
	row[START] = nsx_int(v->start_ns);
	row[END] = nsx_int(v->end_ns);
	row[WALL] = nsx_ms(iterations_wall_ns(v));
	row[STEADY] = nsx_bool(v->steady);
	row[SLOW] = nsx_bool(v->slow);
}

/* Adds a row with what a slow iteration spends beyond the typical one, whose length is nearest to
 * the median.
 */
static void add_slow_iteration(struct work *w, const struct nsx_iteration *v,
			       size_t index, const struct nsx_iteration *typical)
{
	const struct nsx_trace *t = w->run->trace;
	const struct nsx_device_facts *d = &w->run->facts->device[v->device];
	struct nsx_cell *row = nsx_add_row(w->table[2]);
	struct nsx_partition slow, usual;

	nsx_partition(d, v->start_ns, v->end_ns, &slow);
	nsx_partition(d, typical->start_ns, typical->end_ns, &usual);
	row[SLOW_PROCESS] = nsx_pid_cell(t, v->process);
	row[SLOW_DEVICE_ID] = nsx_device_cell(t, v->device);
	row[SLOW_INDEX] = nsx_int((int64_t)index);
	row[SLOW_WALL_MS] = nsx_ms(iterations_wall_ns(v));
	row[SLOW_EXCESS_MS] = nsx_ms(iterations_wall_ns(v) - iterations_wall_ns(typical));
	for (unsigned c = 0; c < NSX_NPARTS; c++)
		row[SLOW_COMPUTE_ONLY_MS + c] = nsx_ms(slow.ns[c] - usual.ns[c]);
}

static const struct nsx_iteration *find_typical_iteration(const struct nsx_iteration *v,
							  size_t n, double wall)
{
	const struct nsx_iteration *best = v;

	for (size_t i = 1; i < n; i++)
		if (fabs((double)iterations_wall_ns(&v[i]) - wall) <
		    fabs((double)iterations_wall_ns(best) - wall))
			best = &v[i];
	return best;
}

/* Adds the n iterations of one process and device; the last has no successor. */
static int iterations_add_group(struct work *w, const struct nsx_iteration *v, size_t n,
				struct nsx_err *err)
{
	static const double qs[] = {0.5, 0.9};
	const struct nsx_iteration *typical;
	struct nsx_cell *row = nsx_add_row(w->table[1]);
	int64_t *d;
	double q[2], mean = 0, cv, slope;
	int64_t nslow = 0;

	nsx_few(d, w->run->scratch, n);
	row[G_PROCESS] = nsx_pid_cell(w->run->trace, v->process);
	row[G_DEVICE] = nsx_device_cell(w->run->trace, v->device);
	row[G_N] = nsx_int((int64_t)n - 1);
	if (n < 2)
		return 0;
	for (size_t i = 0; i + 1 < n; i++) {
		d[i] = iterations_wall_ns(&v[i]);
		mean += (double)d[i] / (double)(n - 1);
	}
	slope = nsx_slope(d, n - 1, err);
	if (isnan(slope))
		return err->rc;
	cv = nsx_stddev(d, n - 1) / mean;
	nsx_quantiles(d, n - 1, qs, 2, q);
	row[G_MEDIAN] = nsx_real(q[0] / 1e6);
	row[G_P90] = nsx_real(q[1] / 1e6);
	row[G_CV] = nsx_real(cv);
	typical = find_typical_iteration(v, n - 1, q[0]);
	for (size_t i = 0; i < n; i++) {
		nslow += v[i].slow;
		if (v[i].slow)
			add_slow_iteration(w, &v[i], i, typical);
	}
	row[G_SLOW] = nsx_int(nslow);
	if (w->from_limiting || (w->table[1]->nrows > 1 && v->device != w->run->facts->limiting))
		return 0;
	w->from_limiting = v->device == w->run->facts->limiting;
	w->median_ms = q[0] / 1e6;
	w->cv = cv;
	w->drift = slope * (double)(n - 1) / q[0];
	return 0;
}

static void add_iteration_methods(struct work *w)
{
	const struct nsx_facts *f = w->run->facts;

	for (size_t i = 0; i < f->ncadences; i++) {
		const struct nsx_cadence *c = &f->cadences[i];
		struct nsx_cell *row = nsx_add_row(w->table[3]);

		row[C_METHOD] = nsx_string(nsx_way_methods[c->method]);
		row[C_NAME] = nsx_fact_cell(f, c->name);
		row[C_PROCESS] = nsx_pid_cell(w->run->trace, c->process);
		row[C_COUNT] = nsx_int((int64_t)c->n);
		row[C_COVERAGE] = nsx_real(100 * c->coverage);
		row[C_CV] = nsx_real(c->cv);
		row[C_SCORE] = nsx_real(c->score);
		row[C_CHOSEN] = nsx_bool(c->chosen);
	}
}

static const char *const method_words[NSX_NWAYS] = {
	[NSX_WAY_NVTX] = "NVTX range",
	[NSX_WAY_SEQUENCE] = "sequence of kernels",
	[NSX_WAY_GRAPH] = "graph replays", [NSX_WAY_COMM] = "collectives",
	[NSX_WAY_GAPS] = "pauses between bursts",
};

/* A fitted line gives the drift of the lengths: its change from the first iteration to the last,
 * as a share of the median length. A drift below DRIFT may be chance, because lengths vary. A line
 * as steep as STEEPEST would begin or end below 0, so the lengths follow no line.
 */
#define DRIFT 0.1
#define STEEPEST 2
enum { MIN_DRIFTING = 8 };

static void say_drift(struct work *w)
{
	const struct nsx_cell *row = nsx_row_at(w->table[1], 0);

	nsx_put(w->out, "drift", nsx_real(w->drift));
	if (fabs(w->drift) < NSX_MAX(DRIFT, w->cv) ||
	    fabs(w->drift) >= STEEPEST ||
	    row[G_N].u.i < MIN_DRIFTING)
		return;
	nsx_md_bullet(w->out, "They grow %s over the run: by %.0f %% of the median from the first "
		      "to the last (trend).", w->drift > 0 ? "longer" : "shorter",
		      100 * fabs(w->drift));
}

/* Says how many iterations are slow, and whether all of them lie outside the judged part. */
static const char *iterations_say_slow(struct work *w, int64_t nslow)
{
	const struct nsx_facts *f = w->run->facts;
	bool is_outside = nslow > 0 && !NSX_ANY(i, f->niterations, f->iterations[i].slow &&
						f->iterations[i].steady);

	return nsx_say(w->out, "%s%s%s", !nslow ? "none" : nsx_say(w->out, "%" PRId64, nslow),
		       nslow > 1 ? " are slow" : " is slow",
		       is_outside ? ", outside of the judged window" : "");
}

static void iterations_say(struct work *w)
{
	const struct nsx_facts *f = w->run->facts;
	const char *confidence = nsx_confidence_names[f->iteration_confidence];

	nsx_put(w->out, "method", nsx_string(nsx_way_methods[f->iteration_method]));
	nsx_put(w->out, "confidence", nsx_string(confidence));
	nsx_put(w->out, "median_ms", nsx_real(w->median_ms));
	nsx_put(w->out, "cv", nsx_real(w->cv));
	if (w->table[1]->nrows == 1) {
		const struct nsx_cell *row = nsx_row_at(w->table[1], 0);

		nsx_md_bullet(w->out, "%s, detected by their %s (confidence %s): the median takes "
			    "%s, 90 %% take %s or less, %s; CV %.3f.",
			    nsx_text_n(w->out->arena, (size_t)row[G_N].u.i, "repetition", NULL),
			    method_words[f->iteration_method], confidence,
			    nsx_say_ms(w->out, w->median_ms), nsx_say_ms(w->out, row[G_P90].u.f),
			    iterations_say_slow(w, row[G_SLOW].u.i), w->cv);
		say_drift(w);
		return;
	}
	nsx_md_bullet(w->out, "Repetitions are detected by their %s (confidence %s): the median "
		      "takes %s, CV %.3f.", method_words[f->iteration_method], confidence,
		      nsx_say_ms(w->out, w->median_ms), w->cv);
	say_drift(w);
	nsx_md_whole(w->out, w->table[1], 0);
}

static int iterations_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	const struct nsx_facts *f = run->facts;
	struct work w = {.run = run, .out = out, .table = nsx_add_tables(out),
			 .median_ms = NAN, .cv = NAN, .drift = NAN};

	add_iteration_methods(&w);
	if (!run->trace->ndevices)
		return nsx_cannot(out, "the trace has no GPU work");
	if (!f->niterations)
		return nsx_cannot(out, "nothing repeats steadily enough: no NVTX range, kernel "
				  "sequence, graph replay, collective or pause scores 0.4 or "
				  "more");
	for (const struct nsx_loop *l = f->loops; l < f->loops + f->nloops; l++) {
		for (size_t k = 0; k < l->n; k++)
			iterations_add_row(&w, &l->v[k], k);
		if (iterations_add_group(&w, l->v, l->n, err))
			return err->rc;
	}
	iterations_say(&w);
	return 0;
}

NSX_DEFINE_PASS(iterations,
	.title = "Phases and iterations",
	.summary = "iterations of the program, and the slow ones",
	.doc = "Ways to detect iterations are scored by coverage x min(1, n/8) / (1 + CV of "
	       "start to start, without the longest tenth) x evenness x trust. evenness is (n - "
	       "1) x median over the total time without the longest. Iterations longer than 1.25 "
	       "x the median at the beginning, at most a third of all, are warm-up and count in "
	       "neither. A communication kernel may wait, so for coverage it counts at most as "
	       "long as the median one of its process. The best way above 0.4 wins. nvtx: a user "
	       "range that returns at least 4 times on a thread without overlapping itself "
	       "(trust 1, or 1.1 if its name contains step, iter, batch or epoch; of ranges with "
	       "equal scores the outermost); coverage is the share of GPU time launched inside. "
	       "sequence: a sequence of kernel base names of the main stream that returns at a "
	       "steady distance, with iterations at least 95 % alike (0.9; n/8 does not count if "
	       "n iterations have 512 kernels or more). graph_replay: replays of one graph "
	       "(0.8). collective: one kind of collective kernel with a CV below 0.15 (0.7). "
	       "gaps: pauses of at least 1 ms and 5 x the median gap (0.6, confidence low). On "
	       "each GPU an iteration begins with the first work launched in it and ends where "
	       "the next begins; the last ends with its work and is in no statistic. slow: "
	       "longer than 1.25 x the median and by more than 3 MAD. median_ms and cv are those "
	       "of the GPU that sets the pace.",
	.derived_from = "NVTX ranges, kernel names in order, graph replays, collectives and pauses",
	.limitations = "in a stream of more than 262144 kernels only the middle is searched for a "
		       "sequence; a loop of a single kernel is not distinguished from a burst",
	.any_of = {NSX_GPU_WORK},
	NSX_LAYOUTS(layouts));
