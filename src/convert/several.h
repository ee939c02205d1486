/* several.h - several traces in one output: machines, and one clock for all. */
#ifndef NSX_SEVERAL_H
#define NSX_SEVERAL_H

#include "convert/convert.h"

/* Fills the place of each of n traces.  Machines are hosts; a trace whose host is
 * not told is one of its own.  Clocks are tied by matched collectives where
 * there are any, else by when each session began (queries/README.md 14); the
 * earliest zero is the output's.  What is not sure is told in notes, a line
 * each.  Reads every trace once, one after the other.
 * Errors: those of reading.
 */
int nsx_place_traces(const char *const *traces, size_t n, unsigned threads,
	      struct nsx_place *ret, struct nsx_buf *notes,
	      struct nsx_err *err) NSX_CHECKED;

#endif
