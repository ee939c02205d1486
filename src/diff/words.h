/* words.h - texts that several files of a comparison use: comparable names, figures. */
#ifndef NSX_DIFF_WORDS_H
#define NSX_DIFF_WORDS_H

#include "base/str.h"

/* Appends the first n characters of an id as words: "gpus_used" as "gpus used". */
void nsx_buf_add_id(struct nsx_buf *b, const char *id, size_t n);

/* "+2.05 ms", "−380 µs", "0". */
const char *nsx_text_change(struct nsx_arena *a, double ns);
/* "+12.2 %", "±0.0 %" */
const char *nsx_text_ratio(struct nsx_arena *a, double ratio);

struct nsx_diff;
/* A lane's name: "rank 3" or "GPU 0". If the GPU has several processes, with the process. If the
 * GPU with the same work has another number after, with that number.
 */
const char *nsx_lane_name(const struct nsx_diff *d, uint32_t lane, struct nsx_arena *a);
/* Says why digests do not tell which kernels changed. */
extern const char nsx_no_kernels[];

#endif
