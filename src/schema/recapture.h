/* recapture.h - command lines to record more, for the nsys version that made a trace. All
 * knowledge of options by version is here.
 *
 * A line never holds an option that its version refuses; there is no line for what the
 * version cannot record. If the version is unknown and an option was renamed, the line uses
 * the older name, with the newer one as a comment.
 */
#pragma once

#include "schema/schema.h"

enum nsx_record {		    /* bits: what a capture is to record, and how */
	NSX_REC_BASIC = 1,	    /* CUDA, NVTX, operating system calls    */
	NSX_REC_COUNTERS = 1 << 1,  /* GPU metrics                           */
	NSX_REC_NCCL = 1 << 2,	    /* NCCL's own ranges                     */
	NSX_REC_GRAPHS = 1 << 3,    /* graphs node by node                   */
	NSX_REC_MEMORY = 1 << 4,    /* CUDA allocations                      */
	NSX_REC_FAULTS = 1 << 5,    /* unified memory page faults            */
	NSX_REC_SCHED = 1 << 6,	    /* thread scheduling                     */
	NSX_REC_ALL = (1 << 7) - 1, /* all that one capture can record       */
	/* This program reads these of exports only, not of reports.         */
	NSX_REC_EXPORTED = NSX_REC_GRAPHS | NSX_REC_MEMORY | NSX_REC_FAULTS,
	NSX_REC_TORCH = 1 << 7,	    /* ranges of PyTorch operators           */
	NSX_REC_ALL_APIS = 1 << 8,  /* all API calls, including cheap ones   */
	NSX_REC_RANGE = 1 << 9,	    /* only from cudaProfilerStart to cudaProfilerStop */
	NSX_REC_SHORT = 1 << 10,    /* only half a minute                    */
	NSX_REC_LATER = 1 << 11,    /* only 20 seconds, after a delay of ten */
	NSX_REC_SOFTWARE = 1 << 12, /* CUDA without hardware tracing         */
	NSX_REC_SLOWER = 1 << 13,   /* GPU metrics at a lower rate           */
	NSX_REC_LIGHT = 1 << 14,    /* nothing about the CPU                 */
	NSX_REC_SETS = 1 << 15,	    /* no capture: lists the metric sets     */
	NSX_REC_EXPORT = 1 << 16,   /* no capture: exports all of a trace    */
	NSX_REC_PAYLOAD = 1 << 17,  /* with EXPORT: the payloads of ranges, too */
};

/* Returns 202304 for "NVIDIA Nsight Systems 2023.4.4.54"; 0: unknown. */
unsigned nsx_nsys_version(const char *product);

/* The command line that records `what` (bits of enum nsx_record) with the nsys version of s; s may
 * be NULL: unknown. NULL if that version cannot record it. Owner: the arena, or static.
 */
const char *nsx_recapture_line(struct nsx_arena *a, const struct nsx_schema *s, unsigned what);
/* The first nsys version that can record `what`, as of nsx_nsys_version; 0: any. */
unsigned nsx_recapture_since(unsigned what);
struct nsx_preset {
	const char *name;
	unsigned record; /* bits of enum nsx_record                          */
	const char *shows;
	enum nsx_view views[8]; /* views that are empty without it; 0: end   */
};
#define NSX_PRESET(id, ...) NSX_PRESET_##id,
enum {
#include "schema/presets.def"
	NSX_NPRESETS
};
#undef NSX_PRESET
extern const struct nsx_preset nsx_presets[NSX_NPRESETS];
/* Fails with "there is no preset 'X'; ..." and the most similar name, or all names. Returns
 * NSX_E_USAGE.
 */
int nsx_refuse_preset(const char *name, struct nsx_err *err);
/* The smallest preset that records `what`. links: whether GPUs are linked; without links the preset
 * nvlink is not chosen.
 */
const char *nsx_recapture_preset(unsigned what, bool links);
