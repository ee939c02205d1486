/* gaps.h - the longest gaps between GPU work. */
#pragma once

#include "facts/facts.h"

struct nsx_long_gap {
	struct nsx_gap gap;
	uint32_t device;
};
void nsx_sort_gaps(struct nsx_long_gap *v, size_t n); /* longest first */
/* The longest piece of a gap, which names its cause. */
struct nsx_idle_piece nsx_longest_piece(const struct nsx_gap *gap);
