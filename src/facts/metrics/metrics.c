/* metrics.c - sampled GPU counters: reads the table in parts, finds the sampling period of each
 * source, and computes statistics.
 *
 * Tables may have 240 million rows. Memory holds only 8 bytes for the timestamp of each sample,
 * which has many rows, and some kilobytes for each counter.
 */
#include <ctype.h>
#include "base/par.h"
#include "base/stat.h"
#include "schema/cells.h"
#include "schema/viewscan.h"
#include "facts/metrics/fold.h"

#define VM_AT 48 /* bits of a type from here on: machine */

const char *const nsx_scope_names[NSX_NSCOPES] = {
	[NSX_SCOPE_WINDOW] = "window", [NSX_SCOPE_COMPUTE] = "compute",
	[NSX_SCOPE_COMM] = "comm", [NSX_SCOPE_COPY] = "copy", [NSX_SCOPE_IDLE] = "idle",
};

/* Names of counters ----------------------------------------------------------- */

struct info {
	int64_t type, metric, source;
	const char *type_name, *name;
};

struct names {
	const struct nsx_trace *t;
	struct nsx_arena *a, *scratch;
	struct info *v;
	size_t n, cap;
	struct fold_reach (*reach)[4]; /* one for each device */
	bool with_curves;
};

static int read_counter_info(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			     struct nsx_err *err)
{
	struct names *names = ctx;

	if (v[0].type != NSX_V_I64)
		return 0;
	return nsx_push(names->v, names->n, names->cap, "names of GPU metrics",
			err, (struct info){
		v[0].u.i, nsx_i64_or(&v[1], -1), nsx_i64_or(&v[2], v[0].u.i),
		nsx_val_text(&v[3], names->a), nsx_val_text(&v[4], names->a)});
}

NSX_ORDER(cmp_info, struct info, UP(type), UP(metric), TEXT(name), TEXT(type_name));

/* The first entry of the type at or after (type, metric), or NULL. */
static const struct info *find_info(const struct names *names, int64_t type, int64_t metric)
{
	size_t lo = NSX_SEARCH(0, names->n, mid, names->v[mid].type < type ||
			       (names->v[mid].type == type &&
				names->v[mid].metric < metric));

	return lo < names->n && names->v[lo].type == type ? &names->v[lo] : NULL;
}

/* The GPU number in a text like "... GPU 3 ..."; -1: none. */
static int64_t metrics_number_in(const char *type_name)
{
	for (const char *p = type_name; (p = strcasestr(p, "gpu")); p += 3) {
		const char *q = p + 3;

		if (p > type_name && isalnum((unsigned char)p[-1]))
			continue;
		q += strspn(q, " #[:");
		if (isdigit((unsigned char)*q))
			return strtol(q, NULL, 10);
	}
	return -1;
}

static int64_t metrics_gpu_of(const struct names *names, int64_t type)
{
	const struct info *x = find_info(names, type, INT64_MIN);
	int64_t gpu = x ? metrics_number_in(x->type_name) : -1;

	if (gpu >= 0)
		return gpu;
	gpu = type & 0xff;
	for (uint32_t i = 0; i < names->t->ngpus; i++)
		if (names->t->gpu[i].id == gpu)
			return gpu;
	return -1;
}

/* The device index of this GPU, preferably on the type's own machine; or NSX_NONE. A slice is not
 * the GPU that was sampled.
 */
static uint32_t device_of_sampled_gpu(const struct nsx_trace *t, int64_t gpu, int64_t type)
{
	uint32_t ret = NSX_NONE;

	for (uint32_t d = 0; gpu >= 0 && d < t->ndevices; d++) {
		const struct nsx_gpu_info *info = nsx_device_gpu(t, d);
		const struct nsx_device *x = &t->device[d];

		if (x->is_slice ||
		    (info ? info->id : x->gpu_id >= 0 ? x->gpu_id : x->device_id) != gpu)
			continue;
		if (info && info->vm == nsx_vm_of((uint64_t)type))
			return d;
		ret = NSX_MIN(ret, d);
	}
	return ret;
}

static const struct fold_reach *scope_spans_of_type(const void *arg, int64_t type)
{
	const struct names *names = arg;
	uint32_t d = device_of_sampled_gpu(names->t, metrics_gpu_of(names, type), type);

	return d == NSX_NONE ? NULL : names->reach[d];
}

static const char *metrics_name_of(const struct names *names, int64_t type, int64_t metric)
{
	const struct info *info = find_info(names, type, metric);

	return info && info->metric == metric && *info->name ? info->name : NULL;
}

int64_t nsx_metric_most(const char *name)
{
	return name && strstr(name, "%]") ? 100 : FOLD_MAX_VALUE;
}

static int64_t greatest_counter_value(const void *names, int64_t type, int64_t metric)
{
	return nsx_metric_most(metrics_name_of(names, type, metric));
}

static int build_scope_spans(struct names *names, const struct nsx_facts *f, struct nsx_err *err)
{
	const struct nsx_window *w = &names->t->window;

	nsx_few(names->reach, names->scratch, f->ndevices);
	for (uint32_t d = 0; d < f->ndevices; d++) {
		const struct nsx_device_facts *x = &f->device[d];
		struct nsx_spans *idle = nsx_arena_get(names->scratch, sizeof(*idle));
		const struct nsx_spans *spans[] = {&x->compute, &x->comm, &x->copy, idle};

		if (nsx_spans_gaps(names->scratch, &f->busy[d], w->start_ns,
				   w->end_ns, idle, err) ||
		    nsx_spans_pack(names->scratch, idle, err))
			return err->rc;
		for (unsigned i = 0; i < 4; i++) {
			struct fold_reach *r = &names->reach[d][i];

			r->spans = spans[i];
			if (nsx_spans_prefix(names->scratch, r->spans, &r->prefix, err))
				return err->rc;
		}
	}
	return 0;
}

/* Reading ------------------------------------------------------------------*/

struct reading {
	struct nsx_metrics *m;
	struct nsx_scan *scan;
	struct part {
		struct fold fold;
		char *damage; /* why it was not read to its end; NULL: it was */
	} *parts;
	unsigned nparts;
	struct nsx_arena *a;
};

/* Reads a part of the table. Damage ends only this part. */
static int metrics_read_part(void *ctx, size_t i, struct nsx_err *err)
{
	struct reading *r = ctx;
	struct fold *f = &r->parts[i].fold;
	const struct nsx_trace *t = f->ctx->trace;
	struct nsx_choice choice = {
		.is_cut = nsx_has_window(t),
		.from = t->read.start_ns, .to = t->read.end_ns};
	int rc = nsx_scan_run(r->scan, (unsigned)i, &choice, fold_on_row, f, err);

	if (!nsx_is_damage(rc))
		return rc;
	r->parts[i].damage = nsx_strdup(err->msg);
	return 0;
}

static int reread_failed_sources(void *ctx, size_t i, struct nsx_err *err)
{
	struct part *p = &((struct reading *)ctx)->parts[i];

	p->fold.only_failed = true;
	return NSX_ANY(s, p->fold.nsources, p->fold.sources[s].failed) && !p->damage ?
		       metrics_read_part(ctx, i, err) : 0;
}

/* A part's source of a type; NULL: it has none. */
static struct fold_source *source_of_part(const struct reading *r, unsigned part, int64_t type)
{
	const struct fold *f = &r->parts[part].fold;

	for (size_t i = 0; i < f->nsources; i++)
		if (f->sources[i].type == type)
			return &f->sources[i];
	return NULL;
}

/* Finds the period of a type from its timestamps in all parts, and counts missing samples. */
static int64_t measure_source_period(struct reading *r, int64_t type, struct nsx_err *err)
{
	size_t nticks = 0, at = 0;
	NSX_AT_EXIT(nsx_free_at) int64_t *ticks = NULL;
	int64_t period_ns;
	const struct fold_source *s;

	for (unsigned p = 0; p < r->nparts; p++)
		nticks += (s = source_of_part(r, p, type)) ? s->nticks : 0;
	ticks = nsx_try_alloc(nticks, sizeof(*ticks), "instants of samples", err);
	if (!ticks)
		return err->rc;
	for (unsigned p = 0; p < r->nparts; p++) {
		s = source_of_part(r, p, type);
		if (s && s->nticks) {
			memcpy(ticks + at, s->ticks, s->nticks * sizeof(*ticks));
			at += s->nticks;
		}
	}
	period_ns = fold_period(ticks, &nticks, err);
	for (size_t i = 1; period_ns > 0 && i < nticks; i++) {
		int64_t step_ns = ticks[i] - ticks[i - 1];

		if (step_ns / 2 < period_ns)
			continue;
		r->m->gaps++;
		r->m->missing_ns = nsx_add_sat(r->m->missing_ns, step_ns - period_ns);
	}
	return period_ns;
}

/* Settles the period of each type in all parts. first: the first part that has the type. */
static int agree_on_periods(struct reading *r, struct nsx_err *err)
{
	for (unsigned first = 0; first < r->nparts; first++)
		for (size_t i = 0; i < r->parts[first].fold.nsources; i++) {
			int64_t type = r->parts[first].fold.sources[i].type, period_ns;
			unsigned p = 0;

			while (!source_of_part(r, p, type))
				p++;
			if (p < first)
				continue;
			period_ns = measure_source_period(r, type, err);
			if (period_ns < 0)
				return err->rc;
			for (; p < r->nparts; p++) {
				struct fold_source *s = source_of_part(r, p, type);

				if (s && fold_settle(&r->parts[p].fold, s, period_ns, err))
					return err->rc;
			}
		}
	return 0;
}

static int64_t metrics_period_of(const struct reading *r, int64_t type)
{
	int64_t period_ns = 0;

	for (unsigned p = 0; !period_ns && p < r->nparts; p++) {
		const struct fold_source *s = source_of_part(r, p, type);

		period_ns = s ? s->period_ns : 0;
	}
	return period_ns;
}

static int read_samples(struct reading *r, unsigned threads, struct nsx_err *err)
{
	if (nsx_par(threads, r->nparts, metrics_read_part, r, err) ||
	    agree_on_periods(r, err) ||
	    nsx_par(threads, r->nparts, reread_failed_sources, r, err))
		return err->rc;
	for (unsigned p = 0; p < r->nparts; p++) {
		const struct part *x = &r->parts[p];

		r->m->samples += x->fold.rows;
		if (x->damage && !r->m->damage)
			r->m->damage = nsx_arena_strdup(r->a, x->damage);
		if (p && fold_merge(&r->parts->fold, &r->parts[p].fold, err))
			return err->rc;
	}
	r->m->bad = r->parts->fold.bad;
	r->m->too_many = r->parts->fold.too_many;
	return 0;
}

/* Statistics ------------------------------------------------------------------- */

static void measure_scopes(const struct names *names, uint32_t device, int64_t *scope_ns)
{
	const struct nsx_window *w = &names->t->window;

	memset(scope_ns, 0, NSX_NSCOPES * sizeof(*scope_ns));
	scope_ns[NSX_SCOPE_WINDOW] = w->end_ns - w->start_ns;
	for (unsigned i = 0; device != NSX_NONE && i < 4; i++) {
		const struct fold_reach *r = &names->reach[device][i];

		scope_ns[NSX_SCOPE_COMPUTE + i] = nsx_spans_first(r->spans, r->prefix, r->spans->n);
	}
}

static void identify_series(const struct names *names, const struct fold_series *x,
			    struct nsx_metric *m)
{
	const struct info *any = find_info(names, x->type, INT64_MIN);

	m->type_id = x->type;
	m->metric_id = x->metric;
	m->source_id = any ? any->source : x->type;
	m->gpu = metrics_gpu_of(names, x->type);
	m->device = device_of_sampled_gpu(names->t, m->gpu, x->type);
	m->name = metrics_name_of(names, x->type, x->metric);
}

/* By GPU, and those of equal numbers by machine. */
NSX_ORDER(cmp_metric, struct nsx_metric, UP(gpu), UP(type_id >> VM_AT), UP(metric_id), UP(type_id));

bool nsx_is_same_gpu(const struct nsx_metric *x, const struct nsx_metric *y)
{
	return x->gpu == y->gpu && x->type_id >> VM_AT == y->type_id >> VM_AT;
}


NSX_ORDER(cmp_loss, struct nsx_metric_loss, UP(gpu), UP(metric_id), UP(type_id));

static int list_losses(const struct names *names, const struct fold *sum,
		       struct nsx_metrics *m, struct nsx_err *err)
{
	if (!nsx_new_array(m->lost, names->a, sum->nseries, "GPU metrics", err))
		return err->rc;
	for (size_t i = 0; i < sum->nseries; i++) {
		const struct fold_series *x = sum->series[i];

		if (x->lost)
			m->lost[m->nlost++] = (struct nsx_metric_loss){
				metrics_gpu_of(names, x->type), x->type, x->metric,
				x->lost, metrics_name_of(names, x->type, x->metric)};
	}
	nsx_sort(m->lost, m->nlost, sizeof(*m->lost), cmp_loss);
	return 0;
}

/* Sets device_id, the CUDA ordinal of each GPU or, without one, the GPU's own number. All get
 * their own number if ordinals are ambiguous.
 */
static void number_gpus(const struct nsx_trace *t, struct nsx_metrics *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct nsx_metric *x = &m->v[i];

		x->device_id = x->device == NSX_NONE ? x->gpu : t->device[x->device].device_id;
		if (i && nsx_is_same_gpu(&x[-1], x))
			continue;
		for (size_t k = 0; !m->by_number && k < i; k++)
			m->by_number = m->v[k].device_id == x->device_id && m->v[k].gpu != x->gpu &&
				       !nsx_is_ordinal_shared(t, x->device) &&
				       !nsx_is_ordinal_shared(t, m->v[k].device);
	}
	for (size_t i = 0; m->by_number && i < m->n; i++)
		m->v[i].device_id = m->v[i].gpu;
}

static int finish_all(const struct names *names, const struct reading *r, struct nsx_err *err)
{
	const struct fold *sum = &r->parts->fold;
	struct nsx_metrics *m = r->m;
	int64_t scope_ns[NSX_NSCOPES];

	if (!nsx_new_array(m->v, names->a, sum->nseries, "GPU metrics", err))
		return err->rc;
	for (size_t i = 0; i < sum->nseries; i++) {
		struct nsx_metric *x = &m->v[m->n];
		float *curve;

		x->period_ns = metrics_period_of(r, sum->series[i]->type);
		if (!x->period_ns) {
			m->without_period++;
			continue;
		}
		identify_series(names, sum->series[i], x);
		measure_scopes(names, x->device, scope_ns);
		if (fold_finish(sum->series[i], scope_ns, x, err))
			return err->rc;
		m->n += x->n > 0;
		if (!sum->series[i]->curve)
			continue;
		if (!nsx_new_array(curve, names->a, NSX_CURVE_BINS, "GPU metrics", err))
			return err->rc;
		fold_draw(sum->series[i]->curve, &names->t->window, x->period_ns, curve);
		x->curve = curve;
	}
	nsx_sort(m->v, m->n, sizeof(*m->v), cmp_metric);
	number_gpus(names->t, m);
	return list_losses(names, sum, m, err);
}

static int metrics_build(struct names *names, struct reading *r, unsigned threads,
			 struct nsx_progress *progress, struct nsx_err *err)
{
	static const enum nsx_field fields[] = {
		NSX_FIELDS(gpu_metric, timestamp_ns, type_id, metric_id, value)};
	const struct nsx_schema *s = names->t->schema;
	const struct fold_ctx ctx = {names->t, progress, scope_spans_of_type, greatest_counter_value,
				     names, names->with_curves};
	const char *columns[ARRAY_LEN(fields)];
	int rc;

	for (unsigned i = 0; i < ARRAY_LEN(fields); i++)
		columns[i] = s->column[fields[i]];
	if (nsx_view_open(s, s->db, NSX_VIEW_gpu_metric, columns,
			  ARRAY_LEN(fields), threads, &r->scan, err))
		return err->rc;
	r->nparts = nsx_scan_parts(r->scan);
	r->parts = nsx_alloc(r->nparts, sizeof(*r->parts));
	for (unsigned p = 0; p < r->nparts; p++)
		r->parts[p].fold.ctx = &ctx;
	rc = read_samples(r, threads, err);
	if (!rc && !r->m->too_many)
		rc = finish_all(names, r, err);
	return rc;
}

int nsx_facts_metrics(struct nsx_facts *f, const struct nsx_trace *t,
		      const struct nsx_facts_opts *o, struct nsx_arena *a, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *scratch = nsx_arena_new();
	struct names names = {.t = t, .a = a, .scratch = scratch, .with_curves = o->draws};
	struct reading r = {.a = a};
	int rc;

	if (!o->samples || !nsx_has_view(t->schema, NSX_VIEW_gpu_metric))
		return 0;
	f->metrics = r.m = nsx_arena_get(a, sizeof(*f->metrics));
	rc = nsx_view_each(t->schema, gpu_metric_info, read_counter_info, &names, err,
			   type_id, metric_id, source_id, type_name, metric_name);
	nsx_sort(names.v, names.n, sizeof(*names.v), cmp_info);
	rc = rc ?: build_scope_spans(&names, f, err) ?:
	     metrics_build(&names, &r, o->threads, o->progress, err);
	if (nsx_is_damage(rc)) {
		r.m->damage = nsx_arena_strdup(a, err->msg);
		rc = 0;
	}
	if (r.m->damage) {
		(void)nsx_fail(err, NSX_E_DATA, "%s", r.m->damage);
		nsx_schema_lose_rows(t->schema, NSX_VIEW_gpu_metric, err);
	}
	for (unsigned p = 0; p < r.nparts; p++) {
		fold_done(&r.parts[p].fold);
		free(r.parts[p].damage);
	}
	free(r.parts);
	nsx_scan_close(r.scan);
	free(names.v);
	return rc;
}
