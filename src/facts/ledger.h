/* ledger.h - accounts of the judged time: every nanosecond of every GPU stands in one account.
 *
 * An account is a class and a place: what a GPU did, and by which kernel, collective, kind of copy
 * or call of the host. The accounts add up to the length of the window times the number of GPUs
 * that worked in it. queries/README.md 12 defines the classes, and 11 the causes of idle time. If
 * several operations run at once, compute hides communication, and both hide copies; within a class
 * the operation that began first has the time.
 */
#pragma once

#include "facts/facts.h"

enum nsx_ledger_class {
	NSX_L_COMPUTE, /* kernels and graph replays                          */
	NSX_L_COMM,    /* communication without compute beside it            */
	NSX_L_COPY,    /* copies and memsets without kernels beside them     */
	NSX_L_IDLE, NSX_NLEDGER
};
/* Host code shorter than this is part of the cost of launching kernel by kernel; longer code has a
 * remedy of its own.
 */
enum { NSX_SHORT_HOST_NS = 100000 };
extern const char *const nsx_ledger_names[NSX_NLEDGER]; /* "compute", ...    */

struct nsx_account {
	enum nsx_ledger_class cls;
	enum nsx_cause cause; /* cause of idle time, else 0                  */
	uint32_t place; /* a kernel's name, enum nsx_comm_op, the kind of a copy, or a text of the
			   facts; nsx_account_place gives it as text         */
	size_t count;	/* number of operations, or of pieces of idle time */
	int64_t ns;
	int64_t short_ns; /* host code only: the time in pieces below NSX_SHORT_HOST_NS */
	bool is_mpi;	  /* idle time in a call of MPI, which waits for another rank */
};
struct nsx_ledger {
	struct nsx_account *v; /* sorted by time, then class, cause, place   */
	size_t n;
	int64_t ns[NSX_NLEDGER], idle_ns[NSX_NCAUSES];
	int64_t short_host_ns; /* sum of short_ns: code on the way to the next launch */
	int64_t mpi_ns; /* idle time in calls of MPI                         */
	/* Idle time between the nodes of graph replays, which recording node by node prolongs. */
	int64_t between_nodes_ns;
	int64_t total_ns; /* sum of all accounts: window x GPUs              */
	uint32_t ngpus;	  /* GPUs that did anything in the window            */
};

/* The windows, and the device, that a ledger covers. The windows do not overlap. */
struct nsx_booked {
	const struct nsx_window *w; /* n windows                             */
	size_t n;
	uint32_t device; /* NSX_NONE: all                                    */
};

/* Whether a GPU works in the windows. A ledger of all GPUs leaves out those that do not. */
bool nsx_gpu_works(const struct nsx_facts *f, uint32_t device, const struct nsx_booked *what);
/* Builds a ledger. Linear in operations and idle pieces, plus a search in blocks of
 * operations for each window. Owner: the arena. Errors: NSX_E_NOMEM; the ledger is empty then.
 */
int nsx_ledger_build(const struct nsx_facts *f, const struct nsx_trace *t,
		     const struct nsx_booked *what, struct nsx_arena *a,
		     struct nsx_ledger *ret, struct nsx_err *err) NSX_CHECKED;
/* The part of a ledger beyond `each` times the ledger `usual`. */
struct nsx_ledger_excess {
	struct nsx_account row; /* the account whose time exceeds the usual time most; ns: that
				   excess, 0 if there is none                                */
	double class_ns; /* excess of its class, or of its cause if it is idle time          */
	double more_ns;	 /* time of its operations beyond the usual number                   */
};
struct nsx_ledger_excess nsx_ledger_beyond(const struct nsx_ledger *x,
					   const struct nsx_ledger *usual, double each);
/* The name of an account's place: "gemm f32", "copies host to device, pageable",
 * "cudaStreamSynchronize"; NULL: the class says everything.
 */
const char *nsx_account_place(const struct nsx_facts *f, const struct nsx_account *x,
			      struct nsx_arena *a);
