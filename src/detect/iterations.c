/* iterations.c - iterations that take longer than the others: what is in them
 * that is not in the usual one.
 *
 * That is a pause (a stretch of host time between two calls, far longer than the longest
 * of the usual iteration), a blocking copy that takes far longer than any in the others, a
 * range that only slow iterations have (a checkpoint, an evaluation, a prefill) with its
 * work on the GPU, or launches one by one of what the usual ones replay as a CUDA graph.
 * Where more than a third are slow, here and there, the iterations are of two kinds, and
 * what one of them has more is for other findings, unless it is a graph that they miss.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "detect/host.h"
#include "facts/outside.h"
#include "facts/replay/replay.h"
#include "trace/nvtx_walk.h"

#define LEAST_SLOW 0.01	 /* of the window */
#define PAUSE_SHARE 0.05 /* of what an iteration takes too long              */
#define LITTLE 0.25	 /* of what all of them take too long, is no reason */
#define WHOLE 1.1	 /* times that: what does more is no addition       */
enum {
	LOOK_AHEAD = 64, /* calls, for one that launches                     */
	LEAST_PAUSE_NS = 100000, LEAST_COPY_NS = 100000, MOST_RANGES = 4,
	RECURS = 3, /* slow so many times, it is part of the loop; and if more than
		       one of as many are slow, they are of two kinds        */
	LASTS = 10, /* slow for one of so many, to the end: it is how it goes on */
};

static const char *const part_words[NSX_NPARTS] = {
	[NSX_P_COMPUTE_ONLY] = "compute",
	[NSX_P_COMPUTE_COPY] = "compute beside copies",
	[NSX_P_COMPUTE_COMM] = "compute beside communication",
	[NSX_P_COMM_EXPOSED] = "exposed communication",
	[NSX_P_COPY_EXPOSED] = "exposed copies",
	[NSX_P_IDLE] = "idle time",
};

struct slow {
	struct nsx_detect *d;
	const struct nsx_iteration *v; /* of the limiting GPU */
	bool meets; /* other ranks, whose pauses hold it up, too             */
	size_t n, njudged, nslow, noutside; /* noutside: slow ones, not judged */
	const struct nsx_iteration *first; /* slow one that is judged */
	size_t ntimes; /* that a slow one follows one that is not          */
	size_t last_slow, last_judged;
	size_t every;  /* so many iterations one is slow; 0: not at even distances */
	double median_ns;
	int64_t excess_ns, by_class[NSX_NPARTS];
	bool are_named; /* by ranges, though kernels tell them             */
	struct nsx_row_list pauses; /* calls that end one */
	int64_t paused_ns;
	struct nsx_votes outside; /* OS calls in them, by their time         */
	uint32_t paused; /* the only thread that does; NSX_SEVERAL           */
	struct nsx_row_list copies, copied; /* calls, and their operations, that
					       only slow iterations have     */
	struct nsx_row_list launches; /* calls, where the others replay a graph */
	int64_t usual_copy_ns; /* the longest blocking one in the others */
	int64_t usual_pause_ns; /* the longest of one of the others, the median
				   of those of the thread that is read       */
	int64_t left_ns; /* the least of those of threads that pause: what is
			    left of a pause                                  */
	struct nsx_groups kinds; /* of judged ranges, by nsx_range_kind */
	size_t *of_kind;	 /* how many                                 */
	uint32_t range[MOST_RANGES]; /* one of each kind */
	uint32_t nranges, place;
	struct nsx_places places; /* of the pauses, also in ranges that are in
				     every iteration                         */
	struct nsx_place pause_place; /* with most of their time             */
	int64_t range_ns; /* GPU work of ranges that only slow ones have ... */
	int64_t between_ns; /* ... of it outside of the range that an iteration is */
	struct { /* that only slow ones run                                  */
		nsx_str longest;
		size_t n;   /* 0: they are no good part of what takes too long */
		int64_t ns, longest_ns;
	} kernels;
};

static int64_t wall_ns(const struct nsx_iteration *v)
{
	return v->end_ns - v->start_ns;
}

static bool is_judged(const struct slow *s, size_t i)
{
	return s->v[i].start_ns >= s->d->w.start_ns &&
	       s->v[i].end_ns <= s->d->w.end_ns;
}

/* The iterations of the GPU that sets the pace; their median. */
static int find_median(struct slow *s, struct nsx_err *err)
{
	const struct nsx_facts *f = s->d->facts;
	int64_t *d;

	if (!nsx_new_array(d, s->d->scratch, f->niterations,
			   "iteration lengths", err))
		return err->rc;
	for (size_t i = 0; i < f->niterations; i++) {
		if (f->iterations[i].device != f->limiting)
			continue;
		if (!s->v)
			s->v = &f->iterations[i];
		if (f->iterations[i].process == s->v->process)
			s->n++;
	}
	for (size_t i = 0; i < s->n; i++)
		if (is_judged(s, i)) {
			d[s->njudged++] = wall_ns(&s->v[i]);
			s->last_judged = i;
		}
	s->median_ns = s->njudged ? nsx_quantile(d, s->njudged, 0.5) : 0;
	return 0;
}

/* What the slow ones spend more than the one nearest to the median. */
static void sum_excess(struct slow *s)
{
	const struct nsx_device_facts *dev =
		&s->d->facts->device[s->d->facts->limiting];
	const struct nsx_iteration *typical = NULL;
	struct nsx_partition usual, slow;

	for (size_t i = 0; i < s->n; i++)
		if (is_judged(s, i) &&
		    (!typical || fabs((double)wall_ns(&s->v[i]) -
				      s->median_ns) <
					 fabs((double)wall_ns(typical) -
					      s->median_ns)))
			typical = &s->v[i];
	if (!typical)
		return;
	nsx_partition(dev, typical->start_ns, typical->end_ns, &usual);
	for (size_t i = 1; i < s->n; i++) {
		if (!s->v[i].slow)
			continue;
		if (!is_judged(s, i)) {
			s->noutside++;
			continue;
		}
		if (!s->nslow)
			s->first = &s->v[i];
		else
			s->every = s->nslow == 1 || s->every == i - s->last_slow ?
					   i - s->last_slow : 0;
		s->last_slow = i;
		s->nslow++;
		s->ntimes += !s->v[i - 1].slow;
		nsx_add_to(&s->excess_ns, wall_ns(&s->v[i]) -
						  wall_ns(typical));
		nsx_partition(dev, s->v[i].start_ns, s->v[i].end_ns, &slow);
		for (unsigned c = 0; c < NSX_NPARTS; c++)
			nsx_add_to(&s->by_class[c], slow.ns[c] - usual.ns[c]);
	}
}

/* Pauses -------------------------------------------------------------------------*/

/* How long a stretch of host time in [start, end) must be to slow one of the
 * iterations down; 0: none lies there.  The host is ahead of the GPU, which has work for
 * a while when it begins; it ends in the iteration that it slows down, or before.
 */
static int64_t pause_of(const struct slow *s, size_t *at, int64_t start_ns,
			int64_t end_ns)
{
	while (*at < s->n && s->v[*at].end_ns <= start_ns)
		++*at;
	for (size_t i = *at; i < s->n && (i < *at + 3 || s->v[i].start_ns < end_ns);
	     i++) {
		const struct nsx_iteration *x = &s->v[i];
		double most = (double)wall_ns(x) - s->median_ns;

		if (x->slow && i && is_judged(s, i) &&
		    start_ns < x->end_ns &&
		    (double)end_ns > (double)x->start_ns - s->median_ns)
			return NSX_MAX(LEAST_PAUSE_NS,
				       nsx_to_i64(PAUSE_SHARE * most));
	}
	return 0;
}

/* Ranges of each kind; and whether those of a launching thread that are in no other come as
 * often as iterations: then these are what the program itself calls one.
 */
static int count_ranges(struct slow *s, struct nsx_err *err)
{
	const struct nsx_trace *t = s->d->trace;
	struct nsx_groups outer = {0};
	size_t *counts = NULL, *n;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < t->nvtx.n; i++) {
		uint32_t thread = nsx_nvtx_thread(t, i);
		uint64_t kind;

		if (!nsx_is_judged(s->d, nsx_range_start(&t->nvtx, i)))
			continue;
		kind = nsx_range_kind(t, i);
		n = nsx_group_value(&s->kinds, &s->of_kind, 0, kind, "ranges", err);
		if (n)
			++*n;
		if (n && t->thread[thread].launches &&
		    nsx_range_parent(&s->d->facts->nvtx, i) == NSX_NONE) {
			n = nsx_group_value(&outer, &counts, thread, kind, "ranges", err);
			if (n)
				++*n;
		}
		rc = n ? 0 : err->rc;
	}
	for (size_t i = 0; i < outer.n; i++)
		s->are_named |= counts[i] + 1 >= s->njudged &&
				counts[i] <= s->njudged + 1;
	nsx_groups_done(&outer);
	free(counts);
	return rc;
}

/* Whether ranges of this kind come at most once a slow iteration. */
static bool is_rare(const struct slow *s, uint32_t range)
{
	uint32_t k = nsx_group_find(&s->kinds, 0,
				    nsx_range_kind(s->d->trace, range));

	return (k == NSX_NONE || s->of_kind[k] <= s->nslow) &&
	       s->nslow * 2 < s->n;
}

/* What a thread does of it in calls of the operating system; *at: a cursor. */
static int vote_outside(struct slow *s, uint32_t thread, struct nsx_span pause,
			size_t *at, struct nsx_err *err)
{
	const struct nsx_trace *t = s->d->trace;

	nsx_add_to(&s->paused_ns, pause.end_ns - pause.start_ns);
	NSX_EACH_OS_CALL(t, &t->thread[thread], at, pause, i)
		if (nsx_vote(&s->outside, 0, t->osrt.name[i],
			     nsx_os_call_ns(t, i, pause), err))
			return err->rc;
	return 0;
}

static void add_range(struct slow *s, uint32_t range)
{
	const struct nsx_trace *t = s->d->trace;

	for (uint32_t i = 0; i < s->nranges; i++)
		if (nsx_range_kind(t, s->range[i]) == nsx_range_kind(t, range))
			return;
	if (s->nranges == MOST_RANGES)
		return;
	if (!s->nranges)
		s->place = range;
	s->range[s->nranges++] = range;
}

static int add_pause(struct slow *s, size_t call, uint32_t range, int64_t ns,
		     struct nsx_err *err)
{
	uint32_t thread = nsx_call_thread(s->d->trace, call);

	s->left_ns = s->pauses.n ? NSX_MIN(s->left_ns, s->usual_pause_ns) :
				   s->usual_pause_ns;
	s->paused = !s->pauses.n || s->paused == thread ? thread :
							  NSX_SEVERAL;
	if (nsx_list_row(&s->pauses, call, err) ||
	    nsx_places_add(&s->places, s->d->trace, 0, range, NSX_NONE, ns,
			   &s->pause_place, err))
		return err->rc;
	if (range != NSX_NONE && s->nranges < MOST_RANGES && is_rare(s, range))
		add_range(s, range);
	return 0;
}

/* Whether a GPU idles right before what is launched after a pause, which a call ends: else
 * it has work all along, or another thread launches.
 */
static bool starves(const struct slow *s, size_t call, size_t end, int64_t least_ns)
{
	const struct nsx_trace *t = s->d->trace;

	for (size_t i = call; i < NSX_MIN(end, call + LOOK_AHEAD); i++) {
		uint32_t op = nsx_call_op(&t->calls, i);
		int64_t at_ns;

		if (op == NSX_NONE)
			continue;
		at_ns = nsx_op_start(&t->ops, op);
		return nsx_idle_within(
			&s->d->facts->idle[nsx_stream_of(t, op)->device],
			at_ns - least_ns, at_ns) >= least_ns / 2;
	}
	return false;
}

/* The copy of a call that blocks, on the GPU; NSX_NONE: it is none. */
static uint32_t blocking_copy(const struct slow *s, size_t call,
			      struct nsx_span *ret)
{
	const struct nsx_trace *t = s->d->trace;
	uint32_t op = nsx_call_op(&t->calls, call);

	if (op == NSX_NONE || !nsx_call_blocks(s->d->facts, t, call))
		return NSX_NONE;
	*ret = (struct nsx_span){nsx_op_start(&t->ops, op),
				 nsx_op_start(&t->ops, op) +
					 nsx_op_ns(&t->ops, op)};
	return op;
}

static void find_usual_copy(struct slow *s, uint32_t thread)
{
	const struct nsx_thread *th = &s->d->trace->thread[thread];
	struct nsx_span x;
	size_t at = 0;

	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++)
		if (blocking_copy(s, i, &x) != NSX_NONE &&
		    x.start_ns >= s->d->w.start_ns &&
		    x.end_ns <= s->d->w.end_ns &&
		    !pause_of(s, &at, x.start_ns, x.end_ns))
			s->usual_copy_ns = NSX_MAX(s->usual_copy_ns,
						   x.end_ns - x.start_ns);
}

/* What a thread does in every iteration slows none of them down more. */
static int find_usual_pause(struct slow *s, uint32_t thread, struct nsx_err *err)
{
	const struct nsx_trace *t = s->d->trace;
	const struct nsx_thread *th = &t->thread[thread];
	int64_t last_ns = INT64_MIN, *longest;
	size_t k = 0, n = 0;

	if (!nsx_new_array(longest, s->d->scratch, s->n, "pauses", err))
		return err->rc;
	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
		int64_t start_ns = nsx_call_start(&t->calls, i);

		if (t->calls.flags[i] & NSX_CALL_NESTED)
			continue;
		while (k < s->n && s->v[k].end_ns <= last_ns)
			k++;
		if (k < s->n && last_ns >= s->v[k].start_ns)
			longest[k] = NSX_MAX(longest[k], start_ns - last_ns);
		last_ns = nsx_call_end(&t->calls, i);
	}
	for (size_t i = 0; i < s->n; i++)
		if (is_judged(s, i) && !s->v[i].slow)
			longest[n++] = longest[i];
	s->usual_pause_ns = n ? nsx_to_i64(nsx_quantile(longest, n, 0.5)) : 0;
	nsx_arena_drop(s->d->scratch, longest);
	return 0;
}

static int find_copy(struct slow *s, size_t call, size_t *at,
		     struct nsx_err *err)
{
	struct nsx_span x;
	uint32_t op = blocking_copy(s, call, &x);
	int64_t ns;

	if (op == NSX_NONE)
		return 0;
	ns = x.end_ns - x.start_ns;
	if (ns < LEAST_COPY_NS || ns / 2 < s->usual_copy_ns ||
	    !pause_of(s, at, x.start_ns, x.end_ns))
		return 0;
	return nsx_list_row(&s->copies, call, err) ||
			       nsx_list_row(&s->copied, op, err) ?
		       err->rc : 0;
}

static int find_pauses(struct slow *s, uint32_t thread, uint32_t *below,
		       struct nsx_err *err)
{
	const struct nsx_trace *t = s->d->trace;
	const struct nsx_thread *th = &t->thread[thread];
	int64_t last_ns = INT64_MAX;
	struct nsx_nvtx_walk walk;
	size_t at = 0, copy_at = 0, os_at = 0;

	nsx_nvtx_walk_begin(&walk, t, thread, true, false, below);
	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
		int64_t start_ns = nsx_call_start(&t->calls, i), least_ns;

		if (t->calls.flags[i] & NSX_CALL_NESTED)
			continue;
		if (last_ns != INT64_MAX &&
		    start_ns - last_ns >= LEAST_PAUSE_NS) {
			uint32_t range = nsx_range_of_gap(
				s->d,
				nsx_nvtx_walk_to(&walk, last_ns +
						 (start_ns - last_ns) / 2),
				last_ns, start_ns);

			least_ns = pause_of(s, &at, last_ns, start_ns);
			if (least_ns && start_ns - last_ns >= least_ns &&
			    (start_ns - last_ns) / 2 >= s->usual_pause_ns &&
			    starves(s, i, th->calls_at + th->ncalls, least_ns) &&
			    (add_pause(s, i, range, start_ns - last_ns, err) ||
			     vote_outside(s, thread,
					  (struct nsx_span){last_ns, start_ns},
					  &os_at, err)))
				return err->rc;
		}
		if (find_copy(s, i, &copy_at, err))
			return err->rc;
		last_ns = nsx_call_end(&t->calls, i);
	}
	return 0;
}

/* Which iteration --------------------------------------------------------------------*/

/* s->n: none. */
static size_t iteration_at(const struct slow *s, int64_t at_ns)
{
	size_t next = NSX_SEARCH((size_t)0, s->n, mid, s->v[mid].start_ns <= at_ns);

	return next && at_ns < s->v[next - 1].end_ns ? next - 1 : s->n;
}

/* Ranges -------------------------------------------------------------------------*/

struct kind { /* of range, or of kernel */
	int64_t slow_ns; /* GPU work in slow iterations ...                  */
	bool is_usual;	 /* ... and whether there is any in others           */
};

/* By range, with all that is inside it. */
static void sum_ranges(const struct slow *s, struct kind *v)
{
	const struct nsx_trace *t = s->d->trace;
	const struct nsx_nvtx_facts *x = &s->d->facts->nvtx;
	const struct nsx_device *dev = &t->device[s->v->device];

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		uint32_t range = nsx_op_range(x, i);
		size_t k = iteration_at(s, nsx_op_start(&t->ops, i));

		if (range == NSX_NONE || k == s->n || !is_judged(s, k))
			continue; /* the last one may be slow, and is cut */
		if (!s->v[k].slow)
			v[range].is_usual = true;
		else
			nsx_add_to(&v[range].slow_ns, nsx_op_ns(&t->ops, i));
	}
	for (size_t i = t->nvtx.n; i-- > 0;) {
		uint32_t around = nsx_range_parent(x, (uint32_t)i);

		if (around == NSX_NONE)
			continue;
		nsx_add_to(&v[around].slow_ns, v[i].slow_ns);
		v[around].is_usual |= v[i].is_usual;
	}
}

/* What ends a step of several iterations is needed, not in excess. */
static bool ends_step(const char *s)
{
	static const char *const words[] = {"optim", "update", "reduce", "zero_grad"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcasestr(s, words[i]))
			return true;
	return false;
}

/* Whether GPU work of such ranges is in slow iterations only, and a good part of what
 * these take too long.
 */
static bool is_extra(const struct slow *s, const struct nsx_groups *kinds,
		     const struct kind *v, uint32_t range)
{
	const struct nsx_trace *t = s->d->trace;
	double excess_ns = (double)s->excess_ns;
	uint32_t g = range == NSX_NONE ? NSX_NONE :
			nsx_group_find(kinds, 0, nsx_range_kind(t, range));

	return g != NSX_NONE && !v[g].is_usual &&
	       (double)v[g].slow_ns >= LITTLE * excess_ns &&
	       (double)v[g].slow_ns <= WHOLE * excess_ns &&
	       !ends_step(nsx_text(t, t->nvtx.name[range]));
}

static bool is_between(const struct slow *s, uint32_t range)
{
	const struct nsx_trace *t = s->d->trace;
	const char *unit = nsx_iteration_range(s->d->facts);

	for (; unit && range != NSX_NONE;
	     range = nsx_range_parent(&s->d->facts->nvtx, range))
		if (nsx_is_shown_as(nsx_text(t, t->nvtx.name[range]), unit))
			return false;
	return unit;
}

/* The outermost of them. */
static int find_ranges(struct slow *s, struct nsx_err *err)
{
	const struct nsx_trace *t = s->d->trace;
	struct nsx_groups keys = {0};
	struct kind *by_range, *v = NULL, *x;
	int rc = 0;

	if (!nsx_new_array(by_range, s->d->scratch, t->nvtx.n, "ranges", err))
		return err->rc;
	sum_ranges(s, by_range);
	for (uint32_t i = 0; !rc && i < t->nvtx.n; i++) {
		if (!by_range[i].slow_ns && !by_range[i].is_usual)
			continue;
		x = nsx_group_value(&keys, &v, 0, nsx_range_kind(t, i), "ranges",
				    err);
		if (!x) {
			rc = err->rc;
			break;
		}
		nsx_add_to(&x->slow_ns, by_range[i].slow_ns);
		x->is_usual |= by_range[i].is_usual;
	}
	for (uint32_t i = 0; !rc && i < t->nvtx.n; i++) {
		if (!is_extra(s, &keys, v, i) ||
		    is_extra(s, &keys, v,
			     nsx_range_parent(&s->d->facts->nvtx, i)))
			continue;
		nsx_add_to(&s->range_ns, by_range[i].slow_ns);
		if (is_between(s, i))
			nsx_add_to(&s->between_ns, by_range[i].slow_ns);
		add_range(s, i);
	}
	nsx_groups_done(&keys);
	free(v);
	return rc;
}

/* Kernels ------------------------------------------------------------------------*/

/* Those that only slow iterations run: other algorithms, or what only they do. */
static int find_kernels(struct slow *s, struct nsx_err *err)
{
	const struct nsx_trace *t = s->d->trace;
	const struct nsx_device *dev = &t->device[s->v->device];
	struct kind *v;

	if (!nsx_new_array(v, s->d->scratch, nsx_strings_bound(t->strings),
			   "kernels", err))
		return err->rc;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		size_t k = iteration_at(s, nsx_op_start(&t->ops, i));
		struct kind *x = &v[nsx_op_name(t, i)];

		if (k == s->n || t->ops.kind[i] != NSX_OP_KERNEL ||
		    t->ops.cls[i] != NSX_C_COMPUTE || !is_judged(s, k))
			continue;
		if (!s->v[k].slow)
			x->is_usual = true;
		else
			nsx_add_to(&x->slow_ns, nsx_op_ns(&t->ops, i));
	}
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		nsx_str name = nsx_op_name(t, i);

		if (v[name].is_usual || !v[name].slow_ns)
			continue;
		s->kernels.n++;
		nsx_add_to(&s->kernels.ns, v[name].slow_ns);
		if (v[name].slow_ns > s->kernels.longest_ns) {
			s->kernels.longest = name;
			s->kernels.longest_ns = v[name].slow_ns;
		}
		v[name].slow_ns = 0;
	}
	if ((double)s->kernels.ns < LITTLE * (double)s->excess_ns)
		s->kernels.n = 0;
	nsx_arena_drop(s->d->scratch, v);
	return 0;
}

/* Launches -----------------------------------------------------------------------*/

/* The iteration whose work a call launches; s->n: none, or on another GPU. */
static size_t launched_in(const struct slow *s, size_t call)
{
	const struct nsx_trace *t = s->d->trace;
	uint32_t op = nsx_call_op(&t->calls, call);

	if (t->calls.cls[call] != NSX_CALL_LAUNCH || op == NSX_NONE ||
	    nsx_stream_of(t, op)->device != s->v->device ||
	    (s->v->process != NSX_NONE &&
	     nsx_op_process(t, op) != s->v->process))
		return s->n;
	return iteration_at(s, nsx_op_start(&t->ops, op));
}

/* The launches of slow iterations without a graph, where the others replay one each
 * or more: their shape was not captured, or the capture broke.  The first launch of
 * each stands for that of the graph.
 */
static int find_launches(struct slow *s, struct nsx_err *err)
{
	const struct nsx_calls *c = &s->d->trace->calls;
	size_t nreplays = 0, last = s->n, k;
	bool *replays;

	if (!nsx_new_array(replays, s->d->scratch, s->n + 1, "launches", err))
		return err->rc;
	for (size_t i = 0; i < c->n; i++)
		if (c->flags[i] & NSX_CALL_GRAPH)
			replays[launched_in(s, i)] = true;
	for (k = 0; k < s->n; k++)
		nreplays += is_judged(s, k) && !s->v[k].slow && replays[k];
	if (nreplays < s->njudged - s->nslow || !nreplays)
		return 0;
	for (size_t i = 0; i < c->n; i++) {
		k = launched_in(s, i);
		if (k == s->n || !is_judged(s, k) || !s->v[k].slow || replays[k])
			continue;
		if (k == last && nsx_list_row(&s->launches, i, err))
			return err->rc;
		last = k;
	}
	return 0;
}

/* Findings -----------------------------------------------------------------------*/

static void fill_remedy(struct slow *s, struct nsx_finding *f)
{
	const struct nsx_change faster_host = {.verb = NSX_FASTER_HOST,
					       .amount = INFINITY};
	const struct nsx_change usual = {.verb = NSX_FASTER_HOST,
					 .amount = INFINITY,
					 .least_ns = s->left_ns};
	struct nsx_change *v = nsx_arena_get(s->d->found->arena,
					     (6 + MOST_RANGES) * sizeof(*v));
	size_t n = 0;

	nsx_add_change(s->d, v, &n, &s->pauses, usual);
	nsx_add_change(s->d, v, &n, &s->pauses, (struct nsx_change){
		.verb = NSX_NO_OS_WAIT, .name = ".", .is_pattern = true});
	nsx_add_change(s->d, v, &n, &s->launches, faster_host);
	nsx_add_change(s->d, v, &n, &s->launches, (struct nsx_change){
		.verb = NSX_FASTER_LAUNCH, .amount = INFINITY});
	nsx_add_change(s->d, v, &n, &s->copies,
		       (struct nsx_change){.verb = NSX_NO_COST});
	nsx_add_change(s->d, v, &n, &s->copied,
		       (struct nsx_change){.verb = NSX_DROP});
	for (uint32_t i = 0; i < s->nranges; i++)
		v[n++] = (struct nsx_change){
			.verb = NSX_DROP_RANGE,
			.range = nsx_range_shown(s->d, s->range[i])};
	f->remedy = (struct nsx_plan){v, n};
}

static const char *in_slow(const struct slow *s)
{
	return s->nslow == 1 ? "in it" : "in them";
}

/* Whether most pauses end where code is loaded: what the host did before is to make it. */
static bool compiles(const struct slow *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->pauses.n; i++)
		n += s->d->trace->calls.cls[s->pauses.v[i]] == NSX_CALL_MODULE;
	return n * 2 > s->pauses.n;
}

/* Of OS calls the one that most of the pauses are in. */
static struct nsx_winner paused_in(const struct slow *s)
{
	struct nsx_winner in = nsx_votes_won(&s->outside, 0);

	if (in.weight < s->paused_ns - s->paused_ns / 2)
		in.frame = NSX_NONE;
	return in;
}

/* Whether all that is known of why they are slow is that the host pauses. */
static bool only_pauses(const struct slow *s)
{
	return s->pauses.n && !s->nranges && !s->copies.n && !s->launches.n &&
	       !compiles(s);
}

/* "in them the launching thread of process 7 pauses 6 times between two CUDA calls,
 * mostly in read"
 */
static const char *say_pauses(struct slow *s)
{
	const struct nsx_trace *t = s->d->trace;
	struct nsx_winner in = paused_in(s);
	struct nsx_findings *l = s->d->found;
	const char *who = "the launching thread pauses", *where = "";

	if (s->paused == NSX_SEVERAL)
		who = "the launching threads pause";
	else if (t->nprocesses > 1)
		who = nsx_tell(l, "the launching thread of process %lld pauses",
			       (long long)t->process[t->thread[s->paused].process].pid);
	if (in.frame != NSX_NONE)
		where = nsx_tell(l, ", mostly in %s", nsx_tell_name(
			l, nsx_text(t, (nsx_str)in.frame)));
	return nsx_tell(l, "%s %s %s between two CUDA calls%s", in_slow(s), who,
			s->pauses.n == 1 ? "once" :
			nsx_text_n(l->arena, s->pauses.n, "time", "times"), where);
}

static const char *say_ranges(const struct slow *s)
{
	struct nsx_findings *l = s->d->found;
	const char *names = "";

	for (uint32_t i = 0; i < s->nranges; i++)
		names = nsx_tell(l, "%s%s%s", names, i ? ", " : "",
				 nsx_tell_name(l, nsx_range_shown(s->d,
							s->range[i])));
	return nsx_tell(l, "only %s %s, with %s of work on the GPU",
			s->nslow == 1 ? "it has" : "they have", names,
			nsx_tell_ns(l, s->range_ns));
}

/* NULL: there are none, or a range tells. */
static const char *say_kernels(const struct slow *s)
{
	struct nsx_findings *l = s->d->found;
	size_t n = s->kernels.n;

	return !n || s->range_ns ? NULL :
		nsx_tell(l, "only %s %s%s, for %s", s->nslow == 1 ? "it runs" : "they run",
			 n == 1 ? "kernel " : nsx_tell(l, "%zu kernels, the longest ", n),
			 nsx_tell_name(l, nsx_kernel_label(
				&s->d->facts->kernels, s->kernels.longest)),
			 nsx_tell_ns(l, s->kernels.ns));
}

/* One in so many, over most of the window. */
static bool is_even(const struct slow *s)
{
	return s->nslow >= RECURS && s->every > 1 &&
	       4 * s->nslow * s->every >= 3 * s->njudged;
}

/* Kernels that repeat do not tell a step from its parts, as ranges do. */
static bool may_be_parts(const struct slow *s)
{
	return is_even(s) && s->d->facts->iteration_method != NSX_WAY_NVTX &&
	       !s->are_named;
}

static const char *say_parts(const struct slow *s)
{
	return nsx_tell(s->d->found, "%zu %ss in a row may be one step, and the slow "
			"one its end; else something is done once in %zu",
			s->every, nsx_iteration_word(s->d->facts), s->every);
}

/* Whether all that they have beyond the others comes after them, as an evaluation does
 * that follows some steps: that is no slow step.
 */
static bool is_other_work(const struct slow *s)
{
	return s->range_ns && s->between_ns == s->range_ns && !s->pauses.n;
}

/* Whether they are slow from one on, to the end: what does that is no exception, and another
 * finding may tell what it is.
 */
static bool lasts(const struct slow *s)
{
	return s->ntimes == 1 && s->last_slow == s->last_judged && s->nslow >= RECURS &&
	       LASTS * s->nslow >= s->njudged && !s->range_ns;
}

/* "one block in 20 is slow: 59 cost" */
static const char *say_slow(const struct slow *s)
{
	struct nsx_findings *l = s->d->found;

	if (is_other_work(s))
		return nsx_tell(l, "other work between iterations, %s, costs",
				nsx_text_n(l->arena, s->nslow, "time", NULL));
	if (!is_even(s))
		return nsx_text_n(l->arena, s->nslow, "slow iteration costs",
				  "slow iterations cost");
	return nsx_tell(l, "one %s in %zu is slow: %zu cost",
			nsx_iteration_word(s->d->facts), s->every, s->nslow);
}

/* Whether much of what is communicated is waiting for a rank that comes late. */
static bool waits_for_ranks(const struct slow *s)
{
	uint32_t device = s->d->facts->limiting;

	return !s->d->measured->comm ||
	       10 * nsx_comm_waited_ns(s->d, device) >=
	       s->d->measured->comm[device].comm_ns;
}

/* most: the class of time that they have most of beyond the others' */
static void advise(const struct slow *s, unsigned most, struct nsx_finding *f)
{
	bool holds_up = s->meets && s->pauses.n && s->paused == NSX_SEVERAL;
	struct nsx_winner in = paused_in(s);
	enum awaited what = in.frame == NSX_NONE ? UNKNOWN_WAIT :
		host_waits_for(nsx_text(s->d->trace, (nsx_str)in.frame));
	struct nsx_window first = {s->first->start_ns, s->first->end_ns};

	f->recommendation[0] =
		s->range_ns ?
			"do it less often, in smaller pieces, or where it holds "
			"up nothing: in another process, on another GPU" :
		s->launches.n ?
			"replay a graph in them, too: capture the shapes or batch "
			"sizes that they have, or pad to those captured" :
		compiles(s) ?
			"compile and load beforehand: run each shape once before "
			"the loop, and keep what was compiled (a cache of "
			"kernels)" :
		most == NSX_P_IDLE && may_be_parts(s) ?
			"if they end a step, prepare the next while the GPU works "
			"on this one; else see what the host does in them "
			"(checkpoints, logging, data loading)" :
		s->paused_ns > s->excess_ns / 2 &&
				(what == A_REQUEST || what == INPUT ||
				 what == A_THREAD) ?
			host_advise_wait(s->d, what, nsx_tell_name(
				s->d->found,
				nsx_text(s->d->trace, (nsx_str)in.frame))) :
		most == NSX_P_IDLE || holds_up || s->paused_ns > s->excess_ns / 2 ?
			nsx_tell(s->d->found, "see what the host does %s: "
				 "checkpoints, logging, data loading, garbage "
				 "collection; do it on another thread, or less "
				 "often", in_slow(s)) :
		most == NSX_P_COMM_EXPOSED && !waits_for_ranks(s) ?
			"they communicate more than the others, and wait for no "
			"late rank: start it sooner, beside compute" :
		most == NSX_P_COMM_EXPOSED ?
			"look at when the ranks arrive "
			"(tables/nccl_rank_skew.csv): another came late" :
			nsx_tell(s->d->found, "compare their kernels (--window %s "
				 "shows the first) with those of a usual iteration: %s",
				 nsx_text_window(s->d->found->arena, &first),
				 most == NSX_P_COMPUTE_ONLY && s->kernels.n ?
					 "other work, shapes or algorithms (cudnn.benchmark)" :
					 "other shapes, or lower clocks");
	if (what == A_THREAD && !s->range_ns && !s->d->is_pytorch)
		f->recommendation[1] =
			"if it waits for requests that had not come, there is nothing "
			"to win";
	if (holds_up)
		f->recommendation[1] =
			"or let all ranks pause in the same iteration: one that "
			"pauses alone holds up the others";
}

/* Pauses that are little of what the iterations take too long do not slow them down,
 * nor do launches beside which the GPU works.
 */
static void drop_little(struct slow *s)
{
	double least_ns = LITTLE * (double)s->excess_ns;

	if ((double)s->by_class[NSX_P_IDLE] < least_ns)
		s->launches.n = 0;
	if ((double)s->paused_ns < least_ns) {
		s->pauses.n = s->nranges = 0;
		s->place = NSX_NONE;
	}
}

/* Where most of the pauses are, in a range that the others have, too. */
static void tell_pause_place(struct slow *s, struct nsx_finding *f)
{
	if (s->pauses.n && s->pause_place.ns >= s->paused_ns - s->paused_ns / 2)
		nsx_places_tell(s->d, &s->places, 0, &s->pause_place, f);
}

/* What they do otherwise, and how much longer they take. */
static void tell_why(struct slow *s, unsigned most, struct nsx_finding *f)
{
	struct nsx_findings *l = s->d->found;
	size_t n = 0;

	if (may_be_parts(s))
		f->evidence[n++] = say_parts(s);
	if (s->pauses.n)
		f->evidence[n++] = say_pauses(s);
	if (s->copies.n)
		f->evidence[n++] = nsx_tell(l, "%s the host waits for %s "
					   "far longer than any in the others",
					   in_slow(s), nsx_text_n(l->arena, s->copies.n,
						      "copy", "copies"));
	if (s->launches.n)
		f->evidence[n++] = nsx_tell(
			l, "the others replay a CUDA graph; %s %s its work "
			"one by one", in_slow(s), nsx_text_n(l->arena, s->launches.n,
						 "call launches", "calls launch"));
	if (s->range_ns)
		f->evidence[n++] = say_ranges(s);
	f->evidence[n++] = nsx_tell(l, "most of the difference is %s: %s more",
				   part_words[most],
				   nsx_text_ns(l->arena,
					       (double)s->by_class[most]));
	if (most == NSX_P_COMPUTE_ONLY && say_kernels(s))
		f->evidence[n++] = say_kernels(s);
	f->evidence[n++] = nsx_tell(l, "the median iteration takes %s; %s more "
				 "than 1.25 times that",
				 nsx_text_ns(l->arena, s->median_ns),
				 s->nslow == 1 ? "this one takes" : "these take");
	if (lasts(s))
		f->evidence[n++] = nsx_tell(l, "from %s on all of them do",
			nsx_text_instant(l->arena, s->first->start_ns, 3));
	else if (s->ntimes == 1)
		f->evidence[n++] = s->noutside ?
			nsx_tell(l, "it happens once in the judged window; outside "
				    "of it %s", nsx_text_n(
					l->arena, s->noutside,
					"iteration is slow, too",
					"iterations are slow, too")) :
			"it happens once: whether it comes again the trace does "
			"not tell";
}

/* Whether they wait for what comes from outside whenever it likes, as a server does for
 * requests: the wait is told, and nothing here makes it shorter.
 */
static bool waits_outside(struct slow *s)
{
	const struct nsx_trace *t = s->d->trace;
	struct nsx_winner in = paused_in(s);
	const char *name;

	if (!only_pauses(s) || in.frame == NSX_NONE ||
	    in.weight < s->excess_ns - s->excess_ns / 2)
		return false;
	name = nsx_text(t, (nsx_str)in.frame);
	if (!host_is_outside(s->d, host_waits_for(name)))
		return false;
	nsx_fine(s->d->found, "%s %s, in which the launching thread waits for "
		 "input in %s", say_slow(s), nsx_tell_ns(s->d->found, s->excess_ns),
		 name);
	return true;
}

static void propose(struct slow *s)
{
	struct nsx_findings *l = s->d->found;
	double length_ns = (double)(s->d->w.end_ns - s->d->w.start_ns);
	double share = (double)s->excess_ns / length_ns;
	const char *path = nsx_range_path(s->d, s->place);
	unsigned most = 0;
	struct nsx_finding f = {
		.id = NSX_ID_slow_iterations, .device = s->d->facts->limiting,
		.confidence = NSX_CONF_MEDIUM, .place = path,
		.guess_ns = (double)s->excess_ns,
		.proof = {{.csv = "iterations", .column = "wall_ms",
			   .at = {{"slow", nsx_bool(true)}}}}};

	if (share < LEAST_SLOW || waits_outside(s))
		return;
	for (unsigned k = 1; k < NSX_NPARTS; k++)
		if (s->by_class[k] > s->by_class[most])
			most = k;
	f.title = nsx_tell(l, "%s %s, %s of the judged window%s%s", say_slow(s),
			   nsx_tell_ns(l, s->excess_ns),
			   nsx_text_share(l->arena, share, 1), path ? ": " : "",
			   path ? path : "");
	tell_why(s, most, &f);
	if ((s->ntimes == 1 && !lasts(s)) || is_other_work(s)) {
		f.severity = NSX_SEV_LOW;
		f.alarm = NSX_ALARM_SET;
	}
	advise(s, most, &f);
	fill_remedy(s, &f);
	/* A part may have more of them than its share. */
	if (nsx_model_closure(s->d->facts->model)->is_part)
		f.most_ns = (double)s->excess_ns;
	f.is_rule = f.remedy.n; /* what slows them down is known */
	f.part = s->pauses.n ? NSX_P_IDLE : (enum nsx_part_class)most;
	if (!path)
		tell_pause_place(s, &f);
	nsx_found(l, &f);
}

/* Whether no iteration is an exception, which is told then. */
static bool are_fine(struct slow *s)
{
	struct nsx_findings *l = s->d->found;
	const char *median = nsx_text_ns(l->arena, s->median_ns);

	if (!s->nslow)
		nsx_fine(l, "Iterations are even: in the judged window none is "
			 "above 1.25 times the median of %s", median);
	else if (s->ntimes >= RECURS && s->nslow * RECURS > s->njudged &&
		 !s->launches.n)
		nsx_fine(l, "%zu of %zu iterations are above 1.25 times the "
			 "median of %s: they are of two kinds, none is an "
			 "exception", s->nslow, s->njudged, median);
	else if (s->nslow * RECURS > s->njudged && !s->launches.n &&
		 2 * s->by_class[NSX_P_COMPUTE_ONLY] > s->excess_ns)
		nsx_fine(l, "%zu of %zu iterations are above 1.25 times the "
			 "median of %s, in a row: they have more to compute, none "
			 "is an exception", s->nslow, s->njudged, median);
	else
		return false;
	return true;
}

/* What launching threads do in every iteration, then their pauses beyond that. */
static int walk_threads(struct slow *s, uint32_t *below, struct nsx_err *err)
{
	const struct nsx_trace *t = s->d->trace;

	for (int usual = 1; usual >= 0; usual--)
		for (uint32_t i = 0; i < t->nthreads; i++) {
			if (!t->thread[i].launches ||
			    (s->v->process != NSX_NONE && !s->meets &&
			     t->thread[i].process != s->v->process))
				continue;
			if (usual)
				find_usual_copy(s, i);
			else if (find_usual_pause(s, i, err) ||
				 find_pauses(s, i, below, err))
				return err->rc;
		}
	return 0;
}

int nsx_detect_iterations(struct nsx_detect *d, struct nsx_err *err)
{
	struct slow s = {.d = d, .place = NSX_NONE,
			 .pause_place = {0, NSX_NONE}};
	uint32_t *below;
	int rc;

	if (d->facts->limiting == NSX_NONE || find_median(&s, err))
		return d->facts->limiting == NSX_NONE ? 0 : err->rc;
	if (!s.n)
		return 0;
	sum_excess(&s);
	if (find_launches(&s, err))
		return err->rc;
	if (are_fine(&s))
		return 0;
	s.meets = d->facts->device[d->facts->limiting].comm.n > 0;
	if (!nsx_new_array(below, d->scratch, d->trace->nvtx.n, "ranges", err))
		return err->rc;
	rc = count_ranges(&s, err) ?: walk_threads(&s, below, err);
	drop_little(&s);
	rc = rc ?: find_ranges(&s, err) ?: find_kernels(&s, err);
	if (!rc)
		propose(&s);
	nsx_groups_done(&s.kinds);
	free(s.of_kind);
	nsx_votes_done(&s.outside);
	nsx_places_done(&s.places);
	free(s.pauses.v);
	free(s.launches.v);
	free(s.copies.v);
	free(s.copied.v);
	return rc;
}
