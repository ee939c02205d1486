/* meet.h - calls of MPI in several processes that wait for each other.
 *
 * A meeting is a set of calls, and some that cannot end before all of these have
 * begun (queries/README.md 14): a collective, a call that waits for messages and
 * those that send them, or calls that wait and were seen to end together.  Only what
 * the whole trace bears out is one.
 */
#ifndef NSX_FACTS_MEET_H
#define NSX_FACTS_MEET_H

#include "trace/trace.h"

struct nsx_mpi_call { /* that has a part in a meeting */
	int64_t start_ns, end_ns;
	uint32_t thread; /* it launches                                      */
	nsx_str name;
	uint32_t comes; /* the meeting that cannot end before it; NSX_NONE   */
	uint32_t waits; /* the meeting that it waits for; NSX_NONE           */
	bool is_seen; /* that it waits: MPI does not promise it              */
};
struct nsx_meets {
	struct nsx_mpi_call *call; /* in order of (thread, start)            */
	uint32_t ncalls, nmeets;
	int64_t *last_ns; /* by meeting: when the last of its calls began    */
	int32_t *rank; /* by process of the trace; -1 not known              */
	const char *unknown; /* why collectives are in none, as part of a
				sentence; NULL: they are, or there are none  */
};

/* Owner: the arena.  Errors: NSX_E_NOMEM. */
int nsx_meets_build(const struct nsx_trace *t, struct nsx_arena *a,
		    struct nsx_meets *ret, struct nsx_err *err) NSX_CHECKED;

#endif
