/* group.c - a hash table of pairs of numbers, with linear probing.
 *
 * With millions of keys only the tags fit into the processor's cache. A tag is one byte of a key's
 * hash. Keys with equal tags are compared, and most of them are equal, so few keys are read in
 * vain.
 */
#include "base/group.h"
#include "base/str.h"

static uint64_t group_hash_of(uint64_t a, uint64_t b)
{
	return nsx_hash_u64(nsx_hash_u64(a) ^ b);
}

/* A byte of the hash, never 0. It consists of other bits than those that choose the slot. */
static uint8_t tag_of_hash(uint64_t hash)
{
	return (uint8_t)(hash | 1);
}

/* The slot with which the search for a hash begins; nslots need not be a power of 2. */
static size_t group_first_slot(uint64_t hash, size_t nslots)
{
	return (size_t)((hash >> 32) * nslots >> 32);
}

static size_t group_next_slot(size_t i, size_t nslots)
{
	return i + 1 < nslots ? i + 1 : 0;
}

static bool key_equals(const struct nsx_groups *g, size_t i, uint64_t a, uint64_t b)
{
	struct nsx_group_key key = nsx_group_key(g, i);

	return key.a == a && key.b == b;
}

/* The slot of the pair, or the free slot for it. */
static size_t group_find_slot(const struct nsx_groups *g, uint64_t a, uint64_t b, uint64_t hash)
{
	size_t i = group_first_slot(hash, g->nslots);

	while (g->tags[i] && (g->tags[i] != tag_of_hash(hash) || !key_equals(g, g->slots[i], a, b)))
		i = group_next_slot(i, g->nslots);
	return i;
}

static int group_grow_slots(struct nsx_groups *g, struct nsx_err *err)
{
	size_t n = g->nslots ? g->nslots + g->nslots / 2 : 64;

	nsx_groups_close(g);
	g->slots = nsx_try_alloc(n, sizeof(*g->slots) + sizeof(*g->tags), "groups", err);
	if (!g->slots)
		return err->rc;
	g->tags = (uint8_t *)(g->slots + n);
	g->nslots = n;
	for (size_t k = 0; k < g->n; k++) {
		struct nsx_group_key key = nsx_group_key(g, k);
		uint64_t hash = group_hash_of(key.a, key.b);
		size_t i = group_first_slot(hash, n);

		while (g->tags[i])
			i = group_next_slot(i, n);
		g->tags[i] = tag_of_hash(hash);
		g->slots[i] = (uint32_t)k;
	}
	return 0;
}

/* Converts all keys to large ones when the first large key arrives. */
static int switch_to_large_keys(struct nsx_groups *g, struct nsx_err *err)
{
	g->large = nsx_try_alloc(NSX_MAX(1, g->cap), sizeof(*g->large), "groups", err);
	if (!g->large)
		return err->rc;
	for (size_t i = 0; i < g->n; i++)
		g->large[i] = (struct nsx_group_key){g->small[i].a,
						     g->small[i].b};
	free(g->small);
	g->small = NULL;
	return 0;
}

static int add_key(struct nsx_groups *g, uint64_t a, uint64_t b, struct nsx_err *err)
{
	if (!g->large && (a | b) > UINT32_MAX && switch_to_large_keys(g, err))
		return err->rc;
	if (g->large) {
		if (nsx_grow(&g->large, &g->cap, g->n + 1, sizeof(*g->large), "groups", err))
			return err->rc;
		g->large[g->n++] = (struct nsx_group_key){a, b};
	} else {
		if (nsx_grow(&g->small, &g->cap, g->n + 1, sizeof(*g->small), "groups", err))
			return err->rc;
		g->small[g->n++] = (struct nsx_small_key){(uint32_t)a, (uint32_t)b};
	}
	return 0;
}

int nsx_group(struct nsx_groups *g, uint64_t a, uint64_t b, uint32_t *ret, struct nsx_err *err)
{
	uint64_t hash;
	size_t slot;

	if (g->last < g->n && key_equals(g, g->last, a, b)) {
		*ret = g->last;
		return 0;
	}
	/* The table is full at three quarters. Tags are so small that longer probing is free, and
	 * fewer slots mean fewer cache misses. Rehashing reads the keys, so the old slots are freed
	 * first.
	 */
	if (g->n + 1 > g->nslots / 4 * 3 && group_grow_slots(g, err))
		return err->rc;
	hash = group_hash_of(a, b);
	slot = group_find_slot(g, a, b, hash);
	if (!g->tags[slot]) {
		if (add_key(g, a, b, err))
			return err->rc;
		g->tags[slot] = tag_of_hash(hash);
		g->slots[slot] = (uint32_t)g->n - 1;
	}
	*ret = g->last = g->slots[slot];
	return 0;
}

int nsx_groups_settle(struct nsx_groups *g, pthread_mutex_t *lock,
		      struct nsx_late_keys *late, struct nsx_err *err)
{
	int rc = 0;

	pthread_mutex_lock(lock);
	for (size_t i = 0; g->nslots && i < late->n; i++) {
		const struct nsx_late_key *x = &late->v[i];
		size_t slot = group_first_slot(group_hash_of(x->a, x->b), g->nslots);

		__builtin_prefetch(&g->tags[slot]);
		__builtin_prefetch(&g->slots[slot]);
	}
	for (size_t i = 0; !rc && i < late->n; i++)
		rc = nsx_group(g, late->v[i].a, late->v[i].b, late->v[i].ret, err);
	pthread_mutex_unlock(lock);
	for (size_t i = 0; !rc && i < late->n; i++) {
		const struct nsx_late_key *x = &late->v[i];

		*nsx_near_place(&late->near, x->a, x->b) =
			(struct nsx_near_key){x->a, x->b, *x->ret + 1};
	}
	late->n = 0;
	return rc;
}

int nsx_group_late(struct nsx_groups *g, pthread_mutex_t *lock,
		   struct nsx_late_keys *late, uint64_t a, uint64_t b,
		   uint32_t *ret, struct nsx_err *err)
{
	const struct nsx_near_key *x = nsx_near_place(&late->near, a, b);

	if (x->place && x->a == a && x->b == b) {
		*ret = x->place - 1;
		return 0;
	}
	late->v[late->n++] = (struct nsx_late_key){a, b, ret};
	return late->n < NSX_LATE_KEYS ? 0 : nsx_groups_settle(g, lock, late, err);
}

void *nsx_group_value_(struct nsx_groups *g, uint64_t a, uint64_t b,
		       void **values, size_t size, const char *what, struct nsx_err *err)
{
	uint32_t i;

	if (nsx_grow(values, &g->cap_values, g->n + 1, size, what, err) ||
	    nsx_group(g, a, b, &i, err))
		return NULL;
	return (char *)*values + i * size;
}

void *nsx_group_few_(struct nsx_groups *g, uint64_t a, uint64_t b, void **values, size_t size)
{
	struct nsx_err err;
	void *value = nsx_group_value_(g, a, b, values, size, "groups", &err);

	if (!value)
		nsx_die_of_memory(size);
	return value;
}

uint32_t nsx_group_find(const struct nsx_groups *g, uint64_t a, uint64_t b)
{
	size_t slot = g->nslots ? group_find_slot(g, a, b, group_hash_of(a, b)) : 0;

	return g->nslots && g->tags[slot] ? g->slots[slot] : NSX_NONE;
}

void nsx_groups_close(struct nsx_groups *g)
{
	free(g->slots);
	g->slots = NULL;
	g->tags = NULL;
	g->nslots = 0;
}

void nsx_groups_done(struct nsx_groups *g)
{
	free(g->small);
	free(g->large);
	free(g->slots);
	*g = (struct nsx_groups){0};
}

uint32_t nsx_set_of(uint32_t *in, uint32_t i)
{
	while (in[i] != i)
		i = in[i] = in[in[i]];
	return i;
}

bool nsx_join_sets(uint32_t *in, uint32_t a, uint32_t b)
{
	a = nsx_set_of(in, a);
	b = nsx_set_of(in, b);
	in[NSX_MAX(a, b)] = NSX_MIN(a, b);
	return a != b;
}
