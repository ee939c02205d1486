/* compile.h - from changes to what differs, event by event. */
#ifndef NSX_REPLAY_COMPILE_H
#define NSX_REPLAY_COMPILE_H

#include "facts/replay/pass.h"

/* Adds the changes of a plan from the given one on to the player's edit, which has
 * those before it, and what they touch to *touched.
 * Errors: NSX_E_NOMEM, NSX_E_USAGE (a name that is no regular expression).
 */
int compile(struct player *p, struct nsx_plan plan, size_t from,
	    size_t *touched, struct nsx_err *err) NSX_CHECKED;

/* share.c: NSX_SHARE_WORK, on lengths that the player has; a is scratch.
 * Errors: NSX_E_NOMEM.
 */
int compile_shared_work(struct player *p, struct nsx_arena *a, size_t *touched,
			struct nsx_err *err) NSX_CHECKED;

/* even.c: NSX_EVEN_RANK, a change of the plan; a is scratch.  Errors: NSX_E_NOMEM. */
int compile_even_rank(struct player *p, struct nsx_plan plan,
		      const struct nsx_change *c, struct nsx_arena *a,
		      size_t *touched, struct nsx_err *err) NSX_CHECKED;

/* A duration, cost or gap becomes that, if it is less: what is set once is counted once. */
static inline void compile_lower(int64_t *value, int64_t to, size_t *touched)
{
	to = NSX_MAX(to, 0);
	*touched += to != *value;
	*value = NSX_MIN(*value, to);
}

#endif
