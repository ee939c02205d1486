/* compile.h - translates changes into an edit: what differs from the recording, event by event. */
#pragma once

#include "facts/replay/pass.h"

/* Adds the plan's changes from index `from` on to an edit that already holds the earlier
 * ones. The number of events that change is added to *touched. Errors: NSX_E_NOMEM;
 * NSX_E_USAGE (an invalid regular expression).
 */
int compile_changes(struct edit *e, struct nsx_plan plan, size_t from,
		    size_t *touched, struct nsx_err *err) NSX_CHECKED;

struct select { /* a change, and the events that it selects                   */
	const struct nsx_change *c;
	struct nsx_plan plan; /* the plan of the change                      */
	struct edit *e;
	const struct nsx_model *m;
	struct nsx_arena *a; /* scratch                                      */
	nsx_str name;	  /* id of c->name; 0: not in the trace */
	struct span_list times; /* times at which c->range is open or, with NSX_NO_OS_WAIT, times
				   in calls named c->name */
	uint8_t *shape, *api; /* by shape, by API: ASKED_YES, ASKED_NO, or 0: unknown */
	uint8_t *rows;	/* bit i: row first_row + i is selected              */
	uint32_t first_row, last_row;
	struct nsx_regex *regex; /* NULL: the name is no pattern             */
	size_t *touched;
};
/* Apply NSX_SHARE_WORK (share.c) and NSX_EVEN_RANK (even.c). Errors: NSX_E_NOMEM. */
int compile_shared_work(struct select *s, struct nsx_err *err) NSX_CHECKED;
int compile_even_rank(struct select *s, struct nsx_err *err) NSX_CHECKED;

/* Lowers a duration, cost or gap to `to`, and counts it if it changes. */
static inline void compile_lower(struct select *s, int64_t *value, int64_t to)
{
	to = NSX_MAX(to, 0);
	*s->touched += to != *value;
	*value = NSX_MIN(*value, to);
}
