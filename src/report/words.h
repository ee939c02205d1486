/* words.h - figures, times and enums as a person reads them. Owner of every text: arena a. */
#pragma once

#include "base/figures.h"
#include "facts/facts.h"

/* "60.331s" on the trace's own clock, as in the Nsight GUI; digits: decimals, at least 3. */
const char *nsx_text_instant(struct nsx_arena *a, int64_t ns, unsigned digits);
/* "60.058s..60.703s" for --window, which covers the whole window, with as many decimals as its
 * length needs.
 */
const char *nsx_text_window(struct nsx_arena *a, const struct nsx_window *w);

/* An API name without "_v7000". Characters that no function name has become "?", so that a
 * forged name cannot break the text around it.
 */
const char *nsx_text_api(struct nsx_arena *a, const char *name);
/* ", 336 ms of it the profiler's own", if that is a tenth of a time or more; else "". */
const char *nsx_text_profiled(struct nsx_arena *a, int64_t profiled_ns, int64_t ns);
extern const char *const nsx_barrier_words[NSX_NBARRIERS]; /* "wait for the
							      GPU", ...     */
extern const char *const nsx_cause_words[NSX_NCAUSES]; /* "launch not
							  recorded", ... */
