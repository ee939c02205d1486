/* rank.c - prices and ranks findings.
 *
 * The price of a finding is the time that the recorded program wins when it is replayed with the
 * remedy. Prices overlap, so remedies are applied one after the other, each time the one that adds
 * most: the added gain is its disjoint headroom. A remedy that adds next to nothing after another
 * one wins the same time. The two become one finding, named by the cause furthest upstream, with
 * the other as an alternative.
 */
#include "detect/detect.h"
#include "facts/ledger.h"
#include "facts/replay/replay.h"

#define LEAST_SHARE 0.001  /* share of the window; a finding that wins less is not reported */
#define MINOR_SHARE 0.005  /* share of the window; a finding that wins less is minor */
#define HIGH_SHARE 0.1
#define MEDIUM_SHARE 0.03
/* a kernel with this share of the time is important even without a price */
#define KERNEL_SHARE 0.6
#define SURE 0.1	   /* part of a price that must be certain           */
#define SAME 0.05 /* findings are alternatives if each adds at most this part of the other's gain */
#define OWN 0.3		   /* each also adds at most this part of its own gain */
/* a leader wins at least this part of the time that the best finding certainly wins */
#define LEADS 0.5
/* if a remedy's own time exceeds its price by this factor, the evidence says so */
#define MUCH_MORE 2.0
enum {
	/* findings on the capture that are shown; alternatives that are named */
	MAX_QUALITY = 3, MAX_WAYS = 4,
};

const struct nsx_plan nsx_nothing = {.v = &(const struct nsx_change){.verb = 0}};

struct item {
	struct nsx_finding *f;
	size_t order; /* order of appearance                                 */
	double adds_ns; /* time won beyond the remedies applied so far       */
	double replayed_ns; /* adds_ns without the finding's limit           */
	/* replayed_ns once another remedy is applied, too: the best, and the one that is tried */
	double after_best_ns, after_ns;
	double rank_ns; /* worth, or without a price the time at stake       */
	bool is_capture;
	bool gone;    /* removed from the list                               */
	bool left;    /* not yet applied                                     */
	bool is_doubted; /* the gain may vanish if waits outside CUDA end when they did */
};

struct pricing {
	const struct nsx_trace *trace;
	const struct nsx_facts *facts;
	struct nsx_findings *l;
	struct nsx_arena *scratch;
	unsigned threads;
	bool works; /* whether GPUs work at all                              */
	struct nsx_window w;
	double length_ns;
	struct item *v;
	size_t n;
	struct nsx_plan *plans; /* room for two of each finding, and their gains */
	struct nsx_gain *gains;
	struct nsx_plan applied, sure; /* remedies applied so far; their certain parts */
	bool is_open; /* `applied` and `sure` differ                         */
	unsigned nsteps; /* number of findings applied                       */
	double won_ns[NSX_MAX_SETS + 1]; /* by set of processes: replayed gain of these */
};

static bool is_capture(const struct nsx_finding *f)
{
	return nsx_finding_category(f) == NSX_CAT_CAPTURE;
}

/* Alone -----------------------------------------------------------------------*/

/* Prices a finding without a replay: by the part of its spans in the window, or by the detector's
 * guess. If the window has no GPU work, the guess counts as measured, because nothing overlaps it.
 */
static int price_without_replay(struct pricing *p, struct item *x, struct nsx_err *err)
{
	struct nsx_finding *f = x->f;
	struct nsx_span whole = {p->w.start_ns, p->w.end_ns};
	struct nsx_spans window = {.v = &whole,
				   .n = p->w.start_ns < p->w.end_ns}, both;

	if (f->price != NSX_PRICE_NONE || is_capture(f))
		return 0;
	if (f->spans.n && f->guess_ns <= 0) {
		if (nsx_spans_intersect(p->scratch, &f->spans, &window, &both, err))
			return err->rc;
		f->guess_ns = (double)nsx_spans_total(&both);
	}
	f->headroom_ns = f->low_ns = f->high_ns = NSX_MIN(f->guess_ns, p->length_ns);
	f->price = f->guess_ns <= 0 ? NSX_PRICE_NONE :
		   f->is_rule || !(p->works || f->is_assumed) ?
				     NSX_PRICE_MEASURED : NSX_PRICE_ASSUMED;
	x->gone |= f->guess_ns <= 0 && f->remedy.n; /* the finding costs nothing */
	return 0;
}

/* Limits a price to f->most_ns, if that is set: removing time from one place shortens no path by
 * more.
 */
static double cap_price_ns(const struct nsx_finding *f, double ns)
{
	return f->most_ns > 0 ? NSX_MIN(ns, f->most_ns) : ns;
}

/* Sets the lower end of the price if part of the remedy is certain. */
static void take_least(struct pricing *p, struct nsx_finding *f, const struct nsx_gain *g)
{
	double ns = cap_price_ns(f, (double)g->gain_ns);

	if (f->price != NSX_PRICE_REPLAYED || g->confidence == NSX_CONF_NONE || ns >= f->low_ns)
		return;
	f->low_ns = ns;
	nsx_insert_evidence(f, 1, nsx_tell(p->l, "The gain is %s %s", ns > 0 ?
					   nsx_text_ns(p->l->arena, ns) : "zero",
					   f->if_least));
}

static void take_gain(struct pricing *p, struct item *x, const struct nsx_gain *g)
{
	struct nsx_finding *f = x->f;
	uint32_t alone = nsx_set_alone(p->facts->model, g->set);

	if (g->confidence == NSX_CONF_NONE || (!g->touched && f->is_rule))
		return; /* nothing was replayed, or the replayed part lacks the remedy */
	x->gone = !g->touched || (f->is_assumed && g->gain_ns <= 0);
	f->price = f->is_assumed ? NSX_PRICE_ASSUMED : NSX_PRICE_REPLAYED;
	x->replayed_ns = (double)g->gain_ns;
	f->headroom_ns = cap_price_ns(f, (double)g->gain_ns);
	f->low_ns = cap_price_ns(f, (double)g->low_ns);
	f->high_ns = cap_price_ns(f, (double)g->high_ns);
	if (alone != NSX_NONE) {
		f->only = nsx_pid_label(p->trace, alone);
		nsx_insert_evidence(f, 1, nsx_tell(p->l, say_it_is_process, f->only));
	}
	f->confidence = NSX_MIN(f->confidence, g->confidence);
	f->set = g->set;
	/* Processes of other sets keep step with this one, and may wait that long for it. */
	f->is_bound |= g->set != nsx_main_set(p->facts->model) &&
		       nsx_set_is_tied(p->facts->model, g->set);
	x->is_doubted = (double)g->low_ns < SURE * (double)g->gain_ns;
	if (f->is_assumed && f->guess_ns > MUCH_MORE * f->headroom_ns && g->gain_ns > 0)
		nsx_add_evidence(f, nsx_tell(p->l, say_time_would_go_most_would,
					    nsx_text_ns(p->l->arena, f->guess_ns)));
	if (g->low_ns < g->gain_ns / 2 && f->confidence > NSX_CONF_LOW)
		f->confidence--;
	if (g->low_ns < g->gain_ns - g->gain_ns / 10)
		nsx_add_evidence(
			f, nsx_tell(p->l, say_wins_if_waits_outside_cuda,
				   nsx_text_ns(p->l->arena, (double)g->gain_ns),
				   g->low_ns ? nsx_text_ns(p->l->arena, (double)g->low_ns) :
					       "zero"));
}

/* Prices each remedy and its certain part in one round, so that no thread waits for another in
 * between.
 */
static int price_alone(struct pricing *p, struct nsx_err *err)
{
	size_t n = p->n;

	for (size_t i = 0; i < p->n; i++) {
		const struct nsx_finding *f = p->v[i].f;

		p->plans[i] = f->remedy;
		if (f->surely.n)
			p->plans[n++] = f->surely;
	}
	if (nsx_replay_prices(p->facts->model, p->plans, n, p->threads, p->gains, err))
		return err->rc;
	n = p->n;
	for (size_t i = 0; i < p->n; i++) {
		struct nsx_finding *f = p->v[i].f;

		if (f->remedy.n)
			take_gain(p, &p->v[i], &p->gains[i]);
		if (f->surely.n)
			take_least(p, f, &p->gains[n++]);
		if (f->measured_ns > f->headroom_ns) {
			f->headroom_ns = f->low_ns = f->high_ns =
				NSX_MIN(f->measured_ns, p->length_ns);
			f->price = NSX_PRICE_MEASURED;
			p->v[i].gone = p->v[i].is_doubted = false;
		}
		if (price_without_replay(p, &p->v[i], err))
			return err->rc;
	}
	return 0;
}

static struct item *finding_of_id(const struct pricing *p, enum nsx_finding_id id)
{
	for (size_t i = 0; i < p->n; i++)
		if (!p->v[i].gone && p->v[i].f->id == id)
			return &p->v[i];
	return NULL;
}

/* Drops findings that win nothing, or reports them as harmless. */
static void drop_harmless(struct pricing *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct item *x = &p->v[i];

		if (x->f->price < NSX_PRICE_MEASURED)
			continue;
		if (x->f->headroom_ns < LEAST_SHARE * p->length_ns)
			x->gone = true;
		if (x->f->harmless && x->f->headroom_ns < MINOR_SHARE * p->length_ns)
			nsx_fine(p->l, say_but_without_window_would, x->f->harmless,
				!(x->f->headroom_ns > 0) ? "no" :
				nsx_tell(p->l, "only %s (%s)",
					nsx_tell_ns(p->l, (int64_t)x->f->headroom_ns),
					nsx_text_share(p->l->arena, x->f->headroom_ns,
						p->length_ns)));
		x->left = !x->gone && x->f->price == NSX_PRICE_REPLAYED &&
			  x->f->headroom_ns >= MINOR_SHARE * p->length_ns;
	}
}

/* One after the other ----------------------------------------------------------*/

/* The part of a finding's remedy that is certain to win what its replay says. */
static struct nsx_plan certain_of(const struct item *x)
{
	return x->f->surely.v ? x->f->surely : x->f->remedy;
}

/* The part of a finding's gain that is certain. */
static double certain_ns(const struct nsx_finding *f)
{
	return f->surely.n ? f->low_ns : f->surely.v ? 0 : f->headroom_ns;
}

static struct nsx_plan plan_after(struct pricing *p, struct nsx_plan first, struct nsx_plan then)
{
	struct nsx_change *v = nsx_arena_get(p->scratch, (first.n + then.n) * sizeof(*v));

	if (first.n)
		memcpy(v, first.v, first.n * sizeof(*v));
	memcpy(v + first.n, then.v, then.n * sizeof(*v));
	return (struct nsx_plan){v, first.n + then.n};
}

/* Prices what each remaining remedy adds if the applied ones and that of `with` are made, too. The
 * gain counts in the remedy's own set of processes.
 */
static int price_with(struct pricing *p, struct item *with, struct nsx_err *err)
{
	uint32_t *sets = nsx_arena_get(p->scratch, p->n * sizeof(*sets));
	struct nsx_plan base = plan_after(p, p->applied, with->f->remedy);
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (!p->v[i].left || &p->v[i] == with)
			continue;
		sets[n] = p->v[i].f->set;
		p->plans[n++] = plan_after(p, base, p->v[i].f->remedy);
	}
	if (nsx_replay_gains(p->facts->model, p->plans, sets, n, base.n, p->threads, p->gains, err))
		return err->rc;
	n = 0;
	for (size_t i = 0; i < p->n; i++) {
		struct item *x = &p->v[i];
		double had_ns = p->won_ns[x->f->set] +
				(x->f->set == with->f->set ? with->replayed_ns : 0), ns;

		if (!x->left || x == with)
			continue;
		ns = (double)p->gains[n++].gain_ns - had_ns;
		x->after_ns = NSX_MAX(0, ns);
	}
	with->after_ns = 0;
	return 0;
}

/* Whether the remedies applied may take much of what another one certainly wins, which is not little
 * in itself.
 */
static bool may_lose(const struct pricing *p, const struct item *x)
{
	return p->is_open && x->left && x->f->sure_ns >= MINOR_SHARE * p->length_ns &&
	       x->after_ns < (1 - SAME) * x->f->sure_ns;
}

/* Prices what the certain part of each remaining remedy adds to the certain parts of those applied:
 * a gain that is only possible takes nothing from what another remedy wins.
 */
static int price_sure(struct pricing *p, struct nsx_err *err)
{
	uint32_t *sets = nsx_arena_get(p->scratch, 2 * p->n * sizeof(*sets));
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (!may_lose(p, &p->v[i]))
			continue;
		sets[n] = sets[n + 1] = p->v[i].f->set;
		p->plans[n++] = p->sure;
		p->plans[n++] = plan_after(p, p->sure, certain_of(&p->v[i]));
	}
	if (n && nsx_replay_gains(p->facts->model, p->plans, sets, n, p->sure.n, p->threads,
				  p->gains, err))
		return err->rc;
	n = 0;
	for (size_t i = 0; i < p->n; i++) {
		struct nsx_finding *f = p->v[i].f;
		double ns = p->v[i].after_ns;

		if (may_lose(p, &p->v[i])) {
			ns = (double)(p->gains[n + 1].gain_ns - p->gains[n].gain_ns);
			n += 2;
		}
		if (p->v[i].left)
			f->sure_ns = NSX_MAX(0, NSX_MIN(f->sure_ns, ns));
	}
	return 0;
}

static struct item *best_of(struct pricing *p)
{
	struct item *best = NULL;

	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].left && (!best || p->v[i].adds_ns > best->adds_ns))
			best = &p->v[i];
	return best;
}

/* Whether a remedy adds next to nothing to one that wins `won_ns`. */
static bool adds_nothing(const struct item *x, double after_ns, double won_ns)
{
	return x->left && after_ns <= SAME * won_ns && after_ns <= OWN * x->adds_ns;
}

/* Whether the finding is about calls that cost time themselves: their names say what it is. */
static bool is_call(const struct item *x)
{
	static const uint64_t ids = 1ull << NSX_ID_idle_by_os_wait |
		1ull << NSX_ID_profiler_overhead | 1ull << NSX_ID_idle_by_module_load |
		1ull << NSX_ID_idle_by_allocation | 1ull << NSX_ID_idle_by_slow_call;

	return ids >> x->f->id & 1;
}

/* Chooses the leading finding: the cause furthest upstream, by the order of finding.def, among
 * `best` and the findings that win much of the time that `best` certainly wins. A named call beside
 * launches need not win much: a CUDA graph hides it only where the host runs ahead.
 */
static struct item *choose_leader(struct pricing *p, struct item *best)
{
	struct item *lead = best;
	double sure_ns = NSX_MIN(best->adds_ns, best->f->low_ns);

	for (size_t i = 0; i < p->n; i++) {
		struct item *x = &p->v[i];

		if (x->left && x != best && x->f->id < lead->f->id &&
		    x->adds_ns - x->after_ns >= LEADS * sure_ns)
			lead = x;
	}
	for (size_t i = 0; lead->f->id == NSX_ID_launch_bound && i < p->n; i++)
		if (is_call(&p->v[i]) && adds_nothing(&p->v[i], p->v[i].after_ns, best->adds_ns))
			lead = &p->v[i];
	return lead;
}

NSX_POINTER_ORDER(cmp_headroom, struct item, DOWN(f->headroom_ns), UP(order));

/* Lists n alternatives with the gain of each. */
static void tell_other_ways(struct pricing *p, struct nsx_finding *f, struct item *const *v,
	size_t n)
{
	const char *line = n > 1 ? say_other_ways_win_time : say_another_way_win_time;

	for (size_t i = 0; i < NSX_MIN(n, MAX_WAYS); i++)
		line = nsx_tell(p->l, "%s%s %s (%s)", line, i ? ";" : ":", v[i]->f->title,
				nsx_text_ns(p->l->arena, v[i]->f->headroom_ns));
	if (n)
		nsx_add_evidence(f, n <= MAX_WAYS ? line :
				 nsx_tell(p->l, "%s; %zu more", line, n - MAX_WAYS));
}

/* Whether a finding stays separate although it adds nothing to the most that the lead may win: it
 * adds to what the lead certainly wins. The best finding stays separate only if it wins more than
 * the lead may win at most.
 */
static bool stands_alone(const struct pricing *p, const struct item *lead,
			 const struct item *beside, const struct item *x)
{
	double lead_ns = x == beside ? (1 + SAME) * lead->f->headroom_ns : certain_ns(lead->f);

	return p->is_open && x->f->headroom_ns > lead_ns &&
	       !adds_nothing(x, x->f->sure_ns, beside->adds_ns);
}

/* Moves to v the findings that add next to nothing beside the lead or the best: alternatives that
 * win the same time as the lead. Returns the number moved.
 */
static size_t rank_join(struct pricing *p, const struct item *lead, const struct item *beside,
			struct item **v, size_t n)
{
	for (size_t i = 0; i < p->n; i++) {
		struct item *x = &p->v[i];

		if (x == lead || !adds_nothing(x, beside == lead ? x->after_ns : x->after_best_ns,
					       beside->adds_ns) ||
		    stands_alone(p, lead, beside, x))
			continue;
		x->left = false;
		x->gone = true;
		if (x->f->headroom_ns >= MEDIUM_SHARE * p->length_ns)
			lead->f->also |= 1u << nsx_finding_category(x->f) | x->f->also;
		v[n++] = x;
	}
	return n;
}

/* Applies the best remaining remedy, or instead that of the finding that leads it (choose_leader),
 * joins the findings that add nothing to the applied one, and prices the others anew. Findings that
 * add nothing to the best are joined, too, if the leader wins nearly as much as the best and the
 * best adds little to the leader.
 */
static int apply_next(struct pricing *p, struct item *best, struct nsx_err *err)
{
	struct item **v = nsx_arena_get(p->scratch, p->n * sizeof(*v)), *lead, *next = best;
	size_t n = 0;

	do { /* a leader may itself be led by a call with its own cost */
		lead = next;
		if (price_with(p, lead, err))
			return err->rc;
		for (size_t i = 0; lead == best && i < p->n; i++)
			p->v[i].after_best_ns = p->v[i].after_ns;
		next = choose_leader(p, lead);
	} while (next != lead && (lead == best || is_call(next)));
	p->applied = plan_after(p, p->applied, lead->f->remedy);
	p->sure = plan_after(p, p->sure, certain_of(lead));
	p->won_ns[lead->f->set] += lead->replayed_ns;
	p->is_open |= lead->f->surely.v || best->f->surely.v;
	lead->left = false;
	if (price_sure(p, err))
		return err->rc;
	lead->f->disjoint_ns = lead->adds_ns;
	lead->f->applied = ++p->nsteps;
	if (lead != best && lead->adds_ns >= LEADS * best->adds_ns &&
	    best->after_ns <= OWN * best->adds_ns)
		n = rank_join(p, lead, best, v, n);
	n = rank_join(p, lead, lead, v, n);
	for (size_t i = 0; i < p->n; i++) {
		p->v[i].replayed_ns = p->v[i].after_ns;
		p->v[i].adds_ns = cap_price_ns(p->v[i].f, p->v[i].after_ns);
	}
	nsx_sort(v, n, sizeof(*v), cmp_headroom);
	tell_other_ways(p, lead->f, v, n);
	return 0;
}

static int apply_all(struct pricing *p, struct nsx_err *err)
{
	struct item *best;

	for (size_t i = 0; i < p->n; i++) {
		struct nsx_finding *f = p->v[i].f;

		p->v[i].adds_ns = f->headroom_ns; /* price of the remedy alone */
		f->sure_ns = certain_ns(f);
		/* findings that are still left in the end add nothing */
		f->has_disjoint = p->v[i].left;
	}
	while ((best = best_of(p)) && best->adds_ns >= LEAST_SHARE * p->length_ns)
		if (apply_next(p, best, err))
			return err->rc;
	return 0;
}

/* The same on several GPUs ------------------------------------------------------*/

/* Sorts findings of one key together, the most expensive first, because only that one stays. */
NSX_ORDER(cmp_kin, struct item, TEXT(f->key), DOWN(f->headroom_ns), UP(order));

/* Ranking ------------------------------------------------------------------------*/

/* The worth of a finding: the gain that it adds to the findings above it, or to the certain part of
 * theirs. It is at most what the finding wins alone, because the finding does not cause time that
 * is won only together with others.
 */
static double worth(const struct nsx_finding *f)
{
	return f->price == NSX_PRICE_NONE ? 0 :
	       f->has_disjoint ? NSX_MIN(NSX_MAX(f->disjoint_ns, f->sure_ns), f->headroom_ns) :
				 f->headroom_ns;
}

/* The severity. Assumed prices raise no alarm, nor does anything in a start-up, which is paid once. */
static enum nsx_severity severity_of(const struct pricing *p, const struct item *x)
{
	const struct nsx_finding *f = x->f;
	double share = worth(f) / p->length_ns;

	if (f->alarm == NSX_ALARM_SET)
		return f->severity;
	if (f->alarm == NSX_ALARM_NONE || p->facts->run_kind == NSX_RUN_START_UP)
		return NSX_SEV_LOW;
	if (f->price < NSX_PRICE_MEASURED)
		return f->weight >= KERNEL_SHARE && share >= MEDIUM_SHARE ? NSX_SEV_MEDIUM :
									    NSX_SEV_LOW;
	if (x->is_doubted)
		return NSX_SEV_LOW;
	return share >= HIGH_SHARE && f->alarm != NSX_ALARM_MEDIUM ? NSX_SEV_HIGH :
	       share >= MEDIUM_SHARE ? NSX_SEV_MEDIUM : NSX_SEV_LOW;
}

/* Orders the most expensive finding first, then findings on the capture, then minor ones. */
NSX_ORDER(cmp_rank, struct item, UP(gone), UP(f->is_minor), UP(is_capture), DOWN(f->severity),
	  DOWN(rank_ns), UP(order));

/* Shows at most ten findings and three on the capture; makes the others minor. */
static void limit_shown(struct pricing *p)
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

/* Whether the gain exists only if the GPU is really free when it looks idle. */
static bool needs_idle(const struct nsx_finding *f)
{
	return f->price >= NSX_PRICE_MEASURED && nsx_finding_category(f) != NSX_CAT_COMPUTE;
}

/* Keeps the finding on idle time in general only if it is more than all others win and nothing
 * outside paces the program.
 */
static void drop_rest(struct pricing *p, bool paced)
{
	double told_ns = 0;

	for (size_t i = 0; i < p->n; i++)
		if (!p->v[i].gone && p->v[i].f->id != NSX_ID_gpu_idle &&
		    (p->v[i].f->price >= NSX_PRICE_MEASURED ||
		     nsx_finding_category(p->v[i].f) == NSX_CAT_LAUNCH))
			told_ns += worth(p->v[i].f);
	for (size_t i = 0; i < p->n; i++) {
		struct nsx_finding *f = p->v[i].f;

		if (f->id != NSX_ID_gpu_idle)
			continue;
		p->v[i].gone |= paced || told_ns * 2 >= f->guess_ns;
		f->price = NSX_PRICE_NONE;
	}
}

/* Sets a finding's confidence, severity and rank, which depend on the other findings. */
static void judge_findings(struct pricing *p)
{
	const struct item *paced = finding_of_id(p, NSX_ID_paced);
	const struct nsx_steady *s = &p->facts->steady;
	bool shared = finding_of_id(p, NSX_ID_gpu_shared);

	drop_rest(p, paced);
	for (size_t i = 0; i < p->n; i++) {
		struct nsx_finding *f = p->v[i].f;

		if (shared && needs_idle(f))
			f->confidence = NSX_CONF_LOW;
		/* in a paced program, the replay may end the pacing wait too early */
		if (paced && needs_idle(f)) {
			f->low_ns = 0;
			p->v[i].is_doubted = true;
		}
		/* Findings in the window are at most as certain as the window itself. */
		if (s->method && s->confidence == NSX_CONF_LOW)
			f->confidence = NSX_MIN(f->confidence, NSX_CONF_MEDIUM);
		/* A period that is too long delays a result, but a paced program ends no later. */
		if (paced && f->id == NSX_ID_slow_iterations)
			f->price = NSX_PRICE_NONE;
		f->severity = shared && needs_idle(f) && f->id != NSX_ID_gpu_shared ?
			NSX_SEV_LOW : severity_of(p, &p->v[i]);
		f->is_minor = f->price != NSX_PRICE_NONE && f->alarm != NSX_ALARM_SET &&
			      (worth(f) < MINOR_SHARE * p->length_ns ||
			       (paced && p->v[i].is_doubted));
		/* A thread that is off its CPU for an unrecorded reason may be in the pacing wait
		 * itself.
		 */
		f->is_minor |= paced && f->id == NSX_ID_preempted_host && f->alarm == NSX_ALARM_SET;
		/* A kernel with much time but no price ranks behind gains of medium severity. */
		p->v[i].rank_ns = f->price != NSX_PRICE_NONE ? worth(f) :
				  f->weight >= KERNEL_SHARE ? MEDIUM_SHARE * p->length_ns :
							      f->most_ns;
	}
}

static int rank(struct pricing *p, struct nsx_err *err)
{
	size_t most = 2 * p->l->n + 1; /* each finding has a remedy and a certain part of it */
	struct nsx_finding *v = nsx_arena_try_array(p->scratch, p->l->n, sizeof(*v), "findings",
		err);
	size_t n = 0;

	if (!v)
		return err->rc;
	p->plans = nsx_arena_get(p->scratch, most * sizeof(*p->plans));
	p->gains = nsx_arena_get(p->scratch, most * sizeof(*p->gains));
	p->v = nsx_arena_get(p->scratch, most * sizeof(*p->v));
	for (p->n = 0; p->n < p->l->n; p->n++) {
		struct nsx_finding *f = &p->l->v[p->n];

		f->key = f->subject ? nsx_tell(p->l, "%s:%s", nsx_finding_name(f),
					       f->subject) :
				      nsx_finding_name(f);
		p->v[p->n] = (struct item){.f = f, .order = p->n, .is_capture = is_capture(f)};
	}
	if (price_alone(p, err))
		return err->rc;
	nsx_sort(p->v, p->n, sizeof(*p->v), cmp_kin);
	for (size_t i = 1; i < p->n; i++)
		p->v[i].gone |= !strcmp(p->v[i].f->key, p->v[i - 1].f->key);
	drop_harmless(p);
	if (apply_all(p, err))
		return err->rc;
	judge_findings(p);
	nsx_sort(p->v, p->n, sizeof(*p->v), cmp_rank);
	limit_shown(p);
	nsx_sort(p->v, p->n, sizeof(*p->v), cmp_rank);
	for (size_t i = 0; i < p->n; i++)
		if (!p->v[i].gone)
			v[n++] = *p->v[i].f;
	if (n)
		memcpy(p->l->v, v, n * sizeof(*v));
	p->l->n = n;
	return 0;
}

/* Adds the idle time right after calls as evidence if it is near the price. A price far from it has
 * other reasons: launches come earlier, or the host waits for the time anyway.
 */
static void tell_idle_after(struct nsx_findings *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct nsx_finding *f = &l->v[i];
		double ns = (double)f->idle_after_ns;

		if (f->idle_after && (f->price == NSX_PRICE_NONE ||
				      (ns <= 2 * f->headroom_ns && 2 * ns >= f->headroom_ns)))
			nsx_insert_evidence(f, f->only ? 2 : 1, f->idle_after);
	}
}

int nsx_rank_findings(const struct nsx_trace *t, const struct nsx_facts *f,
		      unsigned threads, struct nsx_findings *l, struct nsx_err *err)
{
	struct pricing p = {.trace = t, .facts = f, .l = l, .w = nsx_judged(f),
			    .threads = threads, .scratch = nsx_arena_new()};
	struct nsx_booked judged = {&p.w, 1, NSX_NONE};
	int rc;

	for (uint32_t i = 0; i < f->ndevices; i++)
		p.works |= nsx_gpu_works(f, i, &judged);
	p.length_ns = (double)(p.w.end_ns - p.w.start_ns);
	rc = rank(&p, err);
	tell_idle_after(l);
	nsx_arena_free(p.scratch);
	return rc;
}
