/* slices.c - finds the time slices that another program gets. They show as gaps of equal length
 * although work is queued, and as kernels into which a slice fell: these take longer than others of
 * their shape by the length of a slice.
 */
#include "base/stat.h"
#include "facts/facts.h"
#include "facts/slices.h"

enum { FEWEST = 20, /* least number of slices                                */
       SOON = 4, /* the operation that ends a gap is launched in the gap's first 1/SOON */
       SLICE_NS = 500000 }; /* shortest gap that counts; a time slice takes 1 ms or more */
/* most lengths must lie within this ratio; gaps that began before their slice are longer */
#define EQUAL 1.02
#define SLICES_SHARE 0.03 /* least share of the window that the gaps take     */

struct gaps { /* gaps of a GPU while work is queued, then kernels that take longer */
	size_t n, ngaps, most; /* most: room                                 */
	uint32_t *op; /* by gap, the operation that ends it; by kernel, the kernel */
	int64_t *ns, *busy_ns; /* busy_ns: from one gap to the next          */
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

	x->most = NSX_MIN(dev->nops, (size_t)((w.end_ns - w.start_ns) / SLICE_NS + 1));
	if (nsx_new_arrays(scratch, x->most, "gaps", err, x->op, x->ns, x->busy_ns))
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
			}
			from_ns = start_ns;
		}
		end_ns = NSX_MAX(end_ns, nsx_op_end(&t->ops, i));
	}
	x->ngaps = x->n;
	return 0;
}

/* Adds kernels that take longer than most of their shape by a slice or more; the lengths of most
 * must be near the shortest. None are added if one kernel makes up half of all: it may sometimes
 * have more work.
 */
static int list_stretched(const struct nsx_trace *t, const struct nsx_device *dev,
			  struct nsx_window w, struct nsx_arena *scratch, struct gaps *x,
			  struct nsx_err *err)
{
	uint32_t first = nsx_first_op(t, dev, w.start_ns), end = nsx_first_op(t, dev, w.end_ns);
	struct kind { int64_t least_ns, ns; size_t n, nlong; } *v, *s;
	size_t of_name = 0, votes = 0;
	nsx_str name = 0;
	bool is_long;

	if (!nsx_new_array(v, scratch, t->nshapes, "kernels", err))
		return err->rc;
	for (unsigned pass = 0; pass < 3; pass++)
		for (uint32_t i = first; i < end; i++) {
			int64_t ns = nsx_op_ns(&t->ops, i);

			if (t->ops.kind[i] != NSX_OP_KERNEL)
				continue;
			s = &v[nsx_op_detail(&t->ops, i)];
			is_long = ns - s->least_ns >= SLICE_NS;
			if (!pass) {
				s->least_ns = s->n++ ? NSX_MIN(s->least_ns, ns) : ns;
			} else if (pass == 1) {
				s->nlong += is_long;
				s->ns += is_long ? 0 : ns;
			} else if (is_long && 2 * s->nlong < s->n && x->n < x->most) {
				x->op[x->n] = i;
				x->ns[x->n++] = ns - s->ns / (int64_t)(s->n - s->nlong);
			}
		}
	for (size_t i = x->ngaps; i < x->n; i++) {
		name = votes ? name : nsx_op_name(t, x->op[i]);
		votes += nsx_op_name(t, x->op[i]) == name ? 1 : -1;
	}
	for (size_t i = x->ngaps; i < x->n; i++)
		of_name += nsx_op_name(t, x->op[i]) == name;
	if (2 * of_name >= x->n)
		x->n = x->ngaps;
	return 0;
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
	int64_t sum_ns = 0;

	*ret = (struct nsx_slices){.device = device};
	if (list_queued_gaps(t, dev, w, scratch, &x, err) ||
	    (x.n && list_stretched(t, dev, w, scratch, &x, err)))
		return err->rc;
	for (size_t i = 0; i < x.n; i++)
		nsx_add_to(&sum_ns, x.ns[i]);
	if (x.n < FEWEST || (double)sum_ns < SLICES_SHARE * (double)(w.end_ns - w.start_ns) ||
	    nsx_quantile(x.ns, x.n, 0.75) > EQUAL * nsx_quantile(x.ns, x.n, 0.1) ||
	    are_at_one_kernel(t, dev, w, &x))
		return 0;
	ret->n = x.ngaps;
	ret->nstretched = x.n - x.ngaps;
	ret->sum_ns = sum_ns;
	ret->gap_ns = nsx_quantile(x.ns, x.n, 0.5);
	ret->busy_ns = nsx_quantile(x.busy_ns, x.ngaps, 0.5);
	return 0;
}
