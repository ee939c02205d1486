/* host.h - shared by the detectors of host time; private to detect. */
#ifndef NSX_DETECT_HOST_H
#define NSX_DETECT_HOST_H

#include "detect/detect.h"

#define LEAST_SHARE 0.003 /* nothing below this share of the window is reported */

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
/* Advice on waits in a call of that name. */
const char *host_advise_wait(struct nsx_detect *d, enum awaited what, const char *name);

/* another thread's work during waits: ranges of one kind that are open for most of that time and
 * end when the waits do
 */
struct nsx_meanwhile {
	uint32_t range, thread; /* the first range and its thread; NSX_NONE: none */
	int64_t ns; /* time of the waits that such ranges cover              */
};
/* is_message: the waits are for data that is sent, so ranges of other processes are ignored.
 * Errors: NSX_E_NOMEM.
 */
int host_meanwhile(struct nsx_detect *d, uint32_t thread,
		   const struct nsx_spans *waits, bool is_message,
		   struct nsx_meanwhile *ret, struct nsx_err *err) NSX_CHECKED;
/* "`schedule` in process EngineCore": the range in words, as seen from the waiting thread. */
const char *host_say_meanwhile(struct nsx_detect *d, uint32_t thread,
			       const struct nsx_meanwhile *m);
/* Adds evidence and sets place and advice. */
void host_tell_meanwhile(struct nsx_detect *d, const struct nsx_meanwhile *m,
			 struct nsx_finding *f);

#endif
