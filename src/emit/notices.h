/* notices.h - findings and gates as pipelines show them: lines that GitHub makes
 * annotations of, GitLab's report of code quality, JUnit's XML, and SARIF.
 */
#ifndef NSX_EMIT_NOTICES_H
#define NSX_EMIT_NOTICES_H

#include "emit/folder.h"
#include "report/report.h"

enum nsx_outcome {
	NSX_PASSED,    /* a gate that holds: a test case, told nowhere else  */
	NSX_NOTED,     /* a finding that no gate is about                    */
	NSX_TOLERATED, /* a gate that is undecided, and may be               */
	NSX_FAILED
};
struct nsx_notice {
	const char *id;	 /* its kind: "launch_bound", "gate"                 */
	const char *key; /* the same in the next run, unique in a list       */
	const char *title, *text; /* Markdown                                */
	enum nsx_severity severity;
	enum nsx_outcome outcome;
};
struct nsx_notices {
	const char *suite; /* "explain", "diff"                              */
	const char *path;  /* of the trace that they are about               */
	struct nsx_notice *v;
	size_t n;
};

/* The findings of a report but the minor ones; from `least` on they have failed.
 * Owner: arena a, and the report.
 */
void nsx_notices_of_report(const struct nsx_report *r, const enum nsx_severity *least,
			   struct nsx_arena *a, struct nsx_notices *ret);

/* Writers of files (emit/folder.h), whose subject is a struct nsx_notices. */
int nsx_write_github(const struct nsx_out_file *f, FILE *out,
		     struct nsx_err *err) NSX_CHECKED;
int nsx_write_gitlab(const struct nsx_out_file *f, FILE *out,
		     struct nsx_err *err) NSX_CHECKED;
int nsx_write_junit(const struct nsx_out_file *f, FILE *out,
		    struct nsx_err *err) NSX_CHECKED;
int nsx_write_sarif(const struct nsx_out_file *f, FILE *out,
		    struct nsx_err *err) NSX_CHECKED;
/* Whether a file was written by one of them. */
bool nsx_notices_is(const char *path);

#endif
