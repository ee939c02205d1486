/* columns.c - sets of columns of equal length: allocation, growth, sorting. */
#include "trace/load.h"

int nsx_colset_alloc(struct nsx_colset *c, struct nsx_arena *a, size_t n, struct nsx_err *err)
{
	if (n >= NSX_NONE)
		return nsx_fail(err, NSX_E_NOMEM, "cannot hold %zu %s: at most 2^32 - 2", n,
				c->what);
	for (unsigned i = 0; c->cols[i].at; i++) {
		*c->cols[i].at = nsx_arena_try_array(a, n, c->cols[i].size, c->what, err);
		if (!*c->cols[i].at)
			return err->rc;
	}
	c->n = n;
	return 0;
}

int nsx_colset_grow(struct nsx_colset *c, struct nsx_arena *a, size_t more, struct nsx_err *err)
{
	for (unsigned i = 0; c->cols[i].at; i++) {
		void *old = *c->cols[i].at;
		void *p = nsx_arena_try_array(a, c->n + more, c->cols[i].size, c->what, err);

		if (!p)
			return err->rc;
		memcpy(p, old, c->n * c->cols[i].size);
		*c->cols[i].at = p;
		nsx_arena_drop(a, old);
	}
	c->n += more;
	return 0;
}

void nsx_colset_move(struct nsx_colset *c, size_t to, size_t from, size_t n)
{
	for (unsigned i = 0; c->cols[i].at && to != from; i++) {
		char *p = *c->cols[i].at;
		size_t size = c->cols[i].size;

		memmove(p + to * size, p + from * size, n * size);
	}
}

static bool columns_is_sorted(size_t n, nsx_row_cmp cmp, const void *ctx)
{
	for (size_t i = 1; i < n; i++)
		if (cmp(ctx, (uint32_t)i - 1, (uint32_t)i) > 0)
			return false;
	return true;
}

struct by_row {
	nsx_row_cmp cmp;
	const void *ctx;
};

NSX_ORDER_IN(cmp_rows_by_order, uint32_t, struct by_row, BY(c->cmp(c->ctx, *x, *y)));

/* Puts each column into the given order. Values are copied, because a copy reads at random but
 * writes in order; a permutation in place would do both at random. Four bytes of each value are
 * copied at a time, so that no more memory is needed than for the merge before.
 */
static int columns_permute(struct nsx_colset *c, const uint32_t *order, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) char *tmp = nsx_try_alloc(c->n, 4, "a sorted column", err);

	if (!tmp)
		return err->rc;
#define GATHER(bytes)                                                         \
	do {                                                                  \
		for (size_t i = 0; i < c->n; i++)                             \
			memcpy(tmp + i * (bytes), at + order[i] * size, bytes);   \
		for (size_t i = 0; i < c->n; i++)                             \
			memcpy(at + i * size, tmp + i * (bytes), bytes);          \
	} while (0)
	for (unsigned k = 0; c->cols[k].at; k++) {
		size_t size = c->cols[k].size;
		char *at = *c->cols[k].at, *end = at + size;

		if (size == 1)
			GATHER(1);
		else
			for (; at < end; at += 4)
				GATHER(4);
	}
#undef GATHER
	return 0;
}

int nsx_colset_sort(struct nsx_colset *c, nsx_row_group group, size_t ngroups,
		    nsx_row_cmp cmp, const void *ctx, struct nsx_err *err)
{
	struct by_row by = {cmp, ctx};
	NSX_AT_EXIT(nsx_free_at) uint32_t *order = NULL, *at = NULL;

	if (columns_is_sorted(c->n, cmp, ctx))
		return 0;
	order = nsx_try_alloc(c->n, sizeof(*order), "a row order", err);
	if (!order)
		return err->rc;
	at = nsx_alloc(ngroups + 3, sizeof(*at));
	NSX_DEAL(at, order, NSX_MAX(ngroups, 1), c->n, i, group ? group(ctx, i) : 0);
	nsx_sort_r(order, c->n, sizeof(*order), cmp_rows_by_order, &by);
	return columns_permute(c, order, err);
}
