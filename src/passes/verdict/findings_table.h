/* findings_table.h - findings as rows, for the main list and the minor ones. */
#pragma once

#include "passes/pass.h"

extern const struct nsx_layout nsx_findings_layout, nsx_evidence_layout;
#define NSX_FINDING_COLUMNS(X)                                                                     \
	X(F_ID, "id", STR, "kind of finding")                                                      \
	X(F_SEVERITY, "severity", STR,                                                             \
	  "high from 10 % of the window, medium from 3 %, of disjoint headroom")                   \
	X(F_TITLE, "title", STR, "short title of the finding")                                     \
	X(F_CATEGORY, "category", STR, "field of the remedy")                                      \
	X(F_EVIDENCE, "evidence", LIST, "the numbers")                                             \
	X(F_RECOMMENDATION, "recommendation", LIST, "what to change")                              \
	X(F_HEADROOM, "headroom_ms", F64, "time saved if only this remedy is applied")             \
	X(F_DISJOINT, "headroom_disjoint_ms", F64,                                                 \
	  "time saved in addition to the remedies applied before, in the order of largest "        \
	  "savings; above headroom_ms if remedies help each other")                                \
	X(F_CEILING, "speedup_ceiling", F64, "window / (window - headroom); null unless replayed") \
	X(F_CONFIDENCE, "confidence", STR, "confidence in cause and price")                        \
	X(F_WINDOW, "window", STR, "window on which it is judged")                                 \
	X(F_ROWS, "evidence_rows", TABLE,                                                          \
	  "cells of tables that prove it", .rows = &nsx_evidence_layout)                           \
	X(F_KEY, "key", STR, "id, with its subject if there may be several")                       \
	X(F_PRICE, "price", STR, "replayed, measured or assumed")                                  \
	X(F_LOW, "headroom_low_ms", F64, "lower end of headroom_ms")                               \
	X(F_HIGH, "headroom_high_ms", F64, "upper end of headroom_ms")                             \
	X(F_PLACE, "place", STR, "place in the user's code")
NSX_COLUMNS(nsx_finding_cols, NSX_FINDING_COLUMNS);

/* Adds a table of the minor findings, or of all others. */
struct nsx_table *nsx_findings_table(const struct nsx_report *report,
				     struct nsx_section *out, bool minor);
