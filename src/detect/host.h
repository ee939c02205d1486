/* host.h - what the detectors of host time share; private to detect. */
#ifndef NSX_DETECT_HOST_H
#define NSX_DETECT_HOST_H

#include "detect/detect.h"

#define LEAST_SHARE 0.003 /* of the window, to be looked at */
enum { SEVERAL = -2 };	  /* processes                      */

/* What a call of the operating system waits for, as far as its name tells. */
enum awaited {
	UNKNOWN_WAIT = 1,
	A_TIME,
	A_REQUEST, /* from outside of the program                            */
	INPUT,	   /* from outside, or from a process of its own             */
	A_LOCK,
	A_THREAD,
};
enum awaited host_waits_for(const char *name);

#endif
