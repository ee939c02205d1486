/* report_kinds.c - steps of an inference engine on all ranks, by kind and size. */
#include <inttypes.h>
#include "base/figures.h"
#include "base/stat.h"
#include "facts/steps/steps.h"
#include "fleet/report.h"

enum { MOST_ROWS = 64 };

struct kind { /* steps of one kind and size on one rank */
	const struct nsx_dkind *k;
	int64_t rank; /* number of that rank */
};

static int report_kinds_cmp_kind(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;

	return NSX_CMP(x->k->kind, y->k->kind) ?: NSX_CMP(x->k->size, y->k->size) ?:
	       NSX_CMP(x->rank, y->rank);
}

static bool report_kinds_is_alike(const struct kind *a, const struct kind *b)
{
	return a->k->kind == b->k->kind && a->k->size == b->k->size;
}

static void add_size(int64_t size, struct nsx_buf *b)
{
	if (size < 2)
		nsx_buf_adds(b, size < 0 ? "all" : "1");
	else
		nsx_buf_printf(b, "%" PRId64 "-%" PRId64, size, 2 * size - 1);
}

static void report_kinds_add_row(const struct nsx_freport *r, const struct kind *v, size_t n,
				 int64_t *ns, struct nsx_buf *b)
{
	const struct kind *slowest = v;
	int64_t count = 0;

	for (size_t i = 0; i < n; i++) {
		ns[i] = v[i].k->p50_ns;
		nsx_add_to(&count, v[i].k->count);
		if (v[i].k->p50_ns > slowest->k->p50_ns)
			slowest = &v[i];
	}
	nsx_buf_printf(b, "| %s | ", nsx_step_kinds[v->k->kind]);
	add_size(v->k->size, b);
	nsx_buf_printf(b, " | %zu | %" PRId64 " | %s | %s | %" PRId64 " |\n", n, count,
		       nsx_text_ns(r->arena, nsx_quantile(ns, n, 0.5)),
		       nsx_text_ns(r->arena, (double)slowest->k->p50_ns), slowest->rank);
}

void nsx_freport_kinds(const struct nsx_freport *r, struct nsx_buf *b)
{
	struct kind *v;
	int64_t *ns;
	size_t n = 0, rows = 0;

	for (uint32_t i = 0; i < r->f->nranks; i++)
		n += r->f->rank[i].d->nkinds;
	if (!n)
		return;
	v = nsx_arena_get(r->arena, n * sizeof(*v));
	ns = nsx_arena_get(r->arena, n * sizeof(*ns));
	n = 0;
	for (uint32_t i = 0; i < r->f->nranks; i++)
		for (size_t k = 0; k < r->f->rank[i].d->nkinds; k++)
			v[n++] = (struct kind){&r->f->rank[i].d->kinds[k],
					       r->f->rank[i].number};
	nsx_sort(v, n, sizeof(*v), report_kinds_cmp_kind);
	nsx_buf_adds(b, "\n## Steps by kind\n\nSteps of an engine, which ranges name, by what "
			"they did and how many requests or tokens: the median of each "
			"rank's GPU time of a step.\n\n"
			"| steps | size | ranks | count | median rank | slowest | its rank |\n"
			"|---|---:|---:|---:|---:|---:|---:|\n");
	NSX_EACH_RUN(i, next, n, report_kinds_is_alike(&v[i], &v[next]))
		if (rows++ < MOST_ROWS)
			report_kinds_add_row(r, v + i, next - i, ns, b);
}
