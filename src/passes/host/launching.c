/* launching.c - launch-bound time (queries/README.md 9), whole, by thread and device,
 * and in a typical iteration.
 */
#include <stdlib.h>
#include "base/group.h"
#include "base/stat.h"
#include "passes/host/launching.h"

enum { SHORT_GAP_NS = 1000000 };

/* By thread and device ----------------------------------------------------------*/

struct launcher {
	uint32_t thread, device;
	int64_t calls, ops, bound_ns;
};
struct launchers {
	struct nsx_groups groups;
	struct launcher *v;
	size_t cap;
};

static struct launcher *launcher_of(struct launchers *l, uint32_t thread,
				    uint32_t device, struct nsx_err *err)
{
	uint32_t g;

	if (nsx_group(&l->groups, thread, device, &g, err) ||
	    nsx_grow(&l->v, &l->cap, l->groups.n, sizeof(*l->v), "launchers",
		     err))
		return NULL;
	l->v[g].thread = thread;
	l->v[g].device = device;
	return &l->v[g];
}

/* Idle below 1 ms that lasted until the call of the op that ended it was back:
 * queries/README.md 9.
 */
static int64_t host_late(const struct nsx_trace *t, const struct nsx_gap *gap)
{
	uint32_t call = gap->op == NSX_NONE ? NSX_NONE : t->ops.call[gap->op];

	if (call == NSX_NONE || gap->end_ns - gap->start_ns >= SHORT_GAP_NS ||
	    nsx_call_end(&t->calls, call) <= gap->start_ns)
		return 0;
	return NSX_MIN(gap->end_ns, nsx_call_end(&t->calls, call)) -
	       gap->start_ns;
}

static int sweep_device(const struct nsx_run *run, uint32_t device,
			struct launchers *l, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_device *d = &t->device[device];
	struct launcher *x;
	struct nsx_gap gap;

	for (uint32_t i = d->ops_at; i < d->ops_at + d->nops; i++) {
		uint32_t call = t->ops.call[i];

		if (call == NSX_NONE || !nsx_op_counts(t, i))
			continue;
		x = launcher_of(l, nsx_call_thread(t, call), device, err);
		if (!x)
			return err->rc;
		x->calls += t->calls.op[call] == i;
		x->ops++;
	}
	for (size_t at = 0;
	     nsx_next_gap(&run->facts->idle[device], &at, &gap);) {
		int64_t ns = host_late(t, &gap);

		if (!ns)
			continue;
		x = launcher_of(l, nsx_call_thread(t, t->ops.call[gap.op]),
				device, err);
		if (!x)
			return err->rc;
		nsx_add_to(&x->bound_ns, ns);
	}
	return 0;
}

static int fill_launchers(const struct nsx_run *run, struct launchers *l,
			  struct nsx_table *table, int64_t *ret_bound_ns,
			  struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;

	for (uint32_t d = 0; d < t->ndevices; d++)
		if (sweep_device(run, d, l, err))
			return err->rc;
	*ret_bound_ns = 0;
	for (size_t g = 0; g < l->groups.n; g++) {
		const struct launcher *x = &l->v[g];
		const struct nsx_thread *th = &t->thread[x->thread];
		struct nsx_cell *row = nsx_add_row(table);

		row[LAUNCHER_PID] = nsx_int(t->process[th->process].pid);
		row[LAUNCHER_TID] = nsx_int(th->tid);
		row[LAUNCHER_DEVICE] = nsx_int(t->device[x->device].device_id);
		row[LAUNCHER_CALLS] = nsx_int(x->calls);
		row[LAUNCHER_OPS] = nsx_int(x->ops);
		row[LAUNCHER_BOUND] = nsx_ms(x->bound_ns);
		nsx_add_to(ret_bound_ns, x->bound_ns);
	}
	nsx_table_sort(table, NSX_DESC(LAUNCHER_BOUND),
		       NSX_DESC(LAUNCHER_CALLS), LAUNCHER_PID, LAUNCHER_TID,
		       LAUNCHER_DEVICE);
	return 0;
}

/* By iteration ------------------------------------------------------------------*/

/* The iterations of the device that sets the pace, of the process that has
 * most of them there.
 */
static const struct nsx_iteration *find_run(const struct nsx_facts *f,
					    size_t *ret_n)
{
	const struct nsx_iteration *best = NULL;

	*ret_n = 0;
	for (size_t i = 0, next; i < f->niterations; i = next) {
		for (next = i + 1;
		     next < f->niterations &&
		     f->iterations[next].process == f->iterations[i].process &&
		     f->iterations[next].device == f->iterations[i].device;)
			next++;
		if (f->iterations[i].device == f->limiting &&
		    next - i > *ret_n) {
			best = &f->iterations[i];
			*ret_n = next - i;
		}
	}
	return best;
}

struct cursor { /* over one device */
	uint32_t op;
	size_t at; /* of idle pieces */
	struct nsx_gap gap;
	bool has_gap;
};

/* Kernels, calls and launch-bound time that begin in an iteration; iterations
 * come in order of start.
 */
static void count_iteration(const struct nsx_run *run,
			    const struct nsx_iteration *it, struct cursor *c,
			    int64_t *ret)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_device *d = &t->device[it->device];
	const struct nsx_idle *idle = &run->facts->idle[it->device];

	ret[0] = ret[1] = ret[2] = 0;
	for (; c->op < d->ops_at + d->nops &&
	       nsx_op_start(&t->ops, c->op) < it->end_ns;
	     c->op++) {
		uint32_t call = t->ops.call[c->op];

		if (nsx_op_start(&t->ops, c->op) < it->start_ns)
			continue;
		ret[0] += t->ops.kind[c->op] == NSX_OP_KERNEL;
		ret[1] += call != NSX_NONE && t->calls.op[call] == c->op;
	}
	while (c->has_gap && c->gap.start_ns < it->end_ns) {
		if (c->gap.start_ns >= it->start_ns)
			ret[2] += host_late(t, &c->gap);
		c->has_gap = nsx_next_gap(idle, &c->at, &c->gap);
	}
}

static int put_per_iteration(const struct nsx_run *run, struct nsx_section *out,
			     struct nsx_err *err)
{
	size_t n, k = 0;
	const struct nsx_iteration *it = find_run(run->facts, &n);
	struct cursor c = {.at = 0};
	int64_t *v[3], figure[3];

	if (!it)
		return 0;
	for (unsigned i = 0; i < 3; i++) {
		v[i] = nsx_arena_try_array(run->scratch, n, sizeof(**v),
					   "iterations", err);
		if (!v[i])
			return err->rc;
	}
	c.op = run->trace->device[it->device].ops_at;
	c.has_gap = nsx_next_gap(&run->facts->idle[it->device], &c.at, &c.gap);
	for (size_t i = 0; i < n; i++) {
		count_iteration(run, &it[i], &c, figure);
		if (!it[i].steady)
			continue;
		for (unsigned j = 0; j < 3; j++)
			v[j][k] = figure[j];
		k++;
	}
	if (!k)
		return 0;
	nsx_put(out, "per_iteration.device_id",
		nsx_int(run->trace->device[it->device].device_id));
	nsx_put(out, "per_iteration.iterations", nsx_int((int64_t)k));
	nsx_put(out, "per_iteration.kernels",
		nsx_real(nsx_quantile(v[0], k, 0.5)));
	nsx_put(out, "per_iteration.launch_calls",
		nsx_real(nsx_quantile(v[1], k, 0.5)));
	nsx_put(out, "per_iteration.launch_bound_ms",
		nsx_real(nsx_quantile(v[2], k, 0.5) / 1e6));
	return 0;
}

/* The launches of a trace without any matching call are not known. */
int nsx_put_launching(const struct nsx_run *run, struct nsx_section *out,
		      struct nsx_table *table, int64_t *ret_bound_ns,
		      struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct launchers l = {.cap = 0};
	int64_t calls = 0;
	int rc;

	*ret_bound_ns = -1;
	for (size_t i = 0; i < t->calls.n; i++)
		calls += t->calls.cls[i] == NSX_CALL_LAUNCH &&
			 !(t->calls.flags[i] & NSX_CALL_NESTED) &&
			 nsx_starts_inside(t, nsx_call_start(&t->calls, i));
	if (!t->matching.matched) {
		nsx_put(out, "launch_calls", nsx_has_view(t->schema,
							  NSX_VIEW_runtime) ?
						     nsx_int(calls) :
						     nsx_null());
		nsx_put(out, "launch_bound_ms", nsx_null());
		nsx_note(out, "no kernel has an API call: whether the GPU "
			      "waited for launches is not known");
		return 0;
	}
	rc = fill_launchers(run, &l, table, ret_bound_ns, err);
	nsx_groups_done(&l.groups);
	free(l.v);
	nsx_put(out, "launch_calls", nsx_int(calls));
	nsx_put(out, "launch_bound_ms", nsx_ms(*ret_bound_ns));
	return rc ? rc : put_per_iteration(run, out, err);
}
