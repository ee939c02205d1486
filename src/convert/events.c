/* events.c - passes slices, marks and asynchronous ranges to a writer. */
#include "convert/convert.h"

const char *const nsx_activity_names[NSX_NACTIVITIES] = {
	[NSX_A_NVTX] = "nvtx",	   [NSX_A_API] = "cuda-api",
	[NSX_A_LIBRARY] = "libraries",
	[NSX_A_OSRT] = "osrt",	   [NSX_A_SCHED] = "sched",
	[NSX_A_KERNEL] = "kernel", [NSX_A_MEMCPY] = "memcpy",
	[NSX_A_MEMSET] = "memset", [NSX_A_GRAPH] = "graph",
	[NSX_A_NVTX_GPU] = "nvtx-kernel", [NSX_A_METRIC] = "gpu-metrics",
	[NSX_A_MEMORY] = "memory", [NSX_A_FINDING] = "findings",
	[NSX_A_QUEUE] = "queues",
};

/* Reading --------------------------------------------------------------------*/

bool nsx_conv_in_window(const struct nsx_conv *c, int64_t start_ns, int64_t end_ns)
{
	const struct nsx_window *w = &c->window;

	return w->start_ns == w->end_ns ||
	       (start_ns < w->end_ns &&
		(end_ns > w->start_ns || start_ns >= w->start_ns));
}

bool nsx_conv_span(struct nsx_conv *c, const struct nsx_val *start,
		   const struct nsx_val *end, struct nsx_slice *ret)
{
	if (!nsx_is_span(&c->shifts, start, end)) {
		c->counts->left_out += c->writing;
		return false;
	}
	ret->start_ns = start->u.i;
	ret->end_ns = end->u.i;
	return nsx_conv_in_window(c, ret->start_ns, ret->end_ns);
}

void nsx_conv_hull(struct nsx_conv *c, int64_t start_ns, int64_t end_ns)
{
	c->first_ns = NSX_MIN(c->first_ns, start_ns);
	c->last_ns = NSX_MAX(c->last_ns, end_ns);
}

static int survey_slice(struct nsx_conv *c, const struct nsx_slice *s, struct nsx_err *err)
{
	struct nsx_track *t = &c->tracks.tracks[s->track];
	bool tie = s->start_ns == t->last_start_ns;

	nsx_conv_hull(c, s->start_ns, s->open ? s->start_ns : s->end_ns);
	if (s->kind == NSX_SLICE) {
		if (s->start_ns < t->last_start_ns ||
		    (tie && (t->nests ? s->end_ns > t->last_end_ns :
					s->end_ns < t->last_end_ns)))
			c->late |= 1U << c->activity;
		t->last_start_ns = s->start_ns;
		t->last_end_ns = s->end_ns;
	}
	if (s->corr && nsx_flows_note(&c->flows, t->process, s->corr,
				      t->nests ? NSX_FLOW_CALL : NSX_FLOW_GPU, err))
		return err->rc;
	return nsx_names_use(c->names, &s->name, err);
}

/* Writing --------------------------------------------------------------------*/

static struct nsx_track_lane *find_lane_for_slice(struct nsx_conv *c, const struct nsx_slice *s,
						  struct nsx_err *err)
{
	struct nsx_track_lane *lane, *first = c->tracks.tracks[s->track].lanes;

	err->rc = NSX_OK;
	if (s->kind != NSX_SLICE || (c->writer->is_typed && !c->tracks.tracks[s->track].nests))
		return first;
	lane = nsx_tracks_fit(&c->tracks, s->track, s->start_ns, s->end_ns, err);
	c->counts->in_lanes += lane != c->tracks.tracks[s->track].lanes;
	return lane;
}

int nsx_slice_begin(struct nsx_conv *c, const struct nsx_slice *s, struct nsx_err *err)
{
	if (nsx_stopped(err))
		return err->rc;
	if (!c->writing)
		return survey_slice(c, s, err);
	if (c->out->error)
		return nsx_fail(err, NSX_E_IO, "cannot write");
	c->lane = find_lane_for_slice(c, s, err);
	if (err->rc)
		return err->rc;
	c->async = s->kind == NSX_ASYNC || !c->lane;
	if (!c->lane)
		c->lane = c->tracks.tracks[s->track].lanes;
	c->has_args = false;
	c->writer->begin(c, s);
	return 1;
}

/* Ends a slice, with the arrow from a call to the work that it launched. Arrows never lead from or
 * to asynchronous ranges.
 */
void nsx_slice_end(struct nsx_conv *c, const struct nsx_slice *s)
{
	c->writer->end(c, s);
	if (c->async)
		c->counts->asyncs++;
	else if (s->kind == NSX_MARK)
		c->counts->marks++;
	else
		c->counts->slices++;
}

int nsx_slice_put(struct nsx_conv *c, const struct nsx_slice *s, struct nsx_err *err)
{
	int rc = nsx_slice_begin(c, s, err);

	if (rc > 0)
		nsx_slice_end(c, s);
	return NSX_MIN(rc, 0);
}
