/* portion.c - which blocks and rows of a table belong to the portion that is read. */
#include "trace/load.h"

enum { MOST_RUNS = 256 }; /* limit of the runs that are checked; a block that spans more is read */

bool nsx_is_near(const struct nsx_portion *x, int64_t start_ns, int64_t end_ns)
{
	size_t lo;

	if (start_ns < x->read.end_ns && end_ns >= x->read.start_ns)
		return true;
	lo = NSX_SEARCH(0, x->nat, mid, x->at_ns[mid] < start_ns);
	return lo < x->nat && x->at_ns[lo] <= end_ns;
}

bool nsx_is_launcher(const struct nsx_portion *x, uint32_t least, uint32_t most)
{
	size_t lo = NSX_SEARCH(0, x->ncorr, mid, x->corr[mid] < least);

	return lo < x->ncorr && x->corr[lo] <= most;
}

/* Whether one of the ids least to most is in the clock sample. Runs of ids are sampled, so that
 * sampled rows are adjacent.
 */
static bool is_sampled(const struct nsx_portion *x, uint32_t least, uint32_t most)
{
	uint32_t run = least >> NSX_CLOCK_RUN, last = most >> NSX_CLOCK_RUN;

	if (!most || least > most)
		return false;
	if (last - run > MOST_RUNS)
		return true;
	for (; run <= last; run++)
		if (run * UINT32_C(0x9e3779b9) <= UINT32_MAX / x->clock_share)
			return true;
	return false;
}

bool nsx_wants_block(void *part, size_t block)
{
	const struct nsx_part *p = part;
	const struct nsx_portion *x = &p->l->portion;
	const struct nsx_zone *z = &p->table->zones[block];

	return block >= p->table->nzones ||
	       (z->rows && (nsx_is_near(x, z->least_ns, z->most_ns) ||
			    nsx_is_launcher(x, z->least_corr, z->most_corr) ||
			    is_sampled(x, z->least_corr, z->most_corr)));
}

bool nsx_wants_row(const struct nsx_part *p, const struct nsx_val *v)
{
	const struct nsx_portion *x = &p->l->portion;
	const struct nsx_tableload *t = p->table;
	struct nsx_extent e = t->extent(v);
	uint32_t corr = t->corr ? nsx_u32_or(&v[t->corr], 0) : 0;

	return nsx_is_near(x, e.start_ns, e.end_ns) || nsx_is_launcher(x, corr, corr) ||
	       is_sampled(x, corr, corr);
}
