/* pace.c - a program that waits at a fixed period for something outside, such as a camera: with a
 * faster host it would only wait longer.
 */
#include <stdlib.h>
#include <string.h>
#include "detect/host.h"
#include "facts/outside.h"
#include "facts/replay/replay.h"

#define SPREAD 0.05 /* greatest median distance from the median period, relative to it */
#define MUCH 0.1    /* share of the window that the host's code must seem to cost */
/* share of that gain that is won in any case: more means the program is not paced */
#define SURE 0.1
#define EVEN 1.1    /* nine of ten periods take at most this many times the median */
#define STEADIER 2  /* a clock's period is this many times as steady as the idle time */
#define CLOCK 0.005 /* like SPREAD, for a clock */
#define MADE_UP 0.375 /* least negative correlation with the next length; a clock's is 1/2 */
#define FAR 3	    /* distances are cut to this many median distances */
/* limit of the ratio of sums of squares, of quarters to single lengths. There are 3/4 as many
 * quarters, so each may have twice the square
 */
#define LITTLE 1.5
#define AGAIN 0.5   /* correlation from which lengths repeat after some iterations */
/* FEWEST_MADE_UP: with fewer iterations more than 1 in 200 looks like that by chance */
enum { FEWEST = 8, FEWEST_MADE_UP = 48,
       QUARTER = 4, CYCLE = 8 /* longest cycle of lengths, in iterations */ };

/* rhythm of the limiting GPU's iterations in the judged window */
struct rhythm {
	double period_ns; /* median; 0: too few iterations, or of different lengths */
	bool is_clock;	  /* the GPU idles longer by as much as it works less */
	/* a length that is too long is followed by one too short, none is slow, and the sum of a
	 * quarter of them varies hardly more than one
	 */
	bool keeps_phase;
};

/* Whether lengths repeat every few iterations, as those of batches of different sizes do.
 * Alternating short and long lengths compensate each other without any clock.
 */
static bool lengths_repeat(const int64_t *ns, size_t n, double mean)
{
	for (size_t apart = 2; apart <= CYCLE; apart++) {
		double with = 0, alone = 0;

		for (size_t i = 0; i < n; i++) {
			double by = (double)ns[i] - mean;

			alone += by * by;
			with += i < apart ? 0 : by * ((double)ns[i - apart] - mean);
		}
		if (with >= AGAIN * alone)
			return true;
	}
	return false;
}

/* Finds whether lengths compensate each other, as do those between ticks of a clock that are
 * observed early or late. Without a clock each iteration starts some time after the last, and
 * delays add up. Neighbours may also compensate each other if only the observation is late and
 * delays are small, so the sum of a quarter of all iterations is better evidence than one. Replaces
 * ns by these sums.
 */
static void find_sway(int64_t *ns, size_t n, double median, double apart, struct rhythm *ret)
{
	double last = 0, with_next = 0, alone = 0, mean = 0, quarter = 0;
	size_t k = n / QUARTER, nslow = 0;
	bool again;

	for (size_t i = 0; i < n; i++) {
		double by = (double)ns[i] - median;

		nslow += by > (EVEN - 1) * median;
		ns[i] = nsx_to_i64(NSX_MAX(-FAR * apart, NSX_MIN(FAR * apart, by)));
		mean += (double)ns[i] / (double)n;
	}
	again = lengths_repeat(ns, n, mean);
	for (size_t i = 0; i < n; i++) {
		double by = (double)ns[i] - mean;

		with_next += last * by;
		alone += by * by;
		last = by;
		ns[i] = nsx_to_i64(by) + (i ? ns[i - 1] : 0);
	}
	for (size_t i = k; i < n; i++) {
		double by = (double)(ns[i] - ns[i - k]);

		quarter += by * by;
	}
	ret->keeps_phase = n >= FEWEST_MADE_UP && alone > 0 && !again && !nslow &&
			   with_next <= -MADE_UP * alone && quarter <= LITTLE * alone;
}

static int find_rhythm(struct nsx_detect *d, struct rhythm *ret, struct nsx_err *err)
{
	const struct nsx_facts *f = d->facts;
	int64_t *ns, *in_order, *idle_ns;
	double median, apart, idle, idle_apart;
	size_t n = 0;

	*ret = (struct rhythm){0};
	if (nsx_new_arrays(d->scratch, f->niterations, "iterations", err, ns, in_order, idle_ns))
		return err->rc;
	for (size_t i = 0; i < f->niterations; i++) {
		const struct nsx_iteration *x = &f->iterations[i];
		struct nsx_partition part;

		if (x->device != f->limiting ||
		    x->start_ns < d->w.start_ns || x->end_ns > d->w.end_ns)
			continue;
		nsx_partition(&f->device[x->device], x->start_ns, x->end_ns, &part);
		ns[n] = in_order[n] = x->end_ns - x->start_ns;
		idle_ns[n++] = part.ns[NSX_P_IDLE];
	}
	if (n < FEWEST || nsx_quantile(ns, n, 0.9) > EVEN * nsx_quantile(ns, n, 0.5))
		return 0;
	apart = nsx_median_distance(ns, n, &median);
	if (apart > SPREAD * median)
		return 0;
	ret->period_ns = median;
	idle_apart = nsx_median_distance(idle_ns, n, &idle);
	ret->is_clock = apart <= CLOCK * median && STEADIER * STEADIER * apart < idle_apart;
	find_sway(in_order, n, median, apart, ret);
	return 0;
}

/* Whether launching threads wait mostly for other threads of the program or for ranks. Then the
 * cause is the work of these.
 */
static bool waits_inside(const struct nsx_detect *d)
{
	struct nsx_outside o;
	int64_t all_ns = 0, ns = 0;

	for (size_t at = 0; nsx_outside_next(d->trace, &at, &o);) {
		const char *name = nsx_text(d->trace, o.name);

		if (!nsx_is_judged(d, o.start_ns))
			continue;
		nsx_add_to(&all_ns, o.end_ns - o.start_ns);
		if (o.is_mpi || !strncmp(name, "pthread_", 8) ||
		     !strncmp(name, "sem_", 4) || !strcmp(name, "futex"))
			nsx_add_to(&ns, o.end_ns - o.start_ns);
	}
	return ns && ns >= all_ns / 2;
}

/* Whether launching threads wait, outside CUDA, mostly for input from the program itself, such as a
 * loader's batches. A slow loader keeps a period too.
 */
static bool waits_for_loader(const struct nsx_detect *d)
{
	struct nsx_outside o;
	int64_t all_ns = 0, ns = 0;

	for (size_t at = 0; nsx_outside_next(d->trace, &at, &o);) {
		enum awaited what = host_waits_for(nsx_text(d->trace, o.name));

		if (!nsx_is_judged(d, o.start_ns))
			continue;
		nsx_add_to(&all_ns, o.end_ns - o.start_ns);
		if (what == INPUT && !host_is_outside(d, what))
			nsx_add_to(&ns, o.end_ns - o.start_ns);
	}
	return ns > all_ns / 2;
}

static bool computes_throughout(const struct nsx_detect *d)
{
	const struct nsx_facts *f = d->facts;
	struct nsx_partition part;

	if (f->limiting == NSX_NONE)
		return false;
	nsx_partition(&f->device[f->limiting], d->w.start_ns, d->w.end_ns, &part);
	return (double)nsx_computing_ns(part.ns) >
	       (1 - MUCH) * (double)(d->w.end_ns - d->w.start_ns);
}

/* Without recorded waits the lengths must show a clock. */
static bool is_paced(const struct rhythm *r, bool sees_waits)
{
	return sees_waits || r->is_clock || r->keeps_phase;
}

enum { HOST, BOTH, NPLANS }; /* plans: the host's code takes no time; nor do waits outside CUDA */

/* Judges whether the program is paced: a host that takes no time wins next to nothing as long as
 * waits outside CUDA end when they did, compared with a host without these waits.
 */
static int pace_judge(const struct nsx_detect *d, const struct rhythm *r, bool sees_waits,
		      struct nsx_gain g[NPLANS], bool *ret, struct nsx_err *err)
{
	const struct nsx_change v[] = {{.verb = NSX_INSTANT_HOST},
				       {.verb = NSX_NO_OS_WAIT, .name = ".",
					.is_pattern = true}};
	const struct nsx_plan plans[NPLANS] = {
		[HOST] = {v, 1}, [BOTH] = {v, 2}};

	*ret = false;
	if (nsx_replay_prices(d->facts->model, plans, NULL, NPLANS, 1, g, err))
		return err->rc;
	*ret = g[HOST].confidence != NSX_CONF_NONE && g[BOTH].share >= MUCH &&
	       is_paced(r, sees_waits) &&
	       (!sees_waits ||
		(double)g[HOST].low_ns < SURE * (double)g[BOTH].gain_ns);
	return 0;
}

static void pace_propose(struct nsx_detect *d, const struct rhythm *r, bool sees_waits,
			 int64_t least_ns)
{
	struct nsx_findings *l = d->found;
	bool sees_calls = nsx_has_view(d->trace->schema, NSX_VIEW_osrt);
	struct nsx_finding f = {
		.id = NSX_ID_paced, .device = d->facts->limiting,
		.title = nsx_tell(l, "the program is paced from outside, every %s: there is little "
			"to win", nsx_text_ns(l->arena, r->period_ns)),
		.confidence = sees_waits ? NSX_CONF_MEDIUM : NSX_CONF_LOW,
		.evidence = {!sees_waits && r->is_clock ?
			"its period stays the same while the GPU's work in it "
			"differs, as if a clock kept it; waits of the host were "
			"not recorded" :
			!sees_waits ?
			"its period is too long one time and too short the next, as if a "
			"clock kept it; waits of the host were not recorded" :
			nsx_tell(l, "its threads wait outside CUDA in each period; as long as they "
				 "do, even an infinitely fast host wins only %s of the judged "
				 "window", nsx_tell_ns(l, least_ns)),
			sees_calls ? NULL :
			"whether another thread of the program is what it waits for, calls of "
			"the operating system would tell"},
		.recommendation = {"look at what it waits for (a camera, a "
				   "network, a timer); on this machine there "
				   "is room for more work in each period"},
		.proof = {{.csv = "iterations", .column = "wall_ms",
			   .at = {{"steady", nsx_bool(true)}}}}};

	nsx_found(l, &f);
}

int nsx_detect_pace(struct nsx_detect *d, struct nsx_err *err)
{
	bool sees_waits = nsx_has_view(d->trace->schema, NSX_VIEW_osrt) ||
			  nsx_has_view(d->trace->schema, NSX_VIEW_sched);
	const struct nsx_facts *f = d->facts;
	struct nsx_gain g[NPLANS];
	struct rhythm r;
	bool is_it = false;

	/* Communicating ranks keep a common period: the others may be waiting for this one. */
	if (f->limiting != NSX_NONE && f->device[f->limiting].comm.n)
		return 0;
	if (find_rhythm(d, &r, err))
		return err->rc;
	if (!(r.period_ns > 0) || computes_throughout(d) || waits_inside(d) || waits_for_loader(d))
		return 0;
	if (pace_judge(d, &r, sees_waits, g, &is_it, err))
		return err->rc;
	if (is_it)
		pace_propose(d, &r, sees_waits, g[HOST].low_ns);
	return 0;
}
