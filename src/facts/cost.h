/* cost.h - the idle time of a device by the remedy that would address it.
 *
 * Causes say what a thread did while the device was idle; a remedy is what one
 * would change.  Where the launching thread waited when the device ran dry,
 * the whole gap follows from that wait: had the host not waited it would have
 * run ahead.  Otherwise each piece of the gap is priced by its own cause.
 * Spans of different remedies of one device are disjoint.
 */
#ifndef NSX_COST_H
#define NSX_COST_H

#include "facts/facts.h"

enum nsx_remedy {
	NSX_R_SYNC,	 /* wait less often                                  */
	NSX_R_COPY,	 /* copy without blocking the host                   */
	NSX_R_IMPLICIT,	 /* allocate and free outside the loop               */
	NSX_R_MODULE,	 /* load and compile before the loop                 */
	NSX_R_OS_WAIT,	 /* let nothing block the launching thread           */
	NSX_R_LAUNCH,	 /* fewer, larger launches: gaps below 1 ms          */
	NSX_R_API,	 /* slow API calls: gaps from 1 ms                   */
	NSX_R_HOST_CODE, /* faster host code: gaps from 1 ms                 */
	NSX_NREMEDIES
};

struct nsx_price {
	struct nsx_spans spans;
	int64_t ns;	  /* their total                                     */
	nsx_str top;	  /* call or range path with the most of it; 0: none.
			     Text: nsx_fact_text                             */
	nsx_str range;	  /* in which most of what ends it was launched      */
	nsx_str after;	  /* call that took most of the gaps after the wait  */
	int64_t top_ns, range_ns, after_ns;
	struct nsx_span longest[3]; /* first the longest; empty: fewer       */
};

/* Prices one remedy on one device inside w. Owner: arena a. */
int nsx_price_idle(const struct nsx_facts *f, const struct nsx_trace *t,
		   uint32_t device, enum nsx_remedy remedy,
		   const struct nsx_window *w, struct nsx_arena *a,
		   struct nsx_price *ret, struct nsx_err *err) NSX_CHECKED;

#endif
