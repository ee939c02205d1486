/* deflate.c - a ring of blocks between one thread, which fills them, and others, which compress
 * them.
 *
 * The filling thread compresses, too, when it would otherwise wait.
 */
#include <libdeflate.h>
#include <pthread.h>
#include "convert/deflate.h"

/* More workers would only use memory, because one thread cannot fill blocks that fast. */
enum { MAX_WORKERS = 8, NBLOCKS = 2 * MAX_WORKERS };

struct block {
	struct nsx_buf plain, packed;
	bool is_done, has_failed;
};

struct nsx_deflate {
	enum nsx_deflate_kind kind;
	nsx_deflated_fn fn;
	void *ctx;
	struct block block[NBLOCKS]; /* indexed by block number              */
	uint64_t nput, ntaken, nhanded;
	bool is_ending;
	pthread_mutex_t lock; /* guards the members above, except the bytes of blocks */
	pthread_cond_t is_put, is_packed;
	pthread_t worker[MAX_WORKERS];
	unsigned nworkers;
};

/* The fastest level: the next ones take half as long again for 3 % less. */
enum { LEVEL = 1 };

static bool compress_block(enum nsx_deflate_kind kind, struct block *b)
{
	struct libdeflate_compressor *z = libdeflate_alloc_compressor(LEVEL);
	size_t most;

	if (!z)
		return false;
	nsx_buf_clear(&b->packed);
	/* The bound is that of gzip, whose overhead is larger. */
	most = libdeflate_gzip_compress_bound(z, b->plain.n);
	b->packed.n = (kind == NSX_DEFLATE_ZLIB ? libdeflate_zlib_compress :
						  libdeflate_gzip_compress)(
		z, b->plain.p, b->plain.n, nsx_buf_room(&b->packed, most), most);
	libdeflate_free_compressor(z);
	return b->packed.n > 0;
}

/* Compresses the next untaken block; called with the lock held. */
static void compress_next_block(struct nsx_deflate *d)
{
	struct block *b = &d->block[d->ntaken++ % NBLOCKS];
	bool ok;

	pthread_mutex_unlock(&d->lock);
	ok = compress_block(d->kind, b);
	pthread_mutex_lock(&d->lock);
	b->has_failed = !ok;
	b->is_done = true;
	pthread_cond_signal(&d->is_packed);
}

static void *deflate_work(void *ctx)
{
	struct nsx_deflate *d = ctx;

	pthread_mutex_lock(&d->lock);
	while (!d->is_ending)
		if (d->ntaken < d->nput)
			compress_next_block(d);
		else
			pthread_cond_wait(&d->is_put, &d->lock);
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

struct nsx_deflate *nsx_deflate_open(enum nsx_deflate_kind kind,
				     unsigned threads, nsx_deflated_fn fn,
				     void *ctx, struct nsx_err *err)
{
	struct nsx_deflate *d = nsx_try_alloc(1, sizeof(*d), "a compressor", err);

	if (!d)
		return NULL;
	d->kind = kind;
	d->fn = fn;
	d->ctx = ctx;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->is_put, NULL);
	pthread_cond_init(&d->is_packed, NULL);
	/* If a thread cannot be started, fewer do the work. */
	while (d->nworkers + 1 < threads && d->nworkers < MAX_WORKERS &&
	       !pthread_create(&d->worker[d->nworkers], NULL, deflate_work, d))
		d->nworkers++;
	return d;
}

static void deliver_oldest_block(struct nsx_deflate *d)
{
	struct block *b = &d->block[d->nhanded % NBLOCKS];

	pthread_mutex_lock(&d->lock);
	while (!b->is_done)
		if (d->ntaken < d->nput)
			compress_next_block(d);
		else
			pthread_cond_wait(&d->is_packed, &d->lock);
	pthread_mutex_unlock(&d->lock);
	d->fn(d->ctx, b->has_failed ? NULL : b->packed.p, b->packed.n);
	d->nhanded++;
}

void nsx_deflate_put(struct nsx_deflate *d, const char *p, size_t n)
{
	struct block *b = &d->block[d->nput % NBLOCKS];

	if (d->nput - d->nhanded == (d->nworkers ? 2 * d->nworkers : 1))
		deliver_oldest_block(d);
	nsx_buf_clear(&b->plain);
	nsx_buf_add(&b->plain, p, n);
	b->is_done = false;
	pthread_mutex_lock(&d->lock);
	d->nput++;
	pthread_cond_signal(&d->is_put);
	pthread_mutex_unlock(&d->lock);
}

void nsx_deflate_drain(struct nsx_deflate *d)
{
	while (d->nhanded < d->nput)
		deliver_oldest_block(d);
}

void nsx_deflate_free(struct nsx_deflate *d)
{
	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	d->is_ending = true;
	pthread_cond_broadcast(&d->is_put);
	pthread_mutex_unlock(&d->lock);
	for (unsigned i = 0; i < d->nworkers; i++)
		pthread_join(d->worker[i], NULL);
	for (unsigned i = 0; i < NBLOCKS; i++) {
		nsx_buf_done(&d->block[i].plain);
		nsx_buf_done(&d->block[i].packed);
	}
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->is_put);
	pthread_cond_destroy(&d->is_packed);
	free(d);
}
