/* findings_table.h - findings as rows, for the main list and the minor ones. */
#ifndef NSX_PASSES_FINDINGS_TABLE_H
#define NSX_PASSES_FINDINGS_TABLE_H

#include "passes/pass.h"

extern const struct nsx_layout nsx_findings_layout, nsx_evidence_layout;
#define NSX_FINDING_COLUMNS(X)                                                                     \
	X(F_ID, "id", STR, "what kind of finding")                                                 \
	X(F_SEVERITY, "severity", STR,                                                             \
	  "high from 10 % of the window, medium from 3 %, of disjoint headroom")                   \
	X(F_TITLE, "title", STR, "what costs time, in short")                                      \
	X(F_CATEGORY, "category", STR, "field of the remedy")                                      \
	X(F_EVIDENCE, "evidence", LIST, "the numbers")                                             \
	X(F_RECOMMENDATION, "recommendation", LIST, "what to change")                              \
	X(F_HEADROOM, "headroom_ms", F64, "recoverable time if this alone is mended")              \
	X(F_DISJOINT, "headroom_disjoint_ms", F64,                                                 \
	  "what it adds to those applied before it, each time the one that "                       \
	  "adds most; above headroom_ms where remedies help each other")                           \
	X(F_CEILING, "speedup_ceiling", F64, "window / (window - headroom); null unless replayed") \
	X(F_CONFIDENCE, "confidence", STR, "in cause and price")                                   \
	X(F_WINDOW, "window", STR, "the window it is judged on")                                   \
	X(F_ROWS, "evidence_rows", TABLE,                                                          \
	  "where the tables show it", .rows = &nsx_evidence_layout)                                \
	X(F_KEY, "key", STR, "id, with its subject where there may be several")                    \
	X(F_PRICE, "price", STR, "replayed, measured or assumed")                                  \
	X(F_LOW, "headroom_low_ms", F64, "least that headroom_ms may come to")                     \
	X(F_HIGH, "headroom_high_ms", F64, "most that headroom_ms may come to")                    \
	X(F_PLACE, "place", STR, "where in the user's code")
NSX_COLUMNS(nsx_finding_cols, NSX_FINDING_COLUMNS);

/* Adds a table of the report's minor findings, or of the others. */
struct nsx_table *nsx_findings_table(const struct nsx_report *report,
				     struct nsx_section *out, bool minor);

#endif
