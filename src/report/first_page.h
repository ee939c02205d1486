/* first_page.h - what a reader must know in half a minute: one typed page, from which report.md,
 * stdout, --brief and the HTML are printed.
 *
 * All figures are of the judged window, except the length of the recording. Texts of findings are
 * Markdown. All other texts are plain, and the emitters escape them. Owner: the report.
 */
#pragma once

#include "facts/facts.h"
#include "report/finding.h"

enum nsx_page_verdict {
	NSX_V_COPY, NSX_V_LAUNCH, NSX_V_HOST, NSX_V_SYNC, NSX_V_COMMUNICATION,
	NSX_V_COMPUTE, NSX_V_ALLOCATION,
	NSX_V_HELD,    /* idle time while work that was launched does not start */
	NSX_V_NODES,   /* idle time between nodes of graphs that were traced node by node */
	NSX_V_STARTUP, /* the whole window is start-up                       */
	NSX_V_PACED,   /* something outside the program sets the pace        */
	NSX_V_MIXED,   /* both verdicts `first` and `second`                 */
	NSX_V_NO_GPU, NSX_V_LOST, /* LOST: GPU work was lost                 */
	NSX_V_UNREAD, /* kernels were recorded, in a form that is not known  */
	NSX_V_FAILED, /* the program failed, which matters more than its speed */
	NSX_NVERDICTS
};
extern const char *const nsx_verdict_words[NSX_NVERDICTS]; /* "copy-bound"   */

/* Uses of GPU time, as shown to people. Compute hides everything that runs beside it. */
enum nsx_use { NSX_USE_COMPUTE, NSX_USE_COPY, NSX_USE_COMM, NSX_USE_IDLE,
	       NSX_NUSES };
extern const char nsx_use_marks[NSX_NUSES];	   /* '#', '=', '~', '.'     */
extern const char *const nsx_use_words[NSX_NUSES]; /* "compute", ...         */

enum { NSX_STRIP_CELLS = 60, NSX_MAX_STRIPS = 8, NSX_PAGE_FINDINGS = 5 };

struct nsx_strip { /* one GPU, or several that look the same */
	const char *gpus; /* "GPU 0", "GPUs 0, 1"                            */
	uint8_t cell[NSX_STRIP_CELLS]; /* the enum nsx_use with the largest part */
};
#define NSX_ALIKE 0.05 /* greatest difference between the shares of GPUs that are shown as one */
struct nsx_first_page {
	const char *file;      /* file name without folders                  */
	int64_t recorded_ns;   /* first to last event                        */
	const char *gpus;      /* such as "2 × H100 80GB HBM3"; NULL: none   */
	const char *processes; /* such as "2 processes (python3)"; NULL: none */
	const char *product;   /* such as "nsys 2025.3"; NULL: not recorded  */
	struct nsx_window judged; /* start == end: no part is judged         */
	const char *unit;      /* such as "22 repetitions of 29.3 ms"; NULL: nothing repeats */

	enum nsx_page_verdict verdict, first, second; /* first, second: for MIXED */
	/* the reason in one clause of Markdown; NULL: the shares explain the verdict */
	const char *because;
	/* rows with most of the judged time, and their shares: Markdown, NULL-terminated; NULL: no
	 * part is judged
	 */
	const char **most_time;
	const char *damage; /* what is missing (nsx_report_damage); NULL: nothing */
	double share[NSX_NUSES]; /* shares of the judged window, as a mean over GPUs */
	double spread; /* greatest difference between the shares of GPUs, 0..1 */
	uint32_t ngpus; /* GPUs with work in the judged window               */
	struct nsx_strip strip[NSX_MAX_STRIPS];
	unsigned nstrips, nstrips_more;

	const struct nsx_finding *finding[NSX_PAGE_FINDINGS]; /* sorted by cost */
	unsigned nfindings;
	size_t nsmaller;       /* number of other findings that the report shows in full */
	/* by finding: its price is part of then_ns, because it is not assumed */
	bool counted[NSX_PAGE_FINDINGS];
	/* length of the judged window now, and with these remedies applied; then_ns negative:
	 * none
	 */
	double now_ns, then_ns;
	/* then_ns if each remedy wins only its low_ns, and one with an upper bound alone nothing */
	double then_most_ns;
	/* answers to --what-if, and phases that are not judged. NULL-terminated; NULL: none. */
	const char **asked, **unjudged;
	const char **steps; /* steps of an inference engine, by kind; NULL-terminated; NULL: none */
	const char **fine, **trust, **missing;
	const char *ask[3]; /* next questions, as Markdown; NULL-terminated */
};
