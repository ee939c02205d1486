/* values.h - time and number of samples by a counter's value, in each scope.
 *
 * All sums are integers, so they do not depend on the order of samples or the number of parts.
 */
#ifndef METRICS_VALUES_H
#define METRICS_VALUES_H

#include "base/group.h"
#include "facts/metrics/metrics.h"

enum {
	FOLD_SMALL = 128,	/* values with bins of their own             */
	FOLD_STEPS = 64,	/* bins per octave of larger values          */
	FOLD_KNOWN = 16384,	/* number of distinct values from 128 up that are kept exactly */
};
#define FOLD_MAX_VALUE (INT64_C(1) << 40) /* larger values are no samples */

struct fold_bin { /* the samples of some values; fits a cache line */
	uint64_t w_ns[NSX_NSCOPES]; /* for each scope: time of the samples */
	uint32_t n[NSX_NSCOPES];    /* number of samples that count in each scope */
	uint32_t all;		    /* number of all samples */
};
struct fold_wide { /* a bin for the values lo to hi; all 0: empty */
	int64_t lo, hi;
	struct fold_bin bin;
};

struct fold_values {
	struct fold_bin small[FOLD_SMALL];
	/* Larger values have bins of their own or, if there are more than FOLD_KNOWN of them, bins
	 * of 1/64 octave. Their keys are the value or the number of the step.
	 */
	struct nsx_groups keys;
	struct fold_wide *large; /* one for each key                         */
	bool many;
	__int128 sum, squares, weighted[NSX_NSCOPES];
	/* max: over samples with any time in the scope. lo, hi: exact bounds of the samples that n
	 * counts; the bounds of a step may be wider.
	 */
	int64_t max[NSX_NSCOPES], lo[NSX_NSCOPES], hi[NSX_NSCOPES];
};

/* Adds a sample. share: what it adds to the bin of its value. Errors: NSX_E_NOMEM. */
int fold_add_value(struct fold_values *v, int64_t value,
		   const struct fold_bin *share, struct nsx_err *err);
/* Adds `from` to v. Afterwards `from` is empty or unchanged. */
int fold_merge_values(struct fold_values *v, struct fold_values *from, struct nsx_err *err);
void fold_values_done(struct fold_values *v);

/* Lists the non-empty bins by value. Owner: free(). */
int fold_list_values(const struct fold_values *v, struct fold_wide **ret,
		     size_t *ret_n, struct nsx_err *err);

#endif
