/* stacks.c - keeps call stacks, each content once. */
#include "base/str.h"
#include "nsysrep/layout.h"
#include "nsysrep/stacks.h"

/* Most bytes of contents that one thread keeps at a time, most contents, and most that are compared
 * with one stack.
 */
enum { MOST_BYTES = 256 * 1024, MOST_CONTENTS = NSX_STACK_SLOTS / 2, MOST_COMPARED = 32 };

struct nsx_rep_stack *nsx_stacks_add(struct nsx_rep_stacks *s, struct nsx_arena *a,
				     struct nsx_piece fields, bool *is_new)
{
	size_t at = nsx_hash(fields.p, fields.n) % NSX_STACK_SLOTS, end = at + MOST_COMPARED;
	struct nsx_rep_stack *x = NULL;
	uint16_t *slot = s->slots;

	for (; at < end; at++) {
		slot = &s->slots[at % NSX_STACK_SLOTS];
		x = *slot ? &s->content[*slot - 1] : NULL;
		if (!x || (x->fields.n == fields.n && !memcmp(x->fields.p, fields.p, fields.n)))
			break;
	}
	*is_new = !x;
	s->is_full |= at == end || (*is_new && (s->ncontents == MOST_CONTENTS ||
						s->nbytes + fields.n > MOST_BYTES));
	if (s->is_full)
		return NULL;
	if (*is_new) {
		uint8_t *copy = nsx_arena_get(a, fields.n + NSX_LAYOUT_SLACK);

		memcpy(copy, fields.p, fields.n);
		s->nbytes += fields.n + sizeof(*x) + NSX_LAYOUT_SLACK;
		nsx_push_or_die(s->content, s->ncontents, s->cap,
				(struct nsx_rep_stack){.fields = {copy, fields.n}});
		*slot = (uint16_t)s->ncontents;
	}
	nsx_push_or_die(s->order, s->n, s->order_cap, (uint16_t)(*slot - 1));
	return &s->content[*slot - 1];
}

struct nsx_rep_kept nsx_stacks_finish(struct nsx_rep_stacks *s, struct nsx_arena *a)
{
	struct nsx_rep_stack *content = nsx_arena_get(a, s->ncontents * sizeof(*content));
	uint16_t *order = nsx_arena_get(a, s->n * sizeof(*order));

	if (s->n) {
		memcpy(content, s->content, s->ncontents * sizeof(*content));
		memcpy(order, s->order, s->n * sizeof(*order));
	}
	free(s->content);
	free(s->order);
	return (struct nsx_rep_kept){content, order};
}
