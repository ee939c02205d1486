#include "nsx/facts.h"

int nsx_facts_iterations(struct nsx_facts *f, const struct nsx_trace *t,
		   struct nsx_err *err)
{
	(void)f, (void)t, (void)err;
	return 0;
}
