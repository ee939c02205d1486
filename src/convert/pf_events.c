/* pf_events.c - GPU work and host slices as packets. */
#include <errno.h>
#include <stdio.h>
#include "convert/pf.h"

enum { /* fields, grouped by message */
	EVENT_CATEGORY = 3, EVENT_ANNOTATION = 4, EVENT_LEGACY = 6,
	EVENT_TYPE = 9, EVENT_NAME_IID = 10, EVENT_NAME = 23,
	EVENT_GPU_CORRELATION = 3000,
	ANNOTATION_INT = 4, ANNOTATION_TEXT = 6,
	LEGACY_PHASE = 2, LEGACY_ID = 6, LEGACY_FLOW_ID = 8, LEGACY_FLOW = 13,

	WORK_ID = 1, WORK_DURATION = 2, WORK_CONTEXT = 5, WORK_GPU = 11,
	WORK_QUEUE = 13, WORK_STAGE = 14, WORK_NAME = 17, WORK_KERNEL = 19,
	WORK_NAME_IID = 20,
	WORK_LAUNCH = 21,
	LAUNCH_GRID = 1, LAUNCH_BLOCK = 2,
	ARG_NAME_IID = 1, ARG_TEXT = 6, /* ARG_NAME_IID also holds for annotations */
	CONTEXT_PID = 2, CONTEXT_API = 3,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3 };
enum { API_CUDA = 4 };
enum { FLOW_IN = 1, FLOW_OUT = 2 };

/* GPU work --------------------------------------------------------------------*/

static uint64_t intern_context(struct nsx_conv *c, const struct nsx_key *key)
{
	struct nsx_pf *pf = c->pf;
	uint32_t number = 0;
	struct nsx_err err;
	uint64_t iid;
	size_t at;

	if (nsx_group(&pf->contexts, key->w[1], key->w[3], &number, &err))
		c->out->error = ENOMEM;
	iid = 1 + (uint64_t)number;
	if (!nsx_pf_is_untold(c, NSX_PF_TOLD_CONTEXT, iid))
		return iid;
	at = nsx_pb_begin(&pf->interned, NSX_PF_INTERNED_CONTEXT);
	nsx_pb_uint(&pf->interned, NSX_PF_IID, iid);
	nsx_pb_uint(&pf->interned, CONTEXT_PID, (uint64_t)nsx_pid_of(key->w[1]));
	nsx_pb_uint(&pf->interned, CONTEXT_API, API_CUDA);
	nsx_pb_end(&pf->interned, at);
	return iid;
}

static uint64_t intern_queue(struct nsx_conv *c, const struct nsx_key *key)
{
	struct nsx_key queue = {{key->w[1], key->w[3], key->w[4]}};
	char name[32];

	snprintf(name, sizeof(name), "Channel #%lld", (long long)key->w[4]);
	return nsx_pf_intern_spec(c, &queue, name, false);
}

static uint64_t intern_stage(struct nsx_conv *c, const char *name, size_t n, bool is_compute)
{
	struct nsx_key key = {{0, 0, 0, 1}};
	char stage[64];

	snprintf(stage, sizeof(stage), "%.*s", (int)n, name);
	key.w[0] = nsx_pf_text_iid(c, stage, strlen(stage));
	return nsx_pf_intern_spec(c, &key, stage, is_compute);
}

/* Finds the context, queue and stage in which the work of a track runs. */
static const struct nsx_pf_source *gpu_source_of_track(struct nsx_conv *c, uint32_t track)
{
	static const struct nsx_pf_source none;
	const struct nsx_key *key = &c->tracks.track_keys.keys[track];
	struct nsx_pf *pf = c->pf;
	struct nsx_pf_source *s;
	struct nsx_err err;

	if (nsx_grow(&pf->source, &pf->cap_source, track + (size_t)1,
		     sizeof(*pf->source), "streams", &err)) {
		c->out->error = ENOMEM;
		return &none;
	}
	s = &pf->source[track];
	if (!s->context)
		*s = (struct nsx_pf_source){
			intern_context(c, key), intern_queue(c, key),
			c->activity == NSX_A_KERNEL ? intern_stage(c, "Kernel", 6, true) : 0,
			nsx_pf_gpu(c, key->w[1], key->w[2])};
	return s;
}

/* The number that ties a call to the work it launched. With one process it is the correlation id
 * itself, so that its bytes equal those of the argument.
 */
static uint64_t work_id(const struct nsx_conv *c, uint32_t process, uint32_t corr)
{
	return nsx_pf_own(c, (uint64_t)(process ^ c->main_process) << c->corr_bits | corr);
}

/* Begins a piece of GPU work. Constant fields come first and varying ones last, which compresses
 * better.
 */
static void begin_work(struct nsx_conv *c, const struct nsx_slice *s)
{
	const struct nsx_key *key = &c->tracks.track_keys.keys[s->track];
	bool is_kernel = c->activity == NSX_A_KERNEL;
	struct nsx_pf *pf = c->pf;
	const struct nsx_pf_source *from;
	uint64_t stage;
	struct nsx_buf *b;
	char *p;

	nsx_pf_to_lane(c, s->track, s->start_ns);
	nsx_pf_open_packet(c, s->start_ns, NSX_PF_GPU_WORK);
	b = &pf->to->packets;
	from = gpu_source_of_track(c, s->track);
	stage = is_kernel ? from->stage :
			    intern_stage(c, s->name.u.p, s->name.len, c->activity == NSX_A_GRAPH);
	if (is_kernel)
		nsx_pf_put_name(c, &s->name, WORK_NAME_IID, WORK_NAME);
	p = nsx_buf_room(b, 4 * NSX_PB_MAX_UINT);
	p = nsx_pb_put_uint(p, WORK_STAGE, stage);
	p = nsx_pb_put_uint(p, WORK_QUEUE, from->queue);
	if (from->gpu)
		p = nsx_pb_put_uint(p, WORK_GPU, from->gpu);
	nsx_pb_take(b, nsx_pb_put_uint(p, WORK_CONTEXT, from->context));
	if (is_kernel)
		return;
	pf->inner = nsx_pb_begin(b, WORK_LAUNCH);
	nsx_pf_put_int(c, "device", (int64_t)key->w[2]);
	nsx_pf_put_int(c, "stream", (int64_t)key->w[4]);
}

void nsx_pf_kernel(struct nsx_conv *c, const struct nsx_slice *s,
		   const struct nsx_val *other, const struct nsx_val *constant)
{
	struct nsx_buf *b = &c->pf->to->packets;
	bool is_told;
	uint64_t iid = nsx_pf_intern_kernel(c, s, other, constant, &is_told);

	if (iid)
		nsx_pb_uint(b, WORK_KERNEL, iid);
	c->pf->inner = nsx_pb_begin(b, WORK_LAUNCH);
	if (!is_told)
		nsx_pf_put_constants(c, b, NSX_PF_LAUNCH_ARG, s->track, constant);
}

static void end_work(struct nsx_conv *c, const struct nsx_slice *s)
{
	uint32_t process = c->tracks.tracks[s->track].process;
	struct nsx_pf *pf = c->pf;
	struct nsx_buf *b = &pf->to->packets;

	nsx_pb_end(b, pf->inner);
	nsx_pb_uint(b, WORK_ID, s->corr ? work_id(c, process, s->corr) :
		    nsx_pf_own(c, UINT64_C(1) << 63 | ++pf->unnumbered));
	nsx_pb_uint(b, WORK_DURATION, (uint64_t)(s->end_ns - s->start_ns));
	nsx_pf_close_packet(c);
	/* Every surveyed call is written, some of them later than their work. */
	if (s->corr && nsx_flows_has(&c->flows, process, s->corr))
		c->counts->flow_ends++;
}

/* Host ------------------------------------------------------------------------*/

uint64_t nsx_pf_lane_uuid(const struct nsx_conv *c, const struct nsx_track *t,
			  const struct nsx_track_lane *l)
{
	uint64_t number = (uint64_t)(t - c->tracks.tracks + 1) * NSX_CONVERT_PARTS + c->part;

	return nsx_pf_own(c, number * NSX_MAX_TRACK_LANES + (uint64_t)(l - t->lanes));
}

static void pf_events_open_event(struct nsx_conv *c, int64_t at_ns, unsigned type)
{
	nsx_pf_open_packet(c, at_ns, NSX_PF_TRACK_EVENT);
	if (type)
		nsx_pb_uint(&c->pf->to->packets, EVENT_TYPE, type);
}

/* Ends the slices of a lane that end by by_ns, because packets of a lane are in time order. */
static void end_slices(struct nsx_conv *c, int64_t by_ns)
{
	struct nsx_pf_stream *s = c->pf->to;

	while (s->nends && s->ends[s->nends - 1] <= by_ns) {
		pf_events_open_event(c, s->ends[--s->nends], TYPE_END);
		nsx_pf_close_packet(c);
	}
}

void nsx_pf_end_all(struct nsx_conv *c)
{
	for (size_t i = 0; i < c->pf->nlanes; i++) {
		c->pf->to = c->pf->lanes[i];
		end_slices(c, INT64_MAX);
	}
}

/* Writes ranges that may overlap like Chrome's asynchronous events, with a phase and an id. */
static void put_async(struct nsx_conv *c, char phase)
{
	struct nsx_buf *b = &c->pf->to->packets;
	size_t at = nsx_pb_begin(b, EVENT_LEGACY);

	nsx_pb_uint(b, LEGACY_PHASE, (uint64_t)phase);
	nsx_pb_uint(b, LEGACY_ID, nsx_pf_own(c, c->next_async));
	nsx_pb_end(b, at);
}

static void pf_events_put_title(struct nsx_conv *c, const struct nsx_slice *s)
{
	struct nsx_pf *pf = c->pf;
	const char *category = nsx_activity_names[c->activity];

	if (!(pf->to->categories >> c->activity & 1))
		nsx_pb_end(&pf->interned,
			   nsx_pf_intern(pf, NSX_PF_INTERNED_CATEGORY, c->activity + 1u,
				  category, strlen(category)));
	pf->to->categories |= 1U << c->activity;
	nsx_pb_uint(&pf->to->packets, EVENT_CATEGORY, c->activity + 1u);
	nsx_pf_put_name(c, &s->name, EVENT_NAME_IID, EVENT_NAME);
}

/* Connects a call with its GPU work. Packets have a field for this; if GPU work is a plain slice,
 * an arrow connects the two instead. Packets could also connect a call with the work for which it
 * waited. That needs all calls and work in memory, because rows name only a stream or an event.
 */
static void put_flow(struct nsx_conv *c, const struct nsx_slice *s)
{
	const struct nsx_track *t = &c->tracks.tracks[s->track];
	struct nsx_buf *b = &c->pf->to->packets;
	size_t at;

	if (t->nests ? !nsx_flows_start(&c->flows, t->process, s->corr) :
		       !nsx_flows_started(&c->flows, t->process, s->corr))
		return;
	if (c->writer->is_typed) {
		at = nsx_pb_begin(b, EVENT_GPU_CORRELATION);
		nsx_pb_uint(b, 1, work_id(c, t->process, s->corr));
	} else {
		at = nsx_pb_begin(b, EVENT_LEGACY);
		nsx_pb_uint(b, LEGACY_FLOW_ID, work_id(c, t->process, s->corr));
		nsx_pb_uint(b, LEGACY_FLOW, t->nests ? FLOW_OUT : FLOW_IN);
	}
	nsx_pb_end(b, at);
	c->counts->flow_ends += !t->nests;
}

static void begin_event(struct nsx_conv *c, const struct nsx_slice *s)
{
	nsx_pf_to_lane(c, s->track, s->start_ns);
	end_slices(c, s->start_ns);
	pf_events_open_event(c, s->start_ns, c->async ? 0 : s->kind == NSX_MARK ?
				   TYPE_INSTANT : TYPE_BEGIN);
	pf_events_put_title(c, s);
	if (c->async) {
		c->next_async++;
		put_async(c, 'b');
	} else if (s->corr) {
		put_flow(c, s);
	}
}

static void end_event(struct nsx_conv *c, const struct nsx_slice *s)
{
	struct nsx_pf_stream *to = c->pf->to;
	struct nsx_err err;

	nsx_pf_close_packet(c);
	if (c->async) {
		pf_events_open_event(c, s->end_ns, 0);
		c->pf->is_step = false; /* slices of other lanes may begin earlier */
		pf_events_put_title(c, s);
		put_async(c, 'e');
		nsx_pf_close_packet(c);
	} else if (s->kind != NSX_MARK) {
		if (nsx_push(to->ends, to->nends, to->cap_ends, "open slices", &err, s->end_ns))
			c->out->error = ENOMEM;
	}
}

/* Both ------------------------------------------------------------------------*/

static bool is_track_on_gpu(const struct nsx_conv *c)
{
	return c->writer->is_typed && c->activity >= NSX_A_KERNEL && c->activity <= NSX_A_GRAPH;
}

void nsx_pf_begin(struct nsx_conv *c, const struct nsx_slice *s)
{
	if (is_track_on_gpu(c))
		begin_work(c, s);
	else
		begin_event(c, s);
}

void nsx_pf_end(struct nsx_conv *c, const struct nsx_slice *s)
{
	if (is_track_on_gpu(c))
		end_work(c, s);
	else
		end_event(c, s);
}

static size_t open_arg(struct nsx_conv *c, const char *key)
{
	bool gpu = is_track_on_gpu(c);
	size_t at = nsx_pb_begin(&c->pf->to->packets, gpu ? NSX_PF_LAUNCH_ARG : EVENT_ANNOTATION);

	/* In both kinds of entries the first field is the number of the name. */
	nsx_pb_uint(&c->pf->to->packets, ARG_NAME_IID, nsx_pf_intern_key(c->pf, gpu, key));
	return at;
}

void nsx_pf_put_int(struct nsx_conv *c, const char *key, int64_t value)
{
	struct nsx_buf *b = &c->pf->to->packets;
	bool gpu = is_track_on_gpu(c);
	size_t at = nsx_pb_begin(b, gpu ? NSX_PF_LAUNCH_ARG : EVENT_ANNOTATION);
	char *p = nsx_buf_room(b, 2 * NSX_PB_MAX_UINT);

	p = nsx_pb_put_uint(p, ARG_NAME_IID, nsx_pf_intern_key(c->pf, gpu, key));
	p = nsx_pb_put_uint(p, gpu ? NSX_PF_ARG_INT : ANNOTATION_INT, (uint64_t)value);
	nsx_pb_take(b, p);
	nsx_pb_end(b, at);
}

void nsx_pf_put_text(struct nsx_conv *c, const char *key, const struct nsx_val *v)
{
	const char *text;
	size_t n, at;

	(void)nsx_pf_name_of(c, v, &text, &n);
	at = open_arg(c, key);
	nsx_pb_bytes(&c->pf->to->packets, is_track_on_gpu(c) ? ARG_TEXT : ANNOTATION_TEXT, text, n);
	nsx_pb_end(&c->pf->to->packets, at);
}

void nsx_pf_put_dims(struct nsx_conv *c, const char *key, const struct nsx_val *v)
{
	struct nsx_buf *b = &c->pf->to->packets;
	size_t at;

	if (!is_track_on_gpu(c)) {
		char text[48];

		snprintf(text, sizeof(text), "%ux%ux%u", nsx_u32_or(&v[0], 1),
			 nsx_u32_or(&v[1], 1), nsx_u32_or(&v[2], 1));
		at = open_arg(c, key);
		nsx_pb_text(b, ANNOTATION_TEXT, text);
		nsx_pb_end(b, at);
		return;
	}
	at = nsx_pb_begin(b, *key == 'g' ? LAUNCH_GRID : LAUNCH_BLOCK);
	for (unsigned i = 0; i < 3; i++)
		nsx_pb_uint(b, i + 1, nsx_u32_or(&v[i], 1));
	nsx_pb_end(b, at);
}
