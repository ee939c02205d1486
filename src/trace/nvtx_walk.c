/* nvtx_walk.c - open ranges of a thread, and ranges by name.
 *
 * A range is pushed when it begins, and popped once it is on top and closed. Ranges of two domains
 * may cross, so ranges below the top may already be closed. The top itself is always the open range
 * that began last.
 */
#include "trace/nvtx_walk.h"

void nsx_nvtx_walk_begin(struct nsx_nvtx_walk *w, const struct nsx_trace *t,
			 uint32_t thread, bool user, bool library, uint32_t *below)
{
	const struct nsx_thread *th = &t->thread[thread];
	uint32_t end = th->nvtx_at + th->nnvtx;

	while (end > th->nvtx_at && t->nvtx.kind[end - 1] != NSX_NVTX_STACK)
		end--;
	*w = (struct nsx_nvtx_walk){.t = t, .below = below,
				    .next = th->nvtx_at, .end = end,
				    .top = NSX_NONE, .user = user,
				    .library = library};
}

static void pop_closed_ranges(struct nsx_nvtx_walk *w, int64_t at)
{
	while (w->top != NSX_NONE && !nsx_nvtx_is_open(&w->t->nvtx, w->top, at))
		w->top = w->below[w->top];
}

uint32_t nsx_nvtx_walk_to(struct nsx_nvtx_walk *w, int64_t at)
{
	const struct nsx_nvtx *x = &w->t->nvtx;

	for (; w->next < w->end && nsx_range_start(x, w->next) <= at; w->next++) {
		uint32_t i = w->next;

		if (!(w->t->domain[nsx_range_domain(x, i)].is_library ? w->library : w->user))
			continue;
		pop_closed_ranges(w, nsx_range_start(x, i));
		w->below[i] = w->top;
		w->top = i;
	}
	pop_closed_ranges(w, at);
	return w->top;
}

/* Gives each range the group of its name, or of its process and name. Ranges of a process are
 * adjacent, so only the last group and process of each name are remembered.
 */
static void assign_groups(const struct nsx_trace *t, bool by_process,
			  uint32_t *last, uint32_t *last_process, struct nsx_nvtx_groups *g)
{
	const struct nsx_nvtx *x = &t->nvtx;

	for (size_t i = 0; i < x->n; i++) {
		nsx_str name = nsx_range_label(t, x->name[i]);
		uint32_t process = by_process ? t->thread[nsx_nvtx_thread(t, i)].process : 0;

		g->of[i] = NSX_NONE;
		if (x->kind[i] == NSX_NVTX_MARK)
			continue;
		if (!last[name] || last_process[name] != process) {
			last[name] = ++g->n;
			last_process[name] = process;
		}
		g->of[i] = last[name] - 1;
	}
}

int nsx_nvtx_group(const struct nsx_trace *t, bool by_process,
		   struct nsx_arena *a, struct nsx_nvtx_groups *ret, struct nsx_err *err)
{
	size_t bound = nsx_strings_bound(t->strings);
	uint32_t *last, *last_process;
	struct nsx_nvtx_groups g = {.n = 0};

	if (nsx_new_arrays(a, bound, "range names", err, last, last_process) ||
	    nsx_new_arrays(a, t->nvtx.n, "range groups", err, g.of))
		return err->rc;
	assign_groups(t, by_process, last, last_process, &g);
	nsx_arena_drop(a, last);
	nsx_arena_drop(a, last_process);
	if (!nsx_new_array(g.name, a, g.n, "range groups", err) ||
	    (by_process &&
	     !nsx_new_array(g.process, a, g.n, "range groups", err)))
		return err->rc;
	for (size_t i = 0; i < t->nvtx.n; i++) {
		if (g.of[i] == NSX_NONE)
			continue;
		g.name[g.of[i]] = nsx_range_label(t, t->nvtx.name[i]);
		if (by_process)
			g.process[g.of[i]] = t->thread[nsx_nvtx_thread(t, i)].process;
	}
	*ret = g;
	return 0;
}

static const struct nsx_nvtx_sum *nvtx_walk_sum_of(const struct nsx_nvtx_order *o, uint32_t group)
{
	return (const void *)((const char *)o->sums + group * o->size);
}

NSX_KEY_IN(nvtx_walk_key_of, uint32_t, struct nsx_nvtx_order, -nvtx_walk_sum_of(c, *x)->ns);

int nsx_nvtx_cmp(const struct nsx_nvtx_order *o, uint32_t k, uint32_t l)
{
	const struct nsx_nvtx_sum *x = nvtx_walk_sum_of(o, k), *y = nvtx_walk_sum_of(o, l);

	return NSX_CMP(y->ns, x->ns) ?: NSX_CMP(y->count, x->count) ?:
	       NSX_CMP(o->t->rank[o->g->name[k]], o->t->rank[o->g->name[l]]);
}

NSX_ORDER_IN(nvtx_walk_cmp_groups, uint32_t, struct nsx_nvtx_order, BY(nsx_nvtx_cmp(c, *x, *y)));

void nsx_nvtx_sort(uint32_t *v, size_t n, size_t nfirst, const struct nsx_nvtx_order *order)
{
	nsx_sort_by_key_r(v, n, nfirst, sizeof(*v), nvtx_walk_key_of, nvtx_walk_cmp_groups,
			  (void *)order);
}
