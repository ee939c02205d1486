/* pace.c - a program that waits at a fixed period for something outside, such as a camera: with a
 * faster host it would only wait longer.
 */
#include "detect/detect.h"
#include "detect/words.h"
#include "facts/outside.h"
#include "facts/replay/replay.h"

#define SPREAD 0.05 /* greatest median distance from the median period, relative to it */
#define MUCH 0.1    /* least share of the window that the host's code must seem to cost */
/* share of that gain that is won in any case: more means the program is not paced */
#define SURE 0.1
#define EVEN 1.1    /* nine of ten periods take at most this many times the median */
enum { FEWEST = 8 }; /* iterations that show a period */

/* *ret: the median length of the limiting GPU's judged iterations; 0: too few iterations, or of
 * different lengths.
 */
static int find_period(struct nsx_detect *d, double *ret, struct nsx_err *err)
{
	const struct nsx_facts *f = d->facts;
	double median;
	int64_t *ns;
	size_t n = 0;

	*ret = 0;
	if (!nsx_new_array(ns, d->scratch, f->niterations, "iterations", err))
		return err->rc;
	for (size_t i = 0; i < f->niterations; i++) {
		const struct nsx_iteration *x = &f->iterations[i];

		if (x->device == f->limiting && x->start_ns >= d->w.start_ns &&
		    x->end_ns <= d->w.end_ns)
			ns[n++] = x->end_ns - x->start_ns;
	}
	if (n < FEWEST || nsx_quantile(ns, n, 0.9) > EVEN * nsx_quantile(ns, n, 0.5))
		return 0;
	if (nsx_median_distance(ns, n, &median) <= SPREAD * median)
		*ret = median;
	return 0;
}

/* Whether launching threads wait, outside CUDA, mostly for other threads of the program, for ranks or
 * for input from the program itself, such as a loader's batches. Then the cause is the work of these,
 * which keeps a period too.
 */
static bool waits_inside(const struct nsx_detect *d)
{
	struct nsx_outside o;
	int64_t all_ns = 0, ns = 0;

	for (size_t at = 0; nsx_outside_next(d->trace, &at, &o);) {
		enum awaited what = host_waits_for(nsx_text(d->trace, o.name));

		if (!nsx_is_judged(d, o.start_ns))
			continue;
		nsx_add_to(&all_ns, o.end_ns - o.start_ns);
		if (o.is_mpi || what == A_THREAD || what == A_LOCK ||
		    (what == INPUT && !host_is_outside(d, what)))
			nsx_add_to(&ns, o.end_ns - o.start_ns);
	}
	return ns && ns >= all_ns / 2;
}

static bool computes_throughout(const struct nsx_detect *d)
{
	struct nsx_partition part;

	nsx_partition(&d->facts->device[d->facts->limiting], d->w.start_ns, d->w.end_ns, &part);
	return (double)nsx_computing_ns(part.ns) > (1 - MUCH) * d->length_ns;
}

enum { HOST, BOTH, NPLANS }; /* plans: the host's code takes no time; nor do waits outside CUDA */

/* Judges whether the program is paced: a host that takes no time wins next to nothing as long as
 * waits outside CUDA end when they did, compared with a host without these waits.
 */
static int pace_judge(const struct nsx_detect *d, struct nsx_gain g[NPLANS], bool *ret,
		      struct nsx_err *err)
{
	const struct nsx_change v[] = {{.verb = NSX_INSTANT_HOST},
				       {.verb = NSX_NO_OS_WAIT, .name = ".",
					.is_pattern = true}};
	const struct nsx_plan plans[NPLANS] = {
		[HOST] = {v, 1}, [BOTH] = {v, 2}};

	*ret = false;
	if (nsx_replay_prices(d->facts->model, plans, NPLANS, 1, g, err))
		return err->rc;
	*ret = g[HOST].confidence != NSX_CONF_NONE && g[BOTH].share >= MUCH &&
	       (double)g[HOST].low_ns < SURE * (double)g[BOTH].gain_ns;
	return 0;
}

int nsx_detect_pace(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_facts *f = d->facts;
	bool sees_calls = nsx_has_view(d->trace->schema, NSX_VIEW_osrt), is_it;
	struct nsx_findings *l = d->found;
	struct nsx_gain g[NPLANS];
	double period_ns;

	/* Communicating ranks keep a common period: the others may be waiting for this one. */
	if (f->limiting == NSX_NONE || f->device[f->limiting].comm.n ||
	    !(sees_calls || nsx_has_view(d->trace->schema, NSX_VIEW_sched)))
		return 0;
	if (find_period(d, &period_ns, err))
		return err->rc;
	if (!(period_ns > 0) || computes_throughout(d) || waits_inside(d))
		return 0;
	if (pace_judge(d, g, &is_it, err))
		return err->rc;
	if (is_it)
		nsx_found(l, &(struct nsx_finding){.id = NSX_ID_paced,
			.device = f->limiting, .confidence = NSX_CONF_MEDIUM,
			.title = nsx_tell(l, say_program_paced_from_outside,
				nsx_text_ns(l->arena, period_ns)),
			.evidence = {nsx_tell(l, say_threads_wait_outside_cuda,
					     nsx_tell_ns(l, g[HOST].low_ns)),
				sees_calls ? NULL : say_whether_another_thread},
			.recommendation = {say_look_at_what_waits_camera},
			.proof = {{.csv = "iterations", .column = "wall_ms",
				.at = {{"steady", nsx_bool(true)}}}}});
	return 0;
}
