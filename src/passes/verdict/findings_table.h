/* findings_table.h - findings as rows, for the list and for the minor ones. */
#ifndef NSX_PASSES_FINDINGS_TABLE_H
#define NSX_PASSES_FINDINGS_TABLE_H

#include "passes/pass.h"

enum {
	F_ID, F_SEVERITY, F_TITLE, F_CATEGORY, F_EVIDENCE, F_RECOMMENDATION,
	F_HEADROOM, F_DISJOINT, F_CEILING, F_CONFIDENCE, F_WINDOW, F_ROWS,
	F_KEY, F_PRICE, F_LOW, F_HIGH, F_PLACE
};
extern const struct nsx_layout nsx_findings_layout;

/* The findings of the report that are minor, or those that are not. */
int nsx_fill_findings(const struct nsx_run *run, struct nsx_section *out,
		      bool minor, struct nsx_table **ret,
		      struct nsx_err *err) NSX_CHECKED;

#endif
