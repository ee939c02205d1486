/* meet.h - MPI calls of several processes that wait for each other.
 *
 * A meeting is a set of calls, some of which wait for others of the set: no waiting call can end
 * before all awaited calls have begun (queries/README.md 14). It is a collective; or sends, and
 * the call that waits for their messages; or waits that were seen to end together. A meeting must
 * be consistent with the whole trace.
 */
#pragma once

#include "facts/facts.h"

struct nsx_mpi_call { /* a call that takes part in a meeting */
	int64_t start_ns, end_ns;
	uint32_t thread; /* index of a launching thread                      */
	nsx_str name;
	uint32_t comes; /* the meeting in which others wait for this call; or NSX_NONE */
	uint32_t waits; /* the meeting in which this call waits; or NSX_NONE */
};
struct nsx_meets {
	struct nsx_mpi_call *call; /* sorted by (thread, start)              */
	uint32_t ncalls, nmeets;
	int64_t *last_ns; /* for each meeting: start of the last awaited call */
	int32_t *rank; /* one for each process of the trace; -1: unknown */
	const char *unknown; /* why collectives are not matched, as part of a sentence;
				NULL: they are, or there are none            */
};

/* Finds f->meets, the meetings of the trace. Owner: the arena. Errors: NSX_E_NOMEM. */
int nsx_facts_meets(struct nsx_facts *f, const struct nsx_trace *t, const struct nsx_facts_opts *o,
		    struct nsx_arena *a, struct nsx_err *err) NSX_CHECKED;
