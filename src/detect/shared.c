/* shared.c - a GPU shared with another program: the GPU is taken away in slices of equal length
 * while work is queued.
 */
#include "detect/detect.h"
#include "detect/words.h"

enum { FEWEST = 20, /* least number of slices                                */
       SOON = 4, /* the operation that ends a gap is launched in the gap's first 1/SOON */
       SLICE_NS = 500000 }; /* shortest gap that counts; a time slice takes 1 ms or more */
#define EQUAL 1.02	/* greatest ratio within which nine of ten lengths lie */
#define LEAST_SHARE 0.03 /* least share of the window that the gaps take     */

struct slices { /* gaps of a GPU while work is queued */
	uint32_t device;
	size_t n;
	uint32_t *op; /* the operation that ends each gap                    */
	int64_t *gap_ns, *busy_ns; /* busy_ns: from one gap to the next      */
	int64_t sum_ns;		  /* sum of the gaps                         */
};

/* Lists gaps of the judged window during most of which the work that ends them is already launched.
 */
static int list_slices(const struct nsx_detect *d, struct slices *x, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_device *dev = &t->device[x->device];
	int64_t end_ns = INT64_MIN, from_ns = INT64_MIN;
	size_t most = NSX_MIN(dev->nops, (size_t)((d->w.end_ns - d->w.start_ns) / SLICE_NS + 1));

	if (nsx_new_arrays(d->scratch, most, "gaps", err, x->op, x->gap_ns, x->busy_ns))
		return err->rc;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		uint32_t call = nsx_op_call(&t->ops, i);
		int64_t start_ns = nsx_op_start(&t->ops, i);

		if (!nsx_is_judged(d, start_ns))
			continue;
		if (end_ns != INT64_MIN && start_ns - end_ns >= SLICE_NS) {
			if (from_ns != INT64_MIN && call != NSX_NONE &&
			    nsx_call_start(&t->calls,
					   call) <= end_ns + (start_ns - end_ns) / SOON) {
				x->op[x->n] = (uint32_t)i;
				x->busy_ns[x->n] = end_ns - from_ns;
				x->gap_ns[x->n++] = start_ns - end_ns;
				x->sum_ns += start_ns - end_ns;
			}
			from_ns = start_ns;
		}
		end_ns = NSX_MAX(end_ns, nsx_op_end(&t->ops, i));
	}
	return 0;
}

/* Whether most lengths are nearly equal. */
static bool are_equal(int64_t *v, size_t n)
{
	double low = nsx_quantile(v, n, 0.1), high = nsx_quantile(v, n, 0.9);

	return high <= EQUAL * low;
}

/* Whether the kernel that ends the middle gap mostly ends a gap when it runs. Then the program
 * itself waits there, for another stream or process. A slice may end anywhere.
 */
static bool are_at_one_kernel(const struct nsx_detect *d, const struct slices *x)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_device *dev = &t->device[x->device];
	nsx_str name = nsx_op_name(t, x->op[x->n / 2]);
	size_t after_gap = 0, all = 0;

	for (size_t i = 0; i < x->n; i++)
		after_gap += nsx_op_name(t, x->op[i]) == name;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++)
		all += nsx_is_judged(d, nsx_op_start(&t->ops, i)) && nsx_op_name(t, i) == name;
	return after_gap > all / 2;
}

static void propose_slices(struct nsx_detect *d, const struct slices *x)
{
	struct nsx_findings *l = d->found;
	struct nsx_finding f = {.id = NSX_ID_gpu_shared,
		.device = x->device, .subject = "time_slices", .confidence = NSX_CONF_MEDIUM,
		.guess_ns = (double)x->sum_ns, .is_rule = true,
		.title = nsx_tell(
			l, say_another_program_uses_gpu, nsx_gpu_label(d->trace, x->device)),
		.evidence = {nsx_tell(l, say_gaps_between_stretches, x->n,
				     nsx_text_ns(l->arena, nsx_quantile(x->gap_ns, x->n, 0.5)),
				     nsx_text_ns(l->arena, nsx_quantile(x->busy_ns, x->n, 0.5))),
			say_price_length_these_gaps},
		.recommendation = {say_see_who_else_uses_nvidia}};

	nsx_found(l, &f);
}

/* Without MPS a GPU gives several programs slices of time in turn. The trace of one shows gaps of
 * equal length while its work is queued. The work between two gaps is shorter than a slice where
 * the program queues less.
 */
int nsx_detect_shared(struct nsx_detect *d, struct nsx_err *err)
{
	struct slices most = {.sum_ns = 0};

	for (uint32_t i = 0; i < d->trace->ndevices; i++) {
		struct slices x = {.device = i};

		if (list_slices(d, &x, err))
			return err->rc;
		if (x.n >= FEWEST &&
		    (double)x.sum_ns >= LEAST_SHARE * (double)(d->w.end_ns - d->w.start_ns) &&
		    x.sum_ns > most.sum_ns && are_equal(x.gap_ns, x.n) &&
		    !are_at_one_kernel(d, &x))
			most = x;
	}
	if (most.n)
		propose_slices(d, &most);
	return 0;
}
