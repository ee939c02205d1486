/* notices.h - options of commands that report to a CI pipeline. */
#pragma once

#include "cli/opt.h"
#include "emit/notices.h"

struct nsx_notice_opts {
	enum { NSX_ANNOTATE_NOT, NSX_ANNOTATE_GITHUB, NSX_ANNOTATE_GITLAB } annotations;
	const char *junit, *sarif;
};
#define NSX_OPT_NOTICES(T)                                                    \
	NSX_OPT(T, 0, "annotations", NULL, "HOST", WORD, notices.annotations, \
		"github: lines on stdout that become annotations; gitlab: "   \
		"gl-code-quality-report.json, in the working folder",         \
		.words = "none, github or gitlab"),                           \
	NSX_OPT(T, 0, "junit", NULL, "FILE", STR, notices.junit,              \
		"findings and gates as test cases, in XML"),                  \
	NSX_OPT(T, 0, "sarif", NULL, "FILE", STR, notices.sarif,              \
		"findings and gates as SARIF 2.1.0")

/* Checks the options, before any work. is_taken: stdout is used for a document. Errors: USAGE,
 * IO.
 */
int nsx_notices_check(const struct nsx_notice_opts *o, bool is_taken,
		      struct nsx_err *err) NSX_CHECKED;
static inline bool nsx_wants_notices(const struct nsx_notice_opts *o)
{
	return o->annotations || o->junit || o->sarif;
}
/* Writes the notices to the files that the options name. Errors: IO. */
int nsx_notices_deliver(const struct nsx_notice_opts *o, const struct nsx_notices *l,
			struct nsx_err *err) NSX_CHECKED;
