/* gpu_idle.c - idle time of a GPU in general; GPUs in words. */
#include "detect/detect.h"
#include "facts/fetches.h"

#define IDLE_SHARE 0.05
enum {
	MOST_CAUSES = 3,
	MANY_PAGES = 10, /* with fewer pages the time may be mostly other work of the host */
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
	struct nsx_fetches fetches = nsx_find_fetches(d->facts, d->trace, f->device, d->w);
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
	f.proof[0].at[0].is = nsx_device_cell(d->trace, facts->limiting);
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
