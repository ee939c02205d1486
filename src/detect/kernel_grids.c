/* kernel_grids.c - launches that leave most of the GPU empty: fewer blocks than multiprocessors, or
 * blocks of less than a warp.
 */
#include "detect/kernels.h"
#include "detect/words.h"
#include "facts/floor.h"
#include "report/text.h"

#define GRID_SHARE 0.01
#define TWICE 2.0
enum {
	MOST_SHAPES = 8,
	MOST_BESIDE = 128,  /* most kernels that a GPU runs at the same time */
	LONG_NS = 10000, /* a shorter kernel takes the time of its start     */
};

/* Number of multiprocessors that a launch fills; 0: unknown. */
static double filled_sms(const struct nsx_trace *t, const struct nsx_shape *s, double sm_count)
{
	return nsx_shape_launch(t, s)->known ?
		       NSX_MIN((double)nsx_shape_blocks(t, s), sm_count) : 0;
}

/* Adds to block_ns, by shape, the blocks of kernels that run beside those of the shape, weighted by
 * the time that they do.
 */
static void kernel_grids_add_beside(const struct kernels *k, uint32_t device,
				    const struct table *shapes, double *block_ns)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_ops *o = &t->ops;
	double sm_count = sm_count_of(t, device);
	uint32_t open[MOST_BESIDE]; /* kernels that may still run when the next one starts */
	size_t n = 0;

	NSX_EACH_JUDGED(k->d, device, i) {
		size_t left = 0;

		if (!is_looked_at(k, i))
			continue;
		for (size_t j = 0; j < n; j++) {
			uint32_t x = nsx_op_detail(o, i), y = nsx_op_detail(o, open[j]);
			int64_t ns = NSX_MIN(nsx_op_end(o, i), nsx_op_end(o, open[j])) -
				     nsx_op_start(o, i);

			if (ns <= 0)
				continue;
			if (shapes->at[x] != NSX_NONE)
				block_ns[shapes->at[x] - 1] +=
					(double)ns * filled_sms(t, &t->shape[y], sm_count);
			if (shapes->at[y] != NSX_NONE)
				block_ns[shapes->at[y] - 1] +=
					(double)ns * filled_sms(t, &t->shape[x], sm_count);
			open[left++] = open[j];
		}
		n = left;
		if (n < MOST_BESIDE)
			open[n++] = (uint32_t)i;
	}
}

/* How many times as fast a shape could be if it filled the GPU. A short kernel takes the time of
 * its start.
 */
static struct nsx_room room_of(const struct kernels *k, const struct kernel *x, double block_ns)
{
	if (x->ns / x->count < LONG_NS)
		return (struct nsx_room){1, 1};
	return nsx_launch_room(k->d->trace, device_of(k, x), &k->d->trace->shape[x->id],
			       block_ns / (double)x->ns);
}

/* Lists in ret->rows the operations of one shape, on its device in the judged window. */
static int list_ops(struct kernels *k, const struct kernel *x,
		    struct nsx_change *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;
	struct nsx_row_list rows = {0};

	NSX_EACH_JUDGED(k->d, device_of(k, x), i)
		if (is_looked_at(k, i) && nsx_op_detail(&t->ops, i) == x->id &&
		    nsx_list_row(k->d, &rows, i, err))
			return err->rc;
	ret->rows = nsx_keep_rows(k->d, rows.v, rows.n);
	nsx_arena_drop(k->d->scratch, rows.v);
	return 0;
}

/* Says why launches of a kernel never run side by side; NULL if some do. Those on several streams
 * could. So could those of one stream that do not need each other's results, but no trace shows
 * that need.
 */
static const char *say_streams(struct kernels *k, const struct nsx_change *c)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_ops *o = &t->ops;
	bool *seen = nsx_arena_get(k->d->scratch, (size_t)t->nstreams + 1);
	int64_t end_ns = INT64_MIN, beside_ns = 0;
	size_t n = c->rows.n, nstreams = 0, queued = 0;
	uint32_t before = NSX_NONE;

	NSX_EACH_ROW(&c->rows, op) {
		int64_t start_ns = nsx_op_start(o, op);
		uint32_t call = nsx_op_call(o, op);

		nstreams += !seen[nsx_op_stream(o, op)];
		seen[nsx_op_stream(o, op)] = true;
		queued += before != NSX_NONE && op == before + 1 &&
			  call != NSX_NONE &&
			  nsx_call_end(&t->calls, call) <= nsx_op_end(o, before);
		before = op;
		if (end_ns > start_ns)
			nsx_add_to(&beside_ns, NSX_MIN(end_ns, nsx_op_end(o, op)) - start_ns);
		end_ns = NSX_MAX(end_ns, nsx_op_end(o, op));
	}
	if (n < 2 || beside_ns)
		return NULL;
	if (nstreams > 1)
		return nsx_tell(k->d->found, say_calls_spread_over_streams, nstreams);
	return nsx_tell(k->d->found, say_all_calls_on_one_stream,
		2 * queued < n ? "" : nsx_tell(k->d->found, say_stand_right_behind_one, queued, n));
}

struct grid {
	struct kernel shape;
	struct nsx_room room; /* how many times as fast the shape could be   */
	double won_ns;	      /* most time that this can win                 */
};
struct grids { /* small grids of all GPUs                                    */
	struct grid *top; /* sorted by gain, descending; MOST_SHAPES at most */
	/* the change of each shape, by all of its room; the same by TWICE at most */
	struct nsx_change *v, *least;
	size_t n, cap;
	int64_t ns;
	double won_ns;
};

/* A grid begins with its kernel. */
NSX_ORDER(cmp_grids, struct grid, DOWN(won_ns), BY(cmp_kernels));

/* Lists shapes that could be LEAST_ROOM times as fast or faster. */
static int list_grids(struct kernels *k, struct grids *grids, struct nsx_err *err)
{
	for (uint32_t d = 0; d < k->d->trace->ndevices; d++) {
		struct table shapes = {0};
		double *block_ns;

		if (kernels_sum(k, d, true, &shapes, err) ||
		    !nsx_new_array(block_ns, k->d->scratch, shapes.n, "kernels",
				   err))
			return err->rc;
		kernel_grids_add_beside(k, d, &shapes, block_ns);
		for (size_t i = 0; i < shapes.n; i++) {
			struct grid x = {.shape = shapes.v[i]};

			x.room = room_of(k, &x.shape, block_ns[i]);
			x.won_ns = (double)x.shape.ns * (1 - 1 / x.room.most);
			if (x.room.idle >= LEAST_ROOM &&
			    nsx_push(grids->top, grids->n, grids->cap, "kernels", err, x))
				return err->rc;
		}
		nsx_arena_drop(k->d->scratch, block_ns);
		nsx_arena_drop(k->d->scratch, shapes.v);
		nsx_arena_drop(k->d->scratch, shapes.at);
	}
	nsx_sort(grids->top, grids->n, sizeof(*grids->top), cmp_grids);
	grids->n = NSX_MIN(grids->n, MOST_SHAPES);
	return 0;
}

static int price_grids(struct kernels *k, struct grids *ret, struct nsx_err *err)
{
	ret->v = nsx_arena_get(k->d->found->arena, 2 * ret->n * sizeof(*ret->v));
	ret->least = ret->v + ret->n;
	for (size_t i = 0; i < ret->n; i++) {
		const struct grid *g = &ret->top[i];

		ret->won_ns += g->won_ns;
		ret->v[i] = (struct nsx_change){.verb = NSX_FASTER, .op = NSX_ON_KERNELS,
						.amount = g->room.most,
						.fills = true};
		if (list_ops(k, &g->shape, &ret->v[i], err))
			return err->rc;
		ret->least[i] = ret->v[i];
		ret->least[i].amount = NSX_MIN(TWICE, g->room.most);
	}
	return 0;
}

/* Says whether the first shape has too few blocks, too few threads in them, or both. */
static const char *say_few(const struct kernels *k, const struct grid *g)
{
	const struct nsx_trace *t = k->d->trace;
	double blocks = (double)nsx_shape_blocks(t, &t->shape[g->shape.id]);
	bool few = blocks < sm_count_of(t, device_of(k, &g->shape));

	return g->room.most <= g->room.idle ? "few blocks" :
	       few			    ? say_few_small_blocks :
					      "small blocks";
}

/* "10 blocks of 16 threads on 28 multiprocessors, 1 call of 1.31 s" */
static const char *say_launch(const struct kernels *k, const struct kernel *x)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_shape *s = &t->shape[x->id];
	struct nsx_findings *l = k->d->found;

	return nsx_tell(l, say_on_multiprocessors,
		nsx_text_n(l->arena, (size_t)nsx_shape_blocks(t, s), "block", NULL),
		nsx_text_n(l->arena, (size_t)nsx_extent(nsx_shape_launch(t, s)->block), "thread",
			NULL),
		(long long)nsx_device_gpu(t, device_of(k, x))->sm_count,
		nsx_text_n(l->arena, (size_t)x->count, "call", NULL),
		nsx_text_ns(l->arena, (double)x->ns / (double)x->count));
}

static struct nsx_finding small_finding(struct kernels *k, const struct grids *small)
{
	struct nsx_findings *l = k->d->found;
	const struct grid *top = &small->top[0];
	nsx_str name = k->d->trace->shape_name[top->shape.id];
	const char *most = say_launch(k, &top->shape);
	struct nsx_finding f = {.id = NSX_ID_small_grids,
		.title = nsx_tell(l, say_kernels_with_leave_gpu, say_few(k, top),
			top->room.most >= 2 ? "most" : "part", nsx_tell_name(l, label_of(k, name))),
		.confidence = NSX_CONF_MEDIUM, .device = device_of(k, &top->shape),
		.guess_ns = small->won_ns, .is_rule = true,
		.weight = (double)top->shape.ns / k->length_ns,
		.evidence = {small->n == 1 ? most :
					     nsx_tell(l, say_launch_shapes_all, small->n,
						      nsx_tell_ns(l, small->ns))},
		.recommendation = {say_give_each_launch_more_work, say_or_run_those_do_not},
		.proof = {{.csv = "kernel_shapes",
			.column = "total_ms",
			.at = {{"kernel_name", nsx_string(nsx_text(k->d->trace, name))},
				{"is_small_grid", nsx_bool(true)}}}},
		.remedy = {small->v, small->n}};

	if (small->n > 1)
		nsx_add_evidence(&f, nsx_tell(l, "the first: %s", most));
	f.surely = (struct nsx_plan){small->least, small->n};
	f.if_least = say_if_twice_as_many_threads;
	if (top->room.most <= top->room.idle)
		return f;
	f.proof[0].at[1].column = NULL; /* the grid itself need not be small */
	nsx_advise_first(&f, say_launch_blocks_128_512);
	return f;
}

static int propose_small_grids(struct kernels *k, struct grids *small, bool *told,
			       struct nsx_err *err)
{
	struct nsx_finding f;
	nsx_str name;

	for (size_t i = 0; i < small->n; i++)
		nsx_add_to(&small->ns, small->top[i].shape.ns);
	if (!small->n || (double)small->ns < GRID_SHARE * k->length_ns)
		return 0;
	if (price_grids(k, small, err))
		return err->rc;
	f = small_finding(k, small);
	name = k->d->trace->shape_name[small->top->shape.id];
	nsx_add_evidence(&f, say_streams(k, &small->v[0]));
	if (nsx_find_finding(k->d->found, NSX_ID_unified_memory)) {
		f.remedy.n = f.surely.n = 0;
		f.guess_ns = f.weight = 0;
		nsx_add_evidence(&f, say_may_wait_pages);
	} else {
		nsx_add_evidence(&f, say_priced_as_if_each_filled);
	}
	if (kernels_tell_place(k, true, &small->top->shape, &f, err))
		return err->rc;
	nsx_add_evidence(&f, kernels_full_name(k, name));
	nsx_found(k->d->found, &f);
	*told |= name == k->names.v[0].id;
	return 0;
}

/* Sets *told if the first shape belongs to the kernel with most time. */
int kernels_propose_grids(struct kernels *k, bool *told, struct nsx_err *err)
{
	struct grids small = {0};
	int rc = list_grids(k, &small, err) ?: propose_small_grids(k, &small, told, err);

	free(small.top);
	return rc;
}
