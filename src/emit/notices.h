/* notices.h - findings and gates in the formats of CI pipelines: GitHub annotations, GitLab
 * code quality, JUnit XML and SARIF.
 */
#pragma once

#include "emit/folder.h"
#include "report/report.h"

enum nsx_outcome {
	NSX_PASSED,    /* a gate that passed: a test case in JUnit; left out of other formats */
	NSX_NOTED,     /* a finding without a gate                           */
	NSX_TOLERATED, /* an undecided gate that the user tolerates          */
	NSX_FAILED
};
struct nsx_notice {
	const char *id;	 /* kind of the notice: "launch_bound", "gate"       */
	const char *key; /* unique in its list, and the same in the next run */
	const char *title, *text; /* Markdown                                */
	enum nsx_severity severity;
	enum nsx_outcome outcome;
};
struct nsx_notices {
	const char *suite; /* the command that reports: "explain", "diff" */
	const char *path;  /* path of the trace                              */
	struct nsx_notice *v;
	size_t n;
};

/* Lists the findings of a report, except minor ones, and then its gates. Findings with severity
 * `least` or higher count as failed. Owner: arena a, and the report.
 */
void nsx_notices_of_report(const struct nsx_report *r, const enum nsx_severity *least,
			   const struct nsx_notices *gates, struct nsx_arena *a,
			   struct nsx_notices *ret);

/* Writers for emit/folder.h; f->subject is a struct nsx_notices. */
int nsx_write_github(const struct nsx_out_file *f, FILE *out, struct nsx_err *err) NSX_CHECKED;
int nsx_write_gitlab(const struct nsx_out_file *f, FILE *out, struct nsx_err *err) NSX_CHECKED;
int nsx_write_junit(const struct nsx_out_file *f, FILE *out, struct nsx_err *err) NSX_CHECKED;
int nsx_write_sarif(const struct nsx_out_file *f, FILE *out, struct nsx_err *err) NSX_CHECKED;
/* Whether one of these writers made the file. */
bool nsx_notices_is(const char *path);
