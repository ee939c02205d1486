/* across.c - GPUs that share a task unevenly: one works longer because it is slow or has more to
 * do.
 *
 * A slow GPU takes longer for the same launches. Its remedy is a replay at the speed of the others.
 * The work of a GPU that has more to do must still be done: its remedy spreads that work over all
 * GPUs.
 */
#include <math.h>
#include "detect/verdict.h"
#include "detect/detect.h"
#include "facts/replay/replay.h"

#define UNEVEN 0.1  /* a GPU's excess over the mean of the others that makes work uneven */
#define COUNTS 0.05 /* a GPU is compared if it works for this share of the window */
#define ROUNDED 1.001 /* tolerance, because a replay rounds each kernel's length */
#define MOST_TIME 0.8 /* share of a slow GPU's time in kernels that are slower there */
enum {
	MAX_COMPARED = 64,
	LEAST_KERNELS = 3, /* different kernels that are slower on a slow GPU */
	ALIKE = 50,	   /* numbers of launches may differ by 1/50 */
};

const char nsx_priced_by_stretch[] =
	"priced as if the kernels between two collectives took each GPU as long as the mean of all";
const char nsx_advice_on_work[] =
	"spread the work evenly: parts of equal cost for each GPU; in a network stages of "
	"equal cost, batches of equal token count, experts of equal load";
const char nsx_advice_on_slow[] =
	"compare the clocks, the power and the temperature of the GPUs: nvidia-smi -q -d "
	"CLOCK,POWER,TEMPERATURE,PERFORMANCE";

struct across {
	struct nsx_detect *d;
	bool *counts, *is_long; /* by device: counted in the comparison; works longest */
	uint32_t n, nlong, longest[MAX_COMPARED];
	double most_ns, mean_ns; /* work time in the judged window           */
	bool talk; /* all compared GPUs communicate                          */
	size_t least_ops, most_ops;
};

/* Time that a GPU computes or copies in the judged window. */
static double work_ns(const struct nsx_detect *d, uint32_t device)
{
	struct nsx_partition p;

	nsx_partition(&d->facts->device[device], d->w.start_ns, d->w.end_ns, &p);
	return (double)(d->w.end_ns - d->w.start_ns - p.ns[NSX_P_IDLE] - p.ns[NSX_P_COMM_EXPOSED]);
}

static bool is_work(const struct nsx_detect *d, size_t op)
{
	return d->trace->ops.cls[op] != NSX_C_COMM &&
	       nsx_is_judged(d, nsx_op_start(&d->trace->ops, op));
}

/* Counts operations without communication: the first and the last stage of a pipeline have one
 * neighbour and the others two, so communication does not tell whether GPUs do the same.
 */
static size_t count_work(const struct nsx_detect *d, uint32_t device)
{
	const struct nsx_device *dev = &d->trace->device[device];
	size_t n = 0;

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++)
		n += is_work(d, i);
	return n;
}

/* Slow ----------------------------------------------------------------------------*/

struct sums { /* times of one launch shape, on the GPU and on the others     */
	double own_ns, their_ns;
	size_t nown, ntheirs;
};

static void across_add_shapes(const struct nsx_detect *d, uint32_t device, bool is_own,
			      struct sums *v)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_device *dev = &t->device[device];

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		struct sums *x;

		if (t->ops.kind[i] != NSX_OP_KERNEL || !is_work(d, i))
			continue;
		x = &v[nsx_op_detail(&t->ops, i)];
		*(is_own ? &x->own_ns : &x->their_ns) += (double)nsx_op_ns(&t->ops, i);
		*(is_own ? &x->nown : &x->ntheirs) += 1;
	}
}

/* The others' mean time for as many launches; 0 if their numbers of launches differ. */
static double theirs_ns(const struct sums *x, uint32_t nothers)
{
	size_t own = x->nown * nothers, most = NSX_MAX(own, x->ntheirs);

	if (!own || !x->ntheirs || (most - NSX_MIN(own, x->ntheirs)) * ALIKE > most)
		return 0;
	return x->their_ns / (double)x->ntheirs * (double)x->nown;
}

int nsx_compare_gpu(struct nsx_detect *d, uint32_t device, const bool *others,
		    struct nsx_slow_gpu *ret, struct nsx_err *err)
{
	uint32_t nshapes = d->trace->nshapes, nothers = 0;
	double all_ns = 0, own_ns = 0, their_ns = 0, slow_ns = 0, times;
	struct sums *v;

	*ret = (struct nsx_slow_gpu){0};
	/* On a shared GPU another process's turns slow all kernels as well. */
	if (nsx_is_shared(d->trace, device))
		return 0;
	if (!nsx_new_array(v, d->scratch, nshapes, "kernels", err))
		return err->rc;
	across_add_shapes(d, device, true, v);
	for (uint32_t i = 0; i < d->facts->ndevices; i++)
		if (others[i] && i != device) {
			across_add_shapes(d, i, false, v);
			nothers++;
		}
	for (uint32_t s = 0; s < nshapes; s++) {
		double ns = theirs_ns(&v[s], nothers);

		all_ns += v[s].own_ns;
		own_ns += ns > 0 ? v[s].own_ns : 0;
		their_ns += ns;
	}
	times = their_ns > 0 ? own_ns / their_ns : 0;
	for (uint32_t s = 0; times > 1 && s < nshapes; s++) {
		double ns = theirs_ns(&v[s], nothers);

		if (ns > 0 && v[s].own_ns >= (1 + (times - 1) / 2) * ns) {
			slow_ns += v[s].own_ns;
			ret->nkernels++;
		}
	}
	if (ret->nkernels >= LEAST_KERNELS && slow_ns >= MOST_TIME * all_ns)
		ret->times = times;
	return 0;
}

const char *nsx_say_slow(struct nsx_detect *d, const struct nsx_slow_gpu *x, uint32_t device)
{
	return nsx_tell(d->found, "%zu kernels take %.2f times as long on GPU %s as "
			"the same launches on others: it is slow", x->nkernels, x->times,
			nsx_gpu_label(d->trace, device));
}

/* Longer --------------------------------------------------------------------------*/

/* Finds the GPUs whose work is nearer to the greatest than to the least. Returns the mean of the
 * others.
 */
static double find_longest(struct across *x)
{
	double least = x->most_ns, sum = 0;

	for (uint32_t i = 0; i < x->d->facts->ndevices; i++)
		if (x->counts[i])
			least = NSX_MIN(least, work_ns(x->d, i));
	for (uint32_t i = 0; i < x->d->facts->ndevices; i++) {
		double ns = work_ns(x->d, i);

		if (!x->counts[i])
			continue;
		x->is_long[i] = ns > (least + x->most_ns) / 2;
		if (x->is_long[i])
			x->longest[x->nlong++] = i;
		else
			sum += ns;
	}
	return x->nlong < x->n ? sum / (x->n - x->nlong) : INFINITY;
}

static uint32_t across_process_of(const struct nsx_detect *d, uint32_t device)
{
	const struct nsx_trace *t = d->trace;

	for (uint32_t i = 0; i < t->nstreams; i++)
		if (t->stream[i].device == device && t->stream[i].process != NSX_NONE)
			return t->stream[i].process;
	return NSX_NONE;
}

static struct nsx_change even_out(const struct nsx_detect *d, uint32_t device)
{
	return (struct nsx_change){
		.verb = NSX_EVEN_RANK, .by = NSX_BY_PROCESS | NSX_BY_DEVICE,
		.device = device, .process = across_process_of(d, device)};
}

/* Changes all of the longest GPUs at once, because the others wait as long as one of them is late.
 * A GPU that has more work only at times shares it out between two collectives. That replay is not
 * used if it wins more than the excess of these GPUs, because then it evens out other differences
 * too.
 */
static int find_remedy(struct across *x, bool slow, struct nsx_finding *f, struct nsx_err *err)
{
	struct nsx_change *v = nsx_arena_get(x->d->found->arena, x->nlong * sizeof(*v));
	struct nsx_change share = {.verb = NSX_SHARE_WORK};
	struct nsx_plan plans[] = {{v, x->nlong}, {&share, 1}};
	struct nsx_gain gains[ARRAY_LEN(plans)];

	f->remedy = plans[0];
	for (uint32_t i = 0; i < x->nlong; i++)
		v[i] = slow ? even_out(x->d, x->longest[i]) : (struct nsx_change){
			.verb = NSX_FASTER, .op = NSX_ON_KERNELS | NSX_ON_COPIES, .by = NSX_BY_DEVICE,
			.device = x->longest[i],
			.amount = NSX_MAX(1.0, work_ns(x->d, x->longest[i]) / x->mean_ns)};
	if (slow)
		return 0;
	f->most_ns = x->most_ns - x->mean_ns;
	if (nsx_replay_gains(x->d->facts->model, plans, NULL, ARRAY_LEN(plans), 0, 1, gains, err))
		return err->rc;
	if (gains[1].gain_ns > gains[0].gain_ns &&
	    (double)gains[1].gain_ns <= ROUNDED * (x->most_ns - x->mean_ns)) {
		f->remedy = nsx_plan_of(x->d, share);
		nsx_add_evidence(f, nsx_priced_by_stretch);
	} else {
		nsx_add_evidence(f, "priced as if the work that takes longer took as long as the mean of all GPUs");
	}
	return 0;
}

int nsx_say_more(struct nsx_detect *d, uint32_t device, const char **ret, struct nsx_err *err)
{
	const struct nsx_ledger *all = &d->measured->ledger;
	struct nsx_account row;
	struct nsx_ledger own;

	*ret = NULL;
	if (nsx_ledger_build(d->facts, d->trace, &(struct nsx_booked){&d->w, 1, device},
			     d->scratch, &own, err))
		return err->rc;
	if (!all->ngpus || !own.n)
		return 0;
	row = nsx_ledger_beyond(&own, all, 1.0 / all->ngpus, NULL);
	if (row.ns > 0)
		*ret = nsx_tell(d->found, "most of the extra time of GPU %s is %s: %s more than "
				"the mean of all", nsx_gpu_label(d->trace, device),
				nsx_account_words(d->facts, &row, d->found->arena),
				nsx_tell_ns(d->found, row.ns));
	return 0;
}

static int propose_uneven(struct across *x, struct nsx_err *err)
{
	struct nsx_detect *d = x->d;
	uint32_t dev = d->facts->limiting;
	struct nsx_findings *l = d->found;
	const struct nsx_model *m = d->facts->model;
	bool same = (x->most_ops - x->least_ops) * ALIKE <= x->most_ops;
	const char *share = nsx_text_share(l->arena, x->most_ns - x->mean_ns, x->mean_ns);
	struct nsx_slow_gpu slow;
	const char *more;
	struct nsx_finding f = {
		.id = NSX_ID_uneven_gpus, .device = dev,
		.title = nsx_tell(l, "GPU%s %s work%s %s longer than the mean of %u GPUs",
				  x->nlong == 1 ? "" : "s", nsx_say_gpus(d, x->longest, x->nlong),
				  x->nlong == 1 ? "s" : " up to", share, x->n),
		.confidence = x->talk && same ? NSX_CONF_MEDIUM : NSX_CONF_LOW,
		.evidence = {nsx_tell(
			l, "%s of compute and copies, %s more than the mean of %s",
			nsx_text_ns(l->arena, x->most_ns),
			nsx_text_ns(l->arena, x->most_ns - x->mean_ns),
			nsx_text_ns(l->arena, x->mean_ns))},
		.proof = {{.csv = "partition", .column = "total_ms",
			   .at = {{"device_id",
				   nsx_int((long long)d->trace->device[dev].device_id)},
				  {"class", nsx_string("compute_only")}}}},
		.alarm = x->talk || same ? NSX_ALARM_BY_PRICE : NSX_ALARM_SET};
	bool *others = nsx_arena_get(d->scratch, d->facts->ndevices);

	for (uint32_t i = 0; i < d->facts->ndevices; i++)
		others[i] = x->counts[i] && !x->is_long[i];
	if (nsx_compare_gpu(d, dev, others, &slow, err) || nsx_say_more(d, dev, &more, err))
		return err->rc;
	/* If many GPUs are slow, they raise the mean themselves. */
	if (x->most_ns < (1 + UNEVEN) * x->mean_ns && !(slow.times > 0))
		return 0;
	nsx_add_evidence(&f, slow.times > 0 ? nsx_say_slow(d, &slow, dev) : more);
	f.recommendation[0] = slow.times > 0 ? nsx_advice_on_slow : nsx_advice_on_work;
	if (find_remedy(x, slow.times > 0, &f, err))
		return err->rc;
	nsx_add_evidence(&f, x->talk ?
		"the GPUs communicate, so the others wait for it" :
		nsx_set_is_tied(m, nsx_main_set(m)) ?
		"their iterations keep step, so the others seem to wait for it" :
		"not all of them communicate: they may do unrelated work");
	if (!same)
		nsx_add_evidence(&f, "their numbers of operations differ: the work was divided "
				     "unevenly, or is different work, rather than one GPU being "
				     "slow");
	nsx_found(l, &f);
	return 0;
}

/* Whether times of different GPUs can be compared. */
static bool clocks_known(const struct nsx_trace *t)
{
	for (uint32_t i = 0; i < t->nclocks; i++)
		if (nsx_clock_doubt_ns(t, t->clock[i].process, t->clock[i].device) == INT64_MAX)
			return false;
	return true;
}

/* Chooses the GPUs to compare, without those that do next to nothing, and sums their work. */
static void across_count(struct across *x)
{
	const struct nsx_facts *f = x->d->facts;
	double least = COUNTS * (double)(x->d->w.end_ns - x->d->w.start_ns), sum = 0;

	for (uint32_t i = 0; i < f->ndevices; i++) {
		double ns = work_ns(x->d, i);
		size_t nops;

		x->counts[i] = ns >= least;
		if (!x->counts[i])
			continue;
		nops = count_work(x->d, i);
		x->least_ops = NSX_MIN(x->least_ops, nops);
		x->most_ops = NSX_MAX(x->most_ops, nops);
		sum += ns;
		x->n++;
		x->talk &= f->device[i].comm.n > 0;
	}
	x->mean_ns = sum / x->n;
}

static void say_even(const struct across *x)
{
	struct nsx_findings *l = x->d->found;
	double more_ns = x->most_ns - x->mean_ns;

	if (more_ns <= 0)
		nsx_fine(l, "Work is even over %u GPUs: each computes and copies for %s", x->n,
			 nsx_text_ns(l->arena, x->mean_ns));
	else
		nsx_fine(l, "Work is even over %u GPUs: GPU %s computes and copies %s longer "
			 "than their mean of %s", x->n,
			 nsx_gpu_label(x->d->trace, x->d->facts->limiting),
			 nsx_text_share(l->arena, more_ns, x->mean_ns),
			 nsx_text_ns(l->arena, x->mean_ns));
}

int nsx_detect_across(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_facts *f = d->facts;
	uint32_t main = nsx_main_set(f->model);
	size_t nbefore = d->found->n;
	struct across x = {.d = d, .talk = true, .least_ops = SIZE_MAX,
			   .counts = nsx_arena_get(d->scratch, f->ndevices),
			   .is_long = nsx_arena_get(d->scratch, f->ndevices)};

	if (f->limiting == NSX_NONE)
		return 0;
	across_count(&x);
	if (x.n < 2 || x.n > MAX_COMPARED || !clocks_known(d->trace))
		return 0;
	x.most_ns = work_ns(d, f->limiting);
	if (x.most_ns >= (1 + UNEVEN) * find_longest(&x)) {
		if (main && !nsx_set_is_tied(f->model, main))
			return 0; /* groups that exchange nothing need not be even */
		if (propose_uneven(&x, err))
			return err->rc;
		if (d->found->n > nbefore)
			return 0;
	}
	say_even(&x);
	return 0;
}
