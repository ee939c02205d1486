/* capture_facts.h - what the file says of its own making: capture and export
 * settings, messages of the profiler.
 *
 * These tables also hold command lines, environment and paths.  Only known keys
 * and known words are recognised here; no text of theirs is ever kept.
 */
#ifndef NSX_PASSES_CAPTURE_FACTS_H
#define NSX_PASSES_CAPTURE_FACTS_H

#include "trace/trace.h"

enum nsx_message { /* of the profiler, by what they mean */
	NSX_MSG_LOST,	  /* events were dropped or incomplete               */
	NSX_MSG_PARTIAL,  /* not all CUDA events may have been collected     */
	NSX_MSG_LIMIT,	  /* a size limit ended the recording of a process   */
	NSX_MSG_ORDER,	  /* events came in a wrong order                    */
	NSX_MSG_DRIVER,	  /* the driver is newer than the tool               */
	NSX_MSG_METRICS,  /* samples of counters are missing                 */
	NSX_MSG_SCHED,	  /* no scheduling information                       */
	NSX_MSG_PERF,	  /* CPU sampling was not allowed                    */
	NSX_MSG_ERROR,	  /* any other error                                 */
	NSX_NMESSAGES
};

struct nsx_capture_facts {
	bool has_messages;
	size_t messages[NSX_NMESSAGES]; /* of processes that have events     */
	int64_t lost; /* events told lost; 0: not told                       */
	/* Capture settings: known where the table is there. */
	bool has_settings, traced_cuda, traced_nvtx, traced_osrt,
		memory_usage_off;
	/* Export options. */
	bool part_of_time, part_of_tables, shifted, without_json,
		without_blobs;
	int64_t session_ns; /* 0: not told */
};

int nsx_read_capture_facts(const struct nsx_trace *t,
			   struct nsx_capture_facts *ret, struct nsx_err *err);

#endif
