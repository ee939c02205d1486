/* load.c - the sequence of loading; load.h explains its steps. */
#include <inttypes.h>
#include <stdio.h>
#include "base/stat.h"
#include "schema/viewscan.h"
#include "trace/load.h"

static const char *load_pid_source(const struct nsx_schema *s, enum nsx_field global,
				   enum nsx_field plain)
{
	return nsx_has(s, global) ? s->column[global] : s->column[plain];
}

/* Reads a table. want() then finds out from the rows whether more of them are needed; if so, the
 * table is read again.
 */
static int read_until_enough(struct nsx_loader *l, struct nsx_tableload *table, const char *stage,
			     int (*want)(struct nsx_loader *l,
					 const struct nsx_tableload *table, bool *ret,
					 struct nsx_err *err), struct nsx_err *err)
{
	const struct nsx_defects before = l->t->defects;
	const struct nsx_failures failed_before = l->t->failures;
	bool again = false;
	int rc = nsx_load_tables(l, table, 1, stage, err) ?: want(l, table, &again, err);

	if (rc || !again)
		return rc;
	l->t->defects = before;
	l->t->failures = failed_before;
	return nsx_load_tables(l, table, 1, stage, err);
}

/* Reads what the window needs: its operations, then the calls that launched them, then the ranges
 * open at those calls.
 */
static int load_rows_near_window(struct nsx_loader *l, struct nsx_tableload *list,
				 size_t n, const char *window, struct nsx_err *err)
{
	struct nsx_tableload *calls = list + NSX_NGPU_TABLES;
	struct nsx_tableload *ranges = calls + 1;
	size_t zeros;
	int rc = nsx_survey(l, list, n, window, err);

	zeros = l->nfrom_zero;
	l->nfrom_zero = 0;
	rc = rc ?: nsx_load_tables(l, list, NSX_NGPU_TABLES, "GPU events",
				   err) ?:
	     nsx_want_calls(l, err) ?:
	     read_until_enough(l, calls, "API calls", nsx_want_neighbours, err) ?:
	     read_until_enough(l, ranges, "ranges", nsx_want_crossing, err) ?:
	     nsx_load_tables(l, ranges + 1, n - NSX_NGPU_TABLES - 2, "host events", err);
	l->nfrom_zero = zeros;
	nsx_survey_done(list, n);
	return rc;
}

static int load_rows(struct nsx_loader *l, const char *window, struct nsx_err *err)
{
	struct nsx_tableload list[NSX_NGPU_TABLES + NSX_NHOST_TABLES + NSX_NLIBRARY_TABLES];
	struct nsx_tableload *host = list + NSX_NGPU_TABLES;

	nsx_bind_gpu(l, list);
	nsx_bind_host(l, host);
	nsx_bind_libraries(l, host + NSX_NHOST_TABLES);
	return window ? load_rows_near_window(l, list, ARRAY_LEN(list), window, err) :
			nsx_load_tables(l, list, ARRAY_LEN(list), "events", err);
}

/* Reads only what decides whether GPU times are corrected. */
static int load_gpu_times(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_tableload list[NSX_NGPU_TABLES + NSX_NHOST_TABLES];
	struct nsx_tableload *host = list + NSX_NGPU_TABLES;
	size_t n = NSX_NGPU_TABLES + 1;

	nsx_bind_gpu(l, list);
	nsx_bind_host(l, host);
	for (size_t i = n; i < ARRAY_LEN(list); i++)
		if (list[i].view == NSX_VIEW_sync)
			list[n++] = list[i];
	return nsx_load_tables(l, list, n, "GPU times", err);
}

struct column {
	void *v;
	int64_t *end_ns; /* ends of the spans that start at v; NULL: v holds no starts */
	const struct nsx_colset *set;
	struct nsx_packed *ret, *length; /* packed columns; length is made only with end_ns */
	enum { PACK_I64, PACK_U32, PACK_INDEX } how;
	struct nsx_arena *arena; /* owner of the packed column               */
};
struct columns {
	struct nsx_loader *l;
	struct column *v;
};

static void drop_column(struct nsx_loader *l, void *v)
{
	pthread_mutex_lock(&l->lock);
	nsx_arena_drop(l->t->arena, v);
	pthread_mutex_unlock(&l->lock);
}

static int pack_column(void *ctx, size_t i, struct nsx_err *err)
{
	const struct columns *x = ctx;
	const struct column *c = &x->v[i];
	size_t n = c->set->n;
	const char *what = c->set->what;
	int rc = 0;

	if (c->end_ns) {
		rc = nsx_pack_lengths(c->arena, c->v, c->end_ns, n, what, c->length, err);
		drop_column(x->l, c->end_ns);
	}
	if (!rc && c->how == PACK_I64)
		rc = nsx_pack_i64(c->arena, c->v, n, what, c->ret, err);
	else if (!rc)
		rc = (c->how == PACK_U32 ? nsx_pack_u32 : nsx_pack_index)(
			c->arena, c->v, n, what, c->ret, err);
	drop_column(x->l, c->v);
	return rc;
}

/* Packs the read-only columns to a third of their size: neighbours begin close together, most spans
 * are short, and correlation ids count up.
 */
static int pack_columns(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	struct nsx_ops *o = &t->ops;
	struct nsx_calls *c = &t->calls;
	struct nsx_library_calls *b = &t->library;
	struct column list[] = {
	    {l->calls.start_ns, l->calls.end_ns, &l->call_set, &c->start,
	     .length = &c->length},
	    {l->ops.start_ns, l->ops.end_ns, &l->op_set, &o->start,
	     .length = &o->length},
	    {l->nvtx.start_ns, l->nvtx.end_ns, &l->nvtx_set, &t->nvtx.start,
	     .length = &t->nvtx.length},
	    {l->library.start_ns, l->library.end_ns, &l->library_set, &b->start,
	     .length = &b->length},
	    {l->library.comm, NULL, &l->library_set, &b->comm, .how = PACK_I64},
	    {l->library.bytes, NULL, &l->library_set, &b->bytes, .how = PACK_I64},
	    {l->ops.call, NULL, &l->op_set, &o->call, .how = PACK_INDEX},
	    {l->calls.op, NULL, &l->call_set, &c->op, .how = PACK_INDEX},
	    {l->ops.stream, NULL, &l->op_set, &o->stream, .how = PACK_U32},
	    {l->ops.detail, NULL, &l->op_set, &o->detail, .how = PACK_U32},
	    {l->calls.corr, NULL, &l->call_set, &c->corr, .how = PACK_U32},
	    {l->calls.name, NULL, &l->call_set, &c->name, .how = PACK_U32},
	    {l->nvtx.domain, NULL, &l->nvtx_set, &t->nvtx.domain, .how = PACK_U32},
	};
	struct columns x = {l, list};
	int rc;

	for (unsigned i = 0; i < ARRAY_LEN(list); i++)
		list[i].arena = nsx_arena_new();
	rc = nsx_par(l->threads, ARRAY_LEN(list), pack_column, &x, err);
	for (unsigned i = 0; i < ARRAY_LEN(list); i++)
		nsx_arena_adopt(t->arena, list[i].arena);
	return rc;
}

/* Hands the loader's columns to the trace; they are read-only from now on. */
static int publish_columns(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	const struct nsx_ops_rw *o = &l->ops;
	const struct nsx_calls_rw *c = &l->calls;
	const struct nsx_nvtx_rw *x = &l->nvtx;

	nsx_arena_drop(t->arena, c->thread);
	nsx_arena_drop(t->arena, x->thread);
	if (pack_columns(l, err))
		return err->rc;
	t->ops = (struct nsx_ops){
	    l->op_set.n,   t->ops.start, t->ops.length, t->ops.call, t->ops.stream,
	    t->ops.detail, o->kind,	 o->cls,	o->flags};
	t->calls = (struct nsx_calls){
	    l->call_set.n, t->calls.start, t->calls.length, t->calls.name,
	    t->calls.corr, t->calls.op,   c->cls,	    c->flags};
	t->nvtx = (struct nsx_nvtx){
	    l->nvtx_set.n, t->nvtx.start, t->nvtx.length, x->name,
	    t->nvtx.domain, x->kind,	  x->flags};
	t->library.n = l->library_set.n;
	t->library.thread = l->library.thread;
	t->library.name = l->library.name;
	t->library.peer = l->library.peer;
	t->library.second_peer = l->library.second_peer;
	t->library.tag = l->library.tag;
	t->library.library = l->library.library;
	t->library.is_coll = l->library.is_coll;
	t->overheads.n = l->overhead_set.n;
	t->syncs.n = l->sync_set.n;
	t->records.n = l->record_set.n;
	t->copy = l->copies;
	return 0;
}

static int publish_raw_names(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	size_t n = 0;

	for (size_t i = 0; i < l->nraw; i++)
		n += l->raw[i] != NULL;
	if (!nsx_new_array(t->raw_name, t->arena, n, "raw names", err))
		return err->rc;
	for (size_t i = 0; i < l->nraw; i++)
		if (l->raw[i])
			t->raw_name[t->nraw_names++] = (struct nsx_raw_name){
				(nsx_str)i,
				nsx_arena_strdup(t->arena, l->raw[i])};
	return 0;
}

/* Sorts warnings by text, because threads add them in any order. */
static void publish_warnings(struct nsx_loader *l)
{
	const struct nsx_schema *s = l->schema;
	size_t n = 0;

	if (nsx_db_note(s->db))
		nsx_load_warn(l, "%s", nsx_db_note(s->db));
	l->t->damaged = nsx_schema_loss(s, 0) != NULL;
	for (unsigned v = 0; v < NSX_NVIEWS; v++)
		if (s->refused[v])
			nsx_load_warn(l, "%s %s", nsx_view_defs[v].name, s->refused[v]);
	nsx_sort(l->warnings, l->nwarnings, sizeof(*l->warnings), nsx_cmp_text);
	/* Skips a warning that the survey has already given. */
	for (size_t i = 0; i < l->nwarnings; i++)
		if (!n || strcmp(l->warnings[n - 1], l->warnings[i]))
			l->warnings[n++] = l->warnings[i];
	l->nwarnings = n;
	l->t->warnings = nsx_arena_get(l->t->arena, (l->nwarnings + 1) * sizeof(char *));
	if (l->nwarnings)
		memcpy(l->t->warnings, l->warnings, l->nwarnings * sizeof(char *));
	l->t->nwarnings = l->nwarnings;
}

static bool has_library_call(const struct nsx_trace *t, const struct nsx_window *w)
{
	const struct nsx_library_calls *x = &t->library;

	for (size_t i = 0; i < x->n; i++) {
		int64_t start_ns = nsx_unpack(&x->start, i);

		if (nsx_reaches(w, start_ns, start_ns + nsx_unpack(&x->length, i)))
			return true;
	}
	return false;
}

struct instants_within {
	const struct nsx_window *w;
	bool any;
};

static int note_instant(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			struct nsx_err *err NSX_UNUSED)
{
	struct instants_within *x = ctx;

	x->any |= v->type == NSX_V_I64 && v->u.i >= x->w->start_ns && v->u.i < x->w->end_ns;
	return 0;
}

/* Whether w has samples or thread switches, which can occur without any event. */
static int has_samples_or_switches(const struct nsx_loader *l, const struct nsx_window *w,
				   bool *ret, struct nsx_err *err)
{
	struct instants_within x = {.w = w};
	int rc = nsx_view_each(l->schema, sample, note_instant, &x, err, start_ns) ?:
		 nsx_view_each(l->schema, sched, note_instant, &x, err, start_ns) ?:
		 nsx_view_each(l->schema, gpu_metric, note_instant, &x, err, timestamp_ns);

	*ret = x.any;
	return rc;
}

int nsx_fail_beyond(const struct nsx_trace *t, const char *when, struct nsx_err *err)
{
	return nsx_fail(err, NSX_E_USAGE, "nothing was recorded at '%s': the trace's events are in "
			"%.9gs..%.9gs; without the suffix s a time counts from the first of "
			"them", when, (double)t->first_ns / 1e9, (double)t->last_ns / 1e9);
}

/* Rejects a window outside everything recorded. It is a typing error, and the report would show an
 * idle GPU.
 */
static int check_window(const struct nsx_loader *l, struct nsx_err *err)
{
	const struct nsx_trace *t = l->t;
	const struct nsx_window *w = &t->user;
	bool any = w->start_ns == w->end_ns || t->first_ns == t->last_ns ||
		   nsx_reaches(w, t->first_ns, t->last_ns) ||
		   has_library_call(t, w);

	if (!any && has_samples_or_switches(l, w, &any, err))
		return err->rc;
	if (any)
		return 0;
	return nsx_fail_beyond(t, l->opts->window, err);
}

/* Loads everything into the trace. in_part: rows far from the window are skipped. */
static int load_all(struct nsx_loader *l, const struct nsx_load_opts *opts,
		     bool in_part, struct nsx_err *err)
{
	int rc;

	/* The schema is written only if needed, because other threads may be reading it. */
	if (l->schema->reach->is_on)
		*l->schema->reach = (struct nsx_reach){0};
	if (l->schema->shifts->possible.is_on)
		l->schema->shifts->possible.is_on = l->schema->shifts->has_far = false;
	rc = nsx_load_strings(l, err) ?:
	     nsx_load_stacks(l, err) ?:
	     (opts->window ? nsx_window_range(l, opts->window, &l->window_range,
					      err) : 0) ?:
	     load_rows(l, in_part ? opts->window : NULL, err);

	nsx_give_back();
	nsx_progress_stage(l->progress, "order", 0);
	if (!rc)
		rc = nsx_drop_far_rows(l, err) ?:
		     nsx_order_ids(l, err) ?:
		     nsx_order_rows(l, err) ?:
		     nsx_align_clocks(l, err) ?:
		     nsx_drop_impossible(l, err) ?:
		     nsx_drop_sample(l, err) ?:
		     nsx_cut_window(l, opts->window, err) ?:
		     nsx_derive(l, err) ?:
		     nsx_tie_backtraces(l, err);
	nsx_arena_free(l->index_arena);
	l->index_arena = NULL;
	rc = rc ?: publish_columns(l, err) ?:
	     nsx_load_osrt(l, err) ?:
	     nsx_load_samples(l, err) ?: nsx_publish_python(l, err) ?:
	     check_window(l, err) ?: nsx_publish_stacks(l, err);
	if (!rc)
		nsx_name_domains(l);
	rc = rc ?: nsx_tell_domains_apart(l, err) ?: nsx_merge_range_names(l, err) ?:
	     publish_raw_names(l, err);
	nsx_strings_close(l->strings);
	rc = rc ?: nsx_rank_names(l->t, l->threads, err);
	if (!rc)
		publish_warnings(l);
	return rc ? rc : nsx_stopped(err);
}

static void init_maps(struct nsx_loader *l)
{
	pthread_mutex_init(&l->lock, NULL);
	nsx_keymap_init(&l->threads_map, "threads");
	nsx_keymap_init(&l->streams_map, "streams");
	nsx_keymap_init(&l->domains_map, "NVTX domains");
	nsx_keymap_init(&l->shapes_map, "launch configurations");
	nsx_keymap_init(&l->replays_map, "graphs");
	nsx_keymap_init(&l->osrt_map, "OSRT names");
	nsx_keymap_init(&l->frames_map, "frames");
	nsx_keymap_init(&l->callers_map, "callers");
}

static void free_stacks(struct nsx_stacks *s)
{
	free(s->id);
	free(s->stack);
}

static void free_loader(struct nsx_loader *l)
{
	pthread_mutex_destroy(&l->lock);
	nsx_keymap_done(&l->threads_map);
	nsx_keymap_done(&l->streams_map);
	nsx_keymap_done(&l->domains_map);
	nsx_keymap_done(&l->shapes_map);
	nsx_keymap_done(&l->replays_map);
	nsx_keymap_done(&l->osrt_map);
	nsx_keymap_done(&l->frames_map);
	nsx_keymap_done(&l->callers_map);
	free(l->least_corr);
	free(l->portion.corr);
	free(l->portion.at_ns);
	nsx_groups_done(&l->stacks);
	nsx_groups_done(&l->shapes);
	free_stacks(&l->sample_stacks);
	free_stacks(&l->cuda_stacks);
	free_stacks(&l->osrt_stacks);
	free(l->backtraces);
	free(l->python);
	nsx_groups_done(&l->python_texts);
	free(l->python_known);
	for (size_t i = 0; i < l->nraw; i++)
		free(l->raw[i]);
	free(l->raw);
	nsx_arena_free(l->index_arena);
	free(l->by_id);
	free(l->sparse);
	free(l->subset);
	free(l->ordinals);
	free(l->created);
	free(l->warnings);
	free(l);
}

/* Opens a loader with an empty trace. */
static struct nsx_loader *new_loader(const struct nsx_schema *schema,
				     const struct nsx_load_opts *opts)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_trace *t = nsx_arena_get(a, sizeof(*t));
	struct nsx_loader *l = nsx_alloc(1, sizeof(*l));

	t->arena = a;
	t->schema = schema;
	t->steps_from = opts->steps_from;
	t->strings = l->strings = nsx_strings_new();
	t->pid_source_kernel = load_pid_source(schema, NSX_F_kernel_global_pid, NSX_F_kernel_pid);
	t->pid_source_runtime = load_pid_source(schema, NSX_F_runtime_global_tid,
						NSX_F_runtime_pid);
	t->pid_source_nvtx = load_pid_source(schema, NSX_F_nvtx_global_tid, NSX_F_nvtx_pid);
	l->t = t;
	l->schema = schema;
	l->threads = NSX_MAX(1, opts->threads);
	l->opts = opts;
	l->progress = opts->progress;
	l->index_arena = nsx_arena_new();
	init_maps(l);
	return l;
}

static int load_once(const struct nsx_schema *schema,
		     const struct nsx_load_opts *opts, bool in_part,
		     struct nsx_trace **ret, struct nsx_err *err)
{
	struct nsx_loader *l = new_loader(schema, opts);
	struct nsx_trace *t = l->t;
	int rc = load_all(l, opts, in_part, err);

	free_loader(l);
	if (rc) {
		nsx_trace_free(t);
		return rc;
	}
	*ret = t;
	return 0;
}

int nsx_trace_are_times_good(const struct nsx_schema *schema, unsigned threads, bool *ret,
			     struct nsx_err *err)
{
	const struct nsx_load_opts opts = {.threads = threads};
	struct nsx_loader *l = new_loader(schema, &opts);
	struct nsx_trace *t = l->t;
	/* Without ranges the recording may seem to end earlier, so that more records lie far beyond
	 * its end, never fewer.
	 */
	int rc = nsx_load_strings(l, err) ?: load_gpu_times(l, err) ?:
		 nsx_drop_far_rows(l, err) ?: nsx_order_ids(l, err) ?: nsx_order_rows(l, err) ?:
		 nsx_align_clocks(l, err) ?: nsx_drop_impossible(l, err);

	*ret = !schema->shifts->n && !schema->shifts->nrows && !t->impossible.nkept &&
	       !t->impossible.nfar;
	nsx_strings_close(l->strings);
	free_loader(l);
	nsx_trace_free(t);
	return rc;
}

int nsx_trace_load(const struct nsx_schema *schema,
		   const struct nsx_load_opts *opts, struct nsx_trace **ret, struct nsx_err *err)
{
	int rc = load_once(schema, opts, true, ret, err);

	return rc == NSX_PRESUMED_WRONG ? load_once(schema, opts, false, ret, err) : rc;
}

const struct nsx_gpu_info *nsx_device_gpu(const struct nsx_trace *t, uint32_t device)
{
	return t->device[device].info;
}

void nsx_trace_free(struct nsx_trace *t)
{
	if (!t)
		return;
	nsx_strings_free((struct nsx_strings *)t->strings);
	nsx_arena_free(t->arena);
}
