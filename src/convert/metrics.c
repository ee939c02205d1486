/* metrics.c - GPU counters: an event a sample, with all its counters. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "convert/convert.h"
#include "schema/viewscan.h"

enum { AT, TYPE, METRIC, VALUE };
static const enum nsx_field fields[] = {
	NSX_F_gpu_metric_timestamp_ns, NSX_F_gpu_metric_type_id,
	NSX_F_gpu_metric_metric_id, NSX_F_gpu_metric_value,
};
static const enum nsx_field info_fields[] = {
	NSX_F_gpu_metric_info_type_id, NSX_F_gpu_metric_info_metric_id,
	NSX_F_gpu_metric_info_metric_name,
};

struct metrics {
	struct nsx_conv *c;
	struct nsx_arena *arena;
	struct nsx_keymap keys; /* {source, counter} */
	struct nsx_keycache *cache;
	struct counter {
		const char *name; /* as the writer wants it */
		uint64_t event;	  /* it was last in */
	} *counters; /* by key */
	size_t cap;
	uint64_t nevents;
	struct nsx_sample sample; /* that is open */
	bool is_open;
};

static int key_of(struct metrics *m, int64_t type, int64_t metric,
		  uint32_t *ret, struct nsx_err *err)
{
	struct nsx_key key = {{(uint64_t)type, (uint64_t)metric}};

	return nsx_keymap_add(&m->keys, m->cache, &key, ret, err) ||
			       nsx_grow(&m->counters, &m->cap, m->keys.n,
					sizeof(*m->counters), "counters", err) ?
		       err->rc : 0;
}

static int read_info(void *ctx, int64_t rid, const struct nsx_val *v,
		     struct nsx_err *err)
{
	struct metrics *m = ctx;
	struct nsx_buf b = {0};
	uint32_t at;

	(void)rid;
	if (v[0].type != NSX_V_I64 || v[1].type != NSX_V_I64 ||
	    v[2].type != NSX_V_TEXT)
		return 0;
	if (key_of(m, v[0].u.i, v[1].u.i, &at, err))
		return err->rc;
	nsx_names_text(m->c->names, &b, v[2].u.p, v[2].len);
	m->counters[at].name = nsx_buf_keep(&b, m->arena);
	return 0;
}

static struct counter *find(struct metrics *m, int64_t type, int64_t metric,
			    struct nsx_err *err)
{
	struct counter *c;
	uint32_t at;

	if (key_of(m, type, metric, &at, err))
		return NULL;
	c = &m->counters[at];
	if (!c->name)
		c->name = nsx_arena_printf(m->arena, "counter %lld",
					   (long long)metric);
	return c;
}

static void close_event(struct metrics *m)
{
	if (m->is_open)
		m->c->writer->sample_end(m->c);
	m->is_open = false;
}

static int open_event(struct metrics *m, struct nsx_err *err)
{
	struct nsx_conv *c = m->c;
	uint32_t group;

	if (nsx_tracks_group(&c->tracks, NSX_G_METRIC, (uint64_t)m->sample.type,
			     0, &group, err))
		return err->rc;
	c->writer->sample(c, &m->sample, c->tracks.groups[group].pid);
	m->is_open = true;
	m->nevents++;
	return 0;
}

static bool is_number(const struct nsx_val *v)
{
	return v->type == NSX_V_I64 ||
	       (v->type == NSX_V_F64 && isfinite(v->u.f));
}

static int read_sample(void *ctx, int64_t rid, const struct nsx_val *v,
		       struct nsx_err *err)
{
	struct metrics *m = ctx;
	struct nsx_conv *c = m->c;
	struct nsx_slice s;
	struct counter *counter;
	bool goes_on;

	(void)rid;
	if (!nsx_conv_span(c, &v[AT], &v[AT], &s))
		return nsx_stopped(err);
	if (v[TYPE].type != NSX_V_I64 || v[METRIC].type != NSX_V_I64 ||
	    !is_number(&v[VALUE]))
		return c->counts->left_out++, 0;
	counter = find(m, v[TYPE].u.i, v[METRIC].u.i, err);
	if (!counter)
		return err->rc;
	goes_on = m->is_open && m->sample.at_ns == s.start_ns &&
		  m->sample.type == v[TYPE].u.i && counter->event != m->nevents;
	if (!goes_on) {
		close_event(m);
		m->sample = (struct nsx_sample){s.start_ns, v[TYPE].u.i};
		if (nsx_stopped(err) || open_event(m, err))
			return err->rc;
	}
	counter->event = m->nevents;
	c->writer->counter(c, (uint32_t)(counter - m->counters), counter->name,
			   &v[VALUE], !goes_on);
	c->counts->samples++;
	return c->out->error ? nsx_fail(err, NSX_E_IO, "cannot write") : 0;
}

static int convert(struct metrics *m, struct nsx_err *err)
{
	const struct nsx_schema *s = m->c->schema;
	int rc;

	m->cache = nsx_try_alloc(1, sizeof(*m->cache), "a key cache", err);
	if (!m->cache)
		return err->rc;
	rc = nsx_view_scan(s, NSX_VIEW_gpu_metric_info, info_fields,
			   ARRAY_LEN(info_fields), 1, read_info, m, 0, err);
	if (!rc)
		rc = nsx_view_scan(s, NSX_VIEW_gpu_metric, fields,
				   ARRAY_LEN(fields), 1, read_sample, m, 0,
				   err);
	close_event(m);
	return rc;
}

/* The survey is a question to SQLite: there are many samples, and only their
 * hull matters.
 */
static int find_hull(struct nsx_conv *c, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_stmt_done) struct nsx_stmt *st = NULL;
	struct nsx_buf b = {0};
	struct nsx_slice lo, hi;
	struct nsx_val v[2];
	int rc;

	nsx_buf_printf(&b, "SELECT min(timestamp_ns), max(timestamp_ns) FROM "
			   "temp.gpu_metric WHERE timestamp_ns BETWEEN %lld "
			   "AND %lld", -(long long)NSX_TIME_MAX,
		       (long long)NSX_TIME_MAX);
	if (c->window.start_ns != c->window.end_ns)
		nsx_buf_printf(&b, " AND timestamp_ns >= %lld AND timestamp_ns "
				   "< %lld", (long long)c->window.start_ns,
			       (long long)c->window.end_ns);
	rc = nsx_db_prepare(c->schema->db, b.p, &st, err);
	nsx_buf_done(&b);
	if (!rc)
		rc = nsx_step(st, err);
	if (rc <= 0)
		return rc;
	nsx_read_val(st, 0, &v[0]);
	nsx_read_val(st, 1, &v[1]);
	if (nsx_conv_span(c, &v[0], &v[0], &lo) &&
	    nsx_conv_span(c, &v[1], &v[1], &hi))
		nsx_conv_hull(c, lo.start_ns, hi.end_ns);
	return 0;
}

int nsx_convert_metrics(struct nsx_conv *c, struct nsx_err *err)
{
	struct metrics m = {.c = c};
	int rc;

	if (!nsx_has_view(c->schema, NSX_VIEW_gpu_metric))
		return 0;
	if (!c->writing)
		return find_hull(c, err);
	m.arena = nsx_arena_new();
	nsx_keymap_init(&m.keys, "counters");
	rc = convert(&m, err);
	nsx_keymap_done(&m.keys);
	free(m.cache);
	free(m.counters);
	nsx_arena_free(m.arena);
	return rc;
}
