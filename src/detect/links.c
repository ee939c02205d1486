/* links.c - GPUs that take longer to exchange what others exchange as often. */
#include <math.h>
#include "detect/detect.h"
#include "facts/replay/replay.h"

#define TIMES 1.5 /* as long as the slowest of the others ...                  */
#define ALIKE 1.25 /* ... which differ by no more                              */
#define LEAST_NS 10000 /* and so much longer: more than how collectives start  */
enum {
	MOST = 256, /* each is compared with all others                       */
	LEAST_TIMES = 10,
	AS_OFTEN = 20, /* but for one of so many                              */
};

/* What as many GPUs do as often under the same name may move as much. */
static bool do_the_same(const struct nsx_circle *x, const struct nsx_circle *y)
{
	size_t least = NSX_MIN(x->count, y->count);

	return x->name == y->name && x->ndevices == y->ndevices &&
	       (NSX_MAX(x->count, y->count) - least) * AS_OFTEN <= least;
}

/* What the slowest of the others takes that are like each other; 0: there is none, or
 * they are not.
 */
static double usual_ns(const struct nsx_circle *v, size_t n, size_t own)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < n; i++)
		if (i != own && do_the_same(&v[i], &v[own])) {
			least = NSX_MIN(least, v[i].transfer_ns);
			most = NSX_MAX(most, v[i].transfer_ns);
		}
	return most <= ALIKE * least ? most : 0;
}

static void propose(struct nsx_detect *d, const struct nsx_circle *x, double usual)
{
	struct nsx_findings *l = d->found;
	const char *gpus = nsx_say_gpus(d, x->device, x->ndevices);
	struct nsx_finding f = {
		.id = NSX_ID_slow_link, .device = x->device[0],
		.confidence = NSX_CONF_MEDIUM,
		.subject = nsx_tell(l, "link:%s", gpus),
		.title = nsx_tell(l, "GPUs %s take %.1f times as long to exchange data "
				  "as others do", gpus, x->transfer_ns / usual),
		.evidence = {
			nsx_tell(l, "once all are there the median of %zu takes %s, "
				 "among other GPUs that do as many %s",
				 x->count, nsx_text_ns(l->arena, x->transfer_ns),
				 nsx_text_ns(l->arena, usual)),
			"priced as if as many bytes took as long there"},
		.recommendation = {
			"see what connects them (nvidia-smi topo -m, nvidia-smi "
			"nvlink -s, NCCL_DEBUG=INFO): a link that is down or slow, "
			"a way through the host or another socket"},
		.proof = {{.csv = "nccl_ops", .column = "exposed_ms"}},
		.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_FASTER_COMM, .amount = x->transfer_ns / usual,
			.rows = nsx_keep_rows(d, x->row, x->nrows)})};

	nsx_found(l, &f);
}

int nsx_detect_links(struct nsx_detect *d, struct nsx_err *err)
{
	struct nsx_circle *v;
	size_t n;

	if (nsx_model_circles(d->facts->model, d->scratch, &v, &n, err))
		return err->rc;
	if (n > MOST)
		return 0;
	for (size_t i = 0; i < n; i++) {
		double usual = usual_ns(v, n, i);

		if (v[i].count >= LEAST_TIMES && usual > 0 &&
		    v[i].transfer_ns >= TIMES * usual &&
		    v[i].transfer_ns >= usual + LEAST_NS)
			propose(d, &v[i], usual);
	}
	return 0;
}
