/* queues.h - launch queues of streams. A call's work is queued from the start of the call until its
 * first operation starts. Work that seems to start before its call, by a clock error, was not
 * queued.
 */
#pragma once

#include "trace/trace.h"

struct nsx_queues { /* launch queues of one device                         */
	/* For each stream: where its slice of the two lists begins, and where the next begins. */
	size_t *at;
	int64_t *called_ns; /* start times of calls, sorted within a slice   */
	uint32_t *op; /* first operations of calls, sorted by start within a slice */
};
/* Lists the work of the trace's calls; with a user's window, only what lies inside. Owner: the
 * arena.
 */
int nsx_queues_build(const struct nsx_trace *t, uint32_t device,
		     struct nsx_arena *a, struct nsx_queues *ret, struct nsx_err *err) NSX_CHECKED;
void nsx_queues_drop(struct nsx_queues *q, struct nsx_arena *a);
