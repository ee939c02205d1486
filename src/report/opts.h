/* opts.h - the user's options for a report, as the passes see them. */
#pragma once

#include "base/progress.h"
#include "base/base.h"

struct nsx_llm;	      /* facts/steps/limit.h */
struct nsx_step_patterns; /* facts/steps/steps.h */
struct nsx_phase_map; /* phase.h */

/* The purpose of a report. Only what the purpose needs is computed. */
enum nsx_purpose {
	NSX_FOR_FILES,
	NSX_FOR_FINDINGS, /* findings, and the sections of `only`            */
	NSX_FOR_QUESTIONS, /* any question: keeps the replay's model as well */
	NSX_FOR_WHAT_IFS, /* keeps trace, facts and model                    */
	NSX_FOR_EVENTS,	  /* keeps trace and facts                           */
};

/* The events in the HTML timeline: as many as fit, none, or all. */
enum nsx_html_events { NSX_EVENTS_AUTO, NSX_EVENTS_NONE, NSX_EVENTS_ALL };

/* Files of a table in tables/: CSV, or Parquet beside it. */
enum nsx_table_format { NSX_TABLES_CSV, NSX_TABLES_PARQUET };

struct nsx_opts {
	const char *path; /* the trace as typed, or an export of it          */
	const char *shown; /* the trace as typed; NULL: path                 */
	const char *ask_as; /* path to show in commands for later questions; NULL: path */
	bool is_gone; /* path is deleted after this report, so that `ask` cannot use it */
	const char *window; /* analyse only this part, as typed; NULL: all   */
	/* with a window: seconds before and after it that are read; 0: everything */
	double reach_s;
	size_t kernel_limit, kernel_rows; /* rows of top kernels in JSON and in Markdown */
	bool nvtx_kernel_map; /* attribute kernels to NVTX ranges            */
	double nvtx_coverage_warn; /* 0..1                                   */
	bool is_classic; /* adds the sections of nsys-llm-explain to report.md */
	bool all_rows; /* tables/ has no row limit                           */
	enum nsx_table_format format; /* format of the files in tables/ */
	/* limit of rows for a huge table that is only written to files; 0: all */
	size_t held_rows;
	bool draws; /* keep curves for the HTML page                         */
	size_t html_bytes; /* size limit of report.html; 0: NSX_HTML_BYTES   */
	enum nsx_html_events html_events;
	const struct nsx_phase_map *phases; /* NULL: none                    */
	const struct nsx_step_patterns *steps_from; /* the user's step names; NULL: none */
	const struct nsx_llm *model; /* the language model that the steps compute; NULL: none */
	const struct nsx_phase_map *kernel_classes; /* the user's classes; NULL: none */
	const char *only, *skip; /* ids of sections, "id,id"; NULL: not given */
	const char *const *what_ifs; /* changes to price, as typed           */
	size_t nwhat_ifs;
	size_t replay_ops; /* greatest number of operations that are replayed; 0: default */
	enum nsx_purpose purpose;
	unsigned threads;
	struct nsx_progress *progress;
};

/* Whether the report has all sections. */
static inline bool nsx_is_whole(const struct nsx_opts *o)
{
	return !o->only && !o->skip;
}

/* Options with the defaults of `explain`. */
#define NSX_OPTS_DEFAULT                                                      \
	.kernel_limit = 30, .kernel_rows = 5, .nvtx_kernel_map = true,        \
	.nvtx_coverage_warn = 0.7
