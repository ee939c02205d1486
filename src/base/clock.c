/* clock.c - the time of day. */
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
