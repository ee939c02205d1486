/* same.c - checks that two digests of a rank agree: the one made from its trace, and the one that
 * gen.c wrote for the same job.
 *
 * The identity of the rank, its steps and every collective must agree to the nanosecond. The
 * exposed part of a collective is stored in 255ths of its length, and may differ by one of these.
 * gen.c sums true times over a step, so sums may differ by the drift of clocks (20 ppm) and the
 * rounding of each event. The last step is left out, because no next step ends it.
 *
 * usage: same CUT.nsxd DIRECT.nsxd    prints differences; exit code 1 if there are any
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fleet/digest.h"

static const char *path;
static int wrong;

static void expect(const char *what, size_t i, int64_t cut, int64_t direct, int64_t within)
{
	enum { MOST_SHOWN = 10 };

	if (llabs(cut - direct) <= within || wrong++ > MOST_SHOWN)
		return;
	printf("%s: %s %zu: %" PRId64 ", not %" PRId64 "\n", path, what, i, cut, direct);
}

static void compare_steps(const struct nsx_digest *a, const struct nsx_digest *b)
{
	expect("number of steps", 0, (int64_t)a->nsteps, (int64_t)b->nsteps, 0);
	for (size_t i = 0; i + 1 < a->nsteps && i + 1 < b->nsteps; i++) {
		const struct nsx_dstep *x = &a->steps[i], *y = &b->steps[i];
		int64_t within_ns = y->wall_ns / 50000 + 2 * y->kernels;

		expect("start of step", i, x->start_ns, y->start_ns, 0);
		expect("length of step", i, x->wall_ns, y->wall_ns, 0);
		expect("kernels of step", i, x->kernels, y->kernels, 0);
		expect("kernel time of step", i, x->kernel_ns, y->kernel_ns, within_ns);
		expect("exposed communication of step", i, x->part_ns[NSX_P_COMM_EXPOSED],
		       y->part_ns[NSX_P_COMM_EXPOSED], within_ns);
	}
}

static void compare_channels(const struct nsx_dchannel *a, const struct nsx_dchannel *b)
{
	expect("stream", 0, a->stream, b->stream, 0);
	expect("number of collectives", 0, (int64_t)a->n, (int64_t)b->n, 0);
	for (size_t i = 0; i < a->n && i < b->n; i++) {
		expect("kind of collective", i,
		       strcmp(nsx_coll_op(a, i)->name, nsx_coll_op(b, i)->name), 0, 0);
		expect("start of collective", i, nsx_coll_start(a, i), nsx_coll_start(b, i), 0);
		expect("length of collective", i, nsx_coll_ns(a, i), nsx_coll_ns(b, i), 0);
		expect("exposed part of collective", i, nsx_unpack(&a->column[NSX_EXPOSED], i),
		       nsx_unpack(&b->column[NSX_EXPOSED], i), 1);
	}
}

static struct nsx_digest *read_one(const char *name)
{
	struct nsx_digest **v, *ret;
	struct nsx_err err;
	size_t n;

	if (nsx_digest_load(name, NSX_KEEP_COLUMNS, &v, &n, &err)) {
		fprintf(stderr, "same: %s\n", err.msg);
		exit(1);
	}
	ret = v[0];
	while (n > 1)
		nsx_digest_free(v[--n]);
	free(v);
	return ret;
}

int main(int argc, char **argv)
{
	struct nsx_digest *a, *b;

	if (argc != 3) {
		fprintf(stderr, "usage: same CUT.nsxd DIRECT.nsxd\n");
		return 2;
	}
	path = argv[1];
	a = read_one(argv[1]);
	b = read_one(argv[2]);
	expect("rank", 0, a->rank, b->rank, 0);
	expect("ranks of the job", 0, a->world, b->world, 0);
	expect("host", 0, a->host != b->host, 0, 0);
	expect("zero of the clock", 0, a->utc_ns, b->utc_ns, 0);
	expect("zero of the steady clock", 0, a->system_ns, b->system_ns, 0);
	compare_steps(a, b);
	expect("number of channels", 0, (int64_t)a->nchannels, (int64_t)b->nchannels, 0);
	for (size_t i = 0; i < a->nchannels && i < b->nchannels; i++)
		compare_channels(&a->channels[i], &b->channels[i]);
	nsx_digest_free(a);
	nsx_digest_free(b);
	return wrong > 0;
}
