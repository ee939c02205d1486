/* kernel_grids.c - grids that leave multiprocessors without work: all along, or at the
 * end.
 */
#include <math.h>
#include "detect/kernels.h"
#include "report/text.h"

#define GRID_SHARE 0.01
enum {
	MOST_SHAPES = 8,
	MOST_BESIDE = 128,  /* kernels that a GPU runs at once               */
	LONG_NS = 10000, /* a shorter kernel is bound by its start           */
};

/* Of a shape on a GPU with so many multiprocessors; 0: not known. */
static double filled(const struct nsx_trace *t, const struct nsx_shape *s,
		     double sm_count)
{
	return nsx_shape_launch(t, s)->known ?
		       NSX_MIN((double)nsx_shape_blocks(t, s), sm_count) : 0;
}

/* Blocks of this kernel run for so long beside those of its shape. */
static void add_blocks(const struct nsx_trace *t, const struct table *shapes,
		       uint32_t shape, uint32_t beside, int64_t ns,
		       double sm_count, double *block_ns)
{
	uint32_t at = shapes->at[shape];

	if (at != NSX_NONE)
		block_ns[at - 1] +=
			(double)ns * filled(t, &t->shape[beside], sm_count);
}

/* Blocks of the kernels that run beside those of each shape, times how long: adds to
 * block_ns, which is in the order of the shapes.
 */
static void add_beside(const struct kernels *k, uint32_t device,
		       const struct table *shapes, double *block_ns)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_ops *o = &t->ops;
	const struct nsx_device *dev = &t->device[device];
	double sm_count = sm_count_of(t, device);
	uint32_t open[MOST_BESIDE]; /* still running where the next starts   */
	size_t n = 0;

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		size_t left = 0;

		if (!is_looked_at(k, i))
			continue;
		for (size_t j = 0; j < n; j++) {
			uint32_t x = nsx_op_detail(o, i);
			uint32_t y = nsx_op_detail(o, open[j]);
			int64_t ns = NSX_MIN(nsx_op_end(o, i),
					     nsx_op_end(o, open[j])) -
				     nsx_op_start(o, i);

			if (ns <= 0)
				continue;
			add_blocks(t, shapes, x, y, ns, sm_count, block_ns);
			add_blocks(t, shapes, y, x, ns, sm_count, block_ns);
			open[left++] = open[j];
		}
		n = left;
		if (n < MOST_BESIDE)
			open[n++] = (uint32_t)i;
	}
}

/* Multiprocessors over blocks, its own and those beside it, as far as the kernel's
 * start leaves; 1: it is not small, or not known.
 */
static double fuller(const struct kernels *k, const struct kernel *x,
		     double block_ns)
{
	const struct nsx_trace *t = k->d->trace;
	double blocks = (double)nsx_shape_blocks(t, &t->shape[x->id]);

	if (x->ns / x->count < LONG_NS)
		return 1;
	return NSX_MAX(1, sm_count_of(t, device_of(k, x)) /
				  (blocks + block_ns / (double)x->ns));
}

/* How much faster a kernel would be if its last blocks left no multiprocessor
 * without work: turns that its blocks take over those that they would fill, by
 * multiprocessors (which share what they do among their blocks) or by all that are
 * resident at once, whichever is less; 1: all are, others are beside it, or not known.
 */
static double evener(const struct kernels *k, const struct kernel *x,
		     double block_ns)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_shape *s = &t->shape[x->id];
	const struct nsx_gpu_info *gpu = nsx_device_gpu(t, device_of(k, x));
	struct nsx_occupancy o;
	double sms, turns;

	if (block_ns > 0 || x->ns / x->count < LONG_NS ||
	    !nsx_shape_occupancy(t, gpu, s, &o) || !o.blocks)
		return 1;
	sms = (double)nsx_shape_blocks(t, s) / (double)gpu->sm_count;
	turns = sms / (double)o.blocks;
	return turns <= 1 ? 1 :
		NSX_MIN(ceil(turns) / turns, ceil(sms) / sms);
}

/* The ops of one shape on its device in the judged window. */
static int list_ops(struct kernels *k, const struct kernel *x,
		    struct nsx_change *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_device *dev = &t->device[device_of(k, x)];
	uint32_t *rows;
	size_t n = 0;

	if (!nsx_new_array(rows, k->d->scratch, (size_t)x->count, "kernels",
			   err))
		return err->rc;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++)
		if (t->ops.kind[i] == NSX_OP_KERNEL &&
		    nsx_op_detail(&t->ops, i) == x->id &&
		    nsx_is_judged(k->d, nsx_op_start(&t->ops, i)))
			rows[n++] = (uint32_t)i;
	ret->rows = nsx_keep_rows(k->d, rows, n);
	nsx_arena_drop(k->d->scratch, rows);
	return 0;
}

/* How often such streams wait for events in the judged window. */
static size_t count_waits(const struct kernels *k, const uint8_t *is_seen)
{
	const struct nsx_syncs *y = &k->d->trace->syncs;
	size_t n = 0;

	for (size_t i = 0; i < y->n; i++)
		n += y->type[i] == NSX_SYNC_STREAM_WAIT &&
		     y->stream[i] != NSX_NONE && is_seen[y->stream[i]] &&
		     nsx_is_judged(k->d, y->start_ns[i]);
	return n;
}

/* How the calls of a kernel share the GPU with each other: those of several
 * streams could run side by side, and so could those of one stream that do not need
 * each other's results, which no trace tells.
 */
static const char *say_streams(struct kernels *k, const struct nsx_change *c)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_ops *o = &t->ops;
	uint8_t *seen = nsx_arena_get(k->d->scratch,
				      (size_t)t->nstreams + 1);
	int64_t end_ns = INT64_MIN, beside_ns = 0;
	size_t n = c->rows.n, nstreams = 0, queued = 0;
	uint32_t before = NSX_NONE;

	NSX_EACH_ROW(&c->rows, op) {
		int64_t start_ns = nsx_op_start(o, op);
		uint32_t call = nsx_op_call(o, op);

		nstreams += !seen[nsx_op_stream(o, op)]++;
		seen[nsx_op_stream(o, op)] = 1;
		queued += before != NSX_NONE && op == before + 1 &&
			  call != NSX_NONE &&
			  nsx_call_end(&t->calls, call) <=
				  nsx_op_end(o, before);
		before = op;
		if (end_ns > start_ns)
			nsx_add_to(&beside_ns, NSX_MIN(end_ns,
						       nsx_op_end(o, op)) -
						       start_ns);
		end_ns = NSX_MAX(end_ns, nsx_op_end(o, op));
	}
	if (n < 2 || beside_ns)
		return NULL;
	if (nstreams > 1) {
		size_t nwaits = count_waits(k, seen);

		return !nwaits ?
			nsx_tell(k->d->found, "its calls are spread over %zu "
				 "streams, yet they never run side by side",
				 nstreams) :
			nsx_tell(k->d->found, "its %zu streams wait for each "
				 "other's events (%s), so they never run side by "
				 "side", nstreams,
				 nsx_text_n(k->d->found->arena, nwaits, "wait",
					    NULL));
	}
	return nsx_tell(
		k->d->found, "all its calls are on one stream, so they run one "
		"after the other%s; whether one needs another's result is not "
		"in the trace",
		2 * queued < n ? "" :
		nsx_tell(k->d->found, "; %zu of %zu stand right behind one of "
			 "the same size, as parts of a batch do", queued, n));
}

typedef double (*faster_fn)(const struct kernels *, const struct kernel *,
			    double block_ns);

struct grid {
	struct kernel shape;
	double amount, won_ns; /* how much faster it could be, and what that wins */
	int64_t paged_ns; /* of its time, in which it may wait for pages    */
};
struct grids { /* on all GPUs                                               */
	faster_fn faster;	      /* how much each could be              */
	struct grid top[MOST_SHAPES]; /* the one that wins most first        */
	struct nsx_change *v;
	size_t n;
	int64_t ns, paged_ns;
	double won_ns; /* at most                                            */
};

/* By shape: for how long its kernels may wait for pages. */
static int64_t *sum_paged(const struct kernels *k, uint32_t device,
			  const struct table *shapes, struct nsx_err *err)
{
	const struct nsx_device *dev = &k->d->trace->device[device];
	int64_t *ns;

	if (!nsx_new_array(ns, k->d->scratch, shapes->n, "kernels", err))
		return NULL;
	for (size_t i = 0; i < k->d->npaged; i++) {
		const struct nsx_paged *x = &k->d->paged[i];
		uint32_t at = shapes->at[nsx_op_detail(&k->d->trace->ops, x->op)];

		if (x->op >= dev->ops_at && x->op < dev->ops_at + dev->nops &&
		    at && at != NSX_NONE)
			nsx_add_to(&ns[at - 1], x->ns);
	}
	return ns;
}

static void keep_grid(struct grids *s, const struct grid *x)
{
	size_t i = s->n;

	s->n = NSX_MIN(i + 1, (size_t)MOST_SHAPES);
	for (; i && (NSX_CMP(s->top[i - 1].won_ns, x->won_ns) ?:
		     cmp_kernels(&x->shape, &s->top[i - 1].shape)) < 0; i--)
		if (i < s->n)
			s->top[i] = s->top[i - 1];
	if (i < s->n)
		s->top[i] = *x;
}

/* Those that could be LEAST_ROOM times as fast or more, in each of two ways. */
static int list_grids(struct kernels *k, struct grids grids[2],
		      struct nsx_err *err)
{
	for (uint32_t d = 0; d < k->d->trace->ndevices; d++) {
		struct table shapes = {0};
		double *block_ns;
		int64_t *paged_ns;

		if (kernels_sum(k, d, true, &shapes, err) ||
		    !nsx_new_array(block_ns, k->d->scratch, shapes.n, "kernels",
				   err) ||
		    !(paged_ns = sum_paged(k, d, &shapes, err)))
			return err->rc;
		add_beside(k, d, &shapes, block_ns);
		for (size_t i = 0; i < shapes.n; i++)
			for (unsigned w = 0; w < 2; w++) {
				struct grid x = {shapes.v[i], 0, 0, paged_ns[i]};

				x.amount = grids[w].faster(k, &x.shape, block_ns[i]);
				x.won_ns = (double)(x.shape.ns - x.paged_ns) *
					   (1 - 1 / x.amount);
				if (x.amount >= LEAST_ROOM)
					keep_grid(&grids[w], &x);
			}
		nsx_arena_drop(k->d->scratch, paged_ns);
		nsx_arena_drop(k->d->scratch, block_ns);
		nsx_arena_drop(k->d->scratch, shapes.v);
		nsx_arena_drop(k->d->scratch, shapes.at);
	}
	return 0;
}

/* Sets *is_told where they take such a share of the window that it is. */
static int price_grids(struct kernels *k, double share, struct grids *ret,
		       bool *is_told, struct nsx_err *err)
{
	for (size_t i = 0; i < ret->n; i++) {
		nsx_add_to(&ret->ns, ret->top[i].shape.ns);
		nsx_add_to(&ret->paged_ns, ret->top[i].paged_ns);
	}
	*is_told = ret->n &&
		   (double)(ret->ns - ret->paged_ns) >= share * k->length_ns;
	if (!*is_told)
		return 0;
	ret->v = nsx_arena_get(k->d->found->arena, ret->n * sizeof(*ret->v));
	for (size_t i = 0; i < ret->n; i++) {
		const struct grid *g = &ret->top[i];
		const struct kernel *x = &g->shape;

		ret->won_ns += g->won_ns;
		ret->v[i] = (struct nsx_change){.verb = NSX_FASTER,
						.op = NSX_ON_KERNELS,
						.amount = !g->paged_ns ? g->amount :
							(double)x->ns /
							((double)x->ns - g->won_ns),
						.fills = ret->faster == fuller};
		if (list_ops(k, x, &ret->v[i], err))
			return err->rc;
	}
	return 0;
}

static const char *say_paged(const struct kernels *k, const struct grids *s)
{
	struct nsx_findings *l = k->d->found;

	return !s->paged_ns ? "" :
		nsx_tell(l, ", of which %s may be waits for pages of unified memory, and "
			 "are not counted", nsx_tell_ns(l, s->paged_ns));
}

/* Sets *told where the kernel that takes most is the first among them. */
static int propose_small(struct kernels *k, struct grids *small, bool *told,
			 struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;
	struct nsx_findings *l = k->d->found;
	static const char bound[] = "an upper bound: as if each filled all "
				    "multiprocessors and were faster by as much";
	const struct kernel *top = &small->top[0].shape;
	nsx_str name;
	const char *streams, *most;
	uint32_t device;
	bool is_told;
	int rc = price_grids(k, GRID_SHARE, small, &is_told, err);

	if (rc || !is_told)
		return rc;
	device = device_of(k, top);
	streams = say_streams(k, &small->v[0]);
	name = t->shape_name[top->id];
	most = nsx_tell(l, "%s on %lld multiprocessors, %s of %s",
			nsx_text_n(l->arena,
				   (size_t)nsx_shape_blocks(t, &t->shape[top->id]),
				   "block", NULL),
			(long long)nsx_device_gpu(t, device)->sm_count,
			nsx_text_n(l->arena, (size_t)top->count, "call", NULL),
			nsx_text_ns(l->arena, (double)top->ns /
						      (double)top->count));
	struct nsx_finding f = {
		.id = NSX_ID_small_grids,
		.title = nsx_tell(l, "kernels with few blocks leave %s of "
				  "the GPU empty: %s",
				  small->top[0].amount >= 2 ? "most" : "part",
				  nsx_tell_name(l, label_of(k, name))),
		.confidence = NSX_CONF_MEDIUM, .device = device,
		.guess_ns = small->won_ns,
		.is_rule = true, .is_bound = true,
		.weight = (double)(top->ns - small->top[0].paged_ns) / k->length_ns,
		.evidence = {nsx_tell(
			l, "%s%s", small->n == 1 ? most :
			nsx_tell(l, "%zu launch shapes, %s in all", small->n,
				 nsx_tell_ns(l, small->ns)), say_paged(k, small))},
		.recommendation = {
			"give each launch more work: larger batches, fused or "
			"batched kernels, a split of the reduced dimension",
			"or run those that do not need each other's results "
			"side by side on several streams"},
		.proof = {{.csv = "kernel_shapes", .column = "total_ms",
			   .at = {{"kernel_name",
				   nsx_string(nsx_text(t, name))},
				  {"is_small_grid", nsx_bool(true)}}}},
		.remedy = {small->v, small->n}};

	if (small->n > 1)
		nsx_add_evidence(&f, nsx_tell(l, "the first: %s", most));
	nsx_add_evidence(&f, streams);
	nsx_add_evidence(&f, bound);
	if (kernels_tell_place(k, true, top, &f, err))
		return err->rc;
	nsx_add_evidence(&f, kernels_full_name(k, name));
	nsx_found(l, &f);
	*told |= name == k->names.v[0].id;
	return 0;
}

/* Grids of a little more than what the GPU has room for, once or a few times.  Sets
 * *told as propose_small does.
 */
static int propose_last_blocks(struct kernels *k, struct grids *uneven, bool *told,
			       struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;
	struct nsx_findings *l = k->d->found;
	const struct kernel *top = &uneven->top[0].shape;
	const struct nsx_gpu_info *gpu;
	const struct nsx_shape *s;
	nsx_str name;
	struct nsx_occupancy o;
	uint32_t device;
	bool is_told;
	int rc = price_grids(k, KERNEL_SHARE, uneven, &is_told, err);

	if (rc || !is_told)
		return rc;
	device = device_of(k, top);
	gpu = nsx_device_gpu(t, device);
	s = &t->shape[top->id];
	name = t->shape_name[top->id];
	nsx_shape_occupancy(t, gpu, s, &o);
	struct nsx_finding f = {
		.id = NSX_ID_last_blocks, .confidence = NSX_CONF_LOW,
		.device = device, .is_assumed = true,
		.guess_ns = uneven->won_ns,
		.weight = (double)top->ns / k->length_ns,
		.title = nsx_tell(l, "the last blocks of kernels leave most of "
				  "the GPU empty: %s",
				  nsx_tell_name(l, label_of(k, name))),
		.evidence = {
			nsx_tell(l, "%s on %lld multiprocessors, which hold "
				 "%lld each, %s of %s",
				 nsx_text_n(l->arena, (size_t)nsx_shape_blocks(t, s),
					    "block", NULL),
				 (long long)gpu->sm_count,
				 (long long)o.blocks,
				 nsx_text_n(l->arena, (size_t)top->count,
					    "call", NULL),
				 nsx_text_ns(l->arena, (double)top->ns /
							       (double)top->count)),
			"priced as if all blocks took as long, and the same work "
			"filled the GPU until the end"},
		.recommendation = {
			"choose tiles or a batch so that the blocks come to just "
			"below a multiple of what the GPU holds",
			"share the rest out evenly: smaller blocks, split-K or a "
			"persistent kernel"},
		.proof = {{.csv = "kernel_shapes", .column = "waves",
			   .at = {{"kernel_name",
				   nsx_string(nsx_text(t, name))},
				  {"grid_blocks", nsx_int(nsx_shape_blocks(t, s))}}}},
		.remedy = {uneven->v, uneven->n}};

	if (uneven->n > 1)
		nsx_add_evidence(&f, nsx_tell(l, "%zu launch shapes, %s in all",
					      uneven->n,
					      nsx_tell_ns(l, uneven->ns)));
	if (kernels_tell_place(k, true, top, &f, err))
		return err->rc;
	nsx_found(l, &f);
	*told |= name == k->names.v[0].id;
	return 0;
}

/* Grids that leave multiprocessors without work. */
int kernels_propose_grids(struct kernels *k, bool *told, struct nsx_err *err)
{
	struct grids grids[2] = {{.faster = fuller}, {.faster = evener}};

	return list_grids(k, grids, err) ?:
	       propose_small(k, &grids[0], told, err) ?:
	       propose_last_blocks(k, &grids[1], told, err);
}
