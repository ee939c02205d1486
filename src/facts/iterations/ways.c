/* ways.c - shared by the finders of iterations: scores a way, and groups each process's work. */
#include "facts/iterations/iterations.h"
#include "base/stat.h"

/* Shared by the finders -------------------------------------------------------- */

/* The coefficient of variation without the longest quarter, because slow iterations, or a pause
 * after every fifth iteration, do not make a loop irregular.
 */
static double trimmed_cv(int64_t *d, size_t n)
{
	size_t kept = n - NSX_MAX(n / 4, n > 2), used = 0;
	double limit = nsx_quantile(d, n, n > 1 ? (double)(kept - 1) / (double)(n - 1) : 0);
	double mean = 0;

	for (size_t i = 0; i < n; i++)
		if ((double)d[i] <= limit) {
			d[used] = d[i];
			mean += (double)d[used++];
		}
	mean /= (double)used;
	return nsx_stddev(d, used) / mean;
}

/* Fills d with the lengths from start to next start of marks [from, to). Returns the longest. */
static int64_t ways_list_lengths(const struct nsx_way *w, size_t from, size_t to, int64_t *d)
{
	int64_t longest = 0;

	for (size_t i = from; i < to; i++) {
		d[i - from] = w->marks[i + 1].start_ns - w->marks[i].start_ns;
		longest = NSX_MAX(longest, d[i - from]);
	}
	return longest;
}

/* The number of warm-up iterations: those at the beginning that are more than a quarter longer than
 * the median; at most a third of all. Compiling and loading make them long, which does not make the
 * loop irregular.
 */
static size_t count_warm_up(const int64_t *d, size_t n, double median)
{
	size_t i = 0;

	while (i < n / 3 && (double)d[i] > 1.25 * median)
		i++;
	return i;
}

int nsx_measure_way(struct nsx_way *w, struct nsx_err *err)
{
	size_t n = w->n - 1, first;
	NSX_AT_EXIT(nsx_free_at) int64_t *d =
		nsx_try_alloc(n, sizeof(*d), "iteration lengths", err);
	int64_t longest;
	double median, rest;

	if (!d)
		return err->rc;
	ways_list_lengths(w, 0, n, d);
	median = nsx_quantile(d, n, 0.5);
	ways_list_lengths(w, 0, n, d); /* the quantile has reordered them */
	first = count_warm_up(d, n, median);
	longest = ways_list_lengths(w, first, n, d);
	n -= first;
	rest = (double)(w->marks[w->n - 1].start_ns - w->marks[first].start_ns - longest);
	median = nsx_quantile(d, n, 0.5);
	w->cv = trimmed_cv(d, n);
	w->regularity = NSX_MIN(1, (double)w->n / 8) / (1 + w->cv);
	if (rest > 0)
		w->regularity *= NSX_MIN(1, (double)(n - 1) * median / rest);
	return 0;
}

int nsx_keep_way(struct nsx_finder *fd, struct nsx_way *w, double trust,
		 double max_cv, struct nsx_err *err)
{
	w->score = w->coverage * w->regularity * trust;
	return !(w->cv <= max_cv) ? 0 : nsx_push(fd->v, fd->n, fd->cap,
						     "iteration candidates", err, *w);
}

/* The share of the process's work inside [start, end). */
static double gpu_share_within(const struct nsx_finder *fd, uint32_t process,
			       int64_t start_ns, int64_t end_ns)
{
	const struct nsx_ops *o = &fd->t->ops;
	int64_t inside = 0;

	for (size_t k = fd->ops_at[process]; k < fd->ops_at[process + 1]; k++) {
		int64_t a = NSX_MAX(nsx_op_start(o, fd->ops[k]), start_ns);
		int64_t b = NSX_MIN(nsx_op_end(o, fd->ops[k]), end_ns);

		if (a < b)
			nsx_add_to(&inside, NSX_MIN(b - a, nsx_work_ns(fd, fd->ops[k])));
	}
	return fd->gpu_ns[process] ? (double)inside / (double)fd->gpu_ns[process] : 0;
}

int nsx_add_way_from_starts(struct nsx_finder *fd, struct nsx_way *w,
			    const int64_t *start_ns, size_t n, int64_t end_ns,
			    double trust, double max_cv, struct nsx_err *err)
{
	w->n = n;
	if (!nsx_new_array(w->marks, fd->a, n, "iterations", err))
		return err->rc;
	for (size_t i = 0; i < n; i++)
		w->marks[i] = (struct nsx_span){
			start_ns[i], i + 1 < n ? start_ns[i + 1] : end_ns};
	w->coverage = gpu_share_within(fd, w->process, start_ns[0], end_ns);
	return nsx_measure_way(w, err) ?: nsx_keep_way(fd, w, trust, max_cv, err);
}

/* Work by process ------------------------------------------------------------*/

static uint32_t ways_process_of(const struct nsx_trace *t, size_t op)
{
	return NSX_MIN(nsx_op_process(t, op), t->nprocesses);
}

int64_t nsx_work_ns(const struct nsx_finder *fd, uint32_t op)
{
	int64_t ns = nsx_op_ns(&fd->t->ops, op);

	return fd->t->ops.cls[op] == NSX_C_COMM ?
		       NSX_MIN(ns, fd->comm_ns[ways_process_of(fd->t, op)]) : ns;
}

/* Computes a process's comm_ns and then its gpu_ns, which depends on it. d: scratch. */
static void ways_sum_work(struct nsx_finder *fd, uint32_t p, int64_t *d)
{
	const struct nsx_trace *t = fd->t;
	size_t n = 0;

	for (size_t k = fd->ops_at[p]; k < fd->ops_at[p + 1]; k++)
		if (t->ops.cls[fd->ops[k]] == NSX_C_COMM)
			d[n++] = nsx_op_ns(&t->ops, fd->ops[k]);
	if (n)
		fd->comm_ns[p] = nsx_to_i64(nsx_quantile(d, n, 0.5));
	for (size_t k = fd->ops_at[p]; k < fd->ops_at[p + 1]; k++)
		nsx_add_to(&fd->gpu_ns[p], nsx_work_ns(fd, fd->ops[k]));
}

static void find_main_streams(struct nsx_finder *fd)
{
	const struct nsx_trace *t = fd->t;
	int64_t *ns;

	nsx_few(ns, fd->a, t->nstreams);
	for (size_t i = 0; i < t->ops.n; i++)
		if (t->ops.cls[i] == NSX_C_COMPUTE)
			nsx_add_to(&ns[nsx_op_stream(&t->ops, i)], nsx_op_ns(&t->ops, i));
	for (uint32_t p = 0; p <= t->nprocesses; p++)
		fd->main_stream[p] = NSX_NONE;
	for (uint32_t s = 0; s < t->nstreams; s++) {
		uint32_t *best = &fd->main_stream[NSX_MIN(t->stream[s].process, t->nprocesses)];

		if (ns[s] && (*best == NSX_NONE || ns[s] > ns[*best]))
			*best = s;
	}
}

int nsx_group_work(struct nsx_finder *fd, struct nsx_err *err)
{
	const struct nsx_trace *t = fd->t;
	size_t n = (size_t)t->nprocesses + 1;
	NSX_AT_EXIT(nsx_free_at) int64_t *d =
		nsx_try_alloc(t->ops.n, sizeof(*d), "communication kernels", err);

	nsx_few(fd->ops_at, fd->a, n + 2);
	nsx_few(fd->gpu_ns, fd->a, n);
	nsx_few(fd->comm_ns, fd->a, n);
	nsx_few(fd->main_stream, fd->a, n);
	if (!d || nsx_new_arrays(fd->a, t->ops.n, "GPU work", err, fd->ops))
		return err->rc;
	NSX_DEAL(fd->ops_at, fd->ops, n, t->ops.n, i,
		 t->ops.flags[i] & NSX_OP_PEER ? NSX_NONE : ways_process_of(t, i));
	for (uint32_t p = 0; p < n; p++)
		ways_sum_work(fd, p, d);
	find_main_streams(fd);
	return 0;
}
