/* rings.c - a ring of blocks for each producer. */
#include <pthread.h>
#include "convert/rings.h"

enum { NHELD = 2 }; /* blocks held for each producer                         */

struct ring {
	struct nsx_rings *all;
	size_t number;
	struct nsx_buf block[NHELD];
	uint64_t nput, ntaken;
	bool has_ended;
	struct nsx_err err; /* error of the producer, if rc is negative      */
	pthread_t thread;
};

struct nsx_rings {
	const struct nsx_production *p;
	struct ring ring[NSX_MAX_PRODUCERS];
	bool is_unwanted;
	pthread_mutex_t lock; /* guards everything except the bytes of blocks */
	pthread_cond_t is_put, is_taken;
};

bool nsx_rings_put(struct nsx_rings *r, size_t i, struct nsx_buf *block)
{
	struct ring *ring = &r->ring[i];
	bool is_wanted;

	pthread_mutex_lock(&r->lock);
	while (ring->nput - ring->ntaken == NHELD && !r->is_unwanted)
		pthread_cond_wait(&r->is_taken, &r->lock);
	is_wanted = !r->is_unwanted;
	if (is_wanted) {
		struct nsx_buf *place = &ring->block[ring->nput++ % NHELD];
		struct nsx_buf empty = *place;

		*place = *block;
		*block = empty;
		pthread_cond_signal(&r->is_put);
	}
	pthread_mutex_unlock(&r->lock);
	return is_wanted;
}

static void *run_producer(void *ctx)
{
	struct ring *ring = ctx;
	struct nsx_rings *r = ring->all;
	struct nsx_err err;
	int rc = r->p->produce(r->p->ctx, ring->number, &err);

	pthread_mutex_lock(&r->lock);
	if (rc)
		ring->err = err;
	ring->has_ended = true;
	pthread_cond_signal(&r->is_put);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* Takes the next block of a ring; false: it has ended. */
static bool take_next_block(struct nsx_rings *r, struct ring *ring)
{
	struct nsx_buf *block = &ring->block[ring->ntaken % NHELD];
	bool is_there, is_wanted;

	pthread_mutex_lock(&r->lock);
	while (ring->ntaken == ring->nput && !ring->has_ended)
		pthread_cond_wait(&r->is_put, &r->lock);
	is_there = ring->ntaken < ring->nput;
	pthread_mutex_unlock(&r->lock);
	if (!is_there)
		return false;
	is_wanted = r->p->take(r->p->take_ctx, block->p, block->n);
	nsx_buf_clear(block);
	pthread_mutex_lock(&r->lock);
	ring->ntaken++;
	r->is_unwanted |= !is_wanted;
	pthread_cond_broadcast(&r->is_taken);
	pthread_mutex_unlock(&r->lock);
	return is_wanted;
}

static void take_all_blocks(struct nsx_rings *r)
{
	bool is_there[NSX_MAX_PRODUCERS];
	size_t nleft = r->p->n;

	memset(is_there, true, sizeof(is_there));
	while (nleft && !r->is_unwanted)
		for (size_t i = 0; i < r->p->n; i++)
			if (is_there[i] && !take_next_block(r, &r->ring[i])) {
				is_there[i] = false;
				nleft--;
			}
}

/* Starts the producers. If one cannot be started, the others must stop. */
static size_t start_producers(struct nsx_rings *r, struct nsx_err *err)
{
	err->rc = NSX_OK;
	for (size_t n = 0; n < r->p->n; n++) {
		struct ring *ring = &r->ring[n];
		int failed;

		ring->all = r;
		ring->number = n;
		failed = pthread_create(&ring->thread, NULL, run_producer, ring);
		if (!failed)
			continue;
		nsx_fail(err, NSX_E_NOMEM, "cannot start a thread: %s", strerror(failed));
		pthread_mutex_lock(&r->lock);
		r->is_unwanted = true;
		pthread_cond_broadcast(&r->is_taken);
		pthread_mutex_unlock(&r->lock);
		return n;
	}
	return r->p->n;
}

int nsx_rings_run(const struct nsx_production *p, struct nsx_rings **ret_rings, struct nsx_err *err)
{
	struct nsx_rings *r = nsx_try_alloc(1, sizeof(*r), "blocks", err);
	size_t n;
	int rc;

	if (!r)
		return err->rc;
	*ret_rings = r;
	r->p = p;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->is_put, NULL);
	pthread_cond_init(&r->is_taken, NULL);
	n = start_producers(r, err);
	rc = err->rc;
	if (!rc)
		take_all_blocks(r);
	for (size_t i = 0; i < n; i++) {
		pthread_join(r->ring[i].thread, NULL);
		if (!rc && r->ring[i].err.rc)
			*err = r->ring[i].err, rc = err->rc;
	}
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < NHELD; k++)
			nsx_buf_done(&r->ring[i].block[k]);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->is_put);
	pthread_cond_destroy(&r->is_taken);
	free(r);
	return rc;
}
