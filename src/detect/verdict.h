/* verdict.h - the first page, and the verdict on it. */
#pragma once

#include "detect/measured.h"
#include "report/report.h"

/* Builds the first page, after everything else, from the trace, facts, findings, measurements of
 * sections, and the list of sections that could not be computed. Errors: NSX_E_NOMEM.
 */
int nsx_first_page_build(struct nsx_report *r, const struct nsx_measured *m,
			 struct nsx_err *err) NSX_CHECKED;

/* Fills verdict, first, second and because of *p from the ledger of the judged window. */
void nsx_judge(const struct nsx_report *r, const struct nsx_ledger *l, struct nsx_first_page *p);

/* the verdict on a ledger: that of its greatest class, where idle time is named by its greatest
 * cause; mixed if the two greatest classes differ by less than a tenth of the time
 */
struct nsx_judgement {
	enum nsx_page_verdict verdict, first, second;
	bool is_of_most_time; /* it is the verdict on the account with most time   */
};
void nsx_judge_ledger(const struct nsx_ledger *l, struct nsx_judgement *ret);
/* A row of the ledger as Markdown: "gemm f32 128×64", "host code in `step`". */
const char *nsx_account_words(const struct nsx_facts *f, const struct nsx_account *x,
			      struct nsx_arena *a);
/* The name of an account with its share: "88 % gemm f32 128×64", "20 % host code in `step`". */
const char *nsx_say_account(const struct nsx_facts *f, const struct nsx_ledger *l,
			    const struct nsx_account *x, struct nsx_arena *a);
/* words for idle time, by the verdict that its cause leads to */
struct nsx_idle_words {
	int64_t ns[NSX_NVERDICTS];
};
struct nsx_idle_words nsx_sum_words(const struct nsx_ledger *l);
/* Whether a class has so little time that it is fine. */
bool nsx_holds_little(const struct nsx_ledger *l, int64_t ns);

/* Whether much of the work of graphs is missing from the trace, so that nothing can be called
 * fine.
 */
static inline bool nsx_graphs_hide(const struct nsx_graph_facts *g)
{
	return g->hidden_pct >= NSX_GRAPHS_HIDDEN_PCT || g->coverage_pct < NSX_GRAPHS_COVERED_PCT;
}

/* Lists what is not judged, the longest first: phases of a twentieth of the recording or more, each
 * with a verdict if GPUs worked in it, and the time before the first GPU operation and after the
 * last, with the host's activity. *ret: NULL-terminated Markdown texts in the report's arena, or
 * NULL if there are none. Errors: NSX_E_NOMEM.
 */
int nsx_list_unjudged(const struct nsx_report *r, const struct nsx_measured *m,
		      const char ***ret, struct nsx_err *err) NSX_CHECKED;

/* The ends of a recording, as subjects of findings and names on the first page. */
#define NSX_BEFORE_WORK "before the first GPU operation"
#define NSX_AFTER_WORK "after the last GPU operation"
