/* values.h - time and number of samples by a counter's value, in each scope.
 *
 * All sums are integers, so they do not depend on the order of samples or the number of parts.
 */
#ifndef METRICS_VALUES_H
#define METRICS_VALUES_H

#include "facts/metrics/metrics.h"

enum {
	FOLD_SMALL = 128,	/* values with bins of their own             */
	FOLD_FIRST_OCTAVE = 7,	/* 128..255                                  */
	FOLD_OCTAVES = 34,	/* up to FOLD_MAX_VALUE                      */
	FOLD_STEPS = 64,	/* bins per octave                           */
	FOLD_KNOWN = 16384,	/* larger values kept exactly                */
};
#define FOLD_MAX_VALUE (INT64_C(1) << 40) /* larger values are no samples */

struct fold_bin { /* fits a cache line */
	uint64_t w_ns[NSX_NSCOPES];
	uint32_t n[NSX_NSCOPES];
	uint32_t all;
};
struct fold_wide { /* for values lo..hi that occurred; all 0: none */
	int64_t lo, hi;
	struct fold_bin bin;
};

struct fold_values {
	struct fold_bin small[FOLD_SMALL];
	/* Larger values: exact in a hash table, or in steps of 1/64 octave if there are
	 * more than FOLD_KNOWN.
	 */
	struct fold_wide *known;
	size_t nknown, cap_known;
	struct fold_wide *octave[FOLD_OCTAVES];
	bool many;
	__int128 sum, squares, weighted[NSX_NSCOPES];
	/* Maximum over samples with any time in the scope; bounds of the samples in n,
	 * which a step may exceed.
	 */
	int64_t max[NSX_NSCOPES], lo[NSX_NSCOPES], hi[NSX_NSCOPES];
};

/* share: the sample's contribution. Errors: NSX_E_NOMEM. */
int fold_add_value(struct fold_values *v, int64_t value,
		   const struct fold_bin *share, struct nsx_err *err);
/* Adds `from`, which becomes empty or stays as it was. */
int fold_merge_values(struct fold_values *v, struct fold_values *from, struct nsx_err *err);
void fold_values_done(struct fold_values *v);

/* Lists the non-empty bins by value. Owner: free(). */
int fold_list_values(const struct fold_values *v, struct fold_wide **ret,
		     size_t *ret_n, struct nsx_err *err);

#endif
