/* find.c - finds processes and threads by their keys, and calls by correlation id. */
#include "trace/load.h"

uint32_t nsx_process_find(const struct nsx_trace *t, uint64_t key)
{
	uint32_t lo = NSX_SEARCH(0, t->nprocesses, mid, t->process[mid].key < key);

	return lo < t->nprocesses && t->process[lo].key == key ? lo : NSX_NONE;
}

uint32_t nsx_device_find(const struct nsx_trace *t, uint64_t process, int64_t device_id)
{
	uint32_t p = nsx_process_find(t, process), ret = NSX_NONE, n = 0;

	for (uint32_t s = 0; s < t->nstreams && p != NSX_NONE; s++)
		if (t->stream[s].process == p &&
		    t->device[t->stream[s].device].device_id == device_id)
			return t->stream[s].device;
	for (uint32_t d = 0; d < t->ndevices; d++)
		if (t->device[d].device_id == device_id && !n++)
			ret = d;
	return n == 1 ? ret : NSX_NONE;
}

uint32_t nsx_thread_find(const struct nsx_trace *t, uint64_t global_tid)
{
	uint32_t lo = NSX_SEARCH(0, t->nthreads, mid, t->thread[mid].global_tid < global_tid);

	return lo < t->nthreads && t->thread[lo].global_tid == global_tid ? lo : NSX_NONE;
}

/* The first entry with an id >= corr. Operations come nearly in the order of their calls, so the
 * search begins at *at, where the last call was found, and doubles its steps.
 */
static size_t find_corr(const struct nsx_call_index *x, const uint32_t *of,
			     uint32_t corr, size_t *at)
{
	size_t lo = *at, hi = *at, step = 1;

	while (hi < x->n && of[x->calls[hi]] < corr) {
		lo = hi + 1;
		hi = NSX_MIN(hi + step, x->n);
		step *= 2;
	}
	while (lo && of[x->calls[lo - 1]] >= corr) {
		hi = lo - 1;
		lo -= NSX_MIN(step, lo);
		step *= 2;
	}
	NSX_BISECT(lo, hi, mid, of[x->calls[mid]] < corr);
	return *at = lo;
}

uint32_t nsx_find_call(const struct nsx_loader *l, uint32_t process,
		       uint32_t corr, int64_t at_ns, size_t *at)
{
	const struct nsx_call_index *x = &l->index[process];
	const struct nsx_calls_rw *c = &l->calls;
	size_t first = find_corr(x, c->corr, corr, at), k = first + 1;

	if (first == x->n || c->corr[x->calls[first]] != corr)
		return NSX_NONE;
	if (k < x->n && c->corr[x->calls[k]] == corr)
		k = NSX_SEARCH(k, x->n, mid,
			       c->corr[x->calls[mid]] == corr &&
			       c->start_ns[x->calls[mid]] <= at_ns);
	return x->calls[k - 1];
}
