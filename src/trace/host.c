/* host.c - rows of API calls, NVTX, waits, event records, overheads. */
#include "schema/nvtx_row.h"
#include "trace/load.h"

enum { C_START, C_END, C_CLASS, C_TID, C_PID, C_PLAIN_TID, C_CORR, C_NAME,
       C_RETURN, C_CHAIN };
static const enum nsx_field call_fields[] = {
	NSX_FIELDS(runtime, start_ns, end_ns, event_class, global_tid, pid, tid, corr, name,
		   return_value, callchain),
};

/* The time of a call's row. Rows that only carry a backtrace are no events. */
static struct nsx_extent call_extent(const struct nsx_val *v)
{
	struct nsx_extent x = nsx_extent_of(v);

	x.is_event &= nsx_i64_or(&v[C_CLASS], 0) != NSX_CLASS_BACKTRACE;
	return x;
}

int nsx_read_caller(struct nsx_part *p, const struct nsx_val *v,
		    uint32_t *thread, nsx_str *name, struct nsx_err *err)
{
	return nsx_read_thread(p, &v[C_TID], &v[C_PID], &v[C_PLAIN_TID], thread,
			       err) ?:
	       nsx_read_name(p, &v[C_NAME], name, err);
}

/* Notes the calling thread and function of a row, and their smallest correlation id. */
static int note_caller(struct nsx_part *p, const struct nsx_val *v,
		       const struct nsx_extent *x, struct nsx_err *err)
{
	struct nsx_surveyed *s = p->own;
	uint32_t caller, corr = nsx_u32_or(&v[C_CORR], 0);
	struct nsx_key key = {{nsx_read_thread_key(&v[C_TID], &v[C_PID],
						   &v[C_PLAIN_TID])}};
	nsx_str name;

	nsx_count_backtrace(p->l, &v[C_CHAIN]);
	if (!x->is_event)
		return 0;
	if (nsx_read_name(p, &v[C_NAME], &name, err))
		return err->rc;
	key.w[1] = name;
	if (nsx_keymap_add(&p->l->callers_map, p->cache[2], &key, &caller,
			   err) ||
	    nsx_grow(&s->least_corr, &s->cap_least, caller + (size_t)1,
		     sizeof(*s->least_corr), "callers", err))
		return err->rc;
	if (corr && (!s->least_corr[caller] || corr < s->least_corr[caller]))
		s->least_corr[caller] = corr;
	return 0;
}

/* Counts a failed call under its code. The smallest codes are kept, so that the choice does not
 * depend on row order.
 */
static void note_failure(struct nsx_loader *l, int64_t code, int64_t start_ns)
{
	struct nsx_failures *f = &l->t->failures;
	unsigned i = 0;

	pthread_mutex_lock(&l->lock);
	while (i < f->n && f->v[i].code < code)
		i++;
	if (i < f->n && f->v[i].code == code) {
		f->v[i].first_ns = NSX_MIN(f->v[i].first_ns, start_ns);
		f->v[i].n++;
	} else if (i < NSX_MAX_FAILURES) {
		f->n = NSX_MIN(f->n + 1, (unsigned)NSX_MAX_FAILURES);
		memmove(&f->v[i + 1], &f->v[i], (f->n - 1 - i) * sizeof(*f->v));
		f->v[i] = (struct nsx_failure){code, start_ns, 1};
	}
	pthread_mutex_unlock(&l->lock);
}

static int read_api_call(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_calls_rw *c = &p->l->calls;
	size_t at = p->at + p->n;
	int64_t code = nsx_i64_or(&v[C_RETURN], 0);

	if (nsx_keep_backtrace(p, nsx_read_process_key(&v[C_TID], &v[C_PID]),
			       &v[C_CORR], &v[C_CHAIN], err))
		return err->rc;
	if (nsx_i64_or(&v[C_CLASS], 0) == NSX_CLASS_BACKTRACE) {
		p->defects.duplicate_calls++;
		return 0;
	}
	if (!nsx_read_span(p, &v[C_START], &v[C_END], &c->start_ns[at], &c->end_ns[at]))
		return 0;
	if (nsx_read_caller(p, v, &c->thread[at], &c->name[at], err))
		return err->rc;
	c->corr[at] = nsx_u32_or(&v[C_CORR], 0);
	c->flags[at] = code && code != NSX_RETURN_NOT_READY ? NSX_CALL_FAILED : 0;
	if (c->flags[at])
		note_failure(p->l, code, c->start_ns[at]);
	p->n++;
	return 0;
}

static int read_domain(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_loader *l = p->l;
	struct nsx_created c = {
		.process_key = nsx_read_process_key(&v[NSX_N_TID], &v[NSX_N_PID]),
		.domain_id = nsx_i64_or(&v[NSX_N_DOMAIN], 0)};
	int rc = nsx_read_name(p, nsx_nvtx_row_name(v), &c.name, err);

	if (rc)
		return rc;
	pthread_mutex_lock(&l->lock);
	rc = nsx_push(l->created, l->ncreated, l->cap_created, "NVTX domains", err, c);
	pthread_mutex_unlock(&l->lock);
	return rc;
}

static struct nsx_extent nvtx_extent(const struct nsx_val *v)
{
	const struct nsx_val *type = &v[NSX_N_TYPE];
	int kind = nsx_nvtx_row_kind(v);
	struct nsx_extent x = {INT64_MIN, INT64_MAX, false};
	struct nsx_val span[2] = {v[NSX_N_START], v[NSX_N_END]};

	if (kind < 0 && type->type == NSX_V_I64 && type->u.i != NSX_EVENT_DOMAIN_CREATE)
		return (struct nsx_extent){INT64_MAX, INT64_MIN, false};
	if (kind < 0)
		return x;
	if (kind != NSX_NVTX_MARK && span[1].type != NSX_V_NULL)
		return nsx_extent_of(span);
	span[1] = span[0];
	x = nsx_extent_of(span);
	if (kind != NSX_NVTX_MARK)
		x.end_ns = INT64_MAX;
	return x;
}

/* Extends the window by each range whose name the user gave as the window. */
static int note_window_range(struct nsx_part *p, const struct nsx_val *v,
		      const struct nsx_extent *x, struct nsx_err *err)
{
	struct nsx_surveyed *s = p->own;
	nsx_str name;

	if (nsx_nvtx_row_kind(v) == NSX_NVTX_MARK)
		return 0;
	if (nsx_read_name(p, nsx_nvtx_row_name(v), &name, err))
		return err->rc;
	if (name == p->l->window_range) {
		s->ranges.start_ns = NSX_MIN(s->ranges.start_ns, x->start_ns);
		s->ranges.end_ns = NSX_MAX(s->ranges.end_ns, x->end_ns);
	}
	return 0;
}

static int read_range_domain(struct nsx_part *p, const struct nsx_val *v,
			     uint32_t *ret, struct nsx_err *err)
{
	struct nsx_key key = {{nsx_read_process_key(&v[NSX_N_TID],
						    &v[NSX_N_PID]),
			       (uint64_t)nsx_i64_or(&v[NSX_N_DOMAIN], 0)}};

	return nsx_keymap_add(&p->l->domains_map, p->cache[1], &key, ret, err);
}

static int note_range(struct nsx_part *p, const struct nsx_val *v,
		      const struct nsx_extent *x, struct nsx_err *err)
{
	uint32_t caller, domain;
	struct nsx_key key = {{nsx_read_thread_key(&v[NSX_N_TID], &v[NSX_N_PID],
						   &v[NSX_N_PLAIN_TID]),
			       (uint64_t)nsx_nvtx_row_kind(v), 1}};

	if (!x->is_event)
		return 0;
	return nsx_keymap_add(&p->l->callers_map, p->cache[2], &key, &caller,
			      err) ?:
	       read_range_domain(p, v, &domain, err) ?:
	       (p->l->window_range ? note_window_range(p, v, x, err) : 0);
}

static int read_nvtx_row(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_nvtx_rw *x = &p->l->nvtx;
	size_t at = p->at + p->n;
	int kind = nsx_nvtx_row_kind(v);
	int rc;

	if (v[NSX_N_TYPE].type != NSX_V_I64 && v[NSX_N_TYPE].type != NSX_V_NULL) {
		p->defects.mistyped++;
		return 0;
	}
	if (kind < 0)
		return nsx_i64_or(&v[NSX_N_TYPE], 0) == NSX_EVENT_DOMAIN_CREATE ?
			       read_domain(p, v, err) : 0;
	x->flags[at] = 0;
	if (v[NSX_N_END].type == NSX_V_NULL || kind == NSX_NVTX_MARK) {
		if (!nsx_read_instant(p, &v[NSX_N_START], &x->start_ns[at]))
			return 0;
		x->end_ns[at] = x->start_ns[at];
		x->flags[at] = kind == NSX_NVTX_MARK ? 0 : NSX_NVTX_OPEN;
	} else if (!nsx_read_span(p, &v[NSX_N_START], &v[NSX_N_END],
				  &x->start_ns[at], &x->end_ns[at])) {
		return 0;
	}
	rc = nsx_read_thread(p, &v[NSX_N_TID], &v[NSX_N_PID],
			     &v[NSX_N_PLAIN_TID], &x->thread[at], err) ?:
	     nsx_read_name(p, nsx_nvtx_row_name(v), &x->name[at], err);
	if (!rc && !x->name[at])
		rc = nsx_strings_add(p->l->strings, nsx_unnamed,
				     strlen(nsx_unnamed), &x->name[at], err);
	rc = rc ?: read_range_domain(p, v, &x->domain[at], err);
	if (!rc && kind == NSX_NVTX_MARK)
		rc = nsx_keep_python(p->l, &v[NSX_N_JSON],
				     nsx_read_thread_key(&v[NSX_N_TID], &v[NSX_N_PID],
							 &v[NSX_N_PLAIN_TID]),
				     x->start_ns[at], err);
	if (rc)
		return rc;
	x->kind[at] = (uint8_t)kind;
	p->n++;
	return 0;
}

enum { O_START, O_END, O_TID, O_TYPE };
static const enum nsx_field overhead_fields[] = {
	NSX_FIELDS(overhead, start_ns, end_ns, global_tid, overhead_type),
};

static int read_overhead(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_overheads *o = &p->l->t->overheads;
	size_t at = p->at + p->n;

	if (!nsx_read_span(p, &v[O_START], &v[O_END], &o->start_ns[at], &o->end_ns[at]))
		return 0;
	if (nsx_read_thread(p, &v[O_TID], &nsx_no_cell, &nsx_no_cell, &o->thread[at], err))
		return err->rc;
	o->type[at] = nsx_u8_or(&v[O_TYPE], 1);
	p->n++;
	return 0;
}

/* Reads a stream of a row without a device. The ordinal is filled in later from the streams on
 * which GPU work ran.
 */
static int host_read_stream(struct nsx_part *p, uint64_t process,
			    uint64_t context, const struct nsx_val *stream, uint32_t *ret,
			    struct nsx_err *err)
{
	struct nsx_key key = {{process, UINT64_MAX,
			       context,
			       (uint64_t)nsx_i64_or(stream, 0), 1}};

	return nsx_keymap_add(&p->l->streams_map, p->cache[1], &key, ret, err);
}

/* Interns a process as its thread with id 0. */
static int host_read_process(struct nsx_part *p, uint64_t process, uint32_t *ret,
			     struct nsx_err *err)
{
	struct nsx_key key = {{process}};

	return nsx_keymap_add(&p->l->threads_map, p->cache[0], &key, ret, err);
}

enum { S_START, S_END, S_CONTEXT, S_GREEN, S_STREAM, S_CORR, S_PID, S_EVENT,
       S_EVENT_SYNC };
static const enum nsx_field sync_fields[] = {
	NSX_FIELDS(sync, start_ns, end_ns, context_id, green_context_id, stream_id, corr,
		   global_pid, event_id, event_sync_id),
};

/* Whether a stream or event id is set. Unset ids are -1, possibly as an unsigned 32-bit number. */
static bool is_id_set(const struct nsx_val *v)
{
	int64_t i = nsx_i64_or(v, -1);

	return i != UINT32_MAX && i != -1;
}

static int read_sync(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_syncs *s = &p->l->t->syncs;
	size_t at = p->at + p->n;
	bool stream = is_id_set(&v[S_STREAM]), event = is_id_set(&v[S_EVENT]);
	uint64_t process = nsx_read_process_key(&v[S_PID], &nsx_no_cell);
	int rc;

	if (!nsx_read_span(p, &v[S_START], &v[S_END], &s->start_ns[at], &s->end_ns[at]))
		return 0;
	rc = host_read_process(p, process, &s->process[at], err);
	s->stream[at] = NSX_NONE;
	if (!rc && stream)
		rc = host_read_stream(p, process, nsx_read_context(&v[S_CONTEXT], &v[S_GREEN]),
				      &v[S_STREAM], &s->stream[at], err);
	if (rc)
		return rc;
	s->type[at] = stream ? (event ? NSX_SYNC_STREAM_WAIT : NSX_SYNC_STREAM) :
			       (event ? NSX_SYNC_EVENT : NSX_SYNC_CONTEXT);
	s->call[at] = nsx_u32_or(&v[S_CORR], 0);
	s->event_sync_id[at] = is_id_set(&v[S_EVENT_SYNC]) ? nsx_i64_or(&v[S_EVENT_SYNC], -1) : -1;
	s->context[at] = nsx_u32_or(&v[S_CONTEXT], NSX_NONE);
	s->event[at] = nsx_u32_or(&v[S_EVENT], NSX_NONE);
	p->n++;
	return 0;
}

enum { R_CONTEXT, R_GREEN, R_STREAM, R_CORR, R_PID, R_EVENT, R_EVENT_SYNC };
static const enum nsx_field record_fields[] = {
	NSX_FIELDS(cuda_event, context_id, green_context_id, stream_id, corr, global_pid,
		   event_id, event_sync_id),
};

/* Reads an event record. A record without event id and sync id cannot be tied to a wait and is
 * dropped.
 */
static int host_read_record(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_records *r = &p->l->t->records;
	size_t at = p->at + p->n;
	uint64_t process = nsx_read_process_key(&v[R_PID], &nsx_no_cell);
	int rc;

	if (!is_id_set(&v[R_EVENT]) && !is_id_set(&v[R_EVENT_SYNC]))
		return 0;
	rc = host_read_process(p, process, &r->process[at], err) ?:
	     host_read_stream(p, process, nsx_read_context(&v[R_CONTEXT], &v[R_GREEN]),
			      &v[R_STREAM], &r->stream[at], err);
	if (rc)
		return rc;
	r->call[at] = nsx_u32_or(&v[R_CORR], 0);
	r->event_sync_id[at] = is_id_set(&v[R_EVENT_SYNC]) ? v[R_EVENT_SYNC].u.i : -1;
	r->event[at] = nsx_u32_or(&v[R_EVENT], NSX_NONE);
	p->n++;
	return 0;
}

static void set_up_host_columns(struct nsx_loader *l)
{
	struct nsx_calls_rw *c = &l->calls;
	struct nsx_nvtx_rw *x = &l->nvtx;
	struct nsx_overheads *o = &l->t->overheads;
	struct nsx_syncs *s = &l->t->syncs;
	struct nsx_records *r = &l->t->records;

	l->call_set = (struct nsx_colset){"API calls", {
		NSX_COL(c->start_ns), NSX_COL(c->end_ns), NSX_COL(c->name),
		NSX_COL(c->thread), NSX_COL(c->corr), NSX_COL(c->flags)}, 0};
	l->nvtx_set = (struct nsx_colset){"NVTX ranges", {
		NSX_COL(x->start_ns), NSX_COL(x->end_ns), NSX_COL(x->name),
		NSX_COL(x->thread), NSX_COL(x->domain), NSX_COL(x->kind),
		NSX_COL(x->flags)}, 0};
	l->overhead_set = (struct nsx_colset){"CUDA overheads", {
		NSX_COL(o->start_ns), NSX_COL(o->end_ns), NSX_COL(o->thread),
		NSX_COL(o->type)}, 0};
	l->sync_set = (struct nsx_colset){"waits", {
		NSX_COL(s->start_ns), NSX_COL(s->end_ns),
		NSX_COL(s->event_sync_id), NSX_COL(s->process),
		NSX_COL(s->call), NSX_COL(s->stream), NSX_COL(s->context),
		NSX_COL(s->event), NSX_COL(s->type)}, 0};
	l->record_set = (struct nsx_colset){"event records", {
		NSX_COL(r->event_sync_id), NSX_COL(r->process),
		NSX_COL(r->call), NSX_COL(r->stream), NSX_COL(r->event)}, 0};
}

void nsx_bind_host(struct nsx_loader *l, struct nsx_tableload *list)
{
	const uint32_t chain = l->cuda_stacks.n ? NSX_BIT(C_CHAIN) : 0;
	const uint32_t names = NSX_BIT(NSX_N_TEXT) | NSX_BIT(NSX_N_TEXT_ID);
	const uint32_t range_fields = (NSX_BIT(NSX_N_JSON) - 1) & ~(l->window_range ? 0 : names);
	const struct nsx_tableload tables[NSX_NHOST_TABLES] = {
		NSX_TABLE(runtime, call_fields, read_api_call, .set = &l->call_set,
			  .extent = call_extent, .corr = C_CORR,
			  .hull = NSX_HULL_HOST, .note = note_caller,
			  .survey_fields = (NSX_BIT(C_RETURN) - 1) | chain),
		NSX_TABLE(nvtx, nsx_nvtx_row, read_nvtx_row, .set = &l->nvtx_set,
			  .extent = nvtx_extent, .hull = NSX_HULL_HOST,
			  .note = note_range, .survey_fields = range_fields),
		NSX_TABLE(overhead, overhead_fields, read_overhead,
			  .set = &l->overhead_set, .extent = nsx_extent_of,
			  .survey_fields = NSX_BIT(O_END + 1) - 1),
		NSX_TABLE(sync, sync_fields, read_sync, .set = &l->sync_set,
			  .extent = nsx_extent_of, .corr = S_CORR,
			  .survey_fields = NSX_BIT(S_CORR + 1) - 1),
		NSX_TABLE(cuda_event, record_fields, host_read_record, .set = &l->record_set),
	};

	set_up_host_columns(l);
	memcpy(list, tables, sizeof(tables));
}
