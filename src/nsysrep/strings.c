/* strings.c - strings by id, which is their index in the block. */
#include "nsysrep/strings.h"

int nsx_rep_strings_read(struct nsx_piece message, uint64_t most, struct nsx_rep_strings *ret,
			 struct nsx_err *err)
{
	struct nsx_wire w = nsx_wire_of(message);

	*ret = (struct nsx_rep_strings){.v = NULL};
	while (nsx_wire_next(&w) && !ret->is_more) {
		if (w.field != 1 || !w.bytes.p)
			continue;
		ret->is_more = most && ret->n == most;
		if (!ret->is_more && nsx_push(ret->v, ret->n, ret->cap, "strings", err, w.bytes))
			return err->rc;
	}
	return 0;
}

void nsx_rep_strings_done(struct nsx_rep_strings *s)
{
	free(s->v);
}
