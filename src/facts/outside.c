/* outside.c - iterates over OS calls, MPI calls and MPI ranges as one list. */
#include "facts/outside.h"

/* Whether ranges of an NVTX domain are MPI calls. They are used if there is no table of MPI calls.
 */
static bool is_mpi_domain(const struct nsx_trace *t, uint32_t domain)
{
	return !strcmp(nsx_text(t, t->domain[domain].name), "MPI");
}

static bool has_mpi_ranges(const struct nsx_trace *t)
{
	for (uint32_t d = 0; d < t->ndomains; d++)
		if (is_mpi_domain(t, d))
			return !t->library.n;
	return false;
}

static bool next_mpi_range(const struct nsx_trace *t, size_t *at, size_t first,
			   struct nsx_outside *ret)
{
	const struct nsx_nvtx *x = &t->nvtx;

	if (*at == first && !has_mpi_ranges(t))
		return false;
	while (*at < first + x->n) {
		size_t i = (*at)++ - first;

		if (x->kind[i] != NSX_NVTX_STACK || !is_mpi_domain(t, nsx_range_domain(x, i)))
			continue;
		*ret = (struct nsx_outside){nsx_nvtx_thread(t, i), x->name[i],
					    NSX_NONE, true,
					    nsx_range_start(x, i),
					    nsx_range_end(x, i), -1, -1};
		if (t->thread[ret->thread].launches)
			return true;
	}
	return false;
}

bool nsx_outside_next(const struct nsx_trace *t, size_t *at, struct nsx_outside *ret)
{
	const struct nsx_library_calls *c = &t->library;
	const struct nsx_osrt *o = &t->osrt;
	size_t i = *at;

	if (i < o->n) {
		++*at;
		*ret = (struct nsx_outside){o->thread[i], o->name[i],
					    o->stack[i], false, o->start_ns[i],
					    o->end_ns[i], -1, -1};
		return true;
	}
	while (*at < o->n + c->n) {
		i = (*at)++ - o->n;
		if (c->library[i] != NSX_LIBRARY_MPI || !t->thread[c->thread[i]].launches)
			continue;
		*ret = (struct nsx_outside){
			c->thread[i], c->name[i], NSX_NONE, true,
			nsx_unpack(&c->start, i),
			nsx_unpack(&c->start, i) + nsx_unpack(&c->length, i),
			c->peer[i], c->tag[i]};
		return true;
	}
	return next_mpi_range(t, at, o->n + c->n, ret);
}
