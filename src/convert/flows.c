/* flows.c - notes which (process, correlation id) have a call and GPU work. Ids of a process count
 * up, so they are stored in pages of 64 bits.
 */
#include "convert/convert.h"

enum { PAGE_BITS = 64 };
struct nsx_flow_page {
	uint64_t call, gpu;
};

void nsx_flows_done(struct nsx_flows *f)
{
	if (f->is_borrowed)
		return;
	nsx_groups_done(&f->keys);
	free(f->pages);
}

void nsx_flows_lend(const struct nsx_flows *f, struct nsx_flows *to)
{
	nsx_flows_done(to);
	*to = *f;
	to->is_borrowed = true;
}

static struct nsx_flow_page *flows_find(struct nsx_flows *f, uint32_t process, uint32_t corr)
{
	uint32_t number = corr / PAGE_BITS, i;
	struct nsx_near_key *x = nsx_near_place(&f->near, process, number);

	if (x->place && x->a == process && x->b == number)
		return &f->pages[x->place - 1];
	i = nsx_group_find(&f->keys, process, number);
	if (i == NSX_NONE)
		return NULL;
	*x = (struct nsx_near_key){process, number, i + 1};
	return &f->pages[i];
}

int nsx_flows_note(struct nsx_flows *f, uint32_t process, uint32_t corr,
		   enum nsx_flow_side side, struct nsx_err *err)
{
	struct nsx_flow_page *p = nsx_near_value(&f->keys, &f->near, &f->pages, process,
						 corr / PAGE_BITS, "correlation ids", err);

	if (!p)
		return err->rc;
	*(side == NSX_FLOW_CALL ? &p->call : &p->gpu) |= UINT64_C(1) << corr % PAGE_BITS;
	return 0;
}

int nsx_flows_merge(struct nsx_flows *f, const struct nsx_flows *other,
		    const uint32_t *process, struct nsx_err *err)
{
	for (size_t i = 0; i < other->keys.n; i++) {
		struct nsx_group_key key = nsx_group_key(&other->keys, i);
		struct nsx_flow_page *to = nsx_near_value(&f->keys, &f->near, &f->pages,
							  process[key.a], key.b,
							  "correlation ids", err);

		if (!to)
			return err->rc;
		to->call |= other->pages[i].call;
		to->gpu |= other->pages[i].gpu;
	}
	return 0;
}

uint32_t nsx_flows_span(const struct nsx_flows *f, unsigned *ret_bits)
{
	*ret_bits = 6; /* bits within a page */
	for (size_t i = 0; i < f->keys.n; i++)
		while (nsx_group_key(&f->keys, i).b >> (*ret_bits - 6))
			++*ret_bits;
	return f->keys.n ? (uint32_t)nsx_group_key(&f->keys, 0).a : 0;
}

/* Keeps only entries with both a call and work: from now on bit `call` means that both exist, and
 * bit `gpu` that the arrow has started.
 */
void nsx_flows_settle(struct nsx_flows *f)
{
	for (size_t i = 0; i < f->keys.n; i++) {
		f->pages[i].call &= f->pages[i].gpu;
		f->pages[i].gpu = 0;
	}
}

bool nsx_flows_start(struct nsx_flows *f, uint32_t process, uint32_t corr)
{
	struct nsx_flow_page *p = flows_find(f, process, corr);
	uint64_t bit = UINT64_C(1) << corr % PAGE_BITS;

	if (!p || !(p->call & bit) || (p->gpu & bit))
		return false;
	p->gpu |= bit;
	return true;
}

bool nsx_flows_has(struct nsx_flows *f, uint32_t process, uint32_t corr)
{
	struct nsx_flow_page *p = flows_find(f, process, corr);

	return p && p->call >> corr % PAGE_BITS & 1;
}

bool nsx_flows_started(struct nsx_flows *f, uint32_t process, uint32_t corr)
{
	struct nsx_flow_page *p = flows_find(f, process, corr);

	return p && p->gpu >> corr % PAGE_BITS & 1;
}
