/* measured.h - what sections measure that decides findings, beyond the facts.
 *
 * Each member is filled by one section and read by detectors, which run after
 * all sections; it stays zeroed where the section could not tell.  Strings and
 * spans are the section's, and live as long as the report.
 */
#ifndef NSX_MEASURED_H
#define NSX_MEASURED_H

#include "facts/ledger.h"
#include "report/finding.h"

/* Memory in use at least, iteration by iteration, of a process on a device. */
struct nsx_growth {
	int64_t pid;
	size_t n; /* steady iterations                                       */
	int64_t first_bytes, last_bytes;
	double slope_bytes; /* Theil-Sen, an iteration                       */
	double grows_pct;   /* iterations that ended with more               */
	bool is_suspected;
	struct nsx_kept { /* what was never freed, the dearest first         */
		int64_t bytes, count;
		const char *nvtx_path; /* NULL: not known                    */
	} kept[3];
	unsigned nkept;
	struct nsx_growth *next;
};

/* Communication of a device in the judged window. */
struct nsx_comm_cost {
	int64_t comm_ns, exposed_ns;
	int64_t blocking_ns; /* compute waited for it                        */
	int64_t waited_ns;   /* for ranks that came later, exposed or not    */
	const char *waits_in, *waits_most; /* most of it: the operation and
					      the rank there; NULL: none     */
	struct nsx_spans blocking; /* of the whole trace, without waits for a
				      proved straggler                       */
};

/* Who comes late is named where chance would hardly do that, and it costs something. */
#define NSX_LATE_P 0.01
#define NSX_LATE_SHARE 0.01 /* of the window, induced                       */
enum { NSX_LATE_LEAST = 10 }; /* instances                                  */
#define NSX_LATE_RULE \
	"one is named where p < 0.01 in 10 instances or more, and it costs 1 %% of the " \
	"window" /* a format */

enum nsx_late_by { /* what the late rank does for longer than the others     */
	NSX_LATE_BY_NONE, NSX_LATE_BY_WORK, NSX_LATE_BY_COPIES, NSX_LATE_BY_HOST,
};

/* How the ranks arrive at the collectives of one operation. */
struct nsx_arrivals {
	const char *op, *late; /* late: the rank that costs most             */
	uint32_t process, device; /* of that                                 */
	bool is_proved; /* a persistent straggler                            */
	bool is_passed_on; /* from rank to rank: who comes last need not be slow */
	size_t njudged; /* instances                                         */
	size_t nlate;	/* of them, in which a rank is late at all ...       */
	size_t nlast;	/* ... and in which it is this one                   */
	double p_value; /* that it is by chance                              */
	int64_t least_late_ns; /* what counts as late                        */
	double wait_ns;	    /* of the others, their median, in those nlast   */
	double all_wait_ns; /* in the whole trace                            */
	int64_t transfer_ns;
	const char *cause; /* NULL: no single one                            */
	double cause_share;
	enum nsx_late_by by;
	struct nsx_comm_wait { /* of the other ranks, where it is proved     */
		uint32_t device;
		struct nsx_spans spans;
	} *waits;
	size_t nwaits;
	struct nsx_arrivals *next;
};

/* A check of the capture: fine, or what limits the report's conclusions. */
struct nsx_capture_check {
	const char *detail;
	const char *title;
	enum nsx_finding_id id;
	enum nsx_severity severity;
	const char *subject; /* whose it is; NULL: there is one of its kind  */
	const char *advice;
	struct nsx_capture_check *next;
};

struct nsx_measured {
	struct nsx_ledger ledger; /* of the judged window; total_ns 0: none   */
	struct nsx_ledger *phases; /* by phase of the run; total_ns 0: judged, or too
				      short; NULL: none                      */
	struct nsx_capture_check *capture; /* the first; NULL: none to tell  */
	int64_t session_ns; /* of the recording; 0: not told                 */
	struct { /* kernels of the window */
		bool is_storm;
		double per_s, median_ns;
		int64_t bound_ns; /* waited for late launches; -1: not known */
	} storm;
	struct { /* launch calls */
		int64_t ns, held_ns; /* held_ns: the queue was full          */
		bool is_inferred;    /* held_ns is                           */
	} launches;
	struct { /* compute kernels of the device with most in small grids */
		uint32_t device;
		int64_t ns, small_ns; /* ns: of those with a known size      */
	} grids;
	struct { /* the thread that was on a CPU for longest */
		const char *name; /* NULL: none                              */
		int64_t tid;
		double on_ms, others_ms, of_ms; /* of_ms: 0: not known       */
	} busiest;
	struct nsx_growth *growth; /* the first; NULL: none                  */
	struct nsx_comm_cost *comm; /* by device; NULL: none communicates    */
	const struct nsx_comm_cost *worst_comm; /* most exposed; NULL: none  */
	struct nsx_arrivals *arrivals; /* the first; NULL: none are judged   */
	struct nsx_link { /* of a GPU: neither full nor waited for           */
		int64_t device_id;
		const char *name;
		double mean, p95; /* % of its peak                           */
	} *links;
	size_t nlinks;
};

/* From the first event to the last, calls of libraries and samples among them. */
struct nsx_window nsx_recorded(const struct nsx_trace *t);
/* Its length; that of the threads' times on CPUs or of the session where that is more. */
int64_t nsx_recorded_ns(const struct nsx_trace *t, const struct nsx_measured *m);

#endif
