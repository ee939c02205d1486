/* compile.h - translates changes into differences, event by event. */
#ifndef NSX_REPLAY_COMPILE_H
#define NSX_REPLAY_COMPILE_H

#include "facts/replay/pass.h"

/* Adds the plan's changes from index `from` on to the player's edit, which has the earlier
 * ones. Adds the number of events changed to *touched. Errors: NSX_E_NOMEM, NSX_E_USAGE (an
 * invalid regular expression).
 */
int compile(struct player *p, struct nsx_plan plan, size_t from,
	    size_t *touched, struct nsx_err *err) NSX_CHECKED;

/* share.c: NSX_SHARE_WORK, applied to the player's lengths; a is scratch. Errors: NSX_E_NOMEM. */
int compile_shared_work(struct player *p, struct nsx_arena *a, size_t *touched,
			struct nsx_err *err) NSX_CHECKED;

/* even.c: NSX_EVEN_RANK, for a change of the plan; a is scratch. Errors: NSX_E_NOMEM. */
int compile_even_rank(struct player *p, struct nsx_plan plan,
		      const struct nsx_change *c, struct nsx_arena *a,
		      size_t *touched, struct nsx_err *err) NSX_CHECKED;

/* Lowers a duration, cost or gap; counts it only if it was higher. */
static inline void compile_lower(int64_t *value, int64_t to, size_t *touched)
{
	to = NSX_MAX(to, 0);
	*touched += to != *value;
	*value = NSX_MIN(*value, to);
}

#endif
