/* cpu_sched.c - sums scheduling rows by thread.
 *
 * The rows have no end time and are not sorted, and there may be hundreds of millions. So none is
 * kept: each ascending stretch of a thread's rows is summed while reading. If the stretches of a
 * thread do not overlap, as with displaced blocks and parts read side by side, their sums joined in
 * order of time are exact. Only threads with overlapping stretches are read again, kept and sorted.
 */
#include "passes/host/cpu_sched.h"
#include "schema/cells.h"
#include "schema/viewscan.h"

enum { START, CPU, IN, TID_FIELD, STATE, BLOCK };
static const enum nsx_field fields[] = {
	NSX_FIELDS(sched, start_ns, cpu, is_sched_in, global_tid, thread_state, thread_block)};

struct part {
	const struct nsx_trace *t;
	struct nsx_groups threads, cpus;
	struct nsx_near near;
	size_t *current; /* for each thread of this part: its current stretch of rows */
	struct cpu_stretch *v;
	size_t n, cap, defects;
	bool knows_states; /* some row gives a reason for a switch out       */
	const uint64_t *again; /* second pass: only these threads            */
	size_t nagain;
	struct row {
		uint64_t thread;
		struct cpu_event e;
	} *rows;
	size_t nrows, cap_rows;
};

/* Rows ---------------------------------------------------------------------*/

/* Reads a scheduling row. False: the row is defective. */
static bool cpu_sched_read_event(struct part *p, const struct nsx_val *v, struct cpu_event *ret)
{
	int64_t state = nsx_i64_or(&v[STATE], 0);
	int64_t block = nsx_i64_or(&v[BLOCK], 0);
	int64_t cpu = nsx_i64_or(&v[CPU], NO_CPU);

	if (!nsx_is_possible(p->t->schema->shifts, &v[START]) || v[IN].type != NSX_V_I64 ||
	    v[TID_FIELD].type != NSX_V_I64) {
		p->defects++;
		return false;
	}
	*ret = (struct cpu_event){
		.at_ns = v[START].u.i,
		.cpu = cpu == (int32_t)cpu ? (int32_t)cpu : NO_CPU,
		.in = v[IN].u.i != 0};
	ret->runnable = !ret->in && nsx_is_runnable(state, block);
	p->knows_states |= !ret->in && nsx_knows_states(state, block);
	return true;
}

/* Adds the interval between two consecutive rows of a thread. */
static void add_scheduling_interval(const struct nsx_trace *t, struct cpu_sums *s,
				    const struct cpu_event *a, const struct cpu_event *b)
{
	if (a->in)
		nsx_add_to(&s->on_ns, nsx_in_window(t, a->at_ns, b->at_ns));
	else if (a->runnable && b->in)
		nsx_add_to(&s->runnable_ns, nsx_in_window(t, a->at_ns, b->at_ns));
}

static void cpu_sched_add_event(const struct nsx_trace *t, struct cpu_stretch *s,
				const struct cpu_event *e)
{
	bool counts = nsx_starts_inside(t, e->at_ns);

	s->last = *e;
	if (!e->in) {
		s->sums.switches += counts;
		s->sums.preemptions += counts && e->runnable;
		return;
	}
	if (s->first_cpu == NO_CPU)
		s->first_cpu = e->cpu, s->first_in_ns = e->at_ns;
	else
		s->sums.migrations += counts && s->last_cpu != e->cpu;
	s->last_cpu = e->cpu;
}

static void start_stretch(const struct nsx_trace *t, struct cpu_stretch *s,
			  uint64_t thread, const struct cpu_event *e)
{
	*s = (struct cpu_stretch){.thread = thread, .first = *e,
			      .first_cpu = NO_CPU, .last_cpu = NO_CPU};
	cpu_sched_add_event(t, s, e);
}

static int cpu_sched_on_row(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			    struct nsx_err *err)
{
	struct part *p = ctx;
	size_t known = p->threads.n, *current;
	struct cpu_stretch *s;
	struct cpu_event e;
	uint32_t i;

	if (!cpu_sched_read_event(p, v, &e))
		return 0;
	if (e.cpu != NO_CPU && nsx_starts_inside(p->t, e.at_ns) &&
	    nsx_group_near(&p->cpus, &p->near, (uint64_t)v[TID_FIELD].u.i,
			   (uint32_t)e.cpu, &i, err))
		return err->rc;
	current = nsx_group_value(&p->threads, &p->current,
				  (uint64_t)v[TID_FIELD].u.i, 0, "threads", err);
	if (!current)
		return err->rc;
	/* A row that is not later begins a new stretch: stretches that overlap are read again. */
	s = p->threads.n == known ? &p->v[*current] : NULL;
	if (s && e.at_ns > s->last.at_ns) {
		add_scheduling_interval(p->t, &s->sums, &s->last, &e);
		cpu_sched_add_event(p->t, s, &e);
		return 0;
	}
	if (nsx_grow(&p->v, &p->cap, p->n + 1, sizeof(*p->v), "scheduling stretches", err))
		return err->rc;
	*current = p->n;
	start_stretch(p->t, &p->v[p->n++], (uint64_t)v[TID_FIELD].u.i, &e);
	return 0;
}

/* Joining ------------------------------------------------------------------*/

NSX_ORDER(cmp_stretches, struct cpu_stretch, UP(thread), UP(first.at_ns), UP(last.at_ns));

/* Appends stretch b to a; b is later. */
static void append_stretch(const struct nsx_trace *t, struct cpu_stretch *a,
			   const struct cpu_stretch *b)
{
	add_scheduling_interval(t, &a->sums, &a->last, &b->first);
	nsx_add_to(&a->sums.on_ns, b->sums.on_ns);
	nsx_add_to(&a->sums.runnable_ns, b->sums.runnable_ns);
	a->sums.switches += b->sums.switches;
	a->sums.migrations += b->sums.migrations;
	a->sums.preemptions += b->sums.preemptions;
	if (b->first_cpu != NO_CPU && a->last_cpu != NO_CPU)
		a->sums.migrations += b->first_cpu != a->last_cpu &&
				      nsx_starts_inside(t, b->first_in_ns);
	if (b->last_cpu != NO_CPU)
		a->last_cpu = b->last_cpu;
	a->last = b->last;
}

static void join_threads(const struct nsx_trace *t, struct cpu_threads *all)
{
	size_t n = 0;

	nsx_sort(all->v, all->n, sizeof(*all->v), cmp_stretches);
	for (size_t k = 0; k < all->n; k++) {
		struct cpu_stretch *s = &all->v[k];

		if (!n || all->v[n - 1].thread != s->thread) {
			all->v[n++] = *s;
			continue;
		}
		if (s->first.at_ns > all->v[n - 1].last.at_ns)
			append_stretch(t, &all->v[n - 1], s);
		else if (!all->nagain || all->again[all->nagain - 1] != s->thread)
			nsx_push_or_die(all->again, all->nagain, all->cap_again, s->thread);
	}
	all->n = n;
}

static int on_row_again(void *ctx, int64_t rid NSX_UNUSED,
			const struct nsx_val *v, struct nsx_err *err)
{
	struct part *p = ctx;
	uint64_t thread = (uint64_t)v[TID_FIELD].u.i;
	struct cpu_event e;

	if (!cpu_sched_read_event(p, v, &e) ||
	    !bsearch(&thread, p->again, p->nagain, sizeof(thread), nsx_cmp_u64))
		return 0;
	return nsx_push(p->rows, p->nrows, p->cap_rows, "scheduling rows", err,
			(struct row){thread, e});
}

NSX_ORDER(cmp_rows, struct row, UP(thread), UP(e.at_ns), UP(e.in), UP(e.cpu), UP(e.runnable));

/* Orders rows of one thread with equal time: switches out come first. If the thread was off a CPU
 * before them, one switch in must come first.
 */
static void order_simultaneous_rows(struct row *v, size_t n, bool is_on)
{
	size_t nout = 0;

	while (nout < n && !v[nout].e.in)
		nout++;
	if (is_on || !nout || nout == n)
		return;
	struct row in = v[nout];

	memmove(v + 1, v, nout * sizeof(*v));
	v[0] = in;
}

/* Sums one thread's sorted rows. */
static void cpu_sched_sum_rows(const struct nsx_trace *t, struct row *v, size_t n,
			       struct cpu_stretch *ret)
{
	NSX_EACH_RUN(i, next, n, v[next].e.at_ns == v[i].e.at_ns) {
		order_simultaneous_rows(v + i, next - i, i && ret->last.in);
		for (size_t k = i; k < next; k++) {
			if (!k) {
				start_stretch(t, ret, v[0].thread, &v[0].e);
				continue;
			}
			add_scheduling_interval(t, &ret->sums, &ret->last, &v[k].e);
			cpu_sched_add_event(t, ret, &v[k].e);
		}
	}
}

size_t cpu_lower_bound(const struct cpu_threads *all, uint64_t thread)
{
	return NSX_SEARCH(0, all->n, mid, all->v[mid].thread < thread);
}

static int reread_overlapping_threads(const struct nsx_run *run, struct cpu_threads *all,
				      struct nsx_err *err)
{
	struct part p = {.t = run->trace, .again = all->again,
			 .nagain = all->nagain};
	int rc = nsx_view_scan(run->trace->schema, NSX_VIEW_sched, fields,
			       ARRAY_LEN(fields), 1, on_row_again, &p, 0, err);

	if (!rc)
		nsx_sort(p.rows, p.nrows, sizeof(*p.rows), cmp_rows);
	NSX_EACH_RUN(i, next, rc ? 0 : p.nrows, p.rows[next].thread == p.rows[i].thread)
		cpu_sched_sum_rows(run->trace, p.rows + i, next - i,
				   &all->v[cpu_lower_bound(all, p.rows[i].thread)]);
	free(p.rows);
	return rc;
}

static int cpu_sched_read_all(const struct nsx_run *run, struct part *parts, unsigned n,
			      struct cpu_threads *all, struct nsx_err *err)
{
	for (unsigned i = 0; i < n; i++)
		parts[i].t = run->trace;
	if (nsx_view_scan(run->trace->schema, NSX_VIEW_sched, fields,
			  ARRAY_LEN(fields), n, cpu_sched_on_row, parts, sizeof(*parts), err))
		return err->rc;
	for (unsigned i = 0; i < n; i++) {
		if (nsx_grow(&all->v, &all->cap, all->n + parts[i].n,
			     sizeof(*all->v), "scheduling stretches", err))
			return err->rc;
		if (parts[i].n)
			memcpy(all->v + all->n, parts[i].v, parts[i].n * sizeof(*all->v));
		all->n += parts[i].n;
		for (size_t k = 0; k < parts[i].cpus.n; k++) {
			const struct nsx_group_key key = nsx_group_key(&parts[i].cpus, k);
			uint32_t ignored;

			if (nsx_group(&all->cpus, key.a, key.b, &ignored, err))
				return err->rc;
		}
		all->defects += parts[i].defects;
		all->knows_states |= parts[i].knows_states;
	}
	join_threads(run->trace, all);
	return all->nagain ? reread_overlapping_threads(run, all, err) : 0;
}

/* Extends a thread's time beyond its rows. With a limited reach, the first row shows the state
 * before, and the last row the state after.
 */
static void extend_thread_times(const struct nsx_trace *t, struct cpu_threads *all)
{
	int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;

	for (size_t i = 0; i < all->n; i++) {
		from_ns = NSX_MIN(from_ns, all->v[i].first.at_ns);
		to_ns = NSX_MAX(to_ns, all->v[i].last.at_ns);
	}
	for (size_t i = 0; i < all->n; i++) {
		struct cpu_stretch *s = &all->v[i];

		if (!s->first.in)
			nsx_add_to(&s->sums.on_ns, nsx_in_window(t, from_ns, s->first.at_ns));
		if (s->last.in)
			nsx_add_to(&s->sums.on_ns, nsx_in_window(t, s->last.at_ns, to_ns));
	}
}

int cpu_threads_read(const struct nsx_run *run, struct cpu_threads *ret, struct nsx_err *err)
{
	unsigned n = NSX_MAX(1, NSX_MIN(run->opts->threads, NSX_MAX_THREADS));
	struct part *parts = nsx_arena_get(run->scratch, n * sizeof(*parts));
	int rc = cpu_sched_read_all(run, parts, n, ret, err);

	if (!rc && run->trace->schema->reach->is_on)
		extend_thread_times(run->trace, ret);
	for (unsigned i = 0; i < n; i++) {
		nsx_groups_done(&parts[i].threads);
		nsx_groups_done(&parts[i].cpus);
		free(parts[i].current);
		free(parts[i].v);
	}
	return rc;
}

void cpu_threads_done(struct cpu_threads *all)
{
	nsx_groups_done(&all->cpus);
	free(all->v);
	free(all->again);
}
