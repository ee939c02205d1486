/* spec.h - a change in the words of a user: VERB:OBJECT[:AMOUNT][@nvtx:RANGE].
 *
 *	no:cudaStreamSynchronize	calls that wait, gone; others cost nothing
 *	no:cudaStreamWaitEvent		streams no longer wait for those events
 *	no:preempt, no:lock, no:profiler	that part of the time between calls
 *	no:poll				waits in that call of the operating system
 *	async:copies[:HtoD]		copies that block no longer do
 *	overlap:copies[:HtoD]		and are done beside all other work
 *	copies[:HtoD]:2x		faster copies
 *	kernel:NAME:1.5x, kernel:/REGEX/:2x, family:gemm f32:inf
 *	host:2x, host:inf, launch:2x	time between calls; cost of launches
 *	drop:memset, drop:copies[:HtoD], drop:kernel:/REGEX/, drop:range:NAME
 *	comm:hidden, comm:2x, rank:1:even, rank:pid:81400:even
 */
#ifndef NSX_REPLAY_SPEC_H
#define NSX_REPLAY_SPEC_H

#include "facts/replay/change.h"

struct nsx_spec {
	struct nsx_change change; /* its names are the arena's              */
	enum nsx_spec_kind { /* what its name is one of                     */
		NSX_SPEC_PLAIN, /* it has none                               */
		NSX_SPEC_API, NSX_SPEC_KERNEL, NSX_SPEC_FAMILY,
		NSX_SPEC_RANGE, NSX_SPEC_RANK,
	} kind;
	uint32_t rank; /* the number asked for ...                          */
	bool is_pid;   /* ... which is that of a process                    */
};

/* Errors: NSX_E_USAGE: what cannot be read, and what could stand there. */
int nsx_spec_parse(const char *text, struct nsx_arena *a,
		   struct nsx_spec *ret, struct nsx_err *err) NSX_CHECKED;

struct nsx_facts;
/* Finds what it names in the trace, and fills in the rest of the change; NULL,
 * or what is wrong: no such name, and the nearest that there are.
 */
const char *nsx_spec_resolve(struct nsx_spec *s, const struct nsx_trace *t,
			     const struct nsx_facts *f, struct nsx_arena *a);

#endif
