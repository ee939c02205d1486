/* queues.h - what waits on each stream: a call's work is in the queue from the
 * start of the call until the first of it starts.  Clock error aside nothing
 * starts before it is asked for: what seems to was in no queue.
 */
#ifndef NSX_FACTS_QUEUES_H
#define NSX_FACTS_QUEUES_H

#include "trace/trace.h"

struct nsx_queues { /* of one device                                       */
	size_t *at; /* by stream of the trace, and one more: slice of the two
		       lists                                                 */
	int64_t *called_ns; /* sorted in its slice                           */
	uint32_t *op; /* that began, in order of start in its slice          */
};
/* Work of calls in the trace, in the window if the user asked for one.  Owner: the
 * arena.
 */
int nsx_queues_build(const struct nsx_trace *t, uint32_t device,
		     struct nsx_arena *a, struct nsx_queues *ret,
		     struct nsx_err *err) NSX_CHECKED;
void nsx_queues_drop(struct nsx_queues *q, struct nsx_arena *a);

#endif
