/* keyed.h - radix sort by an integer key, for large arrays. */
#pragma once

#include "base/base.h"

struct nsx_keyed { /* packed to save memory, because millions are sorted */
	int64_t key;
	uint32_t at; /* index of the element that has the key */
} __attribute__((packed, aligned(4)));
/* Stable sort by key. spare: room for n elements. */
void nsx_keyed_sort(struct nsx_keyed *v, struct nsx_keyed *spare, size_t n);

struct nsx_brief { /* nsx_keyed with only 32 bits of the key, which takes less memory */
	uint32_t key, at;
};
void nsx_brief_sort(struct nsx_brief *v, struct nsx_brief *spare, size_t n);
