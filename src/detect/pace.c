/* pace.c - a program that waits for something outside at a fixed period, such as
 * a camera: whatever the host did faster, it would wait longer.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/stat.h"
#include "detect/detect.h"
#include "facts/replay/replay.h"
#include "report/words.h"

#define SPREAD 0.05 /* median difference from the median period */
#define MUCH 0.1    /* of the window, that the host seems to cost */
#define SURE 0.1    /* of that, which is won in any case */
enum { FEWEST = 8 };

/* Median length of the iterations of the limiting GPU in the judged window; 0:
 * they are few, or not of one length.
 */
static int find_period(struct nsx_detect *d, double *ret, struct nsx_err *err)
{
	const struct nsx_facts *f = d->facts;
	int64_t *ns = nsx_arena_try_array(d->scratch, f->niterations,
					  sizeof(*ns), "iterations", err);
	double median;
	size_t n = 0;

	*ret = 0;
	if (!ns)
		return err->rc;
	for (size_t i = 0; i < f->niterations; i++) {
		const struct nsx_iteration *x = &f->iterations[i];

		if (x->device == f->limiting &&
		    x->start_ns >= d->w.start_ns && x->end_ns <= d->w.end_ns)
			ns[n++] = x->end_ns - x->start_ns;
	}
	if (n < FEWEST)
		return 0;
	median = nsx_quantile(ns, n, 0.5);
	for (size_t i = 0; i < n; i++)
		ns[i] = llabs(ns[i] - nsx_to_i64(median));
	if (nsx_quantile(ns, n, 0.5) <= SPREAD * median)
		*ret = median;
	return 0;
}

/* Whether launching threads wait most of the time for other threads of their
 * program: what those do is then the cause.
 */
static bool waits_inside(const struct nsx_detect *d)
{
	const struct nsx_osrt *o = &d->trace->osrt;
	int64_t ns = 0;

	for (size_t i = 0; i < o->n; i++) {
		const char *name = nsx_text(d->trace, o->name[i]);

		if (o->start_ns[i] >= d->w.start_ns &&
		    o->start_ns[i] < d->w.end_ns &&
		    (!strncmp(name, "pthread_", 8) ||
		     !strncmp(name, "sem_", 4) || !strcmp(name, "futex")))
			nsx_add_to(&ns, o->end_ns[i] - o->start_ns[i]);
	}
	return 2 * ns >= d->w.end_ns - d->w.start_ns;
}

int nsx_detect_pace(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_change instant = {.verb = NSX_INSTANT_HOST};
	struct nsx_findings *l = d->found;
	struct nsx_gain g;
	double period;

	if (find_period(d, &period, err) ||
	    nsx_replay_price(d->facts->model, &instant, 1, &g, err))
		return err->rc;
	if (!(period > 0) || waits_inside(d) || g.confidence == NSX_ABSTAINS || g.share < MUCH ||
	    (double)g.low_ns >= SURE * (double)g.gain_ns)
		return 0;
	struct nsx_finding f = {
		.id = NSX_ID_paced, .device = d->facts->limiting,
		.title = nsx_tell(l,
			"the program is paced from outside, every %s: there is "
			"little to win",
			nsx_text_ns(l->arena, period)),
		.confidence = NSX_CONF_MEDIUM,
		.evidence = {nsx_tell(
			l,
			"its threads wait outside CUDA in each period; if "
			"these waits end when they did, a host that took no "
			"time at all would win %s of the judged window",
			nsx_text_ns(l->arena, (double)g.low_ns))},
		.recommendation = {"look at what it waits for (a camera, a "
				   "network, a timer); on this machine there "
				   "is room for more work in each period"},
		.proof = {{.csv = "iterations", .column = "wall_ms",
			   .units = "ms",
			   .at = {{"steady", nsx_bool(true)}}}}};

	nsx_found(l, &f);
	return 0;
}
