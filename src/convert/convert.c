/* convert.c - reads each table twice: first to survey it, then to write its events. */
#include <errno.h>
#include "convert/convert.h"
#include "facts/facts.h"
#include "schema/viewscan.h"

static const struct nsx_activity_def *const defs[NSX_NACTIVITIES] = {
	[NSX_A_NVTX] = &nsx_def_nvtx,	  [NSX_A_API] = &nsx_def_api,
	[NSX_A_LIBRARY] = &nsx_def_library,
	[NSX_A_OSRT] = &nsx_def_osrt,	  [NSX_A_SCHED] = &nsx_def_sched,
	[NSX_A_KERNEL] = &nsx_def_kernel, [NSX_A_MEMCPY] = &nsx_def_memcpy,
	[NSX_A_MEMSET] = &nsx_def_memset, [NSX_A_GRAPH] = &nsx_def_graph,
};

/* Readers store times as doubles, which are exact to the nanosecond below this. */
#define EXACT_NS INT64_C(1000000000000000)

static void sorted_sql(const struct nsx_schema *s,
		       const struct nsx_activity_def *d, struct nsx_buf *b)
{
	nsx_conv_select(s, d->view,
			s->table[d->view]->kind == NSX_TK_NO_ROWID ? "0" :
								   "rowid", d, b);
	nsx_buf_printf(b, " ORDER BY start_ns%s, rid",
		       d->ends > 0 ? ", end_ns" :
		       d->ends < 0 ? ", coalesce(end_ns, 9223372036854775807) DESC" : "");
}

/* Selects the calls of all libraries, which share the tracks of their threads. UNION drops
 * repeated rows of one call.
 */
static void libraries_sql(const struct nsx_schema *s,
			  const struct nsx_activity_def *d, struct nsx_buf *b)
{
	for (unsigned v = 0; v < NSX_NVIEWS; v++)
		if (nsx_library_of[v] && nsx_has_view(s, v)) {
			nsx_buf_adds(b, b->n ? " UNION " : "");
			nsx_conv_select(s, v, "0", d, b);
		}
	if (b->n)
		nsx_buf_adds(b, " ORDER BY start_ns, end_ns DESC, name");
}

static int scan_sorted(struct nsx_conv *c, const struct nsx_activity_def *d, struct nsx_err *err)
{
	struct nsx_buf b = {0};

	if (c->activity == NSX_A_LIBRARY)
		libraries_sql(c->schema, d, &b);
	else
		sorted_sql(c->schema, d, &b);
	return b.n ? nsx_conv_sorted(c, &b, d->nfields, d->row, c, err) : 0;
}

/* Passes rows in file order, correcting those that come a little late. */
static int scan_nearly_sorted(struct nsx_conv *c, const struct nsx_activity_def *d,
			      struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_order_done)
	struct nsx_order o = {.fn = d->row, .ctx = c, .ncolumns = d->nfields, .ends = d->ends};

	return nsx_order_open(&o, err) ?:
	       nsx_view_scan(c->schema, d->view, d->fields, d->nfields, 1, nsx_order_row, &o, 0,
			     err) ?: nsx_order_flush(&o, err);
}

static int convert_read_row(void *ctx, int64_t rid, const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_conv *c = ctx;

	if (!c->writing)
		nsx_lateness_note(&c->lateness, &v[0]);
	return defs[c->activity]->row(c, rid, v, err);
}

static int scan_activity(struct nsx_conv *c, enum nsx_activity a, struct nsx_err *err)
{
	const struct nsx_activity_def *d = defs[a];
	int rc;

	c->activity = a;
	if (a == NSX_A_METRIC)
		return nsx_convert_metrics(c, err);
	if (a == NSX_A_MEMORY)
		return nsx_convert_memory(c, err);
	if (a == NSX_A_QUEUE)
		return nsx_convert_queues(c, err);
	if (a == NSX_A_NVTX_GPU)
		return nsx_convert_nvtx_gpu(c, err);
	if (a == NSX_A_FINDING)
		return nsx_convert_findings(c, err);
	if (a == NSX_A_LIBRARY)
		return scan_sorted(c, d, err);
	if (!nsx_has_view(c->schema, d->view))
		return 0;
	c->lateness = (struct nsx_lateness){.n = 0};
	if (c->writing && c->far >> a & 1)
		rc = scan_sorted(c, d, err);
	else if (c->writing && c->late >> a & 1)
		rc = scan_nearly_sorted(c, d, err);
	else
		rc = nsx_view_scan(c->schema, d->view, d->fields,
				   c->writing ? d->nfields : d->nsurveyed, 1,
				   convert_read_row, c, 0, err);
	if (c->late >> a & 1 && c->lateness.is_far)
		c->far |= 1U << a;
	if (!rc && c->writing && d->finish)
		rc = d->finish(c, err);
	return rc;
}

/* Reads all tables of the activities. A damaged table is converted up to the damage. */
static int scan_all(struct nsx_conv *c, struct nsx_err *err)
{
	for (unsigned a = 0; a < NSX_NACTIVITIES; a++) {
		int rc = c->activities >> a & 1 ? scan_activity(c, a, err) : 0;

		if (!nsx_is_damage(rc)) {
			if (rc)
				return rc;
			continue;
		}
		if (!(c->damaged >> a & 1))
			nsx_buf_printf(c->warnings, "%s: not all rows could be read "
				       "(%s)\n", nsx_activity_names[a], err->msg);
		c->damaged |= 1U << a;
	}
	return 0;
}

static int convert_on_session(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			      struct nsx_err *err NSX_UNUSED)
{
	int64_t *start = ctx;

	if (*start == INT64_MIN)
		*start = nsx_i64_or(v, INT64_MIN);
	return 0;
}

int nsx_session_start(const struct nsx_schema *s, int64_t *ret, struct nsx_err *err)
{
	*ret = INT64_MIN;
	return nsx_view_each(s, session, convert_on_session, ret, err, utc_epoch_ns);
}

/* Parts -----------------------------------------------------------------------*/

struct part {
	struct nsx_conv c;
	struct nsx_names names; /* names of this part, marked by its own survey */
	struct nsx_convert_counts counts;
	struct nsx_buf warnings;
	struct nsx_out out; /* only its `error` is used: bytes go to the rings */
};
struct parts {
	size_t n;
	struct part part[NSX_CONVERT_PARTS];
	struct nsx_rings *rings;
};

enum { GPU_WORK = 1U << NSX_A_KERNEL | 1U << NSX_A_MEMCPY | 1U << NSX_A_MEMSET |
		  1U << NSX_A_GRAPH };
static const unsigned activities_of[NSX_CONVERT_PARTS] = {
	[NSX_PART_HOST] = 1U << NSX_A_NVTX | 1U << NSX_A_API |
			  1U << NSX_A_LIBRARY | 1U << NSX_A_OSRT | 1U << NSX_A_SCHED,
	[NSX_PART_GPU] = GPU_WORK,
	[NSX_PART_REST] = 1U << NSX_A_NVTX_GPU | 1U << NSX_A_METRIC |
			  1U << NSX_A_MEMORY | 1U << NSX_A_FINDING | 1U << NSX_A_QUEUE,
};

static int open_convert_part(struct parts *p, enum nsx_part i, struct nsx_err *err)
{
	struct part *part = &p->part[i];
	const struct nsx_conv *first = &p->part[0].c;
	struct nsx_conv *c = &part->c;

	*c = (struct nsx_conv){
		.part = i, .activities = first->opts->activities,
		.rings = &p->rings, .schema = first->schema,
		.writer = first->writer, .opts = first->opts,
		.out = first->opts->pftrace ? &part->out : first->out,
		.counts = &part->counts, .warnings = &part->warnings,
		.names = &part->names, .window = first->window, .notes = first->notes,
		.shifts = *first->schema->shifts, .has_listed = first->has_listed,
		.utc_epoch_ns = first->utc_epoch_ns,
		.first_ns = INT64_MAX, .last_ns = INT64_MIN};
	if (p->n > 1)
		c->activities &= activities_of[i];
	c->names->is_plain = c->opts->pftrace;
	/* Only the first part finds the range names that match, because its result serves all
	 * parts.
	 */
	if (nsx_names_open(c->names, c->schema, i ? NULL : c->opts->nvtx_prefix, err))
		return err->rc;
	c->names->prefix = c->opts->nvtx_prefix;
	return nsx_tracks_open(&c->tracks, err);
}

static int convert_survey(void *parts, size_t i, struct nsx_err *err)
{
	struct parts *p = parts;
	struct nsx_conv *c = &p->part[i].c;
	int rc = scan_all(c, err);

	if (!rc && !i && !c->opts->no_metadata)
		rc = nsx_convert_use_names(c, err);
	return rc;
}

/* Tells rows with impossible times that only the survey met, because it reads all tables. */
static int tell_far_rows(struct parts *p, struct nsx_err *err)
{
	struct nsx_conv *first = &p->part[0].c;
	struct nsx_trace *t;

	if (first->has_listed || !NSX_ANY(i, p->n, p->part[i].c.shifts.has_far))
		return 0;
	if (nsx_convert_load(first, NULL, &t, err))
		return nsx_is_damage(err->rc) ? 0 : err->rc;
	nsx_trace_free(t);
	return 0;
}

/* Surveys GPU work again with the corrections that were found meanwhile. */
static int survey_corrected(struct parts *p, struct nsx_err *err)
{
	const struct nsx_shifts *s = p->part[0].c.schema->shifts;

	for (size_t i = 0; i < p->n; i++) {
		struct nsx_conv *c = &p->part[i].c;
		bool is_known = c->shifts.possible.is_on;

		c->shifts = *s;
		if (is_known || !(s->has_far || ((s->n || s->nrows) && c->activities & GPU_WORK)))
			continue;
		nsx_flows_done(&c->flows);
		nsx_tracks_done(&c->tracks);
		c->flows = (struct nsx_flows){0};
		c->tracks = (struct nsx_tracks){0};
		c->late = c->far = 0;
		c->first_ns = INT64_MAX;
		c->last_ns = INT64_MIN;
		if (nsx_tracks_open(&c->tracks, err) || convert_survey(p, i, err))
			return err->rc;
	}
	return 0;
}

/* Gives a part's processes the numbers they have in the first part, adding missing ones there. */
static int number_processes_as_first(struct nsx_conv *c, struct nsx_conv *first,
				     struct nsx_err *err)
{
	struct nsx_tracks *t = &c->tracks;
	NSX_AT_EXIT(nsx_free_at) uint32_t *number =
		nsx_try_alloc(t->process_keys.n, sizeof(*number), "processes", err);
	int rc = number ? 0 : err->rc;

	for (size_t i = 0; !rc && i < t->process_keys.n; i++)
		rc = nsx_tracks_process(&first->tracks, nsx_group_key(&t->process_keys, i).a,
					&number[i], err);
	for (size_t i = 0; !rc && i < t->track_keys.n; i++)
		t->tracks[i].process = number[t->tracks[i].process];
	return rc ?: nsx_flows_merge(&first->flows, &c->flows, number, err);
}

/* Exchanges between parts what their surveys found. */
static int exchange_survey_results(struct parts *p, struct nsx_err *err)
{
	struct nsx_conv *first = &p->part[0].c;

	for (size_t i = 1; i < p->n; i++) {
		struct nsx_conv *c = &p->part[i].c;

		nsx_conv_hull(first, c->first_ns, c->last_ns);
		if (nsx_names_merge(first->names, c->names, err) ||
		    number_processes_as_first(c, first, err))
			return err->rc;
	}
	if (nsx_names_load(first->names, first->schema, err))
		return err->rc;
	nsx_flows_settle(&first->flows);
	if (first->first_ns > first->last_ns)
		first->first_ns = first->last_ns = 0;
	if (first->first_ns < 0 || first->last_ns > EXACT_NS)
		first->counts->shift_ns = -first->first_ns;
	if (first->opts->place.ntraces > 1 && first->counts->shift_ns)
		return nsx_fail(err, NSX_E_DATA, "'%s' has times before its session began, which "
				"cannot be put on one clock with others: convert it alone",
				first->opts->path);
	first->counts->shift_ns += first->opts->place.offset_ns;
	for (size_t i = 0; i < p->n; i++) {
		struct nsx_conv *c = &p->part[i].c;

		c->writing = true;
		c->ncounters = 0;
		c->main_process = nsx_flows_span(&first->flows, &c->corr_bits);
		c->first_ns = first->first_ns;
		c->last_ns = first->last_ns;
		c->counts->shift_ns = first->counts->shift_ns;
		c->names = first->names;
		if (i)
			nsx_flows_lend(&first->flows, &c->flows);
	}
	return 0;
}

static int write_part(void *parts, size_t i, struct nsx_err *err)
{
	struct parts *p = parts;
	struct nsx_conv *c = &p->part[i].c;
	int rc = c->writer->open(c, err) ?: scan_all(c, err);

	if (!rc && !c->opts->no_metadata)
		rc = nsx_convert_names(c, err);
	if (!rc)
		c->writer->close(c);
	return rc;
}

static int convert_convert(struct parts *p, struct nsx_out *out, struct nsx_err *err)
{
	struct nsx_conv *first = &p->part[0].c;
	const struct nsx_convert_opts *o = first->opts;
	bool is_loaded_later = o->activities & (1U << NSX_A_FINDING | 1U << NSX_A_QUEUE |
						1U << NSX_A_NVTX_GPU);
	int rc = o->window || (o->activities & GPU_WORK && !is_loaded_later) ?
			 nsx_convert_load_corrections(first, err) : 0;

	if (nsx_is_damage(rc) && !o->window) /* what can be read is converted */
		rc = 0;
	first->utc_epoch_ns = INT64_MIN;
	if (!rc && !o->no_metadata)
		rc = nsx_session_start(first->schema, &first->utc_epoch_ns, err);
	for (size_t i = 0; !rc && i < p->n; i++)
		rc = open_convert_part(p, (enum nsx_part)i, err);
	rc = rc ?: nsx_par(o->threads, p->n, convert_survey, p, err) ?: tell_far_rows(p, err) ?:
	     survey_corrected(p, err) ?: exchange_survey_results(p, err);
	if (rc)
		return rc;
	return o->pftrace ? nsx_pf_run(o, out, p->n, write_part, p, &p->rings,
				       err) :
			    write_part(p, 0, err);
}

void nsx_convert_add_counts(struct nsx_convert_counts *sum, const struct nsx_convert_counts *n)
{
#define ADD(name, key) sum->name += n->name;
	NSX_CONVERT_COUNTS(ADD)
#undef ADD
	sum->shift_ns = n->shift_ns;
}

/* Adds up a part's results and frees it. */
static void close_convert_part(struct part *p, struct nsx_out *out,
			       struct nsx_convert_counts *ret, struct nsx_buf *warnings)
{
	nsx_convert_add_counts(ret, &p->counts);
	if (p->warnings.n)
		nsx_buf_add(warnings, p->warnings.p, p->warnings.n);
	if (!out->error && p->out.error != ECANCELED)
		out->error = p->out.error;
	if (p->c.writer && p->c.writer->done)
		p->c.writer->done(&p->c);
	nsx_buf_done(&p->warnings);
	nsx_names_done(&p->names);
	nsx_flows_done(&p->c.flows);
	nsx_tracks_done(&p->c.tracks);
	nsx_trace_free(p->c.trace);
	nsx_findings_view_free(p->c.findings);
	nsx_queues_view_free(p->c.queues);
}

int nsx_convert(const struct nsx_schema *schema,
		const struct nsx_convert_opts *opts, struct nsx_out *out,
		struct nsx_convert_counts *ret, struct nsx_buf *warnings, struct nsx_buf *notes,
		struct nsx_err *err)
{
	const struct nsx_writer *w = !opts->pftrace ? &nsx_writer_json :
				     opts->gpu_tracks ? &nsx_writer_pftracks :
							&nsx_writer_pftrace;
	struct parts *p = nsx_try_alloc(1, sizeof(*p), "a conversion", err);
	int rc;

	if (!p)
		return err->rc;
	*ret = (struct nsx_convert_counts){0};
	p->n = w->is_typed ? NSX_CONVERT_PARTS : 1;
	p->part[0].c = (struct nsx_conv){.schema = schema, .opts = opts, .out = out,
				    .writer = w, .notes = notes};
	rc = convert_convert(p, out, err);
	for (size_t i = 0; i < p->n; i++)
		close_convert_part(&p->part[i], out, ret, warnings);
	free(p);
	return out->error ? 0 : rc;
}
