/* timeline.c - overview and lanes of events, packed for a page. */
#include "base/number.h"
#include "base/stat.h"
#include "report/timeline.h"
#include "report/words.h"

const char *const nsx_event_class_names[NSX_NEV] = {
	[NSX_EV_COMPUTE] = "compute", [NSX_EV_COMM] = "communication",
	[NSX_EV_COPY] = "copy", [NSX_EV_RANGE] = "range", [NSX_EV_LAUNCH] = "launch",
	[NSX_EV_WAIT] = "wait", [NSX_EV_CALL] = "call",
};

enum { MAX_STREAMS = 48, MAX_THREADS = 8, MAX_DEPTH = 6, MAX_DETAIL = 24 };

struct build {
	const struct nsx_report *r;
	const struct nsx_trace *t;
	const struct nsx_facts *f;
	struct nsx_timeline *tl;
	uint32_t *kernels, *ranges, *calls; /* by nsx_str: index + 1 in names */
	uint32_t copies[256], others[4]; /* by kind of copy or of operation: index + 1 in names */
};

/* Overview --------------------------------------------------------------------*/

static int64_t bin_start(const struct nsx_timeline *tl, int64_t bin)
{
	__int128 length_ns = tl->end_ns - tl->origin_ns;

	return tl->origin_ns + (int64_t)(length_ns * bin / NSX_OVERVIEW_BINS);
}

static int fill_overview(struct build *b, struct nsx_err *err)
{
	struct nsx_timeline *tl = b->tl;
	uint8_t *at;

	tl->overview = nsx_arena_try_array(tl->arena, (size_t)b->t->ndevices * NSX_OVERVIEW_BINS,
		NSX_NPARTS, "the overview", err);
	if (!tl->overview)
		return err->rc;
	at = tl->overview;
	for (uint32_t d = 0; d < b->t->ndevices; d++)
		for (int64_t i = 0; i < NSX_OVERVIEW_BINS; i++) {
			int64_t from = bin_start(tl, i), to = bin_start(tl, i + 1);
			struct nsx_partition p;

			nsx_partition(&b->f->device[d], from, to, &p);
			for (unsigned k = 0; k < NSX_NPARTS; k++, at++)
				*at = (uint8_t)(!p.ns[k] ? 0 : NSX_MAX(
					1, (__int128)p.ns[k] * 255 / (to - from)));
		}
	return 0;
}

/* Names -----------------------------------------------------------------------*/

/* The index of a name. *index caches it, so the text is used only the first time. */
static int name_index(struct build *b, uint32_t *index, const char *text,
		      enum nsx_event_class cls, uint32_t *ret, struct nsx_err *err)
{
	struct nsx_timeline *tl = b->tl;

	if (!*index) {
		if (nsx_push(tl->names, tl->nnames, tl->cap_names, "names of events", err,
			     (struct nsx_event_name){text, cls, 0}))
			return err->rc;
		*index = (uint32_t)tl->nnames;
	}
	*ret = *index - 1;
	return 0;
}

static int timeline_op_name(struct build *b, size_t op, uint32_t *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = b->t;
	unsigned kind = t->ops.kind[op];
	const char *text = kind == NSX_OP_MEMSET ? "memset" : "graph replay";

	if (kind == NSX_OP_KERNEL) {
		nsx_str name = nsx_op_name(t, op);

		if (name_index(b, &b->kernels[name], NULL,
			       t->ops.cls[op] == NSX_C_COMM ?
				       NSX_EV_COMM : NSX_EV_COMPUTE, ret, err))
			return err->rc;
		b->tl->names[*ret].kernel = name;
		return 0;
	}
	if (kind == NSX_OP_MEMCPY) {
		unsigned copy = nsx_op_copy(t, op)->copy_kind;

		if (!b->copies[copy])
			text = nsx_arena_printf(b->tl->arena, "copy %s", nsx_copy_direction(copy));
		return name_index(b, &b->copies[copy], text, NSX_EV_COPY, ret, err);
	}
	return name_index(b, &b->others[kind], text,
			  kind == NSX_OP_GRAPH ? NSX_EV_COMPUTE : NSX_EV_COPY, ret, err);
}

const char *nsx_event_text(const struct nsx_report *r, const struct nsx_timeline *t, size_t i)
{
	const struct nsx_event_name *x = &t->names[i];

	return x->text ? x->text : nsx_kernel_label(&r->facts->kernels, x->kernel);
}

/* Lanes -----------------------------------------------------------------------*/

static struct nsx_lane_events *timeline_add_lane(struct build *b, uint32_t device,
						 const char *label)
{
	struct nsx_timeline *tl = b->tl;

	if (tl->nlanes == NSX_MAX_LANES) {
		tl->hidden++;
		return NULL;
	}
	tl->lanes[tl->nlanes] = (struct nsx_lane_events){
		.device = device, .label = label, .last_ns = tl->origin_ns};
	return &tl->lanes[tl->nlanes++];
}

/* Number of lanes that each GPU may have, so that no GPU pushes another out: at least a stream and
 * a lane of ranges.
 */
static size_t share_of_gpu(const struct build *b)
{
	return NSX_MAX(2, (NSX_MAX_LANES - MAX_THREADS) / NSX_MAX(1, b->t->ndevices));
}

/* Whether [start, end) is drawn; *cursor begins at 0, starts ascend. */
static bool timeline_is_wanted(const struct nsx_timeline *tl, size_t *cursor,
			       int64_t start, int64_t end)
{
	if (end < tl->origin_ns || start > tl->end_ns)
		return false;
	if (!tl->ndetail)
		return true;
	while (*cursor < tl->ndetail && tl->detail[*cursor].end_ns <= start)
		++*cursor;
	return *cursor < tl->ndetail && tl->detail[*cursor].start_ns < end;
}

/* Adds an event, cut to the window. Events of a lane come in order of start. */
static void timeline_add_event(struct nsx_timeline *tl, struct nsx_lane_events *l,
			       int64_t start, int64_t end, uint32_t name)
{
	start = NSX_MAX(start, l->last_ns);
	end = NSX_MAX(NSX_MIN(end, tl->end_ns), start);
	nsx_put_number(&l->start, (uint64_t)(start - l->last_ns));
	nsx_put_number(&l->length, (uint64_t)(end - start));
	nsx_put_number(&l->name, name);
	l->last_ns = start;
	l->n++;
	tl->nevents++;
}

/* GPU work, a lane a stream ----------------------------------------------------*/

struct busy_stream {
	uint32_t stream, nops;
	uint32_t place; /* position among the streams of its GPU; the busiest has 0 */
};

NSX_ORDER(cmp_busy, struct busy_stream, DOWN(nops), UP(stream));

NSX_ORDER(cmp_place, struct busy_stream, UP(place), DOWN(nops), UP(stream));

NSX_ORDER(cmp_stream, struct busy_stream, UP(stream));

/* Picks the streams with most operations, the busiest of each GPU first. Orders them by device, as
 * in the trace.
 */
static size_t pick_streams(struct build *b, struct busy_stream *v)
{
	const struct nsx_trace *t = b->t;
	uint32_t *places = nsx_arena_get(b->tl->arena, (t->ndevices + 1) * sizeof(*places));
	size_t n = 0;

	for (uint32_t i = 0; i < t->nstreams; i++)
		v[i] = (struct busy_stream){.stream = i};
	for (size_t i = 0; i < t->ops.n; i++)
		v[nsx_op_stream(&t->ops, i)].nops++;
	nsx_sort(v, t->nstreams, sizeof(*v), cmp_busy);
	for (uint32_t i = 0; i < t->nstreams; i++)
		v[i].place = v[i].nops ? places[t->stream[v[i].stream].device]++ : NSX_NONE;
	nsx_sort(v, t->nstreams, sizeof(*v), cmp_place);
	while (n < t->nstreams && n < MAX_STREAMS && v[n].nops)
		n++;
	for (size_t i = n; i < t->nstreams; i++)
		b->tl->hidden += v[i].nops > 0;
	nsx_sort(v, n, sizeof(*v), cmp_stream);
	return n;
}

static const char *timeline_stream_label(struct build *b, uint32_t stream)
{
	const struct nsx_stream *s = &b->t->stream[stream];

	if (b->t->nprocesses > b->t->ndevices)
		return nsx_arena_printf(b->tl->arena, "stream %lld of %s",
			(long long)s->stream_id, nsx_pid_label(b->t, s->process));
	return nsx_arena_printf(b->tl->arena, "stream %lld", (long long)s->stream_id);
}

/* Drops streams without events in the drawn windows. */
static void drop_empty(struct nsx_timeline *tl, size_t from)
{
	size_t n = from;

	for (size_t i = from; i < tl->nlanes; i++)
		if (tl->lanes[i].n)
			tl->lanes[n++] = tl->lanes[i];
	tl->nlanes = n;
}

static int fill_streams(struct build *b, uint32_t device, const struct busy_stream *v, size_t n,
			uint32_t *lane_of, struct nsx_err *err)
{
	const struct nsx_trace *t = b->t;
	const struct nsx_device *d = &t->device[device];
	size_t cursor = 0, first = b->tl->nlanes, most = first + share_of_gpu(b);

	for (size_t i = first; i && b->tl->lanes[i - 1].device == device; i--)
		most--; /* leaves a lane for the device's ranges */
	for (size_t i = 0; i < n; i++) {
		if (t->stream[v[i].stream].device != device)
			continue;
		if (b->tl->nlanes == most)
			b->tl->hidden++;
		else if (timeline_add_lane(b, device, timeline_stream_label(b, v[i].stream)))
			lane_of[v[i].stream] = (uint32_t)b->tl->nlanes;
	}
	for (size_t i = d->ops_at; i < (size_t)d->ops_at + d->nops; i++) {
		uint32_t lane = lane_of[nsx_op_stream(&t->ops, i)], name = 0;
		int64_t start = nsx_op_start(&t->ops, i);
		int64_t end = nsx_op_end(&t->ops, i);

		if (!lane || !timeline_is_wanted(b->tl, &cursor, start, end))
			continue;
		if (timeline_op_name(b, i, &name, err))
			return err->rc;
		timeline_add_event(b->tl, &b->tl->lanes[lane - 1], start, end, name);
	}
	drop_empty(b->tl, first);
	return nsx_stopped(err);
}

/* NVTX ranges projected on the GPU: from the first to the last operation launched inside
 * ------
 */

struct projection { /* a range as it is drawn                                 */
	int64_t start_ns, end_ns;
	uint32_t range, depth;
};
struct projections {
	struct nsx_window *hull; /* by range: the span of its GPU work */
	uint8_t *depth;	     /* by range: its depth, at most MAX_DEPTH       */
	struct projection *v;
	size_t n, cap;
	bool has[MAX_DEPTH]; /* by depth: whether a range has it, drawn or not */
};

NSX_ORDER(cmp_projections, struct projection, UP(start_ns), DOWN(end_ns), UP(range));

void nsx_range_hulls(const struct nsx_trace *t, const struct nsx_nvtx_facts *f, uint32_t device,
		     struct nsx_window *hull)
{
	const struct nsx_device *d = &t->device[device];

	for (size_t i = 0; i < t->nvtx.n; i++)
		hull[i] = (struct nsx_window){INT64_MAX, INT64_MIN};
	for (size_t i = d->ops_at; i < (size_t)d->ops_at + d->nops; i++)
		if (nsx_op_range(f, i) != NSX_NONE)
			nsx_widen(&hull[nsx_op_range(f, i)], nsx_op_start(&t->ops, i),
				  nsx_op_end(&t->ops, i));
	/* Parents precede their children, so go backwards. */
	for (uint32_t i = (uint32_t)t->nvtx.n; i-- > 0;) {
		uint32_t parent = nsx_range_parent(f, i);

		if (parent != NSX_NONE && hull[i].start_ns <= hull[i].end_ns)
			nsx_widen(&hull[parent], hull[i].start_ns, hull[i].end_ns);
	}
}

/* Projects the ranges that are drawn on a device. */
static int timeline_project(const struct build *b, uint32_t device,
			    struct projections *p, struct nsx_err *err)
{
	nsx_range_hulls(b->t, &b->f->nvtx, device, p->hull);
	p->n = 0;
	memset(p->has, 0, sizeof(p->has));
	for (uint32_t i = 0; i < b->t->nvtx.n; i++) {
		uint32_t parent = nsx_range_parent(&b->f->nvtx, i);
		struct projection v = {p->hull[i].start_ns, p->hull[i].end_ns, i, 0};
		size_t first = 0;

		if (parent != NSX_NONE)
			p->depth[i] = (uint8_t)NSX_MIN(p->depth[parent] + 1, MAX_DEPTH);
		if (v.start_ns > v.end_ns || p->depth[i] == MAX_DEPTH)
			continue;
		v.depth = p->depth[i];
		p->has[v.depth] = true;
		if (!timeline_is_wanted(b->tl, &first, v.start_ns, v.end_ns))
			continue;
		if (nsx_push(p->v, p->n, p->cap, "NVTX ranges", err, v))
			return err->rc;
	}
	nsx_sort(p->v, p->n, sizeof(*p->v), cmp_projections);
	return 0;
}

static int fill_projected(struct build *b, uint32_t device,
			  struct projections *p, struct nsx_err *err)
{
	size_t lane[MAX_DEPTH] = {0};

	if (timeline_project(b, device, p, err))
		return err->rc;
	for (unsigned k = 0; k < MAX_DEPTH; k++)
		if (p->has[k] && k + 1 < share_of_gpu(b) &&
		    timeline_add_lane(b, device, k ? "" : "NVTX"))
			lane[k] = b->tl->nlanes;
	for (size_t i = 0; i < p->n; i++) {
		const struct projection *v = &p->v[i];
		uint32_t name = 0;
		nsx_str range;

		if (!lane[v->depth])
			continue;
		range = b->t->nvtx.name[v->range];
		if (name_index(b, &b->ranges[range], nsx_text(b->t, range),
			       NSX_EV_RANGE, &name, err))
			return err->rc;
		timeline_add_event(b->tl, &b->tl->lanes[lane[v->depth] - 1],
				   v->start_ns, v->end_ns, name);
	}
	return nsx_stopped(err);
}

/* Threads: ranges that no GPU shows, and outermost calls --------------------- */

static const char *timeline_thread_label(const struct build *b,
					 const struct nsx_thread *th, const char *what)
{
	return nsx_arena_printf(b->tl->arena, "%s %lld%s",
				th->name ? nsx_text(b->t, th->name) : "thread",
				(long long)th->tid, what);
}

/* Puts each range into the first lane that is free at its start; for nested ranges that is
 * the lane of their depth.
 */
static int timeline_fill_ranges(struct build *b, const struct nsx_thread *th, struct nsx_err *err)
{
	const struct nsx_nvtx *x = &b->t->nvtx;
	struct nsx_lane_events *lane[MAX_DEPTH];
	int64_t end_ns[MAX_DEPTH];
	size_t cursor = 0, n = 0;

	for (size_t i = th->nvtx_at; i < (size_t)th->nvtx_at + th->nnvtx; i++) {
		int64_t start = nsx_range_start(x, i);
		int64_t end = nsx_range_end(x, i);
		uint32_t name = 0;
		size_t k = 0;

		if (i > th->nvtx_at && x->kind[i] != x->kind[i - 1])
			cursor = n = 0; /* continues with the ranges that are on no stack */
		while (k < n && end_ns[k] > start)
			k++;
		if (k == MAX_DEPTH || x->kind[i] == NSX_NVTX_MARK ||
		    !timeline_is_wanted(b->tl, &cursor, start, end))
			continue;
		if (k == n &&
		    !(lane[n++] = timeline_add_lane(b, NSX_NONE, k ? "" : timeline_thread_label(
				b, th, x->kind[i] == NSX_NVTX_STACK ? "" :
					", start/end"))))
			break;
		if (name_index(b, &b->ranges[x->name[i]],
			       nsx_text(b->t, x->name[i]), NSX_EV_RANGE, &name, err))
			return err->rc;
		end_ns[k] = end;
		timeline_add_event(b->tl, lane[k], start, end, name);
	}
	return nsx_stopped(err);
}

static enum nsx_event_class call_class(const struct build *b, size_t call)
{
	switch (b->t->calls.cls[call]) {
	case NSX_CALL_LAUNCH:
		return NSX_EV_LAUNCH;
	case NSX_CALL_SYNC:
		return NSX_EV_WAIT;
	default:
		return nsx_call_blocks(b->f, b->t, call) ? NSX_EV_WAIT : NSX_EV_CALL;
	}
}

static int fill_thread(struct build *b, uint32_t thread, struct nsx_err *err)
{
	const struct nsx_trace *t = b->t;
	const struct nsx_thread *th = &t->thread[thread];
	bool has_ranges = !t->ndevices && th->nnvtx;
	struct nsx_lane_events *l = timeline_add_lane(b, NSX_NONE, timeline_thread_label(
			b, th, has_ranges ? ", calls" : ""));
	size_t cursor = 0;

	for (size_t i = th->calls_at; l && i < (size_t)th->calls_at + th->ncalls; i++) {
		int64_t start = nsx_call_start(&t->calls, i);
		int64_t end = nsx_call_end(&t->calls, i);
		nsx_str raw = nsx_call_name(&t->calls, i);
		uint32_t name = 0;

		if (t->calls.flags[i] & NSX_CALL_NESTED ||
		    !timeline_is_wanted(b->tl, &cursor, start, end))
			continue;
		if (name_index(b, &b->calls[raw], b->calls[raw] ? NULL :
			       nsx_text_api(b->tl->arena, nsx_text(t, raw)),
			       call_class(b, i), &name, err))
			return err->rc;
		timeline_add_event(b->tl, l, start, end, name);
	}
	return nsx_stopped(err);
}

static int timeline_fill_threads(struct build *b, struct nsx_err *err)
{
	bool has_gpu = b->t->ndevices > 0;
	unsigned n = 0;

	for (uint32_t i = 0; i < b->t->nthreads; i++) {
		const struct nsx_thread *th = &b->t->thread[i];

		if (has_gpu ? !th->launches : !th->ncalls && !th->nnvtx)
			continue;
		if (n++ >= MAX_THREADS)
			b->tl->hidden++;
		else if ((!has_gpu && timeline_fill_ranges(b, th, err)) ||
			 (th->ncalls && fill_thread(b, i, err)))
			return err->rc;
	}
	return 0;
}

/* Detail ------------------------------------------------------------------------*/

static size_t ops_within(const struct nsx_trace *t, const struct nsx_window *w)
{
	size_t n = 0;

	for (uint32_t d = 0; d < t->ndevices; d++) {
		size_t edge[2];

		for (unsigned k = 0; k < 2; k++) {
			int64_t at = k ? w->end_ns : w->start_ns;
			size_t lo = t->device[d].ops_at;
			size_t hi = lo + t->device[d].nops;

			NSX_BISECT(lo, hi, mid, nsx_op_start(&t->ops, mid) < at);
			edge[k] = lo;
		}
		n += edge[1] - edge[0];
	}
	return n;
}

/* Takes a window if its events fit. Assumes as many calls and as many ranges as operations. */
static void take_window(struct build *b, int64_t start, int64_t end, size_t *room)
{
	struct nsx_timeline *tl = b->tl;
	struct nsx_window w = {NSX_MAX(start, tl->origin_ns), NSX_MIN(end, tl->end_ns)};
	size_t n;

	if (w.start_ns >= w.end_ns || tl->ndetail == MAX_DETAIL)
		return;
	n = 3 * ops_within(b->t, &w);
	if (n > *room)
		return;
	*room -= n;
	tl->detail[tl->ndetail++] = w;
}

static int timeline_cmp_length(const void *a, const void *b)
{
	const struct nsx_iteration *x = *(const struct nsx_iteration *const *)a;
	const struct nsx_iteration *y = *(const struct nsx_iteration *const *)b;
	int64_t n = x->end_ns - x->start_ns, m = y->end_ns - y->start_ns;

	return n != m ? (n < m ? -1 : 1) : x < y ? -1 : x > y;
}

/* Takes the first, the median and the slowest steady iteration. */
static void want_iterations(struct build *b, size_t *room)
{
	const struct nsx_facts *f = b->f;
	const struct nsx_iteration **v = nsx_arena_get(
		b->tl->arena, (f->niterations + 1) * sizeof(*v));
	const struct nsx_iteration *pick[3];
	size_t n = 0;

	for (size_t i = 0; i < f->niterations; i++)
		if (f->iterations[i].steady)
			v[n++] = &f->iterations[i];
	if (!n)
		return;
	pick[0] = v[0];
	nsx_sort(v, n, sizeof(*v), timeline_cmp_length);
	pick[1] = v[n / 2];
	pick[2] = v[n - 1];
	for (unsigned i = 0; i < 3; i++)
		take_window(b, pick[i]->start_ns, pick[i]->end_ns, room);
}

/* Takes the time around the longest span of each finding. */
static void want_findings(struct build *b, size_t *room)
{
	for (size_t i = 0; i < b->r->found.n; i++) {
		const struct nsx_spans *s = &b->tl->places[i];
		int64_t margin;

		if (!s->n)
			continue;
		margin = (s->v[0].end_ns - s->v[0].start_ns) / 4;
		take_window(b, s->v[0].start_ns - margin, s->v[0].end_ns + margin, room);
	}
}

NSX_ORDER(cmp_windows, struct nsx_window, UP(start_ns));

static void choose_detail(struct build *b, size_t max_events)
{
	struct nsx_timeline *tl = b->tl;
	size_t events = b->t->ops.n + b->t->calls.n + b->t->nvtx.n;
	size_t room = max_events, n = 0;

	tl->detail = nsx_arena_get(tl->arena, (MAX_DETAIL + 1) * sizeof(*tl->detail));
	if (events <= max_events)
		return;
	want_iterations(b, &room);
	want_findings(b, &room);
	if (!b->t->ops.n) { /* without GPU work, takes as much from the beginning as fits */
		double share = (double)max_events / (double)(events + 1);

		tl->detail[tl->ndetail++] = (struct nsx_window){
			tl->origin_ns, tl->origin_ns + nsx_to_i64(
				share * (double)(tl->end_ns - tl->origin_ns))};
	}
	if (!tl->ndetail) /* no window fits, so no event is drawn */
		tl->detail[tl->ndetail++] = (struct nsx_window){
			tl->origin_ns, tl->origin_ns};
	nsx_sort(tl->detail, tl->ndetail, sizeof(*tl->detail), cmp_windows);
	for (size_t i = 1; i < tl->ndetail; i++)
		if (tl->detail[i].start_ns <= tl->detail[n].end_ns)
			tl->detail[n].end_ns = NSX_MAX(tl->detail[n].end_ns, tl->detail[i].end_ns);
		else
			tl->detail[++n] = tl->detail[i];
	tl->ndetail = n + 1;
}

/* All ---------------------------------------------------------------------------*/

static int find_places(struct build *b, struct nsx_err *err)
{
	const struct nsx_findings *l = &b->r->found;
	struct nsx_window w = nsx_judged(b->f);

	if (w.start_ns == w.end_ns)
		w = b->t->window;
	b->tl->places = nsx_arena_get(b->tl->arena, (l->n + 1) * sizeof(*b->tl->places));
	for (size_t i = 0; i < l->n; i++)
		if (nsx_finding_places(b->r, &l->v[i], &w, b->tl->arena, &b->tl->places[i], err))
			return err->rc;
	return 0;
}

static int timeline_fill_devices(struct build *b, struct projections *p,
				 struct nsx_arena *scratch, struct nsx_err *err)
{
	const struct nsx_trace *t = b->t;
	struct busy_stream *v;
	uint32_t *lane_of;
	size_t n;

	if (!nsx_new_array(v, scratch, t->nstreams, "streams", err) ||
	    !nsx_new_array(lane_of, scratch, t->nstreams, "streams", err) ||
	    !nsx_new_array(p->hull, scratch, t->nvtx.n, "NVTX ranges", err) ||
	    !nsx_new_array(p->depth, scratch, t->nvtx.n, "NVTX ranges", err))
		return err->rc;
	n = pick_streams(b, v);
	for (uint32_t d = 0; d < t->ndevices; d++)
		if (fill_projected(b, d, p, err) || fill_streams(b, d, v, n, lane_of, err))
			return err->rc;
	return 0;
}

static int fill_lanes(struct build *b, struct nsx_arena *scratch, struct nsx_err *err)
{
	size_t bound = nsx_strings_bound(b->t->strings);
	struct projections p = {0};
	int rc;

	if (!nsx_new_array(b->kernels, scratch, bound, "names", err) ||
	    !nsx_new_array(b->ranges, scratch, bound, "names", err) ||
	    !nsx_new_array(b->calls, scratch, bound, "names", err))
		return err->rc;
	rc = timeline_fill_devices(b, &p, scratch, err);
	free(p.v);
	return rc ? rc : timeline_fill_threads(b, err);
}

int nsx_timeline_build(const struct nsx_report *r, size_t max_events,
		       struct nsx_timeline **ret, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new(), *scratch = nsx_arena_new();
	struct nsx_timeline *tl = nsx_arena_get(a, sizeof(*tl));
	struct build b = {.r = r, .t = r->trace, .f = r->facts, .tl = tl};
	int rc;

	tl->arena = a;
	tl->origin_ns = r->trace->window.start_ns;
	tl->end_ns = r->trace->window.end_ns;
	tl->lanes = nsx_arena_get(a, NSX_MAX_LANES * sizeof(*tl->lanes));
	rc = fill_overview(&b, err) || find_places(&b, err) ? err->rc : 0;
	if (!rc) {
		choose_detail(&b, max_events);
		rc = fill_lanes(&b, scratch, err);
	}
	nsx_arena_free(scratch);
	if (rc)
		nsx_timeline_free(tl);
	else
		*ret = tl;
	return rc;
}

void nsx_timeline_free(struct nsx_timeline *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nlanes; i++) {
		nsx_buf_done(&t->lanes[i].start);
		nsx_buf_done(&t->lanes[i].length);
		nsx_buf_done(&t->lanes[i].name);
	}
	free(t->names);
	nsx_arena_free(t->arena);
}
