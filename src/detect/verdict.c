/* verdict.c - what binds the program, in a word. */
#include "detect/verdict.h"
#include "report/words.h"

#define JUDGED 0.9	/* of the window: what was not may be passed over   */
#define TELLING 0.1   /* of the window: a finding that names the verdict     */
#define RIVAL 0.6     /* of the first finding's price: a second word         */
#define TOGETHER 0.2  /* of the window: findings of which none tells alone   */
#define MOSTLY 0.5
#define WAIT_NS 1000000 /* a wait for nothing is shorter                     */

/* Whether GPUs exchange anything: else those with less to do wait for none. */
static bool communicates(const struct nsx_report *r)
{
	const struct nsx_ops *o = &r->trace->ops;

	for (uint32_t i = 0; i < r->facts->ndevices; i++)
		if (r->facts->device[i].comm.n)
			return true;
	for (size_t i = 0; i < o->n; i++)
		if (o->flags[i] & NSX_OP_PEER)
			return true;
	return false;
}

/* Slow iterations are bound by what they have more of. */
static enum nsx_page_verdict word_of_part(enum nsx_part_class part)
{
	static const enum nsx_page_verdict words[NSX_NPARTS] = {
		[NSX_P_COMPUTE_ONLY] = NSX_V_COMPUTE,
		[NSX_P_COMPUTE_COPY] = NSX_V_COMPUTE,
		[NSX_P_COMPUTE_COMM] = NSX_V_COMPUTE,
		[NSX_P_COMM_EXPOSED] = NSX_V_COMMUNICATION,
		[NSX_P_COPY_EXPOSED] = NSX_V_COPY,
		[NSX_P_IDLE] = NSX_V_HOST,
	};

	return words[part];
}

/* Whether code is still loaded in the second half of what is judged: that is no start. */
static bool loads_on(const struct nsx_report *r, const struct nsx_finding *f)
{
	struct nsx_window w = nsx_judged(r->facts);

	for (size_t i = 0; i < f->remedy.n && r->facts->niterations; i++)
		NSX_EACH_ROW(&f->remedy.v[i].rows, call)
			if (nsx_call_start(&r->trace->calls, call) >=
				    w.start_ns + (w.end_ns - w.start_ns) / 2 &&
			    nsx_call_start(&r->trace->calls, call) < w.end_ns)
				return true;
	return false;
}

/* Whether loading code is all that the judged part is: it takes most of it, the GPU idles as
 * long, and what runs at last loads no more.
 */
static bool is_only_start(const struct nsx_report *r, const struct nsx_first_page *p,
			  const struct nsx_finding *f)
{
	double length = (double)(p->judged.end_ns - p->judged.start_ns);

	return p->share[NSX_USE_IDLE] >= MOSTLY && f->headroom_ns >= MOSTLY * length &&
	       !loads_on(r, f);
}

static enum nsx_page_verdict word_of(const struct nsx_report *r,
				     const struct nsx_first_page *p,
				     const struct nsx_finding *f)
{
	static const enum nsx_page_verdict by_category[] = {
		[NSX_CAT_BALANCE] = NSX_V_COMMUNICATION,
		[NSX_CAT_COMMUNICATION] = NSX_V_COMMUNICATION,
		[NSX_CAT_COMPUTE] = NSX_V_COMPUTE,
		[NSX_CAT_HOST] = NSX_V_HOST,
		[NSX_CAT_IDLE] = NSX_V_HOST,
		[NSX_CAT_LAUNCH] = NSX_V_LAUNCH,
		[NSX_CAT_MEMORY] = NSX_V_COPY,
		[NSX_CAT_STARTUP] = NSX_V_STARTUP,
		[NSX_CAT_SYNC] = NSX_V_SYNC,
	};

	if (f->is_unseen)
		return NSX_V_PACED;
	if (f->is_of_gpu)
		return NSX_V_COMPUTE;
	switch (f->id) {
	case NSX_ID_paced:
		return NSX_V_PACED;
	case NSX_ID_idle_by_allocation:
	case NSX_ID_allocation_churn:
	case NSX_ID_memory_leak:
		return NSX_V_ALLOCATION;
	case NSX_ID_idle_by_slow_call:
		return NSX_V_HOST;
	case NSX_ID_idle_by_module_load:
		return is_only_start(r, p, f) ? NSX_V_STARTUP : NSX_V_HOST;
	case NSX_ID_slow_iterations:
		return word_of_part(f->part);
	case NSX_ID_uneven_gpus:
		return communicates(r) ? NSX_V_COMMUNICATION :
		       f->remedy.n && f->remedy.v[0].op == NSX_ON_COPIES ?
					 NSX_V_COPY : NSX_V_COMPUTE;
	default:
		return by_category[nsx_finding_category(f)];
	}
}

static bool is_told(const struct nsx_finding *f, enum nsx_price_kind least)
{
	return f->price >= least &&
	       nsx_finding_category(f) != NSX_CAT_CAPTURE && !f->is_minor;
}

/* The dearest finding whose price is no guess, and the dearest of another word;
 * NULL: none.
 */
static void dearest(const struct nsx_report *r, const struct nsx_first_page *p,
		    const struct nsx_finding **ret_first,
		    const struct nsx_finding **ret_second)
{
	const struct nsx_findings *l = &r->found;

	*ret_first = *ret_second = NULL;
	for (size_t i = 0; i < l->n; i++) {
		const struct nsx_finding *f = &l->v[i];

		if (!is_told(f, NSX_PRICE_MEASURED))
			continue;
		if (!*ret_first)
			*ret_first = f;
		else if (!*ret_second && word_of(r, p, f) != word_of(r, p, *ret_first))
			*ret_second = f;
	}
}

/* Whether what was not is little: it may hold what the judged part has not. */
static bool judged_all(const struct nsx_report *r)
{
	const struct nsx_window *all = &r->trace->window;
	struct nsx_window w = nsx_judged(r->facts);

	return (double)(w.end_ns - w.start_ns) >=
	       JUDGED * (double)(all->end_ns - all->start_ns);
}

/* Waits for input, or for another process, that the GPU works through. */
static bool is_beside_work(const struct nsx_finding *f, const struct nsx_first_page *p)
{
	return f->id == NSX_ID_idle_by_os_wait && f->is_upper &&
	       p->share[NSX_USE_IDLE] < TELLING;
}

/* Beside compute that takes most: the word of the first finding that is not compute's,
 * where these win much together.
 */
static void name_rest(const struct nsx_report *r, double length,
		      struct nsx_first_page *p)
{
	const struct nsx_findings *l = &r->found;
	double all = 0;
	enum nsx_page_verdict first = NSX_V_COMPUTE;

	for (size_t i = 0; i < l->n; i++) {
		const struct nsx_finding *f = &l->v[i];

		if (!is_told(f, NSX_PRICE_MEASURED) || f->is_quiet || is_beside_work(f, p) ||
		    word_of(r, p, f) == NSX_V_COMPUTE)
			continue;
		if (first == NSX_V_COMPUTE)
			first = word_of(r, p, f);
		all += f->disjoint_ns;
	}
	if (all < TOGETHER * length)
		return;
	p->first = NSX_V_COMPUTE;
	p->second = first;
	p->verdict = NSX_V_MIXED;
}

/* Whether that can be said of what has no price but guesses: little but compute, and
 * nothing else is guessed to cost much.
 */
static bool only_kernels(const struct nsx_report *r, const struct nsx_first_page *p,
			 double length)
{
	const struct nsx_findings *l = &r->found;

	for (size_t i = 0; i < l->n; i++)
		if (is_told(&l->v[i], NSX_PRICE_ASSUMED) &&
		    word_of(r, p, &l->v[i]) != NSX_V_COMPUTE &&
		    l->v[i].headroom_ns >= TELLING * length)
			return false;
	return p->share[NSX_USE_COMPUTE] >= 1 - TELLING;
}

/* The first finding whose price is a guess; NULL: none. */
static const struct nsx_finding *guessed(const struct nsx_findings *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (is_told(&l->v[i], NSX_PRICE_ASSUMED))
			return &l->v[i];
	return NULL;
}

/* Launches of which nothing ran, or waits for what must have run. */
static bool is_lost(const struct nsx_trace *t)
{
	const struct nsx_calls *c = &t->calls;

	for (size_t i = 0; i < c->n; i++)
		if ((c->cls[i] == NSX_CALL_LAUNCH &&
		     !(c->flags[i] & NSX_CALL_FAILED)) ||
		    (c->cls[i] == NSX_CALL_SYNC && nsx_call_ns(c, i) >= WAIT_NS))
			return true;
	return false;
}

static void by_shares(struct nsx_first_page *p)
{
	static const enum nsx_page_verdict words[NSX_NUSES] = {
		NSX_V_COMPUTE, NSX_V_COPY, NSX_V_COMMUNICATION, NSX_V_HOST};
	unsigned best = 0, next;

	for (unsigned i = 1; i < NSX_NUSES; i++)
		if (p->share[i] > p->share[best])
			best = i;
	next = best ? 0 : 1;
	for (unsigned i = 0; i < NSX_NUSES; i++)
		if (i != best && p->share[i] > p->share[next])
			next = i;
	p->verdict = words[best];
	if (p->share[best] >= MOSTLY)
		return;
	p->verdict = NSX_V_MIXED;
	p->first = words[best];
	p->second = words[next];
}

/* Without GPU work, in the trace or in the window asked for. */
static void judge_idle(const struct nsx_report *r, double length,
		       struct nsx_first_page *p)
{
	const struct nsx_finding *f = r->found.n ? &r->found.v[0] : NULL;

	p->verdict = NSX_V_NO_GPU;
	if (r->trace->has_gpu_work) {
		p->because = "the GPU is idle throughout the window asked for";
		if (f && !f->is_rest && f->headroom_ns >= MOSTLY * length)
			p->because = nsx_arena_printf(r->arena, "%s; %s", p->because,
						      nsx_title_within(r->arena, f));
	} else if (is_lost(r->trace)) {
		p->verdict = NSX_V_LOST;
	} else if (f && nsx_finding_category(f) == NSX_CAT_HOST) {
		p->because = nsx_title_within(r->arena, f);
	}
}

/* By the word of the dearest finding, but where the shares say better what it costs. */
static void by_finding(const struct nsx_report *r, const struct nsx_finding *first,
		       double length, struct nsx_first_page *p)
{
	p->verdict = word_of(r, p, first);
	if (first->is_unseen)
		p->because = nsx_arena_printf(r->arena, "it waits for input in %s",
					      first->subject);
	if (first->is_of_gpu)
		p->because = nsx_title_within(r->arena, first);
	/* Pages that move under kernels are no copies. */
	if (first->id == NSX_ID_unified_memory &&
	    p->share[NSX_USE_COPY] < p->share[NSX_USE_COMPUTE]) {
		p->verdict = NSX_V_COMPUTE;
		p->because = nsx_arena_printf(
			r->arena, "pages of unified memory that move under its "
			"kernels cost %s of the time",
			nsx_text_share(r->arena, first->headroom_ns, length));
	}
	/* What many small ones cost is their launches, not their bytes. */
	if ((first->id == NSX_ID_small_copies || first->id == NSX_ID_memsets) &&
	    p->share[NSX_USE_COPY] < p->share[NSX_USE_IDLE] &&
	    first->guess_ns < MOSTLY * first->headroom_ns)
		p->verdict = NSX_V_LAUNCH;
}

/* Iterations that are slow by what the GPU does in them: the shares say what that is. */
static bool is_more_work(const struct nsx_finding *f)
{
	return f->id == NSX_ID_slow_iterations && f->part != NSX_P_IDLE;
}

/* NULL: what sets the pace was not recorded, or is not one call. */
static const char *say_awaited(const struct nsx_report *r,
			       const struct nsx_finding *paced)
{
	const char *name = nsx_text(r->trace, paced->host);

	return !paced->host	     ? NULL :
	       nsx_osrt_sleeps(name) ?
		       nsx_arena_printf(r->arena, "it waits in %s", name) :
		       nsx_arena_printf(r->arena, "it waits for input in %s", name);
}

void nsx_judge(const struct nsx_report *r, struct nsx_first_page *p)
{
	const struct nsx_finding *first, *second, *paced;
	double length = (double)(p->judged.end_ns - p->judged.start_ns);

	if (nsx_is_idle_unknown(&r->facts->lost)) {
		p->verdict = NSX_V_LOST;
		p->because = nsx_arena_printf(
			r->arena, "%s of its launches left no GPU row, so what looks "
			"idle may be their work", nsx_text_share(
				r->arena, (double)r->facts->lost.lost,
				(double)r->facts->lost.launches));
		return;
	}
	if (!r->trace->ops.n) {
		judge_idle(r, length, p);
		return;
	}
	paced = nsx_find_finding(&r->found, NSX_ID_paced);
	if (paced) {
		p->verdict = NSX_V_PACED;
		p->because = say_awaited(r, paced);
		return;
	}
	dearest(r, p, &first, &second);
	if (r->facts->run_kind == NSX_RUN_START_UP) {
		p->verdict = NSX_V_STARTUP;
		p->because = "it is paid once, so nothing is rated above low";
		return;
	}
	if (!first || first->headroom_ns < TELLING * length || first->is_quiet ||
	    is_more_work(first) || is_beside_work(first, p)) {
		by_shares(p);
		if (p->verdict == NSX_V_COMPUTE)
			name_rest(r, length, p);
		second = guessed(&r->found);
		if (!first && p->verdict == NSX_V_COMPUTE)
			p->because = nsx_find_finding(&r->found, NSX_ID_processes_share) ?
				"several processes share the GPU" :
				!only_kernels(r, p, length) ? NULL :
				judged_all(r) ?
				"nothing but the kernels costs time" :
				"nothing but the kernels costs time in what was "
				"judged";
		else if (!first && !second)
			p->because = "no cause was found";
		else if (!first && p->verdict == NSX_V_HOST &&
			 second->headroom_ns >= MOSTLY * length *
							p->share[NSX_USE_IDLE])
			p->verdict = word_of(r, p, second);
		return;
	}
	by_finding(r, first, length, p);
	if (!second || second->is_quiet || second->disjoint_ns < TELLING * length ||
	    second->disjoint_ns < RIVAL * first->headroom_ns)
		return;
	p->first = p->verdict;
	p->second = word_of(r, p, second);
	if (p->second != p->first)
		p->verdict = NSX_V_MIXED;
}
