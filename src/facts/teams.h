/* teams.h - communication kernels of several ranks that form one collective (queries/README.md
 * 14). A team is one such collective.
 */
#pragma once

#include "facts/facts.h"

struct nsx_team {
	int64_t last_ns; /* when the last of its kernels began               */
	uint32_t at, n;	 /* slice of members, one for each rank              */
	bool is_whole;	 /* all ranks of the communicator take part, and these are known */
};
struct nsx_teams {
	struct nsx_team *v; /* sorted by last_ns                             */
	uint32_t n;
	uint32_t *member; /* operations of the trace                         */
};

/* Finds f->teams, the collectives of the trace. Owner: the arena. Errors: NSX_E_NOMEM. */
int nsx_facts_teams(struct nsx_facts *f, const struct nsx_trace *t, const struct nsx_facts_opts *o,
		    struct nsx_arena *a, struct nsx_err *err) NSX_CHECKED;
