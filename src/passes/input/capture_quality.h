/* capture_quality.h - shared by the checks of a capture. */
#pragma once

#include "passes/input/capture_facts.h"
#include "passes/process/pids.h"
#include "schema/recapture.h"

#define OK "ok"
#define WARN "warn"	  /* data is present, but limits conclusions */
#define MISSING "missing" /* data is absent */

enum { SHOWN_PROCESSES = 5 };

struct nsx_quality {
	const struct nsx_run *run;
	const struct nsx_trace *t;
	struct nsx_capture_facts facts;
	struct nsx_section *out;
	struct nsx_table *table;
	unsigned lacking; /* data that the rows report as missing, as bits of NSX_REC_ALL */
	unsigned *what;	  /* for each row: what to record, from nsx_check */
	size_t cap_what;
	const char *subject, *detail; /* texts of the last check             */
	struct nsx_capture_check **end; /* end of the detector's list        */
};

/* Adds a row: check, status, process or table, what to record or export for it (enum
 * nsx_record; 0: nothing), and what was found, as Markdown without names from the trace.
 */
void nsx_check(struct nsx_quality *q, const char *check, const char *status,
	       const char *subject, unsigned what, const char *fmt, ...)
	NSX_PRINTF(6, 7);
/* Adds a row that counts the subjects without a row of their own: SHOWN_PROCESSES of n have one. */
static inline void nsx_check_others(struct nsx_quality *q, const char *check, const char *status,
				    size_t n)
{
	if (n > SHOWN_PROCESSES)
		nsx_check(q, check, status, "other processes", 0, "the same holds for %zu more",
			  n - SHOWN_PROCESSES);
}
/* Turns the last check into a finding, because it limits the report's conclusions. of_subject: one
 * finding for each subject.
 */
void nsx_raise(struct nsx_quality *q, enum nsx_finding_id id, bool of_subject,
	       const char *title, enum nsx_severity severity);

/* Whether the file has rows of the view. */
static inline bool nsx_seen(const struct nsx_quality *q, enum nsx_view v)
{
	return nsx_has_view(q->t->schema, v);
}
/* "pid 111 (python3)" */
const char *nsx_process_label(struct nsx_quality *q, uint32_t process);

/* The checks, grouped by subject. */
void nsx_check_gpu(struct nsx_quality *q);
void nsx_check_tables(struct nsx_quality *q);
void nsx_check_file(struct nsx_quality *q);
