/* slower_host.c - from some instant to the end the host takes longer for the same launches.
 *
 * Of the thread that launches most for the GPU that sets the pace, the time of its own is
 * set against its launches: what it spends in them and between its calls, without waits
 * in CUDA or in the operating system.  What that costs the replay tells: nothing where the
 * host is ahead all the same.  A host that is slower takes longer in its launches, too; where
 * only what lies between calls does, the program does more there, or waits.
 */
#include "detect/stretch.h"
#include "facts/outside.h"

#define SLOWER 1.25 /* times as long */
#define SAME 1.02   /* times as long, it is not slower */
#define OTHER 0.05  /* of the operations, from which on it is other work */
#define ALIKE 0.25 /* of by how much code takes longer, from which on calls do, too */
#define QUICK 0.1   /* quantile of launches */
#define SEEN 0.25   /* of a part's share of launches, from which on it tells */

struct pace { /* of a part of the window */
	double code_ns, call_ns; /* between calls, and in launches           */
	double nlaunches;
};

static void add_paces(const struct nsx_detect *d, uint32_t thread, struct pace *v)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_thread *th = &t->thread[thread];
	int64_t last_ns = INT64_MAX;
	size_t os_at = 0;

	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
		struct nsx_span gap = {last_ns, nsx_call_start(&t->calls, i)};
		struct pace *x;
		int64_t code_ns;

		if (t->calls.flags[i] & NSX_CALL_NESTED)
			continue;
		last_ns = nsx_call_end(&t->calls, i);
		if (gap.start_ns == INT64_MAX || !nsx_is_judged(d, gap.end_ns))
			continue;
		x = &v[nsx_part_at(d, gap.end_ns)];
		code_ns = gap.end_ns - gap.start_ns;
		NSX_EACH_OS_CALL(t, th, &os_at, gap, k)
			code_ns -= nsx_os_call_ns(t, k, gap);
		x->code_ns += (double)NSX_MAX(0, code_ns);
		if (t->calls.cls[i] != NSX_CALL_LAUNCH)
			continue;
		x->call_ns += (double)(last_ns - gap.end_ns);
		x->nlaunches++;
	}
}

/* Whether the GPU does from then on what it did before. */
static int does_same(const struct nsx_detect *d, int64_t from_ns, bool *ret,
		     struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_device *dev = &t->device[d->facts->limiting];
	size_t n = 0, nother = 0;
	bool *known;

	if (!nsx_new_array(known, d->scratch, nsx_strings_bound(t->strings),
			   "names of operations", err))
		return err->rc;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		int64_t start_ns = nsx_op_start(&t->ops, i);
		nsx_str name = nsx_op_name(t, i);

		if (!nsx_is_judged(d, start_ns))
			continue;
		known[name] |= start_ns < from_ns;
		n += start_ns >= from_ns;
		nother += !known[name];
	}
	*ret = (double)nother <= OTHER * (double)n;
	return 0;
}

static struct pace pace_of(const struct pace *v, unsigned from, unsigned to)
{
	struct pace ret = {0};

	for (unsigned i = from; i < to; i++) {
		ret.code_ns += v[i].code_ns;
		ret.call_ns += v[i].call_ns;
		ret.nlaunches += v[i].nlaunches;
	}
	ret.code_ns /= ret.nlaunches;
	ret.call_ns /= ret.nlaunches;
	return ret;
}

/* What a launch takes at least, before the stretch and in it: those that a full queue holds
 * up take longer, and are of a host that is ahead.
 */
struct launches {
	double first_ns, slow_ns;
};

static int find_launches(struct nsx_detect *d, uint32_t thread, const struct nsx_stretch *x,
			 struct launches *ret, struct nsx_err *err)
{
	const struct nsx_calls *c = &d->trace->calls;
	const struct nsx_thread *th = &d->trace->thread[thread];
	int64_t *first, *slow;
	size_t nfirst = 0, nslow = 0;

	if (nsx_new_arrays(d->scratch, th->ncalls, "launches", err, first, slow))
		return err->rc;
	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
		int64_t at_ns = nsx_call_start(c, i), ns = nsx_call_end(c, i) - at_ns;

		if (c->flags[i] & NSX_CALL_NESTED || c->cls[i] != NSX_CALL_LAUNCH ||
		    !nsx_is_judged(d, at_ns))
			continue;
		if (nsx_part_at(d, at_ns) < x->from)
			first[nfirst++] = ns;
		else
			slow[nslow++] = ns;
	}
	ret->first_ns = nfirst ? nsx_quantile(first, nfirst, QUICK) : 0;
	ret->slow_ns = nslow ? nsx_quantile(slow, nslow, QUICK) : 0;
	return 0;
}

/* Whether launches are slower, too. */
static bool slows_calls(const struct pace *first, const struct pace *slow,
			const struct launches *x)
{
	return x->slow_ns > SAME * x->first_ns &&
	       x->slow_ns - x->first_ns >
		       ALIKE * (slow->code_ns / first->code_ns - 1) * x->first_ns;
}

static void tell(struct nsx_detect *d, const struct nsx_stretch *x,
		 const struct pace *first, const struct pace *slow,
		 const struct launches *launch, bool calls, struct nsx_finding *f)
{
	struct nsx_findings *l = d->found;
	double ratio = calls ? x->ratio : slow->code_ns / first->code_ns;

	f->title = nsx_tell(l, calls ? "the host becomes slower: it takes %.*f times "
				       "as long %s" :
				       "the host takes %.*f times as long between its "
				       "calls %s",
			    ratio < 10 ? 2 : 0, ratio, nsx_say_stretch(d, x));
	f->evidence[0] = calls ?
		nsx_tell(l, "%s of its own for each launch, %s before: in launches and "
			 "between CUDA calls, without waits",
			 nsx_text_ns(l->arena, slow->code_ns + slow->call_ns),
			 nsx_text_ns(l->arena, first->code_ns + first->call_ns)) :
		nsx_tell(l, "%s for each launch, %s before, without waits that were "
			 "recorded; launches take %s or more, %s before",
			 nsx_text_ns(l->arena, slow->code_ns),
			 nsx_text_ns(l->arena, first->code_ns),
			 nsx_text_ns(l->arena, launch->slow_ns),
			 nsx_text_ns(l->arena, launch->first_ns));
	f->evidence[1] = "priced as if it were as fast as before";
	f->recommendation[0] =
		calls ? "see what begins then: another process on its CPUs, memory "
			"that runs short, lower clocks, or data of the program's own "
			"that grows" :
			"see what begins then: work that it did not do before, data "
			"that grows, a wait that was not recorded (a slower CPU would "
			"slow launches, too)";
	f->recommendation[1] = "record when threads are off their CPUs "
			       "(nsys-explain capture --preset full)";
}

static void propose(struct nsx_detect *d, uint32_t thread, const struct nsx_stretch *x,
		    const struct pace *v, const struct launches *launch)
{
	struct pace first = pace_of(v, 0, x->from);
	struct pace slow = pace_of(v, x->from, NSX_PARTS);
	bool calls = slows_calls(&first, &slow, launch);
	bool code = first.code_ns > 0 && slow.code_ns >= SLOWER * first.code_ns;
	struct nsx_change *c = nsx_arena_get(d->found->arena, 2 * sizeof(*c)), like = {
		.by = NSX_BY_PROCESS, .when = nsx_stretch_window(d, x),
		.process = d->trace->thread[thread].process};
	struct nsx_finding f = {
		.id = NSX_ID_slower_host, .device = NSX_NONE,
		.confidence = NSX_CONF_MEDIUM, .remedy = {.v = c}};

	if (!calls && !code) /* launches that a full queue holds up */
		return;
	tell(d, x, &first, &slow, launch, calls, &f);
	if (slow.code_ns > SAME * first.code_ns) {
		like.verb = NSX_FASTER_HOST;
		like.amount = slow.code_ns / first.code_ns;
		c[f.remedy.n++] = like;
	}
	if (calls && slow.call_ns > SAME * first.call_ns) {
		like.verb = NSX_FASTER_LAUNCH;
		like.amount = slow.call_ns / first.call_ns;
		c[f.remedy.n++] = like;
	}
	nsx_found(d->found, &f);
}

/* Time for each launch.  A part in which the thread waits tells nothing.  told: a bit for
 * each part that does.  Whether most do.
 */
static bool find_parts(const struct pace *v, double *part, uint32_t *told)
{
	double all = 0;

	*told = 0;
	for (unsigned i = 0; i < NSX_PARTS; i++)
		all += v[i].nlaunches;
	for (unsigned i = 0; i < NSX_PARTS; i++) {
		if (!(v[i].nlaunches > SEEN * all / NSX_PARTS))
			continue;
		part[i] = (v[i].code_ns + v[i].call_ns) / v[i].nlaunches;
		*told |= nsx_parts(i, i + 1);
	}
	return nsx_fill_parts(part, *told);
}

int nsx_detect_slower_host(struct nsx_detect *d, struct nsx_err *err)
{
	struct pace v[NSX_PARTS] = {0};
	double part[NSX_PARTS];
	uint32_t told;
	struct launches launch = {0};
	struct nsx_stretch x;
	uint32_t thread;
	bool same = false;

	if (d->facts->limiting == NSX_NONE || !nsx_repeats(d))
		return 0;
	thread = nsx_launcher(d);
	if (thread == NSX_NONE)
		return 0;
	add_paces(d, thread, v);
	if (!find_parts(v, part, &told) ||
	    !nsx_find_stretch(part, told, SLOWER, &x) || x.to < NSX_PARTS)
		return 0;
	if (does_same(d, nsx_stretch_window(d, &x).start_ns, &same, err) ||
	    find_launches(d, thread, &x, &launch, err))
		return err->rc;
	if (same)
		propose(d, thread, &x, v, &launch);
	return 0;
}
