/* trace_keys.c - interned keys and column sets. */
#include <stdlib.h>
#include <string.h>
#include "trace/load.h"

void nsx_keymap_init(struct nsx_keymap *m, const char *what)
{
	*m = (struct nsx_keymap){.what = what};
	pthread_mutex_init(&m->lock, NULL);
}

void nsx_keymap_done(struct nsx_keymap *m)
{
	free(m->keys);
	free(m->slots);
	pthread_mutex_destroy(&m->lock);
}

static size_t find_slot(const struct nsx_keymap *m, const struct nsx_key *key,
			uint64_t hash)
{
	size_t i = hash & (m->nslots - 1);

	while (m->slots[i] &&
	       memcmp(&m->keys[m->slots[i] - 1], key, sizeof(*key)))
		i = (i + 1) & (m->nslots - 1);
	return i;
}

static int grow_slots(struct nsx_keymap *m, struct nsx_err *err)
{
	size_t n = m->nslots ? 2 * m->nslots : 64;
	uint32_t *slots = nsx_try_alloc(n, sizeof(*slots), m->what, err);

	if (!slots)
		return err->rc;
	free(m->slots);
	m->slots = slots;
	m->nslots = n;
	for (size_t id = 0; id < m->n; id++)
		slots[find_slot(m, &m->keys[id],
				nsx_hash(&m->keys[id], sizeof(*m->keys)))] =
			(uint32_t)id + 1;
	return 0;
}

static int add_locked(struct nsx_keymap *m, const struct nsx_key *key,
		      uint64_t hash, uint32_t *ret, struct nsx_err *err)
{
	size_t slot;

	if (m->nslots < 2 * (m->n + 1) && grow_slots(m, err))
		return err->rc;
	slot = find_slot(m, key, hash);
	if (!m->slots[slot]) {
		if (m->n >= UINT32_MAX - 1)
			return nsx_fail(err, NSX_E_NOMEM, "too many %s",
					m->what);
		if (nsx_grow(&m->keys, &m->cap, m->n + 1, sizeof(*key),
			     m->what, err))
			return err->rc;
		m->keys[m->n] = *key;
		m->slots[slot] = (uint32_t)++m->n;
	}
	*ret = m->slots[slot] - 1;
	return 0;
}

int nsx_keymap_add(struct nsx_keymap *m, struct nsx_keycache *c,
		   const struct nsx_key *key, uint32_t *ret,
		   struct nsx_err *err)
{
	uint64_t hash = nsx_hash(key, sizeof(*key));
	size_t at = hash >> 56;
	int rc;

	if (c->ids[at] && !memcmp(&c->keys[at], key, sizeof(*key))) {
		*ret = c->ids[at] - 1;
		return 0;
	}
	pthread_mutex_lock(&m->lock);
	rc = add_locked(m, key, hash, ret, err);
	pthread_mutex_unlock(&m->lock);
	if (rc)
		return rc;
	c->keys[at] = *key;
	c->ids[at] = *ret + 1;
	return 0;
}

static int cmp_keys(const void *a, const void *b, void *ctx)
{
	const struct nsx_key *keys = ctx;
	const struct nsx_key *x = &keys[*(const uint32_t *)a];
	const struct nsx_key *y = &keys[*(const uint32_t *)b];

	for (unsigned i = 0; i < NSX_KEY_WORDS; i++)
		if (x->w[i] != y->w[i])
			return x->w[i] < y->w[i] ? -1 : 1;
	return 0;
}

int nsx_renumber(const struct nsx_keymap *m, struct nsx_arena *a,
		 struct nsx_renumber *ret, struct nsx_err *err)
{
	ret->order = nsx_arena_try_array(a, m->n, 4, m->what, err);
	ret->new_id = nsx_arena_try_array(a, m->n, 4, m->what, err);
	if (!ret->order || !ret->new_id)
		return err->rc;
	for (uint32_t i = 0; i < m->n; i++)
		ret->order[i] = i;
	qsort_r(ret->order, m->n, sizeof(uint32_t), cmp_keys, m->keys);
	for (uint32_t i = 0; i < m->n; i++)
		ret->new_id[ret->order[i]] = i;
	return 0;
}

void nsx_remap(uint32_t *column, size_t n, const uint32_t *new_id)
{
	for (size_t i = 0; i < n; i++)
		if (column[i] != NSX_NONE)
			column[i] = new_id[column[i]];
}

int nsx_colset_alloc(struct nsx_colset *c, struct nsx_arena *a, size_t n,
		     struct nsx_err *err)
{
	if (n >= NSX_NONE)
		return nsx_fail(err, NSX_E_NOMEM,
				"cannot hold %zu %s: at most 2^32 - 2", n,
				c->what);
	for (unsigned i = 0; i < c->ncols; i++) {
		*c->cols[i].at = nsx_arena_try_array(a, n, c->cols[i].size,
						     c->what, err);
		if (!*c->cols[i].at)
			return err->rc;
	}
	c->n = n;
	return 0;
}

int nsx_colset_grow(struct nsx_colset *c, struct nsx_arena *a, size_t more,
		    struct nsx_err *err)
{
	for (unsigned i = 0; i < c->ncols; i++) {
		void *old = *c->cols[i].at;
		void *p = nsx_arena_try_array(a, c->n + more, c->cols[i].size,
					      c->what, err);

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
	for (unsigned i = 0; i < c->ncols && to != from; i++) {
		char *p = *c->cols[i].at;
		size_t size = c->cols[i].size;

		memmove(p + to * size, p + from * size, n * size);
	}
}

/* Ends of the ascending runs of 0..n-1; *ret_n of them. */
static int find_runs(size_t n, nsx_row_cmp cmp, const void *ctx,
		     uint32_t **ret, size_t *ret_n, struct nsx_err *err)
{
	uint32_t *ends = NULL;
	size_t nruns = 0, cap = 0;

	for (size_t i = 1; i <= n; i++) {
		if (i < n && cmp(ctx, (uint32_t)i - 1, (uint32_t)i) <= 0)
			continue;
		if (nsx_grow(&ends, &cap, nruns + 1, sizeof(*ends), "runs",
			     err)) {
			free(ends);
			return err->rc;
		}
		ends[nruns++] = (uint32_t)i;
	}
	*ret = ends;
	*ret_n = nruns;
	return 0;
}

static void merge(const uint32_t *from, uint32_t *to, size_t a, size_t mid,
		  size_t end, nsx_row_cmp cmp, const void *ctx)
{
	size_t i = a, j = mid;

	for (size_t k = a; k < end; k++)
		if (i < mid && (j >= end || cmp(ctx, from[i], from[j]) <= 0))
			to[k] = from[i++];
		else
			to[k] = from[j++];
}

/* Merges neighbouring runs, from one array into the other and back, until one
 * is left: in *from.
 */
static void merge_runs(uint32_t **from, uint32_t **to, uint32_t *ends,
		       size_t nruns, nsx_row_cmp cmp, const void *ctx)
{
	while (nruns > 1) {
		size_t out = 0, begin = 0;
		uint32_t *swap;

		for (size_t r = 0; r < nruns; r += 2) {
			size_t mid = ends[r];
			size_t end = r + 1 < nruns ? ends[r + 1] : mid;

			merge(*from, *to, begin, mid, end, cmp, ctx);
			begin = end;
			ends[out++] = (uint32_t)end;
		}
		nruns = out;
		swap = *from;
		*from = *to;
		*to = swap;
	}
}

/* In place, following cycles with a bit per row would jump about in memory;
 * one column-sized copy reads at random but writes in order.
 */
static int permute(struct nsx_colset *c, const uint32_t *order,
		   struct nsx_err *err)
{
	uint64_t *tmp = nsx_try_alloc(c->n, sizeof(*tmp), "a sorted column",
				      err);

	if (!tmp)
		return err->rc;
	for (unsigned k = 0; k < c->ncols; k++) {
		void *col = *c->cols[k].at;

#define GATHER(type)                                                          \
	do {                                                                  \
		type *to = (type *)tmp;                                       \
		const type *from = col;                                       \
		for (size_t i = 0; i < c->n; i++)                             \
			to[i] = from[order[i]];                               \
	} while (0)
		if (c->cols[k].size == 8)
			GATHER(uint64_t);
		else if (c->cols[k].size == 4)
			GATHER(uint32_t);
		else
			GATHER(uint8_t);
#undef GATHER
		memcpy(col, tmp, c->n * c->cols[k].size);
	}
	free(tmp);
	return 0;
}

int nsx_colset_sort(struct nsx_colset *c, nsx_row_cmp cmp, const void *ctx,
		    struct nsx_err *err)
{
	uint32_t *ends = NULL, *order = NULL, *other = NULL;
	size_t nruns = 0;
	int rc = find_runs(c->n, cmp, ctx, &ends, &nruns, err);

	if (!rc && nruns > 1) {
		order = nsx_try_alloc(c->n, sizeof(*order), "a row order", err);
		other = nsx_try_alloc(c->n, sizeof(*other), "a row order", err);
		rc = order && other ? 0 : err->rc;
	}
	if (!rc && nruns > 1) {
		for (size_t i = 0; i < c->n; i++)
			order[i] = (uint32_t)i;
		merge_runs(&order, &other, ends, nruns, cmp, ctx);
		free(other);
		other = NULL;
		rc = permute(c, order, err);
	}
	free(ends);
	free(order);
	free(other);
	return rc;
}
