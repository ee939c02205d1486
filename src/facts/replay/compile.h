/* compile.h - from changes to what differs, event by event. */
#ifndef NSX_REPLAY_COMPILE_H
#define NSX_REPLAY_COMPILE_H

#include "facts/replay/pass.h"

/* Adds n changes to the player's edit, and what they touch to *touched.
 * Errors: NSX_E_NOMEM, NSX_E_USAGE (a name that is no regular expression).
 */
int compile(struct player *p, const struct nsx_change *v, size_t n,
	    size_t *touched, struct nsx_err *err) NSX_CHECKED;

/* share.c: NSX_SHARE_WORK, on lengths that the player has; a is scratch.
 * Errors: NSX_E_NOMEM.
 */
int compile_shared_work(struct player *p, struct nsx_arena *a, size_t *touched,
			struct nsx_err *err) NSX_CHECKED;

#endif
