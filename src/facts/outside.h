/* outside.h - calls in which a thread may wait for something outside CUDA: those
 * of the operating system, and those of MPI, where it waits for other ranks.
 */
#ifndef NSX_FACTS_OUTSIDE_H
#define NSX_FACTS_OUTSIDE_H

#include "base/span.h"
#include "trace/trace.h"

struct nsx_outside {
	uint32_t thread;
	nsx_str name;
	uint32_t stack; /* NSX_NONE: not recorded                            */
	bool is_mpi;
	int64_t start_ns, end_ns;
	int32_t peer, tag; /* of MPI, as in the trace; -1                    */
};

/* Of threads that launch, the OS calls and then those of MPI, which older exports
 * have as NVTX ranges, from *at on, which is advanced; false: there are no more.
 */
bool nsx_outside_next(const struct nsx_trace *t, size_t *at,
		      struct nsx_outside *ret);

/* Calls of the operating system of a thread (th) that reach into a span, in order: i is
 * their row.  at: a cursor, size_t, that begins at 0, for one thread after another in the
 * trace's order, and for spans whose start does not decrease.
 */
#define NSX_EACH_OS_CALL(t, th, at, in, i)                                    \
	for (size_t i = nsx_os_call_from(t, th, at, (in).start_ns);           \
	     i < (size_t)(th)->osrt_at + (th)->nosrt &&                       \
	     (t)->osrt.start_ns[i] < (in).end_ns; i++)
static inline size_t nsx_os_call_from(const struct nsx_trace *t,
				      const struct nsx_thread *th, size_t *at,
				      int64_t from_ns)
{
	size_t end = (size_t)th->osrt_at + th->nosrt;

	*at = NSX_MAX(*at, (size_t)th->osrt_at);
	while (*at < end && t->osrt.end_ns[*at] <= from_ns)
		++*at;
	return *at;
}
/* How long such a call is in the span: one that lies in another, which reaches into it, may
 * be over before.
 */
static inline int64_t nsx_os_call_ns(const struct nsx_trace *t, size_t i, struct nsx_span in)
{
	int64_t ns = NSX_MIN(t->osrt.end_ns[i], in.end_ns) -
		     NSX_MAX(t->osrt.start_ns[i], in.start_ns);

	return NSX_MAX(0, ns);
}

#endif
