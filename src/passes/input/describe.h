/* describe.h - the schema section, which the command `schema` prints as well. */
#pragma once

#include "report/report.h"

/* Describes the catalogue without reading rows. */
void nsx_describe_schema(const struct nsx_schema *s, struct nsx_section *out);

/* All tables, sorted by name. Owner: arena a. */
const struct nsx_table_info **nsx_sorted_tables(const struct nsx_schema *s, struct nsx_arena *a,
						size_t *ret_n);
