/* copies.c - copies and memsets that hold the program up.
 *
 * Copies that begin in the judged window are grouped by direction and by fault: pageable host
 * memory, many small copies, or neither. Copies without such a fault may still run while nothing
 * computes.
 */
#include "detect/detect.h"
#include "facts/floor.h"
#include "facts/replay/replay.h"

enum {
	NKINDS = NSX_COPY_UVM_HTOD, /* kinds from here on migrate unified memory */
	SMALL_BYTES = 64 << 10, /* a smaller copy takes a fixed time         */
	MANY = 100,
};

enum trouble { PLAIN, FROM_PAGEABLE, NTROUBLES };

struct group { /* copies of one direction with one fault */
	int64_t bytes, ns;
	int64_t calls_ns; /* time of the calls that make them, which may exceed their own time */
	/* copies for which the host waits: a call that ends before half of its copy is done waited
	 * only for the staging of the data
	 */
	size_t nblocking;
	struct nsx_row_list rows;
	uint32_t id; /* index in `places`                                    */
};

struct copies {
	struct nsx_detect *d;
	struct group v[NTROUBLES][NKINDS], memset;
	/* copies of any direction that are so small that their fixed cost exceeds their transfer */
	struct group small;
	struct nsx_places *places;
	uint32_t ngroups;
};

/* The group of an operation; NULL: it is no copy or memset of the program in the judged window. */
static struct group *copies_group_of(struct copies *c, size_t op)
{
	const struct nsx_trace *t = c->d->trace;
	const struct nsx_copy *x = nsx_op_copy(t, op);
	uint32_t call = nsx_op_call(&t->ops, op);

	if (t->ops.cls[op] != NSX_C_COPY || !nsx_op_counts(t, op) ||
	    !nsx_is_judged(c->d, nsx_op_start(&t->ops, op)) ||
	    (call != NSX_NONE && nsx_is_librarys(c->d, call)))
		return NULL;
	if (t->ops.kind[op] == NSX_OP_MEMSET)
		return &c->memset;
	if (x->copy_kind >= NKINDS)
		return NULL;
	if (x->bytes >= 0 && x->bytes < SMALL_BYTES)
		return &c->small;
	return &c->v[nsx_copy_is_pageable(x->copy_kind, x->src_kind, x->dst_kind) ?
			     FROM_PAGEABLE : PLAIN][x->copy_kind];
}

static int copies_add(struct copies *c, struct group *g, size_t op, struct nsx_err *err)
{
	const struct nsx_trace *t = c->d->trace;
	int64_t ns = nsx_op_ns(&t->ops, op), at_ns = nsx_op_start(&t->ops, op);
	uint32_t call = nsx_op_call(&t->ops, op);

	nsx_add_to(&g->ns, ns);
	nsx_add_to(&g->bytes, NSX_MAX(0, nsx_op_copy(t, op)->bytes));
	nsx_add_to(&g->calls_ns, call == NSX_NONE ? 0 : nsx_call_ns(&t->calls, call));
	g->nblocking += call == NSX_NONE || nsx_call_end(&t->calls, call) >= at_ns + ns / 2;
	return nsx_list_row(c->d, &g->rows, op, err) ?:
	       nsx_places_add_op(c->places, g->id, op, ns, err);
}

static int copies_collect(struct copies *c, struct nsx_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < c->d->trace->ops.n; i++) {
		struct group *g = copies_group_of(c, i);

		rc = g ? copies_add(c, g, i, err) : 0;
	}
	return rc;
}

/* Findings --------------------------------------------------------------------*/

static const char *const directions[NKINDS] = {
	[NSX_COPY_UNKNOWN] = "of unknown direction",
	[NSX_COPY_HTOD] = say_from_host_device,
	[NSX_COPY_DTOH] = say_from_device_host,
	[NSX_COPY_DTOD] = "on the device",
	[NSX_COPY_HTOH] = "on the host",
	[NSX_COPY_PTOP] = say_from_device_device_peer,
};

/* Points at the direction of most small copies, on the device of the first. */
static void prove_small(const struct copies *c, struct nsx_evidence *e)
{
	const struct nsx_trace *t = c->d->trace;
	size_t n[NKINDS] = {0}, first[NKINDS];
	unsigned most = 0;

	for (size_t i = c->small.rows.n; i-- > 0;) {
		unsigned kind = nsx_op_copy(t, c->small.rows.v[i])->copy_kind;

		n[kind]++;
		first[kind] = c->small.rows.v[i];
	}
	for (unsigned k = 1; k < NKINDS; k++)
		most = n[k] > n[most] ? k : most;
	e->column = "small_count";
	e->at[0] = (struct nsx_at){"direction", nsx_string(nsx_copy_direction(most))};
	e->at[1] = (struct nsx_at){"device_id", nsx_device_cell(
		t, nsx_stream_of(t, first[most])->device)};
}

static struct nsx_plan change_rows(struct copies *c, struct group *g, enum nsx_change_verb verb)
{
	struct nsx_plan p = {NULL, 0};

	nsx_plan_rows(c->d, &p, &g->rows, (struct nsx_change){
		.verb = verb, .op = NSX_ON_COPIES | NSX_ON_MEMSETS});
	return p;
}

/* The time of the copies in which their GPU computes nothing, on the GPU where it is longest: GPUs
 * copy at the same time. The rows are in order.
 */
static double exposed_ns_of(const struct copies *c, const struct group *g)
{
	const struct nsx_trace *t = c->d->trace;
	uint32_t dev = NSX_NONE;
	int64_t until_ns = 0, ns = 0, most_ns = 0;

	for (size_t i = 0; i < g->rows.n; i++) {
		size_t op = g->rows.v[i], at;
		int64_t from_ns = nsx_op_start(&t->ops, op), end_ns = nsx_op_end(&t->ops, op);
		const struct nsx_spans *compute;

		if (nsx_stream_of(t, op)->device != dev) {
			dev = nsx_stream_of(t, op)->device;
			until_ns = INT64_MIN;
			ns = 0;
		}
		compute = &c->d->facts->device[dev].compute;
		from_ns = NSX_MAX(from_ns, until_ns);
		if (end_ns <= from_ns)
			continue;
		at = nsx_spans_find(compute, from_ns);
		ns += end_ns - from_ns - nsx_spans_covered(compute, &at, from_ns, end_ns);
		until_ns = end_ns;
		most_ns = NSX_MAX(most_ns, ns);
	}
	return (double)most_ns;
}

/* The fields that all these findings share. */
static struct nsx_finding copies_start(struct copies *c, struct group *g, enum nsx_finding_id id,
				       unsigned kind, enum nsx_change_verb verb)
{
	struct nsx_findings *l = c->d->found;
	struct nsx_plan remedy = change_rows(c, g, verb); /* sorts the rows */
	struct nsx_finding f = {
		.id = id, .subject = kind ? nsx_copy_direction(kind) : NULL,
		.confidence = NSX_CONF_HIGH, .device = NSX_NONE,
		.guess_ns = exposed_ns_of(c, g), .remedy = remedy,
		/* for copies of other kinds, the title already gives the number */
		.evidence = {nsx_tell(
			l, "%s%s in %s%s, %s/s", kind ? nsx_tell(l, "%s, ",
				nsx_text_n(l->arena, g->rows.n, "copy", "copies")) : "",
			nsx_tell_bytes(l, g->bytes), nsx_tell_ns(l, g->ns),
			nsx_say_over_gpus(c->d, g->rows.v, g->rows.n),
			nsx_text_bytes(l->arena, 1e9 * (double)g->bytes /
						 (double)NSX_MAX(1, g->ns)))},
		.proof = {{.csv = "memcpy_summary", .column = "exposed_ms"}}};

	if (id == NSX_ID_small_copies)
		prove_small(c, &f.proof[0]);
	else if (kind)
		f.proof[0].at[0] = (struct nsx_at){
			"direction", nsx_string(nsx_copy_direction(kind))};
	nsx_places_tell(c->places, g->id, &f);
	return f;
}

/* Whether kernels run on a stream in the judged window. */
static bool computes(const struct copies *c, uint32_t stream)
{
	const struct nsx_trace *t = c->d->trace;

	NSX_EACH_JUDGED(c->d, t->stream[stream].device, i)
		if (nsx_op_stream(&t->ops, i) == stream && t->ops.cls[i] == NSX_C_COMPUTE)
			return true;
	return false;
}

static int64_t copied_ns_on(const struct copies *c, const struct group *g, uint32_t dev)
{
	const struct nsx_trace *t = c->d->trace;
	int64_t ns = 0;

	for (size_t i = 0; i < g->rows.n; i++)
		if (nsx_stream_of(t, g->rows.v[i])->device == dev)
			nsx_add_to(&ns, nsx_op_ns(&t->ops, g->rows.v[i]));
	return ns;
}

/* The work of a device beside which copies can run that take ns there: compute, and copies the
 * other way. *ret_back_ns: the latter, if they take turns with these copies; else 0.
 */
static double work_beside_ns(const struct copies *c, uint32_t dev, int64_t ns, unsigned kind,
			     int64_t *ret_back_ns)
{
	const struct nsx_spans *copy = &c->d->facts->device[dev].copy;
	unsigned other = kind == NSX_COPY_HTOD ? NSX_COPY_DTOH : NSX_COPY_HTOD;
	int64_t back_ns = copied_ns_on(c, &c->v[PLAIN][other], dev);
	int64_t all_ns = copied_ns_on(c, &c->memset, dev);
	size_t at = nsx_spans_find(copy, c->d->w.start_ns);
	struct nsx_partition part;

	for (unsigned k = 0; k < NKINDS; k++)
		for (unsigned i = 0; i < NTROUBLES; i++)
			nsx_add_to(&all_ns, copied_ns_on(c, &c->v[i][k], dev));
	nsx_partition(&c->d->facts->device[dev], c->d->w.start_ns, c->d->w.end_ns, &part);
	all_ns -= nsx_spans_covered(copy, &at, c->d->w.start_ns, c->d->w.end_ns);
	*ret_back_ns = 10 * all_ns < NSX_MIN(back_ns, ns) ? back_ns : 0;
	return (double)(nsx_computing_ns(part.ns) + back_ns);
}

static void propose_plain(struct copies *c, unsigned kind)
{
	struct group *g = &c->v[PLAIN][kind];
	bool is_inside = kind == NSX_COPY_DTOD;
	/* the remedy matches the advice: copies on the device are avoided, others overlap */
	struct nsx_finding f = copies_start(c, g, NSX_ID_exposed_copies, kind,
					    is_inside ? NSX_DROP : NSX_OVERLAP);
	uint32_t stream = nsx_op_stream(&c->d->trace->ops, g->rows.v[0]);
	bool is_beside = computes(c, stream);
	const char *why = is_beside ? say_they_on_stream_computes : NULL;
	uint32_t dev = c->d->trace->stream[stream].device;
	int64_t back_ns, ns = copied_ns_on(c, g, dev);
	double beside_ns = work_beside_ns(c, dev, ns, kind, &back_ns);

	f.title = nsx_tell(c->d->found, say_copies_run_while_nothing,
			   directions[kind] ?: "between arrays");
	if (!is_inside && (double)ns > beside_ns) { /* most would stay under any schedule */
		f.surely = f.remedy;
		f.remedy = change_rows(c, g, NSX_DROP);
		f.if_least = say_if_they_only_hidden_behind;
		f.is_bound = true;
		why = say_they_take_longer_than_all;
		f.recommendation[0] = nsx_tell(c->d->found, say_move_less_keep_on_gpu,
					       c->d->is_pytorch ? " (weights, adapters)" : "");
		f.recommendation[1] = say_copy_rest_on_stream_own;
	} else if (!is_inside && 2 * (double)back_ns > beside_ns) {
		f.guess_ns = NSX_MIN(f.guess_ns, beside_ns);
		why = nsx_tell(c->d->found, say_directions_take_turns,
			       nsx_tell_ns(c->d->found, NSX_MAX(back_ns, ns)),
			       nsx_tell_ns(c->d->found, back_ns + ns));
		f.recommendation[0] = say_let_directions_overlap;
	} else if (is_inside || is_beside) {
		f.recommendation[0] = is_inside ? say_avoid_write_results_where :
						  say_copy_on_stream_own_from;
		f.recommendation[1] = is_inside ? say_copy_on_stream_own_beside :
						  say_move_less_keep_data_where;
	} else { /* the copies are queued late */
		f.recommendation[0] = kind == NSX_COPY_DTOH ? say_let_only_what_needs :
							      say_queue_one_batch_earlier;
	}
	if (why)
		nsx_insert_evidence(&f, 1, why);
	nsx_found(c->d->found, &f);
}

/* Advice by direction: results are needed at a certain time, and input can be sent ahead. Only a
 * loop has a data loader.
 */
static const char *advise_pinned(const struct copies *c, unsigned kind)
{
	if (kind == NSX_COPY_DTOH)
		return c->d->is_pytorch ? say_copy_into_pinned_tensor : say_copy_into_pinned_memory;
	if (!c->d->is_pytorch)
		return say_allocate_host_buffers;
	return nsx_repeats(c->d) ? say_allocate_host_buffers_2 : say_copy_from_pinned_tensors;
}

/* Lists waits right after such copies, because they wait for the copied data. */
static int copies_list_waits(struct copies *c, const struct group *g, struct nsx_row_list *ret,
			     struct nsx_err *err)
{
	const struct nsx_trace *t = c->d->trace;

	for (size_t i = 0; i < g->rows.n; i++) {
		uint32_t call = nsx_op_call(&t->ops, g->rows.v[i]), next = call + 1;

		if (call == NSX_NONE)
			continue;
		while (next < t->calls.n && t->calls.flags[next] & NSX_CALL_NESTED)
			next++;
		if (next < t->calls.n && t->calls.cls[next] == NSX_CALL_SYNC &&
		    nsx_call_thread(t, next) == nsx_call_thread(t, call) &&
		    nsx_list_row(c->d, ret, next, err))
			return err->rc;
	}
	return 0;
}

/* Sets the remedy: pinned memory, with copies hidden behind other work. Only the gain of pinned
 * memory is certain. For copies to the host it is not even certain that they no longer block the
 * host, because it may read the result at once.
 */
static int set_remedy(struct copies *c, unsigned kind, const struct nsx_rate *link,
		      struct nsx_finding *f, struct nsx_err *err)
{
	struct group *g = &c->v[FROM_PAGEABLE][kind];
	double slow = (double)g->bytes / (double)NSX_MAX(1, g->ns);
	struct nsx_change v = {.verb = NSX_FASTER, .op = NSX_ON_COPIES,
			       .rows = nsx_keep_rows(c->d, g->rows.v, g->rows.n),
			       .amount = NSX_MAX(1, link->bytes_per_ns / slow)};
	struct nsx_row_list waits = {0};

	if (kind == NSX_COPY_DTOH && copies_list_waits(c, g, &waits, err))
		return err->rc;
	f->surely = f->remedy = nsx_plan_of(c->d, v);
	v.amount = 0;
	v.verb = NSX_ASYNC_COPY;
	nsx_plan_add(c->d, &f->remedy, v);
	if (kind != NSX_COPY_DTOH)
		f->surely = f->remedy;
	v.verb = NSX_OVERLAP;
	nsx_plan_add(c->d, &f->remedy, v);
	nsx_plan_rows(c->d, &f->remedy, &waits, (struct nsx_change){.verb = NSX_NO_WAIT});
	f->if_least = say_if_they_become_pinned_not;
	return 0;
}

static int propose_pageable(struct copies *c, unsigned kind, struct nsx_err *err)
{
	struct group *g = &c->v[FROM_PAGEABLE][kind];
	const struct nsx_trace *t = c->d->trace;
	struct nsx_findings *l = c->d->found;
	struct nsx_finding f = copies_start(c, g, NSX_ID_pageable_copies, kind, NSX_OVERLAP);
	struct nsx_rate link;

	if (nsx_link_rate(t, nsx_stream_of(t, g->rows.v[0])->device, kind, c->d->scratch, &link,
			  err) ||
	    set_remedy(c, kind, &link, &f, err))
		return err->rc;
	f.title = nsx_tell(l, say_copies_use_pageable_memory, directions[kind] ?: "between arrays",
		g->nblocking * 2 > g->rows.n ? "blocks the host" : say_host_stages_first);
	if (g->calls_ns > g->ns + g->ns / 10)
		f.evidence[0] = nsx_tell(l, "%s; their calls take %s", f.evidence[0],
					 nsx_tell_ns(l, g->calls_ns));
	if (link.bytes_per_ns > 0)
		f.evidence[0] = nsx_tell(l,
			link.is_seen ? say_pinned_copies_here_reach : say_pinned_about_by_link,
			f.evidence[0], nsx_text_bytes(l->arena, 1e9 * link.bytes_per_ns));
	f.recommendation[0] = advise_pinned(c, kind);
	nsx_found(l, &f);
	return 0;
}

/* Small copies that another one could replace: same direction and stream, with no call between them
 * that keeps them apart.
 */
struct runs {
	struct group all, spare; /* all copies of the runs; those that would go */
	struct last { /* by stream and direction: the last small copy */
		uint32_t op, thread, parting;
		bool is_any, in_run;
	} *last;
	size_t nfilled; /* copies to the GPU that fill what was allocated right before */
	/* judged calls by class; of the class IMPLICIT_SYNC only allocations */
	size_t njudged[NSX_CALL_NONE + 1];
};

static int add_to_run(struct copies *c, struct runs *r, struct last now, struct nsx_err *err)
{
	struct last *x = &r->last[nsx_op_stream(&c->d->trace->ops, now.op) * NKINDS +
				  nsx_op_copy(c->d->trace, now.op)->copy_kind];
	struct last was = *x;

	now.in_run = was.is_any && was.thread == now.thread && was.parting == now.parting;
	*x = now;
	if (!now.in_run)
		return 0;
	return copies_add(c, &r->spare, was.op, err) ?: copies_add(c, &r->all, now.op, err) ?:
	       was.in_run ? 0 : copies_add(c, &r->all, was.op, err);
}

/* Finds runs of small copies that could be one. Earlier calls keep a small copy from being joined
 * with the next one: launches if it goes to the host, because its data must be computed first;
 * waits if it goes to the GPU, because the host may know its data only after a wait.
 */
static int find_runs(struct copies *c, struct runs *r, struct nsx_err *err)
{
	const struct nsx_trace *t = c->d->trace;
	uint32_t nwaits = 0, nlaunches = 0;
	size_t nallocations = 0;

	for (uint32_t i = 0; i < t->calls.n; i++) {
		enum nsx_call_class cls = t->calls.cls[i];
		bool allocates = t->calls.flags[i] & NSX_CALL_MALLOC;
		uint32_t op = nsx_call_op(&t->calls, i);
		bool is_small = op != NSX_NONE && nsx_op_call(&t->ops, op) == i &&
				copies_group_of(c, op) == &c->small;
		bool is_in = is_small && nsx_op_copy(t, op)->copy_kind == NSX_COPY_HTOD;

		if (is_small && add_to_run(c, r, (struct last){
				op, nsx_call_thread(t, i), is_in ? nwaits : nlaunches, true, false},
				err))
			return err->rc;
		r->nfilled += is_in && nallocations == 1;
		nallocations = is_small ? 0 : nallocations + allocates;
		r->njudged[cls] += (cls != NSX_CALL_IMPLICIT_SYNC || allocates) &&
				   nsx_is_judged(c->d, nsx_call_start(&t->calls, i));
		nwaits += cls == NSX_CALL_SYNC || (cls == NSX_CALL_COPY && is_small && !is_in);
		nlaunches += cls == NSX_CALL_LAUNCH;
	}
	return nsx_stopped(err);
}

static bool is_about_equal(size_t n, size_t count)
{
	return n * 5 >= count * 4 && n * 4 <= count * 5;
}

/* Adds allocations to the remedy if there are about as many as small copies: each is then a row of
 * an array. Adds waits and launches, too, if each row has one. Returns false without such
 * allocations.
 */
static bool add_rows_remedy(struct copies *c, const struct runs *r, struct nsx_finding *f)
{
	static const struct {
		enum nsx_call_class cls;
		enum nsx_change_verb verb;
		const char *names;
	} list[] = {
		{NSX_CALL_IMPLICIT_SYNC, NSX_NO_COST, "^cu(da)?(Mem)?(Malloc|Alloc)"},
		{NSX_CALL_SYNC, NSX_NO_WAIT, "Synchronize$"},
		{NSX_CALL_LAUNCH, NSX_NO_COST, "Launch"},
	};
	size_t before = f->remedy.n;

	for (size_t i = 0; i < ARRAY_LEN(list) && (!i || f->remedy.n > before); i++)
		if (is_about_equal(r->njudged[list[i].cls], c->small.rows.n))
			nsx_plan_add(c->d, &f->remedy, (struct nsx_change){
				.verb = list[i].verb, .name = list[i].names, .is_pattern = true});
	return f->remedy.n > before;
}

static void propose_runs(struct copies *c, struct runs *r)
{
	struct nsx_findings *l = c->d->found;
	struct nsx_finding f = copies_start(c, &r->all, NSX_ID_small_copies, 0, NSX_DROP);

	f.title = nsx_tell(l, say_below_64_kib_one_by,
		nsx_text_n(l->arena, r->all.rows.n, "copy", "copies"));
	f.remedy = change_rows(c, &r->spare, NSX_DROP);
	f.recommendation[0] = say_gather_small_pieces_into;
	f.recommendation[1] = say_where_each_row_own;
	nsx_found(l, &f);
}

static int propose_small(struct copies *c, struct nsx_err *err)
{
	struct runs r = {.all.id = c->ngroups++, .spare.id = c->ngroups++};
	struct nsx_finding f;

	if (c->small.rows.n < MANY)
		return 0;
	if (!nsx_new_array(r.last, c->d->scratch, (size_t)c->d->trace->nstreams * NKINDS, "streams",
			   err) || find_runs(c, &r, err))
		return err->rc;
	f = copies_start(c, &c->small, NSX_ID_small_copies, 0, NSX_DROP);
	if (is_about_equal(r.nfilled, c->small.rows.n) && add_rows_remedy(c, &r, &f)) {
		f.title = nsx_tell(c->d->found, "%zu rows are allocated and copied one by one",
				   c->small.rows.n);
		nsx_insert_evidence(&f, 1, say_there_as_many_allocations);
		f.recommendation[0] = say_use_one_contiguous_array;
		nsx_found(c->d->found, &f);
	} else if (r.all.rows.n >= MANY) {
		propose_runs(c, &r);
	}
	return 0;
}

static void propose_memsets(struct copies *c)
{
	struct nsx_findings *l = c->d->found;
	struct nsx_row_list *rows = &c->memset.rows;
	struct nsx_finding f = copies_start(c, &c->memset, NSX_ID_memsets, 0, NSX_DROP);

	f.title = nsx_tell(l, "%s fill%s %s", nsx_text_n(l->arena, rows->n, "memset", NULL),
			   rows->n == 1 ? "s" : "", nsx_tell_bytes(l, c->memset.bytes));
	f.evidence[0] = nsx_tell(l, "%s in all%s", nsx_tell_ns(l, c->memset.ns), /* without bytes */
				 nsx_say_over_gpus(c->d, rows->v, rows->n));
	f.proof[0] = (struct nsx_evidence){.csv = NULL};
	f.recommendation[0] = say_do_not_zero_what;
	nsx_found(l, &f);
}

static int copies_propose_all(struct copies *c, struct nsx_err *err)
{
	double least_ns = NSX_LEAST_SHARE * c->d->length_ns;

	if (propose_small(c, err))
		return err->rc;
	if ((double)c->memset.ns >= least_ns || c->memset.rows.n >= MANY)
		propose_memsets(c);
	for (unsigned k = 0; k < NKINDS; k++) {
		if ((double)c->v[PLAIN][k].ns >= least_ns)
			propose_plain(c, k);
		if ((double)c->v[FROM_PAGEABLE][k].ns >= least_ns && propose_pageable(c, k, err))
			return err->rc;
	}
	return 0;
}

int nsx_detect_copies(struct nsx_detect *d, struct nsx_err *err)
{
	struct copies *c = nsx_arena_get(d->scratch, sizeof(*c));

	c->d = d;
	c->places = nsx_new_places(d);
	for (unsigned k = 0; k < NTROUBLES * NKINDS; k++)
		c->v[k / NKINDS][k % NKINDS].id = c->ngroups++;
	c->memset.id = c->ngroups++;
	c->small.id = c->ngroups++;
	return copies_collect(c, err) ?: copies_propose_all(c, err);
}
