/* sets.c - finds the sets of processes that share nothing with others, and thus end independently.
 *
 * Replicas of a server, or jobs beside each other, do not wait for each other. A gain in one
 * shortens no other, so the end of the last one does not show a gain in the others. Processes
 * belong together if their work waits for each other's work, if they share collectives, or if they
 * share a GPU. Some evidence is not specific. Unmatched communication, MPI or UCX calls, and graphs
 * that were recorded whole and replayed equally often, may connect all processes that have them.
 *
 * Sets whose iterations keep in step are tied by something unrecorded (untraced MPI), because
 * independent sets drift apart. Which set waits for which is unknown. The gain of one set therefore
 * counts as far as the tied sets may have waited for it.
 */
#include "base/stat.h"
#include "facts/replay/model.h"
#include "facts/teams.h"

#define AS_OFTEN 0.9 /* two processes replay graphs equally often if the ratio is at least this */
/* sets keep in step if the offset between them changes, over half of the iterations, by at most DRIFT
 * times its change from one iteration to the next
 */
#define DRIFT 2
#define SLACK_NS 50000 /* shorter gaps are no wait for another process */
#define STILL 0.001   /* a change below this share of an iteration is noise */
enum {
	STEPS = 24,	/* iterations needed to judge whether sets keep in step   */
	NEAR = 8,	 /* a run of iterations is compared with the last NEAR runs */
};

struct sets {
	const struct build *b;
	uint32_t *joined; /* one for each process, and for none: another process of its set */
	uint32_t none;	  /* stands for unknown processes */
};

/* Joins a process to the set of *first. If *first is NSX_NONE, it becomes the process. */
static void join_process(const struct sets *s, uint32_t *first, uint32_t process)
{
	if (*first == NSX_NONE)
		*first = process;
	nsx_join_sets(s->joined, *first, process);
}

static uint32_t process_of_row(const struct sets *s, uint32_t row)
{
	const struct nsx_trace *t = s->b->m->t;
	uint32_t p = t->stream[nsx_op_stream(&t->ops, row)].process;

	return p == NSX_NONE ? s->none : p;
}

static uint32_t sets_process_of(const struct sets *s, uint32_t op)
{
	return process_of_row(s, s->b->m->op[op].row);
}

static void join_ops(const struct sets *s, uint32_t *by_device)
{
	const struct nsx_model *m = s->b->m;

	for (uint32_t i = 0; i < m->nops; i++) {
		const struct model_op *o = &m->op[i];
		uint32_t p = sets_process_of(s, i);

		join_process(s, &by_device[model_device(s->b, i)], p);
		for (uint32_t d = o->dep; d < o[1].dep; d++)
			join_process(s, &p, sets_process_of(s, m->dep[d].op));
	}
}

struct replays { /* number of graph replays of a process in the replayed part */
	uint32_t n, process;
};
NSX_ORDER(cmp_replays, struct replays, UP(n), UP(process));

/* Joins processes that replay graphs equally often, because graphs may contain communication. Small
 * differences at the ends of the replayed part are allowed.
 */
static int join_graphs(const struct sets *s, struct nsx_err *err)
{
	const struct nsx_model *m = s->b->m;
	struct replays *v;

	if (!nsx_new_array(v, s->b->step, (size_t)s->none + 1, "processes", err))
		return err->rc;
	for (uint32_t i = 0; i <= s->none; i++)
		v[i].process = i;
	for (uint32_t i = 0; i < m->nops; i++)
		v[sets_process_of(s, i)].n += m->op[i].kind == NSX_OP_GRAPH;
	nsx_sort(v, (size_t)s->none + 1, sizeof(*v), cmp_replays);
	for (uint32_t i = 1; i <= s->none; i++)
		if (v[i - 1].n && (v[i - 1].n + 2 >= v[i].n ||
				   (double)v[i - 1].n >= AS_OFTEN * (double)v[i].n))
			join_process(s, &v[i - 1].process, v[i].process);
	return 0;
}

/* Joins processes that communicate anywhere in the trace, because processes that communicate
 * outside the replayed part belong together in it, too.
 */
static int join_communication(const struct sets *s, struct nsx_err *err)
{
	const struct nsx_trace *t = s->b->m->t;
	const struct nsx_teams *teams = s->b->m->f->teams;
	const struct nsx_library_calls *l = &t->library;
	uint32_t loose = NSX_NONE, calls = NSX_NONE;
	uint8_t *matched;

	if (!nsx_new_array(matched, s->b->step, t->ops.n, "collectives", err))
		return err->rc;
	for (uint32_t k = 0; k < teams->n; k++) {
		const uint32_t *row = teams->member + teams->v[k].at;
		uint32_t p = process_of_row(s, row[0]);

		for (uint32_t i = 0; i < teams->v[k].n; i++) {
			join_process(s, &p, process_of_row(s, row[i]));
			matched[row[i]] = true;
		}
	}
	for (uint32_t i = 0; i < t->ops.n; i++)
		if (t->ops.cls[i] == NSX_C_COMM && !matched[i])
			join_process(s, &loose, process_of_row(s, i));
	for (size_t i = 0; i < l->n; i++)
		if (l->library[i] == NSX_LIBRARY_MPI || l->library[i] == NSX_LIBRARY_UCX)
			join_process(s, &calls, t->thread[l->thread[i]].process);
	return 0;
}

/* Numbers the sets, and measures their recorded lengths. */
static void number_sets(const struct sets *s, uint32_t *number)
{
	struct nsx_model *m = s->b->m;
	int64_t from_ns = m->from_ns == NEVER ? m->op[0].start_ns : m->from_ns;
	uint32_t n = 0;

	m->nsets = 1;
	for (uint32_t k = 0; k < m->nmeasured; k++) {
		uint32_t p = nsx_set_of(s->joined, sets_process_of(s, m->measured[k]));

		if (!number[p] && n == NSX_MAX_SETS) {
			memset(m->measured_set, 0, m->nmeasured);
			return; /* there are too many sets to distinguish */
		}
		if (!number[p])
			number[p] = ++n;
		m->measured_set[k] = (uint8_t)(number[p] - 1);
		if (model_device(s->b, m->measured[k]) == m->f->limiting)
			m->main_set = number[p];
		m->set_ns[number[p] - 1] = NSX_MAX(m->set_ns[number[p] - 1],
			model_op_end(&m->op[m->measured[k]]) - from_ns);
	}
	m->nsets = NSX_MAX(n, 1);
	m->main_set = NSX_MAX(m->main_set, 1); /* the limiting GPU may have no work in the part */
	for (uint32_t p = 0; p < s->none; p++)
		if (number[nsx_set_of(s->joined, p)])
			m->set_of[p] = (uint8_t)number[nsx_set_of(s->joined, p)];
}

/* Lists the delay of process b at each iteration of process a. False: iterations of the two do not
 * alternate.
 */
static bool list_offsets(const struct nsx_loop *a, const struct nsx_loop *b, int64_t *offset)
{
	size_t nodd = 0, k = 0;

	for (size_t i = 0; i < a->n; i++) {
		int64_t at_ns = a->v[i].start_ns;
		size_t from = k;

		while (k + 1 < b->n && llabs(b->v[k + 1].start_ns - at_ns) <
					       llabs(b->v[k].start_ns - at_ns))
			k++;
		nodd += i && k != from + 1;
		offset[i] = b->v[k].start_ns - at_ns;
	}
	return nodd <= a->n / STEPS;
}

/* The median change of the offset over `before` iterations. */
static double usual_change(const int64_t *offset, size_t n, size_t before, int64_t *change)
{
	for (size_t i = before; i < n; i++)
		change[i - before] = llabs(offset[i] - offset[i - before]);
	return nsx_quantile(change, n - before, 0.5);
}

static bool do_iterations_keep_step(const struct nsx_loop *a, const struct nsx_loop *b,
				    int64_t *scratch)
{
	size_t na = a->n;
	double period_ns = (double)(a->v[na - 1].start_ns - a->v->start_ns) / (double)(na - 1);
	double next_ns;

	if (na < STEPS || b->n < STEPS || !list_offsets(a, b, scratch))
		return false;
	next_ns = usual_change(scratch, na, 1, scratch + na);
	return usual_change(scratch, na, na / 2, scratch + na) <=
	       DRIFT * NSX_MAX(next_ns, STILL * period_ns);
}

static void merge_tied_sets(struct nsx_model *m, uint32_t a, uint32_t b)
{
	uint8_t from = m->tie[a - 1], to = m->tie[b - 1];

	for (uint32_t k = 0; k < m->nsets; k++)
		if (m->tie[k] == from)
			m->tie[k] = to;
}

/* Sums up each set's code between calls that is long enough to hold a wait. */
static void measure_slack(const struct sets *s)
{
	struct nsx_model *m = s->b->m;

	for (uint32_t i = 0; i < m->ncalls; i++) {
		uint32_t set = m->set_of[m->t->thread[s->b->thread[i]].process];

		if (set && (m->call[i].flags & CALL_ACTIVE) && model_gap(m, i) >= SLACK_NS)
			nsx_add_to(&m->slack_ns[set - 1], model_gap(m, i));
	}
}

static int find_tied_sets(const struct sets *s, struct nsx_err *err)
{
	struct nsx_model *m = s->b->m;
	const struct nsx_loop *run[NEAR];
	size_t nruns = 0;
	int64_t *scratch;

	for (uint32_t k = 0; k < m->nsets; k++)
		m->tie[k] = (uint8_t)k;
	if (m->nsets < 2)
		return 0;
	measure_slack(s);
	if (!nsx_new_array(scratch, s->b->step, 2 * m->f->niterations, "iterations", err))
		return err->rc;
	for (size_t i = 0; i < m->f->nloops; i++) {
		const struct nsx_loop *own = &m->f->loops[i];
		uint32_t set = own->v->process == NSX_NONE ? 0 : m->set_of[own->v->process];

		if (!set)
			continue;
		for (size_t k = 0; k < NSX_MIN(nruns, NEAR); k++)
			if (do_iterations_keep_step(run[k], own, scratch))
				merge_tied_sets(m, m->set_of[run[k]->v->process], set);
		run[nruns++ % NEAR] = own;
	}
	return 0;
}

int model_sets(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	struct sets s = {.b = b, .none = m->t->nprocesses};
	size_t n = (size_t)s.none + 1;
	uint32_t *by_device, *number;

	if (nsx_new_arrays(b->step, n, "processes", err, s.joined, number) ||
	    nsx_new_arrays(b->step, m->t->ndevices, "devices", err, by_device) ||
	    nsx_new_arrays(m->arena, m->nmeasured, "replay order", err,
			   m->measured_set) ||
	    nsx_new_arrays(m->arena, n, "processes", err, m->set_of))
		return err->rc;
	for (uint32_t p = 0; p < n; p++)
		s.joined[p] = p;
	memset(by_device, 0xff, m->t->ndevices * sizeof(*by_device));
	join_ops(&s, by_device);
	if (join_graphs(&s, err) || join_communication(&s, err))
		return err->rc;
	number_sets(&s, number);
	return find_tied_sets(&s, err);
}
