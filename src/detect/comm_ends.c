/* comm_ends.c - communication at the ends of an iteration, which has no compute beside it however
 * early it starts.
 *
 * The data gathered first is needed before any compute, and the data reduced last is complete only
 * after all compute. If an iteration has many collectives, in buckets, all but these two can be
 * hidden.
 */
#include <stdlib.h>
#include "detect/detect.h"

enum { BUCKETS = 4 }; /* with fewer, each collective may still be cut into buckets */

struct ends {
	struct nsx_detect *d;
	bool *is_end; /* by operation                                        */
};

struct kind { /* collectives of one iteration that gather, or those that reduce */
	size_t n;
	uint32_t first, last; /* operations                                  */
};

static void comm_ends_count(struct kind *x, uint32_t op)
{
	if (!x->n++)
		x->first = op;
	x->last = op;
}

static void mark_ends(struct ends *e, struct kind *gathered, struct kind *reduced)
{
	if (gathered->n >= BUCKETS)
		e->is_end[gathered->first] = true;
	if (reduced->n >= BUCKETS)
		e->is_end[reduced->last] = true;
	*gathered = *reduced = (struct kind){0};
}

/* Marks the first gathering and the last reducing collective of each of the device's n iterations
 * in v.
 */
static void comm_ends_find_ends(struct ends *e, const struct nsx_device *dev,
				const struct nsx_iteration *v, size_t n)
{
	const struct nsx_trace *t = e->d->trace;
	struct kind gathered = {0}, reduced = {0};
	size_t at = 0;

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		int64_t start_ns = nsx_op_start(&t->ops, i);

		if (t->ops.cls[i] != NSX_C_COMM)
			continue;
		for (; at < n && start_ns >= v[at].end_ns; at++)
			mark_ends(e, &gathered, &reduced);
		if (at == n || start_ns < v[at].start_ns)
			continue;
		switch (nsx_op_launch(t, i)->op) {
		case NSX_COMM_ALLGATHER:
			comm_ends_count(&gathered, (uint32_t)i);
			break;
		case NSX_COMM_ALLREDUCE:
		case NSX_COMM_REDUCESCATTER:
			comm_ends_count(&reduced, (uint32_t)i);
			break;
		default:
			break;
		}
	}
	mark_ends(e, &gathered, &reduced);
}

int nsx_list_hideable(struct nsx_detect *d, struct nsx_rows *ret, struct nsx_err *err)
{
	const struct nsx_facts *f = d->facts;
	const struct nsx_ops *o = &d->trace->ops;
	struct ends e = {.d = d};
	struct nsx_row_list l = {0};
	size_t nends = 0;
	int rc = 0;

	*ret = (struct nsx_rows){0};
	if (!nsx_new_array(e.is_end, d->scratch, o->n, "communication", err))
		return err->rc;
	NSX_EACH_RUN(i, next, f->niterations,
		     f->iterations[next].process == f->iterations[i].process &&
			     f->iterations[next].device == f->iterations[i].device)
		comm_ends_find_ends(&e, &d->trace->device[f->iterations[i].device],
				    &f->iterations[i], next - i);
	for (size_t i = 0; !rc && i < o->n; i++) {
		nends += e.is_end[i];
		if (o->cls[i] == NSX_C_COMM && !e.is_end[i] && nsx_is_judged(d, nsx_op_start(o, i)))
			rc = nsx_list_row(&l, i, err);
	}
	if (!rc && nends)
		*ret = nsx_keep_rows(d, l.v, l.n);
	free(l.v);
	return rc;
}
