/* sets.c - processes that share nothing, and so have an end each.
 *
 * Replicas of a server, or jobs beside each other, do not wait for each other: what one
 * of them wins makes no other shorter, and the last to end does not tell what any costs.
 * Processes belong together where work of one waits for the other's, where they meet in
 * collectives, and where they share a GPU.  Communication that was not matched, calls of
 * MPI or UCX and graphs that were recorded as a whole, and are replayed as often, may be
 * between all that have some; a copy between GPUs, or work of no known process, between any.
 */
#include <string.h>
#include "base/stat.h"
#include "facts/replay/model.h"
#include "facts/teams.h"

#define AS_OFTEN 0.9 /* of the other's replays, to meet inside of them */
enum { LEAST_PART = 4 }; /* of the work of the set with most: others end with that one */

struct sets {
	const struct build *b;
	uint32_t *joined; /* by process, and of none: one that it belongs to  */
	uint32_t none;
};

static uint32_t root_of(const struct sets *s, uint32_t process)
{
	while (s->joined[process] != process)
		process = s->joined[process] = s->joined[s->joined[process]];
	return process;
}

/* *first: of what all are joined to; NSX_NONE: nothing yet. */
static void join(const struct sets *s, uint32_t *first, uint32_t process)
{
	uint32_t a, b;

	if (*first == NSX_NONE)
		*first = process;
	a = root_of(s, *first);
	b = root_of(s, process);
	s->joined[NSX_MAX(a, b)] = NSX_MIN(a, b);
}

static uint32_t process_of_row(const struct sets *s, uint32_t row)
{
	const struct nsx_trace *t = s->b->m->t;
	uint32_t p = t->stream[nsx_op_stream(&t->ops, row)].process;

	return p == NSX_NONE ? s->none : p;
}

static uint32_t process_of(const struct sets *s, uint32_t op)
{
	return process_of_row(s, s->b->m->op[op].row);
}

static void join_all(const struct sets *s)
{
	uint32_t first = s->none;

	for (uint32_t p = 0; p <= s->none; p++)
		join(s, &first, p);
}

static void join_ops(const struct sets *s, uint32_t *by_device)
{
	const struct nsx_model *m = s->b->m;
	bool any = false;

	for (uint32_t i = 0; i < m->nops; i++) {
		const struct model_op *o = &m->op[i];
		uint32_t p = process_of(s, i);

		join(s, &by_device[model_device(s->b, i)], p);
		for (uint32_t d = o->dep; d < o[1].dep; d++)
			join(s, &p, process_of(s, m->dep[d].op));
		any |= p == s->none || o->copy_kind == NSX_COPY_PTOP;
	}
	if (any)
		join_all(s);
}

struct replays { /* of a process, in the part that is replayed */
	uint32_t n, process;
};
NSX_ORDER(cmp_replays, struct replays, UP(n), UP(process));

/* Graphs may hold communication: who takes part is replayed as often, but for what the
 * part's ends cut off.
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
		v[process_of(s, i)].n += m->op[i].kind == NSX_OP_GRAPH;
	nsx_sort(v, (size_t)s->none + 1, sizeof(*v), cmp_replays);
	for (uint32_t i = 1; i <= s->none; i++)
		if (v[i - 1].n && (v[i - 1].n + 2 >= v[i].n ||
				   (double)v[i - 1].n >= AS_OFTEN * (double)v[i].n))
			join(s, &v[i - 1].process, v[i].process);
	return 0;
}

/* In all of the trace: who communicates outside of the part that is replayed belongs
 * together in it, too.
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
			join(s, &p, process_of_row(s, row[i]));
			matched[row[i]] = true;
		}
	}
	for (uint32_t i = 0; i < t->ops.n; i++)
		if (t->ops.cls[i] == NSX_C_COMM && !matched[i])
			join(s, &loose, process_of_row(s, i));
	for (size_t i = 0; i < l->n; i++)
		if (l->library[i] == NSX_LIBRARY_MPI ||
		    l->library[i] == NSX_LIBRARY_UCX)
			join(s, &calls, t->thread[l->thread[i]].process);
	return 0;
}

static void join_calls(const struct sets *s)
{
	const struct nsx_model *m = s->b->m;
	const struct nsx_thread *thread = m->t->thread;

	for (uint32_t i = 0; i < m->ncalls; i++) {
		const struct model_call *c = &m->call[i];
		uint32_t p = thread[s->b->thread[i]].process;

		if (c->before != NSX_NONE)
			join(s, &p, thread[s->b->thread[c->before]].process);
		if (c->op != NSX_NONE)
			join(s, &p, process_of(s, c->op));
	}
}

/* Those with little work are of the set with most. */
static void join_small(const struct sets *s, int64_t *work_ns)
{
	const struct nsx_model *m = s->b->m;
	uint32_t most = 0;

	for (uint32_t k = 0; k < m->nmeasured; k++) {
		uint32_t p = root_of(s, process_of(s, m->measured[k]));

		nsx_add_to(&work_ns[p], m->op[m->measured[k]].length_ns);
		if (work_ns[p] > work_ns[most])
			most = p;
	}
	for (uint32_t p = 0; p <= s->none; p++)
		if (s->joined[p] == p && work_ns[p] < work_ns[most] / LEAST_PART)
			join(s, &most, p);
}

/* Numbers the sets, and measures each as it was recorded. */
static void number_sets(const struct sets *s, uint32_t *number)
{
	struct nsx_model *m = s->b->m;
	int64_t from_ns = m->from_ns == NEVER ? m->op[0].start_ns : m->from_ns;
	uint32_t n = 0;

	m->nsets = 1;
	for (uint32_t k = 0; k < m->nmeasured; k++) {
		uint32_t p = root_of(s, process_of(s, m->measured[k]));

		if (!number[p] && n == NSX_MAX_SETS) {
			memset(m->measured_set, 0, m->nmeasured);
			return; /* so many that none is told apart */
		}
		if (!number[p])
			number[p] = ++n;
		m->measured_set[k] = (uint8_t)(number[p] - 1);
		if (model_device(s->b, m->measured[k]) == m->f->limiting)
			m->main_set = number[p];
		m->set_ns[number[p] - 1] = NSX_MAX(
			m->set_ns[number[p] - 1],
			model_op_end(&m->op[m->measured[k]]) - from_ns);
	}
	m->nsets = NSX_MAX(n, 1);
	m->main_set = NSX_MAX(m->main_set, 1); /* it may have no work in a part */
	for (uint32_t p = 0; p < s->none; p++)
		if (number[root_of(s, p)])
			m->set_of[p] = (uint8_t)number[root_of(s, p)];
}

int model_sets(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	struct sets s = {.b = b, .none = m->t->nprocesses};
	size_t n = (size_t)s.none + 1;
	uint32_t *by_device, *number;
	int64_t *work_ns;

	if (nsx_new_arrays(b->step, n, "processes", err, s.joined, number,
			   work_ns) ||
	    nsx_new_arrays(b->step, m->t->ndevices, "devices", err, by_device) ||
	    nsx_new_arrays(m->arena, m->nmeasured, "replay order", err,
			   m->measured_set) ||
	    nsx_new_arrays(m->arena, n, "processes", err, m->set_of))
		return err->rc;
	for (uint32_t p = 0; p < n; p++)
		s.joined[p] = p;
	memset(by_device, 0xff, m->t->ndevices * sizeof(*by_device));
	join_ops(&s, by_device);
	join_calls(&s);
	if (join_graphs(&s, err) || join_communication(&s, err))
		return err->rc;
	join_small(&s, work_ns);
	number_sets(&s, number);
	return 0;
}
