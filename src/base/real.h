/* real.h - reals as decimal text, for a fraction of the time of printf and strtod. */
#ifndef NSX_REAL_H
#define NSX_REAL_H

enum { NSX_REAL_SIZE = 40 };

/* In the fewest digits, of 15 or more, that read back the same. */
void nsx_real_text(char text[NSX_REAL_SIZE], double x);

#endif
