/* units.h - units of work that a comparison of traces may measure, recognised in several ways.
 *
 * A report shows iterations by the way that suits its trace best. Two traces can only be compared
 * by the same way, so a comparison needs the other ways, too.
 */
#pragma once

#include "facts/facts.h"

enum nsx_unit_kind {
	NSX_UNIT_AUTO,	 /* all ways that find iterations, best first        */
	NSX_UNIT_NVTX,	 /* work launched in ranges with a matching name     */
	NSX_UNIT_KERNEL, /* from each kernel with a matching name to the next one */
};
struct nsx_units {
	enum nsx_way_method method;
	const char *name;   /* name of the range or the first kernel of a unit; "": none.
			       Lives as long as the trace                    */
	double score;
	struct nsx_iteration *v; /* sorted by process, device, start         */
	size_t n;
	size_t nmarks; /* for a pattern: number of matches, with or without GPU work */
};

/* Finds at most NSX_MAX_UNITS ways; a pattern is one way. Patterns are POSIX extended regular
 * expressions. They are searched in normalised range names and full kernel names, or in names as
 * reports show them, with "#" for a number. Units of a pattern do not overlap: a match inside
 * another is left out. Owner: arena a. Errors: NSX_E_USAGE for an invalid pattern.
 */
enum { NSX_MAX_UNITS = 5 };
struct nsx_unit_choice {
	enum nsx_unit_kind kind;
	const char *pattern; /* for NVTX and KERNEL                          */
	unsigned threads;
};
int nsx_units_find(const struct nsx_trace *t, struct nsx_facts *f,
		   const struct nsx_unit_choice *c, struct nsx_arena *a,
		   struct nsx_units *ret, size_t *ret_n, struct nsx_err *err) NSX_CHECKED;
