/* capture_facts.h - what the file says about its own making: settings of capture and
 * export, messages of the profiler.
 *
 * These tables also hold command lines, environment and paths. Only known keys and words
 * are recognised; none of the text is kept.
 */
#pragma once

#include "trace/trace.h"

enum nsx_message { /* the profiler's messages by meaning */
	NSX_MSG_LOST,	  /* events were dropped or incomplete               */
	NSX_MSG_DROPPED,  /* CUDA or other data was lost                     */
	NSX_MSG_PARTIAL,  /* some CUDA events may be missing                 */
	NSX_MSG_OTHERS,	  /* some other events may be missing                */
	NSX_MSG_LIMIT,	  /* a size limit ended a process's recording        */
	NSX_MSG_ORDER,	  /* events were out of order                        */
	NSX_MSG_DRIVER,	  /* the driver is newer than the profiler           */
	NSX_MSG_METRICS,  /* samples of GPU counters are missing             */
	NSX_MSG_SCHED,	  /* no scheduling information                       */
	NSX_MSG_PERF,	  /* CPU sampling was not permitted                  */
	NSX_MSG_HARMLESS, /* no effect on the contents                       */
	NSX_MSG_ERROR,	  /* any other error                                 */
	NSX_MSG_WARNING,  /* any other warning                               */
	NSX_NMESSAGES
};

struct nsx_capture_facts {
	bool has_messages;
	/* for each meaning: number of messages about processes with events */
	size_t messages[NSX_NMESSAGES];
	int64_t lost; /* events reported lost; 0: not reported               */
	/* Settings of the capture; known if their table exists. */
	bool has_settings, traced_cuda, traced_nvtx, traced_osrt,
		memory_usage_off;
	/* Options of the export. */
	bool part_of_time, part_of_tables, shifted, without_json,
		without_blobs;
};

int nsx_read_capture_facts(const struct nsx_trace *t,
			   struct nsx_capture_facts *ret, struct nsx_err *err);
