/* shared.c - a GPU that several programs use.
 *
 * One that is busy while this program leaves it idle: another program uses it, and time
 * won for the host need not be the GPU's to give.  Or kernels of several processes of the
 * trace run at once: they take turns, and the durations of each hold the turns of others.
 * Or one waits for its turn, with kernels queued, while those of others run.
 */
#include <string.h>
#include "detect/detect.h"
#include "facts/metrics/metrics.h"

#define BUSY_PCT 95.0
enum { FEWEST = 20, /* samples at least half of which is idle */
       MOST_GPUS = 64,
       HELD_NS = 20000 }; /* a kernel starts sooner after its call, as a rule   */
#define LEAST_SHARE 0.03 /* of the window, that processes run kernels at once  */

static void find_busy(struct nsx_detect *d)
{
	const struct nsx_metrics *m = d->facts->metrics;
	uint32_t dev = d->facts->limiting;
	struct nsx_findings *l = d->found;

	for (size_t i = 0; m && dev != NSX_NONE && i < m->n; i++) {
		const struct nsx_metric *x = &m->v[i];
		const struct nsx_metric_scope *idle = &x->scope[NSX_SCOPE_IDLE];

		if (x->device != dev || !x->name ||
		    !strcasestr(x->name, "GR Active") || idle->n < FEWEST ||
		    !(idle->p50 >= BUSY_PCT))
			continue;
		struct nsx_finding f = {
			.id = NSX_ID_gpu_shared, .device = dev,
			.confidence = NSX_CONF_HIGH,
			.title = nsx_tell(l, "GPU %s is busy while this "
					  "program leaves it idle: something "
					  "else uses it",
					  nsx_gpu_label(d->trace, dev)),
			.evidence = {
				nsx_tell(l, "%s reads %.1f %%, the median of "
					 "%zu samples in which no recorded "
					 "work runs for half of the time or "
					 "more", nsx_tell_name(l, x->name),
					 idle->p50, idle->n),
				"what less waiting would win is what an empty "
				"GPU would give: no price here is sure"},
			.recommendation = {
				"run alone on the GPU, or capture all programs "
				"that use it"},
			.proof = {{.csv = "gpu_metrics", .column = "p50",
				   .at = {{"metric_name",
					   nsx_string(nsx_tell(l, "%s",
							       x->name))},
					  {"scope", nsx_string("idle")}}}}};

		nsx_found(l, &f);
		break;
	}
}

/* Processes of one GPU -----------------------------------------------------------*/

struct sharing { /* of a device, by the processes of the trace */
	uint32_t device, nprocesses;
	int64_t ns;		 /* that kernels of two or more run at once  */
	int64_t held_ns; /* most that a process has some queued and runs none,
			    while others run theirs                          */
	uint32_t held;	 /* that process                                     */
	uint32_t process[2];	 /* with most kernels                        */
	size_t nkernels[2];
};

/* What of the window the kernels of one process take at the same time as those of another.
 * Ops come in order of start: of those before, one reaches furthest, and of the other
 * processes' one.
 */
static int64_t at_once_ns(const struct nsx_detect *d, uint32_t device)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_device *dev = &t->device[device];
	int64_t last_ns = INT64_MIN, others_ns = INT64_MIN; /* where they end */
	int64_t until_ns = d->w.start_ns, sum_ns = 0;
	uint32_t last = NSX_NONE; /* whose it is                             */

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		uint32_t process = nsx_op_process(t, i);
		int64_t end_ns = nsx_op_end(&t->ops, i), from_ns, to_ns;

		if (t->ops.kind[i] != NSX_OP_KERNEL || process == NSX_NONE)
			continue;
		from_ns = NSX_MAX(nsx_op_start(&t->ops, i), until_ns);
		to_ns = NSX_MIN(NSX_MIN(end_ns, d->w.end_ns),
				process == last ? others_ns : last_ns);
		if (to_ns > from_ns) {
			sum_ns += to_ns - from_ns;
			until_ns = to_ns;
		}
		if (process == last) {
			last_ns = NSX_MAX(last_ns, end_ns);
		} else if (end_ns > last_ns) {
			others_ns = last_ns;
			last_ns = end_ns;
			last = process;
		} else {
			others_ns = NSX_MAX(others_ns, end_ns);
		}
	}
	return sum_ns;
}

static double share_of(const struct nsx_detect *d, int64_t ns)
{
	return (double)ns / (double)(d->w.end_ns - d->w.start_ns);
}

/* Of the processes with most of the iterations that are judged the one that waits longest; of
 * all, where these hardly wait.
 */
static void take_held(const struct nsx_detect *d, struct sharing *s, const int64_t *ns,
		      size_t *loops)
{
	const struct nsx_facts *f = d->facts;
	size_t most = 0;

	for (size_t i = 0; i < f->niterations; i++)
		if (f->iterations[i].device == s->device &&
		    f->iterations[i].process != NSX_NONE &&
		    nsx_is_judged(d, f->iterations[i].start_ns)) {
			loops[f->iterations[i].process]++;
			most = NSX_MAX(most, loops[f->iterations[i].process]);
		}
	for (int all = 0; all < 2 && share_of(d, s->held_ns) < LEAST_SHARE; all++)
		for (uint32_t p = 0; p < d->trace->nprocesses; p++)
			if ((all || loops[p] == most) && ns[p] > s->held_ns) {
				s->held_ns = ns[p];
				s->held = p;
			}
}

static bool makes_wait(const char *api)
{
	return strstr(api, "StreamWait") || strstr(api, "WaitExternalSemaphores");
}

/* By call, whether it waits for an event that its process records. */
static int find_own_waits(const struct nsx_trace *t, bool *ret, struct nsx_err *err)
{
	const struct nsx_records *r = &t->records;
	const struct nsx_syncs *y = &t->syncs;
	struct nsx_groups syncs = {0}, events = {0}; /* ids of a record, of an event */
	uint32_t place;
	int rc = 0;

	for (size_t i = 0; !rc && i < r->n; i++)
		rc = nsx_group(&syncs, r->process[i], (uint64_t)r->event_sync_id[i],
			       &place, err) ?:
		     nsx_group(&events, r->process[i], r->event[i], &place, err);
	for (size_t i = 0; !rc && i < y->n; i++)
		if (y->call[i] != NSX_NONE)
			ret[y->call[i]] =
				nsx_group_find(y->event_sync_id[i] > 0 ? &syncs : &events,
					       y->process[i], y->event_sync_id[i] > 0 ?
					       (uint64_t)y->event_sync_id[i] :
					       y->event[i]) != NSX_NONE;
	nsx_groups_done(&syncs);
	nsx_groups_done(&events);
	return rc;
}

/* By call, whether what it queues is the first behind a wait for something else: an event of
 * another process, or a value in memory.
 */
static int find_behind(const struct nsx_detect *d, bool **ret, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	uint8_t *memo;
	bool *own;

	if (nsx_new_arrays(d->scratch, t->calls.n, "calls", err, own, *ret) ||
	    !nsx_new_array(memo, d->scratch, nsx_strings_bound(t->strings), "calls", err) ||
	    find_own_waits(t, own, err))
		return err->rc;
	for (uint32_t h = 0; h < t->nthreads; h++) {
		const struct nsx_thread *x = &t->thread[h];
		bool waits = false, before = false;

		for (size_t i = x->calls_at; i < x->calls_at + x->ncalls; i++) {
			if (!(t->calls.flags[i] & NSX_CALL_NESTED)) {
				before = waits;
				waits |= nsx_call_does(t, i, makes_wait, memo);
			}
			waits = own[i] ? before : waits;
			(*ret)[i] = waits;
			waits &= nsx_call_op(&t->calls, i) == NSX_NONE;
		}
	}
	return 0;
}

/* How long each process waits so in the window: from the call that queues a kernel, or the end
 * of its own work before, it does nothing there, and what runs is others'.  Behind a wait for
 * what others do it is no turn.
 */
static int find_held(const struct nsx_detect *d, const bool *behind, struct sharing *s,
		     struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_device *dev = &t->device[s->device];
	struct nsx_spans any;
	int64_t *prefix, *end_ns, *ns;
	size_t *loops; /* iterations                                         */

	if (nsx_kernel_spans(&d->facts->device[s->device], d->scratch, &any, err) ||
	    nsx_spans_prefix(d->scratch, &any, &prefix, err) ||
	    nsx_new_arrays(d->scratch, t->nprocesses, "processes", err, end_ns, ns,
			   loops))
		return err->rc;
	for (uint32_t p = 0; p < t->nprocesses; p++)
		end_ns[p] = INT64_MIN;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		uint32_t call = nsx_op_call(&t->ops, i), p = nsx_op_process(t, i);
		int64_t start_ns = nsx_op_start(&t->ops, i), from_ns;

		if (p == NSX_NONE)
			continue;
		from_ns = call == NSX_NONE ? start_ns :
			  NSX_MAX(nsx_call_end(&t->calls, call), end_ns[p]);
		end_ns[p] = NSX_MAX(end_ns[p], nsx_op_end(&t->ops, i));
		if ((t->ops.kind[i] != NSX_OP_KERNEL && t->ops.kind[i] != NSX_OP_GRAPH) ||
		    start_ns - from_ns < HELD_NS || !nsx_is_judged(d, start_ns) ||
		    (call != NSX_NONE && behind[call]))
			continue;
		ns[p] += nsx_spans_within(&any, prefix, NSX_MAX(from_ns, d->w.start_ns),
					  start_ns);
	}
	take_held(d, s, ns, loops);
	return 0;
}

static void count_kernels(const struct nsx_detect *d, struct sharing *s)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_device *dev = &t->device[s->device];
	size_t *n = nsx_arena_get(d->scratch, (t->nprocesses + 1) * sizeof(*n));

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		uint32_t process = nsx_op_process(t, i);

		if (process != NSX_NONE && t->ops.kind[i] == NSX_OP_KERNEL &&
		    nsx_is_judged(d, nsx_op_start(&t->ops, i)))
			n[process]++;
	}
	for (uint32_t p = 0; p < t->nprocesses; p++) {
		unsigned k = n[p] > s->nkernels[0] ? 0 : 1;

		s->nprocesses += n[p] > 0;
		if (n[p] <= s->nkernels[k])
			continue;
		if (!k) {
			s->process[1] = s->process[0];
			s->nkernels[1] = s->nkernels[0];
		}
		s->process[k] = p;
		s->nkernels[k] = n[p];
	}
}

/* Whether the times of a GPU are known for all processes, to be compared. */
static bool clocks_known(const struct nsx_trace *t, uint32_t device)
{
	for (uint32_t i = 0; i < t->nclocks; i++)
		if (t->clock[i].device == device &&
		    nsx_clock_doubt_ns(t, t->clock[i].process, device) ==
			    INT64_MAX)
			return false;
	return true;
}

static bool has_processes(const struct nsx_trace *t, uint32_t device)
{
	uint32_t first = NSX_NONE;

	for (uint32_t i = 0; i < t->nstreams; i++) {
		uint32_t process = t->stream[i].process;

		if (t->stream[i].device != device || process == NSX_NONE)
			continue;
		if (first != NSX_NONE && process != first)
			return true;
		first = process;
	}
	return false;
}

int64_t nsx_processes_share_ns(const struct nsx_detect *d, uint32_t device)
{
	int64_t ns = has_processes(d->trace, device) ? at_once_ns(d, device) : 0;

	return (double)ns < LEAST_SHARE * (double)(d->w.end_ns - d->w.start_ns) ||
			       !clocks_known(d->trace, device) ? 0 : ns;
}

static const char *say_sharing(struct nsx_detect *d, const struct sharing *s, uint32_t n)
{
	struct nsx_findings *l = d->found;
	const struct nsx_trace *t = d->trace;
	const char *on = n > 1 ? nsx_tell(l, ", on GPU %s", nsx_gpu_label(t, s->device)) : "";
	int64_t ns = s->ns ?: s->held_ns;
	const char *share = nsx_text_share(l->arena, share_of(d, ns), 1);

	return s->ns ? nsx_tell(l, "kernels of different processes run at once for %s, %s of "
				   "the judged window%s", nsx_tell_ns(l, ns), share, on) :
		       nsx_tell(l, "for %s, %s of the judged window%s, process %lld has kernels "
				   "queued, and only those of others run",
				nsx_tell_ns(l, ns), share, on,
				(long long)t->process[s->held].pid);
}

static void propose_processes(struct nsx_detect *d, const struct sharing *s,
			      const uint32_t *device, uint32_t n)
{
	struct nsx_findings *l = d->found;
	struct nsx_finding f = {
		.id = NSX_ID_processes_share, .device = s->device,
		.confidence = NSX_CONF_HIGH, .is_setting = s->ns,
		.weight = share_of(d, s->ns),
		.guess_ns = s->ns ? 0 : (double)s->held_ns, .is_rule = !s->ns,
		.is_bound = !s->ns,
		.title = nsx_tell(l, s->ns ? "%u processes use GPU%s %s at the same time" :
					     "%u processes take turns on GPU%s %s",
				  s->nprocesses, n > 1 ? "s" : "",
				  nsx_say_gpus(d, device, n)),
		.evidence = {
			nsx_tell(l, "%s; process %lld runs %zu there, process %lld %zu",
				 say_sharing(d, s, n),
				 (long long)d->trace->process[s->process[0]].pid,
				 s->nkernels[0],
				 (long long)d->trace->process[s->process[1]].pid,
				 s->nkernels[1]),
			s->ns ? "they take turns, unless MPS runs them side by side: what a "
				"kernel takes holds the turns of others, and what it would "
				"take alone is not in the trace" :
				"with the GPU to itself that process would win this at most"},
		.recommendation = {
			"give each process a GPU of its own, or join their work "
			"into larger batches of one process",
			"where they must share it: MPS (nvidia-cuda-mps-control) "
			"lets kernels run side by side, MIG gives each process a "
			"part of its own"}};

	nsx_found(l, &f);
}

/* Of the GPUs of several processes: where kernels run at once, else where some wait. */
static int find_processes(struct nsx_detect *d, struct nsx_err *err)
{
	struct sharing most = {.device = NSX_NONE}, held = most;
	uint32_t device[MOST_GPUS], waits_on[MOST_GPUS], n = 0, nheld = 0;
	bool *behind = NULL;

	for (uint32_t i = 0; i < d->trace->ndevices && i < MOST_GPUS; i++) {
		struct sharing s = {.device = i, .ns = nsx_processes_share_ns(d, i)};

		if (s.ns) {
			device[n++] = i;
			most = s.ns > most.ns ? s : most;
			continue;
		}
		if (!has_processes(d->trace, i) || !clocks_known(d->trace, i))
			continue;
		if ((!behind && find_behind(d, &behind, err)) ||
		    find_held(d, behind, &s, err))
			return err->rc;
		if (share_of(d, s.held_ns) < LEAST_SHARE)
			continue;
		waits_on[nheld++] = i;
		held = s.held_ns > held.held_ns ? s : held;
	}
	if (n + nheld == 0)
		return 0;
	count_kernels(d, n ? &most : &held);
	propose_processes(d, n ? &most : &held, n ? device : waits_on, n ?: nheld);
	return 0;
}

int nsx_detect_shared(struct nsx_detect *d, struct nsx_err *err)
{
	find_busy(d);
	return find_processes(d, err);
}
