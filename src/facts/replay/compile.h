/* compile.h - translates changes into an edit: what differs from the recording, event by event. */
#ifndef NSX_REPLAY_COMPILE_H
#define NSX_REPLAY_COMPILE_H

#include "facts/replay/pass.h"

/* Adds the plan's changes from index `from` on to the player's edit, which already holds the
 * earlier ones. The number of events that change is added to *touched. Errors: NSX_E_NOMEM;
 * NSX_E_USAGE (an invalid regular expression).
 */
int compile_changes(struct player *p, struct nsx_plan plan, size_t from,
		    size_t *touched, struct nsx_err *err) NSX_CHECKED;

/* Applies NSX_SHARE_WORK to the player's durations (share.c); a is scratch. Errors: NSX_E_NOMEM. */
int compile_shared_work(struct player *p, struct nsx_arena *a, size_t *touched,
			struct nsx_err *err) NSX_CHECKED;

/* Applies NSX_EVEN_RANK, a change c of the plan (even.c); a is scratch. Errors: NSX_E_NOMEM. */
int compile_even_rank(struct player *p, struct nsx_plan plan,
		      const struct nsx_change *c, struct nsx_arena *a,
		      size_t *touched, struct nsx_err *err) NSX_CHECKED;

/* Lowers a duration, cost or gap to `to`; a value that changes is counted in *touched. */
static inline void compile_lower(int64_t *value, int64_t to, size_t *touched)
{
	to = NSX_MAX(to, 0);
	*touched += to != *value;
	*value = NSX_MIN(*value, to);
}

#endif
