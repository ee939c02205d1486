/* words.h - makes texts of a trace comparable, and figures readable. */
#ifndef NSX_DIFF_WORDS_H
#define NSX_DIFF_WORDS_H

#include "base/str.h"

/* Appends a text with its numbers masked, "step 12" as "step #", as a counter does not make
 * another name.
 */
void nsx_buf_add_masked(struct nsx_buf *b, const char *s);

/* Appends the first n characters of an id as words: "gpus_used" as "gpus used". */
void nsx_buf_add_id(struct nsx_buf *b, const char *id, size_t n);

/* "+2.05 ms", "−380 µs", "0". */
const char *nsx_text_change(struct nsx_arena *a, double ns);
/* "+12.2 %", "±0.0 %" */
const char *nsx_text_ratio(struct nsx_arena *a, double ratio);

#endif
