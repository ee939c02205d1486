/* survey.c - finds where a file's rows lie in time, so that a window need not read most of them.
 *
 * The survey reads three or four cells of every row. They give the time span and the correlation
 * ids of each block of a table. All other work is proportional to the window. Tables are nearly in
 * time order, so few blocks overlap a short window; in an unordered table more blocks are read, but
 * none is missed.
 *
 * The portion that is read consists of the window with a margin on both sides, which shows what is
 * usual; all that overlaps window and margins; the calls that launched the window's operations, and
 * the ranges around those calls; and a sample of calls and their operations from the whole file.
 * The sample shows whether a clock is off. If one is, the window itself moves, and everything is
 * read.
 */
#include "base/stat.h"
#include "trace/load.h"

enum {
	MARGIN_ROWS = 1 << 18, CLOCK_ROWS = 1 << 17, BINS = 1 << 12,
	FINEST = 12,  /* smallest shift of nsx_bins: bins of 4 us */
};

static const struct nsx_window nowhere = {INT64_MAX, INT64_MIN};
static const struct nsx_window everywhere = {INT64_MIN, INT64_MAX};

/* Number of events by start time ------------------------------------------------- */

/* Widens the bins until all events from bin first to bin last fit. Bins begin at multiples of their
 * width, which is the least possible one. They are therefore the same for any row order.
 */
static void widen_bins(struct nsx_bins *b, int64_t first, int64_t last)
{
	uint32_t was[BINS];
	unsigned shift = 0;

	first = NSX_MIN(first, b->first);
	last = NSX_MAX(last, b->last);
	while ((last >> shift) - (first >> shift) >= BINS)
		shift++;
	if (shift && b->first <= b->last) {
		memcpy(was, b->n, sizeof(was));
		memset(b->n, 0, sizeof(b->n));
		for (int64_t i = b->first; i <= b->last; i++)
			b->n[(i >> shift) & (BINS - 1)] += was[i & (BINS - 1)];
	}
	b->shift += shift;
	b->first = first >> shift;
	b->last = last >> shift;
}

static void count_event_at(struct nsx_bins *b, int64_t at_ns, uint32_t n)
{
	int64_t bin = at_ns >> b->shift;

	if (bin < b->first || bin > b->last) {
		widen_bins(b, bin, bin);
		bin = at_ns >> b->shift;
	}
	b->n[bin & (BINS - 1)] += n;
}

/* The window with its margins. It is unbounded on a side that has fewer rows than the margin should
 * have.
 */
static struct nsx_window add_margins(const struct nsx_bins *b,
				      const struct nsx_window *w, size_t rows)
{
	struct nsx_window ret = everywhere;
	int64_t start_ns = NSX_MAX(w->start_ns, -NSX_TIME_MAX);
	int64_t end_ns = NSX_MIN(w->end_ns, NSX_TIME_MAX);
	int64_t length_ns = end_ns - start_ns, at;
	size_t n = 0;

	at = NSX_MIN((start_ns - 1) >> b->shift, b->last);
	for (; at >= b->first && n < rows; at--)
		n += b->n[at & (BINS - 1)];
	if (at >= b->first)
		ret.start_ns = NSX_MIN((at + 1) * (INT64_C(1) << b->shift), start_ns - length_ns);
	at = NSX_MAX(end_ns >> b->shift, b->first);
	for (n = 0; at <= b->last && n < rows; at++)
		n += b->n[at & (BINS - 1)];
	if (at <= b->last)
		ret.end_ns = NSX_MAX(at * (INT64_C(1) << b->shift), end_ns + length_ns);
	return ret;
}

/* Looking ------------------------------------------------------------------------*/

static int survey_row(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	const struct nsx_tableload *t = p->table;
	struct nsx_surveyed *s = p->own;
	struct nsx_zone *z = &t->zones[p->choice.at];
	struct nsx_extent x = t->extent(v);
	uint32_t corr = t->corr ? nsx_u32_or(&v[t->corr], 0) : 0;
	const struct nsx_reach *reach = p->l->schema->reach;

	if (!z->rows++) {
		z->least_ns = INT64_MAX;
		z->most_ns = INT64_MIN;
		z->least_corr = UINT32_MAX;
	}
	z->least_ns = NSX_MIN(z->least_ns, x.start_ns);
	z->most_ns = NSX_MAX(z->most_ns, x.end_ns);
	if (corr) {
		z->least_corr = NSX_MIN(z->least_corr, corr);
		z->most_corr = NSX_MAX(z->most_corr, corr);
	}
	if (t->note && t->note(p, v, &x, err))
		return err->rc;
	if (!x.is_event)
		return 0;
	if (t->hull != NSX_HULL_NONE) {
		s->nevents++;
		count_event_at(&s->bins, x.start_ns, 1);
		s->first_ns = NSX_MIN(s->first_ns, x.start_ns);
	}
	if (x.end_ns == INT64_MAX) {
		x.end_ns = x.start_ns; /* the end of an open range is unknown */
		/* Blocks at the ends of the reach have rows beyond it. */
		s->nopen += !reach->is_on || (x.start_ns >= reach->from_ns &&
					      x.start_ns < reach->to_ns);
	}
	nsx_widen(t->hull == NSX_HULL_GPU || x.start_ns >= 0 ? &s->hull : &s->early,
		  x.start_ns, x.end_ns);
	return 0;
}

/* The sums over all parts. */
struct sums {
	struct nsx_bins bins;
	size_t nops;
};

static const struct nsx_bins no_bins = {FINEST, INT64_MAX >> FINEST,
					INT64_MIN >> FINEST, {0}};

static void add_surveyed_part(struct nsx_loader *l, const struct nsx_tableload *t,
			      const struct nsx_surveyed *s, struct sums *sums)
{
	struct nsx_portion *x = &l->portion;
	struct nsx_window *hull = t->hull == NSX_HULL_GPU ? &x->gpu : &x->host;

	if (t->hull == NSX_HULL_NONE)
		return;
	nsx_widen(hull, s->hull.start_ns, s->hull.end_ns);
	nsx_widen(&x->early, s->early.start_ns, s->early.end_ns);
	for (int64_t i = s->bins.first; i <= s->bins.last; i++)
		if (s->bins.n[i & (BINS - 1)])
			count_event_at(&sums->bins, i * (INT64_C(1) << s->bins.shift),
				       s->bins.n[i & (BINS - 1)]);
	if (t->hull == NSX_HULL_GPU)
		sums->nops += s->nevents;
	x->nopen += s->nopen;
	if (t->view == NSX_VIEW_runtime)
		x->first_call_ns = NSX_MIN(x->first_call_ns, s->first_ns);
	nsx_widen(&l->window_hull, s->ranges.start_ns, s->ranges.end_ns);
	for (size_t i = 0; i < NSX_MIN(s->cap_least, l->callers_map.n); i++)
		if (s->least_corr[i])
			l->least_corr[i] = l->least_corr[i] ?
				NSX_MIN(l->least_corr[i], s->least_corr[i]) :
				s->least_corr[i];
}

static void add_up_survey(struct nsx_loader *l, const struct nsx_tableload *list,
			  size_t n, struct sums *sums)
{
	struct nsx_portion *x = &l->portion;

	x->gpu = x->host = x->early = l->window_hull = nowhere;
	x->first_call_ns = INT64_MAX;
	x->nopen = 0;
	sums->bins = no_bins;
	l->least_corr = nsx_alloc(l->callers_map.cap + 1, sizeof(*l->least_corr));
	for (size_t i = 0; i < n; i++)
		for (unsigned p = 0; p < l->threads; p++)
			add_surveyed_part(l, &list[i], (struct nsx_surveyed *)list[i].own + p,
					  sums);
}

/* Adds all threads that the survey saw, because some may have no row in the portion. */
static int add_surveyed_threads(struct nsx_loader *l, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) struct nsx_keycache *cache = nsx_alloc(1, sizeof(*cache));
	int rc = 0;
	uint32_t id;

	for (size_t i = 0; !rc && i < l->callers_map.n; i++)
		rc = nsx_keymap_add(&l->threads_map, cache,
				    &(struct nsx_key){
					    {l->callers_map.keys[i].w[0]}},
				    &id, err);
	return rc;
}

static int set_portion_to_read(struct nsx_loader *l, const struct sums *sums,
			       const char *window, struct nsx_err *err)
{
	struct nsx_portion *x = &l->portion;
	struct nsx_trace *t = l->t;
	size_t rows = l->opts->clock_rows ? l->opts->clock_rows : CLOCK_ROWS;

	nsx_set_hull(t, &x->gpu, &x->host, &x->early);
	if (l->window_hull.end_ns == INT64_MAX)
		l->window_hull.end_ns = NSX_MAX(t->last_ns, l->window_hull.start_ns);
	if (nsx_find_window(l, window, &l->window_hull, &x->user, err))
		return err->rc;
	x->read = add_margins(&sums->bins, &x->user,
			       l->opts->margin_rows ? l->opts->margin_rows :
						      MARGIN_ROWS);
	x->clock_share = (uint32_t)NSX_MIN(sums->nops / rows + 1, UINT32_MAX);
	x->is_on = true;
	return 0;
}

static int survey_tables(struct nsx_loader *l, struct nsx_tableload *list, size_t n,
		       const char *window, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) struct nsx_tableload *look = nsx_alloc(n, sizeof(*look));
	NSX_AT_EXIT(nsx_free_at) struct nsx_surveyed *own = nsx_alloc(n * l->threads, sizeof(*own));
	NSX_AT_EXIT(nsx_free_at) struct sums *sums = nsx_alloc(1, sizeof(*sums));
	struct nsx_defects before = l->t->defects;
	size_t nlook = 0;
	int rc;

	for (size_t i = 0; i < n * l->threads; i++) {
		own[i].hull = own[i].early = own[i].ranges = nowhere;
		own[i].first_ns = INT64_MAX;
		own[i].bins = no_bins;
	}
	for (size_t i = 0; i < n; i++) {
		if (!list[i].extent)
			continue;
		look[nlook] = list[i];
		look[nlook].set = look[nlook].beside = NULL;
		look[nlook].row = survey_row;
		look[nlook].own = own + nlook * l->threads;
		look[nlook].own_size = sizeof(*own);
		look[nlook++].is_survey = true;
	}
	rc = nsx_load_tables(l, look, nlook, "survey", err) ?: add_surveyed_threads(l, err);
	if (!rc) {
		add_up_survey(l, look, nlook, sums);
		rc = set_portion_to_read(l, sums, window, err);
	}
	/* Resets the count, because defective rows are read and counted again. */
	l->t->defects = before;
	for (size_t i = 0, at = 0; i < n && at < nlook; i++)
		if (list[i].extent) {
			list[i].zones = look[at].zones;
			list[i].nzones = look[at++].nzones;
		}
	for (size_t i = 0; i < n * l->threads; i++)
		free(own[i].least_corr);
	return rc;
}

/* Limits the survey to the rows within opts->reach_ns of the window. The ends of the tables are
 * read first, because they show where the trace, and thus the window, lies.
 */
static int limit_survey_to_reach(struct nsx_loader *l, struct nsx_tableload *list, size_t n,
				 const char *window, struct nsx_err *err)
{
	const struct nsx_window *user = &l->portion.user;
	struct nsx_reach *r = l->schema->reach;

	*r = (struct nsx_reach){true, INT64_MAX, INT64_MIN};
	if (survey_tables(l, list, n, window, err))
		return err->rc;
	nsx_survey_done(list, n);
	free(l->least_corr);
	l->least_corr = NULL;
	l->nfrom_zero = 0;
	r->from_ns = NSX_MAX(user->start_ns, -NSX_TIME_MAX) - l->opts->reach_ns;
	r->to_ns = NSX_MIN(user->end_ns, NSX_TIME_MAX) + l->opts->reach_ns;
	r->is_on = r->from_ns > l->t->first_ns || r->to_ns < l->t->last_ns;
	return 0;
}

int nsx_survey(struct nsx_loader *l, struct nsx_tableload *list, size_t n,
	       const char *window, struct nsx_err *err)
{
	const struct nsx_reach *r = l->schema->reach;
	struct nsx_window *read = &l->portion.read;

	if ((l->opts->reach_ns && limit_survey_to_reach(l, list, n, window, err)) ||
	    survey_tables(l, list, n, window, err))
		return err->rc;
	if (r->is_on) {
		read->start_ns = NSX_MAX(read->start_ns, r->from_ns);
		read->end_ns = NSX_MIN(read->end_ns, r->to_ns);
	}
	return 0;
}

void nsx_survey_done(struct nsx_tableload *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(list[i].zones);
		list[i].zones = NULL;
	}
}

/* The portion -----------------------------------------------------------------------*/

enum { MOST_RUNS = 256 }; /* limit of the runs that are checked; a block that spans more is read */

static bool is_near_portion(const struct nsx_portion *x, int64_t start_ns, int64_t end_ns)
{
	size_t lo;

	if (start_ns < x->read.end_ns && end_ns >= x->read.start_ns)
		return true;
	lo = NSX_SEARCH(0, x->nat, mid, x->at_ns[mid] < start_ns);
	return lo < x->nat && x->at_ns[lo] <= end_ns;
}

static bool is_wanted_call(const struct nsx_portion *x, uint32_t least, uint32_t most)
{
	size_t lo = NSX_SEARCH(0, x->ncorr, mid, x->corr[mid] < least);

	return lo < x->ncorr && x->corr[lo] <= most;
}

/* Whether one of the ids from least to most is in the clock sample. Runs of ids are sampled, so
 * that sampled rows are adjacent.
 */
static bool is_in_clock_sample(const struct nsx_portion *x, uint32_t least, uint32_t most)
{
	uint32_t run = least >> NSX_CLOCK_RUN, last = most >> NSX_CLOCK_RUN;

	if (!most || least > most)
		return false;
	if (last - run > MOST_RUNS)
		return true;
	for (; run <= last; run++)
		if (run * UINT32_C(0x9e3779b9) <= UINT32_MAX / x->clock_share)
			return true;
	return false;
}

bool nsx_wants_block(void *part, size_t block)
{
	const struct nsx_part *p = part;
	const struct nsx_portion *x = &p->l->portion;
	const struct nsx_zone *z = &p->table->zones[block];

	return block >= p->table->nzones ||
	       (z->rows && (is_near_portion(x, z->least_ns, z->most_ns) ||
			    is_wanted_call(x, z->least_corr, z->most_corr) ||
			    is_in_clock_sample(x, z->least_corr, z->most_corr)));
}

bool nsx_wants_row(const struct nsx_part *p, const struct nsx_val *v)
{
	const struct nsx_portion *x = &p->l->portion;
	const struct nsx_tableload *t = p->table;
	struct nsx_extent e = t->extent(v);
	uint32_t corr = t->corr ? nsx_u32_or(&v[t->corr], 0) : 0;

	return is_near_portion(x, e.start_ns, e.end_ns) || is_wanted_call(x, corr, corr) ||
	       is_in_clock_sample(x, corr, corr);
}

/* Adds to the portion the calls of the window's operations, and of each stream's first operation
 * after the window, since one of these ends the idle time at the window's end.
 */
int nsx_want_calls(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_portion *x = &l->portion;
	const struct nsx_ops_rw *o = &l->ops;
	size_t nstreams = l->streams_map.n, n = 0;
	uint32_t *corr, *next; /* next: by stream, its first operation after the window */

	nsx_few(next, l->index_arena, nstreams);
	corr = nsx_try_alloc(l->op_set.n, sizeof(*corr), "correlation ids", err);
	if (!corr)
		return err->rc;
	memset(next, 0xff, nstreams * sizeof(*next)); /* NSX_NONE */
	for (uint32_t i = 0; i < l->op_set.n; i++) {
		uint32_t *first = &next[o->stream[i]];

		if (o->call[i] && nsx_reaches(&x->user, o->start_ns[i], o->end_ns[i]))
			corr[n++] = o->call[i];
		else if (o->start_ns[i] >= x->user.end_ns &&
			 o->end_ns[i] > o->start_ns[i] &&
			 (*first == NSX_NONE ||
			  o->start_ns[i] < o->start_ns[*first]))
			*first = i;
	}
	for (size_t k = 0; k < nstreams; k++)
		if (next[k] != NSX_NONE && o->call[next[k]])
			corr[n++] = o->call[next[k]];
	nsx_sort(corr, n, sizeof(*corr), nsx_cmp_u32);
	x->corr = corr;
	x->ncorr = n;
	return 0;
}

static bool survey_is_outside(const struct nsx_portion *x, int64_t at_ns)
{
	return at_ns < x->read.start_ns || at_ns >= x->read.end_ns;
}

static int add_wanted_time(struct nsx_portion *x, int64_t at_ns, struct nsx_err *err)
{
	return nsx_push(x->at_ns, x->nat, x->cap_at, "instants", err, at_ns);
}

static void sort_wanted_times(struct nsx_portion *x)
{
	nsx_sort(x->at_ns, x->nat, sizeof(*x->at_ns), nsx_cmp_i64);
}

static int add_launch_times(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_portion *x = &l->portion;

	for (size_t i = 0; i < l->call_set.n; i++) {
		int64_t at_ns = l->calls.start_ns[i];
		uint32_t corr = l->calls.corr[i];

		if (survey_is_outside(x, at_ns) && is_wanted_call(x, corr, corr) &&
		    add_wanted_time(x, at_ns, err))
			return err->rc;
	}
	sort_wanted_times(x);
	return 0;
}

int nsx_want_crossing(struct nsx_loader *l,
		      const struct nsx_tableload *ranges NSX_UNUSED, bool *ret, struct nsx_err *err)
{
	struct nsx_portion *x = &l->portion;
	size_t was = x->nat;

	for (size_t i = 0; i < l->nvtx_set.n; i++)
		if (l->nvtx.kind[i] == NSX_NVTX_STACK &&
		    survey_is_outside(x, l->nvtx.start_ns[i]) &&
		    add_wanted_time(x, l->nvtx.start_ns[i], err))
			return err->rc;
	sort_wanted_times(x);
	*ret = x->nat > was;
	if (*ret)
		l->ncreated = l->npython = 0;
	return 0;
}

/* Neighbours: the time between two launches of a thread may overlap the window even if both are
 * far away.
 */
struct seeker {
	struct nsx_loader *l;
	uint8_t *is_launch; /* one for each name */
	size_t nnames;
	struct side { /* for each provisional thread id: its launches nearest to the window */
		/* last launch before and first launch after the window; INT64_MIN, INT64_MAX:
		 * none
		 */
		int64_t before_ns, after_ns;
		bool launches, seeks; /* seeks: one of these launches has not been found yet */
	} *side;
	size_t nsides;
};

static bool survey_is_launch(const struct nsx_loader *l, const struct nsx_key *caller)
{
	uint8_t flags;

	return !caller->w[2] &&
	       nsx_classify_call(nsx_text(l->t, (nsx_str)caller->w[1]), &flags) == NSX_CALL_LAUNCH;
}

static void note_nearest_launch(struct seeker *s, uint32_t thread, int64_t start_ns)
{
	const struct nsx_window *user = &s->l->portion.user;
	struct side *x = &s->side[thread];

	if (start_ns < user->start_ns)
		x->before_ns = NSX_MAX(x->before_ns, start_ns);
	else if (start_ns >= user->end_ns)
		x->after_ns = NSX_MIN(x->after_ns, start_ns);
}

static int list_launchers(struct seeker *s, struct nsx_err *err)
{
	struct nsx_loader *l = s->l;
	NSX_AT_EXIT(nsx_free_at) struct nsx_keycache *cache = nsx_alloc(1, sizeof(*cache));
	int rc = 0;

	for (size_t i = 0; !rc && i < l->callers_map.n; i++) {
		const struct nsx_key *k = &l->callers_map.keys[i];
		const struct nsx_key key = {{k->w[0]}};
		uint32_t thread;

		if (!survey_is_launch(l, k))
			continue;
		rc = nsx_keymap_add(&l->threads_map, cache, &key, &thread, err);
		s->is_launch[k->w[1]] = 1;
		if (!rc)
			s->side[thread].launches = true;
	}
	return rc;
}

/* Whether a launching thread has no launch on a side of the window that was only partly read. */
static bool must_search_launches(struct seeker *s)
{
	const struct nsx_loader *l = s->l;
	const struct nsx_window *read = &l->portion.read;
	bool any = false;

	for (size_t i = 0; i < l->call_set.n; i++)
		if (s->is_launch[l->calls.name[i]] &&
		    l->calls.start_ns[i] >= read->start_ns &&
		    l->calls.start_ns[i] < read->end_ns)
			note_nearest_launch(s, l->calls.thread[i], l->calls.start_ns[i]);
	for (size_t i = 0; i < s->nsides; i++) {
		struct side *x = &s->side[i];

		x->seeks = x->launches &&
			   ((x->before_ns == INT64_MIN &&
			     read->start_ns > INT64_MIN) ||
			    (x->after_ns == INT64_MAX &&
			     read->end_ns < INT64_MAX));
		any |= x->seeks;
	}
	return any;
}

static int note_launch_row(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	struct seeker *s = *(struct seeker **)p->own;
	struct nsx_extent x = p->table->extent(v);
	uint32_t thread;
	nsx_str name;

	if (!x.is_event)
		return 0;
	if (nsx_read_caller(p, v, &thread, &name, err))
		return err->rc;
	if (thread >= s->nsides || name >= s->nnames || !s->is_launch[name] ||
	    !s->side[thread].seeks)
		return 0;
	pthread_mutex_lock(&p->l->lock);
	note_nearest_launch(s, thread, x.start_ns);
	pthread_mutex_unlock(&p->l->lock);
	return 0;
}

static int search_nearest_launches(struct seeker *s, const struct nsx_tableload *calls,
				   struct nsx_err *err)
{
	struct nsx_portion *x = &s->l->portion;
	struct nsx_tableload look = *calls;
	int rc;

	look.set = NULL;
	look.zones = NULL;
	look.is_survey = true;
	look.row = note_launch_row;
	look.own = &s;
	look.own_size = 0;
	rc = nsx_load_tables(s->l, &look, 1, "launches", err);
	free(look.zones);
	for (size_t i = 0; !rc && i < s->nsides; i++) {
		const struct side *y = &s->side[i];

		if (y->seeks && y->before_ns > INT64_MIN)
			rc = add_wanted_time(x, y->before_ns, err);
		if (!rc && y->seeks && y->after_ns < INT64_MAX)
			rc = add_wanted_time(x, y->after_ns, err);
	}
	sort_wanted_times(x);
	return rc;
}

int nsx_want_neighbours(struct nsx_loader *l, const struct nsx_tableload *calls,
			bool *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct seeker s = {.l = l, .nnames = nsx_strings_bound(l->strings),
			   .nsides = l->threads_map.n};
	int rc = nsx_new_arrays(a, s.nnames, "names", err, s.is_launch);

	nsx_few(s.side, a, s.nsides);
	for (size_t i = 0; i < s.nsides; i++)
		s.side[i] = (struct side){.before_ns = INT64_MIN,
					  .after_ns = INT64_MAX};
	rc = rc ?: add_launch_times(l, err) ?: list_launchers(&s, err);
	*ret = !rc && must_search_launches(&s);
	if (*ret) {
		rc = search_nearest_launches(&s, calls, err);
		l->nbacktraces = l->nfrom_zero = 0;
	}
	return rc;
}

/* The sample -------------------------------------------------------------------------*/

static size_t drop_sampled_calls(struct nsx_loader *l)
{
	const struct nsx_portion *x = &l->portion;
	size_t n = 0, was = l->call_set.n;

	for (size_t i = 0; i < was; i++) {
		uint32_t corr = l->calls.corr[i];

		if (is_near_portion(x, l->calls.start_ns[i], l->calls.end_ns[i]) ||
		    is_wanted_call(x, corr, corr))
			nsx_colset_move(&l->call_set, n++, i, 1);
	}
	l->call_set.n = n;
	return was - n;
}

static void drop_sampled_waits(struct nsx_loader *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->sync_set.n; i++)
		if (is_near_portion(&l->portion, l->t->syncs.start_ns[i], l->t->syncs.end_ns[i]))
			nsx_colset_move(&l->sync_set, n++, i, 1);
	l->sync_set.n = n;
}

static void note_thread_activity(struct nsx_loader *l)
{
	for (size_t i = 0; i < l->callers_map.n; i++) {
		const struct nsx_key *k = &l->callers_map.keys[i];
		uint32_t at = nsx_thread_find(l->t, k->w[0]);
		struct nsx_thread *th = &l->t->thread[at];

		if (at == NSX_NONE)
			continue;
		th->has_ranges |= k->w[2];
		th->has_stack |= k->w[2] && k->w[1] == NSX_NVTX_STACK;
		th->has_calls |= !k->w[2];
	}
}

int nsx_drop_sample(struct nsx_loader *l, struct nsx_err *err)
{
	if (!l->portion.is_on)
		return 0;
	drop_sampled_waits(l);
	note_thread_activity(l);
	return drop_sampled_calls(l) ? nsx_index_calls(l, err) : 0;
}
