/* match.c - which collectives of different ranks are one.
 *
 * Traces begin and end where they like, and sequences repeat with every step, so
 * that operations alone fit in many places.  What is one collective ends at one
 * instant: laid at the right place, the ends of two ranks differ by their
 * clocks' offset, always the same, elsewhere by that and by the steps' jitter.
 * So of the places where the operations agree that with the least spread of
 * the difference wins, a slow drift of the clocks taken out.  The same spread
 * tells the communicators of a family apart where payloads do not.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/group.h"
#include "base/stat.h"
#include "fleet/fleet.h"

#define CLOCK_BOUND_NS INT64_C(100000000) /* how far clocks may be apart       */
#define KNOWN_BOUND_NS INT64_C(500000)	  /* ... once they were compared       */
#define SAME_PACE 1.5 /* collectives in a time: of one family they differ by less */
#define TOGETHER_NS 200000.0 /* spread beyond it: no common collective         */
#define END_NOISE_NS 1000.0  /* ends of one collective that agree ...           */
#define NOISE_NS 10000.0 /* transfers that vary by less are the same ...      */
#define NOISE 0.1	 /* ... if it is no more than this part of them       */

enum {
	SAMPLES = 128,	     /* collectives compared at one place              */
	MOST_PLACES = 8192,  /* tried of one channel                           */
	MOST_COUNTED = 4096, /* operations compared where samples agree       */
	FEW = 2,	     /* of them may differ, beyond the least          */
	LEAST_COMMON = 4,    /* collectives that two ranks must share          */
	LOOK_AHEAD = 32,     /* to find the way back after a difference        */
	MOST_SLIPS = 4,	     /* collectives that may be left out at once       */
};

struct channel {
	uint32_t rank, channel;
	const struct nsx_dchannel *c;
	int64_t utc_ns;	      /* of the clock, as far as it is known; -1       */
	int64_t shift;	      /* in the family that is being made              */
	double differs; /* share of the samples' operations that do          */
	double spread;
	uint64_t group; /* channels of one communicator have one */
	bool is_taken;
};
struct fit { /* of one channel on another, at one place */
	double differs; /* share of operations that do not agree              */
	size_t ncommon; /* 0: no place                                        */
	size_t ndiffers; /* of MOST_COUNTED                                   */
};
struct matcher {
	struct nsx_fleet *f;
	struct channel *v; /* longest first */
	size_t n;
	int64_t most_rank; /* greatest number of a rank */
	struct channel **in; /* of the family that is being made */
	size_t nin;
	bool *has_clock; /* by host: its clock was compared with the others' */
	struct fit *fits; /* room for MOST_PLACES + 3 */
	struct nsx_arena *a, *scratch;
};

size_t nsx_member_at(const struct nsx_fmember *m, const struct nsx_dchannel *c,
		     size_t k)
{
	unsigned p = m->npieces;
	int64_t i;

	while (p && m->piece[p - 1].from > k)
		p--;
	if (!p)
		return SIZE_MAX;
	i = (int64_t)k - m->piece[p - 1].shift;
	return i >= 0 && i < (int64_t)c->n ? (size_t)i : SIZE_MAX;
}

const struct nsx_dop *nsx_op_at(const struct nsx_fleet *f,
				const struct nsx_fcomm *c, size_t k)
{
	for (uint32_t m = 0; m < c->n; m++) {
		const struct nsx_dchannel *ch = nsx_channel_of(f, &c->m[m]);
		size_t i = nsx_member_at(&c->m[m], ch, k);

		if (i != SIZE_MAX)
			return &ch->ops[ch->code[i]];
	}
	return NULL;
}

static int64_t start_of(const struct nsx_fleet *f, const struct nsx_fmember *m,
			size_t k)
{
	const struct nsx_dchannel *c = nsx_channel_of(f, m);

	return nsx_coll_start(c, nsx_member_at(m, c, k));
}

static void by_starts(const struct nsx_fleet *f, const struct nsx_fcomm *c,
		      size_t k, int64_t *ns)
{
	int64_t least = INT64_MAX, last = INT64_MIN;

	for (uint32_t m = 0; m < c->n; m++)
		if (ns[m] >= 0) {
			least = NSX_MIN(least, ns[m]);
			last = NSX_MAX(last, start_of(f, &c->m[m], k));
		}
	for (uint32_t m = 0; m < c->n; m++)
		if (ns[m] >= 0)
			ns[m] = least + last - start_of(f, &c->m[m], k);
}

void nsx_lengths_of(const struct nsx_fleet *f, const struct nsx_fcomm *c,
		    size_t k, size_t n, int64_t *ret)
{
	for (uint32_t m = 0; m < c->n; m++) {
		const struct nsx_dchannel *ch = nsx_channel_of(f, &c->m[m]);

		for (size_t j = 0; j < n; j++) {
			size_t i = nsx_timed_at(&c->m[m], ch, k + j);

			ret[j * c->n + m] = i == SIZE_MAX ? -1 :
							    nsx_coll_ns(ch, i);
		}
	}

	for (size_t j = 0; j < n && c->is_of_one; j++)
		by_starts(f, c, k + j, ret + j * c->n);
}

static int64_t end_of(const struct nsx_dchannel *c, size_t i)
{
	return nsx_coll_start(c, i) + nsx_coll_ns(c, i);
}

/* Equal operations are equal pointers: see name_ops. */
static const char *op_at(const struct channel *x, int64_t i)
{
	return x->c->ops[x->c->code[i]].name;
}

/* Places ---------------------------------------------------------------------------*/


/* The middle half of the differences after a line through their thirds. */
static double spread_of(double *diff, size_t n)
{
	double head[SAMPLES], tail[SAMPLES], slope;
	size_t third = n / 3;

	if (n < 3)
		return 0;
	memcpy(head, diff, third * sizeof(*head));
	memcpy(tail, diff + n - third, third * sizeof(*tail));
	slope = third ? (nsx_median_of(tail, third) -
			 nsx_median_of(head, third)) / (double)(n - third) : 0;
	for (size_t i = 0; i < n; i++)
		diff[i] -= slope * (double)i;
	nsx_median_of(diff, n); /* sorts */
	return diff[n - 1 - n / 8] - diff[n / 8];
}

/* The samples of x and y where they overlap, if x's i-th is y's (i - shift)-th:
 * the s-th of n.
 */
struct overlap {
	int64_t from;
	size_t ncommon, n;
};
static struct overlap overlap_of(const struct channel *x,
				 const struct channel *y, int64_t shift)
{
	int64_t from = NSX_MAX(0, shift);
	int64_t to = NSX_MIN((int64_t)x->c->n, (int64_t)y->c->n + shift);
	struct overlap o = {from, 0, 0};

	if (to - from >= LEAST_COMMON ||
	    to - from >= (int64_t)NSX_MIN(x->c->n, y->c->n))
		o.ncommon = (size_t)NSX_MAX(0, to - from);
	o.n = NSX_MIN(o.ncommon, SAMPLES);
	return o;
}

static int64_t sample_at(const struct overlap *o, size_t s)
{
	return o->from + (int64_t)(o->ncommon * s / o->n);
}

static struct fit try_place(const struct channel *x, const struct channel *y,
			    int64_t shift)
{
	struct overlap o = overlap_of(x, y, shift);
	size_t differs = 0;

	for (size_t s = 0; s < o.n; s++) {
		int64_t i = sample_at(&o, s);

		differs += op_at(x, i) != op_at(y, i - shift);
	}
	return (struct fit){o.n ? (double)differs / (double)o.n : 1, o.ncommon, 0};
}

/* By how much differences that follow each other differ, but for two of them.  If
 * it is next to nothing where they are far apart, a clock was set in between: at
 * a wrong place every step's jitter shows.
 */
static double change_of(const double *diff, size_t n)
{
	double change[SAMPLES];

	if (n < 8)
		return INFINITY;
	for (size_t i = 1; i < n; i++)
		change[i - 1] = fabs(diff[i] - diff[i - 1]);
	nsx_median_of(change, n - 1); /* sorts */
	return change[n - 4];
}

static double spread_at(const struct channel *x, const struct channel *y,
			int64_t shift)
{
	struct overlap o = overlap_of(x, y, shift);
	double diff[SAMPLES], change, spread;
	size_t n = 0;

	for (size_t s = 0; s < o.n && x->c->has_times && y->c->has_times; s++) {
		int64_t i = sample_at(&o, s);

		if (op_at(x, i) == op_at(y, i - shift))
			diff[n++] = (double)(end_of(x->c, (size_t)i) -
				end_of(y->c, (size_t)(i - shift)));
	}
	change = change_of(diff, n);
	spread = spread_of(diff, n);
	return spread > TOGETHER_NS && change <= END_NOISE_NS ? change : spread;
}

/* y's collective that ends nearest to x's i-th by the clocks of the hosts. */
static int64_t nearest(const struct channel *x, size_t i,
		       const struct channel *y)
{
	int64_t at = end_of(x->c, i) + (x->utc_ns - y->utc_ns);
	size_t lo = 0, hi = y->c->n;

	NSX_BISECT(lo, hi, mid, end_of(y->c, mid) < at);
	if (lo && (lo == y->c->n || at - end_of(y->c, lo - 1) <
					    end_of(y->c, lo) - at))
		lo--;
	return (int64_t)lo;
}

/* Where to look: by the clocks if there are any, else from the beginning.
 * Returns whether there are.
 */
static bool range_of(const struct channel *x, const struct channel *y,
		     int64_t bound_ns, int64_t *ret_from, int64_t *ret_to)
{
	bool has_clock = x->utc_ns >= 0 && y->utc_ns >= 0 &&
			 x->c->has_times && y->c->has_times;
	int64_t middle = 0, width = MOST_PLACES / 2;

	if (has_clock) {
		/* Of the shorter one, so that the place exists. */
		size_t i = x->c->n / 2;
		size_t lo = i, hi = i;
		int64_t at = end_of(x->c, i);

		middle = (int64_t)i - nearest(x, i, y);
		while (lo && at - end_of(x->c, lo - 1) <= bound_ns)
			lo--;
		while (hi + 1 < x->c->n &&
		       end_of(x->c, hi + 1) - at <= bound_ns)
			hi++;
		width = NSX_MIN(width, (int64_t)(hi - lo) / 2 + 1);
	}
	*ret_from = middle - width;
	*ret_to = middle + width;
	return has_clock;
}

/* The same for the operations alone, of more of them; beyond `most` the count
 * stops.
 */
static size_t count_differing(const struct channel *x, const struct channel *y,
			      int64_t shift, size_t most)
{
	struct overlap o = overlap_of(x, y, shift);
	int64_t to = o.from + (int64_t)NSX_MIN(o.ncommon, MOST_COUNTED);
	size_t n = 0;

	for (int64_t i = o.from; i < to && n <= most; i++)
		n += op_at(x, i) != op_at(y, i - shift);
	return n;
}

/* How far a place is from where the clocks of the hosts lay y; without clocks,
 * from the middle, in collectives.
 */
static double distance(const struct channel *x, const struct channel *y,
		       int64_t shift, bool has_clock, int64_t middle)
{
	struct overlap o = overlap_of(x, y, shift);
	size_t i = (size_t)o.from + o.ncommon / 2;

	return has_clock ? fabs((double)(end_of(x->c, i) -
					 end_of(y->c, i - (size_t)shift) +
					 x->utc_ns - y->utc_ns)) :
			   fabs((double)(shift - middle));
}

/* Lays y on x within these places: sets its shift and spread. False: there is
 * none.  First the samples choose places, then all operations; of those that
 * agree (but for a few: a rank may be out of sequence) that nearest by the
 * clocks, unless ends agree much better elsewhere, as those of one collective do.
 */
static bool lay_within(const struct channel *x, struct channel *y, int64_t from,
		       int64_t to, bool has_clock, struct fit *fits)
{
	int64_t nplaces, closest_shift = 0;
	double least = 1, nearest_by = INFINITY, closest = INFINITY;
	size_t fewest = MOST_COUNTED;

	nplaces = to - from + 1;
	for (int64_t i = 0; i < nplaces; i++) {
		fits[i] = try_place(x, y, from + i);
		if (fits[i].ncommon)
			least = NSX_MIN(least, fits[i].differs);
	}
	if (least > 0.5)
		return false;
	y->differs = least;
	for (int64_t i = 0; i < nplaces; i++) {
		struct fit *f = &fits[i];

		if (!f->ncommon || f->differs > least + 2.0 / SAMPLES)
			f->ncommon = 0;
		else
			f->ndiffers = count_differing(x, y, from + i,
						      fewest + FEW);
		if (f->ncommon)
			fewest = NSX_MIN(fewest, f->ndiffers);
	}
	for (int64_t i = 0; i < nplaces; i++) {
		double spread, far;

		if (!fits[i].ncommon || fits[i].ndiffers > fewest + FEW)
			continue;
		spread = spread_at(x, y, from + i);
		far = distance(x, y, from + i, has_clock, (from + to) / 2);
		if (far < nearest_by) {
			nearest_by = far;
			y->shift = from + i;
			y->spread = spread;
		}
		if (spread < closest) {
			closest = spread;
			closest_shift = from + i;
		}
	}
	if (closest < y->spread / 2 && (!has_clock || closest <= TOGETHER_NS)) {
		y->shift = closest_shift;
		y->spread = closest;
	}
	return !isinf(nearest_by);
}

/* Whether a fits x better than b: of one communicator, else by operations, else
 * by ends.
 */
static bool fits_better(const struct channel *x, const struct channel *a,
			const struct channel *b)
{
	bool is_same = x->c->comm && a->c->comm == x->c->comm;

	if (x->c->comm && is_same != (b->c->comm == x->c->comm))
		return is_same;
	return fabs(a->differs - b->differs) > 2.0 / SAMPLES ?
		       a->differs < b->differs : a->spread < b->spread;
}

/* Mean time from one collective's end to the next, in the middle half: captures
 * begin and end where they like, and a job may hang.  0: not told.
 */
static double pace_of(const struct nsx_dchannel *c)
{
	size_t from = c->n / 4, to = c->n - 1 - c->n / 4;

	return !c->has_times || c->n < 8 ? 0 :
		       (double)(end_of(c, to) - end_of(c, from)) /
			       (double)(to - from);
}

/* Lays y on x, where the clocks of the hosts say. A clock may be wrong by more
 * than is thought of: then ends that agree lie far from there.  False: y is no
 * channel of this family, as where it goes at another pace.
 */
static bool lay(const struct channel *x, struct channel *y, int64_t bound_ns,
		struct fit *fits)
{
	struct channel far = *y;
	int64_t from, to, half = (int64_t)NSX_MIN(x->c->n, y->c->n) / 2;
	double xs = pace_of(x->c), ys = pace_of(y->c);
	bool has_clock, fits_near;

	if (xs > 0 && ys > 0 && (xs > SAME_PACE * ys || ys > SAME_PACE * xs))
		return false;
	has_clock = range_of(x, y, bound_ns, &from, &to);
	fits_near = lay_within(x, y, from, to, has_clock, fits);
	if (bound_ns < CLOCK_BOUND_NS &&
	    (!fits_near || y->differs > 2.0 / SAMPLES)) {
		/* A clock that was set meanwhile is not known so well. */
		has_clock = range_of(x, y, CLOCK_BOUND_NS, &from, &to);
		fits_near = lay_within(x, y, from, to, has_clock, fits);
	}

	if (!has_clock || bound_ns < CLOCK_BOUND_NS ||
	    (fits_near && y->spread <= END_NOISE_NS) ||
	    !lay_within(x, &far, NSX_MAX(half - (int64_t)y->c->n, -MOST_PLACES / 2),
			NSX_MIN((int64_t)x->c->n - half, MOST_PLACES / 2), false,
			fits) ||
	    far.spread > TOGETHER_NS ||
	    (fits_near && (far.spread > y->spread / 4 || fits_better(x, y, &far))))
		return fits_near;
	*y = far;
	return true;
}

/* Communicators ------------------------------------------------------------------------*/

static int new_comm(struct matcher *m, struct channel *const *v, size_t n,
		    bool is_sure, struct nsx_err *err)
{
	struct nsx_fleet *f = m->f;
	struct nsx_fcomm *c = nsx_one_more(f->arena, f->comm, f->ncomms,
					   sizeof(*c), "communicators", err);

	if (!c)
		return err->rc;
	f->comm = c;
	c += f->ncomms;
	*c = (struct nsx_fcomm){.family = f->nfamilies, .n = (uint32_t)n,
				.is_sure = is_sure, .is_of_one = true};
	if (!nsx_new_array(c->m, f->arena, n, "members", err))
		return err->rc;
	for (size_t i = 0; i < n; i++) {
		const struct nsx_digest *x = f->rank[v[i]->rank].d;
		const struct nsx_digest *y = f->rank[v[0]->rank].d;

		c->m[i] = (struct nsx_fmember){v[i]->rank, v[i]->channel,
					       {{0, v[i]->shift}}, 1};
		c->is_of_one = c->is_of_one && x->utc_ns >= 0 &&
			       x->host == y->host && x->utc_ns == y->utc_ns &&
			       x->system_ns == y->system_ns;
	}
	f->ncomms++;
	return 0;
}

NSX_POINTER_ORDER(cmp_comm_hash, struct channel, UP(c->comm), UP(rank));

/* Ranks first + i x stride, i < size, of a job: the shapes that meshes have. */
struct shape {
	int64_t stride, size;
};

static int64_t group_of(const struct matcher *m, const struct channel *x,
			struct shape s)
{
	int64_t rank = m->f->rank[x->rank].number;

	return rank / (s.stride * s.size) * s.stride + rank % s.stride;
}

/* A collective's least length in a communicator is its transfer: always much the
 * same, and the same in most communicators of a family.  In a part of one it is
 * not, for the last rank may be elsewhere, as it may where half of them are
 * not here: such groups do not count.  Returns by how much it is not: 0 for all ranks in
 * one.
 */
static double variation(struct matcher *m, struct channel *const *v, size_t n,
			struct shape s, double *ret_transfer)
{
	size_t groups = (size_t)(m->most_rank / s.size + s.stride + 1);
	double *least = nsx_arena_get(m->scratch, groups * SAMPLES *
							  sizeof(*least));
	double *usual = nsx_arena_get(m->scratch, groups * sizeof(*usual));
	int64_t *here = nsx_arena_get(m->scratch, groups * sizeof(*here));
	double best[SAMPLES], diff[SAMPLES], sum = 0;
	size_t length = (size_t)v[0]->shift + v[0]->c->n, ngroups = 0;

	for (size_t i = 0; i < groups * SAMPLES; i++)
		least[i] = INFINITY;
	for (size_t k = 0; k < SAMPLES; k++)
		best[k] = INFINITY;
	for (size_t i = 0; i < n; i++) {
		size_t g = (size_t)group_of(m, v[i], s);

		here[g] += v[i]->c->has_times;
		for (size_t k = 0; v[i]->c->has_times && k < SAMPLES; k++) {
			int64_t at = (int64_t)(length * k / SAMPLES) -
				     v[i]->shift;
			double *x = &least[g * SAMPLES + k];

			if (at < 0 || at >= (int64_t)v[i]->c->n)
				continue;
			*x = NSX_MIN(*x, (double)nsx_coll_ns(v[i]->c,
							     (size_t)at));
			best[k] = NSX_MIN(best[k], *x);
		}
	}
	for (size_t g = 0; g < groups; g++) {
		size_t there = 0;

		for (size_t k = 0; k < SAMPLES; k++)
			if (!isinf(least[g * SAMPLES + k]))
				diff[there++] = least[g * SAMPLES + k] -
						best[k];
		if (!there || 2 * here[g] <= s.size)
			continue;
		usual[ngroups++] = nsx_median_of(diff, there);
		sum += diff[there - 1 - there / 10] - diff[there / 10];
	}
	*ret_transfer = nsx_median_of(best, SAMPLES);
	return ngroups ? NSX_MAX(sum / (double)ngroups,
				 nsx_median_of(usual, ngroups)) : INFINITY;
}

/* How far the ends of a group's collectives are apart, but for a constant and a
 * drift: four fifths of all channels are no farther from their group's first.
 */
static double apart(struct matcher *m, struct channel *const *v, size_t n,
		    struct shape s)
{
	size_t groups = (size_t)(m->most_rank / s.size + s.stride + 1), k = 0;
	const struct channel **first = nsx_arena_get(m->scratch, groups *
								 sizeof(*first));
	double *spread = nsx_arena_get(m->scratch, (n + 1) * sizeof(*spread));

	for (size_t i = 0; i < n; i++) {
		const struct channel **x = &first[group_of(m, v[i], s)];

		if (*x)
			spread[k++] = spread_at(*x, v[i],
						v[i]->shift - (*x)->shift);
		else
			*x = v[i];
	}
	nsx_median_of(spread, k); /* sorts */
	return k ? spread[k * 4 / 5] : INFINITY;
}

/* Shapes of a job in order, the largest groups first; the last has groups of 1.
 * Where the mesh is known they are those of its axes.
 */
static void next_shape(const struct nsx_mesh *mesh, int64_t world,
		       struct shape *s)
{
	do {
		if (++s->stride * s->size > world) {
			s->size--;
			s->stride = 1;
		}
	} while (s->size > 1 && (world % (s->stride * s->size) ||
				 (mesh->n && !nsx_mesh_has(mesh, s->stride,
							   s->size))));
}

/* The largest groups whose ends agree as well as any.  That parts of one would
 * agree as well, where its clocks are not all the same and ends of all are near
 * each other, shows in transfers that vary: then all are one.
 */
static struct shape shape_of(struct matcher *m, struct channel *const *v,
			     size_t n)
{
	int64_t world = NSX_MAX(m->most_rank + 1, m->f->expected);
	const struct shape all = {1, world};
	struct shape s, best = all;
	double least = INFINITY, found = INFINITY, transfer = INFINITY;
	double of_all = apart(m, v, n, all);

	if (n < 3)
		return all;
	for (s = all; s.size > 1; next_shape(&m->f->mesh, world, &s)) {
		least = NSX_MIN(least, apart(m, v, n, s));
		nsx_arena_clear(m->scratch);
	}
	for (s = all; s.size >= best.size || isinf(found);
	     next_shape(&m->f->mesh, world, &s)) {
		double x = apart(m, v, n, s);

		nsx_arena_clear(m->scratch);
		if (x > 3 * least + END_NOISE_NS || x >= found)
			continue;
		found = x;
		best = s;
	}
	if (best.size < world && of_all <= TOGETHER_NS) {
		found = variation(m, v, n, best, &transfer);
		nsx_arena_clear(m->scratch);
		if (found > NSX_MIN(NOISE_NS, NOISE * transfer))
			return all;
	}
	return best;
}

NSX_POINTER_ORDER(cmp_group, struct channel, UP(group), UP(rank));

/* Splits the family into communicators: by payload, else by the shape of a mesh
 * that fits their transfers.
 */
static int split(struct matcher *m, struct nsx_err *err)
{
	struct channel **v = m->in;
	size_t n = m->nin, nknown = 0, k;
	int64_t world = NSX_MAX(m->most_rank + 1, m->f->expected);
	struct shape s;

	nsx_sort(v, n, sizeof(*v), cmp_comm_hash); /* unknown ones first */
	while (nknown < n && v[n - nknown - 1]->c->comm)
		nknown++;
	for (size_t i = 0; i < n; i++)
		v[i]->group = v[i]->c->comm;
	s = nknown < n && v[0]->c->has_times ? shape_of(m, v, n - nknown) :
			(struct shape){1, m->most_rank + 1};
	for (size_t i = 0; i < n - nknown; i++)
		v[i]->group = (uint64_t)group_of(m, v[i], s);
	nsx_sort(v, n - nknown, sizeof(*v), cmp_group);
	for (size_t at = 0; at < n; at += k) {
		for (k = 1; at + k < n && v[at + k]->group == v[at]->group; k++)
			;
		if (new_comm(m, v + at, k, v[at]->c->comm || world == 2, err))
			return err->rc;
	}
	return 0;
}

/* Families -----------------------------------------------------------------------------*/

/* Of sends and receives the k-th of one rank need not be the k-th of another. */
static bool is_of_pairs(const struct channel *x)
{
	return x->c->ops[0].holds == 2;
}

/* What tells most comes first: the more kinds of operations, the fewer places
 * fit, and what was laid well shows how far the clocks are apart.
 */
static int cmp_channel(const void *a, const void *b)
{
	const struct channel *x = a, *y = b;

	return NSX_CMP(is_of_pairs(x), is_of_pairs(y)) ?:
	       NSX_CMP(y->c->nops, x->c->nops) ?: NSX_CMP(y->c->n, x->c->n) ?:
	       NSX_CMP(x->rank, y->rank) ?: NSX_CMP(x->channel, y->channel);
}

/* By name, of NCCL or of MPI: who sends and who receives hold each other, of
 * rooted operations nobody is known to.
 */
static uint32_t holds(const char *name)
{
	static const char *const names[] = {
		"sendrecv", "send", "recv", "broadcast", "bcast", "reduce",
		"gather", "gatherv", "scatter", "scatterv", "scan", "exscan"};

	name += strncasecmp(name, "mpi_", 4) ? 0 : 4;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcasecmp(name, names[i]))
			return i < 3 ? 2 : 1;
	return UINT32_MAX;
}

/* Makes equal names of operations one pointer. */
static int name_ops(struct nsx_groups *g, const char ***names,
		    struct nsx_dchannel *c, struct nsx_err *err)
{
	for (size_t i = 0; i < c->nops; i++) {
		const char *s = c->ops[i].name;
		const char **name = nsx_group_value(g, names,
						    nsx_hash(s, strlen(s)), 0,
						    "operations", err);

		if (!name)
			return err->rc;
		if (!*name)
			*name = s;
		c->ops[i].name = *name;
		c->ops[i].holds = holds(s);
	}
	return 0;
}

static int list_channels(struct matcher *m, struct nsx_err *err)
{
	struct nsx_fleet *f = m->f;
	struct nsx_groups g = {0};
	const char **names = NULL;
	size_t most = 0;
	int rc = 0;

	for (uint32_t r = 0; r < f->nranks; r++)
		most += f->rank[r].d->nchannels;
	nsx_new_array(m->v, m->a, most, "channels", err);
	m->fits = nsx_arena_get(m->a, (MOST_PLACES + 3) * sizeof(*m->fits));
	nsx_new_array(m->in, m->a, most, "channels", err);
	if (!m->v || !m->in)
		return err->rc;
	for (uint32_t r = 0; r < f->nranks; r++)
		for (uint32_t c = 0; c < f->rank[r].d->nchannels && !rc; c++) {
			struct channel *x = &m->v[m->n];

			x->rank = r;
			x->channel = c;
			x->c = &f->rank[r].d->channels[c];
			x->utc_ns = f->rank[r].d->utc_ns;
			m->n += x->c->n > 0;
			rc = name_ops(&g, &names, &f->rank[r].d->channels[c],
				      err);
		}
	nsx_groups_done(&g);
	free(names);
	nsx_sort(m->v, m->n, sizeof(*m->v), cmp_channel);
	return rc;
}

/* Sets the clock of y's host, of all channels there, so that y's ends agree with
 * x's.
 */
static void set_clock(struct matcher *m, const struct channel *x,
		      const struct channel *y)
{
	const struct nsx_frank *rank = m->f->rank;
	int64_t from = NSX_MAX(0, y->shift), by_ns;
	int64_t n = NSX_MIN((int64_t)x->c->n, (int64_t)y->c->n + y->shift) - from;
	uint32_t host = rank[y->rank].host;
	double diff[SAMPLES];
	size_t k = 0;

	if (m->has_clock[host] || !x->c->has_times || !y->c->has_times ||
	    x->utc_ns < 0 || y->utc_ns < 0)
		return;
	for (; k < SAMPLES && (int64_t)k < n; k++) {
		size_t i = (size_t)(from + n * (int64_t)k / SAMPLES);

		diff[k] = (double)(x->utc_ns - y->utc_ns + end_of(x->c, i) -
				   end_of(y->c, i - (size_t)y->shift));
	}
	by_ns = (int64_t)nsx_median_of(diff, k);
	m->has_clock[host] = true;
	for (size_t i = 0; i < m->n; i++)
		if (rank[m->v[i].rank].host == host && m->v[i].utc_ns >= 0)
			m->v[i].utc_ns += by_ns;
}

static bool may_differ(const struct channel *x, const struct channel *y)
{
	return x->c->comm && y->c->comm != x->c->comm;
}

/* Of every rank without one the channel that is left and fits x best.  One that
 * agrees with x sets the clock of its host for those that follow.
 */
static void lay_all(struct matcher *m, const struct channel *x,
		    struct channel **best)
{
	const struct nsx_frank *rank = m->f->rank;
	bool *has_best = nsx_arena_get(m->scratch, m->f->nranks);

	for (uint32_t r = 0; r < m->f->nranks; r++)
		has_best[r] = best[r];
	for (size_t i = 0; i < m->n; i++) {
		struct channel *y = &m->v[i], **b = &best[y->rank];
		bool is_known = m->has_clock[rank[x->rank].host] &&
				m->has_clock[rank[y->rank].host];

		if (!y->is_taken && !has_best[y->rank] &&
		    y->c->is_mpi == x->c->is_mpi &&
		    lay(x, y, is_known ? KNOWN_BOUND_NS : CLOCK_BOUND_NS,
			m->fits) &&
		    (!*b || fits_better(x, y, *b))) {
			*b = y;
			if (y->spread <= END_NOISE_NS && !may_differ(x, y))
				set_clock(m, x, y);
		}
	}
	nsx_arena_clear(m->scratch);
}

/* The clock of each host by its channel that agrees best with x, of x's
 * communicator where that is known; those that agree much worse are laid again, by
 * that clock.
 */
static void settle_clocks(struct matcher *m, const struct channel *x,
			  struct channel **best)
{
	const struct nsx_frank *rank = m->f->rank;
	struct channel **of_host = nsx_arena_get(m->a, m->f->nhosts *
							       sizeof(*of_host));

	m->has_clock[rank[x->rank].host] = true;
	of_host[rank[x->rank].host] = best[x->rank];
	for (uint32_t r = 0; r < m->f->nranks; r++) {
		struct channel **h = &of_host[rank[r].host];

		if (best[r] && (!*h || NSX_CMP(may_differ(x, best[r]),
					       may_differ(x, *h)) < 0 ||
				(may_differ(x, best[r]) == may_differ(x, *h) &&
				 best[r]->spread < (*h)->spread)))
			*h = best[r];
	}
	for (uint32_t h = 0; h < m->f->nhosts; h++)
		if (of_host[h] && !may_differ(x, of_host[h]))
			set_clock(m, x, of_host[h]);
	for (uint32_t r = 0; r < m->f->nranks; r++)
		if (best[r] && best[r]->spread > END_NOISE_NS &&
		    best[r]->spread > 4 * of_host[rank[r].host]->spread)
			best[r] = NULL;
	lay_all(m, x, best);
}

/* A communicator whose members are known is of one family: where another channel
 * fits one of its members better, none of them belongs here.
 */
static int keep_whole(struct matcher *m, const struct channel *x,
		      struct channel **best, struct nsx_err *err)
{
	struct nsx_groups g = {0};
	int64_t *missing = NULL;
	int rc = 0;

	for (size_t i = 0; i < m->n && !rc; i++) {
		const struct channel *y = &m->v[i];
		int64_t *n;

		if (y->is_taken || !y->c->comm || y->c->is_mpi != x->c->is_mpi)
			continue;
		n = nsx_group_value(&g, &missing, y->c->comm, 0,
				    "communicators", err);
		if (n)
			*n += best[y->rank] != y;
		else
			rc = err->rc;
	}
	for (uint32_t r = 0; r < m->f->nranks && !rc; r++) {
		const struct channel *y = best[r];

		if (y && y->c->comm && y->c->comm != x->c->comm &&
		    missing[nsx_group_find(&g, y->c->comm, 0)])
			best[r] = NULL;
	}
	nsx_groups_done(&g);
	free(missing);
	return rc;
}

/* A channel that is left, and of every other rank the one that fits it best. */
static int start_family(struct matcher *m, struct channel *x,
			struct nsx_err *err)
{
	struct channel **best = nsx_arena_get(m->a, m->f->nranks *
							    sizeof(*best));

	x->shift = 0;
	x->spread = 0;
	best[x->rank] = x;
	if (!m->f->nfamilies)
		m->has_clock[m->f->rank[x->rank].host] = true;
	lay_all(m, x, best);
	settle_clocks(m, x, best);
	if (keep_whole(m, x, best, err))
		return err->rc;
	m->nin = 0;
	for (uint32_t r = 0; r < m->f->nranks; r++)
		if (best[r]) {
			best[r]->is_taken = true;
			m->in[m->nin++] = best[r];
		}
	return 0;
}

/* k counts from the family's first collective. */
static void renumber(struct matcher *m, struct nsx_family *fam)
{
	int64_t least = INT64_MAX, most = 0;

	for (size_t i = 0; i < m->nin; i++)
		least = NSX_MIN(least, m->in[i]->shift);
	for (size_t i = 0; i < m->nin; i++) {
		m->in[i]->shift -= least;
		most = NSX_MAX(most, m->in[i]->shift + (int64_t)m->in[i]->c->n);
	}
	fam->length = (size_t)most;
	fam->nranks = (uint32_t)m->nin;
}

/* Where two members at least are. */
static void find_range(const struct nsx_fleet *f, struct nsx_fcomm *c)
{
	size_t first = SIZE_MAX, second = SIZE_MAX, last = 0, before = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct nsx_dchannel *ch = nsx_channel_of(f, &c->m[i]);
		size_t from = (size_t)NSX_MAX(0, c->m[i].piece[0].shift);
		size_t to = (size_t)(c->m[i].piece[0].shift + (int64_t)ch->n);

		if (from < first) {
			second = first;
			first = from;
		} else {
			second = NSX_MIN(second, from);
		}
		if (to > last) {
			before = last;
			last = to;
		} else {
			before = NSX_MAX(before, to);
		}
	}
	c->first = second;
	c->end = NSX_MAX(second, before);
	if (c->n < 2)
		c->first = c->end = 0;
}

/* Differences --------------------------------------------------------------------------*/

static const char *op_name(const struct nsx_fleet *f,
			   const struct nsx_fmember *m, size_t k)
{
	const struct nsx_dchannel *c = nsx_channel_of(f, m);
	size_t i = nsx_member_at(m, c, k);

	return i == SIZE_MAX ? NULL : c->ops[c->code[i]].name;
}

/* What most members do at k; NULL where nobody is. */
static const char *usual_op(const struct nsx_fleet *f,
			    const struct nsx_fcomm *c, size_t k)
{
	const char *name = NULL;
	size_t votes = 0;

	for (uint32_t i = 0; i < c->n; i++) { /* Boyer and Moore's vote */
		const char *s = op_name(f, &c->m[i], k);

		if (!s)
			continue;
		if (!votes)
			name = s;
		votes += s == name ? 1 : -1;
	}
	return name;
}

/* How many of the collectives after k would not be what the others do, if the
 * member went on `slip` places further.
 */
static size_t wrong_after(const struct nsx_fleet *f, const struct nsx_fcomm *c,
			  const struct nsx_fmember *m, size_t k, int64_t slip)
{
	struct nsx_fmember moved = *m;
	size_t wrong = 0;

	for (unsigned p = 0; p < moved.npieces; p++)
		moved.piece[p].shift += slip;
	for (size_t j = k + 1; j < k + 1 + LOOK_AHEAD && j < c->end; j++) {
		const char *want = usual_op(f, c, j);
		const char *got = op_name(f, &moved, j);

		wrong += want && got && want != got;
	}
	return wrong;
}

static int add_desync(struct nsx_fleet *f, const struct nsx_desync *d,
		      struct nsx_err *err)
{
	return nsx_push(f->desync, f->ndesyncs, f->cap_desyncs, "differences",
			err, *d);
}

/* What was left out, or was something else, matches nothing; from there on the
 * member is `slip` places further.
 */
static void goes_on(struct nsx_fmember *m, size_t k, int64_t slip)
{
	int64_t shift = m->piece[m->npieces - 1].shift + slip;
	size_t hole = slip < 0 ? 0 : slip > 0 ? (size_t)slip : 1;

	if (m->npieces + 2 > ARRAY_LEN(m->piece))
		return;
	if (hole)
		m->piece[m->npieces++] = (struct nsx_fpiece){k, INT64_MAX / 2};
	m->piece[m->npieces++] = (struct nsx_fpiece){k + hole, shift};
}

/* A member does something else at k: notes it, and finds where it goes on. */
static int note_difference(struct nsx_fleet *f, struct nsx_fcomm *c,
			   struct nsx_fmember *m, size_t k, const char *want,
			   struct nsx_err *err)
{
	struct nsx_desync d = {NSX_DESYNC_OTHER,
			       (uint32_t)(c - f->comm), m->rank, k, want,
			       op_name(f, m, k)};
	size_t best = wrong_after(f, c, m, k, 0);
	int64_t slip = 0;

	for (int64_t s = 1; s <= MOST_SLIPS && best; s++)
		for (int sign = -1; sign <= 1; sign += 2) {
			size_t wrong = wrong_after(f, c, m, k, sign * s);

			if (wrong < best) {
				best = wrong;
				slip = sign * s;
			}
		}
	if (slip)
		d.kind = slip > 0 ? NSX_DESYNC_LEFT_OUT : NSX_DESYNC_EXTRA;
	if (add_desync(f, &d, err))
		return err->rc;
	goes_on(m, k, slip);
	return 0;
}

/* Differences are rare: a member with more than these is no news any more. */
enum { MOST_NOTED = 3 };

static int compare_ops(struct nsx_fleet *f, struct nsx_fcomm *c,
		       struct nsx_err *err)
{
	uint32_t *noted = nsx_try_alloc(c->n, sizeof(*noted), "members", err);
	int rc = noted ? 0 : err->rc;

	for (size_t k = c->first; k < c->end && !rc; k++) {
		const char *want = usual_op(f, c, k);

		for (uint32_t i = 0; want && i < c->n && !rc; i++) {
			const char *got = op_name(f, &c->m[i], k);

			if (!got || got == want || noted[i] >= MOST_NOTED)
				continue;
			noted[i]++;
			rc = note_difference(f, c, &c->m[i], k, want, err);
		}
	}
	free(noted);
	return rc;
}

/* A rank that never comes: the others' last collective runs to the end of their
 * traces, ten times as long as usual, and it has none.
 */
static int find_missing(struct nsx_fleet *f, struct nsx_fcomm *c,
			struct nsx_err *err)
{
	size_t k = c->end - 1;
	double usual[SAMPLES];
	uint32_t there = 0, stuck = 0;
	size_t n = 0;

	for (size_t j = c->first; j < k && n < SAMPLES; j++) {
		size_t i = nsx_timed_at(&c->m[0], nsx_channel_of(f, &c->m[0]),
					j);

		if (i != SIZE_MAX)
			usual[n++] = (double)nsx_coll_ns(
				nsx_channel_of(f, &c->m[0]), i);
	}
	for (uint32_t x = 0; x < c->n; x++) {
		const struct nsx_dchannel *ch = nsx_channel_of(f, &c->m[x]);
		const struct nsx_digest *d = f->rank[c->m[x].rank].d;
		size_t i = nsx_timed_at(&c->m[x], ch, k);

		if (i == SIZE_MAX)
			continue;
		there++;
		stuck += i + 1 == ch->n && n &&
			 (double)nsx_coll_ns(ch, i) >
				 10 * nsx_median_of(usual, n) &&
			 d->last_ns - end_of(ch, i) < 1000000;
	}
	if (there == c->n || stuck < there || there * 2 < c->n)
		return 0;
	for (uint32_t x = 0; x < c->n; x++) {
		struct nsx_desync d = {NSX_DESYNC_NOT_ENTERED,
				       (uint32_t)(c - f->comm), c->m[x].rank, k,
				       usual_op(f, c, k), NULL};

		if (nsx_member_at(&c->m[x], nsx_channel_of(f, &c->m[x]), k) ==
			    SIZE_MAX && add_desync(f, &d, err))
			return err->rc;
	}
	return 0;
}

/* All together -----------------------------------------------------------------------*/

static int make_family(struct matcher *m, struct channel *x,
		       struct nsx_err *err)
{
	struct nsx_fleet *f = m->f;
	struct nsx_family *fam = &f->family[f->nfamilies];
	int rc;

	if (start_family(m, x, err))
		return err->rc;
	fam->is_mpi = x->c->is_mpi;
	fam->at = f->ncomms;
	renumber(m, fam);
	rc = split(m, err);
	fam->n = f->ncomms - fam->at;
	f->nfamilies++;
	for (uint32_t i = fam->at; i < f->ncomms && !rc; i++) {
		struct nsx_fcomm *c = &f->comm[i];

		fam->most = NSX_MAX(fam->most, c->n);
		find_range(f, c);
		if (c->end == c->first)
			continue;
		rc = compare_ops(f, c, err);
		if (!rc && nsx_channel_of(f, &c->m[0])->has_times)
			rc = find_missing(f, c, err);
	}
	return rc;
}

int nsx_fleet_match(struct nsx_fleet *f, struct nsx_err *err)
{
	struct matcher m = {.f = f, .a = nsx_arena_new(),
			    .scratch = nsx_arena_new()};
	int rc = list_channels(&m, err);

	m.has_clock = nsx_arena_get(m.a, f->nhosts);
	if (f->nranks)
		m.most_rank = f->rank[f->nranks - 1].number;

	if (!nsx_new_array(f->family, f->arena, m.n,
			   "families of communicators", err))
		rc = err->rc;
	for (size_t i = 0; i < m.n && !rc; i++)
		if (!m.v[i].is_taken)
			rc = make_family(&m, &m.v[i], err);
	nsx_arena_free(m.a);
	nsx_arena_free(m.scratch);
	return rc;
}
