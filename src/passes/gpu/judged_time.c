/* judged_time.c - how the judged time of all GPUs was spent, from the ledger of facts/ledger.c. */
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(CLASS, "class", STR, "what the GPU did")                                                 \
	X(CAUSE, "cause", STR, "cause of the idle time; null: not idle")                           \
	X(PLACE, "place", STR,                                                                     \
	  "kernel, collective, kind of copy, or what the host did during idle time; null: not "    \
	  "known")                                                                                 \
	X(COUNT, "count", I64, "operations, or pieces of idle time")                               \
	X(TOTAL_NS, "total_ns", I64, "time; each moment of a GPU counts once")                     \
	X(TOTAL_MS, "total_ms", F64, "time; each moment of a GPU counts once")                     \
	X(PCT, "pct_of_judged", F64, "share of the judged time of the GPUs")
NSX_LAYOUT_OF(layout, COLUMNS, .key = "rows", .csv = "judged_time");
enum { SHOWN = 10 };

#define LEAST_SHARE 0.05 /* a phase gets a ledger if it takes this share of the window */

/* Builds ledgers of phases that are not judged. No GPU works in a pause, so the GPU that sets the
 * pace stands for all.
 */
static int build_phase_ledgers(const struct nsx_run *run, struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_facts *f = run->facts;
	double whole_ns = (double)(run->trace->window.end_ns - run->trace->window.start_ns);
	struct nsx_ledger *v = nsx_arena_get(a, (f->nrun_phases + 1) * sizeof(*v));

	run->measured->phases = v;
	for (size_t i = 0; i < f->nrun_phases; i++) {
		const struct nsx_run_phase *x = &f->run_phases[i];
		bool pauses = x->kind == NSX_PHASE_PAUSE && !x->range;
		const struct nsx_booked what = {&x->window, 1, pauses ? f->limiting : NSX_NONE};

		if (!x->judged && (double)(x->window.end_ns - x->window.start_ns) >=
					  LEAST_SHARE * whole_ns &&
		    !(pauses && f->limiting == NSX_NONE) &&
		    nsx_ledger_build(f, run->trace, &what, a, &v[i], err))
			return err->rc;
	}
	return 0;
}

static int judged_time_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	struct nsx_table *table = nsx_add_table(out, &layout);
	struct nsx_window w = nsx_judged(run->facts);
	struct nsx_ledger *l = &run->measured->ledger;

	if (nsx_ledger_build(run->facts, run->trace, &(struct nsx_booked){&w, 1, NSX_NONE},
			     out->arena, l, err) ||
	    build_phase_ledgers(run, out->arena, err))
		return err->rc;
	if (!l->total_ns)
		return nsx_cannot(out, "no GPU work was judged");
	nsx_table_expect(table, l->n, run->opts->held_rows);
	for (size_t i = 0; i < l->n; i++) {
		const struct nsx_account *x = &l->v[i];
		struct nsx_cell *row = nsx_add_row(table);

		row[CLASS] = nsx_string(nsx_ledger_names[x->cls]);
		row[CAUSE] = nsx_string(x->cls == NSX_L_IDLE ? nsx_cause_names[x->cause] : NULL);
		row[PLACE] = nsx_string(nsx_account_place(run->facts, x, out->arena));
		row[COUNT] = nsx_int((int64_t)x->count);
		row[TOTAL_NS] = nsx_int(x->ns);
		row[TOTAL_MS] = nsx_ms(x->ns);
		row[PCT] = nsx_part_pct(x->ns, l->total_ns);
	}
	nsx_put(out, "total_ns", nsx_int(l->total_ns));
	nsx_put(out, "gpus", nsx_int(l->ngpus));
	nsx_md_text(out, "Every judged moment of every GPU that worked, counted once: "
		    "rows add up to the window times the number of GPUs.");
	nsx_md_table(out, table, SHOWN, CLASS, CAUSE, PLACE, COUNT, TOTAL_MS, PCT);
	return 0;
}

NSX_DEFINE_PASS(judged_time,
	.title = "What the judged time is made of",
	.measures = true,
	.summary = "every nanosecond of the judged time, by class and place",
	.doc = "Each moment of each GPU that worked in the judged window is booked once: as "
	       "compute, exposed communication, copy or idle. Compute hides communication; both "
	       "hide copies. If operations of one class run at once, the time belongs to the one "
	       "that began first. Idle time is booked by its cause and by what the launching "
	       "thread did.",
	.derived_from = "kernels, copies, memsets, graph replays, and the calls that launched them",
	.limitations = "work of processes that were not profiled looks like idle time; a CUDA "
		       "graph that was traced as a whole is one row",
	.any_of = {NSX_GPU_WORK},
	NSX_LAYOUT(layout));
