/* layers.c - sums up the compute time of steps by class of kernels.
 *
 * Times are summed by class in one pass over the device. A step's time is the difference of
 * the sums at its end and at its start.
 */
#include "facts/steps/steps.h"

struct edge { /* start or end of a step */
	int64_t at;
	uint32_t device, step;
	bool ends;
};
struct sweep {
	const struct nsx_facts *f;
	const struct nsx_trace *t;
	const struct nsx_step_classes *classes;
	struct nsx_step_layers *ret;
	struct edge *edge, *end; /* edges of the current device; edge: the next one */
	int64_t *sum_ns;	 /* by class: time so far                    */
	size_t nopen;		 /* number of open steps                     */
};

NSX_ORDER(cmp_edges, struct edge, UP(device), UP(at), UP(step), UP(ends));

/* Handles the edges up to to_ns: a start subtracts the sums from its step, an end adds them. */
static void pass_edges(struct sweep *s, int64_t to_ns)
{
	size_t n = s->classes->n;

	for (; s->edge < s->end && s->edge->at <= to_ns; s->edge++) {
		int64_t *ns = s->ret->ns + s->classes->group[s->edge->step] * n;

		for (size_t c = 0; c < n; c++)
			ns[c] += s->edge->ends ? s->sum_ns[c] : -s->sum_ns[c];
		s->nopen += s->edge->ends ? -(size_t)1 : 1;
	}
}

static void layers_add_piece(struct sweep *s, size_t op, int64_t from_ns, int64_t to_ns)
{
	bool is_kernel = s->t->ops.kind[op] == NSX_OP_KERNEL;
	uint32_t name = is_kernel ? s->f->kernels.of_shape[nsx_op_detail(&s->t->ops, op)] :
				    NSX_NONE;
	size_t c = is_kernel ? s->classes->of_name[name] : NSX_STEP_REPLAYS;

	pass_edges(s, from_ns);
	while (from_ns < to_ns) {
		int64_t at = s->edge < s->end ? NSX_MIN(s->edge->at, to_ns) : to_ns;

		s->sum_ns[c] += at - from_ns;
		if (s->nopen && is_kernel)
			s->ret->name_ns[name] += at - from_ns;
		pass_edges(s, at);
		from_ns = at;
	}
}

/* Sweeps over a device. As in the ledger, overlapping time belongs to the kernel that began first.
 */
static void layers_sweep_device(struct sweep *s, uint32_t device)
{
	struct nsx_window w = {s->edge->at, s->end[-1].at};
	int64_t edge_ns = w.start_ns;
	size_t at = 0, i;

	while (nsx_next_op(s->f, s->t, device, &w, &at, &i)) {
		int64_t from = NSX_MAX(nsx_op_start(&s->t->ops, i), edge_ns);
		int64_t to = NSX_MIN(nsx_op_end(&s->t->ops, i), w.end_ns);

		if (s->t->ops.cls[i] != NSX_C_COMPUTE || from >= to)
			continue;
		edge_ns = to;
		layers_add_piece(s, i, from, to);
	}
	pass_edges(s, w.end_ns);
}

int nsx_steps_layers(const struct nsx_facts *f, const struct nsx_trace *t,
		     const struct nsx_engine_steps *steps,
		     const struct nsx_step_classes *classes, struct nsx_arena *a,
		     struct nsx_step_layers *ret, struct nsx_err *err)
{
	struct sweep s = {.f = f, .t = t, .classes = classes, .ret = ret};
	struct edge *v;

	if (!nsx_new_array(v, a, 2 * steps->n, "steps", err) ||
	    !nsx_new_array(s.sum_ns, a, classes->n, "classes of kernels", err) ||
	    !nsx_new_array(ret->ns, a, classes->ngroups * classes->n, "classes of kernels",
			   err) ||
	    !nsx_new_array(ret->name_ns, a, f->kernels.n + 1, "kernels", err))
		return err->rc;
	for (uint32_t i = 0; i < steps->n; i++) {
		const struct nsx_engine_step *x = &steps->v[i];

		v[2 * i] = (struct edge){x->gpu_start_ns, x->device, i, false};
		v[2 * i + 1] = (struct edge){x->gpu_end_ns, x->device, i, true};
	}
	nsx_sort(v, 2 * steps->n, sizeof(*v), cmp_edges);
	NSX_EACH_RUN(i, next, 2 * steps->n, v[next].device == v[i].device) {
		s.edge = v + i;
		s.end = v + next;
		layers_sweep_device(&s, v[i].device);
	}
	return 0;
}
