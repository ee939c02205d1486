/* fetches.h - idle time in which the host fetches pages of unified memory that it touches. */
#pragma once

#include "facts/facts.h"

struct nsx_fetches {
	size_t n; /* gaps, each of which ends with a migration that no call launches */
	int64_t ns;
	/* the part of ns that does not grow with the pages: page faults; negative: not known */
	double fault_ns;
};
/* Sums such idle time of a device in the window. Linear in its idle pieces and operations. */
struct nsx_fetches nsx_find_fetches(const struct nsx_facts *f, const struct nsx_trace *t,
				    uint32_t device, struct nsx_window w);
