/* detect.c - runs the detectors. */
#include "base/par.h"
#include "detect/detect.h"
#include "facts/outside.h"

enum when {
	NSX_GPU_WINDOW,	 /* if a window of GPU work is judged                */
	/* if a window of GPU work is judged; runs after the detector above, whose findings it
	 * reads
	 */
	NSX_GPU_WINDOW_NEXT,
	/* if a window of GPU work is judged and the causes of idle time are known */
	NSX_IDLE_KNOWN,
	NSX_NO_GPU_WORK, /* if the trace has no GPU work                     */
	NSX_ALWAYS,
};
static const struct {
	int (*run)(struct nsx_detect *d, struct nsx_err *err);
	enum when when;
} detectors[] = {
#define NSX_DETECTOR(name, when) {nsx_detect_##name, when},
#include "detect/detect.def"
#undef NSX_DETECTOR
};

enum {
#define NSX_DETECTOR(name, when) AT_##name,
#include "detect/detect.def"
#undef NSX_DETECTOR
	LONGEST = AT_memory, /* slow with many kernel names, because `kernels` runs after it */
};

struct search {
	const struct nsx_detect *d;
	struct nsx_findings found[ARRAY_LEN(detectors)]; /* by detector      */
};

static bool applies_to_trace(const struct nsx_detect *d, enum when when)
{
	if (when == NSX_NO_GPU_WORK)
		return !d->trace->has_gpu_work;
	if (when == NSX_IDLE_KNOWN && nsx_is_idle_unknown(&d->facts->lost))
		return false;
	return when == NSX_ALWAYS || d->w.start_ns < d->w.end_ns;
}

/* Runs a detector and those that read its findings, on a list of their own. The longest starts
 * first so that it does not end last.
 */
static int run_detector(void *ctx, size_t task, struct nsx_err *err)
{
	struct search *s = ctx;
	struct nsx_detect d = *s->d;
	size_t i = !task ? LONGEST : task <= LONGEST ? task - 1 : task, k = i;
	int rc = 0;

	d.found = &s->found[i];
	if (detectors[i].when == NSX_GPU_WINDOW_NEXT)
		return 0;
	do {
		d.scratch = nsx_arena_new();
		if (applies_to_trace(&d, detectors[k].when))
			rc = detectors[k].run(&d, err);
		nsx_free_kept(&d);
		k++;
	} while (!rc && k < ARRAY_LEN(detectors) && detectors[k].when == NSX_GPU_WINDOW_NEXT);
	return rc;
}

/* Sums the idle time of the limiting GPU by cause. */
static void detect_sum_idle(struct nsx_detect *d)
{
	const struct nsx_facts *f = d->facts;
	const struct nsx_idle *idle = f->limiting == NSX_NONE ? NULL : &f->idle[f->limiting];

	for (size_t i = 0; idle && i < idle->n; i++) {
		struct nsx_idle_piece x = nsx_idle_at(idle, i);

		d->idle_ns[x.cause] += NSX_MAX(0, NSX_MIN(x.end_ns, d->w.end_ns) -
						  NSX_MAX(x.start_ns, d->w.start_ns));
	}
}

/* Facts about calls and idle time that all detectors need, computed in parallel. */
enum { IDLE, STAGED, NFACTS };

static int prepare(void *ctx, size_t task, struct nsx_err *err)
{
	struct nsx_detect *d = (struct nsx_detect *)ctx + task;
	int rc;

	if (task == IDLE) {
		detect_sum_idle(d);
		return 0;
	}
	d->scratch = nsx_arena_new();
	rc = nsx_mark_staged(d, d->library, err);
	nsx_free_kept(d);
	return rc;
}

static int prepare_all(struct nsx_detect *d, struct nsx_err *err)
{
	if (!nsx_new_array(d->library, d->scratch, d->trace->calls.n / 8 + 1, "calls", err))
		return err->rc;
	struct nsx_detect own[NFACTS] = {*d, *d};
	int rc = nsx_par(d->opts->threads, NFACTS, prepare, own, err);

	memcpy(d->idle_ns, own[IDLE].idle_ns, sizeof(d->idle_ns));
	return rc;
}

int nsx_detect(struct nsx_detect *d, struct nsx_err *err)
{
	struct search s = {.d = d};
	size_t at = d->trace->osrt.n;
	struct nsx_outside mpi;
	int rc;

	d->w = nsx_judged(d->facts);
	d->length_ns = (double)(d->w.end_ns - d->w.start_ns);
	d->has_mpi = nsx_outside_next(d->trace, &at, &mpi);
	d->is_pytorch = nsx_sees_pytorch(d->trace);
	d->scratch = nsx_arena_new();
	for (size_t i = 0; i < ARRAY_LEN(detectors); i++)
		s.found[i].arena = nsx_arena_new();
	rc = prepare_all(d, err) ?:
	     nsx_par(d->opts->threads, ARRAY_LEN(detectors), run_detector, &s, err);
	nsx_arena_free(d->scratch);
	for (size_t i = 0; i < ARRAY_LEN(detectors); i++)
		nsx_findings_take(d->found, &s.found[i]);
	if (!rc)
		nsx_limit_by_model(d);
	return rc;
}
