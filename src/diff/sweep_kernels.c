/* sweep_kernels.c - how much of each unit each kernel took, and the kernels of each NVTX range.
 *
 * While m launches run, each is credited with 1/m of the time, so the credits add up to the time in
 * which any ran. One sweep over the device's work computes this with v, the credit of an imaginary
 * launch that runs from the beginning: a launch gets v at its end minus v at its start. A kernel's
 * credit is the sum over its launches.
 */
#include "base/stat.h"
#include "diff/side.h"
#include "diff/stats.h"

enum {
	FRACTION = 20,	      /* fractional bits of a nanosecond in credits */
	MOST_TOGETHER = 1024, /* limit of concurrent kernels; GPUs run at most 128 */
};

struct running { /* a running kernel */
	int64_t end_ns;
	uint32_t kernel;
};
struct tally { /* a kernel in the current unit */
	nsx_wide credit, since_v; /* since_v: v when credit was last brought up to date */
	int64_t own_ns;
	uint32_t running, launches;
	bool listed;
};
struct sweep {
	const struct nsx_sweep *in;
	const struct nsx_lane *lane;
	uint32_t (*key)(const struct nsx_sweep *in, size_t op);
	struct nsx_kernel_use *uses; /* uses found so far; `kernel` is a key */
	size_t nuses, cap;
	struct running running[MOST_TOGETHER]; /* the last to end first */
	size_t nrunning;
	struct tally *tally; /* by kernel */
	uint32_t *listed;    /* kernels of the current unit */
	size_t nlisted;
	nsx_wide v;
	int64_t at_ns;
};

/* Running kernels -------------------------------------------------------------*/

/* Adds a kernel that runs. Few run at a time, and a new one seldom ends before many of them. */
static void sweep_kernels_run(struct sweep *s, int64_t end_ns, uint32_t kernel)
{
	size_t i = s->nrunning++;

	for (; i && s->running[i - 1].end_ns < end_ns; i--)
		s->running[i] = s->running[i - 1];
	s->running[i] = (struct running){end_ns, kernel};
}

/* Counts the kernel's credit up to now and returns its tally. */
static struct tally *sweep_kernels_count(struct sweep *s, uint32_t kernel)
{
	struct tally *x = &s->tally[kernel];

	if (!x->listed) {
		x->listed = true;
		s->listed[s->nlisted++] = kernel;
	}
	x->credit += (s->v - x->since_v) * x->running;
	x->since_v = s->v;
	return x;
}

static void pass_time(struct sweep *s, int64_t to_ns)
{
	if (s->nrunning && to_ns > s->at_ns)
		s->v += ((nsx_wide)(to_ns - s->at_ns) << FRACTION) / (nsx_wide)s->nrunning;
	s->at_ns = NSX_MAX(s->at_ns, to_ns);
}

/* Ends every kernel that ends by to_ns, and passes the time. */
static void advance_to(struct sweep *s, int64_t to_ns)
{
	while (s->nrunning && s->running[s->nrunning - 1].end_ns <= to_ns) {
		const struct running *first = &s->running[s->nrunning - 1];

		pass_time(s, first->end_ns);
		sweep_kernels_count(s, first->kernel)->running--;
		s->nrunning--;
	}
	pass_time(s, to_ns);
}

/* Units -----------------------------------------------------------------------*/

/* Resets the counts; kernels that still run stay listed for the next unit. */
static void sweep_kernels_forget(struct sweep *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->nlisted; i++) {
		struct tally *x = sweep_kernels_count(s, s->listed[i]);

		x->credit = 0;
		x->own_ns = x->launches = 0;
		x->listed = x->running > 0;
		if (x->listed)
			s->listed[kept++] = s->listed[i];
	}
	s->nlisted = kept;
}

/* Closes a unit: stores its kernels in order, with credits that add up to its compute time. */
static void close_unit(struct sweep *s, uint32_t unit)
{
	size_t n = s->nlisted;
	NSX_AT_EXIT(nsx_free_at) nsx_wide *share = nsx_alloc(n, sizeof(*share));
	NSX_AT_EXIT(nsx_free_at) int64_t *ns = nsx_alloc(n, sizeof(*ns));

	nsx_sort(s->listed, n, sizeof(*s->listed), nsx_cmp_u32);
	for (size_t i = 0; i < n; i++)
		share[i] = sweep_kernels_count(s, s->listed[i])->credit;
	nsx_apportion(share, n, (nsx_wide)1 << FRACTION,
		      s->lane->units[unit].ns[NSX_SHARE_COMPUTE], ns);
	for (size_t i = 0; i < n; i++) {
		struct tally *x = &s->tally[s->listed[i]];

		if (ns[i] || x->launches)
			nsx_push_or_die(s->uses, s->nuses, s->cap, (struct nsx_kernel_use){
				unit, s->listed[i], x->launches, ns[i], x->own_ns});
	}
	sweep_kernels_forget(s);
}

static uint32_t kernel_of(const struct nsx_sweep *in, size_t op)
{
	const struct nsx_trace *t = in->t;

	return in->kernel_of[t->ops.kind[op] == NSX_OP_KERNEL ?
				     nsx_op_detail(&t->ops, op) : t->nshapes];
}

static uint32_t sweep_kernels_range_of(const struct nsx_sweep *in, size_t op)
{
	uint32_t r = nsx_op_range(&in->f->nvtx, op);

	return r != NSX_NONE ? in->range_of[r] : 0;
}

static void sweep_kernels_start(struct sweep *s, size_t op)
{
	const struct nsx_trace *t = s->in->t;
	uint32_t kernel = s->key(s->in, op);
	struct tally *x = sweep_kernels_count(s, kernel);

	if (!(t->ops.flags[op] & NSX_OP_CUT)) {
		x->launches++;
		nsx_add_to(&x->own_ns, nsx_op_ns(&t->ops, op));
	}
	if (s->nrunning == MOST_TOGETHER || !nsx_op_ns(&t->ops, op))
		return;
	x->running++;
	sweep_kernels_run(s, nsx_op_end(&t->ops, op), kernel);
}

static int sweep_units(struct sweep *s, const struct nsx_device *d, struct nsx_err *err)
{
	const struct nsx_ops *o = &s->in->t->ops;
	size_t op = d->ops_at, end = d->ops_at + d->nops;

	for (uint32_t u = 0; u < s->lane->nunits && !nsx_stopped(err); u++) {
		const struct nsx_unit *unit = &s->lane->units[u];
		int64_t end_ns = unit->start_ns + unit->wall_ns;

		for (; op < end && nsx_op_start(o, op) < end_ns; op++) {
			int64_t at = nsx_op_start(o, op);

			if (at >= unit->start_ns && s->at_ns < unit->start_ns) {
				advance_to(s, unit->start_ns);
				sweep_kernels_forget(s);
			}
			advance_to(s, at);
			if (o->cls[op] == NSX_C_COMPUTE)
				sweep_kernels_start(s, op);
		}
		if (s->at_ns < unit->start_ns) {
			advance_to(s, unit->start_ns);
			sweep_kernels_forget(s);
		}
		advance_to(s, end_ns);
		close_unit(s, u);
	}
	return nsx_stopped(err);
}

/* A typical unit --------------------------------------------------------------*/

enum { MOST_ORDERED = 1 << 16 };

struct placed {
	uint32_t stream, kernel;
	size_t op;
};

NSX_ORDER(cmp_placed, struct placed, UP(stream), UP(op));

static const struct nsx_unit *median_unit(const struct nsx_lane *lane)
{
	int64_t *wall = nsx_alloc(lane->nunits, sizeof(*wall)), median;
	const struct nsx_unit *best = lane->units;

	for (size_t i = 0; i < lane->nunits; i++)
		wall[i] = lane->units[i].wall_ns;
	median = (int64_t)nsx_quantile(wall, lane->nunits, 0.5);
	free(wall);
	for (const struct nsx_unit *u = best; u < lane->units + lane->nunits; u++)
		if (llabs(u->wall_ns - median) < llabs(best->wall_ns - median))
			best = u;
	return best;
}

static void order_kernels(const struct nsx_sweep *in, const struct nsx_device *d,
			  struct nsx_lane *lane)
{
	const struct nsx_trace *t = in->t;
	const struct nsx_unit *unit = median_unit(lane);
	NSX_AT_EXIT(nsx_free_at) struct placed *v = NULL;
	size_t n = 0, cap = 0;

	for (size_t op = d->ops_at; op < d->ops_at + d->nops; op++) {
		int64_t at = nsx_op_start(&t->ops, op);

		if (at < unit->start_ns || t->ops.cls[op] != NSX_C_COMPUTE)
			continue;
		if (at >= unit->start_ns + unit->wall_ns || n == MOST_ORDERED)
			break;
		nsx_push_or_die(v, n, cap, (struct placed){nsx_op_stream(&t->ops, op),
							   kernel_of(in, op), op});
	}
	nsx_sort(v, n, sizeof(*v), cmp_placed);
	lane->typical_ns = unit->wall_ns;
	lane->order = nsx_arena_get(in->side->arena, n * sizeof(*lane->order));
	for (size_t i = 0; i < n; i++)
		lane->order[lane->norder++] = (struct nsx_placed){
			v[i].kernel,
			nsx_op_start(&t->ops, v[i].op) - unit->start_ns,
			nsx_op_ns(&t->ops, v[i].op)};
}

/* Counts all launches, and launches of communication kernels, by unit. */
static void sweep_kernels_count_launches(const struct nsx_trace *t, const struct nsx_device *d,
					 struct nsx_lane *lane)
{
	size_t u = 0;

	for (size_t op = d->ops_at; op < d->ops_at + d->nops; op++) {
		int64_t at = nsx_op_start(&t->ops, op);

		if (t->ops.kind[op] != NSX_OP_KERNEL && t->ops.kind[op] != NSX_OP_GRAPH)
			continue;
		while (u < lane->nunits && lane->units[u].start_ns + lane->units[u].wall_ns <= at)
			u++;
		if (u == lane->nunits)
			return;
		if (at < lane->units[u].start_ns)
			continue;
		lane->units[u].launches++;
		if (t->ops.cls[op] == NSX_C_COMM) {
			lane->units[u].collectives++;
			lane->units[u].comm_ns += nsx_op_ns(&t->ops, op);
		}
	}
}

/* Computes credits by key. Owner of *ret: the caller, free(), even after a failure. */
static int sweep_kernels_sweep(const struct nsx_sweep *in, uint32_t device,
			       const struct nsx_lane *lane, size_t nkeys,
			       uint32_t (*key)(const struct nsx_sweep *in, size_t op),
			       struct nsx_kernel_use **ret, size_t *ret_n, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct sweep *s = nsx_arena_get(a, sizeof(*s));
	int rc;

	s->in = in;
	s->lane = lane;
	s->key = key;
	s->at_ns = INT64_MIN;
	s->tally = nsx_arena_get(a, nkeys * sizeof(*s->tally));
	s->listed = nsx_arena_get(a, nkeys * sizeof(*s->listed));
	rc = sweep_units(s, &in->t->device[device], err);
	*ret = s->uses;
	*ret_n = s->nuses;
	return rc;
}

static int sweep_ranges(const struct nsx_sweep *in, uint32_t device,
			struct nsx_lane *lane, struct nsx_err *err)
{
	struct nsx_split_uses split = {0};
	NSX_AT_EXIT(nsx_free_at) struct nsx_kernel_use *uses = NULL;
	size_t n;
	int rc = sweep_kernels_sweep(in, device, lane, in->side->ndetails, sweep_kernels_range_of,
				     &uses, &n, err);

	for (size_t i = 0; i < n; i++)
		nsx_add_split(&split, 0, uses[i].kernel, uses[i].ns);
	lane->split[NSX_SPLIT_RANGES] = nsx_keep_split(&split, in->side->arena);
	return rc;
}

int nsx_sweep_kernels(const struct nsx_sweep *in, uint32_t device,
		      struct nsx_lane *lane, struct nsx_err *err)
{
	const struct nsx_device *d = &in->t->device[device];
	struct nsx_kernel_use *uses;
	int rc = sweep_kernels_sweep(in, device, lane, in->side->nkernels, kernel_of, &uses,
				     &lane->nuses, err);

	sweep_kernels_count_launches(in->t, d, lane);
	lane->uses = nsx_arena_get(in->side->arena, lane->nuses * sizeof(*uses));
	if (lane->nuses)
		memcpy(lane->uses, uses, lane->nuses * sizeof(*uses));
	free(uses);
	order_kernels(in, d, lane);
	return rc ?: sweep_ranges(in, device, lane, err);
}
