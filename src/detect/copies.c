/* copies.c - copies and memsets that hold the program up.
 *
 * Copies that begin in the judged window are grouped by direction and by fault: pageable host
 * memory, many small copies, or neither. Copies without such a fault may still run while nothing
 * computes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/keyed.h"
#include "detect/detect.h"
#include "detect/words.h"
#include "facts/floor.h"
#include "facts/replay/replay.h"
#include "schema/codes.h"

#define LEAST_SHARE 0.003 /* copies are reported from this share of the window */
enum {
	NKINDS = NSX_COPY_UVM_HTOD, /* first of the kinds that migrate unified memory */
	SMALL_BYTES = 64 << 10, /* a smaller copy takes a fixed time         */
	MANY = 100,
};

enum trouble { PLAIN, FROM_PAGEABLE, SMALL, NTROUBLES };

struct group { /* copies of one direction with one fault */
	int64_t count, bytes, ns;
	uint32_t *rows;
	size_t cap;
	uint32_t id; /* index in `places`                                    */
	struct nsx_place place; /* of the launches of most of their time     */
};

struct copies {
	struct nsx_detect *d;
	struct group v[NTROUBLES][NKINDS], memset;
	struct nsx_places places;
	uint32_t ngroups;
};

static enum trouble trouble_of(const struct nsx_copy *x)
{
	if (x->bytes >= 0 && x->bytes < SMALL_BYTES)
		return SMALL;
	return nsx_copy_is_pageable(x->copy_kind, x->src_kind, x->dst_kind) ? FROM_PAGEABLE : PLAIN;
}

static int copies_add(struct copies *c, struct group *g, size_t op, struct nsx_err *err)
{
	const struct nsx_trace *t = c->d->trace;
	int64_t ns = nsx_op_ns(&t->ops, op);

	if (nsx_push(g->rows, g->count, g->cap, "copies", err, (uint32_t)op))
		return err->rc;
	nsx_add_to(&g->ns, ns);
	nsx_add_to(&g->bytes, NSX_MAX(0, nsx_op_copy(t, op)->bytes));
	return nsx_places_add(&c->places, t, g->id, nsx_op_range(&c->d->facts->nvtx, op),
			      nsx_op_call(&t->ops, op), ns, &g->place, err);
}

static struct group new_group(struct copies *c)
{
	return (struct group){.id = c->ngroups++, .place = {0, NSX_NONE}};
}

static int copies_collect(struct copies *c, struct nsx_err *err)
{
	const struct nsx_trace *t = c->d->trace;

	for (size_t i = 0; i < t->ops.n; i++) {
		int64_t at_ns = nsx_op_start(&t->ops, i);
		const struct nsx_copy *x = nsx_op_copy(t, i);
		uint32_t call = nsx_op_call(&t->ops, i);
		struct group *g;

		if (t->ops.cls[i] != NSX_C_COPY || !nsx_op_counts(t, i))
			continue;
		if (!nsx_is_judged(c->d, at_ns) ||
		    (call != NSX_NONE && nsx_is_librarys(c->d, call)))
			continue;
		if (t->ops.kind[i] == NSX_OP_MEMSET)
			g = &c->memset;
		else if (x->copy_kind < NKINDS)
			g = &c->v[trouble_of(x)][x->copy_kind];
		else
			continue;
		if (copies_add(c, g, i, err))
			return err->rc;
	}
	return 0;
}

/* Findings --------------------------------------------------------------------*/

static struct nsx_rows keep_rows(struct copies *c, const struct group *g)
{
	return nsx_keep_rows(c->d, g->rows, (size_t)g->count);
}

static const char *const directions[NKINDS] = {
	[NSX_COPY_UNKNOWN] = "of unknown direction",
	[NSX_COPY_HTOD] = say_from_host_device,
	[NSX_COPY_DTOH] = say_from_device_host,
	[NSX_COPY_DTOD] = "on the device",
	[NSX_COPY_HTOH] = "on the host",
	[NSX_COPY_PTOP] = say_from_device_device_peer,
};

static const char *direction(unsigned kind)
{
	return directions[kind] ? directions[kind] : "between arrays";
}

/* Time in which the group's copies run while nothing computes. */
static double copies_exposed_ns(const struct copies *c, const struct group *g)
{
	const struct nsx_trace *t = c->d->trace;
	double sum = 0;

	for (int64_t i = 0; i < g->count; i++) {
		size_t op = g->rows[i];
		uint32_t dev = nsx_stream_of(t, op)->device;
		const struct nsx_device_facts *f = &c->d->facts->device[dev];
		int64_t a = nsx_op_start(&t->ops, op);
		int64_t b = nsx_op_end(&t->ops, op);
		size_t at = nsx_spans_find(&f->compute, a);

		sum += (double)(b - a - nsx_spans_covered(&f->compute, &at, a, b));
	}
	return sum;
}

/* Points at the direction of most small copies, on the device of the first. */
static void prove_small(const struct copies *c, struct nsx_evidence *e)
{
	const struct nsx_trace *t = c->d->trace;
	unsigned most = 0;

	for (unsigned k = 1; k < NKINDS; k++)
		if (c->v[SMALL][k].count > c->v[SMALL][most].count)
			most = k;
	e->column = "small_count";
	e->at[0] = (struct nsx_at){"direction", nsx_string(nsx_copy_direction(most))};
	if (c->v[SMALL][most].count)
		e->at[1] = (struct nsx_at){"device_id", nsx_int(t->device[
			nsx_stream_of(t, c->v[SMALL][most].rows[0])->device].device_id)};
}

/* The fields that all these findings share. */
static struct nsx_finding copies_start(struct copies *c, const struct group *g,
				       enum nsx_finding_id id, unsigned kind)
{
	struct nsx_findings *l = c->d->found;
	struct nsx_finding f = {
		.id = id, .subject = kind ? nsx_copy_direction(kind) : NULL,
		.confidence = NSX_CONF_HIGH, .device = NSX_NONE,
		.guess_ns = copies_exposed_ns(c, g),
		.evidence = {nsx_tell(
			l, "%s%s in %s%s, %s/s", kind ? nsx_tell(l, "%s, ",
				nsx_text_n(l->arena, (size_t)g->count, "copy",
					   /* for copies of other kinds, the title already
					    * gives it
					    */
					   "copies")) : "",
			nsx_tell_bytes(l, g->bytes), nsx_tell_ns(l, g->ns),
			nsx_say_over_gpus(c->d, g->rows, (size_t)g->count),
			nsx_text_bytes(l->arena, 1e9 * (double)g->bytes /
						 (double)NSX_MAX(1, g->ns)))},
		.proof = {{.csv = "memcpy_summary", .column = "exposed_ms"}}};

	if (id == NSX_ID_small_copies)
		prove_small(c, &f.proof[0]);
	else if (kind)
		f.proof[0].at[0] = (struct nsx_at){
			"direction", nsx_string(nsx_copy_direction(kind))};
	nsx_places_tell(c->d, &c->places, g->id, &g->place, &f);
	return f;
}

/* Inserts a line before the places, which come last. */
static void add_evidence(struct nsx_finding *f, const char *line)
{
	memmove(&f->evidence[2], &f->evidence[1],
		(ARRAY_LEN(f->evidence) - 2) * sizeof(*f->evidence));
	f->evidence[1] = line;
}

static struct nsx_plan change_rows(struct copies *c, const struct group *g,
				   enum nsx_change_verb verb)
{
	return nsx_plan_of(c->d, (struct nsx_change){
		.verb = verb, .op = NSX_ON_COPIES | NSX_ON_MEMSETS,
		.rows = keep_rows(c, g)});
}

/* Whether kernels run on a stream in the judged window. */
static bool computes(const struct copies *c, uint32_t stream)
{
	const struct nsx_trace *t = c->d->trace;
	const struct nsx_device *dev = &t->device[t->stream[stream].device];

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++)
		if (nsx_op_stream(&t->ops, i) == stream &&
		    t->ops.cls[i] == NSX_C_COMPUTE &&
		    nsx_is_judged(c->d, nsx_op_start(&t->ops, i)))
			return true;
	return false;
}

/* Whether a stream waits for events; NSX_NONE: whether any stream does. */
static bool copies_waits(const struct copies *c, uint32_t stream)
{
	const struct nsx_syncs *y = &c->d->trace->syncs;

	for (size_t i = 0; i < y->n; i++)
		if (y->type[i] == NSX_SYNC_STREAM_WAIT &&
		    (stream == NSX_NONE || y->stream[i] == stream))
			return true;
	return false;
}

/* Whether copies take longer than all compute on their device, so that no schedule hides them. */
static bool outlast_compute(const struct copies *c, const struct group *g)
{
	uint32_t dev = nsx_stream_of(c->d->trace, g->rows[0])->device;
	struct nsx_partition part;

	nsx_partition(&c->d->facts->device[dev], c->d->w.start_ns, c->d->w.end_ns, &part);
	return g->ns > nsx_computing_ns(part.ns);
}

static void advise_stream(unsigned kind, struct nsx_finding *f)
{
	f->recommendation[0] =
		kind == NSX_COPY_DTOD ? say_avoid_write_results_where : say_copy_on_stream_own_from;
	f->recommendation[1] = kind == NSX_COPY_DTOD ? say_copy_on_stream_own_beside :
						       say_move_less_keep_data_where;
}

/* Explains copies on a stream that computes nothing: other work of the stream delays them, or they
 * are queued late.
 */
static void tell_own_stream(struct copies *c, uint32_t stream, unsigned kind, struct nsx_finding *f)
{
	if (kind == NSX_COPY_HTOD && copies_waits(c, stream))
		add_evidence(f, say_their_stream_waits_events);
	f->recommendation[0] =
		kind == NSX_COPY_DTOH ? say_let_only_what_needs : say_queue_one_batch_earlier;
}

/* Explains copies that exceed all compute: most of their time would stay exposed under any
 * schedule.
 */
static void tell_more(struct copies *c, const struct group *g, struct nsx_finding *f)
{
	f->remedy = change_rows(c, g, NSX_DROP);
	f->surely = change_rows(c, g, NSX_OVERLAP);
	f->if_least = say_if_they_only_hidden_behind;
	f->is_bound = true;
	add_evidence(f, say_they_take_longer_than_all);
	f->recommendation[0] = say_move_less_keep_on_gpu;
	f->recommendation[1] = say_copy_rest_on_stream_own;
}

static void propose_plain(struct copies *c, unsigned kind)
{
	const struct group *g = &c->v[PLAIN][kind];
	struct nsx_findings *l = c->d->found;
	struct nsx_finding f = copies_start(c, g, NSX_ID_exposed_copies, kind);
	uint32_t stream = nsx_op_stream(&c->d->trace->ops, g->rows[0]);

	f.title = nsx_tell(l, say_copies_run_while_nothing, direction(kind));
	/* the remedy matches the advice: copies on the device are avoided, others overlap */
	f.remedy = change_rows(c, g, kind == NSX_COPY_DTOD ? NSX_DROP : NSX_OVERLAP);
	if (kind != NSX_COPY_DTOD && outlast_compute(c, g)) {
		tell_more(c, g, &f);
	} else if (computes(c, stream)) {
		add_evidence(&f, say_they_on_stream_computes);
		advise_stream(kind, &f);
	} else if (kind == NSX_COPY_DTOD) {
		advise_stream(kind, &f);
	} else {
		tell_own_stream(c, stream, kind, &f);
	}
	nsx_found(l, &f);
}

/* Time of the calls that make the copies, which may exceed the copies' own time. */
static int64_t calls_ns(const struct copies *c, const struct group *g)
{
	const struct nsx_trace *t = c->d->trace;
	int64_t ns = 0;

	for (int64_t i = 0; i < g->count; i++) {
		uint32_t call = nsx_op_call(&t->ops, g->rows[i]);

		if (call != NSX_NONE)
			nsx_add_to(&ns, nsx_call_ns(&t->calls, call));
	}
	return ns;
}

/* Whether the host waits until most of the copies end. A call that ends before half of its copy is
 * done waited only for the staging of the data.
 */
static bool blocks_host(const struct copies *c, const struct group *g)
{
	const struct nsx_trace *t = c->d->trace;
	int64_t n = 0;

	for (int64_t i = 0; i < g->count; i++) {
		uint32_t op = g->rows[i], call = nsx_op_call(&t->ops, op);

		n += call == NSX_NONE ||
		     nsx_call_end(&t->calls, call) >= nsx_op_start(&t->ops, op) +
							      nsx_op_ns(&t->ops, op) / 2;
	}
	return n * 2 > g->count;
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

	for (int64_t i = 0; i < g->count; i++) {
		uint32_t call = nsx_op_call(&t->ops, g->rows[i]), next = call + 1;

		if (call == NSX_NONE)
			continue;
		while (next < t->calls.n && t->calls.flags[next] & NSX_CALL_NESTED)
			next++;
		if (next < t->calls.n && t->calls.cls[next] == NSX_CALL_SYNC &&
		    nsx_call_thread(t, next) == nsx_call_thread(t, call) &&
		    nsx_list_row(ret, next, err))
			return err->rc;
	}
	return 0;
}

/* Sets the remedy: pinned memory, with copies hidden behind other work. Only the gain of pinned
 * memory is certain.
 */
static int set_remedy(struct copies *c, unsigned kind, const struct nsx_rate *link,
		      struct nsx_finding *f, struct nsx_err *err)
{
	const struct group *g = &c->v[FROM_PAGEABLE][kind];
	double slow = (double)g->bytes / (double)NSX_MAX(1, g->ns);
	struct nsx_change *v = nsx_arena_get(c->d->found->arena, 4 * sizeof(*v));
	struct nsx_row_list waits = {0};
	size_t n = 3;

	v[0] = v[1] = v[2] = (struct nsx_change){.op = NSX_ON_COPIES, .rows = keep_rows(c, g)};
	v[0].verb = NSX_ASYNC_COPY;
	v[1].verb = NSX_FASTER;
	v[1].amount = NSX_MAX(1, link->bytes_per_ns / slow);
	v[2].verb = NSX_OVERLAP;
	if (kind == NSX_COPY_DTOH && copies_list_waits(c, g, &waits, err)) {
		free(waits.v);
		return err->rc;
	}
	nsx_add_change(c->d, v, &n, &waits, (struct nsx_change){.verb = NSX_NO_WAIT});
	free(waits.v);
	f->remedy = (struct nsx_plan){v, n};
	f->surely = (struct nsx_plan){v, 2};
	f->if_least = say_if_they_become_pinned_not;
	return 0;
}

static int propose_pageable(struct copies *c, unsigned kind, struct nsx_err *err)
{
	const struct group *g = &c->v[FROM_PAGEABLE][kind];
	const struct nsx_trace *t = c->d->trace;
	struct nsx_findings *l = c->d->found;
	struct nsx_finding f = copies_start(c, g, NSX_ID_pageable_copies, kind);
	int64_t in_calls_ns = calls_ns(c, g);
	struct nsx_rate link;

	if (nsx_link_rate(t, nsx_stream_of(t, g->rows[0])->device, kind, c->d->scratch, &link,
			  err) ||
	    set_remedy(c, kind, &link, &f, err))
		return err->rc;
	f.title = nsx_tell(l, say_copies_use_pageable_memory, direction(kind),
		blocks_host(c, g) ? "blocks the host" : say_host_stages_first);
	if (in_calls_ns > g->ns + g->ns / 10)
		f.evidence[0] = nsx_tell(l, "%s; their calls take %s", f.evidence[0],
					 nsx_tell_ns(l, in_calls_ns));
	if (link.bytes_per_ns > 0)
		f.evidence[0] = nsx_tell(l,
			link.is_seen ? say_pinned_copies_here_reach : say_pinned_about_by_link,
			f.evidence[0], nsx_text_bytes(l->arena, 1e9 * link.bytes_per_ns));
	f.recommendation[0] = advise_pinned(c, kind);
	nsx_found(l, &f);
	return 0;
}

static void sort_rows(struct group *g)
{
	nsx_sort(g->rows, (size_t)g->count, sizeof(*g->rows), nsx_cmp_u32);
}

/* Lists small copies of all directions, in order. */
static int list_small(struct copies *c, struct group *ret, struct nsx_err *err)
{
	for (unsigned k = 0; k < NKINDS; k++) {
		const struct group *g = &c->v[SMALL][k];

		for (int64_t i = 0; i < g->count; i++)
			if (copies_add(c, ret, g->rows[i], err))
				return err->rc;
	}
	sort_rows(ret);
	return 0;
}

/* Sorts small copies by their calls; v: room for twice as many. */
static void sort_by_call(const struct copies *c, const struct group *all, struct nsx_keyed *v)
{
	size_t n = (size_t)all->count;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct nsx_keyed){nsx_op_call(&c->d->trace->ops, all->rows[i]),
					  (uint32_t)i};
	nsx_keyed_sort(v, v + n, n);
}

static bool is_upload(const struct copies *c, uint32_t op)
{
	return nsx_op_copy(c->d->trace, op)->copy_kind == NSX_COPY_HTOD;
}

/* Counts, for each small copy, the earlier calls that keep it from being joined with the next copy:
 * launches for copies to the host, whose data must be computed first; waits for copies to the GPU,
 * whose data the host may know only after a wait.
 */
static int count_parting(const struct copies *c, const struct group *all, struct nsx_keyed *v,
			 uint32_t *before, struct nsx_err *err)
{
	const struct nsx_trace *t = c->d->trace;
	uint32_t nwaits = 0, nlaunches = 0;
	size_t at = 0, n = (size_t)all->count;

	sort_by_call(c, all, v);
	for (uint32_t i = 0; at < n && i < t->calls.n; i++) {
		enum nsx_call_class cls = t->calls.cls[i];
		bool reads = false;

		for (; at < n && v[at].key == i; at++) {
			bool in = is_upload(c, all->rows[v[at].at]);

			before[v[at].at] = in ? nwaits : nlaunches;
			reads |= !in;
		}
		nwaits += cls == NSX_CALL_SYNC || (cls == NSX_CALL_COPY && reads);
		nlaunches += cls == NSX_CALL_LAUNCH;
	}
	return nsx_stopped(err);
}

static bool is_same_run(const struct copies *c, const struct group *all, const uint32_t *before,
		     const struct nsx_keyed *a, const struct nsx_keyed *b)
{
	const struct nsx_trace *t = c->d->trace;
	uint32_t p = nsx_op_call(&t->ops, all->rows[a->at]);
	uint32_t q = nsx_op_call(&t->ops, all->rows[b->at]);

	return a->key == b->key && before[a->at] == before[b->at] && p != NSX_NONE &&
	       q != NSX_NONE && nsx_call_thread(t, p) == nsx_call_thread(t, q);
}

/* Finds runs of small copies that one copy could replace: same direction and stream, with no
 * parting call between them. *ret_runs has all of their rows, *ret_spare those that would go.
 */
static int find_runs(struct copies *c, const struct group *all, struct group *ret_runs,
		     struct group *ret_spare, struct nsx_err *err)
{
	const struct nsx_trace *t = c->d->trace;
	size_t n = (size_t)all->count;
	struct nsx_keyed *v;
	uint32_t *before;
	bool in_run = false;

	if (nsx_new_arrays(c->d->scratch, n, "copies", err, before) ||
	    nsx_new_arrays(c->d->scratch, 2 * n, "copies", err, v) ||
	    count_parting(c, all, v, before, err))
		return err->rc;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct nsx_keyed){
			(int64_t)nsx_op_stream(&t->ops, all->rows[i]) * NKINDS +
				nsx_op_copy(t, all->rows[i])->copy_kind, (uint32_t)i};
	nsx_keyed_sort(v, v + n, n);
	for (size_t i = 0; i < n; i++) {
		bool spare = i + 1 < n && is_same_run(c, all, before, &v[i], &v[i + 1]);

		if (((spare || in_run) && copies_add(c, ret_runs, all->rows[v[i].at], err)) ||
		    (spare && copies_add(c, ret_spare, all->rows[v[i].at], err)))
			return err->rc;
		in_run = spare;
	}
	sort_rows(ret_runs); /* rows were found stream by stream */
	sort_rows(ret_spare);
	return 0;
}

/* Counts calls of a class in the judged window; with a non-zero `flag` only those that have it. */
static size_t copies_count_calls(const struct copies *c, enum nsx_call_class cls, unsigned flag)
{
	const struct nsx_trace *t = c->d->trace;
	size_t n = 0;

	for (size_t i = 0; i < t->calls.n; i++)
		n += t->calls.cls[i] == cls &&
		     (!flag || t->calls.flags[i] & flag) &&
		     nsx_is_judged(c->d, nsx_call_start(&t->calls, i));
	return n;
}

/* Counts copies to the GPU that follow the small copy before them with exactly one allocation
 * between: such a copy fills what was allocated.
 */
static int count_filled(const struct copies *c, const struct group *all, size_t *ret,
			struct nsx_err *err)
{
	const struct nsx_trace *t = c->d->trace;
	size_t at = 0, n = (size_t)all->count, nallocations = 0;
	struct nsx_keyed *v;

	*ret = 0;
	if (nsx_new_arrays(c->d->scratch, 2 * n, "copies", err, v))
		return err->rc;
	sort_by_call(c, all, v);
	for (uint32_t i = 0; at < n && i < t->calls.n; i++) {
		nallocations += !!(t->calls.flags[i] & NSX_CALL_MALLOC);
		for (; at < n && v[at].key == i; at++) {
			*ret += nallocations == 1 && is_upload(c, all->rows[v[at].at]);
			nallocations = 0;
		}
	}
	return nsx_stopped(err);
}

static bool is_about_equal(size_t n, int64_t count)
{
	return n * 5 >= (size_t)count * 4 && n * 4 <= (size_t)count * 5;
}

/* Sets the remedy for about as many allocations as small copies, where each copy fills a row with
 * an allocation of its own: removes the allocations and the other work for each row. Returns false
 * if the numbers differ.
 */
static bool add_rows_remedy(struct copies *c, const struct group *g, struct nsx_finding *f)
{
	static const struct {
		enum nsx_call_class cls;
		unsigned flag;
		enum nsx_change_verb verb;
		const char *names;
	} list[] = {
		{NSX_CALL_IMPLICIT_SYNC, NSX_CALL_MALLOC, NSX_NO_COST,
		 "^cu(da)?(Mem)?(Malloc|Alloc)"},
		{NSX_CALL_SYNC, 0, NSX_NO_WAIT, "Synchronize$"},
		{NSX_CALL_LAUNCH, 0, NSX_NO_COST, "Launch"},
	};
	struct nsx_change *v = nsx_arena_get(c->d->found->arena, (1 + ARRAY_LEN(list)) *
									 sizeof(*v));
	size_t n = 0;

	v[n++] = f->remedy.v[0];
	for (size_t i = 0; i < ARRAY_LEN(list); i++) {
		if (is_about_equal(copies_count_calls(c, list[i].cls, list[i].flag), g->count))
			v[n++] = (struct nsx_change){.verb = list[i].verb,
						     .name = list[i].names,
						     .is_pattern = true};
		else if (!i)
			return false;
	}
	f->remedy = (struct nsx_plan){v, n};
	f->title = nsx_tell(c->d->found, "%" PRId64 " rows are allocated and "
			    "copied one by one", g->count);
	add_evidence(f, say_there_as_many_allocations);
	f->recommendation[0] = say_use_one_contiguous_array;
	f->recommendation[1] = NULL;
	return true;
}

static void propose_runs(struct copies *c, const struct group *g, const struct group *spare)
{
	struct nsx_findings *l = c->d->found;
	struct nsx_finding f = copies_start(c, g, NSX_ID_small_copies, 0);

	f.title = nsx_tell(l, say_below_64_kib_one_by,
		nsx_text_n(l->arena, (size_t)g->count, "copy", "copies"));
	f.remedy = change_rows(c, spare, NSX_DROP);
	f.recommendation[0] = say_gather_small_pieces_into;
	f.recommendation[1] = say_where_each_row_own;
	nsx_found(l, &f);
}

static int propose_small(struct copies *c, struct nsx_err *err)
{
	struct group all = new_group(c), runs = new_group(c), spare = new_group(c);
	struct nsx_finding f;
	size_t nfilled = 0;
	int rc = list_small(c, &all, err);

	if (!rc && all.count >= MANY)
		rc = count_filled(c, &all, &nfilled, err);
	if (!rc && all.count >= MANY) {
		f = copies_start(c, &all, NSX_ID_small_copies, 0);
		f.remedy = change_rows(c, &all, NSX_DROP);
		if (is_about_equal(nfilled, all.count) && add_rows_remedy(c, &all, &f))
			nsx_found(c->d->found, &f);
		else
			rc = find_runs(c, &all, &runs, &spare, err);
	}
	if (!rc && runs.count >= MANY)
		propose_runs(c, &runs, &spare);
	free(all.rows);
	free(runs.rows);
	free(spare.rows);
	return rc;
}

static void propose_memsets(struct copies *c)
{
	struct nsx_findings *l = c->d->found;
	struct nsx_finding f = copies_start(c, &c->memset, NSX_ID_memsets, 0);

	f.title = nsx_tell(l, "%s fill%s %s", nsx_text_n(l->arena, (size_t)c->memset.count,
							 "memset", NULL),
			   c->memset.count == 1 ? "s" : "", nsx_tell_bytes(l, c->memset.bytes));
	f.evidence[0] = nsx_tell(l, "%s in all%s", nsx_tell_ns(l, c->memset.ns),
				 nsx_say_over_gpus(c->d, c->memset.rows,
					   (size_t)c->memset.count)); /* the title has the bytes */
	f.proof[0] = (struct nsx_evidence){.csv = NULL};
	f.remedy = change_rows(c, &c->memset, NSX_DROP);
	f.recommendation[0] = say_do_not_zero_what;
	nsx_found(l, &f);
}

/* Proposes to remove the wait of another stream's work for an event after these copies. */
static void propose_cut(struct copies *c, unsigned kind)
{
	struct nsx_findings *l = c->d->found;
	struct group all = c->v[PLAIN][kind].ns > c->v[FROM_PAGEABLE][kind].ns ?
				   c->v[PLAIN][kind] :
				   c->v[FROM_PAGEABLE][kind];
	struct nsx_finding f = copies_start(c, &all, NSX_ID_false_dependency, kind);

	f.guess_ns = 0; /* only a replay can price it */
	f.title = nsx_tell(l, say_stream_waits_an_event, direction(kind));
	f.confidence = NSX_CONF_MEDIUM;
	f.remedy = change_rows(c, &all, NSX_CUT);
	add_evidence(&f, say_meanwhile_nothing_else);
	f.recommendation[0] = say_if_what_waits_does_not;
	nsx_found(l, &f);
}

static int copies_propose_all(struct copies *c, struct nsx_err *err)
{
	double least_ns = LEAST_SHARE * (double)(c->d->w.end_ns - c->d->w.start_ns);

	if (propose_small(c, err))
		return err->rc;
	if ((double)c->memset.ns >= least_ns || c->memset.count >= MANY)
		propose_memsets(c);
	for (unsigned k = 0; k < NKINDS; k++) {
		int64_t ns[] = {c->v[PLAIN][k].ns, c->v[FROM_PAGEABLE][k].ns};

		if ((double)ns[0] >= least_ns)
			propose_plain(c, k);
		if ((double)ns[1] >= least_ns && propose_pageable(c, k, err))
			return err->rc;
		/* If event waits were traced and none is there, no stream waits for these copies by
		 * an event.
		 */
		if ((double)NSX_MAX(ns[0], ns[1]) >= least_ns &&
		    (copies_waits(c, NSX_NONE) || !c->d->trace->syncs.n))
			propose_cut(c, k);
	}
	return 0;
}

int nsx_detect_copies(struct nsx_detect *d, struct nsx_err *err)
{
	struct copies *c = nsx_arena_get(d->scratch, sizeof(*c));
	int rc;

	c->d = d;
	for (unsigned i = 0; i < NTROUBLES * NKINDS; i++)
		c->v[i / NKINDS][i % NKINDS] = new_group(c);
	c->memset = new_group(c);
	rc = copies_collect(c, err) || copies_propose_all(c, err) ? err->rc : 0;
	for (unsigned i = 0; i < NTROUBLES * NKINDS; i++)
		free(c->v[i / NKINDS][i % NKINDS].rows);
	free(c->memset.rows);
	nsx_places_done(&c->places);
	return rc;
}
