/* flows.c - notes which (process, correlation id) have a call and GPU work. Ids of a process count
 * up, so they are stored in pages of 64 bits.
 */
#include "convert/convert.h"

enum { PAGE_BITS = 64 };
struct nsx_flow_page {
	uint64_t key; /* process and upper bits of the correlation id */
	uint64_t call, gpu;
};

void nsx_flows_done(struct nsx_flows *f)
{
	if (f->is_borrowed)
		return;
	free(f->pages);
	free(f->slots);
}

void nsx_flows_lend(const struct nsx_flows *f, struct nsx_flows *to)
{
	nsx_flows_done(to);
	*to = *f;
	to->is_borrowed = true;
}

/* Returns where the page of a key is remembered. Rows of several processes alternate, but each
 * uses few pages at a time.
 */
static uint32_t *recent_page(struct nsx_flows *f, uint64_t key)
{
	return &f->recent[(key ^ key >> 29) % ARRAY_LEN(f->recent)];
}

/* Finds the slot of a key, or a free one for it. Consecutive pages are used one after the other,
 * so sixteen of them share a cache line of slots.
 */
static size_t flows_find_slot(const struct nsx_flows *f, uint64_t key)
{
	size_t i = (nsx_hash_u64(key / 16) * 16 + key % 16) & (f->nslots - 1);

	while (f->slots[i] && f->pages[f->slots[i] - 1].key != key)
		i = (i + 1) & (f->nslots - 1);
	return i;
}

static int flows_grow_slots(struct nsx_flows *f, struct nsx_err *err)
{
	size_t n = f->nslots ? 2 * f->nslots : 256;
	uint32_t *slots = nsx_try_alloc(n, sizeof(*slots), "correlation ids", err);

	if (!slots)
		return err->rc;
	free(f->slots);
	f->slots = slots;
	f->nslots = n;
	for (size_t i = 0; i < f->n; i++)
		slots[flows_find_slot(f, f->pages[i].key)] = (uint32_t)i + 1;
	return 0;
}

static struct nsx_flow_page *flows_find(struct nsx_flows *f, uint32_t process, uint32_t corr)
{
	uint64_t key = (uint64_t)process << 32 | corr / PAGE_BITS;
	uint32_t *recent = recent_page(f, key), slot;

	if (*recent < f->n && f->pages[*recent].key == key)
		return &f->pages[*recent];
	slot = f->nslots ? f->slots[flows_find_slot(f, key)] : 0;
	if (!slot)
		return NULL;
	*recent = slot - 1;
	return &f->pages[*recent];
}

static struct nsx_flow_page *flows_add(struct nsx_flows *f, uint32_t process,
				       uint32_t corr, struct nsx_err *err)
{
	struct nsx_flow_page *page = flows_find(f, process, corr);

	if (page)
		return page;
	if ((f->nslots < 2 * (f->n + 1) && flows_grow_slots(f, err)) ||
	    nsx_grow(&f->pages, &f->cap, f->n + 1, sizeof(*f->pages), "correlation ids", err))
		return NULL;
	page = &f->pages[f->n];
	page->key = (uint64_t)process << 32 | corr / PAGE_BITS;
	f->slots[flows_find_slot(f, page->key)] = (uint32_t)++f->n;
	*recent_page(f, page->key) = (uint32_t)f->n - 1;
	return page;
}

int nsx_flows_note(struct nsx_flows *f, uint32_t process, uint32_t corr,
		   enum nsx_flow_side side, struct nsx_err *err)
{
	struct nsx_flow_page *p = flows_add(f, process, corr, err);

	if (!p)
		return err->rc;
	*(side == NSX_FLOW_CALL ? &p->call : &p->gpu) |= UINT64_C(1) << corr % PAGE_BITS;
	return 0;
}

int nsx_flows_merge(struct nsx_flows *f, const struct nsx_flows *other,
		    const uint32_t *process, struct nsx_err *err)
{
	for (size_t i = 0; i < other->n; i++) {
		const struct nsx_flow_page *from = &other->pages[i];
		struct nsx_flow_page *to = flows_add(f, process[from->key >> 32],
						     (uint32_t)from->key * PAGE_BITS, err);

		if (!to)
			return err->rc;
		to->call |= from->call;
		to->gpu |= from->gpu;
	}
	return 0;
}

uint32_t nsx_flows_span(const struct nsx_flows *f, unsigned *ret_bits)
{
	*ret_bits = 6; /* bits within a page */
	for (size_t i = 0; i < f->n; i++)
		while ((uint32_t)f->pages[i].key >> (*ret_bits - 6))
			++*ret_bits;
	return f->n ? (uint32_t)(f->pages[0].key >> 32) : 0;
}

/* Keeps only entries with both a call and work: from now on bit `call` means that both exist, and
 * bit `gpu` that the arrow has started.
 */
void nsx_flows_settle(struct nsx_flows *f)
{
	for (size_t i = 0; i < f->n; i++) {
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
