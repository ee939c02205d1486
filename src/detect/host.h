/* host.h - what the detectors of host time share; private to detect. */
#ifndef NSX_DETECT_HOST_H
#define NSX_DETECT_HOST_H

#include "detect/detect.h"

#define LEAST_SHARE 0.003 /* of the window, to be looked at */

/* What a call of the operating system waits for, as far as its name tells. */
enum awaited {
	UNKNOWN_WAIT = 1,
	A_TIME,
	A_REQUEST, /* from outside of the program                            */
	INPUT,	   /* from outside, or from a process of its own             */
	/* As no name tells: */
	A_DEVICE, /* what a driver says has come, as a camera's next picture */
	A_CLOCK,  /* of calls that end at even distances                     */
	A_TIMEOUT, /* of calls that are to end at the latest then: of one length */
	A_LOCK,
	A_CHILD,
	A_THREAD,
};
enum awaited host_waits_for(const char *name);
/* Whether such a wait is for what another process, or a machine, sends. */
static inline bool host_is_message(enum awaited what)
{
	return what == A_REQUEST || what == INPUT;
}
/* Whether such a wait ends when somebody outside of the program likes: not where other ranks
 * wait for this one, and hardly where a loader's processes may be what it is for.
 */
bool host_is_outside(const struct nsx_detect *d, enum awaited what);
/* What to do about waits in a call of that name. */
const char *host_advise_wait(struct nsx_detect *d, enum awaited what,
			     const char *name);

/* What another thread of the trace does while one waits: ranges of one kind that are open
 * most of that time, and end when the waits do.
 */
struct nsx_meanwhile {
	uint32_t range, thread; /* the first of them; NSX_NONE: there are none */
	int64_t ns; /* of the waits                                          */
};
/* is_message: what they wait for is sent, so that ranges of other processes tell nothing.
 * Errors: NSX_E_NOMEM.
 */
int host_meanwhile(struct nsx_detect *d, uint32_t thread,
		   const struct nsx_spans *waits, bool is_message,
		   struct nsx_meanwhile *ret, struct nsx_err *err) NSX_CHECKED;
/* "`schedule` in process EngineCore": for a thread that waits. */
const char *host_say_meanwhile(struct nsx_detect *d, uint32_t thread,
			       const struct nsx_meanwhile *m);
/* Evidence, place and advice. */
void host_tell_meanwhile(struct nsx_detect *d, const struct nsx_meanwhile *m,
			 struct nsx_finding *f);

#endif
