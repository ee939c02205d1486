/* rank.c - what was found, priced and in order.
 *
 * The price of a finding is what the recorded program wins when it is replayed
 * with the remedy.  Prices overlap, so remedies are applied one after the
 * other, each time the one that adds most: what it adds is its disjoint
 * headroom.  A remedy that adds next to nothing once another is there wins the
 * same time: the two are one finding, named by the cause furthest up, with the
 * other as an alternative.
 */
#include <string.h>
#include "detect/detect.h"
#include "facts/replay/replay.h"

#define LEAST_SHARE 0.001  /* of the window; what wins less is not told     */
#define MINOR_SHARE 0.005  /* ... is told among the minor ones              */
#define HIGH_SHARE 0.1
#define MEDIUM_SHARE 0.03
#define KERNEL_SHARE                                                           \
	0.6	    /* a single kernel that takes as much matters,             \
		       though its price is assumed                   */
#define MOSTLY 0.5	   /* of the window, that a setting changes         */
#define SURE 0.1	   /* of a price, that must be won in any case      */
#define INSTEAD 3.0	   /* times the remedy, from which another is taken */
#define SAME 0.05	   /* what an alternative may add to the other      */
#define OWN 0.3		   /* ... of what it wins alone                     */
#define HALF 0.5	   /* ... where it leaves room for the other          */
#define LEADS 0.8	   /* of the other's price, to name both            */
#define MOST_OF_LATE 0.5   /* ... of a late rank's, to be its cause           */
#define BEYOND 2.0	   /* times what slow iterations take too long, that they win */
#define MUCH_MORE 2.0	   /* times the price: what a remedy saves of its own time */
#define LATER 2.0	   /* times what idles right after waits, that they win */
#define LATEST 4.0	   /* ... to stand behind code of the host that wins it */
#define STOPS 0.5	   /* ... to stand before it, for what stops a host */
#define BOUNDED 0.2	   /* ... where that is but an upper bound, or it
			      stops it more than before                      */
enum {
	MAX_QUALITY = 3, MAX_WAYS = 4, /* told by name                       */
	ROOM = 64, /* letters of a title that leave some, on its line, for more */
};

struct item {
	struct nsx_finding *f;
	size_t order; /* of appearance                                       */
	double adds_ns; /* to what is applied so far                         */
	bool gone;    /* from the list                                       */
	bool left;    /* to be applied                                       */
	bool unreplayed; /* as is all else: the replay abstains              */
};

struct pricing {
	const struct nsx_trace *trace;
	const struct nsx_facts *facts;
	struct nsx_findings *l;
	struct nsx_arena *scratch;
	unsigned threads;
	bool works; /* the GPUs do                                           */
	struct nsx_window w;
	double length_ns;
	struct item *v;
	size_t n;
	struct nsx_change *applied; /* the remedies so far                   */
	size_t napplied;
	unsigned nsteps; /* findings that were applied                       */
	double won_ns[NSX_MAX_SETS + 1]; /* by them, by set                  */
};

static bool is_capture(const struct nsx_finding *f)
{
	return nsx_finding_category(f) == NSX_CAT_CAPTURE;
}

/* Alone -----------------------------------------------------------------------*/

/* Where nothing of it was replayed: what lies in the window of the spans, or the
 * detector's guess.  Where no GPU works that is measured: nothing goes on beside it.
 */
static int guess(struct pricing *p, struct item *x, struct nsx_err *err)
{
	struct nsx_finding *f = x->f;
	struct nsx_span whole = {p->w.start_ns, p->w.end_ns};
	struct nsx_spans window = {.v = &whole,
				   .n = p->w.start_ns < p->w.end_ns}, both;

	if (f->price != NSX_PRICE_NONE || is_capture(f))
		return 0;
	if (f->spans.n && f->guess_ns <= 0) {
		if (nsx_spans_intersect(p->scratch, &f->spans, &window, &both,
					err))
			return err->rc;
		f->guess_ns = (double)nsx_spans_total(&both);
	}
	f->headroom_ns = f->low_ns = f->high_ns =
		NSX_MIN(f->guess_ns, p->length_ns);
	f->price = f->guess_ns <= 0 ? NSX_PRICE_NONE :
		   f->is_rule || !(p->works || f->is_assumed) ?
				     NSX_PRICE_MEASURED : NSX_PRICE_ASSUMED;
	x->gone |= f->guess_ns <= 0 && f->remedy.n; /* nothing shows that it costs */
	return 0;
}

/* What is said of a window is no surer than that it is the right one. */
static enum nsx_confidence of_window(const struct nsx_steady *s)
{
	return s->method && s->confidence == NSX_CONF_LOW ? NSX_CONF_MEDIUM :
							    NSX_CONF_HIGH;
}

/* Whether waits win so many times what the GPU idles right after them. */
static bool wins_later(const struct nsx_finding *f, double times)
{
	return f->counts_idle && f->headroom_ns > times * f->guess_ns;
}

/* Whether memsets win so many times what they take: it is by what waits for them. */
static bool is_waited_for(const struct nsx_finding *f)
{
	return f->id == NSX_ID_memsets && f->headroom_ns > LATER * f->guess_ns;
}

/* What is taken out of one place shortens no path by more than that. */
static double bounded(const struct nsx_finding *f, double ns)
{
	return f->most_ns > 0 ? NSX_MIN(ns, f->most_ns) : ns;
}

/* Of what shares nothing with the GPU that sets the pace: nobody else gets done sooner. */
static void tell_whose(struct pricing *p, struct nsx_finding *f)
{
	const struct nsx_trace *t = p->trace;
	const char *who = NULL;
	bool is_tied;
	size_t n = 0;

	if (f->set == nsx_main_set(p->facts->model))
		return;
	for (uint32_t i = 0; i < t->nprocesses; i++)
		if (nsx_set_has(p->facts->model, f->set, i) && n++ < MAX_WAYS)
			who = nsx_tell(p->l, "%s%s%lld", who ? who : "",
				       who ? ", " : "", (long long)t->process[i].pid);
	is_tied = n && nsx_set_is_tied(p->facts->model, f->set);
	f->is_upper |= is_tied;
	if (n)
		nsx_add_evidence(f, nsx_tell(
			p->l, "It is time of process%s %s%s%s %s%s", n > 1 ? "es" : "",
			who, n > MAX_WAYS ? " ..." : "", is_tied ?
			": others keep step with" :
			" alone: nothing ties the other processes to",
			n > 1 ? "them" : "it", is_tied ?
			", and may wait that long for it" : ""));
}

static void take_gain(struct pricing *p, struct item *x,
		      const struct nsx_gain *g)
{
	struct nsx_finding *f = x->f;

	if (g->confidence == NSX_CONF_NONE || (!g->touched && f->is_rule))
		return; /* nothing was replayed, or a part that has none of it */
	x->gone = !g->touched || (f->is_assumed && g->gain_ns <= 0);
	f->price = f->is_assumed ? NSX_PRICE_ASSUMED : NSX_PRICE_REPLAYED;
	f->headroom_ns = bounded(f, (double)g->gain_ns);
	f->low_ns = bounded(f, (double)g->low_ns);
	f->high_ns = bounded(f, (double)g->high_ns);
	f->confidence = NSX_MIN(f->confidence, g->confidence);
	f->set = g->set;
	if (f->id == NSX_ID_idle_after_sync &&
	    wins_later(f, LATER)) /* the line says what idles right after */
		f->evidence[1] = nsx_tell(p->l, "%s, and for more later, until "
					  "the host is ahead again",
					  f->evidence[1]);
	if (f->is_assumed && f->guess_ns > MUCH_MORE * f->headroom_ns && g->gain_ns > 0)
		nsx_add_evidence(f, nsx_tell(
			p->l, "%s of its time would go, and most of that would become "
			"waiting for something else",
			nsx_text_ns(p->l->arena, f->guess_ns)));
	tell_whose(p, f);
	if (g->low_ns < g->gain_ns / 2 && f->confidence > NSX_CONF_LOW)
		f->confidence--;
	if (g->low_ns < g->gain_ns - g->gain_ns / 10)
		nsx_add_evidence(f, nsx_tell(
			p->l, "It wins %s if waits outside CUDA last as long "
			"as they did, and %s if they end when they did",
			nsx_text_ns(p->l->arena, (double)g->gain_ns),
			g->low_ns ? nsx_text_ns(p->l->arena,
						(double)g->low_ns) :
				    "nothing"));
}

/* The stronger remedy: its advice is the finding's last. */
static void prefer_instead(struct nsx_finding *f)
{
	const char **r = f->recommendation, *first = r[0];

	f->remedy = f->instead;
	for (size_t i = 0; r[1] && i + 1 < ARRAY_LEN(f->recommendation); i++) {
		r[i] = r[i + 1];
		if (!r[i + 1]) {
			r[i] = first;
			break;
		}
	}
}

/* Gains of the remedies, or of what is to be done instead where that wins much
 * more: all in one round, so that no thread waits for another in between.
 */
static int price_best(struct pricing *p, struct nsx_plan *plans,
		      struct nsx_gain *gains, struct nsx_err *err)
{
	uint32_t *sets = nsx_arena_get(p->scratch, 2 * p->n * sizeof(*sets));
	size_t n = p->n;

	for (size_t i = 0; i < p->n; i++) {
		const struct nsx_finding *f = p->v[i].f;

		plans[i] = f->remedy;
		/* Iterations are those of the limiting GPU. */
		if (f->id == NSX_ID_slow_iterations)
			sets[i] = nsx_main_set(p->facts->model);
		if (f->instead.n)
			plans[n++] = f->instead;
	}
	if (nsx_replay_prices(p->facts->model, plans, sets, n, p->threads, gains,
			      err))
		return err->rc;
	n = p->n;
	for (size_t i = 0; i < p->n; i++) {
		const struct nsx_gain *g = &gains[n];

		if (!p->v[i].f->instead.n)
			continue;
		n++;
		if (g->confidence == NSX_CONF_NONE ||
		    (double)g->gain_ns < INSTEAD * (double)gains[i].gain_ns)
			continue;
		prefer_instead(p->v[i].f);
		gains[i] = *g;
	}
	return 0;
}

static int price_alone(struct pricing *p, struct nsx_plan *plans,
		       struct nsx_gain *gains, struct nsx_err *err)
{
	if (price_best(p, plans, gains, err))
		return err->rc;
	for (size_t i = 0; i < p->n; i++) {
		struct nsx_finding *f = p->v[i].f;

		if (f->remedy.n)
			take_gain(p, &p->v[i], &gains[i]);
		if (f->measured_ns > f->headroom_ns) {
			f->headroom_ns = f->low_ns = f->high_ns =
				NSX_MIN(f->measured_ns, p->length_ns);
			f->price = NSX_PRICE_MEASURED;
			p->v[i].gone = false;
		}
		if (guess(p, &p->v[i], err))
			return err->rc;
	}
	return 0;
}

static struct item *told(const struct pricing *p, enum nsx_finding_id id)
{
	for (size_t i = 0; i < p->n; i++)
		if (!p->v[i].gone && p->v[i].f->id == id)
			return &p->v[i];
	return NULL;
}

/* "no", or how much, as a share of the window too. */
static const char *say_little(const struct pricing *p, double gain_ns)
{
	return gain_ns > 0 ? nsx_tell(p->l, "only %s (%s)",
				      nsx_tell_ns(p->l, (int64_t)gain_ns),
				      nsx_text_share(p->l->arena, gain_ns,
						     p->length_ns)) : "no";
}

/* What wins nothing is dropped, or told to be harmless; so are the waits of a
 * program that is paced from outside: they end when what it waits for comes.
 */
static void drop_harmless(struct pricing *p)
{
	bool paced = told(p, NSX_ID_paced);

	for (size_t i = 0; i < p->n; i++) {
		struct item *x = &p->v[i];

		if (x->f->price < NSX_PRICE_MEASURED)
			continue;
		if (paced && x->f->id == NSX_ID_idle_by_os_wait)
			x->gone = true;
		if (x->f->headroom_ns < LEAST_SHARE * p->length_ns)
			x->gone = true;
		if (x->f->harmless &&
		    x->f->headroom_ns < MINOR_SHARE * p->length_ns)
			nsx_fine(p->l, "%s, but without that the window would "
				 "be %s shorter", x->f->harmless,
				 say_little(p, x->f->headroom_ns));
		x->left = !x->gone && x->f->price == NSX_PRICE_REPLAYED &&
			  x->f->headroom_ns >= MINOR_SHARE * p->length_ns;
	}
}

/* A pause of the launching thread, a call that takes long, or a rank that comes late
 * shows in the wait for the GPU that comes before or after it, which keeps what is
 * its own.
 */
static bool stops_host(enum nsx_finding_id id)
{
	return id <= NSX_ID_idle_by_slow_call;
}

/* How much of an iteration lies in the stretch that a change is for; where that names
 * operations, all of one in which one of them begins, else none.  *run: a cursor.
 */
static int64_t touched_ns(const struct nsx_trace *t, const struct nsx_change *c,
			  const struct nsx_iteration *x, size_t *run)
{
	const struct nsx_rows *r = &c->rows;

	if (!r->only)
		return NSX_MIN(x->end_ns, c->when.end_ns) -
		       NSX_MAX(x->start_ns, c->when.start_ns);
	while (*run < r->nruns &&
	       nsx_op_start(&t->ops, nsx_run_end(r, *run) - 1) < x->start_ns)
		++*run;
	return *run < r->nruns &&
	       nsx_op_start(&t->ops, nsx_run_first(r, *run)) < x->end_ns ?
		       x->end_ns - x->start_ns : 0;
}

/* Iterations of a device that are slow in the judged window, those that a change of its
 * operations, or of a stretch of the window, is for, and how much of their time is.
 */
static size_t count_slow(const struct pricing *p, uint32_t device,
			 const struct nsx_change *c, double *ret_share)
{
	int64_t all_ns = 0, in_ns = 0;
	size_t n = 0, run = 0;

	for (size_t i = 0; i < p->facts->niterations; i++) {
		const struct nsx_iteration *x = &p->facts->iterations[i];
		int64_t ns = x->device == device ?
				     touched_ns(p->trace, c, x, &run) : 0;

		if (!x->slow || x->device != device || x->start_ns < p->w.start_ns ||
		    x->end_ns > p->w.end_ns)
			continue;
		nsx_add_to(&all_ns, x->end_ns - x->start_ns);
		nsx_add_to(&in_ns, NSX_MAX(ns, 0));
		n += ns > 0;
	}
	*ret_share = all_ns ? (double)in_ns / (double)all_ns : 0;
	return n;
}

static void tell_slow(struct pricing *p, struct item *slow, struct item *x, size_t n)
{
	slow->gone = true;
	nsx_add_evidence(x->f, nsx_tell(
		p->l, "It is why %s more than 1.25 times the median",
		nsx_text_n(p->l->arena, n, "iteration takes", "iterations take")));
}

/* Iterations of which nothing is known but that they are slow while the clocks are low, or the
 * host is slow, or a kernel is, and that this costs as much, are told with it.
 */
static void join_slow_iterations(struct pricing *p, enum nsx_finding_id cause)
{
	struct item *slow = told(p, NSX_ID_slow_iterations), *x = told(p, cause);
	double share;
	size_t n;

	if (!slow || !x || slow->f->remedy.n || !x->f->remedy.n ||
	    x->f->headroom_ns < LEADS * slow->f->guess_ns)
		return;
	n = count_slow(p, slow->f->device, &x->f->remedy.v[0], &share);
	if (share < LEADS)
		return;
	tell_slow(p, slow, x, n);
}

/* Of calls, as far as they are named one by one: how much of their time lies in slow
 * iterations of a device, and in how many of these.
 */
static size_t count_slow_by_calls(struct pricing *p, uint32_t device,
				  const struct nsx_change *c, double *ret_share)
{
	const struct nsx_calls *calls = &p->trace->calls;
	struct nsx_spans spans = {.v = nsx_arena_get(p->scratch,
						     (c->rows.n + 1) * sizeof(*spans.v))};
	int64_t in_ns = 0;
	size_t n = 0, at = 0;

	NSX_EACH_ROW(&c->rows, call)
		nsx_spans_push(&spans, nsx_call_start(calls, call),
			       nsx_call_end(calls, call));
	nsx_spans_normalise(&spans);
	for (size_t i = 0; i < p->facts->niterations; i++) {
		const struct nsx_iteration *x = &p->facts->iterations[i];
		int64_t ns;

		if (!x->slow || x->device != device || x->start_ns < p->w.start_ns ||
		    x->end_ns > p->w.end_ns)
			continue;
		ns = nsx_spans_covered(&spans, &at, x->start_ns, x->end_ns);
		nsx_add_to(&in_ns, ns);
		n += ns > 0;
	}
	*ret_share = spans.n ? (double)in_ns / (double)nsx_spans_total(&spans) : 0;
	return n;
}

/* Likewise calls that take long, nearly all of them in these iterations. */
static void join_slow_to_calls(struct pricing *p)
{
	struct item *slow = told(p, NSX_ID_slow_iterations);

	for (size_t i = 0; slow && !slow->gone && !slow->f->remedy.n && i < p->n; i++) {
		struct item *x = &p->v[i];
		double share;
		size_t n;

		if (x->gone || !stops_host(x->f->id) || x->f->remedy.n != 1 ||
		    !nsx_changes_calls(x->f->remedy.v[0].verb) ||
		    !x->f->remedy.v[0].rows.only ||
		    x->f->headroom_ns < LEADS * slow->f->guess_ns)
			continue;
		n = count_slow_by_calls(p, slow->f->device, &x->f->remedy.v[0], &share);
		if (share >= LEADS)
			tell_slow(p, slow, x, n);
	}
}

/* How long the thread of a call made none before it. */
static int64_t code_before_ns(const struct nsx_trace *t, uint32_t call)
{
	const struct nsx_thread *th = &t->thread[nsx_call_thread(t, call)];
	uint32_t last = call;

	while (last > th->calls_at)
		if (!(t->calls.flags[--last] & NSX_CALL_NESTED))
			return NSX_MAX(0, nsx_call_start(&t->calls, call) -
						  nsx_call_end(&t->calls, last));
	return 0;
}

/* Whether most of the code before calls that a change is for lies in a window. */
static bool lies_in(const struct pricing *p, const struct nsx_change *c, struct nsx_window w)
{
	int64_t all_ns = 0, in_ns = 0;

	NSX_EACH_ROW(&c->rows, call) {
		int64_t at_ns = nsx_call_start(&p->trace->calls, call);
		int64_t ns = code_before_ns(p->trace, call);

		nsx_add_to(&all_ns, ns);
		if (at_ns >= w.start_ns && at_ns < w.end_ns)
			nsx_add_to(&in_ns, ns);
	}
	return all_ns && (double)in_ns >= LEADS * (double)all_ns;
}

/* What the host does more from some instant on is told by the code that begins then, where
 * that has a name and wins as much.
 */
static void join_slower_host(struct pricing *p)
{
	struct item *slower = told(p, NSX_ID_slower_host);
	const struct nsx_change *more = slower ? slower->f->remedy.v : NULL;

	if (!slower || slower->f->remedy.n != 1 || more->verb != NSX_FASTER_HOST)
		return;
	for (size_t i = 0; i < p->n; i++) {
		struct item *x = &p->v[i];

		if (x->gone || x->f->id != NSX_ID_idle_by_host_code || !x->f->place ||
		    x->f->headroom_ns < LEADS * slower->f->headroom_ns ||
		    !lies_in(p, &x->f->remedy.v[0], more->when))
			continue;
		slower->gone = true;
		slower->left = false;
		x->f->title = nsx_tell(p->l, "%s, from %s on", x->f->title,
			nsx_text_instant(p->l->arena, more->when.start_ns, 3));
		nsx_add_evidence(x->f, slower->f->evidence[0]);
		return;
	}
}

/* One after the other ----------------------------------------------------------*/

static void apply(struct pricing *p, const struct nsx_finding *f)
{
	memcpy(p->applied + p->napplied, f->remedy.v,
	       f->remedy.n * sizeof(*p->applied));
	p->napplied += f->remedy.n;
}

/* What each that is left adds to what is applied, of the time of its own set. */
static int price_more(struct pricing *p, struct nsx_plan *plans,
		      struct nsx_gain *gains, struct nsx_err *err)
{
	uint32_t *sets = nsx_arena_get(p->scratch, p->n * sizeof(*sets));
	size_t n = 0;
	int rc;

	for (size_t i = 0; i < p->n; i++) {
		const struct nsx_plan *r = &p->v[i].f->remedy;
		struct nsx_change *v;

		if (!p->v[i].left)
			continue;
		v = nsx_arena_get(p->scratch, (p->napplied + r->n) *
						      sizeof(*v));
		memcpy(v, p->applied, p->napplied * sizeof(*v));
		memcpy(v + p->napplied, r->v, r->n * sizeof(*v));
		sets[n] = p->v[i].f->set;
		plans[n++] = (struct nsx_plan){v, p->napplied + r->n};
	}
	rc = nsx_replay_gains(p->facts->model, plans, sets, n, p->napplied,
			      p->threads, gains, err);
	n = 0;
	for (size_t i = 0; !rc && i < p->n; i++) {
		double ns;

		if (!p->v[i].left)
			continue;
		ns = (double)gains[n++].gain_ns - p->won_ns[p->v[i].f->set];
		p->v[i].adds_ns = bounded(p->v[i].f, NSX_MAX(0, ns));
	}
	return rc;
}

static struct item *best_of(struct pricing *p)
{
	struct item *best = NULL;

	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].left &&
		    (!best || p->v[i].adds_ns > best->adds_ns))
			best = &p->v[i];
	return best;
}

/* Whether streams take turns whose kernels have too few blocks to fill the GPU alone. */
static bool leaves_room(const struct nsx_finding *f, const struct nsx_finding *best)
{
	return f->id == NSX_ID_false_dependency && best->id == NSX_ID_small_grids;
}

/* One link is what the others wait for in all communication. */
static bool is_link(const struct nsx_finding *f)
{
	return f->remedy.n && f->remedy.v[0].verb == NSX_FASTER_COMM;
}

/* How the work is shared out is further up than the rank that comes last by it, where
 * that rank alone would win much less.
 */
static bool is_shared_wrong(const struct nsx_finding *f)
{
	return f->id == NSX_ID_uneven_gpus;
}

/* Whether what slow iterations have, taken out, wins far more than they take too long:
 * then it slows the others down, too.
 */
static bool slows_all(const struct nsx_finding *f)
{
	return f->id == NSX_ID_slow_iterations &&
	       f->headroom_ns > BEYOND * f->guess_ns;
}

/* How far up a cause stands: the least first.  A wait that leaves the GPU work is not
 * what it runs dry by, nor is one beside code of the host that has a name of its own;
 * what has no cause to tell stands behind all that stops a host, and memsets that others
 * wait for behind why these wait.  That iterations are slow to the end stands behind all that
 * they may be slow by.
 */
static int depth(const struct nsx_finding *f)
{
	return f->lasts ? 2 * NSX_ID_launch_bound + 1 :
	       f->is_symptom ? 2 * NSX_ID_idle_by_slow_call + 1 :
	       is_waited_for(f) ? 2 * NSX_ID_false_dependency + 1 :
	       f->is_ahead || slows_all(f) ? 2 * NSX_ID_launch_bound + 1 :
	       f->is_own ? 2 * NSX_ID_idle_after_blocking_copy - 1 :
	       f->is_after_few || wins_later(f, LATEST) ?
				       2 * NSX_ID_idle_by_host_code + 1 :
				       2 * (int)f->id - is_link(f);
}

/* What may win nothing at all, if waits outside CUDA end when they did, raises no alarm,
 * and leads nothing that does.
 */
static bool is_sure(const struct nsx_finding *f)
{
	return f->low_ns >= SURE * f->headroom_ns;
}

/* Whether code of the host wins what a wait would win later than right after it, when the
 * host, ahead by then, hides that code.
 */
static bool is_hidden_by(const struct nsx_finding *f, const struct nsx_finding *best)
{
	return f->id == NSX_ID_idle_by_host_code && wins_later(best, LATEST);
}

/* What it may add, once best is there, to stand before it: what lets streams use the room that
 * few blocks leave also lets their copies run, which blocks do not.
 */
static double most_added(const struct item *x, const struct item *best, bool stops)
{
	return leaves_room(x->f, best->f) ? HALF * x->adds_ns :
	       stops || is_hidden_by(x->f, best->f) ?
		       OWN * x->adds_ns : SAME * best->adds_ns;
}

/* What it must win, of best's price, to stand before it. That the host can be as fast as it
 * was is surer than what a remedy wins in all of the window.
 */
static double least_to_lead(const struct nsx_finding *f, const struct nsx_finding *best,
			    bool stops)
{
	return !stops ? LEADS :
	       best->is_bound || f->id == NSX_ID_slower_host ? BOUNDED : STOPS;
}

/* Whether a wait that brings what the host asked for wins less than best, and most of it not
 * right after it: then what the GPU idles for is best's.
 */
static bool follows(const struct item *x, const struct item *best)
{
	return x->f->is_wait &&
	       x->f->headroom_ns > LATER * x->f->guess_ns &&
	       x->adds_ns < best->adds_ns;
}

/* Iterations are slow by what goes to the host in them, and comes back. */
static bool is_why_slow(const struct nsx_finding *x, const struct nsx_finding *slow)
{
	return slow->id == NSX_ID_slow_iterations && x->is_round_trip;
}

/* Whether best may win nothing at all, where x is sure to win an alarm's worth of it. */
static bool is_surer(const struct pricing *p, const struct item *x, const struct item *best,
		     double after_ns)
{
	return is_sure(x->f) && !is_sure(best->f) && after_ns <= OWN * x->adds_ns &&
	       x->adds_ns >= MEDIUM_SHARE * p->length_ns;
}

/* Of best and the others, which add `after` once best is there: the cause
 * furthest up among those that win nearly as much, or are surer.
 */
static struct item *leader(struct pricing *p, struct item *best,
			   const double *after)
{
	struct item *lead = best;

	for (size_t i = 0; i < p->n; i++) {
		struct item *x = &p->v[i];
		bool stops = (stops_host(x->f->id) && !is_shared_wrong(best->f)) ||
			     is_link(x->f) || leaves_room(x->f, best->f) ||
			     x->f->is_round_trip;

		if (x->left && x != best && depth(x->f) < depth(lead->f) &&
		    !follows(x, best) && !is_why_slow(best->f, x->f) &&
		    (is_sure(x->f) || !is_sure(best->f)) &&
		    (is_surer(p, x, best, after[i]) ||
		     (after[i] <= most_added(x, best, stops) &&
		      x->adds_ns >= least_to_lead(x->f, best->f, stops) *
						 best->adds_ns)))
			lead = x;
	}
	return lead;
}

/* n other ways, with what each would win. */
static const char *list_ways(struct pricing *p, const char *begin,
			     struct item *const *v, size_t n)
{
	const char *line = begin;

	for (size_t i = 0; i < NSX_MIN(n, MAX_WAYS); i++)
		line = nsx_tell(p->l, "%s%s %s (%s)", line, i ? ";" : ":",
				v[i]->f->title,
				nsx_text_ns(p->l->arena, v[i]->f->headroom_ns));
	return n > MAX_WAYS ? nsx_tell(p->l, "%s; %zu more", line, n - MAX_WAYS) :
			      line;
}

static bool waits_for_gpu(const struct nsx_finding *f)
{
	return f->id == NSX_ID_idle_after_sync ||
	       f->id == NSX_ID_idle_after_blocking_copy;
}

/* What makes one rank late: code of its host that has a name, waits outside CUDA, clocks. */
static bool is_of_late_rank(const struct nsx_finding *x)
{
	return (x->id == NSX_ID_idle_by_host_code && x->place) ||
	       x->id == NSX_ID_idle_by_os_wait || x->id == NSX_ID_preempted_host ||
	       x->id == NSX_ID_falling_clocks;
}

static bool is_straggler(const struct nsx_finding *f)
{
	return f->id == NSX_ID_nccl_straggler || f->id == NSX_ID_mpi_straggler;
}

/* Code of the host that wins all of what the finding wins is told before other evidence,
 * where it has a name, or where it follows a wait: it is what the time is spent on.
 */
static bool is_what_it_waits_for(const struct nsx_finding *x,
				 const struct nsx_finding *f)
{
	if (is_straggler(f) && is_of_late_rank(x))
		return x->headroom_ns >= MOST_OF_LATE * f->headroom_ns;
	return x->id == NSX_ID_idle_by_host_code &&
	       (x->place || waits_for_gpu(f)) && f->evidence[0] &&
	       x->headroom_ns >= LEADS * f->headroom_ns;
}

static int cmp_headroom(const void *a, const void *b)
{
	const struct item *x = *(struct item *const *)a;
	const struct item *y = *(struct item *const *)b;

	if (x->f->headroom_ns != y->f->headroom_ns)
		return x->f->headroom_ns > y->f->headroom_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* What the finding is the cause of is no other way to win its time.  Returns how many of
 * v are ways.
 */
static size_t tell_symptoms(struct pricing *p, struct nsx_finding *f,
			    struct item **v, size_t n)
{
	size_t nways = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i]->f->lasts || (v[i]->f->is_symptom && stops_host(f->id)))
			nsx_add_evidence(f, nsx_tell(p->l, "It is why %s",
				nsx_title_within(p->l->arena, v[i]->f)));
		else
			v[nways++] = v[i];
	return nways;
}

/* Brings to the front what the finding's time is spent on; false: nothing is. */
static bool put_cause_first(const struct nsx_finding *f, struct item **v, size_t n)
{
	size_t most = is_straggler(f) ? n : NSX_MIN(n, 1), i = 0;
	struct item *x;

	while (i < most && !is_what_it_waits_for(v[i]->f, f))
		i++;
	if (i == most)
		return false;
	x = v[i];
	memmove(v + 1, v, i * sizeof(*v));
	v[0] = x;
	return true;
}

static void tell_other_ways(struct pricing *p, struct nsx_finding *f,
			    struct item **v, size_t n)
{
	size_t first;
	bool is_late = is_straggler(f);
	const char **e = f->evidence + !is_late;

	n = tell_symptoms(p, f, v, n);
	first = put_cause_first(f, v, n);
	if (first) {
		memmove(e + 1, e,
			(ARRAY_LEN(f->evidence) - 3) * sizeof(*e));
		*e = list_ways(p, is_late ? "Its cause" :
					    "Another way to win this time", v, 1);
	}
	if (first && waits_for_gpu(f) && strlen(f->title) <= ROOM) {
		f->title = nsx_tell(p->l, "%s, then works alone", f->title);
	} else if (first && waits_for_gpu(f)) { /* the first page shows what is short */
		nsx_add_evidence(f, *e);
		*e = nsx_tell(p->l, "Then it works alone, which costs %s",
			      nsx_text_ns(p->l->arena, v[0]->f->headroom_ns));
	}
	if (n > first)
		nsx_add_evidence(f, list_ways(p, first ? "Further ways" : n > 1 ?
						 "Other ways to win this time" :
						 "Another way to win this time",
					      v + first, n - first));
}

static bool is_default_stream(const struct nsx_finding *f)
{
	return f->subject && !strcmp(f->subject, "default_stream");
}

/* What adds next to nothing beside one that wins so much goes from the list, to v: it is
 * another way to win what the lead wins.  before, after: what each adds without it, and with
 * it.  Returns how many v holds.
 */
static size_t join(struct pricing *p, const struct item *lead, double won_ns,
		   const double *before, const double *after, struct item **v,
		   size_t n)
{
	for (size_t i = 0; i < p->n; i++) {
		struct item *x = &p->v[i];

		if (!x->left || x == lead || after[i] > SAME * won_ns ||
		    after[i] > OWN * before[i])
			continue;
		x->left = false;
		x->gone = true;
		if (x->f->headroom_ns >= MEDIUM_SHARE * p->length_ns)
			lead->f->also |= 1u << nsx_finding_category(x->f) |
					 x->f->also;
		v[n++] = x;
		if (is_default_stream(x->f) &&
		    lead->f->id == NSX_ID_exposed_copies)
			/* else what the finding advises wins nothing */
			nsx_advise_first(lead->f, x->f->recommendation[0]);
	}
	return n;
}

/* Applies the lead instead of the best; what adds nothing then is joined, too: of what adds
 * nothing to the best only where the best itself adds little to a lead that wins nearly as
 * much.
 */
static int apply_lead(struct pricing *p, struct item *lead, struct item *best, size_t napplied,
		      const double *before, const double *after_best,
		      struct nsx_plan *plans, struct nsx_gain *gains,
		      struct item **v, size_t *n, struct nsx_err *err)
{
	double *after = nsx_arena_get(p->scratch, p->n * sizeof(*after));
	size_t b = (size_t)(best - p->v);

	p->napplied = napplied;
	apply(p, lead->f);
	if (price_more(p, plans, gains, err))
		return err->rc;
	for (size_t i = 0; i < p->n; i++)
		after[i] = p->v[i].adds_ns;
	if (lead->f->disjoint_ns >= LEADS * before[b] &&
	    (after[b] <= OWN * before[b] || leaves_room(lead->f, best->f)))
		*n = join(p, lead, before[b], before, after_best, v, *n);
	*n = join(p, lead, lead->f->disjoint_ns, before, after, v, *n);
	return 0;
}

/* Applies the best that is left, or what leads it, and prices the others anew. */
static int apply_next(struct pricing *p, struct item *best,
		      struct nsx_plan *plans, struct nsx_gain *gains,
		      struct nsx_err *err)
{
	double *won_ns = &p->won_ns[best->f->set], had_ns = *won_ns;
	double *before = nsx_arena_get(p->scratch, p->n * sizeof(*before));
	double *after = nsx_arena_get(p->scratch, p->n * sizeof(*after));
	struct item **v = nsx_arena_get(p->scratch, p->n * sizeof(*v)), *lead;
	size_t napplied = p->napplied, n = 0;

	for (size_t i = 0; i < p->n; i++)
		before[i] = p->v[i].adds_ns;
	apply(p, best->f);
	best->left = false;
	*won_ns += best->adds_ns;
	if (price_more(p, plans, gains, err))
		return err->rc;
	*won_ns = had_ns;
	best->left = true;
	best->adds_ns = 0;
	for (size_t i = 0; i < p->n; i++) {
		after[i] = p->v[i].adds_ns;
		p->v[i].adds_ns = before[i];
	}
	lead = leader(p, best, after);
	lead->left = false;
	lead->f->disjoint_ns = lead->adds_ns;
	lead->f->has_disjoint = true;
	lead->f->applied = ++p->nsteps;
	p->won_ns[lead->f->set] += lead->adds_ns;
	if (lead == best) {
		n = join(p, lead, best->adds_ns, before, after, v, 0);
		for (size_t i = 0; i < p->n; i++)
			p->v[i].adds_ns = after[i];
	} else if (apply_lead(p, lead, best, napplied, before, after, plans, gains,
			      v, &n, err)) {
		return err->rc;
	}
	nsx_sort(v, n, sizeof(*v), cmp_headroom);
	tell_other_ways(p, lead->f, v, n);
	return 0;
}

static int apply_all(struct pricing *p, struct nsx_plan *plans,
		     struct nsx_gain *gains, struct nsx_err *err)
{
	struct item *best;
	size_t n = 1;

	for (size_t i = 0; i < p->n; i++)
		n += p->v[i].f->remedy.n;
	p->applied = nsx_arena_get(p->scratch, n * sizeof(*p->applied));
	for (size_t i = 0; i < p->n; i++)
		p->v[i].adds_ns = p->v[i].f->headroom_ns; /* as found alone */
	while ((best = best_of(p)) &&
	       best->adds_ns >= LEAST_SHARE * p->length_ns)
		if (apply_next(p, best, plans, gains, err))
			return err->rc;
	/* What is left adds nothing. */
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].left)
			p->v[i].f->has_disjoint = true;
	return 0;
}

/* The same on several GPUs ------------------------------------------------------*/

/* Findings of one key are one: the dearest. */
static int cmp_kin(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int c = strcmp(x->f->key, y->f->key);

	if (!c && x->f->headroom_ns != y->f->headroom_ns)
		c = x->f->headroom_ns > y->f->headroom_ns ? -1 : 1;
	return c ? c : (x->order > y->order) - (x->order < y->order);
}

static void merge_kin(struct pricing *p)
{
	nsx_sort(p->v, p->n, sizeof(*p->v), cmp_kin);
	for (size_t i = 1, first = 0; i < p->n; i++) {
		struct nsx_finding *f = p->v[first].f;

		if (strcmp(p->v[i].f->key, f->key)) {
			first = i;
			continue;
		}
		p->v[i].gone = true;
		if (is_capture(f))
			nsx_add_evidence(f, p->v[i].f->evidence[0]);
	}
}

/* Ranking ------------------------------------------------------------------------*/

/* What it adds to what is dearer; of what it wins only then, it is not the cause. */
static double worth(const struct nsx_finding *f)
{
	return f->has_disjoint ? NSX_MIN(f->disjoint_ns, f->headroom_ns) :
				 f->headroom_ns;
}

/* By which it is told: an upper bound says what is won at most, and counts half beside what
 * a remedy wins.
 */
static double order_of(const struct nsx_finding *f)
{
	return f->is_bound ? worth(f) / 2 : worth(f);
}

/* What is assumed raises no alarm, but for a kernel that is most of the work, unless it
 * would win little; nor does anything of a start-up, which is paid once.
 */
static enum nsx_severity severity_of(const struct pricing *p,
				     const struct nsx_finding *f)
{
	double share = worth(f) / p->length_ns;

	if (f->is_set)
		return f->severity;
	if (f->is_quiet || p->facts->run_kind == NSX_RUN_START_UP)
		return NSX_SEV_LOW;
	if (f->price < NSX_PRICE_MEASURED)
		return f->weight >= KERNEL_SHARE &&
				       (share >= MEDIUM_SHARE ||
					f->price == NSX_PRICE_NONE) ?
			       NSX_SEV_MEDIUM : NSX_SEV_LOW;
	if (!is_sure(f))
		return NSX_SEV_LOW;
	return share >= HIGH_SHARE && !f->is_unseen ? NSX_SEV_HIGH :
	       share >= MEDIUM_SHARE ? NSX_SEV_MEDIUM : NSX_SEV_LOW;
}

/* Where a setting changes most of the work, how much by is all that is assumed; and
 * where nothing could be replayed, that must not put what waits and launches cost
 * behind all that is priced without.
 */
static int price_rank(const struct item *x)
{
	const struct nsx_finding *f = x->f;
	bool stands_in = x->unreplayed && f->price == NSX_PRICE_ASSUMED &&
			 !f->is_assumed;

	return stands_in || (f->is_setting && f->weight >= MOSTLY) ?
		       (int)NSX_PRICE_MEASURED :
		       NSX_MIN((int)f->price, (int)NSX_PRICE_MEASURED);
}

/* The dearest first; then what is only assumed, then what has no price, then
 * what concerns the capture; at the end what costs next to nothing.
 */
static int cmp_rank(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->gone != y->gone)
		return x->gone ? 1 : -1;
	if (x->f->is_minor != y->f->is_minor)
		return x->f->is_minor ? 1 : -1;
	if (is_capture(x->f) != is_capture(y->f))
		return is_capture(x->f) ? 1 : -1;
	return NSX_CMP(y->f->severity, x->f->severity) ?:
	       NSX_CMP(price_rank(y), price_rank(x)) ?:
	       NSX_CMP(order_of(y->f), order_of(x->f)) ?:
	       NSX_CMP(x->order, y->order);
}

/* At most ten, three of them on the capture; the others are minor. */
static void cap(struct pricing *p)
{
	size_t n = 0, nquality = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct nsx_finding *f = p->v[i].f;

		if (p->v[i].gone)
			continue;
		if (is_capture(f))
			f->is_minor |= nquality++ >= MAX_QUALITY;
		f->is_minor |= !f->is_minor && n++ >= NSX_MAX_FINDINGS;
	}
}

/* Whether what a finding wins needs the GPU to be free when it is idle. */
static bool needs_idle(const struct nsx_finding *f)
{
	return f->price >= NSX_PRICE_MEASURED &&
	       nsx_finding_category(f) != NSX_CAT_COMPUTE;
}

/* Whether what sets the pace is a wait that the replay ends sooner: it was not recorded, or
 * a clock or a device ends it, where such calls else take their time.
 */
static bool ends_unseen(const struct pricing *p, const struct nsx_finding *paced)
{
	const char *name = paced->host ? nsx_text(p->trace, paced->host) : "";

	return paced->confidence == NSX_CONF_LOW || nsx_osrt_sleeps(name) ||
	       strstr(name, "ioctl");
}

/* What stands for the rest is told where it is more than all others win, and
 * nothing outside the program explains it.
 */
static void drop_rest(struct pricing *p, bool paced)
{
	double told_ns = 0;

	for (size_t i = 0; i < p->n; i++)
		if (!p->v[i].gone && p->v[i].f->price >= NSX_PRICE_MEASURED &&
		    !p->v[i].f->is_rest)
			told_ns += worth(p->v[i].f);
	for (size_t i = 0; i < p->n; i++) {
		struct nsx_finding *f = p->v[i].f;

		if (f->is_rest && (paced || told_ns * 2 >= f->guess_ns))
			p->v[i].gone = true;
		if (f->is_rest)
			f->price = NSX_PRICE_NONE;
	}
}

static int write_back(struct pricing *p, struct nsx_err *err)
{
	struct nsx_finding *v = nsx_arena_try_array(
		p->scratch, p->n, sizeof(*v), "findings", err);
	size_t n = 0;

	if (!v)
		return err->rc;
	for (size_t i = 0; i < p->n; i++)
		if (!p->v[i].gone)
			v[n++] = *p->v[i].f;
	if (n)
		memcpy(p->l->v, v, n * sizeof(*v));
	p->l->n = n;
	return 0;
}

static int rank(struct pricing *p, struct nsx_err *err)
{
	size_t most = 2 * p->l->n + 1; /* a remedy each, and one instead     */
	struct nsx_plan *plans = nsx_arena_get(p->scratch,
					       most * sizeof(*plans));
	struct nsx_gain *gains = nsx_arena_get(p->scratch,
					       most * sizeof(*gains));
	const struct item *paced;
	bool shared, abstains = nsx_model_closure(p->facts->model)->cls ==
				NSX_CONF_NONE;

	p->v = nsx_arena_get(p->scratch, (p->l->n + 1) * sizeof(*p->v));
	for (p->n = 0; p->n < p->l->n; p->n++) {
		struct nsx_finding *f = &p->l->v[p->n];

		f->key = f->subject ? nsx_tell(p->l, "%s:%s",
					       nsx_finding_name(f),
					       f->subject) :
				      nsx_finding_name(f);
		p->v[p->n] = (struct item){.f = f, .order = p->n,
					   .unreplayed = abstains};
	}
	if (price_alone(p, plans, gains, err))
		return err->rc;
	merge_kin(p);
	drop_harmless(p);
	join_slow_iterations(p, NSX_ID_falling_clocks);
	join_slow_iterations(p, NSX_ID_slower_host);
	join_slow_iterations(p, NSX_ID_kernel_tail);
	join_slow_to_calls(p);
	join_slower_host(p);
	if (apply_all(p, plans, gains, err))
		return err->rc;
	paced = told(p, NSX_ID_paced);
	shared = told(p, NSX_ID_gpu_shared);
	drop_rest(p, paced);
	for (size_t i = 0; i < p->n; i++) {
		struct nsx_finding *f = p->v[i].f;

		if (shared && needs_idle(f))
			f->confidence = NSX_CONF_LOW;
		if (paced && ends_unseen(p, paced->f) && needs_idle(f))
			f->low_ns = 0;
		f->confidence = NSX_MIN(f->confidence, of_window(&p->facts->steady));
		f->severity = shared && needs_idle(f) ? NSX_SEV_LOW :
							severity_of(p, f);
		f->is_minor = f->price != NSX_PRICE_NONE && !f->is_set &&
			      f->severity == NSX_SEV_LOW &&
			      (worth(f) < MINOR_SHARE * p->length_ns ||
			       (paced && !is_sure(f)));
		f->is_minor |= paced && f->may_be_pace;
	}
	nsx_sort(p->v, p->n, sizeof(*p->v), cmp_rank);
	cap(p);
	nsx_sort(p->v, p->n, sizeof(*p->v), cmp_rank);
	return write_back(p, err);
}

static bool gpus_work(const struct nsx_facts *f, struct nsx_window w)
{
	for (uint32_t i = 0; i < f->ndevices; i++) {
		struct nsx_partition p;

		nsx_partition(&f->device[i], w.start_ns, w.end_ns, &p);
		if (p.ns[NSX_P_IDLE] < w.end_ns - w.start_ns)
			return true;
	}
	return false;
}

int nsx_rank_findings(const struct nsx_trace *t, const struct nsx_facts *f,
		      unsigned threads, struct nsx_findings *l, struct nsx_err *err)
{
	struct pricing p = {.trace = t, .facts = f, .l = l, .w = nsx_judged(f),
			    .threads = threads, .scratch = nsx_arena_new()};
	int rc;

	p.works = gpus_work(f, p.w);
	p.length_ns = (double)(p.w.end_ns - p.w.start_ns);
	rc = rank(&p, err);
	nsx_arena_free(p.scratch);
	return rc;
}
