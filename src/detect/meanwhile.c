/* meanwhile.c - what another thread does while one waits for it: the range that is open
 * most of the time, and whose end lets the thread go on; or, of another process, that it works
 * until it hands over.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "detect/host.h"

#define MOSTLY 0.75  /* of the waits, that end with a range                  */
#define COVERED 0.5  /* of the waits, in which it is open                    */
#define ALIKE 0.95   /* of what an outer range covers: the inner one says more */
enum { LATE_NS = 50000, LATE_PART = 5 /* of a wait: so far apart they may end */ };

/* Hand-overs -------------------------------------------------------------------*/

struct ends { /* of waits, with what another thread does */
	int64_t ns;  /* of the waits                                         */
	size_t seen; /* waits, that have ended                               */
};
struct hand_overs { /* of a thread, to one that waits */
	struct ends all, sent; /* sent: as it sends, not as it begins to wait */
	int64_t both_ns; /* of the waits, in which it waits itself           */
	size_t nsent;
};

static void add_end(struct ends *x, const struct nsx_spans *waits, int64_t at_ns)
{
	size_t i = nsx_spans_find(waits, at_ns - LATE_NS - 1);
	struct nsx_span w;

	if (i == waits->n || i < x->seen)
		return;
	w = nsx_span_at(waits, i);
	if (w.end_ns > at_ns + LATE_NS)
		return;
	nsx_add_to(&x->ns, w.end_ns - w.start_ns);
	x->seen = i + 1;
}

static struct hand_overs find_hand_overs(const struct nsx_trace *t, uint32_t thread,
					 const struct nsx_spans *waits,
					 const int64_t *prefix)
{
	const struct nsx_thread *th = &t->thread[thread];
	struct hand_overs ret = {0};

	for (uint32_t i = th->osrt_at; i < th->osrt_at + th->nosrt; i++) {
		const char *name = nsx_text(t, t->osrt.name[i]);
		int64_t start_ns = t->osrt.start_ns[i], end_ns = t->osrt.end_ns[i];

		if (strstr(name, "send") || strstr(name, "write")) {
			ret.nsent++;
			add_end(&ret.all, waits, end_ns);
			add_end(&ret.sent, waits, end_ns);
		} else if (end_ns - start_ns >= LATE_NS) {
			nsx_add_to(&ret.both_ns, nsx_spans_within(
				waits, prefix, start_ns, end_ns));
			add_end(&ret.all, waits, start_ns);
		}
	}
	return ret;
}

/* Ranges ------------------------------------------------------------------------*/

struct doing { /* ranges of one kind, of a thread */
	uint32_t first, thread;
	int64_t in_ns, ends_ns; /* in the waits; of those that end with one  */
};

struct looker {
	const struct nsx_trace *t;
	const struct nsx_spans *waits;
	int64_t *prefix; /* of waits                                         */
	struct nsx_spans both; /* ... in which the thread looked at waits for a
				  message itself: its ranges do nothing then */
	int64_t *both_prefix;
	struct nsx_groups kinds; /* (thread, kind of range)                  */
	struct doing *v;
	uint32_t process; /* last asked whether it hands over, and whether   */
	bool hands_over;
};

/* Of the waits before the n-th those that end with a range, which ends at end_ns: where
 * many do, these are short and close together.
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

static int look_at(struct looker *x, struct nsx_detect *d, uint32_t thread,
		   uint32_t range, struct nsx_err *err)
{
	struct nsx_span r = {nsx_range_start(&x->t->nvtx, range),
			     nsx_range_end(&x->t->nvtx, range)};
	size_t known = x->kinds.n, before = nsx_spans_find(x->waits, r.end_ns);
	struct doing *v;

	before += before < x->waits->n &&
		  nsx_span_start(x->waits, before) < r.end_ns;
	if (!before || nsx_span_at(x->waits, before - 1).end_ns <= r.start_ns)
		return 0;
	v = nsx_group_value(&x->kinds, &x->v, thread,
			    nsx_range_kind(d->trace, range), "ranges", err);
	if (!v)
		return err->rc;
	if (x->kinds.n > known)
		*v = (struct doing){.first = range, .thread = thread};
	nsx_add_to(&v->in_ns, nsx_spans_within(x->waits, x->prefix, r.start_ns,
					       r.end_ns));
	if (x->both.n)
		v->in_ns -= nsx_spans_within(&x->both, x->both_prefix, r.start_ns,
					     r.end_ns);
	nsx_add_to(&v->ends_ns, end_with(x->waits, before, r.end_ns));
	return 0;
}

/* What of the waits for a message a thread of another process spends in such a wait. */
static int list_both(struct looker *x, struct nsx_detect *d, const struct nsx_thread *th,
		     struct nsx_err *err)
{
	const struct nsx_trace *t = x->t;
	struct nsx_spans own = {0};
	int rc;

	x->both = (struct nsx_spans){0};
	if (!nsx_new_array(own.v, d->scratch, th->nosrt, "waits", err))
		return err->rc;
	for (uint32_t i = th->osrt_at; i < th->osrt_at + th->nosrt; i++)
		if (t->osrt.end_ns[i] - t->osrt.start_ns[i] >= LATE_NS &&
		    host_is_message(host_waits_for(nsx_text(t, t->osrt.name[i]))))
			nsx_spans_push(&own, t->osrt.start_ns[i], t->osrt.end_ns[i]);
	rc = nsx_spans_intersect(d->scratch, x->waits, &own, &x->both, err) ?:
	     nsx_spans_prefix(d->scratch, &x->both, &x->both_prefix, err);
	nsx_arena_drop(d->scratch, own.v);
	return rc;
}

/* Whether most waits end as some thread of the process sends, as far as that was recorded. */
static bool hands_over(struct looker *x, uint32_t process)
{
	const struct nsx_trace *t = x->t;
	size_t nsent = 0;
	int64_t ns = 0;

	if (x->process == process)
		return x->hands_over;
	for (uint32_t h = 0; h < t->nthreads; h++) {
		struct hand_overs v;

		if (t->thread[h].process != process)
			continue;
		v = find_hand_overs(t, h, x->waits, x->prefix);
		nsent += v.nsent;
		ns = NSX_MAX(ns, v.sent.ns);
	}
	x->process = process;
	x->hands_over = 2 * nsent < x->waits->n ||
			(double)ns >= MOSTLY * (double)nsx_spans_total(x->waits);
	return x->hands_over;
}

static void choose(struct looker *x, bool is_message, uint32_t own,
		   struct nsx_meanwhile *ret)
{
	double all_ns = (double)nsx_spans_total(x->waits);

	for (size_t i = 0; i < x->kinds.n; i++) {
		const struct doing *v = &x->v[i];
		uint32_t process = x->t->thread[v->thread].process;

		if ((double)v->in_ns < COVERED * all_ns ||
		    (double)v->ends_ns < MOSTLY * all_ns ||
		    (double)v->in_ns < ALIKE * (double)ret->ns ||
		    (is_message && process != own && !hands_over(x, process)))
			continue;
		*ret = (struct nsx_meanwhile){v->first, v->thread, v->in_ns};
	}
}

int host_meanwhile(struct nsx_detect *d, uint32_t thread,
		   const struct nsx_spans *waits, bool is_message,
		   struct nsx_meanwhile *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	struct looker x = {.t = t, .waits = waits, .process = NSX_NONE};
	uint32_t own = t->thread[thread].process;
	int rc = nsx_spans_prefix(d->scratch, waits, &x.prefix, err);

	*ret = (struct nsx_meanwhile){NSX_NONE, NSX_NONE, 0};
	for (uint32_t h = 0; !rc && h < t->nthreads; h++) {
		const struct nsx_thread *th = &t->thread[h];

		if (h == thread || !th->nnvtx)
			continue;
		x.both = (struct nsx_spans){0};
		if (is_message && th->process != own)
			rc = list_both(&x, d, th, err);
		for (uint32_t i = th->nvtx_at; !rc && i < th->nvtx_at + th->nnvtx; i++)
			if (!d->facts->nvtx.nested[i] &&
			    !t->domain[nsx_range_domain(&t->nvtx, i)].is_library)
				rc = look_at(&x, d, h, i, err);
	}
	if (!rc)
		choose(&x, is_message, own, ret);
	nsx_groups_done(&x.kinds);
	free(x.v);
	return rc;
}

int host_find_partner(struct nsx_detect *d, uint32_t thread,
		      const struct nsx_spans *waits, struct nsx_meanwhile *ret,
		      struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	double all_ns = (double)nsx_spans_total(waits);
	int64_t *prefix;

	if (nsx_spans_prefix(d->scratch, waits, &prefix, err))
		return err->rc;
	for (uint32_t h = 0; h < t->nthreads; h++) {
		const struct nsx_thread *th = &t->thread[h];
		struct hand_overs x;

		if (!th->launches || th->process == t->thread[thread].process)
			continue;
		x = find_hand_overs(t, h, waits, prefix);
		if ((double)x.all.ns >= MOSTLY * all_ns &&
		    (double)x.both_ns <= (1 - COVERED) * all_ns &&
		    x.all.ns > ret->ns) {
			ret->thread = h;
			ret->ns = x.all.ns;
		}
	}
	return 0;
}

const char *host_say_process(struct nsx_detect *d, uint32_t thread)
{
	const struct nsx_trace *t = d->trace;

	return nsx_tell(d->found, "%lld", (long long)
			t->process[t->thread[thread].process].pid);
}

/* Texts -------------------------------------------------------------------------*/

const char *host_say_meanwhile(struct nsx_detect *d, uint32_t thread,
			       const struct nsx_meanwhile *m)
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
				  nsx_tell(d->found, "%lld", (long long)p->pid));
}

void host_tell_meanwhile(struct nsx_detect *d, const struct nsx_meanwhile *m,
			 struct nsx_finding *f)
{
	const char *path = nsx_range_path(d, m->range);

	nsx_add_evidence(f, nsx_tell(
		d->found, "meanwhile %s runs for %s, and most of these waits end "
		"with it", path, nsx_tell_ns(d->found, m->ns)));
	f->place = path;
	f->recommendation[0] = nsx_tell(
		d->found, "make %s shorter, or let it prepare the next step while "
		"the GPU works on this one", path);
}
