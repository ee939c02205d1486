/* page_chain.c - a list of pages, each starting with the number of the next. */
#include <assert.h>
#include <string.h>
#include "sqlite/page_chain.h"

#define LINK 4

void nsx_chain_start(struct nsx_chain *c, uint32_t first, uint64_t at)
{
	c->next = first;
	c->begin = c->end = at;
}

static int read_next_page(struct nsx_chain *c, struct nsx_err *err)
{
	int rc;

	if (!*c->left)
		return nsx_page_damaged(err, c->table, c->next, "overflow pages lead in a circle");
	--*c->left;
	rc = nsx_page_get(c->f, c->table, c->next, c->page, err);
	if (rc)
		return rc;
	c->next = nsx_be32(c->page);
	c->begin = c->end;
	c->end += c->f->usable - LINK;
	return 0;
}

int nsx_chain_copy(struct nsx_chain *c, uint64_t from, void *dst, size_t n, struct nsx_err *err)
{
	char *to = dst;

	assert(!n || from >= c->begin);
	while (n) {
		size_t some;

		if (from >= c->end) {
			int rc = read_next_page(c, err);

			if (rc)
				return rc;
			continue;
		}
		some = NSX_MIN(n, (size_t)(c->end - from));
		memcpy(to, c->page + LINK + (from - c->begin), some);
		from += some;
		to += some;
		n -= some;
	}
	return 0;
}
