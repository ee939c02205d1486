/* far.c - leaves out rows of the host with times that are of no day of the session.
 *
 * Times are possible up to a day before and after all GPU work, and not far behind the end of the
 * session. If the file does not tell that end, and a call lasts far beyond all calls although its
 * own thread called again, the last call is the end. If too many rows have other times, the fault
 * lies elsewhere (a clock, a column), and any time is possible. A range that only ends too late
 * counts as one that was never closed.
 */
#include "base/stat.h"
#include "schema/viewscan.h"
#include "trace/load.h"

enum { SHARE = 16 }; /* one row in SHARE may be wrong */

#define SECOND_NS 1000000000

struct rows {
	enum nsx_view view;
	struct nsx_colset *set;
	const int64_t *start_ns, *end_ns;
	const nsx_str *name; /* NULL: rows have none */
};

static void note_session(struct nsx_loader *l, const struct nsx_val *v)
{
	l->t->session_end_ns = NSX_MAX(l->t->session_end_ns, nsx_i64_or(v, 0));
}

void nsx_count_far(struct nsx_trace *t, enum nsx_view v, size_t n, nsx_str name, int64_t at_ns)
{
	struct nsx_impossible *m = &t->impossible;

	if (!m->nfar) {
		m->far_view = v;
		m->far_name = name;
		m->far_ns = at_ns;
	}
	m->far[v] += n;
	m->nfar += n;
	__atomic_store_n(&t->schema->shifts->has_far, true, __ATOMIC_RELAXED);
}

static bool is_row_far(const struct rows *r, size_t i, const struct nsx_reach *p)
{
	return r->start_ns[i] < p->from_ns || r->end_ns[i] > p->to_ns;
}

struct counted {
	const struct nsx_reach *p;
	size_t n, nfar;
};

static bool are_few_far(const struct counted *x)
{
	return x->nfar <= x->n / SHARE + 1;
}

static struct counted count_far_rows(const struct rows *r, size_t nsets, const struct nsx_reach *p)
{
	struct counted x = {.p = p};

	for (size_t k = 0; k < nsets; x.n += r[k++].set->n)
		for (size_t i = 0; i < r[k].set->n; i++)
			x.nfar += is_row_far(&r[k], i, p);
	return x;
}

static int count_instant(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			 struct nsx_err *err NSX_UNUSED)
{
	struct counted *x = ctx;
	int64_t at_ns = nsx_i64_or(v, x->p->from_ns);

	x->n++;
	x->nfar += at_ns < x->p->from_ns || at_ns > x->p->to_ns;
	return 0;
}

/* The extent of GPU work. If it exceeds a day, records are wrong, and the middle one is most likely
 * not.
 */
static int find_extent(struct nsx_loader *l, const struct rows *ops, struct nsx_window *ret,
		       struct nsx_err *err)
{
	size_t n = ops->set->n;
	int64_t *start_ns;

	*ret = l->portion.gpu;
	if (l->portion.is_on)
		return 0;
	*ret = (struct nsx_window){INT64_MAX, INT64_MIN};
	for (size_t i = 0; i < n; i++)
		nsx_widen(ret, ops->start_ns[i], ops->end_ns[i]);
	if (!n || ret->end_ns - ret->start_ns <= NSX_DAY_NS)
		return 0;
	start_ns = nsx_try_alloc(n, sizeof(*start_ns), ops->set->what, err);
	if (!start_ns)
		return err->rc;
	memcpy(start_ns, ops->start_ns, n * sizeof(*start_ns));
	nsx_sort(start_ns, n, sizeof(*start_ns), nsx_cmp_i64);
	ret->start_ns = ret->end_ns = start_ns[n / 2];
	free(start_ns);
	return 0;
}

/* ret: when the last call began, if a call ends far behind it although its thread called again,
 * which is not possible; 0: no call does.
 */
static int find_contradicted_end(const struct nsx_loader *l, int64_t *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) int64_t *last_ns =
		nsx_try_alloc(l->threads_map.n + 1, sizeof(*last_ns), "threads", err);
	int64_t end_ns = 0;
	bool any = false;

	if (!last_ns)
		return err->rc;
	for (size_t i = 0; i < l->call_set.n; i++) {
		int64_t *own_ns = &last_ns[l->calls.thread[i]];

		*own_ns = NSX_MAX(*own_ns, l->calls.start_ns[i]);
		end_ns = NSX_MAX(end_ns, *own_ns);
	}
	for (size_t i = 0; i < l->call_set.n && !any; i++)
		any = l->calls.end_ns[i] / 2 > end_ns &&
			last_ns[l->calls.thread[i]] > l->calls.start_ns[i];
	*ret = any ? end_ns : 0;
	return 0;
}

static int find_possible_times(struct nsx_loader *l, const struct rows *ops, struct nsx_err *err)
{
	struct nsx_reach *p = &l->schema->shifts->possible, of_session;
	int64_t session_ns = l->t->session_end_ns;
	struct counted of_gpu;
	struct nsx_window gpu;

	if (find_extent(l, ops, &gpu, err) ||
	    (!session_ns && find_contradicted_end(l, &session_ns, err)))
		return err->rc;
	*p = (struct nsx_reach){true, session_ns > 0 && !ops->set->n ? -NSX_DAY_NS : -NSX_TIME_MAX,
				NSX_TIME_MAX};
	if (gpu.start_ns <= gpu.end_ns) {
		p->from_ns = NSX_MAX(p->from_ns, gpu.start_ns - NSX_DAY_NS);
		p->to_ns = NSX_MIN(p->to_ns, gpu.end_ns + NSX_DAY_NS);
	}
	of_session = *p;
	if (session_ns > 0 && session_ns < p->to_ns / 2)
		of_session.to_ns = 2 * session_ns + 1;
	of_gpu = count_far_rows(ops, 1, &of_session);
	if (l->portion.is_on ? gpu.end_ns <= of_session.to_ns : are_few_far(&of_gpu))
		*p = of_session;
	return 0;
}

/* Takes ranges that end too late as never closed, so that the steps that they mark stay. */
static void open_long_ranges(struct nsx_loader *l, const struct nsx_reach *p)
{
	for (size_t i = 0; i < l->nvtx_set.n; i++) {
		if (l->nvtx.start_ns[i] > p->to_ns || l->nvtx.end_ns[i] <= p->to_ns)
			continue;
		l->nvtx.end_ns[i] = l->nvtx.start_ns[i];
		l->nvtx.flags[i] |= NSX_NVTX_OPEN;
		l->t->impossible.nopened++;
		__atomic_store_n(&l->schema->shifts->has_far, true, __ATOMIC_RELAXED);
	}
}

/* Drops the far rows of a set. */
static void drop_far_rows(struct nsx_trace *t, const struct rows *r, const struct nsx_reach *p)
{
	size_t n = 0;

	for (size_t i = 0; i < r->set->n; i++)
		if (is_row_far(r, i, p))
			nsx_count_far(t, r->view, 1, r->name ? r->name[i] : 0, r->start_ns[i]);
		else
			nsx_colset_move(r->set, n++, i, 1);
	r->set->n = n;
}

int nsx_drop_far_rows(struct nsx_loader *l, struct nsx_err *err)
{
	const struct rows ops = {NSX_VIEW_kernel, &l->op_set, l->ops.start_ns, l->ops.end_ns, NULL};
	const struct rows host[] = {
		{NSX_VIEW_runtime, &l->call_set, l->calls.start_ns, l->calls.end_ns, l->calls.name},
		{NSX_VIEW_nvtx, &l->nvtx_set, l->nvtx.start_ns, l->nvtx.end_ns, l->nvtx.name},
		{NSX_VIEW_mpi_coll, &l->library_set, l->library.start_ns, l->library.end_ns,
		 l->library.name},
		{NSX_VIEW_sync, &l->sync_set, l->t->syncs.start_ns, l->t->syncs.end_ns, NULL},
		{NSX_VIEW_overhead, &l->overhead_set, l->t->overheads.start_ns,
		 l->t->overheads.end_ns, NULL},
	};
	const struct nsx_portion *x = &l->portion;
	struct nsx_reach *p = &l->schema->shifts->possible;
	struct counted all;

	NSX_LOAD_EACH(l, analysis, note_session, duration_ns);
	if (find_possible_times(l, &ops, err))
		return err->rc;
	if (x->is_on && x->host.start_ns <= x->host.end_ns && x->gpu.start_ns <= x->gpu.end_ns &&
	    (x->gpu.end_ns - SECOND_NS > x->host.end_ns || x->host.start_ns < p->from_ns ||
	     x->host.end_ns > p->to_ns))
		return NSX_PRESUMED_WRONG;
	all = count_far_rows(host, ARRAY_LEN(host), p);
	if (!all.n && (nsx_view_each(l->schema, osrt, count_instant, &all, err, start_ns) ||
		       nsx_view_each(l->schema, sample, count_instant, &all, err, start_ns)))
		return err->rc;
	p->is_on = are_few_far(&all);
	if (!p->is_on || x->is_on)
		return 0;
	open_long_ranges(l, p);
	for (size_t i = 0; i < ARRAY_LEN(host); i++)
		drop_far_rows(l->t, &host[i], p);
	return 0;
}
