/* nccl_cost.c - what communication costs: exposed and blocking time of each
 * device, and the findings about it.
 *
 * Waiting for a proved straggler is priced there and taken off the blocking
 * time, for overlapping more would not give it back.
 */
#include <stdlib.h>
#include <string.h>
#include "nsx/stat.h"
#include "nccl.h"

#define BLOCKING_NS 20000 /* from the end of communication to compute */
#define LEAST_SHARE 0.01  /* of the window, to be worth a finding     */

/* Ends of the communication kernels of a device, in order. */
static int list_ends(const struct nsx_run *run, uint32_t device, int64_t **ret,
		     size_t *ret_n, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_device *d = &t->device[device];
	size_t n = 0;

	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++)
		n += t->ops.cls[i] == NSX_C_COMM;
	*ret = nsx_arena_try_array(run->scratch, n, sizeof(**ret), "ends", err);
	if (!*ret)
		return err->rc;
	n = 0;
	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++)
		if (t->ops.cls[i] == NSX_C_COMM)
			(*ret)[n++] = t->ops.end_ns[i];
	if (n)
		qsort(*ret, n, sizeof(**ret), nsx_cmp_i64);
	*ret_n = n;
	return 0;
}

/* The exposed spans that compute waited for: a communication kernel ends in
 * them and compute starts right after it.
 */
static int find_blocking(const struct nsx_run *run, uint32_t device,
			 const struct nsx_spans *exposed, struct nsx_arena *a,
			 struct nsx_spans *ret, struct nsx_err *err)
{
	const struct nsx_spans *compute = &run->facts->device[device].compute;
	int64_t *ends;
	size_t n = 0, k = 0, c = 0;

	if (list_ends(run, device, &ends, &n, err))
		return err->rc;
	ret->n = 0;
	ret->v = nsx_arena_try_array(a, exposed->n, sizeof(*ret->v), "spans",
				     err);
	if (!ret->v)
		return err->rc;
	for (size_t i = 0; i < exposed->n; i++) {
		const struct nsx_span *x = &exposed->v[i];

		while (c < compute->n && compute->v[c].start_ns < x->end_ns)
			c++;
		if (c == compute->n)
			break;
		while (k < n && ends[k] <= compute->v[c].start_ns)
			k++;
		if (k && ends[k - 1] > x->start_ns &&
		    compute->v[c].start_ns - ends[k - 1] <= BLOCKING_NS)
			nsx_spans_push(ret, x->start_ns, x->end_ns);
	}
	nsx_arena_drop(run->scratch, ends);
	return 0;
}

static int fill_device(struct nccl_costs *c, uint32_t device,
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
	row = nsx_row(table, err);
	if (!row)
		return err->rc;
	x->comm_ns = nsx_spans_total(&f->comm);
	x->exposed_ns = nsx_spans_total(&x->exposed);
	x->blocking_ns = nsx_spans_total(&x->blocking);
	row[0] = nsx_int(d->device_id);
	row[1] = nsx_ms(x->comm_ns);
	row[2] = nsx_pct((double)(x->comm_ns - x->exposed_ns),
			 (double)x->comm_ns);
	row[3] = nsx_ms(x->exposed_ns);
	row[4] = nsx_ms(x->blocking_ns);
	row[5] = nsx_string(nsx_text(c->run->trace, d->gpu));
	return 0;
}

/* When any device communicates. */
static int fill_windows(struct nccl_costs *c, struct nsx_table *table,
			struct nsx_err *err)
{
	const struct nsx_facts *f = c->run->facts;
	struct nsx_spans all = {NULL, 0};
	size_t n = 0;

	for (uint32_t d = 0; d < f->ndevices; d++)
		n += f->device[d].comm.n;
	all.v = nsx_arena_try_array(c->run->scratch, n, sizeof(*all.v),
				    "spans", err);
	if (!all.v)
		return err->rc;
	for (uint32_t d = 0; d < f->ndevices; d++) {
		const struct nsx_spans *x = &f->device[d].comm;

		if (x->n)
			memcpy(all.v + all.n, x->v, x->n * sizeof(*x->v));
		all.n += x->n;
	}
	nsx_spans_normalise(&all);
	for (size_t i = 0; i < NSX_MIN(all.n, NCCL_MAX_WINDOWS); i++) {
		struct nsx_cell *row = nsx_row(table, err);

		if (!row)
			return err->rc;
		row[0] = nsx_int(all.v[i].start_ns);
		row[1] = nsx_int(all.v[i].end_ns);
	}
	if (all.n > NCCL_MAX_WINDOWS)
		nsx_note(c->out, "windows holds the first %d of %zu",
			 NCCL_MAX_WINDOWS, all.n);
	return 0;
}

int nccl_fill_costs(struct nccl_costs *c, struct nsx_table *devices,
		    struct nsx_table *windows, struct nsx_err *err)
{
	int64_t exposed_ns = 0, blocking_ns = 0;
	uint32_t n = c->run->facts->ndevices;

	c->v = nsx_arena_try_array(c->run->scratch, n, sizeof(*c->v), "devices",
				   err);
	if (!c->v)
		return err->rc;
	for (uint32_t d = 0; d < n; d++) {
		if (c->run->facts->device[d].comm.n &&
		    fill_device(c, d, devices, err))
			return err->rc;
		exposed_ns += c->v[d].exposed_ns;
		blocking_ns += c->v[d].blocking_ns;
	}
	nsx_put(c->out, "exposed_ms", nsx_ms(exposed_ns));
	nsx_put(c->out, "blocking_ms", nsx_ms(blocking_ns));
	return fill_windows(c, windows, err);
}

/* Findings ---------------------------------------------------------------*/

static double window_ns(const struct nccl_costs *c)
{
	const struct nsx_window *w = &c->run->trace->window;

	return (double)(w->end_ns - w->start_ns);
}

/* What the rank that waits most does not compute while it waits. */
static int find_waits(struct nccl_costs *c, const struct nccl_event *events,
		      const struct nccl_rank *ranks,
		      const struct nccl_match *m, struct nsx_err *err)
{
	struct nccl_cost *x = &c->v[ranks[m->waiting].device];
	struct nsx_spans s = {NULL, 0}, with;
	size_t at = 0;

	while (m->rank[at] != m->waiting)
		at++;
	s.v = nsx_arena_try_array(c->run->scratch, m->n, sizeof(*s.v), "waits",
				  err);
	if (!s.v)
		return err->rc;
	for (size_t i = 0; i < m->n; i++) {
		const struct nccl_event *e = &events[m->member[i * m->nranks +
							       at]];

		if (m->v[i].kept && m->rank[m->v[i].last] == m->late)
			s.v[s.n++] = (struct nsx_span){e->start_ns,
						       m->v[i].last_ns};
	}
	nsx_spans_normalise(&s);
	if (nsx_spans_union(c->run->scratch, &x->waits, &s, &with, err))
		return err->rc;
	return nsx_spans_intersect(c->run->scratch, &with, &x->exposed,
				   &x->waits, err);
}

int nccl_add_straggler(struct nccl_costs *c, const char *op,
		       const struct nccl_event *events,
		       const struct nccl_rank *ranks,
		       const struct nccl_match *m, struct nsx_err *err)
{
	const struct nccl_rank *late = &ranks[m->late];
	uint32_t device = ranks[m->waiting].device;
	const char *name = nsx_md_name(c->out, op);
	struct nsx_candidate f = {
		.id = "nccl_straggler", .category = "communication",
		.device = device, .recoverable = 1, .confidence = "high",
		.table = "nccl_rank_skew", .units = "ms",
	};

	if (find_waits(c, events, ranks, m, err) ||
	    nsx_spans_intersect(c->out->arena, &c->v[device].waits,
				&c->v[device].waits, &f.spans, err))
		return err->rc;
	f.title = nsx_say(c->out, "%s comes late to %s: the others wait",
			  late->label, name);
	f.key = nsx_say(c->out, "%s/%s", op, late->label);
	f.values = nsx_say(c->out, "induced_ms=%.3f", late->induced_ns / 1e6);
	f.evidence[0] = nsx_say(
		c->out, "last to arrive in %zu of %zu matched instances (p = "
		"%.2g); the first instance is left out as start skew",
		late->kept_last, m->nkept, m->p_value);
	f.evidence[1] = nsx_say(
		c->out, "%s waits %.3f ms in all; the transfers themselves take "
		"%.3f ms", ranks[m->waiting].label,
		(double)ranks[m->waiting].waited_ns / 1e6,
		(double)m->transfer_ns / 1e6);
	f.evidence[2] = m->cause ?
		nsx_say(c->out, "cause: %s (%.0f %% of the lateness)", m->cause,
			100 * m->cause_share) :
		"cause: unattributed; no single one explains 80 % of the "
		"lateness";
	f.recommendation[0] = nsx_say(
		c->out, "look at %s before its collectives, not at the network: "
		"uneven work, a slower GPU, or its input pipeline",
		late->label);
	nsx_add_candidate(c->out, &f);
	return 0;
}

static void clear_exposed(struct nccl_costs *c, const struct nccl_cost *worst,
			  long long device_id)
{
	nsx_cleared(c->out, "Communication is hidden: of %.3f ms on GPU %lld, "
		    "compute covers %.1f %%, and what blocks compute is %.2f %% "
		    "of the window.", (double)worst->comm_ns / 1e6, device_id,
		    100 * (double)(worst->comm_ns - worst->exposed_ns) /
			    (double)worst->comm_ns,
		    100 * (double)worst->blocking_ns / window_ns(c));
}

/* The device on which communication blocks most. */
int nccl_add_exposed(struct nccl_costs *c, int64_t same_stream_ns,
		     struct nsx_err *err)
{
	const struct nsx_facts *facts = c->run->facts;
	const struct nccl_cost *x = NULL;
	struct nsx_candidate f = {
		.id = "nccl_exposed", .category = "communication",
		.recoverable = 1, .confidence = "medium", .table = "nccl_ops",
		.units = "ms",
	};
	long long id;

	for (uint32_t d = 0; d < facts->ndevices; d++)
		if (c->v[d].comm_ns &&
		    (!x || c->v[d].blocking_ns > x->blocking_ns)) {
			x = &c->v[d];
			f.device = d;
		}
	if (!x)
		return 0;
	id = (long long)c->run->trace->device[f.device].device_id;
	nsx_md_bullet(c->out, "GPU %lld communicates %.3f ms; compute hides %.1f "
		      "%% of it, %.3f ms are exposed and %.3f ms block compute.",
		      id, (double)x->comm_ns / 1e6,
		      100 * (double)(x->comm_ns - x->exposed_ns) /
			      (double)x->comm_ns,
		      (double)x->exposed_ns / 1e6, (double)x->blocking_ns / 1e6);
	if ((double)x->blocking_ns < LEAST_SHARE * window_ns(c)) {
		clear_exposed(c, x, id);
		return 0;
	}
	if (nsx_spans_minus(c->out->arena, &x->blocking, &x->waits, &f.spans,
			    err))
		return err->rc;
	f.title = nsx_say(c->out, "communication blocks compute on GPU %lld", id);
	f.values = nsx_say(c->out, "blocking_ms=%.3f",
			   (double)x->blocking_ns / 1e6);
	f.evidence[0] = nsx_say(
		c->out, "%.3f ms of communication, %.3f ms of it exposed; after "
		"%.3f ms compute starts at once, so it was waiting",
		(double)x->comm_ns / 1e6, (double)x->exposed_ns / 1e6,
		(double)x->blocking_ns / 1e6);
	if (same_stream_ns)
		f.evidence[1] = nsx_say(
			c->out, "%.3f ms of it, over all GPUs, run on a stream "
			"that computes as well: that cannot overlap",
			(double)same_stream_ns / 1e6);
	f.recommendation[0] = "start collectives as soon as their input is there, "
			      "in buckets, on a stream of their own";
	f.recommendation[1] = "compare transfer with waiting in nccl_rank_skew "
			      "first: waiting is not cured by overlap";
	nsx_add_candidate(c->out, &f);
	return 0;
}
