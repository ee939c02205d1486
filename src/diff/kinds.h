/* kinds.h - steps of an inference engine on both sides, by kind and size. */
#ifndef NSX_DIFF_KINDS_H
#define NSX_DIFF_KINDS_H

#include "diff/emit.h"
#include "diff/side.h"

/* Copies the rows of section Steps from a capture's report. */
void nsx_side_keep_kinds(struct nsx_side *s, const struct nsx_report *r);

struct nsx_kind_row { /* [0] before, [1] after */
	const char *kind, *size; /* "decode", "32-63"; size "": all sizes */
	int64_t count[2];
	double p50_ms[2]; /* of the steps' GPU time */
};
struct nsx_kind_rows { /* ordered by kind and size; rows that only the side after has come last */
	struct nsx_kind_row *v;
	size_t n;
};
/* Collects the rows. If all steps are alike there are none, because the unit then shows them.
 * Owner: arena a.
 */
struct nsx_kind_rows nsx_diff_kinds(const struct nsx_diff *d, struct nsx_arena *a);
/* Change of the median as a ratio; NAN if a side has too few steps. */
double nsx_kind_change(const struct nsx_kind_row *r);
/* "Steps by kind, p50: decode +4 % at 32-63; prefill the same"; "" if nothing is certain. Owner:
 * arena a.
 */
const char *nsx_kinds_line(const struct nsx_diff *d, struct nsx_arena *a);

#endif
