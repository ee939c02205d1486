/* host.h - shared by the detectors of host time; private to detect. */
#ifndef NSX_DETECT_HOST_H
#define NSX_DETECT_HOST_H

#include "detect/detect.h"

/* what a wait is for, by the name of the operating-system call */
enum awaited {
	UNKNOWN_WAIT = 1,
	A_TIME,
	A_REQUEST, /* of a client, from outside the program                  */
	INPUT,	   /* from outside, or from another process of the program   */
	A_CLOCK,   /* found by even intervals between the ends               */
	A_LOCK,
	A_CHILD,
	A_THREAD,
};
enum awaited host_waits_for(const char *name);
/* Whether the wait is for data that another process or machine sends. */
static inline bool host_is_message(enum awaited what)
{
	return what == A_REQUEST || what == INPUT;
}
/* Whether something outside the program alone decides when the wait ends. False if ranks
 * communicate, because the others may wait for this one, and for INPUT of PyTorch, which may come
 * from a loader's processes.
 */
bool host_is_outside(const struct nsx_detect *d, enum awaited what);

#endif
