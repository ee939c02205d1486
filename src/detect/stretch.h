/* stretch.h - a stretch of the judged window in which things go slower than before it and,
 * if it does not reach the end, after it.
 *
 * The window is cut into equal parts; of each a detector says how many times as long as
 * usual, or how long, what it looks at takes there.
 */
#ifndef NSX_STRETCH_H
#define NSX_STRETCH_H

#include "detect/detect.h"

enum { NSX_PARTS = 24, NSX_FEW_PARTS = 4 /* that a stretch has at least */ };

struct nsx_stretch {
	unsigned from, to; /* parts                                          */
	double first;	   /* the mean of the first parts                    */
	double ratio;	   /* times that, in the stretch                     */
};

/* Parts as a bit each. */
static inline uint32_t nsx_parts(unsigned from, unsigned to)
{
	return (uint32_t)((UINT64_C(1) << to) - (UINT64_C(1) << from));
}
double nsx_mean_of_parts(const double part[NSX_PARTS], uint32_t parts);
/* Which part of the window an instant lies in. */
unsigned nsx_part_at(const struct nsx_detect *d, int64_t at_ns);
/* A part that does not tell (told: those that do) is like the one before it; the first
 * ones are like the first that tells.  Whether most parts do tell.
 */
bool nsx_fill_parts(double part[NSX_PARTS], uint32_t told);
/* Whether some parts, a few of which tell, are slower than all others, which are even, by
 * so many times at least; a few that tell lie before them.
 */
bool nsx_find_stretch(const double part[NSX_PARTS], uint32_t told, double slower,
		      struct nsx_stretch *ret);
struct nsx_window nsx_stretch_window(const struct nsx_detect *d,
				     const struct nsx_stretch *x);
/* "from 1.2s on", "from 1.2s to 1.4s" */
const char *nsx_say_stretch(const struct nsx_detect *d, const struct nsx_stretch *x);

#endif
