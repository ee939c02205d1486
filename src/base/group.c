/* group.c - a hash of pairs of numbers, with linear probing. */
#include <stdlib.h>
#include "base/arena.h"
#include "base/group.h"
#include "base/str.h"

static size_t find_slot(const struct nsx_groups *g, uint64_t a, uint64_t b)
{
	size_t i = nsx_hash_u64(nsx_hash_u64(a) ^ b) & (g->nslots - 1);

	while (g->slots[i] && (g->keys[g->slots[i] - 1].a != a ||
			       g->keys[g->slots[i] - 1].b != b))
		i = (i + 1) & (g->nslots - 1);
	return i;
}

static int grow_slots(struct nsx_groups *g, struct nsx_err *err)
{
	size_t n = g->nslots ? 2 * g->nslots : 64;
	uint32_t *slots = nsx_try_alloc(n, sizeof(*slots), "groups", err);

	if (!slots)
		return err->rc;
	free(g->slots);
	g->slots = slots;
	g->nslots = n;
	for (size_t i = 0; i < g->n; i++)
		slots[find_slot(g, g->keys[i].a, g->keys[i].b)] =
			(uint32_t)i + 1;
	return 0;
}

int nsx_group(struct nsx_groups *g, uint64_t a, uint64_t b, uint32_t *ret,
	      struct nsx_err *err)
{
	size_t slot;

	if (g->nslots < 2 * (g->n + 1) && grow_slots(g, err))
		return err->rc;
	slot = find_slot(g, a, b);
	if (!g->slots[slot]) {
		if (nsx_grow(&g->keys, &g->cap, g->n + 1, sizeof(*g->keys),
			     "groups", err))
			return err->rc;
		g->keys[g->n] = (struct nsx_group_key){a, b};
		g->slots[slot] = (uint32_t)++g->n;
	}
	*ret = g->slots[slot] - 1;
	return 0;
}

void *nsx_group_value_(struct nsx_groups *g, uint64_t a, uint64_t b,
		       void **values, size_t size, const char *what,
		       struct nsx_err *err)
{
	uint32_t i;

	if (nsx_grow(values, &g->cap_values, g->n + 1, size, what, err) ||
	    nsx_group(g, a, b, &i, err))
		return NULL;
	return (char *)*values + i * size;
}

uint32_t nsx_group_find(const struct nsx_groups *g, uint64_t a, uint64_t b)
{
	uint32_t i = g->nslots ? g->slots[find_slot(g, a, b)] : 0;

	return i ? i - 1 : NSX_NONE;
}

void nsx_groups_close(struct nsx_groups *g)
{
	free(g->slots);
	g->slots = NULL;
	g->nslots = 0;
}

void nsx_groups_done(struct nsx_groups *g)
{
	free(g->keys);
	free(g->slots);
	*g = (struct nsx_groups){0};
}
