#include "nsx/facts.h"

int nsx_facts_barriers(struct nsx_facts *f, const struct nsx_trace *t, unsigned threads,
		   struct nsx_err *err)
{
	(void)f, (void)t, (void)err; (void)threads;
	return 0;
}
