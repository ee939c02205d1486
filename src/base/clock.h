/* clock.h - the time of day, for what says when it was made, and seconds. */
#ifndef NSX_CLOCK_H
#define NSX_CLOCK_H

enum { NSX_UTC_SIZE = 32 };

/* Now as "2026-01-31T23:59:59Z"; what SOURCE_DATE_EPOCH says where it is set, so
 * that one input makes the same bytes on every day.
 */
void nsx_utc_now(char ret[NSX_UTC_SIZE]);
/* Of a clock that nobody sets, for lengths of time. */
double nsx_now_s(void);

#endif
