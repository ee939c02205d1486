/* memory.h - allocations and frees of memory, and how much is live when.
 *
 * A free ends the allocation at its address in its process; the size in its row is ignored. A free
 * without an allocation ended one from before the capture. An allocation at an address in use shows
 * that a free was not recorded; that free is assumed to have happened at the same time.
 */
#pragma once

#include "schema/schema.h"

enum nsx_mem_class { /* kinds of memory (NSX_MEM_*) as reports group them     */
	NSX_MC_DEVICE, NSX_MC_MANAGED, NSX_MC_HOST, NSX_MC_UNKNOWN, NSX_NMEM_CLASSES
};
extern const char *const nsx_mem_class_names[NSX_NMEM_CLASSES]; /* "device", ... */

struct nsx_mem_event { /* an allocation or a free, as recorded               */
	int64_t at_ns;
	uint64_t process, address;
	int64_t device_id, bytes;
	uint32_t corr;
	uint8_t kind;
	bool is_free;
};
enum { NSX_STEP_ALLOC = 1, NSX_STEP_FREE = 2, NSX_STEP_UNMATCHED = 4 };
struct nsx_mem_step { /* a change of live memory                             */
	int64_t at_ns, delta;
	uint64_t process;
	int64_t device_id;
	uint8_t kind;
	uint8_t turn;	/* order at equal times, so that the peak does not depend on row order:
			   frees of memory allocated again, then allocations, then other frees */
	uint8_t counts; /* NSX_STEP_*; 0 for an unrecorded free              */
	uint32_t device; /* for those who sum by GPU; see nsx_device_find    */
};
struct nsx_mem_pool { /* the pool columns of a row                           */
	uint64_t process, address;
	int64_t device_id, bytes, used_bytes;
};
struct nsx_memory {
	struct nsx_mem_event *events; /* sorted by process, address, time    */
	struct nsx_mem_step *steps;   /* sorted by process, device, kind, time, turn */
	uint32_t *kept;		      /* indices of events: allocations never freed */
	struct nsx_mem_pool *pools;   /* pool columns, in row order          */
	size_t nevents, nsteps, nkept, npools;
	size_t defects, missed; /* defects: rows left out; missed: frees that were not recorded */
	size_t cap_events, cap_pools;
};

/* Reads the rows once; empty if there is no table. Owner: the caller, nsx_memory_done, also
 * after a failure. Errors: those of reading.
 */
int nsx_memory_read(const struct nsx_schema *s, struct nsx_memory *ret,
		    struct nsx_err *err) NSX_CHECKED;
void nsx_memory_done(struct nsx_memory *m);

/* The end of the steps with the same (process, device, kind) as step `at`. */
size_t nsx_mem_group_end(const struct nsx_memory *m, size_t at);
/* The bytes that must have been live before the first of these steps, because they were freed
 * without an allocation.
 */
int64_t nsx_mem_before(const struct nsx_mem_step *s, size_t n);
