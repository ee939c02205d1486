/* group.h - groups rows by a key: gives distinct keys the indices 0, 1, 2, ... in the order in
 * which they are first seen.
 *
 *	struct nsx_groups g = {0};
 *	uint32_t i;
 *	if (nsx_group(&g, device, name, &i, err)) ...
 *	if (i == n) a new group: grow the caller's own array by one
 *	...
 *	nsx_groups_done(&g);
 */
#pragma once

#include <pthread.h>
#include "base/arena.h"

struct nsx_group_key {
	uint64_t a, b;
};
struct nsx_groups {
	/* The keys by index. They are kept as small keys as long as all fit, to save memory. */
	struct nsx_small_key {
		uint32_t a, b;
	} *small;
	struct nsx_group_key *large; /* NULL while the small keys are in use */
	size_t n, cap;
	uint32_t *slots; /* index of the slot's key; valid if the tag is not 0 */
	/* One for each slot, in the same block of memory: a byte of the key's hash; 0: the slot is
	 * free.
	 */
	uint8_t *tags;
	size_t nslots;
	uint32_t last; /* index of the last key: equal keys often follow each other */
	size_t cap_values; /* capacity of the values of nsx_group_value      */
};

static inline struct nsx_group_key nsx_group_key(const struct nsx_groups *g, size_t i)
{
	return g->large ? g->large[i] : (struct nsx_group_key){g->small[i].a, g->small[i].b};
}
/* Sets *ret to the index of the key (a, b), which is added if it is new. Errors: NSX_E_NOMEM. */
int nsx_group(struct nsx_groups *g, uint64_t a, uint64_t b, uint32_t *ret,
	      struct nsx_err *err) NSX_CHECKED;
/* Keeps a value for each group in an array of the caller's, which begins as NULL. Returns
 * the value of the key, zeroed when the key is new; valid until the next key. Owner of the
 * array: the caller, free(). Errors: NULL, NSX_E_NOMEM.
 *
 *	struct sum *v = NULL, *x = nsx_group_value(&g, &v, device, name, "sums", err);
 */
#define nsx_group_value(g, values, a, b, what, err)                           \
	((__typeof__(*(values)))nsx_group_value_(                             \
		g, a, b, (void **)(values), sizeof(**(values)), what, err))
void *nsx_group_value_(struct nsx_groups *g, uint64_t a, uint64_t b,
		       void **values, size_t size, const char *what,
		       struct nsx_err *err) NSX_CHECKED;
/* nsx_group_value for groups that stay few. Ends the program when no memory is left. */
#define nsx_group_few(g, values, a, b)                                        \
	((__typeof__(*(values)))nsx_group_few_(g, a, b, (void **)(values), sizeof(**(values))))
void *nsx_group_few_(struct nsx_groups *g, uint64_t a, uint64_t b, void **values, size_t size);
/* Faster nsx_group for millions of rows whose keys mostly occurred shortly before. `near`
 * caches recent keys and begins as {0}.
 */
struct nsx_near {
	struct nsx_near_key {
		uint64_t a, b;
		uint32_t place; /* the key's index + 1; 0: the entry is free */
	} v[256];
};
static inline struct nsx_near_key *nsx_near_place(struct nsx_near *near, uint64_t a, uint64_t b)
{
	return &near->v[(a * 61 + b + (b >> 32) * 7) % ARRAY_LEN(near->v)];
}
static inline int nsx_group_near(struct nsx_groups *g, struct nsx_near *near,
				 uint64_t a, uint64_t b, uint32_t *ret, struct nsx_err *err)
{
	struct nsx_near_key *x = nsx_near_place(near, a, b);

	if (!x->place || x->a != a || x->b != b) {
		if (nsx_group(g, a, b, ret, err))
			return err->rc;
		*x = (struct nsx_near_key){a, b, *ret + 1};
	}
	*ret = x->place - 1;
	return 0;
}
/* Like nsx_group_value, with the cache of nsx_group_near. */
#define nsx_near_value(g, near, values, a, b, what, err)                      \
	((__typeof__(*(values)))nsx_near_value_(                              \
		g, near, a, b, (void **)(values), sizeof(**(values)), what, err))
static inline void *nsx_near_value_(struct nsx_groups *g, struct nsx_near *near,
				    uint64_t a, uint64_t b, void **values,
				    size_t size, const char *what, struct nsx_err *err)
{
	uint32_t i;

	if (nsx_grow(values, &g->cap_values, g->n + 1, size, what, err) ||
	    nsx_group_near(g, near, a, b, &i, err))
		return NULL;
	return (char *)*values + i * size;
}
/* Like nsx_group_near, for threads that share groups and whose keys seldom repeat. Keys that are
 * not in the cache are collected in `late`, so that the lock is taken once for many. Each thread
 * has its own `late`, which begins as {0}. *ret may stay unset until nsx_groups_settle.
 */
enum { NSX_LATE_KEYS = 256 }; /* with 16, threads wait for the lock too often */
struct nsx_late_keys {
	struct nsx_near near;
	struct nsx_late_key {
		uint64_t a, b;
		uint32_t *ret;
	} v[NSX_LATE_KEYS];
	size_t n;
};
int nsx_groups_settle(struct nsx_groups *g, pthread_mutex_t *lock,
		      struct nsx_late_keys *late, struct nsx_err *err) NSX_CHECKED;
int nsx_group_late(struct nsx_groups *g, pthread_mutex_t *lock,
		   struct nsx_late_keys *late, uint64_t a, uint64_t b,
		   uint32_t *ret, struct nsx_err *err) NSX_CHECKED;
/* Whether something, such as a group, has one user or several. Begins zeroed. */
struct nsx_users {
	uint32_t last; /* number of the last user + 1; 0: there was none */
	bool several;
};
static inline void nsx_use(struct nsx_users *u, uint32_t who)
{
	u->several |= u->last && u->last != who + 1;
	u->last = who + 1;
}

/* The index of a key; NSX_NONE if it was never added. */
uint32_t nsx_group_find(const struct nsx_groups *g, uint64_t a, uint64_t b);
/* Frees the search structure; no key can be looked up afterwards. */
void nsx_groups_close(struct nsx_groups *g);
void nsx_groups_done(struct nsx_groups *g);

/* Sets of indices that are joined: in[i] is another member of i's set, or i. Begins with in[i] = i.
 * nsx_set_of gives the member that stands for the set; nsx_join_sets whether they were two.
 */
uint32_t nsx_set_of(uint32_t *in, uint32_t i);
bool nsx_join_sets(uint32_t *in, uint32_t a, uint32_t b);
