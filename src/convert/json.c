/* json.c - Chrome trace events, one JSON object each. */
#include <stdio.h>
#include "convert/convert.h"

/* The greatest size of an event's fixed parts, with keys and numbers, in bytes. */
enum { ROOM = 512 };

static char *put_bytes(char *p, const char *s, size_t n)
{
	memcpy(p, s, n);
	return p + n;
}
#define PUT(p, literal) put_bytes(p, literal, sizeof(literal) - 1)

static char *put_string(char *p, const char *s)
{
	return put_bytes(p, s, strlen(s));
}

/* Writes the separator between events. */
static void put_separator(struct nsx_conv *c)
{
	if (c->has_events)
		nsx_out_add(c->out, ",\n", 2);
	c->has_events = true;
}

/* Writes a name cell without the enclosing quotes. */
static void json_put_name(struct nsx_conv *c, const struct nsx_val *v)
{
	const char *text = NULL;
	char unknown[32], *p;
	size_t n = 0, at;

	if (v->type == NSX_V_TEXT) {
		nsx_out_text(c->out, v->u.p, v->len);
		return;
	}
	if (v->type != NSX_V_I64) {
		nsx_out_adds(c->out, "(unnamed)");
		return;
	}
	text = nsx_names_get(c->names, v->u.i, &n, &at);
	if (text) {
		nsx_out_add(c->out, text, n);
		return;
	}
	p = nsx_json_int(PUT(unknown, "id:"), v->u.i);
	nsx_out_add(c->out, unknown, (size_t)(p - unknown));
}

static int64_t shift_time(const struct nsx_conv *c, int64_t ns)
{
	return ns + c->counts->shift_ns;
}

/* Writes {"ph":"X","pid":1,"tid":2,"ts":3.000 */
static char *json_put_head(struct nsx_conv *c, char *p, int phase,
			   const struct nsx_track_lane *lane, int64_t at_ns)
{
	p = PUT(p, "{\"ph\":\"");
	*p++ = (char)phase;
	p = PUT(p, "\",");
	p = put_bytes(p, lane->head, lane->nhead);
	return nsx_json_us(p, shift_time(c, at_ns));
}

static char *put_id(char *p, uint64_t id)
{
	p = nsx_json_hex(PUT(p, ",\"id\":\"0x"), id);
	*p++ = '"';
	return p;
}

static void json_put_title(struct nsx_conv *c, char *p, const struct nsx_val *name)
{
	p = PUT(p, ",\"cat\":\"");
	p = put_string(p, nsx_activity_names[c->activity]);
	nsx_out_take(c->out, PUT(p, "\",\"name\":\""));
	json_put_name(c, name);
	nsx_out_add(c->out, "\"", 1);
}

static void put_arrow(struct nsx_conv *c, const struct nsx_slice *s, char phase,
		      const struct nsx_track_lane *lane, uint32_t process)
{
	char *p;

	put_separator(c);
	p = json_put_head(c, nsx_out_room(c->out, ROOM), phase, lane, s->start_ns);
	p = put_id(p, (uint64_t)process << 32 | s->corr);
	if (phase == 'f')
		p = PUT(p, ",\"bp\":\"e\"");
	nsx_out_take(c->out, PUT(p, ",\"cat\":\"launch\",\"name\":\"launch\"}"));
}

static void json_begin(struct nsx_conv *c, const struct nsx_slice *s)
{
	char *p;

	put_separator(c);
	p = json_put_head(c, nsx_out_room(c->out, ROOM),
			  c->async ? 'b' : s->kind == NSX_MARK ? 'i' : 'X', c->lane, s->start_ns);
	if (c->async)
		p = put_id(p, ++c->next_async);
	else if (s->kind == NSX_MARK)
		p = PUT(p, ",\"s\":\"t\"");
	else
		p = nsx_json_us(PUT(p, ",\"dur\":"), s->end_ns - s->start_ns);
	json_put_title(c, p, &s->name);
}

static void put_async_end(struct nsx_conv *c, const struct nsx_slice *s)
{
	char *p;

	put_separator(c);
	p = json_put_head(c, nsx_out_room(c->out, ROOM), 'e', c->lane, s->end_ns);
	json_put_title(c, put_id(p, c->next_async), &s->name);
	nsx_out_add(c->out, "}", 1);
}

static void json_end(struct nsx_conv *c, const struct nsx_slice *s)
{
	const struct nsx_track *t = &c->tracks.tracks[s->track];

	nsx_out_add(c->out, "}}", c->has_args ? 2 : 1);
	if (c->async) {
		put_async_end(c, s);
		return; /* arrows cannot be attached to asynchronous events */
	}
	if (!s->corr)
		return;
	if (t->nests ? nsx_flows_start(&c->flows, t->process, s->corr) :
		       nsx_flows_started(&c->flows, t->process, s->corr)) {
		put_arrow(c, s, t->nests ? 's' : 'f', c->lane, t->process);
		c->counts->flow_ends += !t->nests;
	}
}

/* Writes ,"args":{"key": or, after the first argument, ,"key": */
static char *put_key(struct nsx_conv *c, const char *key)
{
	char *p = nsx_out_room(c->out, ROOM);

	if (c->has_args)
		*p++ = ',';
	else
		p = PUT(p, ",\"args\":{");
	c->has_args = true;
	*p++ = '"';
	p = put_string(p, key);
	return PUT(p, "\":");
}

static void arg_int(struct nsx_conv *c, const char *key, int64_t value)
{
	nsx_out_take(c->out, nsx_json_int(put_key(c, key), value));
}

static void arg_name(struct nsx_conv *c, const char *key, const struct nsx_val *v)
{
	nsx_out_take(c->out, PUT(put_key(c, key), "\""));
	json_put_name(c, v);
	nsx_out_add(c->out, "\"", 1);
}

static void arg_dims(struct nsx_conv *c, const char *key, const struct nsx_val *v)
{
	char *p;

	p = PUT(put_key(c, key), "\"");
	for (unsigned i = 0; i < 3; i++) {
		if (i)
			*p++ = 'x';
		p = nsx_json_int(p, nsx_i64_or(&v[i], 1));
	}
	nsx_out_take(c->out, PUT(p, "\""));
}
/* Writes a counter sample: one event with all its values. */
static void json_sample(struct nsx_conv *c, const struct nsx_counter_sample *s)
{
	char head[96], *p;

	put_separator(c);
	p = head + snprintf(head, sizeof(head), "{\"ph\":\"C\",\"pid\":%u,"
			    "\"ts\":", c->tracks.groups[s->group].pid);
	p = nsx_json_us(p, shift_time(c, s->at_ns));
	nsx_out_add(c->out, head, (size_t)(p - head));
	nsx_out_adds(c->out, ",\"name\":\"");
	nsx_out_adds(c->out, s->name);
	nsx_out_adds(c->out, "\",\"args\":{");
}

static void json_counter(struct nsx_conv *c, const struct nsx_track_counter *counter,
			 const struct nsx_val *v, bool is_first)
{
	char value[32];

	nsx_out_adds(c->out, is_first ? "\"" : ",\"");
	nsx_out_adds(c->out, counter->unit ? counter->unit : counter->name);
	nsx_out_adds(c->out, "\":");
	if (v->type == NSX_V_I64)
		*nsx_json_int(value, v->u.i) = 0;
	else
		snprintf(value, sizeof(value), "%.17g", v->u.f);
	nsx_out_adds(c->out, value);
}

static void sample_end(struct nsx_conv *c)
{
	nsx_out_add(c->out, "}}", 2);
}

/* Names ------------------------------------------------------------------------*/

/* Writes {"ph":"M",HEAD,"name":NAME,"args":{KEY: */
static void begin_name(struct nsx_conv *c, const char *head, size_t nhead,
		  const char *name, const char *key)
{
	char text[96];
	int n;

	put_separator(c);
	nsx_out_adds(c->out, "{\"ph\":\"M\",");
	nsx_out_add(c->out, head, nhead);
	n = snprintf(text, sizeof(text), "0,\"name\":\"%s\",\"args\":{\"%s\":", name, key);
	nsx_out_add(c->out, text, (size_t)n);
}

static void put_name_pair(struct nsx_conv *c, const char *head, size_t nhead,
			  const char *what, const char *name, size_t order)
{
	char text[32];

	snprintf(text, sizeof(text), "%s_name", what);
	begin_name(c, head, nhead, text, "name");
	nsx_out_add(c->out, "\"", 1);
	nsx_out_adds(c->out, name);
	nsx_out_add(c->out, "\"}}", 3);
	snprintf(text, sizeof(text), "%s_sort_index", what);
	begin_name(c, head, nhead, text, "sort_index");
	snprintf(text, sizeof(text), "%zu}}", order);
	nsx_out_adds(c->out, text);
}

static void json_name_group(struct nsx_conv *c, uint32_t group, const char *name, size_t order)
{
	char head[32];
	int n = snprintf(head, sizeof(head), "\"pid\":%u,\"ts\":", c->tracks.groups[group].pid);

	put_name_pair(c, head, (size_t)n, "process", name, order);
}

static void json_name_lane(struct nsx_conv *c, uint32_t track, size_t lane,
			   const char *owner, const char *what, size_t order)
{
	const struct nsx_track_lane *l = &c->tracks.tracks[track].lanes[lane];
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_buf_printf(&b, what ? "%s: %s" : "%s", owner, what);
	if (lane)
		nsx_buf_printf(&b, " (lane %zu)", lane + 1);
	put_name_pair(c, l->head, l->nhead, "thread", b.p, order);
}

/* The file ---------------------------------------------------------------------*/

static int json_open_file(struct nsx_conv *c, struct nsx_err *err NSX_UNUSED)
{
	nsx_out_adds(c->out, "{\"traceEvents\":[\n");
	return 0;
}

static void put_file_fact(struct nsx_conv *c, const char *key, int64_t value)
{
	char text[96];

	/* The number is written as text, because readers that store numbers as doubles would
	 * change it.
	 */
	snprintf(text, sizeof(text), ",\n\"%s\":\"%lld\"", key, (long long)value);
	nsx_out_adds(c->out, text);
}

static void json_close_file(struct nsx_conv *c)
{
	const struct nsx_convert_counts *n = c->counts;

	nsx_out_adds(c->out, "\n],\n\"otherData\":{\n\"producer\":"
			     "\"nsys-explain " NSX_VERSION "\"");
	if (c->utc_epoch_ns != INT64_MIN)
		put_file_fact(c, "session_utc_epoch_ns", c->utc_epoch_ns);
	put_file_fact(c, "time_shift_ns", n->shift_ns);
#define PUT_FACT(name, key) put_file_fact(c, key, n->name);
	NSX_CONVERT_COUNTS(PUT_FACT)
#undef PUT_FACT
	nsx_out_adds(c->out, "\n}}\n");
}

const struct nsx_writer nsx_writer_json = {
	false, json_open_file, json_begin, arg_int, arg_name, arg_dims, NULL, json_end,
	json_sample, json_counter, sample_end, json_name_group, json_name_lane, json_close_file,
	NULL};
