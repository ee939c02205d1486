/* verdict.h - the first page, and the one word that stands on it. */
#ifndef NSX_VERDICT_H
#define NSX_VERDICT_H

#include "detect/measured.h"
#include "report/report.h"

/* Built last: reads trace, facts, findings, what sections measured and, for
 * what is missing, which of them could not be computed.
 */
void nsx_first_page_build(struct nsx_report *r, const struct nsx_measured *m);

/* Fills verdict, first, second and because of *p, whose shares are known.  The
 * word follows from the dearest finding that is priced by the recording; only
 * where nothing is worth telling it follows from the shares.
 */
void nsx_judge(const struct nsx_report *r, struct nsx_first_page *p);

#endif
