/* stacks.h - call stacks of events, which the index keeps, each content once.
 *
 * Stacks repeat, and frames are most of what lies in samples and in long calls. With the stacks in
 * memory, the tables of frames are read without unpacking the blocks again.
 */
#pragma once

#include <pthread.h>
#include "base/arena.h"
#include "base/group.h"
#include "nsysrep/wire.h"

struct nsx_rep_stack {
	struct nsx_piece fields; /* the event's fields from its first frame to its last */
	uint32_t nframes;
	uint16_t index;
	bool is_broken; /* the frame after `fields` is damaged               */
};

struct nsx_rep_stacks { /* contents, shared by the threads of the index      */
	pthread_mutex_t lock;
	struct nsx_groups groups; /* {hash, size}                            */
	const struct nsx_rep_stack **content;
	size_t cap, nbytes;
	struct nsx_arena *arena; /* owner of the contents                    */
};

/* The stacks of consecutive blocks, by the index of their content. Begins zeroed. */
struct nsx_rep_order {
	uint16_t *v;
	size_t n, cap;
	bool is_full; /* stacks are missing from here on                     */
	const struct nsx_rep_stack *recent[256]; /* by hash                  */
};

/* Finds a content; NULL: it is new. */
const struct nsx_rep_stack *nsx_stacks_find(struct nsx_rep_stacks *s, struct nsx_rep_order *o,
					    struct nsx_piece fields);
/* Copies a content. NULL: there are too many. */
const struct nsx_rep_stack *nsx_stacks_add(struct nsx_rep_stacks *s,
					   const struct nsx_rep_stack *stack);
