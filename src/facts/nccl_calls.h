/* nccl_calls.h - details of NCCL calls from the payloads of its NVTX ranges.
 *
 * They are read on demand, because most exports lack payloads and reading them takes another scan
 * of the NVTX table.
 */
#pragma once

#include "trace/trace.h"

enum { NSX_NCCL_SEND = NSX_COMM_OTHER, NSX_NCCL_RECV }; /* continues the numbers of collectives */

struct nsx_nccl_call { /* a call that moves data and began in the window     */
	uint64_t communicator; /* NCCL's hash of the communicator, equal on all ranks; 0:
				  unknown                                      */
	uint64_t global_tid;   /* 0: unknown                                 */
	int64_t start_ns, bytes;
	uint8_t op; /* enum nsx_comm_op, NSX_NCCL_SEND or NSX_NCCL_RECV      */
};
struct nsx_nccl_init { /* a process joins a communicator                    */
	uint64_t global_tid; /* 0: unknown                                   */
	int64_t rank, nranks, device; /* in the communicator; device: CUDA ordinal */
};
struct nsx_nccl_calls { /* calls and inits, unsorted */
	struct nsx_nccl_call *v;
	size_t n;
	struct nsx_nccl_init *init;
	size_t ninits;
};

/* Whether the export says that it has payloads. */
int nsx_nccl_payloads(const struct nsx_trace *t, bool *ret, struct nsx_err *err) NSX_CHECKED;
/* Reads all calls with a payload; none if no domain is NCCL's. Owner: arena a. */
int nsx_nccl_calls(const struct nsx_trace *t, unsigned threads,
		   struct nsx_arena *a, struct nsx_nccl_calls *ret,
		   struct nsx_err *err) NSX_CHECKED;
