/* classic.h - the report.md of nsys-llm-explain. */
#pragma once

#include "report/report.h"

/* Adds five sections under their published names, with all rows and the columns' own names. */
void nsx_md_add_classic(struct nsx_buf *b, const struct nsx_report *r);
