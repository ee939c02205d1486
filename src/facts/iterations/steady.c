/* steady.c - finds the steady part of a phase, which represents it.
 *
 * It is the first of these that exists: the longest run of similar iterations; the densest stretch
 * of activity, unless a range defines the phase; the phase without the time at its ends in which
 * all devices are idle.
 *
 * Activity is judged in 256 bins. The densest stretch is the one in which active bins outnumber the
 * others most (maximum-sum run). It must hold most of the work, because one burst of random
 * requests does not represent the others. With less work it may still be a loop after a long start,
 * if it continues almost to the end without pauses. A separate warm-up is left out. Pauses inside
 * the loop stay, because findings are about them: the longest run with holes of at most one bin
 * would cut the capture mfu_2gpu_before, which is 10 % idle, at each of its gaps above 1.2 ms.
 *
 * For the same reason some unusual iterations do not end a run. These are iterations within a
 * quarter of the median; iterations in the middle of the run whose excess is less than half of the
 * loop on either side; and iterations farther off if they are a tenth of all or occur three times
 * or more. Checkpoints, garbage collections and repeated loading of code (for new shapes) are thus
 * part of the loop. A run may end with three or more unusual iterations. It may begin with shorter
 * ones if they are at least a quarter of all, because the loop then slows down, or with longer ones
 * if they are at least a fifth and many, because the work then shrinks (gauss_4x4, gauss_16x16). A
 * few longer ones at the beginning are warm-up. A few shorter ones use up work that was prepared
 * before.
 */
#include <math.h>
#include "facts/iterations/iterations.h"
#include "base/figures.h"
#include "base/stat.h"

enum { NBINS = 256, MAX_EXCLUDED = 24, MIN_ITERATIONS = 4, MIN_RUN = 3,
       RECURS = 3, LEAST_AROUND = 10, FEW = 10 };

const char *const nsx_steady_methods[NSX_NSTEADY] = {
	[NSX_STEADY_NONE] = "", [NSX_STEADY_ITERATIONS] = "iterations",
	[NSX_STEADY_ACTIVITY] = "activity", [NSX_STEADY_PHASE] = "phase",
	[NSX_STEADY_TRIMMED] = "trimmed", [NSX_STEADY_USER] = "user",
};

static void add_excluded_part(struct nsx_steady *s, const char *text)
{
	if (s->nexcluded < MAX_EXCLUDED)
		s->excluded[s->nexcluded++] = text;
	else
		s->excluded[MAX_EXCLUDED - 1] = "and more";
}

/* The start of a bin; computed without overflow for windows of any length. */
static int64_t bin_edge(const struct nsx_window *w, int bin)
{
	int64_t length = w->end_ns - w->start_ns;

	return w->start_ns + length / NBINS * bin + length % NBINS * bin / NBINS;
}

/* Iterations --------------------------------------------------------------------*/

/* The iterations of one (process, device) that begin in a phase. */
struct group {
	const struct nsx_iteration *v;
	size_t n;
	size_t at; /* index of v[0] among all iterations of the (process, device) */
};

/* Picks the process and device with most busy time in its iterations. */
static struct group pick_busiest_group(const struct nsx_facts *f, const struct nsx_window *w)
{
	struct group best = {0};
	int64_t most = -1;

	for (size_t i = 0; i < f->nloops; i++) {
		const struct nsx_iteration *v = f->loops[i].v;
		const struct nsx_spans *busy = &f->busy[v->device];
		struct group g = {.at = 0};
		int64_t ns = 0;
		size_t cursor = nsx_spans_find(busy, v->start_ns);

		for (size_t k = 0; k < f->loops[i].n; k++) {
			if (v[k].start_ns < w->start_ns || v[k].start_ns >= w->end_ns)
				continue;
			if (!g.n)
				g = (struct group){&v[k], 0, k};
			g.n++;
			nsx_add_to(&ns, nsx_spans_covered(busy, &cursor, v[k].start_ns,
							  v[k].end_ns));
		}
		if (ns > most && g.n >= MIN_ITERATIONS) {
			most = ns;
			best = g;
		}
	}
	return best;
}

/* Lists the times at which a process loaded or compiled modules, from calls and CUDA's overhead
 * rows.
 */
static int list_load_spans(const struct nsx_trace *t, uint32_t process,
			   struct nsx_arena *a, struct nsx_spans *ret, struct nsx_err *err)
{
	size_t most = t->overheads.n;

	for (uint32_t h = 0; h < t->nthreads; h++)
		if (t->thread[h].process == process)
			most += t->thread[h].ncalls;
	ret->n = 0;
	if (!nsx_new_array(ret->v, a, most, "module loads", err))
		return err->rc;
	for (size_t i = 0; i < t->calls.n; i++)
		if (t->calls.cls[i] == NSX_CALL_MODULE &&
		    t->thread[nsx_call_thread(t, i)].process == process)
			ret->v[ret->n++] =
			    (struct nsx_span){nsx_call_start(&t->calls, i),
					      nsx_call_end(&t->calls, i)};
	for (size_t i = 0; i < t->overheads.n; i++)
		if (nsx_overhead_is_load(t->overheads.type[i]) &&
		    t->thread[t->overheads.thread[i]].process == process)
			ret->v[ret->n++] = (struct nsx_span){
				t->overheads.start_ns[i],
				t->overheads.end_ns[i]};
	nsx_spans_normalise(ret);
	return 0;
}

struct judge {
	double median, tolerance;
	size_t first; /* first iteration near the median; at least 1         */
	bool uneven; /* iterations far from the median are many or recur, so they belong to the
			loop                                                 */
	const struct nsx_spans *loads;
	size_t cursor;
	bool loads_on; /* the loop itself loads code repeatedly              */
};

/* How long an iteration loads code; 0 if that is at most a hundredth of it. Callers ask for
 * iterations in order.
 */
static int64_t loading_ns(struct judge *j, const struct nsx_iteration *it)
{
	int64_t ns = nsx_spans_covered(j->loads, &j->cursor, it->start_ns, it->end_ns);

	return ns > (it->end_ns - it->start_ns) / 100 ? ns : 0;
}

/* Sets loads_on if code is loaded in several places, one of them in the second half, so that
 * loading is not only warm-up.
 */
static void detect_recurring_loads(struct judge *j, const struct group *g)
{
	size_t ntimes = 0, last = 0;
	bool before = false;

	for (size_t i = 0; i < g->n; i++) {
		bool now = loading_ns(j, &g->v[i]);

		ntimes += now && !before;
		last = now ? i : last;
		before = now;
	}
	j->cursor = 0;
	j->loads_on = ntimes >= RECURS && 2 * last >= g->n;
}

static bool steady_is_far(const struct judge *j, const struct nsx_iteration *it)
{
	return fabs((double)(it->end_ns - it->start_ns) - j->median) > 0.25 * j->median;
}

static bool is_usual(const struct judge *j, const struct nsx_iteration *it)
{
	return fabs((double)(it->end_ns - it->start_ns) - j->median) <= j->tolerance;
}

/* The number of unusual iterations of one kind up to and with this one: of shorter ones above 0, of
 * longer ones below 0. before: the same number for the iteration before it.
 */
static int64_t count_alike(const struct judge *j, const struct nsx_iteration *it, int64_t before)
{
	return (double)(it->end_ns - it->start_ns) < j->median ? NSX_MAX(before, 0) + 1 :
								 NSX_MIN(before, 0) - 1;
}

/* How many of the first iterations belong to a loop of `all` that slows down, or whose work
 * shrinks. alike: see count_alike.
 */
static size_t count_drifting(int64_t alike, size_t all)
{
	size_t n = (size_t)NSX_MAX(alike, -alike);

	return alike > 0 ? (n >= RECURS && 4 * n >= all ? n : 0) :
			   n >= LEAST_AROUND && 5 * n >= all ? n : 0;
}

/* Whether an unusual iteration does not end the loop: its excess is less than half of the loop
 * before it and less than half of the loop after it. With few iterations around it the answer is
 * no, because a change of the loop could not be told from an exception.
 */
static bool is_brief_exception(const struct judge *j, const struct group *g, size_t i)
{
	const struct nsx_iteration *it = &g->v[i];
	double excess = (double)(it->end_ns - it->start_ns) - j->median;
	size_t around = i <= j->first ? 0 : NSX_MIN(i - j->first, g->n - 2 - i);

	return around >= LEAST_AROUND && excess > 0 && 2 * excess < j->median * (double)around;
}

/* An iteration is LIKE the others, or MILD (different, but does not end a run), or UNLIKE (ends
 * it).
 */
enum likeness { LIKE, MILD, UNLIKE };

/* Judges iteration i of g. *ret_why: the reason if it is UNLIKE; on arena a. */
static enum likeness judge_iteration(struct judge *j, const struct group *g, size_t i,
				     struct nsx_arena *a, const char **ret_why)
{
	const struct nsx_iteration *it = &g->v[i];
	double wall = (double)(it->end_ns - it->start_ns);
	int64_t load_ns = loading_ns(j, it);

	if (!i)
		*ret_why = nsx_arena_printf(a, "iteration %zu: the first, it warms up", g->at);
	else if (i + 1 == g->n)
		*ret_why = nsx_arena_printf(a, "iteration %zu: the last, which "
					    "has no certain end", g->at + i);
	else if (load_ns && !j->loads_on)
		*ret_why = nsx_arena_printf(a, "iteration %zu: %s of module loading or compiling",
					    g->at + i, nsx_text_ns(a, (double)load_ns));
	else if (is_usual(j, it))
		return LIKE;
	else if ((j->uneven && i >= j->first) || !steady_is_far(j, it) || is_brief_exception(j, g,
											     i))
		return MILD;
	else
		*ret_why = nsx_arena_printf(a, "iteration %zu: %s, the median is %s", g->at + i,
					    nsx_text_ns(a, wall), nsx_text_ns(a, j->median));
	return UNLIKE;
}

/* Sets `first`, the iteration at which the loop becomes regular, and `uneven`, which says that
 * unusual iterations after it are part of the loop.
 */
static void find_regular_start(struct judge *j, const struct nsx_iteration *v, size_t n)
{
	size_t nfar = 0, ntimes = 0, near = 1;
	int64_t alike = 0;

	for (j->first = 1; j->first < n && steady_is_far(j, &v[j->first]);)
		j->first++;
	for (; near < n && !(is_usual(j, &v[near]) && near >= j->first); near++)
		alike = count_alike(j, &v[near], alike);
	j->first = NSX_MIN(j->first, near - count_drifting(alike, n));
	for (size_t i = j->first; i < n; i++) {
		if (!steady_is_far(j, &v[i]))
			continue;
		nfar++;
		ntimes += !steady_is_far(j, &v[i - 1]);
	}
	j->uneven = ntimes >= RECURS || (nfar > 1 && 10 * nfar >= n - j->first);
}

static int judge_lengths(const struct nsx_iteration *v, size_t n,
			 struct judge *j, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) int64_t *d =
		nsx_try_alloc(n, sizeof(*d), "iteration lengths", err);
	double mad;

	if (!d)
		return err->rc;
	n--; /* the last has no successor */
	for (size_t i = 0; i < n; i++)
		d[i] = v[i].end_ns - v[i].start_ns;
	mad = nsx_median_distance(d, n, &j->median);
	j->tolerance = NSX_MAX(3 * 1.4826 * mad, 0.05 * j->median);
	find_regular_start(j, v, n);
	return 0;
}

struct run {
	size_t from, to; /* iterations of the run: LIKE and MILD ones. MILD ones at its end count
			    if there are RECURS or more                      */
	size_t nlike, nmild; /* nmild: MILD iterations since the last LIKE one */
	/* number of MILD iterations directly before the first LIKE one: above 0 if they are
	 * shorter than usual, below 0 if longer
	 */
	int64_t alike;
};

/* Finds the run with most iterations. */
static struct run find_longest_run(struct nsx_steady *s, struct judge *j,
				   const struct group *g, struct nsx_arena *a,
				   struct nsx_arena *scratch)
{
	struct run run = {0}, best = {0};

	for (size_t i = 0; i < g->n; i++) {
		bool told = s->nexcluded < MAX_EXCLUDED;
		const char *why;

		switch (judge_iteration(j, g, i, told ? a : scratch, &why)) {
		case UNLIKE:
			add_excluded_part(s, why);
			run.nlike = 0;
			run.alike = 0;
			break;
		case LIKE:
			if (!run.nlike)
				run.from = i - count_drifting(run.alike, g->n);
			run.nlike++;
			run.nmild = 0;
			break;
		default:
			run.nmild++;
			run.alike = count_alike(j, &g->v[i], run.alike);
			break;
		}
		if (run.nlike && (!run.nmild || run.nmild >= RECURS))
			run.to = i + 1;
		if (run.nlike && run.to - run.from > best.to - best.from)
			best = run;
	}
	return best;
}

static int try_iterations(const struct nsx_facts *f, const struct nsx_trace *t,
			  const struct nsx_window *w, struct nsx_arena *a,
			  struct nsx_arena *scratch, struct nsx_steady *ret, struct nsx_err *err)
{
	struct group g = pick_busiest_group(f, w);
	struct nsx_spans loads = {0};
	struct judge j = {.loads = &loads};
	struct run best;

	if (!g.n)
		return 0;
	if (list_load_spans(t, g.v->process, scratch, &loads, err) || judge_lengths(g.v, g.n, &j,
										    err))
		return err->rc;
	detect_recurring_loads(&j, &g);
	best = find_longest_run(ret, &j, &g, a, scratch);
	if (best.nlike < MIN_RUN) {
		ret->nexcluded = 0;
		return 0;
	}
	ret->window = (struct nsx_window){g.v[best.from].start_ns,
					  g.v[best.to - 1].end_ns};
	ret->method = NSX_STEADY_ITERATIONS;
	ret->confidence = best.nlike < 5 ?
				  NSX_MIN(f->iteration_confidence, NSX_CONF_MEDIUM) :
				  f->iteration_confidence;
	return 0;
}

/* Activity ----------------------------------------------------------------------*/

static void fill_activity_bins(const struct nsx_facts *f, const struct nsx_window *w, double *share)
{
	for (uint32_t d = 0; d < f->ndevices; d++) {
		size_t cursor = nsx_spans_find(&f->busy[d], w->start_ns);

		for (int b = 0; b < NBINS; b++) {
			int64_t from = bin_edge(w, b);
			int64_t to = bin_edge(w, b + 1);

			share[b] += (double)nsx_spans_covered(&f->busy[d], &cursor, from,
					    to) / (double)(to - from);
		}
	}
}

/* Tries the stretch of bins in which active bins outnumber the others by the most. Bins are active
 * if the GPU is at least half as busy in them as in its busy ones.
 */
static void try_activity(const struct nsx_facts *f, const struct nsx_window *w,
			 struct nsx_steady *ret)
{
	double share[NBINS] = {0}, sorted[NBINS], limit, inside = 0, before = 0, after = 0;
	int from = 0, to = 0, begin = 0, sum = 0, best = 0;

	if (w->end_ns - w->start_ns < NBINS)
		return;
	fill_activity_bins(f, w, share);
	memcpy(sorted, share, sizeof(sorted));
	nsx_sort(sorted, NBINS, sizeof(*sorted), nsx_cmp_double);
	limit = sorted[NBINS * 8 / 10] / 2;
	if (limit <= 0)
		return;
	for (int b = 0; b < NBINS; b++) {
		if (sum <= 0) {
			sum = 0;
			begin = b;
		}
		sum += share[b] >= limit ? 1 : -1;
		if (sum > best) {
			best = sum;
			from = begin;
			to = b + 1;
		}
	}
	if (to - from < NBINS / 5)
		return;
	for (int b = 0; b < NBINS; b++)
		*(b < from ? &before : b < to ? &inside : &after) += share[b];
	if (before + after > inside &&
	    (after > before / FEW || /* best: active bins minus the others */
	     to - from - best > (to - from) / FEW))
		return;
	ret->window = (struct nsx_window){bin_edge(w, from), bin_edge(w, to)};
	ret->method = NSX_STEADY_ACTIVITY;
	ret->confidence = to - from >= NBINS / 2 ? NSX_CONF_MEDIUM : NSX_CONF_LOW;
}

static bool creates_graph(const char *api)
{
	return strstr(api, "GraphInstantiate");
}

/* Lets a window begin after its last creation of a graph, if all lie in its first third: the graphs
 * are then created for the loop that follows.
 */
static int skip_graph_creation(const struct nsx_trace *t, struct nsx_arena *scratch,
			       struct nsx_window *w, struct nsx_err *err)
{
	int64_t end_ns = w->start_ns;
	uint8_t *memo;

	if (!nsx_new_array(memo, scratch, nsx_strings_bound(t->strings), "calls", err))
		return err->rc;
	for (size_t i = 0; i < t->calls.n; i++)
		if (nsx_call_start(&t->calls, i) < w->end_ns &&
		    nsx_call_end(&t->calls, i) > end_ns &&
		    nsx_call_does(t, i, creates_graph, memo))
			end_ns = nsx_call_end(&t->calls, i);
	if (end_ns - w->start_ns <= (w->end_ns - w->start_ns) / 3)
		w->start_ns = end_ns;
	return 0;
}

/* Shrinks a window to the time from the first to the last work of any device. */
static struct nsx_window trim_idle_ends(const struct nsx_facts *f, const struct nsx_window *w)
{
	struct nsx_window ret = {w->end_ns, w->start_ns};

	for (uint32_t d = 0; d < f->ndevices; d++) {
		const struct nsx_spans *busy = &f->busy[d];
		size_t i = nsx_spans_find(busy, w->start_ns);
		size_t end = nsx_spans_find(busy, w->end_ns);

		int64_t start_ns = i < busy->n ? nsx_span_start(busy, i) : INT64_MAX;

		if (start_ns < w->end_ns)
			ret.start_ns = NSX_MIN(ret.start_ns, NSX_MAX(start_ns, w->start_ns));
		if (end < busy->n && nsx_span_start(busy, end) < w->end_ns)
			ret.end_ns = w->end_ns;
		else if (end)
			ret.end_ns = NSX_MAX(ret.end_ns, NSX_MIN(nsx_span_at(busy, end - 1).end_ns,
								 w->end_ns));
	}
	return ret.start_ns < ret.end_ns ? ret : *w;
}

static void exclude_edges(struct nsx_arena *a, const struct nsx_window *w, struct nsx_steady *s)
{
	if (s->window.start_ns > w->start_ns)
		add_excluded_part(s, nsx_arena_printf(a, "the first %s: less active",
				   nsx_text_ns(a, (double)(s->window.start_ns - w->start_ns))));
	if (s->window.end_ns < w->end_ns)
		add_excluded_part(s, nsx_arena_printf(a, "the last %s: less active",
				   nsx_text_ns(a, (double)(w->end_ns - s->window.end_ns))));
}

int nsx_steady_in(const struct nsx_facts *f, const struct nsx_trace *t,
		  const struct nsx_segment *seg, struct nsx_arena *a,
		  struct nsx_steady *ret, struct nsx_err *err)
{
	const struct nsx_window *w = &seg->window;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *scratch = nsx_arena_new();
	int rc;

	*ret = (struct nsx_steady){
		.excluded = nsx_arena_get(a, MAX_EXCLUDED * sizeof(char *))};
	rc = try_iterations(f, t, w, a, scratch, ret, err);
	if (!rc && !ret->method && !seg->range && !seg->is_whole) {
		try_activity(f, w, ret);
		if (ret->method)
			rc = skip_graph_creation(t, scratch, &ret->window, err);
	}
	if (rc || ret->method == NSX_STEADY_ITERATIONS)
		return rc;
	if (!ret->method) {
		ret->window = trim_idle_ends(f, w);
		ret->method = seg->range ? NSX_STEADY_PHASE : NSX_STEADY_TRIMMED;
		ret->confidence = seg->range ? NSX_CONF_MEDIUM : NSX_CONF_LOW;
	}
	exclude_edges(a, w, ret);
	return 0;
}
