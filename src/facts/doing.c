/* doing.c - finds what the host does for much of a stretch without GPU work: a call, a range, or a
 * function that was sampled.
 */
#include "base/group.h"
#include "base/stat.h"
#include "facts/doing.h"
#include "facts/outside.h"
#include "facts/profiler.h"

#define CALLS_SHARE 0.25 /* a call or sampled function is named from this share of a stretch */
#define RANGE_SHARE 0.5	 /* a range is named from this share of a stretch    */

struct spent { /* the time of a stretch that goes to calls */
	const struct nsx_facts *facts;
	uint32_t process;	/* whose threads; NSX_NONE: all              */
	struct nsx_groups keys; /* (thread, name)                            */
	struct spent_sum {
		nsx_str name;
		uint32_t thread;
		int64_t ns, longest_ns, profiled_ns;
		bool is_cuda;
		/* most: the name with most time; blocked: the CUDA call with most time, if most of
		 * it is one call
		 */
	} *sums, most, blocked;
};

static bool is_of_process(const struct nsx_trace *t, uint32_t thread, uint32_t process)
{
	return process == NSX_NONE || t->thread[thread].process == process;
}

static bool doing_is_one_call(const struct spent_sum *x)
{
	return !x->is_cuda || 2 * x->longest_ns >= x->ns;
}

static int doing_add_call(struct spent *s, uint32_t thread, nsx_str name, bool is_cuda,
			  struct nsx_span in, struct nsx_err *err)
{
	int64_t ns = in.end_ns - in.start_ns;
	struct spent_sum *sum;

	if (ns <= 0)
		return 0;
	sum = nsx_group_value(&s->keys, &s->sums, thread, name, "calls outside of GPU work", err);
	if (!sum)
		return err->rc;
	sum->name = name;
	sum->thread = thread;
	sum->is_cuda = is_cuda;
	nsx_add_to(&sum->ns, ns);
	nsx_add_to(&sum->profiled_ns, nsx_profiled_ns(s->facts, thread, in));
	sum->longest_ns = NSX_MAX(sum->longest_ns, ns);
	if (sum->ns > s->most.ns)
		s->most = *sum;
	if (is_cuda && sum->ns > s->blocked.ns && doing_is_one_call(sum))
		s->blocked = *sum;
	return 0;
}

/* Adds a thread's CUDA calls, and the OS calls outside of these. */
static int doing_add_thread(struct spent *s, const struct nsx_trace *t, uint32_t thread,
			     struct nsx_span in, struct nsx_err *err)
{
	const struct nsx_thread *th = &t->thread[thread];
	const struct nsx_calls *c = &t->calls;
	size_t call = th->calls_at, end = call + th->ncalls, at = 0;

	for (size_t i = call; i < end && nsx_call_start(c, i) < in.end_ns; i++)
		if (!(c->flags[i] & NSX_CALL_NESTED) &&
		    doing_add_call(s, thread, nsx_call_name(c, i), true, (struct nsx_span){
				NSX_MAX(nsx_call_start(c, i), in.start_ns),
				NSX_MIN(nsx_call_end(c, i), in.end_ns)}, err))
			return err->rc;
	NSX_EACH_OS_CALL(t, th, &at, in, i) {
		while (call < end && nsx_call_end(c, call) <= t->osrt.start_ns[i])
			call++;
		if ((call == end || nsx_call_start(c, call) > t->osrt.start_ns[i]) &&
		    doing_add_call(s, thread, t->osrt.name[i], false, (struct nsx_span){
				NSX_MAX(t->osrt.start_ns[i], in.start_ns),
				NSX_MIN(t->osrt.end_ns[i], in.end_ns)}, err))
			return err->rc;
	}
	return 0;
}

static int doing_add_mpi(struct spent *s, const struct nsx_trace *t, struct nsx_span in,
			  struct nsx_err *err)
{
	const struct nsx_library_calls *c = &t->library;

	for (size_t i = 0; i < c->n; i++) {
		int64_t start_ns = nsx_unpack(&c->start, i);

		if (c->library[i] == NSX_LIBRARY_MPI &&
		    is_of_process(t, c->thread[i], s->process) &&
		    doing_add_call(s, c->thread[i], c->name[i], false, (struct nsx_span){
				NSX_MAX(start_ns, in.start_ns),
				NSX_MIN(start_ns + (int64_t)nsx_unpack(&c->length, i), in.end_ns)},
				err))
			return err->rc;
	}
	return 0;
}

static int doing_cmp_frames(const struct nsx_trace *t, uint32_t a, uint32_t b)
{
	return a == NSX_NONE || b == NSX_NONE ? NSX_CMP(b, a) :
	       strcmp(nsx_text(t, t->frame[a].function), nsx_text(t, t->frame[b].function));
}

/* Finds the function in which most CPU samples of a stretch were taken. */
static int find_sampled_function(const struct nsx_trace *t, uint32_t process,
				 const struct nsx_window *w, struct nsx_doing *ret,
				 struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_groups_done) struct nsx_groups keys = {0};
	NSX_AT_EXIT(nsx_free_at) size_t *count = NULL;
	size_t all = 0, most = 0;
	uint32_t frame = NSX_NONE;

	for (size_t i = 0, h = 0; i < t->samples.n; i++) {
		int64_t at_ns = nsx_unpack(&t->samples.start, i);
		size_t *n;

		while (t->sampled[h].at + t->sampled[h].n <= i)
			h++;
		if (at_ns < w->start_ns || at_ns >= w->end_ns ||
		    (process != NSX_NONE && t->process[process].key !=
						    nsx_process_key(t->sampled[h].global_tid)))
			continue;
		n = nsx_group_value(&keys, &count, 0, nsx_sample_frame(t, i),
				    "functions outside of GPU work", err);
		if (!n)
			return err->rc;
		++*n;
		all++;
	}
	for (size_t i = 0; i < keys.n; i++) {
		uint32_t x = (uint32_t)nsx_group_key(&keys, i).b;

		if (count[i] > most || (count[i] == most && doing_cmp_frames(t, x, frame) < 0)) {
			most = count[i];
			frame = x;
		}
	}
	if (frame != NSX_NONE && t->frame[frame].function &&
	    (double)most >= CALLS_SHARE * (double)all)
		*ret = (struct nsx_doing){.what = NSX_DOES_SAMPLED,
					  .name = t->frame[frame].function,
					  .share = (double)most / (double)all};
	return 0;
}

/* Finds the shortest range that covers most of a stretch; NSX_NONE: none does. */
static uint32_t find_covering_range(const struct nsx_trace *t, uint32_t process,
				    const struct nsx_window *w)
{
	const struct nsx_nvtx *x = &t->nvtx;
	double least_ns = RANGE_SHARE * (double)(w->end_ns - w->start_ns);
	uint32_t best = NSX_NONE;

	for (uint32_t i = 0; i < x->n; i++)
		if ((double)(NSX_MIN(nsx_range_end(x, i), w->end_ns) -
			     NSX_MAX(nsx_range_start(x, i), w->start_ns)) >= least_ns &&
		    is_of_process(t, nsx_nvtx_thread(t, i), process) &&
		    (best == NSX_NONE || nsx_range_ns(x, i) <= nsx_range_ns(x, best)))
			best = i;
	return best;
}

int nsx_find_doing(const struct nsx_trace *t, const struct nsx_facts *f, uint32_t process,
		   const struct nsx_window *w, struct nsx_doing *ret, struct nsx_err *err)
{
	struct nsx_span in = {w->start_ns, w->end_ns};
	struct spent s = {.facts = f, .process = process};
	uint32_t range;
	struct spent_sum mpi;
	double least_ns = CALLS_SHARE * (double)(w->end_ns - w->start_ns);
	int rc = doing_add_mpi(&s, t, in, err);

	mpi = s.most;
	for (uint32_t h = 0; h < t->nthreads && !rc; h++)
		rc = is_of_process(t, h, process) ? doing_add_thread(&s, t, h, in, err) : 0;
	nsx_groups_done(&s.keys);
	free(s.sums);
	*ret = (struct nsx_doing){.what = NSX_DOES_UNKNOWN};
	if (rc)
		return rc;
	/* The thread that waits in MPI waits for another one, which is blocked. */
	if (s.most.ns == mpi.ns && s.blocked.thread != mpi.thread &&
	    (double)s.blocked.ns >= least_ns)
		s.most = s.blocked;
	if ((double)s.most.ns >= least_ns) {
		*ret = (struct nsx_doing){.what = NSX_DOES_CALL, .name = s.most.name, .ns = s.most.ns,
			.profiled_ns = s.most.profiled_ns,
			.is_one_call = doing_is_one_call(&s.most)};
		return 0;
	}
	range = find_covering_range(t, process, w);
	if (range == NSX_NONE)
		return find_sampled_function(t, process, w, ret, err);
	*ret = (struct nsx_doing){.what = NSX_DOES_RANGE, .name = t->nvtx.name[range]};
	return 0;
}
