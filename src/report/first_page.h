/* first_page.h - what a reader must know in half a minute: one typed page from
 * which report.md, stdout, --brief and the HTML print the same.
 *
 * Every figure is of the judged window, but for the length of the recording.
 * Texts of findings are Markdown; all others are plain text from the trace or of
 * ours, and are escaped by who prints them.  Owner: the report.
 */
#ifndef NSX_FIRST_PAGE_H
#define NSX_FIRST_PAGE_H

#include "facts/facts.h"
#include "report/finding.h"

enum nsx_page_verdict {
	NSX_V_COPY, NSX_V_LAUNCH, NSX_V_HOST, NSX_V_SYNC, NSX_V_COMMUNICATION,
	NSX_V_COMPUTE, NSX_V_ALLOCATION,
	NSX_V_STARTUP, /* there is only a start-up                           */
	NSX_V_PACED,   /* by something outside the program                   */
	NSX_V_MIXED,   /* of first and second                                */
	NSX_V_NO_GPU, NSX_V_LOST, /* GPU activity was lost                   */
	NSX_V_FAILED, /* the program did: nothing is said of its speed first  */
	NSX_NVERDICTS
};
extern const char *const nsx_verdict_words[NSX_NVERDICTS]; /* "copy-bound"   */

/* What a moment of a GPU is spent on, for people: compute hides what runs beside
 * it.
 */
enum nsx_use { NSX_USE_COMPUTE, NSX_USE_COPY, NSX_USE_COMM, NSX_USE_IDLE,
	       NSX_NUSES };
extern const char nsx_use_marks[NSX_NUSES];	   /* '#', '=', '~', '.'     */
extern const char *const nsx_use_words[NSX_NUSES]; /* "compute", ...         */

enum { NSX_STRIP_CELLS = 60, NSX_MAX_STRIPS = 8, NSX_PAGE_FINDINGS = 5 };

struct nsx_strip { /* of one GPU, or of several that look the same */
	const char *gpus; /* "GPU 0", "GPUs 0, 1"                            */
	uint8_t cell[NSX_STRIP_CELLS]; /* enum nsx_use that takes most of it */
};
#define NSX_ALIKE 0.05 /* GPUs are, whose shares differ less */
struct nsx_first_page {
	const char *file;      /* name without folders                       */
	int64_t recorded_ns;   /* first to last event                        */
	const char *gpus;      /* "2 × H100 80GB HBM3"; NULL: none           */
	const char *processes; /* "2 processes (python3)"; NULL: none        */
	const char *product;   /* "nsys 2025.3"; NULL: not recorded          */
	struct nsx_window judged; /* start == end: nothing was judged        */
	const char *unit;      /* "22 blocks of 29.3 ms"; NULL               */

	enum nsx_page_verdict verdict, first, second; /* first, second: of MIXED  */
	const char *because;   /* one clause, Markdown; NULL: the shares do   */
	const char **dearest; /* what most of the judged time is, with its share:
				 Markdown, NULL-terminated; NULL: nothing is judged */
	const char *damage; /* nsx_report_damage                             */
	double share[NSX_NUSES]; /* of the judged window, mean of the GPUs   */
	double spread; /* greatest difference between GPUs, 0..1             */
	uint32_t ngpus; /* with work in the judged window                    */
	struct nsx_strip strip[NSX_MAX_STRIPS];
	unsigned nstrips, nstrips_more;

	const struct nsx_finding *finding[NSX_PAGE_FINDINGS]; /* by cost     */
	unsigned nfindings;
	size_t nsmaller;       /* other findings that are told in full      */
	bool counted[NSX_PAGE_FINDINGS]; /* in then_ns: what was measured    */
	double now_ns, then_ns; /* then: with those; < 0: with none          */
	double then_most_ns; /* ... if waits outside CUDA end when they did  */
	/* NULL-terminated; NULL: nothing was asked, nothing of note is not judged. */
	const char **asked, **unjudged;
	const char **steps; /* of an engine, by kind; the same               */
	const char **fine, **trust, **missing;
	const char *ask[3]; /* what to ask next, as Markdown; NULL-terminated */
};

#endif
