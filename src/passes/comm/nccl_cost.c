/* nccl_cost.c - what communication costs: exposed and blocking time of each
 * device, and the findings about it.
 *
 * Waiting for a proved straggler is priced there and taken off the blocking
 * time, for overlapping more would not give it back.
 */
#include <stdlib.h>
#include <string.h>
#include "base/stat.h"
#include "facts/metrics/metrics.h"
#include "passes/comm/nccl.h"
#include "passes/comm/nccl_tables.h"
#include "report/words.h"

#define BLOCKING_NS 20000 /* from the end of communication to compute */
#define LEAST_PCT 1.0	  /* of the window, to be worth a finding     */
#define LINK_IDLE_PCT 2.0 /* of the peak, while it communicates     */
#define LINK_BUSY_PCT 10.0
enum { MANY = 100, TINY_NS = 50000 }; /* collectives that are all latency */

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
			(*ret)[n++] = nsx_op_end(&t->ops, i);
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
	row[NCCL_DEVICE_ID] = nsx_int(d->device_id);
	row[NCCL_DEVICE_COMM_MS] = nsx_ms(x->comm_ns);
	row[NCCL_DEVICE_OVERLAP_PCT] =
		nsx_pct((double)(x->comm_ns - x->exposed_ns),
			(double)x->comm_ns);
	row[NCCL_DEVICE_EXPOSED_MS] = nsx_ms(x->exposed_ns);
	row[NCCL_DEVICE_BLOCKING_MS] = nsx_ms(x->blocking_ns);
	row[NCCL_DEVICE_GPU] = nsx_string(nsx_text(c->run->trace, d->gpu));
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
		row[NCCL_WINDOW_START_NS] = nsx_int(all.v[i].start_ns);
		row[NCCL_WINDOW_END_NS] = nsx_int(all.v[i].end_ns);
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
		nsx_add_to(&exposed_ns, c->v[d].exposed_ns);
		nsx_add_to(&blocking_ns, c->v[d].blocking_ns);
	}
	nsx_put(c->out, "exposed_ms", nsx_ms(exposed_ns));
	nsx_put(c->out, "blocking_ms", nsx_ms(blocking_ns));
	return fill_windows(c, windows, err);
}

/* Findings ---------------------------------------------------------------*/

static struct nsx_plan plan_of(struct nsx_section *out,
			       const struct nsx_change *change)
{
	struct nsx_change *v = nsx_arena_get(out->arena, sizeof(*v));

	*v = *change;
	return (struct nsx_plan){v, 1};
}

/* When a rank waits for the late one and does not compute meanwhile. */
static int find_waits(struct nccl_costs *c, const struct nccl_event *events,
		      const struct nccl_rank *ranks,
		      const struct nccl_match *m, size_t rank,
		      struct nsx_spans *ret, struct nsx_err *err)
{
	struct nccl_cost *x = &c->v[ranks[m->rank[rank]].device];
	struct nsx_spans s = {NULL, 0}, all;

	s.v = nsx_arena_try_array(c->run->scratch, m->n, sizeof(*s.v), "waits",
				  err);
	if (!s.v)
		return err->rc;
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].kept && m->rank[m->v[i].last] == m->late)
			s.v[s.n++] = (struct nsx_span){
				events[m->member[i * m->nranks + rank]]
					.start_ns, m->v[i].last_ns};
	nsx_spans_normalise(&s);
	if (nsx_spans_intersect(c->out->arena, &s, &x->exposed, ret, err) ||
	    nsx_spans_union(c->run->scratch, &x->waits, ret, &all, err))
		return err->rc;
	x->waits = all;
	return 0;
}

int nccl_add_straggler(struct nccl_costs *c, const char *op,
		       const struct nccl_event *events,
		       const struct nccl_rank *ranks,
		       const struct nccl_match *m, struct nsx_err *err)
{
	const struct nccl_rank *late = &ranks[m->late];
	const struct nsx_change even = {
		.verb = NSX_EVEN_RANK, .by = NSX_BY_PROCESS | NSX_BY_DEVICE,
		.process = late->process, .device = late->device,
	};
	struct nsx_finding f = {
		.id = NSX_ID_nccl_straggler,
		.remedy = plan_of(c->out, &even),
		.confidence = NSX_CONF_HIGH,
		.proof = {{.csv = "nccl_rank_skew", .column = "induced_ms", .units = "ms",
			   .at = {{"op_name", nsx_string(op)},
			    {"rank_label", nsx_string(late->label)}}}},
	};

	f.title = nsx_say(c->out, "%s comes late to %s, and the others wait",
			  late->label, nsx_md_name(c->out, op));
	f.subject = nsx_say(c->out, "%s/%s", op, late->label);
	f.evidence[0] = nsx_say(
		c->out,
			"Last to arrive in %zu of the %zu judged instances in "
			"which a rank is %s late or more (p = %.2g).",
		late->kept_last, m->nkept,
			nsx_text_ns(c->out->arena, (double)m->least_late_ns),
		m->p_value);
	f.evidence[1] = nsx_say(
		c->out,
		"The others wait %s for it in these (their median); over the "
		"whole trace %s, and the transfers themselves take %s.",
		nsx_text_ns(c->out->arena, late->kept_induced_ns),
		nsx_text_ns(c->out->arena, late->induced_ns),
		nsx_text_ns(c->out->arena, (double)m->transfer_ns));
	f.evidence[2] = m->cause ?
		nsx_say(c->out, "Cause: %s (%.0f %% of the lateness).", m->cause,
			100 * m->cause_share) :
		"Cause: unattributed, no single one explains 80 % of the "
		"lateness.";
	f.recommendation[0] = nsx_say(
		c->out, "Look at %s before its collectives, not at the network: "
		"uneven work, a slower GPU, or its input pipeline.",
		late->label);
	for (size_t k = 0; k < m->nranks; k++) {
		if (m->rank[k] == m->late)
			continue;
		f.device = ranks[m->rank[k]].device;
		if (find_waits(c, events, ranks, m, k, &f.spans, err))
			return err->rc;
		nsx_found(&c->out->found, &f);
	}
	return 0;
}

static double share(int64_t part_ns, int64_t whole_ns)
{
	return whole_ns ? 100 * (double)part_ns / (double)whole_ns : 0;
}

/* The communication of a device in the judged window. */
struct habits {
	size_t n;
	double median_ns;
	bool computes_beside; /* on the same stream, all of it */
};

static int find_habits(const struct nsx_run *run, uint32_t device,
		       struct habits *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_device *d = &t->device[device];
	const struct nsx_window w = nsx_judged(run->facts);
	uint8_t *computes = nsx_arena_try_array(run->scratch, t->nstreams, 1,
						"streams", err);
	int64_t *v = nsx_arena_try_array(run->scratch, d->nops, sizeof(*v),
					 "communication kernels", err);

	*ret = (struct habits){.computes_beside = true};
	if (!computes || !v)
		return err->rc;
	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++)
		if (t->ops.cls[i] == NSX_C_COMPUTE)
			computes[t->ops.stream[i]] = 1;
	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++) {
		int64_t at_ns = nsx_op_start(&t->ops, i);

		if (t->ops.cls[i] != NSX_C_COMM || at_ns < w.start_ns ||
		    at_ns >= w.end_ns)
			continue;
		v[ret->n++] = nsx_op_ns(&t->ops, i);
		ret->computes_beside &= computes[t->ops.stream[i]];
	}
	if (ret->n)
		ret->median_ns = nsx_quantile(v, ret->n, 0.5);
	nsx_arena_drop(run->scratch, v);
	return 0;
}

/* The mean of the busiest counter of a link of the device while it communicates,
 * in percent; < 0: there is none.
 */
static double link_pct(const struct nsx_run *run, uint32_t device,
		       const char *const *names)
{
	const struct nsx_metrics *m = run->facts->metrics;
	double most = -1;

	for (size_t i = 0; m && i < m->n; i++) {
		const struct nsx_metric_scope *s =
			&m->v[i].scope[NSX_SCOPE_COMM];

		for (size_t k = 0; names[k]; k++)
			if (m->v[i].device == device && m->v[i].name &&
			    s->weight_ns && s->mean <= 100 &&
			    strcasestr(m->v[i].name, names[k]) &&
			    strcasestr(m->v[i].name, "throughput"))
				most = NSX_MAX(most, s->mean);
	}
	return most;
}

/* Whether it goes over PCIe although there is NVLink. */
static bool say_link(struct nccl_costs *c, uint32_t device, const char **ret)
{
	static const char *const pcie[] = {"PCIe", NULL};
	static const char *const nvlink[] = {"NVLink", "NVLRX", "NVLTX", NULL};
	double slow = link_pct(c->run, device, pcie);
	double fast = link_pct(c->run, device, nvlink);

	if (fast < 0 || fast >= LINK_IDLE_PCT || slow < LINK_BUSY_PCT)
		return false;
	*ret = nsx_say(c->out, "While it communicates PCIe is at %.0f %% and "
		       "NVLink at %.1f %%: the ranks do not reach each other "
		       "over NVLink.", slow, fast);
	return true;
}

/* Why it is exposed, as far as the trace shows; what to do about each. */
static void say_why(struct nccl_costs *c, const struct nccl_cost *x,
		    const struct habits *h, struct nsx_finding *f)
{
	unsigned n = 1, k = 0; /* one evidence stands already */

	if (x->waited_ns * 2 > x->comm_ns) {
		f->evidence[n++] = nsx_say(
			c->out,
			"%s of its communication is waiting for ranks that "
			"come later: half of the time or more is no transfer.",
			nsx_text_ns(c->out->arena, (double)x->waited_ns));
		f->recommendation[k++] = "Even out when the ranks arrive.";
	}
	if (say_link(c, f->device, &f->evidence[n])) {
		n++;
		f->recommendation[k++] =
			"Let NCCL use NVLink: nvidia-smi topo -m shows the "
			"links, NCCL_DEBUG=INFO why they are not taken "
			"(NCCL_P2P_DISABLE, peer access, containers).";
	}
	if (h->n >= MANY && h->median_ns < TINY_NS) {
		f->evidence[n++] = nsx_say(
			c->out,
			"Many tiny ones: %zu collectives in the judged window, "
			"the median takes %s, so what each costs to start "
			"counts "
			"for more than its bytes.", h->n, nsx_text_ns(c->out->arena,
			h->median_ns));
		f->recommendation[k++] = "Join small messages: larger buckets, "
					 "one call for many tensors.";
	}
	if (h->n && h->computes_beside) {
		f->evidence[n++] = "All of it runs on streams that compute as "
				   "well: it cannot overlap.";
		f->recommendation[k++] = "Give collectives a stream of their "
					 "own.";
	} else if (x->exposed_ns * 20 > x->comm_ns * 19) {
		f->evidence[n++] = "It has a stream of its own, yet next to "
				   "nothing of it runs beside compute: it is "
				   "started when its result is needed.";
	}
	f->recommendation[k++] = "Start collectives as soon as their input is "
				 "there, in buckets, while the rest is still "
				 "computed.";
}

static int add_blocking(struct nccl_costs *c, uint32_t device,
			struct nsx_err *err)
{
	const struct nccl_cost *x = &c->v[device];
	const struct nsx_change hide = {.verb = NSX_HIDE_COMM};
	struct nsx_finding f = {
		.id = NSX_ID_nccl_exposed,
		.remedy = plan_of(c->out, &hide),
		.device = device, .confidence = NSX_CONF_MEDIUM,
		.proof = {{.csv = "nccl_ops", .column = "exposed_ms", .units = "ms"}},
	};
	struct habits h;

	if (nsx_spans_minus(c->out->arena, &x->blocking, &x->waits, &f.spans,
			    err) ||
	    find_habits(c->run, device, &h, err))
		return err->rc;
	f.title = nsx_say(c->out, "Compute waits for communication on GPU %lld",
			  (long long)c->run->trace->device[device].device_id);
	f.evidence[0] = nsx_say(
		c->out,
			"Of %s of communication %s are exposed; compute starts "
			"right after %s of it, so it was waiting.",
			nsx_text_ns(c->out->arena, (double)x->comm_ns),
			nsx_text_ns(c->out->arena, (double)x->exposed_ns),
			nsx_text_ns(c->out->arena, (double)x->blocking_ns));
	say_why(c, x, &h, &f);
	nsx_found(&c->out->found, &f);
	return 0;
}

int nccl_add_exposed(struct nccl_costs *c, struct nsx_err *err)
{
	const struct nsx_window *w = &c->run->trace->window;
	const struct nccl_cost *worst = NULL;
	int64_t window_ns = w->end_ns - w->start_ns;
	uint32_t device = 0;

	for (uint32_t d = 0; d < c->run->facts->ndevices; d++) {
		const struct nccl_cost *x = &c->v[d];

		if (!x->comm_ns)
			continue;
		if (!worst || x->exposed_ns > worst->exposed_ns) {
			worst = x;
			device = d;
		}
		if (share(x->blocking_ns, window_ns) >= LEAST_PCT &&
		    add_blocking(c, d, err))
			return err->rc;
	}
	if (!worst)
		return 0;
	nsx_md_bullet(c->out,
		      "GPU %lld communicates %s; compute hides %.1f %% of it, "
		      "%s are exposed and %s block compute.",
		      (long long)c->run->trace->device[device].device_id,
		      nsx_text_ns(c->out->arena, (double)worst->comm_ns),
		      100 - share(worst->exposed_ns, worst->comm_ns),
		      nsx_text_ns(c->out->arena, (double)worst->exposed_ns),
		      nsx_text_ns(c->out->arena, (double)worst->blocking_ns));
	if (share(worst->exposed_ns, window_ns) < LEAST_PCT)
		nsx_fine(&c->out->found,
			 "Communication is hidden or short: of %s on GPU %lld "
			 "compute covers %.1f %%, and what is exposed is %.2f "
			 "%% of the window.",
			 nsx_text_ns(c->out->found.arena,
			    (double)worst->comm_ns), (long long)
			    c->run->trace->device[device].device_id,
			    100 - share(worst->exposed_ns, worst->comm_ns),
			    share(worst->exposed_ns, window_ns));
	return 0;
}
