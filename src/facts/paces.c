/* paces.c - how long equal launches take, and which of them take far longer than the others.
 *
 * Equal grids may hide different work, such as matrices of another inner dimension. Launches behind
 * the same kernel are at the same place of the program, and mostly do the same work there. They are
 * slow only if a gap in the lengths sets them apart: work that varies has lengths without gaps.
 */
#include <math.h>
#include "base/group.h"
#include "base/stat.h"
#include "facts/paces.h"

#define NOTABLE 0.001 /* least share of the window that a shape takes         */
#define APART 1.25 /* least ratio of the shortest slow launch to the longest usual one */
enum {
	/* Fewer slow, usual or compared launches are no habit. If 1/3 of them or more are slow,
	 * there are two kinds of work in turns, unless all are slow from some time on.
	 */
	FEWEST = 3,
	ALIKE = 50, /* numbers of launches may differ by 1/50 */
};

struct paced { /* launches, in order of time */
	uint32_t *op;
	size_t n, cap;
};
struct pacing {
	const struct nsx_trace *t;
	struct nsx_window w;
	struct nsx_groups keys; /* (shape, name of the kernel before), device */
	struct nsx_near near;
	struct paced *v;
};

/* Lists launches of the shapes that take a notable part of the window. last: by stream, the name of
 * its last kernel. ns: by shape.
 */
static int list_equal_launches(struct pacing *p, uint32_t device, nsx_str *last, int64_t *ns,
			 struct nsx_err *err)
{
	const struct nsx_trace *t = p->t;
	const struct nsx_device *dev = &t->device[device];
	uint32_t first = nsx_first_op(t, dev, p->w.start_ns);
	uint32_t end = nsx_first_op(t, dev, p->w.end_ns);

	memset(ns, 0, t->nshapes * sizeof(*ns));
	for (uint32_t i = first; i < end; i++)
		if (t->ops.kind[i] == NSX_OP_KERNEL && t->ops.cls[i] == NSX_C_COMPUTE)
			nsx_add_to(&ns[nsx_op_detail(&t->ops, i)], nsx_op_ns(&t->ops, i));
	for (uint32_t i = first; i < end; i++) {
		uint32_t shape = nsx_op_detail(&t->ops, i), stream = nsx_op_stream(&t->ops, i);
		nsx_str before = last[stream];
		struct paced *x;

		if (t->ops.kind[i] != NSX_OP_KERNEL)
			continue;
		last[stream] = t->shape_name[shape];
		if (t->ops.cls[i] != NSX_C_COMPUTE ||
		    (double)ns[shape] < NOTABLE * (double)(p->w.end_ns - p->w.start_ns))
			continue;
		x = nsx_near_value(&p->keys, &p->near, &p->v, (uint64_t)shape << 32 | before,
				   device, "launches", err);
		if (!x || nsx_push(x->op, x->n, x->cap, "launches", err, i))
			return err->rc;
	}
	return 0;
}

/* Fills the lengths of a pace; ns: room for them. */
static void judge_pace(const struct nsx_ops *o, const struct paced *x, int64_t *ns,
		       struct nsx_pace *ret)
{
	double gap = 0;
	size_t at = x->n, first = 0, middle;

	for (size_t i = 0; i < x->n; i++)
		ns[i] = nsx_op_ns(o, x->op[i]);
	nsx_sort(ns, x->n, sizeof(*ns), nsx_cmp_i64);
	for (size_t i = NSX_MAX(x->n / FEWEST, (size_t)FEWEST); i + FEWEST <= x->n; i++) {
		double ratio = (double)ns[i] / (double)NSX_MAX(ns[i - 1], 1);

		if (ratio > gap) {
			gap = ratio;
			at = i;
		}
	}
	if (gap < APART || gap * (double)ns[0] < (double)ns[at - 1])
		at = x->n;
	ret->n = x->n;
	middle = at / 2;
	ret->usual_ns = (double)ns[middle];
	if (at == x->n)
		return;
	while (first < x->n && nsx_op_ns(o, x->op[first]) < ns[at])
		first++;
	if (first != at && (x->n - at) * FEWEST >= x->n)
		return;
	for (size_t i = at; i < x->n; i++)
		nsx_add_to(&ret->excess_ns, ns[i] - nsx_to_i64(ret->usual_ns));
}

/* Orders by excess, then by whatever differs, so that equal files give equal orders. */
NSX_ORDER(cmp_paces, struct nsx_pace, DOWN(excess_ns), UP(device), DOWN(n), UP(shape),
	  DOWN(usual_ns));

int nsx_find_paces(const struct nsx_trace *t, struct nsx_window w, uint32_t device,
		   struct nsx_arena *a, struct nsx_paces *ret, struct nsx_err *err)
{
	struct pacing p = {.t = t, .w = w};
	int64_t *ns = NULL;
	nsx_str *last;
	size_t most = 0;
	int rc = nsx_new_arrays(a, t->nshapes, "kernels", err, ns);

	nsx_few(last, a, t->nstreams);
	*ret = (struct nsx_paces){NULL, 0};
	for (uint32_t d = 0; !rc && d < t->ndevices; d++)
		if (device == NSX_NONE || device == d)
			rc = list_equal_launches(&p, d, last, ns, err);
	nsx_arena_drop(a, ns);
	for (size_t i = 0; i < p.keys.n; i++)
		most = NSX_MAX(most, p.v[i].n);
	rc = rc ?: nsx_new_arrays(a, most, "launches", err, ns) ?:
	     nsx_new_arrays(a, p.keys.n, "launches", err, ret->v);
	for (size_t i = 0; i < p.keys.n; i++) {
		struct nsx_group_key key = nsx_group_key(&p.keys, i);

		if (!rc) {
			ret->v[ret->n] = (struct nsx_pace){
				.device = (uint32_t)key.b, .shape = (uint32_t)(key.a >> 32)};
			judge_pace(&t->ops, &p.v[i], ns, &ret->v[ret->n++]);
		}
		free(p.v[i].op);
	}
	nsx_sort(ret->v, ret->n, sizeof(*ret->v), cmp_paces);
	nsx_groups_done(&p.keys);
	free(p.v);
	return rc;
}

enum { OWN, THEIRS, NSIDES };
struct sides { /* launches of one shape */
	double n[NSIDES], ns[NSIDES];
};

/* How long these launches would take at the pace of the other devices; 0 unless each device that
 * makes such launches makes about equally many.
 */
static double their_time(const struct sides *x)
{
	double apart = x->n[OWN] < FEWEST ? 1 : fabs(remainder(x->n[THEIRS] / x->n[OWN], 1));

	return x->n[THEIRS] > 0 && apart * ALIKE <= 1 && 2 * x->n[THEIRS] >= x->n[OWN] ?
		       x->ns[THEIRS] * x->n[OWN] / x->n[THEIRS] : 0;
}

int nsx_compare_paces(const struct nsx_trace *t, const struct nsx_paces *p, uint32_t device,
		      struct nsx_arena *a, struct nsx_rival *ret, struct nsx_err *err)
{
	struct sides *v;
	double most_ns = 0;

	*ret = (struct nsx_rival){.most = NSX_NONE};
	if (!nsx_new_array(v, a, t->nshapes, "kernels", err))
		return err->rc;
	for (size_t i = 0; i < p->n; i++) {
		const struct nsx_pace *x = &p->v[i];

		unsigned side = x->device == device ? OWN : THEIRS;

		v[x->shape].n[side] += (double)x->n;
		v[x->shape].ns[side] += (double)x->n * x->usual_ns;
		ret->all_ns += side ? 0 : (double)x->n * x->usual_ns + (double)x->excess_ns;
	}
	for (uint32_t s = 0; s < t->nshapes; s++)
		if (their_time(&v[s]) > 0) {
			ret->own_ns += v[s].ns[OWN];
			ret->their_ns += their_time(&v[s]);
		}
	for (uint32_t s = 0; s < t->nshapes; s++) {
		double theirs_ns = their_time(&v[s]), more_ns = v[s].ns[OWN] - theirs_ns;

		if (theirs_ns <= 0 || 2 * more_ns * ret->their_ns <
					      (ret->own_ns - ret->their_ns) * theirs_ns)
			continue;
		ret->nslower++;
		ret->slower_ns += v[s].ns[OWN];
		if (more_ns > most_ns) {
			most_ns = more_ns;
			ret->most = s;
		}
	}
	nsx_arena_drop(a, v);
	return 0;
}

/* Along the window ------------------------------------------------------------------- */

/* Kernels that slow down. The judged window is cut into equal parts, and launches of one kernel
 * with one grid are compared between the first and the last few parts. A single kernel may become
 * slower because its work grows under the same grid: a frontier, a list of particles, a cache of
 * keys. Lower clocks slow down nearly all kernels alike.
 */
enum { PARTS = 24, FEW = 4, LEAST_KERNELS = 3, LEAST_LAUNCHES = 2 /* at each end */ };
#define SLOWER 1.05	/* least ratio of the last parts to the first        */
#define ABOUT 0.5	/* share of the common slow-down that a kernel must reach */
#define NEARLY_ALL 0.8	/* share of the kernel time in kernels that must reach it */
#define ALL 0.99	/* share of kernel time that must reach it from FAR on */
#define FAR 1.5		/* from this ratio on, all kernels are slower, even those bound by memory */

enum { EARLY, ALWAYS, LATE, NTIMES };
struct pace { /* launches of one shape */
	size_t n[NTIMES];
	double ns[NTIMES];
};
struct drift {
	const struct nsx_trace *t;
	struct nsx_window w;
	uint32_t device;
	struct pace *v; /* by shape                                          */
	double part[PARTS]; /* time relative to the shape's mean; 0: no kernels in that part */
	/* the last of the first FEW parts with kernels, the first of the last */
	unsigned first, last;
};

static void add_paces(struct drift *x)
{
	const struct nsx_ops *o = &x->t->ops;
	const struct nsx_device *dev = &x->t->device[x->device];
	double usual[PARTS] = {0}, window_ns = (double)(x->w.end_ns - x->w.start_ns);
	bool is_in[PARTS] = {false};

	for (unsigned pass = 0; pass < 2; pass++) {
		for (uint32_t i = nsx_first_op(x->t, dev, x->w.start_ns),
			      end = nsx_first_op(x->t, dev, x->w.end_ns); i < end; i++) {
			struct pace *v = &x->v[nsx_op_detail(o, i)];
			double ns = (double)nsx_op_ns(o, i);
			int64_t at_ns = nsx_op_start(o, i) - x->w.start_ns;
			unsigned k = (unsigned)((double)at_ns / window_ns * PARTS);
			unsigned when = !pass ? ALWAYS : k <= x->first ? EARLY : LATE;

			if (o->kind[i] != NSX_OP_KERNEL || o->cls[i] != NSX_C_COMPUTE)
				continue;
			is_in[k] = true;
			if (!pass || k <= x->first || k >= x->last) {
				v->n[when]++;
				v->ns[when] += ns;
			}
			x->part[k] += pass ? ns : 0;
			usual[k] += pass ? v->ns[ALWAYS] / (double)v->n[ALWAYS] : 0;
		}
		for (unsigned k = 0, n = 0; k < PARTS; k++)
			if (is_in[k] && n++ < FEW)
				x->first = k;
		for (unsigned k = PARTS, n = 0; k-- > 0;)
			if (is_in[k] && n++ < FEW)
				x->last = k;
	}
	for (unsigned k = 0; k < PARTS; k++)
		x->part[k] = usual[k] > 0 ? x->part[k] / usual[k] : 0;
}

/* The ratio of the last parts to the first; 0 unless each of the last is slower than all of the
 * first.
 */
static double drift_ratio(const struct drift *x)
{
	double early_ns = 0, late_ns = 0, low = 0, high = INFINITY;

	for (uint32_t s = 0; s < x->t->nshapes; s++) {
		const struct pace *v = &x->v[s];

		if (v->n[EARLY] < LEAST_LAUNCHES || v->n[LATE] < LEAST_LAUNCHES)
			continue;
		early_ns += v->ns[EARLY] / (double)v->n[EARLY] * (double)v->n[LATE];
		late_ns += v->ns[LATE];
	}
	for (unsigned k = 0; k < PARTS; k++) {
		low = k <= x->first ? NSX_MAX(low, x->part[k]) : low;
		high = k >= x->last && x->part[k] > 0 ? NSX_MIN(high, x->part[k]) : high;
	}
	return x->first < x->last && low < high && late_ns >= SLOWER * early_ns && early_ns > 0 ?
		       late_ns / early_ns : 0;
}

/* Whether nearly all kernels that can be compared are slower by at least half of the common
 * slow-down. Of few kernels, all may have more work from then on.
 */
static bool are_alike(const struct drift *x, struct nsx_drift *ret)
{
	const struct nsx_trace *t = x->t;
	nsx_str name[LEAST_KERNELS] = {0};
	double times = ret->times, compared_ns = 0, slower_ns = 0;
	size_t n = 0, k;

	for (uint32_t s = 0; s < t->nshapes; s++) {
		const struct pace *v = &x->v[s];

		if (v->n[EARLY] < LEAST_LAUNCHES || v->n[LATE] < LEAST_LAUNCHES)
			continue;
		compared_ns += v->ns[LATE];
		if (v->ns[LATE] / (double)v->n[LATE] <
			    (1 + ABOUT * (times - 1)) * v->ns[EARLY] / (double)v->n[EARLY])
			continue;
		slower_ns += v->ns[LATE];
		ret->all_ns += v->ns[ALWAYS];
		for (k = 0; k < n && name[k] != t->shape_name[s];)
			k++;
		if (k == n && n < LEAST_KERNELS)
			name[n++] = t->shape_name[s];
	}
	ret->is_few = n < LEAST_KERNELS;
	ret->shape_name = name[0];
	return n && slower_ns >= (times < FAR ? NEARLY_ALL : ALL) * compared_ns;
}

int nsx_find_drift(const struct nsx_trace *t, struct nsx_window w, uint32_t device,
		   struct nsx_arena *a, struct nsx_drift *ret, struct nsx_err *err)
{
	struct drift x = {.t = t, .w = w, .device = device};
	double first = 0;
	unsigned from;

	*ret = (struct nsx_drift){.times = 0};
	if (!nsx_new_array(x.v, a, t->nshapes, "kernels", err))
		return err->rc;
	add_paces(&x);
	ret->times = drift_ratio(&x);
	if (!(ret->times > 0) || !are_alike(&x, ret))
		ret->times = 0;
	for (unsigned k = 0; k <= x.first; k++)
		first += x.part[k] / FEW;
	from = x.last;
	while (from > 1 && !(x.part[from - 1] > 0 && x.part[from - 1] <= first))
		from--;
	ret->from_ns = w.start_ns + (w.end_ns - w.start_ns) / PARTS * from;
	return 0;
}
