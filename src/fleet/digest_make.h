/* digest_make.h - shared by the files that make a digest. */
#pragma once

#include "facts/nccl_calls.h"
#include "fleet/digest.h"

struct nsx_maker {
	const struct nsx_report *r;
	const struct nsx_trace *t;
	const struct nsx_facts *f;
	const char *path;
	const struct nsx_digest_opts *o;
	struct nsx_mpi_wait *mpi; /* ordered by process and start */
	size_t nmpi, cap_mpi;
	struct nsx_nccl_calls nccl; /* ordered by thread and start */
	struct nsx_arena *a; /* scratch */
};
/* A process on a device that becomes a rank; indices of the trace. */
struct nsx_member {
	uint32_t process, device; /* device NSX_NONE: an MPI process without a device */
	size_t ncolls;
	int64_t gpu_ns;
};
struct nsx_mpi_wait { /* an MPI call that blocks: a collective, or a wait for messages */
	int64_t sent_ns; /* start of the MPI_Isend to the same rank; without one start_ns */
	int64_t start_ns, end_ns, bytes;
	uint64_t comm; /* handle of the communicator; nsx_messages_with for messages */
	uint32_t process;
	bool is_coll;
	bool is_again; /* another message of the same call */
	const char *name;
};

/* Lists the trace's MPI calls that block, in order of process and start. */
int nsx_maker_read_mpi(struct nsx_maker *m, struct nsx_err *err) NSX_CHECKED;
/* Reads what NCCL records about its calls. */
int nsx_maker_read_nccl(struct nsx_maker *m, struct nsx_err *err) NSX_CHECKED;
/* Fills d's channels, and its steps' mpi_ns and colls. */
int nsx_maker_channels(struct nsx_maker *m, const struct nsx_member *x,
		       struct nsx_digest *d, struct nsx_err *err) NSX_CHECKED;
/* Fills rank, world, host and clock of n digests. With n > 1 a rank number in the
 * environment names none of them.
 */
int nsx_maker_identify(struct nsx_maker *m, const struct nsx_member *x,
		       struct nsx_digest **d, size_t n, struct nsx_err *err) NSX_CHECKED;
