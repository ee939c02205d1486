/* unions.c - computes the busy time of each device: four unions, and the partition.
 *
 * Operations of a device are sorted by start, so each union takes one sweep. A graph replay
 * counts as recorded; if its nodes were traced as well, the union counts their time once.
 */
#include "facts/facts.h"
#include "base/par.h"

struct job {
	struct nsx_facts *f;
	const struct nsx_trace *t;
};

/* There is one list for each class, and one for all. */
enum { ALL = 3, NLISTS };

/* Counts the spans of the unions, so that memory depends on the number of gaps, not of operations.
 */
static void count_spans(const struct nsx_trace *t, const struct nsx_device *d, size_t *n)
{
	int64_t end_ns[NLISTS] = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};

	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++) {
		const unsigned lists[] = {t->ops.cls[i], ALL};

		for (unsigned k = 0; k < ARRAY_LEN(lists); k++) {
			int64_t *end = &end_ns[lists[k]];

			n[lists[k]] += nsx_op_start(&t->ops, i) > *end;
			*end = NSX_MAX(*end, nsx_op_end(&t->ops, i));
		}
	}
}

/* A position in a list: the first span that ends after the current time. */
struct cursor {
	const struct nsx_spans *s;
	size_t next;
	struct nsx_span now; /* INT64_MAX at the end                         */
};

static void unions_advance(struct cursor *c)
{
	c->now = c->next < c->s->n ? nsx_span_at(c->s, c->next) :
				     (struct nsx_span){INT64_MAX, INT64_MAX};
	c->next++;
}

/* Whether a list covers a time. *until is lowered to the time at which that changes. */
static bool list_covers(struct cursor *c, int64_t at, int64_t *until)
{
	bool inside;

	while (c->now.end_ns <= at)
		unions_advance(c);
	inside = c->now.start_ns <= at;
	*until = NSX_MIN(*until, inside ? c->now.end_ns : c->now.start_ns);
	return inside;
}

static enum nsx_part_class unions_class_of(bool compute, bool comm, bool copy)
{
	if (compute)
		return comm ? NSX_P_COMPUTE_COMM : copy ? NSX_P_COMPUTE_COPY : NSX_P_COMPUTE_ONLY;
	return comm ? NSX_P_COMM_EXPOSED : copy ? NSX_P_COPY_EXPOSED : NSX_P_IDLE;
}

struct sweep { /* positions in the three lists of a device */
	struct cursor compute, comm, copy;
};

static struct cursor cursor_at_time(const struct nsx_spans *s, int64_t at_ns)
{
	struct cursor c = {.s = s, .next = nsx_spans_find(s, at_ns)};

	unions_advance(&c);
	return c;
}

static struct sweep sweep_at_time(const struct nsx_device_facts *d, int64_t at_ns)
{
	return (struct sweep){cursor_at_time(&d->compute, at_ns),
			      cursor_at_time(&d->comm, at_ns),
			      cursor_at_time(&d->copy, at_ns)};
}

/* Adds the device's time from at_ns to the next change, or to end_ns. Returns that time. */
static int64_t add_interval(struct sweep *s, int64_t at_ns, int64_t end_ns, struct nsx_partition *p)
{
	int64_t until = end_ns;
	bool compute = list_covers(&s->compute, at_ns, &until);
	bool comm = list_covers(&s->comm, at_ns, &until);
	bool copy = list_covers(&s->copy, at_ns, &until);

	p->ns[unions_class_of(compute, comm, copy)] += until - at_ns;
	return until;
}

static void unions_sweep(const struct nsx_device_facts *d, int64_t at_ns,
			 int64_t end_ns, struct nsx_partition *p)
{
	struct sweep s = sweep_at_time(d, at_ns);

	while (at_ns < end_ns)
		at_ns = add_interval(&s, at_ns, end_ns, p);
}

/* Adds a mark every MARK_STEPS steps, from the first work to the last. */
static int add_partition_marks(struct nsx_device_facts *d, const struct nsx_spans *busy,
			       struct nsx_arena *a, struct nsx_err *err)
{
	enum { MARK_STEPS = 512 };
	size_t most = 2 * (d->compute.n + d->comm.n + d->copy.n), n = 0;
	int64_t start_ns = busy->n ? busy->v[0].start_ns : 0;
	int64_t end_ns = busy->n ? busy->v[busy->n - 1].end_ns : 0;
	struct nsx_partition p = {{0}};
	struct sweep s = sweep_at_time(d, start_ns);

	if (!nsx_new_array(d->marks, a, most / MARK_STEPS + 1, "partition", err))
		return err->rc;
	for (int64_t at = start_ns; at < end_ns; n++) {
		if (n % MARK_STEPS == 0)
			d->marks[d->nmarks++] = (struct nsx_part_mark){at, p};
		at = add_interval(&s, at, end_ns, &p);
	}
	return 0;
}

/* The number of marks before a time. */
static size_t marks_before(const struct nsx_device_facts *d, int64_t at_ns)
{
	return NSX_SEARCH(0, d->nmarks, mid, d->marks[mid].at_ns < at_ns);
}

void nsx_partition(const struct nsx_device_facts *d, int64_t start_ns,
		   int64_t end_ns, struct nsx_partition *ret)
{
	size_t from = marks_before(d, start_ns), to = marks_before(d, end_ns);

	*ret = (struct nsx_partition){{0}};
	if (from == to) {
		unions_sweep(d, start_ns, end_ns, ret);
		return;
	}
	unions_sweep(d, start_ns, d->marks[from].at_ns, ret);
	for (unsigned k = 0; k < NSX_NPARTS; k++)
		ret->ns[k] += d->marks[to - 1].before.ns[k] - d->marks[from].before.ns[k];
	unions_sweep(d, d->marks[to - 1].at_ns, end_ns, ret);
}

static int unions_sweep_device(void *ctx, size_t i, struct nsx_err *err)
{
	struct job *job = ctx;
	const struct nsx_trace *t = job->t;
	const struct nsx_device *d = &t->device[i];
	struct nsx_device_facts *f = &job->f->device[i];
	struct nsx_arena *a = job->f->device_arena[i];
	struct nsx_spans *busy = &job->f->busy[i];
	struct nsx_spans *lists[] = {&f->compute, &f->comm, &f->copy, busy};
	size_t n[NLISTS] = {0};

	count_spans(t, d, n);
	for (unsigned k = 0; k < NLISTS; k++)
		if (!nsx_new_array(lists[k]->v, a, n[k], "busy spans", err))
			return err->rc;
	if (!nsx_new_array(f->latest_ns, a, d->nops / NSX_OPS_BLOCK + 1, "ends", err))
		return err->rc;
	for (size_t k = 0; k < d->nops; k++) {
		int64_t start_ns = nsx_op_start(&t->ops, d->ops_at + k);
		int64_t end_ns = nsx_op_end(&t->ops, d->ops_at + k);
		int64_t *latest = &f->latest_ns[k / NSX_OPS_BLOCK];

		*latest = k % NSX_OPS_BLOCK ? NSX_MAX(*latest, end_ns) : end_ns;
		nsx_spans_push(busy, start_ns, end_ns);
		nsx_spans_push(lists[t->ops.cls[d->ops_at + k]], start_ns, end_ns);
	}
	if (add_partition_marks(f, busy, a, err))
		return err->rc;
	for (unsigned k = 0; k < NLISTS; k++)
		if (nsx_spans_pack(a, lists[k], err))
			return err->rc;
	return nsx_stopped(err);
}

int nsx_facts_unions(struct nsx_facts *f, const struct nsx_trace *t,
		     unsigned threads, struct nsx_err *err)
{
	struct job job = {f, t};

	nsx_few(f->device, f->arena, t->ndevices);
	nsx_few(f->busy, f->arena, t->ndevices);
	nsx_few(f->device_arena, f->arena, t->ndevices);
	for (uint32_t i = 0; i < t->ndevices; i++)
		f->device_arena[i] = nsx_arena_new();
	f->ndevices = t->ndevices;
	return nsx_par(threads, t->ndevices, unions_sweep_device, &job, err);
}

int nsx_kernel_spans(const struct nsx_device_facts *d, struct nsx_arena *a,
		     struct nsx_spans *ret, struct nsx_err *err)
{
	if (d->compute.n && d->comm.n)
		return nsx_spans_union(a, &d->compute, &d->comm, ret, err);
	*ret = d->compute.n ? d->compute : d->comm;
	return 0;
}

uint32_t nsx_first_op(const struct nsx_trace *t, const struct nsx_device *d, int64_t at_ns)
{
	return NSX_SEARCH(d->ops_at, d->ops_at + d->nops, mid, nsx_op_start(&t->ops, mid) < at_ns);
}

size_t nsx_ops_started(const struct nsx_trace *t, uint32_t device, int64_t from_ns, int64_t to_ns)
{
	const struct nsx_device *d = &t->device[device];
	size_t from = nsx_first_op(t, d, from_ns), to = nsx_first_op(t, d, to_ns);

	return to > from ? to - from : 0;
}

bool nsx_next_op(const struct nsx_facts *f, const struct nsx_trace *t,
		 uint32_t device, const struct nsx_window *w, size_t *at, size_t *ret_op)
{
	const struct nsx_device *d = &t->device[device];

	while (*at < d->nops) {
		size_t op = d->ops_at + *at;

		if (*at % NSX_OPS_BLOCK == 0 &&
		    f->device[device].latest_ns[*at / NSX_OPS_BLOCK] < w->start_ns) {
			*at += NSX_OPS_BLOCK;
			continue;
		}
		++*at;
		*ret_op = op;
		if (nsx_op_start(&t->ops, op) >= w->end_ns)
			return false;
		if (nsx_op_start(&t->ops, op) >= w->start_ns ||
		    nsx_op_end(&t->ops, op) > w->start_ns)
			return true;
	}
	return false;
}
