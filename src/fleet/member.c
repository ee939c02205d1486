/* member.c - the collectives of a communicator as its members recorded them; medians and warnings.
 */
#include <math.h>
#include <stdarg.h>
#include "base/stat.h"
#include "fleet/fleet.h"

#define CLOCK_NOISE_NS 50000 /* clocks that were compared agree better than this */

size_t nsx_member_at(const struct nsx_fmember *m, const struct nsx_dchannel *c, size_t k)
{
	unsigned p = m->npieces;
	int64_t i;

	while (p && m->piece[p - 1].from > k)
		p--;
	if (!p)
		return SIZE_MAX;
	i = (int64_t)k - m->piece[p - 1].shift;
	return i >= 0 && i < (int64_t)c->n ? (size_t)i : SIZE_MAX;
}

const struct nsx_dop *nsx_op_at(const struct nsx_fleet *f, const struct nsx_fcomm *c, size_t k)
{
	for (uint32_t m = 0; m < c->n; m++) {
		const struct nsx_dchannel *ch = nsx_channel_of(f, &c->m[m]);
		size_t i = nsx_member_at(&c->m[m], ch, k);

		if (i != SIZE_MAX)
			return &ch->ops[ch->code[i]];
	}
	return NULL;
}

static int64_t start_of(const struct nsx_fleet *f, const struct nsx_fmember *m, size_t k)
{
	const struct nsx_dchannel *c = nsx_channel_of(f, m);

	return nsx_coll_start(c, nsx_member_at(m, c, k));
}

static void by_starts(const struct nsx_fleet *f, const struct nsx_fcomm *c, size_t k, int64_t *ns)
{
	int64_t least = INT64_MAX, last = INT64_MIN;

	for (uint32_t m = 0; m < c->n; m++)
		if (ns[m] >= 0) {
			least = NSX_MIN(least, ns[m]);
			last = NSX_MAX(last, start_of(f, &c->m[m], k));
		}
	for (uint32_t m = 0; m < c->n; m++)
		if (ns[m] >= 0)
			ns[m] = least + last - start_of(f, &c->m[m], k);
}

/* Shortens the length of a member that waited longer than for the other side of a message: its call
 * also waited for another rank.
 */
static void trim_message(const struct nsx_fleet *f, const struct nsx_fcomm *c, size_t k, int64_t *ns)
{
	double start[2];
	int64_t least = NSX_MIN(ns[0], ns[1]);

	if (least < 0)
		return;
	for (uint32_t m = 0; m < 2; m++)
		start[m] = nsx_common_ns(f, c->m[m].rank, start_of(f, &c->m[m], k));
	for (uint32_t m = 0; m < 2; m++) {
		int64_t most = (int64_t)NSX_MAX(0, start[!m] - start[m]) + least;

		if (ns[m] > most + CLOCK_NOISE_NS)
			ns[m] = most;
	}
}

void nsx_lengths_of(const struct nsx_fleet *f, const struct nsx_fcomm *c,
		    size_t k, size_t n, int64_t *ret)
{
	for (uint32_t m = 0; m < c->n; m++) {
		const struct nsx_dchannel *ch = nsx_channel_of(f, &c->m[m]);

		for (size_t j = 0; j < n; j++) {
			size_t i = nsx_timed_at(&c->m[m], ch, k + j);

			ret[j * c->n + m] = i == SIZE_MAX ? -1 : nsx_coll_ns(ch, i);
		}
	}

	for (size_t j = 0; j < n && c->is_of_one; j++)
		by_starts(f, c, k + j, ret + j * c->n);
	for (size_t j = 0; j < n && nsx_is_of_mpi_pairs(f, c); j++)
		trim_message(f, c, k + j, ret + j * c->n);
}

void nsx_fleet_warn(struct nsx_fleet *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	nsx_push_or_die(f->warnings, f->nwarnings, f->cap_warnings,
			nsx_arena_vprintf(f->arena, fmt, ap));
	va_end(ap);
}

size_t nsx_own_of(const struct nsx_fleet *f, size_t step, const bool *without, double *ret)
{
	const double *own = &f->own_ns[step * f->nranks];
	size_t n = 0;

	for (uint32_t r = 0; r < f->nranks; r++)
		if (!isnan(own[r]) && !(without && without[r]))
			ret[n++] = own[r];
	return n;
}

double nsx_median_of(double *v, size_t n)
{
	if (!n)
		return 0;
	nsx_sort(v, n, sizeof(*v), nsx_cmp_double);
	return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

double nsx_spread_of(double *v, size_t n, double *ret_median)
{
	*ret_median = nsx_median_of(v, n);
	for (size_t i = 0; i < n; i++)
		v[i] = fabs(v[i] - *ret_median);
	return nsx_median_of(v, n);
}
