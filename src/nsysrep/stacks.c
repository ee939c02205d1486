/* stacks.c - keeps call stacks, each content once. */
#include "base/str.h"
#include "nsysrep/layout.h"
#include "nsysrep/stacks.h"

/* Most bytes of contents that are kept, and most contents. */
enum { MOST_BYTES = 2 * 1024 * 1024, MOST_CONTENTS = UINT16_MAX };

static bool has_fields(const struct nsx_rep_stack *x, struct nsx_piece fields)
{
	return x && x->fields.n == fields.n && !memcmp(x->fields.p, fields.p, fields.n);
}

const struct nsx_rep_stack *nsx_stacks_find(struct nsx_rep_stacks *s, struct nsx_rep_order *o,
					    struct nsx_piece fields)
{
	uint64_t hash = nsx_hash(fields.p, fields.n);
	const struct nsx_rep_stack **recent = &o->recent[hash % ARRAY_LEN(o->recent)], *x;
	uint32_t at;

	if (has_fields(*recent, fields))
		return *recent;
	pthread_mutex_lock(&s->lock);
	at = nsx_group_find(&s->groups, hash, fields.n);
	x = at == NSX_NONE ? NULL : s->content[at];
	pthread_mutex_unlock(&s->lock);
	if (!has_fields(x, fields))
		return NULL;
	*recent = x;
	return x;
}

const struct nsx_rep_stack *nsx_stacks_add(struct nsx_rep_stacks *s,
					   const struct nsx_rep_stack *stack)
{
	size_t n = stack->fields.n;
	struct nsx_rep_stack *x = NULL;
	uint8_t *copy;

	pthread_mutex_lock(&s->lock);
	if (s->groups.n < MOST_CONTENTS && s->nbytes + n <= MOST_BYTES) {
		const struct nsx_rep_stack **to = nsx_group_few(
			&s->groups, &s->content, nsx_hash(stack->fields.p, n), n);

		if (!*to) {
			x = nsx_arena_get(s->arena, sizeof(*x));
			copy = nsx_arena_get(s->arena, n + NSX_LAYOUT_SLACK);
			memcpy(copy, stack->fields.p, n);
			s->nbytes += n + NSX_LAYOUT_SLACK + sizeof(*x);
			*x = *stack;
			x->fields.p = copy;
			x->index = (uint16_t)(to - s->content);
			*to = x;
		}
		x = has_fields(*to, stack->fields) ? (struct nsx_rep_stack *)*to : NULL;
	}
	pthread_mutex_unlock(&s->lock);
	return x;
}
