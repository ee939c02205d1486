/* runs.c - many short kernels of few names one after another, as an update of one
 * tensor at a time makes them: each costs its start, and fills a part of the GPU.
 *
 * A run is what a stream does one after another in kernels that work element by
 * element and are too short to be bound by anything but their start.  What several
 * launches of one name do in it one launch can do, as far as the GPU has room.  What the
 * host does between two launches of a run is for the later of them.
 */
#include <math.h>
#include <stdlib.h>
#include "detect/detect.h"
#include "facts/kernel_name.h"
#include "facts/occupancy.h"

enum {
	SHORT_NS = 5000, /* the start of a kernel takes two or three of these */
	MANY = 10,	 /* of a name in a run, to be made one               */
	BETWEEN = 8,	 /* calls from one launch of a run to the next       */
};
#define LEAST_SHARE 0.01 /* of the window, that they take */

struct runs {
	struct nsx_detect *d;
	uint32_t *count, *seen; /* by name: in the run, and so far            */
	struct nsx_row_list run; /* the ops of the one at hand               */
	struct nsx_row_list gone, gaps; /* ops, and calls before which the host
					   works for them                    */
	size_t nruns;	 /* in which there is something to gain              */
	size_t nkernels; /* of these names in them ...                       */
	int64_t ns;	 /* ... and their time                               */
	struct nsx_places places;
	struct nsx_place most;
};

static bool is_short(const struct nsx_detect *d, size_t op)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_kernel_words *words;

	if (t->ops.kind[op] != NSX_OP_KERNEL ||
	    nsx_op_ns(&t->ops, op) > SHORT_NS ||
	    !nsx_is_judged(d, nsx_op_start(&t->ops, op)))
		return false;
	words = nsx_kernel_of_shape(&d->facts->kernels,
				    nsx_op_detail(&t->ops, op))->words;
	return words->category == NSX_K_ELEMENTWISE;
}

/* How many launches of a shape the GPU has room for at once; 1: not known. */
static uint32_t room(const struct nsx_trace *t, uint32_t op)
{
	const struct nsx_shape *s = nsx_op_shape(t, op);
	const struct nsx_gpu_info *gpu =
		nsx_device_gpu(t, nsx_stream_of(t, op)->device);
	double blocks = (double)nsx_shape_blocks(t, s);
	struct nsx_occupancy o;

	if (blocks < 1 || !nsx_shape_occupancy(t, gpu, s, &o))
		return 1;
	return (uint32_t)NSX_MAX(1, NSX_MIN((double)o.blocks *
						    (double)gpu->sm_count /
						    blocks, 1e9));
}

/* A launch that an earlier one does; before: the op before it in the run. */
static int drop_launch(struct runs *r, uint32_t op, uint32_t before,
		       struct nsx_err *err)
{
	const struct nsx_trace *t = r->d->trace;
	uint32_t from = nsx_op_call(&t->ops, before), to = nsx_op_call(&t->ops, op);
	bool is_next = from != NSX_NONE && to != NSX_NONE && to > from &&
		       to - from <= BETWEEN &&
		       nsx_call_thread(t, from) == nsx_call_thread(t, to);
	int rc = nsx_list_row(&r->gone, op, err);

	while (is_next && !rc && from++ < to)
		rc = nsx_list_row(&r->gaps, from, err);
	return rc;
}

/* What is to be told of the i-th of a run, which an earlier launch can do. */
static int add_kernel(struct runs *r, size_t i, bool stays, struct nsx_err *err)
{
	const struct nsx_trace *t = r->d->trace;
	uint32_t op = r->run.v[i];
	int64_t ns = nsx_op_ns(&t->ops, op);

	r->nkernels++;
	nsx_add_to(&r->ns, ns);
	if (!stays && drop_launch(r, op, r->run.v[i - 1], err))
		return err->rc;
	return nsx_places_add(&r->places, t, 0,
			      nsx_op_range(&r->d->facts->nvtx, op),
			      nsx_op_call(&t->ops, op), ns, &r->most, err);
}

static int end_run(struct runs *r, struct nsx_err *err)
{
	const struct nsx_trace *t = r->d->trace;
	size_t before = r->nkernels;
	int rc = 0;

	for (size_t i = 0; i < r->run.n; i++)
		r->count[nsx_op_name(t, r->run.v[i])]++;
	for (size_t i = 0; !rc && i < r->run.n; i++) {
		nsx_str name = nsx_op_name(t, r->run.v[i]);

		if (r->count[name] >= MANY)
			rc = add_kernel(r, i, !(r->seen[name]++ %
						room(t, r->run.v[i])), err);
	}
	for (size_t i = 0; i < r->run.n; i++)
		r->count[nsx_op_name(t, r->run.v[i])] =
			r->seen[nsx_op_name(t, r->run.v[i])] = 0;
	r->nruns += r->nkernels > before;
	r->run.n = 0;
	return rc;
}

/* The stream of a device that has most short kernels; NSX_NONE: none has MANY. */
static int find_stream(const struct runs *r, const struct nsx_device *dev,
		       uint32_t *ret, struct nsx_err *err)
{
	const struct nsx_ops *o = &r->d->trace->ops;
	uint32_t *n, most = MANY - 1;

	*ret = NSX_NONE;
	if (!nsx_new_array(n, r->d->scratch, r->d->trace->nstreams, "streams",
			   err))
		return err->rc;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		uint32_t stream = nsx_op_stream(o, i);

		if (!is_short(r->d, i) || ++n[stream] <= most)
			continue;
		most = n[stream];
		*ret = stream;
	}
	nsx_arena_drop(r->d->scratch, n);
	return 0;
}

static int collect(struct runs *r, const struct nsx_device *dev,
		   struct nsx_err *err)
{
	const struct nsx_ops *o = &r->d->trace->ops;
	uint32_t stream;
	int rc = find_stream(r, dev, &stream, err);

	for (size_t i = dev->ops_at;
	     !rc && stream != NSX_NONE && i < dev->ops_at + dev->nops; i++)
		if (nsx_op_stream(o, i) == stream)
			rc = is_short(r->d, i) ?
				     nsx_list_row(&r->run, i, err) :
				     end_run(r, err);
	return rc ?: end_run(r, err);
}

static void propose(struct runs *r)
{
	struct nsx_findings *l = r->d->found;
	nsx_str name = nsx_op_name(r->d->trace, r->gone.v[0]);
	struct nsx_change *v = nsx_arena_get(l->arena, 2 * sizeof(*v));
	struct nsx_finding f = {
		.id = NSX_ID_elementwise, .subject = "one_by_one",
		.is_bound = true,
		.device = r->d->facts->limiting, .confidence = NSX_CONF_MEDIUM,
		.title = "short kernels do one after another what one launch "
			 "could do",
		.evidence = {
			nsx_tell(l, "%zu kernels of %s, the first %s",
				 r->nkernels,
				 nsx_text_ns(l->arena, (double)r->ns /
						       (double)r->nkernels),
				 nsx_tell_name(l, nsx_kernel_label(
					&r->d->facts->kernels, name))),
			"an upper bound: as if one launch did those of one name",
			nsx_tell(l, "they are in %s of %d or more of a name; as "
				 "many as the GPU holds at once are taken for "
				 "one; whether one needs another's result is "
				 "not in the trace",
				 nsx_text_n(l->arena, r->nruns, "run", NULL),
				 MANY)},
		.recommendation = {
			r->d->is_pytorch ?
			"update all tensors in one launch: foreach=True or "
			"fused=True in the optimizer, torch._foreach_* for "
			"averages and clipping" :
			"pass many arrays to one launch, or fuse what is done "
			"to the same one"},
		.remedy = {.v = v}};

	nsx_places_tell(r->d, &r->places, 0, &r->most, &f);
	nsx_add_change(r->d, v, &f.remedy.n, &r->gone, (struct nsx_change){
			       .verb = NSX_DROP, .op = NSX_ON_KERNELS});
	nsx_add_change(r->d, v, &f.remedy.n, &r->gaps, (struct nsx_change){
			       .verb = NSX_FASTER_HOST, .amount = INFINITY});
	nsx_found(l, &f);
}

int nsx_detect_runs(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	size_t names = nsx_strings_bound(t->strings);
	struct runs r = {.d = d, .most = {0, NSX_NONE}};
	int rc = nsx_new_arrays(d->scratch, names, "kernel names", err, r.count,
				r.seen);

	for (uint32_t i = 0; !rc && i < t->ndevices; i++)
		rc = collect(&r, &t->device[i], err);
	if (!rc && r.gone.n && (double)r.ns >= LEAST_SHARE * (double)(d->w.end_ns -
							   d->w.start_ns))
		propose(&r);
	free(r.run.v);
	free(r.gone.v);
	free(r.gaps.v);
	nsx_places_done(&r.places);
	return rc;
}
