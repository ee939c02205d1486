/* outside.c - reads two tables as one. */
#include "facts/outside.h"

bool nsx_outside_next(const struct nsx_trace *t, size_t *at,
		      struct nsx_outside *ret)
{
	const struct nsx_library_calls *c = &t->library;
	const struct nsx_osrt *o = &t->osrt;
	size_t i = *at;

	if (i < o->n) {
		++*at;
		*ret = (struct nsx_outside){o->thread[i], o->name[i],
					    o->stack[i], false, o->start_ns[i],
					    o->end_ns[i]};
		return true;
	}
	for (i -= o->n; i < c->n; i++)
		if (c->library[i] == NSX_LIBRARY_MPI &&
		    t->thread[c->thread[i]].launches)
			break;
	*at = o->n + i + 1;
	if (i >= c->n)
		return false;
	*ret = (struct nsx_outside){
		c->thread[i], c->name[i], NSX_NONE, true,
		nsx_unpack(&c->start, i),
		nsx_unpack(&c->start, i) + nsx_unpack(&c->length, i)};
	return true;
}
