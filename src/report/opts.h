/* opts.h - what the user asked of a report, as the passes see it. */
#ifndef NSX_OPTS_H
#define NSX_OPTS_H

#include "base/progress.h"
#include "base/base.h"

struct nsx_llm;	      /* facts/steps/limit.h */
struct nsx_phase_map; /* phase.h */

/* What a report is made for; what else it could tell is not computed. */
enum nsx_purpose {
	NSX_FOR_FILES,
	NSX_FOR_FINDINGS, /* and the sections of `only`                      */
	NSX_FOR_QUESTIONS, /* of any kind: the replay's model stays, too     */
	NSX_FOR_WHAT_IFS, /* trace, facts and model                          */
	NSX_FOR_EVENTS,	  /* trace and facts                                 */
};

/* Which events the page's timeline holds: as many as fit, none, or all, however many. */
enum nsx_html_events { NSX_EVENTS_AUTO, NSX_EVENTS_NONE, NSX_EVENTS_ALL };

struct nsx_opts {
	const char *path; /* the trace, as typed, or an export of that       */
	const char *shown; /* the trace as typed; NULL: path                 */
	bool is_gone; /* path is, after this report: nobody can ask it       */
	const char *window; /* only this part, as typed; NULL: all of it     */
	double reach_s; /* with a window: how far from it what matters
			   begins; 0: anywhere                               */
	size_t kernel_limit, kernel_rows; /* rows of top kernels in JSON, in
					     Markdown                        */
	bool nvtx_kernel_map; /* attribute kernels to NVTX ranges            */
	double nvtx_coverage_warn; /* 0..1                                   */
	bool all_rows; /* of tables/, however many                           */
	size_t held_rows; /* of a table that may have millions, where nobody
			     reads it but who writes it; 0: all              */
	bool draws; /* curves are kept, for a page                           */
	size_t html_bytes; /* report.html, at most; 0: NSX_HTML_BYTES        */
	enum nsx_html_events html_events;
	const struct nsx_phase_map *phases; /* NULL: none                    */
	const struct nsx_llm *model; /* what the steps compute; NULL: none   */
	const struct nsx_phase_map *kernel_classes; /* of the user; NULL: none */
	const char *only, *skip; /* "id,id" or NULL                          */
	const char *const *what_ifs; /* changes to price, as typed           */
	size_t nwhat_ifs;
	size_t replay_ops; /* at most so many are replayed; 0: as usual       */
	enum nsx_purpose purpose;
	unsigned threads;
	struct nsx_progress *progress;
};

/* Whether all sections are shown. */
static inline bool nsx_is_whole(const struct nsx_opts *o)
{
	return !o->only && !o->skip;
}

/* What is not asked is as `explain` has it. */
#define NSX_OPTS_DEFAULT                                                      \
	.kernel_limit = 30, .kernel_rows = 5, .nvtx_kernel_map = true,        \
	.nvtx_coverage_warn = 0.7

#endif
