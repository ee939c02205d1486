/* keymap.c - interns fixed-size keys. */
#include "base/keymap.h"
#include "base/str.h"

void nsx_keymap_init(struct nsx_keymap *m, const char *what)
{
	*m = (struct nsx_keymap){.what = what};
	pthread_mutex_init(&m->lock, NULL);
}

void nsx_keymap_clear(struct nsx_keymap *m)
{
	free(m->keys);
	free(m->slots);
	m->keys = NULL;
	m->slots = NULL;
	m->n = m->cap = m->nslots = 0;
}

void nsx_keymap_done(struct nsx_keymap *m)
{
	nsx_keymap_clear(m);
	pthread_mutex_destroy(&m->lock);
}

static size_t keymap_find_slot(const struct nsx_keymap *m, const struct nsx_key *key, uint32_t hash)
{
	size_t i = hash & (m->nslots - 1);

	while (m->slots[i].id &&
	       (m->slots[i].hash != hash ||
		memcmp(&m->keys[m->slots[i].id - 1], key, sizeof(*key))))
		i = (i + 1) & (m->nslots - 1);
	return i;
}

static int keymap_grow_slots(struct nsx_keymap *m, struct nsx_err *err)
{
	size_t n = m->nslots ? 2 * m->nslots : 64;
	struct nsx_key_slot *slots = nsx_try_alloc(n, sizeof(*slots), m->what, err);

	if (!slots)
		return err->rc;
	for (size_t k = 0; k < m->nslots; k++) {
		size_t i = m->slots[k].hash & (n - 1);

		if (!m->slots[k].id)
			continue;
		while (slots[i].id)
			i = (i + 1) & (n - 1);
		slots[i] = m->slots[k];
	}
	free(m->slots);
	m->slots = slots;
	m->nslots = n;
	return 0;
}

static int add_key_locked(struct nsx_keymap *m, const struct nsx_key *key,
			  uint32_t hash, uint32_t *ret, struct nsx_err *err)
{
	struct nsx_key_slot *slot;

	if (m->nslots < 2 * (m->n + 1) && keymap_grow_slots(m, err))
		return err->rc;
	slot = &m->slots[keymap_find_slot(m, key, hash)];
	if (!slot->id) {
		if (m->n >= UINT32_MAX - 1)
			return nsx_fail(err, NSX_E_NOMEM, "too many %s", m->what);
		if (nsx_grow(&m->keys, &m->cap, m->n + 1, sizeof(*key), m->what, err))
			return err->rc;
		m->keys[m->n] = *key;
		*slot = (struct nsx_key_slot){hash, (uint32_t)++m->n};
	}
	*ret = slot->id - 1;
	return 0;
}

/* The key's place in a cache. Nearly every lookup ends in the cache, so this function must be fast:
 * its multiplications do not wait for each other, unlike the steps of a hash.
 */
static size_t cache_slot_of(const struct nsx_key *key)
{
	static const uint64_t odd[NSX_KEY_WORDS] = {
		UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xff51afd7ed558ccd),
		UINT64_C(0xc4ceb9fe1a85ec53), UINT64_C(0xbf58476d1ce4e5b9),
		UINT64_C(0x94d049bb133111eb), UINT64_C(0xd6e8feb86659fd93)};
	uint64_t sum = 0;

	for (unsigned i = 0; i < NSX_KEY_WORDS; i++)
		sum += (key->w[i] ^ key->w[i] >> 32) * odd[i];
	return sum >> 56;
}

int nsx_keymap_add(struct nsx_keymap *m, struct nsx_keycache *c,
		   const struct nsx_key *key, uint32_t *ret, struct nsx_err *err)
{
	size_t at = cache_slot_of(key);
	int rc;

	if (c->ids[at] && !memcmp(&c->keys[at], key, sizeof(*key))) {
		*ret = c->ids[at] - 1;
		return 0;
	}
	pthread_mutex_lock(&m->lock);
	rc = add_key_locked(m, key, (uint32_t)nsx_hash(key, sizeof(*key)), ret, err);
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
	if (nsx_new_arrays(a, m->n, m->what, err, ret->order, ret->new_id))
		return err->rc;
	nsx_sort_indices(ret->order, m->n, cmp_keys, m->keys);
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
