/* meanwhile.c - another thread's work during waits: the range that is open for most of them and
 * whose end lets the waiting thread continue.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "detect/host.h"
#include "detect/words.h"

#define MOSTLY 0.75  /* least share of the waits' time in waits that end with a range */
#define COVERED 0.5  /* least share of the waits' time during which a range must be open */
/* an inner range is preferred if it covers this part of its outer one's time or more */
#define ALIKE 0.95
/* greatest distance of a wait's end from the range's end: in ns, and as a part of the wait */
enum { LATE_NS = 50000, LATE_PART = 5 };

/* Ranges ------------------------------------------------------------------------*/

struct doing { /* ranges of one kind on one thread */
	uint32_t first, thread;
	/* time of ranges inside waits; time of waits that end with a range */
	int64_t in_ns, ends_ns;
};

struct looker {
	const struct nsx_trace *t;
	const struct nsx_spans *waits;
	int64_t *prefix; /* prefix sums over the waits' lengths              */
	struct nsx_groups kinds; /* (thread, kind of range)                  */
	struct doing *v;
};

/* Time of those of the first n waits that end with a range which ends at end_ns. Several do only if
 * they are short and close together, so the search is short.
 */
static int64_t end_with(const struct nsx_spans *waits, size_t n, int64_t end_ns)
{
	int64_t sum_ns = 0;

	while (n--) {
		struct nsx_span w = nsx_span_at(waits, n);
		int64_t ns = w.end_ns - w.start_ns;

		if (imaxabs(end_ns - w.end_ns) <= NSX_MAX(LATE_NS, ns / LATE_PART))
			nsx_add_to(&sum_ns, ns);
		else if (w.end_ns < end_ns)
			break;
	}
	return sum_ns;
}

static int meanwhile_look_at(struct looker *x, struct nsx_detect *d, uint32_t thread,
			     uint32_t range, struct nsx_err *err)
{
	struct nsx_span r = {nsx_range_start(&x->t->nvtx, range),
			     nsx_range_end(&x->t->nvtx, range)};
	size_t known = x->kinds.n, before = nsx_spans_find(x->waits, r.end_ns);
	struct doing *v;

	before += before < x->waits->n && nsx_span_start(x->waits, before) < r.end_ns;
	if (!before || nsx_span_at(x->waits, before - 1).end_ns <= r.start_ns)
		return 0;
	v = nsx_group_value(&x->kinds, &x->v, thread,
			    nsx_range_kind(d->trace, range), "ranges", err);
	if (!v)
		return err->rc;
	if (x->kinds.n > known)
		*v = (struct doing){.first = range, .thread = thread};
	nsx_add_to(&v->in_ns, nsx_spans_within(x->waits, x->prefix, r.start_ns, r.end_ns));
	nsx_add_to(&v->ends_ns, end_with(x->waits, before, r.end_ns));
	return 0;
}

static void choose_range(const struct looker *x, struct nsx_meanwhile *ret)
{
	double all_ns = (double)nsx_spans_total(x->waits);

	for (size_t i = 0; i < x->kinds.n; i++) {
		const struct doing *v = &x->v[i];

		if ((double)v->in_ns < COVERED * all_ns ||
		    (double)v->ends_ns < MOSTLY * all_ns ||
		    (double)v->in_ns < ALIKE * (double)ret->ns)
			continue;
		*ret = (struct nsx_meanwhile){v->first, v->thread, v->in_ns};
	}
}

int host_meanwhile(struct nsx_detect *d, uint32_t thread,
		   const struct nsx_spans *waits, bool is_message,
		   struct nsx_meanwhile *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	struct looker x = {.t = t, .waits = waits};
	uint32_t own = t->thread[thread].process;
	int rc = nsx_spans_prefix(d->scratch, waits, &x.prefix, err);

	*ret = (struct nsx_meanwhile){NSX_NONE, NSX_NONE, 0};
	for (uint32_t h = 0; !rc && h < t->nthreads; h++) {
		const struct nsx_thread *th = &t->thread[h];

		if (h == thread || !th->nnvtx || (is_message && th->process != own))
			continue;
		for (uint32_t i = th->nvtx_at; !rc && i < th->nvtx_at + th->nnvtx; i++)
			if (!d->facts->nvtx.nested[i] &&
			    !t->domain[nsx_range_domain(&t->nvtx, i)].is_library)
				rc = meanwhile_look_at(&x, d, h, i, err);
	}
	if (!rc)
		choose_range(&x, ret);
	nsx_groups_done(&x.kinds);
	free(x.v);
	return rc;
}

/* Texts -------------------------------------------------------------------------*/

const char *host_say_meanwhile(struct nsx_detect *d, uint32_t thread, const struct nsx_meanwhile *m)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_thread *h = &t->thread[m->thread];
	uint32_t own = t->thread[thread].process;
	const struct nsx_process *p;

	if (h->process == own || h->process == NSX_NONE)
		return nsx_tell(d->found, "%s on thread %s",
				nsx_range_path(d, m->range), h->name ?
				nsx_tell_name(d->found, nsx_text(t, h->name)) :
				nsx_tell(d->found, "%lld", (long long)h->tid));
	p = &t->process[h->process];
	return nsx_tell(d->found, "%s in process %s", nsx_range_path(d, m->range),
			p->name ? nsx_tell_name(d->found, nsx_text(t, p->name)) :
				  nsx_pid_label(t, h->process));
}

void host_tell_meanwhile(struct nsx_detect *d, const struct nsx_meanwhile *m, struct nsx_finding *f)
{
	const char *path = nsx_range_path(d, m->range);

	nsx_add_evidence(f, nsx_tell(d->found, say_meanwhile_runs_most_these, path,
				    nsx_tell_ns(d->found, m->ns)));
	f->place = path;
	f->recommendation[0] = nsx_tell(d->found, say_make_shorter_or_let, path);
}
