/* tails.c - a kernel that takes many times as long in some of its calls, and why is not in
 * the launch: lists, lengths or indices that it was given, or atomics on few addresses.
 *
 * The same launch need not do the same work. Calls are left out that take longer by their
 * place in the program: between the same neighbours on their stream most are long, or
 * they come at the same few distances, as a layer of another kind does, or their neighbours
 * are long as well, as in a step of another kind.
 */
#include <stdlib.h>
#include <string.h>
#include "detect/detect.h"
#include "facts/kernel_name.h"

enum {
	MANY = 50, LEAST_LONG = 5, /* calls in the window                    */
	LONG = 4,   /* times the median, from which a call is long           */
	FEW = 10,   /* calls at least for a long one                         */
	PEAK = 3,   /* times the mean, that the longest takes                */
	KNOWN = 3,  /* distances that most of the long ones must not come at */
	OTHER = 2,  /* times their mean, from which neighbours are long      */
};
#define LEAST_SHARE 0.01 /* of the window, that the long ones take beyond the median */

struct sums { /* of a shape with MANY calls */
	int64_t ns, max_ns;
	uint32_t n, at; /* at: index + 1 of the candidate                    */
};
struct call { /* of a candidate */
	uint32_t op, before, after; /* neighbours: NSX_NONE: none            */
	uint32_t shape;		    /* index of the candidate                */
};
struct tails {
	struct nsx_detect *d;
	const struct nsx_device *dev;
	uint32_t *sum_of; /* by shape: index + 1 of its sums; 0: has none    */
	struct sums *sums;
	struct call *call;
	size_t ncalls, ncandidates;
	int64_t window_ns;
};
struct context { /* calls of a candidate between two names */
	uint32_t n, nlong;
	int64_t around_ns; /* of the neighbours of those that are not long   */
};
struct tail { /* of one candidate */
	const struct call *call; /* in order of time                         */
	uint32_t n, *is_long, nlong; /* is_long: indices of call             */
	int64_t median_ns, long_ns;
};

static bool counts(const struct nsx_detect *d, size_t op)
{
	const struct nsx_ops *o = &d->trace->ops;

	return o->kind[op] == NSX_OP_KERNEL && o->cls[op] == NSX_C_COMPUTE &&
	       nsx_is_judged(d, nsx_op_start(o, op));
}

static bool may_be(const struct tails *x, const struct sums *s)
{
	double mean_ns = (double)s->ns / s->n;

	return (double)s->max_ns >= PEAK * mean_ns &&
	       (double)s->ns >= LEAST_SHARE * (double)x->window_ns;
}

/* NULL: it does not count, or few of its shape do. */
static struct sums *sums_of(const struct tails *x, size_t op)
{
	uint32_t at = counts(x->d, op) ?
			      x->sum_of[nsx_op_detail(&x->d->trace->ops, op)] : 0;

	return at ? &x->sums[at - 1] : NULL;
}

/* Sums for shapes that have MANY calls: most have one, where there are a million. */
static int number_sums(struct tails *x, size_t *ret_n, struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	size_t end = x->dev->ops_at + x->dev->nops;
	uint32_t *n;

	if (nsx_new_arrays(x->d->scratch, t->nshapes, "kernels", err, n))
		return err->rc;
	for (size_t i = x->dev->ops_at; i < end; i++)
		if (counts(x->d, i))
			n[nsx_op_detail(&t->ops, i)]++;
	for (uint32_t s = 0; s < t->nshapes; s++)
		n[s] = n[s] >= MANY ? (uint32_t)++*ret_n : 0;
	x->sum_of = n;
	return nsx_new_arrays(x->d->scratch, *ret_n, "kernels", err, x->sums);
}

/* Shapes that may have a tail, and how often they are called. */
static int find_candidates(struct tails *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	size_t n = 0;

	if (number_sums(x, &n, err))
		return err->rc;
	for (size_t i = x->dev->ops_at; n && i < x->dev->ops_at + x->dev->nops; i++) {
		int64_t ns = nsx_op_ns(&t->ops, i);
		struct sums *s = sums_of(x, i);

		if (!s)
			continue;
		nsx_add_to(&s->ns, ns);
		s->max_ns = NSX_MAX(s->max_ns, ns);
		s->n++;
	}
	for (size_t k = 0; k < n; k++)
		if (may_be(x, &x->sums[k])) {
			x->sums[k].at = (uint32_t)++x->ncandidates;
			x->ncalls += x->sums[k].n;
		}
	return 0;
}

/* The calls of candidates, with what their streams do before and after. */
static int list_calls(struct tails *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	struct nsx_arena *a = x->d->scratch;
	struct on_stream { uint32_t op, call; } *last; /* both + 1           */
	size_t n = 0;

	if (nsx_new_arrays(a, x->ncalls, "kernels", err, x->call) ||
	    nsx_new_arrays(a, t->nstreams, "streams", err, last))
		return err->rc;
	for (size_t i = x->dev->ops_at; i < x->dev->ops_at + x->dev->nops; i++) {
		struct on_stream *s = &last[nsx_op_stream(&t->ops, i)];
		const struct sums *sums = sums_of(x, i);
		uint32_t at = sums ? sums->at : 0;

		if (s->call)
			x->call[s->call - 1].after = (uint32_t)i;
		s->call = 0;
		if (at) {
			x->call[n++] = (struct call){(uint32_t)i, s->op - 1,
						     NSX_NONE, at - 1};
			s->call = (uint32_t)n;
		}
		s->op = (uint32_t)i + 1;
	}
	return 0;
}

/* One ------------------------------------------------------------------------*/

static nsx_str name_of(const struct tails *x, uint32_t op)
{
	return op == NSX_NONE ? 0 : nsx_op_name(x->d->trace, op);
}

static int64_t around_ns(const struct tails *x, const struct call *e)
{
	const struct nsx_ops *o = &x->d->trace->ops;

	return (e->before == NSX_NONE ? 0 : nsx_op_ns(o, e->before)) +
	       (e->after == NSX_NONE ? 0 : nsx_op_ns(o, e->after));
}

static void add_call(const struct tails *x, const struct call *e, bool is_long,
		     struct context *c)
{
	c->n++;
	c->nlong += is_long;
	if (!is_long)
		nsx_add_to(&c->around_ns, around_ns(x, e));
}

/* Whether neither what is around it tells that it is long, nor how long that takes. */
static bool is_odd(const struct tails *x, const struct call *e, const struct context *c)
{
	double mean_ns = (double)c->around_ns / NSX_MAX(1, c->n - c->nlong);

	return c->nlong * 2 <= c->n && (double)around_ns(x, e) <= OTHER * mean_ns;
}

/* Keeps of the long calls those that are odd. */
static int drop_placed(const struct tails *x, struct tail *y, struct nsx_err *err)
{
	struct nsx_groups keys = {0};
	struct context *v = NULL, *c = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0, k = 0; i < y->n; i++) {
		const struct call *e = &y->call[i];
		bool is_long = k < y->nlong && y->is_long[k] == i;

		c = nsx_group_value(&keys, &v, name_of(x, e->before),
				    name_of(x, e->after), "kernels", err);
		if (!c)
			break;
		add_call(x, e, is_long, c);
		k += is_long;
	}
	for (uint32_t k = 0; c && k < y->nlong; k++) {
		const struct call *e = &y->call[y->is_long[k]];

		if (is_odd(x, e, &v[nsx_group_find(&keys, name_of(x, e->before),
						   name_of(x, e->after))]))
			y->is_long[n++] = y->is_long[k];
	}
	y->nlong = n;
	nsx_groups_done(&keys);
	free(v);
	return c ? 0 : err->rc;
}

/* Whether most come at KNOWN distances, counted in calls. */
static int is_regular(const struct tails *x, const struct tail *y, bool *ret,
		      struct nsx_err *err)
{
	uint32_t *count, most = 0, n = 0;

	if (nsx_new_arrays(x->d->scratch, y->n, "distances", err, count))
		return err->rc;
	for (uint32_t k = 1; k < y->nlong; k++)
		count[y->is_long[k] - y->is_long[k - 1]]++;
	for (unsigned i = 0; i < KNOWN; i++, n += most) {
		uint32_t at = 0;

		for (uint32_t k = 1; k < y->n; k++)
			if (count[k] > count[at])
				at = k;
		most = count[at];
		count[at] = 0;
	}
	nsx_arena_drop(x->d->scratch, count);
	*ret = n * 2 >= y->nlong - 1;
	return 0;
}

/* In how many of the long calls something else begins on the GPU; *ret_pages: of these,
 * pages of unified memory that move.
 */
static uint32_t count_beside(const struct tails *x, const struct tail *y,
			     uint32_t *ret_pages)
{
	const struct nsx_trace *t = x->d->trace;
	uint32_t n = 0, end = x->dev->ops_at + x->dev->nops;

	*ret_pages = 0;
	for (uint32_t k = 0; k < y->nlong; k++) {
		uint32_t op = y->call[y->is_long[k]].op;

		if (op + 1 == end ||
		    nsx_op_start(&t->ops, op + 1) >= nsx_op_end(&t->ops, op))
			continue;
		n++;
		*ret_pages += t->ops.kind[op + 1] == NSX_OP_MEMCPY &&
			      nsx_copy_is_migration(nsx_op_copy(t, op + 1)->copy_kind);
	}
	return n;
}

static void propose(const struct tails *x, const struct tail *y, bool is_beside)
{
	struct nsx_detect *d = x->d;
	const struct nsx_trace *t = d->trace;
	struct nsx_findings *l = d->found;
	uint32_t *rows = nsx_arena_get(d->scratch, y->nlong * sizeof(*rows));
	const char *label = nsx_kernel_label(&d->facts->kernels,
					     nsx_op_name(t, y->call->op));
	double mean_ns = (double)y->long_ns / y->nlong;
	struct nsx_finding f = {
		.id = NSX_ID_kernel_tail, .subject = label,
		.device = d->facts->limiting, .confidence = NSX_CONF_MEDIUM,
		.title = nsx_tell(l, "kernel %s takes %.0f times as long in %u of "
				  "%u calls", nsx_tell_name(l, label),
				  mean_ns / (double)y->median_ns, y->nlong, y->n),
		.evidence = {
			nsx_tell(l, "these take %s, %s on average, where the median "
				 "call of the same launch takes %s",
				 nsx_tell_ns(l, y->long_ns),
				 nsx_text_ns(l->arena, mean_ns),
				 nsx_text_ns(l->arena, (double)y->median_ns)),
			"priced as if they took the median",
			is_beside ?
			"in most of them other work begins beside them: it may "
			"take their room, or it is what they are given, which is "
			"not in the trace" :
			"what runs before and after them takes no longer, and they "
			"come at no fixed distance: it is what they are given, "
			"which is not in the trace"},
		.recommendation = {
			"see what these calls are given: longer lists, indices that "
			"meet at few addresses, one block with most of the work; "
			"split it or spread it over blocks",
			nsx_tell(l, "record that for each call in an NVTX range's "
				 "payload or name")}};

	for (uint32_t k = 0; k < y->nlong; k++)
		rows[k] = y->call[y->is_long[k]].op;
	f.remedy = nsx_plan_of(d, (struct nsx_change){
		.verb = NSX_FASTER, .op = NSX_ON_KERNELS,
		.amount = mean_ns / (double)y->median_ns,
		.rows = nsx_keep_rows(d, rows, y->nlong)});
	nsx_found(l, &f);
}

/* v: room for the calls. */
static int judge(const struct tails *x, struct tail *y, int64_t *v, struct nsx_err *err)
{
	const struct nsx_ops *o = &x->d->trace->ops;
	uint32_t nbeside, npages;
	bool regular = false;

	for (uint32_t i = 0; i < y->n; i++)
		v[i] = nsx_op_ns(o, y->call[i].op);
	y->median_ns = (int64_t)nsx_quantile(v, y->n, 0.5);
	y->nlong = 0;
	for (uint32_t i = 0; i < y->n; i++)
		if (nsx_op_ns(o, y->call[i].op) >= LONG * NSX_MAX(1, y->median_ns))
			y->is_long[y->nlong++] = i;
	if (y->nlong < LEAST_LONG || y->nlong * FEW > y->n)
		return 0;
	if (drop_placed(x, y, err))
		return err->rc;
	y->long_ns = 0;
	for (uint32_t k = 0; k < y->nlong; k++)
		nsx_add_to(&y->long_ns, nsx_op_ns(o, y->call[y->is_long[k]].op));
	if (y->nlong < LEAST_LONG ||
	    (double)(y->long_ns - y->nlong * y->median_ns) <
		    LEAST_SHARE * (double)x->window_ns)
		return 0;
	if (is_regular(x, y, &regular, err))
		return err->rc;
	nbeside = count_beside(x, y, &npages);
	if (!regular && npages * 2 <= y->nlong)
		propose(x, y, nbeside * 2 > y->nlong);
	return 0;
}

int nsx_detect_tails(struct nsx_detect *d, struct nsx_err *err)
{
	struct tails x = {.d = d, .window_ns = d->w.end_ns - d->w.start_ns};
	struct tail y = {0};
	struct call *dealt;
	uint32_t *at, *order;
	int64_t *v;

	if (d->facts->limiting == NSX_NONE ||
	    nsx_processes_share_ns(d, d->facts->limiting))
		return 0; /* it may be the turns of another process           */
	x.dev = &d->trace->device[d->facts->limiting];
	if (find_candidates(&x, err))
		return err->rc;
	if (!x.ncandidates)
		return 0;
	if (list_calls(&x, err) ||
	    nsx_new_arrays(d->scratch, x.ncandidates + 2, "kernels", err, at) ||
	    nsx_new_arrays(d->scratch, x.ncalls, "kernels", err, order, dealt, v,
			   y.is_long))
		return err->rc;
	NSX_DEAL(at, order, x.ncandidates, x.ncalls, i, x.call[i].shape);
	for (size_t i = 0; i < x.ncalls; i++)
		dealt[i] = x.call[order[i]];
	for (size_t s = 0; s < x.ncandidates; s++) {
		y.call = dealt + at[s];
		y.n = at[s + 1] - at[s];
		if (judge(&x, &y, v, err))
			return err->rc;
	}
	return 0;
}
