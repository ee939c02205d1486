/* impossible.c - records whose times cannot be true.
 *
 * A record is dropped if it begins before its own call, or after work that was queued later on its
 * stream. Work of one stream runs in order, so a record that outlasts its successor is cut where
 * the successor begins. If too many records contradict, the fault lies elsewhere (a clock, a
 * column) and they stay.
 */
#include "trace/load.h"

enum {
	STRAY_NS = 1000000,    /* the times of two clocks that agree differ by less than this */
	FAR_NS = 1000000000,   /* no clock drifts by as much as this         */
	SWALLOWED_NS = 100000, /* overlaps by programmatic dependent launch are shorter */
	SHARE = 16,	       /* one record in SHARE of a stream may be wrong */
	/* Each changed record becomes a line in a query's script, so their number is limited. */
	MOST = 10000,
};

enum verdict { KEPT, EARLY, FAR, LATE, CUT };

/* The state of a stream after the operations seen so far. */
struct order {
	int64_t least_end_ns; /* earliest end among the calls of later operations */
	/* latest start among the calls of earlier operations, in three groups: operations that
	 * began more than STRAY_NS before from_ns, up to STRAY_NS before it, and since
	 */
	int64_t from_ns, most_start_ns[3];
	uint32_t last; /* last operation seen; NSX_NONE: none                */
	size_t n, nwrong;
};
struct finder {
	struct nsx_loader *l;
	struct order *order; /* one for each stream */
	uint8_t *verdict;    /* for each operation: enum verdict */
	uint32_t *call;	     /* one for each operation */
	const struct nsx_clock **clock; /* one for each stream */
	struct nsx_window host;		/* from the first to the last call or range */
	struct nsx_row_change *v;
	size_t n, cap;
};

static bool must_run_in_order(const struct nsx_loader *l, size_t op)
{
	const struct nsx_ops_rw *o = &l->ops;

	return !(o->flags[op] & (NSX_OP_NODE | NSX_OP_PEER)) &&
	       o->kind[op] != NSX_OP_GRAPH &&
	       (o->kind[op] != NSX_OP_MEMCPY ||
		!nsx_copy_is_migration(l->copies[o->detail[op]].copy_kind));
}

static void impossible_find_calls(struct finder *x)
{
	const struct nsx_loader *l = x->l;
	const struct nsx_trace *t = l->t;

	for (size_t i = 0; i < l->op_set.n; i++) {
		uint32_t p = t->stream[l->ops.stream[i]].process;

		x->call[i] = p == NSX_NONE || !l->ops.call[i] ? NSX_NONE :
			nsx_host_call(l, p, l->ops.call[i], l->ops.start_ns[i]);
		/* Reports do not say which node of a graph an operation is. */
		if (x->call[i] != NSX_NONE && l->calls.flags[x->call[i]] & NSX_CALL_GRAPH &&
		    l->ops.kind[i] != NSX_OP_GRAPH)
			l->ops.flags[i] |= NSX_OP_NODE;
		x->order[l->ops.stream[i]].n += must_run_in_order(l, i);
	}
	for (size_t i = 0; i < l->call_set.n; i++)
		nsx_widen(&x->host, l->calls.start_ns[i], l->calls.end_ns[i]);
	for (size_t i = 0; i < l->nvtx_set.n; i++)
		nsx_widen(&x->host, l->nvtx.start_ns[i], l->nvtx.end_ns[i]);
}

/* Finds records that begin before their own call. They are wrong if work that was queued earlier
 * on the stream comes after them, or if the distance exceeds any clock drift.
 */
static void find_records_before_call(struct finder *x)
{
	const struct nsx_loader *l = x->l;

	for (size_t i = l->op_set.n; i-- > 0;) {
		uint32_t s = l->ops.stream[i], call = x->call[i];
		struct order *o = &x->order[s];
		int64_t by_ns;

		if (call == NSX_NONE || l->ops.flags[i] & NSX_OP_PEER)
			continue;
		by_ns = l->calls.start_ns[call] - l->ops.start_ns[i];
		if (by_ns > STRAY_NS && x->clock[s]->least_ns != INT64_MIN &&
		    (!x->clock[s]->is_off || x->clock[s]->shift_ns) &&
		    (o->least_end_ns < l->calls.start_ns[call] || by_ns > FAR_NS))
			x->verdict[i] = EARLY;
		else
			o->least_end_ns = NSX_MIN(o->least_end_ns, l->calls.end_ns[call]);
	}
}

/* Finds records that begin long after other work of their stream although their own call had
 * returned before that work was called.
 */
static void find_late_records(struct finder *x)
{
	const struct nsx_loader *l = x->l;

	for (size_t i = 0; i < l->op_set.n; i++) {
		struct order *o = &x->order[l->ops.stream[i]];
		uint32_t call = x->call[i];

		if (call == NSX_NONE || x->verdict[i] || !must_run_in_order(l, i))
			continue;
		if (o->from_ns == INT64_MIN || l->ops.start_ns[i] - o->from_ns > STRAY_NS) {
			o->from_ns = l->ops.start_ns[i];
			o->most_start_ns[0] = NSX_MAX(o->most_start_ns[0], o->most_start_ns[1]);
			o->most_start_ns[1] = o->most_start_ns[2];
			o->most_start_ns[2] = INT64_MIN;
		}
		if (o->most_start_ns[0] > l->calls.end_ns[call]) {
			x->verdict[i] = LATE;
			o->nwrong++;
		}
		o->most_start_ns[2] = NSX_MAX(o->most_start_ns[2], l->calls.start_ns[call]);
	}
}

/* Finds an operation that begins far after everything else recorded. */
static void find_op_after_everything(struct finder *x)
{
	const struct nsx_loader *l = x->l;
	int64_t others_ns = x->host.end_ns;
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < l->op_set.n; i++)
		if (!x->verdict[i] && (last == SIZE_MAX ||
				       l->ops.start_ns[i] > l->ops.start_ns[last]))
			last = i;
	for (size_t i = 0; i < l->op_set.n; i++)
		if (!x->verdict[i] && i != last)
			others_ns = NSX_MAX(others_ns, l->ops.end_ns[i]);
	if (last != SIZE_MAX && x->call[last] != NSX_NONE &&
	    x->clock[l->ops.stream[last]]->least_ns != INT64_MIN &&
	    l->ops.start_ns[last] - FAR_NS > others_ns)
		x->verdict[last] = LATE;
}

/* Finds records that outlast the next operation of their stream. */
static void find_overlong_records(struct finder *x)
{
	const struct nsx_ops_rw *p = &x->l->ops;

	for (size_t i = 0; i < x->l->op_set.n; i++) {
		struct order *o = &x->order[p->stream[i]];
		uint32_t before = o->last;

		if (x->verdict[i] || !must_run_in_order(x->l, i) || p->start_ns[i] == p->end_ns[i])
			continue;
		o->last = (uint32_t)i;
		if (before == NSX_NONE ||
		    (x->call[i] == NSX_NONE) != (x->call[before] == NSX_NONE) ||
		    p->start_ns[i] == p->start_ns[before] ||
		    p->end_ns[before] < p->end_ns[i] ||
		    p->end_ns[before] - p->start_ns[i] <= SWALLOWED_NS)
			continue;
		x->verdict[before] = CUT;
		o->nwrong++;
	}
}

/* Finds records that begin where nothing of the session can be, and then, among those that are not
 * cut, records that end there.
 */
static void find_far_records(struct finder *x, bool by_end)
{
	const struct nsx_reach *p = &x->l->schema->shifts->possible;
	const struct nsx_ops_rw *o = &x->l->ops;

	for (size_t i = 0; p->is_on && i < x->l->op_set.n; i++)
		if (!x->verdict[i] &&
		    (by_end ? o->end_ns[i] > p->to_ns :
			      o->start_ns[i] < p->from_ns || o->start_ns[i] > p->to_ns)) {
			x->verdict[i] = FAR;
			x->order[o->stream[i]].nwrong++;
		}
}

/* An operation's row with the times of the file, before clocks were corrected. */
static struct nsx_row_change exported_row_of(const struct finder *x, size_t op)
{
	static const enum nsx_view views[] = {
		[NSX_OP_KERNEL] = NSX_VIEW_kernel, [NSX_OP_MEMCPY] = NSX_VIEW_memcpy,
		[NSX_OP_MEMSET] = NSX_VIEW_memset, [NSX_OP_GRAPH] = NSX_VIEW_graph};
	const struct nsx_ops_rw *o = &x->l->ops;
	int64_t by_ns = x->clock[o->stream[op]]->shift_ns;

	return (struct nsx_row_change){views[o->kind[op]], o->call[op],
				       o->start_ns[op] - by_ns,
				       o->end_ns[op] - by_ns, NSX_LEFT_OUT};
}

static void count_impossible(struct finder *x, size_t op, int64_t end_ns)
{
	const struct nsx_ops_rw *o = &x->l->ops;
	struct nsx_impossible *m = &x->l->t->impossible;
	bool cuts = x->verdict[op] == CUT;

	if (x->verdict[op] == FAR) {
		nsx_count_far(x->l->t, NSX_VIEW_kernel, 1, 0, o->start_ns[op]);
		return;
	}
	m->nearly += x->verdict[op] == EARLY;
	m->nlate += x->verdict[op] == LATE;
	m->ncut += cuts;
	if (cuts)
		m->most_cut_ns = NSX_MAX(m->most_cut_ns, o->end_ns[op] - end_ns);
	m->name = o->kind[op] == NSX_OP_KERNEL ? x->l->t->shape_name[o->detail[op]] : 0;
	m->start_ns = o->start_ns[op];
	m->call_ns = x->call[op] == NSX_NONE ? INT64_MIN : x->l->calls.start_ns[x->call[op]];
}

static bool has_sound_start(const struct finder *x, size_t op)
{
	uint8_t verdict = x->verdict[op];

	return verdict == KEPT || verdict == CUT ||
	       (verdict == FAR && x->l->ops.start_ns[op] <= x->l->schema->shifts->possible.to_ns);
}

/* Lists the dropped and cut records. The walk goes backwards, because a record is cut where the
 * next record of its stream begins.
 */
static int list_changes(struct finder *x, struct nsx_err *err)
{
	const struct nsx_ops_rw *o = &x->l->ops;
	int64_t *next_ns;

	nsx_few(next_ns, x->l->index_arena, x->l->t->nstreams);
	for (size_t i = x->l->op_set.n; i-- > 0;) {
		int64_t *next = &next_ns[o->stream[i]];
		const struct order *order = &x->order[o->stream[i]];
		struct nsx_row_change row = exported_row_of(x, i);

		if (x->verdict[i] > EARLY && order->nwrong > order->n / SHARE + 1)
			x->verdict[i] = KEPT;
		if (x->verdict[i] == CUT)
			row.new_end_ns = row.end_ns - o->end_ns[i] + *next;
		if (x->verdict[i]) {
			count_impossible(x, i, *next);
			if (nsx_push(x->v, x->n, x->cap, "impossible records", err, row))
				return err->rc;
		}
		if (has_sound_start(x, i) && must_run_in_order(x->l, i) &&
		    o->start_ns[i] < o->end_ns[i])
			*next = o->start_ns[i];
	}
	return 0;
}

static void apply_changes(struct finder *x)
{
	struct nsx_loader *l = x->l;
	size_t n = 0;

	for (size_t i = 0; i < l->op_set.n; i++) {
		const struct nsx_row_change row = exported_row_of(x, i);
		/* The second entry of a peer copy is treated like the first. */
		const struct nsx_row_change *c =
			x->verdict[i] || l->ops.flags[i] & NSX_OP_PEER ?
				nsx_find_change(x->v, x->n, &row) : NULL;

		if (c && c->new_end_ns == NSX_LEFT_OUT)
			continue;
		if (c)
			l->ops.end_ns[i] += c->new_end_ns - c->end_ns;
		nsx_colset_move(&l->op_set, n++, i, 1);
	}
	l->op_set.n = n;
}

static int find_impossible(struct finder *x, struct nsx_err *err)
{
	struct nsx_loader *l = x->l;
	struct nsx_trace *t = l->t;
	struct nsx_shifts *s = l->schema->shifts;
	int rc;

	impossible_find_calls(x);
	find_records_before_call(x);
	find_late_records(x);
	if (!l->portion.is_on)
		find_op_after_everything(x);
	find_far_records(x, false);
	find_overlong_records(x);
	find_far_records(x, true);
	rc = list_changes(x, err);
	if (!rc && l->portion.is_on && x->n)
		return NSX_PRESUMED_WRONG;
	if (rc || !x->n)
		return rc;
	if (x->n > MOST) {
		t->impossible = (struct nsx_impossible){.nkept = x->n};
		return 0;
	}
	nsx_sort_changes(x->v, x->n);
	apply_changes(x);
	if (!nsx_new_array(s->row, l->schema->arena, x->n, "impossible records", err))
		return err->rc;
	memcpy(s->row, x->v, x->n * sizeof(*x->v));
	s->nrows = x->n;
	return nsx_sort_ops(l, err);
}

int nsx_drop_impossible(struct nsx_loader *l, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct nsx_trace *t = l->t;
	struct finder x = {.l = l, .host = {INT64_MAX, INT64_MIN}};
	int rc = nsx_new_arrays(a, l->op_set.n, l->op_set.what, err, x.verdict, x.call);

	nsx_few(x.order, a, t->nstreams);
	nsx_few(x.clock, a, t->nstreams);
	l->schema->shifts->nrows = 0; /* forgets the changes of an earlier load */
	for (uint32_t s = 0, c = 0; s < t->nstreams; s++) {
		c += s && (t->stream[s - 1].device != t->stream[s].device ||
			   t->stream[s - 1].process != t->stream[s].process);
		x.clock[s] = &t->clock[c];
		x.order[s] = (struct order){
			INT64_MAX, INT64_MIN, {INT64_MIN, INT64_MIN, INT64_MIN},
			NSX_NONE, 0, 0};
	}
	rc = rc ?: find_impossible(&x, err);
	free(x.v);
	return rc;
}
