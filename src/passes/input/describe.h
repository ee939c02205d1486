/* describe.h - the schema section, which the command `schema` prints, too. */
#ifndef NSX_PASSES_DESCRIBE_H
#define NSX_PASSES_DESCRIBE_H

#include "report/report.h"

/* Everything that the catalogue tells; no row is read. */
void nsx_describe_schema(const struct nsx_schema *s, struct nsx_section *out);

/* All tables by name. Owner: arena a. */
const struct nsx_table_info **nsx_sorted_tables(const struct nsx_schema *s,
						struct nsx_arena *a,
						size_t *ret_n);

#endif
