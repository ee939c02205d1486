/* keyed.h - sorting by an integer, digit by digit: what a great many are sorted by. */
#ifndef NSX_KEYED_H
#define NSX_KEYED_H

#include "base/base.h"

struct nsx_keyed { /* packed: a million of them are sorted beside what they stand for */
	int64_t key;
	uint32_t at;
} __attribute__((packed, aligned(4)));
/* Sorts by key, stable; spare: room for as many. */
void nsx_keyed_sort(struct nsx_keyed *v, struct nsx_keyed *spare, size_t n);

struct nsx_brief { /* the same by a part of a key, where memory is short     */
	uint32_t key, at;
};
void nsx_brief_sort(struct nsx_brief *v, struct nsx_brief *spare, size_t n);

#endif
