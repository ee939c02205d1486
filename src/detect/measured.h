/* measured.h - measurements of sections, beyond the facts, that findings need.
 *
 * Each member is filled by one section and read by detectors, which run after all sections. It
 * stays zeroed if the section could not measure it. Strings and spans belong to the section and
 * live as long as the report.
 */
#pragma once

#include "facts/ledger.h"
#include "facts/steps/steps.h"
#include "report/finding.h"

/* communication of a device in the judged window */
struct nsx_comm_cost {
	int64_t comm_ns, exposed_ns;
	int64_t blocking_ns; /* exposed time for which compute waited        */
	int64_t waited_ns;   /* waiting for later ranks, exposed or not */
	/* operation and rank with most of that waiting; NULL: none */
	const char *waits_in, *waits_most;
	struct nsx_spans blocking; /* in the whole trace, without waits for a proved straggler */
};

/* A late rank is named only if chance hardly explains its lateness and the lateness costs
 * something.
 */
#define NSX_LATE_P 0.01
#define NSX_LATE_SHARE 0.01 /* least waiting caused by a rank, as a share of the window */
enum { NSX_LATE_LEAST = 10 }; /* least number of judged instances           */
#define NSX_LATE_RULE \
	"one is named where p < 0.01 in 10 instances or more, and it costs 1 %% of the " \
	"window" /* printf format of the result */

enum nsx_late_by { /* where the late rank spends more time than the others   */
	NSX_LATE_BY_NONE, NSX_LATE_BY_WORK, NSX_LATE_BY_COPIES, NSX_LATE_BY_HOST,
};

/* how the ranks arrive at the collectives of one operation */
struct nsx_arrivals {
	const char *op, *late; /* late: the rank whose lateness costs most   */
	uint32_t process, device; /* process and device of the late rank */
	bool is_proved; /* whether a persistent straggler was proved         */
	size_t njudged; /* number of judged instances                        */
	size_t nlate;	/* judged instances with any late rank               */
	size_t nlast;	/* judged instances in which `late` comes last       */
	double p_value; /* probability that chance alone explains nlast      */
	int64_t least_late_ns; /* least delay with which a rank counts as late */
	double wait_ns;	    /* median wait of the other ranks in these nlast instances */
	double all_wait_ns; /* waiting in the whole trace                    */
	int64_t transfer_ns;
	const char *cause; /* NULL: no single cause                          */
	double cause_share;
	enum nsx_late_by by;
	struct nsx_comm_wait { /* waits of the other ranks if is_proved      */
		uint32_t device;
		struct nsx_spans spans;
	} *waits;
	size_t nwaits;
	struct nsx_arrivals *next;
};

/* A check of the capture: it is fine, or it limits the report's conclusions. */
struct nsx_capture_check {
	const char *detail;
	const char *title;
	enum nsx_finding_id id;
	enum nsx_severity severity;
	/* the kernel, table or GPU concerned; NULL if the check is the only one of its kind */
	const char *subject;
	const char *advice;
	struct nsx_capture_check *next;
};

struct nsx_measured {
	struct nsx_engine_steps steps; /* steps in the whole window */
	struct nsx_ledger ledger; /* accounts of the judged window; total_ns 0: unknown */
	struct nsx_ledger *phases; /* by phase; total_ns 0: judged or too short; NULL: no phases */
	struct nsx_capture_check *capture; /* list of checks; NULL: all unremarkable */
	struct { /* kernels of the window */
		bool is_storm;
		double per_s, median_ns;
		int64_t bound_ns; /* time spent waiting for late launches; -1: unknown */
	} storm;
	struct { /* launch calls */
		int64_t ns, held_ns; /* held_ns: part of ns in which the queue was full */
		bool is_inferred;    /* whether held_ns is inferred rather than recorded */
	} launches;
	struct { /* compute kernels of the device with most time in small grids */
		uint32_t device;
		int64_t ns, small_ns; /* ns: kernels whose grid size is known */
	} grids;
	struct { /* the thread that was on a CPU for longest */
		const char *name; /* NULL: none                              */
		int64_t tid;
		/* of_ms: length of the time that the other two are parts of; 0: unknown */
		double on_ms, others_ms, of_ms;
	} busiest;
	struct nsx_window scheduled; /* when scheduling was traced; empty: it was not */
	struct nsx_comm_cost *comm; /* by device; NULL: no device communicates */
	const struct nsx_comm_cost *worst_comm; /* the most exposed one; NULL: none */
	struct nsx_arrivals *arrivals; /* list; NULL: none were judged       */
};

/* From the first recorded event to the last, including library calls, samples and scheduling. */
struct nsx_window nsx_recorded(const struct nsx_trace *t, const struct nsx_measured *m);
/* The length of nsx_recorded, or of the session if there are no events. */
int64_t nsx_recorded_ns(const struct nsx_trace *t, const struct nsx_measured *m);
