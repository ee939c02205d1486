/* queues.h - launch queues of streams. A call's work is queued from the start of the call
 * until its first operation starts. Work cannot start before its call, so work that seems
 * to (by clock error) was not queued.
 */
#ifndef NSX_FACTS_QUEUES_H
#define NSX_FACTS_QUEUES_H

#include "trace/trace.h"

struct nsx_queues { /* of one device                                       */
	size_t *at; /* nstreams + 1: slices of the two lists                 */
	int64_t *called_ns; /* sorted within a slice                         */
	uint32_t *op; /* those that began, by start within a slice           */
};
/* Lists work of the trace's calls, inside a user's window. Owner: the arena. */
int nsx_queues_build(const struct nsx_trace *t, uint32_t device,
		     struct nsx_arena *a, struct nsx_queues *ret, struct nsx_err *err) NSX_CHECKED;
void nsx_queues_drop(struct nsx_queues *q, struct nsx_arena *a);

#endif
