/* excess.c - why a GPU works longer than the others.
 *
 * A slow GPU takes longer for the same launches, whatever they do. One kernel that takes
 * longer proves no such thing: with the same grid it may have more to do, as an expert that
 * more tokens are sent to. Work is spread kind by kind: a kernel takes its mean over the
 * GPUs, which leaves the others as they are.
 */
#include <math.h>
#include <stdlib.h>
#include "detect/excess.h"
#include "facts/kernel_name.h"
#include "schema/codes.h"

enum {
	LEAST_KERNELS = 3, /* of different work, that are slow on a slow GPU  */
	MOST_KINDS = 16,   /* that are evened out: each is a pass over all work */
	ALIKE = 50,	   /* launches may be one more in so many             */
};
#define MOST_TIME 0.8 /* of a slow GPU's time, in kernels that are slow there  */
#define MOST_OF 0.5   /* of what a GPU works longer, by one kernel, or its copies */
#define LONGER 1.25   /* times, that as many bytes take on a slow link           */

const char nsx_priced_by_mean[] = "priced as if what takes longer took the mean of all";
const char nsx_priced_by_stretch[] =
	"priced as if the kernels between two collectives took each GPU as long as the "
	"mean of all";
const char nsx_advice_on_work[] =
	"spread the work evenly: parts of equal cost for each GPU; in a network stages of "
	"equal cost, batches of equal token count, experts of equal load";
const char nsx_advice_on_slow[] =
	"compare the clocks, the power and the temperature of the GPUs: nvidia-smi -q -d "
	"CLOCK,POWER,TEMPERATURE,PERFORMANCE";
const char nsx_advice_on_link[] =
	"see how it is connected: width and generation of its PCIe link (nvidia-smi -q), its "
	"socket and that of its process (nvidia-smi topo -m)";

/* On the GPU, and on others: all, or only those that do not work longest. */
struct sums {
	double own_ns, their_ns;
	/* Of copies, by kinds; paged: of those, from or to pageable memory. */
	int64_t own_bytes, their_bytes, own_paged, their_paged;
	size_t nown, ntheirs;
};
struct kinds {
	struct nsx_groups keys; /* (kind of operation and of copy, name)       */
	struct sums *v;
};
struct excess { /* of a kind */
	uint32_t kind;
	double ns;
};

static bool is_work(const struct nsx_detect *d, size_t op)
{
	return d->trace->ops.cls[op] != NSX_C_COMM &&
	       nsx_is_judged(d, nsx_op_start(&d->trace->ops, op));
}

/* Slow ----------------------------------------------------------------------------*/

static void add_shapes(const struct nsx_detect *d, uint32_t device, bool is_own,
		       struct sums *v)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_device *dev = &t->device[device];

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		struct sums *x;

		if (t->ops.kind[i] != NSX_OP_KERNEL || !is_work(d, i))
			continue;
		x = &v[nsx_op_detail(&t->ops, i)];
		*(is_own ? &x->own_ns : &x->their_ns) +=
			(double)nsx_op_ns(&t->ops, i);
		*(is_own ? &x->nown : &x->ntheirs) += 1;
	}
}

/* Whether the GPU launches a shape as often as each of so many others. */
static bool is_alike(const struct sums *x, uint32_t nothers)
{
	size_t own = x->nown * nothers, most = NSX_MAX(own, x->ntheirs);

	return own && x->ntheirs &&
	       (most - NSX_MIN(own, x->ntheirs)) * ALIKE <= most;
}

static double as_theirs_ns(const struct sums *x)
{
	return x->their_ns / (double)x->ntheirs * (double)x->nown;
}

/* Whether nearly all kernels, each for itself, take that much longer. */
static void judge_slow(const struct sums *v, uint32_t nshapes, uint32_t nothers,
		       struct nsx_excess *ret)
{
	double all_ns = 0, own_ns = 0, theirs_ns = 0, slow_ns = 0, times;
	size_t n = 0;

	for (uint32_t s = 0; s < nshapes; s++) {
		all_ns += v[s].own_ns;
		if (!is_alike(&v[s], nothers))
			continue;
		own_ns += v[s].own_ns;
		theirs_ns += as_theirs_ns(&v[s]);
	}
	times = theirs_ns > 0 ? own_ns / theirs_ns : 0;
	for (uint32_t s = 0; times > 1 && s < nshapes; s++)
		if (is_alike(&v[s], nothers) &&
		    v[s].own_ns >= (1 + (times - 1) / 2) * as_theirs_ns(&v[s])) {
			slow_ns += v[s].own_ns;
			n++;
		}
	if (n < LEAST_KERNELS || slow_ns < MOST_TIME * all_ns)
		return;
	ret->times = times;
	ret->nslow = n;
}

static int find_slowness(struct nsx_detect *d, const struct nsx_compared *c,
			 uint32_t device, struct nsx_excess *ret, struct nsx_err *err)
{
	uint32_t nothers = 0;
	struct sums *v;

	if (!nsx_new_array(v, d->scratch, d->trace->nshapes, "kernels", err))
		return err->rc;
	add_shapes(d, device, true, v);
	for (uint32_t i = 0; i < d->facts->ndevices; i++) {
		if (!c->counts[i] || c->is_long[i])
			continue;
		add_shapes(d, i, false, v);
		nothers++;
	}
	if (nothers)
		judge_slow(v, d->trace->nshapes, nothers, ret);
	nsx_arena_drop(d->scratch, v);
	return 0;
}

/* More work -----------------------------------------------------------------------*/

static int add_kinds(const struct nsx_detect *d, uint32_t device, bool is_own,
		     struct kinds *k, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_device *dev = &t->device[device];

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		unsigned kind = t->ops.kind[i], copy_kind;
		struct sums *x;

		if (!is_work(d, i))
			continue;
		copy_kind = kind == NSX_OP_MEMCPY ? nsx_op_copy(t, i)->copy_kind : 0;
		x = nsx_group_value(&k->keys, &k->v, kind << 8 | copy_kind,
				    nsx_op_name(t, i), "kinds of work", err);
		if (!x)
			return err->rc;
		*(is_own ? &x->own_ns : &x->their_ns) +=
			(double)nsx_op_ns(&t->ops, i);
	}
	return 0;
}

static double mean_ns(const struct sums *x, uint32_t n)
{
	return (x->own_ns + x->their_ns) / n;
}

NSX_ORDER(cmp_excess, struct excess, DOWN(ns), UP(kind));

/* Kinds that the GPU does longer than the mean, those with most first; *ret_all_ns: of all. */
static struct excess *list_excess(struct nsx_detect *d, const struct kinds *k, uint32_t n,
				  size_t *ret_n, double *ret_all_ns,
				  struct nsx_err *err)
{
	struct excess *v = nsx_arena_try_array(d->scratch, k->keys.n + 1, sizeof(*v),
					       "kinds of work", err);

	*ret_n = 0;
	*ret_all_ns = 0;
	for (size_t i = 0; v && i < k->keys.n; i++) {
		double ns = k->v[i].own_ns - mean_ns(&k->v[i], n);

		if (ns <= 0)
			continue;
		v[(*ret_n)++] = (struct excess){(uint32_t)i, ns};
		*ret_all_ns += ns;
	}
	if (v)
		nsx_sort(v, *ret_n, sizeof(*v), cmp_excess);
	return v;
}

/* n kinds take less by the same part of their excess, so that all is what is too much. */
static struct nsx_plan spread(struct nsx_detect *d, const struct kinds *k,
			      const struct excess *v, size_t n, uint32_t device,
			      double too_much_ns)
{
	struct nsx_change *c = nsx_arena_get(d->found->arena, (n + 1) * sizeof(*c));
	double sum_ns = 0, part;

	for (size_t i = 0; i < n; i++)
		sum_ns += v[i].ns;
	part = sum_ns > too_much_ns ? too_much_ns / sum_ns : 1;
	for (size_t i = 0; i < n; i++) {
		const struct nsx_group_key key = nsx_group_key(&k->keys, v[i].kind);
		double own_ns = k->v[v[i].kind].own_ns;

		c[i] = (struct nsx_change){
			.verb = NSX_FASTER, .op = 1u << (key.a >> 8),
			.by = NSX_BY_DEVICE, .device = device,
			.copy_kind = (uint8_t)key.a,
			.name = key.b ? nsx_text(d->trace, (nsx_str)key.b) : NULL,
			.amount = own_ns / (own_ns - part * v[i].ns)};
	}
	return (struct nsx_plan){c, n};
}

static int find_more(struct nsx_detect *d, struct kinds *k, const struct nsx_compared *c,
		     uint32_t device, double too_much_ns, struct nsx_excess *ret,
		     struct nsx_err *err)
{
	struct excess *v;
	double all_ns;
	size_t n;

	for (uint32_t i = 0; i < d->facts->ndevices; i++)
		if (c->counts[i] && add_kinds(d, i, i == device, k, err))
			return err->rc;
	v = list_excess(d, k, c->n, &n, &all_ns, err);
	if (!v)
		return err->rc;
	if (n && nsx_group_key(&k->keys, v[0].kind).a == NSX_OP_KERNEL << 8) {
		ret->kernel = (nsx_str)nsx_group_key(&k->keys, v[0].kind).b;
		ret->ns = k->v[v[0].kind].own_ns;
		ret->mean_ns = mean_ns(&k->v[v[0].kind], c->n);
		ret->share = v[0].ns / all_ns;
	}
	if (!(ret->times > 0))
		ret->remedy = spread(d, k, v, NSX_MIN(n, (size_t)MOST_KINDS), device,
				     too_much_ns);
	nsx_arena_drop(d->scratch, v);
	return 0;
}

int64_t nsx_judged_work_ns(const struct nsx_detect *d, uint32_t device)
{
	struct nsx_partition p;

	nsx_partition(&d->facts->device[device], d->w.start_ns, d->w.end_ns,
		      &p);
	return d->w.end_ns - d->w.start_ns - p.ns[NSX_P_IDLE] -
	       p.ns[NSX_P_COMM_EXPOSED];
}

int nsx_excess_of(struct nsx_detect *d, const struct nsx_compared *c, uint32_t device,
		  struct nsx_change even, struct nsx_excess *ret,
		  struct nsx_err *err)
{
	struct kinds k = {0};
	int rc;

	*ret = (struct nsx_excess){0};
	/* Turns of another process slow all kernels down as well. */
	if (!nsx_processes_share_ns(d, device) &&
	    find_slowness(d, c, device, ret, err))
		return err->rc;
	if (ret->times > 0)
		ret->remedy = nsx_plan_of(d, even);
	rc = find_more(d, &k, c, device,
		       (double)nsx_judged_work_ns(d, device) - c->mean_ns, ret, err);
	nsx_groups_done(&k.keys);
	free(k.v);
	return rc;
}

/* In words ------------------------------------------------------------------------*/

const char *nsx_say_excess(struct nsx_detect *d, const struct nsx_excess *x)
{
	struct nsx_findings *l = d->found;

	return x->times > 0 || !x->kernel ? "" : nsx_tell(
		l, ", %s of it in kernel %s: %s, %s on average",
		x->share > MOST_OF ? "most" : "the largest part",
		nsx_tell_name(l, nsx_kernel_label(&d->facts->kernels, x->kernel)),
		nsx_text_ns(l->arena, x->ns), nsx_text_ns(l->arena, x->mean_ns));
}

const char *nsx_say_slow(struct nsx_detect *d, const struct nsx_excess *x,
			 uint32_t device)
{
	return nsx_tell(d->found, "%zu kernels take %.2f times as long on GPU %s as "
			"the same launches on others: it is slow", x->nslow, x->times,
			nsx_gpu_label(d->trace, device));
}

