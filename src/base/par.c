/* par.c - an atomic counter of tasks and a handful of threads. */
#include <pthread.h>
#include <stdatomic.h>
#include "base/par.h"

struct job {
	atomic_size_t next;
	size_t n;
	nsx_task_fn fn;
	void *ctx;
	pthread_mutex_t lock; /* guards the two below */
	size_t failed;
	struct nsx_err err;
};

static void *work(void *arg)
{
	struct job *job = arg;
	struct nsx_err err;
	size_t i;

	while ((i = atomic_fetch_add(&job->next, 1)) < job->n) {
		if (!job->fn(job->ctx, i, &err))
			continue;
		pthread_mutex_lock(&job->lock);
		if (i < job->failed) {
			job->failed = i;
			job->err = err;
		}
		pthread_mutex_unlock(&job->lock);
		atomic_store(&job->next, job->n);
	}
	return NULL;
}

int nsx_par(unsigned threads, size_t n, nsx_task_fn fn, void *ctx,
	    struct nsx_err *err)
{
	struct job job = {.n = n, .fn = fn, .ctx = ctx, .failed = SIZE_MAX};
	pthread_t id[NSX_MAX_THREADS];
	unsigned started = 0;

	pthread_mutex_init(&job.lock, NULL);
	threads = NSX_MIN(threads, NSX_MAX_THREADS);
	/* A thread that will not start is no failure: the others do its work. */
	while (started + 1 < threads && started + 1 < n &&
	       !pthread_create(&id[started], NULL, work, &job))
		started++;
	work(&job);
	while (started)
		pthread_join(id[--started], NULL);
	pthread_mutex_destroy(&job.lock);
	if (job.failed == SIZE_MAX)
		return 0;
	*err = job.err;
	return err->rc;
}
