/* census.c - counts operations, idle time, calls and ranges in one pass over each. */
#include "agent/census.h"

enum { OPS_BLOCK = 4 * NSX_OPS_BLOCK };

struct builder {
	struct nsx_census *c;
	const struct nsx_trace *t;
	const struct nsx_facts *f;
	struct nsx_near launchers, works, causes, calls, paths, places;
	uint32_t *path_of; /* one for each range */
	uint32_t *last;	   /* for each group: 1 + index of its row in the last block */
	size_t last_cap;
};

/* Blocks --------------------------------------------------------------------------*/

/* Adds to a group's row in the block whose rows begin at `from`. */
static int count_row(struct builder *b, struct nsx_blocks *x, size_t from,
		     uint32_t group, int64_t ns, struct nsx_err *err)
{
	struct nsx_block_row *row;

	if (nsx_grow(&b->last, &b->last_cap, (size_t)group + 1, sizeof(*b->last), "sums", err))
		return err->rc;
	if (b->last[group] <= from) {
		if (nsx_grow(&x->row, &x->cap, x->nrows + 1, sizeof(*x->row), "sums", err))
			return err->rc;
		x->row[x->nrows] = (struct nsx_block_row){.group = group};
		b->last[group] = (uint32_t)++x->nrows;
	}
	row = &x->row[b->last[group] - 1];
	row->n++;
	nsx_add_to(&row->ns, ns);
	return 0;
}

/* Starts new blocks of `block` entries each, with room for n rows. */
static int begin_blocks(struct builder *b, struct nsx_blocks *x, size_t n,
			size_t block, struct nsx_err *err)
{
	for (size_t i = 0; i < b->last_cap; i++)
		b->last[i] = 0;
	x->at = nsx_try_alloc((n + block - 1) / block + 1, sizeof(*x->at), "sums", err);
	return x->at ? 0 : err->rc;
}

static void census_add_block(const struct nsx_blocks *x, size_t block, struct nsx_count *sums)
{
	for (size_t i = x->at[block]; i < x->at[block + 1]; i++)
		nsx_count_add(&sums[x->row[i].group], x->row[i].n, x->row[i].ns);
}

/* GPU work ------------------------------------------------------------------------*/

/* Returns the shape of a kernel, or the kind of a copy, as part of a key. */
static uint64_t census_shape_of(const struct nsx_trace *t, size_t op)
{
	switch (t->ops.kind[op]) {
	case NSX_OP_KERNEL:
		return nsx_op_detail(&t->ops, op);
	case NSX_OP_MEMCPY:
		return nsx_op_copy(t, op)->copy_kind;
	default:
		return 0;
	}
}

static struct nsx_group_key launcher_key(const struct nsx_trace *t, size_t op)
{
	uint32_t call = nsx_op_call(&t->ops, op);

	return call == NSX_NONE ?
		       (struct nsx_group_key){0, 0} :
		       (struct nsx_group_key){1 + nsx_call_thread(t, call),
					      nsx_call_name(&t->calls, call)};
}

static struct nsx_group_key work_key(const struct nsx_trace *t, size_t op, uint32_t launcher)
{
	return (struct nsx_group_key){
		(uint64_t)nsx_op_stream(&t->ops, op) << 8 | t->ops.kind[op],
		census_shape_of(t, op) << 32 | launcher};
}

static int count_op_in_range(struct builder *b, size_t op, int64_t ns, struct nsx_err *err)
{
	struct nsx_census *c = b->c;
	uint32_t range = nsx_op_range(&b->f->nvtx, op);
	struct nsx_launched *x;

	if (range == NSX_NONE)
		return 0;
	x = nsx_near_value(&c->places, &b->places, &c->place, b->path_of[range],
			   (uint64_t)b->t->ops.kind[op] << 32 |
				   census_shape_of(b->t, op), "sums", err);
	if (!x)
		return err->rc;
	x->op = (uint32_t)op;
	nsx_count_add(&x->count, 1, ns);
	return 0;
}

static int count_op(struct builder *b, struct nsx_blocks *x, size_t from,
		    size_t op, struct nsx_err *err)
{
	struct nsx_census *c = b->c;
	struct nsx_group_key key = launcher_key(b->t, op);
	int64_t ns = nsx_op_ns(&b->t->ops, op);
	struct nsx_work *work;
	uint32_t launcher;

	if (nsx_group_near(&c->launchers, &b->launchers, key.a, key.b, &launcher, err))
		return err->rc;
	key = work_key(b->t, op, launcher);
	work = nsx_near_value(&c->works, &b->works, &c->work, key.a, key.b, "sums", err);
	if (!work)
		return err->rc;
	if (!work->count.n || ns > nsx_op_ns(&b->t->ops, work->op))
		work->op = (uint32_t)op;
	work->launcher = launcher;
	nsx_count_add(&work->count, 1, ns);
	return count_row(b, x, from, (uint32_t)(work - c->work), ns, err) ||
	       count_op_in_range(b, op, ns, err) ? err->rc : 0;
}

static int census_count_ops(struct builder *b, uint32_t device, struct nsx_err *err)
{
	const struct nsx_device *d = &b->t->device[device];
	struct nsx_blocks *x = &b->c->device[device].ops;
	size_t n = d->nops;

	if (begin_blocks(b, x, n, OPS_BLOCK, err))
		return err->rc;
	for (size_t i = 0; i < n; i++) {
		if (i % OPS_BLOCK == 0)
			x->at[i / OPS_BLOCK] = x->nrows;
		if (!(b->t->ops.flags[d->ops_at + i] & NSX_OP_PEER) &&
		    count_op(b, x, x->at[i / OPS_BLOCK], d->ops_at + i, err))
			return err->rc;
	}
	x->at[(n + OPS_BLOCK - 1) / OPS_BLOCK] = x->nrows;
	return nsx_stopped(err);
}

static int64_t latest_end(const struct nsx_facts *f, const struct nsx_device *d,
			  uint32_t device, size_t block)
{
	size_t i = block * OPS_BLOCK / NSX_OPS_BLOCK;
	size_t n = (d->nops + NSX_OPS_BLOCK - 1) / NSX_OPS_BLOCK;
	int64_t last = INT64_MIN;

	for (size_t end = NSX_MIN(i + OPS_BLOCK / NSX_OPS_BLOCK, n); i < end; i++)
		last = NSX_MAX(last, f->device[device].latest_ns[i]);
	return last;
}

/* Adds the operations of a block that the window cuts. */
static void census_add_ops(const struct nsx_census *c, const struct nsx_trace *t,
			   size_t from, size_t to, const struct nsx_window *w,
			   struct nsx_count *by_work)
{
	for (size_t i = from; i < to; i++) {
		int64_t start = nsx_op_start(&t->ops, i);
		int64_t end = nsx_op_end(&t->ops, i);
		struct nsx_group_key key = launcher_key(t, i);

		if (start >= w->end_ns || t->ops.flags[i] & NSX_OP_PEER ||
		    (start < w->start_ns && end <= w->start_ns))
			continue;
		key = work_key(t, i, nsx_group_find(&c->launchers, key.a, key.b));
		nsx_count_add(&by_work[nsx_group_find(&c->works, key.a, key.b)],
			      1, NSX_MIN(end, w->end_ns) - NSX_MAX(start, w->start_ns));
	}
}

void nsx_census_work(const struct nsx_census *c, const struct nsx_trace *t,
		     const struct nsx_facts *f, const struct nsx_window *w,
		     struct nsx_count *by_work)
{
	for (uint32_t i = 0; i < c->ndevices; i++) {
		const struct nsx_device *d = &t->device[i];

		for (size_t at = 0; at < d->nops; at += OPS_BLOCK) {
			size_t from = d->ops_at + at, block = at / OPS_BLOCK;
			size_t n = NSX_MIN((size_t)OPS_BLOCK, d->nops - at);
			int64_t start = nsx_op_start(&t->ops, from);
			int64_t end = latest_end(f, d, i, block);

			if (start >= w->end_ns)
				break;
			if (start >= w->start_ns && end < w->end_ns)
				census_add_block(&c->device[i].ops, block, by_work);
			else if (end >= w->start_ns)
				census_add_ops(c, t, from, from + n, w, by_work);
		}
	}
}

/* Idle time -----------------------------------------------------------------------*/

static int count_idle_piece(struct builder *b, struct nsx_blocks *x, size_t from,
			    const struct nsx_idle_piece *p, struct nsx_err *err)
{
	uint32_t i;

	return nsx_group_near(&b->c->causes, &b->causes, p->cause, p->detail,
			      &i, err) ||
			       count_row(b, x, from, i, p->end_ns - p->start_ns,
					 err) ?
		       err->rc : 0;
}

static int count_idle(struct builder *b, uint32_t device, struct nsx_err *err)
{
	const struct nsx_idle *idle = &b->f->idle[device];
	struct nsx_census_device *d = &b->c->device[device];
	struct nsx_blocks *x = &d->idle;
	struct nsx_gap gap;
	int64_t longest = 0;

	if (begin_blocks(b, x, idle->n, NSX_IDLE_BLOCK, err))
		return err->rc;
	d->gaps = nsx_try_alloc(idle->n / NSX_IDLE_BLOCK + 1, sizeof(*d->gaps), "sums", err);
	if (!d->gaps)
		return err->rc;
	for (size_t i = 0; i < idle->n; i++) {
		struct nsx_idle_piece p = nsx_idle_at(idle, i);
		size_t block = i / NSX_IDLE_BLOCK, at = i;

		if (i % NSX_IDLE_BLOCK == 0) {
			x->at[block] = x->nrows;
			longest = 0;
		}
		if (count_idle_piece(b, x, x->at[block], &p, err))
			return err->rc;
		if (!p.first || !nsx_next_gap(idle, &at, &gap))
			continue;
		if (!d->gaps[block].n++ || gap.end_ns - gap.start_ns > longest) {
			longest = gap.end_ns - gap.start_ns;
			d->gaps[block].longest = (uint32_t)i;
		}
	}
	x->at[(idle->n + NSX_IDLE_BLOCK - 1) / NSX_IDLE_BLOCK] = x->nrows;
	return nsx_stopped(err);
}

static void census_add_pieces(const struct nsx_census *c, const struct nsx_idle *idle,
			      size_t from, size_t to, const struct nsx_window *w,
			      struct nsx_count *by_cause)
{
	for (size_t i = from; i < to; i++) {
		struct nsx_idle_piece p = nsx_idle_at(idle, i);
		int64_t ns = NSX_MIN(p.end_ns, w->end_ns) - NSX_MAX(p.start_ns, w->start_ns);

		if (ns > 0)
			nsx_count_add(&by_cause[nsx_group_find(&c->causes, p.cause,
						       p.detail)], 1, ns);
	}
}

void nsx_census_idle(const struct nsx_census *c, const struct nsx_facts *f,
		     const struct nsx_window *w, struct nsx_count *by_cause)
{
	for (uint32_t d = 0; d < c->ndevices; d++) {
		const struct nsx_idle *idle = &f->idle[d];

		for (size_t i = nsx_idle_from(idle, w->start_ns) / NSX_IDLE_BLOCK * NSX_IDLE_BLOCK;
		     i < idle->n && nsx_idle_start(idle, i) < w->end_ns;
		     i += NSX_IDLE_BLOCK) {
			size_t end = NSX_MIN(i + NSX_IDLE_BLOCK, idle->n);

			if (nsx_idle_start(idle, i) >= w->start_ns &&
			    nsx_idle_at(idle, end - 1).end_ns <= w->end_ns)
				census_add_block(&c->device[d].idle, i / NSX_IDLE_BLOCK, by_cause);
			else
				census_add_pieces(c, idle, i, end, w, by_cause);
		}
	}
}

/* Host ----------------------------------------------------------------------------*/

/* Cuts a span to the user's window. Returns false if it lies outside. */
static bool cut_to_window(const struct nsx_trace *t, struct nsx_span *span)
{
	bool is_inside = nsx_starts_inside(t, span->start_ns);
	int64_t ns = nsx_in_window(t, span->start_ns, span->end_ns);

	if (!is_inside)
		span->start_ns = t->window.start_ns;
	span->end_ns = span->start_ns + ns;
	return is_inside || ns;
}

static int census_count_calls(struct builder *b, uint32_t thread, struct nsx_err *err)
{
	const struct nsx_thread *th = &b->t->thread[thread];
	const struct nsx_calls *calls = &b->t->calls;
	struct nsx_census *c = b->c;

	for (size_t i = th->calls_at; i < (size_t)th->calls_at + th->ncalls; i++) {
		bool waits = calls->cls[i] == NSX_CALL_SYNC || nsx_call_blocks(b->f, b->t, i);
		struct nsx_span span = {nsx_call_start(calls, i), nsx_call_end(calls, i)};
		struct nsx_count *x;

		if ((calls->flags[i] & NSX_CALL_NESTED) || !cut_to_window(b->t, &span))
			continue;
		x = nsx_near_value(&c->calls, &b->calls, &c->call, (uint64_t)thread << 1 | waits,
				   nsx_call_name(calls, i), "sums", err);
		if (!x)
			return err->rc;
		nsx_count_add(x, 1, span.end_ns - span.start_ns);
	}
	return nsx_stopped(err);
}

/* Counts ranges by path. Ranges come before the ranges inside them. */
static int count_ranges(struct builder *b, struct nsx_err *err)
{
	const struct nsx_nvtx *x = &b->t->nvtx;
	struct nsx_census *c = b->c;

	b->path_of = nsx_try_alloc(x->n + 1, sizeof(*b->path_of), "ranges", err);
	if (!b->path_of)
		return err->rc;
	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t parent = nsx_range_parent(&b->f->nvtx, i);
		uint32_t around = parent == NSX_NONE ? 0 : 1 + b->path_of[parent];
		struct nsx_span span = {nsx_range_start(x, i), nsx_range_end(x, i)};
		struct nsx_path *path = nsx_near_value(&c->paths, &b->paths, &c->path, around,
						       x->name[i], "sums", err);

		if (!path)
			return err->rc;
		b->path_of[i] = (uint32_t)(path - c->path);
		if (!cut_to_window(b->t, &span))
			continue;
		if (!path->count.n || span.end_ns - span.start_ns > path->longest_ns) {
			path->longest_ns = span.end_ns - span.start_ns;
			path->longest_at = span.start_ns;
		}
		nsx_count_add(&path->count, 1, span.end_ns - span.start_ns);
	}
	return nsx_stopped(err);
}

/* All -----------------------------------------------------------------------------*/

static int census_count_all(struct builder *b, struct nsx_err *err)
{
	struct nsx_census *c = b->c;
	int rc = count_ranges(b, err);

	for (uint32_t i = 0; i < c->ndevices && !rc; i++)
		rc = census_count_ops(b, i, err) || count_idle(b, i, err) ? err->rc : 0;
	for (uint32_t i = 0; i < b->t->nthreads && !rc; i++)
		rc = census_count_calls(b, i, err);
	return rc;
}

int nsx_census_new(const struct nsx_trace *t, const struct nsx_facts *f,
		   struct nsx_census **ret, struct nsx_err *err)
{
	struct nsx_census *c = nsx_try_alloc(1, sizeof(*c), "sums", err);
	struct builder *b = nsx_try_alloc(1, sizeof(*b), "sums", err);
	int rc = c && b ? 0 : err->rc;

	if (!rc) {
		*b = (struct builder){.c = c, .t = t, .f = f};
		c->ndevices = t->ndevices;
		c->device = nsx_try_alloc(t->ndevices + 1, sizeof(*c->device), "sums", err);
		rc = c->device ? census_count_all(b, err) : err->rc;
		free(b->path_of);
		free(b->last);
	}
	free(b);
	if (rc)
		nsx_census_free(c);
	else
		*ret = c;
	return rc;
}

void nsx_census_free(struct nsx_census *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; c->device && i < c->ndevices; i++) {
		free(c->device[i].ops.at);
		free(c->device[i].ops.row);
		free(c->device[i].idle.at);
		free(c->device[i].idle.row);
		free(c->device[i].gaps);
	}
	free(c->device);
	nsx_groups_done(&c->launchers);
	nsx_groups_done(&c->works);
	nsx_groups_done(&c->causes);
	nsx_groups_done(&c->calls);
	nsx_groups_done(&c->paths);
	nsx_groups_done(&c->places);
	free(c->work);
	free(c->call);
	free(c->path);
	free(c->place);
	free(c);
}
