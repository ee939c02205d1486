/* nvtx_phases.c - host time by the user's phases.
 *
 * One sweep over each thread: the innermost open range decides the phase at each moment, so
 * nested ranges are not counted twice.
 */
#include "passes/nvtx/phase_table.h"
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(PHASE, "phase", STR, "phase of the map; unmapped is the rest")                           \
	X(PHASE_MS, "total_time_ms", F64, "host time in the phase, summed over threads")           \
	X(PHASE_PCT, "pct_of_nvtx_total", F64, "share of the time in any range")
NSX_COLUMN_ARRAY(cols, COLUMNS);
static const struct nsx_layout layout = {
	.key = "phases", NSX_COLS(cols), .json_rows = NSX_ALL_ROWS};

static void nvtx_phases_add_thread(const struct nsx_trace *t, uint32_t thread,
				   const struct nsx_nvtx_phases *p, int64_t *ns)
{
	const struct nsx_nvtx *x = &t->nvtx;
	int64_t at = INT64_MIN;
	struct nsx_nvtx_walk w;

	nsx_nvtx_walk_begin(&w, t, thread, true, true, p->below);
	for (;;) {
		uint32_t r = nsx_nvtx_walk_to(&w, at);
		int64_t next = w.next < w.end ? nsx_range_start(x, w.next) : INT64_MAX;
		int64_t until = r == NSX_NONE ? at : NSX_MIN(next, nsx_range_end(x, r));

		if (until > at) {
			nsx_add_to(&ns[p->of[r]], nsx_in_window(t, at, until));
			at = until;
		} else if (next < INT64_MAX) {
			at = next;
		} else {
			break;
		}
	}
}

static int nvtx_phases_sum_up(const struct nsx_run *run, int64_t *ns, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_nvtx_phases p;

	if (nsx_nvtx_phase_ranges(t, run->opts->phases, run->scratch, &p, err))
		return err->rc;
	for (uint32_t i = 0; i < t->nthreads; i++)
		nvtx_phases_add_thread(t, i, &p, ns);
	for (size_t i = 0; i < t->nvtx.n; i++)
		if (t->nvtx.kind[i] == NSX_NVTX_ASYNC)
			nsx_add_to(&ns[p.of[i]], nsx_range_inside(t, i));
	return 0;
}

static int nvtx_phases_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	const struct nsx_phase_map *m = run->opts->phases;
	struct nsx_table *table = nsx_add_table(out, &layout);
	int64_t *ns = nsx_arena_get(run->scratch, (nsx_phase_count(m) + 1) * sizeof(*ns));

	if (nvtx_phases_sum_up(run, ns, err))
		return err->rc;
	nsx_put(out, "nvtx_total_time_ms", nsx_ms(nsx_nvtx_phase_rows(m, ns, table)));
	nsx_md_heading(out, "NVTX");
	nsx_md_subheading(out, "NVTX phases (mapped, wall-time)");
	nsx_md_bullet(out, "A range that matches no pattern belongs to the phase of the range "
			   "around it; each instant of a thread counts once.");
	nsx_md_whole(out, table, 0);
	return 0;
}

NSX_DEFINE_PASS(nvtx_phases,
	.summary = "host time by the phases of --phase-map",
	.doc = "A push/pop range belongs to the first phase in file order with a pattern that "
	       "matches its name, recorded or normalised; without a match, to the phase of the "
	       "nearest range around it on its thread. At each instant the innermost open range of "
	       "a thread, of any domain, decides the phase. Start/end ranges belong to the phase "
	       "that matches their name and count in whole. unmapped is the rest; the total is the "
	       "time in any range.",
	.by_phase = true,
	.caveat = "a range that matches no pattern belongs to the phase of the range around it, "
		   "and each instant of a thread counts once; nsys-llm-explain adds up whole "
		   "ranges, outer and inner, by their own names only",
	.needs = {NSX_NEED_VIEW(nvtx)},
	NSX_LAYOUT(layout),
	.may_be_null = true);
