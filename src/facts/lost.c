/* lost.c - counts launches whose GPU work was not recorded. With many of them, a GPU that looks
 * idle may have been busy.
 */
#include "facts/facts.h"

enum { LOST_PCT = 5 }; /* if this share of launches is lost, idle time is unknown */

static bool launches_work(const struct nsx_calls *c, size_t call)
{
	return c->cls[call] == NSX_CALL_LAUNCH &&
	       !(c->flags[call] & (NSX_CALL_FAILED | NSX_CALL_NESTED | NSX_CALL_GRAPH));
}

/* Whether the thread captures a graph after this call, given whether it did before. Calls during a
 * capture launch nothing.
 */
static bool captures_graph_after(const struct nsx_trace *t, size_t call, bool was)
{
	const char *name;

	if (t->calls.cls[call] == NSX_CALL_LAUNCH)
		return was;
	name = nsx_text(t, nsx_call_name(&t->calls, call));
	return strstr(name, "BeginCapture") ? true : strstr(name, "EndCapture")   ? false : was;
}

/* A thread's launches whose work was recorded. If there are none, its last wait for the GPU is
 * used.
 */
struct answered {
	size_t end;	   /* 1 + index of the last launch with recorded work */
	int64_t most_ns;   /* longest time from a call's end to its work     */
	int64_t latest_ns; /* latest start of work                           */
};

static struct answered find_recorded_launches(const struct nsx_trace *t,
					      const struct nsx_thread *th)
{
	struct answered ret = {0, 0, t->ops.n ? INT64_MIN : INT64_MAX};

	for (size_t i = th->calls_at, n = i + th->ncalls; i < n; i++) {
		uint32_t op = launches_work(&t->calls, i) ? nsx_call_op(&t->calls, i) : NSX_NONE;
		int64_t start_ns;

		if (!t->ops.n && t->calls.cls[i] == NSX_CALL_SYNC &&
		    nsx_call_end(&t->calls, i) <= t->window.end_ns)
			ret.end = i + 1;
		if (op == NSX_NONE)
			continue;
		start_ns = nsx_op_start(&t->ops, op);
		ret.end = i + 1;
		ret.latest_ns = NSX_MAX(ret.latest_ns, start_ns);
		ret.most_ns = NSX_MAX(ret.most_ns, start_ns - nsx_call_end(&t->calls, i));
	}
	return ret;
}

/* Counts a thread's launches in w, and those that are lost. A launch without recorded work is lost
 * if work of a later launch was recorded, and more time passed than any launch was queued.
 */
static void count_lost_launches(const struct nsx_trace *t, const struct nsx_thread *th,
				const struct nsx_window *w, struct nsx_lost *ret)
{
	struct answered known = find_recorded_launches(t, th);
	bool captured = false;

	for (size_t i = th->calls_at; i < known.end; i++) {
		int64_t start_ns = nsx_call_start(&t->calls, i);

		captured = captures_graph_after(t, i, captured);
		if (captured || !launches_work(&t->calls, i) ||
		    start_ns < w->start_ns || start_ns >= w->end_ns)
			continue;
		ret->launches++;
		ret->lost += nsx_call_op(&t->calls, i) == NSX_NONE &&
			     nsx_call_end(&t->calls, i) < known.latest_ns - known.most_ns;
	}
}

struct nsx_lost nsx_lost_launches(const struct nsx_trace *t, const struct nsx_window *w)
{
	struct nsx_lost ret = {0};

	if (nsx_has(t->schema, NSX_F_kernel_corr) && nsx_has(t->schema, NSX_F_runtime_corr))
		for (uint32_t i = 0; i < t->nthreads; i++)
			count_lost_launches(t, &t->thread[i], w, &ret);
	return ret;
}

bool nsx_is_idle_unknown(const struct nsx_lost *lost)
{
	return lost->launches && 100 * lost->lost >= LOST_PCT * lost->launches;
}
