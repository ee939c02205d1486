/* events.c - slices, marks, asynchronous ranges and arrows as JSON. */
#include "convert/convert.h"

const char *const nsx_activity_names[NSX_NACTIVITIES] = {
	[NSX_A_NVTX] = "nvtx",	   [NSX_A_API] = "cuda-api",
	[NSX_A_OSRT] = "osrt",	   [NSX_A_SCHED] = "sched",
	[NSX_A_KERNEL] = "kernel", [NSX_A_MEMCPY] = "memcpy",
	[NSX_A_MEMSET] = "memset", [NSX_A_GRAPH] = "graph",
	[NSX_A_NVTX_GPU] = "nvtx-kernel", [NSX_A_METRIC] = "gpu-metrics",
};

/* The fixed parts of an event, keys, numbers and all, are shorter. */
enum { ROOM = 512 };

static char *put(char *p, const char *s, size_t n)
{
	memcpy(p, s, n);
	return p + n;
}
#define PUT(p, literal) put(p, literal, sizeof(literal) - 1)

static char *puts_at(char *p, const char *s)
{
	return put(p, s, strlen(s));
}

void nsx_event_sep(struct nsx_conv *c)
{
	if (c->has_events)
		nsx_out_add(c->out, ",\n", 2);
	c->has_events = true;
}

/* Reading --------------------------------------------------------------------*/

bool nsx_conv_in_window(const struct nsx_conv *c, int64_t start_ns,
			int64_t end_ns)
{
	const struct nsx_window *w = &c->window;

	return w->start_ns == w->end_ns ||
	       (start_ns < w->end_ns &&
		(end_ns > w->start_ns || start_ns >= w->start_ns));
}

static bool is_instant(const struct nsx_val *v)
{
	return v->type == NSX_V_I64 && v->u.i <= NSX_TIME_MAX &&
	       v->u.i >= -NSX_TIME_MAX;
}

bool nsx_conv_span(struct nsx_conv *c, const struct nsx_val *start,
		   const struct nsx_val *end, struct nsx_slice *ret)
{
	if (!is_instant(start) || !is_instant(end) || end->u.i < start->u.i) {
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

/* The survey of a slice. */
static int note(struct nsx_conv *c, const struct nsx_slice *s,
		struct nsx_err *err)
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
				      t->nests ? NSX_FLOW_CALL : NSX_FLOW_GPU,
				      err))
		return err->rc;
	return nsx_names_use(&c->names, &s->name, err);
}

/* Writing --------------------------------------------------------------------*/

/* A name cell; without the quotes around it. */
static void put_name(struct nsx_conv *c, const struct nsx_val *v)
{
	const char *text = NULL;
	char unknown[32], *p;
	size_t n = 0;

	if (v->type == NSX_V_TEXT) {
		nsx_out_text(c->out, v->u.p, v->len);
		return;
	}
	if (v->type != NSX_V_I64) {
		nsx_out_adds(c->out, "(unnamed)");
		return;
	}
	text = nsx_names_get(&c->names, v->u.i, &n);
	if (text) {
		nsx_out_add(c->out, text, n);
		return;
	}
	p = nsx_json_int(PUT(unknown, "id:"), v->u.i);
	nsx_out_add(c->out, unknown, (size_t)(p - unknown));
}

static int64_t shifted(const struct nsx_conv *c, int64_t ns)
{
	return ns + c->counts->shift_ns;
}

/* {"ph":"X","pid":1,"tid":2,"ts":3.000 */
static char *put_head(struct nsx_conv *c, char *p, int phase,
		      const struct nsx_lane *lane, int64_t at_ns)
{
	p = PUT(p, "{\"ph\":\"");
	*p++ = (char)phase;
	p = PUT(p, "\",");
	p = put(p, lane->head, lane->nhead);
	return nsx_json_us(p, shifted(c, at_ns));
}

static char *put_id(char *p, uint64_t id)
{
	p = nsx_json_hex(PUT(p, ",\"id\":\"0x"), id);
	*p++ = '"';
	return p;
}

static void put_title(struct nsx_conv *c, char *p, const struct nsx_val *name)
{
	p = PUT(p, ",\"cat\":\"");
	p = puts_at(p, nsx_activity_names[c->activity]);
	nsx_out_take(c->out, PUT(p, "\",\"name\":\""));
	put_name(c, name);
	nsx_out_add(c->out, "\"", 1);
}

static void put_arrow(struct nsx_conv *c, const struct nsx_slice *s, char phase,
		      const struct nsx_lane *lane, uint32_t process)
{
	char *p;

	nsx_event_sep(c);
	p = put_head(c, nsx_out_room(c->out, ROOM), phase, lane, s->start_ns);
	p = put_id(p, (uint64_t)process << 32 | s->corr);
	if (phase == 'f')
		p = PUT(p, ",\"bp\":\"e\"");
	nsx_out_take(c->out, PUT(p, ",\"cat\":\"launch\",\"name\":"
				    "\"launch\"}"));
}

static struct nsx_lane *pick_lane(struct nsx_conv *c, const struct nsx_slice *s,
				  struct nsx_err *err)
{
	struct nsx_lane *lane, *first = c->tracks.tracks[s->track].lanes;

	err->rc = NSX_OK;
	if (s->kind != NSX_SLICE)
		return first;
	lane = nsx_tracks_fit(&c->tracks, s->track, s->start_ns, s->end_ns,
			      err);
	c->counts->in_lanes += lane != c->tracks.tracks[s->track].lanes;
	return lane;
}

int nsx_slice_begin(struct nsx_conv *c, const struct nsx_slice *s,
		    struct nsx_err *err)
{
	char *p;

	if (nsx_stopped(err))
		return err->rc;
	if (!c->writing)
		return note(c, s, err);
	if (c->out->error)
		return nsx_fail(err, NSX_E_IO, "cannot write");
	c->lane = pick_lane(c, s, err);
	if (err->rc)
		return err->rc;
	c->async = s->kind == NSX_ASYNC || !c->lane;
	if (!c->lane)
		c->lane = c->tracks.tracks[s->track].lanes;
	nsx_event_sep(c);
	p = put_head(c, nsx_out_room(c->out, ROOM),
		     c->async ? 'b' : s->kind == NSX_MARK ? 'i' : 'X', c->lane,
		     s->start_ns);
	if (c->async)
		p = put_id(p, ++c->next_async);
	else if (s->kind == NSX_MARK)
		p = PUT(p, ",\"s\":\"t\"");
	else
		p = nsx_json_us(PUT(p, ",\"dur\":"), s->end_ns - s->start_ns);
	put_title(c, p, &s->name);
	c->has_args = false;
	return 1;
}

static void put_async_end(struct nsx_conv *c, const struct nsx_slice *s)
{
	char *p;

	nsx_event_sep(c);
	p = put_head(c, nsx_out_room(c->out, ROOM), 'e', c->lane, s->end_ns);
	put_title(c, put_id(p, c->next_async), &s->name);
	nsx_out_add(c->out, "}", 1);
}

void nsx_slice_end(struct nsx_conv *c, const struct nsx_slice *s)
{
	const struct nsx_track *t = &c->tracks.tracks[s->track];

	nsx_out_add(c->out, "}}", c->has_args ? 2 : 1);
	if (c->async) {
		put_async_end(c, s);
		c->counts->asyncs++;
		return; /* no arrow can be tied to it */
	}
	if (s->kind == NSX_MARK)
		c->counts->marks++;
	else
		c->counts->slices++;
	if (!s->corr)
		return;
	if (t->nests && nsx_flows_start(&c->flows, t->process, s->corr)) {
		put_arrow(c, s, 's', c->lane, t->process);
		c->counts->flow_starts++;
	} else if (!t->nests &&
		   nsx_flows_started(&c->flows, t->process, s->corr)) {
		put_arrow(c, s, 'f', c->lane, t->process);
		c->counts->flow_ends++;
	}
}

/* ,"args":{"key": */
static char *put_key(struct nsx_conv *c, const char *key)
{
	char *p = nsx_out_room(c->out, ROOM);

	if (c->has_args)
		*p++ = ',';
	else
		p = PUT(p, ",\"args\":{");
	c->has_args = true;
	*p++ = '"';
	p = puts_at(p, key);
	return PUT(p, "\":");
}

void nsx_arg_int(struct nsx_conv *c, const char *key, int64_t value)
{
	nsx_out_take(c->out, nsx_json_int(put_key(c, key), value));
}

void nsx_arg_name(struct nsx_conv *c, const char *key, const struct nsx_val *v)
{
	nsx_out_take(c->out, PUT(put_key(c, key), "\""));
	put_name(c, v);
	nsx_out_add(c->out, "\"", 1);
}

void nsx_arg_dims(struct nsx_conv *c, const char *key, const struct nsx_val *v)
{
	char *p;

	if (v[0].type != NSX_V_I64)
		return;
	p = PUT(put_key(c, key), "\"");
	for (unsigned i = 0; i < 3; i++) {
		if (i)
			*p++ = 'x';
		p = nsx_json_int(p, nsx_i64_or(&v[i], 1));
	}
	nsx_out_take(c->out, PUT(p, "\""));
}
