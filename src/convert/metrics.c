/* metrics.c - GPU counters: one event per sample, with all its counters. */
#include <math.h>
#include <stdio.h>
#include "convert/convert.h"
#include "facts/metrics/metrics.h"
#include "passes/pass.h"
#include "schema/viewscan.h"

enum { AT, TYPE, METRIC, VALUE };
static const enum nsx_field fields[] = {
	NSX_FIELDS(gpu_metric, timestamp_ns, type_id, metric_id, value)};
struct metrics {
	struct nsx_groups keys; /* {source, counter} */
	struct counter {
		const char *name; /* name, prepared for the writer */
		uint64_t event;	  /* number of the last event that contained the counter */
		int64_t last_ns;  /* time of the source's last sample; used by the survey */
		int64_t most;	  /* see nsx_metric_most */
	} *counters; /* one for each key */
	struct nsx_near near;
	struct nsx_conv *c;
	struct nsx_arena *arena;
	uint64_t nevents;
	int64_t at_ns, type; /* time and type of the open, or last surveyed, sample */
	bool is_open;
};

static struct counter *find_counter(struct metrics *m, int64_t type, int64_t metric,
				    struct nsx_err *err)
{
	struct counter *ret = nsx_near_value(&m->keys, &m->near, &m->counters, (uint64_t)type,
					     (uint64_t)metric, "counters", err);

	return ret;
}

static int read_info(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
		     struct nsx_err *err)
{
	struct metrics *m = ctx;
	struct counter *counter;
	struct nsx_buf b = {0};

	if (v[0].type != NSX_V_I64 || v[1].type != NSX_V_I64 || v[2].type != NSX_V_TEXT)
		return 0;
	counter = find_counter(m, v[0].u.i, v[1].u.i, err);
	if (!counter)
		return err->rc;
	nsx_names_text(m->c->names, &b, v[2].u.p, v[2].len);
	counter->name = nsx_buf_keep(&b, m->arena);
	counter->most = nsx_metric_most(nsx_val_text(&v[2], m->arena));
	return 0;
}

static void close_event(struct metrics *m)
{
	if (m->is_open)
		m->c->writer->sample_end(m->c);
	m->is_open = false;
}

static int metrics_open_event(struct metrics *m, int64_t at_ns, int64_t type, struct nsx_err *err)
{
	struct nsx_conv *c = m->c;
	char name[32];
	struct nsx_counter_sample s = {.at_ns = at_ns, .name = name};

	if (nsx_tracks_group(&c->tracks, NSX_G_METRIC, (uint64_t)type, 0, &s.group, err))
		return err->rc;
	snprintf(name, sizeof(name), "GPU %d", (int)(type & 0xff));
	c->writer->sample(c, &s);
	m->at_ns = at_ns;
	m->type = type;
	m->is_open = true;
	m->nevents++;
	return 0;
}

static int metrics_read_sample(void *ctx, int64_t rid NSX_UNUSED,
			       const struct nsx_val *v, struct nsx_err *err)
{
	struct metrics *m = ctx;
	struct nsx_conv *c = m->c;
	struct nsx_slice s;
	struct counter *counter;
	double value;
	bool goes_on;

	if (!nsx_conv_span(c, &v[AT], &v[AT], &s))
		return nsx_stopped(err);
	if (v[TYPE].type != NSX_V_I64 || v[METRIC].type != NSX_V_I64 ||
	    !(v[VALUE].type == NSX_V_I64 || (v[VALUE].type == NSX_V_F64 && isfinite(v[VALUE].u.f))))
		return c->counts->left_out++, 0;
	counter = find_counter(m, v[TYPE].u.i, v[METRIC].u.i, err);
	if (!counter)
		return err->rc;
	if (!counter->name) {
		counter->name = nsx_arena_printf(m->arena, "counter %lld",
						 (long long)v[METRIC].u.i);
		counter->most = nsx_metric_most(NULL);
	}
	value = v[VALUE].type == NSX_V_I64 ? (double)v[VALUE].u.i : v[VALUE].u.f;
	if (value < 0 || round(value) > (double)counter->most)
		return c->counts->left_out++, 0;
	goes_on = m->is_open && m->at_ns == s.start_ns &&
		  m->type == v[TYPE].u.i && counter->event != m->nevents;
	if (!goes_on) {
		close_event(m);
		if (nsx_stopped(err) || metrics_open_event(m, s.start_ns, v[TYPE].u.i, err))
			return err->rc;
	}
	counter->event = m->nevents;
	c->writer->counter(c, &(struct nsx_track_counter){
				   (uint32_t)(counter - m->counters),
				   counter->name, NULL},
			   &v[VALUE], !goes_on);
	c->counts->samples++;
	return c->out->error ? nsx_fail(err, NSX_E_IO, "cannot write") : 0;
}

static int metrics_read_all(struct metrics *m, struct nsx_err *err)
{
	struct nsx_conv *c = m->c;
	const struct nsx_activity_def d = {NSX_VIEW_gpu_metric, fields,
					   .nfields = ARRAY_LEN(fields)};
	struct nsx_buf b = {0};

	if (!c->opts->pftrace || !(c->late >> NSX_A_METRIC & 1))
		return nsx_view_scan(c->schema, NSX_VIEW_gpu_metric, fields,
				     ARRAY_LEN(fields), 1, metrics_read_sample, m, 0, err);
	nsx_conv_select(c->schema, d.view, "0", &d, &b);
	nsx_buf_adds(&b, " ORDER BY 2, 3, 4, 5");
	return nsx_conv_sorted(c, &b, ARRAY_LEN(fields), metrics_read_sample, m, err);
}

/* Surveys a sample: extends the time span, and notes whether each source is in time order. */
static int survey_sample(void *ctx, int64_t rid NSX_UNUSED,
			 const struct nsx_val *v, struct nsx_err *err)
{
	struct metrics *m = ctx;
	int64_t type = nsx_i64_or(&v[TYPE], 0);
	struct counter *source;
	struct nsx_slice s;

	if (!nsx_conv_span(m->c, &v[AT], &v[AT], &s))
		return nsx_stopped(err);
	if (m->is_open && s.start_ns == m->at_ns && type == m->type)
		return 0;
	source = find_counter(m, type, 0, err);
	if (!source)
		return err->rc;
	if (source->event && s.start_ns < source->last_ns)
		m->c->late |= 1U << NSX_A_METRIC;
	source->event = 1;
	source->last_ns = m->at_ns = s.start_ns;
	m->type = type;
	m->is_open = true;
	nsx_conv_hull(m->c, s.start_ns, s.end_ns);
	return 0;
}

static int metrics_write_all(struct metrics *m, struct nsx_err *err)
{
	int rc = nsx_view_each(m->c->schema, gpu_metric_info, read_info, m, err,
			       type_id, metric_id, metric_name) ?:
		 metrics_read_all(m, err);

	close_event(m);
	m->c->ncounters += (uint32_t)m->keys.n;
	return rc;
}

int nsx_convert_metrics(struct nsx_conv *c, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *arena = nsx_arena_new();
	NSX_AT_EXIT(nsx_sums_done) struct metrics m = {.c = c, .arena = arena};

	if (!nsx_has_view(c->schema, NSX_VIEW_gpu_metric))
		return 0;
	return c->writing ? metrics_write_all(&m, err) :
			  nsx_view_scan(c->schema, NSX_VIEW_gpu_metric, fields, TYPE + 1, 1,
					survey_sample, &m, 0, err);
}
