/* member.c - the collectives of a communicator as its members recorded them; medians and warnings.
 */
#include <math.h>
#include <stdarg.h>
#include "base/stat.h"
#include "fleet/fleet.h"

#define CLOCK_NOISE_NS 50000 /* clocks that were compared agree better than this */

size_t nsx_member_at(const struct nsx_fmember *m, size_t k)
{
	unsigned p = m->npieces;
	int64_t i;

	while (p && m->piece[p - 1].from > k)
		p--;
	if (!p)
		return SIZE_MAX;
	i = (int64_t)k - m->piece[p - 1].shift;
	return i >= 0 && i < (int64_t)m->c->n ? (size_t)i : SIZE_MAX;
}

bool nsx_coll_at(const struct nsx_fmember *m, size_t k, struct nsx_coll *ret)
{
	size_t i = nsx_timed_at(m, k);

	if (i == SIZE_MAX)
		return false;
	*ret = (struct nsx_coll){nsx_coll_start(m->c, i), nsx_coll_ns(m->c, i),
				 nsx_coll_exposed_ns(m->c, i)};
	return true;
}

uint32_t *nsx_members_of(const struct nsx_fcomm *c, struct nsx_arena *a)
{
	uint32_t *v = nsx_arena_get(a, c->n * sizeof(*v));

	for (uint32_t m = 0; m < c->n; m++)
		v[m] = c->m[m].rank;
	return v;
}

uint32_t nsx_count_hosts(const struct nsx_fleet *f, const struct nsx_fcomm *c)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	bool *is_seen = nsx_arena_get(a, f->nhosts);
	uint32_t n = 0;

	for (uint32_t m = 0; m < c->n; m++) {
		bool *x = &is_seen[f->rank[c->m[m].rank].host];

		n += !*x;
		*x = true;
	}
	return n;
}

const struct nsx_dop *nsx_op_at(const struct nsx_fcomm *c, size_t k)
{
	for (const struct nsx_fmember *m = c->m; m < c->m + c->n; m++) {
		size_t i = nsx_member_at(m, k);

		if (i != SIZE_MAX)
			return nsx_coll_op(m->c, i);
	}
	return NULL;
}

static int64_t start_of(const struct nsx_fmember *m, size_t k)
{
	return nsx_coll_start(m->c, nsx_member_at(m, k));
}

/* Replaces the lengths of a collective on ranks that share a clock by exact ones: from each start
 * to one common end.
 */
static void by_starts(const struct nsx_fcomm *c, size_t k, int64_t *ns)
{
	int64_t least = INT64_MAX, last = INT64_MIN;

	for (uint32_t m = 0; m < c->n; m++)
		if (ns[m] >= 0) {
			least = NSX_MIN(least, ns[m]);
			last = NSX_MAX(last, start_of(&c->m[m], k));
		}
	for (uint32_t m = 0; m < c->n; m++)
		if (ns[m] >= 0)
			ns[m] = least + last - start_of(&c->m[m], k);
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
		start[m] = nsx_common_ns(f, c->m[m].rank, start_of(&c->m[m], k));
	for (uint32_t m = 0; m < 2; m++) {
		int64_t most = (int64_t)NSX_MAX(0, start[!m] - start[m]) + least;

		if (ns[m] > most + CLOCK_NOISE_NS)
			ns[m] = most;
	}
}

struct nsx_walk nsx_walk_over(const struct nsx_fleet *f, const struct nsx_fcomm *c, size_t first,
			      size_t end, struct nsx_arena *a)
{
	return (struct nsx_walk){f, c, .k = first - 1, .end = end, .nread = first,
				 .lengths = nsx_arena_get(a, NSX_WALK_AT_ONCE * c->n * sizeof(int64_t))};
}

static void read_lengths(struct nsx_walk *w)
{
	const struct nsx_fcomm *c = w->c;
	size_t n = NSX_MIN(w->end - w->k, NSX_WALK_AT_ONCE);

	for (uint32_t m = 0; m < c->n; m++)
		for (size_t j = 0; j < n; j++) {
			size_t i = nsx_timed_at(&c->m[m], w->k + j);

			w->lengths[j * c->n + m] = i == SIZE_MAX ? -1 : nsx_coll_ns(c->m[m].c, i);
			if (w->exposed && i != SIZE_MAX)
				w->exposed[j * c->n + m] = nsx_coll_exposed_ns(c->m[m].c, i);
		}
	for (size_t j = 0; j < n && c->is_of_one; j++)
		by_starts(c, w->k + j, w->lengths + j * c->n);
	for (size_t j = 0; j < n && nsx_is_of_mpi_pairs(c); j++)
		trim_message(w->f, c, w->k + j, w->lengths + j * c->n);
	w->nread += n;
	w->ns = w->lengths;
}

bool nsx_walk_on(struct nsx_walk *w)
{
	if (++w->k >= w->end)
		return false;
	if (w->k == w->nread)
		read_lengths(w);
	else
		w->ns += w->c->n;
	w->n = 0;
	w->last = NSX_NONE;
	for (uint32_t m = 0; m < w->c->n; m++)
		if (w->ns[m] >= 0) {
			w->n++;
			w->last = w->last == NSX_NONE || w->ns[m] < w->ns[w->last] ? m : w->last;
		}
	return true;
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

/* Sorts by gaps (Ciura). With few values this takes a third of the time of a merge sort that calls a
 * function for each comparison.
 */
static void sort_doubles(double *v, size_t n)
{
	static const size_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};

	for (size_t g = 0; g < ARRAY_LEN(gaps); g++)
		for (size_t i = gaps[g]; i < n; i++) {
			double x = v[i];
			size_t k = i;

			for (; k >= gaps[g] && v[k - gaps[g]] > x; k -= gaps[g])
				v[k] = v[k - gaps[g]];
			v[k] = x;
		}
}

double nsx_median_of(double *v, size_t n)
{
	enum { FEW = 4096 };

	if (!n)
		return 0;
	if (n <= FEW)
		sort_doubles(v, n);
	else
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
