/* balance.c - GPUs that work longer than the others, and idle time as such. */
#include <math.h>
#include <string.h>
#include "detect/excess.h"
#include "facts/kernel_name.h"
#include "facts/replay/replay.h"
#include "schema/codes.h"

#define UNEVEN 0.1 /* more than the mean of all GPUs */
#define COUNTS 0.05 /* of the window, that a GPU works to be compared */
#define IDLE_SHARE 0.05
#define SLOW 0.03 /* of the window, that one GPU alone costs */
#define ROUNDED 1.001 /* times: a replay rounds each kernel */
enum {
	MAX_COMPARED = 64, MOST_CAUSES = 3, MOST_NAMED = 8,
	MAX_PLAYED = 16, /* each a replay                                    */
	MANY_PAGES = 10, /* fetched one by one: of fewer, what the host does
			    besides may be most of it                       */
};

/* The process with most operations on a device. */
static uint32_t process_of(const struct nsx_trace *t, uint32_t device,
			   struct nsx_arena *a)
{
	size_t *n = nsx_arena_get(a, (t->nprocesses + 1) * sizeof(*n));
	const struct nsx_device *d = &t->device[device];
	uint32_t best = NSX_NONE;

	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++) {
		uint32_t p = nsx_op_process(t, i);

		if (p != NSX_NONE)
			n[p]++;
	}
	for (uint32_t p = 0; p < t->nprocesses; p++)
		if (n[p] && (best == NSX_NONE || n[p] > n[best]))
			best = p;
	return best;
}

/* Operations that begin in the judged window, without communication: the first and the
 * last stage of a pipeline have one neighbour, the others two.
 */
static size_t count_work(const struct nsx_detect *d, uint32_t device)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_device *dev = &t->device[device];
	size_t n = 0;

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++)
		n += t->ops.cls[i] != NSX_C_COMM &&
		     nsx_is_judged(d, nsx_op_start(&t->ops, i));
	return n;
}

/* Whether GPUs did as many operations, but for 2 %: else they did different
 * work, and it may not be the GPU that is slow, nor the share of work wrong.
 */
static bool did_same(const struct nsx_detect *d, const bool *counts)
{
	size_t least = SIZE_MAX, most = 0;

	for (uint32_t i = 0; i < d->facts->ndevices; i++) {
		size_t n;

		if (!counts[i])
			continue;
		n = count_work(d, i);
		least = NSX_MIN(least, n);
		most = NSX_MAX(most, n);
	}
	return (most - least) * 50 <= most;
}

/* Whether GPU times of one may be compared with those of another. */
static bool clocks_known(const struct nsx_trace *t)
{
	for (uint32_t i = 0; i < t->nclocks; i++)
		if (nsx_clock_doubt_ns(t, t->clock[i].process,
				       t->clock[i].device) == INT64_MAX)
			return false;
	return true;
}

static struct nsx_change even_out(struct nsx_detect *d, uint32_t device)
{
	return (struct nsx_change){
		.verb = NSX_EVEN_RANK, .by = NSX_BY_PROCESS | NSX_BY_DEVICE,
		.device = device,
		.process = process_of(d->trace, device, d->scratch)};
}

/* Those nearer to the most work than to the least. */
struct longest {
	uint32_t n, device[MAX_COMPARED];
	bool *is; /* by device                                               */
};

static struct longest find_longest(const struct nsx_detect *d, const bool *counts)
{
	int64_t most = nsx_judged_work_ns(d, d->facts->limiting), least = most;
	struct longest ret = {
		.is = nsx_arena_get(d->scratch, d->facts->ndevices)};

	for (uint32_t i = 0; i < d->facts->ndevices; i++)
		if (counts[i])
			least = NSX_MIN(least, nsx_judged_work_ns(d, i));
	for (uint32_t i = 0; i < d->facts->ndevices; i++) {
		ret.is[i] = counts[i] &&
			    nsx_judged_work_ns(d, i) > least + (most - least) / 2;
		if (ret.is[i])
			ret.device[ret.n++] = i;
	}
	return ret;
}

/* The mean of those that do not work longest. */
static double shortest_mean_ns(const struct nsx_detect *d, const bool *counts)
{
	const struct longest longest = find_longest(d, counts);
	double sum = 0;
	unsigned n = 0;

	for (uint32_t i = 0; i < d->facts->ndevices; i++)
		if (counts[i] && !longest.is[i]) {
			sum += (double)nsx_judged_work_ns(d, i);
			n++;
		}
	return n ? sum / n : INFINITY;
}

struct uneven { /* how GPUs work */
	struct longest longest;
	struct nsx_compared compared;
	double most_ns;
	bool talk;		/* they communicate                            */
	bool same;		/* they did as many operations                 */
	struct nsx_excess most; /* of the GPU that sets the pace              */
	uint32_t nslow;		/* of the longest: slow, do as much as others  */
	bool by_stretch; /* the remedy shares out what lies between collectives */
	struct nsx_plan remedy;
};

/* All of them at once: while one is left the others wait for it. */
static int find_remedy(struct nsx_detect *d, struct uneven *u, struct nsx_err *err)
{
	struct nsx_excess *v = nsx_arena_get(d->scratch,
					     u->longest.n * sizeof(*v));
	struct nsx_change *all;

	for (uint32_t i = 0; i < u->longest.n; i++) {
		uint32_t dev = u->longest.device[i];

		if (nsx_excess_of(d, &u->compared, dev, even_out(d, dev), &v[i],
				  err))
			return err->rc;
		if (dev == d->facts->limiting)
			u->most = v[i];
		u->nslow += v[i].times > 0;
		u->remedy.n += v[i].remedy.n;
	}
	u->remedy.v = all = nsx_arena_get(d->found->arena,
					  (u->remedy.n + 1) * sizeof(*all));
	for (uint32_t i = 0; i < u->longest.n; i++) {
		memcpy(all, v[i].remedy.v, v[i].remedy.n * sizeof(*all));
		all += v[i].remedy.n;
	}
	return 0;
}

/* What a GPU has to do more only now and then is shared out where it has it: between two
 * collectives. All that ranks differ by goes with it, which may win more than this finding's
 * GPUs have too much: then that is no price of theirs.
 */
static int prefer_shares(struct nsx_detect *d, struct uneven *u, struct nsx_err *err)
{
	struct nsx_change share = {.verb = NSX_SHARE_WORK};
	struct nsx_plan plans[] = {u->remedy, {&share, 1}};
	struct nsx_gain gains[ARRAY_LEN(plans)];

	if (nsx_replay_gains(d->facts->model, plans, NULL, ARRAY_LEN(plans), 0,
			     1, gains, err))
		return err->rc;
	u->by_stretch = gains[1].gain_ns > gains[0].gain_ns &&
			(double)gains[1].gain_ns <=
				ROUNDED * (u->most_ns - u->compared.mean_ns);
	if (u->by_stretch)
		u->remedy = nsx_plan_of(d, share);
	return 0;
}

/* Whether it is slow, what was priced, and what to do. */
static void tell_excess(struct nsx_detect *d, const struct uneven *u, uint32_t dev,
			struct nsx_finding *f)
{
	unsigned n = 0;

	if (u->most.times > 0)
		nsx_add_evidence(f, nsx_say_slow(d, &u->most, dev));
	if (u->nslow < u->longest.n) {
		f->recommendation[n++] = nsx_advice_on_work;
		nsx_add_evidence(f, u->by_stretch ? nsx_priced_by_stretch :
						    nsx_priced_by_mean);
	}
	if (u->nslow)
		f->recommendation[n++] = nsx_advice_on_slow;
}

static void propose_uneven(struct nsx_detect *d, const struct uneven *u)
{
	uint32_t dev = d->facts->limiting;
	long long id = (long long)d->trace->device[dev].device_id;
	const struct longest *x = &u->longest;
	struct nsx_findings *l = d->found;
	double mean_ns = u->compared.mean_ns;
	struct nsx_finding f = {
		.id = NSX_ID_uneven_gpus, .device = dev,
		.title = nsx_tell(l, "GPU%s %s work%s %s longer than the mean "
				  "of %u GPUs", x->n == 1 ? "" : "s",
				  nsx_say_gpus(d, x->device, x->n),
				  x->n == 1 ? "s" : " up to",
				  nsx_text_share(l->arena, u->most_ns - mean_ns,
						 mean_ns), u->compared.n),
		.confidence = u->talk && u->same ? NSX_CONF_MEDIUM :
						   NSX_CONF_LOW,
		.evidence = {
			nsx_tell(l, "%s of compute and copies, %s more than "
				 "the mean of %s%s",
				 nsx_text_ns(l->arena, u->most_ns),
				 nsx_text_ns(l->arena, u->most_ns - mean_ns),
				 nsx_text_ns(l->arena, mean_ns),
				 nsx_say_excess(d, &u->most))},
		.proof = {{.csv = "partition", .column = "total_ms",
			   .at = {{"device_id", nsx_int(id)},
				  {"class", nsx_string("compute_only")}}}},
		.alarm = u->talk || u->same ? NSX_ALARM_BY_PRICE : NSX_ALARM_SET,
		.remedy = u->remedy};

	tell_excess(d, u, dev, &f);
	nsx_add_evidence(&f, u->talk ?
		"the GPUs communicate, so the others wait for it" :
		nsx_set_is_tied(d->facts->model, nsx_main_set(d->facts->model)) ?
		"their iterations keep step, so the others seem to wait for it" :
		"not all of them communicate: they may do unrelated work");
	if (!u->same)
		nsx_add_evidence(&f, "they did not do as many operations: this is "
				     "how the work was shared, or other work, "
				     "rather than a slow GPU");
	nsx_found(l, &f);
}

/* Whether all ranks meet in collectives, which then tell who comes late. */
static bool do_all_meet(const struct nsx_measured *m)
{
	for (const struct nsx_arrivals *x = m->arrivals; x; x = x->next)
		if (x->njudged && !x->is_passed_on)
			return true;
	return false;
}

static void propose_slow(struct nsx_detect *d, const struct nsx_change *even)
{
	const struct nsx_trace *t = d->trace;
	long long id = (long long)t->device[even->device].device_id;
	const char *label = nsx_gpu_label(t, even->device);
	struct nsx_findings *l = d->found;
	struct nsx_finding f = {
		.id = NSX_ID_nccl_straggler, .device = even->device,
		.confidence = NSX_CONF_MEDIUM,
		.subject = nsx_tell(l, "gpu:%s", label),
		.remedy = nsx_plan_of(d, *even),
		.title = nsx_tell(l, "GPU %s holds up those it communicates with",
				  label),
		.evidence = {
			"priced as if its work, its calls and the time between "
			"them were like its peers': none of these would win half "
			"as much"},
		.recommendation = {nsx_tell(
			l, "compare process %lld with its peers: its host code, "
			   "its CPU and NUMA node, its share of the work",
			(long long)t->process[even->process].pid)},
		.proof = {{.csv = "partition", .column = "total_ms",
			   .at = {{"device_id", nsx_int(id)},
				  {"class", nsx_string("compute_only")}}}}};

	nsx_found(l, &f);
}

/* Transfers between two GPUs do not show who is late to them all: each GPU is made
 * like its peers, and the one that wins by itself is told.
 */
static int find_slow(struct nsx_detect *d, const bool *counts, struct nsx_err *err)
{
	struct nsx_change v[MAX_PLAYED];
	struct nsx_plan plans[MAX_PLAYED] = {0};
	struct nsx_gain gains[MAX_PLAYED];
	double least = SLOW * (double)(d->w.end_ns - d->w.start_ns);
	size_t n = 0, best = 0;

	for (uint32_t i = 0; i < d->facts->ndevices; i++) {
		if (!counts[i])
			continue;
		if (n == MAX_PLAYED)
			return 0;
		v[n] = even_out(d, i);
		plans[n] = (struct nsx_plan){&v[n], 1};
		n++;
	}
	if (nsx_replay_gains(d->facts->model, plans, NULL, n, 0, 1, gains, err))
		return err->rc;
	for (size_t i = 1; i < n; i++)
		if (gains[i].gain_ns > gains[best].gain_ns)
			best = i;
	for (size_t i = 0; i < n; i++)
		if (i != best && gains[i].gain_ns * 2 > gains[best].gain_ns)
			return 0;
	if ((double)gains[best].gain_ns >= least)
		propose_slow(d, &v[best]);
	return 0;
}

/* GPUs that do next to nothing take no part in the comparison. */
static int find_uneven(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_facts *f = d->facts;
	bool *counts = nsx_arena_get(d->scratch, f->ndevices);
	double least = COUNTS * (double)(d->w.end_ns - d->w.start_ns);
	double most = (double)nsx_judged_work_ns(d, f->limiting), sum = 0, mean;
	bool talk = true;
	unsigned n = 0;

	for (uint32_t i = 0; i < f->ndevices; i++) {
		double ns = (double)nsx_judged_work_ns(d, i);

		counts[i] = ns >= least;
		if (!counts[i])
			continue;
		sum += ns;
		n++;
		talk &= f->device[i].comm.n > 0;
	}
	if (n < 2 || n > MAX_COMPARED || !clocks_known(d->trace))
		return 0;
	mean = sum / n;
	if (most >= (1 + UNEVEN) * shortest_mean_ns(d, counts)) {
		struct uneven u = {
			.longest = find_longest(d, counts), .most_ns = most,
			.talk = talk, .same = did_same(d, counts)};

		if (nsx_main_set(d->facts->model) &&
		    !nsx_set_is_tied(d->facts->model, nsx_main_set(d->facts->model)))
			return 0; /* what shares nothing need not be even */
		u.compared = (struct nsx_compared){counts, u.longest.is, n, mean};
		if (find_remedy(d, &u, err) ||
		    (!u.nslow && prefer_shares(d, &u, err)))
			return err->rc;
		/* Of many GPUs that are slow the mean is hardly less. */
		if (most >= (1 + UNEVEN) * mean || u.nslow == u.longest.n) {
			propose_uneven(d, &u);
			return 0;
		}
	}
	if (most <= mean)
		nsx_fine(d->found, "Work is even over %u GPUs: each computes "
				   "and copies for %s", n,
			 nsx_text_ns(d->found->arena, mean));
	else
		nsx_fine(d->found,
			 "Work is even over %u GPUs: GPU %s computes and "
			 "copies %s longer than their mean of %s", n,
			 nsx_gpu_label(d->trace, f->limiting),
			 nsx_text_share(d->found->arena, most - mean, mean),
			 nsx_text_ns(d->found->arena, mean));
	return talk && !do_all_meet(d->measured) ? find_slow(d, counts, err) : 0;
}

const char *nsx_say_gpus(struct nsx_detect *d, const uint32_t *device, uint32_t n)
{
	const char *text = "";

	for (uint32_t i = 0; i < n && i < MOST_NAMED; i++)
		text = nsx_tell(d->found, "%s%s%s", text,
				!i ? "" : i + 1 == n ? " and " : ", ",
				nsx_gpu_label(d->trace, device[i]));
	return n <= MOST_NAMED ? text :
		       nsx_tell(d->found, "%s and %u more", text,
				n - MOST_NAMED);
}

const char *nsx_say_over_gpus(struct nsx_detect *d, const uint32_t *ops, size_t n)
{
	const struct nsx_trace *t = d->trace;
	bool *seen = nsx_arena_get(d->scratch, t->ndevices);
	unsigned ngpus = 0;

	for (size_t i = 0; i < n; i++) {
		bool *is = &seen[nsx_stream_of(t, ops[i])->device];

		ngpus += !*is;
		*is = true;
	}
	return ngpus > 1 ? nsx_tell(d->found, " on %u GPUs", ngpus) : "";
}

const char *nsx_say_own_gpu(struct nsx_detect *d, uint32_t process, const char *before,
			    const char *after)
{
	const struct nsx_trace *t = d->trace;
	uint32_t own = NSX_NONE, other = NSX_NONE;

	for (uint32_t i = 0; d->measured->comm && process < t->nprocesses &&
			     i < t->nstreams; i++) {
		const struct nsx_stream *s = &t->stream[i];

		if (!d->measured->comm[s->device].comm_ns)
			continue;
		if (s->process != process)
			other = s->device;
		else if (own != NSX_NONE && own != s->device)
			return "";
		else
			own = s->device;
	}
	return own == NSX_NONE || other == NSX_NONE || own == other ?
		       "" : nsx_tell(d->found, "%s%s%s", before,
				     nsx_gpu_label(t, own), after);
}

/* Idle time -----------------------------------------------------------------------*/

/* Pages that the host touches are fetched one by one: such gaps end with a migration,
 * which no call launches.
 */
static int64_t fetching_ns(const struct nsx_detect *d, size_t *ret_pages)
{
	const struct nsx_idle *idle = &d->facts->idle[d->facts->limiting];
	const struct nsx_trace *t = d->trace;
	int64_t sum_ns = 0;

	*ret_pages = 0;
	for (size_t i = 0; i < idle->n; i++) {
		struct nsx_idle_piece x;
		const struct nsx_copy *c;
		int64_t ns;

		if (idle->tag[i].cause != NSX_CAUSE_MIGRATION)
			continue;
		x = nsx_idle_at(idle, i);
		ns = NSX_MIN(x.end_ns, d->w.end_ns) -
		     NSX_MAX(x.start_ns, d->w.start_ns);
		if (ns <= 0 || x.op == NSX_NONE)
			continue;
		c = nsx_op_copy(t, x.op);
		if (nsx_copy_is_fetched(c->copy_kind, c->cause)) {
			sum_ns += ns;
			++*ret_pages;
		}
	}
	return sum_ns;
}

/* What to do about pauses between operations that were queued: those that were queued too
 * late to start at once are the launch's, not the GPU's own.
 */
static const char *advise_on_pauses(const struct nsx_detect *d)
{
	const struct nsx_idle *idle = &d->facts->idle[d->facts->limiting];
	int64_t launch_ns = nsx_model_launch_ns(d->facts->model);
	const struct nsx_trace *t = d->trace;
	int64_t all_ns = 0, late_ns = 0;

	for (size_t i = 0; i < idle->n; i++) {
		struct nsx_idle_piece x;
		uint32_t call;

		if (idle->tag[i].cause != NSX_CAUSE_DISPATCH)
			continue;
		x = nsx_idle_at(idle, i);
		if (!nsx_is_judged(d, x.start_ns))
			continue;
		call = x.op == NSX_NONE ? NSX_NONE : nsx_op_call(&t->ops, x.op);
		nsx_add_to(&all_ns, x.end_ns - x.start_ns);
		if (call != NSX_NONE &&
		    nsx_call_end(&t->calls, call) + launch_ns > x.start_ns)
			nsx_add_to(&late_ns, x.end_ns - x.start_ns);
	}
	return late_ns > all_ns / 2 ?
		nsx_tell(d->found, "launch sooner, in a CUDA graph: work reaches the GPU "
			 "%s after its call returns, and for most of it the GPU has "
			 "nothing left to do by then",
			 nsx_text_ns(d->found->arena, (double)launch_ns)) :
		"fuse small kernels, or give each more work: between two of them "
		"the GPU pauses for about a microsecond, however early they are "
		"queued";
}

/* What to do first about idle time of which `top` is the greatest cause. */
static const char *advise_on_idle(const struct nsx_detect *d, enum nsx_cause top)
{
	const struct nsx_ledger *l = &d->measured->ledger;

	if ((top == NSX_CAUSE_DISPATCH || top == NSX_CAUSE_DEPENDENCY) &&
	    l->between_nodes_ns > (l->idle_ns[NSX_CAUSE_DISPATCH] +
				   l->idle_ns[NSX_CAUSE_DEPENDENCY]) / 2)
		return "capture again with --cuda-graph-trace=graph and compare how long "
		       "replays take: between nodes of graphs tracing by node adds time of its "
		       "own, which cannot be told apart here";
	return top == NSX_CAUSE_DISPATCH ? advise_on_pauses(d) :
	       "look at the longest gaps, under Idle by cause";
}

/* "mostly host code (12 ms), the host waits (3 ms)" in the judged window, and what to
 * do about the first of them.
 */
static void tell_causes(struct nsx_detect *d, struct nsx_finding *f)
{
	int64_t ns[NSX_NCAUSES + 1];
	enum { FETCHING = NSX_NCAUSES };
	size_t pages;
	int64_t fetched_ns = fetching_ns(d, &pages);
	const char *text = "mostly";
	bool fetches = false;

	memcpy(ns, d->idle_ns, sizeof(d->idle_ns));
	ns[FETCHING] = fetched_ns;
	ns[NSX_CAUSE_MIGRATION] -= fetched_ns;
	for (unsigned i = 0; i < MOST_CAUSES; i++) {
		unsigned top = 0;

		for (unsigned c = 1; c < ARRAY_LEN(ns); c++)
			if (ns[c] > ns[top])
				top = c;
		if (!ns[top])
			break;
		fetches |= !i && top == FETCHING;
		if (!i)
			f->recommendation[0] = fetches ?
				"prefetch to the host what it reads next "
				"(cudaMemPrefetchAsync), or copy it in one "
				"piece" : advise_on_idle(d, top);
		text = nsx_tell(d->found, "%s%s %s (%s)", text, i ? "," : "",
				top == FETCHING ?
					"the host fetches pages one by one" :
					nsx_cause_words[top],
				nsx_tell_ns(d->found, ns[top]));
		ns[top] = 0;
	}
	f->evidence[0] = nsx_tell(d->found, "%s in %s, %s",
				  nsx_text_ns(d->found->arena, f->guess_ns),
				  nsx_text_n(d->found->arena, f->spans.n, "gap",
					     NULL), text);
	if (!fetches || pages < MANY_PAGES)
		return;
	f->title = nsx_tell(d->found, "the host fetches pages of unified memory one by "
			    "one, while GPU %s idles",
			    nsx_gpu_label(d->trace, f->device));
	f->id = NSX_ID_page_fetches;
	f->guess_ns = (double)fetched_ns;
	f->is_bound = true;
	f->evidence[1] = "an upper bound: the host's own work on each page is "
			 "in it";
}

static int find_idle(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_facts *facts = d->facts;
	long long id = (long long)d->trace->device[facts->limiting].device_id;
	const char *label = nsx_gpu_label(d->trace, facts->limiting);
	struct nsx_findings *l = d->found;
	struct nsx_finding f = {
		.id = NSX_ID_gpu_idle, .device = facts->limiting,
		.confidence = NSX_CONF_MEDIUM,
		.proof = {{.csv = "partition", .column = "total_ms",
			   .at = {{"device_id", nsx_int(id)},
				  {"class", nsx_string("idle")}}}}};
	double share;

	if (nsx_idle_spans(&facts->idle[facts->limiting], &d->w, l->arena,
			   &f.spans, err))
		return err->rc;
	f.guess_ns = (double)nsx_spans_total(&f.spans);
	share = f.guess_ns / (double)(d->w.end_ns - d->w.start_ns);
	if (share < IDLE_SHARE) {
		nsx_fine(l, "GPU %s is idle for %s of the judged window", label,
			 nsx_text_share(l->arena, share, 1));
		return 0;
	}
	f.title = nsx_tell(l, "GPU %s is idle for %s of the judged window", label,
			   nsx_text_share(l->arena, share, 1));
	tell_causes(d, &f);
	nsx_found(l, &f);
	return 0;
}

int nsx_detect_balance(struct nsx_detect *d, struct nsx_err *err)
{
	if (d->facts->limiting == NSX_NONE)
		return 0;
	return find_uneven(d, err) ?: find_idle(d, err);
}
