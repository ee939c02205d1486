/* units.c - finds units of work by the ways of a trace, and by the user's patterns. */
#include "base/regex.h"
#include "facts/iterations/iterations.h"
#include "facts/iterations/units.h"

/* All ways ----------------------------------------------------------------------*/

NSX_ORDER(cmp_weights, struct nsx_weighed_way, DOWN(weight), UP(way));

static int add_units_of_way(struct nsx_finder *fd, const struct nsx_way *way, double score,
			    struct nsx_arena *a, struct nsx_units *ret, struct nsx_err *err)
{
	const struct nsx_window *w = &fd->f->steady.window;
	int rc = nsx_project_way(fd, way, a, &ret->v, &ret->n, err);

	ret->name = nsx_fact_text(fd->f, way->name);
	ret->score = score;
	for (size_t i = 0; !rc && i < ret->n; i++)
		ret->v[i].steady = ret->v[i].start_ns >= w->start_ns &&
				   ret->v[i].end_ns <= w->end_ns;
	return rc;
}

static int add_best_ways(struct nsx_finder *fd, struct nsx_arena *a,
			 struct nsx_units *ret, size_t *ret_n, struct nsx_err *err)
{
	struct nsx_weighed_way w[NSX_MAX_DISTINCT_WAYS];
	size_t n = nsx_weigh_ways(fd, w);
	int rc = 0;

	nsx_sort(w, n, sizeof(*w), cmp_weights);
	for (size_t i = 0; !rc && i < n && *ret_n < NSX_MAX_UNITS &&
			   w[i].weight >= NSX_MIN_WAY_SCORE; i++) {
		const struct nsx_way *way = &fd->v[w[i].way];

		ret[*ret_n].method = way->method;
		rc = add_units_of_way(fd, way, w[i].weight, a, &ret[*ret_n], err);
		*ret_n += !rc && ret[*ret_n].n;
	}
	return rc;
}

/* By pattern --------------------------------------------------------------------*/

struct named {
	struct nsx_finder *fd;
	const char *shown; /* the pattern as typed, which may be a name as reports show it */
	struct nsx_regex *pattern;
	uint8_t *matches; /* for each text: 0: unknown, 1: no, 2: yes */
};

static bool name_matches_pattern(struct named *m, nsx_str text)
{
	const char *name = nsx_text(m->fd->t, text);
	uint8_t *known = &m->matches[text];

	if (!*known)
		*known = nsx_is_shown_as(name, m->shown) ||
					 nsx_regex_matches(m->pattern, name) ?
				 2 : 1;
	return *known == 2;
}

NSX_ORDER(cmp_marks, struct nsx_span, UP(start_ns), UP(end_ns));

/* Marks the matching ranges on all threads of a process, except those inside another one. Returns
 * their number.
 */
static size_t mark_ranges(struct named *m, uint32_t process, struct nsx_span *marks)
{
	const struct nsx_trace *t = m->fd->t;
	size_t n = 0, kept = 0;

	for (uint32_t h = 0; h < t->nthreads; h++) {
		const struct nsx_thread *th = &t->thread[h];

		if (th->process != process)
			continue;
		for (size_t i = th->nvtx_at; i < (size_t)th->nvtx_at + th->nnvtx; i++)
			if (t->nvtx.kind[i] != NSX_NVTX_MARK &&
			    name_matches_pattern(m, t->nvtx.name[i]))
				marks[n++] = (struct nsx_span){
					nsx_range_start(&t->nvtx, i),
					nsx_range_end(&t->nvtx, i)};
	}
	nsx_sort(marks, n, sizeof(*marks), cmp_marks);
	for (size_t i = 0; i < n; i++)
		if (!kept || marks[i].start_ns >= marks[kept - 1].end_ns)
			marks[kept++] = marks[i];
	return kept;
}

/* Makes marks that reach from one matching kernel of a process to the next. The last mark ends with
 * the process's work.
 */
static size_t mark_kernels(struct named *m, uint32_t process, struct nsx_span *marks)
{
	const struct nsx_finder *fd = m->fd;
	const struct nsx_ops *o = &fd->t->ops;
	int64_t end_ns = INT64_MIN;
	size_t n = 0;

	for (size_t k = fd->ops_at[process]; k < fd->ops_at[process + 1]; k++) {
		uint32_t op = fd->ops[k];

		end_ns = NSX_MAX(end_ns, nsx_op_end(o, op));
		if (o->kind[op] == NSX_OP_KERNEL && name_matches_pattern(m, nsx_op_name(fd->t, op)))
			marks[n++].start_ns = nsx_op_start(o, op);
	}
	nsx_sort(marks, n, sizeof(*marks), cmp_marks);
	for (size_t i = 0; i < n; i++)
		marks[i].end_ns = i + 1 < n ? marks[i + 1].start_ns : end_ns;
	return n;
}

static int mark_matches(struct named *m, enum nsx_unit_kind kind, struct nsx_err *err)
{
	struct nsx_finder *fd = m->fd;
	const struct nsx_trace *t = fd->t;

	fd->n = 0;
	for (uint32_t p = 0; p <= t->nprocesses; p++) {
		struct nsx_way w = {.method = kind == NSX_UNIT_NVTX ?
						      NSX_WAY_NVTX :
						      NSX_WAY_SEQUENCE,
				    .process = p};
		size_t most = kind == NSX_UNIT_NVTX ? t->nvtx.n : fd->ops_at[p + 1] - fd->ops_at[p];

		if (fd->ops_at[p] == fd->ops_at[p + 1])
			continue;
		if (!nsx_new_array(w.marks, fd->a, most, "units", err))
			return err->rc;
		w.n = kind == NSX_UNIT_NVTX ? mark_ranges(m, p, w.marks) :
					      mark_kernels(m, p, w.marks);
		if (w.n && nsx_push(fd->v, fd->n, fd->cap, "units", err, w))
			return err->rc;
	}
	return 0;
}

static int find_units_by_pattern(struct nsx_finder *fd, const struct nsx_unit_choice *c,
				 struct nsx_arena *a, struct nsx_units *ret,
				 size_t *ret_n, struct nsx_err *err)
{
	struct named m = {.fd = fd, .shown = c->pattern};
	int rc;

	if (nsx_regex_new(c->pattern, &m.pattern, err))
		return nsx_wrap(err, "cannot use the pattern '%s'", c->pattern);
	rc = nsx_new_arrays(fd->a, nsx_strings_bound(fd->f->strings), "names",
			    err, m.matches) ?:
	     mark_matches(&m, c->kind, err);
	nsx_regex_free(m.pattern);
	for (size_t i = 0; i < fd->n; i++)
		ret->nmarks += fd->v[i].n;
	if (rc || !fd->n)
		return rc;
	ret->method = c->kind == NSX_UNIT_NVTX ? NSX_WAY_NVTX : NSX_WAY_KERNEL;
	rc = add_units_of_way(fd, &fd->v[0], 1, a, ret, err);
	ret->name = c->pattern;
	*ret_n = !rc && ret->n;
	return rc;
}

/* Rebuilds f->busy, which was freed, as the inverse of idle time. */
static int fill_busy(const struct nsx_trace *t, struct nsx_facts *f,
		     struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_window *w = &t->window;

	nsx_few(f->busy, a, t->ndevices);
	for (uint32_t d = 0; d < t->ndevices; d++) {
		struct nsx_spans gaps;

		if (nsx_idle_spans(&f->idle[d], w, a, &gaps, err) ||
		    nsx_spans_gaps(a, &gaps, w->start_ns, w->end_ns, &f->busy[d], err))
			return err->rc;
	}
	return 0;
}

int nsx_units_find(const struct nsx_trace *t, struct nsx_facts *f,
		   const struct nsx_unit_choice *c, struct nsx_arena *a,
		   struct nsx_units *ret, size_t *ret_n, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *scratch = nsx_arena_new();
	struct nsx_finder fd = {.t = t, .f = f, .a = scratch};
	int rc;

	*ret_n = 0;
	if (c->kind == NSX_UNIT_AUTO && !f->iteration_method)
		return 0; /* searched before without success */
	rc = fill_busy(t, f, scratch, err);
	if (c->kind == NSX_UNIT_AUTO)
		rc = rc ?: nsx_find_ways(&fd, c->threads, err) ?:
			   add_best_ways(&fd, a, ret, ret_n, err);
	else
		rc = rc ?: nsx_group_work(&fd, err) ?: find_units_by_pattern(&fd, c, a, ret,
									     ret_n, err);
	f->busy = NULL;
	free(fd.v);
	return rc;
}
