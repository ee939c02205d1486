/* progress.h - the progress of a run, for display.
 *
 * Worker threads write it with relaxed atomics, and the front end's ticker reads it; the
 * library itself prints nothing.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct nsx_progress {
	_Atomic(const char *) stage; /* static text                          */
	atomic_int_fast64_t done, total; /* rows of this stage; total 0: unknown */
	/* Called at the end of each stage with its name and seconds, on the thread that drives the
	 * run; may be NULL.
	 */
	void (*stage_done)(const char *stage, double seconds);
	double began; /* start of the stage, by nsx_now_s */
};

/* Ends the running stage, if any, and begins one; stage NULL only ends. p may be NULL. */
void nsx_progress_stage(struct nsx_progress *p, const char *stage, int64_t total);

static inline void nsx_progress_add(struct nsx_progress *p, int64_t n)
{
	if (p)
		atomic_fetch_add_explicit(&p->done, n, memory_order_relaxed);
}
