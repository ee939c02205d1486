/* clock.c - reads the system's clocks, and SOURCE_DATE_EPOCH. */
#include <stdlib.h>
#include <time.h>
#include "base/clock.h"

void nsx_utc_now(char ret[NSX_UTC_SIZE])
{
	const char *asked = getenv("SOURCE_DATE_EPOCH");
	char *end = NULL;
	time_t now = asked ? (time_t)strtoll(asked, &end, 10) : 0;
	struct tm tm;

	if (!asked || end == asked || *end || !gmtime_r(&now, &tm)) {
		now = time(NULL);
		gmtime_r(&now, &tm);
	}
	strftime(ret, NSX_UTC_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

double nsx_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
