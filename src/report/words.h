/* words.h - numbers and instants as a person reads them: three significant
 * digits with the unit that fits; exact values are in JSON and CSV.  Owner of
 * every text: arena a.
 */
#ifndef NSX_WORDS_H
#define NSX_WORDS_H

#include "facts/facts.h"

const char *nsx_text_ns(struct nsx_arena *a, double ns);     /* "421 ms"     */
const char *nsx_text_bytes(struct nsx_arena *a, double bytes); /* "25.5 GB"  */
const char *nsx_text_count(struct nsx_arena *a, double n); /* "290", "1.2 M" */
/* "97 %", "0.4 %"; never 0 or 100 for what is not. */
const char *nsx_text_share(struct nsx_arena *a, double part, double whole);
/* "1 call", "2 calls"; many NULL: one with an "s". */
const char *nsx_text_n(struct nsx_arena *a, size_t n, const char *one,
		       const char *many);

/* "60.331s" on the trace's own clock, as the Nsight GUI shows it; digits: after
 * the point, 3 at least.
 */
const char *nsx_text_instant(struct nsx_arena *a, int64_t ns, unsigned digits);
/* "60.058s..60.703s", what --window takes: as many digits as its length needs,
 * never shorter than the window.
 */
const char *nsx_text_window(struct nsx_arena *a, const struct nsx_window *w);

/* An API name without "_v7000". */
const char *nsx_text_api(struct nsx_arena *a, const char *name);
extern const char *const nsx_barrier_words[NSX_NBARRIERS]; /* "wait for the
							      GPU", ...     */
extern const char *const nsx_cause_words[NSX_NCAUSES]; /* "launch not
							  recorded", ... */

#endif
