/* base.h - integer types, attributes and the few macros used everywhere.
 *
 * Calls nothing.  Every other header may include it.
 */
#ifndef NSX_BASE_H
#define NSX_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NSX_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define NSX_CHECKED __attribute__((warn_unused_result))
#define NSX_AT_EXIT(fn) __attribute__((cleanup(fn)))
#define NSX_UNUSED __attribute__((unused))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define NSX_MIN(a, b) ((a) < (b) ? (a) : (b))
#define NSX_MAX(a, b) ((a) > (b) ? (a) : (b))
#define NSX_CMP(a, b) (((a) > (b)) - ((a) < (b))) /* as of strcmp */

/* Bisection: lo becomes the first index of [lo, hi) for which comes_before, an
 * expression of the index `mid`, is false.  All for which it is true come first.
 */
#define NSX_BISECT(lo, hi, mid, comes_before)                                 \
	while (lo < hi) {                                                     \
		__typeof__(lo) mid = lo + (hi - lo) / 2;                      \
                                                                              \
		if (comes_before)                                             \
			lo = mid + 1;                                         \
		else                                                          \
			hi = mid;                                             \
	}

/* "No such index" in every index column of the trace. */
#define NSX_NONE UINT32_MAX

/* Limits, in one place; reaching one is always said in a message or note. */
enum {
	NSX_MAX_TEXT = 65536,	   /* bytes kept of one string           */
	NSX_MAX_THREADS = 64,	   /* worker threads                     */
	NSX_MAX_JSON_ROWS = 50,	   /* default rows of a table in JSON    */
	NSX_MAX_CSV_ROWS = 100000, /* the same in CSV; --all-rows lifts it */
	NSX_MAX_MD_ROWS = 5,	   /* default rows of a table in Markdown */
	NSX_MAX_FINDINGS = 10,	   /* findings in a report               */
	NSX_MAX_COLUMNS = 256,	   /* columns of one table               */
	NSX_MAX_CELL = 64 << 20,   /* bytes read of one cell             */
};

/* Instants outside +-NSX_TIME_MAX are defects: the difference and the sum of
 * any two accepted instants still fit int64.
 */
#define NSX_TIME_MAX (INT64_C(1) << 61)

#endif
