/* str.c - the text buffer, and interning in 16 shards, each with its own lock, so that
 * threads seldom wait for each other.
 *
 * An id is (index in shard) * 16 + shard; index 0 of shard 0 stays unused, so that id 0 can
 * mean "absent".
 */
#include <endian.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include "base/keyed.h"
#include "base/par.h"
#include "base/str.h"
#include "base/texts.h"

#define SHARDS 16u

struct shard {
	pthread_mutex_t lock;
	uint32_t *at;	/* for each index: place in texts */
	uint32_t *hash; /* one for each index; NULL after close */
	size_t n, cap, cap_hash;
	unsigned char *slots; /* slots of slot_bytes each: index + 1; 0: free */
	size_t nslots, slot_bytes;
	struct nsx_texts texts;
};

struct nsx_strings {
	const struct nsx_strings *under; /* NULL: none */
	size_t first; /* first id of this table; lower ones are those of `under` */
	struct shard *shard; /* SHARDS of them; reading a packed text unpacks it */
};

uint64_t nsx_hash(const void *p, size_t n)
{
	const unsigned char *s = p;
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ n, w;

	for (; n >= 8; n -= 8, s += 8) {
		memcpy(&w, s, 8);
		h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	w = 0;
	if (n) /* an empty list has no address */
		memcpy(&w, s, n);
	return nsx_hash_u64(h ^ w);
}

struct nsx_strings *nsx_strings_new(void)
{
	struct nsx_strings *s = nsx_alloc(1, sizeof(*s));

	s->shard = nsx_alloc(SHARDS, sizeof(*s->shard));
	for (unsigned i = 0; i < SHARDS; i++)
		pthread_mutex_init(&s->shard[i].lock, NULL);
	return s;
}

struct nsx_strings *nsx_strings_over(const struct nsx_strings *under)
{
	struct nsx_strings *s = nsx_strings_new();

	s->under = under;
	s->first = nsx_strings_bound(under);
	return s;
}

void nsx_strings_free(struct nsx_strings *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < SHARDS; i++) {
		struct shard *sh = &s->shard[i];

		nsx_texts_done(&sh->texts);
		free(sh->at);
		free(sh->hash);
		free(sh->slots);
		pthread_mutex_destroy(&sh->lock);
	}
	free(s->shard);
	free(s);
}

/* The slot with which the search for a hash begins; nslots need not be a power of 2. */
static size_t str_first_slot(uint32_t hash, size_t nslots)
{
	return (size_t)((uint64_t)hash * nslots >> 32);
}

static size_t str_next_slot(size_t i, size_t nslots)
{
	return i + 1 < nslots ? i + 1 : 0;
}

/* Reads four bytes whatever slot_bytes is; there is spare room behind the last slot. */
static uint32_t read_slot(const struct shard *sh, size_t i)
{
	uint32_t x;

	memcpy(&x, sh->slots + i * sh->slot_bytes, sizeof(x));
	return le32toh(x) & UINT32_MAX >> (32 - 8 * sh->slot_bytes);
}

static void set_slot(struct shard *sh, size_t i, uint32_t index)
{
	uint32_t x = htole32(index + 1);

	memcpy(sh->slots + i * sh->slot_bytes, &x, sh->slot_bytes);
}

/* The slot of the text, or the free slot for it. */
static size_t str_find_slot(const struct shard *sh, const char *text, size_t len, uint32_t hash)
{
	size_t i = str_first_slot(hash, sh->nslots);

	for (uint32_t k; (k = read_slot(sh, i)); i = str_next_slot(i, sh->nslots)) {
		k--;
		if (sh->hash && sh->hash[k] != hash)
			continue;
		if (nsx_texts_are(&sh->texts, __atomic_load_n(&sh->at[k], __ATOMIC_ACQUIRE),
				  text, len))
			break;
	}
	return i;
}

/* The index + 1 of the text; 0 if it is not here. */
static uint32_t find_text_index(const struct shard *sh, const char *text, size_t len, uint32_t hash)
{
	return sh->nslots ? read_slot(sh, str_find_slot(sh, text, len, hash)) : 0;
}

/* Makes n slots of the given number of bytes and enters all strings. */
static int set_slots(struct shard *sh, size_t n, size_t bytes, struct nsx_err *err)
{
	unsigned char *slots = nsx_try_alloc(n * bytes + sizeof(uint32_t), 1,
					     "string hash slots", err);

	if (!slots)
		return err->rc;
	free(sh->slots);
	sh->slots = slots;
	sh->nslots = n;
	sh->slot_bytes = bytes;
	for (uint32_t k = 0; k < sh->n; k++) {
		size_t i = str_first_slot(sh->hash[k], n);

		while (read_slot(sh, i))
			i = str_next_slot(i, n);
		set_slot(sh, i, k);
	}
	return 0;
}

static int add_text_to_shard(struct shard *sh, const char *text, size_t len,
			     uint32_t hash, uint32_t *ret_index, struct nsx_err *err)
{
	size_t slot;

	if (sh->nslots < 2 * (sh->n + 1) &&
	    set_slots(sh, NSX_MAX(64, 2 * sh->nslots), sizeof(uint32_t), err))
		return err->rc;
	slot = str_find_slot(sh, text, len, hash);
	*ret_index = read_slot(sh, slot) - 1;
	if (*ret_index != NSX_NONE)
		return 0;
	if (sh->n >= UINT32_MAX / SHARDS - 1)
		return nsx_fail(err, NSX_E_NOMEM, "cannot hold more than 2^32 distinct strings");
	if (nsx_grow(&sh->at, &sh->cap, sh->n + 1, sizeof(*sh->at), "strings", err) ||
	    nsx_grow(&sh->hash, &sh->cap_hash, sh->n + 1, sizeof(*sh->hash),
		     "string hashes", err) ||
	    nsx_texts_add(&sh->texts, text, len, &sh->at[sh->n], err))
		return err->rc;
	sh->hash[sh->n] = hash;
	*ret_index = (uint32_t)sh->n++;
	set_slot(sh, slot, *ret_index);
	return 0;
}

/* The length of the valid UTF-8 sequence at p, 0 if there is none. */
static size_t utf8_len(const unsigned char *p, size_t n)
{
	static const unsigned char second_min[] = {0xa0, 0x80, 0x90, 0x80};
	size_t len;

	if (p[0] < 0x80)
		return p[0] != 0;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (n < len)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < second_min[0]) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < second_min[2]) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

/* Whether all eight bytes are ASCII other than NUL. */
static bool is_plain_word(const char *p)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t w;

	memcpy(&w, p, 8);
	return !(((w - ones) | w) & ones << 7);
}

/* The length of the valid prefix of p, up to a broken byte or NUL. */
static size_t clean_len(const char *p, size_t n)
{
	size_t at = 0, k = 1;

	while (at < n && k) {
		k = n - at >= 8 && is_plain_word(p + at) ?
			    8 : utf8_len((const unsigned char *)p + at, n - at);
		at += k;
	}
	return at;
}

bool nsx_buf_add_utf8(struct nsx_buf *b, const char *p, size_t n)
{
	bool replaced = false;

	while (n) {
		size_t k = clean_len(p, n);

		nsx_buf_add(b, p, k);
		if (k < n) {
			nsx_buf_adds(b, "\xef\xbf\xbd");
			replaced = true;
			k++;
		}
		p += k;
		n -= k;
	}
	return replaced;
}

uint32_t nsx_code_point(const char *s, size_t *n)
{
	const unsigned char *p = (const unsigned char *)s;

	*n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	switch (*n) {
	case 1:
		return p[0];
	case 2:
		return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
	case 3:
		return (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
	default:
		return (p[0] & 7u) << 18 | (p[1] & 0x3fu) << 12 |
		       (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
	}
}

bool nsx_is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       (c >= 0xe0000 && c <= 0xe007f);
}

void nsx_make_safe(char *s)
{
	char *to = s;
	size_t n;

	for (size_t left = strlen(s); left; left -= n, s += n) {
		uint32_t c = (unsigned char)*s;

		n = utf8_len((const unsigned char *)s, left) ?: 1;
		if (n > 1)
			c = nsx_code_point(s, &n);
		if (nsx_is_unsafe(c)) {
			*to++ = '?';
		} else {
			memmove(to, s, n);
			to += n;
		}
	}
	*to = '\0';
}

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

size_t nsx_cut_chars(const char *p, size_t n)
{
	while (n && is_continuation(p[n]))
		n--;
	return n;
}

size_t nsx_count_chars(const char *p, size_t n)
{
	size_t chars = 0;

	for (size_t i = 0; i < n; i++)
		chars += !is_continuation(p[i]);
	return chars;
}

const char *nsx_skip_chars(const char *s, size_t n)
{
	for (; n && *s; n--)
		do
			s++;
		while (is_continuation(*s));
	return s;
}

/* The text as the table keeps it: cut to NSX_MAX_TEXT, and as valid UTF-8. */
static const char *clean_text(const char *text, size_t *len, struct nsx_buf *repaired)
{
	if (*len > NSX_MAX_TEXT)
		*len = nsx_cut_chars(text, NSX_MAX_TEXT);
	if (clean_len(text, *len) == *len)
		return text;
	nsx_buf_add_utf8(repaired, text, *len);
	*len = repaired->n;
	return repaired->p;
}

static uint32_t shard_of_hash(uint64_t hash)
{
	return (uint32_t)(hash >> 60);
}

static nsx_str string_id_of(const struct nsx_strings *s, uint32_t index, uint32_t shard)
{
	return (nsx_str)s->first + (index + 1) * SHARDS + shard;
}

int nsx_strings_add(struct nsx_strings *s, const char *text, size_t len,
		    nsx_str *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf repaired = {0};
	struct shard *sh;
	uint64_t h;
	uint32_t index = 0, which;
	int rc;

	text = clean_text(text, &len, &repaired);
	h = nsx_hash(text, len);
	which = shard_of_hash(h);
	sh = &s->shard[which];
	*ret = s->under ? find_text_index(&s->under->shard[which], text, len,
					  (uint32_t)h) * SHARDS + which : 0;
	if (*ret >= SHARDS)
		return 0;
	pthread_mutex_lock(&sh->lock);
	rc = add_text_to_shard(sh, text, len, (uint32_t)h, &index, err);
	pthread_mutex_unlock(&sh->lock);
	if (!rc)
		*ret = string_id_of(s, index, which);
	return rc;
}

nsx_str nsx_strings_put(struct nsx_strings *s, const char *text)
{
	struct nsx_err err;
	nsx_str id;

	if (nsx_strings_add(s, text, strlen(text), &id, &err))
		nsx_die_of_memory(strlen(text));
	return id;
}

/* Adds the waiting strings of one shard: its lock is taken once, and slots and hashes are
 * prefetched together.
 */
static int settle_shard(struct nsx_strings *s, struct nsx_late_strings *late,
			uint32_t which, const uint32_t *list, size_t n, struct nsx_err *err)
{
	struct shard *sh = &s->shard[which];
	uint32_t index = 0;
	int rc = 0;

	pthread_mutex_lock(&sh->lock);
	for (size_t i = 0; sh->nslots && i < n; i++)
		__builtin_prefetch(&sh->slots[sh->slot_bytes * str_first_slot(
			(uint32_t)late->v[list[i]].hash, sh->nslots)]);
	for (size_t i = 0; sh->nslots && i < n; i++) {
		uint32_t k = read_slot(sh, str_first_slot(
			(uint32_t)late->v[list[i]].hash, sh->nslots));

		__builtin_prefetch(&sh->hash[k - !!k]);
	}
	for (size_t i = 0; !rc && i < n; i++) {
		struct nsx_late_string *x = &late->v[list[i]];

		rc = add_text_to_shard(sh, late->texts.p + x->at, x->len, (uint32_t)x->hash,
				       &index, err);
		x->id = string_id_of(s, index, which);
	}
	pthread_mutex_unlock(&sh->lock);
	return rc;
}

int nsx_strings_settle(struct nsx_strings *s, struct nsx_late_strings *late, struct nsx_err *err)
{
	uint32_t at[SHARDS + 2] = {0}, list[NSX_LATE_STRINGS];
	int rc = 0;

	NSX_DEAL(at, list, SHARDS, late->n, i, shard_of_hash(late->v[i].hash));
	for (uint32_t k = 0; !rc && k < SHARDS; k++)
		rc = settle_shard(s, late, k, list + at[k], at[k + 1] - at[k], err);
	for (size_t i = 0; !rc && i < late->n; i++)
		*late->v[i].ret = late->v[i].id;
	late->n = 0;
	nsx_buf_clear(&late->texts);
	return rc;
}

int nsx_strings_add_late(struct nsx_strings *s, struct nsx_late_strings *late,
			 const char *text, size_t len, nsx_str *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf repaired = {0};

	text = clean_text(text, &len, &repaired);
	late->v[late->n++] = (struct nsx_late_string){
		.hash = nsx_hash(text, len), .ret = ret,
		.at = (uint32_t)late->texts.n, .len = (uint32_t)len};
	nsx_buf_add(&late->texts, text, len);
	return late->n < NSX_LATE_STRINGS ? 0 : nsx_strings_settle(s, late, err);
}

void nsx_strings_close(struct nsx_strings *s)
{
	struct nsx_err err;

	for (unsigned i = 0; i < SHARDS; i++) {
		struct shard *sh = &s->shard[i];
		size_t bytes = 1;
		uint32_t *at;

		while (bytes < sizeof(uint32_t) && sh->n >> 8 * bytes)
			bytes++;
		if (!sh->n || set_slots(sh, sh->n + sh->n / 4 + 1, bytes, &err))
			continue; /* without memory the shard keeps what adding needs */
		free(sh->hash);
		sh->hash = NULL;
		at = realloc(sh->at, sh->n * sizeof(*at));
		sh->at = at ?: sh->at;
		nsx_texts_close(&sh->texts);
	}
}

nsx_str nsx_strings_find(const struct nsx_strings *s, const char *text)
{
	size_t len = strlen(text);
	uint64_t h = nsx_hash(text, len);
	uint32_t which = shard_of_hash(h), found;
	nsx_str under = s->under ? nsx_strings_find(s->under, text) : 0;

	if (under)
		return under;
	found = find_text_index(&s->shard[which], text, len, (uint32_t)h);
	return found ? string_id_of(s, found - 1, which) : 0;
}

/* The shard of an id other than 0; *ret points to the place of its text. */
static struct shard *shard_of(const struct nsx_strings *s, nsx_str id, uint32_t **ret)
{
	struct shard *sh;

	while (id < s->first)
		s = s->under;
	id -= (uint32_t)s->first;
	sh = &s->shard[id % SHARDS];
	*ret = &sh->at[id / SHARDS - 1];
	return sh;
}

/* Unpacks a packed text for good. The caller holds the lock. */
static const char *str_plain_text(struct shard *sh, uint32_t *at)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	struct nsx_err err;
	uint32_t plain;

	if (nsx_texts_is_packed(*at)) {
		nsx_texts_unpack(&sh->texts, *at, &b);
		if (nsx_texts_add_plain(&sh->texts, b.p, b.n, &plain, &err))
			nsx_die_of_memory(b.n);
		__atomic_store_n(at, plain, __ATOMIC_RELEASE);
	}
	return nsx_texts_bytes(&sh->texts, *at);
}

const char *nsx_str_text(const struct nsx_strings *s, nsx_str id)
{
	uint32_t *place, at;
	struct shard *sh = id ? shard_of(s, id, &place) : NULL;
	const char *text;

	if (!sh)
		return "";
	at = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	if (!nsx_texts_is_packed(at))
		return nsx_texts_bytes(&sh->texts, at);
	pthread_mutex_lock(&sh->lock);
	text = str_plain_text(sh, place);
	pthread_mutex_unlock(&sh->lock);
	return text;
}

const char *nsx_str_read(const struct nsx_strings *s, nsx_str id, struct nsx_buf *b)
{
	uint32_t *place;
	struct shard *sh = id ? shard_of(s, id, &place) : NULL;
	uint32_t at = sh ? __atomic_load_n(place, __ATOMIC_ACQUIRE) : 0;

	if (!sh || !nsx_texts_is_packed(at))
		return sh ? nsx_texts_bytes(&sh->texts, at) : "";
	nsx_buf_clear(b);
	nsx_texts_unpack(&sh->texts, at, b);
	return b->p;
}

void nsx_str_fetch(const struct nsx_strings *s, nsx_str soon, size_t from, nsx_str later)
{
	uint32_t *place;

	if (soon) {
		struct shard *sh = shard_of(s, soon, &place);
		uint32_t at = __atomic_load_n(place, __ATOMIC_RELAXED);
		const char *text = nsx_texts_bytes(&sh->texts, at);

		text += nsx_texts_is_packed(at) ? 0 : from;
		__builtin_prefetch(text);
		__builtin_prefetch(text + 64);
	}
	if (later) {
		shard_of(s, later, &place);
		__builtin_prefetch(place);
	}
}

const char *nsx_strings_text(struct nsx_strings *s, nsx_str id)
{
	struct shard *sh;
	uint32_t *place;
	const char *text;

	if (id < s->first || !id)
		return nsx_str_text(s, id);
	sh = &s->shard[(id - s->first) % SHARDS];
	pthread_mutex_lock(&sh->lock);
	shard_of(s, id, &place);
	text = str_plain_text(sh, place);
	pthread_mutex_unlock(&sh->lock);
	return text;
}

size_t nsx_strings_bound(const struct nsx_strings *s)
{
	size_t most = 0;

	for (unsigned i = 0; i < SHARDS; i++) {
		pthread_mutex_lock(&s->shard[i].lock);
		most = NSX_MAX(most, s->shard[i].n);
		pthread_mutex_unlock(&s->shard[i].lock);
	}
	return s->first + (most + 1) * SHARDS;
}

int nsx_str_cmp(const struct nsx_strings *s, nsx_str a, nsx_str b)
{
	if (a == b)
		return 0;
	if (!a || !b)
		return a ? 1 : -1;
	return strcmp(nsx_str_text(s, a), nsx_str_text(s, b));
}

enum { FEW = 64 }; /* with fewer texts, radix sort does not pay */

NSX_ORDER(cmp_letters, struct nsx_keyed, UP(key));

/* Eight bytes of a text as a number with the same order. */
static int64_t eight_letters_key(const char *text)
{
	uint64_t ret = 0;

	for (unsigned i = 0; i < 8; i++) {
		ret = ret << 8 | (unsigned char)*text;
		text += *text != '\0';
	}
	return (int64_t)(ret ^ UINT64_C(1) << 63);
}

/* Context of sorting; packed texts are unpacked into its buffers. */
struct sorting {
	const struct nsx_strings *s;
	unsigned threads;
	struct nsx_buf first, other;
};

/* Texts that were sorted by eight letters. Runs of equal keys must still be sorted; the threads
 * get them in pieces.
 */
enum { MANY = 1 << 14, PIECES = 32 };
struct runs {
	const struct sorting *x;
	struct nsx_keyed *v, *spare;
	size_t at[PIECES + 1]; /* index where each piece begins              */
	size_t from;
};

/* Sets keys to the letters from byte `from` on. */
static void set_keys_from(struct sorting *x, struct nsx_keyed *v, size_t n, size_t from)
{
	for (size_t i = 0; i < n; i++) {
		NSX_FETCH_TEXTS(x->s, i, n, next, v[next].at, from);
		v[i].key = eight_letters_key(nsx_str_read(x->s, v[i].at, &x->other) + from);
	}
}

/* Finds the first byte at which one of the texts differs from that of `like`; all are equal up to
 * byte `from`. Sets keys to the letters from that byte on, and returns it.
 */
static size_t set_keys_after_common(struct sorting *x, nsx_str like, struct nsx_keyed *v,
				    size_t n, size_t from)
{
	const char *first = nsx_str_read(x->s, like, &x->first), *text;
	size_t same = strlen(first), k, nstale = 0;

	for (size_t i = 0; i < n; i++) {
		NSX_FETCH_TEXTS(x->s, i, n, next, v[next].at, from);
		text = nsx_str_read(x->s, v[i].at, &x->other);
		k = from + nsx_same_bytes(first + from, text + from,
					  strnlen(text + from, same - from));
		if (k < same)
			nstale = i; /* the texts from here on need keys from a later byte */
		same = k;
		v[i].key = eight_letters_key(text + same);
	}
	set_keys_from(x, v, nstale, same);
	return same;
}

static void free_sort_buffers(struct sorting *x)
{
	nsx_buf_done(&x->first);
	nsx_buf_done(&x->other);
}

/* State of set_keys_after_common for many texts, in pieces for threads. The first byte at which
 * all texts differ is known only when all pieces have been read, so pieces may need new keys.
 */
struct keying {
	const struct sorting *x;
	struct nsx_keyed *v;
	size_t n, from, same[PIECES], least;
};

static size_t piece_at(const struct keying *k, size_t i)
{
	return k->n / PIECES * i + NSX_MIN(i, k->n % PIECES);
}

static int set_keys_of_piece(void *ctx, size_t i, struct nsx_err *err NSX_UNUSED)
{
	struct keying *k = ctx;
	NSX_AT_EXIT(free_sort_buffers) struct sorting x = {.s = k->x->s};
	size_t at = piece_at(k, i);

	k->same[i] = set_keys_after_common(&x, k->v->at, k->v + at, piece_at(k, i + 1) - at,
					   k->from);
	return 0;
}

static int set_least_keys_of_piece(void *ctx, size_t i, struct nsx_err *err NSX_UNUSED)
{
	const struct keying *k = ctx;
	NSX_AT_EXIT(free_sort_buffers) struct sorting x = {.s = k->x->s};
	size_t at = piece_at(k, i);

	if (k->same[i] != k->least)
		set_keys_from(&x, k->v + at, piece_at(k, i + 1) - at, k->least);
	return 0;
}

static size_t set_many_keys(const struct sorting *x, struct nsx_keyed *v, size_t n, size_t from)
{
	struct keying k = {.x = x, .v = v, .n = n, .from = from,
			   .least = SIZE_MAX};
	struct nsx_err err;

	(void)!nsx_par(x->threads, PIECES, set_keys_of_piece, &k, &err); /* the task never fails */
	for (size_t i = 0; i < PIECES; i++)
		k.least = NSX_MIN(k.least, k.same[i]);
	(void)!nsx_par(x->threads, PIECES, set_least_keys_of_piece, &k, &err);
	return k.least;
}

static void sort_texts(struct sorting *x, struct nsx_keyed *v,
		       struct nsx_keyed *spare, size_t n, size_t from);

static void sort_runs(struct sorting *x, struct nsx_keyed *v,
		      struct nsx_keyed *spare, size_t n, size_t from)
{
	NSX_EACH_RUN(i, next, n, v[next].key == v[i].key)
		sort_texts(x, v + i, spare + i, next - i, from);
}

static int sort_piece(void *ctx, size_t i, struct nsx_err *err NSX_UNUSED)
{
	const struct runs *r = ctx;
	NSX_AT_EXIT(free_sort_buffers) struct sorting x = {.s = r->x->s,
							   .threads = r->x->threads};

	sort_runs(&x, r->v + r->at[i], r->spare + r->at[i], r->at[i + 1] - r->at[i], r->from);
	return 0;
}

static void sort_many_runs(struct sorting *x, struct nsx_keyed *v,
			   struct nsx_keyed *spare, size_t n, size_t from)
{
	struct runs r = {.x = x, .v = v, .spare = spare, .from = from};
	struct nsx_err err;

	for (size_t i = 0; i <= PIECES; i++) {
		size_t at = NSX_MAX(n / PIECES * i, i ? r.at[i - 1] : 0);

		while (at && at < n && v[at].key == v[at - 1].key)
			at++;
		r.at[i] = i < PIECES ? at : n;
	}
	(void)!nsx_par(x->threads, PIECES, sort_piece, &r, &err); /* the task never fails */
}

/* Sorts distinct texts, given by their ids in `at`, that are equal up to byte `from`. */
static void sort_texts(struct sorting *x, struct nsx_keyed *v,
		       struct nsx_keyed *spare, size_t n, size_t from)
{
	if (n < 2)
		return;
	from = n < MANY ? set_keys_after_common(x, v->at, v, n, from) : set_many_keys(x, v, n,
										      from);
	if (n < FEW)
		nsx_sort(v, n, sizeof(*v), cmp_letters);
	else
		nsx_keyed_sort(v, spare, n);
	(n < MANY ? sort_runs : sort_many_runs)(x, v, spare, n, from + 8);
}

int nsx_strings_rank(const struct nsx_strings *s, uint32_t *rank,
		     unsigned threads, struct nsx_err *err)
{
	size_t bound = nsx_strings_bound(s), n = 0;
	NSX_AT_EXIT(free_sort_buffers) struct sorting x = {.s = s, .threads = threads};
	NSX_AT_EXIT(nsx_free_at) struct nsx_keyed *v = NULL;

	for (size_t id = 0; id < bound; id++)
		n += rank[id] != 0;
	v = nsx_try_alloc(2 * n, sizeof(*v), "names in order", err);
	if (!v)
		return err->rc;
	n = 0;
	for (size_t id = 0; id < bound; id++)
		if (rank[id])
			v[n++].at = (nsx_str)id;
	sort_texts(&x, v, v + n, n, 0);
	for (uint32_t i = 0; i < n; i++)
		rank[v[i].at] = i + 1;
	return 0;
}

void nsx_buf_grow(struct nsx_buf *b, size_t n)
{
	b->cap = NSX_MAX(b->cap * 2, b->n + n + 64);
	b->p = realloc(b->p, b->cap);
	if (!b->p)
		nsx_die_of_memory(b->cap);
}

void nsx_buf_add(struct nsx_buf *b, const char *p, size_t n)
{
	(void)nsx_buf_room(b, n);
	memcpy(b->p + b->n, p, n);
	b->n += n;
	b->p[b->n] = '\0';
}

void nsx_buf_adds(struct nsx_buf *b, const char *s)
{
	nsx_buf_add(b, s, strlen(s));
}

size_t nsx_unescaped(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && (signed char)p[i] >= ' ' && p[i] != '"' && p[i] != '\\')
		i++;
	return i;
}

void nsx_buf_add_escaped(struct nsx_buf *b, const char *p, size_t n)
{
	const char *from = p, *end = p + n;

	for (; p < end; p++) {
		unsigned char c = (unsigned char)*p;

		if (c >= ' ' && c != '"' && c != '\\')
			continue;
		nsx_buf_add(b, from, (size_t)(p - from));
		if (c < ' ')
			nsx_buf_printf(b, "\\u%04x", c);
		else
			nsx_buf_printf(b, "\\%c", c);
		from = p + 1;
	}
	nsx_buf_add(b, from, (size_t)(p - from));
}

void nsx_buf_printf(struct nsx_buf *b, const char *fmt, ...)
{
	char small[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if ((size_t)n < sizeof(small)) {
		nsx_buf_add(b, small, (size_t)n);
		return;
	}
	NSX_AT_EXIT(nsx_free_at) char *big = malloc((size_t)n + 1);

	if (!big)
		nsx_die_of_memory((size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(big, (size_t)n + 1, fmt, ap);
	va_end(ap);
	nsx_buf_add(b, big, (size_t)n);
}

void nsx_buf_add_word(struct nsx_buf *b, const char *word)
{
	size_t plain = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP"
				    "QRSTUVWXYZ0123456789_./:+,-");

	nsx_buf_adds(b, " ");
	if (*word && !word[plain]) {
		nsx_buf_adds(b, word);
		return;
	}
	nsx_buf_adds(b, "'");
	for (; *word; word++)
		if (*word == '\'')
			nsx_buf_adds(b, "'\\''");
		else
			nsx_buf_add(b, word, 1);
	nsx_buf_adds(b, "'");
}

void nsx_buf_clear(struct nsx_buf *b)
{
	b->n = 0;
	if (b->p)
		b->p[0] = '\0';
}

void nsx_buf_done(struct nsx_buf *b)
{
	free(b->p);
	*b = (struct nsx_buf){0};
}

char *nsx_buf_keep(struct nsx_buf *b, struct nsx_arena *a)
{
	char *text = nsx_arena_strdup(a, b->p ? b->p : "");

	nsx_buf_done(b);
	return text;
}

size_t nsx_same_bytes(const char *a, const char *b, size_t n)
{
	size_t i = 0;
	uint64_t x, y;

	for (; n - i >= 8; i += 8) {
		memcpy(&x, a + i, 8);
		memcpy(&y, b + i, 8);
		if (x != y)
			return i + (size_t)__builtin_ctzll(le64toh(x ^ y)) / 8;
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

char *nsx_digits_before(char *end, uint64_t n)
{
	do
		*--end = (char)('0' + n % 10);
	while (n /= 10);
	return end;
}

const char *nsx_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *nsx_file_name(const char *path)
{
	const char *name = path;

	for (const char *p = path; *p; p++)
		if (*p == '/' || *p == '\\')
			name = p + 1;
	return name;
}

/* Whether a name begins as a path does. "kworker/0:1" and "annas/bin/x" do not. */
static bool begins_as_path(const char *name)
{
	size_t at = strcspn(name, "/\\");

	return name[at] && (at == strspn(name, ".") || *name == '~' || name[at - 1] == ':');
}

const char *nsx_thread_label(const char *name)
{
	return begins_as_path(name) ? nsx_file_name(name) : name;
}

const char *nsx_title_label(const char *name)
{
	const char *label = name;

	if (begins_as_path(name))
		return nsx_file_name(name);
	for (const char *p = name; *p; p++)
		if ((*p == '/' || *p == '\\') &&
		    !(p > name && nsx_is_digit(p[-1]) && nsx_is_digit(p[1])))
			label = p + 1;
	return label;
}

bool nsx_ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

static const char digits[] = "0123456789", hex_digits[] = "0123456789abcdefABCDEF";
enum { LEAST_HEX = 6, LEAST_PART = 4, UUID_PARTS = 5 }; /* shorter ones are no numbers */

static bool is_word(char c)
{
	return nsx_is_digit(c) || nsx_is_letter(c);
}

/* Whether s[i] follows the dash after a number in base 16, as the parts of a UUID do. */
static bool continues_hex(const char *s, size_t i)
{
	for (unsigned part = 1; part < UUID_PARTS && i && s[i - 1] == '-'; part++) {
		size_t end = --i;

		while (i && strchr(hex_digits, s[i - 1]))
			i--;
		if (end - i >= LEAST_HEX)
			return (!i || !is_word(s[i - 1])) && strcspn(s + i, digits) < end - i;
		if (end - i < LEAST_PART)
			return false;
	}
	return false;
}

size_t nsx_number_at(const char *s, size_t i)
{
	bool begins = !i || !is_word(s[i - 1]);
	size_t prefix = begins && s[i] == '0' && (s[i + 1] | 32) == 'x' ? 2 : 0;
	size_t n = begins ? strspn(s + i + prefix, hex_digits) : 0;
	size_t least = prefix ? 1 : n >= LEAST_HEX || !continues_hex(s, i) ? LEAST_HEX : LEAST_PART;

	if (n >= least && !is_word(s[i + prefix + n]) &&
	    (least < LEAST_HEX || strcspn(s + i, digits) < n))
		return prefix + n;
	return strspn(s + i, digits);
}

/* The length of the numbers and "#" at s[i], which are masked as one. */
static size_t numbers_at(const char *s, size_t i)
{
	size_t n = 0;

	for (size_t k; (k = s[i + n] == '#' ? 1 : nsx_number_at(s, i + n)) > 0;)
		n += k;
	return n;
}

bool nsx_buf_add_masked(struct nsx_buf *b, const char *s)
{
	for (size_t i = 0, n; s[i]; i += NSX_MAX(n, 1)) {
		n = numbers_at(s, i);
		nsx_buf_add(b, n ? "#" : s + i, 1);
	}
	return s[strcspn(s, "0123456789")];
}

bool nsx_is_shown_as(const char *name, const char *shown)
{
	size_t i = 0;

	for (size_t n; *shown; shown++, i += n) {
		n = *shown == '#' ? numbers_at(name, i) : name[i] == *shown;
		if (!n)
			return false;
	}
	return !name[i];
}

bool nsx_is_one_of(const char *text, const char *const *list, size_t n)
{
	return NSX_ANY(i, n, !strcmp(text, list[i]));
}

size_t nsx_edits(const char *a, size_t na, const char *b)
{
	size_t row[64], nb = strlen(b);

	if (nb >= ARRAY_LEN(row))
		return SIZE_MAX;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t change = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = NSX_MIN(NSX_MIN(row[j], row[j - 1]) + 1, change);
		}
	}
	return row[nb];
}

bool nsx_is_nearer(const char *s, size_t n, const char *name, size_t *best)
{
	size_t d = nsx_edits(s, n, name);

	if (d >= NSX_MIN(*best, n / 2 + 1))
		return false;
	*best = d;
	return true;
}

struct nsx_meant nsx_meant(const char *nearest)
{
	struct nsx_meant ret = {""};

	if (nearest)
		snprintf(ret.text, sizeof(ret.text), "did you mean '%s'? ", nearest);
	return ret;
}
