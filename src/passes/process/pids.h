/* pids.h - what the sections by process share. */
#ifndef NSX_PASSES_PIDS_H
#define NSX_PASSES_PIDS_H

#include "passes/pass.h"

enum {
	NSX_PIDS_SHOWN = 10,	     /* processes in detail: most kernel time */
	NSX_KERNELS_PER_PID = 10,    /* their kernels in Markdown and JSON    */
};

/* What each process did, by index of process. */
struct nsx_pid_totals {
	int64_t kernel_ns, sync_ns;
	size_t nkernels, nsyncs;
};
struct nsx_pids {
	struct nsx_pid_totals *total;
	uint32_t *kernel; /* ops that are kernels, process by process ...    */
	size_t *at;	  /* ... that of process p begins at at[p]           */
	size_t *call_at;  /* so do its calls                                 */
	uint32_t *order;  /* processes: most kernel time, most waiting, pid  */
	int64_t kernel_ns; /* of all                                         */
};
int nsx_pids_build(const struct nsx_trace *t, struct nsx_arena *a,
		   struct nsx_pids *ret, struct nsx_err *err);

/* Why kernels cannot be told apart by process; NULL: they can. */
const char *nsx_pids_unknown(const struct nsx_trace *t);

/* A row on each process for the report: what it ran, with whom, and what the
 * sections of communication and barriers say of it.
 */
extern const struct nsx_layout nsx_process_layout;
int nsx_fill_processes(const struct nsx_run *run, const struct nsx_pids *pids,
		       struct nsx_table *table, struct nsx_section *out,
		       struct nsx_err *err);

/* A process's program, without its folder, which often carries a user's name;
 * NULL: not known.
 */
const char *nsx_process_name(const struct nsx_trace *t, uint32_t process);

#endif
