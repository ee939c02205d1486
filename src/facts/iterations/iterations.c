/* iterations.c - finds the repetition in a program.
 *
 * Several finders propose ways to recognise iterations, each with a score. The way with the best
 * score over all processes wins, if the score is at least NSX_MIN_WAY_SCORE. Its marks are applied
 * to each GPU: an iteration of a GPU begins with the first work launched in a mark.
 */
#include "facts/iterations/iterations.h"
#include "base/par.h"
#include "base/stat.h"

const char *const nsx_way_methods[NSX_NWAYS] = {
	[NSX_WAY_NONE] = "", [NSX_WAY_NVTX] = "nvtx", [NSX_WAY_SEQUENCE] = "sequence",
	[NSX_WAY_GRAPH] = "graph_replay", [NSX_WAY_COMM] = "collective",
	[NSX_WAY_GAPS] = "gaps", [NSX_WAY_KERNEL] = "kernel",
	[NSX_WAY_LAUNCH] = "launch", [NSX_WAY_WINDOW] = "window",
};

/* Choosing -----------------------------------------------------------------------*/

NSX_ORDER_IN(cmp_ways, struct nsx_way, struct nsx_facts, DOWN(x->score), UP(x->method),
	     TEXT(nsx_strings_text(c->strings, x->name)), UP(x->process), UP(x->marks->start_ns));

/* Whether two ways, perhaps of two processes, are the same: the method is, and for ranges the name.
 * Other methods' names mean nothing to the user.
 */
static bool is_same_way(const struct nsx_way *x, const struct nsx_way *y)
{
	return x->method == y->method && (x->method != NSX_WAY_NVTX || x->name == y->name);
}

/* The score of a way over all processes: the sum of its scores, weighted by the GPU time of their
 * processes. Ways are sorted by score, so each process counts with its best. stamp is scratch, by
 * process.
 */
static double score_over_processes(const struct nsx_finder *fd, size_t way, double all_ns,
				   size_t *stamp)
{
	double sum = 0;

	for (size_t i = way; i < fd->n; i++) {
		const struct nsx_way *w = &fd->v[i];

		if (!is_same_way(w, &fd->v[way]) || stamp[w->process] == way + 1)
			continue;
		stamp[w->process] = way + 1;
		sum += w->score * (double)fd->gpu_ns[w->process] / all_ns;
	}
	return sum;
}

/* Sums the length of a way's marks. An enclosing range has more of it than the ranges inside. */
static int64_t total_mark_ns(const struct nsx_way *w)
{
	int64_t sum = 0;

	for (size_t i = 0; i < w->n; i++)
		nsx_add_to(&sum, w->marks[i].end_ns - w->marks[i].start_ns);
	return sum;
}

size_t nsx_weigh_ways(const struct nsx_finder *fd, struct nsx_weighed_way *ret)
{
	double all_ns = 0;
	size_t n = 0, *stamp;

	nsx_few(stamp, fd->a, (size_t)fd->t->nprocesses + 1);
	for (uint32_t p = 0; p <= fd->t->nprocesses; p++)
		all_ns += (double)fd->gpu_ns[p];
	for (size_t i = 0; i < fd->n && n < NSX_MAX_DISTINCT_WAYS; i++) {
		size_t k = 0;

		while (k < n && !is_same_way(&fd->v[ret[k].way], &fd->v[i]))
			k++;
		if (k == n)
			ret[n++] = (struct nsx_weighed_way){
				i, score_over_processes(fd, i, all_ns, stamp)};
	}
	return n;
}

/* The index of the chosen way: the best one or, among NVTX ranges that are nearly as good, the
 * outermost. NSX_NONE: none is good enough.
 */
static size_t choose_way(const struct nsx_finder *fd)
{
	struct nsx_weighed_way w[NSX_MAX_DISTINCT_WAYS];
	size_t n = nsx_weigh_ways(fd, w), best = NSX_NONE;
	double top = NSX_MIN_WAY_SCORE;

	for (size_t i = 0; i < n; i++)
		if (w[i].weight >= top && (best == NSX_NONE || w[i].weight > top)) {
			best = w[i].way;
			top = w[i].weight;
		}
	if (best == NSX_NONE || fd->v[best].method != NSX_WAY_NVTX)
		return best;
	for (size_t i = 0; i < n; i++)
		if (fd->v[w[i].way].method == NSX_WAY_NVTX &&
		    w[i].weight >= 0.95 * top &&
		    total_mark_ns(&fd->v[w[i].way]) > total_mark_ns(&fd->v[best]))
			best = w[i].way;
	return best;
}

/* Iterations of GPUs ------------------------------------------------------------- */

struct rows {
	struct nsx_iteration *v;
	size_t n, cap;
};

struct hull {
	struct nsx_span all;  /* from the first start to the last end of a mark's operations */
	struct nsx_span work; /* the same for its kernels and graph replays only */
};

static void widen_span_by_op(struct nsx_span *s, const struct nsx_ops *o, uint32_t op)
{
	s->end_ns = NSX_MAX(s->end_ns, nsx_op_end(o, op));
	if (!(o->flags[op] & NSX_OP_CUT))
		s->start_ns = NSX_MIN(s->start_ns, nsx_op_start(o, op));
}

/* Finds the span of those of n operations that were launched in each mark. */
static void find_mark_hulls(const struct nsx_finder *fd, const struct nsx_way *w,
			    const uint32_t *ops, size_t n, struct hull *hull)
{
	const struct nsx_span none = {INT64_MAX, INT64_MIN};
	const struct nsx_trace *t = fd->t;

	for (size_t m = 0; m < w->n; m++)
		hull[m] = (struct hull){none, none};
	for (size_t k = 0; k < n; k++) {
		uint32_t op = ops[k], call = nsx_op_call(&t->ops, op);
		int64_t at = nsx_op_start(&t->ops, op);
		size_t m;

		if (w->method == NSX_WAY_NVTX && call == NSX_NONE)
			continue;
		if (w->method == NSX_WAY_NVTX)
			at = nsx_call_start(&t->calls, call);
		m = NSX_SEARCH(0, w->n, mid, w->marks[mid].start_ns <= at);
		if (!m || at >= w->marks[--m].end_ns)
			continue;
		widen_span_by_op(&hull[m].all, &t->ops, op);
		if (t->ops.kind[op] == NSX_OP_KERNEL || t->ops.kind[op] == NSX_OP_GRAPH)
			widen_span_by_op(&hull[m].work, &t->ops, op);
	}
}

/* Adds the iterations of a device. A copy that runs beside work of an earlier iteration does not
 * begin a new one.
 */
static int add_iterations(const struct nsx_way *w, const struct hull *hull,
			  uint32_t process, uint32_t device, struct rows *rows, struct nsx_err *err)
{
	struct nsx_iteration *open = NULL;
	int64_t done_ns = INT64_MIN;

	for (size_t m = 0; m < w->n; m++) {
		int64_t start_ns = NSX_MIN(NSX_MAX(hull[m].all.start_ns, done_ns),
					   hull[m].work.start_ns);

		if (hull[m].work.start_ns == INT64_MAX)
			start_ns = hull[m].all.start_ns;
		done_ns = NSX_MAX(done_ns, hull[m].work.end_ns);
		if (start_ns == INT64_MAX || (open && start_ns <= open->start_ns))
			continue;
		if (open)
			open->end_ns = start_ns;
		if (nsx_push(rows->v, rows->n, rows->cap, "iterations", err,
			     (struct nsx_iteration){
				     .process = process, .device = device,
				     .start_ns = start_ns,
				     .end_ns = hull[m].all.end_ns}))
			return err->rc;
		open = &rows->v[rows->n - 1];
	}
	return 0;
}

static int apply_way_to_process(struct nsx_finder *fd, const struct nsx_way *w,
				struct rows *rows, struct nsx_err *err)
{
	const struct nsx_trace *t = fd->t;
	const uint32_t *op = fd->ops + fd->ops_at[w->process];
	size_t n = fd->ops_at[w->process + 1] - fd->ops_at[w->process];
	uint32_t process = w->process < t->nprocesses ? w->process : NSX_NONE;
	NSX_AT_EXIT(nsx_free_at) struct hull *hull =
		nsx_try_alloc(w->n, sizeof(*hull), "iterations", err);
	int rc = hull ? 0 : err->rc;

	NSX_EACH_RUN(i, next, n, nsx_stream_of(t, op[next])->device ==
				 nsx_stream_of(t, op[i])->device) {
		if (rc)
			break;
		find_mark_hulls(fd, w, op + i, next - i, hull);
		rc = add_iterations(w, hull, process, nsx_stream_of(t, op[i])->device, rows, err);
	}
	return rc;
}

/* Marks slow iterations, which are longer than the median by a quarter and by 3 MAD (median
 * absolute deviations). The last iteration of a GPU has no next start and is not judged.
 */
static int mark_slow(struct nsx_iteration *v, size_t n, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) int64_t *d =
		nsx_try_alloc(n, sizeof(*d), "iteration lengths", err);
	double median, mad;

	if (!d)
		return err->rc;
	if (n-- < 4)
		return 0;
	for (size_t i = 0; i < n; i++)
		d[i] = v[i].end_ns - v[i].start_ns;
	mad = nsx_median_distance(d, n, &median);
	for (size_t i = 0; i < n; i++) {
		double wall = (double)(v[i].end_ns - v[i].start_ns);

		v[i].slow = wall > 1.25 * median && wall - median > 3 * mad;
	}
	return 0;
}

NSX_ORDER(cmp_iterations, struct nsx_iteration, UP(process), UP(device), UP(start_ns));

/* Copies the sorted rows to arena a. */
static int iterations_keep_rows(const struct rows *rows, struct nsx_arena *a,
				struct nsx_iteration **ret, struct nsx_err *err)
{
	struct nsx_iteration *v;

	if (!nsx_new_array(v, a, rows->n, "iterations", err))
		return err->rc;
	*ret = v;
	if (rows->n) {
		memcpy(v, rows->v, rows->n * sizeof(*v));
		nsx_sort(v, rows->n, sizeof(*v), cmp_iterations);
	}
	NSX_EACH_RUN(i, next, rows->n, v[next].process == v[i].process &&
					       v[next].device == v[i].device)
		if (mark_slow(v + i, next - i, err))
			return err->rc;
	return 0;
}

int nsx_project_way(struct nsx_finder *fd, const struct nsx_way *way,
		    struct nsx_arena *a, struct nsx_iteration **ret,
		    size_t *ret_n, struct nsx_err *err)
{
	struct rows rows = {NULL, 0, 0};
	bool *taken;
	int rc = 0;

	nsx_few(taken, fd->a, (size_t)fd->t->nprocesses + 1);
	for (size_t i = 0; !rc && i < fd->n; i++) {
		const struct nsx_way *w = &fd->v[i];

		if (!is_same_way(w, way) || taken[w->process])
			continue;
		taken[w->process] = true;
		rc = apply_way_to_process(fd, w, &rows, err);
	}
	rc = rc ?: iterations_keep_rows(&rows, a, ret, err);
	*ret_n = rows.n;
	free(rows.v);
	return rc;
}

static enum nsx_confidence confidence_of_way(const struct nsx_way *w)
{
	if (w->method == NSX_WAY_GAPS)
		return NSX_CONF_LOW;
	if (w->method == NSX_WAY_COMM || w->n < 8 || w->score < 0.6)
		return w->score < 0.5 ? NSX_CONF_LOW : NSX_CONF_MEDIUM;
	return w->score >= 0.8 ? NSX_CONF_HIGH : NSX_CONF_MEDIUM;
}

static void flag_chosen_ways(struct nsx_finder *fd, const struct nsx_way *way)
{
	struct nsx_facts *f = fd->f;

	for (size_t i = 0; i < f->ncadences; i++) {
		bool first = is_same_way(&fd->v[i], way);

		for (size_t k = 0; first && k < i; k++)
			first = fd->v[k].process != fd->v[i].process ||
				!is_same_way(&fd->v[k], way);
		f->cadences[i].chosen = first;
	}
	if (f->niterations) {
		f->iteration_method = way->method;
		f->iteration_confidence = confidence_of_way(way);
	}
}

enum { MAX_CADENCES = 20 }; /* kept for the report */

static void keep_cadences(struct nsx_finder *fd)
{
	struct nsx_facts *f = fd->f;

	f->ncadences = NSX_MIN(fd->n, (size_t)MAX_CADENCES);
	nsx_few(f->cadences, fd->keep, f->ncadences);
	for (size_t i = 0; i < f->ncadences; i++) {
		const struct nsx_way *w = &fd->v[i];

		f->cadences[i] = (struct nsx_cadence){
			.method = w->method,
			.name = w->name,
			.process = w->process < fd->t->nprocesses ? w->process : NSX_NONE,
			.n = w->n, .coverage = w->coverage, .cv = w->cv,
			.score = w->score};
	}
}

/* Runs one of the finders. Task 0 looks for ranges. Each process has two further tasks: one looks
 * for sequences, one for regular events.
 */
static int run_finder_task(void *ctx, size_t i, struct nsx_err *err)
{
	struct nsx_finder *part = (struct nsx_finder *)ctx + i;
	uint32_t process = (uint32_t)(i - 1) / 2;

	if (!i)
		return nsx_find_nvtx(part, err);
	return i % 2 ? nsx_find_sequence(part, process, err) : nsx_find_cadence(part, process, err);
}

int nsx_find_ways(struct nsx_finder *fd, unsigned threads, struct nsx_err *err)
{
	size_t n = 2 * ((size_t)fd->t->nprocesses + 1) + 1;
	struct nsx_finder *part;
	int rc;

	if (nsx_group_work(fd, err))
		return err->rc;
	nsx_few(part, fd->a, n);
	for (size_t i = 0; i < n; i++) {
		part[i] = *fd;
		part[i].a = nsx_arena_new();
	}
	rc = nsx_par(threads, n, run_finder_task, part, err);
	for (size_t i = 0; i < n; i++) {
		nsx_arena_adopt(fd->a, part[i].a);
		for (size_t k = 0; !rc && k < part[i].n; k++)
			rc = nsx_push(fd->v, fd->n, fd->cap, "iteration candidates", err,
				      part[i].v[k]);
		free(part[i].v);
	}
	if (!rc)
		nsx_sort_r(fd->v, fd->n, sizeof(*fd->v), cmp_ways, fd->f);
	return rc;
}

static void list_loops(struct nsx_facts *f, const struct nsx_trace *t, struct nsx_arena *a)
{
	const struct nsx_iteration *v = f->iterations;
	size_t most = ((size_t)t->nprocesses + 1) * t->ndevices; /* + 1: an unknown process */

	nsx_few(f->loops, a, NSX_MIN(most, f->niterations));
	NSX_EACH_RUN(i, next, f->niterations,
		     v[next].process == v[i].process && v[next].device == v[i].device)
		f->loops[f->nloops++] = (struct nsx_loop){v + i, next - i};
}

const struct nsx_loop *nsx_pacing_loop(const struct nsx_facts *f)
{
	const struct nsx_loop *best = NULL;

	for (const struct nsx_loop *l = f->loops; l < f->loops + f->nloops; l++)
		if (l->v->device == f->limiting && (!best || l->n > best->n))
			best = l;
	return best;
}

int nsx_facts_iterations(struct nsx_facts *f, const struct nsx_trace *t,
			 const struct nsx_facts_opts *o, struct nsx_arena *a, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *scratch = nsx_arena_new();
	struct nsx_finder fd = {.t = t, .f = f, .a = scratch, .keep = a};
	int rc = nsx_find_ways(&fd, o->threads, err);
	size_t best = rc ? NSX_NONE : choose_way(&fd);

	keep_cadences(&fd);
	if (best != NSX_NONE)
		rc = nsx_project_way(&fd, &fd.v[best], a, &f->iterations, &f->niterations, err);
	if (!rc && best != NSX_NONE)
		flag_chosen_ways(&fd, &fd.v[best]);
	if (!rc) {
		list_loops(f, t, a);
		rc = nsx_find_phases(&fd, err);
	}
	if (!rc)
		f->lost = nsx_lost_launches(t, &f->steady.window);
	free(fd.v);
	return rc;
}
