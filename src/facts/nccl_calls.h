/* nccl_calls.h - what NCCL says of its calls: the payloads of its NVTX ranges.
 *
 * Read on demand, for most exports leave payloads out and reading them is one
 * more scan of the NVTX table.
 */
#ifndef NSX_FACTS_NCCL_CALLS_H
#define NSX_FACTS_NCCL_CALLS_H

#include "trace/trace.h"

enum { NSX_NCCL_SEND = NSX_COMM_OTHER, NSX_NCCL_RECV }; /* after the collectives */

struct nsx_nccl_call { /* that moves data; began in the window               */
	uint64_t communicator; /* NCCL's hash of it, the same on all ranks; 0  */
	uint64_t global_tid;   /* 0: not known                               */
	int64_t start_ns, bytes;
	uint8_t op; /* enum nsx_comm_op, NSX_NCCL_SEND or NSX_NCCL_RECV      */
};
struct nsx_nccl_init { /* a process joins a communicator                    */
	uint64_t global_tid; /* 0: not known                                 */
	int64_t rank, nranks, device; /* in it; device: CUDA ordinal          */
};
struct nsx_nccl_calls { /* in no order */
	struct nsx_nccl_call *v;
	size_t n;
	struct nsx_nccl_init *init;
	size_t ninits;
};

/* Whether the export says that it kept payloads. */
int nsx_nccl_payloads(const struct nsx_trace *t, bool *ret,
		      struct nsx_err *err) NSX_CHECKED;
/* All calls that have a payload, onto a; none where no domain is NCCL's. */
int nsx_nccl_calls(const struct nsx_trace *t, unsigned threads,
		   struct nsx_arena *a, struct nsx_nccl_calls *ret,
		   struct nsx_err *err) NSX_CHECKED;

#endif
