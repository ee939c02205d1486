/* verdict.h - the first page, and the one word that stands on it. */
#ifndef NSX_VERDICT_H
#define NSX_VERDICT_H

#include "detect/measured.h"
#include "report/report.h"

/* Built last: reads trace, facts, findings, what sections measured and, for
 * what is missing, which of them could not be computed.  Errors: NSX_E_NOMEM.
 */
int nsx_first_page_build(struct nsx_report *r, const struct nsx_measured *m,
			 struct nsx_err *err) NSX_CHECKED;

/* Fills verdict, first, second and because of *p from the ledger of what is judged. */
void nsx_judge(const struct nsx_report *r, const struct nsx_ledger *l,
	       struct nsx_first_page *p);

/* The word for a ledger: that of the greatest class, idle time by its greatest cause; where
 * two classes are within a tenth of the time, mixed of both.
 */
struct nsx_judgement {
	enum nsx_page_verdict verdict, first, second;
};
void nsx_judge_ledger(const struct nsx_ledger *l, struct nsx_judgement *ret);
/* "gemm f32 128×64", "host code in `step`": Markdown. */
const char *nsx_account_words(const struct nsx_facts *f, const struct nsx_account *x,
			      struct nsx_arena *a);
/* "88 % gemm f32 128×64", "20 % host code in `step`": Markdown. */
const char *nsx_say_account(const struct nsx_facts *f, const struct nsx_ledger *l,
			    const struct nsx_account *x, struct nsx_arena *a);
/* Idle time by the word for its cause. */
struct nsx_idle_words {
	int64_t ns[NSX_NVERDICTS];
};
struct nsx_idle_words nsx_sum_words(const struct nsx_ledger *l);
/* Whether time of one class is so little that the class is fine. */
bool nsx_holds_little(const struct nsx_ledger *l, int64_t ns);

/* Whether much of what graphs did is not in the trace, so that nothing clears it. */
static inline bool nsx_graphs_hide(const struct nsx_graph_facts *g)
{
	return g->hidden_pct >= NSX_GRAPHS_HIDDEN_PCT ||
	       g->coverage_pct < NSX_GRAPHS_COVERED_PCT;
}

/* What else the recording holds, the longest first: phases of a twentieth of it or more,
 * each with a verdict of its own where GPUs worked in it, and the time before the GPUs' first
 * operation and after their last, with what the host did then.  *ret: NULL-terminated texts
 * of the report's arena, Markdown; NULL: there is nothing to tell.  Errors: NSX_E_NOMEM.
 */
int nsx_list_unjudged(const struct nsx_report *r, const struct nsx_measured *m,
		      const char ***ret, struct nsx_err *err) NSX_CHECKED;

/* Slow iterations that are not judged, but for the first, where there are several and not all
 * in a warm-up; NULL: there are none, or they cost little.  Owner: the report.
 */
const char *nsx_say_slow_unjudged(const struct nsx_report *r);

#endif
