/* clock.h - the time of day, and a monotonic clock in seconds. */
#pragma once

enum { NSX_UTC_SIZE = 32 };

/* Writes the current time as "2026-01-31T23:59:59Z". SOURCE_DATE_EPOCH, if set, replaces it, so
 * that the same input gives the same bytes on every day.
 */
void nsx_utc_now(char ret[NSX_UTC_SIZE]);
/* The seconds of a monotonic clock, for measuring durations. */
double nsx_now_s(void);
