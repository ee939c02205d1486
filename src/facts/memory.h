/* memory.h - allocations and frees of memory, and what of it is live when.
 *
 * A free ends the allocation at its address in its process, whatever size its row
 * gives.  One without an allocation ended one made before the capture.  An
 * allocation at an address that is in use shows that a free was not recorded,
 * which is taken to have come with it.
 */
#ifndef NSX_FACTS_MEMORY_H
#define NSX_FACTS_MEMORY_H

#include "schema/schema.h"

enum nsx_mem_class { /* as reports tell them; of NSX_MEM_*                    */
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
struct nsx_mem_step { /* a change of what is live                            */
	int64_t at_ns, delta;
	uint64_t process;
	int64_t device_id;
	uint8_t kind;
	uint8_t turn;	/* within an instant: frees of what is allocated again,
			   allocations, other frees; so that no peak depends on
			   the order of rows                                 */
	uint8_t counts; /* NSX_STEP_*: of an unrecorded free nothing         */
};
struct nsx_mem_pool { /* pool columns of a row                               */
	uint64_t process, address;
	int64_t device_id, bytes, used_bytes;
};
struct nsx_memory {
	struct nsx_mem_event *events; /* by process, address, time           */
	struct nsx_mem_step *steps;   /* by process, device, kind, time, turn */
	uint32_t *kept;		      /* events whose memory was never freed */
	struct nsx_mem_pool *pools;   /* in the order of the rows            */
	size_t nevents, nsteps, nkept, npools;
	size_t defects, missed; /* rows left out; frees never recorded       */
	size_t cap_events, cap_pools;
};

/* Reads the rows once; without the table nothing is there.  Owner: the caller,
 * nsx_memory_done, also after a failure.  Errors: those of reading.
 */
int nsx_memory_read(const struct nsx_schema *s, struct nsx_memory *ret,
		    struct nsx_err *err) NSX_CHECKED;
void nsx_memory_done(struct nsx_memory *m);

/* Steps [at, end) of one (process, device, kind). */
size_t nsx_mem_group_end(const struct nsx_memory *m, size_t at);
/* What the unmatched frees among steps show to have been there before. */
int64_t nsx_mem_before(const struct nsx_mem_step *s, size_t n);

#endif
