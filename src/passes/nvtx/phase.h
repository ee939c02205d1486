/* phase.h - the user's phase map, from names to phases. */
#pragma once

#include "base/err.h"

struct nsx_phase_map;

/* Reads a JSON object {phase: ["substring", "re:<regex>", ...] | "substring"}
 * (queries/README.md 24). Owner: the caller. Errors: NSX_E_USAGE naming the place.
 */
int nsx_phase_map_read(const char *path, struct nsx_phase_map **ret, struct nsx_err *err);
/* Reads a phase map from memory; path is used in messages. */
int nsx_phase_map_parse(const char *text, size_t n, const char *path,
			struct nsx_phase_map **ret, struct nsx_err *err);
void nsx_phase_map_free(struct nsx_phase_map *m);

unsigned nsx_phase_count(const struct nsx_phase_map *m);
const char *nsx_phase_name(const struct nsx_phase_map *m, unsigned i);
/* The index of the first matching phase in file order; the count if none matches. */
unsigned nsx_phase_of(const struct nsx_phase_map *m, const char *name);
