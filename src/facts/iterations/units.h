/* units.h - what a comparison may measure: units of work, seen in several ways.
 *
 * A report shows the iterations of the way that suits its trace best.  Two
 * traces are only alike where both are seen the same way, so that a comparison
 * wants the others too.
 */
#ifndef NSX_FACTS_UNITS_H
#define NSX_FACTS_UNITS_H

#include "facts/facts.h"

enum nsx_unit_kind {
	NSX_UNIT_AUTO,	 /* every way that finds iterations, best first      */
	NSX_UNIT_NVTX,	 /* work launched in ranges whose name matches       */
	NSX_UNIT_KERNEL, /* from a kernel whose name matches to the next one */
};
struct nsx_units {
	enum nsx_way_method method;
	const char *name;   /* of the range, or of the kernel that begins a
			       unit; "" none. Valid while the trace is       */
	double score;
	struct nsx_iteration *v; /* by process, device, start                */
	size_t n;
	size_t nmarks; /* of a pattern: what matches, launched or not        */
};

/* At most NSX_MAX_UNITS ways; those of a pattern are one.  Patterns are POSIX
 * extended regular expressions, searched in normalised range names and in full
 * kernel names, or such a name as reports show it, with "#" for a number.  Units of a
 * pattern do not overlap: what begins inside another is left out.  Owner: arena a.
 * Errors: NSX_E_USAGE for a pattern that is none.
 */
enum { NSX_MAX_UNITS = 5 };
struct nsx_unit_choice {
	enum nsx_unit_kind kind;
	const char *pattern; /* of NVTX and KERNEL                           */
	unsigned threads;
};
int nsx_units_find(const struct nsx_trace *t, struct nsx_facts *f,
		   const struct nsx_unit_choice *c, struct nsx_arena *a,
		   struct nsx_units *ret, size_t *ret_n,
		   struct nsx_err *err) NSX_CHECKED;

#endif
