/* slices.c - finds the time slices of another program: gaps of equal length although work is queued. */
#include "base/stat.h"
#include "facts/slices.h"

enum { FEWEST = 20, /* least number of slices                                */
       SOON = 4, /* the operation that ends a gap is launched in the gap's first 1/SOON */
       SLICE_NS = 500000 }; /* shortest gap that counts; a time slice takes 1 ms or more */
#define EQUAL 1.02	/* greatest ratio within which nine of ten lengths lie */
#define SLICES_SHARE 0.03 /* least share of the window that the gaps take     */

struct gaps { /* of a GPU while work is queued */
	size_t n;
	uint32_t *op; /* the operation that ends each gap                    */
	int64_t *ns, *busy_ns; /* busy_ns: from one gap to the next          */
	int64_t sum_ns;
};

static bool starts_in(struct nsx_window w, int64_t at_ns)
{
	return at_ns >= w.start_ns && at_ns < w.end_ns;
}

/* Lists gaps of the window during most of which the work that ends them is already launched. */
static int list_queued_gaps(const struct nsx_trace *t, const struct nsx_device *dev, struct nsx_window w,
		     struct nsx_arena *scratch, struct gaps *x, struct nsx_err *err)
{
	int64_t end_ns = INT64_MIN, from_ns = INT64_MIN;
	size_t most = NSX_MIN(dev->nops, (size_t)((w.end_ns - w.start_ns) / SLICE_NS + 1));

	if (nsx_new_arrays(scratch, most, "gaps", err, x->op, x->ns, x->busy_ns))
		return err->rc;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		uint32_t call = nsx_op_call(&t->ops, i);
		int64_t start_ns = nsx_op_start(&t->ops, i);

		if (!starts_in(w, start_ns))
			continue;
		if (end_ns != INT64_MIN && start_ns - end_ns >= SLICE_NS) {
			int64_t doubt_ns = nsx_clock_doubt_ns(t, nsx_op_process(t, i),
							      (uint32_t)(dev - t->device));

			if (from_ns != INT64_MIN && call != NSX_NONE &&
			    nsx_call_start(&t->calls, call) <=
				    nsx_add_sat(end_ns + (start_ns - end_ns) / SOON, doubt_ns)) {
				x->op[x->n] = (uint32_t)i;
				x->busy_ns[x->n] = end_ns - from_ns;
				x->ns[x->n++] = start_ns - end_ns;
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
static bool are_at_one_kernel(const struct nsx_trace *t, const struct nsx_device *dev,
			      struct nsx_window w, const struct gaps *x)
{
	nsx_str name = nsx_op_name(t, x->op[x->n / 2]);
	size_t after_gap = 0, all = 0;

	for (size_t i = 0; i < x->n; i++)
		after_gap += nsx_op_name(t, x->op[i]) == name;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++)
		all += starts_in(w, nsx_op_start(&t->ops, i)) && nsx_op_name(t, i) == name;
	return after_gap > all / 2;
}

int nsx_find_slices(const struct nsx_trace *t, uint32_t device, struct nsx_window w,
		    struct nsx_arena *scratch, struct nsx_slices *ret, struct nsx_err *err)
{
	const struct nsx_device *dev = &t->device[device];
	struct gaps x = {0};

	*ret = (struct nsx_slices){.device = device};
	if (list_queued_gaps(t, dev, w, scratch, &x, err))
		return err->rc;
	if (x.n < FEWEST || (double)x.sum_ns < SLICES_SHARE * (double)(w.end_ns - w.start_ns) ||
	    !are_equal(x.ns, x.n) || are_at_one_kernel(t, dev, w, &x))
		return 0;
	ret->n = x.n;
	ret->sum_ns = x.sum_ns;
	ret->gap_ns = nsx_quantile(x.ns, x.n, 0.5);
	ret->busy_ns = nsx_quantile(x.busy_ns, x.n, 0.5);
	return 0;
}
