/* first_page.h - what a reader must know in half a minute: one typed page, from which report.md,
 * stdout, --brief and the HTML are printed.
 *
 * All figures are of the judged window, except the length of the recording. Texts of findings are
 * Markdown. All other texts are plain, and the emitters escape them. Owner: the report.
 */
#ifndef NSX_FIRST_PAGE_H
#define NSX_FIRST_PAGE_H

#include "facts/facts.h"
#include "report/finding.h"

enum nsx_page_verdict {
	NSX_V_COPY, NSX_V_LAUNCH, NSX_V_HOST, NSX_V_SYNC, NSX_V_COMMUNICATION,
	NSX_V_COMPUTE, NSX_V_ALLOCATION, NSX_V_PAGES,
	NSX_V_NODES,   /* idle inside graph replays traced by node           */
	NSX_V_STARTUP, /* all of it is start-up                              */
	NSX_V_PACED,   /* something outside the program sets the pace        */
	NSX_V_MIXED,   /* both `first` and `second`                          */
	NSX_V_NO_GPU, NSX_V_LOST, /* GPU activity was lost                   */
	NSX_V_FAILED, /* the program failed, which comes before its speed     */
	NSX_NVERDICTS
};
extern const char *const nsx_verdict_words[NSX_NVERDICTS]; /* "copy-bound"   */

/* How a moment of GPU time is used, as shown to people. Compute hides what runs beside it. */
enum nsx_use { NSX_USE_COMPUTE, NSX_USE_COPY, NSX_USE_COMM, NSX_USE_IDLE,
	       NSX_NUSES };
extern const char nsx_use_marks[NSX_NUSES];	   /* '#', '=', '~', '.'     */
extern const char *const nsx_use_words[NSX_NUSES]; /* "compute", ...         */

enum { NSX_STRIP_CELLS = 60, NSX_MAX_STRIPS = 8, NSX_PAGE_FINDINGS = 5 };

struct nsx_strip { /* one GPU, or several that look the same */
	const char *gpus; /* "GPU 0", "GPUs 0, 1"                            */
	uint8_t cell[NSX_STRIP_CELLS]; /* the enum nsx_use with the largest part */
};
#define NSX_ALIKE 0.05 /* GPUs look the same if their shares differ by less */
struct nsx_first_page {
	const char *file;      /* file name without folders                  */
	int64_t recorded_ns;   /* first to last event                        */
	const char *gpus;      /* "2 × H100 80GB HBM3"; NULL: none           */
	const char *processes; /* "2 processes (python3)"; NULL: none        */
	const char *product;   /* "nsys 2025.3"; NULL: not recorded          */
	struct nsx_window judged; /* start == end: nothing is judged         */
	const char *unit;      /* "22 blocks of 29.3 ms"; NULL               */

	enum nsx_page_verdict verdict, first, second; /* first, second: for MIXED */
	const char *because;   /* one clause, Markdown; NULL: shares explain it */
	const char **dearest; /* what takes most of the judged time, with shares:
				 Markdown, NULL-terminated; NULL: nothing is judged */
	const char *damage; /* nsx_report_damage                             */
	double share[NSX_NUSES]; /* of the judged window, mean over GPUs     */
	double spread; /* greatest difference between GPUs, 0..1             */
	uint32_t ngpus; /* GPUs with work in the judged window               */
	struct nsx_strip strip[NSX_MAX_STRIPS];
	unsigned nstrips, nstrips_more;

	const struct nsx_finding *finding[NSX_PAGE_FINDINGS]; /* sorted by cost */
	unsigned nfindings;
	size_t nsmaller;       /* other findings shown in full              */
	bool counted[NSX_PAGE_FINDINGS]; /* included in then_ns, as its price is measured */
	double now_ns, then_ns; /* then: with these remedies applied; < 0: none */
	double then_most_ns; /* then_ns if each remedy wins only its low_ns     */
	/* NULL-terminated; NULL: nothing was asked, or everything that matters is judged. */
	const char **asked, **unjudged;
	const char **steps; /* steps of an inference engine, by kind; as above */
	const char **fine, **trust, **missing;
	const char *ask[3]; /* next questions, as Markdown; NULL-terminated */
};

#endif
