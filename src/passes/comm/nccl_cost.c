/* nccl_cost.c - what communication costs: exposed and blocking time of each device. Waiting for a
 * proved straggler is priced separately. It is subtracted from blocking time, because more overlap
 * would not remove it.
 */
#include <string.h>
#include "passes/comm/nccl.h"
#include "passes/comm/nccl_tables.h"

/* Compute that starts within this time after a communication kernel's end counts as having waited
 * for it.
 */
#define BLOCKING_NS 20000

/* Lists the ends of a device's communication kernels in order. */
static int list_comm_ends(const struct nsx_run *run, uint32_t device, int64_t **ret,
			  size_t *ret_n, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_device *d = &t->device[device];
	size_t n = 0;

	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++)
		n += t->ops.cls[i] == NSX_C_COMM;
	if (!nsx_new_array(*ret, run->scratch, n, "ends", err))
		return err->rc;
	n = 0;
	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++)
		if (t->ops.cls[i] == NSX_C_COMM)
			(*ret)[n++] = nsx_op_end(&t->ops, i);
	nsx_sort(*ret, n, sizeof(**ret), nsx_cmp_i64);
	*ret_n = n;
	return 0;
}

/* Finds the exposed spans in which compute waited: a communication kernel ends in the span, and
 * compute starts right after that end.
 */
static int find_blocking(const struct nsx_run *run, uint32_t device,
			 const struct nsx_spans *exposed, struct nsx_arena *a,
			 struct nsx_spans *ret, struct nsx_err *err)
{
	const struct nsx_spans *compute = &run->facts->device[device].compute;
	int64_t *ends;
	size_t n = 0, k = 0, c = 0;

	if (list_comm_ends(run, device, &ends, &n, err))
		return err->rc;
	ret->n = 0;
	if (!nsx_new_array(ret->v, a, exposed->n, "spans", err))
		return err->rc;
	for (size_t i = 0; i < exposed->n; i++) {
		const struct nsx_span *x = &exposed->v[i];
		int64_t from_ns;

		while (c < compute->n && nsx_span_at(compute, c).start_ns < x->end_ns)
			c++;
		if (c == compute->n)
			break;
		from_ns = nsx_span_at(compute, c).start_ns;
		while (k < n && ends[k] <= from_ns)
			k++;
		if (k && ends[k - 1] > x->start_ns && from_ns - ends[k - 1] <= BLOCKING_NS)
			nsx_spans_push(ret, x->start_ns, x->end_ns);
	}
	nsx_arena_drop(run->scratch, ends);
	return 0;
}

static int nccl_cost_fill_device(struct nccl_costs *c, uint32_t device,
				 struct nsx_table *table, struct nsx_err *err)
{
	const struct nsx_device_facts *f = &c->run->facts->device[device];
	const struct nsx_device *d = &c->run->trace->device[device];
	struct nsx_arena *a = c->run->scratch;
	struct nccl_cost *x = &c->v[device];
	struct nsx_cell *row;

	if (nsx_spans_minus(a, &f->comm, &f->compute, &x->exposed, err) ||
	    find_blocking(c->run, device, &x->exposed, a, &x->blocking, err))
		return err->rc;
	row = nsx_add_row(table);
	x->comm_ns = nsx_spans_total(&f->comm);
	x->exposed_ns = nsx_spans_total(&x->exposed);
	x->blocking_ns = nsx_spans_total(&x->blocking);
	row[NCCL_DEVICE_ID] = nsx_device_cell(c->run->trace, device);
	row[NCCL_DEVICE_COMM_MS] = nsx_ms(x->comm_ns);
	row[NCCL_DEVICE_OVERLAP_PCT] = nsx_part_pct(x->comm_ns - x->exposed_ns, x->comm_ns);
	row[NCCL_DEVICE_EXPOSED_MS] = nsx_ms(x->exposed_ns);
	row[NCCL_DEVICE_BLOCKING_MS] = nsx_ms(x->blocking_ns);
	row[NCCL_DEVICE_GPU] = nsx_string(nsx_text(c->run->trace, d->gpu));
	return 0;
}

/* Finds the spans in which any device communicates. */
static int fill_comm_windows(struct nccl_costs *c, struct nsx_table *table, struct nsx_err *err)
{
	const struct nsx_facts *f = c->run->facts;
	struct nsx_spans all = {0};
	size_t n = 0;

	for (uint32_t d = 0; d < f->ndevices; d++)
		n += f->device[d].comm.n;
	if (!nsx_new_array(all.v, c->run->scratch, n, "spans", err))
		return err->rc;
	for (uint32_t d = 0; d < f->ndevices; d++) {
		const struct nsx_spans *x = &f->device[d].comm;

		for (size_t i = 0; i < x->n; i++)
			all.v[all.n++] = nsx_span_at(x, i);
	}
	nsx_spans_normalise(&all);
	for (size_t i = 0; i < NSX_MIN(all.n, NCCL_MAX_WINDOWS); i++) {
		struct nsx_cell *row = nsx_add_row(table);

		row[NCCL_WINDOW_START_NS] = nsx_int(all.v[i].start_ns);
		row[NCCL_WINDOW_END_NS] = nsx_int(all.v[i].end_ns);
	}
	if (all.n > NCCL_MAX_WINDOWS)
		nsx_note(c->out, "windows holds the first %d of %zu", NCCL_MAX_WINDOWS, all.n);
	return 0;
}

int nccl_fill_costs(struct nccl_costs *c, struct nsx_table *devices,
		    struct nsx_table *windows, struct nsx_err *err)
{
	int64_t exposed_ns = 0, blocking_ns = 0;
	uint32_t n = c->run->facts->ndevices;

	nsx_few(c->v, c->run->scratch, n);
	for (uint32_t d = 0; d < n; d++) {
		if (c->run->facts->device[d].comm.n && nccl_cost_fill_device(c, d, devices, err))
			return err->rc;
		nsx_add_to(&exposed_ns, c->v[d].exposed_ns);
		nsx_add_to(&blocking_ns, c->v[d].blocking_ns);
	}
	nsx_put(c->out, "exposed_ms", nsx_ms(exposed_ns));
	nsx_put(c->out, "blocking_ms", nsx_ms(blocking_ns));
	return fill_comm_windows(c, windows, err);
}

/* Measurements for detectors -------------------------------------------------- */

/* Finds the spans in which a rank waits for the late rank and does not compute. */
static int nccl_cost_find_waits(struct nccl_costs *c, const struct nccl_match *m,
				size_t rank, struct nsx_spans *ret, struct nsx_err *err)
{
	struct nccl_cost *x = &c->v[m->ranks[m->rank[rank]].device];
	struct nsx_spans s = {0}, all;

	if (!nsx_new_array(s.v, c->run->scratch, m->n, "waits", err))
		return err->rc;
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].kept && m->rank[m->v[i].last] == m->late)
			s.v[s.n++] = (struct nsx_span){
				m->events[m->member[i * m->nranks + rank]]
					.start_ns, m->v[i].last_ns};
	nsx_spans_normalise(&s);
	if (nsx_spans_intersect(c->out->arena, &s, &x->exposed, ret, err) ||
	    nsx_spans_union(c->run->scratch, &x->waits, ret, &all, err))
		return err->rc;
	x->waits = all;
	return nsx_spans_pack(c->out->arena, ret, err);
}

static int nccl_cost_list_waits(struct nccl_costs *c, const struct nccl_match *m,
				struct nsx_arrivals *x, struct nsx_err *err)
{
	x->waits = nsx_arena_get(c->out->arena, m->nranks * sizeof(*x->waits));
	for (size_t k = 0; k < m->nranks; k++) {
		struct nsx_comm_wait *wait = &x->waits[x->nwaits];

		if (m->rank[k] == m->late)
			continue;
		wait->device = m->ranks[m->rank[k]].device;
		if (nccl_cost_find_waits(c, m, k, &wait->spans, err))
			return err->rc;
		x->nwaits++;
	}
	return 0;
}

int nccl_tell_arrivals(struct nccl_costs *c, const struct nccl_group *g,
		       const struct nccl_match *m, struct nsx_err *err)
{
	const struct nccl_rank *late = &m->ranks[m->late];
	struct nsx_arrivals *x = nsx_arena_get(c->out->arena, sizeof(*x));

	*x = (struct nsx_arrivals){
		.op = g->name,
		.late = late->label, .is_proved = m->proved,
		.process = late->process, .device = late->device,
		.njudged = m->njudged, .nlate = m->nkept,
		.nlast = late->kept_last, .p_value = m->p_value,
		.least_late_ns = m->least_late_ns,
		.wait_ns = late->kept_induced_ns,
		.all_wait_ns = late->induced_ns,
		.transfer_ns = m->transfer_ns, .cause = m->cause,
		.cause_share = m->cause_share, .by = m->by};
	*c->end = x;
	c->end = &x->next;
	return m->proved ? nccl_cost_list_waits(c, m, x, err) : 0;
}

static int64_t nccl_cost_judged_ns(const struct nsx_facts *f, const struct nsx_spans *s)
{
	const struct nsx_window w = nsx_judged(f);
	size_t cursor = nsx_spans_find(s, w.start_ns);

	return nsx_spans_covered(s, &cursor, w.start_ns, w.end_ns);
}

int nccl_tell_costs(struct nccl_costs *c, struct nsx_err *err)
{
	const struct nsx_facts *f = c->run->facts;
	struct nsx_comm_cost *v = nsx_arena_get(c->out->arena, f->ndevices * sizeof(*v));
	const struct nsx_comm_cost *judged = NULL;
	const struct nccl_cost *worst = NULL;

	for (uint32_t d = 0; d < f->ndevices; d++) {
		const struct nccl_cost *x = &c->v[d];

		v[d].comm_ns = nccl_cost_judged_ns(f, &f->device[d].comm);
		v[d].exposed_ns = nccl_cost_judged_ns(f, &x->exposed);
		v[d].blocking_ns = nccl_cost_judged_ns(f, &x->blocking);
		v[d].waited_ns = x->judged_waited_ns;
		v[d].waits_in = x->waits_in;
		v[d].waits_most = x->waits_most ? x->waits_most->label : NULL;
		if (nsx_spans_minus(c->out->arena, &x->blocking, &x->waits, &v[d].blocking, err))
			return err->rc;
		if (v[d].comm_ns && (!judged || v[d].exposed_ns > judged->exposed_ns))
			judged = &v[d];
		if (x->comm_ns && (!worst || x->exposed_ns > worst->exposed_ns))
			worst = x;
	}
	c->run->measured->comm = v;
	c->run->measured->worst_comm = judged;
	if (worst)
		nsx_md_bullet(c->out, "GPU %s communicates %s; compute hides %.1f %% of it, %s are "
			"exposed and %s block compute.",
			nsx_gpu_label(c->run->trace, (uint32_t)(worst - c->v)),
			nsx_say_time(c->out, worst->comm_ns),
			100 - 100 * (double)worst->exposed_ns / (double)worst->comm_ns,
			nsx_say_time(c->out, worst->exposed_ns),
			nsx_say_time(c->out, worst->blocking_ns));
	return 0;
}
