/* several.h - several traces in one output: their machines, and a common clock. */
#pragma once

#include "convert/convert.h"

/* Fills the place of each of n traces. A machine is a host; a trace with unknown host is its own
 * machine. Clocks are tied by matched collectives, else by the start times of the sessions
 * (queries/README.md 14); the earliest zero becomes that of the output. Doubts are added to notes,
 * a line each. Reads every trace once, one after the other.
 * Errors: those of reading.
 */
int nsx_place_traces(const char *const *traces, size_t n, unsigned threads,
	      struct nsx_trace_place *ret, struct nsx_buf *notes, struct nsx_err *err) NSX_CHECKED;
