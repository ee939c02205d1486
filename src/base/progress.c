/* progress.c - begins and ends stages, and reports their duration. */
#include "base/clock.h"
#include "base/progress.h"

void nsx_progress_stage(struct nsx_progress *p, const char *stage, int64_t total)
{
	const char *old;

	if (!p)
		return;
	old = atomic_load(&p->stage);
	if (old && p->stage_done)
		p->stage_done(old, nsx_now_s() - p->began);
	p->began = nsx_now_s();
	atomic_store(&p->done, 0);
	atomic_store(&p->total, total);
	atomic_store(&p->stage, stage);
}
