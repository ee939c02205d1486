/* nccl_events.c - communication kernels, their operations and participants.
 *
 * Operations of a device come in order of start, so the union of a group on it needs only a running
 * end. Events are then sorted by (group, process, device), so that each rank is a slice.
 */
#include "passes/comm/nccl.h"

/* The key of the operation's kind: the collective if it is known, otherwise the kernel's base name.
 */
static struct nsx_group_key operation_key(const struct nsx_trace *t, size_t op)
{
	enum nsx_comm_op kind = nsx_op_launch(t, op)->op;
	bool other = kind == NSX_COMM_OTHER;

	return (struct nsx_group_key){
		other, other ? nsx_op_shape(t, op)->base_name : kind};
}

uint32_t nccl_kind(const struct nccl_comm *c, size_t op)
{
	struct nsx_group_key key = operation_key(c->run->trace, op);

	return nsx_group_find(&c->kinds, key.a, key.b);
}

/* Finds or adds the group to which an operation belongs. */
static struct nccl_group *nccl_events_find_group(struct nccl_comm *c, size_t op)
{
	const struct nsx_trace *t = c->run->trace;
	struct nsx_group_key key = operation_key(t, op);
	nsx_str raw = nsx_op_name(t, op);
	struct nccl_group *g = nsx_group_few(&c->kinds, &c->groups, key.a, key.b);

	if (c->kinds.n > c->ngroups) {
		*g = (struct nccl_group){
			.name = key.a ? nsx_text(t, (nsx_str)key.b) :
					nsx_comm_op_name((enum nsx_comm_op)key.b),
			.raw = raw, .op = nsx_op_launch(t, op)->op,
			.kind = (uint32_t)c->ngroups, .device = NSX_NONE};
		c->ngroups = c->kinds.n;
	}
	if (raw != g->raw && nsx_str_cmp(t->strings, raw, g->raw) < 0)
		g->raw = raw;
	return g;
}

static void nccl_events_add_event(struct nccl_comm *c, const struct nccl_event *e,
				  const struct nsx_spans *compute, const int64_t *prefix)
{
	struct nccl_group *g = &c->groups[e->group];
	int64_t from_ns = e->start_ns;

	c->events[c->n++] = *e;
	g->count += nsx_op_counts(c->run->trace, e->op);
	nsx_add_to(&g->total_ns, e->end_ns - e->start_ns);
	g->max_ns = NSX_MAX(g->max_ns, e->end_ns - e->start_ns);
	nsx_add_to(&g->overlap_ns, nsx_spans_within(compute, prefix, e->start_ns, e->end_ns));
	if (g->device == e->device)
		from_ns = NSX_MAX(from_ns, g->end_ns);
	if (from_ns < e->end_ns)
		nsx_add_to(
		    &g->exposed_ns,
		    e->end_ns - from_ns -
			nsx_spans_within(compute, prefix, from_ns, e->end_ns));
	g->end_ns = g->device == e->device ? NSX_MAX(g->end_ns, e->end_ns) : e->end_ns;
	g->device = e->device;
}

static int collect_device(struct nccl_comm *c, uint32_t device,
			  const uint8_t *computes, struct nsx_err *err)
{
	const struct nsx_trace *t = c->run->trace;
	const struct nsx_device *d = &t->device[device];
	const struct nsx_spans *compute = &c->run->facts->device[device].compute;
	int64_t *prefix;

	if (nsx_spans_prefix(c->run->scratch, compute, &prefix, err))
		return err->rc;
	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++) {
		struct nccl_event e = {
			.start_ns = nsx_op_start(&t->ops, i),
			.end_ns = nsx_op_end(&t->ops, i), .op = (uint32_t)i,
			.process = nsx_op_process(t, i), .device = device};

		if (t->ops.cls[i] != NSX_C_COMM)
			continue;
		e.group = (uint32_t)(nccl_events_find_group(c, i) - c->groups);
		nccl_events_add_event(c, &e, compute, prefix);
		if (computes[nsx_op_stream(&t->ops, i)])
			nsx_add_to(&c->same_stream_ns, e.end_ns - e.start_ns);
	}
	nsx_arena_drop(c->run->scratch, prefix);
	return 0;
}

NSX_ORDER(cmp_event, struct nccl_event, UP(group), UP(process), UP(device), UP(op));

static int collect_events(struct nccl_comm *c, struct nsx_err *err)
{
	const struct nsx_trace *t = c->run->trace;
	struct nsx_arena *a = c->run->scratch;
	size_t n = 0;
	uint8_t *computes;

	nsx_few(computes, a, t->nstreams);
	for (size_t i = 0; i < t->ops.n; i++) {
		n += t->ops.cls[i] == NSX_C_COMM;
		if (t->ops.cls[i] == NSX_C_COMPUTE && t->ops.kind[i] == NSX_OP_KERNEL)
			computes[nsx_op_stream(&t->ops, i)] = 1;
	}
	if (!nsx_new_array(c->events, a, n, "communication kernels", err))
		return err->rc;
	for (uint32_t d = 0; d < t->ndevices; d++)
		if (c->run->facts->device[d].comm.n && collect_device(c, d, computes, err))
			return err->rc;
	nsx_sort(c->events, c->n, sizeof(*c->events), cmp_event);
	return 0;
}

/* Ranks ------------------------------------------------------------------*/

static void name_ranks(struct nccl_comm *c, const struct nccl_group *g)
{
	const struct nsx_trace *t = c->run->trace;
	struct nccl_rank *r = c->ranks + g->rank_at;

	for (size_t i = 0; i < g->nranks; i++) {
		bool several =
			(i && r[i - 1].process == r[i].process) ||
			(i + 1 < g->nranks && r[i + 1].process == r[i].process);
		const struct nsx_process *p = &t->process[r[i].process];
		const char *host = strchr(nsx_pid_label(t, r[i].process), '(') ?
			nsx_say(c->out, " host:%lld", (long long)nsx_vm_of(p->key)) : "";

		r[i].label = several ?
			nsx_say(c->out, "pid:%lld%s gpu:%lld", (long long)p->pid, host,
				(long long)t->device[r[i].device].device_id) :
			nsx_say(c->out, "pid:%lld%s", (long long)p->pid, host);
	}
}

static int make_ranks(struct nccl_comm *c, struct nsx_err *err)
{
	struct nccl_rank *r = NULL;
	uint32_t group = NSX_NONE;

	if (!nsx_new_array(c->ranks, c->run->scratch, c->n, "ranks", err))
		return err->rc;
	for (size_t i = 0; i < c->n; i++) {
		const struct nccl_event *e = &c->events[i];
		int64_t ns = e->end_ns - e->start_ns;

		if (e->group != group)
			c->groups[e->group].rank_at = c->nranks;
		if (e->group != group || e->process != r->process || e->device != r->device) {
			r = &c->ranks[c->nranks++];
			*r = (struct nccl_rank){.process = e->process,
						.device = e->device, .at = i};
			c->groups[e->group].nranks++;
		}
		group = e->group;
		r->n++;
		r->count += nsx_op_counts(c->run->trace, e->op);
		nsx_add_to(&r->total_ns, ns);
		r->max_ns = NSX_MAX(r->max_ns, ns);
	}
	for (size_t g = 0; g < c->ngroups; g++)
		name_ranks(c, &c->groups[g]);
	return 0;
}

int nccl_collect(struct nccl_comm *c, struct nsx_err *err)
{
	return collect_events(c, err) || make_ranks(c, err) ? err->rc : 0;
}
