/* keymap.h - gives equal fixed-size keys equal ids, from many threads; ids count up from 0. */
#pragma once

#include <pthread.h>
#include "base/arena.h"

#define NSX_KEY_WORDS 6
struct nsx_key {
	uint64_t w[NSX_KEY_WORDS];
};
struct nsx_keymap {
	const char *what; /* name of the keys in error messages */
	pthread_mutex_t lock;
	struct nsx_key *keys; /* one for each id */
	size_t n, cap;
	struct nsx_key_slot {
		uint32_t hash; /* hash of the key: comparing it here seldom needs the key itself */
		uint32_t id;   /* the key's id + 1; 0: the slot is free */
	} *slots;
	size_t nslots;
};
/* A thread's cache of recent keys, so that it seldom takes the lock. */
struct nsx_keycache {
	struct nsx_key keys[256];
	uint32_t ids[256]; /* the key's id + 1; 0: the entry is free */
};
void nsx_keymap_init(struct nsx_keymap *m, const char *what);
void nsx_keymap_done(struct nsx_keymap *m);
void nsx_keymap_clear(struct nsx_keymap *m); /* empties it and frees its memory */
/* Sets *ret to the id of the key, which is added if it is new. Errors: NSX_E_NOMEM. */
int nsx_keymap_add(struct nsx_keymap *m, struct nsx_keycache *c,
		   const struct nsx_key *key, uint32_t *ret, struct nsx_err *err) NSX_CHECKED;
/* Renumbers ids in the order of the keys, so that no result depends on which thread was first.
 * order: old ids in the order of keys; new_id: by old id. nsx_remap replaces the ids of a column.
 */
struct nsx_renumber {
	uint32_t *order, *new_id;
};
int nsx_renumber(const struct nsx_keymap *m, struct nsx_arena *a,
		 struct nsx_renumber *ret, struct nsx_err *err) NSX_CHECKED;
void nsx_remap(uint32_t *column, size_t n, const uint32_t *new_id);
