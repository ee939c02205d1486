/* spec.h - a change in the user's syntax: VERB:OBJECT[:AMOUNT][@nvtx:RANGE].
 *
 *	no:cudaStreamSynchronize	waits are removed; other calls cost nothing
 *	no:cudaStreamWaitEvent		streams no longer wait for those events
 *	no:preempt, no:lock, no:profiler	removes that time between calls
 *	no:poll				removes waits in that OS call
 *	async:copies[:HtoD]		blocking copies return at once
 *	overlap:copies[:HtoD]		and run beside all other work
 *	copies[:HtoD]:2x		faster copies
 *	kernel:NAME:1.5x, kernel:/REGEX/:2x, family:gemm f32:inf
 *	host:2x, host:inf, launch:2x	time between calls; cost of launches
 *	drop:memset, drop:copies[:HtoD], drop:kernel:/REGEX/, drop:range:NAME
 *	comm:hidden, comm:2x, rank:1:even, rank:pid:81400:even
 */
#pragma once

#include "facts/replay/change.h"

struct nsx_spec {
	struct nsx_change change; /* the arena owns its names               */
	enum nsx_spec_kind { /* kind of thing that change.name names        */
		NSX_SPEC_PLAIN, /* no name                                   */
		NSX_SPEC_API, NSX_SPEC_KERNEL, NSX_SPEC_FAMILY,
		NSX_SPEC_RANGE, NSX_SPEC_RANK,
	} kind;
	uint32_t rank; /* the number in rank:N ...                          */
	bool is_pid;   /* whether `rank` is a process id                    */
};

/* Errors: NSX_E_USAGE, with the invalid part and what is allowed there. */
int nsx_spec_parse(const char *text, struct nsx_arena *a,
		   struct nsx_spec *ret, struct nsx_err *err) NSX_CHECKED;

struct nsx_facts;
/* Looks up the change's name in the trace and completes the change. Returns NULL, or an error text
 * with the most similar names.
 */
const char *nsx_spec_resolve(struct nsx_spec *s, const struct nsx_trace *t,
			     const struct nsx_facts *f, struct nsx_arena *a);
