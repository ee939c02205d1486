/* shared.c - a GPU that several programs use.
 *
 * One that is busy while this program leaves it idle: another program uses it, and time
 * won for the host need not be the GPU's to give.  Or kernels of several processes of the
 * trace run at once: they take turns, and the durations of each hold the turns of others.
 * Or the GPU takes it away in slices of one length, although work is queued.
 */
#include <string.h>
#include "base/stat.h"
#include "detect/detect.h"
#include "facts/metrics/metrics.h"

#define BUSY_PCT 95.0
enum { FEWEST = 20, /* samples at least half of which is idle */
       MOST_GPUS = 64,
       SOON = 4, /* such a part of a gap its end is launched in          */
       SLICE_NS = 500000 }; /* a time slice takes 1 ms or more                */
#define EQUAL 1.1	/* times as long are nine of ten, at most            */
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

static void propose_processes(struct nsx_detect *d, const struct sharing *s,
			      const uint32_t *device, uint32_t n)
{
	struct nsx_findings *l = d->found;
	const struct nsx_trace *t = d->trace;
	const char *on = n > 1 ? nsx_tell(l, ", on GPU %s", nsx_gpu_label(t, s->device)) : "";
	struct nsx_finding f = {
		.id = NSX_ID_processes_share, .device = s->device,
		.confidence = NSX_CONF_HIGH, .weight = share_of(d, s->ns),
		.title = nsx_tell(l, "%u processes use GPU%s %s at the same time",
				  s->nprocesses, n > 1 ? "s" : "",
				  nsx_say_gpus(d, device, n)),
		.evidence = {
			nsx_tell(l, "kernels of different processes run at once for %s, %s of "
				    "the judged window%s; process %lld runs %zu there, process "
				    "%lld %zu", nsx_tell_ns(l, s->ns),
				 nsx_text_share(l->arena, share_of(d, s->ns), 1), on,
				 (long long)t->process[s->process[0]].pid, s->nkernels[0],
				 (long long)t->process[s->process[1]].pid, s->nkernels[1]),
			"they take turns, unless MPS runs them side by side: what a "
			"kernel takes holds the turns of others, and what it would "
			"take alone is not in the trace"},
		.recommendation = {
			"give each process a GPU of its own, or join their work "
			"into larger batches of one process",
			"where they must share it: MPS (nvidia-cuda-mps-control) "
			"lets kernels run side by side, MIG gives each process a "
			"part of its own"}};

	nsx_found(l, &f);
}

static void find_processes(struct nsx_detect *d)
{
	struct sharing most = {.device = NSX_NONE};
	uint32_t device[MOST_GPUS], n = 0;

	for (uint32_t i = 0; i < d->trace->ndevices && i < MOST_GPUS; i++) {
		struct sharing s = {.device = i, .ns = nsx_processes_share_ns(d, i)};

		if (!s.ns)
			continue;
		device[n++] = i;
		most = s.ns > most.ns ? s : most;
	}
	if (n == 0)
		return;
	count_kernels(d, &most);
	propose_processes(d, &most, device, n);
}

/* Time slices -------------------------------------------------------------------*/

struct slices { /* of a GPU, while work is queued */
	uint32_t device;
	size_t n;
	int64_t *gap_ns, *busy_ns; /* busy_ns: from one gap to the next       */
	int64_t sum_ns;		  /* of the gaps                             */
};

/* Gaps of the judged window in which the work that ends them waits most of the time. */
static int list_slices(const struct nsx_detect *d, struct slices *x, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_device *dev = &t->device[x->device];
	int64_t end_ns = INT64_MIN, from_ns = INT64_MIN;
	size_t most = NSX_MIN(dev->nops, (size_t)((d->w.end_ns - d->w.start_ns) / SLICE_NS + 1));

	if (nsx_new_arrays(d->scratch, most, "gaps", err, x->gap_ns, x->busy_ns))
		return err->rc;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		uint32_t call = nsx_op_call(&t->ops, i);
		int64_t start_ns = nsx_op_start(&t->ops, i);

		if (!nsx_is_judged(d, start_ns))
			continue;
		if (end_ns != INT64_MIN && start_ns - end_ns >= SLICE_NS) {
			if (from_ns != INT64_MIN && call != NSX_NONE &&
			    nsx_call_start(&t->calls, call) <= end_ns + (start_ns - end_ns) / SOON) {
				x->busy_ns[x->n] = end_ns - from_ns;
				x->gap_ns[x->n++] = start_ns - end_ns;
				x->sum_ns += start_ns - end_ns;
			}
			from_ns = start_ns;
		}
		end_ns = NSX_MAX(end_ns, nsx_op_end(&t->ops, i));
	}
	return 0;
}

/* Whether most of them are as long as each other. */
static bool are_equal(int64_t *v, size_t n)
{
	double low = nsx_quantile(v, n, 0.1), high = nsx_quantile(v, n, 0.9);

	return high <= EQUAL * low;
}

static void propose_slices(struct nsx_detect *d, const struct slices *x)
{
	struct nsx_findings *l = d->found;
	struct nsx_finding f = {
		.id = NSX_ID_gpu_shared, .device = x->device,
		.subject = "time_slices", .confidence = NSX_CONF_MEDIUM,
		.guess_ns = (double)x->sum_ns, .is_rule = true,
		.title = nsx_tell(l, "another program uses GPU %s in time slices",
				  nsx_gpu_label(d->trace, x->device)),
		.evidence = {
			nsx_tell(l, "%zu gaps of %s between stretches of work of %s, nearly "
				    "all equal, while launched work waits: time slices",
				 x->n, nsx_text_ns(l->arena, nsx_quantile(x->gap_ns, x->n, 0.5)),
				 nsx_text_ns(l->arena,
					     nsx_quantile(x->busy_ns, x->n, 0.5))),
			"the price is the length of these gaps: what a GPU of its own would "
			"give"},
		.recommendation = {
			"see who else uses it (nvidia-smi), and run alone, or give each "
			"program a part of its own (MIG)"}};

	nsx_found(l, &f);
}

/* A GPU that several programs use without MPS gives each a slice of time in turn: gaps of one
 * length between stretches of work of one length, although work waits.
 */
static int find_slices(struct nsx_detect *d, struct nsx_err *err)
{
	struct slices most = {.sum_ns = 0};

	for (uint32_t i = 0; i < d->trace->ndevices; i++) {
		struct slices x = {.device = i};

		if (list_slices(d, &x, err))
			return err->rc;
		if (x.n >= FEWEST && share_of(d, x.sum_ns) >= LEAST_SHARE &&
		    x.sum_ns > most.sum_ns && are_equal(x.gap_ns, x.n) &&
		    are_equal(x.busy_ns, x.n))
			most = x;
	}
	if (most.n)
		propose_slices(d, &most);
	return 0;
}

int nsx_detect_shared(struct nsx_detect *d, struct nsx_err *err)
{
	find_busy(d);
	find_processes(d);
	return find_slices(d, err);
}
