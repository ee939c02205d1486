/* query.h - the SQL of queries/, embedded by base/embed.awk. */
#pragma once

struct nsx_query {
	const char *name; /* file name without .sql; a leading '_' marks a private table
			     used by other queries */
	const char *text;
};

extern const struct nsx_query nsx_queries[];
extern const unsigned nsx_nqueries;
