/* apportion.h - rounds fractions so that their sum is the rounded total. */
#ifndef NSX_DIFF_APPORTION_H
#define NSX_DIFF_APPORTION_H

#include "base/arena.h"

__extension__ typedef __int128 nsx_wide;

/* v / den rounded to the nearest integer, halves away from zero; den > 0. */
int64_t nsx_round(nsx_wide v, nsx_wide den);

/* Rounds v[i] / den, den > 0, to integers that add up to total. Each is rounded down; then those
 * with the largest remainders get one more each, the first of equals first. If total is not the
 * rounded sum, the difference goes to the values of largest magnitude.
 */
void nsx_apportion(const nsx_wide *v, size_t n, nsx_wide den, int64_t total, int64_t *ret);

#endif
