/* strings.h - a report's strings by id. */
#pragma once

#include "base/arena.h"
#include "nsysrep/wire.h"

struct nsx_rep_strings {
	struct nsx_piece *v; /* by id                                        */
	size_t n, cap;
	bool is_more; /* the block has more than the report should have      */
};

/* Reads the block of strings, which must outlive *ret; at most `most` of them (0: all). Owner: the
 * caller, nsx_rep_strings_done, even after a failure.
 */
int nsx_rep_strings_read(struct nsx_piece message, uint64_t most, struct nsx_rep_strings *ret,
			 struct nsx_err *err) NSX_CHECKED;
void nsx_rep_strings_done(struct nsx_rep_strings *s);

/* The string with this id; empty if there is none. */
static inline struct nsx_piece nsx_rep_string(const struct nsx_rep_strings *s, uint64_t id)
{
	return id < s->n ? s->v[id] : (struct nsx_piece){(const uint8_t *)"", 0};
}
