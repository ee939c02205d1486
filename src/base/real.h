/* real.h - reals as decimal text, for a fraction of printf's time. */
#ifndef NSX_REAL_H
#define NSX_REAL_H

enum { NSX_REAL_SIZE = 40 };

/* What %.15g prints. */
void nsx_real_text15(char text[NSX_REAL_SIZE], double x);
/* In the fewest digits, of 15 or more, that read back the same. */
void nsx_real_text(char text[NSX_REAL_SIZE], double x);

#endif
