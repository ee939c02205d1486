/* copies_sweep.c - groups copies by (device, direction, kinds of memory).
 *
 * One sweep for each device: operations come in order of start, so a group's union needs only a
 * running end. The time that a copy adds to the union is exposed if no kernel covers it.
 */
#include "passes/gpu/copies.h"

struct large { /* a copy that counts for the median rate */
	uint32_t group;
	int64_t bytes;
	double gbps;
};
struct sweep {
	const struct nsx_run *run;
	struct copy_groups *g;
	struct nsx_groups groups; /* (device; kind, source, destination)     */
	struct large *large;
	size_t nlarge, cap_large;
};

static struct copy_group *find_copy_group(struct sweep *s, uint32_t device,
					  const struct nsx_copy *c)
{
	struct copy_group *x = nsx_group_few(&s->groups, &s->g->v, device,
		(uint64_t)c->copy_kind << 16 | (uint64_t)c->src_kind << 8 | c->dst_kind);

	if (s->groups.n > s->g->n) {
		*x = (struct copy_group){
			.device = device, .kind = c->copy_kind,
			.src = c->src_kind, .dst = c->dst_kind, .p50_gbps = NAN,
			.busy_end_ns = INT64_MIN, .whole_end_ns = INT64_MIN};
		s->g->n = s->groups.n;
	}
	return x;
}

static unsigned copy_size_class(int64_t bytes)
{
	return bytes < 4 << 10 ? 0 : bytes < SMALL_BYTES ? 1 :
	       bytes < LARGE_BYTES ? 2 : bytes < 16 << 20 ? 3 : 4;
}

static int copies_sweep_count_copy(struct sweep *s, struct copy_group *x, uint32_t device,
				   const struct nsx_copy *c, int64_t ns, struct nsx_err *err)
{
	x->count++;
	if (c->bytes < 0) {
		x->unsized++;
		return 0;
	}
	nsx_add_to(&x->bytes, c->bytes);
	x->small += c->bytes < SMALL_BYTES;
	copy_add(&x->size[copy_size_class(c->bytes)], (struct copy_sum){1, c->bytes, ns});
	if (nsx_copy_is_migration(x->kind))
		copy_add(&s->g->causes[device][x->kind - NSX_COPY_UVM_HTOD]
				      [c->cause < NSX_NMIGRATE_CAUSES ? c->cause : 0],
			 (struct copy_sum){1, c->bytes, ns});
	return x->kind != NSX_COPY_PTOP ? 0 :
		nsx_push(s->g->peers, s->g->npeers, s->g->cap_peers, "peer copies", err,
			 (struct copy_peer){c->src_device, c->dst_device, c->src_id, c->dst_id,
					    c->bytes, ns});
}

/* Whether a copy is complete. The user's window may have cut it. */
static bool is_whole(const struct nsx_trace *t, size_t op)
{
	return !nsx_has_window(t) ||
	       (!(t->ops.flags[op] & NSX_OP_CUT) &&
		nsx_op_end(&t->ops, op) < t->window.end_ns);
}

static int copies_sweep_add_copy(struct sweep *s, uint32_t device, size_t op,
				 const int64_t *prefix, struct nsx_err *err)
{
	const struct nsx_trace *t = s->run->trace;
	const struct nsx_copy *c = nsx_op_copy(t, op);
	int64_t a = nsx_op_start(&t->ops, op), b = nsx_op_end(&t->ops, op);
	struct copy_group *x = find_copy_group(s, device, c);

	nsx_add_to(&x->total_ns, b - a);
	if (b > x->busy_end_ns) {
		int64_t from = NSX_MAX(a, x->busy_end_ns);

		x->busy_ns += b - from;
		x->exposed_ns += b - from - nsx_spans_within(&s->g->kernels[device],
							     prefix, from, b);
		x->busy_end_ns = b;
	}
	if (nsx_op_counts(t, op) && copies_sweep_count_copy(s, x, device, c, b - a, err))
		return err->rc;
	if (!is_whole(t, op) || c->bytes < 0)
		return 0;
	nsx_add_to(&x->whole_bytes, c->bytes);
	if (b > x->whole_end_ns) {
		x->whole_ns += b - NSX_MAX(a, x->whole_end_ns);
		x->whole_end_ns = b;
	}
	if (c->bytes < LARGE_BYTES || b == a)
		return 0;
	return nsx_push(s->large, s->nlarge, s->cap_large, "large copies", err,
			(struct large){(uint32_t)(x - s->g->v), c->bytes,
				       (double)c->bytes / (double)(b - a)});
}

static int copies_sweep_sweep_device(struct sweep *s, uint32_t device, struct nsx_err *err)
{
	const struct nsx_trace *t = s->run->trace;
	const struct nsx_device *d = &t->device[device];
	const struct nsx_device_facts *f = &s->run->facts->device[device];
	struct nsx_spans *kernels = &s->g->kernels[device];
	int64_t *prefix;

	if (nsx_kernel_spans(f, s->run->scratch, kernels, err) ||
	    nsx_spans_prefix(s->run->scratch, kernels, &prefix, err))
		return err->rc;
	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++)
		if (t->ops.kind[i] == NSX_OP_MEMCPY &&
		    !(t->ops.flags[i] & NSX_OP_PEER) &&
		    copies_sweep_add_copy(s, device, i, prefix, err))
			return err->rc;
	return 0;
}

NSX_ORDER(cmp_large, struct large, UP(group), UP(gbps));

/* Finds each group's median rate by bytes: the lowest rate that covers half of the bytes. */
static void find_medians(struct sweep *s)
{
	nsx_sort(s->large, s->nlarge, sizeof(*s->large), cmp_large);
	NSX_EACH_RUN(i, next, s->nlarge, s->large[next].group == s->large[i].group) {
		double all = 0, seen = 0;

		for (size_t k = i; k < next; k++)
			all += (double)s->large[k].bytes;
		for (size_t k = i; seen < all / 2; k++) {
			seen += (double)s->large[k].bytes;
			s->g->v[s->large[i].group].p50_gbps = s->large[k].gbps;
		}
	}
}

static int sweep_all(struct sweep *s, struct nsx_err *err)
{
	const struct nsx_trace *t = s->run->trace;
	struct copy_groups *g = s->g;

	nsx_few(g->causes, s->run->scratch, t->ndevices);
	nsx_few(g->kernels, s->run->scratch, t->ndevices);
	for (uint32_t d = 0; d < t->ndevices; d++)
		if (copies_sweep_sweep_device(s, d, err))
			return err->rc;
	find_medians(s);
	return 0;
}

int copies_measure(const struct nsx_run *run, struct copy_groups *g, struct nsx_err *err)
{
	struct sweep s = {.run = run, .g = g};
	int rc = sweep_all(&s, err);

	nsx_groups_done(&s.groups);
	free(s.large);
	return rc;
}

void copies_done(struct copy_groups *g)
{
	free(g->v);
	free(g->peers);
}
