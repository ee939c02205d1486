/* streamwait.h - what a stream was told to wait for; see streamwait.c. */
#ifndef NSX_FACTS_STREAMWAIT_H
#define NSX_FACTS_STREAMWAIT_H

#include "facts/facts.h"

struct nsx_stream_waits {
	uint32_t *wait;	  /* of syncs, in order of stream, then call         */
	uint32_t *wait_at; /* by stream, and one more: its slice             */
	uint32_t *record; /* of records, in order of (process, event sync id) */
	size_t nrecords;
	uint32_t *op;	  /* of ops, stream by stream, as they start         */
	uint32_t *op_at;  /* by stream, and one more: its slice              */
	int64_t *called;  /* by place in op: latest call of it and before    */
};

/* Indexes waits of streams for work on another device; *ret stays NULL where
 * there can be none.  Owner: arena a.
 */
int nsx_index_stream_waits(const struct nsx_trace *t, struct nsx_arena *a,
			   struct nsx_stream_waits **ret, struct nsx_err *err);

/* The op that op's stream waited for before it could start op, if that op ended
 * after start and not after end; NSX_NONE.
 */
uint32_t nsx_stream_waited_for(const struct nsx_stream_waits *w,
			       const struct nsx_trace *t, uint32_t op,
			       int64_t start_ns, int64_t end_ns);

#endif
