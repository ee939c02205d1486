/* apportion.h - fractions rounded so that their rounded values add up to the
 * rounded total.
 */
#ifndef NSX_DIFF_APPORTION_H
#define NSX_DIFF_APPORTION_H

#include "base/arena.h"

__extension__ typedef __int128 nsx_wide;

/* v / den to the nearest integer, halves away from zero; den > 0. */
int64_t nsx_round(nsx_wide v, nsx_wide den);

/* Integers near v[i] / den, den > 0, which add up to total: each is rounded
 * down, and what is missing goes, one each, to those with the largest remainder
 * (of equal ones the first); what then is missing or too much, which a total
 * that is not the rounded sum may leave, to those of the largest magnitude.
 */
void nsx_apportion(const nsx_wide *v, size_t n, nsx_wide den, int64_t total,
		   int64_t *ret);

#endif
