/* words.h - figures, instants and what the program tells apart as a person reads
 * them.  Owner of every text: arena a.
 */
#ifndef NSX_WORDS_H
#define NSX_WORDS_H

#include "base/figures.h"
#include "facts/facts.h"

/* "60.331s" on the trace's own clock, as the Nsight GUI shows it; digits: after
 * the point, 3 at least.
 */
const char *nsx_text_instant(struct nsx_arena *a, int64_t ns, unsigned digits);
/* "60.058s..60.703s", what --window takes: as many digits as its length needs,
 * never shorter than the window.
 */
const char *nsx_text_window(struct nsx_arena *a, const struct nsx_window *w);

/* An API name without "_v7000".  What no function's name has is ?, so that one that was
 * made to cannot break the text that it is told in.
 */
const char *nsx_text_api(struct nsx_arena *a, const char *name);
extern const char *const nsx_barrier_words[NSX_NBARRIERS]; /* "wait for the
							      GPU", ...     */
extern const char *const nsx_cause_words[NSX_NCAUSES]; /* "launch not
							  recorded", ... */

#endif
