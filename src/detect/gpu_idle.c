/* gpu_idle.c - idle time of a GPU in general; GPUs in words. */
#include "detect/detect.h"

#define IDLE_SHARE 0.05
#define VARIED 1.1 /* least ratio of the mean square of sizes to the square of their mean */
enum {
	MOST_CAUSES = 3,
	MANY_PAGES = 10, /* with fewer pages the time may be mostly other work of the host */
	FAULT_NS = 1000, /* a fault takes several microseconds; a shorter gap parts one fetch */
};

const char *nsx_say_over_gpus(struct nsx_detect *d, const uint32_t *ops, size_t n)
{
	const struct nsx_trace *t = d->trace;
	bool *seen = nsx_arena_get(d->scratch, t->ndevices);
	unsigned ngpus = 0;

	for (size_t i = 0; i < n; i++) {
		bool *is = &seen[nsx_stream_of(t, ops[i])->device];

		ngpus += !*is;
		*is = true;
	}
	return ngpus > 1 ? nsx_tell(d->found, " on %u GPUs", ngpus) : "";
}

const char *nsx_say_own_gpu(struct nsx_detect *d, uint32_t process, const char *before,
			    const char *after)
{
	const struct nsx_trace *t = d->trace;
	uint32_t own = NSX_NONE, other = NSX_NONE;
	const struct nsx_comm_cost *comm = d->measured->comm;

	for (uint32_t i = 0; process < t->nprocesses && i < t->nstreams; i++) {
		const struct nsx_stream *s = &t->stream[i];

		if (!d->has_mpi && (!comm || !comm[s->device].comm_ns))
			continue;
		if (s->process != process)
			other = s->device;
		else if (own != NSX_NONE && own != s->device)
			return "";
		else
			own = s->device;
	}
	return own == NSX_NONE || other == NSX_NONE || own == other ?
		       "" : nsx_tell(d->found, "%s%s%s", before, nsx_gpu_label(t, own), after);
}

/* idle time in which the host fetches the pages that it touches, one by one */
struct fetches {
	size_t n;    /* gaps, each of which ends with a migration that no call launches */
	int64_t ns;
	double fault_ns; /* the part that does not grow with the pages' size; negative: not known */
};

/* Separates the host's own work on what it fetched, which grows with its size, from the faults, which
 * do not: a line of least squares through gaps over the bytes that were fetched right before.
 */
static struct fetches find_fetches(const struct nsx_detect *d)
{
	const struct nsx_idle *idle = &d->facts->idle[d->facts->limiting];
	struct fetches f = {.fault_ns = -1};
	double n = 0, x = 0, y = 0, xx = 0, xy = 0;
	uint32_t before = NSX_NONE;

	for (size_t i = nsx_idle_from(idle, d->w.start_ns); i < idle->n; i++) {
		struct nsx_idle_piece p = nsx_idle_at(idle, i);
		const struct nsx_copy *c;
		double ns = (double)(NSX_MIN(p.end_ns, d->w.end_ns) -
				     NSX_MAX(p.start_ns, d->w.start_ns)), bytes = 0;

		if (p.cause != NSX_CAUSE_MIGRATION || ns < FAULT_NS || p.op == NSX_NONE)
			continue;
		c = nsx_op_copy(d->trace, p.op);
		if (!nsx_copy_is_fetched(c->copy_kind, c->cause))
			continue;
		f.n++;
		nsx_add_to(&f.ns, (int64_t)ns);
		for (uint32_t op = before; op < p.op; op++)
			bytes += (double)NSX_MAX(0, nsx_op_copy(d->trace, op)->bytes);
		before = p.op;
		if (bytes <= 0)
			continue;
		n++;
		x += bytes;
		y += ns;
		xx += bytes * bytes;
		xy += bytes * ns;
	}
	if (n * xx > x * x * VARIED) /* all of it is faults if the gaps do not grow */
		f.fault_ns = (double)f.ns *
			     (1 - NSX_MAX(0, (n * xy - x * y) / (n * xx - x * x)) * x / y);
	return f;
}

/* The first advice on idle time whose greatest cause is `top`. */
static const char *advise_on_idle(const struct nsx_detect *d, enum nsx_cause top)
{
	const struct nsx_ledger *l = &d->measured->ledger;

	if ((top == NSX_CAUSE_DISPATCH || top == NSX_CAUSE_DEPENDENCY) &&
	    l->between_nodes_ns > (l->idle_ns[NSX_CAUSE_DISPATCH] +
				   l->idle_ns[NSX_CAUSE_DEPENDENCY]) / 2)
		return say_capture_with_cuda_graph;
	return top == NSX_CAUSE_DISPATCH ? say_fuse_small_kernels_or_give :
					   say_look_at_longest_gaps_under;
}

/* Adds as evidence "mostly host code (12 ms), the host waits (3 ms)" for the judged window, with
 * advice on the first cause.
 */
static void tell_causes(struct nsx_detect *d, struct nsx_finding *f)
{
	struct fetches fetches = find_fetches(d);
	struct nsx_findings *l = d->found;
	int64_t ns[NSX_NCAUSES];
	const char *text = "mostly";

	memcpy(ns, d->idle_ns, sizeof(d->idle_ns));
	for (unsigned i = 0; i < MOST_CAUSES; i++) {
		unsigned top = 0;

		for (unsigned c = 1; c < ARRAY_LEN(ns); c++)
			if (ns[c] > ns[top])
				top = c;
		if (!ns[top])
			break;
		if (!i)
			f->recommendation[0] = advise_on_idle(d, top);
		text = nsx_tell(l, "%s%s %s (%s)", text, i ? "," : "", nsx_cause_words[top],
			nsx_tell_ns(l, ns[top]));
		ns[top] = 0;
	}
	f->evidence[0] = nsx_tell(l, "%s in %s, %s", nsx_text_ns(l->arena, f->guess_ns),
				  nsx_text_n(l->arena, f->spans.n, "gap", NULL), text);
	if (fetches.n < MANY_PAGES || (double)fetches.ns < f->guess_ns / 2)
		return;
	f->title = nsx_tell(
		l, say_host_fetches_pages_unified, nsx_gpu_label(d->trace, f->device));
	f->id = NSX_ID_page_fetches;
	f->is_rule = fetches.fault_ns >= 0;
	f->is_bound = !f->is_rule;
	f->guess_ns = f->is_rule ? fetches.fault_ns : (double)fetches.ns;
	f->evidence[f->is_bound] = f->is_bound ? say_an_upper_bound_host_own :
		nsx_tell(l, say_host_works_on_pages, nsx_tell_ns(l, fetches.ns), fetches.n,
			 nsx_text_ns(l->arena, fetches.fault_ns));
	f->recommendation[0] = say_prefetch_host_what_reads;
}

int nsx_detect_gpu_idle(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_facts *facts = d->facts;
	struct nsx_findings *l = d->found;
	struct nsx_finding f = {
		.id = NSX_ID_gpu_idle, .device = facts->limiting,
		.confidence = NSX_CONF_MEDIUM,
		.proof = {{.csv = "partition", .column = "total_ms",
			   .at = {{"device_id", {0}}, {"class", nsx_string("idle")}}}}};
	const char *label;
	double share;

	if (facts->limiting == NSX_NONE)
		return 0;
	label = nsx_gpu_label(d->trace, facts->limiting);
	f.proof[0].at[0].is = nsx_int(d->trace->device[facts->limiting].device_id);
	if (nsx_idle_spans(&facts->idle[facts->limiting], &d->w, l->arena, &f.spans, err))
		return err->rc;
	f.guess_ns = (double)nsx_spans_total(&f.spans);
	share = f.guess_ns / d->length_ns;
	if (share < IDLE_SHARE) {
		nsx_fine(l, say_gpu_idle_judged_window, label, nsx_text_share(l->arena, share, 1));
		return 0;
	}
	f.title =
		nsx_tell(l, say_gpu_idle_judged_window, label, nsx_text_share(l->arena, share, 1));
	tell_causes(d, &f);
	nsx_found(l, &f);
	return 0;
}
