/* values.h - how much time and how many samples each value of a counter
 * had in each scope.
 *
 * All of it are integers, so values add up to the same whatever the order of
 * samples and the number of parts they were folded in.
 */
#ifndef METRICS_VALUES_H
#define METRICS_VALUES_H

#include "facts/metrics/metrics.h"

enum {
	FOLD_SMALL = 128,	/* values with a bin of their own            */
	FOLD_FIRST_OCTAVE = 7,	/* 128..255                                  */
	FOLD_OCTAVES = 34,	/* up to FOLD_MAX_VALUE                      */
	FOLD_STEPS = 64,	/* bins of an octave                         */
	FOLD_KNOWN = 16384,	/* greater values kept apart                 */
};
#define FOLD_MAX_VALUE (INT64_C(1) << 40) /* greater ones are no samples */

struct fold_bin { /* a cache line */
	uint64_t w_ns[NSX_NSCOPES];
	uint32_t n[NSX_NSCOPES];
	uint32_t all;
};
struct fold_wide { /* of the values lo..hi that came up; all 0: none */
	int64_t lo, hi;
	struct fold_bin bin;
};

struct fold_values {
	struct fold_bin small[FOLD_SMALL];
	/* Greater values: each by itself in a hash table, or, once they are
	 * more than FOLD_KNOWN, in steps of 1/64 octave.
	 */
	struct fold_wide *known;
	size_t nknown, cap_known;
	struct fold_wide *octave[FOLD_OCTAVES];
	bool many;
	__int128 sum, squares, weighted[NSX_NSCOPES];
	/* The greatest with any time in the scope; bounds of those that n
	 * counts, which a step may exceed. */
	int64_t max[NSX_NSCOPES], lo[NSX_NSCOPES], hi[NSX_NSCOPES];
};

/* share: the sample's own bin. Errors: NSX_E_NOMEM. */
int fold_add_value(struct fold_values *v, int64_t value,
		   const struct fold_bin *share, struct nsx_err *err);
/* Adds from, which is left empty or as it was. */
int fold_merge_values(struct fold_values *v, struct fold_values *from,
		      struct nsx_err *err);
void fold_values_done(struct fold_values *v);

/* The bins that hold something, in order of value. Owner: free(). */
int fold_list_values(const struct fold_values *v, struct fold_wide **ret,
		     size_t *ret_n, struct nsx_err *err);

#endif
