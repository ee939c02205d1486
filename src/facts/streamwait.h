/* streamwait.h - finds the operation for which a stream waited; see streamwait.c. */
#pragma once

#include "facts/facts.h"

struct nsx_stream_waits {
	uint32_t *wait;	  /* indices of syncs, by stream, then call          */
	uint32_t *wait_at; /* nstreams + 1: slices by stream                 */
	uint32_t *record; /* indices of records, by (process, event sync id) */
	size_t nrecords;
	uint32_t *op;	  /* operations, by stream, then start               */
	uint32_t *op_at;  /* nstreams + 1: slices by stream                  */
	/* By index in op: the latest call start among the slice's operations up to it. */
	int64_t *called;
};

/* Indexes streams' waits for work on another device; *ret stays NULL if there can be none.
 * Owner: arena a.
 */
int nsx_index_stream_waits(const struct nsx_trace *t, struct nsx_arena *a,
			   struct nsx_stream_waits **ret, struct nsx_err *err);

/* The operation that op's stream waited for, if it ended after start and not after end; or
 * NSX_NONE.
 */
uint32_t nsx_stream_waited_for(const struct nsx_stream_waits *w,
			       const struct nsx_trace *t, uint32_t op,
			       int64_t start_ns, int64_t end_ns);
