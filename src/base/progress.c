/* progress.c - stages and their clock. */
#include <time.h>
#include <stddef.h>
#include "base/progress.h"

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

void nsx_progress_stage(struct nsx_progress *p, const char *stage,
			int64_t total)
{
	const char *old;

	if (!p)
		return;
	old = atomic_load(&p->stage);
	if (old && p->stage_done)
		p->stage_done(old, now_s() - p->began);
	p->began = now_s();
	atomic_store(&p->done, 0);
	atomic_store(&p->total, total);
	atomic_store(&p->stage, stage);
}
