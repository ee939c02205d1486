/* unions.c - what each device did: four unions, and the partition.
 *
 * Ops of a device are ordered by start, so each union is one sweep.  A graph
 * replay counts where it is: where its nodes were traced as well the union
 * counts their time once.
 */
#include "facts/facts.h"
#include "base/par.h"

struct job {
	struct nsx_facts *f;
	const struct nsx_trace *t;
	struct nsx_arena **arenas; /* one a device: arenas are not shared */
};

/* A list per class, and at the end the one of all. */
enum { ALL = 3, NLISTS };

/* Sizes of the unions: gaps between ops are what counts, not ops. */
static void count_spans(const struct nsx_trace *t, const struct nsx_device *d,
			size_t *n)
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

static int sweep_device(void *ctx, size_t i, struct nsx_err *err)
{
	struct job *job = ctx;
	const struct nsx_trace *t = job->t;
	const struct nsx_device *d = &t->device[i];
	struct nsx_device_facts *f = &job->f->device[i];
	struct nsx_spans *busy = &job->f->busy[i];
	struct nsx_spans *lists[] = {&f->compute, &f->comm, &f->copy, busy};
	size_t n[NLISTS] = {0};

	count_spans(t, d, n);
	for (unsigned k = 0; k < NLISTS; k++) {
		lists[k]->v = nsx_arena_try_array(job->arenas[i], n[k],
						  sizeof(*lists[k]->v),
						  "busy spans", err);
		if (!lists[k]->v)
			return err->rc;
	}
	for (size_t k = d->ops_at; k < d->ops_at + d->nops; k++) {
		nsx_spans_push(busy, nsx_op_start(&t->ops, k),
			       nsx_op_end(&t->ops, k));
		nsx_spans_push(lists[t->ops.cls[k]], nsx_op_start(&t->ops, k),
			       nsx_op_end(&t->ops, k));
	}
	return nsx_stopped(err);
}

int nsx_facts_unions(struct nsx_facts *f, const struct nsx_trace *t,
		     unsigned threads, struct nsx_err *err)
{
	struct job job = {f, t, NULL};

	f->device = nsx_arena_try_array(f->arena, t->ndevices,
					sizeof(*f->device), "devices", err);
	f->busy = nsx_arena_try_array(f->arena, t->ndevices, sizeof(*f->busy),
				      "devices", err);
	f->device_arena = nsx_arena_try_array(f->arena, t->ndevices,
					      sizeof(*f->device_arena),
					      "devices", err);
	if (!f->device || !f->busy || !f->device_arena)
		return err->rc;
	job.arenas = f->device_arena;
	for (uint32_t i = 0; i < t->ndevices; i++)
		f->device_arena[i] = nsx_arena_new();
	f->ndevices = t->ndevices;
	return nsx_par(threads, t->ndevices, sweep_device, &job, err);
}

/* One step of the partition sweep: which lists cover instant at, and until
 * when that stays so.
 */
static bool covers(const struct nsx_spans *s, size_t *i, int64_t at,
		   int64_t *until)
{
	while (*i < s->n && s->v[*i].end_ns <= at)
		++*i;
	if (*i == s->n)
		return false;
	if (s->v[*i].start_ns > at) {
		*until = NSX_MIN(*until, s->v[*i].start_ns);
		return false;
	}
	*until = NSX_MIN(*until, s->v[*i].end_ns);
	return true;
}

static enum nsx_part_class class_of(bool compute, bool comm, bool copy)
{
	if (compute)
		return comm ? NSX_P_COMPUTE_COMM :
		       copy ? NSX_P_COMPUTE_COPY : NSX_P_COMPUTE_ONLY;
	return comm ? NSX_P_COMM_EXPOSED :
	       copy ? NSX_P_COPY_EXPOSED : NSX_P_IDLE;
}

void nsx_partition(const struct nsx_device_facts *d, int64_t start_ns,
		   int64_t end_ns, struct nsx_partition *ret)
{
	size_t i = nsx_spans_find(&d->compute, start_ns);
	size_t j = nsx_spans_find(&d->comm, start_ns);
	size_t k = nsx_spans_find(&d->copy, start_ns);

	*ret = (struct nsx_partition){{0}};
	for (int64_t at = start_ns, until; at < end_ns; at = until) {
		bool compute, comm, copy;

		until = end_ns;
		compute = covers(&d->compute, &i, at, &until);
		comm = covers(&d->comm, &j, at, &until);
		copy = covers(&d->copy, &k, at, &until);
		ret->ns[class_of(compute, comm, copy)] += until - at;
	}
}

/* The first op of the device that starts at an instant or after it. */
static size_t first_from(const struct nsx_trace *t, const struct nsx_device *d,
			 int64_t at_ns)
{
	size_t lo = d->ops_at, hi = d->ops_at + d->nops;

	NSX_BISECT(lo, hi, mid, nsx_op_start(&t->ops, mid) < at_ns);
	return lo;
}

size_t nsx_ops_started(const struct nsx_trace *t, uint32_t device,
		       int64_t from_ns, int64_t to_ns)
{
	const struct nsx_device *d = &t->device[device];
	size_t from = first_from(t, d, from_ns), to = first_from(t, d, to_ns);

	return to > from ? to - from : 0;
}
