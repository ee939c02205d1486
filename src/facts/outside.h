/* outside.h - calls in which a thread may wait for something outside CUDA: operating system
 * calls, and MPI calls that wait for other ranks.
 */
#pragma once

#include "base/span.h"
#include "trace/trace.h"

/* what a wait is for, by the name of the operating system call */
enum nsx_awaited {
	NSX_AWAITS_UNKNOWN = 1, /* or the call does not wait                */
	NSX_AWAITS_TIME,
	NSX_AWAITS_REQUEST, /* the request of a client, from outside the program */
	NSX_AWAITS_INPUT, /* data from outside, or from another process of the program */
	NSX_AWAITS_THREAD,
	NSX_AWAITS_DRIVER,
};
/* The purpose of an operating system call. No name tells whether read and write use a file, a pipe
 * or a socket.
 */
enum nsx_os_purpose {
	NSX_OS_LOCKS, NSX_OS_PROCESSES, NSX_OS_SLEEP, NSX_OS_EVENTS, NSX_OS_FILES,
	NSX_OS_NETWORK, NSX_OS_STREAMS, NSX_OS_DRIVERS, NSX_OS_MEMORY, NSX_OS_OTHER,
	NSX_N_OS_PURPOSES
};
extern const char *const nsx_os_purpose_names[NSX_N_OS_PURPOSES]; /* "locks", ...  */
/* ret: what it waits for; NULL: not wanted. */
enum nsx_os_purpose nsx_purpose_of(const char *name, enum nsx_awaited *ret);
static inline enum nsx_awaited nsx_awaited_of(const char *name)
{
	enum nsx_awaited ret = NSX_AWAITS_UNKNOWN;

	nsx_purpose_of(name, &ret);
	return ret;
}

struct nsx_outside {
	uint32_t thread;
	nsx_str name;
	uint32_t stack; /* NSX_NONE: not recorded                            */
	bool is_mpi;
	int64_t start_ns, end_ns;
	/* peer and tag of an MPI call, as in struct nsx_library_calls; else -1 */
	int32_t peer, tag;
};

/* Iterates over the OS calls of launching threads, then over their MPI calls, which older exports
 * have as NVTX ranges. *at begins at 0; false at the end.
 */
bool nsx_outside_next(const struct nsx_trace *t, size_t *at, struct nsx_outside *ret);

/* Loops over the OS calls i of thread th that overlap span `in`, in order. at: a size_t cursor that
 * begins at 0, for threads in the trace's order and spans whose start does not decrease.
 */
#define NSX_EACH_OS_CALL(t, th, at, in, i)                                    \
	for (size_t i = nsx_os_call_from(t, th, at, (in).start_ns);           \
	     i < (size_t)(th)->osrt_at + (th)->nosrt &&                       \
	     (t)->osrt.start_ns[i] < (in).end_ns; i++)
static inline size_t nsx_os_call_from(const struct nsx_trace *t,
				      const struct nsx_thread *th, size_t *at, int64_t from_ns)
{
	size_t end = (size_t)th->osrt_at + th->nosrt;

	*at = NSX_MAX(*at, (size_t)th->osrt_at);
	while (*at < end && t->osrt.end_ns[*at] <= from_ns)
		++*at;
	return *at;
}
/* The length of an OS call inside the span. It is 0 for a call before the span: NSX_EACH_OS_CALL
 * visits these if they are nested in a call that overlaps the span.
 */
static inline int64_t nsx_os_call_ns(const struct nsx_trace *t, size_t i, struct nsx_span in)
{
	int64_t ns = NSX_MIN(t->osrt.end_ns[i], in.end_ns) -
		     NSX_MAX(t->osrt.start_ns[i], in.start_ns);

	return NSX_MAX(0, ns);
}
