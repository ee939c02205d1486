/* gpu_idle.c - idle time of a GPU in general; GPUs in words. */
#include "detect/detect.h"

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

/* Idle time in which the host fetches the pages that it touches, one by one; 0: few pages, before
 * which the host does something else. Such a gap ends with a migration that no call launches.
 */
static int64_t fetching_ns(const struct nsx_detect *d)
{
	const struct nsx_idle *idle = &d->facts->idle[d->facts->limiting];
	const struct nsx_trace *t = d->trace;
	int64_t sum_ns = 0;
	size_t pages = 0;

	for (size_t i = 0; i < idle->n; i++) {
		struct nsx_idle_piece x;
		const struct nsx_copy *c;
		int64_t ns;

		if (idle->tag[i].cause != NSX_CAUSE_MIGRATION)
			continue;
		x = nsx_idle_at(idle, i);
		ns = NSX_MIN(x.end_ns, d->w.end_ns) - NSX_MAX(x.start_ns, d->w.start_ns);
		if (ns <= 0 || x.op == NSX_NONE)
			continue;
		c = nsx_op_copy(t, x.op);
		if (nsx_copy_is_fetched(c->copy_kind, c->cause)) {
			sum_ns += ns;
			pages++;
		}
	}
	return pages < MANY_PAGES ? 0 : sum_ns;
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
	int64_t ns[NSX_NCAUSES + 1];
	enum { FETCHING = NSX_NCAUSES };
	int64_t fetched_ns = fetching_ns(d);
	const char *text = "mostly";
	bool fetches = false;

	memcpy(ns, d->idle_ns, sizeof(d->idle_ns));
	ns[FETCHING] = fetched_ns;
	ns[NSX_CAUSE_MIGRATION] -= fetched_ns;
	for (unsigned i = 0; i < MOST_CAUSES; i++) {
		unsigned top = 0;

		for (unsigned c = 1; c < ARRAY_LEN(ns); c++)
			if (ns[c] > ns[top])
				top = c;
		if (!ns[top])
			break;
		fetches |= !i && top == FETCHING;
		if (!i)
			f->recommendation[0] =
				fetches ? say_prefetch_host_what_reads : advise_on_idle(d, top);
		text = nsx_tell(d->found, "%s%s %s (%s)", text, i ? "," : "",
			top == FETCHING ? say_host_fetches_pages_one_by : nsx_cause_words[top],
			nsx_tell_ns(d->found, ns[top]));
		ns[top] = 0;
	}
	f->evidence[0] = nsx_tell(d->found, "%s in %s, %s",
				  nsx_text_ns(d->found->arena, f->guess_ns),
				  nsx_text_n(d->found->arena, f->spans.n, "gap", NULL), text);
	if (!fetches)
		return;
	f->title = nsx_tell(
		d->found, say_host_fetches_pages_unified, nsx_gpu_label(d->trace, f->device));
	f->id = NSX_ID_page_fetches;
	f->guess_ns = (double)fetched_ns;
	f->is_bound = true;
	f->evidence[1] = say_an_upper_bound_host_own;
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
