/* turns.c - GPUs of one process that compute one after another: a thread waits for each before
 * it launches on the next, or layers are spread over them.
 */
#include "detect/detect.h"

#define SHARED 0.05 /* greatest overlap of one GPU's compute with another's, as a share */
#define ALIKE 0.25  /* least compute of each GPU, as a share of the mean     */
#define MOST 0.5    /* least share of the window in which one of them computes */

/* Whether a thread launches on each device. */
static const bool *launches_on(const struct nsx_detect *d, uint32_t thread)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_thread *h = &t->thread[thread];
	bool *ret = nsx_arena_get(d->scratch, t->ndevices * sizeof(*ret));

	for (uint32_t i = h->calls_at; i < h->calls_at + h->ncalls; i++)
		if (nsx_call_op(&t->calls, i) != NSX_NONE)
			ret[nsx_stream_of(t, nsx_call_op(&t->calls, i))->device] = true;
	return ret;
}

/* How many of the GPUs that a thread launches on take turns. */
static uint32_t turns_of(const struct nsx_detect *d, uint32_t thread)
{
	const struct nsx_facts *f = d->facts;
	const bool *is_on = launches_on(d, thread);
	int64_t all_ns = 0, both_ns = 0, judged_ns = 0, least_ns = INT64_MAX;
	struct nsx_partition part;
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->trace->ndevices; i++) {
		const struct nsx_spans *x = &f->device[i].compute;

		if (!x->n || !is_on[i])
			continue;
		for (uint32_t k = 0; k < i; k++)
			if (is_on[k])
				nsx_add_to(&both_ns, nsx_spans_overlap(x, &f->device[k].compute));
		nsx_add_to(&all_ns, nsx_spans_total(x));
		if ((double)both_ns > SHARED * (double)all_ns)
			return 0;
		nsx_partition(&f->device[i], d->w.start_ns, d->w.end_ns, &part);
		nsx_add_to(&judged_ns, nsx_computing_ns(part.ns));
		least_ns = NSX_MIN(least_ns, nsx_computing_ns(part.ns));
		n++;
	}
	return n > 1 && (double)least_ns * n >= ALIKE * (double)judged_ns &&
			       (double)judged_ns >=
				       MOST * (double)(d->w.end_ns - d->w.start_ns) ?
		       n : 0;
}

uint32_t nsx_turns(const struct nsx_detect *d, uint32_t process)
{
	const struct nsx_trace *t = d->trace;
	bool several = nsx_on_several_gpus(t, process);
	uint32_t n = 0;

	for (uint32_t h = 0; several && !n && h < t->nthreads; h++)
		if (t->thread[h].process == process)
			n = turns_of(d, h);
	return n;
}
