/* across.c - a GPU compared with others that do the same: slow, if it takes longer for the same
 * launches, or with more to do, and then of what.
 */
#include "detect/detect.h"
#include "detect/verdict.h"
#include "detect/words.h"

#define MOST_TIME 0.8 /* share of a slow GPU's time in kernels that are slower there */
enum {
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

static bool is_work(const struct nsx_detect *d, size_t op)
{
	return d->trace->ops.cls[op] != NSX_C_COMM &&
	       nsx_is_judged(d, nsx_op_start(&d->trace->ops, op));
}

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
	return nsx_tell(d->found, say_kernels_take_times_as_long, x->nkernels, x->times,
		nsx_gpu_label(d->trace, device));
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
		*ret = nsx_tell(d->found, say_most_extra_time_gpu_more,
			nsx_gpu_label(d->trace, device),
			nsx_account_words(d->facts, &row, d->found->arena),
			nsx_tell_ns(d->found, row.ns));
	return 0;
}
