/* blame.c - shares the time of a trace without GPU work among its threads, in one sweep over the
 * threads' events. A second sweep adds up what waits for the rows with most blame.
 */
#include "base/group.h"
#include "base/stat.h"
#include "facts/blame.h"
#include "facts/outside.h"
#include "facts/profiler.h"

/* The states of a thread at an instant. The threads with the smallest value move the program on. */
enum level {
	RUNS,	/* its own code                                              */
	DOES,	/* a call that does something itself, such as writing a file */
	AWAITS, /* a fixed time, or something outside the program            */
	ASIDE,	/* any of these, on a thread that is not the program's own work */
	WAITS,	/* for another thread                                        */
	JOINS,	/* waits for the end of another thread                       */
	NLEVELS
};

struct lane { /* a thread, and where the sweep is in its events              */
	uint64_t global_tid;
	uint32_t thread; /* NSX_NONE: it has OS calls only                   */
	bool is_aside, is_idle; /* is_idle: no CPU sample found it running its own code */
	size_t os, os_end, call, call_end;
	uint32_t range, next_range, range_end; /* range: the innermost one; NSX_NONE */
	int64_t at_ns, until_ns, last_ns; /* the present segment, and the end of all */
	enum level level;
	uint32_t cell;
	double since;			    /* shared[level] at at_ns        */
	double held_since[NSX_MOST_BLAMED]; /* held[k] at at_ns              */
};

struct cell { /* a range and call on one thread                              */
	nsx_str range, call;
	bool is_cuda;
	uint32_t lane;
	double ns;
	int64_t thread_ns, profiled_ns;
	size_t count;
	uint8_t blamed; /* 1 + index of its row; 0: none                     */
};

struct sweep {
	const struct nsx_trace *t;
	const struct nsx_facts *f;
	struct nsx_window w;
	bool has_ranges;    /* some thread has push/pop ranges               */
	struct lane *first, *v; /* first: the lanes before the sweep         */
	size_t n, cap;
	uint32_t *heap; /* lanes by the end of their segments                */
	size_t nheap;
	struct nsx_groups keys; /* (range and call, lane)                    */
	struct cell *cell;
	int64_t now_ns;
	size_t active[NLEVELS];
	double shared[NLEVELS]; /* the time that one thread of a level got up to now */
	struct nsx_blamed *blamed; /* NULL in the first sweep                */
	size_t nblamed, doing[NLEVELS][NSX_MOST_BLAMED]; /* lanes in each row */
	double held[NSX_MOST_BLAMED]; /* the time that each row got up to now */
	struct nsx_groups wait_keys; /* (row, call)                          */
	double *wait_ns;
	uint8_t *known; /* by name of an OS call: 1 + enum level; 0: not known yet */
};

/* Moves a lane's cursors to an instant. Returns the next one at which something changes. */
static int64_t lane_move(struct sweep *s, struct lane *l, int64_t at_ns)
{
	const struct nsx_trace *t = s->t;
	int64_t next_ns = l->last_ns;

	while (l->os < l->os_end && t->osrt.end_ns[l->os] <= at_ns)
		l->os++;
	while (l->call < l->call_end && (nsx_call_end(&t->calls, l->call) <= at_ns ||
					 t->calls.flags[l->call] & NSX_CALL_NESTED))
		l->call++;
	while (l->next_range < l->range_end && nsx_range_start(&t->nvtx, l->next_range) <= at_ns)
		l->range = l->next_range++;
	while (l->range != NSX_NONE && nsx_range_end(&t->nvtx, l->range) <= at_ns)
		l->range = nsx_range_around(&s->f->nvtx, l->range);
	if (l->os < l->os_end)
		next_ns = NSX_MIN(next_ns, t->osrt.start_ns[l->os] > at_ns ?
				  t->osrt.start_ns[l->os] : t->osrt.end_ns[l->os]);
	if (l->call < l->call_end)
		next_ns = NSX_MIN(next_ns, nsx_call_start(&t->calls, l->call) > at_ns ?
				  nsx_call_start(&t->calls, l->call) :
				  nsx_call_end(&t->calls, l->call));
	if (l->range != NSX_NONE)
		next_ns = NSX_MIN(next_ns, nsx_range_end(&t->nvtx, l->range));
	if (l->next_range < l->range_end)
		next_ns = NSX_MIN(next_ns, nsx_range_start(&t->nvtx, l->next_range));
	return next_ns;
}

static enum level os_level(struct sweep *s, nsx_str name)
{
	enum nsx_awaited awaited = NSX_AWAITS_UNKNOWN;
	enum nsx_os_purpose purpose;

	if (s->known[name])
		return (enum level)(s->known[name] - 1);
	purpose = nsx_purpose_of(nsx_text(s->t, name), &awaited);
	enum level level = awaited == NSX_AWAITS_THREAD ?
				   (purpose == NSX_OS_PROCESSES ? JOINS : WAITS) :
			   (awaited != NSX_AWAITS_UNKNOWN && awaited != NSX_AWAITS_DRIVER) ||
			   (purpose == NSX_OS_STREAMS && strstr(nsx_text(s->t, name), "read")) ?
				   AWAITS : DOES;
	s->known[name] = (uint8_t)(1 + level);
	return level;
}

/* Begins the segment of a lane at an instant. */
static int lane_begin(struct sweep *s, struct lane *l, int64_t at_ns, struct nsx_err *err)
{
	const struct nsx_trace *t = s->t;
	nsx_str call = 0, range;
	bool is_os, is_cuda, starts = false;
	struct cell *c;

	l->until_ns = lane_move(s, l, at_ns);
	l->at_ns = at_ns;
	is_os = l->os < l->os_end && t->osrt.start_ns[l->os] <= at_ns;
	is_cuda = l->call < l->call_end && nsx_call_start(&t->calls, l->call) <= at_ns;
	if (is_cuda) {
		call = nsx_call_name(&t->calls, l->call);
		l->level = t->calls.cls[l->call] == NSX_CALL_SYNC ? AWAITS : DOES;
		starts = nsx_call_start(&t->calls, l->call) == at_ns;
	} else if (is_os) {
		call = t->osrt.name[l->os];
		l->level = os_level(s, call);
		starts = t->osrt.start_ns[l->os] == at_ns;
	} else {
		l->level = RUNS;
	}
	if (l->level < WAITS && (l->is_aside || (l->level == RUNS && l->is_idle)))
		l->level = ASIDE;
	range = l->range == NSX_NONE ? 0 : nsx_range_label(t, t->nvtx.name[l->range]);
	c = nsx_group_value(&s->keys, &s->cell, (uint64_t)range << 32 | call,
			    (uint64_t)(l - s->v), "time of threads", err);
	if (!c)
		return err->rc;
	l->cell = s->keys.last;
	c->range = range;
	c->call = call;
	c->is_cuda = is_cuda;
	c->lane = (uint32_t)(l - s->v);
	c->count += !s->blamed && starts && nsx_starts_inside(t, at_ns);
	l->since = s->shared[l->level];
	memcpy(l->held_since, s->held, sizeof(s->held));
	s->active[l->level]++;
	if (c->blamed)
		s->doing[l->level][c->blamed - 1]++;
	return 0;
}

static int lane_end(struct sweep *s, struct lane *l, struct nsx_err *err)
{
	struct cell *c = &s->cell[l->cell];
	struct nsx_span in = {NSX_MAX(l->at_ns, s->w.start_ns),
			      NSX_MIN(l->until_ns, s->w.end_ns)};

	s->active[l->level]--;
	if (c->blamed)
		s->doing[l->level][c->blamed - 1]--;
	if (!s->blamed) {
		c->ns += s->shared[l->level] - l->since;
		c->thread_ns += NSX_MAX(0, in.end_ns - in.start_ns);
		if (c->is_cuda && l->thread != NSX_NONE && in.start_ns < in.end_ns)
			nsx_add_to(&c->profiled_ns, nsx_profiled_ns(s->f, l->thread, in));
		return 0;
	}
	for (size_t k = 0; l->level == WAITS && k < s->nblamed; k++) {
		double *sum;

		if (s->held[k] <= l->held_since[k])
			continue;
		sum = nsx_group_value(&s->wait_keys, &s->wait_ns, k, c->call, "waiting threads",
				      err);
		if (!sum)
			return err->rc;
		*sum += s->held[k] - l->held_since[k];
	}
	return 0;
}

/* Gives the time up to an instant to the threads that move the program on. */
static void share_time(struct sweep *s, int64_t at_ns)
{
	int64_t ns = NSX_MIN(at_ns, s->w.end_ns) - NSX_MAX(s->now_ns, s->w.start_ns);
	unsigned level = 0;

	s->now_ns = at_ns;
	while (level < NLEVELS && !s->active[level])
		level++;
	if (ns <= 0 || level == NLEVELS)
		return;
	double part = (double)ns / (double)s->active[level];

	s->shared[level] += part;
	for (size_t k = 0; level < WAITS && k < s->nblamed; k++)
		s->held[k] += part * (double)s->doing[level][k];
}

/* Widens a lane to an event. until_ns is its start until the sweep begins it. */
static void lane_reach(struct lane *l, int64_t start_ns, int64_t end_ns)
{
	l->until_ns = NSX_MIN(l->until_ns, start_ns);
	l->last_ns = NSX_MAX(l->last_ns, end_ns);
}

static bool was_sampled(const struct nsx_trace *t, uint64_t global_tid)
{
	size_t i = NSX_SEARCH(0, t->nsampled, mid, t->sampled[mid].global_tid < global_tid);

	return i < t->nsampled && t->sampled[i].global_tid == global_tid;
}

/* Restores the order of the heap downwards from i. */
static void sift(struct sweep *s, size_t i)
{
	for (;;) {
		size_t least = i;

		for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < s->nheap; k++)
			if (s->v[s->heap[k]].until_ns < s->v[s->heap[least]].until_ns)
				least = k;
		if (least == i)
			return;
		uint32_t x = s->heap[i];

		s->heap[i] = s->heap[least];
		s->heap[least] = x;
		i = least;
	}
}

static int sweep_once(struct sweep *s, struct nsx_err *err)
{
	s->now_ns = INT64_MIN;
	memset(s->shared, 0, sizeof(s->shared));
	for (s->nheap = 0; s->nheap < s->n; s->nheap++) {
		s->v[s->nheap] = s->first[s->nheap];
		s->heap[s->nheap] = (uint32_t)s->nheap;
	}
	for (size_t i = s->nheap; i-- > 0;)
		sift(s, i);
	while (s->nheap) {
		struct lane *l = &s->v[s->heap[0]];
		int64_t at_ns = l->until_ns;

		share_time(s, at_ns);
		if ((l->cell != NSX_NONE && lane_end(s, l, err)) ||
		    (at_ns < l->last_ns && lane_begin(s, l, at_ns, err)))
			return err->rc;
		if (at_ns >= l->last_ns)
			s->heap[0] = s->heap[--s->nheap];
		sift(s, 0);
	}
	return 0;
}

/* Adds a lane for the OS calls from os_at, and for the calls and ranges of the thread. */
static int add_lane(struct sweep *s, uint64_t global_tid, uint32_t thread, size_t os_at, size_t nos,
		    struct nsx_err *err)
{
	const struct nsx_trace *t = s->t;
	const struct nsx_thread *th = thread == NSX_NONE ? NULL : &t->thread[thread];
	struct lane l = {.global_tid = global_tid, .thread = thread, .os = os_at,
			 .os_end = os_at + nos, .range = NSX_NONE, .until_ns = INT64_MAX,
			 .last_ns = INT64_MIN, .cell = NSX_NONE};

	if (th) {
		l.call = th->calls_at;
		l.call_end = l.call + th->ncalls;
		l.next_range = l.range_end = th->nvtx_at;
	}
	for (size_t i = l.os; i < l.os_end; i++)
		lane_reach(&l, t->osrt.start_ns[i], t->osrt.end_ns[i]);
	for (size_t i = l.call; i < l.call_end; i++)
		lane_reach(&l, nsx_call_start(&t->calls, i), nsx_call_end(&t->calls, i));
	for (; th && l.range_end < th->nvtx_at + th->nnvtx &&
	       t->nvtx.kind[l.range_end] == NSX_NVTX_STACK; l.range_end++)
		lane_reach(&l, nsx_range_start(&t->nvtx, l.range_end),
			   nsx_range_end(&t->nvtx, l.range_end));
	l.is_aside = s->has_ranges && l.next_range == l.range_end;
	l.is_idle = t->samples.n && !was_sampled(t, global_tid);
	return l.until_ns < l.last_ns ? nsx_push(s->first, s->n, s->cap, "threads", err, l) : 0;
}

/* Makes a lane of each thread that has OS calls, and of each other thread of the trace. */
static int add_lanes(struct sweep *s, struct nsx_err *err)
{
	const struct nsx_trace *t = s->t;
	const struct nsx_osrt *o = &t->osrt;
	NSX_AT_EXIT(nsx_free_at) bool *is_done = nsx_try_alloc(t->nthreads, 1, "threads", err);

	if (!is_done)
		return err->rc;
	for (uint32_t h = 0; h < t->nthreads; h++)
		s->has_ranges |= t->thread[h].has_stack;
	NSX_EACH_RUN(i, next, o->n, o->global_tid[next] == o->global_tid[i]) {
		if (add_lane(s, o->global_tid[i], o->thread[i], i, next - i, err))
			return err->rc;
		if (o->thread[i] != NSX_NONE)
			is_done[o->thread[i]] = true;
	}
	for (uint32_t h = 0; h < t->nthreads; h++)
		if (!is_done[h] && add_lane(s, t->thread[h].global_tid, h, 0, 0, err))
			return err->rc;
	return 0;
}

NSX_ORDER(cmp_cells, struct cell, UP(range), UP(call), DOWN(ns), UP(lane));
NSX_ORDER(cmp_blamed, struct nsx_blamed, DOWN(ns), UP(range), UP(call));

/* Joins the cells of all threads by range and call, and keeps those with most blame. */
static int keep_most(struct sweep *s, struct nsx_blamed ret[NSX_MOST_BLAMED], size_t *n,
		     struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) struct cell *cell = nsx_try_alloc(s->keys.n, sizeof(*cell),
								   "time of threads", err);
	NSX_AT_EXIT(nsx_free_at) struct nsx_blamed *all = nsx_try_alloc(
		s->keys.n, sizeof(*all), "time of threads", err);
	size_t nall = 0;

	if (!cell || !all)
		return err->rc;
	if (s->keys.n)
		memcpy(cell, s->cell, s->keys.n * sizeof(*cell));
	nsx_sort(cell, s->keys.n, sizeof(*cell), cmp_cells);
	NSX_EACH_RUN(i, next, s->keys.n,
		     cell[next].range == cell[i].range && cell[next].call == cell[i].call) {
		struct nsx_blamed *x = &all[nall++];

		*x = (struct nsx_blamed){.range = cell[i].range, .call = cell[i].call,
					 .is_cuda = cell[i].is_cuda, .most_ns = cell[i].ns,
					 .global_tid = s->first[cell[i].lane].global_tid};
		for (size_t k = i; k < next; k++) {
			x->ns += cell[k].ns;
			nsx_add_to(&x->thread_ns, cell[k].thread_ns);
			nsx_add_to(&x->profiled_ns, cell[k].profiled_ns);
			x->count += cell[k].count;
			x->nthreads += cell[k].thread_ns > 0;
		}
	}
	nsx_sort(all, nall, sizeof(*all), cmp_blamed);
	*n = NSX_MIN(nall, NSX_MOST_BLAMED);
	if (*n)
		memcpy(ret, all, *n * sizeof(*all));
	for (size_t i = 0; i < s->keys.n; i++)
		for (size_t k = 0; k < *n; k++)
			if (s->cell[i].range == ret[k].range && s->cell[i].call == ret[k].call)
				s->cell[i].blamed = (uint8_t)(k + 1);
	return 0;
}

static void count_ranges(const struct nsx_trace *t, struct nsx_blamed *v, size_t n)
{
	for (uint32_t i = 0; i < t->nvtx.n; i++)
		for (size_t k = 0; k < n; k++)
			v[k].count += !v[k].call && t->nvtx.kind[i] == NSX_NVTX_STACK &&
				      nsx_starts_inside(t, nsx_range_start(&t->nvtx, i)) &&
				      nsx_range_label(t, t->nvtx.name[i]) == v[k].range;
}

/* Names, for each row, the call in which other threads wait longest for it. */
static void name_waits(const struct sweep *s)
{
	for (size_t i = 0; i < s->wait_keys.n; i++) {
		struct nsx_group_key key = nsx_group_key(&s->wait_keys, i);
		struct nsx_blamed *x = &s->blamed[key.a];

		if (s->wait_ns[i] > x->wait_ns) {
			x->wait_ns = s->wait_ns[i];
			x->wait = (nsx_str)key.b;
		}
	}
}

static int find_blame(struct sweep *s, struct nsx_blamed ret[NSX_MOST_BLAMED], size_t *ret_n,
		      struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) uint8_t *known = nsx_try_alloc(
		nsx_strings_bound(s->t->strings), 1, "names of OS calls", err);

	s->known = known;
	if (!known || add_lanes(s, err))
		return err->rc;
	NSX_AT_EXIT(nsx_free_at) struct lane *v = nsx_try_alloc(s->n, sizeof(*v), "threads", err);
	NSX_AT_EXIT(nsx_free_at) uint32_t *heap = nsx_try_alloc(s->n, sizeof(*heap), "threads", err);

	s->v = v;
	s->heap = heap;
	if (!v || !heap || sweep_once(s, err) || keep_most(s, ret, ret_n, err))
		return err->rc;
	count_ranges(s->t, ret, *ret_n);
	s->blamed = ret;
	s->nblamed = *ret_n;
	if (sweep_once(s, err))
		return err->rc;
	name_waits(s);
	return 0;
}

int nsx_find_blame(const struct nsx_trace *t, const struct nsx_facts *f,
		   struct nsx_blamed ret[NSX_MOST_BLAMED], size_t *ret_n, struct nsx_err *err)
{
	struct sweep s = {.t = t, .f = f, .w = nsx_host_window(t)};
	int rc = find_blame(&s, ret, ret_n, err);

	free(s.first);
	nsx_groups_done(&s.keys);
	free(s.cell);
	nsx_groups_done(&s.wait_keys);
	free(s.wait_ns);
	return rc;
}
