/* stacks.h - call stacks of events, which the index keeps, each content once.
 *
 * Stacks repeat, and frames are most of what lies in samples and in long calls. With the stacks in
 * memory, the tables of frames are read without unpacking the blocks again.
 */
#pragma once

#include "base/arena.h"
#include "nsysrep/wire.h"

struct nsx_rep_stack {
	struct nsx_piece fields; /* the event's fields from its first frame to its last */
	uint32_t nframes;
	bool is_broken; /* the frame after these is damaged                  */
};

enum { NSX_STACK_SLOTS = 4096 };

/* The stacks of consecutive blocks. Begins zeroed. */
struct nsx_rep_stacks {
	struct nsx_rep_stack *content; /* each once                          */
	size_t ncontents, cap;
	uint16_t slots[NSX_STACK_SLOTS]; /* the content's index + 1; 0: free */
	uint16_t *order; /* the contents of all stacks, as they follow each other */
	size_t n, order_cap;
	size_t nbytes; /* size of the contents                               */
	bool is_full;  /* stacks are missing from here on                    */
};

/* Where a block's stacks are; content NULL: they are not kept. */
struct nsx_rep_kept {
	const struct nsx_rep_stack *content;
	const uint16_t *order;
};

/* Appends a stack. Returns its content, of which the caller fills in what follows the fields if
 * *is_new; NULL: it is not kept, because there are too many contents. Owner of contents: the
 * arena.
 */
struct nsx_rep_stack *nsx_stacks_add(struct nsx_rep_stacks *s, struct nsx_arena *a,
				     struct nsx_piece fields, bool *is_new);
/* Moves order and contents to the arena, and frees the rest. */
struct nsx_rep_kept nsx_stacks_finish(struct nsx_rep_stacks *s, struct nsx_arena *a);
