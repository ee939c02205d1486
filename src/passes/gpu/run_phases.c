/* run_phases.c - the phases of the run in order, and which one is judged. */
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(NAME, "name", STR, "the NVTX range of the phase, or its kind")                           \
	X(KIND, "kind", STR, "init, warm-up, settling, steady, pause, tail, whole or window")      \
	X(JUDGED, "judged", BOOL, "whether findings are priced on it")                             \
	X(START, "start_ns", I64, "begins")                                                        \
	X(END, "end_ns", I64, "ends")                                                              \
	X(WALL, "wall_ms", F64, "length")                                                          \
	X(PCT, "pct_of_window", F64, "share of the window")                                        \
	X(DEVICE, "device_id", I64,                                                                \
	  "CUDA ordinal of the GPU that sets the pace, which the following columns describe")      \
	X(COMPUTE_ONLY, "compute_only_ms", F64, "kernels, nothing else")                           \
	X(COMPUTE_COPY, "compute_copy_ms", F64, "kernels while copies run")                        \
	X(COMPUTE_COMM, "compute_comm_ms", F64, "kernels while communication runs")                \
	X(COMM_EXPOSED, "comm_exposed_ms", F64, "communication without compute")                   \
	X(COPY_EXPOSED, "copy_exposed_ms", F64, "copies alone")                                    \
	X(IDLE, "idle_ms", F64, "no GPU work at all")
NSX_COLUMNS(cols, COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "rows", .csv = "run_phases", NSX_COLS(cols)},
};
static const struct nsx_layout shown_layout = {NSX_COLS(cols)};

#define TELLING_PCT 1.0 /* phases below this share of the window, in %, are not shown */

static void run_phases_add_row(const struct nsx_run *run, const struct nsx_run_phase *p,
			       struct nsx_table *table)
{
	const struct nsx_facts *f = run->facts;
	const struct nsx_window *all = &run->trace->window, *w = &p->window;
	struct nsx_cell *row = nsx_add_row(table);
	struct nsx_partition part;

	nsx_partition(&f->device[f->limiting], w->start_ns, w->end_ns, &part);
	row[NAME] = nsx_string(p->name);
	row[KIND] = nsx_string(nsx_phase_names[p->kind]);
	row[JUDGED] = nsx_bool(p->judged);
	row[START] = nsx_int(w->start_ns);
	row[END] = nsx_int(w->end_ns);
	row[WALL] = nsx_ms(w->end_ns - w->start_ns);
	row[PCT] = nsx_part_pct(w->end_ns - w->start_ns, all->end_ns - all->start_ns);
	row[DEVICE] = nsx_device_cell(run->trace, f->limiting);
	for (unsigned c = 0; c < NSX_NPARTS; c++)
		row[COMPUTE_ONLY + c] = nsx_ms(part.ns[c]);
}

/* The judged phase; NULL: none. */
static const struct nsx_run_phase *find_judged(const struct nsx_facts *f)
{
	for (size_t i = f->nrun_phases; i--;)
		if (f->run_phases[i].judged)
			return &f->run_phases[i];
	return NULL;
}

/* Lists the long phases among the first rows, at least up to the judged one. A single row would
 * repeat the section "Where the time went".
 */
static const struct nsx_table *list_shown(const struct nsx_run *run, const struct nsx_table *all,
					  struct nsx_section *out)
{
	struct nsx_table *shown = nsx_add_table(out, &shown_layout);
	bool is_behind = false;

	for (size_t i = 0; i < all->nrows; i++) {
		const struct nsx_cell *row = nsx_row_at(all, i);

		if ((row[PCT].u.f < TELLING_PCT && !row[JUDGED].u.b) ||
		    (is_behind && shown->nrows >= NSX_MAX_MD_ROWS))
			continue;
		memcpy(nsx_add_row(shown), row, sizeof(*row) * ARRAY_LEN(cols));
		is_behind |= row[JUDGED].u.b;
	}
	return all->nrows > 1 || !nsx_is_whole(run->opts) ? shown : NULL;
}

static int run_phases_run(const struct nsx_run *run, struct nsx_section *out,
			  struct nsx_err *err NSX_UNUSED)
{
	static const char *const kinds[] = {
		[NSX_RUN_ONCE] = "Hardly anything runs more than a few times, so the report "
				 "describes a single pass, not a loop.",
		[NSX_RUN_START_UP] = "The GPUs hardly work and nothing repeats: this is a "
				     "start-up, not a loop.",
	};
	const struct nsx_facts *f = run->facts;
	struct nsx_table *table = nsx_add_table(out, &layouts[0]);
	struct nsx_window w = nsx_judged(f);
	const struct nsx_run_phase *judged = find_judged(f);
	const struct nsx_table *shown;

	nsx_put(out, "run", nsx_string(nsx_run_kind_names[f->run_kind]));
	if (f->run_kind == NSX_RUN_NO_GPU)
		return nsx_cannot(out, "the trace has no GPU work");
	for (size_t i = 0; i < f->nrun_phases; i++)
		run_phases_add_row(run, &f->run_phases[i], table);
	shown = list_shown(run, table, out);
	if (f->run_kind < ARRAY_LEN(kinds) && kinds[f->run_kind])
		nsx_md_text(out, "%s", kinds[f->run_kind]);
	else if (table->nrows)
		nsx_md_text(out, "%s%s, found by NVTX ranges or by GPU work; findings are "
			    "about the phase %s, %s.",
			    nsx_text_n(out->arena, table->nrows, "phase", NULL),
			    !shown || shown->nrows == table->nrows ? "" :
				    nsx_say(out, " (%zu only in `tables/run_phases.csv`)",
					    table->nrows - shown->nrows),
			    judged ? nsx_md_name(out, judged->name) :
				     "none of them", nsx_text_window(out->arena, &w));
	if (shown)
		nsx_md_table(out, shown, shown->nrows, NAME, START, WALL, JUDGED,
			     PCT, COMPUTE_ONLY, COMPUTE_COPY, COMPUTE_COMM,
			     COMM_EXPOSED, COPY_EXPOSED, IDLE);
	return 0;
}

NSX_DEFINE_PASS(run_phases,
	.title = "Phases and iterations",
	.summary = "phases of the run, and which of them is judged",
	.doc = "Phases are disjoint and add up to the window. NVTX ranges of the thread that "
	       "launches most are the phases if they qualify. These are its outermost ranges, or "
	       "those inside a range that holds 90 % of the work. Ranges that return three times, "
	       "numbered or not, are left out. The others must each hold 1 % of the work and 32 "
	       "operations, and together half of the work. A range called warm-up is judged only "
	       "if all are. Otherwise the run is cut at pauses of all GPUs. A pause cuts if it is "
	       "longer than half of the shorter segment beside it and than 1 % of the window. It "
	       "must also exceed twice the third longest pause, because a pause that recurs "
	       "belongs to the loop. Time with only copies before the first kernel is init. The "
	       "steady part (see the windows) of the segment with most compute is judged. The time "
	       "before it is warm-up, or settling if it has more compute than the judged part, as "
	       "iterations take longer at first. The time after it is the tail; another segment "
	       "with at least a tenth of its compute is steady, too.\n\n"
	       "run: once if no kernel runs four times; start_up if GPUs are busy for less than "
	       "2 % of the window or 0.1 ms and nothing repeats; these two are not cut into "
	       "segments; otherwise steady.",
	.derived_from = "NVTX ranges, and when GPUs work and pause",
	.limitations = "ranges of other threads do not name phases",
	.any_of = {NSX_GPU_WORK},
	NSX_LAYOUTS(layouts));
