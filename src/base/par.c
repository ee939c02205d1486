/* par.c - a crew of threads works on a stack of jobs, each of which consists of tasks. */
#include <pthread.h>
#include "base/par.h"

struct job {
	struct job *before; /* the job begun before this one                 */
	size_t next, n, running;
	nsx_task_fn fn;
	void *ctx;
	size_t failed; /* lowest failing index; SIZE_MAX: none               */
	struct nsx_err err;
};
struct crew {
	pthread_mutex_t lock; /* guards the crew and its jobs                */
	pthread_cond_t news;  /* a new job, or the last task of a job is done */
	struct job *latest;
	unsigned nhired, most; /* threads besides the one that made the crew */
	pthread_t hired[NSX_MAX_THREADS];
	bool is_over;
};

static _Thread_local struct crew *crew; /* the crew of this thread           */

/* Runs the job's next task, without the lock. The caller holds the lock. */
static void par_run_task(struct crew *c, struct job *job)
{
	struct nsx_err err;
	size_t i = job->next++;
	int rc;

	job->running++;
	pthread_mutex_unlock(&c->lock);
	rc = job->fn(job->ctx, i, &err);
	pthread_mutex_lock(&c->lock);
	if (rc && i < job->failed) {
		job->failed = i;
		job->err = err;
	}
	if (rc)
		job->next = job->n;
	if (!--job->running && job->next == job->n)
		pthread_cond_broadcast(&c->news);
}

/* Runs a task of the latest job that has one left and was begun after `own` (NULL: any job), or
 * waits. Older jobs are left alone, because their tasks may be longer and would delay a thread
 * that waits for the end of `own`. The caller holds the lock.
 */
static void run_or_wait(struct crew *c, const struct job *own)
{
	struct job *job = c->latest;

	while (job != own && job->next == job->n)
		job = job->before;
	if (job != own)
		par_run_task(c, job);
	else
		pthread_cond_wait(&c->news, &c->lock);
}

static void *run_worker(void *arg)
{
	struct crew *c = crew = arg;

	pthread_mutex_lock(&c->lock);
	while (!c->is_over)
		run_or_wait(c, NULL);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static void run_with_crew(struct crew *c, struct job *job)
{
	struct job **at = &c->latest;

	pthread_mutex_lock(&c->lock);
	job->before = c->latest;
	c->latest = job;
	/* If a thread cannot be started, the others do its work. */
	for (size_t n = 1; n < job->n && c->nhired < c->most; n++)
		if (!pthread_create(&c->hired[c->nhired], NULL, run_worker, c))
			c->nhired++;
		else
			c->most = c->nhired;
	pthread_cond_broadcast(&c->news);
	while (job->next < job->n)
		par_run_task(c, job);
	while (job->running)
		run_or_wait(c, job);
	while (*at != job)
		at = &(*at)->before;
	*at = job->before;
	pthread_mutex_unlock(&c->lock);
}

static void dismiss_crew(struct crew *c)
{
	pthread_mutex_lock(&c->lock);
	c->is_over = true;
	pthread_cond_broadcast(&c->news);
	pthread_mutex_unlock(&c->lock);
	while (c->nhired)
		pthread_join(c->hired[--c->nhired], NULL);
	pthread_cond_destroy(&c->news);
	pthread_mutex_destroy(&c->lock);
}

/* A task may leave a message in its err although it succeeds. */
static int run_in_order(size_t n, nsx_task_fn fn, void *ctx, struct nsx_err *err)
{
	struct nsx_err own;

	for (size_t i = 0; i < n; i++)
		if (fn(ctx, i, &own)) {
			*err = own;
			return err->rc;
		}
	return 0;
}

int nsx_par(unsigned threads, size_t n, nsx_task_fn fn, void *ctx, struct nsx_err *err)
{
	struct job job = {.n = n, .fn = fn, .ctx = ctx, .failed = SIZE_MAX};
	struct crew own;

	if (threads < 2 || n < 2)
		return run_in_order(n, fn, ctx, err);
	if (crew) {
		run_with_crew(crew, &job);
	} else {
		own = (struct crew){
			.most = NSX_MIN(threads, NSX_MAX_THREADS) - 1};
		pthread_mutex_init(&own.lock, NULL);
		pthread_cond_init(&own.news, NULL);
		crew = &own;
		run_with_crew(crew, &job);
		crew = NULL;
		dismiss_crew(&own);
	}
	if (job.failed == SIZE_MAX)
		return 0;
	*err = job.err;
	return err->rc;
}
